"""The discriminative twin of naive Bayes: its tables, moved until they foretell the classes best.

Symbols: x row, y class, x_j value (numbers: bin) of column j, z_q a number in standard deviations from its mean, within ±4.

    ln P(y|x) = b[y] + Σ_j β[j, x_j, y] + Σ_q z_q γ[q, y] − ln Σ_y exp(…)

Naive Bayes is b = ln P(y), β = ln θ(x_j|y), γ = 0: that is where the walk begins. It ends at the least

    −Σ_r w_r ln P(y_r|x_r) + ½λ(‖β − τ ln θ‖² + ‖γ‖²) + 4(τ − 1)²,    τ = ⟨β, ln θ⟩/‖ln θ‖²

which for λ → ∞ is naive Bayes with one exponent τ for all that its attributes say (columns that repeat each other make it
too sure), and for λ → 0 logistic regression on the same features: Ng and Jordan's pair of a generative and a discriminative
model, and what is between (WANBIA-C, Zaidi et al., 2014). With a weight for each column instead of each value,
β = ω_j ln θ(x_j|y), and the ridge is ½λ Σ(ω_j − τ)² + 4(τ − 1)², τ their mean (WANBIA, Zaidi et al., 2013).
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Annotated, Any, NoReturn, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, Floats
from ..blas import one_thread
from ..budget import refuse_over
from ..errors import check_policy
from ..estimator import (
    AT_LEAST_0,
    AT_LEAST_1,
    AUTO,
    ClassWeight,
    MaxMemory,
    NJobs,
    learning,
    parameters,
)
from ..fields import ABOVE_0, MAYBE, NOT_NEGATIVE, UNBOUNDED, Natural, OneOf, Within, need
from ..kernels import normalise, posterior
from ..smoothing.theta import MOST_SMOOTHING, log_prior, log_theta
from ..statistics.collect import collect_coded
from ..statistics.counts import starts_of
from ..statistics.cuts import METHODS, CodedTable, code_known, column_numbers, learn_cuts
from ..statistics.statistics import Statistics
from ..table.encode import Seen, dense, team_map
from ..table.frame import Frame
from ..table.rows import read_rows
from ..table.schema import MEASURED, Schema
from .choice import folds_of
from .classifier import PosteriorClassifier
from .learning import class_array
from .numeric import TINY
from .ridge import NUMBERS, ByColumn, ByValue, Fitted, fit_ridge
from .tables import ReadsTables

PENALTIES = (256.0, 64.0, 16.0, 4.0, 1.0, 0.25, 0.0625, 0.015625)  # that "auto" goes down
PULLS = ("naive", "zero")
SMALL = Within(-1e150, 1e150)  # of a weight: sums over all columns are numbers
FOLDS = 5
WORTH, PATIENCE = 1e-5, 2  # nats a row that a penalty must gain, and how many may fail before it ends
ROUGH, STEPS = 1e-4, 30  # for choosing: nats a row, steps,
ONCE, FEWER = frozenset({0}), 64  # when the metric is made, and features up to which it has matrices
CLIP = 4.0  # standard deviations
HOLD, MOST = 4.0, 1e300  # nats that an exponent of 0 or 2 costs; no charge is greater


@parameters
class DiscriminativeNB(ReadsTables, PosteriorClassifier):
    """Naive Bayes whose tables are fitted to foretell the class: logistic regression that begins as naive Bayes.

    ln P(y|x) = b[y] + Σ_j β[j, x_j, y] + Σ_q z_q γ[q, y] − ln Z, of least −Σ_r w_r ln P(y_r|x_r) + ½λ‖β − τ ln θ, γ‖².
    Numbers are cut into bins like a semi-naive model's and, besides, enter as z, in standard deviations from their mean,
    within ±4. A missing cell is a value of its own where training had some, else it says what its column says on average;
    a value that training did not have is taken for missing.

    Parameters
    ----------
    weights : "values" or "columns"
        A weight for each value and class (WANBIA-C: logistic regression), or one for each column, β = ω_j ln θ, with no z
        (WANBIA): fewer parameters, for few rows.
    penalty : float or "auto"
        λ. 0 is logistic regression without a ridge, a large one naive Bayes with an exponent τ. "auto" goes down from 256
        to 1/64 as long as rows that were left out, in five folds dealt by what the rows say, are foretold better
        (`penalty_` says what was taken).
    pull : "auto", "naive" or "zero"
        Where the ridge pulls β to: multiples τ ln θ of naive Bayes, or 0, as scikit-learn's LogisticRegression(C=1/λ) does
        on the same features (two classes, for which it has one vector instead of two: C=2/λ). "auto" asks the rows that
        were left out (`pull_` says what they answered): where columns repeat each other, or were cut where these rows'
        classes part, θ knows its own rows too well to be leaned on.
    smoothing : float, default 1.0
        Of θ, as in `NaiveBayes`; above 0.
    tol : float, default 1e-7
        The fit ends when a step promises less than so many nats a row.
    max_iter : int, default 200
        Most steps, each of one pass over the rows; 0 is naive Bayes. A ConvergenceWarning says when they did not suffice.
    kinds, cuts, bins, class_weight, max_memory, n_jobs :
        As in `TAN`.

    What is fitted hangs on all rows together, so there is no `partial_fit` and no `+`.

    >>> X = {"sky": ["blue", "blue", "grey", "grey"], "again": ["blue", "blue", "grey", "grey"], "wind": [1, 2, 2, 3]}
    >>> model = DiscriminativeNB(penalty=1.0).fit(X, ["out", "out", "in", "in"])
    >>> model.predict({"sky": "blue", "again": None, "wind": 2}).tolist()
    ['out']
    """

    weights: Annotated[str, StrOptions({"values", "columns"})] = "values"
    _: KW_ONLY
    penalty: Annotated[Any, AUTO, AT_LEAST_0] = "auto"
    pull: Annotated[str, StrOptions({"auto", *PULLS})] = "auto"
    smoothing: Annotated[float, Interval(Real, 0, MOST_SMOOTHING, closed="right")] = 1.0
    tol: Annotated[float, AT_LEAST_0] = 1e-7
    max_iter: Annotated[int, Interval(Integral, 0, None, closed="left")] = 200
    kinds: Any = None
    cuts: Annotated[str, StrOptions(set(METHODS))] = "mdl"
    bins: Annotated[int, AT_LEAST_1] = 10
    class_weight: ClassWeight = None
    max_memory: MaxMemory = None
    n_jobs: NJobs = None
    statistics_: Statistics = field(init=False)
    log_odds_: Annotated[Floats, "cells K", SMALL] = field(init=False)
    coef_: Annotated[Floats, "numbers K", SMALL] = field(init=False)
    intercept_: Annotated[Floats, "K", SMALL] = field(init=False)
    mean_: Annotated[Floats, "numbers"] = field(init=False)
    sd_: Annotated[Floats, "numbers", ABOVE_0] = field(init=False)
    _where: Annotated[tuple[Natural, ...], "numbers"] = field(init=False)
    pull_: Annotated[str, OneOf(PULLS)] = field(init=False)
    penalty_: Annotated[float, NOT_NEGATIVE] = field(init=False)
    n_iter_: Natural = field(init=False)
    loss_curve_: Annotated[Floats, "turns", UNBOUNDED] = field(init=False)
    column_weights_: Annotated[Floats, "d", MAYBE] = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        found = self.statistics_
        need(len(self.classes_) > 0, "a fitted model must have a class")
        found.check_coded()
        cells = sum(found.sizes) + len(found.schema)
        need(len(self.log_odds_) == cells, "there must be a weight of every value, and of a gap in every column")
        measured = tuple(j for j, cut in enumerate(found.cuts) if cut is not None)
        need(self._where in ((), measured), "the columns that enter as numbers must be all that are")

    @learning
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count, then climb the conditional likelihood of these rows."""
        self._unlearn()
        who = type(self).__name__
        rows = read_rows(X, y, sample_weight, who=who, kinds=self.kinds, class_weight=self.class_weight)
        schema, frame = rows.schema, dense(rows.frame) if rows.frame.sparse is not None else rows.frame
        self._refuse_text(schema)
        self._refuse_large(frame.n, len(schema.classes))
        self._scale(frame, schema, rows.weights)
        task, table = self._task(frame, self._numbers(frame), schema, rows.codes, rows.weights)
        self.statistics_ = task.statistics
        self.classes_ = class_array(schema.classes, rows.labels.dtype)
        self._named(rows)
        self._refuse_large(frame.n, len(schema.classes), task.design.size)
        with one_thread(0):  # folds, then rows, are shared out by threads of our own
            self.pull_, self.penalty_ = self._choose(frame, schema, task, table)
            found = self._fit(task, self.pull_, self.penalty_, self.tol, self.max_iter)
        self._become(task, found)
        self._seen = Seen(table.n_missing)
        return self

    def _task(
        self, frame: Frame, numbers: Floats, schema: Schema, y: Array, w: Floats | None
    ) -> tuple[Task, CodedTable]:
        """The rows cut, coded and counted."""
        cuts = learn_cuts(frame, schema, y, w, self.cuts, self.bins)
        table, found = collect_coded(frame, schema, cuts, y, w, False, self.n_jobs, self.max_memory)
        design = self._design(table, numbers)
        naive = self._naive(found, design)
        return Task(design, found, naive, y, np.ones(frame.n) if w is None else w), table

    def _scale(self, frame: Frame, schema: Schema, w: Floats | None) -> None:
        """Mean and standard deviation of the columns that enter as numbers."""
        measured = tuple(j for j, c in enumerate(schema.columns) if c.kind in MEASURED)
        self._where = measured if self.weights == "values" else ()
        self.mean_, self.sd_ = np.zeros(len(self._where)), np.ones(len(self._where))
        for q, j in enumerate(self._where):
            x = column_numbers(frame, j)
            there = ~np.isnan(x)
            size = float(np.abs(x[there]).max(initial=0.0))
            if size > 0:
                u = np.ones(frame.n) if w is None else w / w.max()
                part, u = x[there] / size, u[there] / u[there].sum()
                mean = float(u @ part)
                sd = float(np.sqrt(u @ np.square(part - mean)))
                self.mean_[q], self.sd_[q] = mean * size, sd * size
                if sd < 1e-12 or self.sd_[q] < TINY:  # a constant, but for rounding
                    self.sd_[q] = max(size, 1.0)

    def _design(self, table: CodedTable, numbers: Floats) -> ByValue:
        offsets = starts_of(np.asarray(table.sizes) + 1)
        return ByValue(table.codes, offsets, numbers, self.n_jobs)

    def _numbers(self, frame: Frame) -> Floats:
        """z of every row."""
        numbers = np.zeros((frame.n, len(self._where)))
        for q, j in enumerate(self._where):
            with np.errstate(over="ignore"):
                z = (column_numbers(frame, j) / self.sd_[q]) - self.mean_[q] / self.sd_[q]
            numbers[:, q] = np.where(np.isnan(z), 0.0, np.clip(z, -CLIP, CLIP))
        return numbers

    def _refuse_large(self, n: int, K: int, size: int = 0) -> None:
        """Refuse a fit of so many rows and weights; before they are counted by the rows alone."""
        matrices = K * size**2 if K * size**2 <= NUMBERS else 0
        columns = len(self._where) if size else 0
        numbers = 8 * n * K + 40 * size * K + 2 * n * columns + 3 * matrices
        refuse_over(self.max_memory, 8.0 * numbers, "fitting the weights")

    def _fit(
        self,
        task: Task,
        pull: str,
        penalty: float,
        tol: float,
        steps: int,
        start: Fitted | None = None,
        **how: Any,
    ) -> Fitted:
        """The weights of least L; from naive Bayes, or from where another penalty has led."""
        naive, w = task.naive, task.w
        total = float(w.sum())
        if self.weights == "columns":
            table = naive[0]
            design: Any = ByColumn(task.design.codes, task.design.offsets, table, task.design.n, task.design.n_jobs)
            naive = np.ones((len(task.design.offsets) - 1, 1)), naive[1]
        else:
            design = task.design
        begin = naive if start is None else (start.B, start.b)
        towards = naive[0] if pull == "naive" else None
        if len(naive[1]) < 2:
            return Fitted(naive[0], naive[1], (np.nan,), True)
        ridge, hold = min(penalty / total, MOST), min(HOLD / total, MOST)
        return fit_ridge(design, task.y, w / total, ridge, begin, towards, hold, tol, steps, **how)

    def _naive(self, statistics: Statistics, design: ByValue) -> tuple[Floats, Floats]:
        """Naive Bayes as weights, less what all classes share: ln θ of the values, 0 where missing; ln P(y)."""
        K, ends = statistics.n_classes, design.offsets
        B, b = np.zeros((design.size, K)), log_prior(statistics.rows, "smoothed", float(self.smoothing))
        last = np.zeros(design.cells, dtype=bool)
        last[ends[1:] - 1] = True  # the missing ones
        theta = log_theta(statistics.cells, float(self.smoothing))
        B[: design.cells][~last] = theta - theta.mean(axis=1, keepdims=True)
        return B, b - b.mean()

    def _choose(self, frame: Frame, schema: Schema, task: Task, table: CodedTable) -> tuple[str, float]:
        """The pull and the penalty under which rows that were left out are foretold best."""
        pulls = PULLS if self.pull == "auto" else (self.pull,)
        penalties = PENALTIES if isinstance(self.penalty, str) else (float(self.penalty),)
        if len(pulls) == len(penalties) == 1:
            return pulls[0], penalties[0]
        parts = self._parts(frame, schema, task, table)
        total = sum(float(held.w.sum()) for _, held in parts)
        found, least = (pulls[0], 1.0 if len(penalties) > 1 else penalties[0]), np.inf
        for pull in pulls if parts else ():
            best, worse, starts = np.inf, 0, dict[int, Fitted]()
            for penalty in penalties:
                how = [(*part, pull, penalty, starts.get(f)) for f, part in enumerate(parts)]
                judged = team_map(self._judged, how, _work(task), self.n_jobs)
                starts = {f: fitted for f, (fitted, _) in enumerate(judged)}
                loss = sum(lost for _, lost in judged) / total
                if loss < least - WORTH:
                    found, least = (pull, penalty), loss
                if loss < best - WORTH:
                    best, worse = loss, 0
                elif (worse := worse + 1) == PATIENCE:
                    break
        return found

    def _judged(self, fold: tuple[Task, Task, str, float, Fitted | None]) -> tuple[Fitted, float]:
        """(The weights of all rows but a fold's, roughly; what they lose on the fold)."""
        rest, held, pull, penalty, start = fold
        fitted = self._fit(rest, pull, penalty, ROUGH, STEPS, start, anew=ONCE, few=FEWER)
        eta = held.design.scores(self._tables(rest, fitted), fitted.b)
        return fitted, float(held.w @ (normalise(eta, 1)[1] - eta[np.arange(len(eta)), held.y]))

    def _parts(self, frame: Frame, schema: Schema, task: Task, table: CodedTable) -> list[tuple[Task, Task]]:
        """(The other rows, the fold) of every fold; cuts and counts are made without the fold too."""
        z, parts = task.design.numbers, list[tuple[Task, Task]]()
        for rows, held in folds_of(_told_apart(frame, schema, table), task.y, task.w, FOLDS):
            assert held is not None
            left = task.w.copy()
            left[rows] -= held
            rest = np.flatnonzero(left > 1e-9 * task.w)
            if len(rest):
                made, _ = self._task(frame.take_rows(rest), z[rest], schema, task.y[rest], left[rest])
                coded = code_known(frame.take_rows(rows), made.statistics.schema, made.statistics.cuts, self.n_jobs)
                held_out = replace(made, design=self._design(coded, z[rows]), y=task.y[rows], w=held)
                parts.append((made.alone(), held_out.alone()))
        return parts

    def _tables(self, task: Task, found: Fitted) -> Floats:
        """The weights as tables of values, those of numbers below; a gap that training never had says what its
        column says on average beyond τ ln θ."""
        naive, cells, ends = task.naive[0], task.design.cells, task.design.offsets
        if self.weights == "columns":
            return np.repeat(found.B, np.diff(ends), axis=0) * naive[:cells]
        B, last = found.B.copy(), ends[1:] - 1
        whole = float(np.vdot(naive, naive))
        moved = B - (float(np.vdot(B, naive)) / whole if whole else 0.0) * naive
        never = task.share[last] == 0
        B[last[never]] = np.add.reduceat(task.share[:, None] * moved[:cells], ends[:-1])[never]
        return B

    def _become(self, task: Task, found: Fitted) -> None:
        B, cells = self._tables(task, found), task.design.cells
        self.log_odds_, self.coef_, self.intercept_ = B[:cells], B[cells:], found.b
        self.n_iter_ = len(found.trace) - 1
        self.loss_curve_ = np.array(found.trace)
        if self.weights == "columns":
            self.column_weights_ = found.B[:, 0]
        if not found.converged and self.max_iter > 0:
            warnings.warn(
                f"DiscriminativeNB stopped after max_iter={self.max_iter} steps, each still worth more than "
                f"tol={self.tol:g} nats a row. Raise max_iter or penalty",
                ConvergenceWarning,
                stacklevel=4,
            )

    @property
    def schema_(self) -> Schema:
        """The columns and classes, with the values that training had; numbers are bins."""
        return self.statistics_.schema

    @property
    def cuts_(self) -> dict[str, Floats]:
        """Where every numeric column is cut."""
        return {n: c for n, c in zip(self.schema_.names, self.statistics_.cuts) if c is not None}

    def _read(self, X: Any) -> ByValue:
        """The border of prediction: rows as features."""
        frame = self._open(X)
        frame = dense(frame) if frame.sparse is not None else frame
        table = code_known(frame, self.schema_, self.statistics_.cuts, self.n_jobs)
        self._seen = Seen(table.n_missing, table.n_unseen)
        return self._design(table, self._numbers(frame))

    def _scores(self, X: Any) -> Floats:
        return self._read(X).scores(np.concatenate([self.log_odds_, self.coef_]), self.intercept_)

    def _posterior(self, X: Any) -> tuple[Floats, int]:
        return posterior(self._scores(X), self.n_jobs)

    def predict_log_proba(self, X: Any, impossible: str = "raise") -> Floats:
        """ln P(y|x), exact where P(y|x) is too small for a float."""
        check_policy(impossible)
        self._check_room(X)
        scores = self._scores(X)
        return np.asarray(scores - normalise(scores, self.n_jobs)[1][:, None])

    def predict(self, X: Any, impossible: str = "raise") -> Array:
        """The class of greatest P(y|x); the first of equals."""
        check_policy(impossible)
        self._check_room(X)
        answer: Array = self.classes_[self._scores(X).argmax(axis=1)]
        return answer

    def _log_parts(self, X: Any) -> tuple[Floats, Floats]:
        """(b, what each column adds to the score of each class): ln P(y|x) is their sum but for what all classes share."""
        design = self._read(X)
        parts = np.empty((design.n, self.n_features_in_, len(self.classes_)))
        for j, first in enumerate(design.offsets[:-1].tolist()):
            codes = design.codes[:, j] if isinstance(design.codes, np.ndarray) else design.codes[j]
            parts[:, j] = self.log_odds_[first + codes.astype(np.int64)]
        for q, j in enumerate(self._where):
            parts[:, j] += design.numbers[:, q, None] * self.coef_[q]
        return self.intercept_, parts

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("partial_fit", "forget", "decay"):
            raise AttributeError(
                f"DiscriminativeNB has no {name}: its weights are fitted to all rows together. Fit all rows again, or use "
                "NaiveBayes, which adds rows one by one"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to fit the weights to: as features, and counted."""

    design: ByValue
    statistics: Statistics
    naive: tuple[Floats, Floats]
    y: Array
    w: Floats

    def alone(self) -> Task:
        """The same in one thread: threads take a fold each."""
        return replace(self, design=replace(self.design, n_jobs=1))

    @cached_property
    def share(self) -> Floats:
        """Of each value in its column."""
        of = np.ascontiguousarray(self.w[:, None] / self.w.sum())
        return self.design.sums(of)[: self.design.cells, 0]


def _told_apart(frame: Frame, schema: Schema, table: CodedTable) -> CodedTable:
    """The rows in codes that are equal only where all cells are: numbers by their values, not their bins."""
    codes, sizes = table.columns(), list(table.sizes)
    for j, column in enumerate(schema.columns):
        if column.kind in MEASURED:
            values, codes[j] = np.unique(column_numbers(frame, j), return_inverse=True)
            sizes[j] = len(values)
    return CodedTable(codes, tuple(sizes))


def _work(task: Task) -> int:
    """What the folds of one penalty take in kernels, beside what Python takes, which threads do not share."""
    columns = len(task.design.offsets) - 1 + task.design.numbers.shape[1]
    return int(FOLDS * len(task.naive[1]) * task.design.n * (columns + 10) // 10)
