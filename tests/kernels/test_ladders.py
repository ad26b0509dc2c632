"""Losses of ladders against their twin: missing cells, impossible classes, weights, every number of threads."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from posteriori import kernels

from .reference import pairs as reference


def case(seed, K, n, zeros, missing):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    sizes = rng.integers(1 if seed % 3 else 0, 4, d).tolist()
    kinds = [np.uint8, np.uint16, np.uint32]
    columns = [rng.integers(0, max(s + missing, 1), n).astype(kinds[j % 3]) for j, s in enumerate(sizes)]
    order, ladders, cells = rng.permutation(d).tolist(), [], 0
    for t, j in enumerate(order):
        family = [j, *rng.permutation(order[:t])[: rng.integers(0, 4)].tolist()]
        begins = []
        for rung in range(len(family)):
            begins.append(cells)
            cells += math.prod(sizes[i] for i in family[: rung + 1])
        ladders.append((family, begins))
    with np.errstate(divide="ignore"):
        theta = np.log(rng.random((cells, K)) * (rng.random((cells, K)) >= zeros)) * 10.0 ** rng.integers(0, 4)
    start, y = np.log(rng.dirichlet(np.ones(K))), rng.integers(0, K, n).astype(np.uint8)
    return columns, sizes, ladders, theta, start, y, rng.random(n) * 2


@given(
    st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 60), st.integers(0, 3), st.booleans(), st.booleans(),
    st.sampled_from([0.0, 0.02, 0.3]), st.booleans(),
)  # fmt: skip
def test_ladder_losses_is_reference(seed, K, n, most, every, weighted, zeros, missing):
    *args, weights = case(seed, K, n, zeros, int(missing))
    w = weights if weighted else None
    found = kernels.ladder_losses(*args, most, every, w)
    assert np.allclose(found, reference.ladder_losses(*args, most, every, w), rtol=1e-10, atol=1e-10)


@given(st.integers(0, 10**6), st.booleans())
def test_threads_change_nothing(seed, weighted):
    *args, weights = case(seed, 3, 20_000, 0.0, 1)
    found = [kernels.ladder_losses(*args, 3, True, weights if weighted else None, n_jobs=jobs) for jobs in (1, 2, 5)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
