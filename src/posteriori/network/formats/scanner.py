"""Tokens of a text format with their place, and errors that say file, line, column and what was expected."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NoReturn

from ...errors import FormatError

LONGEST_NAME = 1000


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
        self._tokens = self._scan(re.compile(pattern))
        self.kind, self.token, self.start = next(self._tokens)

    def _scan(self, pattern: re.Pattern[str]) -> Iterator[tuple[str, str, int]]:
        at = 0
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
