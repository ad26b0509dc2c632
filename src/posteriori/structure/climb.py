"""Greedy search: arrows added, deleted and turned while the score rises.

Symbols: s(v | P) the score of node v with parents P, pa(v) its parents now. A step is worth

    add u → v      s(v | pa(v) ∪ u) − s(v | pa(v))
    delete u → v   s(v | pa(v) ∖ u) − s(v | pa(v))
    turn u → v     both: deleted here, added at u

so all steps are known from T[u, v], the score of v with u toggled among its parents; a step changes one or two columns of
T, and a column is kept as long as the search lasts. Of equal steps the first is taken: additions before deletions before
turns, then by parent, then by child. Gains are equal that differ by less than 1e-10 a row.

Where no step gains, arrows that the score cannot tell (u → v where the other parents of v are the parents of u) are turned
one after the other: each such graph is as good, and a step from it may gain.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Bools, Floats
from .rules import Arrow, Rules
from .scores import EQUIVALENT, Scored
from .watching import Watch

MOVES = ("add", "delete", "turn")
EQUAL = 1e-10  # a row


@dataclass(frozen=True)
class Step:
    """One step of a search: what was done to the arrow parent → child, what it brought, and the score after it."""

    move: str
    parent: str
    child: str
    gain: float
    score: float


def arrows_of(edge: Bools) -> list[Arrow]:
    """By child, then by parent."""
    return [(u, v) for v, u in np.argwhere(edge.T).tolist()]


class State:
    """A graph, which of its nodes reach which, and the worth of every step from it."""

    def __init__(self, scored: Scored, rules: Rules, arrows: Iterable[Arrow]) -> None:
        d = scored.d
        self.scored, self.rules = scored, rules
        self.edge, self.reaches = np.zeros((d, d), dtype=bool), np.zeros((d, d), dtype=bool)
        self._fixed = rules.required | rules.forbidden.T  # arrows that may not be turned
        self.own, self.toggled = np.zeros(d), np.full((d, d), np.nan)
        self._seen: dict[tuple[int, bytes], tuple[float, Floats]] = {}  # own score and toggled ones of a family
        self._key: list[tuple[int, bytes] | None] = [None] * d
        arrows = list(arrows)
        if scored.complete and scored.score in EQUIVALENT and not arrows:
            self._pairs()
        self.set(arrows)

    @property
    def score(self) -> float:
        """The sum of the families."""
        return float(self.own.sum())

    def set(self, arrows: Iterable[Arrow]) -> None:
        """Go to another graph."""
        self.edge[:], self.reaches[:] = False, False
        for u, v in arrows:
            self._join(u, v)
        for v in range(len(self.own)):
            self._load(v, None)

    def do(self, move: int, u: int, v: int) -> None:
        """One step, whose scores are known."""
        there, here = float(self.toggled[v, u]), float(self.toggled[u, v])
        if move != 0:
            self._part(u, v)
        if move != 1:
            self._join(*((u, v) if move == 0 else (v, u)))
        self._load(v, here)
        if move == 2:
            self._load(u, there)

    def allowed(self) -> Bools:
        """Which steps may be done, [move, u, v]."""
        edge, rules = self.edge, self.rules
        out = np.empty((3, *edge.shape), dtype=bool)
        np.logical_not(self.reaches.T | edge | rules.forbidden, out=out[0])
        np.greater(edge, rules.required, out=out[1])
        np.greater(edge, self._fixed, out=out[2])
        if rules.most < len(edge):
            full = edge.sum(axis=0) >= rules.most
            out[0][:, full], out[2][full] = False, False
        u, v = np.nonzero(out[2])  # u → v can be turned unless another path leads from u to v
        out[2, u, v] = ~(edge[u] & self.reaches.T[v]).any(axis=1)
        return out

    def gains(self, allowed: Bools) -> Floats:
        """What each step brings, [move, u, v]; −∞ where it is not allowed. Scores not known yet are asked for."""
        missing = (allowed[0] | allowed[1] | allowed[2].T) & np.isnan(self.toggled)
        for v in np.flatnonzero(missing.any(axis=0)).tolist():
            candidates = np.flatnonzero(missing[:, v])
            found = self.scored.toggles(v, np.flatnonzero(self.edge[:, v]).tolist(), candidates.tolist())
            self.own[v], self.toggled[candidates, v] = found[0], found[1:]
        worth = self.toggled - self.own
        out = np.full(allowed.shape, -np.inf)
        np.copyto(out[0], worth, where=allowed[0])
        np.copyto(out[1], worth, where=allowed[1])
        np.copyto(out[2], worth + worth.T, where=allowed[2])
        return out

    def _pairs(self) -> None:
        """Without an arrow, and where equivalent graphs score alike, u → v is worth as much as v → u."""
        d = len(self.own)
        worth = np.full((d, d), np.nan)
        for v in range(d):
            found = self.scored.toggles(v, [], list(range(v + 1, d)))
            self.own[v] = found[0]
            worth[v + 1 :, v] = worth[v, v + 1 :] = found[1:] - found[0]
        none = np.packbits(self.edge[:, 0]).tobytes()
        for v, column in enumerate((worth + self.own).T):
            self._seen[v, none] = float(self.own[v]), column

    def _load(self, v: int, own: float | None) -> None:
        """Take the column of v's new family, seen before or empty, and keep the old one."""
        old, new = self._key[v], (v, np.packbits(self.edge[:, v]).tobytes())
        if old is not None:
            self._seen[old] = float(self.own[v]), self.toggled[:, v].copy()
        self._key[v] = new
        if new in self._seen:
            self.own[v], self.toggled[:, v] = self._seen[new]
            return
        self.own[v] = self.scored.family(v, np.flatnonzero(self.edge[:, v]).tolist()) if own is None else own
        self.toggled[:, v] = np.nan

    def _join(self, u: int, v: int) -> None:
        self.edge[u, v] = True
        above, below = self.reaches[:, u].copy(), self.reaches[v].copy()
        above[u] = below[v] = True
        self.reaches |= above[:, None] & below

    def _part(self, u: int, v: int) -> None:
        self.edge[u, v] = False
        above = np.flatnonzero(self.reaches[:, u])
        # upwards: a node reaches more than all that it reaches
        for w in [u, *above[np.argsort(self.reaches[above].sum(axis=1), kind="stable")].tolist()]:
            children = np.flatnonzero(self.edge[w])
            self.reaches[w] = self.reaches[children].any(axis=0)
            self.reaches[w, children] = True


class Climber:
    """A walk through graphs that remembers the best of them and the way to it."""

    def __init__(self, state: State, watch: Watch) -> None:
        self.state, self.watch = state, watch
        self.steps: list[Step] = []
        self.least = EQUAL * max(state.scored.m, 1.0)
        self.best = state.score, state.edge.copy(), 0

    def climb(self, tabu: int = 0) -> None:
        """Take the best step while it gains; with `tabu`, also up to so many that do not, to no graph seen of late."""
        # a graph is known by its number: the codes of its arrows together
        code = np.random.default_rng(0).integers(1, 1 << 62, self.state.edge.shape) if tabu else self.state.edge
        here = int(np.bitwise_xor.reduce(code[self.state.edge], initial=0))
        recent: deque[int] = deque([here], maxlen=max(tabu, 1))
        idle = 0
        while not self.watch.over():
            gains = self.state.gains(self.state.allowed())
            if tabu:
                leads_to = here ^ np.stack([code, code, code ^ code.T])
                gains[np.isin(leads_to, np.array(recent))] = -np.inf
            top = float(gains.max(initial=-np.inf))
            idle = 0 if self.state.score + top > self.best[0] + self.least else idle + 1
            if top == -np.inf or (top <= self.least if not tabu else idle > tabu):
                break
            move, u, v = self._take(gains, top)
            here ^= int(code[u, v]) ^ (int(code[v, u]) if move == 2 else 0)
            recent.append(here)

    def turn_round(self) -> bool:
        """Turn arrows that may point either way in the class, each pair of nodes once; whether a step gains after one.

        u → v is such an arrow where the other parents of v are the parents of u. The score stays, the next steps do not.
        """
        turned = np.zeros_like(self.state.edge)
        while not self.watch.over():
            allowed = self.state.allowed()
            edge = self.state.edge
            u, v = np.nonzero(allowed[2] & ~turned)
            free = (edge[:, u] != edge[:, v]).sum(axis=0) == 1
            if not free.any():
                return False
            a, b = int(u[np.argmax(free)]), int(v[np.argmax(free)])
            turned[a, b] = turned[b, a] = True
            self._do(2, a, b, float(self.state.gains(allowed)[2, a, b]))
            if self.state.gains(self.state.allowed()).max(initial=-np.inf) > self.least:
                return True
        return False

    def back(self) -> None:
        """Go to the best graph, and forget the steps after it."""
        self.state.set(arrows_of(self.best[1]))
        del self.steps[self.best[2] :]

    def shake(self, n: int, rng: np.random.Generator) -> None:
        """From the best graph so many random steps."""
        self.back()
        for _ in range(n):
            allowed = self.state.allowed()
            choices = np.argwhere(allowed)
            if not len(choices) or self.watch.over():
                return
            move, u, v = choices[rng.integers(len(choices))].tolist()
            self._do(move, u, v, float(self.state.gains(allowed)[move, u, v]))

    def _take(self, gains: Floats, top: float) -> tuple[int, int, int]:
        first = int(np.argmax(gains >= top - self.least))
        move, u, v = (int(i) for i in np.unravel_index(first, gains.shape))
        self._do(move, u, v, float(gains[move, u, v]))
        return move, u, v

    def _do(self, move: int, u: int, v: int, gain: float) -> None:
        self.state.do(move, u, v)
        names, score = self.state.rules.names, self.state.score
        self.steps.append(Step(MOVES[move], names[u], names[v], gain, score))
        if score > self.best[0] + self.least:
            self.best = score, self.state.edge.copy(), len(self.steps)
        self.watch.show(f"step {len(self.steps)}: {MOVES[move]} {names[u]} → {names[v]}, score {score:.6g}")


def climb(
    scored: Scored,
    rules: Rules,
    arrows: Sequence[Arrow],
    watch: Watch,
    tabu: int = 0,
    restarts: int = 0,
    rng: np.random.Generator | None = None,
) -> tuple[list[Arrow], list[Step], float]:
    """The best graph of a climb from these arrows and from random steps away from the best; the steps to it, its score."""
    walk = Climber(State(scored, rules, arrows), watch)
    try:
        walk.climb(tabu)
        gained = scored.score in EQUIVALENT and scored.complete
        while gained:
            before = walk.best[0]
            walk.back()  # a tabu walk ends below its best, from where any step gains
            if walk.turn_round():
                walk.climb(tabu)
            gained = walk.best[0] > before
        for _ in range(restarts):
            if watch.over():
                break
            walk.shake(max(3, scored.d // 2), np.random.default_rng() if rng is None else rng)
            walk.climb(tabu)
    except KeyboardInterrupt:
        watch.finished = False
    walk.back()
    return arrows_of(walk.state.edge), walk.steps, math.fsum(walk.state.own)


def by_order(scored: Scored, rules: Rules, order: Sequence[int], watch: Watch) -> tuple[list[Arrow], list[Step]]:
    """Cooper and Herskovits: each node in turn takes the best parent among those before it while that gains."""
    d, least, names = scored.d, EQUAL * max(scored.m, 1.0), rules.names
    arrows = rules.start((), True)
    parents: list[list[int]] = [sorted(u for u, v in arrows if v == w) for w in range(d)]
    total = scored.whole(parents)
    steps: list[Step] = []
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
