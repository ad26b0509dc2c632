"""BLAS is held to one thread while anybody has little to do, and has its threads back afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 its BLAS is there from now on
from threadpoolctl import threadpool_info, threadpool_limits

import posteriori as po
from posteriori.blas import LITTLE, one_thread


def threads() -> list[int]:
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def test_held_and_let_go() -> None:
    before = threads()
    with one_thread(10):
        assert set(threads()) <= {1}
        with one_thread(10):
            pass
        assert set(threads()) <= {1}
    assert threads() == before
    with one_thread(LITTLE + 1):
        assert threads() == before
    with pytest.raises(ZeroDivisionError), one_thread(1):
        1 / 0  # noqa: B018
    assert threads() == before


def test_the_last_who_leaves_lets_go() -> None:
    """Also when that is another thread than the one who came first; a limit of the user's own outlives ours."""
    before, b_in, a_out, b_out = threads(), threading.Event(), threading.Event(), threading.Event()

    def b() -> None:
        with one_thread(10):
            b_in.set()
            a_out.wait(10)
            seen.append(threads())
        seen.append(threads())
        b_out.set()

    for own in (None, 1):
        with threadpool_limits(own, user_api="blas"):
            within, seen, other = threads(), list[list[int]](), threading.Thread(target=b)
            with one_thread(10):
                other.start()
                assert b_in.wait(10)
            assert set(threads()) <= {1}  # b is still inside
            a_out.set()
            assert b_out.wait(10)
            other.join()
            assert set(seen[0]) <= {1}
            assert seen[1] == within == threads()
        assert threads() == before
        for event in (b_in, a_out, b_out):
            event.clear()


def test_several_fits_at_a_time() -> None:
    """Fits in threads of the user's are those of one thread, to the bit."""
    X, y = np.random.default_rng(1).normal(size=(300, 12)), np.arange(300) % 3
    alone = po.DiscriminativeNB().fit(X, y).predict_proba(X)
    answers: list[np.ndarray] = []
    team = [
        threading.Thread(target=lambda: answers.append(po.DiscriminativeNB().fit(X, y).predict_proba(X)))
        for _ in range(6)
    ]
    for t in team:
        t.start()
    for t in team:
        t.join()
    assert len(answers) == 6
    assert all(np.array_equal(a, alone) for a in answers)


def test_several_at_a_time() -> None:
    before = threads()
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 3
    model = po.GaussianBayes().fit(X, y)
    answers: list[np.ndarray] = []
    team = [
        threading.Thread(target=lambda: answers.extend(model.predict_proba(X) for _ in range(50))) for _ in range(4)
    ]
    for t in team:
        t.start()
    for t in team:
        t.join()
    assert threads() == before
    assert all(np.array_equal(a, answers[0]) for a in answers)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_child_forked_while_another_thread_comes_in_does_not_wait() -> None:
    script = """
import os, select, threading
from posteriori import blas

blas._lock.acquire()  # as a thread does while it comes in or leaves
reader, writer = os.pipe()
if not os.fork():
    with blas.one_thread(10):
        os.write(writer, b"in")
    os._exit(0)
print(select.select([reader], [], [], 20)[0] == [reader])
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "True", done.stderr
