"""Structures found by score: greedy hill-climbing over arrows added, deleted and turned.

Symbols: s(v | P) the score of node v with parents P, pa(v) its parents now. A step is worth

    add u → v      s(v | pa(v) ∪ u) − s(v | pa(v))
    delete u → v   s(v | pa(v) ∖ u) − s(v | pa(v))
    turn u → v     both: deleted here, added at u

so all steps are known from T[u, v], the score of v with u toggled among its parents; a step changes one or two columns of
T. Of equal steps the first is taken: additions before deletions before turns, then by parent, then by child.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from ..arrays import Bools, Floats
from ..errors import BadParameter, InvalidNetwork, TableError, listed
from ..table.encode import code_columns
from ..table.frame import open_frame
from ..table.labels import narrowest
from ..table.weights import check_weights
from .dag import Dag
from .graph import find
from .scores import Scored
from .structures import tree

METHODS = ("hill-climb", "chow-liu")
MOVES = ("add", "delete", "turn")
DIGITS = 9  # gains that differ less are equal
MOST_VALUES = 1 << 12


@dataclass(frozen=True)
class Step:
    """One step of a search: what was done to the arrow parent → child, what it brought, and the score after it."""

    move: str
    parent: str
    child: str
    gain: float
    score: float


@dataclass(frozen=True)
class Learned:
    """A structure that was found, and the way to it."""

    dag: Dag
    score: float
    steps: tuple[Step, ...]

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """The arrows (parent, child)."""
        return self.dag.edges


def learn_structure(
    data: Any,
    score: str = "bic",
    method: str = "hill-climb",
    *,
    start: Dag | str | None = None,
    required: Iterable[tuple[str, str]] = (),
    forbidden: Iterable[tuple[str, str]] = (),
    max_parents: int | None = None,
    ess: float = 1.0,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> Learned:
    """The structure of categorical columns that a search by `score` finds.

    Parameters
    ----------
    data : table, its columns the nodes; missing cells leave a row out of the families they are in
    score : "bic" ("mdl"), "aic", "loglik", "bdeu" (with `ess`) or "k2"; larger is better
    method : "hill-climb", or "chow-liu": the tree of greatest mutual information
    start : where the climb begins: a `Dag`, "chow-liu", or None for no arrow
    required, forbidden : arrows (parent, child) that are kept, or never made
    max_parents : most parents of a node

    >>> rain = [0, 0, 0, 0, 1, 1, 1, 1] * 8
    >>> found = learn_structure({"rain": rain, "wet": rain, "coin": [0, 1] * 32})
    >>> found.edges, found.steps[0].move
    ((('rain', 'wet'),), 'add')
    """
    if not isinstance(method, str) or method not in METHODS:
        raise BadParameter(f"method is one of {', '.join(METHODS)}. Got {method!r} instead.")
    names, scored = _coded(data, score, ess, sample_weight, n_jobs)
    index = {name: j for j, name in enumerate(names)}
    must, never = (_arrows(index, arrows, what) for arrows, what in ((required, "required"), (forbidden, "forbidden")))
    if must & never:
        u, v = min(must & never)
        raise InvalidNetwork(f"the arrow {names[u]} → {names[v]} is required and forbidden")
    if max_parents is not None and (not isinstance(max_parents, Integral) or max_parents < 0):
        raise BadParameter(f"max_parents is a whole number from 0 up, or None. Got {max_parents!r} instead.")
    arrows = _start(names, index, scored, "chow-liu" if method == "chow-liu" else start)
    if method == "chow-liu":
        dag = Dag(names, _named(names, arrows))
        return Learned(dag, scored.whole(dag.numbered_parents), ())
    arrows = [a for a in arrows if a not in never and a[::-1] not in must]
    arrows += [a for a in sorted(must) if a not in arrows]
    dag = Dag(names, _named(names, arrows))  # a cycle among what is required is named
    full = next((v for v in names if max_parents is not None and len(dag.parents(v)) > max_parents), None)
    if full is not None:
        raise InvalidNetwork(f"{full!r} begins with {listed(dag.parents(full))}, more than max_parents={max_parents}")
    return _climb(names, scored, arrows, must, never, max_parents)


def _climb(
    names: Sequence[str],
    scored: Scored,
    arrows: list[tuple[int, int]],
    must: set[tuple[int, int]],
    never: set[tuple[int, int]],
    max_parents: int | None,
) -> Learned:
    d = len(names)
    edge = np.zeros((d, d), dtype=bool)
    for u, v in arrows:
        edge[u, v] = True
    kept, banned = (np.zeros((d, d), dtype=bool) for _ in range(2))
    for some, matrix in ((must, kept), (never, banned)):
        for u, v in some:
            matrix[u, v] = True
    np.fill_diagonal(banned, True)
    own, toggled = np.zeros(d), np.zeros((d, d))
    stale: Sequence[int] = range(d)
    steps: list[Step] = []
    most = d if max_parents is None else max_parents
    while True:
        for v in stale:
            others = [u for u in range(d) if u != v]
            found = scored.toggles(v, np.flatnonzero(edge[:, v]).tolist(), others)
            own[v], toggled[others, v] = found[0], found[1:]
        gains = _gains(edge, toggled - own, kept, banned, most)
        move, u, v = (int(i) for i in np.unravel_index(np.argmax(gains), gains.shape))
        gain = float(gains[move, u, v])
        if not gain > 0:
            break
        edge[u, v] = move == 0
        edge[v, u] |= move == 2
        stale = (u, v) if move == 2 else (v,)
        total = float(own.sum()) + gain
        steps.append(Step(MOVES[move], names[u], names[v], gain, total))
    arrows = [(int(u), int(v)) for v, u in np.argwhere(edge.T)]
    return Learned(Dag(names, _named(names, arrows)), float(own.sum()), tuple(steps))


def _gains(edge: Bools, worth: Floats, kept: Bools, banned: Bools, most: int) -> Floats:
    """What each step would bring, [move, u, v]; −∞ where it may not be done."""
    above = _reaches(edge)
    full = edge.sum(axis=0) >= most
    may_add = ~(edge | edge.T | banned | above.T | full)
    may_delete = edge & ~kept
    # u → v can be turned unless another path leads from u to v
    around = ((edge.astype(np.float32) @ above.astype(np.float32)) > 0) & edge
    may_turn = may_delete & ~around & ~banned.T & ~full[:, None]
    gains = np.stack([worth, worth, worth + worth.T])
    return np.where(np.stack([may_add, may_delete, may_turn]), np.round(gains, DIGITS), -np.inf)


def _reaches(edge: Bools) -> Bools:
    """Whether a path of one arrow or more leads from u to v: squares of the adjacency, log₂ d of them."""
    found = edge.copy()
    while True:
        wider = found | ((found.astype(np.float32) @ found.astype(np.float32)) > 0)
        if (wider == found).all():
            return found
        found = wider


def _start(names: Sequence[str], index: dict[str, int], scored: Scored, start: Any) -> list[tuple[int, int]]:
    if start is None:
        return []
    if isinstance(start, Dag):
        return [(find(index, a), find(index, b)) for a, b in start.edges]
    if not (isinstance(start, str) and start == "chow-liu"):
        raise BadParameter(f"start is a Dag, 'chow-liu' or None. Got {start!r} instead.")
    return _chow_liu(scored)


def _chow_liu(scored: Scored) -> list[tuple[int, int]]:
    """The tree of greatest Σ I(X_u; X_v) over the rows that have both, directed away from its first node."""
    d = len(scored.sizes)
    plain = Scored(scored.codes, scored.sizes, "loglik", weights=scored.weights, n_jobs=scored.n_jobs)
    weight = np.zeros((d, d))
    for v in range(d):
        others = [u for u in range(d) if u != v]
        found = plain.toggles(v, [], others)
        weight[others, v] = np.maximum(found[1:] - found[0], 0.0)
    weight = np.round((weight + weight.T) / 2, DIGITS)
    parents = tree(weight, list(range(d))).parents
    return [(u, v) for v, some in enumerate(parents) for u in some]


def _coded(data: Any, score: str, ess: float, sample_weight: Any, n_jobs: int | None) -> tuple[list[str], Scored]:
    frame = open_frame(data)
    names = [str(frame.name(j)) for j in range(frame.d)]
    if frame.d == 0 or frame.n == 0:
        raise TableError(f"a structure is learned from rows and columns; got {frame.n} rows of {frame.d} columns")
    coded = code_columns(frame, range(frame.d), n_jobs)
    sizes = tuple(len(values) for values in coded.values)
    for name, size in zip(names, sizes):
        if size == 0:
            raise TableError(f"every cell of {name!r} is missing: leave the column out")
        if size > MOST_VALUES:
            raise TableError(f"column {name!r} has {size} values: cut numbers into bins, and leave names and ids out")
    kind = narrowest(max(sizes) + 1)
    codes = np.stack([np.asarray(coded.column(j)).astype(kind) for j in range(frame.d)])
    weights = None if sample_weight is None else check_weights(sample_weight, frame.n)
    return names, Scored(codes, sizes, score, ess, weights, n_jobs)


def _arrows(index: dict[str, int], arrows: Iterable[tuple[str, str]], what: str) -> set[tuple[int, int]]:
    if not isinstance(arrows, Iterable):
        raise InvalidNetwork(f"{what} is a list of arrows (parent, child). Got {arrows!r} instead.")
    found = set()
    for arrow in arrows:
        if not isinstance(arrow, list | tuple) or len(arrow) != 2:
            raise InvalidNetwork(f"{what} arrows are pairs (parent, child). Got {arrow!r} instead.")
        found.add((find(index, arrow[0]), find(index, arrow[1])))
    return found


def _named(names: Sequence[str], arrows: Sequence[tuple[int, int]]) -> list[tuple[str, str]]:
    return [(names[u], names[v]) for u, v in arrows]
