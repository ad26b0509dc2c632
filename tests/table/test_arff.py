"""ARFF: cells written in every way come back, a file that is none is refused at its line."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import FormatError
from posteriori.table.arff import read_arff

HEAD = [
    "% a comment",
    "",
    "@RELATION r",
    "@attribute a REAL",
    "@attribute 'b c' {x, 'y z', \"it's\"}",
    "@Attribute d string",
    "@DATA",
]


def quoted(word):
    return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"


@given(st.lists(st.tuples(st.one_of(st.none(), st.floats(-1e6, 1e6)), st.sampled_from([None, "x", "y z", "it's"]),
                          st.one_of(st.none(), st.text("ab ,'\"\\?%{}", max_size=5))), max_size=5),
       st.sampled_from([", ", ",", "\t", " ,  "]))  # fmt: skip
def test_cells_come_back(rows, mark):
    lines = [
        mark.join(["?" if a is None else repr(a), "?" if b is None else quoted(b), "?" if d is None else quoted(d)])
        for a, b, d in rows
    ]
    columns, values = read_arff([*HEAD, *(line + "\r\n" for line in lines)], "f.arff")
    assert list(columns) == ["a", "b c", "d"]
    assert values == {"b c": ("x", "y z", "it's")}
    assert np.array_equal(columns["a"], [np.nan if a is None else a for a, _, _ in rows], equal_nan=True)
    assert columns["b c"].tolist() == [b for _, b, _ in rows]
    assert columns["d"].tolist() == [d for _, _, d in rows]
    assert columns["a"].dtype == np.float64


def test_words_without_quotes():
    columns, _values = read_arff([*HEAD, "1,x, some words ", "?\t?\t?", "% between", "", "2,'y z',"], "f")
    assert columns["d"].tolist() == ["some words", None, ""]
    assert columns["b c"].tolist() == ["x", None, "y z"]
    assert np.array_equal(columns["a"], [1.0, np.nan, 2.0], equal_nan=True)
    dates, _ = read_arff(["@attribute when DATE 'yyyy'", "@attribute n integer", "@data", "2020-01-01,3"], "f")
    assert dates["when"].tolist() == ["2020-01-01"]
    assert dates["n"].tolist() == [3.0]
    only, told = read_arff(["\ufeff@attribute k {}", "@data"], "f")
    assert told == {"k": ("",)}
    assert len(only["k"]) == 0


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["@data", "1"], "f, line 1: @data before any @attribute"),
        (["@attribute a real"], "f has no @data"),
        (["@attribute a real", "nonsense"], "line 2: expected @attribute or @data. Got 'nonsense'"),
        (["@attribute a real", "@attribute a real", "@data"], "line 2: a second attribute 'a'"),
        (["@attribute a relational", "@data"], "line 1: 'a' is of kind 'relational'"),
        ([*HEAD, "1,x"], "line 8: 2 cells where there are 3"),
        ([*HEAD, "1,x,y,z"], "line 8: 4 cells where there are 3"),
        ([*HEAD, "", "1,w,y"], "line 9: 'w' is none of the values of 'b c'"),
        ([*HEAD, "one,x,y"], "row 0 of the data: 'a' is a number. Got 'one'"),
        ([*HEAD, "?,x,y", "two,x,y"], "row 1 of the data: 'a' is a number. Got 'two'"),
        ([*HEAD, "{0 1, 2 z}"], "line 8: sparse ARFF"),
        ([*HEAD, "1,x,y,{5}"], "line 8: weights of instances"),
        ([*HEAD, "1,x,'open"], 'line 8: a quotation mark that is not closed: "\'open"'),
    ],
)
def test_what_is_refused_at_its_line(lines, said):
    with pytest.raises(FormatError, match=said.replace("(", r"\(").replace("{", r"\{").replace(".", r"\.")):
        read_arff(lines, "f")
