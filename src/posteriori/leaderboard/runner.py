"""A model in the race: an attempt at a fold is a value, so that it can be made in this process or in another."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from ..arrays import Floats, Ints
from ..bayes.learning import Learner
from ..bayes.tables import ReadsTables
from ..decision.loss import Loss
from ..decision.on_points import OnPoints
from ..table.frame import Frame
from ..table.labels import places
from .board import Row, calibration_error, over_classes, scored
from .data import Data, Fold
from .lineup import Entry, is_ours

LITTLE = 500_000  # cells up to which threads of OpenMP and BLAS wait for each other longer than they work
KEPT = 1 << 28  # bytes of posteriors that a race keeps
MOST_CALLS, SHORT = 5, 0.02  # of a prediction, and seconds that are enough to tell its time


@dataclass(frozen=True, eq=False)
class Attempt:
    """What came of a fold: scores, the posterior of its test rows, warnings; or why there are none."""

    failed: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    posterior: Floats | None = None
    warned: frozenset[str] = frozenset()


@dataclass(eq=False)
class Runner:
    """A model in the race, and what it has scored so far."""

    entry: Entry
    model: Any
    status: str = "finished"
    reason: str = ""
    seconds: float = 0.0
    done: int = 0
    scores: dict[str, list[float]] = field(default_factory=dict)
    warned: Counter[str] = field(default_factory=Counter)
    posterior: Floats | None = None

    def attempt(self, fold: Fold, loss: Loss | None) -> Attempt:
        """Fit on the training rows, score on the others; what fails is kept as the reason, and nothing else stops."""
        try:
            with warnings.catch_warnings(record=True) as heard, np.errstate(all="ignore"):
                warnings.simplefilter("always")
                with _own_threads(fold.data.n * len(fold.data.kinds)):
                    scores, posterior = self._scored(fold, loss)
        except Exception as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else "no message"
            return Attempt(f"{type(error).__name__}: {first}")
        said = frozenset(
            str(w.message).strip().splitlines()[0] for w in heard if _matters(w) and str(w.message).strip()
        )
        return Attempt("", scores, posterior, said)

    def take(self, found: Attempt, f: int, fold: Fold, keeps: bool) -> None:
        """What came of fold f."""
        if found.failed:
            return self.stop("failed", f"fold {f + 1}: {found.failed}")
        self.done += 1
        self.warned.update(found.warned)
        for name, value in found.scores.items():
            self.scores.setdefault(name, []).append(value)
        if keeps and found.posterior is not None:
            if self.posterior is None:
                self.posterior = np.full((fold.data.n, len(fold.data.labels)), np.nan)
            self.posterior[fold.test] = found.posterior

    def stop(self, status: str, reason: str) -> None:
        """No scores, for a reason."""
        self.status, self.reason = status, reason
        self.scores, self.posterior = {}, None

    def _scored(self, fold: Fold, loss: Loss | None) -> tuple[dict[str, float], Floats | None]:
        model, before, before_test, posterior = clone(self.model), 0.0, 0.0, None
        if isinstance(model, OnPoints):
            train, before, test, before_test = fold.points(model)
            model = model.estimator
        else:
            train, test = fold.frames() if isinstance(model, Learner | ReadsTables) and is_ours(model) else fold.raw()
        if self.entry.name == "baseline":
            train, test = np.zeros((len(fold.train), 1)), np.zeros((len(fold.test), 1))
        weighted = {} if fold.w is None else {"sample_weight": fold.w}
        start = time.perf_counter()
        model.fit(train, fold.y, **weighted)
        predict = model.predict_proba if hasattr(model, "predict_proba") else model.predict
        predict(_first(test))  # what a model makes when it is first asked is part of learning
        middle = time.perf_counter()
        said, seconds = timed(predict, test)
        if hasattr(model, "predict_proba"):
            own = [int(at) for at in places(model.classes_.tolist(), fold.data.labels.tolist()) if at is not None]
            posterior = over_classes(said, own, len(fold.data.labels))
            found = scored(posterior, fold.truth, fold.w_test, loss)
        else:
            found = _scored_labels(said, fold, loss)
        per_row = 1e6 * (seconds + before_test) / len(fold.test)
        return {**found, "fit_seconds": middle - start + before, "row_microseconds": per_row}, posterior

    def takes_weights(self) -> bool:
        """Whether `fit` takes sample_weight."""
        model = self.model.estimator if isinstance(self.model, OnPoints) else self.model
        return bool(has_fit_parameter(model, "sample_weight"))

    def row(self, k: int, data: Data, fold: Ints) -> Row:
        """The row of the board, of k folds."""
        if self.status == "finished" and self.done < k:
            self.stop("skipped", f"the time was over after {self.done} of {k} folds")
        notes = tuple(f"{said} ({n} of {k} folds)" for said, n in self.warned.most_common(3))
        folds = {name: tuple(values) for name, values in self.scores.items()}
        e, posterior = self.entry, None if self.posterior is None else data.whole(self.posterior, np.nan)
        pooled = {} if self.posterior is None else {"calibration_error": self._pooled(k, data, fold)}
        return Row(e.name, e.says, clone(self.model), self.status, self.reason, folds, notes, e.ours, posterior, pooled)

    def _pooled(self, k: int, data: Data, fold: Ints) -> tuple[float, float]:
        """(calibration error of the rows of all folds together, its standard deviation by leaving out a fold at a time).

        The mean over folds says how few rows a bin has: of none of them is the share of right answers what it should be.
        """
        w = np.ones(data.n) if data.weights is None else data.weights
        found = [
            calibration_error(self.posterior[some], data.codes[some], w[some])  # type: ignore[index]
            for some in (fold < k, *((fold < k) & (fold != f) for f in range(k)))
            if some.any()
        ]
        spread = np.array(found[1:])
        return found[0], float(np.sqrt((len(spread) - 1) * ((spread - spread.mean()) ** 2).sum())) if k > 1 else np.nan


def _first(rows: Any) -> Any:
    """The first row alone."""
    return rows.take_rows(np.array([0])) if isinstance(rows, Frame) else _safe_indexing(rows, [0])


def timed(call: Callable[[Any], Any], rows: Any) -> tuple[Any, float]:
    """(what a call gives, its seconds): a short one is called again, for the first time of all it is slow."""
    best, spent = np.inf, 0.0
    for _ in range(MOST_CALLS):
        start = time.perf_counter()
        found = call(rows)
        now = time.perf_counter() - start
        best, spent = min(best, now), spent + now
        if spent > SHORT:
            break
    return found, best


def _scored_labels(said: Any, fold: Fold, loss: Loss | None) -> dict[str, float]:
    """A model that says labels alone has an error, and a cost where its labels are actions."""
    labels = fold.data.labels.tolist()
    at = np.array([-1 if place is None else place for place in places(np.asarray(said).tolist(), labels)])
    found = {"error": float(fold.w_test @ (at != fold.truth) / fold.w_test.sum())}
    if loss is not None and loss.actions is not None and loss.actions.tolist()[: len(labels)] == labels:
        found["cost"] = float(fold.w_test @ loss.matrix[at, fold.truth] / fold.w_test.sum())
    return found


@contextlib.contextmanager
def _own_threads(cells: int) -> Iterator[None]:
    """One thread of OpenMP and BLAS for a small table."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    if cells > LITTLE:
        yield
        return
    with threadpool_limits(limits=1):
        yield


def _matters(heard: warnings.WarningMessage) -> bool:
    """Whether a user can do something about a warning: those of a library about itself are left out."""
    return not issubclass(heard.category, DeprecationWarning | FutureWarning | PendingDeprecationWarning)
