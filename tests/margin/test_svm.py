"""SVC against the notes' example, the optimality conditions, and libsvm through scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize
from sklearn import svm as libsvm
from sklearn import svm as peers
from sklearn.datasets import load_iris, make_blobs, make_classification, make_regression
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_distances

import posteriori as po
from posteriori.errors import BadValue, ModelError, NotSeparable, TableError, UnknownValue
from posteriori.margin import svm as svm_room
from posteriori.margin.machines import merge
from posteriori.margin.platt import couple, deal, fit_sigmoid

from ..kernels.reference import margin as reference

THREE, SIDES = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]]), np.array([1, 1, -1])


def test_three_points():
    """(3,3)+, (4,3)+, (1,1)−: w = (½, ½), b = −2, α = (¼, 0, ¼)."""
    for C in (np.inf, 10.0):
        machine = po.SVC(kernel="linear", C=C, tol=1e-9).fit(THREE, SIDES)
        assert_allclose(machine.coef_, [[0.5, 0.5]], atol=1e-9)
        assert_allclose(machine.intercept_, [-2.0], atol=1e-9)
        alpha = np.zeros(3)
        alpha[machine.support_] = np.abs(machine.dual_coef_[0])
        assert_allclose(alpha, [0.25, 0.0, 0.25], atol=1e-9)
        margins = machine.margins(THREE, SIDES)
        assert_allclose(margins.functional, [1.0, 1.5, 1.0], atol=1e-8)
        assert_allclose(margins.geometric, margins.functional * np.sqrt(2), atol=1e-8)


def test_hard_margin_intercept_is_the_notes_formula():
    """b = −½(max over negatives of wᵀx + min over positives of wᵀx)."""
    for seed in range(10):
        X, y = make_blobs(60, centers=[[0, 0], [7, 6]], random_state=seed)
        machine = po.SVC(kernel="linear", C=np.inf, tol=1e-8).fit(X, y)
        along = X @ machine.coef_[0]
        assert_allclose(machine.intercept_, -(along[y == 0].max() + along[y == 1].min()) / 2, atol=1e-6)
        assert machine.margins(X, y).functional.min() >= 1 - 1e-6


def dual_by_scipy(Q, sign, C):
    return minimize(
        lambda alpha: alpha @ Q @ alpha / 2 - alpha.sum(),
        np.zeros(len(sign)),
        jac=lambda alpha: Q @ alpha - 1,
        bounds=[(0, None if np.isinf(C) else C)] * len(sign),
        constraints={"type": "eq", "fun": lambda alpha: alpha @ sign, "jac": lambda alpha: sign},
        options={"ftol": 1e-14, "maxiter": 1000},
    )


@pytest.mark.parametrize("C", [np.inf, 0.5])
@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_multipliers_and_values_are_those_of_the_quadratic_program(C, scheme):
    """Each machine of three classes against the dual solved by SciPy: α, max = min, every row in its place."""
    X, y = make_blobs(24, centers=[[0, 0], [7, 6], [0, 9]], random_state=1)
    ours = po.SVC(kernel="linear", C=C, multi_class=scheme, tol=1e-9).fit(X, y)
    pairs = [(0, 1), (0, 2), (1, 2)] if scheme == "ovo" else [(0, (1, 2)), (1, (0, 2)), (2, (0, 1))]
    for k, (a, b) in enumerate(pairs):
        rows = np.flatnonzero(np.isin(y, [a, *np.atleast_1d(b)]))
        sign = np.where(y[rows] == a, 1.0, -1.0)
        Q = np.outer(sign, sign) * (X[rows] @ X[rows].T)
        best = dual_by_scipy(Q, sign, C)
        assert_allclose(ours.dual_value_[k], -best.fun, rtol=1e-6)
        assert_allclose(ours.primal_value_[k], -best.fun, rtol=1e-6)
        assert_allclose(ours.alpha_[k, rows], best.x, atol=1e-4)
        assert_allclose(ours.alpha_[k].sum(), ours.alpha_[k, rows].sum())


@pytest.mark.parametrize("case", ["one point in two classes", "overlap", "xor"])
def test_hard_margin_says_not_separable(case):
    X, y = {
        "one point in two classes": (np.array([[1.0], [1.0], [2.0]]), [0, 1, 1]),
        "overlap": make_blobs(60, centers=[[0, 0], [1, 1]], random_state=0),
        "xor": (np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]]), [0, 0, 1, 1]),
    }[case]
    with pytest.raises(NotSeparable, match="finite C"):
        po.SVC(kernel="linear", C=np.inf).fit(X, y)
    if case != "one point in two classes":
        assert po.SVC(kernel="rbf", gamma=10.0, C=np.inf).fit(X, y).score(X, y) == 1.0


# -- beside libsvm ------------------------------------------------------------------------------------------------------


def tables():
    random = np.random.RandomState(0)
    X, y = make_classification(400, 6, n_informative=4, flip_y=0.1, random_state=1)
    yield "balanced", X, y
    X, y = make_classification(400, 6, n_informative=4, weights=[0.93], flip_y=0.05, random_state=2)
    yield "unbalanced", X, y
    X, y = make_classification(80, 4, flip_y=0.1, random_state=3)
    copies = random.randint(0, 80, 300)
    yield "duplicated points", X[copies], y[copies]
    yield "two points", np.array([[0.0, 1.0], [2.0, -1.0]]), np.array([0, 1])
    X, y = make_classification(200, 4, flip_y=0.1, random_state=4)
    yield "constant columns", np.column_stack([X, np.full(200, 3.0), np.zeros(200)]), y
    X, y = make_classification(1800, 10, flip_y=0.1, random_state=5)
    yield "more than one block", X, y


def gram(model, X):
    return {
        "linear": lambda: X @ X.T,
        "poly": lambda: (model._gamma * X @ X.T + model.coef0) ** model.degree,
        "rbf": lambda: np.exp(-model._gamma * pairwise_distances(X, metric="sqeuclidean")),
        "sigmoid": lambda: np.tanh(model._gamma * X @ X.T + model.coef0),
    }[model.kernel]()


def full_beta(model, n):
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize(("name", "X", "y"), [pytest.param(*t, id=t[0]) for t in tables()])
def test_dual_gap_and_decisions_beside_libsvm(name, X, y, kernel, C):
    hard = (name, kernel, C) == ("unbalanced", "linear", 10.0)  # libsvm, on values in single precision, may not end
    tol = 1e-3 if hard else 1e-5
    options = {
        "kernel": kernel,
        "C": C,
        "tol": tol,
        "coef0": 1.0,
        "degree": 2,
        "class_weight": "balanced" if C == 1 else None,
    }
    ours, theirs = po.SVC(**options).fit(X, y), libsvm.SVC(**options).fit(X, y)
    K, sign = gram(theirs, X), np.where(y == 1, 1.0, -1.0)
    value, their_value = (
        np.abs(b).sum() - 0.5 * b @ K @ b for b in (full_beta(ours, len(y)), full_beta(theirs, len(y)))
    )
    assert_allclose(value, their_value, rtol=1e-6)
    beta, bound = full_beta(ours, len(y)), C * theirs.class_weight_[y]
    assert_allclose(ours.alpha_, [sign * beta])
    assert_allclose(ours.dual_value_, [value], rtol=1e-7, atol=1e-7)
    slack = np.maximum(0, 1 - sign * ours.decision_function(X))
    assert_allclose(ours.primal_value_, [0.5 * beta @ K @ beta + bound @ slack], rtol=1e-6)
    assert -1e-7 * abs(value) <= ours.primal_value_[0] - value <= tol * bound.sum()  # weak duality; the gap closes
    v = sign - K @ beta
    up, down = beta < np.where(y == 1, bound, 0) - 1e-12, beta > np.where(y == 1, 0, -bound) + 1e-12
    assert v[up].max() - v[down].min() <= tol * 1.01 + 1e-9
    assert abs(beta.sum()) < 1e-9 * max(1.0, np.abs(beta).sum())
    f, g = ours.decision_function(X), theirs.decision_function(X)
    clear = np.abs(g) >= 1e-3
    assert np.mean(np.sign(f[clear]) == np.sign(g[clear])) >= 0.999
    if (up & down).any():  # else b is not unique
        assert_allclose(f, g, rtol=5e-3, atol=5e-3)


def test_default_tolerance_in_single_precision():
    X, y = make_classification(4000, 20, n_informative=8, flip_y=0.05, random_state=6)
    ours, theirs = po.SVC().fit(X, y), libsvm.SVC().fit(X, y)
    assert ours._kernel.single
    K = gram(theirs, X)
    sign, beta = np.where(y == 1, 1.0, -1.0), full_beta(ours, len(y))
    value, their_value = (np.abs(b).sum() - 0.5 * b @ K @ b for b in (beta, full_beta(theirs, len(y))))
    assert_allclose(value, their_value, rtol=1e-6)
    v = sign - K @ beta
    up, down = beta < np.maximum(0, sign), beta > np.minimum(0, sign)
    assert v[up].max() - v[down].min() <= 1e-3 * 1.05
    f, g = ours.decision_function(X), theirs.decision_function(X)
    clear = np.abs(g) >= 1e-3
    assert np.mean(np.sign(f[clear]) == np.sign(g[clear])) >= 0.999


@pytest.mark.parametrize("cache_size", [0.01, 1.0, 200.0])
def test_cache_and_shrinking_change_nothing(cache_size):
    X, y = make_classification(2500, 8, flip_y=0.15, random_state=7)
    small = po.SVC(C=5.0, cache_size=cache_size, tol=1e-4).fit(X, y)
    exact = po.SVC(C=5.0, tol=1e-4, kernel="precomputed").fit(
        np.exp(-small._kernel.spec.scale * pairwise_distances(X, metric="sqeuclidean")), y
    )
    assert small.gap_[0] <= 1e-4
    assert_allclose(
        np.abs(small.dual_coef_).sum() - 0.5 * small.w_norm_**2,
        np.abs(exact.dual_coef_).sum() - 0.5 * exact.w_norm_**2,
        rtol=1e-6,
    )


def test_weights_are_repetitions_and_class_weights_are_weights():
    X, y = make_classification(120, 4, flip_y=0.1, random_state=8)
    weight = np.random.RandomState(0).randint(0, 4, 120)
    weighed = po.SVC(gamma=0.3).fit(X, y, sample_weight=weight)
    written = po.SVC(gamma=0.3).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighed.decision_function(X), written.decision_function(X), atol=1e-9)
    by_class = po.SVC(gamma=0.3, class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    by_row = po.SVC(gamma=0.3).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    assert_allclose(by_class.decision_function(X), by_row.decision_function(X), atol=1e-9)


# -- kernels ------------------------------------------------------------------------------------------------------------

X4, Y4 = make_classification(150, 4, flip_y=0.1, random_state=9)


@pytest.mark.parametrize(
    ("options", "function"),
    [
        ({"kernel": "linear", "coef0": 2.0}, lambda A, B: A @ B.T + 2.0),
        ({"kernel": "polynomial", "gamma": 0.5, "coef0": 1.0, "degree": 3}, lambda A, B: (0.5 * A @ B.T + 1) ** 3),
        ({"kernel": "rbf", "sigma": 1.5}, lambda A, B: np.exp(-(pairwise_distances(A, B) ** 2) / (2 * 1.5**2))),
        ({"kernel": "gaussian", "gamma": 0.2}, lambda A, B: np.exp(-0.2 * pairwise_distances(A, B) ** 2)),
        ({"kernel": "exponential", "sigma": 1.5}, lambda A, B: np.exp(-pairwise_distances(A, B) / (2 * 1.5**2))),
        ({"kernel": "laplacian", "sigma": 1.5}, lambda A, B: np.exp(-pairwise_distances(A, B) / 1.5)),
        ({"kernel": "laplacian", "norm": 1, "gamma": 0.3}, lambda A, B: laplacian_kernel(A, B, gamma=0.3)),
        ({"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.1}, lambda A, B: np.tanh(0.01 * A @ B.T + 0.1)),
    ],
    ids=lambda o: "-".join(map(str, o.values())) if isinstance(o, dict) else "",
)
def test_named_callable_precomputed_and_sparse_agree(options, function):
    fine = {"tol": 1e-7}
    named = po.SVC(**options, **fine).fit(X4, Y4)
    f = named.decision_function(X4)
    assert_allclose(po.SVC(kernel=function, **fine).fit(X4, Y4).decision_function(X4), f, atol=1e-5)
    K = function(X4, X4)
    assert_allclose(po.SVC(kernel="precomputed", **fine).fit(K, Y4).decision_function(K), f, atol=1e-5)
    table = sparse.csr_array(X4)
    on_sparse = po.SVC(**options, **fine).fit(table, Y4)
    assert_allclose(on_sparse.decision_function(table), f, atol=1e-5)
    assert_allclose(named.decision_function(table), f, atol=1e-12)


def test_automatic_kernel():
    X, y = make_classification(40, 60, random_state=0)
    assert po.SVC(kernel="auto").fit(X, y).kernel_ == "linear"
    machine = po.SVC(kernel="auto").fit(X4, Y4)
    assert machine.kernel_ == "rbf"
    assert_allclose(machine.decision_function(X4), po.SVC(gamma="scale").fit(X4, Y4).decision_function(X4))


def test_far_from_the_origin():
    """Centring keeps the digits that ‖x‖² + ‖z‖² − 2xᵀz would lose."""
    shifted = X4 + 1e7
    for kernel in ("rbf", "linear"):
        near, far = po.SVC(kernel=kernel, gamma=0.2).fit(X4, Y4), po.SVC(kernel=kernel, gamma=0.2).fit(shifted, Y4)
        assert_allclose(far.decision_function(shifted), near.decision_function(X4), atol=5e-3)


# -- several classes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_vs_one_is_libsvms(kernel):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    options = {"kernel": kernel, "tol": 1e-6, "decision_function_shape": "ovo"}
    ours, theirs = po.SVC(**options).fit(X, names), libsvm.SVC(**options).fit(X, names)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert (ours.support_ == theirs.support_).all()
    assert (ours.n_support_ == theirs.n_support_).all()
    assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3)
    assert_allclose(ours.support_vectors_, theirs.support_vectors_)
    assert (ours.predict(X) == theirs.predict(X)).all()
    if kernel == "linear":
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
        assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    wide = ours.set_params(decision_function_shape="ovr").decision_function(X)
    assert wide.shape == (150, 3)
    assert (ours.classes_[wide.argmax(axis=1)] == ours.predict(X)).all()


def test_one_vs_rest_is_a_machine_a_class():
    X, y = load_iris(return_X_y=True)
    ours = po.SVC(multi_class="ovr", tol=1e-6).fit(X, y)
    f = ours.decision_function(X)
    for k in range(3):
        alone = libsvm.SVC(tol=1e-6).fit(X, y == k)
        assert_allclose(f[:, k], alone.decision_function(X), atol=1e-4)
    assert ours.score(X, y) > 0.95
    assert (ours.margins(X, y).functional == f[np.arange(150), y]).all()


def test_margins_of_pairs_are_the_worst_of_the_class():
    X, y = load_iris(return_X_y=True)
    machine = po.SVC(decision_function_shape="ovo").fit(X, y)
    f = machine.decision_function(X)  # pairs 0-1, 0-2, 1-2
    by_hand = np.select(
        [y == 0, y == 1], [np.minimum(f[:, 0], f[:, 1]), np.minimum(-f[:, 0], f[:, 2])], np.minimum(-f[:, 1], -f[:, 2])
    )
    assert_allclose(machine.margins(X, y).functional, by_hand)
    assert np.sign(machine.margins(X, y).geometric).sum() == np.sign(by_hand).sum()


def test_threads_change_no_bit():
    X, y = load_iris(return_X_y=True)
    one, two = (po.SVC(n_jobs=j).fit(X, y).decision_function(X) for j in (1, 2))
    assert (one == two).all()
    random = np.random.RandomState(0)
    X, y = (
        random.normal(size=(3000, 5)),
        random.randint(0, 3, 3000),
    )  # pairs that the whole cache would hold, and half not
    one, two = (po.SVC(n_jobs=j, cache_size=20, tol=0.1).fit(X, y).decision_function(X[:200]) for j in (1, 2))
    assert (one == two).all()


# -- errors -------------------------------------------------------------------------------------------------------------


def test_a_missing_cell_names_its_place_and_a_pipeline():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X4, columns=list("abcd"))
    table.loc[7, "c"] = np.nan
    with pytest.raises(BadValue, match=r"NaN.*row 7, column 'c'.*make_pipeline\(SimpleImputer\(\)"):
        po.SVC().fit(table, Y4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "rfb"}, "did you mean 'rbf'"),
        ({"C": 0}, "C. parameter of SVC"),
        ({"gamma": -1.0}, "gamma. parameter of SVC"),
        ({"gamma": "sale"}, "did you mean 'scale'"),
        ({"sigma": 0.0}, "sigma. parameter of SVC"),
        ({"sigma": 1.0, "gamma": 0.5}, "twice"),
        ({"kernel": "laplacian", "norm": 3}, "norm. parameter of SVC"),
        ({"kernel": "poly", "degree": 1.5}, "degree. parameter of SVC"),
        ({"multi_class": "over"}, "did you mean"),
        ({"kernel": lambda A, B: np.ones((2, 2))}, "callable kernel"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "not finite"),
    ],
    ids=lambda o: str(o)[:30],
)
def test_options_are_checked(options, message):
    with pytest.raises(ModelError, match=message):
        po.SVC(**options).fit(X4, Y4)


def test_other_errors():
    with pytest.raises(UnknownValue, match="do not exist"):
        po.SVC().fit(X4, Y4).margins(X4, Y4 + 5)
    with pytest.raises(BadValue, match="negative"):
        po.SVC().fit(X4, Y4, sample_weight=np.r_[-1.0, np.ones(149)])
    with pytest.raises(ValueError, match="square"):
        po.SVC(kernel="precomputed").fit(X4, Y4)
    with pytest.raises(AttributeError) as found:
        po.SVC().fit(X4, Y4).predict_proba(X4)
    assert "probability=True" in str(found.value.__cause__)
    with pytest.raises(AttributeError, match="linear kernel only"):
        _ = po.SVC().fit(X4, Y4).coef_


@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian", "precomputed", lambda a, b: (a @ b.T) ** 2])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_classes_are_asked_all_at_once_or_one_by_one(monkeypatch, kernel, form):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(50, 4)), np.arange(50) % 4
    if form is not np.asarray and (callable(kernel) or kernel == "precomputed"):
        return
    table = X @ X.T if isinstance(kernel, str) and kernel == "precomputed" else form(X)
    at_once = svm_room.SVC(kernel=kernel).fit(table, y).decision_function(table)
    monkeypatch.setattr(svm_room, "FEW_CLASSES", 3)
    assert svm_room.SVC(kernel=kernel).fit(table, y).decision_function(table) == pytest.approx(at_once)


@pytest.mark.parametrize("classes", [2, 3, 6, 8])
def test_a_callable_kernel_of_sparse_rows(classes):
    X = sparse.random_array((10 * classes, 7), density=0.4, format="csr", rng=np.random.default_rng(0))
    y = np.arange(10 * classes) % classes
    found = po.SVC(kernel=lambda A, B: (A @ B.T).toarray()).fit(X, y)
    plain = po.SVC(kernel="linear").fit(X, y)
    np.testing.assert_allclose(found.decision_function(X), plain.decision_function(X), atol=5e-3)


# -- posteriors, by hand ------------------------------------------------------------------------------------------------


def own_sigmoid(X, sign, weight, gamma, C, seed):
    """(A, B) of one machine: every fold's scores by a machine of the rest, each row by its share."""
    random, found = np.random.RandomState(seed), []
    for share in deal(sign > 0, weight, 5, random):
        held, seen = np.flatnonzero(share), np.flatnonzero(share < 1)
        if len(held):
            rest, signs = weight[seen] * (1 - share[seen]), sign[seen]
            if len(set(signs)) == 2:
                machine = po.SVC(gamma=gamma, C=C, tol=1e-8).fit(X[seen], signs, rest)
                score = machine.decision_function(X[held])
            else:  # of one class alone, or of nobody
                score = np.full(len(held), signs[0] if len(signs) else 1.0)
            found.append((score, sign[held] > 0, weight[held] * share[held]))
    return fit_sigmoid(*map(np.concatenate, zip(*found)))


@pytest.mark.parametrize("rare", [1, 12])
@pytest.mark.parametrize("precomputed", [False, True])
def test_platts_sigmoids_are_fitted_to_rows_that_the_machine_had_not_seen(rare, precomputed):
    rng = np.random.default_rng(rare)
    X, y = rng.normal(size=(30, 2)), (np.arange(30) < rare).astype(int)
    weight = rng.integers(1, 3, 30).astype(float)
    X[:rare] += 1.0
    weight[:rare] = weight.min() if rare == 1 else weight[:rare]
    K = np.exp(-0.5 * pairwise_distances(X) ** 2)
    options = {"C": 2.0, "tol": 1e-8, "probability": True, "random_state": 3}
    if precomputed:
        model, table, order = po.SVC(kernel="precomputed", **options).fit(K, y, weight), K, np.arange(30)
    else:
        model, table = po.SVC(gamma=0.5, **options).fit(X, y, weight), X
        order = merge(X, y, weight).first
    wanted = own_sigmoid(X[order], np.where(y[order] == 1, 1.0, -1.0), weight[order], 0.5, 2.0, 3)
    assert model._platt[0] == pytest.approx(wanted, rel=1e-4, abs=1e-5)
    p = 1 / (1 + np.exp(wanted[0] * model.decision_function(table) + wanted[1]))
    assert_allclose(model.predict_proba(table), np.column_stack([1 - p, p]), atol=1e-4)


def test_rows_that_are_all_held_out_score_on_their_own_side():
    """Two rows, one fold: whoever sees nobody of a class says the other."""
    model = po.SVC(probability=True, random_state=0).fit([[0.0], [1.0]], [0, 1])
    scores, positive = np.array([1.0, 1.0]), np.array([True, False])  # both in the first fold: nobody is left
    assert model._platt[0] == pytest.approx(fit_sigmoid(scores, positive))


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_posteriors_of_three_classes_are_coupled_or_normalised(scheme):
    X, y = load_iris(return_X_y=True)
    model = po.SVC(probability=True, random_state=0, multi_class=scheme, decision_function_shape="ovo").fit(X, y)
    f = model.decision_function(X[::10])
    each = np.stack([1 / (1 + np.exp(a * f[:, k] + b)) for k, (a, b) in enumerate(model._platt)], axis=1)
    if scheme == "ovr":
        wanted = each / each.sum(axis=1, keepdims=True)
    else:
        r = np.zeros((15, 3, 3))
        for k, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
            r[:, i, j], r[:, j, i] = each[:, k], 1 - each[:, k]
        wanted = couple(r)
    assert_allclose(model.predict_proba(X[::10]), wanted, atol=1e-9)
    model.set_params(probability=False)
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X)
    plain = po.SVC().fit(X, y).set_params(probability=True)
    with pytest.raises(ModelError, match="fitted without posteriors"):
        plain.predict_proba(X)


def test_attributes_of_a_fit_are_those_of_its_rows():
    X = np.array([[0.0, 1.0], [1.0, 0.5], [4.0, 4.0], [5.0, 4.0], [5.0, 4.0], [9.0, 1.0], [8.0, 0.0]])
    y = np.array([0, 0, 1, 1, 1, 2, 2])
    model = po.SVC(kernel="linear", tol=1e-8, decision_function_shape="ovo").fit(X, y)
    f = model.decision_function(X)
    assert_allclose(f, X @ model.coef_.T + model.intercept_, atol=1e-8)
    assert model.shape_fit_ == (7, 2)
    assert model.fit_status_ == 0
    assert (model.n_iter_ > 0).all()
    assert model.n_iter_.shape == model.gap_.shape == model.w_norm_.shape == (3,)
    assert_allclose(model.w_norm_, np.linalg.norm(model.coef_, axis=1))
    assert np.array_equal(model.support_vectors_, X[model.support_])
    assert model.n_support_.tolist() == [int((y[model.support_] == k).sum()) for k in range(3)]
    found = model.margins(X, y)
    assert_allclose(found.functional[:2], f[:2, :2].min(axis=1))
    worst = [f[5:, 1].tolist(), f[5:, 2].tolist()]
    assert_allclose(found.functional[5:], -np.max(worst, axis=0))
    which = np.array(worst).argmax(axis=0)
    assert_allclose(found.geometric[5:], found.functional[5:] / model.w_norm_[1:][which])
    rest = po.SVC(kernel="linear", multi_class="ovr").fit(X, y)
    assert_allclose(rest.margins(X, y).functional, rest.decision_function(X)[np.arange(7), y])
    with pytest.raises(TableError, match="X has 7 rows and y 6"):
        model.margins(X, y[:6])
    flat = po.SVC(kernel="precomputed").fit(np.zeros((4, 4)), [0, 0, 1, 1])  # w = 0: no division by it
    assert_allclose(
        flat.margins(np.zeros((4, 4)), [0, 0, 1, 1]).geometric, [-flat.intercept_[0]] * 2 + [flat.intercept_[0]] * 2
    )


def test_a_tie_falls_to_the_first_of_two_classes():
    flat = po.SVC(kernel="precomputed").fit(np.zeros((4, 4)), ["a", "a", "b", "b"])
    assert flat.decision_function(np.zeros((1, 4))).tolist() == [0.0]
    assert flat.predict(np.zeros((1, 4))).tolist() == ["a"]


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_svr_is_libsvms(kernel, C):
    A, t = make_regression(200, 5, noise=3, random_state=0)
    t = t / t.std()
    options = {"kernel": kernel, "C": C, "epsilon": 0.05, "tol": 1e-6}
    ours, theirs = po.SVR(**options).fit(A, t), peers.SVR(**options).fit(A, t)
    assert_allclose(ours.predict(A), theirs.predict(A), atol=1e-4)
    assert abs(len(ours.support_) - len(theirs.support_)) <= 1
    if kernel == "linear":
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
        assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_svr_by_rounds_and_precomputed():
    A, t = make_regression(1500, 5, noise=3, random_state=1)
    t = t / t.std()
    ours, theirs = po.SVR(tol=1e-4).fit(A, t), peers.SVR(tol=1e-4).fit(A, t)
    assert_allclose(ours.predict(A), theirs.predict(A), atol=2e-3)
    K = A[:200] @ A[:200].T
    fitted = po.SVR(kernel="precomputed").fit(K, t[:200])
    assert_allclose(fitted.predict(K), po.SVR(kernel="linear").fit(A[:200], t[:200]).predict(A[:200]), atol=5e-3)
    with pytest.raises(ModelError, match="epsilon"):
        po.SVR(epsilon=-1).fit(A, t)


def by_hand(K, y, C, epsilon, gap=1e-9):
    """β and b of the dual, by the solver's own twin: two multipliers a row."""
    n = len(y)
    place, beta = np.tile(np.arange(n), 2), np.zeros(2 * n)
    p = np.r_[y - epsilon, y + epsilon]
    v = p.copy()
    reference.smo_block(K[np.ix_(place, place)], np.r_[np.zeros(n), -C], np.r_[C, np.zeros(n)], beta, v, gap, 100_000)
    return beta[:n] + beta[n:]


@pytest.mark.parametrize("together", [True, False])
def test_weights_equal_rows_and_an_offset_by_the_dual(monkeypatch, together):
    """Rows merged, alone or in one call: the multipliers of the rows as they came, and their attributes."""
    if not together:
        monkeypatch.setattr(svm_room, "solve_together", lambda *_: [None])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2)) + 5.0
    y = X[:, 0] - 2 * X[:, 1] + 0.3 * rng.normal(size=20)
    X[3], y[3] = X[7], y[7]
    w = rng.integers(1, 4, 20).astype(float)
    w[11] = 0.0
    model = po.SVR(kernel="linear", C=0.7, epsilon=0.2, tol=1e-8).fit(X, y, w)
    keep = np.flatnonzero(w)
    beta = np.zeros(20)
    beta[keep] = by_hand(X[keep] @ X[keep].T, y[keep], 0.7 * w[keep], 0.2)
    assert model.coef_[0] == pytest.approx(beta @ X, abs=1e-5)
    assert model.predict(X) == pytest.approx(X @ model.coef_[0] + model.intercept_[0], abs=1e-9)
    assert model.dual_coef_.sum() == pytest.approx(0.0, abs=1e-9)
    assert np.array_equal(model.support_vectors_, X[model.support_])
    assert 11 not in model.support_
    if 3 in model.support_:  # equal rows share as they weigh
        shares = [model.dual_coef_[0][model.support_.tolist().index(i)] for i in (3, 7)]
        assert shares[0] * w[7] == pytest.approx(shares[1] * w[3])
    assert model.n_support_.tolist() == [len(model.support_)]
    assert model.dual_coef_.shape == (1, len(model.support_))
    assert model.shape_fit_ == (20, 2)
    assert (model.fit_status_, model.gap_ <= 1e-8, model.n_iter_ > 0) == (0, True, True)
    free = [i for i in keep if i not in (3, 7) and 0 < abs(beta[i]) < 0.7 * w[i] - 1e-6]
    assert free  # on the edge of the tube
    assert np.abs(y[free] - model.predict(X[free])) == pytest.approx(0.2, abs=1e-5)


def test_quantities_are_numbers():
    assert svm_room._numbers(np.array([1, 2])).dtype == np.float64
    same = np.array([1.0, 2.0])
    assert svm_room._numbers(same) is same
    for bad, message in (([1.0, np.nan], "NaN"), ([np.inf, 1.0], "infinity")):
        with pytest.raises(ValueError, match=message):
            svm_room._numbers(np.array(bad))
    huge = np.array([1e308, 1e308])  # whose sum is not finite, but they are
    assert svm_room._numbers(huge).tolist() == huge.tolist()
    with pytest.raises(BadValue, match="larger than any float"):
        svm_room._numbers(np.array([10**400, 1], dtype=object))
    with pytest.raises(ValueError, match="inconsistent"):
        po.SVR().fit([[1.0], [2.0]], [1.0, 2.0, 3.0])
    with pytest.raises(AttributeError, match="linear kernel only; this one is 'rbf'"):
        _ = po.SVR().fit([[1.0], [2.0]], [1.0, 2.0]).coef_


def test_a_precomputed_matrix_has_columns_and_no_vectors():
    x = np.array([[0.0], [1.0], [2.0], [4.0]])
    y = np.array([0.0, 1.0, 2.0, 5.0])
    told = po.SVR(kernel="precomputed", tol=1e-8).fit(x @ x.T, y, [1, 0, 2, 1])
    plain = po.SVR(kernel="linear", tol=1e-8).fit(x, y, [1, 0, 2, 1])
    assert told.predict(x @ x.T) == pytest.approx(plain.predict(x), abs=1e-6)
    assert told.support_vectors_.shape == (0, 0)
    assert 1 not in told.support_
