"""What a report rests on, gathered once: the model, the rows, posteriors of rows that it had not seen, the loss; and
what the table holds, counted: kinds, missing cells, how each column is spread within the classes.

No cell of a single row leaves a survey: values that few rows have are not named, ranges end at round numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing

from ..arrays import Array, Floats, Ints
from ..decision.decide import best_action, meet
from ..decision.loss import Loss, deciding_loss
from ..decision.on_points import called
from ..errors import BadValue, ModelError, PosterioriError
from ..explain.whatif import FEWEST_ROWS, cut, round_grid
from ..leaderboard.board import Leaderboard, Row, calibration_error, scored
from ..leaderboard.compare import compare
from ..table.dates import date_columns, dates_in, weekday_text, weekdays_in
from ..table.encode import factorize, numbers
from ..table.frame import Frame, columns_of, labelled, open_frame
from ..table.kinds import resolve_kinds
from ..table.labels import match_labels, places
from ..table.schema import MEASURED
from ..table.weights import weights_or_ones

MOST_COLUMNS = 150  # of a survey that are listed
MOST_VALUES = 6  # of a column that are drawn
BINS = 24
TAIL = 0.005  # rows of a column at each end that do not stretch its picture


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that the sections of a report read; rows that weigh nothing are not there."""

    model: Any
    X: Any
    frame: Frame
    kinds: tuple[str, ...]
    classes: tuple[Any, ...]
    y: Ints
    w: Floats
    posterior: Floats
    fold: (
        Ints | None
    )  # in which each row was tested; None where the posterior was told, or comes from the rows of training
    unseen: bool  # whether the rows had not been seen
    loss: Loss
    reject: float | None
    with_rows: bool
    target: str

    @cached_property
    def inner(self) -> Any:
        """The classifier itself: what a `RiskClassifier` decides by."""
        return self.model._fitted() if hasattr(self.model, "loss_") else self.model

    @cached_property
    def called(self) -> str:
        """The name of the classifier."""
        return called(self.inner)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns by name, as the model calls them."""
        return tuple(self.frame.name(j) for j in range(self.frame.d))

    @cached_property
    def place(self) -> dict[str, int]:
        """Where each column stands."""
        return {n: j for j, n in enumerate(self.names)}

    @cached_property
    def dates(self) -> dict[str, dict[str, str]]:
        """The columns that are dates, each with its parts that are columns too."""
        return dates_in(getattr(self.inner, "schema_", None), date_columns(self.X))

    @cached_property
    def count(self) -> Floats:
        """The weight of each class."""
        return np.bincount(self.y, self.w, len(self.classes)).astype(np.float64)

    @cached_property
    def survey(self) -> Survey:
        """What the table holds."""
        ranked = ranking(self.inner, self.frame.d)
        return survey(self.frame, self.kinds, self.y, self.w, self.classes, ranked, self.with_rows, self.dates)

    @cached_property
    def decided(self) -> Ints:
        """The action taken for each row."""
        return best_action(self.posterior, self.loss)

    @cached_property
    def actions(self) -> list[Any]:
        """What each action is called; to reject comes last."""
        return list(self.loss.labels(None).tolist())

    @cached_property
    def scores(self) -> dict[str, float]:
        """What the leaderboard measures, by its own functions, the mean over its folds; and the share of rejected rows."""
        left = (self.decided == len(self.loss.matrix) - 1) @ self.w / self.w.sum() if self.loss.reject else 0.0
        return {**self._judged(self.posterior), "rejected": float(left)}

    @cached_property
    def baseline(self) -> dict[str, float]:
        """The same, of who always says how common the classes are in the training rows of a fold."""
        prior = np.empty((len(self.y), len(self.classes)))
        for test in self._tests:
            train = ~test if self.fold is not None else test
            share = np.bincount(self.y[train], self.w[train], len(self.classes))
            prior[test] = share / share.sum()
        return self._judged(prior)

    def _judged(self, posterior: Floats) -> dict[str, float]:
        found = [scored(posterior[test], self.y[test], self.w[test], self.loss) for test in self._tests]
        means = {name: float(np.mean([scores[name] for scores in found])) for name in found[0]}
        return means | {
            "calibration_error": calibration_error(posterior, self.y, self.w)
        }  # of all rows, as the board's

    @cached_property
    def _tests(self) -> list[Any]:
        """The test rows of each fold."""
        if self.fold is None:
            return [np.ones(len(self.y), dtype=bool)]
        return [self.fold == f for f in np.unique(self.fold)]


def gather(
    model: Any,
    X: Any,
    y: Any,
    posterior: Any,
    loss: Any,
    reject: float | None,
    with_rows: bool,
    folds: int | None,
    seed: int,
    sample_weight: Any = None,
    board: Leaderboard | None = None,
    chosen: str | None = None,
) -> Evidence:
    """Check and match what a report was given; posteriors that were not given are the board's, or come from its folds."""
    if not hasattr(model, "predict_proba"):
        raise ModelError(f"a report needs a model with predict_proba; {type(model).__name__} has none")
    X, y = labelled(X, y)
    columns = columns_of(X)
    if isinstance(columns, Mapping):
        import pandas as pd

        columns = pd.DataFrame(columns)
    classes = np.asarray(model.classes_)
    codes = match_labels(y, classes, "y")
    frame = open_frame(columns)
    if len(codes) != frame.n or not len(codes):
        raise BadValue(f"a report needs rows, each with its class: X has {frame.n} rows, y {len(codes)}")
    weights = weights_or_ones(sample_weight, len(codes))
    inner = model._fitted() if hasattr(model, "loss_") else model
    schema = getattr(inner, "schema_", None) or getattr(X, "schema", None)
    kinds = schema.kinds if schema is not None else resolve_kinds(frame, None)
    frame = frame.matched(schema.names) if schema is not None and frame.names is not None else frame
    known = deciding_loss(model, loss, reject)
    fold, unseen = None, True
    if posterior is None:
        row = None if board is None or chosen is None else _row(board, chosen, codes, weights, classes)
        if row is None:
            board, row = _raced(inner, columns, y, dict(zip(_names(frame), kinds)), sample_weight, folds, seed)
        unseen = row is not None or len(classes) == 1
        posterior = model.predict_proba(columns)
        if row is not None and row.posterior is not None and board is not None:
            fold, posterior = board.fold, np.zeros((len(codes), len(classes)))
            posterior[:, match_labels(board.classes, classes, "classes")] = np.nan_to_num(row.posterior)
    if np.shape(posterior) != (len(codes), len(classes)):
        shapes = np.shape(posterior), (len(codes), len(classes))
        raise BadValue(f"the posterior has the shape {shapes[0]}, where {shapes[1]} is needed")
    some = np.flatnonzero(weights > 0)
    if len(some) < len(codes):
        columns, frame, codes, weights = (
            _safe_indexing(columns, some),
            frame.take_rows(some),
            codes[some],
            weights[some],
        )
        posterior, fold = np.asarray(posterior)[some], None if fold is None else fold[some]
    posterior = meet(posterior, None, None)[0]
    told = [getattr(s, "target", None) for s in (schema, getattr(X, "schema", None), getattr(inner, "kinds", None))]
    target = next((name for name in (*told, getattr(y, "name", None)) if name), "class")
    price = float(known.matrix[-1].max()) if known.reject else None
    named = tuple(classes.tolist())
    return Evidence(
        model,
        columns,
        frame,
        kinds,
        named,
        codes,
        weights,
        posterior,
        fold,
        unseen,
        known,
        price,
        with_rows,
        str(target),
    )


def _names(frame: Frame) -> Any:
    return frame.names if frame.names is not None else range(frame.d)


def _row(board: Leaderboard, chosen: str, codes: Ints, weights: Floats, classes: Any) -> Row | None:
    """The row of a board, if it is of these very rows and knows the posterior of each."""
    row = next((r for r in board.rows if r.name == chosen and r.posterior is not None), None)
    if row is None or row.posterior is None or len(board.truth) != len(codes):
        return None
    live, at = weights > 0, places(board.classes, list(classes))
    if None in at or not np.array_equal(board.fold >= 0, live):
        return None
    same = np.array_equal(np.array(at)[board.truth[live]], codes[live])
    return row if same and np.isfinite(row.posterior[live]).all() else None


def _raced(
    model: Any, X: Any, y: Any, kinds: dict[Any, str], sample_weight: Any, folds: int | None, seed: int
) -> tuple[Leaderboard | None, Row | None]:
    """A race of this model alone; nothing where it cannot be judged so. It is told kinds alone, no values of test rows."""
    while isinstance(model, FrozenEstimator):
        model = model.estimator
    fresh = clone(model)
    if "kinds" in fresh.get_params(deep=False):
        fresh.set_params(kinds=kinds)
    try:
        board = compare(X, y, {"model": fresh}, cv=folds, seed=seed, sample_weight=sample_weight)
    except PosterioriError:
        return None, None
    return board, board.rows[0] if board.rows[0].posterior is not None else None


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """One column: `table` is the share of each class's rows at each value (V, K), or in each bin of `grid`."""

    name: str
    kind: str
    missing: float
    n_values: int | None
    labels: tuple[str | None, ...] = ()
    grid: Floats | None = None
    table: Floats | None = None
    information: float | None = None
    density: str = ""
    dates: bool = False  # whether the numbers are days


@dataclass(frozen=True, eq=False)
class Survey:
    """The columns, most telling first; `left_out` is how many are not listed."""

    n: int
    d: int
    classes: tuple[Any, ...]
    class_count: Floats
    columns: tuple[ColumnFacts, ...]
    left_out: int
    missing: float  # of all cells that were looked at


def survey(
    frame: Frame,
    kinds: tuple[str, ...],
    y: Ints,
    w: Floats,
    classes: tuple[Any, ...],
    ranked: Any,
    rows: bool,
    dates: dict[str, dict[str, str]] | None = None,
) -> Survey:
    """Look at the columns in the order of `ranked`: (place, information or None, density); `dates` as of `dates_in`."""
    K, weekdays = len(classes), weekdays_in(dates or {})
    count = np.bincount(y, w, K).astype(np.float64)
    listed = ranked[:MOST_COLUMNS]
    found = tuple(_column(frame, j, kinds[j], y, w, K, info, density, rows) for j, info, density in listed)
    found = tuple(
        replace(c, dates=c.name in (dates or {}), labels=_told(c.labels) if c.name in weekdays else c.labels)
        for c in found
    )
    gaps = float(np.mean([c.missing for c in found])) if found else 0.0
    return Survey(frame.n, frame.d, classes, count, found, frame.d - len(found), gaps)


def _told(labels: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """Numbers of weekdays by their names."""
    return tuple(weekday_text(int(v)) if v is not None and v.isdigit() else v for v in labels)


def _column(
    frame: Frame, j: int, kind: str, y: Ints, w: Floats, K: int, info: float | None, density: str, rows: bool
) -> ColumnFacts:
    title = frame.name(j)
    if kind in MEASURED:
        x = np.asarray(numbers(frame, [j]), dtype=np.float64)[:, 0]
        seen = np.isfinite(x)
        grid, table = _histogram(x[seen], y[seen], w[seen], K)
        share = float(np.mean(~seen)) if len(x) else 0.0
        return ColumnFacts(title, kind, share, None, (), grid, table, info, density)
    if kind == "text":
        return ColumnFacts(title, kind, _gaps(frame.column(j)), None, information=info)
    values, codes = factorize(frame.column(j), title)
    V = len(values)
    counts = np.bincount(codes.astype(np.int64) * K + y, w, (V + 1) * K).reshape(V + 1, K)[:-1].astype(np.float64)
    own = np.bincount(codes, minlength=V + 1)  # rows, whatever they weigh: a value of few is not named
    share = float(own[-1] / max(len(y), 1))
    order = np.argsort(-counts.sum(axis=1), kind="stable")[:MOST_VALUES]
    least = 1 if rows else FEWEST_ROWS
    labels = tuple(cut(values[i]) if own[i] >= least else None for i in order)
    shares = _shares(counts)
    return ColumnFacts(title, kind, share, V, labels, None, shares[order], info, density)


def _histogram(x: Floats, y: Ints, w: Floats, K: int) -> tuple[Floats | None, Floats | None]:
    """(edges of bins of equal width at round numbers, the share of each class in each); ends take in what lies beyond."""
    if not len(x):
        return None, None
    low, high = np.quantile(x, [TAIL, 1 - TAIL]).tolist()
    grid = round_grid(low, high, bool((x == np.floor(x)).all()), BINS)
    if grid is None or len(grid) < 2:
        return None, None
    at = np.clip(np.searchsorted(grid, x, side="right") - 1, 0, len(grid) - 2)
    return grid, _shares(np.bincount(at * K + y, w, (len(grid) - 1) * K).reshape(-1, K).astype(np.float64))


def _shares(table: Floats) -> Floats:
    """The share of each class at each value; 0 of a class that is nowhere."""
    total = table.sum(axis=0)
    return table / np.where(total > 0, total, 1.0)


def _gaps(column: Any) -> float:
    cells: Any = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    return float(sum(c is None or c != c for c in cells) / max(len(cells), 1))


def ranking(model: Any, d: int) -> list[tuple[int, float | None, str]]:
    """The columns by what they tell of the class, where the model knows; else as they stand."""
    try:
        frame = model.summary()
        place = {name: j for j, name in enumerate(model.schema_.names)}
        densities: Any = frame["density"] if "density" in frame else [""] * len(frame)
        return [(place[n], float(i), str(m)) for n, i, m in zip(frame["column"], frame["information"], densities)]
    except (AttributeError, KeyError):
        return [(j, None, "") for j in range(d)]


def class_order(count: Array, most: int) -> list[int]:
    """The commonest classes, in their own order."""
    return sorted(np.argsort(-np.asarray(count), kind="stable")[:most].tolist())
