"""What a pool has learned: its parts, and the exponents by which their answers are multiplied."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, Floats
from ..bayes.ridge import BLOCK, Linear
from ..kernels.trees import Codes, MemberCounts, Members, Trees
from ..margin.landmarks import Landmarks
from ..statistics.cuts import Cuts
from ..table.frame import Frame
from ..table.schema import Schema
from .coding import Coding
from .points import Points
from .pool import pooled
from .rounds import Rounds

__all__ = ["Pool", "PoolPart"]


@dataclass(frozen=True)
class PoolPart:
    """A row of a pool's table: what it is, its log loss on rows that it has not seen, its exponent, seconds, a note.

    The loss is NaN where the part was not made, and the note says why.
    """

    part: str
    loss: float
    exponent: float
    seconds: float
    note: str = ""


@dataclass(frozen=True, eq=False)
class Pool:
    """Parts that count for something, by name, with the exponents of each and, last, of the prior π_y = n_y/n; and ε."""

    coding: Coding
    schema: Schema
    names: tuple[str, ...]
    prior: Floats
    exponents: Floats
    noise: float
    trees: Trees | None = None
    concentration: float = 1.0
    members: MemberCounts | Members | None = None  # tables alone in files of an older format
    rounds: Rounds | None = None
    points: Points | None = None
    linear: Linear | None = None
    landmarks: Landmarks | None = None
    curved: Linear | None = None

    @property
    def cuts(self) -> Cuts:
        """Where numbers are cut, at most."""
        return self.coding.cuts

    def posterior(self, frame: Frame, codes: Codes, n_jobs: int | None) -> Floats:
        """P(y|x); `codes` are those of the frame, in which cells may have been left out."""
        n, K = codes.n, len(self.prior)
        said = {name: np.empty((n, K)) for name in self.names}
        if self.trees is not None:
            said["trees"] = self.trees.sums(codes, self.concentration, n_jobs=n_jobs)[0] / len(self.trees)
        if self.members is not None:
            said["members"] = self.members.sums(codes, n_jobs=n_jobs)[0] / len(self.members)
        if self.rounds is not None:
            said["boosted"] = self.rounds.posterior(codes, n_jobs)
        if self.points is not None:
            widest = max(1, self.points.size, 0 if self.landmarks is None else len(self.landmarks.at))
            step = max(1, BLOCK // widest)
            for at in range(0, n, step):
                rows = np.arange(at, min(n, at + step)) if n > step else None
                self._linear(said, self.points(frame, codes, rows), slice(at, at + step))
        return pooled([said[name] for name in self.names], self.prior, self.exponents, n_jobs, self.noise)

    def _linear(self, said: dict[str, Array], Z: Floats, rows: slice) -> None:
        if self.linear is not None:
            said["linear"][rows] = self.linear.posterior(Z)
        if self.curved is not None and self.landmarks is not None:
            said["kernel"][rows] = self.curved.posterior(self.landmarks(Z))
