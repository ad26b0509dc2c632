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
    combine,
    eliminate,
    elimination_order,
    evidence_terms,
    log_evidence,
    map_states,
    posterior,
    relevant,
    requisite,
)
from posteriori.network.numbers import Numbers, one_hot
from posteriori.structure.dag import Dag

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


@given(st.integers(0, 3000), st.data())
def test_a_ball_comes_where_no_path_is_closed(seed, data):
    """A table is needed if a parent of its own would be d-connected to a target; a finding, if it is itself.

    A soft finding on v is a child of v that was seen; v stays open.
    """
    model = random_network(np.random.default_rng(seed), 7, max_parents=2, max_states=2)
    targets = data.draw(st.lists(st.integers(0, 6), unique=True, min_size=1, max_size=2))
    rest = st.sampled_from([v for v in range(7) if v not in targets])
    known, soft = data.draw(st.sets(rest, max_size=3)), data.draw(st.sets(st.integers(0, 6), max_size=2))
    soft -= known
    names = [f"{kind}{v}" for kind in "xts" for v in range(7)]
    arrows = [(f"x{p}", f"x{v}") for v, ps in enumerate(model.parents) for p in ps]
    dag = Dag(names, [*arrows, *((f"t{v}", f"x{v}") for v in range(7)), *((f"x{v}", f"s{v}") for v in range(7))])
    given_ = {f"x{v}" for v in known} | {f"s{v}" for v in soft}
    asked = [f"x{t}" for t in targets]
    vectors = {v: np.empty(0) for v in known} | {v: np.array([0.3, 1.0]) for v in soft}
    needed, seen = requisite(model, targets, vectors)
    assert needed == [v for v in range(7) if not dag.d_separated(f"t{v}", asked, sorted(given_))]
    findings = [(v, f"x{v}") for v in known] + [(v, f"s{v}") for v in soft]
    assert seen == sorted(v for v, n in findings if not dag.d_separated(n, asked, sorted(given_ - {n})))


WIDE = Numbers.of(  # a tells of b; c to h tell of a switch, which joins them all
    [2, 2, 4, 4, 4, 4, 2],
    [(), (0,), (), (), (), (), (2, 3, 4, 5)],
    [[0.8, 0.2], [[0.9, 0.1], [0.0, 1.0]], *[np.ones(4)] * 4, np.tile([[0.25, 0.75], [1.0, 0.0]], (128, 1))],
    ["a", "b", "c", "d", "e", "f", "switch"],
)


def test_too_much_evidence_is_left_out_where_it_tells_nothing():
    seen = {1: one_hot(2, 1), 6: one_hot(2, 1)}
    assert posterior(WIDE, [0], seen) == pytest.approx([2 / 7, 5 / 7])
    with pytest.raises(
        MemoryBudgetError, match=r"a factor over nodes .*c.* would take .* over the budget of 500 bytes; "
    ):
        eliminate(WIDE, [0], seen, max_memory=500)
    assert posterior(WIDE, [0], seen, max_memory=500) == pytest.approx([2 / 7, 5 / 7])
    with pytest.raises(ImpossibleEvidence, match="probability zero: findings on 'b'") as told:
        posterior(WIDE, [0], {1: np.zeros(2), 6: one_hot(2, 1)}, max_memory=500)
    assert told.value.findings == (1,)


def test_what_is_too_wide_to_be_told_apart_stays_in_the_conflict():
    known = {v: one_hot(4, 1) for v in range(2, 6)} | {6: one_hot(2, 1)}  # where f is odd, the switch is off
    with pytest.raises(ImpossibleEvidence) as told:
        eliminate(WIDE, [], known)
    assert set(told.value.findings) == {5, 6}
    with pytest.raises(ImpossibleEvidence) as told:
        eliminate(WIDE, [], known, max_memory=500)  # without c, d and e: a table of 64 numbers
    assert {5, 6} < set(told.value.findings) < {2, 3, 4, 5, 6}


def test_the_row_of_a_case_that_cannot_be():
    never = Numbers.of([2, 3], [(), (0,)], [[0.5, 0.5], [[1, 0, 0], [0.5, 0.5, 0.0]]])
    rows = np.array([[-1, 0], [1, -1], [-1, 1], [-1, 2], [-1, 2]], np.int32)
    with pytest.raises(ImpossibleEvidence, match="case 3 has probability zero") as told:
        case_posteriors(never, rows, 0)
    assert (told.value.row, told.value.findings) == (3, (1,))
    assert case_posteriors(never, rows[:3], 0) == pytest.approx(np.array([[2 / 3, 1 / 3], [0, 1], [0, 1]]))


@given(st.integers(0, 1000))
def test_terms_are_the_tables_and_findings_with_known_axes_cut(seed):
    rng = np.random.default_rng(seed)
    model = random_network(rng, 4, max_parents=2, max_states=3)
    vectors = {0: 3.0 * one_hot(model.sizes[0], 0), 2: rng.random(model.sizes[2])}
    terms = evidence_terms(model, range(4), vectors)
    axes = np.ones((1, *model.sizes[1:]))
    for scope, table, in_logs in terms:
        assert 0 not in scope
        assert not in_logs
        order = np.argsort(scope)
        wide = table.reshape([model.sizes[u] for u in scope]).transpose(order)
        axes = axes * wide.reshape([1, *(model.sizes[u] if u in scope else 1 for u in range(1, 4))])
    assert axes == pytest.approx(joint(model, vectors)[:1])


def test_an_order_names_every_node_that_is_not_kept():
    model = Numbers.of([2, 5, 3, 4], [()] * 4, [np.ones(s) for s in (2, 5, 3, 4)])
    scopes = [(0, 1), (1, 2), (2, 3)]
    assert sorted(elimination_order(model, scopes, {1}, None)) == [0, 2, 3]
    assert sorted(elimination_order(model, scopes, set(), 8 * 50.0)) == [0, 1, 2, 3]
    assert elimination_order(model, [(0,)], set(), None) == [0]
    assert elimination_order(model, [], set(), None) == []
    with pytest.raises(MemoryBudgetError, match="a factor over nodes"):
        elimination_order(model, scopes, set(), 8 * 11.0)
    with pytest.raises(MemoryBudgetError, match=r"a factor over nodes .*0.*1.*2.*3"):  # in one table at the end
        elimination_order(model, scopes, set(), 8 * 119.0, married=[0, 1, 2, 3])
    assert sorted(elimination_order(model, scopes, set(), 8 * 400.0, married=[0, 1, 2, 3])) == [0, 1, 2, 3]


@given(questions(), st.permutations(range(5)))
def test_all_terms_at_once(question, order):
    """`combine` is the product of the terms summed, or its maximum, on the nodes kept, in their order."""
    model, _, keep = question
    terms = [Term((*model.parents[v], v), np.asarray(model.tables[v])) for v in order]
    rest = tuple(v for v in range(5) if v not in keep)
    whole = joint(model, {})
    for maximise in (False, True):
        (scope, table, in_logs), size = combine(model, terms, keep, maximise)
        wanted = whole.max(axis=rest) if maximise else whole.sum(axis=rest)
        wanted = np.transpose(wanted, np.argsort(np.argsort(keep))) if keep else wanted
        assert scope == tuple(keep)
        found = np.exp(table + size) if in_logs else table * np.exp(size)
        assert found == pytest.approx(np.ravel(wanted), abs=1e-12)
