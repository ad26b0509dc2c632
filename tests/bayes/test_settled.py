"""Densities while classes are inferred: values where they are few, bins beside labels, normals without."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.bayes.settled import BINS, EACH, FEW, settle


def settled(x, labels, densities=("auto",), more=None):
    X = {"x": x, **(more or {})}
    rows = po.NaiveBayes()._rows(X, np.arange(len(x)) % 2, None, ())
    return settle(rows, densities, "auto", labels)


def test_measurements_are_bins_beside_labels_and_normals_without():
    x = np.random.default_rng(0).normal(size=200)
    beside = settled(x, True)
    assert beside.names == {"x": "cells"}
    assert len(beside.cuts[0]) == BINS - 1
    share = np.bincount(np.searchsorted(beside.cuts[0], x, side="right"), minlength=BINS) / 200
    assert share == pytest.approx(np.full(BINS, 1 / BINS), abs=0.02)
    alone = settled(x, False)
    assert alone.names == {"x": "gaussian"}
    assert alone.cuts == ()


@pytest.mark.parametrize("labels", [True, False])
def test_few_numbers_are_values(labels):
    rows = int(FEW * EACH)
    x = np.arange(rows) % FEW
    found = settled(x.astype(float), labels)
    assert found.names["x"] == "cells"
    assert len(found.cuts[0]) == FEW - 1
    assert (np.searchsorted(found.cuts[0], np.arange(FEW), side="right") == np.arange(FEW)).all()
    many = settled((np.arange(rows + 11) % (FEW + 1)).astype(float), False)
    assert many.names["x"] == "gaussian"
    rare = settled((np.arange(rows - 1) % FEW).astype(float), False)
    assert rare.names["x"] == "gaussian"  # too few rows of each
    same = settled(np.ones(60), False)
    assert same.names["x"] == "gaussian"


def test_what_is_told_stays():
    x = np.arange(60.0)
    found = settled(x, True, ("gaussian", "cells"), {"w": ["a", "b"] * 30})
    assert found.names == {"x": "gaussian", "w": "cells"}
    assert found.cuts == ()
    assert found.told == "auto"
    mixed = settled(x, True, ("auto", "cells"), {"w": ["a", "b"] * 30})
    assert mixed.cuts[1] is None
    schema = po.NaiveBayes().fit({"x": x, "w": ["a", "b"] * 30}, [0, 1] * 30).schema_
    assert mixed.densities(schema) == ("cells", "cells")
