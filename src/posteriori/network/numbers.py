"""A discrete network as numbers: what the inference engines work on; names and states live in the object above.

Symbols: v a node (its index), r_v its number of states, pa(v) its parents, θ_v its table, flat and C-contiguous: the axes
are pa(v) in the order of `parents[v]`, then v itself. λ_v is the likelihood vector of a finding on v, of length r_v:
one-hot for "v is in this state", 0/1 for "v is not in these states", any non-negative numbers for a soft finding. The
vectors are what `says.findings` made of evidence, or as legal: nothing here checks them again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Codes, Floats
from ..errors import ImpossibleEvidence, listed
from ..structure.separation import reversed_rows, topological

Likelihoods = Mapping[int, ArrayLike]


@dataclass(frozen=True, eq=False)
class Numbers:
    """P(x) = Π_v θ_v[x_pa(v), x_v]: sizes, parents and tables, already known to be valid (acyclic, rows sum to one).

    >>> coin = Numbers((2, 2), ((), (0,)), (np.array([0.5, 0.5]), np.array([0.9, 0.1, 0.2, 0.8])))
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
    ) -> Numbers:
        """From tables of any shape whose rows sum to one as far as a file's digits go: rows are divided by their sum.

        Engines drop what sums to one (barren nodes); on rows that are 1e-7 off they would disagree by as much.

        >>> Numbers.of([2], [()], [[[1, 3]]]).tables[0].tolist()
        [0.25, 0.75]
        """
        parts = [np.asarray(table, dtype=np.float64).ravel() for table in tables]
        lengths = [len(part) for part in parts]
        flat = np.concatenate(parts)
        flat /= np.repeat(row_sums(flat, sizes, lengths), np.repeat(sizes, np.floor_divide(lengths, sizes)))
        ends = np.cumsum(lengths).tolist()
        families = tuple(tuple(map(int, ps)) for ps in parents)
        return cls(tuple(map(int, sizes)), families, tuple(flat[a:b] for a, b in zip([0, *ends], ends)), tuple(names))

    @cached_property
    def order(self) -> list[int]:
        """The nodes, parents before children."""
        return topological(self.parents, self.children)

    @cached_property
    def children(self) -> list[list[int]]:
        """The nodes that have each node as a parent."""
        return reversed_rows(self.parents)

    def log_joint(self, cases: Codes) -> Floats:
        """ln P of rows without a missing cell: Σ_v ln θ[π_v, x_v]."""
        out = np.zeros(len(cases))
        with np.errstate(divide="ignore"):
            for v, (parents, table) in enumerate(zip(self.parents, self.tables)):
                at = np.zeros(len(cases), np.int64)
                for u in (*parents, v):
                    at = at * self.sizes[u] + cases[:, u]
                out += np.log(table)[at]
        return out

    def called(self, nodes: Iterable[int]) -> str:
        """Nodes for a message: their names where they have any."""
        return listed(self.names[v] if self.names else v for v in sorted(nodes))

    def __len__(self) -> int:
        return len(self.sizes)


def row_sums(flat: Floats, sizes: Sequence[int], lengths: Sequence[int]) -> Floats:
    """The sum of every row of tables that lie end to end: table v has rows of sizes[v] cells, lengths[v] cells in all.

    >>> row_sums(np.array([0.5, 0.5, 1.0, 2.0, 3.0]), [2, 3], [2, 3]).tolist()
    [1.0, 6.0]
    """
    widths = np.repeat(sizes, np.floor_divide(lengths, sizes))
    sums: Floats = np.add.reduceat(flat, np.cumsum(widths) - widths)
    return sums


def one_hot(size: int, state: int) -> Floats:
    """The likelihood vector of a hard finding: 1 at the state, 0 elsewhere.

    >>> one_hot(3, 1).tolist()
    [0.0, 1.0, 0.0]
    """
    vector = np.zeros(size)
    vector[state] = 1.0
    return vector


def vectors_of(likelihoods: Likelihoods) -> dict[int, Floats]:
    """The likelihood vectors as arrays of floats."""
    return {int(v): np.ascontiguousarray(x, dtype=np.float64) for v, x in likelihoods.items()}


def scaled(vectors: Mapping[int, Floats]) -> dict[int, Floats]:
    """λ / max λ of every vector that is not zero: products of these neither overflow nor vanish by their size alone.

    >>> scaled({0: np.array([1e160, 5e159]), 1: np.array([0.0, 5e-324])})
    {0: array([1. , 0.5]), 1: array([0., 1.])}
    """
    tops = {v: max(x.tolist()) for v, x in vectors.items()}
    return {v: x if tops[v] in (0.0, 1.0) else x / tops[v] for v, x in vectors.items()}


def log_scale(vectors: Mapping[int, Floats]) -> float:
    """Σ log max λ: what `scaled` took away, to be added wherever a logarithm is reported.

    >>> round(log_scale({0: np.array([0.0, 1e160]), 1: np.array([1e-160, 0.0])}), 12)
    0.0
    """
    tops = (max(x.tolist()) for x in vectors.values())
    return math.fsum(math.log(top) for top in tops if top not in (0.0, 1.0))


def packed(vectors: Mapping[int, Floats]) -> tuple[Codes, Floats]:
    """The nodes, and their vectors end to end: what the native kernels take."""
    values = np.concatenate(list(vectors.values())) if vectors else np.empty(0)
    return np.fromiter(vectors, np.int32, len(vectors)), values


def hard_states(vectors: Mapping[int, Floats]) -> dict[int, int]:
    """The state of every node whose finding leaves only one.

    >>> hard_states({3: np.array([0.0, 1.0]), 4: np.array([0.5, 1.0])})
    {3: 1}
    """
    return {v: int(x.argmax()) for v, x in vectors.items() if np.count_nonzero(x) == 1}


def fixed_states(model: Numbers, vectors: Mapping[int, Floats]) -> Codes:
    """The state of every node with a hard finding, −1 for the others."""
    fixed = np.full(len(model), -1, np.int32)
    for v, state in hard_states(vectors).items():
        fixed[v] = state
    return fixed


def impossible(vectors: Mapping[int, Floats], possible: Callable[[Mapping[int, Floats]], bool]) -> ImpossibleEvidence:
    """The error for evidence of probability zero, with a minimal conflicting set.

    Findings are taken out by blocks, each half the size of the last, and stay out where the rest is still impossible; the
    last blocks are single findings: what is left loses its conflict when any one of them goes.
    """
    core = dict(vectors)
    size = len(core) // 2
    while size > 1:  # about log₂ n tests find a small conflict in many findings
        core = _without_blocks(core, size, possible)
        size = min(size, len(core)) // 2
    core = _without_blocks(core, 1, possible)
    return ImpossibleEvidence(
        f"the evidence has probability zero: the findings on nodes {listed(core)} contradict each other or the tables; "
        f"take one of them out",
        core,
    )


def _without_blocks(
    core: dict[int, Floats], size: int, possible: Callable[[Mapping[int, Floats]], bool]
) -> dict[int, Floats]:
    """The findings less every block of `size` of them that the conflict does not need."""
    nodes = list(core)
    for start in range(0, len(nodes), size):
        block = set(nodes[start : start + size])
        rest = {u: x for u, x in core.items() if u not in block}
        if not possible(rest):
            core = rest
    return core
