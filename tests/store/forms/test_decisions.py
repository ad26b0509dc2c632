"""What a classifier that decides, or takes points, must hold in a file."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import posteriori as po
from posteriori.decision.on_points import LARGEST, Calibrated, OnPoints
from posteriori.errors import Inconsistent
from posteriori.store.forms import form_of
from posteriori.table.prepare import VIEWS

from .refusals import judged, remade


@pytest.mark.parametrize("inner", [None, 3, po.KDTree(np.ones((2, 2)))])
def test_a_fitted_decision_has_a_fitted_classifier(inner):
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    model = po.RiskClassifier(po.GaussianNB(), loss=[[0, 1], [5, 0]]).fit(X, y)
    form = form_of(po.RiskClassifier)
    fields = form.take(model)
    assert np.array_equal(form.make(dict(fields)).predict(X), model.predict(X))
    with pytest.raises(Inconsistent, match="estimator_ must be"):
        form.make({**fields, "estimator_": inner})


RNG = np.random.default_rng(0)
X = {
    "age": RNG.normal(size=30),
    "sky": RNG.choice(["blue", "grey"], 30).tolist(),
    "size": np.where(np.arange(30) % 7, RNG.normal(size=30), np.nan),
}
P = RNG.normal(size=(30, 2))
Y = np.where(RNG.random(30) < 0.5, "in", "out")
MADE = {
    **{f"points {view}": lambda view=view: OnPoints(po.GaussianBayes(shrinkage=0.1), view=view).fit(
        X if view == "one-hot" else {"age": X["age"], "sky": X["sky"]}, Y) for view in VIEWS},
    "least": lambda: OnPoints(po.GaussianBayes(shrinkage=0.1)).fit({"age": X["age"]}, Y),
    "calibrated": lambda: Calibrated(po.LinearSVC(random_state=0)).fit(P, Y),
    "of margins": lambda: OnPoints(Calibrated(po.LinearSVC(random_state=0))).fit(X, Y),
}  # fmt: skip


@cache
def fitted(name):
    return MADE[name]()


def rows(model):
    return P if isinstance(model, Calibrated) else {n: X[n] for n in model.feature_names_in_}


@pytest.mark.parametrize("name", MADE)
def test_the_same_answers_to_the_last_bit(name):
    model = fitted(name)
    made = remade(model)
    assert np.array_equal(made.predict_proba(rows(model)), model.predict_proba(rows(model)))
    if isinstance(model, OnPoints):
        assert np.array_equal(made.prepare_.owner, model.prepare_.owner)
        assert (made.n_missing_, made.n_unseen_) == (model.n_missing_, model.n_unseen_)


def edge(name, at, value):
    def change(held):
        array = getattr(held, name).copy()
        array[at] = value
        return {name: array}

    return change


SCALE = "a scale above 0 of every number"
GAPS = "gaps are places of numbers, in order"
CORNER = "a corner of every value, of a missing cell and of any other"
PREPARE = [
    (edge("numbers", (2, 1), 0.0), SCALE),
    (edge("numbers", (2, 1), -1.0), SCALE),
    (edge("numbers", (2, 1), 1e-300), None),
    (edge("numbers", (1, 1), 0.0), None),
    ({"numbers": np.ones((5, 1))}, SCALE),
    ({"numbers": np.ones((5, 3))}, SCALE),
    ({"gaps": np.array([0, 1])}, None),
    ({"gaps": np.array([], dtype=np.int64)}, None),
    ({"gaps": np.array([1, 0])}, GAPS),
    ({"gaps": np.array([1, 1])}, GAPS),
    ({"gaps": np.array([2])}, GAPS),
    ({"gaps": np.array([0, 2**62])}, GAPS),
    ({"corners": ()}, CORNER),
    ({"corners": (np.array([0, 1, -1]),)}, CORNER),
    ({"corners": (np.array([0, 1, -1, -1, -1]),)}, CORNER),
    ({"corners": (np.array([0, 1, -1, -1]),) * 2}, CORNER),
    ({"corners": (np.array([0, 1, -1, 3]),)}, None),
    ({"corners": (np.array([0, 1, -1, 4]),)}, "a column has no more corners than values"),
    ({"corners": (np.array([-1, -1, -1, -1]),)}, None),
]


@pytest.mark.parametrize(("change", "said"), PREPARE, ids=map(str, range(len(PREPARE))))
def test_how_rows_become_points(change, said):
    held = fitted("points one-hot").prepare_
    made = judged(held, change, said)
    if made is not None:
        from posteriori.table.frame import open_frame

        points = made(open_frame(X))
        assert points.shape == (30, len(made.owner))
        assert np.isfinite(points).all()


def schema(**change):
    return lambda m: {"prepare_": replace(m.prepare_, schema=replace(m.prepare_.schema, **change))}


TWO = np.array(["in", "out"])
ROWS = [
    ("points one-hot", {"estimator_": 3}, "estimator_ must be a fitted one of posteriori"),
    ("points one-hot", {"estimator_": po.GaussianBayes()}, "estimator_ must be a fitted one of posteriori"),
    ("points one-hot", {"classes_": np.array(["in", "off"])}, "classes_ must be the classes of the schema"),
    ("points one-hot", {"classes_": TWO[:1]}, "classes_ must be the classes of the schema"),
    (
        "points one-hot",
        lambda m: {"estimator_": fitted("of margins").estimator_.estimator_},
        "must have predict_proba",
    ),
    ("points one-hot", schema(classes=("in",)), "classes_ must be the classes of the schema"),
    ("points one-hot", schema(classes=("out", "in")), "classes_ must be the classes of the schema"),
    (
        "points one-hot",
        {"feature_names_in_": np.array(["sky", "age", "size"])},
        "feature_names_in_ must be",
    ),
    ("points one-hot", lambda m: {"prepare_": replace(m.prepare_, gaps=np.array([0, 1]))}, "the points that are made"),
    ("points one-hot", lambda m: {"prepare_": replace(m.prepare_, view="ordinal")}, "the points that are made"),
    ("points one-hot", {"estimator_": po.GaussianNB().fit(P, Y)}, "estimator_ must take the points that are made"),
    ("points one-hot", {"estimator_": po.GaussianNB().fit(RNG.normal(size=(30, 5)), Y)}, None),
    ("calibrated", {"estimator_": po.GaussianNB().fit(P, Y)}, "estimator_ must have decision_function"),
    ("calibrated", {"estimator_": po.SVC().fit(P, Y)}, None),
    ("calibrated", {"slopes_": np.full((2, 2), np.nextafter(LARGEST, 0))}, None),
    ("calibrated", {"slopes_": np.full((2, 2), np.nextafter(LARGEST, np.inf))}, "Calibrated.slopes_ must be"),
    ("calibrated", {"intercepts_": np.array([-np.inf, 0.0])}, None),
    ("calibrated", {"intercepts_": np.array([-np.inf, -np.inf])}, "a class must be possible"),
    ("calibrated", {"intercepts_": np.array([0.0, np.inf])}, "a class must be possible"),
    ("calibrated", {"intercepts_": np.array([0.0, np.nan])}, "a class must be possible"),
    ("calibrated", {"intercepts_": np.array([0.0, LARGEST])}, "a class must be possible"),
    ("calibrated", {"intercepts_": np.array([0.0, np.nextafter(LARGEST, 0)])}, None),
    ("calibrated", {"n_features_in_": 1}, "estimator_ must have the same columns"),
    ("calibrated", {"n_features_in_": 3}, "estimator_ must have the same columns"),
]


@pytest.mark.parametrize(("name", "change", "said"), ROWS, ids=[f"{i} {row[0]}" for i, row in enumerate(ROWS)])
def test_what_is_refused_and_what_is_not(name, change, said):
    made = judged(fitted(name), change, said)
    assert said is not None or np.allclose(made.predict_proba(rows(made)).sum(axis=1), 1)
