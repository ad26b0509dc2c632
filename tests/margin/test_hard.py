"""Hard cases of the margin machines: repeated rows, far queries, failed and interrupted fits, senseless numbers."""

from __future__ import annotations

import _thread
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

import posteriori as po
from posteriori.errors import ModelError
from posteriori.margin.platt import normalised


def test_posteriors_of_repeated_rows_are_their_frequencies():
    x = np.repeat([0.0, 1.0], 500)[:, None]
    y = np.r_[np.arange(500) < 50, np.arange(500) < 450].astype(int)
    found = po.SVC(probability=True, random_state=0).fit(x, y).predict_proba([[0.0], [1.0]])
    assert_allclose(found, [[0.9, 0.1], [0.1, 0.9]], atol=0.02)


def test_sigmoids_that_all_underflow_still_sum_to_one():
    found = normalised(np.array([[-800.0, -900.0, -1e3], [-np.inf] * 3]), [(-1.0, 0.0)] * 3)
    assert_allclose(found, [[1.0, 0.0, 0.0], [1 / 3] * 3], atol=1e-12)


@pytest.mark.parametrize("model", [po.SVC(kernel="linear"), po.SVR(kernel="linear"), po.LinearSVC()], ids=repr)
def test_a_failed_fit_leaves_the_model_as_it_was(model):
    x, y = np.random.RandomState(0).normal(size=(30, 2)), np.arange(30) % 2
    before = model.fit(x, y).predict(x)
    state = dict(vars(model))
    with pytest.raises(ValueError):
        model.fit(np.ones((4, 3)), np.array(["a", "b", "c", "d"]), sample_weight=[-1, 1, 1, 1])
    assert vars(model).keys() == state.keys()
    assert all(vars(model)[k] is v for k, v in state.items())
    assert (model.predict(x) == before).all()


def test_linear_svc_in_threads_obeys_ctrl_c():
    x = np.random.RandomState(0).normal(size=(20_000, 30))
    y = np.random.RandomState(1).randint(0, 6, 20_000)
    model = po.LinearSVC(loss="hinge", C=1e4, tol=1e-12, max_iter=100_000, n_jobs=2)
    threading.Timer(1.0, _thread.interrupt_main).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y)
    assert time.monotonic() - start < 3.0


@pytest.mark.parametrize("kind", [po.SVC, po.LinearSVC])
def test_class_weights_that_leave_no_class_are_errors(kind):
    x, y = np.arange(8.0)[:, None], np.arange(8) % 2
    with pytest.raises(ModelError, match="class 1 has -1"):
        kind(class_weight={0: 1.0, 1: -1.0}).fit(x, y)
    with pytest.raises(ModelError, match="no row of positive weight"):
        kind(class_weight={0: 1.0, 1: 0.0}).fit(x, y)
    with pytest.raises(ModelError, match="no row of positive weight"):
        kind().fit(x, y, sample_weight=1.0 - y)
