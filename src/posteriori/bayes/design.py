"""Rows as features of a linear model: scores by gathering, sums by counting, and the metric that rows in doubt make.

Symbols: n rows, K classes, z_r the features of row r; w weights that sum to one, p[r, y] posteriors; λ the ridge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..arrays import Array, Floats, Ints
from ..kernels.naive import count_cells, log_joint_cells

FEW = 1024  # features up to which the metric is a matrix for each class, not its diagonal,
NUMBERS = 1 << 23  # and numbers of all these matrices
SAMPLE, ROWS = 4, 2048  # rows that a matrix is made from: so many for each feature, and at least
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
        if not self.cells:
            return start if start.ndim == 2 else np.repeat(start[None], self.n, axis=0)
        return log_joint_cells(self.codes, np.ascontiguousarray(B[: self.cells]), self.offsets, start, self.n_jobs)

    def sums(self, G: Floats) -> Floats:
        """Σ_r z_r G_rᵀ."""
        out = np.empty((self.size, G.shape[1]))
        if self.cells:
            out[: self.cells] = count_cells(self.codes, _NO_CLASS, self.offsets, G.shape[1], G, self.n_jobs)
        if self.numbers.shape[1]:
            out[self.cells :] = self.numbers.T @ G
        return out

    def take(self, rows: Array) -> ByValue:
        """Some rows."""
        return ByValue(_taken(self.codes, rows), self.offsets, self.numbers[rows], self.n_jobs)

    def dense(self) -> Floats:
        """The features as a matrix."""
        out, every = np.zeros((self.n, self.size)), np.arange(self.n)
        for column, first in zip(_columns(self.codes), self.offsets[:-1].tolist()):
            out[every, first + column.astype(np.int64)] = 1.0
        out[:, self.cells :] = self.numbers
        return out

    def metric(self, w: Floats, p: Floats, ridge: float) -> Blocks | Diagonal:
        """H₀ at the posteriors p."""
        if self.size > FEW or p.shape[1] * self.size**2 > NUMBERS:
            return Diagonal(self, w, p, ridge)
        rows = _some(self.n, self.size)
        return Blocks(self.take(rows), w[rows] / w[rows].sum(), p[rows], ridge)


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
        return ByColumn(_taken(self.codes, rows), self.offsets, self.table, len(rows), self.n_jobs)

    def metric(self, w: Floats, p: Floats, ridge: float) -> OfColumns:
        """H₀ at the posteriors p."""
        rows = _some(self.n, len(self.offsets) - 1)
        return OfColumns(self.take(rows), w[rows] / w[rows].sum(), p[rows], ridge)


class Blocks:
    """H₀ = (S_y + λ)⁻¹ of each class, S_y = Σ_r v_ry (z_r − m_y)(z_r − m_y)ᵀ with v = w p(1 − p), m_y the mean under v."""

    def __init__(self, design: ByValue, w: Floats, p: Floats, ridge: float) -> None:
        v = _doubt(w, p)
        self.share = v.sum(axis=0)
        self.mean = design.sums(v / self.share)
        Z, self.factors = design.dense(), list[Any]()
        for k in range(p.shape[1]):
            if k == 1 and p.shape[1] == 2:  # either of two classes is in doubt where the other is
                self.factors.append(self.factors[0])
                break
            turned = (Z - self.mean[:, k]) * np.sqrt(v[:, k])[:, None]
            self.factors.append(_factor(turned.T @ turned, ridge))

    def newton(self, g: Floats, c: Floats) -> tuple[Floats, Floats]:
        """H₀ times a gradient, of B and of b."""
        inner, B = g - self.mean * c, np.empty_like(g)
        for k, factor in enumerate(self.factors):
            B[:, k] = cho_solve(factor, inner[:, k], check_finite=False)
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
        self.factor = _factor(total, ridge)

    def newton(self, g: Floats, c: Floats) -> tuple[Floats, Floats]:
        """H₀ times a gradient, of B and of b."""
        return cho_solve(self.factor, g, check_finite=False), c / self.share


_NO_CLASS = np.zeros(0, dtype=np.uint8)
TINY = 1e-300


def _doubt(w: Floats, p: Floats) -> Floats:
    return np.asarray(w[:, None] * (p * (1.0 - p) + DOUBT / p.shape[1]))


def _factor(S: Floats, ridge: float) -> Any:
    S[np.diag_indices(len(S))] += ridge + LEAST * float(S.diagonal().max()) + TINY
    return cho_factor(S, check_finite=False)


def _some(n: int, size: int) -> Ints:
    """Rows that a metric is made from, evenly spaced."""
    return np.arange(0, n, max(1, n // max(SAMPLE * size, ROWS)))


def _taken(codes: Any, rows: Array) -> Any:
    return codes[rows] if isinstance(codes, np.ndarray) else [c[rows] for c in codes]


def _columns(codes: Any) -> list[Array]:
    return list(codes.T) if isinstance(codes, np.ndarray) else codes
