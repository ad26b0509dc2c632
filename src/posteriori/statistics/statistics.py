"""All statistics of one table in one value: what a model that counts stores, and nothing else.

Each column has a *role*, which says what is kept of it:

| role | kept | columns |
|---|---|---|
| `cells` | N[value, y] | categorical, binary |
| `words` | N[word, y], a scope a column | text |
| `events` | Σx[column, y], one scope for all | count, multinomial |
| `moments` | n, mean, M2 | numeric Gaussian; count, Poisson |
| `histogram` | N[x, y] | numeric by kernels or bins |
| `numbers` | both of them | numeric, the density chosen later |

Where a density is to be chosen, `sample` keeps some whole rows (their numbers, categorical and binary cells) to choose by.
Models of several columns together add `joints` (counts of pairs, triples or families) and `cuts` (the bins of numbers).
`ByClass` is one statistic of a matrix alone. Classes are united by their name, never by their code.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from ..arrays import Array, Ints
from ..errors import BadValue, NotLearned, StatisticsError, listed
from ..fields import ABOVE_0, NOT_NEGATIVE, Counted, OneOf, need
from ..table.schema import Schema, Value
from .counts import LARGEST, Counts, JointStatistic, Mergeable, places_in, reindexed, starts_of, subtract
from .cuts import Cuts, check_cuts, check_same_cuts
from .histogram import Histogram
from .joint import Joint, Scope
from .moments import FAR, Moments
from .sample import Sample

ROLES = ("cells", "words", "events", "moments", "histogram", "numbers")
KEPT = {
    "moments": ("moments", "numbers"),
    "histogram": ("histogram", "numbers"),
}  # what is kept → the roles that keep it
SAMPLED = ("cells", "numbers")  # the roles whose cells a sample has


@dataclass(frozen=True, eq=False)
class Statistics(Mergeable):
    """What one pass over rows leaves behind, with `+` and `-` that unite schemas by value."""

    schema: Annotated[Schema, "d"]
    roles: Annotated[tuple[Annotated[str, OneOf(ROLES)], ...], "d"]
    rows: Annotated[Counted, "K"]  # N[y]
    cells: Counts
    words: Counts  # a scope for each text column, then one for all event columns
    moments: Moments
    histograms: tuple[Histogram, ...]
    decayed: bool = False
    joints: tuple[Any, ...] = ()  # each a JointStatistic
    cuts: Cuts = ()
    sample: Sample | None = None
    lightest: Annotated[float, ABOVE_0] = 1.0  # the least that a row weighs

    def check(self) -> None:
        """Refuse parts that are not of the columns and classes of the schema."""
        schema, K, sizes = self.schema, len(self.schema.classes), self.sizes
        need(len(self.rows) == K, "there must be a number of rows for every class")
        events = len(self.where("events"))
        for part, role, more in ((self.cells, "cells", []), (self.words, "words", [events] if events else [])):
            need(part.n_classes == K, f"the {role} must be of the classes of the schema")
            wanted = [sizes[j] for j in self.where(role)] + more
            need(part.sizes.tolist() == wanted, f"the {role} must be of the values of the schema")
        numeric, measured = self.where("moments"), self.where("histogram")
        need(self.moments.mean.shape == (K, len(numeric)), "there must be moments of every column of numbers")
        need(not len(self.moments.too_wide()), "moments whose variance overflows")
        need(len(self.histograms) == len(measured), "there must be a histogram of every column that has one")
        need(all(h.n_classes == K for h in self.histograms), "histograms must be of the classes of the schema")
        if self.cuts:
            check_cuts(schema, self.cuts, measured=False)
        if self.sample is not None:
            need(self.sample.cells.shape[1] == len(self.sampled), "a sample must have the cells of its columns")
            need(self.sample.n_classes == K, "a sample must be of the classes of the schema")
            histograms = dict(zip(measured, self.histograms))
            for k, j in enumerate(self.sampled):
                if j in histograms:
                    x = np.ascontiguousarray(self.sample.cells[:, k]).view(np.float64)
                    known = histograms[j].has_counted(x, self.sample.table)
                    need(known, "the rows of a sample must be in its histogram")
        for joint in self.joints:
            need(isinstance(joint, JointStatistic), "joints must be of columns")
            joint.check_of(sizes, K, set(numeric))

    def check_coded(self) -> None:
        """Refuse columns that are not counted by values, numbers by their bins."""
        need(set(self.roles) <= {"cells"}, "all columns must be counted by values")
        check_cuts(self.schema, self.cuts)

    def check_joint(self, at: int, scopes: Sequence[Scope]) -> None:
        """Refuse other joint counts than those of these scopes."""
        joint = self.joints[at] if at < len(self.joints) else None
        need(isinstance(joint, Joint), "there must be joint counts")
        need(self.joints[at].every_scope == list(scopes), "there must be counts of every family, or pair, of columns")

    def where(self, role: str) -> list[int]:
        """The columns of which this is kept."""
        return self._where[role]

    @cached_property
    def _where(self) -> dict[str, list[int]]:
        return {role: columns_kept(self.roles, role) for role in ROLES}

    @property
    def sampled(self) -> list[int]:
        """The columns that the sample has."""
        return sampled(self.roles)

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.rows)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """S_j, how many values each column has."""
        return tuple(len(c.values) for c in self.schema.columns)

    def __add__(self, other: Statistics) -> Statistics:
        other = other.reorder_columns(self.schema.names)
        self._check(other)
        schema = self.schema + other.schema
        a, classes = self.reindex(schema), places_in(other.schema.classes, schema.classes)
        rows = reindexed(other.rows, classes, len(a.rows))
        if a.rows.dtype.kind == rows.dtype.kind == "i" and int(a.rows.max()) + int(rows.max()) > LARGEST:
            raise StatisticsError("the number of rows would not fit into 64 bits")
        cells, words = (other._cells_in(schema, role)[1] for role in ("cells", "words"))
        moments, histograms, sample = other.moments, other.histograms, other.sample
        if other.schema.classes != schema.classes:
            moments = moments.reindex_classes(classes, len(rows))
            histograms = tuple(h.reindex_classes(classes, len(rows)) for h in histograms)
            sample = sample and sample.reindex_classes(classes, len(rows))
        moments = a.moments.add_unchecked(moments)
        for k in moments.too_wide():
            raise BadValue(f"column {schema.names[self.where('moments')[k]]!r}: {FAR}")
        return Statistics(
            schema,
            self.roles,
            a.rows + rows,
            a.cells.add_at(cells, classes, other.cells.table),
            a.words.add_at(words, classes, other.words.table),
            moments,
            tuple(h + g for h, g in zip(a.histograms, histograms)),
            self.decayed or other.decayed,
            tuple(x + y.reindex(other.schema, schema) for x, y in zip(a.joints, other.joints)),
            self.cuts,
            a.sample + sample if a.sample is not None and sample is not None else None,
            min(self.lightest, other.lightest),
        )

    def less(self, other: Statistics, lightest: float = np.inf) -> Statistics:
        """Without the rows of `other`; observed values and classes that no row has any more vanish."""
        other = other.reorder_columns(self.schema.names)
        self._check(other)
        self._refuse_strangers(other)
        b = other.reindex(self.schema)
        least = min(self.lightest, other.lightest, lightest)
        rows = subtract(self.rows, b.rows, least)
        histograms = tuple(h.less(g, least) for h, g in zip(self.histograms, b.histograms))
        left = Statistics(
            self.schema,
            self.roles,
            rows,
            self.cells.less(b.cells, least),
            self.words.less(b.words, least),
            self._moments_less(b, histograms),
            histograms,
            joints=tuple(x.less(y, least) for x, y in zip(self.joints, b.joints)),
            cuts=self.cuts,
            sample=self.sample.less(b.sample, least) if self.sample is not None and b.sample is not None else None,
            lightest=least,
        )
        return left.pruned()

    def _moments_less(self, b: Statistics, left: tuple[Histogram, ...]) -> Moments:
        """The moments without those of `b`: of a column whose every value is known they are counted anew, exactly."""
        known = {j: h for j, h in zip(self.where("histogram"), left) if h.exact}
        where = self.where("moments")
        others = [k for k, j in enumerate(where) if j not in known]
        moments = self.moments.select_columns(others) - b.moments.select_columns(others)
        if len(others) == len(where):
            return moments
        weighted = self.rows.dtype.kind == "f" or b.rows.dtype.kind == "f"
        parts = {k: moments.select_columns([i]) for i, k in enumerate(others)}
        parts |= {k: Moments.of(*known[j].moments(), weighted) for k, j in enumerate(where) if j in known}
        return Moments.concat([parts[k] for k in range(len(where))])

    @property
    def stale(self) -> dict[str, str]:
        """What rows that are gone have decided for those that stay, and is no count: what it is called → what it is."""
        names = [self.schema.names[j] for j, h in zip(self.where("histogram"), self.histograms) if not h.sure]
        found = {"histograms": f"how finely the numbers of {listed(names)} were counted"} if names else {}
        if self.sample is not None and not self.sample.sure:
            found["sample"] = "which rows were kept to choose densities by"
        return found

    def reorder_columns(self, names: tuple[str, ...]) -> Statistics:
        """The same statistics with the columns in the order of `names`."""
        mine = self.schema.names
        if mine == names or set(mine) != set(names):
            return self  # other columns are named when the schemas are united
        order = [self.schema.index(name) for name in names]
        place = {role: {j: k for k, j in enumerate(self.where(role))} for role in ROLES}
        moved = {role: [place[role][j] for j in order if j in place[role]] for role in ROLES}
        place_in_sample = {j: k for k, j in enumerate(self.sampled)}
        words = [self.words.scope(k) for k in moved["words"]]
        if moved["events"]:
            words.append(self.words.scope(len(self.words.offsets) - 2)[moved["events"]])
        return replace(
            self,
            schema=replace(self.schema, columns=tuple(self.schema.columns[j] for j in order)),
            roles=tuple(self.roles[j] for j in order),
            cells=_stacked([self.cells.scope(k) for k in moved["cells"]], self.cells),
            words=_stacked(words, self.words),
            moments=self.moments.select_columns(moved["moments"]),
            histograms=tuple(self.histograms[k] for k in moved["histogram"]),
            joints=tuple(j.reorder_columns(order, self.sizes) for j in self.joints),
            cuts=tuple(self.cuts[j] for j in order) if self.cuts else (),
            sample=self.sample
            and self.sample.select_columns([place_in_sample[j] for j in order if j in place_in_sample]),
        )

    def scaled(self, factor: float) -> Statistics:
        return replace(
            self,
            rows=self.rows * float(factor),
            cells=self.cells.scaled(factor),
            words=self.words.scaled(factor),
            moments=self.moments.scaled(factor),
            histograms=tuple(h.scaled(factor) for h in self.histograms),
            decayed=True,
            joints=tuple(j.scaled(factor) for j in self.joints),
            sample=self.sample and self.sample.scaled(factor),
        )

    @property
    def _compared(self) -> tuple[Any, ...]:
        parts = self.cells, self.words, self.moments, self.histograms, self.joints, self.sample
        return self.schema, self.roles, self.rows, len(self.cuts), *self.cuts, *parts

    def reindex(self, schema: Schema) -> Statistics:
        """The same statistics in another schema, matched by value; what that does not have, no row here may have."""
        if schema is self.schema:
            return self
        classes, n_classes = places_in(self.schema.classes, schema.classes), len(schema.classes)
        return replace(
            self,
            schema=schema,
            rows=reindexed(self.rows, classes, n_classes),
            cells=self.cells.reindex(*self._cells_in(schema, "cells"), classes, n_classes),
            words=self.words.reindex(*self._cells_in(schema, "words"), classes, n_classes),
            moments=self.moments.reindex_classes(classes, n_classes),
            histograms=tuple(h.reindex_classes(classes, n_classes) for h in self.histograms),
            joints=tuple(j.reindex(self.schema, schema) for j in self.joints),
            sample=self.sample and self.sample.reindex_classes(classes, n_classes),
        )

    def _cells_in(self, schema: Schema, role: str) -> tuple[Array, Array]:
        """(where the scopes of a role begin in another schema, the place of each cell there: −1, nowhere)."""
        counts, where = self.cells if role == "cells" else self.words, self.where(role)
        sizes = counts.sizes.copy()
        cells = np.arange(len(counts.table), dtype=np.int64)
        wanted = np.array([len(schema.columns[j].values) for j in where], dtype=np.int64)
        sizes[: len(where)] = wanted  # an event scope, if any, stands behind and never grows
        offsets = starts_of(sizes)
        for k, j in enumerate(where):
            mine, theirs = self.schema.columns[j], schema.columns[j]
            part = slice(counts.offsets[k], counts.offsets[k + 1])
            cells[part] += offsets[k] - counts.offsets[k]
            if mine.values is not theirs.values and mine.values != theirs.values:
                place = np.array([theirs.place.get(v, -1) for v in mine.values], dtype=np.int64)
                cells[part] = np.where(place < 0, -1, offsets[k] + place)
        if len(sizes) > len(where):
            cells[counts.offsets[len(where)] :] += offsets[len(where)] - counts.offsets[len(where)]
        return offsets, cells

    def pruned(self) -> Statistics:
        """Without observed values and classes that no row has."""
        columns = list(self.schema.columns)
        for counts, where in ((self.cells, self.where("cells")), (self.words, self.where("words"))):
            used = (counts.table != 0).any(axis=1)
            for k, j in enumerate(where):
                column, rows = columns[j], used[counts.offsets[k] : counts.offsets[k + 1]]
                if not rows.all():
                    values = (v for v, some in zip(column.values, rows) if some or v in column.declared)
                    columns[j] = replace(column, values=tuple(values))
        _, classes = classes_left(self.schema, self.rows)
        if classes == self.schema.classes and all(a is b for a, b in zip(columns, self.schema.columns)):
            return self
        return self.reindex(replace(self.schema, columns=tuple(columns), classes=classes))

    def _check(self, other: Statistics) -> None:
        if self.schema.names == other.schema.names and self.roles != other.roles:
            differ = [f"{n} ({a} and {b})" for n, a, b in zip(self.schema.names, self.roles, other.roles) if a != b]
            raise StatisticsError(f"columns with different densities cannot be added: {listed(differ)}")
        check_same_cuts(self.cuts, other.cuts, self.schema.names)

    def _refuse_strangers(self, other: Statistics) -> None:
        refuse_unlearned(self, other, other.schema.declared_classes)
        for mine, theirs in zip(self.schema.columns, other.schema.columns):
            new = set(theirs.values) - set(mine.values) - theirs.declared
            if new:
                raise NotLearned(f"column {mine.name!r} never had the value {listed(new)}; nothing was changed")


def columns_kept(roles: tuple[str, ...], role: str) -> list[int]:
    """The columns of which so much is kept."""
    return [j for j, r in enumerate(roles) if r in KEPT.get(role, (role,))]


def sampled(roles: tuple[str, ...]) -> list[int]:
    """The columns that a sample of rows has: none, unless the density of one is to be chosen."""
    return [j for j, r in enumerate(roles) if r in SAMPLED] if "numbers" in roles else []


def _stacked(tables: list[Array], like: Counts) -> Counts:
    """One `Counts` of the given scopes."""
    offsets = Counts.zero([len(t) for t in tables], 1).offsets
    return Counts(np.concatenate(tables) if tables else like.table, offsets)


@dataclass(frozen=True, eq=False)
class ByClass(Mergeable):
    """N_y and a `Counts`, `Moments` or `CoMoments` whose classes are `schema.classes`, with `+`, `-` and a scale.

    `-` drops classes that no row has any more, unless they were declared; with `least` given, also the last categories of
    every scope that no row has, down to so many.
    """

    schema: Annotated[Schema, "0"]  # classes alone, no columns
    rows: Annotated[Counted, "K"]
    table: Any  # a ClassStatistic
    least: Annotated[Ints | None, "columns", NOT_NEGATIVE] = None
    decayed: bool = False
    lightest: Annotated[float, ABOVE_0] = 1.0  # the least that a row weighs

    def check(self) -> None:
        """Refuse a statistic of other classes than the schema has."""
        K, counts = len(self.schema.classes), self.table if isinstance(self.table, Counts) else None
        need(len(self.rows) == K, "there must be a number of rows for every class")
        table = self.table.mean if counts is None else counts.table.T
        need(len(table) == K, "the statistic must be of the classes of the schema")
        if self.least is not None:
            fits = counts is not None and len(self.least) == len(counts.sizes)
            need(fits and (self.least <= self.table.sizes).all(), "no column has fewer values than its least size")

    def __add__(self, other: ByClass) -> ByClass:
        schema = self.schema + other.schema
        a, b = self.reindex(schema), other.reindex(schema)
        mine, theirs = same_sizes(a.table, b.table)
        least = self.least if other.least is None or self.least is None else np.maximum(self.least, other.least)
        lightest = min(self.lightest, other.lightest)
        return ByClass(schema, a.rows + b.rows, mine + theirs, least, self.decayed or other.decayed, lightest)

    def less(self, other: ByClass, lightest: float = np.inf) -> ByClass:
        refuse_unlearned(self, other)
        part = other.reindex(self.schema)
        least = min(self.lightest, other.lightest, lightest)
        rows = subtract(self.rows, part.rows, least)
        mine, theirs = same_sizes(self.table, part.table)
        left = replace(self, rows=rows, table=mine.less(theirs, least), lightest=least)
        return left.reindex(replace(self.schema, classes=classes_left(self.schema, rows)[1]))._trimmed()

    def scaled(self, factor: float) -> ByClass:
        return ByClass(self.schema, self.rows * float(factor), self.table.scaled(factor), self.least, True)

    @property
    def _compared(self) -> tuple[Any, ...]:
        return self.schema, self.rows, self.table, self.least, self.decayed, self.lightest

    def reindex(self, schema: Schema) -> ByClass:
        """The same statistic among the classes of another schema; those that it does not have, no row here may have."""
        if schema.classes == self.schema.classes:
            return self
        to, n = places_in(self.schema.classes, schema.classes), len(schema.classes)
        return replace(self, schema=schema, rows=reindexed(self.rows, to, n), table=self.table.reindex_classes(to, n))

    def _trimmed(self) -> ByClass:
        if self.least is None:
            return self
        counts = self.table
        seen = [np.flatnonzero(counts.scope(j).any(axis=1)).max(initial=-1) + 1 for j in range(len(counts.sizes))]
        return replace(self, table=resized(counts, np.maximum(np.array(seen), self.least)))


def classes_left(schema: Schema, rows: Array) -> tuple[Array, tuple[Value, ...]]:
    """(whether each class stays, those that do): the ones that some row has, and the declared ones."""
    keep = np.array([c in schema.declared_classes for c in schema.classes], dtype=bool) | (rows > 0)
    return keep, tuple(c for c, k in zip(schema.classes, keep) if k)


def refuse_unlearned(whole: Any, part: Any, but: Collection[Value] = ()) -> None:
    """Refuse to take away what was scaled since, or rows of classes that were never there, `but` some."""
    if whole.decayed or part.decayed:
        raise NotLearned("rows cannot be forgotten exactly after decay: their counts have been scaled")
    unknown = [c for c in part.schema.classes if c not in whole.schema.classes and c not in but]
    if unknown:
        raise NotLearned(f"rows of class {listed(unknown)} were never learned; nothing was changed")


def same_sizes(a: Any, b: Any) -> tuple[Any, Any]:
    """Both counts with as many categories as either has; other statistics as they are."""
    if not isinstance(a, Counts) or len(a.sizes) != len(b.sizes):
        return a, b
    sizes = np.maximum(a.sizes, b.sizes)
    return resized(a, sizes), resized(b, sizes)


def resized(counts: Counts, sizes: Array) -> Counts:
    """The same counts with other numbers of categories; those that go have no rows."""
    if np.array_equal(sizes, counts.sizes):
        return counts
    out = Counts.zero(sizes.tolist(), counts.n_classes)
    table = out.table.astype(counts.table.dtype)
    for j in range(len(sizes)):
        kept = counts.scope(j)[: sizes[j]]
        table[out.offsets[j] : out.offsets[j] + len(kept)] = kept
    return Counts(table, out.offsets)
