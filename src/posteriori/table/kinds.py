"""The kind of each column: told, or read off its dtype; by `infer`, and only there, read off the cells.

`infer` is the explicit first pass. Its rules, in order: told is told · strings and categories are categorical, but long
free text is text · booleans and columns with the two values 0 and 1 are binary · whole numbers with few values (at most
`FEW`, each seen `OFTEN` times on average) are categorical · other numbers are numeric · a column of strings or whole
numbers with a value for nearly every row is warned about: an id tells nothing of the next row.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import Array, Ints
from ..errors import BadType, TableError, UnknownColumn, counted, did_you_mean, listed
from .dates import date_columns
from .encode import distinct, numbers
from .frame import Frame, open_frame
from .labels import encode_labels
from .schema import MEASURED, VALUED, Column, Schema, check_kind, is_missing

FEW, OFTEN = 10, 10
SIGNED = re.compile(r"(?=.*[$€£¥%])[+-]?[$€£¥]? ?[+-]?\d[\d.,' ]*[$€£¥%]?")  # "$2,770", "12 %"
WORDY = 4.0  # words a cell from which strings with many values are text
Kinds = str | Mapping[Any, str] | Schema | None


def resolve_kinds(frame: Frame, kinds: Kinds) -> tuple[str, ...]:
    """A kind for each column of the frame: what was told, else what the dtype says."""
    if isinstance(kinds, Schema):
        return kinds.kinds
    if isinstance(kinds, str):
        return (check_kind(kinds, "(all)"),) * frame.d
    if kinds is not None and not isinstance(kinds, Mapping):
        raise TableError(f"kinds must be a kind for all columns, a dict for some, or a Schema. Got {kinds!r} instead.")
    told = {_place(frame, key): check_kind(kind, str(key)) for key, kind in (kinds or {}).items()}
    if frame.matrix is not None and frame.matrix.dtype != object and not told:
        return (kind_of(frame.matrix[:0, 0] if frame.d else frame.matrix, "all columns"),) * frame.d
    if frame.sparse is not None:
        usual = {"b": "binary", "i": "count", "u": "count"}.get(frame.sparse.dtype.kind, "numeric")
        return tuple(told.get(j, usual) for j in range(frame.d))
    return tuple(told[j] if j in told else kind_of(frame.column(j), frame.name(j)) for j in range(frame.d))


def kind_of(column: Any, name: str) -> str:
    """What the dtype alone says: strings and categories are categorical, booleans binary, numbers numeric.

    >>> kind_of(np.array(["a", "b"]), "x"), kind_of(np.array([1, 2]), "x"), kind_of(np.array([True]), "x")
    ('categorical', 'numeric', 'binary')
    """
    if isinstance(column, np.ndarray) and column.dtype != object:
        if column.dtype.kind in "iuf":
            return "numeric"
        if column.dtype.kind in "bUS":
            return "binary" if column.dtype.kind == "b" else "categorical"
        raise _no_kind(name, str(column.dtype))
    return _arrow_kind(_arrow_type(column, name), name)


def _arrow_type(column: Any, name: str) -> Any:
    """The Arrow type of a column; of Python objects, the type they share, or None where they share none."""
    import pyarrow as pa

    if not isinstance(column, np.ndarray):
        return column.type
    try:
        return pa.infer_type([v for v in column if not is_missing(v)])
    except (pa.ArrowException, OverflowError):
        strange = next((v for v in column if not is_missing(v) and getattr(v, "__hash__", None) is None), None)
        if strange is not None:
            raise BadType(f"column {name!r}: argument must be a string or a number, not {strange!r}") from None
        return None


def _arrow_kind(kind: Any, name: str) -> str:
    import pyarrow.types as t

    if kind is None or t.is_large_string(kind) or t.is_string(kind) or t.is_null(kind) or t.is_dictionary(kind):
        return "categorical"
    if t.is_boolean(kind):
        return "binary"
    if t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind):
        return "numeric"
    words = (t.is_string_view, t.is_binary, t.is_large_binary, t.is_binary_view)
    if any(is_one(kind) for is_one in words):
        return "categorical"
    raise _no_kind(name, str(kind))


def _no_kind(name: str, dtype: str) -> Exception:
    return BadType(f"column {name!r}: argument must be a string or a number, not {dtype}")


def _place(frame: Frame, key: Any) -> int:
    if frame.names is not None and str(key) in frame.names:
        return frame.names.index(str(key))
    if frame.names is None and isinstance(key, int | np.integer) and not isinstance(key, bool):
        if not -frame.d <= key < frame.d:
            raise UnknownColumn(f"kinds names column {key}, but the table has {frame.d} columns")
        return int(key) % frame.d
    names = frame.names or tuple(f"x{j}" for j in range(frame.d))
    if key not in names:
        raise UnknownColumn(f"kinds names no column {key!r}{did_you_mean(key, names) or '.'} Columns: {listed(names)}")
    return names.index(key)


def infer(X: Any, y: Any = None, kinds: Kinds = None) -> Schema:
    """A schema with the values of every column, and `notes` that say what was decided and why.

    >>> s = infer({"smokes": ["no", "yes"] * 30, "rooms": [1, 2, 3] * 20, "rent": [411.5, 730.2, 951.0] * 20})
    >>> s.kinds
    ('categorical', 'categorical', 'numeric')
    >>> s.notes[1]
    'rooms: categorical (whole numbers, 3 values)'
    """
    return infer_frame(open_frame(X), date_columns(X), y, kinds)


def infer_frame(frame: Frame, dates: set[str], y: Any = None, kinds: Kinds = None) -> Schema:
    """`infer` of a table that is open already, with the names of the columns that were dates."""
    if frame.sparse is not None:
        frame = Frame(frame.n, frame.names, sparse=frame.sparse.tocsc())
    told = _told(frame, kinds)
    columns, notes = [], []
    clear = _clear_numbers(frame)
    for j in range(frame.d):
        cells, name = frame.column(j), frame.name(j)
        if name in dates and j not in told:
            column, note = Column(name, "numeric"), f"{name}: numeric (dates, as days since 1970-01-01)"
        elif j in clear and j not in told:
            column, note = _numeric(name, *clear[j])
        else:
            column, note = _decide(cells, name, told.get(j))
        columns.append(column)
        notes.append(note)
    warn_of_codes(frame, columns, {*dates, *map(frame.name, told)})
    classes = () if y is None else tuple(encode_labels(y)[0].tolist())
    return Schema(tuple(columns), classes, notes=tuple(notes))


def _clear_numbers(frame: Frame) -> dict[int, tuple[int, int, bool]]:
    """(distinct values, observed cells, whether all are whole) of numeric columns that need no closer look.

    Columns of a type are sorted together: of a short column the cells cost less than a call.
    """
    if not frame.n or frame.sparse is not None:
        return {}
    groups: dict[Any, list[int]] = {}
    for j in range(frame.d):
        cells = frame.column(j)
        if isinstance(cells, np.ndarray) and cells.dtype.kind in "iuf":
            groups.setdefault(cells.dtype, []).append(j)
    clear: dict[int, tuple[int, int, bool]] = {}
    many = max(1, (1 << 20) // frame.n)  # columns at a time
    for where in (group[at : at + many] for group in groups.values() for at in range(0, len(group), many)):
        x = np.array([frame.column(j) for j in where])
        if x.dtype.kind in "iu":
            facts = zip(where, _different(x).tolist(), [frame.n] * len(where), [True] * len(where))
        else:
            x.sort(axis=1)  # NaN at the end
            there = x == x
            different = there[:, 0] + ((x[:, 1:] != x[:, :-1]) & there[:, 1:]).sum(axis=1)
            whole = (((np.floor(x) == x) & (np.abs(x) < np.inf)) | ~there).all(axis=1)
            facts = zip(where, different.tolist(), there.sum(axis=1).tolist(), whole.tolist())
        clear |= {j: (values, rows, integer) for j, values, rows, integer in facts if values > FEW or not integer}
    return clear


def _different(x: Array) -> Ints:
    """How many different whole numbers stand in each row: marked where they lie near each other, sorted where not.

    >>> _different(np.array([[3, 5, 3], [1, -(2**62), 2**62]])).tolist()
    [2, 3]
    """
    n, low = x.shape[1], x.min(axis=1).astype(np.int64)
    wide = (x.max(axis=1).astype(np.int64) - low).view(
        np.uint64
    )  # right in 64 bits, whatever wraps: floats would round
    near = wide < 4 * n
    found = np.empty(len(x), np.int64)
    apart = np.sort(x[~near], axis=1)
    found[~near] = 1 + (apart[:, 1:] != apart[:, :-1]).sum(axis=1)
    marks = np.zeros((int(near.sum()), 4 * n), np.bool_)
    marks[np.arange(len(marks))[:, None], x[near].astype(np.int64) - low[near, None]] = True
    found[near] = marks.sum(axis=1)
    return found


def _told(frame: Frame, kinds: Kinds) -> dict[int, str]:
    if isinstance(kinds, dict):
        resolve_kinds(frame.take_rows(np.arange(min(frame.n, 1))), kinds)
        return {_place(frame, name): kind for name, kind in kinds.items()}
    return {} if kinds is None else dict(enumerate(resolve_kinds(frame, kinds)))


def _decide(cells: Any, name: str, told: str | None) -> tuple[Column, str]:
    by_dtype = told or kind_of(cells, name)
    if by_dtype in MEASURED and told:
        return Column(name, told), f"{name}: {told} (told)"
    if by_dtype == "numeric":
        return _decide_numbers(cells, name)
    values, rows = distinct(cells, name)
    if told:
        kind, why = told, "told"
    elif by_dtype == "binary":
        kind, why = "binary", "booleans"
    elif _is_text(values, rows):
        kind, why = "text", f"free text, {counted(len(values), 'different cell')}"
    else:
        kind, why = "categorical", f"strings, {counted(len(values), 'value')}"
        _warn_id(name, len(values), rows)
        _warn_signed(name, values)
    if by_dtype == "binary" and set(values) <= {False, True}:
        values = (False, True)
    if kind == "categorical" and values and all(isinstance(v, str) and v.isdigit() for v in values):
        why += f", all digits: {_why_words(values)}"
    declared = frozenset(values) if kind in VALUED and kind != "text" else frozenset()
    return Column(name, kind, tuple(values) if declared else (), declared), f"{name}: {kind} ({why})"


def _why_words(values: Any) -> str:
    """Why cells of digits are no numbers."""
    if any(v[0] == "0" and len(v) > 1 for v in values):
        return "leading zeros keep them words"
    long = max(map(len, values)) > 15  # digits that every float holds
    return "as numbers some would be equal, so they are words" if long else "words in the file"


def _decide_numbers(cells: Any, name: str) -> tuple[Column, str]:
    values, rows = distinct(cells, name)
    whole = all(float(v).is_integer() for v in values)  # type: ignore[arg-type]
    if whole and set(values) == {0, 1}:
        return Column(name, "binary", tuple(values), frozenset(values)), f"{name}: binary (0 and 1)"
    if whole and len(values) <= FEW and rows >= OFTEN * len(values):
        note = f"{name}: categorical (whole numbers, {counted(len(values), 'value')})"
        return Column(name, "categorical", tuple(values), frozenset(values)), note
    return _numeric(name, len(values), rows, whole)


def _numeric(name: str, values: int, rows: int, whole: bool) -> tuple[Column, str]:
    if whole:
        _warn_id(name, values, rows)
    return Column(name, "numeric"), f"{name}: numeric ({counted(values, 'different number')})"


def warn_of_codes(frame: Frame, columns: Sequence[Column], told: Container[str]) -> None:
    """Say so of a column that is numeric by its type alone, and has few whole numbers, again and again, beside words."""
    if frame.n < OFTEN or frame.sparse is not None or not any(c.kind == "categorical" for c in columns):
        return
    some, codes = frame.take_rows(np.arange(min(frame.n, 100 * FEW))), []
    for j in (j for j, c in enumerate(columns) if c.kind == "numeric" and c.name not in told):
        for part in (some, frame):  # the first rows tell of most columns that they are none of these
            x = numbers(part, [j])[:, 0]
            found = np.unique(x[x == x])
            if not 1 < len(found) <= min(FEW, part.n / 5) or (found != np.floor(found)).any():
                break
        else:
            codes.append(columns[j].name)
    if codes:
        which = f"column {codes[0]!r} has" if len(codes) == 1 else f"columns {listed(codes)} have"
        warnings.warn(
            f"{which} few different whole numbers, beside words, and {'is' if len(codes) == 1 else 'are'} numeric: "
            "names are to be told the kind 'categorical', and numbers 'numeric', which ends this warning",
            stacklevel=3,
        )


def _warn_signed(name: str, values: Sequence[Any]) -> None:
    """Say so of words that are numbers but for a sign of money or of per cent: each would be a name of its own."""
    some = [v for v in values[: 100 * FEW] if isinstance(v, str)]
    signed = [v for v in some if SIGNED.fullmatch(v.strip())]
    if len(signed) > FEW and len(signed) > 0.5 * len(some):
        warnings.warn(
            f"column {name!r} holds words like {signed[0]!r}: without the sign (and a comma between thousands) they are "
            "numbers; as they stand each is a name of its own",
            stacklevel=2,
        )


def _is_text(values: Any, rows: int) -> bool:
    words = [v.count(" ") + 1 for v in values if isinstance(v, str)]
    return bool(words) and len(values) > 0.5 * rows and float(np.mean(words)) >= WORDY


def _warn_id(name: str, values: int, rows: int) -> None:
    if rows >= 20 and values >= 0.95 * rows:
        warnings.warn(
            f"column {name!r} has {values} different values in {rows} rows and looks like an id: leave it out, "
            "it tells nothing of the next row",
            UserWarning,
            stacklevel=2,
        )
