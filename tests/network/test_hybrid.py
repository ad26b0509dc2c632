"""HybridNet against brute force: grids of numbers, one large normal for each configuration, and rows counted again."""

from __future__ import annotations

import contextlib
import itertools
import math
import pathlib
import pickle
import tempfile

import mpmath as mp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

import posteriori as po
from posteriori.errors import (
    BadValue,
    FormatError,
    ImpossibleEvidence,
    InvalidNetwork,
    NotLearned,
    StatisticsError,
    TableError,
    UnknownColumn,
)


def random_net(seed: int, discrete: int = 3, continuous: int = 4) -> po.HybridNet:
    rng = np.random.default_rng(seed)
    D, C = [f"d{i}" for i in range(discrete)], [f"x{i}" for i in range(continuous)]
    states = {n: tuple(f"s{k}" for k in range(rng.integers(2, 4))) for n in D}
    parents = {n: [p for p in D[:i] if rng.random() < 0.5] for i, n in enumerate(D)}
    parents |= {n: [p for p in (*D, *C[:i]) if rng.random() < 0.5] for i, n in enumerate(C)}
    tables = {n: rng.dirichlet(np.ones(len(states[n])), math.prod(len(states[p]) for p in parents[n])) for n in D}
    regressions = {}
    for n in C:
        q = math.prod(len(states[p]) for p in parents[n] if p in states)
        k = sum(p not in states for p in parents[n])
        regressions[n] = (rng.normal(size=q), rng.normal(size=(q, k)), rng.uniform(0.2, 2, q))
    order = [*D, *C]
    rng.shuffle(order)  # nodes may be listed in any order
    dag = po.Dag(order, [(p, n) for n in order for p in parents[n]])
    return po.HybridNet(dag, {n: t for n, t in tables.items()}, regressions, states)


def by_enumeration(net: po.HybridNet, evidence: dict) -> tuple[list[str], dict]:
    """{discrete states: (ln P(states, e), mean, covariance of all continuous nodes given them and e)}."""
    D, C = list(net.discrete.nodes), list(net.continuous)
    seen = [n for n in C if n in evidence]
    found = {}
    for states in itertools.product(*(net.discrete.states(n) for n in D)):
        told = dict(zip(D, states, strict=True))
        log = 0.0
        for n in D:
            if n in evidence and evidence[n] != told[n]:
                log = -np.inf
            row = net.cpt(n)
            ps = net.discrete.parents(n)
            row = row.loc[tuple(told[p] for p in ps) if len(ps) > 1 else told[ps[0]]] if ps else row.iloc[0]
            log += np.log(row[told[n]])
        B, a, v = np.zeros((len(C), len(C))), np.zeros(len(C)), np.zeros(len(C))
        for i, n in enumerate(C):
            ps = [p for p in net.dag.parents(n) if p in told]
            row = net.regression(n)
            row = row.loc[tuple(told[p] for p in ps) if len(ps) > 1 else told[ps[0]]] if ps else row.iloc[0]
            a[i], v[i] = row["α"], row["σ"] ** 2
            for p in net.dag.parents(n):
                if p not in told:
                    B[i, C.index(p)] = row[f"β {p}"]
        A = np.linalg.inv(np.eye(len(C)) - B)
        mean, cov = A @ a, A @ np.diag(v) @ A.T
        s, h = [C.index(n) for n in seen], [i for i, n in enumerate(C) if n not in evidence]
        if s:
            x = np.array([evidence[n] for n in seen])
            log += multivariate_normal(mean[s], cov[np.ix_(s, s)]).logpdf(x)
            gain = cov[np.ix_(h, s)] @ np.linalg.inv(cov[np.ix_(s, s)])
            mean, cov = mean[h] + gain @ (x - mean[s]), cov[np.ix_(h, h)] - gain @ cov[np.ix_(s, h)]
        found[states] = (log, mean, cov)
    return D, found


def some_evidence(net: po.HybridNet, rng: np.random.Generator) -> dict:
    case = net.sample(1, random_state=int(rng.integers(1 << 30))).iloc[0]
    return {n: case[n] for n in net.nodes if rng.random() < 0.5}


@given(st.integers(0, 10_000))
def test_every_answer_is_that_of_enumeration(seed):
    net = random_net(seed)
    rng = np.random.default_rng(seed)
    evidence = some_evidence(net, rng)
    D, every = by_enumeration(net, evidence)
    logs = np.array([log for log, _, _ in every.values()])
    total = logsumexp(logs)
    assert net.log_density(evidence) == pytest.approx(total, rel=1e-9, abs=1e-9)
    weight = np.exp(logs - total)
    marginals = net.marginals(evidence)
    for i, n in enumerate(D):
        for state in net.discrete.states(n):
            want = sum(w for w, key in zip(weight, every, strict=True) if key[i] == state)
            assert marginals[n][state] == pytest.approx(want, abs=1e-9)
            assert net.query(n, evidence)[state] == pytest.approx(want, abs=1e-9)
    hidden = [n for n in net.continuous if n not in evidence]
    means = np.array([m for _, m, _ in every.values()])
    for i, n in enumerate(hidden):
        mean = weight @ means[:, i]
        spread = weight @ np.array([c[i, i] + (m[i] - mean) ** 2 for _, m, c in every.values()])
        assert marginals[n]["mean"] == pytest.approx(mean, rel=1e-8, abs=1e-8)
        assert marginals[n]["sd"] == pytest.approx(np.sqrt(spread), rel=1e-7)
    for n in net.continuous:
        if n in evidence:
            assert marginals[n] == {"mean": evidence[n], "sd": 0.0}


def exact_normal(a: list, B: np.ndarray, v: list, seen: dict) -> tuple[dict, mp.mpf]:
    """({hidden: (mean, sd)}, ln p(seen)) of x = a + Bx + sqrt(v) ε in 800 digits."""
    n, s = len(a), sorted(seen)
    A = (mp.eye(n) - mp.matrix(B.tolist())) ** -1
    mean, cov = A * mp.matrix(a), A * mp.diag(v) * A.T
    S, gap = mp.matrix([[cov[i, j] for j in s] for i in s]), mp.matrix([seen[i] - mean[i] for i in s])
    inverse, found = S**-1, {}
    for i in set(range(n)) - set(s):
        c = mp.matrix([[cov[i, j] for j in s]])
        found[i] = mean[i] + (c * inverse * gap)[0], mp.sqrt(cov[i, i] - (c * inverse * c.T)[0])
    return found, -(len(s) * mp.log(2 * mp.pi) + mp.log(mp.det(S)) + (gap.T * inverse * gap)[0]) / 2


@given(st.integers(0, 10_000), st.sampled_from([3, 20, 120]))
def test_variances_of_any_size_keep_their_digits(seed, powers):
    rng, n = np.random.default_rng(seed), 4
    v, a = 10.0 ** rng.uniform(-powers, powers, n), rng.normal(size=n)
    B = np.tril(rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-2, 2, (n, n)) * (rng.random((n, n)) < 0.7), -1)
    names = [f"x{i}" for i in range(n)]
    dag = po.Dag([*names, "d"], [(names[j], names[i]) for i, j in np.argwhere(B)])
    net = po.HybridNet(dag, {"d": [1.0]}, {f"x{i}": (a[i], B[i][B[i] != 0], v[i]) for i in range(n)})
    drawn = net.sample(1, random_state=seed).iloc[0]
    told = {i: float(drawn[names[i]]) for i in range(n) if rng.random() < 0.5} or {3: 1.0}
    evidence = {names[i]: x for i, x in told.items()}
    marginals, density = net.marginals(evidence), net.log_density(evidence)
    with mp.workdps(800):
        seen = {i: mp.mpf(x) for i, x in told.items()}
        wanted, log = exact_normal([*map(mp.mpf, a)], B, [*map(mp.mpf, v)], seen)
        others = []  # where an ulp or so of a number that was told makes a difference, no float says better
        for i in range(n):
            moved = {j: x * (1 + (i == j) * mp.mpf(8e-16)) for j, x in seen.items()}
            others += [exact_normal([*map(mp.mpf, a)], B, [*map(mp.mpf, v)], moved)]
            moved = [mp.mpf(x) * (1 + (i == j) * mp.mpf(8e-16)) for j, x in enumerate(a)]
            others += [exact_normal(moved, B, [*map(mp.mpf, v)], seen)]
        for i, (mean, sd) in wanted.items():
            assert abs(marginals[names[i]]["sd"] / sd - 1) < 1e-13
            room = sum(abs(other[i][0] - mean) for other, _ in others)
            assert abs(marginals[names[i]]["mean"] - mean) <= 1e-13 * (abs(mean) + sd) + 10 * room
        room = sum(abs(other - log) for _, other in others)
        assert abs(density - log) <= 1e-12 * (1 + abs(log)) + 10 * room


def test_numbers_beyond_all_floats_are_refused_or_impossible():
    net = po.HybridNet([("d", "x"), ("x", "y")], {"d": [0.5, 0.5]}, {"x": ([0, 1e200], [], 1), "y": (0, 1e200, 1)})
    assert net.marginals({"y": 1e200})["x"] == {"mean": 1.0, "sd": 1e-200}
    assert net.log_density({"x": -1e200}) == -math.inf
    with pytest.raises(ImpossibleEvidence, match="density is 0"):
        net.query("d", {"x": -1e200})
    with pytest.raises(BadValue, match="the normal of 'x', 'y' is beyond all floats"):
        net.marginals()


@given(st.integers(0, 10_000))
def test_the_most_probable_is_that_of_enumeration(seed):
    net, rng = random_net(seed), np.random.default_rng(seed)
    evidence = some_evidence(net, rng)
    D, every = by_enumeration(net, evidence)
    hidden = [n for n in net.continuous if n not in evidence]
    peaks = {
        states: log + (multivariate_normal(mean, cov).logpdf(mean) if hidden else 0.0)
        for states, (log, mean, cov) in every.items()
    }
    best, found = max(peaks, key=peaks.get), net.most_probable(evidence)
    assert list(found) == list(net.nodes)
    assert tuple(found[n] for n in D) == best
    for n, mean in zip(hidden, every[best][1], strict=True):
        assert found[n] == pytest.approx(mean, abs=1e-8)
    assert all(found[n] == x for n, x in evidence.items())
    some = D[: 1 + seed % len(D)]
    table = net.query(some, evidence)
    assert table[net.most_probable(evidence, some)] == table.values.max()


@given(st.integers(0, 10_000))
def test_what_is_made_is_the_truncated_product(seed):
    """P(x | do(v = a)) is the product of all lines but that of v, so it is P(x | v = a) where v has no parents."""
    net, rng = random_net(seed), np.random.default_rng(seed)
    case, node = net.sample(1, random_state=seed).iloc[0], net.nodes[seed % len(net.nodes)]
    made = net.do({node: case[node]})
    assert made.parents(node) == ()
    assert set(made.edges) == {(a, b) for a, b in net.edges if b != node}
    others = {n: case[n] for n in net.nodes if n != node and rng.random() < 0.5}
    below = {n for n in net.nodes if net.dag.d_separated(n, node) or n in net.dag.ancestors(node)}
    before, after = net.marginals(), made.marginals()
    for n in below - {node}:
        assert after[n] == pytest.approx(before[n], rel=1e-9, abs=1e-9)
    assert made.log_density({**others, node: case[node]}) == pytest.approx(made.log_density(others), rel=1e-9)
    if not net.parents(node):
        seen, done = net.marginals({**others, node: case[node]}), made.marginals(others)
        assert all(seen[n] == pytest.approx(done[n], rel=1e-8, abs=1e-8) for n in net.nodes)
    if node in net.continuous:
        assert made.log_density({node: case[node] + 1}) == -math.inf
        assert set(made.sample(3, random_state=0)[node]) == {case[node]}
        by_chance = net.do({node: {"mean": 2.0, "sd": 0.5}}).marginals()
        assert by_chance[node] == pytest.approx({"mean": 2.0, "sd": 0.5})


def test_a_hidden_number_is_integrated_out_as_a_grid_does():
    net = po.HybridNet(
        [("a", "x"), ("x", "y"), ("b", "y")],
        {"a": [0.3, 0.7], "b": [0.6, 0.4]},
        {"x": ([0.0, 2.0], [], [1.0, 0.25]), "y": ([1.0, -1.0], [[0.5], [2.0]], [0.5, 1.0])},
    )
    grid = np.linspace(-20, 20, 200_001)
    joint = np.zeros((2, 2))
    for a, b in itertools.product(range(2), range(2)):
        x = norm.pdf(grid, [0, 2][a], [1, 0.5][a]) * norm.pdf(
            0.7, [1, -1][b] + [0.5, 2][b] * grid, np.sqrt([0.5, 1.0][b])
        )
        joint[a, b] = [0.3, 0.7][a] * [0.6, 0.4][b] * np.trapezoid(x, grid)
    assert net.query(["a", "b"], {"y": 0.7}).values == pytest.approx(joint / joint.sum(), abs=1e-9)
    assert net.log_density({"y": 0.7}) == pytest.approx(np.log(joint.sum()), abs=1e-9)


def test_a_chain_of_numbers_is_one_normal():
    names = [f"x{i}" for i in range(6)]
    regressions = {n: (1.0, 0.8 if i else [], 0.5) for i, n in enumerate(names)}
    net = po.HybridNet(list(itertools.pairwise(names)), {"d": [1.0]}, regressions)
    A = np.linalg.inv(np.eye(6) - np.diag(np.full(5, 0.8), -1))
    mean, cov = A @ np.ones(6), A @ A.T * 0.5
    assert net.log_density({"x0": 1, "x3": 2.5, "x5": 0}) == pytest.approx(
        multivariate_normal(mean[[0, 3, 5]], cov[np.ix_([0, 3, 5], [0, 3, 5])]).logpdf([1, 2.5, 0]), abs=1e-10
    )
    assert net.marginals()["x5"] == pytest.approx({"mean": mean[5], "sd": np.sqrt(cov[5, 5])})


@given(st.integers(0, 10_000))
def test_rows_are_predicted_alike_whole_or_with_holes(seed):
    net = random_net(seed)
    rng = np.random.default_rng(seed)
    cases = net.sample(6, random_state=seed)
    target = "d1"
    holed = cases.astype(object).mask(rng.random(cases.shape) < 0.3, None)
    for table in (cases, holed):
        got = net.predict_proba(table, target)
        assert got.sum(axis=1) == pytest.approx(np.ones(6))
        for r in range(6):
            told = {n: table.iloc[r][n] for n in net.nodes if n != target}
            assert got[r] == pytest.approx(net.query(target, told).values, abs=1e-10)
    assert net.predict(cases, target).tolist() == [
        net.discrete.states(target)[k] for k in net.predict_proba(cases, target).argmax(1)
    ]


def test_the_likelihood_of_a_table_is_that_of_its_rows_and_bic_takes_the_numbers_off():
    net = random_net(5)
    cases = net.sample(20, random_state=0)
    rows = [net.log_density(dict(cases.iloc[r])) for r in range(20)]
    assert net.log_likelihood(cases) == pytest.approx(sum(rows))
    free = sum((net.cpt(n).shape[1] - 1) * len(net.cpt(n)) for n in net.discrete.nodes)
    free += sum(net.regression(n).size for n in net.continuous)  # α, σ and one β for each continuous parent
    assert net.bic(cases) == pytest.approx(sum(rows) - 0.5 * np.log(20) * free)


def test_what_is_learned_is_what_was_drawn_from():
    net = random_net(11)
    data = net.sample(200_000, random_state=1)
    again = po.HybridNet.fit(net.dag, data)
    for n in net.continuous:
        above = list(net._gaussians.given[n][0])
        rows = data.groupby(above, observed=False).size() if above else pd.Series([len(data)])
        enough = (rows >= 2000).to_numpy()
        gap = (again.regression(n) - net.regression(n)).to_numpy()[enough]
        assert np.abs(gap).max() < 0.15
    for n in net.discrete.nodes:
        assert np.abs((again.cpt(n) - net.cpt(n)).to_numpy()).max() < 0.05


@given(st.integers(0, 10_000), st.sampled_from([0.0, 1.0, 7.5]))
def test_regressions_are_those_of_least_squares_with_borrowed_rows(seed, smoothing):
    rng = np.random.default_rng(seed)
    n = 60
    data = {"d": rng.integers(0, 2, n).astype(str), "c": rng.normal(3, 2, n), "x": rng.normal(size=n)}
    data["x"] = data["x"] + 2 * data["c"]
    fit = po.HybridNet.fit([("d", "x"), ("c", "x")], data, smoothing)
    pooled = np.zeros((2, 2))
    parts = []
    for value in np.unique(data["d"]):
        Z = np.stack([data["c"], data["x"]], 1)[data["d"] == value]
        parts.append((Z, (Z - Z.mean(0)).T @ (Z - Z.mean(0))))
        pooled += parts[-1][1] / n
    for (Z, S), (_, told) in zip(parts, fit.regression("x").iterrows(), strict=True):
        S = S + smoothing * pooled
        beta = S[0, 1] / S[0, 0]
        alpha = (Z[:, 1] - beta * Z[:, 0]).mean()
        assert told["β c"] == pytest.approx(beta)
        assert told["α"] == pytest.approx(alpha)
        assert told["σ"] ** 2 == pytest.approx(((Z[:, 1] - alpha - beta * Z[:, 0]) ** 2).mean())


@given(st.integers(0, 10_000))
def test_numbers_under_a_class_alone_are_the_gaussians_of_naive_bayes(seed):
    """Few rows, equal ones, none, a constant column: one rule for the least width."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 5, 4)
    y = np.repeat(list("pqrs"), sizes + (sizes.sum() == 0))
    X = {"x": rng.normal(size=len(y)), "z": rng.integers(0, 2, len(y)) * 1.5, "w": np.full(len(y), 3.0)}
    net = po.HybridNet.fit([("y", n) for n in X], {**X, "y": y}, states={"y": list("pqrs")})
    naive = po.NaiveBayes(density="gaussian").partial_fit(X, y, classes=list("pqrs"))
    for n, table in naive.tables_.items():
        if n in X:
            found = net.regression(n)
            np.testing.assert_allclose(found[["α", "σ"]].to_numpy(), table.to_numpy().T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(net.predict_proba(X, "y"), naive.predict_proba(X), atol=1e-9)


def broken_table(seed: int) -> tuple[po.Dag, dict[str, np.ndarray], list[str]]:
    """A structure, and few rows with many holes: families without a whole row, with one, constant columns."""
    rng = np.random.default_rng(seed)
    n, D, C = int(rng.integers(1, 12)), ["a", "b"], ["x", "y", "z"]
    parents = {v: [p for p in (*D, *C[: C.index(v)]) if rng.random() < 0.5] for v in C}
    columns = {v: np.where(rng.random(n) < 0.2, None, np.array(["s", "t"], object)[rng.integers(0, 2, n)]) for v in D}
    for v in C:
        kind = rng.integers(3)
        x = rng.normal(size=n) if kind else np.full(n, 5.0)
        columns[v] = np.where(rng.random(n) < rng.choice([0.0, 0.6]), np.nan, np.round(x) if kind == 2 else x)
    return po.Dag([*D, *C], [("a", "b"), *((p, v) for v in C for p in parents[v])]), columns, C


def shares_of(dag: po.Dag, rows: dict, numbers: list[str]) -> list:
    """P(a | row) and P(b | row) of a network fitted on these rows, and of a classifier of b; or the names of errors."""
    found: list = []

    def keep(ask) -> None:
        try:
            found.append(ask())
        except (TableError, ImpossibleEvidence) as error:
            found.append(type(error))

    X = {n: c for n, c in rows.items() if n != "b"}
    y = np.where(rows["b"] == None, "s", rows["b"])  # noqa: E711
    keep(lambda: po.HybridNet.fit(dag, rows, continuous=numbers).predict_proba(rows, "a"))
    keep(lambda: po.HybridNet.fit(dag, rows, continuous=numbers).predict_proba(rows, "b"))
    kinds = {n: "numeric" if n in numbers else "categorical" for n in X}
    keep(lambda: po.BayesNetClassifier(dag, continuous="gaussian", kinds=kinds).fit(X, y).predict_proba(X))
    return found


@given(st.integers(0, 10**6), st.lists(st.integers(-300, 300), min_size=3, max_size=3))
def test_units_do_not_matter(seed, powers):
    """A column in other units says the same of states: widths come from the column, never from a number like 1."""
    dag, rows, numbers = broken_table(seed)
    if len(rows["a"]) < 2 or len({*rows["b"]} - {None}) < 2 or not any(v is not None for v in rows["a"]):
        return
    other = rows | {v: rows[v] * 2.0**k for v, k in zip(numbers, powers, strict=True)}
    for mine, theirs in zip(shares_of(dag, rows, numbers), shares_of(dag, other, numbers), strict=True):
        if isinstance(mine, type):
            assert mine is theirs
        else:
            np.testing.assert_allclose(theirs, mine, atol=1e-5)
            np.testing.assert_allclose(mine.sum(axis=1), 1.0)


@pytest.mark.parametrize("unit", [1.0, 1e-100, 1e100])
def test_one_whole_row_has_the_width_of_its_column(unit):
    """σ² = s²/(1 + 1) where one row has the family, s² the variance of the whole column; s² where no row has it."""
    x = np.array([1.0, 2.0, 4.0]) * unit
    net = po.HybridNet.fit([("a", "x")], {"a": ["u", None, None], "x": x}, states={"a": ["u", "v"]})
    np.testing.assert_allclose(net.regression("x")["σ"] ** 2 / x.var(), [0.5, 1.0])
    assert net.regression("x")["α"].tolist() == [unit, unit]


def test_a_constant_number_far_away_tells_nothing():
    """Its density is as small in every state: beside it the others keep their digits, and shares sum to one."""
    rows = {"a": ["u", "u", "v", "v"], "x": [0.0, 1.0, 2.0, 4.0], "zero": [0.0] * 4}
    net = po.HybridNet.fit([("a", "x"), ("a", "zero")], rows)
    here, far = net.predict_proba({"x": [1.0, 1.0], "zero": [0.0, 1e60]}, "a")
    np.testing.assert_array_equal(here, far)
    assert net.query("a", {"x": 1.0, "zero": 1e60})["u"] == pytest.approx(here[0])


def test_a_parent_that_tells_all_leaves_a_line_and_no_error():
    c = np.arange(9.0)
    data = {"a": [0] * 5 + [1] * 4, "c": c, "x": 2 * c + 1, "y": 2 * c + 1}
    net = po.HybridNet.fit([("c", "x"), ("a", "x"), ("c", "y")], data, smoothing=0)
    np.testing.assert_allclose(net.regression("x")[["α", "β c"]].to_numpy(), [[1.0, 2.0]] * 2, atol=1e-9)
    assert 0 < net.regression("x")["σ"].max() < 1e-4
    assert net.marginals({"x": 7.0, "y": 7.0})["c"]["mean"] == pytest.approx(3.0, abs=1e-4)  # of two equal witnesses


DAG = po.Dag(["x", "a", "z", "b"], [("a", "b"), ("a", "x"), ("b", "x"), ("x", "z"), ("b", "z")])


def mixed_rows(seed: int, n: int, missing: float = 0.2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    cells: dict = {"a": rng.integers(0, 2, n).astype(object), "b": rng.choice(["u", "v", "w"], n).astype(object)}
    for column in cells.values():
        column[rng.random(n) < missing] = None
    cells |= {k: np.where(rng.random(n) < missing, np.nan, rng.integers(-64, 64, n) / 8) for k in "xz"}
    table = pd.DataFrame(cells)
    table.iloc[0] = [0, "u", 1.0, 2.0]
    return table


@contextlib.contextmanager
def refused_or_right():
    """Of rows that stay and are alike the spread is lost: forgetting is right, or refused in these words."""
    try:
        yield
    except StatisticsError as error:
        if "cannot be forgotten exactly" not in str(error):
            raise


def close(a: po.HybridNet, b: po.HybridNet) -> None:
    s, t = a.statistics, b.statistics
    assert (s.schema, s.roles, s.cells, s.joints[0]) == (t.schema, t.roles, t.cells, t.joints[0])
    assert a.discrete == b.discrete
    for mine, theirs in zip(s.joints[1].tables, t.joints[1].tables, strict=True):
        np.testing.assert_array_equal(mine.n, theirs.n)
        np.testing.assert_allclose(mine.mean, theirs.mean, atol=1e-9)
        np.testing.assert_allclose(mine.c, theirs.c, atol=1e-8)
    for n in a.continuous:
        np.testing.assert_allclose(a.regression(n).to_numpy(), b.regression(n).to_numpy(), rtol=1e-6, atol=1e-7)


@given(
    st.integers(0, 10_000),
    st.lists(st.integers(1, 15), min_size=2, max_size=4),
    st.booleans(),
    st.sampled_from([0.0, 0.2]),
)
def test_parts_in_any_way_are_the_whole(seed, parts, weighted, missing):
    table, cuts = mixed_rows(seed, sum(parts), missing), np.cumsum(parts)[:-1]
    weight = np.random.default_rng(seed).integers(1, 4, len(table)).astype(float) if weighted else None
    some = [(table.iloc[p], None if weight is None else weight[p]) for p in np.split(np.arange(len(table)), cuts)]
    whole = po.HybridNet.fit(DAG, table, sample_weight=weight)
    first = po.HybridNet.fit(DAG, some[0][0], sample_weight=some[0][1])
    grown = first
    for part, w in some[1:]:
        grown = grown.partial_fit(part, sample_weight=w)
    close(grown, whole)
    with refused_or_right():
        for part, w in some[:0:-1]:
            grown = grown.forget(part, sample_weight=w)
        close(grown, first)
    if all(part[["x", "z"]].notna().any().all() and part[["a", "b"]].notna().any().all() for part, _ in some):
        try:
            nets = [po.HybridNet.fit(DAG, part, sample_weight=w) for part, w in some]
        except TableError:  # a part in which no row has a family whole is no network
            return
        close(sum(nets), whole)
        close(sum(nets[::-1]), whole)


@pytest.mark.parametrize("far", [1e3, 1e7])
def test_rows_far_from_zero_are_forgotten(far):
    rng = np.random.default_rng(0)
    x = rng.normal(far, 1, 1000)
    rows = pd.DataFrame({"d": rng.integers(0, 2, 1000), "x": x, "y": 2 * x + rng.normal(size=1000)})
    edges = [("d", "x"), ("d", "y"), ("x", "y")]
    left, fresh = po.HybridNet.fit(edges, rows).forget(rows[:500]), po.HybridNet.fit(edges, rows[500:])
    evidence = {"x": far + 1, "y": 2 * far}
    assert left.log_density(evidence) == pytest.approx(fresh.log_density(evidence), rel=1e-6)
    assert left.marginals({"x": far})["y"] == pytest.approx(fresh.marginals({"x": far})["y"], rel=1e-8)


def test_another_smoothing_needs_no_rows():
    table = mixed_rows(5, 100)
    net = po.HybridNet.fit(DAG, table)
    for how in ({"smoothing": 0.1}, {"ess": 10.0}, {"backoff": 5.0}, {"smoothing": 0.0, "backoff": 2.0}):
        assert net.smoothed(**how) == po.HybridNet.fit(DAG, table, **how)
        assert net.smoothed(**how) != net
        assert net.smoothed(**how).smoothed() == net
    assert pickle.loads(pickle.dumps(net.smoothed(3))) == net.smoothed(3)
    other = po.HybridNet.fit([("a", "x")], table[["a", "x"]])
    with pytest.raises(StatisticsError, match="other structures"):
        net + other
    with pytest.raises(StatisticsError, match="not counted"):
        random_net(0).partial_fit({"a": [1]})
    with pytest.raises(NotLearned):
        net.forget(pd.DataFrame({"a": [0] * 200, "b": "u", "x": 0.0, "z": 0.0}))
    with pytest.raises(StatisticsError, match="last row"):
        net.forget(table)


def test_sources_agree(tmp_path):
    table = mixed_rows(3, 80).drop(columns="a").assign(a=["p", "q"] * 40)
    expected = po.HybridNet.fit(DAG, table)
    table.to_csv(tmp_path / "rows.csv", index=False)
    sources = [
        table.to_dict("list"),
        pl.from_pandas(table),
        pa.Table.from_pandas(table),
        po.read(tmp_path / "rows.csv"),
    ]
    sources[0] |= {k: np.array(sources[0][k]) for k in "xz"}
    sources += [po.read(tmp_path / "rows.csv", target="a"), table.astype({"a": "category"})]
    for source in sources:
        assert po.HybridNet.fit(DAG, source) == expected
    asked = pl.from_pandas(table.drop(columns="a"))
    np.testing.assert_allclose(expected.predict_proba(asked, "a"), expected.predict_proba(table, "a"))


def test_weights_are_rows_and_missing_cells_leave_their_families_out():
    rng = np.random.default_rng(0)
    data = {"a": rng.integers(0, 2, 30), "x": rng.normal(size=30), "y": rng.normal(size=30)}
    edges = [("a", "x"), ("x", "y")]
    w = rng.integers(0, 3, 30)
    twice = {n: np.repeat(c, w) for n, c in data.items()}
    heavy, many = po.HybridNet.fit(edges, data, sample_weight=w), po.HybridNet.fit(edges, twice)
    for n in "xy":
        assert heavy.regression(n).to_numpy() == pytest.approx(many.regression(n).to_numpy())
    data["x"][:5] = np.nan
    holed = po.HybridNet.fit(edges, data)
    short = po.HybridNet.fit(edges, {n: c[5:] for n, c in data.items()})
    assert holed.regression("y").to_numpy() == pytest.approx(short.regression("y").to_numpy())
    assert holed.cpt("a").to_numpy() != pytest.approx(short.cpt("a").to_numpy())  # whose cells are all there


def test_draws_given_numbers_follow_the_posterior():
    net = random_net(3)
    evidence = {net.continuous[-1]: 0.5}
    drawn, want = net.sample(40_000, evidence, random_state=0), net.marginals(evidence)
    for n in net.nodes:
        if n in net.continuous:
            assert drawn[n].mean() == pytest.approx(want[n]["mean"], abs=5 * want[n]["sd"] / 200 + 1e-12)
            assert drawn[n].std() == pytest.approx(want[n]["sd"], rel=0.05, abs=1e-12)
        else:
            for state, p in want[n].items():
                assert (drawn[n] == state).mean() == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / 40_000) + 1e-12)
    assert drawn.equals(net.sample(40_000, evidence, random_state=0))


def test_two_numbers_that_contradict_each_other_by_a_thousand_nats_still_answer():
    edges = [("a", "x"), ("b", "y"), ("a", "b")]
    same = [[1.0, 0.0], [0.0, 1.0]]
    net = po.HybridNet(edges, {"a": [0.5, 0.5], "b": same}, {"x": ([0, 100], [], 1), "y": ([0, 100], [], 1)})
    assert net.query("a", {"x": 0.0, "y": 100.0}).values == pytest.approx([0.5, 0.5])
    assert net.query("a", {"x": 0.0, "y": 100.2})["1"] == pytest.approx(1 / (1 + np.exp(-20)), rel=1e-9)
    assert net.log_density({"x": 0.0, "y": 100.0}) == pytest.approx(-np.log(2 * np.pi) - 5000, rel=1e-12)


def test_what_cannot_be_is_named():
    with pytest.raises(InvalidNetwork, match="discrete node 'a' has the continuous parent 'x'"):
        po.HybridNet([("x", "a")], {"a": [[0.5, 0.5]]}, {"x": (0, [], 1)})
    with pytest.raises(InvalidNetwork, match="needs a table or a regression"):
        po.HybridNet([("a", "x")], {"a": [0.5, 0.5], "x": [1.0]}, {"x": (0, [], 1)})
    with pytest.raises(InvalidNetwork, match=r"'x' needs \(α, β, σ²\) of shapes \(2,\), \(2, 0\)"):
        po.HybridNet([("a", "x")], {"a": [0.5, 0.5]}, {"x": ([0, 1, 2], [], 1)})
    with pytest.raises(InvalidNetwork, match="variances above 0"):
        po.HybridNet([("a", "x")], {"a": [0.5, 0.5]}, {"x": (0, [], 0)})
    net = po.HybridNet([("a", "x")], {"a": [0.0, 1.0]}, {"x": ([0, 1], [], 1)})
    with pytest.raises(BadValue, match="'x' is continuous: its finding is a number"):
        net.query("a", {"x": "warm"})
    with pytest.raises(BadValue, match="finite"):
        net.query("a", {"x": np.inf})
    with pytest.raises(BadValue, match="'x' is continuous: `marginals`"):
        net.query("x")
    with pytest.raises(BadValue, match="'a' is discrete: `cpt`"):
        net.regression("a")
    with pytest.raises(ImpossibleEvidence, match="probability zero"):
        net.query("a", {"a": "0", "x": 1.0})
    assert net.log_density({"a": "0", "x": 1.0}) == -np.inf
    with pytest.raises(UnknownColumn, match="'z' is no node"):
        net.predict_proba({"z": [1.0]}, "a")
    with pytest.raises(UnknownColumn):
        net.query("a", {"q": 1.0})
    with pytest.raises(TableError, match="no row has 'x' and all of its parents"):
        po.HybridNet.fit([("a", "x")], {"a": [0, None], "x": [np.nan, 1.0]})
    with pytest.raises(BadValue, match="column 'x', row 1: infinity"):
        po.HybridNet.fit([("a", "x")], {"a": [0, 1], "x": [1.0, np.inf]})


def test_columns_of_floats_are_continuous_unless_told():
    data = {"a": [0, 1, 0, 1], "x": [0.5, 1.5, 2.0, 7.0], "k": [1, 5, 2, 8]}
    edges = [("a", "x"), ("a", "k")]
    assert po.HybridNet.fit(edges, data).continuous == ("x",)
    assert set(po.HybridNet.fit(edges, data, continuous=["x", "k"]).continuous) == {"x", "k"}
    with pytest.raises(UnknownColumn):
        po.HybridNet.fit(edges, data, continuous=["z"])


RUBBISH = ["x", -3, 2.5, float("nan"), True, [1], {}, object(), None]


@pytest.mark.parametrize("rubbish", RUBBISH, ids=map(repr, range(len(RUBBISH))))
def test_rubbish_is_a_named_error_or_means_something(rubbish):
    net = po.HybridNet([("a", "x")], {"a": [0.5, 0.5]}, {"x": ([0, 1], [], 1)})
    rows = {"a": [0, 1, 0, 1], "x": [0.5, 1.5, 2.0, 7.0]}
    asks = [
        lambda: po.HybridNet(rubbish, {"a": [0.5, 0.5]}, {"x": ([0, 1], [], 1)}),
        lambda: po.HybridNet([("a", "x")], rubbish, {"x": ([0, 1], [], 1)}),
        lambda: po.HybridNet([("a", "x")], {"a": [0.5, 0.5]}, rubbish),
        lambda: po.HybridNet([("a", "x")], {"a": [0.5, 0.5]}, {"x": rubbish}),
        lambda: po.HybridNet.fit(rubbish, rows),
        lambda: po.HybridNet.fit([("a", "x")], rubbish),
        *(
            lambda k=k: po.HybridNet.fit([("a", "x")], rows, **{k: rubbish})
            for k in ("smoothing", "continuous", "states", "sample_weight")
        ),
        lambda: net.query(rubbish),
        lambda: net.query("a", rubbish),
        lambda: net.query("a", {"x": rubbish}),
        lambda: net.query("a", {"a": rubbish}),
        lambda: net.marginals({"x": rubbish}),
        lambda: net.log_density(rubbish),
        lambda: net.predict_proba(rubbish, "a"),
        lambda: net.predict_proba(rows, rubbish),
        lambda: net.predict_proba(rows, "x"),
        lambda: net.log_likelihood(rubbish),
        lambda: net.sample(rubbish),
        lambda: net.sample(5, random_state=rubbish),
        lambda: net.regression(rubbish),
    ]
    strange = []
    for i, ask in enumerate(asks):
        try:
            ask()
        except Exception as error:
            strange += [(i, error)] * (type(error).__module__ != "posteriori.errors")
    assert not strange


def test_no_rows_have_no_predictions_and_likelihood_one():
    net = random_net(0)
    none = net.sample(1, random_state=0).iloc[:0]
    assert net.predict_proba(none, "d0").shape == (0, len(net.discrete.states("d0")))
    assert net.predict(none, "d0").shape == (0,)
    assert net.log_likelihood(none) == 0.0


def plain(**other) -> po.HybridNet:
    """a (two states) above b (three), x given b, y given a and x."""
    given = {
        "edges": [("a", "b"), ("b", "x"), ("a", "y"), ("x", "y")],
        "tables": {"a": [0.25, 0.75], "b": [[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]]},
        "regressions": {"x": ([0.0, 1.0, 5.0], [], [1.0, 4.0, 0.25]), "y": ([1.0, -1.0], [[2.0], [0.5]], [1.0, 9.0])},
        "states": {"a": ("no", "yes"), "b": ("p", "q", "r")},
    }
    return po.HybridNet(**{**given, **other})


def test_networks_are_equal_to_the_last_digit():
    net = plain()
    same = plain()
    assert net == same
    assert hash(net) == hash(same)
    assert net != "net"
    tables, lines = (
        {"a": [0.25, 0.75], "b": [[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]]},
        {"x": ([0.0, 1.0, 5.0], [], [1.0, 4.0, 0.25])},
    )
    for y in (
        ([1.0, -1.5], [[2.0], [0.5]], [1.0, 9.0]),
        ([1.0, -1.0], [[2.0], [0.6]], [1.0, 9.0]),
        ([1.0, -1.0], [[2.0], [0.5]], [1.0, 9.5]),
    ):
        assert net != plain(regressions={**lines, "y": y})
    assert net != plain(tables={**tables, "a": [0.5, 0.5]})
    assert net != plain(states={"a": ("no", "yes"), "b": ("p", "q", "s")})
    turned = [("a", "b"), ("b", "x"), ("x", "y"), ("a", "y")]
    assert plain(edges=turned) == net  # parents of each kind are in the same order
    nodes = po.Dag(["b", "a", "x", "y"], turned)
    assert plain(edges=nodes) != net
    assert repr(net) == "HybridNet(2 discrete and 2 continuous nodes, 4 edges)"
    assert net.n_parameters == 1 + 2 * 2 + 3 * 2 + 2 * 3
    assert net.continuous == ("x", "y")
    told = net.regression("y")
    assert told.to_dict("list") == {"α": [1.0, -1.0], "β x": [2.0, 0.5], "σ": [1.0, 3.0]}
    assert (told.index.name, told.index.tolist()) == ("a", ["no", "yes"])


def test_a_node_needs_one_of_both():
    lines = {"x": ([0.0, 1.0, 5.0], [], 1.0), "y": (1.0, 2.0, 1.0)}
    with pytest.raises(InvalidNetwork, match="'x' needs a table or a regression, one of the two"):
        plain(tables={"a": [1.0], "b": [[1.0]], "x": [1.0]}, states=None)
    with pytest.raises(InvalidNetwork, match="'z' needs a table or a regression"):
        plain(edges=po.Dag(["a", "b", "x", "y", "z"]))
    for bad in ({"tables": [1]}, {"regressions": [lines]}):
        with pytest.raises(InvalidNetwork, match="tables and regressions are mappings"):
            plain(**bad)


def test_the_row_that_cannot_be_is_named():
    rows = {"a": ["no", "yes", "yes"], "b": ["r", "p", "r"], "x": [5.0, 0.0, 5.0]}
    assert plain().predict_proba({k: c[:2] for k, c in rows.items()}, "b").shape == (2, 3)
    net = plain(tables={"a": [1.0, 0.0], "b": [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]})
    with pytest.raises(ImpossibleEvidence, match="row 1 of the cases has probability zero") as told:
        net.predict_proba({"a": ["no", "yes", "no"], "x": [1.0, 1.0, np.nan]}, "b")
    assert told.value.row == 1
    assert net.log_likelihood({"a": ["no", "yes"]}) == -np.inf
    assert net.log_likelihood({"a": ["no", None]}) == pytest.approx(0.0)
    assert net.log_likelihood({"b": ["p", "q"], "a": ["no", "no"]}) == pytest.approx(2 * np.log(0.5))


def test_columns_that_are_no_node():
    net = plain(states={"a": ("no", "yes"), "b": ("p", "q", "r")})
    for column, said in (
        ("bb", r"'bb' is no node; did you mean 'b'\? nodes: 'a', 'b', 'x', 'y'"),
        ("speed", r"'speed' is no node\. nodes"),
    ):
        with pytest.raises(UnknownColumn, match=said):
            net.predict_proba({column: [1.0]}, "a")
    with pytest.raises(UnknownColumn, match="nodes: 'a', 'b', 'x', 'y'"):
        net.predict_proba(np.zeros((2, 2)), "a")
    numbers = net.predict_proba({"y": [1.0, np.nan], "x": [0.0, np.nan]}, "a")
    assert numbers[1] == pytest.approx([0.25, 0.75])
    assert numbers[0] == pytest.approx(net.query("a", {"y": 1.0, "x": 0.0}).values)
    unseen = net.predict_proba({"a": ["yes", "no"], "b": ["p", None]}, "a")  # what is asked for is not looked at
    assert unseen == pytest.approx(np.array([net.query("a", {"b": "p"}).values, [0.25, 0.75]]))


def test_draws_have_the_moments_of_their_configuration():
    net = plain()
    drawn = net.sample(30_000, {"b": "q"}, random_state=1)
    assert set(drawn["b"]) == {"q"}
    assert list(drawn.columns) == ["a", "b", "x", "y"]
    for a, (alpha, beta, spread) in {"no": (1.0, 2.0, 1.0), "yes": (-1.0, 0.5, 9.0)}.items():
        rows = drawn[drawn["a"] == a]
        left = rows["y"] - alpha - beta * rows["x"]
        assert rows["x"].mean() == pytest.approx(1.0, abs=0.12)
        assert rows["x"].var() == pytest.approx(4.0, rel=0.1)
        assert left.mean() == pytest.approx(0.0, abs=0.15)
        assert left.var() == pytest.approx(spread, rel=0.1)
    known = net.sample(30_000, {"y": 4.0, "b": "q"}, random_state=1)
    assert known["y"].tolist() == [4.0] * 30_000
    want = net.marginals({"y": 4.0, "b": "q"})
    assert (known["a"] == "yes").mean() == pytest.approx(want["a"]["yes"], abs=0.02)
    assert known["x"].mean() == pytest.approx(want["x"]["mean"], abs=0.05)
    assert known["x"].std() == pytest.approx(want["x"]["sd"], rel=0.05)
    assert net.sample(0).shape == (0, 4)


def test_draws_of_numbers_beside_one_that_is_seen_have_their_correlation():
    """x and z are drawn together given y: mean and covariance of the textbook, signs included."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    z = rng.normal(size=4000) + 3.0
    cells = {"a": ["u", "v"] * 2000, "x": x, "z": z, "y": x + z + 0.1 * rng.normal(size=4000)}
    net = po.HybridNet.fit(po.Dag("axyz", [("x", "y"), ("z", "y")]), cells)
    drawn = net.sample(4000, {"y": 7.0}, random_state=0)
    # x | y ~ N(½(7 − 3), ½), z = y − x but for a little noise
    assert drawn["x"].mean() == pytest.approx(2.0, abs=0.1)
    assert drawn["z"].mean() == pytest.approx(5.0, abs=0.1)
    assert np.cov(drawn["x"], drawn["z"])[0] == pytest.approx([0.5, -0.5], abs=0.06)


def test_em_is_counting_where_nothing_is_missing_and_complete_cases_where_the_last_number_is():
    """Of x → y with cells of y missing, the rows that have it say all there is about y given x."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"d": rng.choice(["u", "v"], 200), "x": rng.normal(3, 2, 200)})
    rows["y"] = 1 + 2 * rows["x"] + (rows["d"] == "u") * 3 + rng.normal(size=200)
    edges = [("d", "x"), ("d", "y"), ("x", "y")]
    assert po.HybridNet.fit_em(edges, rows) == po.HybridNet.fit(edges, rows)
    gone = rows.assign(y=rows["y"].mask(rng.random(200) < 0.4))
    found = po.HybridNet.fit_em(edges, gone, smoothing=0, tol=1e-13, max_iter=500)
    whole, seen = po.HybridNet.fit(edges, rows, smoothing=0), po.HybridNet.fit(edges, gone.dropna(), smoothing=0)
    assert found.regression("x").to_numpy() == pytest.approx(whole.regression("x").to_numpy(), rel=1e-9)
    assert found.regression("y").to_numpy() == pytest.approx(seen.regression("y").to_numpy(), rel=1e-5)


@settings(max_examples=12)
@given(st.integers(0, 10_000), st.booleans())
def test_em_ends_where_nothing_better_is_near(seed, weighted):
    """ℓ is the likelihood that `log_likelihood` tells by another way, never falls, and a step to any side is lower."""
    rng, truth = np.random.default_rng(seed), random_net(seed, 2, 3)
    rows = truth.sample(150, random_state=seed)
    rows = rows.mask(rng.random(rows.shape) < 0.2)
    weight = rng.integers(1, 3, 150).astype(float) if weighted else None
    found = po.HybridNet.fit_em(
        truth.dag, rows, None, 1.0, sample_weight=weight, tol=1e-12, max_iter=60, random_state=0
    )
    many = rows.loc[rows.index.repeat(weight.astype(int))] if weighted else rows
    prior = sum(np.log(table).sum() for table in found.discrete._model.tables)
    assert found.log_likelihood(many) + prior == pytest.approx(found.ascent.objective, rel=1e-9)
    trace = np.array(found.ascent.trace)
    assert (np.diff(trace[:20]) >= -1e-3 * abs(trace[1:20])).all()  # a floor of a width may cost a little
    assert trace[-1] >= trace[0] - 1e-9 * abs(trace[0])
    assert found.log_likelihood(many) >= truth.log_likelihood(many) - 3 * truth.n_parameters


def test_hidden_classes_of_numbers_are_the_mixture_they_came_from():
    rng = np.random.default_rng(0)
    z = rng.random(600) < 0.3
    rows = {"x": np.where(z, rng.normal(4, 1, 600), rng.normal(0, 0.5, 600)), "y": rng.normal(np.where(z, -2, 2), 1)}
    rows["x"][::7] = np.nan
    found = po.HybridNet.fit_em([("k", "x"), ("k", "y")], rows, {"k": 2}, smoothing=0, random_state=0)
    table = found.regression("x").sort_values("α")
    assert table["α"].to_numpy() == pytest.approx([0, 4], abs=0.2)
    assert table["σ"].to_numpy() == pytest.approx([0.5, 1], abs=0.15)
    assert found.cpt("k").to_numpy().min() == pytest.approx(0.3, abs=0.05)
    assert found.ascent.converged
    with pytest.raises(TableError, match="every cell of 'x' is missing"):
        po.HybridNet.fit_em([("k", "x")], {"x": [np.nan, np.nan]}, {"k": 2}, continuous=["x"])


@given(st.integers(0, 10_000))
def test_net_files_keep_every_digit_and_other_formats_refuse_by_name(seed):
    net = random_net(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "x.net.gz")
        net.write(path)
        found = po.HybridNet.read(path)
        assert set(found.nodes) == set(net.nodes)
        for node in net.nodes:
            assert found.parents(node) == net.parents(node)
        for node in net.continuous:
            assert all((a == b).all() for a, b in zip(found._line(node), net._line(node), strict=True))
        for node in net.discrete.nodes:
            assert found.cpt(node).equals(net.cpt(node))
        for suffix in (".bif", ".xmlbif", ".uai"):
            with pytest.raises(FormatError, match=rf"{suffix} files hold discrete nodes alone, and 'x"):
                net.write(pathlib.Path(folder, f"x{suffix}"))
        with pytest.raises(FormatError, match=r"are continuous: `HybridNet.read`"):
            po.BayesNet.read(path)


HUGIN = """net {} node d { states = ("u" "v"); } continuous node x {} continuous node y { label = "how far"; }
potential (d) { data = (0.25 0.75); } potential (x | d) { data = (normal (1, 2) normal (-1.5e-1, .5)); }
potential (y | x) { data = (normal (3 - x * 2 + 1, 4)); }
"""


def test_a_net_file_as_others_write_it(tmp_path):
    path = tmp_path / "x.net"
    path.write_text(HUGIN)
    net = po.HybridNet.read(path)
    assert net.regression("x").to_numpy() == pytest.approx(np.array([[1, np.sqrt(2)], [-0.15, np.sqrt(0.5)]]))
    assert net.regression("y").to_numpy().tolist() == [[4, -2, 2]]
    for old, new, told in (
        ("normal (1, 2) ", "", "expected 2 normals"),
        ("(1, 2)", "(1 2, 2)", "has a mean, linear in"),
        ("x * 2", "d * 2", "has a mean, linear in 'x'"),
        (".5)", "-1)", "variances above 0"),
        ("(y | x) { data = (normal (3 - x * 2 + 1, 4)); }", "(y | x) { }", "has no data"),
        ("potential (y | x) { data = (normal (3 - x * 2 + 1, 4)); }", "", "no potential of 'y'"),
        ("continuous node y", "continuous node x", "declared twice"),
        ("(d)", "(d | x)", "discrete node 'd' has the continuous parent 'x'"),
        ("(y | x)", "(y | z)", "names 'z'"),
    ):
        assert old in HUGIN
        path.write_text(HUGIN.replace(old, new))
        with pytest.raises(FormatError, match=told):
            po.HybridNet.read(path)
    rng = np.random.default_rng(0)
    for _ in range(500):
        at, odd = int(rng.integers(len(HUGIN))), rng.choice(list("({;,*+-.1ex d"))
        path.write_text(HUGIN[:at] + odd + HUGIN[at + int(rng.integers(2)) :])
        with contextlib.suppress(FormatError):
            po.HybridNet.read(path)
