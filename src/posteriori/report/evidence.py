"""What a report rests on, gathered once: the model, the rows, posteriors of rows that it had not seen, the loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ..arrays import Floats, Ints
from ..decision.calibrate import calibration_error
from ..decision.decide import best_action, meet
from ..decision.loss import Loss, as_loss
from ..errors import BadValue, ModelError
from ..table.calendar import dates_in
from ..table.dates import date_columns
from ..table.frame import Frame, columns_of, labelled, open_frame
from ..table.kinds import resolve_kinds
from ..table.labels import match_labels
from .survey import Survey, ranking, survey

LEAST = 1e-15  # a probability below it counts as it in the log loss


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that the sections of a report read."""

    model: Any
    X: Any
    frame: Frame
    kinds: tuple[str, ...]
    classes: tuple[Any, ...]
    y: Ints
    posterior: Floats
    unseen: bool  # whether the rows had not been seen
    loss: Loss
    reject: float | None
    with_rows: bool
    target: str

    @cached_property
    def inner(self) -> Any:
        """The classifier itself: what a `RiskClassifier` decides by."""
        return self.model._fitted() if hasattr(self.model, "loss_") else self.model

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns by name, as the model calls them."""
        return tuple(self.frame.name(j) for j in range(self.frame.d))

    @cached_property
    def place(self) -> dict[str, int]:
        """Where each column stands."""
        return {n: j for j, n in enumerate(self.names)}

    @cached_property
    def dates(self) -> dict[str, dict[str, str]]:
        """The columns that are dates, each with its parts that are columns too."""
        return dates_in(getattr(self.inner, "schema_", None), date_columns(self.X))

    @cached_property
    def survey(self) -> Survey:
        """What the table holds."""
        ranked = ranking(self.inner, self.frame.d)
        return survey(self.frame, self.kinds, self.y, self.classes, ranked, self.with_rows, self.dates)

    @cached_property
    def decided(self) -> Ints:
        """The action taken for each row."""
        return best_action(self.posterior, self.loss)

    @cached_property
    def actions(self) -> list[Any]:
        """What each action is called; to reject comes last."""
        return list(self.loss.labels(None).tolist())

    @cached_property
    def scores(self) -> dict[str, float]:
        """Error, log loss, calibration error and mean loss of the posterior."""
        p, y = self.posterior, self.y
        of_truth = np.clip(p[np.arange(len(y)), y], LEAST, 1.0)
        return {
            "error": float(np.mean(p.argmax(axis=1) != y)),
            "log_loss": float(-np.log(of_truth).mean()),
            "calibration": calibration_error(p, y),
            "cost": float(self.loss.matrix[self.decided, y].mean()),
            "rejected": float(np.mean(self.decided == len(self.loss.matrix) - 1)) if self.loss.reject else 0.0,
        }

    @cached_property
    def baseline(self) -> dict[str, float]:
        """The same, of who always says how common the classes are."""
        share = np.bincount(self.y, minlength=len(self.classes)) / len(self.y)
        live = share[share > 0]
        return {
            "error": float(1 - share.max()),
            "log_loss": float(-(live * np.log(live)).sum()),
            "cost": float((self.loss.matrix @ share).min()),
        }


def gather(
    model: Any, X: Any, y: Any, posterior: Any, loss: Any, reject: float | None, with_rows: bool, folds: int, seed: int
) -> Evidence:
    """Check and match what a report was given; posteriors that were not given come from folds."""
    if not hasattr(model, "predict_proba"):
        raise ModelError(f"a report needs a model with predict_proba; {type(model).__name__} has none")
    X, y = labelled(X, y)
    columns = columns_of(X)
    if isinstance(columns, Mapping):
        import pandas as pd

        columns = pd.DataFrame(columns)
    classes = np.asarray(model.classes_)
    codes = match_labels(y, classes, "y")
    frame = open_frame(columns)
    if len(codes) != frame.n or not len(codes):
        raise BadValue(f"a report needs rows, each with its class: X has {frame.n} rows, y {len(codes)}")
    inner = model._fitted() if hasattr(model, "loss_") else model
    schema = getattr(inner, "schema_", None) or getattr(X, "schema", None)
    kinds = schema.kinds if schema is not None else resolve_kinds(frame, None)
    frame = frame.matched(schema.names) if schema is not None and frame.names is not None else frame
    if hasattr(model, "loss_"):
        if loss is not None or reject is not None:
            raise ModelError("a RiskClassifier has its loss and reject already: change them with set_params")
        known = model.loss_
    else:
        known = as_loss(loss, classes).over(classes)
        known = known if reject is None else known.with_reject(reject)
    unseen = True
    if posterior is None:
        found = _unseen(model, columns, y, codes, classes, kinds, frame, folds, seed)
        unseen = found is not None
        posterior = model.predict_proba(columns) if found is None else found
    posterior = meet(posterior, None, None)[0]
    if posterior.shape != (len(codes), len(classes)):
        raise BadValue(f"the posterior has the shape {posterior.shape}, where {(len(codes), len(classes))} is needed")
    told = [getattr(s, "target", None) for s in (schema, getattr(X, "schema", None))]
    target = next((name for name in (*told, getattr(y, "name", None)) if name), "class")
    price = float(known.matrix[-1].max()) if known.reject else None
    named = tuple(classes.tolist())
    return Evidence(model, columns, frame, kinds, named, codes, posterior, unseen, known, price, with_rows, str(target))


def _unseen(
    model: Any, X: Any, y: Any, codes: Ints, classes: Any, kinds: Any, frame: Frame, folds: int, seed: int
) -> Floats | None:
    """The posterior of each row by a model that was trained on the other folds; None where a fold would lack classes."""
    fold = _folds(codes, folds, seed)
    out = np.zeros((len(codes), len(classes)))
    labels = np.asarray(y)
    for f in range(int(fold.max()) + 1):
        train, test = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        if len(np.unique(codes[train])) < min(2, len(classes)):
            return None
        fresh = clone(model)
        if "kinds" in fresh.get_params(deep=False) and fresh.kinds is None:
            names = frame.names if frame.names is not None else range(frame.d)
            fresh.set_params(kinds=dict(zip(names, kinds)))
        fresh.fit(_safe_indexing(X, train), labels[train])
        own = match_labels(fresh.classes_, classes, "classes")
        out[np.ix_(test, own)] = fresh.predict_proba(_safe_indexing(X, test))
    return out


def _folds(codes: Ints, folds: int, seed: int) -> Ints:
    """Each class dealt out over the folds, in a random order."""
    rng, fold, dealt = np.random.default_rng(seed), np.empty(len(codes), dtype=np.int64), 0
    for c in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == c))
        fold[rows] = (dealt + np.arange(len(rows))) % min(folds, len(codes))
        dealt += len(rows)
    return fold
