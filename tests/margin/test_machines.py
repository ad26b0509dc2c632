"""What a machine may spend: caps that are told are kept, and what was not told is generous."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import posteriori as po
from posteriori.margin.machines import Settings


@pytest.mark.parametrize(
    ("max_iter", "n", "steps"),
    [(0, 5, 0), (1, 5, 1), (7, 10**6, 7), (-1, 5, 10_000_000), (-1, 100_000, 10_000_000), (-1, 100_001, 10_000_100)],
)
def test_caps(max_iter, n, steps):
    stop = threading.Event()
    limits = Settings(0.5, max_iter, None).limits(n, stop)
    assert (limits.tol, limits.steps, limits.seconds, limits.interrupted) == (0.5, steps, np.inf, stop)
    assert Settings(max_seconds=0.25).limits(n, stop).seconds == 0.25


def test_a_cap_of_no_steps_moves_nothing_and_says_so():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    with pytest.warns(
        ConvergenceWarning, match="SVC stopped before its gap was under tol=0.001: gap 2 after 0 steps"
    ) as said:
        model = po.SVC(kernel="linear", max_iter=0).fit(X, y)
    assert said[0].filename == __file__  # the line that called fit
    assert not model.n_support_.any()
    with pytest.warns(ConvergenceWarning, match="SVR stopped") as said:
        po.SVR(max_iter=0, epsilon=0.0).fit(X, [0.0, 1.0, 5.0, 7.0])
    assert said[0].filename == __file__
