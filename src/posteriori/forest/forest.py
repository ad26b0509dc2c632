"""A forest of counts: kDB members and trees, each of rows drawn anew, pooled by what they say of rows not drawn.

Symbols: S[r, y] what members, or trees, say of training row r; NaN where all of them have drawn it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any

import numpy as np

from ..arrays import Array, Floats
from ..budget import memory_budget, refuse_over
from ..estimator import AT_LEAST_1, generator, parameters
from ..kernels.trees import Codes, MemberCounts, Members, Trees, draw_bags, grow_members, grow_trees
from ..statistics.cuts import Cuts
from ..table.rows import Rows
from ..table.schema import Schema
from .coding import Coding
from .counts import importances
from .grown import GrownClassifier
from .pool import FLOOR, class_shares, fit_exponents, pooled

CONCENTRATIONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # of trees
WIDEST, A_ROW = 1 << 16, 4  # numbers in the tables of a member's column: so many, or so many a row

Tell = Callable[[int], Any] | None


def tried(d: int) -> int:
    """How many columns a node of a tree looks at."""
    return min(d, max(1, round(1.5 * float(np.sqrt(d)))))


def member_tables(codes: Codes, K: int) -> float:
    """Bytes of a member, at most."""
    d, n = len(codes.sizes), codes.n
    return 2.0 * sum(codes.sizes) + d * 4.0 * min(max(WIDEST, A_ROW * n), 13.0**3 * K)


def tree_bytes(
    codes: Codes, y: Array, K: int, weights: Floats | None, count: int, room: float, n_jobs: int | None
) -> float:
    """Bytes of trees. One has up to 1.3 n nodes, half of which may hold sets of all values of a column; seldom so many: if
    that is more than there is room for, two are grown and measured."""
    sets = 16.0 * -(-max((size for size, named in zip(codes.sizes, codes.named) if named), default=0) // 64)
    tree = 1.3 * codes.n * (2.0 * (12 + 4 * K) + sets)
    if count * tree > room:
        seeds = np.arange(2, dtype=np.uint64)
        found = grow_trees(codes, y, K, weights, tried=tried(len(codes.sizes)), drawn=True, seeds=seeds, n_jobs=n_jobs)
        tree = 1.1 * (len(found.column) * (12 + 4 * K) + found.bits.nbytes)  # twice, while they are joined
    return count * tree


def grown_members(
    coding: Coding, codes: Codes, y: Array, K: int, weights: Floats | None, seeds: Array, n_jobs: int | None, tell: Tell
) -> MemberCounts:
    """A kDB member of each seed."""
    most = max(WIDEST, A_ROW * codes.n)
    return grow_members(codes, coding.blank, y, K, weights, seeds, most, n_jobs, tell)


def said_by_members(
    members: MemberCounts, codes: Codes, weights: Floats | None, seeds: Array, n_jobs: int | None
) -> Floats:
    """S out of bag; the seeds are those of the members."""
    return _mean(*members.sums(codes, draw_bags(codes.n, weights, seeds, n_jobs), n_jobs))


def grown_trees(
    codes: Codes, y: Array, K: int, weights: Floats | None, seeds: Array, n_jobs: int | None, tell: Tell
) -> tuple[Trees, float, Floats]:
    """(a tree of each seed, c of least log loss out of bag, S out of bag)."""
    d = len(codes.sizes)
    trees = grow_trees(codes, y, K, weights, tried=tried(d), drawn=True, seeds=seeds, n_jobs=n_jobs, tell=tell)
    bags = draw_bags(codes.n, weights, seeds, n_jobs)
    truth, used = trees.truth(codes, y, CONCENTRATIONS, bags, n_jobs)
    out, c = used > 0, 1.0
    if out.any():
        loss = -np.log(np.maximum(truth[out] / used[out, None], FLOOR))
        mean = np.average(loss, axis=0, weights=None if weights is None else weights[out])
        c = CONCENTRATIONS[int(np.argmin(mean))]
    return trees, c, _mean(*trees.sums(codes, c, bags, n_jobs))


def _mean(sums: Floats, times: Array) -> Floats:
    with np.errstate(invalid="ignore"):
        return sums / times[:, None]


def mean_loss(said: Floats, y: Array, weights: Floats | None) -> float:
    """The log loss of S over the rows of which it says something; NaN where there are none."""
    own = said[np.arange(len(y)), y]
    there = ~np.isnan(own)
    if not there.any():
        return float("nan")
    w = None if weights is None or not weights[there].any() else weights[there] / weights[there].max()
    return float(np.average(-np.log(np.maximum(own[there], FLOOR)), weights=w))


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


@parameters
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

    n_trees: Annotated[int, AT_LEAST_1] = 150
    _: KW_ONLY
    n_members: Annotated[int, AT_LEAST_1] = 30
    grown_: Grown = field(init=False)

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
        return importances(self.grown_.trees, len(self.schema_), "entropy")
