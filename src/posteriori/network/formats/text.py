"""What the formats share: the description of a network as plain values, its bounds, and tokens that know their place."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from ...arrays import Floats
from ...errors import FormatError, did_you_mean, listed

MAX_BYTES = 1 << 26  # of a file, after decompression
MAX_NODES = 1 << 20
MAX_PARENTS = 1 << 10  # of one node; tables of that many parents of one state each exist
MAX_STATES = 1 << 16  # of one variable
MAX_CELLS = 1 << 23  # of all tables together

LONGEST_NAME = 1000

Fail = Callable[[str], NoReturn]


@dataclass(eq=False)
class Description:
    """States, parents and tables by name; a table is flat, parents slowest in their order, the node itself fastest.

    Built step by step by a parser; `fail` raises the parser's own error, which knows file, line and column.
    """

    name: str = "unknown"
    states: dict[str, tuple[str, ...]] = field(default_factory=dict)
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    tables: dict[str, Floats] = field(default_factory=dict)
    lines: dict[str, tuple[Floats, Floats, Floats]] = field(default_factory=dict)  # α, β and σ² of continuous nodes
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


class Scanner:
    """Reads one token after another; `pattern` has the named groups word, string, mark and skip.

    >>> s = Scanner("net {", "x.net", r"(?P<skip>\\s+)|(?P<word>\\w+)|(?P<string>\\"[^\\"]*\\")|(?P<mark>[{}])")
    >>> s.word("a name"), s.found("}")
    ('net', False)
    >>> s.expect("}")
    Traceback (most recent call last):
    posteriori.errors.FormatError: x.net, line 1, column 5: expected '}', found '{'
    """

    def __init__(self, text: str, source: str, pattern: str) -> None:
        self.text, self.source = text, source
        self._pattern = re.compile(pattern)
        self.jump(0)

    def jump(self, at: int) -> None:
        """Go on with the token that begins there."""
        self._tokens = self._scan(self._pattern, at)
        self.kind, self.token, self.start = next(self._tokens)

    def _scan(self, pattern: re.Pattern[str], at: int) -> Iterator[tuple[str, str, int]]:
        while at < len(self.text):
            match = pattern.match(self.text, at)
            if match is None:
                self.start = at
                self.fail(f"found {self.text[at]!r}, which starts nothing that this format knows")
            if match.lastgroup != "skip":
                yield str(match.lastgroup), match.group(), at
            at = match.end()
        while True:
            yield "end", "", len(self.text)

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raise with the place of the current token, or of `at`."""
        at = self.start if at is None else at
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        raise FormatError(f"{self.source}, line {line}, column {column}: {message}")

    def expected(self, what: str) -> NoReturn:
        """Raise: something else was needed here."""
        shown = self.token if len(self.token) <= 40 else self.token[:37] + "…"
        self.fail(f"expected {what}, found {'the end of the file' if self.kind == 'end' else repr(shown)}")

    def advance(self) -> str:
        """The current token; move on to the next."""
        token = self.token
        self.kind, self.token, self.start = next(self._tokens)
        return token

    def found(self, mark: str) -> bool:
        """Whether the current token is this mark or word; if so, move on."""
        if self.token == mark and self.kind in ("mark", "word"):
            self.advance()
            return True
        return False

    def expect(self, mark: str) -> None:
        """This mark or word must come now."""
        if not self.found(mark):
            self.expected(repr(mark))

    def word(self, what: str) -> str:
        """A name: a bare word or a quoted string."""
        if self.kind not in ("word", "string"):
            self.expected(what)
        if len(self.token) > LONGEST_NAME:
            self.fail(f"expected {what}, found a word of {len(self.token):,} characters")
        kind, token = self.kind, self.advance()
        return re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.S) if kind == "string" else token

    def parents(self, child: str) -> list[str]:
        """The names up to the ")" that ends a family, in bounds."""
        self.found("|")
        names: list[str] = []
        while not self.found(")"):
            names.append(self.word("the name of a parent or ')'"))
            if len(names) > MAX_PARENTS:
                self.fail(f"{child!r} has more than {MAX_PARENTS:,} parents")
            self.found(",")
        return names

    def integer(self, what: str, most: int) -> int:
        """A whole number from 0 to `most`."""
        if self.kind != "word" or not self.token.isascii() or not self.token.isdigit():
            self.expected(what)
        if len(self.token) > 18 or int(self.token) > most:
            self.fail(f"expected {what} of at most {most:,}, found {self.token[:40]}")
        return int(self.advance())

    def number(self, what: str = "a probability") -> float:
        """A finite number that is not negative."""
        if self.kind != "word":
            self.expected(what)
        try:
            value = float(self.token) if "_" not in self.token else math.nan
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf:
            self.expected(what)
        self.advance()
        return value


def quoted(name: str) -> str:
    """A name in double quotes, the quotes and backslashes inside it escaped."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
