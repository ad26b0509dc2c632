"""Cuts against the textbook's recursion, written out row by row."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import BadValue, ModelError, StatisticsError
from posteriori.statistics.cuts import (
    CodedTable,
    bin_codes,
    check_same_cuts,
    code_known,
    column_numbers,
    cut_greedily,
    find_cuts,
    from_bins,
    greedy_cuts,
    learn_cuts,
    local_codes,
    mdl_cuts,
    quantile_cuts,
    same_cuts,
    translated,
    value_cuts,
    width_cuts,
    with_bins,
)
from posteriori.statistics.histogram import Histogram
from posteriori.table.encode import Coded
from posteriori.table.frame import open_frame
from posteriori.table.schema import Column, Schema


def entropy(labels):
    n = len(labels)
    return -sum(labels.count(c) / n * math.log2(labels.count(c) / n) for c in set(labels))


def fayyad_irani(rows):
    """The recursion of the paper on (value, label) rows, in rising order."""
    rows = sorted(rows)
    n, labels = len(rows), [c for _, c in rows]
    best = None
    for i in range(1, n):
        if rows[i - 1][0] == rows[i][0]:
            continue
        e = i / n * entropy(labels[:i]) + (n - i) / n * entropy(labels[i:])
        if best is None or e < best[0] - 1e-10:
            best = (e, i)
    if best is None:
        return []
    e, i = best
    k, k1, k2 = (len(set(part)) for part in (labels, labels[:i], labels[i:]))
    delta = math.log2(3**k - 2) - (k * entropy(labels) - k1 * entropy(labels[:i]) - k2 * entropy(labels[i:]))
    if entropy(labels) - e <= (math.log2(n - 1) + delta) / n:
        return []
    cut = (rows[i - 1][0] + rows[i][0]) / 2
    return [*fayyad_irani(rows[:i]), cut, *fayyad_irani(rows[i:])]


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), max_size=40),
    st.integers(1, 6),
)
def test_mdl_is_the_papers_recursion(rows, times):
    rows = [(float(v), c) for v, c in rows] * times
    x, y = (np.array([r[k] for r in rows]) for k in (0, 1))
    found = mdl_cuts(Histogram.of(x, y.astype(np.uint8), 3))
    assert found.tolist() == pytest.approx(fayyad_irani(rows))


def test_noise_gets_no_cut_and_structure_gets_its_own():
    rng = np.random.default_rng(1)
    x = rng.normal(size=5000)
    assert len(mdl_cuts(Histogram.of(x, rng.integers(0, 2, 5000).astype(np.uint8), 2))) == 0
    y = (np.abs(x) > 1).astype(np.uint8)
    assert mdl_cuts(Histogram.of(x, y, 2)) == pytest.approx([-1, 1], abs=0.01)


@pytest.mark.parametrize("n_classes", [2, 700])
def test_many_classes_do_not_overflow(n_classes):
    x = np.arange(7000) % n_classes
    cuts = mdl_cuts(Histogram.of(x.astype(float), x.astype(np.uint16), n_classes))
    assert np.isfinite(cuts).all()


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.integers(1, 8))
def test_quantile_bins_hold_the_share_they_should(values, bins):
    x = np.array(values)
    cuts = quantile_cuts(Histogram.of(x, np.zeros(len(x), np.uint8), 1), bins)
    assert (np.diff(cuts) > 0).all()
    assert len(cuts) < bins
    if len(set(values)) == len(values):
        assert np.bincount(bin_codes(x, cuts)).max() <= math.ceil(len(x) / bins) + 1


def test_width_bins_are_equally_wide():
    h = Histogram.of([0.0, 1.0, 10.0], [0, 0, 0], 1)
    assert width_cuts(h, 5) == pytest.approx([2, 4, 6, 8])
    assert width_cuts(Histogram.of([3.0, 3.0], [0, 0], 1), 5).size == 0


def test_weights_are_rows():
    x, y = np.repeat([1.0, 2.0, 3.0, 4.0], 5), np.repeat([0, 0, 1, 1], 5).astype(np.uint8)
    weighted = Histogram.of(x[::5], y[::5], 2, weights=np.full(4, 5.0))
    for method in ("mdl", "quantile", "width"):
        assert find_cuts(weighted, method, 3).tolist() == find_cuts(Histogram.of(x, y, 2), method, 3).tolist()


@pytest.mark.parametrize("n_cuts", [0, 1, 16, 17, 300])
def test_codes_count_the_cuts_at_or_below(n_cuts):
    rng = np.random.default_rng(2)
    cuts = np.sort(rng.normal(size=n_cuts))
    x = np.concatenate([rng.normal(size=50), cuts, [np.nan, np.inf, -np.inf]])
    expected = [n_cuts + 1 if np.isnan(v) else int((cuts <= v).sum()) for v in x]
    assert bin_codes(x, cuts).tolist() == expected


def test_coarse_cells_are_cut_at_their_edges(monkeypatch):
    monkeypatch.setattr("posteriori.statistics.histogram.LIMIT", 64)
    rng = np.random.default_rng(3)
    x = rng.normal(size=3000)
    y = (x > 0.3).astype(np.uint8)
    h = Histogram.of(x, y, 2)
    cuts = mdl_cuts(h)
    assert not h.exact
    assert set(cuts) <= set(h.values)
    codes = bin_codes(x, cuts)
    by_cell = bin_codes(h.values, cuts)
    for b in range(len(cuts) + 1):
        assert (codes == b).sum() == h.table[by_cell == b].sum()


def test_empty_column_and_bad_methods():
    assert find_cuts(Histogram.zero(2)).size == 0
    with pytest.raises(ModelError, match="did you mean 'quantile'"):
        find_cuts(Histogram.zero(2), "quantil")
    with pytest.raises(ModelError, match="at least 1"):
        quantile_cuts(Histogram.zero(2), 0)


@pytest.mark.parametrize(("missing", "unseen"), [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1)])
def test_a_table_is_whole_when_no_cell_is_missing_or_unseen(missing, unseen):
    table = CodedTable(np.zeros((3, 2), np.uint8), (2, 2), missing, unseen)
    assert table.whole == (missing == unseen == 0)


@pytest.mark.parametrize("cuts", [quantile_cuts, width_cuts])
def test_there_is_at_least_one_bin(cuts):
    found = Histogram.of(np.arange(5.0), np.zeros(5, np.uint8), 1)
    assert cuts(found, 1).tolist() == []
    for bins in (0, -1):
        with pytest.raises(ModelError, match=f"bins must be at least 1, got {bins}"):
            cuts(found, bins)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6, unique=True).map(sorted), st.integers(0, 99))
def test_a_number_that_is_drawn_lies_in_its_bin(cut, seed):
    cut = np.array(cut)
    codes = np.random.default_rng(seed).integers(0, len(cut) + 1, 50)
    drawn = from_bins(codes, cut, np.random.default_rng(seed))
    width = np.diff(cut).mean() if len(cut) > 1 else max(abs(cut[0]), 1.0)
    edges = np.concatenate([[cut[0] - width], cut, [cut[-1] + width]])  # the outer bins are as wide as the usual one
    assert (edges[codes] <= drawn).all()
    assert (drawn <= edges[codes + 1]).all()
    inner = drawn[(codes > 0) & (codes < len(cut))]
    assert (inner >= cut[0]).all()
    assert (inner <= cut[-1]).all()


def test_draws_fill_their_bin():
    drawn = from_bins(np.full(4000, 1), np.array([2.0, 6.0]), np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(4, abs=0.1)
    assert np.ptp(drawn) > 3.9
    assert from_bins(np.zeros(3, int), np.zeros(0), np.random.default_rng(0)).tolist() == [0, 0, 0]


@given(st.lists(st.floats(-1e150, 1e150), min_size=1, max_size=20))
def test_a_cut_lies_between_any_two_values(x):
    histogram = Histogram.of(x, np.zeros(len(x), int), 1)
    codes = bin_codes(np.array(x), value_cuts(histogram))
    assert codes.tolist() == np.unique(x, return_inverse=True)[1].tolist()


@pytest.mark.parametrize("count", [0, 1, 16, 17, 127, 128, 254, 255, 256, 300])
def test_the_bin_is_the_number_of_cuts_below(count):
    rng = np.random.default_rng(count)
    cuts = np.unique(rng.normal(size=count))
    x = np.concatenate([cuts, rng.normal(size=101), [np.nan, -np.inf, np.inf, 0.0, -0.0]])
    wanted = np.where(np.isnan(x), count + 1, np.searchsorted(cuts, x, side="right"))
    codes = bin_codes(x, cuts)
    assert codes.tolist() == wanted.tolist()
    assert codes.dtype == np.min_scalar_type(count + 1)
    assert bin_codes(x[::3], cuts).tolist() == wanted[::3].tolist()


def test_a_cut_lies_half_way_however_far_its_neighbours_are():
    far = 1.5e308
    assert greedy_cuts(np.array([-far, 0.0, far])).tolist() == [-far / 2, far / 2]
    assert greedy_cuts(np.array([-far, far])).tolist() == [0.0]
    assert greedy_cuts(np.array([1.0, np.nextafter(1.0, 2.0)])).tolist() == [np.nextafter(1.0, 2.0)]
    assert greedy_cuts(np.array([1.0, 1.0])).tolist() == []


@pytest.mark.parametrize("dtype", [float, np.float32, np.int16, np.uint8, bool, object])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_column_of_numbers_is_that_of_the_table(dtype, order):
    X = np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype, order=order)
    for j in range(3):
        x = column_numbers(open_frame(X), j)
        assert x.dtype == np.float64
        assert x.tolist() == [float(v) for v in X[:, j]]


def test_an_infinite_number_is_named():
    for cell in (np.inf, -np.inf):
        with pytest.raises(BadValue, match="row 1, column 'x1'"):
            column_numbers(open_frame(np.array([[0.0, np.nan], [1.0, cell]])), 1)
    far = np.array([[1e200, np.nan], [-1.5e308, 1.0]])  # whose squares are no floats
    assert np.array_equal(column_numbers(open_frame(far), 0), far[:, 0])


@given(st.integers(0, 99), st.sampled_from([("numeric",), ("categorical",), ("count", "categorical", "numeric")]))
def test_columns_cut_and_coded_at_once(seed, kinds):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    x = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n).round(1))
    cells = {"numeric": x, "categorical": rng.choice(list("abc"), n), "count": rng.poisson(2, n)}
    frame = open_frame({k: cells[k] for k in kinds})
    schema = Schema(tuple(Column(k, k) for k in kinds))
    weights = None if seed % 2 else rng.random(n) + 0.1
    cuts, coded = cut_greedily(frame, schema, weights, 8, None)
    again = local_codes(frame, cuts, None)
    assert (coded.values, coded.n_missing) == (again.values, again.n_missing)
    for j, kind in enumerate(kinds):
        assert np.array_equal(coded.column(j), again.column(j))
        if kind == "categorical":
            assert cuts[j] is None
        else:
            assert np.array_equal(cuts[j], greedy_cuts(np.asarray(cells[kind], dtype=float), weights, 8))


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ([1.0, 2.5], [1.0], r"2 cuts \[1.0, 2.5\] and 1 cuts \[1.0\]"),
        ([1.0], None, r"1 cuts \[1.0\] and no cuts"),
        (np.arange(9.0), [0.12345], r"9 cuts \[0.0, 1.0, 2.0\] and 1 cuts \[0.1234\]|\[0.1235\]"),
    ],
)
def test_cuts_that_differ_are_shown(a, b, said):
    a, b = (None if cut is None else np.asarray(cut) for cut in (a, b))
    with pytest.raises(StatisticsError, match=f"column 'age' was cut in different places.*{said}"):
        check_same_cuts((a,), (b,), ["age"])
    check_same_cuts((a, b), (a, b), ["age", "size"])


@pytest.mark.parametrize("n_cuts", [0, 1, 16, 17, 255, 65_534, 65_535])
@pytest.mark.parametrize("shape", [(-1,), (2, -1)])
def test_codes_count_the_cuts_that_a_number_reaches(n_cuts, shape):
    cuts = np.arange(n_cuts) * 0.5
    x = np.array([-1.0, 0.0, 0.25, 7.5, 7.75, 1e9, n_cuts / 2, np.nan])
    expected = np.array([n_cuts + 1 if np.isnan(v) else (cuts <= v).sum() for v in x])
    found = bin_codes(x.reshape(shape), cuts)
    assert (found == expected.reshape(shape)).all()
    assert found.dtype.kind == "u"


def test_codes_that_agree_with_the_schema_are_the_codes_themselves():
    """Where both begin alike; one of more values, if no cell is missing, whose code is the number of values."""
    codes = [np.array([0, 1, 1], np.uint8)]

    def found(known: tuple[str, ...], missing: int) -> CodedTable:
        return translated(Coded((["a", "b"],), codes, missing), Schema((Column("x", "categorical", known),)))

    for known, missing in ((("a", "b"), 0), (("a", "b"), 1), (("a", "b", "c"), 0)):
        table = found(known, missing)
        assert table.column(0) is codes[0]
        assert (table.sizes, table.n_missing, table.n_unseen) == ((len(known),), missing, 0)
    for known, missing, wanted, unseen in (
        (("a", "b", "c"), 1, [0, 1, 1], 0), (("b", "a"), 0, [1, 0, 0], 0), (("a",), 0, [0, 1, 1], 2), ((), 0, [0] * 3, 3),
    ):  # fmt: skip
        table = found(known, missing)
        assert table.column(0).tolist() == wanted
        assert (table.n_missing, table.n_unseen) == (missing, unseen)
    blank = translated(
        Coded((["a", "b"],), [np.array([2, 0], np.uint8)], 1), Schema((Column("x", "categorical", ("b", "c", "a")),))
    )
    assert blank.column(0).tolist() == [3, 2]


@pytest.mark.parametrize("form", ["matrix", "columns"])
@pytest.mark.parametrize("rows", [slice(None), slice(1, 3), np.array([3, 0])])
def test_cells_are_counted_on_through_the_columns(form, rows):
    codes, sizes = np.array([[0, 1, 2], [1, 3, 0], [2, 0, 4], [0, 2, 1]], np.uint8), (2, 3, 4)
    for there in (True, False):
        X = np.minimum(codes, np.array(sizes) - 1) if there else codes
        table = CodedTable(
            np.asarray(X) if form == "matrix" else [X[:, j].copy() for j in range(3)], sizes, 0 if there else 3
        )
        wanted = np.where(np.array(sizes) > X, X + np.array([0, 2, 5]), -1)[rows]
        assert table.cells(rows).tolist() == wanted.tolist()
        assert table.n == 4
        assert [c.tolist() for c in table.take(np.array([3, 1])).columns()] == X[[3, 1]].T.tolist()
        assert table.take(np.array([1])).n_missing == table.n_missing
    assert codes[0].tolist() == [0, 1, 2]  # nothing was written over


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(0, 30))
def test_heavy_values_have_bins_of_their_own_and_the_rest_is_even(seed, bins, n):
    """Values of 1/bins of all weight, or more, stand alone; the middles of the others' weights fall into equal parts."""
    rng = np.random.default_rng(seed)
    x, w = rng.integers(0, 12, n) / 2.0, rng.integers(1, 5, n) * 0.5
    x[rng.random(n) < 0.1] = np.nan
    x = np.where(rng.random(n) < 0.3, 0.0, x)
    values = np.unique(x[~np.isnan(x)])
    mass = [w[x == v].sum() for v in values]
    heavy = [m * bins >= sum(mass) for m in mass]
    room, light, below, place = max(1, bins - sum(heavy)), 0.0, 0.0, []
    light = sum(m for m, h in zip(mass, heavy) if not h)
    for m, h in zip(mass, heavy):
        own = 0.0 if h else m
        place.append(0 if not light else min(math.floor((below + own / 2) * (room / light)), room - 1))
        below += own
    wanted = [
        (a + b) / 2
        for k, (a, b) in enumerate(itertools.pairwise(values.tolist()))
        if len(values) <= bins or heavy[k] or heavy[k + 1] or place[k] != place[k + 1]
    ]
    assert greedy_cuts(x, w, bins).tolist() == wanted
    assert greedy_cuts(x, None, bins).tolist() == greedy_cuts(x, np.ones(n), bins).tolist()


def test_bins_are_declared_where_columns_are_cut():
    plain = Schema((Column("a", "numeric"), Column("b", "categorical", ("u",)), Column("c", "count")))
    assert with_bins(plain, (None, None, None)) is plain
    cut = with_bins(plain, (np.array([1.0, 2.0]), None, np.empty(0)))
    assert [c.values for c in cut.columns] == [(0, 1, 2), ("u",), (0,)]
    assert [c.declared for c in cut.columns] == [{0, 1, 2}, frozenset(), {0}]
    assert [c.kind for c in cut.columns] == ["numeric", "categorical", "count"]


def test_local_codes_of_some_columns_stand_in_their_order():
    frame = open_frame({"a": [1.0, np.nan, 3.0], "b": ["u", "v", None], "c": [5, 6, 7]})
    cuts = (np.array([2.0]), None, np.array([5.5, 6.5]))
    for where in (None, [2, 1], [1], [0, 2]):
        found = local_codes(frame, cuts, 1, where)
        told = {0: (range(2), [0, 2, 1]), 1: (["u", "v"], [0, 1, 2]), 2: (range(3), [0, 1, 2])}
        for k, j in enumerate(range(3) if where is None else where):
            assert list(found.values[k]) == list(told[j][0])
            assert found.column(k).tolist() == told[j][1]
        assert found.n_missing == sum(j in (0, 1) for j in (range(3) if where is None else where))


def test_cuts_are_the_same_where_every_column_is_cut_alike():
    one, other = np.array([1.0]), np.array([1.0, 2.0])
    assert same_cuts((), ())
    assert same_cuts((one, None), (one.copy(), None))
    for a, b in (((one,), (other,)), ((one,), (None,)), ((None,), (one,)), ((one,), ()), ((one, None), (one, other))):
        assert not same_cuts(a, b)


def test_numbers_of_the_outer_bins_are_as_wide_as_the_others():
    class Half:
        def random(self, n: int) -> np.ndarray:
            return np.full(n, 0.5)

    assert from_bins(np.array([0, 1, 2, 3]), np.array([1.0, 2.0, 5.0]), Half()).tolist() == [0.0, 1.5, 3.5, 6.0]
    assert from_bins(np.array([0, 1]), np.array([-4.0]), Half()).tolist() == [-6.0, -2.0]
    assert from_bins(np.array([0, 1]), np.array([0.5]), Half()).tolist() == [0.0, 1.0]


def test_a_value_that_weighs_next_to_nothing_has_no_bin_beyond_the_last():
    assert greedy_cuts(np.arange(10.0), np.array([1.0] * 9 + [1e-30]), 5).max() < 8


def test_where_nothing_weighs_every_value_stands_alone():
    assert greedy_cuts(np.arange(10.0), np.zeros(10), 5).tolist() == [k + 0.5 for k in range(9)]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(1, 7), st.booleans())
def test_quantiles_and_widths_by_their_definitions(x, bins, weighted):
    x = np.array(x) / 4.0
    w = np.random.default_rng(len(x)).integers(1, 5, len(x)) * 0.5 if weighted else np.ones(len(x))
    h = Histogram.of(x, np.zeros(len(x), np.uint8), 1, w if weighted else None)
    values = sorted(set(x.tolist()))
    ends = set()
    for k in range(1, bins):  # the value with which so large a share is first reached
        last = next(i for i, v in enumerate(values) if w[x <= v].sum() * bins >= k * w.sum() * (1 - 1e-9))
        if last + 1 < len(values):
            ends.add((values[last] + values[last + 1]) / 2)
    assert quantile_cuts(h, bins).tolist() == sorted(ends)
    even = [values[0] + (values[-1] - values[0]) * k / bins for k in range(1, bins)]
    assert width_cuts(h, bins).tolist() == pytest.approx(even if len(values) > 1 else [])


@pytest.mark.parametrize("method", ["mdl", "quantile", "width"])
def test_each_measured_column_is_cut_by_its_own_cells(method):
    rng = np.random.default_rng(0)
    y = (np.arange(60) % 3).astype(np.uint8)
    X = {"a": rng.normal(size=60) + y, "b": rng.choice(list("uv"), 60), "c": rng.poisson(2, 60) * y}
    schema = Schema(tuple(Column(n, k) for n, k in zip(X, ("numeric", "categorical", "count"))), (0, 1, 2))
    for w in (None, rng.random(60)):
        found = learn_cuts(open_frame(X), schema, y, w, method, 4)
        assert found[1] is None
        for j, name in ((0, "a"), (2, "c")):
            wanted = find_cuts(Histogram.of(X[name], y, 3, w), method, 4)
            assert found[j].tolist() == wanted.tolist()
            assert len(wanted)
    table = code_known(open_frame(X), with_bins(schema, found), found, 1)
    assert table.column(2).tolist() == bin_codes(X["c"].astype(float), found[2]).tolist()
    assert (table.sizes[1], table.n_unseen) == (0, 60)  # no value is known


def test_coarse_cells_are_cut_between_their_edges():
    fine = Histogram.of(np.arange(1.0, 9.0), np.zeros(8, np.uint8), 1)
    coarse = fine.coarser(4)
    assert value_cuts(coarse).tolist() == coarse.values[1:].tolist()
    assert value_cuts(fine).tolist() == [k + 0.5 for k in range(1, 8)]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.int64, np.float32])
def test_greedy_cuts_of_any_numbers_with_and_without_weights(dtype):
    x = np.array([1, 0, 1, 0, 1]).astype(dtype) * dtype(1)
    assert greedy_cuts(x).tolist() == greedy_cuts(x, np.array([1.0, 2.0, 0.5, 1.0, 3.0])).tolist() == [0.5]
    if dtype == np.int64:  # whose difference is no int64
        ends = np.array([-(2**62), 2**62]) * 2 - 1
        assert greedy_cuts(ends, np.ones(2)).tolist() == greedy_cuts(ends).tolist()
