"""A discrete network as numbers: what the inference engines work on; names and states live in the object above.

Symbols: v a node (its index), r_v its number of states, pa(v) its parents, θ_v its table, flat and C-contiguous: the axes
are pa(v) in the order of `parents[v]`, then v itself. λ_v is the likelihood vector of a finding on v, of length r_v:
one-hot for "v is in this state", 0/1 for "v is not in these states", any non-negative numbers for a soft finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..errors import listed

Likelihoods = Mapping[int, Floats]


@dataclass(frozen=True)
class Discrete:
    """P(x) = Π_v θ_v[x_pa(v), x_v]: sizes, parents and tables, already known to be valid (acyclic, rows sum to one).

    >>> coin = Discrete((2, 2), ((), (0,)), (np.array([0.5, 0.5]), np.array([0.9, 0.1, 0.2, 0.8])))
    >>> len(coin)
    2
    """

    sizes: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    tables: tuple[Floats, ...]
    names: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
        parents: Sequence[Sequence[int]],
        tables: Sequence[ArrayLike],
        names: Sequence[str] = (),
    ) -> Discrete:
        """From tables of any shape whose rows sum to one as far as a file's digits go: rows are divided by their sum.

        Engines drop what sums to one (barren nodes); on rows that are 1e-7 off they would disagree by as much.

        >>> Discrete.of([2], [()], [[[1, 3]]]).tables[0].tolist()
        [0.25, 0.75]
        """
        flat = []
        for size, table in zip(sizes, tables, strict=True):
            rows = np.array(table, dtype=np.float64).reshape(-1, size)
            flat.append(np.ascontiguousarray(rows / rows.sum(axis=1, keepdims=True)).ravel())
        families = tuple(tuple(int(p) for p in ps) for ps in parents)
        return cls(tuple(int(s) for s in sizes), families, tuple(flat), tuple(names))

    def called(self, nodes: Iterable[int]) -> str:
        """Nodes for a message: their names where they have any."""
        return listed(self.names[v] if self.names else v for v in sorted(nodes))

    def __len__(self) -> int:
        return len(self.sizes)


def one_hot(size: int, state: int) -> Floats:
    """The likelihood vector of a hard finding: 1 at the state, 0 elsewhere.

    >>> one_hot(3, 1).tolist()
    [0.0, 1.0, 0.0]
    """
    vector = np.zeros(size)
    vector[state] = 1.0
    return vector
