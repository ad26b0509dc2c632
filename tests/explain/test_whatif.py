"""The tables of a page against the model itself: any choice of values gives the posterior that the model gives; texts
of a page.
"""

from __future__ import annotations

import itertools
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.explain import whatif
from posteriori.explain.whatif import FEWEST_ROWS, WhatIf, bin_labels, cut, number_label, round_grid, shown, what_if


def posterior(found: WhatIf, chosen: list[int | None]) -> np.ndarray:
    """By enumeration: every value of what is not chosen but depended on, summed."""
    parents = {a.parent for a in found.attributes}
    free = [j for j, v in enumerate(chosen) if v is None and j in parents]
    total = np.full(len(found.classes), -np.inf)
    for values in itertools.product(*(range(len(found.attributes[j].labels)) for j in free)):
        row = list(chosen)
        for j, v in zip(free, values):
            row[j] = v
        joint = found.log_prior.copy()
        for a, v in zip(found.attributes, row):
            if v is not None:
                joint = joint + (a.log_p[v] if a.parent is None else a.log_p[row[a.parent], v])
        total = np.logaddexp(total, joint)
    p = np.exp(total - total.max())
    return p / p.sum()


def table(n=160, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {
            "sky": np.array(["blue", "grey", "red"])[(y + rng.integers(0, 2, n)) % 3],
            "warm": rng.normal(15 + 4 * y, 3).round(2),
            "wind": rng.choice([True, False], n),
            "size": rng.gamma(2 + y, 40),
            "hour": rng.integers(0, 24, n),
        }
    )
    X.loc[rng.random(n) < 0.1, "sky"] = None
    X.loc[rng.random(n) < 0.1, "warm"] = np.nan
    return X, np.array(["no", "maybe", "yes"])[y]


DENSITIES = ["auto", "gaussian", "kernel", "binned"]
MODELS = {
    **{d: po.NaiveBayes(density=d) for d in DENSITIES},
    "mass": po.NaiveBayes(unseen="mass", prior="uniform", smoothing=0.3),
    "unsmoothed": po.NaiveBayes(smoothing=0.0),
    "poisson": po.NaiveBayes(kinds={"hour": "count"}, density={"hour": "poisson"}),
    "events": po.NaiveBayes(kinds={"hour": "count"}),
    "TAN": po.TAN(),
    "forest": po.TAN(min_information=0.08),
    "SPODE": po.SPODE("sky"),
}


def value(model, a, v):
    """The cell that a choice stands for."""
    column = model.schema_[a.name]
    if a.numbers is not None:
        return float(a.numbers[v])
    if a.cuts is not None:
        cuts = a.cuts
        return float(np.concatenate([cuts - 1e-6, cuts[-1:] + 1])[v]) if len(cuts) else 0.0
    return column.values[v]


@pytest.mark.parametrize("name", MODELS)
def test_every_choice_gives_the_model_s_own_posterior(name):
    X, y = table()
    model = MODELS[name].fit(X, y)
    found = what_if(model)
    rng = np.random.default_rng(1)
    for _ in range(40):
        chosen = [int(rng.integers(len(a.labels))) if rng.random() < 0.6 else None for a in found.attributes]
        row = pd.DataFrame({c: pd.Series([None], dtype=object) for c in X})
        for a, v in zip(found.attributes, chosen):
            row[a.name] = pd.Series([None if v is None else value(model, a, v)], dtype=object)
        typed = row.astype({c: float for c in ("warm", "size", "hour")})
        np.testing.assert_allclose(posterior(found, chosen), model.predict_proba(typed)[0], rtol=0, atol=1e-11)


def test_a_model_that_is_no_sum_has_no_tables():
    X, y = table()
    assert what_if(po.AODE().fit(X, y)) is None
    assert what_if(po.KDB(k=2).fit(X, y)) is None
    assert what_if(po.KNeighborsClassifier().fit(X[["size"]], y)) is None


def test_values_of_few_rows_are_not_named_unless_rows_may_be_shown():
    X = {"who": ["ann", "bob"] * 10 + ["secret"] * (FEWEST_ROWS - 1)}
    y = ["a", "b"] * 11
    model = po.NaiveBayes().fit(X, y)
    assert what_if(model).attributes[0].labels == ("ann", "bob", None)
    assert what_if(model).attributes[0].hidden == 1
    assert what_if(model, with_rows=True).attributes[0].labels == ("ann", "bob", "secret")
    told = po.Schema.declare({"who": ["ann", "bob", "secret"]})
    assert what_if(po.NaiveBayes(kinds=told).fit(X, y)).attributes[0].labels == ("ann", "bob", None)


def test_columns_that_say_nothing_or_are_too_many_are_listed():
    rng = np.random.default_rng(0)
    X = {f"c{j}": rng.choice(["u", "v"], 60) for j in range(50)} | {"same": ["x"] * 60}
    found = what_if(po.NaiveBayes().fit(X, rng.integers(0, 2, 60)), most=51)
    assert "same" in found.silent
    some = what_if(po.NaiveBayes().fit(X, rng.integers(0, 2, 60)), most=5)
    assert len(some.attributes) + len(some.silent) == 5
    assert len(some.left_out) == 46


@pytest.mark.parametrize(("room", "kept"), [(2 * 3 * 4, 4), (2 * 3 * 4 - 1, 3), (2 * 3, 1), (2 * 3 - 1, None)])
def test_a_page_carries_as_many_numbers_as_fit(monkeypatch, room, kept):
    """Of every value and class one, the strongest attributes first."""
    rng = np.random.default_rng(0)
    X, y = {f"c{j}": rng.choice(["u", "v", "w"], 60) for j in range(4)}, np.arange(60) % 2
    model = po.NaiveBayes(kinds="categorical").fit(X, y)
    monkeypatch.setattr(whatif, "MOST_NUMBERS", room)
    found = what_if(model, with_rows=True)
    if kept is None:
        assert found is None
    else:
        assert [a.name for a in found.attributes] == model.summary()["column"].tolist()[:kept]


@given(st.floats(1e-12, 1e12), st.booleans())
def test_a_step_is_the_least_round_number_that_is_wide_enough(width, whole):
    found = whatif.round_step(width, whole)
    round_numbers = [m * 10.0**k for k in range(-13, 14) for m in (1, 2, 5) if not whole or k >= 0]
    assert found == pytest.approx(next(v for v in round_numbers if v >= width * (1 - 1e-9)))


@given(st.floats(-1e200, 1e200), st.floats(0, 1e200), st.booleans(), st.integers(2, 80))
def test_a_round_grid_covers_its_range_in_few_rising_points(low, width, whole, points):
    low, high = (np.floor(low), np.floor(low + width)) if whole else (low, low + width)
    grid = round_grid(low, high, whole, points)
    assert len(grid) <= points + 2
    assert (np.diff(grid) > 0).all() or len(grid) == 1
    assert np.isfinite(grid).all()
    blur = 1e-6 * max(abs(low), abs(high), width)
    assert grid[0] <= low + blur
    assert grid[-1] >= high - blur
    assert all(isinstance(number_label(v, grid), str) for v in grid)


@pytest.mark.parametrize(("low", "high"), [(0.0, 5e-324), (1e-300, 2e-300), (-1e308, 1e308), (1e16, 1e16 + 2)])
def test_ranges_at_the_ends_of_floats(low, high):
    grid = round_grid(low, high, False)
    assert grid is None or np.isfinite(grid).all()


def test_bins_are_named_by_their_ends():
    assert bin_labels(np.array([])) == ("any",)
    assert bin_labels(np.array([-0.0, 2.25])) == ("< 0", "0 – 2.25", "≥ 2.25")


def test_a_table_knows_whether_it_is_a_sum_and_how_many_names_it_keeps():
    a = whatif.Attribute("a", ("x", None, "y", None, None), None, np.zeros((5, 2)))
    b = whatif.Attribute("b", ("u",), None, np.zeros((5, 1, 2)), parent=0)
    assert (a.hidden, b.hidden) == (3, 0)
    assert WhatIf(("p", "q"), np.zeros(2), (a, a)).additive is True
    assert WhatIf(("p", "q"), np.zeros(2), (a, b)).additive is False
    assert a.dates is False


def held(kinds=("numeric", "numeric"), span=True, n=4.0):
    """Statistics whose column 1 has moments: mean 3, variance 0.25, from 2.5 to 9 in one class and from 1.75 in another."""
    ends = SimpleNamespace(low=np.array([[0.0, 2.5], [0.0, 1.75]]), high=np.array([[1.0, 9.0], [1.0, 4.0]]))
    pooled = SimpleNamespace(
        mean=np.array([[7.0, 3.0]]), n=np.array([[9.0, n]]), variance=lambda: np.array([[4.0, 0.25]])
    )
    return SimpleNamespace(
        where=lambda kind: {"histogram": (), "moments": (2, 1)}[kind],
        moments=SimpleNamespace(pooled=lambda: pooled, span=ends if span else None),
        schema=SimpleNamespace(columns=[SimpleNamespace(kind=kinds[0]), SimpleNamespace(kind=kinds[1])]),
    )


def test_the_range_of_numbers_is_four_deviations_within_what_was_seen():
    assert whatif._range(held(span=False), 1) == (1.0, 5.0, False)
    assert whatif._range(held(), 1) == (1.75, 5.0, False)
    counts = held(("numeric", "count"), span=False)
    assert whatif._range(counts, 1) == (1.0, 5.0, True)
    counts.moments.pooled().mean[:] = 1.0
    assert whatif._range(counts, 1) == (0.0, 3.0, True)  # no fewer than none
    assert whatif._range(held(n=0.0), 1) is None
    assert whatif._range(held(n=0.5), 1) is not None
    assert whatif._range(held(), 7) == (0.0, 10.0, True)  # of events


def of_histogram(values, table=None):
    kept = SimpleNamespace(values=np.array(values, dtype=float), table=table)
    return SimpleNamespace(where=lambda kind: {"histogram": (5, 3), "moments": ()}[kind], histograms=[None, kept])


def test_the_range_of_a_histogram_is_from_its_first_value_to_its_last():
    assert whatif._range(of_histogram([-1, 2, 5]), 3) == (-1.0, 5.0, True)
    assert whatif._range(of_histogram([-1, 2.5, 5]), 3) == (-1.0, 5.0, False)
    assert whatif._range(of_histogram([]), 3) is None
    assert whatif._grid(of_histogram([]), 3, 10) is None
    assert whatif._grid(of_histogram([2.5]), 3, 10).tolist() == [2.5]
    assert whatif._grid(of_histogram([0, 7.5, 10]), 3, 4).tolist() == [0.0, 5.0, 10.0]


def test_a_share_of_rows_goes_to_the_nearest_point():
    table = np.array([[1, 0], [2, 1], [0, 4], [1, 1], [3, 0], [1, 0], [0, 6]])
    rows = of_histogram([-9, 0.4, 0.5, 0.6, 2.0, 2.1, 8], table)
    assert whatif._density(rows, 3, np.array([0.0, 1.0, 3.0])).tolist() == [0.4, 0.25, 0.35]
    assert whatif._density(rows, 3, np.array([0.0, 1.0])).tolist() == [0.4, 0.6]
    assert whatif._density(rows, 3, np.array([0.0])) is None
    assert whatif._density(rows, 4, np.array([0.0, 1.0])) is None
    assert whatif._shares(np.array([0.0, 0.0])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("low", "high", "whole", "points", "grid"),
    [
        (0.3, 1.1, False, 8, [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1]),  # 0.3 / 0.1 < 3, 1.1 / 0.1 > 11
        (0.0, 100.0, True, 5, [0, 20, 40, 60, 80, 100]),
        (1.0, 3.0, True, 60, [1, 2, 3]),
        (1.0, 3.0, False, 5, [1.0, 1.5, 2.0, 2.5, 3.0]),
        (-7.0, 14.0, True, 4, [-10, 0, 10, 20]),
        (3 - 5e-9, 8 + 5e-9, False, 6, [2, 3, 4, 5, 6, 7, 8, 9]),  # what is not quite a step is covered too
        (2.5, 2.5, False, 5, [2.5]),
        (2.0, 2.0, True, 5, [2.0]),
        (1e12 - 1, 1e12, False, 1, [1e12 - 1, 1e12]),
        (1e12, 1e12 + 1, False, 1, [1e12]),  # a step too small beside the numbers: points as they come
        (1e16, 1e16 + 8, False, 5, [1e16, 1e16 + 2, 1e16 + 4, 1e16 + 6, 1e16 + 8]),
        (0.0, 4e16, False, 2, [0.0, 2e16, 4e16]),
    ],
)
def test_grids_are_round(low, high, whole, points, grid):
    assert round_grid(low, high, whole, points).tolist() == grid


def test_where_there_is_no_step():
    assert round_grid(-1.5e308, 1.5e308, False) is None
    assert whatif.round_step(0.0, False) == whatif.round_step(1e-290, False) == 0.0
    assert whatif.round_step(2e-290, False) == pytest.approx(2e-290)
    assert whatif.round_step(0.0, True) == whatif.round_step(1.0, True) == 1.0
    assert whatif.round_step(2.0 * (1 + 1e-10), False) == 2.0  # but for rounding
    assert whatif.round_step(2.0 * (1 + 4e-9), False) == 5.0


@pytest.mark.parametrize(
    ("grid", "labels"),
    [
        ([2.5], ["2.5"]),  # alone, with all its digits
        ([0.0], ["0"]),
        ([0.2, 0.3, 0.4], ["0.2", "0.3", "0.4"]),
        ([0.1 * k for k in range(1, 8)], [f"0.{k}" for k in range(1, 8)]),
        ([-10.0, -0.0, 10.0], ["-10", "0", "10"]),
        ([0.0, 0.25, 1.0], ["0.0", "0.2", "1.0"]),
        ([0.0, 9_999_999.0], ["0", "9999999"]),
        ([0.0, 1e7], ["0", "1e+07"]),
        ([-1e7, 0.5], ["-1e+07", "0.5"]),
        ([0.0, 1e-5], ["0.00000", "0.00001"]),
        ([0.0, 9e-6], ["0", "9e-06"]),
    ],
)
def test_numbers_have_the_digits_that_tell_them_from_their_neighbours(grid, labels):
    assert [number_label(v, np.array(grid)) for v in grid] == labels


def test_bins_have_as_many_digits_as_tell_their_ends_apart():
    assert whatif._ends(np.array([])) == []
    assert whatif._ends(np.array([1.234567, 2.5])) == ["1.2346", "2.5"]
    assert whatif._ends(np.array([1.00001, 1.000012])) == ["1.00001", "1.000012"]
    assert len(set(whatif._ends(np.array([0.1, np.nextafter(0.1, 1.0)])))) == 2
    days = bin_labels(np.array([18271.5, 18280.0]), dates=True)
    assert days == ("< 2020-01-11", "2020-01-11 – 2020-01-19", "≥ 2020-01-19")
    assert bin_labels(np.array([18271.5, 18280.25]), dates=True)[-1] == "≥ 2020-01-19 06:00"


@pytest.mark.parametrize("cuts", [[], [2.0], [-1.0, 0.0, 2.5], [1e300, 2e300]])
def test_there_is_a_number_in_every_bin(cuts):
    found = whatif._within(np.array(cuts))
    assert np.searchsorted(np.array(cuts), found, side="right").tolist() == list(range(len(cuts) + 1))


def test_empty_cells_are_those_of_their_kind():
    for kind in ("numeric", "count"):
        assert np.isnan(whatif._blank(kind, 3)).tolist() == [True] * 3
    for kind in ("categorical", "binary", "text"):
        assert whatif._blank(kind, 2).tolist() == [None, None]
    assert whatif._named(("a", 2.0, "c"), np.array([3.0, 2.5, 4.0]), 3) == ("a", None, "c")


@pytest.mark.parametrize("block", [1, 7, 1 << 21])
def test_choices_are_asked_in_blocks_of_any_size(monkeypatch, block):
    X, y = table()
    model = po.NaiveBayes(density="gaussian").fit(X, y)
    chosen = [(0, ("grey", "blue")), (3, (1.0, 50.0, 90.0, 300.0, 2.0)), (2, (True,))]
    monkeypatch.setattr(whatif, "BLOCK", block)
    found = whatif._asked(model.factored_, 5, chosen, 3)
    for (j, values), got in zip(chosen, found):
        row = {c: [None] * len(values) for c in X} | {X.columns[j]: list(values)}
        said = model.factored_.parts(
            model._opened(pd.DataFrame(row).astype({c: float for c in ("warm", "size", "hour")}))
        )
        assert got.tolist() == said[:, j].tolist()


@pytest.mark.parametrize(("room", "most"), [(2 * 3 * 60, 62), (2 * 3 * 60 - 1, 22)])
def test_numbers_have_fewer_points_where_there_is_little_room(monkeypatch, room, most):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    model = po.NaiveBayes(density="gaussian").fit(rng.normal(size=(40, 3)) + y[:, None], y)
    monkeypatch.setattr(whatif, "MOST_NUMBERS", room)
    (first, *_) = what_if(model).attributes
    assert most / 3 < len(first.numbers) <= most


def test_forty_columns_are_told_and_of_those_the_strongest():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = {f"c{j}": np.where(rng.random(60) < 0.6, y, rng.integers(0, 2, 60)).astype(str) for j in range(42)}
    model = po.NaiveBayes().fit(X, y)
    found, ranked = what_if(model), model.summary()["column"].tolist()
    assert [a.name for a in found.attributes] == ranked[:40]
    assert found.left_out == tuple(sorted(ranked[40:], key=list(X).index))


def test_a_forest_is_told_where_its_tables_fit(monkeypatch):
    X, y = table()
    model = po.TAN().fit(X, y)
    found = what_if(model)
    for a, family in zip(found.attributes, model.families_.structure.families):
        assert a.log_p.shape == (
            *(len(found.attributes[i].labels) for i in family if i != model.schema_.index(a.name)),
            len(a.labels),
            3,
        )
        assert a.share.sum() == pytest.approx(1.0)
    assert {a.parent for a in found.attributes} - {None}
    assert not found.additive
    total = sum(a.log_p.size for a in found.attributes)
    monkeypatch.setattr(whatif, "MOST_NUMBERS", total)
    assert what_if(model) is not None
    monkeypatch.setattr(whatif, "MOST_NUMBERS", total - 1)
    assert what_if(model) is None


@pytest.mark.parametrize("kind", [po.NaiveBayes, po.TAN], ids=["naive", "TAN"])
def test_weekdays_are_named_and_days_are_dates(kind):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    when = pd.Timestamp("2020-01-06") + pd.to_timedelta(rng.integers(0, 60, 90) + 30 * y, unit="D")
    X = pd.DataFrame(
        {"d": when, "d.weekday": when.day_of_week.astype(object), "other": rng.integers(0, 7, 90).astype(object)}
    )
    model = kind(kinds={"d.weekday": "categorical", "other": "categorical"}).fit(X, y)
    found = {a.name: a for a in what_if(model, with_rows=True, dates=["d"]).attributes}
    assert found["d.weekday"].labels[:2] == ("Mon", "Tue")
    assert found["other"].labels[:2] == ("0", "1")
    assert found["d"].dates
    assert not found["other"].dates
    assert all("2020-0" in label or label == "any" for label in found["d"].labels)


def test_shares_of_names_are_those_of_the_rows():
    X, y = {"a": list("ppppqqrrrr"), "n": [0.0, 1.0] * 5}, [0, 0, 0, 1, 1, 0, 1, 1, 1, 1]
    for model in (po.NaiveBayes(density="binned"), po.TAN()):
        found = {a.name: a for a in what_if(model.fit(X, y), with_rows=True).attributes}
        assert found["a"].share.tolist() == [0.4, 0.2, 0.4]
        assert found["a"].labels == ("p", "q", "r")


@given(st.text(max_size=60), st.integers(1, 30))
def test_a_text_is_one_line_of_at_most_so_many_characters(text, most):
    found = cut(text, most)
    assert len(found) <= most
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", found)
    if text.isprintable():
        assert found == (text if len(text) <= most else text[: most - 1] + "…")
    if found.endswith("…") and not text.endswith("…"):
        assert len(found) == most or len(text) > 4 * most


def test_a_text_is_cut_after_what_steers_the_page_is_written_out():
    assert cut("\x00" * 40, 200) == "\\x00" * 40


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\nb", "a\\nb"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\u2028b\u2029c\x85", "a\\u2028b\\u2029c\\x85"),
        ("\ud800", "\\ud800"),
        ("naïve 日本", "naïve 日本"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
        ("x" * 10**6, "x" * 79 + "…"),
        (None, "–"),
        (float("nan"), "–"),
        (np.float64(0.1) + 0.2, "0.3"),
        (3.0, "3"),
        (1e-7, "1e-07"),
        (np.int64(7), "7"),
        (7, "7"),
        (True, "True"),
        (np.bool_(False), "False"),
    ],
)
def test_cells_as_a_person_reads_them(text, said):
    assert cut(text) == said
    if not isinstance(text, str):
        assert shown(text) == said
