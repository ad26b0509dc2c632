"""Schemas in a file: column by column under each other, names, kinds, sizes, then all values; cuts in one array.

And values that pandas alone has: intervals, as `cut` makes them, and periods.
"""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass, replace
from functools import cache, partial
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd

from ..arrays import Bools, Floats, Ints
from ..errors import NotStorable
from ..fields import MAYBE, NOT_NEGATIVE, OneOf, need
from ..table.schema import KINDS, MEASURED, Column, Reading, Schema, is_missing
from .forms import Fields, Form, twin, value

PLAIN = Reading()
FORM = re.compile(r"ISO8601|(%[dmbBYHMS][ ./:,-]{0,2})+")  # of dates
MOST_CUTS = 255  # of a column whose bins are not told one by one
Texts = tuple[str, ...]
AsTuple = tuple[Texts | None, Literal[".", ","], tuple[Texts, ...], tuple[float, ...], bool]  # the fields of a Reading


@dataclass(frozen=True, eq=False)
class StoredSchema:
    """A schema by its columns' parts; how its file was read, where it was not read plainly."""

    names: Annotated[tuple[str, ...], "d"]
    kinds: Annotated[tuple[Annotated[str, OneOf(tuple(KINDS))], ...], "d"]
    sizes: Annotated[Ints, "d", NOT_NEGATIVE]
    values: Annotated[tuple[Any, ...], "values"]
    declared: Annotated[Bools, "values"]
    classes: tuple[Any, ...]
    declared_classes: frozenset[Any]
    target: str | None
    notes: tuple[str, ...]
    reading: Annotated[AsTuple | None, MAYBE]

    @classmethod
    def of(cls, schema: Schema) -> StoredSchema:
        """The parts of a schema."""
        columns = schema.columns
        for c in columns:
            if not c.declared <= set(c.values):
                raise NotStorable(f"column {c.name!r} declares values that it does not have")
        return cls(
            schema.names,
            schema.kinds,
            np.array([len(c.values) for c in columns], dtype=np.int64),
            tuple(v for c in columns for v in c.values),
            np.array([v in c.declared for c in columns for v in c.values], dtype=np.bool_),
            schema.classes,
            schema.declared_classes,
            schema.target,
            schema.notes,
            None if schema.reading == PLAIN else astuple(schema.reading),
        )

    def made(self) -> Schema:
        """The schema of these parts."""
        whole = self.sizes.sum(dtype=np.float64) == len(self.values)
        need(whole, "a schema must have as many values as its sizes say")
        columns, end = [], 0
        for name, kind, size in zip(self.names, self.kinds, self.sizes.tolist()):
            begin, end = end, end + size
            mine = self.values[begin:end]
            need(is_distinct(mine), f"column {name!r:.50} must have different values, none of them missing")
            declared = frozenset(v for v, d in zip(mine, self.declared[begin:end].tolist()) if d)
            columns.append(Column(name, kind, mine, declared))
        need(len(set(self.classes)) == len(self.classes), "classes must be different")  # a network's one class is None
        how = self.target, self.notes, PLAIN if self.reading is None else _reading(*self.reading)
        return Schema(tuple(columns), self.classes, self.declared_classes, *how)


def _reading(missing: Any, decimal: str, dates: Any, edges: Any, header: bool) -> Reading:
    """How the file was read."""
    known = all(len(d) == 2 and FORM.fullmatch(d[1]) for d in dates)
    need(known, "dates must have a column and a form")
    need(all(a < b for a, b in pairwise(edges)), "edges must ascend")
    return Reading(missing, decimal, dates, edges, header)


def is_distinct(values: tuple[Any, ...]) -> bool:
    """Whether no value is missing or there twice."""
    if all(type(v) is str for v in values) and all(a < b for a, b in pairwise(values)):
        return True  # texts in order, as they usually are, need no set beside them
    return len(set(values)) == len(values) and not any(map(is_missing, values))


@dataclass(frozen=True, eq=False)
class StoredInterval:
    """An interval by its ends."""

    left: Any
    right: Any
    closed: Literal["left", "right", "both", "neither"]

    @classmethod
    def of(cls, held: Any) -> StoredInterval:
        """The ends of an interval."""
        return cls(held.left, held.right, held.closed)

    def made(self) -> Any:
        """The interval between these ends."""
        return pd.Interval(self.left, self.right, self.closed)


@dataclass(frozen=True, eq=False)
class StoredPeriod:
    """A period by its number and what is counted."""

    ordinal: int
    freqstr: str

    @classmethod
    def of(cls, held: Any) -> StoredPeriod:
        """The number of a period."""
        return cls(held.ordinal, held.freqstr)

    def made(self) -> Any:
        """The period of this number."""
        made = pd.Period(ordinal=self.ordinal, freq=self.freqstr)
        need(isinstance(made, pd.Period), "a Period must be one, and not a missing cell")  # −2⁶³ is NaT
        return made


@dataclass(frozen=True, eq=False)
class StoredCoding:
    """A coding whose cuts are one array; the values of measured columns are their bins, and need not be told.

    Where a column has too many cuts, or other values, all is told as it is, and there are no `ends`.
    """

    schema: Annotated[Schema, "d"]
    cuts: tuple[Annotated[Floats, "cuts"] | None, ...] | Annotated[Floats, "cuts"]
    ends: Annotated[Ints | None, "d", NOT_NEGATIVE, MAYBE]
    blank: Annotated[tuple[bool, ...], "d"]

    @classmethod
    def of(cls, held: Any) -> StoredCoding:
        """The parts of a coding."""
        columns = held.schema.columns
        cut = [(column, cuts) for column, cuts in zip(columns, held.cuts) if cuts is not None]
        if any(len(cuts) > MOST_CUTS or (c.values, c.declared) != _bins(len(cuts)) for c, cuts in cut):
            return cls(held.schema, held.cuts, None, held.blank)
        told = tuple(c if cuts is None else Column(c.name, c.kind) for c, cuts in zip(columns, held.cuts))
        ends = np.cumsum([0 if cuts is None else len(cuts) for cuts in held.cuts], dtype=np.int64)
        flat = np.concatenate([np.zeros(0), *(cuts for _, cuts in cut)])
        return cls(replace(held.schema, columns=told), flat, ends, held.blank)

    def made(self) -> Any:
        """The coding of these parts."""
        from ..forest.grown import Coding

        schema, cuts = self.schema, self.cuts
        need(isinstance(cuts, tuple) == (self.ends is None), "cuts of all columns must say where those of each end")
        if self.ends is not None:
            begins, columns, held = [0, *self.ends.tolist()], list[Column](), list[Any]()
            need(begins[-1] == len(cuts), "there must be cuts of all columns")
            for column, (a, b) in zip(schema.columns, pairwise(begins)):
                measured, name = column.kind in MEASURED, f"column {column.name!r:.50}"
                need(0 <= b - a <= (MOST_CUTS if measured else 0), f"{name}: cuts of other columns")
                need(not (measured and column.values), f"the values of {name} must be its bins")
                columns.append(Column(column.name, column.kind, *_bins(b - a)) if measured else column)
                held.append(cuts[a:b] if measured else None)
            schema, cuts = replace(schema, columns=tuple(columns)), tuple(held)
        coding = Coding(schema, cuts, self.blank)  # type: ignore[arg-type]
        coding.check()
        return coding


@cache
def _bins(cuts: int) -> tuple[tuple[int, ...], frozenset[int]]:
    """The bins between so many cuts, all of them declared; columns share them."""
    bins = tuple(range(cuts + 1))
    return bins, frozenset(bins)


def coded(cls: type) -> Form:
    """The form of a value with a `coding`, of whose schema the file has what the coding has not."""
    from ..forest.grown import Coding

    form = value(cls)

    def take(held: Any) -> Fields:
        schema, own = held.schema, held.coding.schema
        alike = all(getattr(schema, f) == getattr(own, f) for f in ("columns", "target", "notes", "reading"))
        return form.take(held) | ({"schema": replace(schema, columns=())} if alike else {})

    def make(fields: Fields) -> Any:
        schema, coding = fields.get("schema"), fields.get("coding")
        if isinstance(schema, Schema) and isinstance(coding, Coding) and not schema.columns:
            fields = fields | {"schema": coding.with_classes(schema)}
        return form.make(fields)

    return Form(cls, take, make)


FORMS = {
    "Schema": partial(twin, StoredSchema),
    "Interval": partial(twin, StoredInterval),
    "Period": partial(twin, StoredPeriod),
    "Coding": partial(twin, StoredCoding),
    **dict.fromkeys(("TreeCounts", "Grown", "Summed", "Pool"), coded),
}
