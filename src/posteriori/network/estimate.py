"""Estimate: what sampling answers, with how far it may be off."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = dict[str, dict[Hashable, float]]


@dataclass(frozen=True)
class Estimate:
    """P(x_i | e) of every node by sampling: {node: {state: …}}.

    `error` bounds |estimate − truth| of all of them at once with 99% confidence, as far as the sample can tell; `ess` is
    the number of independent draws that would know as much. Gibbs tells `r_hat`, the spread between chains against the
    spread inside them (1 when they agree), and `blocks`, the nodes it drew together; likelihood weighting tells
    `log_probability`, an estimate of ln P(e).
    """

    marginals: Table
    error: Table
    ess: Table
    draws: int
    r_hat: Table | None = None
    blocks: tuple[tuple[str, ...], ...] = ()
    log_probability: float | None = None

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
        return str(self.to_frame().to_html(index=False))


def named(
    nodes: Sequence[str], states: dict[str, tuple[Hashable, ...]], values: Sequence[NDArray[np.float64]]
) -> Table:
    """One array a node, told by name and state."""
    return {n: dict(zip(states[n], v.tolist(), strict=True)) for n, v in zip(nodes, values, strict=True)}
