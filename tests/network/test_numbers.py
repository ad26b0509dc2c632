"""A network as numbers: rows that sum to one, vectors scaled without loss, conflicts that are minimal."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.network.numbers import (
    Numbers,
    fixed_states,
    hard_states,
    impossible,
    log_scale,
    one_hot,
    packed,
    row_sums,
    scaled,
    vectors_of,
)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(0, 100))
def test_every_row_is_divided_by_its_sum(sizes, seed):
    rng = np.random.default_rng(seed)
    parents = [tuple(range(v))[-2:] for v in range(len(sizes))]
    tables = [rng.random([*(sizes[p] for p in ps), sizes[v]]) + 0.1 for v, ps in enumerate(parents)]
    model = Numbers.of(sizes, parents, tables, names=[f"n{v}" for v in range(len(sizes))])
    for v, table in enumerate(tables):
        assert model.tables[v].reshape(table.shape) == pytest.approx(table / table.sum(axis=-1, keepdims=True))
    flat = np.concatenate([t.ravel() for t in tables])
    sums = row_sums(flat, sizes, [t.size for t in tables])
    assert sums == pytest.approx(np.concatenate([t.sum(axis=-1).ravel() for t in tables]))
    assert len(model) == len(sizes)
    assert model.order == list(range(len(sizes)))
    assert [sorted(c) for c in model.children] == [
        [c for c in range(len(sizes)) if v in parents[c]] for v in range(len(sizes))
    ]
    assert "n0" in model.called([0])


numbers = st.floats(0, 1e300, allow_subnormal=True)


@given(st.dictionaries(st.integers(0, 5), st.lists(numbers, min_size=2, max_size=3), max_size=4))
def test_scaled_vectors_and_what_was_taken_away(given_vectors):
    vectors = vectors_of(given_vectors)
    found = scaled(vectors)
    for v, x in vectors.items():
        top = x.max()
        assert found[v].max() == (1.0 if top > 0 else 0.0)
        if top > 1e-300:
            assert found[v] * top == pytest.approx(x, rel=1e-12)
    tops = [x.max() for x in vectors.values() if x.max() > 0]
    assert log_scale(vectors) == pytest.approx(math.fsum(map(math.log, tops)), abs=1e-9)
    nodes, values = packed(vectors)
    assert nodes.tolist() == list(vectors)
    assert values.tolist() == [float(v) for x in vectors.values() for v in x]
    assert nodes.dtype == np.int32


def test_hard_findings():
    vectors = {0: one_hot(3, 2), 2: np.array([0.0, 0.3, 0.0]), 3: np.array([1.0, 0.5])}
    assert hard_states(vectors) == {0: 2, 2: 1}
    model = Numbers.of([3, 2, 3, 2], [()] * 4, [np.ones(s) for s in (3, 2, 3, 2)])
    assert fixed_states(model, vectors).tolist() == [2, -1, 1, -1]
    assert fixed_states(model, {}).dtype == np.int32
    assert one_hot(2, 0).tolist() == [1.0, 0.0]


@given(st.sets(st.integers(0, 20), min_size=1, max_size=16), st.data())
def test_a_conflict_is_minimal(nodes, data):
    """Some sets of findings contradict each other; what is told is one of them, and no finding of it can be spared."""
    some = st.sets(st.sampled_from(sorted(nodes)), min_size=1, max_size=3)
    clashes = data.draw(st.lists(some, min_size=1, max_size=3))
    asked = []

    def possible(rest):
        asked.append(len(rest))
        return not any(c <= rest.keys() for c in clashes)

    found = impossible({v: np.ones(2) for v in sorted(nodes)}, possible)
    core = set(found.findings)
    assert core in clashes
    assert not any(c < core for c in clashes)
    assert "probability zero" in str(found)
    assert all(possible(dict.fromkeys(c)) for c in itertools.combinations(sorted(core), len(core) - 1))


def test_a_small_conflict_in_many_findings_is_found_by_halves():
    asked = []

    def possible(rest):
        asked.append(1)
        return not {3, 700} <= rest.keys()

    found = impossible({v: np.ones(2) for v in range(1000)}, possible)
    assert set(found.findings) == {3, 700}
    assert len(asked) < 60
