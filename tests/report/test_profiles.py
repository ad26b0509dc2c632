"""The profile of latent classes as a drawing: a bar is as long as what it stands for, in the column of its class."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from posteriori.report.profiles import GAP, MOST, WIDE, _rows, _svg, profile_drawing
from posteriori.report.svg import LINE, MARGIN, text_width

from .drawn import Seen


def test_a_mean_far_below_its_spread_is_none():
    table = pd.DataFrame([[3e-102, 0.2], [0.05, 0.1]], index=["mean", "sd"])
    ((label, cells),) = _rows(table)
    assert label == "mean ± sd"
    assert [text for *_, text in cells] == ["0 ± 0.05", "0.2 ± 0.1"]
    assert all(0 <= a < b <= 1 for a, b, _ in cells)


def test_means_and_spreads_lie_on_the_scale_of_their_column():
    table = pd.DataFrame([[1.0, 5.0, -2.0], [2.0, 1.0, 0.5]], index=["mean", "sd"])
    ((_, cells),) = _rows(table)  # from −2.5 to 6
    assert [c[:2] for c in cells] == [
        pytest.approx(v) for v in ((1.5 / 8.5, 5.5 / 8.5), (6.5 / 8.5, 1.0), (0.0, 1 / 8.5))
    ]
    assert [c[2] for c in cells] == ["1 ± 2", "5 ± 1", "-2 ± 0.5"]
    ((_, same),) = _rows(pd.DataFrame([[3.0, 3.0], [0.0, 0.0]], index=["mean", "sd"]))
    assert same == [(0.0, 0.0, "3 ± 0")] * 2  # no width is no division
    ((_, border),) = _rows(pd.DataFrame([[0.001, -0.00099], [1.0, 1.0]], index=["mean", "sd"]))
    assert [c[2] for c in border] == ["0.001 ± 1", "0 ± 1"]


def test_rates_are_shares_of_the_highest():
    ((label, cells),) = _rows(pd.DataFrame([[1.0, 4.0, 0.5]], index=["rate"]))
    assert (label, cells) == ("rate", [(0.0, 0.25, "1"), (0.0, 1.0, "4"), (0.0, 0.125, "0.5")])
    ((_, none),) = _rows(pd.DataFrame([[0.0, 0.0]], index=["rate"]))
    assert none == [(0.0, 0.0, "0")] * 2


@pytest.mark.parametrize("n", [MOST, MOST + 3])
def test_of_many_values_the_likeliest_are_drawn_in_their_order(n):
    rng = np.random.default_rng(0)
    values = rng.dirichlet(np.ones(n), 2).T
    found = _rows(pd.DataFrame(values, index=[f"v{i}" for i in range(n)]))
    likely = sorted(sorted(range(n), key=lambda i: -values[i].max())[:MOST])
    assert [label for label, _ in found[:MOST]] == [f"v{i}" for i in likely]
    for i, (_, cells) in zip(likely, found):
        assert cells == [(0.0, p, f"{p:.1%}") for p in values[i]]
    assert found[MOST:] == ([] if n == MOST else [("… 3 more", [])])


ROWS = [
    ("class", "share", [(0.0, 0.25, "25.0%"), (0.0, 0.75, "75.0%")]),
    ("a <b>", "yes", [(0.0, 0.5, "50.0%"), (0.0, 0.001, "0.1%")]),
    ("a <b>", "… 3 more", []),
    ("size", "mean ± sd", [(0.25, 0.75, "3 ± 1"), (0.5, 1.0, "4 ± 1")]),
]


def test_a_bar_is_drawn_from_where_it_begins_to_where_it_ends():
    seen = Seen(_svg(ROWS, ["one", "two"]))
    left = max(text_width(t) for t in ("class", "  share", "a <b>", "  … 3 more", "  mean ± sd")) + GAP
    columns = [left, left + WIDE + GAP]
    heads, y = {}, float(LINE)
    wanted, frames, tips, texts = [], [], [], [("one", columns[0], LINE / 2), ("two", columns[1], LINE / 2)]
    for name, label, cells in ROWS:
        if name not in heads:
            y += 0.4 * LINE
            heads[name] = y
            texts.append((name, 0.0, y + LINE / 2))
            y += LINE
        texts.append((label, GAP, y + LINE / 2))
        for x, c, (a, b, says) in zip(columns, ("one", "two"), cells):
            frames.append((x, y + 1, WIDE, LINE - 2))
            wanted.append((x + WIDE * a, y + 1, max(WIDE * (b - a), 0.6), LINE - 2))
            texts.append((says, x + 4, y + LINE / 2))
            tips.append(f"{name} {label}, class {c}: {says}")
        y += LINE
    bars = seen.numbers("rect", "bar")
    assert bars == [pytest.approx(w, abs=0.06) for w in wanted]
    assert [r for r in seen.numbers("rect") if r not in bars] == [pytest.approx(f, abs=0.06) for f in frames]
    assert [(t.said, t.x, t.y) for t in seen.texts()] == [
        (t, pytest.approx(x, abs=0.06), pytest.approx(h, abs=0.06)) for t, x, h in texts
    ]
    assert [t.text for t in seen.all("title")] == tips
    bold = [t.text for t in seen.all("text") if t.get("font-weight")]
    assert bold == ["one", "two", "class", "a <b>", "size"]
    assert (seen.x0, seen.y0) == (-MARGIN, -MARGIN)
    assert (seen.wide, seen.tall) == pytest.approx((left + 2 * (WIDE + GAP) + 2 * MARGIN, y + 2 * MARGIN), abs=0.06)
    assert (seen.root.get("width"), seen.root.get("height")) == (f"{seen.wide:.0f}", f"{seen.tall:.0f}")
    assert seen.root.get("aria-label") == "profile of 2 classes"
    seen.everything_is_inside()


def test_the_shares_of_the_classes_come_first():
    prior = pd.DataFrame({"P": [0.25, 0.75]}, index=["u", "v"])
    model = SimpleNamespace(tables_={"kind": prior, "n": pd.DataFrame([[1.0, 2.0]], index=["rate"])})
    root = ET.fromstring(str(profile_drawing(model)))
    told = [e.text for e in root.iter() if e.tag.endswith("text")]
    assert told == ["u", "v", "kind", "share", "25.0%", "75.0%", "n", "rate", "1", "2"]
    assert list(model.tables_) == ["kind", "n"]  # the model keeps its own
