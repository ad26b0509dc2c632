"""How DuckDB, PostgreSQL and Spark SQL write names, texts and numbers; nothing in a name or a value can end its quotes."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...errors import NotStorable

BEYOND = 99_999_999_999_999_999_999  # more than 64 bits hold
MOST = "1.7976931348623157e308"  # of a float64
LOW = -1e300  # ln 0: sums of it stay numbers, and exp of it is no overflow


@dataclass(frozen=True)
class Dialect:
    """The words of one database."""

    name: str
    quote: str  # around a name
    double: str  # the type of float64
    text: str  # the type of texts
    time: str  # the type of dates with a time, without a zone
    whole_type: str  # the type of numbers with more digits than float64 has
    divided: str  # the sign of a division of whole numbers
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

    def div(self, i: str, n: int) -> str:
        """A whole number divided by another, without the rest."""
        return f"({i} {self.divided} {n})"

    def item(self, place: str) -> str:
        """An item of a list that is a column, `name[from 1 on]`."""
        return f"element_at({place[:-1].replace('[', ', ', 1)})" if self.name == "spark" else place

    def each(self, text: str, i: str, n: int) -> str:
        """The list of what an expression is for i = 0 … n − 1."""
        return {
            "duckdb": f"[{text} for {i} in range({n})]",
            "postgres": f"ARRAY(SELECT {text} FROM generate_series(0, {n - 1}) AS s({i}) ORDER BY {i})",
            "spark": f"transform(sequence(0, {n - 1}), {i} -> {text})",
        }[self.name]

    def log_sums(self, name: str, n: int, size: int) -> str:
        """The list of ln Σ exp over each `size` items of a list that is a column, n times."""
        if self.name == "postgres":
            group = f"(o - 1) / {size}"
            items = f"unnest({name}) WITH ORDINALITY AS u(e, o)"
            part = f"SELECT {group} AS g, e, max(e) OVER (PARTITION BY {group}) AS m FROM {items}"
            total = "m + ln(sum(CASE WHEN e - m < -700 THEN 0 ELSE exp(e - m) END))"
            return f"ARRAY(SELECT {total} FROM ({part}) AS q GROUP BY g, m ORDER BY g)"
        if self.name == "duckdb":
            part = f"{name}[g * {size} + 1:g * {size} + {size}]"
            total = f"list_max({part}) + ln(list_sum([exp(e - list_max({part})) for e in {part}]))"
        else:
            part = f"slice({name}, g * {size} + 1, {size})"
            total = f"array_max({part}) + ln(aggregate({part}, 0D, (s, e) -> s + exp(e - array_max({part}))))"
        return self.each(total, "g", n)

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

    def part_of(self, date: str, part: str) -> str:
        """A date as a model reads it: days since 1970-01-01, or its year, month (1 to 12), weekday (0, Monday) or hour.

        >>> DIALECTS["postgres"].part_of('"sold"', "weekday")
        'CAST(extract(isodow FROM CAST("sold" AS timestamp)) - 1 AS bigint)'
        """
        moment = f"CAST({date} AS {self.time})"
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

    @property
    def no_number(self) -> str:
        """NaN, which is equal to itself in all three."""
        return f"CAST('NaN' AS {self.double})"

    def words(self, cell: str) -> str:
        """A cell of any type as text; the padding of a char is gone."""
        return f"CAST({cell} AS {self.text})"

    def trimmed(self, cell: str) -> str:
        return f"TRIM({self.words(cell)})"

    def is_a(self, family: str, cell: str) -> str:
        """Whether the column of a cell has a type of a family."""
        types = _TYPES[family]
        if self.name == "postgres":
            known = ", ".join(f"CAST('{t}' AS regtype)" for t in types[1].split())
            return f"pg_typeof({cell}) IN ({known})"
        return self.matches(f"lower(typeof({cell}))", types[0])

    def matches(self, text: str, pattern: str) -> str:
        """Whether all of a text is a pattern."""
        if self.name == "duckdb":
            return f"regexp_full_match({text}, '{pattern}')"
        return f"{text} {'~' if self.name == 'postgres' else 'RLIKE'} '^({pattern})$'"

    def float(self, cell: str) -> str:
        """A number, or a text that is one, as float64: infinite where it is beyond, 0 where it is below."""
        if self.name != "postgres":
            return f"TRY_CAST({cell if self.name == 'duckdb' else self.trimmed(cell)} AS {self.double})"
        text = self.trimmed(cell)
        exact = f"CAST({text} AS numeric)"
        return (
            f"CAST(CASE WHEN {self.is_a('plain', cell)} THEN {text} "
            f"WHEN {self.is_a('single', cell)} THEN CAST(CAST(CAST({text} AS float4) AS float8) AS text) "
            f"WHEN {exact} = 'NaN' THEN 'NaN' "
            f"WHEN {exact} > {MOST} THEN 'Infinity' WHEN {exact} < -{MOST} THEN '-Infinity' "
            f"WHEN abs({exact}) < 5e-324 THEN '0' ELSE {text} END AS float8)"
        )

    def whole(self, cell: str) -> str:
        """A number as an exact one; a number that is none of 64 bits is `BEYOND`."""
        text = self.trimmed(cell)
        if self.name == "postgres":
            return f"NULLIF(CAST({text} AS numeric), 'NaN')"
        number = f"COALESCE(TRY_CAST({text} AS {self.whole_type}), CAST({BEYOND} AS {self.whole_type}))"
        return f"CASE WHEN lower({text}) = 'nan' THEN NULL ELSE {number} END"

    def iso(self, cell: str) -> str:
        """A date or time as text, whatever the session says of how dates are written."""
        return f"(to_jsonb({cell}) #>> '{{}}')" if self.name == "postgres" else self.words(cell)

    def moment(self, text: str) -> str:
        return f"CAST({text} AS {self.time})"

    def in_utc(self, cell: str) -> str:
        """A time with a zone, in UTC."""
        return f"(CAST({self.iso(cell)} AS timestamptz) AT TIME ZONE 'UTC')"

    def fail(self, message: str, cell: str, kind: str) -> str:
        """The end of the query, in the place of a value of some type: a message, and the type of the column."""
        said = self._text(message)
        if self.name == "duckdb":
            return f"CAST(error({said} || typeof({cell})) AS {kind})"
        if self.name == "spark":
            return f"CAST(raise_error(concat({said}, typeof({cell}))) AS {kind})"
        known = f"CAST({said} || CAST(pg_typeof({cell}) AS text) AS {'integer' if kind == self.text else kind})"
        return f"CAST({known} AS text)" if kind == self.text else known


# types of columns: as `typeof` writes them, and PostgreSQL's names
_TYPES = {
    "boolean": ("boolean", "bool"),
    "number": (
        "u?(tiny|small|big|huge)?int(eger)?|float|double|decimal.*|bignum",
        "int2 int4 int8 float4 float8 numeric",
    ),
    "plain": ("", "int2 int4 int8 float8"),  # of which every text is one of float64
    "single": ("float", "float4"),
    "moment": ("date|timestamp.*", "date timestamp timestamptz"),
    "zoned": ("timestamp with time zone", "timestamptz"),
    "padded": ("char.*", "bpchar"),
    "bytes": ("blob|binary", "bytea"),
}


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
    "duckdb": Dialect("duckdb", '"', "DOUBLE", "VARCHAR", "timestamp", "DECIMAL(38, 18)", "//", True),
    "postgres": Dialect("postgres", '"', "float8", "text", "timestamp", "numeric", "/", False),
    "spark": Dialect("spark", "`", "DOUBLE", "STRING", "TIMESTAMP_NTZ", "DECIMAL(38, 18)", "DIV", True),
}
