"""Structures by tests of independence: PC (the stable one) and the parents and children of max-min hill-climbing.

Symbols: x, z nodes, S a set of others. x and z are joined unless some S makes them independent; then x → m ← z where the
neighbour m of both is not in S, and the arrows that follow (Meek). G² = 2 Σ N ln(N·N[S]/(N[S, x] N[S, z])) has a χ²
distribution under independence; its degrees of freedom are counted by the values that occur.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.stats import chi2

from ..arrays import Array, Bools, Floats, is_number
from ..errors import BadParameter, listed
from ..kernels import g_tests, value_bitmaps
from .graph import PartialDag
from .rules import Arrow, Rules, Watch
from .scores import Scored

TESTS = ("g2", "mi")
MOST_GIVEN = 3  # nodes that a test of max-min parents and children is given at most

# judge(x, S, candidates): how independent x is of each candidate given S; above 0 is independent
Judge = Callable[[int, Sequence[int], Sequence[int]], Floats]


@dataclass(frozen=True, eq=False)
class Independence:
    """A coded table as a judge. "g2": p − alpha; "mi": alpha − I(x; z | S), in nats.

    Where p is too small for a number, −G² stands for it, so that the strongest of all can be told. A row in which a cell of
    the test is missing takes no part in it.
    """

    scored: Scored
    test: str = "g2"
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not isinstance(self.test, str) or self.test not in TESTS:
            raise BadParameter(f"test is one of {listed(TESTS)}. Got {self.test!r} instead.")
        if not is_number(self.alpha, 0, 1) or self.alpha in (0, 1):
            raise BadParameter(f"alpha is a number between 0 and 1. Got {self.alpha!r} instead.")

    @cached_property
    def _bits(self) -> Array | None:
        table = self.scored
        return table.bits if table.complete or table.weights is not None else value_bitmaps(table.codes, table.sizes)

    def __call__(self, x: int, given: Sequence[int], candidates: Sequence[int]) -> Floats:
        table = self.scored
        g, freedom = g_tests(
            table.codes,
            table.sizes,
            x,
            given,
            candidates,
            table.weights,
            x_log_x=table.x_log_x,
            bits=self._bits,
            n_jobs=table.n_jobs,
        ).T
        if self.test == "mi":
            left: Floats = self.alpha - g / (2 * table.m)
            return left
        p = np.where(freedom > 0, chi2.sf(g, np.maximum(freedom, 1)), 1.0)  # no freedom, no evidence
        return np.where(p > 0, p - self.alpha, -g - 1.0)


@dataclass(eq=False)
class Separated:
    """Who stays joined; of the pairs that do not, the set that separates them and how well."""

    joined: Bools
    by: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = field(default_factory=dict)

    def part(self) -> None:
        """Pairs that some set separates are joined no more."""
        for u, v in self.by:
            self.joined[u, v] = self.joined[v, u] = False


def skeleton(judge: Judge, rules: Rules, watch: Watch) -> Separated:
    """PC-stable: sets of 0, 1, 2 … neighbours; all tests of a size are made before any pair is parted.

    Of the sets of one size that separate a pair, the one that does so best is kept, so that the order of the columns does
    not matter (but for exact ties, where the first is). Ended early, pairs found independent are parted all the same, and
    pairs that no test has met are not joined.
    """
    kept = rules.required | rules.required.T
    found = Separated(~(rules.forbidden & rules.forbidden.T) | kept)
    np.fill_diagonal(found.joined, False)
    met, size = kept.copy(), 0
    with watch.until_interrupted():
        while size <= int(found.joined.sum(axis=0).max(initial=0)) - 1 and not watch.over():
            _part(judge, found, kept, met, size, watch)
            watch.show(f"{size} nodes given: {int(found.joined.sum()) // 2} pairs joined")
            size += 1
    found.part()
    if not watch.finished:
        found.joined &= met | met.T
    return found


def _part(judge: Judge, found: Separated, kept: Bools, met: Bools, size: int, watch: Watch) -> None:
    """The tests of one size, and then the pairs that they part."""
    for x in range(len(kept)):
        near = np.flatnonzero(found.joined[x]).tolist()
        for given in itertools.combinations(near, size):
            free = [z for z in near if z not in given and not kept[x, z] and (size or z > x)]
            if not free:
                continue
            if watch.over():
                return
            for z, value in zip(free, judge(x, given, free).tolist()):
                pair = (min(x, z), max(x, z))
                if value > 0 and (pair not in found.by or value > found.by[pair][0] + 1e-12):
                    found.by[pair] = value, given
            met[x, free] = True
    found.part()


@dataclass(eq=False)
class Arrowheads:
    """A graph of which some edges have a direction: into[u, v] for u → v; both for an edge that has none."""

    into: Bools
    names: tuple[str, ...]
    conflicts: list[str] = field(default_factory=list)

    def direct(self, u: int, v: int) -> bool:
        """Make u – v to u → v; False where it is v → u."""
        if self.into[u, v]:
            self.into[v, u] = False
        return bool(self.into[u, v])

    def arrows(self) -> list[Arrow]:
        """The directed edges."""
        return [(u, v) for u, v in np.argwhere(self.into & ~self.into.T).tolist()]

    def lines(self) -> list[Arrow]:
        """The undirected edges, each once."""
        return [(u, v) for u, v in np.argwhere(np.triu(self.into & self.into.T)).tolist()]

    def named(self) -> PartialDag:
        """The graph by names."""
        arrows, lines = (
            tuple((self.names[u], self.names[v]) for u, v in some) for some in (self.arrows(), self.lines())
        )
        return PartialDag(self.names, arrows, lines)


def oriented(found: Separated, rules: Rules, watch: Watch) -> Arrowheads:
    """The rules' own directions, V-structures, the surest first, and what follows; contradictions are named.

    Where the work was ended early the rules' own directions alone: a pair that is still joined may be parted later.
    """
    graph, names = Arrowheads(found.joined.copy(), rules.names), rules.names
    for u, v in np.argwhere(found.joined & (rules.required | rules.forbidden.T)).tolist():
        graph.direct(u, v)
    told = graph.into.copy()
    with watch.until_interrupted():
        claims = []
        for (x, z), (value, given) in found.by.items():
            if watch.over():
                break
            for m in np.flatnonzero(found.joined[x] & found.joined[z]).tolist():
                if m not in given:
                    claims.append((-value, x, m, z))
        for _, x, m, z in sorted(claims) if not watch.over() else ():
            if graph.into[x, m] and graph.into[z, m]:
                graph.direct(x, m)
                graph.direct(z, m)
            else:
                other = x if not graph.into[x, m] else z
                graph.conflicts.append(
                    f"{names[x]} → {names[m]} ← {names[z]} was asked for, but {names[m]} → {names[other]} stands already"
                )
        _follow(graph, watch)
    if watch.finished:
        return graph
    return Arrowheads(told, names)


def _follow(graph: Arrowheads, watch: Watch) -> None:
    """Meek's rules, till nothing follows: no new V-structure, no cycle."""
    changed = True
    while changed and not watch.over():
        changed = False
        for a, b in [line for edge in graph.lines() for line in (edge, edge[::-1])]:
            if watch.over():
                return
            if graph.into[a, b] and graph.into[b, a] and _compelled(graph, a, b):
                changed = graph.direct(a, b) or changed


def _compelled(graph: Arrowheads, a: int, b: int) -> bool:
    """Whether a – b must be a → b."""
    one_way, line = graph.into & ~graph.into.T, graph.into & graph.into.T
    edge = graph.into | graph.into.T
    if (one_way[:, a] & ~edge[:, b] & (np.arange(len(edge)) != b)).any():  # c → a – b, c and b not joined
        return True
    if (one_way[a] & one_way[:, b]).any():  # a → c → b
        return True
    between = np.flatnonzero(line[a] & one_way[:, b])  # a – c → b
    if any(not edge[c, e] for c, e in itertools.combinations(between.tolist(), 2)):
        return True
    around = np.flatnonzero(edge[a] & one_way[:, b]).tolist()  # a – e → c → b, a and c joined, e and b not
    return any((line[a] & one_way[:, c] & ~edge[:, b]).any() for c in around)


def extended(graph: Arrowheads, watch: Watch) -> list[Arrow]:
    """A DAG with the pattern's arrows and no other V-structure (Dor and Tarsi); where there is none, that is named.

    Ended early, a DAG of the pairs that are joined, with the pattern's arrows.
    """
    into, above = graph.into.copy(), np.zeros_like(graph.into)  # [v, u]: u → v
    left, ahead = list(range(len(into))), (into & ~into.T).sum(axis=1)
    while left:
        sink = None
        with watch.until_interrupted():
            sink = None if watch.over() else next((v for v in left if _is_sink(into, v)), None)
        if sink is None:
            sink = left[int(np.argmin(ahead[left]))]
            if watch.finished or ahead[sink]:
                graph.conflicts.append(
                    f"no DAG has these arrows and V-structures only: {graph.names[sink]} was made a sink"
                )
        above[sink] = into[sink] | into[:, sink]
        ahead -= into[:, sink] & ~into[sink]
        into[sink], into[:, sink] = False, False
        left.remove(sink)
    return [(u, v) for v, u in np.argwhere(above).tolist()]


def _is_sink(into: Bools, v: int) -> bool:
    if (into[v] & ~into[:, v]).any():
        return False
    lines, near = np.flatnonzero(into[v] & into[:, v]), np.flatnonzero(into[v] | into[:, v])
    joined = into[np.ix_(lines, near)] | into[np.ix_(near, lines)].T | (lines[:, None] == near)
    return bool(joined.all())


def neighbours(judge: Judge, rules: Rules, watch: Watch) -> Bools:
    """Max-min parents and children of every node, joined where each has the other.

    Ended early, what a node that was not come to would say is left out: pairs of two such nodes are not joined.
    """
    d = len(rules.names)
    chosen, met = np.ones((d, d), dtype=bool), np.zeros(d, dtype=bool)
    barred = rules.forbidden & rules.forbidden.T
    with watch.until_interrupted():
        for t in range(d):
            found = _max_min(judge, t, np.flatnonzero(~barred[t]).tolist(), watch)
            if found is None:
                break
            chosen[t], met[t] = False, True
            chosen[t, found] = True
            watch.show(f"{rules.names[t]}: {len(found)} parents and children")
    return (chosen & chosen.T & (met | met[:, None])) | rules.required | rules.required.T


def _max_min(judge: Judge, t: int, pool: list[int], watch: Watch) -> list[int] | None:
    """Add the node whose weakest tie to t is the strongest, while it has one; then leave out whom the others explain.

    None where the time is over.
    """
    if watch.over():
        return None
    weakest = dict(zip(pool, judge(t, (), pool).tolist())) if pool else {}
    taken: list[int] = []
    while True:
        free = [x for x in pool if x not in taken and weakest[x] <= 0]
        if not free:
            break
        best = min(free, key=lambda x: (weakest[x], x))
        free.remove(best)
        for given in _subsets(taken, MOST_GIVEN - 1):
            if watch.over():
                return None
            rest = [x for x in free if weakest[x] <= 0]
            for x, value in zip(rest, judge(t, (*given, best), rest).tolist() if rest else ()):
                weakest[x] = max(weakest[x], value)
        taken.append(best)
    for x in list(taken):
        for given in _subsets([z for z in taken if z != x], MOST_GIVEN):
            if watch.over():
                return None
            if judge(t, given, [x])[0] > 0:
                taken.remove(x)
                break
    return taken


def _subsets(items: Sequence[int], most: int) -> Iterable[tuple[int, ...]]:
    return itertools.chain.from_iterable(itertools.combinations(items, k) for k in range(min(most, len(items)) + 1))


def pc(judge: Judge, rules: Rules, watch: Watch) -> tuple[list[Arrow], Arrowheads]:
    """A DAG by tests, and the pattern that it extends."""
    graph = oriented(skeleton(judge, rules, watch), rules, watch)
    return extended(graph, watch), graph
