"""The structure of greatest score: by steps that gain, node by node in an order, or of all structures exactly.

Symbols: s(v | P) the score of node v with parents P, pa(v) its parents now, W a set of nodes. A step is worth

    add u → v      s(v | pa(v) ∪ u) − s(v | pa(v))
    delete u → v   s(v | pa(v) ∖ u) − s(v | pa(v))
    turn u → v     both: deleted here, added at u

and the best is taken while it gains. Of equal steps (gains that differ by less than 1e-10 a row) the first is taken:
additions before deletions before turns, then by parent, then by child, the nodes sorted by s(v | ∅), the largest first,
and only nodes that are equal in this as their columns come.

Where no step gains, several together may. A node is put elsewhere in a topological order of the graph, and each node that
it passes, and it itself, takes better parents among those now before it, one toggle at a time, of more than 16 nodes only
such u as s(v | u) > s(v | ∅). The best place is taken if it gains; if it loses, a node that was passed is moved as well (of
at most 16 nodes a third too), and all are taken if together they gain. When that ends, arrows that the score cannot tell
are turned by chance (always the same) and another order is tried, until five in a row were in vain. Of at most 10 nodes
the search then begins anew from no arrows, in twelve orders by chance (always the same). The trace shows a move
as its deletions and additions, of which single ones may lose. Scores of numbers are dear: there steps alone are taken.
Of more than 16 nodes the moves end when they have asked for four times as many scores as the climb before them, and
a few seconds' more (by work, not by the clock). `tabu` and `restarts` go on from where all this ended, each
with as many again.

Exactly, by dynamic programming over sets of nodes (Silander and Myllymäki): the last node of an order has parents among the
others, so

    best(W) = max_{v ∈ W} best(W ∖ v) + max_{P ⊆ W ∖ v} s(v | P)

and a set of parents that does not beat all its subsets is never needed. Every score splits into sums over the cells of
P ∪ v and of P, so that 2^d sets are counted and not d·2^(d−1) families.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import gammaln

from ..arrays import Bools, Floats, is_whole
from ..budget import refuse_over
from ..errors import BadParameter, InvalidNetwork, TableError
from ..kernels import best_network, climb_asking
from ..kernels import climb as kernel
from .rules import Arrow, Rules, Watch
from .scores import EQUIVALENT, Scored

MOVES = ("add", "delete", "turn")
EQUAL = 1e-10  # a row
MOST_STEPS = 500_000
ORDERS = 6  # in vain, the first of them that of the climb
ROWS_MOVED = 2e9  # by scores that moving nodes ask for, beside four times what the climb has asked for
MOST_NODES = 30


@dataclass(frozen=True)
class Step:
    """One step of a search: what was done to the arrow parent → child, what it brought, and the score after it, in nats."""

    move: str
    parent: str
    child: str
    gain: float
    score: float


def check_steps(tabu: Any, restarts: Any) -> tuple[int, int]:
    """Both as whole numbers, or an error that names the one that is none."""
    for what, number in (("tabu", tabu), ("restarts", restarts)):
        if not is_whole(number, 0, MOST_STEPS):
            raise BadParameter(f"{what} is a whole number from 0 to {MOST_STEPS}. Got {number!r} instead.")
    return int(tabu), int(restarts)


class FamilyScores(Protocol):
    """What a climb asks of scores that are not those of coded columns."""

    d: int
    m: float
    score: str
    complete: bool

    def family(self, child: int, parents: Sequence[int]) -> float:
        """The score of one family."""
        ...

    def toggles(self, child: int, parents: Sequence[int], candidates: Sequence[int]) -> Floats:
        """The score of a child with `parents`, then with each candidate added to them, or taken away if it is one."""
        ...


def climb(
    scored: Scored | FamilyScores,
    rules: Rules,
    arrows: Sequence[Arrow],
    watch: Watch,
    tabu: int = 0,
    restarts: int = 0,
    seed: int = 0,
) -> tuple[list[Arrow], list[Step], float]:
    """The best graph of a search from these arrows and from random steps away from the best; the steps to it, its score."""
    d, names = scored.d, rules.names
    order = np.argsort([-scored.family(v, ()) for v in range(d)], kind="stable")
    place = np.argsort(order)
    start: list[list[int]] = [[] for _ in range(d)]
    for u, v in arrows:
        start[place[v]].append(int(place[u]))
    taken = 0

    def tell(*step: Any) -> bool:
        nonlocal taken
        try:
            if step:
                taken += 1
                u, v = (names[order[w]] for w in step[1:3])
                watch.show(f"step {taken}: {MOVES[step[0]]} {u} → {v}, score {step[4]:.6g}")
            return not watch.over()
        except KeyboardInterrupt:
            return False

    how: dict[str, Any] = {
        "required": rules.required[np.ix_(order, order)],
        "forbidden": rules.forbidden[np.ix_(order, order)],
        "most": min(rules.most, d),
        "least": EQUAL * max(scored.m, 1.0),
        "symmetric": scored.complete and scored.score in EQUIVALENT,
        "tabu": tabu,
        "restarts": restarts,
        "orders": ORDERS if isinstance(scored, Scored) else 0,
        "seed": seed,
        "moves": int(ROWS_MOVED / max(scored.codes.shape[1], 1)) if isinstance(scored, Scored) else 0,
        "tell": tell if watch.listens else None,
    }
    if isinstance(scored, Scored):
        table = scored.taking(order.tolist())
        parents, own, steps, finished = kernel(
            table.codes,
            table.sizes,
            start,
            *scored.how,
            scored.weights,
            states=table.states,
            x_log_x=scored.x_log_x,
            regrets=[scored.regret(r) for r in table.sizes] if scored.score == "fnml" else (),
            bits=table.bits,
            n_jobs=scored.n_jobs,
            **how,
        )
    else:
        at = order.tolist()
        parents, own, steps, finished = climb_asking(
            lambda v, some, more: scored.toggles(at[v], sorted(at[u] for u in some), [at[u] for u in more]).tolist(),
            start,
            **how,
        )
    watch.finished &= finished
    found = sorted(
        ((int(order[u]), int(order[v])) for v in range(d) for u in parents[v]), key=lambda arrow: arrow[::-1]
    )
    named = [Step(MOVES[move], names[order[u]], names[order[v]], gain, score) for move, u, v, gain, score in steps]
    return found, named, math.fsum(own)


def climb_each(
    scored: Scored | FamilyScores, rules: Rules, starts: Sequence[Sequence[Arrow]], watch: Watch, *how: int
) -> tuple[list[Arrow], list[Step], float]:
    """The best of the climbs from each of these starts, the first of equals; each has its part of the time."""
    whole, best = True, None
    for left, start in zip(range(len(starts), 0, -1), starts):
        part = watch.part(left)
        found = climb(scored, rules, start, part, *how)
        if best is None or found[2] > best[2] + EQUAL * max(scored.m, 1.0):
            best = found
        whole &= part.finished
        if not part.finished and part.left():  # by Ctrl-C
            break
    watch.finished &= whole
    assert best is not None
    return best


def by_order(scored: Scored, rules: Rules, order: Sequence[int], watch: Watch) -> tuple[list[Arrow], list[Step]]:
    """Cooper and Herskovits: each node in turn takes the best parent among those before it while that gains."""
    d, least, names = scored.d, EQUAL * max(scored.m, 1.0), rules.names
    arrows = rules.start((), True)
    parents: list[list[int]] = [sorted(u for u, v in arrows if v == w) for w in range(d)]
    total = scored.whole(parents)
    steps: list[Step] = []
    with watch.until_interrupted():
        for place, v in enumerate(order):
            while len(parents[v]) < rules.most and not watch.over():
                free = sorted(u for u in order[:place] if u not in parents[v] and not rules.forbidden[u, v])
                found = scored.toggles(v, parents[v], free)
                worth = found[1:] - found[0]
                if not len(free) or worth.max() <= least:
                    break
                best = int(np.argmax(worth >= worth.max() - least))
                parents[v] = sorted([*parents[v], free[best]])
                total += float(worth[best])
                steps.append(Step(MOVES[0], names[free[best]], names[v], float(worth[best]), total))
                watch.show(f"{names[v]}: {len(parents[v])} parents, score {total:.6g}")
    return [(u, v) for v in range(d) for u in parents[v]], steps


def exact(
    scored: Scored, rules: Rules, seconds: float = math.inf, max_memory: float | None = None
) -> list[Arrow] | None:
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
    refuse_over(max_memory, peak, f"method 'exact' on {d} columns", "use 'hill-climb' or fewer columns")
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
