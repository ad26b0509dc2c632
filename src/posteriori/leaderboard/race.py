"""The race of `compare`: every model over every fold, on the training rows alone, within the time.

The folds are the outer loop: a table is cut and prepared once a fold, and models that cannot finish are known after the
first. Models run one after another, each with all cores, so that their times are their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Ints
from ..decision.loss import Loss
from .data import Data, Fold
from .lane import Lane, TimeOver, hearing
from .runner import KEPT, Runner

SPARE = 1.25  # of a fold's time is kept for each fold to come
ENOUGH = 2  # folds from which a race that ran out of time is scored by what all have finished


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
