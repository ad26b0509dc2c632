"""The spam filter of examples/: what it prints is true."""

from __future__ import annotations

import pathlib
import runpy

import numpy as np
import pytest

import posteriori as po

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "spam.py"


@pytest.fixture(scope="module")
def spam():
    return runpy.run_path(str(EXAMPLE))


def test_deciding_by_risk_loses_no_good_mail_and_costs_less(spam):
    truth, careful, loss = spam["y_new"], spam["careful"], spam["loss"]
    assert not np.any((truth == "ham") & (careful == "spam"))
    assert np.any((truth == "ham") & (spam["by_argmax"] == "spam"))
    assert po.mean_loss(truth, careful, loss) < po.mean_loss(truth, spam["by_argmax"], loss)


def test_forgetting_a_message_restores_the_filter(spam):
    again = po.NaiveBayes(kinds={"text": "text", "links": "count"}, density={"links": "poisson"})
    again.fit(spam["X"], spam["y"])
    assert again.predict_proba(spam["X_new"]) == pytest.approx(spam["model"].predict_proba(spam["X_new"]), rel=1e-9)


def test_the_same_filter_as_one_estimator(spam):
    inner = po.NaiveBayes(kinds={"text": "text", "links": "count"}, density={"links": "poisson"})
    one = po.RiskClassifier(inner, loss=spam["loss"]).fit(spam["X"], spam["y"])
    assert np.array_equal(one.predict(spam["X_new"]), spam["careful"])
