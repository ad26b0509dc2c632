"""Which density a numeric column has: those with which each row of a sample is best foretold by all other rows.

Symbols: i a row of the sample, y_i its class, w_i how often it came; j columns; m densities; P^−i what is learned without
row i.

    loss_i = −ln P^−i(y_i|x_i),   P^−i(y|x_i) ∝ P^−i(y) Π_j P^−i_m(j)(x_ij|y)

All columns count together, since columns that repeat each other are what makes a naive posterior too sure. Begin with bins
everywhere, or with `mixed` everywhere if its mean loss is lower by half a standard error (of the paired differences); then
take the columns in turn, at most three times round, and give each the density that lowers the mean loss most, if by two
standard errors: bins, kernels, a normal, or the three mixed; to leave the column out 1¼ are enough, since that is simpler.

Leaving a row out is exact, from what is kept: counts less one; n, mean and M2 without the row; its own kernel taken away
(the widths stay). Bins would flatter a row that had a say in the cuts, so these are searched again without a tenth of the
values of each class, dealt out in their order; from `FOLDED` rows on a row's say is nothing, and only its count is taken
away. The thresholds were set on public tables, by the log loss of fresh rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array, Floats, Ints
from ...kernels.naive import log_kernel_sums
from ...smoothing import log_prior
from ...statistics import Moments
from ...statistics.histogram import Histogram
from ...statistics.sample import value_cells
from ...statistics.statistics import Statistics
from .gaussian import ROWS, Gaussian, usual_spread
from .mixed import log_sum, mixture, odds
from .numeric import Binned, KernelDensity

CANDIDATES = ("binned", "kernel", "gaussian", "mixed", "none")
START, MOVE, LEAVE = 0.5, 2.0, 1.25  # standard errors
ERRORS = np.array([LEAVE if m == "none" else MOVE for m in CANDIDATES])
ROUNDS = 3
FOLDS, FOLDED = 10, 10_000
FINE = 4_096  # cells of a histogram; a finer one is made coarser before it is asked
WORST = 700.0  # nats: a row that is impossible
NUMBERS = 1 << 24  # that a choice holds at once; fewer rows are used where columns and classes are many


def choose(
    statistics: Statistics, where: list[int], smoothing: float, prior: Any, unseen: str, floor: float, ddof: int
) -> list[str]:
    """The density of each of the columns `where`, of role "numbers"."""
    sample = statistics.sample
    assert sample is not None
    most = max(NUMBERS // (len(CANDIDATES) * len(where) * statistics.n_classes), 100)
    rows, y = np.nonzero(sample.table[:most])
    if not len(rows):
        return [CANDIDATES[0]] * len(where)
    weights = sample.table[rows, y].astype(np.float64)
    out = np.minimum(weights, 1.0)  # what is taken away: one row, or what decay has left of it
    place = {j: k for k, j in enumerate(statistics.sampled)}
    start = _start(statistics, sample.cells[rows], place, y, out, smoothing, prior, unseen)
    left = statistics.rows - _own(y, out, statistics.n_classes)
    log_share = np.log((left + 1) / (left + 1).sum(axis=1, keepdims=True))
    kept = {j: k for k, j in enumerate(statistics.where("histogram"))}
    moments_of = {j: k for k, j in enumerate(statistics.where("moments"))}
    turn = sample.hashes[rows] / 2.0**64
    parts = np.zeros((len(where), len(CANDIDATES), len(rows), statistics.n_classes))
    for k, j in enumerate(where):
        x = sample.cells[rows, place[j]].view(np.float64)
        moments = statistics.moments.columns([moments_of[j]])
        histogram = statistics.histograms[kept[j]].coarser(FINE)
        three = left_out(histogram, moments, x, y, out, turn, smoothing, floor, ddof)
        said = [np.maximum(odds(log_p, log_share), -WORST) for log_p in three]
        parts[k, : len(three)] = said
        parts[k, len(three)] = mixture(said)
    return [CANDIDATES[m] for m in search(np.maximum(odds(start, 0.0), -WORST), parts, y, weights)]


def search(start: Floats, parts: Floats, y: Array, weights: Floats) -> list[int]:
    """The candidate of each column: `start` ln P(y) and what other columns add, (R, K); `parts` (d, candidates, R, K)."""
    own = y[None, :, None]
    share = weights / weights.sum()
    rows = weights.sum()

    def losses(log_joint: Floats) -> Floats:
        """loss_i of each candidate."""
        found = (log_sum(log_joint) - np.take_along_axis(log_joint, own, axis=2))[:, :, 0]
        return np.minimum(found, WORST)

    def gain(new: Floats, now: Floats, errors: Floats | float) -> Floats:
        """By how much the mean loss falls (below zero), where that is so many standard errors; else infinite."""
        mean = (new - now) @ share
        spread = ((new - now - mean[:, None]) ** 2) @ share
        return np.where(mean + errors * np.sqrt(spread / rows) < 0, mean, np.inf)

    whole = start + parts.sum(axis=0)
    loss = losses(whole)
    binned, mixed = CANDIDATES.index("binned"), CANDIDATES.index("mixed")
    first = mixed if gain(loss[[mixed]], loss[binned], START)[0] < 0 else binned
    chosen, now, log_joint = [first] * len(parts), loss[first], whole[first]
    for _ in range(ROUNDS):
        before = list(chosen)
        for j, part in enumerate(parts):
            without = log_joint - part[chosen[j]]
            found = losses(without + part)
            gained = gain(found, now, ERRORS)
            best = int(np.argmin(gained))
            if gained[best] < 0:
                chosen[j], now, log_joint = best, found[best], without + part[best]
        if chosen == before:
            break
    return chosen


def left_out(
    histogram: Histogram,
    moments: Moments,
    x: Floats,
    y: Array,
    out: Floats,
    turn: Floats,
    smoothing: float,
    floor: float,
    ddof: int,
) -> Floats:
    """ln p^−i(x_i|y) by bins, kernels and a normal, (3, R, K), 0 where x is missing; of row i `out[i]` is taken away."""
    there = np.flatnonzero(~np.isnan(x))
    found = np.zeros((3, len(x), histogram.n_classes))
    if len(there):
        x, y, out, turn = x[there], y[there], out[there], turn[there]
        less = without(moments, x, y, out)
        found[0, there] = binned_without(histogram, x, y, out, turn, smoothing)
        found[1, there] = kernel_without(histogram, less, x, y, out, floor)
        found[2, there] = normal_without(less, x, floor, ddof)
    return found


def without(moments: Moments, x: Floats, y: Array, out: Floats) -> Moments:
    """The moments of one column without each row in turn: a column a row, (K, R)."""
    each = np.arange(len(x))
    n, mean, m2 = (np.repeat(m, len(x), axis=1) for m in (moments.n, moments.mean, moments.m2))
    before, gap = n[y, each], x - mean[y, each]
    left = np.maximum(before - out, 0.0)
    stays = left > 0
    safe = np.where(stays, left, 1.0)
    n[y, each] = left
    mean[y, each] = np.where(stays, mean[y, each] - gap * out / safe, 0.0)
    m2[y, each] = np.where(stays, np.maximum(m2[y, each] - out * gap**2 * before / safe, 0.0), 0.0)
    return Moments(n, mean, m2)


def normal_without(less: Moments, x: Floats, floor: float, ddof: int) -> Floats:
    """A normal of each class, learned without the row."""
    normal = Gaussian([], [], less, floor, ddof)
    found: Floats = -0.5 * (np.log(2 * np.pi * normal.variance) + (x - normal.mean) ** 2 / normal.variance).T
    return found


def kernel_without(histogram: Histogram, less: Moments, x: Floats, y: Array, out: Floats, floor: float) -> Floats:
    """Kernels without the row's own: ln [Σ_v N[v, y] φ((x − v)/h)/h − w φ((x − v_i)/h)/h + ν p₀(x)]/(n_y − w + ν)."""
    kernel = KernelDensity(0, "", histogram, floor)
    pooled, each = less.pooled(), np.arange(len(x))
    variance = np.maximum(pooled.variance()[0], usual_spread(less, floor)[0])
    base = -0.5 * (np.log(2 * np.pi * variance) + (x - pooled.mean[0]) ** 2 / variance)
    centre = histogram.centres[np.searchsorted(histogram.values, x, side="right") - 1]
    total = np.array([w.sum() for w in kernel.weights]) * np.where(kernel.share < 1, ROWS / kernel.share - ROWS, 0.0)
    log_sums = np.empty((len(x), len(total)))
    for c, of_class in enumerate(zip(kernel.centres, kernel.weights, kernel.width.tolist(), kernel._trees)):
        log_sums[:, c] = log_kernel_sums(x, *of_class)
    log_sums += np.log(total)
    own = np.exp(np.log(out) - 0.5 * ((x - centre) / kernel.width[y]) ** 2 - log_sums[each, y])
    with np.errstate(divide="ignore"):
        log_sums[each, y] += np.log(np.where(own < 1 - 1e-6, 1 - own, 0.0))  # sums are known to 1e-7 of themselves
    rows = np.repeat(total[None], len(x), axis=0)
    rows[each, y] = less.n[y, each]
    with np.errstate(divide="ignore"):
        near = log_sums - np.log(kernel.width * np.sqrt(2 * np.pi))
        found: Floats = np.logaddexp(near, base[:, None] + np.log(ROWS)) - np.log(rows + ROWS)
    return found


def binned_without(histogram: Histogram, x: Floats, y: Array, out: Floats, turn: Floats, smoothing: float) -> Floats:
    """Bins whose cuts the row had no say in."""
    counts = histogram.table.T.astype(np.float64)
    if counts.sum() > FOLDED:
        return _counts_less(Binned(0, "", histogram, smoothing), x, y, out, smoothing)
    ends = np.cumsum(counts.ravel()).reshape(counts.shape)  # places of the values, class by class
    cell = np.searchsorted(histogram.values, x, side="right") - 1
    at = (ends - counts)[y, cell] + turn * counts[y, cell]
    fold = np.floor(at).astype(np.int64) % FOLDS
    found = np.empty((len(x), len(counts)))
    for f in np.unique(fold).tolist():
        rest = (counts - np.diff(_dealt(ends.ravel(), f), prepend=0.0).reshape(counts.shape)).T
        kept = rest.any(axis=1)
        binned = Binned(0, "", Histogram(histogram.values[kept], rest[kept], histogram.level), smoothing)
        some = fold == f
        found[some] = binned.log_theta[np.searchsorted(binned.cuts, x[some], side="right")]
    return found


def _dealt(places: Floats, fold: int) -> Floats:
    """How much of the places 0 … t goes to a fold, when each in turn gets one."""
    return np.floor(places / FOLDS) + np.clip(places % FOLDS - fold, 0.0, 1.0)


def _counts_less(binned: Binned, x: Floats, y: Array, out: Floats, smoothing: float) -> Floats:
    """The bins as they are, the row's count taken away."""
    bins, each = np.searchsorted(binned.cuts, x, side="right"), np.arange(len(x))
    found = binned.log_theta[bins]
    size, total = len(binned.table) * smoothing, binned.table.sum(axis=0)[y]
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.log((binned.table[bins, y] - out + smoothing) / (total - out + size))
    found[each, y] = np.where(np.isnan(own), -np.log(len(binned.table)), own)
    return found


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
    total = np.tile(log_prior(statistics.rows, prior, smoothing), (len(y), 1))
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
    found = np.where(whole > 0, np.log((counts + smoothing) / whole), -np.log(len(known)))
    if unseen == "missing":
        declared = np.array([v in column.declared for v in column.values])[code]
        there &= declared | (counts.sum(axis=1) > 0)
    return np.where(there[:, None], found, 0.0)
