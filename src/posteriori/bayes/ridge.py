"""Ridge logistic regression in five folds: each row is foretold by a model that has not seen it.

Symbols: n rows, K classes; z_r the point of row r, W the weight of a fold's rows, λ the ridge:

    ln P(y|z) = b[y] + B[y]ᵀz − ln Σ_y exp(…),    least −Σ_r w_r ln P(y_r|z_r) + ½λ‖B‖²

λ falls from 64 to 1/64 as long as rows out of fold are foretold better, each fit beginning where the last one ended. The
walk is in coordinates rotated by the eigenvectors of ZᵀZ, in which the curvature is nearly diagonal. What new rows get is
the mean of the five log posteriors, normalised, which is the softmax of the mean of the five B and b: one linear model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from ..arrays import Array, Floats, Ints
from ..blas import one_thread
from ..decision.folds import stratified
from ..kernels.margin import ridge_folds
from ..kernels.naive import normalise

__all__ = ["FOLDS", "MOST_ROWS", "Linear", "fit_folds"]

PENALTIES = (64.0, 16.0, 4.0, 1.0, 0.25, 0.0625, 0.015625)
FOLDS, MOST_ROWS = 5, 4000  # and rows that a fold's model learns from
STEPS, ROUGH = 15, 1e-5  # of a walk, and nats a row that a step must promise
WORTH = 1e-5  # nats a row that the next λ must gain
ROTATED, SAMPLE = 512, 2048  # coordinates up to which they are rotated, and rows that the rotation is found from
INTERCEPT = 0.25  # λ of an intercept, which is pulled to ln of its class's share: a fold may lack a class
BLOCK = 1 << 22  # numbers of points that are made at a time

Points = Callable[[Ints], Floats]  # rows → their points, centred


@dataclass(frozen=True, eq=False)
class Linear:
    """ln P(y|z) = b[y] + B[y]ᵀz, normalised: B is [coordinate, class]; and the λ that was taken."""

    B: Floats
    b: Floats
    penalty: float

    def posterior(self, Z: Floats) -> Floats:
        """P(y|z) of each row."""
        with one_thread(0):
            eta = Z @ self.B
        eta += self.b
        return normalise(eta, 1, out=eta)[0]


def fit_folds(
    points: Points, y: Array, w: Floats, n_classes: int, rng: np.random.Generator, n_jobs: int | None = None
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
