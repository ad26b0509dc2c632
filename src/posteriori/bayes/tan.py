"""TAN: every attribute depends on the class and on one neighbour in a maximum-weight spanning tree."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Annotated, Any

from sklearn.utils._param_validation import Interval

from ..arrays import Array, Floats
from ..estimator import parameters
from ..smoothing.theta import SMOOTHING, Prior
from ..statistics.statistics import Statistics
from ..structure.information import learn_tree
from ..structure.structures import Structure
from .families import Families
from .hidden import Unlabelled
from .semi import OneStructure, place_of


@parameters
class TAN(OneStructure, Unlabelled):
    """Tree-augmented naive Bayes: P(y|x) ∝ P(y) Π_i P(x_i | y, x_parent(i)).

    The tree is the maximum-weight spanning tree of I(Xi;Xj|Y) = Σ P(xi,xj,y) ln[P(xi,xj|y)/(P(xi|y)P(xj|y))], unsmoothed,
    over the rows in which both are known; of equal edges the one between lower columns is taken. Statistics are pair
    counts, so any merge, forgetting or chunking gives the tree and the tables of one pass. Missing cells are summed out.

    Parameters
    ----------
    root : str or int, optional
        The attribute from which the edges point away; by default the one that tells most of the class.
    min_information : float, default 0.0
        Edges of less CMI are left out, so that a forest remains.
    backoff : float or None, default 5.0
        m of P(x_i|y,x_p) = (N + m·P(x_i|y))/(N_p + m): how many rows the back-off to P(x_i|y) counts for. None smooths
        by λ alone, as textbooks do: (N + λ)/(N_p + S_iλ).
    smoothing, prior, kinds, class_weight, n_jobs, unlabelled, unlabelled_weight :
        As in `NaiveBayes`.
    cuts : "mdl", "quantile", "width" or dict
        How numeric columns are cut, or the cuts themselves by column (another model's `cuts_`).
    bins : int, default 10
        Bins that "quantile" and "width" aim at.
    max_memory : float, optional
        Bytes that counts or tables may take; half of the machine's memory by default.

    Values that training did not have are treated as missing.

    >>> model = TAN().fit({"a": ["x", "x", "y", "y"] * 3, "b": ["u", "u", "v", "v"] * 3}, [0, 0, 1, 1] * 3)
    >>> model.edges_
    [('a', 'b')]
    """

    root: Annotated[Any, str, Integral, None] = None
    _: KW_ONLY
    min_information: Annotated[float, Interval(Real, None, None, closed="neither")] = 0.0
    backoff: Annotated[float | None, SMOOTHING, None] = 5.0
    prior: Prior = "smoothed"

    def _become(self, statistics: Statistics, labels: Array) -> None:
        super()._become(statistics, labels)
        self._made("tree", self._learn_tree)  # the tree is part of learning, not of the first prediction

    def _learn_tree(self) -> tuple[Floats, Structure]:
        statistics, first = self.statistics_, None
        if self.root is not None:
            first = place_of(self.root, self.schema_.names, "root")
        return learn_tree(statistics.cells, statistics.joints[0], statistics.schema, first, self.min_information)

    @property
    def information_(self) -> Floats:
        """I(Xi;Xj|Y) in nats, a symmetric matrix in the order of the columns."""
        return self._made("tree", self._learn_tree)[0]

    @property
    def structure_(self) -> Structure:
        """The tree (or forest), as the parents of each attribute."""
        return self._made("tree", self._learn_tree)[1]

    def _edge_weights(self) -> list[float] | None:
        return [float(self.information_[p, i]) for p, i in self._edges()]

    def _make_families(self) -> Families:
        return Families.of(self.statistics_, self.structure_, self.smoothing, self.prior, self.backoff, self.max_memory)
