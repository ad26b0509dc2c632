"""A star for naive Bayes: the class in the middle, the columns around it, a thicker line where one tells more."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .charts import picture, text
from .markup import cut, esc


def star_svg(target: str, columns: Sequence[tuple[str, float]]) -> str:
    """The class above, columns in rows below, each hanging from it."""
    wide, row, cell = 340.0, 44.0, 112.0
    each = int(wide // cell)
    top = max((v for _, v in columns), default=1.0) or 1.0
    body, boxes = [], []
    middle = wide / 2
    for i, (label, value) in enumerate(columns):
        line = i // each
        count = min(each, len(columns) - line * each)
        x = middle + (i % each - (count - 1) / 2) * cell
        y = 84 + row * line
        width = 0.8 + 4.2 * value / top
        bend = 42 + row * line
        body.append(
            f'<path class="tie" stroke-width="{width:.2f}" d="M{middle:.1f},34C{middle:.1f},{bend:.1f} '
            f'{x:.1f},{y - 50:.1f} {x:.1f},{y - 13:.1f}"><title>{esc(label)}: {value:.3f}</title></path>'
        )
        boxes.append(
            f'<g><title>{esc(label)}</title><rect class="box" x="{x - 52:.1f}" y="{y - 13:.1f}" width="104" '
            f'height="26" rx="6"/>'
            f"{text(x, y + 4, cut(label, 15), style='value')}</g>"
        )
    tall = 84 + row * math.ceil(len(columns) / each) - 18
    boxes.append(
        f'<rect class="box target" x="{middle - 60:.1f}" y="8" width="120" height="28" rx="6"/>'
        f"{text(middle, 26, cut(target, 17), style='name strong')}"
    )
    return picture("".join(body + boxes), "structure", wide, tall)
