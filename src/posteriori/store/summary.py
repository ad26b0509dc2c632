"""What a head says of its model without the model: rows, columns, classes."""

from __future__ import annotations

from typing import Any

__all__ = ["summary"]


def summary(model: Any) -> dict[str, Any]:
    """Rows, columns and classes, as far as the model has them.

    >>> import posteriori as po
    >>> summary(po.NaiveBayes().fit({"sky": ["blue", "grey", "grey"]}, ["out", "in", "in"]))
    {'fitted': True, 'rows': 3, 'columns': 1, 'classes': 2}
    """
    state = vars(model)
    found: dict[str, Any] = {}
    if hasattr(model, "get_params"):
        found["fitted"] = any(n.endswith("_") for n in state) or "_store" in state
    statistics = state.get("statistics_", state.get("_statistics"))
    if statistics is not None:
        rows = float(statistics.rows.sum(dtype=float))
        found["rows"] = int(rows) if rows.is_integer() else rows
    if "n_features_in_" in state:
        found["columns"] = int(state["n_features_in_"])
    if "classes_" in state:
        found["classes"] = len(state["classes_"])
    return found
