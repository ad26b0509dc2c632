"""Rows of a hybrid network: ln P(target, what is known) by enumeration, whatever is missing, whatever the block."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import posteriori as po
from posteriori.errors import MemoryBudgetError
from posteriori.network import rows as of_rows
from posteriori.network.gaussian import Gaussians
from posteriori.network.regression import Regression

SIZES = {"a": 2, "b": 3, "c": 2}


def made(seed):
    rng = np.random.default_rng(seed)
    tables = {"a": rng.dirichlet(np.ones(2)), "b": rng.dirichlet(np.ones(3), 2), "c": rng.dirichlet(np.ones(2), (2, 3))}
    states = {n: tuple(f"{n}{i}" for i in range(s)) for n, s in SIZES.items()}
    net = po.BayesNet([("a", "b"), ("a", "c"), ("b", "c")], tables, states=states)
    fit = Regression(rng.normal(size=3), np.zeros((3, 0)), rng.random(3) + 0.3)
    more = Regression(rng.normal(size=2), rng.normal(size=(2, 1)), rng.random(2) + 0.3)
    given = {"x": (("b",), ()), "y": (("c",), ("x",))}
    return net, Gaussians(("x", "y"), given, {"x": fit, "y": more}, SIZES), tables


def by_hand(tables, g, codes, x, target):
    """Σ over what is not known, y without x integrated by its normal."""
    out = np.zeros(SIZES[target]) if target else np.zeros(1)
    names = list(SIZES)
    free = [range(SIZES[n]) if (codes[i] < 0 or n == target) else [codes[i]] for i, n in enumerate(names)]
    fx, fy = g.regressions["x"], g.regressions["y"]
    for a, b, c in itertools.product(*free):
        p = tables["a"][a] * tables["b"][a][b] * tables["c"][a][b][c]
        slope, spread = fy.beta[c, 0], fy.variance[c]
        if not np.isnan(x[0]):
            p *= norm.pdf(x[0], fx.alpha[b], np.sqrt(fx.variance[b]))
            if not np.isnan(x[1]):
                p *= norm.pdf(x[1], fy.alpha[c] + slope * x[0], np.sqrt(spread))
        elif not np.isnan(x[1]):
            p *= norm.pdf(x[1], fy.alpha[c] + slope * fx.alpha[b], np.sqrt(spread + slope**2 * fx.variance[b]))
        out[{"a": a, "b": b, "c": c}[target] if target else 0] += p
    return out


@given(st.integers(0, 200), st.sampled_from([None, "a", "b", "c"]), st.sampled_from([1, 1 << 25]))
def test_rows_by_enumeration(seed, target, block):
    net, g, tables = made(seed % 10)
    rng = np.random.default_rng(seed)
    n = 12
    codes = np.column_stack([rng.integers(-1, s, n) for s in SIZES.values()]).astype(np.int32)
    x = rng.normal(size=(n, 2))
    x[rng.random((n, 2)) < 0.3] = np.nan
    old, of_rows.BLOCK = of_rows.BLOCK, block
    try:
        found = of_rows.HybridRows(net, g).log_joint(codes, x, target)
    finally:
        of_rows.BLOCK = old
    assert found.shape == ((n,) if target is None else (n, SIZES[target]))
    for r in range(n):
        assert np.exp(found[r]) == pytest.approx(by_hand(tables, g, codes[r], x[r], target), rel=1e-9)


def test_numbers_far_from_all_others_keep_the_digits_of_the_states():
    net, g, _ = made(0)
    beside, common = of_rows.HybridRows(net, g).beside_common(np.full((1, 3), -1), np.array([[np.nan, 1e9]]), "a")
    assert common[0] < -1e15
    assert np.isfinite(beside).all()
    assert abs(beside).max() < 1e3
    none = of_rows.HybridRows(net, g).log_joint(np.zeros((0, 3), np.int32), np.zeros((0, 2)), "a")
    assert none.shape == (0, 2)
    assert of_rows.HybridRows(net, g).log_joint(np.full((1, 3), -1), np.full((1, 2), np.nan), None) == pytest.approx(
        [0.0]
    )


def test_impossible_rows_are_impossible():
    tables = {"a": [1.0, 0.0], "b": [[0.5, 0.5], [1.0, 0.0]]}
    net = po.BayesNet([("a", "b")], tables, states={"a": ("u", "v"), "b": ("s", "t")})
    g = Gaussians((), {}, {}, {"a": 2, "b": 2})
    found = of_rows.HybridRows(net, g).log_joint(np.array([[1, -1], [1, 1], [0, 1]]), np.zeros((3, 0)), None)
    assert np.isneginf(found[:2]).all()
    assert found[2] == pytest.approx(np.log(0.5))


def test_a_table_over_the_budget_is_refused_by_its_nodes():
    net, g, _ = made(0)
    rows = of_rows.HybridRows(net, g)
    codes, x = np.full((4, 3), -1), np.zeros((4, 2))
    needed = 32.0 * 4 * 2 * 3 * 2
    assert rows.log_joint(codes, x, "a", max_memory=needed).shape == (4, 2)
    with pytest.raises(MemoryBudgetError, match="a table of 4 rows over"):
        rows.log_joint(codes, x, "a", max_memory=32.0 * 4 * 2 * 2)
