"""Structures of categorical columns found in rows: by score (greedy, by an order, exactly), as a tree, or by tests."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array, Floats
from ..budget import refuse_over
from ..errors import BadParameter, InvalidNetwork, TableError, UnknownColumn, did_you_mean, listed
from ..estimator import generator
from ..table.encode import code_columns
from ..table.frame import open_frame
from ..table.labels import narrowest
from ..table.weights import check_weights
from .climb import Step, by_order, check_steps, climb, climb_each, exact
from .dag import Dag
from .graph import PartialDag, find, find_all
from .independence import Arrowheads, Independence, neighbours, pc
from .rules import Arrow, Progress, Rules, Watch, watched
from .scores import Scored
from .structures import tree

METHODS = ("hill-climb", "exact", "chow-liu", "k2", "pc", "mmhc")
MOST_VALUES, MANY = 1 << 12, 20  # states of a column: more are refused; of more fractions a warning tells
MOST_SAID = 10  # relations that a warning names
ROUNDING = 1e-9  # of a likelihood, a row
PAIR = dict(
    zip(METHODS, (600, 50, 150, 50, 200, 600))
)  # bytes for each pair of columns: scores, tests and sets that part
GRACE = 0.5  # seconds that a climb has among the pairs found before Ctrl-C


@dataclass(frozen=True)
class Learned:
    """A structure that was found, its score in nats (larger is better), and the way to it.

    `finished` is False where time or Ctrl-C ended the search.

    Of "pc" also the partially directed graph that the tests tell, which `dag` extends, and `conflicts`: what the tests said
    that no graph can have, in words. Where there are some, `cpdag` is that of `dag`. Of an unfinished "pc" pairs that were
    found independent, or that no test has met, are not joined; the others have only the directions that they were told to
    have, in `dag` one by their place, and the score is nan.
    """

    dag: Dag
    score: float
    steps: tuple[Step, ...] = ()
    finished: bool = True
    cpdag: PartialDag | None = None
    conflicts: tuple[str, ...] = ()

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """The arrows (parent, child)."""
        return self.dag.edges


def learn_structure(
    data: Any,
    score: str = "bic",
    method: str = "hill-climb",
    *,
    start: Dag | str | Sequence[Dag | str | None] | None = None,
    required: Iterable[tuple[str, str]] = (),
    forbidden: Iterable[tuple[str, str]] = (),
    tiers: Sequence[Iterable[str]] | None = None,
    parent_of_all: str | None = None,
    max_parents: int | None = None,
    order: Sequence[str] | None = None,
    tabu: int = 0,
    restarts: int = 0,
    random_state: int | None = None,
    test: str = "g2",
    alpha: float = 0.05,
    ess: float = 1.0,
    sample_weight: Any = None,
    time_limit: float | None = None,
    progress: Progress = False,
    max_memory: float | None = None,
    n_jobs: int | None = None,
) -> Learned:
    """The structure of categorical columns that a search by `score` finds.

    Parameters
    ----------
    data : table, its columns the nodes; a missing cell is one more value of a parent, and leaves the row out of the family
        in which it is the child
    score : "bic" ("mdl"), "aic", "loglik", "bdeu" (with `ess`, 1e-100 to 1e100), "k2" or "fnml"; in nats, larger is better
    method : "hill-climb"; "exact", the best there is, for 20 columns in seconds (if ended early, what a climb finds);
        "k2", along an `order` of the nodes; "chow-liu", the tree of greatest mutual information; "pc", by tests of
        independence; "mmhc", a climb among the pairs that tests leave
    start : where the climb begins: a `Dag`, "chow-liu", or None for no arrow but the required ones; or a list of them, of
        which the best climb is taken
    required, forbidden : arrows (parent, child) that are kept, or never made
    tiers : lists of nodes, the earliest first: no arrow leads from a later list into an earlier one
    parent_of_all : a node, such as the class, that has an arrow to every other
    max_parents : most parents of a node
    tabu : how many steps without gain the climb may take, none of them to one of as many graphs seen last
    restarts : how many times the climb begins anew, some random steps away from the best
    test, alpha : of "pc" and "mmhc": "g2" with the level of the test, or "mi" with the nats of information that are none.
        Columns that are functions of others are named by a warning: tests cannot place them
    time_limit : seconds; then, or on Ctrl-C, the best so far is returned with `finished` False
    progress : True for a line in the terminal, or a function that is given each line
    max_memory : bytes that the search may take, half of the machine's unless told; what would take more is refused before

    >>> rain = [0, 0, 0, 0, 1, 1, 1, 1] * 8
    >>> found = learn_structure({"rain": rain, "wet": rain, "coin": [0, 1] * 32})
    >>> found.edges, found.steps[0].move
    ((('rain', 'wet'),), 'add')
    """
    if not isinstance(method, str) or method not in METHODS:
        hint = did_you_mean(method, METHODS) or "."
        raise BadParameter(f"method is one of {listed(METHODS)}{hint} Got {method!r} instead.")
    steps_of = check_steps(tabu, restarts)
    graph: Arrowheads | None = None
    worth: float | None = None
    steps: Sequence[Step] = ()
    whole = True
    with watched(progress, time_limit) as watch:
        names, scored = coded(data, score, ess, sample_weight, n_jobs, max_memory=max_memory)
        refuse_over(max_memory, PAIR[method] * scored.d**2 + scored.bytes, *_said(scored.codes.shape[1], scored.d))
        rules = Rules.of(names, required, forbidden, tiers, parent_of_all, max_parents)
        judge = Independence(scored, test, alpha)
        if method in ("pc", "mmhc"):
            _name_functions(names, scored, watch)
        if method == "chow-liu":
            arrows = rules.start(_chow_liu(scored, watch), False)
        elif method == "k2":
            arrows, steps = by_order(scored, rules, _order(rules, order), watch)
        elif method == "exact":
            arrows = _exactly(scored, rules, watch, max_memory)
        elif method == "pc":
            arrows, graph = pc(judge, rules, watch)
        else:
            seed, rest = int(generator(random_state).integers(1 << 62)), watch
            if method == "mmhc":
                first = watch.part(2)
                rules = replace(rules, forbidden=rules.forbidden | ~neighbours(judge, rules, first))
                whole = first.finished
                if not first.finished and first.left():  # by Ctrl-C
                    rest = Watch(watch.show, min(watch.left(), GRACE))
            starts = start if isinstance(start, list) and start else [start]
            begun = [rules.start(*_start(rules, scored, one, rest)) for one in starts]
            arrows, steps, worth = climb_each(scored, rules, begun, rest, *steps_of, seed)
            whole &= rest.finished
    dag = Dag(names, rules.named(arrows))
    if worth is None:  # pairs that tests have not parted yet would be families without end
        worth = scored.whole(dag.numbered_parents) if graph is None or watch.finished else math.nan
    found = Learned(dag, worth, tuple(steps), watch.finished and whole)
    if graph is None:
        return found
    cpdag = dag.equivalence_class() if graph.conflicts and watch.finished else graph.named()
    return replace(found, cpdag=cpdag, conflicts=tuple(graph.conflicts))


def score_structure(
    dag: Dag,
    data: Any,
    score: str = "bic",
    *,
    ess: float = 1.0,
    sample_weight: Any = None,
    max_memory: float | None = None,
    n_jobs: int | None = None,
) -> float:
    """The score of a given structure on these rows, in nats: larger is better. It is what `learn_structure` makes great.

        LL(B|D) − f·|B|,  LL = Σ N ln N[π, x]/N[π],  f = 0 ("loglik"), 1 ("aic"), ½ ln m ("bic", "mdl")

    or the logarithm of a posterior ("bdeu" with `ess`, "k2") or of a normalised likelihood ("fnml"). Textbooks' s(B|D), to
    be small, is minus this. Columns that are no nodes are left out; a column has the values that occur, and a missing cell
    is one more value of a parent, and leaves the row out of the family in which it is the child.

    >>> four = {"rain": [0, 0, 0, 1], "wet": [0, 1, 1, 1]}
    >>> [round(score_structure(Dag(four, arrows), four, "mdl"), 2) for arrows in ([], [("rain", "wet")])]
    [-5.88, -6.24]
    """
    if not isinstance(dag, Dag):
        raise BadParameter(f"dag is a Dag (of a network, `net.dag`). Got {dag!r:.200} instead.")
    frame = open_frame(data)
    place = {str(frame.name(j)): j for j in range(frame.d)}
    missing = [node for node in dag.nodes if node not in place]
    if missing:
        near = did_you_mean(missing[0], place) or "."
        raise UnknownColumn(f"no column for {listed(missing)}{near} columns: {listed(place)}")
    columns = {node: frame.column(place[node]) for node in dag.nodes}
    _, scored = coded(columns, score, ess, sample_weight, n_jobs, max_memory=max_memory)
    return scored.whole(dag.numbered_parents)


def _name_functions(names: Sequence[str], scored: Scored, watch: Watch) -> None:
    """Warn of columns that are functions of others: to a test that is given those they depend on nothing."""
    plain, d, least = scored.by_likelihood, scored.d, -ROUNDING * scored.m
    told = np.zeros((d, d), dtype=bool)  # [u, v]: v is a function of u
    with watch.until_interrupted():
        for v in range(d):
            if watch.over():
                return
            others = [u for u in range(d) if u != v]
            alone, *given = plain.toggles(v, [], others)
            told[others, v] = (np.array(given) >= least) & (alone < least)
    same = {frozenset([v, *np.flatnonzero(told[v] & told[:, v]).tolist()]) for v in range(d)}
    said = [
        f"{listed([names[v] for v in sorted(some)])} say the same" for some in sorted(same, key=min) if len(some) > 1
    ]
    above = [(v, np.flatnonzero(told[:, v] & ~told[v]).tolist()) for v in range(d)]
    said += [f"{names[v]!r} is a function of {listed([names[u] for u in some])}" for v, some in above if some]
    if said:
        warnings.warn(
            f"{'; '.join(said[:MOST_SAID])}{'; …' * (len(said) > MOST_SAID)}: given one column, what follows from it "
            "depends on nothing more, so that tests miss its arrows; leave such columns out, or search by score",
            stacklevel=3,
        )


def _exactly(scored: Scored, rules: Rules, watch: Watch, max_memory: float | None) -> list[Arrow]:
    """The optimum; where Ctrl-C or the time limit comes first, what a climb, which goes before, has found."""
    first = Watch(None, watch.left())
    climbed = climb(scored, rules, rules.start((), True), first)[0]
    found: list[Arrow] | None = None
    if first.finished:
        with watch.until_interrupted():
            found = exact(scored, rules, watch.left(), max_memory)
    watch.finished &= found is not None
    return climbed if found is None else found


def _start(rules: Rules, scored: Scored, start: Any, watch: Watch) -> tuple[list[Arrow], bool]:
    """Arrows, and whether they are to hold as they are."""
    if start is None:
        return [], True
    if isinstance(start, Dag):
        index = {name: j for j, name in enumerate(rules.names)}
        return [(find(index, a), find(index, b)) for a, b in start.edges], True
    if not (isinstance(start, str) and start == "chow-liu"):
        raise BadParameter(f"start is a Dag, 'chow-liu' or None. Got {start!r} instead.")
    return _chow_liu(scored, watch), False


def _order(rules: Rules, order: Any) -> list[int]:
    index = {name: j for j, name in enumerate(rules.names)}
    found = find_all(index, () if order is None else order)
    if sorted(found) != list(range(len(index))):
        raise BadParameter(f"method 'k2' needs order, every node once: {listed(index)}. Got {order!r} instead.")
    place = {v: i for i, v in enumerate(found)}
    for u, v in np.argwhere(rules.required).tolist():
        if place[u] > place[v]:
            a, b = rules.names[u], rules.names[v]
            raise InvalidNetwork(f"the arrow {a} → {b} is required, but order puts {b} first")
    return found


def _chow_liu(scored: Scored, watch: Watch) -> list[Arrow]:
    """The tree of greatest Σ I(X_u; X_v), directed away from its first node; ended early, a forest of the pairs met."""
    d, plain = scored.d, scored.by_likelihood
    weight, met = np.zeros((d, d)), np.zeros(d)
    with watch.until_interrupted():
        for v in range(d):
            if watch.over():
                break
            others = [u for u in range(d) if u != v]
            found = plain.toggles(v, [], others)
            weight[others, v], met[v] = found[1:] - found[0], 1.0
    asked = met + met[:, None]
    weight = np.round((weight + weight.T) / (np.maximum(asked, 1.0) * scored.m), 10)
    parents = tree(np.where(asked > 0, weight, -np.inf), list(range(d))).parents
    return [(u, v) for v, some in enumerate(parents) for u in some]


def _fractions(values: Sequence[Any]) -> bool:
    """Whether these values of a column are numbers, some of them not whole."""
    return any(isinstance(v, float) and v % 1 != 0 for v in values)


def coded(
    data: Any,
    score: str,
    ess: float,
    sample_weight: Any,
    n_jobs: int | None,
    merge: bool = True,
    max_memory: float | None = None,
) -> tuple[list[str], Scored]:
    """The names of the columns and their codes; equal rows are merged where there can only be few."""
    frame = open_frame(data)
    names = [str(frame.name(j)) for j in range(frame.d)]
    if frame.d == 0 or frame.n == 0:
        raise TableError(f"a structure is learned from rows and columns; got {frame.n} rows of {frame.d} columns")
    refuse_over(
        max_memory, 2.0 * frame.n * frame.d, *_said(frame.n, frame.d)
    )  # a byte a cell, by column and as a whole
    table = code_columns(frame, range(frame.d), n_jobs)
    found = [(table.column(j), len(values)) for j, values in enumerate(table.values)]
    if frame.matrix is not None:  # coded as a whole, by the range of all its numbers
        found = [_observed(*column) for column in found]
    columns, sizes = zip(*found)
    for name, size in zip(names, sizes):
        if size == 0:
            raise TableError(f"every cell of {name!r} is missing: leave the column out")
        if size > MOST_VALUES:
            raise TableError(f"column {name!r} has {size} values: cut numbers into bins, and leave names and ids out")
    many = [name for name, size, values in zip(names, sizes, table.values) if size > MANY and _fractions(values)]
    if many:
        warnings.warn(
            f"each of the many fractions in {listed(many)} is a state of its own, which hides what depends on them: cut "
            "them into intervals, or see HybridNet and BayesNetClassifier(continuous='gaussian')",
            stacklevel=3,
        )
    kind = narrowest(max(sizes) + 1)
    codes = np.stack([column.astype(kind, copy=False) for column in columns])
    weights = None if sample_weight is None else check_weights(sample_weight, frame.n)
    if merge:
        codes, weights = _merged(codes, sizes, weights)
    return names, Scored(codes, sizes, score, ess, weights, n_jobs)


def _said(n: int, d: int) -> tuple[str, str]:
    return f"learning a structure of {d:,} columns from {n:,} rows", "give fewer columns or rows"


def _observed(column: Array, size: int) -> tuple[Array, int]:
    """The codes of the values that occur, and their number; a missing cell has that number as its code."""
    used = np.bincount(column, minlength=size + 1)[:size] > 0
    if used.all():
        return column, size
    place = np.append(np.cumsum(used) - 1, used.sum())
    return place[column], int(used.sum())


def _merged(codes: Array, sizes: Sequence[int], weights: Floats | None) -> tuple[Array, Floats | None]:
    """Equal rows as one with a weight, where there can be at most half as many different ones as rows."""
    most = 1
    for size in sizes:
        most *= size + 1
        if most > codes.shape[1] // 2:
            return codes, weights
    shape = [size + 1 for size in sizes]
    cells = np.zeros(codes.shape[1], dtype=np.intp)
    for column, size in zip(codes, shape):
        cells *= size
        cells += column
    counts = np.bincount(cells, weights, minlength=most)
    seen = np.flatnonzero(counts)
    return np.stack(np.unravel_index(seen, shape)).astype(codes.dtype), counts[seen].astype(np.float64)
