"""The continuous nodes of a hybrid network: what numbers say of states, and ln P(target, what is known of a row) with both.

Seen nodes that hang together through continuous nodes not seen form a group. In every configuration of the group's discrete
parents (its scope) the group is one normal, built parent by parent: μ_x = α + β·μ_c, Σ_x,· = β Σ_c,·, Σ_xx = σ² + β Σ_cx.
Rows of which the same nodes are known are worked on together; the first axis of every array is the row. Their likelihoods
are factors beside those of the tables,

    Σ over the discrete nodes not known of Π θ[π_v, x_v] · Π P(numbers seen | scope)

in logs, a factor a table (rows, one axis for each node not known), one node summed out after another. Nothing underflows.

Linear-Gaussian tables: a continuous node given its parents, learned from co-moments that rows are counted into.

Symbols: x the node, c its continuous parents (k of them), d a configuration of its discrete ones (q of them);
x | c, d ~ N(α_d + β_d·c, σ²_d). n_d the rows of d, S_d their co-moments of (c, x) about their mean.

The statistics of a hybrid network have a column for each node, the discrete ones first: N of every discrete family is their
first joint, the co-moments of every continuous one in each configuration of its discrete parents the second.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from ..arrays import Array, Codes, Floats, Ints
from ..bayes.numeric import ROUNDING, no_narrower, spreads, usual_spread
from ..budget import refuse_over
from ..errors import BadValue, InvalidNetwork, TableError, UnknownColumn, did_you_mean, listed
from ..smoothing.theta import log_sum
from ..statistics.comoments import CoMoments, FamilyMoments, MixedScope, collect_family_moments, collect_mixed
from ..statistics.moments import Moments
from ..statistics.statistics import Statistics
from ..structure.dag import Dag
from ..structure.graph import find_all
from ..table.encode import numbers
from ..table.frame import Frame, Table
from ..table.schema import MEASURED, Column
from .bayesnet import BayesNet
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


BLOCK = 1 << 25  # bytes that rows may take together
Logs = tuple[tuple[str, ...], Floats]  # the nodes of the axes after the rows


@dataclass(frozen=True, eq=False)
class Local:
    """Some continuous nodes given each configuration of `scope`: ln P(what was seen of them), and the rest h given it.

    h_i = α_i + Σ_{j<i} B_ij h_j + σ_i ε_i, in each row and configuration: a line for each hidden node.
    """

    scope: tuple[str, ...]
    log_density: Floats  # (rows, one axis for each node of the scope)
    hidden: tuple[str, ...]
    alpha: Floats  # (rows, configurations, hidden)
    beta: Floats  # (rows, configurations, hidden, hidden)
    sd: Floats  # (rows, configurations, hidden)

    def normal(self) -> tuple[Floats, Floats]:
        """μ and a root L of the covariance L Lᵀ of the hidden nodes, lower triangular; nothing is subtracted."""
        mean, root = self.alpha.copy(), np.zeros_like(self.beta)
        with np.errstate(all="ignore"):
            for i in range(len(self.hidden)):
                before = self.beta[..., i, :i]
                mean[..., i] += (before * mean[..., :i]).sum(axis=-1)
                root[..., i, :] = (before[..., None] * root[..., :i, :]).sum(axis=-2)
                root[..., i, i] = self.sd[..., i]
        refuse_beyond(self.hidden, mean, root)
        return mean, root


def refuse_beyond(nodes: Sequence[str], *numbers: Floats) -> None:
    if not all(np.isfinite(part).all() for part in numbers):
        raise BadValue(f"the normal of {listed(nodes)} is beyond all floats: measure them in larger units")


def seen_of(alpha: Floats, beta: Floats, sd: Floats, c: Floats, b: Floats, s: Floats, x: Floats) -> Floats:
    """ln p(y = x) of y = c + b·h + s ε, where h are the lines α, B, σ, which become those given y (in place).

    Every arrow h_j → y is turned, the last first, where v² = s² + b_j² σ_j² and the gain k = b_j σ_j²/v²:

        h_j | y:  α_j s²/v² + k (x − c),  B_j s²/v² − k b,  σ_j s/v        y:  c + b_j α_j,  b + b_j B_j,  v

    so that variances are multiplied and added, never subtracted: a square-root form, right for variances of any size.
    """
    b = b.copy()
    for j in reversed(range(alpha.shape[-1])):
        slope = b[..., j].copy()
        if not slope.any():
            continue
        v = np.hypot(s, slope * sd[..., j])
        kept, gain = (s / v) ** 2, (slope * sd[..., j] / v) * (sd[..., j] / v)
        mine, line = alpha[..., j].copy(), beta[..., j, :j].copy()
        alpha[..., j] = mine * kept + gain * (x - c)
        beta[..., j, :j] = line * kept[..., None] - gain[..., None] * b[..., :j]
        sd[..., j] *= s / v
        c, s = c + slope * mine, v
        b[..., :j] += slope[..., None] * line
    z = (x - c) / s
    density = -0.5 * (np.log(2 * np.pi) + z * z) - np.log(s)
    return np.where(s > 0, density, np.where(x == c, 0.0, -np.inf))  # what was made has a probability, and no density


@dataclass(frozen=True, eq=False)
class Gaussians:
    """The continuous nodes of a network, each after its parents."""

    nodes: tuple[str, ...]
    given: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]  # of each node, its discrete and its continuous parents
    regressions: dict[str, Regression]
    sizes: dict[str, int]  # how many states each discrete node has

    def _above(self, node: str, seen: AbstractSet[str]) -> set[str]:
        """A node and what is not seen above it, through continuous nodes that are not seen."""
        todo, found = [node], {node}
        while todo:
            for parent in self.given[todo.pop()][1]:
                if parent not in seen and parent not in found:
                    found.add(parent)
                    todo.append(parent)
        return found

    def groups(self, known: Mapping[str, Codes], seen: Mapping[str, Floats]) -> list[Local]:
        """The seen numbers in groups that hang together through continuous nodes not seen."""
        return [self.local(group, known, seen) for group in self._joined(seen, seen.keys())]

    def around(self, node: str, known: Mapping[str, Codes], seen: Mapping[str, Floats]) -> Local:
        """A node that is not seen, with all that was seen and hangs together with it."""
        return next(self.local(g, known, seen) for g in self._joined([*seen, node], seen.keys()) if node in g)

    def _joined(self, nodes: Iterable[str], seen: AbstractSet[str]) -> list[list[str]]:
        groups: list[set[str]] = []
        for node in nodes:
            group = self._above(node, seen)
            joined = [g for g in groups if g & group]
            groups = [g for g in groups if not g & group] + [group.union(*joined)]
        return [[n for n in self.nodes if n in group] for group in groups]

    def peak(self, known: AbstractSet[str], seen: AbstractSet[str]) -> float:
        """The bytes that the largest group takes for each row."""
        most = 0.0
        for members in self._joined(seen, seen):
            above = set(chain.from_iterable(self.given[n][0] for n in members)) - known
            most = max(most, self._bytes(math.prod(self.sizes[p] for p in above), len(members)))
        return most

    @staticmethod
    def _bytes(q: int, m: int) -> float:
        return 8.0 * q * (4 * m * m + 8 * m)

    def local(self, members: list[str], known: Mapping[str, Codes], seen: Mapping[str, Floats]) -> Local:
        """The normal of these nodes in every configuration of their discrete parents, conditioned on what was seen."""
        above = dict.fromkeys(chain.from_iterable(self.given[n][0] for n in members))
        scope = tuple(p for p in above if p not in known)
        shape = tuple(self.sizes[p] for p in scope)
        rows = max([*map(len, known.values()), *map(len, seen.values()), 1])
        q, m = math.prod(shape), len(members)
        refuse_over(
            None,
            rows * self._bytes(q, m),
            f"{q:,} configurations of {listed(scope)}, each with a normal of {m} nodes,",
            "observe some of those nodes, or more of the continuous ones",
        )
        grid = np.indices(shape).reshape(len(shape), 1, q)
        code = {p: grid[i] for i, p in enumerate(scope)} | {p: known[p][:, None] for p in above if p in known}
        place = {n: np.zeros((1, 1), np.int64) for n in members}
        for node in members:
            for p in self.given[node][0]:
                place[node] = place[node] * self.sizes[p] + code[p]
        hidden = [n for n in members if n not in seen]
        at, whole = {n: i for i, n in enumerate(hidden)}, (rows, q, len(hidden))
        alpha, sd, beta = np.zeros(whole), np.ones(whole), np.zeros((*whole, len(hidden)))
        density, told = np.zeros((rows, q)), []
        with np.errstate(all="ignore"):  # a number beyond all others has density 0
            for node in members:
                fit, d = self.regressions[node], place[node]
                c, b = np.broadcast_to(fit.alpha[d], (rows, q)).copy(), np.zeros(whole)
                for slope, parent in zip(np.moveaxis(fit.beta[d], -1, 0), self.given[node][1], strict=True):
                    if parent in at:
                        b[..., at[parent]] = slope
                    else:
                        c += slope * seen[parent][:, None]
                if node in at:
                    alpha[..., at[node]], beta[..., at[node], :] = c, b
                    sd[..., at[node]] = np.sqrt(fit.variance[d])
                else:
                    told.append((c, b, np.sqrt(fit.variance[d]), seen[node][:, None]))
            for c, b, s, x in told:
                density += seen_of(alpha, beta, sd, c, b, s, x)
        refuse_beyond(members, alpha, beta, sd, np.where(density == -np.inf, 0.0, density))
        return Local(scope, density.reshape(rows, *shape), tuple(hidden), alpha, beta, sd)


def along(log: Floats, scope: Sequence[str], axes: Sequence[str]) -> Floats:
    """A table over rows and `scope` with the axes of `axes`, of length 1 where it does not depend.

    >>> along(np.zeros((9, 2, 3)), "ba", "abc").shape
    (9, 3, 2, 1)
    """
    order = sorted(range(len(scope)), key=lambda i: axes.index(scope[i]))
    shape = [log.shape[1 + scope.index(a)] if a in scope else 1 for a in axes]
    return log.transpose(0, *(1 + i for i in order)).reshape(len(log), *shape)


def united(parts: Sequence[Local]) -> tuple[list[Logs], Floats]:
    """Log-likelihoods by scope, each beside the best of its row, and the sum of these of each row, which all states share.

    One within another's scope is added to it, so that their sum is what underflows or not.
    """
    found: list[Logs] = []
    common = np.zeros(max([1, *(len(part.log_density) for part in parts)]))
    for part in sorted(parts, key=lambda p: -len(p.scope)):
        top = part.log_density.max(axis=tuple(range(1, part.log_density.ndim)), keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        beside, common = part.log_density - top, common + top.ravel()
        for i, (scope, log) in enumerate(found):
            if set(part.scope) <= set(scope):
                found[i] = (scope, log + along(beside, part.scope, scope))
                break
        else:
            found.append((part.scope, beside))
    return found, common


class HybridRows:
    """A hybrid network as rows ask it: its discrete nodes, in logs, and its continuous ones."""

    def __init__(self, net: BayesNet, gaussians: Gaussians) -> None:
        self.nodes, self.gaussians = net.nodes, gaussians
        self.sizes = {n: len(net.states(n)) for n in net.nodes}
        self.families = {n: (*net.parents(n), n) for n in net.nodes}
        self.above = {n: {n, *net.dag.ancestors(n)} for n in net.nodes}
        with np.errstate(divide="ignore"):
            self.logs = {n: np.log(table) for n, table in zip(net.nodes, net._model.tables)}

    def log_joint(self, codes: Codes, x: Floats, target: str | None, max_memory: float | None = None) -> Floats:
        """ln P(target = s, what is known) of each row and state s; without a target of each row, ln P(what is known)."""
        logs, common = self.beside_common(codes, x, target, max_memory)
        return logs + common.reshape(-1, *(1,) * (logs.ndim - 1))

    def beside_common(
        self, codes: Codes, x: Floats, target: str | None, max_memory: float | None = None
    ) -> tuple[Floats, Floats]:
        """The same in two parts, the second what the numbers of a row are worth in all states alike, and at their best.

        The logarithm of the density of a number far from all others is so large that beside it the rest loses its digits;
        where it is as unlikely in every state it tells nothing of them. `codes` has a column for each discrete node, `x`
        one for each continuous one; −1 and NaN are unknown.
        """
        out = np.empty((len(codes), *(() if target is None else (self.sizes[target],))))
        common = np.zeros(len(codes))
        holes = np.concatenate([codes < 0, np.isnan(x)], axis=1)
        if target is not None:
            holes[:, self.nodes.index(target)] = True
        d = len(self.nodes)
        for some in alike(holes):
            known = [i for i in range(d) if not holes[some[0], i]]
            seen = [j for j in range(x.shape[1]) if not holes[some[0], d + j]]
            names = {self.nodes[i] for i in known}, {self.gaussians.nodes[j] for j in seen}
            step = max(1, int(BLOCK / max(self.gaussians.peak(*names), 64.0)))
            for begin in range(0, len(some), step):
                rows = some[begin : begin + step]
                told = {self.nodes[i]: codes[rows, i].astype(np.int64) for i in known}
                numbers = {self.gaussians.nodes[j]: x[rows, j] for j in seen}
                likelihoods, common[rows] = united(self.gaussians.groups(told, numbers))
                out[rows] = self._eliminated(self._factors(told, likelihoods, target), target, max_memory)
        return out, common

    def most_probable(
        self,
        known: Mapping[str, Codes],
        soft: Mapping[str, Floats],
        seen: AbstractSet[str],
        parts: Sequence[Local],
        max_memory: float | None,
    ) -> dict[str, int] | None:
        """The states of argmax p(states, numbers at their best, what was seen); None where nothing is possible.

        ln N(h; μ, Σ) is at its best −Σ ln σ_i − ½ h ln 2π, σ_i of the lines.
        """
        factors: list[Logs] = []
        with np.errstate(divide="ignore"):
            for part in parts:
                width = _log_width(part.sd).sum(axis=-1).reshape(part.log_density.shape)
                factors.append((part.scope, part.log_density - width))
            near = {*seen, *chain.from_iterable(part.hidden for part in parts)}
            for node in self.gaussians.nodes:
                if node not in near:
                    axes, place = self._places(self.gaussians.given[node][0], known)
                    factors.append((axes, -_log_width(np.sqrt(self.gaussians.regressions[node].variance))[place]))
            for node in self.nodes:
                if node not in known:
                    factors.append(((node,), np.log(soft.get(node, np.ones(self.sizes[node])))[None]))
        trail: list[tuple[str, tuple[str, ...], Codes]] = []
        total = self._eliminated(self._factors(known, factors, None), None, max_memory, trail)
        if total[0] == -np.inf:
            return None
        found = {n: int(code[0]) for n, code in known.items()}
        for node, axes, best in reversed(trail):
            found[node] = int(best[(0, *(found[a] for a in axes))])
        return found

    def _factors(self, known: Mapping[str, Codes], likelihoods: Sequence[Logs], target: str | None) -> list[Logs]:
        """The likelihoods of the numbers and the tables that matter: no node without a known one below it does."""
        found = list(likelihoods)
        asked = {*known, *(() if target is None else (target,)), *(n for scope, _ in found for n in scope)}
        matter = set[str]().union(*(self.above[n] for n in asked))
        for node in filter(matter.__contains__, self.nodes):  # in one order: a set's own would change the last digits
            axes, place = self._places(self.families[node], known)
            found.append((axes, self.logs[node][place]))
        return found

    def _places(self, family: Sequence[str], known: Mapping[str, Codes]) -> tuple[tuple[str, ...], Ints]:
        """The nodes of a family that are not known, and where the table of the family has each of their configurations."""
        axes = tuple(n for n in family if n not in known)
        place = np.zeros((1,) * (1 + len(axes)), np.int64)
        for n in family:
            shape = [self.sizes[n] if a == n else 1 for a in axes]
            place = place * self.sizes[n] + (known[n] if n in known else np.arange(self.sizes[n])).reshape(-1, *shape)
        return axes, place

    def _eliminated(
        self,
        factors: list[Logs],
        target: str | None,
        max_memory: float | None,
        trail: list[tuple[str, tuple[str, ...], Codes]] | None = None,
    ) -> Floats:
        """The factors added up, and every node but the target summed out, the one that makes the least table first.

        With a trail the greatest is taken instead, and the trail says where it was.
        """
        todo = {n for scope, _ in factors for n in scope} - {target}
        while todo:
            joined = {n: set[str]().union(*(scope for scope, _ in factors if n in scope)) for n in todo}
            node = min(sorted(todo), key=lambda n: math.prod(self.sizes[m] for m in joined[n]))
            mine, axes = [f for f in factors if node in f[0]], (*sorted(joined[node] - {node}), node)
            rows = max(len(log) for _, log in mine)
            peak = 32.0 * rows * math.prod(self.sizes[n] for n in axes)
            refuse_over(max_memory, peak, f"a table of {rows} rows over {listed(axes)}", "observe some of those nodes")
            factors = [f for f in factors if node not in f[0]]
            table = _added(mine, axes)
            factors.append((axes[:-1], log_sum(table)[..., 0] if trail is None else table.max(axis=-1)))
            if trail is not None:
                trail.append((node, axes[:-1], table.argmax(axis=-1)))
            todo.remove(node)
        return _added(factors, () if target is None else (target,))


def _log_width(sd: Floats) -> Floats:
    """ln σ; of a number that was made, which has a probability and no density, 0."""
    return np.where(sd > 0, np.log(sd), 0.0)


def alike(holes: Codes) -> Iterator[Ints]:
    """The rows with the same holes, group by group."""
    if not len(holes):
        return
    if (holes == holes[:1]).all():
        yield np.arange(len(holes))
        return
    patterns, of = np.unique(np.packbits(holes, axis=1), axis=0, return_inverse=True)
    order = np.argsort(of.ravel(), kind="stable")
    yield from np.split(order, np.cumsum(np.bincount(of.ravel(), minlength=len(patterns)))[:-1])


def _added(factors: Sequence[Logs], axes: tuple[str, ...]) -> Floats:
    total = np.zeros((1,) * (1 + len(axes)))
    for scope, log in factors:
        total = total + along(log, scope, axes)
    return total
