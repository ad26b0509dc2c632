"""A leaderboard in a notebook: every model a line, the finished with their scores, the others with the reason."""

from __future__ import annotations

import re

import pytest

from posteriori.leaderboard.board import Leaderboard, Row, cell
from posteriori.report.boards import board_html

DONE = Row("<best>", 'says "so"', None, folds={"log_loss": (0.1, 0.3), "error": (0.0, 0.5)}, notes=("slow & sure",))
REST = (Row("bad", "third", None, "failed", "it <broke>"), Row("late", "fourth", None, "skipped", "no time"))


def lines(board):
    return re.findall(r"<tr>(.*?)</tr>", board_html(board))


def test_every_model_has_a_line():
    board = Leaderboard((DONE, *REST), "log_loss", 2, 1234, (0, 1), ("a note",))
    head, best, bad, late = lines(board)
    assert re.findall(r"<th>(.*?)</th>", head) == ["model", "log loss", "error"]
    cells = re.findall(r'<td style="text-align:right">(.*?)</td>', best)
    assert cells == [cell(DONE, "log_loss"), cell(DONE, "error")]
    assert '<td title="says &quot;so&quot;">&lt;best&gt;</td>' in best
    assert '<td colspan="2">failed: it &lt;broke&gt;</td>' in bad
    assert '<td colspan="2">skipped: no time</td>' in late
    text = board_html(board)
    assert "1,234 rows, 2 folds, by log loss; mean ± sd over the folds" in text
    assert re.findall(r"<p>(.*?)</p>", text) == ["&lt;best&gt;: slow &amp; sure", "a note"]


@pytest.mark.parametrize("row", REST, ids=lambda r: r.name)
def test_where_nobody_finished_a_reason_still_has_its_cell(row):
    (_, line) = lines(Leaderboard((row,), "log_loss", 2, 10))
    assert 'colspan="1"' in line
