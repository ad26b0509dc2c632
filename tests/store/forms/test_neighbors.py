"""What neighbours in a file must hold: rows that an index can be built of, and what each row votes for."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import posteriori as po
from posteriori.errors import NotStorable
from posteriori.neighbors.metrics import Mixed, Space

from .refusals import GONE, judged, remade

RNG = np.random.default_rng(0)
P = RNG.normal(size=(24, 3))
X = pd.DataFrame({"sky": ["u", "v", "w"] * 8, "wind": RNG.normal(size=24), "day": ["a", "b"] * 12})
GAPS = X.assign(wind=X["wind"].where(X.index % 5 > 0), day=X["day"].where(X.index % 7 > 0))
Y = np.array(["p", "q", "p", "r"] * 6)
D = np.abs(P[:, :1] - P[:, 0])
MADE = {
    "plain": lambda: po.KNeighborsClassifier(3).fit(P, Y),
    "auto": lambda: po.KNeighborsClassifier("auto", weights="distance").fit(P, Y, sample_weight=np.linspace(1, 2, 24)),
    "single": lambda: po.KNeighborsClassifier(3, p=3, metric_params={"w": [1.0, 2.0, 1.0]}).fit(P.astype("f4"), Y),
    "matrix": lambda: po.KNeighborsClassifier(3, metric="mahalanobis").fit(P, Y),
    "gower": lambda: po.KNeighborsClassifier(3, metric="gower").fit(X, Y),
    "gaps": lambda: po.KNeighborsClassifier(3, metric="gower").fit(GAPS, Y),
    "vdm": lambda: po.KNeighborsClassifier(3, metric="vdm").fit(X, Y),
    "bits": lambda: po.KNeighborsClassifier(3, metric="jaccard").fit(P > 0, Y),
    "sparse": lambda: po.KNeighborsClassifier(3).fit(sp.csr_matrix(np.maximum(P, 0)), Y),
    "told": lambda: po.KNeighborsClassifier(3, metric="precomputed").fit(D, Y),
    "least": lambda: po.KNeighborsClassifier(1).fit(P[:1, :1], Y[:1]),
    "flat": lambda: po.KNeighborsRegressor(3).fit(P, P[:, 0]),
    "two": lambda: po.KNeighborsRegressor(3).fit(P, P[:, :2]),
}


@cache
def fitted(name):
    return MADE[name]()


def rows(name):
    other = {
        "least": P[:, :1],
        "gower": X,
        "gaps": GAPS,
        "vdm": X,
        "bits": P > 0,
        "sparse": sp.csr_matrix(np.maximum(P, 0)),
        "told": D,
    }
    return other.get(name, P.astype("f4") if name == "single" else P)


def kept(of):
    """The rows of a model, changed."""
    return lambda model: {"_rows": of(model._store.rows)}


def space(**change):
    return lambda model: {
        "_space": replace(
            model._space, **{n: v(getattr(model._space, n)) if callable(v) else v for n, v in change.items()}
        )
    }


def edge(name, value):
    def change(model):
        held = getattr(model, name).copy()
        held[0] = value
        return {name: held}

    return change


@pytest.mark.parametrize("name", MADE)
def test_the_same_answers_to_the_last_bit(name):
    model, Q = fitted(name), rows(name)
    made = remade(model)
    assert np.array_equal(made.predict(Q), model.predict(Q))
    for got, wanted in zip(made.kneighbors(Q), model.kneighbors(Q)):
        assert np.array_equal(got, wanted)
    if hasattr(model, "predict_proba"):
        assert np.array_equal(made.predict_proba(Q), model.predict_proba(Q))
    assert made.n_samples_fit_ == model.n_samples_fit_


@pytest.mark.parametrize(("metric", "p"), [("euclidean", 2.0), ("manhattan", 1.0), ("minkowski", 3.0)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_tree_is_built_again(metric, p, dtype):
    held = po.KDTree(P.astype(dtype), metric, p, leaf_size=4, n_jobs=1)
    made = remade(held)
    assert (made.metric, made.p, made.leaf_size, made.n_jobs) == (held.metric, held.p, 4, 1)
    for got, wanted in zip(made.query(P[:5].astype(dtype), k=3), held.query(P[:5].astype(dtype), k=3)):
        assert np.array_equal(got, wanted)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"points": np.zeros((0, 3))}, "at least one row"),
        ({"metric": "minkowski", "p": 0.0}, "'p'"),
        ({"metric": "minkowski", "p": 5e-324}, None),
        ({"leaf_size": 0}, "leaf_size"),
        ({"leaf_size": 1}, None),
        ({"leaf_size": 1 << 20}, None),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_a_tree_is_refused_by_name(change, said):
    made = judged(po.KDTree(P, "euclidean"), change, said)
    assert said is not None or made.query(P[:2], k=2)[1].shape == (2, 2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"p": 5e-324}, None),
        ({"p": 0.0}, "the exponent of a metric must be above 0"),
        ({"p": float("nan")}, "the exponent of a metric must be above 0"),
        ({"map": np.ones(3)}, None),
        ({"map": np.ones((3, 2))}, None),
        ({"map": np.array(1.0)}, "a scale of every column, or a matrix"),
        ({"map": np.ones((3, 1, 1))}, "a scale of every column, or a matrix"),
    ],
)
def test_a_space(change, said):
    judged(Space("euclidean", 2.0), change, said)


MIXED = Mixed(
    "gower",
    ("a", "b", "c"),
    [1],
    np.zeros(1),
    np.ones(1),
    {0: {"u": 0, "v": 1}, 2: {"w": 0}},
    {0: np.zeros((4, 3)), 2: np.zeros((3, 2))},
)
ROW = "a row of every value"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, None),
        ({"numeric": [0]}, "every column once"),
        ({"numeric": [3]}, "every column once"),
        ({"numeric": [1, 3], "names": tuple("abcd"), "shift": np.zeros(2), "scale": np.zeros(2)}, None),
        ({"numeric": [1, 4], "names": tuple("abcd"), "shift": np.zeros(2), "scale": np.zeros(2)}, "every column once"),
        ({"names": None}, None),
        ({"names": ("a", "b")}, "a name of every column"),
        ({"names": ("a", "b", "c", "d")}, "a name of every column"),
        ({"tables": {0: np.zeros((4, 3))}}, "a table of every column with values"),
        ({"tables": {2: np.zeros((3, 2)), 0: np.zeros((4, 3))}}, "a table of every column with values"),
        ({"places": {0: {"u": 0, "v": 2}, 2: {"w": 0}}}, "every value has its row"),
        ({"places": {0: {"u": 0, "v": 0}, 2: {"w": 0}}}, "every value has its row"),
        ({"places": {0: {"u": 1, "v": 0}, 2: {"w": 0}}}, None),
        ({"tables": {0: np.zeros((3, 3)), 2: np.zeros((3, 2))}}, ROW),
        ({"tables": {0: np.zeros((5, 3)), 2: np.zeros((3, 2))}}, ROW),
        ({"tables": {0: np.zeros((4, 0)), 2: np.zeros((3, 2))}}, ROW),
        ({"tables": {0: np.zeros((4, 1)), 2: np.zeros((3, 1))}}, None),
        ({"tables": {0: np.full((4, 1), np.nan), 2: np.zeros((3, 1))}}, None),
        ({"tables": {0: np.full((4, 1), np.inf), 2: np.zeros((3, 1))}}, "coordinates of values must be finite"),
        (
            {"metric": "vdm", "tables": {0: np.full((4, 1), np.nan), 2: np.zeros((3, 1))}},
            "coordinates of values must be finite",
        ),
        ({"metric": "vdm"}, None),
    ],
)
def test_a_mixed_space(change, said):
    judged(MIXED, change, said)


NUMBERS = "the rows must be a table of numbers"
FINITE = "the rows must have finite coordinates in every column"
OTHER = np.array(["p", "q", "r"])
ROWS = [
    ("plain", {"_rows": GONE}, "what is fitted must have rows"),
    ("plain", {"metric_params": {"n_jobs": 4}}, "metric_params that no model file holds"),
    ("plain", {"metric_params": [1]}, "metric_params that no model file holds"),
    ("plain", {"_rows": [[0.0]]}, "the rows must be a table"),
    ("plain", kept(lambda r: r[0]), NUMBERS),
    ("plain", kept(lambda r: r[:0]), NUMBERS),
    ("plain", {"n_features_in_": 0}, NUMBERS),
    ("plain", kept(lambda r: r.astype(object)), NUMBERS),
    ("plain", kept(lambda r: r.astype(np.int64)), "the rows must be numbers"),
    ("plain", kept(lambda r: r.astype(np.float16)), "the rows must be numbers"),
    ("plain", kept(np.asfortranarray), "the rows must be numbers"),
    ("plain", kept(sp.csr_matrix), "the rows must be numbers"),
    ("plain", kept(lambda r: r.astype(np.float32)), None),
    ("plain", kept(lambda r: np.where(r == r[0, 0], np.nan, r)), "finite coordinates in every column"),
    ("plain", kept(lambda r: np.where(r == r[0, 0], np.inf, r)), "finite coordinates in every column"),
    ("plain", kept(lambda r: np.ascontiguousarray(r[:, :2])), "the rows must have all coordinates"),
    ("plain", {"n_features_in_": 2}, "the rows must have all coordinates"),
    ("plain", space(map=np.ones(2)), "the space must have all columns"),
    ("plain", space(map=np.ones(3)), None),
    ("plain", space(map=np.ones((3, 2))), "the rows must have all coordinates"),
    ("plain", lambda m: space(map=np.ones((3, 2)))(m) | kept(lambda r: np.ascontiguousarray(r[:, :2]))(m), None),
    ("matrix", space(map=np.ones((2, 3))), "the space must have all columns"),
    ("plain", {"_space": MIXED}, "mixed rows have a mixed metric"),
    ("gower", {"_space": Space("euclidean", 2.0)}, "mixed rows have a mixed metric"),
    ("gower", {"_space": None}, "mixed rows have a mixed metric"),
    ("bits", kept(lambda r: r[:, :2]), "the rows must have all columns"),
    ("sparse", kept(lambda r: r[:, :2]), "the rows must have all columns"),
    ("told", kept(lambda r: r[:23]), "precomputed distances must be square"),
    ("told", lambda m: {"_rows": m._store.rows[:23, :23], "n_features_in_": 23}, "a class of every row"),
    ("gower", kept(lambda r: np.ascontiguousarray(r[:, :-1])), "the rows must have all coordinates"),
    ("gower", space(metric="vdm"), "the space must be that of the metric"),
    ("gower", kept(lambda r: np.where(r == r[0, 0], np.inf, r)), "finite coordinates"),
    ("gower", kept(lambda r: np.where(r == r[0, 0], np.nan, r)), None),
    ("vdm", kept(lambda r: np.where(r == r[0, 0], np.nan, r)), "finite coordinates"),
    ("plain", {"loo_curve_": np.array([np.nan])}, None),
    ("plain", {"_weight": np.zeros(24)}, None),
    ("plain", {"_weight": np.ones(24)}, None),
    ("auto", {"_weight": None}, None),
    ("plain", {"_learned_by": {}}, "what the rows were learned by"),
    ("plain", lambda m: {"_learned_by": {**m._learned_by, "more": 1}}, "what the rows were learned by"),
    ("plain", {"classes_": OTHER[:0]}, "a class of every row"),
    ("plain", {"classes_": OTHER[:2]}, "a class of every row"),
    ("plain", edge("_codes", 2), None),
    ("plain", edge("_codes", 3), "a class of every row"),
    ("plain", edge("_codes", 2**62), "a class of every row"),
    ("plain", lambda m: {"_codes": m._codes[:23]}, "a class of every row"),
    ("flat", lambda m: {"_targets": m._targets[:23]}, "a target of every row"),
    ("flat", {"_targets": np.zeros((24, 0))}, "a target of every row"),
    ("flat", {"_targets": np.zeros((24, 2))}, "a flat target has one column"),
    ("flat", {"_targets": np.zeros((24, 1))}, None),
    ("two", {"_flat": True}, "a flat target has one column"),
    ("flat", {"_flat": False}, None),
]


@pytest.mark.parametrize(("name", "change", "said"), ROWS, ids=[f"{i} {row[0]}" for i, row in enumerate(ROWS)])
def test_what_is_refused_and_what_is_not(name, change, said):
    made = judged(fitted(name), change, said)
    assert said is not None or len(made.predict(rows(name))) == 24


def test_parameters_of_metrics_that_could_ask_for_more_are_not_saved():
    model = po.KNeighborsClassifier(3, metric="cosine", metric_params={"n_jobs": 1}).fit(P, Y)
    with pytest.raises(NotStorable, match=r"metric_params: a model file holds .* Got 'n_jobs' instead"):
        remade(model)


def test_a_metric_that_was_changed_since_is_not_saved():
    model = po.KNeighborsClassifier(3).fit(P, Y).set_params(p=1)
    with pytest.raises(po.errors.ModelError, match="fit again"):
        remade(model)
