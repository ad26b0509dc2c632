"""Tables for terminals of any width."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.cli import render
from posteriori.cli.render import Out, board_table, duration, line, pairs
from posteriori.leaderboard.board import HEADS, Leaderboard, Row


def out(width):
    return Out(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)


def said(console):
    return console.file.getvalue().splitlines()


@given(st.floats(0, 1e6))
def test_a_duration_is_read_back(seconds):
    words = duration(seconds).split()
    units = {"s": 1, "min": 60, "h": 3600}
    total = sum(int(n) * units[u] for n, u in zip(words[::2], words[1::2]))
    assert abs(total - max(1, round(seconds))) < (60 if "h" in words else 1)


def test_a_name_is_not_written_letter_by_letter_however_narrow():
    console = out(20)
    pairs(console, [("temperature", "numeric", "a, b, c and many more values")], ("column", "kind", "values"))
    first = [row[:8].strip() for row in said(console)[1:]]
    assert first[0] == "temperat"
    wide = out(120)
    pairs(wide, [("x\ny", "n", "v")], ("column", "kind", "values"))
    assert said(wide)[1].split() == ["x\\ny", "n", "v"]


def test_a_command_to_copy_is_never_broken_and_text_is():
    console = out(20)
    line(console, "posteriori predict some_long_name.posteriori", whole=True)
    assert said(console) == ["posteriori predict some_long_name.posteriori"]
    console = out(20)
    line(console, "one two three four five six")
    assert len(said(console)) > 1
    assert max(map(len, said(console))) <= 20


def board():
    scores = dict.fromkeys(HEADS, (0.125, 0.375))
    rows = (
        Row("naive", "", None, folds=scores, notes=("be careful",)),
        Row("bad", "", None, "failed", "it broke"),
    )
    return Leaderboard(rows, "log_loss", 2, 10, (), ("a word",))


@pytest.mark.parametrize(("width", "columns"), [(200, 7), (60, 5), (32, 3)])
def test_a_board_shows_what_there_is_room_for(width, columns):
    console = out(width)
    board_table(console, board())
    lines = said(console)
    assert all(len(row) <= width for row in lines)
    assert sum(head in lines[0] for head in HEADS.values()) >= min(columns, 3)
    assert any("it broke" in row for row in lines)
    assert any("a word" in row for row in lines)
    assert ("±" in lines[1]) == (width > 50)


@pytest.mark.parametrize("width", [200, 60, 32])
def test_a_wider_terminal_is_advised_only_where_it_would_show_more(width):
    console = out(width)
    board_table(console, board())
    text = " ".join(said(console))
    assert ("a wider terminal" in text) == (text.count("±") < len(HEADS))


def test_a_reader_that_has_enough_is_no_error_of_the_console():
    with pytest.raises(BrokenPipeError):
        out(10).on_broken_pipe()


def test_bars_are_silent_where_nobody_looks(capsys):
    with render.progress_bar(True) as told:
        told(None)
    with render.busy("x", True):
        pass
    with render.byte_bar(True) as told:
        told(1, 2)
    assert capsys.readouterr() == ("", "")
