"""Scores of families: a child with its parents, and with each candidate added to them or taken away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array, Floats
from . import n_threads, native

__all__ = ["KINDS", "toggle_scores"]

KINDS = ("penalised", "bdeu", "k2")


def toggle_scores(
    codes: Array,
    sizes: Sequence[int],
    child: int,
    parents: Sequence[int],
    candidates: Sequence[int],
    kind: str,
    number: float,
    weights: Floats | None = None,
    x_log_x: Floats | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """[0] the score of the child with `parents`; [1 + k] with candidate k added, or taken away if it is one of them.

    `codes` is a matrix [column, row]; a code that is not below its column's size is missing. The score sums over the
    configurations π of the parents, from N[π, x]: "penalised" Σ_x N ln(N[π, x]/N[π]) less `number` for each of the q(r − 1)
    parameters; "bdeu" and "k2" ln Γ(a r)/Γ(a r + N[π]) + Σ_x ln Γ(a + N[π, x])/Γ(a) with a = number/(q r), or 1.
    `x_log_x` is N ln N for 0 … n rows, made once for many calls.

    >>> codes = np.array([[0, 0, 1, 1], [0, 0, 1, 0]], np.uint8)
    >>> toggle_scores(codes, [2, 2], 1, [], [0], "penalised", 0.0).round(4).tolist()
    [-2.2493, -1.3863]
    """
    out = np.empty(len(candidates) + 1)
    work = codes.shape[1] * (len(candidates) + 1)
    native().toggle_scores(
        codes,
        list(sizes),
        weights,
        child,
        list(parents),
        list(candidates),
        KINDS.index(kind),
        float(number),
        x_log_x,
        out,
        n_threads(n_jobs, work),
    )
    return out
