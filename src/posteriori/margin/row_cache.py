"""Rows of the kernel matrix, held in bounded memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Ints
from .gram import Gram

FEWEST = 16  # rows, whatever the bound


class RowCache:
    """Kernel rows held in the bytes of `room` (16 rows where it is less); the least recently used leave first."""

    def __init__(self, gram: Gram, room: NDArray[np.uint8]):
        n, item = len(gram), np.dtype(gram.dtype).itemsize
        self.gram = gram
        self.capacity = int(min(n, room.nbytes // (n * item)))
        if self.capacity < FEWEST:
            self.capacity, room = min(n, FEWEST), np.empty(FEWEST * n * item, np.uint8)
        self.buffer: NDArray[Any] = room[: self.capacity * n * item].view(gram.dtype).reshape(self.capacity, n)
        self.owner: Ints = np.full(self.capacity, -1, np.int64)
        self.slot_of: Ints = np.full(n, -1, np.int64)
        self.used: Ints = np.zeros(self.capacity, np.int64)
        self.clock = 0

    def slots(self, index: Ints) -> Ints:
        """Where the rows of `index` (no more than the capacity) stand; those not held are computed."""
        self.clock += 1
        held = self.slot_of[index]
        self.used[held[held >= 0]] = self.clock
        missing = index[held < 0]
        if len(missing):
            if len(missing) < self.capacity:
                free = np.argpartition(self.used, len(missing) - 1)[: len(missing)]
            else:
                free = np.arange(self.capacity)
            evicted = self.owner[free]
            self.slot_of[evicted[evicted >= 0]] = -1
            self.owner[free], self.slot_of[missing], self.used[free] = missing, free, self.clock
            self.gram.rows(missing, self.buffer, free)
        return self.slot_of[index]
