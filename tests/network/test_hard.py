"""Hard questions: impossible evidence among many findings, large answers, extreme likelihoods, broken files."""

from __future__ import annotations

import math
import os
import pickle
import time

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.errors import BadValue, FormatError, ImpossibleEvidence, InvalidNetwork, MemoryBudgetError
from posteriori.network import formats
from posteriori.network.elimination import eliminate, log_evidence, map_states
from posteriori.network.junction import JunctionTree
from posteriori.network.numbers import Numbers, impossible, one_hot
from posteriori.network.sampling import likelihood_weighting


def coins(n: int, p: float = 0.5) -> Numbers:
    return Numbers.of([2] * n, [()] * n, [[1 - p, p]] * n)


def copies(n: int) -> Numbers:
    """A chain in which every node repeats the one before."""
    return Numbers.of([2] * n, [(), *((v - 1,) for v in range(1, n))], [[0.5, 0.5]] + [[[1, 0], [0, 1]]] * (n - 1))


def test_impossible_evidence_on_many_nodes_is_refused_soon():
    findings = {v: one_hot(2, int(v >= 150)) for v in range(223)}
    started = time.perf_counter()
    for ask in (lambda: eliminate(copies(223), [], findings), lambda: map_states(copies(223), [0], findings)):
        with pytest.raises(ImpossibleEvidence) as error:
            ask()
        assert list(error.value.findings) == [149, 150]
    assert log_evidence(copies(223), findings) == -math.inf
    assert time.perf_counter() - started < 20


@pytest.mark.parametrize("culprits", [{0}, {99}, {3, 97}, {0, 50, 99}, set(range(0, 100, 7))])
def test_the_conflict_is_minimal_and_found_in_few_tests(culprits):
    tests = []

    def possible(rest):
        tests.append(1)
        return not culprits <= set(rest)

    error = impossible({v: np.ones(2) for v in range(100)}, possible)
    assert set(error.findings) == culprits
    assert len(tests) <= 8 + 14 * len(culprits) or len(culprits) > 3


def test_probability_of_impossible_evidence_is_zero():
    net = po.BayesNet([("a", "b")], {"a": [1.0, 0.0], "b": [[1.0, 0.0], [0.0, 1.0]]})
    assert net.probability({"a": "0", "b": "1"}) == 0
    assert net.log_probability({"b": "1"}) == -math.inf


def test_a_joint_of_many_observed_nodes_is_refused_at_once():
    with pytest.raises(MemoryBudgetError):
        eliminate(coins(60), list(range(60)), {v: one_hot(2, 0) for v in range(60)})


def test_map_refuses_a_node_named_twice():
    with pytest.raises(BadValue, match="twice"):
        map_states(coins(2), [0, 0], {})


def test_map_of_many_rare_findings_does_not_underflow():
    states, value = map_states(coins(401, 0.1), [400], {v: one_hot(2, 1) for v in range(400)})
    assert states == [0]
    assert value == pytest.approx(400 * math.log(0.1) + math.log(0.9))


@pytest.mark.parametrize("size", [1e160, 5e-324, 1e308, 1e-300])
def test_likelihoods_of_any_size_say_the_same(size):
    tables = {"a": [0.8, 0.2], "b": [[0.9, 0.1], [0.3, 0.7]], "c": [[0.6, 0.4], [0.5, 0.5]]}
    net = po.BayesNet([("a", "b"), ("a", "c")], tables)
    big = {n: {"0": size, "1": 0.0} for n in ("b", "c")}
    same = {"b": "0", "c": "0"}
    exact, wanted = net.marginals(same), net.log_probability(same) + 2 * math.log(size)
    assert net.marginals(big)["a"] == pytest.approx(exact["a"])
    assert net.query("a", big)["0"] == pytest.approx(exact["a"]["0"])
    assert net.most_probable(big, nodes="a") == net.most_probable(same, nodes="a")
    assert net.most_probable(big) == net.most_probable(same)
    assert net.log_probability(big) == pytest.approx(wanted)
    assert net.probability(big) == (math.inf if size > 1 else 0.0)
    vectors = {1: np.array([size, 0.0]), 2: np.array([size, 0.0])}
    tree = JunctionTree(net._model)
    tree.set_evidence(vectors)
    assert tree.log_probability() == pytest.approx(wanted)
    assert pickle.loads(pickle.dumps(tree)).log_probability() == pytest.approx(wanted)
    assert tree.most_probable()[1] == pytest.approx(math.log(0.8 * 0.9 * 0.6) + 2 * math.log(size))
    assert map_states(net._model, [0], vectors)[1] == pytest.approx(math.log(0.8 * 0.9 * 0.6) + 2 * math.log(size))
    weighed = likelihood_weighting(net._model, vectors, random_state=0)
    assert weighed.log_probability == pytest.approx(wanted, abs=0.05)


VARIABLE = "<VARIABLE><NAME>a</NAME><OUTCOME>x</OUTCOME></VARIABLE>"


@pytest.mark.parametrize("text", ["<BIF/>", f"<BIF><NETWORK>{VARIABLE}</NETWORK></BIF>"])
def test_an_unfinished_xmlbif_is_a_format_error(text):
    with pytest.raises(FormatError):
        formats.parse(text.encode(), "a.xmlbif")


def test_a_state_named_twice_among_many_is_found_soon():
    states = [f"s{i}" for i in range(65_000)]
    text = f"variable a {{ type discrete [ 65001 ] {{ {', '.join([*states, 's64999'])} }}; }}"
    started = time.perf_counter()
    with pytest.raises(FormatError, match="'s64999' twice"):
        formats.parse(("network n { } " + text).encode(), "a.bif")
    assert time.perf_counter() - started < 10


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_written_file_has_the_mode_of_any_other(tmp_path):
    net, path, other = po.networks.asia(), tmp_path / "asia.bif", tmp_path / "other"
    other.touch()
    net.write(path)
    assert path.stat().st_mode == other.stat().st_mode
    path.chmod(0o640)
    net.write(path)
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(tmp_path.iterdir()) == [path, other]


@pytest.mark.parametrize(
    "table",
    [
        [[0.5, 0.5], [1.0]],
        [["x", "y"], [0.5, 0.5]],
        {"0": [0.5, "x"], "1": [0.5, 0.5]},
        {"0": [[0.5], [0.2, 0.3]], "1": [0.5, 0.5]},
        pd.DataFrame([[0.5, "x"], [0.5, 0.5]], index=["0", "1"]),
    ],
)
@pytest.mark.parametrize("states", [None, {"a": ("0", "1"), "wet": (0, 1)}])
def test_a_broken_table_is_refused_by_name(table, states):
    with pytest.raises(InvalidNetwork, match="'wet'"):
        po.BayesNet([("a", "wet")], {"a": [0.5, 0.5], "wet": table}, states)


@pytest.mark.parametrize("smoothing", [0, 1.0, 0.5])
def test_a_network_from_counts_is_the_one_fitted_to_their_rows(smoothing):
    dag = po.Dag("abc", [("a", "c"), ("b", "c")])
    rows = pd.DataFrame(np.random.default_rng(0).integers(0, [2, 3, 2], (50, 3)), columns=list("abc"))
    counts = {
        "a": np.bincount(rows["a"]),
        "b": dict(enumerate(np.bincount(rows["b"]))),
        "c": rows.value_counts()
        .reindex(pd.MultiIndex.from_product([[0, 1], [0, 1, 2], [0, 1]]), fill_value=0)
        .unstack(),
    }
    fitted = po.BayesNet.fit(dag, rows, smoothing, {"a": (0, 1), "b": (0, 1, 2), "c": (0, 1)})
    counted = po.BayesNet.from_counts(dag, counts, {"a": (0, 1)}, smoothing)
    for node in dag.nodes:
        assert counted.states(node) == fitted.states(node)
        np.testing.assert_allclose(counted.cpt(node).to_numpy(), fitted.cpt(node).to_numpy())


@pytest.mark.parametrize("counts", [{}, {"a": [1, -1]}, {"a": [1, np.nan]}, {"a": [1, 2], "z": [1]}, {"a": ["x", 1]}])
def test_counts_that_are_none_are_refused(counts):
    with pytest.raises(InvalidNetwork):
        po.BayesNet.from_counts(po.Dag("a", []), counts)
