"""Densities that are tables of counts: categories, bits, counts and words; and what a density is.

Categories: P(x_j = a | y) = (N_yja + λ)/(N_yj + S_jλ). A binary column is the same with S_j = 2: P(j|y)x +
(1 − P(j|y))(1 − x); of a sparse row only the ones are visited. Where numbers are cut into bins, a bin is a value.

Counts that compete for the same events, and words: ln P(x|y) = Σ_j x_j ln θ_j|y, θ = (N_yj + λ)/(N_y + dλ). The multinomial
coefficient n!/Πx_j! is the same for every class and is left out, as everywhere in the field.

Counts that do not compete: P(x|y) = r^x e^(−r)/x!, r the mean of the class. Smoothing adds λ rows with the column's
mean over all classes: r = (Σx + λ·x̄)/(n + λ), so that no rate is zero; where all counts were zero, x̄ is ½/(n + 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from scipy.special import gammaln, rel_entr, xlogy

from .. import kernels
from ..arrays import Array, Floats
from ..budget import refuse_over
from ..errors import BadValue
from ..kernels import normal_information
from ..smoothing.theta import log_theta, log_unseen
from ..statistics.collect import refuse_bad_cells, refuse_bad_counts, refuse_no_bits
from ..statistics.counts import Counts
from ..statistics.cuts import bin_names, from_bins, local_codes
from ..statistics.moments import Moments
from ..statistics.statistics import Statistics
from ..structure.information import class_information
from ..table.encode import Coded, Seen, numbers, words_of
from ..table.frame import Frame
from ..table.labels import warn_of_types
from ..table.schema import Schema

MOST = 1e18  # the largest mean that a 64-bit count can be drawn about, with room for its spread


class Density(Protocol):
    """log P(x_j | y) of the columns `where`; K classes."""

    where: list[int]

    def add_to(self, start: Floats, frame: Frame, n_jobs: int | None) -> tuple[Floats, Seen]:
        """(start + Σ_j log P(x_j|y), shape (n, K); how many cells were missing or unseen); `start` is (K,) or (n, K)."""

    def parts(self, frame: Frame) -> Floats:
        """log P(x_j|y) of each column alone, shape (n, len(where), K)."""

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        """A cell for each column of `where` and each class of y: the model run forwards."""

    def tables(self, schema: Schema) -> dict[str, Any]:
        """What the model knows of each column, as plain data: {column: {row label: values by class}}."""

    def information(self, prior: Floats) -> Floats:
        """I(X_j; Y) in nats under the model, for each column of `where`."""


def drawn_counts(mean: Floats, rng: np.random.Generator) -> Array:
    """Poisson draws about these means, which must be numbers that can be counted to."""
    if (mean > MOST).any():
        raise BadValue(f"counts can be drawn about means up to {MOST:.0e}. Got {float(mean.max()):.3g} instead.")
    return rng.poisson(mean)


def mutual_information(joint: Floats) -> float:
    """I(X;Y) = Σ P(x,y) ln[P(x,y)/(P(x)P(y))] of a table of joint weights; 0 ln 0 = 0.

    >>> round(mutual_information(np.array([[1.0, 0.0], [0.0, 1.0]])), 4)  # ln 2
    0.6931
    """
    total = joint.sum()
    if total <= 0:
        return 0.0
    p = joint / total
    outer = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    live = (p > 0) & (outer > 0)  # far out a product is nothing before its factors are
    return max(float((p[live] * np.log(p[live] / outer[live])).sum()), 0.0)


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

    def local(self, coded: Coded) -> tuple[Floats, Seen]:
        """(the table for a block's own codes: a row for each of its values, and a row of zeros for missing; how many cells
        were missing or unseen)."""
        offsets, unseen = coded.offsets, 0
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
                unseen += int(met[~known].sum())
                strange = (v for v, known_, n in zip(values, known.tolist(), met.tolist()) if n and not known_)
                warn_of_types(column.name, strange, column.place)
        return table, Seen(coded.n_missing, unseen)

    def add_to(self, start: Floats, frame: Frame, n_jobs: int | None) -> tuple[Floats, Seen]:
        if frame.sparse is not None:
            return self._add_bits(start, frame, n_jobs), Seen()
        coded = self.coded(frame, n_jobs)
        table, seen = self.local(coded)
        return kernels.log_joint_cells(coded.codes, table, coded.offsets, start, n_jobs=n_jobs), seen

    def _add_bits(self, start: Floats, frame: Frame, n_jobs: int | None) -> Floats:
        """Σ_j ln P(0|y), then for each one in the row ln P(1|y) − ln P(0|y)."""
        zero, one = self.log_theta[0::2], self.log_theta[1::2]
        part = frame.sparse if len(self.where) == frame.d else frame.sparse[:, self.where]
        refuse_no_bits(part, [column.name for column in self.columns])
        ones = None if part.data.all() else part.data.astype(np.float64)

        def score(table: Floats, base: Floats) -> Floats:
            return kernels.score_sparse(part.indptr, part.indices, ones, table, base, n_jobs=n_jobs)[0]

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
        table, _ = self.local(coded)
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

    def add_to(self, start: Floats, frame: Frame, n_jobs: int | None) -> tuple[Floats, Seen]:
        if frame.sparse is not None:
            return self._add_sparse(start, frame, n_jobs), Seen()
        x = numbers(frame, self.where)
        refuse_bad_counts(x, self.names)
        gone = np.isnan(x)
        return start + _times(np.where(gone, 0.0, x), self.log_theta), Seen(int(gone.sum()))

    def _add_sparse(self, start: Floats, frame: Frame, n_jobs: int | None) -> Floats:
        part = frame.sparse if len(self.where) == frame.d else frame.sparse[:, self.where]
        never = np.isneginf(self.log_theta)  # λ = 0: impossible events are counted apart, 0 · −inf is no number
        table = np.where(never, 0.0, self.log_theta)
        out, _, met = kernels.score_sparse(part.indptr, part.indices, part.data, table, start, n_jobs=n_jobs)
        if met:
            refuse_bad_cells(part, self.names)
        if never.any():
            zero = np.zeros(never.shape[1])
            broken, *_ = kernels.score_sparse(part.indptr, part.indices, part.data, never.astype(float), zero)
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

    def add_to(self, start: Floats, frame: Frame, n_jobs: int | None) -> tuple[Floats, Seen]:
        score, seen = self._score(frame)
        return start + score, seen

    def parts(self, frame: Frame) -> Floats:
        return self._score(frame)[0][:, None, :]

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

    def _score(self, frame: Frame) -> tuple[Floats, Seen]:
        """(Σ n ln θ of the words of each text, how many texts were missing and words unseen)."""
        cells = frame.column(self.where[0])
        vocabulary, bags = words_of(frame, self.where[0])
        table, rows = self._known(vocabulary)
        unseen = int(bags[:, np.flatnonzero(rows < 0)].sum())
        listed = cells.tolist() if isinstance(cells, np.ndarray) else cells.to_pylist()
        return _times(bags, table), Seen(sum(not isinstance(c, str) for c in listed), unseen)

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


MANY = 10_000  # rates from which a Poisson is summed as a normal


class Poisson:
    """The rate r of each class and column."""

    def __init__(self, where: list[int], names: list[str], moments: Moments, smoothing: float) -> None:
        self.where, self.names = where, names
        pooled = moments.pooled()
        self.middle = middle = (
            np.where(pooled.mean > 0, pooled.mean, 0.5 / (pooled.n + 1)) if smoothing > 0 else pooled.mean
        )
        weight = moments.n + smoothing
        total = moments.n * moments.mean + smoothing * middle
        self.rate = np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), middle)

    def add_to(self, start: Floats, frame: Frame, n_jobs: int | None) -> tuple[Floats, Seen]:
        x = np.asarray(numbers(frame, self.where), dtype=np.float64)
        refuse_bad_counts(x, self.names)
        gone = np.isnan(x)
        x = np.where(gone, 0.0, x)
        out = np.array(np.broadcast_to(start, (len(x), len(self.rate))), order="C")
        factorial = gammaln(x + 1)
        for c, rate in enumerate(self.rate):
            out[:, c] += np.where(gone, 0.0, xlogy(x, rate) - rate - factorial).sum(axis=1)
        return out, Seen(int(gone.sum()))

    def parts(self, frame: Frame) -> Floats:
        x = np.asarray(numbers(frame, self.where), dtype=np.float64)[:, :, None]
        rate = self.rate.T
        return np.where(np.isnan(x), 0.0, xlogy(np.nan_to_num(x), rate) - rate - gammaln(np.nan_to_num(x) + 1))

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        return list(drawn_counts(self.rate[y], rng).T)

    def tables(self, schema: Schema) -> dict[str, Any]:
        return {name: {"rate": self.rate[:, k]} for k, name in enumerate(self.names)}

    def information(self, prior: Floats) -> Floats:
        found = []
        for rate in self.rate.T:
            if rate.max() > MANY:
                found.append(float(normal_information(rate[:, None], np.maximum(rate, 1e-9)[:, None], prior)[0]))
                continue
            top = int(rate.max() + 12 * np.sqrt(rate.max() + 1)) + 2
            x = np.arange(top)[:, None]
            found.append(mutual_information(np.exp(xlogy(x, rate) - rate - gammaln(x + 1)) * prior))
        return np.array(found)
