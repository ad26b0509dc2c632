"""The span of numbers: within which ends they lie, and how far n of them can spread there.

Symbols: low, high the least and greatest value of each attribute within each class, (K, d); n, mean, M2 as in moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Bools, Floats
from ..errors import NotLearned

__all__ = ["DIGITS", "Span"]

DIGITS = 2.0**-46  # what a few sums and differences leave of a number's precision
LEAST = 1e-322  # and of numbers so small that floats lie apart as far as they are from zero


@dataclass(frozen=True, eq=False)
class Span:
    """low and high, with `+`, a zero (+∞, −∞) and a check of what is taken away.

    They are the ends of what was learned, exactly, until rows are forgotten; from then on they are outer bounds, since the
    row that was an end may have had equals.

    >>> a = Span(np.array([[0.0]]), np.array([[3.0]]))
    >>> (a + Span.zero(1, 1)).high.item(), a.most(np.array([[3.0]]), np.array([[1.5]])).item()  # that of 0, 1.5 and 3
    (3.0, 4.5)
    """

    low: Floats
    high: Floats
    weighted: bool = False  # whether rows may have counted for other than one

    @classmethod
    def zero(cls, n_classes: int, d: int) -> Span:
        """Of no rows."""
        return cls(np.full((n_classes, d), np.inf), np.full((n_classes, d), -np.inf))

    @classmethod
    def beside(cls, parts: list[Span | None]) -> Span | None:
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

    def taken(self, classes: NDArray[Any]) -> Span:
        """The span of some of the classes."""
        return Span(self.low[classes], self.high[classes], self.weighted)

    def columns(self, where: list[int]) -> Span:
        """The span of some of the columns."""
        return Span(self.low[:, where], self.high[:, where], self.weighted)

    def among(self, classes: NDArray[Any], n_classes: int) -> Span:
        """The same span among more classes: class c goes to `classes[c]`."""
        wide = Span.zero(n_classes, self.low.shape[1])
        wide.low[classes], wide.high[classes] = self.low, self.high
        return Span(wide.low, wide.high, self.weighted)
