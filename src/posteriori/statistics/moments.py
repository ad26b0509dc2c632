"""Moments: how many, where, how wide; and the same for several columns together.

Symbols: n = Σw, mean = Σwx/n, M2 = Σw(x − mean)²; shapes (K, d), a row per class, a column per attribute.
Merging is Chan's formula, which never subtracts large sums from each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Bools, Floats
from ..errors import NotLearned, StatisticsError
from ..table.labels import narrowest

ROUNDING = 1e-9
KNOWN = 2.0**-46  # the error of a difference of M2, as a share of the largest that was ever in
ENOUGH = 1e-7  # the error, as a share of the M2 that stays, with which rows may still be forgotten
NOTHING = 1e-9  # an M2 below this share of the whole column's is as good as none


@dataclass(frozen=True, eq=False)
class Moments:
    """n, mean and M2 of each attribute within each class, with `+`, `-`, a zero and a scale.

    `-` is good to `KNOWN` of the largest M2 that was ever in (`peak`). Where that is not little beside what stays, the rows
    are refused: forgetting one value of 1e9 would leave no fine structure.

    >>> a = Moments(np.array([[2.0]]), np.array([[1.0]]), np.array([[2.0]]))
    >>> (a + a).n.item(), (a + a).mean.item(), (a + a - a).m2.item()
    (4.0, 1.0, 2.0)
    """

    n: Floats
    mean: Floats
    m2: Floats
    peak: Floats | None = None  # None: M2 is the largest

    @classmethod
    def zero(cls, n_classes: int, d: int) -> Moments:
        """No rows at all."""
        return cls(*(np.zeros((n_classes, d)) for _ in range(3)))

    @property
    def largest(self) -> Floats:
        """The largest M2 that was ever in."""
        return self.m2 if self.peak is None else self.peak

    def variance(self, ddof: float = 0.0) -> Floats:
        """M2/(n − ddof); 0 where there are not enough rows."""
        room = self.n - ddof
        return np.divide(self.m2, room, out=np.zeros_like(self.m2), where=room > 0)

    def pooled(self) -> Moments:
        """The moments of all classes together, shape (1, d)."""
        total = Moments.zero(1, self.n.shape[1])
        for c in range(len(self.n)):
            total = total + self.taken(np.array([c]))
        return total

    def __add__(self, other: Moments) -> Moments:
        _same_shape(self.mean, other.mean)
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)  # zero + zero is zero
        gap = other.mean - self.mean
        m2 = self.m2 + other.m2 + gap * gap * (self.n * share)
        peak = np.maximum(np.maximum(self.largest, other.largest), m2)
        return Moments(n, self.mean + gap * share, m2, peak)

    def __sub__(self, other: Moments) -> Moments:
        """Without the rows of `other`; refused where they cannot have been learned, or where too little stays to tell."""
        _same_shape(self.mean, other.mean)
        n = take_away(self.n, other.n)
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)
        mean = np.where(n > 0, self.mean + (self.mean - other.mean) * share, 0.0)
        gap = other.mean - mean
        m2 = self.m2 - other.m2 - gap * gap * np.divide(n * other.n, self.n, out=np.zeros_like(n), where=self.n > 0)
        peak = np.where(n > 0, np.maximum(self.largest, other.largest), 0.0)
        error = known_error(self, other, self.n, peak)
        forgot = (other.n > 0) & (n > 0)
        kept = np.where(forgot & ((m2 <= error) | (n == 1.0)), 0.0, np.where(n > 0, m2, 0.0))
        refuse_impossible((forgot & (n == 1.0) & (m2 > error)) | (forgot & (m2 < -error)))
        column = Moments(n, mean, kept).pooled().m2
        refuse_lost(forgot & (n != 1.0) & (error > np.where(kept > 0, ENOUGH * kept, NOTHING * column)))
        return Moments(n, mean, kept, peak)

    def scaled(self, factor: float) -> Moments:
        """Every row counts `factor` times (decay)."""
        return Moments(self.n * factor, self.mean, self.m2 * factor, self.largest * factor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Moments) and all(
            np.array_equal(a, b) for a, b in zip((self.n, self.mean, self.m2), (other.n, other.mean, other.m2))
        )

    __hash__ = None  # type: ignore[assignment]

    def taken(self, classes: NDArray[Any]) -> Moments:
        """The moments of some of the classes."""
        return Moments(self.n[classes], self.mean[classes], self.m2[classes], self.largest[classes])

    def columns(self, where: list[int]) -> Moments:
        """The moments of some of the columns."""
        return Moments(self.n[:, where], self.mean[:, where], self.m2[:, where], self.largest[:, where])

    def among(self, classes: NDArray[Any], n_classes: int) -> Moments:
        """The same moments among more classes: class c goes to `classes[c]`."""
        parts = (self.n, self.mean, self.m2, self.largest)
        wide = [np.zeros((n_classes, self.n.shape[1])) for _ in parts]
        for whole, part in zip(wide, parts):
            whole[classes] = part
        return Moments(*wide)


@dataclass(frozen=True, eq=False)
class CoMoments:
    """n (K,), mean (K, d) and C = Σw(x − mean)(x − mean)ᵀ (K, d, d) of each class, with `+`, `-`, a zero and a scale.

    `-` knows its error as that of `Moments` does: by the largest diagonal that was ever in (`peak`).
    """

    n: Floats
    mean: Floats
    c: Floats
    peak: Floats | None = None

    @classmethod
    def zero(cls, n_classes: int, d: int) -> CoMoments:
        """No rows at all."""
        return cls(np.zeros(n_classes), np.zeros((n_classes, d)), np.zeros((n_classes, d, d)))

    @property
    def largest(self) -> Floats:
        """The largest Σw(x_j − mean_j)² that was ever in, (K, d)."""
        return np.diagonal(self.c, axis1=1, axis2=2) if self.peak is None else self.peak

    def __add__(self, other: CoMoments) -> CoMoments:
        _same_shape(self.mean, other.mean)
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)
        gap = other.mean - self.mean
        outer = gap[:, :, None] * gap[:, None, :] * (self.n * share)[:, None, None]
        c = self.c + other.c + outer
        peak = np.maximum(np.maximum(self.largest, other.largest), np.diagonal(c, axis1=1, axis2=2))
        return CoMoments(n, self.mean + gap * share[:, None], c, peak)

    def __sub__(self, other: CoMoments) -> CoMoments:
        """Without the rows of `other`; refused where they cannot have been learned, or where too little stays to tell."""
        _same_shape(self.mean, other.mean)
        n = take_away(self.n, other.n)
        live = n[:, None] > 0
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)[:, None]
        mean = np.where(live, self.mean + (self.mean - other.mean) * share, 0.0)
        gap = other.mean - mean
        weight = np.divide(n * other.n, self.n, out=np.zeros_like(n), where=self.n > 0)
        c = self.c - other.c - gap[:, :, None] * gap[:, None, :] * weight[:, None, None]
        peak = np.where(live, np.maximum(self.largest, other.largest), 0.0)
        error = known_error(self, other, self.n[:, None], peak)
        forgot, left = live & (other.n[:, None] > 0), np.diagonal(c, axis1=1, axis2=2)
        alone = n[:, None] == 1.0
        refuse_impossible((forgot & alone & (left > error)) | (forgot & (left < -error)))
        kept = np.where(live & ~alone & (left > error), left, 0.0)
        column = Moments(np.broadcast_to(n[:, None], kept.shape), mean, kept).pooled().m2
        refuse_lost(forgot & ~alone & (error > np.where(kept > 0, ENOUGH * kept, NOTHING * column)))
        varies = (kept > 0) | ~forgot & live & ~alone  # what does not vary goes with nothing
        return CoMoments(n, mean, np.where(varies[:, :, None] & varies[:, None, :], c, 0.0), peak)

    def scaled(self, factor: float) -> CoMoments:
        """Every row counts `factor` times (decay)."""
        return CoMoments(self.n * factor, self.mean, self.c * factor, self.largest * factor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CoMoments) and all(
            np.array_equal(a, b) for a, b in zip((self.n, self.mean, self.c), (other.n, other.mean, other.c))
        )

    __hash__ = None  # type: ignore[assignment]

    def taken(self, classes: NDArray[Any]) -> CoMoments:
        """The co-moments of some of the classes."""
        return CoMoments(self.n[classes], self.mean[classes], self.c[classes], self.largest[classes])

    def among(self, classes: NDArray[Any], n_classes: int) -> CoMoments:
        """The same co-moments among more classes: class c goes to `classes[c]`."""
        out = CoMoments.zero(n_classes, self.mean.shape[1])
        peak = np.zeros((n_classes, self.mean.shape[1]))
        for whole, part in zip((out.n, out.mean, out.c, peak), (self.n, self.mean, self.c, self.largest)):
            whole[classes] = part
        return CoMoments(out.n, out.mean, out.c, peak)


def comoments(X: Array, codes: Array, n_classes: int, weights: Floats | None) -> CoMoments:
    """n, mean and Σw(x − mean)(x − mean)ᵀ of each class, in two passes over its rows.

    >>> comoments(np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([0, 0]), 1, None).c.tolist()
    [[[2.0, 4.0], [4.0, 8.0]]]
    """
    total = CoMoments.zero(n_classes, X.shape[1])
    order = np.argsort(
        codes.astype(narrowest(n_classes), copy=False), kind="stable"
    )  # of narrow codes: by their digits
    ends = np.cumsum(np.bincount(codes, minlength=n_classes))
    for y in np.unique(codes).tolist():
        mine = order[(ends[y - 1] if y else 0) : ends[y]]
        rows = np.asarray(X[mine], dtype=np.float64)
        w = np.ones(len(rows)) if weights is None else weights[mine]
        n = w.sum()
        if n > 0:
            mean = w @ rows / n
            mean = mean + w @ (rows - mean) / n  # the digits that a sum of large numbers lost
            gap = rows - mean
            with np.errstate(over="ignore", invalid="ignore"):  # the caller looks for it
                total.n[y], total.mean[y], total.c[y] = n, mean, (gap * w[:, None]).T @ gap
    return total


def known_error(whole: Moments | CoMoments, less: Moments | CoMoments, n: Floats, peak: Floats) -> Floats:
    """How far M2 may be off: what rounding took from the largest M2 and from the mean, as large as the numbers are."""
    with np.errstate(over="ignore"):  # beyond the largest float nothing is known: refused
        size = np.maximum(np.abs(whole.mean), np.abs(less.mean))
        error: Floats = KNOWN * (peak + size * np.sqrt(n * peak))
    return error


def take_away(n: Floats, less: Floats) -> Floats:
    """n − less, refused where it would be negative; what is left of rounding is zero."""
    left = n - less
    left = np.where(np.abs(left) <= ROUNDING * np.maximum(n, less), 0.0, left)
    if (left < 0).any():
        raise NotLearned("these rows were not all learned: a number of rows would become negative; nothing was changed")
    return left


def refuse_impossible(strange: Bools) -> None:
    """No rows can be left whose M2 is negative, nor one row with any."""
    if strange.any():
        raise NotLearned("these rows were not all learned: a variance would become impossible; nothing was changed")


def refuse_lost(lost: Bools) -> None:
    """An M2 whose error is not little beside it, and beside that of the other classes, is no answer."""
    if lost.any():
        c, j = (int(i) for i in np.argwhere(lost)[0])
        raise StatisticsError(
            f"these rows cannot be forgotten exactly: attribute {j} of class {c} held numbers so much larger than those "
            "that stay that their spread is lost; fit again on the rows that stay. Nothing was changed"
        )


def _same_shape(a: Floats, b: Floats) -> None:
    if a.shape != b.shape:
        raise StatisticsError(f"moments of {a.shape} and {b.shape} classes × attributes cannot be added")
