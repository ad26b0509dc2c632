"""The parts of a pool: what each has learned, and what it says of training rows that it has not seen.

Symbols: S[r, y] what a part says of row r; NaN where all of it has seen the row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array, Floats
from ..kernels.trees import Codes, MemberCounts, Trees, draw_bags, grow_members, grow_trees
from .coding import Coding
from .pool import FLOOR

CONCENTRATIONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # of trees
WIDEST, A_ROW = 1 << 16, 4  # numbers in the tables of a member's column: so many, or so many a row

Tell = Callable[[int], Any] | None


def tried(d: int) -> int:
    """How many columns a node of a tree looks at."""
    return min(d, max(1, round(1.5 * float(np.sqrt(d)))))


def member_tables(codes: Codes, K: int) -> float:
    """Bytes of a member, at most."""
    d, n = len(codes.sizes), codes.n
    return 2.0 * sum(codes.sizes) + d * 4.0 * min(max(WIDEST, A_ROW * n), 13.0**3 * K)


def tree_bytes(
    codes: Codes, y: Array, K: int, weights: Floats | None, count: int, room: float, n_jobs: int | None
) -> float:
    """Bytes of trees. One has up to 1.3 n nodes, half of which may hold sets of all values of a column; seldom so many: if
    that is more than there is room for, two are grown and measured."""
    sets = 16.0 * -(-max((size for size, named in zip(codes.sizes, codes.named) if named), default=0) // 64)
    tree = 1.3 * codes.n * (2.0 * (12 + 4 * K) + sets)
    if count * tree > room:
        seeds = np.arange(2, dtype=np.uint64)
        found = grow_trees(codes, y, K, weights, tried=tried(len(codes.sizes)), drawn=True, seeds=seeds, n_jobs=n_jobs)
        tree = 1.1 * (len(found.column) * (12 + 4 * K) + found.bits.nbytes)  # twice, while they are joined
    return count * tree


def grown_members(
    coding: Coding, codes: Codes, y: Array, K: int, weights: Floats | None, seeds: Array, n_jobs: int | None, tell: Tell
) -> MemberCounts:
    """A kDB member of each seed."""
    most = max(WIDEST, A_ROW * codes.n)
    return grow_members(codes, coding.blank, y, K, weights, seeds, most, n_jobs, tell)


def said_by_members(
    members: MemberCounts, codes: Codes, weights: Floats | None, seeds: Array, n_jobs: int | None
) -> Floats:
    """S out of bag; the seeds are those of the members."""
    return _mean(*members.sums(codes, draw_bags(codes.n, weights, seeds, n_jobs), n_jobs))


def grown_trees(
    codes: Codes, y: Array, K: int, weights: Floats | None, seeds: Array, n_jobs: int | None, tell: Tell
) -> tuple[Trees, float, Floats]:
    """(a tree of each seed, c of least log loss out of bag, S out of bag)."""
    d = len(codes.sizes)
    trees = grow_trees(codes, y, K, weights, tried=tried(d), drawn=True, seeds=seeds, n_jobs=n_jobs, tell=tell)
    bags = draw_bags(codes.n, weights, seeds, n_jobs)
    truth, used = trees.truth(codes, y, CONCENTRATIONS, bags, n_jobs)
    out, c = used > 0, 1.0
    if out.any():
        loss = -np.log(np.maximum(truth[out] / used[out, None], FLOOR))
        mean = np.average(loss, axis=0, weights=None if weights is None else weights[out])
        c = CONCENTRATIONS[int(np.argmin(mean))]
    return trees, c, _mean(*trees.sums(codes, c, bags, n_jobs))


def _mean(sums: Floats, times: Array) -> Floats:
    with np.errstate(invalid="ignore"):
        return sums / times[:, None]


def mean_loss(said: Floats, y: Array, weights: Floats | None) -> float:
    """The log loss of S over the rows of which it says something; NaN where there are none."""
    own = said[np.arange(len(y)), y]
    there = ~np.isnan(own)
    if not there.any():
        return float("nan")
    w = None if weights is None or not weights[there].any() else weights[there] / weights[there].max()
    return float(np.average(-np.log(np.maximum(own[there], FLOOR)), weights=w))
