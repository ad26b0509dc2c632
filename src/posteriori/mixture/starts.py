"""Where a mixture begins: shares r[n, k] of the rows, by name, and parameters that were told.

"kmeans" gives every row to the nearest of the centres of `KMeans`; "k-means++" and "random_from_data" let one row speak for
each component; "random" divides every row at random.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array, Floats
from ..errors import BadValue
from ..kernels import column_bounds
from .kmeans import KMeans, at_random, plus_plus

INITS = ("kmeans", "k-means++", "random", "random_from_data")


def shares(
    X: Array, weights: Floats | None, K: int, how: str, random: np.random.RandomState, n_jobs: int | None
) -> Floats:
    """r[n, k], shape (n, K), from a table without missing cells."""
    n = len(X)
    X = _in_reach(X, n_jobs)
    if how == "random":
        r = random.uniform(size=(n, K))
        return np.asarray(r / r.sum(axis=1, keepdims=True))
    r = np.zeros((n, K))
    if how == "kmeans":
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", ConvergenceWarning
            )  # fewer different rows than components: the mixture tells
            found = KMeans(K, n_init=1, random_state=random, n_jobs=n_jobs).fit(X, sample_weight=weights)
        if found._interrupted:  # a start is not what Ctrl-C is to keep
            raise KeyboardInterrupt
        r[np.arange(n), found.labels_] = 1.0
    elif how == "random_from_data":
        r[at_random(n, weights, K, random), np.arange(K)] = 1.0
    else:
        r[plus_plus(X, weights, K, random, n_jobs), np.arange(K)] = 1.0
    return r


def _in_reach(X: Array, n_jobs: int | None) -> Array:
    """The rows where their distances have squares: as they are, or around their middle by a power of two."""
    lo, hi = (end.astype(np.float64) for end in column_bounds(X, n_jobs)[:2])
    exponent = int(np.frexp((hi / 2 - lo / 2).max())[1])
    if abs(exponent) < (400 if X.dtype == np.float64 else 60):
        return X
    return np.asarray(np.ldexp(X - (lo / 2 + hi / 2), -exponent))


def told_weights(given: Any, K: int) -> Floats:
    """weights_init, one a component, that sum to one."""
    weights = _numbers(given, "weights", (K,))
    if (weights < 0).any() or (weights > 1).any():
        raise BadValue(
            "The parameter 'weights' should be in the range [0, 1], but got "
            f"max value {np.min(weights):.5f}, min value {np.max(weights):.5f} in weights_init"
        )
    if not np.isclose(abs(1.0 - weights.sum()), 0.0, atol=1e-6):
        raise BadValue(
            f"The parameter 'weights' should be normalized, but got sum(weights) = {np.sum(weights):.5f} "
            "in weights_init"
        )
    return weights


def told_means(given: Any, K: int, d: int) -> Floats:
    """means_init."""
    return _numbers(given, "means", (K, d))


def told_precisions(given: Any, kind: str, K: int, d: int) -> Floats:
    """precisions_init, as (K, d, d) or (K, d)."""
    shape = {"full": (K, d, d), "tied": (d, d), "diag": (K, d), "spherical": (K,)}[kind]
    found = _numbers(given, f"{kind} precision", shape)
    if kind in ("diag", "spherical"):
        if (found <= 0).any():
            raise BadValue(f"'{kind} precision' should be positive (precisions_init)")
        return found if kind == "diag" else np.repeat(found[:, None], d, axis=1)
    matrices = found if kind == "full" else found[None]
    root = np.sqrt(np.maximum(np.diagonal(matrices, axis1=1, axis2=2), 0.0))
    safe = np.where(root > 0, root, np.inf)  # a matrix is positive if its correlations are, whatever its units
    even = matrices / safe[:, :, None] / safe[:, None, :]
    if not (root > 0).all() or not np.allclose(even, even.transpose(0, 2, 1)) or (np.linalg.eigvalsh(even) <= 0).any():
        raise BadValue(f"'{kind} precision' should be symmetric, positive-definite (precisions_init)")
    return matrices if kind == "full" else np.broadcast_to(found, (K, d, d)).copy()


def _numbers(given: Any, name: str, shape: tuple[int, ...]) -> Floats:
    told = f"{name.split()[-1].removesuffix('s')}s_init"
    try:
        found = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise BadValue(f"{told} should be numbers of shape {shape}, but got {given!r}") from None
    if found.shape != shape:
        raise BadValue(f"The parameter '{name}' should have the shape of {shape}, but got {found.shape} in {told}")
    if not np.isfinite(found).all():
        raise BadValue(f"{told} should be finite, but got {given!r}")
    return found
