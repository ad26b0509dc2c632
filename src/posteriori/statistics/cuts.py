"""From a histogram to bins (supervised MDL by Fayyad and Irani, quantiles, equal width), and a table as codes throughout.

Symbols: N[v, y] the histogram; cuts t_1 < … < t_m; bin of x = number of cuts ≤ x, so that m cuts make m + 1 bins.
Ent(S) is the entropy of the classes in a set S of rows, in bits; k the number of classes present in S.
Column j has S_j values; its codes are 0 … S_j − 1, and S_j for a missing cell.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..arrays import Array, Codes, Floats, Ints
from ..errors import BadValue, ModelError, StatisticsError, did_you_mean
from ..fields import need, rises
from ..table.encode import Coded, code_columns, numbers, team_map
from ..table.frame import Frame
from ..table.labels import narrowest, warn_of_types
from ..table.schema import MEASURED, Column, Schema
from .histogram import Histogram

Cuts = tuple[Annotated[Floats, "cuts"] | None, ...]  # of each column; None where it is no number

METHODS = ("mdl", "quantile", "width")


def find_cuts(histogram: Histogram, method: str = "mdl", bins: int = 10) -> Floats:
    """The cuts of one column; `bins` is how many bins quantile and width aim at.

    >>> h = Histogram.of([1, 2, 3, 4, 5, 6, 7, 8] * 4, [0, 0, 0, 0, 1, 1, 1, 1] * 4, 2)
    >>> find_cuts(h).tolist(), find_cuts(h, "width", bins=2).tolist()
    ([4.5], [4.5])
    """
    if method == "mdl":
        return mdl_cuts(histogram)
    if method == "quantile":
        return quantile_cuts(histogram, bins)
    if method == "width":
        return width_cuts(histogram, bins)
    raise ModelError(
        f"no way {method!r} to cut a column{did_you_mean(method, METHODS) or '.'} Ways: 'mdl', 'quantile', 'width'"
    )


def mdl_cuts(histogram: Histogram) -> Floats:
    """Split where the classes part, as long as the split pays for its description.

    S is cut into S1, S2 at the boundary of least N1·Ent(S1) + N2·Ent(S2) (the lowest of equals), if
    N·Gain > log2(N − 1) + log2(3^k − 2) − k·Ent(S) + k1·Ent(S1) + k2·Ent(S2); then S1 and S2 in turn.
    No row, one value or no worthwhile cut: no cuts, one bin.
    """
    return _between(histogram, kernels.mdl_cuts(histogram.table))


def quantile_cuts(histogram: Histogram, bins: int) -> Floats:
    """Cuts at the values where the share of rows first reaches 1/bins, 2/bins, …: bins of about equal weight."""
    _check_bins(bins)
    if len(histogram.values) < 2:
        return np.empty(0)
    share = np.cumsum(histogram.table.sum(axis=1, dtype=np.float64))
    wanted = np.arange(1, bins) / bins * share[-1]
    at = np.searchsorted(share, wanted * (1 - 1e-12)) + 1
    return _between(histogram, np.unique(at[at < len(histogram.values)]))


def value_cuts(histogram: Histogram) -> Floats:
    """A cut between any two neighbouring values."""
    return _between(histogram, np.arange(1, len(histogram.values)))


def greedy_cuts(x: Array, weights: Floats | None = None, bins: int = 128) -> Floats:
    """Cuts between all neighbouring values where there are at most `bins`; else values of 1/bins of the weight, or more,
    have a bin of their own and the rest is cut into bins of equal weight. Missing cells (NaN) take no part.

    >>> greedy_cuts(np.array([1.0, 2.0, 2.0, 4.0])).tolist()
    [1.5, 3.0]
    >>> greedy_cuts(np.array([0.0] * 10 + [1.0, 2.0, 3.0, 4.0]), bins=3).tolist()
    [0.5, 2.5]
    """
    x = np.asarray(x, dtype=np.float64)
    if weights is None:
        rising = np.sort(x)
        if len(rising) and np.isnan(rising[-1]):
            rising = rising[: int(np.searchsorted(rising, np.nan))]  # where missing ones begin
        first = kernels.greedy_cuts(rising, bins)
        return _halfway(rising[first - 1], rising[first])
    there = ~np.isnan(x)
    values, inverse = np.unique(x[there], return_inverse=True)
    if len(values) <= bins:
        return _halfway(values[:-1], values[1:])
    mass = np.bincount(inverse, weights[there], minlength=len(values)).astype(np.float64)
    heavy = mass * bins >= mass.sum()
    light = np.where(heavy, 0.0, mass)
    room = max(1, bins - int(np.count_nonzero(heavy)))  # bins left for the others
    whole = light.sum()
    upto = np.cumsum(light) - light / 2  # by the middle of a value's weight, whichever side it is summed from
    at = np.minimum(np.floor(upto * (room / whole)), room - 1) if whole > 0 else np.zeros(len(values))
    apart = heavy[1:] | heavy[:-1] | (at[1:] != at[:-1])
    return _halfway(values[:-1][apart], values[1:][apart])


def width_cuts(histogram: Histogram, bins: int) -> Floats:
    """`bins` bins of equal width between the least and the largest value."""
    _check_bins(bins)
    if len(histogram.values) < 2:
        return np.empty(0)
    least, most = histogram.values[0], histogram.values[-1]
    part = np.arange(1, bins) / bins
    cuts = np.unique(least * (1 - part) + most * part)
    inner: Floats = cuts[(cuts > least) & (cuts <= most)]
    return inner


def bin_codes(x: Array, cuts: Floats) -> Array:
    """The bin of every cell, as the narrowest unsigned codes; a missing cell (NaN) gets the code after the last bin.

    >>> bin_codes(np.array([0.5, 1.0, 9.0, np.nan]), np.array([1.0, 2.0])).tolist()
    [0, 1, 2, 3]
    """
    x = np.asarray(x, dtype=np.float64)
    if x.ndim == 1 and 16 < len(cuts) < 65_535:
        return kernels.bin_codes(x, cuts)
    codes = np.zeros(x.shape, dtype=np.min_scalar_type(len(cuts) + 1))
    if len(cuts) <= 16:  # a pass a cut beats a binary search a cell
        for t in cuts:
            codes += x >= t
    else:
        codes += np.searchsorted(cuts, x, side="right").astype(codes.dtype)
    codes[np.isnan(x)] = len(cuts) + 1
    return codes


def _check_bins(bins: int) -> None:
    if bins < 1:
        raise ModelError(f"bins must be at least 1, got {bins}")


def _between(histogram: Histogram, at: NDArray[np.intp]) -> Floats:
    """A cut below each cell of `at`: half-way to the cell before where cells are single values, else the cell's edge."""
    lower, upper = histogram.values[at - 1], histogram.values[at]
    if not histogram.exact:
        return upper
    return _halfway(lower, upper)


def _halfway(lower: Floats, upper: Floats) -> Floats:
    """The middle of rising neighbours, or the upper where no float lies between them."""
    finite = not len(lower) or math.isfinite(float(upper[-1]) - float(lower[0]))  # none is wider than all
    middle: Floats = lower + (upper - lower) / 2 if finite else lower / 2 + upper / 2
    return np.where(middle > lower, middle, upper)


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Codes in the order of a schema's values: a matrix (n, d), or a list of columns."""

    codes: Any
    sizes: tuple[int, ...]
    n_missing: int = 0
    n_unseen: int = 0

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.codes) if isinstance(self.codes, np.ndarray) else len(self.codes[0])

    @property
    def whole(self) -> bool:
        """Whether every cell has a value that is known."""
        return self.n_missing + self.n_unseen == 0

    def column(self, j: int) -> Array:
        """The codes of one column."""
        found: Array = self.codes[:, j] if isinstance(self.codes, np.ndarray) else self.codes[j]
        return found

    def family_codes(self, family: Sequence[int], extra: int = 0) -> Array:
        """One code for the values of some columns, the last fastest; `extra` more values a column (1: missing is one)."""
        codes = self.column(family[0])
        if len(family) == 1:
            return codes
        size = math.prod(self.sizes[j] + extra for j in family)
        codes = codes.astype(np.uint16 if size < 1 << 16 else np.uint32 if size < 1 << 32 else np.int64)
        for j in family[1:]:
            codes = codes * codes.dtype.type(self.sizes[j] + extra) + self.column(j)
        return codes

    def configurations(self, scope: Sequence[int]) -> Ints:
        """The cell of some columns in each row, the last fastest; −1 where one of them is missing."""
        codes, known = np.zeros(self.n, np.int64), np.ones(self.n, bool)
        for j in scope:
            column = self.column(j)
            known &= column < self.sizes[j]
            codes = codes * self.sizes[j] + column
        return np.where(known, codes, -1)

    def columns(self) -> list[Array]:
        """All columns."""
        return [self.column(j) for j in range(len(self.sizes))]

    def cells(self, rows: slice | Array = slice(None)) -> Codes:
        """[r, j] = the cell of x_j among all values of all columns; −1 where missing."""
        codes = (
            self.codes[rows] if isinstance(self.codes, np.ndarray) else np.column_stack([c[rows] for c in self.codes])
        )
        first = np.cumsum([0, *self.sizes[:-1]], dtype=np.int32)
        out: Codes = np.add(codes, first, dtype=np.int32, order="C", casting="unsafe")
        if not self.whole:
            out[codes >= np.asarray(self.sizes)] = -1
        return out

    def take(self, rows: Array) -> CodedTable:
        """Some rows."""
        codes = self.codes[rows] if isinstance(self.codes, np.ndarray) else [c[rows] for c in self.codes]
        return replace(self, codes=codes)


def learn_cuts(frame: Frame, schema: Schema, y: Array, weights: Floats | None, method: str, bins: int) -> Cuts:
    """The cuts of every measured column, from its histogram by class."""
    found: list[Floats | None] = []
    for j, column in enumerate(schema.columns):
        if column.kind not in MEASURED:
            found.append(None)
            continue
        x = column_numbers(frame, j)
        found.append(find_cuts(Histogram.of(x, y, len(schema.classes), weights), method, bins))
    return tuple(found)


def check_cuts(schema: Schema, cuts: Cuts, measured: bool = True) -> None:
    """Refuse cuts that do not rise, or whose bins are not the values of their column; `measured`: every number has cuts."""
    need(len(cuts) == len(schema), "there must be cuts of all columns")
    for column, cut in zip(schema.columns, cuts):
        name = f"column {column.name!r:.50}"
        need(not measured or (cut is not None) == (column.kind in MEASURED), f"{name}: cuts of other columns")
        if cut is not None:
            need(rises(cut), f"the cuts of {name} must rise")
            need(column.values == tuple(range(len(cut) + 1)), f"the values of {name} must be its bins")


def with_bins(schema: Schema, cuts: Cuts) -> Schema:
    """The schema whose measured columns have their bins as declared values."""
    if all(cut is None for cut in cuts):
        return schema
    columns = []
    known: dict[int, tuple[tuple[int, ...], frozenset[int]]] = {}  # most columns have as many bins as others
    for column, cut in zip(schema.columns, cuts):
        if cut is None:
            columns.append(column)
            continue
        if len(cut) not in known:
            bins = tuple(range(len(cut) + 1))
            known[len(cut)] = bins, frozenset(bins)
        columns.append(Column(column.name, column.kind, *known[len(cut)]))
    return replace(schema, columns=tuple(columns))


def code_known(frame: Frame, schema: Schema, cuts: Cuts, n_jobs: int | None) -> CodedTable:
    """Rows coded by the values of a schema; a value that it does not have is treated as missing, and counted."""
    return translated(local_codes(frame, cuts, n_jobs), schema)


def local_codes(frame: Frame, cuts: Cuts, n_jobs: int | None, where: Sequence[int] | None = None) -> Coded:
    """Local codes of the columns `where`, by default of all: bins where a column is cut, else values."""
    where = range(frame.d) if where is None else where
    if not cuts or all(cuts[j] is None for j in where):
        return code_columns(frame, where, n_jobs)
    if frame.memo is not None:  # of one climb, all along which the cuts stay
        known: Coded = frame.once(("bins", *where), lambda bare: local_codes(bare, cuts, n_jobs, where))
        return known
    measured = [(j, cut) for j in where if (cut := cuts[j]) is not None]
    work = frame.n * len(measured)
    binned = team_map(lambda one: bin_codes(column_numbers(frame, one[0]), one[1]), measured, work, n_jobs)
    return _beside_named(frame, cuts, where, binned, n_jobs)


def cut_greedily(
    frame: Frame, schema: Schema, weights: Floats | None, bins: int, n_jobs: int | None
) -> tuple[Cuts, Coded]:
    """`greedy_cuts` of every measured column, and the local codes of all columns by them: a number is read once."""

    def cut(j: int) -> tuple[Floats, Array]:
        x = column_numbers(frame, j)
        found = greedy_cuts(x, weights, bins)
        return found, bin_codes(x, found)

    measured = [j for j, c in enumerate(schema.columns) if c.kind in MEASURED]
    found = team_map(cut, measured, frame.n * len(measured), n_jobs)
    of = {j: cuts for j, (cuts, _) in zip(measured, found)}
    cuts = tuple(of.get(j) for j in range(frame.d))
    if not measured:
        return cuts, code_columns(frame, range(frame.d), n_jobs)
    return cuts, _beside_named(frame, cuts, range(frame.d), [codes for _, codes in found], n_jobs)


def _beside_named(frame: Frame, cuts: Cuts, where: Sequence[int], binned: Sequence[Array], n_jobs: int | None) -> Coded:
    """The columns `where` in their order: those that are cut, as they are `binned`, and the others by value."""
    others = [j for j in where if cuts[j] is None]
    named = code_columns(frame, others, n_jobs) if others else Coded((), [], 0)
    values: list[Sequence[Any]] = []
    codes: list[Array] = []
    missing, place, bins = named.n_missing, {j: k for k, j in enumerate(others)}, iter(binned)
    for j in where:
        cut = cuts[j]
        if cut is None:
            values.append(named.values[place[j]])
            codes.append(named.column(place[j]))
            continue
        values.append(range(len(cut) + 1))
        codes.append(next(bins))
        missing += int(np.count_nonzero(codes[-1] == len(cut) + 1))
    return Coded(tuple(values), codes, missing)


def bin_names(cuts: Floats) -> list[str]:
    """What the bins are called.

    >>> bin_names(np.array([0.5, 2.0]))
    ['[-inf, 0.5)', '[0.5, 2)', '[2, inf)']
    """
    return [f"[{a:g}, {b:g})" for a, b in itertools.pairwise([-np.inf, *cuts.tolist(), np.inf])]


def from_bins(codes: Array, cuts: Floats, rng: np.random.Generator) -> Floats:
    """A number drawn uniformly from each bin; the outer bins, which have no end, are as wide as the others on average."""
    if not len(cuts):
        return np.zeros(len(codes))  # one bin without ends: the number says nothing
    width = float(np.diff(cuts).mean()) if len(cuts) > 1 else max(abs(float(cuts[0])), 1.0)
    edges = np.concatenate([[cuts[0] - width], cuts, [cuts[-1] + width]])
    at: Floats = edges[codes] + rng.random(len(codes)) * (edges[codes + 1] - edges[codes])
    return at


def column_numbers(frame: Frame, j: int) -> Floats:
    """A column of numbers, finite or missing."""
    matrix = frame.matrix
    if frame.memo is None and matrix is not None and matrix.dtype.kind in "biuf":
        x = np.ascontiguousarray(matrix[:, j], dtype=np.float64)
    else:
        x = np.asarray(numbers(frame, [j])[:, 0], dtype=np.float64)
    if np.isinf(x).any():
        row = int(np.flatnonzero(np.isinf(x))[0])
        raise BadValue(
            f"row {row}, column {frame.name(j)!r}: Input contains infinity ({x[row]}); numbers must be finite or missing"
        )
    return x


def translated(coded: Coded, schema: Schema) -> CodedTable:
    """Local codes → codes of the schema; the codes themselves where the two agree."""
    sizes = tuple(len(c.values) for c in schema.columns)
    tables = [_look_up(values, c.values, coded.n_missing) for values, c in zip(coded.values, schema.columns)]
    if all(t is None for t in tables):
        return CodedTable(coded.codes, sizes, coded.n_missing)
    codes, unseen = [], 0
    for k, table in enumerate(tables):
        column = coded.column(k)
        if table is not None:
            strange = np.flatnonzero(table[:-1] == sizes[k])
            if len(strange):
                met = np.bincount(column, minlength=len(table))
                unseen += int(met[strange].sum())
                warn_of_types(
                    schema.names[k], [coded.values[k][int(i)] for i in strange if met[i]], schema.columns[k].values
                )
            column = table[column]
        codes.append(column)
    return CodedTable(codes, sizes, coded.n_missing, unseen)


def _look_up(local: Sequence[Any], known: tuple[Any, ...], n_missing: int) -> Array | None:
    """The schema's code of each local code, or None where they are the same for every cell that can occur."""
    same = min(len(local), len(known))
    if tuple(local[:same]) == known[:same] and (
        len(local) == len(known) or (len(local) < len(known) and not n_missing)
    ):
        return None
    place = {v: i for i, v in enumerate(known)}
    return np.array([place.get(v, len(known)) for v in local] + [len(known)], dtype=narrowest(len(known) + 1))


def check_same_cuts(a: Cuts, b: Cuts, names: Sequence[str]) -> None:
    """Counts of bins add only where the bins are the same."""
    for name, mine, theirs in zip(names, a, b):
        if not same_cuts((mine,), (theirs,)):
            raise StatisticsError(
                f"column {name!r} was cut in different places, so its counts do not add: {_shown(mine)} and "
                f"{_shown(theirs)}; fit both models with cuts=first.cuts_"
            )


def same_cuts(a: Cuts, b: Cuts) -> bool:
    """Whether every column is cut in the same places."""
    return len(a) == len(b) and all(
        x is y or (x is not None and y is not None and np.array_equal(x, y)) for x, y in zip(a, b)
    )


def _shown(cut: Floats | None) -> str:
    return "no cuts" if cut is None else f"{len(cut)} cuts {np.round(cut[:3], 4).tolist()}"
