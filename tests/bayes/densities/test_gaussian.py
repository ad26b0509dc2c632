"""Widths of normals by their formulas; Poisson counts: every view of the model follows from the rates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import poisson

import posteriori as po
from posteriori.bayes.densities.gaussian import Gaussian, Poisson
from posteriori.errors import BadValue
from posteriori.kernels import naive
from posteriori.statistics import Moments

Y = np.array([0, 0, 0, 1, 1])


def fitted(scale=1):
    X = np.array([[1, 0], [2, 3], [3, 0], [7, 1], [9, 1]]) * scale
    return X, po.NaiveBayes(kinds="count", density="poisson", smoothing=1.0).fit(X, Y)


def rates(X):
    middle = X.mean(axis=0)
    return np.stack([(X[c == Y].sum(axis=0) + middle) / ((c == Y).sum() + 1) for c in (0, 1)])


def test_rates_draw_the_class_towards_the_mean_of_all():
    X, model = fitted()
    rate = rates(X)
    for j in range(2):
        assert model.tables_[f"x{j}"].loc["rate"].to_numpy() == pytest.approx(rate[:, j])
    odds = model.explain([[4, 2]], 0, 1).frame().set_index("column")["log_odds"]
    for j, x in enumerate((4, 2)):
        assert odds[f"x{j}"] == pytest.approx(poisson.logpmf(x, rate[0, j]) - poisson.logpmf(x, rate[1, j]))


@pytest.mark.parametrize("scale", [1, 10, 1000])
def test_information_is_the_sum_over_counts(scale):
    """I = Σ_x Σ_y P(y) P(x|y) ln P(x|y)/P(x); of great rates by the normal that they come near to."""
    X, model = fitted(scale)
    prior, rate = np.exp(model.factored_.log_prior), rates(X)
    told = model.summary().set_index("column")["information"]
    for j in range(2):
        x = np.arange(int(rate[:, j].max() + 20 * np.sqrt(rate[:, j].max()) + 20))
        p = poisson.pmf(x[:, None], rate[:, j])
        with np.errstate(divide="ignore", invalid="ignore"):
            wanted = np.nansum(prior * p * np.log(p / (p @ prior)[:, None]))
        assert told[f"x{j}"] == pytest.approx(wanted, rel=1e-6 if scale < 1000 else 0.02)


def test_draws_have_the_rates():
    X, model = fitted()
    rows, classes = model.sample(4000, random_state=0)
    for c in (0, 1):
        some = np.asarray(rows, dtype=float)[classes == c]
        assert (np.abs(some.mean(axis=0) - rates(X)[c]) < 5 * np.sqrt(rates(X)[c] / len(some))).all()


def test_a_normal_without_a_spread_has_no_information():
    model = po.NaiveBayes(kinds="numeric", density="gaussian").fit(np.arange(10.0).reshape(5, 2), Y)
    (density,) = model.factored_.densities
    density.variance = np.array([[1.0, np.inf], [1.0, 1.0]])
    with pytest.raises(BadValue, match="column 'x1' has no normal density"):
        density.information(np.array([0.5, 0.5]))


def moments(x, y, n_classes):
    return Moments.of(*naive.class_moments(x, y.astype(np.uint8), n_classes))


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("inferred", [False, True])
def test_widths_are_the_formulas(inferred, ddof):
    """σ² = max(M2/n, ν s²/(n + ν)), s² within the classes and a share of what parts them; where classes are inferred
    (M2 + ν s²/K^(2/d))/(n + ν), s² of the whole column. A class without rows has the column's own."""
    rng = np.random.default_rng(ddof)
    y = np.repeat([0, 1, 2], [7, 4, 2])
    x = rng.normal(size=(13, 2)) * [1.0, 30.0] + 5 * y[:, None]
    x[y == 2] = [3.0, 4.0]  # of one value
    found = Gaussian([0, 1], ["a", "b"], moments(x, y, 4), 0.01, ddof, inferred)
    n = np.array([7, 4, 2, 0])[:, None]
    means = np.array([x[y == k].mean(axis=0) if k < 3 else x.mean(axis=0) for k in range(4)])
    m2 = np.array([((x[y == k] - means[k]) ** 2).sum(axis=0) for k in range(4)])
    assert found.mean == pytest.approx(means)
    if inferred:
        usual = x.var(axis=0) / 4 ** (2 / 2)
        wanted = (m2 + usual) / np.maximum(n + 1 - ddof, 1)
        prior = -0.5 * (np.log(wanted) + usual / wanted).sum()
    else:
        within = m2.sum(axis=0) / 13
        usual = within + 0.01 * (x.var(axis=0) - within)
        own = np.where(n > 0, m2 / np.maximum(n - ddof, 1), x.var(axis=0, ddof=ddof))
        wanted, prior = np.maximum(own, usual / (n + 1)), 0.0
    assert found.variance == pytest.approx(wanted)
    assert found.log_prior == pytest.approx(prior)


@pytest.mark.parametrize("value", [0.0, 0.5, -200.0])
@pytest.mark.parametrize("inferred", [False, True])
def test_a_constant_column_is_as_wide_as_its_size_in_every_class(value, inferred):
    x, y = np.full((6, 1), value), np.array([0, 0, 0, 0, 1, 1])
    found = Gaussian([0], ["a"], moments(x, y, 2), 0.02, 0, inferred)
    assert found.variance == pytest.approx(np.full((2, 1), 0.02 * max(value**2, 1.0)))


@pytest.mark.parametrize("n", [1, 9])
def test_where_all_counts_were_zero_the_rate_is_half_a_count_in_one_row_more(n):
    moments_of = moments(np.zeros((n, 1)), np.zeros(n, int), 2)
    found = Poisson([0], ["a"], moments_of, smoothing=2.0)
    middle = 0.5 / (n + 1)
    assert found.rate[:, 0] == pytest.approx([2 * middle / (n + 2), middle])
    assert Poisson([0], ["a"], moments_of, smoothing=0.0).rate[:, 0].tolist() == [0.0, 0.0]
