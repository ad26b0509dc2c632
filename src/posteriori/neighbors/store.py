"""The training rows: searched by an index over most of them and a buffer of the latest, joined when it has grown.

An answer never depends on which rows are where: both parts are searched exactly and merged by distance and row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array, Ints
from ..errors import ModelError
from .search import Search, merged

SMALL = 1000  # a buffer up to this size is never worth a new index


class Store:
    """Rows in the coordinates of their space, and how to build a search over some of them."""

    def __init__(self, rows: Array, index: Callable[[Array], Search]) -> None:
        self._index = index
        self.rows = rows
        self._indexed = len(rows) if isinstance(rows, np.ndarray) else rows.shape[0]
        self._main = index(rows)
        self._late: Search | None = None

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def n_buffered(self) -> int:
        """Rows that wait in the buffer."""
        return len(self) - self._indexed

    def add(self, rows: Array) -> None:
        """More rows: into the buffer, or all into a new index where the buffer would hold a quarter of them."""
        self.rows = np.concatenate([self.rows, rows])
        if self.n_buffered > max(SMALL, self._indexed // 3):
            self._indexed, self._main, self._late = len(self), self._index(self.rows), None
        else:
            self._late = self._index(self.rows[self._indexed :])

    def query(self, Q: Array, k: int, skip: Ints | None = None) -> tuple[Array, Ints]:
        """(distance, row) of the k nearest."""
        most = len(self) - (skip is not None)
        if not 1 <= k <= most:
            raise ModelError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = {most}: "
                f"ask for at least 1 and at most {most} neighbours"
            )
        if self._late is None:
            return self._main.query(Q, k, skip)
        split = self._indexed
        if skip is None:
            a = self._main.query(Q, min(k, split))
            b = self._late.query(Q, min(k, self.n_buffered))
            return merged(a, (b[0], b[1] + split), k)
        a = self._main.query(Q, min(k + 1, split))  # one more: the row itself may be among them
        b = self._late.query(Q, min(k + 1, self.n_buffered))
        distance, row = merged(a, (b[0], b[1] + split), k + 1)
        distance, row = distance.copy(), row.copy()
        itself = row == np.asarray(skip)[:, None]
        itself[~itself.any(axis=1), -1] = True  # the row itself was farther than k + 1 equals: the last goes
        return distance[~itself].reshape(len(Q), k), row[~itself].reshape(len(Q), k)
