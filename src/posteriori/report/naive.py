"""A naive Bayes model in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..bayes.naive import NaiveBayes


def naive_html(model: NaiveBayes) -> str:
    """The prior and the ten most telling columns, for a notebook."""
    frame = model.summary().head(10)
    top = float(frame["information"].max()) or 1.0
    rows = "".join(
        f"<tr><td>{html.escape(str(r['column']))}</td><td>{r['kind']}</td><td>{r['values'] or ''}</td>"
        f'<td><div style="background:#4878a8;height:.7em;width:{120 * r["information"] / top:.0f}px" '
        f'title="{r["information"]:.4f} nats"></div></td><td style="text-align:right">{r["information"]:.3f}</td></tr>'
        for r in frame.to_dict("records")
    )
    prior = ", ".join(
        f"P({html.escape(str(c))}) = {p:.3f}"
        for c, p in zip(model.schema_.classes[:12], np.exp(model.factored_.log_prior))
    )
    n = float(np.asarray(model.class_count_).sum())
    return (
        f"<div><b>{type(model).__name__}</b>: {n:g} rows, {len(model.schema_)} columns, "
        f"{len(model.schema_.classes)} classes<br>{prior}<table><tr><th>column</th><th>kind</th><th>values</th>"
        f'<th colspan="2">I(X;Y), nats</th></tr>{rows}</table></div>'
    )
