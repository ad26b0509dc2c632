"""The native kernels of numeric columns of any shape. `reference.densities` specifies them; symbols as there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array, Floats, Ints
from . import n_threads, native
from .naive import count_cells, readable


def histograms(
    X: Array, y: Array, n_classes: int, limit: int, weights: Floats | None = None, n_jobs: int | None = None
) -> list[tuple[Array, Floats, int, int]]:
    """(keys, N[cell, y], level, whether NaN (bit 1) or inf (bit 2) was among the cells) of each column of X.

    Weights (n, K) are shares: a row counts w[r, y] in every class y.
    """
    if weights is not None and weights.ndim == 2:
        return _shared_histograms(X, n_classes, limit, weights, n_jobs)
    found: list[Any] = native().histograms(
        readable(X), _codes(y), weights, n_classes, limit, n_threads(n_jobs, 10 * X.size)
    )
    return found


def _shared_histograms(
    X: Array, n_classes: int, limit: int, shares: Floats, n_jobs: int | None
) -> list[tuple[Array, Floats, int, int]]:
    """The cells are those of all rows; then each row's shares are added to its cell."""
    found = []
    no_class, whole, sign = np.zeros(len(X), np.uint8), shares.sum(axis=1), np.uint64(1 << 63)
    for j, (keys, _, level, met) in enumerate(histograms(X, no_class, 1, limit, whole, n_jobs)):
        x = np.ascontiguousarray(X[:, j], dtype=np.float64) + 0.0
        bits = x.view(np.uint64)
        own = np.where(bits & sign, ~bits, bits | sign) & ~np.uint64((1 << level) - 1)
        cells = np.searchsorted(keys, own)
        cells[~np.isfinite(x) | (whole <= 0)] = len(keys)
        table = count_cells([cells], no_class, np.array([0, len(keys) + 1]), n_classes, shares, n_jobs)
        found.append((keys, table[:-1], level, met))
    return found


def add_hashes(X: Array, salts: Array, total: Array, n_jobs: int | None = None) -> None:
    """total[r] += Σ_j mix(x_rj ⊕ salt_j), x as the bits of a float64; −0 counts as 0, and every NaN is the same."""
    native().add_hashes(readable(X), salts, total, n_threads(n_jobs, 2 * X.size))


def mdl_cuts(table: Array) -> Ints:
    """The cells of N[v, y] before which Fayyad and Irani's rule cuts, in rising order."""
    found: Ints = native().mdl_cuts(np.ascontiguousarray(table, dtype=np.float64))
    return found


def greedy_cuts(rising: Floats, bins: int) -> Ints:
    """Places of rising numbers before which a cut lies, as `statistics.cuts.greedy_cuts` says.

    >>> greedy_cuts(np.array([1.0, 2.0, 2.0, 4.0]), 128).tolist()
    [1, 3]
    """
    found: Ints = native().greedy_cuts(rising, bins)
    return found


def bin_codes(x: Floats, cuts: Floats) -> Array:
    """How many cuts are at most x, as bytes or 16-bit numbers; one more than there are bins where x is missing (NaN).

    >>> bin_codes(np.array([0.5, 1.0, 9.0, np.nan]), np.array([1.0, 2.0])).tolist()
    [0, 1, 2, 3]
    """
    out = np.empty(len(x), dtype=np.min_scalar_type(len(cuts) + 1))
    native().bin_codes(np.ascontiguousarray(x), np.ascontiguousarray(cuts), out)
    return out


def numeric_columns(
    values: Floats,
    centres: Floats,
    table: Floats,
    offsets: Array,
    exact: Array,
    moments: Floats,
    smoothing: float,
    floor: float,
    ddof: float,
) -> Any:
    """Histograms laid end to end, that of column j from offsets[j] to offsets[j + 1]; moments (d, K, 3): n, mean, M2."""
    return native().NumericColumns(values, centres, table, offsets, exact, moments, smoothing, floor, ddof)


def left_out(
    columns: Any,
    x: Floats,
    y: Array,
    out: Floats,
    turn: Floats,
    log_share: Floats,
    folded: float,
    worst: float,
    n_jobs: int | None = None,
) -> Floats:
    """ln P^−i(y|x_i)/P(y) by bins, kernels, a normal, their mean, and nothing, (d, 5, R, K); x is (d, R).

    0 where x is missing, nothing below −worst. Bins of more than `folded` rows are not searched again for each row.
    """
    parts = np.empty((len(x), 5, *log_share.shape))
    columns.left_out(
        x, y.astype(np.uint32), out, turn, log_share, folded, worst, parts, n_threads(n_jobs, 200 * parts.size)
    )
    return parts


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
    """The candidate of each column with which the rows are best foretold: `start` (R, K), `parts` (d, candidates, R, K)."""
    found: list[int] = native().search_densities(
        start, parts, y.astype(np.uint32), weights, errors, first, second, lead, worst, rounds
    )
    return found


SHAPES = ("none", "binned", "kernel", "mixed")


class Curves:
    """ln p(x|y) of numeric columns, each of one of the SHAPES, good to 1e-6."""

    def __init__(
        self, columns: Any, shapes: list[str], log_share: Floats, work: int, n_jobs: int | None = None
    ) -> None:
        codes = np.array([SHAPES.index(s) for s in shapes], dtype=np.int32)
        self.native = native().Curves(columns, codes, log_share, n_threads(n_jobs, work))
        self.n_classes, self.n_columns = len(log_share), len(shapes)

    def score(self, X: Array, at: Ints, start: Floats, n_jobs: int | None = None) -> tuple[Floats, int]:
        """(start + Σ_j ln p(x_j|y), whether NaN (bit 1) or inf (bit 2) was among the cells) of the columns `at` of X."""
        out = np.empty((len(X), self.n_classes))
        seen: int = self.native.score(readable(X), at, start, out, n_threads(n_jobs, 6 * len(X) * len(at)))
        return out, seen

    def parts(self, X: Array, at: Ints) -> Floats:
        """ln p(x_j|y) of each of the columns `at` of X, (n, len(at), K); 0 where x is missing."""
        out = np.empty((len(X), len(at), self.n_classes))
        self.native.parts(readable(X), at, out)
        return out

    def kernels(self, column: int) -> tuple[float, float, Floats, list[tuple[Floats, Floats]]]:
        """(μ, σ² of the normal for all classes, (K, 3): h, ln (1 − share)/(h √2π), ln share, (v, w) of each class)."""
        found: tuple[float, float, Floats, list[tuple[Floats, Floats]]] = self.native.kernels(column)
        return found

    def pieces(self, column: int) -> tuple[Floats, Floats, Floats, Floats]:
        """(edges, middle, scale, c) of the pieces p of a column: ln p(x|y) = Σ_k c[p, k, y] ((x − middle_p)·scale_p)^k
        from edges_p up to the next; where scale is no number there is no polynomial."""
        found: tuple[Floats, Floats, Floats, Floats] = self.native.pieces(column)
        return found

    def information(self, prior: Floats, n_jobs: int | None = None) -> Floats:
        """I(X_j; Y) in nats of each column under P(y); of bins by their counts."""
        out = np.empty(self.n_columns)
        self.native.information(np.ascontiguousarray(prior), out, n_threads(n_jobs, 100_000 * len(out)))
        return out


def normal_information(mean: Floats, variance: Floats, prior: Floats, n_jobs: int | None = None) -> Floats:
    """I(X_j; Y) in nats of normal class densities with means and variances (K, d), by a fine sum over the line."""
    out = np.empty(mean.shape[1])
    mean, variance, prior = (np.ascontiguousarray(a, dtype=np.float64) for a in (mean, variance, prior))
    native().normal_information(mean, variance, prior, out, n_threads(n_jobs, 20_000 * len(out)))
    return out


def _codes(y: Array) -> Array:
    """Class codes of a width that a kernel reads."""
    return y if y.dtype.kind == "u" and y.dtype.itemsize <= 4 else y.astype(np.uint32)
