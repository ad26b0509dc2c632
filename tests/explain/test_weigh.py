"""The three ways to weigh an attribute, against the definitions: sums, absences, averages over a background; copies of
a row judged as by the model.
"""

from __future__ import annotations

import datetime
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import posteriori as po
from posteriori.errors import BadValue, ModelError
from posteriori.explain import weigh as way
from posteriori.explain.weigh import Case, Sums, log_posteriors


def model():
    X = {"warm": [1.5, 2.5, 3.5, 4.5], "sky": ["blue", "grey", "blue", None], "times": [1, 2, 3, 4]}
    return po.NaiveBayes(kinds={"times": "count"}, density="gaussian").fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize("form", [dict, lambda r: pd.DataFrame([r]), pd.Series], ids=["dict", "frame", "series"])
def test_a_row_by_its_cells(form):
    case = Case(model(), form({"sky": "blue", "times": 3, "warm": 2.0}))
    assert case.names == ("warm", "sky", "times")
    assert case.cells == [2.0, "blue", 3]
    assert [case.measured(j) for j in range(3)] == [True, False, True]
    copies = case.copies([{}, {0: 9.5, 1: "grey"}, {0: None, 1: None}])
    assert copies.names == ("warm", "sky", "times")
    warm, sky, times = copies.columns
    assert warm.dtype == times.dtype == np.float64
    assert warm.tolist()[:2] == [2.0, 9.5]
    assert np.isnan(warm[2])
    assert sky.tolist() == ["blue", "grey", None]
    assert times.tolist() == [3.0, 3.0, 3.0]
    assert case.table.n == 1


def test_empty_cells_and_numbers_in_any_spelling():
    case = Case(model(), {"warm": "2.5", "sky": None, "times": np.nan})
    assert case.cells[0] == 2.5
    assert [case.missing(j) for j in range(3)] == [False, True, True]
    when = {"d": np.array(["2020-01-01", "2020-01-03"] * 2, dtype="datetime64[D]")}
    day = po.NaiveBayes(density="gaussian").fit(when, [0, 1, 0, 1])
    assert Case(day, {"d": datetime.datetime(1970, 1, 11)}).cells == [10.0]
    for none in (pd.NA, pd.NaT, None):
        assert (
            Case(model(), pd.DataFrame({"warm": [1.0], "sky": pd.Series([none], dtype=object), "times": [1]})).cells[1]
            is None
        )


def test_one_row_it_must_be():
    for n in (0, 2):
        with pytest.raises(BadValue, match=f"explain takes one row. Got {n}"):
            Case(model(), {"warm": [1.0] * n, "sky": ["blue"] * n, "times": [1] * n})


def test_rows_without_names_are_arrays():
    X = np.arange(12.0).reshape(4, 3)
    bare = po.GaussianNB().fit(X, [0, 1, 0, 1])
    case = Case(bare, X[:1])
    assert not case.named
    copies = case.copies([{1: 9.0}])
    assert isinstance(copies, np.ndarray)
    assert copies.tolist() == [[0.0, 9.0, 2.0]]
    assert copies.dtype == np.float64
    coded = po.CategoricalNB().fit(np.array([[0, 1], [1, 0]]), [0, 1])
    assert not Case(coded, np.array([[0, 1]])).measured(0)
    assert Case(coded, np.array([[0, 1]])).copies([{0: 1}]).tolist() == [[1, 1]]


def test_a_foreign_model_gets_its_columns_in_order():
    X = pd.DataFrame({"b": [0.0, 1.0], "a": [1.0, 0.0]})
    foreign = LogisticRegression().fit(X, [0, 1])
    case = Case(foreign, {"a": 5.0, "b": 7.0})
    assert case.names == ("b", "a")
    assert case.copies([{}]).to_numpy().tolist() == [[7.0, 5.0]]
    assert not Case(foreign, pd.DataFrame({"b": [True], "a": [1.0]})).measured(0)


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return pd.DataFrame({"a": rng.normal(y), "b": rng.normal(-y), "c": rng.normal(size=n)}), np.array(["p", "q", "r"])[
        y
    ]


def test_parts_of_a_sum_add_up():
    X, y = rows()
    model = po.NaiveBayes(density="gaussian").fit(X, y)
    how, prior, parts, together = way.weigh(model, Case(model, X[:1]), None, 2, 0)
    log = model.predict_log_proba(X[:1])[0]
    assert how == "sum"
    assert together == 0.0
    assert prior == pytest.approx(model.factored_.log_prior[2] - model.factored_.log_prior[0])
    assert prior + parts.sum() == pytest.approx(log[2] - log[0])


def test_absence_is_the_difference_that_a_cell_makes():
    X, y = rows()
    model = po.AODE(cuts="width", bins=3).fit(X, y)
    how, prior, parts, together = way.weigh(model, Case(model, X[:1]), None, 1, 0)
    assert how == "absence"
    whole = model.predict_log_proba(X[:1])[0]
    for j, name in enumerate(X.columns):
        less = model.predict_log_proba(X[:1].assign(**{name: np.nan}))[0]
        assert parts[j] == pytest.approx((whole[1] - whole[0]) - (less[1] - less[0]))
    assert prior + parts.sum() + together == pytest.approx(whole[1] - whole[0])
    count = np.asarray(model.class_count_)
    assert prior == pytest.approx(np.log(count[1] / count[0]))


@pytest.mark.parametrize("model", [LogisticRegression(), KNeighborsClassifier(20)], ids=repr)
def test_average_is_over_the_values_of_a_background(model):
    X, y = rows()
    model.fit(X, y)
    background = X[5:25]
    how, prior, parts, together = way.weigh(model, Case(model, X[:1]), background, 2, 1)
    assert how == "average"
    assert prior == 0.0
    least = 1e-3
    p = np.maximum(model.predict_proba(X[:1])[0], least)
    whole = np.log(p[2] / p[1])
    for j, name in enumerate(X.columns):
        copies = pd.concat([X[:1]] * 20, ignore_index=True).assign(**{name: background[name].to_numpy()})
        mean = np.maximum(model.predict_proba(copies), least).mean(axis=0)
        assert parts[j] == pytest.approx(whole - np.log(mean[2] / mean[1]))
    assert prior + parts.sum() + together == pytest.approx(whole)
    with pytest.raises(ModelError, match="give background="):
        way.weigh(model, Case(model, X[:1]), None, 2, 1)


def test_a_model_of_neighbours_has_rows_of_its_own():
    X, y = rows()
    model = po.KNeighborsClassifier(15).fit(X.to_numpy(), y)
    assert way.weigh(model, Case(model, X[:1].to_numpy()), None, 2, 1)[0] == "average"
    assert way.kept_rows(object()) is None
    with pytest.raises(ModelError, match="give it row"):
        way.weigh(model, Case(model, sparse.csr_array(X[:1].to_numpy())), None, 2, 1)


def test_a_background_is_thinned_and_matched_by_name(monkeypatch):
    X, y = rows()
    model = LogisticRegression().fit(X, y)
    cells = way._background(model, X[["c", "a", "b"]])
    assert cells[0] == X["a"].tolist()
    monkeypatch.setattr(way, "MOST_BACKGROUND", 10)
    few = way._background(model, X)
    assert len(few[0]) == 10
    assert (few[0][0], few[0][-1]) == (X["a"][0], X["a"].iloc[-1])
    monkeypatch.setattr(way, "MOST_CELLS", 1)
    assert len(way._background(model, X)[0]) == 8  # at least so many
    case = Case(model, X[:1])
    assert way.log_posteriors(model, case, [{0: float(v)} for v in range(5)]).shape == (5, 3)


def test_odds_where_classes_are_impossible():
    inf = -np.inf
    assert way.odds(np.array([inf, inf, 0.0]), 0, 1) == 0.0
    assert way.odds(np.array([inf, 0.0]), 0, 1) == inf
    assert way.odds(np.array([0.0, inf]), 0, 1) == np.inf
    assert way.odds(np.array([[1.0, 3.0]]), 1, 0).tolist() == [2.0]
    assert way.floor_of(po.NaiveBayes()) == -np.inf
    assert way.floor_of(LogisticRegression()) == pytest.approx(np.log(1e-3))


def test_a_copy_that_no_class_allows_is_impossible_in_all():
    X = {"a": ["u", "v"] * 5, "b": ["u", "v"] * 5}
    model = po.NaiveBayes(smoothing=0.0, unseen="mass").fit(X, [0, 1] * 5)
    case = Case(model, {"a": "u", "b": "u"})
    found = way.log_posteriors(model, case, [{}, {1: "v"}])
    assert found[0].tolist() == pytest.approx([0.0, -np.inf])
    assert np.isneginf(found[1]).all()


def test_priors_as_far_as_a_model_tells_them():
    class Told:
        classes_ = np.array([0, 1])
        class_count_ = np.array([1.0, 3.0])

    assert way._log_prior(Told()) == pytest.approx(np.log([0.25, 0.75]))
    Told.class_prior_ = np.array([1.0, 0.0])
    assert way._log_prior(Told()).tolist() == [0.0, -np.inf]


@pytest.mark.parametrize("name", ["BayesForest", "BoostedBayes", "AutoBayes"])
def test_however_sure_a_model_is_what_a_column_adds_is_measured_on_one_scale(name):
    """The part of x_j is the log-odds of the row less those without x_j, though both are beyond a thousand to one."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = pd.DataFrame({"a": rng.normal(6 * y, 1), "b": rng.normal(6 * y, 1), "c": rng.normal(size=300)})
    options = {"n_trees": 15, "n_members": 5} if name != "BoostedBayes" else {"max_rounds": 60}
    model = getattr(po, name)(random_state=0, **options).fit(X, y)
    row = X.iloc[[int(model.predict_proba(X)[:150, 0].argmax())]]
    how, prior, parts, together = way.weigh(model, Case(model, row), None, 0, 1)
    logs, without = model.predict_log_proba(row)[0], model._log_without(row)[0]
    assert how == "absence"
    assert name == "AutoBayes" or logs[0] - logs[1] > np.log(1000)  # a pool is never so sure of 300 rows
    assert prior + parts.sum() + together == pytest.approx(logs[0] - logs[1])
    assert parts == pytest.approx(logs[0] - logs[1] - (without[:, 0] - without[:, 1]), abs=1e-9)


def test_zeros_of_votes_weigh_as_one_in_a_thousand_with_and_without_a_column():
    X, y = pd.DataFrame({"a": np.repeat([0.0, 9.0], 20), "b": np.tile([0.0, 1.0], 20)}), np.repeat([0, 1], 20)
    model = po.KNeighborsClassifier(3, metric="gower").fit(X, y)
    _, prior, parts, together = way.weigh(model, Case(model, X.iloc[[0]]), None, 0, 1)
    assert np.isfinite([prior, *parts, together]).all()
    assert prior + parts.sum() + together == pytest.approx(np.log(1000.0))


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["x", "y", "z"], n), "c": rng.integers(0, 2, n)})
    X["d"] = rng.choice(["u", "v"], n)
    X.loc[::7, "a"] = np.nan
    return X, rng.integers(0, 3, n)


values = {
    0: st.floats(-3, 3),
    1: st.sampled_from(["x", "y", "z", "never"]),
    2: st.sampled_from([0, 1]),
    3: st.just("v"),
}
changes = st.fixed_dictionaries({}, optional=values)


@given(st.integers(0, 50), st.lists(changes, min_size=1, max_size=12), st.sampled_from([0.0, 1.0]))
@settings(max_examples=40, deadline=None)
def test_copies_are_judged_as_by_the_model(seed, changed, smoothing):
    X, y = table(seed=seed % 5)
    model = po.NaiveBayes(smoothing=smoothing).fit(X, y)
    case = Case(model, X.iloc[seed].to_dict())
    judge = Sums(model, case)
    for part in (changed, changed[::-1]):  # what is known by now is not asked again
        expected = log_posteriors(model, case, part)
        found = judge(part)
        assert np.array_equal(np.isneginf(found), np.isneginf(expected))
        assert np.allclose(np.exp(found), np.exp(expected), atol=1e-9)


def test_ten_thousand_columns_take_seconds():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.choice(["a", "b", "c"], (100, 5000)), columns=[f"c{j}" for j in range(5000)])
    y = np.arange(100) % 2
    model = po.NaiveBayes().fit(X, y)
    start = time.process_time()
    why = model.explain(X.iloc[0].to_dict())
    assert len(why.parts) == 5000
    assert time.process_time() - start < 60  # it was minutes


@pytest.mark.parametrize("cells", [1, 30, 1 << 60])
def test_as_many_rows_are_made_as_there_are_values_whatever_there_is_room_for(monkeypatch, cells):
    """A row of a small table once took seconds: rows of nothing were made until a block was full."""
    X, y = table()
    model = po.NaiveBayes().fit(X, y)
    case, made = Case(model, X.iloc[1].to_dict()), []
    changed = [{0: v} for v in (0.5, 1.5, -1.0)] + [{1: "x", 0: 0.5}, {}]
    expected = log_posteriors(model, case, changed)
    monkeypatch.setattr(way, "MOST_CELLS", cells)
    own = Case.copies
    monkeypatch.setattr(Case, "copies", lambda self, rows: (made.extend(rows), own(self, rows))[1])
    assert np.exp(Sums(model, case)(changed)) == pytest.approx(np.exp(expected), abs=1e-9)
    assert [row for row in made if row] == [{0: 0.5, 1: "x"}, {0: 1.5}, {0: -1.0}]


@pytest.mark.parametrize(
    ("whole", "rest", "prior", "parts", "together"),
    [
        (1.0, [0.25, 1.5], 0.5, [0.75, -0.5], 0.25),
        (np.inf, [0.0, 0.0], 0.0, [np.inf, np.inf], 0.0),  # ∞ − ∞: nothing is left to say
        (np.inf, [np.inf, np.inf], 0.5, [0.0, 0.0], np.inf),
        (-np.inf, [-np.inf, -np.inf], 0.5, [0.0, 0.0], -np.inf),
        (-np.inf, [0.0, 1.0], 0.0, [-np.inf, -np.inf], 0.0),
        (1.0, [-np.inf, 0.0], 0.0, [np.inf, 1.0], -np.inf),
        (1.0, [np.inf, 0.0], 0.0, [-np.inf, 1.0], np.inf),
        (1.0, [0.5, 0.5], np.inf, [0.5, 0.5], -np.inf),
    ],
)
def test_what_columns_say_and_what_they_say_together(monkeypatch, whole, rest, prior, parts, together):
    """parts = whole − rest, together = whole − prior − Σ parts, where infinities do not meet."""
    given = iter([np.array([whole]), np.array(rest), np.array(prior)])
    monkeypatch.setattr(way, "odds", lambda *_: next(given))
    monkeypatch.setattr(way, "floor_of", lambda model: -np.inf)
    monkeypatch.setattr(way, "log_posterior", lambda model, rows: np.zeros((1, 2)))
    monkeypatch.setattr(way, "_without", lambda model, case: np.zeros((2, 2)))
    monkeypatch.setattr(way, "_log_prior", lambda model: np.zeros(2))
    found = way.weigh(object(), SimpleNamespace(sparse=False, copies=lambda changes: None), None, 1, 0)
    assert found[:2] == ("absence", prior)
    assert found[2].tolist() == parts
    assert found[3] == together
