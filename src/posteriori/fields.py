"""What the fields of a class hold, said once, in its annotations: type, shape and bounds.

    class Moments:
        n: Annotated[Floats, "K d", NOT_NEGATIVE]
        mean: Annotated[Floats, "K d"]
        span: Span | None = None

| in an annotation | holds |
|---|---|
| `Floats`, `Codes`, `NDArray[np.float32 \\| np.float64]` | an array of such numbers, finite unless `UNBOUNDED` |
| `int`, `float` | a whole number of 64 bits; any finite number, any at all if `UNBOUNDED` |
| `str`, `bool`, a class, `X \\| None`, `tuple[X, ...]`, `list`, `dict`, `frozenset` | what they say, item by item |
| `"K d"` | the length of every axis: a name is one length in a class, `_` any, `n+1` one more than n |
| `Within(low, high)`, `OneOf(words)`, `Of(dtypes)`, `SUMS` | bounds, words, types, counts whose sum is a number |

The axis of a tuple, list or dict is its length, that of a whole number the number itself. What goes beyond is in a class's
own `check`; a file is read by both, so what comes out of it is what the class says.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np

from .arrays import Array
from .errors import Inconsistent

AXIS = re.compile(r"(\w+?)(?:([+-]\d+))?")


def need(holds: Any, what: str) -> None:
    """Refuse a value of which this does not hold."""
    if not holds:
        raise Inconsistent(what)


def rises(x: Any) -> bool:
    """Whether every number is above the one before it; a difference of whole numbers may not fit into their type."""
    return bool((x[1:] > x[:-1]).all())


def is_small(most: float, *parts: Any) -> bool:
    """Whether all numbers are so small, whatever their sign, that sums of them are numbers too; NaN are not."""
    return all(bool((np.abs(part) <= part.dtype.type(most)).all()) for part in parts)


@dataclasses.dataclass(frozen=True)
class Within:
    """Numbers from `low` to `high`."""

    low: float = -math.inf
    high: float = math.inf


@dataclasses.dataclass(frozen=True)
class OneOf:
    """One of some words."""

    words: tuple[str, ...]


class Of:
    """Arrays of these types, whatever else the annotation says of them."""

    def __init__(self, *dtypes: type) -> None:
        self.dtypes = [np.dtype(d) for d in dtypes]


@dataclasses.dataclass(frozen=True)
class Mark:
    """A word of an annotation that stands for itself."""

    name: str


NOT_NEGATIVE, ABOVE_0 = Within(0), Within(math.ulp(0))
UNBOUNDED = Mark("nan and infinities are numbers here")
SUMS = Mark("counts have a sum")
MAYBE = Mark("an attribute that a fitted model need not have")
DERIVED = Mark("follows from others: in no file")
FRESH = Mark("begins anew in a loaded model: in no file")
MOST, MOST_PLACES = 1 << 48, 1 << 31
MOST_SUMMED = 1e30  # of what a table, a tree or a weight says, in either precision: sums of all of them are numbers
SUMMABLE = Within(-MOST_SUMMED, MOST_SUMMED)
Natural = Annotated[int, Within(0, MOST)]
Place = Annotated[int, Within(0, MOST_PLACES)]  # of a column
Counted = Annotated[Array, Of(np.int64, np.float64), NOT_NEGATIVE, SUMS]
AnyFloats = Annotated[Array, Of(np.float32, np.float64)]


@dataclasses.dataclass(frozen=True)
class Spec:
    """What a value may be, by a test and in words."""

    text: str
    test: Callable[[Any], bool]


@dataclasses.dataclass(frozen=True)
class Field:
    """What an annotation says of a field."""

    hint: Any
    kind: Any
    axes: tuple[str, ...] | None
    marks: tuple[Any, ...]

    @property
    def spec(self) -> Spec:
        """What it may be, shape aside."""
        return spec_of(self.hint)

    @property
    def stored(self) -> bool:
        """Whether it is part of what defines a value."""
        return DERIVED not in self.marks and FRESH not in self.marks


@functools.cache
def fields_of(cls: type) -> dict[str, Field]:
    """The annotated fields of a class, those of its bases first; one that is annotated again stands where it was last."""
    hints, names = typing.get_type_hints(cls, include_extras=True), dict[str, None]()
    for base in reversed(cls.__mro__):
        for name in inspect.get_annotations(base):
            names.pop(name, None)
            names[name] = None
    own = {name: hints[name] for name in names if typing.get_origin(hints[name]) is not typing.ClassVar}
    return {name: Field(hint, *_split(hint)) for name, hint in own.items()}


def _split(hint: Any) -> tuple[Any, tuple[str, ...] | None, tuple[Any, ...]]:
    """A type, the axes and what else an `Annotated` says of it."""
    if typing.get_origin(hint) is not Annotated:
        return hint, None, ()
    kind, *more = typing.get_args(hint)
    axes = [m for m in more if isinstance(m, str)]
    return kind, tuple(axes[-1].split()) if axes else None, tuple(m for m in more if not isinstance(m, str))


def check_fields(held: Mapping[str, Any], said: Mapping[str, Field], who: str) -> None:
    """Refuse fields that are not what is said of them, or lack one that must be there; `who` has them.

    >>> @dataclasses.dataclass
    ... class Line:
    ...     x: Annotated[np.ndarray, "n"]
    ...     y: Annotated[np.ndarray, "n"]
    >>> check_fields({"x": np.zeros(3), "y": np.zeros(2)}, fields_of(Line), "Line")
    Traceback (most recent call last):
    posteriori.errors.Inconsistent: Line.y must have the shape (n) with n = 3; got (2)
    """
    for name, value in held.items():
        need(name in said and said[name].stored, f"a {who} has no field {name!r:.50}")
        spec = said[name].spec
        need(spec.test(value), f"{who}.{name} must be {spec.text}; got {_shown(value)}")
    lengths: dict[str, int] = {}
    for name, field in said.items():
        if field.stored and MAYBE not in field.marks:
            need(name in held, f"a {who} must have {name!r}")
        if field.axes is not None and held.get(name) is not None:
            _fit(f"{who}.{name}", field.axes, _lengths(held[name]), lengths)


def _lengths(value: Any) -> tuple[int, ...]:
    """The axes of an array; a list has one, and so has a whole number, whose length it is."""
    if isinstance(value, int):
        return (value,)
    return tuple(value.shape) if hasattr(value, "shape") else (len(value),)


def _fit(what: str, axes: tuple[str, ...], found: tuple[int, ...], lengths: dict[str, int]) -> None:
    """Refuse another shape than these axes have; a name that is new takes its length from here."""
    fits = len(axes) == len(found)
    for axis, n in zip(axes, found):
        name, more = typing.cast("re.Match[str]", AXIS.fullmatch(axis)).groups()
        n -= int(more or 0)
        if name != "_":
            fits = fits and 0 <= n == (int(name) if name.isdigit() else lengths.setdefault(name, n))
    known = [f"{name} = {n}" for name, n in lengths.items() if any(re.match(rf"{name}\b", axis) for axis in axes)]
    said = f"{what} must have the shape ({', '.join(axes)})" + (f" with {', '.join(known)}" if known else "")
    need(fits, f"{said}; got ({', '.join(map(str, found))})")


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {value.shape}"
    return f"{value!r:.50}" if type(value) in (str, int, float, bool) else type(value).__name__


@functools.cache
def spec_of(hint: Any, marks: tuple[Any, ...] = ()) -> Spec:
    """What an annotation says, as a test."""
    kind, axes, more = _split(hint)
    marks, origin, args = (*marks, *more), typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or isinstance(kind, typing.TypeVar):
        return Spec("anything", lambda v: True) if kind is Any else _exactly("nothing", type(None))
    if origin in (typing.Union, types.UnionType):
        return _either(*(spec_of(a if axes is None else Annotated[a, " ".join(axes)], marks) for a in args))
    if origin is np.ndarray or kind is np.ndarray:
        return _array(args, axes, marks)
    if origin is typing.Literal:
        return _word(args)
    if origin is tuple and args[-1:] != (...,):
        items = [spec_of(a, marks) for a in args]
        return Spec(
            f"a tuple of {' and '.join(i.text for i in items)}",
            lambda v: type(v) is tuple and len(v) == len(items) and all(i.test(x) for i, x in zip(items, v)),
        )
    if origin in (tuple, list, frozenset):
        item = spec_of(args[0], marks)
        return Spec(f"a {origin.__name__}, each {item.text}", lambda v: type(v) is origin and all(map(item.test, v)))
    if origin is dict:
        key, item = (spec_of(a, marks) for a in args)
        return Spec(
            f"a dict from {key.text} to {item.text}",
            lambda v: type(v) is dict and all(map(key.test, v)) and all(map(item.test, v.values())),
        )
    if (origin or kind) is np.dtype:
        known = [d for m in marks if isinstance(m, Of) for d in m.dtypes]
        return Spec(" or ".join(d.name for d in known), lambda v: isinstance(v, np.dtype) and v in known)
    plain = {str: "a text", type(None): "nothing"}
    if kind in (int, float):
        return _number(kind, marks)
    if kind is bool:
        return _exactly("true or false", bool, np.bool_)
    words = next((m.words for m in marks if isinstance(m, OneOf)), None)
    if kind is str and words is not None:
        return _word(words)
    cls = origin or kind
    return _exactly(plain.get(cls, cls.__name__), cls)


def _exactly(text: str, *kinds: type) -> Spec:
    return Spec(text, lambda v: type(v) in kinds)


def _either(*specs: Spec) -> Spec:
    return Spec(" or ".join(s.text for s in specs), lambda v: any(s.test(v) for s in specs))


def _word(words: tuple[str, ...]) -> Spec:
    return Spec(f"one of {words}", lambda v: type(v) is str and v in words)


def _bounds(marks: tuple[Any, ...]) -> tuple[float, float, str]:
    """The narrowest bounds, and how they are said."""
    within = [m for m in marks if isinstance(m, Within)]
    low, high = max((m.low for m in within), default=-math.inf), min((m.high for m in within), default=math.inf)
    below = " above 0" if low == math.ulp(0) else f" from {low:g}" + (" up" if high == math.inf else "")
    return low, high, (below if low > -math.inf else "") + (f" to {high:.15g}" if high < math.inf else "")


def _number(kind: type, marks: tuple[Any, ...]) -> Spec:
    low, high, said = _bounds(marks)
    if kind is int:
        return Spec(
            f"a whole number{said}", lambda v: type(v) is int and -(1 << 63) <= v < 1 << 63 and low <= v <= high
        )
    bounded = UNBOUNDED not in marks

    def test(v: Any) -> bool:
        whole = type(v) is int and -(1 << 63) <= v < 1 << 63
        if not (whole or type(v) in (float, np.float64, np.float32)):
            return False
        return not bounded or (bool(np.isfinite(v)) and low <= v <= high)

    return Spec(f"a {'finite ' if bounded else ''}number{said}", test)


def _array(args: tuple[Any, ...], axes: tuple[str, ...] | None, marks: tuple[Any, ...]) -> Spec:
    """An array of the types that are named, of any where none is."""
    held = typing.get_args(args[1])[0] if args else Any
    dtypes = [np.dtype(t) for t in (typing.get_args(held) or (held,))] if held is not Any else []
    for mark in marks:
        dtypes = mark.dtypes if isinstance(mark, Of) else dtypes
    low, high, said = _bounds(marks)
    bounded = UNBOUNDED not in marks

    def test(v: Any) -> bool:
        if type(v) is not np.ndarray or (axes is not None and v.ndim != len(axes)):
            return False
        if not dtypes:
            return True
        if v.dtype not in dtypes:
            return False
        if v.dtype.kind == "f" and bounded and not np.isfinite(v).all():
            return False
        if v.size and ((low > -math.inf and (v < low).any()) or (high < math.inf and (v > high).any())):
            return False
        return SUMS not in marks or _has_a_sum(v)

    finite = "finite " if bounded and any(d.kind == "f" for d in dtypes) else ""
    of = f" of {finite}{' or '.join(d.name for d in dtypes)}{said}" if dtypes else ""
    shape = "" if axes is None else f" ({', '.join(axes)})"
    return Spec(f"an array{shape}{of}", test)


def _has_a_sum(v: Array) -> bool:
    """Whether whole counts sum to less than 2⁶³, weights to a float."""
    with np.errstate(over="ignore"):
        total = float(v.sum(dtype=np.float64))
    return math.isfinite(total) if v.dtype.kind == "f" else total < 2.0**63
