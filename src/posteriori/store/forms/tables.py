"""Schemas, column by column under each other: names, kinds, sizes, then all values; and values that pandas alone has:
intervals, as `cut` makes them, and periods.
"""

from __future__ import annotations

import re
from dataclasses import astuple
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ...errors import NotStorable
from ...table.schema import KINDS, Column, Reading, Schema, is_missing
from .form import Fields, Form, anything, finite, ints, need, numbers, text, tuple_of, whole, word
from .form import nothing as none

SPECS = {
    "names": tuple_of(text),
    "kinds": tuple_of(word(*KINDS)),
    "sizes": ints(1, 0),
    "values": anything,
    "declared": numbers("?", 1),
    "classes": anything,
    "declared_classes": anything,
    "target": text | none,
    "notes": tuple_of(text),
    "reading": anything,
}
PLAIN = Reading()
FORM = re.compile(r"ISO8601|(%[dmbBYHMS][ ./:,-]{0,2})+")  # of dates


def take(schema: Schema) -> dict[str, Any]:
    """The fields of a schema."""
    columns = schema.columns
    for c in columns:
        if not c.declared <= set(c.values):
            raise NotStorable(f"column {c.name!r} declares values that it does not have")
    return {
        "names": schema.names,
        "kinds": schema.kinds,
        "sizes": np.array([len(c.values) for c in columns], dtype=np.int64),
        "values": tuple(v for c in columns for v in c.values),
        "declared": np.array([v in c.declared for c in columns for v in c.values], dtype=np.bool_),
        "classes": schema.classes,
        "declared_classes": schema.declared_classes,
        "target": schema.target,
        "notes": schema.notes,
    } | ({} if schema.reading == PLAIN else {"reading": astuple(schema.reading)})


def build(fields: dict[str, Any]) -> Schema:
    """The schema of its fields."""
    need(set(fields) | {"reading"} == set(SPECS), f"a Schema must have the fields {list(SPECS)}")
    names, kinds, sizes, values = (fields[n] for n in ("names", "kinds", "sizes", "values"))
    declared, classes, told = fields["declared"], fields["classes"], fields["declared_classes"]
    need(type(values) is tuple and type(classes) is tuple and type(told) is frozenset, "values and classes are tuples")
    need(len(names) == len(kinds) == len(sizes), "a schema must say the name, the kind and the size of every column")
    need(
        sizes.sum(dtype=np.float64) == len(values) == len(declared),
        "a schema must have as many values as its sizes say",
    )
    columns, end = [], 0
    for name, kind, size in zip(names, kinds, sizes.tolist()):
        begin, end = end, end + size
        mine = values[begin:end]
        some = declared[begin:end]
        need(is_distinct(mine), f"column {name!r:.50} must have different values, none of them missing")
        columns.append(Column(name, kind, mine, frozenset(v for v, d in zip(mine, some.tolist()) if d)))
    need(len(set(classes)) == len(classes), "classes must be different")  # a network's one class is None
    reading = _reading(fields["reading"]) if "reading" in fields else PLAIN
    return Schema(tuple(columns), classes, told, fields["target"], fields["notes"], reading)


def _reading(held: Any) -> Reading:
    """How the file was read, of which a file may say nothing: then it was plain."""
    need(type(held) is tuple and len(held) == 5, "a reading has five parts")
    missing, decimal, dates, edges, header = held
    texts = tuple_of(text)
    need((texts | none).test(missing), "words for missing cells must be texts")
    need(type(decimal) is str and decimal in (".", ","), "a decimal mark must be '.' or ','")
    need(
        tuple_of(texts).test(dates) and all(len(d) == 2 and FORM.fullmatch(d[1]) for d in dates),
        "dates must have a column and a form",
    )
    need(tuple_of(finite).test(edges) and all(a < b for a, b in pairwise(edges)), "edges must ascend")
    need(type(header) is bool, "a reading says whether a file begins with names")
    return Reading(missing, decimal, dates, edges, header)


def is_distinct(values: Any) -> bool:
    """Whether no value is missing or there twice."""
    if type(values) is tuple and all(type(v) is str for v in values) and all(a < b for a, b in pairwise(values)):
        return True  # texts in order, as they usually are, need no set beside them
    return len(set(values)) == len(values) and not any(map(is_missing, values))


def _fields(*names: str) -> Any:
    return lambda held: {n: getattr(held, n) for n in names}


def _interval(fields: Fields) -> Any:
    return pd.Interval(fields["left"], fields["right"], fields["closed"])


def _period(fields: Fields) -> Any:
    made = pd.Period(ordinal=fields["ordinal"], freq=fields["freqstr"])
    need(isinstance(made, pd.Period), "a Period must be one, and not a missing cell")  # −2⁶³ is NaT
    return made


ENDS = {"left": anything, "right": anything, "closed": text}
MONTHS = {"ordinal": whole, "freqstr": text}
FORMS = {
    "Schema": Form("Schema", Schema, SPECS, take, build, lambda made: None),
    "Interval": Form("Interval", pd.Interval, ENDS, _fields(*ENDS), _interval, lambda made: None),
    "Period": Form("Period", pd.Period, MONTHS, _fields(*MONTHS), _period, lambda made: None),
}
