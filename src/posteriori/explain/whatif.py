"""What a model would say of any row that a reader can put together: ln P(x_j|y, x_parent) for every choice of x_j.

Symbols: j attribute, v one of its choices, p the parent of j where it has one, y class;
ln P(y, x) = ln P(y) + Σ_j ln θ_j[x_p, x_j, y]. An attribute that is not chosen is summed out: it adds nothing unless others
depend on it. A number is chosen from a grid of round values, at each of which the model itself was asked.

Names and values come as text for a page (`cut`, `shown`): one line, not too long, nothing in it that steers the page.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats
from ..bayes.densities import Categories
from ..bayes.naive import NaiveBayes
from ..bayes.numeric import Curves
from ..bayes.semi import OneStructure
from ..table.dates import date_text, dates_in, weekday_text, weekdays_in
from ..table.frame import Frame
from ..table.schema import MEASURED

POINTS = 60  # of a grid
MOST_NUMBERS = 60_000  # that a page carries
FEWEST_ROWS = 3  # a value that fewer rows have is not named
BLOCK = 1 << 21  # numbers asked of the model at a time
LONGEST = 80  # characters of a name, label or value that are shown


@dataclass(frozen=True, eq=False)
class Attribute:
    """The choices of one attribute and what each says: `log_p` is (V, K), or (V of the parent, V, K)."""

    name: str
    labels: tuple[str | None, ...]  # None: a value of so few rows that naming it would tell of them
    numbers: Floats | None  # a grid, of a measured attribute
    log_p: Floats
    parent: int | None = None
    share: Floats | None = None  # of the rows with each choice
    cuts: Floats | None = None  # of a number whose choices are bins
    dates: bool = False  # whether the numbers are days

    @property
    def hidden(self) -> int:
        """How many values are not named."""
        return sum(label is None for label in self.labels)


@dataclass(frozen=True, eq=False)
class WhatIf:
    """A model as tables; `left_out` are columns that stay unknown here."""

    classes: tuple[Any, ...]
    log_prior: Floats
    attributes: tuple[Attribute, ...]
    left_out: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()  # columns that say the same of every class

    @property
    def additive(self) -> bool:
        """Whether what attributes say just adds up."""
        return all(a.parent is None for a in self.attributes)


def what_if(model: Any, *, most: int = 40, with_rows: bool = False, dates: Any = ()) -> WhatIf | None:
    """The tables of a model that is a sum, or a forest, over its attributes; None of any other, or of one too large.

    `dates` names columns that are days, besides those that the model's schema says.

    >>> from posteriori import NaiveBayes
    >>> found = what_if(NaiveBayes().fit({"sky": ["blue", "grey"] * 4}, ["out", "in"] * 4))
    >>> found.attributes[0].labels, np.exp(found.attributes[0].log_p).round(2).tolist()
    (('blue', 'grey'), [[0.17, 0.83], [0.83, 0.17]])
    """
    least = 1 if with_rows else FEWEST_ROWS
    if isinstance(model, NaiveBayes):
        return _of_naive(model, most, least, dates)
    if isinstance(model, OneStructure) and model.families_.exact and model.families_.used is None:
        return _of_forest(model, least, dates)
    return None


def _of_naive(model: NaiveBayes, most: int, least: int, known: Any) -> WhatIf | None:
    schema, factored, stats = model.schema_, model.factored_, model.statistics_
    K = len(schema.classes)
    ranked = [schema.index(str(name)) for name in model.summary()["column"]]
    ranked = [j for j in ranked if schema.columns[j].kind != "text"]
    points = POINTS if K * min(most, len(ranked)) * POINTS <= MOST_NUMBERS else 20
    chosen: list[tuple[int, tuple[Any, ...], Floats | None, Floats | None]] = []
    dates, room = dates_in(schema, known), MOST_NUMBERS
    weekdays, bins = weekdays_in(dates), _bins(model)
    for j in ranked[:most]:
        column, cuts = schema.columns[j], bins.get(j)
        named = column.kind in ("categorical", "binary") or cuts is not None
        grid = None if named else _grid(stats, j, points)
        values = _within(cuts) if cuts is not None else column.values if grid is None else tuple(grid.tolist())
        if values and (room := room - K * len(values)) >= 0:
            chosen.append((j, values, grid, cuts))
    if not chosen:
        return None
    log_p = _asked(factored, len(schema), [(j, values) for j, values, *_ in chosen], K)
    found = []
    silent = []
    for (j, values, grid, cuts), table in zip(chosen, log_p):
        column = schema.columns[j]
        day = column.name in dates
        if not (table != table[:, :1]).any():
            silent.append(column.name)
        elif cuts is not None:
            found.append(Attribute(column.name, bin_labels(cuts, day), None, table, cuts=cuts, dates=day))
        elif grid is not None:
            labels = tuple(date_text(v) if day else number_label(v, grid) for v in values)
            found.append(Attribute(column.name, labels, grid, table, share=_density(stats, j, grid), dates=day))
        else:
            counts = stats.cells.scope(stats.where("cells").index(j)).sum(axis=1).astype(float)
            told = _named(_weekdays(column, weekdays), counts, least)
            found.append(Attribute(column.name, told, None, table, share=_shares(counts)))
    kept = {j for j, *_ in chosen}
    rest = tuple(schema.names[j] for j in range(len(schema)) if j not in kept)
    return WhatIf(schema.classes, factored.log_prior, tuple(found), rest, tuple(silent))


def _bins(model: NaiveBayes) -> dict[int, Floats]:
    """The cuts of the columns of which only the bin of a number counts."""
    found: dict[int, Floats] = {}
    for density in model.factored_.densities:
        if isinstance(density, Curves):
            for k, (j, shape) in enumerate(zip(density.where, density.shapes)):
                if shape == "binned":
                    found[j] = density.column(k).cuts  # type: ignore[union-attr]
        elif isinstance(density, Categories):
            found |= {j: cuts for j, cuts in enumerate(density.cuts) if cuts is not None}
    return found


def _within(cuts: Floats) -> tuple[float, ...]:
    """A number in every bin."""
    ends = np.concatenate([[np.nextafter(cuts[0], -np.inf)], cuts]) if len(cuts) else np.zeros(1)
    return tuple(ends.tolist())


def _weekdays(column: Any, weekdays: Any) -> tuple[Any, ...]:
    return tuple(map(weekday_text, column.values)) if column.name in weekdays else tuple(column.values)


def _of_forest(model: OneStructure, least: int, known: Any) -> WhatIf | None:
    families, schema, stats = model.families_, model.schema_, model.statistics_
    K, sizes = len(schema.classes), families.sizes
    cells = sum(math.prod(sizes[i] for i in family) for family in families.structure.families)
    if cells * K > MOST_NUMBERS or 0 in sizes:
        return None
    found, dates = [], dates_in(schema, known)
    weekdays = weekdays_in(dates)
    for j, (column, cuts) in enumerate(zip(schema.columns, stats.cuts)):
        counts, day = stats.cells.scope(j).sum(axis=1).astype(float), column.name in dates
        labels: Any = _named(_weekdays(column, weekdays), counts, least) if cuts is None else bin_labels(cuts, day)
        parents = families.structure.parents[j]
        parent = parents[0] if parents else None
        shares = _shares(counts)
        found.append(Attribute(column.name, labels, None, families.tables[j], parent, shares, cuts, day))
    return WhatIf(schema.classes, families.log_prior, tuple(found))


def _asked(factored: Any, d: int, chosen: list[tuple[int, tuple[Any, ...]]], K: int) -> list[Floats]:
    """ln P(x_j = v|y) of every choice, by asking the model row by row: row r has the r-th choice of every column."""
    names, tables = factored.schema.names, [np.zeros((len(values), K)) for _, values in chosen]
    longest = max(len(values) for _, values in chosen)
    step = max(1, BLOCK // (d * K))
    for first in range(0, longest, step):
        n = min(step, longest - first)
        columns: list[Any] = [_blank(factored.schema.columns[j].kind, n) for j in range(d)]
        for j, values in chosen:
            part = values[first : first + n]
            columns[j][: len(part)] = part
        said = factored.parts(Frame(n, names, columns=tuple(columns)))
        for table, (j, values) in zip(tables, chosen):
            m = len(values[first : first + n])
            table[first : first + m] = said[:m, j]
    return tables


def _blank(kind: str, n: int) -> Any:
    return np.full(n, np.nan) if kind in MEASURED else np.full(n, None, dtype=object)


def _named(values: tuple[Any, ...], counts: Floats, least: int) -> tuple[str | None, ...]:
    """Values as text; those of fewer than `least` rows are not named, declared or not: a schema may come from the rows."""
    return tuple(cut(v) if c >= least else None for v, c in zip(values, counts.tolist()))


def _shares(counts: Any) -> Floats:
    return np.asarray(counts / max(float(counts.sum()), 1e-300))


def _grid(stats: Any, j: int, points: int) -> Floats | None:
    """Round numbers over the range that the column's rows had, ends rounded outwards; None where there is no range."""
    found = _range(stats, j)
    return round_grid(*found, points) if found and found[0] <= found[1] else None


def _range(stats: Any, j: int) -> tuple[float, float, bool] | None:
    """(least, greatest, whether all are whole numbers, as far as is kept); None where no row has a number."""
    if j in stats.where("histogram"):
        values = stats.histograms[stats.where("histogram").index(j)].values
        if not len(values):
            return None
        return float(values[0]), float(values[-1]), bool((values == np.floor(values)).all())
    if j in stats.where("moments"):
        k = stats.where("moments").index(j)
        pooled = stats.moments.pooled()
        mean, sd = float(pooled.mean[0, k]), math.sqrt(max(float(pooled.variance()[0, k]), 0.0))
        counts = stats.schema.columns[j].kind == "count"
        if not pooled.n[0, k] > 0:
            return None
        low, high = mean - 4 * sd, mean + 4 * sd
        span = stats.moments.span
        if span is not None:
            low, high = max(low, float(span.low[:, k].min())), min(high, float(span.high[:, k].max()))
        return (max(low, 0.0) if counts else low), high, counts
    return 0.0, 10.0, True  # events: how often


def round_grid(low: float, high: float, whole: bool, points: int = POINTS) -> Floats | None:
    """At most `points` + 2 multiples of 1, 2 or 5 × 10^k from below `low` to above `high`; None of what no float spans.

    >>> round_grid(1.3, 4.2, False, 10).tolist()
    [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5]
    """
    if not math.isfinite(high - low):
        return None
    step = round_step((high - low) / points, whole)
    if step == 0 or max(abs(low), abs(high)) / step > 1e12:
        return np.array([low]) if low == high else np.linspace(low, high, points)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return np.asarray(np.round(np.arange(first, last + 1) * step, -math.floor(math.log10(step))), dtype=np.float64)


def round_step(width: float, whole: bool) -> float:
    """The least of 1, 2, 5 × 10^k that is no less than `width`."""
    width = max(width, 1.0) if whole else width
    if not width > 1e-290:
        return 0.0
    base = 10.0 ** math.floor(math.log10(width))
    return next(m * base for m in (1, 2, 5, 10) if m * base >= width * (1 - 1e-9))


def _density(stats: Any, j: int, grid: Floats) -> Floats | None:
    """The share of rows around each point of the grid, where a histogram is kept."""
    if j not in stats.where("histogram") or len(grid) < 2:
        return None
    histogram = stats.histograms[stats.where("histogram").index(j)]
    at = np.searchsorted((grid[1:] + grid[:-1]) / 2, histogram.values)
    return _shares(np.bincount(at, histogram.table.sum(axis=1).astype(float), len(grid)))


def number_label(value: float, grid: Floats) -> str:
    """A number of the grid with the digits that tell it from its neighbours.

    >>> number_label(1.5, np.array([1.0, 1.5]))
    '1.5'
    """
    step = float(np.diff(grid).min()) if len(grid) > 1 else 0.0  # alone, it has nothing to be told from
    if step < 1e-5 or max(abs(float(grid[0])), abs(float(grid[-1]))) >= 1e7:
        return f"{value + 0.0:.6g}"
    return f"{value + 0.0:.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


def bin_labels(cuts: Floats, dates: bool = False) -> tuple[str, ...]:
    """The bins between cuts, in words; each takes in its lower end.

    >>> bin_labels(np.array([1.5, 3.0])), bin_labels(np.array([18271.5]), dates=True)
    (('< 1.5', '1.5 – 3', '≥ 3'), ('< 2020-01-11', '≥ 2020-01-11'))
    """
    ends = _day_ends(cuts) if dates else _ends(cuts)
    if not ends:
        return ("any",)
    return (f"< {ends[0]}", *(f"{a} – {b}" for a, b in itertools.pairwise(ends)), f"≥ {ends[-1]}")


def _ends(cuts: Floats) -> list[str]:
    """Cuts with the fewest digits, from five, that tell them apart."""
    for digits in range(5, 18):
        ends = [f"{c + 0.0:.{digits}g}" for c in cuts]
        if len(set(ends)) == len(ends):
            break
    return ends


def _day_ends(cuts: Floats) -> list[str]:
    """Cuts between whole days as the first day above, others with their times."""
    days = bool((np.mod(cuts, 0.5) == 0).all())
    return [date_text(float(np.ceil(c) if days else c)) for c in cuts]


def cut(text: Any, most: int = LONGEST) -> str:
    """One line of at most so many characters; what would steer the page (controls, breaks) is written out.

    >>> cut("a\\nb\\x1b"), cut("abcdef", 4)
    ('a\\\\nb\\\\x1b', 'abc…')
    """
    said = text if isinstance(text, str) else shown(text)
    said = said if len(said) <= 4 * most else said[: 4 * most] + "…"  # a megabyte is not looked at whole
    said = plain(said)
    return said if len(said) <= most else said[: most - 1] + "…"


def plain(text: str) -> str:
    """The text with what no page or terminal can hold, or what would steer one, written out.

    >>> plain("a\\tb\\ud800")
    'a\\\\tb\\\\ud800'
    """
    if text.isprintable():  # none of these is; most texts are
        return text
    return "".join(c if _plain(c) else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)


def _plain(c: str) -> bool:
    """Whether a character stands for itself: no control, no break, no half of a pair; marks of direction stay, in <bdi>."""
    return unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp")


def shown(value: Any) -> str:
    """A cell as a person reads it.

    >>> shown(3.0), shown(0.1 + 0.2), shown(True), shown(None), shown("x")
    ('3', '0.3', 'True', '–', 'x')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    return value.item().__str__() if hasattr(value, "item") else str(value)
