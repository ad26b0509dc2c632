"""Charts: what is drawn is where the numbers say, all of it inside, marks are round and told apart."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.report import charts, scene
from posteriori.report.markup import WORDS, render

from .drawn import Seen

numbers = st.floats(-1e6, 1e6, allow_nan=False)
shares = st.floats(0, 1, allow_nan=False)


@given(numbers, st.floats(1e-2, 1e6), st.integers(2, 12))
def test_marks_are_round_equally_far_apart_and_all_that_fit(low, width, most):
    high = low + width
    marks = scene.ticks(low, high, most)
    width = high - low
    step = round((marks[-1] - marks[0]) / (len(marks) - 1), 12) if len(marks) > 1 else None
    assert len(marks) <= most + 1
    assert all(low - 1e-6 * width <= v <= high + 1e-6 * width for v in marks)
    if step is None:  # one mark or none: the next would be outside
        return
    assert np.allclose(np.diff(marks), step, rtol=1e-6)
    base = 10.0 ** math.floor(math.log10(step) + 1e-6)
    assert round(step / base, 4) in (1, 2, 5)
    step = round(step / base) * base
    assert step <= 2.5 * width / most * (1 + 1e-9) or step <= 10 ** math.ceil(math.log10(width / most)) * (1 + 1e-9)
    assert marks[0] - step < low + 1e-6 * width
    assert marks[-1] + step > high - 1e-6 * width
    assert all(abs(v / step - round(v / step)) < 1e-3 for v in marks)
    told = [scene.tick_text(v, marks) for v in marks]
    assert len(set(told)) == len(told)
    assert all(abs(float(t.replace(",", "")) - v) <= step / 2 for t, v in zip(told, marks))


def test_marks_where_there_is_no_width():
    assert scene.ticks(3.0, 3.0) == [3.0]
    assert scene.ticks(0.0, math.inf) == [0.0]
    assert scene.ticks(1e15, 1e15 + 1) == [1e15, 1e15 + 1]
    assert scene.ticks(0.0, 1e-200)[-1] == 1e-200
    assert [scene.tick_text(v, [v]) for v in (0.25, 12345.0, 2e9, 1e-5)] == ["0.25", "12,345", "2e+09", "1e-05"]
    assert scene.tick_text(0.5, [0.0, 0.5]) == "0.5"
    assert scene.tick_text(10000.0, [0.0, 10000.0]) == "10,000"


@given(numbers, st.floats(0.1, 1e6), shares, shares)
def test_a_plane_is_linear_from_corner_to_corner(low, width, a, b):
    plane = scene.Plane((low, low + width), (low, low + width), 46.0, 480.0, 12.0, 360.0)
    at = low + a * width, low + b * width
    assert plane.at_x(at[0]) == pytest.approx(46 + a * (480 - 46), abs=1e-3)
    assert plane.at_y(at[1]) == pytest.approx(360 - b * (360 - 12), abs=1e-3)
    assert scene.scale(low, low + width, 46.0, 480.0)(at[0]) == pytest.approx(plane.at_x(at[0]), abs=1e-3)
    flat = scene.Plane((2.0, 2.0), (2.0, 2.0), 46.0, 480.0, 12.0, 360.0)
    assert (flat.at_x(2.0), flat.at_y(2.0)) == (46.0, 360.0)


def test_axes_have_their_marks_and_names_beside_the_plane():
    plane = charts.plane(y=(0.0, 40.0))
    body = charts.axes(plane, "axis_said", "axis_came", shares=False)
    seen = Seen(scene.chart(body, "chart_roc", charts.WIDE, charts.TALL))
    seen.everything_is_inside()
    seen.no_text_on_another("tick")
    foot, head = plane.at_y(0.0), plane.at_y(40.0)
    upright = [p for p in seen.paths("grid") if p[0][0] == p[1][0]]
    level = [p for p in seen.paths("grid") if p[0][1] == p[1][1]]
    assert [p[0][0] for p in upright] == pytest.approx([plane.at_x(v / 5) for v in range(6)], abs=0.06)
    assert all(sorted(y for _, y in p) == pytest.approx([head, foot], abs=0.06) for p in upright)
    assert [p[0][1] for p in level] == pytest.approx([plane.at_y(v) for v in (0, 10, 20, 30, 40)], abs=0.06)
    assert all([x for x, _ in p] == [charts.LEFT, charts.WIDE - charts.RIGHT] for p in level)
    below, beside = seen.texts("tick")[:6], seen.texts("tick")[6:]
    assert [t.said for t in below] == ["0%", "20%", "40%", "60%", "80%", "100%"]
    assert all(foot < t.y < foot + 20 for t in below)
    assert [t.said for t in beside] == ["0", "10", "20", "30", "40"]
    assert all(t.right <= charts.LEFT - 3 for t in beside)
    assert all(abs(t.y - plane.at_y(10 * i)) < 6 for i, t in enumerate(beside))
    across, up = seen.texts("axis")
    assert across.x == pytest.approx((charts.LEFT + charts.WIDE - charts.RIGHT) / 2)
    assert max(t.y for t in below) + 8 < across.y <= charts.TALL
    assert up.y == pytest.approx((foot + head) / 2, abs=0.06)
    turned = seen.all("text", "axis")[1].get("transform")
    assert turned == f"rotate(-90 {up.x:.1f} {up.y:.1f})"


def test_reliability_is_drawn_where_it_was_measured():
    found = SimpleNamespace(
        said=np.array([0.1, 0.4, 0.9]), came=np.array([0.2, 0.4, 0.7]), share=np.array([0.25, 0.5, 0.25])
    )
    seen, plane = Seen(charts.reliability_chart(found)), charts.plane()
    seen.everything_is_inside()
    dots = seen.numbers("circle", "dot s0", "cx cy r")
    wanted = [(plane.at_x(a), plane.at_y(b)) for a, b in zip(found.said, found.came)]
    assert [d[:2] for d in dots] == [pytest.approx(w, abs=0.06) for w in wanted]
    assert (dots[1][2] - 2.5) ** 2 == pytest.approx(2 * (dots[0][2] - 2.5) ** 2, rel=0.05)  # the area is the share
    assert seen.paths("line s0") == [[pytest.approx(w, abs=0.06) for w in wanted]]
    assert seen.paths("line aside") == [[(plane.at_x(0), plane.at_y(0)), (plane.at_x(1), plane.at_y(1))]]
    assert next(t.text for e in seen.all("circle") for t in e) == "10.0% → 20.0% (n: 25.0%)"


@given(st.lists(st.floats(-3, 50), min_size=2, max_size=9))
def test_curves_go_through_their_points_and_stay_inside(ys):
    xs = np.linspace(0, 1, len(ys)).tolist()
    seen = Seen(
        charts.free_chart([(xs, ys, "s0"), ([0.0, 1.0], [0.0, 1.0], "aside")], "axis_said", "axis_came", "chart_cost")
    )
    seen.everything_is_inside()
    line, aside = seen.paths("line s0")[0], seen.paths("line aside")[0]
    assert len(aside) == 2
    assert len(line) == len(ys)
    down = [y for _, y in line]
    low, high = min(0.0, *ys), max(1.0, *ys)
    foot, head = charts.TALL - charts.BOTTOM, charts.TOP
    assert down == pytest.approx([foot - (y - low) / (1.08 * (high - low)) * (foot - head) for y in ys], abs=0.06)


def test_curves_over_shares():
    line = ([0.0, 0.5, 1.0], [0.0, 0.8, 1.0], "s1")
    seen = Seen(charts.curves_chart([line], "axis_false", "axis_true", "chart_roc", [([0, 1], [0, 1], "aside")]))
    plane = charts.plane()
    assert seen.paths("s1") == [[pytest.approx((plane.at_x(a), plane.at_y(b)), abs=0.06) for a, b in zip(*line[:2])]]
    assert len(seen.paths("aside")) == 1
    assert [t.said for t in seen.texts("tick")][-1] == "100%"
    seen = Seen(charts.free_chart([([0.0, 1.0], [0.0, 0.0], "s0")], "axis_false", "axis_true", "chart_cost"))
    assert {y for _, y in seen.paths("s0")[0]} == {charts.TALL - charts.BOTTOM}  # no height at all is no division


@given(st.integers(2, 700), st.integers(2, 50))
def test_thinned_curves_keep_their_ends(n, most):
    xs = np.arange(float(n))
    a, b = charts.thinned(xs, xs * 2, most)
    assert (a[0], a[-1]) == (0.0, n - 1.0)
    assert b == [2 * v for v in a]
    assert len(a) == min(n, most)
    assert a == sorted(set(a))


def facts(**more):
    return SimpleNamespace(**({"table": None, "grid": None, "labels": (), "dates": False} | more))


@pytest.mark.parametrize("most", [1.0, 0.03])
def test_spread_of_numbers_is_steps_as_high_as_the_shares(most):
    table = most * np.array([[0.5, 0.0, 9.0], [0.25, 1.0, 9.0], [0.25, 0.0, 9.0]])
    seen = Seen(charts.spread_chart(facts(table=table, grid=np.array([0.0, 10.0, 20.0, 30.0])), [0, 1]))
    seen.everything_is_inside()
    seen.no_text_on_another()
    foot = seen.paths("rule")[0][0][1]
    left, right = (x for x, _ in seen.paths("rule")[0])
    third = (right - left) / 3
    for k in (0, 1):
        (path,) = seen.paths(f"line s{k}")
        assert path[0] == (left, foot)
        assert path[-1] == (right, foot)
        flat = path[1:-1]
        assert [x for x, _ in flat[1::2]] == pytest.approx([left + third, left + 2 * third, right], abs=0.06)
        top = min(y for _, y in seen.paths("line s1")[0])
        assert [foot - y for _, y in flat[::2]] == pytest.approx((foot - top) * table[:, k] / most, abs=0.2)
    assert not seen.paths("line s2")
    assert 5 <= top <= 20
    assert [t.said for t in seen.texts("tick")] == ["0", "10", "20", "30"]
    at = [t.x for t in seen.texts("tick")]
    assert at == pytest.approx([left, left + third, left + 2 * third, right], abs=0.06)
    assert [t.left >= 0 and t.right <= seen.wide for t in seen.texts("tick")] == [True] * 4
    assert all(foot + 4 < t.y <= seen.tall for t in seen.texts("tick"))
    assert [p[0] for p in seen.paths("rule")[1:]] == [pytest.approx((x, foot), abs=0.06) for x in at]


@pytest.mark.parametrize(("most", "top"), [(0.03, 0.1), (0.2, 0.25), (0.25, 0.25), (0.4, 0.5), (0.51, 1.0), (1.0, 1.0)])
def test_spread_of_values_is_a_dot_a_class(most, top):
    table = np.array([[most, most / 3, 0.0], [0.0, most / 2, 0.0]])
    labels = ("a value that is longer than can be", None)
    seen = Seen(charts.spread_chart(facts(table=table, labels=labels), [0, 1]))
    seen.everything_is_inside()
    lines = seen.paths("grid")
    zero, half, whole = (p[0][0] for p in lines)
    assert half == pytest.approx((zero + whole) / 2, abs=0.1)
    dots = seen.numbers("circle", "dot", "cx cy r")
    assert [d[0] for d in dots] == pytest.approx(
        [zero + (whole - zero) * s / top for s in table[:, :2].ravel()], abs=0.1
    )
    rows = sorted({d[1] for d in dots})
    assert rows[1] - rows[0] == pytest.approx(19.0)
    assert rows[0] == pytest.approx(9.5)
    ties = seen.paths("rule thin")
    assert [[x for x, _ in p] for p in ties] == [
        pytest.approx([zero + (whole - zero) * v / top for v in (r.min(), r.max())], abs=0.1) for r in table[:, :2]
    ]
    assert [t.said for t in seen.texts("tick")] == ["0%", charts.percent(top / 2, 0), charts.percent(top, 0)]
    assert all(t.y == seen.tall - 5 and t.right <= seen.wide for t in seen.texts("tick"))
    named, rare = seen.texts("value")[0], seen.texts("faint")[0]
    assert named.said == "a value that is…"
    assert rare.said == WORDS["rare_value"][0]
    assert (named.y, rare.y) == (rows[0] + 4, rows[1] + 4)
    assert named.left >= 0
    assert named.right == pytest.approx(zero - 8, abs=0.1)
    assert seen.all("g")[0][0].text == labels[0]
    short = Seen(charts.spread_chart(facts(table=table[:1], labels=("exactly sixteen!",)), [0, 1]))
    assert short.texts("value")[0].said == "exactly sixteen!"
    assert charts.spread_chart(facts(), [0]) == ""


def test_bars_go_to_their_side_of_zero():
    rows = [("prior", 1.0), ("up", 2.0), ("down", -4.0), ("sure", math.inf), ("never", -math.inf), ("zero", 0.0)]
    rows[0] = (WORDS["prior"][0], 1.0)
    seen = Seen(charts.bars_chart(rows, "chart_case"))
    seen.everything_is_inside()
    seen.no_text_on_another()
    (zero, top), (_, bottom) = seen.paths("rule")[0]
    assert (top, bottom) == (0.0, seen.tall - 2)
    bars = seen.numbers("rect")
    unit = bars[1][2] / 2
    assert [b[2] for b in bars] == pytest.approx([unit, 2 * unit, 4 * unit, 4 * unit, 4 * unit, 0], abs=0.2)
    for (_, value), (x, _, width, _), e in zip(rows, bars, seen.all("rect")):
        assert e.get("class") == ("against" if value < 0 else "for")
        assert (x + width if value < 0 else x) == pytest.approx(zero, abs=0.11)
    told = seen.texts("tick")
    assert [t.said for t in told] == ["+1.00", "+2.00", "−4.00", "+∞", "−∞", "+0.00"]
    for (_, value), (x, y, width, height), t in zip(rows, bars, told):
        assert t.y == pytest.approx(y + height / 2 + 4, abs=0.11)
        assert (t.right if value < 0 else t.left) == pytest.approx(x - 4 if value < 0 else x + width + 4, abs=0.11)
        assert t.left >= 0
        assert t.right <= seen.wide
    assert seen.texts("faint")[0].said == WORDS["prior"][0]
    names = seen.texts("value")
    assert [t.said for t in names] == ["up", "down", "sure", "never", "zero"]
    assert all(t.right < min(t.left for t in told) for t in names)
    assert [b[1] for b in bars] == [22.0 * i + 5 for i in range(6)]


@given(st.lists(numbers, min_size=1, max_size=6))
def test_bars_of_any_numbers_stay_inside(values):
    seen = Seen(charts.bars_chart([(f"n{i}", v) for i, v in enumerate(values)], "chart_case"))
    seen.everything_is_inside()
    most = max(map(abs, values))
    bars = seen.numbers("rect")
    if most > 0:
        unit = max(b[2] for b in bars)
        assert [b[2] for b in bars] == pytest.approx([abs(v) / most * unit for v in values], abs=0.2)
        spread = max(0.0, *values) / most - min(0.0, *values) / most
        both = (min(values) < 0) + (max(values) > 0)
        told = 6 + max(scene.label_width(charts.signed(v)) for v in values)
        assert unit * spread == pytest.approx(340 - 146 - told * both, abs=0.3)  # all of the room


def test_numbers_beside_bars_are_whole():
    """+50.00 beside a bar that fills the room: the last digit too lies inside."""
    for values in ([50.0, 3.0], [-50.0, 3.0], [50.0, -50.0], [12345.6, 1.0], [np.inf, -1.0]):
        seen = Seen(charts.bars_chart([(f"n{i}", v) for i, v in enumerate(values)], "chart_case"))
        seen.everything_is_inside()
        assert [t.said for t in seen.texts("tick")] == [charts.signed(v) for v in values]


def test_dates_are_marked_as_dates():
    found = facts(table=np.full((3, 1), 1 / 3), grid=np.array([18262.0, 18400, 18600, 18700]), dates=True)
    seen = Seen(charts.spread_chart(found, [0]))
    seen.everything_is_inside()
    seen.no_text_on_another()
    assert [t.said for t in seen.texts("tick")] == ["2020-01", "2020-07", "2021-01"]


def test_texts_and_the_key():
    assert scene.text(1, 2, "a", anchor="end").get("text-anchor") == "end"
    assert scene.svg(scene.text(1, 2, "<a>", anchor="start")) == '<text x="1.0" y="2.0">&lt;a&gt;</text>'
    assert scene.label_width("ab") * 2 < scene.label_width("中文") * 2 == 46
    key = render("parts", "legend", ["<a>", "b"])
    assert key.count("<li>") == 2
    assert "&lt;a&gt;" in key
    assert "line s1" in key
    svg = scene.svg(scene.chart([], "chart_roc", 10, 20, " more"))
    assert 'class="chart more"' in svg
    assert 'viewBox="0 0 10 20" width="10" height="20"' in svg


def test_marks_at_the_borders_of_what_is_told_apart():
    assert scene.ticks(1e9 - 5, 1e9) == [1e9 - 5 + k for k in range(6)]
    assert scene.ticks(1e9 - 4, 1e9 + 1) == [1e9 - 4, 1e9 + 1]  # more digits than a reader would compare
    assert scene.ticks(0.0, 1e-290) == [0.0]
    assert scene.ticks(0.0, 2e-290, 2) == [0.0, 1e-290, 2e-290]
    assert scene.ticks(-0.3, 0.3, 6) == [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]
    assert [scene.tick_text(v, [0.4, 0.5, 0.6]) for v in (0.4, 0.5)] == ["0.4", "0.5"]
    assert scene.tick_text(1e7, [0.0, 1e7]) == "1e+07"
    assert scene.tick_text(9_999_999.0, [0.0, 9_999_999.0]) == "9,999,999"
    assert scene.tick_text(0.0, [0.0]) == "0"
    assert scene.tick_text(0.0, [0.0, 0.001]) == "0.000"
    assert scene.tick_text(0.0009, [0.0, 0.0009]) == "0.0009"
    assert [scene.tick_text(v, [v]) for v in (9999.5, 10_000.0)] == ["9999.5", "10,000"]
    assert [charts.signed(v) for v in (9999.99, 1e4, -1e4)] == ["+9999.99", "+1.00e+04", "−1.00e+04"]


def test_a_word_stands_level_unless_it_is_turned_and_wide_letters_begin_with_the_first():
    assert scene.word(3, 4, "axis_said", style="axis").get("transform") is None
    assert scene.word(3, 4, "axis_said", style="axis", turn=True).get("transform") == "rotate(-90 3.0 4.0)"
    assert scene.label_width("\u2e5d") == 6.5
    assert scene.label_width("\u2e80") == 11.5


def test_both_axes_of_shares_are_told_in_percent_and_a_free_one_in_numbers():
    found = SimpleNamespace(said=np.array([0.1, 0.9]), came=np.array([0.2, 0.7]), share=np.array([0.25, 0.75]))
    percents = [f"{20 * k}%" for k in range(6)]
    seen = Seen(charts.reliability_chart(found))
    assert [t.said for t in seen.texts("tick")] == percents * 2
    assert [t.said for t in seen.texts("axis")] == [WORDS["axis_said"][0], WORDS["axis_came"][0]]
    assert [r for *_, r in seen.numbers("circle", "dot", "cx cy r")] == pytest.approx(
        [2.5 + 8 * math.sqrt(s) for s in found.share], abs=0.06
    )
    plane = charts.plane()
    assert [t.y for t in seen.texts("tick")[6:]] == pytest.approx([plane.at_y(k / 5) + 4 for k in range(6)], abs=0.06)
    free = Seen(charts.free_chart([([0.0, 1.0], [0.0, 50.0], "s0")], "axis_said", "axis_came", "chart_cost"))
    assert [t.said for t in free.texts("tick")] == [*percents, "0", "20", "40"]
    assert len(free.paths("s0")[0]) == 2  # no steps unless they are asked for


@pytest.mark.parametrize("ends", [(0.0, 30.0), (0.0, 1e6), (-3e6, 5e6), (2.0, 2.4), (100.5, 9e5)])
def test_marks_under_a_spread_stand_where_there_is_room(ends):
    """In the middle of their place, or inside at the ends; one that would touch the last is left out."""
    low, high = ends
    seen = Seen(charts.spread_chart(facts(table=np.ones((2, 1)), grid=np.array([low, (low + high) / 2, high])), [0]))
    wanted, end = [], -math.inf
    for v, told in charts.number_marks(low, high, 4, False):
        x, width = 6 + 238 * (v - low) / (high - low), scene.label_width(told)
        edge = max(width / 2, 20)
        left = x if x < edge else x - width if x > 250 - edge else x - width / 2
        if left > end:
            wanted.append((told, x, left))
            end = left + width + 4
    found = [(t.said, t.x, t.left) for t in seen.texts("tick")]
    assert [f[0] for f in found] == [w[0] for w in wanted]
    assert [f[1:] for f in found] == [pytest.approx(w[1:], abs=0.06) for w in wanted]


def test_shares_of_values_lie_between_their_names_and_the_edge():
    for most, top in ((0.2, 0.25), (0.9, 1.0)):
        table = np.array([[most, 0.0], [0.0, most / 2]])
        seen = Seen(charts.spread_chart(facts(table=table, labels=("value", None)), [0, 1]))
        split = 18 + max(scene.label_width("value"), 34.0)
        zero, half, whole = (p[0][0] for p in seen.paths("grid"))
        assert (zero, half, whole) == pytest.approx((split, (split + 240) / 2, 240.0), abs=0.06)
        dots = [x for x, *_ in seen.numbers("circle", "dot", "cx cy r")]
        assert dots == pytest.approx([split + (240 - split) * s / top for s in table.ravel()], abs=0.06)
        (named,), (rare,) = seen.texts("value"), seen.texts("faint")
        assert (named.x, rare.x) == pytest.approx((split - 8, split - 8), abs=0.06)
        first, middle, last = seen.texts("tick")
        assert (first.x, middle.x, last.right) == pytest.approx((zero, half, 248.0), abs=0.06)


def test_names_of_bars_stand_beside_them():
    prior = WORDS["prior"][0]
    seen = Seen(charts.bars_chart([(prior, 0.0), ("a", 0.0), ("b", 0.0)], "chart_case"))
    middles = [y + height / 2 for _, y, _, height in seen.numbers("rect")]
    (aside,), names = seen.texts("faint"), seen.texts("value")
    assert [t.y for t in (aside, *names)] == pytest.approx([m + 4 for m in middles])
    assert [t.x for t in (aside, *names)] == [138.0] * 3
    (zero, _), _ = seen.paths("rule")[0]
    assert [t.left for t in seen.texts("tick")] == pytest.approx([zero + 4] * 3)  # nothing at all: to the right
    left = Seen(charts.bars_chart([("a", -1.0), ("b", 0.0)], "chart_case"))
    (zero, _), _ = left.paths("rule")[0]
    assert left.texts("tick")[1].right == pytest.approx(zero - 4, abs=0.06)  # where the room is
