"""Laws of the unit: centimetres or metres, a column tells the same; and where a float no longer holds squares, a name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po

DENSITIES = ["auto", "gaussian", "kernel", "binned"]


def table(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n, n_classes = rng.integers(6, 120), rng.integers(2, 5)
    y = rng.integers(0, n_classes, n)
    return rng.normal(size=(n, 2)) + y[:, None] * rng.normal(), y


@pytest.mark.parametrize("density", DENSITIES)
@given(seed=st.integers(0, 2**32), power=st.integers(-475, 490))
def test_posterior_and_information_know_no_unit(density, seed, power):
    x, y = table(seed)
    plain, scaled = (po.NaiveBayes(density=density).fit(x * unit, y) for unit in (1.0, 2.0**power))
    np.testing.assert_allclose(scaled.predict_proba(x * 2.0**power), plain.predict_proba(x), atol=1e-5)
    a, b = (model.summary().sort_values("column")["information"].to_numpy() for model in (plain, scaled))
    np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-9)


@given(seed=st.integers(0, 2**32), power=st.integers(-400, 400), shift=st.sampled_from([0.0, -7.0]))
def test_neither_names_nor_units_nor_columns_that_say_nothing_choose_a_density(seed, power, shift):
    """Whole numbers: rows of one value take turns in the folds, by what they are and not by what they are called."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rng.integers(12, 90))
    x = rng.poisson(2 + 2 * y[:, None], (len(y), 3)).astype(float)
    plain = po.NaiveBayes().fit(x, y).predict_proba(x)
    constant, empty = np.full(len(y), 4.0), np.full(len(y), np.nan)
    named = {"height": x[:, 0], "none": empty, "width": x[:, 1], "same": constant, "a": x[:, 2]}
    for table in (named, (x + shift) * 2.0**power):
        np.testing.assert_allclose(po.NaiveBayes().fit(table, y).predict_proba(table), plain, atol=1e-5)


@pytest.mark.parametrize("density", ["auto", "gaussian", "kernel"])
@given(seed=st.integers(0, 2**32), power=st.integers(514, 1000))
def test_variance_beyond_floats_is_named(density, seed, power):
    x, y = table(seed)
    with pytest.raises(
        po.errors.BadValue, match=r"column 'x\d': its numbers are so large that their variance overflows"
    ):
        po.NaiveBayes(density=density).fit(x * 2.0**power, y).predict_proba(x)


@pytest.mark.parametrize("density", ["auto", "gaussian", "kernel"])
def test_variance_of_both_parts_is_named_where_each_alone_fits(density):
    a, b = np.array([[1.2e154], [1.2e154]]), np.array([[-1.2e154], [-1.2e154]])
    model = po.NaiveBayes(density=density).fit(a, [0, 1])
    with pytest.raises(po.errors.BadValue, match="column 'x0': its numbers are so large"):
        model.partial_fit(b, [0, 1]).predict_proba(a)
    with pytest.raises(po.errors.BadValue, match="column 'x0': its numbers are so large"):
        po.NaiveBayes(density=density).fit(np.vstack([a, b]), [0, 0, 1, 1]).predict_proba(a)


@pytest.mark.parametrize("model", [po.GaussianNB(), po.GaussianBayes(shrinkage=0.1)])
def test_a_matrix_whose_squares_do_not_fit_is_refused_before_it_is_learned(model):
    a = np.array([[1.2e154, 1], [1.1e154, 2], [1.2e154, 4]])
    model.fit(np.vstack([a, a]), [0, 0, 0, 1, 1, 1])
    before = model.predict_proba(a)
    with pytest.raises(po.errors.BadValue, match="too large for float64"):
        model.partial_fit(np.vstack([-a, -a]), [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(model.predict_proba(a), before)


@pytest.mark.parametrize("density", ["gaussian", "kernel"])  # bins need no squares, and "auto" takes them
@given(seed=st.integers(0, 2**32), power=st.integers(-1000, -490))
def test_spread_below_the_squares_of_floats_is_none(density, seed, power):
    x, y = table(seed)
    model = po.NaiveBayes(density=density).fit(x * 2.0**power, y)
    share = model.predict_proba(x[:1] * np.nan)  # what is known without the columns
    np.testing.assert_allclose(model.predict_proba(x * 2.0**power), np.tile(share, (len(x), 1)), atol=1e-9)
