"""The best structure of all, by dynamic programming over sets of columns (Silander and Myllymäki).

Symbols: s(v | P) the score of node v with parents P. The last node of an order has parents among the others, so

    best(W) = max_{v ∈ W} best(W ∖ v) + max_{P ⊆ W ∖ v} s(v | P)

and a set of parents that does not beat all its subsets is never needed. Every score splits into sums over the cells of
P ∪ v and of P, so that 2^d sets are counted and not d·2^(d−1) families.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from ..arrays import Bools, Floats
from ..budget import refuse_over
from ..errors import BadParameter, InvalidNetwork, TableError
from ..kernels.families import best_network
from .climb import EQUAL
from .rules import Arrow, Rules
from .scores import Scored

MOST_NODES = 30


def exact(scored: Scored, rules: Rules, seconds: float = math.inf) -> list[Arrow] | None:
    """The arrows of a structure of greatest score, by child; of equal ones one of few parents. None if time runs out."""
    d = scored.d
    if d > MOST_NODES:
        raise TableError(f"method 'exact' takes at most {MOST_NODES} columns, got {d}: use 'hill-climb'")
    if not scored.complete:
        name = rules.names[next(j for j in range(d) if scored.states[j] > scored.sizes[j])]
        raise TableError(
            f"method 'exact' needs every cell; {name!r} has missing ones: leave them out, or use 'hill-climb'"
        )
    if scored.x_log_x is None:
        raise BadParameter("method 'exact' counts rows: weights are whole numbers, of 16 million rows at most")
    arities = sorted(set(scored.sizes)) if scored.score in ("k2", "fnml") else []
    cells = _cells(scored, arities)
    peak = 8.0 * 2**d * (len(cells) + 1 + 1) + cells.nbytes * (_products(scored.sizes) if scored.score == "bdeu" else 1)
    refuse_over(None, peak, f"method 'exact' on {d} columns", "use 'hill-climb' or fewer columns")
    rows = np.ones(scored.codes.shape[1]) if scored.weights is None else scored.weights
    some = rows > 0
    # columns that tell most first: cells are of one row sooner, and what is left differs less
    order = np.argsort([-scored.family(j, ()) for j in range(d)], kind="stable")[::-1]
    required, forbidden = (_bits(rule[np.ix_(order, order)]) for rule in (rules.required, rules.forbidden))
    sizes = [scored.sizes[j] for j in order]
    optimum = best_network(
        np.ascontiguousarray(scored.codes[order][:, some], dtype=np.uint16),
        sizes,
        rows[some].astype(np.uint32),
        cells,
        [1 + arities.index(r) if arities else 0 for r in sizes],
        scored.ess if scored.score == "bdeu" else 0.0,
        scored.price or 0.0,
        min(rules.most, d),
        EQUAL * scored.m,
        required,
        forbidden,
        seconds,
        scored.n_jobs,
    )
    if optimum is None:
        return None
    found, best = optimum
    if best == -np.inf:
        raise InvalidNetwork("no structure has all required arrows within max_parents and none of the forbidden ones")
    arrows = [(int(order[u]), int(order[v])) for v in range(d) for u in range(d) if found[v] >> u & 1]
    return sorted(arrows, key=lambda arrow: arrow[::-1])


def _products(sizes: Sequence[int]) -> int:
    """At most so many numbers of configurations have the sets of columns."""
    return math.prod(count + 1 for count in Counter(sizes).values())


def _bits(arrows: Bools) -> list[int]:
    """The parents of each column, a bit each."""
    return [sum(1 << int(u) for u in np.flatnonzero(column)) for column in arrows.T]


def _cells(scored: Scored, arities: Sequence[int]) -> Floats:
    """What a cell of N rows adds: with the child among its columns, then without, for each number of values of a child."""
    assert scored.x_log_x is not None
    n = np.arange(len(scored.x_log_x), dtype=np.float64)  # 0 … m rows
    if scored.score == "k2":
        return np.stack([gammaln(1 + n), *(gammaln(r + n) - gammaln(r) for r in arities)])
    return np.stack([scored.x_log_x, *(scored.x_log_x + scored.regret(r) for r in arities)])
