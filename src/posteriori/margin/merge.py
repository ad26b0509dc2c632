"""Rows to learn from: read once at the border, equal ones merged.

Equal rows with equal targets are one row of summed weight: the same problem, with fewer multipliers. They come out in an
order of their own, so a table with weights and the table with its rows written out as often as they weigh are one and the
same problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length

from ..arrays import Bools, Floats, Ints
from ..errors import ModelError, listed
from ..kernels.margin import merge_rows
from ..table.frame import labelled
from ..table.labels import encode_labels
from ..table.points import Border, read_points
from ..table.weights import class_weights, weights_or_ones


def read_table(model: Any, X: Any, *, reset: bool = False) -> Any:
    """X as float64 rows, dense or CSR: categories are corners, and a missing cell is an error that names a pipeline."""
    pipeline = f"make_pipeline(SimpleImputer(), StandardScaler(), {type(model).__name__}())"
    way_out = f"Impute first, in a pipeline: {pipeline}; words by SimpleImputer(strategy='most_frequent')"
    return read_points(model, X, Border("a margin needs every coordinate", way_out, one_hot=True), reset=reset)


def read_classes(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Ints, Floats, Floats]:
    """(rows, the class of each, its weight, the weight of each class); sets `classes_`."""
    X, y = labelled(X, y)
    X = read_table(model, X, reset=True)
    model.classes_, narrow = encode_labels(y)
    codes = narrow.astype(np.int64)
    check_consistent_length(X, codes)
    if len(model.classes_) < 2:
        raise ModelError(f"a margin lies between two classes; y has only one class: {listed(model.classes_.tolist())}")
    weight = weights_or_ones(sample_weight, len(codes))
    of_class = class_weights(model.class_weight, model.classes_, codes)
    if not np.bincount(codes, weight * of_class[codes] > 0, len(of_class)).all():
        raise ModelError("a class has no row of positive weight: the rows that count have fewer classes than y")
    return X, codes, weight, of_class


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """Distinct rows: `first[g]` is a row of group g; `group[i]` (−1: weight 0) and `share[i]` place original row i."""

    first: Ints
    weight: Floats
    group: Ints
    share: Floats

    def spread(self, beta: Floats) -> Floats:
        """The multipliers of the original rows: each has its share of its group's (last axis)."""
        return np.asarray(np.where(self.group >= 0, beta[..., self.group] * self.share, 0.0))


def as_they_are(weight: Floats) -> Merged:
    """Every row of positive weight a group of its own, in its order."""
    first = np.flatnonzero(weight > 0)
    group = np.full(len(weight), -1)
    group[first] = np.arange(len(first))
    return Merged(first, weight[first], group, np.ones(len(weight)))


def merge(X: Any, target: Floats | Ints, weight: Floats) -> Merged:
    """Find the equal rows among those of positive weight.

    >>> found = merge(np.array([[1.], [2.], [1.], [1.]]), np.array([0, 0, 0, 1]), np.array([1., 1., 2., 1.]))
    >>> sorted(found.weight.tolist()), found.group[0] == found.group[2]
    ([1.0, 1.0, 3.0], np.True_)
    """
    if not sparse.issparse(X):
        rows = np.ascontiguousarray(X, dtype=np.float64)
        return Merged(*merge_rows(rows, target.astype(np.float64), weight, _directions(X.shape[1])))
    live = np.flatnonzero(weight > 0)
    keys = _keys(X, live)
    order = live[np.lexsort((*keys, target[live]))]
    position = np.empty(X.shape[0], np.int64)
    position[live] = np.arange(len(live))
    same = target[order[1:]] == target[order[:-1]]
    for key in keys:
        sorted_key = key[position[order]]
        same &= sorted_key[1:] == sorted_key[:-1]
    at = np.flatnonzero(same)
    same[at] = _equal(X, order[at], order[at + 1])
    number = np.concatenate([[0], np.cumsum(~same)])
    group = np.full(X.shape[0], -1)
    group[order] = number
    total = np.asarray(np.bincount(number, weight[order]), dtype=np.float64)
    return Merged(order[np.concatenate([[True], ~same])], total, group, weight / total[group])


def _keys(X: Any, live: Ints) -> tuple[Floats, Floats]:
    """Two projections of each row: equal for equal rows, almost surely not for others (which `_equal` then tells apart)."""
    directions = _directions(X.shape[1])
    rows = X if len(live) == X.shape[0] else X[live]
    return rows @ directions[0], rows @ directions[1]


def _directions(d: int) -> Floats:
    return _kept_directions(d) if d <= 1000 else _kept_directions.__wrapped__(d)


@lru_cache(maxsize=8)  # a generator takes longer to make than some hundred rows to merge
def _kept_directions(d: int) -> Floats:
    return np.random.RandomState(20_05).uniform(0.5, 1.5, (2, d))


def _equal(X: Any, a: Ints, b: Ints) -> Bools:
    return np.asarray(np.asarray(abs(X[a] - X[b]).sum(axis=1)).ravel() == 0)
