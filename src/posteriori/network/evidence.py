"""Evidence below the object: likelihood vectors checked once, and the smallest set of findings that contradict."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Floats
from ..errors import BadValue, ImpossibleEvidence, UnknownValue, listed
from .model import Discrete


def checked(model: Discrete, likelihoods: Mapping[int, ArrayLike]) -> dict[int, Floats]:
    """The likelihood vectors as floats, by node; each finite, non-negative and as long as its node has states.

    >>> checked(Discrete((2,), ((),), (np.array([0.5, 0.5]),)), {0: [1, 0]})
    {0: array([1., 0.])}
    """
    vectors: dict[int, Floats] = {}
    for v, likelihood in likelihoods.items():
        if not 0 <= v < len(model):
            raise UnknownValue(f"no node {v}: the network has nodes 0 … {len(model) - 1}")
        vector = np.ascontiguousarray(likelihood, dtype=np.float64)
        if vector.shape != (model.sizes[v],):
            raise BadValue(f"the finding on node {v} has shape {vector.shape}; it has {model.sizes[v]} states")
        vectors[int(v)] = vector
    legal = _legal(vector) if len(vectors) == 1 else not vectors or _all_legal(np.concatenate(list(vectors.values())))
    if not legal:
        wrong = next(v for v, x in vectors.items() if not _legal(x))
        raise BadValue(f"the finding on node {wrong} is {vectors[wrong].tolist()}: likelihoods are finite and ≥ 0")
    return vectors


def _legal(vector: Floats) -> bool:
    return all(0.0 <= x < np.inf for x in vector.tolist())  # false for NaN too; a few numbers are faster without NumPy


def _all_legal(cells: Floats) -> bool:
    return bool(cells.min() >= 0 and cells.max() < np.inf)


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


def packed(vectors: Mapping[int, Floats]) -> tuple[NDArray[np.int32], Floats]:
    """The nodes, and their scaled vectors end to end: what the native kernels take."""
    values = np.concatenate(list(scaled(vectors).values())) if vectors else np.empty(0)
    return np.fromiter(vectors, np.int32, len(vectors)), values


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
