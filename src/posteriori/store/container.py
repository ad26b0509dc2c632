"""The bytes of a model file: safetensors (8 bytes of length, a JSON header, the arrays), with a hash of everything.

The header's `__metadata__` has three texts: `posteriori`, the head (versions, summary, dtype, shape and SHA-256 of every
array); `model`, the model with a tag a value; `sha256`, that of the two. All else in the header follows from the head, and
there is one way to write it: any other bytes are refused, so no bit of a file can change unseen.

What a file may make Python hold is bounded by its size before it is held: see `Budget`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import ModelFileError

DTYPES = {
    "float64": "F64",
    "int64": "I64",
    "uint64": "U64",
    "float32": "F32",
    "int32": "I32",
    "uint32": "U32",
    "float16": "F16",
    "int16": "I16",
    "uint16": "U16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}
OF_NAME = {short: np.dtype(name) for name, short in DTYPES.items()}
MEGABYTE = 1 << 20
OBJECT = 64  # bytes of a small Python object and the place that holds it


class Budget:
    """Bytes that a file of some size may make Python hold besides its own: 48 MB and 2¾ times its size.

    >>> Budget(1000).spend(1 << 30, "a text")
    Traceback (most recent call last):
    posteriori.errors.ModelFileError: a text would take 1,073,741,824 bytes, too much for a file of 1,000
    """

    def __init__(self, size: int) -> None:
        self.size, self.left = size, 48 * MEGABYTE + 11 * size // 4

    def spend(self, bytes_: int, what: str) -> None:
        """Take so many bytes, or refuse."""
        if bytes_ > self.left:
            raise ModelFileError(f"{what} would take {bytes_:,} bytes, too much for a file of {self.size:,}")
        self.left -= bytes_

    def spend_text(self, text: str, what: str) -> None:
        """Take what JSON holds once it is parsed, or refuse."""
        held = OBJECT * (text.count("[") + 4 * text.count("{")) + OBJECT // 2 * text.count(",")
        self.spend(len(text) + held, what)


def parse(text: str, what: str, **hooks: Any) -> Any:
    """JSON without NaN, infinities and numbers that would become infinite."""
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite, **hooks)
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{what} is no JSON that posteriori writes: {str(error)[:100]}") from None


def _no_constant(name: str) -> float:
    raise ModelFileError(f"{name} is no JSON")


def _finite(text: str) -> float:
    found = float(text)
    if not math.isfinite(found):
        raise ModelFileError(f"{text[:50]} is no finite number")
    return found


def digest(data: Any) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def entry(array: Array) -> dict[str, Any]:
    """What the head says of an array."""
    return {"dtype": DTYPES[array.dtype.name], "shape": list(array.shape), "sha256": digest(_bytes(array))}


def _bytes(array: Array) -> Any:
    return memoryview(array.reshape(-1)).cast("B") if array.size else b""


def _layout(arrays: Sequence[dict[str, Any]]) -> list[int]:
    """The arrays in their order in the file: wide items first, so that every array is aligned."""
    return sorted(range(len(arrays)), key=lambda k: (-OF_NAME[arrays[k]["dtype"]].itemsize, k))


def header_of(head: str, model: str, arrays: Sequence[dict[str, Any]]) -> bytes:
    """The one header that goes with this head and model, its length before it."""
    tensors, end = dict[str, Any](), 0
    for k in _layout(arrays):
        begin, end = end, end + _size(arrays[k])
        tensors[str(k)] = {"dtype": arrays[k]["dtype"], "shape": arrays[k]["shape"], "data_offsets": [begin, end]}
    said = {"posteriori": head, "model": model, "sha256": digest((head + model).encode())}
    text = json.dumps({"__metadata__": said, **tensors}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _size(array: dict[str, Any]) -> int:
    return int(math.prod(array["shape"])) * OF_NAME[array["dtype"]].itemsize


def pack(head: dict[str, Any], model: str, arrays: Sequence[Array]) -> Iterator[Any]:
    """The bytes of a file, part by part; arrays are C-contiguous and of a dtype in `DTYPES`."""
    entries = [entry(a) for a in arrays]
    said = json.dumps({**head, "arrays": entries}, separators=(",", ":"))
    yield header_of(said, model, entries)
    for k in _layout(entries):
        yield _bytes(arrays[k])


def split(data: bytearray, budget: Budget) -> tuple[str, str, int]:
    """(head, model, where the arrays begin) of a file, once length and hash are right."""
    if len(data) < 8:
        raise ModelFileError(f"no model file: {len(data)} bytes")
    length = int.from_bytes(data[:8], "little")
    if length > len(data) - 8:
        raise ModelFileError("no model file, or one that was cut off: its header would be longer than the file")
    try:
        text = data[8 : 8 + length].decode("ascii")
    except UnicodeDecodeError:
        raise ModelFileError("no model file: its header is no ASCII text") from None
    budget.spend(length, "the header")
    texts, at = [], 0
    for before in (
        '{"__metadata__":{"posteriori":',
        ',"model":',
        ',"sha256":',
    ):  # what follows is made again, not parsed
        if not text.startswith(before + '"', at):
            raise ModelFileError("no model file of posteriori: its header begins otherwise")
        try:
            found, at = json.JSONDecoder().raw_decode(text, at + len(before))
        except ValueError:
            raise ModelFileError("the header has a text without end") from None
        texts.append(found)
    head, model, wanted = texts
    if not (head + model).isascii():
        raise ModelFileError("the head and the model must be ASCII texts")
    if digest((head + model).encode()) != wanted:
        raise ModelFileError("the header is damaged: its SHA-256 is another than the one it was saved with")
    budget.spend_text(head, "the head")
    budget.spend_text(model, "the model")
    return head, model, 8 + length


def entries_of(head: dict[str, Any]) -> list[dict[str, Any]]:
    """What the head says of the arrays, in legal terms."""
    found = head.get("arrays")
    if not isinstance(found, list):
        raise ModelFileError("the head has no list of arrays")
    for k, array in enumerate(found):
        fits = isinstance(array, dict) and list(array) == ["dtype", "shape", "sha256"]
        if not (fits and isinstance(array["dtype"], str) and array["dtype"] in OF_NAME):
            raise ModelFileError(f"array {k} is not described by a dtype of {list(OF_NAME)}, a shape and a SHA-256")
        shape = array["shape"]
        if not (
            isinstance(shape, list) and len(shape) <= 8 and all(type(n) is int and 0 <= n < 1 << 48 for n in shape)
        ):
            raise ModelFileError(f"array {k} has the shape {shape!r:.50}, which no array has")
    return found


def arrays_of(data: bytearray, begin: int, head: str, model: str, entries: Sequence[dict[str, Any]]) -> list[Array]:
    """The arrays, views of the file's bytes, once every length and hash is right."""
    if data[:begin] != header_of(head, model, entries):
        raise ModelFileError("the header does not agree with the head that it holds")
    size = sum(map(_size, entries))
    if size != len(data) - begin:
        raise ModelFileError(f"the arrays take {size:,} bytes, the file has {len(data) - begin:,}: was it cut off?")
    out: list[Any] = [None] * len(entries)
    view, end = memoryview(data), begin
    for k in _layout(entries):
        start, end = end, end + _size(entries[k])
        if digest(view[start:end]) != entries[k]["sha256"]:
            raise ModelFileError(f"array {k} is damaged: its SHA-256 is another than the one it was saved with")
        dtype = OF_NAME[entries[k]["dtype"]]
        if dtype.kind == "b" and start < end and np.frombuffer(data, np.uint8, end - start, start).max() > 1:
            raise ModelFileError(f"array {k} has booleans that are neither true nor false")
        out[k] = np.frombuffer(data, dtype, (end - start) // dtype.itemsize, start).reshape(entries[k]["shape"])
    return out
