"""Labels -> class codes, at the speed of reading them; and labels matched to classes that are known by name.

Symbols: y labels (n,); classes their distinct values, sorted; codes[r] the place of y[r] in classes.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Collection, Hashable, Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, column_or_1d

from ..arrays import Array, Bools, Floats, Ints
from ..errors import BadParameter, BadType, BadValue, UnknownValue, did_you_mean, listed
from ..kernels import encode_integers
from .schema import in_order, is_missing

MOST_LOOKED_AT = 100  # unseen values of a column whose types are compared with the known ones
CONTINUOUS = (
    "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete classes on a "
    "regression target with continuous values. For a quantity take KNeighborsRegressor or SVR."
)


def narrowest(size: int) -> type[np.unsignedinteger[Any]]:
    """The narrowest unsigned integer that holds codes 0 .. size−1.

    >>> narrowest(256).__name__, narrowest(257).__name__
    ('uint8', 'uint16')
    """
    return np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32


def flat_labels(y: ArrayLike | None) -> Array:
    """Labels as a 1-D array: a column is flattened with scikit-learn's warning, anything else is refused."""
    if y is None:
        raise BadValue("labels are needed: the estimator requires y to be passed, but the target y is None")
    if isinstance(y, np.ma.MaskedArray) and np.ma.getmaskarray(y).any():
        row = int(np.argmax(np.ma.getmaskarray(y)))
        raise BadValue(f"Input y contains NaN (masked in row {row}): a row needs a label")
    if type(y) is np.ndarray and y.ndim == 1:
        labels: Array = y
    else:
        labels = column_or_1d(y, warn=True)
    if not labels.dtype.isnative:
        labels = labels.astype(labels.dtype.newbyteorder("="))
    if labels.dtype.kind == "c":
        raise BadValue("Complex data not supported: labels are discrete values, not complex numbers")
    return labels


def encode_labels(y: ArrayLike | None, classes: Array | None = None) -> tuple[Array, Array]:
    """(classes, codes): the distinct labels, sorted, and the code of each row in the narrowest unsigned integer.

    With `classes` (sorted) given, codes are places in it and a label outside it is an error.

    >>> classes, codes = encode_labels(["ham", "spam", "ham"])
    >>> classes.tolist(), codes.tolist(), codes.dtype.name
    (['ham', 'spam'], [0, 1, 0], 'uint8')
    """
    labels = flat_labels(y)
    kind = labels.dtype.kind
    if kind == "f":
        labels, back = _integral(labels), labels.dtype
        found, codes = _encode_integers(labels)
        found = found.astype(back)
    elif kind in "iu":
        found, codes = _encode_integers(labels)
    elif kind == "b":
        small, codes = _encode_integers(labels.view(np.uint8))
        found = small.astype(bool)
    elif kind in "OUST":
        found, codes = _encode_objects(labels)
    else:
        raise BadValue(f"Unknown label type: unknown. Labels are numbers, strings or booleans; got {labels.dtype}")
    return (found, codes) if classes is None else (classes, _translate(found, codes, classes))


def hidden_labels(y: Any, unlabelled: Any) -> tuple[Array, Bools]:
    """(labels, which rows have none): a row is unlabelled where its label is the mark, or one of a tuple of marks.

    None and NaN both stand for any missing label, whatever the table makes of it. Where a label is missing some other one
    stands, so that the rest can be encoded.

    >>> hidden_labels(["a", None, "b"], None)
    (array(['a', 'a', 'b'], dtype='<U1'), array([False,  True, False]))
    """
    marks = unlabelled if isinstance(unlabelled, tuple) else (unlabelled,)
    if any(
        isinstance(mark, list | set | frozenset | dict) or np.ndim(mark) for mark in marks
    ):  # no label is one of these
        raise BadParameter(f"unlabelled is a label, or a tuple of labels. Got {unlabelled!r} instead.")
    missing = any(is_missing(mark) for mark in marks)
    told = [mark for mark in marks if not is_missing(mark)]
    masked = np.ma.getmaskarray(y) if missing and isinstance(y, np.ma.MaskedArray) else None
    listed_ = isinstance(y, list | tuple)
    if listed_:  # NumPy would make text of a NaN among text
        labels: Array = np.empty(len(y), dtype=object)
        labels[:] = [v if np.ndim(v) == 0 else v[0] if len(v) == 1 else v for v in y]
    else:
        labels = flat_labels(y.data if masked is not None else y)
    if labels.dtype.kind in "iufb":
        hidden = np.isnan(labels) if missing and labels.dtype.kind == "f" else np.zeros(len(labels), dtype=bool)
        for mark in told:
            if isinstance(mark, Real) and isinstance(mark, bool | np.bool_) == (labels.dtype.kind == "b"):
                hidden |= labels == mark
    else:
        hidden = np.fromiter(
            (missing if is_missing(v) else any(_is_mark(v, mark) for mark in told) for v in labels.tolist()),
            dtype=bool,
            count=len(labels),
        )
    hidden = hidden if masked is None else hidden | masked.ravel()
    if hidden.any() and not hidden.all():
        labels = labels.copy()
        labels[hidden] = labels[np.argmin(hidden)]
        if labels.dtype == object and len(kinds := {type(v) for v in labels}) == 1 and issubclass(kinds.pop(), Real):
            labels = np.asarray(labels.tolist())  # numbers that were objects for the sake of the mark alone
    return np.asarray(labels.tolist()) if listed_ and not hidden.all() else labels, hidden


def _is_mark(label: Any, mark: Any) -> bool:
    """Whether they are equal, a boolean being no number."""
    return isinstance(label, bool | np.bool_) == isinstance(mark, bool | np.bool_) and bool(label == mark)


def _integral(labels: Array) -> Array:
    """Floats that are whole numbers, as integers."""
    whole = labels.astype(np.float64, copy=False)
    if np.isnan(whole).any():
        raise BadValue(f"Input y contains NaN (first in row {int(np.argmax(np.isnan(whole)))}): a row needs a label")
    if np.isinf(whole).any():
        raise BadValue(f"Input y contains infinity or a value too large for {labels.dtype!r}.")
    if (np.abs(whole) >= 2.0**62).any() or (whole != np.floor(whole)).any():
        raise BadValue(CONTINUOUS)
    return whole.astype(np.int64)


def _encode_integers(labels: Array) -> tuple[Array, Array]:
    """Integers in a short range are encoded in two reads, others by sorting."""
    if not len(labels):
        return labels[:0], np.zeros(0, np.uint8)
    quick = encode_integers(labels)
    if quick is not None:
        return quick
    found, codes = np.unique(labels, return_inverse=True)
    return found, codes.astype(narrowest(len(found)))


def _encode_objects(labels: Array) -> tuple[Array, Array]:
    """Strings and objects through a dictionary; only the distinct ones are sorted."""
    values = labels.tolist()
    try:
        distinct = dict.fromkeys(values)
    except TypeError:
        raise BadValue("Unknown label type: unknown. Labels are numbers, strings or booleans, not lists") from None
    for value in distinct:
        if isinstance(value, bytes):
            raise BadType("Labels represented as bytes are not supported. Convert them to a string or integer format.")
        if is_missing(value):
            row = next(r for r, v in enumerate(values) if v is value)
            raise BadValue(f"Input y contains NaN ({value!r} in row {row}): a row needs a label")
        if isinstance(value, (list, tuple, dict, set, complex)):
            raise BadValue(f"Unknown label type: unknown. Labels are numbers, strings or booleans; got {value!r}")
        if isinstance(value, float) and not value.is_integer():
            raise BadValue(CONTINUOUS)
    try:
        order = sorted(distinct)
    except TypeError:
        kinds = sorted({type(v).__name__ for v in distinct})
        raise BadValue(f"Unknown label type: unknown. The labels mix {listed(kinds)}, which have no order") from None
    place = {value: code for code, value in enumerate(order)}
    codes = np.fromiter(map(place.__getitem__, values), narrowest(len(order)), len(values))
    return np.array(order, dtype=labels.dtype if labels.dtype.kind != "T" else None), codes


def _translate(found: Array, codes: Array, classes: Array) -> Array:
    """Codes into `found` -> codes into `classes`."""
    if len(found) == len(classes) and np.array_equal(found, classes):
        return codes
    if (found.dtype.kind in "OUT") != (classes.dtype.kind in "OUT"):
        raise UnknownValue(f"The target label(s) {found} in y do not exist in the initial classes {classes}")
    at = np.minimum(np.searchsorted(classes, found), len(classes) - 1)
    strange = classes[at] != found
    if strange.any():
        raise UnknownValue(f"The target label(s) {found[strange]} in y do not exist in the initial classes {classes}")
    return at.astype(narrowest(len(classes)))[codes]


def recoded(labels: Array, codes: Array, declared: Iterable[Any], kept: Iterable[Any]) -> tuple[tuple[Any, ...], Array]:
    """(classes, codes) among the labels and the classes `kept`; labels that are not `declared`, where any are, are refused.

    >>> recoded(np.array(["b"]), np.array([0, 0], np.uint8), (), ["a"])[1].tolist()
    [1, 1]
    """
    mine, declared = labels.tolist(), tuple(declared)
    if declared and not set(mine) <= set(declared):
        strange = [c for c in mine if c not in declared]
        raise UnknownValue(
            f"The target label(s) {listed(strange)} in y do not exist in the initial classes {listed(declared)}"
            f"{did_you_mean(strange[0], declared)}"
        )
    classes = in_order({*mine, *kept})
    if classes != tuple(mine):
        place = {c: k for k, c in enumerate(classes)}
        codes = np.array([place[c] for c in mine], dtype=narrowest(len(classes)))[codes]
    return classes, codes


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


def match_labels(labels: ArrayLike, known: Array, what: str) -> Ints:
    """Each label as its place among the known ones; an unknown one is named.

    >>> match_labels(["b", "a", "b"], np.array(["a", "b"]), "y")
    array([1, 0, 1])
    """
    try:
        cells = np.asarray(labels)
        values, inverse = np.unique(cells, return_inverse=True)
    except (TypeError, ValueError, OverflowError):
        raise BadValue(f"{what} holds labels of types that do not compare (None among text?)") from None
    if cells.ndim != 1 or not all(isinstance(value, Hashable) for value in values.tolist()):
        raise BadValue(f"{what} must be a list of labels. Got {labels!r} instead.")
    found = places(values.tolist(), known.tolist())
    for value, place in zip(values.tolist(), found):
        if place is None:
            near = did_you_mean(value, known.tolist())
            raise UnknownValue(f"{what} holds {value!r}, which is none of {listed(known.tolist())}{near}")
    return np.asarray(found, dtype=np.int64)[inverse.ravel()]


def read_targets(y: ArrayLike | None) -> Floats:
    """Quantities to predict, one a row or a row of them: finite floats, a copy.

    >>> read_targets([1, 2])
    array([1., 2.])
    """
    if y is None:
        raise BadValue("targets are needed: the estimator requires y to be passed, but the target y is None")
    try:
        found: Floats = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", copy=True)
    except (TypeError, OverflowError):
        raise BadType(f"y must be numbers, one for each row. Got {y!r} instead.") from None
    if found.ndim not in (1, 2):
        raise BadValue(f"y must have one or two dimensions. Got {found.ndim} instead.")
    return found


def as_classes(classes: Any) -> tuple[Any, ...]:
    """Classes that were told, as Python has them: a list of labels, none of which is missing.

    >>> as_classes(np.array(["ham", "spam"]))
    ('ham', 'spam')
    """
    try:
        found = tuple(np.asarray(classes).tolist())
        if all(isinstance(c, Hashable) and not is_missing(c) for c in found):
            return found
    except (TypeError, ValueError, OverflowError):
        pass
    raise BadValue(f"classes must be a list of labels. Got {classes!r} instead.")


def number(cell: Any) -> float | None:
    """A cell as a number, or None where it is not one."""
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return None


def _same_text(a: Any, b: Any) -> bool:
    return str(a) == str(b)


def _same_number(a: Any, b: Any) -> bool:
    return isinstance(a, str) != isinstance(b, str) and number(a) is not None and number(a) == number(b)


def warn_of_types(column: str, strange: Iterable[Any], known: Collection[Any]) -> None:
    """Say so where an unseen value is known in another type: 1 learned and "1" asked are two values.

    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     warn_of_types("wheels", ["4", "many"], {4: 0})
    >>> str(said[0].message)
    "column 'wheels': '4' (str) is unseen, but training had 4 (int); give both tables the same type"
    """
    for value in itertools.islice(strange, MOST_LOOKED_AT):
        same = number(value)
        if isinstance(value, str):
            forms: list[Any] = [same, {"True": True, "False": False}.get(value)]
        else:
            forms = [str(value), None if same is None else f"{same:g}"]
        found = next((form for form in forms if form is not None and form in known), None)
        if found is not None:
            learned = next(v for v in known if v == found)
            warnings.warn(
                f"column {column!r}: {value!r} ({type(value).__name__}) is unseen, but training had {learned!r} "
                f"({type(learned).__name__}); give both tables the same type",
                UserWarning,
                stacklevel=2,
            )
            return
