"""Categorical and binary columns: P(x_j = a | y) = (N_yja + λ)/(N_yj + S_jλ).

A binary column is the same with S_j = 2: P(j|y)x + (1 − P(j|y))(1 − x); of a sparse row only the ones are visited. Where
numbers are cut into bins, a bin is a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Array, Floats
from ...kernels import naive as kernels
from ...smoothing.theta import log_theta, log_unseen
from ...statistics.collect import refuse_no_bits
from ...statistics.cuts import bin_names, from_bins, local_codes
from ...statistics.statistics import Statistics
from ...structure.information import class_information
from ...table.encode import Coded, Seen
from ...table.frame import Frame
from ...table.labels import warn_of_types
from ...table.schema import Schema


class Categories:
    """Tables of ln θ[value, y], one after the other; `unseen` is "missing" or "mass"."""

    def __init__(self, statistics: Statistics, smoothing: float, unseen: str) -> None:
        self.where = statistics.where("cells")
        self.columns = [statistics.schema.columns[j] for j in self.where]
        self.counts = statistics.cells
        self.cuts = statistics.cuts
        self.smoothing = smoothing
        self.log_theta = log_theta(self.counts, smoothing)
        stranger = (
            log_unseen(self.counts, smoothing)
            if unseen == "mass"
            else np.zeros((len(self.where), statistics.n_classes))
        )
        self.log_unseen = stranger

    def coded(self, frame: Frame, n_jobs: int | None = None) -> Coded:
        """The cells of these columns as codes: of values, or of bins."""
        return local_codes(frame, self.cuts, n_jobs, self.where)

    def names(self, k: int) -> Sequence[Any]:
        """What the values of the k-th column are called."""
        cut = self.cuts[self.where[k]] if self.cuts else None
        return self.columns[k].values if cut is None else bin_names(cut)

    def rows_of(self, k: int, table: Floats) -> Floats:
        """The rows of a table over all cells that belong to the k-th column."""
        return table[self.counts.offsets[k] : self.counts.offsets[k + 1]]

    def local(self, coded: Coded, seen: Seen) -> Floats:
        """The table for a block's own codes: a row for each of its values, and a row of zeros for missing."""
        offsets = coded.offsets
        table = np.zeros((int(offsets[-1]), self.log_theta.shape[1]))
        for k, values in enumerate(coded.values):
            column, first = self.columns[k], int(self.counts.offsets[k])
            here = int(offsets[k])
            if len(values) == len(column.values) and tuple(values) == column.values:
                table[here : here + len(values)] = self.log_theta[first : first + len(values)]
                continue
            rows = np.array([column.place.get(v, -1) for v in values], dtype=np.int64)
            known = rows >= 0
            table[here : here + len(values)][known] = self.log_theta[first + rows[known]]
            if not known.all():
                table[here : here + len(values)][~known] = self.log_unseen[k]
                met = np.bincount(coded.column(k), minlength=len(values) + 1)[:-1]
                seen.unseen += int(met[~known].sum())
                strange = (v for v, known_, n in zip(values, known.tolist(), met.tolist()) if n and not known_)
                warn_of_types(column.name, strange, column.place)
        seen.missing += coded.n_missing
        return table

    def add_to(self, start: Floats, frame: Frame, seen: Seen, n_jobs: int | None) -> Floats:
        if frame.sparse is not None:
            return self._add_bits(start, frame, n_jobs)
        coded = self.coded(frame, n_jobs)
        return kernels.log_joint_cells(coded.codes, self.local(coded, seen), coded.offsets, start, n_jobs=n_jobs)

    def _add_bits(self, start: Floats, frame: Frame, n_jobs: int | None) -> Floats:
        """Σ_j ln P(0|y), then for each one in the row ln P(1|y) − ln P(0|y)."""
        zero, one = self.log_theta[0::2], self.log_theta[1::2]
        part = frame.sparse if len(self.where) == frame.d else frame.sparse[:, self.where]
        refuse_no_bits(part, [column.name for column in self.columns])
        ones = None if part.data.all() else part.data.astype(np.float64)

        def score(table: Floats, base: Floats) -> Floats:
            return kernels.log_joint_sparse(part.indptr, part.indices, ones, table, base, n_jobs=n_jobs)[0]

        if np.isfinite(zero).all() and np.isfinite(one).all():
            return score(one - zero, start + zero.sum(axis=0))
        never = (
            np.isneginf(zero),
            np.isneginf(one),
        )  # λ = 0: impossible cells are counted apart, −inf − −inf is no number
        safe_zero, safe_one = (np.where(n, 0.0, t) for n, t in zip(never, (zero, one)))
        broken = score(never[1].astype(float) - never[0], never[0].sum(axis=0).astype(float))
        return np.where(broken > 0.5, -np.inf, score(safe_one - safe_zero, start + safe_zero.sum(axis=0)))

    def parts(self, frame: Frame) -> Floats:
        if frame.sparse is not None:
            frame = Frame(frame.n, frame.names, matrix=(frame.sparse != 0).toarray().astype(np.uint8))
        coded = self.coded(frame)
        table = self.local(coded, Seen())
        out = [table[int(first) + coded.column(k).astype(np.int64)] for k, first in enumerate(coded.offsets[:-1])]
        return np.stack(out, axis=1)

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        out = []
        for k, column in enumerate(self.columns):
            part = slice(self.counts.offsets[k], self.counts.offsets[k + 1])
            if not column.values:
                out.append(np.full(len(y), None, dtype=object))
                continue
            edges = np.cumsum(np.exp(self.log_theta[part]), axis=0)
            codes = (rng.random(len(y)) * edges[-1, y] > edges[:, y]).sum(axis=0)
            codes = np.minimum(codes, len(edges) - 1)
            cut = self.cuts[self.where[k]] if self.cuts else None
            if cut is not None:
                out.append(from_bins(codes, cut, rng))
                continue
            values = np.empty(len(column.values), dtype=object)
            values[:] = column.values
            out.append(values[codes])
        return out

    def tables(self, schema: Schema) -> dict[str, Any]:
        theta = np.exp(self.log_theta)
        return {
            column.name: dict(zip(self.names(k), theta[self.counts.offsets[k] : self.counts.offsets[k + 1]]))
            for k, column in enumerate(self.columns)
        }

    def information(self, prior: Floats) -> Floats:
        return class_information(self.counts)
