"""Kernels of the networks: elimination orders, the junction tree, one step of variable elimination.

Symbols: n nodes; a list of lists travels as (offsets int64, items int32). What comes in was checked by its caller: node
indices lie in 0 … n−1, tables have the size that their axes call for.
"""

from __future__ import annotations

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


def elimination_order(adjacency: Sequence[Sequence[int]], sizes: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """A greedy elimination order of an undirected graph, and the maximal cliques of the triangulation it gives."""
    order, cliques = native().elimination_order(*ragged(adjacency), np.asarray(sizes, np.int32))
    return order, cliques


def junction_plan(sizes: Sequence[int], parents: Sequence[Sequence[int]]) -> Any:
    """The compiled tree of a network's graph; it knows its `bytes` before any table is multiplied in (`fill`)."""
    return native().JunctionPlan(np.asarray(sizes, np.int32), *ragged(parents))


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


def combine_factors(
    sizes: Sequence[int],
    scopes: Sequence[Sequence[int]],
    tables: Sequence[Floats],
    keep: Sequence[bool],
    maximise: bool,
) -> tuple[Floats, float]:
    """Σ (or max) of Π tables onto the axes to keep; axis k has sizes[k] states, scopes[f] are the axes of table f.

    The result is the table times e^second; the second is 0 unless the product could fall below the smallest float.

    >>> tables = [np.array([1.0, 2.0]), np.arange(4.0)]
    >>> table, log_scale = combine_factors([2, 2], [[0], [1, 0]], tables, [True, False], False)
    >>> table.tolist(), log_scale
    ([2.0, 8.0], 0.0)
    """
    kept = int(np.prod([s for s, k in zip(sizes, keep) if k], dtype=np.int64))
    out = np.empty(kept)
    flat = np.concatenate([*tables, np.empty(0)])
    log_scale = native().combine_factors(
        np.asarray(sizes, np.int32),
        *ragged(scopes),
        starts(len(t) for t in tables),
        flat,
        np.asarray(keep, np.uint8),
        maximise,
        out,
    )
    return out, log_scale


GibbsStep = tuple[Codes, Codes, NDArray[np.int64], Codes]


def gibbs_chains(
    tables: Sequence[Floats],
    graph: tuple[Sequence[int], Sequence[int], Sequence[Sequence[int]]],
    findings: tuple[Codes, Codes],
    blocks: Sequence[GibbsStep],
    choice: NDArray[np.int64],
    place: NDArray[np.int64],
    seeds: NDArray[np.uint64],
    schedule: tuple[int, int, int, int, int],
    threads: int,
) -> Floats:
    """Mean conditional probabilities of every node, by chain and batch: an array (chains, batches, Σ_v r_v).

    The tables are those of the nodes, then the likelihoods of the soft findings; the graph is (order, sizes, parents), the
    findings (state or −1, nodes of the soft ones). A block is (nodes, factors, offsets (states, factors), values (states,
    nodes)), its states in lexicographic order; in joint state j it adds offsets[j, i] to the place of factor i. `choice`
    (chains, blocks) and `place` (chains, factors) are where the chains begin, and afterwards where they ended. The schedule
    is (burn-in, thinning, batches, kept sweeps a batch, sweeps between leaps).
    """
    order, sizes, parents = graph
    burn_in, thin, batches, length, leap = schedule
    out = np.empty((len(seeds), batches, sum(sizes)))
    native().gibbs(
        np.concatenate(tables),
        starts(len(t) for t in tables),
        np.asarray(order, np.int32),
        np.asarray(sizes, np.int32),
        *ragged(parents),
        *findings,
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
        threads,
    )
    return out


def draw_forward(
    order: Sequence[int],
    sizes: Sequence[int],
    parents: Sequence[Sequence[int]],
    tables: Sequence[Floats],
    findings: tuple[Codes, NDArray[np.int64], Floats],
    seeds: NDArray[np.uint64],
    rows: int,
    threads: int,
) -> tuple[Codes, Floats]:
    """Cases drawn parents first, findings held: codes (rows, n) and the log weight of each case.

    The findings are (state or −1, where a soft finding's likelihoods begin or −1, likelihoods). Each seed draws
    `FORWARD_CHUNK` cases, the last what is left.
    """
    x = np.empty((rows, len(sizes)), np.int32)
    log_weight = np.empty(rows)
    native().forward(
        np.asarray(order, np.int32),
        np.asarray(sizes, np.int32),
        *ragged(parents),
        starts(len(t) for t in tables)[:-1].copy(),
        np.concatenate(tables),
        *findings,
        seeds,
        FORWARD_CHUNK,
        x,
        log_weight,
        threads,
    )
    return x, log_weight


FORWARD_CHUNK = 1024  # cases a seed: fixed, so that threads change no draw
