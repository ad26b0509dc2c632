"""Networks in plain Python and NumPy: elimination, enumeration, and the samplers draw for draw.

Symbols: n nodes, sizes[v] states of v, parents[v] its parents; tables[v] is flat, with the axes parents[v], then v.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import log, log2

import numpy as np
from numpy.typing import NDArray

from ...arrays import Codes, Floats


def elimination_order(adjacency: Sequence[Sequence[int]], sizes: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """The order with fewer cells of two greedy ones: by (edges added, cells), and by (none added first, cells)."""
    best: tuple[float, list[int], list[set[int]]] | None = None
    for by_fill in (True, False):
        near = [set(neighbours) for neighbours in adjacency]
        left, order, cliques, cells = set(range(len(sizes))), [], [], 0.0

        def score(v: int, near: list[set[int]] = near, by_fill: bool = by_fill) -> tuple[float, float, int]:
            fill = sum(b not in near[a] for a, b in combinations(near[v], 2))
            weight = round(log2(sizes[v]) + sum(log2(sizes[u]) for u in near[v]), 9)  # rounded: ties are ties
            return (fill, weight, v) if by_fill else (weight if fill else -1.0, weight, v)

        while left:
            v = min(left, key=score)
            left.discard(v)
            order.append(v)
            cliques.append({v} | near[v])
            cells += 2.0 ** score(v)[1]
            for a in near[v]:
                near[a] |= near[v] - {a}
                near[a].discard(v)
        if best is None or cells < best[0]:
            best = cells, order, cliques
    assert best is not None
    _, order, cliques = best
    return order, [sorted(c) for i, c in enumerate(cliques) if not any(c < other for other in cliques[:i])]


def combine_factors(
    sizes: Sequence[int],
    scopes: Sequence[Sequence[int]],
    tables: Sequence[Floats],
    keep: Sequence[bool],
    maximise: bool,
) -> tuple[Floats, float]:
    """Σ (or max) of Π tables onto the axes to keep, in logarithms, and the log of the scale."""
    product = np.zeros(tuple(sizes))
    with np.errstate(divide="ignore"):
        for scope, table in zip(scopes, tables):
            shape = [sizes[a] if a in scope else 1 for a in range(len(sizes))]
            logs = np.log(table).reshape([sizes[a] for a in scope]).transpose(np.argsort(scope))
            product = product + logs.reshape(shape)
    top = float(product.max())
    scaled = np.exp(product - top) if np.isfinite(top) else np.zeros_like(product)
    rest = tuple(a for a, kept in enumerate(keep) if not kept)
    small = scaled.max(axis=rest) if maximise else scaled.sum(axis=rest)
    return np.asarray(small).ravel(), top if np.isfinite(top) else 0.0


def joint(
    sizes: Sequence[int], parents: Sequence[Sequence[int]], tables: Sequence[Floats], likelihoods: Mapping[int, Floats]
) -> Floats:
    """P(x, e) for every x, one axis a node: what a junction tree sums without writing it down."""
    table = np.ones(tuple(sizes))
    for v, theta in enumerate(tables):
        scope = (*parents[v], v)
        shape = [sizes[a] if a in scope else 1 for a in range(len(sizes))]
        table = table * theta.reshape([sizes[a] for a in scope]).transpose(np.argsort(scope)).reshape(shape)
    for v, likelihood in likelihoods.items():
        table = table * likelihood.reshape([sizes[v] if a == v else 1 for a in range(len(sizes))])
    return table


def marginals(table: Floats) -> list[Floats]:
    """P(x_v | e) of every node from P(x, e)."""
    total = table.sum()
    axes = range(table.ndim)
    return [np.asarray(table.sum(axis=tuple(a for a in axes if a != v))) / total for v in axes]


class Xoshiro:
    """xoshiro256++ seeded by splitmix64, as the native samplers have it."""

    def __init__(self, seed: int) -> None:
        self.s = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) % 2**64
            z = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
            z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
            self.s.append(z ^ (z >> 31))

    def uniform(self) -> float:
        """A number in [0, 1)."""
        s = self.s
        result = (_rotated((s[0] + s[3]) % 2**64, 23) + s[0]) % 2**64
        t = s[1] << 17 & (2**64 - 1)
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = _rotated(s[3], 45)
        return (result >> 11) * 2.0**-53

    def pick(self, weights: Sequence[float], total: float) -> int:
        """An index with probability proportional to its weight."""
        left, last = self.uniform() * total, 0
        for k, w in enumerate(weights):
            if w > 0:
                last = k
                left -= w
                if left < 0:
                    return k
        return last


def _rotated(x: int, k: int) -> int:
    return (x << k | x >> (64 - k)) % 2**64


def draw_forward(
    order: Sequence[int],
    sizes: Sequence[int],
    parents: Sequence[Sequence[int]],
    tables: Sequence[Floats],
    findings: tuple[Codes, NDArray[np.int64], Floats],
    seed: int,
    rows: int,
) -> tuple[Codes, Floats]:
    """Cases of one chunk drawn parents first, findings held, and their log weights."""
    fixed, soft, likelihoods = findings
    random = Xoshiro(seed)
    x, log_weight = np.empty((rows, len(sizes)), np.int32), np.zeros(rows)
    for r in range(rows):
        for v in order:
            row = 0
            for p in parents[v]:
                row = row * sizes[p] + int(x[r, p])
            theta = tables[v][row * sizes[v] : (row + 1) * sizes[v]]
            if soft[v] >= 0:
                theta = theta * likelihoods[soft[v] : soft[v] + sizes[v]]
            if fixed[v] >= 0:
                x[r, v] = fixed[v]
                log_weight[r] += log(theta[fixed[v]]) if theta[fixed[v]] > 0 else -np.inf
            else:
                total = float(sum(theta.tolist()))
                if soft[v] >= 0:
                    log_weight[r] += log(total) if total > 0 else -np.inf
                x[r, v] = random.pick(theta.tolist(), total)
    return x, log_weight


def gibbs_sweeps(
    tables: Floats,
    blocks: Sequence[tuple[Codes, Codes, NDArray[np.int64], Codes]],
    choice: list[int],
    place: list[int],
    marginal: Sequence[int],
    random: Xoshiro,
    sweeps: int,
) -> Floats:
    """Mean conditional probabilities over sweeps of one chain, without leaps; choice and place are moved along."""
    sums = np.zeros(marginal[-1])
    for _ in range(sweeps):
        for b, (nodes, factors, offsets, values) in enumerate(blocks):
            base = np.array([place[f] for f in factors]) - offsets[choice[b]]
            weights = tables[base + offsets].prod(axis=1)
            for j, w in enumerate(weights / weights.sum()):
                for v, k in zip(nodes, values[j]):
                    sums[marginal[v] + k] += w
            choice[b] = random.pick(weights.tolist(), float(sum(weights.tolist())))
            for i, f in enumerate(factors):
                place[f] = int(base[i] + offsets[choice[b], i])
    return sums / sweeps
