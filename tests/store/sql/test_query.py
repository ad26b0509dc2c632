"""A query gives what the model gives, in DuckDB, on random mixed tables with hostile names and values."""

from __future__ import annotations

import warnings

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.frozen import FrozenEstimator

import posteriori as po
from posteriori.errors import BadParameter, ImpossibleEvidence, NotStorable, UnknownColumn
from posteriori.table.dates import PARTS, date_part

NASTY = ["'; DROP TABLE t; --", 'a"b', "{before}", "step0", "\\", "é", "x0", " ", "NULL", "a'b", "🙂", "%s", "$1", "`"]


def scored(model, rows, **how):
    """The answers of the query, as a frame."""
    t = pd.DataFrame(rows)  # noqa: F841  DuckDB sees it by name
    return duckdb.sql(po.sql(model, "t", **how)).df()


def agrees(model, rows, **how):
    found = scored(model, rows, **how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that training did not have
        try:
            wanted = model.predict_proba(rows)
        except ImpossibleEvidence:
            assert found.iloc[:, -1].isna().any()
            return
        said = model.predict(rows)
    d, K = len(rows.columns), wanted.shape[1]
    np.testing.assert_allclose(found.iloc[:, d : d + K].to_numpy(float), wanted, atol=1e-9, rtol=1e-9)
    sure = np.sort(wanted, axis=1)[:, -1] - (np.sort(wanted, axis=1)[:, -2] if K > 1 else 0) > 1e-9
    assert (found.iloc[:, d + K].to_numpy()[sure] == said[sure]).all()


def table(rng, n, missing=True):
    """Mixed columns under hostile names."""
    cells = pd.DataFrame(
        {
            NASTY[0]: rng.choice(["a", "b'", 'c"', "\\", ""], n),
            NASTY[1]: rng.integers(0, 3, n),
            "{before}": rng.normal(size=n) * 3,
            "decision": rng.choice([True, False], n),
            "P(p)": rng.normal(size=n) ** 2,
        }
    )
    if missing:
        for name in cells.columns:
            gone = rng.random(n) < 0.15
            kind = object if cells[name].dtype.kind in "bi" else cells[name].dtype
            cells[name] = cells[name].astype(kind).where(~gone, None)
    return cells


MODELS = {
    "gaussian": lambda: po.NaiveBayes(density="gaussian", kinds=KINDS),
    "binned": lambda: po.NaiveBayes(density="binned", kinds=KINDS, unseen="mass"),
    "default": lambda: po.NaiveBayes(kinds=KINDS),
    "kernel": lambda: po.NaiveBayes(density="kernel", kinds=KINDS),
    "unsmoothed": lambda: po.NaiveBayes(density="gaussian", kinds=KINDS, smoothing=0, prior="empirical"),
    "tan": lambda: po.TAN(kinds=KINDS, cuts="quantile", bins=3),
    "tan unsmoothed": lambda: po.TAN(kinds=KINDS, cuts="quantile", bins=2, smoothing=0, backoff=0.0),
    "spode": lambda: po.SPODE(kinds=KINDS, cuts="quantile", bins=3),
    "spode told": lambda: po.SPODE(kinds=KINDS, cuts="quantile", bins=3, super_parent="{before}"),
    "aode": lambda: po.AODE(kinds=KINDS, cuts="quantile", bins=3, min_frequency=1),
    "aode rare": lambda: po.AODE(kinds=KINDS, cuts="quantile", bins=3, min_frequency=15, weights="information"),
    "aode never": lambda: po.AODE(kinds=KINDS, cuts="quantile", bins=3, min_frequency=1e9),
}
KINDS = {NASTY[1]: "categorical"}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_a_query_gives_what_the_model_gives(name, seed):
    rng = np.random.default_rng(seed)
    X, y = table(rng, 120, missing=seed > 0), rng.choice([["p", "q's", 'r"'], ["p", "q"], ["only"]][seed], 120)
    try:
        model = MODELS[name]().fit(X, y)
    except ValueError as error:
        pytest.skip(str(error))
    rows = table(rng, 60)
    rows.iloc[0, 0] = "never seen"
    rows.iloc[1, 2] = 1e6
    rows.iloc[2] = None
    agrees(model, rows)
    risky = po.Loss.per_class({c: 1.0 + k for k, c in enumerate(model.classes_.tolist())}) if seed < 2 else None
    if risky is not None and "unsmoothed" not in name:
        choice = po.RiskClassifier(FrozenEstimator(model), loss=risky, reject=0.4)
        found = scored(choice, rows)
        np.testing.assert_allclose(found["risk"].to_numpy(), choice.predict_risk(rows).min(axis=1), atol=1e-9)


@given(st.lists(st.sampled_from(NASTY), min_size=4, max_size=30), st.randoms(use_true_random=False))
def test_names_and_values_cannot_leave_their_quotes(cells, random):
    names = random.sample([n for n in NASTY if n != " "], 2)
    X = pd.DataFrame({names[0]: cells, names[1]: cells[::-1]})
    y = [random.choice(["'", '"', "\\"]) for _ in cells]
    for model in (po.NaiveBayes(), po.TAN(), po.AODE(min_frequency=1)):
        agrees(model.fit(X, y), X)
        for dialect in ("postgres", "spark"):
            assert po.sql(model, "t", dialect).count("DROP TABLE") == po.sql(model, "t").count("DROP TABLE")


def test_counts_and_numbers_as_values():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "n": rng.poisson(3, 60),
            "m": rng.poisson(1, 60),
            "grade": rng.choice([1.0, 1.5], 60),
        }
    )
    kinds = {"n": "count", "m": "count", "grade": "categorical"}
    for density in ("multinomial", "poisson", {"n": "poisson"}):
        agrees(po.NaiveBayes(kinds=kinds, density=density).fit(X, rng.integers(0, 3, 60)), X)


def test_rows_that_the_model_refuses_are_null():
    model = po.NaiveBayes(density="gaussian").fit({"a": [0.0, 1.0, 2.0], "b": ["u", "v", "u"]}, [0, 1, 1])
    found = scored(model, pd.DataFrame({"a": [np.inf, 1.0], "b": ["u", "v"]}))
    assert found["decision"].isna().tolist() == [True, False]


def test_columns_that_come_along_and_a_qualified_table():
    model = po.NaiveBayes().fit({"a": ["u", "v"]}, [0, 1])
    with duckdb.connect() as db:
        db.execute("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 7 AS id, 'u' AS a")
        assert db.sql(po.sql(model, ("s", "t"), keep=["id"])).columns == ["id", "P(0)", "P(1)", "decision"]


@pytest.mark.parametrize("as_dates", [True, False])
def test_dates_are_days_and_their_parts(as_dates):
    rng = np.random.default_rng(0)
    moments = pd.Timestamp("1969-03-01") + pd.to_timedelta(rng.integers(0, 10**6, 80) * 60_000_123, unit="us")
    rows = pd.DataFrame({"sold": moments.normalize() if as_dates else moments, "sky": rng.choice(["u", "v"], 80)})
    full = rows.assign(**{f"sold.{part}": date_part(rows["sold"], part) for part in PARTS})
    kinds = {f"sold.{part}": "categorical" for part in PARTS[1:]} | {"sold.year": "numeric"}
    for model in (po.NaiveBayes(kinds=kinds), po.AODE(kinds=kinds, cuts="quantile", bins=3)):
        model.fit(full, rng.choice(["p", "q"], 80))
        t = rows.assign(sold=rows["sold"].dt.date) if as_dates else rows  # noqa: F841  DuckDB sees it by name
        found = duckdb.sql(po.sql(model, "t")).df()  # a model that has parts of a date knows that it is one
        assert po.sql(model, "t") == po.sql(model, "t", dates=["sold"])
        assert found.columns.tolist() == ["sold", "sky", "P(p)", "P(q)", "decision"]
        np.testing.assert_allclose(found[["P(p)", "P(q)"]].to_numpy(), model.predict_proba(full), atol=1e-9)
    with pytest.raises(UnknownColumn, match=r"no column 'soldt'.*did you mean 'sold"):
        po.sql(model, "t", dates=["soldt"])
    with pytest.raises(BadParameter, match="dates must be a list of columns"):
        po.sql(model, "t", dates="sold")


@pytest.mark.parametrize("name", ["NaiveBayes", "TAN", "SPODE", "AODE"])
def test_a_number_that_the_file_was_told_to_have_for_missing_cells_is_missing_in_the_query(name, tmp_path):
    rng = np.random.default_rng(2)
    yes = rng.random(80) < 0.5
    rows = pd.DataFrame({"a": rng.normal(size=80) + yes, "b": rng.integers(0, 40, 80) + 20 * yes, "c": 1 + yes})
    y = np.where(yes ^ (rng.random(80) < 0.1), "yes", "no")
    rows.loc[::5, "a"], rows.loc[::6, "b"], rows.loc[::7, "c"] = -9.0, -9, -9
    rows.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    table = po.read(tmp_path / "t.csv", "y", missing=["-9", "inf", "none"])
    assert table.schema.kinds == ("numeric", "numeric", "categorical")
    model = getattr(po, name)(kinds=table.schema).fit(table.X, table.y)
    found = scored(model, rows)
    assert found["b"].tolist() == rows["b"].tolist()  # what comes along is as it was
    expected = model.predict_proba(table.X)
    assert table.X.isna().to_numpy().sum() == 16 + 14 + 12
    np.testing.assert_allclose(found.filter(like="P(").to_numpy(float), expected, rtol=1e-9, atol=1e-12)


def test_what_no_query_does_is_named():
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"wind": rng.normal(size=60) ** 3}), rng.choice(["a", "b"], 60)
    with pytest.raises(NotStorable, match="is text"):
        po.sql(po.NaiveBayes(kinds="text").fit({"a": ["u v", "w"]}, [0, 1]), "t")
    with pytest.raises(NotStorable, match="lazy=True"):
        po.sql(po.AODE(lazy=True).fit(X, y), "t")
    with pytest.raises(NotStorable, match="KDB"):
        po.sql(po.KDB().fit(X, y), "t")
    with pytest.raises(NotStorable, match="case does not count"):
        po.sql(po.NaiveBayes().fit({"a": ["u"], "A": ["v"]}, [0]), "t")
    mixed = pd.DataFrame({"a": pd.Series(["u", 1, "u", 1], dtype=object)})
    with pytest.raises(NotStorable, match="several types"):
        po.sql(po.NaiveBayes().fit(mixed, [0, 1, 0, 1]), "t")
    with pytest.raises(BadParameter, match="did you mean 'postgres'"):
        po.sql(po.NaiveBayes().fit({"a": ["u"]}, [0]), "t", "postgre")
    with pytest.raises(ValueError, match="not fitted"):
        po.sql(po.NaiveBayes(), "t")
