"""The tables of a page against the model itself: any choice of values gives the posterior that the model gives."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.explain import whatif
from posteriori.explain.whatif import FEWEST_ROWS, WhatIf, bin_labels, number_label, round_grid, what_if


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
