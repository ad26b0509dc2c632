"""How well the first attributes of an order foretell the class, each with up to k parents: all at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array, Floats
from . import n_threads, native

__all__ = ["ladder_losses"]


def ladder_losses(
    columns: Sequence[Array],
    sizes: Sequence[int],
    ladders: Sequence[tuple[Sequence[int], Sequence[int]]],
    log_theta: Floats,
    start: Floats,
    y: Array,
    most: int,
    every: bool,
    weights: Floats | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """Sums [k, t, 3] of log loss, squared error of P(y|x) and 0-1 loss with up to k parents and the first t ladders.

    A ladder is (family, begins): its child and the child's parents, and where the tables of its rungs begin in
    log_theta [cell, y]; rung l is [x_p1, …, x_pl, x_child] of ln θ. A code that is not below its column's size is missing:
    a missing child adds nothing, a missing parent ends the climb. All t are judged where `every` is asked, else the last.

    >>> x, y = np.array([0, 1], np.uint8), np.array([0, 1], np.uint8)
    >>> theta = np.log(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> found = ladder_losses([x], [2], [((0,), (0,))], theta, np.log([0.5, 0.5]), y, 0, True)
    >>> np.exp(-found[0, :, 0] / 2).round(4).tolist()
    [0.5, 0.75]
    """
    sums = np.zeros((most + 1, len(ladders) + 1, 3))
    work = len(y) * (most + 1) * len(ladders) * len(start) * (4 if every else 1)
    ends = np.cumsum([0, *(len(family) for family, _ in ladders)])
    native().ladder_losses(
        list(columns),
        list(sizes),
        ends,
        np.array([j for family, _ in ladders for j in family], dtype=np.int32),
        np.array([cell for _, begins in ladders for cell in begins], dtype=np.int64),
        log_theta,
        start,
        y,
        weights,
        every,
        sums,
        n_threads(n_jobs, work),
    )
    return sums
