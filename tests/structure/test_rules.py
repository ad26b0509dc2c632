"""Rules of a search: exactly what was told is required or barred, contradictions are named; and a watch that ends it."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import BadParameter, InvalidNetwork, UnknownColumn
from posteriori.structure.rules import Rules, watched

NAMES = tuple("abcde")


@given(st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=5, max_size=5))
def test_tiers_bar_the_arrows_from_later_to_earlier_and_no_others(tier_of):
    tiers = [[n for n, t in zip(NAMES, tier_of) if t == k] for k in range(4)]
    found = Rules.of(NAMES, tiers=tiers)
    for u, first in enumerate(tier_of):
        for v, then in enumerate(tier_of):
            against = first is not None and then is not None and first > then
            assert found.forbidden[u, v] == (against or u == v)
    assert not found.required.any()
    assert found.most == len(NAMES)


def test_required_forbidden_and_the_parent_of_all():
    found = Rules.of("abc", required=[("a", "b")], forbidden=[["b", "c"]], parent_of_all="a", max_parents=np.int64(1))
    assert np.argwhere(found.required).tolist() == [[0, 1], [0, 2]]
    assert np.argwhere(found.forbidden).tolist() == [[0, 0], [1, 1], [1, 2], [2, 2]]
    assert found.most == 1
    assert found.named([(0, 1), (2, 0)]) == [("a", "b"), ("c", "a")]


@pytest.mark.parametrize(
    ("told", "error", "says"),
    [
        ({"max_parents": -1}, BadParameter, "max_parents is a whole number from 0 up"),
        ({"max_parents": 1.5}, BadParameter, "max_parents is a whole number"),
        ({"required": [("a", "b")], "forbidden": [("a", "b")]}, InvalidNetwork, "a → b is required and forbidden"),
        ({"required": [("a", "b")], "tiers": ["b", "a"]}, InvalidNetwork, "a → b is required, but tiers put b first"),
        ({"required": [("a", "b"), ("b", "a")]}, InvalidNetwork, "cycle"),
        ({"required": [("a", "a")]}, InvalidNetwork, "a"),
        (
            {"required": [("a", "c"), ("b", "c")], "max_parents": 1},
            InvalidNetwork,
            "'c' begins with 'a', 'b', more than",
        ),
        ({"required": [("a", "b")], "max_parents": 0}, InvalidNetwork, "more than max_parents=0"),
        ({"required": [("a",)]}, InvalidNetwork, "pairs"),
        ({"required": 3}, InvalidNetwork, "a list of arrows"),
        ({"forbidden": [("a", "z")]}, (InvalidNetwork, UnknownColumn), "z"),
        ({"tiers": "ab"}, InvalidNetwork, "a list of lists"),
        ({"tiers": 3}, InvalidNetwork, "a list of lists"),
        ({"tiers": [["a"], ["a", "b"]]}, InvalidNetwork, "in two tiers"),
    ],
)
def test_what_contradicts_itself_is_named(told, error, says):
    with pytest.raises(error, match=says):
        Rules.of("abc", **told)


def test_a_start_keeps_what_is_allowed():
    rules = Rules.of("abcd", required=[("a", "b")], forbidden=[("a", "c")], max_parents=1)
    arrows = [(0, 2), (1, 0), (0, 1), (1, 2), (3, 2), (2, 3), (3, 0)]
    # barred; against a required one; there already; allowed; a second parent; allowed; a cycle a → b → c → d → a
    assert rules.start(arrows, strict=False) == [(0, 1), (1, 2), (2, 3)]
    with pytest.raises(InvalidNetwork, match="max_parents=1"):
        rules.start(arrows[:5], strict=True)
    with pytest.raises(InvalidNetwork, match="cycle"):
        rules.start([(1, 2), (2, 3), (3, 0)], strict=True)
    assert rules.start(arrows[:4], strict=True) == [(0, 1), (1, 2)]


def test_time_runs_out_once_and_for_all():
    with watched(False, 0.0) as watch:
        assert watch.listens
        time.sleep(0.002)
        assert watch.left() == 0.0
        assert watch.finished
        assert watch.over()
        assert not watch.finished
    with watched(False, 100.0) as watch:
        assert 90 < watch.left() <= 100
        assert not watch.over()
        assert watch.finished
    with watched(None, None) as watch:
        assert watch.left() == math.inf
        assert not watch.over()
        assert not watch.listens
        watch.show("nobody listens")


def test_words_go_where_they_are_told(capsys):
    heard = []
    with watched(heard.append, None) as watch:
        assert watch.listens
        watch.show("one")
    assert heard == ["one"]
    with watched(True, None) as watch:
        assert watch.listens
        watch.show("two")
    assert capsys.readouterr().out == ""


def test_an_interruption_leaves_it_unfinished():
    with watched(False, None) as watch, watch.until_interrupted():
        raise KeyboardInterrupt
    assert not watch.finished
    assert watch.over()
    with watched(False, None) as watch, pytest.raises(ValueError, match="x"), watch.until_interrupted():
        raise ValueError("x")
    assert watch.finished


@pytest.mark.parametrize("limit", [-1, math.nan, "1", True, -1e-9])
def test_limits_that_are_none(limit):
    with pytest.raises(BadParameter, match="time_limit"), watched(False, limit):
        pass


@pytest.mark.parametrize("progress", ["yes", 1, [print]])
def test_progress_that_is_none(progress):
    with pytest.raises(BadParameter, match="progress"), watched(progress, None):
        pass
