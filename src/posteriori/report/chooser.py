"""The section in which a reader decides a case: choices, posterior, losses, and the nomogram for the eye."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from markupsafe import Markup
from sklearn.utils import _safe_indexing

from ..bayes.naive import NaiveBayes
from ..decision.decide import best_action
from ..errors import PosterioriError
from ..explain.whatif import Attribute, WhatIf, cut, what_if
from ..table.dates import part_of, weekday_text
from .evidence import Evidence, class_order
from .markup import data_block, percent, render
from .nomogram import MOST_DRAWN, nomogram, scales
from .scene import svg

MOST_PRICED = 6  # classes whose losses can be changed
MOST_ASKED = 1000  # rows on which two models are compared
MOST_PAIRS = 5  # classes that have a nomogram of their own


def decide(e: Evidence) -> tuple[Markup, Markup | str]:
    """(the section, the data that the page's script reads)."""
    table = what_if(e.inner, with_rows=e.with_rows, dates=e.dates)
    sentence: tuple[str, ...] = ()
    if table is None and (other := _stand_in(e)) is not None:
        table = what_if(other, with_rows=e.with_rows, dates=e.dates)
        sentence = ("stand_in", e.called, *_alike(e, other))
    if table is None or not table.attributes or len(e.classes) < 2:
        silent = isinstance(e.inner, NaiveBayes) and len(e.classes) > 1
        return render("chooser", "decide", ("nothing_to_choose" if silent else "not_additive", e.called), None), ""
    shown = {
        "model": e.called,
        "attributes": table.attributes,
        "middle": [_middle(a) for a in table.attributes],
        "priced": _priced(e),
        "hidden": sum(a.hidden for a in table.attributes),
        "lists": [("left_unknown", _some(table.left_out)), ("say_nothing", _some(table.silent))],
        "drawings": _drawings(e, table) if table.additive else None,
        "several": len(e.classes) > 2,
        "rest": MOST_DRAWN if len(table.attributes) > MOST_DRAWN or table.left_out else 0,
    }
    return render("chooser", "decide", sentence, shown), data_block("model", _plain(e, table))


def _some(names: tuple[str, ...]) -> str:
    """Columns in a sentence, the first few by name."""
    more = f", … +{len(names) - 8:,}" if len(names) > 8 else ""
    return ", ".join(cut(n, 24) for n in names[:8]) + more


def _stand_in(e: Evidence) -> Any:
    """Naive Bayes on the same rows, or nothing where these are no table that it takes."""
    names = e.frame.names if e.frame.names is not None else [f"x{j}" for j in range(e.frame.d)]
    try:
        kinds = dict(zip(names if e.frame.names is not None else range(e.frame.d), e.kinds))
        labels = np.empty(len(e.classes), dtype=object)
        labels[:] = e.classes
        return NaiveBayes(kinds=kinds).fit(
            e.X, np.array(labels[e.y].tolist()), sample_weight=None if (e.w == 1).all() else e.w
        )
    except PosterioriError:
        return None


def _alike(e: Evidence, other: Any) -> tuple[str, str]:
    """(the share of some rows on which another model decides as this one does, how many they are)."""
    rows = np.unique(np.linspace(0, e.frame.n - 1, min(e.frame.n, MOST_ASKED)).astype(int))
    X = _safe_indexing(e.X, rows)
    with catch_warnings():
        simplefilter("ignore")
        own, others = (best_action(np.asarray(m.predict_proba(X)), e.loss) for m in (e.inner, other))
    return percent(float(np.average(own == others, weights=e.w[rows]))), f"{len(rows):,}"


def _middle(a: Attribute) -> int:
    """Where the slider of a number stands at first: at half of the rows."""
    last = len(a.labels) - 1
    return last // 2 if a.share is None else min(int(np.searchsorted(np.cumsum(a.share), 0.5)), last)


def _priced(e: Evidence) -> dict[str, Any]:
    """The losses to change, where they are few, and the price of leaving a case to a person."""
    actions = e.actions[:-1] if e.loss.reject else e.actions
    few = len(e.classes) <= MOST_PRICED and len(actions) <= MOST_PRICED
    rows = [(a, [_value(float(v)) for v in row]) for a, row in zip(actions, e.loss.matrix)] if few else []
    return {"classes": e.classes, "rows": rows, "reject": _value(e.reject)}


def _value(number: float | None) -> str:
    return "" if number is None else f"{number:.12g}"


def _drawings(e: Evidence, table: WhatIf) -> list[tuple[int, Any, Any, list[Markup]]]:
    """A nomogram for each of the commonest classes against the commonest other: (which, both classes, wide and narrow)."""
    by_count = np.argsort(-e.count, kind="stable").tolist()
    pairs = [(c, next(o for o in by_count if o != c)) for c in class_order(e.count, MOST_PAIRS)]
    drawn = []
    for i, (t, a) in enumerate([(1, 0)] if len(e.classes) == 2 else pairs):
        found = scales(table, t, a)
        if found.axes:
            drawn.append((i, e.classes[t], e.classes[a], [svg(nomogram(found, wide)) for wide in (True, False)]))
    return drawn


def _plain(e: Evidence, table: WhatIf) -> dict[str, Any]:
    """The tables as JSON: −∞ is null, numbers have 14 digits."""
    matrix = e.loss.matrix[:-1] if e.loss.reject else e.loss.matrix
    agree = agreements(table, e.dates)
    return {
        "classes": [cut(c) for c in e.classes],
        "prior": _numbers(table.log_prior),
        "attributes": [
            {
                "name": cut(a.name),
                "labels": list(a.labels),
                "number": a.numbers is not None,
                "parent": -1 if a.parent is None else a.parent,
                "values": len(a.labels),
                "table": _numbers(a.log_p),
                **({"of": agree[j][0], "can": agree[j][1]} if j in agree else {}),
            }
            for j, a in enumerate(table.attributes)
        ],
        "actions": [cut(a) for a in (e.actions[:-1] if e.loss.reject else e.actions)],
        "loss": [_numbers(row) for row in matrix],
        "reject": e.reject,
    }


def agreements(table: WhatIf, dates: dict[str, dict[str, str]]) -> dict[int, tuple[int, list[list[int] | None]]]:
    """Part of a date → (its date, for each choice of the date the choices that the part then has; None: any)."""
    place = {a.name: j for j, a in enumerate(table.attributes)}
    found: dict[int, tuple[int, list[list[int] | None]]] = {}
    for date, parts in dates.items():
        for part, column in parts.items():
            if date not in place or column not in place:
                continue
            d, k = place[date], place[column]
            days, numbers = _days(table.attributes[d]), table.attributes[d].numbers
            if part != "hour":
                found[k] = d, [_can(table.attributes[k], part, some) for some in days]
            elif numbers is not None and (numbers % 1).any():  # a whole day has no hour
                found[k] = d, [_can(table.attributes[k], part, [float(v)]) for v in numbers]
    return found


def _days(date: Attribute) -> list[range | None]:
    """The days that each choice of a date holds; None where it is open, or holds more than a year."""
    if date.numbers is not None:
        return [range(int(v), int(v) + 1) for v in np.floor(date.numbers)]
    cuts = [] if date.cuts is None else [int(v) for v in np.ceil(date.cuts)]
    between = [range(a, b) if b - a <= 366 else None for a, b in itertools.pairwise(cuts)]
    return [None, *between, None] if cuts else [None] * len(date.labels)


def _can(part: Attribute, named: str, days: Iterable[float] | None) -> list[int] | None:
    """The choices that a part has on some days."""
    if days is None:
        return None
    met = sorted({v for day in days if (v := part_of(day, named)) is not None})
    if part.numbers is not None:
        return sorted({int(np.abs(part.numbers - v).argmin()) for v in met})
    if part.cuts is not None:
        return sorted({int((part.cuts <= v).sum()) for v in met})
    told = [weekday_text(v) if named == "weekday" else str(v) for v in met]
    return [i for i, label in enumerate(part.labels) if label in told]


def _numbers(values: Any) -> list[float | None]:
    return [float(f"{v:.14g}") if np.isfinite(v) else None for v in np.asarray(values).ravel().tolist()]
