"""Histograms, hashes, cuts and the search for densities, in NumPy.

Symbols: N[v, y] rows of class y in cell v; R rows of a sample, K classes, d columns; i a row, y_i its class.
Every float64 has a key, the unsigned integer that sorts as the float does; at level ℓ keys that agree but for their last ℓ
bits share a cell.
"""

from __future__ import annotations

import numpy as np

from posteriori.arrays import Array, Floats, Ints
from posteriori.bayes import numeric
from posteriori.bayes.densities import mutual_information
from posteriori.table.frame import Frame

_SIGN = np.uint64(1 << 63)
LITTLE = 1e-9  # nats: a gain below it is rounding, on which no choice depends


def histograms(
    X: Array, y: Array, n_classes: int, limit: int, weights: Floats | None = None
) -> list[tuple[Array, Floats, int, int]]:
    """(keys, N[cell, y], level, seen) of each column: the least level with at most `limit` cells; weight 0 is no row."""
    found = []
    for column in np.asarray(X, dtype=np.float64).T:
        seen = int(np.isnan(column).any()) | 2 * int(np.isinf(column).any())
        some = np.isfinite(column) & (True if weights is None else weights > 0)
        bits = (np.ascontiguousarray(column[some]) + 0.0).view(np.uint64)
        keys, level = np.where(bits & _SIGN, ~bits, bits | _SIGN), 0
        while len(np.unique(keys >> np.uint64(level))) > limit:
            level += 1
        cells, back = np.unique(keys >> np.uint64(level), return_inverse=True)
        table = np.zeros((len(cells), n_classes))
        np.add.at(table, (back, y[some]), 1.0 if weights is None else weights[some])
        found.append((cells << np.uint64(level), table, level, seen))
    return found


def add_hashes(X: Array, salts: Array, total: Array) -> None:
    """total[r] += Σ_j mix(x_rj ⊕ salt_j), x as the bits of a float64; −0 counts as 0, and every NaN is the same."""
    x = np.asarray(X, dtype=np.float64) + 0.0
    bits = np.ascontiguousarray(np.where(np.isnan(x), np.nan, x)).view(np.uint64) ^ salts
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    total += (bits ^ (bits >> np.uint64(31))).sum(axis=1, dtype=np.uint64)


def mdl_cuts(table: Array) -> Ints:
    """The cells of N[v, y] before which Fayyad and Irani's rule cuts, in rising order."""
    below = np.vstack([np.zeros(table.shape[1]), np.cumsum(table, axis=0, dtype=np.float64)])
    found: list[int] = []
    open_ranges = [(0, len(table))]
    while open_ranges:
        a, b = open_ranges.pop()
        at = _best_split(below[a : b + 1] - below[a])
        if at is not None:
            found.append(a + at)
            open_ranges += [(a, a + at), (a + at, b)]
    return np.array(sorted(found), dtype=np.int64)


def _best_split(below: Floats) -> int | None:
    """Where to cut a range given its cumulative class counts (first row zero), or None if no cut pays."""
    whole = below[-1]
    n = whole.sum()
    if len(below) < 3 or n <= 1:
        return None
    left, right = below[1:-1], whole - below[1:-1]
    cost_left, cost_right, uncut = _bits(left), _bits(right), float(_bits(whole))
    cost = cost_left + cost_right
    equal = 1e-9 * max(1.0, uncut)
    at = int(np.argmax(cost <= cost.min() + equal))
    k, k1, k2 = (int(np.count_nonzero(side)) for side in (whole, left[at], right[at]))
    n1, n2 = left[at].sum(), right[at].sum()
    price = np.log2(n - 1) + np.log2(3.0**k - 2) if k < 600 else np.log2(n - 1) + k * np.log2(3.0)
    price -= k * uncut / n - k1 * cost_left[at] / n1 - k2 * cost_right[at] / n2
    return at + 1 if uncut - cost[at] > price + equal else None


def _bits(counts: Floats) -> Floats:
    """N·Ent(S) = N log2 N − Σ_y N_y log2 N_y, along the last axis."""
    total = counts.sum(axis=-1)
    bits: Floats = np.maximum(_xlog2(total) - _xlog2(counts).sum(axis=-1), 0.0)
    return bits


def _xlog2(x: Floats) -> Floats:
    """x log2 x, with 0 log 0 = 0."""
    product: Floats = x * np.log2(x, out=np.zeros_like(x), where=x > 0)
    return product


def search_densities(
    start: Floats,
    parts: Floats,
    y: Array,
    weights: Floats,
    errors: Floats,
    first: int,
    second: int,
    lead: float,
    worst: float,
    rounds: int,
) -> list[int]:
    """The candidate of each column: `start` ln P(y) and what other columns add, (R, K); `parts` (d, candidates, R, K)."""
    own, rows = y.astype(np.int64)[None, :, None], weights.sum()
    share = weights / rows

    def losses(log_joint: Floats) -> Floats:
        """loss_i = ln Σ_y exp − that of the row's own class, of each candidate."""
        top = log_joint.max(axis=2, keepdims=True)
        total = top + np.log(np.exp(log_joint - top).sum(axis=2, keepdims=True))
        found: Floats = np.minimum((total - np.take_along_axis(log_joint, own, axis=2))[:, :, 0], worst)
        return found

    def gain(new: Floats, now: Floats, needed: Floats | float) -> Floats:
        """By how much the mean loss falls (below zero), where that is so many standard errors; else infinite."""
        mean = (new - now) @ share
        spread = ((new - now - mean[:, None]) ** 2) @ share
        return np.where(mean + needed * np.sqrt(spread / rows) < -LITTLE, mean, np.inf)

    whole = start + parts.sum(axis=0)
    loss = losses(whole)
    begin = second if gain(loss[[second]], loss[first], lead)[0] < 0 else first
    chosen, now, log_joint = [begin] * len(parts), loss[begin], whole[begin]
    for _ in range(rounds):
        before = list(chosen)
        for j, part in enumerate(parts):
            without = log_joint - part[chosen[j]]
            found = losses(without + part)
            gained = gain(found, now, errors)
            best, least = chosen[j], 0.0
            for m in reversed(range(len(part))):  # of those as good the last one
                if gained[m] < least - LITTLE:
                    best, least = m, gained[m]
            if best != chosen[j]:
                chosen[j], now, log_joint = best, found[best], without + part[best]
        if chosen == before:
            break
    return chosen


def normal_information(mean: Floats, variance: Floats, prior: Floats) -> Floats:
    """I(X_j; Y) in nats of normal class densities with means and variances (K, d), by a fine sum over the line.

    Even steps have all digits of what is smooth; where the classes are too unlike for few of them, each has its own steps.
    """
    steps, found = np.linspace(-8, 8, max(33, min(801, 8000 // len(mean)))), []
    for m, v in zip(mean.T, variance.T):
        grid = np.unique(m[:, None] + np.sqrt(v)[:, None] * steps)
        even = 8 * np.ptp(grid) / np.sqrt(v.min())
        if even < len(mean) * len(steps) / 2:
            grid = np.linspace(grid[0], grid[-1], int(even) + 2)
        log_p = -0.5 * (np.log(2 * np.pi * v) + (grid[:, None] - m) ** 2 / v)
        p = np.exp(log_p) * np.gradient(grid)[:, None] * prior
        p, live = p / p.sum(), p > 0
        parts = (np.broadcast_to(p.sum(axis=a, keepdims=True), p.shape)[live] for a in (0, 1))
        found.append(max(float((p[live] * (np.log(p[live]) - sum(map(np.log, parts)))).sum()), 0.0))
    return np.array(found)


def curve_information(column: numeric.Column, prior: Floats) -> float:
    """I(X;Y) in nats of a numeric column without a shape: by its bins, or by a fine sum where its kernels live."""
    if isinstance(column, numeric.Binned):
        return mutual_information(column.table)
    kernel = column if isinstance(column, numeric.KernelDensity) else getattr(column, "kernel", None)
    if kernel is None or kernel.empty:
        return 0.0
    values = np.unique(np.concatenate(kernel.centres))
    some = values[np.linspace(0, len(values) - 1, min(len(values), 300)).astype(int)]
    ends = [(some[:, None] + (kernel.width[:, None] * np.linspace(-4, 4, 9)).ravel()).ravel()]
    ends += [kernel.base[0] + 2 * np.sqrt(kernel.base[1]) * np.linspace(-5, 5, 31)]
    ends += [column.binned.cuts] if isinstance(column, numeric.Mixed) else []
    steps = np.unique(np.concatenate(ends))
    at, share = np.polynomial.legendre.leggauss(4)
    half = np.diff(steps)[:, None] / 2
    x, weight = (steps[:-1, None] + half * (1 + at)).ravel(), (half * share).ravel()
    frame = Frame(len(x), tuple(map(str, range(column.where[0] + 1))), columns=(x,) * (column.where[0] + 1))
    return mutual_information(np.exp(column.parts(frame)[:, 0]) * weight[:, None] * prior)
