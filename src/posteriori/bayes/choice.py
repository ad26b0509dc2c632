"""Choosing among models by rows that they have not learned: folds and single rows are taken out of the counts of the whole.

Symbols: w = min(weight, 1) of a row is what leave-one-out takes from its own class. Losses are Σ over rows, each with its
weight, of −ln P(y|x), of (1 − P(y|x))² and of whether the class of greatest P is another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array, Floats, Ints
from ..kernels import ladder_losses, log_joint_cells, normalise
from ..smoothing.theta import log_prior, log_share, log_theta
from ..statistics.collect import count_coded
from ..statistics.counts import Counts, starts_of
from ..statistics.cuts import CodedTable
from ..statistics.statistics import Statistics
from .families import Families, Rung

CRITERIA = ("log_loss", "rmse", "error")
ROWS = 1 << 16  # rows judged at a time where rungs have no tables

Fold = tuple[Ints, Floats | None]  # rows, and how much of their weight lies in the fold
Held = tuple[CodedTable, Statistics, Array, Floats | None]  # rows of a fold, the statistics of all others, y, weights


def losses(log_joint: Floats, y: Array, weights: Floats | None, n_jobs: int | None = None) -> Floats:
    """The three losses of these rows; a row that no class allows has lost."""
    evidence = normalise(log_joint, n_jobs)[1]
    possible = np.isfinite(evidence)
    own = np.where(possible, log_joint[np.arange(len(y)), y] - np.where(possible, evidence, 0.0), -np.inf)
    wrong = (log_joint.argmax(axis=1) != y) | ~possible
    terms = np.stack([-own, (1 - np.exp(own)) ** 2, wrong])
    sums: Floats = (terms if weights is None else terms * weights).sum(axis=1)
    return sums


def folds_of(table: CodedTable, y: Array, weights: Floats | None, n_folds: int) -> list[Fold]:
    """The rows dealt to folds, one unit of weight after the other, those of each class evenly.

    The order of dealing is that of a hash of the rows' codes: neither the order of the table matters nor whether a row is
    repeated or weighs more. A heavy row lies in several folds, with a part of its weight in each.
    """
    mixed = np.zeros(table.n, dtype=np.uint64)
    for j, size in enumerate(table.sizes):
        mixed = (
            mixed * np.uint64(0x9E3779B97F4A7C15) + np.minimum(table.column(j), size).astype(np.uint64) + np.uint64(1)
        )
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    order = np.lexsort((mixed, y))
    if weights is None:
        of = np.empty(table.n, dtype=np.int64)
        of[order] = np.arange(table.n) % n_folds
        return [(np.flatnonzero(of == f), None) for f in range(min(n_folds, table.n))]
    end = np.empty(table.n)
    end[order] = np.cumsum(weights[order])
    folds = []
    for f in range(n_folds):  # all weight on a line, cut into units: unit u belongs to fold u mod F
        upto, before = (np.floor(x / n_folds) + np.clip(x % n_folds - f, 0.0, 1.0) for x in (end, end - weights))
        mass = np.clip(upto - before, 0.0, weights)
        rows = np.flatnonzero(mass > 1e-9 * weights)
        if len(rows):
            folds.append((rows, mass[rows]))
    return folds


def held_out(table: CodedTable, base: Statistics, y: Array, fold: Fold) -> Held:
    """One fold, and the statistics without it, in the same schema."""
    rows, w = fold
    part = table.take(rows)
    cells, of_class = count_coded(part, y[rows], base.n_classes, w)
    return part, replace(base, cells=base.cells - cells, rows=np.maximum(base.rows - of_class, 0)), y[rows], w


def prefix_losses(
    families: Families,
    order: Sequence[int],
    table: CodedTable,
    y: Array,
    weights: Floats | None,
    most: int,
    every: bool,
    n_jobs: int | None,
) -> Floats:
    """Losses with k = 0 … most parents and the first t attributes of the order, shape (k, t, 3).

    All t where `every` is asked, else only the last: all attributes.
    """
    sums = np.zeros((most + 1, len(order) + 1, 3))
    wide = any(isinstance(rung, Rung) for j in order for rung in families.levels[j])
    step = ROWS if wide else max(table.n, 1)
    for begin in range(0, table.n, step):
        rows = np.arange(begin, min(table.n, begin + step))
        columns, sizes, ladders, tables = _laid_out(families, order, table.take(rows))
        start, w = families.log_prior, None if weights is None else weights[rows]
        sums += ladder_losses(columns, sizes, ladders, tables, start, y[rows], most, every, w, n_jobs)
    return sums


def _laid_out(families: Families, order: Sequence[int], table: CodedTable) -> tuple[Any, ...]:
    """(columns, sizes, ladders in their order, all tables under each other), as the kernel takes them.

    A ladder without tables gets some here, of what its rungs say of each row: their value is the row.
    """
    columns, sizes, K = table.columns(), list(table.sizes), len(families.log_prior)
    ladders, tables, cells = [], [np.zeros((0, K))], 0
    for j in order:
        family, rungs = [j, *families.structure.parents[j]], list(families.levels[j])
        if any(isinstance(rung, Rung) for rung in rungs):
            family, rungs = [len(columns)] + [len(columns) + 1] * (len(rungs) - 1), families.ladder(table, j)
            columns += [np.arange(table.n, dtype=np.uint32), np.zeros(table.n, dtype=np.uint8)]
            sizes += [table.n, 1]
        begins = []
        for rung in rungs:
            tables.append(rung.reshape(-1, K))
            begins.append(cells)
            cells += len(tables[-1])
        ladders.append((family, begins))
    return columns, sizes, ladders, np.concatenate(tables)


def fewest(by_fold: Floats) -> tuple[int, int]:
    """(parents, attributes) of least loss, with the fewest parents that are within one standard error of the best.

    `by_fold[f, k, t]` is what fold f adds to the mean loss; the error is that of the difference, paired by fold.
    """
    loss, n = np.round(by_fold.sum(axis=0), 12), len(by_fold)
    best = np.unravel_index(np.argmin(loss), loss.shape)
    for k in range(best[0]):
        t = int(np.argmin(loss[k]))
        gap = by_fold[:, k, t] - by_fold[:, best[0], best[1]]
        if n > 1 and gap.sum() <= np.std(gap, ddof=1) * np.sqrt(n):
            return k, t
    return int(best[0]), int(best[1])


def leave_out_prior(
    base: Statistics, prior: Any, smoothing: float, y: Array, weights: Floats | None, left_out: bool
) -> tuple[Floats, Floats]:
    """P(y) up to a factor that all classes share: of classes that are not the row's, and of its own without the row."""
    rows = base.rows
    told = np.exp(log_prior(rows, prior, smoothing, base.schema.classes))
    if not isinstance(prior, str) or prior == "uniform":
        return told, told[y]
    mass = rows + (smoothing if prior == "smoothed" else 0.0)
    gone = np.zeros(len(y)) if not left_out else np.minimum(1.0 if weights is None else weights, 1.0)
    return mass.astype(np.float64), np.maximum(mass[y] - gone, 0.0)


def naive_losses(
    table: CodedTable,
    base: Statistics,
    y: Array,
    weights: Floats | None,
    prior: Any,
    smoothing: float,
    left_out: bool,
    n_jobs: int | None = None,
) -> Floats:
    """The losses of naive Bayes, each row left out of the counts, or not in them."""
    of_others, of_own = leave_out_prior(base, prior, smoothing, y, weights, left_out)
    at = np.arange(len(y)), y.astype(np.intp)
    with np.errstate(divide="ignore"):
        joint = _added(table, log_theta(base.cells, smoothing), np.log(of_others), n_jobs)
        own = np.log(of_own)
    if left_out and weights is not None and weights.min() < 1:
        gone, totals = np.minimum(weights, 1.0), base.cells.totals()
        for j, size in enumerate(table.sizes):
            x = table.column(j)
            seen = x < size
            n = base.cells.scope(j)[np.where(seen, x, 0), at[1]] if size else np.zeros(len(y))
            above, below = np.maximum(n - gone, 0.0), np.maximum(totals[j][at[1]] - gone, 0.0)
            own += np.where(seen, log_share(above + smoothing, below + size * smoothing, size), 0.0)
        joint[at] = own
    elif left_out:
        own += _added(table, _without(base.cells, smoothing), np.zeros(base.n_classes), n_jobs)[at]
        joint[at] = own
    return losses(joint, at[1], weights, n_jobs)


def _added(table: CodedTable, logs: Floats, start: Floats, n_jobs: int | None) -> Floats:
    """start + Σ_j of the logs of the row's values, [value, y] of all columns; a missing cell adds nothing."""
    sizes = np.asarray(table.sizes, dtype=np.int64)
    packed = np.zeros((len(logs) + len(sizes), logs.shape[1]))
    packed[np.arange(len(logs)) + np.repeat(np.arange(len(sizes)), sizes)] = logs
    return log_joint_cells(table.codes, packed, starts_of(sizes + 1), start, n_jobs=n_jobs)


def _without(cells: Counts, smoothing: float) -> Floats:
    """ln θ of every value for a row of that value and class which is taken away."""
    below = np.maximum(cells.totals() - 1, 0) + (cells.sizes * smoothing)[:, None]
    sizes = cells.sizes
    above = np.maximum(cells.table - 1, 0) + smoothing
    return log_share(above, np.repeat(below, sizes, axis=0), np.repeat(sizes, sizes)[:, None])
