"""A found structure judged: beside the true one, by the same search on samples drawn anew, and by rows held out of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import views
from ..arrays import Array, is_number, is_whole
from ..errors import BadParameter, InvalidNetwork, listed
from ..estimator import generator
from ..smoothing.theta import theta_of
from .dag import Dag
from .rules import Progress, watched
from .search import coded, learn_structure
from .separation import closure

Arrow = tuple[str, str]
Arrows = tuple[Arrow, ...]


@dataclass(frozen=True)
class Comparison:
    """Arrows of the found structure that are right, turned or extra, and arrows of the true one that are missing.

    `distance` is the structural Hamming distance of the equivalence classes: pairs of nodes whose edge differs, be it
    missing, extra, or of another direction (which no data could tell within a class, and which does not count there).
    """

    nodes: tuple[str, ...]
    right: Arrows
    turned: Arrows
    extra: Arrows
    missing: Arrows
    distance: int

    def plot(self) -> Any:
        """A drawing: right arrows grey, turned ones orange, extra ones blue, missing ones red and dashed."""
        return views.drawing("a comparison", self)

    def _repr_html_(self) -> str:
        return str(self.plot())


def compare_structures(found: Dag, true: Dag) -> Comparison:
    """What a found structure has of the true one, on the same nodes.

    >>> true = Dag("abc", [("a", "b"), ("b", "c")])
    >>> beside = compare_structures(Dag("abc", [("b", "a"), ("a", "c")]), true)
    >>> beside.turned, beside.extra, beside.missing, beside.distance
    ((('b', 'a'),), (('a', 'c'),), (('b', 'c'),), 2)
    """
    for graph in (found, true):
        if not isinstance(graph, Dag):
            raise InvalidNetwork(f"expected two Dags to compare. Got {type(graph).__name__} instead.")
    if set(found.nodes) != set(true.nodes):
        differ = sorted(set(found.nodes) ^ set(true.nodes))
        raise InvalidNetwork(f"the structures have different nodes: {listed(differ)}")
    ours, theirs = set(found.edges), set(true.edges)
    return Comparison(
        found.nodes,
        tuple(e for e in found.edges if e in theirs),
        tuple(e for e in found.edges if e[::-1] in theirs),
        tuple(e for e in found.edges if e not in theirs and e[::-1] not in theirs),
        tuple(e for e in true.edges if e not in ours and e[::-1] not in ours),
        _distance(found, true),
    )


def _distance(found: Dag, true: Dag) -> int:
    kinds: list[dict[frozenset[str], tuple[str, str] | None]] = []
    for graph in (found.equivalence_class(), true.equivalence_class()):
        kinds.append(
            {frozenset(e): e for e in graph.directed} | dict.fromkeys((frozenset(e) for e in graph.undirected), None)
        )
    ours, theirs = kinds
    return sum(p not in ours or p not in theirs or ours[p] != theirs[p] for p in ours.keys() | theirs.keys())


@dataclass(frozen=True)
class ArcConfidence:
    """`arrows[u, v]` is the share of the samples in which u → v was found; `n` how many samples there were."""

    nodes: tuple[str, ...]
    arrows: dict[Arrow, float]
    n: int

    def strength(self, u: str, v: str) -> float:
        """The share of the samples in which u and v are joined, either way."""
        return self.arrows.get((u, v), 0.0) + self.arrows.get((v, u), 0.0)

    def direction(self, u: str, v: str) -> float:
        """Of the samples in which they are joined, the share with u → v; ½ where none has."""
        joined = self.strength(u, v)
        return self.arrows.get((u, v), 0.0) / joined if joined else 0.5

    def averaged(self, threshold: float = 0.5) -> Dag:
        """The pairs joined in more than `threshold` of the samples, each in its more frequent direction.

        The strongest come first; an arrow that would close a cycle is turned, and left out where that closes one too. Of
        equals the first by name of the columns' order is taken.
        """
        if not is_number(threshold, 0, 1):
            raise BadParameter(f"threshold is a share from 0 to 1. Got {threshold!r} instead.")
        place = {name: j for j, name in enumerate(self.nodes)}
        pairs = {tuple(sorted(arrow, key=place.__getitem__)) for arrow in self.arrows}
        ranked = sorted(pairs, key=lambda p: (-self.strength(*p), place[p[0]], place[p[1]]))
        children: list[list[int]] = [[] for _ in self.nodes]
        chosen: list[Arrow] = []
        for u, v in ranked:
            if self.strength(u, v) <= threshold:
                break
            wanted = (u, v) if self.direction(u, v) >= 0.5 else (v, u)
            for a, b in (wanted, wanted[::-1]):
                if self.arrows.get((a, b), 0.0) > 0 and place[a] not in closure(children, [place[b]]):
                    children[place[a]].append(place[b])
                    chosen.append((a, b))
                    break
        return Dag(self.nodes, chosen)

    def table(self) -> Any:
        """A DataFrame of the pairs by falling strength: parent, child (the more frequent way), strength, direction."""
        import pandas as pd

        rows = [
            {"parent": u, "child": v, "strength": self.strength(u, v), "direction": self.direction(u, v)}
            for u, v in self.arrows
            if self.direction(u, v) > 0.5 or (self.direction(u, v) == 0.5 and self.nodes.index(u) < self.nodes.index(v))
        ]
        frame = pd.DataFrame(rows, columns=["parent", "child", "strength", "direction"])
        return frame.sort_values("strength", ascending=False, kind="stable", ignore_index=True)

    def plot(self, threshold: float = 0.5) -> Any:
        """The averaged network, an arrow as wide as it is strong."""
        return views.drawing("arc confidence", self, threshold)

    def _repr_html_(self) -> str:
        return str(self.plot())


def arc_confidence(
    data: Any,
    n: int = 200,
    *,
    random_state: int | None = None,
    time_limit: float | None = None,
    progress: Progress = False,
    **options: Any,
) -> ArcConfidence:
    """How often each arrow is found again in samples drawn from the rows with replacement.

    A sample is a weight for each row, how often it was drawn; no row is copied. `options` are those of `learn_structure`.
    Ctrl-C or the time limit end with the samples so far; a first one that time cuts short counts, with a warning.

    >>> rain = [0, 0, 0, 0, 1, 1, 1, 1] * 8
    >>> found = arc_confidence({"rain": rain, "wet": rain, "coin": [0, 1] * 32}, n=20, random_state=0)
    >>> found.strength("rain", "wet"), found.averaged().edges
    (1.0, (('rain', 'wet'),))
    """
    if not is_whole(n, 1):
        raise BadParameter(f"n is a number of samples from 1 up. Got {n!r} instead.")
    how = options.pop("sample_weight", None), options.get("n_jobs")
    names, table = coded(data, "loglik", 1.0, *how, max_memory=options.get("max_memory"))
    columns = _columns(names, table.codes, table.sizes)
    share = np.full(table.codes.shape[1], 1.0) if table.weights is None else table.weights
    rng = generator(random_state)
    found: dict[Arrow, int] = {}
    done = 0
    with watched(progress, time_limit) as watch:
        try:
            while done < n and not (done and watch.over()):
                weights = rng.multinomial(max(round(table.m), 1), share / share.sum())
                limit = None if time_limit is None else watch.left()
                one = learn_structure(columns, sample_weight=weights, time_limit=limit, **options)
                if not one.finished:  # time or Ctrl-C came while it searched: it is no whole sample
                    if done or not watch.over():
                        raise KeyboardInterrupt
                    warnings.warn(
                        f"time_limit={time_limit:g} ended the search in the first sample: its arrows are the best found "
                        "by then; give more time",
                        stacklevel=2,
                    )
                for arrow in one.edges:
                    found[arrow] = found.get(arrow, 0) + 1
                done += 1
                watch.show(f"sample {done} of {n}")
        except KeyboardInterrupt:
            if not done:
                raise
    return ArcConfidence(tuple(names), {arrow: k / done for arrow, k in sorted(found.items())}, done)


@dataclass(frozen=True)
class HeldOut:
    """Mean ln P(row) of the rows of each fold under what was learned without them, and the structures."""

    folds: tuple[float, ...]
    dags: tuple[Dag, ...]

    @property
    def mean(self) -> float:
        """The mean of the folds, in nats a row; larger is better."""
        return float(np.mean(self.folds))


def cross_validate(
    data: Any,
    structure: Dag | None = None,
    folds: int = 5,
    *,
    smoothing: float = 1.0,
    random_state: int | None = 0,
    **options: Any,
) -> HeldOut:
    """The log-likelihood of held-out rows, (1/m) Σ_rows Σ_v ln (N[π, x] + λ)/(N[π] + rλ), by counts of the other rows.

    The structure is the one given, or is learned in each fold without its rows, with the `options` of `learn_structure`.

    >>> rain = [0, 0, 0, 0, 1, 1, 1, 1] * 8
    >>> data = {"rain": rain, "wet": rain}
    >>> cross_validate(data).mean > cross_validate(data, Dag(["rain", "wet"])).mean
    True
    """
    if structure is not None and not isinstance(structure, Dag):
        raise BadParameter(f"structure is a Dag, or None to learn one. Got {structure!r} instead.")
    if structure is not None and (strange := sorted(set(options) - {"n_jobs"})):
        raise BadParameter(f"{listed(strange)}: options of a search, but the structure is given")
    if not is_number(smoothing, 0) or smoothing in (0, np.inf):
        raise BadParameter(f"smoothing is a number above 0. Got {smoothing!r} instead.")
    smoothing = float(smoothing)
    names, table = coded(
        data, "loglik", 1.0, None, options.get("n_jobs"), merge=False, max_memory=options.get("max_memory")
    )
    rows = table.codes.shape[1]
    if not is_whole(folds, 2, rows):
        raise BadParameter(f"folds is a whole number from 2 to the {rows} rows. Got {folds!r} instead.")
    if structure is not None:
        structure.ancestors(names)  # an unknown node is named
    fold = generator(random_state).permutation(np.arange(rows) % folds)
    columns = _columns(names, table.codes, table.sizes)
    found, dags = [], []
    for k in range(folds):
        train = fold != k
        part = {name: column[train] for name, column in columns.items()}
        dag = structure if structure is not None else learn_structure(part, **options).dag
        total = sum(_held_out(table.codes, table.sizes, *family, train, smoothing) for family in _families(names, dag))
        found.append(total / max(int((~train).sum()), 1))
        dags.append(dag)
    return HeldOut(tuple(found), tuple(dags))


def _columns(names: list[str], codes: Array, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Codes as columns that a search reads again, a missing cell as None."""
    return {
        name: np.where(column < size, column, None) if (column >= size).any() else column
        for name, column, size in zip(names, codes, sizes)
    }


def _families(names: list[str], dag: Dag) -> Iterator[tuple[int, list[int]]]:
    index = {name: j for j, name in enumerate(names)}
    return ((index[v], [index[p] for p in dag.parents(v)]) for v in names)


def _held_out(
    codes: Array, sizes: tuple[int, ...], child: int, parents: list[int], train: Array, smoothing: float
) -> float:
    """Σ ln θ̂ of the rows that were held out and have the child; a missing parent is one more value of it."""
    known = codes[child] < sizes[child]
    context = np.zeros(codes.shape[1], dtype=np.int64)
    for p in parents:  # numbered densely after each parent, so that nothing overflows
        context = np.unique(context * (sizes[p] + 1) + codes[p], return_inverse=True)[1]
    cells = context * sizes[child] + np.minimum(codes[child], sizes[child] - 1)
    _, cell = np.unique(cells, return_inverse=True)
    seen, held = train & known, ~train & known
    n_cell = np.bincount(cell[seen], minlength=int(cell.max(initial=0)) + 1)
    n_context = np.bincount(context[seen], minlength=int(context.max(initial=0)) + 1)
    return float(np.log(theta_of(n_cell[cell[held]], n_context[context[held]], sizes[child], smoothing)).sum())
