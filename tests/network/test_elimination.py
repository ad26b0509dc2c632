"""Elimination answers as the whole joint does, and asks for the memory it takes: two tables of the targets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import BadValue, ImpossibleEvidence, MemoryBudgetError
from posteriori.network.elimination import (
    Term,
    at,
    case_posteriors,
    eliminate,
    log_evidence,
    map_states,
    posterior,
    relevant,
    requisite,
)
from posteriori.network.numbers import Numbers, one_hot

from .making import random_network


def test_the_joint_of_the_targets_is_refused_by_its_size():
    roots = Numbers.of([10] * 4, [()] * 4, [np.full(10, 0.1)] * 4)
    table = 8.0 * 10**4
    joint, log_p = eliminate(roots, [0, 1, 2, 3], {}, max_memory=4 * table)
    assert joint.size == 10**4
    assert log_p == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(MemoryBudgetError):
        eliminate(roots, [0, 1, 2, 3], {}, max_memory=1.5 * table)


def joint(model, vectors):
    """P(x, e) of every state, an axis for each node."""
    n = len(model)
    out = np.ones(model.sizes)
    for v in range(n):
        scope = (*model.parents[v], v)
        table = np.asarray(model.tables[v]).reshape([model.sizes[u] for u in scope])
        shape = [model.sizes[u] if u in scope else 1 for u in range(n)]
        out = out * table.transpose(np.argsort(scope)).reshape(shape)
    for v, x in vectors.items():
        out = out * np.asarray(x).reshape([-1 if u == v else 1 for u in range(n)])
    return out


@st.composite
def questions(draw):
    rng = np.random.default_rng(draw(st.integers(0, 5000)))
    model = random_network(rng, 5, max_parents=2, max_states=3, zeros=draw(st.sampled_from([0.0, 0.3])))
    vectors = {}
    for v in draw(st.sets(st.integers(0, 4), max_size=3)):
        size = model.sizes[v]
        vectors[v] = one_hot(size, int(rng.integers(size))) if draw(st.booleans()) else rng.random(size) * 9
    targets = draw(st.lists(st.integers(0, 4), unique=True, max_size=3))
    return model, vectors, targets


@given(questions())
def test_answers_are_those_of_the_whole_joint(question):
    model, vectors, targets = question
    p = joint(model, vectors)
    total = p.sum()
    rest = tuple(v for v in range(5) if v not in targets)
    wanted = np.transpose(p.sum(axis=rest), np.argsort(np.argsort(targets))) if targets else p.sum()
    if total == 0:
        assert log_evidence(model, vectors) == -np.inf
        with pytest.raises(ImpossibleEvidence) as told:
            eliminate(model, targets, vectors)
        core = told.value.findings
        assert joint(model, {v: vectors[v] for v in core}).sum() == 0
        for v in core:
            assert joint(model, {u: vectors[u] for u in core if u != v}).sum() > 0
        return
    found, log_p = eliminate(model, targets, vectors)
    assert log_p == pytest.approx(np.log(total), abs=1e-9)
    assert log_evidence(model, vectors) == pytest.approx(np.log(total), abs=1e-9)
    assert found == pytest.approx(np.ravel(wanted) / total, abs=1e-12)
    assert posterior(model, targets, vectors) == pytest.approx(np.ravel(wanted) / total, abs=1e-12)
    needed, seen = requisite(model, targets, vectors)
    assert set(seen) <= set(vectors)
    kept = joint(model, {v: vectors[v] for v in seen})
    if targets and kept.sum() > 0:  # what a ball does not reach does not matter
        less = np.transpose(kept.sum(axis=rest), np.argsort(np.argsort(targets)))
        assert np.ravel(less) / kept.sum() == pytest.approx(np.ravel(wanted) / total, abs=1e-9)
    assert set(targets) - set(hard(vectors)) <= set(needed)
    if targets:
        states, best = map_states(model, targets, vectors)
        assert best == pytest.approx(np.log(np.max(wanted)), abs=1e-9)
        assert wanted[tuple(states)] == pytest.approx(np.max(wanted))


def hard(vectors):
    return [v for v, x in vectors.items() if np.count_nonzero(x) == 1]


@given(st.integers(0, 2000), st.integers(0, 4))
def test_cases_row_by_row(seed, target):
    rng = np.random.default_rng(seed)
    model = random_network(rng, 5, max_parents=2, max_states=3)
    cases = np.column_stack([rng.integers(-1, s, 8) for s in model.sizes]).astype(np.int32)
    found = case_posteriors(model, cases, target)
    for row, got in zip(cases, found):
        vectors = {v: one_hot(model.sizes[v], c) for v, c in enumerate(row.tolist()) if c >= 0}
        p = joint(model, vectors).sum(axis=tuple(v for v in range(5) if v != target))
        assert got == pytest.approx(p / p.sum(), abs=1e-9)


def test_a_part_is_held_where_it_is_known():
    model = Numbers.of([2, 3, 2], [(), (0,), (0, 1)], [[0.5, 0.5], np.ones((2, 3)), np.arange(1, 13.0)])
    term = Term((0, 1, 2), np.asarray(model.tables[2]))
    table = np.asarray(model.tables[2]).reshape(2, 3, 2)
    assert at(model, term, {1: 2}).table.tolist() == table[:, 2].ravel().tolist()
    assert at(model, term, {0: 1, 2: 0}).table.tolist() == table[1, :, 0].tolist()
    assert at(model, term, {0: 1, 2: 0}).scope == (1,)
    assert at(model, term, {}).table is term.table
    assert relevant(model, [1]) == [0, 1]
    with pytest.raises(BadValue, match="asked for twice"):
        map_states(model, [0, 0], {})
