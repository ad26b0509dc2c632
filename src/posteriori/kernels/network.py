"""Kernels of the networks: elimination orders, the junction tree, one step of variable elimination.

Symbols: n nodes; a list of lists travels as (offsets int64, items int32). What comes in was checked by its caller: node
indices lie in 0 … n−1, tables have the size that their axes call for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Codes, Floats
from . import native


def ragged(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], Codes]:
    """Lists laid end to end, and where each begins.

    >>> [part.tolist() for part in ragged([[1, 2], [], [0]])]
    [[0, 2, 2, 3], [1, 2, 0]]
    """
    return starts(len(part) for part in lists), np.fromiter(chain.from_iterable(lists), np.int32)


def starts(lengths: Iterable[int]) -> NDArray[np.int64]:
    """0 and the running sums of the lengths.

    >>> starts([2, 0, 1]).tolist()
    [0, 2, 2, 3]
    """
    return np.cumsum(np.fromiter(chain([0], lengths), np.int64))


def elimination_order(
    adjacency: Sequence[Sequence[int]], sizes: Sequence[int], budget: float = np.inf
) -> tuple[list[int], list[list[int]], float, list[int]]:
    """A greedy elimination order of an undirected graph, the maximal cliques it leaves, and its figures.

    The figures are the cells of all its steps, and the nodes of the largest. Where every order found needs more cells than
    the budget, order and cliques are empty; so they are, too, for graphs of more than 20,000 nodes that are all dense.
    """
    found: tuple[list[int], list[list[int]], float, list[int]] = native().elimination_order(
        *ragged(adjacency), np.asarray(sizes, np.int32), budget
    )
    return found


def junction_plan(sizes: Sequence[int], parents: Sequence[Sequence[int]], budget: float) -> Any:
    """The compiled tree of a network's graph; it knows its `bytes` before any table is multiplied in (`fill`).

    A tree over the budget, in bytes, is not laid out: only its figures are known.
    """
    return native().JunctionPlan(np.asarray(sizes, np.int32), *ragged(parents), budget)


def junction_state(plan: Any) -> Any:
    """Buffers and findings for one questioner of a filled plan."""
    return native().JunctionState(plan)


def junction_batch(
    plan: Any, cases: Codes, targets: Codes, width: int, threads: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """Marginals of the targets side by side for every case (−1 missing), and which cases are possible."""
    out = np.empty((len(cases), width))
    possible = np.empty(len(cases), np.uint8)
    native().junction_batch(plan, cases, targets, out, possible, threads)
    return out, possible.astype(bool)


PARTS, PART_CELLS = 16, 1 << 24  # parts of the rows that are counted apart: fixed, so that threads change no sum


def junction_expected(
    plan: Any, cases: Codes, weights: Floats, offsets: NDArray[np.int64], threads: int
) -> tuple[Floats, Floats]:
    """Σ_r weights[r] · P(x_family | case r) of the families that a case does not state whole, tables end to end from
    `offsets` on; and log P(case r), −∞ where a case is impossible.
    """
    cells = int(offsets[-1])
    out = np.empty((max(1, min(PARTS, PART_CELLS // max(cells, 1), len(cases))), cells))
    log_probability = np.empty(len(cases))
    native().junction_expected(plan, cases, weights, offsets, out, log_probability, threads)
    return out.sum(axis=0), log_probability


def combine_factors(
    sizes: Sequence[int],
    scopes: Sequence[Sequence[int]],
    tables: Sequence[Floats],
    logs: Sequence[bool],
    keep: Sequence[bool],
    maximise: bool,
) -> tuple[Floats, float, bool]:
    """Σ (or max) of Π tables onto the axes to keep; axis k has sizes[k] states, scopes[f] are the axes of table f.

    The result is the table, whose largest cell is 1, times e^second; −∞ says that all is zero. Tables marked in `logs` are
    logarithms, and so is the result where the third is true: its cells lie further apart than floats reach.

    >>> tables = [np.array([1.0, 2.0]), np.arange(4.0)]
    >>> table, log_scale, wide = combine_factors([2, 2], [[0], [1, 0]], tables, [False, False], [True, False], False)
    >>> table.tolist(), round(np.exp(log_scale), 12), wide
    ([0.25, 1.0], np.float64(8.0), False)
    """
    out = np.empty(math.prod(s for s, k in zip(sizes, keep) if k))
    log_scale, wide = native().combine_factors(
        np.asarray(sizes, np.int32),
        *ragged(scopes),
        starts(len(t) for t in tables),
        np.concatenate([*tables, np.empty(0)]),
        np.asarray(logs, np.uint8),
        np.asarray(keep, np.uint8),
        maximise,
        out,
    )
    return out, log_scale, wide


def sum_out(
    sizes: Sequence[int],
    scopes: Sequence[Sequence[int]],
    tables: Sequence[Floats],
    logs: Sequence[bool],
    order: Sequence[int],
    budget: float,
    maximise: bool,
) -> tuple[float, list[tuple[tuple[int, ...], Floats, bool]], list[int], float, list[int]]:
    """Σ (or max) of Π tables over the nodes of the order, one after the other: variable elimination.

    Node v has sizes[v] states, scopes[f] are the nodes of table f. Returned are the log of what was scaled away (−∞: all is
    zero), the tables left (scope, table, whether it is in logarithms), the best states of a maximum in the order, the cells
    alive at the step that needs most, and its nodes. Over the budget (in cells) nothing is computed.

    >>> tables = [np.array([0.5, 0.5]), np.array([0.9, 0.1, 0.3, 0.7])]
    >>> scale, left, *_ = sum_out([2, 2], [[0], [0, 1]], tables, [False, False], [0], 1e9, False)
    >>> left[0][0], (np.exp(scale) * left[0][1]).round(4).tolist()
    ((1,), [0.6, 0.4])
    """
    scale, nodes, flat, in_logs, states, peak, widest = native().sum_out(
        np.asarray(sizes, np.int32),
        *ragged(scopes),
        starts(len(t) for t in tables),
        np.concatenate([*tables, np.empty(0)]),
        np.asarray(logs, np.uint8),
        np.asarray(order, np.int32),
        budget,
        maximise,
    )
    left, at = [], 0
    for scope, wide in zip(nodes, in_logs, strict=True):
        cells = math.prod(sizes[v] for v in scope)
        left.append((tuple(scope), flat[at : at + cells], wide))
        at += cells
    return scale, left, states, peak, widest


Tables = Sequence[tuple[Sequence[int], Floats]]  # scope and flat table of each
Proposal = Sequence[
    tuple[int, Tables]
]  # nodes in the order they are drawn, each with the tables whose product draws it
GibbsStep = tuple[Codes, Codes, NDArray[np.int64], Codes]


def _tables(tables: Tables) -> tuple[Any, ...]:
    """Scopes and tables, end to end."""
    flat = np.concatenate([np.empty(0), *(table for _, table in tables)])
    return *ragged([list(scope) for scope, _ in tables]), starts(len(table) for _, table in tables), flat


def gibbs_chains(
    sizes: Sequence[int],
    fixed: Codes,
    factors: Tables,
    proposal: tuple[Proposal, float],
    blocks: Sequence[GibbsStep],
    choice: NDArray[np.int64],
    place: NDArray[np.int64],
    seeds: NDArray[np.uint64],
    schedule: tuple[int, int, int, int, int],
    threads: int,
    keep: bool = False,
) -> tuple[Floats, Floats, Codes]:
    """Mean conditional probabilities of every node, by chain and batch (chains, batches, Σ_v r_v), and Σ w/W by chain.

    And the states after each kept sweep (chains, sweeps, nodes), or after none.

    `fixed` holds the states of the hard findings. The proposal of the leaps comes with the log of the largest weight W that
    a case can have. A block is (nodes, factors, offsets (states, factors), values (states, nodes)), its states in
    lexicographic order; in joint state j it adds offsets[j, i] to the place of factor i. `choice` (chains, blocks) and
    `place` (chains, factors) are where the chains begin, and afterwards where they ended. The schedule is (burn-in,
    thinning, batches, kept sweeps a batch, sweeps between leaps); without leaps, 0, it is the pure walk, which counts the
    states that it draws.
    """
    burn_in, thin, batches, length, leap = schedule
    out, fresh = np.empty((len(seeds), batches, sum(sizes))), np.empty(len(seeds))
    kept = np.empty((len(seeds), batches * length if keep else 0, len(sizes)), np.int32)
    scope_offsets, scopes, offsets, flat = _tables(factors)
    drawn, log_bound = proposal
    native().gibbs(
        np.asarray(sizes, np.int32),
        fixed,
        flat,
        offsets,
        scope_offsets,
        scopes,
        np.array([v for v, _ in drawn], np.int32),
        starts(len(tables) for _, tables in drawn),
        *_tables([table for _, tables in drawn for table in tables]),
        log_bound,
        *ragged([b[0].tolist() for b in blocks]),
        *ragged([b[1].tolist() for b in blocks]),
        np.array([len(b[3]) for b in blocks], np.int64),
        np.concatenate([np.empty(0, np.int64), *(b[2].ravel() for b in blocks)]),
        np.concatenate([np.empty(0, np.int32), *(b[3].ravel() for b in blocks)]),
        choice,
        place,
        seeds,
        burn_in,
        thin,
        length,
        leap,
        out,
        fresh,
        kept,
        threads,
    )
    return out, fresh, kept


def draw_cases(
    sizes: Sequence[int],
    fixed: Codes,
    proposal: Proposal,
    counted: int,
    terms: Tables,
    seeds: NDArray[np.uint64],
    rows: int,
    threads: int,
) -> tuple[Codes, Floats]:
    """Cases (rows, n) drawn a node at a time, findings held, and their log weights Σ ln terms − ln q.

    q counts the first `counted` nodes of the proposal. Each seed draws `CHUNK` cases, the last what is left.
    """
    x = np.tile(fixed, (rows, 1))
    log_weight = np.empty(rows)
    native().draw_cases(
        np.asarray(sizes, np.int32),
        counted,
        np.array([v for v, _ in proposal], np.int32),
        starts(len(tables) for _, tables in proposal),
        *_tables([*(table for _, tables in proposal for table in tables), *terms]),
        seeds,
        CHUNK,
        x,
        log_weight,
        threads,
    )
    return x, log_weight


CHUNK = 1024  # cases a seed: fixed, so that threads change no draw
