"""Text by blocks: whatever their size, the whole is their concatenation, and every row knows its line."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import FormatError
from posteriori.table import text as module
from posteriori.table.text import (
    Block,
    CellError,
    Dialect,
    _first_lines,
    _named,
    _refuse_open_quote,
    _refuse_ragged,
    file_blocks,
    line_end,
    parse,
    refuse_uneven,
    row_lines,
)

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
    ["007", "+1", "2"],
    ["9007199254740993", "9007199254740992", "1.5"],
    ["12345678901234567890", "12345678901234567891", "3"],
    ["0x1", "1"],
    [" 1", "2 ", "x9"],
    ['5" x 3"', "6"],
    ["a, b;c|d\te", 'say "x"', "line\nbreak"],
)


def told(table: po.Table) -> tuple[object, ...]:
    """All that a table says of itself, whole numbers apart from others where they are values."""
    cells = [[None if pd.isna(v) else v for v in table.X.iloc[:, j]] for j in range(table.X.shape[1])]
    return repr(table.schema.columns), list(table.X.columns), table.notes, cells


@pytest.mark.filterwarnings("ignore:column")
@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(POOLS), min_size=1, max_size=4),
    st.sampled_from([1, 3, 40]),
    st.sampled_from(",;|\t"),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(0, 2**32 - 1),
)
def test_the_size_of_blocks_changes_nothing_and_rows_know_their_lines(pools, rows, mark, end, seed):
    rng, out = np.random.default_rng(seed), io.StringIO(newline="")
    lines, write = [], csv.writer(out, delimiter=mark, lineterminator=end)
    write.writerow([f"c{j}" for j in range(len(pools))])
    for _ in range(rows):
        lines.append(out.getvalue().count("\n") + 1)
        write.writerow([str(rng.choice(p)) for p in pools])
    with pytest.MonkeyPatch.context() as patch:
        found = []
        for size in (1 << 20, 64):
            patch.setattr(module, "BLOCK", size)
            patch.setattr(module, "SOME", size)
            found.append(po.read(io.StringIO(out.getvalue(), newline="")))
    assert told(found[0]) == told(found[1])
    if list(found[0].X) == [f"c{j}" for j in range(len(pools))]:
        assert [table.lines.begin.tolist() for table in found] == [lines, lines]


@pytest.mark.filterwarnings("ignore:the open file")
def test_what_is_infinite_is_kept_as_it_is_written():
    table = po.read(io.StringIO("x,y,z\n1,,2\n1e400,a,\n-inf,b,1e999\n"), target="y")
    assert (table.lines.begin.tolist(), table.lines.infinite) == ([3, 4], {"x": "1e400", "z": "1e999"})


def test_lines_of_rows():
    dialect = Dialect("t.csv", ("x", "y"))
    for content, rows, lines in [
        (b"1,2\n3,4\n", 2, [7, 8]),
        (b"1,2\n3,4", 2, [7, 8]),
        (b'1,"a\nb"\n\n\r\n3,4\n', 2, [7, 11]),
        (b'1,a"\n3,4\n\n', 2, None),  # marks that are letters
    ]:
        found = row_lines(Block(7, content, content.count(b"\n") + (not content.endswith(b"\n"))), rows, dialect)
        assert found is None if lines is None else found.tolist() == lines
    one = row_lines(Block(7, b'"a\nb"\n\nc\n', 4), 3, Dialect("t.csv", ("x",)))
    assert one.tolist() == [7, 9, 10]


def test_blanks_before_a_quote_are_no_part_of_the_cell():
    dialect = Dialect("t.csv", ("x", "y"))
    content = b'a, "b, ""c"""\n "d","e, "\n'
    found = parse(Block(1, content, 2), dialect, {"x": module.WORD, "y": module.WORD})
    assert found.to_pydict() == {"x": ["a", "d"], "y": ['b, "c"', "e, "]}


def test_what_arrow_says_is_named_by_its_line():
    dialect, block = Dialect("t.csv", ("x", "y")), Block(7, b'1,"a\nb"\n\n3,4\n5,6\n', 5)
    assert str(_named(block, dialect, "Row #3: odd\nmore")) == "t.csv, line 11: Row #3: odd"
    assert str(_named(block, dialect, "o" * 300)) == f"t.csv, after line 7: {'o' * 200}"
    found = _named(block, dialect, "In CSV column #1: Row #2: invalid value 'z'")
    assert isinstance(found, CellError)
    assert (found.line, found.column, found.value) == ("t.csv, line 10", "y", "z")


@pytest.mark.parametrize(
    ("piece", "quote", "end"),
    [
        (b"", b'"', 0),
        (b"a", b'"', 0),
        (b"a\n", b'"', 2),
        (b"a\nbc", b'"', 2),
        (b'a\n"b\nc', b'"', 2),  # the second line goes on
        (b'a\n"b\nc"\nd', b'"', 8),
        (b'"b\nc', b'"', 0),
        (b'a\n\n"b\n', b'"', 3),
        (b'\n"b\nc\nd\n', b'"', 1),
        (b'a\n"b\nc', b"", 5),  # where nothing is quoted every line ends
    ],
)
def test_a_piece_ends_with_a_line_outside_of_quotation_marks(piece, quote, end):
    assert line_end(piece, quote) == end


@pytest.mark.parametrize("quote", ['"', ""])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 100])
def test_blocks_are_the_whole_text_and_know_their_lines(tmp_path, monkeypatch, quote, size):
    monkeypatch.setattr(module, "BLOCK", size)
    dialect = Dialect("t.csv", ("x", "y"), quote=quote, skip=2)
    path, head, text = tmp_path / "t.csv", b"a title\nx,y\n", b'1,2\n"3\n4",5\n\n6,"7"\n8,"""9\n"\n10,11'
    path.write_bytes(head + text)
    blocks = list(file_blocks(path, dialect))
    assert b"".join(block.text for block in blocks) == text
    before = 2
    for block in blocks:
        assert block.line == before + 1
        assert not quote or block.text.count(b'"') % 2 == 0
        before += block.text.count(b"\n")
        assert block.lines == block.text.count(b"\n") + (block is blocks[-1])
    assert all(block.text.endswith(b"\n") for block in blocks[:-1])
    if size == 1 and quote:
        assert [block.text for block in blocks] == [
            b"1,2\n",
            b'"3\n4",5\n',
            b"\n",
            b'6,"7"\n',
            b'8,"""9\n"\n',
            b"10,11",
        ]
    path.write_bytes(head + b"1,2\n  ")
    assert [b.text for b in file_blocks(path, dialect)] == [b"1,2\n"]  # blanks at the end are no row


@pytest.mark.parametrize("rest", [b"7,8\n" * 50_000, b'"7",8\n' * 30_000, b""])
def test_a_quote_that_never_ends_is_named_and_found_in_one_look(tmp_path, monkeypatch, rest):
    monkeypatch.setattr(module, "BLOCK", 10_000)
    monkeypatch.setattr(module, "LONGEST", 10_000)
    path = tmp_path / "t.csv"
    path.write_bytes(b'x,y\n1,"2"\n' * 5_000 + b'5,"six,7\n' + rest)
    with pytest.raises(FormatError, match=r"t\.csv, line 10001: the quote that begins '\"six,7' never ends"):
        list(file_blocks(path, Dialect("t.csv", ("x", "y"), skip=0)))
    piece = b'"' + b"1,2\n" * 500_000  # hours, where each line is counted from the beginning
    assert line_end(piece, b'"') == 0


@pytest.mark.parametrize(
    ("line", "open_cell"),
    [
        ('1,"u v",2', None),
        ('1,"",2', None),
        ("1,u,2", None),
        ('1,u"v,2', None),  # a quote inside a cell opens nothing
        ('1,"u,2', '"u'),
        ('1,",2', '"'),
        ('"u,1,2', '"u'),
    ],
)
def test_a_quote_that_never_ends_is_named_by_its_line(tmp_path, line, open_cell):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b,c\n0,x,1\n{line}\n")
    if open_cell is None:
        _refuse_open_quote(path.read_text().splitlines(), "t.csv", ",")
    else:
        with pytest.raises(FormatError, match=f"t.csv, line 3: the quote that begins '{open_cell}' never ends"):
            _refuse_open_quote(path.read_text().splitlines(), "t.csv", ",")


@pytest.mark.parametrize(
    ("text", "skip", "mark", "quote", "skipped", "line"),
    [
        ("a,b\n1,2\n", 0, ",", '"', [], ["a", "b"]),
        ('title\nby us\n"a;1";b\n', 2, ";", '"', [["title"], ["by us"]], ["a;1", "b"]),
        ("'a,1',b\n", 0, ",", "'", [], ["a,1", "b"]),
        ('"a,b\n', 0, ",", "", [], ['"a', "b"]),
        ("", 0, ",", '"', [], []),
    ],
)
def test_the_first_lines(text, skip, mark, quote, skipped, line):
    assert _first_lines(text, skip, mark, quote) == (skipped, line)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n\n3,4\n", ""),
        ("a\n1\n2,3\n", ""),  # one column: no line is too long
        ("a;b\n1;2\n3\n", "t, line 3: 1 cells where the header has 2: there is none for 'b'; the last is '3'"),
        ("a,b\n1,2,x\n", "t, line 2: 3 cells where the header has 2: after 'b' comes 'x'"),
        ('a,b\n"1\n2",2\n3\n', "t, line 4: 1 cells"),
    ],
)
def test_a_line_of_another_length_is_named(text, said):
    if said:
        with pytest.raises(FormatError, match=re.escape(said)):
            refuse_uneven(io.StringIO(text), "t")
    else:
        refuse_uneven(io.StringIO(text), "t")


@pytest.mark.parametrize(
    ("text", "names", "line"),
    [
        ("a,b\n1,2\n3\n", ["a,b"], 3),
        ("\ufeffa|b\n1|2\n3|4|5\n", ["column0"], 3),
        ("a,b\n1,2\n3\n", ["other"], None),
        ("a,b\n1,2\n\n", ["a,b"], None),
    ],
)
def test_rows_that_make_the_engine_see_one_column(text, names, line):
    if line is None:
        _refuse_ragged(io.StringIO(text), "t", *names)
    else:
        with pytest.raises(FormatError, match=rf"t, line {line}: \d cells where the header has 2"):
            _refuse_ragged(io.StringIO(text), "t", *names)
