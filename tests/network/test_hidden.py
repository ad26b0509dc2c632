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
from posteriori.errors import BadParameter, InvalidNetwork, ModelError, StatisticsError, TableError, UnknownColumn

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
