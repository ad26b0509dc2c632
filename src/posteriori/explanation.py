"""The answer to "why?": a value that prints as bars, and the least changes that would have changed the decision."""

from __future__ import annotations

import datetime
import math
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import views
from .errors import counted, listed

if TYPE_CHECKING:
    import pandas as pd

WAYS = {
    "sum": "what each attribute says adds up",
    "absence": "what each attribute adds to all the others, had it been unknown",
    "average": "what each attribute adds to all the others, had it been any of the background's values",
}


@dataclass(frozen=True)
class Part:
    """What one attribute of a row says: the log-odds that its value adds."""

    column: str
    value: Any  # days as a date, a weekday by its name
    log_odds: float
    words: tuple[tuple[str, float], ...] = ()  # of a text: what each of its words says, strongest first

    def strongest(self, most: int = 6) -> tuple[tuple[str, float], ...]:
        """The words that say the most, but none that would be printed as 0.00."""
        return tuple(w for w in self.words[:most] if abs(w[1]) >= 0.005)


@dataclass(frozen=True)
class Change:
    """Other values of some attributes of a row, the decision that they lead to, and its probability.

    A date comes with those of its parts that are columns; as text they are left out, the date says them.
    """

    values: dict[str, tuple[Any, Any]]  # column → (what it is, what it would have to be)
    decision: Any
    probability: float

    def __str__(self) -> str:
        dated = {name for name, (_, new) in self.values.items() if isinstance(new, datetime.date)}
        told = {n: v for n, v in self.values.items() if n.rpartition(".")[0] not in dated}
        moved = [f"{brief(name)}: {brief(old)} → {brief(new)}" for name, (old, new) in told.items()]
        return f"{', '.join(moved)} gives {shown(self.decision)}"


@dataclass(frozen=True, eq=False)
class Explanation:
    """ln P(target|x)/P(against|x) = prior + Σ parts + together.

    `together` is 0 where the model is a sum; elsewhere it is what the attributes say only jointly. `parts` come strongest
    first. `risk` has the conditional risk of every action; `changes` the least changes that would change the decision,
    least first.
    """

    target: Any
    against: Any
    way: str
    prior: float
    parts: tuple[Part, ...]
    together: float
    posterior: dict[Any, float]
    risk: dict[Any, float]
    decision: Any
    changes: tuple[Change, ...] = ()

    @property
    def log_odds(self) -> float:
        """ln P(target|x)/P(against|x)."""
        return _total(self.prior, *(p.log_odds for p in self.parts), self.together)

    def frame(self) -> pd.DataFrame:
        """Prior and attributes as a table; the log-odds add up to the whole."""
        import pandas as pd

        rows = [("(prior)", None, self.prior), *((p.column, p.value, p.log_odds) for p in self.parts)]
        rows += [("(together)", None, self.together)] if self.way != "sum" else []
        names, values, odds = zip(*rows)
        table = {"column": names, "value": pd.Series(values, dtype=object), "log_odds": odds}
        return pd.DataFrame(table).rename_axis(index=f"{self.target!r} against {self.against!r}")

    def strongest(self, most: int) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
        """(the attributes that say the most, the others): those that would be printed as 0.00 are among the others."""
        n = sum(abs(p.log_odds) >= 0.005 for p in self.parts[:most])
        return self.parts[:n], self.parts[n:]

    def __str__(self) -> str:
        return self.text()

    def text(self, most: int = 12, width: int = 24, names: int = 84) -> str:
        """Bars to the right speak for the target, to the left against it; the weakest attributes in one line.

        `width` is that of the bars, `names` that of the longest name of an attribute with its value.
        """
        told, rest = self.strongest(most)
        rows = [("(prior)", self.prior)]
        for p in told:
            rows.append((f"{brief(p.column)} = {brief(p.value)}", p.log_odds))
            rows += [(f"  · {brief(word, 24)}", odds) for word, odds in p.strongest()]
        rows += [(f"({counted(len(rest), 'other')})", _total(*(p.log_odds for p in rest)))] if rest else []
        rows += [("(together)", self.together)] if self.way != "sum" else []
        top = max([abs(v) for _, v in rows if math.isfinite(v)], default=0.0) or 1.0
        rows = [(_fitted(name, names), value) for name, value in rows]
        wide = max(_cells(name) for name, _ in rows)
        lines = [
            f"{shown(self.decision)}: P({shown(self.target)}) = {self.posterior[self.target]:.4g}, "
            f"log-odds against {shown(self.against)} {self.log_odds:+.2f}; {WAYS[self.way]}"
        ]
        far = max(7, *(len(f"{value:+.2f}") for _, value in rows))
        lines += [
            f"  {name}{' ' * (wide - _cells(name))} {value:+{far}.2f}  {_bar(value / top, width)}"
            for name, value in rows
        ]
        lines += [f"  otherwise if {change}" for change in self.changes]
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return views.html("an explanation", self)


def shown(value: Any) -> str:
    """A value as a person reads it, on one line, with nothing in it that a terminal would obey.

    >>> shown(0.30000000000000004), shown("a\\x1b[2J\\nb"), shown(None)
    ('0.3', 'a\\\\x1b[2J\\\\nb', '(missing)')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "(missing)"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return listed(value)
    if isinstance(value, datetime.datetime) and not (value.second or value.microsecond):
        return f"{value:%Y-%m-%d %H:%M}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))


def brief(value: Any, most: int = 40) -> str:
    """The same, cut where it is long.

    >>> brief("x" * 50)[-3:], len(brief("x" * 50))
    ('xx…', 40)
    """
    text = shown(value[: 4 * most] if isinstance(value, str) else value)
    return text if len(text) <= most else text[: most - 1] + "…"


def _total(*odds: float) -> float:
    """Σ; 0 where one class is ruled out by this and the other by that, as it is where neither is possible."""
    found = sum(odds)
    return 0.0 if math.isnan(found) else found


def _cells(text: str) -> int:
    """How many cells of a terminal a text takes."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _fitted(text: str, most: int) -> str:
    """A text within so many cells of a terminal."""
    if _cells(text) <= most:
        return text
    while text and _cells(text) > most - 1:
        text = text[:-1]
    return text + "…"


def _bar(share: float, width: int) -> str:
    half = width // 2
    n = half if not math.isfinite(share) else round(half * min(abs(share), 1.0))
    return f"{'█' * n:>{half}}│" if share < 0 else f"{'':>{half}}│{'█' * n}"
