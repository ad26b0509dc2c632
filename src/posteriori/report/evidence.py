"""What a report rests on, gathered once: the model, the rows, posteriors of rows that it had not seen, the loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing

from ..arrays import Floats, Ints
from ..decision.decide import best_action, meet
from ..decision.loss import Loss, deciding_loss
from ..decision.on_points import called
from ..errors import BadValue, ModelError, PosterioriError
from ..leaderboard.board import Leaderboard, Row
from ..leaderboard.compare import compare
from ..leaderboard.scores import calibration_error, scored
from ..table.dates import date_columns, dates_in
from ..table.frame import Frame, columns_of, labelled, open_frame
from ..table.kinds import resolve_kinds
from ..table.labels import match_labels, places
from ..table.weights import weights_or_ones
from .survey import Survey, ranking, survey


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that the sections of a report read; rows that weigh nothing are not there."""

    model: Any
    X: Any
    frame: Frame
    kinds: tuple[str, ...]
    classes: tuple[Any, ...]
    y: Ints
    w: Floats
    posterior: Floats
    fold: (
        Ints | None
    )  # in which each row was tested; None where the posterior was told, or comes from the rows of training
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
    def called(self) -> str:
        """The name of the classifier."""
        return called(self.inner)

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
    def count(self) -> Floats:
        """The weight of each class."""
        return np.bincount(self.y, self.w, len(self.classes)).astype(np.float64)

    @cached_property
    def survey(self) -> Survey:
        """What the table holds."""
        ranked = ranking(self.inner, self.frame.d)
        return survey(self.frame, self.kinds, self.y, self.w, self.classes, ranked, self.with_rows, self.dates)

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
        """What the leaderboard measures, by its own functions, the mean over its folds; and the share of rejected rows."""
        left = (self.decided == len(self.loss.matrix) - 1) @ self.w / self.w.sum() if self.loss.reject else 0.0
        return {**self._judged(self.posterior), "rejected": float(left)}

    @cached_property
    def baseline(self) -> dict[str, float]:
        """The same, of who always says how common the classes are in the training rows of a fold."""
        prior = np.empty((len(self.y), len(self.classes)))
        for test in self._tests:
            train = ~test if self.fold is not None else test
            share = np.bincount(self.y[train], self.w[train], len(self.classes))
            prior[test] = share / share.sum()
        return self._judged(prior)

    def _judged(self, posterior: Floats) -> dict[str, float]:
        found = [scored(posterior[test], self.y[test], self.w[test], self.loss) for test in self._tests]
        means = {name: float(np.mean([scores[name] for scores in found])) for name in found[0]}
        return means | {
            "calibration_error": calibration_error(posterior, self.y, self.w)
        }  # of all rows, as the board's

    @cached_property
    def _tests(self) -> list[Any]:
        """The test rows of each fold."""
        if self.fold is None:
            return [np.ones(len(self.y), dtype=bool)]
        return [self.fold == f for f in np.unique(self.fold)]


def gather(
    model: Any,
    X: Any,
    y: Any,
    posterior: Any,
    loss: Any,
    reject: float | None,
    with_rows: bool,
    folds: int | None,
    seed: int,
    sample_weight: Any = None,
    board: Leaderboard | None = None,
    chosen: str | None = None,
) -> Evidence:
    """Check and match what a report was given; posteriors that were not given are the board's, or come from its folds."""
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
    weights = weights_or_ones(sample_weight, len(codes))
    inner = model._fitted() if hasattr(model, "loss_") else model
    schema = getattr(inner, "schema_", None) or getattr(X, "schema", None)
    kinds = schema.kinds if schema is not None else resolve_kinds(frame, None)
    frame = frame.matched(schema.names) if schema is not None and frame.names is not None else frame
    known = deciding_loss(model, loss, reject)
    fold, unseen = None, True
    if posterior is None:
        row = None if board is None or chosen is None else _row(board, chosen, codes, weights, classes)
        if row is None:
            board, row = _raced(inner, columns, y, dict(zip(_names(frame), kinds)), sample_weight, folds, seed)
        unseen = row is not None or len(classes) == 1
        posterior = model.predict_proba(columns)
        if row is not None and row.posterior is not None and board is not None:
            fold, posterior = board.fold, np.zeros((len(codes), len(classes)))
            posterior[:, match_labels(board.classes, classes, "classes")] = np.nan_to_num(row.posterior)
    if np.shape(posterior) != (len(codes), len(classes)):
        shapes = np.shape(posterior), (len(codes), len(classes))
        raise BadValue(f"the posterior has the shape {shapes[0]}, where {shapes[1]} is needed")
    some = np.flatnonzero(weights > 0)
    if len(some) < len(codes):
        columns, frame, codes, weights = (
            _safe_indexing(columns, some),
            frame.take_rows(some),
            codes[some],
            weights[some],
        )
        posterior, fold = np.asarray(posterior)[some], None if fold is None else fold[some]
    posterior = meet(posterior, None, None)[0]
    told = [getattr(s, "target", None) for s in (schema, getattr(X, "schema", None), getattr(inner, "kinds", None))]
    target = next((name for name in (*told, getattr(y, "name", None)) if name), "class")
    price = float(known.matrix[-1].max()) if known.reject else None
    named = tuple(classes.tolist())
    return Evidence(
        model,
        columns,
        frame,
        kinds,
        named,
        codes,
        weights,
        posterior,
        fold,
        unseen,
        known,
        price,
        with_rows,
        str(target),
    )


def _names(frame: Frame) -> Any:
    return frame.names if frame.names is not None else range(frame.d)


def _row(board: Leaderboard, chosen: str, codes: Ints, weights: Floats, classes: Any) -> Row | None:
    """The row of a board, if it is of these very rows and knows the posterior of each."""
    row = next((r for r in board.rows if r.name == chosen and r.posterior is not None), None)
    if row is None or row.posterior is None or len(board.truth) != len(codes):
        return None
    live, at = weights > 0, places(board.classes, list(classes))
    if None in at or not np.array_equal(board.fold >= 0, live):
        return None
    same = np.array_equal(np.array(at)[board.truth[live]], codes[live])
    return row if same and np.isfinite(row.posterior[live]).all() else None


def _raced(
    model: Any, X: Any, y: Any, kinds: dict[Any, str], sample_weight: Any, folds: int | None, seed: int
) -> tuple[Leaderboard | None, Row | None]:
    """A race of this model alone; nothing where it cannot be judged so. It is told kinds alone, no values of test rows."""
    while isinstance(model, FrozenEstimator):
        model = model.estimator
    fresh = clone(model)
    if "kinds" in fresh.get_params(deep=False):
        fresh.set_params(kinds=kinds)
    try:
        board = compare(X, y, {"model": fresh}, cv=folds, seed=seed, sample_weight=sample_weight)
    except PosterioriError:
        return None, None
    return board, board.rows[0] if board.rows[0].posterior is not None else None
