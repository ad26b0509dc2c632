"""A call crosses few rooms: at most half the changes of room that it once made (41, 24, 20)."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

TRACER = Path(__file__).parents[1] / "benchmarks" / "walks.py"


@pytest.mark.skipif(not TRACER.exists(), reason="an sdist carries no benchmarks")
@pytest.mark.parametrize(("name", "most"), [("TAN.fit", 20), ("NaiveBayes.fit", 12), ("BayesNet.marginals, cold", 10)])
def test_few_changes_of_room(name, most):
    spec = importlib.util.spec_from_file_location("walks", TRACER)
    tracer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tracer)
    call = tracer.walks()[name]
    call()
    assert 0 < tracer.walk(call)[2] <= most
