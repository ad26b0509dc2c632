"""Everything ends: kernels that are none, duplicates, huge C; and Ctrl-C is obeyed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import posteriori as po
from posteriori.errors import ModelError


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(3))
def test_kernels_that_are_not_psd_end(seed):
    random = np.random.RandomState(seed)
    K = random.normal(size=(200, 200))
    y = random.randint(0, 2, 200)
    machine = po.SVC(kernel="precomputed", C=100.0, max_iter=200_000).fit(K + K.T, y)
    assert np.isfinite(machine.decision_function(K)).all()
    X, y = make_classification(300, 5, random_state=seed)
    machine = po.SVC(kernel="sigmoid", gamma=1.0, coef0=-3.0, C=100.0, max_iter=200_000).fit(X, y)
    assert np.isfinite(machine.decision_function(X)).all()


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_hundred_thousand_duplicates_end(kernel):
    X, y = np.ones((100_000, 3)), np.arange(100_000) % 3 == 0
    machine = po.SVC(kernel=kernel).fit(X, y)
    assert machine.gap_[0] <= 1e-3
    assert (machine.predict(X[:5]) == False).all()  # noqa: E712  the commoner class
    X = np.random.RandomState(0).randint(0, 3, (100_000, 2)).astype(float)
    assert po.SVC(kernel=kernel).fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0) == 1.0


def test_a_huge_C_ends_at_a_cap_with_a_warning():
    X, y = make_classification(300, 4, flip_y=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="gap"):
        machine = po.SVC(C=1e9, kernel="linear", max_iter=500).fit(X, y)
    assert machine.fit_status_ == 1
    assert machine.n_iter_[0] <= 500
    begin = time.monotonic()
    X, y = make_classification(3000, 30, flip_y=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        machine = po.SVC(C=1e9, kernel="linear", max_seconds=0.3).fit(X, y)
    assert time.monotonic() - begin < 30
    assert np.isfinite(machine.decision_function(X)).all()


@pytest.mark.parametrize("setting", ["C=1e9, kernel='linear'", "C=1e6, gamma=1e-3"])
def test_ctrl_c_is_obeyed(setting):
    """Both ways to solve: a small problem in one block, three classes in threads, each far too hard to finish."""
    script = f"""
        import signal, numpy as np, posteriori as po
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background ignores Ctrl-C
        random = np.random.RandomState(0)
        X, y = random.normal(size=(6000, 30)), random.randint(0, 3, 6000)
        machine = po.SVC({setting}, max_iter=10**12)  # the room is imported here, before it may be interrupted
        print("go", flush=True)
        machine.fit(X, y)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert child.stdout.readline() == b"go\n"
        time.sleep(1.5)
        assert child.poll() is None, child.stderr.read()
        begin = time.monotonic()
        os.kill(child.pid, signal.SIGINT)
        _, errors = child.communicate(timeout=20)
        took = time.monotonic() - begin
    finally:
        child.kill()
    assert b"KeyboardInterrupt" in errors
    assert took < 10  # well under a second on a machine at rest


def weighed(seed, n=60):
    """Rows of which many are equal and of both classes: no function parts them."""
    random = np.random.RandomState(seed)
    X, w = random.normal(size=(n, 2)).round(), random.rand(n) + 0.5
    return X, (X[:, 0] + 0.8 * random.normal(size=n) > 0).astype(int), w


MACHINES = [po.SVC, po.SVR, po.LinearSVC, partial(po.LinearSVC, loss="hinge"), partial(po.SVC, kernel="linear")]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("power", [-990, -40, 40, 990])
def test_weights_times_s_and_c_by_s_are_one_model(machine, power):
    X, y, w = weighed(0)
    one, other = (machine(C=2.0**-p).fit(X, y, np.ldexp(w, p)) for p in (0, power))
    said = [m.predict(X) if isinstance(m, po.SVR) else m.decision_function(X) for m in (one, other)]
    assert said[1] == pytest.approx(said[0], abs=1e-2)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("size", [1e100, 1e298])
def test_weights_that_no_multiplier_can_follow_are_answered_or_refused(machine, size):
    X, y, w = weighed(1)
    try:
        found = machine().fit(X, y, size * w)
    except ModelError as refused:
        assert re.search("last digit is more than tol|too large for C", str(refused))  # noqa: PT017
    else:
        plain = machine(C=1e6).fit(X, y, w)
        assert (found.predict(X) == plain.predict(X)).mean() > 0.95
    ends = np.array([[-1.0], [1.0]])  # what a plane parts needs no large multiplier
    if not isinstance(machine(), po.LinearSVC):
        assert machine().fit(ends, [0, 1], [size, size]).predict(ends) == pytest.approx([0, 1], abs=0.11)


@pytest.mark.parametrize("model", [po.TAN(), po.AODE(), po.NaiveBayes(), po.DiscriminativeNB(penalty=1.0), po.KDB(1)])
def test_cuts_and_structures_of_huge_weights_are_those_of_large_ones(model):
    X, y, w = weighed(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        large, huge = (model.fit(X + 0.5, y, size * w).predict_proba(X + 0.5) for size in (1e200, 1e305))
    assert huge == pytest.approx(large, abs=1e-6)
