"""What a cell adds is asked once: copies of a row are judged as the model itself judges them."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.explain import sums
from posteriori.explain.rows import Case
from posteriori.explain.sums import Sums
from posteriori.explain.weigh import log_posteriors


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
    monkeypatch.setattr(sums, "MOST_CELLS", cells)
    own = Case.copies
    monkeypatch.setattr(Case, "copies", lambda self, rows: (made.extend(rows), own(self, rows))[1])
    assert np.exp(Sums(model, case)(changed)) == pytest.approx(np.exp(expected), abs=1e-9)
    assert [row for row in made if row] == [{0: 0.5, 1: "x"}, {0: 1.5}, {0: -1.0}]
