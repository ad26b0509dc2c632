"""What a search is told: arrows that must be there, arrows that may not, how many parents a node has; and when to end."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from ..arrays import Bools, is_number
from ..errors import BadParameter, InvalidNetwork, listed
from .dag import Dag
from .graph import find, find_all

Arrow = tuple[int, int]
Progress = bool | Callable[[str], Any]


@dataclass(frozen=True, eq=False)
class Rules:
    """`required[u, v]` and `forbidden[u, v]`, arrows u → v; `most` parents a node. No node is its own parent."""

    names: tuple[str, ...]
    required: Bools
    forbidden: Bools
    most: int

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        required: Any = (),
        forbidden: Any = (),
        tiers: Any = None,
        parent_of_all: Any = None,
        max_parents: Any = None,
    ) -> Rules:
        """Rules by name; what contradicts itself is named."""
        index, d = {name: j for j, name in enumerate(names)}, len(names)
        if max_parents is not None and (not isinstance(max_parents, Integral) or max_parents < 0):
            raise BadParameter(f"max_parents is a whole number from 0 up, or None. Got {max_parents!r} instead.")
        must, never = _arrows(index, required, "required"), _arrows(index, forbidden, "forbidden")
        if parent_of_all is not None:
            top = find(index, parent_of_all)
            must |= {(top, v) for v in range(d) if v != top}
        for u, v in sorted(must):
            if (u, v) in never:
                raise InvalidNetwork(f"the arrow {names[u]} → {names[v]} is required and forbidden")
        later = _against(index, tiers)
        for u, v in sorted(must & later):
            raise InvalidNetwork(f"the arrow {names[u]} → {names[v]} is required, but tiers put {names[v]} first")
        barred = never | later | {(v, v) for v in range(d)}
        most = d if max_parents is None else int(max_parents)
        found = cls(tuple(names), _matrix(d, must), _matrix(d, barred), most)
        found.fits(found.named(sorted(must)))
        return found

    def fits(self, arrows: Iterable[tuple[str, str]]) -> Dag:
        """The graph of these arrows; a cycle, or a node with too many parents, is named."""
        dag = Dag(self.names, arrows)
        full = next((v for v in self.names if len(dag.parents(v)) > self.most), None)
        if full is not None:
            parents = listed(dag.parents(full))
            raise InvalidNetwork(f"{full!r} begins with {parents}, more than max_parents={self.most}")
        return dag

    def start(self, arrows: Iterable[Arrow], strict: bool) -> list[Arrow]:
        """What is required, then these arrows as far as they are allowed; `strict` names a cycle or too many parents."""
        found = {(int(u), int(v)): None for u, v in np.argwhere(self.required)}
        may = [(u, v) for u, v in arrows if not self.forbidden[u, v] and not self.required[v, u]]
        try:
            self.fits(self.named(whole := list(found | dict.fromkeys(may))))
            return whole
        except InvalidNetwork:
            if strict:
                raise
        for arrow in may:
            try:
                self.fits(self.named([*found, arrow]))
                found[arrow] = None
            except InvalidNetwork:
                continue
        return list(found)

    def named(self, arrows: Iterable[Arrow]) -> list[tuple[str, str]]:
        """Arrows by name."""
        return [(self.names[u], self.names[v]) for u, v in arrows]


def _matrix(d: int, arrows: set[Arrow]) -> Bools:
    out = np.zeros((d, d), dtype=bool)
    for u, v in arrows:
        out[u, v] = True
    return out


def _arrows(index: dict[str, int], arrows: Any, what: str) -> set[Arrow]:
    if not isinstance(arrows, Iterable):
        raise InvalidNetwork(f"{what} is a list of arrows (parent, child). Got {arrows!r} instead.")
    found = set()
    for arrow in arrows:
        if not isinstance(arrow, list | tuple) or len(arrow) != 2:
            raise InvalidNetwork(f"{what} arrows are pairs (parent, child). Got {arrow!r} instead.")
        found.add((find(index, arrow[0]), find(index, arrow[1])))
    return found


def _against(index: dict[str, int], tiers: Any) -> set[Arrow]:
    """The arrows from a later tier into an earlier one."""
    if tiers is None:
        return set()
    if not isinstance(tiers, Iterable) or isinstance(tiers, str):
        raise InvalidNetwork(f"tiers is a list of lists of nodes, the earliest first. Got {tiers!r} instead.")
    numbered = [find_all(index, tier) for tier in tiers]
    place = {v: t for t, tier in enumerate(numbered) for v in tier}
    if len(place) < sum(map(len, numbered)):
        raise InvalidNetwork(f"a node is in two tiers: {listed([list(t) for t in numbered])}. Got {tiers!r} instead.")
    return {(u, v) for u in place for v in place if place[u] > place[v]}


class Watch:
    """Tells how the work goes, and when its time is over."""

    def __init__(self, show: Callable[[str], Any] | None, limit: float | None) -> None:
        self.listens = show is not None or limit is not None
        self.show: Callable[[str], Any] = show or (lambda _: None)
        self.finished = True
        self._end = None if limit is None else time.monotonic() + limit

    def left(self) -> float:
        """Seconds until the time is over."""
        return math.inf if self._end is None else max(self._end - time.monotonic(), 0.0)

    def over(self) -> bool:
        """Whether the time is over; then the work counts as not finished."""
        if self._end is not None and time.monotonic() > self._end:
            self.finished = False
        return not self.finished

    def part(self, of: int) -> Watch:
        """A watch for one of so many parts of the time that is left."""
        found = Watch(self.show if self.listens else None, None if self._end is None else self.left() / of)
        found.finished = self.finished
        return found

    @contextmanager
    def until_interrupted(self) -> Iterator[None]:
        """Work that Ctrl-C ends, keeping what it has done so far; it then counts as not finished."""
        try:
            yield
        except KeyboardInterrupt:
            self.finished = False


@contextmanager
def watched(progress: Progress, limit: float | None) -> Iterator[Watch]:
    """A watch whose words go to a line of the terminal (True), to a function, or nowhere."""
    if limit is not None and not is_number(limit, 0):
        raise BadParameter(f"time_limit is a number of seconds from 0 up, or None. Got {limit!r} instead.")
    if progress is False or progress is None:
        yield Watch(None, limit)
    elif callable(progress):
        yield Watch(progress, limit)
    elif progress is True:
        from rich.console import Console

        with Console(stderr=True).status("…") as line:
            yield Watch(line.update, limit)
    else:
        raise BadParameter(f"progress is True, False or a function of a text. Got {progress!r} instead.")
