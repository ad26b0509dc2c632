"""What cells mean to a schema: a word is missing, a number, a date, a truth or itself, by what the column is known to hold.

Cells of a text file come as words; the schema says what they mean: a number where the column's kind, or all values it
knows, are numbers; else the word itself. Cells with a type of their own (Parquet, JSON lines, databases) become words where
the schema knows words. A cell that cannot be meant is named by its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as t

from ..errors import BadValue, ModelError
from .dates import PARTS, WRITTEN, YEAR_FIRST, as_dates, as_names, date_part, days, without_dates
from .encode import as_floats
from .schema import MEASURED, Column, Reading, Schema


def as_labels(cells: Any, target: str, schema: Schema, rows: Any = None, name: str = "") -> Any:
    """The labels of some rows, None where there is none; a target that is a number is cut as the schema's was."""
    edges = schema.reading.edges
    if target in dict(schema.reading.dates):
        words = cells.dictionary_decode() if hasattr(cells, "dictionary_decode") else cells
        return as_names(dates_of(words, target, schema.reading, rows, name))
    if not edges:
        labels = as_values(cells, schema.classes, schema.reading)
        return labels if isinstance(labels, np.ndarray) else np.array(labels.to_pylist(), dtype=object)
    if len(schema.classes) != len(edges) + 1:
        raise ModelError(f"the model has {len(schema.classes)} classes, and its target is cut into {len(edges) + 1}")
    return in_bins(as_numbers(cells, target, schema.reading, rows, name), edges, schema.classes)


def in_bins(y: Any, edges: Sequence[float], labels: Sequence[Any]) -> Any:
    """The label of each number's bin, which its upper edge belongs to; None where the number is missing."""
    at = np.searchsorted(np.asarray(edges), y, side="left")
    return np.array([*labels, None], dtype=object)[np.where(np.isnan(y), len(labels), at)]


def own_type(labels: Any) -> Any:
    """Labels in their own type, where it is one.

    >>> own_type(np.array(["no", "yes"], dtype=object)).dtype.kind, own_type(np.array([1, "x"], dtype=object)).dtype.kind
    ('U', 'O')
    """
    cells = labels.tolist()
    return np.array(cells) if len({type(c) for c in cells}) == 1 else labels


def source_of(name: str, names: Sequence[str]) -> str:
    """The column of the file that a column of the model comes from: `when` for `when.weekday`."""
    stem, dot, part = name.rpartition(".")
    return stem if dot and part in PARTS and name not in names and stem in names else name


def column_cells(column: Column, raw: Any, place: dict[str, int], reading: Reading, rows: Any, name: str) -> Any:
    """The cells of a column of a schema, from the columns of an Arrow batch, each in its `place`."""
    source = source_of(column.name, list(place))
    cells = raw.column(place[source])
    if source != column.name:
        part = date_part(dates_of(cells, source, reading, rows, name), column.name.rpartition(".")[2])
        return part.astype(float) if column.kind in MEASURED else part
    if column.kind in MEASURED:
        return as_numbers(cells, column.name, reading, rows, name)
    if column.name in dict(reading.dates) and not any(isinstance(v, str) for v in column.values):
        return days(dates_of(cells, column.name, reading, rows, name).to_numpy())  # told to be categories: of days
    itself = column.kind == "text" or (t.is_dictionary(cells.type) and not column.values and not reading.told)
    return cells if itself else as_values(cells, column.values, reading)


def _is_text(cells: Any) -> bool:
    return bool(t.is_string(cells.type) or t.is_large_string(cells.type) or t.is_string_view(cells.type))


def _words(cells: Any, gaps: Sequence[str]) -> Any:
    """A column of words without blanks around them; those that stand for a missing cell are missing."""
    words = pc.utf8_trim_whitespace(cells.cast(pa.large_string()))
    return pc.if_else(pc.is_in(words, pa.array(gaps, pa.large_string())), None, words)


def dates_of(cells: Any, column: str, reading: Reading, rows: Any, name: str) -> Any:
    """A column of dates as pandas has them; a word that is none is named."""
    if not _is_text(cells):
        if not (t.is_date(cells.type) or t.is_timestamp(cells.type) or t.is_null(cells.type)):
            raise BadValue(
                f"{name}, column {column!r}: expected dates, as the model has there. Got {cells.type} instead."
            )
        return cells.cast(pa.timestamp("us"), safe=False).to_pandas()  # of UTC, as training has them
    form = dict(reading.dates).get(column, YEAR_FIRST)
    words = _words(cells, reading.gaps).to_pandas().astype("str")
    found = words.dropna()
    made = as_dates(found, form)
    if made is None:
        at = next(i for i in found.index if as_dates(words.loc[[i]], form) is None)
        row = "" if rows is None else f", row {rows[at]}"
        raise BadValue(
            f"{name}{row}, column {column!r}: {words[at]!r:.60} is no date as the model's are written, "
            + ("2020-12-31" if form == YEAR_FIRST else form)
        )
    return made.reindex(words.index)


def as_numbers(cells: Any, column: str, reading: Reading, rows: Any, name: str) -> Any:
    """Words as numbers: the words that stand for a missing cell are missing, dates are days, anything else is named."""
    if t.is_temporal(cells.type):
        return without_dates(cells)
    if not _is_text(cells):
        return _finite(as_floats(_without_told(cells, reading), column), column, rows, name)
    words = _words(cells, reading.gaps)
    if column in dict(reading.dates) or (
        pc.any(pc.is_valid(words)).as_py()
        and pc.all(pc.match_substring_regex(words, f"^(?:{WRITTEN})$"), skip_nulls=True).as_py()
    ):
        return days(dates_of(cells, column, reading, rows, name).to_numpy())
    if reading.decimal == ",":
        words = pc.replace_substring(words, ",", ".")
    try:
        found = reading.without_told(words.cast(pa.float64()).to_numpy(zero_copy_only=False))
        return _finite(found, column, rows, name)
    except pa.ArrowInvalid:
        pass
    found = np.full(len(words), np.nan)
    for i, word in enumerate(words.to_pylist()):
        if word is not None:
            try:
                found[i] = float(word)
            except ValueError:
                where, word = f"{name}, row {rows[i]}, column {column!r}", cells[i].as_py()
                raise BadValue(f"{where}: {word!r:.60} is no number, as the model has there") from None
    return _finite(reading.without_told(found), column, rows, name)


def _finite(found: Any, column: str, rows: Any, name: str) -> Any:
    if np.isinf(found).any():
        at = int(np.isinf(found).argmax())
        raise BadValue(f"{name}, row {rows[at]}, column {column!r}: {found[at]} is no finite number")
    return found


def as_values(cells: Any, values: Sequence[Any], reading: Reading = Reading()) -> Any:  # noqa: B008 (a value)
    """Cells as the values of a column: numbers where all the values that are known are numbers, booleans likewise.

    Where all of them are words, numbers and booleans are the words that mean them.

    >>> import pyarrow as pa
    >>> as_values(pa.array(["1", "2", "x", None]), (1, 2)).tolist()
    [1, 2, 'x', None]
    >>> as_values(pa.array([True, False, None]), ("FALSE", "TRUE")).tolist()
    ['TRUE', 'FALSE', None]
    """
    if t.is_dictionary(cells.type) and not _is_text(cells.dictionary):
        cells = cells.dictionary_decode()
    if t.is_dictionary(cells.type):
        coded = cells
    elif _is_text(cells):
        coded = cells.cast("large_string").dictionary_encode()
    elif t.is_temporal(cells.type):
        return cells.cast("string")
    elif (t.is_boolean(cells.type) or t.is_integer(cells.type) or t.is_floating(cells.type)) and _all_words(values):
        coded = cells.dictionary_encode()
    else:
        return _without_told(cells, reading)
    words = [_as_word(cell) for cell in coded.dictionary.to_pylist()]
    meant = np.empty(len(words) + 1, dtype=object)
    meant[:-1] = [
        None if word is None or word.strip() in reading.told else _meant(word, values, reading) for word in words
    ]
    meant[-1] = None
    codes = coded.indices.fill_null(len(words)).to_numpy()
    return meant[codes]


def _without_told(cells: Any, reading: Reading) -> Any:
    """A column, its numbers that were told to be missing being so; booleans and all else stay."""
    plain = pa.array(as_floats(cells, "")) if t.is_decimal(cells.type) else cells
    if not (t.is_integer(plain.type) or t.is_floating(plain.type)):
        return cells
    held = np.dtype(plain.type.to_pandas_dtype())
    told = np.array(list(reading.told_as(held).values()), held)
    told = np.concatenate([told, -told[told == 0]])  # Arrow tells −0 from 0
    return pc.if_else(pc.is_in(plain, pa.array(told)), None, cells) if len(told) else cells


def _all_words(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(v, str) for v in values)


def _as_word(cell: Any) -> str | None:
    """A cell as a text file has it: 1 for 1.0; None where it is missing."""
    if cell is None or cell != cell:
        return None
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)


def _meant(word: str, values: Sequence[Any], reading: Reading) -> Any:
    if not values or any(isinstance(v, str) for v in values):
        return _truth(word, values)
    if all(isinstance(v, bool | np.bool_) for v in values) and word.lower() in ("true", "false"):
        return word.lower() == "true"
    plain = word.strip().replace(reading.decimal, ".")
    for number in (int, float):  # a whole number first: no float holds all of them
        try:
            made = number(plain)
        except ValueError:
            continue
        whole = int(made) if isinstance(made, float) and made.is_integer() else made
        return whole if whole not in reading.told_numbers.values() else None
    return word if plain not in reading.gaps else None


def _truth(word: str, values: Sequence[Any]) -> str:
    """True and false as the column writes them; any other word, and those that it writes in two ways, as they are."""
    if word.strip().lower() not in ("true", "false"):
        return word
    same = [v for v in values if isinstance(v, str) and v.strip().lower() == word.strip().lower()]
    return same[0] if len(same) == 1 else word
