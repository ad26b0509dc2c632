"""A forest of counts: kDB members and trees, each of rows drawn anew, pooled by what they say of rows not drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, Floats
from ..bayes.classifier import PosteriorClassifier
from ..bayes.learning import class_array
from ..bayes.tables import ReadsTables
from ..budget import memory_budget, refuse_over
from ..estimator import MAX_MEMORY, N_JOBS, RANDOM_STATE, generator, learning
from ..kernels.trees import Codes, Members, Trees
from ..statistics.cuts import Cuts
from ..table.encode import Seen
from ..table.rows import Rows, read_rows
from ..table.schema import Schema
from .coding import Coding, learn_coding
from .parts import grown_members, grown_trees, member_tables, said_by_members, tree_bytes
from .pool import fit_exponents, pooled
from .shape import impurity


@dataclass(frozen=True, eq=False)
class Grown:
    """What a forest has learned: how cells are coded, members and trees, c of the trees, and the pool's exponents.

    `exponents` are those of the members, of the trees and of the prior π_y = n_y/n.
    """

    coding: Coding
    schema: Schema
    members: Members
    trees: Trees
    concentration: float
    prior: Floats
    exponents: Floats

    @property
    def cuts(self) -> Cuts:
        """Where numbers are cut, at most."""
        return self.coding.cuts

    def posterior(self, codes: Codes, n_jobs: int | None) -> Floats:
        """P(y|x)."""
        asked: list[Callable[[], Floats]] = [
            lambda: self.members.sums(codes, n_jobs=n_jobs)[0] / len(self.members),
            lambda: self.trees.sums(codes, self.concentration, n_jobs=n_jobs)[0] / len(self.trees),
        ]
        silent = np.ones((codes.n, len(self.prior)))  # a part of exponent 0 need not be asked
        parts = [part() if u > 0 else silent for part, u in zip(asked, self.exponents)]
        return pooled(parts, self.prior, self.exponents)


class BayesForest(ReadsTables, PosteriorClassifier):
    """Bayes classifiers and decision trees of counts, each of its own draw of the rows, pooled.

    *Members* are kDB classifiers: numbers cut into 3 to 12 bins at random, up to two parents for each column, drawn by what
    they tell of it, tables that back off with concentrations chosen by leaving one row out (structure held). *Trees* are
    grown until every leaf is of one class, by entropy over round(1.5 √d) columns drawn for each node, and back off from the
    root to the leaf, p_l = (n_l + c p_{l−1})/(N_l + c). The mean posteriors of both are pooled, P(y|x) ∝ π_y^{u_0}
    S_1(y|x)^{u_1} S_2(y|x)^{u_2}; c and u are fitted on what members and trees say of rows that they have not drawn.

    Weights of rows and classes are chances to be drawn. The same `random_state` gives the same bits, however many threads.
    A missing cell is a value of its own where training had some; a value that nothing is known of says nothing.

    Parameters
    ----------
    n_trees, n_members : int
    random_state : int, Generator, RandomState or None
    progress : callable or None
        Called now and then with how many members and trees are done, and how many there are; what it raises ends `fit`.
    kinds, class_weight, max_memory, n_jobs : as in `NaiveBayes`

    Attributes
    ----------
    oob_decision_function_ : P(y|x) of every row that weighs something, by members and trees that have not drawn it; NaN
        where there are none
    oob_score_ : the share of those rows whose most probable class is theirs
    exponents_ : dict of u: "members", "trees", "prior"
    concentration_ : c
    feature_importances_ : what the questions of each column gained in the trees, as shares of one

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesForest(random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1]).round(1), model.oob_score_ > 0.9
    (array([[1., 0., 0.]]), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "n_members": [Interval(Integral, 1, None, closed="left")],
        "random_state": RANDOM_STATE,
        "progress": [callable, None],
        "kinds": [object],  # the table knows its columns
        "class_weight": [StrOptions({"balanced"}), Mapping, None],
        "max_memory": MAX_MEMORY,
        "n_jobs": N_JOBS,
    }
    grown_: Grown
    oob_decision_function_: Floats
    oob_score_: float

    def __init__(
        self,
        n_trees: int = 150,
        n_members: int = 30,
        *,
        random_state: Any = None,
        progress: Callable[[int, int], Any] | None = None,
        kinds: Any = None,
        class_weight: Any = None,
        max_memory: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.n_members = n_members
        self.random_state = random_state
        self.progress = progress
        self.kinds = kinds
        self.class_weight = class_weight
        self.max_memory = max_memory
        self.n_jobs = n_jobs

    @learning
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw, grow and pool."""
        rows = read_rows(X, y, sample_weight, who=type(self).__name__, kinds=self.kinds, class_weight=self.class_weight)
        self._refuse_text(rows.schema)
        seen = Seen()
        coding, codes = learn_coding(rows.frame, rows.schema, rows.weights, seen, self.max_memory, self.n_jobs)
        self.grown_, self.oob_decision_function_ = self._grow(coding, codes, rows)
        self._named(rows)
        self._seen = seen
        self.classes_ = class_array(rows.schema.classes, rows.labels.dtype)
        known = ~np.isnan(self.oob_decision_function_[:, 0])
        right = self.oob_decision_function_[known].argmax(axis=1) == rows.codes[known]
        w = None if rows.weights is None else rows.weights[known]
        self.oob_score_ = float(np.average(right, weights=w)) if known.any() else float("nan")
        return self

    def _grow(self, coding: Coding, codes: Codes, rows: Rows) -> tuple[Grown, Floats]:
        y, weights, K, jobs = rows.codes, rows.weights, len(rows.schema.classes), self.n_jobs
        n = codes.n
        self._refuse_large(codes, y, K, weights)
        seeds = generator(self.random_state).integers(0, 1 << 63, self.n_members + self.n_trees, dtype=np.uint64)
        own = seeds[: self.n_members], seeds[self.n_members :]
        members = grown_members(coding, codes, y, K, weights, own[0], jobs, self._tell(0))
        said = said_by_members(members, codes, weights, own[0], jobs)
        trees, c, also = grown_trees(codes, y, K, weights, own[1], jobs, self._tell(self.n_members))
        out = ~(np.isnan(said[:, 0]) | np.isnan(also[:, 0]))
        parts = [said[out], also[out]]
        mass = np.bincount(y, weights, minlength=K).astype(np.float64)
        prior = mass / mass.sum()
        u = fit_exponents(parts, prior, y[out], None if weights is None else weights[out] / weights.sum())
        answers = np.full((n, K), np.nan)
        answers[out] = pooled(parts, prior, u)
        schema = replace(coding.schema, classes=rows.schema.classes, declared_classes=rows.schema.declared_classes)
        if self.progress is not None:
            self.progress(len(seeds), len(seeds))
        return Grown(coding, schema, members, trees, c, prior, u), answers

    def _tell(self, before: int) -> Callable[[int], Any] | None:
        """What kernels call with how many they have done, where somebody listens."""
        progress, total = self.progress, self.n_members + self.n_trees
        return None if progress is None else lambda done: progress(before + done, total)

    def _refuse_large(self, codes: Codes, y: Array, K: int, weights: Floats | None) -> None:
        """Refuse what would not fit."""
        rest = self.n_members * member_tables(codes, K) + 40.0 * codes.n * K
        need = tree_bytes(codes, y, K, weights, self.n_trees, memory_budget(self.max_memory) - rest, self.n_jobs)
        way_out = "give fewer rows, columns or classes, or n_trees and n_members"
        refuse_over(self.max_memory, need + rest, f"a forest of {codes.n:,} rows", way_out)

    def _posterior(self, X: Any) -> tuple[Floats, int]:
        self._made("checked", lambda: None)
        seen = Seen()
        codes = self.grown_.coding.code(self._open(X), seen, self.n_jobs)
        self._seen = seen
        return self.grown_.posterior(codes, self.n_jobs), -1

    def _log_without(self, X: Any) -> Floats:
        codes = self.grown_.coding.code(self._open(X), Seen(), self.n_jobs)
        found = [self.grown_.posterior(codes.without(j), self.n_jobs) for j in range(len(codes.sizes))]
        with np.errstate(divide="ignore"):
            return np.log(np.stack(found, axis=1))

    @property
    def class_prior_(self) -> Floats:
        """π_y, the share of each class."""
        return self.grown_.prior

    @property
    def schema_(self) -> Schema:
        """The columns and classes, with the values that training had."""
        return self.grown_.schema

    @property
    def exponents_(self) -> dict[str, float]:
        """What each part counts for in the pool."""
        return dict(zip(("members", "trees", "prior"), self.grown_.exponents.tolist()))

    @property
    def concentration_(self) -> float:
        """c, the rows that the node above counts for in the trees."""
        return self.grown_.concentration

    @property
    def feature_importances_(self) -> Floats:
        """What the questions of each column gained in all trees, as shares of one."""
        trees = self.grown_.trees
        own, asks = impurity(trees.counts.astype(np.float64), "entropy"), np.flatnonzero(trees.column >= 0)
        first = np.repeat(trees.starts[:-1], np.diff(trees.starts))[asks] + trees.child[asks]
        gains = np.maximum(own[asks] - own[first] - own[first + 1], 0.0)
        found = np.bincount(trees.column[asks], gains, minlength=len(self.schema_)).astype(np.float64)
        return found / found.sum() if found.sum() > 0 else found
