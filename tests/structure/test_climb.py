"""A search by steps: each step is worth what it says, the score is that of the graph it ends in, and no step is left."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadParameter
from posteriori.structure.climb import EQUAL, MOST_STEPS, by_order, check_steps, climb
from posteriori.structure.rules import Rules
from posteriori.structure.scores import Scored
from posteriori.structure.watching import Watch


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
