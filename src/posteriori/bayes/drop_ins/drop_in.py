"""Where scikit-learn's contract asks for something else than the other models do: all classes at the first batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import validate_data

from ...arrays import Array, Floats
from ...errors import BadParameter, BadValue, UnknownValue
from ...kernels.naive import NUMBERS
from ..learning import MatrixLearner
from ..waiting import Room, has_plain_classes


class DropIn(MatrixLearner):
    """A learner whose `partial_fit` is told all classes that may ever come by its first call (`classes`), or by `fit`."""

    def _refuse_new(self, classes: tuple[Any, ...]) -> None:
        known = vars(self).get("classes_")
        new = [] if known is None else [c for c in classes if c not in known.tolist()]
        if new:
            raise UnknownValue(f"The target label(s) {new} in y do not exist in the initial classes {known}")

    def _room(self, parameters: list[tuple[str, Any]]) -> Room | None:
        base = vars(self)["statistics_"]
        return Room(base, len(getattr(base.table, "table", ())), parameters) if has_plain_classes(base) else None

    def _admit(self, room: Room, X: Any, label: Any) -> Any:
        if label not in room.classes or type(X) is not np.ndarray or len(X) != 1:
            return None
        return X.copy() if plain(self, X, NUMBERS, False) and self._is_sure(X, room) else None

    def _rows_of(self, room: Room) -> Array:
        return np.concatenate([row for row, _ in room.rows])

    def _is_sure(self, X: Array, room: Room) -> bool:
        """Whether no later check could refuse this row."""
        return False

    def _declared(self, classes: Any) -> tuple[Any, ...]:
        known = vars(self).get("classes_")
        if known is None:
            if classes is None:
                raise BadValue("classes must be passed on the first call to partial_fit.")
            return tuple(unique_labels(classes).tolist())
        if classes is not None and not np.array_equal(known, unique_labels(classes)):
            raise BadValue(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}")
        return ()


def array_of(name: str, value: Any) -> Floats:
    """A parameter that is numbers, as an array of them, finite and not negative."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if not found.size or not np.isfinite(found).all():
        raise BadParameter(f"{name} must be finite numbers. Got {value!r} instead.")
    return found


def plain(model: Any, X: Any, dtypes: Iterable[Any], reset: bool) -> bool:
    """Whether X is an array that the kernels read as it is, with the columns that were learned.

    The way round scikit-learn's checks, which cost more than a prediction; what is not plain goes through them.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in dtypes or not X.size or not X.flags.aligned:
        return False
    known = model.__dict__
    if not reset:
        return "feature_names_in_" not in known and X.shape[1] == known["n_features_in_"]
    model.n_features_in_ = X.shape[1]
    return True


def refuse_numbers(model: Any, X: Any) -> None:
    """Raise scikit-learn's error for NaN and infinity, with its advice."""
    validate_data(model, X, reset=False, accept_sparse="csr")
    raise BadValue("the squares of X are too large for float64 (values beyond about 1e150); rescale the columns")
