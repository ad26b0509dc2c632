"""Scores of a posterior, and the leaderboard of them: a value that sorts and shows itself.

Symbols: n rows, K classes, p[i, y] the posterior of row i, y_i its class, w_i its weight (W their sum), λ[a, y] loss.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import views
from ..arrays import Floats, Ints
from ..decision.calibrate import reliability
from ..decision.decide import best_action
from ..decision.loss import Loss
from ..errors import BadValue

if TYPE_CHECKING:
    import pandas as pd

SCORES = ("log_loss", "error", "brier", "calibration_error", "cost", "fit_seconds", "row_microseconds")
LEAST = float(np.finfo(np.float64).eps)  # a probability below it counts as it: 36.04 nats, and not infinity
HEADS = {
    "log_loss": "log loss",
    "error": "error",
    "brier": "Brier",
    "calibration_error": "calib.",
    "cost": "cost",
    "fit_seconds": "fit s",
    "row_microseconds": "µs/row",
}
HOW = "mean ± sd over the folds (calib.: all rows ± jackknife)"  # what the scores are


@dataclass(frozen=True, eq=False)
class Row:
    """A model of the leaderboard: its scores fold by fold, or why it has none."""

    name: str
    says: str
    estimator: Any = field(repr=False)
    status: str = "finished"  # finished, failed or skipped
    reason: str = ""
    folds: dict[str, tuple[float, ...]] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()
    ours: bool = True
    posterior: Floats | None = field(default=None, repr=False)  # P(y|x) of each row by a model that had not seen it
    pooled: dict[str, tuple[float, float]] = field(
        default_factory=dict, repr=False
    )  # (score, sd) that is no mean of folds

    def mean(self, score: str) -> float:
        """The mean over the folds (of the calibration error that of all rows together); NaN where there is none."""
        if score in self.pooled:
            return self.pooled[score][0]
        found = self.folds.get(score, ())
        return float(np.mean(found)) if found else math.nan

    def sd(self, score: str) -> float:
        """The standard deviation over the folds (ddof = 1); NaN of fewer than two."""
        if score in self.pooled:
            return self.pooled[score][1]
        found = self.folds.get(score, ())
        return float(np.std(found, ddof=1)) if len(found) > 1 else math.nan


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """What `compare` gives: rows in order of `by`, the best first; then those that failed or were skipped, with reasons.

    Each score is the mean ± sd over the folds: `log_loss` in nats, `brier` between 0 and 2, `calibration_error` over 15
    bins of confidence (of the rows of all folds together ± what leaving out a fold changes), `cost` what the decisions of
    least risk really cost, `fit_seconds` the time until a first row has been answered, `row_microseconds` the time of one
    row more. `fold` is the fold in which each row was tested, `truth` the place of its class in `classes`; both are −1
    of a row that weighs nothing.
    """

    rows: tuple[Row, ...]
    by: str
    n_folds: int
    n_rows: int
    classes: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()
    fold: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    truth: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Row:
        from ..errors import UnknownValue, did_you_mean, listed

        for row in self.rows:
            if row.name == name:
                return row
        names = [row.name for row in self.rows]
        raise UnknownValue(f"no model {name!r}{did_you_mean(name, names) or '.'} Models: {listed(names, most=30)}")

    @property
    def finished(self) -> tuple[Row, ...]:
        """The rows that have scores, the best first."""
        return tuple(row for row in self.rows if row.status == "finished")

    @property
    def best(self) -> Row:
        """The best row. `best.estimator` is unfitted: fit it on all rows."""
        if not self.finished:
            from ..errors import ModelError

            reasons = "; ".join(f"{row.name}: {row.reason}" for row in self.rows)
            raise ModelError(f"no model was scored ({reasons})")
        return self.finished[0]

    def frame(self) -> pd.DataFrame:
        """A pandas table: a row a model, mean and sd of each score, status and reason."""
        import pandas as pd

        return pd.DataFrame([_flat(row, self.scores) for row in self.rows])

    @property
    def scores(self) -> tuple[str, ...]:
        """The scores that were measured."""
        met = {name for row in self.finished for name in row.folds}
        return tuple(name for name in SCORES if name in met)

    def to_json(self) -> str:
        """All of it but the estimators, fold by fold; NaN is null."""
        rows = [{**_flat(row, self.scores), "folds": {k: list(v) for k, v in row.folds.items()}} for row in self.rows]
        told = {
            "by": self.by,
            "folds": self.n_folds,
            "rows": self.n_rows,
            "classes": [v.item() if isinstance(v, np.generic) else v for v in self.classes],
            "notes": list(self.notes),
            "models": rows,
        }
        return json.dumps(_plain(told), ensure_ascii=False, allow_nan=False, default=str)

    def __str__(self) -> str:
        return "\n".join(text_lines(self))

    def _repr_html_(self) -> str:
        return views.html("a board", self)


def cell(row: Row, score: str, spread: bool = True) -> str:
    """A score as a table shows it: mean ± sd, with as many digits as it deserves."""
    mean, sd = row.mean(score), row.sd(score)
    if math.isnan(mean):
        return "–"
    digits = 3
    if score in ("fit_seconds", "row_microseconds"):  # two digits that count
        digits = min(3, max(0, 1 - math.floor(math.log10(mean)))) if mean > 0 else 1
    said = f"{mean:.{digits}f}"
    if not spread or math.isnan(sd):
        return said
    short = f"{sd:.{digits}f}"
    return f"{said} ±{short.removeprefix('0') if digits else short}"


def text_lines(board: Leaderboard) -> Iterator[str]:
    """The board as plain text."""
    heads = ["model", *(HEADS[s] for s in board.scores)]
    cells = [[row.name, *(cell(row, s) for s in board.scores)] for row in board.finished]
    widths = [max(map(len, column)) for column in zip(heads, *cells)]
    for line in (heads, *cells):
        yield "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:]))]).rstrip()
    for row in board.rows:
        if row.status != "finished":
            yield f"{row.name}: {row.status}, {row.reason}"
    for row in board.finished:
        yield from (f"{row.name}: {note}" for note in row.notes)
    yield from board.notes


def _flat(row: Row, scores: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {"model": row.name, "says": row.says, "status": row.status, "reason": row.reason}
    for score in scores:
        found[score], found[f"{score}_sd"] = row.mean(score), row.sd(score)
    return {**found, "notes": "; ".join(row.notes)}


def _plain(value: Any) -> Any:
    """NaN and infinity as null, which JSON has."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def log_loss(p: Floats, y: Ints, w: Floats) -> float:
    """−(1/W) Σ_i w_i ln p[i, y_i]; a class that the model gave no probability costs 36.04 nats.

    >>> round(log_loss(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0, 0]), np.ones(2)), 4)
    0.3466
    """
    of_truth = np.clip(p[np.arange(len(y)), y], LEAST, 1.0)
    return _mean(-np.log(of_truth), w)


def error(p: Floats, y: Ints, w: Floats) -> float:
    """(1/W) Σ_i w_i [argmax_y p[i, y] ≠ y_i]."""
    return _mean(p.argmax(axis=1) != y, w)


def brier(p: Floats, y: Ints, w: Floats) -> float:
    """(1/W) Σ_i w_i Σ_y (p[i, y] − [y = y_i])², between 0 and 2.

    >>> brier(np.array([[0.5, 0.5]]), np.array([0]), np.ones(1))
    0.5
    """
    of_truth = p[np.arange(len(y)), y]
    return _mean((p * p).sum(axis=1) - 2 * of_truth + 1, w)


def calibration_error(p: Floats, y: Ints, w: Floats) -> float:
    """Σ_b W_b/W |accuracy_b − confidence_b| over 15 equal bins: `po.calibration_error` of the top label."""
    return reliability(p, y, sample_weight=w).error


def cost(p: Floats, y: Ints, w: Floats, loss: Loss) -> float:
    """(1/W) Σ_i w_i λ[a_i, y_i] where a_i is the action of least risk: what the decisions really cost."""
    return _mean(loss.matrix[best_action(p, loss), y], w)


def scored(p: Floats, y: Ints, w: Floats, loss: Loss | None) -> dict[str, float]:
    """All scores of a posterior."""
    found = {f.__name__: f(p, y, w) for f in (log_loss, error, brier, calibration_error)}
    return found if loss is None else {**found, "cost": cost(p, y, w, loss)}


def over_classes(p: Floats, own: list[int], k: int) -> Floats:
    """A model's posterior over all K classes: those that its training rows lacked have none.

    >>> over_classes(np.array([[0.3, 0.7]]), [0, 2], 3)
    array([[0.3, 0. , 0.7]])
    """
    p = np.asarray(p, dtype=np.float64)
    if p.ndim != 2 or p.shape[1] != len(own):
        raise BadValue(f"the posterior has the shape {p.shape}, where there are {len(own)} classes")
    sums = p.sum(axis=1)
    if not (np.isfinite(sums).all() and (np.abs(sums - 1) <= 1e-3).all() and (p >= 0).all()):
        i = int(np.argmax(~(np.abs(sums - 1) <= 1e-3) | (p < 0).any(axis=1)))
        raise BadValue(f"row {i} of the test rows has a posterior that is none: {p[i].tolist()}")
    found = np.zeros((len(p), k))
    found[:, own] = p
    return found


def _mean(values: Floats, w: Floats) -> float:
    return float((w @ values) / w.sum())
