"""Rows of files: lines that do not fit are named, names are those of the file, queries and databases give rows."""

from __future__ import annotations

import sqlite3

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import posteriori as po
from posteriori.errors import BadParameter, FormatError, UnknownColumn
from posteriori.table import files


def test_a_query_gives_rows_or_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n2,y\n")
    found = po.read(path, sql="SELECT b, a + 1 AS c FROM this ORDER BY a DESC")
    assert found.X.columns.tolist() == ["b", "c"]
    assert found.X.to_numpy().tolist() == [["y", 3], ["x", 2]]
    pivoted = po.read(path, sql="PIVOT this ON b USING sum(a)")
    assert sorted(pivoted.X.columns) == ["x", "y"]
    copied = tmp_path / "copied.csv"
    for sql in (
        "-- nothing",
        "CREATE TABLE t AS FROM this",
        "DROP VIEW this",
        f"COPY this TO '{copied}'",
        "SET threads = 1",
    ):
        with pytest.raises(FormatError, match="must give rows, as SELECT does"):
            po.read(path, sql=sql)
    assert not copied.exists()


def test_names_that_differ_by_case_are_those_of_the_file(tmp_path):
    for ending, form in ((".jsonl", "json"), (".json", "json"), (".parquet", "parquet")):
        path = tmp_path / f"t{ending}"
        frame = pd.DataFrame({"a": [1, 2], "A": [3, 4], "b": [5, 6]})
        if ending == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_json(path, orient="records", lines=ending == ".jsonl")
        assert files._true_names(path, form, ["a", "A_1", "b"]) == ["a", "A", "b"]
        assert files._true_names(path, form, ["a", "b"]) == ["a", "b"]
        assert files._true_names(path, form, ["x_1", "b"]) == ["x_1", "b"]  # a name of its own
        assert po.read(path).schema.names == ("a", "A", "b")
    (tmp_path / "u.jsonl").write_text('{"a": 1, "A": 2}\n\n{"a": 1, "A": 2, "c": 3}\n')
    assert files._true_names(tmp_path / "u.jsonl", "json", ["a", "A_1"]) == ["a", "A_1"]  # it is not told which


def test_a_table_of_text_is_found_wherever_it_begins(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,2\n3,4\n5,6\n")
    table = po.read(path)
    assert (table.schema.names, len(table)) == (("x0", "x1"), 3)
    assert table.notes[0].startswith("no header: the first line holds numbers, so columns are named x0, x1, …")
    assert po.read(path, header=True).schema.names == ("1", "2")
    assert po.read(path, header=["u", "v"]).schema.names == ("u", "v")
    with pytest.raises(FormatError, match="has 2 columns, but header has 3 names"):
        po.read(path, header=["u", "v", "w"])
    path.write_text("a,,A\n1,2,x\n3,4,y\n")
    assert po.read(path).schema.names == ("a", "x1", "A")
    path.write_text("it's,b\n1,2\n3,4\n")
    assert po.read(path).schema.names == ("it's", "b")
    path.write_text("a,b,a,b,c\n1,2,3,4,5\n")
    with pytest.raises(UnknownColumn, match="duplicate columns: 'a', 'b'; every"):
        po.read(path)


def test_a_query_that_fails_says_why_and_what_columns_there_are(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n2,y\n")
    with pytest.raises(FormatError, match=r"cannot be run on .*t.csv: .*The file is named this; its columns: 'a', 'b'"):
        po.read(path, sql="SELECT nothing FROM this")
    path.with_suffix(".parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(FormatError, match="cannot be read as a complete Parquet file"):
        po.read(path.with_suffix(".parquet"))
    path.with_suffix(".json").write_text('{"a": 1')
    with pytest.raises(FormatError, match="cannot be read as JSON with an object for each row"):
        po.read(path.with_suffix(".json"))


ROWS = [(1.5, "a", "no"), (2.5, "b", "yes"), (None, "a", "yes")]


def sqlite(path):
    with sqlite3.connect(path) as engine:
        engine.execute("CREATE TABLE patients (x REAL, w TEXT, y TEXT)")
        engine.executemany("INSERT INTO patients VALUES (?, ?, ?)", ROWS)
    engine.close()
    return path


def duck(path):
    with duckdb.connect(str(path)) as engine:
        engine.execute("CREATE TABLE patients (x DOUBLE, w VARCHAR, y VARCHAR)")
        engine.executemany("INSERT INTO patients VALUES (?, ?, ?)", ROWS)
    return path


@pytest.mark.parametrize(("make", "name"), [(sqlite, "d.sqlite"), (sqlite, "d.db"), (duck, "d.duckdb"), (duck, "d.db")])
def test_a_table_and_a_query(tmp_path, make, name):
    path = make(tmp_path / name)
    table = po.read(path, target="y")
    assert (len(table), table.schema.kinds, table.schema.classes) == (3, ("numeric", "categorical"), ("no", "yes"))
    assert any("patients" in note for note in table.notes)
    assert len(po.read(path, target="y", sql="SELECT * FROM patients WHERE w = 'a'")) == 2


@pytest.mark.parametrize(("make", "name"), [(sqlite, "d.sqlite"), (duck, "d.duckdb")])
def test_faults_are_named(tmp_path, make, name):
    path = make(tmp_path / name)
    with pytest.raises(FormatError, match="cannot be run"):
        po.read(path, sql="SELECT nothing FROM nowhere")
    with pytest.raises(FormatError, match=r"cannot be run|must give rows"):
        po.read(path, sql="DROP TABLE patients")
    with pytest.raises(FormatError, match=r"cannot be run|must give rows"):
        po.read(path, sql=f"COPY patients TO '{tmp_path}/copied.csv'")
    assert not (tmp_path / "copied.csv").exists()
    assert len(po.read(path)) == 3
    (tmp_path / f"bad.{name.split('.')[1]}").write_bytes(b"no database at all, but text" * 200)
    with pytest.raises(FormatError, match="cannot be read as a database"):
        po.read(tmp_path / f"bad.{name.split('.')[1]}")


def test_of_several_tables_one_must_be_asked(tmp_path):
    path = sqlite(tmp_path / "d.sqlite")
    with sqlite3.connect(path) as engine:
        engine.execute("CREATE TABLE others (x REAL)")
    engine.close()
    with pytest.raises(BadParameter, match=r"2 tables.*'others', 'patients'"):
        po.read(path)


@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_long_whole_numbers_keep_their_digits_in_wide_parquet_files(tmp_path, kind):
    file, cells = tmp_path / "wide.parquet", [2**53 + 1, None, 2**53 + 3]
    pq.write_table(pa.table({"c": pa.array(cells, kind), **{f"d{j}": [1, 2, 3] for j in range(70)}}), file)
    assert po.read(file).X["c"].dropna().tolist() == cells[::2]


@pytest.mark.parametrize("kind", ["int64", "uint8"])
def test_whole_numbers_with_gaps_stay_whole_in_wide_parquet_files(tmp_path, kind):
    file = tmp_path / "wide.parquet"
    pq.write_table(pa.table({"c": pa.array([1, None, 2] * 20, kind), **{f"d{j}": [1] * 60 for j in range(70)}}), file)
    assert repr(po.read(file).schema["c"].values) == "(1, 2)"
