"""Names of array types, for signatures: what an array holds, not how it is laid out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Bools", "Codes", "Floats", "Ints"]

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Bools = NDArray[np.bool_]
