"""The junction tree: a network compiled once, then asked many times; and the engine, which asks it by name.

Symbols: C a clique, S the separator to its parent, ψ_C the product of the tables given to C, λ findings, μ a message.

    B_C = ψ_C Π λ Π_children μ        μ_C[S] = Σ_{C∖S} B_C        P(C | e) ∝ B_C · P(S | e) / μ_C[S]

Messages go to the roots (`log_probability`), then back (`marginals`). Hard findings cut their axes out of the cliques.
When a finding changes, only messages it can reach are computed again, and only marginals that are d-connected to it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from .. import kernels
from ..arrays import Codes, Floats, Ints
from ..budget import memory_budget, refuse_over
from ..errors import BadValue, ImpossibleEvidence, MemoryBudgetError, answered, check_policy
from ..statistics.counts import starts_of
from .elimination import Term, at, case_posteriors, eliminate, map_states
from .findings import findings, unknown
from .numbers import Likelihoods, Numbers, hard_states, impossible, one_hot, packed, vectors_of
from .sampling import RandomState, at_least, seeds

_NO_FINDING = np.empty(0)
Evidence = Mapping[str, Any]


class Marginals(Sequence[Floats]):
    """The marginals of all nodes end to end in `flat`; item v is that of node v.

    >>> Marginals(np.array([0.2, 0.8, 1.0]), [0, 2, 3])[0].tolist()
    [0.2, 0.8]
    """

    __slots__ = ("_offsets", "flat")

    def __init__(self, flat: Floats, offsets: list[int]) -> None:
        self.flat, self._offsets = flat, offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, v: int) -> Floats: ...
    @overload
    def __getitem__(self, v: slice) -> list[Floats]: ...
    def __getitem__(self, v: int | slice) -> Floats | list[Floats]:
        if isinstance(v, slice):
            return [self[i] for i in range(*v.indices(len(self)))]
        v = range(len(self))[v]
        return self.flat[self._offsets[v] : self._offsets[v + 1]]

    def __iter__(self) -> Iterator[Floats]:
        return (self.flat[a:b] for a, b in pairwise(self._offsets))


class JunctionTree:
    """Exact inference over a compiled tree; a tree whose tables would exceed `max_memory` bytes is refused.

    Nodes `held` in a state are cut out before the tree is made, which may make a small one of a large one; the evidence
    then keeps them there.

    >>> from posteriori.network.numbers import Numbers
    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> tree = JunctionTree(rain)
    >>> tree.set_evidence({1: [0, 1]})
    >>> [m.round(4).tolist() for m in tree.marginals()]
    [[0.3636, 0.6364], [0.0, 1.0]]
    >>> round(np.exp(tree.log_probability()), 4)
    np.float64(0.22)
    """

    def __init__(self, model: Numbers, max_memory: float | None = None, held: Mapping[int, int] | None = None) -> None:
        self.model = model
        self.max_memory = max_memory
        self._held = dict(held or {})
        inner = _cut(model, self._held) if self._held else model
        self._plan = kernels.JunctionPlan(inner.sizes, inner.parents, memory_budget(max_memory))
        self.refuse_over(max_memory)
        self._plan.fill(np.concatenate(inner.tables), starts_of(len(t) for t in inner.tables))
        self._state = kernels.JunctionState(self._plan)
        self._inner = starts_of(inner.sizes).tolist()
        self._width = self._inner[-1]
        self._offsets = starts_of(model.sizes).tolist()
        self._findings: dict[int, Floats] = {}
        self._lock = threading.RLock()  # the state is changed by questions, and the kernels let other threads run

    def refill(self, model: Numbers) -> None:
        """Other tables of the same graph, in the same tree."""
        with self._lock:
            self.model = model
            self._plan.fill(np.concatenate(model.tables), starts_of(len(t) for t in model.tables))
            self._state.reset()

    def expected(self, cases: Codes, weights: Floats, offsets: Ints, threads: int) -> tuple[Floats, Floats]:
        """Σ_r w_r P(x_family | case r) of the families that a case does not state whole, and log P(case r)."""
        return kernels.junction_expected(self._plan, cases, weights, offsets, self._fitting(threads))

    def _fitting(self, threads: int) -> int:
        """As many threads, each with a tree of its own, as the memory has room for."""
        return max(1, int(min(threads, memory_budget(self.max_memory) / self._plan.bytes)))

    def refuse_over(self, max_memory: float | None) -> None:
        """Refuse a tree that needs more: how much, which clique, what to do instead."""
        cells, nodes = self._plan.largest_cells, self.model.called(self._plan.largest)
        refuse_over(
            max_memory,
            self._plan.bytes,
            f"the junction tree, whose largest clique has {cells:.4g} cells over nodes {nodes},",
            "ask by sampling instead (likelihood weighting or Gibbs), give more evidence and ask one node at a time",
        )

    @property
    def bytes(self) -> float:
        """What the tables of the tree take."""
        return float(self._plan.bytes)

    @property
    def cliques(self) -> list[list[int]]:
        """The nodes of every clique, parents before children."""
        cliques: list[list[int]] = self._plan.cliques()
        return cliques

    def set_evidence(self, likelihoods: Likelihoods) -> None:
        """Replace the evidence: {node: likelihood vector}. What stays the same is not computed again."""
        vectors = vectors_of(likelihoods)
        with self._lock:
            self._findings = vectors
            self._put(vectors)

    def change(self, node: int, likelihood: ArrayLike | None) -> None:
        """Replace the finding on one node (None takes it out) and keep the others."""
        vector = _NO_FINDING if likelihood is None else np.ascontiguousarray(likelihood, dtype=np.float64)
        with self._lock:
            findings = self._findings.copy()  # others may hold the old ones
            if likelihood is None:
                findings.pop(node, None)
            else:
                findings[node] = vector
            self._findings = findings
            self._state.change(node, vector)

    @property
    def evidence(self) -> dict[int, Floats]:
        """The likelihood vectors that are set."""
        return dict(self._findings)

    @contextlib.contextmanager
    def asked(self, likelihoods: Likelihoods) -> Iterator[None]:
        """Other evidence for the length of a `with` block; what was set before comes back after it."""
        with self._lock:
            before = self._findings
            try:
                self.set_evidence(likelihoods)
                yield
            finally:
                self.set_evidence(before)

    def reset(self) -> None:
        """Forget all messages (not the evidence): the next question is a full propagation."""
        with self._lock:
            self._state.reset()

    def marginals(self) -> Marginals:
        """P(x_v | e) of every node."""
        return Marginals(self.flat_marginals(), self._offsets)

    def flat_marginals(self) -> Floats:
        """P(x_v | e) of every node, end to end."""
        out = np.empty(self._width)
        with self._lock:
            if not self._state.marginals(out):
                raise self._impossible(self._findings)
        if not self._held:
            return out
        parts = [out[a:b] for a, b in pairwise(self._inner)]
        for v, state in self._held.items():
            parts[v] = one_hot(self.model.sizes[v], state)
        return np.concatenate(parts)

    def log_probability(self) -> float:
        """log P(e), −inf for impossible evidence."""
        with self._lock:
            self._state.collect()
            return float(self._state.log_probability)

    def joint(self, nodes: Sequence[int]) -> Floats:
        """P(x_nodes | e), flat, the axes in the order given; nodes of different cliques go by variable elimination."""
        nodes = [int(v) for v in nodes]
        if len(set(nodes)) < len(nodes):
            raise BadValue(f"nodes {nodes} name a node twice")
        if not self._held and any(set(nodes) <= set(clique) for clique in self.cliques) and nodes:
            out = np.empty(int(np.prod([self.model.sizes[v] for v in nodes])))
            with self._lock:
                if not self._state.joint(nodes, out):
                    raise self._impossible(self._findings)
            return out
        return eliminate(self.model, nodes, self._findings, self.max_memory)[0]

    def most_probable(self) -> tuple[Codes, float]:
        """argmax_x P(x, e), a state for every node, and log max_x P(x, e)."""
        states = np.empty(len(self.model), np.int32)
        with self._lock:
            value = float(self._state.most_probable(states))
            if value == -np.inf:
                raise self._impossible(self._findings)
        states[list(self._held)] = list(self._held.values())
        return states, value

    def most_probable_of(self, nodes: Sequence[int]) -> tuple[list[int], float]:
        """argmax over x_nodes of P(x_nodes, e), the others summed out (MAP of a subset), and log of that maximum."""
        return map_states(self.model, nodes, self._findings, self.max_memory)

    def batch(
        self, cases: Codes, targets: Sequence[int], n_jobs: int | None = None, impossible: str = "raise"
    ) -> list[Floats]:
        """P(x_t | case) for each target t: an array (n, r_t) each. Cases are codes (n, d), −1 where missing.

        A target that a case states has that state with probability 1. An impossible case is refused, or gets the prior.
        """
        cases = np.ascontiguousarray(cases, dtype=np.int32)
        sizes = np.asarray(self.model.sizes, np.int32)
        if cases.ndim != 2 or cases.shape[1] != len(sizes):
            raise BadValue(f"cases have shape {cases.shape}; expected (n, {len(sizes)}), a column a node")
        bad = (cases < -1) | (cases >= sizes)
        if bad.any():
            row, v = np.argwhere(bad)[0]
            raise BadValue(f"case {row} has code {cases[row, v]} for node {v}, which has states 0 … {sizes[v] - 1}")
        chosen = [int(t) for t in targets]
        ends = starts_of(int(sizes[t]) for t in chosen)
        threads = kernels.n_threads(n_jobs, max(2, len(cases)) * 200_000)
        out, possible = kernels.junction_batch(self._plan, cases, chosen, self._fitting(threads))
        if not possible.all() and answered(~possible, impossible):
            nothing = np.full((1, len(sizes)), -1, np.int32)
            out[~possible] = kernels.junction_batch(self._plan, nothing, chosen, self._fitting(1))[0]
        elif not possible.all():
            row = int(np.flatnonzero(~possible)[0])
            found = {v: np.eye(sizes[v])[code] for v, code in enumerate(cases[row]) if code >= 0}
            error = self._impossible(found)
            error.row = row
            raise error
        return [np.ascontiguousarray(out[:, a:b]) for a, b in pairwise(ends)]

    def sample(self, n: int, random_state: RandomState = None, n_jobs: int | None = None) -> Codes:
        """n independent draws of P(x | e), codes (n, d): each clique from its belief, given the separator drawn before."""
        n = at_least("n", n, 0)
        out = np.empty((n, len(self.model)), np.int32)
        stream = seeds(random_state, -(-n // kernels.CHUNK))
        threads = kernels.n_threads(n_jobs, n * len(self.model) * 20)
        with self._lock:
            if not self._state.sample(stream, kernels.CHUNK, threads, out):
                raise self._impossible(self._findings)
        out[:, list(self._held)] = list(self._held.values())
        return out

    def _put(self, vectors: Mapping[int, Floats]) -> None:
        if self._held:  # each with the one state that is left of it
            left = {v: vectors[v][[state]] if v in vectors else np.ones(1) for v, state in self._held.items()}
            vectors = {**vectors, **left}
        self._state.set(self._plan, *packed(vectors))

    def _possible(self, vectors: Mapping[int, Floats]) -> bool:
        self._put(vectors)
        return bool(self._state.collect())

    def _impossible(self, vectors: Mapping[int, Floats]) -> ImpossibleEvidence:
        with self._lock:
            error = impossible(vectors, self._possible)
            self._put(self._findings)
        return error

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "max_memory": self.max_memory, "held": self._held, "findings": self._findings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["model"], state["max_memory"], state["held"])  # type: ignore[misc]
        self.set_evidence(state["findings"])


def _cut(model: Numbers, held: Mapping[int, int]) -> Numbers:
    """The network with the held nodes in one state each, out of their children's tables."""
    parents, tables = [], []
    for v, mine in enumerate(model.parents):
        term = at(model, Term((*mine, v), model.tables[v]), {u: held[u] for u in (*mine, v) if u in held})
        parents.append(tuple(u for u in mine if u not in held))
        tables.append(term.table)
    sizes = tuple(1 if v in held else size for v, size in enumerate(model.sizes))
    return Numbers(sizes, tuple(parents), tuple(tables), model.names)


CASES = 2048  # at a time: Ctrl-C comes in between


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

    def batch(
        self,
        codes: Codes,
        targets: Sequence[int],
        n_jobs: int | None,
        max_memory: float | None,
        impossible: str = "raise",
    ) -> list[Floats]:
        """P(x_t | case) of each target for each row of codes."""
        check_policy(impossible)
        try:
            with self._lock:
                try:
                    return self._whole(max_memory).batch(codes, targets, n_jobs, impossible)
                except MemoryBudgetError:
                    return [case_posteriors(self._numbers, codes, t, max_memory, impossible) for t in targets]
        except ImpossibleEvidence as error:
            case = codes[error.row or 0]
            found = {n: self._states[n][c] for n, c in zip(self._numbers.names, case, strict=True) if c >= 0}
            raise self._conflict(error, found, f"row {error.row} of the cases") from None

    def log_probabilities(self, codes: Codes, n_jobs: int | None, max_memory: float | None) -> Floats:
        """ln P(what the case states) of each row of codes, −∞ where it is impossible; of whole rows no tree is needed."""
        whole, out = (codes >= 0).all(axis=1), np.zeros(len(codes))
        out[whole] = self._numbers.log_joint(codes[whole])
        if not whole.all():
            cases, back = np.unique(codes[~whole], axis=0, return_inverse=True)
            offsets = starts_of(map(len, self._numbers.tables))
            threads = kernels.n_threads(n_jobs, len(cases) * 200_000)
            with self._lock:
                tree = self._whole(max_memory)
                parts = [cases[k : k + CASES] for k in range(0, len(cases), CASES)]
                found = [tree.expected(part, np.zeros(len(part)), offsets, threads)[1] for part in parts]
            out[~whole] = np.concatenate(found)[back.ravel()]
        return out

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
