"""Source + schema → statistics: the one pass, over columns alone (`collect`) or coded throughout (`collect_coded`).

Symbols: n rows, K classes, y class codes, w weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import kernels
from ..arrays import Array, Floats, Ints
from ..budget import memory_budget, refuse_over
from ..errors import BadValue, CountOverflow
from ..kernels import add_hashes, histograms
from ..table.encode import Coded, Seen, numbers, seen_columns, words_of
from ..table.frame import Frame
from ..table.schema import MEASURED, Column, Schema
from .counts import Counts, class_rows, lightest, starts_of
from .cuts import CodedTable, Cuts, local_codes, translated, with_bins
from .histogram import Histogram, most_cells
from .joint import collect_pairs
from .moments import FAR, Moments
from .sample import Sample, mix, number_cells, salts, value_cells
from .statistics import ROLES, Statistics, columns_kept, sampled

EXACT = 2**53  # the largest sum of whole numbers that floats keep exact
SMALL = 1 << 20  # counts that are never too many
ROWS = 1 << 20  # whose hashes are there at once
NUMERIC = ("moments", "histogram", "numbers")  # the roles of columns that are read as numbers


def collect(
    frame: Frame,
    schema: Schema,
    roles: tuple[str, ...],
    y: Array,
    weights: Floats | None = None,
    n_jobs: int | None = None,
    cuts: Cuts = (),
) -> tuple[Statistics, Seen]:
    """(statistics of the rows of `frame`, whose classes are `schema.classes[y]`; how many cells were missing).

    The values of the result are the declared ones of `schema` and those that the rows have. Weights (n, K) are shares: a
    row counts w[r, y] in every class y, and `y` itself is not asked. Numeric columns of role "cells" are counted by their
    bins, between `cuts`.
    """
    n_classes, columns = len(schema.classes), list(schema.columns)
    shared = weights is not None and weights.ndim == 2
    where = {role: found for role in ROLES if (found := columns_kept(roles, role))}
    moved, shaped, drawn = (where.get(role, []) for role in ("moments", "histogram", "numbers"))
    named = where.get("cells", []) if frame.sparse is None else []
    most, hashed = most_cells(n_classes, len(shaped)), sampled(roles)
    salt = dict(zip(hashed, salts([columns[j].name for j in hashed])))

    coded = local_codes(frame, cuts, n_jobs, named) if named else Coded((), [], 0)
    sampled_codes = [coded.column(k) for k in range(len(named))] if drawn else []
    measured = [j for j, role in enumerate(roles) if role in NUMERIC]
    x = numbers(frame, measured) if measured else np.zeros((frame.n, 0))
    x_moved, x_shaped, x_drawn = (
        x if wanted == measured else x[:, [measured.index(j) for j in wanted]] for wanted in (moved, shaped, drawn)
    )
    if coded.offsets[-1] * n_classes > SMALL:
        _refuse_wide(frame, coded, named, n_classes)

    codes = coded.upright if shared else coded.codes
    table = kernels.count_cells(codes, y, coded.offsets, n_classes, weights, n_jobs=n_jobs) if named else None
    if shared and table is not None:
        rows = table[: coded.offsets[1]].sum(axis=0)  # a row has a value in the first column, or a missing cell
    else:
        rows = class_rows(y, n_classes, weights)
    n, mean, m2, low, high, met = kernels.class_moments(x_moved, y, n_classes, weights, n_jobs)
    if x_shaped.shape[1] * min(frame.n, most) * n_classes > SMALL:
        _refuse_histograms(x_shaped, n_classes, most, n_jobs)
    drawings = histograms(x_shaped, y, n_classes, most, weights, n_jobs) if shaped else []
    salted, hashes = (
        np.array([salt[j] for j in drawn], np.uint64),
        np.zeros(min(frame.n, ROWS) if drawn else 0, np.uint64),
    )
    if drawn:
        add_hashes(x_drawn[:ROWS], salted, hashes, n_jobs)

    n_missing = coded.n_missing
    if table is not None:
        met_columns, places = seen_columns(coded, (table != 0).any(axis=1), [columns[j] for j in named])
        for j, column in zip(named, met_columns):
            columns[j] = column
    bits = _bits(frame, where["cells"], columns, y, rows, weights, n_jobs) if "cells" in where and not named else None
    words = _words(frame, where["words"], columns, y, n_classes, weights) if "words" in where else []
    united = Schema(tuple(columns), schema.classes, schema.declared_classes, schema.target)
    if table is not None:
        cells = in_schema(table, places, met_columns)
    else:
        cells = Counts.zero([], n_classes) if bits is None else bits
    events = None
    if "events" in where:
        events, missing_events = _events(frame, where["events"], y, n_classes, weights, n_jobs)
        n_missing += missing_events
    moments = Moments(n, mean, m2) if shared else Moments.of(n, mean, m2, low, high, weights is not None)
    kept, met_too = Histogram.of_found(drawings, weights is not None, len(shaped))
    n_missing += int(np.isnan(x).sum()) if (met | met_too) & kernels.NAN else 0
    names = [columns[j].name for j in measured]
    counted = [k for k, j in enumerate(measured) if columns[j].kind == "count"]
    if counted:
        refuse_bad_counts(x[:, counted], [names[k] for k in counted])
    _refuse_infinite(moments, met_too, x, names, [columns[j].name for j in moved])
    chosen = (
        _sample(x_drawn, drawn, salted, hashes, sampled_codes, named, coded.values, salt, y, n_classes, weights, n_jobs)
        if drawn
        else None
    )
    statistics = Statistics(
        united,
        roles,
        rows,
        cells,
        _joined(words, events, n_classes),
        moments,
        kept,
        cuts=cuts,
        sample=chosen,
        lightest=lightest(weights),
    )
    return statistics, Seen(n_missing)


def collect_coded(
    frame: Frame,
    schema: Schema,
    cuts: Cuts,
    y: Array,
    weights: Floats | None,
    pairs: bool,
    n_jobs: int | None,
    max_memory: float | None,
) -> tuple[CodedTable, Statistics]:
    """The rows coded by the values they have, numbers by their bins, and N[y], N[xj, y], N[xi, xj, y] of them."""
    by_value, found = collect_codes(
        local_codes(frame, cuts, n_jobs), with_bins(schema, cuts), y, weights, n_jobs, cuts=cuts
    )
    if not pairs:
        return by_value, found
    return by_value, replace(found, joints=(collect_pairs(by_value, y, found.n_classes, weights, n_jobs, max_memory),))


def collect_codes(
    coded: Coded, schema: Schema, y: Array, weights: Floats | None, n_jobs: int | None, cuts: Cuts = ()
) -> tuple[CodedTable, Statistics]:
    """Rows that are coded already, in the codes of the values they have and the schema declares; N[y] and N[xj, y]."""
    n_classes = len(schema.classes)
    shared = weights is not None and weights.ndim == 2
    codes = coded.upright if shared else coded.codes
    table = kernels.count_cells(codes, y, coded.offsets, n_classes, weights, n_jobs=n_jobs)
    rows = table[: coded.offsets[1]].sum(axis=0) if shared else class_rows(y, n_classes, weights)
    columns, places = seen_columns(coded, (table != 0).any(axis=1), schema.columns)
    schema = replace(schema, columns=tuple(columns))
    counts = in_schema(table, places, columns)
    nothing = Moments.zero(n_classes, 0)
    words = Counts.zero([], n_classes)
    roles = ("cells",) * len(columns)
    return translated(coded, schema), Statistics(
        schema, roles, rows, counts, words, nothing, (), cuts=cuts, lightest=lightest(weights)
    )


def with_values_of(
    frame: Frame, schema: Schema, roles: tuple[str, ...], n_jobs: int | None = None, cuts: Cuts = ()
) -> Schema:
    """The schema with the values that the rows have, and the words, all of them declared."""
    columns = list(with_bins(schema, cuts).columns)
    named, texts = columns_kept(roles, "cells"), columns_kept(roles, "words")
    if frame.sparse is not None:
        for j in named:
            columns[j] = Column(columns[j].name, "binary", (0, 1))
    elif named:
        _declare(local_codes(frame, cuts, n_jobs, named), named, columns, n_jobs)
    for j in texts:
        columns[j] = columns[j].with_values(words_of(frame, j)[0])
    for j in (*named, *texts):
        columns[j] = replace(columns[j], declared=frozenset(columns[j].values))
    return replace(schema, columns=tuple(columns))


def with_values_of_codes(coded: Coded, schema: Schema, n_jobs: int | None = None) -> Schema:
    """The same where all columns are coded; those that are cut have their bins already."""
    columns = list(schema.columns)
    where = [j for j, c in enumerate(columns) if c.kind not in MEASURED or len(c.values) != len(coded.values[j])]
    if len(where) == len(columns):
        _declare(coded, where, columns, n_jobs)
    elif where:
        some = Coded(tuple(coded.values[j] for j in where), [coded.column(j) for j in where], coded.n_missing)
        _declare(some, where, columns, n_jobs)
    for j in where:
        columns[j] = Column(columns[j].name, columns[j].kind, columns[j].values, frozenset(columns[j].values))
    return replace(schema, columns=tuple(columns))


def _declare(coded: Coded, where: list[int], columns: list[Column], n_jobs: int | None) -> None:
    """Give the columns the values that their codes have."""
    no_class = np.zeros(len(coded.column(0)), np.uint8)
    counts = kernels.count_cells(coded.codes, no_class, coded.offsets, 1, n_jobs=n_jobs)
    for j, column in zip(where, seen_columns(coded, counts[:, 0] != 0, [columns[j] for j in where])[0]):
        columns[j] = column


def count_coded(table: CodedTable, y: Array, n_classes: int, weights: Floats | None) -> tuple[Counts, Array]:
    """N[xj, y] and N[y] of rows that are coded already."""
    offsets = starts_of(np.asarray(table.sizes) + 1)
    counted = kernels.count_cells(table.codes, y, offsets, n_classes, weights)
    cells = np.delete(counted, offsets[1:] - 1, axis=0)
    return Counts(cells, Counts.zero(table.sizes, 1).offsets), class_rows(y, n_classes, weights)


def _refuse_wide(frame: Frame, coded: Coded, where: list[int], n_classes: int) -> None:
    widest = max(range(len(where)), key=lambda k: len(coded.values[k]))
    refuse_over(
        None,
        2 * int(coded.offsets[-1]) * n_classes * 8,  # as counted, and without what is missing
        f"counting {int(coded.offsets[-1])} values for {n_classes} classes",
        f"column {frame.name(where[widest])!r} alone has {len(coded.values[widest])} values: leave it out",
    )


def _refuse_histograms(x: Array, n_classes: int, most: int, n_jobs: int | None) -> None:
    """Refuse tables that do not fit; only where they might not are their cells counted first, all rows in one class."""
    if 24.0 * min(len(x), most) * n_classes * x.shape[1] > memory_budget():
        cells = sum(len(keys) for keys, *_ in histograms(x, np.zeros(len(x), np.uint8), 1, most, None, n_jobs))
        what = f"histograms of {x.shape[1]} columns, {cells} cells, for {n_classes} classes"
        refuse_over(None, 24.0 * cells * n_classes, what, 'choose density="gaussian", fewer columns or classes')


def in_schema(table: Array, places: Ints, columns: Sequence[Column]) -> Counts:
    """The counts of a block's local codes by the values of its columns, as `seen_columns` gives both."""
    offsets, met = Counts.zero([len(c.values) for c in columns], 1).offsets, np.flatnonzero(places >= 0)
    row = np.full(offsets[-1], -1)
    row[places[met]] = met
    cells = table[row]
    cells[row < 0] = 0  # declared, and in no row
    return Counts(cells, offsets)


def _bits(
    frame: Frame,
    where: list[int],
    columns: list[Column],
    y: Array,
    rows: Array,
    weights: Floats | None,
    n_jobs: int | None,
) -> Counts:
    """Binary columns of a sparse table: only the ones are counted, the zeros are the rest of the class."""
    ones = _sparse_sums(frame, where, y, len(rows), weights, n_jobs, binary=True)
    table = np.empty((2 * len(where), len(rows)), dtype=rows.dtype)
    table[1::2] = ones if weights is not None else np.rint(ones).astype(np.int64)
    table[0::2] = np.maximum(rows - table[1::2], 0)
    both = frozenset((0, 1))
    for j in where:
        columns[j] = Column(columns[j].name, "binary", (0, 1), both)
    return Counts(table, np.arange(0, 2 * len(where) + 1, 2, dtype=np.int64))


def _sparse_sums(
    frame: Frame, where: list[int], y: Array, n_classes: int, weights: Floats | None, n_jobs: int | None, binary: bool
) -> Floats:
    part = frame.sparse if len(where) == frame.d else frame.sparse[:, where]
    data = part.data
    if binary:
        refuse_no_bits(part, [frame.name(j) for j in where])
        if len(data) and not data.all():
            part = part.copy()
            part.eliminate_zeros()
        data = None
    sums, bad = kernels.count_sparse(
        part.indptr, part.indices, data, part.shape[1], y, n_classes, weights, n_jobs=n_jobs
    )
    if bad:
        refuse_bad_cells(part, [frame.name(j) for j in where])
    return sums


def _events(
    frame: Frame,
    where: list[int],
    y: Array,
    n_classes: int,
    weights: Floats | None,
    n_jobs: int | None,
) -> tuple[Counts, int]:
    """(Σx[column, y] of the count columns, one scope for all: they compete for the same events; how many are missing)."""
    n_missing = 0
    if frame.sparse is not None:
        sums = _sparse_sums(frame, where, y, n_classes, weights, n_jobs, binary=False)
        whole = frame.sparse.dtype.kind in "biu"
    else:
        x = numbers(frame, where)
        refuse_bad_counts(x, [frame.name(j) for j in where])
        n_missing = int(np.isnan(x).sum())
        whole = bool((x == np.floor(x)).all())
        sums = np.zeros((len(where), n_classes))
        filled = np.nan_to_num(x, nan=0.0)
        with np.errstate(over="ignore"):  # refused below
            for c in range(n_classes):
                if weights is not None and weights.ndim == 2:
                    sums[:, c] = weights[:, c] @ filled
                    continue
                part = filled[y == c]
                sums[:, c] = part.sum(axis=0) if weights is None else weights[y == c] @ part
    if sums.size and not sums.max() <= (EXACT if whole and weights is None else np.finfo(float).max):
        raise CountOverflow(
            f"the counts add up to {sums.max():g}, more than can be added exactly ({EXACT}); rescale them"
        )
    table = np.rint(sums).astype(np.int64) if whole and weights is None else sums
    return Counts(table, np.array([0, len(where)], dtype=np.int64)), n_missing


def refuse_bad_counts(x: Floats, names: list[str]) -> None:
    """Counts are finite and not negative; the first that is not is named."""
    bad = (x < 0) | np.isinf(x)
    if bad.any():
        i, k = (int(v) for v in np.argwhere(bad)[0])
        raise BadValue(f"row {i}, column {names[k]!r}: a count must be finite and not negative. Got {x[i, k]} instead.")


def refuse_bad_cells(part: Any, names: list[str]) -> None:
    """The same for a sparse table that is known to have such a cell."""
    stored = np.asarray(part.data, dtype=np.float64)
    at = int(np.flatnonzero((stored < 0) | ~np.isfinite(stored))[0])
    row, name = int(np.searchsorted(part.indptr, at, side="right")) - 1, names[int(part.indices[at])]
    raise BadValue(f"row {row}, column {name!r}: a count must be finite and not negative. Got {stored[at]} instead.")


def refuse_no_bits(part: Any, names: list[str]) -> None:
    """The stored cells of a binary sparse table are 0 or 1."""
    data = part.data
    if data.dtype == bool or bool(((data == 1) | (data == 0)).all()):
        return
    at = int(np.flatnonzero((data != 1) & (data != 0))[0])
    row, name = int(np.searchsorted(part.indptr, at, side="right")) - 1, names[int(part.indices[at])]
    raise BadValue(f"row {row}, column {name!r}: a binary cell is 0 or 1. Got {data[at]} instead; X != 0 makes it so.")


def _words(
    frame: Frame, where: list[int], columns: list[Column], y: Array, n_classes: int, weights: Floats | None
) -> list[Counts]:
    found = []
    for j in where:
        vocabulary, bags = words_of(frame, j)
        sums, _ = kernels.count_sparse(bags.indptr, bags.indices, bags.data, bags.shape[1], y, n_classes, weights)
        columns[j] = columns[j].with_values(vocabulary)
        place = {w: i for i, w in enumerate(columns[j].values)}
        table = np.zeros((len(place), n_classes))
        table[[place[w] for w in vocabulary]] = sums
        table = np.rint(table).astype(np.int64) if weights is None else table
        found.append(Counts(table, np.array([0, len(table)], dtype=np.int64)))
    return found


def _joined(words: list[Counts], events: Counts | None, n_classes: int) -> Counts:
    parts = [*words, *([events] if events is not None else [])]
    if not parts:
        return Counts.zero([], n_classes)
    sizes = [len(p.table) for p in parts]
    return Counts(np.concatenate([p.table for p in parts]), Counts.zero(sizes, 1).offsets)


def _sample(
    x: Array,
    drawn: list[int],
    salted: Array,
    hashes: Array,
    codes: list[Array],
    named: list[int],
    values: Sequence[Sequence[Any]],
    salt: dict[int, np.uint64],
    y: Array,
    n_classes: int,
    weights: Floats | None,
    n_jobs: int | None,
) -> Sample:
    """Some whole rows, since a density is to be chosen by them: numbers x of the columns `drawn`, codes of those `named`.

    Samples of parts add to the sample of all, so that hashes are there for some of the rows at a time, at first those of
    the first part's numbers; a value is hashed once.
    """
    place = {j: k for k, j in enumerate(salt)}
    bits = [value_cells(found) for found in values]
    of_values = [mix(b ^ salt[j]) for j, b in zip(named, bits)]

    def part(begin: int, hashes: Array) -> Sample:
        here = slice(begin, begin + ROWS)
        some, own = x[here], [column[here] for column in codes]
        for column, of_value in zip(own, of_values):
            hashes += of_value[column]

        def cells(rows: Array) -> Array:
            out = np.empty((len(rows), len(place)), np.uint64)
            out[:, [place[j] for j in drawn]] = number_cells(some[rows])
            for j, column, of_value in zip(named, own, bits):
                out[:, place[j]] = of_value[column[rows]]
            return out

        share = None if weights is None else weights[here]
        return Sample.of_hashes(mix(hashes), cells, len(place), y[here], n_classes, share)

    found = part(0, hashes)
    for begin in range(ROWS, len(x), ROWS):
        hashes = np.zeros(min(ROWS, len(x) - begin), np.uint64)
        add_hashes(x[begin : begin + ROWS], salted, hashes, n_jobs)
        found = found + part(begin, hashes)
    return found


def _refuse_infinite(moments: Moments, met: int, x: Array, names: list[str], moved: list[str]) -> None:
    """Infinity, and numbers whose square does not fit into a float, are named; `met` are the bits of the histograms."""
    too_wide = moments.too_wide()
    if not len(too_wide) and not met & kernels.INF:
        return
    for k, name in enumerate(names):
        bad = np.flatnonzero(np.isinf(x[:, k]))
        if len(bad):
            raise BadValue(
                f"row {bad[0]}, column {name!r}: Input contains infinity ({float(x[bad[0], k])}); "
                "numbers must be finite or missing"
            )
    raise BadValue(f"column {moved[too_wide[0]]!r}: {FAR}")
