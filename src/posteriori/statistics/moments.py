"""Moments: how many, where, how wide, and within which ends.

Symbols: n = Σw, mean = Σwx/n, M2 = Σw(x − mean)²; low, high the least and greatest value; shapes (K, d), a row per class, a
column per attribute. Merging is Chan's formula, which never subtracts large sums from each other.

Moments do not know each row, so a stranger can be forgotten that leaves moments which some rows could have. What can be
known is refused: a row outside the span of what was learned, a negative M2, an M2 that n rows within the span cannot have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Bools, Floats
from ..errors import BadValue, NotLearned, StatisticsError
from ..fields import NOT_NEGATIVE, UNBOUNDED, need
from .counts import ClassStatistic, reindexed

DIGITS = 2.0**-46  # what a few sums and differences leave of a number's precision
LEAST = 1e-322  # and of numbers so small that floats lie apart as far as they are from zero
ROUNDING = 1e-9
SURE = 16.0  # errors that add up over so many calls are still no proof that a row was never there
ENOUGH = 1e-6  # the error, as a share of the M2 that stays, with which rows may still be forgotten
NOTHING = 1e-13  # an M2 below this share of the whole column's is as good as none
SQUARES = "the squares of X are too large for float64 (values beyond about 1e150); rescale the columns"
FAR = "its numbers are so large that their variance overflows; rescale the column"
FLAT = 1e-9  # the share of a column's variance that stands in for none, of GaussianNB too
PLACED = 1e-5  # the error of a mean, in standard deviations, with which rows may still be forgotten

Pick = Callable[[Floats, float], Floats]  # (part, what stands where nothing was) → some of its classes or columns


@dataclass(frozen=True, eq=False)
class Span:
    """low and high, with `+`, a zero (+∞, −∞) and a check of what is taken away.

    They are the ends of what was learned, exactly, until rows are forgotten; from then on they are outer bounds, since the
    row that was an end may have had equals.

    >>> a = Span(np.array([[0.0]]), np.array([[3.0]]))
    >>> (a + Span.zero(1, 1)).high.item(), a.most(np.array([[3.0]]), np.array([[1.5]])).item()  # that of 0, 1.5 and 3
    (3.0, 4.5)
    """

    low: Annotated[Floats, "K d", UNBOUNDED]
    high: Annotated[Floats, "K d", UNBOUNDED]
    weighted: bool = False  # whether rows may have counted for other than one

    def check(self) -> None:
        """Refuse ends that are no numbers."""
        need(not (np.isnan(self.low).any() or np.isnan(self.high).any()), "the ends of a span must be numbers")

    @property
    def shape(self) -> tuple[int, ...]:
        """(K, d)."""
        return self.low.shape

    @classmethod
    def zero(cls, n_classes: int, d: int) -> Span:
        """Of no rows."""
        return cls(np.full((n_classes, d), np.inf), np.full((n_classes, d), -np.inf))

    @classmethod
    def concat(cls, parts: list[Span | None]) -> Span | None:
        """The spans of several tables of columns as that of one."""
        known = [p for p in parts if p is not None]
        if len(known) < len(parts):
            return None
        low, high = (np.concatenate(of, axis=1) for of in zip(*((p.low, p.high) for p in known)))
        return cls(low, high, any(p.weighted for p in known))

    def __add__(self, other: Span) -> Span:
        return Span(np.minimum(self.low, other.low), np.maximum(self.high, other.high), self.weighted or other.weighted)

    def without(self, other: Span, n: Floats) -> Span:
        """What is known once the rows of `other` have gone and n are left; refused where they lie outside."""
        outside = (other.low < self.low) | (other.high > self.high)
        if outside.any():
            c, j = (int(i) for i in np.argwhere(outside)[0])
            value = other.low[c, j] if other.low[c, j] < self.low[c, j] else other.high[c, j]
            raise NotLearned(
                f"these rows were not all learned: attribute {j} of class {c} was never {value:g}, it lay between "
                f"{self.low[c, j]:g} and {self.high[c, j]:g}; nothing was changed"
            )
        live = n > 0
        return Span(
            np.where(live, self.low, np.inf), np.where(live, self.high, -np.inf), self.weighted or other.weighted
        )

    def most(self, n: Floats, mean: Floats) -> Floats:
        """The largest M2 of n values of this mean: all but one at the ends; of weights n(high − mean)(mean − low)."""
        with np.errstate(over="ignore", invalid="ignore"):
            width, above = self.high - self.low, mean - self.low
            share = np.divide(n * above, width, out=np.zeros_like(n), where=width > 0)  # how many at the upper end
            if not self.weighted:
                whole = np.floor(share)
                share = whole + (share - whole) ** 2
            largest: Floats = width * width * share - n * above * above
        return largest

    def too_wide(self, n: Floats, mean: Floats, m2: Floats, gone: Floats, error: Floats) -> Bools:
        """Where n values that stay after `gone` have left cannot have this mean and M2, whatever rounding did."""
        with np.errstate(over="ignore", invalid="ignore"):
            size = np.maximum(np.abs(self.low), np.abs(self.high))
            off = DIGITS * size * (1 + np.divide(gone, n, out=np.zeros_like(n), where=n > 0))  # of the mean
            slack = error + 2 * n * (self.high - self.low + off) * off + n * LEAST
            strange: Bools = (n > 0) & (
                (m2 > self.most(n, mean) + slack) | (mean < self.low - off) | (mean > self.high + off)
            )
        return strange

    def pick(self, pick: Pick) -> Span:
        """Some of the classes or columns."""
        return Span(pick(self.low, np.inf), pick(self.high, -np.inf), self.weighted)


@dataclass(frozen=True, eq=False)
class Moments(ClassStatistic):
    """n, mean, M2 and span of each attribute within each class, with `+`, `-`, a zero and a scale.

    `-` is good to `DIGITS` of the largest M2 that was ever in (`peak`). Where that is not little beside what stays, rows
    are refused: forgetting one value of 1e9 would leave no fine structure. Equal are moments of the same n, mean and M2:
    span and peak tell what was once there.

    >>> a = Moments(np.array([[2.0]]), np.array([[1.0]]), np.array([[2.0]]))
    >>> (a + a).n.item(), (a + a).mean.item(), (a + a - a).m2.item()
    (4.0, 1.0, 2.0)
    """

    n: Annotated[Floats, "K d", NOT_NEGATIVE]
    mean: Annotated[Floats, "K d"]
    m2: Annotated[Floats, "K d", NOT_NEGATIVE]
    span: Annotated[Span | None, "K d"] = None  # None: not known, as of moments that nobody forgets
    peak: Annotated[Floats | None, "K d"] = None  # None: M2 is the largest

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
    def concat(cls, parts: list[Moments]) -> Moments:
        """The moments of several tables of columns as those of one."""
        rows = zip(*((p.n, p.mean, p.m2, p.largest) for p in parts))
        n, mean, m2, peak = (np.concatenate(of, axis=1) for of in rows)
        return cls(n, mean, m2, Span.concat([p.span for p in parts]), peak)

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
            total = total + self.select_classes(np.array([c]))
        return total

    def too_wide(self) -> NDArray[Any]:
        """The columns whose variance, over all classes, does not fit into a float: Σ M2 + n (max μ − min μ)² bounds it."""
        some = self.n > 0
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = self.mean.min(0, where=some, initial=np.inf), self.mean.max(0, where=some, initial=-np.inf)
            whole = self.m2.sum(axis=0) + self.n.sum(axis=0) * np.maximum(high - low, 0.0) ** 2
        return np.flatnonzero(~np.isfinite(whole))

    def __add__(self, other: Moments) -> Moments:
        both = self.add_unchecked(other)
        refuse_infinite(both.mean, both.m2)
        return both

    def add_unchecked(self, other: Moments) -> Moments:
        """`+`, for those who look for columns that are `too_wide` themselves, and name them."""
        refuse_other_shape(self.mean, other.mean)
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)  # zero + zero is zero
        with np.errstate(over="ignore", invalid="ignore"):
            gap = other.mean - self.mean
            m2 = self.m2 + other.m2 + gap * gap * (self.n * share)
        peak = np.maximum(np.maximum(self.largest, other.largest), m2)
        return Moments(n, self.mean + gap * share, m2, both(self.span, other.span), peak)

    def less(self, other: Moments, lightest: float = np.inf) -> Moments:
        """Without the rows of `other`; refused where they cannot have been learned, or where too little stays to tell."""
        refuse_other_shape(self.mean, other.mean)
        n = take_away(self.n, other.n)
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)
        mean = np.where(n > 0, self.mean + (self.mean - other.mean) * share, 0.0)
        gap = other.mean - mean
        m2 = self.m2 - other.m2 - gap * gap * np.divide(n * other.n, self.n, out=np.zeros_like(n), where=self.n > 0)
        peak = np.where(n > 0, np.maximum(self.largest, other.largest), 0.0)
        error = known_error(self, other, self.n, peak) + weight_error(self, other, self.n, gap)
        forgot = (other.n > 0) & (n > 0)
        span, alone, strange = left_in(self.span, other.span, n, mean, m2, other.n, error)
        refuse_impossible(forgot & (strange | (m2 < -SURE * error)))
        kept = np.where(forgot & ((m2 <= error) | alone), 0.0, np.where(n > 0, m2, 0.0))
        column = Moments(n, mean, kept).pooled().m2
        refuse_lost(forgot & is_lost(n, kept, column, np.where(alone, 0.0, error), mean_error(self, other, n, gap)))
        return Moments(n, mean, kept, span, peak)

    def scaled(self, factor: float) -> Moments:
        return Moments(self.n * factor, self.mean, self.m2 * factor, self.span, self.largest * factor)

    @property
    def _compared(self) -> tuple[Any, ...]:
        return self.n, self.mean, self.m2

    def _pick(self, pick: Pick) -> Moments:
        """Some of the classes or columns."""
        n, mean, m2, peak = (pick(part, 0.0) for part in (self.n, self.mean, self.m2, self.largest))
        return Moments(n, mean, m2, self.span and self.span.pick(pick), peak)

    def select_classes(self, classes: Array) -> Moments:
        return self._pick(lambda part, _: part[classes])

    def select_columns(self, columns: Sequence[int]) -> Moments:
        """The moments of some of the columns, in this order."""
        return self._pick(lambda part, _: part[:, columns])

    def reindex_classes(self, places: Array, n_classes: int) -> Moments:
        return self._pick(lambda part, blank: reindexed(part, places, n_classes, blank=blank))


class Centred(Protocol):
    """Moments of either kind: n rows about a mean."""

    @property
    def n(self) -> Floats: ...

    @property
    def mean(self) -> Floats: ...

    @property
    def span(self) -> Span | None: ...


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


def known_error(whole: Centred, less: Centred, n: Floats, peak: Floats) -> Floats:
    """How far M2 may be off: what rounding took from the largest M2 and from the mean, as large as the numbers are."""
    with np.errstate(over="ignore"):  # beyond the largest float nothing is known: refused
        size = np.maximum(np.abs(whole.mean), np.abs(less.mean))
        error: Floats = DIGITS * (peak + size * np.sqrt(n * peak)) + n * LEAST
    return error


def weight_error(whole: Centred, less: Centred, n: Floats, gap: Floats) -> Floats:
    """What M2 may be off since weights are rounded: δn·gap², gap from what stays to what goes; rows are counted exactly."""
    if whole.span is not None and less.span is not None and not (whole.span.weighted or less.span.weighted):
        return np.zeros_like(gap)
    with np.errstate(over="ignore"):
        error: Floats = DIGITS * n * gap * gap
    return error


def mean_error(whole: Centred, less: Centred, n: Floats, gap: Floats | None = None) -> Floats:
    """How far the mean of the n rows that stay may be off: it comes from rounded means and weights that are larger."""
    gone = less.n if less.n.ndim == 2 else less.n[:, None]
    share = np.divide(gone, n, out=np.zeros_like(n), where=n > 0)
    error: Floats = 2.0**-51 * (np.abs(whole.mean) * (1 + share) + np.abs(less.mean) * share)
    if gap is not None and (whole.span is None or less.span is None or whole.span.weighted or less.span.weighted):
        error = error + 2.0**-51 * np.abs(gap) * (1 + share)
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


def refuse_infinite(mean: Floats, squares: Floats) -> None:
    """Moments whose squares do not fit into a float are none."""
    if not (np.isfinite(squares).all() and np.isfinite(mean).all()):
        raise BadValue(SQUARES)


def refuse_other_shape(a: Floats, b: Floats) -> None:
    if a.shape != b.shape:
        raise StatisticsError(f"moments of {a.shape} and {b.shape} classes × attributes cannot be added")
