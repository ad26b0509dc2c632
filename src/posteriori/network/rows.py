"""Rows of a hybrid network: ln P(target, what is known of a row), rows with the same holes together.

    Σ over the discrete nodes not known of Π θ[π_v, x_v] · Π P(numbers seen | scope)

in logs, a factor a table (rows, one axis for each node not known), one node summed out after another. Nothing underflows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..arrays import Codes, Floats, Ints
from ..budget import refuse_over
from ..errors import listed
from ..smoothing.theta import log_sum
from .bayesnet import BayesNet
from .gaussian import Gaussians, along, united

BLOCK = 1 << 25  # bytes that rows may take together

Logs = tuple[tuple[str, ...], Floats]  # the nodes of the axes after the rows


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
