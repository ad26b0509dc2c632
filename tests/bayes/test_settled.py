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


def test_weights_decide_what_is_few_and_where_bins_end():
    """A value counts by the rows that have it, by weight; bins are of equal weight."""
    x = np.r_[np.zeros(30), np.linspace(1, 2, 60)]
    rows = po.NaiveBayes()._rows({"x": x}, np.arange(90) % 2, np.r_[np.full(30, 2.0), np.ones(60)], ())
    found = settle(rows, ("auto",), "auto", True)
    mass = np.bincount(np.searchsorted(found.cuts[0], x, side="right"), np.r_[np.full(30, 2.0), np.ones(60)])
    assert mass[0] == pytest.approx(60.0)  # the one value of half the weight is a bin of its own
    assert mass[1:] == pytest.approx(np.full(len(mass) - 1, 60 / (len(mass) - 1)), rel=0.35)
    two = settled(np.arange(20) % 2 * 1.0, True)
    assert len(two.cuts[0]) == 1
    assert 0 < two.cuts[0][0] <= 1
