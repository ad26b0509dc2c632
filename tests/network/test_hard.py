"""Hard questions: impossible evidence among many findings, large answers, extreme likelihoods, broken files."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import BadValue, ImpossibleEvidence, MemoryBudgetError
from posteriori.network.elimination import eliminate, log_evidence, map_states
from posteriori.network.evidence import impossible
from posteriori.network.model import Discrete, one_hot


def coins(n: int, p: float = 0.5) -> Discrete:
    return Discrete.of([2] * n, [()] * n, [[1 - p, p]] * n)


def copies(n: int) -> Discrete:
    """A chain in which every node repeats the one before."""
    return Discrete.of([2] * n, [(), *((v - 1,) for v in range(1, n))], [[0.5, 0.5]] + [[[1, 0], [0, 1]]] * (n - 1))


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
