"""Kernels after a fork, under several Python threads at once, with any number of threads of their own, and without AVX2."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import posteriori as po
from posteriori import kernels
from posteriori.kernels import n_threads
from posteriori.table.encode import team_map


def work(n_jobs: int | None = 2) -> list[np.ndarray]:
    """One call of every kernel that shares its work, large enough to be shared."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (60_000, 20), dtype=np.uint8), rng.integers(0, 3, 60_000, dtype=np.uint8)
    offsets, weights = np.arange(0, 81, 4), rng.random(60_000)
    theta, start = np.log(rng.random((80, 3))), np.zeros(3)
    numbers = rng.normal(size=(60_000, 20))
    n, mean, m2, *_ = kernels.class_moments(numbers, y, 3, weights, n_jobs)
    indptr, indices = np.arange(0, 1_200_001, 20), rng.integers(0, 1000, 1_200_000)
    return [
        kernels.count_cells(X, y, offsets, 3, n_jobs=n_jobs),
        kernels.count_cells(X, y, offsets, 3, weights, n_jobs),
        kernels.log_joint_cells(X, theta, offsets, start, n_jobs),
        kernels.posterior_cells(np.asfortranarray(X), theta, offsets, start, n_jobs)[0],
        n,
        mean,
        m2,
        kernels.score_gaussian(numbers, mean, m2 / n, start, True, n_jobs)[0],
        kernels.count_sparse(indptr, indices, rng.random(len(indices)), 1000, y, 3, weights, None, n_jobs)[0],
        kernels.score_sparse(indptr, indices, None, rng.normal(size=(1000, 3)), start, n_jobs=n_jobs)[0],
    ]


def _child(queue: multiprocessing.Queue) -> None:
    queue.put([a.sum() for a in work()])


def test_bits_do_not_depend_on_the_threads() -> None:
    one = work(1)
    for threads in (2, 3):
        for a, b in zip(one, work(threads)):
            assert_array_equal(a, b)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, which this system does not have")
def test_fork_after_use() -> None:
    expected = [a.sum() for a in work()]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks beside threads
        child.start()
    assert queue.get(timeout=120) == expected
    child.join(timeout=60)
    assert child.exitcode == 0


def test_four_python_threads_at_once() -> None:
    expected = work(1)
    finished: list[int] = []

    def loop(name: int) -> None:
        for _ in range(20):
            if all(np.array_equal(a, b) for a, b in zip(expected, work(2))):
                finished.append(name)

    team = [threading.Thread(target=loop, args=(i,)) for i in range(4)]
    for t in team:
        t.start()
    for t in team:
        t.join()
    assert len(finished) == 80


def test_base_instruction_set_agrees() -> None:
    """The kernels compiled without AVX2 pass the same tests, in a process of their own."""
    tests = os.path.join(os.path.dirname(__file__), "test_naive.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", tests]
    done = subprocess.run(command, env={**os.environ, "POSTERIORI_ISA": "base"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


def test_threads_for_a_call() -> None:
    assert n_threads(None, 10) == 1
    assert n_threads(3, 10**9) == 3
    assert n_threads(-1, 10**9) == n_threads(None, 10**9) >= 1


@pytest.mark.parametrize("team", [1, 2])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_kernels_between_their_tasks(n_jobs: int, team: int) -> None:
    """On the thread that was called, and on others of Python's that work for it; it would take half a minute."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (100_000, 60)), rng.integers(0, 20, 100_000)
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background ignores Ctrl-C
    alarm, start = threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)), time.perf_counter()
    try:
        alarm.start()
        with pytest.raises(KeyboardInterrupt):
            team_map(lambda _: po.SPODE(kinds="categorical", n_jobs=n_jobs).fit(X, y), range(team), 1 << 20, 2)
    finally:
        signal.signal(signal.SIGINT, heard)
    assert time.perf_counter() - start < 15
