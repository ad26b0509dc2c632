"""The best structure of all: enumeration of every DAG, never below a greedy search, constraints, refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadParameter, InvalidNetwork, MemoryBudgetError, TableError
from posteriori.structure import exact as module
from posteriori.structure.scores import SCORES, Scored
from posteriori.structure.separation import reversed_rows, topological

NAMES = "abcd"


def table(seed: int, d: int = 4, n: int = 60) -> np.ndarray:
    rng = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for j in range(d):
        new = rng.integers(0, rng.integers(2, 4), n)
        if j and rng.random() < 0.8:
            new = np.where(rng.random(n) < 0.6, columns[int(rng.integers(j))], new)
        columns.append(new)
    return np.array(columns, dtype=np.uint8)


def as_data(codes: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip("abcdefghijklmnopqrstuvwxyz", codes))


def _every_dag() -> list[list[list[int]]]:
    d, found = len(NAMES), []
    pairs = list(itertools.combinations(range(d), 2))
    for ways in itertools.product(range(3), repeat=len(pairs)):
        parents: list[list[int]] = [[] for _ in range(d)]
        for (a, b), way in zip(pairs, ways):
            if way:
                parents[b if way == 1 else a].append(a if way == 1 else b)
        if len(topological(parents, reversed_rows(parents))) == d:
            found.append(parents)
    return found


ALL = _every_dag()


@pytest.mark.parametrize("score", SCORES)
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_enumeration(score, seed):
    codes = table(seed)
    sizes = tuple(int(c.max()) + 1 for c in codes)
    if any(len(np.unique(c)) < s for c, s in zip(codes, sizes)):
        return
    judge = Scored(codes, sizes, score)
    memory: dict[tuple[int, tuple[int, ...]], float] = {}

    def family(v: int, parents: list[int]) -> float:
        key = v, tuple(parents)
        if key not in memory:
            memory[key] = judge.family(v, parents)
        return memory[key]

    top = max(sum(family(v, some) for v, some in enumerate(parents)) for parents in ALL)
    found = po.learn_structure(as_data(codes), score, "exact")
    assert found.score == pytest.approx(top, rel=1e-9)
    for start in (None, "chow-liu"):
        assert po.learn_structure(as_data(codes), score, start=start).score <= found.score + 1e-6


def test_enumeration_of_five_nodes():
    """29,281 DAGs, under four scores."""
    codes = table(7, d=5, n=200)
    sizes = tuple(int(c.max()) + 1 for c in codes)
    for score in ("bic", "bdeu", "k2", "fnml"):
        judge = Scored(codes, sizes, score)
        best = -np.inf
        worth = {
            (v, parents): judge.family(v, parents)
            for v in range(5)
            for k in range(5)
            for parents in itertools.combinations([u for u in range(5) if u != v], k)
        }
        for order in itertools.permutations(range(5)):  # every DAG has an order
            total = 0.0
            for place, v in enumerate(order):
                before = set(order[:place])
                total += max(s for (w, parents), s in worth.items() if w == v and set(parents) <= before)
            best = max(best, total)
        assert po.learn_structure(as_data(codes), score, "exact").score == pytest.approx(best, rel=1e-10)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_never_below_a_search_and_free_of_threads_and_columns(seed):
    codes = table(seed, d=9, n=300)
    data = as_data(codes)
    found = po.learn_structure(data, method="exact")
    assert found.score >= po.learn_structure(data, tabu=10, restarts=2, random_state=0).score - 1e-6
    assert found == po.learn_structure(data, method="exact", n_jobs=1)
    order = np.random.default_rng(seed).permutation(list(data))
    moved = po.learn_structure({k: data[k] for k in order}, method="exact")
    assert moved.score == pytest.approx(found.score)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), most=st.integers(1, 3))
def test_constraints(seed, most):
    data = as_data(table(seed, d=6, n=150))
    rules = {
        "required": [("f", "a")],
        "forbidden": [("a", "b"), ("b", "a")],
        "tiers": [["f"], ["c"]],
        "max_parents": most,
    }
    found = po.learn_structure(data, method="exact", **rules)
    assert ("f", "a") in found.edges
    assert not {("a", "b"), ("b", "a"), ("c", "f")} & set(found.edges)
    assert max(len(found.dag.parents(v)) for v in data) <= most
    assert found.score >= po.learn_structure(data, **rules).score - 1e-6


def test_weights_are_rows():
    codes = table(2, d=5)
    weights = np.random.default_rng(0).integers(0, 4, codes.shape[1])
    many = as_data(np.repeat(codes, weights, axis=1))
    for score in ("bic", "bdeu"):
        a = po.learn_structure(as_data(codes), score, "exact", sample_weight=weights)
        assert a.score == pytest.approx(po.learn_structure(many, score, "exact").score)
    with pytest.raises(BadParameter, match="whole numbers"):
        po.learn_structure(as_data(codes), method="exact", sample_weight=weights + 0.5)


def test_what_cannot_be_done_is_said_before_the_work(monkeypatch):
    with pytest.raises(TableError, match="'b' has missing ones"):
        po.learn_structure({"a": [0, 1, 1], "b": [0, None, 1]}, method="exact")
    wide = {f"x{j}": [0, 1] for j in range(31)}
    with pytest.raises(TableError, match="at most 30 columns"):
        po.learn_structure(wide, method="exact")
    del wide["x30"]
    with pytest.raises(MemoryBudgetError, match=r"method 'exact' on 30 columns would take"):
        po.learn_structure(wide, method="exact")
    with pytest.raises(InvalidNetwork, match="cycle"):
        po.learn_structure({"a": [0, 1], "b": [1, 0]}, method="exact", required=[("a", "b"), ("b", "a")])

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "best_network", stopped)
    found = po.learn_structure(as_data(table(0)), method="exact")
    assert not found.finished
    assert found.edges == po.learn_structure(as_data(table(0))).edges


@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_a_time_limit_gives_what_a_climb_has_found(score, monkeypatch):
    data = as_data(table(3, d=16, n=3000))
    none = po.learn_structure(data, score, "exact", time_limit=0)
    assert not none.finished
    assert none.score <= po.learn_structure(data, score).score + 1e-9
    assert po.learn_structure(as_data(table(3)), score, "exact", time_limit=60).finished
    monkeypatch.setattr("posteriori.structure.search.exact", lambda *_: None)  # its time is over
    found = po.learn_structure(data, score, "exact", time_limit=60)
    assert not found.finished
    assert found.edges == po.learn_structure(data, score).edges
