"""Values as tables of HTML, for a notebook."""

from __future__ import annotations

import html
from typing import Any


def schema_html(schema: Any) -> str:
    """The schema as a table, for a notebook."""
    rows = "".join(
        f"<tr><td>{html.escape(c.name)}</td><td>{c.kind}</td>"
        f"<td>{html.escape(', '.join(map(str, c.values[:8])))}{'…' if len(c.values) > 8 else ''}</td></tr>"
        for c in schema.columns
    )
    return f"<table><tr><th>column</th><th>kind</th><th>values</th></tr>{rows}</table>"
