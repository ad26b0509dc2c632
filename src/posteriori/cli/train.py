"""`posteriori train` and `posteriori compare`."""

from __future__ import annotations

from typing import Any

from ..leaderboard.board import Leaderboard
from ..leaderboard.compare import compare
from .render import board_table, console, line, progress_bar
from .tables import Source, open_table, say_table, told_kinds


def leaderboard(source: Source, quiet: bool, **options: Any) -> Leaderboard:
    """`compare` behind a bar."""
    with progress_bar(quiet) as progress:
        return compare(source.table, progress=progress, **options)


def run_compare(
    data: str,
    target: str,
    kinds: list[str] | None,
    bins: int | None,
    sql: str | None,
    models: list[str] | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """The leaderboard alone."""
    source = open_table(data, target, told_kinds(kinds), bins, sql)
    out = console()
    if not (as_json or quiet):
        say_table(out, source)
    board = leaderboard(source, quiet or as_json, models=models or None, **options)
    if as_json:
        print(board.to_json())
    elif not quiet:
        say_board(out, board)


def say_board(out: Any, board: Leaderboard) -> None:
    """The leaderboard with the line that explains it."""
    by = {"log_loss": "log loss", "cost": "what the decisions cost"}[board.by]
    line(out, f"{board.n_folds} folds, the same for all, sorted by {by}: mean ± sd over the folds", "bold")
    board_table(out, board)
