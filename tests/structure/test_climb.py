"""Searches by score: each step is worth what it says and none is left; the exact one beats all structures, enumerated."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadParameter, InvalidNetwork, MemoryBudgetError, TableError
from posteriori.kernels import climb_asking
from posteriori.structure import climb as module
from posteriori.structure.climb import EQUAL, MOST_STEPS, by_order, check_steps, climb
from posteriori.structure.rules import Rules, Watch
from posteriori.structure.scores import SCORES, Scored
from posteriori.structure.separation import reversed_rows, topological


def table(seed, d=4, n=80):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (d, n)).astype(np.uint8)
    for v in range(1, d):
        codes[v] = np.where(rng.random(n) < 0.6, codes[v - 1], codes[v])
    return Scored(codes, (2,) * d, "bic")


def rules(d=4, most=4, forbidden=(), required=()):
    no, yes = np.eye(d, dtype=bool), np.zeros((d, d), dtype=bool)
    for u, v in forbidden:
        no[u, v] = True
    for u, v in required:
        yes[u, v] = True
    return Rules(tuple("abcdef"[:d]), yes, no, most)


def score_of(scored, arrows):
    parents = [sorted(u for u, v in arrows if v == w) for w in range(scored.d)]
    return sum(scored.family(w, ps) for w, ps in enumerate(parents))


def acyclic(arrows, d):
    left, todo = set(range(d)), set(arrows)
    while left:
        free = {v for v in left if not any(b == v and a in left for a, b in todo)}
        if not free:
            return False
        left -= free
    return True


@settings(max_examples=25)
@given(st.integers(0, 300), st.sampled_from([1, 2, 4]), st.booleans())
def test_it_ends_where_no_single_step_gains(seed, most, ruled):
    scored = table(seed)
    law = rules(most=most, forbidden=[(0, 1)] if ruled else (), required=[(2, 3)] if ruled else ())
    watch = Watch(None, None)
    found, steps, total = climb(scored, law, [(2, 3)] if ruled else [], watch, seed=seed)
    assert watch.finished
    assert found == sorted(found, key=lambda a: a[::-1])
    assert total == pytest.approx(score_of(scored, found))
    assert acyclic(found, 4)
    assert all(sum(v == w for _, v in found) <= most for w in range(4))
    if ruled:
        assert (0, 1) not in found
        assert (2, 3) in found
    for u, v in itertools.permutations(range(4), 2):
        now = set(found)
        tried = []
        if (u, v) in now:
            if not (ruled and (u, v) == (2, 3)):
                tried += [now - {(u, v)}, now - {(u, v)} | {(v, u)}]
        elif (v, u) not in now:
            tried.append(now | {(u, v)})
        for arrows in tried:
            legal = acyclic(arrows, 4) and all(sum(b == w for _, b in arrows) <= most for w in range(4))
            if legal and not (ruled and (0, 1) in arrows):
                assert score_of(scored, arrows) <= total + 1e-7
    names = "abcd"
    arrows = {(2, 3)} if ruled else set()
    for step in steps:
        u, v = names.index(step.parent), names.index(step.child)
        before = score_of(scored, arrows)
        arrows = {"add": arrows | {(u, v)}, "delete": arrows - {(u, v)}, "turn": arrows - {(u, v)} | {(v, u)}}[
            step.move
        ]
        assert step.gain == pytest.approx(score_of(scored, arrows) - before, abs=1e-7)
        assert step.score == pytest.approx(score_of(scored, arrows), abs=1e-6)
    if steps:
        assert score_of(scored, arrows) == pytest.approx(total)


@settings(max_examples=25)
@given(st.integers(0, 300), st.permutations(range(4)), st.sampled_from([1, 3]), st.booleans())
def test_in_an_order_each_takes_the_best_before_it(seed, order, most, ruled):
    scored = table(seed)
    required = [(order[0], order[3])] if ruled else []
    found, steps = by_order(scored, rules(most=most, required=required), order, Watch(None, None))
    assert {*required} <= {*found}
    place = {v: i for i, v in enumerate(order)}
    assert all(place[u] < place[v] for u, v in found)
    for v in order:
        own = sorted(u for u, w in found if w == v)
        assert len(own) <= most
        if len(own) < most:
            for u in order[: place[v]]:
                if u not in own:
                    assert scored.family(v, sorted([*own, u])) <= scored.family(v, own) + 1e-7
    total = score_of(scored, required)
    for step in steps:
        total += step.gain
        assert step.gain > 0
        assert step.score == pytest.approx(total)
    assert total == pytest.approx(score_of(scored, found))
    barred, _ = by_order(scored, rules(forbidden=list(itertools.permutations(range(4), 2))), order, Watch(None, None))
    assert barred == []


def test_each_step_is_told_and_time_ends_it():
    said = []
    scored = table(1)
    found, steps, _ = climb(scored, rules(), [], Watch(said.append, None))
    assert len(said) >= len(steps) > 0
    assert said[0].startswith("step 1: add ")
    late = Watch(None, 0.0)
    ended, _, score = climb(scored, rules(), [(0, 1)], late)
    assert not late.finished
    assert score == pytest.approx(score_of(scored, ended))
    words = []
    by_order(scored, rules(), [0, 1, 2, 3], Watch(words.append, None))
    assert any("parents, score" in w for w in words)
    assert found


@pytest.mark.parametrize("bad", [-1, 1.5, True, "2", MOST_STEPS + 1])
def test_numbers_of_steps_that_are_none(bad):
    with pytest.raises(BadParameter, match="tabu is a whole number"):
        check_steps(bad, 0)
    with pytest.raises(BadParameter, match="restarts is a whole number"):
        check_steps(0, bad)
    assert check_steps(np.int64(3), MOST_STEPS) == (3, MOST_STEPS)


def test_more_of_it_is_never_worse():
    X = dict(zip("abcdef", np.random.default_rng(3).integers(0, 3, (6, 60))))
    plain = po.learn_structure(X).score
    assert po.learn_structure(X, tabu=5, restarts=3, random_state=0).score >= plain - 1e-9


@pytest.mark.parametrize(("m", "least"), [(50.0, 50 * EQUAL), (0.5, EQUAL)])
def test_of_gains_that_are_equal_the_first_is_taken_and_none_that_is_nothing(m, least):
    """Gains that differ by less than 1e-10 a row are equal, also to nothing."""

    class Told:
        d = 4

        def __init__(self, gains):
            self.m, self.gains = m, gains

        def whole(self, parents):
            return 7.0

        def toggles(self, v, parents, free):
            return np.array([0.0, *(self.gains.get(u, 0.0) if v == 3 and not parents else 0.0 for u in free)])

    def found(gains):
        return by_order(Told(gains), rules(), [0, 1, 2, 3], Watch(None, None))

    assert found({1: 0.9 * least}) == ([], [])
    arrows, (step,) = found({1: 1.1 * least})
    assert (arrows, step.score) == ([(1, 3)], 7.0 + 1.1 * least)
    assert found({0: 1.0, 1: 2.0, 2: 2.0 + 0.9 * least})[0] == [(1, 3)]
    assert found({0: 1.0, 1: 2.0, 2: 2.0 + 1.1 * least})[0] == [(2, 3)]


def test_arrows_stand_by_their_child_then_by_their_parent():
    """c = a + b; the columns are searched by what they tell alone, b before a."""
    rng = np.random.default_rng(0)
    a, b = (rng.random(500) < 0.5).astype(np.uint8), (rng.random(500) < 0.2).astype(np.uint8)
    scored = Scored(np.stack([a, b, a + b]), (2, 2, 3), "bic")
    assert scored.family(1, ()) > scored.family(0, ())
    barred = [(2, 0), (2, 1), (0, 1), (1, 0)]
    assert climb(scored, rules(3, forbidden=barred), [], Watch(None, None))[0] == [(0, 2), (1, 2)]


NAMES = "abcd"


def codes_of(seed: int, d: int = 4, n: int = 60) -> np.ndarray:
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
    codes = codes_of(seed)
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
    codes = codes_of(7, d=5, n=200)
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
    codes = codes_of(seed, d=9, n=300)
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
    data = as_data(codes_of(seed, d=6, n=150))
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
    codes = codes_of(2, d=5)
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
    found = po.learn_structure(as_data(codes_of(0)), method="exact")
    assert not found.finished
    assert found.edges == po.learn_structure(as_data(codes_of(0))).edges


@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_a_time_limit_gives_what_a_climb_has_found(score, monkeypatch):
    data = as_data(codes_of(3, d=16, n=3000))
    none = po.learn_structure(data, score, "exact", time_limit=0)
    assert not none.finished
    assert none.score <= po.learn_structure(data, score).score + 1e-9
    assert po.learn_structure(as_data(codes_of(3)), score, "exact", time_limit=60).finished
    monkeypatch.setattr("posteriori.structure.search.exact", lambda *_: None)  # its time is over
    found = po.learn_structure(data, score, "exact", time_limit=60)
    assert not found.finished
    assert found.edges == po.learn_structure(data, score).edges


TAKEN = """
import resource
import numpy as np
import posteriori as po
codes = np.random.default_rng(0).integers(0, 2, (28, 1000))
data = {f"x{j}": codes[j] | codes[j - 1] for j in range(28)}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = po.learn_structure(data, method="exact", time_limit=0.1, max_memory=2.0**34)
print(found.finished, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts kibibytes")
def test_an_ended_search_has_not_written_all_its_tables():
    """Of 28 columns they are 4 GiB: to write them took 5 s before anything looked at the clock."""
    told = subprocess.run([sys.executable, "-W", "ignore", "-c", TAKEN], capture_output=True, text=True, check=True)
    finished, kibibytes = told.stdout.split()
    assert finished == "False"
    assert int(kibibytes) < 1 << 20


def test_moving_nodes_asks_for_no_more_than_is_allowed():
    """Of 24 nodes: four times what the climb asked for and `moves`, and what was begun; more of it is never worse."""
    rng = np.random.default_rng(1)
    codes = [rng.integers(0, 2, 300)]
    for j in range(1, 24):
        codes.append((codes[int(rng.integers(j))] + codes[int(rng.integers(j))] + (rng.random(300) < 0.2)) % 2)
    scored = Scored(np.array(codes, np.uint8), (2,) * 24, "bic")
    none = np.zeros((24, 24), dtype=bool)
    how = {"required": none, "forbidden": np.eye(24, dtype=bool), "most": 24, "least": 1e-8, "symmetric": True}

    def found(**more):
        asked = 0

        def ask(v, some, others):
            nonlocal asked
            asked += 1 + len(others)
            return scored.toggles(v, some, others).tolist()

        own = climb_asking(ask, [[]] * 24, **how, **more)[1]
        return asked, sum(own)

    climbed, plain = found()
    asked, totals = zip(*(found(orders=6, moves=moves) for moves in (0, 500, 1 << 40)))
    assert asked[0] <= 5 * climbed + 24 * 24
    assert asked[0] <= asked[1] <= asked[2]
    assert plain <= totals[0] <= totals[1] <= totals[2]
