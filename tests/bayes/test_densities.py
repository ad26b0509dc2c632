"""A density that is chosen: leaving a row out is refitting without it, and the choice is that of the laws of counting."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.bayes.densities import KernelDensity, choice
from posteriori.bayes.densities.gaussian import Gaussian
from posteriori.errors import ModelError
from posteriori.statistics import Moments
from posteriori.statistics.histogram import Histogram
from posteriori.table.frame import Frame

DENSITIES = ("gaussian", "kernel", "binned", "auto")


def column(seed, n=30, n_classes=3, missing=0.1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    x = np.round(rng.normal(y, 1.0), rng.integers(0, 3))
    return np.where(rng.random(n) < missing, np.nan, x), y


def moments_of(x, y, n_classes):
    rows = [x[(y == c) & ~np.isnan(x)] for c in range(n_classes)]
    mean = [[r.mean() if len(r) else 0.0] for r in rows]
    m2 = [[((r - r.mean()) ** 2).sum() if len(r) else 0.0] for r in rows]
    return Moments(np.array([[float(len(r))] for r in rows]), np.array(mean), np.array(m2))


@pytest.mark.parametrize("seed", range(8))
def test_a_normal_without_the_row_is_one_fitted_without_it(seed):
    x, y = column(seed, missing=0.0)
    less = choice.without(moments_of(x, y, 3), x, y, np.ones(len(x)))
    found = choice.normal_without(less, x, 0.01, 0)
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        refit = Gaussian([0], ["x"], moments_of(x[rest], y[rest], 3), 0.01, 0)
        wanted = refit.parts(Frame(1, ["x"], matrix=x[[i], None]))[0, 0]
        np.testing.assert_allclose(found[i], wanted, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_kernels_without_the_row_are_those_of_the_other_rows_as_wide_as_before(seed):
    x, y = column(seed, missing=0.0)
    h = Histogram.of(x, y, 3)
    less = choice.without(moments_of(x, y, 3), x, y, np.ones(len(x)))
    found = choice.kernel_without(h, less, x, y, np.ones(len(x)), 0.01)
    width = KernelDensity(0, "x", h, 0.01).width
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        refit = KernelDensity(0, "x", Histogram.of(x[rest], y[rest], 3), 0.01)
        refit.width = width
        np.testing.assert_allclose(found[i], refit._log_density(x[[i]])[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("unseen", ["missing", "mass"])
def test_categories_and_prior_without_the_row_are_those_fitted_without_it(unseen):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 25)
    X = pd.DataFrame(
        {"a": rng.choice(["u", "v", "w", None], 25), "b": rng.choice([1, 2, 3, 9], 25), "x": rng.random(25)}
    )
    kinds = {"a": "categorical", "b": "categorical"}
    model = po.NaiveBayes(kinds=kinds, density="auto", unseen=unseen).fit(X, y)
    stats = model.statistics_
    rows, classes = np.nonzero(stats.sample.table)
    place = {j: k for k, j in enumerate(stats.sampled)}
    found = choice._start(stats, stats.sample.cells[rows], place, classes, np.ones(len(rows)), 1.0, "smoothed", unseen)
    at = {v: k for k, v in enumerate(stats.sample.cells[rows, place[2]].view(np.float64).tolist())}
    for i in range(25):
        refit = po.NaiveBayes(kinds=kinds, unseen=unseen).fit(X[["a", "b"]].drop(index=i), np.delete(y, i))
        wanted = refit.predict_log_proba(X[["a", "b"]][i : i + 1])[0]
        k = at[X["x"][i]]
        assert classes[k] == y[i]
        np.testing.assert_allclose(found[k] - np.logaddexp(*found[k]), wanted, rtol=1e-9)


def test_bins_are_searched_without_the_row():
    """On noise a row that had a say in the cuts would be foretold better than fresh rows are."""
    rng = np.random.default_rng(0)
    x, y = rng.permutation(400).astype(float), rng.integers(0, 2, 400)
    h, one, turn = Histogram.of(x, y, 2), np.ones(400), rng.random(400)
    honest = choice.binned_without(h, x, y, one, turn, 1.0)
    parts = [choice._dealt(np.arange(401.0), f) for f in range(choice.FOLDS)]
    assert np.array_equal(np.sum(parts, axis=0), np.arange(401.0))
    assert honest.shape == (400, 2)
    assert np.isfinite(honest).all()


@pytest.mark.parametrize("smoothing", [0.5, 1.0])
def test_a_row_less_in_many_rows(smoothing, monkeypatch):
    x, y = column(3, 200, missing=0.0)
    monkeypatch.setattr(choice, "FOLDED", 10)
    h = Histogram.of(x, y, 3)
    found = choice.binned_without(h, x, y, np.ones(200), np.zeros(200), smoothing)
    cuts = po.NaiveBayes(density="binned").fit(x[:, None], y).factored_.densities[0].cuts
    bins = np.searchsorted(cuts, x, side="right")
    for i in (0, 7, 99):
        rest = (np.arange(200) != i) & (y == y[i])
        share = ((bins[rest] == bins[i]).sum() + smoothing) / (rest.sum() + (len(cuts) + 1) * smoothing)
        assert np.isclose(found[i, y[i]], np.log(share))


def test_the_choice_follows_the_data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    X = pd.DataFrame(
        {
            "steps": np.where(rng.random(2000) < 0.9, y, 1 - y) * 7.0,
            "humps": rng.choice([-3.0, 3.0], 2000) * y + rng.normal(size=2000),
        }
    )
    for k in range(6):
        X[f"copy{k}"] = X["humps"] + 1e-3 * rng.normal(size=2000)
    model = po.NaiveBayes(density="auto").fit(X, y)
    assert list(model.density_.values()).count("none") >= 4  # columns that say again what others have said
    losses = {
        d: -po.NaiveBayes(density=d).fit(X[::2], y[::2]).predict_log_proba(X[1::2])[np.arange(1000), y[1::2]].mean()
        for d in DENSITIES
    }
    assert losses["auto"] < 0.9 * min(losses[d] for d in DENSITIES[:3])
    assert set(model.summary()["density"]) >= {"none"}
    assert "none" in model._repr_html_()


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_any_table_has_a_posterior(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 30)), int(rng.integers(1, 5))
    X = np.round(rng.normal(size=(n, d)) * 10.0 ** rng.integers(-100, 100, d), int(rng.integers(0, 3)))
    X[:, 0] = 5.0
    X[rng.random((n, d)) < 0.2] = np.nan
    y = rng.integers(0, int(rng.integers(1, 4)), n)
    Q = np.vstack([X, np.full((1, d), np.nan), rng.normal(size=(3, d)) * 1e6])
    for smoothing in (1.0, 0.0):
        model = po.NaiveBayes(density="auto", smoothing=smoothing).fit(X, y)
        p = model.predict_proba(Q)
        assert np.allclose(p.sum(axis=1), 1.0)
        assert set(model.density_.values()) <= set(choice.CANDIDATES)
        rows, _ = model.sample(5, random_state=0)
        assert rows.shape == (5, d)
        assert set(model.tables_) == {"class", *model.schema_.names}
        one = po.NaiveBayes(density="auto", smoothing=smoothing, n_jobs=1).fit(X, y)
        assert np.array_equal(one.predict_proba(Q), p)


def test_parameters_may_be_changed_after_training_and_densities_too():
    x, y = column(1, 80)
    X = x[:, None]
    model = po.NaiveBayes(density="auto").fit(X, y)
    for density in ("gaussian", "kernel", "binned"):
        told = po.NaiveBayes(density=density).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(model.set_params(density=density).predict_proba(X), told, rtol=1e-12)
        assert model.density_ == {"x0": density}
    with pytest.raises(ModelError, match="fit again"):
        po.NaiveBayes(density="gaussian").fit(X, y).set_params(density="auto").predict(X)


def test_mixed_is_the_mean_of_three_posteriors():
    x, y = column(2, 90)
    X = x[:, None]
    model = po.NaiveBayes(density="auto").fit(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("posteriori.bayes.factored.choose", lambda *_: ["mixed"])
        found = model.set_params(smoothing=1.0, prior="smoothed", ddof=0).predict_proba(X)
        assert model.density_ == {"x0": "mixed"}
    said = [po.NaiveBayes(density=d).fit(X, y).predict_proba(X) for d in DENSITIES[:3]]
    np.testing.assert_allclose(found, np.mean(said, axis=0), rtol=1e-7, atol=1e-9)


def test_columns_of_every_kind_and_shards_in_another_order():
    rng = np.random.default_rng(0)
    n = 120
    y = rng.integers(0, 2, n)
    X = pd.DataFrame(
        {
            "word": rng.choice(["a", "b", None], n),
            "x": rng.normal(size=n) + y,
            "hits": rng.poisson(2 + y),
            "z": rng.normal(size=n),
            "note": rng.choice(["win cash", "see you"], n),
        }
    )
    kinds = {"word": "categorical", "hits": "count", "note": "text"}
    whole = po.NaiveBayes(kinds=kinds, density="auto").fit(X, y)
    a = po.NaiveBayes(kinds=kinds, density="auto").fit(X[:50], y[:50])
    b = po.NaiveBayes(kinds=kinds, density="auto").fit(X[X.columns[::-1]][50:], y[50:])
    both = a + b
    assert both.statistics_.sample == whole.statistics_.sample
    assert both.density_ == whole.density_
    np.testing.assert_allclose(both.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert set(whole.density_) == {"x", "hits", "z"}
