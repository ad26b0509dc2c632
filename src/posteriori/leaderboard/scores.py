"""Scores of a posterior on rows whose classes are known.

Symbols: n rows, K classes, p[i, y] the posterior of row i, y_i its class, w_i its weight (W their sum), λ[a, y] loss.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Ints
from ..decision.calibrate import reliability
from ..decision.decide import best_action
from ..decision.loss import Loss
from ..errors import BadValue

LEAST = float(np.finfo(np.float64).eps)  # a probability below it counts as it: 36.04 nats, and not infinity


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
