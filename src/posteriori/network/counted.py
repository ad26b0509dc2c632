"""What a network learned from rows: one value with `+` and `-`, from which its tables can be made again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

from ..errors import StatisticsError
from ..statistics.statistics import Statistics
from ..structure.dag import Dag
from .learn import Smoothing, states_of
from .tables import States


class Counted:
    """A network that keeps what it counted, so that it learns more rows, forgets some, and merges; each gives a new one."""

    _states: States  # of the nodes that have some
    _statistics: Statistics | None = None
    _how: Smoothing = Smoothing()

    @property
    @abstractmethod
    def dag(self) -> Dag:
        """The structure."""

    @abstractmethod
    def _count(self, data: Any, sample_weight: Any, n_jobs: int | None) -> Statistics:
        """What these rows count; a node whose states were declared takes no others."""

    @abstractmethod
    def _remade(self, counts: Statistics, states: States, how: Smoothing) -> Self:
        """The network of the same structure from other counts."""

    @property
    def statistics(self) -> Statistics | None:
        """The counts that the tables were made from, one value with `+` and `-`; None where there are none."""
        return self._statistics

    def _counted(self) -> Statistics:
        if self._statistics is None:
            raise StatisticsError("this network was not counted from rows: `fit` and `from_counts` keep their counts")
        return self._statistics

    def smoothed(self, smoothing: float = 1.0, *, ess: float | None = None, backoff: float | None = None) -> Self:
        """The network of the same counts under another smoothing; no row is needed.

        >>> import posteriori as po
        >>> net = po.BayesNet.fit(po.Dag("a"), {"a": [0, 0, 1]})
        >>> net.cpt("a").to_numpy().tolist(), net.smoothed(0.5).cpt("a").to_numpy().tolist()
        ([[0.6, 0.4]], [[0.625, 0.375]])
        """
        return self._remade(self._counted(), self._states, Smoothing(smoothing, ess, backoff))

    def partial_fit(self, data: Any, sample_weight: Any = None, n_jobs: int | None = None) -> Self:
        """The network that has learned these rows too; this one stays as it is.

        States that were declared (given, or the categories of a column) stay as they are; a node whose states were found
        in its column takes new ones.

        >>> import posteriori as po
        >>> net = po.BayesNet.fit(po.Dag("a"), {"a": [0, 0, 1]}).partial_fit({"a": [1, 2]})
        >>> net.states("a"), net == po.BayesNet.fit(po.Dag("a"), {"a": [0, 0, 1, 1, 2]})
        ((0, 1, 2), True)
        """
        mine, found = self._counted(), self._count(data, sample_weight, n_jobs)
        return self._becoming(mine + found)

    def forget(self, data: Any, sample_weight: Any = None, n_jobs: int | None = None) -> Self:
        """The network that never saw these rows, exactly; refused where they were not learned.

        >>> import posteriori as po
        >>> net = po.BayesNet.fit(po.Dag("a"), {"a": [0, 0, 1]})
        >>> net.partial_fit({"a": [1, 2]}).forget({"a": [2, 1]}) == net
        True
        """
        left = self._counted() - self._count(data, sample_weight, n_jobs)
        if not (left.rows > 0).any():
            raise StatisticsError("the last row cannot be forgotten: a network of no rows has no tables")
        return self._becoming(left)

    def __add__(self, other: Self) -> Self:
        """The network of both tables, as if it had learned them together, smoothed as the left one."""
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = ({n: net.dag.parents(n) for n in net.dag.nodes} for net in (self, other))
        if mine != theirs:
            raise StatisticsError("networks of other structures do not add: their families were not counted alike")
        return self._becoming(self._counted() + other._counted(), other._closed())

    def __radd__(self, other: Any) -> Self:
        """0 + net: what `sum(networks)` begins with."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _closed(self) -> dict[str, Sequence[Hashable]]:
        """The states of the nodes that take no others."""
        return {n: s for n, s in self._states.items() if self._counted().schema[n].declared}

    def _becoming(self, counts: Statistics, others: Mapping[str, Sequence[Hashable]] | None = None) -> Self:
        """The network of other counts; declared states keep their order, new ones come after them."""
        closed = {}
        for column in counts.schema.columns:
            if column.declared:
                known = [*self._states[column.name], *(others or {}).get(column.name, ()), *column.values]
                closed[column.name] = tuple(s for s in dict.fromkeys(known) if s in column.place)
        return self._remade(counts, states_of(counts, closed), self._how)
