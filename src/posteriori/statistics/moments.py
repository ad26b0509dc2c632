"""Moments: how many, where, how wide; and the same for several columns together.

Symbols: n = Σw, mean = Σwx/n, M2 = Σw(x − mean)²; shapes (K, d), a row per class, a column per attribute.
Merging is Chan's formula, which never subtracts large sums from each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..errors import NotLearned, StatisticsError

ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Moments:
    """n, mean and M2 of each attribute within each class, with `+`, `-`, a zero and a scale.

    `-` restores M2 up to the rounding of the M2 that was there: forgetting one value of 1e9 leaves no fine structure.

    >>> a = Moments(np.array([[2.0]]), np.array([[1.0]]), np.array([[2.0]]))
    >>> (a + a).n.item(), (a + a).mean.item(), (a + a - a).m2.item()
    (4.0, 1.0, 2.0)
    """

    n: Floats
    mean: Floats
    m2: Floats

    @classmethod
    def zero(cls, n_classes: int, d: int) -> Moments:
        """No rows at all."""
        return cls(*(np.zeros((n_classes, d)) for _ in range(3)))

    def variance(self, ddof: float = 0.0) -> Floats:
        """M2/(n − ddof); 0 where there are not enough rows."""
        room = self.n - ddof
        return np.divide(self.m2, room, out=np.zeros_like(self.m2), where=room > 0)

    def pooled(self) -> Moments:
        """The moments of all classes together, shape (1, d)."""
        total = Moments.zero(1, self.n.shape[1])
        for c in range(len(self.n)):
            total = total + Moments(self.n[c : c + 1], self.mean[c : c + 1], self.m2[c : c + 1])
        return total

    def __add__(self, other: Moments) -> Moments:
        _same_shape(self.mean, other.mean)
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)  # zero + zero is zero
        gap = other.mean - self.mean
        return Moments(n, self.mean + gap * share, self.m2 + other.m2 + gap * gap * (self.n * share))

    def __sub__(self, other: Moments) -> Moments:
        _same_shape(self.mean, other.mean)
        n = take_away(self.n, other.n)
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)
        mean = np.where(n > 0, self.mean + (self.mean - other.mean) * share, 0.0)
        gap = other.mean - mean
        m2 = self.m2 - other.m2 - gap * gap * np.divide(n * other.n, self.n, out=np.zeros_like(n), where=self.n > 0)
        if (m2 < -1e-6 * np.maximum(self.m2, 1e-300)).any():
            raise NotLearned("these rows were not all learned: a variance would become negative; nothing was changed")
        noise = 16 * np.finfo(float).eps * self.m2  # what a difference of M2 can know
        return Moments(n, mean, np.where((n > 0) & (m2 > noise), m2, 0.0))

    def scaled(self, factor: float) -> Moments:
        """Every row counts `factor` times (decay)."""
        return Moments(self.n * factor, self.mean, self.m2 * factor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Moments) and all(
            np.array_equal(a, b) for a, b in zip((self.n, self.mean, self.m2), (other.n, other.mean, other.m2))
        )

    __hash__ = None  # type: ignore[assignment]

    def taken(self, classes: NDArray[Any]) -> Moments:
        """The moments of some of the classes."""
        return Moments(self.n[classes], self.mean[classes], self.m2[classes])

    def among(self, classes: NDArray[Any], n_classes: int) -> Moments:
        """The same moments among more classes: class c goes to `classes[c]`."""
        out = Moments.zero(n_classes, self.n.shape[1])
        for whole, part in zip((out.n, out.mean, out.m2), (self.n, self.mean, self.m2)):
            whole[classes] = part
        return out


@dataclass(frozen=True, eq=False)
class CoMoments:
    """n (K,), mean (K, d) and C = Σw(x − mean)(x − mean)ᵀ (K, d, d) of each class, with `+`, `-`, a zero and a scale."""

    n: Floats
    mean: Floats
    c: Floats

    @classmethod
    def zero(cls, n_classes: int, d: int) -> CoMoments:
        """No rows at all."""
        return cls(np.zeros(n_classes), np.zeros((n_classes, d)), np.zeros((n_classes, d, d)))

    def __add__(self, other: CoMoments) -> CoMoments:
        _same_shape(self.mean, other.mean)
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)
        gap = other.mean - self.mean
        outer = gap[:, :, None] * gap[:, None, :] * (self.n * share)[:, None, None]
        return CoMoments(n, self.mean + gap * share[:, None], self.c + other.c + outer)

    def __sub__(self, other: CoMoments) -> CoMoments:
        _same_shape(self.mean, other.mean)
        n = take_away(self.n, other.n)
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)[:, None]
        mean = np.where(n[:, None] > 0, self.mean + (self.mean - other.mean) * share, 0.0)
        gap = other.mean - mean
        weight = np.divide(n * other.n, self.n, out=np.zeros_like(n), where=self.n > 0)
        c = self.c - other.c - gap[:, :, None] * gap[:, None, :] * weight[:, None, None]
        before, after = (np.diagonal(m, axis1=1, axis2=2) for m in (self.c, c))
        if (after < -1e-6 * np.maximum(before, 1e-300)).any():
            raise NotLearned("these rows were not all learned: a variance would become negative; nothing was changed")
        return CoMoments(n, mean, np.where(n[:, None, None] > 0, c, 0.0))

    def scaled(self, factor: float) -> CoMoments:
        """Every row counts `factor` times (decay)."""
        return CoMoments(self.n * factor, self.mean, self.c * factor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CoMoments) and all(
            np.array_equal(a, b) for a, b in zip((self.n, self.mean, self.c), (other.n, other.mean, other.c))
        )

    __hash__ = None  # type: ignore[assignment]

    def taken(self, classes: NDArray[Any]) -> CoMoments:
        """The co-moments of some of the classes."""
        return CoMoments(self.n[classes], self.mean[classes], self.c[classes])

    def among(self, classes: NDArray[Any], n_classes: int) -> CoMoments:
        """The same co-moments among more classes: class c goes to `classes[c]`."""
        out = CoMoments.zero(n_classes, self.mean.shape[1])
        for whole, part in zip((out.n, out.mean, out.c), (self.n, self.mean, self.c)):
            whole[classes] = part
        return out


def take_away(n: Floats, less: Floats) -> Floats:
    """n − less, refused where it would be negative; what is left of rounding is zero."""
    left = n - less
    left = np.where(np.abs(left) <= ROUNDING * np.maximum(n, less), 0.0, left)
    if (left < 0).any():
        raise NotLearned("these rows were not all learned: a number of rows would become negative; nothing was changed")
    return left


def _same_shape(a: Floats, b: Floats) -> None:
    if a.shape != b.shape:
        raise StatisticsError(f"moments of {a.shape} and {b.shape} classes × attributes cannot be added")
