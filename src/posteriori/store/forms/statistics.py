"""The mergeable values: shapes that fit each other and the schema, counts that can be counts, places that are there."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from ...bayes.averaged import RowStore
from ...statistics.comoments import CoMoments, FamilyMoments
from ...statistics.counts import Counts
from ...statistics.histogram import Histogram
from ...statistics.joint import Joint, cells_of
from ...statistics.moments import Moments, Span
from ...statistics.sample import Sample
from ...statistics.statistics import ROLES, ByClass, Statistics
from .form import counts, flag, floats, ints, natural, need, numbers, of, tuple_of, value, weight, word
from .form import nothing as none


def _counts(held: Counts) -> None:
    at = held.offsets
    begin = len(at) and at[0] == 0 and (at[1:] >= at[:-1]).all()  # a difference may not fit into its type
    need(begin, "the scopes of counts must begin one after another, at 0")
    need(at[-1] == len(held.table), f"counts have {len(held.table)} rows, their scopes {at[-1]}")


def _span(held: Span) -> None:
    need(held.low.shape == held.high.shape, "a span must have as many ends below as above")
    need(not (np.isnan(held.low).any() or np.isnan(held.high).any()), "the ends of a span must be numbers")


def _moments(held: Moments) -> None:
    shape = held.mean.shape
    parts = (held.n, held.m2, *(() if held.span is None else (held.span.low,)), *_known(held.peak))
    need(all(part.shape == shape for part in parts), "moments must have n, mean and M2 of one shape")


def _comoments(held: CoMoments) -> None:
    K, d = held.mean.shape
    need(held.n.shape == (K,) and held.c.shape == (K, d, d), "co-moments must have n, mean and C of every class")
    parts = (*(() if held.span is None else (held.span.low,)), *_known(held.peak))
    need(all(part.shape == (K, d) for part in parts), "co-moments must have the span of every class")


def _known(part: Any) -> tuple[Any, ...]:
    return () if part is None else (part,)


def _histogram(held: Histogram) -> None:
    need(len(held.values) == len(held.table), "a histogram must have counts for every value")
    need((np.diff(held.values) > 0).all(), "the values of a histogram must rise")
    need(held.table.any(axis=1).all(), "every value of a histogram must have been counted")


def _sample(held: Sample) -> None:
    need(len(held.hashes) == len(held.cells) == len(held.table), "a sample must have the cells and counts of every row")
    need((held.hashes[1:] > held.hashes[:-1]).all(), "the hashes of a sample must rise")


def _joint(held: Joint) -> None:
    n = len(held.full)
    need(len(held.scopes) == n == len(held.counts.offsets) - 1, "joint counts must have the columns of every scope")
    need(held.scopes.shape[1] >= 1, "a scope must have a column")
    after = held.scopes[:, 1:] >= 0
    need(not (after & (held.scopes[:, :-1] < 0)).any(), "the columns of a scope must stand before its end")
    sizes = held.counts.sizes
    if held.cells is None:
        need(np.array_equal(sizes, held.full), "joint counts must have a row for every cell")
        return
    need(len(held.cells) == len(held.counts.table), "joint counts must name the cell of every row")
    for (a, b), full in zip(pairwise(held.counts.offsets.tolist()), held.full.tolist()):
        mine = held.cells[a:b]
        rise = b == a or (mine[0] >= 0 and mine[-1] < full and (mine[1:] > mine[:-1]).all())
        need(rise, "the cells of a scope must rise")


def _row_store(held: RowStore) -> None:
    need(len(held.rows) == len(held.weight), "stored rows must have a weight each")


def _family_moments(held: FamilyMoments) -> None:
    need(len(held.scopes) == len(held.tables), "every family must have its co-moments")
    for (_, own), table in zip(held.scopes, held.tables):
        need(len(own) and len(own) == table.mean.shape[1], "the co-moments of a family must have its columns")


def fits(joint: Any, sizes: list[int], K: int, numeric: set[int]) -> None:
    """Joint counts that are of columns of these sizes."""
    d = len(sizes)
    if isinstance(joint, Joint):
        need(joint.counts.n_classes == K, "joint counts must be of the classes of the schema")
        need(
            joint.scopes.size == 0 or (joint.scopes.min() >= -1 and joint.scopes.max() < d),
            "a scope has no such column",
        )
        scopes = [joint.columns(s) for s in range(len(joint.full))]
        need(all(len(set(scope)) == len(scope) > 0 for scope in scopes), "a scope must have every column once")
        need(cells_of(scopes, sizes) == joint.full.tolist(), "joint counts must have the cells of their columns")
    elif isinstance(joint, RowStore):
        need(joint.rows.shape[1] == d + 1, "stored rows must have all columns and the class")
        most = np.array([*sizes, K - 1])
        need(len(joint.rows) == 0 or (joint.rows.max(axis=0) <= most).all(), "a stored row has a value that is none")
        need(K or not len(joint.rows), "stored rows without a class")
    else:
        for (above, own), table in zip(joint.scopes, joint.tables):
            every = (*above, *own)
            need(len(set(every)) == len(every) and max(every) < d, "a family must have every column once")
            need(set(own) <= numeric and not set(above) & numeric, "a family of numbers has numbers below values")
            need(len(table.n) == math.prod(sizes[j] for j in above) * K, "co-moments must be of all configurations")


def _holds(histogram: Histogram, cells: Any, table: Any) -> bool:
    """Whether every number of a sample is in a cell of the histogram, as often in each class."""
    x = np.ascontiguousarray(cells).view(np.float64)
    there = ~np.isnan(x)
    x, table = x[there], table[there]
    if not len(histogram.values):
        return not len(x)
    at = np.searchsorted(histogram.values, x, side="right") - 1
    if (at < 0).any() or (histogram.exact and (histogram.values[at] != x).any()):
        return False
    if table.dtype.kind != "i" or histogram.table.dtype.kind != "i":
        return True  # sums of weights are rounded
    found = np.zeros_like(histogram.table)
    np.add.at(found, at, table)
    return bool((found <= histogram.table).all())


def _statistics(held: Statistics) -> None:
    schema, K, d = held.schema, len(held.schema.classes), len(held.schema)
    sizes = [len(c.values) for c in schema.columns]
    need(len(held.roles) == d, "every column must have a role")
    need(len(held.rows) == K, "there must be a number of rows for every class")
    events = len(held.where("events"))
    for part, role, more in ((held.cells, "cells", []), (held.words, "words", [events] if events else [])):
        need(part.table.shape[1] == K, f"the {role} must be of the classes of the schema")
        wanted = [sizes[j] for j in held.where(role)] + more
        need(part.sizes.tolist() == wanted, f"the {role} must be of the values of the schema")
    where = {role: held.where(role) for role in ("moments", "histogram")}
    need(held.moments.mean.shape == (K, len(where["moments"])), "there must be moments of every column of numbers")
    need(not len(held.moments.too_wide()), "moments whose variance overflows")
    need(len(held.histograms) == len(where["histogram"]), "there must be a histogram of every column that has one")
    need(all(h.n_classes == K for h in held.histograms), "histograms must be of the classes of the schema")
    need(len(held.cuts) in (0, d), "there must be cuts of all columns or of none")
    for cut, column in zip(held.cuts, schema.columns):
        if cut is not None:
            need((np.diff(cut) > 0).all(), f"the cuts of column {column.name!r:.50} must rise")
            need(
                column.values == tuple(range(len(cut) + 1)),
                f"the values of column {column.name!r:.50} must be its bins",
            )
    if held.sample is not None:
        need(held.sample.cells.shape[1] == len(held.sampled), "a sample must have the cells of its columns")
        need(held.sample.n_classes == K, "a sample must be of the classes of the schema")
        at = {j: k for k, j in enumerate(where["histogram"])}
        for k, j in enumerate(held.sampled):
            if j in at:
                known = _holds(held.histograms[at[j]], held.sample.cells[:, k], held.sample.table)
                need(known, "the rows of a sample must be in its histogram")
    numeric = set(where["moments"])
    for joint in held.joints:
        fits(joint, sizes, K, numeric)


def _by_class(held: ByClass) -> None:
    K = len(held.schema.classes)
    need(len(held.schema) == 0 and len(held.rows) == K, "there must be a number of rows for every class")
    table = held.table.table.T if isinstance(held.table, Counts) else held.table.mean
    need(len(table) == K, "the statistic must be of the classes of the schema")
    if held.least is not None:
        fits = isinstance(held.table, Counts) and len(held.least) == len(held.table.sizes)
        need(fits and (held.least <= held.table.sizes).all(), "no column has fewer values than its least size")


places = tuple_of(natural(1 << 31))
FORMS = {
    form.tag: form
    for form in (
        value(Counts, _counts, table=counts(2), offsets=ints(1)),
        value(Span, _span, low=floats(2, finite=False), high=floats(2, finite=False), weighted=flag),
        value(
            Moments,
            _moments,
            n=floats(2, 0),
            mean=floats(2),
            m2=floats(2, 0),
            span=of("Span") | none,
            peak=floats(2) | none,
        ),
        value(
            CoMoments,
            _comoments,
            n=floats(1, 0),
            mean=floats(2),
            c=floats(3),
            span=of("Span") | none,
            peak=floats(2) | none,
        ),
        value(Histogram, _histogram, values=floats(1), table=counts(2), level=natural(63), columns=natural(1 << 31)),
        value(
            Sample,
            _sample,
            hashes=numbers("LQ", 1),
            cells=numbers("LQ", 2),
            table=counts(2),
            level=natural(64),
        ),
        value(Joint, _joint, scopes=numbers("i", 2), full=ints(1, 0), counts=of("Counts"), cells=ints(1) | none),
        value(RowStore, _row_store, rows=numbers("I", 2), weight=counts(1)),
        value(FamilyMoments, _family_moments, scopes=tuple_of(tuple_of(places)), tables=tuple_of(of("CoMoments"))),
        value(
            Statistics,
            _statistics,
            new="lightest",
            schema=of("Schema"),
            roles=tuple_of(word(*ROLES)),
            rows=counts(1),
            cells=of("Counts"),
            words=of("Counts"),
            moments=of("Moments"),
            histograms=tuple_of(of("Histogram")),
            decayed=flag,
            joints=tuple_of(of("Joint", "RowStore", "FamilyMoments")),
            cuts=tuple_of(floats(1) | none),
            sample=of("Sample") | none,
            lightest=weight,
        ),
        value(
            ByClass,
            _by_class,
            new="lightest",
            schema=of("Schema"),
            rows=counts(1),
            table=of("Counts", "Moments", "CoMoments"),
            least=ints(1, 0) | none,
            decayed=flag,
            lightest=weight,
        ),
    )
}
