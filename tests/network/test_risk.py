"""The risk of a network: enumerated, and sampled with the error that it has."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.errors import BadValue, LossError, MemoryBudgetError
from posteriori.network.numbers import Numbers
from posteriori.network.risk import _part, exact_risk, sampled_risk
from posteriori.network.weighting import forward_sample


@pytest.mark.parametrize("draws", [2, 3, 10])
def test_the_standard_error_is_that_of_a_mean(draws):
    """s/√n with s² = Σ (x − x̄)²/(n − 1), of the risks of the very cases that are drawn."""
    model = Numbers.of([2, 3], [(), (0,)], [[0.6, 0.4], [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]])
    joint = np.array([0.6, 0.4])[:, None] * np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    of_case = 1 - joint.max(axis=0) / joint.sum(axis=0)
    risks = of_case[forward_sample(model, draws, 5)[:, 1]]
    mean, error = sampled_risk(model, 0, 1 - np.eye(2), draws=draws, random_state=5)
    assert mean == pytest.approx(risks.mean())
    assert error == pytest.approx(risks.std(ddof=1) / np.sqrt(draws))


def fan() -> Numbers:
    """A target of three states with a cause, two signs and a sign of the first sign."""
    rng = np.random.default_rng(4)
    sizes, parents = [2, 3, 2, 4, 3], [(), (0,), (1,), (1,), (2,)]
    tables = [rng.dirichlet(np.ones(sizes[v]), int(np.prod([sizes[p] for p in ps]))) for v, ps in enumerate(parents)]
    return Numbers.of(sizes, parents, tables, list("abcde"))


def test_memory_decides_between_ways_and_not_between_answers():
    model, loss = fan(), np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 1.0], [1.5, 1.0, 0.0], [0.7, 0.7, 0.7]])
    cells = 2 * 2 * 4 * 3  # a, c and d are seen, e tells nothing beside c
    with pytest.raises(MemoryBudgetError, match=r"enumerating 3 nodes \('a', 'c', 'd'\) would take"):
        exact_risk(model, 1, loss, max_memory=16.0 * cells - 1)
    exact = exact_risk(model, 1, loss)
    mean, error = sampled_risk(model, 1, loss, draws=3000, random_state=0)
    assert abs(mean - exact) < 5 * error
    tight = sampled_risk(model, 1, loss, draws=3000, random_state=0, max_memory=600)
    assert tight == pytest.approx((mean, error), rel=1e-9)
    few = sampled_risk(model, 1, loss, [2, 1], draws=3000, random_state=0)  # the target is not seen, whoever says so
    assert few[0] == pytest.approx(exact_risk(model, 1, loss, [2]), abs=5 * few[1])


def test_a_part_of_a_network_has_roots_where_its_tables_end():
    part, place = _part(fan(), [1, 3], [0, 3])
    assert place == {0: 0, 1: 1, 3: 2}
    assert (part.sizes, part.parents, part.names) == ((2, 3, 4), ((), (0,), (1,)), ("a", "b", "d"))
    assert part.tables[0].tolist() == [0.5, 0.5]
    assert part.tables[2] is fan().tables[3] or part.tables[2].tolist() == fan().tables[3].tolist()
    assert _part(Numbers.of([2], [()], [[1, 1]]), [0], [])[0].names == ()


def test_what_is_no_question_of_risk():
    for observed in ([5], [-1], [0, 9]):
        with pytest.raises(BadValue, match=r"no nodes .*: the network has nodes 0 … 4"):
            exact_risk(fan(), 1, 1 - np.eye(3), observed)
    with pytest.raises(LossError, match=r"shape \(3, 2\); expected \(actions, 3\)"):
        exact_risk(fan(), 1, np.zeros((3, 2)))
    with pytest.raises(LossError, match="not finite"):
        sampled_risk(fan(), 1, np.full((3, 3), np.inf))
    with pytest.raises(BadValue, match="draws=1"):
        sampled_risk(fan(), 1, 1 - np.eye(3), draws=1)
