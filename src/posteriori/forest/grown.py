"""What models grown from coded rows share: rows are coded and grown from; the answer is that of what has grown."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, field, replace
from typing import Any, Self

import numpy as np

from ..arrays import Floats
from ..bayes.classifier import PosteriorClassifier
from ..bayes.learning import class_array
from ..bayes.tables import ReadsTables
from ..estimator import (
    ClassWeight,
    MaxMemory,
    NJobs,
    Progress,
    RandomState,
    learning,
    parameters,
)
from ..kernels.trees import Codes
from ..table.encode import Seen
from ..table.frame import Frame
from ..table.rows import Rows, read_rows
from ..table.schema import Schema
from .coding import Coding, learn_coding


@parameters
class GrownClassifier(ReadsTables, PosteriorClassifier):
    """A classifier of coded rows that knows what it would say of rows it has not seen; a model gives `_grow`."""

    _: KW_ONLY
    random_state: RandomState = None
    progress: Progress = None
    kinds: Any = None
    class_weight: ClassWeight = None
    max_memory: MaxMemory = None
    n_jobs: NJobs = None
    grown_: Any = field(init=False)  # with coding, schema and prior
    oob_decision_function_: Floats = field(init=False)
    oob_score_: float = field(init=False)

    @abstractmethod
    def _grow(self, coding: Coding, codes: Codes, rows: Rows) -> tuple[Any, Floats]:
        """(what has grown, P(y|x) of each row by what has not seen it: NaN where all has)."""

    def _answer(self, frame: Frame, codes: Codes) -> Floats:
        """P(y|x); `codes` are those of the frame, in which cells may have been left out."""
        found: Floats = self.grown_.posterior(codes, self.n_jobs)
        return found

    @learning
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow from these rows, and say what was grown without them says of each."""
        rows = read_rows(X, y, sample_weight, who=type(self).__name__, kinds=self.kinds, class_weight=self.class_weight)
        self._refuse_text(rows.schema)
        if rows.weights is not None and (rows.weights == 1).all():
            rows = replace(rows, weights=None)  # so that bags are drawn alike: they are drawn another way by weights
        seen = Seen()
        coding, codes = learn_coding(rows.frame, rows.schema, rows.weights, seen, self.max_memory, self.n_jobs)
        self.grown_, self.oob_decision_function_ = self._grow(coding, codes, rows)
        self._named(rows)
        self._seen = seen
        self.classes_ = class_array(rows.schema.classes, rows.labels.dtype)
        known = ~np.isnan(self.oob_decision_function_[:, 0])
        right = self.oob_decision_function_[known].argmax(axis=1) == rows.codes[known]
        w = None if rows.weights is None else rows.weights[known]
        self.oob_score_ = float(np.average(right, weights=w)) if known.any() else float("nan")
        return self

    def _posterior(self, X: Any) -> tuple[Floats, int]:
        self._made("checked", lambda: None)
        seen, frame = Seen(), self._open(X)
        codes = self.grown_.coding.code(frame, seen, self.n_jobs)
        self._seen = seen
        return self._answer(frame, codes), -1

    def _log_without(self, X: Any) -> Floats:
        """log P(y|x without x_j), nothing being known of x_j."""
        frame = self._open(X)
        codes = self.grown_.coding.code(frame, Seen(), self.n_jobs)
        found = [self._answer(frame, codes.without(j)) for j in range(len(codes.sizes))]
        with np.errstate(divide="ignore"):
            return np.log(np.stack(found, axis=1))

    @property
    def class_prior_(self) -> Floats:
        """π_y, the share of each class."""
        found: Floats = self.grown_.prior
        return found

    @property
    def schema_(self) -> Schema:
        """The columns and classes, with the values that training had."""
        found: Schema = self.grown_.schema
        return found
