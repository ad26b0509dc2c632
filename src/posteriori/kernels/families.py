"""Families of columns: scores of a child with its parents, tests of independence, and the searches that ask for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import Array, Bools, Floats
from . import n_threads, native

KINDS = ("penalised", "bdeu", "k2", "fnml")
Climbed = tuple[list[list[int]], list[float], list[tuple[int, int, int, float, float]], bool]
NARROW = 16  # columns of more states have no bitmaps


def value_bitmaps(codes: Array, states: Sequence[int], n_jobs: int | None = None) -> Array:
    """For each state of each column of at most 16 states the rows that have it, a bit each; made once for many calls.

    >>> value_bitmaps(np.array([[0, 1, 1]], np.uint8), [2])[:, 0].tolist()
    [1, 6]
    """
    words = -(-codes.shape[1] // 256) * 4
    out = np.zeros((sum(s for s in states if s <= NARROW), words), dtype=np.uint64)
    native().value_bitmaps(codes, list(states), out, n_threads(n_jobs, codes.size))
    return out


def toggle_scores(
    codes: Array,
    sizes: Sequence[int],
    child: int,
    parents: Sequence[int],
    candidates: Sequence[int],
    kind: str,
    number: float,
    weights: Floats | None = None,
    *,
    states: Sequence[int] | None = None,
    x_log_x: Floats | None = None,
    regret: Floats | None = None,
    bits: Array | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """[0] the score of the child with `parents`; [1 + k] with candidate k added, or taken away if it is one of them.

    `codes` is a matrix [column, row]. A child's code that is not below its column's size leaves the row out, as does a
    parent's that is not below `states` (the sizes unless told). The score sums over the configurations π of the parents,
    from N[π, x]: "penalised" Σ_x N ln(N[π, x]/N[π]) less `number` for each of the q(r − 1) parameters; "fnml" the same less
    `regret[N[π]]`; "bdeu" and "k2" ln Γ(a r)/Γ(a r + N[π]) + Σ_x ln Γ(a + N[π, x])/Γ(a) with a = number/(q r), or 1.
    `x_log_x` is N ln N for whole counts 0, 1, …, none of which may be passed.

    >>> codes = np.array([[0, 0, 1, 1], [0, 0, 1, 0]], np.uint8)
    >>> toggle_scores(codes, [2, 2], 1, [], [0], "penalised", 0.0).round(4).tolist()
    [-2.2493, -1.3863]
    """
    out = np.empty(len(candidates) + 1)
    native().toggle_scores(
        codes,
        list(sizes),
        list(sizes if states is None else states),
        weights,
        bits,
        child,
        list(parents),
        list(candidates),
        KINDS.index(kind),
        float(number),
        x_log_x,
        regret,
        out,
        n_threads(n_jobs, codes.shape[1] * (len(candidates) + 1) // (1 if bits is None else 4)),
    )
    return out


def g_tests(
    codes: Array,
    sizes: Sequence[int],
    x: int,
    given: Sequence[int],
    candidates: Sequence[int],
    weights: Floats | None = None,
    *,
    x_log_x: Floats | None = None,
    bits: Array | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """[k, 0] G² = 2 Σ N ln(N·N[π]/(N[π, x] N[π, z])) of x and candidate z given π; [k, 1] its degrees of freedom.

    Those are Σ_π (values of x − 1)(values of z − 1), of the values that occur with π. Missing cells leave a row out.

    >>> codes = np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.uint8)
    >>> g_tests(codes, [2, 2], 0, [], [1]).round(4).tolist()
    [[5.5452, 1.0]]
    """
    out = np.empty((len(candidates), 2))
    threads = n_threads(n_jobs, codes.shape[1] * len(candidates) // (1 if bits is None else 4))
    native().g_tests(codes, list(sizes), weights, bits, x, list(given), list(candidates), x_log_x, out, threads)
    return out


def walk(
    start: Sequence[Sequence[int]],
    *,
    required: Bools,
    forbidden: Bools,
    most: int,
    least: float,
    symmetric: bool,
    tabu: int = 0,
    restarts: int = 0,
    orders: int = 0,
    seed: int = 0,
    moves: int = 1 << 62,
    tell: Callable[..., bool] | None = None,
) -> tuple[Any, ...]:
    """How a network is climbed, whatever the scores: from the parents in `start`, by these rules.

    `required[u, v]` and `forbidden[u, v]` are arrows, `most` the parents of a node, and scores that differ by no more than
    `least` are equal; `symmetric` says that on no other parents u → v is worth as much as v → u. Where no step gains, nodes
    are moved in their order, until so many `orders` in a row were in vain, or, of more than 16 nodes, until that has asked
    for `moves` scores and four times those of the climb before. `tell(move, u, v, gain, score)` hears of each step and
    `tell()` between them; where one is not true, or on Ctrl-C without it, the search ends.
    """
    rules = np.ascontiguousarray(required), np.ascontiguousarray(forbidden)
    steps = tabu, restarts, orders, seed, moves, tell
    return [sorted(some) for some in start], *rules, most, float(least), symmetric, *steps


def climb(
    codes: Array,
    sizes: Sequence[int],
    start: Sequence[Sequence[int]],
    kind: str,
    number: float,
    weights: Floats | None = None,
    *,
    states: Sequence[int] | None = None,
    x_log_x: Floats | None = None,
    regrets: Sequence[Floats] = (),
    bits: Array | None = None,
    n_jobs: int | None = None,
    **rules: Any,
) -> Climbed:
    """The parents of the best network met, their scores, the steps (move, u, v, gain, score), and if it finished.

    Scores are those of `toggle_scores`, `regrets` by child; the rules are those of `walk`.

    >>> codes = np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.uint8)
    >>> no = np.zeros((2, 2), bool)
    >>> rules = {"required": no, "forbidden": no, "most": 1, "least": 0.0, "symmetric": True}
    >>> climb(codes, [2, 2], [[], []], "penalised", 0.5, **rules)[0]
    [[], [0]]
    """
    found: Climbed = native().climb(
        codes,
        list(sizes),
        list(sizes if states is None else states),
        weights,
        bits,
        KINDS.index(kind),
        float(number),
        x_log_x,
        list(regrets),
        walk(start, **rules),
        n_threads(n_jobs, 1 << 40),
    )
    return found


def climb_asking(
    ask: Callable[[int, list[int], list[int]], Sequence[float]], start: Sequence[Sequence[int]], **rules: Any
) -> Climbed:
    """`climb` by scores of another kind: `ask(child, parents, candidates)` gives what `toggle_scores` would.

    >>> no = np.zeros((2, 2), bool)
    >>> rules = {"required": no, "forbidden": no, "most": 1, "least": 0.0, "symmetric": True}
    >>> climb_asking(lambda v, parents, some: [len(parents), *(1 - len(parents) for _ in some)], [[], []], **rules)[0]
    [[], [0]]
    """
    found: Climbed = native().climb_asking(ask, walk(start, **rules))
    return found


def best_network(
    codes: Array,
    sizes: Sequence[int],
    weights: Array,
    cells: Floats,
    below: Sequence[int],
    ess: float,
    price: float,
    most: int,
    equal: float,
    required: Sequence[int],
    forbidden: Sequence[int],
    seconds: float = math.inf,
    n_jobs: int | None = None,
) -> tuple[list[int], float] | None:
    """The parents of every node, as bits, in a network of greatest score, and that score; −∞ where none is allowed.

    None where that takes more than so many `seconds`.

    Scores are s(v | P) = Σ cells[0][N(P ∪ v)] − Σ cells[below[v]][N(P)] − price q (r − 1), the sums over the cells that
    occur; with `ess` above 0 a cell of the set S adds ln Γ(a + N)/Γ(a), a = ess/|S|, instead. `codes` are uint16, none of
    them missing, `weights` uint32 say how often a row occurs, `required` and `forbidden` are bits of parents.

    >>> same = np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.uint16)
    >>> logs = np.array([[0, 0, 2 * np.log(2), 3 * np.log(3), 4 * np.log(4)]])
    >>> best_network(same, [2, 2], np.ones(4, np.uint32), logs, [0, 0], 0.0, 0.5, 1, 0.0, [0, 0], [0, 0])[0]
    [2, 0]
    """
    parents, score = np.zeros(len(sizes), np.uint32), np.zeros(1)
    finished = native().best_network(
        codes,
        list(sizes),
        weights,
        cells,
        list(below),
        float(ess),
        float(price),
        int(most),
        float(equal),
        list(required),
        list(forbidden),
        parents,
        score,
        float(seconds),
        n_threads(n_jobs, codes.shape[1] << len(sizes)),
    )
    return ([int(p) for p in parents], float(score[0])) if finished else None
