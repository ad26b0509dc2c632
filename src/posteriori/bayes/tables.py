"""Learning from tables: rows of any kind of columns become statistics, matched by name and value."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any

import numpy as np

from ..arrays import Array, Floats
from ..em import Ascent
from ..errors import ModelError
from ..estimator import of_any_table
from ..fields import FRESH, MAYBE, UNBOUNDED, need
from ..statistics.statistics import Statistics
from ..table.encode import Seen
from ..table.frame import Frame
from ..table.rows import Rows, open_rows, read_rows, some_rows
from ..table.schema import Schema
from .classifier import BayesClassifier
from .learning import Learner
from .pending import PendingCells, PendingRows


class ReadsTables:
    """A classifier of tables of any kind of columns, matched by name and value."""

    kinds: Any
    class_weight: Any
    n_jobs: int | None
    _seen: Annotated[Seen, FRESH]  # what the last rows lacked

    @property
    @abstractmethod
    def schema_(self) -> Schema:
        """The columns and classes, with the values that training had."""

    @property
    def _has_names(self) -> bool:
        """Whether the table that was learned named its columns."""
        return "feature_names_in_" in self.__dict__

    def _open(self, X: Any) -> Frame:
        """The border of prediction: rows with as many columns as training had, in training's order."""
        return some_rows(open_rows(X, self.schema_, type(self).__name__, self._has_names))

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
    """A learner from tables of any kind of columns."""

    statistics_: Statistics
    em_: Annotated[Ascent[Any], MAYBE]
    unlabelled_weight_: Annotated[float, UNBOUNDED, MAYBE]

    def _check_state(self) -> None:
        super()._check_state()
        need(len(self.classes_) > 0, "a fitted model must have a class")

    @abstractmethod
    def _collect(self, frame: Frame, schema: Schema, y: Array, weights: Floats | None) -> tuple[Any, Seen]:
        """(statistics of these rows alone, how many cells were missing)."""

    def _read(self, X: Any, y: Any, sample_weight: Any, declared: tuple[Any, ...]) -> tuple[Any, Array]:
        return self._count(self._rows(X, y, sample_weight, declared))

    def _rows(self, X: Any, y: Any, sample_weight: Any, declared: tuple[Any, ...], **labels: Any) -> Rows:
        """The rows, checked; `labels` says which of them have none."""
        return read_rows(
            X,
            y,
            sample_weight,
            who=type(self).__name__,
            kinds=self.kinds,
            class_weight=self.class_weight,
            known=None if self._fresh else self.schema_,
            named=self._fresh or self._has_names,
            declared=declared,
            **labels,
        )

    def _count(self, rows: Rows) -> tuple[Any, Array]:
        """(statistics of these rows, their labels)."""
        fresh = self._fresh
        statistics, seen = self._collect(rows.frame, rows.schema, rows.codes, rows.weights)
        if fresh:
            self._named(rows)
        self._seen = seen
        return statistics, rows.labels

    def _new_pending(self, parameters: list[tuple[str, Any]]) -> PendingRows | None:
        return PendingCells.of(self.statistics_, parameters) if self.class_weight is None else None

    @property
    def schema_(self) -> Schema:
        """The columns and classes, with the values that training had."""
        found: Schema = self.statistics_.schema
        return found

    def _as_came(self, columns: dict[int, Array]) -> Any:
        """Sampled columns as the caller's kind of table: a frame where training had names, else a matrix."""
        ordered = [columns[j] for j in range(len(self.schema_))]
        if self._has_names:
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
