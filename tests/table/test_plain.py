"""Which files are plain enough to be read without a query engine."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.table import plain
from posteriori.table.plain import DOUBTFUL, empty_cells

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
        "123456789012345",
        "1234567890123456",
        "-1234567890123456",
        "123456789012345.6",
        "0.12345678901234567",
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
        or any(re.match(r"-?\d{16}", cell) for cell in line.split(mark))
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
@example([["1", "2", "-"]], ",", "\n", True, 3)
@example([["1", "2", "-n"]], ",", "\n", True, 3)
@example([["1", "2", "i"]], ",", "\n", True, 3)
@example([["1", "2", ""]], ",", "\n", True, 3)
def test_plain_is_what_it_is_line_by_line(rows, mark, end, last, width):
    text = end.join(mark.join(row) for row in rows) + (end if last else "")
    empty = empty_cells(text.encode(), mark, width)
    assert (empty is not None) == line_by_line(text, mark, width)
    if empty is not None:
        lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
        assert empty == any(not cell for line in lines for cell in line.split(mark))


whole = st.sampled_from(
    ["", "1", "0.5", "12345678901234567", "12345678901234569", *map(str, (2**63 - 1, 2**63, 2**64))]
)


@pytest.mark.filterwarnings("ignore:column")
@given(st.lists(whole, min_size=1, max_size=4), st.sampled_from(["b", '"b"', '"b', "'b'"]))
def test_long_whole_numbers_and_quoted_names_are_read_alike_in_wide_files(cells, name):
    text = f"c,{name},{','.join(f'd{j}' for j in range(8))}\n" + "".join(f"{c},x{',1' * 8}\n" for c in cells)
    with pytest.MonkeyPatch.context() as patch:
        found = []
        for width in (8, 10**6):
            patch.setattr(plain, "WIDE", width)
            try:
                table = po.read(io.StringIO(text))
                found.append((list(table.X.columns), table.X["c"].dropna().tolist(), table.schema.columns))
            except po.errors.FormatError:
                found.append(None)
    assert found[0] == found[1]


class Head(io.BytesIO):
    """A file that may be read by lines alone."""

    def read(self, *_):
        raise AssertionError("the whole file is read")


def test_of_a_file_that_is_not_wide_the_first_line_is_looked_at_alone(tmp_path, monkeypatch):
    file = tmp_path / "tall.csv"
    file.write_bytes(b"a,b\n1,2\n")
    monkeypatch.setattr(plain, "open", lambda *_: Head(file.read_bytes()), raising=False)
    assert plain.plain_frame(file, "csv", ".", None) is None


@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_long_whole_numbers_keep_their_digits_in_wide_parquet_files(tmp_path, kind):
    file, cells = tmp_path / "wide.parquet", [2**53 + 1, None, 2**53 + 3]
    pq.write_table(pa.table({"c": pa.array(cells, kind), **{f"d{j}": [1, 2, 3] for j in range(70)}}), file)
    assert po.read(file).X["c"].dropna().tolist() == cells[::2]


POOLS = (
    ["1", "2", "3"],
    ["", "1", "2"],
    ["", "1", "2.0"],
    ["1.5", "-2.25", "0", ".5", "5."],
    ["red", "green", ""],
    ["2026-01-02", "2025-11-30"],
    ["?", "1", "2.5"],
    ["1e5", "1E-3", "2", "1e400"],
    ["yes", "no", "T"],
    ["007", "8"],
    ["a b", "12:30", "1a", "#x"],
    ["9007199254740993", "1", ""],
)


def told(table: po.Table) -> tuple[object, ...]:
    """All that a table says of itself, whole numbers apart from others where they are values."""
    cells = [[None if pd.isna(v) else v for v in table.X.iloc[:, j]] for j in range(table.X.shape[1])]
    return repr(table.schema.columns), list(table.X.columns), table.notes, cells


@pytest.mark.filterwarnings("ignore:column")
@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(POOLS), min_size=2, max_size=4),
    st.sampled_from([1, 3, 40]),
    st.sampled_from(",;|\t"),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(0, 2**32 - 1),
)
def test_tall_files_are_read_as_the_engine_reads_them(pools, rows, mark, end, seed):
    rng = np.random.default_rng(seed)
    lines = [[f"c{j}" for j in range(len(pools))], *([str(rng.choice(p)) for p in pools] for _ in range(rows))]
    text = end.join(map(mark.join, lines)) + end
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain, "PIECE", 64)
        found = []
        for large in (0, 1 << 60):
            patch.setattr(plain, "LARGE", large)
            found.append(told(po.read(io.StringIO(text))))
    assert found[0] == found[1]


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_tall_file_goes_past_the_engine(tmp_path, monkeypatch, ending):
    frame = pd.DataFrame({"a": np.arange(20_000) % 7, "b": "word"})
    file = tmp_path / f"tall.{ending}"
    frame.to_csv(file, index=False)
    monkeypatch.setattr(plain, "LARGE", 1 << 6)
    monkeypatch.setattr("duckdb.connect", lambda *_: pytest.fail("the engine is asked"))
    assert po.read(file).X["a"].tolist() == frame["a"].tolist()


@pytest.mark.parametrize("kind", ["int64", "uint8"])
def test_whole_numbers_with_gaps_stay_whole_in_wide_parquet_files(tmp_path, kind):
    file = tmp_path / "wide.parquet"
    pq.write_table(pa.table({"c": pa.array([1, None, 2] * 20, kind), **{f"d{j}": [1] * 60 for j in range(70)}}), file)
    assert repr(po.read(file).schema["c"].values) == "(1, 2)"
