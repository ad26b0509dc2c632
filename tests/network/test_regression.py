"""Linear-Gaussian tables against least squares on the rows themselves; which nodes are numbers, what is kept of them."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadValue, InvalidNetwork, TableError, UnknownColumn
from posteriori.network import normals as reg
from posteriori.network.learn import Smoothing, rows_of
from posteriori.network.normals import continuous_nodes, count_mixed, line_scopes, numbers_at, regressions_of
from posteriori.statistics.comoments import CoMoments
from posteriori.statistics.moments import Moments

seeds = st.integers(0, 500)


def moments_of(rows, d, q):
    """Co-moments of (c, x) in each configuration, by hand."""
    n = np.array([(d == k).sum() for k in range(q)], dtype=float)
    mean = np.array([rows[d == k].mean(axis=0) if n[k] else np.zeros(rows.shape[1]) for k in range(q)])
    c = np.array([(rows[d == k] - mean[k]).T @ (rows[d == k] - mean[k]) for k in range(q)])
    return CoMoments(n, mean, c)


def column_of(x):
    return Moments(np.array([[float(len(x))]]), np.array([[x.mean()]]), np.array([[((x - x.mean()) ** 2).sum()]]))


def drawn(seed, q=2, k=2, n=60):
    rng = np.random.default_rng(seed)
    d, c = rng.integers(0, q, n), rng.normal(size=(n, k)) * [1.0, 5.0][:k] if k else np.zeros((n, 0))
    x = 2.0 * d + c @ np.array([1.5, -0.5][:k]) + rng.normal(size=n)
    return np.column_stack([c, x]), d


@given(seeds, st.sampled_from([0, 1, 2]))
def test_without_smoothing_it_is_least_squares(seed, k):
    rows, d = drawn(seed, k=k)
    found = reg.learned(moments_of(rows, d, 2), 0.0, column_of(rows[:, -1]))
    for v in (0, 1):
        mine = rows[d == v]
        design = np.column_stack([np.ones(len(mine)), mine[:, :-1]])
        beta, *_ = np.linalg.lstsq(design, mine[:, -1], rcond=None)
        left = ((mine[:, -1] - design @ beta) ** 2).mean()
        assert found.alpha[v] == pytest.approx(beta[0], abs=1e-8)
        assert found.beta[v] == pytest.approx(beta[1:], abs=1e-8)
        assert found.variance[v] == pytest.approx(left)  # enough rows: no floor


@given(seeds)
def test_smoothing_borrows_slopes_from_all(seed):
    rows, d = drawn(seed)
    moments = moments_of(rows, d, 2)
    found = reg.learned(moments, 7.0, column_of(rows[:, -1]))
    within = moments.c.sum(axis=0)
    for v in (0, 1):
        c = moments.c[v] + 7.0 / len(rows) * within
        assert found.beta[v] == pytest.approx(np.linalg.solve(c[:-1, :-1], c[:-1, -1]))
        own = rows[d == v]
        left = own[:, -1] - own[:, :-1] @ found.beta[v] - found.alpha[v]
        assert left.mean() == pytest.approx(0, abs=1e-9)
        assert found.variance[v] == pytest.approx((left**2).mean())
    steep = reg.learned(moments, 1e9, column_of(rows[:, -1]))
    assert steep.beta[0] == pytest.approx(steep.beta[1], rel=1e-5)


@given(seeds)
def test_a_configuration_without_rows_has_the_line_of_all(seed):
    rows, d = drawn(seed)
    found = reg.learned(moments_of(rows, d, 3), 0.0, column_of(rows[:, -1]))
    design = np.column_stack([np.ones(len(rows)), rows[:, :-1]])
    beta, *_ = np.linalg.lstsq(design, rows[:, -1], rcond=None)
    assert found.alpha[2] == pytest.approx(beta[0])
    assert found.beta[2] == pytest.approx(beta[1:])
    nothing = reg.learned(CoMoments(np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2, 2))), 1.0, column_of(rows[:, -1]))
    assert nothing.alpha == pytest.approx(rows[:, -1].mean())
    assert nothing.beta.tolist() == [[0.0], [0.0]]
    assert nothing.variance == pytest.approx(rows[:, -1].var())


@given(seeds)
def test_pooled_is_all_rows(seed):
    rows, d = drawn(seed, q=3)
    mean, c = reg.pooled(moments_of(rows, d, 3))
    assert mean == pytest.approx(rows.mean(axis=0))
    assert c == pytest.approx((rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0)))


def test_a_parent_that_is_constant_has_no_slope():
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.full(30, 1e6 / 3), rng.normal(size=30), rng.normal(size=30)])
    rows[:, 0] += 1e-11 * rng.normal(size=30)  # noise of rounding
    found = reg.learned(moments_of(rows, np.zeros(30, int), 1), 0.0, column_of(rows[:, -1]))
    assert found.beta[0, 0] == 0
    twice = np.column_stack([rows[:, 1], rows[:, 1], rows[:, 2]])  # two that tell the same share the slope
    shared = reg.learned(moments_of(twice, np.zeros(30, int), 1), 0.0, column_of(twice[:, -1]))
    assert shared.beta[0, 0] == pytest.approx(shared.beta[0, 1])
    assert shared.beta[0].sum() == pytest.approx(found.beta[0, 1])
    assert reg.slopes(np.array([[[0.0, 0.0], [0.0, 3.0]]])).tolist() == [[0.0]]


def test_what_parents_tell_to_the_last_digit_keeps_a_width():
    c = np.linspace(0, 1, 20)
    rows = np.column_stack([c, 3 * c])
    found = reg.learned(moments_of(rows, np.zeros(20, int), 1), 0.0, column_of(3 * c))
    assert found.beta[0] == pytest.approx([3.0])
    assert 0 < found.variance[0] <= 0.05 * rows[:, -1].var()


@given(seeds)
def test_draws(seed):
    rng = np.random.default_rng(seed)
    r = reg.Regression(rng.normal(size=2), rng.normal(size=(2, 2)), rng.random(2) + 0.1)
    c = rng.normal(size=(1, 2))
    many = r.draw(np.tile(c, (4000, 1)), np.zeros(4000, int), rng)
    want = r.alpha[0] + r.beta[0] @ c[0]
    assert many.mean() == pytest.approx(want, abs=5 * np.sqrt(r.variance[0] / 4000))
    assert many.var() == pytest.approx(r.variance[0], rel=0.2)


def test_tables_as_users_give_them():
    one = reg.as_regression("x", (1.0, 2.0, 3.0), 2, 3)
    assert (one.alpha.shape, one.beta.shape, one.variance.shape) == ((2,), (2, 3), (2,))
    one.alpha[0] = 9.0  # a copy of its own
    bare = reg.as_regression("x", ([1.0, 2.0], [], 1.0), 2, 0)
    assert bare.beta.shape == (2, 0)
    for bad in (3, (1.0, 2.0), ("a", 1, 1), ([1, 2, 3], 1.0, 1.0)):
        with pytest.raises(InvalidNetwork, match=r"'x' needs .* shapes \(2,\), \(2, 1\)"):
            reg.as_regression("x", bad, 2, 1)
    for bad in ((np.nan, 1.0, 1.0), (1.0, np.inf, 1.0), (1.0, 1.0, 0.0), (1.0, 1.0, -1.0), (1.0, 1.0, np.nan)):
        with pytest.raises(InvalidNetwork, match="variances above 0"):
            reg.as_regression("x", bad, 2, 1)


def test_the_discrete_part():
    dag = po.Dag("abxy", [("a", "b"), ("b", "x"), ("x", "y")])
    part = reg.discrete_part(dag, "xy")
    assert part.nodes == ("a", "b")
    assert part.edges == (("a", "b"),)
    with pytest.raises(InvalidNetwork, match="'b' has the continuous parent 'x'"):
        reg.discrete_part(po.Dag("bx", [("x", "b")]), "x")
    with pytest.raises(InvalidNetwork, match="at least one discrete"):
        reg.discrete_part(po.Dag("xy"), "xy")
    assert reg.split(["a", "x", "b"], ["x"]) == (("a", "b"), ("x",))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_places_are_those_of_a_table(sizes):
    every = np.array(list(itertools.product(*map(range, sizes))))
    assert reg.configuration_of(every, sizes).tolist() == list(range(len(every)))
    holed = every.copy()
    holed[0, -1] = -1
    assert reg.configuration_of(holed, sizes).tolist() == [-1, *range(1, len(every))]


@given(seeds, st.sampled_from([0.0, 2.0]))
def test_few_rows_are_no_narrower_than_the_rows_of_all(seed, smoothing):
    """σ²_d = RSS_d/n_d, and ≥ λs²/(n_d + λ), s² what the slopes leave within; one row alone leaves nothing, and is as
    wide as a share of what the line of all leaves with where configurations lie beside it."""
    rng = np.random.default_rng(seed)
    d = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2])  # one row alone leaves nothing
    c = rng.normal(size=9)
    rows = np.column_stack([c, 3 * c + 2 * d + 0.3 * rng.normal(size=9)])
    moments = moments_of(rows, d, 3)
    found = reg.learned(moments, smoothing, column_of(rows[:, -1]))
    gaps = [(rows[d == k] - rows[d == k].mean(axis=0)) @ [-found.beta[k, 0], 1.0] for k in range(3)]
    left = np.array([gap @ gap for gap in gaps])
    whole = rows - rows.mean(axis=0)
    line = (whole[:, 0] @ whole[:, 1]) / (whole[:, 0] @ whole[:, 0])
    rest = moments.mean[:, 1] - line * moments.mean[:, 0]
    between = moments.n @ (rest - moments.n @ rest / 9) ** 2 / 9
    own = np.where(moments.n == 1, reg.FLOOR * (left.sum() / 9 + between), left / moments.n)
    want = np.maximum(own, smoothing * left.sum() / 9 / (moments.n + smoothing))
    assert found.variance == pytest.approx(want, rel=1e-6)


@given(seeds, st.sampled_from([0, 1, 2]), st.integers(3, 30))
def test_a_configuration_without_rows_changes_nothing_of_the_others(seed, k, n):
    rows, d = drawn(seed, k=k, n=n)
    two, four = (
        reg.learned(moments_of(rows, at, q), 1.5, column_of(rows[:, -1])) for at, q in ((d, 2), (2 * d + 1, 4))
    )
    for part in ("alpha", "beta", "variance"):
        assert getattr(four, part)[[1, 3]] == pytest.approx(getattr(two, part), rel=1e-9, abs=1e-12)


def test_what_one_value_in_each_configuration_leaves():
    """No spread within: the width is a share of what parts the configurations; all alike: a share of the column's."""
    d = np.array([0, 0, 1, 1])
    apart = np.array([[0.0], [0.0], [10.0], [10.0]])
    found = reg.learned(moments_of(apart, d, 2), 0.0, column_of(apart[:, 0]))
    assert found.alpha.tolist() == [0.0, 10.0]
    assert found.variance == pytest.approx(reg.FLOOR * 25.0)
    alike = np.full((4, 1), 3.0)
    wide = np.array([1.0, 3.0, 3.0, 3.0, 3.0, 5.0])  # the column has more rows than the family
    found = reg.learned(moments_of(alike, d, 2), 0.0, column_of(wide))
    assert found.variance == pytest.approx(reg.FLOOR * wide.var())


@given(seeds)
def test_slopes_and_what_they_leave_by_least_squares(seed):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(2, 20, 3)) * [1.0, 100.0, 0.01] + [5.0, 0.0, -3.0]
    Z = Z - Z.mean(axis=1, keepdims=True)
    c = np.einsum("drk,drl->dkl", Z, Z)
    beta = reg.slopes(c)
    for part, mine in zip(Z, beta):
        want, left, *_ = np.linalg.lstsq(part[:, :-1], part[:, -1], rcond=None)
        assert mine == pytest.approx(want)
        assert reg.residual(c, beta)[list(map(tuple, beta)).index(tuple(mine))] == pytest.approx(left[0])
    some = rng.normal(size=(2, 2))
    assert reg.residual(c, some) == pytest.approx([((p[:, -1] - p[:, :-1] @ b) ** 2).sum() for p, b in zip(Z, some)])
    assert reg.residual(np.array([[[1.0, 1.0], [1.0, 1.0 - 1e-17]]]), np.array([[1.0 + 1e-12]])).min() >= 0


def test_columns_that_vary_by_rounding_alone_have_no_co_moments():
    c = np.array([[[4.0, 1.0], [1.0, 9.0]]])
    assert reg.varying(c, np.array([[1.0, 1.0]]), np.array([4.0])).tolist() == c.tolist()
    far = reg.varying(c, np.array([[1e15, 1.0]]), np.array([4.0]))
    assert far.tolist() == [[[0.0, 0.0], [0.0, 9.0]]]
    for mean, kept in ((0.99e14, 1.0), (1.01e14, 0.0)):  # a spread of 1 beside a mean of 1e14 is its last digit
        assert reg.varying(c, np.array([[mean, 1.0]]), np.array([4.0]))[0, 0, 1] == kept


DAG = po.Dag(["x", "a", "y", "b"], [("b", "y"), ("x", "y"), ("a", "y"), ("a", "b"), ("a", "x")])


def rows(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, n), rng.integers(0, 3, n)
    x = rng.normal(size=n) + a
    y = x * (b - 1) + 5 * a + rng.normal(size=n)
    return pd.DataFrame({"a": [f"a{v}" for v in a], "b": [f"b{v}" for v in b], "y": y, "x": x, "more": 1.5})


def test_which_nodes_are_numbers():
    table = rows()
    assert continuous_nodes(DAG, table, None) == ("y", "x")  # as the columns stand; "more" is no node
    assert continuous_nodes(DAG, table, ["x", "x", "y"]) == ("x", "y")
    assert continuous_nodes(DAG, table, []) == ()
    assert continuous_nodes(DAG, table.assign(x=1), None) == ("y",)
    arrow = pa.table({"x": pa.array([1.5]), "y": pa.array([1]), "a": pa.array(["u"])})
    assert continuous_nodes(DAG, arrow, None) == ("x",)
    with pytest.raises(UnknownColumn, match="'z'"):
        continuous_nodes(DAG, table, ["z"])


def test_numbers_by_name():
    frame = rows_of({"y": [1.0, None, 3.0], "x": [4, 5, 6]})
    assert numbers_at(frame, ["x", "y"])[:, 0].tolist() == [4, 5, 6]
    assert np.isnan(numbers_at(frame, ["x", "y"])[1, 1])
    with pytest.raises(UnknownColumn, match=r"no column for 'xs'; did you mean 'x'\? columns: 'y', 'x'"):
        numbers_at(frame, ["xs"])
    with pytest.raises(UnknownColumn, match=r"no column for 'speed'\. columns"):
        numbers_at(frame, ["speed"])
    with pytest.raises(BadValue, match="column 'y', row 2: infinity is no number"):
        numbers_at(rows_of({"y": [1.0, 2.0, -np.inf], "x": [4, 5, 6]}), ["x", "y"])


@pytest.mark.parametrize("weighted", [False, True])
def test_families_are_counted_and_regressed_in_the_order_of_the_states(weighted):
    table = rows()
    w = np.random.default_rng(1).integers(1, 4, 40).astype(float) if weighted else None
    found = count_mixed(DAG, table, ["y", "x"], {"b": ("b2", "b0", "b1")}, w)
    assert found.schema.names == ("a", "b", "y", "x")
    assert line_scopes(DAG, found) == [((1, 0), (3, 2)), ((0,), (3,))]  # y given b, a and x; x given a
    states = {"a": ("a1", "a0"), "b": ("b2", "b0", "b1")}
    lines = regressions_of(found, states, Smoothing(0.0))
    weight = np.ones(40) if w is None else w
    for r, (b, a) in enumerate((b, a) for b in states["b"] for a in states["a"]):
        mine = ((table["a"] == a) & (table["b"] == b)).to_numpy()
        design = np.column_stack([np.ones(mine.sum()), table["x"][mine]]) * np.sqrt(weight[mine])[:, None]
        want, *_ = np.linalg.lstsq(design, table["y"][mine] * np.sqrt(weight[mine]), rcond=None)
        assert (lines["y"].alpha[r], lines["y"].beta[r, 0]) == pytest.approx(tuple(want))
    for r, a in enumerate(states["a"]):
        mine = (table["a"] == a).to_numpy()
        assert lines["x"].alpha[r] == pytest.approx(np.average(table["x"][mine], weights=weight[mine]))


def test_a_number_that_no_row_has_with_its_parents():
    table = rows()
    table.loc[table.index[:20], "x"] = np.nan
    table.loc[table.index[20:], "y"] = np.nan
    found = count_mixed(DAG, table, ["y", "x"], {})
    with pytest.raises(TableError, match="no row has 'y' and all of its parents"):
        regressions_of(found, {"a": ("a0", "a1"), "b": ("b0", "b1", "b2")}, Smoothing())
