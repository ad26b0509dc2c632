"""What each attribute says for one class against another: ln P(t|x)/P(a|x), taken apart.

    sum      ln P(t)/P(a) + Σ_j ln P(x_j|t, …)/P(x_j|a, …), for a model that is such a product; the parts add up
    absence  ln P(t|x)/P(a|x) − ln P(t|x₋ⱼ)/P(a|x₋ⱼ): the weight of x_j as evidence beside all the others, x₋ⱼ being the
             row without x_j, for a model that can leave a cell out
    average  the same, for a model that cannot: P(y|x₋ⱼ) is the mean of P(y|x) over the values of x_j in a background

What remains of the log-odds, with the prior, is what the attributes say together.

Copies of a row differ in a few cells: where ln P(y, x) is a sum over columns they differ in those terms alone (`Sums`), so
that thousands of copies of a row with thousands of columns cost as many tables as a column has values to try.

A `Case` is one row, and copies of it with other cells, in the form that its model takes.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from ..arrays import Floats
from ..bayes.densities import Words
from ..errors import BadValue, ImpossibleEvidence, ModelError
from ..estimator import Explains
from ..kernels import normalise
from ..table.dates import date_columns, date_of, dates_in, part_of, weekday_text
from ..table.encode import numbers
from ..table.frame import Frame
from ..table.rows import open_rows
from ..table.schema import MEASURED, Schema


class Case:
    """A row of a model's table: its cells by place, and `copies` of it for the model to judge."""

    def __init__(self, model: Any, row: Any) -> None:
        names = getattr(model, "feature_names_in_", None)
        self.schema: Schema | None = getattr(model, "schema_", None)
        self.named = names is not None
        self.coded = hasattr(model, "n_categories_")  # numbers that are places in a list of categories
        frame = _opened(model, row, self.schema, names)
        if frame.n != 1:
            raise BadValue(f"explain takes one row. Got {frame.n} instead.")
        self.names = self.schema.names if self.schema else tuple(frame.name(j) for j in range(frame.d))
        self.row, self.sparse = row, frame.sparse is not None
        self.cells = [] if self.sparse else [_cell(frame.column(j)) for j in range(frame.d)]
        self._come_as_dates = _dates_of(row)
        for j, cell in enumerate(self.cells):
            if self.schema and self.measured(j) and type(cell) not in (int, float, type(None)):
                self.cells[j] = float(numbers(frame, [j])[0, 0])  # a date, a number as a text

    @cached_property
    def table(self) -> Any:
        """The row as a table that the model takes."""
        return self.row if self.sparse else self.copies([{}])

    def measured(self, j: int) -> bool:
        """Whether column j holds numbers that are more or less, not names."""
        if self.schema is not None:
            return self.schema.columns[j].kind in MEASURED
        return not self.coded and isinstance(self.cells[j], int | float) and not isinstance(self.cells[j], bool)

    def missing(self, j: int) -> bool:
        """Whether the cell is empty."""
        value = self.cells[j]
        return value is None or (isinstance(value, float) and math.isnan(value))

    @cached_property
    def dates(self) -> dict[int, dict[str, int]]:
        """The columns that are dates by place, each with the places of those that are its parts."""
        place = {n: j for j, n in enumerate(self.names)}
        found = dates_in(self.schema, self._come_as_dates)
        return {place[d]: {part: place[n] for part, n in parts.items()} for d, parts in found.items() if d in place}

    @cached_property
    def parts_of_dates(self) -> frozenset[int]:
        """The columns that are parts of dates."""
        return frozenset(k for parts in self.dates.values() for k in parts.values())

    @cached_property
    def _weekdays(self) -> frozenset[int]:
        return frozenset(parts["weekday"] for parts in self.dates.values() if "weekday" in parts)

    def told(self, j: int, value: Any) -> Any:
        """A cell of column j as people read it: days as a date, 0 as Monday where it is a weekday."""
        if j in self.dates and not isinstance(value, bool):
            return date_of(value)
        return weekday_text(value) if j in self._weekdays and isinstance(value, int | float) else value

    def linked(self, change: dict[int, Any]) -> dict[int, Any]:
        """A change, with the parts of every date that it moves: month and weekday never part from their day."""
        moved = {k: (v, part) for j, v in change.items() for part, k in self.dates.get(j, {}).items()}
        return change | {k: self._part(k, v, part) for k, (v, part) in moved.items()} if moved else change

    def _part(self, k: int, days: Any, part: str) -> Any:
        found = part_of(days, part)
        return float(found) if found is not None and self.measured(k) else found

    def copies(self, changes: Sequence[dict[int, Any]]) -> Any:
        """A table with a row for each change: place → the cell it has there instead; None is a missing one."""
        words = {j for change in changes for j, value in change.items() if isinstance(value, str)}
        numbers = [number and j not in words for j, number in enumerate(self._number)]  # an empty cell does not tell
        n, blank = len(changes), [np.nan if v is None and numbers[j] else v for j, v in enumerate(self.cells)]
        kept = np.empty((n, len(blank)), dtype=np.float64 if all(numbers) else object)
        kept[:] = np.array([*blank, None], dtype=object)[:-1]  # one cell may be a list
        for row, change in zip(kept, changes):
            for j, value in change.items():
                row[j] = np.nan if value is None and numbers[j] else value
        if not self.named:
            return kept
        floats = iter(kept[:, numbers].astype(np.float64).T)
        columns = tuple(next(floats) if number else kept[:, j] for j, number in enumerate(numbers))
        if self.schema is not None:
            return Frame(n, self.names, matrix=kept) if all(numbers) else Frame(n, self.names, columns=columns)
        import pandas as pd

        return pd.DataFrame(dict(zip(self.names, columns)))

    @cached_property
    def _number(self) -> list[bool]:
        """Of each column, whether its cells are floats to the model."""
        return [self.coded or self.measured(j) for j in range(len(self.cells))]


def _opened(model: Any, row: Any, schema: Schema | None, names: Any) -> Frame:
    if schema is None and names is not None and _has_names(row):
        frame = open_rows(row, None, type(model).__name__)
        return frame.matched(tuple(str(n) for n in names)) if frame.names else frame
    return open_rows(row, schema, type(model).__name__, names is not None)


def _has_names(row: Any) -> bool:
    return isinstance(row, dict) or hasattr(row, "columns") or hasattr(row, "to_dict")


def _dates_of(row: Any) -> set[str]:
    """The columns of a row, whatever it is, that are dates before a frame makes them days."""
    cells = row.to_dict() if hasattr(row, "to_dict") and not hasattr(row, "columns") else row
    if isinstance(cells, dict):
        one = {str(n): v[0] if isinstance(v, list | np.ndarray) and len(v) else v for n, v in cells.items()}
        return {n for n, v in one.items() if isinstance(v, datetime.date | np.datetime64) and v == v}  # NaT is missing
    return date_columns(row)


def _cell(column: Any) -> Any:
    value = column[0]
    value = value.as_py() if hasattr(value, "as_py") else value.item() if isinstance(value, np.generic) else value
    return None if type(value).__name__ in ("NAType", "NaTType") else value


MOST_BACKGROUND = 200  # rows that the average runs over
MOST_CELLS = 1 << 21  # of the copies of a row that are judged at a time
LEAST = 1e-3  # a probability below this weighs as this one where it is no product: a vote of none is no proof


def log_posterior(model: Any, X: Any) -> Floats:
    """ln P(y|x), by the model's own logarithms where it has them."""
    with np.errstate(divide="ignore"):
        if hasattr(model, "predict_log_proba"):
            return np.asarray(model.predict_log_proba(X), dtype=np.float64)
        return np.log(np.asarray(model.predict_proba(X), dtype=np.float64))


def log_posteriors(model: Any, case: Case, changes: Sequence[dict[int, Any]]) -> Floats:
    """ln P(y|x) of copies of a row, some at a time; −inf of every class where none allows the copy."""
    step = max(1, MOST_CELLS // max(len(case.cells), len(model.classes_)))
    blocks = [_lenient(model, case.copies(changes[i : i + step])) for i in range(0, len(changes), step)]
    return np.concatenate(blocks)


def _lenient(model: Any, X: Any) -> Floats:
    try:
        return log_posterior(model, X)
    except ImpossibleEvidence:
        if not hasattr(model, "_log_joint"):
            raise
        return given(np.asarray(model._log_joint(X), dtype=np.float64))


def given(log_joint: Floats) -> Floats:
    """ln P(y|x) of ln P(y, x); −inf of every class where none allows the row."""
    evidence = normalise(log_joint.copy())[1]
    return np.asarray(log_joint - np.where(np.isneginf(evidence), 0.0, evidence)[:, None])


def floor_of(model: Any) -> float:
    """The least logarithm that counts: the zeros of a model may be shares of few votes, which it does not stand for."""
    return -np.inf if hasattr(model, "_log_joint") else float(np.log(LEAST))


def odds(logs: Floats, t: int, a: int) -> Floats:
    """log P(t) − log P(a), 0 where neither is possible."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(logs[..., t] - logs[..., a], nan=0.0, posinf=np.inf, neginf=-np.inf)


def weigh(model: Any, case: Case, background: Any, t: int, a: int) -> tuple[str, float, Floats, float]:
    """(the way, prior log-odds, log-odds of each column, what they say together only)."""
    found = model._log_parts(case.table) if hasattr(model, "_log_parts") else None
    if found is not None:
        log_prior, parts = found
        return "sum", float(odds(log_prior, t, a)), odds(parts[0], t, a), 0.0
    if case.sparse:
        raise ModelError(f"{type(model).__name__} explains a row of a dense table: give it row.toarray()")
    floor, logs = floor_of(model), log_posterior(model, case.copies([{}]))
    if background is None and (without := _without(model, case)) is not None:
        both = np.concatenate([logs, without])
        floor = min(floor, both.min(initial=0.0, where=np.isfinite(both)))  # of zeros alone, and alike on both sides
        way, left = "absence", np.maximum(without, floor)
    else:
        way, left = "average", _averaged(model, case, _background(model, background), floor)
    whole, rest = float(odds(np.maximum(logs, floor), t, a)[0]), odds(left, t, a)
    prior = float(odds(_log_prior(model), t, a))
    with np.errstate(invalid="ignore"):
        parts = np.nan_to_num(whole - rest, nan=0.0, posinf=np.inf, neginf=-np.inf)
        together = np.nan_to_num(whole - prior - parts.sum(), nan=0.0, posinf=np.inf, neginf=-np.inf)
    return way, prior, parts, float(together)


def said_words(model: Any, row: Any, t: int, a: int) -> dict[int, tuple[tuple[str, float], ...]]:
    """Of each text of one row, by place, what its words say, strongest first; they add up to what the text says."""
    found: dict[int, tuple[tuple[str, float], ...]] = {}
    densities = model.factored_.densities if hasattr(model, "factored_") else ()
    texts = [density for density in densities if isinstance(density, Words)]
    frame: Any = model._opened(row) if texts else None
    for density in texts:
        words, said = density.said(frame)
        weight = odds(said, t, a)
        order = np.argsort(-np.abs(weight), kind="stable").tolist()
        found[density.where[0]] = tuple((words[i], float(weight[i])) for i in order)
    return found


def _without(model: Any, case: Case) -> Floats | None:
    """ln P(y|x₋ⱼ) of each column, from a model that can leave a cell out."""
    own = model._log_without(case.table) if hasattr(model, "_log_without") else None
    if own is not None:
        found: Floats = own[0]
        return found
    if not leaves_out(model):
        return None
    return log_posteriors(model, case, [{j: None} for j in range(len(case.cells))])


def leaves_out(model: Any) -> bool:
    """Whether a model can do without a cell; a foreign one that allows NaN takes it for a value, which says something."""
    return isinstance(model, Explains) and bool(get_tags(model).input_tags.allow_nan)


def _averaged(model: Any, case: Case, cells: list[list[Any]], floor: float) -> Floats:
    """ln of the mean of P(y|x) over the background's values of each column."""
    out = np.empty((len(case.cells), len(model.classes_)))
    for j, values in enumerate(cells):
        logs = np.maximum(log_posteriors(model, case, [{j: v} for v in values]), floor)
        out[j] = np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))
    return out


def _background(model: Any, background: Any) -> list[list[Any]]:
    """Of each column, the values that it is replaced by: of the rows given, or of those that the model keeps."""
    from ..table.frame import open_frame

    kept = background if background is not None else kept_rows(model)
    if kept is None:
        raise ModelError(
            f"{type(model).__name__} cannot leave an attribute out: give background=, some rows whose values to put there"
        )
    frame = open_frame(kept)
    names = getattr(model, "feature_names_in_", None)
    frame = frame.matched(tuple(map(str, names))) if names is not None and frame.names is not None else frame
    most = min(MOST_BACKGROUND, max(8, 32 * MOST_CELLS // frame.d**2))  # every column costs so many rows of all columns
    rows = np.unique(np.linspace(0, frame.n - 1, min(frame.n, most)).astype(np.int64))
    part = frame.take_rows(rows)
    return [[getattr(v, "as_py", lambda v=v: v)() for v in part.column(j)] for j in range(part.d)]


def kept_rows(model: Any) -> Any:
    """The rows that a model keeps, where they are rows of its table as it came: neighbours, support vectors."""
    return model._own_rows() if hasattr(model, "_own_rows") else None


def _log_prior(model: Any) -> Floats:
    """ln P(y) as far as the model tells it; else nothing is known, and every class is alike."""
    for name in ("class_prior_", "class_count_"):
        found = getattr(model, name, None)
        if found is not None:
            share = np.asarray(found, dtype=np.float64)
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(share / share.sum()))
    return np.zeros(len(model.classes_))


class Sums:
    """ln P(y|x) of copies of a row, by a model that is a sum over its columns: what a cell adds is asked but once.

    A class that some term rules out is −inf, all of them where none is possible.
    """

    def __init__(self, model: Any, case: Case) -> None:
        self.model, self.case = model, case
        prior, parts = model._log_parts(case.table)
        self.own, self.known = parts[0], dict[tuple[int, Any], Floats]()
        self.total = _parted(np.vstack([prior, self.own])).sum(axis=1)

    def __call__(self, changes: Sequence[dict[int, Any]]) -> Floats:
        self._ask(changes)
        total = np.repeat(self.total[:, None], len(changes), axis=1)
        for i, change in enumerate(changes):
            for j, value in change.items():
                total[:, i] += _parted(self.known[j, value]) - _parted(self.own[j])
        return given(np.where(total[1] > 0.5, -np.inf, total[0]))

    def _ask(self, changes: Sequence[dict[int, Any]]) -> None:
        """The terms of cells that are new: a table whose r-th row has the r-th of them in every column."""
        new: dict[int, list[Any]] = {}
        for j, value in {pair: None for change in changes for pair in change.items() if pair not in self.known}:
            new.setdefault(j, []).append(value)
        step, most = max(1, MOST_CELLS // self.own.size), max(map(len, new.values()), default=0)
        for first in range(0, most, step):
            some = range(first, min(first + step, most))
            rows = [{j: values[r] for j, values in new.items() if r < len(values)} for r in some]
            for row, parts in zip(rows, self.model._log_parts(self.case.copies(rows))[1]):
                self.known.update({(j, value): parts[j] for j, value in row.items()})


def _parted(terms: Floats) -> Floats:
    """(terms, 0 where they are −inf; whether they are): both can be added up and taken off again."""
    out = np.isneginf(terms)
    return np.stack([np.where(out, 0.0, terms), out.astype(np.float64)])
