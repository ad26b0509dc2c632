"""Tables for terminals of any width."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.cli import render
from posteriori.cli.guard import interrupt
from posteriori.cli.render import Out, board_table, duration, line, pairs
from posteriori.leaderboard.board import HEADS, Leaderboard, Row
from posteriori.leaderboard.race import Progress


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


def styled(width=200):
    """A console that keeps colours."""
    return Out(file=io.StringIO(), width=width, force_terminal=True, color_system="standard", highlight=False, markup=False,
               emoji=False, legacy_windows=False, _environ={})  # fmt: skip


def race(**scores):
    """Three models: the first is best in all, the second is foreign, the third has no scores but one."""
    best = {name: (0.125, 0.375) for name in HEADS}
    other = {name: (0.5, 0.75) for name in HEADS}
    rows = (
        Row("naive", "", None, folds=best, notes=("n" * 250,)),
        Row("forest", "", None, folds=other, ours=False),
        Row("odd", "", None, folds={"log_loss": (0.25, 0.5)}),
        Row("bad", "", None, "failed", "it broke"),
        Row("slow", "", None, "skipped", "no time"),
    )
    return Leaderboard(rows, "log_loss", 2, 10, (), ("a word",))


def test_a_board_is_as_full_as_its_width_allows():
    layouts = {}
    for width in range(30, 150):
        console = out(width)
        board_table(console, race())
        head, *rows = said(console)[:4]
        layouts.setdefault((len(head.split()), rows[0].count("±")), []).append((width, max(map(len, (head, *rows)))))
    for (_, spreads), seen in list(layouts.items())[1:]:
        assert seen[0][0] == seen[0][1]  # it is shown from the width on that it has
        assert {wide for _, wide in seen} == {seen[0][1]}
        assert spreads in (1, 3, 5, 7)
    # cost is one of the three scores that stay longest; log loss and fit s are two words each
    assert list(layouts) == [(5, 0), (8, 1), (10, 1), (10, 3), (10, 5), (10, 7)]


def test_a_board_too_narrow_for_anything_stays_in_its_lines():
    console = out(14)
    board_table(console, race())
    assert [row[0] for row in said(console)[:4]] == ["m", "n", "f", "o"]


def test_the_best_of_each_score_is_marked_and_foreign_models_are_dim():
    console = styled()
    board_table(console, race())
    naive, forest, odd = said(console)[1:4]
    assert naive.count("\x1b[1;32m") == len(HEADS)
    assert "\x1b[1;32m" not in forest + odd
    assert [row.startswith("\x1b[2m") for row in (naive, forest, odd)] == [False, True, False]
    assert odd.count("–") == len(HEADS) - 1
    rest = said(console)[4:]
    assert next(row for row in rest if "bad failed: it broke" in row).startswith("\x1b[31m")
    assert next(row for row in rest if "slow skipped: no time" in row).startswith("\x1b[2m")
    assert f"naive: {'n' * 199}…" in "".join(rest).replace("\x1b[2m", "").replace("\x1b[0m", "")


def test_numbers_stand_at_the_right_and_names_at_the_left():
    console = out(60)
    pairs(console, [("a", "1", "x"), ("bbb", "22", "yy")], ("name", "rows", "why"), right=(1,))
    assert [row.rstrip() for row in said(console)] == ["name  rows  why", "a        1  x", "bbb     22  yy"]


@pytest.mark.parametrize("width", [30, 36, 40, 50, 100])
def test_a_long_name_has_a_third_of_the_line_at_least_and_the_kind_is_never_broken(width):
    console = out(width)
    pairs(console, [("n" * 26, "categorical", "v" * 200)], ("column", "kind", "values"))
    name, kind, values = said(console)[1].split("  ")
    assert (len(name), kind) == (min(26, width // 3), "categorical")
    assert len(name + kind + values) + 4 == width


def test_a_line_is_indented_and_styled_and_written_plainly():
    console = styled(20)
    line(console, "one\ntwo three four five", "bold", indent=3)
    assert [row.replace("\x1b[1m", "").replace("\x1b[0m", "").rstrip() for row in said(console)] == [
        "   one\\ntwo three",
        "   four five",
    ]
    assert "\x1b[1m" in console.file.getvalue()
    console = styled(20)
    line(console, "posteriori predict some_long_name", "bold", whole=True)
    line(console)
    line(console, "x")
    assert said(console) == ["\x1b[1mposteriori predict some_long_name\x1b[0m", "", "x"]


@pytest.mark.parametrize(("terminal", "columns", "wide"), [(False, None, 200), (False, "70", 70), (True, "70", 70)])
def test_an_output_that_is_no_terminal_is_wide(monkeypatch, terminal, columns, wide):
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdout", stream)
    console = render.console()
    assert (console.width, console.stderr) == (wide, False)
    console.print("[b]x[/b] :smile: 12")
    console.print("word " * 50)
    first, *rest = stream.getvalue().splitlines()
    assert first == "[b]x[/b] :smile: 12"  # neither marks nor colours nor pictures
    assert len(rest) > 1
    assert max(map(len, rest)) <= wide


def test_numbers_are_not_coloured_on_a_terminal(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = render.console(stderr=True)
    console.print("12 and 'x'")
    assert console.stderr
    assert stream.getvalue() == "12 and 'x'\n"


@pytest.fixture
def watched(monkeypatch):
    console = styled(100)
    monkeypatch.setattr(render, "console", lambda stderr=False: console if stderr else None)
    return console


@pytest.mark.parametrize(
    ("now", "shown"),
    [
        (Progress(3, 7, "na\nive", 2, 75.0), r"fold 3, na\\nive +.* 3/7 .*about 1 min 15 s left"),
        (Progress(4, 7, "tan", 0, None), r"fold 1, tan {8} .* 4/7 [0-9:]+ *$"),
    ],
)
def test_a_bar_follows_the_folds(watched, now, shown):
    with render.progress_bar(False) as told:
        told(now)
    last = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", row) for row in re.split(r"[\r\n]", watched.file.getvalue())]
    assert any(re.search(shown, row) for row in last), last
    assert watched.file.getvalue().endswith("\x1b[2K")  # and is gone at the end


def test_bars_hear_ctrl_c_and_are_silent_where_it_is_to_be_quiet(watched):
    interrupt.pressed = True
    try:
        with render.progress_bar(False) as told, pytest.raises(KeyboardInterrupt):
            told(Progress(4, 7, "tan", 0, None))
    finally:
        interrupt.pressed = False
    with render.progress_bar(True) as quiet:
        assert quiet == interrupt.check
    with render.busy("fitting\nit", False):
        pass
    assert "fitting\\nit" in watched.file.getvalue()
    before = watched.file.getvalue()
    with render.busy("fitting more", True):
        pass
    with render.byte_bar(True) as told:
        told(1, 2)
    assert watched.file.getvalue() == before
    with render.byte_bar(False) as told:
        told(1_000, 4_000)
    assert "1.0/4.0 kB" in watched.file.getvalue()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "1 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"), (3600, "1 h 0 min"), (7325, "2 h 2 min")],
)
def test_a_duration_is_rounded(seconds, words):
    assert duration(seconds) == words


def test_names_as_long_as_books_lose_their_middle():
    out = Out(file=io.StringIO(), width=200)
    pairs(out, [("a" * 10**6, "b", "c" * 10**6)], ("column", "kind", "values"))
    line(out, "d" * 10**6, "bold", indent=2)
    said = out.file.getvalue()
    assert len(said) < 50_000
    assert (said.count(" … "), said.count("b")) == (3, 1)
