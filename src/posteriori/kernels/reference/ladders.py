"""Losses of ladders of families, in NumPy, a row at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Array, Floats


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
                for k in range(most + 1 if known else 0):
                    rung = min(k, known - 1)
                    context = 0
                    for i in range(1, rung + 1):
                        context = context * sizes[family[i]] + x[i]
                    joint[k] += log_theta[begins[rung] + context * sizes[family[0]] + x[0]]
            for k in range(most + 1) if every or t == len(ladders) else ():
                evidence = np.logaddexp.reduce(joint[k])
                log_p = joint[k, own] - evidence if joint[k, own] > -np.inf else -np.inf
                wrong = joint[k].argmax() != own or evidence == -np.inf
                sums[k, t] += (1.0 if weights is None else weights[r]) * np.array(
                    [-log_p, (1 - np.exp(log_p)) ** 2, wrong]
                )
    return sums
