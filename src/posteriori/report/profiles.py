"""The classes of a latent class model side by side: bars for probabilities, a point and its spread for numbers."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from .svg import BAR, BOX, INK, LINE, Drawing, framed, text_width

WIDE, GAP = 90.0, 14.0  # of a class's bars, and between classes
MOST = 12  # values of a column that are drawn, the likeliest


def profile_drawing(model: Any) -> Drawing:
    """A column of bars for each class; P(value|class) by their length, mean ± spread on the scale of the column."""
    tables = dict(model.tables_)
    key = next(iter(tables))
    prior = tables.pop(key)["P"]
    rows: list[tuple[str, str, list[tuple[float, float, str]]]] = [
        (key, "share", [(0.0, p, f"{p:.1%}") for p in prior]),
    ]
    for name, table in tables.items():
        rows += [(str(name), label, cells) for label, cells in _rows(table)]
    return Drawing(_svg(rows, [str(c) for c in prior.index]))


def _rows(table: Any) -> list[tuple[str, list[tuple[float, float, str]]]]:
    """(label, for each class where a bar begins and ends and what it says)."""
    labels = list(table.index)
    if labels == ["mean", "sd"]:
        mean, sd = table.to_numpy()
        mean = np.where(np.abs(mean) < 1e-3 * sd, 0.0, mean)  # 3e-102 ± 0.05 says less than 0 ± 0.05
        low, high = float((mean - sd).min()), float((mean + sd).max())
        width = high - low if high > low else 1.0
        ends = zip((mean - sd - low) / width, (mean + sd - low) / width, mean, sd)
        return [("mean ± sd", [(float(a), float(b), f"{m:.3g} ± {s:.2g}") for a, b, m, s in ends])]
    if labels == ["rate"]:
        rate = table.to_numpy()[0]
        top = float(rate.max()) or 1.0
        return [("rate", [(0.0, float(r / top), f"{r:.3g}") for r in rate])]
    values = table.to_numpy()
    shown = np.sort(np.argsort(-values.max(axis=1), kind="stable")[:MOST])
    found = [(str(labels[i]), [(0.0, float(p), f"{p:.1%}") for p in values[i]]) for i in shown]
    return found + ([(f"… {len(labels) - MOST} more", [])] if len(labels) > MOST else [])


def _svg(rows: list[tuple[str, str, list[tuple[float, float, str]]]], classes: list[str]) -> str:
    left = max(text_width(text) for name, label, _ in rows for text in (name, "  " + label)) + GAP
    body, y, last = [], float(LINE), ""
    for k, name in enumerate(classes):
        body.append(_text(left + k * (WIDE + GAP), LINE / 2, name, strong=True))
    for name, label, cells in rows:
        if name != last:
            y += LINE * 0.4
            body.append(_text(0, y + LINE / 2, name, strong=True))
            y, last = y + LINE, name
        body.append(_text(GAP, y + LINE / 2, label))
        for k, (a, b, says) in enumerate(cells):
            x = left + k * (WIDE + GAP)
            body.append(
                f'<rect x="{x:.1f}" y="{y + 1:.1f}" width="{WIDE:.1f}" height="{LINE - 2}" fill="none" stroke="{BOX}" '
                f'stroke-width="0.4"/><rect class="bar" x="{x + WIDE * a:.1f}" y="{y + 1:.1f}" '
                f'width="{max(WIDE * (b - a), 0.6):.1f}" height="{LINE - 2}" fill="{BAR}">'
                f"<title>{html.escape(f'{name} {label}, class {classes[k]}: {says}')}</title></rect>"
            )
            body.append(_text(x + 4, y + LINE / 2, says))
        y += LINE
    return framed(body, f"profile of {len(classes)} classes", left + len(classes) * (WIDE + GAP), y)


def _text(x: float, y: float, says: str, strong: bool = False) -> str:
    weight = ' font-weight="600"' if strong else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" dominant-baseline="central" fill="{INK}"{weight}>{html.escape(says)}</text>'
