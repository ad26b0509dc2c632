"""A decision tree of counts: questions that tell most of the class, and in every node the rows that came there."""

from __future__ import annotations

from dataclasses import KW_ONLY, field, replace
from numbers import Real
from typing import Annotated, Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .. import views
from ..arrays import Array, Floats
from ..bayes.choice import Fold, folds_of
from ..bayes.learning import Learner
from ..bayes.tables import ReadsTables
from ..budget import refuse_over
from ..estimator import AT_LEAST_1, AUTO, ClassWeight, MaxMemory, NJobs, parameters
from ..fields import UNBOUNDED, Within, need
from ..kernels import forest_truth, grow_trees, n_threads, tree_leaves
from ..kernels.trees import Codes, Trees
from ..smoothing.theta import MOST_SMOOTHING, SMOOTHING, backoff
from ..statistics.counts import lightest
from ..statistics.cuts import CodedTable
from ..table.encode import Seen, team_map
from ..table.rows import Rows, read_rows
from ..table.schema import Schema
from .counts import TreeCounts, depths, importances, pruned, rules
from .forest import FLOOR
from .grown import Coding, learn_coding

CONCENTRATIONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
BETWEEN = 16.0  # c at a node between the root and a leaf, over c
COSTS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)  # of a leaf, in rows' worth of impurity
FOLDS = 5
CRITERIA = {"entropy": "entropy", "gain_ratio": "ratio", "gini": "gini"}


@parameters
class BayesTree(ReadsTables, Learner):
    """A decision tree whose answer backs off from the root to the leaf.

    A node is split where that tells most of the class, until every leaf is of one class. A leaf's share of each class alone
    is a bad probability, of few rows; the nodes above it have more: p_l(y) = (n_l(y) + c_l p_{l−1}(y))/(N_l + c_l) along
    the way of a row, from p_{−1} = 1/K down. c_l is c at the root and at a leaf, and 16 c between them: what a leaf leans
    on is to be of many rows. Numbers are cut into at most about 128 bins. A missing cell is a value of its own where
    training had some; a value that nothing is known of ends the way, and the node's own counts answer.

    `fit` grows the tree; `partial_fit`, `forget` and `+` add rows to its nodes, or take them out, and leave its questions
    as they are.

    Parameters
    ----------
    criterion : "entropy", "gain_ratio" or "gini"
        What a split is to gain: information about the class, that divided by the split's own information, or purity.
    max_depth : int or None
        The most questions that a row is asked.
    min_weight_leaf : float, default 0
        The weight of rows that either side of a split must have.
    ccp_alpha : float or "auto", default 0
        What a leaf costs, in impurity of a row (nats, or Gini's): branches that are not worth it are cut off. "auto" tries
        0, 1, 2, 4, 8 and 16 over the weight of all rows.
    backoff : float or "auto", the default
        c, the rows that the node above a leaf counts for; 0 answers with the leaf's share. "auto" tries .05 to 256.

    What is "auto" is chosen by the log loss of rows that took no part: they are dealt to five folds by what they say, so
    neither order nor chance plays a part.

    Other parameters
    ----------------
    kinds, class_weight, max_memory, n_jobs : as in `NaiveBayes`

    Attributes
    ----------
    backoff_, ccp_alpha_ : what was chosen, or told
    feature_importances_ : what the questions of each column gained, as shares of one

    >>> model = BayesTree().fit({"sky": ["blue", "blue", "grey", "grey"], "wind": [1.0, 2.0, 1.5, 9.0]}, [1, 1, 0, 0])
    >>> print(model.rules())
    if sky is blue then 1 (P = 0.988, 2 of 2)
    if sky is grey then 0 (P = 0.988, 2 of 2)
    """

    criterion: Annotated[str, StrOptions(set(CRITERIA))] = "entropy"
    _: KW_ONLY
    max_depth: Annotated[int | None, AT_LEAST_1, None] = None
    min_weight_leaf: Annotated[float, Interval(Real, 0, np.inf, closed="left")] = 0.0
    ccp_alpha: Annotated[float | str, AUTO, Interval(Real, 0, np.inf, closed="left")] = 0.0
    backoff: Annotated[float | str, AUTO, SMOOTHING] = "auto"
    kinds: Any = None
    class_weight: ClassWeight = None
    max_memory: MaxMemory = None
    n_jobs: NJobs = None
    statistics_: TreeCounts = field(init=False)
    backoff_: Annotated[float, Within(0, MOST_SMOOTHING)] = field(init=False)
    ccp_alpha_: Annotated[float, UNBOUNDED] = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        need((self.statistics_.rows > 0).any(), "a fitted tree must have rows")

    def _read(self, X: Any, y: Any, sample_weight: Any, declared: tuple[Any, ...]) -> tuple[TreeCounts, Array]:
        known: TreeCounts | None = self.statistics_ if "statistics_" in vars(self) else None
        rows = read_rows(
            X,
            y,
            sample_weight,
            who=type(self).__name__,
            kinds=self.kinds,
            class_weight=self.class_weight,
            known=None if known is None else known.schema,
            named=known is None or "feature_names_in_" in vars(self),
            declared=declared,
        )
        if known is None:
            found, seen = self._grow(rows)
            self._named(rows)
        else:
            codes, seen = known.coding.code(rows.frame, self.n_jobs)
            found = known.counted(codes, rows.schema, rows.codes, rows.weights)
        self._seen = seen
        return replace(found, lightest=lightest(rows.weights)), rows.labels

    def _stays(self, left: TreeCounts) -> dict[str, str]:
        return {"questions": "what the tree asks and how its leaves back off"}

    def _grow(self, rows: Rows) -> tuple[TreeCounts, Seen]:
        self._refuse_text(rows.schema)
        coding, codes, seen = learn_coding(rows.frame, rows.schema, rows.weights, self.max_memory, self.n_jobs)
        K = len(rows.schema.classes)
        at_once = 2 + min(FOLDS, n_threads(self.n_jobs, 1 << 30))  # as it grows, its copy, and one of each fold
        what = f"a tree of {codes.n:,} rows and {K:,} classes"
        refuse_over(self.max_memory, 16.0 * codes.n * K * at_once, what, "give fewer")
        tree, (alpha, c) = self._grown(codes, rows.codes, K, rows.weights), self._chosen(codes, rows, K)
        self.ccp_alpha_, self.backoff_ = alpha, c
        tree = pruned(tree, CRITERIA[self.criterion], alpha)
        return TreeCounts(coding, coding.with_classes(rows.schema), tree), seen

    def _grown(self, codes: Codes, y: Array, K: int, weights: Floats | None) -> Trees:
        criterion, least, scale = CRITERIA[self.criterion], float(self.min_weight_leaf), 0
        if weights is not None and not 1e-100 < weights.max() < 1e100:  # whose squares are no floats
            scale = int(np.frexp(weights.max())[1])
            weights, least = np.ldexp(weights, -scale), float(np.ldexp(least, -scale))
        tree = grow_trees(codes, y, K, weights, criterion=criterion, max_depth=self.max_depth, least=least)
        return tree if scale == 0 else replace(tree, counts=np.ldexp(tree.counts, scale))

    def _chosen(self, codes: Codes, rows: Rows, K: int) -> tuple[float, float]:
        """(α, c) of least log loss of rows that took no part; of equals the smallest tree, then the largest c.

        Weights that do not even sum to two rows are shares: all is as if they summed to n.
        """
        y, weights = rows.codes, rows.weights
        total = float(codes.n) if weights is None else float(weights.sum())
        unit = 1.0 if total >= 2 else total / codes.n
        cs = [c * unit for c in CONCENTRATIONS] if isinstance(self.backoff, str) else [float(self.backoff)]
        alphas = [a * unit / total for a in COSTS] if isinstance(self.ccp_alpha, str) else [float(self.ccp_alpha)]
        if len(alphas) == len(cs) == 1:
            return alphas[0], cs[0]

        def lost(fold: Fold) -> Floats:
            part, mass = fold
            left, loss = np.ones(codes.n) if weights is None else weights.copy(), np.zeros((len(alphas), len(cs)))
            w = np.ones(len(part)) if mass is None else mass * unit
            left[part] -= w
            kept = left > 1e-9 * (1.0 if weights is None else weights)
            if kept.any():
                rest = replace(codes, cells=np.ascontiguousarray(codes.cells[:, kept]))
                tree = self._grown(rest, y[kept], K, None if weights is None else left[kept])
                asked = replace(codes, cells=np.ascontiguousarray(codes.cells[:, part]))
                for a, alpha in enumerate(alphas):
                    smaller = pruned(tree, CRITERIA[self.criterion], alpha)
                    own = forest_truth(smaller, asked, y[part], cs, n_jobs=1, between=BETWEEN)[0]
                    loss[a] -= w @ np.log(np.maximum(own, FLOOR)) / total
            return loss

        table = CodedTable(list(codes.cells), codes.sizes)
        folds = folds_of(table, y, None if weights is None else weights / unit, FOLDS)
        loss = np.sum(team_map(lost, folds, 4 * FOLDS * codes.cells.size, self.n_jobs), axis=0)
        best = np.argwhere(loss <= loss.min() + 1e-12)[-1]
        return alphas[best[0]], cs[best[1]]

    @property
    def _c(self) -> float:
        return float(self.backoff_ if isinstance(self.backoff, str) else self.backoff)

    def _posterior(self, X: Any) -> tuple[Floats, int]:
        counts, codes, c = self.statistics_, self._coded(X), self._cached("c", lambda: self._c)
        return counts.tree.sums(codes, c, n_jobs=self.n_jobs, between=BETWEEN)[0], -1

    def _log_without(self, X: Any) -> Floats:
        """log P(y|x without x_j): the way of a row ends where x_j is asked for."""
        codes = self._coded(X)
        tree: Trees = self.statistics_.tree
        how: dict[str, Any] = {"n_jobs": self.n_jobs, "between": BETWEEN}
        found = [tree.sums(codes.without(j), self._c, **how)[0] for j in range(len(codes.sizes))]
        with np.errstate(divide="ignore"):
            return np.log(np.stack(found, axis=1))

    def _coded(self, X: Any) -> Codes:
        """The border of prediction: rows as codes."""
        codes: Codes
        codes, self._seen = self.statistics_.coding.code(self._open(X), self.n_jobs)
        return codes

    @property
    def schema_(self) -> Schema:
        """The columns and classes, with the values that training had."""
        found: Schema = self.statistics_.schema
        return found

    @property
    def cuts_(self) -> dict[str, Floats]:
        """Where every numeric column may be cut."""
        coding: Coding = self.statistics_.coding
        return {n: c for n, c in zip(coding.schema.names, coding.cuts) if c is not None}

    def apply(self, X: Any) -> Array:
        """The node where each row ends."""
        self._check_fitted()
        found: Array = tree_leaves(self.statistics_.tree, self._coded(X), self.n_jobs)[0]
        return found

    @property
    def node_posteriors_(self) -> Floats:
        """P(y) at every node, [node, y]; a parent stands before its children, and the root is the first."""
        return self._cached("posteriors", self._posteriors)

    def _posteriors(self) -> Floats:
        tree: Trees = self.statistics_.tree
        asks = np.flatnonzero(tree.column >= 0)
        above, depth = np.zeros(len(tree.column), dtype=np.intp), depths(tree)
        above[tree.child[asks]] = above[tree.child[asks] + 1] = asks
        whole = tree.counts.sum(axis=1, keepdims=True)
        found = np.full(tree.counts.shape, 1.0 / tree.counts.shape[1])
        c = np.where((depth > 0) & (tree.column >= 0), BETWEEN, 1.0)[:, None] * self._c
        for d in range(int(depth.max()) + 1):
            at = np.flatnonzero(depth == d)
            base = found[at] if d == 0 else found[above[at]]
            found[at] = backoff(tree.counts[at], whole[at], base, c[at])
        return found

    @property
    def n_nodes_(self) -> int:
        """Nodes, the leaves among them."""
        return len(self.statistics_.tree.column)

    @property
    def n_leaves_(self) -> int:
        """Leaves."""
        return int(np.count_nonzero(self.statistics_.tree.column < 0))

    @property
    def depth_(self) -> int:
        """The most questions that a row is asked."""
        return int(depths(self.statistics_.tree).max())

    @property
    def feature_importances_(self) -> Floats:
        """What the questions of each column gained in all, as shares of one; zeros where there is no question."""
        return importances(self.statistics_.tree, len(self.schema_), CRITERIA[self.criterion])

    def rules(self, max_depth: int | None = None) -> str:
        """The tree in words: a line for every leaf, with the likeliest class, P(y|x) and its rows.

        With `max_depth` a line for every node that so many questions lead to, or leaf before.
        """
        self._check_fitted()
        return "\n".join(rules(self.statistics_, self.node_posteriors_, max_depth))

    def plot(self, ax: Any = None, *, max_depth: int = 4) -> Any:
        """Draw the tree with matplotlib: questions, and the posterior of every node as a bar; returns the axes."""
        self._check_fitted()
        return views.axes("a tree", self, ax, max_depth)

    def _repr_html_(self) -> str:
        return views.html("a tree", self) if "statistics_" in vars(self) else super()._repr_html_()
