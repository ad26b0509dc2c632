"""Networks from counts already made: the same as from the rows, in any form of the tables and any order of the states."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import InvalidNetwork, StatisticsError, UnknownColumn

DAG = po.Dag("abc", [("a", "b"), ("a", "c"), ("b", "c")])


def rows(seed, n=60):
    rng = np.random.default_rng(seed)
    a, b = rng.choice(["s", "t"], n), rng.choice([1, 2, 3], n)
    return {"a": a, "b": b, "c": rng.choice(["u", "v"], n)}


def counted(X):
    a, b, c = ["s", "t"], [1, 2, 3], ["u", "v"]
    A, B, C = (X[n] for n in "abc")
    return {
        "a": [int((i == A).sum()) for i in a],
        "b": [[int(((i == A) & (j == B)).sum()) for j in b] for i in a],
        "c": [[[int(((i == A) & (j == B) & (k == C)).sum()) for k in c] for j in b] for i in a],
    }


STATES = {"a": ["s", "t"], "b": [1, 2, 3], "c": ["u", "v"]}


@given(st.integers(0, 200), st.sampled_from([0.0, 1.0]))
def test_counts_are_as_good_as_rows(seed, smoothing):
    X = rows(seed)
    fitted = po.BayesNet.fit(DAG, X, smoothing, states=STATES)
    told = po.BayesNet.from_counts(DAG, counted(X), STATES, smoothing)
    assert told == fitted
    assert told.statistics.cells == fitted.statistics.cells
    assert told.statistics.rows.tolist() == [60]
    turned = {"a": ["t", "s"], "b": [3, 1, 2], "c": ["v", "u"]}
    other = po.BayesNet.from_counts(
        DAG,
        {"a": counted(X)["a"][::-1], "b": np.array(counted(X)["b"])[::-1][:, [2, 0, 1]],
         "c": np.array(counted(X)["c"])[::-1][:, [2, 0, 1]][:, :, ::-1]},
        turned, smoothing,
    )  # fmt: skip
    assert other.states("b") == (3, 1, 2)
    assert other.marginals() == {n: pytest.approx(p) for n, p in told.marginals().items()}
    more = rows(seed + 1, 5)
    assert told.partial_fit(more) == fitted.partial_fit(more)
    assert told.forget({n: v[:3] for n, v in X.items()}) == fitted.forget({n: v[:3] for n, v in X.items()})


@given(st.integers(0, 100))
def test_the_statistics_of_a_classifier_are_a_network(seed):
    X = rows(seed)
    y = np.random.default_rng(seed).choice(["no", "yes"], 60)
    naive = po.NaiveBayes(kinds="categorical").fit(X, y)
    dag = po.Dag(["a", "b", "c", "class"], [("class", "a"), ("class", "b"), ("class", "c")])
    net = po.BayesNet.from_counts(dag, naive.statistics_)
    assert net == po.BayesNet.fit(dag, {**X, "class": y})
    case = {"a": "s", "b": 2, "c": "v"}
    assert list(net.marginals(case)["class"].values()) == pytest.approx(naive.predict_proba(case)[0].tolist(), rel=1e-9)
    tan = po.TAN(kinds="categorical").fit(X, y)
    arrows = [("class", n) for n in "abc"] + [("abc"[p], "abc"[i]) for p, i in tan.structure_.edges]
    both = po.Dag(["a", "b", "c", "class"], arrows)
    assert po.BayesNet.from_counts(both, tan.statistics_) == po.BayesNet.fit(both, {**X, "class": y})
    top = po.Dag(["a", "class"], [("a", "class")])
    turned = po.BayesNet.from_counts(top, naive.statistics_)
    assert turned == po.BayesNet.fit(top, {"a": X["a"], "class": y})
    alone = po.BayesNet.from_counts(po.Dag(["a", "b"]), naive.statistics_)
    assert alone == po.BayesNet.fit(po.Dag(["a", "b"]), {n: X[n] for n in "ab"})


def test_weights_stay_floats_and_whole_numbers_whole():
    whole = po.BayesNet.from_counts(po.Dag("a"), {"a": [2.0, 1.0]})
    assert whole.statistics.rows.dtype.kind == "i"
    parts = po.BayesNet.from_counts(po.Dag("a"), {"a": [2.5, 1.0]})
    assert parts.statistics.rows.tolist() == [3.5]
    assert parts.cpt("a").to_numpy().tolist() == [[3.5 / 5.5, 2.0 / 5.5]]
    frame = pd.DataFrame([[1, 2], [3, 4]], index=pd.Index(["s", "t"], name="a"), columns=pd.Index(["u", "v"], name="b"))
    named = po.BayesNet.from_counts(po.Dag("ab", [("a", "b")]), {"a": {"s": 3, "t": 7}, "b": frame}, smoothing=0)
    assert named.states("b") == ("u", "v")
    assert named.cpt("b").loc["t", "v"] == pytest.approx(4 / 7)


@pytest.mark.parametrize(
    ("counts", "states", "said"),
    [
        ({"a": [1, 2]}, {}, "no counts for"), ({"a": [1, 2], "b": [[1, 1]] * 2, "z": [1]}, {}, "counts are given for"),
        ({"a": [1, 2], "b": [[1, 1]] * 2}, {"z": ["x"]}, "states are given for"), ([1, 2], {}, "counts is a mapping"),
        ({"a": [-1, 2], "b": [[1, 1]] * 2}, {}, "the counts of 'a' are finite numbers from 0 up"),
        ({"a": [1, 2], "b": [[1, np.nan]] * 2}, {}, "the counts of 'b' are finite"),
        ({"a": [1, 2], "b": [[1, np.inf]] * 2}, {}, "the counts of 'b' are finite"),
    ],
)  # fmt: skip
def test_counts_that_are_none(counts, states, said):
    with pytest.raises(InvalidNetwork, match=said):
        po.BayesNet.from_counts(po.Dag("ab", [("a", "b")]), counts, states)


def test_statistics_that_do_not_have_the_families():
    X = rows(0)
    y = ["no", "yes"] * 30
    naive = po.NaiveBayes(kinds="categorical").fit(X, y).statistics_
    with pytest.raises(StatisticsError, match="no counts of"):
        po.BayesNet.from_counts(po.Dag("ab", [("a", "b")]), naive)
    with pytest.raises(UnknownColumn, match="no column for"):
        po.BayesNet.from_counts(po.Dag(["a", "y", "z"]), naive)
    numbers = po.NaiveBayes(density="gaussian").fit({"x": np.arange(60.0)}, y).statistics_
    with pytest.raises(StatisticsError, match="a network counts values"):
        po.BayesNet.from_counts(po.Dag("x"), numbers)


def test_whole_numbers_are_whole_as_long_as_they_add_up():
    for counts, kind in (([2.0**61, 1.0], "i"), ([2.0**62, 0.0], "f"), ([2.0**63, 1.0], "f"), ([0.5, 0.5], "f")):
        assert po.BayesNet.from_counts(po.Dag("a"), {"a": counts}).statistics.rows.dtype.kind == kind
    holed = po.BayesNet.from_counts(po.Dag("ab", [("a", "b")]), {"a": [2, 1], "b": [[3, 1], [2, 4]]})
    assert holed.statistics.rows.tolist() == [10]  # as many rows as some family has
    assert holed.cpt("a").to_numpy().tolist() == [[3 / 5, 2 / 5]]


def test_parents_in_any_order_have_the_counts_of_a_classifier():
    rng = np.random.default_rng(5)
    a, y = rng.integers(0, 2, 200), rng.integers(0, 3, 200)
    X = pd.DataFrame({"a": a, "b": (a + rng.integers(0, 3, 200)) % 4, "c": (a + y + rng.integers(0, 2, 200)) % 5})
    model = po.KDB(k=2, kinds="categorical").fit(X, y)
    last = next(i for i, ps in enumerate(model.structure_.parents) if len(ps) == 2)
    family = [*("abc"[p] for p in model.structure_.parents[last]), "class"]
    for parents in itertools.permutations(family):
        dag = po.Dag([*X.columns, "class"], [(p, "abc"[last]) for p in parents])
        told = po.BayesNet.from_counts(dag, model.statistics_)
        assert told == po.BayesNet.fit(dag, X.assign(**{"class": y}))


@pytest.mark.parametrize("other", [1, "a", None, po.Dag("a")], ids=["number", "text", "none", "graph"])
def test_a_network_adds_to_networks_alone(other):
    net = po.BayesNet.fit(po.Dag("a"), {"a": [0, 1]})
    with pytest.raises(TypeError):
        net + other
    with pytest.raises(TypeError):
        other + net
    assert 0 + net is net
    assert sum([net, net]) == po.BayesNet.fit(po.Dag("a"), {"a": [0, 1] * 2})


def test_the_last_row_is_not_forgotten():
    net = po.BayesNet.fit(po.Dag("a"), {"a": [0, 1]})
    assert net.forget({"a": [0]}).probability({"a": 1}) > 0.5
    with pytest.raises(StatisticsError, match="the last row cannot be forgotten"):
        net.forget({"a": [1, 0]})
