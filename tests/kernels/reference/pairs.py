"""Several columns together, in NumPy: pairs, rows under super-parents, ladders.

Symbols: n rows, d columns, K classes; column j has codes 0 … S_j − 1, and S_j for missing. Tables of the pairs i < j follow
each other in the order (0,1), (0,2), …, (1,2), …; the table of (i, j) is [xi, xj, y], the class fastest.

A table theta[R, C, K] has a row for every value of every super-parent and a column for every value of every
attribute; a row of data names one table row for each super-parent and one table column for each attribute, negative where
it takes no part.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from posteriori.arrays import Array, Floats


def count_pairs(
    columns: Sequence[Array], sizes: Sequence[int], y: Array, n_classes: int, weights: Floats | None = None
) -> Array:
    """N[xi, xj, y] of all pairs, stacked: shape (Σ_{i<j} S_i·S_j, K); int64 without weights."""
    tables = [np.zeros((0, n_classes), dtype=np.int64 if weights is None else np.float64)]
    for i in range(len(columns)):
        for j in range(i + 1, len(columns)):
            seen = (columns[i] < sizes[i]) & (columns[j] < sizes[j])
            a, b, c = (v[seen].astype(np.int64) for v in (columns[i], columns[j], y))
            cells = sizes[i] * sizes[j]
            flat = (a * sizes[j] + b) * n_classes + c
            counted = np.bincount(flat, None if weights is None else weights[seen], minlength=cells * n_classes)
            tables.append(counted.reshape(cells, n_classes))
    return np.concatenate(tables)


def sum_of_products(rows: Array, cells: Array, theta: Floats, n_classes: int) -> Floats:
    """out[r, y] = ln Σ_s Π_j theta[rows[r, s], cells[r, j], y]; −inf where no super-parent takes part."""
    out = np.full((len(rows), n_classes), -np.inf)
    with np.errstate(divide="ignore"):
        log_theta = np.log(theta[:, :, :n_classes])
    for r in range(len(rows)):
        seen = cells[r][cells[r] >= 0]
        for row in rows[r][rows[r] >= 0]:
            out[r] = np.logaddexp(out[r], log_theta[row, seen].sum(axis=0))
    return out


def leave_one_out(
    codes: Array,
    first: Array,
    y: Array,
    theta: Floats,
    own: Floats,
    totals: Floats | None,
    prior: Floats,
    prior_own: Floats,
    weights: Floats | None = None,
) -> Floats:
    """Weighted sums [d, 3] of log loss, squared error of P(true) and 0-1 loss with each attribute as the super-parent.

    The factors of a row's own class come from `own` (probabilities without the row) or, with `totals`, from
    (own − w)/(totals − w), w = min(weight, 1). A missing super-parent is summed over its values, from none of which the
    row can be taken away.
    """
    n, d = codes.shape
    K = len(prior)
    sums = np.zeros((d, 3))
    with np.errstate(divide="ignore"):
        for r in range(n):
            w = 1.0 if weights is None else float(weights[r])
            seen = np.flatnonzero(codes[r] >= 0)
            for i in range(d):
                values = [codes[r, i]] if codes[r, i] >= 0 else range(first[i], first[i + 1])
                blank = codes[r, i] < 0
                terms = np.array(
                    [np.log(theta[v, codes[r, seen], :K]).sum(axis=0) + blank * np.log(theta[v, v, :K]) for v in values]
                )
                joint = np.logaddexp.reduce(terms, axis=0) + np.log(prior)
                c = y[r]
                joint[c] += np.log(prior_own[r]) - np.log(prior[c])
                if codes[r, i] >= 0:
                    factors = own[codes[r, i], codes[r, seen], c]
                    if totals is not None:
                        factors = (factors - min(w, 1.0)) / (totals[codes[r, i], seen, c] - min(w, 1.0))
                    joint[c] = np.log(prior_own[r]) + np.log(factors).sum()
                log_posterior = joint - np.logaddexp.reduce(joint)
                p = np.exp(log_posterior[c])
                sums[i] += w * np.array([-log_posterior[c], (1 - p) ** 2, joint.argmax() != c])
    return sums


def pair_tables(
    scopes: Array,
    offsets: Array,
    cells: Array | None,
    counts: Array,
    sizes: Sequence[int],
    keys: Array,
    smoothing: float,
) -> Floats:
    """θ[ab, c, y] = (N[a, b, c, y] + λ)/(Σ_c N + Sλ) of the pairs of values ab that `keys` name, 1/S where that is 0/0.

    Counts are of triples of columns, [x_i, x_j, x_k, y] each, all cells or those named; a key is a cell counted on through
    all pairs of columns. The values of the pair's own columns have 1, and so have classes that only fill up.
    """
    d, K = len(sizes), counts.shape[1]
    padded = 2 if K <= 2 else -(-K // 4) * 4
    place = np.concatenate([[0], np.cumsum(sizes)])
    theta = np.ones((len(keys), int(place[-1]), padded))
    triples = {}
    for s, scope in enumerate(scopes.tolist()):
        full, at = np.zeros((math.prod(sizes[j] for j in scope), K)), slice(offsets[s], offsets[s + 1])
        full[slice(None) if cells is None else cells[at]] = counts[at]
        triples[tuple(scope)] = full.reshape(*(sizes[j] for j in scope), K)
    first = 0
    for i, j in itertools.combinations(range(d), 2):
        for r in np.flatnonzero((keys >= first) & (keys < first + sizes[i] * sizes[j])):
            value = dict(zip((i, j), divmod(int(keys[r]) - first, sizes[j])))
            for k in range(d):
                if k in (i, j) or not sizes[k]:
                    continue
                scope = tuple(sorted((i, j, k)))
                n = triples[scope][tuple(value.get(c, slice(None)) for c in scope)]
                whole = n.sum(axis=0) + sizes[k] * smoothing
                with np.errstate(invalid="ignore", divide="ignore"):
                    theta[r, place[k] : place[k + 1], :K] = np.where(whole > 0, (n + smoothing) / whole, 1 / sizes[k])
        first += sizes[i] * sizes[j]
    return theta


def ladder_losses(
    columns: Sequence[Array],
    sizes: Sequence[int],
    ladders: Sequence[tuple[Sequence[int], Sequence[int]]],
    log_theta: Floats,
    start: Floats,
    y: Array,
    most: int,
    every: bool,
    weights: Floats | None = None,
) -> Floats:
    """Weighted sums [k, t, 3] of log loss, squared error of P(y|x) and 0-1 loss: up to k parents, the first t ladders.

    A row whose class is impossible has lost: its log loss is infinite, its squared error 1.
    """
    sums = np.zeros((most + 1, len(ladders) + 1, 3))
    for r, own in enumerate(y):
        joint = np.tile(start, (most + 1, 1))
        for t in range(len(ladders) + 1):
            if t:
                family, begins = ladders[t - 1]
                x = [int(columns[j][r]) for j in family]
                known = next(
                    (i for i, j in enumerate(family) if x[i] >= sizes[j]), len(family)
                )  # the first is the child
                for k in range(len(joint) if known else 0):
                    rung = min(k, known - 1)
                    context = 0
                    for i in range(1, rung + 1):
                        context = context * sizes[family[i]] + x[i]
                    joint[k] += log_theta[begins[rung] + context * sizes[family[0]] + x[0]]
            for k in range(len(joint)) if every or t == len(ladders) else ():
                evidence = np.logaddexp.reduce(joint[k])
                log_p = joint[k, own] - evidence if joint[k, own] > -np.inf else -np.inf
                wrong = joint[k].argmax() != own or evidence == -np.inf
                sums[k, t] += (1.0 if weights is None else weights[r]) * np.array(
                    [-log_p, (1 - np.exp(log_p)) ** 2, wrong]
                )
    return sums
