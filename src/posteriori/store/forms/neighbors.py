"""Neighbours: the points and what they vote on; trees and other indices are built again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ...errors import NotStorable
from ...neighbors.kdtree import KDTree, Store
from ...neighbors.knn import KNeighborsClassifier, KNeighborsRegressor, Neighbors
from ...neighbors.metrics import MIXED, Mixed, Space
from .form import (
    POINTS,
    Fields,
    Form,
    anything,
    array,
    dict_of,
    estimator,
    flag,
    floats,
    ints,
    list_of,
    named_columns,
    natural,
    need,
    needs,
    numbers,
    of,
    real,
    text,
    tuple_of,
    value,
    whole,
    word,
)
from .form import nothing as none

NORMS = ("euclidean", "manhattan", "chebyshev", "minkowski")
TOLD = {"p", "w", "V", "VI", "missing_values"}  # parameters of metrics; others could ask for threads or files


def _tree_of(tree: KDTree) -> Fields:
    return {"points": tree.data} | {n: getattr(tree, n) for n in ("metric", "p", "leaf_size", "n_jobs")}


def _tree(fields: Fields) -> KDTree:
    points = fields.pop("points")
    return KDTree(points, **fields)


def _space(held: Space) -> None:
    need(held.p > 0, "the exponent of a metric must be above 0")
    need(held.map is None or held.map.ndim in (1, 2), "a space is a scale of every column, or a matrix")


def _mixed(held: Mixed) -> None:
    numeric, rest = held.numeric, list(held.places)
    need(sorted([*numeric, *rest]) == list(range(len(numeric) + len(rest))), "every column once")
    need(held.names is None or len(held.names) == len(numeric) + len(rest), "a name of every column")
    need(len(held.shift) == len(held.scale) == len(numeric), "a scale of every number")
    need(list(held.tables) == rest, "a table of every column with values")
    for j, place in held.places.items():
        need(sorted(place.values()) == list(range(len(place))), "every value has its row")
        table = held.tables[j]
        need(len(table) == len(place) + 2 and table.shape[1] > 0, "a row of every value")
        known = held.metric == "gower" or not np.isnan(table).any()
        need(known and not np.isinf(table).any(), "the coordinates of values must be finite")


def _rows_of(model: Any) -> Fields:
    """The rows in the place of their index."""
    told = model.metric_params or {}
    if strange := [name for name in told if name not in TOLD]:
        raise NotStorable(f"metric_params: a model file holds {sorted(TOLD)}. Got {strange[0]!r} instead.")
    fields: Fields = _FORMS[type(model)].take(model)
    if "_store" in vars(model):
        model._same_metric()  # else the rows could not be indexed again
        fields["_rows"] = model._store.rows
    return fields


def _model(cls: type, fields: Fields) -> Any:
    rows = fields.pop("_rows", None)
    told = fields.get("metric_params") or {}
    need(isinstance(told, dict) and set(told) <= TOLD, "metric_params that no model file holds")
    model = _FORMS[cls].build(fields)
    if rows is not None:
        _check_rows(model, rows)
        model._store = Store(rows, model._index)
    return model


def _check_rows(model: Neighbors, rows: Any) -> None:
    """Rows that an index can be built of."""
    needs(model, "n_features_in_", "_space", "_weight", "_learned_by")
    d, space = model.n_features_in_, model._space
    need(sparse.issparse(rows) or type(rows) is np.ndarray, "the rows must be a table")
    need(
        rows.ndim == 2 and rows.shape[0] > 0 and d > 0 and rows.dtype.kind in "fiub",
        "the rows must be a table of numbers",
    )
    need(isinstance(space, Mixed) == (model.metric in MIXED), "mixed rows have a mixed metric")
    if space is None:
        need(rows.shape[1] == d, "the rows must have all columns")
        need(model.metric != "precomputed" or rows.shape[0] == d, "precomputed distances must be square")
        return
    need(type(rows) is np.ndarray and rows.dtype.char in "df" and rows.flags.c_contiguous, "the rows must be numbers")
    if isinstance(space, Mixed):
        need(rows.shape[1] == sum(space.widths), "the rows must have all coordinates")
        need(len(space.numeric) + len(space.places) == d, "the space must have all columns")
        need(space.metric == model.metric, "the space must be that of the metric")
        need(not np.isinf(rows).any() and (space.metric == "gower" or not np.isnan(rows).any()), "finite coordinates")
        return
    wide = d if space.map is None or space.map.ndim == 1 else space.map.shape[1]
    need(space.map is None or space.map.shape[0] == d, "the space must have all columns")
    need(rows.shape[1] == wide and np.isfinite(rows).all(), "the rows must have finite coordinates in every column")


def _neighbors(model: Any) -> int:
    needs(model, "_store", "n_neighbors_")
    n = len(model._store)
    need(model._weight is None or model._weight.shape == (n,), "a weight of every row")
    need(set(model._learned_by) == {"metric", "metric_params", "kinds"}, "what the rows were learned by")
    named_columns(model)
    return n


def _classifier(model: KNeighborsClassifier) -> None:
    n = _neighbors(model)
    needs(model, "classes_", "_codes")
    need(model.classes_.ndim == 1 and len(model.classes_) > 0, "there must be a class")
    need(model._codes.shape == (n,) and model._codes.max() < len(model.classes_), "a class of every row")


def _regressor(model: KNeighborsRegressor) -> None:
    n = _neighbors(model)
    needs(model, "_targets", "_flat")
    need(len(model._targets) == n and model._targets.shape[1] > 0, "a target of every row")
    need(not model._flat or model._targets.shape[1] == 1, "a flat target has one column")


STATE = {
    **POINTS,
    "_weight": floats(1, 0) | none,
    "_space": of("Space", "Mixed") | none,
    "_learned_by": dict_of(text, anything),
    "n_neighbors_": natural(),
    "loo_curve_": floats(1, finite=False),
}
_FORMS: dict[type, Form] = {
    KNeighborsClassifier: estimator(
        KNeighborsClassifier, _classifier, {**STATE, "classes_": array, "_codes": ints(1, 0)}, remade=("_store",)
    ),
    KNeighborsRegressor: estimator(
        KNeighborsRegressor, _regressor, {**STATE, "_targets": numbers("df", 2), "_flat": flag}, remade=("_store",)
    ),
}
_tree_form = Form(
    "KDTree",
    KDTree,
    {
        "points": numbers("df", 2),
        "metric": word(*NORMS),
        "p": real,
        "leaf_size": natural(1 << 20),
        "n_jobs": whole | none,
    },
    _tree_of,
    _tree,
    lambda tree: None,
)
FORMS = {
    "KDTree": _tree_form,
    "Space": value(Space, _space, metric=word(*NORMS), p=real, map=numbers("df") | none),
    "Mixed": value(
        Mixed,
        _mixed,
        metric=word(*MIXED),
        names=tuple_of(text) | none,
        numeric=list_of(natural()),
        shift=floats(1),
        scale=floats(1),
        places=dict_of(natural(), dict_of(anything, natural())),
        tables=dict_of(natural(), floats(2, finite=False)),
    ),
    **{
        form.tag: replace(
            form,
            specs={**form.specs, "_rows": anything},
            take=_rows_of,
            build=partial(_model, cls),
        )
        for cls, form in _FORMS.items()
    },
}
