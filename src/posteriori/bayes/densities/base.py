"""What a density is: some columns of the table, and log P(x|y) of their cells."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ...arrays import Array, Floats
from ...errors import BadValue
from ...table.encode import Seen
from ...table.frame import Frame
from ...table.schema import Schema

MOST = 1e18  # the largest mean that a 64-bit count can be drawn about, with room for its spread


class Density(Protocol):
    """log P(x_j | y) of the columns `where`; K classes."""

    where: list[int]

    def add_to(self, start: Floats, frame: Frame, seen: Seen, n_jobs: int | None) -> Floats:
        """start + Σ_j log P(x_j|y), shape (n, K); `start` is (K,) or (n, K)."""

    def parts(self, frame: Frame) -> Floats:
        """log P(x_j|y) of each column alone, shape (n, len(where), K)."""

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        """A cell for each column of `where` and each class of y: the model run forwards."""

    def tables(self, schema: Schema) -> dict[str, Any]:
        """What the model knows of each column, as plain data: {column: {row label: values by class}}."""

    def information(self, prior: Floats) -> Floats:
        """I(X_j; Y) in nats under the model, for each column of `where`."""


def drawn_counts(mean: Floats, rng: np.random.Generator) -> Array:
    """Poisson draws about these means, which must be numbers that can be counted to."""
    if (mean > MOST).any():
        raise BadValue(f"counts can be drawn about means up to {MOST:.0e}. Got {float(mean.max()):.3g} instead.")
    return rng.poisson(mean)


def mutual_information(joint: Floats) -> float:
    """I(X;Y) = Σ P(x,y) ln[P(x,y)/(P(x)P(y))] of a table of joint weights; 0 ln 0 = 0.

    >>> round(mutual_information(np.array([[1.0, 0.0], [0.0, 1.0]])), 4)  # ln 2
    0.6931
    """
    total = joint.sum()
    if total <= 0:
        return 0.0
    p = joint / total
    outer = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    live = (p > 0) & (outer > 0)  # far out a product is nothing before its factors are
    return max(float((p[live] * np.log(p[live] / outer[live])).sum()), 0.0)


def gauss_points(ends: Floats) -> tuple[Floats, Floats]:
    """(points, weights) of Gauss and Legendre's rule of four between rising ends.

    >>> x, w = gauss_points(np.array([0.0, 1.0, 3.0]))
    >>> round(float(w @ x**7), 9)  # 3⁸/8
    820.125
    """
    at, share = np.polynomial.legendre.leggauss(4)
    half = np.diff(ends)[:, None] / 2
    return (ends[:-1, None] + half * (1 + at)).ravel(), (half * share).ravel()
