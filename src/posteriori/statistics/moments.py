"""Moments: how many, where, how wide; and the same for several columns together.

Symbols: n = Σw, mean = Σwx/n, M2 = Σw(x − mean)²; shapes (K, d), a row per class, a column per attribute.
Merging is Chan's formula, which never subtracts large sums from each other.

Moments do not know each row, so a stranger can be forgotten that leaves moments which some rows could have. What can be
known is refused: a row outside the span of what was learned, a negative M2, an M2 that n rows within the span cannot have,
and of several columns together a matrix that is no covariance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Bools, Floats
from ..errors import BadValue, NotLearned, StatisticsError
from ..table.labels import narrowest
from .span import DIGITS as KNOWN
from .span import LEAST, Span

ROUNDING = 1e-9
SURE = 16.0  # errors that add up over so many calls are still no proof that a row was never there
ENOUGH = 1e-7  # the error, as a share of the M2 that stays, with which rows may still be forgotten
NOTHING = 1e-13  # an M2 below this share of the whole column's is as good as none
Some = TypeVar("Some", "Moments", "CoMoments")
SQUARES = "the squares of X are too large for float64 (values beyond about 1e150); rescale the columns"
FAR = "its numbers are so large that their variance overflows; rescale the column"
FLAT = 1e-9  # the share of a column's variance that stands in for none, of GaussianNB too
PLACED = 1e-5  # the error of a mean, in standard deviations, with which rows may still be forgotten


@dataclass(frozen=True, eq=False)
class Moments:
    """n, mean, M2 and span of each attribute within each class, with `+`, `-`, a zero and a scale.

    `-` is good to `KNOWN` of the largest M2 that was ever in (`peak`). Where that is not little beside what stays, the rows
    are refused: forgetting one value of 1e9 would leave no fine structure. Equal are moments of the same n, mean and M2:
    span and peak tell what was once there.

    >>> a = Moments(np.array([[2.0]]), np.array([[1.0]]), np.array([[2.0]]))
    >>> (a + a).n.item(), (a + a).mean.item(), (a + a - a).m2.item()
    (4.0, 1.0, 2.0)
    """

    n: Floats
    mean: Floats
    m2: Floats
    span: Span | None = None  # None: not known, as of moments that nobody forgets
    peak: Floats | None = None  # None: M2 is the largest

    @classmethod
    def zero(cls, n_classes: int, d: int) -> Moments:
        """No rows at all."""
        n, mean, m2 = np.zeros((3, n_classes, d))
        return cls(n, mean, m2, Span.zero(n_classes, d))

    @classmethod
    def of(cls, n: Floats, mean: Floats, m2: Floats, low: Floats, high: Floats, weighted: bool = False) -> Moments:
        """What the kernel gives."""
        return cls(n, mean, m2, Span(low, high, weighted))

    @classmethod
    def beside(cls, parts: list[Moments]) -> Moments:
        """The moments of several tables of columns as those of one."""
        rows = zip(*((p.n, p.mean, p.m2, p.largest) for p in parts))
        n, mean, m2, peak = (np.concatenate(of, axis=1) for of in rows)
        return cls(n, mean, m2, Span.beside([p.span for p in parts]), peak)

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

    def too_wide(self) -> NDArray[Any]:
        """The columns whose variance, over all classes, does not fit into a float: Σ M2 + n (max μ − min μ)² bounds it."""
        some = self.n > 0
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = self.mean.min(0, where=some, initial=np.inf), self.mean.max(0, where=some, initial=-np.inf)
            whole = self.m2.sum(axis=0) + self.n.sum(axis=0) * np.maximum(high - low, 0.0) ** 2
        return np.flatnonzero(~np.isfinite(whole))

    def __add__(self, other: Moments) -> Moments:
        return _finite(self.plus(other))

    def plus(self, other: Moments) -> Moments:
        """`+`, for those who look for columns that are `too_wide` themselves, and name them."""
        _same_shape(self.mean, other.mean)
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)  # zero + zero is zero
        with np.errstate(over="ignore", invalid="ignore"):
            gap = other.mean - self.mean
            m2 = self.m2 + other.m2 + gap * gap * (self.n * share)
        peak = np.maximum(np.maximum(self.largest, other.largest), m2)
        return Moments(n, self.mean + gap * share, m2, both(self.span, other.span), peak)

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
        span, alone, strange = left_in(self.span, other.span, n, mean, m2, other.n, error)
        refuse_impossible(forgot & (strange | (m2 < -SURE * error)))
        kept = np.where(forgot & ((m2 <= error) | alone), 0.0, np.where(n > 0, m2, 0.0))
        column = Moments(n, mean, kept).pooled().m2
        refuse_lost(forgot & is_lost(n, kept, column, np.where(alone, 0.0, error), mean_error(self, other, n)))
        return Moments(n, mean, kept, span, peak)

    def scaled(self, factor: float) -> Moments:
        """Every row counts `factor` times (decay)."""
        return Moments(self.n * factor, self.mean, self.m2 * factor, self.span, self.largest * factor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Moments) and all(
            np.array_equal(a, b) for a, b in zip((self.n, self.mean, self.m2), (other.n, other.mean, other.m2))
        )

    __hash__ = None  # type: ignore[assignment]

    def taken(self, classes: NDArray[Any]) -> Moments:
        """The moments of some of the classes."""
        span = self.span and self.span.taken(classes)
        return Moments(self.n[classes], self.mean[classes], self.m2[classes], span, self.largest[classes])

    def columns(self, where: list[int]) -> Moments:
        """The moments of some of the columns."""
        span = self.span and self.span.columns(where)
        return Moments(self.n[:, where], self.mean[:, where], self.m2[:, where], span, self.largest[:, where])

    def among(self, classes: NDArray[Any], n_classes: int) -> Moments:
        """The same moments among more classes: class c goes to `classes[c]`."""
        n, mean, m2, peak = np.zeros((4, n_classes, self.n.shape[1]))
        n[classes], mean[classes], m2[classes], peak[classes] = self.n, self.mean, self.m2, self.largest
        return Moments(n, mean, m2, self.span and self.span.among(classes, n_classes), peak)


@dataclass(frozen=True, eq=False)
class CoMoments:
    """n (K,), mean (K, d), C = Σw(x − mean)(x − mean)ᵀ (K, d, d) and span of each class, with `+`, `-`, a zero and a scale.

    `-` knows its error as that of `Moments` does: by the largest diagonal that was ever in (`peak`).
    """

    n: Floats
    mean: Floats
    c: Floats
    span: Span | None = None
    peak: Floats | None = None

    @classmethod
    def zero(cls, n_classes: int, d: int) -> CoMoments:
        """No rows at all."""
        return cls(np.zeros(n_classes), np.zeros((n_classes, d)), np.zeros((n_classes, d, d)), Span.zero(n_classes, d))

    @property
    def largest(self) -> Floats:
        """The largest Σw(x_j − mean_j)² that was ever in, (K, d)."""
        return np.diagonal(self.c, axis1=1, axis2=2) if self.peak is None else self.peak

    def __add__(self, other: CoMoments) -> CoMoments:
        _same_shape(self.mean, other.mean)
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)
        gap = other.mean - self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            c = self.c + other.c + gap[:, :, None] * gap[:, None, :] * (self.n * share)[:, None, None]
        peak = np.maximum(np.maximum(self.largest, other.largest), np.diagonal(c, axis1=1, axis2=2))
        return _finite(CoMoments(n, self.mean + gap * share[:, None], c, both(self.span, other.span), peak))

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
        rows, gone = (np.broadcast_to(v[:, None], left.shape) for v in (n, other.n))
        span, alone, strange = left_in(self.span, other.span, rows, mean, left, gone, error)
        refuse_impossible(forgot & (strange | (left < -SURE * error)))
        kept = np.where(live & ~alone & (left > error), left, 0.0)
        column = kept.sum(axis=0)  # within the classes: what lies between them stands in for no variance here
        refuse_lost(forgot & is_lost(rows, kept, column, np.where(alone, 0.0, error), mean_error(self, other, rows)))
        known = np.where(forgot, kept > 0, live)
        c = np.where(known[:, :, None] & known[:, None, :], c, 0.0)
        refuse_impossible(forgot.any(axis=1) & ~is_covariance(c, kept, ENOUGH))
        return CoMoments(n, mean, c, span, peak)

    @property
    def doubt(self) -> Floats:
        """How far each class's C may be off since rows were forgotten, as a share of its diagonal; 0 if none were."""
        left = np.diagonal(self.c, axis1=1, axis2=2)
        error = np.where(self.largest > left, known_error(self, self, self.n[:, None], self.largest), 0.0)
        share: Floats = np.divide(error, left, out=np.zeros_like(left), where=left > 0).max(axis=1, initial=0.0)
        return share

    def scaled(self, factor: float) -> CoMoments:
        """Every row counts `factor` times (decay)."""
        return CoMoments(self.n * factor, self.mean, self.c * factor, self.span, self.largest * factor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CoMoments) and all(
            np.array_equal(a, b) for a, b in zip((self.n, self.mean, self.c), (other.n, other.mean, other.c))
        )

    __hash__ = None  # type: ignore[assignment]

    def taken(self, classes: NDArray[Any]) -> CoMoments:
        """The co-moments of some of the classes."""
        span = self.span and self.span.taken(classes)
        return CoMoments(self.n[classes], self.mean[classes], self.c[classes], span, self.largest[classes])

    def among(self, classes: NDArray[Any], n_classes: int) -> CoMoments:
        """The same co-moments among more classes: class c goes to `classes[c]`."""
        out = CoMoments.zero(n_classes, self.mean.shape[1])
        peak = np.zeros((n_classes, self.mean.shape[1]))
        for whole, part in zip((out.n, out.mean, out.c, peak), (self.n, self.mean, self.c, self.largest)):
            whole[classes] = part
        return CoMoments(out.n, out.mean, out.c, self.span and self.span.among(classes, n_classes), peak)


def both(a: Span | None, b: Span | None) -> Span | None:
    """The span of two parts, where that of either is known."""
    return None if a is None or b is None else a + b


def left_in(
    span: Span | None, less: Span | None, n: Floats, mean: Floats, m2: Floats, gone: Floats, error: Floats
) -> tuple[Span | None, Bools, Bools]:
    """(the span of n rows that stay, where they are one row alone, where they cannot be)."""
    if span is None or less is None:
        return None, n == 1.0, (n == 1.0) & (m2 > error)
    left = span.without(less, n)
    alone = ((n == 1.0) & (not left.weighted)) | (
        left.low == left.high
    )  # equal values have no spread, whatever rounding left
    return left, alone, left.too_wide(n, mean, m2, gone, SURE * error)


def is_covariance(c: Floats, kept: Floats, off: float) -> Bools:
    """Whether each C could be Σ(x − mean)(x − mean)ᵀ of some rows: no direction has a negative variance."""
    scale = np.sqrt(np.where(kept > 0, kept, 1.0))
    flat = (kept[:, :, None] > 0) & (kept[:, None, :] > 0)
    r = np.where(flat, c / scale[:, :, None] / scale[:, None, :], 0.0)
    least: Bools = np.linalg.eigvalsh(r)[:, 0] >= -10 * off * r.shape[1]
    return least


def comoments(X: Array, codes: Array, n_classes: int, weights: Floats | None) -> CoMoments:
    """n, mean and Σw(x − mean)(x − mean)ᵀ of each class, in two passes over its rows.

    >>> comoments(np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([0, 0]), 1, None).c.tolist()
    [[[2.0, 4.0], [4.0, 8.0]]]
    """
    total, span = CoMoments.zero(n_classes, X.shape[1]), Span.zero(n_classes, X.shape[1])
    narrow = codes.astype(narrowest(n_classes), copy=False)
    order = np.argsort(narrow, kind="stable")  # of narrow codes: by their digits
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
            some = rows if weights is None else rows[w > 0]
            span.low[y], span.high[y] = some.min(axis=0), some.max(axis=0)
    return replace(total, span=replace(span, weighted=weights is not None))


def known_error(whole: Moments | CoMoments, less: Moments | CoMoments, n: Floats, peak: Floats) -> Floats:
    """How far M2 may be off: what rounding took from the largest M2 and from the mean, as large as the numbers are."""
    with np.errstate(over="ignore"):  # beyond the largest float nothing is known: refused
        size = np.maximum(np.abs(whole.mean), np.abs(less.mean))
        error: Floats = KNOWN * (peak + size * np.sqrt(n * peak)) + n * LEAST
    return error


def mean_error(whole: Moments | CoMoments, less: Moments | CoMoments, n: Floats) -> Floats:
    """How far the mean of the n rows that stay may be off: it is computed from rounded means that weigh more."""
    gone = less.n if less.n.ndim == 2 else less.n[:, None]
    share = np.divide(gone, n, out=np.zeros_like(n), where=n > 0)
    error: Floats = 2.0**-51 * (np.abs(whole.mean) * (1 + share) + np.abs(less.mean) * share)
    return error


def is_lost(n: Floats, m2: Floats, column: Floats, error: Floats, off: Floats) -> Bools:
    """Where M2 or the mean is not known well enough, beside the spread of the class or the M2 of its column."""
    rows = n.sum(axis=0)
    share = np.divide(n, rows, out=np.zeros_like(n), where=rows > 0)
    with np.errstate(over="ignore"):
        spread: Floats = np.maximum(m2, FLAT * share * column)
        placed = (off * off * n <= PLACED**2 * spread) | (share == 1.0)  # a class by itself is sure wherever it lies
        known: Bools = (error <= np.where(m2 > 0, ENOUGH * m2, NOTHING * column)) & placed
    return ~known


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


def _finite(moments: Some) -> Some:
    """Moments as they are, where their squares fit into a float."""
    squares = moments.m2 if isinstance(moments, Moments) else moments.c
    if not (np.isfinite(squares).all() and np.isfinite(moments.mean).all()):
        raise BadValue(SQUARES)
    return moments


def _same_shape(a: Floats, b: Floats) -> None:
    if a.shape != b.shape:
        raise StatisticsError(f"moments of {a.shape} and {b.shape} classes × attributes cannot be added")
