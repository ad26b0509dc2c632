"""Numbers as likelihoods of states: normals by hand, conditioned by the textbook; rows of both by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

import posteriori as po
from posteriori.errors import MemoryBudgetError
from posteriori.network import normals as module
from posteriori.network.normals import Gaussians, Local, Regression, along, seen_of, united

seeds = st.integers(0, 300)


@given(seeds, st.integers(0, 4))
def test_lines_given_a_number_by_the_textbook(seed, m):
    rng = np.random.default_rng(seed)
    alpha, beta, sd = rng.normal(size=m), np.tril(rng.normal(size=(m, m)), -1), rng.random(m) + 0.2
    c, b, s, x = rng.normal(), rng.normal(size=m) * (rng.random(m) < 0.8), 0.5, rng.normal()
    A = np.linalg.inv(np.eye(m) - beta)
    mean, cov = A @ alpha, A @ np.diag(sd**2) @ A.T
    spread = s**2 + b @ cov @ b
    density = seen_of(alpha, beta, sd, c, b, s, x)
    assert density == pytest.approx(norm(c + b @ mean, np.sqrt(spread)).logpdf(x))
    there, root = Local((), density, tuple("hijk"[:m]), alpha, beta, sd).normal()
    assert there == pytest.approx(mean + cov @ b / spread * (x - c - b @ mean))
    assert root @ root.T == pytest.approx(cov - np.outer(cov @ b, cov @ b) / spread)


# u and v discrete; x | u;  y | x, v;  z | x;  w | v alone
GIVEN = {"x": (("u",), ()), "y": (("v",), ("x",)), "z": ((), ("x",)), "w": (("v",), ())}
SIZES = {"u": 2, "v": 3}


def gaussians(seed):
    rng = np.random.default_rng(seed)
    fits = {}
    for node, (discrete, continuous) in GIVEN.items():
        q, k = int(np.prod([SIZES[p] for p in discrete])), len(continuous)
        fits[node] = Regression(rng.normal(size=q), rng.normal(size=(q, k)), rng.random(q) + 0.2)
    return Gaussians(tuple(GIVEN), GIVEN, fits, SIZES)


def joint_normal(g, u, v):
    """Mean and covariance of (x, y, z, w) from the structural equations."""
    at = {"u": u, "v": v}
    names = list(GIVEN)
    A, b, s = np.zeros((4, 4)), np.zeros(4), np.zeros(4)
    for i, n in enumerate(names):
        d = at[GIVEN[n][0][0]] if GIVEN[n][0] else 0
        b[i], s[i] = g.regressions[n].alpha[d], g.regressions[n].variance[d]
        for j, p in enumerate(GIVEN[n][1]):
            A[i, names.index(p)] = g.regressions[n].beta[d, j]
    T = np.linalg.inv(np.eye(4) - A)
    return T @ b, T @ np.diag(s) @ T.T


@given(seeds, st.sets(st.sampled_from("xyzw")), st.sets(st.sampled_from("uv")))
def test_groups_multiply_to_the_density_of_all_that_was_seen(seed, seen, known):
    g, rng = gaussians(seed), np.random.default_rng(seed)
    n = 3
    numbers = {name: rng.normal(size=n) for name in sorted(seen)}
    codes = {name: rng.integers(0, SIZES[name], n) for name in known}
    parts = g.groups(codes, numbers)
    likelihoods, common = united(parts)
    names = list(GIVEN)
    where = [names.index(m) for m in sorted(seen)]
    for r in range(n):
        for u, v in itertools.product(range(2), range(3)):
            at = {"u": int(codes["u"][r]) if "u" in codes else u, "v": int(codes["v"][r]) if "v" in codes else v}
            mean, cov = joint_normal(g, **at)
            x = np.array([numbers[m][r] for m in sorted(seen)])
            wanted = multivariate_normal(mean[where], cov[np.ix_(where, where)]).logpdf(x) if seen else 0.0
            for whole in (
                sum(float(p.log_density[r][tuple(at[s] for s in p.scope)]) for p in parts),
                sum(float(log[r][tuple(at[s] for s in scope)]) for scope, log in likelihoods)
                + float(common[r if len(common) > 1 else 0]),
            ):
                assert whole == pytest.approx(wanted, abs=1e-8)
    for scope, log in likelihoods:
        assert not set(scope) & known
        assert log.max() <= 1e-12 or len(likelihoods) == 1
    assert not any(set(a) < set(b) for (a, _), (b, _) in itertools.permutations(likelihoods, 2))


@given(seeds, st.sampled_from("xyzw"), st.sets(st.sampled_from("xyzw")))
def test_around_a_node_is_its_normal_given_all(seed, node, seen):
    seen = seen - {node}
    g, rng = gaussians(seed), np.random.default_rng(seed)
    numbers = {name: rng.normal(size=2) for name in sorted(seen)}
    found = g.around(node, {}, numbers)
    assert node in found.hidden
    names, where = list(GIVEN), [list(GIVEN).index(m) for m in sorted(seen)]
    place = found.hidden.index(node)
    for r in range(2):
        for u, v in itertools.product(range(2), range(3)):
            mean, cov = joint_normal(g, u, v)
            i, x = names.index(node), np.array([numbers[m][r] for m in sorted(seen)])
            gain = cov[i, where] @ np.linalg.pinv(cov[np.ix_(where, where)]) if where else np.zeros(0)
            config = (
                np.ravel_multi_index([{"u": u, "v": v}[s] for s in found.scope], [SIZES[s] for s in found.scope])
                if found.scope
                else 0
            )
            there, root = found.normal()
            row = r if len(there) > 1 else 0
            assert there[row, config, place] == pytest.approx(mean[i] + gain @ (x - mean[where]), abs=1e-8)
            assert (root[row, config, place] ** 2).sum() == pytest.approx(cov[i, i] - gain @ cov[where, i], abs=1e-8)


def test_the_peak_is_that_of_the_largest_group():
    g = gaussians(0)
    one, two = g._bytes(2, 1), g._bytes(6, 3)
    assert g.peak(set(), {"x"}) == one == 8 * 2 * (4 + 8)
    assert g.peak(set(), {"y", "z"}) == two == 8 * 6 * (36 + 24)
    assert g.peak({"u", "v"}, {"y", "z"}) == g._bytes(1, 3)
    assert g.peak(set(), set()) == 0.0
    assert g.peak(set(), {"w", "x"}) == g._bytes(3, 1)


def test_axes_are_put_where_they_belong():
    log = np.arange(2 * 2 * 3.0).reshape(2, 2, 3)
    turned = along(log, ("b", "a"), ("a", "c", "b"))
    assert turned.shape == (2, 3, 1, 2)
    assert all(turned[r, a, 0, b] == log[r, b, a] for r in range(2) for a in range(3) for b in range(2))


def test_impossible_numbers_do_not_become_nan():
    never = np.full((1, 2), -np.inf)
    (found,), common = united([Local(("u",), never, (), *np.zeros((3, 1, 2, 0)))])
    assert np.isneginf(found[1]).all()
    assert common.tolist() == [0.0]
    assert united([])[1].tolist() == [0.0]


STATES = {"a": 2, "b": 3, "c": 2}


def made(seed):
    rng = np.random.default_rng(seed)
    tables = {"a": rng.dirichlet(np.ones(2)), "b": rng.dirichlet(np.ones(3), 2), "c": rng.dirichlet(np.ones(2), (2, 3))}
    states = {n: tuple(f"{n}{i}" for i in range(s)) for n, s in STATES.items()}
    net = po.BayesNet([("a", "b"), ("a", "c"), ("b", "c")], tables, states=states)
    fit = Regression(rng.normal(size=3), np.zeros((3, 0)), rng.random(3) + 0.3)
    more = Regression(rng.normal(size=2), rng.normal(size=(2, 1)), rng.random(2) + 0.3)
    given = {"x": (("b",), ()), "y": (("c",), ("x",))}
    return net, Gaussians(("x", "y"), given, {"x": fit, "y": more}, STATES), tables


def by_hand(tables, g, codes, x, target):
    """Σ over what is not known, y without x integrated by its normal."""
    out = np.zeros(STATES[target]) if target else np.zeros(1)
    names = list(STATES)
    free = [range(STATES[n]) if (codes[i] < 0 or n == target) else [codes[i]] for i, n in enumerate(names)]
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
    codes = np.column_stack([rng.integers(-1, s, n) for s in STATES.values()]).astype(np.int32)
    x = rng.normal(size=(n, 2))
    x[rng.random((n, 2)) < 0.3] = np.nan
    old, module.BLOCK = module.BLOCK, block
    try:
        found = module.HybridRows(net, g).log_joint(codes, x, target)
    finally:
        module.BLOCK = old
    assert found.shape == ((n,) if target is None else (n, STATES[target]))
    for r in range(n):
        assert np.exp(found[r]) == pytest.approx(by_hand(tables, g, codes[r], x[r], target), rel=1e-9)


def test_numbers_far_from_all_others_keep_the_digits_of_the_states():
    net, g, _ = made(0)
    beside, common = module.HybridRows(net, g).beside_common(np.full((1, 3), -1), np.array([[np.nan, 1e9]]), "a")
    assert common[0] < -1e15
    assert np.isfinite(beside).all()
    assert abs(beside).max() < 1e3
    none = module.HybridRows(net, g).log_joint(np.zeros((0, 3), np.int32), np.zeros((0, 2)), "a")
    assert none.shape == (0, 2)
    assert module.HybridRows(net, g).log_joint(np.full((1, 3), -1), np.full((1, 2), np.nan), None) == pytest.approx(
        [0.0]
    )


def test_impossible_rows_are_impossible():
    tables = {"a": [1.0, 0.0], "b": [[0.5, 0.5], [1.0, 0.0]]}
    net = po.BayesNet([("a", "b")], tables, states={"a": ("u", "v"), "b": ("s", "t")})
    g = Gaussians((), {}, {}, {"a": 2, "b": 2})
    found = module.HybridRows(net, g).log_joint(np.array([[1, -1], [1, 1], [0, 1]]), np.zeros((3, 0)), None)
    assert np.isneginf(found[:2]).all()
    assert found[2] == pytest.approx(np.log(0.5))


def test_a_table_over_the_budget_is_refused_by_its_nodes():
    net, g, _ = made(0)
    rows = module.HybridRows(net, g)
    codes, x = np.full((4, 3), -1), np.zeros((4, 2))
    needed = 32.0 * 4 * 2 * 3 * 2
    assert rows.log_joint(codes, x, "a", max_memory=needed).shape == (4, 2)
    with pytest.raises(MemoryBudgetError, match="a table of 4 rows over"):
        rows.log_joint(codes, x, "a", max_memory=32.0 * 4 * 2 * 2)


@given(seeds, st.lists(st.lists(st.sampled_from("abc"), unique=True, max_size=3), max_size=5))
def test_likelihoods_are_added_where_one_scope_holds_another(seed, scopes):
    """The sum over all states is that of the parts; no scope that is left lies within another; each row's best is 0."""
    rng = np.random.default_rng(seed)
    parts = []
    for scope in scopes:
        log = rng.normal(0, 5, (4, *(STATES[n] for n in scope)))
        parts.append(Local(tuple(scope), log, (), *np.zeros((3, 0))))
    found, common = united(parts)
    axes = ("a", "b", "c")
    total = sum((along(p.log_density, p.scope, axes) for p in parts), np.zeros((4, 2, 3, 2)))
    again = sum((along(log, scope, axes) for scope, log in found), np.zeros((4, 2, 3, 2)))
    np.testing.assert_allclose(again + common.reshape(-1, 1, 1, 1), total, atol=1e-12)
    held = [set(scope) for scope, _ in found]
    assert not any(a <= b for a, b in itertools.permutations(held, 2))
    assert sorted(map(sorted, held)) == sorted(
        sorted(s) for s in {frozenset(s) for s in scopes} if not any(set(s) < set(t) for t in scopes)
    )
    assert len(common) == (4 if parts else 1)
    for p in parts:  # alone it is beside its own best
        ((scope, log),), top = united([p])
        assert scope == p.scope
        np.testing.assert_allclose(log.reshape(4, -1).max(axis=1), 0.0)
        np.testing.assert_allclose(top, p.log_density.reshape(4, -1).max(axis=1))
