"""Linear-Gaussian tables: a continuous node given its parents, learned from co-moments that rows are counted into.

Symbols: x the node, c its continuous parents (k of them), d a configuration of its discrete ones (q of them);
x | c, d ~ N(α_d + β_d·c, σ²_d). n_d the rows of d, S_d their co-moments of (c, x) about their mean.

The statistics of a hybrid network have a column for each node, the discrete ones first: N of every discrete family is their
first joint, the co-moments of every continuous one in each configuration of its discrete parents the second.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array, Floats
from ..bayes.numeric import ROUNDING, no_narrower, spreads, usual_spread
from ..errors import BadValue, InvalidNetwork, TableError, UnknownColumn, did_you_mean, listed
from ..statistics.comoments import CoMoments, FamilyMoments, MixedScope, collect_family_moments, collect_mixed
from ..statistics.moments import Moments
from ..statistics.statistics import Statistics
from ..structure.dag import Dag
from ..structure.graph import find_all
from ..table.encode import numbers
from ..table.frame import Frame, Table
from ..table.schema import MEASURED, Column
from .learn import Smoothing, read_codes, rows_of, with_families
from .tables import States

FLOOR = 0.01  # of the variance of all: the least width of a configuration that has one value
LEAST = 1e-12  # of a node's variance: what rounding leaves where its parents tell it to the last digit


@dataclass(frozen=True, eq=False)
class Regression:
    """α (q,), β (q, k) and σ² (q,) of one node."""

    alpha: Floats
    beta: Floats
    variance: Floats

    def draw(self, c: Floats, d: Array, random: np.random.Generator) -> Floats:
        """One x for each row."""
        noise = random.standard_normal(len(d)) * np.sqrt(self.variance[d])
        return np.asarray(self.alpha[d] + np.einsum("rk,rk->r", self.beta[d], c) + noise)


def learned(moments: CoMoments, smoothing: float, column: Moments) -> Regression:
    """β_d = S_cc⁻¹ S_cx, α_d = x̄_d − β_d·c̄_d, σ²_d = RSS_d/n_d, and no narrower than a Gaussian column of any model is.

    Slopes are those of S_d with λ rows of the spread within all configurations. RSS_d is what they leave of S_xx, and
    σ²_d ≥ λs²/(n_d + λ), s² the spread left within the configurations; where nothing is left of a configuration, a share
    of what is left of all rows (see `bayes.numeric`), or where the rows that have the whole family are all
    alike, of the `column`, of all its rows. A configuration without rows has the line of all rows; a family without any
    has the column's mean and spread.

    >>> seen = CoMoments(np.array([3.0]), np.array([[1.0, 2.0]]), np.array([[[2.0, 4.0], [4.0, 11.0]]]))
    >>> found = learned(seen, 0.0, Moments(np.array([[3.0]]), np.array([[2.0]]), np.array([[11.0]])))
    >>> [part.round(12).tolist() for part in (found.alpha + 0.0, found.beta, found.variance)]
    [[-0.0], [[2.0]], [1.0]]
    """
    rows, (q, k) = moments.n.sum(), (len(moments.n), moments.mean.shape[1] - 1)
    usual, share, constant = usual_spread(column, FLOOR)
    if rows <= 0:
        return Regression(np.full(q, column.pooled().mean[0]), np.zeros((q, k)), np.full(q, usual))
    within, (whole_mean, whole) = moments.c.sum(axis=0), pooled(moments)
    empty = moments.n == 0
    n = np.where(empty, rows, moments.n)
    mean, c = np.where(empty[:, None], whole_mean, moments.mean), np.where(empty[:, None, None], whole, moments.c)
    c, within, whole = varying(c, mean, n), varying(within, whole_mean, rows), varying(whole, whole_mean, rows)
    beta = slopes(c + smoothing / rows * within)
    left = residual(c, beta)
    line = slopes(whole[None])[0]
    rest = moments.mean[:, -1] - moments.mean[:, :-1] @ line  # where each configuration lies beside the line of all
    spread, least, alike = usual_spread(_of_one(moments.n, moments.mean[:, -1], moments.c[:, -1, -1]), FLOOR)
    if k:
        spread, apart = spreads(_of_one(moments.n, rest, np.where(empty, 0.0, left)))
        least = FLOOR * apart
    spread, least = np.where(alike | constant, (usual, share), (spread, least))
    rounding = LEAST * whole[-1, -1] / rows
    variance = np.where(constant | (left / n <= rounding), least, left / n)
    variance = np.maximum(no_narrower(variance, moments.n, smoothing, spread), rounding)
    return Regression(mean[:, -1] - np.einsum("dk,dk->d", beta, mean[:, :-1]), beta, variance)


def pooled(moments: CoMoments) -> tuple[Floats, Floats]:
    """The mean and the co-moments of all rows together."""
    mean = moments.n @ moments.mean / moments.n.sum()
    gap = moments.mean - mean
    return mean, moments.c.sum(axis=0) + np.einsum("d,di,dj->ij", moments.n, gap, gap)


def varying(c: Floats, mean: Floats, n: Floats) -> Floats:
    """Co-moments without those of columns that are constant but for rounding, whose noise would get slopes."""
    flat = np.diagonal(c, axis1=-2, axis2=-1) <= np.asarray(n)[..., None] * (ROUNDING * mean) ** 2
    return np.where(flat[..., :, None] | flat[..., None, :], 0.0, c)


def slopes(c: Floats) -> Floats:
    """S_cc⁻¹ S_cx of each configuration; of parents that tell the same, the shortest; of one that does not vary, 0."""
    own = np.sqrt(np.diagonal(c, axis1=1, axis2=2))
    scale = np.where(own > 0, own, 1.0)
    unit = c / scale[:, :, None] / scale[:, None, :]
    found = np.einsum("dkl,dl->dk", np.linalg.pinv(unit[:, :-1, :-1], rcond=1e-12, hermitian=True), unit[:, :-1, -1])
    return np.asarray(np.where(own[:, :-1] > 0, found * scale[:, -1:] / scale[:, :-1], 0.0))


def residual(c: Floats, beta: Floats) -> Floats:
    """RSS = S_xx − 2 β·S_cx + βᵀ S_cc β, what these slopes leave."""
    told = 2 * np.einsum("dk,dk->d", beta, c[:, :-1, -1]) - np.einsum("dk,dkl,dl->d", beta, c[:, :-1, :-1], beta)
    return np.asarray(np.maximum(c[:, -1, -1] - told, 0.0))


def _of_one(n: Floats, mean: Floats, m2: Floats) -> Moments:
    return Moments(n[:, None], mean[:, None], m2[:, None])


def as_regression(node: str, given: object, q: int, k: int) -> Regression:
    """(α, β, σ²) as users give them, checked; one number stands for all configurations."""
    try:
        alpha, beta, variance = (np.asarray(part, dtype=np.float64) for part in given)  # type: ignore[attr-defined]
        alpha, variance = np.broadcast_to(alpha, (q,)), np.broadcast_to(variance, (q,))
        beta = np.broadcast_to(beta if beta.size else np.zeros((q, 0)), (q, k))
    except (TypeError, ValueError, OverflowError):
        raise InvalidNetwork(
            f"{node!r} needs (α, β, σ²) of shapes ({q},), ({q}, {k}) and ({q},): {q} configurations of its discrete "
            f"parents, {k} continuous ones"
        ) from None
    least = 0.0 if q == 1 and not k else np.nextafter(0.0, 1.0)
    if not all(np.isfinite(part).all() for part in (alpha, beta, variance)) or (variance < least).any():
        raise InvalidNetwork(
            f"the numbers of {node!r} are finite, its variances above 0 (or 0, where it has no parent)"
        )
    return Regression(alpha.copy(), beta.copy(), variance.copy())


def discrete_part(dag: Dag, continuous: Iterable[str]) -> Dag:
    gaussian = set(continuous)
    for a, b in dag.edges:
        if a in gaussian and b not in gaussian:
            raise InvalidNetwork(
                f"the discrete node {b!r} has the continuous parent {a!r}: turn the arrow, or cut {a!r} into intervals"
            )
    nodes = [n for n in dag.nodes if n not in gaussian]
    if not nodes:
        raise InvalidNetwork("a hybrid network has at least one discrete node")
    return Dag(nodes, [(a, b) for a, b in dag.edges if b not in gaussian])


def split(parents: Sequence[str], continuous: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Discrete and continuous parents."""
    gaussian = set(continuous)
    return tuple(p for p in parents if p not in gaussian), tuple(p for p in parents if p in gaussian)


def configuration_of(codes: Array, sizes: Sequence[int]) -> Array:
    """The place of each configuration, the first column slowest; −1 where a code is missing."""
    place = np.zeros(len(codes), dtype=np.int64)
    for column, size in zip(codes.T, sizes):
        place = place * size + column
    return np.where((codes < 0).any(axis=1), -1, place)


def continuous_nodes(dag: Dag, data: Any, told: Iterable[str] | None) -> tuple[str, ...]:
    """The nodes told; else those that are columns of floats, or that the schema of a read table calls numbers."""
    if told is not None:
        return tuple(dict.fromkeys(dag.nodes[v] for v in find_all(dag.index, told)))
    frame = rows_of(data)
    kinds = {c.name: c.kind for c in data.schema.columns} if isinstance(data, Table) else {}
    return tuple(
        name
        for j, name in enumerate(frame.names or ())
        if name in dag.index and (kinds[name] in MEASURED if name in kinds else _floats(frame.column(j)))
    )


def _floats(cells: Any) -> bool:
    if isinstance(cells, np.ndarray):
        return bool(cells.dtype.kind == "f")
    import pyarrow.types as types

    return bool(types.is_floating(cells.type) or types.is_decimal(cells.type))


def numbers_at(frame: Frame, nodes: Sequence[str]) -> Floats:
    """The columns of these nodes as numbers, NaN where a cell is missing."""
    place = {name: j for j, name in enumerate(frame.names or ())}
    lacking = [n for n in nodes if n not in place]
    if lacking:
        raise UnknownColumn(
            f"no column for {listed(lacking)}{did_you_mean(lacking[0], place) or '.'} columns: {listed(place)}"
        )
    x = np.asarray(numbers(frame, [place[n] for n in nodes]), dtype=np.float64)
    if np.isinf(x).any():
        row, k = np.argwhere(np.isinf(x))[0].tolist()
        raise BadValue(f"column {nodes[k]!r}, row {row}: infinity is no number here")
    return x


def count_mixed(
    dag: Dag,
    data: Any,
    continuous: Sequence[str],
    closed: Mapping[str, Sequence[Hashable]],
    sample_weight: Any = None,
    n_jobs: int | None = None,
    max_memory: float | None = None,
) -> Statistics:
    """What these rows count; a row with missing cells counts for the families that it has whole."""
    part = discrete_part(dag, continuous)
    coded, schema, weights = read_codes(part, data, part.nodes, closed, sample_weight, n_jobs)
    x, first = numbers_at(rows_of(data), continuous), len(part.nodes)
    where, no_class = range(first, first + len(continuous)), np.zeros(len(x), np.uint8)
    columns = (*schema.columns, *(Column(n, "numeric") for n in continuous))
    table, found = collect_mixed(coded, x, where, replace(schema, columns=columns), no_class, weights, n_jobs)
    found = with_families(part, table, found, weights, n_jobs, max_memory)
    how = no_class, 1, weights, found.schema.names, max_memory
    families = collect_family_moments(table, x, where, line_scopes(dag, found), *how)
    return replace(found, joints=(*found.joints, families))


def line_scopes(dag: Dag, statistics: Statistics) -> list[MixedScope]:
    """(discrete parents, continuous parents and the node) of every continuous node, as columns of the statistics."""
    schema, nodes = statistics.schema, [statistics.schema.names[j] for j in statistics.where("moments")]
    found = []
    for node in nodes:
        above, beside = split(dag.parents(node), nodes)
        found.append((tuple(map(schema.index, above)), tuple(map(schema.index, (*beside, node)))))
    return found


def regressions_of(statistics: Statistics, states: States, how: Smoothing) -> dict[str, Regression]:
    """The regression of every continuous node, its configurations in the order of the states."""
    found: dict[str, Regression] = {}
    families: FamilyMoments = statistics.joints[1]
    place = {j: k for k, j in enumerate(statistics.where("moments"))}
    for (above, numeric), moments in zip(families.scopes, families.tables):
        node = statistics.schema.names[numeric[-1]]
        if not moments.n.sum() > 0:
            raise TableError(f"no row has {node!r} and all of its parents")
        at = np.zeros(1, np.int64)
        for column in (statistics.schema.columns[j] for j in above):
            at = (at[:, None] * len(column.values) + np.array([column.place[s] for s in states[column.name]])).ravel()
        found[node] = learned(
            moments.select_classes(at), how.smoothing, statistics.moments.select_columns([place[numeric[-1]]])
        )
    return found
