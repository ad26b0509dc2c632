"""Save → load → continue equals never having saved, for every model that counts, on any table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.bayes.learning import KEEP
from posteriori.store.file import from_bytes, to_bytes

MODELS = [
    lambda: po.NaiveBayes(),
    lambda: po.NaiveBayes(density="gaussian", smoothing=0.3, prior="uniform", unseen="mass"),
    lambda: po.AODE(cuts="quantile", bins=2, min_frequency=0),
    lambda: po.BayesNetClassifier("tan", cuts="quantile", bins=2),
]
CELLS = {
    "words": st.sampled_from(["a", "b", "ü", None]),
    "numbers": st.floats(-1e6, 1e6, width=32) | st.just(float("nan")),
    "flags": st.booleans(),
}


@st.composite
def tables(draw):
    """(rows, labels, weights or None) of mixed columns."""
    n = draw(st.integers(2, 25))
    X = {name: draw(st.lists(cells, min_size=n, max_size=n)) for name, cells in CELLS.items()}
    X["words"][0], X["numbers"][0] = "a", 1.0  # a column of missing cells alone has no type
    y = draw(st.lists(st.sampled_from([["p", "q", "r"], [0, 1, 2]][draw(st.integers(0, 1))]), min_size=n, max_size=n))
    weights = draw(st.none() | st.lists(st.floats(0.25, 4), min_size=n, max_size=n))
    return pd.DataFrame(X), np.array(y), None if weights is None else np.array(weights)


def saved(model) -> bytes:
    return b"".join(map(bytes, to_bytes(model)))


@pytest.mark.parametrize("make", MODELS, ids=range(len(MODELS)))
@given(tables())
def test_saving_and_loading_changes_nothing(make, table):
    X, y, w = table
    half = max(1, len(y) // 2)
    model = make().fit(X, y, sample_weight=w)
    data = saved(model)
    twin = from_bytes(bytearray(data))
    assert saved(twin) == data
    np.testing.assert_array_equal(twin.predict_joint_log_proba(X), model.predict_joint_log_proba(X))
    for each in (model, twin):
        each.partial_fit(X[:half], y[:half])
    assert saved(twin) == saved(model)
    for each in (model, twin):
        each.forget(X[:half], y[:half], keep=KEEP)
    assert saved(twin) == saved(model)
    assert saved(twin + twin) == saved(model + model)
    assert saved(twin.decay(0.5)) == saved(model.decay(0.5))


WEIGHED = [po.NaiveBayes, po.TAN, po.AODE, po.KDB, po.BayesTree, po.BayesForest, po.DiscriminativeNB]


@pytest.mark.parametrize("make", WEIGHED)
@pytest.mark.parametrize("weight", [1e-300, 1e19, 2.5e299])
def test_what_could_be_learned_can_be_loaded(make, weight):
    X = {"a": ["x", "y", "x", "z"], "b": [1.0, 2.0, 2.5, 0.0]}
    model = make().fit(X, [0, 1, 0, 1], sample_weight=np.full(4, weight))
    twin = from_bytes(bytearray(saved(model)))
    np.testing.assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
