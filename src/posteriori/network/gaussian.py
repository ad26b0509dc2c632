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
from ..errors import BadValue, listed
from ..smoothing.theta import log_sum
from .bayesnet import BayesNet
from .regression import Regression

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
