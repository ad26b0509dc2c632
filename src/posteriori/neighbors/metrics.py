"""Distances as a change of coordinates: weighted and Mahalanobis distances are L_p after a linear map.

Symbols: w weights (d,), V covariance, VI its inverse = L Lᵀ. Σ_j w_j|x_j − y_j|^p is L_p of w^(1/p)·x; (x−y)ᵀVI(x−y) is
the squared Euclidean distance of xL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import ModelError, SingularCovariance, did_you_mean, listed
from .kdtree import NAMES, metric_named

MAPPED = ("seuclidean", "mahalanobis")


@dataclass(frozen=True)
class Space:
    """Where rows are compared: L_p by name after x → x·map (a scale a column, or a matrix)."""

    metric: str
    p: float
    map: Array | None = None

    def __call__(self, X: Array) -> Array:
        """The rows in this space's coordinates, C-contiguous."""
        if self.map is None:
            return np.ascontiguousarray(X)
        to = self.map.astype(X.dtype, copy=False)
        return np.ascontiguousarray(X * to if to.ndim == 1 else X @ to)


def space(metric: str, p: float, params: dict[str, Any] | None, X: Array) -> Space | None:
    """The space of a metric's name, or None where it is no L_p distance (scikit-learn may know it).

    >>> space("minkowski", 2, {"w": [1.0, 4.0]}, np.zeros((1, 2))).map.tolist()
    [1.0, 2.0]
    """
    params = dict(params or {})
    p = params.pop("p", p)
    if metric in NAMES:
        name, p = metric_named(metric, p)
        w = params.pop("w", None)
        found = Space(name, p, None if w is None else _weights(w, name, p, X.shape[1]))
    elif metric == "seuclidean":
        V = np.asarray(params.pop("V", X.var(axis=0, ddof=1) if len(X) > 1 else np.ones(X.shape[1])), dtype=np.float64)
        if V.shape != (X.shape[1],) or not (V >= 0).all():
            raise ModelError(f"V must be a variance of at least 0 for each of the {X.shape[1]} columns, got {V}")
        found = Space("euclidean", 2.0, 1 / np.sqrt(np.where(V > 0, V, 1.0)))
    elif metric == "mahalanobis":
        found = Space("euclidean", 2.0, _whitening(params, X))
    else:
        return None
    if params:
        name = next(iter(params))
        known = ("p", "w", "V", "VI")
        raise ModelError(
            f"metric_params: {metric} takes no {name!r}{did_you_mean(name, known)} (it knows {listed(known)})"
        )
    return found


def _weights(w: Any, name: str, p: float, d: int) -> Array:
    w = np.asarray(w, dtype=np.float64)
    if w.shape != (d,) or not (np.isfinite(w) & (w >= 0)).all():
        raise ModelError(f"w must be a weight of at least 0 for each of the {d} columns, got shape {w.shape}")
    power = {"manhattan": 1.0, "euclidean": 0.5, "chebyshev": 1.0}.get(name, 1 / p)
    scaled: Array = w**power
    return scaled


def _whitening(params: dict[str, Any], X: Array) -> Array:
    """L of VI = L Lᵀ, by eigenvectors so that directions without variance are an error and not noise."""
    d = X.shape[1]
    VI, V = params.pop("VI", None), params.pop("V", None)
    if VI is None:
        V = np.atleast_2d(np.cov(X, rowvar=False)) if V is None else np.asarray(V, dtype=np.float64)
    given = np.asarray(V if VI is None else VI, dtype=np.float64)
    if given.shape != (d, d):
        raise ModelError(f"a Mahalanobis distance over {d} columns needs a {d} × {d} matrix, got shape {given.shape}")
    values, vectors = np.linalg.eigh((given + given.T) / 2)
    if values[0] < -1e-10 * abs(values[-1]):
        raise ModelError("the matrix of a Mahalanobis distance has a negative eigenvalue, so it is no distance")
    if VI is not None:
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))
    if values[0] <= 1e-12 * values[-1]:
        raise SingularCovariance(
            "the covariance has no inverse (a column is a combination of others): leave a column out, or pass "
            "metric_params={'VI': ...}"
        )
    return np.asarray(vectors / np.sqrt(values))
