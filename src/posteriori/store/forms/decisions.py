"""Losses, classifiers that decide by them, and classifiers of points behind any table: how rows become points, the
classifier, the sigmoid of its margins.
"""

from __future__ import annotations

import copy
import os
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from ...decision.classifier import RiskClassifier
from ...decision.loss import Loss, as_loss
from ...decision.on_points import LARGEST, Calibrated, OnPoints
from ...errors import NotStorable
from ...estimator import Estimator
from ...table.encode import Seen
from ...table.prepare import NAMED, VIEWS, Prepare
from ...table.schema import MEASURED
from .form import (
    POINTS,
    Fields,
    Form,
    anything,
    array,
    estimator,
    flag,
    floats,
    ints,
    natural,
    need,
    needs,
    of,
    same_classes,
    tuple_of,
    value,
    word,
)
from .form import nothing as none


def _risk(model: RiskClassifier) -> None:
    if "estimator_" in vars(model):
        fitted = model.estimator_
        need(isinstance(fitted, Estimator), "estimator_ must be an estimator of posteriori")
        need(hasattr(fitted, "predict_proba") and hasattr(fitted, "classes_"), "estimator_ must be a fitted classifier")
        _ = model.actions_  # refuses a loss of other classes


def _risk_of(model: RiskClassifier) -> Fields:
    """A loss that is the name of a file becomes what the file says: a model file needs no other."""
    if isinstance(model.loss, str | os.PathLike):
        model = copy.copy(model)
        model.loss = as_loss(model.loss, ())
    if "estimator_" in vars(model):
        _ = model.actions_  # what could not be loaded is not saved
    return _RISK.take(model)


def _risk_made(fields: Fields) -> Any:
    need(not isinstance(fields.get("loss"), str), "a loss must be numbers, not the name of a file")
    return _RISK.build(fields)


def _frozen(held: Any) -> Fields:
    if not isinstance(held.estimator, Estimator):
        raise NotStorable(
            f"a FrozenEstimator of {type(held.estimator).__qualname__!r} cannot be held: a model file has estimators of "
            "posteriori alone"
        )
    return {"estimator": held.estimator}


_RISK = estimator(RiskClassifier, _risk, {**POINTS, "estimator_": anything})


def _prepare(held: Prepare) -> None:
    columns, measured, named = held.schema.columns, held.of(MEASURED), held.of(NAMED)
    need(held.numbers.shape == (5, len(measured)) and (held.numbers[2] > 0).all(), "a scale above 0 of every number")
    need((np.diff(held.gaps) > 0).all() and (held.gaps < len(measured)).all(), "gaps are places of numbers, in order")
    sizes = [len(columns[j].values) + 2 for j in named]
    need([len(c) for c in held.corners] == sizes, "a corner of every value, of a missing cell and of any other")
    need(all(c.max() < len(c) for c in held.corners), "a column has no more corners than values")


def _inside(model: Any) -> Any:
    """The fitted classifier that another one asks."""
    needs(model, "classes_", "estimator_", "n_features_in_")
    inside = model.estimator_
    need(isinstance(inside, Estimator) and hasattr(inside, "classes_"), "estimator_ must be a fitted one of posteriori")
    need(np.array_equal(inside.classes_, model.classes_), "estimator_ must have the same classes")
    return inside


def _on_points(model: OnPoints) -> None:
    inside = _inside(model)
    needs(model, "prepare_")
    schema = model.prepare_.schema
    need(hasattr(inside, "predict_proba"), "estimator_ must have a posterior")
    same_classes(model.classes_, schema.classes)
    need(model.n_features_in_ == len(schema) > 0, "n_features_in_ must be the number of columns")
    if "feature_names_in_" in vars(model):
        need(model.feature_names_in_.tolist() == list(schema.names), "feature_names_in_ must be the columns' names")
    need(inside.n_features_in_ == len(model.prepare_.owner), "estimator_ must take the points that are made")


def _calibrated(model: Calibrated) -> None:
    inside, K = _inside(model), len(model.classes_)
    needs(model, "slopes_", "intercepts_")
    need(hasattr(inside, "decision_function"), "estimator_ must have margins")
    need(model.slopes_.shape == (K, K) and model.intercepts_.shape == (K,), "a slope and an intercept of every class")
    need((np.abs(model.slopes_) < LARGEST).all(), "slopes must be numbers")
    need((model.intercepts_ < LARGEST).all() and np.isfinite(model.intercepts_).any(), "a class must be possible")
    need(inside.n_features_in_ == model.n_features_in_, "estimator_ must have the same columns")


FITTED = {"estimator_": anything, "classes_": array, "n_features_in_": natural()}
FORMS = {
    form.tag: form
    for form in (
        value(Loss, matrix=floats(2), classes=array | none, actions=array | none, reject=flag),
        Form(
            "FrozenEstimator",
            FrozenEstimator,
            {"estimator": anything},
            _frozen,
            lambda fields: FrozenEstimator(**fields),
            lambda held: need(isinstance(held.estimator, Estimator), "a frozen estimator must be one of posteriori"),
        ),
        replace(_RISK, take=_risk_of, build=_risk_made),
        value(
            Prepare,
            _prepare,
            schema=of("Schema"),
            view=word(*VIEWS),
            numbers=floats(2),
            gaps=ints(1, 0),
            corners=tuple_of(ints(1, -1)),
        ),
        estimator(
            OnPoints,
            _on_points,
            {**FITTED, "prepare_": of("Prepare"), "feature_names_in_": array},
            fresh={"_seen": Seen},
        ),
        estimator(
            Calibrated,
            _calibrated,
            {**FITTED, "slopes_": floats(2), "intercepts_": floats(1, finite=False)},
        ),
    )
}
