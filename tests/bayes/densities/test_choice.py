"""Which density a numeric column has depends on the rows, not on how they are written down."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.bayes import factored
from posteriori.bayes.factored import BINS, EACH, FEW, settle


def table(seed):
    """Rows of many classes, columns that tell little: bins find nowhere to cut in some of them."""
    rng = np.random.default_rng(seed)
    n, K = int(rng.choice([40, 150, 700])), int(rng.choice([5, 20, 70]))
    y = rng.integers(0, K, n)
    X = rng.normal(size=(n, 6)) + y[:, None] * (rng.random(6) < 0.4)
    X[:, 0] = np.round(X[:, 0], 1)
    X[:, 1] = np.where(rng.random(n) < 0.5, 0, X[:, 1])
    X[:, 2] = X[:, 2] ** 5 * 1e40
    return X, y, rng


@pytest.mark.parametrize("seed", range(12))
def test_order_threads_and_units_do_not_matter(seed):
    X, y, rng = table(seed)
    found = po.NaiveBayes(smoothing=float(seed % 3)).fit(X, y).density_
    order = rng.permutation(len(y))
    for jobs, unit in ((1, 1.0), (3, 2.0**-30)):
        other = po.NaiveBayes(smoothing=float(seed % 3), n_jobs=jobs).fit(X[order] * unit, y[order])
        assert other.density_ == found


PRIORS = ["smoothed", "empirical", "uniform", {0: 0.5, 1: 0.3, 2: 0.2}]


@pytest.mark.parametrize("unseen", ["missing", "mass"])
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_a_row_is_taken_out_of_the_counts_of_its_own_class(prior, smoothing, unseen):
    """ln P^−i(y) + Σ ln P^−i(x|y) over the columns of values, by counting the other rows; a gap says nothing."""
    rng = np.random.default_rng(0)
    n = 40
    y = np.concatenate([[0, 1, 2], rng.integers(0, 3, n - 3)])
    X = pd.DataFrame({"x": np.arange(n) + 0.5, "a": rng.choice(["u", "v", "w"], n), "b": rng.choice([True, False], n)})
    X = X.astype({"a": object, "b": object})
    X.loc[4, "a"] = "alone"  # no other row has it
    X.loc[::7, "b"] = None
    stats = po.NaiveBayes(kinds={"a": "categorical", "b": "binary"}).fit(X, y).statistics_
    sample = stats.sample
    rows, own = np.nonzero(sample.table)
    assert len(rows) == n
    place = {j: k for k, j in enumerate(stats.sampled)}
    found = factored._start(stats, sample.cells[rows], place, own, np.ones(n), smoothing, prior, unseen)
    at = sample.cells[rows][:, place[0]].view(np.float64).astype(int)  # which row of the table it is
    assert sorted(at) == list(range(n))
    for said, i in zip(found, at):
        others = np.arange(n) != i
        with np.errstate(divide="ignore"):
            if isinstance(prior, dict):
                total = np.log([0.5, 0.3, 0.2])
            elif prior == "uniform":
                total = np.zeros(3)
            else:
                lam = smoothing if prior == "smoothed" else 0.0
                total = np.log([(others & (y == k)).sum() + lam for k in range(3)])
            for name, size in (("a", 4), ("b", 2)):
                value = X.loc[i, name]
                if value is None or (value == "alone" and unseen == "missing"):
                    continue
                for k in range(3):
                    there = others & (y == k) & X[name].notna()
                    whole = there.sum() + size * smoothing
                    part = (there & (X[name] == value)).sum() + smoothing
                    total[k] += np.log(part / whole if whole else 1 / size)
        live = np.isfinite(total)
        assert (np.isfinite(said) == live).all()
        if live.any():
            assert said[live] - said[live][0] == pytest.approx(total[live] - total[live][0], abs=1e-9)


def test_what_a_row_takes_from_its_class():
    found = factored._own(np.array([2, 0]), np.array([1.0, 0.25]), 3)
    assert found.tolist() == [[0.0, 0.0, 1.0], [0.25, 0.0, 0.0]]


def test_what_is_asked_of_the_kernels(monkeypatch):
    """x, y and weights of the sample's rows; P(y) = (N_y + 1)/(N + K) without what a row takes away; the start as odds."""
    rng = np.random.default_rng(2)
    n = 50
    y = np.concatenate([[0, 1, 2], rng.integers(0, 3, n - 3)])
    X = {"c": rng.choice(["u", "v"], n), "x": rng.normal(size=n), "w": rng.normal(size=n) + y}
    stats = po.NaiveBayes().fit(X, y, np.where(np.arange(n) % 2, 0.5, 3.0)).statistics_
    asked = []

    def left_out(x, own, out, turn, log_share, folded, worst, n_jobs):
        asked.append((x, own, out, turn, log_share))
        return "parts"

    def search(begin, parts, own, weights, errors, first, second, start, worst, rounds):
        assert parts == "parts"
        asked.append((begin, own, weights, errors, first, second))
        return np.array([4, 2])

    monkeypatch.setattr(factored, "packed", lambda *_: SimpleNamespace(left_out=left_out))
    monkeypatch.setattr(factored.kernels, "search_densities", search)
    assert factored.choose_densities(stats, [2, 1], 1.0, "smoothed", "missing", 0.01, 0) == ["none", "gaussian"]
    (x, own, out, turn, log_share), (begin, same, weights, errors, first, second) = asked
    assert x.shape == (2, n)
    at = [int(np.flatnonzero(X["w"] == value)[0]) for value in x[0]]
    assert sorted(at) == list(range(n))
    assert x[1].tolist() == X["x"][at].tolist()
    assert own.tolist() == same.tolist() == y[at].tolist()
    mass = np.where(np.array(at) % 2, 0.5, 3.0)
    assert weights == pytest.approx(mass)
    assert out == pytest.approx(np.minimum(mass, 1.0))
    assert ((turn >= 0) & (turn < 1)).all()
    assert len(np.unique(turn)) == n
    assert turn.max() > 0.8
    assert turn.min() < 0.2
    left = stats.rows - np.minimum(mass, 1.0)[:, None] * (y[at][:, None] == np.arange(3))
    assert np.exp(log_share) == pytest.approx((left + 1) / (left.sum(axis=1, keepdims=True) + 3))
    assert np.exp(begin).sum(axis=1) == pytest.approx(1.0)
    assert errors.tolist() == [2.0, 2.0, 2.0, 2.0, 1.25]  # to leave a column out 1¼ are enough
    assert (factored.CANDIDATES[first], factored.CANDIDATES[second]) == ("binned", "mixed")


def test_without_a_row_to_ask_there_are_bins():
    stats = po.NaiveBayes().fit({"x": [1.0, 2.0], "z": [3.0, 4.0], "w": [0.5, 0.25]}, [0, 1]).statistics_
    gone = replace(stats, sample=replace(stats.sample, table=0 * stats.sample.table))
    assert factored.choose_densities(gone, [0, 2], 1.0, "smoothed", "missing", 0.01, 0) == ["binned", "binned"]


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
