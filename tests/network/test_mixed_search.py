"""Structures of a class, values and numbers: columns that vary, and the best tree or k parents by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from posteriori.network.mixed_search import MixedTable
from posteriori.statistics.cuts import CodedTable


def made(seed: int = 0, n: int = 300, weights: np.ndarray | None = None) -> MixedTable:
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
    return MixedTable(table, x, [1, 4, 5, 6, 7], y, 3, weights)


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
    assert found.climbed("bic", None, names, time_limit=0) == ((),) * 9
