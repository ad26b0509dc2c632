"""Long work: shown while it goes on, ended by a time limit or Ctrl-C with what was found so far."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..arrays import is_number
from ..errors import BadParameter

Progress = bool | Callable[[str], Any]


class Watch:
    """Tells how the work goes, and when its time is over."""

    def __init__(self, show: Callable[[str], Any] | None, limit: float | None) -> None:
        self.listens = show is not None or limit is not None
        self.show: Callable[[str], Any] = show or (lambda _: None)
        self.finished = True
        self._end = None if limit is None else time.monotonic() + limit

    def left(self) -> float:
        """Seconds until the time is over."""
        return math.inf if self._end is None else max(self._end - time.monotonic(), 0.0)

    def over(self) -> bool:
        """Whether the time is over; then the work counts as not finished."""
        if self._end is not None and time.monotonic() > self._end:
            self.finished = False
        return not self.finished

    @contextmanager
    def until_interrupted(self) -> Iterator[None]:
        """Work that Ctrl-C ends, keeping what it has done so far; it then counts as not finished."""
        try:
            yield
        except KeyboardInterrupt:
            self.finished = False


@contextmanager
def watched(progress: Progress, limit: float | None) -> Iterator[Watch]:
    """A watch whose words go to a line of the terminal (True), to a function, or nowhere."""
    if limit is not None and not is_number(limit, 0):
        raise BadParameter(f"time_limit is a number of seconds from 0 up, or None. Got {limit!r} instead.")
    if progress is False or progress is None:
        yield Watch(None, limit)
    elif callable(progress):
        yield Watch(progress, limit)
    elif progress is True:
        from rich.console import Console

        with Console(stderr=True).status("…") as line:
            yield Watch(line.update, limit)
    else:
        raise BadParameter(f"progress is True, False or a function of a text. Got {progress!r} instead.")
