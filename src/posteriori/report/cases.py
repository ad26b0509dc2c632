"""Typical, doubtful and wrong cases, explained: rows themselves where they may be shown, else means of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from ..arrays import Floats, Ints
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
    reasons = reasons_of(e, rows, t, a)
    if reasons is None:
        return ""
    prior, odds, together = reasons
    order = np.argsort(-np.abs(odds), kind="stable")
    bars = [(WORDS["prior"][0], prior)]
    bars += [(_called(e, int(j), rows), float(odds[j])) for j in order[:MOST_BARS]]
    if len(order) > MOST_BARS:
        bars.append((f"(+{len(order) - MOST_BARS})", float(odds[order[MOST_BARS:]].sum())))
    if abs(together) > 1e-9:
        bars.append((WORDS["together"][0], together))
    if len(rows) > 1:
        told = say("case_mean", len(rows))
    else:
        told = f"{say('case_row', int(rows[0]))}: " + say(
            "case_told", e.classes[truth[0]], e.actions[e.decided[rows[0]]], percent(float(said[t]))
        )
    how = say("for_against", e.classes[t], e.classes[a])
    return (
        f'<figure class="card">{say(key, *parts, tag="h3")}<p class="small">{told}</p>{bars_chart(bars, "chart_case")}'
        f"<figcaption>{how}</figcaption></figure>"
    )


def _called(e: Evidence, j: int, rows: Ints) -> str:
    title = cut(e.frame.name(j), 40)
    return f"{title} = {cut(cell(e, int(rows[0]), j), 24)}" if e.with_rows and len(rows) == 1 else title


def cell(e: Evidence, row: int, j: int) -> Any:
    """One cell as Python has it."""
    value = e.frame.column(j)[row]
    return value.as_py() if hasattr(value, "as_py") else value.item() if isinstance(value, np.generic) else value


def reasons_of(e: Evidence, rows: Sequence[int] | Ints, t: int, a: int) -> tuple[float, Floats, float] | None:
    """(prior, what each attribute adds, what they add only together) to ln P(t|x)/P(a|x), the mean of some rows."""
    model = e.inner
    if not hasattr(model, "_parts"):
        return None
    parts = model._parts(_safe_indexing(e.X, np.asarray(rows)))
    with np.errstate(invalid="ignore"):
        odds = np.nan_to_num(parts[:, :, t] - parts[:, :, a], nan=0.0, posinf=50.0, neginf=-50.0).mean(axis=0)
    prior = model.factored_.log_prior
    return float(np.nan_to_num(prior[t] - prior[a], posinf=50.0, neginf=-50.0)), odds, 0.0
