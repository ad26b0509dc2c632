"""Boosted trees of counts: each tree grown on what those before it left unsaid, in five folds.

Symbols: F_y a row's score, P(y|x) ∝ e^{F_y}; a round adds a tree to every F. Each of five models grows from the rows of
four folds and speaks of the fifth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral, Real
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, Floats
from ..budget import refuse_over
from ..decision.folds import stratified
from ..estimator import AUTO, generator, parameters
from ..fields import MOST_SUMMED, NOT_NEGATIVE, SUMMABLE, UNBOUNDED, Natural, is_small, need
from ..kernels import boost, boosted_posterior
from ..kernels.trees import Boosting, Codes, Trees
from ..statistics.cuts import Cuts
from ..table.rows import Rows
from ..table.schema import Schema
from .forest import class_shares, fit_exponents, in_blocks, pooled, shares_in_place
from .grown import Coding, GrownClassifier

MOST_DEPTH = 30
FOLDS = 5
DEPTH, DEEPER, FROM = 4, 6, 3000  # questions of a row; more of them from so many rows
LEAST = 6  # columns that are drawn for a node, where half of them are fewer


@dataclass(frozen=True, eq=False)
class Rounds:
    """The trees of five models, fold after fold, what each starts from, and what the trees have gained.

    `losses` are those of rows out of fold after 0, 10, 20, … rounds, `gains` of the questions of each column.
    """

    trees: Trees
    start: Annotated[NDArray[np.float32], f"{FOLDS} scores", SUMMABLE]
    n_classes: Natural
    gains: Annotated[Floats, "d", NOT_NEGATIVE]
    losses: Annotated[Floats, "turns", NOT_NEGATIVE]

    def check(self) -> None:
        """Refuse trees that do not answer for every fold and class."""
        need(self.n_classes > 0, "there must be a class")
        V = self.n_classes if self.n_classes > 2 else 1
        need(self.start.shape[1] == self.trees.counts.shape[1] == V, "trees of other classes")
        need(self.trees.counts.dtype == np.float32, "what a tree says must be narrow")
        need(is_small(MOST_SUMMED, self.trees.counts), "what trees say must have sums that are numbers")
        need(len(self.trees) % FOLDS == 0, "there must be as many trees in each fold")
        need(len(self.losses) > 0, "there must be a loss")

    def check_of(self, coding: Coding, n_classes: int) -> None:
        """Refuse rounds of other columns or classes."""
        need(self.n_classes == n_classes, "trees of other classes")
        need(len(self.gains) == len(coding.sizes), "there must be a gain of each column")
        self.trees.check_of(coding.sizes, coding.named)

    @property
    def n_rounds(self) -> int:
        """Trees of each model."""
        return len(self.trees) // len(self.start)

    def posterior(self, codes: Codes, n_jobs: int | None = None) -> Floats:
        """The mean of the models' P(y|x)."""
        if self.n_classes == 1:
            return np.ones((codes.n, 1))
        return boosted_posterior(self.trees, self.start, self.n_classes, codes, n_jobs)


def grow_rounds(
    codes: Codes,
    y: Array,
    K: int,
    weights: Floats | None,
    random: np.random.Generator,
    *,
    how: Boosting | None = None,
    max_memory: float | None = None,
    n_jobs: int | None = None,
    tell: Callable[[int], Any] | None = None,
) -> tuple[Rounds, Floats]:
    """(The rounds, P(y|x) of each row by the model that has not seen it); `depth` and `tried` of 0 follow the table.

    Weights are relative: they are scaled to a mean of one.

    >>> codes = Codes(np.array([[0, 0, 1, 1] * 10], np.uint8), (2,), (True,))
    >>> rounds, out = grow_rounds(codes, np.array([0, 0, 1, 1] * 10), 2, None, np.random.default_rng(0))
    >>> out.shape, bool((out[:2, 0] > 0.9).all()), rounds.posterior(codes)[:, 1].round().tolist()[:4]
    ((40, 2), True, [0.0, 0.0, 1.0, 1.0])
    """
    n, d = codes.n, len(codes.sizes)
    how = how or Boosting(depth=0)
    how = replace(
        how, depth=how.depth or (DEPTH if n < FROM else DEEPER), tried=how.tried or max(-(-d // 2), min(d, LEAST))
    )
    if K == 1:
        none = np.zeros(0, dtype=np.int32)
        starts = np.zeros(1, dtype=np.int64)
        empty = Trees(starts, starts, none, none, none, np.zeros((0, 1), np.float32), np.zeros(0, np.uint64))
        return Rounds(empty, np.zeros((FOLDS, 1), np.float32), 1, np.zeros(d), np.zeros(1)), np.ones((n, 1))
    _refuse_large(codes, K, how, max_memory)
    if weights is not None:
        weights = weights / weights.max()
        weights = np.ascontiguousarray(weights * (n / weights.sum()))
    fold = stratified(y, FOLDS, random).astype(np.uint8)
    seeds = random.integers(0, 1 << 63, FOLDS, dtype=np.uint64)
    trees, gain, start, losses, F = boost(codes, y, K, weights, fold, seeds, how, n_jobs, tell)
    asks = trees.column >= 0
    gains = np.bincount(trees.column[asks], gain[asks], minlength=d).astype(np.float64)
    out = np.empty((n, K))

    def some(rows: slice) -> None:
        out[rows] = softmax(F[rows])

    in_blocks(some, n, K, n_jobs)
    return Rounds(trees, start, K, gains, losses), out


def softmax(F: Array) -> Floats:
    """P(y) ∝ e^{F_y}; of one column the log-odds of the second class.

    >>> softmax(np.array([[0.0]])).tolist()
    [[0.5, 0.5]]
    """
    F = F.astype(np.float64)
    if F.shape[1] == 1:
        F = np.concatenate([np.zeros_like(F), F], axis=1)
    return shares_in_place(F)


def _refuse_large(codes: Codes, K: int, how: Boosting, max_memory: float | None) -> None:
    n, V = codes.n, 1 if K == 2 else K
    nodes = min(2.0 ** min(how.depth + 1, 60), 2.0 * n / how.least + 1)
    trees = FOLDS * how.rounds * nodes * (20 + 4 * V)
    rows = codes.cells.nbytes + n * (FOLDS * 16.0 + 4 * FOLDS * V + 2 * (8 * V + 32) + 4 * V + 40 * K)
    cell = max(16.0 * V, 64.0 * (V // 8 + 1))
    kept = min(2.0**26, cell * sum(codes.sizes) * (min(how.depth, 16) + 2))  # sums of all columns of a few nodes
    sums = FOLDS * (kept + 16.0 * V * min(n, max(codes.sizes)))
    refuse_over(
        max_memory, 1.5 * trees + rows + sums, f"boosting {n:,} rows of {K:,} classes", "give fewer, or max_rounds"
    )


@dataclass(frozen=True, eq=False)
class Summed:
    """What boosting has learned: how cells are coded, the trees, and the exponents of their answer and of the prior."""

    coding: Coding
    schema: Schema
    rounds: Rounds
    prior: Annotated[Floats, "K", NOT_NEGATIVE]
    exponents: Annotated[Floats, "2"]

    def check(self) -> None:
        """Refuse trees of other columns or classes."""
        self.coding.check_pool(self.schema, self.prior, self.exponents, None, 0.0)
        self.rounds.check_of(self.coding, len(self.prior))

    @property
    def cuts(self) -> Cuts:
        """Where numbers are cut, at most."""
        return self.coding.cuts

    def posterior(self, codes: Codes, n_jobs: int | None) -> Floats:
        """P(y|x)."""
        return pooled([self.rounds.posterior(codes, n_jobs)], self.prior, self.exponents, n_jobs)


@parameters
class BoostedBayes(GrownClassifier):
    """Trees of counts, each grown on what the sum of those before it has not yet said of the class.

    A row has a score F_y for each class (one, its log-odds, for two), P(y|x) ∝ e^{F_y}; it starts from ln((n_y + ½)/Σ).
    Every round draws 70% of the rows and grows one tree on the derivatives of their loss, g and h, with a value for every
    class in each node, which backs off to that of the node above: v = (−Σg + λ v_parent)/(Σh + λ), λ = 1. Half of the
    columns are drawn for a node, at least six. A column of m named values is charged for the freedom to order them:
    (m − 2) Σg²/(Σh + 2λ).

    That is done five times, each time without the rows of one of five folds, dealt out class by class. What the five say of
    their own folds is the loss **out of fold**: it ends the rounds when it has not fallen by 1e-4 for thirty of them, and
    the best number holds for all five. The answer is the mean of the five posteriors, P(y|x) ∝ π_y^{u_0} S(y|x)^{u_1},
    with exponents fitted out of fold.

    Weights of rows and classes are relative (scaled to a mean of one) and multiply the loss. The same `random_state` gives
    the same bits, however many threads. A missing cell is a value of its own where training had some; where nothing is
    known of a value, the row's way ends and the node where it stands answers.

    Parameters
    ----------
    loss : "log" or "exponential"
        −ln P(y|x), or AdaBoost's e^{F̄ − F_y}, F̄ the mean over the classes, for two classes e^{∓F/2}.
    max_rounds : int, default 300
    learning_rate : float, default 0.1
        What a tree counts for.
    max_depth : int or "auto"
        The most questions that a tree asks of a row; "auto" is 4, and 6 from 3,000 rows.
    random_state : int, Generator, RandomState or None
    progress : callable or None
        Called now and then with how many rounds are done, and how many there may be; what it raises ends `fit`.
    kinds, class_weight, max_memory, n_jobs : as in `NaiveBayes`

    Attributes
    ----------
    oob_decision_function_ : P(y|x) of every row that weighs something, by the model of its fold, which has not seen it
    oob_score_ : the share of those rows whose most probable class is theirs
    n_rounds_ : the rounds that were best, trees of each of the five models
    losses_ : the log loss out of fold after 0, 10, 20, … rounds
    exponents_ : dict of u: "trees", "prior"
    feature_importances_ : what the questions of each column gained, as shares of one

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BoostedBayes(random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1]).round(1), model.oob_score_ > 0.9
    (array([[1., 0., 0.]]), True)
    """

    loss: Annotated[str, StrOptions({"log", "exponential"})] = "log"
    _: KW_ONLY
    max_rounds: Annotated[int, Interval(Integral, 1, 1_000_000, closed="both")] = 300
    learning_rate: Annotated[float, Interval(Real, 0, 1, closed="right")] = 0.1
    max_depth: Annotated[int | str, AUTO, Interval(Integral, 1, MOST_DEPTH, closed="both")] = "auto"
    grown_: Summed = field(init=False)
    oob_decision_function_: Annotated[Floats, "rows K"] = field(init=False)
    oob_score_: Annotated[float, UNBOUNDED] = field(init=False)

    def _grow(self, coding: Coding, codes: Codes, rows: Rows) -> tuple[Summed, Floats]:
        y, weights, K, most = rows.codes, rows.weights, len(rows.schema.classes), int(self.max_rounds)
        how = Boosting(
            exponential=self.loss == "exponential",
            depth=0 if isinstance(self.max_depth, str) else int(self.max_depth),
            rate=float(self.learning_rate),
            rounds=most,
        )
        progress = self.progress
        rounds, out = grow_rounds(
            codes,
            y,
            K,
            weights,
            generator(self.random_state),
            how=how,
            max_memory=self.max_memory,
            n_jobs=self.n_jobs,
            tell=None if progress is None else lambda done: progress(done, most),
        )
        prior = class_shares(y, K, weights)
        u = fit_exponents([out], prior, y, None if weights is None else weights / weights.sum(), self.n_jobs)
        if progress is not None:
            progress(most, most)
        return Summed(coding, coding.with_classes(rows.schema), rounds, prior, u), pooled([out], prior, u, self.n_jobs)

    @property
    def n_rounds_(self) -> int:
        """Trees of each of the five models."""
        return self.grown_.rounds.n_rounds

    @property
    def losses_(self) -> Floats:
        """The log loss of rows out of fold after 0, 10, 20, … rounds."""
        return self.grown_.rounds.losses

    @property
    def exponents_(self) -> dict[str, float]:
        """By what the trees' answer, and the prior, are tempered."""
        return dict(zip(("trees", "prior"), self.grown_.exponents.tolist()))

    @property
    def feature_importances_(self) -> Floats:
        """What the questions of each column gained in all trees, as shares of one."""
        gains = self.grown_.rounds.gains
        return gains / gains.sum() if gains.sum() > 0 else gains.copy()
