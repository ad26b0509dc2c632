"""A structure with its tables: log P(y, x) = log P(y) + Σ_j log P(x_j | y, parents of j).

Symbols: column j has S_j values and the parents π_j; θ_j[x_π, x_j, y]. A missing cell is summed out exactly where no
attribute has two parents (`exact`); elsewhere a missing attribute takes no part, and an attribute whose parent is missing
uses the parents before that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Floats
from ..budget import refuse_over
from ..kernels.naive import log_joint_cells
from ..statistics.coded import CodedTable
from ..statistics.joint import family_codes
from ..structure.structures import Structure

BLOCK = 1 << 22  # numbers held at once while missing cells are summed out


@dataclass(frozen=True, eq=False)
class Families:
    """`levels[j][k]` is ln θ of attribute j with its first k parents, an axis for each of them, for x_j and for y."""

    structure: Structure
    sizes: tuple[int, ...]
    log_prior: Floats
    levels: tuple[tuple[Floats, ...], ...]
    max_memory: float | None = None
    used: frozenset[int] | None = None  # the attributes that take part; all by default
    exact: bool = True  # sum missing cells out; every attribute has then at most one parent

    @property
    def tables(self) -> tuple[Floats, ...]:
        """ln θ of each attribute with all its parents."""
        return tuple(levels[-1] for levels in self.levels)

    @cached_property
    def _packed(self) -> tuple[Floats, NDArray[np.int64]]:
        """All tables under each other, each with one more value a column: missing."""
        families = self.structure.families
        cells = [int(np.prod([self.sizes[j] + 1 for j in f])) for f in families]
        K = len(self.log_prior)
        refuse_over(self.max_memory, sum(cells) * K * 8, f"tables of {len(families)} families, {K} classes")
        offsets = np.concatenate([[0], np.cumsum(cells)]).astype(np.int64)
        packed = np.zeros((int(offsets[-1]), K))
        for j, family in enumerate(families):
            if self.used is not None and j not in self.used:
                continue
            part = packed[offsets[j] : offsets[j + 1]].reshape(*(self.sizes[i] + 1 for i in family), K)
            for known, table in enumerate(self.levels[j]):  # `known` parents, then one that is missing, then any
                at = tuple(slice(0, self.sizes[i]) for i in family[:known])
                rest = len(family) - 1 - known
                gap = (self.sizes[family[known]],) if rest else ()
                spread = table.reshape(*table.shape[:known], *(1,) * max(rest - 1, 0), self.sizes[j], K)
                part[(*at, *gap, *(slice(None),) * max(rest - 1, 0), slice(0, self.sizes[j]))] = spread
        return packed, offsets

    def log_joint(self, table: CodedTable, n_jobs: int | None = None) -> Floats:
        """log P(y, x) of each row, shape (n, K)."""
        packed, offsets = self._packed
        families = self.structure.families
        if all(len(f) == 1 for f in families):
            return log_joint_cells(table.codes, packed, offsets, self.log_prior, n_jobs=n_jobs)
        columns = [family_codes(table, f, extra=1) for f in families]
        out = log_joint_cells(columns, packed, offsets, self.log_prior, n_jobs=n_jobs)
        if self.exact and not table.whole:
            broken = np.zeros(table.n, dtype=bool)
            for j, size in enumerate(self.sizes):
                broken |= table.column(j) >= size
            rows = np.flatnonzero(broken)
            widest = max(self.sizes) ** 2 * len(self.log_prior) + len(self.sizes)
            for part in np.array_split(rows, max(1, len(rows) * widest // BLOCK)):
                out[part] = self._summed_out(table.take(part))
        return out

    def _summed_out(self, table: CodedTable) -> Floats:
        """Messages from the leaves to the roots: m_j[v] = ln Σ_x θ_j[v, x] Π over children of their m[x].

        The sum runs over the value that the row has, or over all values where it has none.
        """
        parents, K = self.structure.parents, len(self.log_prior)
        inner: dict[int, Floats] = {}  # j → Σ of the messages of its children, [row, x_j, y]
        out = np.broadcast_to(self.log_prior, (table.n, K)).copy()
        for j in reversed(self.structure.order):
            theta = self.tables[j] if parents[j] else self.tables[j][None]
            codes = table.column(j)
            known = np.flatnonzero(codes < self.sizes[j])
            blank = np.flatnonzero(codes >= self.sizes[j])
            message = np.zeros((table.n, len(theta), K))
            message[known] = theta[:, codes[known]].transpose(1, 0, 2)
            if j in inner:
                message[known] += inner[j][known, codes[known]][:, None]
                terms = theta[None] + inner[j][blank][:, None]
                message[blank] = np.logaddexp.reduce(terms, axis=2)
                del inner[j]
            if parents[j]:
                p = parents[j][0]
                inner[p] = inner[p] + message if p in inner else message
            else:
                out += message[:, 0]
        return out

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """(codes [n, d], class codes): y ~ P(y), then every attribute given its parents."""
        prior = np.exp(self.log_prior)
        y = rng.choice(len(prior), n, p=prior / prior.sum())
        codes = np.zeros((n, len(self.sizes)), dtype=np.int64)
        for j in self.structure.order:
            parents = list(takewhile(lambda p: self.sizes[p] > 0, self.structure.parents[j]))  # values may be forgotten
            theta = np.exp(self.levels[j][len(parents)])
            given = tuple(codes[:, p] for p in parents)
            codes[:, j] = draw_from(np.moveaxis(theta, -1, -2)[(*given, y)], rng)
        return codes, y


def draw_from(p: Floats, rng: np.random.Generator) -> Array:
    """One value for each row of probabilities."""
    if p.shape[1] == 0:
        return np.zeros(len(p), dtype=np.int64)
    edges = np.cumsum(p, axis=1)
    codes: Array = (rng.random(len(p))[:, None] * edges[:, -1:] > edges).sum(axis=1)
    last: Array = np.minimum(codes, p.shape[1] - 1)
    return last
