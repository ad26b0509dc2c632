"""What can be read of a type without loss counts as it does for the model, all else is an error by name."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.errors import NotStorable
from posteriori.store.sql.cells import need
from posteriori.table.schema import Column

BIG = 2**53 + 1
YES, TRUTH, AB, NUM, ZIP, DAY = ["yes", "no"], [True, False], ["a", "b"], ["1", "2"], ["01", "02"], ["2024-01-31", "x"]
INTS, FLOATS, BIGS, MEASURES = [1, 0], [0.1, 0.25], [BIG, BIG - 1], "measured"
# (values of training, the type of the column, its cells, the same in training's words; None where the query must fail)
LAW = [
    (YES, "boolean", ["TRUE", "FALSE", "NULL"], ["yes", "no", None]),
    (["YES", "No", "maybe"], "boolean", ["TRUE", "FALSE"], ["YES", "No"]),
    (["t", "f"], "boolean", ["TRUE", "FALSE"], ["t", "f"]),
    (["yes", "Yes", "no"], "boolean", ["TRUE"], None),
    (["yes", "off"], "boolean", ["TRUE"], None),
    (AB, "boolean", ["TRUE"], None),
    (AB, "boolean", ["NULL", "NULL"], [None, None]),
    (AB, "integer", ["1"], None),
    (AB, "date", ["'2024-01-31'"], None),
    (AB, "varchar(9)", ["'a'", "'b'", "'c'", "NULL"], ["a", "b", "c", None]),
    (AB, "char(3)", ["'a'", "'b'", "'c'"], ["a", "b", "c"]),
    (NUM, "integer", ["1", "2", "3"], ["1", "2", "3"]),
    (NUM, "decimal(9, 2)", ["1", "2.00", "1.5"], ["1", "2", "1.5"]),
    (NUM, "float8", ["1", "2", "NULL"], ["1", "2", None]),
    (ZIP, "bigint", ["1", "2"], ZIP),
    (["1", "1.0"], "integer", ["1"], None),
    (DAY, "date", ["'2024-01-31'", "'2024-02-01'"], ["2024-01-31", "unseen"]),
    (DAY, "timestamp", ["'2024-01-31 00:00:00'", "'2024-01-31 00:00:01'"], ["2024-01-31", "unseen"]),
    (DAY, "timestamptz", ["'2024-01-31 02:00:00+02'"], ["2024-01-31"]),
    (["2024-01-31", "2024/01/31"], "date", ["'2024-01-31'"], None),
    (TRUTH, "boolean", ["TRUE", "FALSE", "NULL"], [True, False, None]),
    (TRUTH, "integer", ["1", "0", "2"], [True, False, 2]),
    (TRUTH, "varchar(9)", ["'True'", "' no '", "NULL"], [True, False, None]),
    (TRUTH, "varchar(9)", ["'maybe'"], None),
    (INTS, "boolean", ["TRUE", "FALSE"], [1, 0]),
    (INTS, "decimal(9, 3)", ["1", "0.001", "NULL"], [1, 0.001, None]),
    (INTS, "varchar(9)", ["'1'", "' 0.0'", "'1e0'", "'7'"], [1, 0, 1, 7]),
    (INTS, "varchar(9)", ["'one'"], None),
    (INTS, "char(3)", ["'1'", "'0'"], [1, 0]),
    (INTS, "date", ["'2024-01-31'"], None),
    (FLOATS, "real", ["0.1", "0.25", "0.5"], [0.1, 0.25, 0.5]),
    (FLOATS, "float8", ["0.1", "0.3", "'NaN'"], [0.1, 0.3, None]),
    (FLOATS, "decimal(9, 3)", ["0.1", "0.250"], [0.1, 0.25]),
    (BIGS, "bigint", [str(BIG), str(BIG - 1), str(BIG + 1)], [BIG, BIG - 1, BIG + 1]),
    (BIGS, "decimal(38, 4)", [str(BIG), f"{BIG}.5"], [BIG, 7]),
    (BIGS, "varchar(40)", [f"'{BIG}'", "'1e30'", "NULL"], [BIG, 7, None]),
    (MEASURES, "integer", ["1", "-2", "NULL"], [1.0, -2.0, None]),
    (MEASURES, "decimal(9, 3)", ["1.125", "-2"], [1.125, -2.0]),
    (MEASURES, "real", ["1.125", "'NaN'"], [1.125, None]),
    (MEASURES, "boolean", ["TRUE", "FALSE"], [1.0, 0.0]),
    (MEASURES, "varchar(9)", ["'1.125'", "' -2e0 '", "'nan'"], [1.125, -2.0, None]),
    (MEASURES, "varchar(9)", ["'?'"], None),
    (MEASURES, "varchar(9)", ["''"], None),
    (MEASURES, "date", ["'2024-01-31'"], None),
    (MEASURES, "timestamptz", ["'2024-01-31'"], None),
]
PADDED = [(["a  ", "b"], "char(3)", ["'a'", "'b'"], ["a  ", "b"]), (["a ", "a"], "char(3)", ["'a'"], None)]
MOMENTS = [
    ("date", ["'2024-01-31'", "NULL"], ["2024-01-31", None]),
    ("timestamp", ["'2024-01-31 13:45:00.5'"], ["2024-01-31 13:45:00.5"]),
    ("timestamptz", ["'2024-02-01 01:45:00+09'"], ["2024-01-31 16:45:00"]),
    ("varchar(30)", ["'2024-01-31'", "'2024/01/31 13:45'"], ["2024-01-31", "2024-01-31 13:45"]),
    ("varchar(30)", ["'2024-01-31T13:45:01.5'"], ["2024-01-31 13:45:01.5"]),
    ("varchar(30)", ["'31.01.2024'"], None),
    ("integer", ["20240131"], None),
]
ZONES = ("UTC", "Asia/Tokyo")


def model_of(values):
    """A model for which a column "a.b" with these values says much, and the words of a column beside it."""
    rng = np.random.default_rng(0)
    if values == MEASURES:
        X = pd.DataFrame({"a.b": rng.normal(size=90)})
        return po.NaiveBayes(density="gaussian").fit(X, X["a.b"] > 0.5)
    cells = [values[k % len(values)] for k in range(90)]
    y = [cell == values[0] if rng.random() < 0.9 else cell != values[0] for cell in cells]
    kinds = {"a.b": "categorical"}
    return po.NaiveBayes(kinds=kinds).fit(pd.DataFrame({"a.b": pd.Series(cells, dtype=object)}), y)


def dated():
    """A model of days and hours."""
    rng = np.random.default_rng(0)
    days = 19753 + 2 * rng.normal(size=90)
    hours = rng.integers(0, 24, 90)
    X = pd.DataFrame({"sold": days, "sold.hour": hours})
    return po.NaiveBayes(kinds={"sold.hour": "categorical"}).fit(X, (days + hours / 8 > 19754).astype(int))


def filled(kind, cells, name="a.b"):
    """Statements that make a table t of a column."""
    rows = ", ".join(f"({k}, CAST({cell} AS {kind}))" for k, cell in enumerate(cells))
    return f'CREATE TEMP TABLE t (n integer, "{name}" {kind}); INSERT INTO t VALUES {rows};\n'


def in_order(query):
    return f"SELECT * FROM ({query}) AS q ORDER BY n"


def check(ask, refused, model, name, kind, cells, rows, dialect, before="", **how):
    """The query over a column of a type says what the model says of `rows`, or names the column."""
    query = before + filled(kind, cells, name) + in_order(po.sql(model, "t", dialect, keep=["n"], **how)) + ";"
    if rows is None:
        with pytest.raises(refused, match=rf"column '{name}' must "):
            ask(query)
        return
    np.testing.assert_allclose(ask(query).iloc[:, 1:3].to_numpy(float), model.predict_proba(rows), atol=1e-9)


def plainly(query):
    with duckdb.connect() as db:
        return db.execute(query).df()


def rows_of(said):
    return None if said is None else pd.DataFrame({"a.b": pd.Series(said, dtype=object)})


def moments(said):
    if said is None:
        return None
    when = pd.Series(pd.to_datetime(said, format="ISO8601"))
    return pd.DataFrame({"sold": (when - pd.Timestamp(0)) / pd.Timedelta(days=1), "sold.hour": when.dt.hour})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("values", "kind", "cells", "said"), LAW)
def test_a_column_says_what_its_type_can_say_or_is_named(values, kind, cells, said):
    check(plainly, duckdb.Error, model_of(values), "a.b", kind, cells, rows_of(said), "duckdb")


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(("kind", "cells", "said"), MOMENTS)
def test_dates_are_those_of_utc_whatever_the_session_says(kind, cells, said, zone):
    before = f"SET TimeZone = '{zone}';"
    check(plainly, duckdb.Error, dated(), "sold", kind, cells, moments(said), "duckdb", before, dates=["sold"])


def test_a_file_that_the_engine_types_otherwise(tmp_path):
    """yes and no are BOOLEAN to read_csv, and were unseen words."""
    model = po.NaiveBayes().fit({"smokes": ["yes", "no", "no"]}, ["ill", "well", "well"])
    (tmp_path / "t.csv").write_text("smokes\nyes\nno\n")
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE t AS FROM read_csv('{tmp_path / 't.csv'}')")
        assert str(db.sql("FROM t").types[0]) in ("BOOLEAN", "VARCHAR")
        found = db.sql(po.sql(model, "t")).df()
    np.testing.assert_allclose(found[["P(ill)", "P(well)"]], model.predict_proba({"smokes": ["yes", "no"]}))


def test_gaps_of_the_models_own_file_are_missing_in_a_column_of_words(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{k}.5,{'pq'[k % 2]}\n" for k in range(30)) + "gone,p\n")
    table = po.read(tmp_path / "t.csv", "y", missing=["gone"])
    model = po.NaiveBayes(kinds=table.schema).fit(table.X, table.y)
    found = plainly(filled("varchar(9)", ["'3.5'", "'gone'", "'?'"], "a") + in_order(po.sql(model, "t", keep=["n"])))
    wanted = model.predict_proba({"a": [3.5, None, None]})
    np.testing.assert_allclose(found.iloc[:, 1:3].to_numpy(float), wanted, atol=1e-9)


@pytest.mark.parametrize(
    ("values", "said"), [(("a", 1), "int, str"), ((True, 1.5), "bool, float"), ((1, 2.5, "a"), "float, int, str")]
)
def test_a_column_of_several_types_is_named(values, said):
    with pytest.raises(NotStorable, match=rf"column '{'a' * 40}.* has values of several types \({said}\)"):
        need(Column("a" * 99, "categorical", values))
