"""Informations against their definitions, in every layout of the counts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.statistics.counts import Counts
from posteriori.statistics.cuts import CodedTable
from posteriori.statistics.joint import count_joint
from posteriori.structure import information
from posteriori.structure.information import barred, class_information, conditional_information, learn_tree

seeds = st.integers(0, 300)


def mutual(n):
    """I of a table of counts, by its definition."""
    p = n / n.sum() if n.sum() else n
    outer = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    return sum(v * np.log(v / o) for v, o in zip(p.ravel(), outer.ravel()) if v > 0)


def table(seed, sizes, n=50, holes=False, K=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    columns = {}
    for j, s in enumerate(sizes):
        x = np.where(rng.random(n) < 0.5, (y + j) % s, rng.integers(0, s, n)).astype(object)
        x[rng.random(n) < (0.2 if holes else 0)] = None
        columns[f"x{j}"] = x
    return columns, y


@given(seeds, st.booleans(), st.sampled_from([(2, 2, 2), (2, 3, 4, 2), (5, 5)]), st.sampled_from([1, 40, 1 << 18]))
def test_informations_by_their_definitions(seed, holes, sizes, at_once):
    X, y = table(seed, sizes, holes=holes)
    model = po.TAN(kinds="categorical").fit(X, y)
    stats = model.statistics_
    old, information.NUMBERS = information.NUMBERS, at_once
    try:
        found = conditional_information(stats.joints[0], stats.sizes)
    finally:
        information.NUMBERS = old
    values = [c.values for c in stats.schema.columns]
    told = class_information(stats.cells)
    for i, a in enumerate(X.values()):
        n = np.array([[((a == v) & (y == k)).sum() for k in np.unique(y)] for v in values[i]], dtype=float)
        assert told[i] == pytest.approx(mutual(n), abs=1e-12)
        assert found[i, i] == 0
        for j, b in enumerate(X.values()):
            if i < j:
                both = np.array(
                    [
                        [[((a == u) & (b == v) & (y == k)).sum() for v in values[j]] for u in values[i]]
                        for k in np.unique(y)
                    ],
                    dtype=float,
                )
                wanted = sum(n_k.sum() * mutual(n_k) for n_k in both) / max(both.sum(), 1)
                assert found[i, j] == found[j, i] == pytest.approx(wanted, abs=1e-12)


def test_rounding_is_no_information():
    alike = Counts(np.array([[1, 1], [3, 3], [10**6, 10**6]]), np.array([0, 3]))
    assert class_information(alike).tolist() == [0.0]
    nothing = Counts(np.zeros((2, 2), np.int64), np.array([0, 2]))
    assert class_information(nothing).tolist() == [0.0]
    little = Counts(np.array([[1000, 1001], [1001, 1000]]), np.array([0, 2]))
    assert class_information(little)[0] == pytest.approx(mutual(little.table.astype(float)), rel=1e-6)
    empty = Counts(np.array([[1, 0], [0, 1]]), np.array([0, 0, 2]))
    assert class_information(empty).tolist() == pytest.approx([0.0, np.log(2)])


@given(seeds, st.sampled_from([None, 0, 2]), st.sampled_from([0.0, 0.02]))
def test_the_tree_weighs_most_and_hangs_from_its_root(seed, root, least):
    X, y = table(seed, (2, 3, 2, 3))
    stats = po.TAN(kinds="categorical").fit(X, y).statistics_
    weight, structure = learn_tree(stats.cells, stats.joints[0], stats.schema, root, least)
    assert np.array_equal(weight, conditional_information(stats.joints[0], stats.sizes))
    total = sum(weight[p, c] for p, c in structure.edges)
    pairs = list(itertools.combinations(range(4), 2))
    best = 0.0
    for edges in itertools.chain.from_iterable(itertools.combinations(pairs, k) for k in range(4)):
        group = list(range(4))
        cyclic = False
        for a, b in edges:
            cyclic |= group[a] == group[b]
            group = [group[a] if g == group[b] else g for g in group]
        if not cyclic and all(weight[e] > least for e in edges):
            best = max(best, sum(weight[e] for e in edges))
    assert total == pytest.approx(best)
    assert all(weight[e] > least for e in structure.edges)
    first = root if root is not None else int(np.argmax(class_information(stats.cells).round(12)))
    assert structure.parents[first] == ()


def test_a_column_without_values_is_no_parent():
    found = barred(np.arange(9.0).reshape(3, 3), [1, 0, 2])
    assert found[[0, 2]][:, [0, 2]].tolist() == [[0, 2], [6, 8]]
    assert np.isneginf(found[1]).all()
    assert np.isneginf(found[:, 1]).all()


@given(seeds, st.sampled_from([None, 0, 5]), st.sampled_from([1, 30, 1 << 18]), st.booleans())
def test_values_that_no_row_has_change_nothing(seed, wide, at_once, alike):
    """Of counts in full, and of those that keep only the cells some row has; some values never occur, the last ones too."""
    rng = np.random.default_rng(seed)
    n, K, sizes = 30, 2, (4, 4, 4) if alike else (2, 5, 3, 4)
    used = [int(rng.integers(1, s + 1)) for s in sizes]
    codes = [rng.integers(0, u, n).astype(np.uint8) for u in used]
    y = np.where(rng.random(n) < 0.7, codes[0] % K, rng.integers(0, K, n)).astype(np.uint8)
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    joint = count_joint(CodedTable(codes, sizes), pairs, y, K, None, 1, wide)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(information, "NUMBERS", at_once)
        found = conditional_information(joint, sizes)
    for i, j in pairs:
        tables = [np.zeros((sizes[i], sizes[j])) for _ in range(K)]
        for a, b, c in zip(codes[i], codes[j], y):
            tables[c][a, b] += 1
        assert found[i, j] == found[j, i] == pytest.approx(sum(t.sum() * mutual(t) for t in tables) / n, abs=1e-12)


@pytest.mark.parametrize("share", [0.5, 2.0])
def test_what_rounding_can_have_made_is_no_information(share):
    n = np.array([7.0, 0.5, 0.0])
    total = share * information.ROUNDING * (n + np.abs(n * np.log(np.maximum(n, 1e-300))))
    total[2] = share - 1.0  # of no rows
    found = information._clean(np.minimum(total, 1.0), n) if share < 1 else information._clean(total[:2], n[:2])
    assert (found > 0).tolist() == ([False] * 3 if share < 1 else [True] * 2)
    if share > 1:
        assert found == pytest.approx(total[:2] / n[:2])
