"""Which kind a column has, at the borders of the rules."""

from __future__ import annotations

import pytest

from posteriori.table.kinds import WORDY, _is_text


@pytest.mark.parametrize(("words", "text"), [(WORDY - 1, False), (WORDY, True), (WORDY + 1, True)])
def test_strings_of_so_many_words_are_text(words, text):
    cells = [" ".join([f"w{i}"] * int(words)) for i in range(10)]
    assert _is_text(cells, 10) is text
    assert _is_text(cells, 20) is False  # each twice: categories
    assert _is_text(cells, 19) is text
