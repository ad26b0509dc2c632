"""Typical, doubtful and wrong cases, explained: rows themselves where they may be shown, else means of several."""

from __future__ import annotations

from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.utils import _safe_indexing

from ..arrays import Ints
from ..errors import PosterioriError
from ..explain.explanation import Explanation
from ..explain.why import explain
from .charts import bars_chart
from .evidence import Evidence
from .markup import cut, percent, say
from .sections import note, section
from .survey import class_order
from .words import WORDS

MEAN_OF = 5  # rows of a picture without rows
FEWEST = 3
MOST_CLASSES = 3  # that have a typical case
MOST_ROWS = 2  # of a kind, with rows
MOST_BARS = 8
MEAN_OVER, MOST_AVERAGED = 60, 60  # rows and columns of a model whose attributes are averaged over, one by one


def cases(e: Evidence) -> str:
    """A card for each kind of case."""
    if len(e.classes) < 2:
        return ""
    groups = _picked(e)
    cards = []
    for key, parts, rows in groups:
        if e.with_rows:
            cards += [_card(e, key, parts, np.array([r])) for r in rows[:MOST_ROWS]]
        elif len(rows) >= FEWEST:
            cards.append(_card(e, key, parts, rows[:MEAN_OF]))
    cards = [c for c in cards if c]
    if not cards:
        return section("cases", note("no_cases"))
    how = "" if e.with_rows else note("cases_groups")
    wrong = next((rows for key, _, rows in groups if key == "wrong"), groups[0][2][:0])
    few = note("no_wrong" if not len(wrong) else "few_wrong") if len(wrong) < (1 if e.with_rows else FEWEST) else ""
    return section("cases", how, f'<div class="cards">{"".join(cards)}</div>', few)


def _picked(e: Evidence) -> list[tuple[str, tuple[Any, ...], Ints]]:
    """(kind, what to say of it, rows): the surest right ones of the commonest classes, the least sure, the surest wrong."""
    p, y = e.posterior, e.y
    top = p.argmax(axis=1)
    sure = p[np.arange(len(p)), top]
    two = np.sort(p, axis=1)[:, -2:]
    found: list[tuple[str, tuple[Any, ...], Ints]] = []
    for c in class_order(np.bincount(y, minlength=len(e.classes)), MOST_CLASSES):
        rows = np.flatnonzero((y == c) & (top == c))
        found.append(("typical", (e.classes[c],), rows[np.argsort(-sure[rows], kind="stable")][:MEAN_OF]))
    found.append(("doubtful", (), np.argsort(two[:, 1] - two[:, 0], kind="stable")[:MEAN_OF]))
    rows = np.flatnonzero(top != y)
    if len(rows):  # the commonest mistake
        said, was = divmod(int(np.bincount(top[rows] * p.shape[1] + y[rows]).argmax()), p.shape[1])
        rows = rows[(top[rows] == said) & (y[rows] == was)]
        rows = rows[np.argsort(-sure[rows], kind="stable")][:MEAN_OF]
        found.append(("wrong", (e.classes[said], e.classes[was]), rows))
    return found


def _card(e: Evidence, key: str, parts: tuple[Any, ...], rows: Ints) -> str:
    """Bars for the class decided against the next (of wrong cases, against the truth)."""
    said = e.posterior[rows].mean(axis=0)
    t = int(said.argmax())
    truth = e.y[rows]
    rest = [c for c in np.argsort(-said, kind="stable").tolist() if c != t]
    a = int(np.bincount(truth[truth != t]).argmax()) if key == "wrong" and (truth != t).any() else rest[0]
    found = explained(e, rows, t, a)
    if not found:
        return ""
    odds = {p.column: 0.0 for why in found for p in why.parts}
    for why in found:
        for p in why.parts:
            odds[p.column] += _held(p.log_odds) / len(found)
    order = sorted(odds, key=lambda column: -abs(odds[column]))
    cells = {p.column: p.value for p in found[0].parts} if e.with_rows and len(rows) == 1 else {}
    bars = [(WORDS["prior"][0], _held(found[0].prior))]
    bars += [(_called(column, cells), odds[column]) for column in order[:MOST_BARS]]
    if len(order) > MOST_BARS:
        bars.append((f"(+{len(order) - MOST_BARS})", sum(odds[column] for column in order[MOST_BARS:])))
    if found[0].way != "sum":
        bars.append((WORDS["together"][0], sum(_held(why.together) for why in found) / len(found)))
    told, change = say("case_mean", len(rows)), ""
    if len(rows) == 1:
        told = f"{say('case_row', int(rows[0]))}: " + say(
            "case_told", e.classes[truth[0]], e.actions[e.decided[rows[0]]], percent(float(said[t]))
        )
        change = say("case_change", found[0].changes[0], tag="p", more=' class="small"') if found[0].changes else ""
    how = say("for_against", e.classes[t], e.classes[a])
    return (
        f'<figure class="card">{say(key, *parts, tag="h3")}<p class="small">{told}</p>{bars_chart(bars, "chart_case")}'
        f"{change}<figcaption>{how}</figcaption></figure>"
    )


def _held(odds: float) -> float:
    """Log-odds that can be added up and drawn: what rules a class out counts as 50 nats."""
    return float(np.clip(odds, -50.0, 50.0))


def _called(column: str, cells: dict[str, Any]) -> str:
    return f"{cut(column, 40)} = {cut(cells[column], 24)}" if column in cells else cut(column, 40)


def explained(e: Evidence, rows: Ints, t: int, a: int) -> list[Explanation]:
    """Why the model answers as it does, row by row; nothing where it gives no reasons, or where that would take long."""
    if not hasattr(e.inner, "_log_parts") and e.frame.d > MOST_AVERAGED:
        return []
    background = _safe_indexing(e.X, np.linspace(0, e.frame.n - 1, min(e.frame.n, MEAN_OVER)).astype(int))
    changes = int(e.with_rows and len(rows) == 1)
    try:
        with catch_warnings():
            simplefilter("ignore")
            return [
                explain(
                    e.inner, _safe_indexing(e.X, [int(r)]), e.classes[t], e.classes[a],
                    background=None if hasattr(e.inner, "_log_parts") else background, changes=changes,
                )
                for r in rows
            ]  # fmt: skip
    except PosterioriError:
        return []
