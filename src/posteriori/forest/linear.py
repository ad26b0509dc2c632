"""Linear models of rows as points: the points, their nearness to landmarks, and ridge logistic regression on either.

Symbols: n rows, K classes; z_r the point of row r, each coordinate with the mean 0 over the training rows; L landmarks,
k(z, z') = exp(−‖z − z'‖²/v), k(L, L) = U S Uᵀ; λ the ridge:

    ln P(y|z) = b[y] + B[y]ᵀz − ln Σ_y exp(…),    least −Σ_r w_r ln P(y_r|z_r) + ½λ‖B‖²

Numbers are in standard deviations from their mean, a category has a coordinate for every value; where nothing is known of a
cell its coordinates are 0, which is their mean: it says nothing.

The regression is in five folds, so that each row is foretold by a model that has not seen it. λ falls from 64 to 1/64 as
long as rows out of fold are foretold better, each fit beginning where the last one ended. The walk is in coordinates
rotated by the eigenvectors of ZᵀZ, in which the curvature is nearly diagonal. What new rows get is the mean of the five log
posteriors, normalised, which is the softmax of the mean of the five B and b: one linear model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from scipy.linalg import eigh

from ..arrays import Array, Floats, Ints
from ..blas import one_thread
from ..decision.folds import stratified
from ..fields import MOST_SUMMED, NOT_NEGATIVE, SUMMABLE, Of, Within, need
from ..kernels import normalise, ridge_folds
from ..kernels.trees import Codes
from ..statistics.cuts import column_numbers
from ..table.encode import dense
from ..table.frame import Frame

CLIP = 4.0  # standard deviations
MOST_VALUES = 250  # of a column that have a coordinate of their own; the rarer ones share one
LANDMARKS = 1024
LEAST = 1e-6  # of the largest of S, below which a direction is rounding
PENALTIES = (64.0, 16.0, 4.0, 1.0, 0.25, 0.0625, 0.015625)
FOLDS, MOST_ROWS = 5, 4000  # and rows that a fold's model learns from
STEPS, ROUGH = 15, 1e-5  # of a walk, and nats a row that a step must promise
WORTH = 1e-5  # nats a row that the next λ must gain
ROTATED, SAMPLE = 512, 2048  # coordinates up to which they are rotated, and rows that the rotation is found from
INTERCEPT = 0.25  # λ of an intercept, which is pulled to ln of its class's share: a fold may lack a class
BLOCK = 1 << 22  # numbers of points that are made at a time

PointsOf = Callable[[Ints], Floats]  # rows → their points, centred


@dataclass(frozen=True, eq=False)
class Points:
    """How coded rows become points; `learn_points` learns it.

    A column of numbers has a coordinate, (x − mean)/sd within ±4, and where training had missing cells one that says so. A
    column of names has one for each value (for the second of two alone): `places[j]` says which of the column's own each
    code has, −1 for none.
    """

    mean: Annotated[Floats, "d"]
    sd: Annotated[Floats, "d", NOT_NEGATIVE]
    places: Annotated[tuple[Annotated[Ints, "codes", Within(-1)], ...], "d"]
    centre: Annotated[Floats, "coordinates", Within(-1, 1)]  # means of shares

    def check(self) -> None:
        """Refuse coordinates that no column has."""
        need(all(p.max(initial=-1) < len(p) for p in self.places), "a coordinate of the column")
        need(self.sizes.sum() == len(self.centre), "a mean of every coordinate")

    def check_of(self, sizes: Sequence[int], named: Sequence[bool]) -> None:
        """Refuse points of other columns or values."""
        need([len(p) for p in self.places] == [s + 1 for s in sizes], "points of other columns or values")
        need(not ((self.sd > 0) & np.array(named)).any(), "a deviation of names")

    @cached_property
    def sizes(self) -> Ints:
        """Coordinates of each column."""
        found = [int(p.max(initial=-1)) + 1 + (s > 0) for p, s in zip(self.places, self.sd)]
        return np.array(found, dtype=np.int64)

    @property
    def size(self) -> int:
        """Coordinates in all."""
        return len(self.centre)

    def __call__(self, frame: Frame, codes: Codes, rows: Array | None = None) -> Floats:
        """Points of these rows, all by default; `codes` are those of the frame."""
        if rows is not None:
            frame, cells = frame.take_rows(rows), codes.cells[:, rows]
        else:
            cells = codes.cells
        frame = dense(frame) if frame.sparse is not None else frame
        n, ends = cells.shape[1], np.cumsum(self.sizes)
        out = np.zeros((n, self.size))
        for j, (own, end) in enumerate(zip(self.sizes.tolist(), ends.tolist())):
            at = end - own
            known = cells[j] < codes.sizes[j]
            if self.sd[j] > 0:
                with np.errstate(over="ignore"):
                    z = column_numbers(frame, j) / self.sd[j] - self.mean[j] / self.sd[j]
                out[known, at] = np.clip(np.nan_to_num(z[known]), -CLIP, CLIP)
                at += 1
            if end > at:
                place = self.places[j][cells[j]]
                hot = np.flatnonzero(place >= 0)
                out[hot, at + place[hot]] = 1.0
                out[known, at:end] -= self.centre[at:end]
        return out


def learn_points(frame: Frame, codes: Codes, blank: tuple[bool, ...], weights: Floats | None) -> Points:
    """Means, deviations and values of these rows."""
    frame = dense(frame) if frame.sparse is not None else frame
    d, n = len(codes.sizes), codes.n
    mean, sd, places, centre = np.zeros(d), np.zeros(d), list[Ints](), list[Floats]()
    w = np.full(n, 1.0 / n) if weights is None else np.maximum(weights / weights.max(), 1e-300)
    for j in range(d):
        place = np.full(codes.sizes[j] + 1, -1, dtype=np.int64)
        if not codes.named[j]:
            mean[j], sd[j] = _moments(column_numbers(frame, j), w)
            if blank[j]:
                place[0] = 0
        else:
            _number(place, np.bincount(codes.cells[j], w, minlength=len(place)).astype(np.float64))
        places.append(place)
        mass = np.bincount(place[codes.cells[j]] + 1, w, minlength=int(place.max()) + 2)[1:] / w.sum()
        centre += [np.zeros(int(sd[j] > 0)), np.minimum(mass, 1.0)]  # sums in another order may be an ulp above
    return Points(mean, sd, tuple(places), np.concatenate(centre) if centre else np.zeros(0))


def _number(place: Ints, mass: Floats) -> None:
    """Coordinates for the values of a column, the commonest first come; the last code is of values never seen."""
    there = np.flatnonzero(mass[:-1] > 0)
    if len(there) == 2:
        place[there[1]] = 0
    elif len(there) > 2:
        place[there] = MOST_VALUES
        common = np.sort(there[np.argsort(-mass[there], kind="stable")[:MOST_VALUES]])
        place[common] = np.arange(len(common))


def _moments(x: Floats, w: Floats) -> tuple[float, float]:
    """Mean and deviation of the cells there are; a deviation of 0 where they do not differ, but for rounding."""
    there = ~np.isnan(x)
    size = float(np.abs(x[there]).max(initial=0.0))
    if size == 0.0:
        return 0.0, 0.0
    part, share = x[there] / size, w[there] / w[there].sum()
    mean = float(share @ part)
    sd = float(np.sqrt(share @ np.square(part - mean)))
    if sd < 1e-12 or not sd * size > np.finfo(float).tiny:
        return 0.0, 0.0
    return mean * size, sd * size


@dataclass(frozen=True, eq=False)
class Landmarks:
    """k(z, L) of a point. With R = U S^{-½} the products of φ(z) = k(z, L) R are the kernel itself between landmarks, and
    the nearest such products below it elsewhere (Nyström's method; Williams and Seeger, 2001).

    >>> L = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    >>> marks = Landmarks(L, 4.0)
    >>> phi = marks(L) @ marks.axes()
    >>> bool(np.allclose(phi @ phi.T, marks(L))), round(float(marks(L)[0, 1]), 3) == round(float(np.exp(-2 / 4)), 3)
    (True, True)
    """

    at: Annotated[Array, "landmarks coordinates", Of(np.float32), SUMMABLE]  # half as long; it may lie anywhere near
    v: Annotated[float, Within(1 / MOST_SUMMED, MOST_SUMMED)]

    def check(self) -> None:
        """Refuse a kernel without landmarks."""
        need(len(self.at) > 0, "there must be a landmark")

    @classmethod
    def draw(cls, points: Floats, v: float) -> Landmarks:
        """Of these points, each once; points that do not differ (v = 0) are one."""
        return cls(np.unique(points.astype(np.float32), axis=0), v if v > 0 else 1.0)

    def axes(self) -> Floats:
        """R, [landmark, direction]."""
        with one_thread(0):
            S, U = eigh(self(self.at))
            kept = LEAST * S[-1] < S
            return np.asarray(U[:, kept] / np.sqrt(S[kept]))

    def __call__(self, Z: Floats) -> Floats:
        """k(z, L) of each point."""
        at = self.at.astype(np.float64)
        with one_thread(0):
            gaps = Z @ at.T
        gaps *= -2.0
        gaps += np.square(Z).sum(axis=1)[:, None]
        gaps += np.square(at).sum(axis=1)
        np.maximum(gaps, 0.0, out=gaps)
        gaps /= -self.v
        return np.asarray(np.exp(gaps, out=gaps))


@dataclass(frozen=True, eq=False)
class Linear:
    """ln P(y|z) = b[y] + B[y]ᵀz, normalised: B is [coordinate, class]; and the λ that was taken."""

    B: Annotated[Floats, "coordinates K", SUMMABLE]
    b: Annotated[Floats, "K", SUMMABLE]
    penalty: float

    def check(self) -> None:
        """Refuse a model of no class."""
        need(len(self.b) > 0, "there must be a class")

    def posterior(self, Z: Floats) -> Floats:
        """P(y|z) of each row."""
        with one_thread(0):
            eta = Z @ self.B
        eta += self.b
        return normalise(eta, 1, out=eta)[0]


def fit_folds(
    points: PointsOf, y: Array, w: Floats, n_classes: int, rng: np.random.Generator, n_jobs: int | None = None
) -> tuple[Linear, Floats]:
    """(the model, P(y|z) of every row by the one of five that has not seen it); weights are of a mean of about one.

    >>> z = np.repeat([[-1.0], [1.0]], 20, axis=0)
    >>> model, said = fit_folds(lambda r: z[r], (z[:, 0] > 0).astype(int), np.ones(40), 2, np.random.default_rng(0))
    >>> bool(said[:20, 0].min() > 0.9), model.penalty < 1
    (True, True)
    """
    n = len(y)
    fold = stratified(y, FOLDS, rng)
    held = [f for f in range(FOLDS) if (fold == f).any() and (fold != f).any()]
    learned = [np.flatnonzero(fold != f) for f in held]
    learned = [r if len(r) <= MOST_ROWS else np.sort(rng.choice(r, MOST_ROWS, replace=False)) for r in learned]
    mass = np.bincount(y, w, minlength=n_classes) + 0.5
    share: Floats = np.asarray(mass / mass.sum(), dtype=np.float64)
    if n_classes < 2 or not held:
        size = points(np.arange(1)).shape[1]
        return Linear(np.zeros((size, n_classes)), np.log(share), PENALTIES[0]), np.tile(share, (n, 1))
    some = np.unique(np.concatenate(learned))
    with one_thread(0):
        path = _Path(points(some), y[some], w[some], [np.searchsorted(some, r) for r in learned], share, n_jobs)
        B, penalty = path.walk([fold[some] == f for f in held])
        said = np.empty((n, n_classes))
        for m, f in enumerate(held):
            mine = fold[some] == f
            said[some[mine]] = np.exp(path.log_posterior(B[m], mine))
        rest = np.setdiff1d(np.arange(n), some)  # rows that no model has learned from
        block = max(1, BLOCK // max(1, len(path.turn)))
        for at in range(0, len(rest), block):
            rows = rest[at : at + block]
            Z = points(rows)
            for m, f in enumerate(held):
                mine = fold[rows] == f
                said[rows[mine]] = Linear(*path.whole(B[m]), penalty).posterior(Z[mine])
    return Linear(*path.whole(B.mean(axis=0)), penalty), said


class _Path:
    """The five walks, from one λ to the next."""

    def __init__(self, Z: Floats, y: Array, w: Floats, rows: list[Ints], share: Floats, n_jobs: int | None) -> None:
        self.turn, self.spread = _axes(Z, w)
        self.Z = np.ascontiguousarray(Z @ self.turn) if self.turn.ndim == 2 else Z
        self.y, self.w, self.rows, self.n_jobs = y, w, rows, n_jobs
        self.two = len(share) == 2
        logs, doubt = np.log(share), share * (1 - share)
        self.offset, self.doubt = (logs[1:] - logs[:1], doubt[1:]) if self.two else (logs, doubt)

    def walk(self, held: list[Array]) -> tuple[Floats, float]:
        """(B of each fold where rows out of fold are foretold best, that λ)."""
        size, total = self.Z.shape[1], float(np.mean([self.w[r].sum() for r in self.rows]))
        B = np.zeros((len(self.rows), len(self.offset), size + 1))
        best, chosen, least = B.copy(), PENALTIES[0], np.inf
        for penalty in PENALTIES:
            ridge = penalty / 2 if self.two else penalty  # one row of B stands for two
            charge = np.append(np.full(size, ridge), INTERCEPT)
            metric = 1.0 / (self.doubt[:, None] * np.append(self.spread, 1.0) + charge / total)
            self._step(charge, metric, B)
            loss = -sum(
                float(self.w[rows] @ self.log_posterior(B[m], rows)[np.arange(rows.sum()), self.y[rows]])
                for m, rows in enumerate(held)
            )
            if not loss < least - WORTH * float(self.w.sum()):
                break
            best, chosen, least = B.copy(), penalty, loss
        return best, chosen

    def _step(self, charge: Floats, metric: Floats, B: Floats) -> None:
        ridge_folds(self.Z, self.y, self.w, self.rows, self.offset, charge, metric, B, STEPS, ROUGH, self.n_jobs)

    def log_posterior(self, B: Floats, rows: Array) -> Floats:
        """ln P(y|z) of some rows by one model."""
        eta = self.Z[rows] @ B[:, :-1].T + (B[:, -1] + self.offset)
        eta = np.column_stack([np.zeros(len(eta)), eta]) if self.two else eta
        return np.asarray(eta - normalise(eta, 1)[1][:, None])

    def whole(self, B: Floats) -> tuple[Floats, Floats]:
        """(weights of the points themselves, intercepts), of every class."""
        weights, b = B[:, :-1].T, B[:, -1] + self.offset
        weights = self.turn @ weights if self.turn.ndim == 2 else weights
        if self.two:
            return np.column_stack([-weights / 2, weights / 2]), np.array([-b[0] / 2, b[0] / 2])
        return weights, b


def _axes(Z: Floats, w: Floats) -> tuple[Floats, Floats]:
    """(what turns points into coordinates with a diagonal ZᵀZ, or ones where there are too many; mean squares of these).

    Where there are fewer rows than coordinates the new ones are as many as rows: no more are needed.
    """
    n, f = Z.shape
    share = np.sqrt(w / w.sum())[:, None]
    if n < f and n <= ROTATED:
        values, U = eigh(Z @ Z.T)
        kept = values > 1e-10 * max(float(values[-1]), 1e-300)
        turn = np.asarray(Z.T @ (U[:, kept] / np.sqrt(values[kept])))
        return turn, np.square((Z @ turn) * share).sum(axis=0)
    if f > ROTATED:
        return np.ones(f), np.square(Z * share).sum(axis=0)
    part = slice(None, None, max(1, n // max(SAMPLE, 4 * f)))
    sample = Z[part] * share[part] / np.sqrt(np.square(share[part]).sum())
    values, V = eigh(sample.T @ sample)
    return V, np.maximum(values, 0.0)
