"""Search by score: no step improves what was found, every step is what it says, constraints hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadParameter, InvalidNetwork, TableError, UnknownColumn
from posteriori.structure.scores import SCORES, Scored

NAMES = "abcde"


def table(seed: int, n: int = 120) -> dict[str, np.ndarray]:
    """Columns that lean on those before them; some cells missing."""
    rng = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for j in range(len(NAMES)):
        new = rng.integers(0, 3, n)
        if j and rng.random() < 0.8:
            new = np.where(rng.random(n) < 0.7, columns[int(rng.integers(j))], new)
        columns.append(new)
    cells = [np.where(rng.random(n) < 0.05, None, c.astype(object)) if rng.random() < 0.3 else c for c in columns]
    return dict(zip(NAMES, cells))


def scored(data: dict[str, np.ndarray], score: str) -> Scored:
    codes = [[3 if v is None else int(v) for v in column] for column in data.values()]
    return Scored(np.array(codes, dtype=np.uint8), (3,) * len(data), score)


def parents_of(dag: po.Dag) -> list[list[int]]:
    return [[dag.nodes.index(p) for p in dag.parents(v)] for v in dag.nodes]


@given(seed=st.integers(0, 10_000), score=st.sampled_from([s for s in SCORES if s != "loglik"]))
def test_every_step_is_what_it_says_and_none_is_left(seed, score):
    data = table(seed)
    found = po.learn_structure(data, score)
    judge = scored(data, score)
    arrows: set[tuple[str, str]] = set()
    before = judge.whole([[]] * len(NAMES))
    for step in found.steps:
        if step.move == "add":
            arrows.add((step.parent, step.child))
        else:
            arrows.remove((step.parent, step.child))
            if step.move == "turn":
                arrows.add((step.child, step.parent))
        now = judge.whole(parents_of(po.Dag(NAMES, sorted(arrows))))  # a cycle would be refused here
        assert step.score == pytest.approx(now, rel=1e-9)
        assert step.gain == pytest.approx(now - before, rel=1e-6, abs=1e-6)
        assert step.gain > 0
        before = now
    assert set(found.edges) == arrows
    assert found.score == pytest.approx(before)
    for u in NAMES:  # no single step improves it
        for v in NAMES:
            if u == v:
                continue
            for changed in (arrows ^ {(u, v)}, (arrows - {(u, v)}) | {(v, u)} if (u, v) in arrows else arrows):
                try:
                    neighbour = po.Dag(NAMES, sorted(changed))
                except InvalidNetwork:
                    continue
                assert judge.whole(parents_of(neighbour)) <= found.score + 1e-6


@given(seed=st.integers(0, 10_000), most=st.integers(0, 2))
def test_constraints_hold(seed, most):
    data = table(seed)
    free = po.learn_structure(data)
    forbidden = [*free.edges[:1], *((b, a) for a, b in free.edges[:1])]
    required = [("e", "a")] if ("e", "a") not in forbidden and most else []
    found = po.learn_structure(data, required=required, forbidden=forbidden, max_parents=most)
    assert set(required) <= set(found.edges)
    assert not set(forbidden) & set(found.edges)
    assert max(len(found.dag.parents(v)) for v in NAMES) <= most


@given(seed=st.integers(0, 10_000))
def test_threads_and_starts(seed):
    data = table(seed)
    assert po.learn_structure(data, n_jobs=1) == po.learn_structure(data, n_jobs=2)
    tree = po.learn_structure(data, method="chow-liu")
    assert len(tree.edges) <= len(NAMES) - 1
    assert max(len(tree.dag.parents(v)) for v in NAMES) <= 1
    climbed = po.learn_structure(data, start="chow-liu")
    assert climbed.score >= tree.score - 1e-9
    assert po.learn_structure(data, start=climbed.dag).score == pytest.approx(climbed.score)


def test_a_chow_liu_tree_is_the_best_of_all_trees():
    data = table(5)
    judge = scored(data, "loglik")
    tree = po.learn_structure(data, "loglik", "chow-liu")
    for seed in range(300):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(NAMES))
        parents: list[list[int]] = [[] for _ in NAMES]
        for i, v in enumerate(order[1:], 1):
            parents[v] = [int(order[rng.integers(i)])]
        if all(not any(c is None for c in column) for column in data.values()):
            assert judge.whole(parents) <= tree.score + 1e-9


def test_what_cannot_be_is_named():
    data = {"a": [0, 1, 0, 1], "b": [0, 1, 1, 0]}
    with pytest.raises(InvalidNetwork, match="required and forbidden"):
        po.learn_structure(data, required=[("a", "b")], forbidden=[("a", "b")])
    with pytest.raises(InvalidNetwork, match="cycle"):
        po.learn_structure(data, required=[("a", "b"), ("b", "a")])
    with pytest.raises(UnknownColumn, match="no node 'c'"):
        po.learn_structure(data, required=[("a", "c")])
    with pytest.raises(InvalidNetwork, match="pairs"):
        po.learn_structure(data, forbidden=["ab"])
    with pytest.raises(BadParameter, match="method"):
        po.learn_structure(data, method="anneal")
    with pytest.raises(BadParameter, match="start"):
        po.learn_structure(data, start="full")
    with pytest.raises(BadParameter, match="max_parents"):
        po.learn_structure(data, max_parents=-1)
    with pytest.raises(TableError, match="every cell of 'b' is missing"):
        po.learn_structure({"a": [0, 1], "b": [None, None]})
    with pytest.raises(TableError, match="column 'a' has 5000 values"):
        po.learn_structure({"a": np.arange(5000), "b": np.arange(5000) % 2})
    with pytest.raises(TableError, match="rows"):
        po.learn_structure({"a": [], "b": []})
    assert po.learn_structure({"a": [1, 1, 1], "b": [0, 1, 0]}).edges == ()  # a column of one value tells nothing


RUBBISH = [object(), 2.5, "lots", float("nan"), np.array([np.nan, 1.0]), np.array([]), {}, -1, [5]]
MEANT = {("ess", "2.5"), ("n_jobs", "-1"), *((w, r) for w in ("required", "forbidden") for r in ("[]", "{}"))}


@pytest.mark.parametrize("what", ["score", "method", "start", "required", "forbidden", "max_parents", "ess", "n_jobs"])
@pytest.mark.parametrize("rubbish", RUBBISH, ids=map(repr, range(len(RUBBISH))))
def test_rubbish_is_refused_in_our_words(what, rubbish):
    data = {"a": [0, 1, 0, 1], "b": [0, 1, 1, 0]}
    if (what, str(rubbish)) in MEANT:
        assert po.learn_structure(data, **{what: rubbish}).edges == ()
        return
    with pytest.raises(ValueError, match=r"Got|no node|is required") as error:
        po.learn_structure(data, **{what: rubbish})
    assert type(error.value).__module__ == "posteriori.errors"


def test_a_start_or_requirement_beyond_max_parents_is_named():
    data = table(0)
    with pytest.raises(InvalidNetwork, match=r"'c' begins with .*more than max_parents=1"):
        po.learn_structure(data, required=[("a", "c"), ("b", "c")], max_parents=1)
    with pytest.raises(InvalidNetwork, match="more than max_parents=0"):
        po.learn_structure(data, start=po.Dag(NAMES, [("a", "b")]), max_parents=0)
