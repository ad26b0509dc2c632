"""Names of array types, for signatures: what an array holds, not how it is laid out."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Bools = NDArray[np.bool_]


def is_number(value: Any, low: float = -math.inf, high: float = math.inf) -> bool:
    """Whether a value is a real number between two others that a float can hold: whole numbers of Python have no end.

    >>> is_number(2, 0), is_number(10**400, 0), is_number(True), is_number(math.inf, 0), is_number(math.nan)
    (True, False, False, True, False)
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return low <= float(value) <= high
    except OverflowError:
        return False


def is_whole(value: Any, low: int, high: int = 2**63 - 1) -> bool:
    """Whether a value is a whole number between two others; unless told, one that an array can hold.

    >>> is_whole(np.int8(2), 0), is_whole(10**30, 0), is_whole(True, 0), is_whole(2.0, 0)
    (True, False, False, False)
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        return False
    number: Any = value
    return bool(low <= number <= high)
