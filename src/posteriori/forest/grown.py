"""What models grown from coded rows share: rows are coded and grown from; the answer is that of what has grown.

Cells as a tree reads them: numbers cut into bins, categories by name, missing a value of its own.

Symbols: column j has the codes 0 … size_j − 1. Where training had missing cells, code 0 is "missing", and a value that
training did not have is taken for missing; elsewhere both get the code size_j, which is no value.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np

from ..arrays import Floats
from ..bayes.classifier import PosteriorClassifier
from ..bayes.learning import class_array
from ..bayes.tables import ReadsTables
from ..budget import refuse_over
from ..errors import ModelError
from ..estimator import (
    ClassWeight,
    MaxMemory,
    NJobs,
    Progress,
    RandomState,
    learning,
    parameters,
)
from ..fields import need
from ..kernels.trees import MOST_VALUES, Codes, Trees
from ..statistics.collect import with_values_of_codes
from ..statistics.cuts import CodedTable, Cuts, bin_names, check_cuts, code_known, cut_greedily, translated, with_bins
from ..table.encode import Seen, dense
from ..table.frame import Frame
from ..table.rows import Rows, read_rows
from ..table.schema import Schema

BINS = 128  # of a column of numbers

MOST_EXPONENT = 4  # of what is pooled


@dataclass(frozen=True, eq=False)
class Coding:
    """The values of every column (`schema`), where numbers are cut, and whose missing cells are a value (`blank`)."""

    schema: Annotated[Schema, "d"]
    cuts: Annotated[Cuts, "d"]
    blank: Annotated[tuple[bool, ...], "d"]

    def check(self) -> None:
        """Refuse cuts and values that no tree can ask for."""
        need(len(self.schema) > 0, "there must be a column")
        check_cuts(self.schema, self.cuts)
        for column in self.schema.columns:
            fits = column.kind != "text" and len(column.values) < MOST_VALUES
            need(fits, f"column {column.name!r:.50}: more values than a tree can ask for")

    def check_pool(self, schema: Schema, prior: Floats, exponents: Floats, trees: Trees | None, c: float) -> None:
        """Refuse what is pooled where it is of other columns or classes."""
        K = len(schema.classes)
        need(schema.columns == self.schema.columns, "the columns must be those of the coding")
        need(prior.shape == (K,) and abs(prior.sum() - 1) < 1e-9, "a prior must sum to one")
        need((np.abs(exponents) <= MOST_EXPONENT).all(), f"an exponent is no larger than {MOST_EXPONENT}")
        if trees is not None:
            need(trees.counts.dtype == np.float32 and trees.counts.shape[1] == K, "trees of other classes")
            need(len(trees) > 0, "there must be a tree")
            need((trees.counts >= 0).all() and c >= 0, "counts must not be negative")
            trees.check_of(self.sizes, self.named)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each column has; one at least."""
        return tuple(max(1, len(c.values) + b) for c, b in zip(self.schema.columns, self.blank))

    @cached_property
    def named(self) -> tuple[bool, ...]:
        """Whether a column's values have names, and no order."""
        return tuple(cut is None for cut in self.cuts)

    def with_classes(self, schema: Schema) -> Schema:
        """The columns as they are coded, and the classes of a schema."""
        return replace(self.schema, classes=schema.classes, declared_classes=schema.declared_classes)

    def code(self, frame: Frame, n_jobs: int | None = None) -> tuple[Codes, Seen]:
        """(rows as codes, how many cells were missing or unseen)."""
        frame = dense(frame) if frame.sparse is not None else frame
        table = code_known(frame, self.schema, self.cuts, n_jobs)
        return self._laid_out(table), Seen(table.n_missing, table.n_unseen)

    def _laid_out(self, table: CodedTable) -> Codes:
        """Column after column, in the narrowest type."""
        dtype = np.uint8 if max(self.sizes) < 256 else np.uint16
        cells = np.empty((len(self.sizes), table.n), dtype=dtype)
        for j, (size, blank) in enumerate(zip(table.sizes, self.blank)):
            column = table.column(j)
            if table.whole:
                cells[j] = column + 1 if blank else column
            elif blank:
                cells[j] = np.where(column >= size, 0, column + 1)
            else:
                cells[j] = np.where(column >= size, self.sizes[j], column)
        return Codes(cells, self.sizes, self.named)

    def words(self, j: int, codes: Any) -> list[str]:
        """What some codes of a column are called."""
        column, cut = self.schema.columns[j], self.cuts[j]
        names = ["missing"] if self.blank[j] else []
        names += bin_names(cut) if cut is not None else [str(v) for v in column.values]
        return [names[int(c)] for c in codes]

    def edge(self, j: int, code: int) -> float:
        """The number below which a cell of a measured column has at most this code; −∞ where only missing cells have."""
        cut = self.cuts[j]
        assert cut is not None
        at = code - self.blank[j]
        return float(cut[at]) if 0 <= at < len(cut) else (-np.inf if at < 0 else np.inf)


def learn_coding(
    frame: Frame, schema: Schema, weights: Floats | None, max_memory: float | None, n_jobs: int | None
) -> tuple[Coding, Codes, Seen]:
    """(the coding of these rows, the rows in it, how many cells were missing)."""
    frame = dense(frame) if frame.sparse is not None else frame
    refuse_over(max_memory, 4.0 * frame.n * frame.d, f"codes of {frame.n:,} rows in {frame.d:,} columns")
    cuts, local = cut_greedily(frame, schema, weights, BINS, n_jobs)
    schema = with_values_of_codes(local, with_bins(schema, cuts), n_jobs)
    for column in schema.columns:
        if len(column.values) >= MOST_VALUES:
            raise ModelError(
                f"column {column.name!r} has {len(column.values):,} values, more than a tree can ask for "
                f"({MOST_VALUES:,}): an id tells nothing of the next row; leave it out, or group its values"
            )
    table = translated(local, schema)
    blank = tuple(not table.whole and bool((table.column(j) >= size).any()) for j, size in enumerate(table.sizes))
    coding = Coding(schema, cuts, blank)
    return coding, coding._laid_out(table), Seen(table.n_missing)


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
    oob_decision_function_: Floats = field(init=False)
    oob_score_: float = field(init=False)
    grown_: Any = field(init=False)  # with coding, schema and prior

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
        coding, codes, seen = learn_coding(rows.frame, rows.schema, rows.weights, self.max_memory, self.n_jobs)
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
        self._cached("checked", lambda: None)
        frame = self._open(X)
        codes, self._seen = self.grown_.coding.code(frame, self.n_jobs)
        return self._answer(frame, codes), -1

    def _log_without(self, X: Any) -> Floats:
        """log P(y|x without x_j), nothing being known of x_j."""
        frame = self._open(X)
        codes, _ = self.grown_.coding.code(frame, self.n_jobs)
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
