"""How good a structure is: fit, less the length of its description. In nats; larger is better.

Symbols: m rows, N[π, x] rows with the parents of a node in configuration π and the node at x; r values of the node, q
configurations of its parents, |B| = Σ q(r − 1) parameters. A score is a sum over families, LL(B|D) − f·|B| or a posterior:

| name | family |
|---|---|
| "loglik" | Σ_π,x N ln N[π, x]/N[π], f = 0 |
| "aic" | f = 1 |
| "bic", "mdl" | f = ½ ln m |
| "bdeu" | Σ_π ln Γ(rα)/Γ(rα + N[π]) + Σ_x ln Γ(α + N[π, x])/Γ(α), α = ess/(q r) |
| "k2" | the same with α = 1 |
| "fnml" | Σ_π,x N ln N[π, x]/N[π] − Σ_π ln C(N[π], r), C the likelihood summed over all samples of that size |

The textbook's s(B|D) = f(θ)|B| − LL(B|D), which is to be small, is minus the first three. A row in which the node is
missing is left out of its family; a missing parent is one more value of it, so that all families of a node are judged by
the same rows.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real

import numpy as np

from ..arrays import Array, Floats
from ..errors import BadParameter, BadValue, did_you_mean, listed
from ..kernels import toggle_scores, value_bitmaps

SCORES = ("loglik", "aic", "bic", "mdl", "bdeu", "k2", "fnml")
EQUIVALENT = ("loglik", "aic", "bic", "mdl", "bdeu")  # structures of one equivalence class score alike
NARROW = 16  # columns of more states have no bitmaps
MOST_COUNTS = 1 << 24  # N ln N is looked up to here
EXACT_SUMS = 1000
LARGEST = sys.float_info.max
MOST_ESS = 1e100  # beyond it, or below 1/it, shares of it in the cells would leave the range of floats


def price_of(score: str, m: float) -> float | None:
    """f, the price of a parameter given m rows; None where a score is no likelihood less a price."""
    bic = 0.5 * math.log(max(m, 1.0))
    return {"loglik": 0.0, "aic": 1.0, "bic": bic, "mdl": bic}.get(score)


@dataclass(frozen=True, eq=False)
class Scored:
    """A coded table with a score: what a child with some parents is worth.

    `codes` is [column, row], of one narrow type; a code that is not below its column's size is missing.

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
            hint = did_you_mean(self.score, SCORES) or "."
            raise BadParameter(f"score is one of {listed(SCORES)}{hint} Got {self.score!r} instead.")
        if not isinstance(self.ess, Real) or not 0 < self.ess < math.inf:
            raise BadParameter(f"ess, the equivalent sample size, is a positive number. Got {self.ess!r} instead.")
        if not 1 / MOST_ESS <= self.ess <= MOST_ESS:
            raise BadParameter(f"ess is a number from {1 / MOST_ESS:g} to {MOST_ESS:g}. Got {self.ess!r} instead.")
        if self.d * self.m * (1 + math.log(max(self.m, 1.0))) > LARGEST:  # no score is larger
            raise BadValue(f"the sample weights sum to {self.m:g}: a score of so many rows overflows; rescale them")
        if self.score == "fnml" and self.x_log_x is None:
            raise BadParameter("score 'fnml' counts rows: weights are whole numbers, of 16 million rows at most")

    @property
    def d(self) -> int:
        """The number of columns."""
        return len(self.sizes)

    @cached_property
    def m(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(self.codes.shape[1] if self.weights is None else self.weights.sum())

    @cached_property
    def states(self) -> tuple[int, ...]:
        """The values of each column as a parent: one more where a cell is missing."""
        return tuple(s + bool((column >= s).any()) for s, column in zip(self.sizes, self.codes))

    @property
    def complete(self) -> bool:
        """Whether no cell is missing."""
        return self.states == self.sizes

    @cached_property
    def price(self) -> float | None:
        """f, the price of a parameter; None where a score is no likelihood less a price."""
        return price_of(self.score, self.m)

    @cached_property
    def how(self) -> tuple[str, float]:
        """What the kernels call the score, and its number."""
        return (self.score, self.ess) if self.price is None else ("penalised", self.price)

    @cached_property
    def x_log_x(self) -> Floats | None:
        """N ln N for N = 0 … m, where counts are whole."""
        if self.m > MOST_COUNTS or (self.weights is not None and (self.weights % 1).any()):
            return None
        n = np.arange(round(self.m) + 1, dtype=np.float64)
        return n * np.log(np.maximum(n, 1.0))

    @cached_property
    def bits(self) -> Array | None:
        """The rows of each value, a bit each."""
        return None if self.weights is not None else value_bitmaps(self.codes, self.states, self.n_jobs)

    @property
    def bytes(self) -> float:
        """What a search takes for the table: codes thrice, N ln N and regrets, a bit a value twice, rows in lists."""
        n, logs = self.codes.shape[1], 2 + len(set(self.sizes)) * (self.score == "fnml")
        bits = 0 if self.weights is not None else sum(s + 1 for s in self.sizes if s < NARROW) * n / 4
        return float(3 * self.codes.nbytes + bits + 32 * n + 8 * logs * min(self.m, MOST_COUNTS))

    @cached_property
    def _regrets(self) -> dict[int, Floats]:
        return {}

    def regret(self, r: int) -> Floats:
        """ln C(N, r) for N = 0 … m."""
        if r not in self._regrets:
            self._regrets[r] = log_regret(round(self.m), r)
        return self._regrets[r]

    @property
    def by_likelihood(self) -> Scored:
        """The same with the likelihood alone as its score."""
        return replace(self, score="loglik")

    def taking(self, columns: Sequence[int]) -> Scored:
        """The same with its columns in another order."""
        return replace(self, codes=self.codes[list(columns)], sizes=tuple(self.sizes[j] for j in columns))

    def toggles(self, child: int, parents: Sequence[int], candidates: Sequence[int]) -> Floats:
        """The score of a child with `parents`, then with each candidate added to them, or taken away if it is one."""
        return toggle_scores(
            self.codes,
            self.sizes,
            child,
            parents,
            candidates,
            *self.how,
            self.weights,
            states=self.states,
            x_log_x=self.x_log_x,
            regret=self.regret(self.sizes[child]) if self.score == "fnml" else None,
            bits=self.bits,
            n_jobs=self.n_jobs,
        )

    def family(self, child: int, parents: Sequence[int]) -> float:
        """The score of one family."""
        return float(self.toggles(child, sorted(parents), ())[0])

    def whole(self, parents: Sequence[Sequence[int]]) -> float:
        """The score of a structure: the sum of its families."""
        return math.fsum(self.family(child, some) for child, some in enumerate(parents))


def log_regret(n: int, r: int) -> Floats:
    """ln C(N, r) for N = 0 … n: the likelihoods of all samples of N draws of r values, each at its own best θ, summed.

    C(N, 1) = 1; C(N, 2) = Σ_k N!/((N − k)! N^k); C(N, r + 2) = C(N, r + 1) + (N/r) C(N, r).

    >>> np.exp(log_regret(2, 3)).round(6).tolist()  # of two draws of three values: 3 alike, 6 of ¼ each
    [1.0, 3.0, 4.5]
    """
    size = np.arange(n + 1, dtype=np.float64)
    before, now = np.ones(n + 1), _two_values(size)
    scale = np.zeros(n + 1)  # so that many values do not overflow
    for k in range(2, r):
        before, now = now, now + size / (k - 1) * before
        large = np.where(now > 1e200, 1e-200, 1.0)
        before, now, scale = before * large, now * large, scale - np.log(large)
    return scale + np.log(before if r < 2 else now)


def _two_values(size: Floats) -> Floats:
    """C(N, 2) = 1 + Q(N), Q of Ramanujan: its sum, and from 1000 on its expansion, by then right to the last digits."""
    out = np.ones(len(size))
    few = size[1:EXACT_SUMS]
    term = np.ones(len(few))
    for k in range(len(few)):
        term = term * np.maximum(few - k, 0.0) / few
        out[1 : 1 + len(few)] += term
        if term.max() < 1e-17:
            break
    n = size[EXACT_SUMS:]
    root = np.sqrt(np.pi / (2 * np.maximum(n, 1.0)))
    even = n + 1 / 12 + 1 / (288 * n) - 139 / (51840 * n**2)
    out[EXACT_SUMS:] = 1 + root * even - 1 / 3 - 4 / (135 * n) + 8 / (2835 * n**2) + 16 / (8505 * n**3)
    return out
