"""The race of `compare`: every model over every fold, on the training rows alone, within the time.

The folds are the outer loop: a table is cut and prepared once a fold, and models that cannot finish are known after the
first. Models run one after another, each with all cores, so that their times are their own.

Attempts are made in this process, or in a child (`Lane`) that is ended when its time is over: nothing else ends a call
of compiled code at a given moment. A child is a copy of this process (fork), so that nothing is sent but what came of
an attempt; it goes on from model to model, with the points that they share, until a fold is done or one of them takes
too long. Where there is no fork (Windows) a limit is looked at between attempts alone.

An attempt at a fold is a value, so that it can be made in this process or in another.

The table of a race, opened once, and its folds: what several models share is made once, from training rows alone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
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
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from ..arrays import Array, Floats, Ints
from ..bayes.learning import Learner
from ..bayes.tables import ReadsTables
from ..decision.loss import Loss
from ..decision.on_points import OnPoints
from ..errors import BadValue, ModelError
from ..table.frame import Frame, open_frame
from ..table.kinds import resolve_kinds
from ..table.labels import encode_labels, places
from ..table.prepare import prepare
from ..table.schema import Column, Schema
from ..table.weights import check_weights
from .board import Row, calibration_error, over_classes, scored
from .lineup import Entry, is_ours


@dataclass(frozen=True, eq=False)
class Data:
    """The rows that weigh something: `where` are their places among all `of` rows that were given."""

    X: Any
    frame: Any
    labels: Array
    codes: Ints
    weights: Floats | None
    kinds: tuple[str, ...]
    names: tuple[Any, ...]
    where: Ints
    of: int

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.codes)

    def whole(self, values: Array, blank: float) -> Array:
        """A value for each of all rows, `blank` where a row weighs nothing."""
        found = np.full((self.of, *values.shape[1:]), blank, dtype=values.dtype)
        found[self.where] = values
        return found

    @classmethod
    def open(cls, X: Any, y: Any, kinds: Any, sample_weight: Any) -> Data:
        """Check and code a table; rows without weight are left out."""
        if isinstance(X, Mapping):
            X = pd.DataFrame(X)
        frame = open_frame(X)
        labels, narrow = encode_labels(y)
        codes, of = narrow.astype(np.int64), len(narrow)
        if of != frame.n:
            raise BadValue(f"X has {frame.n} rows but y has {of} labels")
        told = resolve_kinds(frame, kinds if not isinstance(kinds, tuple) else dict(zip(names_of(frame), kinds)))
        weights = None if sample_weight is None else check_weights(sample_weight, of)
        where = np.arange(of)
        if weights is not None and not (weights > 0).all():
            where = np.flatnonzero(weights > 0)
            X, frame, codes, weights = _safe_indexing(X, where), frame.take_rows(where), codes[where], weights[where]
            kept, codes = np.unique(codes, return_inverse=True)
            labels = labels[kept]
        if len(labels) < 2:
            only = f"one class only, {labels.tolist()[0]!r}" if len(labels) else "no rows"
            raise ModelError(f"y has {only}: there is nothing to tell apart")
        return cls(X, frame, labels, codes, weights, told, names_of(frame), where, of)


def names_of(frame: Any) -> tuple[Any, ...]:
    """The names of the columns, or their numbers."""
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

    def points(self, model: OnPoints) -> tuple[Any, float, Any, float]:
        """(training points, seconds, test points, seconds), made from training rows alone, once for all who need them."""
        key = repr((model.view, model.kinds))
        if key not in self._points:
            train, test = self.frames()
            start = time.perf_counter()
            columns = map(Column, map(str, names_of(train)), resolve_kinds(train, model.kinds))
            learned = prepare(train, Schema(tuple(columns)), model.view)
            known = learned(train)
            middle = time.perf_counter()
            new = learned(test)
            self._points[key] = known, middle - start, new, time.perf_counter() - middle
        return self._points[key]


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


SPARE = 1.25  # of a fold's time is kept for each fold to come
ENOUGH = 2  # folds from which a race that ran out of time is scored by what all have finished


class TimeOver(Exception):
    """An attempt took longer than it might."""


class Lane:
    """Attempts at one fold; with `apart` in a child process."""

    def __init__(self, fold: Fold, loss: Loss | None, runners: list[Runner], apart: bool) -> None:
        self.fold, self.loss, self.runners = fold, loss, runners
        self.apart = (
            apart and hasattr(os, "fork") and not multiprocessing.current_process().daemon
        )  # who may have no child
        self._child: Any = None
        self._line: Any = None

    def attempt(self, at: int, seconds: float) -> Attempt:
        """What comes of runner number `at`, `TimeOver` if nothing has after so many seconds."""
        if not self.apart:
            return self.runners[at].attempt(self.fold, self.loss)
        if self._child is None:
            self._begin()
        self._line.send(at)
        if not self._line.poll(None if np.isinf(seconds) else max(seconds, 0.0)):
            self.end()
            raise TimeOver
        try:
            found: Attempt = self._line.recv()
            return found
        except (EOFError, ConnectionError):
            self._child.join()
            code = self._child.exitcode
            self.end()
            return Attempt(f"its process ended by itself (exit {code})")

    def end(self) -> None:
        """Nothing of it goes on."""
        if self._child is not None:
            self._child.kill()
            self._child.join()
            self._child.close()
            self._line.close()
            self._child = self._line = None

    def _begin(self) -> None:
        start = multiprocessing.get_context("fork")
        self._line, theirs = start.Pipe()
        self._child = start.Process(target=_run, args=(self, theirs))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's word about threads: our own live for one call
            self._child.start()
        theirs.close()


def _run(lane: Lane, line: Any) -> None:
    """The child: attempts, as they are asked for."""
    from threadpoolctl import threadpool_limits

    lane._line.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which ends this process
    threadpool_limits(limits=1, user_api="openmp")  # OpenMP's own threads are not there after a fork
    with contextlib.suppress(EOFError, OSError):
        while True:
            line.send(lane.runners[line.recv()].attempt(lane.fold, lane.loss))


class Heard:
    """Whether Ctrl-C was pressed."""

    pressed = False

    def check(self) -> None:
        """KeyboardInterrupt where a search heard it and went on with what it had."""
        if self.pressed:
            raise KeyboardInterrupt


@contextlib.contextmanager
def hearing() -> Iterator[Heard]:
    """Ctrl-C is remembered, and does what it would have done."""
    heard, before = Heard(), signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield heard
        return

    def press(number: int, frame: Any) -> Any:
        heard.pressed = True
        return before(number, frame)

    signal.signal(signal.SIGINT, press)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True)
class Progress:
    """How far `compare` is: fits done of all, what runs now, seconds that are left (None: nobody knows yet)."""

    done: int
    total: int
    model: str
    fold: int
    seconds_left: float | None


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
    begun: float = 0.0

    def run(self) -> None:
        """Until all is done, or the time is over."""
        if self.data.weights is not None:
            for runner in self.runners:
                if not runner.takes_weights():
                    runner.stop("skipped", "takes no sample_weight")
        self.begun, self.done = time.monotonic(), self.k
        for f in range(self.k):
            if not self._fold(f):
                return self._end(f)
            if f == 0 and self.limit is not None:
                self._keep_what_fits(self._left())

    def _fold(self, f: int) -> bool:
        """Everybody over fold f; whether there was time enough."""
        fold = Fold(self.data, self.fold == f)
        keeps = 8 * self.data.n * len(self.data.labels) * len(self.runners) <= KEPT
        lane = Lane(fold, self.loss, self.runners, apart=self.limit is not None)
        with hearing() as heard:
            try:
                for at, runner in enumerate(self.runners):
                    if runner.status != "finished":
                        continue
                    base, left = runner.entry.name == "baseline", self._left()
                    if left <= 0 and f >= ENOUGH:
                        return False
                    if left <= 0 and not base:
                        over = f"the time limit of {self.limit:g} s was over after {f} of {self.k} folds"
                        runner.stop("skipped", over)
                        continue
                    self._tell(runner, f)
                    share = self._share(left, f)
                    try:
                        start = time.monotonic()
                        runner.take(lane.attempt(at, np.inf if base else share), f, fold, keeps)
                        runner.seconds = max(runner.seconds, time.monotonic() - start)
                    except TimeOver:
                        if f >= ENOUGH:
                            return False
                        why = f"fold {f + 1} of {self.k} took more than {share:.2g} s, its share of the time limit"
                        runner.stop("skipped", f"{why} of {self.limit:g} s")
                    heard.check()
            finally:
                lane.end()
        return True

    def _share(self, left: float, f: int) -> float:
        """The seconds that an attempt may take: in the first fold as many as let it finish beside those who can.

        As long as none of ours has finished a fold, as many as let it finish those that are enough.
        """
        if f > 0:
            return left
        kept = SPARE * sum(r.seconds * (self.k - 1) for r in self.runners if r.done)
        some = any(r.done and r.entry.ours for r in self.runners)
        return max(left - kept, 0.0) / (self.k if some else min(ENOUGH + 1, self.k))

    def _left(self) -> float:
        return np.inf if self.limit is None else self.limit - (time.monotonic() - self.begun)

    def _end(self, f: int) -> None:
        """The time is over: what counts are the first f folds, which all that still run have finished."""
        self.done = f
        for runner in self.runners:
            if runner.status == "finished":
                runner.done, runner.scores = f, {name: values[:f] for name, values in runner.scores.items()}

    def _keep_what_fits(self, left: float) -> None:
        """After the first fold the times are known: the quickest that fit into what is left go on, one of ours at least."""
        ours = [r for r in self.runners if r.status == "finished" and r.entry.ours]
        first = min(ours, key=lambda r: r.seconds, default=None)
        for runner in sorted(self.runners, key=lambda r: r.seconds):
            if runner.status == "finished" and runner.entry.name != "baseline" and runner is not first:
                needs = runner.seconds * (self.k - 1)
                if needs > left - (first.seconds * (self.k - 1) if first is not None else 0.0):
                    runner.stop("skipped", f"needs about {needs:.0f} s more, past the time limit of {self.limit:g} s")
                left -= needs if runner.status == "finished" else 0.0

    def _tell(self, runner: Runner, f: int) -> None:
        if self.progress is None:
            return
        there = [r for r in self.runners if r.status == "finished"]
        done = sum(r.done for r in there)
        left = sum(r.seconds * (self.k - r.done) for r in there) if f else None
        self.progress(Progress(done, len(there) * self.k, runner.entry.name, f, left))
