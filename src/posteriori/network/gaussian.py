"""What numbers say of states: a likelihood of the discrete nodes, from what was seen of the continuous ones.

Seen nodes that hang together through continuous nodes not seen form a group. In every configuration of the group's discrete
parents (its scope) the group is one normal, built parent by parent: μ_x = α + β·μ_c, Σ_x,· = β Σ_c,·, Σ_xx = σ² + β Σ_cx.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ..arrays import Floats
from ..budget import refuse_over
from ..errors import listed
from .regression import Regression, place_of


@dataclass(frozen=True, eq=False)
class Local:
    """Some continuous nodes given each configuration of `scope`: ln P(what was seen of them), and the rest given it."""

    scope: tuple[str, ...]
    log_density: Floats  # one axis for each node of the scope
    hidden: tuple[str, ...]
    mean: Floats  # (configurations, hidden)
    covariance: Floats  # (configurations, hidden, hidden)


def conditioned(mean: Floats, covariance: Floats, seen: Sequence[int], x: Floats) -> tuple[Floats, Floats, Floats]:
    """ln N(x; μ_s, Σ_ss), then μ_h + Σ_hs Σ_ss⁻¹ (x − μ_s) and Σ_hh − Σ_hs Σ_ss⁻¹ Σ_sh; of q normals at once."""
    hidden = [i for i in range(mean.shape[1]) if i not in set(seen)]
    scale = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))[:, seen]
    gap = ((x - mean[:, seen]) / scale)[:, :, None]
    cross = covariance[:, hidden][:, :, seen] / scale[:, None, :]
    factor = np.linalg.cholesky(covariance[:, seen][:, :, seen] / scale[:, :, None] / scale[:, None, :])
    z = np.linalg.solve(factor, gap)
    w = np.linalg.solve(factor, cross.transpose(0, 2, 1))
    log_det = 2 * (np.log(scale) + np.log(np.diagonal(factor, axis1=1, axis2=2))).sum(axis=1)
    density = -0.5 * (len(seen) * np.log(2 * np.pi) + log_det + (z * z).sum(axis=(1, 2)))
    there = mean[:, hidden] + np.einsum("dsh,ds->dh", w, z[:, :, 0])
    return density, there, covariance[:, hidden][:, :, hidden] - np.einsum("dsh,dsg->dhg", w, w)


@dataclass(frozen=True, eq=False)
class Gaussians:
    """The continuous nodes of a network, each after its parents."""

    nodes: tuple[str, ...]
    given: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]  # of each node, its discrete and its continuous parents
    regressions: dict[str, Regression]
    sizes: dict[str, int]  # how many states each discrete node has

    def _above(self, node: str, seen: Mapping[str, float]) -> set[str]:
        """A node and what is not seen above it, through continuous nodes that are not seen."""
        todo, found = [node], {node}
        while todo:
            for parent in self.given[todo.pop()][1]:
                if parent not in seen and parent not in found:
                    found.add(parent)
                    todo.append(parent)
        return found

    def groups(self, known: Mapping[str, int], seen: Mapping[str, float]) -> list[Local]:
        """The seen numbers in groups that hang together through continuous nodes not seen."""
        return [self.local(group, known, seen) for group in self._joined(seen, seen)]

    def around(self, node: str, known: Mapping[str, int], seen: Mapping[str, float]) -> Local:
        """A node that is not seen, with all that was seen and hangs together with it."""
        return next(self.local(g, known, seen) for g in self._joined([*seen, node], seen) if node in g)

    def _joined(self, nodes: Iterable[str], seen: Mapping[str, float]) -> list[list[str]]:
        groups: list[set[str]] = []
        for node in nodes:
            group = self._above(node, seen)
            joined = [g for g in groups if g & group]
            groups = [g for g in groups if not g & group] + [group.union(*joined)]
        return [[n for n in self.nodes if n in group] for group in groups]

    def local(self, members: list[str], known: Mapping[str, int], seen: Mapping[str, float]) -> Local:
        """The normal of these nodes in every configuration of their discrete parents, conditioned on what was seen."""
        above = dict.fromkeys(chain.from_iterable(self.given[n][0] for n in members))
        scope = tuple(p for p in above if p not in known)
        shape = tuple(self.sizes[p] for p in scope)
        q, m = math.prod(shape), len(members)
        refuse_over(
            None,
            8.0 * q * (4 * m * m + 8 * m + len(scope)),
            f"{q:,} configurations of {listed(scope)}, each with a normal of {m} nodes,",
            "observe some of those nodes, or more of the continuous ones",
        )
        grid = np.indices(shape).reshape(len(shape), -1) if shape else np.zeros((0, 1), np.int64)
        code = {p: grid[i] for i, p in enumerate(scope)} | {p: np.full(q, known[p]) for p in above if p in known}
        place = {n: i for i, n in enumerate(members)}
        mean, spread = np.zeros((q, m)), np.zeros((q, m, m))
        for i, node in enumerate(members):
            fit, (given, beside) = self.regressions[node], self.given[node]
            sizes = [self.sizes[p] for p in given]
            d = place_of(np.stack([code[p] for p in given], axis=1), sizes) if given else np.zeros(q, np.int64)
            beta = fit.beta[d]
            mean[:, i] = fit.alpha[d]
            for j, parent in enumerate(beside):
                if (k := place.get(parent)) is None:
                    mean[:, i] += beta[:, j] * seen[parent]
                else:
                    mean[:, i] += beta[:, j] * mean[:, k]
                    spread[:, i, :i] += beta[:, j, None] * spread[:, k, :i]
            spread[:, :i, i] = spread[:, i, :i]
            spread[:, i, i] = fit.variance[d]
            for j, parent in enumerate(beside):
                if parent in place:
                    spread[:, i, i] += beta[:, j] * spread[:, i, place[parent]]
        at = [place[n] for n in members if n in seen]
        density, mean, spread = conditioned(mean, spread, at, np.array([seen[members[i]] for i in at]))
        return Local(scope, density.reshape(shape), tuple(n for n in members if n not in seen), mean, spread)


def along(log: Floats, scope: Sequence[str], axes: Sequence[str]) -> Floats:
    """A table over `scope` with the axes of `axes`, of length 1 where it does not depend."""
    order = sorted(range(len(scope)), key=lambda i: axes.index(scope[i]))
    shape = [log.shape[scope.index(a)] if a in scope else 1 for a in axes]
    return log.transpose(order).reshape(shape)


def united(parts: Sequence[Local]) -> list[tuple[tuple[str, ...], Floats]]:
    """Log-likelihoods by scope; one within another's scope is added to it, so that their sum is what underflows or not."""
    found: list[tuple[tuple[str, ...], Floats]] = []
    for part in sorted(parts, key=lambda p: -len(p.scope)):
        for i, (scope, log) in enumerate(found):
            if set(part.scope) <= set(scope):
                found[i] = (scope, log + along(part.log_density, part.scope, scope))
                break
        else:
            found.append((part.scope, part.log_density))
    return found
