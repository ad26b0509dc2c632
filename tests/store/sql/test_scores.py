"""ln P(y, x) in SQL, part by part: what DuckDB computes is what the model computes, and ln 0 stays a number."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.bayes.densities import Categories
from posteriori.bayes.numeric import Curves, LeftOut
from posteriori.errors import BadValue, ImpossibleEvidence, NotStorable
from posteriori.store.sql import scores
from posteriori.store.sql.dialects import DIALECTS, LOW
from posteriori.table.schema import Column

from .test_query import agrees, scored

D = DIALECTS["duckdb"]
RNG = np.random.default_rng(0)
N = 60
X = pd.DataFrame(
    {
        "sky": RNG.choice(["blue", "grey", "red"], N),
        "wind": RNG.normal(size=N),
        "day": RNG.choice(["mo", "tu"], N),
        "rain": RNG.normal(size=N) ** 2,
    }
)
Y = np.where(X["wind"] + (X["sky"] == "blue") + RNG.normal(size=N) > 0, "in", "out")
ASKED = pd.concat(
    [
        X[:20],
        pd.DataFrame(
            {
                "sky": ["blue", "green", None, "grey", None],
                "wind": [None, 0.5, -3.0, 40.0, None],
                "day": ["mo", None, "we", "tu", None],
                "rain": [0.0, 1.0, None, -5.0, None],
            }
        ),
    ],
    ignore_index=True,
)


def read(expression, **cells):
    """What DuckDB makes of an expression of some cells."""
    named = ", ".join(f"{v} AS {n}" for n, v in cells.items()) or "1 AS one"
    return duckdb.sql(f"SELECT {expression} FROM (SELECT {named})").fetchall()[0][0]


@pytest.mark.parametrize(
    ("column", "cut", "cell", "wanted"),
    [
        (Column("a", "categorical", ("u", "v")), None, "'u'", 0),
        (Column("a", "categorical", ("u", "v")), None, "'v'", 1),
        (Column("a", "categorical", ("u", "v")), None, "'w'", 9),
        (Column("a", "categorical", ("u", "v")), None, "NULL", None),
        (Column("a", "categorical"), None, "'u'", 9),
        (Column("a", "categorical"), None, "NULL", None),
        (Column("a", "binary", (False, True)), None, "1", 1),
        (Column("a", "categorical", (3, 5)), None, "5", 1),
        (Column("a", "numeric", (0, 1, 2)), np.array([0.0, 1.5]), "-1", 0),
        (Column("a", "numeric", (0, 1, 2)), np.array([0.0, 1.5]), "0", 1),
        (Column("a", "numeric", (0, 1, 2)), np.array([0.0, 1.5]), "1.5", 2),
        (Column("a", "numeric", (0, 1, 2)), np.array([0.0, 1.5]), "NULL", None),
        (Column("a", "numeric", (0,)), np.zeros(0), "7", 0),
        (Column("a", "numeric", (0,)), np.zeros(0), "NULL", None),
    ],
)
def test_a_cell_is_its_code(column, cut, cell, wanted):
    assert read(scores.codes(column, cut, "c", D, strange="9"), c=cell) == wanted


def test_a_value_that_training_did_not_have_is_missing_unless_told():
    column = Column("a", "categorical", ("u",))
    assert scores.codes(column, None, "c", D) == (
        "CASE WHEN c IS NULL THEN NULL ELSE CASE c WHEN 'u' THEN 0 ELSE NULL END END"
    )


def test_a_code_is_looked_up():
    table = scores.looked_up("x", np.array([0.5, -np.inf]), D, "7")
    assert [read(table, x=code) for code in ("0", "1", "2", "NULL")] == [0.5, LOW, 7, 7]
    assert scores.looked_up("x", np.zeros(0), D) == "0"
    assert scores.looked_up("x", np.zeros(0), D, "7") == "7"
    assert read(scores.looked_up("x", np.array([0.5]), D), x="NULL") == 0


def test_terms_are_summed_in_brackets():
    assert scores.summed([]) == "0"
    assert scores.summed(["1", "2 - 3"]) == "(1) + (2 - 3)"


def test_nothing_times_ln_0_is_nothing():
    for x, log_p, wanted in ((0, -np.inf, 0), (1, -np.inf, scores.NONE), (2, -0.5, -1 / scores.UNIT), (0, -0.5, 0)):
        assert read(scores._times("x", log_p, D), x=x) == wanted
    assert read(scores._guarded("x", "3", D, 5.0), x="6") == scores.NONE
    assert [read(scores._guarded("x", "3", D), x=x) for x in ("NULL", "5", "'inf'::DOUBLE")] == [0, 3, 3]


def test_steps_of_columns_stand_beside_each_other():
    assert scores._beside([], []) == []
    assert scores._beside([{"a": "1"}], [{"b": "2"}, {"c": "3"}]) == [{"a": "1", "b": "2"}, {"c": "3"}]
    assert scores._beside([{"a": "1"}, {"c": "3"}], [{"b": "2"}]) == [{"a": "1", "b": "2"}, {"c": "3"}]


def test_logarithms_of_a_list_are_summed():
    some = np.log([0.25, 0.75, 0.5, 0.5, 1e-300, 0.0 + 1e-200])
    found = read(D.log_sums("a", 3, 2), a=f"[{', '.join(f'{v!r}::DOUBLE' for v in some.tolist())}]")
    np.testing.assert_allclose(found, np.logaddexp.reduce(some.reshape(3, 2), axis=1), atol=1e-12)


MODELS = {
    "gaussian": lambda: po.NaiveBayes(density="gaussian"),
    "binned": lambda: po.NaiveBayes(density="binned"),
    "kernel": lambda: po.NaiveBayes(density="kernel"),
    "auto": po.NaiveBayes,
    "unseen": lambda: po.NaiveBayes(density="gaussian", unseen="mass"),
    "empirical": lambda: po.NaiveBayes(density="gaussian", smoothing=0.5, prior="empirical"),
    "told prior": lambda: po.NaiveBayes(density="gaussian", prior={"in": 0.9, "out": 0.1}),
    "tan": lambda: po.TAN(cuts="quantile", bins=3),
    "spode": lambda: po.SPODE(cuts="quantile", bins=3, super_parent="wind"),
    "spode of none": lambda: po.SPODE(cuts="quantile", bins=3, super_parent="day"),
    "aode": lambda: po.AODE(cuts="quantile", bins=3, min_frequency=1),
    "aode rare": lambda: po.AODE(cuts="quantile", bins=3, min_frequency=21),
    "aode weighted": lambda: po.AODE(cuts="quantile", bins=3, min_frequency=1, weights="information"),
    "aode never": lambda: po.AODE(cuts="quantile", bins=3, min_frequency=1e6),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 3, N)], ids=["rows", "weights"])
def test_every_model_is_its_query(name, weights):
    agrees(MODELS[name]().fit(X, Y, sample_weight=weights), ASKED)


@pytest.mark.parametrize("name", ["gaussian", "tan", "spode", "aode", "aode never"])
def test_one_class_three_classes_and_columns_without_a_value(name):
    empty = X.assign(none=pd.Series([None] * N, dtype=object), same="a")
    asked = ASKED.assign(none="q", same=["a", "b", None, "a", "b"] * 5)
    for y in (["one"] * N, np.array(["p", "q", "r"])[np.arange(N) % 3], np.arange(N) % 2):
        agrees(MODELS[name]().fit(empty, y), asked)


def test_bins_that_em_has_cut_are_read_as_bins():
    model = po.NaiveBayes(unlabelled=None, unlabelled_weight=1).fit(X, [None, None, *Y[2:]])
    cut = [d for d in model.factored_.densities if isinstance(d, Categories) and any(c is not None for c in d.cuts)]
    assert cut
    agrees(model, ASKED)


def test_a_column_that_says_nothing_is_left_out_but_an_infinite_cell_is_not():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 200)
    model = po.NaiveBayes().fit({"noise": rng.normal(size=200), "x": rng.normal(size=200) + 2 * y}, y)
    held = [d.column(k) for d in model.factored_.densities if isinstance(d, Curves) for k in range(len(d.where))]
    assert any(isinstance(h, LeftOut) for h in held)
    rows = pd.DataFrame({"noise": [0.0, 1e6, None], "x": [0.0, 2.0, None]})
    agrees(model, rows)
    found = scored(model, rows.assign(noise=[np.inf, 0.0, 0.0]))
    assert found["decision"].isna().tolist() == [True, False, False]


@pytest.mark.parametrize("density", ["multinomial", "poisson"])
@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_counts_that_a_class_never_had(density, smoothing):
    rows = pd.DataFrame({"a": [0, 0, 3, 2], "b": [1, 2, 1, 0], "c": [1, 1, 1, 1]})
    model = po.NaiveBayes(kinds="count", density=density, smoothing=smoothing).fit(rows, ["p", "p", "q", "q"])
    asked = pd.DataFrame({"a": [0, 1, 0, 4], "b": [0, 1, 2, 1], "c": [1, 1, 0, 2]})
    agrees(model, asked)
    found = scored(model, asked.assign(c=[-1, 0, 1, 2]))
    assert found["decision"].isna().tolist() == [True, False, False, False]


def test_aode_judges_frequency_at_its_border():
    rows = pd.DataFrame({"a": ["u"] * 6 + ["v"] * 4, "b": ["s", "t"] * 5})
    y = ["p", "q", "q"] * 3 + ["p"]
    for least in (4, 4.5, 5, 6, 7):
        agrees(po.AODE(min_frequency=least).fit(rows, y), rows)


def test_a_super_parent_that_weighs_nothing_is_none():
    rows = pd.DataFrame({"a": ["u", "v"] * 20, "b": ["s", "s", "t", "t"] * 10, "c": ["k"] * 40})
    y = ["p", "q"] * 20
    model = po.AODE(min_frequency=1, weights="information").fit(rows, y)
    agrees(model, rows.assign(a=[None, *rows["a"][1:]]))
    agrees(model, pd.DataFrame({"a": [None, None], "b": [None, "s"], "c": ["k", "k"]}))


def test_what_no_query_does_is_named():
    with pytest.raises(NotStorable, match="column 'note' is text, and words are not counted in SQL"):
        po.sql(po.NaiveBayes(kinds="text").fit({"note": ["u v", "w"]}, [0, 1]), "t")
    with pytest.raises(NotStorable, match=r"this AODE keeps rows \(lazy=True\)"):
        po.sql(po.AODE(lazy=True).fit(X, Y), "t")
    with pytest.raises(NotStorable, match=r"drops values that follow from others \(subsumption\)"):
        po.sql(po.AODE(subsumption=1).fit(X, Y), "t")


def test_a_query_that_is_too_long_says_why(monkeypatch):
    from posteriori.store.sql import query

    monkeypatch.setattr(query, "MOST", 100)
    with pytest.raises(NotStorable, match="too many cells; merge rare values, or cut numbers into fewer bins"):
        po.sql(MODELS["tan"]().fit(X, Y), "t")
    monkeypatch.setattr(query, "WIDEST", 9)
    with pytest.raises(NotStorable, match=r"would have \d+ columns, and rows of PostgreSQL have 9: keep fewer"):
        po.sql(MODELS["gaussian"]().fit(X, Y), "t", "postgres")
    wide = pd.DataFrame({"few": ["a", "b"] * 20, "many": [f"v{i}" for i in range(40)]})
    with pytest.raises(NotStorable, match="most of it for column 'many'"):
        po.sql(po.NaiveBayes().fit(wide, [0, 1] * 20), "t")


@pytest.mark.parametrize("name", ["gaussian", "auto", "tan", "aode"])
def test_dialects_differ_in_their_words_alone(name):
    """The same steps and columns; DuckDB alone runs here."""
    model = MODELS[name]().fit(X, Y)
    found = {dialect: po.sql(model, "t", dialect) for dialect in DIALECTS}
    assert len({text.count("step") for text in found.values()}) == 1
    assert len({text.count(" AS x") for text in found.values()}) == 1
    assert "AS MATERIALIZED" in found["postgres"]
    assert "MATERIALIZED" not in found["duckdb"] + found["spark"]
    assert '"sky"' in found["postgres"]
    assert "`sky`" in found["spark"]
    assert "float8" not in found["duckdb"] + found["spark"]


FAR_OUT = [
    sign * x
    for x in (1e-308, 1e-200, 1e-155, 0.0, 1e140, 1e150, 1e153, 1e155, 1e200, 1e308, np.inf)
    for sign in (1, -1)
]


def column(rng, y, how):
    return {
        "plain": rng.normal(size=len(y)) + y,
        "zeros of a class": np.where(y == 0, 0.0, rng.normal(size=len(y))),
        "tiny": 1e-140 * (rng.normal(size=len(y)) + y),
        "huge": 1e140 * (rng.normal(size=len(y)) + y),
        "constant": np.full(len(y), 1e100),
        "counts": rng.poisson(1 + y).astype(float),
    }[how]


FAR_MODELS = {
    **{d: lambda d=d: po.NaiveBayes(density=d) for d in ("gaussian", "kernel", "binned", "auto")},
    **{f"{d} {s}": lambda d=d, s=s: po.NaiveBayes(kinds="count", density=d, smoothing=s)
       for d in ("multinomial", "poisson") for s in (0.0, 1.0)},
    "unsmoothed": lambda: po.NaiveBayes(density="binned", smoothing=0),
    "tan": lambda: po.TAN(),
    "spode": lambda: po.SPODE(),
    "aode": lambda: po.AODE(min_frequency=1),
}  # fmt: skip


def far_out(name, how):
    """A model, and rows of extreme cells."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    b = rng.poisson(2, 120).astype(float) if "count" in how else rng.normal(size=120) + y
    model = FAR_MODELS[name]().fit(pd.DataFrame({"a": column(rng, y, how), "b": b}), y)
    some = [*FAR_OUT, np.nan]
    return model, pd.DataFrame({"a": some * 4, "b": np.repeat([1.0, np.nan, 1e155, 1e153], len(some))})


def says_the_same(found, model, rows):
    """A row that the model refuses is NULL, one that it answers has its posterior."""
    for i in range(len(rows)):
        row = found.iloc[i][[c for c in found.columns if c.startswith("P(")]].to_numpy(float)
        try:
            wanted = model.predict_proba(rows[i : i + 1])[0]
        except (BadValue, ImpossibleEvidence):
            wanted = np.full(len(row), np.nan)
        np.testing.assert_allclose(row, wanted, atol=1e-9, err_msg=f"{rows.iloc[i].to_dict()}")


EXTREMES = [
    (name, how)
    for name in FAR_MODELS
    for how in (
        ("counts",) if "ial" in name or "poisson" in name else ("plain", "zeros of a class", "tiny", "huge", "constant")
    )
]


@pytest.mark.parametrize(("name", "how"), EXTREMES)
def test_cells_far_out_are_answered_or_refused_as_by_the_model(name, how):
    model, rows = far_out(name, how)
    says_the_same(scored(model, rows), model, rows)
