"""From a histogram to bins: supervised MDL (Fayyad and Irani), quantiles, equal width.

Symbols: N[v, y] the histogram; cuts t_1 < … < t_m; bin of x = number of cuts ≤ x, so that m cuts make m + 1 bins.
Ent(S) is the entropy of the classes in a set S of rows, in bits; k the number of classes present in S.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Floats
from ..errors import ModelError, did_you_mean
from .histogram import Histogram

__all__ = ["METHODS", "bin_codes", "find_cuts", "mdl_cuts", "quantile_cuts", "width_cuts"]


METHODS = ("mdl", "quantile", "width")


def find_cuts(histogram: Histogram, method: str = "mdl", bins: int = 10) -> Floats:
    """The cuts of one column; `bins` is how many bins quantile and width aim at.

    >>> h = Histogram.of([1, 2, 3, 4, 5, 6, 7, 8] * 4, [0, 0, 0, 0, 1, 1, 1, 1] * 4, 2)
    >>> find_cuts(h).tolist(), find_cuts(h, "width", bins=2).tolist()
    ([4.5], [4.5])
    """
    if method == "mdl":
        return mdl_cuts(histogram)
    if method == "quantile":
        return quantile_cuts(histogram, bins)
    if method == "width":
        return width_cuts(histogram, bins)
    raise ModelError(
        f"no way {method!r} to cut a column{did_you_mean(method, METHODS)}; ways: 'mdl', 'quantile', 'width'"
    )


def mdl_cuts(histogram: Histogram) -> Floats:
    """Split where the classes part, as long as the split pays for its description.

    S is cut into S1, S2 at the boundary of least N1·Ent(S1) + N2·Ent(S2) (the lowest of equals), if
    N·Gain > log2(N − 1) + log2(3^k − 2) − k·Ent(S) + k1·Ent(S1) + k2·Ent(S2); then S1 and S2 in turn.
    No row, one value or no worthwhile cut: no cuts, one bin.
    """
    below = np.vstack([np.zeros(histogram.n_classes), np.cumsum(histogram.table, axis=0, dtype=np.float64)])
    found: list[int] = []
    open_ranges = [(0, len(histogram.values))]
    while open_ranges:
        a, b = open_ranges.pop()
        at = _best_split(below[a : b + 1] - below[a])
        if at is not None:
            found.append(a + at)
            open_ranges += [(a, a + at), (a + at, b)]
    return _between(histogram, np.array(sorted(found), dtype=np.intp))


def quantile_cuts(histogram: Histogram, bins: int) -> Floats:
    """Cuts at the values where the share of rows first reaches 1/bins, 2/bins, …: bins of about equal weight."""
    _check_bins(bins)
    if len(histogram.values) < 2:
        return np.empty(0)
    share = np.cumsum(histogram.table.sum(axis=1, dtype=np.float64))
    wanted = np.arange(1, bins) / bins * share[-1]
    at = np.searchsorted(share, wanted * (1 - 1e-12)) + 1
    return _between(histogram, np.unique(at[at < len(histogram.values)]))


def width_cuts(histogram: Histogram, bins: int) -> Floats:
    """`bins` bins of equal width between the least and the largest value."""
    _check_bins(bins)
    if len(histogram.values) < 2:
        return np.empty(0)
    least, most = histogram.values[0], histogram.values[-1]
    part = np.arange(1, bins) / bins
    cuts = np.unique(least * (1 - part) + most * part)
    inner: Floats = cuts[(cuts > least) & (cuts <= most)]
    return inner


def bin_codes(x: Array, cuts: Floats) -> Array:
    """The bin of every cell, as the narrowest unsigned codes; a missing cell (NaN) gets the code after the last bin.

    >>> bin_codes(np.array([0.5, 1.0, 9.0, np.nan]), np.array([1.0, 2.0])).tolist()
    [0, 1, 2, 3]
    """
    x = np.asarray(x, dtype=np.float64)
    codes = np.zeros(x.shape, dtype=np.min_scalar_type(len(cuts) + 1))
    if len(cuts) <= 16:  # a pass a cut beats a binary search a cell
        for t in cuts:
            codes += x >= t
    else:
        codes += np.searchsorted(cuts, x, side="right").astype(codes.dtype)
    codes[np.isnan(x)] = len(cuts) + 1
    return codes


def _check_bins(bins: int) -> None:
    if bins < 1:
        raise ModelError(f"bins must be at least 1, got {bins}")


def _best_split(below: Floats) -> int | None:
    """Where to cut a range given its cumulative class counts (first row zero), or None if no cut pays."""
    whole = below[-1]
    n = whole.sum()
    if len(below) < 3 or n <= 1:
        return None
    left, right = below[1:-1], whole - below[1:-1]
    cost_left, cost_right = _bits(left), _bits(right)
    cost = cost_left + cost_right
    at = int(np.argmax(cost <= cost.min() + 1e-9 * max(1.0, float(_bits(whole)))))
    k, k1, k2 = (int(np.count_nonzero(side)) for side in (whole, left[at], right[at]))
    n1, n2 = left[at].sum(), right[at].sum()
    price = np.log2(n - 1) + np.log2(3.0**k - 2) if k < 600 else np.log2(n - 1) + k * np.log2(3.0)
    price -= k * _bits(whole) / n - k1 * cost_left[at] / n1 - k2 * cost_right[at] / n2
    return at + 1 if _bits(whole) - cost[at] > price else None


def _bits(counts: Floats) -> Floats:
    """N·Ent(S) = N log2 N − Σ_y N_y log2 N_y, along the last axis."""
    total = counts.sum(axis=-1)
    bits: Floats = _xlog2(total) - _xlog2(counts).sum(axis=-1)
    return np.maximum(bits, 0.0)


def _xlog2(x: Floats) -> Floats:
    """x log2 x, with 0 log 0 = 0."""
    product: Floats = x * np.log2(np.where(x > 0, x, 1.0))
    return product


def _between(histogram: Histogram, at: NDArray[np.intp]) -> Floats:
    """A cut below each cell of `at`: half-way to the cell before where cells are single values, else the cell's edge."""
    lower, upper = histogram.values[at - 1], histogram.values[at]
    if not histogram.exact:
        return upper
    middle: Floats = lower + (upper - lower) / 2 if np.all(np.isfinite(upper - lower)) else lower / 2 + upper / 2
    return np.where(middle > lower, middle, upper)  # neighbours with no float between them
