"""Hard cases of the margin machines: repeated rows, far queries, failed and interrupted fits, senseless numbers."""

from __future__ import annotations

import _thread
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import posteriori as po
from posteriori.errors import ModelError, TableError
from posteriori.margin.gram import FunctionGram
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


def test_far_queries_of_a_machine_in_single_precision():
    x = np.random.RandomState(0).normal(size=(2500, 2))
    model = po.SVC(tol=0.1).fit(x, (x[:, 0] > 0).astype(int))
    assert model._kernel.single
    far = model.decision_function([[1e25, 1e25], [1e16, -1e16]])
    assert_allclose(far, model.intercept_[0], rtol=1e-6)


def test_a_kernel_that_overflows_says_so():
    x, y = np.arange(8.0)[:, None], np.arange(8) % 2
    model = po.SVC(kernel="polynomial").fit(x, y)
    with pytest.raises(ModelError, match="polynomial kernel: its value overflows"):
        model.predict([[1e200]])
    with pytest.raises(ModelError, match="polynomial kernel: its value overflows"):
        po.SVC(kernel="polynomial", gamma=1.0).fit(x * 1e100, y)


def test_blocks_of_a_callable_kernel_are_checked():
    x = np.ones((4, 1))
    for wrong in (np.full((2, 4), np.nan), np.ones((2, 2))):
        with pytest.raises(ModelError, match="kernel g"):
            FunctionGram(lambda a, b, K=wrong: K, x).rows(np.arange(2), np.empty((2, 4)), np.arange(2))


@pytest.mark.parametrize("wrong", [{"coef0": np.nan}, {"degree": np.inf}, {"degree": np.nan}], ids=repr)
def test_numbers_of_a_kernel_are_finite(wrong):
    with pytest.raises(ModelError, match=next(iter(wrong))):
        po.SVC(kernel="polynomial", **wrong).fit(np.arange(8.0)[:, None], np.arange(8) % 2)


def test_a_sparse_precomputed_kernel_is_an_error():
    for model in (po.SVC(kernel="precomputed"), po.SVR(kernel="precomputed")):
        with pytest.raises(TableError, match="dense"):
            model.fit(sparse.eye_array(8, format="csr"), np.arange(8) % 2)
