"""How DuckDB, PostgreSQL and Spark SQL write names, texts and numbers; nothing in a name or a value can end its quotes."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...errors import NotStorable

LOW = -1e300  # ln 0: sums of it stay numbers, and exp of it is no overflow


@dataclass(frozen=True)
class Dialect:
    """The words of one database."""

    name: str
    quote: str  # around a name
    double: str  # the type of float64
    text: str  # the type of texts
    nan: str  # whether {x} is NaN
    folds: bool  # whether names that differ in case alone are one

    def column(self, name: str) -> str:
        """A name, quoted.

        >>> DIALECTS["duckdb"].column('a"; DROP TABLE x')
        '"a""; DROP TABLE x"'
        """
        return self.quote + _plain(name, "name").replace(self.quote, 2 * self.quote) + self.quote

    def number(self, value: float) -> str:
        """A float64 to the last bit; ln 0 as `LOW`."""
        value = LOW if value == -math.inf else float(value)
        if not math.isfinite(value):
            raise NotStorable(f"a query cannot hold the number {value}")
        if self.name == "postgres":
            return f"CAST('{value!r}' AS {self.double})"
        return f"{value!r}D" if self.name == "spark" else f"{value:.17e}"

    def nth(self, values: Iterable[float], place: str) -> str:
        """The number at a place, from 1 on, of many: as one text, which a database reads much faster than many numbers.

        >>> DIALECTS["duckdb"].nth([0.5, float("-inf")], "p")
        "CAST(string_split('0.5,-1e+300', ',') AS DOUBLE[])[p]"
        """
        listed = ",".join(repr(float(LOW if v == -math.inf else v)) for v in values)
        if self.name == "postgres":
            return f"(CAST(string_to_array('{listed}', ',') AS float8[]))[{place}]"
        if self.name == "spark":
            return f"element_at(from_json('[{listed}]', 'array<double>'), {place})"
        return f"CAST(string_split('{listed}', ',') AS DOUBLE[])[{place}]"

    def literal(self, value: Any, what: str) -> str:
        """A value of a column or a class."""
        kind = type(value)
        if hasattr(value, "item") and kind.__module__ == "numpy":
            value = value.item()
            kind = type(value)
        if kind is str:
            return self._text(value)
        if kind is bool:
            return "TRUE" if value else "FALSE"
        if kind is int and abs(value) < 1 << 63:
            return str(value)
        if kind is float:
            return self.number(value)
        if kind is datetime.date:
            return f"DATE '{value.isoformat()}'"
        if isinstance(value, datetime.datetime) and value.tzinfo is None:
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        raise NotStorable(f"{what} has the value {value!r:.50} ({kind.__name__}), which {self.name} does not write")

    def _text(self, value: str) -> str:
        value = _plain(value, "text")
        if self.name == "spark":
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        doubled = value.replace("'", "''")
        if self.name == "postgres" and "\\" in doubled:  # the same whatever standard_conforming_strings says
            return "E'" + doubled.replace("\\", "\\\\") + "'"
        return f"'{doubled}'"

    def cast(self, column: str, values: tuple[Any, ...], what: str) -> str:
        """A column in the type of the values that it is compared with."""
        types = {type(v.item() if hasattr(v, "item") else v) for v in values}
        if types <= {str}:
            return f"CAST({column} AS {self.text})"
        if types <= {bool}:
            return f"CAST({column} AS BOOLEAN)"
        if types <= {int}:
            return column
        if types <= {int, float}:
            return self.measured(column)
        if len(types) == 1:
            return column
        names = sorted(t.__name__ for t in types)
        raise NotStorable(f"{what} has values of several types ({', '.join(names)}); a column of a database has one")

    def part_of(self, date: str, part: str) -> str:
        """A date as a model reads it: days since 1970-01-01, or its year, month (1 to 12), weekday (0, Monday) or hour.

        >>> DIALECTS["postgres"].part_of('"sold"', "weekday")
        'CAST(extract(isodow FROM CAST("sold" AS timestamp)) - 1 AS bigint)'
        """
        moment = f"CAST({date} AS {'TIMESTAMP_NTZ' if self.name == 'spark' else 'timestamp'})"
        if part == "days":
            return {
                "duckdb": f"(epoch_us({moment}) / 86400000000)",
                "postgres": f"(CAST(extract(epoch FROM {moment}) AS float8) / 86400)",
                "spark": f"(timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01', {moment}) / 86400000000)",
            }[self.name]
        if part == "weekday":
            if self.name == "spark":
                return f"CAST(weekday({moment}) AS bigint)"
            return f"CAST(extract(isodow FROM {moment}) - 1 AS bigint)"
        return f"CAST(extract({part} FROM {moment}) AS bigint)"

    def measured(self, column: str) -> str:
        """A column of numbers, NULL where a cell is missing: NULL or NaN."""
        number = f"CAST({column} AS {self.double})"
        return f"CASE WHEN {self.nan.format(x=number)} THEN NULL ELSE {number} END"


def _plain(value: str, what: str) -> str:
    """A text that a database can hold."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise NotStorable(f"the {what} {value!r:.50} is no legal text of a database") from None
    if "\0" in value:
        raise NotStorable(f"the {what} {value!r:.50} has a NUL, which databases do not hold")
    return value


DIALECTS = {
    "duckdb": Dialect("duckdb", '"', "DOUBLE", "VARCHAR", "isnan({x})", True),
    "postgres": Dialect("postgres", '"', "float8", "text", "{x} = CAST('NaN' AS float8)", False),
    "spark": Dialect("spark", "`", "DOUBLE", "STRING", "isnan({x})", True),
}
