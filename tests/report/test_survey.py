"""What a report counts of a table: shares by brute force, rare values unnamed, round bins."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.explain.whatif import FEWEST_ROWS
from posteriori.report.survey import BINS, MOST_COLUMNS, MOST_VALUES, class_order, ranking, survey
from posteriori.table.frame import open_frame


def counted(X, y, kinds, rows=False, classes=("a", "b", "c"), ranked=None):
    frame = open_frame(pd.DataFrame(X))
    ranked = ranked if ranked is not None else [(j, None, "") for j in range(frame.d)]
    return survey(frame, kinds, np.asarray(y), np.ones(len(y)), classes, ranked, rows)


@given(st.integers(0, 1000), st.integers(5, 200), st.booleans())
def test_shares_are_those_of_each_class(seed, n, rows):
    rng = np.random.default_rng(seed)
    y, word = rng.integers(0, 3, n), rng.choice(list("uvwxyz") + ["rare", "also"], n, p=[0.16] * 6 + [0.03, 0.01])
    holes = rng.random(n) < 0.1
    cells = pd.Series(np.where(holes, None, word), dtype=object)
    found = counted({"x": cells}, y, ("categorical",), rows).columns[0]
    by_hand = cells.value_counts()
    assert found.n_values == len(by_hand)
    assert found.missing == pytest.approx(holes.mean())
    assert len(found.labels) == min(len(by_hand), MOST_VALUES)
    assert sorted(by_hand, reverse=True)[:MOST_VALUES] == [
        round(float((found.table[i] * [((y == k) & ~holes).sum() for k in range(3)]).sum()))
        for i in range(len(found.labels))
    ]
    for label, shares in zip(found.labels, found.table):
        if label is None:
            assert not rows
            continue
        assert rows or by_hand[label] >= FEWEST_ROWS
        for k in range(3):
            whole = ((y == k) & ~holes).sum()
            assert shares[k] == pytest.approx(((cells == label) & (y == k)).sum() / max(whole, 1))


@given(st.integers(0, 1000), st.integers(30, 300))
def test_bins_hold_every_number(seed, n):
    rng = np.random.default_rng(seed)
    y, x = rng.integers(0, 3, n), rng.normal(size=n)
    x[rng.random(n) < 0.1] = np.nan
    x[0], x[1] = 50.0, -50.0  # beyond: they are taken into the ends
    found = counted({"x": x}, y, ("numeric",)).columns[0]
    seen = ~np.isnan(x)
    assert found.missing == pytest.approx(1 - seen.mean())
    assert 2 <= len(found.grid) <= BINS + 3
    assert np.allclose(np.diff(found.grid), found.grid[1] - found.grid[0])
    edges = np.concatenate([[-np.inf], found.grid[1:-1], [np.inf]])
    for k in range(3):
        own = x[seen & (y == k)]
        wanted = np.array([((a <= own) & (own < b)).sum() for a, b in itertools.pairwise(edges)])
        assert found.table[:, k] == pytest.approx(wanted / max(len(own), 1))
    assert found.labels == ()
    assert found.n_values is None


def test_columns_without_a_picture():
    X = {"none": [np.nan] * 8, "same": [2.0] * 8, "said": ["a b", None, "c", "d"] * 2}
    found = counted(X, [0, 1] * 4, ("numeric", "numeric", "text"), classes=("a", "b"))
    assert [c.table is None for c in found.columns] == [True, found.columns[1].grid is None, True]
    assert [c.missing for c in found.columns] == [1.0, 0.0, 0.25]
    assert found.missing == pytest.approx(1.25 / 3)
    assert (found.n, found.d, found.left_out) == (8, 3, 0)
    assert found.class_count.tolist() == [4, 4]
    wide = counted({f"x{j}": [1.0, 2.0] for j in range(MOST_COLUMNS + 7)}, [0, 1], ("numeric",) * (MOST_COLUMNS + 7))
    assert (len(wide.columns), wide.left_out) == (MOST_COLUMNS, 7)


def test_columns_come_as_the_model_ranks_them():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = pd.DataFrame({"noise": rng.choice(["u", "v"], 80), "signal": y.astype(str)})
    model = po.NaiveBayes().fit(X, y)
    ranked = ranking(model, 2)
    assert [j for j, _, _ in ranked] == [1, 0]
    assert ranked[0][1] == pytest.approx(model.summary()["information"].max())
    assert counted(X, y, ("categorical",) * 2, ranked=ranked).columns[0].name == "signal"
    assert ranking(object(), 3) == [(0, None, ""), (1, None, ""), (2, None, "")]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9), st.integers(1, 9))
def test_the_commonest_classes_keep_their_order(count, most):
    found = class_order(np.array(count), most)
    assert found == sorted(found)
    assert len(found) == min(most, len(count))
    left = [c for i, c in enumerate(count) if i not in found]
    assert not left or max(left) <= min(count[i] for i in found)
