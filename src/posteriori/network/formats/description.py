"""What a network file says, as plain values, and the bounds that no file may exceed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ...errors import did_you_mean, listed

MAX_BYTES = 1 << 26  # of a file, after decompression
MAX_NODES = 1 << 20
MAX_PARENTS = 1 << 10  # of one node; tables of that many parents of one state each exist
MAX_STATES = 1 << 16  # of one variable
MAX_CELLS = 1 << 23  # of all tables together

Fail = Callable[[str], NoReturn]


@dataclass
class Description:
    """States, parents and tables by name; a table is flat, parents slowest in their order, the node itself fastest.

    Built step by step by a parser; `fail` raises the parser's own error, which knows file, line and column.
    """

    name: str = "unknown"
    states: dict[str, tuple[str, ...]] = field(default_factory=dict)
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    tables: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    cells: int = 0

    def add_variable(self, name: str, states: Sequence[str], fail: Fail) -> None:
        """A variable and its states, named once each."""
        if name in self.states:
            fail(f"variable {name!r} is declared twice")
        if len(self.states) == MAX_NODES:
            fail(f"more than {MAX_NODES:,} variables")
        if not states:
            fail(f"variable {name!r} has no states")
        if len(states) > MAX_STATES:
            fail(f"variable {name!r} has {len(states):,} states; at most {MAX_STATES:,} are read")
        if len(set(states)) < len(states):
            fail(f"variable {name!r} lists the state {_first_twice(states)!r} twice")
        self.states[name] = tuple(states)

    def add_family(self, child: str, parents: Sequence[str], fail: Fail) -> tuple[int, ...]:
        """A node and its parents; returns the shape of its table (parents, then node), checked against the bound."""
        for name in (child, *parents):
            if name not in self.states:
                near = did_you_mean(name, self.states)
                fail(f"expected a declared variable, found {name!r}{near or '.'} variables: {listed(self.states)}")
        if len(parents) > MAX_PARENTS:
            fail(f"{child!r} has {len(parents):,} parents; at most {MAX_PARENTS:,} are read")
        if child in self.parents:
            fail(f"the table of {child!r} is given twice")
        if len({child, *parents}) < 1 + len(parents):
            fail(f"the family of {child!r} names a variable twice: {listed([child, *parents])}")
        shape = tuple(len(self.states[n]) for n in (*parents, child))
        self.cells += math.prod(shape)
        if self.cells > MAX_CELLS:
            fail(
                f"the tables up to that of {child!r} would hold {self.cells:,} numbers; at most {MAX_CELLS:,} are read"
            )
        self.parents[child] = tuple(parents)
        return shape

    def add_table(self, child: str, values: Any, fail: Fail) -> None:
        """The numbers of a family already added, in the order that `tables` keeps."""
        flat = np.asarray(values, dtype=np.float64).ravel()
        self.check_size(child, len(flat), fail)
        self.tables[child] = flat

    def check_size(self, child: str, count: int, fail: Fail) -> None:
        """The table of a family already added holds as many numbers as its states call for."""
        shape = [len(self.states[n]) for n in (*self.parents[child], child)]
        if count != math.prod(shape):
            size = " × ".join(map(str, shape))
            fail(f"the table of {child!r} needs {size} = {math.prod(shape):,} numbers, found {count:,}")

    def finish(self, fail: Fail) -> Description:
        """Every variable has its table."""
        if not self.states:
            fail("expected at least one variable")
        missing = [n for n in self.states if n not in self.tables]
        if missing:
            fail(f"no table for {listed(missing)}")
        return self


def _first_twice(states: Sequence[str]) -> str:
    seen: set[str] = set()
    return next(s for s in states if s in seen or seen.add(s))  # type: ignore[func-returns-value]


def written(value: float) -> str:
    """The shortest digits that read back as the same number.

    >>> written(0.1), written(1 / 3)
    ('0.1', '0.3333333333333333')
    """
    return repr(float(value))
