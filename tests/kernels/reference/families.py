"""Families of columns, in NumPy: counts, scores, tests of independence.

Symbols: N[π, x] rows with the parents in configuration π and the child at x; r values of the child, q configurations. As a
child a column has `sizes` values, as a parent `states`, at least as many; any other code leaves the row out.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln, xlogy

from posteriori.arrays import Array, Floats


def family_counts(codes: Array, shape: Sequence[int], family: Sequence[int], weights: Floats | None = None) -> Floats:
    """N of the columns `family`, as a table of that shape; codes outside of it leave the row out."""
    known = np.all([codes[j] < s for j, s in zip(family, shape)], axis=0)
    cells = np.ravel_multi_index([codes[j][known].astype(np.int64) for j in family], shape)
    counts = np.bincount(cells, None if weights is None else weights[known], minlength=int(np.prod(shape)))
    found: Floats = counts.reshape(shape).astype(np.float64)
    return found


def family_score(counts: Floats, kind: str, number: float, regret: Floats | None = None) -> float:
    """The score of one family from its counts N[π, x]."""
    q, r = counts.shape
    whole = counts.sum(axis=1)
    if kind in ("penalised", "fnml"):
        likelihood = xlogy(counts, counts).sum() - xlogy(whole, whole).sum()
        price = number * q * (r - 1) if regret is None else regret[whole.astype(np.int64)].sum()
        return float(likelihood - price)
    a = number / (q * r) if kind == "bdeu" else 1.0
    return float((gammaln(a + counts) - gammaln(a)).sum() + (gammaln(a * r) - gammaln(a * r + whole)).sum())


def toggle_scores(
    codes: Array,
    sizes: Sequence[int],
    child: int,
    parents: Sequence[int],
    candidates: Sequence[int],
    kind: str,
    number: float,
    weights: Floats | None = None,
    states: Sequence[int] | None = None,
    regret: Floats | None = None,
) -> Floats:
    """The score with `parents`, then with each candidate added to them or taken away."""
    states = sizes if states is None else states
    toggled = [[p for p in parents if p != c] if c in parents else [*parents, c] for c in candidates]
    found = []
    for some in [list(parents), *toggled]:
        shape = [*(states[p] for p in some), sizes[child]]
        counts = family_counts(codes, shape, [*some, child], weights).reshape(-1, sizes[child])
        found.append(family_score(counts, kind, number, regret))
    return np.array(found)


def g_tests(
    codes: Array,
    sizes: Sequence[int],
    x: int,
    given: Sequence[int],
    candidates: Sequence[int],
    weights: Floats | None = None,
) -> Floats:
    """G² of x and each candidate given the columns `given`, and its degrees of freedom by the values that occur."""
    found = []
    for z in candidates:
        family = [*given, x, z]
        n = family_counts(codes, [sizes[j] for j in family], family, weights).reshape(-1, sizes[x], sizes[z])
        by_x, by_z, whole = n.sum(axis=2), n.sum(axis=1), n.sum(axis=(1, 2))
        g = 2 * (xlogy(n, n).sum() - xlogy(by_x, by_x).sum() - xlogy(by_z, by_z).sum() + xlogy(whole, whole).sum())
        freedom = ((by_x > 0).sum(axis=1) - 1) * ((by_z > 0).sum(axis=1) - 1)
        found.append((g, freedom[whole > 0].sum()))
    return np.array(found, dtype=np.float64).reshape(-1, 2)


def best_network(
    codes: Array,
    sizes: Sequence[int],
    weights: Array,
    cells: Floats,
    below: Sequence[int],
    ess: float,
    price: float,
    most: int,
    required: Sequence[int],
    forbidden: Sequence[int],
) -> tuple[list[int], float]:
    """The best over all orders of the nodes, each taking the best of all sets of those before it."""
    d = len(sizes)

    def added(columns: int, table: int) -> float:
        family = [j for j in range(d) if columns >> j & 1]
        shape = [sizes[j] for j in family]
        counts = family_counts(codes, shape, family, weights).ravel() if family else weights.sum(keepdims=True)
        counts = counts[counts > 0].astype(np.int64)
        a = ess / np.prod(shape)
        return float((gammaln(a + counts) - gammaln(a)).sum() if ess > 0 else cells[table][counts].sum())

    def score(v: int, parents: int) -> float:
        q = np.prod([sizes[j] for j in range(d) if parents >> j & 1])
        return added(parents | 1 << v, 0) - added(parents, below[v]) - price * q * (sizes[v] - 1)

    choices = [
        [
            (score(v, p), p)
            for p in range(1 << d)
            if p.bit_count() <= most and not p & (1 << v | forbidden[v]) and p & required[v] == required[v]
        ]
        for v in range(d)
    ]
    best: tuple[float, list[int]] = (-np.inf, [0] * d)
    for order in itertools.permutations(range(d)):
        before, total, parents = 0, 0.0, [0] * d
        for v in order:
            top = max((c for c in choices[v] if not c[1] & ~before), default=(-np.inf, 0), key=lambda c: c[0])
            total, parents[v], before = total + top[0], top[1], before | 1 << v
        best = max(best, (total, parents), key=lambda found: found[0])
    return best[1], best[0]
