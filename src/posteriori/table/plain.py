"""Plain files of many columns or rows, by pandas: the same frame that the engine gives, in a fraction of its time.

Plain is: a line of names, as many marks in every line, no quotes, no cell that might or might not be a number.
"""

from __future__ import annotations

import contextlib
import gzip
import pathlib
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..arrays import Array, Bools, Ints

WIDE, LARGE = 64, 1 << 16  # columns, or bytes, from which the engine costs more than a look at the file
MOST, PIECE = 1 << 28, 1 << 22  # bytes of a file up to which it is looked at, and those that are together
MARKS = ",;|\t"  # between cells
# after a mark: what may or may not be a number, or begins with a space
DOUBTFUL = {mark: re.compile(rf"(?i)\{mark}(?:[+-]?(?:0\d|nan|inf|0x)|\+|true|false|\d+_| )") for mark in MARKS}
# what a cell may begin with if it is DOUBTFUL: surely so, after a sign or a zero, or with the first letter of such a word
SURELY, AFTER, PERHAPS = 1, 2, 3
STARTS, SECOND, THIRD = np.zeros((3, 256), np.uint8)
for _code, _some in ((SURELY, b" +"), (AFTER, b"-0"), (PERHAPS, b"nNiItTfF")):
    STARTS[list(_some)] = _code
for _word in (b"nan", b"inf", b"true", b"false"):
    SECOND[[_word[0], _word[0] - 32]], THIRD[[_word[0], _word[0] - 32]] = _word[1], _word[2]
DIGITS = np.isin(np.arange(256), list(b"0123456789"))
LONG = 16  # digits of a whole number that no float may hold: beside an empty cell pandas would round it


def mark_of(line: str) -> str:
    """What stands between the cells of a line: the mark that it has most of."""
    return max(MARKS, key=line.count)


def plain_frame(file: pathlib.Path, form: str, decimal: str, header: Any) -> Any:
    """A plain file of many columns or rows; None where it is not plain, or so small or large that DuckDB is to read it."""
    import pandas as pd

    if form == "parquet":
        import pyarrow.parquet as pq
        import pyarrow.types as t

        with contextlib.suppress(OSError, ValueError):
            schema = pq.read_schema(file)
            plain = all(
                t.is_string(x) or t.is_large_string(x) or t.is_integer(x) or t.is_floating(x) for x in schema.types
            )
            if len(schema.names) > WIDE and file.stat().st_size <= MOST and plain:
                return _whole_with_gaps(pq.read_table(file))
        return None
    if form != "csv" or header not in (None, True) or decimal != "." or file.suffix.lower() == ".zst":
        return None
    packed = file.suffix.lower() == ".gz"
    with gzip.open(file) if packed else open(file, "rb") as source:
        first = (
            source.readline().decode("utf-8-sig").rstrip("\r\n")
        )  # of what is not plain no more is read than shows it
        mark = mark_of(first)
        names, size = first.split(mark), file.stat().st_size
        if (
            len(names) < 2
            or (len(names) <= WIDE and size < LARGE)
            or size > MOST
            or len(set(map(str.lower, names))) < len(names)
            or any(is_cell(n, ".") or not n or "'" in n or n.count('"') % 2 for n in names)
        ):
            return None
        gaps = False
        while piece := source.read(PIECE):
            piece += source.readline()
            empty = empty_cells(piece, mark, len(names))
            if empty is None:
                return None
            gaps |= empty
    by_pandas = partial(
        pd.read_csv,
        file,
        sep=mark,
        keep_default_na=False,
        na_values=[""],
        low_memory=False,
        encoding="utf-8-sig",
        compression="gzip" if packed else None,
    )
    found: Any = by_pandas()
    plain = all(dtype.kind in "if" or pd.api.types.is_string_dtype(dtype) for dtype in found.dtypes)
    if not plain or not len(found):
        return None
    return _whole_text_with_gaps(found, by_pandas) if gaps else found


def _whole_with_gaps(table: Any) -> Any:
    """An Arrow table as pandas has it, but whole numbers stay whole beside a missing cell."""
    import pandas as pd
    import pyarrow.types as t

    found = table.to_pandas(ignore_metadata=True)
    for j, column in enumerate(table.columns):
        if column.null_count and t.is_integer(column.type):
            kind = pd.api.types.pandas_dtype(str(column.type).replace("u", "U").replace("int", "Int"))
            found.isetitem(j, column.to_pandas(types_mapper=lambda _, kind=kind: kind))
    return found


def _whole_text_with_gaps(found: Any, again: Callable[..., Any]) -> Any:
    """The same of a text file, where the cells as words (read again) tell 1 from 1.0."""
    floats = np.flatnonzero([dtype.kind == "f" for dtype in found.dtypes])
    some = (
        floats[b : b + 256] for b in range(0, len(floats), 256)
    )  # together: a column alone takes as long as a hundred
    gaps = [int(j) for part in some for j in part[_may_be_whole(found.iloc[:, part].to_numpy())]]
    if gaps:
        words = again(usecols=gaps, dtype=str)
        for i, j in enumerate(gaps):
            if words.iloc[:, i].dropna().str.fullmatch(r"-?[0-9]+").all():
                found.isetitem(j, found.iloc[:, j].astype("Int64"))
    return found


def _may_be_whole(cells: Array) -> Bools:
    """The columns in which whole numbers, as far as floats tell, stand beside missing cells."""
    missing = np.isnan(cells)
    found: Bools = np.asarray(missing.any(axis=0) & ~missing.all(axis=0))
    if found.any():
        found[found] = (missing | (cells == np.floor(cells)))[:, found].all(axis=0)
    return found


def empty_cells(lines: bytes, mark: str, width: int) -> bool | None:
    """Whether some cells are empty; None where the lines are not plain.

    Plain: so many cells in every line, without quotes or spaces at their ends, none of them DOUBTFUL.
    """
    lines = lines.replace(b"\r\n", b"\n") if b"\r" in lines else lines
    lines = lines if lines.endswith(b"\n") else lines + b"\n"
    if any(odd in lines for odd in (b'"', b"'", b"\r", b"\0")):
        return None
    text = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero((text == ord(mark)) | (text == ord("\n")))
    last = np.arange(width - 1, len(ends), width)
    if len(ends) % width or not np.array_equal(np.flatnonzero(text[ends] == ord("\n")), last):
        return None
    if b" " in lines and (text[ends - 1] == ord(" ")).any():
        return None
    begins = np.concatenate([[0], ends[:-1] + 1])
    empty = bool((begins == ends).any())
    start = STARTS[text[begins]]
    if (start == SURELY).any():
        return None

    def then(at: Ints, by: int) -> Array:  # the bytes after these, in lower case
        return text[np.minimum(at + by, len(text) - 1)] | 32

    long = begins[ends - begins >= LONG]
    long = long + (text[long] == ord("-"))
    for by in range(LONG):
        long = long[DIGITS[text[long + by]]]
    if len(long):
        return None
    signs = begins[start == AFTER]  # of 0.5 and −0.5 there are many, of 007 few
    signs = signs + (text[signs] == ord("-"))
    if ((text[signs] == ord("0")) & (DIGITS[then(signs, 1)] | (then(signs, 1) == ord("x")))).any():
        return None
    words = np.concatenate([signs, begins[start == PERHAPS]])
    for by, following in enumerate((SECOND, THIRD), start=1):
        words = words[then(words, by) == following[text[words]]]
    under = np.flatnonzero(text == ord("_")) if b"_" in lines else words[:0]
    if not len(words) and not DIGITS[text[under - 1]].any():
        return empty
    return None if DOUBTFUL[mark].search(mark + lines.decode().replace("\n", mark)) else empty


def is_cell(word: str, decimal: str) -> bool:
    """Whether a word of the first line is a cell and no name: a number, or the sign for a missing one."""
    try:
        float(word.replace(decimal, "."))
    except ValueError:
        return word.strip() == "?"
    return True
