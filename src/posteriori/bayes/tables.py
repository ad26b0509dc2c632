"""Learning from tables: rows of any kind of columns become statistics, matched by name and value."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array, Floats, Ints
from ..em import Ascent
from ..errors import BadParameter, BadValue, ModelError
from ..estimator import of_any_table
from ..table.encode import Seen
from ..table.frame import Frame, open_frame
from ..table.rows import Rows, open_rows, read_rows, some_rows
from ..table.schema import Schema
from .classifier import BayesClassifier
from .hidden import HiddenClass, choose_weight
from .learning import HIGH, LARGE, ROOM, Learner, PendingRows, has_plain_classes

NUMBERS, PLAIN = frozenset({float, int, bool}), frozenset({str, int, float, bool})  # of a row that may wait


class ReadsTables:
    """A classifier of tables of any kind of columns, matched by name and value."""

    kinds: Any
    class_weight: Any
    n_jobs: int | None
    n_features_in_: int
    _seen: Seen

    @property
    @abstractmethod
    def schema_(self) -> Schema:
        """The columns and classes, with the values that training had."""

    def _open(self, X: Any) -> Frame:
        """The border of prediction: rows with as many columns as training had, in training's order."""
        return some_rows(open_rows(X, self.schema_, type(self).__name__, "feature_names_in_" in vars(self)))

    def _named(self, rows: Rows) -> None:
        self.n_features_in_ = len(rows.schema.columns)
        if rows.frame.names is not None:
            self.feature_names_in_ = np.array(rows.frame.names, dtype=object)

    def _refuse_text(self, schema: Schema) -> None:
        for column in schema.columns:
            if column.kind == "text":
                raise ModelError(
                    f"column {column.name!r} is text, which {type(self).__name__} cannot pair with other columns: "
                    "use NaiveBayes, or turn it into categories first"
                )

    @property
    def n_missing_(self) -> int:
        """Missing cells in the rows that were last looked at, in training or prediction."""
        return int(self._seen.missing)

    @property
    def n_unseen_(self) -> int:
        """Cells of the rows last predicted whose value training did not have."""
        return int(self._seen.unseen)

    def __sklearn_tags__(self) -> Any:
        return of_any_table(super().__sklearn_tags__())  # type: ignore[misc]


class TableLearner(ReadsTables, Learner, BayesClassifier):
    """A learner from tables of any kind of columns.

    Rows without a label are learned too: by `fit` where y has the mark, and by `expectation_maximization`.
    """

    unlabelled: Any = ()
    unlabelled_weight: Any = "auto"

    @abstractmethod
    def _collect(self, frame: Frame, schema: Schema, y: Array, weights: Floats | None, seen: Seen) -> Any:
        """Statistics of these rows alone; `seen` is told of missing cells."""

    def _first(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array]:
        rows = self._rows(X, y, sample_weight, ())
        if rows.hidden is not None and isinstance(self.unlabelled_weight, str):
            self.unlabelled_weight_ = choose_weight(self, rows)
            rows = self._rows(X, y, sample_weight, (), self.unlabelled_weight_)
        if rows.hidden is None:
            return self._count(rows)
        data = HiddenClass(self, rows)
        found = data.climb(type(self).__name__)
        return self._adopt(data.finish(found.parameters), found, rows)

    def _adopt(self, model: Any, found: Ascent[Any], rows: Rows) -> tuple[Any, Array]:
        """What EM has learned, as this model's own."""
        own = self._get_param_names()
        self.__dict__.update({name: value for name, value in vars(model).items() if name not in own})
        self.em_ = replace(found, parameters=None)
        return model.statistics_, rows.labels

    def _hidden(self, X: Any, y: Any, sample_weight: Any, n_classes: int | None, hard: bool) -> HiddenClass:
        """The rows as `expectation_maximization` asks for them."""
        if "unlabelled" not in self._get_param_names():
            raise BadParameter(
                f"{type(self).__name__} has no hidden class; NaiveBayes, TAN, AODE, KDB, SPODE, A2DE have"
            )
        model = copy.copy(self)
        for name in [n for n in vars(model) if n.endswith("_") or n.startswith("_")]:
            del model.__dict__[name]  # what was learned
        model._check_parameters()
        if (y is None) != (n_classes is not None):
            raise BadParameter("give y, with labels for some rows at least, or n_classes where no row has one")
        if n_classes is None:
            rows = model._rows(X, y, sample_weight, ())
        else:
            rows = model._rows(X, np.zeros(open_frame(X).n), sample_weight, ())
            names = np.arange(int(n_classes))
            schema = replace(rows.schema, classes=tuple(names.tolist()), declared_classes=frozenset(names.tolist()))
            rows = replace(rows, schema=schema, labels=names, hidden=np.ones(rows.frame.n, dtype=bool))
        return HiddenClass(model, rows, hard)

    def _read(self, X: Any, y: Any, sample_weight: Any, declared: tuple[Any, ...]) -> tuple[Any, Array]:
        rows = self._rows(X, y, sample_weight, declared)
        if rows.hidden is not None:
            raise BadValue(
                f"rows without a label ({self.unlabelled!r}) are learned by fit alone, all at once: their classes are "
                "inferred from all rows together"
            )
        return self._count(rows)

    def _rows(
        self, X: Any, y: Any, sample_weight: Any, declared: tuple[Any, ...], unlabelled_weight: float = 1.0
    ) -> Rows:
        """The rows, checked; `unlabelled_weight` is taken where the parameter leaves it to be chosen."""
        known, told = vars(self).get("statistics_"), self.unlabelled_weight
        return read_rows(
            X,
            y,
            sample_weight,
            who=type(self).__name__,
            kinds=self.kinds,
            class_weight=self.class_weight,
            known=known and known.schema,
            named=known is None or "feature_names_in_" in vars(self),
            declared=declared,
            unlabelled=self.unlabelled,
            unlabelled_weight=unlabelled_weight if isinstance(told, str) else told,
        )

    def _count(self, rows: Rows) -> tuple[Any, Array]:
        """(statistics of these rows, their labels)."""
        known, seen = vars(self).get("statistics_"), Seen()
        found = self._collect(rows.frame, rows.schema, rows.codes, rows.weights, seen)
        if known is None:
            self._named(rows)
        self._seen = seen
        return found, rows.labels

    def _new_pending(self, parameters: list[tuple[str, Any]]) -> PendingRows | None:
        plain = self.class_weight is None and isinstance(self.unlabelled, tuple) and not self.unlabelled
        return pending_rows(vars(self)["statistics_"], parameters) if plain else None

    def _bufferable_row(self, pending: PendingRows, X: Any, label: Any) -> Any:
        found = row_of(pending, X)
        if found is None:
            return None
        self._seen = Seen(found[1])
        return found[0]

    def _table_of(self, pending: PendingRows, rows: list[Any]) -> Frame:
        return table_of(pending, rows)

    @property
    def schema_(self) -> Schema:
        """The columns and classes, with the values that training had."""
        found: Schema = self.statistics_.schema
        return found

    def _as_came(self, columns: dict[int, Array]) -> Any:
        """Sampled columns as the caller's kind of table: a frame where training had names, else a matrix."""
        ordered = [columns[j] for j in range(len(self.schema_))]
        if hasattr(self, "feature_names_in_"):
            import pandas as pd

            return pd.DataFrame(dict(zip(self.schema_.names, ordered))).infer_objects()
        same = {c.dtype.kind for c in ordered} <= set("iuf")
        made = np.empty((len(ordered[0]), len(ordered)), dtype=float if same else object)
        for j, column in enumerate(ordered):
            made[:, j] = column
        if same:
            return made
        numeric = all(isinstance(v, int | float) for v in made.ravel())
        return made.astype(float if any(isinstance(v, float) for v in made.ravel()) else int) if numeric else made

    @abstractmethod
    def _settled(self, rows: Rows, known: Ints) -> Any:
        """The model that every turn begins with: what is chosen but once is chosen, by the labels if there are any."""

    def _of_known(self, rows: Rows, known: Ints) -> Any:
        """The model of the rows with labels alone."""
        model, w = copy.copy(self), None if rows.weights is None else rows.weights[known]
        counted = model._collect(rows.frame.take_rows(known), rows.schema, rows.codes[known], w, Seen())
        model._become(counted, rows.labels)
        return model

    @abstractmethod
    def _prepared(self, frame: Frame, schema: Schema) -> tuple[Any, Schema]:
        """(the rows as `_scored` and `_counted` read them, the schema with the values of all rows)."""

    @abstractmethod
    def _taken(self, data: Any, rows: Array) -> Any:
        """Some rows of what `_prepared` gives."""

    @abstractmethod
    def _scored(self, data: Any) -> Floats:
        """log P(y, x) of each row."""

    @abstractmethod
    def _counted(self, data: Any, schema: Schema, y: Array, shares: Floats) -> Any:
        """The statistics of the rows, each in every class by its shares."""

    def _climbs(self, schema: Schema) -> bool:
        """Whether counting maximises ℓ, with `_log_prior_of_theta`."""
        return False

    def _log_prior_of_theta(self) -> float:
        """The log density of θ under the prior that smoothing stands for, where M maximises ℓ with it."""
        return 0.0


def pending_rows(base: Any, parameters: list[tuple[str, Any]]) -> PendingRows | None:
    """Where rows of a table may wait, or None where some column could refuse a row later."""
    if not has_plain_classes(base) or base.words.table.max(initial=0) >= ROOM:
        return None
    pending = PendingRows(base, len(base.cells.table), parameters)
    cuts = base.cuts or (None,) * len(base.roles)
    for column, role, cut in zip(base.schema.columns, base.roles, cuts):
        kind: Any = role if role == "words" else column.kind
        if base.joints and cut is None:  # a new value, which makes tables of several columns larger, may be refused
            kind = column.place
        elif role == "cells" and cut is None:
            kind = type(column.values[0]) if column.values else None
            if kind not in (str, int, float, bool):
                return None
            kind = column.place if column.kind == "binary" else kind
        pending.kinds.append(kind)
    wide = len(pending.kinds) * (len(base.rows) + 1)
    pending.most = max(
        1, min(pending.most, (1 << 22) // wide)
    )  # their own counts stay small, whatever values they bring
    return pending


def row_of(pending: PendingRows, X: Any) -> tuple[list[Any], int] | None:
    """(the cells of the one row of X, how many are missing), or None where the row has to be learned at once."""
    names = pending.base.schema.names
    if type(X) is dict:
        if len(X) != len(names):
            return None
        try:
            row = [X[name] for name in names]
        except KeyError:
            return None
    elif type(X) is np.ndarray and X.shape == (1, len(names)) and X.dtype.kind in "biufOU":
        row = X[0].tolist()
    elif hasattr(X, "iloc") and X.shape == (1, len(names)) and tuple(X.columns) == names:
        row = X.iloc[0].tolist()
    else:
        return None
    missing = 0
    for j, (cell, kind) in enumerate(zip(row, pending.kinds)):
        found = type(cell)
        if found not in PLAIN and isinstance(cell, np.generic):
            cell = row[j] = cell.item()
            found = type(cell)
        if cell is None or (found is float and cell != cell):
            row[j] = None
            missing += kind != "words"
        elif found is kind:
            continue
        elif kind == "numeric" or kind == "count":
            least = 0 if kind == "count" else -LARGE
            if found not in NUMBERS or not least <= cell < (HIGH if kind == "count" else LARGE):
                return None
        elif kind == "words":
            if found is not str:
                return None
        elif type(kind) is not dict or found not in PLAIN or cell not in kind:
            return None
    return row, missing


def table_of(pending: PendingRows, rows: list[list[Any]]) -> Frame:
    """Rows that wait, as columns."""
    columns = []
    for cells, kind in zip(zip(*rows), pending.kinds):
        column = np.empty(len(cells), dtype=np.float64 if kind == "numeric" or kind == "count" else object)
        column[:] = cells
        columns.append(column)
    return Frame(len(rows), pending.base.schema.names, columns=tuple(columns))
