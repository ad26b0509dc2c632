"""A forest of counts: kDB members and trees, each of rows drawn anew, pooled by what they say of rows not drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..arrays import Array, Floats
from ..budget import memory_budget, refuse_over
from ..estimator import generator
from ..kernels.trees import Codes, MemberCounts, Members, Trees
from ..statistics.cuts import Cuts
from ..table.rows import Rows
from ..table.schema import Schema
from .coding import Coding
from .grown import GrownClassifier
from .parts import grown_members, grown_trees, member_tables, said_by_members, tree_bytes
from .pool import class_shares, fit_exponents, pooled
from .shape import impurity


@dataclass(frozen=True, eq=False)
class Grown:
    """What a forest has learned: how cells are coded, members and trees, c of the trees, and the pool's exponents.

    `exponents` are those of the members, of the trees and of the prior π_y = n_y/n.
    """

    coding: Coding
    schema: Schema
    members: MemberCounts | Members | None  # None where their exponent is 0; tables alone in files of an older format
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
        said, also = (np.ones((codes.n, len(self.prior))) for _ in range(2))  # a part of exponent 0 need not be asked
        if self.members is not None and self.exponents[0] > 0:
            said = self.members.sums(codes, n_jobs=n_jobs)[0] / len(self.members)
        if self.exponents[1] > 0:
            also = self.trees.sums(codes, self.concentration, n_jobs=n_jobs)[0] / len(self.trees)
        return pooled([said, also], self.prior, self.exponents, n_jobs)


class BayesForest(GrownClassifier):
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
        **GrownClassifier._parameter_constraints,
    }
    grown_: Grown

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
        super().__init__(random_state, progress, kinds, class_weight, max_memory, n_jobs)
        self.n_trees = n_trees
        self.n_members = n_members

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
        prior = class_shares(y, K, weights)
        u = fit_exponents(parts, prior, y[out], None if weights is None else weights[out] / weights.sum(), jobs)
        answers = np.full((n, K), np.nan)
        answers[out] = pooled(parts, prior, u, jobs)
        if self.progress is not None:
            self.progress(len(seeds), len(seeds))
        kept = members if u[0] > 0 else None
        return Grown(coding, coding.with_classes(rows.schema), kept, trees, c, prior, u), answers

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
