"""Where k-means begins: k-means++ (the greedy one), rows drawn at random, or centres that were told.

Symbols: D²(x) the squared distance from a row to the nearest centre so far. k-means++ draws the next centre with
probability w D² / Σ w D², several times, and keeps the draw that leaves the least Σ w D² (Arthur and Vassilvitskii, 2007).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..arrays import Array, Floats, Ints
from ..errors import BadValue
from ..kernels.mixture import kmeans_candidates


def stream(random_state: Any) -> np.random.RandomState:
    """scikit-learn's stream of random numbers; a Generator gives the seed of one."""
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(1 << 32))
    found: np.random.RandomState = check_random_state(random_state)
    return found


def plus_plus(
    X: Array, weights: Floats | None, K: int, random: np.random.RandomState, n_jobs: int | None = None
) -> Ints:
    """The rows that k-means++ takes for centres, drawn as scikit-learn draws them.

    >>> plus_plus(np.array([[0.0], [0.1], [9.0], [9.1]]), None, 2, np.random.RandomState(0)).tolist()
    [2, 1]
    """
    n = len(X)
    w = np.ones(n) if weights is None else weights
    trials = 2 + int(np.log(K))
    shift = np.asarray(X[0], dtype=np.float64)
    chosen = np.empty(K, np.int64)
    chosen[0] = random.choice(n, p=w / w.sum())
    closest = kmeans_candidates(X, shift, chosen[:1], np.full(n, np.inf), n_jobs)[0]
    for c in range(1, K):
        steps = np.cumsum(closest if weights is None else w * closest)
        drawn = random.uniform(size=trials) * steps[-1]
        at = np.searchsorted(steps, drawn).astype(np.int64)
        left = kmeans_candidates(X, shift, at, closest, n_jobs)
        best = int(np.argmin((left if weights is None else left * w).sum(axis=1)))
        chosen[c], closest = at[best], left[best]
    return chosen


def at_random(n: int, weights: Floats | None, K: int, random: np.random.RandomState) -> Ints:
    """K different rows, drawn by weight; where fewer weigh anything beside the others, all of these and the heaviest left.

    >>> sorted(at_random(4, np.array([0.0, 1.0, 1e-320, 1e-310]), 3, np.random.RandomState(0)).tolist())
    [1, 2, 3]
    """
    if weights is None:
        return np.asarray(random.choice(n, size=K, replace=False))
    p = weights / weights.sum()
    if np.count_nonzero(p) >= K:
        return np.asarray(random.choice(n, size=K, replace=False, p=p))
    return np.asarray(np.argsort(-p, kind="stable")[:K])


def told_centres(given: Any, K: int, d: int) -> Floats:
    """Centres that were told, as (K, d) floats."""
    try:
        found = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise BadValue(
            f"init must be 'k-means++', 'random', a function or centres of shape {(K, d)}. Got {given!r}"
        ) from None
    if found.ndim != 2 or found.shape[0] != K:
        raise BadValue(
            f"The shape of the initial centers {found.shape} does not match the number of clusters {K} (init)."
        )
    if found.shape[1] != d:
        raise BadValue(
            f"The shape of the initial centers {found.shape} does not match the number of features of the data {d} (init)."
        )
    if not np.isfinite(found).all():
        raise BadValue("init holds a centre that is not finite")
    return found
