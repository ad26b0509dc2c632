"""The loop of EM: it climbs, it stops, it keeps the best."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import posteriori as po
from posteriori import em
from posteriori.em import PATIENCE, TRIAL, Ascent, ascend, close_by
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


HEADS, THROWS = np.array([5, 9, 8, 4, 7]), 10


def coins(theta):
    """(responsibilities of two coins, ℓ)."""
    joint = 0.5 * np.power(theta, HEADS[:, None]) * np.power(1 - np.array(theta), THROWS - HEADS[:, None])
    return joint / joint.sum(axis=1, keepdims=True), float(np.log(joint.sum(axis=1)).sum())


def q(r, theta):
    """Σ over rows and coins of r ln P(heads, coin | θ)."""
    heads = HEADS[:, None] * np.log(theta) + (THROWS - HEADS[:, None]) * np.log(1 - np.array(theta))
    return float((r * (heads + np.log(0.5))).sum())


@pytest.mark.parametrize("starts", [[(0.6, 0.5)], [(0.6, 0.5), (0.9, 0.2), (0.3, 0.4)]])
def test_the_expected_log_likelihood_is_that_of_all_assignments(starts):
    """Q(θ'|θ) = Σ_z P(z|X, θ) ln P(X, z|θ') over all 2⁵ ways to take the coins; M raises it, and ℓ by at least as much."""
    seen = []

    def maximise(r):
        seen.append((r * HEADS[:, None]).sum(axis=0) / (THROWS * r.sum(axis=0)))
        return seen[-1]

    found = ascend(starts, coins, maximise, expected=q, tol=1e-9)
    assert len(found.expected) == found.turns - 1 >= TRIAL
    pairs = np.array(found.expected)
    assert (pairs[:, 1] >= pairs[:, 0] - 1e-12).all()
    assert (np.diff(found.trace) >= np.diff(pairs, axis=1)[:, 0] - 1e-12).all()
    assert ascend(starts, coins, maximise, tol=1e-9) == Ascent(None, found.trace, found.converged)
    if len(starts) == 1:
        before = starts[0]
        for after, (own, raised) in zip(seen, found.expected):
            r = coins(before)[0]
            both = np.zeros(2)
            for z in itertools.product((0, 1), repeat=len(HEADS)):
                at = np.arange(len(HEADS)), np.array(z)
                chance = r[at].prod()
                for k, theta in enumerate((before, after)):
                    p = np.array(theta)[np.array(z)]
                    both[k] += chance * (np.log(0.5) + HEADS * np.log(p) + (THROWS - HEADS) * np.log(1 - p)).sum()
            assert (own, raised) == pytest.approx(tuple(both), rel=1e-12)
            before = after


def wobble(theta):
    """ℓ that falls every third turn, and M that goes on all the same."""
    return theta, -abs(theta - 10) - (3 if theta % 3 == 2 else 0)


def test_where_m_need_not_maximise_the_best_is_kept_and_falls_are_marked():
    found = ascend([0], wobble, lambda t: t + 1, max_iter=9, climbs=False)
    assert found.trace == tuple(wobble(t)[1] for t in range(9))
    assert [turn for turn, what in found.marks if what == "fell"] == [3, 6, 9]
    assert (found.best, found.parameters, found.objective) == (8, 7, -3)
    assert ascend([0], wobble, lambda t: t + 1, max_iter=9).turns == 3  # else the first fall is the end
    calls = itertools.count()

    def interrupted(theta):
        if next(calls) == 6:
            raise KeyboardInterrupt
        return wobble(theta)

    found = ascend([0], interrupted, lambda t: t + 1, climbs=False)
    assert (found.interrupted, found.parameters) == (True, 4)


# -- turn by turn -------------------------------------------------------------------------------------------------------


def scripted(values, **how):
    """A climb whose ℓ are told: θ is the number of its turn. (What was found, how often E and M were asked.)"""
    asked = {"e": 0, "m": 0}

    def expect(theta):
        asked["e"] += 1
        return theta, values[theta]

    def maximise(theta):
        asked["m"] += 1
        return theta + 1

    return ascend([0], expect, maximise, **how), asked


@pytest.mark.parametrize(
    ("how", "turns", "converged"),
    [
        ({"max_iter": 4}, 4, False),  # they run out
        ({"max_iter": 9}, 6, True),  # the sixth gains nothing
        ({"max_iter": 9, "close": lambda before, value: value > -7.5}, 3, True),
        ({"max_iter": 1}, 1, False),
    ],
)
def test_no_step_is_made_that_nobody_sees(how, turns, converged):
    found, asked = scripted([-10.0, -9.0, -7.0, -6.0, -5.0, -5.0, -4.0, -3.0, -2.0], **how)
    assert (found.turns, found.converged, found.parameters) == (turns, converged, turns - 1)
    assert asked == {"e": turns, "m": turns - 1}
    assert found.marks == ()
    assert (found.best, found.objective) == (turns, found.trace[-1])


def test_a_turn_that_gains_less_than_tol_of_the_whole_is_the_last():
    for gain, turns in ((0.9, 2), (1.1, 3)):
        values = [-1e6, -1e6 + gain, -1e6 + gain]
        assert scripted(values, tol=1e-6 / (1 - gain * 1e-6), max_iter=3)[0].turns == turns
    falling = scripted([5.0, 4.0, 3.0], tol=0.0, max_iter=3)[0]
    assert (falling.turns, falling.converged, falling.marks) == (2, True, ((2, "fell"),))
    for step, turns in ((-0.9, 2), (0.9, 2), (-1.1, 3), (1.1, 3)):  # where it may fall, a fall is a change too
        values = [100.0, 100.0 + step, 100.0 + step]
        assert scripted(values, tol=0.01 / (1 + step / 100), max_iter=3, climbs=False)[0].turns == turns


def test_a_fall_by_rounding_is_none():
    for fall, marks in ((0.9e-10, ()), (1.1e-10, ((2, "fell"),))):
        assert scripted([1.0, 1.0 - fall], max_iter=2, tol=0.0, close=lambda *_: False)[0].marks == marks
        assert scripted([-1.0, -1.0 - fall], max_iter=2, tol=0.0, close=lambda *_: False)[0].marks == marks


def test_a_climb_that_may_fall_is_given_up_after_so_many_turns():
    values = [0.0, 3.0, *np.linspace(2, 1, 40)]
    found, asked = scripted(values, max_iter=40, climbs=False, tol=0.0)
    assert found.turns == 2 + PATIENCE
    assert (found.best, found.parameters, found.objective, found.converged) == (2, 1, 3.0, False)
    assert found.marks[-1] == (2 + PATIENCE, f"no better in {PATIENCE} turns")
    assert [turn for turn, what in found.marks if what == "fell"] == list(range(3, 3 + PATIENCE))
    assert asked == {"e": 2 + PATIENCE, "m": 1 + PATIENCE}
    equal, _ = scripted([0.0, 3.0, 1.0, 3.0, 1.0], max_iter=5, climbs=False, tol=0.0)
    assert equal.best == 2  # the first of equals
    first, _ = scripted([3.0, 1.0, 2.0], max_iter=3, climbs=False, tol=0.0)
    assert (first.best, first.parameters) == (1, 0)


def test_the_best_of_starts_goes_on_from_where_it_was():
    """Ten turns each; the best one's θ is expected once more, and no turn is told twice."""
    told, asked = [], []

    def expect(theta):
        asked.append(theta)
        return theta, theta[0] - 1 / (1 + theta[1])

    starts = [(1, 0), (3, 0), (2, 0), (3, 0)]
    found = ascend(starts, expect, lambda t: (t[0], t[1] + 1), tol=0, max_iter=13, progress=lambda *a: told.append(a))
    assert found.parameters == (3, 12)
    assert found.trace == tuple(3 - 1 / (1 + k) for k in range(13))
    assert [turn for turn, _ in told] == [*range(1, 11)] * 4 + [11, 12, 13]
    assert asked[40:] == [(3, 9), (3, 10), (3, 11), (3, 12)]
    short = ascend(starts, expect, lambda t: (t[0], t[1] + 1), tol=0, max_iter=4)
    assert (short.parameters, short.turns) == ((3, 3), 4)
    done = ascend(starts, expect, lambda t: (t[0], t[1] + 1), close=lambda a, b: a > 0, max_iter=50)
    assert (done.parameters, done.turns, done.converged) == ((3, 1), 2, True)  # nothing is left to go on to


def test_of_two_climbs_the_higher_and_of_equals_the_first():
    low, high, same = (Ascent(name, (value,)) for name, value in (("low", 1.0), ("high", 2.0), ("same", 2.0)))
    assert em._better(None, low) is low
    assert em._better(low, None) is low
    assert em._better(low, high) is em._better(high, low) is high
    assert em._better(high, same) is high
    early = Ascent("early", (5.0, 1.0), at=0)
    assert (early.objective, early.best, early.turns) == (5.0, 1, 2)
    assert em._better(early, high) is early


def test_interrupted_in_its_second_round_it_keeps_the_best_of_the_first():
    calls = itertools.count(1)

    def expect(theta):
        if next(calls) == 2 * TRIAL + 1:
            raise KeyboardInterrupt
        return theta, theta[0] - 1 / (1 + theta[1])

    found = ascend([(1, 0), (2, 0)], expect, lambda t: (t[0], t[1] + 1), tol=0)
    assert (found.interrupted, found.parameters, found.turns) == (True, (2, TRIAL - 1), TRIAL)


@pytest.mark.parametrize(
    ("item", "wanted"),
    [("X", ("X", None, None)), (("X", "y"), ("X", "y", None)), (("X", "y", "w"), ("X", "y", "w")),
     (("a", "b", "c", "d"), (("a", "b", "c", "d"), None, None)), (("X",), (("X",), None, None)),
     (["X", "y"], (["X", "y"], None, None))],
)  # fmt: skip
def test_what_a_stream_brings(item, wanted):
    assert em._triple(item) == wanted


def test_a_stream_is_followed_step_by_step():
    class Data:
        def follow(self, model, table, t, decay):
            return [*model, (table[0], t, decay)], -float(t)

    told, begun = [], Ascent(["first"], (0.5,))
    found = em._follow(Data(), begun, iter(["a", ("b", "y")]), 0.6, lambda *a: told.append(a))
    assert found.model == ["first", ("a", 0, 0.6), ("b", 1, 0.6)]
    assert (found.trace, found.converged, found.interrupted) == ((0.0, -1.0), False, False)
    assert told == [(1, 0.0), (2, -1.0)]
    assert em._follow(Data(), begun, iter([]), 0.6, None) is begun

    def broken():
        yield "a"
        raise KeyboardInterrupt

    found = em._follow(Data(), begun, broken(), 0.6, None)
    assert (found.interrupted, found.trace) == (True, (0.0,))


def test_closeness_and_numbers_that_are_none():
    assert close_by(0.5)(1.0, 1.5)
    assert close_by(0.5)(1.5, 1.0)
    assert not close_by(0.5)(1.0, 1.6)
    for wrong, message in (
        ({"tol": math.inf}, "tol is a number from 0 up. Got inf"), ({"tol": -0.1}, "tol"), ({"max_iter": 0}, "from 1 up"),
        ({"max_iter": True}, "max_iter"), ({"progress": 3}, "progress is called"),
    ):  # fmt: skip
        with pytest.raises(BadParameter, match=message):
            ascend([0.0], *halve(1.0), **wrong)
    assert ascend([0.0], *halve(1.0), tol=0, max_iter=1).turns == 1


class TestExpectationMaximization:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 300)
    X = (rng.random((300, 6)) < np.where(z[:, None] == 1, 0.8, 0.2)).astype(int)
    model = po.NaiveBayes(kinds="categorical")

    def test_the_model_stays_as_it_is_and_the_result_has_a_fitted_copy(self):
        found = po.expectation_maximization(self.model, self.X, n_classes=2, random_state=3)
        assert not hasattr(self.model, "classes_")
        assert found.model is found.parameters
        assert found.converged
        again = po.expectation_maximization(self.model, self.X, n_classes=2, random_state=3)
        assert again.trace == found.trace

    def test_warm_start_goes_on_where_a_climb_ended(self):
        first = po.expectation_maximization(self.model, self.X, n_classes=2, random_state=3, max_iter=4, n_init=1)
        rest = po.expectation_maximization(self.model, self.X, n_classes=2, start=first.model)
        whole = po.expectation_maximization(self.model, self.X, n_classes=2, random_state=3, n_init=1)
        assert rest.trace == pytest.approx(whole.trace[4:], rel=1e-12)
        told = po.expectation_maximization(self.model, self.X, n_classes=2, start=first.model.predict_proba(self.X))
        assert told.trace == pytest.approx(rest.trace, rel=1e-12)

    def test_batches_come_near_the_same_top(self):
        whole = po.expectation_maximization(self.model, self.X, n_classes=2, random_state=0)
        parts = po.expectation_maximization(
            self.model, self.X, n_classes=2, random_state=0, batch_size=50, max_iter=40, tol=1e-7
        )
        assert parts.objective == max(parts.trace)
        assert parts.objective == pytest.approx(whole.objective, rel=1e-3)
        one = po.expectation_maximization(
            self.model, self.X, n_classes=2, random_state=0, batch_size=300, decay=1.0, max_iter=2, n_init=1
        )
        batch = po.expectation_maximization(self.model, self.X, n_classes=2, random_state=0, max_iter=2, n_init=1)
        assert one.trace == pytest.approx(batch.trace, rel=1e-12)  # the first step from nothing is a whole one

    @pytest.mark.parametrize("Model", [po.NaiveBayes, po.TAN, po.AODE, po.KDB])
    def test_a_stream_is_learned_table_by_table(self, Model):
        rng = np.random.default_rng(1)
        z = rng.integers(0, 2, 3000)
        X = (rng.random((3000, 6)) < np.where(z[:, None] == 1, 0.8, 0.2)).astype(int)
        model = Model(kinds="categorical", unlabelled=-1)
        y = np.where(rng.random(3000) < 0.05, z, -1)
        parts = np.array_split(np.arange(3000), 10)
        whole = po.expectation_maximization(model, X, y).model
        found = po.expectation_maximization(model, ((X[p], y[p]) for p in parts))
        assert len(found.trace) == 9
        assert "stream" in found.marks[0][1]
        assert (found.model.predict(X) == whole.predict(X)).mean() > 0.95
        assert found.model.statistics_.rows.sum() == pytest.approx(3000)
        hidden = po.expectation_maximization(model, (X[p] for p in parts), n_classes=2, random_state=0).model
        same = (hidden.predict(X) == z).mean()
        assert max(same, 1 - same) > 0.9

    def test_weight_two_in_a_stream_is_the_row_twice(self):
        rng = np.random.default_rng(2)
        z = rng.integers(0, 2, 400)
        X = (rng.random((400, 6)) < np.where(z[:, None] == 1, 0.8, 0.2)).astype(int)
        y, w = np.where(rng.random(400) < 0.3, z, -1), rng.integers(0, 3, 400)
        y[:2], w[:2], z[:2] = [0, 1], 1, [0, 1]
        model = po.NaiveBayes(kinds="categorical", unlabelled=-1, unlabelled_weight=0.5)
        parts = np.array_split(np.arange(400), 4)
        told = po.expectation_maximization(model, ((X[p], y[p], w[p]) for p in parts))
        twice = po.expectation_maximization(model, ((X[r], y[r]) for p in parts for r in [np.repeat(p, w[p])]))
        assert told.trace == pytest.approx(twice.trace, rel=1e-9)
        np.testing.assert_allclose(told.model.predict_proba(X), twice.model.predict_proba(X), atol=1e-9)
        with pytest.raises(ValueError, match="expected"):
            po.expectation_maximization(model, iter([(X, y, w), (X, y, w[1:])]))

    def test_a_stream_of_rubbish(self):
        with pytest.raises(BadParameter, match="at least one table"):
            po.expectation_maximization(self.model, iter([]), n_classes=2)
        with pytest.raises(BadParameter, match="as pairs"):
            po.expectation_maximization(self.model, iter([self.X]), [0, 1])
        labelled = po.NaiveBayes(kinds="categorical", unlabelled=-1)
        with pytest.raises(ValueError, match="classes of its first table"):
            po.expectation_maximization(labelled, iter([(self.X, self.z), (self.X, self.z + 1)]))

    def test_progress_and_ctrl_c(self):
        told = []

        def progress(turn, value):
            told.append(value)
            if turn == 3:
                raise KeyboardInterrupt

        found = po.expectation_maximization(
            self.model, self.X, n_classes=2, n_init=1, random_state=0, progress=progress
        )
        assert found.interrupted
        assert list(found.trace) == told
        assert found.model.predict_proba(self.X).shape == (300, 2)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"n_init": 0},
            {"n_init": 1.5},
            {"batch_size": 0},
            {"decay": 0.5},
            {"decay": 2},
            {"n_classes": 0},
            {"tol": -1},
            {"max_iter": 0},
            {"start": "near"},
            {"start": np.ones((2, 2))},
            {"start": -np.ones((300, 2))},
            {"y": [0, 1] * 150},
            {"n_classes": None},
            {"progress": 3},
        ],
    )
    def test_rubbish_is_named(self, wrong):
        with pytest.raises(BadParameter):
            po.expectation_maximization(self.model, self.X, **({"n_classes": 2} | wrong))

    def test_only_models_that_count_have_a_hidden_class(self):
        for other in (po.GaussianNB(), po.BayesNetClassifier(), po.SVC(), 3):
            with pytest.raises(BadParameter, match="NaiveBayes"):
                po.expectation_maximization(other, self.X, n_classes=2)
        with pytest.raises(ModelError, match="as many rows"):
            po.expectation_maximization(self.model, self.X[:1], n_classes=2)

    def test_what_a_start_costs_and_which_are_made(self):
        """Ten starts without labels, one with them; a turn that gains less than tol a row is the last."""
        made = []

        class Data:
            climbs, weight = True, 10.0

            def starts(self, n, random_state):
                made.append((n, random_state))
                return [0]

            def started(self, start):
                return ("started", start)

            def expect(self, model):
                return model, 1.0

            def maximise(self, shares):
                return shares

            def finish(self, model):
                return ("finished", model)

        class Model:
            def _hidden(self, *told):
                made.append(told)
                return Data()

        found = po.expectation_maximization(Model(), "X", n_classes=2, hard=1, random_state=5)
        assert found.model == ("finished", 0)
        assert made == [("X", None, None, 2, True), (TRIAL, 5)]
        made.clear()
        po.expectation_maximization(Model(), "X", "y", sample_weight="w")
        assert made == [("X", "y", "w", None, False), (1, None)]
        made.clear()
        po.expectation_maximization(Model(), "X", "y", n_init=4)
        assert made[1] == (4, None)
        assert po.expectation_maximization(Model(), "X", start="s").model == ("finished", ("started", "s"))

    def test_a_turn_that_gains_less_than_tol_a_row_is_the_last(self):
        first = po.expectation_maximization(self.model, self.X, n_classes=2, random_state=3, n_init=1, tol=1e-9)
        gains = np.diff(first.trace) / 300
        for at in (3, 6):
            tol = gains[at]
            for factor, turns in ((1.001, at + 2), (0.999, at + 3)):
                found = po.expectation_maximization(
                    self.model, self.X, n_classes=2, random_state=3, n_init=1, tol=factor * tol
                )
                assert found.turns == turns

    @pytest.mark.parametrize("decay", [0.5000001, 1.0])
    def test_decays_up_to_their_bounds(self, decay):
        found = po.expectation_maximization(
            self.model, self.X, n_classes=2, random_state=3, n_init=1, batch_size=100, decay=decay, max_iter=2
        )
        assert found.turns == 2
