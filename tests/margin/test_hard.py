"""Hard cases of the margin machines: repeated rows, far queries, failed and interrupted fits, senseless numbers."""

from __future__ import annotations

import _thread
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

import posteriori as po
from posteriori.errors import ModelError, NotSeparable, TableError
from posteriori.margin import hard
from posteriori.margin.gram import FunctionGram, WholeGram
from posteriori.margin.platt import normalised
from posteriori.margin.smo import Problem

from ..kernels.reference import margin as reference


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
    model = po.LinearSVC(loss="hinge", C=1e4, tol=1e-12, max_iter=5_000, n_jobs=2)  # ends by itself, if late
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background ignores Ctrl-C
    try:
        threading.Timer(1.0, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(x, y)
    finally:
        signal.signal(signal.SIGINT, before)


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
    with pytest.raises(ModelError, match=r"polynomial kernel.*: its value overflows"):
        model.predict([[1e200]])
    with pytest.raises(ModelError, match=r"polynomial kernel.*: its value overflows"):
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
    K = np.eye(8)
    for model in (po.SVC(kernel="precomputed", probability=True), po.SVR(kernel="precomputed")):
        with pytest.raises(TableError, match="dense"):
            model.fit(sparse.csr_array(K), np.arange(8) % 2)
        model.fit(K, np.arange(8) % 2)
        for ask in ("predict", "decision_function", "predict_proba"):
            if hasattr(model, ask):
                with pytest.raises(TableError, match="dense"):
                    getattr(model, ask)(sparse.csr_array(K))


# -- the hard margin ----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=60)
@given(
    st.integers(0, 2**20),
    st.sampled_from(["precomputed", "sigmoid", "callable"]),
    st.sampled_from([1.0, 1e6, 1e300, np.inf]),
    st.sampled_from([1e-6, 1.0, 1e6, 1e150, 1e300]),
    st.sampled_from([po.SVC, po.SVR]),
)
def test_no_answer_is_nan_though_the_kernel_is_none(seed, kernel, C, size, kind):
    """A matrix that is not positive semi-definite, of any size: an error by name, or finite answers."""
    random = np.random.RandomState(seed)
    n = random.randint(2, 30)
    x, y = random.normal(size=(n, 3)), np.r_[0, 1, random.randint(0, 2, n - 2)]
    B = random.normal(size=(3, 3))
    options = {"C": C, "max_iter": 20_000}
    if kernel == "sigmoid":
        model, x = kind(kernel="sigmoid", gamma=1.0, coef0=float(random.normal()), **options), x * min(size, 1e70)
    elif kernel == "callable":
        model = kind(kernel=lambda a, b: size * (a @ (B + B.T) @ b.T), **options)
    else:
        model, x = kind(kernel="precomputed", **options), size * (x @ (B + B.T) @ x.T)
    try:
        model.fit(x, y)
        answers = [model.predict(x)] + ([model.decision_function(x)] if kind is po.SVC else [])
    except ModelError:
        return
    assert all(np.isfinite(a).all() for a in answers)


def test_a_hard_margin_under_no_kernel_is_refused_by_name():
    K = np.random.RandomState(0).normal(size=(40, 40))
    with pytest.raises(ModelError, match="positive semi-definite"):
        po.SVC(kernel="precomputed", C=np.inf).fit(K + K.T, np.arange(40) % 2)


@settings(max_examples=25)
@given(
    st.integers(0, 2**20),
    st.sampled_from([(100, 2, 1.0), (500, 2, 10.0), (500, 2, 100.0), (500, 5, 0.2), (300, 8, 0.1)]),
)
def test_distinct_points_under_a_definite_kernel_are_separable(seed, shape):
    """Whatever their labels; though the margin may be so narrow that the values of K have not the digits to tell."""
    n, d, gamma = shape
    random = np.random.RandomState(seed)
    x, y = random.normal(size=(n, d)), random.randint(0, 2, n)
    y[:2] = 0, 1
    machine = po.SVC(gamma=gamma, C=np.inf).fit(x, y)
    assert machine.score(x, y) == 1.0
    assert machine.margins(x, y).functional.min() > 1 - 2e-3
    assert machine.fit_status_ == 0


def test_a_margin_too_narrow_for_double_precision_is_not_called_inseparable():
    random = np.random.RandomState(0)
    x, y = random.normal(size=(200, 1)), random.randint(0, 2, 200)
    with pytest.raises(ModelError, match="too narrow for double precision") as found:
        po.SVC(C=np.inf).fit(x, y)
    assert not isinstance(found.value, NotSeparable)
    x[1], y[:2] = x[0], (0, 1)
    with pytest.raises(NotSeparable, match="row occurs in two classes"):
        po.SVC(C=np.inf).fit(x, y)


# -- the linear margin --------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=80)
@given(
    st.integers(0, 2**20),
    st.integers(-200, 200),
    st.sampled_from([1e-200, 1e-3, 1.0, 1e6, 1e200]),
    st.sampled_from(["linear", "poly", "rbf", "laplacian", "LinearSVC", "hinge", "SVR"]),
    st.booleans(),
)
def test_no_answer_is_nan_whatever_the_units(seed, power, C, kind, is_sparse):
    """Cells of any size and any C: an error by name, or finite answers."""
    random = np.random.RandomState(seed)
    x, y = random.normal(size=(20, 3)) * 10.0**power, np.arange(20) % 2
    model = {
        "LinearSVC": lambda: po.LinearSVC(C=C, max_iter=50),
        "hinge": lambda: po.LinearSVC(C=C, loss="hinge", max_iter=50),
        "SVR": lambda: po.SVR(C=C, max_iter=5000),
    }.get(kind, lambda: po.SVC(kernel=kind, C=C, max_iter=5000))()
    table = sparse.csr_array(x) if is_sparse else x
    try:
        model.fit(table, y)
        answer = model.predict(table) if kind == "SVR" else model.decision_function(table)
    except ModelError:
        return
    assert np.isfinite(answer).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [1.0, 1e3, 1e-3])
def test_an_interior_point_is_as_good_as_pairs_after_few_steps(monkeypatch, seed, size):
    """Newton's steps are few, as each costs the factor of a matrix."""
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(40, 2)), np.where(random.random(40) < 0.5, 1.0, -1.0)
    K, p, factors = size * np.exp(-9 * ((x[:, None] - x) ** 2).sum(axis=-1)), y + 0.1 * random.normal(size=40), []
    own = hard.cho_factor
    monkeypatch.setattr(hard, "cho_factor", lambda *a, **k: (factors.append(1), own(*a, **k))[1])
    beta = hard.interior(K, p, y)
    assert (y * beta >= 0).all()
    assert abs(beta.sum()) <= 1e-12 * np.abs(beta).sum()
    assert len(factors) <= 15
    best = np.zeros(40)
    reference.smo_block(K, np.where(y > 0, 0, -np.inf), np.where(y > 0, np.inf, 0), best, p.copy(), 1e-9, 100_000)
    value, least = (0.5 * b @ K @ b - p @ b for b in (beta, best))
    assert value == pytest.approx(least, rel=1e-5)


def test_a_step_goes_as_far_as_no_value_turns_negative():
    assert hard._room(np.array([1.0, 3.0, 2.0]), np.array([-2.0, -1.0, 5.0])) == 0.5
    assert hard._room(np.array([1.0, 0.0]), np.array([-4.0, 0.0])) == 0.25
    assert hard._room(np.array([1.0]), np.array([-1e-9])) == hard._room(np.ones(1), np.ones(1)) == 1 / hard.NEAR


@pytest.mark.parametrize("definite", [True, False])
def test_a_margin_is_refused_below_the_narrowest(monkeypatch, definite):
    problem = SimpleNamespace(hard=True, gram=SimpleNamespace(spread=lambda: 1.0, definite=definite))
    monkeypatch.setattr(hard, "width", lambda problem: hard.TINY_MARGIN)
    hard.refuse_inseparable(problem)
    monkeypatch.setattr(hard, "width", lambda problem: hard.TINY_MARGIN * (1 - 1e-15))
    with pytest.raises(ModelError if definite else NotSeparable, match="narrower" if definite else "no margin"):
        hard.refuse_inseparable(problem)


# -- the pieces, by hand ------------------------------------------------------------------------------------------------


def at(beta, K, p, low=0.0, high=np.inf):
    """A problem at β, its v = p − Kβ."""
    beta, p = np.asarray(beta, dtype=float), np.asarray(p, dtype=float)
    low, high = np.broadcast_to(low, len(p)).astype(float), np.broadcast_to(high, len(p)).astype(float)
    return Problem(WholeGram(K), p, low, high, beta, p - K @ beta)


def test_no_margin_is_wider_than_the_points_that_the_multipliers_name():
    x, y = np.array([4.0, -1.0, 0.5]), np.array([1.0, -1.0, -1.0])
    K = np.outer(x, x)
    for size in (1e-3, 1.0, 40.0):  # Σα does not matter: the points are 4 and ¼·(−1) + ¾·0.5
        found = hard.width(at(size * np.array([1.0, -0.25, -0.75]), K, y))
        assert found == pytest.approx((4 - 0.125) / 4)
    assert hard.width(at([0.0] * 3, K, y)) == np.inf
    assert hard.width(at([1.0, -1.0, 0.0], np.zeros((3, 3)), y)) == np.inf
    same = np.ones((2, 2))  # two equal points: no margin, whatever α
    assert hard.width(at([3.0, -3.0], same, [1.0, -1.0])) == 0.0


def test_what_is_below_zero_by_more_than_rounding_is_no_kernel():
    """βᵀKβ against 1e-9 of (Σ|β|)²·max K."""
    for below, refused in ((0.9e-9, False), (1.1e-9, True)):
        K = np.array([[2.0, 2.0], [2.0, 2.0 - 4 * below * 2.0]])  # βᵀKβ of (1, −1) is −8·below = −below·2²·2
        problem = at([5.0, -5.0], K, [1.0, -1.0], low=[0.0, -np.inf], high=[np.inf, 0.0])
        assert (hard.width(problem) < 0) == refused
        with pytest.raises(ModelError, match="only a positive semi-definite kernel has" if refused else "no margin"):
            hard.refuse_inseparable(problem)


def test_only_a_hard_margin_is_refused_and_its_width_is_told():
    K = np.array([[4.0, 4.0], [4.0, 4.0]])
    soft = at([1.0, -1.0], K, [1.0, -1.0], low=[0.0, -9.0], high=[9.0, 0.0])
    hard.refuse_inseparable(soft)
    K = np.array([[4.0, 4.0], [4.0, 4.0 + 1e-12]])
    with pytest.raises(NotSeparable, match=r"no margin is wider than 1e-06 \(the data spread over 2\)"):
        hard.refuse_inseparable(at([1.0, -1.0], K, [1.0, -1.0], low=[0.0, -np.inf], high=[np.inf, 0.0]))
    sharp = at([1.0, -1.0], K, [1.0, -1.0], low=[0.0, -np.inf], high=[np.inf, 0.0])
    sharp.gram.definite = True
    with pytest.raises(ModelError, match="narrower than 5e-07 of their spread"):
        hard.refuse_inseparable(sharp)


def test_an_interior_point_puts_on_its_bound_what_is_not_a_support_vector():
    """(3,3)+, (4,3)+, (1,1)−: α = (¼, 0, ¼)."""
    X, y = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]]), np.array([1.0, 1.0, -1.0])
    beta = hard.interior(X @ X.T, y, y)
    assert beta == pytest.approx([0.25, 0.0, -0.25], abs=1e-8)
    assert beta[1] == 0.0
    assert beta.sum() == 0.0
    nan = np.full((3, 3), np.nan)
    with np.errstate(all="ignore"):
        assert hard.interior(nan, y, y) is None


@pytest.mark.parametrize("better", [True, False])
def test_an_interior_point_is_taken_where_it_is_nearer(monkeypatch, better):
    X, y = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]]), np.array([1.0, 1.0, -1.0])
    K, best = X @ X.T, np.array([0.25, 0.0, -0.25])
    problem = at([0.1, 0.1, -0.2] if better else best, K, y, np.where(y > 0, 0, -np.inf), np.where(y > 0, np.inf, 0))
    asked, there = [], best if better else np.array([0.2, 0.0, -0.2])

    def interior(K, p, sides):
        asked.append(sides.tolist())
        return there

    monkeypatch.setattr(hard, "interior", interior)
    hard.by_interior(problem, K)
    assert asked == [y.tolist()]
    assert problem.beta.tolist() == best.tolist()
    assert problem.v == pytest.approx(y - K @ best)
    for nothing in (None, np.array([np.inf, 0.0, -np.inf])):
        monkeypatch.setattr(hard, "interior", lambda *_, nothing=nothing: nothing)
        hard.by_interior(problem, K)
        assert problem.beta.tolist() == best.tolist()
        assert problem.v == pytest.approx(y - K @ best)
