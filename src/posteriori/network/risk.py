"""The least risk that any classifier of a node can have.

Symbols: T the target with states y, x the states of the observed nodes O, a an action, λ[a, y] the loss.

    R* = Σ_x min_a Σ_y λ[a, y] P(x, y)

Only observed nodes that T is not separated from by the others matter: with all nodes observed, its Markov blanket.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..budget import refuse_over
from ..errors import BadValue, LossError, MemoryBudgetError, listed
from .elimination import case_posteriors, eliminate, requisite
from .junction import JunctionTree
from .numbers import Numbers
from .sampling import RandomState, at_least
from .weighting import forward_sample


def exact_risk(
    model: Numbers, target: int, loss: ArrayLike, observed: Sequence[int] | None = None, max_memory: float | None = None
) -> float:
    """Σ_x min_a Σ_y λ[a, y] P(x, y) by enumerating the observed nodes that matter (all but the target where not given).

    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> round(exact_risk(rain, 0, 1 - np.eye(2)), 4)  # rain is the likelier only with state 1: 0.06 + 0.08
    0.14
    """
    matrix = _checked(model, target, loss)
    _, seen = _requisite(model, target, observed)
    refuse_over(
        max_memory,
        16.0 * model.sizes[target] * math.prod(float(model.sizes[v]) for v in seen),
        f"exact risk by enumerating {len(seen)} nodes ({model.called(seen)})",
        "estimate it from sampled cases (sampled_bayes_risk), observe fewer nodes",
    )
    joint, _ = eliminate(model, [*seen, target], {}, max_memory)
    return float((joint.reshape(-1, model.sizes[target]) @ matrix.T).min(axis=1).sum())


def sampled_risk(
    model: Numbers,
    target: int,
    loss: ArrayLike,
    observed: Sequence[int] | None = None,
    draws: int = 10_000,
    random_state: RandomState = None,
    max_memory: float | None = None,
) -> tuple[float, float]:
    """(mean of min_a Σ_y λ[a, y] P(y | x) over sampled cases x, its standard error).

    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> risk, error = sampled_risk(rain, 0, 1 - np.eye(2), random_state=0)
    >>> bool(abs(risk - 0.14) < 4 * error)
    True
    """
    matrix = _checked(model, target, loss)
    draws = at_least("draws", draws, 2)
    needed, seen = _requisite(model, target, observed)
    cases, times = np.unique(forward_sample(model, draws, random_state)[:, seen], axis=0, return_counts=True)
    part, place = _part(model, needed, seen)
    known = np.full((len(cases), len(part)), -1, np.int32)
    known[:, [place[v] for v in seen]] = cases
    try:
        posterior = JunctionTree(part, max_memory).batch(known, [place[target]])[0]
    except MemoryBudgetError:
        posterior = case_posteriors(part, known, place[target], max_memory)
    least = (posterior @ matrix.T).min(axis=1)
    mean = float(least @ times / draws)
    return mean, math.sqrt(float((least - mean) ** 2 @ times) / (draws - 1) / draws)


def _part(model: Numbers, needed: Sequence[int], seen: Sequence[int]) -> tuple[Numbers, dict[int, int]]:
    """The network of some tables alone, and where its nodes stand; what is seen but has no table here is a root."""
    nodes = sorted({*needed, *seen})
    place, kept = {v: i for i, v in enumerate(nodes)}, set(needed)
    parents = [tuple(place[p] for p in model.parents[v]) if v in kept else () for v in nodes]
    tables = [model.tables[v] if v in kept else np.full(model.sizes[v], 1 / model.sizes[v]) for v in nodes]
    names = tuple(model.names[v] for v in nodes) if model.names else ()
    return Numbers(tuple(model.sizes[v] for v in nodes), tuple(parents), tuple(tables), names), place


def _requisite(model: Numbers, target: int, observed: Sequence[int] | None) -> tuple[list[int], list[int]]:
    """The nodes whose tables P(T | O) needs, and the observed ones (all but the target where not given) it depends on."""
    known = set(range(len(model))) - {target} if observed is None else set(observed) - {target}
    wrong = [v for v in known if not 0 <= v < len(model)]
    if wrong:
        raise BadValue(f"no nodes {listed(wrong)}: the network has nodes 0 … {len(model) - 1}")
    return requisite(model, [target], {v: np.empty(0) for v in known})


def _checked(model: Numbers, target: int, loss: ArrayLike) -> Floats:
    matrix = np.asarray(loss, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != model.sizes[target]:
        raise LossError(
            f"the loss has shape {matrix.shape}; expected (actions, {model.sizes[target]}), a column a state"
        )
    if not np.isfinite(matrix).all():
        raise LossError("the loss holds a value that is not finite")
    return matrix
