"""Which files are plain enough to be read without a query engine."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from posteriori.table.files import DOUBTFUL, _is_plain

words = st.sampled_from(
    [
        "0.5",
        "-0.5",
        "007",
        "-07",
        "0x1",
        "0",
        "-0",
        "+1",
        "nan",
        "-NaN",
        "no",
        "inf",
        "in",
        "-Inf",
        "true",
        "trunk",
        "fall",
    ]
    + [
        "False",
        "1_0",
        "a_b",
        "a1_b",
        "",
        "a b",
        " a",
        "a ",
        "é",
        '"a"',
        "it's",
        "-",
        "n",
        "na",
        "i",
        "12",
        "-inf",
        "0n",
    ]
)


def line_by_line(text: str, mark: str, width: int) -> bool:
    """What plain means: as many marks in every line, no quotes, no spaces at ends, nothing that might be a number."""
    return not any(
        '"' in line
        or "'" in line
        or line.count(mark) != width - 1
        or line.endswith(" ")
        or f" {mark}" in line
        or DOUBTFUL[mark].search(mark + line)
        for line in text.removesuffix("\n").replace("\r\n", "\n").split("\n")
    )


@given(
    st.lists(st.lists(words, min_size=3, max_size=3), min_size=1, max_size=4),
    st.sampled_from(",;|\t"),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from([3, 4]),
)
@example([["1", "2", "nan"]], ",", "\n", False, 3)
@example([["1", "2", "0"]], ",", "\n", False, 3)
def test_plain_is_what_it_is_line_by_line(rows, mark, end, last, width):
    text = end.join(mark.join(row) for row in rows) + (end if last else "")
    assert _is_plain(text.encode(), mark, width) == line_by_line(text, mark, width)
