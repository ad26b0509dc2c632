"""Exact questions to a network, by name; the numbers and the engines are below."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Codes, Floats
from ..errors import BadValue, ImpossibleEvidence, MemoryBudgetError
from ..structure.graph import find, find_all
from .cases import read_cases
from .core import Network
from .elimination import eliminate, log_evidence, map_states
from .factor import Factor
from .findings import likelihoods, unknown
from .junction import MAX_MEMORY, JunctionTree

Evidence = Mapping[str, Any]
Marginals = dict[str, dict[Hashable, float]]
MOST_STATES_DRAWN = 6
NOTHING: Evidence = MappingProxyType({})


class Asked(Network):
    """A network that answers by a junction tree, compiled once, and by variable elimination."""

    # Exact answers

    def marginals(self, evidence: Evidence = NOTHING, max_memory: int = MAX_MEMORY) -> Marginals:
        """P(x_i | e) of every node, by the junction tree: {node: {state: p}}.

        The tree is compiled at the first question and kept; one over `max_memory` bytes is refused.

        >>> import posteriori as po
        >>> round(po.networks.asia().marginals({"xray": "yes"})["lung"]["yes"], 5)
        0.48871
        """
        with self._named(evidence), self._tree(evidence, max_memory) as tree:
            found = iter(tree.flat_marginals().tolist())
        return {n: dict(zip(states, found, strict=False)) for n, states in self._states.items()}  # each takes its share

    def query(self, nodes: str | Sequence[str], evidence: Evidence = NOTHING, max_memory: int = MAX_MEMORY) -> Factor:
        """P(nodes | e), jointly, by variable elimination on the part of the network that matters.

        >>> import posteriori as po
        >>> round(po.networks.asia().query(["tub", "lung"], {"xray": "yes"})["no", "yes"], 4)
        0.4836
        """
        targets = find_all(self._index, nodes)
        if len(set(targets)) < len(targets):
            raise BadValue(f"a node is asked for twice: {nodes!r}")
        with self._named(evidence):
            table, _ = eliminate(self._model, targets, self._findings(evidence), max_memory)
        names = tuple(self.nodes[t] for t in targets)
        return Factor(names, {n: self._states[n] for n in names}, table)

    def log_probability(self, evidence: Evidence, max_memory: int = MAX_MEMORY) -> float:
        """ln P(e), −inf where the evidence is impossible."""
        return log_evidence(self._model, self._findings(evidence), max_memory)

    def probability(self, evidence: Evidence, max_memory: int = MAX_MEMORY) -> float:
        """P(e); 0 where the evidence is impossible.

        >>> import posteriori as po
        >>> round(po.networks.asia().probability({"xray": "yes"}), 5)
        0.11029
        """
        try:
            return math.exp(self.log_probability(evidence, max_memory))
        except OverflowError:  # likelihoods are of any size; the logarithm says how large
            return math.inf

    def most_probable(
        self, evidence: Evidence = NOTHING, nodes: str | Sequence[str] | None = None, max_memory: int = MAX_MEMORY
    ) -> dict[str, Hashable]:
        """The most probable explanation, argmax_x P(x, e), a state for every node; or, of some nodes, their MAP.

        MAP of a subset, argmax P(x_nodes, e), sums the other nodes out first: it need not agree with the explanation.

        >>> import posteriori as po
        >>> net = po.networks.asia()
        >>> net.most_probable({"xray": "yes"})["lung"], net.most_probable({"xray": "yes"}, nodes="lung")
        ('yes', {'lung': 'no'})
        """
        with self._named(evidence):
            if nodes is None:
                with self._tree(evidence, max_memory) as tree:
                    codes = tree.most_probable()[0].tolist()
                return {n: self._states[n][c] for n, c in zip(self.nodes, codes, strict=True)}
            asked = find_all(self._index, nodes)
            codes, _ = map_states(self._model, asked, self._findings(evidence), max_memory)
        return {self.nodes[v]: self._states[self.nodes[v]][c] for v, c in zip(asked, codes, strict=True)}

    # Rows of a table

    def case_marginals(
        self,
        cases: Any,
        nodes: str | Sequence[str] | None = None,
        n_jobs: int | None = None,
        max_memory: int = MAX_MEMORY,
    ) -> dict[str, Floats]:
        """P(x_i | case) for each row and each of the nodes (all unless told): {node: array of shape (rows, states)}.

        Missing cells and missing columns are unknown; a node that a row states has that state with probability 1.

        >>> import posteriori as po
        >>> po.networks.asia().case_marginals({"xray": ["yes", None]}, ["lung"])["lung"].round(4).tolist()
        [[0.4887, 0.5113], [0.055, 0.945]]
        """
        asked = list(range(len(self.nodes))) if nodes is None else find_all(self._index, nodes)
        found = self._batch(read_cases(cases, self._index, self._states), asked, n_jobs, max_memory)
        return {self.nodes[v]: p for v, p in zip(asked, found, strict=True)}

    def predict_proba(self, cases: Any, target: str, n_jobs: int | None = None, max_memory: int = MAX_MEMORY) -> Floats:
        """P(target | case) for each row, one column a state of the target, in the order of `states(target)`.

        Missing cells and missing columns are unknown; a column of the target itself is not looked at.

        >>> import posteriori as po
        >>> po.networks.asia().predict_proba({"xray": ["yes", None]}, "lung").round(4).tolist()
        [[0.4887, 0.5113], [0.055, 0.945]]
        """
        node = find(self._index, target)
        codes = read_cases(cases, self._index, self._states, frozenset([target]))
        return self._batch(codes, [node], n_jobs, max_memory)[0]

    def predict(self, cases: Any, target: str, n_jobs: int | None = None, max_memory: int = MAX_MEMORY) -> NDArray[Any]:
        """The most probable state of the target for each row.

        >>> import posteriori as po
        >>> po.networks.asia().predict({"xray": ["yes", "no"], "dysp": [None, "yes"]}, "bronc").tolist()
        ['yes', 'yes']
        """
        labels = np.empty(len(self.states(target)), dtype=object)
        labels[:] = self._states[target]
        found: NDArray[Any] = labels[self.predict_proba(cases, target, n_jobs, max_memory).argmax(axis=1)]
        return found

    # Faces

    def plot(self, evidence: Evidence | None = None) -> Any:
        """A layered drawing as SVG, shown by notebooks; `str(…)` is its text and `.save(path)` writes it.

        With evidence (an empty mapping will do) every node shows its probabilities, and what is known a strong border.

        >>> import posteriori as po
        >>> "yes 48.9%" in str(po.networks.asia().plot({"xray": "yes"}))
        True
        """
        if evidence is None:
            return self._drawn()
        labels = {}
        for node, found in self.marginals(evidence).items():
            likely = sorted(found.items(), key=lambda item: -item[1])[:MOST_STATES_DRAWN]
            shown = [f"{state} {p:.1%}" for state, p in found.items() if (state, p) in likely]
            labels[node] = "\n".join([node, *shown] + ["…"] * (len(found) > len(shown)))
        return self._drawn(labels, [n for n, finding in evidence.items() if not unknown(finding)])

    # What stands between names and numbers

    def _findings(self, evidence: Evidence) -> dict[int, Floats]:
        return likelihoods(evidence, self._index, self._state_list)

    @cached_property
    def _state_list(self) -> list[tuple[Hashable, ...]]:
        return list(self._states.values())

    @cached_property
    def _compiled(self) -> dict[int, JunctionTree]:
        return {}

    @contextlib.contextmanager
    def _tree(self, evidence: Evidence, max_memory: int) -> Iterator[JunctionTree]:
        """The compiled tree with this evidence; no other thread changes it meanwhile."""
        findings = self._findings(evidence)
        with self._lock:
            if max_memory not in self._compiled:
                tree = JunctionTree(self._model, max_memory)
                self._compiled.clear()
                self._compiled[max_memory] = tree
            tree = self._compiled[max_memory]
            tree.set_evidence(findings)
            yield tree

    def _batch(self, codes: Codes, targets: Sequence[int], n_jobs: int | None, max_memory: int) -> list[Floats]:
        with self._tree(NOTHING, max_memory) as tree:
            try:
                return tree.batch(codes, targets, n_jobs)
            except ImpossibleEvidence as error:
                case = codes[error.row or 0]
                found = {n: self._states[n][c] for n, c in zip(self.nodes, case, strict=True) if c >= 0}
                raise self._conflict(error, found, f"row {error.row} of the cases") from None

    @contextlib.contextmanager
    def _named(self, evidence: Evidence) -> Iterator[None]:
        """Errors of the engines, which know numbers, told by name."""
        try:
            yield
        except ImpossibleEvidence as error:
            if not error.findings:  # a sampler that only saw that there is no way; which findings, elimination knows
                self._minimal_conflict(evidence)
            raise self._conflict(error, evidence, "the evidence") from None

    def _minimal_conflict(self, evidence: Evidence) -> None:
        with contextlib.suppress(MemoryBudgetError):
            try:
                eliminate(self._model, [], self._findings(evidence))
            except ImpossibleEvidence as error:
                raise self._conflict(error, evidence, "the evidence") from None

    def _conflict(self, error: ImpossibleEvidence, evidence: Evidence, what: str) -> ImpossibleEvidence:
        names = [self.nodes[v] for v in error.findings] or [n for n, x in evidence.items() if not unknown(x)]
        told = " and ".join(f"{n}={evidence[n]!r}" for n in names)
        verb = "contradicts the tables" if len(names) == 1 else "contradict each other"
        return ImpossibleEvidence(f"{what} has probability zero: {told} {verb}; take one out", names, error.row)
