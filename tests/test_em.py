"""The loop of EM: it climbs, it stops, it keeps the best."""

from __future__ import annotations

import itertools
import math

import pytest

from posteriori.em import TRIAL, ascend
from posteriori.errors import BadParameter, ModelError


def halve(top: float):
    """Half of the way to the top each turn."""
    return lambda theta: (theta, -((top - theta) ** 2)), lambda theta: theta + (top - theta) / 2


def test_every_turn_climbs_and_the_last_gains_next_to_nothing():
    expect, maximise = halve(3.0)
    told = []
    found = ascend([0.0], expect, maximise, tol=1e-6, progress=lambda turn, value: told.append((turn, value)))
    assert found.converged
    assert all(a <= b for a, b in itertools.pairwise(found.trace))
    assert told == list(enumerate(found.trace, 1))
    assert found.objective == expect(found.parameters)[1]


def test_turns_run_out():
    found = ascend([0.0], *halve(3.0), tol=0, max_iter=5)
    assert (found.turns, found.converged, found.interrupted) == (5, False, False)
    assert found.parameters == pytest.approx(3 - 3 / 2**4)


def test_the_best_of_several_starts_goes_on():
    tops = {"low": -9.0, "high": 1.0}
    turns = {"low": 0, "high": 0}

    def expect(theta):
        kind, x = theta
        turns[kind] += 1
        return theta, tops[kind] - (4 - x) ** 2

    found = ascend([("low", 3.9), ("high", 0.0)], expect, lambda t: (t[0], t[1] + (4 - t[1]) / 2), tol=1e-12)
    assert found.parameters[0] == "high"
    assert turns["low"] <= TRIAL < turns["high"]
    assert len(found.trace) == turns["high"] - 1  # where the best goes on, its last θ is expected once more


@pytest.mark.parametrize("after", [1, 4, TRIAL + 3])
def test_ctrl_c_keeps_the_best_so_far(after):
    calls = itertools.count(1)

    def expect(theta):
        if next(calls) > after:
            raise KeyboardInterrupt
        return theta, -((3 - theta) ** 2)

    found = ascend([0.0, 1.0] if after > TRIAL else [0.0], expect, halve(3.0)[1], tol=0)
    assert found.interrupted
    assert found.objective == -((3 - found.parameters) ** 2)


def test_ctrl_c_before_the_first_turn_and_what_cannot_be():
    def never(theta):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ascend([0.0], never, lambda s: s)
    with pytest.raises(ModelError, match="at least one start"):
        ascend([], never, lambda s: s)
    for value in (math.nan, -math.inf):
        with pytest.raises(ModelError, match="possible"):
            ascend([0.0], lambda t, v=value: (t, v), lambda s: s)
    for wrong in ({"tol": -1}, {"tol": "x"}, {"max_iter": 0}, {"max_iter": 2.5}):
        with pytest.raises(BadParameter):
            ascend([0.0], *halve(1.0), **wrong)


def test_close_says_when_a_climb_has_ended():
    found = ascend([0.0], *halve(3.0), tol=0, close=lambda before, value: abs(value - before) < 0.5)
    assert found.converged
    assert found.trace[-1] - found.trace[-2] < 0.5 <= found.trace[-2] - found.trace[-3]
