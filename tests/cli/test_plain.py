"""Text from data: one line, no controls, no longer than told."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from posteriori.cli.plain import CONTROLS, cut, plain


@given(st.text())
def test_nothing_that_steers_a_terminal_is_left_and_all_else_stays(text):
    said = plain(text)
    assert not CONTROLS.search(said)
    assert not any(unicodedata.category(c) == "Cc" for c in said)
    assert "\n" not in said
    if not CONTROLS.search(text):
        assert said == text
    assert plain(said) == said


@given(st.text(), st.integers(1, 30))
def test_cut_is_plain_and_no_longer(text, most):
    said = cut(text, most)
    assert len(said) <= most
    assert said == plain(text) or (said.endswith("…") and plain(text).startswith(said[:-1]))


def test_controls_are_written_out():
    assert plain("a\tb\r\n") == "a\\tb\\r\\n"
    assert plain("\x9b\u202e") == "\\x9b\\u202e"
    assert plain(3) == "3"
