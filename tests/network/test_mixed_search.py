"""Structures of a class, values and numbers: scores by the fitted network, the best tree or k parents by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.bayes.numeric import no_narrower
from posteriori.errors import BadParameter, MemoryBudgetError
from posteriori.network import normals as regression
from posteriori.network.mixed_search import MixedScored, MixedTable, _left
from posteriori.statistics.cuts import CodedTable
from posteriori.structure.scores import Scored


def made(seed: int = 0, n: int = 300, weights: np.ndarray | None = None, **how: float) -> MixedTable:
    """Columns: value a, number u, value b, a value that is constant, numbers v and w, one constant, one missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    a = np.where(rng.random(n) < 0.6, y % 2, rng.integers(0, 2, n))
    b = np.where(rng.random(n) < 0.7, a + 1, rng.integers(0, 3, n))
    u = rng.normal(size=n) + b
    v = u * (1 + a) + rng.normal(size=n)
    w = rng.normal(size=n) - v / 2 + y
    x = np.column_stack([u, v, w, np.full(n, 7.0), np.full(n, np.nan)])
    x[:5, 0] = np.nan
    nothing = np.zeros(n)
    columns = [a, nothing, b, nothing, nothing, nothing, nothing, nothing]
    table = CodedTable([c.astype(np.uint8) for c in columns], (2, 0, 3, 1, 0, 0, 0, 0), n_missing=0)
    return MixedTable(table, x, [1, 4, 5, 6, 7], y, 3, weights, **how)


def test_columns_that_vary_are_nodes():
    found = made()
    assert found.nodes == [0, 2, 8, 1, 4, 5]  # values, the class, numbers
    assert found.sizes == (2, 3, 3)
    assert (found.d, found.codes.shape, found.x.shape) == (8, (3, 300), (300, 3))
    assert np.isnan(found.x[:5, 0]).all()
    scored = found.scored("bic")
    assert (scored.first, scored.d, scored.score) == (3, 6, "bic")
    w = np.random.default_rng(0).integers(1, 3, 300).astype(float)
    assert made(weights=w).scored("bic").m == w.sum()


def information(found: MixedTable) -> tuple[np.ndarray, np.ndarray]:
    """I(X; Y) and I(X_u; X_v | Y) of the attributes (a, b, u, v, w), a row, as gains of the likelihood."""
    scored = found.scored("loglik")
    nodes = [0, 1, 3, 4, 5]
    about = np.array([scored.family(v, [2]) - scored.family(v, []) for v in nodes]) / 300
    given = np.zeros((5, 5))
    for i, j in itertools.permutations(range(5), 2):
        if i < 2 or j >= 2:  # no number above a value
            given[i, j] = (scored.family(nodes[j], sorted([2, nodes[i]])) - scored.family(nodes[j], [2])) / 300
    return about, np.maximum(given, given.T)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_tree_under_the_class(seed):
    found = made(seed)
    parents = found.under_class(None)
    columns = [0, 2, 1, 4, 5]  # of a, b, u, v, w
    place = {c: i for i, c in enumerate(columns)}
    about, given = information(found)
    arrows = {(place[p], place[c]) for c in columns for p in parents[c] if p != 8}
    assert all(8 in parents[c] for c in range(8))
    assert parents[8] == ()
    assert parents[3] == parents[6] == parents[7] == (8,)  # what does not vary hangs on the class alone
    assert len(arrows) == 4
    assert not any(i >= 2 > j for i, j in arrows)
    root = next(i for i in range(5) if not any(j == i for _, j in arrows))
    assert root == int(about[:2].argmax())

    def connected(edges) -> bool:
        reached = {0}
        for _ in range(5):
            reached |= {j for e in edges for j in e if set(e) & reached}
        return len(reached) == 5

    pairs = list(itertools.combinations(range(5), 2))
    trees = (t for t in itertools.combinations(pairs, 4) if (0, 1) in t and connected(t))  # values lie together
    assert sum(given[i, j] for i, j in arrows) == pytest.approx(max(sum(given[i, j] for i, j in t) for t in trees))


@pytest.mark.parametrize("k", [0, 1, 2, 9])
def test_k_parents_are_those_before_that_tell_most(k):
    found = made(1)
    parents, columns = found.under_class(k), [0, 2, 1, 4, 5]
    about, given = information(found)
    order = sorted(range(2), key=lambda i: -about[i]) + sorted(range(2, 5), key=lambda i: -about[i])
    for place, i in enumerate(order):
        best = sorted(order[:place], key=lambda j: -given[i, j])[:k]
        assert parents[columns[i]] == tuple(sorted([*(columns[j] for j in best), 8]))


def test_a_climb_keeps_numbers_below_values():
    found, names = made(2), ["a", "u", "b", "same", "v", "w", "seven", "never", "class"]
    parents = found.climbed("bic", None, names)
    assert not any(p in (1, 4, 5) for c in (0, 2, 8) for p in parents[c])
    assert parents[3] == parents[6] == parents[7] == ()
    scored = found.scored("bic")
    place = {c: i for i, c in enumerate(found.nodes)}
    mine = [[place[p] for p in parents[c]] for c in found.nodes]
    for v, ps in enumerate(mine):  # no arrow taken away is better
        for p in ps:
            assert scored.family(v, [q for q in ps if q != p]) <= scored.family(v, ps) + 1e-9
    few = found.climbed("bic", 1, names)
    assert max(map(len, few)) == 1
    assert found.climbed("bic", 0, names) == ((),) * 9
    lines: list[str] = []
    again = found.climbed("bic", None, names, tabu=2, restarts=2, random_state=3, progress=lines.append)
    assert again == found.climbed("bic", None, names, tabu=2, restarts=2, random_state=3)
    assert any("add" in line for line in lines)
    late = found.climbed("bic", None, names, time_limit=0)
    assert late == (
        *((8,) if c in found.nodes else () for c in range(8)),
        (),
    )  # naive Bayes, where nobody has the time to look at anything
    with pytest.raises(MemoryBudgetError, match="co-moments of 3 numbers in 1 configurations"):
        made(2, max_memory=1e6).climbed("bic", None, names)


SIZES, NAMES = (2, 3, 2), ("a", "b", "c", "x", "y", "z")  # three columns of values, three of numbers


def table(seed: int, n: int, missing: float = 0.0, weighted: bool = False) -> tuple[pd.DataFrame, MixedScored]:
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, s, n) for s in SIZES])
    x = rng.normal(size=(n, 3)) * [1, 30, 0.01] + [0, 500, 1]
    x[:, 1] += 20 * codes[0] + 9 * x[:, 0]
    x[:, 2] += 0.02 * x[:, 0] * (codes[1] == 1)
    frame = pd.DataFrame({**dict(zip("abc", codes)), **dict(zip("xyz", x.T))})
    x[rng.random(x.shape) < missing] = np.nan
    holes = rng.random(codes.shape) < missing
    codes = np.where(holes, np.array(SIZES)[:, None], codes).astype(np.uint8)
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    return frame, MixedScored(Scored(codes, SIZES, "bic", weights=weights), x)


def some_parents(rng: np.random.Generator) -> list[list[int]]:
    """A random structure in which no number is the parent of a value."""
    return [[u for u in range(v) if rng.random() < 0.5 and (u < 3 or v >= 3)] for v in range(6)]


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), n=st.sampled_from([60, 200]))
def test_a_structure_is_worth_what_its_network_is(seed, n):
    frame, scored = table(seed, n)
    parents = some_parents(np.random.default_rng(seed))
    dag = po.Dag(NAMES, [(NAMES[u], NAMES[v]) for v, ps in enumerate(parents) for u in ps])
    states = {k: range(s) for k, s in zip("abc", SIZES)}
    with pytest.MonkeyPatch.context() as patch:  # a score lends every configuration a row, as λ = 1 does
        patch.setattr(regression, "no_narrower", lambda own, n, _, spread: no_narrower(own, n, 1.0, spread))
        net = po.HybridNet.fit(dag, frame, smoothing=0, states=states)
    assert scored.whole(parents) == pytest.approx(net.bic(frame), rel=1e-5, abs=1e-3)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), missing=st.sampled_from([0.0, 0.2]), weighted=st.booleans())
def test_a_toggle_is_the_other_family(seed, missing, weighted):
    parents = some_parents(np.random.default_rng(seed))
    _, scored = table(seed, 80, missing, weighted)
    for v in range(6):
        others = [u for u in range(6) if u != v and (u < 3 or v >= 3)]
        found = scored.toggles(v, parents[v], others)
        _, again = table(seed, 80, missing, weighted)
        want = [again.family(v, parents[v]), *(again.family(v, sorted({*parents[v]} ^ {u})) for u in others)]
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-4)
        np.testing.assert_array_equal(scored.toggles(v, parents[v], others[::-1])[1:], found[:0:-1])  # and stays it


def test_weights_are_rows_and_arrows_between_numbers_turn_free():
    rng = np.random.default_rng(0)
    codes, x = rng.integers(0, 2, (1, 40)).astype(np.uint8), rng.normal(size=(40, 2))
    w = rng.integers(1, 4, 40)
    heavy = MixedScored(Scored(codes, (2,), "aic", weights=w.astype(float)), x)
    many = MixedScored(Scored(np.repeat(codes, w, axis=1), (2,), "aic"), np.repeat(x, w, axis=0))
    for parents in ([[], [], []], [[], [0], [0, 1]], [[], [0, 2], [0]]):
        assert heavy.whole(parents) == pytest.approx(many.whole(parents), rel=1e-9)
    assert many.whole([[], [0], [0, 1]]) == pytest.approx(many.whole([[], [0, 2], [0]]), rel=1e-9)


def test_a_number_told_to_the_last_digit_is_no_error():
    x = np.arange(30.0)
    scored = MixedScored(Scored(np.zeros((1, 30), np.uint8), (2,), "bic"), np.stack([x, 2 * x + 1, x, -x], axis=1))
    found = scored.toggles(2, [1], [3, 4])
    assert np.isfinite(found).all()
    assert scored.toggles(2, [], [1])[1] > scored.family(2, []) + 100
    with pytest.raises(BadParameter, match="numbers are scored by one of"):
        MixedScored(Scored(np.zeros((1, 3), np.uint8), (2,), "bdeu"), x[:3, None])


@given(st.integers(0, 1000), st.integers(0, 2), st.integers(0, 2))
def test_what_parents_leave_by_least_squares(seed, parents, more):
    """S_vv less what C tells, then less what C and one more do; the lines to v and to the others; their slopes."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(3, 30, 5)) @ rng.normal(size=(5, 5)) + rng.normal(size=(3, 1, 5))
    Z = Z - Z.mean(axis=1, keepdims=True)
    S = np.einsum("drk,drl->dkl", Z, Z)
    columns = rng.permutation(5).tolist()
    v, C, added = columns[0], columns[1 : 1 + parents], columns[1 + parents : 1 + parents + more]
    left, line, slope = _left(S, v, C, added)
    assert (left.shape, line.shape, slope.shape) == ((3, 1 + more), (3, parents, 1 + more), (3, more))
    for d in range(3):
        for k, beside in enumerate([C, *([*C, u] for u in added)]):
            design = Z[d][:, beside]
            beta = np.linalg.lstsq(design, Z[d][:, v], rcond=None)[0]
            assert left[d, k] == pytest.approx(((Z[d][:, v] - design @ beta) ** 2).sum(), rel=1e-6)
            if k:
                assert slope[d, k - 1] == pytest.approx(beta[-1], rel=1e-6, abs=1e-8)
        for k, u in enumerate([v, *added]):
            assert line[d, :, k] == pytest.approx(
                np.linalg.lstsq(Z[d][:, C], Z[d][:, u], rcond=None)[0], rel=1e-6, abs=1e-8
            )


@pytest.mark.parametrize("score", ["bic", "aic", "loglik", "mdl"])
def test_the_price_of_a_number_is_that_of_every_configuration(score):
    """q(k + 2) parameters, q of all configurations of its parents with values, whether rows have them or not."""
    rng = np.random.default_rng(3)
    codes = np.stack([rng.integers(0, 2, 50), rng.integers(0, 2, 50)]).astype(
        np.uint8
    )  # the second never has its third
    x = rng.normal(size=(50, 2))
    found, free = (MixedScored(Scored(codes, (2, 3), s), x) for s in (score, "loglik"))
    price = {"bic": 0.5 * np.log(50), "mdl": 0.5 * np.log(50), "aic": 1.0, "loglik": 0.0}[score]
    assert found.price == pytest.approx(price)
    for parents, q, k in (([], 1, 0), ([0], 2, 0), ([1], 3, 0), ([0, 1], 6, 0), ([3], 1, 1), ([1, 3], 3, 1)):
        assert free.family(2, parents) - found.family(2, parents) == pytest.approx(price * q * (k + 2))
    assert found.whole([[], [0], [1, 3], []]) == pytest.approx(
        found.family(0, []) + found.family(1, [0]) + found.family(2, [1, 3]) + found.family(3, [])
    )
    assert (found.first, found.d, found.m, found.complete) == (2, 4, 50, False)


def test_a_number_alone_is_worth_its_normal():
    """−½ n (ln 2πs² + 1) in the units of the column, of the rows that have it, by weight."""
    x = np.array([[1.0, np.nan], [4.0, 7.0], [np.nan, 7.0], [6.0, 7.0], [9.0, np.nan]])
    found = MixedScored(Scored(np.zeros((1, 5), np.uint8), (1,), "loglik"), np.column_stack([x, np.full(5, np.nan)]))
    mine = np.array([1.0, 4.0, 6.0, 9.0])
    assert found.family(1, []) == pytest.approx(-0.5 * 4 * (np.log(2 * np.pi * mine.var()) + 1))
    assert np.isfinite(found.family(2, []))  # one value: as narrow as the rest of its digits
    assert found.x[2, 0] == 0.0  # the mean, where a parent is missing
    assert found.scale.tolist() == [mine.std(), 1.0, 1.0]
    heavy = MixedScored(
        Scored(np.zeros((1, 4), np.uint8), (1,), "loglik", weights=np.array([1.0, 2.0, 1.0, 1.0])), mine[:, None]
    )
    many = np.repeat(mine, [1, 2, 1, 1])
    assert heavy.family(1, []) == pytest.approx(-0.5 * 5 * (np.log(2 * np.pi * many.var()) + 1))
