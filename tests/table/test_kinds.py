"""Which kind a column has, at the borders of the rules."""

from __future__ import annotations

import decimal
import re
import warnings

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadType, TableError, UnknownColumn
from posteriori.table.frame import open_frame
from posteriori.table.kinds import (
    WORDY,
    _clear_numbers,
    _decide_numbers,
    _different,
    _is_text,
    infer,
    infer_frame,
    kind_of,
    resolve_kinds,
)


@pytest.mark.parametrize(("words", "text"), [(WORDY - 1, False), (WORDY, True), (WORDY + 1, True)])
def test_strings_of_so_many_words_are_text(words, text):
    cells = [" ".join([f"w{i}"] * int(words)) for i in range(10)]
    assert _is_text(cells, 10) is text
    assert _is_text(cells, 20) is False  # each twice: categories
    assert _is_text(cells, 19) is text


@given(st.integers(0, 500), st.sampled_from([np.int8, np.uint8, np.int64, np.uint64]), st.integers(1, 20))
def test_different_whole_numbers_are_counted(seed, kind, n):
    rng = np.random.default_rng(seed)
    near = rng.integers(0, rng.integers(1, 6 * n, 4)[:, None], (4, n)).clip(0, 120)
    limits = np.iinfo(kind)
    far = rng.choice(np.array([limits.min, limits.min + 1, 0, limits.max], dtype=kind), (2, n))
    x = np.concatenate([near.astype(kind), far])
    assert _different(x).tolist() == [len(set(row.tolist())) for row in x]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (np.arange(60) // 2, "numeric"),
        (np.arange(60) % 3, "categorical"),
        (np.arange(60) // 2 / 1.0, "numeric"),
        (np.where(np.arange(60) % 2, 0.5, 1.5), "numeric"),  # two values, but not whole
        (np.where(np.arange(60) % 2, np.nan, np.arange(60) % 3), "categorical"),
    ],
)
def test_kinds_of_numbers(cells, kind):
    assert infer({"a": cells, "b": cells[::-1]}).kinds == (kind, kind)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]), st.integers(1, 60))
def test_different_whole_numbers_are_told_apart_wherever_they_lie(seed, dtype, n):
    """At the ends of a type, where differences wrap, and beyond 2⁵³, where floats would round them."""
    rng = np.random.default_rng(seed)
    ends = np.iinfo(dtype)
    starts = [ends.min, 0, max(ends.max - 7 * n, ends.min), min(2**62, ends.max // 2)]
    x = np.array([[min(s + int(k), ends.max) for k in rng.integers(0, 7 * n, n)] for s in starts], dtype=dtype)
    x[:, 0] = x[::-1, -1]  # now and then from one end to the other
    assert _different(x).tolist() == [len(np.unique(row)) for row in x]


def decided(cells, told=None):
    """(kind, values, why) of one column, and what is warned."""
    with warnings.catch_warnings(record=True, action="always") as heard:
        schema = infer({"c": cells}, kinds=None if told is None else {"c": told})
    (column,), (note,) = schema.columns, schema.notes
    assert column.declared == frozenset(column.values)
    return column.kind, column.values, note, [str(w.message) for w in heard]


def several(values, times, more=0):
    return np.array([values[i % len(values)] for i in range(len(values) * times + more)])


@pytest.mark.parametrize(
    ("cells", "kind", "values", "why"),
    [
        (several(range(10), 10), "categorical", tuple(range(10)), "whole numbers, 10 values"),
        (several(range(10), 10)[:99], "numeric", (), "10 different numbers"),  # not each ten times
        (several(range(11), 10), "numeric", (), "11 different numbers"),
        (several([2.0, 3.0], 10), "categorical", (2.0, 3.0), "whole numbers, 2 values"),
        (several([2.0, 3.0, np.nan], 10), "categorical", (2.0, 3.0), "whole numbers, 2 values"),
        (several([2.0, np.inf], 10), "numeric", (), "2 different numbers"),
        (several([2.0, 3.5], 10), "numeric", (), "2 different numbers"),
        (several([0, 1], 1), "binary", (0, 1), "0 and 1"),
        (several([0.0, 1.0, np.nan], 1), "binary", (0.0, 1.0), "0 and 1"),
        (several([0], 10), "categorical", (0,), "whole numbers, 1 value"),
        (several([0], 9), "numeric", (), "1 different number"),
        (several([True, False], 3), "binary", (False, True), "booleans"),
        (several([True], 3), "binary", (False, True), "booleans"),
        (several(["b", "a"], 3), "categorical", ("a", "b"), "strings, 2 values"),
        (
            several(["01", "07"], 3),
            "categorical",
            ("01", "07"),
            "strings, 2 values, all digits: leading zeros keep them words",
        ),
        (
            several(["1" * 16, "7"], 3),
            "categorical",
            ("1" * 16, "7"),
            "strings, 2 values, all digits: as numbers some would be equal, so they are words",
        ),
        (several(["1" * 15], 3), "categorical", ("1" * 15,), "strings, 1 value, all digits: words in the file"),
        (several(["01", "x"], 3), "categorical", ("01", "x"), "strings, 2 values"),
        (np.array([f"one two three {i}" for i in range(6)]), "text", (), "free text, 6 different cells"),
        (
            np.array([f"one two {i}" for i in range(6)]),
            "categorical",
            tuple(f"one two {i}" for i in range(6)),
            "strings, 6 values",
        ),
    ],
)
def test_a_column_of_each_kind(cells, kind, values, why):
    found = decided(cells)
    assert found == (kind, values, f"c: {kind} ({why})", [])
    assert list(map(type, found[1])) == list(map(type, values))


@pytest.mark.parametrize(
    ("n", "different", "warned"), [(20, 20, True), (19, 19, False), (40, 38, True), (40, 37, False), (60, 57, True)]
)
@pytest.mark.parametrize("make", [str, int, float])
def test_a_value_for_nearly_every_row_is_warned_about(n, different, warned, make):
    cells = np.array([make(min(i, different - 1)) for i in range(n)])
    cells = np.array([f"w{c}" for c in cells]) if make is str else cells
    said = f"column 'c' has {different} different values in {n} rows and looks like an id: leave it out, it tells"
    assert [s.startswith(said) for s in decided(cells)[3]] == [True] * warned


@pytest.mark.parametrize(
    ("cell", "warned"),
    [
        ("${},500", True),
        ("-$ {}", True),
        ("{}%", True),
        ("{},50 €", True),
        ("A{}%", False),
        ("{}", False),
        ("$x{}", False),
    ],
)
def test_numbers_with_a_sign_of_money_or_per_cent_are_named(cell, warned):
    cells = [cell.format(i % 40 + 10) for i in range(400)]
    said = [s for s in decided(np.array(cells))[3] if "without the sign" in s]
    assert [s.startswith(f"column 'c' holds words like {cells[0]!r}") for s in said] == [True] * warned
    assert not any("without the sign" in s for s in decided(np.array(cells), "categorical")[3])


def test_measurements_are_no_ids():
    assert decided(np.arange(40) + 0.5)[3] == []
    assert decided(np.arange(40), "categorical")[3] == []


@pytest.mark.parametrize(
    ("cells", "told", "values"),
    [
        (["1", "2"], "numeric", ()), ([1, 2], "count", ()), ([2, 1, 2], "categorical", (1, 2)),
        ([True], "binary", (False, True)), ([1], "binary", (False, True)), ([3, 5], "binary", (3, 5)),
        (["a b", "c"], "text", ()),
    ],
)  # fmt: skip
def test_told_is_told(cells, told, values):
    kind, found, note, heard = decided(cells, told)
    assert (kind, found, note, heard) == (told, values, f"c: {told} (told)", [])


def test_columns_that_need_no_closer_look_are_those_that_have_one():
    """Numbers looked at together are as if each were looked at alone."""
    rng = np.random.default_rng(0)
    columns = {
        "a": rng.integers(0, 12, 130), "b": rng.integers(0, 9, 130), "c": rng.normal(size=130),
        "d": rng.integers(0, 9, 130) / 1.0, "e": np.where(rng.random(130) < 0.3, np.nan, rng.integers(0, 14, 130)),
        "f": np.full(130, np.nan), "g": np.resize([1.0, np.inf], 130), "h": rng.integers(0, 12, 130).astype(np.uint8),
        "i": np.resize([np.nan, 0.5], 130),
    }  # fmt: skip
    together = infer(columns)
    for name, cells in columns.items():
        distinct = len(np.unique(cells[cells == cells]))
        whole = bool((np.floor(cells[cells == cells]) == cells[cells == cells]).all()) and not np.isinf(cells).any()
        column, note = _decide_numbers(cells, name)
        assert together[name] == column
        assert note in together.notes
        clear = _clear_numbers(open_frame({name: cells}))
        rows = int((cells == cells).sum())
        assert clear == ({0: (distinct, rows, whole)} if distinct > 10 or not whole else {})
    assert _clear_numbers(open_frame({"x": np.zeros(0)})) == {}


def test_kinds_are_told_for_all_by_name_or_by_place():
    frame = open_frame(np.zeros((4, 3)))
    assert resolve_kinds(frame, "count") == ("count",) * 3
    assert resolve_kinds(frame, None) == ("numeric",) * 3
    assert resolve_kinds(frame, {1: "categorical", -1: "count"}) == ("numeric", "categorical", "count")
    assert resolve_kinds(frame, {"x2": "count"}) == ("numeric", "numeric", "count")
    for key, said in [(3, "names column 3, but the table has 3 columns"), (-4, "names column -4"),
                      ("y", "names no column 'y'"), (True, "names no column True")]:  # fmt: skip
        with pytest.raises(UnknownColumn, match=re.escape(said)):
            resolve_kinds(frame, {key: "count"})
    with pytest.raises(TableError, match=r"or a Schema. Got \['count'\] instead"):
        resolve_kinds(frame, ["count"])
    named = open_frame({"a": [1.5], "b": ["u"], "0": [True]})
    assert resolve_kinds(named, {"a": "count"}) == ("count", "categorical", "binary")
    assert resolve_kinds(named, {0: "categorical"}) == ("numeric", "categorical", "categorical")  # a column called so
    with pytest.raises(UnknownColumn, match=r"names no column 'bb'; did you mean 'b'[?] Columns: 'a', 'b', '0'"):
        resolve_kinds(named, {"bb": "count"})
    assert resolve_kinds(open_frame(np.zeros((2, 0))), None) == ()
    assert resolve_kinds(open_frame(np.array([["a", 1]], dtype=object)), None) == ("categorical", "numeric")
    for dtype, kind in [(bool, "binary"), (np.int32, "count"), (np.uint8, "count"), (np.float64, "numeric")]:
        sparse = open_frame(sp.csr_matrix(np.eye(2, 3, dtype=dtype)))
        assert resolve_kinds(sparse, None) == (kind,) * 3
        assert resolve_kinds(sparse, {1: "categorical"}) == (kind, "categorical", kind)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (np.array([1], np.uint8), "numeric"), (np.array([1.5]), "numeric"), (np.array([True]), "binary"),
        (np.array(["a"]), "categorical"), (np.array([b"a"]), "categorical"),
        (np.array([None, 1], dtype=object), "numeric"), (np.array(["a", None], dtype=object), "categorical"),
        (np.array([True, None], dtype=object), "binary"),
        (np.array([None], dtype=object), "categorical"),
        (pa.array([1]), "numeric"), (pa.array([1.5]), "numeric"), (pa.array([decimal.Decimal("1.5")]), "numeric"),
        (pa.array([True]), "binary"), (pa.array(["a"]), "categorical"), (pa.array(["a"], pa.large_string()), "categorical"),
        (pa.array(["a"], pa.string_view()), "categorical"), (pa.array([None]), "categorical"),
        (pa.array([b"a"]), "categorical"), (pa.array([b"a"], pa.large_binary()), "categorical"),
        (pa.array([b"a"], pa.binary_view()), "categorical"), (pa.array(["a"]).dictionary_encode(), "categorical"),
    ],
)  # fmt: skip
def test_what_a_type_alone_says(cells, kind):
    assert kind_of(cells, "c") == kind


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (np.array([1j]), "not complex128"), (pa.array([[1]]), "not list<"), (np.array([1, [2]], dtype=object), r"not [2]"),
    ],
)  # fmt: skip
def test_a_type_that_no_kind_has_is_named(cells, said):
    with pytest.raises(BadType, match=re.escape("column 'c': argument must be a string or a number, " + said)):
        kind_of(cells, "c")


def test_a_schema_of_dates_classes_and_sparse_columns():
    frame = open_frame({"when": np.array(["2020-01-01", "2020-01-02"], "M8[D]"), "x": ["u", "v"]})
    schema = infer_frame(frame, {"when"}, ["b", "a"])
    assert (schema.kinds, schema.classes) == (("numeric", "categorical"), ("a", "b"))
    assert schema.notes[0] == "when: numeric (dates, as days since 1970-01-01)"
    assert infer_frame(frame, {"when"}, None, {"when": "categorical"}).notes[0] == "when: categorical (told)"
    sparse = infer(sp.csr_matrix(np.array([[0, 5], [1, 0], [1, 7]])))
    assert sparse.kinds == ("binary", "numeric")
    assert infer({"x": ["u"]}).classes == ()


@pytest.mark.parametrize(
    ("codes", "others", "told", "said"),
    [
        ([1, 2, 3] * 5, ["a"] * 15, None, True),
        ([1.0, 2.0, np.nan] * 5, ["a"] * 15, None, True),
        ([1, 2, 3] * 5, [0.5] * 15, None, False),  # no words
        ([1.5, 2, 3] * 5, ["a"] * 15, None, False),
        (list(range(15)), ["a"] * 15, None, False),
        ([1, 2, 3] * 5, ["a"] * 15, {"x": "numeric"}, False),
        ([1, 2, 3] * 3, ["a"] * 9, None, False),
        ([1, 2, 3] * 400 + list(range(20)), ["a"] * 1220, None, False),  # first rows tell too little
    ],
)
def test_few_whole_numbers_beside_words_are_named_as_doubtful(codes, others, told, said):
    X, y = {"x": codes, "z": others}, np.arange(len(codes)) % 2
    with warnings.catch_warnings(record=True, action="always") as heard:
        po.NaiveBayes(kinds=told).fit(X, y)
    assert any("'x'" in str(w.message) and "whole numbers, beside words" in str(w.message) for w in heard) == said


def test_all_doubtful_columns_are_one_warning_with_both_ways_out():
    X = {"a": [1, 2, 3] * 5, "b": [1, 2, 3] * 5, "z": ["w"] * 15}
    with pytest.warns(UserWarning, match="columns 'a', 'b' have few .*'categorical'.*'numeric'") as said:
        po.NaiveBayes().fit(X, [0, 1, 1] * 5)
    assert len(said) == 1
