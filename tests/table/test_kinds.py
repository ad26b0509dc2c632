"""Which kind a column has, at the borders of the rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.table.kinds import WORDY, _different, _is_text, infer


@pytest.mark.parametrize(("words", "text"), [(WORDY - 1, False), (WORDY, True), (WORDY + 1, True)])
def test_strings_of_so_many_words_are_text(words, text):
    cells = [" ".join([f"w{i}"] * int(words)) for i in range(10)]
    assert _is_text(cells, 10) is text
    assert _is_text(cells, 20) is False  # each twice: categories
    assert _is_text(cells, 19) is text


@given(st.integers(0, 500), st.sampled_from([np.int8, np.uint8, np.int64, np.uint64]), st.integers(1, 20))
def test_different_whole_numbers_are_counted(seed, kind, n):
    rng = np.random.default_rng(seed)
    near = rng.integers(0, rng.integers(1, 6 * n, 4)[:, None], (4, n)).clip(0, 120)
    limits = np.iinfo(kind)
    far = rng.choice(np.array([limits.min, limits.min + 1, 0, limits.max], dtype=kind), (2, n))
    x = np.concatenate([near.astype(kind), far])
    assert _different(x).tolist() == [len(set(row.tolist())) for row in x]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (np.arange(60) // 2, "numeric"),
        (np.arange(60) % 3, "categorical"),
        (np.arange(60) // 2 / 1.0, "numeric"),
        (np.where(np.arange(60) % 2, 0.5, 1.5), "numeric"),  # two values, but not whole
        (np.where(np.arange(60) % 2, np.nan, np.arange(60) % 3), "categorical"),
    ],
)
def test_kinds_of_numbers(cells, kind):
    assert infer({"a": cells, "b": cells[::-1]}).kinds == (kind, kind)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]), st.integers(1, 60))
def test_different_whole_numbers_are_told_apart_wherever_they_lie(seed, dtype, n):
    """At the ends of a type, where differences wrap, and beyond 2⁵³, where floats would round them."""
    rng = np.random.default_rng(seed)
    ends = np.iinfo(dtype)
    starts = [ends.min, 0, max(ends.max - 7 * n, ends.min), min(2**62, ends.max // 2)]
    x = np.array([[min(s + int(k), ends.max) for k in rng.integers(0, 7 * n, n)] for s in starts], dtype=dtype)
    x[:, 0] = x[::-1, -1]  # now and then from one end to the other
    assert _different(x).tolist() == [len(np.unique(row)) for row in x]
