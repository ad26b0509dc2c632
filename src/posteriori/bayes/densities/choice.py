"""Which density a numeric column has: those with which each row of a sample is best foretold by all other rows.

Symbols: i a row of the sample, y_i its class, w_i how often it came; j columns; m densities; P^−i what is learned without
row i.

    loss_i = −ln P^−i(y_i|x_i),   P^−i(y|x_i) ∝ P^−i(y) Π_j P^−i_m(j)(x_ij|y)

All columns count together, since columns that repeat each other are what makes a naive posterior too sure. Begin with bins
everywhere, or with `mixed` everywhere if its mean loss is lower by half a standard error (of the paired differences); then
take the columns in turn, at most three times round, and give each the density that lowers the mean loss most, if by two
standard errors: bins, kernels, a normal, or the three mixed; to leave the column out 1¼ are enough, since that is simpler.
Gains that differ by less than 1e-9 nats are equal, and of equals the last of `CANDIDATES` is taken: bins that found nowhere
to cut say nothing, as a column that is left out does, and then it is left out.

Leaving a row out is exact, from what is kept: counts less one; n, mean and M2 without the row; its own kernel taken away
(the widths stay). Bins would flatter a row that had a say in the cuts, so these are searched again without a tenth of the
values of each class, dealt out in their order; from `FOLDED` rows on a row's say is nothing, and only its count is taken
away. The thresholds were set on public tables, by the log loss of fresh rows.

While classes are inferred (`settle`) every turn of EM is to climb. Beside labels a column is then a table of bins of equal
weight over all rows: a shape that is not normal is none to be explained by a class. Where no row has a label it is normal,
as in latent profile analysis, unless it has but a few values: these are bins of their own, since a normal would shrink
around one that a class happens to share. Cuts are made once, by all rows whatever their labels, so that M maximises ℓ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Floats, Ints
from ...budget import refuse_over
from ...kernels import densities as kernels
from ...smoothing.theta import log_prior, share
from ...statistics.cuts import Cuts, column_numbers, quantile_cuts, value_cuts
from ...statistics.histogram import Histogram
from ...statistics.sample import mix, value_cells
from ...statistics.statistics import Statistics
from ...table.encode import dense
from ...table.rows import Rows
from ...table.schema import Schema
from .numeric import odds, packed

CANDIDATES = ("binned", "kernel", "gaussian", "mixed", "none")  # in the order of the kernel `left_out`
START, MOVE, LEAVE = 0.5, 2.0, 1.25  # standard errors
ERRORS = np.array([LEAVE if m == "none" else MOVE for m in CANDIDATES])
ROUNDS = 3
FOLDED = 10_000.0
WORST = 700.0  # nats: a row that is impossible
NUMBERS = 1 << 24  # that a choice holds at once; fewer rows are used where columns and classes are many
BINS = 10
FEW = 10  # different numbers that are values rather than measurements,
EACH = 5.0  # if so many rows have each of them on average


def choose(
    statistics: Statistics,
    where: list[int],
    smoothing: float,
    prior: Any,
    unseen: str,
    floor: float,
    ddof: int,
    n_jobs: int | None = None,
) -> list[str]:
    """The density of each of the columns `where`, of role "numbers"."""
    assert statistics.sample is not None
    sample = statistics.sample.view
    most = max(NUMBERS // (len(CANDIDATES) * len(where) * statistics.n_classes), 100)
    rows, y = np.nonzero(sample.table[:most])
    if not len(rows):
        return [CANDIDATES[0]] * len(where)
    held = 9.0 * len(CANDIDATES) * len(where) * len(rows) * statistics.n_classes
    what = f"choosing densities of {len(where)} columns for {statistics.n_classes} classes"
    refuse_over(None, held, what, "say which density they have")
    weights = sample.table[rows, y].astype(np.float64)
    out = np.minimum(weights, 1.0)  # what is taken away: one row, or what decay has left of it
    place = {j: k for k, j in enumerate(statistics.sampled)}
    start = _start(statistics, sample.cells[rows], place, y, out, smoothing, prior, unseen)
    left = statistics.rows - _own(y, out, statistics.n_classes)
    log_share = np.log((left + 1) / (left + 1).sum(axis=1, keepdims=True))
    x = np.ascontiguousarray(sample.cells[rows][:, [place[j] for j in where]].T).view(np.float64)
    columns = packed(statistics, where, smoothing, floor, ddof)
    turn = turns(sample.cells[rows], [place[j] for j in where]) if statistics.rows.sum() < FOLDED else np.zeros(len(y))
    parts = kernels.left_out(columns, x, y, out, turn, log_share, FOLDED, WORST, n_jobs)
    first, second = CANDIDATES.index("binned"), CANDIDATES.index("mixed")
    begin = np.maximum(odds(start, 0.0), -WORST)
    found = kernels.search_densities(begin, parts, y, weights, ERRORS, first, second, START, WORST, ROUNDS)
    return [CANDIDATES[m] for m in found]


def turns(cells: NDArray[np.uint64], numeric: list[int]) -> Floats:
    """A number in [0, 1) for each row, by which rows of one value take turns in the folds: by the ranks of all its cells.

    It hangs on no name, unit or order of the columns, and on no column that is the same in every row.

    >>> a, b = np.array([[3.0, 1.0], [3.0, 2.0]]), np.array([[6.0, 0.0, 30.0], [7.0, 0.0, 30.0]])
    >>> bool((turns(a.view(np.uint64), [0, 1]) == turns(b.view(np.uint64), [0, 1, 2])).all())
    True
    """
    x = np.array(cells.T)
    for j in numeric:  # as the bits of numbers rise where the numbers do
        x[j] ^= np.where(x[j] >> np.uint64(63), ~np.uint64(0), np.uint64(1 << 63))
    order = np.argsort(x, axis=1)
    steps = np.diff(np.take_along_axis(x, order, axis=1), axis=1) != 0
    rank = np.zeros(x.shape, np.uint64)
    np.put_along_axis(rank, order[:, 1:], np.cumsum(steps, axis=1, dtype=np.uint64), axis=1)
    total = np.where(steps.any(axis=1)[:, None], mix(rank + np.uint64(1)), np.uint64(0)).sum(axis=0, dtype=np.uint64)
    return np.minimum(mix(total) / 2.0**64, 1 - 2.0**-53)


def _own(y: Array, out: Floats, n_classes: int) -> Floats:
    """`out` in the column of the row's own class, (R, K)."""
    found = np.zeros((len(y), n_classes))
    found[np.arange(len(y)), y] = out
    return found


def _start(
    statistics: Statistics,
    cells: Any,
    place: dict[int, int],
    y: Array,
    out: Floats,
    smoothing: float,
    prior: Any,
    unseen: str,
) -> Floats:
    """ln P^−i(y) + Σ_j ln P^−i(x_ij|y) over the categorical and binary columns, but for what all classes share."""
    own = _own(y, out, statistics.n_classes)
    rows = statistics.rows.astype(np.float64)
    total = np.tile(log_prior(statistics.rows, prior, smoothing, statistics.schema.classes), (len(y), 1))
    added = {"smoothed": smoothing, "empirical": 0.0}.get(prior) if isinstance(prior, str) else None
    with np.errstate(divide="ignore", invalid="ignore"):
        if added is not None:
            fewer = np.log((rows - own + added) / (rows + added))
            total += np.where(np.isnan(fewer), -np.inf, fewer)
        for k, j in enumerate(statistics.where("cells")):
            total += _cells_less(statistics, k, j, cells[:, place[j]], own, smoothing, unseen)
    return total


def _cells_less(
    statistics: Statistics, k: int, j: int, cells: Any, own: Floats, smoothing: float, unseen: str
) -> Floats:
    """ln P^−i(x_ij|y) of one column of values: (N − 1 + λ)/(N_y − 1 + Sλ), nothing for a value that i alone had."""
    column = statistics.schema.columns[j]
    known = value_cells(column.values)[:-1]
    order = np.argsort(known)
    at: Ints = np.minimum(np.searchsorted(known[order], cells), max(len(known) - 1, 0))
    if not len(known):
        return np.zeros_like(own)
    code = order[at]
    there = known[code] == cells
    counts = statistics.cells.scope(k)[code] - own
    total = statistics.cells.scope(k).sum(axis=0) - own
    whole = total + len(known) * smoothing
    found = np.log(share(counts + smoothing, whole, len(known)))
    if unseen == "missing":
        declared = np.array([v in column.declared for v in column.values])[code]
        there &= declared | (counts.sum(axis=1) > 0)
    return np.where(there[:, None], found, 0.0)


@dataclass(frozen=True, eq=False)
class Settled:
    """The densities of the columns and the cuts of those that are cut, chosen under the parameter `told`."""

    told: Any
    names: dict[str, str]
    cuts: Cuts

    def densities(self, schema: Schema) -> tuple[str, ...]:
        """The density of each column; "cells" where values, or bins, are counted."""
        return tuple(self.names[c.name] for c in schema.columns)


def settle(rows: Rows, densities: tuple[str, ...], told: Any, labels: bool) -> Settled:
    """What "auto" is, column by column."""
    found, cuts = list(densities), list[Floats | None]([None] * len(densities))
    free = [j for j, density in enumerate(densities) if density == "auto"]
    frame = dense(rows.frame) if free and rows.frame.sparse is not None else rows.frame
    for j in free:
        cut = _cut(Histogram.of(column_numbers(frame, j), np.zeros(frame.n, np.uint8), 1, rows.plain_weights), labels)
        found[j], cuts[j] = ("gaussian", None) if cut is None else ("cells", cut)
    names = {c.name: density for c, density in zip(rows.schema.columns, found)}
    return Settled(told, names, tuple(cuts) if any(cut is not None for cut in cuts) else ())


def _cut(histogram: Histogram, labels: bool) -> Floats | None:
    """The cuts of a column, or None where it is normal."""
    different = len(histogram.values)
    if histogram.exact and 1 < different <= FEW and (labels or histogram.table.sum() >= EACH * different):
        return value_cuts(histogram)
    return quantile_cuts(histogram, BINS) if labels else None
