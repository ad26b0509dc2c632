"""Model files as commands use them: the counting model inside, its schema, its target, the loss it decides by."""

from __future__ import annotations

import pathlib
from dataclasses import replace
from typing import Any

from ..decision.classifier import RiskClassifier
from ..decision.loss import Loss, as_loss
from ..errors import ModelError, ModelFileError
from ..store.file import load
from ..table.schema import Schema


def open_model(path: str) -> Any:
    """A fitted classifier from a model file; a network or something else is named."""
    if pathlib.Path(path).suffix.lower() in (".bif", ".xmlbif", ".net", ".uai", ".csv", ".parquet"):
        raise ModelFileError(
            f"{path} is no model file; `posteriori train` makes one, `posteriori query` asks a network"
        )
    model = load(path)
    if hasattr(model, "marginals"):
        way = "use it from Python" if hasattr(model, "continuous") else "`posteriori query` asks it"
        raise ModelError(f"{path} holds a {type(model).__name__}, a network, which is no classifier: {way}")
    if not hasattr(inner(model), "predict_proba"):
        raise ModelError(f"{path} holds a {type(model).__name__}, which is no classifier")
    if not is_fitted(model):
        raise ModelError(f"{path} holds a {type(model).__name__} that was saved before `fit`: it has learned nothing")
    return model


def is_fitted(model: Any) -> bool:
    """Whether a classifier has learned its classes."""
    return hasattr(inner(model), "classes_")


def inner(model: Any) -> Any:
    """The model that counts, inside a `RiskClassifier` or itself."""
    return getattr(model, "estimator_", model.estimator) if isinstance(model, RiskClassifier) else model


def schema_of(model: Any) -> Schema:
    """The columns and classes of a model, and how the file that it learned from was read."""
    kinds = getattr(inner(model), "kinds", None)
    found: Schema | None = getattr(inner(model), "schema_", kinds if isinstance(kinds, Schema) else None)
    if found is not None and isinstance(kinds, Schema):
        found = replace(found, reading=kinds.reading)
    if found is None:
        raise ModelError(f"a {type(inner(model)).__name__} keeps no schema: use it from Python")
    return found


def target_of(model: Any, told: str | None = None) -> str:
    """The name of the column that the model foretells."""
    kinds = getattr(inner(model), "kinds", None)
    found = told or (kinds.target if isinstance(kinds, Schema) else None)
    if found is None:
        raise ModelError("the model file does not say which column it foretells: give --target")
    return str(found)


def loss_of(model: Any, loss: str | None, reject: float | None) -> Loss:
    """The loss to decide by: told now, else the model's own, else zero-one; with the price of rejecting."""
    classes = inner(model).classes_
    own = model.loss_ if isinstance(model, RiskClassifier) else None
    found = own if loss is None and own is not None else as_loss(loss, classes).over(classes)
    return found if reject is None else found.without_reject().with_reject(reject)
