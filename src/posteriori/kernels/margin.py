"""What the kernels of margins take: kernel functions, packed rows, machines, a descent under way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import kernels
from ..arrays import Array, Floats, Ints
from ..fields import NOT_NEGATIVE, OneOf, Within

ALIGNED = 8  # columns: a row of `square` is a multiple of this
KINDS = ("dot", "polynomial", "sigmoid", "rbf", "distance", "manhattan")


class KernelSpec(NamedTuple):
    """A kernel by its kind and numbers; `kernel_rows` of its twin states the formula of each kind."""

    kind: Annotated[str, OneOf(KINDS)]
    scale: Annotated[float, NOT_NEGATIVE] = 1.0
    shift: float = 0.0
    degree: Annotated[int, Within(0, (1 << 31) - 1)] = 1


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """Rows laid out for the block kernels: `panels` (⌈n/width⌉, d, width), `norms` ‖x‖² padded with zeros, and n."""

    rows: Array
    panels: Array
    norms: Array

    @property
    def n(self) -> int:
        return len(self.rows)


def pack(rows: Array, n_jobs: int | None = None) -> Packed:
    """Lay out rows (float32 or float64) for `kernel_rows` and `kernel_sums`."""
    rows = np.ascontiguousarray(rows)
    return Packed(rows, *kernels.pack_rows(rows, n_jobs))


class SparseColumns(NamedTuple):
    """The rows of a sparse table by columns (CSC): int64 starts, int32 rows, values; ‖x‖² of each row."""

    starts: Array
    at: Array
    values: Floats
    norms: Floats


def square(q: int, dtype: Any, room: Array | None = None) -> Array:
    """Space for a (q, q) matrix whose rows are whole registers, in the bytes of `room` where it fits; 0 beyond column q."""
    shape = (q, -(-q // ALIGNED) * ALIGNED)
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    fits = room is not None and size <= room.nbytes
    out = room[:size].view(dtype).reshape(shape) if fits and room is not None else np.empty(shape, dtype)
    out[:, q:] = 0.0
    return out


class Machines(NamedTuple):
    """Problems over the rows of one matrix K, laid end to end: that of machine k from starts[k] to starts[k + 1].

    Variable i has row rows[i] of K.
    """

    starts: Ints
    rows: Ints
    p: Floats
    low: Floats
    high: Floats


class Epoch(NamedTuple):
    """How many rows are in play, and the extreme projected gradients of a pass."""

    active: int
    top: float = np.inf
    bottom: float = -np.inf


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """Dual coordinate descent under way: see `descend` of the twin for the letters."""

    y: Floats
    upper: Floats
    ridge: Floats
    curvature: Floats
    bias: float
    alpha: Floats
    w: Floats
    order: Ints
