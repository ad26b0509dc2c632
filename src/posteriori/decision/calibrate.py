"""Whether a posterior means what it says: of the rows that are said to be right with probability p, a share p should be.

Symbols: p what the posterior says of a row, h ∈ {0, 1} whether that came true, w the row's weight; bin b = (b/B, (b+1)/B],
the first with 0. Of the top label p = max_y P(y|x) and h = [the label is right]; of a class c p = P(c|x) and h = [y = c].
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..errors import BadParameter, UnknownValue, did_you_mean, listed
from ..table.labels import number, position
from ..table.weights import weights_or_ones
from .decide import meet, meet_truth

LEAST, MOST_HEAT = 1e-12, 100.0  # a probability whose logarithm is taken; of a temperature, and of its inverse


@dataclass(frozen=True, eq=False)
class Reliability:
    """The bins that have rows, from low to high: where they lie, their share of all rows, what was said and what came.

    A calibrated posterior has `came` = `said` in every bin, but for chance.
    """

    low: Floats
    high: Floats
    share: Floats
    said: Floats
    came: Floats

    @property
    def error(self) -> float:
        """Σ_b share_b |came_b − said_b|: the expected calibration error."""
        return float(self.share @ np.abs(self.came - self.said))

    @property
    def worst(self) -> float:
        """max_b |came_b − said_b|."""
        return float(np.abs(self.came - self.said).max())


def reliability(
    posterior: Any, y: Any, target: Any = None, *, bins: int = 15, classes: Any = None, sample_weight: Any = None
) -> Reliability:
    """What the posterior says against what came, bin by bin: of the top label, or of the class `target`.

    Parameters
    ----------
    posterior : array or DataFrame of shape (rows, classes)
        P(y|x) of rows that the model was not trained on.
    y : the true classes, by label (or by the place of their column, where nothing names the columns)
    bins : int, default 15
        Bins of equal width; a probability on a border belongs to the bin below. Bins without rows are left out.

    >>> found = reliability([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.45, 0.55]], [0, 0, 1, 0], bins=2)
    >>> found.said.round(4).tolist(), found.came.tolist(), round(found.error, 4)
    ([0.7125], [0.75], 0.0375)
    """
    rows, truth, labels, weights = _met(posterior, y, classes, sample_weight)
    if target is None:
        top = rows.argmax(axis=1)
        return _binned(rows[np.arange(len(rows)), top], top == truth, weights, _checked_bins(bins))
    at = position(target, labels) if isinstance(target, Hashable) else None
    if at is None:
        raise UnknownValue(f"no class {target!r}{did_you_mean(target, labels) or '.'} Classes: {listed(labels)}")
    return _binned(rows[:, at], truth == at, weights, _checked_bins(bins))


def calibration_error(
    posterior: Any,
    y: Any,
    *,
    classwise: bool = False,
    bins: int = 15,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    """ECE = Σ_b share_b |came_b − said_b| of the top label; `classwise`, the mean of that over the classes.

    >>> calibration_error([[0.75, 0.25]] * 4, [0, 0, 0, 1])
    0.0
    >>> calibration_error([[1.0, 0.0]] * 4, [0, 0, 0, 1])
    0.25
    """
    if not classwise:
        return reliability(posterior, y, bins=bins, classes=classes, sample_weight=sample_weight).error
    rows, truth, labels, weights = _met(posterior, y, classes, sample_weight)
    count = _checked_bins(bins)
    return float(np.mean([_binned(rows[:, c], truth == c, weights, count).error for c in range(len(labels))]))


def temperature(posterior: Any, y: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """T of least log loss of P(y|x)^{1/T}, normalised: above 1 the posterior was too sure of itself, below 1 not enough.

    Use rows that the model was not trained on. T lies within 1/100 and 100: a posterior whose surest class is always the
    right one has no best T, and gets 1/100. A probability of 0 counts as 1e-12. `tempered` applies it.

    >>> posterior = [[0.99, 0.01]] * 4 + [[0.01, 0.99]] * 4
    >>> T = temperature(posterior, [0, 0, 0, 1, 1, 1, 1, 0])     # right in three of four rows
    >>> tempered(posterior[:1], T).round(3)
    array([[0.75, 0.25]])
    """
    rows, truth, _, weights = _met(posterior, y, classes, sample_weight)
    logs, w = np.log(np.maximum(rows, LEAST)), weights / weights.sum()
    own = logs[np.arange(len(rows)), truth]

    def slope(beta: float) -> float:  # of the loss along 1/T, in which it is convex
        p = np.exp(beta * (logs - logs.max(axis=1, keepdims=True)))
        return float(w @ ((p * logs).sum(axis=1) / p.sum(axis=1) - own))

    low, high = np.log(1 / MOST_HEAT), np.log(MOST_HEAT)
    if abs(slope(1.0)) < 1e-15:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(float(np.exp(middle))) <= 0 else (low, middle)
    return float(np.exp(-(low + high) / 2))


def tempered(posterior: Any, T: Any, *, classes: Any = None) -> Floats:
    """P(y|x)^{1/T} / Σ_y P(y|x)^{1/T}: the order of the classes stays, what lies between them grows or shrinks.

    >>> tempered([[0.8, 0.2], [0.5, 0.5]], 2.0).round(3).tolist()
    [[0.667, 0.333], [0.5, 0.5]]
    """
    heat = number(T)
    if heat is None or isinstance(T, bool | np.bool_ | str) or not 0 < heat < np.inf:
        raise BadParameter(f"a temperature is a number above 0. Got {T!r} instead.")
    rows, _ = meet(posterior, None, classes)
    with np.errstate(divide="ignore"):
        logs = np.log(rows)
    with np.errstate(over="ignore"):
        p = np.exp((logs - logs.max(axis=-1, keepdims=True)) / heat)
    return np.asarray(p / p.sum(axis=-1, keepdims=True))


def _met(posterior: Any, y: Any, classes: Any, sample_weight: Any) -> tuple[Floats, Ints, list[Any], Floats]:
    """The border: (posterior, the place of each true class, the labels, weights whose largest is one)."""
    rows, truth, labels = meet_truth(posterior, y, classes, "calibration")
    weights = weights_or_ones(sample_weight, len(rows))
    return rows, truth, labels.tolist(), weights / weights.max()


def _checked_bins(bins: Any) -> int:
    count = number(bins)
    if count is None or isinstance(bins, bool | np.bool_ | str) or not 1 <= count <= 1e6 or count != int(count):
        raise BadParameter(f"bins is a whole number from 1 to 1,000,000. Got {bins!r} instead.")
    return int(count)


def _binned(p: Floats, hit: Any, weights: Floats, bins: int) -> Reliability:
    edges = np.arange(bins + 1) / bins
    at = np.searchsorted(edges[1:-1], p, side="left")
    mass = np.bincount(at, weights, bins)
    live = np.flatnonzero(mass > 0)
    said = np.bincount(at, weights * p, bins)[live] / mass[live]
    came = np.bincount(at, weights * hit, bins)[live] / mass[live]
    # means, but for rounding
    inside = np.clip(said, edges[live], edges[live + 1]), np.clip(came, 0.0, 1.0)
    return Reliability(edges[live], edges[live + 1], mass[live] / mass.sum(), *inside)
