"""The nomogram: points that are added lead to the model's own posterior, and lie where the ruler says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.explain.whatif import Attribute, WhatIf, what_if
from posteriori.report.nomogram import (
    FAR,
    MOST_DRAWN,
    MOST_LABELS,
    SHARES,
    Axis,
    Scales,
    _axis,
    _curve,
    _foot,
    _line,
    _marked,
    _ruler,
    levels,
    nomogram,
    probability_of,
    scales,
    useful,
)

from .drawn import Seen

seeds = st.integers(0, 10_000)


def model(seed=0, n=300, numbers=True):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = {
        "sky": np.array(["blue", "grey", "red"])[(y + rng.integers(0, 2, n)) % 3],
        "dice": rng.integers(1, 7, n).astype(str),
        "nothing": np.full(n, "same"),
    }
    if numbers:
        X |= {"warm": rng.normal(15 + 4 * y, 3).round(2), "odd": rng.normal(0, np.where(y == 1, 4.0, 1.0))}
    return po.NaiveBayes(density="gaussian").fit(X, y)


@given(seeds, st.permutations([0, 1, 2]))
def test_points_add_up_to_the_model_s_log_odds(seed, order):
    t, a = order[:2]
    table = what_if(model(seed % 7, numbers=False), with_rows=True)
    found = scales(table, t, a)
    assert (found.target, found.against) == (table.classes[t], table.classes[a])
    assert "nothing" not in [axis.name for axis in found.axes]
    by_name = {axis.name: axis for axis in found.axes}
    assert max(axis.range for axis in found.axes) / found.unit == pytest.approx(100)
    assert [axis.range for axis in found.axes] == sorted((axis.range for axis in found.axes), reverse=True)
    rng = np.random.default_rng(seed)
    points, wanted = 0.0, table.log_prior[t] - table.log_prior[a]
    for attribute in table.attributes:
        v = int(rng.integers(len(attribute.labels)))
        odds = float(attribute.log_p[v, t] - attribute.log_p[v, a])
        wanted += odds
        if attribute.name in by_name:
            points += (odds - by_name[attribute.name].low) / found.unit
    assert found.log_odds(points) == pytest.approx(wanted, abs=1e-9)
    assert found.points(found.log_odds(points)) == pytest.approx(points, abs=1e-9)


def axis(odds, labels=None, numbers=None, name="a"):
    odds = np.array(odds, dtype=float)
    return Axis(name, tuple(labels or [f"v{i}" for i in range(len(odds))]), numbers, odds)


def test_unknown_counts_as_no_evidence():
    up, down = axis([1.0, 3.0]), axis([-2.0, -1.0])
    assert (up.low, up.range) == (0.0, 3.0)
    assert (down.low, down.range) == (-2.0, 2.0)
    found = Scales("t", "a", (up, down), -2.0, 0.03)
    assert found.stretch(up) == pytest.approx((0.0, 0.0, 100.0))
    assert found.stretch(down) == pytest.approx((200 / 3, 0.0, 200 / 3))
    assert found.stretch(axis([-1.0, 2.0])) == pytest.approx((100 / 3, 0.0, 100.0))


def attribute(odds, numbers=None, share=None, labels=None, cuts=None):
    log_p = np.zeros((len(odds), 2))
    log_p[:, 1] = odds
    labels = tuple(labels if labels is not None else [f"v{i}" for i in range(len(odds))])
    return Attribute(name="x", labels=labels, log_p=log_p, numbers=numbers, share=share, cuts=cuts)


def one(attribute):
    found = scales(WhatIf((0, 1), np.log([0.5, 0.5]), (attribute,), (), ()), 1, 0)
    return found.axes[0] if found.axes else None


def test_what_rules_a_class_out_is_far_but_drawn():
    assert one(attribute([np.inf, 0.0, -np.inf])).odds.tolist() == [FAR, 0.0, -FAR]
    assert one(attribute([0.0, 0.0])) is None
    assert one(attribute([0.0, 1e-8])) is not None
    both = attribute([0.0, 1.0])
    both.log_p[0] = -np.inf  # impossible in either class: it says nothing
    assert one(both).odds.tolist() == [0.0, 1.0]
    certain = WhatIf((0, 1), np.array([0.0, -np.inf]), (attribute([0.0, 1.0]),), (), ())
    assert scales(certain, 1, 0).start == -2 * FAR


def test_bins_are_named_by_their_cuts_and_leave_no_hole():
    cuts = np.array([1.5, 2.0, 7.25])
    whole = one(attribute([1.0, 1.5, -1.0, 2.0], cuts=cuts))
    assert whole.labels == ("< 1.5", "1.5 – 2", "2 – 7.25", "≥ 7.25")
    assert whole.odds.tolist() == [1.0, 1.5, -1.0, 2.0]
    alike = one(attribute([1.0, 1.0, -1.0, -1.0], cuts=cuts))  # to these two classes there are but two bins
    assert (alike.labels, alike.odds.tolist()) == (("< 2", "≥ 2"), [1.0, -1.0])
    few = one(attribute(np.arange(8.0), np.arange(8.0)))
    assert few.numbers is None  # whole numbers, each with its name
    far = one(attribute([-50.0] * 10 + [50.0] * 10, np.arange(20.0)))  # drawn as far as FAR: no stretches, a line
    assert len(far.numbers) == 20


@given(seeds)
def test_every_number_stands_in_the_bin_that_the_model_puts_it_in(seed):
    rng = np.random.default_rng(seed % 20)
    y = rng.integers(0, 2, 200)
    x = rng.normal(2.0 * y, 1.0)
    naive = po.NaiveBayes(density="binned").fit({"x": x}, y)
    table = what_if(naive, with_rows=True)
    (found,) = table.attributes
    assert len(found.labels) == len(found.cuts) + 1 == len(found.log_p)
    tried = np.concatenate([rng.normal(1, 3, 50), found.cuts, np.nextafter(found.cuts, -np.inf)])
    bins = (tried[:, None] >= found.cuts).sum(axis=1)
    log_odds = np.diff(table.log_prior) + np.diff(found.log_p[bins], axis=1)[:, 0]
    wanted = np.diff(naive.predict_log_proba({"x": tried}), axis=1)[:, 0]
    np.testing.assert_allclose(log_odds, wanted, rtol=0, atol=2e-6)


def test_of_three_classes_the_lowest_scale_says_that_it_weighs_two():
    three = scales(what_if(model(), with_rows=True), 2, 0)
    for wide in (True, False):
        said = [t.said for t in Seen(nomogram(three, wide)).texts("name")]
        assert said[-1] == "P(2 | 2 or 0)"
    two = WhatIf((0, 1), np.log([0.5, 0.5]), (attribute([0.0, 1.0]),), (), ())
    assert [t.said for t in Seen(nomogram(scales(two, 1, 0), True)).texts("name")][-1] == "P(1)"


def test_a_line_ends_where_the_rows_do():
    share = np.zeros(40)
    share[10:30] = 1 / 20
    found = one(attribute(np.linspace(-4, 4, 40), np.arange(40.0), share))
    assert (found.numbers[0], found.numbers[-1]) == (9.0, 30.0)
    assert len(found.numbers) == len(found.odds) == len(found.labels)
    short = one(attribute(np.linspace(-2, 2, 8) ** 3, np.arange(8.0), np.eye(8)[3]))
    assert len(short.odds) == 8


@given(seeds, st.integers(1, 40))
def test_labels_never_lie_on_each_other(seed, n):
    rng = np.random.default_rng(seed)
    lots = axis(rng.normal(size=n), [f"value {i}" for i in range(n)])
    found = Scales("t", "a", (lots,), 0.0, max(lots.range, 1e-9) / 100)
    placed = levels(lots, found, lambda points: 100 + 6 * points)
    assert sorted(x for x, _, _ in placed) == [x for x, _, _ in placed]
    assert len(placed) == n
    assert sum(label is not None for _, label, _ in placed) == min(n, MOST_LABELS)
    if n > MOST_LABELS:  # the ends are named
        assert placed[0][1] is not None
        assert placed[-1][1] is not None
    from posteriori.report.scene import label_width

    ends = {}
    for x, label, level in placed:
        if level >= 0:
            half = label_width(label) / 2 + 3
            begin = min(max(x, 90 + half), 712 - half) - half
            assert begin >= ends.get(level, -math.inf)
            assert all(begin < ends.get(k, -math.inf) for k in range(level))  # the nearest that is free
            ends[level] = begin + 2 * half


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_nomogram_is_drawn_to_scale(wide, seed):
    found = scales(what_if(model(seed), with_rows=True), 2, 0)
    seen = Seen(nomogram(found, wide))
    seen.everything_is_inside(14)  # marks may stand a little over the ends of a line
    assert (" wide" if wide else " narrow") in seen.root.get("class")
    strong = [p for p in seen.paths("rule strong") if p[0][1] == p[1][1]]
    (left, top), (right, _) = strong[0]
    assert strong[-1][0][0] == strong[-2][0][0] == left  # the sum and the probability are as wide
    assert strong[-1][1][0] == strong[-2][1][0] == right
    marks = [t for t in seen.texts("tick") if t.y < top]
    step = 10 if wide else 20
    assert [t.said for t in marks] == [str(p) for p in range(0, 101, step)]
    assert [t.x for t in marks] == pytest.approx(
        [left + (right - left) * p / 100 for p in range(0, 101, step)], abs=0.1
    )
    lines = [a for a in found.axes if not a.bent]
    at = lambda points: left + (right - left) * points / 100  # noqa: E731
    for a, path in zip(lines, strong[1:-2], strict=True):
        _, first, last = found.stretch(a)
        assert [x for x, _ in path] == pytest.approx([at(first), at(last)], abs=0.1)
    zeros = [x for x, _, _ in seen.numbers("circle", "unknown", "cx cy r")]
    assert zeros == pytest.approx([at(found.stretch(a)[0]) for a in lines], abs=0.1)
    curves = seen.paths("line accent")
    bent = [a for a in found.axes if a.bent]
    assert len(curves) == len(bent) == (seed != 1)  # in one of the three tables every number goes one way
    for a, path, zero in zip(bent, curves, seen.paths("unknown-line")):
        assert [x for x, _ in path] == pytest.approx([at(p) for p in (a.odds - a.low) / found.unit], abs=0.1)
        ys = np.array([y for _, y in path])
        share = (a.numbers - a.numbers[0]) / np.ptp(a.numbers)
        assert ys == pytest.approx(ys[0] + (ys[-1] - ys[0]) * share, abs=0.1)
        assert ys[0] - ys[-1] == pytest.approx(66, abs=0.1)
        assert zero[0] == pytest.approx((at(-a.low / found.unit), ys[-1]), abs=0.1)
        assert zero[1][1] == pytest.approx(ys[0], abs=0.1)
    names = [t for t in seen.texts("name") if "strong" not in t.style]
    assert [t.said for t in names] == [a.name for a in found.axes]
    assert [t.y for t in names] == sorted(t.y for t in names)
    seen.no_text_on_another()
    _sums(seen, found, strong)


def _sums(seen, found, strong):
    """The ruler of sums and the one of probabilities say the same, and each has its name beside or above it."""
    for t, line in zip([t for t in seen.texts("name") if "strong" in t.style][-2:], strong[-2:]):
        assert line[0][1] - 30 < t.y < line[0][1] + 10
    (left, y_sum), (right, _) = strong[-2]
    y_share = strong[-1][0][1]
    sums = [t for t in seen.texts("tick") if y_sum - 12 < t.y < y_sum]
    shares = [t for t in seen.texts("tick") if y_share - 12 < t.y < y_share]
    assert len(sums) > 2
    assert len(shares) > 2
    slope, start = np.polyfit([t.x for t in sums], [float(t.said.replace(",", "")) for t in sums], 1)
    for t in shares:
        p = float(t.said[:-1]) / 100
        assert slope * t.x + start == pytest.approx(
            found.points(math.log(p / (1 - p))), abs=0.02 * abs(slope) * (right - left)
        )
    assert all(left - 1 <= t.x <= right + 1 for t in shares)


def test_sums_that_matter():
    found = Scales("t", "a", (), -20.0, 0.1)
    low, high = useful(found, 400.0)
    edge = math.log(0.9995 / 0.0005)
    assert low <= found.points(-edge) <= low + 10
    assert high - 10 <= found.points(edge) <= high
    assert useful(found, 150.0)[1] == 150.0  # no more than can be reached
    assert useful(Scales("t", "a", (), 20.0, 0.1), 50.0) == (0.0, 50.0)  # always sure: all sums
    assert useful(Scales("t", "a", (), 0.0, 0.1), 60.0)[0] == 0.0


def test_many_attributes_are_not_all_drawn():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = {f"x{j}": np.where(rng.random(100) < 0.5 + j / 100, y, 1 - y).astype(str) for j in range(MOST_DRAWN + 5)}
    found = scales(what_if(po.NaiveBayes().fit(X, y), with_rows=True), 1, 0)
    assert len(found.axes) == MOST_DRAWN


def test_what_tells_most_stands_first_and_what_tells_nothing_not_at_all():
    parts = [attribute([0.0, 1.0]), attribute([-2.0, 1.0]), attribute([0.0, 1e-10]), attribute([0.0, -2.0])]
    found = scales(WhatIf((0, 1), np.log([0.25, 0.75]), tuple(parts), (), ()), 1, 0)
    assert [a.range for a in found.axes] == [3.0, 2.0, 1.0]
    assert found.unit == 0.03
    assert found.start == pytest.approx(math.log(3) - 2 - 2)
    assert found.among == 2
    two = scales(WhatIf((0, 1), np.log([0.25, 0.75]), tuple(parts), (), ()), 1, 0, most=2)
    assert [a.range for a in two.axes] == [3.0, 2.0]
    none = scales(WhatIf((0, 1), np.log([0.5, 0.5]), (), (), ()), 1, 0)
    assert (none.axes, none.unit, none.start) == ((), 0.01, 0.0)


def test_a_grid_is_drawn_where_the_rows_are():
    wide = np.zeros(20)
    wide[5:15] = 0.1
    found = _axis(attribute(np.arange(20.0) / 2, np.arange(20.0), wide), 1, 0)
    assert found.numbers.tolist() == list(range(4, 16))  # and one point beyond
    assert found.odds.tolist() == [v / 2 for v in range(4, 16)]
    eight = _axis(attribute(np.arange(8.0), np.arange(8.0), np.eye(8)[3]), 1, 0)
    assert eight.numbers is None  # so few are named each
    assert len(eight.odds) == 8
    days = Attribute(
        "d", tuple("abcdefghi"), np.arange(9.0), np.column_stack([np.zeros(9), np.arange(9.0)]), dates=True
    )
    assert _axis(days, 1, 0).dates
    assert not found.dates


@pytest.mark.parametrize(
    ("odds", "straight"),
    [([0, 25, 24, 50], True), ([50, 24, 25, 0], True), ([0, 25, 23.9, 50], False), ([0, 1, 0], False), ([0, 0], True)],
)
def test_a_wrinkle_of_two_in_a_hundred_is_none(odds, straight):
    assert axis(odds, numbers=np.arange(float(len(odds)))).bent is not straight
    assert not axis(odds).bent  # values have no order


def test_marks_of_values_and_of_numbers():
    few = axis([-1.0, 1.0, 3.0], ["a", None, "c"])
    found = Scales("t", "a", (few,), 0.0, 0.04)
    assert _marked(few, found) == [(0.0, "a"), (50.0, None), (100.0, "c")]
    exactly = axis(np.arange(float(MOST_LABELS)))
    assert all(label is not None for _, label in _marked(exactly, found))
    grid = np.array([0.0, 5.0, 10.0, 20.0])
    line = axis([0.0, 1.0, 2.0, 4.0], numbers=grid)
    found = Scales("t", "a", (line,), 0.0, 0.04)
    assert _marked(line, found) == [(25.0 * v / 5, f"{v}") for v in (0, 5, 10, 15, 20)]


def test_a_label_that_just_fits_stands_beside_the_last():
    from posteriori.report.scene import label_width

    width = label_width("v0") + 6
    pair = axis([0.0, 1.0])
    for room, level in ((width, 0), (width - 0.5, 1)):
        found = Scales("t", "a", (pair,), 0.0, 0.01)
        placed = levels(pair, found, lambda points, room=room: 300 + room * points / 100)
        assert [k for *_, k in placed] == [0, level]
    crowd = axis([0.0] * 5 + [1.0])
    found = Scales("t", "a", (crowd,), 0.0, 0.01)
    assert [level for *_, level in levels(crowd, found, lambda p: 100 + 6 * p)] == [0, 1, 2, 3, -1, 0]


def test_a_ruler_has_a_line_and_a_mark_with_its_text_above_for_each():
    seen = Seen(_ruler([(20.0, "two"), (70.0, "seven")], (10.0, 90.0), 50.0))
    assert seen.paths("rule strong") == [[(10.0, 50.0), (90.0, 50.0)]]
    assert [p for p in seen.paths("rule") if len({x for x, _ in p}) == 1] == [
        [(20.0, 50.0), (20.0, 45.0)],
        [(70.0, 50.0), (70.0, 45.0)],
    ]
    assert [(t.said, t.x, t.y) for t in seen.texts("tick")] == [("two", 20.0, 42.0), ("seven", 70.0, 42.0)]


def at_six(points):
    return 100 + 6 * points


@pytest.mark.parametrize(
    ("n", "line", "end"), [(1, 17.0, 5.0), (2, 17.0, 18.0), (3, 29.0, 18.0), (4, 29.0, 30.0), (5, 29.0, 30.0)]
)
def test_a_line_has_room_for_its_labels_above_and_below(n, line, end):
    crowd = axis([0.0] * n, [f"<v{i}>" for i in range(n)])
    found = Scales("t", "a", (crowd, axis([0.0, 1.0])), 0.0, 0.01)
    body, middle, below = _line(crowd, found, at_six, 200.0, True)
    seen = Seen(body)
    assert (middle, below) == (200 + line, 200 + line + end)
    assert seen.paths("rule strong") == [[(100.0, middle), (100.0, middle)]]
    assert seen.numbers("circle", "unknown", "cx cy") == [(100.0, middle)]
    shifts, texts = [-7.0, 16.0, -19.0, 28.0], seen.texts("value")
    assert [(t.said, t.y - middle) for t in texts] == [(f"<v{i}>", shifts[i]) for i in range(min(n, 4))]
    ticks = [p for p in seen.paths("rule") if p[0] != p[-1]]
    sides = [-4.0, 4.0, -4.0, 4.0, -4.0]
    assert [[x - 100.0 for x, _ in p] + [p[1][1] - p[0][1]] for p in ticks] == [[0.0, 0.0, s] for s in sides[:n]]
    assert len(seen.paths("rule thin")) == max(n - 4, 0)
    assert [t.text for t in seen.all("title")] == [f"<v{i}>" for i in range(n)]  # a label without room is a tip
    assert all(t.left >= 90 - 0.1 for t in texts)


@pytest.mark.parametrize("wide", [True, False])
def test_a_curve_has_its_values_upright_and_its_points_across(wide):
    grid = np.array([10.0, 11.0, 12.0, 16.0, 20.0])
    bent = axis([-1.0, 1.0, 3.0, 1.0, 0.0], numbers=grid)
    found = Scales("t", "a", (bent,), 0.0, 0.04)
    body, middle, end = _curve(bent, found, at_six, 200.0, wide)
    seen = Seen(body)
    assert (middle, end) == (208 + 33, 208 + 66 + 4)
    up = 274 - 66 * (grid - 10) / 10
    (path,) = seen.paths("line accent")
    assert path == [pytest.approx((at_six(p), h), abs=0.06) for p, h in zip([0, 50, 100, 50, 25], up)]
    assert seen.paths("unknown-line") == [[(250.0, 208.0), (250.0, 274.0)]]
    levels_ = [274 - 66 * (v - 10) / 10 for v in (10, 15, 20)]
    assert [t.said for t in seen.texts("value")] == ["10", "15", "20"]
    assert seen.paths("grid dotted") == [[pytest.approx((x, h), abs=0.06) for x in (100, 700)] for h in levels_]
    for t, h in zip(seen.texts("value"), levels_):
        assert (t.right, t.y) == pytest.approx((94.0, h + 4) if wide else (700.0, h - 3), abs=0.06)


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("among", [2, 3])
def test_the_sum_of_points_stands_above_what_it_means(wide, among):
    axes = tuple(axis([-w, w], name=n) for n, w in (("a", 2.0), ("b", 3.0)))
    found = Scales("yes", "no", axes, -5.5, 0.06, among)
    left, right = 206.0, 856.0
    body, end = _foot(found, 300.0, left, right, wide)
    seen = Seen(body)
    low, high = useful(found, 10 / 0.06)
    assert seen.paths("rule thin") == [[(14.0 if wide else left, 288.0), (right, 288.0)]]
    sum_y = 300.0 + (16 if wide else 28)
    share_y = sum_y + (36 if wide and among == 2 else 52)
    assert end == share_y
    assert seen.paths("rule strong") == [[(left, y), (right, y)] for y in (sum_y, share_y)]
    total, share = seen.texts("name")
    assert (total.left, total.y) == ((14.0, sum_y + 4) if wide else (left, sum_y - 21))
    assert (share.left, share.y) == ((14.0, share_y + 4) if wide and among == 2 else (left, share_y - 21))
    assert share.said == ("P(yes)" if among == 2 else "P(yes | yes or no)")
    sums = [t for t in seen.texts("tick") if t.y == sum_y - 8]
    assert [t.x for t in sums] == pytest.approx(
        [left + 650 * (float(t.said) - low) / (high - low) for t in sums], abs=0.06
    )
    wanted, last = [], -math.inf
    for p in SHARES:
        x = left + 650 * ((math.log(p / (1 - p)) + 5.5) / 0.06 - low) / (high - low)
        told = f"{p:.1%}" if p in (0.001, 0.999) else f"{p:.0%}"
        if left - 1 <= x <= right + 1 and x - last > 6.6 * len(told) + 5:
            wanted.append((told, pytest.approx(x, abs=0.06)))
            last = x
    assert [(t.said, t.x) for t in seen.texts("tick") if t.y == share_y - 8] == wanted


def test_without_attributes_the_sum_runs_to_a_hundred():
    seen = Seen(_foot(Scales("t", "a", (), 0.0, 0.01), 300.0, 206.0, 856.0, True)[0])
    assert [t.said for t in seen.texts("tick")][:11] == [str(p) for p in range(0, 101, 10)]


@pytest.mark.parametrize("wide", [True, False])
def test_names_and_lines_stand_in_their_rows(wide):
    bent = axis([-1.0, 1.0, 3.0, 1.0, 0.0], numbers=np.array([10.0, 11.0, 12.0, 16.0, 20.0]), name="bent")
    found = Scales("t", "a", (bent, axis([0.0, 2.0], name="<line>")), 0.0, 0.04)
    seen = Seen(nomogram(found, wide))
    left, right, top = (206.0, 856.0, 20.0) if wide else (12.0, 338.0, 36.0)
    points = seen.texts("name strong")[0]
    assert (points.left, points.y) == ((14.0, 24.0) if wide else (left, 15.0))
    assert seen.paths("rule strong")[0] == [(left, top), (right, top)]
    head, gap = (0, 10) if wide else (16, 14)
    first = top + 12
    _, middle, end = _curve(bent, found, at_six, first + head, wide)
    second = end + gap
    _, line, below = _line(found.axes[1], found, lambda p: left + (right - left) * p / 100, second + head, wide)
    names = [t for t in seen.texts("name") if "strong" not in t.style]
    assert [(t.said, t.left, t.y) for t in names] == [
        ("bent", *((14.0, middle + 4) if wide else (left, first + 10))),
        ("<line>", *((14.0, line + 4) if wide else (left, second + 10))),
    ]
    foot = below + gap
    uprights = [p for p in seen.paths("grid") if p[0][0] == p[1][0]]
    step = 10 if wide else 20
    assert uprights == [
        [
            (pytest.approx(left + (right - left) * p / 100, abs=0.06), top),
            (pytest.approx(left + (right - left) * p / 100, abs=0.06), pytest.approx(foot - 4, abs=0.6)),
        ]
        for p in range(0, 101, step)
    ]
    _, last = _foot(found, foot + 18, left, right, wide)
    assert seen.tall == pytest.approx(last + 20, abs=0.6)
    assert seen.wide == (880.0 if wide else 352.0)
    assert [e[0].text for e in seen.all("g") if e[1].get("class") == "name"] == ["bent", "<line>"]


def test_names_of_classes_are_cut_to_the_room():
    from posteriori.report.scene import label_width

    found = Scales("x" * 40, "y" * 40, (), 0.0, 1.0)
    assert probability_of(found, 1e9) == ["x" * 23 + "…"]
    for room in (100.0, 60.0):
        (told,) = probability_of(found, room)
        assert 1.2 * label_width(f"P({told})") <= room < 1.2 * label_width(f"P({told}x)")
    assert probability_of(found, 1.2 * label_width("P(" + "x" * 9 + "…)")) == ["x" * 9 + "…"]
    pair = Scales("x" * 40, "y" * 40, (), 0.0, 1.0, 3)
    t, a = probability_of(pair, 200.0)
    assert 1.2 * label_width(f"P({t} | {t} or {a})") <= 200
    assert (len(t), t[0], a[0]) == (len(a), "x", "y")
    assert probability_of(pair, 1.0) == ["xxx…", "yyy…"]  # no shorter than that
    assert probability_of(Scales("t", "a", (), 0.0, 1.0, 3), 1e9) == ["t", "a"]


def test_sums_that_matter_end_at_round_numbers():
    edge = math.log(0.9995 / 0.0005)  # 7.6
    found = Scales("t", "a", (), -20.0, 0.1)
    assert useful(found, 400.0) == (120.0, 280.0)  # from 124 to 276
    assert useful(found, 130.0) == (123.0, 130.0)
    assert useful(Scales("t", "a", (), -20.0, 0.1), (20 - edge) / 0.1) == (0.0, (20 - edge) / 0.1)  # no width
    assert useful(Scales("t", "a", (), 2.0, 0.1), 400.0) == (0.0, 60.0)
