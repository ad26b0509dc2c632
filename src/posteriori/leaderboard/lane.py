"""Where attempts are made: in this process, or in a child that is ended when its time is over.

Nothing else ends a call of compiled code at a given moment. A child is a copy of this process (fork), so that nothing is
sent but what came of an attempt; it goes on from model to model, with the points that they share, until a fold is done or
one of them takes too long. Where there is no fork (Windows) a limit is looked at between attempts alone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..decision.loss import Loss
from .data import Fold
from .runner import Attempt, Runner


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
