"""Losses, and classifiers that decide by them."""

from __future__ import annotations

import copy
import os
from dataclasses import replace
from typing import Any

from sklearn.frozen import FrozenEstimator

from ...decision.classifier import RiskClassifier
from ...decision.loss import Loss, as_loss
from ...errors import NotStorable
from ...estimator import Estimator
from .form import POINTS, Fields, Form, anything, array, estimator, flag, floats, need, value
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
    )
}
