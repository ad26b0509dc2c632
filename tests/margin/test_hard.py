"""Hard cases of the margin machines: repeated rows, far queries, failed and interrupted fits, senseless numbers."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

import posteriori as po
from posteriori.margin.platt import normalised


def test_posteriors_of_repeated_rows_are_their_frequencies():
    x = np.repeat([0.0, 1.0], 500)[:, None]
    y = np.r_[np.arange(500) < 50, np.arange(500) < 450].astype(int)
    found = po.SVC(probability=True, random_state=0).fit(x, y).predict_proba([[0.0], [1.0]])
    assert_allclose(found, [[0.9, 0.1], [0.1, 0.9]], atol=0.02)


def test_sigmoids_that_all_underflow_still_sum_to_one():
    found = normalised(np.array([[-800.0, -900.0, -1e3], [-np.inf] * 3]), [(-1.0, 0.0)] * 3)
    assert_allclose(found, [[1.0, 0.0, 0.0], [1 / 3] * 3], atol=1e-12)
