"""BLAS is held to one thread while anybody has little to do, and has its threads back afterwards."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 its BLAS is there from now on
from threadpoolctl import threadpool_info

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
