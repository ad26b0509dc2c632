"""Ridge multinomial logistic regression over coded columns: the conditional likelihood climbed by counting.

Symbols: z_r the features of row r (a one for its value of every column, then numbers), w_r its weight, Σw = 1; B[f, y] and
b[y] what is sought; T a table, or none; τ = ⟨B, T⟩/⟨T, T⟩, the multiple of T that is nearest to B.

    η_r = b + Bᵀz_r,   p_r = softmax(η_r),   L = −Σ_r w_r ln p_r[y_r] + ½λ‖B − τT‖² + κ(τ − 1)²
    ∂L/∂B[f, y] = Σ_r z_rf w_r p_r[y] − Σ_r z_rf w_r [y_r = y] + λ(B − τT)[f, y] + …

The gradient is the counts that the model expects less those there are: a *pass* is one scoring of the rows (`scores`) and
one counting by shares (`sums`), the two kernels of naive Bayes and of EM. The first step is free: the best temperature of
the start, for which its scores are enough. Then L-BFGS walks in the metric that rows in doubt make, H₀ = (S_y + λ)⁻¹ with
S_y = Σ_r w_r p_r[y](1 − p_r[y]) (z_r − m_y)(z_r − m_y)ᵀ, made anew after 1, 2, 4, … steps, so that columns which repeat
each other cost no steps; S_y is counted too, by pairs of values. Along a direction the scores of all rows are linear: the
search for the length of a step looks at no column.

Rows are features by value (`ByValue`) or by column (`ByColumn`): their scores are gathered, their sums counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ..arrays import Array, Floats, Ints
from ..blas import one_thread
from ..kernels import count_cells, count_pairs, log_joint_cells, normalise
from ..statistics.counts import pair_offsets

FEW = 1024  # features that vary up to which the metric is a matrix for each class, not its diagonal,
NUMBERS = 1 << 23  # and numbers of all these matrices
SAMPLE, ROWS = 8, 8192  # rows that a matrix is made from: so many for each feature, and at least
PAIR = 16  # multiplications of matrices that take as long as to count a pair of cells
DOUBT = 1e-3  # least share of p(1 − p), so that rows which are sure count a little
LEAST = 1e-10  # of a metric, as a share of its greatest


@dataclass(frozen=True, eq=False)
class ByValue:
    """A weight for each value and class: ones for the codes of the columns, where `offsets` say, and then `numbers`.

    η_r = b + Σ_j B[offsets_j + x_rj] + Σ_q B[cells + q] numbers[r, q]
    """

    codes: Any  # a matrix (n, d), or a list of columns
    offsets: Ints
    numbers: Floats
    n_jobs: int | None = None

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.numbers.shape[0])

    @property
    def cells(self) -> int:
        """Features that are values."""
        return int(self.offsets[-1])

    @property
    def size(self) -> int:
        """Features."""
        return self.cells + int(self.numbers.shape[1])

    def scores(self, B: Floats, b: Floats) -> Floats:
        """b + Bᵀz of every row."""
        start: Floats = b
        if self.numbers.shape[1]:
            start = self.numbers @ B[self.cells :]
            start += b
        return log_joint_cells(self.codes, np.ascontiguousarray(B[: self.cells]), self.offsets, start, self.n_jobs)

    def sums(self, G: Floats) -> Floats:
        """Σ_r z_r G_rᵀ."""
        out = np.empty((self.size, G.shape[1]))
        out[: self.cells] = count_cells(self.codes, _NO_CLASS, self.offsets, G.shape[1], G, self.n_jobs)
        out[self.cells :] = self.numbers.T @ G
        return out

    def take(self, rows: Array) -> ByValue:
        """Some rows."""
        return ByValue(_some_codes(self.codes, rows), self.offsets, self.numbers[rows], self.n_jobs)

    def dense(self) -> Floats:
        """The features as a matrix."""
        out, every = np.zeros((self.n, self.size)), np.arange(self.n)
        for column, first in zip(_columns(self.codes), self.offsets[:-1].tolist()):
            out[every, first + column.astype(np.int64)] = 1.0
        out[:, self.cells :] = self.numbers
        return out

    def varied(self) -> Ints:
        """The features that some rows have and others have not, and all numbers."""
        count = self.sums(np.ones((self.n, 1)))[:, 0]
        return np.flatnonzero((count > 0) & (count < self.n) | (np.arange(self.size) >= self.cells))

    def products(self, v: Floats, kept: Ints) -> Floats:
        """Σ_r v_ry z_r z_rᵀ of every y and of the features `kept`; what is below the diagonal is not to be read.

        Values by counting pairs of them, or all by matrices where columns have few values.
        """
        few, d, K = int(np.searchsorted(kept, self.cells)), len(self.offsets) - 1, v.shape[1]
        q = len(kept) - few
        if len(kept) ** 2 < PAIR * d * (d // 2 + q):
            turned = self.dense()[:, kept]
            return np.stack([t.T @ t for t in (turned * root[:, None] for root in np.sqrt(v).T)])
        out = np.zeros((K, len(kept), len(kept)))
        sizes, no_class = np.diff(self.offsets), np.zeros(self.n, dtype=np.uint8)
        pairs = count_pairs(self.codes, sizes.tolist(), no_class, K, v, n_jobs=self.n_jobs, max_memory=np.inf)
        place = np.full(self.cells, -1)
        place[kept[:few]] = diagonal = np.arange(few)
        a, b = (place[c] for c in _pair_cells(sizes))
        there = np.flatnonzero((a >= 0) & (b >= 0))
        out[:, a[there], b[there]] = pairs[there].T
        out[:, diagonal, diagonal] = self.sums(v)[kept[:few]].T
        if q:
            numbers = self.numbers[:, kept[few:] - self.cells]
            scaled = np.ascontiguousarray((v[:, :, None] * numbers[:, None]).reshape(self.n, K * q))
            out[:, :, few:] = self.sums(scaled)[kept].reshape(len(kept), K, q).swapaxes(0, 1)
        return out

    def metric(self, w: Floats, p: Floats, ridge: float, few: int = FEW) -> Blocks | Diagonal:
        """H₀ at the posteriors p, with matrices if no more than `few` features vary."""
        kept = self.varied()
        if len(kept) > few or p.shape[1] * self.size**2 > NUMBERS:
            return Diagonal(self, w, p, ridge)
        rows = _some(self.n, len(kept))
        return Blocks(self.take(rows), w[rows] / w[rows].sum(), p[rows], ridge, kept)


@dataclass(frozen=True, eq=False)
class ByColumn:
    """A weight for each column, times what a table says of its value: η_r = b + Σ_j B[j] table[offsets_j + x_rj]."""

    codes: Any
    offsets: Ints
    table: Floats
    n: int
    n_jobs: int | None = None

    def spread_out(self, B: Floats) -> Floats:
        """The weights as a table of values."""
        return np.repeat(B, np.diff(self.offsets), axis=0) * self.table

    def scores(self, B: Floats, b: Floats) -> Floats:
        """η of every row."""
        return log_joint_cells(self.codes, self.spread_out(B), self.offsets, b, self.n_jobs)

    def sums(self, G: Floats) -> Floats:
        """Σ_r Σ_y table[x_rj, y] G_ry of each column: the sums of its values, by the chain rule."""
        cells = count_cells(self.codes, _NO_CLASS, self.offsets, G.shape[1], G, self.n_jobs) * self.table
        return np.add.reduceat(cells.sum(axis=1), self.offsets[:-1])[:, None]

    def take(self, rows: Array) -> ByColumn:
        """Some rows."""
        return ByColumn(_some_codes(self.codes, rows), self.offsets, self.table, len(rows), self.n_jobs)

    def metric(self, w: Floats, p: Floats, ridge: float, few: int = FEW) -> OfColumns:
        """H₀ at the posteriors p."""
        rows = _some(self.n, len(self.offsets) - 1)
        return OfColumns(self.take(rows), w[rows] / w[rows].sum(), p[rows], ridge)


class Blocks:
    """H₀ = (S_y + λ)⁻¹ of each class, S_y = Σ_r v_ry (z_r − m_y)(z_r − m_y)ᵀ with v = w p(1 − p), m_y the mean under v.

    S_y of features that all rows have, or none, is 0: the matrix is one of the features `kept`.
    """

    def __init__(self, design: ByValue, w: Floats, p: Floats, ridge: float, kept: Ints) -> None:
        v = _doubt(w, p)
        self.share, self.kept = v.sum(axis=0), kept
        self.mean = design.sums(v / self.share)
        v = np.ascontiguousarray(v[:, :1]) if v.shape[1] == 2 else v  # either of two is in doubt where the other is
        self.factors, self.rest = list[Floats](), 0.0
        for S, share, mean in zip(design.products(v, kept), self.share, self.mean[kept].T):
            least = _least(S, ridge)
            S -= np.multiply.outer(share * mean, mean)
            self.factors.append(_factor(S, least))
            self.rest = max(self.rest, least)

    def newton(self, g: Floats, c: Floats) -> tuple[Floats, Floats]:
        """H₀ times a gradient, of B and of b."""
        inner = g - self.mean * c
        B, told = inner / self.rest, np.asfortranarray(inner[self.kept])
        if not len(told):  # all rows have every feature, or none: LAPACK knows no empty matrix
            pass
        elif len(self.factors) == 1:
            B[self.kept] = dpotrs(self.factors[0], told, lower=1)[0]
        else:
            for k, factor in enumerate(self.factors):
                B[self.kept, k] = dpotrs(factor, told[:, k], lower=1)[0]
        return B, c / self.share - np.einsum("fy,fy->y", self.mean, B)


class Diagonal:
    """The same without what features have in common: one number for each and each class."""

    def __init__(self, design: ByValue, w: Floats, p: Floats, ridge: float) -> None:
        v = _doubt(w, p)
        self.share = v.sum(axis=0)
        squares = design.sums(v)  # of ones
        squares[design.cells :] = np.square(design.numbers).T @ v
        self.scale = squares + ridge
        self.scale += LEAST * float(self.scale.max()) + TINY

    def newton(self, g: Floats, c: Floats) -> tuple[Floats, Floats]:
        """H₀ times a gradient, of B and of b."""
        return g / self.scale, c / self.share


class OfColumns:
    """H₀⁻¹ of weights of columns: Σ_r w_r Cov(t_r) + λ, t_rj what the table says of x_rj by class, covariance under p_r."""

    def __init__(self, design: ByColumn, w: Floats, p: Floats, ridge: float) -> None:
        K, d = p.shape[1], len(design.offsets) - 1
        self.share = _doubt(w, p).sum(axis=0)
        root, total = np.sqrt(w[:, None] * p), np.zeros((d, d))
        said = [
            design.table[first + column.astype(np.int64)]
            for column, first in zip(_columns(design.codes), design.offsets[:-1].tolist())
        ]
        said = [root * (t - (p * t).sum(axis=1, keepdims=True)) for t in said]
        for k in range(K):
            t = np.stack([s[:, k] for s in said], axis=1)
            total += t.T @ t
        self.factor = _factor(total, _least(total, ridge))

    def newton(self, g: Floats, c: Floats) -> tuple[Floats, Floats]:
        """H₀ times a gradient, of B and of b."""
        return dpotrs(self.factor, g, lower=1)[0], c / self.share


_NO_CLASS = np.zeros(0, dtype=np.uint8)
TINY = 1e-300


def _doubt(w: Floats, p: Floats) -> Floats:
    return np.asarray(w[:, None] * (p * (1.0 - p) + DOUBT / p.shape[1]))


def _least(S: Floats, ridge: float) -> float:
    """λ, and a little more: S may lack rank, and is known to so many digits."""
    return ridge + LEAST * float(S.diagonal().max(initial=0.0)) + TINY


def _factor(S: Floats, added: float) -> Floats:
    """Cholesky's of S + λ, made in its place; S is read on the diagonal and above it."""
    S[np.diag_indices(len(S))] += added
    factor: Floats = dpotrf(S.T, lower=1, clean=0, overwrite_a=1)[0]
    return factor


def _pair_cells(sizes: Ints) -> tuple[Ints, Ints]:
    """The cells that `count_pairs` counts together, in its order.

    >>> [c.tolist() for c in _pair_cells(np.array([2, 1, 2]))]
    [[0, 1, 0, 0, 1, 1, 2, 2], [2, 2, 3, 4, 3, 4, 3, 4]]
    """
    first, ends = np.cumsum(sizes) - sizes, pair_offsets(sizes.tolist())
    i, j = np.triu_indices(len(sizes), k=1)
    pair = np.repeat(np.arange(len(i)), np.diff(ends))
    a, b = np.divmod(np.arange(ends[-1]) - ends[pair], sizes[j[pair]])
    return first[i[pair]] + a, first[j[pair]] + b


def _some(n: int, size: int) -> Ints:
    """Rows that a metric is made from, evenly spaced."""
    m = min(n, max(SAMPLE * size, ROWS))
    return np.arange(m) * n // m


def _some_codes(codes: Any, rows: Array) -> Any:
    return codes[rows] if isinstance(codes, np.ndarray) else [c[rows] for c in codes]


def _columns(codes: Any) -> list[Array]:
    return list(codes.T) if isinstance(codes, np.ndarray) else codes


MEMORY = 15  # steps that L-BFGS remembers
ANEW = frozenset({0, *(2**i for i in range(60))})  # steps before which the metric is made
TRIES = 30  # lengths of one step
ENOUGH, STEEP = 1e-4, 0.9  # Wolfe's conditions


@dataclass(frozen=True, eq=False)
class Fitted:
    """B and b, with L after every pass."""

    B: Floats
    b: Floats
    trace: tuple[float, ...]
    converged: bool


@dataclass(frozen=True, eq=False)
class Point:
    """Where the walk is: B and b, the scores of all rows, L and its gradient."""

    B: Floats
    b: Floats
    eta: Floats
    loss: float
    G: Floats  # w (p − [y])


def fit_ridge(
    design: ByValue | ByColumn,
    y: Array,
    w: Floats,
    ridge: float,
    start: tuple[Floats, Floats],
    towards: Floats | None,
    hold: float,
    tol: float,
    max_iter: int,
    anew: frozenset[int] = ANEW,
    few: int = FEW,
) -> Fitted:
    """Walk from `start` = (B, b) until a step promises less than `tol` nats a row, or for `max_iter` passes.

    Weights sum to one. The ridge pulls `towards` the multiples of a table T, and these to T
    itself by `hold` (κ); or to zero. The metric is made before the steps `anew`, of matrices if no more than
    `few` features vary.
    """
    with one_thread(0):  # the rows are shared out by kernels of our own; products of matrices here are small
        return _walk(design, y, w, ridge, start, towards, hold, tol, max_iter, anew, few)


def _walk(
    design: ByValue | ByColumn,
    y: Array,
    w: Floats,
    ridge: float,
    start: tuple[Floats, Floats],
    towards: Floats | None,
    hold: float,
    tol: float,
    max_iter: int,
    anew: frozenset[int] = ANEW,
    few: int = FEW,
) -> Fitted:
    every = np.arange(design.n)
    whole = 0.0 if towards is None else _dot(towards, towards)

    def ridged(B: Floats) -> tuple[float, Floats]:
        """What the ridge charges, and its gradient."""
        if towards is None or whole == 0.0:
            return 0.5 * ridge * _dot(B, B), ridge * B
        tau = _dot(B, towards) / whole
        rest = B - tau * towards
        charge = 0.5 * ridge * _dot(rest, rest) + hold * (tau - 1.0) * (
            tau - 1.0
        )  # which may be inf: a power would raise
        return charge, ridge * rest + (2.0 * hold * (tau - 1.0) / whole) * towards

    def at(B: Floats, b: Floats, eta: Floats) -> Point:
        p, evidence = normalise(eta, design.n_jobs)
        loss = float(w @ (evidence - eta[every, y])) + ridged(B)[0]
        p[every, y] -= 1.0
        p *= w[:, None]
        return Point(B, b, eta, loss, p)

    def search(here: Point, step: tuple[Floats, Floats], along: Floats) -> Point | None:
        slope = _dot(here.G, along) + _dot(ridged(here.B)[1], step[0])
        return _search(here, step, along, slope, at, lambda q: _dot(ridged(q.B)[1], step[0]))

    def gradient(point: Point) -> tuple[Floats, Floats]:
        return design.sums(point.G) + ridged(point.B)[1], point.G.sum(axis=0)

    here = at(*start, design.scores(*start))
    trace, converged, memory = [here.loss], False, _Memory()
    for k in range(max_iter):
        if k == 0:
            cooler = search(here, (-here.B, -here.b), -here.eta)
            here = here if cooler is None else cooler
            g = gradient(here)
        if k in anew:
            memory.first = design.metric(w, normalise(here.eta, design.n_jobs)[0], ridge, few).newton
        step = memory.direction(*g)
        converged = not -0.5 * (_dot(g[0], step[0]) + _dot(g[1], step[1])) > tol
        there = None if converged else search(here, step, design.scores(*step))
        if there is None:  # or rounding: no step is downhill any more
            return Fitted(here.B, here.b, tuple(trace), True)
        new = gradient(there)
        memory.add((there.B - here.B, there.b - here.b), (new[0] - g[0], new[1] - g[1]))
        here, g = there, new
        trace.append(here.loss)
    return Fitted(here.B, here.b, tuple(trace), max_iter == 0)


def _search(
    here: Point,
    step: tuple[Floats, Floats],
    along: Floats,
    slope: float,
    at: Callable[[Floats, Floats, Floats], Point],
    ridge_slope: Callable[[Point], float],
) -> Point | None:
    """A point on the line where L has fallen and its slope is less steep; L is convex, so a bracket closes in on one.

    Where the slope is uphill the line is walked the other way.
    """
    way = -1.0 if slope > 0 else 1.0
    t, low, high, slope = 1.0, 0.0, np.inf, -abs(slope)
    there = here
    for _ in range(TRIES if slope < 0 else 0):
        u = way * t
        there = at(here.B + u * step[0], here.b + u * step[1], here.eta + u * along)
        now = way * (_dot(there.G, along) + ridge_slope(there))
        if not there.loss <= here.loss + ENOUGH * t * slope or now > -STEEP * slope:
            high = t
        elif now < STEEP * slope:
            low = t
        else:
            return there
        foot = t * slope / (slope - now) if now > slope else np.inf  # of the parabola with these slopes
        open_ended = not np.isfinite(high)
        middle = 4 * t if open_ended else (low + high) / 2
        t = foot if low + 0.05 * (middle - low) < foot < (8 * t if open_ended else high) else middle
    return there if there.loss < here.loss else None


class _Memory:
    """L-BFGS: what the last steps told of the curvature, beside H₀."""

    first: Callable[[Floats, Floats], tuple[Floats, Floats]]

    def __init__(self) -> None:
        self.steps: deque[tuple[Floats, Floats, float]] = deque(maxlen=MEMORY)
        self.scale = 1.0

    def add(self, s: tuple[Floats, Floats], q: tuple[Floats, Floats]) -> None:
        """A step s along which the gradient has changed by q."""
        flat_s, flat_q = _flat(*s), _flat(*q)
        both, own = _dot(flat_s, flat_q), _dot(flat_q, _flat(*self.first(*q)))
        if both > 1e-14 * np.sqrt(_dot(flat_s, flat_s) * _dot(flat_q, flat_q)) and own > 0:
            self.steps.append((flat_s, flat_q, 1.0 / both))
            self.scale = both / own

    def direction(self, g: Floats, c: Floats) -> tuple[Floats, Floats]:
        """−H g."""
        r, kept = -_flat(g, c), []
        for s, q, rho in reversed(self.steps):
            a = rho * _dot(s, r)
            kept.append(a)
            r = r - a * q
        r = self.scale * _flat(*self.first(r[: g.size].reshape(g.shape), r[g.size :]))
        for (s, q, rho), a in zip(self.steps, reversed(kept)):
            r = r + (a - rho * _dot(q, r)) * s
        return r[: g.size].reshape(g.shape), r[g.size :]


def _flat(a: Floats, b: Floats) -> Floats:
    return np.concatenate([a.ravel(), b.ravel()])


def _dot(a: Floats, b: Floats) -> float:
    return float(np.vdot(a, b))
