"""Boosted trees of counts: each tree grown on what those before it left unsaid, in five folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Floats
from ..estimator import generator
from ..kernels.trees import Boosting, Codes
from ..statistics.cuts import Cuts
from ..table.rows import Rows
from ..table.schema import Schema
from .coding import Coding
from .grown import GrownClassifier
from .pool import class_shares, fit_exponents, pooled
from .rounds import Rounds, grow_rounds

MOST_DEPTH = 30


@dataclass(frozen=True, eq=False)
class Summed:
    """What boosting has learned: how cells are coded, the trees, and the exponents of their answer and of the prior."""

    coding: Coding
    schema: Schema
    rounds: Rounds
    prior: Floats
    exponents: Floats

    @property
    def cuts(self) -> Cuts:
        """Where numbers are cut, at most."""
        return self.coding.cuts

    def posterior(self, codes: Codes, n_jobs: int | None) -> Floats:
        """P(y|x)."""
        return pooled([self.rounds.posterior(codes, n_jobs)], self.prior, self.exponents, n_jobs)


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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions({"log", "exponential"})],
        "max_rounds": [Interval(Integral, 1, 1_000_000, closed="both")],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "max_depth": [StrOptions({"auto"}), Interval(Integral, 1, MOST_DEPTH, closed="both")],
        **GrownClassifier._parameter_constraints,
    }
    grown_: Summed

    def __init__(
        self,
        loss: str = "log",
        *,
        max_rounds: int = 300,
        learning_rate: float = 0.1,
        max_depth: int | str = "auto",
        random_state: Any = None,
        progress: Callable[[int, int], Any] | None = None,
        kinds: Any = None,
        class_weight: Any = None,
        max_memory: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(random_state, progress, kinds, class_weight, max_memory, n_jobs)
        self.loss = loss
        self.max_rounds = max_rounds
        self.learning_rate = learning_rate
        self.max_depth = max_depth

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
