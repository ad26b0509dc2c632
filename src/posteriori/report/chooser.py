"""The section in which a reader decides a case: choices, posterior, losses, and the nomogram for the eye."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.utils import _safe_indexing

from ..bayes.naive import NaiveBayes
from ..decision.decide import best_action
from ..errors import PosterioriError
from ..explain.whatif import Attribute, WhatIf, what_if
from ..table.dates import part_of, weekday_text
from .evidence import Evidence, class_order
from .markup import cut, data_block, esc, name, percent, say
from .nomogram import MOST_DRAWN, nomogram_svg, scales
from .sections import note, section

MOST_PRICED = 6  # classes whose losses can be changed
MOST_ASKED = 1000  # rows on which two models are compared
MOST_PAIRS = 5  # classes that have a nomogram of their own


def decide(e: Evidence) -> tuple[str, str]:
    """(the section, the data that the page's script reads)."""
    table, told = what_if(e.inner, with_rows=e.with_rows, dates=e.dates), ""
    kind = e.called
    if table is None and (other := _stand_in(e)) is not None:
        table = what_if(other, with_rows=e.with_rows, dates=e.dates)
        told = note("stand_in", kind, *_alike(e, other))
    if table is None or not table.attributes or len(e.classes) < 2:
        silent = isinstance(e.inner, NaiveBayes) and len(e.classes) > 1
        return section("decide", note("nothing_to_choose" if silent else "not_additive", kind)), ""
    controls = "".join(_control(j, a) for j, a in enumerate(table.attributes))
    hidden = sum(a.hidden for a in table.attributes)
    foot = note("rare_hidden", f"{hidden:,}") if hidden else ""
    foot += "".join(
        _some(key, names) for key, names in (("left_unknown", table.left_out), ("say_nothing", table.silent))
    )
    body = (
        f'<noscript>{note("decide_no_script")}</noscript><div id="chooser" class="chooser" hidden>'
        f'<form class="choices" autocomplete="off">{controls}</form>{_result(e)}</div>{foot}'
    )
    drawing = _drawings(e, table) if table.additive else note("nomogram_forest", kind)
    by_eye = f'<div class="by-eye">{say("nomogram", tag="h3")}{drawing}</div>' if drawing else ""
    whole = section("decide", told, note("decide_how"), body, by_eye)
    return whole, data_block("model", _plain(e, table))


def _some(key: str, names: tuple[str, ...]) -> str:
    """A sentence that lists columns, the first few by name."""
    if not names:
        return ""
    more = f", … +{len(names) - 8:,}" if len(names) > 8 else ""
    return say(key, ", ".join(cut(n, 24) for n in names[:8]) + more, tag="p", more=' class="how"')


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


def _control(j: int, a: Attribute) -> str:
    """A select for values, a slider for numbers; both begin unknown."""
    label = f'<label for="a{j}">{name(a.name)}</label>'
    clear = (
        f'<button type="button" class="clear" data-j="{j}" data-l="clear" data-la="{esc(a.name)}" '
        f'aria-label="Make {esc(a.name)} unknown" hidden>×</button>'
    )
    if a.numbers is None:
        options = "".join(
            f'<option value="{i}" dir="auto">{esc(label)}</option>'
            for i, label in enumerate(a.labels)
            if label is not None
        )
        field = f'<select id="a{j}" data-j="{j}"><option value="" data-w="unknown">unknown</option>{options}</select>'
        out = ""
    else:
        last = len(a.numbers) - 1
        middle = int(np.searchsorted(np.cumsum(a.share), 0.5)) if a.share is not None else last // 2
        field = f'<input type="range" id="a{j}" data-j="{j}" min="0" max="{last}" step="1" value="{min(middle, last)}">'
        out = f'<output for="a{j}" id="o{j}" data-w="unknown">unknown</output>'
    weigh = f'<span class="weigh" aria-hidden="true"><span id="w{j}"></span></span>'
    return f'<div class="choice" id="c{j}"><div class="top">{label}{out}{clear}</div>{field}{weigh}</div>'


def _result(e: Evidence) -> str:
    """What follows from the choices: bars, the decision, and the losses to change."""
    K = len(e.classes)
    head = (
        f'<div class="decision" aria-live="polite"><span class="small">{say("decision")}</span>'
        f'<strong id="decision"></strong><span id="risk" class="small"></span></div>'
        f'<div id="posterior" class="posterior" role="group" data-l="posterior" aria-label="Posterior"></div>'
    )
    reset = f'<button type="button" id="again">{say("clear_all")}</button>'
    price = (
        f'<label class="price"><span>{say("reject_price")}</span>'
        f'<input id="reject" type="number" step="any" inputmode="decimal" value="{_value(e.reject)}"></label>'
    )
    actions = e.actions[:-1] if e.loss.reject else e.actions
    grid = ""
    if K <= MOST_PRICED and len(actions) <= MOST_PRICED:
        top = "".join(f'<th scope="col">{name(c)}</th>' for c in e.classes)
        lines = "".join(
            f'<tr><th scope="row">{name(a)}</th>'
            + "".join(
                f'<td><input class="loss" type="number" step="any" inputmode="decimal" data-a="{i}" data-y="{k}" '
                f'value="{_value(float(e.loss.matrix[i, k]))}" aria-label="{esc(a)} / {esc(e.classes[k])}"></td>'
                for k in range(K)
            )
            + "</tr>"
            for i, a in enumerate(actions)
        )
        corner = f"<td>{say('decided')} \\ {say('truth')}</td>"
        cells = f"<thead><tr>{corner}{top}</tr></thead><tbody>{lines}</tbody>"
        grid = f'{note("losses_how")}<div class="scroll"><table class="losses">{cells}</table></div>'
    costs = f'<details class="costs"><summary>{say("losses")}</summary>{grid}{price}</details>'
    return f'<div class="side"><div class="result">{head}</div><div class="more">{reset}{costs}</div></div>'


def _value(number: float | None) -> str:
    return "" if number is None else f"{number:.12g}"


def _drawings(e: Evidence, table: WhatIf) -> str:
    """A nomogram for each of the commonest classes against the commonest other, one shown at a time."""
    count = e.count
    by_count = np.argsort(-count, kind="stable").tolist()
    pairs = [(1, 0)] if len(e.classes) == 2 else [
        (c, next(o for o in by_count if o != c)) for c in class_order(count, MOST_PAIRS)
    ]  # fmt: skip
    drawn: list[str] = []
    picks: list[str] = []
    for i, (t, a) in enumerate(pairs):
        found = scales(table, t, a)
        if not found.axes:
            continue
        both = "".join(nomogram_svg(found, wide) for wide in (True, False))
        hide = " hidden" if drawn else ""
        title = say("nomogram_of", e.classes[t], e.classes[a], tag="p", more=' class="pair"')
        drawn.append(f'<div class="pair-drawing" id="n{i}"{hide}>{title}{both}</div>')
        picks.append(f'<option value="n{i}" dir="auto">{esc(e.classes[t])}</option>')
    if not drawn:
        return ""
    pick = (
        f'<select id="pick" data-l="nomogram" aria-label="Nomogram">{"".join(picks)}</select>' if len(drawn) > 1 else ""
    )
    rest = note("nomogram_rest", MOST_DRAWN) if len(table.attributes) > MOST_DRAWN or table.left_out else ""
    two = note("nomogram_two") if len(e.classes) > 2 else ""
    return note("nomogram_how") + two + pick + f'<div id="nomograms">{"".join(drawn)}</div>' + rest


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
