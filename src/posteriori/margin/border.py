"""Where tables and weights enter this room: checked once, with errors that say the way out."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight, validate_data

from ..arrays import Floats
from ..errors import BadValue, ModelError, TableError
from .columns import Columns, is_mixed

NOT_GIVEN: Any = object()
IMPUTE = "make_pipeline(SimpleImputer(), StandardScaler(), {name}())"


def checked_table(estimator: Any, X: Any, y: Any = NOT_GIVEN, *, reset: bool, numeric_y: bool = False) -> Any:
    """X as float64 rows (dense or CSR), and y where it was given; a missing or infinite cell is an error.

    A table of named columns that are not all numbers goes through its schema, kept as `columns_`: categories one-hot.
    """
    if reset and is_mixed(X):
        estimator.columns_ = Columns.of(X)
    elif reset and hasattr(estimator, "columns_"):
        del estimator.columns_
    if hasattr(estimator, "columns_"):
        return _through_schema(estimator, X, y, reset, numeric_y)
    options: dict[str, Any] = {
        "accept_sparse": "csr",
        "dtype": np.float64,
        "order": "C",
        "ensure_all_finite": False,
        "accept_large_sparse": False,
        "reset": reset,
    }
    if y is NOT_GIVEN:
        X = validate_data(estimator, X, **options)
        _all_finite(estimator, X)
        return X
    X, y = validate_data(estimator, X, y, y_numeric=numeric_y, **options)
    _all_finite(estimator, X)
    return X, y


def _through_schema(estimator: Any, X: Any, y: Any, reset: bool, numeric_y: bool) -> Any:
    points = estimator.columns_.points(X)
    estimator.n_features_in_ = len(estimator.columns_.schema)
    estimator.feature_names_in_ = np.array(estimator.columns_.schema.names, dtype=object)
    _all_finite(estimator, points, estimator.columns_.coordinates)
    if y is NOT_GIVEN:
        return points
    y = check_array(y, ensure_2d=False, dtype=np.float64) if numeric_y else column_or_1d(y, warn=True)
    check_consistent_length(points, y)
    return np.ascontiguousarray(points), y


def _all_finite(estimator: Any, X: Any, names: Any = None) -> None:
    values = X.data if sparse.issparse(X) else X
    if np.isfinite(values).all():
        return
    rows, columns = X.tocoo().coords if sparse.issparse(X) else np.indices(X.shape).reshape(2, -1)
    at = int(np.flatnonzero(~np.isfinite(values.ravel()))[0])
    column = int(columns[at])
    names = getattr(estimator, "feature_names_in_", None) if names is None else names
    what = "a missing cell (NaN)" if np.isnan(values.ravel()[at]) else "an infinite cell (inf)"
    name = type(estimator).__name__
    raise BadValue(
        f"{what} in row {int(rows[at])}, column {column if names is None else repr(str(names[column]))}: a margin needs "
        f"every coordinate. Impute first, in a pipeline: {IMPUTE.format(name=name)}"
    )


def checked_weights(sample_weight: Any, X: Any) -> Floats:
    """Weights of at least 0, some of them above."""
    weight: Floats = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weight < 0).any():
        raise BadValue(f"a sample weight must not be negative; row {int(np.argmax(weight < 0))} has {weight.min()}")
    if not (weight > 0).any():
        raise BadValue("all sample weights are zero: no row is left to learn from")
    return weight


def every_class_counts(weight: Floats, of_class: Floats, codes: Any, classes: Any) -> None:
    """No class weight is negative, and every class has a row that weighs something."""
    if not (of_class >= 0).all():
        at = int(np.argmin(of_class >= 0))
        raise ModelError(f"a class weight must be at least 0; class {classes.tolist()[at]!r} has {of_class[at]}")
    if len(np.unique(codes[weight * of_class[codes] > 0])) < len(classes):
        raise ModelError("a class has no row of positive weight: the rows that count have fewer classes than y")


def positive(**numbers: float) -> None:
    """Each named number is above zero."""
    for name, value in numbers.items():
        if not value > 0:
            raise ModelError(f"{name} must be above 0; got {value!r}")


def square_or_error(X: Any) -> None:
    if sparse.issparse(X):
        raise TableError("a precomputed kernel matrix must be dense; pass X.toarray()")
    if X.shape[0] != X.shape[1]:
        raise TableError(f"Precomputed matrix must be a square matrix of the training rows; got shape {X.shape}")
