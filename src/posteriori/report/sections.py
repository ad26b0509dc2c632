"""The sections of the report, each a string of HTML: what is measured is in `evidence`, what is drawn in `charts`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..decision.calibrate import reliability
from ..decision.curve import cost_curve, risk_coverage
from ..leaderboard.board import cell
from ..table.labels import position
from .charts import SERIES, Line, curves_chart, free_chart, legend, reliability_chart, spread_chart, thinned
from .evidence import Evidence, class_order
from .markup import esc, figure, name, percent, say

MOST_CONFUSED = 12  # classes of the confusion matrix
MOST_CARDS = 12  # columns whose spread is drawn


def section(identity: str, *body: str) -> str:
    """A landmark with its heading."""
    head = say(identity, tag="h2", more=f' id="{identity}-h"')
    return f'<section id="{identity}" aria-labelledby="{identity}-h">{head}{"".join(body)}</section>'


def note(key: str, *parts: Any) -> str:
    """A sentence below a heading."""
    return say(key, *parts, tag="p", more=' class="how"')


def card(key: str, how: str, *body: str) -> str:
    """A figure with its title and what it means."""
    return f'<figure class="card">{say(key, tag="h3")}{"".join(body)}<figcaption>{how}</figcaption></figure>'


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], style: str = "", caption: str = "") -> str:
    """A table whose first column names its rows; it scrolls by itself where it is wider than the page."""
    top = "".join(f'<th scope="col">{h}</th>' for h in heads)
    body = "".join(f'<tr><th scope="row">{r[0]}</th>{"".join(f"<td>{c}</td>" for c in r[1:])}</tr>' for r in rows)
    told = f"<caption>{caption}</caption>" if caption else ""
    return (
        f'<div class="scroll" tabindex="0" role="group"><table class="{style}">{told}<thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def amount(n: float) -> str:
    """How many rows; a weight where they are weighed.

    >>> amount(12345.0), amount(2.5)
    ('12,345', '2.5')
    """
    return f"{n:,.0f}" if n == round(n) else f"{n:,.4g}"


def glance(e: Evidence) -> str:
    """The figures that matter, each beside what is had without looking at a row."""
    always = say("baseline", e.classes[int(e.count.argmax())], percent(e.baseline["error"]), tag="small")
    shown = [("error", percent(e.scores["error"]), always)]
    shares = say("baseline_shares", figure(e.baseline["log_loss"]), tag="small")
    shown.append(("log_loss", figure(e.scores["log_loss"]), shares))
    if e.loss.reject or not _zero_one(e):
        best, least = int((e.loss.matrix @ e.count).argmin()), figure(e.baseline["cost"])
        left = e.loss.reject and best == len(e.loss.matrix) - 1
        base = (
            say("baseline_left", least, tag="small") if left else say("baseline", e.actions[best], least, tag="small")
        )
        shown.insert(0, ("cost", figure(e.scores["cost"]), base))
    tiles = [f'<div class="tile"><dt>{say(key)}</dt><dd>{esc(value)}</dd>{base}</div>' for key, value, base in shown]
    tiles.append(
        f'<div class="tile"><dt>{say("calibration")}</dt><dd>{percent(e.scores["calibration_error"])}</dd></div>'
    )
    if e.loss.reject:
        price = say("of_rejected", f"{e.reject:.6g}", tag="small")
        tiles.append(
            f'<div class="tile"><dt>{say("rejected")}</dt><dd>{percent(e.scores["rejected"])}</dd>{price}</div>'
        )
    honest = note("folds" if e.unseen else "resubstitution")
    return section("glance", f'<dl class="tiles">{"".join(tiles)}</dl>', honest)


def _zero_one(e: Evidence) -> bool:
    m = e.loss.matrix
    return m.shape[0] == m.shape[1] and bool((m == 1 - np.eye(len(m))).all())


def trust(e: Evidence) -> str:
    """Confusion, reliability, ROC, precision and recall, cost, risk and coverage."""
    rows = np.bincount(e.y, minlength=len(e.classes))
    order = [c for c in class_order(e.count, SERIES) if 0 < rows[c] < len(e.y)]
    if len(order) == 2 and len(e.classes) == 2:
        order = [1]  # the other class is its mirror image
    key = legend([str(e.classes[c]) for c in order])
    some = note("classes_left", len(order), len(e.classes)) if len(e.classes) > SERIES else ""
    cards = [_reliability(e)]
    if order:
        cards += [_roc(e, order, key), _pr(e, order, key), _cost(e, order, key)]
    cards.append(_coverage(e))
    return section("trust", some, f'<div class="cards">{_confusion(e)}{"".join(cards)}</div>')


def _confusion(e: Evidence) -> str:
    """Counts and shares of the true class; the shade is the share."""
    K, A = len(e.classes), len(e.loss.matrix)
    counts = np.bincount(e.y * A + e.decided, e.w, K * A).reshape(K, A)
    rows = _groups(counts.sum(axis=1), K)
    held = [[A - 1]] if e.loss.reject else []
    named = e.actions[: A - len(held)]
    same = len(named) == K and all(position(c, named) == k for k, c in enumerate(e.classes))
    columns = (rows if same else _groups(counts.sum(axis=0)[: len(named)], len(named))) + held
    heads = [f"{say('truth')} \\ {say('decided')}"]
    for group in columns:
        last = e.loss.reject and group == [A - 1]
        heads.append(say("leave") if last else name(e.actions[group[0]]) if len(group) == 1 else _others(group))
    lines = []
    for group in rows:
        total = counts[group].sum()
        line = [name(e.classes[group[0]]) if len(group) == 1 else _others(group)]
        for col in columns:
            n = float(counts[np.ix_(group, col)].sum())
            share = n / total if total else 0.0
            right = len(group) == len(col) == 1 and position(e.classes[group[0]], named) == col[0]
            shade = f' class="{"hit" if right else "miss"} q{math.ceil(share * 8)}"'
            line.append(f"<span{shade}>{amount(n)}<small>{percent(share, 0) if n else ''}</small></span>")
        lines.append(line)
    body = table(heads, lines, "confusion" + " many" * (len(columns) > 7))
    large = " wide" if len(columns) > 2 else ""
    some = " " + say("confusion_rest", len(rows) - 1) if K > MOST_CONFUSED else ""
    how = f"<figcaption>{say('confusion_how')}{some}</figcaption>"
    return f'<figure class="card{large}">{say("confusion", tag="h3")}{body}{how}</figure>'


def _others(group: list[int]) -> str:
    return say("other_classes", len(group))


def _groups(count: Any, n: int) -> list[list[int]]:
    """Each of the commonest alone, all others together."""
    if n <= MOST_CONFUSED:
        return [[i] for i in range(n)]
    alone = class_order(np.asarray(count), MOST_CONFUSED - 1)
    return [*([i] for i in alone), [i for i in range(n) if i not in alone]]


def _reliability(e: Evidence) -> str:
    bins = 10 if len(e.y) < 2000 else 15
    if len(e.classes) == 2:
        found = reliability(e.posterior, e.y, 1, bins=bins, sample_weight=e.w)
        how = say("reliability_of", e.classes[1])
    else:
        found, how = reliability(e.posterior, e.y, bins=bins, sample_weight=e.w), say("reliability_how")
    return card("reliability", how, reliability_chart(found))


def _roc(e: Evidence, order: list[int], key: str) -> str:
    from sklearn.metrics import auc, roc_curve

    lines: list[Line] = []
    told = []
    for k, c in enumerate(order):
        wrong, right, _ = roc_curve(e.y == c, e.posterior[:, c], sample_weight=e.w)
        lines.append((*thinned(wrong, right), f"s{k}"))
        told.append(figure(float(auc(wrong, right))))
    guess: Line = ([0.0, 1.0], [0.0, 1.0], "aside")
    chart = curves_chart(lines, "axis_false", "axis_true", "chart_roc", [guess])
    return card("roc", say("roc_how") + " " + say("area", ", ".join(told)), chart, key)


def _pr(e: Evidence, order: list[int], key: str) -> str:
    from sklearn.metrics import average_precision_score, precision_recall_curve

    lines: list[Line] = []
    asides: list[Line] = []
    told = []
    for k, c in enumerate(order):
        precision, recall, _ = precision_recall_curve(e.y == c, e.posterior[:, c], sample_weight=e.w)
        lines.append((*thinned(recall[::-1], precision[::-1]), f"s{k}"))
        told.append(figure(float(average_precision_score(e.y == c, e.posterior[:, c], sample_weight=e.w))))
        share = float(e.count[c] / e.w.sum())
        if len(order) <= 2:
            asides.append(([0.0, 1.0], [share, share], f"aside s{k}"))
    chart = curves_chart(lines, "axis_recall", "axis_precision", "chart_pr", asides)
    return card("pr", say("pr_how") + " " + say("area", ", ".join(told)), chart, key)


def _cost(e: Evidence, order: list[int], key: str) -> str:
    lines: list[Line] = []
    for k, c in enumerate(order):
        found = cost_curve(e.posterior, e.y, c, sample_weight=e.w)
        share = found.share.tolist()
        lines.append((share, found.cost.tolist(), f"s{k}"))
        lines.append((share, np.minimum(found.always, found.never).tolist(), f"aside s{k}"))
    return card(
        "cost_curve", say("cost_curve_how"), free_chart(lines, "axis_cost_share", "axis_cost", "chart_cost"), key
    )


def _coverage(e: Evidence) -> str:
    known = np.asarray(e.model.classes_)
    curve = risk_coverage(e.posterior, e.loss, known[e.y], classes=known, sample_weight=e.w)
    xs, ys = thinned(
        np.concatenate([curve.coverage[:1] * 0, curve.coverage]), np.concatenate([curve.risk[:1], curve.risk])
    )
    lines: list[Line] = [(xs, ys, "s0")]
    if e.reject is not None:
        covered = 1 - e.scores["rejected"]
        lines.append(([covered, covered], [0.0, max(ys)], "aside"))
    chart = free_chart(lines, "axis_coverage", "axis_risk", "chart_coverage")
    return card("coverage", say("coverage_how") + " " + say("area", figure(curve.area)), chart)


def data(e: Evidence) -> str:
    """The spread of the most telling columns, then all columns as a table."""
    s = e.survey
    order = class_order(s.class_count, SERIES)
    key = legend([str(e.classes[c]) for c in order])
    some = note("classes_left", len(order), len(e.classes)) if len(e.classes) > len(order) else ""
    cards = "".join(
        f'<figure class="spread-card"><h3>{name(c.name)}</h3>{spread_chart(c, order)}</figure>'
        for c in [c for c in s.columns if c.table is not None and len(c.table)][:MOST_CARDS]
    )
    known = any(c.information is not None for c in s.columns)
    dense = any(c.density for c in s.columns)
    heads = [
        "column",
        "kind",
        "missing",
        "values",
        *(["density"] if dense else []),
        *(["information"] if known else []),
    ]
    rows = []
    for c in s.columns:
        line = [
            name(c.name),
            say(f"kind_{c.kind}"),
            percent(c.missing),
            "" if c.n_values is None else f"{c.n_values:,}",
        ]
        line += [esc(c.density)] if dense else []
        line += [figure(c.information or 0.0)] if known else []
        rows.append(line)
    left = note("columns_left", f"{s.left_out:,}") if s.left_out else ""
    listing = table([say(h) for h in heads], rows, "numbers")
    shares = [
        [name(e.classes[c]), amount(float(s.class_count[c])), percent(float(s.class_count[c] / s.class_count.sum()))]
        for c in class_order(s.class_count, 20)
    ]
    classes = table([say("class_shares"), say("count"), "%"], shares, "numbers")
    spreads = (
        f'{note("data_how" if known else "data_order")}{some}{key}<div class="spreads">{cards}</div>' if cards else ""
    )
    opened = "" if cards else " open"  # texts have no spread to draw
    return section(
        "data", spreads,
        f"<details{opened}><summary>{say('all_columns')}</summary>{listing}{left}{classes}</details>",
    )  # fmt: skip


def board(leaderboard: Any, chosen: str | None) -> str:
    """The leaderboard, best first; below it who has no scores, and why."""
    if leaderboard is None:
        return ""
    keys = {"log_loss": "log_loss", "error": "error", "brier": "brier", "calibration_error": "calibration", "cost": "cost",
            "fit_seconds": "fit_seconds", "row_microseconds": "row_microseconds"}  # fmt: skip
    scores = [s for s in leaderboard.scores if s in keys]
    lines, out = [], []
    for row in list(leaderboard.rows)[:60]:
        if row.status != "finished":
            out.append(f"<li>{name(row.name)}: {esc(row.reason, 300)}</li>")
            continue
        mark = f' <em class="mark">{say("chosen")}</em>' if row.name == chosen else ""
        cells = [_scored(row, s) for s in scores]
        lines.append([name(row.name) + mark, *cells])
    rest = len(leaderboard.rows) - 60
    more = note("more_models", rest) if rest > 0 else ""
    failed = f'<h3>{say("not_scored")}</h3><ul class="plain">{"".join(out)}</ul>' if out else ""
    body = table([say("model"), *(say(keys[s]) for s in scores)], lines, "numbers board")
    return section("board", note("board_how"), body, more, failed)


def _scored(row: Any, score: str) -> str:
    told, plus, spread = cell(row, score).partition(" ±")
    return told + (f"<small> ±{spread}</small>" if plus else "")
