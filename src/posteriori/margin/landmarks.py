"""Landmarks of a kernel: rows whose neighbourhoods span the functions that an RBF kernel can make.

Symbols: z a point, L the landmarks, k(z, z') = exp(−‖z − z'‖²/v); k(L, L) = U S Uᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from ..arrays import Array, Floats
from ..blas import one_thread

__all__ = ["LANDMARKS", "Landmarks"]

LANDMARKS = 1024
LEAST = 1e-6  # of the largest of S, below which a direction is rounding


@dataclass(frozen=True, eq=False)
class Landmarks:
    """k(z, L) of a point. With R = U S^{-½} the products of φ(z) = k(z, L) R are the kernel itself between landmarks, and
    the nearest such products below it elsewhere (Nyström's method; Williams and Seeger, 2001).

    >>> L = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    >>> marks = Landmarks(L, 4.0)
    >>> phi = marks(L) @ marks.axes()
    >>> bool(np.allclose(phi @ phi.T, marks(L))), round(float(marks(L)[0, 1]), 3) == round(float(np.exp(-2 / 4)), 3)
    (True, True)
    """

    at: Array  # [landmark, coordinate], as float32: a file is half as long, and a landmark may lie anywhere near
    v: float

    @classmethod
    def draw(cls, points: Floats, v: float) -> Landmarks:
        """Of these points, each once; points that do not differ (v = 0) are one."""
        return cls(np.unique(points.astype(np.float32), axis=0), v if v > 0 else 1.0)

    def axes(self) -> Floats:
        """R, [landmark, direction]."""
        with one_thread(0):
            S, U = eigh(self(self.at))
            kept = LEAST * S[-1] < S
            return np.asarray(U[:, kept] / np.sqrt(S[kept]))

    def __call__(self, Z: Floats) -> Floats:
        """k(z, L) of each point."""
        at = self.at.astype(np.float64)
        with one_thread(0):
            gaps = Z @ at.T
        gaps *= -2.0
        gaps += np.square(Z).sum(axis=1)[:, None]
        gaps += np.square(at).sum(axis=1)
        np.maximum(gaps, 0.0, out=gaps)
        gaps /= -self.v
        return np.asarray(np.exp(gaps, out=gaps))
