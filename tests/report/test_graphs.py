"""A star: every column hangs from the class, as thick as it tells; nothing outside, no box on another."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.report.graphs import star_svg

from .drawn import Seen


@given(st.lists(st.floats(0, 3), max_size=11))
def test_columns_hang_from_the_class(values):
    columns = [(f"column {i}", v) for i, v in enumerate(values)]
    seen = Seen(star_svg("the class", columns))
    seen.everything_is_inside()
    boxes = seen.numbers("rect")
    target, rest = boxes[-1], boxes[:-1]
    middle = target[0] + target[2] / 2
    assert middle == seen.wide / 2
    ties = seen.paths("tie")
    assert len(ties) == len(rest) == len(columns)
    top = max(values, default=1.0) or 1.0
    for value, tie, box, e in zip(values, ties, rest, seen.all("path", "tie")):
        assert tie[0] == (middle, 34.0)
        assert target[1] < 34 <= target[1] + target[3]
        assert tie[-1] == pytest.approx((box[0] + box[2] / 2, box[1]), abs=0.11)
        assert float(e.get("stroke-width")) == pytest.approx(0.8 + 4.2 * value / top, abs=0.01)
        assert e[0].text == f"{e[0].text.split(':')[0]}: {value:.3f}"
    for a, b in itertools.combinations(boxes, 2):
        assert a[0] + a[2] <= b[0] + 0.1 or b[0] + b[2] <= a[0] + 0.1 or a[1] + a[3] <= b[1] or b[1] + b[3] <= a[1]
    rows = sorted({box[1] for box in rest})
    for y in rows:  # each row is centred
        mine = [box[0] + box[2] / 2 for box in rest if box[1] == y]
        assert sum(mine) / len(mine) == pytest.approx(middle, abs=0.1)
        assert len(mine) <= 3
    assert [t.said for t in seen.texts("value")] == [name for name, _ in columns]
    assert seen.texts("name")[0].said == "the class"
    for text, box in zip(seen.texts("value"), rest):
        assert text.x == pytest.approx(box[0] + box[2] / 2, abs=0.1)
        assert box[1] < text.y < box[1] + box[3]
    if rest:
        assert seen.tall == pytest.approx(max(y + height for _, y, _, height in rest) + 9 + 4, abs=10)
