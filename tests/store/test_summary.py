"""What a head says of its model."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.store.summary import summary

ROWS = {"a": ["u", "v", "v"], "b": [1.0, 2.0, 4.0]}


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda: po.NaiveBayes(), {"fitted": False}),
        (lambda: po.TAN().fit(ROWS, [0, 1, 1]), {"fitted": True, "rows": 3, "columns": 2, "classes": 2}),
        (
            lambda: po.NaiveBayes().fit(ROWS, [0, 1, 1], sample_weight=[0.5, 1, 1]),
            {"fitted": True, "rows": 2.5, "columns": 2, "classes": 2},
        ),
        (
            lambda: po.KNeighborsClassifier(1).fit(np.eye(3), [0, 1, 2]),
            {"fitted": True, "columns": 3, "classes": 3},
        ),
        (lambda: po.SVR().fit(np.eye(3), [0.0, 1, 2]), {"fitted": True, "columns": 3}),
        (lambda: po.networks.asia(), {}),
        (lambda: po.BayesNet.fit([("a", "b")], {"a": ["u", "v"], "b": ["x", "y"]}), {"rows": 2}),
        (lambda: po.Schema.declare({"a": "numeric"}), {}),
    ],
)
def test_rows_columns_and_classes_as_far_as_there_are_any(model, said):
    assert summary(model()) == said
    assert all(type(v) in (int, float, bool) for v in said.values())
