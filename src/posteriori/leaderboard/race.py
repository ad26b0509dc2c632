"""The race of `compare`: every model over every fold, on the training rows alone, within the time.

The folds are the outer loop: a table is cut and prepared once a fold, and models that cannot finish are known after the
first. Models run one after another, each with all cores, so that their times are their own.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from ..arrays import Array, Floats, Ints
from ..bayes.learning import Learner
from ..bayes.tables import ReadsTables
from ..decision.loss import Loss
from ..errors import BadValue, ModelError
from ..table.frame import open_frame
from ..table.kinds import resolve_kinds
from ..table.labels import encode_labels, places
from ..table.weights import check_weights
from .board import Row
from .lineup import Entry
from .prepare import Prepare
from .scores import over_classes, scored

ENOUGH = 2  # folds from which a race that ran out of time is scored by what all have finished
LITTLE = 500_000  # cells up to which threads of OpenMP and BLAS wait for each other longer than they work


@dataclass(frozen=True)
class Progress:
    """How far `compare` is: fits done of all, what runs now, seconds that are left (None: nobody knows yet)."""

    done: int
    total: int
    model: str
    fold: int
    seconds_left: float | None


@dataclass(frozen=True, eq=False)
class Data:
    """The table, opened once."""

    X: Any
    frame: Any
    labels: Array
    codes: Ints
    weights: Floats | None
    kinds: tuple[str, ...]
    names: tuple[Any, ...]

    @property
    def n(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, X: Any, y: Any, kinds: Any, sample_weight: Any) -> Data:
        if isinstance(X, Mapping):
            X = pd.DataFrame(X)
        frame = open_frame(X)
        labels, narrow = encode_labels(y)
        codes = narrow.astype(np.int64)
        if len(codes) != frame.n:
            raise BadValue(f"X has {frame.n} rows but y has {len(codes)} labels")
        told = resolve_kinds(frame, kinds if not isinstance(kinds, tuple) else dict(zip(_names(frame), kinds)))
        weights = None if sample_weight is None else check_weights(sample_weight, len(codes))
        if weights is not None and not (weights > 0).all():
            some = np.flatnonzero(weights > 0)
            X, frame, codes, weights = _safe_indexing(X, some), frame.take_rows(some), codes[some], weights[some]
            kept, codes = np.unique(codes, return_inverse=True)
            labels = labels[kept]
        if len(labels) < 2:
            only = f"one class only, {labels.tolist()[0]!r}" if len(labels) else "no rows"
            raise ModelError(f"y has {only}: there is nothing to tell apart")
        return cls(X, frame, labels, codes, weights, told, _names(frame))


def _names(frame: Any) -> tuple[Any, ...]:
    return frame.names if frame.names is not None else tuple(range(frame.d))


class Fold:
    """One fold: its rows, and the points that several models share, with the seconds that making them took."""

    def __init__(self, data: Data, test: Array) -> None:
        self.data = data
        self.train, self.test = np.flatnonzero(~test), np.flatnonzero(test)
        self.y = data.labels[data.codes[self.train]]
        self.truth = data.codes[self.test]
        self.w = None if data.weights is None else data.weights[self.train]
        self.w_test = np.ones(len(self.test)) if data.weights is None else data.weights[self.test]
        self._frames: tuple[Any, Any] | None = None
        self._raw: tuple[Any, Any] | None = None
        self._points: dict[str, tuple[Any, float, Any, float]] = {}

    def frames(self) -> tuple[Any, Any]:
        """Rows as the library reads them."""
        if self._frames is None:
            self._frames = self.data.frame.take_rows(self.train), self.data.frame.take_rows(self.test)
        return self._frames

    def raw(self) -> tuple[Any, Any]:
        """Rows as the caller gave them."""
        if self._raw is None:
            self._raw = _safe_indexing(self.data.X, self.train), _safe_indexing(self.data.X, self.test)
        return self._raw

    def points(self, prepare: Prepare) -> tuple[Any, float, Any, float]:
        """(training points, seconds, test points, seconds), made from training rows alone, once for all who need them."""
        key = repr((prepare.view, prepare.kinds))
        if key not in self._points:
            train, test = self.frames()
            start = time.perf_counter()
            fitted = clone(prepare).fit(train)
            known = fitted.transform(train)
            middle = time.perf_counter()
            new = fitted.transform(test)
            self._points[key] = known, middle - start, new, time.perf_counter() - middle
        return self._points[key]


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

    def run(self, fold: Fold, at: int, loss: Loss | None) -> None:
        """Fit on the training rows, score on the others; what fails is kept as the reason, and nothing else stops."""
        start = time.perf_counter()
        try:
            with warnings.catch_warnings(record=True) as heard, np.errstate(all="ignore"):
                warnings.simplefilter("always")
                with _own_threads(fold.data.n * len(fold.data.kinds)):
                    found = self._scored(fold, loss)
        except TimeOver:
            raise
        except Exception as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else "no message"
            self.stop("failed", f"fold {at + 1}: {type(error).__name__}: {first}")
            return
        self.seconds = max(self.seconds, time.perf_counter() - start)
        self.done += 1
        self.warned.update({str(w.message).strip().splitlines()[0] for w in heard if _matters(w)})
        for name, value in found.items():
            self.scores.setdefault(name, []).append(value)

    def stop(self, status: str, reason: str) -> None:
        self.status, self.reason = status, reason
        self.scores = {}

    def _scored(self, fold: Fold, loss: Loss | None) -> dict[str, float]:
        model, before, before_test = clone(self.model), 0.0, 0.0
        if isinstance(model, Pipeline) and isinstance(model[0], Prepare):
            train, before, test, before_test = fold.points(model[0])
            model = model[-1]
        else:
            train, test = fold.frames() if isinstance(model, Learner | ReadsTables) else fold.raw()
        if self.entry.name == "baseline":
            train, test = np.zeros((len(fold.train), 1)), np.zeros((len(fold.test), 1))
        weighted = {} if fold.w is None else {"sample_weight": fold.w}
        start = time.perf_counter()
        model.fit(train, fold.y, **weighted)
        middle = time.perf_counter()
        said = model.predict_proba(test) if hasattr(model, "predict_proba") else model.predict(test)
        end = time.perf_counter()
        if hasattr(model, "predict_proba"):
            own = [int(at) for at in places(model.classes_.tolist(), fold.data.labels.tolist()) if at is not None]
            found = scored(over_classes(said, own, len(fold.data.labels)), fold.truth, fold.w_test, loss)
        else:
            found = _scored_labels(said, fold, loss)
        per_row = 1e6 * (end - middle + before_test) / len(fold.test)
        return {**found, "fit_seconds": middle - start + before, "row_microseconds": per_row}

    def takes_weights(self) -> bool:
        model = self.model[-1] if isinstance(self.model, Pipeline) else self.model
        return bool(has_fit_parameter(model, "sample_weight"))

    def row(self, k: int) -> Row:
        if self.status == "finished" and self.done < k:
            self.stop("skipped", f"the time was over after {self.done} of {k} folds")
        notes = tuple(f"{said} ({n} of {k} folds)" for said, n in self.warned.most_common(3))
        folds = {name: tuple(values) for name, values in self.scores.items()}
        e = self.entry
        return Row(e.name, e.says, clone(self.model), self.status, self.reason, folds, notes, e.ours)


def _scored_labels(said: Any, fold: Fold, loss: Loss | None) -> dict[str, float]:
    """A model that says labels alone has an error, and a cost where its labels are actions."""
    labels = fold.data.labels.tolist()
    at = np.array([-1 if place is None else place for place in places(np.asarray(said).tolist(), labels)])
    found = {"error": float(fold.w_test @ (at != fold.truth) / fold.w_test.sum())}
    if loss is not None and loss.actions is not None and loss.actions.tolist()[: len(labels)] == labels:
        found["cost"] = float(fold.w_test @ loss.matrix[at, fold.truth] / fold.w_test.sum())
    return found


class TimeOver(Exception):
    """The time limit ended in the middle of a fit."""


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """`TimeOver` when the time is over, as soon as Python gets a word in: between the calls of compiled code.

    Only the main thread can be called so; elsewhere the time is looked at between fits alone.
    """
    main = threading.current_thread() is threading.main_thread()
    if not (main and np.isfinite(seconds) and hasattr(signal, "setitimer")):
        yield
        return

    def ring(*_: Any) -> None:
        raise TimeOver

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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


@dataclass(eq=False)
class Race:
    """All models over all folds, within the time."""

    data: Data
    fold: Ints
    k: int
    loss: Loss | None
    runners: list[Runner]
    limit: float | None
    progress: Callable[[Progress], Any] | None
    done: int = 0  # folds that count

    def run(self) -> None:
        if self.data.weights is not None:
            for runner in self.runners:
                if not runner.takes_weights():
                    runner.stop("skipped", "takes no sample_weight")
        start, self.done = time.monotonic(), self.k
        for f in range(self.k):
            fold = Fold(self.data, self.fold == f)
            for runner in self.runners:
                if runner.status != "finished":
                    continue
                left = np.inf if self.limit is None else self.limit - (time.monotonic() - start)
                if left <= 0 and f >= ENOUGH:
                    return self._end(f)
                if left <= 0 and runner.entry.name != "baseline":
                    runner.stop("skipped", f"the time limit of {self.limit:g} s was over after {f} of {self.k} folds")
                    continue
                self._tell(runner, f)
                # what takes longer in an early fold would not finish, had it all the time that is left
                share = left if f >= ENOUGH else left / (self.k - f)
                try:
                    with alarm(np.inf if runner.entry.name == "baseline" else share):
                        runner.run(fold, f, self.loss)
                except TimeOver:
                    if f >= ENOUGH:
                        return self._end(f)
                    why = f"fold {f + 1} of {self.k} took more than {share:.2g} s, its share of the time limit"
                    runner.stop("skipped", f"{why} of {self.limit:g} s")
            if f == 0 and self.limit is not None:
                self._keep_what_fits(self.limit - (time.monotonic() - start))

    def _end(self, f: int) -> None:
        """The time is over: what counts are the first f folds, which all that still run have finished."""
        self.done = f
        for runner in self.runners:
            if runner.status == "finished":
                runner.done, runner.scores = f, {name: values[:f] for name, values in runner.scores.items()}

    def _keep_what_fits(self, left: float) -> None:
        """After the first fold the times are known: the quickest that fit into what is left go on."""
        for runner in sorted(self.runners, key=lambda r: r.seconds):
            if runner.status == "finished" and runner.entry.name != "baseline":
                needs = runner.seconds * (self.k - 1)
                if needs > left:
                    runner.stop("skipped", f"needs about {needs:.0f} s more, past the time limit of {self.limit:g} s")
                left -= needs if needs <= left else 0.0

    def _tell(self, runner: Runner, f: int) -> None:
        if self.progress is None:
            return
        there = [r for r in self.runners if r.status == "finished"]
        done = sum(r.done for r in there)
        left = sum(r.seconds * (self.k - r.done) for r in there) if f else None
        self.progress(Progress(done, len(there) * self.k, runner.entry.name, f, left))
