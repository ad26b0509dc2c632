"""Information and structures against brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import ModelError
from posteriori.statistics.counts import Counts
from posteriori.statistics.cuts import CodedTable
from posteriori.statistics.joint import collect_pairs
from posteriori.structure.information import class_information, conditional_information
from posteriori.structure.structures import Structure, kdb, spanning_edges, tree


def brute_cmi(a, b, y):
    """Σ P(a,b,y) ln [P(a,b|y) / (P(a|y) P(b|y))], term by term."""
    n, total = len(y), 0.0
    for u, v, c in set(zip(a, b, y)):
        here = sum(1 for row in zip(a, b, y) if row == (u, v, c))
        n_y = y.count(c)
        n_a = sum(1 for p, q in zip(a, y) if (p, q) == (u, c))
        n_b = sum(1 for p, q in zip(b, y) if (p, q) == (v, c))
        total += here / n * math.log(here * n_y / (n_a * n_b))
    return total


def brute_tree(w):
    """Of all spanning trees of greatest weight the one whose edges come first in the documented order."""
    d = len(w)
    edges = sorted(itertools.combinations(range(d), 2), key=lambda e: (-round(w[e], 12), e))
    best = None
    for chosen in itertools.combinations(range(len(edges)), d - 1):
        group = list(range(d))
        for k in chosen:
            a, b = (group[x] for x in edges[k])
            group = [b if g == a else g for g in group]
        if len(set(group)) > 1:
            continue
        weight = sum(round(w[edges[k]], 12) for k in chosen)
        if best is None or weight > best[0] + 1e-9:
            best = (weight, chosen)
    return {edges[k] for k in best[1]}


@st.composite
def tables(draw):
    d, n = draw(st.integers(2, 5)), draw(st.integers(1, 25))
    X = np.array(draw(st.lists(st.lists(st.integers(0, 2), min_size=d, max_size=d), min_size=n, max_size=n)))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    return X.astype(np.uint8), y


@given(tables())
def test_tree_is_the_brute_force_tree_on_brute_force_information(case):
    X, y = case
    d = X.shape[1]
    counts = collect_pairs(CodedTable(X, (3,) * d), np.array(y, np.uint8), 2, None, 1, None)
    found = conditional_information(counts, [3] * d)
    brute = np.zeros((d, d))
    for i, j in itertools.combinations(range(d), 2):
        brute[i, j] = brute[j, i] = brute_cmi(X[:, i].tolist(), X[:, j].tolist(), y)
    assert found == pytest.approx(brute, abs=1e-12)
    assert set(spanning_edges(found)) == brute_tree(brute)


def test_class_information_by_hand():
    counts = Counts(np.array([[3, 1], [1, 3], [2, 2], [2, 2]]), np.array([0, 2, 4]))
    expected = math.log(2) + 0.75 * math.log(0.75) + 0.25 * math.log(0.25)
    assert class_information(counts) == pytest.approx([expected, 0.0])


def test_blocks_of_pairs_give_the_same_information(monkeypatch):
    rng = np.random.default_rng(0)
    sizes = [2, 5, 3, 4, 1]
    X = [rng.integers(0, s, 200).astype(np.uint8) for s in sizes]
    counts = collect_pairs(CodedTable(X, tuple(sizes)), rng.integers(0, 2, 200).astype(np.uint8), 2, None, 1, None)
    whole = conditional_information(counts, sizes)
    monkeypatch.setattr("posteriori.structure.information.NUMBERS", 7)
    assert conditional_information(counts, sizes) == pytest.approx(whole)


def test_weak_edges_leave_a_forest():
    w = np.array([[0, 5, 0.1, 0.1], [5, 0, 0.1, 0.1], [0.1, 0.1, 0, 4], [0.1, 0.1, 4, 0]])
    assert tree(w, roots=[1, 3, 0, 2], least=1.0).parents == ((1,), (), (3,), ())
    assert len(spanning_edges(w)) == 3


def test_kdb_parents_come_before_their_children_in_the_order():
    rng = np.random.default_rng(0)
    mi, cmi = rng.random(6), rng.random((6, 6))
    s = kdb(mi, cmi + cmi.T, 2)
    assert [len(p) for p in s.parents].count(2) == 4
    assert s.order[0] == int(mi.argmax())


def test_a_circle_is_no_structure():
    with pytest.raises(ModelError, match="circle"):
        _ = Structure(((1,), (0,))).order
