"""Waves of a kernel: features whose products are, in the mean of their draws, an RBF kernel's values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..blas import one_thread

__all__ = ["WAVES", "Waves"]

WAVES = 256


@dataclass(frozen=True, eq=False)
class Waves:
    """√2 cos(ωᵀz + φ), ω ~ N(0, 2/v), φ ~ U(0, 2π): of two points the mean product is exp(−‖z − z'‖²/v).

    v is twice the sum of the points' variances: the mean of ‖z − z'‖² over pairs of rows (Rahimi and Recht, 2007).

    >>> waves = Waves.draw(2, 4.0, np.random.default_rng(0), 20_000)
    >>> a, b = waves(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> round(float(a @ b) / 20_000, 1), round(float(np.exp(-2 / 4)), 1)
    (0.6, 0.6)
    """

    omega: Floats  # [coordinate, wave]
    phase: Floats

    @classmethod
    def draw(cls, size: int, v: float, rng: np.random.Generator, count: int = WAVES) -> Waves:
        """As many as `count`, of points of `size` coordinates."""
        width = np.sqrt(2.0 / v) if v > 0 else 0.0
        return cls(rng.normal(0.0, 1.0, (size, count)) * width, rng.uniform(0.0, 2 * np.pi, count))

    def __call__(self, Z: Floats) -> Floats:
        """The waves at these points."""
        with one_thread(0):
            out = Z @ self.omega
        out += self.phase
        np.cos(out, out=out)
        out *= np.sqrt(2.0)
        return np.asarray(out)
