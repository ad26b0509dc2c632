"""The race of `compare`: every model over every fold, on the training rows alone, within the time.

The folds are the outer loop: a table is cut and prepared once a fold, and models that cannot finish are known after the
first. Models run one after another, each with all cores, so that their times are their own.

Attempts are made in this process, or in a child (`Lane`) that is ended when its time is over: nothing else ends a call
of compiled code at a given moment. A child is a copy of this process (fork), so that nothing is sent but what came of
an attempt; it goes on from model to model, with the points that they share, until a fold is done or one of them takes
too long. Where there is no fork (Windows) a limit is looked at between attempts alone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Ints
from ..decision.loss import Loss
from .data import Data, Fold
from .runner import KEPT, Attempt, Runner

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
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

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
