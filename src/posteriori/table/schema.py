"""What a table holds: the kind of each column, the values it may take, the classes.

Kinds: `categorical` one of a few values · `binary` two of them · `count` how often, summed over rows · `numeric` a
measurement · `text` words. A value is *declared* (it stays although no row has it) or *observed* (it is there because a
row had it, and vanishes when the last such row is forgotten).

The schema of a file keeps its `Reading`: what no cell can say alone, for the files to come.
"""

from __future__ import annotations

import decimal
import numbers
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import is_
from typing import Any

import numpy as np

from .. import views
from ..errors import BadParameter, BadValue, TableError, UnknownColumn, did_you_mean, listed

KINDS = ("categorical", "binary", "count", "numeric", "text")
MEASURED = ("numeric", "count")  # kinds whose columns are numbers, more or less of something
VALUED = frozenset({"categorical", "binary", "text"})  # kinds whose columns list their values
Value = Hashable
# what stands for a missing cell where all else is a number; the last is a cell of blanks
MISSING = ("?", "NA", "N/A", "n/a", "na", "null", "NULL", "None", "none", "NaN", "nan", "#N/A", "-", "--", ".", "")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
OR_INFINITE = re.compile(rf"{NUMBER.pattern}|[+-]?inf(inity)?", re.IGNORECASE)


def in_order(values: Iterable[Value]) -> tuple[Value, ...]:
    """Values sorted, numbers before strings before all else: the same order whatever order they came in.

    >>> in_order(["b", 2, "a", 1.5])
    (1.5, 2, 'a', 'b')
    """

    def place(v: Any) -> tuple[int, str, Any]:
        if isinstance(v, numbers.Real | decimal.Decimal):
            return 0, "", v
        return (1, "", v) if isinstance(v, str) else (2, type(v).__name__, v)

    values = list(values)
    types = set(map(type, values))
    if types == {str} or types <= {int, float, bool}:
        return tuple(sorted(values))  # type: ignore[type-var]
    try:
        return tuple(sorted(values, key=place))
    except TypeError:
        return tuple(sorted(values, key=lambda v: (*place(v)[:2], repr(v))))


def refuse_twins(values: Iterable[Value], what: str) -> None:
    """Refuse values of which one is a number, or true or false, and another the word that means it: perhaps they are one.

    >>> refuse_twins([1, "x", "1.0"], "column 'wheels'")
    Traceback (most recent call last):
    posteriori.errors.BadValue: column 'wheels' has 1 (int) and '1.0' (str), as two values: give both tables one type
    """
    values = list(values)
    rest = {v: v for v in values if not isinstance(v, str)}
    for word in (v for v in values if isinstance(v, str)) if rest else ():
        said = word.strip()
        truth = {"true": True, "false": False}.get(said.lower())
        meant = truth if truth is not None else float(said) if NUMBER.fullmatch(said) else None
        if meant is not None and meant in rest and isinstance(rest[meant], bool) >= isinstance(meant, bool):
            twin = f"{rest[meant]!r} ({type(rest[meant]).__name__})"
            raise BadValue(f"{what} has {twin} and {word!r:.60} (str), as two values: give both tables one type")


def is_missing(cell: Any) -> bool:
    """None, NaN, NA, NaT: a cell that is not equal to itself, or will not say."""
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except (TypeError, OverflowError):  # pandas.NA has no truth
        return True
    except ValueError:  # an array in a cell is no cell, but it is not missing either
        return False


@dataclass(frozen=True)
class Column:
    """A column: its name, its kind, and for kinds with values the values and how many of them were declared."""

    name: str
    kind: str
    values: tuple[Value, ...] = ()
    declared: frozenset[Value] = frozenset()

    @cached_property
    def place(self) -> dict[Value, int]:
        """Where each value stands."""
        return {v: i for i, v in enumerate(self.values)}

    def with_values(self, values: Iterable[Value]) -> Column:
        """The same column with these values besides the declared ones."""
        values = in_order(set(values) | self.declared)
        refuse_twins(values, f"column {self.name!r}")
        return Column(self.name, self.kind, values, self.declared)

    def united(self, other: Column) -> Column:
        """The values of both, by value."""
        if (self.name, self.kind) != (other.name, other.kind):
            refuse_twins((*self.values, *other.values), f"column {self.name!r}")
            raise TableError(
                f"column {self.name!r} of kind {self.kind} cannot be united with {other.name!r} of kind {other.kind}"
            )
        if other.declared <= self.declared and all(v in self.place for v in other.values):
            return self
        values = in_order((*self.values, *(v for v in other.values if v not in self.place)))  # nearly in order already
        refuse_twins(values, f"column {self.name!r}")
        if self.kind == "binary" and len(values) > 2:
            raise TableError(
                f"column {self.name!r} is binary but would have {len(values)} values: {list(values)}; "
                "give it the kind 'categorical'"
            )
        return Column(self.name, self.kind, values, self.declared | other.declared)


@dataclass(frozen=True)
class Reading:
    """Words for missing cells, the decimal mark, how dates are written, where a numeric target was cut into classes, names.

    >>> Reading(missing=("unknown",)).gaps[:3]
    ('unknown', '?', 'NA')
    """

    missing: tuple[str, ...] | None = None  # told, of every column; none of them: not even the usual ones among numbers
    decimal: str = "."
    dates: tuple[tuple[str, str], ...] = ()  # a column and its form, as `strptime` writes it
    edges: tuple[float, ...] = ()
    header: bool = True  # whether a text file begins with a line of names

    @property
    def gaps(self) -> tuple[str, ...]:
        """The words that are no number but a missing one."""
        return MISSING if self.missing is None else (*self.missing, *MISSING) if self.missing else ("",)

    @property
    def told(self) -> tuple[str, ...]:
        """The words that stand for a missing cell in any column."""
        return self.missing or ()

    @property
    def told_numbers(self) -> dict[str, int | float]:
        """Those of the told words that are numbers, which no cell has to write in the same way.

        >>> Reading(missing=("-9", "1e3", "none")).told_numbers
        {'-9': -9, '1e3': 1000}
        """
        found = {word: float(word) for word in self.told if OR_INFINITE.fullmatch(word.strip())}
        return {word: _exact(word.strip(), number) for word, number in found.items()}

    def told_as(self, dtype: Any) -> dict[str, Any]:
        """The told numbers as a NumPy type has them: 0.1 of single precision is another number; none beyond its range.

        >>> Reading(missing=("-9", "0.5", "200")).told_as(np.dtype(np.int8))
        {'-9': -9}
        """
        if dtype.kind != "f":
            held = np.iinfo(dtype)
            return {w: n for w, n in self.told_numbers.items() if isinstance(n, int) and held.min <= n <= held.max}
        with np.errstate(over="ignore"):
            found = {word: dtype.type(float(number)) for word, number in self.told_numbers.items()}
        return {w: n for w, n in found.items() if np.isfinite(n) or np.isinf(self.told_numbers[w])}

    def without_told(self, numbers: Any) -> Any:
        """An array of floats, NaN where a number was told to be missing."""
        told = list(self.told_as(numbers.dtype).values())
        return np.where(np.isin(numbers, told), np.nan, numbers) if told else numbers


def _exact(word: str, number: float) -> int | float:
    """A whole number as one, if 64 bits have it: no float holds all of these."""
    if word.lstrip("+-").isdigit() and abs(number) < 2.0**64:
        return int(word)
    return int(number) if number.is_integer() and abs(number) < 2.0**53 else number


@dataclass(frozen=True)
class Schema:
    """The columns and the classes of a table.

    >>> s = Schema((Column("age", "numeric"), Column("smokes", "categorical", ("no", "yes"))), classes=("ill", "well"))
    >>> s.names
    ('age', 'smokes')
    >>> s["smokes"].values
    ('no', 'yes')
    """

    columns: tuple[Column, ...]
    classes: tuple[Value, ...] = ()
    declared_classes: frozenset[Value] = frozenset()
    target: str | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)
    reading: Reading = field(default=Reading(), compare=False, repr=False)  # of the file that it is the schema of

    def __post_init__(self) -> None:
        refuse_repeated(self.names)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(c.name for c in self.columns)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the columns."""
        return tuple(c.kind for c in self.columns)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """The place of a column."""
        if name not in self._place:
            raise UnknownColumn(
                f"no column {name!r}{did_you_mean(name, self.names) or '.'} Columns: {listed(self.names)}"
            )
        return self._place[name]

    def __getitem__(self, name: str) -> Column:
        return self.columns[self.index(name)]

    def __len__(self) -> int:
        return len(self.columns)

    def __add__(self, other: Schema) -> Schema:
        """Both schemas in one: columns by name, values and classes by value."""
        if self.names != other.names:
            missing = [n for n in self.names if n not in other._place]
            extra = [n for n in other.names if n not in self._place]
            sides = [f"only {side} {listed(names)}" for side, names in (("left", missing), ("right", extra)) if names]
            raise UnknownColumn(f"schemas differ in their columns: {'; '.join(sides) or 'their order'}")
        columns = tuple(a if a is b else a.united(b) for a, b in zip(self.columns, other.columns))
        known = all(map(is_, columns, self.columns)) and set(other.classes) <= set(self.classes)
        if known and other.declared_classes <= self.declared_classes:
            return self
        classes = in_order({*self.classes, *other.classes})
        refuse_twins(classes, "the target")
        return replace(
            self,
            columns=columns,
            classes=classes,
            declared_classes=self.declared_classes | other.declared_classes,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON where the values are."""
        return {
            "columns": [
                {"name": c.name, "kind": c.kind, "values": list(c.values), "declared": list(in_order(c.declared))}
                for c in self.columns
            ],
            "classes": list(self.classes),
            "declared_classes": list(in_order(self.declared_classes)),
            "target": self.target,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """The schema of `to_dict`."""
        columns = tuple(
            Column(c["name"], c["kind"], tuple(c["values"]), frozenset(c["declared"])) for c in data["columns"]
        )
        return cls(columns, tuple(data["classes"]), frozenset(data["declared_classes"]), data["target"])

    @classmethod
    def declare(
        cls, columns: Mapping[str, str | Iterable[Value]], classes: Iterable[Value] = (), target: str | None = None
    ) -> Schema:
        """A schema that is told: each column's kind, or the list of the values it may take.

        >>> Schema.declare({"age": "numeric", "smokes": ["no", "yes"]}, classes=["ill", "well"]).kinds
        ('numeric', 'categorical')
        """
        made = []
        if not isinstance(columns, Mapping):
            raise BadParameter(f"columns must be a dict of kinds, or of lists of values. Got {columns!r} instead.")
        for name, what in columns.items():
            if isinstance(what, str):
                made.append(Column(str(name), check_kind(what, str(name))))
            else:
                values = in_order(_distinct(what, f"the values of column {name!r}"))
                made.append(Column(str(name), "categorical", values, frozenset(values)))
        if target is not None and not isinstance(target, str):
            raise BadParameter(f"target must be the name of a column. Got {target!r} instead.")
        classes = in_order(_distinct(classes, "classes"))
        return cls(tuple(made), classes, frozenset(classes), target)

    @classmethod
    def infer(cls, X: Any, y: Any = None, kinds: Any = None) -> Schema:
        """Look at every cell once and decide: see `posteriori.table.kinds.infer`."""
        from .kinds import infer

        return infer(X, y, kinds)

    def _repr_html_(self) -> str:
        return views.html("a schema", self)


def refuse_repeated(names: Sequence[str]) -> None:
    """Refuse columns of which two have one name."""
    if len(set(names)) < len(names):
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise UnknownColumn(f"duplicate columns: {listed(repeated)}; every column needs a name of its own")


def _distinct(values: Any, what: str) -> set[Value]:
    """The values of a list, none of which is missing."""
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        found = list(values)
        if all(isinstance(v, Hashable) and not is_missing(v) for v in found):
            return set(found)
    raise BadParameter(f"{what} must be a list of values. Got {values!r} instead.")


def check_kind(kind: str, name: str) -> str:
    """`kind` where it is one, else an error."""
    if not isinstance(kind, str) or kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or "."
        raise TableError(f"kinds, column {name!r}: a kind is one of {listed(KINDS)}{hint} Got {kind!r} instead.")
    return kind
