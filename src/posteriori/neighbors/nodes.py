"""The nodes of a kd-tree, to be read: cut, children, box, points."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

import numpy as np

from ..arrays import Array, Ints
from ..kernels import neighbors as kernel


class Node(NamedTuple):
    """One node: a cut (left: x[dim] < value) or, where dim is −1, a leaf with its points; lo and hi are the box."""

    dim: int
    value: float
    left: int
    right: int
    lo: Array
    hi: Array
    points: Ints

    @property
    def is_leaf(self) -> bool:
        return self.dim < 0


class Nodes(Sequence[Node]):
    """The nodes of a tree in preorder, the root first; made when they are asked for."""

    def __init__(self, flat: kernel.Flat, scale: float) -> None:
        self._flat, self._scale = flat, scale

    def __len__(self) -> int:
        return len(self._flat.dim)

    @overload
    def __getitem__(self, i: int) -> Node: ...
    @overload
    def __getitem__(self, i: slice) -> list[Node]: ...
    def __getitem__(self, i: int | slice) -> Node | list[Node]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        i = range(len(self))[i]
        f, scale = self._flat, self._scale
        dim, right = int(f.dim[i]), int(f.right[i])
        lo, hi = f.lo[i] / scale, f.hi[i] / scale
        if dim >= 0:
            return Node(dim, float(f.value[i]) / scale, i + 1, right, lo, hi, np.empty(0, dtype=np.int64))
        ids = f.ids[f.leaf_block[right] : f.leaf_block[right + 1]].ravel()[: f.leaf_count[right]]
        return Node(-1, math.nan, -1, -1, lo, hi, np.sort(ids).astype(np.int64))

    def __iter__(self) -> Iterator[Node]:
        return (self[i] for i in range(len(self)))
