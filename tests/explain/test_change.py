"""The least change is one, and the least."""

from __future__ import annotations

import re
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.explain import change as search


def fewest(model, row, values):
    """By trying everything: the least number of cells to change for another answer, or None."""
    said = model.predict([row])[0]
    for n in range(1, len(row) + 1):
        for where in combinations(range(len(row)), n):
            for cells in product(*(values[j] for j in where)):
                other = list(row)
                for j, cell in zip(where, cells):
                    other[j] = cell
                if model.predict([other])[0] != said:
                    return n
    return None


@given(seed=st.integers(0, 10_000), K=st.integers(2, 4))
@settings(max_examples=40)
def test_naive_bayes_changes_as_few_attributes_as_can_be(seed, K):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 3, (40, 5)), rng.integers(0, K, 40)
    X[:, :2] = np.where(rng.random((40, 2)) < 0.6, y[:, None] % 3, X[:, :2])
    model = po.NaiveBayes(kinds="categorical").fit(X, y)
    row = X[0].tolist()
    why = model.explain([row])
    least = fewest(model, row, [list(c.values) for c in model.schema_.columns])
    if least is None:
        assert why.changes == ()
    else:
        assert {len(c.values) for c in why.changes} == {least}
    for change in why.changes:
        other = [change.values.get(f"x{j}", (None, cell))[1] for j, cell in enumerate(row)]
        assert model.predict([other])[0] == change.decision != why.decision
        assert change.probability == pytest.approx(model.predict_proba([other])[0].max())
        assert all(old == row[int(name[1:])] for name, (old, _) in change.values.items())


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-6, 1.0, 1e9]))
@settings(max_examples=25)
def test_a_number_moves_no_further_than_to_the_border(seed, scale):
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(0, 1, 50), rng.normal(3, 1, 50)]) * scale
    model = po.GaussianBayes("tied").fit(x[:, None], np.repeat(["low", "high"], 50))
    border = model.means_.mean()  # equal shares and one variance: midway
    at = float(x[rng.integers(100)])
    (change,) = model.explain([[at]]).changes
    ((_, to),) = change.values.values()
    assert abs(to - at) == pytest.approx(abs(border - at), abs=0.26 * abs(border - at) + 1e-4 * scale)
    assert model.predict([[to]])[0] != model.predict([[at]])[0]


def test_whole_numbers_stay_whole():
    rng = np.random.default_rng(1)
    age = np.concatenate([rng.integers(18, 40, 60), rng.integers(35, 90, 60)])
    model = po.NaiveBayes(density="gaussian").fit(pd.DataFrame({"age": age}), np.repeat([0, 1], 60))
    ((_, to),) = model.explain({"age": 20}).changes[0].values.values()
    assert float(to).is_integer()


def test_fixed_columns_stay():
    X = pd.DataFrame({"a": list("ppqq") * 5, "b": list("uuvv") * 5})
    model = po.NaiveBayes().fit(X, [0, 0, 1, 1] * 5)
    assert {n for c in model.explain({"a": "p", "b": "u"}).changes for n in c.values} == {"a", "b"}
    both = model.explain({"a": "p", "b": "u"}, fixed=["a", "b"])
    assert both.changes == ()
    one = model.explain({"a": "p", "b": "v"}, fixed=["a"])
    assert all(set(c.values) == {"b"} for c in one.changes)


def test_a_missing_cell_may_be_filled():
    X = pd.DataFrame({"a": list("ppqq") * 5, "n": [0.0, 0.1, 5.0, 5.1] * 5})
    model = po.NaiveBayes(density="gaussian").fit(X, [0, 0, 1, 1] * 5)
    changes = model.explain({"a": "p", "n": None}).changes
    assert changes
    for change in changes:
        row = {"a": "p", "n": np.nan} | {name: new for name, (_, new) in change.values.items()}
        assert model.predict(row)[0] == change.decision


def test_a_wide_table_is_searched_within_bounds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2000))
    X[25:, 7] += 6
    model = po.GaussianNB().fit(X, np.repeat([0, 1], 25))
    why = model.explain(X[[0]])
    assert why.changes == () or all(len(c.values) <= 5 for c in why.changes)


@pytest.mark.parametrize("density", ["auto", "gaussian", "kernel", "binned"])
def test_a_number_of_any_density_moves(density):
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(0, 1, 60), rng.normal(4, 1, 60)])[:, None]
    model = po.NaiveBayes(density=density).fit(X, np.repeat([0, 1], 60))
    (change,) = model.explain([[0.5]]).changes
    assert model.predict([[change.values["x0"][1]]])[0] == change.decision == 1


@pytest.mark.parametrize("cls", [po.NaiveBayes, po.TAN, po.SPODE, po.KDB, po.AODE, po.A2DE])
def test_a_change_that_no_class_allows_leads_nowhere(cls):
    model = cls(smoothing=0).fit(pd.DataFrame({"a": list("ppqqrr"), "b": list("uvuvww")}), [0, 0, 1, 1, 2, 2])
    why = model.explain({"a": "p", "b": "u"})
    assert [str(c) for c in why.changes] == ["a: p → q gives 1"]  # r or w beside the other's values: impossible


@pytest.mark.parametrize("scale", [1e-320, 1e-100, 1e100, 1e308])
def test_numbers_of_any_scale_move(scale):
    x = np.linspace(-1, 1, 40)[:, None] * scale
    model = po.KNeighborsClassifier(1).fit(x, np.repeat([0, 1], 20))
    (change,) = model.explain(x[[4]]).changes
    assert model.predict([[change.values["x0"][1]]])[0] == change.decision == 1


def test_codes_become_other_codes_and_bits_other_bits():
    rng = np.random.default_rng(0)
    C = rng.integers(0, 4, (100, 3))
    y = (C[:, 0] > 1).astype(int)
    for model in (po.CategoricalNB(), po.BernoulliNB(binarize=1.5)):
        why = model.fit(C, y).explain(C[[0]])
        assert why.changes
        for change in why.changes:
            row = [change.values.get(f"x{j}", (0, cell))[1] for j, cell in enumerate(C[0].tolist())]
            assert model.predict([row])[0] == change.decision != why.decision


def test_shares_are_no_whole_numbers():
    share = np.linspace(0, 1, 101)
    model = po.GaussianNB().fit(share[:, None], share > 0.5)
    ((_, to),) = model.explain([[0.0]]).changes[0].values.values()
    assert 0.5 < to <= 0.6


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15)
def test_of_many_classes_the_one_nearest_is_found(seed):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.zeros(60, int), rng.integers(1, 12, 120)])
    X = np.where(rng.random((180, 4)) < 0.6, (y[:, None] * [1, 5, 7, 3]) % 3, rng.integers(0, 3, (180, 4)))
    model = po.NaiveBayes(kinds="categorical").fit(X, y)
    row = X[int(np.argmax(model.predict_proba(X).max(axis=1)))].tolist()
    least = fewest(model, row, [list(c.values) for c in model.schema_.columns])
    assert {len(c.values) for c in model.explain([row]).changes} == ({least} if least else set())


def test_the_search_is_bounded_in_wide_tables(monkeypatch):
    from posteriori.explain import weigh, why  # `why` takes its own from `weigh` as it is imported

    X = np.random.default_rng(0).normal(size=(40, 3000))
    model, seen = po.GaussianNB().fit(X, np.repeat([0, 1], 20)), []
    real = weigh.log_posterior
    for room in (weigh, why):
        monkeypatch.setattr(room, "log_posterior", lambda m, table: seen.append(table.size) or real(m, table))
    model.explain(X[[0]])
    assert max(seen) <= weigh.MOST_CELLS
    assert sum(seen) <= 40 * weigh.MOST_CELLS


def test_missing_in_any_spelling():
    X = pd.DataFrame({"n": [0.0, 0.1, 5.0, 5.1] * 5, "a": list("ppqq") * 5})
    model = po.NaiveBayes().fit(X, [0, 0, 1, 1] * 5)
    said = [str(model.explain({"n": v, "a": "p"})) for v in (None, np.nan, pd.NA, pd.NaT)]
    assert len(set(said)) == 1


def dated(seed, kind=po.NaiveBayes, n=150):
    """A table with a date and its parts, as a file's dates become columns."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    when = pd.Timestamp("2020-01-10") + pd.to_timedelta(rng.integers(0, 200, n) + 20 * y, unit="D")
    X = pd.DataFrame({"d": when, "x": rng.normal(y)})
    X["d.month"] = X["d"].dt.month.astype(object)
    X["d.weekday"] = X["d"].dt.day_of_week.astype(object)
    return kind(kinds={"d.month": "categorical", "d.weekday": "categorical"}).fit(X, y), X


@pytest.mark.parametrize("kind", [po.NaiveBayes, po.TAN, po.AODE], ids=["naive", "TAN", "AODE"])
@given(seed=st.integers(0, 200))
@settings(max_examples=8, deadline=None)
def test_the_parts_of_a_date_change_with_their_date_alone(kind, seed):
    model, X = dated(seed % 5, kind)
    row = X.iloc[[seed % len(X)]]
    why = model.explain(row)
    assert {p.column: p.value for p in why.parts}["d"] == row["d"].iloc[0].date()
    for change in why.changes:
        moved = {name: new for name, (_, new) in change.values.items()}
        other = row.assign(**{name: [new] for name, new in moved.items()})
        other["d"] = pd.to_datetime(other["d"])
        assert other["d.month"].iloc[0] == other["d"].dt.month.iloc[0]
        assert other["d.weekday"].iloc[0] == other["d"].dt.day_of_week.iloc[0]
        assert model.predict(other)[0] == change.decision != why.decision
        assert "d." not in str(change)
        if "d" in moved:
            day = moved["d"]
            assert str(day) in str(change)
            assert len(str(day)) == 10  # a whole day, as all are


def test_a_date_whose_month_is_fixed_stays():
    model, X = dated(0)
    for i in range(10):
        row = X.iloc[[i]]
        assert all("d" not in c.values for c in model.explain(row, fixed=["d.month"]).changes)
        assert all(set(c.values) == {"x"} for c in model.explain(row, fixed=["d"]).changes)


@pytest.mark.parametrize("form", ["frame", "series", "dict", "arrow"])
def test_a_date_is_one_whatever_it_comes_as(form):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = pd.DataFrame(
        {"when": pd.Timestamp("2020-01-10") + pd.to_timedelta(100 * y + rng.integers(0, 90, 100), unit="D")}
    )
    X["x"] = rng.normal(size=100)
    row = X.iloc[[5]]
    if form == "arrow":
        row = pytest.importorskip("pyarrow").Table.from_pandas(row)
    row = {"frame": row, "arrow": row, "series": X.iloc[5], "dict": X.iloc[5].to_dict()}[form]
    why = po.NaiveBayes().fit(X, y).explain(row)
    assert {p.column: str(p.value) for p in why.parts}["when"] == str(X["when"][5].date())
    (change,) = [c for c in why.changes if "when" in c.values]
    assert re.match(r"when: 2020-\d\d-\d\d → 2020-\d\d-\d\d gives", str(change))


def test_spans_of_time_are_no_dates():
    X = pd.DataFrame({"span": pd.to_timedelta(np.arange(40) % 20, unit="D"), "x": np.arange(40.0)})
    why = po.NaiveBayes().fit(X, np.arange(40) % 20 > 9).explain(X.iloc[[3]])
    assert {p.column: p.value for p in why.parts}["span"] == 3.0


@pytest.mark.parametrize("seed", range(2))
def test_of_many_numbers_the_nearest_are_looked_at_closely(monkeypatch, seed):
    """Which they are hangs on no unit, and the least change is the one among all of them."""
    rng = np.random.default_rng(seed)
    y = np.arange(80) % 2
    apart, unit = rng.permutation([3.0, 4.5, 7.0, 12.0]), 10.0 ** rng.integers(-3, 4, 4)
    X = (rng.normal(size=(80, 4)) + apart * y[:, None]) * unit + 7
    model = po.NaiveBayes(density="gaussian").fit(X, y)
    row = (0.45 * apart * unit + 7)[None]
    (least, *_) = model.explain(row).changes
    monkeypatch.setattr(search, "MANY", 2)
    monkeypatch.setattr(search, "FEW", 1)
    (found, *others) = model.explain(row).changes
    assert found == least
    assert len(others) == 0


@pytest.mark.parametrize(("number", "whole"), [(search.LARGE, False), (search.LARGE - 1, True), (0.5, False)])
def test_numbers_are_whole_below_a_bound(number, whole):
    assert search._range([1.0, float("nan"), number]) == (min(1.0, number), max(1.0, number), whole)
