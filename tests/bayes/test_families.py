"""Tables of a structure against counting and enumeration: θ by its ladder, missing cells summed out, wide rungs, draws."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.bayes.families import Families, Rung, draw_from
from posteriori.errors import MemoryBudgetError
from posteriori.statistics.cuts import CodedTable
from posteriori.structure.structures import Structure

SIZES = (2, 3, 4, 2)
seeds = st.integers(0, 200)


def learned(seed, Model=po.KDB, n=60, **how):
    """A model of codes whose values all occur, its rows and classes."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, s, n) for s in SIZES])
    X[: max(SIZES)] = np.array([[i % s for s in SIZES] for i in range(max(SIZES))])
    y = np.concatenate([[0, 1], rng.integers(0, 2, n - 2)])
    X[:, 1] = np.where(rng.random(n) < 0.6, (X[:, 0] + y) % 3, X[:, 1])
    return Model(kinds="categorical", **how).fit(X, y), X, y


def by_hand(X, y, structure, smoothing, weight):
    """θ_j(x, context, y) by counting rows, rung by rung."""

    def theta(j, x, given, k):
        """`given`: (parent, value) of the first parents."""
        rows = y == k
        for p, v in given:
            rows &= X[:, p] == v
        n, m, S = (rows & (X[:, j] == x)).sum(), rows.sum(), SIZES[j]
        if not given or weight is None:
            return (n + smoothing) / (m + S * smoothing) if m + S * smoothing > 0 else 1 / S
        below = theta(j, x, given[:-1], k)
        return (n + weight * below) / (m + weight) if m + weight > 0 else below

    return theta


def joint(model, theta, row, structure, prior):
    """P(y, x) of a row, None a missing cell, by the sum over all that it could be."""
    total = np.zeros(2)
    free = [range(SIZES[j]) if v is None else [v] for j, v in enumerate(row)]
    for values in itertools.product(*free):
        for k in range(2):
            p = prior[k]
            for j, parents in enumerate(structure.parents):
                p *= theta(j, values[j], [(q, values[q]) for q in parents], k)
            total[k] += p
    return total


def table(rows):
    codes = np.array([[SIZES[j] if v is None else v for j, v in enumerate(r)] for r in rows], dtype=np.uint8)
    return CodedTable(codes, SIZES, n_missing=int((codes == np.array(SIZES)).sum()))


@given(seeds, st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([None, 0.0, 5.0]), st.sampled_from([0, 8, 1 << 20]))
def test_the_joint_is_counted_by_hand(seed, smoothing, weight, wide):
    model, X, y = learned(seed % 20)
    structure = model.structure_
    assert max(map(len, structure.parents)) == 2
    found = Families.of(model.statistics_, structure, smoothing, "empirical", weight, exact=False, wide=wide)
    theta, prior = by_hand(X, y, structure, smoothing, weight), np.bincount(y) / len(y)
    rows = [tuple(r) for r in np.random.default_rng(seed).integers(0, SIZES, (5, 4)).tolist()]
    for row, got in zip(rows, found.log_joint(table(rows))):
        assert np.exp(got) == pytest.approx(joint(model, theta, row, structure, prior), rel=1e-9, abs=1e-300)
    parts = found.parts(table(rows))
    assert np.exp(parts.sum(axis=1) + found.log_prior) == pytest.approx(np.exp(found.log_joint(table(rows))), rel=1e-9)
    for j in range(4):
        given_p = [(q, rows[0][q]) for q in structure.parents[j]]
        for n, step in enumerate(found.ladder(table(rows), j)):
            want = [theta(j, rows[0][j], given_p[:n], k) for k in range(2)]
            assert np.exp(step[0]) == pytest.approx(want, rel=1e-9)


@given(
    seeds,
    st.sampled_from([(1.0, 5.0), (0.5, None), (0.0, None), (0.0, 0.0)]),
    st.sampled_from([0, 1 << 20]),
    st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=3),
)
def test_missing_cells_are_summed_out_of_a_tree(seed, how, wide, holes):
    model, X, y = learned(seed % 20, po.TAN)
    structure = model.structure_
    assert any(structure.parents)
    found = Families.of(model.statistics_, structure, how[0], "empirical", how[1], wide=wide)
    theta, prior = by_hand(X, y, structure, *how), np.bincount(y) / len(y)
    whole = np.random.default_rng(seed).integers(0, SIZES, (len(holes), 4)).tolist()
    rows = [[None if gap else v for v, gap in zip(r, gaps)] for r, gaps in zip(whole, holes)]
    for row, got in zip(rows, found.log_joint(table(rows))):
        assert np.exp(got) == pytest.approx(joint(model, theta, row, structure, prior), rel=1e-9)
    some = any(v is None for r in rows for v in r)
    assert (found.parts(table(rows)) is None) == some
    columns = CodedTable([table(rows).codes[:, j] for j in range(4)], SIZES, n_missing=int(some))
    assert np.array_equal(found.log_joint(columns), found.log_joint(table(rows)))


@given(seeds, st.sampled_from([0, 1 << 20]))
def test_where_it_is_not_exact_a_missing_parent_ends_the_ladder(seed, wide):
    model, X, y = learned(seed % 20)
    structure = model.structure_
    found = Families.of(model.statistics_, structure, 1.0, "empirical", 5.0, exact=False, wide=wide)
    theta = by_hand(X, y, structure, 1.0, 5.0)
    rng = np.random.default_rng(seed)
    rows = [[None if rng.random() < 0.4 else v for v in r] for r in rng.integers(0, SIZES, (6, 4)).tolist()]
    got = found.log_joint(table(rows))
    for row, log in zip(rows, got):
        want = np.bincount(y) / len(y)
        for j, parents in enumerate(structure.parents):
            if row[j] is None:
                continue
            known = list(itertools.takewhile(lambda q: row[q] is not None, parents))  # noqa: B023
            want = want * [theta(j, row[j], [(q, row[q]) for q in known], k) for k in range(2)]
        assert np.exp(log) == pytest.approx(want, rel=1e-9)
    assert np.exp(found.parts(table(rows)).sum(axis=1) + found.log_prior) == pytest.approx(np.exp(got), rel=1e-9)


@pytest.mark.parametrize("wide", [0, 1 << 20])
def test_attributes_that_take_no_part(wide):
    model, _, _ = learned(0)
    whole = Families.of(model.statistics_, model.structure_, 1.0, "empirical", 5.0, exact=False, wide=wide)
    some = replace(whole, used=frozenset({0, 2}))
    rows = table([(1, 2, 3, 0)])
    assert some.log_joint(rows)[0] == pytest.approx(whole.log_prior + whole.parts(rows)[0, [0, 2]].sum(axis=0))
    assert not some.parts(rows)[0, [1, 3]].any()
    alone = Families.of(
        model.statistics_, po.KDB(k=0, kinds="categorical").fit(*learned(0)[1:]).structure_, 1.0, "empirical"
    )
    assert alone.log_joint(rows)[0] == pytest.approx(alone.log_prior + alone.parts(rows)[0].sum(axis=0))


def test_tables_beyond_the_budget_are_refused_before_they_are_made():
    model, _, _ = learned(0, po.TAN)
    found = Families.of(model.statistics_, model.structure_, 1.0, "empirical", 5.0)
    cells = [np.prod([SIZES[i] for i in f]) for f in model.structure_.families]
    below = sum(SIZES[f[-1]] for f in model.structure_.families if len(f) > 1)
    missing = [np.prod([SIZES[i] + 1 for i in f]) for f in model.structure_.families]
    peak = 8 * 2 * (2 * (sum(cells) + below) + sum(missing))
    args = model.statistics_, model.structure_, 1.0, "empirical", 5.0
    assert Families.of(*args, max_memory=peak).sizes == found.sizes
    with pytest.raises(MemoryBudgetError):
        Families.of(*args, max_memory=peak - 1)
    wide = Families.of(*args, max_memory=peak, wide=0)
    needed = 5 * 8 * 2 * sum(c for c, f in zip(cells, model.structure_.families) if len(f) > 1)
    for budget, fits in ((needed, True), (needed - 1, False)):
        tight = replace(wide, max_memory=budget)
        if fits:
            assert all(np.allclose(a, b) for a, b in zip(tight.tables, found.tables))
        else:
            with pytest.raises(MemoryBudgetError):
                tight.tables  # noqa: B018


@pytest.mark.parametrize("wide", [0, 1 << 20])
def test_draws_have_the_chances_of_the_tables(wide):
    model, X, y = learned(3)
    found = Families.of(model.statistics_, model.structure_, 1.0, "empirical", 5.0, exact=False, wide=wide)
    theta, prior = by_hand(X, y, model.structure_, 1.0, 5.0), np.bincount(y) / len(y)
    rows = [list(r) for r in itertools.product(*map(range, SIZES))]
    truth = np.array([joint(model, theta, r, model.structure_, prior) for r in rows])
    assert truth.sum() == pytest.approx(1.0)
    n = 40_000
    codes, classes = found.draw(n, np.random.default_rng(0))
    at = np.ravel_multi_index(codes.T, SIZES)
    share = np.bincount(at * 2 + classes, minlength=truth.size).reshape(truth.shape) / n
    assert np.abs(share - truth).max() < 5 * np.sqrt(truth.max() / n)
    chi = ((share - truth) ** 2 / truth).sum() * n
    assert chi < truth.size + 5 * np.sqrt(2 * truth.size)


@given(st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any), min_size=1, max_size=5), seeds)
def test_a_value_without_a_chance_is_never_drawn(chances, seed):
    p = np.array(chances, dtype=float) * 1e-3  # they need not sum to one
    codes = draw_from(np.repeat(p, 40, axis=0), np.random.default_rng(seed))
    assert (np.repeat(p, 40, axis=0)[np.arange(len(codes)), codes] > 0).all()
    assert draw_from(np.zeros((3, 0)), np.random.default_rng(0)).tolist() == [0, 0, 0]


def test_a_missing_cell_of_a_column_of_one_value_adds_nothing():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 30), np.zeros(30, int)])
    statistics = po.TAN(kinds="categorical").fit(X, np.arange(30) % 2).statistics_
    assert statistics.sizes == (2, 1)
    found = Families.of(statistics, po.TAN(kinds="categorical").fit(X, np.arange(30) % 2).structure_, 1.0, "smoothed")
    ladder = found.ladder(CodedTable([np.array([0, 1]), np.array([0, 1])], (2, 1)), 1)
    assert all((rung[1] == 0).all() for rung in ladder)


@pytest.mark.parametrize("wide", [0, 1 << 20])
def test_a_missing_parent_of_one_value_ends_the_climb(wide):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.zeros(40, int), rng.integers(0, 3, 40), rng.integers(0, 2, 40)])
    statistics = po.AODE(kinds="categorical").fit(X, np.arange(40) % 2).statistics_
    structure = Structure(((), (0,), (0,)))
    found = Families.of(statistics, structure, 1.0, "smoothed", 5.0, exact=False, wide=wide)
    table = CodedTable(np.array([[1, 2, 1], [0, 2, 1]], np.uint8), (1, 3, 2), n_missing=1)
    for j in (1, 2):
        without, beside = found.ladder(table, j)
        assert beside[0].tolist() == without[0].tolist()
    assert found.log_joint(table)[0] == pytest.approx(found.log_prior + found.parts(table)[0].sum(axis=0))


def test_rungs_without_a_table_count_out_what_no_row_had():
    """θ = (N + m·base)/(N_π + m) of cells that are kept, of those that are not, and of contexts that no row had."""
    rung = Rung(np.array([1, 2, 7]), np.array([[2, 0], [1, 3], [0, 4]]), 3, 2.0)
    context, x = np.array([0, 0, 0, 2, 2, 1]), np.array([1, 2, 0, 1, 0, 0])
    base = np.array([[0.5, 0.2]] * 6)
    n = np.array([[2, 0], [1, 3], [0, 0], [0, 4], [0, 0], [0, 0]])
    m = np.array([[3, 3], [3, 3], [3, 3], [0, 4], [0, 4], [0, 0]])
    assert np.exp(rung.log_theta(context, x, np.log(base))) == pytest.approx((n + 2 * base) / (m + 2))
    flat = replace(rung, flat=True)
    assert np.exp(flat.log_theta(context, x, np.log(base))) == pytest.approx((n + 2 / 3) / (m + 2))
    none = Rung(np.zeros(0, int), np.zeros((0, 2), int), 3, 2.0)
    assert np.exp(none.log_theta(context, x, np.log(base))) == pytest.approx(base)
