"""A density that is chosen: leaving a row out is refitting without it, and the choice is that of the laws of counting."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori import kernels
from posteriori.bayes import factored
from posteriori.bayes.densities import mutual_information
from posteriori.bayes.numeric import Binned, Gaussian, KernelDensity, odds
from posteriori.errors import ModelError
from posteriori.statistics.histogram import Histogram
from posteriori.statistics.moments import Moments
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


def foretold(x, y, n_classes, smoothing=1.0, folded=factored.FOLDED, turn=0.5):
    """ln P^−i(y|x_i)/P(y) by bins, kernels, a normal, their mean and nothing, with equal shares: (5, R, K)."""
    h, m, n = Histogram.of(x, y, n_classes), moments_of(x, y, n_classes), len(x)
    moments = np.stack([m.n, m.mean, m.m2], axis=2).transpose(1, 0, 2).copy()
    ends, exact = np.array([0, len(h.values)]), np.ones(1, np.uint8)
    columns = kernels.NumericColumns(
        h.values, h.centres, h.table.astype(float), ends, exact, moments, smoothing, 0.01, 0.0
    )
    share = np.full((n, n_classes), -np.log(n_classes))
    return columns.left_out(x[None], y, np.ones(n), np.full(n, turn), share, folded, factored.WORST)[0]


@pytest.mark.parametrize("smoothing", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(8))
def test_a_normal_without_the_row_is_one_fitted_without_it(seed, smoothing):
    x, y = column(seed, missing=0.0)
    found = foretold(x, y, 3, smoothing)[2]
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        refit = Gaussian([0], ["x"], moments_of(x[rest], y[rest], 3), 0.01, 0, smoothing)
        wanted = odds(refit.parts(Frame(1, ["x"], matrix=x[[i], None]))[0, 0], -np.log(3))
        np.testing.assert_allclose(found[i], wanted, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_kernels_without_the_row_are_those_of_the_other_rows_as_wide_as_before(seed):
    x, y = column(seed, n=30 if seed < 6 else 300, missing=0.0)
    found = foretold(x, y, 3)[1]
    width = KernelDensity(0, "x", Histogram.of(x, y, 3), 0.01).width
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        refit = KernelDensity(0, "x", Histogram.of(x[rest], y[rest], 3), 0.01)
        refit.width = width
        wanted = odds(refit._log_density(x[[i]])[0], -np.log(3))
        np.testing.assert_allclose(found[i], wanted, rtol=1e-3, atol=3e-3)


def test_the_mean_of_the_three_and_nothing_where_a_cell_is_missing():
    x, y = column(1, n=60)
    found = foretold(x, y, 3)
    there = ~np.isnan(x)
    np.testing.assert_allclose(np.exp(found[3]), np.exp(found[:3]).mean(axis=0), rtol=1e-9)
    assert (found[4] == 0).all()
    assert (found[:, ~there] == 0).all()


@pytest.mark.parametrize("prior", ["smoothed", "empirical", "uniform"])
@pytest.mark.parametrize("unseen", ["missing", "mass"])
def test_categories_and_prior_without_the_row_are_those_fitted_without_it(unseen, prior):
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
    found = factored._start(stats, stats.sample.cells[rows], place, classes, np.ones(len(rows)), 1.0, prior, unseen)
    at = {v: k for k, v in enumerate(stats.sample.cells[rows, place[2]].view(np.float64).tolist())}
    for i in range(25):
        refit = po.NaiveBayes(kinds=kinds, unseen=unseen, prior=prior).fit(X[["a", "b"]].drop(index=i), np.delete(y, i))
        wanted = refit.predict_log_proba(X[["a", "b"]][i : i + 1])[0]
        k = at[X["x"][i]]
        assert classes[k] == y[i]
        np.testing.assert_allclose(found[k] - np.logaddexp(*found[k]), wanted, rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_bins_are_searched_without_the_row(seed):
    """Each row is foretold by the bins of the rows of other folds, dealt out class by class in the order of the values."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 400)
    x = rng.permutation(400) + 150.0 * y * (seed % 2)  # noise, and a column with cuts
    found = foretold(x, y, 2)[0]
    order = np.lexsort((x, y))
    fold = np.empty(400, int)
    fold[order] = np.arange(400) % 10
    for f in range(10):
        rest, some = fold != f, fold == f
        # values of both classes share a cell of the histogram; here all values of a class differ
        refit = Binned(0, "x", Histogram.of(x[rest], y[rest], 2), 1.0)
        wanted = odds(refit.parts(Frame(int(some.sum()), ["x"], matrix=x[some, None]))[:, 0], -np.log(2))
        np.testing.assert_allclose(found[some], wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("smoothing", [0.5, 1.0])
def test_a_row_less_in_many_rows(smoothing):
    x, y = column(3, 200, missing=0.0)
    found = foretold(x, y, 3, smoothing, folded=10)[0]
    binned = Binned(0, "x", Histogram.of(x, y, 3), smoothing)
    bins = np.searchsorted(binned.cuts, x, side="right")
    for i in (0, 7, 99):
        less = binned.table.copy()
        less[bins[i], y[i]] -= 1
        theta = (less + smoothing) / (less.sum(axis=0) + len(less) * smoothing)
        np.testing.assert_allclose(found[i], odds(np.log(theta[bins[i]]), -np.log(3)), rtol=1e-9)


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
        assert set(model.density_.values()) <= set(factored.CANDIDATES)
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
        patch.setattr("posteriori.bayes.factored.choose_densities", lambda *_: ["mixed"])
        found = model.set_params(smoothing=1.0, prior="smoothed", ddof=0).predict_proba(X)
        assert model.density_ == {"x0": "mixed"}
    said = [po.NaiveBayes(density=d).fit(X, y).predict_proba(X) for d in DENSITIES[:3]]
    np.testing.assert_allclose(found, np.mean(said, axis=0), rtol=1e-6)


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


def test_what_is_drawn_from_a_mixed_column_and_what_it_tells(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    x = np.where(y == 0, rng.exponential(2.0, 300), rng.normal(3.0 * y, 0.5))
    monkeypatch.setattr("posteriori.bayes.factored.choose_densities", lambda *_: ["mixed"])
    model = po.NaiveBayes(prior="uniform").fit(x[:, None], y)
    mixed = model.factored_.densities[0].column(0)
    grid = np.linspace(x.min() - 5, x.max() + 5, 20_001)
    p = np.exp(mixed.parts(Frame(len(grid), ["x"], matrix=grid[:, None]))[:, 0])
    for c in range(3):
        drawn = np.sort(mixed.draw(np.full(4000, c), rng)[0])
        share = np.interp(drawn, grid, np.cumsum(p[:, c]) / p[:, c].sum())
        assert np.abs(share - (np.arange(4000) + 0.5) / 4000).max() < 1.95 / np.sqrt(
            4000
        )  # Kolmogorov: one in a thousand
    joint = p * np.gradient(grid)[:, None] / 3
    assert model.summary()["information"][0] == pytest.approx(mutual_information(joint), rel=0.01)
    rows, _ = model.sample(5, random_state=0)
    assert np.isfinite(rows).all()
