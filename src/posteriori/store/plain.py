"""Plain values that JSON does not have: bytes, dates, decimals, scalars of NumPy and pandas, streams of random numbers."""

from __future__ import annotations

import datetime
import decimal
import fractions
import uuid
import zoneinfo
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ModelFileError

SAID = {"b": (bool,), "i": (int,), "u": (int,), "f": (float, str), "U": (str,), "S": (str,)}  # scalars in JSON
SCALARS = (
    *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float16, np.float32, np.float64, np.str_, np.bytes_),
)
PERMUTED = {"PCG64": np.random.PCG64, "PCG64DXSM": np.random.PCG64DXSM}  # the streams of `default_rng`
STREAMS = ("RandomState", "Generator")
HOMES = {"builtins", "datetime", "decimal", "fractions", "uuid", "numpy", "pandas"}  # of the types meant by the tags


def write_plain(value: Any) -> dict[str, Any] | None:
    """A plain value with its tag; None where it is none, or would come back as another."""
    tag = type(value).__name__
    if tag not in PLAIN or type(value).__module__.partition(".")[0] not in HOMES:
        return None
    read, write = PLAIN[tag]
    written = write(value)
    try:
        back = read(written)
    except (ModelFileError, ValueError, TypeError):
        return None
    same = type(back) is type(value) and (tag in STREAMS or repr(back) == repr(value))
    return {"is": tag, "of": written} if same else None


def read_plain(tag: str, fields: dict[str, Any]) -> Any:
    """The value of a tag."""
    if list(fields) != ["of"]:
        raise ModelFileError(f"a {tag!r} must have the field 'of' alone")
    return PLAIN[tag][0](fields["of"])


def _scalar(kind: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    def read(of: Any) -> Any:
        if type(of) not in SAID[np.dtype(kind).kind]:
            raise ModelFileError(f"{of!r:.50} is no {kind.__name__}")
        return kind(bytes.fromhex(of) if kind is np.bytes_ else of)

    def write(value: Any) -> Any:
        if kind is np.bytes_:
            return value.hex()
        found = value.item()
        return repr(found) if isinstance(found, float) and not np.isfinite(found) else found

    return read, write


def _moment(kind: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """datetime64 and timedelta64: a whole number and its unit."""

    def read(of: Any) -> Any:
        number, unit, step = of
        if not (type(number) is int and isinstance(unit, str) and len(unit) < 8 and type(step) is int):
            raise ModelFileError(f"{of!r:.50} is no moment")
        letter = "M" if kind is np.datetime64 else "m"
        return np.array([number], np.int64).view(f"{letter}8" if unit == "generic" else f"{letter}8[{step}{unit}]")[0]

    def write(value: Any) -> Any:
        return [int(value.view(np.int64)), *np.datetime_data(value.dtype)]

    return read, write


def _pandas(name: str) -> Any:
    import pandas as pd

    return getattr(pd, name)


def _zone(name: Any) -> Any:
    """A time zone by its name; only names that this machine knows are looked up."""
    if name is None or name == "UTC":
        return None if name is None else datetime.UTC
    if not isinstance(name, str) or name not in zoneinfo.available_timezones():
        raise ModelFileError(f"this machine knows no time zone {name!r:.50}")
    return zoneinfo.ZoneInfo(name)


def _timestamp(of: Any) -> Any:
    number, unit, zone = of
    found = _pandas("Timestamp")(_moment(np.datetime64)[0]([number, unit, 1]))
    return found if zone is None else found.tz_localize("UTC").tz_convert(_zone(zone))


def _timedelta(of: Any) -> Any:
    number, unit = of
    return _pandas("Timedelta")(_moment(np.timedelta64)[0]([number, unit, 1]))


def _random_state(of: Any) -> Any:
    keys, pos, has_gauss, cached = of
    numbers = np.array(keys, dtype=np.uint32)
    if not (numbers.shape == (624,) and type(pos) is int and 0 <= pos <= 624 and has_gauss in (0, 1)):
        raise ModelFileError("a RandomState cannot be in this state")
    made = np.random.RandomState(0)
    made.set_state(("MT19937", numbers, pos, has_gauss, float(cached)))
    return made


def _random_state_of(value: Any) -> Any:
    name, keys, pos, has_gauss, cached = value.get_state()
    return [np.asarray(keys).tolist(), int(pos), int(has_gauss), float(cached)] if name == "MT19937" else None


def _generator(of: Any) -> Any:
    name, number, step, has, last = of
    whole = all(type(n) is int and 0 <= n < 1 << 128 for n in (number, step)) and type(last) is int
    if name not in PERMUTED or not whole or not step & 1 or has not in (0, 1) or not 0 <= last < 1 << 32:
        raise ModelFileError("a stream of random numbers cannot be in this state")
    made = PERMUTED[name](0)
    made.state = {"bit_generator": name, "state": {"state": number, "inc": step}, "has_uint32": has, "uinteger": last}
    return np.random.Generator(made)


def _generator_of(value: Any) -> Any:
    state = value.bit_generator.state
    if state["bit_generator"] not in PERMUTED:
        return None
    inner = state["state"]
    return [state["bit_generator"], inner["state"], inner["inc"], state["has_uint32"], state["uinteger"]]


def _numbers(make: Callable[..., Any]) -> Callable[[Any], Any]:
    def read(of: Any) -> Any:
        if not isinstance(of, list) or not all(type(n) in (int, float) for n in of):
            raise ModelFileError("expected a list of numbers")
        return make(*of)

    return read


def _text(make: Callable[[str], Any]) -> Callable[[Any], Any]:
    def read(of: Any) -> Any:
        if not isinstance(of, str) or len(of) > 10_000:
            raise ModelFileError("expected a text")
        return make(of)

    return read


def _nothing(name: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    return lambda of: _pandas(name), lambda value: None


PLAIN: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "bytes": (_text(bytes.fromhex), lambda v: v.hex()),
    "date": (_text(datetime.date.fromisoformat), lambda v: v.isoformat()),
    "time": (_text(datetime.time.fromisoformat), lambda v: v.isoformat()),
    "datetime": (_text(datetime.datetime.fromisoformat), lambda v: v.isoformat()),
    "timedelta": (_numbers(datetime.timedelta), lambda v: [v.days, v.seconds, v.microseconds]),
    "Decimal": (_text(decimal.Decimal), str),
    "Fraction": (_numbers(fractions.Fraction), lambda v: [v.numerator, v.denominator]),
    "UUID": (_text(uuid.UUID), str),
    **{kind.__name__: _scalar(kind) for kind in SCALARS},
    "datetime64": _moment(np.datetime64),
    "timedelta64": _moment(np.timedelta64),
    "Timestamp": (_timestamp, lambda v: [int(v.asm8.view(np.int64)), v.unit, None if v.tz is None else str(v.tz)]),
    "Timedelta": (_timedelta, lambda v: [int(v.asm8.view(np.int64)), v.unit]),
    "NaTType": _nothing("NaT"),
    "NAType": _nothing("NA"),
    "RandomState": (_random_state, _random_state_of),
    "Generator": (_generator, _generator_of),
}
