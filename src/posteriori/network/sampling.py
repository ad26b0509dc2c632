"""What the samplers share: seeds that do not depend on threads, averages that know their error, and the answer."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from .. import views
from ..arrays import Codes, Floats, is_whole
from ..errors import BadValue
from ..estimator import generator
from .says import case_table

RandomState = int | np.random.Generator | np.random.RandomState | np.random.SeedSequence | None
CONFIDENCE = 0.99
ByState = dict[str, dict[Hashable, float]]


def seeds(random_state: RandomState, n: int) -> NDArray[np.uint64]:
    """n seeds for n streams; an int gives the same ones every time.

    >>> bool((seeds(7, 3) == seeds(7, 3)).all())
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(0, 2**64, n, dtype=np.uint64)
    if isinstance(random_state, np.random.RandomState):
        return np.frombuffer(random_state.bytes(8 * n), np.uint64)
    sequence: Any = generator(random_state).bit_generator.seed_seq
    return np.asarray(sequence.generate_state(n, np.uint64), np.uint64)


@dataclass(frozen=True, eq=False)
class Sampled:
    """Marginals by sampling. `error` bounds |estimate − truth| of all of them at once with 99% confidence, as far as the
    sample can tell; `ess` is the number of independent draws that would know as much.

    Gibbs chains add R̂, the spread between chains against the spread inside them (1 when they agree), the blocks they drew
    and where they ended; weighted cases add an estimate of log P(e) and its standard error.
    """

    marginals: list[Floats]
    error: list[Floats]
    ess: list[Floats]
    draws: int
    r_hat: list[Floats] | None = None
    blocks: tuple[tuple[int, ...], ...] = ()
    states: Codes | None = None
    log_probability: float | None = None
    log_error: float | None = None
    chain: Codes | None = None

    @property
    def worst_error(self) -> float:
        """The largest stated error."""
        return max((float(e.max()) for e in self.error), default=0.0)

    @property
    def worst_r_hat(self) -> float:
        """The largest R̂; 1 where there are no chains."""
        return max((float(r.max()) for r in self.r_hat or ()), default=1.0)

    def named(self, states: Mapping[str, tuple[Hashable, ...]]) -> Estimate:
        """The same by node and state."""
        nodes = tuple(states)

        def told(values: list[Floats]) -> ByState:
            return {n: dict(zip(states[n], v.tolist(), strict=True)) for n, v in zip(nodes, values, strict=True)}

        return Estimate(
            told(self.marginals),
            told(self.error),
            told(self.ess),
            self.draws,
            None if self.r_hat is None else told(self.r_hat),
            tuple(tuple(nodes[v] for v in block) for block in self.blocks),
            self.log_probability,
            None if self.chain is None else self._table(states),
        )

    def _table(self, states: Mapping[str, tuple[Hashable, ...]]) -> Any:
        import pandas as pd

        assert self.chain is not None
        found = case_table(self.chain.reshape(-1, self.chain.shape[2]), states)
        chain, sweep = (range(k) for k in self.chain.shape[:2])
        return found.set_index(pd.MultiIndex.from_product([chain, sweep], names=["chain", "sweep"]))


@dataclass(frozen=True)
class Estimate:
    """P(x_i | e) of every node by sampling: {node: {state: …}}.

    `error` bounds |estimate − truth| of all of them at once with 99% confidence, as far as the sample can tell; `ess` is
    the number of independent draws that would know as much. Gibbs tells `r_hat`, the spread between chains against the
    spread inside them (1 when they agree), `blocks`, the nodes it drew together, and, where it was told to keep them, the
    states after each sweep (`chain`, a pandas table by chain and sweep); likelihood weighting tells `log_probability`, an
    estimate of ln P(e).
    """

    marginals: ByState
    error: ByState
    ess: ByState
    draws: int
    r_hat: ByState | None = None
    blocks: tuple[tuple[str, ...], ...] = ()
    log_probability: float | None = None
    chain: Any = None

    @property
    def worst_error(self) -> float:
        """The largest stated error."""
        return max(e for row in self.error.values() for e in row.values())

    @property
    def worst_r_hat(self) -> float:
        """The largest R̂; 1 where there are no chains."""
        return max((r for row in (self.r_hat or {}).values() for r in row.values()), default=1.0)

    def to_frame(self) -> Any:
        """A pandas table with a row for each node and state."""
        import pandas as pd

        parts = {"p": self.marginals, "error": self.error, "ess": self.ess}
        if self.r_hat is not None:
            parts["r_hat"] = self.r_hat
        rows = [(node, state) for node, row in self.marginals.items() for state in row]
        columns = {name: [table[node][state] for node, state in rows] for name, table in parts.items()}
        return pd.DataFrame({"node": [r[0] for r in rows], "state": [r[1] for r in rows], **columns})

    def _repr_html_(self) -> str:
        return views.html("a frame", self)


def at_least(name: str, value: Any, least: int) -> int:
    """A whole number that is not too small; anything else is refused by name.

    >>> at_least("draws", np.int64(7), 2)
    7
    """
    if not is_whole(value, least):
        raise BadValue(f"{name}={value!r}: expected a whole number of at least {least}")
    return int(value)


def half_width(mean: Floats, standard_error: Floats, degrees: float, estimates: int) -> Floats:
    """t·SE, and at least the longer arm of Wilson's interval, for `estimates` shares that hold together with 99%.

    Wilson holds a truth q where |p − q| ≤ t·√(q(1 − q)/n), n = p(1 − p)/SE² the draws that p is worth: no wider than t·SE
    where many draws showed the state, wider where few did, of which the SE knows too little. All hold: Bonferroni.

    >>> half_width(np.array([0.5, 1e-3]), np.array([0.005, 1e-3 / 3]), 1e6, 1).round(4).tolist()
    [0.0129, 0.0013]
    """
    t = -stdtrit(degrees, (1 - CONFIDENCE) / (2 * max(estimates, 1)))
    both = mean * (1 - mean)
    worth = t**2 * np.divide(standard_error**2, both, out=np.zeros_like(both), where=both > 0)  # t²/n
    arm = (worth * np.abs(0.5 - mean) + t * np.hypot(standard_error, worth / (2 * t))) / (1 + worth)
    width: Floats = np.maximum(arm, t * standard_error)
    return width


def effective(mean: Floats, standard_error: Floats, draws: int) -> Floats:
    """p(1−p)/SE²: how many independent draws would have this error; at most the draws there were.

    >>> effective(np.array([0.5, 1.0]), np.array([0.05, 0.0]), 1000).round().tolist()
    [100.0, 1000.0]
    """
    certain = standard_error < 1e-12
    return np.minimum(np.where(certain, draws, mean * (1 - mean) / np.where(certain, 1.0, standard_error) ** 2), draws)


def unseen(draws: float, estimates: int) -> float:
    """The least p that `draws` independent draws would have shown at least once: e^{−p·draws} = the error allowed.

    >>> round(unseen(1000, 1), 4)
    0.0046
    """
    return float(np.log(max(estimates, 1) / (1 - CONFIDENCE)) / max(draws, 1.0))


def batch_error(means: Floats) -> tuple[Floats, Floats, Floats]:
    """(mean, standard error, R̂) of an average from its batch means (chains, batches, k).

    The variance of the mean is (γ_0 + 2 Σ_t γ_t) / (chains·batches), γ_t the autocovariance of batch means around the mean
    of all chains, summed while γ_t + γ_{t+1} stays positive (Geyer). Chains that disagree make γ_t stay large.
    """
    chains, batches, k = means.shape
    mean = means.mean(axis=(0, 1))
    gap = means - mean
    gamma = np.stack([(gap[:, : batches - t] * gap[:, t:]).sum(axis=(0, 1)) for t in range(batches // 2)])
    gamma /= chains * batches
    pairs = gamma[1 : 1 + (len(gamma) - 1) // 2 * 2].reshape(-1, 2, k).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    variance = gamma[0] + 2 * np.where(positive, pairs, 0.0).sum(axis=0)
    variance *= chains * batches / (chains * batches - 1)
    within = means.var(axis=1, ddof=1).mean(axis=0)
    between = means.mean(axis=1).var(axis=0, ddof=1) if chains > 1 else np.zeros(k)
    tiny = np.finfo(float).tiny
    r_hat = np.sqrt((batches - 1) / batches + between / np.maximum(within, tiny))
    r_hat = np.where(between + within < 1e-30, 1.0, r_hat)
    return mean, np.sqrt(variance / (chains * batches)), r_hat
