"""Labels of classes and actions: compared by what they say, never by where they stand."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import LossError, did_you_mean, listed
from ..table.labels import number, places
from ..table.schema import in_order, is_missing


def distinct_labels(labels: Any, what: str = "labels") -> Array:
    """Labels as one array that keeps their type; a label that comes twice is an error.

    >>> distinct_labels(["ham", "spam"])
    array(['ham', 'spam'], dtype='<U4')
    >>> distinct_labels([0, "other"])
    array([0, 'other'], dtype=object)
    """
    if isinstance(labels, np.ndarray):
        found = labels
    else:
        if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
            raise LossError(f"{what} must be a list of labels; got {labels!r}")
        cells = list(labels)
        try:
            found = np.asarray(cells, dtype=None if len({type(c) for c in cells}) <= 1 else object)
        except ValueError:
            raise LossError(f"{what} must be a list of labels; got lists of different lengths") from None
    if found.ndim != 1:
        raise LossError(f"{what} must be a list of labels; got an array of shape {found.shape}")
    seen: set[Any] = set()
    for label in found.tolist():
        if is_missing(label) or not isinstance(label, Hashable):
            raise LossError(f"{what} must be a list of labels; {label!r} is none")
        if label in seen:
            raise LossError(f"{what} must differ from each other; {label!r} comes twice")
        seen.add(label)
    return found


def positions(labels: Sequence[Any], among: Sequence[Any], what: str) -> list[int]:
    """The column of each label; a label that has none is named with its nearest match."""
    found = places(labels, among)
    for label, i in zip(labels, found):
        if i is None:
            raise LossError(f"{what} has no column {label!r} (it has {listed(among)}){did_you_mean(label, among)}")
    return [i for i in found if i is not None]


def joined(labels: Array, further: Iterable[Any]) -> Array:
    """Labels and further ones in one array: numbers stay numbers, text stays text, a mixture becomes objects.

    >>> joined(np.array([0, 1], np.uint8), [-1])
    array([ 0,  1, -1])
    >>> joined(np.array(["no", "yes"]), ["reject"])
    array(['no', 'yes', 'reject'], dtype='<U6')
    """
    more = distinct_labels(further)
    if not len(more):
        return labels
    if (labels.dtype.kind in "biuf" and more.dtype.kind in "biuf") or labels.dtype.kind == more.dtype.kind == "U":
        return np.concatenate([labels, more])
    return np.concatenate([labels.astype(object), more.astype(object)])


def united(*labels: Any) -> Array:
    """The distinct labels of several lists, in order; the type they came in where they share one."""
    parts = [np.asarray(part).ravel() for part in labels]
    try:
        return np.unique(np.concatenate(parts) if len({p.dtype.kind in "OUS" for p in parts}) == 1 else _objects(parts))
    except TypeError:
        return distinct_labels(in_order(dict.fromkeys(_objects(parts).tolist())))


def _objects(parts: list[Array]) -> Array:
    return np.concatenate([part.astype(object) for part in parts])


def in_class_order(labels: Array) -> bool:
    """Whether the labels stand in the order in which a scikit-learn classifier keeps its `classes_`.

    >>> in_class_order(np.array(["ham", "spam"])), in_class_order(np.array(["9", "10"]))
    (True, False)
    """
    cells = labels.tolist()
    numbers = [number(cell) for cell in cells]
    orders = [cells] if None in numbers else [cells, numbers]  # '10', '9' may stand for numbers: then 9 comes first
    try:
        return all(order == sorted(order) for order in orders)
    except TypeError:  # labels of several types have no order
        return False
