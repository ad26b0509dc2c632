"""Statistics + smoothing → log P(y, x): the model of independent columns, ready to score rows, a block or one at a time.

One row alone (`RowScorer`, for models of categories and numbers) takes the kernels of a block on a block of one, with the
look-ups made beforehand: what is summed, and in which order, is the same, so that a row has the
same bits alone and among others.

Which density a numeric column has: those with which each row of a sample is best foretold by all other rows.

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
from scipy.special import xlogy

from .. import kernels
from ..arrays import Array, Floats, Ints
from ..budget import refuse_over
from ..errors import ModelError, did_you_mean, listed
from ..kernels import SHAPES
from ..smoothing.theta import log_prior, share
from ..statistics.counts import ROUNDING, starts_of
from ..statistics.cuts import Cuts, column_numbers, quantile_cuts, value_cuts
from ..statistics.histogram import Histogram
from ..statistics.sample import mix, value_cells
from ..statistics.statistics import Statistics
from ..table.encode import Seen, dense
from ..table.frame import Frame
from ..table.labels import warn_of_types
from ..table.rows import Rows
from ..table.schema import Schema, is_missing
from .densities import Categories, Density, Events, Poisson, Words
from .numeric import Curves, Gaussian, odds, packed

# density → the kind of column it is for, and what the statistics keep for it
DENSITIES = {
    "auto": ("numeric", "numbers"),
    "gaussian": ("numeric", "moments"),
    "kernel": ("numeric", "histogram"),
    "binned": ("numeric", "histogram"),
    "multinomial": ("count", "events"),
    "poisson": ("count", "moments"),
}


USUAL = {"numeric": "auto", "count": "multinomial", "categorical": "cells", "binary": "cells", "text": "words"}
ALL_KNOWN = Seen()


def density_names(schema: Schema, density: Any) -> tuple[str, ...]:
    """A density for each column: what was told for it or for its kind, else the usual one."""
    told: dict[str, str] = {}
    general: dict[str, str] = dict(USUAL)
    if isinstance(density, str):
        general[DENSITIES[_known_density(density, "density")][0]] = density
    elif density is not None:
        nameless = schema.names == tuple(f"x{j}" for j in range(len(schema)))
        for key, d in dict(density).items():
            name = f"x{key}" if nameless and isinstance(key, int) else str(key)
            told[schema[name].name] = _known_density(d, name)
    for name, d in told.items():
        if DENSITIES[d][0] != schema[name].kind:
            raise ModelError(
                f"column {name!r} is {schema[name].kind}, but the density {d!r} is for {DENSITIES[d][0]} columns"
            )
    return tuple(told.get(c.name, general[c.kind]) for c in schema.columns)


def _known_density(density: Any, name: str) -> str:
    if not isinstance(density, str) or density not in DENSITIES:
        hint = (did_you_mean(density, DENSITIES) if isinstance(density, str) else "") or "."
        raise ModelError(f"{name}: a density is one of {listed(DENSITIES)}{hint} Got {density!r} instead.")
    return str(density)


def roles_of(densities: tuple[str, ...]) -> tuple[str, ...]:
    """What the statistics keep of each column."""
    return tuple(DENSITIES[d][1] if d in DENSITIES else d for d in densities)


def kept_for(densities: tuple[str, ...], roles: tuple[str, ...]) -> bool:
    """Whether what was kept of each column is enough for its density."""
    return all(
        need == role or (need in ("moments", "histogram") and role == "numbers")
        for need, role in zip(roles_of(densities), roles)
    )


def readable(frame: Frame, roles: tuple[str, ...], schema: Schema) -> Frame:
    """A sparse table stays so where only its stored cells are read."""
    stays = all(r == "events" or (r == "cells" and c.kind == "binary") for r, c in zip(roles, schema.columns))
    return dense(frame) if frame.sparse is not None and not stays else frame


class Factored:
    """log P(y, x) = log P(y) + Σ_j log P(x_j|y); `names` are the densities of the columns, with those that were chosen."""

    def __init__(
        self,
        statistics: Statistics,
        densities: tuple[str, ...],
        *,
        smoothing: float,
        prior: Any,
        unseen: str,
        floor: float,
        ddof: int,
        n_jobs: int | None = None,
        inferred: bool = False,
    ) -> None:
        self.schema, self.smoothing, self.prior = statistics.schema, smoothing, prior
        self.inferred = inferred
        self.log_prior = log_prior(statistics.rows, prior, smoothing, self.schema.classes)
        self.densities: list[Density] = []
        if statistics.where("cells"):
            self.densities.append(Categories(statistics, smoothing, unseen))
        for k in range(len(statistics.where("words"))):
            self.densities.append(Words(statistics, k, smoothing, unseen))
        if statistics.where("events"):
            self.densities.append(Events(statistics, smoothing))
        free = [j for j, d in enumerate(densities) if d == "auto"]
        if free:
            found = choose_densities(statistics, free, smoothing, prior, unseen, floor, ddof, n_jobs)
            told = dict(zip(free, found))
            densities = tuple(told.get(j, d) for j, d in enumerate(densities))
        self.names = densities
        self._add_moments(statistics, densities, smoothing, floor, ddof)
        where = [j for j, d in enumerate(densities) if d in SHAPES]
        if where:
            shapes = [densities[j] for j in where]
            self.densities.append(Curves(statistics, where, shapes, smoothing, floor, ddof, n_jobs))

    def _add_moments(
        self, statistics: Statistics, densities: tuple[str, ...], smoothing: float, floor: float, ddof: int
    ) -> None:
        where, m = statistics.where("moments"), statistics.moments
        for kind in ("gaussian", "poisson"):
            some = [k for k, j in enumerate(where) if densities[j] == kind]
            if not some:
                continue
            part = m.select_columns(some)
            columns = [where[k] for k in some]
            names = [self.schema.names[j] for j in columns]
            if kind == "gaussian":
                self.densities.append(Gaussian(columns, names, part, floor, ddof, smoothing, self.inferred))
            else:
                self.densities.append(Poisson(columns, names, part, smoothing))

    def log_joint(self, frame: Frame, n_jobs: int | None) -> tuple[Floats, Seen]:
        """(log P(y, x) of each row, shape (n, K); how many cells were missing or unseen)."""
        out, seen = self.log_prior, ALL_KNOWN
        for density in self.densities:
            out, more = density.add_to(out, frame, n_jobs)
            seen += more
        if out.ndim == 1:
            out = np.array(np.broadcast_to(out, (frame.n, len(self.log_prior))), order="C")
        return out, seen

    def log_prior_of_theta(self) -> float:
        """λ Σ ln θ over the tables, and over P(y) where it is smoothed: the log density of the Dirichlets, but a constant.

        Of a Poisson rate r, λ(x̄ ln r − r); of the variances of normals what `Gaussian` says. Kernels have none.
        """
        found, lam = 0.0, self.smoothing
        if lam > 0 and isinstance(self.prior, str) and self.prior == "smoothed":
            found += lam * float(self.log_prior.sum())
        for density in self.densities:
            if isinstance(density, Gaussian):
                found += density.log_prior
            elif lam == 0:
                continue
            elif isinstance(density, Categories | Words | Events):
                found += lam * float(density.log_theta.sum())
            elif isinstance(density, Poisson):
                found += lam * float((xlogy(density.middle, density.rate) - density.rate).sum())
        return found

    def parts(self, frame: Frame) -> Floats:
        """log P(x_j|y) of each column alone, shape (n, d, K), in the order of the schema."""
        out = np.zeros((frame.n, len(self.schema), len(self.log_prior)))
        for density in self.densities:
            out[:, density.where] = density.parts(frame)
        return out


class RowScorer:
    """log P(y, x) of a dict, or of an array of one row; None for anything else (the block's path takes it)."""

    def __init__(
        self,
        log_prior: Floats,
        cells: Categories | None,
        normal: Gaussian | None,
        curves: Curves | None,
        schema: Schema,
    ) -> None:
        self.log_prior = log_prior
        self.names = schema.names
        self.cells, self.normal, self.curves = cells, normal, curves
        self.all_normal = normal is not None and len(normal.where) == len(schema)
        self.normal_names = [schema.names[j] for j in normal.where] if normal is not None else []
        self.curve_names = [schema.names[j] for j in curves.where] if curves is not None else []
        if cells is not None:
            self.places = [column.place for column in cells.columns]
            self.cell_names = [schema.names[j] for j in cells.where]
            self.unseen = [len(place) for place in self.places]  # then comes the row for missing
            parts = [
                np.vstack([cells.rows_of(k, cells.log_theta), cells.log_unseen[k], np.zeros(len(log_prior))])
                for k in range(len(self.places))
            ]
            self.table = np.vstack(parts)
            self.offsets = starts_of([len(p) for p in parts])

    @classmethod
    def of(cls, factored: Factored, schema: Schema) -> RowScorer | None:
        """A scorer, or None where the model has other densities or so many columns that a block is as good."""
        kinds: dict[type, Any] = {type(d): d for d in factored.densities}
        if not set(kinds) <= {Categories, Gaussian, Curves} or len(schema) > 200:
            return None
        if Categories in kinds and any(cut is not None for cut in kinds[Categories].cuts):
            return None
        return cls(factored.log_prior, kinds.get(Categories), kinds.get(Gaussian), kinds.get(Curves), schema)

    def log_joint(self, X: Any) -> tuple[Floats, Seen] | None:
        """(log P(y, x), shape (1, K); how many cells were missing or unseen)."""
        if type(X) is dict:
            return self._of_dict(X)
        if type(X) is np.ndarray and X.shape == (1, len(self.names)) and X.dtype.kind in "biuf":
            return self._of_array(X)
        return None

    def _of_dict(self, row: dict[str, Any]) -> tuple[Floats, Seen] | None:
        try:
            cells = [row[name] for name in self.cell_names] if self.cells is not None else []
            normal = np.array([[row[name] for name in self.normal_names]], np.float64) if self.normal_names else None
            curves = np.array([[row[name] for name in self.curve_names]], np.float64) if self.curve_names else None
            codes = [place.get(cell, -1) for place, cell in zip(self.places, cells)] if cells else []
        except (KeyError, TypeError, ValueError):  # the block's path says what is wrong
            return None
        if len(row) != len(self.names) or any(x is not None and x.ndim != 2 for x in (normal, curves)):
            return None
        at = self.curves.every if self.curves is not None else None
        return self._sum(codes, cells, normal, curves, at)

    def _of_array(self, X: NDArray[Any]) -> tuple[Floats, Seen] | None:
        cells: list[Any] = []
        codes: list[int] = []
        if self.cells is not None:
            row = X[0].tolist()
            cells = [row[j] for j in self.cells.where]
            codes = [place.get(cell, -1) for place, cell in zip(self.places, cells)]
        normal = None if self.normal is None else X if self.all_normal else X[:, self.normal.where]
        if self.curves is None:
            return self._sum(codes, cells, normal, None, None)
        return self._sum(codes, cells, normal, X, self.curves.at)

    def _sum(
        self,
        codes: list[int],
        cells: list[Any],
        normal: NDArray[Any] | None,
        curves: NDArray[Any] | None,
        at: Ints | None,
    ) -> tuple[Floats, Seen] | None:
        out: Floats = self.log_prior
        n_missing = n_unseen = 0
        if cells:
            if min(codes) < 0:
                for k, code in enumerate(codes):
                    if code < 0:
                        missing = is_missing(cells[k])
                        codes[k] = self.unseen[k] + missing
                        n_missing += missing
                        n_unseen += not missing
                        if not missing:
                            warn_of_types(self.cell_names[k], [cells[k]], self.places[k])
            out = kernels.log_joint_cells(np.array([codes], np.uint32), self.table, self.offsets, out, 1)
        met = 0
        if normal is not None:
            assert self.normal is not None
            out, _, met = kernels.score_gaussian(normal, self.normal.mean, self.normal.variance, out, False, 1)
            n_missing += int(np.isnan(normal).sum()) if met & kernels.NAN else 0
        if curves is not None:
            assert self.curves is not None
            assert at is not None
            out, also = self.curves.curves.score(curves, at, out, 1)
            n_missing += int(np.isnan(curves[:, at]).sum()) if also & kernels.NAN else 0
            met |= also
        if met & kernels.INF:  # the block's path says where
            return None
        return out, Seen(n_missing, n_unseen) if n_missing or n_unseen else ALL_KNOWN


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


def choose_densities(
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
    left = _left(statistics.rows, _own(y, out, statistics.n_classes))
    log_share = np.log((left + 1) / (left + 1).sum(axis=1, keepdims=True))
    x = np.ascontiguousarray(sample.cells[rows][:, [place[j] for j in where]].T).view(np.float64)
    columns = packed(statistics, where, smoothing, floor, ddof)
    turn = turns(sample.cells[rows], [place[j] for j in where]) if statistics.rows.sum() < FOLDED else np.zeros(len(y))
    parts = columns.left_out(x, y, out, turn, log_share, FOLDED, WORST, n_jobs)
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


def _left(n: Array, own: Floats) -> Floats:
    """n − own, nothing where only rounding is left."""
    found: Floats = n - own
    return np.where(found > ROUNDING * n, found, 0.0)


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
            fewer = np.log((_left(rows, own) + added) / (rows + added))
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
    counts = _left(statistics.cells.scope(k)[code], own)
    total = _left(statistics.cells.scope(k).sum(axis=0), own)
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
