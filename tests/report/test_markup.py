"""Text on its way into a page: any of it comes out as one bounded line of plain text, numbers as people say them."""

from __future__ import annotations

import html
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.explain.whatif import cut
from posteriori.report import markup


@given(st.text())
def test_what_is_escaped_comes_out_again(text):
    found = markup.name(text)
    assert html.unescape(re.sub("<[^>]*>", "", found)) == cut(text)
    assert not re.search(
        r"[<>\"]", markup.render("parts", "legend", [text]).partition("<bdi>")[2].partition("</bdi>")[0]
    )


def test_a_long_name_is_told_by_its_tip():
    assert markup.name("a" * 80) == f"<bdi>{'a' * 80}</bdi>"
    assert f'title="{"a" * 81}"' in markup.name("a" * 81)
    assert markup.name(None) == "<bdi></bdi>"


@given(st.text(alphabet="ab{}01"), st.text(alphabet="{0}x"))
def test_gaps_are_filled_once(sentence, part):
    sentence = re.sub(r"\{\d\d+\}", "", sentence)
    pieces = re.split(r"(\{[01]\})", sentence)
    assert markup.fill(sentence, [part, part]) == "".join(part if i % 2 else p for i, p in enumerate(pieces))
    assert markup.fill("a {0} b {1} c {x} {", ["P", "Q"]) == "a P b Q c {x} {"


@given(st.floats(0, 1), st.integers(0, 2))
def test_a_share_is_said_to_its_last_digit(share, digits):
    told = markup.percent(share, digits)
    value, half = float(told.strip("<>%")) / 100, 0.5 * 10.0 ** -(digits + 2)
    if told[0] == "<":
        assert 0 < share < half
        assert value == pytest.approx(2 * half)
    elif told[0] == ">":
        assert 1 - half < share < 1
        assert value == pytest.approx(1 - 2 * half)
    else:
        assert abs(value - share) <= half * (1 + 1e-9)
    assert (told == "0%") == (share == 0)
    assert (told == "100%") == (share == 1)


@given(st.floats(-1e300, 1e300))
def test_a_figure_keeps_three_digits(value):
    told = markup.figure(value)
    got = float(told.replace(",", ""))
    assert abs(got - value) <= max(0.005 * abs(value), 0.0005 if abs(value) >= 0.0005 else 0.0)
    assert ("e" in told) == (value != 0 and not 0.0005 <= abs(value) < 1e7)


def test_figures_at_their_borders():
    told = [markup.figure(v) for v in (0.0005, 99.9999, 100.0, 999.94, 1000.0, 1e7, math.inf, 9_999_999.0)]
    assert told == ["0.001", "100.000", "100.0", "999.9", "1,000", "1.00e+07", "–", "9,999,999"]
    assert [markup.figure(0.123456, d) for d in (1, 5)] == ["0.1", "0.12346"]


def test_sentences_carry_what_the_other_language_needs():
    assert markup.say("rows", "<b>", tag="p", class_="x") == (
        '<p data-w="rows" data-a="[&#34;&lt;b&gt;&#34;]" class="x">&lt;b&gt; rows</p>'
    )
    assert "data-a" not in markup.say("truth")
