"""The native kernels of the networks are their reference twins."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posteriori import kernels
from posteriori.statistics.counts import starts_of

from .reference import network as reference

seeds = st.integers(0, 2**32 - 1)


pytestmark = pytest.mark.usefixtures("instruction_set")


def network(rng, n, zeros=0.2):
    sizes = rng.integers(1, 4, n).tolist()
    parents = [tuple(int(p) for p in rng.permutation(v)[: rng.integers(0, 3)]) for v in range(n)]
    tables = []
    for v in range(n):
        rows = rng.dirichlet(np.ones(sizes[v]), int(np.prod([sizes[p] for p in parents[v]])))
        rows[:, :-1][rng.random(rows[:, :-1].shape) < zeros] = 0
        tables.append(np.ascontiguousarray(rows / rows.sum(axis=1, keepdims=True)).ravel())
    return sizes, parents, tables


@given(seed=seeds, n=st.integers(1, 12))
def test_elimination_order(seed, n):
    rng = np.random.default_rng(seed)
    near = [set() for _ in range(n)]
    for a, b in combinations(range(n), 2):
        if rng.random() < 0.3:
            near[a].add(b)
            near[b].add(a)
    adjacency, sizes = [sorted(x) for x in near], [2] * n  # with one size no two weights differ by rounding alone
    if seed % 2:
        sizes = rng.choice([1, 2], n).tolist()  # nor with none and one
    order, cliques, _, _ = kernels.elimination_order(adjacency, sizes)
    expected_order, expected = reference.elimination_order(adjacency, sizes)
    assert order == expected_order
    assert sorted(map(sorted, cliques)) == sorted(expected)


def test_nodes_that_add_no_edge_go_first_though_others_weigh_nothing():
    star, sizes = [[1, 2], [0], [0]], [2, 1, 1]
    assert reference.elimination_order(star, sizes)[0] == kernels.elimination_order(star, sizes)[0] == [1, 0, 2]


@given(seed=seeds, n=st.integers(1, 5), maximise=st.booleans(), spread=st.sampled_from([1, 200, 3000]))
def test_combine_factors(seed, n, maximise, spread):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, n).tolist()
    scopes = [rng.permutation(n)[: rng.integers(0, n + 1)].tolist() for _ in range(rng.integers(1, 5))]
    tables = [np.log(rng.random(int(np.prod([sizes[a] for a in scope])))) * spread for scope in scopes]
    logs = [spread > 700 or bool(rng.random() < 0.3) for _ in scopes]
    tables = [t if in_logs else np.exp(t) * (rng.random(t.shape) < 0.8) for t, in_logs in zip(tables, logs)]
    keep = (rng.random(n) < 0.5).tolist()
    table, log_scale, wide = kernels.combine_factors(sizes, scopes, tables, logs, keep, maximise)
    expected, expected_scale = reference.combine_factors(sizes, scopes, tables, logs, keep, maximise)
    assert log_scale == pytest.approx(expected_scale, rel=1e-12, abs=1e-9)
    if np.isfinite(expected_scale):
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(table if wide else np.log(table), expected, rtol=1e-10, atol=1e-9)
        assert not np.isnan(table).any()


@given(seed=seeds, n=st.integers(1, 5), maximise=st.booleans())
def test_sum_out(seed, n, maximise):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, n).tolist()
    scopes = [rng.permutation(n)[: rng.integers(0, n + 1)].tolist() for _ in range(rng.integers(0, 5))]
    tables = [rng.random(int(np.prod([sizes[a] for a in scope]))) for scope in scopes]
    order = rng.permutation(n)[: rng.integers(0, n + 1)].tolist()
    logs = [bool(rng.random() < 0.3) for _ in scopes]
    given = [np.log(t) if in_logs else t for t, in_logs in zip(tables, logs)]
    scale, left, states, peak, widest = kernels.sum_out(sizes, scopes, given, logs, order, 1e9, maximise)
    kept = [1 if v in order else size for v, size in enumerate(sizes)]
    found = reference.sum_out(
        kept, [s for s, _, _ in left], [np.exp(t) if wide else t for _, t, wide in left], [], False
    )
    expected = reference.sum_out(sizes, scopes, tables, order, maximise)
    np.testing.assert_allclose(np.exp(scale) * found, expected, rtol=1e-10)
    if not order:
        return
    if maximise and all(v in order for scope in scopes for v in scope):
        x = [states[order.index(v)] if v in order else 0 for v in range(n)]
        product = reference.sum_out(sizes, scopes, tables, [], False)
        assert product[tuple(x)] == pytest.approx(expected.ravel()[0], rel=1e-12)
    assert peak >= np.prod([sizes[v] for v in widest])
    assert (
        kernels.sum_out(sizes, scopes, given, logs, order, peak * 0.99, maximise)[1] == []
    )  # over the budget: no work


@given(seed=seeds, n=st.integers(1, 7))
def test_junction_tree(seed, n):
    rng = np.random.default_rng(seed)
    sizes, parents, tables = network(rng, n)
    plan = kernels.JunctionPlan(sizes, parents, np.inf)
    plan.fill(np.concatenate(tables), starts_of(len(t) for t in tables))
    state = kernels.JunctionState(plan)
    out = np.empty(sum(sizes))
    for _ in range(3):
        found = {v: rng.random(sizes[v]) * (rng.random(sizes[v]) < 0.7) for v in range(n) if rng.random() < 0.4}
        table = reference.joint(sizes, parents, tables, found)
        state.set(plan, np.array(list(found), np.int32), np.concatenate([np.empty(0), *found.values()]))
        assert state.marginals(out) == bool(table.sum() > 0)
        if table.sum() > 0:
            np.testing.assert_allclose(out, np.concatenate(reference.marginals(table)), rtol=1e-12, atol=1e-15)
            assert state.log_probability == pytest.approx(np.log(table.sum()), rel=1e-12, abs=1e-12)


@given(seed=seeds, n=st.integers(1, 6), rows=st.integers(0, 20))
def test_junction_expected(seed, n, rows):
    rng = np.random.default_rng(seed)
    sizes, parents, tables = network(rng, n)
    cases = np.stack([np.where(rng.random(rows) < 0.4, -1, rng.integers(0, s, rows)) for s in sizes], 1).astype(
        np.int32
    )
    weights = rng.random(rows)
    plan = kernels.JunctionPlan(sizes, parents, np.inf)
    plan.fill(np.concatenate(tables), starts_of(len(t) for t in tables))
    offsets = starts_of(len(t) for t in tables)
    found, log_p = kernels.junction_expected(plan, cases, weights, offsets, 1)
    expected, expected_log = reference.expected(sizes, parents, tables, cases, weights)
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(log_p, expected_log, rtol=1e-10, atol=1e-12)
    again, _ = kernels.junction_expected(plan, cases, weights, offsets, 3)
    assert np.array_equal(found, again)


@settings(max_examples=20)
@given(seed=seeds, n=st.integers(1, 6))
def test_draw_cases(seed, n):
    rng = np.random.default_rng(seed)
    sizes, parents, tables = network(rng, n)
    fixed = np.where(rng.random(n) < 0.2, 0, -1).astype(np.int32)
    own = [((*parents[v], v), tables[v]) for v in range(n)]
    proposal = [(v, [own[v], ((v,), rng.random(sizes[v]) + 0.1)]) for v in range(n) if fixed[v] < 0]
    counted = int(rng.integers(0, len(proposal) + 1))
    x, log_weight = kernels.draw_cases(
        sizes, fixed.tolist(), proposal, counted, own, np.array([seed], np.uint64), 30, 1
    )
    expected, expected_weight = reference.draw_cases(sizes, fixed, proposal, counted, own, seed, 30)
    assert np.array_equal(x, expected)
    np.testing.assert_allclose(log_weight, expected_weight, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("pure", [False, True])
def test_gibbs_sweeps(pure):
    sizes = [2, 3]
    tables = [((0,), np.array([0.4, 0.6])), ((0, 1), np.array([0.2, 0.3, 0.5, 0.6, 0.3, 0.1]))]
    one = np.arange(2, dtype=np.int32)[:, None], np.arange(3, dtype=np.int32)[:, None]
    blocks = [
        ([0], [0, 1], np.array([[0, 0], [1, 3]], np.int64), one[0]),
        ([1], [1], np.array([[0], [1], [2]], np.int64), one[1]),
    ]
    choice, place = np.zeros((1, 2), np.int64), np.array([[0, 2]], np.int64)
    means, _, kept = kernels.gibbs_chains(
        sizes,
        [-1, -1],
        tables,
        ([(0, tables[:1]), (1, tables[1:])], 0.0),
        blocks,
        choice,
        place,
        np.array([9], np.uint64),
        (0, 1, 1, 40, 0 if pure else 10**6),
        1,
        keep=True,
    )
    chain, cells = [0, 0], [0, 2]
    flat = np.concatenate([table for _, table in tables])
    expected = reference.gibbs_sweeps(flat, blocks, chain, cells, [0, 2, 5], reference.Xoshiro(9), 40, pure)
    assert kept.shape == (1, 40, 2)
    assert kept[0, -1].tolist() == choice[0].tolist()
    if pure:
        shares = [np.bincount(kept[0, :, v], minlength=s) / 40 for v, s in enumerate(sizes)]
        np.testing.assert_allclose(means[0, 0], np.concatenate(shares), rtol=1e-12)
    np.testing.assert_allclose(means[0, 0], expected, rtol=1e-12)
    assert choice[0].tolist() == chain
    assert place[0].tolist() == cells


def test_the_numbers_are_those_of_xoshiro():
    """xoshiro256++ of Blackman and Vigna in words of 64 bits, seeded by splitmix64."""
    with np.errstate(over="ignore"):
        word = np.uint64

        def turned(x, k):
            return (x << word(k)) | (x >> word(64 - k))

        for seed in (0, 1, 9, 2**63 + 5, 2**64 - 1):
            at, s = word(seed), []
            for _ in range(4):
                at += word(0x9E3779B97F4A7C15)
                z = (at ^ (at >> word(30))) * word(0xBF58476D1CE4E5B9)
                z = (z ^ (z >> word(27))) * word(0x94D049BB133111EB)
                s.append(z ^ (z >> word(31)))
            random = reference.Xoshiro(seed)
            for _ in range(50):
                wanted = turned(s[0] + s[3], 23) + s[0]
                low = s[1] << word(17)
                s[2] ^= s[0]
                s[3] ^= s[1]
                s[1] ^= s[2]
                s[0] ^= s[3]
                s[2] ^= low
                s[3] = turned(s[3], 45)
                assert random.uniform() == int(wanted >> word(11)) / 2**53


def test_what_is_picked_has_weight():
    class Fixed(reference.Xoshiro):
        def __init__(self, at: float) -> None:
            self.at = at

        def uniform(self) -> float:
            return self.at

    weights = [0.0, 2.0, 0.0, 1.0, 1.0, 0.0]
    for at, wanted in (
        (0.0, 1),
        (0.49, 1),
        (0.5, 3),
        (0.74, 3),
        (0.75, 4),
        (1.0, 4),
    ):  # the last though rounding is off
        assert Fixed(at).pick(weights, 4.0) == wanted
