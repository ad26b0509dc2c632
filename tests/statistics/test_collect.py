"""The one pass against counting by hand: every role, weights and shares, sparse or dense, and what is refused."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from posteriori.budget import human
from posteriori.errors import BadValue, CountOverflow, MemoryBudgetError
from posteriori.statistics.collect import (
    EXACT,
    _refuse_wide,
    collect,
    collect_coded,
    collect_codes,
    count_coded,
    refuse_no_bits,
    with_values_of,
    with_values_of_codes,
)
from posteriori.statistics.cuts import local_codes, with_bins
from posteriori.table.encode import Coded
from posteriori.table.frame import open_frame
from posteriori.table.schema import Column, Schema

seeds = st.integers(0, 500)
KINDS = {"word": "categorical", "warm": "numeric", "times": "count", "said": "text", "size": "numeric"}
ROLES = ("cells", "moments", "events", "words", "histogram")


def rows(seed, n=40, holes=True):
    rng = np.random.default_rng(seed)
    word = rng.choice(["a", "b", "c"], n).astype(object)
    warm = rng.normal(3, 2, n)
    if holes:
        word[rng.random(n) < 0.1] = None
        warm[rng.random(n) < 0.1] = np.nan
    said = rng.choice(np.array(["xx yy", "yy yy zz", "ww", ""], dtype=object), n)
    X = {"word": word, "warm": warm, "times": rng.poisson(2, n), "said": said, "size": rng.normal(size=n)}
    return X, np.concatenate([[0, 1, 2], rng.integers(0, 3, n - 3)]).astype(np.uint8)


def schema(kinds=KINDS, classes=(0, 1, 2), **declared):
    columns = [
        Column(name, kind, tuple(declared.get(name, ())), frozenset(declared.get(name, ())))
        for name, kind in kinds.items()
    ]
    return Schema(tuple(columns), tuple(classes))


@given(seeds, st.sampled_from(["none", "weights", "shares"]), st.sampled_from([1, 3]))
def test_every_role_is_what_the_rows_have(seed, how, jobs):
    X, y = rows(seed)
    n = len(y)
    rng = np.random.default_rng(seed + 1)
    w = np.zeros((n, 3))
    w[np.arange(n), y] = 1.0 if how == "none" else rng.random(n) * 3
    if how == "shares":
        w = rng.dirichlet(np.ones(3), n)
    given_w = {"none": None, "weights": w.sum(axis=1), "shares": w}[how]
    found, seen = collect(open_frame(X), schema(word=["a", "zz"]), ROLES, y, given_w, jobs)
    assert found.rows == pytest.approx(w.sum(axis=0))
    values = found.schema["word"].values
    assert set(values) == {"a", "zz"} | {v for v in X["word"] if v is not None}
    for v, got in zip(values, found.cells.table):
        assert got == pytest.approx(w[X["word"] == v].sum(axis=0))
    there = ~np.isnan(X["warm"])
    mean = np.array([np.average(X["warm"][there], weights=w[there, k]) for k in range(3)])
    assert found.moments.n[:, 0] == pytest.approx(w[there].sum(axis=0))
    assert found.moments.mean[:, 0] == pytest.approx(mean)
    m2 = [(w[there, k] * (X["warm"][there] - mean[k]) ** 2).sum() for k in range(3)]
    assert found.moments.m2[:, 0] == pytest.approx(m2)
    words, events = found.words.table[:-1], found.words.table[-1]
    for v, got in zip(found.schema["said"].values, words):
        times = np.array([s.split().count(v) for s in X["said"]])
        assert got == pytest.approx(times @ w)
    assert set(found.schema["said"].values) == {v for s in X["said"] for v in s.split()}
    assert events == pytest.approx(X["times"] @ w)
    assert found.words.offsets.tolist() == [0, len(words), len(words) + 1]
    assert found.histograms[0].table.sum(axis=0) == pytest.approx(w.sum(axis=0))
    assert seen.missing == sum(v is None for v in X["word"]) + int((~there).sum())
    whole = how == "none"
    assert {found.rows.dtype.kind, found.cells.table.dtype.kind, found.words.table.dtype.kind} == {
        "i" if whole else "f"
    }


@given(seeds, st.sets(st.sampled_from(list(KINDS)), min_size=1))
def test_shares_are_the_sum_of_rows_that_weigh_so_much_in_each_class(seed, names):
    """Whichever columns there are; no range is known of shares, since nobody forgets a part of a row."""
    X, y = rows(seed)
    w = np.random.default_rng(seed).dirichlet(np.ones(3), len(y))
    kinds = {name: kind for name, kind in KINDS.items() if name in names}
    roles = tuple(role for name, role in zip(KINDS, ROLES) if name in names)
    frame = open_frame({name: X[name] for name in kinds})
    values = {name: tuple("abc") for name in names & {"word"}}
    found, _ = collect(frame, schema(kinds, **values), roles, y, w)
    apart = [collect(frame, schema(kinds, **values), roles, np.full_like(y, k), w[:, k].copy())[0] for k in range(3)]
    for part in ("rows", "cells.table", "moments.n", "moments.mean", "moments.m2"):
        got, *each = (operator.attrgetter(part)(s) for s in (found, *apart))
        axis = 0 if part == "rows" or part.startswith("moments") else 1
        assert got == pytest.approx(np.stack([e.take(k, axis) for k, e in enumerate(each)], axis)), part
    assert found.moments.span is None


@given(seeds, st.booleans(), st.booleans())
def test_sparse_tables_are_counted_as_dense_ones(seed, weighted, explicit):
    rng = np.random.default_rng(seed)
    n = 30
    bits, times = rng.integers(0, 2, (n, 2)), rng.poisson(1, (n, 2))
    both = np.hstack([bits, times]).astype(float)
    table = sparse.csr_array(both)
    if explicit:  # a zero that is stored is a zero
        table.data[0] = 0.0
        both = table.toarray()
    y, w = rng.integers(0, 2, n).astype(np.uint8), rng.random(n) if weighted else None
    kinds = {"b0": "binary", "b1": "binary", "t0": "count", "t1": "count"}
    roles = ("cells", "cells", "events", "events")
    found, _ = collect(open_frame(table), schema(kinds, (0, 1)), roles, y, w)
    weight = np.ones(n) if w is None else w
    for j in (0, 1):
        for v in (0, 1):
            want = [weight[(both[:, j] == v) & (y == k)].sum() for k in (0, 1)]
            assert found.cells.table[2 * j + v] == pytest.approx(want, abs=1e-12)
    assert found.cells.offsets.tolist() == [0, 2, 4]
    assert found.words.table == pytest.approx(
        np.array([[weight[y == k] @ both[y == k, j] for k in (0, 1)] for j in (2, 3)])
    )
    assert found.words.offsets.tolist() == [0, 2]
    assert [c.values for c in found.schema.columns[:2]] == [(0, 1)] * 2
    assert found.cells.table.dtype.kind == ("f" if weighted else "i")
    told = with_values_of(open_frame(table), schema(kinds, (0, 1)), roles)
    assert [c.values for c in told.columns[:2]] == [(0, 1)] * 2


@pytest.mark.parametrize(
    ("cells", "said"),
    [([0, 2, 1], "row 1, column .*binary cell is 0 or 1. Got 2"), ([1, 0, -1], "row 2, column .*Got -1")],
)
def test_bits_that_are_none_have_a_place(cells, said):
    table = sparse.csr_array(np.array(cells, dtype=float)[:, None])
    with pytest.raises(BadValue, match=said):
        collect(open_frame(table), schema({"x0": "binary"}, (0,)), ("cells",), np.zeros(3, np.uint8))


def test_a_stored_zero_is_a_bit():
    table = sparse.csr_array(([0.0, 1.0, 3.0, 5.0], ([0, 1, 2, 2], [0, 1, 0, 1])), shape=(3, 2))
    with pytest.raises(BadValue, match=r"row 2, column 'x0': a binary cell is 0 or 1\. Got 3\.0 instead"):
        refuse_no_bits(table, ["x0", "x1"])
    table.data[2:] = 0.0, 1.0
    refuse_no_bits(table, ["x0", "x1"])
    refuse_no_bits(table.astype(bool), ["x0", "x1"])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("bad", [-1.0, np.inf, -0.5])
def test_counts_that_are_none_have_a_place(form, bad):
    X = np.ones((4, 2))
    X[2, 1] = bad
    names = open_frame(form(X)).name(1)
    with pytest.raises(BadValue, match=f"row 2, column '{names}': a count must be finite and not negative. Got {bad}"):
        collect(
            open_frame(form(X)), schema({"x0": "count", "x1": "count"}, (0,)), ("events",) * 2, np.zeros(4, np.uint8)
        )


def test_counts_are_whole_as_long_as_floats_are():
    y, kinds = np.zeros(2, np.uint8), {"x0": "count"}
    whole, _ = collect(open_frame(np.array([[EXACT / 2], [EXACT / 2]])), schema(kinds, (0,)), ("events",), y)
    assert whole.words.table.tolist() == [[EXACT]]
    assert whole.words.table.dtype.kind == "i"
    half, _ = collect(open_frame(np.array([[0.5], [2.0]])), schema(kinds, (0,)), ("events",), y)
    assert half.words.table.tolist() == [[2.5]]
    with pytest.raises(CountOverflow, match="more than can be added exactly"):
        collect(open_frame(np.array([[EXACT], [2.0]])), schema(kinds, (0,)), ("events",), y)
    big, _ = collect(open_frame(np.array([[EXACT], [2.0]])), schema(kinds, (0,)), ("events",), y, np.ones(2))
    assert big.words.table[0, 0] == EXACT + 2
    with pytest.raises(CountOverflow):
        collect(open_frame(np.array([[1e308], [1e308]])), schema(kinds, (0,)), ("events",), y, np.ones(2))


@pytest.mark.parametrize("role", ["moments", "histogram", "numbers"])
def test_infinity_and_numbers_too_far_apart_have_a_place(role):
    y = np.zeros(3, np.uint8)
    X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, -np.inf]])
    with pytest.raises(BadValue, match=r"row 2, column 'x1': Input contains infinity \(-inf\)"):
        collect(open_frame(X), schema({"x0": "numeric", "x1": "numeric"}, (0,)), (role,) * 2, y)
    X[2, 1] = 1e200
    if role == "moments":
        with pytest.raises(BadValue, match="column 'x1'"):
            collect(open_frame(X), schema({"x0": "numeric", "x1": "numeric"}, (0,)), (role,) * 2, y)


def test_counts_read_as_numbers_are_counts_still():
    with pytest.raises(BadValue, match="row 1, column 'x1': a count must be"):
        collect(
            open_frame(np.array([[-1.0, 2.0], [3.0, -4.0]])), schema({"x0": "numeric", "x1": "count"}, (0,)),
            ("moments", "moments"), np.zeros(2, np.uint8),
        )  # fmt: skip


def test_columns_of_very_many_values_are_refused_with_the_widest(monkeypatch):
    import posteriori.budget as budget

    monkeypatch.setattr(budget, "available", lambda: 2.0**20, raising=False)
    n = 3000
    X = {"few": ["a", "b"] * (n // 2), "many": [str(i) for i in range(n)]}
    y = (np.arange(n) % 600).astype(np.uint16)
    try:
        collect(open_frame(X), schema({"few": "categorical", "many": "categorical"}, range(600)), ("cells",) * 2, y)
    except MemoryBudgetError as error:
        assert "column 'many' alone has 3000 values" in str(error)  # noqa: PT017 only machines with little memory


@given(seeds)
def test_codes_are_counted_again(seed):
    X, y = rows(seed)
    X = {"word": X["word"], "more": np.random.default_rng(seed).choice(["p", "q"], len(y))}
    names = schema({"word": "categorical", "more": "categorical"}, word=["never"])
    table, found = collect_coded(open_frame(X), names, (), y, None, True, 1, None)
    assert found == collect(open_frame(X), names, ("cells",) * 2, y)[0] or found.joints
    counts, by_class = count_coded(table, y, 3, None)
    assert counts == found.cells
    assert by_class.tolist() == np.bincount(y).tolist() == found.rows.tolist()
    a, b = found.schema["word"].values, found.schema["more"].values
    pairs = found.joints[0].part_of((0, 1), (len(a), len(b)))[1].reshape(len(a), len(b), 3)
    for i, u in enumerate(a):
        for j, v in enumerate(b):
            both = (X["word"] == u) & (X["more"] == v)
            assert pairs[i, j].tolist() == [int((both & (y == k)).sum()) for k in range(3)]
    told = with_values_of(open_frame(X), names, ("cells",) * 2)
    assert told["word"].declared == set(a)
    assert told["more"].declared == {"p", "q"}


def test_values_of_texts_are_declared():
    told = with_values_of(open_frame({"said": ["xx yy", "zz"]}), schema({"said": "text"}), ("words",))
    assert told["said"].declared == {"xx", "yy", "zz"}


@pytest.mark.parametrize("kinds", [("categorical", "numeric"), ("categorical",), ("numeric",), ("numeric", "count")])
def test_columns_have_the_values_of_their_codes(kinds):
    cells = {"categorical": ["b", None, "a", "b"], "numeric": [1.0, 2.0, np.nan, 4.0], "count": [0, 0, 3, 7]}
    frame = open_frame({kind: cells[kind] for kind in kinds})
    cuts = tuple({"categorical": None, "numeric": np.array([1.5, 3.0, 9.0]), "count": np.empty(0)}[k] for k in kinds)
    wanted = {"categorical": ("a", "b"), "numeric": (0, 1, 2, 3), "count": (0,)}
    plain = schema({k: k for k in kinds})
    for column in with_values_of_codes(local_codes(frame, cuts, None), with_bins(plain, cuts)).columns:
        assert (column.values, column.declared) == (wanted[column.kind], frozenset(wanted[column.kind]))
    if "numeric" not in kinds:
        return
    by_value = with_values_of_codes(local_codes(frame, (), None), plain).columns[kinds.index("numeric")]
    assert by_value.values == (1.0, 2.0, 4.0)  # not cut: each number is a value


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_does_not_depend_on_the_rows_hashed_at_once(monkeypatch, weighted):
    import posteriori as po
    from posteriori.statistics import collect as module

    rng = np.random.default_rng(0)
    X = {"x": rng.normal(size=90).round(1), "w": rng.choice(["a", "b", "c"], 90), "z": rng.normal(size=90)}
    y, weights = rng.integers(0, 3, 90), rng.integers(0, 3, 90).astype(float) if weighted else None
    whole = po.NaiveBayes().fit(X, y, weights).statistics_
    monkeypatch.setattr(module, "ROWS", 7)
    parts = po.NaiveBayes().fit(X, y, weights).statistics_
    assert whole.sample is not None
    assert whole == parts
    assert whole.sample == parts.sample


@given(seeds)
def test_shares_of_coded_rows_are_summed_by_class(seed):
    X, y = rows(seed)
    X = {"word": X["word"], "more": np.random.default_rng(seed).choice(["p", "q"], len(y))}
    w = np.random.default_rng(seed).dirichlet(np.ones(3), len(y))
    names = schema({"word": "categorical", "more": "categorical"})
    table, found = collect_codes(local_codes(open_frame(X), (), 1), names, y, w, 1)
    assert found.rows == pytest.approx(w.sum(axis=0))  # of rows whose first cell is missing too
    for scope, name in enumerate(X):
        for value, got in zip(found.schema[name].values, found.cells.scope(scope), strict=True):
            assert got == pytest.approx(w[X[name] == value].sum(axis=0))
    assert found.roles == ("cells", "cells")
    assert table.n_missing == sum(v is None for v in X["word"])
    assert (found.moments.n.shape, found.words.table.shape, found.histograms) == ((3, 0), (0, 3), ())


@pytest.mark.parametrize("role", ["moments", "histogram", "numbers", "events"])
def test_only_cells_that_are_missing_are_told(role):
    kind = "count" if role == "events" else "numeric"
    for cells, missing in (([1.0, 2.0], 0), ([1.0, np.nan], 1)):
        frame = open_frame(np.array(cells)[:, None])
        _, seen = collect(frame, schema({"x0": kind}), (role,), np.zeros(2, np.uint8))
        assert seen.missing == missing
    cuts = (np.array([1.5]),)
    assert local_codes(open_frame(np.array([[1.0], [2.0]])), cuts, 1).n_missing == 0
    assert local_codes(open_frame(np.array([[1.0], [np.nan]])), cuts, 1).n_missing == 1


def test_values_beyond_all_memory_are_refused_with_the_widest_column():
    frame = open_frame({"few": ["a"], "many": ["b"], "more": ["c"]})
    coded = Coded((["a"], range(10**12), range(10**3)), [np.zeros(1, np.uint8)] * 3, 0)
    cells = 2 + (10**12 + 1) + (10**3 + 1)  # one more of each for a missing cell
    with pytest.raises(MemoryBudgetError) as error:
        _refuse_wide(frame, coded, [0, 1, 2], 600)
    assert f"counting {cells} values for 600 classes would take {human(2 * cells * 600 * 8)}" in str(error.value)
    assert "column 'many' alone has 1000000000000 values: leave it out" in str(error.value)


@pytest.mark.parametrize("shares", [False, True])
def test_events_are_summed_by_class_and_missing_ones_are_none(shares):
    X, y = np.array([[1.0, 2.0], [np.nan, 4.0], [3.0, 0.0], [5.0, 1.0]]), np.array([0, 1, 1, 2], np.uint8)
    w = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5], [0.0, 0.0, 1.0]]) if shares else np.eye(3)[y]
    columns = schema({"x0": "count", "x1": "count"})
    found, seen = collect(open_frame(X), columns, ("events",) * 2, y, w if shares else None)
    assert found.words.table.tolist() == (np.nan_to_num(X).T @ w).tolist()
    assert found.words.table.dtype.kind == "f"  # NaN is no whole number
    assert seen.missing == 1


def test_bits_that_all_rows_of_a_class_have_leave_no_zeros():
    table = sparse.csr_array(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))
    y = np.array([0, 0, 1], np.uint8)
    for w in (None, np.array([0.1, 0.2, 0.7])):
        found, _ = collect(open_frame(table), schema({"b0": "binary", "b1": "binary"}, (0, 1)), ("cells",) * 2, y, w)
        mass = np.ones(3) if w is None else w
        wanted = [[0, mass[2]], [mass[0] + mass[1], 0], [mass[0], 0], [mass[1], mass[2]]]
        assert found.cells.table.tolist() == pytest.approx(np.array(wanted))
        assert (found.cells.table >= 0).all()
