"""One two-class machine: the solver's answer for labels ±1, and many such machines trained side by side."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Floats, Ints
from .kernel_functions import Kernel
from .smo import Limits, Solution, solve

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """How to solve: tolerance, caps, cache."""

    tol: float = 1e-3
    max_iter: int = -1
    max_seconds: float | None = None
    cache_size: float = 200.0
    n_jobs: int | None = None

    def limits(self, n: int, interrupted: threading.Event) -> Limits:
        steps = self.max_iter if self.max_iter >= 0 else max(10_000_000, 100 * n)
        return Limits(self.tol, steps, np.inf if self.max_seconds is None else self.max_seconds, interrupted)


@dataclass(frozen=True, slots=True)
class Machine:
    """f(x) = Σ β_i K(x_i, x) + b over training rows `rows`."""

    rows: Ints
    beta: Floats
    b: float
    w_norm: float
    gap: float
    steps: int
    converged: bool


def rows_at(kernel: Any, X: Any, rows: Ints, columns: Ints | None = None) -> Any:
    """The training rows of a part; of a precomputed matrix, their columns too."""
    if not isinstance(kernel, str) or kernel != "precomputed":
        return X[rows]
    return X[np.ix_(rows, rows if columns is None else columns)]


def train(
    kernel: Kernel, X: Any, rows: Ints, sign: Floats, C: Floats, settings: Settings, interrupted: threading.Event
) -> Machine:
    """The machine that separates sign > 0 from sign < 0; `sign` and C belong to `rows`."""
    gram = kernel.gram(rows_at(kernel.name, X, rows), settings.cache_size, settings.n_jobs)
    low, high = np.where(sign < 0, -C, 0.0), np.where(sign > 0, C, 0.0)
    found = solve(gram, sign, low, high, settings.limits(len(rows), interrupted), settings.cache_size)
    return machine_of(rows, found, sign)


def machine_of(rows: Ints, found: Solution, p: Floats) -> Machine:
    """‖w‖² = βᵀKβ = Σβ(p − v)."""
    w_norm = float(np.sqrt(max(0.0, float(found.beta @ (p - found.v)))))
    return Machine(rows, found.beta, found.b, w_norm, found.gap, found.steps, found.converged)


def side_by_side(tasks: Sequence[Callable[[Settings, threading.Event], Machine]], settings: Settings) -> list[Machine]:
    """Run the tasks, each on one core where there are several of them, the cache shared between those that run at once."""
    team = crew(len(tasks), settings.n_jobs)
    if team > 1:
        settings = Settings(settings.tol, settings.max_iter, settings.max_seconds, settings.cache_size / team, 1)
    return together([partial(task, settings) for task in tasks], team)


def crew(tasks: int, n_jobs: int | None) -> int:
    """How many of the tasks run at once; n_jobs as in scikit-learn, None for every core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(tasks, cores if n_jobs is None else cores + 1 + n_jobs if n_jobs < 0 else n_jobs)


def together(tasks: Sequence[Callable[[threading.Event], T]], team: int) -> list[T]:
    """The tasks' answers, `team` of them at work at once; on Ctrl-C or an error the others are told to stop."""
    interrupted = threading.Event()
    if team <= 1:
        return [task(interrupted) for task in tasks]
    with ThreadPoolExecutor(team) as pool:
        futures: list[Future[T]] = []
        try:
            futures += [pool.submit(task, interrupted) for task in tasks]
            while (now := wait(futures, timeout=0.1)).not_done:  # short waits, so that Ctrl-C is heard
                for f in now.done:
                    f.result()  # raises where the task failed
            return [f.result() for f in futures]
        except BaseException:
            interrupted.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def warn_unfinished(machines: Sequence[Machine], settings: Settings, name: str) -> None:
    """Say that a cap ended the work before the gap was closed."""
    open_ones = [m for m in machines if not m.converged]
    if open_ones:
        worst = max(m.gap for m in open_ones)
        warnings.warn(
            f"{name} stopped before its gap was under tol={settings.tol:g}: gap {worst:.3g} after "
            f"{max(m.steps for m in open_ones)} steps. Raise max_iter or max_seconds, lower C, or scale the columns",
            ConvergenceWarning,
            stacklevel=4,
        )
