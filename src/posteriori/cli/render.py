"""Tables and lines for a terminal of any width; where the output is no terminal, nothing is cut and nothing is coloured."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import shortened
from ..leaderboard.board import HEADS, Leaderboard, cell
from .guard import cut, plain

ALL = 200  # columns where nobody said how wide the output is
MOST = 20_000  # characters of a line: names and values may be as long as books


class Out(Console):
    """A console whose reader may have enough, which is no error: `posteriori inspect … | head`."""

    def on_broken_pipe(self) -> None:
        """Leave it to the guard."""
        raise BrokenPipeError


def console(stderr: bool = False) -> Console:
    """Where to print; a file or a pipe is as wide as it needs to be."""
    stream = sys.stderr if stderr else sys.stdout
    wide = None if stream.isatty() or os.environ.get("COLUMNS") else ALL
    return Out(stderr=stderr, width=wide, highlight=False, markup=False, emoji=False, soft_wrap=False)


def line(out: Console, text: object = "", style: str | None = None, indent: int = 0, whole: bool = False) -> None:
    """A line of text from wherever, broken between words; a `whole` one is a command to copy, and never broken."""
    from rich.padding import Padding

    if whole:
        out.print(Text(plain(text), style=style or ""), soft_wrap=True)
        return

    shown = Text(plain(shortened(str(text), MOST)), style=style or "")
    out.print(Padding(shown, (0, 0, 0, indent), expand=False) if indent else shown)


def pairs(out: Console, rows: Sequence[tuple[str, ...]], heads: tuple[str, ...], right: tuple[int, ...] = ()) -> None:
    """A small table; a cell as long as a book is written without its middle."""
    rows = [tuple(plain(shortened(cell)) for cell in row) for row in rows]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for j, head in enumerate(heads):
        last = j == len(heads) - 1
        side, room = "right" if j in right else "left", max([len(head), *(len(row[j]) for row in rows)])
        least = min(room, max(8, out.width // 3)) if j == 0 else None  # a name is not written down letter by letter
        table.add_column(head, justify=side, overflow="fold", no_wrap=not last and j > 0, min_width=least)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*map(Text, row))
    out.print(table)


def board_table(out: Console, board: Leaderboard) -> None:
    """The leaderboard as wide as there is room for: first the ± of the lesser scores go, then the scores themselves."""
    for spread, shown in _layouts(board):
        heads = ["model", *(HEADS[s] for s in shown)]
        lines = [[plain(row.name), *(cell(row, s, s in spread) for s in shown)] for row in board.finished]
        if sum(max(map(len, c)) for c in zip(heads, *lines)) + 2 * (len(heads) - 1) <= out.width:
            break
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for j, head in enumerate(heads):
        table.add_column(head, justify="left" if j == 0 else "right", no_wrap=True, overflow="ellipsis")
    best = {s: min((row.mean(s) for row in board.finished if row.mean(s) == row.mean(s)), default=None) for s in shown}
    for row, cells in zip(board.finished, lines):
        marks = [Text(cells[0], "" if row.ours else "dim")]
        marks += [Text(c, "bold green" if row.mean(s) == best[s] else "") for c, s in zip(cells[1:], shown)]
        table.add_row(*marks)
    out.print(table)
    if set(spread) < set(board.scores):
        line(out, "(a wider terminal shows ± sd of every score; --json has all folds)", "dim")
    for row in board.rows:
        if row.status != "finished":
            line(out, f"{row.name} {row.status}: {row.reason}", "red" if row.status == "failed" else "dim")
    for row in board.finished:
        for note in row.notes:
            line(out, f"{row.name}: {cut(note, 200)}", "dim")
    for note in board.notes:
        line(out, note, "yellow")


def _layouts(board: Leaderboard) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    scores = board.scores
    main = tuple(s for s in ("log_loss", "error", "cost") if s in scores)
    times = ("fit_seconds", "row_microseconds")
    yield scores, scores
    yield tuple(s for s in scores if s not in times), scores
    yield main, scores
    yield (board.by,), scores
    yield (board.by,), tuple(s for s in scores if s not in ("brier", "calibration_error"))
    yield (), tuple(s for s in scores if s in main)


@contextlib.contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[Any], None]]:
    """A bar on stderr that follows a `leaderboard.Progress`, with the time left; nothing where stderr is no terminal."""
    from .guard import interrupt

    err = console(stderr=True)
    if quiet or not err.is_terminal:
        yield interrupt.check
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("beginning", total=1, left="")

        def follow(now: Any) -> None:
            interrupt.check()
            left = "" if now.seconds_left is None else f"about {duration(now.seconds_left)} left"
            said = f"fold {now.fold + 1}, {plain(now.model)}"
            bar.update(task, completed=now.done, total=now.total, description=f"{said:<20}", left=left)

        yield follow


@contextlib.contextmanager
def busy(text: str, quiet: bool) -> Iterator[None]:
    """A line that turns while something is done, where stderr is a terminal."""
    err = console(stderr=True)
    if quiet or not err.is_terminal:
        yield
        return
    with err.status(Text(plain(text))):
        yield


@contextlib.contextmanager
def byte_bar(quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr that follows the bytes of a file, with the time left."""
    err = console(stderr=True)
    if quiet or not err.is_terminal:
        yield lambda done, size: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("counting"),
        BarColumn(bar_width=None),
        DownloadColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, size: bar.update(task, completed=done, total=size)


def duration(seconds: float) -> str:
    """Seconds as a person says them.

    >>> duration(0.4), duration(75), duration(7300)
    ('1 s', '1 min 15 s', '2 h 1 min')
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
