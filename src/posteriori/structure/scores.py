"""How good a structure is: fit, less the length of its description. Larger is better.

Symbols: m rows, N[π, x] rows with the parents of a node in configuration π and the node at x; r values of the node, q
configurations of its parents, |B| = Σ q(r − 1) parameters. A score is a sum over families, LL(B|D) − f·|B| or a posterior:

| name | family |
|---|---|
| "loglik" | Σ_π,x N ln N[π, x]/N[π], f = 0 |
| "aic" | f = 1 |
| "bic", "mdl" | f = ½ ln m |
| "bdeu" | Σ_π ln Γ(rα)/Γ(rα + N[π]) + Σ_x ln Γ(α + N[π, x])/Γ(α), α = ess/(q r) |
| "k2" | the same with α = 1 |

The textbook's s(B|D) = f(θ)|B| − LL(B|D), which is to be small, is minus the first three.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np

from ..arrays import Array, Floats
from ..errors import BadParameter, did_you_mean, listed
from ..kernels.pairs import toggle_scores

SCORES = ("loglik", "aic", "bic", "mdl", "bdeu", "k2")


@dataclass(frozen=True, eq=False)
class Scored:
    """A coded table with a score: what a child with some parents is worth.

    `codes` is [column, row], of one narrow type; a code that is not below its column's size is missing, and leaves the row
    out of the families of that column.

    >>> table = Scored(np.array([[0, 0, 1, 1], [0, 0, 1, 0]], np.uint8), (2, 2), "aic")
    >>> round(table.family(1, ()), 4), round(table.family(1, (0,)), 4)
    (-3.2493, -3.3863)
    """

    codes: Array
    sizes: tuple[int, ...]
    score: str = "bic"
    ess: float = 1.0
    weights: Floats | None = None
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.score, str) or self.score not in SCORES:
            hint = did_you_mean(self.score, SCORES)
            raise BadParameter(f"score is one of {listed(SCORES)}{hint} Got {self.score!r} instead.")
        if not isinstance(self.ess, Real) or not 0 < self.ess < math.inf:
            raise BadParameter(f"ess, the equivalent sample size, is a positive number. Got {self.ess!r} instead.")

    @cached_property
    def _how(self) -> tuple[str, float]:
        m = self.codes.shape[1] if self.weights is None else float(self.weights.sum())
        price = {"loglik": 0.0, "aic": 1.0, "bic": 0.5 * math.log(max(m, 1)), "mdl": 0.5 * math.log(max(m, 1))}
        return ("penalised", price[self.score]) if self.score in price else (self.score, self.ess)

    @cached_property
    def _x_log_x(self) -> Floats | None:
        if self.weights is not None or self._how[0] != "penalised":
            return None
        n = np.arange(self.codes.shape[1] + 1, dtype=np.float64)
        return n * np.log(np.maximum(n, 1.0))

    def toggles(self, child: int, parents: Sequence[int], candidates: Sequence[int]) -> Floats:
        """The score of a child with `parents`, then with each candidate added to them, or taken away if it is one."""
        return toggle_scores(
            self.codes,
            self.sizes,
            child,
            parents,
            candidates,
            *self._how,
            weights=self.weights,
            x_log_x=self._x_log_x,
            n_jobs=self.n_jobs,
        )

    def family(self, child: int, parents: Sequence[int]) -> float:
        """The score of one family."""
        return float(self.toggles(child, sorted(parents), ())[0])

    def whole(self, parents: Sequence[Sequence[int]]) -> float:
        """The score of a structure: the sum of its families."""
        return math.fsum(self.family(child, some) for child, some in enumerate(parents))
