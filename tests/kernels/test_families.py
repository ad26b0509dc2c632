"""Families: native against NumPy, on every instruction set, by bitmaps and by rows, for wide tables and any threads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from posteriori import kernels

from .reference import families as reference

KINDS = [("penalised", 0.0), ("penalised", 1.3), ("bdeu", 2.0), ("k2", 0.0), ("fnml", 0.0)]


def case(seed: int, missing: bool, width: type, rows: int = 60) -> tuple[np.ndarray, list[int], list[int]]:
    """Codes, sizes and states; some cells missing, of columns that have a state for that and of columns that have none."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(2, 7)), int(rng.integers(0, rows))
    sizes = [int(s) for s in rng.integers(1, 5, d)]
    codes = np.array([rng.integers(0, s + missing, n) for s in sizes], dtype=width).reshape(d, n)
    return codes, sizes, [s + int(rng.integers(2)) for s in sizes]


def logs(n: int) -> np.ndarray:
    rows = np.arange(n + 1.0)
    return rows * np.log(np.maximum(rows, 1.0))


@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    weighted=st.booleans(),
    missing=st.booleans(),
    width=st.sampled_from([np.uint8, np.uint16, np.uint32]),
)
def test_native_is_the_reference(seed, kind, weighted, missing, width):
    codes, sizes, states = case(seed, missing, width)
    rng, (d, n) = np.random.default_rng(seed), codes.shape
    child = int(rng.integers(d))
    others = [j for j in range(d) if j != child]
    parents = [j for j in others if rng.random() < 0.4]
    weights = rng.integers(0, 3, n).astype(float) if weighted else None
    table = logs(n if weights is None else int(weights.sum()))
    regret = rng.random(len(table)) if kind[0] == "fnml" else None
    regret = None if regret is None else regret * (np.arange(len(table)) > 0)
    expected = reference.toggle_scores(codes, sizes, child, parents, others, *kind, weights, states, regret)
    bits = kernels.value_bitmaps(codes, states)
    for x_log_x in (None, table) if regret is None else (table,):
        for by in (None, bits):
            found = kernels.toggle_scores(
                codes, sizes, child, parents, others, *kind, weights,
                states=states, x_log_x=x_log_x, regret=regret, bits=by,
            )  # fmt: skip
            assert_allclose(found, expected, rtol=1e-10, atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans(), missing=st.booleans())
def test_tests_of_independence(seed, weighted, missing):
    codes, sizes, _ = case(seed, missing, np.uint8)
    rng, (d, n) = np.random.default_rng(seed), codes.shape
    x, *rest = rng.permutation(d).tolist()
    conditions, others = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    weights = rng.random(n) if weighted else None
    expected = reference.g_tests(codes, sizes, x, conditions, others, weights)
    for by in (None, kernels.value_bitmaps(codes, sizes)):
        found = kernels.g_tests(codes, sizes, x, conditions, others, weights, bits=by)
        assert_allclose(found, expected, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("n", [1_000, 3_000, 30_000])
@pytest.mark.parametrize("missing", [0, 1])
def test_bitmaps_change_no_bit(n, missing):
    """Many rows, skewed: some configurations are bitmaps, some lists, and a wide candidate has none."""
    rng = np.random.default_rng(n)
    sizes = [2, 3, 4, 2, 5, 40]
    codes = np.array([np.minimum(rng.geometric(0.5, n) - 1, s - 1 + missing) for s in sizes], dtype=np.uint8)
    bits, states = kernels.value_bitmaps(codes, sizes), [s + missing for s in sizes[:3]] + sizes[3:]
    bits = kernels.value_bitmaps(codes, states)
    for parents in ([], [1], [1, 2], [1, 2, 3, 4], [1, 5]):
        others = [1, 2, 3, 4, 5]
        plain, mapped = (
            kernels.toggle_scores(codes, sizes, 0, parents, others, "penalised", 0.5, states=states, bits=by)
            for by in (None, bits)
        )
        assert (plain == mapped).all()
        expected = reference.toggle_scores(codes, sizes, 0, parents, others, "penalised", 0.5, states=states)
        assert_allclose(plain, expected, rtol=1e-10)


@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    missing=st.booleans(),
    width=st.sampled_from([np.uint8, np.uint16, np.uint32]),
)
@settings(max_examples=60)
def test_families_of_few_cells_are_counted_in_one_table(seed, kind, missing, width):
    """Many candidates share a pass over the rows, parents that go are summed out, some have more cells than a table."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(60, 9_000)), 9
    sizes = [*(int(s) for s in rng.integers(1, 6, d - 1)), 70]
    states = [s + missing for s in sizes]
    codes = np.array([np.minimum(rng.geometric(0.3, n) - 1, s - 1) for s in states], dtype=width)
    codes[1] += np.array(missing and rng.random(n) < 0.01, dtype=width)  # beyond the column's states: a row left out
    child, *others = rng.permutation(d).tolist()
    parents = others[: int(rng.integers(5))]
    table = logs(n)
    regret = rng.random(n + 1) * (np.arange(n + 1) > 0) if kind[0] == "fnml" else None
    expected = reference.toggle_scores(codes, sizes, child, parents, others, *kind, None, states, regret)
    how = {"states": states, "x_log_x": table, "regret": regret, "bits": kernels.value_bitmaps(codes, states)}
    one, three = (
        kernels.toggle_scores(codes, sizes, child, parents, others, *kind, n_jobs=jobs, **how) for jobs in (1, 3)
    )
    assert_allclose(one, expected, rtol=1e-9, atol=1e-7)
    assert (one == three).all()


@pytest.mark.parametrize("missing", [0, 1])
def test_configurations_that_no_table_could_hold(missing):
    rng = np.random.default_rng(0)
    sizes = [60, 50, 40, 30, 3]
    codes = np.array([rng.integers(0, s + missing, 500) for s in sizes], dtype=np.uint8)
    expected = reference.toggle_scores(codes, sizes, 4, [0, 1], [0, 1, 2, 3], "penalised", 0.5)
    for n_jobs in (1, 2):
        found = kernels.toggle_scores(codes, sizes, 4, [0, 1], [0, 1, 2, 3], "penalised", 0.5, n_jobs=n_jobs)
        assert_allclose(found, expected, rtol=1e-10)
    # 60 · 50 · 40 · 30 configurations and their children: only those that occur are counted
    found = kernels.toggle_scores(codes, sizes, 4, [0, 1, 2, 3], [3], "bdeu", 1.0)
    assert_allclose(found, reference.toggle_scores(codes, sizes, 4, [0, 1, 2, 3], [3], "bdeu", 1.0), rtol=1e-7)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), ess=st.sampled_from([0.0, 1.5]), price=st.sampled_from([0.0, 0.8]))
def test_the_best_network_is_the_reference(seed, ess, price):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 5)), int(rng.integers(1, 40))
    sizes = rng.integers(1, 4, d).tolist()
    codes = np.array([rng.integers(0, s, n) for s in sizes], np.uint16)
    weights = rng.integers(1, 4, n).astype(np.uint32)
    rows = int(weights.sum())
    cells = np.stack([logs(rows), logs(rows) + (rng.random() if price == 0 else 0) * np.sqrt(np.arange(rows + 1.0))])
    below = [int(rng.integers(2)) if price == 0 else 0 for _ in sizes]
    forbidden = [int(rng.integers(1 << d)) for _ in sizes]
    required = [int(rng.integers(1 << d)) & ~(f | 1 << v) if rng.random() < 0.2 else 0 for v, f in enumerate(forbidden)]
    table, rules = (codes, sizes, weights, cells, below, ess, price, 2), (required, forbidden)
    expected = reference.best_network(*table, *rules)
    for n_jobs in (1, 2):
        assert kernels.best_network(*table, 1e-9, *rules, n_jobs)[1] == pytest.approx(expected[1], rel=1e-10, abs=1e-9)


def test_threads_change_no_bit():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 4, (12, 60_000)).astype(np.uint8)
    for bits in (None, kernels.value_bitmaps(codes, [4] * 12)):
        found = [
            kernels.toggle_scores(codes, [4] * 12, 0, [1, 2], range(1, 12), "bdeu", 1.0, bits=bits, n_jobs=k)
            for k in (1, 2)
        ]
        assert (found[0] == found[1]).all()


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS[:4]), tabu=st.integers(0, 3))
def test_a_climb_that_asks_is_the_climb(seed, kind, tabu):
    codes, sizes, states = case(seed, True, np.uint8)
    d, rng = len(sizes), np.random.default_rng(seed)
    forbidden = np.eye(d, dtype=bool) | (rng.random((d, d)) < 0.3)
    rules = {"required": np.zeros((d, d), bool), "forbidden": forbidden, "most": 2, "least": 1e-9, "symmetric": False}
    rules |= {"tabu": tabu, "restarts": 1, "orders": 2}

    def ask(child, parents, candidates):
        assert not any(forbidden[u, child] for u in (*parents, *candidates))
        return kernels.toggle_scores(codes, sizes, child, parents, candidates, *kind, states=states)

    found = kernels.climb_asking(ask, [[]] * d, **rules)
    assert found == kernels.climb(codes, sizes, [[]] * d, *kind, states=states, **rules)


def test_a_climb_that_asks_ends_by_hand_and_passes_errors_on():
    no = np.zeros((3, 3), bool)
    rules = {"required": no, "forbidden": no, "most": 2, "least": 0.0, "symmetric": False}
    asked = []

    def ask(child, parents, candidates, error):
        asked.append(child)
        if len(asked) == 5:
            raise error
        return [len(parents), *(len(parents) + 1 for _ in candidates)]

    parents, own, steps, finished = kernels.climb_asking(
        lambda *family: ask(*family, KeyboardInterrupt()), [[]] * 3, **rules
    )
    assert (parents, own, steps, finished) == ([[], [], []], [0.0] * 3, [], False)
    asked.clear()
    with pytest.raises(ZeroDivisionError):
        kernels.climb_asking(lambda *family: ask(*family, ZeroDivisionError()), [[]] * 3, **rules)
    with pytest.raises(ValueError, match="one score a candidate"):
        kernels.climb_asking(lambda *family: [], [[]] * 3, **rules)
    asked[:] = [0] * 4  # the first family: there is no score to give back
    with pytest.raises(KeyboardInterrupt):
        kernels.climb_asking(lambda *family: ask(*family, KeyboardInterrupt()), [[]] * 3, **rules)
    with pytest.raises(ValueError, match="each once"):
        kernels.climb_asking(lambda *family: [], [[], [0, 0], []], **rules)


@pytest.mark.parametrize("alone", [0.0, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("beside", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("tabu", [0, 3])
def test_a_walk_ends_where_scores_are_no_numbers(alone, beside, tabu):
    def ask(child, parents, candidates):
        return [beside if some else alone for some in (set(parents), *({u} ^ set(parents) for u in candidates))]

    no, asked = np.zeros((3, 3), bool), iter(range(10_000))
    rules = {"required": no, "forbidden": no, "most": 2, "least": 1e-9, "symmetric": False, "orders": 2}
    assert kernels.climb_asking(ask, [[]] * 3, **rules, tabu=tabu, tell=lambda *_: next(asked, -1) >= 0)[3]


def test_states_beyond_all_memory_are_refused():
    with pytest.raises(ValueError, match="more than 2²⁴"):
        kernels.toggle_scores(np.zeros((2, 3), np.uint32), [2**31 - 1] * 2, 0, [], [1], "k2", 0.0)


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.sampled_from([1.0, 1e16, 1e300]),
    tabu=st.sampled_from([0, 1, 7]),
    orders=st.integers(0, 2),
    symmetric=st.booleans(),
)
@settings(deadline=None)
def test_a_climb_ends_where_scores_are_noise(seed, size, tabu, orders, symmetric):
    """Scores that differ from one time to the next, by rounding or altogether, some no numbers: the first known counts."""
    random, d = np.random.default_rng(seed), int(seed % 4) + 2
    noise, no = random.choice([1e-16, 1.0]), np.zeros((d, d), dtype=bool)
    steps = 0

    def ask(v, parents, candidates):
        found = size * (1 + noise * random.normal(size=1 + len(candidates)))
        return np.where(random.random(len(found)) < 0.01, random.choice([np.nan, np.inf, -np.inf]), found).tolist()

    def tell(*step):
        nonlocal steps
        steps += bool(step)
        assert steps < 200_000
        return True

    rules = {"required": no, "forbidden": no, "most": 3, "least": 0.0, "symmetric": symmetric, "tell": tell}
    parents, own, _, finished = kernels.climb_asking(
        ask, [[] for _ in range(d)], tabu=tabu, restarts=1, orders=orders, **rules
    )
    assert finished
    assert len(parents) == len(own) == d
