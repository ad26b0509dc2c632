"""Counts that compete for the same events, and words: ln P(x|y) = Σ_j x_j ln θ_j|y, θ = (N_yj + λ)/(N_y + dλ).

The multinomial coefficient n!/Πx_j! is the same for every class and is left out, as everywhere in the field.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import rel_entr

from ...arrays import Array, Floats
from ...budget import refuse_over
from ...kernels import naive as kernels
from ...smoothing.theta import log_theta, log_unseen
from ...statistics.collect import refuse_bad_cells, refuse_bad_counts
from ...statistics.counts import Counts
from ...statistics.statistics import Statistics
from ...table.encode import Seen, numbers, words_of
from ...table.frame import Frame
from ...table.schema import Schema
from .base import drawn_counts, mutual_information


def _times(x: Floats, log_theta: Floats) -> Floats:
    """x · ln θ with 0 · (−inf) = 0: what did not happen cannot be impossible."""
    if np.isfinite(log_theta).all():
        return x @ log_theta
    never = np.isneginf(log_theta)
    return np.where(x @ never > 0, -np.inf, x @ np.where(never, 0.0, log_theta))


class Events:
    """All count columns together, multinomial."""

    def __init__(self, statistics: Statistics, smoothing: float) -> None:
        self.where = statistics.where("events")
        self.names = [statistics.schema.names[j] for j in self.where]
        last = len(statistics.words.offsets) - 2
        self.counts = Counts(statistics.words.scope(last), np.array([0, len(self.where)], dtype=np.int64))
        self.log_theta = log_theta(self.counts, smoothing)
        rows = np.maximum(statistics.rows.astype(float), 1e-300)
        self.length = self.counts.table.sum(axis=0) / rows  # events a row, for sampling

    def add_to(self, start: Floats, frame: Frame, seen: Seen, n_jobs: int | None) -> Floats:
        if frame.sparse is not None:
            return self._add_sparse(start, frame, n_jobs)
        x = numbers(frame, self.where)
        refuse_bad_counts(x, self.names)
        gone = np.isnan(x)
        seen.missing += int(gone.sum())
        return start + _times(np.where(gone, 0.0, x), self.log_theta)

    def _add_sparse(self, start: Floats, frame: Frame, n_jobs: int | None) -> Floats:
        part = frame.sparse if len(self.where) == frame.d else frame.sparse[:, self.where]
        never = np.isneginf(self.log_theta)  # λ = 0: impossible events are counted apart, 0 · −inf is no number
        table = np.where(never, 0.0, self.log_theta)
        out, met = kernels.log_joint_sparse(part.indptr, part.indices, part.data, table, start, n_jobs=n_jobs)
        if met:
            refuse_bad_cells(part, self.names)
        if never.any():
            zero = np.zeros(never.shape[1])
            broken, _ = kernels.log_joint_sparse(part.indptr, part.indices, part.data, never.astype(float), zero)
            out[broken > 0] = -np.inf
        return out

    def parts(self, frame: Frame) -> Floats:
        x = np.nan_to_num(numbers(frame, self.where), nan=0.0)
        with np.errstate(invalid="ignore"):
            found = x[:, :, None] * self.log_theta
        return np.where(x[:, :, None] == 0, 0.0, found)

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        theta = np.exp(self.log_theta)
        lengths = drawn_counts(self.length[y], rng)
        drawn = [rng.multinomial(n, theta[:, c] / theta[:, c].sum()) for n, c in zip(lengths, y)]
        return list(np.array(drawn).reshape(len(y), len(self.where)).T)

    def tables(self, schema: Schema) -> dict[str, Any]:
        theta = np.exp(self.log_theta)
        return {name: {"rate": theta[k]} for k, name in enumerate(self.names)}

    def information(self, prior: Floats) -> Floats:
        """I of "the next event is this column's" with the class."""
        theta = np.exp(self.log_theta)
        mean = theta @ prior / prior.sum()
        kinds = ((theta, mean), (1 - theta, 1 - mean))
        found: Floats = np.sum([rel_entr(p, q[:, None]) @ prior / prior.sum() for p, q in kinds], axis=0)
        return np.maximum(found, 0.0)


class Words:
    """One text column: a bag of words."""

    def __init__(self, statistics: Statistics, k: int, smoothing: float, unseen: str) -> None:
        self.where = [statistics.where("words")[k]]
        self.column = statistics.schema.columns[self.where[0]]
        self.counts = Counts(statistics.words.scope(k), np.array([0, len(self.column.values)], dtype=np.int64))
        self.log_theta = log_theta(self.counts, smoothing)
        self.stranger = log_unseen(self.counts, smoothing)[0] if unseen == "mass" else np.zeros(statistics.n_classes)
        self.place = {w: i for i, w in enumerate(self.column.values)}
        self.length = self.counts.table.sum(axis=0) / np.maximum(statistics.rows.astype(float), 1e-300)

    def add_to(self, start: Floats, frame: Frame, seen: Seen, n_jobs: int | None) -> Floats:
        return start + self._score(frame, seen)

    def parts(self, frame: Frame) -> Floats:
        return self._score(frame, Seen())[:, None, :]

    def said(self, frame: Frame) -> tuple[list[str], Floats]:
        """(the words of the texts, n ln θ of each in all of them)."""
        vocabulary, bags = words_of(frame, self.where[0])
        often = np.asarray(bags.sum(axis=0), dtype=np.float64).reshape(-1, 1)
        return vocabulary, np.where(often > 0, often * self._known(vocabulary)[0], 0.0)

    def _known(self, vocabulary: list[str]) -> tuple[Floats, Array]:
        """(ln θ of each word, its place among those of training, −1 where it is new)."""
        rows = np.array([self.place.get(w, -1) for w in vocabulary], dtype=np.int64)
        found = np.where((rows >= 0)[:, None], self.log_theta[rows] if len(self.place) else 0.0, self.stranger)
        return found, rows

    def _score(self, frame: Frame, seen: Seen) -> Floats:
        cells = frame.column(self.where[0])
        vocabulary, bags = words_of(frame, self.where[0])
        table, rows = self._known(vocabulary)
        seen.unseen += int(bags[:, np.flatnonzero(rows < 0)].sum())
        listed = cells.tolist() if isinstance(cells, np.ndarray) else cells.to_pylist()
        seen.missing += sum(not isinstance(c, str) for c in listed)
        return _times(bags, table)

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        theta = np.exp(self.log_theta)
        out = np.empty(len(y), dtype=object)
        lengths = drawn_counts(self.length[y], rng)
        refuse_over(
            None, 32.0 * float(lengths.sum()), f"{len(y)} texts of {lengths.max(initial=0):,} words", "draw fewer"
        )
        for i, (c, n) in enumerate(zip(y, lengths)):
            out[i] = (
                ""
                if not len(theta)
                else " ".join(
                    rng.choice(np.array(self.column.values, dtype=object), n, p=theta[:, c] / theta[:, c].sum())
                )
            )
        return [out]

    def tables(self, schema: Schema) -> dict[str, Any]:
        return {self.column.name: dict(zip(self.column.values, np.exp(self.log_theta)))}

    def information(self, prior: Floats) -> Floats:
        """I of the next word with the class."""
        return np.array([mutual_information(np.exp(self.log_theta) * prior)])
