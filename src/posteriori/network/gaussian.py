"""The continuous nodes of a hybrid network: what numbers say of states, and ln P(target, what is known of a row) with both.

Seen nodes that hang together through continuous nodes not seen form a group. In every configuration of the group's discrete
parents (its scope) the group is one normal, built parent by parent: μ_x = α + β·μ_c, Σ_x,· = β Σ_c,·, Σ_xx = σ² + β Σ_cx.
Rows of which the same nodes are known are worked on together; the first axis of every array is the row. Their likelihoods
are factors beside those of the tables,

    Σ over the discrete nodes not known of Π θ[π_v, x_v] · Π P(numbers seen | scope)

in logs, a factor a table (rows, one axis for each node not known), one node summed out after another. Nothing underflows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ..arrays import Codes, Floats, Ints
from ..budget import refuse_over
from ..errors import listed
from ..smoothing.theta import log_sum
from .bayesnet import BayesNet
from .regression import Regression

BLOCK = 1 << 25  # bytes that rows may take together
Logs = tuple[tuple[str, ...], Floats]  # the nodes of the axes after the rows


@dataclass(frozen=True, eq=False)
class Local:
    """Some continuous nodes given each configuration of `scope`: ln P(what was seen of them), and the rest given it."""

    scope: tuple[str, ...]
    log_density: Floats  # (rows, one axis for each node of the scope)
    hidden: tuple[str, ...]
    mean: Floats  # (rows, configurations, hidden)
    covariance: Floats  # (rows, configurations, hidden, hidden)


def conditioned(mean: Floats, covariance: Floats, seen: Sequence[int], x: Floats) -> tuple[Floats, Floats, Floats]:
    """ln N(x; μ_s, Σ_ss), then μ_h + Σ_hs Σ_ss⁻¹ (x − μ_s) and Σ_hh − Σ_hs Σ_ss⁻¹ Σ_sh; of many normals at once."""
    hidden = [i for i in range(mean.shape[-1]) if i not in set(seen)]
    scale = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))[..., seen]
    gap = ((x - mean[..., seen]) / scale)[..., None]
    cross = covariance[..., hidden, :][..., seen] / scale[..., None, :]
    factor = np.linalg.cholesky(covariance[..., seen, :][..., seen] / scale[..., :, None] / scale[..., None, :])
    z = np.linalg.solve(factor, gap)
    w = np.linalg.solve(factor, np.swapaxes(cross, -1, -2))
    log_det = 2 * (np.log(scale) + np.log(np.diagonal(factor, axis1=-2, axis2=-1))).sum(axis=-1)
    with np.errstate(over="ignore"):  # a number beyond all others has density 0
        density = -0.5 * (len(seen) * np.log(2 * np.pi) + log_det + (z * z).sum(axis=(-2, -1)))
    there = mean[..., hidden] + np.einsum("...sh,...s->...h", w, z[..., 0])
    return density, there, covariance[..., hidden, :][..., hidden] - np.einsum("...sh,...sg->...hg", w, w)


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
        if m == 1 and members[0] in seen:  # a normal of one number
            node = members[0]
            beside = (
                np.stack([seen[p] for p in self.given[node][1]], axis=-1) if self.given[node][1] else np.zeros((1, 0))
            )
            density = self.regressions[node].log_density(seen[node][:, None], beside[:, None], place[node])
            nothing = np.zeros((rows, q, 0))
            return Local(scope, _wide(density, rows, shape), (), nothing, nothing[..., None])
        mean, spread = self._normal(members, place, seen, (rows, q))
        at = [i for i, n in enumerate(members) if n in seen]
        x = np.stack([seen[members[i]] for i in at], axis=-1)[:, None] if at else np.zeros((rows, 1, 0))
        density, mean, spread = conditioned(mean, spread, at, x)
        return Local(scope, _wide(density, rows, shape), tuple(n for n in members if n not in seen), mean, spread)

    def _normal(
        self, members: list[str], place: Mapping[str, Ints], seen: Mapping[str, Floats], shape: tuple[int, int]
    ) -> tuple[Floats, Floats]:
        """Mean and covariance of these nodes, of each row and configuration."""
        at, m = {n: i for i, n in enumerate(members)}, len(members)
        mean, spread = np.zeros((*shape, m)), np.zeros((*shape, m, m))
        for i, node in enumerate(members):
            fit, d = self.regressions[node], place[node]
            beta = fit.beta[d]
            mean[..., i] = fit.alpha[d]
            spread[..., i, i] = fit.variance[d]
            inside = [(j, at[p]) for j, p in enumerate(self.given[node][1]) if p in at]
            for j, parent in enumerate(self.given[node][1]):
                mean[..., i] += beta[..., j] * (mean[..., at[parent]] if parent in at else seen[parent][:, None])
            for j, k in inside:
                spread[..., i, :i] += beta[..., j, None] * spread[..., k, :i]
            spread[..., :i, i] = spread[..., i, :i]
            for j, k in inside:
                spread[..., i, i] += beta[..., j] * spread[..., i, k]
        return mean, spread


def _wide(density: Floats, rows: int, shape: tuple[int, ...]) -> Floats:
    return np.broadcast_to(density, (rows, math.prod(shape))).reshape(rows, *shape)


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
        for some in _alike(holes):
            known = [i for i in range(d) if not holes[some[0], i]]
            seen = [j for j in range(x.shape[1]) if not holes[some[0], d + j]]
            names = {self.nodes[i] for i in known}, {self.gaussians.nodes[j] for j in seen}
            step = max(1, int(BLOCK / max(self.gaussians.peak(*names), 64.0)))
            for begin in range(0, len(some), step):
                rows = some[begin : begin + step]
                told = {self.nodes[i]: codes[rows, i].astype(np.int64) for i in known}
                numbers = {self.gaussians.nodes[j]: x[rows, j] for j in seen}
                likelihoods, common[rows] = united(self.gaussians.groups(told, numbers))
                out[rows] = self._summed_out(self._factors(told, likelihoods, target), target, max_memory)
        return out, common

    def _factors(self, known: Mapping[str, Codes], likelihoods: Sequence[Logs], target: str | None) -> list[Logs]:
        """The likelihoods of the numbers and the tables that matter: no node without a known one below it does."""
        found = list(likelihoods)
        asked = {*known, *(() if target is None else (target,)), *(n for scope, _ in found for n in scope)}
        for node in set[str]().union(*(self.above[n] for n in asked)):
            axes = tuple(n for n in self.families[node] if n not in known)
            place = np.zeros((1,) * (1 + len(axes)), np.int64)
            for n in self.families[node]:
                shape = [self.sizes[n] if a == n else 1 for a in axes]
                place = place * self.sizes[n] + (known[n] if n in known else np.arange(self.sizes[n])).reshape(
                    -1, *shape
                )
            found.append((axes, self.logs[node][place]))
        return found

    def _summed_out(self, factors: list[Logs], target: str | None, max_memory: float | None) -> Floats:
        """The factors added up, and every node but the target summed out, the one that makes the least table first."""
        todo = {n for scope, _ in factors for n in scope} - {target}
        while todo:
            joined = {n: set[str]().union(*(scope for scope, _ in factors if n in scope)) for n in todo}
            node = min(sorted(todo), key=lambda n: math.prod(self.sizes[m] for m in joined[n]))
            mine, axes = [f for f in factors if node in f[0]], (*sorted(joined[node] - {node}), node)
            rows = max(len(log) for _, log in mine)
            peak = 32.0 * rows * math.prod(self.sizes[n] for n in axes)
            refuse_over(max_memory, peak, f"a table of {rows} rows over {listed(axes)}", "observe some of those nodes")
            factors = [f for f in factors if node not in f[0]]
            factors.append((axes[:-1], log_sum(_added(mine, axes))[..., 0]))
            todo.remove(node)
        return _added(factors, () if target is None else (target,))


def _alike(holes: Codes) -> Iterator[Ints]:
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
