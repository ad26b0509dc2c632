"""Text for a person: one line, as long as may be, nothing that steers a page."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.explain.words import cut, shown


@given(st.text(max_size=60), st.integers(1, 30))
def test_a_text_is_one_line_of_at_most_so_many_characters(text, most):
    found = cut(text, most)
    assert len(found) <= most
    assert found.isprintable() or all(c.isprintable() or c not in "\n\r\t\x1b\x85\u2028\u2029" for c in found)
    if text.isprintable() and text.isascii():
        assert found == (text if len(text) <= most else text[: most - 1] + "…")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\nb", "a\\nb"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\u2028b\u2029c\x85", "a\\u2028b\\u2029c\\x85"),
        ("\ud800", "\\ud800"),
        ("naïve 日本", "naïve 日本"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
        ("x" * 10**6, "x" * 79 + "…"),
        (None, "–"),
        (float("nan"), "–"),
        (np.float64(0.1) + 0.2, "0.3"),
        (3.0, "3"),
        (1e-7, "1e-07"),
        (np.int64(7), "7"),
        (7, "7"),
        (True, "True"),
        (np.bool_(False), "False"),
    ],
)
def test_cells_as_a_person_reads_them(text, said):
    assert cut(text) == said
    if not isinstance(text, str):
        assert shown(text) == said
