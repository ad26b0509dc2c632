"""Array of classes and actions: compared by what they say, never by where they stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import BadValue, LossError, UnknownValue, did_you_mean, listed


def as_labels(labels: Iterable[Any], what: str = "labels") -> Array:
    """Array as one array that keeps their type; a label that comes twice is an error.

    >>> as_labels(["ham", "spam"])
    array(['ham', 'spam'], dtype='<U4')
    >>> as_labels([0, "other"])
    array([0, 'other'], dtype=object)
    """
    if isinstance(labels, np.ndarray):
        found = labels
    else:
        cells = list(labels)
        found = np.asarray(cells, dtype=None if len({type(c) for c in cells}) <= 1 else object)
    if found.ndim != 1:
        raise LossError(f"{what} must be a list of labels; got an array of shape {found.shape}")
    seen: set[Any] = set()
    for label in found.tolist():
        if label in seen:
            raise LossError(f"{what} must differ from each other; {label!r} comes twice")
        seen.add(label)
    return found


def position(label: Any, among: Sequence[Any]) -> int | None:
    """Where `label` is among the labels: the same value, or the same text (a file says '0' for 0), or the same number.

    >>> position("1", [0, 1]), position(1, ["0", "1"]), position("1.0", [0, 1]), position("b", ["a"])
    (1, 1, 1, None)
    """
    return places([label], among)[0]


def places(labels: Iterable[Any], among: Sequence[Any]) -> list[int | None]:
    """`position` of each label."""
    exact = {(type(label), label): i for i, label in enumerate(among)}
    found = []
    for label in labels:
        i = exact.get((type(label), label))
        for same in (_same_text, _same_number):
            i = next((j for j, other in enumerate(among) if same(label, other)), None) if i is None else i
        found.append(i)
    return found


def positions(labels: Sequence[Any], among: Sequence[Any], what: str) -> list[int]:
    """The column of each label; a label that has none is named with its nearest match."""
    found = places(labels, among)
    for label, i in zip(labels, found):
        if i is None:
            raise LossError(f"{what} has no column {label!r} (it has {listed(among)}){did_you_mean(label, among)}")
    return [i for i in found if i is not None]


def codes(labels: npt.ArrayLike, known: Array, what: str) -> npt.NDArray[np.intp]:
    """Each label as its place among the known ones; an unknown one is named.

    >>> codes(["b", "a", "b"], np.array(["a", "b"]), "y")
    array([1, 0, 1])
    """
    try:
        values, inverse = np.unique(np.asarray(labels), return_inverse=True)
    except TypeError:
        raise BadValue(f"{what} holds labels of types that do not compare (None among text?)") from None
    found = places(values.tolist(), known.tolist())
    for value, place in zip(values.tolist(), found):
        if place is None:
            near = did_you_mean(value, known.tolist())
            raise UnknownValue(f"{what} holds {value!r}, which is none of {listed(known.tolist())}{near}")
    return np.asarray(found, dtype=np.intp)[inverse.ravel()]


def joined(labels: Array, further: Iterable[Any]) -> Array:
    """Array and further ones in one array: numbers stay numbers, text stays text, a mixture becomes objects.

    >>> joined(np.array([0, 1], np.uint8), [-1])
    array([ 0,  1, -1])
    >>> joined(np.array(["no", "yes"]), ["reject"])
    array(['no', 'yes', 'reject'], dtype='<U6')
    """
    more = as_labels(further)
    if not len(more):
        return labels
    if (labels.dtype.kind in "biuf" and more.dtype.kind in "biuf") or labels.dtype.kind == more.dtype.kind == "U":
        return np.concatenate([labels, more])
    return np.concatenate([labels.astype(object), more.astype(object)])


def in_order(labels: Array) -> bool:
    """Whether the labels stand in the order in which a scikit-learn classifier keeps its `classes_`.

    >>> in_order(np.array(["ham", "spam"])), in_order(np.array(["low", "high"])), in_order(np.array(["9", "10"]))
    (True, False, False)
    """
    cells = labels.tolist()
    numbers = [number(cell) for cell in cells]
    orders = [cells] if None in numbers else [cells, numbers]  # '10', '9' may stand for numbers: then 9 comes first
    try:
        return all(order == sorted(order) for order in orders)
    except TypeError:  # labels of several types have no order
        return False


def number(cell: Any) -> float | None:
    """A cell as a number, or None where it is not one."""
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def _same_text(a: Any, b: Any) -> bool:
    return str(a) == str(b)


def _same_number(a: Any, b: Any) -> bool:
    return isinstance(a, str) != isinstance(b, str) and number(a) is not None and number(a) == number(b)
