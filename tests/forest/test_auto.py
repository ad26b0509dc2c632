"""AutoBayes: the same bits for any threads, answers that are none of its own rows', parts left out with a reason."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer

import posteriori as po
from posteriori.errors import MemoryBudgetError
from posteriori.forest import auto as room
from posteriori.forest.auto import OTHERS, PARTS, Growing, NotMade, Pool, PoolPart
from posteriori.forest.forest import expected_noise, fit_exponents, fit_noisy, pooled
from posteriori.forest.linear import Landmarks

from .making import IRIS, mixed

RNG = np.random.default_rng(0)
N, K = 7, 3
SAID = {name: RNG.dirichlet(np.ones(K), N) for name in ("trees", "members", "boosted", "linear", "kernel")}
Z = RNG.normal(size=(N, 2))
MARKS = Landmarks(RNG.normal(size=(4, 2)), 2.0)


class Grown:
    """Trees, or members: sums over so many, of rows that are codes."""

    def __init__(self, name, count):
        self.name, self.count = name, count

    def __len__(self):
        return self.count

    def sums(self, codes, *more, n_jobs):
        assert more == ((0.25,) if self.name == "trees" else ())
        return SAID[self.name] * self.count, None


def linear(name):
    """A model of points, or of their nearness to landmarks: it knows its rows again."""

    def posterior(at):
        rows = MARKS(Z) if name == "kernel" else Z
        return np.array([SAID[name][int(np.abs(rows - one).sum(axis=1).argmin())] for one in at])

    return SimpleNamespace(posterior=posterior)


class Points:
    size = 2

    def __init__(self):
        self.asked = []

    def __call__(self, frame, codes, rows):
        self.asked.append(None if rows is None else rows.tolist())
        return Z if rows is None else Z[rows]


GIVEN = {
    "trees": {"trees": Grown("trees", 5), "concentration": 0.25}, "members": {"members": Grown("members", 3)},
    "boosted": {"rounds": SimpleNamespace(posterior=lambda codes, n_jobs: SAID["boosted"])},
    "linear": {"linear": linear("linear")}, "kernel": {"landmarks": MARKS, "curved": linear("kernel")},
}  # fmt: skip


@pytest.mark.parametrize(("block", "asked"), [
    (1 << 20, [None]), (4 * 7, [None]), (4 * 6, [[0, 1, 2, 3, 4, 5], [6]]), (4 * 3, [[0, 1, 2], [3, 4, 5], [6]]),
    (1, [[i] for i in range(7)]),
])  # fmt: skip
def test_all_parts_in_blocks_of_as_many_rows_as_the_widest_table_allows(monkeypatch, block, asked):
    """Four landmarks are more than two coordinates."""
    monkeypatch.setattr(room, "BLOCK", block)
    names, u, prior = tuple(GIVEN), np.array([0.5, 0.2, 1.0, 0.7, 0.4, -0.3]), np.array([0.2, 0.3, 0.5])
    points, given = Points(), {key: value for part in GIVEN.values() for key, value in part.items()}
    pool = Pool(None, None, names, prior, u, 0.1, points=points, **given)
    found = pool.posterior(None, SimpleNamespace(n=N), 1)
    assert found == pytest.approx(pooled([SAID[name] for name in names], prior, u, 1, 0.1))
    assert points.asked == asked


@pytest.mark.parametrize("name", GIVEN)
def test_one_part_alone(name):
    points = {"points": Points()} if name in ("linear", "kernel") else {}
    pool = Pool(None, None, (name,), np.full(K, 1 / K), np.array([1.0, 0.0]), 0.0, **GIVEN[name], **points)
    assert pool.posterior(None, SimpleNamespace(n=N), 1) == pytest.approx(SAID[name])


def test_a_row_of_the_table_has_no_note_unless_it_was_left_out():
    assert PoolPart("trees", 0.5, 1.0, 2.0).note == ""
    coding = SimpleNamespace(cuts=("cut",))
    assert Pool(coding, None, (), np.ones(1), np.ones(1), 0.0).cuts == ("cut",)


def growing(**told):
    found = object.__new__(Growing)
    vars(found).update({"n_trees": 20, "n_members": 10, "done": 0, "said": {}, "time_limit": None, "begun": 0.0} | told)
    return found


def test_what_a_kernel_has_done_counts_once_its_part_is_done():
    said = []
    total = 20 + 10 + OTHERS * (len(PARTS) - 2)
    found = growing(progress=lambda *told: said.append(told))
    for done in (0, 7, 19):
        found._heard(done)
    found._tell(0, 20)
    found._heard(3)
    found._tell(0, 1000)
    assert said == [(0, total), (7, total), (19, total), (20, total), (23, total), (total, total)]


def test_where_the_time_is_over_a_part_is_left_out_but_not_the_first():
    found = growing(time_limit=-1.0, progress=None)
    found._heard(1)
    found.said = {"trees": np.zeros(1)}
    with pytest.raises(NotMade, match="the time was over"):
        found._heard(1)


@pytest.mark.parametrize(
    ("each", "most", "i", "fits"), [(1.0, 5, 0, 2), (1.0, 2, 0, 2), (1.0, 5, 4, 5), (99.0, 5, 0, 1)]
)
def test_a_part_takes_its_share_of_the_time_that_is_left(monkeypatch, each, most, i, fits):
    found = growing()
    monkeypatch.setattr(Growing, "_left", lambda self: 12.5)
    assert found._affordable(each, most, i) == fits
    monkeypatch.setattr(Growing, "_left", lambda self: np.inf)
    assert found._affordable(each, most, i) == most


def test_a_part_has_at_least_one_and_at_most_what_was_asked(monkeypatch):
    found = growing()
    for left, most, wanted in ((50.0, 10, 10), (49.9, 10, 9), (0.0, 10, 1), (-3.0, 10, 1), (np.inf, 7, 7)):
        monkeypatch.setattr(Growing, "_left", lambda self, left=left: left)
        assert found._affordable(1.0, most, 0) == wanted
    monkeypatch.setattr(Growing, "_left", lambda self: 1.0)
    assert found._affordable(0.0, 5, 0) == 5  # a clock that did not move


def test_the_time_is_over_when_none_is_left(monkeypatch):
    found = growing(progress=None, said={"trees": np.zeros(1)})
    for left, over in ((1e-9, False), (0.0, True), (-1.0, True)):
        monkeypatch.setattr(Growing, "_left", lambda self, left=left: left)
        if over:
            with pytest.raises(NotMade, match="the time was over"):
                found._heard(1)
        else:
            found._heard(1)


def test_seconds_left_are_counted_from_the_beginning(monkeypatch):
    monkeypatch.setattr(room.time, "perf_counter", lambda: 107.0)
    assert growing(time_limit=10.0, begun=100.0)._left() == 3.0
    assert growing(time_limit=None, begun=100.0)._left() == np.inf


def test_coordinates_of_a_kernel_block_by_block(monkeypatch):
    rng = np.random.default_rng(0)
    Z, marks = rng.normal(size=(11, 2)), Landmarks(rng.normal(size=(3, 2)), 2.0)
    turn, centre = rng.normal(size=(3, 4)), rng.normal(size=4)
    rows = np.array([4, 0, 10, 7, 7])
    wanted = marks(Z[rows]) @ turn - centre
    for block in (1, 6, 7, 1 << 20):  # of one row, two, two, and all
        monkeypatch.setattr(room, "BLOCK", block)
        assert room._turned(lambda at: Z[at], marks, turn, centre, rows) == pytest.approx(wanted)


def test_what_belongs_to_a_part_goes_with_it():
    owners = {
        "trees": ["trees", "concentration"], "members": ["members"], "boosted": ["rounds"], "linear": ["linear"],
        "kernel": ["landmarks", "curved"], "points": ["points"],
    }  # fmt: skip
    assert {field: room._owner(field) for fields in owners.values() for field in fields} == {
        field: owner for owner, fields in owners.items() for field in fields
    }


def some_growing(said, made, weights=None, **told):
    """Parts that have said something of five rows of two classes."""
    y = np.array([0, 1, 0, 1, 0])
    rows = SimpleNamespace(codes=y, weights=weights, schema=SimpleNamespace(classes=("a", "b")))
    coding = SimpleNamespace(with_classes=lambda schema: ("coded", schema.classes))
    table = {name: PoolPart(name, 0.5, 0.0, 1.0) for name in PARTS}
    codes = SimpleNamespace(n=5, sizes=(3, 4))
    return growing(said=said, made=made, rows=rows, coding=coding, codes=codes, table=table, n_jobs=1, **told)


RIGHT = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.1, 0.9], [0.8, 0.2]])


def test_rows_that_a_part_has_seen_whole_fit_no_exponents():
    seen = RIGHT.copy()
    seen[1] = np.nan
    weights = np.array([1.0, 5.0, 2.0, 1.0, 1.0])
    found = some_growing({"trees": RIGHT, "linear": seen}, {}, weights)
    parts, prior, y, w, out = found._seen_by_none(found.said)
    assert out.tolist() == [True, False, True, True, True]
    assert [part.tolist() for part in parts] == [RIGHT[out].tolist()] * 2
    assert prior.tolist() == [0.4, 0.6]
    assert y.tolist() == [0, 0, 1, 0]
    assert w.tolist() == [0.1, 0.2, 0.1, 0.1]  # shares of all rows
    assert some_growing({"trees": RIGHT}, {})._seen_by_none({"trees": RIGHT})[3] is None
    u, loss = found._tried(found.said)
    assert u == pytest.approx(fit_exponents(parts, prior, y, w)[:2])
    said = pooled(parts, prior, fit_exponents(parts, prior, y, w))
    assert loss == pytest.approx(np.average(-np.log(said[np.arange(4), y]), weights=w))


def test_parts_that_count_for_nothing_are_not_kept():
    """The first is kept whatever it counts for: a pool has trees."""
    wrong, made = (
        np.where(RIGHT > 0.5, 0.001, 0.999),
        {"trees": 1, "concentration": 2.0, "linear": 3, "points": 4, "rounds": 5},
    )
    many = {"trees": wrong, "linear": wrong, "boosted": RIGHT}
    found = some_growing(many, dict(made))
    pool, answers, table = found._pool()
    u = {row.part: row.exponent for row in table}
    parts, prior, y, w, _ = found._seen_by_none(many)
    exponents, _ = fit_noisy(parts, prior, y, w)
    assert [u[name] for name in many] == exponents[:-1].tolist()
    assert [row.part for row in table] == list(PARTS)
    assert u["linear"] == u["trees"] == 0 < u["boosted"]
    assert pool.names == ("trees", "boosted")
    assert pool.exponents.tolist() == exponents[[0, 2, 3]].tolist()
    assert (pool.trees, pool.concentration, pool.rounds, pool.linear, pool.points) == (1, 2.0, 5, None, None)
    assert pool.schema == ("coded", ("a", "b"))
    assert pool.noise == expected_noise(parts, prior, y, exponents, w)
    assert answers == pytest.approx(pooled(parts, prior, exponents, 1, pool.noise))
    kept, _, _ = some_growing({"trees": RIGHT, "linear": RIGHT}, dict(made, rounds=None))._pool()
    assert (kept.names, kept.linear, kept.points) == (("trees", "linear"), 3, 4)
    hidden = RIGHT.copy()
    hidden[3] = np.nan
    answers = some_growing({"trees": hidden}, {"trees": 1})._pool()[1]
    assert np.isnan(answers).tolist() == [[False] * 2] * 3 + [[True] * 2] + [[False] * 2]


def test_what_would_take_too_long_or_too_much_is_left_out_by_name(monkeypatch):
    found = some_growing({}, {}, max_memory=None)
    monkeypatch.setattr(room, "MOST_WORK", 5 * 7 * 2)
    found._refuse_work(7)
    with pytest.raises(NotMade, match="5 rows × 8 coordinates × 2 classes"):
        found._refuse_work(8)
    monkeypatch.setattr(room, "MOST_ROWS", 4)  # no more take part
    found._refuse_work(8)
    found.max_memory = 1000.0
    found._need(1000.0)
    with pytest.raises(NotMade, match="over the budget"):
        found._need(1001.0)
    monkeypatch.setattr(room, "MOST_PAIRS", 5 * 2 * 2 - 1)
    with pytest.raises(NotMade, match="5 rows × 2 columns squared"):
        found._members(np.random.default_rng(0), 3)
    monkeypatch.setattr(room, "MOST_BINS", 7 * 2 - 1)
    with pytest.raises(NotMade, match="7 values of all columns × 2 classes"):
        found._boosted(np.random.default_rng(0), 2)
    with pytest.raises(NotMade, match="there are no points"):
        found._kernel(np.random.default_rng(0), 4)


def test_linear_models_weigh_rows_relatively(monkeypatch):
    given = []
    monkeypatch.setattr(room, "fit_folds", lambda points, y, w, K, rng, jobs: given.append((w.tolist(), K)))
    some_growing({}, {}, np.array([1.0, 2.0, 1.0, 4.0, 2.0]))._fit(None, None)
    some_growing({}, {}, 1e-300 * np.array([1.0, 2.0, 1.0, 4.0, 2.0]))._fit(None, None)
    some_growing({}, {})._fit(None, None)
    for w, K in given[:2]:
        assert w == pytest.approx([0.5, 1.0, 0.5, 2.0, 1.0])
        assert K == 2
    assert given[2] == ([1.0] * 5, 2)


@pytest.mark.parametrize("left", [np.inf, 0.0])
def test_parts_one_after_another_with_their_losses_and_reasons(monkeypatch, left):
    """The first is made though no time is left; who is left out says why, and all are told of."""
    asked, told = [], []

    def part(name, said):
        def grow(self, rng, i):
            asked.append((name, i, rng.integers(1000)))
            if said is None:
                raise NotMade(f"no {name} today")
            return said

        return grow

    hidden = RIGHT.copy()
    hidden[1] = np.nan
    for name, said in (("trees", hidden), ("linear", RIGHT), ("boosted", None), ("members", RIGHT), ("kernel", RIGHT)):
        monkeypatch.setattr(Growing, f"_{name}", part(name, said))
    monkeypatch.setattr(Growing, "_left", lambda self: left)
    seeds = np.arange(5, dtype=np.uint64) + 7
    found = some_growing({}, {"trees": 1}, seeds=seeds, progress=lambda *a: told.append(a))
    found.table = {}
    pool, _, table = found.grow()
    made = PARTS if left else PARTS[:1]
    assert asked == [(name, i, np.random.default_rng(7 + i).integers(1000)) for i, name in enumerate(made)]
    y = np.array([0, 1, 0, 1, 0])
    losses = {
        "trees": -np.log(hidden[[0, 2, 3, 4], y[[0, 2, 3, 4]]]).mean(),
        "linear": -np.log(RIGHT[range(5), y]).mean(),
    }
    for row in table:
        if left == 0 and row.part != "trees":
            assert (row.note, row.exponent) == ("the time was over", 0.0)
            assert np.isnan(row.loss)
        elif row.part == "boosted":
            assert row.note == "no boosted today"
            assert np.isnan(row.loss)
        else:
            assert row.note == ""
            assert row.loss == pytest.approx(losses.get(row.part, losses["linear"]))
            assert row.exponent > 0
        assert row.seconds >= 0
    total = 20 + 10 + 3 * OTHERS
    assert told == [(n, total) for n in (20, 20 + OTHERS, 20 + 2 * OTHERS, 30 + 2 * OTHERS, total)]
    assert pool.names == (("trees", "linear", "members", "kernel") if left else ("trees",))


# -- each part, what it is made of being told ---------------------------------------------------------------------------


class Clock:
    """Time that passes where a test says so."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(room.time, "perf_counter", lambda: self.now)


@pytest.mark.parametrize(("limit", "grown"), [(None, [9]), (50.0, [2, 3]), (1e9, [2, 9])])
def test_trees_are_as_many_as_the_time_allows_and_refused_if_too_large(monkeypatch, limit, grown):
    """Two are grown first, 2.3 seconds each; a fifth of the 45.4 that are left is room for three."""
    clock, calls, asked = Clock(monkeypatch), [], []

    def trees(codes, y, K, weights, seeds, jobs, tell):
        calls.append(seeds.tolist())
        clock.now += 4.6 if len(seeds) == 2 else 0.0
        return "trees", 0.25, RIGHT

    monkeypatch.setattr(room, "grown_trees", trees)
    monkeypatch.setattr(room, "tree_bytes", lambda *a: asked.append(a[4:6]) or 1000.0)
    monkeypatch.setattr(room, "memory_budget", lambda limit: 5000.0)
    monkeypatch.setattr(room, "refuse_over", lambda *a: asked.append(a))
    found = some_growing({}, {}, n_trees=9, max_memory=7.0, time_limit=limit)
    assert found._trees(np.random.default_rng(3), 0) is RIGHT
    seeds = np.random.default_rng(3).integers(0, 1 << 63, 9, dtype=np.uint64).tolist()
    assert calls == [seeds[:count] for count in grown]
    assert found.made == {"trees": "trees", "concentration": 0.25}
    rest = 40.0 * 5 * 2
    assert asked[0] == (9, 5000.0 - rest)
    assert asked[1][:3] == (7.0, 1000.0 + rest, "a pool of 5 rows")


class Members(list):
    def __add__(self, other):
        return Members([*self, *other])


@pytest.mark.parametrize(
    ("n_members", "u", "each", "limit", "made"),
    [
        (10, 0.02, 0.0, None, [6, 4]),
        (10, 0.0199, 0.0, None, None),  # the pool has no use for six
        (6, 0.0, 0.0, None, [6]),  # six are all there are
        (3, 0.0, 0.0, None, [3]),
        (10, 0.5, 1.0, 22.0, [6, 2]),  # half of the sixteen seconds that are left
        (10, 0.5, 1.0, 16.0, [6]),
    ],
)
def test_members_are_more_where_the_first_six_have_something_to_say(monkeypatch, n_members, u, each, limit, made):
    clock, calls, told, tried = Clock(monkeypatch), [], [], []

    def grown(coding, codes, y, K, weights, seeds, jobs, tell):
        calls.append(seeds.tolist())
        clock.now += each * len(seeds)
        tell(1)
        return Members(seeds.tolist())

    monkeypatch.setattr(room, "grown_members", grown)
    monkeypatch.setattr(room, "said_by_members", lambda members, codes, w, seeds, jobs: (list(members), seeds.tolist()))
    monkeypatch.setattr(room, "member_tables", lambda codes, K: 100.0)
    monkeypatch.setattr(Growing, "_tried", lambda self, said: tried.append(said) or (np.array([1.0, u]), 0.3))
    monkeypatch.setattr(Growing, "_heard", lambda self, done: told.append(done))
    found = some_growing({"trees": RIGHT}, {}, n_members=n_members, max_memory=100.0 * n_members, time_limit=limit)
    seeds = np.random.default_rng(3).integers(0, 1 << 63, n_members, dtype=np.uint64).tolist()
    if made is None:
        with pytest.raises(NotMade, match=r"6 of them have the exponent 0\.020"):
            found._members(np.random.default_rng(3), 3)
        assert calls == [seeds[:6]]
        assert "members" not in found.made
        return
    said = found._members(np.random.default_rng(3), 3)
    ends = np.cumsum([0, *made]).tolist()
    assert calls == [seeds[a:b] for a, b in pairwise(ends)]
    assert said == (seeds[: ends[-1]],) * 2
    assert found.made["members"] == seeds[: ends[-1]]
    assert told == [1, 7][: len(made)]
    assert len(tried) == (n_members > 6)
    if tried:
        assert list(tried[0]) == ["trees", "members"]
        assert tried[0]["members"][0] == seeds[:6]
    found.max_memory -= 1.0
    with pytest.raises(NotMade, match="over the budget"):
        found._members(np.random.default_rng(3), 3)


@pytest.mark.parametrize(("each", "limit", "rounds"), [(0.0, None, [300]), (1.0, 100.0, [10, 30]), (1.0, 35.0, [10])])
def test_rounds_are_as_many_as_the_time_allows(monkeypatch, each, limit, rounds):
    """Ten first; a third of what is left after them is theirs."""
    clock, calls, told = Clock(monkeypatch), [], []

    def grow(codes, y, K, weights, rng, *, how, max_memory, n_jobs, tell):
        calls.append((how.rounds, how.depth, rng.integers(1000), max_memory))
        clock.now += each * how.rounds
        tell(150)
        return f"rounds {how.rounds}", RIGHT

    monkeypatch.setattr(room, "grow_rounds", grow)
    monkeypatch.setattr(Growing, "_heard", lambda self, done: told.append(done))
    seeds = np.arange(5, dtype=np.uint64)
    found = some_growing({"trees": RIGHT}, {}, time_limit=limit, seeds=seeds, max_memory=9.0)
    assert found._boosted(None, 2) is RIGHT
    draw = np.random.default_rng(2).integers(1000)
    assert calls == [(r, 0, draw, 9.0) for r in rounds]
    assert found.made == {"rounds": f"rounds {rounds[-1]}"}
    assert told == [OTHERS * 150 // 300] * len(rounds)


def test_rounds_that_are_cut_short_or_do_not_fit(monkeypatch):
    """The first ones stay where the time is over; what is too large is left out with its reason."""
    clock = Clock(monkeypatch)

    def grow(codes, *given, how, **more):
        clock.now += 1.0
        if how.rounds > 10:
            raise NotMade("the time was over")
        return "first", RIGHT

    monkeypatch.setattr(room, "grow_rounds", grow)
    found = some_growing({}, {}, time_limit=1e9, seeds=np.arange(5, dtype=np.uint64), max_memory=None)
    assert found._boosted(None, 2) is RIGHT
    assert found.made == {"rounds": "first"}

    def large(*given, **more):
        raise MemoryBudgetError("too much")

    monkeypatch.setattr(room, "grow_rounds", large)
    with pytest.raises(NotMade, match="too much"):
        found._boosted(None, 2)


def kernel_of(monkeypatch, n, losses, after=0.0, before=0.5, u=1.0, took=0.0, limit=None):
    """A kernel part of n points whose fits have these losses: (what is left, the landmarks asked for)."""
    clock, asked, left = Clock(monkeypatch), [], iter(losses)
    Z = np.random.default_rng(0).normal(size=(n, 2)) * [1.0, 3.0]

    def fit(self, points, rng):
        marks, turn, _ = points.args[1:]
        asked.append((len(marks.at), marks.v, rng.integers(1000)))
        assert points(np.arange(n)).mean(axis=0) == pytest.approx(0.0, abs=1e-9)
        clock.now += took
        return room.Linear(np.ones((turn.shape[1], 2)), np.zeros(2), 1.0), RIGHT

    monkeypatch.setattr(Growing, "_fit", fit)
    monkeypatch.setattr(room, "mean_loss", lambda *a: next(left))
    monkeypatch.setattr(
        Growing, "_tried", lambda self, said: (np.array([1.0, u]), after if "kernel" in said else before)
    )
    found = some_growing({"trees": RIGHT}, {"points": 1}, time_limit=limit, max_memory=None)
    found.codes, found.at = SimpleNamespace(n=n, sizes=(1,)), lambda rows: Z[rows]
    said = found._kernel(np.random.default_rng(1), 4)
    assert said is RIGHT
    return found.made, asked, 2 * Z.var(axis=0).sum()


def test_a_kernel_has_the_better_of_two_widths(monkeypatch):
    for losses, v in (([0.4, 0.3], 0.5), ([0.3, 0.4], 2.0)):
        made, asked, apart = kernel_of(monkeypatch, 40, losses)
        assert [(m, round(float(w / apart), 9)) for m, w, _ in asked] == [(40, 2.0), (40, 0.5)]
        assert len({draw for _, _, draw in asked}) == 1  # the same folds
        assert made["landmarks"].v == pytest.approx(v * apart)
        assert made["curved"].B.shape == (40, 2)


def test_more_landmarks_are_asked_where_few_have_paid(monkeypatch):
    monkeypatch.setattr(room, "FEW", 8)
    monkeypatch.setattr(room, "LANDMARKS", 16)
    few = kernel_of(monkeypatch, 12, [0.3, 0.4, 0.2])  # all rows are landmarks, whatever is gained
    assert [m for m, _, _ in few[1]] == [8, 8, 12]
    assert few[1][2][1] == pytest.approx(2.0 * few[2])
    for after, sizes in ((0.5 * 0.989, [8, 8, 16]), (0.5 * 0.991, [8, 8])):  # a hundredth of the loss
        assert [m for m, _, _ in kernel_of(monkeypatch, 30, [0.3, 0.4, 0.2], after)[1]] == sizes
    with pytest.raises(NotMade, match=r"8 landmarks have the exponent 0.019"):
        kernel_of(monkeypatch, 30, [0.3, 0.4], u=0.0191)
    kernel_of(monkeypatch, 30, [0.3, 0.4, 0.2], u=0.0201)
    with pytest.raises(NotMade, match=r"the other parts leave 0\.0009 nats a row"):
        kernel_of(monkeypatch, 30, [0.3, 0.4], before=0.0009)
    kernel_of(monkeypatch, 30, [0.3, 0.4], before=0.0011, after=0.0011)


@pytest.mark.parametrize(("limit", "sizes"), [(1.9, [8]), (3.4, [8, 8]), (3.6, [8, 8, 12])])
def test_a_kernel_ends_with_its_time(monkeypatch, limit, sizes):
    """A fit of eight takes a second, one of twelve half a second more."""
    monkeypatch.setattr(room, "FEW", 8)
    assert [m for m, _, _ in kernel_of(monkeypatch, 12, [0.3, 0.4, 0.2], took=1.0, limit=limit)[1]] == sizes


def small(**how):
    return po.AutoBayes(**{"n_trees": 15, "n_members": 8, "random_state": 0} | how)


def test_any_number_of_threads_gives_the_same_bits():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    one, three = (small(n_jobs=j).fit(X, y) for j in (1, 3))
    assert one.exponents_ == three.exponents_
    assert_array_equal(one.oob_decision_function_, three.oob_decision_function_)
    assert_array_equal(one.predict_proba(X), three.predict_proba(X))


def test_the_same_seed_gives_the_same_pool_and_another_another():
    X, y = mixed()
    first, again, other = (small(random_state=s).fit(X, y) for s in (0, 0, 1))
    assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    assert (other.predict_proba(X) != first.predict_proba(X)).any()
    stream = small(random_state=np.random.default_rng(3)).fit(X, y)
    assert (stream.predict(X) == first.predict(X)).mean() > 0.8


def test_the_posterior_is_the_product_of_its_parts():
    X, y = mixed()
    model = small().fit(X, y)
    pool, frame = model.grown_, model._open(X)
    codes, _ = pool.coding.code(frame)
    Z = pool.points(frame, codes)
    said = {
        "trees": lambda: pool.trees.sums(codes, pool.concentration)[0] / len(pool.trees),
        "members": lambda: pool.members.sums(codes)[0] / len(pool.members),
        "linear": lambda: pool.linear.posterior(Z),
        "kernel": lambda: pool.curved.posterior(pool.landmarks(Z)),
        "boosted": lambda: pool.rounds.posterior(codes),
    }
    logs = sum(u * np.log(said[name]()) for name, u in zip(pool.names, pool.exponents))
    p = np.exp(logs + pool.exponents[-1] * np.log(pool.prior))
    p = (1 - pool.noise) * p / p.sum(axis=1, keepdims=True) + pool.noise / p.shape[1]
    assert_allclose(model.predict_proba(X), p, atol=1e-9)
    assert model.noise_ == pool.noise
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_wrong_labels_are_taken_for_noise():
    """Of a rule that rows of four values tell for sure a few labels are turned."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (600, 4))
    y, turned = (X[:, 0] > 1).astype(int), rng.permutation(600)[:12]
    assert small().fit(X, y).noise_ == pytest.approx(1 / 600, rel=0.1)
    y[turned] = 1 - y[turned]
    model = small().fit(X, y)
    assert 0.01 < model.noise_ < 0.06  # of 2% turned, for half of the blind guesses are right
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)
    assert p.min() >= model.noise_ / 2 * (1 - 1e-9)
    assert model.oob_decision_function_[~np.isnan(model.oob_decision_function_)].min() >= model.noise_ / 2 * (1 - 1e-9)


def test_a_kernel_of_the_width_that_foretells_better():
    """A parity of signs wants near neighbours, a plane wants far ones; few rows are all landmarks."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    parity = np.sign(X[:, 0] * X[:, 1]) * np.sign(X[:, 2]) > 0
    plane = X @ [1.0, 2.0, -1.0] + 0.5 * rng.normal(size=400) > 0
    near, far = (small().fit(X, y.astype(int)).grown_.landmarks for y in (parity, plane))
    assert near.v < 2 * X.var(axis=0).sum() / X.var(axis=0).mean() < far.v
    assert near.at.shape == far.at.shape == (400, 3)


@pytest.mark.parametrize(
    ("wrong", "note"), [(0.0, r"the other parts leave \S+ nats a row"), (0.05, "256 landmarks have .* 0.0")]
)
def test_a_kernel_that_has_nothing_to_say_is_left_out(wrong, note):
    """A rule of two columns of words, with wrong labels and without: distances only blur it."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (1200, 8))
    y = (X[:, 0] > 2) ^ (X[:, 1] > 1) ^ (rng.random(1200) < wrong)
    model = po.AutoBayes(random_state=0).fit(X.astype(str), y.astype(int))
    (kernel,) = (row for row in model.parts_ if row.part == "kernel")
    assert re.match(note, kernel.note)
    assert (kernel.exponent, model.grown_.landmarks) == (0, None)


def test_many_rows_ask_for_more_landmarks_where_few_have_paid():
    """Far from and near to the middle, in six columns, beside a plane that a linear part tells as well."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 6))
    ball, plane = np.square(X).sum(axis=1) < 5.3, X.sum(axis=1) + rng.normal(size=1200) > 0
    many, few = (po.AutoBayes(random_state=0).fit(X, y.astype(int)).grown_.landmarks for y in (ball, plane))
    assert len(many.at) == 1024
    assert few is None or len(few.at) == 256


def test_rows_are_answered_in_blocks_that_landmarks_fit_into(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 1))
    model = small().fit(X, (np.sin(3 * X[:, 0]) > 0).astype(int))
    assert len(model.grown_.landmarks.at) > 200
    whole = model.predict_proba(X)
    sizes = []
    monkeypatch.setattr(room, "BLOCK", 2000)
    ask = Landmarks.__call__
    monkeypatch.setattr(Landmarks, "__call__", lambda self, Z: sizes.append(len(Z) * len(self.at)) or ask(self, Z))
    assert_allclose(model.predict_proba(X), whole, rtol=1e-9, atol=1e-12)
    assert max(sizes) <= 2000
    monkeypatch.setattr(room, "BLOCK", 3000)
    sizes.clear()
    again = small().fit(X, (np.sin(3 * X[:, 0]) > 0).astype(int))
    assert_allclose(again.predict_proba(X), whole, rtol=1e-6, atol=1e-9)


def test_a_kernel_looks_at_the_clock(monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(700, 2))
    y = (np.square(X).sum(axis=1) < 1.4).astype(int)
    assert len(small().fit(X, y).grown_.landmarks.at) == 700
    monkeypatch.setattr(room.Growing, "_left", lambda self: 1e-9)
    hurried = small().fit(X, y)
    assert len(hurried.grown_.landmarks.at) == 256


@pytest.mark.parametrize(("affordable", "rounds"), [(1, 10), (10, 10), (25, 25)])
def test_boosting_has_its_share_of_the_time(affordable, rounds, monkeypatch):
    """It would else take all that is left, and have nothing to show for it."""
    X, y = mixed(400)
    plain = room.Growing._affordable
    of_boosting = room.PARTS.index("boosted")
    monkeypatch.setattr(
        room.Growing,
        "_affordable",
        lambda self, each, most, i: affordable if i == of_boosting else plain(self, each, most, i),
    )
    model = small(time_limit=1e6).fit(X, y)
    assert len(model.grown_.rounds.losses) == 1 + -(-rounds // 10)
    assert {row.part: row.note for row in model.parts_}["boosted"] == ""


def test_rounds_that_outlast_the_time_leave_the_first_ones(monkeypatch):
    X, y = mixed(400)

    def grow(*given, how, **options):
        if how.rounds > how.every:
            raise room.NotMade("the time was over")
        return plain(*given, how=how, **options)

    plain = room.grow_rounds
    monkeypatch.setattr(room, "grow_rounds", grow)
    model = small(time_limit=1e6).fit(X, y)
    assert len(model.grown_.rounds.losses) == 2


def test_weights_that_are_all_alike_are_none_to_the_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)
    for trees in (1, 3, 20):
        plain, alike = (
            po.AutoBayes(trees, trees, random_state=0).fit(X, y, w).noise_ for w in (None, np.full(200, 5.0))
        )
        assert alike == pytest.approx(plain, rel=0.3)
    heavy = np.where(np.arange(200) < 10, 1000.0, 1.0)
    assert po.AutoBayes(20, 10, random_state=0).fit(X, y, heavy).noise_ < 0.05


def test_weights_of_many_decades():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)
    w = np.where(np.arange(200) < 20, 1e25, 1e-300)
    p = small().fit(X, y, sample_weight=w).predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)


def test_a_file_whose_parts_stand_in_another_order(tmp_path):
    """So files were written in which the kernel came third."""
    X, y = mixed()
    model = small().fit(X, y)
    asked = model.predict_proba(X)
    model.parts_ = tuple(sorted(model.parts_, key=lambda row: row.part))
    po.save(model, tmp_path / "model.posteriori")
    assert_array_equal(po.load(tmp_path / "model.posteriori").predict_proba(X), asked)


def test_a_column_without_cells_comes_back_from_its_file(tmp_path):
    for n in (9, 11, 18):
        rng = np.random.default_rng(n)
        X = np.column_stack([rng.normal(size=n), np.full(n, np.nan)])
        model = small().fit(X, np.arange(n) % 2)
        po.save(model, tmp_path / "model.posteriori")
        assert_array_equal(po.load(tmp_path / "model.posteriori").predict_proba(X), model.predict_proba(X))


def test_more_rows_than_landmarks():
    rng = np.random.default_rng(2)
    X = np.round(rng.normal(size=(1500, 2)), 2)
    model = small().fit(X, (np.square(X).sum(axis=1) < 1.4).astype(int))
    marks = model.grown_.landmarks
    assert 900 < len(marks.at) <= 1024
    assert len(np.unique(marks.at, axis=0)) == len(marks.at)
    assert model.exponents_["kernel"] > 0.2
    assert model.score(X, (np.square(X).sum(axis=1) < 1.4).astype(int)) > 0.97


def test_the_table_of_parts():
    X, y = mixed()
    model = small().fit(X, y)
    assert [row.part for row in model.parts_] == list(PARTS)
    assert model.exponents_ == {
        **{row.part: row.exponent for row in model.parts_},
        "prior": model.grown_.exponents[-1],
    }
    for row in model.parts_:
        assert row.seconds >= 0
        assert np.isnan(row.loss) == bool(row.note)
        assert (row.part in model.grown_.names) == (row.exponent > 0 or row.part == "trees")
    assert len(pd.DataFrame(model.parts_).columns) == 5
    own = model.oob_decision_function_[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    assert -np.log(own[~np.isnan(own)]).mean() < min(row.loss for row in model.parts_ if not row.note) + 0.02


def test_unseen_rows_are_foretold_as_well_as_the_pool_says():
    X, y = load_breast_cancer(return_X_y=True)
    model = po.AutoBayes(random_state=0).fit(X[::2], y[::2])
    p, own = model.predict_proba(X[1::2]), y[1::2]
    assert -np.log(p[np.arange(len(p)), own]).mean() < 0.14
    rng = np.random.default_rng(0)
    Z, noise = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    blind = small(n_trees=60).fit(Z, noise)
    assert blind.oob_score_ < 0.62  # there is nothing to know
    assert np.abs(blind.predict_proba(rng.normal(size=(300, 4))) - 0.5).mean() < 0.12


def test_columns_of_noise_change_little():
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(1)
    more = np.column_stack([X, rng.normal(size=(len(X), 3))])
    losses = []
    for table in (X, more):
        p = po.AutoBayes(random_state=0).fit(table[::2], y[::2]).predict_proba(table[1::2])
        losses.append(-np.log(p[np.arange(len(p)), y[1::2]]).mean())
    assert abs(losses[0] - losses[1]) < 0.02


def test_weights_are_relative_and_zero_is_not_there():
    X, y = IRIS
    without = small().fit(X, y, sample_weight=np.where(y == 2, 0.0, 1.0))
    assert without.classes_.tolist() == [0, 1]
    assert len(without.oob_decision_function_) == 100
    scaled = [small().fit(X, y, sample_weight=np.full(len(y), w)).predict_proba(X) for w in (2.0, 8.0)]
    assert_array_equal(*scaled)
    plain = small().fit(X, y)
    heavy = small(class_weight={0: 1, 1: 1, 2: 50}).fit(X, y)
    assert heavy.predict_proba(X)[:, 2].mean() > plain.predict_proba(X)[:, 2].mean()
    for scale in (1e-300, 1e300):
        assert small().fit(X, y, sample_weight=np.full(len(y), scale)).score(X, y) > 0.9
    uneven = small().fit(X, y, sample_weight=np.where(y == 1, 1e-300, 1.0))
    assert_allclose(uneven.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((1, 1)), [0]),
        (np.zeros((3, 2)), [0, 1, 1]),
        (np.arange(3.0)[:, None], ["a", "b", "c"]),
        (np.arange(2.0)[:, None], [0, 1]),
        (np.ones((5, 1)), [1] * 5),
        (np.full((4, 1), np.nan), [0, 1, 0, 1]),
        (np.array([[1e-150, 1e150]] * 3 + [[2e-150, -1e150]] * 3), [0] * 3 + [1] * 3),
    ],
    ids=["one row", "constant", "three rows", "two rows", "one class", "all missing", "far apart"],
)
def test_the_smallest_tables(X, y):
    model = small().fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert len(model.parts_) == len(PARTS)


def test_many_columns_and_many_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 10_000))
    y = (X[:, :50].sum(axis=1) > 0).astype(int)
    model = small(n_trees=3).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    notes = {row.part: row.note for row in model.parts_}
    assert "columns squared" in notes["members"]
    assert "values of all columns" in notes["boosted"]
    classes = np.repeat(np.arange(1000), 2)
    many = small(n_trees=3, n_members=2).fit(classes[:, None] + 0.0, classes)
    assert many.predict_proba([[3.0]]).shape == (1, 1000)


def test_what_cannot_help_is_left_out(monkeypatch):
    X, y = mixed()
    monkeypatch.setattr(room, "MOST_WORK", 100)
    notes = {row.part: row.note for row in small().fit(X, y).parts_}
    assert "coordinates" in notes["linear"]
    assert notes["kernel"]
    monkeypatch.undo()
    monkeypatch.setattr(room, "IDLE", 9.0)
    idle = small().fit(X, y)
    assert "6 of them have the exponent" in {row.part: row.note for row in idle.parts_}["members"]
    assert idle.grown_.members is None
    assert_allclose(idle.predict_proba(X).sum(axis=1), 1.0)


def test_time_limits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 12))
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    none = po.AutoBayes(time_limit=0, random_state=0).fit(X, y)
    assert none.grown_.names == ("trees",)
    assert [row.note for row in none.parts_[1:]] == ["the time was over"] * (len(PARTS) - 1)
    assert none.score(X, y) > 0.8
    start = time.perf_counter()
    po.AutoBayes(n_trees=100_000, n_members=10_000, time_limit=2.0, random_state=0).fit(X, y)
    assert time.perf_counter() - start < 30
    much = po.AutoBayes(20, 7, time_limit=1e6, random_state=0).fit(X, y)
    assert len(much.grown_.trees) == 20


def test_refusals_name_the_reason():
    X, y = IRIS
    with pytest.raises(MemoryBudgetError, match="n_trees"):
        po.AutoBayes(max_memory=1e5).fit(X, y)
    tight = {row.part: row.note for row in small(max_memory=3e5).fit(X, y).parts_}
    assert "over the budget" in tight["members"]
    for wrong in ({"n_trees": 0}, {"time_limit": -1}, {"time_limit": "1 h"}, {"n_jobs": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            small(**wrong).fit(X, y)


def test_progress_is_told_and_may_end_it():
    X, y = mixed(2000)
    said = []
    small(n_jobs=1, progress=lambda *a: said.append(a)).fit(X, y)
    assert said == sorted(said)
    assert said[-1][0] == said[-1][1]

    def enough(done, total):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        small(progress=enough).fit(X, y)


def test_single_precision_and_a_limit_changed_later():
    X, y = IRIS
    narrow = small().fit(X.astype(np.float32), y).predict_proba(X.astype(np.float32))
    assert_allclose(narrow.sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="time_limit"):
        small().fit(X, y).set_params(time_limit=-1).predict(X)
