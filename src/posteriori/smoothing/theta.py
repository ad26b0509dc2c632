"""N → θ: the posterior mean under a symmetric Dirichlet prior, and back-off to a simpler context.

Symbols: N[…, x, y] counts of the S values of x in a context, N[…, y] their sum over x, λ smoothing, K classes, m the rows
that a back-off counts for. Where nothing was counted and λ = 0 every value is alike: θ = 1/S.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Annotated, Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, Floats
from ..errors import ModelError, did_you_mean, listed
from ..kernels import log_counts
from ..statistics.counts import Counts
from ..table.labels import places

# of λ: θ is flat to the last bit long before, and K S λ must stay a number; in double, whatever it is compared with
MOST_SMOOTHING = np.float64(1e290)
PRIORS = ("smoothed", "empirical", "uniform")
SMOOTHING = Interval(Real, 0, MOST_SMOOTHING, closed="both")
Smoothing = Annotated[float, SMOOTHING]
Prior = Annotated[Any, StrOptions(set(PRIORS)), "array-like", dict]


def share(part: Any, whole: Any, size: Any = np.inf) -> Floats:
    """part/whole, and 1/size where there is no whole: by default nothing.

    >>> share(np.array([1.0, 0.0]), np.array([4.0, 0.0]), 2).tolist()
    [0.25, 0.5]
    """
    blank = np.less_equal(whole, 0)
    out: Floats = np.where(blank, 1.0, part) / np.where(blank, np.maximum(size, 1), whole)
    return out


def log_share(part: Any, whole: Any, size: Any = np.inf) -> Floats:
    """ln part − ln whole, and −ln size where there is no whole: by default −∞."""
    blank = np.less_equal(whole, 0)
    with np.errstate(divide="ignore"):
        out: Floats = np.log(np.where(blank, 1.0, part)) - np.log(np.where(blank, np.maximum(size, 1), whole))
    return out


def log_smoothed(
    counts: Counts,
    whole: Floats,
    alpha: Any,
    others: bool = False,
    by_class: Floats | None = None,
    less: Floats | None = None,
) -> tuple[Floats, bool]:
    """(log((N' + α)/whole), whether all are finite): −inf where a part is 0 or there is no whole, which is (scopes, K).

    N' are the counts, or what they leave of by_class[y], or what the other classes have, and then the negative is taken.
    `less` is taken away in the end.
    """
    some = whole > 0
    below = np.where(some, np.log(np.where(some, whole, 1.0)), np.inf)
    alpha = np.reshape(np.asarray(alpha, dtype=np.float64), -1)
    return log_counts(counts.table, counts.offsets, alpha, below, others, by_class, less)


def log_sum(logs: Floats) -> Floats:
    """ln Σ exp over the last axis, which stays; −∞ where every term is."""
    top = logs.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        found: Floats = top + np.log(np.exp(logs - top).sum(axis=-1, keepdims=True))
    return found


def theta(counts: Array, smoothing: float, axis: int = -2) -> Floats:
    """θ = (N[…, x, …] + λ)/(ΣN + Sλ), the values x along `axis`.

    >>> theta(np.array([[3, 1], [0, 0]]), 0, axis=-1).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    return theta_of(counts, counts.sum(axis=axis, keepdims=True), counts.shape[axis], smoothing)


def theta_of(counts: Any, totals: Any, size: int, smoothing: float) -> Floats:
    """θ = (N + λ)/(M + Sλ) of cells whose contexts have M rows and S values, wherever the cells stand."""
    return share(counts + smoothing, totals + size * smoothing, size)


def family_theta(
    counts: Array, smoothing: float = 1.0, ess: float | None = None, weight: float | None = None
) -> Floats:
    """θ[π…, x] of a node from N[π…, x], an axis for each parent.

    (N[π, x] + λ)/(N[π] + Sλ); with an equivalent sample size λ = ess/(q S), q the configurations of the parents (BDeu);
    with a `weight` m a ladder, each rung leaning on the one below: (N[π_1…π_k, x] + m θ[π_1…π_{k−1}, x])/(N + m).

    >>> family_theta(np.array([[3, 1], [0, 0]]), ess=4).tolist()
    [[0.6666666666666666, 0.3333333333333333], [0.5, 0.5]]
    >>> family_theta(np.array([[3, 1], [0, 0]]), 0.0, weight=4).tolist()
    [[0.75, 0.25], [0.75, 0.25]]
    """
    if ess is not None:
        return theta(counts, ess / counts.size, axis=-1)
    if weight is None:
        return theta(counts, smoothing, axis=-1)
    found = theta(counts.sum(axis=tuple(range(counts.ndim - 1))), smoothing, axis=-1)
    for k in range(1, counts.ndim):
        rung = counts.sum(axis=tuple(range(k, counts.ndim - 1)))
        found = backoff(rung, rung.sum(axis=-1, keepdims=True), found[..., None, :], weight)
    return found


def log_theta(counts: Counts | Array, smoothing: float, axis: int = -2) -> Floats:
    """ln θ = ln (N[…, x, …] + λ) − ln (ΣN + Sλ): of an array, the values along `axis`, or of every scope of `Counts`.

    >>> np.exp(log_theta(np.array([[1], [3]]), 1.0)).round(4).tolist()
    [[0.3333], [0.6667]]
    """
    if not isinstance(counts, Counts):
        size = counts.shape[axis]
        return log_share(counts + smoothing, counts.sum(axis=axis, keepdims=True) + size * smoothing, size)
    sizes = counts.sizes
    whole = counts.totals() + sizes[:, None] * smoothing
    below = np.log(np.where(whole > 0, whole, np.maximum(sizes[:, None], 1)))
    with np.errstate(divide="ignore"):
        above = np.log(np.where(np.repeat(whole > 0, sizes, axis=0), counts.table + smoothing, 1.0))
    out: Floats = above - np.repeat(below, sizes, axis=0)
    return out


def log_unseen(counts: Counts, smoothing: float) -> Floats:
    """ln λ/(N[y] + (S+1)λ) of each scope: the mass of a value that no row had; −∞ where λ = 0."""
    return log_share(smoothing, counts.totals() + (counts.sizes[:, None] + 1) * smoothing)


def backoff(counts: Any, totals: Any, base: Floats, weight: Any) -> Floats:
    """θ[…, x, y] = (N[…, x, y] + m·base[x, y])/(N[…, y] + m), m for all or by context; the base where both are zero."""
    whole = totals + weight
    return np.where(whole > 0, share(counts + weight * base, whole), base)


def log_backoff(counts: Array, log_base: Floats, weight: float) -> Floats:
    """ln of `backoff`, the values along the last axis but one.

    >>> base = np.log(np.array([[0.5], [0.5]]))
    >>> np.exp(log_backoff(np.array([[[5], [0]]]), base, 5.0)).round(4).tolist()
    [[[0.75], [0.25]]]
    """
    whole = counts.sum(axis=-2, keepdims=True) + weight
    return np.where(whole > 0, log_share(counts + weight * np.exp(log_base), whole), log_base)


def log_prior(n: Array, prior: object, smoothing: float, classes: Sequence[Any] = ()) -> Floats:
    """ln P(y): "smoothed" (N_y + λ)/(N + Kλ), "empirical" N_y/N, "uniform" 1/K, or told, in the order of the classes or by
    their names; what is told sums to one.

    >>> np.exp(log_prior(np.array([3, 1]), {"spam": 0.2, "ham": 0.8}, 1.0, ["ham", "spam"])).round(4).tolist()
    [0.8, 0.2]
    """
    n = np.asarray(n, dtype=np.float64)
    if isinstance(prior, Mapping):
        prior = _by_class(prior, classes)
    if isinstance(prior, str):
        if prior not in PRIORS:
            raise ModelError(
                "prior must be 'smoothed', 'empirical', 'uniform', or an array or dict of probabilities. "
                f"Got {prior!r} instead."
            )
        mass = np.ones_like(n) if prior == "uniform" else n + (smoothing if prior == "smoothed" else 0.0)
    else:
        try:
            mass = np.asarray(prior, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"prior must be a word or an array of probabilities. Got {prior!r} instead.") from None
        if mass.shape != n.shape:
            raise ModelError(
                f"prior must have one probability for each of the {len(n)} classes. Got {mass.shape} instead."
            )
        if not (mass >= 0).all() or abs(mass.sum() - 1.0) > 1e-8:
            raise ModelError(f"prior must be non-negative and sum to one. Got {mass} (sum {mass.sum()}) instead.")
    with np.errstate(divide="ignore", over="ignore"):
        mass = mass if np.isfinite(mass.sum()) else mass / mass.max()  # λ may be as large as a float can be
        out: Floats = np.log(mass) - np.log(mass.sum())
    return out


def _by_class(prior: Mapping[Any, Any], classes: Sequence[Any]) -> list[Any]:
    """The told probabilities in the order of the classes; every class needs one, and nothing else may have one."""
    found = places(list(prior), classes)
    for name, place in zip(prior, found):
        if place is None:
            raise ModelError(
                f"prior names {name!r}, which is no class{did_you_mean(name, classes) or '.'} Classes: {listed(classes)}"
            )
    if len(set(found)) < len(classes):
        missing = [c for k, c in enumerate(classes) if k not in found]
        raise ModelError(f"prior must have one probability for each class; {listed(missing)} has none")
    told = dict(zip(found, prior.values()))
    return [told[k] for k in range(len(classes))]
