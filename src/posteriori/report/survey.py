"""What the table holds, counted for the report: kinds, missing cells, and how each column is spread within the classes.

No cell of a single row leaves this file: values that few rows have are not named, ranges end at round numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array, Floats, Ints
from ..explain.whatif import FEWEST_ROWS, round_grid
from ..table.dates import weekday_text, weekdays_in
from ..table.encode import factorize, numbers
from ..table.frame import Frame
from ..table.schema import MEASURED
from .markup import cut

MOST_COLUMNS = 150  # that are listed
MOST_VALUES = 6  # of a column that are drawn
BINS = 24
TAIL = 0.005  # rows of a column at each end that do not stretch its picture


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """One column: `table` is the share of each class's rows at each value (V, K), or in each bin of `grid`."""

    name: str
    kind: str
    missing: float
    n_values: int | None
    labels: tuple[str | None, ...] = ()
    grid: Floats | None = None
    table: Floats | None = None
    information: float | None = None
    density: str = ""
    dates: bool = False  # whether the numbers are days


@dataclass(frozen=True, eq=False)
class Survey:
    """The columns, most telling first; `left_out` is how many are not listed."""

    n: int
    d: int
    classes: tuple[Any, ...]
    class_count: Floats
    columns: tuple[ColumnFacts, ...]
    left_out: int
    missing: float  # of all cells that were looked at


def survey(
    frame: Frame,
    kinds: tuple[str, ...],
    y: Ints,
    w: Floats,
    classes: tuple[Any, ...],
    ranked: Any,
    rows: bool,
    dates: dict[str, dict[str, str]] | None = None,
) -> Survey:
    """Look at the columns in the order of `ranked`: (place, information or None, density); `dates` as of `dates_in`."""
    K, weekdays = len(classes), weekdays_in(dates or {})
    count = np.bincount(y, w, K).astype(np.float64)
    listed = ranked[:MOST_COLUMNS]
    found = tuple(_column(frame, j, kinds[j], y, w, K, info, density, rows) for j, info, density in listed)
    found = tuple(
        replace(c, dates=c.name in (dates or {}), labels=_told(c.labels) if c.name in weekdays else c.labels)
        for c in found
    )
    gaps = float(np.mean([c.missing for c in found])) if found else 0.0
    return Survey(frame.n, frame.d, classes, count, found, frame.d - len(found), gaps)


def _told(labels: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """Numbers of weekdays by their names."""
    return tuple(weekday_text(int(v)) if v is not None and v.isdigit() else v for v in labels)


def _column(
    frame: Frame, j: int, kind: str, y: Ints, w: Floats, K: int, info: float | None, density: str, rows: bool
) -> ColumnFacts:
    title = frame.name(j)
    if kind in MEASURED:
        x = np.asarray(numbers(frame, [j]), dtype=np.float64)[:, 0]
        seen = np.isfinite(x)
        grid, table = _histogram(x[seen], y[seen], w[seen], K)
        share = float(np.mean(~seen)) if len(x) else 0.0
        return ColumnFacts(title, kind, share, None, (), grid, table, info, density)
    if kind == "text":
        return ColumnFacts(title, kind, _gaps(frame.column(j)), None, information=info)
    values, codes = factorize(frame.column(j), title)
    V = len(values)
    counts = np.bincount(codes.astype(np.int64) * K + y, w, (V + 1) * K).reshape(V + 1, K)[:-1].astype(np.float64)
    own = np.bincount(codes, minlength=V + 1)  # rows, whatever they weigh: a value of few is not named
    share = float(own[-1] / max(len(y), 1))
    order = np.argsort(-counts.sum(axis=1), kind="stable")[:MOST_VALUES]
    least = 1 if rows else FEWEST_ROWS
    labels = tuple(cut(values[i]) if own[i] >= least else None for i in order)
    shares = _shares(counts)
    return ColumnFacts(title, kind, share, V, labels, None, shares[order], info, density)


def _histogram(x: Floats, y: Ints, w: Floats, K: int) -> tuple[Floats | None, Floats | None]:
    """(edges of bins of equal width at round numbers, the share of each class in each); ends take in what lies beyond."""
    if not len(x):
        return None, None
    low, high = np.quantile(x, [TAIL, 1 - TAIL]).tolist()
    grid = round_grid(low, high, bool((x == np.floor(x)).all()), BINS)
    if grid is None or len(grid) < 2:
        return None, None
    at = np.clip(np.searchsorted(grid, x, side="right") - 1, 0, len(grid) - 2)
    return grid, _shares(np.bincount(at * K + y, w, (len(grid) - 1) * K).reshape(-1, K).astype(np.float64))


def _shares(table: Floats) -> Floats:
    """The share of each class at each value; 0 of a class that is nowhere."""
    total = table.sum(axis=0)
    return table / np.where(total > 0, total, 1.0)


def _gaps(column: Any) -> float:
    cells: Any = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    return float(sum(c is None or c != c for c in cells) / max(len(cells), 1))


def ranking(model: Any, d: int) -> list[tuple[int, float | None, str]]:
    """The columns by what they tell of the class, where the model knows; else as they stand."""
    try:
        frame = model.summary()
        place = {name: j for j, name in enumerate(model.schema_.names)}
        densities: Any = frame["density"] if "density" in frame else [""] * len(frame)
        return [(place[n], float(i), str(m)) for n, i, m in zip(frame["column"], frame["information"], densities)]
    except (AttributeError, KeyError):
        return [(j, None, "") for j in range(d)]


def class_order(count: Array, most: int) -> list[int]:
    """The commonest classes, in their own order."""
    return sorted(np.argsort(-np.asarray(count), kind="stable")[:most].tolist())
