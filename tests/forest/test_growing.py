"""The parts of a pool as they grow: what is told of it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from posteriori.forest import growing as room
from posteriori.forest.growing import OTHERS, PARTS, Growing, LeftOut
from posteriori.forest.pool import expected_noise, fit_exponents, fit_noisy, pooled
from posteriori.forest.pooled import PoolPart
from posteriori.margin.landmarks import Landmarks


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
    with pytest.raises(LeftOut, match="the time was over"):
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
            with pytest.raises(LeftOut, match="the time was over"):
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
    with pytest.raises(LeftOut, match="5 rows × 8 coordinates × 2 classes"):
        found._refuse_work(8)
    monkeypatch.setattr(room, "MOST_ROWS", 4)  # no more take part
    found._refuse_work(8)
    found.max_memory = 1000.0
    found._need(1000.0)
    with pytest.raises(LeftOut, match="over the budget"):
        found._need(1001.0)
    monkeypatch.setattr(room, "MOST_PAIRS", 5 * 2 * 2 - 1)
    with pytest.raises(LeftOut, match="5 rows × 2 columns squared"):
        found._members(np.random.default_rng(0), 3)
    monkeypatch.setattr(room, "MOST_BINS", 7 * 2 - 1)
    with pytest.raises(LeftOut, match="7 values of all columns × 2 classes"):
        found._boosted(np.random.default_rng(0), 2)
    with pytest.raises(LeftOut, match="there are no points"):
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
