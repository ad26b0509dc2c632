"""The face of an explanation in a notebook: bars to the right speak for the target, to the left against it."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

from ..explain.explanation import WAYS, brief, shown

if TYPE_CHECKING:
    from ..explain.explanation import Explanation

HALF = 110  # pixels of the longest bar
MOST = 20  # attributes; the others in one line
FOR, AGAINST = "#4878a8", "#c8553d"


def explanation_html(found: Explanation) -> str:
    """A sentence, a table with bars, and what would have to be different."""
    told, rest = found.strongest(MOST)
    rows = [("(prior)", "", found.prior)]
    for p in told:
        rows.append((brief(p.column), brief(p.value, 80), p.log_odds))
        rows += [("", f"· {brief(word)}", odds) for word, odds in p.strongest()]
    rows += [(f"({len(rest)} other{'s' * (len(rest) > 1)})", "", sum(p.log_odds for p in rest))] if rest else []
    rows += [("(together)", "", found.together)] if found.way != "sum" else []
    top = max([abs(v) for *_, v in rows if math.isfinite(v)], default=0.0) or 1.0
    lines = "".join(_row(name, value, odds, top) for name, value, odds in rows)
    changes = "".join(f"<li><bdi>{html.escape(str(change))}</bdi></li>" for change in found.changes)
    target, against, decision = (html.escape(shown(v)) for v in (found.target, found.against, found.decision))
    return (
        f"<div><p><b><bdi>{decision}</bdi></b>: P(<bdi>{target}</bdi>) = {found.posterior[found.target]:.4g}, log-odds "
        f"against <bdi>{against}</bdi> {found.log_odds:+.2f}; {WAYS[found.way]}</p>"
        f'<table><tr><th>attribute</th><th>value</th><th colspan="2">log-odds</th></tr>{lines}</table>'
        + (f"<p>Another decision if</p><ul>{changes}</ul>" if changes else "")
        + "</div>"
    )


def _row(name: str, value: str, odds: float, top: float) -> str:
    width = HALF * (min(abs(odds) / top, 1.0) if math.isfinite(odds) else 1.0)
    side, colour = ("left", FOR) if odds >= 0 else ("right", AGAINST)
    bar = (
        f'<div style="position:relative;width:{2 * HALF}px;height:.8em">'
        f'<div style="position:absolute;{side}:{HALF}px;width:{width:.0f}px;height:100%;background:{colour}"></div>'
        f'<div style="position:absolute;left:{HALF}px;width:1px;height:100%;background:currentColor"></div></div>'
    )
    return (
        f"<tr><td><bdi>{html.escape(name)}</bdi></td><td><bdi>{html.escape(value)}</bdi></td><td>{bar}</td>"
        f'<td style="text-align:right">{odds:+.2f}</td></tr>'
    )
