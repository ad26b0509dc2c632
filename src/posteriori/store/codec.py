"""Values ↔ JSON: what JSON has as it is, every other value as {"is": tag, field: value, …}, arrays by their number.

| value | written as |
|---|---|
| None, bool, str, whole and finite numbers, list | as JSON has them |
| nan, ±inf | {"is": "float", "of": "nan"} |
| tuple, set, frozenset, dict | {"is": "tuple", "of": […]}, a dict as pairs |
| 16 and more texts, numbers or booleans | {"is": "tuple", "as": "text", …}: an array, not JSON |
| arrays | {"is": "array", "at": 3}; texts and objects {"is": "objects", …} |
| whole numbers that fit into a narrower type | {"is": "array", "at": 3, "wide": "int64"} |
| plain values (`plain`), our classes (`forms`) | {"is": "date", "of": "2024-01-01"}, {"is": "Counts", "table": …} |

Reading is bottom up: `json` hands over every object as soon as it is closed, and it becomes its value there and then.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array
from ..errors import ModelFileError, NotStorable, PosterioriError
from ..table.schema import in_order
from .container import DTYPES, OBJECT, Budget, parse
from .forms import form_of, form_tagged
from .plain import PLAIN, read_plain, write_plain

NUMBER = 40  # bytes of a number and its place in a list
BLOCK = 1 << 14  # texts made at a time
MANY = 16  # items from which a list of one type is an array
WIDER = 24 << 20  # bytes of arrays that are read wider than twice their width
NARROW = [np.dtype(t) for t in ("u1", "i1", "u2", "i2", "u4", "i4")]
LARGE = 1 << 14  # bits of a whole number: more digits than Python reads from a text
BULK: dict[type, tuple[str, Any]] = {int: ("int", np.int64), float: ("float", np.float64), bool: ("bool", np.bool_)}
BOXES: dict[str, Callable[[list[Any]], Any]] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
REFUSALS = (PosterioriError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)  # of a constructor
HALVES = "a text with half a character (a lone surrogate), which is no text to most programs"
HALF = re.compile(r"\\u[dD][89a-fA-F]")
SPELT = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)")  # two halves, one, or an escape
SPARSE = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}


class Writer:
    """Values to JSON; `arrays` grows with the arrays that it meets.

    >>> Writer().text((1, float("inf")))
    '{"is":"tuple","of":[1,{"is":"float","of":"inf"}]}'
    """

    def __init__(self, narrow: bool = True) -> None:
        self.arrays: list[Array] = []
        self.held = 0  # bytes that a reader spends on lists, and on arrays that are narrow in the file
        self._wider = WIDER if narrow else None
        self._where: list[str] = []

    def text(self, value: Any) -> str:
        """The JSON of a value."""
        found = json.dumps(self.value(value), separators=(",", ":"), allow_nan=False)
        if has_halves(found):
            self._refuse(value, HALVES)
        return found

    def value(self, value: Any) -> Any:
        """A value in JSON's own types."""
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if value.bit_length() < LARGE else self._refuse(value, "so large a number")
        if kind is float:
            return value if math.isfinite(value) else {"is": "float", "of": repr(value)}
        if kind in (list, tuple):
            return self._box(kind.__name__, value)
        if kind in (set, frozenset):
            return self._box(kind.__name__, list(in_order(value)))
        if kind is dict:
            return {"is": "dict", "of": [[self.value(k), self._at(str(k), v)] for k, v in value.items()]}
        if kind is np.ndarray:
            return self._array(value)
        if isinstance(value, np.dtype) and value.name in DTYPES:
            return {"is": "dtype", "of": value.name}
        if kind.__name__ in SPARSE and kind is SPARSE[kind.__name__]:
            end = int(value.indptr[-1])  # what stands behind is no part of the table
            held = {"data": value.data[:end], "indices": value.indices[:end], "indptr": value.indptr}
            parts = {name: self._at(name, part) for name, part in held.items()}
            return {"is": kind.__name__, "shape": list(map(int, value.shape)), **parts}
        plain = write_plain(value)
        if plain is not None:
            return plain
        form = form_of(kind)
        if form is None:
            return self._refuse(value, f"{_article(value)} {kind.__module__}.{kind.__qualname__}")
        return {"is": kind.__name__} | {name: self._at(name, part) for name, part in form.take(value).items()}

    def _at(self, name: str, value: Any) -> Any:
        """A part of a value; errors name the way to it."""
        self._where.append(name)
        found = self.value(value)
        self._where.pop()
        return found

    def _refuse(self, value: Any, what: str) -> Any:
        where = ".".join(self._where) or "the model"
        hint = ""
        if callable(value):
            hint = "; a file holds no code: give the parameter a name or a number, or None, before saving"
        elif hasattr(value, "get_params"):
            hint = "; only estimators and networks of posteriori itself are held, no subclasses and no other library's"
        raise NotStorable(f"{where}: a model file cannot hold {what}{hint}")

    def _box(self, name: str, items: Sequence[Any]) -> Any:
        types = set(map(type, items)) if len(items) >= MANY else set()
        if types == {str}:
            try:
                bits = [s.encode() for s in items]
            except UnicodeEncodeError:
                return self._refuse(items, HALVES)
            ends = np.cumsum([len(b) for b in bits], dtype=np.int64)
            text = np.frombuffer(b"".join(bits), np.uint8)
            self.held += texts_take(text, len(ends))
            return {"is": name, "as": "text", "ends": self._array(ends), "of": self._array(text)}
        if len(types) == 1 and (found := BULK.get(next(iter(types)))):
            try:
                made = self._array(np.array(items, found[1]))
                self.held += NUMBER * len(items)
                return {"is": name, "as": found[0], "of": made}
            except OverflowError:
                pass  # numbers beyond 64 bits stay as they are
        written = [self._at(str(k), v) for k, v in enumerate(items)]
        return written if name == "list" else {"is": name, "of": written}

    def _array(self, array: Array) -> Any:
        dtype = array.dtype.newbyteorder("=")
        if dtype.kind in "UO":
            self.held += array.nbytes
            shape = {"shape": list(array.shape), "of": self._box("list", array.ravel().tolist())}
            return (
                {"is": "objects", **shape}
                if dtype.kind == "O"
                else {"is": "texts", "width": dtype.itemsize // 4, **shape}
            )
        how: dict[str, Any] = {}
        if array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous:
            array, how = array.T, {"order": "F"}
        array = np.asarray(array, dtype=dtype, order="C")
        if dtype.kind in "mM":
            array, how = array.view(np.int64), {**how, "as": dtype.str[1:]}
        if dtype.kind == "S":
            array, how = array.view(np.uint8), {**how, "as": dtype.str[1:]}
        if array.dtype.name not in DTYPES:
            return self._refuse(array, f"an array of {dtype}")
        stored = array if self._wider is None else narrowed(array, self._wider)
        if self._wider is not None and stored is not array:
            self.held += array.nbytes
            self._wider -= array.nbytes if stored.itemsize * 2 < array.itemsize else 0
            how = {"wide": array.dtype.name, **how}
        self.arrays.append(stored)
        return {"is": "array", "at": len(self.arrays) - 1, **how}


def _article(value: Any) -> str:
    return "the function or class" if callable(value) and not hasattr(value, "get_params") else "an object of type"


class Reader:
    """JSON to values; every array is used once."""

    def __init__(self, arrays: Sequence[Array], budget: Budget) -> None:
        self._arrays: list[Array | None] = list(arrays)
        self._budget = budget

    def value(self, text: str) -> Any:
        """The value of a text."""
        if has_halves(text):
            raise ModelFileError(f"no model file holds {HALVES}")
        found = parse(text, "the model", object_pairs_hook=self._object)
        left = [k for k, a in enumerate(self._arrays) if a is not None]
        if left:
            raise ModelFileError(f"array {left[0]} belongs to no value")
        return found

    def _object(self, pairs: list[tuple[str, Any]]) -> Any:
        fields = dict(pairs)
        if len(fields) < len(pairs) or not pairs or pairs[0][0] != "is" or not isinstance(fields["is"], str):
            raise ModelFileError("an object of the model must begin with its tag, and name a field once")
        tag = fields.pop("is")
        try:
            if tag in READ:
                return READ[tag](self, tag, fields)
            form = None if tag in PLAIN else form_tagged(tag)
            if form is None and tag not in PLAIN:
                raise ModelFileError(f"nothing is called {tag!r:.50} here: was the file saved by a newer posteriori?")
            return read_plain(tag, fields) if form is None else form.make(fields)
        except ModelFileError:
            raise
        except REFUSALS as error:
            raise ModelFileError(f"no {tag} can be made of this: {str(error)[:200]}") from error

    def _float(self, tag: str, fields: dict[str, Any]) -> float:
        (text,) = take(tag, fields, "of")
        if text not in ("nan", "inf", "-inf"):
            raise ModelFileError(f"{text!r:.50} is no number")
        return float(text)

    def _dtype(self, tag: str, fields: dict[str, Any]) -> Any:
        (name,) = take(tag, fields, "of")
        if not isinstance(name, str) or name not in DTYPES:
            raise ModelFileError(f"{name!r:.50} is no dtype")
        return np.dtype(name)

    def _box(self, tag: str, fields: dict[str, Any]) -> Any:
        items = self._bulk(tag, fields) if "as" in fields else take(tag, fields, "of")[0]
        if not isinstance(items, list):
            raise ModelFileError(f"a {tag} must hold a list")
        if tag in ("set", "frozenset") and not all(isinstance(item, Hashable) for item in items):
            raise ModelFileError(f"an item of a {tag} must not change")
        found = BOXES[tag](items)
        if len(found) < len(items):
            raise ModelFileError(f"a {tag} must hold every item once")
        return found

    def _bulk(self, tag: str, fields: dict[str, Any]) -> list[Any]:
        kind = fields.pop("as")
        if kind == "text":
            ends, text = take(tag, fields, "ends", "of")
            needs = ends, text
            if not all(type(a) is np.ndarray and a.ndim == 1 for a in needs) or (ends.dtype, text.dtype) != (
                np.dtype(np.int64),
                np.dtype(np.uint8),
            ):
                raise ModelFileError("texts are bytes, and where each ends")
            last = int(ends[-1]) if len(ends) else 0  # differences of ends may not fit into their type
            if last != len(text) or (len(ends) and ends[0] < 0) or (ends[1:] < ends[:-1]).any():
                raise ModelFileError("texts must end one after another, the last where their bytes do")
            self._budget.spend(texts_take(text, len(ends)), "a list of texts")
            texts, bits, begin = list[Any](), memoryview(text), 0
            for k in range(0, len(ends), BLOCK):  # so that the numbers of all ends are never there at once
                at = ends[k : k + BLOCK].tolist()
                texts += [str(bits[a:b], "utf-8") for a, b in zip([begin, *at], at)]
                begin = at[-1]
            return texts
        (array,) = take(tag, fields, "of")
        wanted = next((dtype for name, dtype in BULK.values() if name == kind), None)
        if wanted is None or type(array) is not np.ndarray or array.ndim != 1 or array.dtype != wanted:
            raise ModelFileError(f"a {tag} of {kind!r:.20} must be one array of such")
        self._budget.spend(NUMBER * len(array), "a list of numbers")
        found: list[Any] = array.tolist()
        return found

    def _dict(self, tag: str, fields: dict[str, Any]) -> dict[Any, Any]:
        (pairs,) = take(tag, fields, "of")
        if not isinstance(pairs, list) or not all(isinstance(p, list) and len(p) == 2 for p in pairs):
            raise ModelFileError("a dict must be a list of pairs")
        if not all(isinstance(k, Hashable) for k, _ in pairs):
            raise ModelFileError("the key of a dict must not change")
        found = dict(map(tuple, pairs))
        if len(found) < len(pairs):
            raise ModelFileError("a dict must have every key once")
        return found

    def _array(self, tag: str, fields: dict[str, Any]) -> Array:
        order, as_, wide = (fields.pop(name, None) for name in ("order", "as", "wide"))
        (at,) = take(tag, fields, "at")
        if type(at) is not int or not 0 <= at < len(self._arrays) or (array := self._arrays[at]) is None:
            raise ModelFileError(f"there is no array {at!r:.20}, or it is used twice")
        self._arrays[at] = None
        if wide is not None:
            array = self._widened(array, wide)
        if as_ is not None:
            array = _viewed(array, as_)
        if order is not None and (order != "F" or array.ndim < 2):
            raise ModelFileError(f"an array has no order {order!r:.20}")
        return array if order is None else array.T

    def _widened(self, array: Array, wide: Any) -> Array:
        """Whole numbers in the type that they have in a model."""
        if not isinstance(wide, str) or wide not in DTYPES:
            raise ModelFileError(f"{wide!r:.50} is no dtype")
        dtype = np.dtype(wide)
        if array.dtype.kind not in "iu" or dtype.itemsize <= array.itemsize or not np.can_cast(array.dtype, dtype):
            raise ModelFileError(f"an array of {array.dtype} cannot be read as one of {wide}")
        self._budget.spend(array.size * dtype.itemsize, "an array")
        return array.astype(dtype)

    def _objects(self, tag: str, fields: dict[str, Any]) -> Array:
        shape, items = take(tag, fields, "shape", "of")
        made = np.empty(_count(shape, items), dtype=object)
        made[:] = items
        return made.reshape(shape)

    def _texts(self, tag: str, fields: dict[str, Any]) -> Array:
        width, shape, items = take(tag, fields, "width", "shape", "of")
        _count(shape, items)
        if type(width) is not int or not 0 <= width < 1 << 24 or not all(type(s) is str for s in items):
            raise ModelFileError("an array of texts must hold texts, and say how wide they are")
        self._budget.spend(4 * width * len(items), "an array of texts")
        if max(map(len, items), default=0) > width or any(s.endswith("\0") for s in items):
            raise ModelFileError("a text is wider than its array says")
        return np.array(items, dtype=f"<U{width}").reshape(shape)

    def _sparse(self, tag: str, fields: dict[str, Any]) -> Any:
        shape, data, indices, indptr = take(tag, fields, "shape", "data", "indices", "indptr")
        arrays = all(type(a) is np.ndarray and a.ndim == 1 for a in (data, indices, indptr))
        if not arrays or not _is_shape(shape) or len(shape) != 2 or data.dtype.kind not in "fiub":
            raise ModelFileError("a sparse matrix must have a shape, numbers and their places")
        typed = indices.dtype == indptr.dtype and indices.dtype in (np.int32, np.int64)
        if not typed or len(indptr) != shape[0] + 1 or len(data) != len(indices):
            raise ModelFileError("the places of a sparse matrix must be whole numbers, one for every cell")
        # scipy itself looks no further where the last row ends at 0, and then reads what is not there
        if indptr[0] != 0 or indptr[-1] != len(data) or (indptr[1:] < indptr[:-1]).any():
            raise ModelFileError("the rows of a sparse matrix must end one after another")
        if len(indices) and not 0 <= indices.min() <= indices.max() < shape[1]:
            raise ModelFileError("a sparse matrix has a cell in a column that is not there")
        return SPARSE[tag]((data, indices, indptr), shape=tuple(shape), copy=False)


def narrowed(array: Array, wider: int = WIDER) -> Array:
    """Whole numbers in the narrowest type that has them all, of half the width if they would take more than `wider`.

    >>> [narrowed(np.array([0, most] * 9)).dtype.name for most in (255, -1, 256, 1 << 40)]
    ['uint8', 'int8', 'uint16', 'int64']
    """
    kind, width = array.dtype.kind, array.itemsize
    if kind not in "iuf" or array.nbytes < 64 or (kind == "f" and not _whole(array)):
        return array
    low, high = array.min(), array.max()
    for dtype in NARROW:
        most = np.iinfo(dtype)
        fits = dtype.itemsize < width and np.can_cast(dtype, array.dtype) and most.min <= low and high <= most.max
        if fits and (dtype.itemsize * 2 >= width or array.nbytes <= wider):
            return array.astype(dtype)
    return array


def _whole(array: Array) -> bool:
    """Whether floats are whole numbers, none of them a zero with a sign."""
    for some in (array.ravel()[:64], array):  # most are not, and need not be read to the end
        if not (np.isfinite(some).all() and (np.trunc(some) == some).all()):
            return False
    return not bool((np.signbit(array) & (array == 0)).any())


def texts_take(text: Array, n: int) -> int:
    """Bytes that so many texts take in Python: wide letters are four bytes each."""
    wide = 1 if not len(text) or text.max() < 128 else 4
    return (OBJECT + 8) * n + wide * len(text)


def has_halves(text: str) -> bool:
    """Whether a JSON text of ASCII letters spells half a character: a surrogate without its other half.

    >>> [has_halves(json.dumps(s)) for s in (chr(0x1F642), chr(0xD83D), r"\\ud83d")]
    [False, True, False]
    """
    if not HALF.search(text):
        return False
    return any(m[1] is not None for m in SPELT.finditer(text))


def take(tag: str, fields: dict[str, Any], *names: str) -> list[Any]:
    """The fields of a value, which must be these."""
    if set(fields) != set(names):
        raise ModelFileError(f"a {tag!r} must have the fields {list(names)}; got {list(fields)!r:.100}")
    return [fields[n] for n in names]


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list) and len(shape) <= 8 and all(type(n) is int and 0 <= n < 1 << 48 for n in shape)


def _count(shape: Any, items: Any) -> int:
    if not _is_shape(shape) or not isinstance(items, list) or math.prod(shape) != len(items):
        raise ModelFileError("an array must have as many items as its shape says")
    return len(items)


def _viewed(array: Array, as_: Any) -> Array:
    """Whole numbers as moments in time, bytes as texts of bytes."""
    if not isinstance(as_, str) or as_[:1] not in ("M", "m", "S") or len(as_) > 12:
        raise ModelFileError(f"an array cannot be read as {as_!r:.20}")
    dtype = np.dtype(f"<{as_}" if as_[0] != "S" else as_)
    if array.dtype != (np.uint8 if as_[0] == "S" else np.int64) or not dtype.itemsize or array.ndim == 0:
        raise ModelFileError(f"an array of {array.dtype} cannot be read as {as_!r:.20}")
    return array.view(dtype)


READ: dict[str, Callable[[Reader, str, dict[str, Any]], Any]] = {
    "float": Reader._float,
    **dict.fromkeys(BOXES, Reader._box),
    "dict": Reader._dict,
    "dtype": Reader._dtype,
    "array": Reader._array,
    "objects": Reader._objects,
    "texts": Reader._texts,
    **dict.fromkeys(SPARSE, Reader._sparse),
}
