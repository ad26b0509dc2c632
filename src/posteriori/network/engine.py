"""What stands between names and numbers: one compiled tree for all questions, and errors told by name."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from ..arrays import Codes, Floats
from ..errors import ImpossibleEvidence, MemoryBudgetError
from .elimination import case_posteriors, eliminate
from .junction import JunctionTree
from .numbers import Numbers, hard_states
from .says import findings, unknown

Evidence = Mapping[str, Any]


class Engine:
    """The numbers of a network, the states of its nodes by name, and the tree that was compiled last."""

    def __init__(self, numbers: Numbers, states: Mapping[str, tuple[Hashable, ...]]) -> None:
        self._numbers, self._states = numbers, states
        self._places = {n: i for i, n in enumerate(numbers.names)}
        self._lock = threading.RLock()  # a compiled tree answers one question at a time
        self._compiled: JunctionTree | None = None

    def findings(self, evidence: Evidence | None) -> dict[int, Floats]:
        """A likelihood vector for each node that something is known of."""
        return findings({} if evidence is None else evidence, self._places, self._states)

    @contextlib.contextmanager
    def tree(self, evidence: Evidence | None, max_memory: float | None, held: bool = False) -> Iterator[JunctionTree]:
        """The compiled tree with this evidence; no other thread changes it meanwhile.

        Where the whole network's tree is too large and the evidence may be `held`, a tree without what is known.
        """
        vectors = self.findings(evidence)
        with self._lock:
            try:
                tree = self._whole(max_memory)
            except MemoryBudgetError:
                known = hard_states(vectors)
                if not (held and known):
                    raise
                tree = JunctionTree(self._numbers, max_memory, known)
            tree.set_evidence(vectors)
            yield tree

    def _whole(self, max_memory: float | None) -> JunctionTree:
        """The tree of the whole network, compiled once."""
        tree = self._compiled
        if tree is None:
            tree = self._compiled = JunctionTree(self._numbers, max_memory)
        elif tree.max_memory is not max_memory:  # which is checked where it is asked
            tree.refuse_over(max_memory)
            tree.max_memory = max_memory
        return tree

    def batch(self, codes: Codes, targets: Sequence[int], n_jobs: int | None, max_memory: float | None) -> list[Floats]:
        """P(x_t | case) of each target for each row of codes."""
        try:
            with self._lock:
                try:
                    return self._whole(max_memory).batch(codes, targets, n_jobs)
                except MemoryBudgetError:
                    return [case_posteriors(self._numbers, codes, t, max_memory) for t in targets]
        except ImpossibleEvidence as error:
            case = codes[error.row or 0]
            found = {n: self._states[n][c] for n, c in zip(self._numbers.names, case, strict=True) if c >= 0}
            raise self._conflict(error, found, f"row {error.row} of the cases") from None

    @contextlib.contextmanager
    def named(self, evidence: Evidence | None) -> Iterator[None]:
        """Errors of the engines, which know numbers, told by name."""
        try:
            yield
        except ImpossibleEvidence as error:
            if not error.findings:  # a sampler that only saw that there is no way; which findings, elimination knows
                self._minimal_conflict(evidence)
            raise self._conflict(error, evidence or {}, "the evidence") from None

    def _minimal_conflict(self, evidence: Evidence | None) -> None:
        with contextlib.suppress(MemoryBudgetError):
            try:
                eliminate(self._numbers, [], self.findings(evidence))
            except ImpossibleEvidence as error:
                raise self._conflict(error, evidence or {}, "the evidence") from None

    def _conflict(self, error: ImpossibleEvidence, evidence: Evidence, what: str) -> ImpossibleEvidence:
        names = [self._numbers.names[v] for v in error.findings] or [n for n, x in evidence.items() if not unknown(x)]
        told = " and ".join(f"{n}={evidence[n]!r}" for n in names)
        verb = "contradicts the tables" if len(names) == 1 else "contradict each other"
        return ImpossibleEvidence(f"{what} has probability zero: {told} {verb}; take one out", names, error.row)
