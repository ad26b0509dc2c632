"""ARFF, the format of Weka: attributes that say their kind and their values, then rows of cells, `?` for a missing one."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import BadParameter, FormatError, listed
from .source import opened

WORD = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
CELL = re.compile(rf"\s*+({WORD}|(?!['\"])[^,\t]*?)\s*(?:[,\t]|$)")
ATTRIBUTE = re.compile(rf"@attribute\s+({WORD}|\S+)\s+(.+)", re.I)
NUMBERS = ("numeric", "real", "integer")


def from_arff(file: pathlib.Path, name: str, sql: str | None) -> tuple[Any, dict[str, Any], tuple[str, ...]]:
    """(the frame, values of the nominal columns, notes)."""
    import pandas as pd

    if sql is not None:
        raise BadParameter("sql (--sql) asks DuckDB, which reads no ARFF: leave it out, and choose rows of the table")
    with opened(file) as text:
        columns, values = read_arff(text, name)
    return pd.DataFrame(columns), values, ()


def read_arff(lines: Any, name: str) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """(columns, values of the nominal ones): numbers as floats, all else as words, a missing cell NaN or None.

    >>> told = ["@relation r", "@attribute a real", "@attribute b {x, y}", "@data", "1, y", "?, x"]
    >>> columns, values = read_arff(told, "r.arff")
    >>> columns["a"].tolist(), columns["b"].tolist(), values
    ([1.0, nan], ['y', 'x'], {'b': ('x', 'y')})
    """
    numbered = enumerate((line.strip("\ufeff\r\n ") for line in lines), start=1)
    told = ((at, line) for at, line in numbered if line and not line.startswith("%"))
    kinds = _attributes(told, name)
    cells: list[list[str | None]] = [[] for _ in kinds]
    for at, line in told:
        row = _cells(line, at, name)
        if len(row) != len(kinds):
            raise FormatError(f"{name}, line {at}: {len(row)} cells where there are {len(kinds)} attributes")
        for column, cell in zip(cells, row):
            column.append(cell)
        for (attribute, values), cell in zip(kinds.items(), row):
            if cell is not None and isinstance(values, tuple) and cell not in values:
                raise FormatError(
                    f"{name}, line {at}: {cell!r} is none of the values of {attribute!r}: {listed(values)}"
                )
    columns = {
        attribute: _numbers(column, attribute, name) if kind in NUMBERS else np.array(column, dtype=object)
        for (attribute, kind), column in zip(kinds.items(), cells)
    }
    return columns, {attribute: kind for attribute, kind in kinds.items() if isinstance(kind, tuple)}


def _attributes(lines: Iterator[tuple[int, str]], name: str) -> dict[str, str | tuple[str, ...]]:
    """The attributes up to @data: what each is called, and its kind or its values."""
    kinds: dict[str, str | tuple[str, ...]] = {}
    for at, line in lines:
        word = line.split(None, 1)[0].lower()
        if word == "@data":
            if not kinds:
                raise FormatError(f"{name}, line {at}: @data before any @attribute")
            return kinds
        if word == "@relation":
            continue
        found = ATTRIBUTE.fullmatch(line)
        if found is None:
            raise FormatError(f"{name}, line {at}: expected @attribute or @data. Got {line[:60]!r} instead.")
        attribute, kind = _plain(found[1]), found[2].strip()
        if attribute in kinds:
            raise FormatError(f"{name}, line {at}: a second attribute {attribute!r}; every column needs its own name")
        if kind.startswith("{") and kind.endswith("}"):
            kinds[attribute] = tuple(_plain(cell) for cell in CELL.findall(kind[1:-1])[:-1] or [""])
        elif kind.split()[0].lower() in (*NUMBERS, "string", "date"):
            kinds[attribute] = kind.split()[0].lower()
        else:
            raise FormatError(
                f"{name}, line {at}: {attribute!r} is of kind {kind!r}; known are {listed((*NUMBERS, 'string', 'date'))} "
                "and a list of values in braces (relational attributes are not read)"
            )
    raise FormatError(f"{name} has no @data")


def _cells(line: str, at: int, name: str) -> list[str | None]:
    if line.startswith("{"):
        raise FormatError(f"{name}, line {at}: sparse ARFF rows ({{index value, …}}) are not read; save it dense")
    if line.endswith("}"):
        raise FormatError(f"{name}, line {at}: weights of instances ({{…}} at the end of a row) are not read")
    if "'" not in line and '"' not in line:
        return [None if cell.strip() == "?" else cell.strip() for cell in re.split("[,\t]", line)]
    found, place = [], 0
    while place <= len(line):
        match = CELL.match(line, place)
        if match is None:
            raise FormatError(f"{name}, line {at}: a quotation mark that is not closed: {line[place : place + 60]!r}")
        found.append(None if match[1] == "?" else _plain(match[1]))
        if match.end() == len(line) and line[match.end() - 1] not in ",\t":
            break
        place = match.end() if match.end() < len(line) else len(line) + 1
        if match.end() == len(line):
            found.append("")
    return found


def _plain(word: str) -> str:
    """A word without its quotation marks."""
    if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", word[1:-1])
    return word


def _numbers(column: list[str | None], attribute: str, name: str) -> Any:
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in column])
    except ValueError:
        for row, cell in enumerate(column):
            try:
                float(cell or "nan")
            except ValueError:
                raise FormatError(
                    f"{name}, row {row} of the data: {attribute!r} is a number. Got {cell!r} instead."
                ) from None
        raise
