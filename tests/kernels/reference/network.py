"""Networks in plain Python and NumPy: elimination, enumeration, and the samplers draw for draw.

Symbols: n nodes, sizes[v] states of v, parents[v] its parents; tables[v] is flat, with the axes parents[v], then v.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import log, prod

import numpy as np
from numpy.typing import NDArray

from posteriori.arrays import Codes, Floats


def elimination_order(adjacency: Sequence[Sequence[int]], sizes: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """The order with fewer cells of two greedy ones: by (edges added, cells), and by (none added first, cells)."""
    best: tuple[int, list[int], list[set[int]]] | None = None
    for by_fill in (True, False):
        near = [set(neighbours) for neighbours in adjacency]
        left, order, cliques, cells = set(range(len(sizes))), [], [], 0

        def score(v: int, near: list[set[int]] = near, by_fill: bool = by_fill) -> tuple[int, int, int]:
            fill = sum(b not in near[a] for a, b in combinations(near[v], 2))
            table = prod(sizes[u] for u in (v, *near[v]))
            return (fill, table, v) if by_fill else (table if fill else 0, table, v)

        while left:
            v = min(left, key=score)
            left.discard(v)
            order.append(v)
            cliques.append({v} | near[v])
            cells += score(v)[1]
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
    logs: Sequence[bool],
    keep: Sequence[bool],
    maximise: bool,
) -> tuple[Floats, float]:
    """ln of Σ (or max) of Π tables onto the axes to keep, less its largest, which is the second; −∞ where all is zero."""
    product = np.zeros(tuple(sizes))
    with np.errstate(divide="ignore", invalid="ignore"):
        for scope, table, in_logs in zip(scopes, tables, logs):
            shape = [sizes[a] if a in scope else 1 for a in range(len(sizes))]
            terms = (table if in_logs else np.log(table)).reshape([sizes[a] for a in scope])
            product = product + terms.transpose(np.argsort(scope)).reshape(shape)
        rest = tuple(a for a, kept in enumerate(keep) if not kept)
        small = (np.max if maximise else np.logaddexp.reduce)(product, axis=rest) if rest else product
    small = np.asarray(small).ravel()
    top = float(small.max())
    return (small - top if np.isfinite(top) else small), top


def sum_out(
    sizes: Sequence[int],
    scopes: Sequence[Sequence[int]],
    tables: Sequence[Floats],
    order: Sequence[int],
    maximise: bool,
) -> Floats:
    """Σ (or max) of Π tables over the nodes of the order: an axis a node, those of the order of length one."""
    product = np.ones(tuple(sizes))
    for scope, table in zip(scopes, tables):
        shape = [sizes[a] if a in scope else 1 for a in range(len(sizes))]
        product = product * table.reshape([sizes[a] for a in scope]).transpose(np.argsort(scope)).reshape(shape)
    reduced: Floats = (product.max if maximise else product.sum)(axis=tuple(order), keepdims=True)
    return reduced


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


def expected(
    sizes: Sequence[int], parents: Sequence[Sequence[int]], tables: Sequence[Floats], cases: Codes, weights: Floats
) -> tuple[list[Floats], Floats]:
    """Σ_r w_r P(x_family | case r) of the families that case r does not state whole, and log P(case r)."""
    out, log_probability = [np.zeros(len(t)) for t in tables], np.full(len(cases), -np.inf)
    for r, case in enumerate(cases):
        table = joint(sizes, parents, tables, {v: np.eye(sizes[v])[x] for v, x in enumerate(case) if x >= 0})
        if table.sum() == 0:
            continue
        log_probability[r] = np.log(table.sum())
        for v, given in enumerate(parents):
            family = [*given, v]
            if min(case[family]) < 0:
                small = table.sum(axis=tuple(a for a in range(len(sizes)) if a not in family))
                turned = small.transpose(np.argsort(np.argsort(family)))
                out[v] += weights[r] * turned.ravel() / table.sum()
    return out, log_probability


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


def draw_cases(
    sizes: Sequence[int],
    fixed: Codes,
    proposal: Sequence[tuple[int, Sequence[tuple[Sequence[int], Floats]]]],
    counted: int,
    terms: Sequence[tuple[Sequence[int], Floats]],
    seed: int,
    rows: int,
) -> tuple[Codes, Floats]:
    """Cases of one chunk drawn a node at a time, and their log weights Σ ln terms − ln q."""
    random = Xoshiro(seed)
    x, log_weight = np.tile(fixed, (rows, 1)), np.zeros(rows)

    def cell(scope: Sequence[int], table: Floats, case: Codes) -> float:
        row = 0
        for v in scope:
            row = row * sizes[v] + int(case[v])
        return float(table[row])

    for case, r in zip(x, range(rows)):
        for i, (v, tables) in enumerate(proposal):
            weights = []
            for k in range(sizes[v]):
                case[v] = k
                weights.append(prod(cell(scope, table, case) for scope, table in tables))
            weights = weights if any(weights) else [1.0] * sizes[v]  # a dead end: P(x, e) is zero whatever is drawn now
            case[v] = random.pick(weights, sum(weights))
            log_weight[r] -= log(weights[case[v]] / sum(weights)) if i < counted else 0.0
        for scope, table in terms:
            p = cell(scope, table, case)
            log_weight[r] += log(p) if p > 0 else -np.inf
    return x, log_weight


def gibbs_sweeps(
    tables: Floats,
    blocks: Sequence[tuple[Codes, Codes, NDArray[np.int64], Codes]],
    choice: list[int],
    place: list[int],
    marginal: Sequence[int],
    random: Xoshiro,
    sweeps: int,
    pure: bool = False,
) -> Floats:
    """Mean conditional probabilities over sweeps of one chain, without leaps; choice and place are moved along.

    Of the pure walk how often each state was drawn.
    """
    sums = np.zeros(marginal[-1])
    for _ in range(sweeps):
        for b, (nodes, factors, offsets, values) in enumerate(blocks):
            base = np.array([place[f] for f in factors]) - offsets[choice[b]]
            weights = tables[base + offsets].prod(axis=1)
            for j, w in enumerate(weights / weights.sum() if not pure else ()):
                for v, k in zip(nodes, values[j]):
                    sums[marginal[v] + k] += w
            choice[b] = random.pick(weights.tolist(), float(sum(weights.tolist())))
            for v, k in zip(nodes, values[choice[b]] if pure else ()):
                sums[marginal[v] + k] += 1
            for i, f in enumerate(factors):
                place[f] = int(base[i] + offsets[choice[b], i])
    return sums / sweeps
