"""A structure from rows with missing cells or hidden nodes: EM inside the search (Friedman, 1997).

Symbols: B a structure, θ its tables, m the sum of the weights, |B| its parameters, f the price of one.

    tables      θ by EM under B
    rows        every row completed in all ways, each weighed by P(missing | known, θ); of a row with too many ways, draws
    structure   B' = the climb from B by the score of these weighted rows, which is the expected score

    s(B) = Σ_rows ln P(what the row states | θ) − f·|B|

A B' of greater expected score has a greater s; the climb ends where s does not rise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, xlogy

from ..arrays import Codes, Floats
from ..budget import refuse_over
from ..errors import BadParameter, did_you_mean, listed
from ..structure.dag import Dag
from ..structure.rules import Watch, watched
from ..structure.scores import price_of
from ..structure.search import Learned, learn_structure
from ..table.labels import narrowest
from .bayesnet import BayesNet
from .hidden import Incomplete, climb, first_tables, read_incomplete
from .junction import JunctionTree
from .learn import Smoothing, listed_states
from .numbers import Numbers, one_hot
from .sampling import RandomState, at_least, seeds
from .tables import States, as_states

PENALISED = ("bic", "mdl", "aic", "loglik")
MOST_WAYS = 256  # ways to complete a row that are all looked at
BLOCK = 1 << 18  # completed rows at a time


@dataclass(frozen=True)
class StructuralEM:
    """The network that was found, s(B) after every turn, and whether the last turn found nothing better.

    `finished` is False where time or Ctrl-C ended it; s(B) is nan where that came before the first turn of EM was over.
    """

    net: BayesNet = field(repr=False)
    trace: tuple[float, ...]
    converged: bool
    finished: bool = True

    @property
    def dag(self) -> Dag:
        """The structure."""
        return self.net.dag

    @property
    def score(self) -> float:
        """s(B) in nats, larger is better."""
        return self.trace[-1]


def structural_em(
    data: Any,
    score: str = "bic",
    *,
    start: Dag | None = None,
    hidden: Mapping[str, Any] | None = None,
    required: Iterable[tuple[str, str]] = (),
    forbidden: Iterable[tuple[str, str]] = (),
    tiers: Sequence[Iterable[str]] | None = None,
    max_parents: int | None = None,
    smoothing: float = 1.0,
    states: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    draws: int = 20,
    max_iter: int = 20,
    random_state: RandomState = None,
    progress: Callable[[int, float], Any] | None = None,
    time_limit: float | None = None,
    max_memory: float | None = None,
    n_jobs: int | None = None,
) -> StructuralEM:
    """Structure and tables of an incomplete table: EM for the tables, a search among structures, by turns.

    Parameters
    ----------
    data : table, its columns the nodes
    score : "bic" ("mdl"), "aic" or "loglik"; larger is better
    start : where to begin; None is what `learn_structure` finds where a missing cell is a value of its own
    hidden : {node: number of its states}, nodes without a column; `start` says what they are joined to at first
    required, forbidden, tiers, max_parents : as in `learn_structure`
    smoothing, states, sample_weight : as in `BayesNet.fit_em`
    draws : how often a row that can be completed in more than 256 ways is drawn, instead of in all ways
    max_iter : most turns
    progress : called with the turn and the score
    time_limit : seconds; then, or on Ctrl-C, the best so far is returned with `finished` False
    max_memory : bytes that it may take, half of the machine's unless told; what would take more is refused before

    >>> rng = np.random.default_rng(0)
    >>> a = rng.integers(0, 2, 400); b = np.where(rng.random(400) < 0.9, a, 1 - a).astype(object)
    >>> b[rng.random(400) < 0.3] = None
    >>> found = structural_em({"a": a, "b": b})
    >>> len(found.dag.edges), found.converged
    (1, True)
    """
    if not isinstance(score, str) or score not in PENALISED:
        hint = did_you_mean(score, PENALISED) or "."
        raise BadParameter(
            f"score is a likelihood less a price: one of {listed(PENALISED)}{hint} Got {score!r} instead."
        )
    for name, value, fits, what in (
        ("start", start, isinstance(start, Dag), "a Dag"),
        ("hidden", hidden, isinstance(hidden, Mapping), "a mapping of hidden nodes to their states"),
        ("progress", progress, callable(progress), "a function of the step and its score"),
    ):
        if value is not None and not fits:
            raise BadParameter(f"{name} is {what}, or None. Got {value!r} instead.")
    draws, max_iter = at_least("draws", draws, 1), at_least("max_iter", max_iter, 1)
    rules: dict[str, Any] = {"required": required, "forbidden": forbidden, "tiers": tiers, "max_parents": max_parents}
    if start is None and hidden:
        raise BadParameter(
            "a hidden node is joined to none at first: start is a Dag that says to which. Got None instead."
        )
    with watched(False, time_limit) as watch:

        def learned(columns: Any, share: float, begin: Dag | None, weights: Any) -> Learned:
            limit = None if time_limit is None else watch.left() * share
            found = learn_structure(
                columns,
                score,
                start=begin,
                sample_weight=weights,
                time_limit=limit,
                max_memory=max_memory,
                n_jobs=n_jobs,
                **rules,
            )
            late = limit is not None and watch.left() <= limit  # of its share; else Ctrl-C has ended it
            watch.finished &= found.finished or late
            return found

        whole = True
        if start is None:
            first = learned(data, 0.5, None, sample_weight)
            start, whole = first.dag, first.finished
        how = Smoothing(smoothing)
        closed = {**{n: s for n, s in listed_states(data).items() if n in start.index}, **as_states(states)}
        table = read_incomplete(start, data, hidden or {}, closed, sample_weight, n_jobs)
        rows, d = table[1].shape
        refuse_over(max_memory, 16.0 * rows * d, f"{rows:,} rows of {d:,} nodes", "give fewer rows")
        with_tables = partial(
            _tables,
            table=table,
            hidden=hidden or {},
            how=how,
            score=score,
            random_state=random_state,
            n_jobs=n_jobs,
            max_memory=max_memory,
            watch=watch,
        )
        found = with_tables(start)
        trace, converged = [found.score], False
        stream = seeds(random_state, max_iter).tolist()
        with watch.until_interrupted():
            while not converged and len(trace) < max_iter and not watch.over():
                if progress is not None:
                    progress(len(trace), trace[-1])
                turn = int(stream[len(trace)])
                cases, weights = completed(found.numbers, *table[1:], draws, turn, max_memory, watch)
                dag = learned(dict(zip(start.nodes, cases.T, strict=True)), 1.0, found.dag, weights).dag
                if watch.over():  # what is not whole is no turn
                    break
                other = found if dag == found.dag else with_tables(dag)
                converged = other.score <= found.score and not watch.over()
                if other.score > found.score:
                    found = other
                    trace.append(found.score)
    return StructuralEM(BayesNet(found.dag, found.tables, table[0]), tuple(trace), converged, watch.finished and whole)


class _Found(NamedTuple):
    """A structure with its tables, s(B), and both as numbers."""

    dag: Dag
    tables: dict[str, Floats]
    score: float
    numbers: Numbers


def _tables(
    dag: Dag,
    table: tuple[States, Codes, Floats | None],
    hidden: Mapping[str, Any],
    how: Smoothing,
    score: str,
    random_state: RandomState,
    n_jobs: int | None,
    max_memory: float | None,
    watch: Watch,
) -> _Found:
    """The tables that EM finds under a structure, and s(B)."""
    states, cases, weights = table
    rows = Incomplete(dag, states, cases, weights, n_jobs)
    tables, value = rows.theta(rows.fixed, how), 0.0
    if len(rows.cases):
        starts = first_tables(rows, hidden, None, random_state)
        try:
            ascent = climb(rows, how, starts, 1e-8, 200, None, max_memory, watch)
            tables, value = ascent.parameters, ascent.objective
            watch.finished &= not ascent.interrupted
        except KeyboardInterrupt:  # before a turn was over
            watch.finished = False
            tables, value = starts[0], math.nan
        for theta in tables:  # ℓ has the prior in it, s has not
            value -= float(xlogy(how.pseudo_count(theta.size), theta).sum())
    else:
        value = sum(float(xlogy(n, t).sum()) for n, t in zip(rows.complete, tables))
    price = price_of(score, float(len(cases) if weights is None else weights.sum())) or 0.0
    value -= price * sum(t.size - len(t) for t in tables)
    return _Found(dag, dict(zip(dag.nodes, tables, strict=True)), value, rows.numbers(tables))


def completed(
    model: Numbers,
    cases: Codes,
    weights: Floats | None,
    draws: int = 20,
    seed: int = 0,
    max_memory: float | None = None,
    watch: Watch | None = None,
) -> tuple[Codes, Floats]:
    """Rows without a missing cell whose weighted counts are the expected ones; equal rows are one.

    Where the time of `watch` is over it ends as by Ctrl-C.

    >>> coin = Numbers((2,), ((),), (np.array([0.25, 0.75]),))
    >>> [part.tolist() for part in completed(coin, np.array([[0], [-1]], np.int32), None)]
    [[[0], [1]], [1.25, 0.75]]
    """
    distinct, back = np.unique(cases, axis=0, return_inverse=True)
    mass = np.bincount(back.ravel(), weights, minlength=len(distinct)).astype(np.float64)
    patterns, of = np.unique(distinct < 0, axis=0, return_inverse=True)
    many = [math.prod(model.sizes[v] for v in np.flatnonzero(p).tolist()) for p in patterns]
    total = sum(n if n <= MOST_WAYS else draws for n in (many[k] for k in of.ravel().tolist()))
    what = f"{len(distinct):,} rows of {cases.shape[1]:,} nodes, completed in {total:,} ways"
    refuse_over(max_memory, total * (16.0 * cases.shape[1] + 48), what, "give fewer rows with missing cells")
    watch = watch or Watch(None, None)
    tree: JunctionTree | None = None
    rows, shares = [np.zeros((0, cases.shape[1]), np.int32)], [np.zeros(0)]
    for k, pattern in enumerate(patterns):
        some, open_ = np.flatnonzero(of.ravel() == k), np.flatnonzero(pattern).tolist()
        shape = [model.sizes[v] for v in open_]
        if math.prod(shape) <= MOST_WAYS:
            ways = np.indices(shape, dtype=np.int32).reshape(len(shape), math.prod(shape)).T
            for begin in range(0, len(some), BLOCK // len(ways)):
                _go_on(watch)
                part = some[begin : begin + BLOCK // len(ways)]
                full = np.repeat(distinct[part], len(ways), axis=0)
                full[:, open_] = np.tile(ways, (len(part), 1))
                logs = model.log_joint(full).reshape(len(part), -1)
                share = np.exp(logs - logsumexp(logs, axis=1, keepdims=True)) * mass[part, None]
                rows.append(full[share.ravel() > 0])
                shares.append(share[share > 0])
            continue
        tree = tree or JunctionTree(model, max_memory)
        for r in some.tolist():
            _go_on(watch)
            known = {v: one_hot(model.sizes[v], int(c)) for v, c in enumerate(distinct[r]) if c >= 0}
            tree.set_evidence(known)
            rows.append(tree.sample(draws, (seed * 1_000_003 + r) % 2**63))
            shares.append(np.full(draws, mass[r] / draws))
    return _merged(np.concatenate(rows), np.concatenate(shares), watch)


def _merged(rows: Codes, shares: Floats, watch: Watch) -> tuple[Codes, Floats]:
    """Equal rows as one, in their order; the first columns part them, so that the clock is looked at in between."""
    parts, found = [np.arange(len(rows))], [(rows[:0], shares[:0])]
    kind = np.dtype(narrowest(int(rows.max(initial=0)) + 1)).newbyteorder(">")  # bytes are ordered as the codes are
    for column in rows.T:
        if max(map(len, parts)) <= BLOCK >> 3:
            break
        parts = [part[column[part] == code] for part in parts for code in np.unique(column[part]).tolist()]
    for part in parts:
        _go_on(watch)
        keys = np.ascontiguousarray(rows[part], dtype=kind).view(np.dtype((np.void, kind.itemsize * rows.shape[1])))
        _, first, back = np.unique(keys.ravel(), return_index=True, return_inverse=True)
        found.append((rows[part[first]], np.bincount(back, shares[part], minlength=len(first)).astype(np.float64)))
    merged, mass = zip(*found)
    return np.concatenate(merged), np.concatenate(mass)


def _go_on(watch: Watch) -> None:
    if watch.over():
        raise KeyboardInterrupt
