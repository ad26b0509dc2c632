"""The parts of a pool as they grow: what is told of it."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from posteriori.errors import MemoryBudgetError
from posteriori.forest import growing as room
from posteriori.forest.growing import OTHERS, PARTS, Growing, NotMade, Pool, PoolPart
from posteriori.forest.linear import Landmarks
from posteriori.forest.pool import expected_noise, fit_exponents, fit_noisy, pooled

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
