"""What cells mean to a schema, cell by cell; batches of every kind of source are the same rows."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from posteriori.errors import PosterioriError
from posteriori.table.batches import _batches, batches, refuse_missing
from posteriori.table.cells import (
    _is_text,
    _meant,
    as_labels,
    as_numbers,
    as_values,
    column_cells,
    dates_of,
    source_of,
)
from posteriori.table.schema import Column, Reading, Schema


@pytest.mark.parametrize("cells", [["2020-01-01", "2020-01-03"], ["2020-01-01", None, "2020-01-03"], [None, None]])
def test_words_that_are_all_dates_are_days_whatever_is_missing(cells):
    found = as_numbers(pa.array(cells, pa.string()), "when", Reading(), range(len(cells)), "t.csv")
    days = {"2020-01-01": 18_262.0, "2020-01-03": 18_264.0, None: np.nan}
    np.testing.assert_array_equal(found, [days[cell] for cell in cells])


def words(*cells):
    return pa.array(cells, pa.string())


@pytest.mark.parametrize(
    ("word", "values", "decimal", "meant"),
    [
        ("2", (), ".", "2"),  # where no value is known a word is a word
        ("true", (), ".", "true"),
        ("2", ("1", "2"), ".", "2"),
        ("2", (1, "x"), ".", "2"),  # a column with words among its values is one of words
        ("2", (1, 2), ".", 2),
        ("2.0", (1, 2), ".", 2),
        (" 2 ", (1, 2), ".", 2),
        ("2.5", (1, 2), ".", 2.5),
        ("2,5", (1, 2), ",", 2.5),
        ("2,5", (1, 2), ".", "2,5"),
        (str(2**53 + 1), (1.5,), ".", 2**53 + 1),
        ("True", (True, False), ".", True),
        ("FALSE", (False, True), ".", False),
        ("True", (1, 2), ".", "True"),
        ("True", (True, 2), ".", "True"),
        ("1", (True, False), ".", 1),
        ("NA", (1, 2), ".", None),
        ("NA", ("a",), ".", "NA"),  # only among numbers
        ("many", (1, 2), ".", "many"),
        ("true", ("FALSE", "TRUE"), ".", "TRUE"),  # a truth is written as the column writes it
        (" True", ("false", "maybe", "true"), ".", "true"),
        ("true", ("TRUE", "True"), ".", "true"),  # two ways: neither is meant
        ("TRUE", ("TRUE", "True"), ".", "TRUE"),
        ("true", ("no", "yes"), ".", "true"),
    ],
)
def test_a_word_means_what_the_values_of_its_column_are(word, values, decimal, meant):
    found = _meant(word, values, Reading(decimal=decimal))
    assert (type(found), found) == (type(meant), meant)


def test_words_become_values_each_in_its_place_and_told_words_are_missing_everywhere():
    cells = words("1", "2", " k.A. ", None, "x", "1")
    assert as_values(cells, (1, 2), Reading(missing=("k.A.",))).tolist() == [1, 2, None, None, "x", 1]
    assert as_values(cells, ("1", "x"), Reading(missing=("k.A.",))).tolist() == ["1", "2", None, None, "x", "1"]
    assert as_values(cells.dictionary_encode(), (1,)).tolist() == [1, 2, " k.A. ", None, "x", 1]
    assert as_values(words(), (1,)).tolist() == []
    for kind in (pa.large_string(), pa.string_view()):
        assert as_values(cells.cast(kind), (1, 2)).tolist() == [1, 2, " k.A. ", None, "x", 1]
    numbers = pa.array([3, None, 5])
    assert as_values(numbers, (3,)).equals(numbers)  # what has a type keeps it
    assert as_values(numbers, (3, "x")).equals(numbers)
    assert as_values(numbers, ()).equals(numbers)
    assert as_values(numbers, ("3", "x"), Reading(missing=("5",))).tolist() == ["3", None, None]  # but among words
    assert as_values(numbers.dictionary_encode(), ("3", "x")).tolist() == ["3", None, "5"]
    assert as_values(pa.array([3.0, np.nan, 2.5]), ("3",)).tolist() == ["3", None, "2.5"]
    assert as_values(pa.array([True, None, False]), ("false", "true")).tolist() == ["true", None, "false"]
    assert as_values(pa.array([b"x"]), ("x",)).to_pylist() == [b"x"]
    assert as_values(pa.array([18_262, None], pa.date32()), ()).to_pylist() == ["2020-01-01", None]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.int32(), pa.float64(), pa.bool_()]
)
def test_text_is_what_arrow_has_three_types_of(kind):
    assert _is_text(pa.array([None], kind)) == ("string" in str(kind))


@pytest.mark.parametrize(
    ("cells", "reading", "found"),
    [
        (words("1.5", " 2 ", None, "NA", "-"), Reading(), [1.5, 2, np.nan, np.nan, np.nan]),
        (words("1,5", "2", ""), Reading(decimal=","), [1.5, 2, np.nan]),
        (words("1.5", "weg"), Reading(missing=("weg",)), [1.5, np.nan]),
        (words("1_0", None, "2"), Reading(), [10, np.nan, 2]),  # what Python reads and Arrow does not
        (pa.array([3, None, 5]), Reading(), [3, np.nan, 5]),
        (pa.array([True, None, False]), Reading(), [1, np.nan, 0]),
        (pa.array([18_262, None], pa.date32()), Reading(), [18_262, np.nan]),
        (words("02.01.1970", "?"), Reading(dates=(("size", "%d.%m.%Y"),)), [1, np.nan]),
        (words("02.01.1970"), Reading(dates=(("other", "%d.%m.%Y"),), missing=("02.01.1970",)), [np.nan]),
        (words("1970-01-02", None, "1970/01/03 12:00"), Reading(), [1, np.nan, 2.5]),
        (words(None, None), Reading(), [np.nan, np.nan]),
        (words(), Reading(), []),
    ],
)
def test_cells_becomeas_numbers(cells, reading, found):
    made = as_numbers(cells, "size", reading, np.arange(7, 7 + len(cells)), "t.csv")
    np.testing.assert_array_equal(np.asarray(made, dtype=float), found)


@pytest.mark.parametrize(
    ("cells", "reading", "said"),
    [
        (words("1", None, "no"), Reading(), "t.csv, row 11, column 'size': 'no' is no number, as the model has there"),
        (words("1970-01-02", "2"), Reading(), "row 7, column 'size': '1970-01-02' is no number"),  # not all are dates
        (words("1", "2,5"), Reading(), "row 9, column 'size': '2,5' is no number"),
        (words("1", "1_0", "-inf"), Reading(), "t.csv, row 11, column 'size': -inf is no finite number"),
        (words("1", "inf", "2"), Reading(), "t.csv, row 9, column 'size': inf is no finite number"),
        (pa.array([1.0, 2.0, np.inf]), Reading(), "t.csv, row 11, column 'size': inf is no finite number"),
        (words("1", "y" * 70), Reading(), f"row 9, column 'size': '{'y' * 59} is no number"),
    ],
)
def test_a_cell_that_is_no_number_is_named_by_its_row_in_the_file(cells, reading, said):
    with pytest.raises(PosterioriError, match=re.escape(said)):
        as_numbers(cells, "size", reading, [7, 9, 11], "t.csv")


def test_dates_are_read_in_the_form_of_their_column():
    german = Reading(dates=(("when", "%d.%m.%Y"),))
    found = dates_of(words("02.01.1970", None, "?", " 03.01.1970 "), "when", german, None, "t.csv")
    assert found.tolist() == [pd.Timestamp("1970-01-02"), pd.NaT, pd.NaT, pd.Timestamp("1970-01-03")]
    assert dates_of(words("1970-02-01"), "when", Reading(), None, "t.csv").tolist() == [pd.Timestamp("1970-02-01")]
    typed = dates_of(pa.array([1, None], pa.date32()), "when", german, None, "t.csv")
    assert typed.dtype == "datetime64[us]"
    assert typed.tolist() == [pd.Timestamp("1970-01-02"), pd.NaT]
    assert dates_of(pa.nulls(1), "when", german, None, "t.csv").tolist() == [pd.NaT]
    with pytest.raises(PosterioriError, match=r"^t.csv, column 'when': expected dates, .* Got int64 instead"):
        dates_of(pa.array([19_000]), "when", german, None, "t.csv")
    with pytest.raises(PosterioriError, match=r"^t.csv, row 9, column 'when': '1970-01-02' is no date .* %d.%m.%Y$"):
        dates_of(words("02.01.1970", None, "1970-01-02"), "when", german, [5, 7, 9], "t.csv")
    with pytest.raises(PosterioriError, match=r"^t.csv, column 'other': '1.2.1970' is no date .*, 2020-12-31$"):
        dates_of(words("1970-01-02", "1.2.1970"), "other", german, None, "t.csv")


CUT = Schema((Column("x", "numeric"),), classes=("low", "mid", "high"), reading=Reading(edges=(1.0, 2.5)))


def test_labels_are_the_classes_of_the_model():
    rows = [3, 5, 7, 9]
    found = as_labels(words("1", "1.5", "3", None), "y", CUT, rows, "t.csv")  # an upper edge belongs to its bin
    assert found.tolist() == ["low", "mid", "high", None]
    with pytest.raises(PosterioriError, match=r"t.csv, row 5, column 'y': 'many' is no number"):
        as_labels(words("1", "many"), "y", CUT, rows, "t.csv")
    with pytest.raises(PosterioriError, match="the model has 2 classes, and its target is cut into 3"):
        as_labels(words("1"), "y", dataclasses.replace(CUT, classes=("low", "high")))
    days = Schema((Column("x", "numeric"),), classes=("1970-01-02",), reading=Reading(dates=(("y", "%d.%m.%Y"),)))
    for cells in (words("02.01.1970", None), words("02.01.1970", None).dictionary_encode()):
        assert as_labels(cells, "y", days).tolist() == ["1970-01-02", None]
    with pytest.raises(PosterioriError, match=r"^t.csv, row 5, column 'y': 'x' is no date"):
        as_labels(words("02.01.1970", "x"), "y", days, rows, "t.csv")
    numbers = Schema((Column("x", "numeric"),), classes=(1, 2))
    assert as_labels(words("1", "2", None), "y", numbers).tolist() == [1, 2, None]
    typed = as_labels(pa.array([1, 2, None]), "y", numbers)
    assert (typed.dtype, typed.tolist()) == (object, [1, 2, None])


def test_rows_are_numbered_through_all_batches_and_those_without_a_label_are_told():
    schema = Schema(
        (Column("x", "numeric"), Column("c", "categorical", (1, 2)), Column("t", "text")), classes=("a", "b")
    )
    parts = [
        {"t": ["u", None], "y": ["a", None], "x": ["1", "2"], "c": ["1", "9"]},
        {"t": [], "y": [], "x": [], "c": []},
        {"t": ["v", "", "w"], "y": [None, "b", "a"], "x": ["3", "4", None], "c": ["2", "2", None]},
    ]
    kinds = pa.schema([(name, pa.string()) for name in ("t", "y", "x", "c")])
    reader = [pa.RecordBatch.from_pydict(part, kinds) for part in parts]
    one, two = _batches(reader, ["t", "y", "x", "c"], schema, "y", "t.csv")
    assert (one.rows.tolist(), one.gone.tolist(), one.labels.tolist(), len(one)) == ([1], [2], ["a"], 1)
    assert (two.rows.tolist(), two.gone.tolist(), two.labels.tolist(), len(two)) == ([4, 5], [3], ["b", "a"], 2)
    assert two.raw.to_pydict() == {"t": ["", "w"], "y": ["b", "a"], "x": ["4", None], "c": ["2", None]}
    np.testing.assert_array_equal(two.columns["x"], [4, np.nan])
    assert two.columns["c"].tolist() == [2, None]
    assert two.columns["t"].to_pylist() == ["", "w"]
    plain = list(_batches(reader, ["t", "y", "x", "c"], schema, None, "t.csv"))
    assert [batch.rows.tolist() for batch in plain] == [[1, 2], [3, 4, 5]]
    assert [(batch.labels, len(batch.gone)) for batch in plain] == [(None, 0)] * 2


def test_an_error_in_the_middle_of_a_stream_is_said_in_three_sentences():
    def broken():
        yield pa.RecordBatch.from_pydict({"x": ["1"]})
        raise OSError("one\n\n  two  \nthree\nfour")

    rows = _batches(broken(), ["x"], Schema((Column("x", "numeric"),)), None, "t.csv")
    assert next(rows).rows.tolist() == [1]
    with pytest.raises(PosterioriError, match=r"^t.csv cannot be read: one; two; three$"):
        next(rows)


def test_the_column_of_a_file_that_a_column_comes_from():
    assert source_of("when.hour", ["when", "x"]) == "when"
    assert source_of("when.hour", ["when", "when.hour"]) == "when.hour"  # a column of its own
    assert source_of("when.size", ["when"]) == "when.size"  # no part of a date
    assert source_of("when.hour", ["x"]) == "when.hour"
    assert source_of("hour", ["hour"]) == "hour"
    assert source_of("hour", [""]) == "hour"  # a part of nothing
    raw = pa.RecordBatch.from_pydict({"x": ["1"], "when": ["1970-01-02 13:00"]})
    for name, kind, found in [
        ("when.hour", "categorical", [13]),
        ("when.weekday", "categorical", [4]),
        ("x", "count", [1]),
    ]:
        made = column_cells(Column(name, kind), raw, {"x": 0, "when": 1}, Reading(), [1], "t.csv")
        assert list(made) == found


def test_columns_that_a_file_lacks_are_all_named():
    schema = Schema(tuple(Column(name, "numeric") for name in ("size", "when.hour", "town")))
    refuse_missing(schema, ["size", "when", "town"], None, "t.csv")
    refuse_missing(schema, ["size", "when", "town", "class"], "class", "t.csv")
    for names, target, said in [
        (
            ["sizes", "when", "town"],
            None,
            "model has: 'size'; did you mean 'sizes'? It has: 'sizes', 'when', 'town'",
        ),
        (["x"], "class", "model has: 'size', 'when.hour', 'town', 'class'. It has: 'x'"),
        (["size", "when", "town"], "class", "model has: 'class'. It has"),
    ]:
        with pytest.raises(PosterioriError, match=re.escape(said)):
            refuse_missing(schema, names, target, "t.csv")


@pytest.mark.parametrize(
    "name", ["t.csv", "t[1]*?.csv", "it's.csv", "t.parquet", "t.jsonl", "t.arff", "t.sqlite", "t.duckdb"]
)
def test_batches_of_every_kind_of_file_are_the_same_rows(tmp_path, name):
    path, frame = tmp_path / name, pd.DataFrame({"x": [1.5, 2.5, 4.0], "c": ["u", "v", "u"], "y": ["a", "b", "a"]})
    if name.endswith(".csv"):
        frame.to_csv(path, index=False)
        (tmp_path / "t1xx.csv").write_text("x,c,y\n9,u,a\n")  # what the second name would match, were it a pattern
    elif name.endswith(".parquet"):
        frame.to_parquet(path)
    elif name.endswith(".jsonl"):
        frame.to_json(path, orient="records", lines=True)
    elif name.endswith(".arff"):
        head = "@relation r\n@attribute x numeric\n@attribute c {u,v}\n@attribute y {a,b}\n@data\n"
        path.write_text(head + frame.to_csv(index=False, header=False))
    elif name.endswith(".sqlite"):
        with contextlib.closing(sqlite3.connect(path)) as base:
            frame.to_sql("rows", base, index=False)
    else:
        with duckdb.connect(str(path)) as base:
            base.sql("CREATE TABLE rows AS SELECT * FROM frame")
    schema = Schema((Column("x", "numeric"), Column("c", "categorical", ("u", "v"))), classes=("a", "b"))
    query = "SELECT * FROM " + ("rows" if name.endswith(("sqlite", "duckdb")) else "this")
    for sql in (None, query) if not name.endswith("arff") else (None,):
        with batches(str(path), schema, "y", sql=sql) as rows:
            (batch,) = rows
        assert batch.raw.schema.names == ["x", "c", "y"]
        np.testing.assert_array_equal(batch.columns["x"], [1.5, 2.5, 4.0])
        assert list(map(str, batch.columns["c"])) == ["u", "v", "u"]
        assert (batch.labels.tolist(), batch.rows.tolist()) == (["a", "b", "a"], [1, 2, 3])


def test_what_is_said_of_a_file_is_said_to_whom_it_may_concern(tmp_path):
    path, schema, heard = tmp_path / "t.csv", Schema((Column("x", "numeric"),)), []
    path.write_bytes("x,town\n1,Köln\n".encode("cp1252"))
    for note in (heard.append, None):
        with batches(str(path), schema, note=note) as rows:
            assert [len(batch) for batch in rows] == [1]
    assert [said.startswith(f"{path}: ") for said in heard] == [True]
    path.write_text("x\n1\n")
    with pytest.raises(PosterioriError, match="lacks columns"), batches(str(path), schema, "y"):
        pass
    with pytest.raises(PosterioriError, match="lacks columns"), batches(str(path), schema, "y", sql="FROM this"):
        pass
