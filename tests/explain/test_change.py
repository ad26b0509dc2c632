"""The least change is one, and the least."""

from __future__ import annotations

import math
import re
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.explain import change as search
from posteriori.explain.weigh import Case, Sums


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


class Said:
    """A model that says of a row what it is told to: ln P(y|x)."""

    def __init__(self, said, n=2, **more):
        self.said, self.classes_, self.asked = said, np.arange(n), []
        vars(self).update(more)

    def predict_log_proba(self, X):
        self.asked += np.asarray(X).tolist()
        return np.array([self.said(*row) for row in np.asarray(X)])


def two(z):
    """ln P(y|x) of two classes, the second's odds being e^z."""
    return [-math.log1p(math.exp(z)), -math.log1p(math.exp(-z))]


def judge_of(said, row, n=2, **more):
    model = Said(said, n, **more)
    return search.Judge(model, Case(model, np.array([row], dtype=object)), lambda logs: logs.argmax(axis=1), 0)


def test_of_one_attribute_the_nearest_values_that_turn_it_least_move_first():
    """x0 turns it beyond 3.3, x1 below −1, x2 never; by their ranges x1 moves less, though it is tried last."""
    judge = judge_of(lambda a, b, c: two(max(a - 3.3, -1 - b)), [0.0, 0.0, 5.0])
    grids = [np.linspace(0, 10, 25)[1:].tolist(), np.linspace(-4, 0, 25)[:-1].tolist(), [1.0, 2.0]]
    found = search.least_changes(judge, grids, np.array([-3.0, 1.0, 2.0]), 0, ["no", "yes"], 5)
    assert [c.values for c in found] == [{"x1": (0.0, -1.1)}, {"x0": (0.0, 4.0)}]
    assert {c.decision for c in found} == {"yes"}
    assert [c.probability for c in found] == pytest.approx([math.exp(two(z)[1]) for z in (0.1, 0.7)])
    assert search.least_changes(judge, grids, np.zeros(3), 0, ["no", "yes"], 1) == found[:1]
    assert search.least_changes(judge, [[], [], [1.0]], np.zeros(3), 0, ["no", "yes"], 3) == ()
    assert search.least_changes(judge, [[], [], []], np.zeros(3), 0, ["no", "yes"], 3) == ()


@pytest.mark.parametrize(
    ("tried", "cells", "lazy", "sums", "room"),
    [(150, 10**6, False, False, 150), (50, 10**6, False, False, 100), (150, 3 * 130, False, False, 130)]
    + [(150, 3, False, False, 100), (150, 3, False, True, 150), (150, 10**6, True, False, 7), (5, 3, True, True, 5)],
)
def test_the_strongest_attributes_are_tried_as_far_as_there_is_room(monkeypatch, tried, cells, lazy, sums, room):
    monkeypatch.setattr(search, "MOST_TRIED", tried)
    monkeypatch.setattr(search, "MOST_CELLS", cells)
    monkeypatch.setattr(search, "MOST_LAZY", 7)
    asked = []

    def judged(changes):
        asked.append(changes)
        return np.zeros((len(changes), 2)), np.ones(len(changes), dtype=int)

    case = SimpleNamespace(measured=lambda j: False, missing=lambda j: False)
    judge = Plain(judged, case, lazy=lazy, sums=sums or None)
    for more in (0, 1):  # the last fits exactly, or not
        choices = [list(range(room - 3)), [1, 2], [5] * (1 + more)]
        with pytest.raises(Told):  # so far it came
            search.least_changes(judge, choices, np.array([1.0, -3.0, 2.0]), 0, [0, 1], 3)
        some = [{1: 1}, {1: 2}, {2: 5}, *([{2: 5}] if more else [{0: v} for v in range(room - 3)])]
        assert asked.pop() == some


class Told(Exception):
    """That a change was found."""


class Plain:
    """A judge of which only the answers matter."""

    decided = 0

    def __init__(self, judged, case, **more):
        self.judged, self.case = judged, case
        vars(self).update(more)

    def __call__(self, changes):
        return self.judged(changes)

    @property
    def model(self):
        raise Told


def test_where_one_attribute_is_not_enough_several_are_moved_no_further_than_needed():
    judge = judge_of(lambda a, b, c: two(a + b - 10), [0.0, 0.0, 0.0])
    grids = [[0.5, 8.0], [0.25, 8.0], [1.0, 9.0]]
    (found,) = search.least_changes(judge, grids, np.zeros(3), 0, ["no", "yes"], 3)
    assert found.values == {"x0": (0.0, 2.1), "x1": (0.0, 8.0)}  # x0 beyond 2 beside x1 = 8, then x1 beyond 7.9
    assert found.decision == "yes"
    assert search.least_changes(judge, [g[:1] for g in grids], np.zeros(3), 0, ["no", "yes"], 3) == ()
    lazy = judge_of(lambda a, b, c: two(a + b - 10), [0.0, 0.0, 0.0], _stored=True)
    assert search.least_changes(lazy, grids, np.zeros(3), 0, ["no", "yes"], 3) == ()
    assert len(lazy.model.asked) == 6
    empty = judge_of(lambda a, b: two((a == a and a) + b - 10), [float("nan"), 0.0])
    (found,) = search.least_changes(empty, grids[:2], np.zeros(2), 0, ["no", "yes"], 3)
    assert found.values == {"x0": (None, 8.0), "x1": (0.0, 2.1)}  # from an empty cell nothing is near


def test_of_the_rivals_the_one_with_the_fewest_changes_is_told():
    """Class 1 leads from the start and needs three cells, class 2 two."""

    def said(*x):
        return [0.0, -2.5 + x[0] + x[1] + x[2], -3.5 + 2 * (x[3] + x[4])]

    judge = judge_of(said, [0.0] * 5, 3, _log_joint=None)
    (found,) = search.least_changes(judge, [[1.0]] * 5, np.zeros(5), 0, list("pqr"), 3)
    assert found.decision == "r"
    assert set(found.values) == {"x3", "x4"}


@pytest.mark.parametrize(("needed", "found"), [(1, 1), (3, 3), (5, 5), (6, 0)])
def test_as_many_are_gathered_as_turn_it_and_not_more_than_five(needed, found):
    judge = judge_of(lambda *x: two(sum(x) - needed + 0.5), [0.0] * 7)
    singles = [{j: 1.0} for j in range(7)]
    logs = judge(singles)[0]
    values = search._gathered(judge, singles, logs, 1, 0)
    assert values == ({j: 1.0 for j in range(found)} if found else None)
    assert search._gathered(judge, singles[:2], logs[:2], 1, 0) == ({0: 1.0} if needed == 1 else None)


def test_the_strongest_are_gathered_first_and_what_was_not_needed_is_taken_back():
    gain = [1.0, 1.2, 0.9, 0.1]
    judge = judge_of(lambda *x: two(float(np.dot(x, gain)) - 2.15), [0.0] * 4)
    singles = [{0: 1.0}, {1: 0.5}, {1: 1.0}, {2: 1.0}, {3: 1.0}]
    assert search._gathered(judge, singles, judge(singles)[0], 1, 0) == {1: 1.0, 0: 1.0}
    apart = judge_of(lambda *x: two(1.2 * x[1] * (1 - x[0] * x[2]) + x[0] + 0.9 * x[2] - 1.85), [0.0] * 4)
    singles = [{j: 1.0} for j in range(3)]
    assert search._gathered(apart, singles, apart(singles)[0], 1, 0) == {1: 1.0, 0: 1.0}
    apart = judge_of(lambda *x: two(1.2 * x[1] * (1 - x[2]) + x[0] + 1.3 * x[0] * x[2] - 2.25), [0.0] * 4)
    assert search._gathered(apart, singles, apart(singles)[0], 1, 0) == {0: 1.0, 2: 1.0}


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_rivals_by_how_many_gains_bring_them_to_the_front(seed):
    rng = np.random.default_rng(seed)
    K, best = 8, int(rng.integers(8))
    start, gain = rng.normal(-4, 2, K), np.round(rng.normal(0, 1, (7, 3, K)), 2)
    start[best], columns = 0.0, rng.permutation(7).tolist()
    singles = [{j: float(v)} for j in columns for v in range(1, 2 + j % 3)]

    def said(*x):
        return [s + sum(gain[j, int(v) - 1, c] for j, v in enumerate(x) if v) for c, s in enumerate(start)]

    judge = judge_of(said, [0.0] * 7, K, _log_joint=None)
    need = []
    for c in set(range(K)) - {best}:
        most = sorted((max(gain[j, v, c] - gain[j, v, best] for v in range(1 + j % 3)) for j in columns), reverse=True)
        fronts = [start[c] - start[best] + sum(most[:n]) for n in range(1, 6)]
        need.append((sum(f <= 0 for f in fronts), -fronts[-1], c))
    found = search._rivals(judge, singles, judge(singles)[0], best)
    assert found == [c for _, _, c in sorted(need)[:5]]


def test_the_odds_of_a_row_that_no_class_allows_are_as_little_as_can_be():
    logs = np.array([[-9.0, -1.0], [-np.inf, -np.inf], [-np.inf, 0.0], [-2.0, -0.5]])
    of_sums = judge_of(two, [0.0], _log_joint=None)
    assert of_sums.odds(logs, 0, 1).tolist() == [-8.0, -np.inf, -np.inf, -1.5]
    of_votes = judge_of(two, [0.0])
    least = math.log(1e-3)
    assert of_votes.odds(logs, 0, 1).tolist() == [least + 1, -np.inf, least, -1.5]


def test_a_judge_tells_how_its_model_is_asked():
    assert judge_of(two, [0.0], _stored=True).lazy is True
    assert judge_of(two, [0.0]).lazy is False
    assert judge_of(two, [0.0]).sums is None
    model = po.NaiveBayes().fit({"a": list("pq")}, [0, 1])
    assert isinstance(search.Judge(model, Case(model, {"a": "p"}), np.argmax, 0).sums, Sums)
    judge = judge_of(two, [-1.0])
    logs, acts = judge([{}, {0: 2.0}])
    assert logs.tolist() == [two(-1.0), two(2.0)]
    assert acts.tolist() == [0, 1]
    assert judge.turned([{}, {0: 2.0}]).tolist() == [False, True]


def test_the_nearest_of_numbers_lies_at_the_first_border_and_of_names_at_the_surest():
    judge = judge_of(lambda a, b, c: two(1.0 if 3 < a < 4 or a > 8 or b == "q" else -1.0), [0.0, "p", float("nan")])
    turning = {
        0: [(10.0, -0.5), (9.0, -0.1)],
        1: [("q", -0.4), ("r", -0.3), ("s", -0.7)],
        2: [(1.0, -2.0), (5.0, -1.0)],
    }
    tried = [[1.5, 9.0, 10.0], ["q", "r", "s"], [1.0, 5.0]]
    found = search._nearest(judge, {}, turning, tried)
    assert found == {1: ((1.0, 0.3), "r"), 2: ((1.0, 1.0), 5.0), 0: ((3.1 / 8.5, 0.0), 3.1)}
    back = judge_of(lambda a: two(40 - a), [100.5])  # whole numbers would be told as such: the row's own is none
    assert search._nearest(back, {}, {0: [(0.0, 0.0), (7.0, 0.0)]}, [[0.0, 7.0, 110.0]]) == {
        0: ((70.5 / 110, 0.0), 30.0)
    }
    whole = judge_of(lambda a: two(19.9 - a), [100.0])
    assert search._nearest(whole, {}, {0: [(7.0, 0.0)]}, [[7.0, 107.0]]) == {0: ((0.81, 0.0), 19.0)}
    beside = judge_of(lambda a, b: two(a + b - 10), [0.0, 0.0])
    assert search._nearest(beside, {1: 8.0}, {0: [(9.0, 0.0)]}, [[1.0, 9.0], []]) == {0: ((3 / 8, 0.0), 3.0)}


@pytest.mark.parametrize(
    ("own", "to", "width", "whole", "turns", "told"),
    [
        (10.0, 12.3, 50.0, True, lambda v: v > 12.2, 13.0),
        (10.0, 12.3, 50.0, True, lambda v: v > 11.5, 12.0),
        (10.0, 7.6, 50.0, True, lambda v: v < 7.7, 7.0),
        (10.0, 7.6, 50.0, True, lambda v: v < 8.7, 8.0),
        (0.0, 0.8, 9.0, False, lambda v: v > 0.7, 1.0),  # a quarter further is near enough
        (0.0, 0.79, 9.0, False, lambda v: v > 0.7, 0.8),
        (5.0, 4.1, 9.0, False, lambda v: v < 4.3, 4.0),
        (5.0, 4.25, 9.0, False, lambda v: v < 4.3, 4.2),
        (0.0, 0.0113, 100.0, False, lambda v: v > 0.0112, 0.012),
        (0.0, 1.23e-5, 100.0, False, lambda v: v > 1.2e-5, 0.001),  # the sixth digit of the range is the last
        (0.0, 1.23e-5, 100.0, False, lambda v: v < 0.0005, 1.23e-5),  # no number of few digits turns it
    ],
)
def test_a_number_of_few_digits_that_turns_it_too(own, to, width, whole, turns, told):
    judge = judge_of(lambda a, b: two(1.0 if b == 7 and turns(a) else -1.0), [own, 0.0])
    assert search._short(judge, {1: 7.0}, 0, own, to, width, whole) == told


@pytest.mark.parametrize(
    ("value", "way", "width", "digits", "told"),
    [
        (3.14159, math.ceil, 20.0, 2, 3.2),
        (3.14159, math.floor, 20.0, 2, 3.1),
        (-3.14159, math.floor, 20.0, 0, -10.0),
        (0.0123, math.ceil, 0.0, 1, 0.013),
        (-0.0123, math.floor, 0.0, 1, -0.013),
        (0.0, math.ceil, 0.0, 3, 0.0),
        (2.5, math.ceil, math.inf, 0, 2.5),
        (3.3e307, math.ceil, 2e307, 0, 4e307),
        (3.3e307, math.ceil, 1.5e308, 0, 3.3e307),
        (3.3e-307, math.ceil, 2e-307, 0, 4e-307),
        (3.3e-308, math.ceil, 2e-308, 0, 3.3e-308),
        (1e308, math.ceil, 2e-300, 3, 1e308),
    ],
)
def test_rounded_to_a_digit_of_the_range(value, way, width, digits, told):
    assert search._rounded(value, way, width, digits) == told


def test_sizes_are_shares_of_a_range():
    assert search._size(3.0, 1.0, [0.0, 2.0, 8.0]) == 0.25
    assert search._size(1.0, 3.0, [-2.0, 8.0]) == 0.2
    assert search._size(9.0, 1.0, [5.0]) == 1.0
    assert search._between(1.0, 2.0, 5).tolist() == [1.0, 1.25, 1.5, 1.75, 2.0]
    assert search._between(-1.5e308, 1.5e308, 5).tolist() == [-1.5e308, -0.75e308, 0.0, 0.75e308, 1.5e308]


@pytest.mark.parametrize(
    ("cell", "whole"),
    [(None, True), (math.nan, True), (3, True), (-3.0, True), (3.5, False), (2.0**53, False), (1 - 2.0**53, True)],
)
def test_a_cell_is_whole(cell, whole):
    assert search._is_whole(cell) is whole


@pytest.mark.parametrize(
    ("low", "high", "cell", "whole"),
    [
        (0.0, 24.0, 1.0, False),  # so few steps may be anything
        (0.0, 25.0, 1.0, True),
        (0.0, 1.0, 1, False),
        (0.0, 2.0, 1, True),
        (0.5, 30.0, 1, False),
        (0.0, 30.5, 1, False),
        (-5.0, 25.0, None, True),
        (0.0, 2.0**53, 1, False),
        (0.0, 2.0**53 - 1, 1, True),
    ],
)
def test_ends_of_whole_numbers(low, high, cell, whole):
    assert search._whole_ends(low, high, cell) is whole


def test_the_range_of_a_column():
    assert search._range([3.0, -7.5, math.inf, math.nan]) == (-7.5, 3.0, False)
    assert search._range([-(2.0**53), 1.0]) == (-(2.0**53), 1.0, False)
    assert search._range([2, 2]) == (2.0, 2.0, True)
    assert [search._range(c) for c in (["a"], [None], [], [math.nan, -math.inf])] == [None] * 4


def numbers(d):
    return SimpleNamespace(cells=[0.0] * d, names=tuple(f"x{j}" for j in range(d)), measured=lambda j: True)


@pytest.mark.parametrize(
    ("cut", "span"), [(0.0, (0, 1)), (None, (0, 1)), (0.5, (0, 1)), (1.0, (1, 2)), (1.5, (1.5, 2))]
)
def test_bits_move_to_either_side_of_their_cut(cut, span):
    model = po.BernoulliNB(binarize=cut).fit(np.eye(2), [0, 1])
    assert search._ranges(model, numbers(2), None) == [(*span, False)] * 2


def test_ranges_as_far_as_a_model_tells_them():
    cuts = [None, [], [1.0, 3.0, 4.0], [5.0], [-2.0], [0.0]]
    held = SimpleNamespace(cuts=[c if c is None else np.array(c) for c in cuts])
    wanted = [None, None, (-0.5, 5.5, None), (0.0, 10.0, None), (-4.0, 0.0, None), (-1.0, 1.0, None)]
    assert search._ranges(SimpleNamespace(statistics_=held), numbers(6), None) == wanted
    assert search._ranges(SimpleNamespace(grown_=held), numbers(6), None) == wanted
    assert search._ranges(SimpleNamespace(), numbers(2), None) == [None] * 2
    assert search._ranges(SimpleNamespace(_spans=lambda: ((0.0, 1.0, True),)), numbers(1), None) == [(0.0, 1.0, True)]
    X = np.array([[1.0, -4.0, 2.0], [5.0, 7.0, 2.0], [3.0, 9.0, 2.0], [2.0, 8.0, 2.0]])
    model = po.GaussianNB().fit(X, [0, 1, 0, 1])
    ends = [(1.0, 5.0, None), (-4.0, 9.0, None), (2.0, 2.0, None)]
    assert search._ranges(model, numbers(3), None) == ends
    mixed = po.NaiveBayes(density="gaussian", kinds={"w": "categorical"})
    mixed.fit(pd.DataFrame({"w": list("pqpq"), "a": X[:, 0], "b": X[:, 1]}), [0, 1, 0, 1])
    assert search._ranges(mixed, numbers(3), None) == [None, *ends[:2]]
    smooth = po.NaiveBayes(density="kernel", kinds={"w": "categorical", "a": "numeric"})
    smooth.fit(pd.DataFrame({"w": list("pqpq"), "a": X[:, 0], "b": X[:, 1] / 2}), [0, 1, 0, 1])
    assert search._ranges(smooth, numbers(3), None) == [None, (1.0, 5.0, True), (-2.0, 4.5, False)]


def test_ranges_of_normals_are_three_deviations_about_their_means():
    matrices = [np.array([[4.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 9.0]])]
    model = SimpleNamespace(_matrices=lambda: matrices, means_=np.array([[1.0, 2.0], [6.0, 1.0]]))
    assert search._ranges(model, numbers(2), None) == [(-5.0, 9.0, None), (-8.0, 10.0, None)]
    parts = [
        SimpleNamespace(means_=np.array([[1.0, 2.0], [6.0, 1.0]])),
        None,
        SimpleNamespace(means_=np.array([[3.0, -9.0]])),
    ]
    assert search._ranges(SimpleNamespace(mixtures_=parts), numbers(2), None) == [(1.0, 6.0, None), (-9.0, 2.0, None)]
    wide = SimpleNamespace(_matrices=lambda: [np.diag([np.inf, 1.0])], means_=np.array([[1.0, 2.0]]))
    assert search._ranges(wide, numbers(2), None) == [None, (-1.0, 5.0, None)]


def test_ranges_of_a_background_are_those_of_its_columns():
    case = SimpleNamespace(cells=[0.0, "a", 1.0], names=("x", "w", "z"), measured=lambda j: j != 1)
    rows = pd.DataFrame({"z": [1.5, 2.0, 7.0], "w": ["a", "b", "a"], "x": [4.0, 3.0, 9.0]})
    wanted = [(3.0, 9.0, True), None, (1.5, 7.0, False)]
    assert search._ranges(SimpleNamespace(), case, rows) == wanted
    assert search._ranges(SimpleNamespace(_own_rows=lambda: rows), case, None) == wanted
    assert search._ranges(SimpleNamespace(), case, rows[["x", "w", "z"]].to_numpy()) == wanted


def test_choices_are_other_values_over_the_range():
    model = Said(two)
    case = Case(model, np.array([[2, 2.5, "a", math.nan, 4.0]], dtype=object))
    rows = np.array([[0, 0, 0, 3, 0], [30, 5.5, 0, 4, 6]], dtype=float)
    found = search.choices_of(model, case, rows, [])
    steps = np.linspace(0, 30, 25)
    assert found[0] == sorted({float(round(v)) for v in steps} - {2.0})
    assert found[1] == np.linspace(0, 5.5, 25).tolist()
    assert found[2] == []
    assert found[3] == [3.0, 4.0]  # an empty cell may be any
    assert found[4] == [0.0, 1.0, 2.0, 3.0, 5.0, 6.0]
    assert search.choices_of(model, case, rows, [0, 3]) == [[], found[1], [], [], found[4]]
    rows[0, 1] = 0.25
    assert (
        2.5
        not in search.choices_of(model, Case(model, np.array([[2, 0.25, "a", 3, 4]], dtype=object)), rows, [])[1][:1]
    )
    parts = np.array([[0, 0], [30, 5]], dtype=float)
    case = Case(model, np.array([[2.5, 2.5]], dtype=object))
    assert (
        search.choices_of(model, case, parts, [])[0] == steps.tolist()[:2] + steps.tolist()[3:]
    )  # 2.5 is no whole one


def test_choices_where_only_the_ends_are_known():
    model = Said(two, _spans=lambda: [(0.0, 30.0, None), (0.0, 2.0, None), (0.0, 2.0, None), None])
    case = Case(model, np.array([[1.0, 1.0, 1, 1.0]], dtype=object))
    whole, shares, few, none = search.choices_of(model, case, None, [])
    assert all(v.is_integer() for v in whole)
    assert len(shares) == 24
    assert few == [0.0, 2.0]
    assert none == []


def test_choices_of_names_are_the_others():
    model = po.CategoricalNB().fit(np.array([[0, 1], [1, 0], [2, 1]]), [0, 1, 0])
    assert search.choices_of(model, Case(model, np.array([[1, 1]])), None, []) == [[0, 2], [0]]
    model = po.NaiveBayes().fit({"a": list("pqr"), "b": [True, False, True]}, [0, 1, 0])
    assert search.choices_of(model, Case(model, {"a": "q", "b": True}), None, []) == [["p", "r"], [False]]
    assert search.choices_of(model, Case(model, {"a": None, "b": True}), None, [1]) == [["p", "q", "r"], []]


def test_days_near_a_date_are_all_tried_within_the_range():
    X = pd.DataFrame({"d": pd.to_datetime(["2020-01-01", "2020-12-31"] * 2)})
    model = po.NaiveBayes().fit(X, [0, 1] * 2)
    first = 18262.0  # days of 2020-01-01 since 1970
    case = Case(model, pd.DataFrame({"d": pd.to_datetime(["2020-01-04"])}))
    (found,) = search.choices_of(model, case, None, [])
    grid = {float(round(v)) for v in np.linspace(first, first + 365, 25)}
    assert found == sorted((grid | {first + k for k in range(10)}) - {first + 3})
    case = Case(model, pd.DataFrame({"d": pd.to_datetime(["2020-12-29"])}))
    (found,) = search.choices_of(model, case, None, [])
    assert found == sorted((grid | {first + 363 + k for k in range(-6, 3)}) - {first + 363})
    case = Case(model, pd.DataFrame({"d": pd.to_datetime(["2020-06-15"])}))
    near = 18428.0
    assert search.choices_of(model, case, None, []) == [sorted((grid | {near + k for k in range(-6, 7)}) - {near})]


def test_of_many_numbers_that_turn_it_only_the_nearest_by_their_ranges_are_followed(monkeypatch):
    """Columns that begin at 100, 200, … with ranges of 10, 20, …: they turn it after so many tenths of their range."""
    tenths, monkey = [6, 2, 9, 3, 5], monkeypatch.setattr
    own, width = [100.0 * k for k in range(1, 6)], [10.0 * k for k in range(1, 6)]
    ends = [o + w * t / 10 - 0.01 for o, w, t in zip(own, width, tenths)]
    judge = judge_of(lambda *x: two(max(v - e for v, e in zip(x, ends))), own)
    grids = [[o + 0.5, o + w] for o, w in zip(own, width)]
    turning = {j: [(grids[j][1], 0.0)] for j in range(5)}
    monkey(search, "FEW", 2)
    monkey(search, "MANY", 5)
    assert set(search._nearest(judge, {}, turning, grids)) == {0, 1, 2, 3, 4}
    monkey(search, "MANY", 4)
    found = search._nearest(judge, {}, turning, grids)
    assert {j: v for j, (_, v) in found.items()} == {1: 204.0, 3: 412.0}


def test_the_nearest_lies_on_the_side_that_is_nearer():
    judge = judge_of(lambda a: two(1.0 if a < 2 or a > 6.5 else -1.0), [5.0])
    ((_, told),) = search._nearest(judge, {}, {0: [(1.0, 0.0), (7.0, 0.0)]}, [[0.5, 1.0, 7.0, 10.0]]).values()
    assert told == 6.6


def test_a_class_that_comes_level_is_not_in_front():
    judge = judge_of(lambda a, b: [0.0, a + b - 1, 1.6 * a - 1.5], [0.0, 0.0], 3, _log_joint=None)
    singles = [{0: 1.0}, {1: 1.0}]
    assert search._rivals(judge, singles, judge(singles)[0], 0) == [2, 1]


def test_a_change_tells_the_parts_of_its_date_that_change_with_it():
    model, X = dated(0)
    case = Case(model, X.iloc[[0]].assign(**{"d": pd.Timestamp("2020-01-06"), "d.month": 1, "d.weekday": 0}))
    judge = search.Judge(model, case, lambda logs: logs.argmax(axis=1), 0)
    monday = 18267.0

    def told(days):
        change = search._told(judge, {0: monday + days}, ["a", "b"])
        assert change.probability == pytest.approx(np.exp(judge([{0: monday + days}])[0].max()))
        return {name: tuple(map(str, pair)) for name, pair in change.values.items()}

    assert told(7) == {"d": ("2020-01-06", "2020-01-13")}
    parts = {"d": ("2020-01-06", "2020-02-05"), "d.month": ("1", "2"), "d.weekday": ("0", "2")}
    assert told(30) == parts
