"""Poisson counts: every view of the model follows from the rates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import poisson

import posteriori as po
from posteriori.errors import BadValue

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
