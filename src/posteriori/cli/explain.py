"""`posteriori explain`: the reasons of one decision."""

from __future__ import annotations

import json
from typing import Any

from ..errors import BadValue, UnknownValue, did_you_mean, listed
from ..explain.why import explain
from .models import inner, open_model, schema_of
from .render import console
from .stream import batches


def run_explain(
    model_file: str,
    data: str,
    row: int,
    of: str | None,
    against: str | None,
    as_json: bool,
    encoding: str | None = None,
    sql: str | None = None,
) -> None:
    """Log-odds of every attribute of one row, and the least changes that would change its decision."""
    model = open_model(model_file)
    case = the_row(model, data, row, encoding, sql)
    classes = {str(c): c for c in inner(model).classes_.tolist()}
    why = explain(model, case, _class(of, classes), _class(against, classes))
    if as_json:
        print(json.dumps(_told(why), ensure_ascii=False, default=str))
    else:
        out = console()
        wide = max(8, min(40, out.width - 50))
        out.print(why.text(width=wide, names=max(12, out.width - wide - 14)), markup=False, highlight=False)


def the_row(model: Any, data: str, row: int, encoding: str | None = None, sql: str | None = None) -> dict[str, Any]:
    """Row number `row`, from 1, of a file."""
    n = 0
    with batches(data, schema_of(model), encoding=encoding, sql=sql) as rows:
        for batch in rows:
            n = int(batch.rows[-1])
            if row <= n:
                at = row - int(batch.rows[0])
                return {name: _one(cells[at]) for name, cells in batch.columns.items()}
    raise BadValue(f"{data} has {n:,} rows; there is no row {row:,}")


def _one(cell: Any) -> Any:
    value = cell.as_py() if hasattr(cell, "as_py") else cell.item() if hasattr(cell, "item") else cell
    return None if value != value else value


def _class(name: str | None, classes: dict[str, Any]) -> Any:
    if name is not None and name not in classes:
        raise UnknownValue(f"no class {name!r}{did_you_mean(name, classes) or '.'} Classes: {listed(classes)}")
    return None if name is None else classes[name]


def _part(part: Any) -> dict[str, Any]:
    words = {"words": dict(part.words)} if part.words else {}
    return {"column": part.column, "value": part.value, "log_odds": part.log_odds, **words}


def _told(why: Any) -> dict[str, Any]:
    return {
        "decision": why.decision,
        "class": why.target,
        "against": why.against,
        "log_odds": why.log_odds,
        "prior": why.prior,
        "parts": [_part(p) for p in why.parts],
        "together": why.together,
        "posterior": {str(c): p for c, p in why.posterior.items()},
        "risk": {str(a): r for a, r in why.risk.items()},
        "changes": [
            {"values": {n: list(v) for n, v in c.values.items()}, "decision": c.decision, "probability": c.probability}
            for c in why.changes
        ],
    }
