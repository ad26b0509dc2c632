"""Tables of database files: the same frame as from a CSV, and faults by name."""

from __future__ import annotations

import sqlite3

import duckdb
import pytest

import posteriori as po
from posteriori.errors import BadParameter, FormatError

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
