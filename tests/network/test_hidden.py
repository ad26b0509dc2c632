"""EM in networks: monotone, counting where nothing is missing, right where the truth is known."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori import budget
from posteriori.errors import (
    BadParameter,
    InvalidNetwork,
    MemoryBudgetError,
    ModelError,
    StatisticsError,
    TableError,
    UnknownColumn,
)
from posteriori.network.hidden import (
    RESTARTS,
    Incomplete,
    climb,
    first_tables,
    given_tables,
    hidden_states,
    read_incomplete,
)
from posteriori.network.learn import Smoothing

from .making import seeds

DAG = po.Dag(["a", "b", "c"], [("a", "b"), ("a", "c"), ("b", "c")])
ASIA = po.networks.asia()


def rows(rng: np.random.Generator, n: int, missing: float) -> pd.DataFrame:
    table = pd.DataFrame({k: rng.integers(0, size, n).astype(object) for k, size in zip("abc", (2, 3, 2))})
    table = table.mask(rng.random(table.shape) < missing, None)
    table.iloc[0] = 0
    return table


@settings(max_examples=30)
@given(seed=seeds, n=st.integers(2, 40), missing=st.floats(0.05, 0.7), smoothing=st.sampled_from([0.0, 0.3, 1.0]))
def test_the_objective_never_falls(seed, n, missing, smoothing):
    rng = np.random.default_rng(seed)
    table, weight = rows(rng, n, missing), rng.integers(1, 4, n).astype(float)
    for how in ({"smoothing": smoothing}, {"ess": 2.0}):
        net = po.BayesNet.fit_em(DAG, table, sample_weight=weight, max_iter=25, tol=0, **how)
        if net.ascent is not None:
            trace = np.array(net.ascent.trace)
            assert (np.diff(trace) >= -1e-10 * np.abs(trace[1:])).all()
    hidden = po.BayesNet.fit_em(
        po.Dag("abch", [("h", k) for k in "abc"]), table, {"h": 2}, smoothing, random_state=seed, max_iter=25
    )
    assert (np.diff(hidden.ascent.trace) >= -1e-10 * np.abs(hidden.ascent.trace[1:])).all()


@settings(max_examples=20)
@given(seed=seeds, smoothing=st.sampled_from([0.0, 1.0]))
def test_the_objective_is_what_the_network_says_of_the_rows(seed, smoothing):
    table = rows(np.random.default_rng(seed), 25, 0.3)
    net = po.BayesNet.fit_em(DAG, table, smoothing=smoothing, max_iter=3)
    if net.ascent is None:
        return
    value = sum(
        net.log_probability({k: v for k, v in row.items() if v is not None}) for row in table.to_dict("records")
    )
    with np.errstate(divide="ignore"):
        prior = sum(np.log(net.cpt(n).to_numpy()).sum() for n in net.nodes) * smoothing if smoothing else 0.0
    assert net.ascent.objective == pytest.approx(value + prior, rel=1e-10)


@given(seed=seeds, n=st.integers(1, 50))
def test_complete_rows_are_counted_to_the_last_bit(seed, n):
    table = rows(np.random.default_rng(seed), n, 0.0)
    for how in ({}, {"smoothing": 0.0}, {"ess": 3.0}):
        assert po.BayesNet.fit_em(DAG, table, **how) == po.BayesNet.fit(DAG, table, **how)
    states = {k: net_states for k, net_states in zip("abc", ((0, 1), (0, 1, 2), (0, 1)))}
    none = po.BayesNet.fit_em(DAG, table, states=states)
    assert none == po.BayesNet.fit(DAG, table, states=states)
    assert none.ascent is None


def test_one_turn_by_hand():
    table = {"a": [0, 0, 1, None], "b": [0, 1, 1, 1]}
    dag = po.Dag("ab", [("a", "b")])
    start = po.BayesNet([("a", "b")], {"a": [0.5, 0.5], "b": [[0.5, 0.5], [0.2, 0.8]]}, {"a": (0, 1), "b": (0, 1)})
    net = po.BayesNet.fit_em(dag, table, smoothing=0, start=start, max_iter=2)
    share = 0.5 * 0.5 / (0.5 * 0.5 + 0.5 * 0.8)  # that the last row has a = 0
    np.testing.assert_allclose(net.cpt("a").to_numpy(), [[(2 + share) / 4, (2 - share) / 4]])
    np.testing.assert_allclose(net.cpt("b").to_numpy()[0], [1 / (2 + share), (1 + share) / (2 + share)])


@pytest.mark.parametrize("seed", range(3))
def test_a_fifth_of_the_cells_of_asia_removed(seed):
    full = ASIA.sample(10_000, random_state=seed)
    cut = full.mask(np.random.default_rng(seed).random(full.shape) < 0.2)
    net = po.BayesNet.fit_em(ASIA.dag, cut, smoothing=0)
    assert net.ascent.converged
    for node in ASIA.nodes:
        for index, found, truth in zip(ASIA.cpt(node).index, net.cpt(node).to_numpy(), ASIA.cpt(node).to_numpy()):
            at = full
            for parent, state in zip(ASIA.parents(node), index if isinstance(index, tuple) else (index,)):
                at = at[at[parent] == state]
            if len(at) >= 50:
                assert (np.abs(found - truth) <= 5 * np.sqrt(truth * (1 - truth) / len(at)) + 1e-6).all()


def test_a_hidden_class_is_found_again_up_to_names():
    rng = np.random.default_rng(1)
    names = [f"x{i}" for i in range(8)]
    truth = po.BayesNet(
        [("c", x) for x in names], {"c": [0.5, 0.3, 0.2], **{x: rng.dirichlet([0.5] * 3, 3) for x in names}}
    )
    seen = truth.sample(5000, random_state=1)[names]
    net = po.BayesNet.fit_em(truth.dag, seen, hidden={"c": 3}, random_state=0)
    wanted, found = truth.predict(seen, "c"), net.predict(seen, "c")
    agree = max((np.array([to[int(v)] for v in found]) == wanted).mean() for to in itertools.permutations("012"))
    assert agree > 0.97
    again = po.BayesNet.fit_em(truth.dag, seen, hidden={"c": 3}, random_state=0, n_jobs=2)
    assert again == net  # neither threads nor time play a part
    named = po.BayesNet.fit_em(truth.dag, seen, hidden={"c": ["u", "v", "w"]}, random_state=0, max_iter=2)
    assert named.states("c") == ("u", "v", "w")


def test_rows_that_wait_for_nothing_are_kept_with_the_network():
    table = rows(np.random.default_rng(0), 30, 0.3)
    net = po.BayesNet.fit_em(DAG, table)
    assert pickle.loads(pickle.dumps(net)).ascent == net.ascent
    with pytest.raises(StatisticsError):  # what was expected was not counted
        net.partial_fit(table)
    more = po.BayesNet.fit_em(DAG, table, start=net)
    assert more.ascent.objective >= net.ascent.objective


def test_what_cannot_be_is_named():
    table = rows(np.random.default_rng(0), 30, 0.3)
    with pytest.raises(UnknownColumn, match=r"no column for 'h'.*hidden="):
        po.BayesNet.fit_em(po.Dag("abh"), table)
    with pytest.raises(InvalidNetwork, match="hidden node 'z'"):
        po.BayesNet.fit_em(DAG, table, hidden={"z": 2})
    for wrong in (0, 2.5, "x", []):
        with pytest.raises(BadParameter, match="a number from 1 to 1,048,576, or a list"):
            po.BayesNet.fit_em(po.Dag("abch"), table, hidden={"h": wrong})
    for wrong in ({"restarts": 0}, {"tol": -1}, {"max_iter": 0}, {"hidden": 3}, {"start": 3}, {"smoothing": "x"}):
        with pytest.raises(BadParameter):
            po.BayesNet.fit_em(DAG, table, **wrong)
    with pytest.raises(TableError, match="every cell of 'a' is missing"):
        po.BayesNet.fit_em(DAG, {"a": [None, None], "b": [0, 1], "c": [0, 1]})
    start = po.BayesNet(DAG, {"a": [1.0, 0.0], "b": [[1 / 3] * 3] * 2, "c": [[0.5, 0.5]] * 6}, {
        "a": (0, 1), "b": (0, 1, 2), "c": (0, 1)
    })  # fmt: skip
    with pytest.raises(ModelError, match="rules some of them out"):
        po.BayesNet.fit_em(DAG, {"a": [1, None, 0], "b": [0, 1, 2], "c": [0, None, 1]}, start=start)
    with pytest.raises(ModelError, match="other parents or states of 'a'"):
        po.BayesNet.fit_em(DAG, {"a": [1, None, 2], "b": [0, 1, 2], "c": [0, None, 1]}, start=start)


STATES = {"a": (0, 1), "b": (0, 1, 2), "c": (0, 1)}


def some_cases(seed: int, n: int, missing: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    cases = np.column_stack([rng.integers(0, s, n) for s in (2, 3, 2)]).astype(np.int32)
    cases[rng.random(cases.shape) < missing] = -1
    return cases, rng.integers(0, 4, n) / 2


@given(seed=seeds, n=st.integers(0, 12), missing=st.sampled_from([0.0, 0.3, 1.0]), weighted=st.booleans())
def test_rows_that_state_a_family_are_counted_and_the_others_wait(seed, n, missing, weighted):
    cases, w = some_cases(seed, n, missing)
    found = Incomplete(DAG, STATES, cases, w if weighted else None, None)
    w = w if weighted else np.ones(n)
    for v, family in enumerate([(0,), (0, 1), (0, 1, 2)]):
        sizes = [(2, 3, 2)[u] for u in family]
        fixed, complete = np.zeros(sizes), np.zeros(sizes)
        for case, weight in zip(cases, w):
            if (case[list(family)] >= 0).all():
                fixed[tuple(case[list(family)])] += weight
                complete[tuple(case[list(family)])] += weight * (case >= 0).all()
        assert found.fixed[v] == pytest.approx(fixed.reshape(-1, sizes[-1]))
        assert found.complete[v] == pytest.approx(complete.reshape(-1, sizes[-1]))
    holed = {tuple(case) for case in cases.tolist() if -1 in case}
    assert sorted(map(tuple, found.cases.tolist())) == sorted(holed)
    for case, weight in zip(found.cases.tolist(), found.weights):
        assert weight == pytest.approx(sum(x for c, x in zip(cases.tolist(), w) if c == case))
    assert found.offsets.tolist() == [0, 2, 8, 20]
    assert found.sizes == (2, 3, 2)


@given(seed=seeds, smoothing=st.sampled_from([0.0, 0.7]))
def test_one_turn_is_what_is_expected_of_every_row(seed, smoothing):
    """ℓ of the first tables, and θ from the counts of every completion, weighed by its posterior."""
    cases, w = some_cases(seed, 9, 0.4)
    cases[0], w[0] = -1, 1.5
    rows, how = Incomplete(DAG, STATES, cases, w, None), Smoothing(smoothing)
    rng = np.random.default_rng(seed)
    start = [rng.dirichlet(np.ones(t.shape[1]), len(t)) for t in rows.fixed]
    p = start[0][0][:, None, None] * start[1][:, :, None] * start[2].reshape(2, 3, 2)
    counts, value = np.zeros((2, 3, 2)), smoothing * sum(np.log(t).sum() for t in start)
    for case, weight in zip(cases, w):
        at = tuple(slice(None) if c < 0 else slice(c, c + 1) for c in case)
        counts[at] += weight * p[at] / p[at].sum()
        value += weight * np.log(p[at].sum())
    ascent = climb(rows, how, [start], 0.0, 1, None, None)
    assert ascent.objective == pytest.approx(value)
    told = []
    after = climb(rows, how, [start], 0.0, 2, lambda turn, x: told.append((turn, x)), None)
    wanted = [counts.sum(axis=(1, 2))[None], counts.sum(axis=2), counts.reshape(6, 2)]
    for theta, n in zip(after.parameters, wanted):
        total = n.sum(axis=1, keepdims=True) + smoothing * n.shape[1]
        seen = total[:, 0] > 0
        assert theta[seen] == pytest.approx(((n + smoothing) / np.where(total, total, 1))[seen])
    assert len(told) >= 1


def test_where_the_climbs_begin():
    cases, _ = some_cases(3, 30, 0.3)
    rows = Incomplete(DAG, STATES, cases, None, None)
    counted = [(n + 1) / (n + 1).sum(axis=1, keepdims=True) for n in rows.fixed]
    (only,) = first_tables(rows, {}, None, 0)
    three = first_tables(rows, {}, 3, 0)
    assert len(three) == 3
    for v in range(3):
        assert only[v] == pytest.approx(counted[v])
        assert three[0][v] == pytest.approx(counted[v])
        chance = 2 * three[1][v] - counted[v]
        assert (chance > 0).all()
        assert chance.sum(axis=1) == pytest.approx(1.0)
        assert not np.allclose(three[1][v], three[2][v])
    dag = po.Dag(["a", "b", "h"], [("h", "b"), ("a", "b")])
    unseen = np.column_stack([cases[:, :2], np.full(30, -1)]).astype(np.int32)
    with_hidden = Incomplete(dag, {"a": (0, 1), "b": (0, 1, 2), "h": ("0", "1")}, unseen, None, None)
    starts = first_tables(with_hidden, {"h": 2}, None, 5)
    assert len(starts) == RESTARTS == 10
    assert len(first_tables(with_hidden, {"h": 2}, 1, 5)) == 1
    for start in starts:
        assert start[0] == pytest.approx(counted[0])  # a family of columns was counted
        assert (start[1] > 1 / 6).all()  # nothing counted: half of a row is even, half is chance
        assert (start[2] > 1 / 4).all()
        assert not np.allclose(start[2], 0.5)
    again = first_tables(with_hidden, {"h": 2}, None, 5)
    assert all(np.array_equal(a, b) for a, b in zip(itertools.chain(*starts), itertools.chain(*again)))
    for bad in (0, 1.5, "2"):
        with pytest.raises(BadParameter, match="restarts is a whole number from 1 up"):
            first_tables(rows, {}, bad, 0)


def test_hidden_states_at_their_borders():
    dag = po.Dag("ah")
    assert hidden_states(dag, {"h": 1}) == {"h": ("0",)}
    assert hidden_states(dag, {"h": np.int64(3), "a": ["u"]}) == {"h": ("0", "1", "2"), "a": ("u",)}
    assert len(hidden_states(dag, {"h": 1 << 20})["h"]) == 1 << 20
    for bad in (0, (1 << 20) + 1, "uv", (), 2.5):
        with pytest.raises(BadParameter, match="the states of 'h' are a number from 1 to 1,048,576, or a list"):
            hidden_states(dag, {"h": bad})
    with pytest.raises(BadParameter, match="hidden is a mapping"):
        hidden_states(dag, ["h"])


def test_incomplete_rows_in_codes_of_the_states():
    """Columns in the order of the nodes, states in the order that was told, weights of rows that count."""
    dag = po.Dag(["h", "b", "a"], [("h", "b")])
    table = {"a": ["x", None, "y", "x"], "b": [3, 1, None, 2]}
    states, cases, weights = read_incomplete(dag, table, {"h": 2}, {"a": ("y", "x")}, None, None)
    assert states == {"h": ("0", "1"), "b": (1, 2, 3), "a": ("y", "x")}
    assert cases.tolist() == [[-1, 2, 1], [-1, 0, -1], [-1, -1, 0], [-1, 1, 1]]
    assert weights is None
    states, cases, weights = read_incomplete(dag, table, {"h": 2}, {"a": ("y", "x")}, [0.5, 0.0, 2.0, 1.0], None)
    assert states["b"] == (2, 3)  # what only rows of no weight have is no state
    assert cases.tolist() == [[-1, 1, 1], [-1, -1, 0], [-1, 0, 1]]
    assert weights.tolist() == [0.5, 2.0, 1.0]
    with pytest.raises(TableError, match="every cell of 'b' is missing; pass its states"):
        read_incomplete(dag, {"a": ["x"], "b": [None]}, {"h": 2}, {}, None, None)


def test_a_network_to_begin_with_has_the_same_families():
    cases, _ = some_cases(3, 30, 0.3)
    rows = Incomplete(DAG, STATES, cases, None, None)
    tables = {"a": [0.4, 0.6], "b": [[0.2, 0.3, 0.5]] * 2, "c": [[0.25, 0.75]] * 6}
    start = po.BayesNet(DAG, tables, STATES)
    assert [t.tolist() for t in given_tables(rows, start)] == [[[0.4, 0.6]], tables["b"], tables["c"]]
    turned = po.Dag(["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")])
    for other in (po.BayesNet(turned, tables, STATES), po.BayesNet(DAG, tables, {**STATES, "c": (1, 0)})):
        with pytest.raises(ModelError, match="other parents or states of 'c'"):
            given_tables(rows, other)
    for other in (DAG, po.BayesNet(po.Dag("ab"), {"a": [0.5, 0.5], "b": [0.5, 0.5]})):
        with pytest.raises(BadParameter, match="start is a network of the same nodes"):
            given_tables(rows, other)


@pytest.mark.parametrize(("edges", "node"), [([("a", "h")], "h"), ([("h", "a")], "a")])
def test_a_table_that_does_not_fit_is_refused_by_its_node(monkeypatch, edges, node):
    """Hidden or seen; with as many bytes as it takes it is none that is refused."""
    for less in (0, 1):
        monkeypatch.setattr(budget, "_half_of_the_machine", lambda less=less: 24.0 * 200_000 - less)
        dag, told = po.Dag("ah", edges), {"h": 100_000}
        if less:
            with pytest.raises(MemoryBudgetError, match=f"table of '{node}' given '.', which holds 200,000 numbers"):
                read_incomplete(dag, {"a": [0, 1, None]}, told, {}, None, None)
        else:
            assert len(read_incomplete(dag, {"a": [0, 1, None]}, told, {}, None, None)[0]["h"]) == 100_000
