"""What a machine may spend: caps that are told are kept; and how machines of many classes lie side by side."""

from __future__ import annotations

import itertools
import threading
import time
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import posteriori as po
from posteriori.errors import ModelError, TableError
from posteriori.margin import machines
from posteriori.margin.machines import (
    Machine,
    Merged,
    Settings,
    as_they_are,
    expansion,
    merge,
    read_classes,
    rows_at,
    side_by_side,
    splits,
    together,
    train_all,
    votes,
    written_out,
)
from posteriori.margin.smo import Solution


@given(st.integers(0, 500), st.sampled_from([np.asarray, sparse.csr_array]), st.integers(1, 25))
def test_groups_are_equal_rows_with_equal_targets(seed, form, n):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (n, 2)).astype(float), rng.integers(0, 2, n)
    w = rng.integers(0, 4, n).astype(float)
    w[rng.integers(n)] += 1.0
    found = merge(form(X), y, w)
    keys = [(*X[i], y[i]) if w[i] > 0 else None for i in range(n)]
    for i in range(n):
        assert (found.group[i] == -1) == (keys[i] is None)
        for j in range(n):
            if keys[i] is not None and keys[j] is not None:
                assert (found.group[i] == found.group[j]) == (keys[i] == keys[j])
    assert found.group[found.first].tolist() == list(range(len(found.first)))
    for g, total in enumerate(found.weight):
        assert total == w[found.group == g].sum()
        assert found.share[found.group == g] == pytest.approx(w[found.group == g] / total)
    beta = rng.normal(size=(3, len(found.first)))
    back = found.spread(beta)
    assert (back[:, w == 0] == 0).all()
    for g in range(len(found.first)):
        assert back[:, found.group == g].sum(axis=1) == pytest.approx(beta[:, g])


@given(st.integers(0, 500))
def test_the_order_of_rows_and_how_weights_are_written_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X, y, w = rng.integers(0, 3, (12, 2)).astype(float), rng.integers(0, 2, 12), rng.integers(1, 4, 12)
    a = merge(X, y, w.astype(float))
    turn = rng.permutation(12)
    b = merge(X[turn], y[turn], w[turn].astype(float))
    c = merge(np.repeat(X, w, axis=0), np.repeat(y, w), np.ones(w.sum()))
    for other, rows in ((b, X[turn]), (c, np.repeat(X, w, axis=0))):
        assert np.array_equal(X[a.first], rows[other.first])
        assert np.array_equal(a.weight, other.weight)


def test_rows_as_they_are():
    found = as_they_are(np.array([1.0, 0.0, 2.0]))
    assert found.first.tolist() == [0, 2]
    assert found.weight.tolist() == [1.0, 2.0]
    assert found.group.tolist() == [0, -1, 1]
    assert found.spread(np.array([5.0, 7.0])).tolist() == [5.0, 0.0, 7.0]


def test_rows_whose_projections_agree_are_still_told_apart():
    far = np.array([[1e300, 1.0], [1e300, 2.0]])  # the second column is lost beside the first
    assert len(merge(far, np.zeros(2), np.ones(2)).first) == 2


@pytest.mark.parametrize("model", [po.SVC(), po.LinearSVC()])
def test_classes_are_read_with_their_weights(model):
    X, y = np.arange(8.0).reshape(4, 2), ["a", "b", "b", "b"]
    rows, codes, weight, of_class = read_classes(model, X, y, [1, 2, 3, 4])
    assert (codes.tolist(), weight.tolist(), of_class.tolist()) == ([0, 1, 1, 1], [1, 2, 3, 4], [1, 1])
    assert model.classes_.tolist() == ["a", "b"]
    assert rows.dtype == np.float64
    with pytest.raises(ModelError, match="only one class: 'b'"):
        read_classes(model, X, ["b"] * 4, None)
    with pytest.raises(ModelError, match="no row of positive weight"):
        read_classes(model, X, y, [0, 1, 1, 1])
    model.set_params(class_weight={"a": 0.0, "b": 1.0})
    with pytest.raises(ModelError, match="no row of positive weight"):
        read_classes(model, X, y, None)
    model.set_params(class_weight=None)
    with pytest.raises(ValueError, match="inconsistent"):
        read_classes(model, X, y[:3], None)


def test_weights_and_rows_of_no_weight_by_hand():
    X, y = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [1.0, 0.0], [5.0, 5.0]]), np.array([1, 0, 1, 0, 0])
    for form in (np.asarray, sparse.csr_array):
        found = merge(form(X), y, np.array([1.0, 2.0, 3.0, 4.0, 0.0]))
        assert len(found.first) == 3
        assert found.group[4] == -1
        assert found.group[0] == found.group[2]
        assert found.share.tolist() == [0.25, 1.0, 0.75, 1.0, 0.0]
        assert y[found.first].tolist() == sorted(y[found.first])
        assert found.spread(np.arange(1.0, 4.0))[[0, 2, 4]].tolist() == [0.75, 2.25, 0.0]
        alone = merge(form(X[:1]), y[:1], np.array([3.0]))
        assert (alone.first.tolist(), alone.weight.tolist(), alone.group.tolist()) == ([0], [3.0], [0])


def test_sparse_rows_whose_projections_agree_are_still_told_apart():
    far = sparse.csr_array(np.array([[1e300, 1.0], [1e300, 2.0], [1e300, 1.0]]))
    assert sorted(merge(far, np.zeros(3), np.ones(3)).weight.tolist()) in ([1.0, 2.0], [1.0, 1.0, 1.0])


def test_a_class_that_weighs_nothing_is_named_whoever_took_its_weight():
    X = np.arange(4.0)[:, None]
    for weights, of_class, fine in (([1, 0, 1, 0], None, False), ([1, 0, 1, 2], None, True), (None, None, True)):
        model = po.SVC(class_weight=of_class)
        if fine:
            assert read_classes(model, X, [0, 1, 0, 1], weights)[1].tolist() == [0, 1, 0, 1]
        else:
            with pytest.raises(ModelError, match="no row of positive weight"):
                read_classes(model, X, [0, 1, 0, 1], weights)
    assert read_classes(po.SVC(class_weight={0: 0.5, 1: 3.0}), X, [0, 1, 0, 1], None)[3].tolist() == [0.5, 3.0]


def asked(tol=1e-3, max_iter=-1, max_seconds=None, cache_size=200.0, n_jobs=None):
    return Settings(tol, max_iter, max_seconds, cache_size, n_jobs)


@pytest.mark.parametrize(
    ("max_iter", "n", "steps"),
    [(0, 5, 0), (1, 5, 1), (7, 10**6, 7), (-1, 5, 10_000_000), (-1, 100_000, 10_000_000), (-1, 100_001, 10_000_100)],
)
def test_caps(max_iter, n, steps):
    stop = threading.Event()
    limits = asked(0.5, max_iter, None).limits(n, stop)
    assert (limits.tol, limits.steps, limits.seconds, limits.interrupted) == (0.5, steps, np.inf, stop)
    assert asked(max_seconds=0.25).limits(n, stop).seconds == 0.25


def test_a_cap_of_no_steps_moves_nothing_and_says_so():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    with pytest.warns(
        ConvergenceWarning, match="SVC stopped before its gap was under tol=0.001: gap 2 after 0 steps"
    ) as said:
        model = po.SVC(kernel="linear", max_iter=0).fit(X, y)
    assert said[0].filename == __file__  # the line that called fit
    assert not model.n_support_.any()
    with pytest.warns(ConvergenceWarning, match="SVR stopped") as said:
        po.SVR(max_iter=0, epsilon=0.0).fit(X, [0.0, 1.0, 5.0, 7.0])
    assert said[0].filename == __file__


@given(st.integers(0, 300), st.integers(2, 5), st.sampled_from(["ovo", "ovr"]))
def test_problems_and_their_layout(seed, K, scheme):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(K), rng.integers(0, K, 12)])
    n = len(codes)
    problems = splits(codes, K, scheme)
    pairs = list(itertools.combinations(range(K), 2))
    if K == 2:
        assert [p.sign.tolist() for p in problems] == [np.where(codes == 1, 1.0, -1.0).tolist()]
    elif scheme == "ovr":
        assert [p.sign.tolist() for p in problems] == [np.where(codes == k, 1.0, -1.0).tolist() for k in range(K)]
    else:
        for (i, j), p in zip(pairs, problems, strict=True):
            assert p.rows.tolist() == [r for r in range(n) if codes[r] in (i, j)]
            assert p.sign.tolist() == [1.0 if codes[r] == i else -1.0 for r in p.rows]
    machines = []
    for p in problems:
        beta = rng.normal(size=len(p.rows)) * (rng.random(len(p.rows)) < 0.6)
        machines.append(Machine(p.rows, beta, float(rng.normal()), 1.0, 0.0, 1, True, 0.0, 0.0))
    gram = rng.normal(size=(6, n))  # K between six queries and the rows
    wanted = np.column_stack([gram[:, m.rows] @ m.beta + m.b for m in machines])
    found = expansion(machines, codes, K, scheme)
    assert found.paired == (K > 2 and scheme == "ovo")
    assert (np.diff(codes[found.support]) >= 0).all()
    assert found.n_support.tolist() == [int((codes[found.support] == k).sum()) for k in range(K)]
    used = {r for m in machines for r, b in zip(m.rows.tolist(), m.beta) if b != 0}
    assert set(found.support.tolist()) == used
    parts = found.parts(found.support)
    sums = [gram[:, p.vectors] @ p.coef.T for p in parts]
    assert found.decisions(sums) == pytest.approx(wanted)
    if found.paired:
        assert found.of_pairs().shape == (len(pairs), len(found.support))
        assert found.decisions([gram[:, found.support] @ found.of_pairs().T]) == pytest.approx(wanted)
    same = Merged(np.arange(n), np.ones(n), np.arange(n), np.ones(n))
    again = written_out(found, same, codes)
    assert np.array_equal(again.coef, found.coef)
    assert np.array_equal(again.support, found.support)
    if found.paired:
        score = votes(wanted, K)
        for row, f in zip(score, wanted):
            wins = np.zeros(K)
            for (i, j), v in zip(pairs, f):
                wins[i if v > 0 else j] += 1
            assert np.floor(row + 0.5) == pytest.approx(wins)
            order = np.lexsort((row, wins))
            assert row.argmax() == order[-1]


def test_equal_votes_are_settled_by_the_sum_of_decisions():
    assert votes(np.array([[1.0, -5.0, 2.0]]), 3).argmax() == 2  # each wins once; the third by most
    assert votes(np.array([[0.0, 0.0, 0.0]]), 3)[0].tolist() == [0.0, 1.0, 2.0]


def test_rows_of_a_precomputed_matrix_are_its_rows_and_columns():
    K = np.arange(16.0).reshape(4, 4)
    assert rows_at("precomputed", K, np.array([0, 2])).tolist() == [[0, 2], [8, 10]]
    assert rows_at("precomputed", K, np.array([0]), np.array([1, 3])).tolist() == [[1, 3]]
    assert rows_at("rbf", K, np.array([1])).tolist() == [[4, 5, 6, 7]]
    assert rows_at(len, K, np.array([1])).tolist() == [[4, 5, 6, 7]]


@pytest.mark.parametrize(
    ("n", "sizes", "cache", "seconds", "wanted"),
    [
        (10, [10], 200.0, None, True),
        (1500, [1500, 3], 200.0, None, True),
        (1501, [600], 200.0, None, False),
        (800, [1501], 200.0, None, False),
        (1500, [600], 35.0, None, True),
        (1500, [600], 30.0, None, False),  # its matrix takes 18 MB, and half of the cache is for others
        (10, [10], 200.0, 5.0, False),
        (10, [], 200.0, None, False),
    ],
)
def test_what_is_small_enough_for_one_call(n, sizes, cache, seconds, wanted):
    assert asked(cache_size=cache, max_seconds=seconds).together(n, sizes) == wanted


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_machines_from_one_matrix_are_those_made_one_by_one(monkeypatch, kernel):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 4
    table = X @ X.T if kernel == "precomputed" else X
    model = po.SVC(kernel=kernel, tol=1e-7).fit(table, y)
    problems = [(s.rows, s.sign, np.full(len(s.rows), 0.7)) for s in splits(y, 4, "ovo")]
    at_once = train_all(model._kernel, table, problems, model._settings())
    for off in ("ONE_MATRIX", "solve_together"):  # too many rows, or none that can be solved together
        with monkeypatch.context() as patch:
            patch.setattr(machines, off, 1 if off == "ONE_MATRIX" else lambda gram, some, limits: [None] * 6)
            for one, other in zip(at_once, train_all(model._kernel, table, problems, model._settings()), strict=True):
                assert np.array_equal(one.rows, other.rows)
                assert one.beta == pytest.approx(other.beta, abs=1e-4)
                assert (one.b, one.w_norm) == pytest.approx((other.b, other.w_norm), abs=1e-5)


@pytest.mark.parametrize("team", [1, 3])
def test_tasks_side_by_side(team):
    def task(k):
        return lambda stop: (k, stop.is_set())

    assert together([task(k) for k in range(5)], team) == [(k, False) for k in range(5)]

    def broken(stop):
        raise ValueError("broken")

    stopped = []

    def patient(stop):
        stopped.append(stop.wait(5))

    with pytest.raises(ValueError, match="broken"):
        together([broken, patient] if team == 1 else [patient, broken], team)
    if team > 1:
        assert stopped in ([], [True])


def test_each_of_several_has_half_of_the_cache():
    seen = []

    def task(settings, stop):
        seen.append((settings.cache_size, settings.n_jobs))

    side_by_side([task], asked(cache_size=100.0, n_jobs=2))
    side_by_side([task, task], asked(cache_size=100.0, n_jobs=2))
    side_by_side([task, task], asked(cache_size=100.0, n_jobs=1))
    assert seen == [(100.0, 2), (50.0, 1), (50.0, 1), (50.0, 1), (50.0, 1)]


def test_bounds_and_matrices_that_are_none():
    X, y = np.arange(8.0).reshape(4, 2), [0, 0, 1, 1]
    with pytest.raises(ModelError, match=r"C=1e.308 times the largest weight overflows"):
        po.SVC(C=1e308).fit(X, y, sample_weight=[1, 1, 1, 100])
    with pytest.raises(TableError, match=r"square matrix of the training rows; got shape \(4, 2\)"):
        po.SVC(kernel="precomputed").fit(X, y)
    with pytest.raises(TableError, match="must be dense"):
        po.SVC(kernel="precomputed").fit(sparse.csr_array(X @ X.T), y)
    model = po.SVC(kernel="precomputed").fit(X @ X.T, y)
    assert model.__sklearn_tags__().input_tags.pairwise
    assert not model.__sklearn_tags__().input_tags.sparse
    assert po.SVC().__sklearn_tags__().input_tags.sparse


@pytest.mark.parametrize(("team", "n"), [(1, 3), (2, 5), (3, 7)])
def test_a_team_is_at_work_at_once_and_no_more(team, n):
    """The first tasks wait for each other: fewer than `team` threads would never meet, more would be seen."""
    meet, lock, now, most = threading.Barrier(team), threading.Lock(), [0], [0]

    def task(k, stop):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        if k < team:
            meet.wait(20)
        time.sleep(0.01)
        with lock:
            now[0] -= 1
        return k

    assert together([partial(task, k) for k in range(n)], team) == list(range(n))
    assert most == [team]


def test_nobody_begins_after_an_error():
    begun = []

    def task(k, stop):
        begun.append(k)
        if k == 0:
            raise ValueError("broken")
        return stop.wait(20)

    with pytest.raises(ValueError, match="broken"):
        together([partial(task, k) for k in range(9)], 2)
    assert len(begun) <= 2


@pytest.mark.parametrize("cache", [15.380859375, np.nextafter(15.380859375, 0)])
def test_a_matrix_takes_at_most_half_of_the_cache(cache):
    """1000 rows of 1000 + 8 doubles are 8064000 bytes."""
    assert asked(cache_size=float(cache)).together(1000, [10]) == (cache == 15.380859375)
    assert asked(cache_size=float(cache)).together(10, [999, 1000]) == (cache == 15.380859375)


def test_the_worst_of_those_that_stopped_is_told():
    def machine(gap, steps, done):
        return Machine(np.arange(2), np.ones(2), 0.0, 1.0, gap, steps, done, 0.0, 0.0)

    some = [machine(9.0, 90, True), machine(0.25, 30, False), machine(0.5, 20, False)]
    with pytest.warns(ConvergenceWarning, match=r"Some stopped before .* tol=0.01: gap 0.5 after 30 steps"):
        machines.warn_unfinished(some, asked(tol=0.01), "Some")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machines.warn_unfinished(some[:1], asked(), "Some")


def test_a_machine_has_the_root_of_its_energy():
    for energy, norm in ((9.0, 3.0), (0.25, 0.5), (-1e-20, 0.0)):
        solution = Solution(np.array([2.0, -1.0]), np.array([1.0, 2.0]), 0.5, 0.1, 7, False, energy)
        found = Machine.of(np.arange(2), solution, np.array([1.0, -1.0]), np.array([3.0, 5.0]))
        assert (found.b, found.w_norm, found.gap, found.steps, found.converged) == (0.5, norm, 0.1, 7, False)
        assert (found.dual, found.primal) == (3 - energy / 2, energy / 2 + 3 * 0.5)  # ξ = (½, 0)
        hard = Machine.of(np.arange(2), solution, np.array([1.0, -1.0]), np.full(2, np.inf))
        assert hard.primal == 4 * energy / 2  # the least functional margin is ½
        solution = solution._replace(v=np.array([1.5, 2.0]))  # a row on the plane: no factor helps
        assert Machine.of(np.arange(2), solution, np.array([1.0, -1.0]), np.full(2, np.inf)).primal == np.inf


def test_bounds_are_C_times_the_weight():
    assert po.SVC(C=2.0)._bounds(np.array([1.0, 0.5])).tolist() == [2.0, 1.0]
    assert po.SVC(C=np.inf)._bounds(np.array([1.0, 0.5])).tolist() == [np.inf, np.inf]
    with pytest.raises(ModelError, match="overflows; lower C"):
        po.SVR(C=1e308)._bounds(np.array([1.0, 2.0]))


def test_two_numbers_for_one_width_are_refused():
    X, y = np.arange(4.0)[:, None], [0, 0, 1, 1]
    for gamma in ("auto", 0.5):
        with pytest.raises(ModelError, match=f"sigma=2.0 and gamma={gamma!r}"):
            po.SVC(sigma=2.0, gamma=gamma).fit(X, y)
    assert po.SVC(sigma=2.0).fit(X, y)._kernel.spec.scale == 0.125


def test_a_precomputed_value_that_overflows_the_decision_is_named():
    K, y = 1e-3 * np.eye(4), [0, 0, 1, 1]
    model = po.SVC(kernel="precomputed", C=1e4).fit(K, y)  # |β| = 1000
    with pytest.raises(ModelError, match="so large that the decision overflows"):
        model.predict(np.array([[-1e307, -1e307, 1e307, 1e307]]))
    assert model.predict(K).tolist() == y


@pytest.mark.parametrize("C", [0.4, 5.0])
def test_a_machine_of_some_rows_by_its_conditions(C):
    """y(f − 1) is 0 where 0 < α < C, ≥ 0 where α = 0, ≤ 0 where α = C, and yᵀα = 0."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 3))
    rows, sign = np.arange(5, 45), np.where(X[5:45, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    bound = C * rng.uniform(0.5, 2, 40)
    kernel = po.SVC(kernel="rbf", gamma=0.5, tol=1e-8).fit(X, np.arange(50) % 2)._kernel
    K = np.exp(-0.5 * ((X[rows][:, None] - X[rows]) ** 2).sum(axis=2))
    found = machines.train(kernel, X, rows, sign, bound, asked(tol=1e-8), threading.Event())
    alpha, slack = sign * found.beta, sign * (K @ found.beta + found.b) - 1
    assert found.rows is rows
    assert found.beta.sum() == pytest.approx(0.0, abs=1e-9)
    assert (slack[alpha == 0] >= -1e-7).all()
    assert (slack[alpha == bound] <= 1e-7).all()
    free = (alpha > 0) & (alpha < bound)
    assert free.any()
    assert (alpha == bound).any()
    assert slack[free] == pytest.approx(0.0, abs=1e-7)
    assert found.w_norm == pytest.approx(np.sqrt(found.beta @ K @ found.beta))


def test_pairs_are_kept_as_they_are():
    assert machines._pairs(3).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert machines._pairs(1).shape == (0, 2)
    with pytest.raises(ValueError, match="read-only"):  # another fit asks for the same
        machines._pairs(3)[0, 0] = 7
