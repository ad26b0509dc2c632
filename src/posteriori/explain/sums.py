"""Copies of a row, judged by a model that is a sum over its columns: what a cell adds is asked but once.

ln P(y, x) = ln P(y) + Σ_j p_j(x_j, y). A copy that differs in a few cells differs in their terms alone, so that thousands
of copies of a row with thousands of columns cost as many tables as a column has values to try.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Floats
from .rows import Case
from .weigh import MOST_CELLS, given


class Sums:
    """ln P(y|x) of copies of a row; a class that some term rules out is −inf, all of them where none is possible."""

    def __init__(self, model: Any, case: Case) -> None:
        self.model, self.case = model, case
        prior, parts = model._log_parts(case.table)
        self.own, self.known = parts[0], dict[tuple[int, Any], Floats]()
        self.total = _parted(np.vstack([prior, self.own])).sum(axis=1)

    def __call__(self, changes: Sequence[dict[int, Any]]) -> Floats:
        self._ask(changes)
        total = np.repeat(self.total[:, None], len(changes), axis=1)
        for i, change in enumerate(changes):
            for j, value in change.items():
                total[:, i] += _parted(self.known[j, value]) - _parted(self.own[j])
        return given(np.where(total[1] > 0.5, -np.inf, total[0]))

    def _ask(self, changes: Sequence[dict[int, Any]]) -> None:
        """The terms of cells that are new: a table whose r-th row has the r-th of them in every column."""
        new: dict[int, list[Any]] = {}
        for j, value in {pair: None for change in changes for pair in change.items() if pair not in self.known}:
            new.setdefault(j, []).append(value)
        step, most = max(1, MOST_CELLS // self.own.size), max(map(len, new.values()), default=0)
        for first in range(0, most, step):
            some = range(first, min(first + step, most))
            rows = [{j: values[r] for j, values in new.items() if r < len(values)} for r in some]
            for row, parts in zip(rows, self.model._log_parts(self.case.copies(rows))[1]):
                self.known.update({(j, value): parts[j] for j, value in row.items()})


def _parted(terms: Floats) -> Floats:
    """(terms, 0 where they are −inf; whether they are): both can be added up and taken off again."""
    out = np.isneginf(terms)
    return np.stack([np.where(out, 0.0, terms), out.astype(np.float64)])
