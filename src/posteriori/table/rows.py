"""Rows to learn from, in one visit: the columns, what is known of them, the class of each row and its weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, Bools, Floats
from ..errors import BadValue, TableError
from .dates import date_columns
from .frame import Frame, Table, labelled, open_frame
from .kinds import Kinds, resolve_kinds, warn_of_codes
from .labels import encode_labels, hidden_labels, recoded
from .schema import Column, Schema, Value
from .weights import check_weights, row_weights, weights_or_ones


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that count: none of weight zero. `codes` are places in `schema.classes`; `labels` has the dtype of y.

    Rows without a label, where there are any, are `hidden`, and their codes say nothing.
    """

    frame: Frame
    schema: Schema
    codes: Array
    weights: Floats | None
    labels: Array
    hidden: Bools | None = None
    hidden_weight: float = 1.0  # what was multiplied into the weights of those

    @property
    def plain_weights(self) -> Floats | None:
        """The weights as they were before rows without a label were told apart."""
        if self.weights is None or self.hidden is None:
            return self.weights
        return np.where(self.hidden, self.weights / self.hidden_weight, self.weights)


def open_rows(X: Any, known: Schema | None, who: str, named: bool = True) -> Frame:
    """The columns of X, in the order of the `known` schema.

    One row may come as a dict of cells or as a row of a pandas frame. A table whose names are not those of the schema is
    refused if the model was trained with names (`named`), else its columns are taken in order.
    """
    if type(X) is dict and X and all(_is_cell(v) for v in X.values()):
        X = {name: [cell] for name, cell in X.items()}
    if getattr(X, "ndim", 2) == 1 and hasattr(X, "to_dict"):
        X = {str(name): [cell] for name, cell in X.to_dict().items()}
    frame = open_frame(X)
    if known is None:
        if frame.d == 0:
            raise TableError(f"Found array with 0 feature(s) (shape=({frame.n}, 0)) while a minimum of 1 is required.")
        return frame
    if frame.names is not None and (named or set(frame.names) == set(known.names)):
        return frame.matched(known.names)
    if frame.d != len(known):
        raise TableError(f"X has {frame.d} features, but {who} is expecting {len(known)} features as input.")
    return frame


def some_rows(frame: Frame) -> Frame:
    """The same columns, refused where they have no row."""
    if frame.n == 0:
        raise TableError(f"Found array with 0 sample(s) (shape=(0, {frame.d})) while a minimum of 1 is required.")
    return frame


def _is_cell(v: Any) -> bool:
    return not hasattr(v, "__len__") or isinstance(v, str | bytes)


def read_rows(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    who: str,
    kinds: Kinds = None,
    class_weight: Any = None,
    known: Schema | None = None,
    named: bool = True,
    declared: tuple[Value, ...] = (),
    unlabelled: Any = (),
    unlabelled_weight: float = 1.0,
) -> Rows:
    """The rows of X with the classes y: checked, coded, weighed.

    Parameters
    ----------
    who : the name of the model, for messages
    kinds : what was told of the columns; a `Table` brings its own schema where nothing was
    known : the schema of a model that has learned already; its observed values are left out of the rows' schema
    named : whether such a model knows its columns by name
    declared : classes that may come later; all labels must be among them
    unlabelled, unlabelled_weight : the mark, or the marks, of rows without a label, and what such a row weighs
    """
    kinds = X.schema if kinds is None and isinstance(X, Table) else kinds
    X, y = labelled(X, y)
    told = kinds if isinstance(kinds, Schema) else None
    frame = some_rows(open_rows(X, known if known is not None else told, who, named))
    hidden = None
    if y is not None and not (isinstance(unlabelled, tuple) and not unlabelled):
        y, hidden = hidden_labels(y, unlabelled)
        hidden = hidden if hidden.any() else None
    if hidden is not None and hidden.all():
        raise BadValue(
            f"every row is unlabelled ({unlabelled!r}): {who} needs rows of each class. LatentClass finds classes by itself"
        )
    labels, codes = encode_labels(y)
    if len(codes) != frame.n:
        raise TableError(f"X has {frame.n} rows but y has {len(codes)} labels: inconsistent numbers of samples")
    others = {*declared, *(known.classes if known is not None else ())}
    if hidden is None:
        weights = row_weights(sample_weight, class_weight, labels, codes, others)
    else:
        weights = _with_hidden(sample_weight, class_weight, labels, codes, others, hidden, unlabelled_weight)
    if weights is not None and not weights.all():
        rows = weights > 0
        frame, codes, weights = frame.take_rows(rows), codes[rows], weights[rows]
        hidden = hidden[rows] if hidden is not None and hidden[rows].any() else None
        used = np.unique(codes if hidden is None else codes[~hidden])
        if hidden is not None:
            codes = np.where(hidden, used[0], codes)
        labels, codes = labels[used], np.searchsorted(used, codes).astype(codes.dtype)
    if known is not None:
        columns = tuple(c if len(c.values) == len(c.declared) else c.with_values(()) for c in known.columns)
    elif told is not None:
        columns = told.columns
    else:
        names = frame.names or tuple(f"x{j}" for j in range(frame.d))
        columns = tuple(Column(n, k) for n, k in zip(names, resolve_kinds(frame, kinds)))
        if kinds is None:
            warn_of_codes(frame, columns, date_columns(X))
    kept = _declared(labels, declared, known, told)
    classes, codes = recoded(labels, codes, declared, kept)
    if weights is not None and sample_weight is None and class_weight is None and (weights == 1).all():
        weights = None  # rows without a label that weighed nothing are gone
    return Rows(frame, Schema(columns, classes, kept), codes, weights, labels, hidden, float(unlabelled_weight))


def _with_hidden(
    sample_weight: Any,
    class_weight: Any,
    labels: Array,
    codes: Array,
    others: set[Any],
    hidden: Bools,
    unlabelled_weight: float,
) -> Floats:
    """The weights of rows some of which have no label: weights of classes are those of the rows with one."""
    weights = weights_or_ones(sample_weight, len(codes))
    if not weights[~hidden].any():
        raise BadValue("the rows with a label weigh nothing: no row is left to tell the classes")
    own = row_weights(weights[~hidden], class_weight, labels, codes[~hidden], others)
    assert own is not None
    weights[~hidden] = own
    weights[hidden] *= float(unlabelled_weight)
    return check_weights(weights, len(weights))


def _declared(
    labels: Array, declared: tuple[Value, ...], known: Schema | None, told: Schema | None
) -> frozenset[Value]:
    """The classes that stay although no row has them: a schema's yield where y has others (an ensemble recodes labels)."""
    kept = known.declared_classes if known is not None else frozenset()
    if known is None and told is not None and set(labels.tolist()) <= told.declared_classes:
        kept = told.declared_classes
    return kept | frozenset(declared)
