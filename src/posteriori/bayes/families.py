"""A structure with its tables: log P(y, x) = log P(y) + Σ_j log P(x_j | y, parents of j).

Symbols: column j has S_j values and the parents π_j; θ_j[x_π, x_j, y]. The ladder of j are its θ with no parent, with the
first, with the first two, …; each rung leans on the one below. A missing cell is summed out exactly where no attribute has
two parents (`exact`); elsewhere a missing attribute takes no part, and one whose parent is missing stays on the rung
below. A rung of very many cells, most of them empty, has no table: it is counted out for the rows asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np

from ..arrays import Array, Floats, Ints
from ..budget import refuse_over
from ..kernels import log_joint_cells
from ..smoothing.theta import backoff, log_backoff, log_prior, log_theta
from ..statistics.counts import starts_of
from ..statistics.cuts import CodedTable
from ..statistics.joint import WIDE
from ..statistics.statistics import Statistics
from ..structure.structures import Structure

BLOCK = 1 << 22  # numbers held at once while missing cells are summed out


@dataclass(frozen=True, eq=False)
class Rung:
    """θ[x_π, x, y] = (N + m·base[x, y])/(N_π + m) without a table: the cells that some row has, and their counts."""

    cells: Ints
    counts: Array
    size: int
    weight: float
    contexts: int = 0  # how many there may be
    flat: bool = False  # the base is 1/S whatever the rung below says

    @cached_property
    def _totals(self) -> tuple[Ints, Array]:
        """(contexts that some row has, N[context, y])."""
        contexts, first = np.unique(self.cells // self.size, return_index=True)
        return contexts, np.add.reduceat(self.counts, first) if len(first) else self.counts

    def log_theta(self, context: Ints, x: Ints, log_below: Floats) -> Floats:
        """ln θ of each row, by the code of its parents' values, its own value and what the rung below says."""
        base = np.full_like(log_below, 1 / self.size) if self.flat else np.exp(log_below)
        n, m = _looked_up(self.cells, self.counts, context * self.size + x), _looked_up(*self._totals, context)
        with np.errstate(divide="ignore"):
            return np.log(backoff(n, m, base, self.weight))

    def log_sum(self, inner: Floats, log_below: Floats) -> Floats:
        """ln Σ_x θ[v, x] e^inner[row, x] of every context v of one parent, (rows, contexts, K), over the cells there are.

        Σ_x θ e^inner = (Σ_x N e^inner + m·Σ_x base e^inner)/(N_v + m).
        """
        rest = np.logaddexp.reduce(inner + (-math.log(self.size) if self.flat else log_below), axis=1)
        out = np.repeat(rest[:, None], self.contexts, axis=1)
        where, total = self._totals
        if len(where):
            first = np.unique(self.cells // self.size, return_index=True)[1]
            with np.errstate(divide="ignore"):
                terms = np.log(self.counts) + inner[:, self.cells % self.size]
                own = np.logaddexp(np.logaddexp.reduceat(terms, first, axis=1), rest[:, None] + np.log(self.weight))
                out[:, where] = np.where(total + self.weight > 0, own - np.log(total + self.weight), out[:, where])
        return out


def _looked_up(keys: Ints, table: Array, wanted: Ints) -> Floats:
    if not len(keys):
        return np.zeros((len(wanted), table.shape[1]))
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where((keys[at] == wanted)[:, None], table[at], 0.0)


@dataclass(frozen=True, eq=False)
class Families:
    """`levels[j][k]` is ln θ of attribute j with its first k parents, an axis for each of them, for x_j and for y."""

    structure: Structure
    sizes: tuple[int, ...]
    log_prior: Floats
    levels: tuple[tuple[Any, ...], ...]  # arrays, or a Rung where a table would be too wide
    max_memory: float | None = None
    used: frozenset[int] | None = None  # the attributes that take part; all by default
    exact: bool = True  # sum missing cells out; every attribute has then at most one parent

    @classmethod
    def of(
        cls,
        statistics: Statistics,
        structure: Structure,
        smoothing: float,
        prior: Any,
        weight: float | None = None,
        max_memory: float | None = None,
        used: frozenset[int] | None = None,
        exact: bool = True,
        wide: int | None = None,
    ) -> Families:
        """The tables of a structure: each rung leans on the one below with `weight` rows, or is smoothed by λ alone.

        Rungs of more than `wide` cells have no table.
        """
        sizes, K = statistics.sizes, statistics.n_classes
        families, wide = structure.families, WIDE if wide is None else wide
        narrow = [f for f in families if math.prod(sizes[i] for i in f) <= wide]
        rungs = sum(math.prod(sizes[i] for i in (*f[:n], f[-1])) for f in narrow for n in range(len(f)))
        peak = 2 * rungs + sum(math.prod(sizes[i] + 1 for i in f) for f in narrow)  # made, kept, and all in one
        what = f"tables of {len(families)} families, {K} classes"
        refuse_over(max_memory, 8 * K * peak, what, "give fewer parents, columns or values")
        levels = []
        for j, parents in enumerate(structure.parents):
            ladder: list[Any] = [log_theta(statistics.cells.scope(j), smoothing)]
            for n in range(1, len(parents) + 1):
                scope = (*parents[:n], j)
                cells, counts = statistics.joints[0].part_of(scope, sizes)
                dims = [sizes[i] for i in scope]
                if math.prod(dims) > wide or isinstance(ladder[-1], Rung):
                    own = sizes[j] * smoothing if weight is None else weight
                    ladder.append(Rung(cells, counts, sizes[j], own, math.prod(dims[:-1]), weight is None))
                elif weight is None:
                    ladder.append(log_theta(counts.reshape(*dims, K), smoothing))
                else:
                    ladder.append(log_backoff(counts.reshape(*dims, K), ladder[-1][..., None, :, :], weight))
            levels.append(tuple(ladder))
        start = log_prior(statistics.rows, prior, smoothing, statistics.schema.classes)
        return cls(structure, sizes, start, tuple(levels), max_memory, used, exact)

    @cached_property
    def _wide(self) -> list[int]:
        """The attributes whose ladder has a rung without a table."""
        return [j for j, ladder in enumerate(self.levels) if any(isinstance(rung, Rung) for rung in ladder)]

    @cached_property
    def tables(self) -> tuple[Floats, ...]:
        """ln θ of each attribute with all its parents; those of wide rungs are made here, within the budget."""
        made = [math.prod(self.sizes[i] for i in self.structure.families[j]) for j in self._wide]
        K = len(self.log_prior)
        what = f"tables of {len(made)} wide families, {K} classes"
        refuse_over(self.max_memory, 5 * 8 * K * sum(made), what, "fill in missing cells, or give fewer values")
        return tuple(self._in_full(j) if j in self._wide else ladder[-1] for j, ladder in enumerate(self.levels))

    def _in_full(self, j: int) -> Floats:
        """ln θ of every cell of a family of one parent."""
        size, parent = self.sizes[j], self.sizes[self.structure.parents[j][0]]
        x = np.tile(np.arange(size), parent)
        found: Floats = self.levels[j][-1].log_theta(np.repeat(np.arange(parent), size), x, self.levels[j][0][x])
        return found.reshape(parent, size, -1)

    @cached_property
    def _packed(self) -> tuple[Floats, Ints, list[tuple[int, ...]]]:
        """(all narrow tables under each other, each with one more value a column: missing; where each begins; whose)."""
        families = [f for j, f in enumerate(self.structure.families) if j not in self._wide]
        cells = [math.prod(self.sizes[j] + 1 for j in f) for f in families]
        K = len(self.log_prior)
        offsets = starts_of(cells)
        packed = np.zeros((int(offsets[-1]), K))
        for f, family in enumerate(families):
            j = family[-1]
            if self.used is not None and j not in self.used:
                continue
            part = packed[offsets[f] : offsets[f + 1]].reshape(*(self.sizes[i] + 1 for i in family), K)
            for known, table in enumerate(self.levels[j]):  # `known` parents, then one that is missing, then any
                at = tuple(slice(0, self.sizes[i]) for i in family[:known])
                rest = len(family) - 1 - known
                gap = (self.sizes[family[known]],) if rest else ()
                spread = table.reshape(*table.shape[:known], *(1,) * max(rest - 1, 0), self.sizes[j], K)
                part[(*at, *gap, *(slice(None),) * max(rest - 1, 0), slice(0, self.sizes[j]))] = spread
        return packed, offsets, families

    def log_joint(self, table: CodedTable, n_jobs: int | None = None) -> Floats:
        """log P(y, x) of each row, shape (n, K)."""
        packed, offsets, families = self._packed
        if all(len(f) == 1 for f in families) and not self._wide:
            return log_joint_cells(table.codes, packed, offsets, self.log_prior, n_jobs=n_jobs)
        if families:
            columns = [table.family_codes(f, extra=1) for f in families]
            out = log_joint_cells(columns, packed, offsets, self.log_prior, n_jobs=n_jobs)
        else:
            out = np.repeat(self.log_prior[None], table.n, axis=0)
        for j in self._wide:
            if self.used is None or j in self.used:
                out += self.ladder(table, j)[-1]
        if self.exact and not table.whole and any(self.structure.parents):
            broken = np.zeros(table.n, dtype=bool)
            for j, size in enumerate(self.sizes):
                broken |= table.column(j) >= size
            rows = np.flatnonzero(broken)
            widest = (max(map(self._summands, range(len(self.sizes)))) + max(self.sizes)) * len(self.log_prior)
            for part in np.array_split(rows, max(1, len(rows) * widest // BLOCK)):
                out[part] = self._summed_out(table.take(part))
        return out

    def _summands(self, j: int) -> int:
        """What a row without x_j and its parent is summed over."""
        last = self.levels[j][-1]
        return len(last.cells) if isinstance(last, Rung) else math.prod(last.shape[:-1])

    def ladder(self, table: CodedTable, j: int) -> list[Floats]:
        """ln θ of x_j with none of its parents, the first, the first two, … in every row; 0 where x_j is missing.

        A missing parent ends the climb.
        """
        x = table.column(j).astype(np.int64)
        seen = x < self.sizes[j]
        x = np.where(seen, x, 0)
        if not self.sizes[j]:
            return [np.zeros((table.n, len(self.log_prior)))] * len(self.levels[j])
        steps = [np.where(seen[:, None], self.levels[j][0][x], 0.0)]
        context, climbing = np.zeros(table.n, dtype=np.int64), seen
        for p, rung in zip(self.structure.parents[j], self.levels[j][1:]):
            code = table.column(p)
            climbing = climbing & (code < self.sizes[p])
            context = context * self.sizes[p] + np.where(climbing, code, 0)
            if isinstance(rung, Rung):
                found = rung.log_theta(context, x, steps[-1])
            else:
                found = rung.reshape(-1, len(self.log_prior))[context * self.sizes[j] + x]
            steps.append(np.where(climbing[:, None], found, steps[-1]))
        return steps

    def parts(self, table: CodedTable) -> Floats | None:
        """log P(x_j | y, parents of j) of each row, column and class; None where a missing cell is summed out."""
        if self.exact and not table.whole and any(self.structure.parents):
            return None
        used = range(len(self.sizes)) if self.used is None else self.used
        out = np.zeros((table.n, len(self.sizes), len(self.log_prior)))
        for j in used:
            out[:, j] = self.ladder(table, j)[-1]
        return out

    def _summed_out(self, table: CodedTable) -> Floats:
        """Messages from the leaves to the roots: m_j[v] = ln Σ_x θ_j[v, x] Π over children of their m[x].

        The sum runs over the value that the row has, or over all values where it has none; and only that v of the parent
        is asked that the row has, or all where it has none.
        """
        parents, K, rows = self.structure.parents, len(self.log_prior), table.n
        inner: dict[int, Floats] = {}  # j → Σ of the messages of its children, [row, x_j, y]
        out = np.broadcast_to(self.log_prior, (rows, K)).copy()
        for j in reversed(self.structure.order):
            size, code = self.sizes[j], table.column(j).astype(np.int64)
            wide = self.sizes[parents[j][0]] if parents[j] else 1
            above = table.column(parents[j][0]).astype(np.int64) if parents[j] else np.zeros(rows, np.int64)
            seen, up = code < size, above < wide
            message = np.zeros((rows, wide, K))
            both, lone = np.flatnonzero(seen & up), np.flatnonzero(seen & ~up)
            message[both, above[both]] = self._log_theta(j, above[both], code[both])
            message[lone] = self._log_theta(j, np.arange(wide)[None], code[lone][:, None])
            if j in inner:
                mine = inner.pop(j)
                message[seen] += mine[seen, code[seen]][:, None]
                below, none = np.flatnonzero(~seen & up), np.flatnonzero(~seen & ~up)
                terms = self._log_theta(j, above[below][:, None], np.arange(size)[None]) + mine[below]
                message[below, above[below]] = np.logaddexp.reduce(terms, axis=1)
                rung = self.levels[j][-1]
                if isinstance(rung, Rung):
                    message[none] = rung.log_sum(mine[none], self.levels[j][0])
                else:
                    message[none] = np.logaddexp.reduce(rung.reshape(wide, size, K)[None] + mine[none][:, None], axis=2)
            if parents[j]:
                p = parents[j][0]
                inner[p] = inner[p] + message if p in inner else message
            else:
                out += message[:, 0]
        return out

    def _log_theta(self, j: int, v: Ints, x: Ints) -> Floats:
        """ln θ_j[v, x] of an attribute with one parent or none, for values of both that broadcast."""
        base, last = self.levels[j][0], self.levels[j][-1]
        if last is base:
            return np.asarray(base[np.broadcast_arrays(v, x)[1]])
        if not isinstance(last, Rung):
            return np.asarray(last[v, x])
        v, x = np.broadcast_arrays(v, x)
        return last.log_theta(v.ravel(), x.ravel(), base[x.ravel()]).reshape(*v.shape, base.shape[1])

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """(codes [n, d], class codes): y ~ P(y), then every attribute given its parents."""
        prior = np.exp(self.log_prior)
        y = rng.choice(len(prior), n, p=prior / prior.sum())
        codes = np.zeros((n, len(self.sizes)), dtype=np.int64)
        for j in self.structure.order:
            parents = list(takewhile(lambda p: self.sizes[p] > 0, self.structure.parents[j]))  # values may be forgotten
            codes[:, j] = draw_from(self._given(j, codes[:, parents], y), rng)
        return codes, y

    def _given(self, j: int, given: Array, y: Array) -> Floats:
        """P(x_j | y, its first parents' values) of each row, shape (n, S_j)."""
        context, size = np.zeros(len(y), dtype=np.int64), self.sizes[j]
        found = self.levels[j][0][:, y].T
        for p, code, rung in zip(self.structure.parents[j], given.T, self.levels[j][1:]):
            context = context * self.sizes[p] + code
            if isinstance(rung, Rung):
                below = np.repeat(found.reshape(-1, 1), len(self.log_prior), axis=1)
                every = rung.log_theta(np.repeat(context, size), np.tile(np.arange(size), len(y)), below)
                found = np.take_along_axis(every, np.repeat(y, size)[:, None], axis=1).reshape(len(y), size)
            else:
                found = rung.reshape(math.prod(rung.shape[:-2]), *rung.shape[-2:])[context, :, y]
        chances: Floats = np.exp(found)
        return chances


def draw_from(p: Floats, rng: np.random.Generator) -> Array:
    """One value for each row of probabilities."""
    if p.shape[1] == 0:
        return np.zeros(len(p), dtype=np.int64)
    edges = np.cumsum(p, axis=1)
    codes: Array = (rng.random(len(p))[:, None] * edges[:, -1:] > edges).sum(axis=1)
    last: Array = np.minimum(codes, p.shape[1] - 1)
    return last
