"""A leaderboard in a notebook."""

from __future__ import annotations

import html
from typing import Any

from ..leaderboard.board import HEADS, cell


def board_html(board: Any) -> str:
    """The leaderboard as a table: the best first, what failed or was skipped below with its reason."""
    heads = "".join(f"<th>{html.escape(h)}</th>" for h in ("model", *(HEADS[s] for s in board.scores)))
    lines = []
    for row in board.rows:
        name = f'<td title="{html.escape(row.says)}">{html.escape(row.name)}</td>'
        if row.status == "finished":
            cells = "".join(f'<td style="text-align:right">{html.escape(cell(row, s))}</td>' for s in board.scores)
        else:
            cells = f'<td colspan="{max(len(board.scores), 1)}">{html.escape(f"{row.status}: {row.reason}")}</td>'
        lines.append(f"<tr>{name}{cells}</tr>")
    said = [f"{row.name}: {note}" for row in board.finished for note in row.notes] + list(board.notes)
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in said)
    caption = f"{board.n_rows:,} rows, {board.n_folds} folds, by {HEADS[board.by]}; mean ± sd over the folds"
    return f"<div><table><caption>{caption}</caption><tr>{heads}</tr>{''.join(lines)}</table>{notes}</div>"
