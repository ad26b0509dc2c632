"""N → θ against fractions: one value for arrays and scopes, back-off, priors, and the guard where nothing was counted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadParameter, ModelError
from posteriori.smoothing import MOST_SMOOTHING, backoff, log_backoff, log_prior, log_theta, log_unseen, theta
from posteriori.statistics import Counts

tables = st.lists(st.lists(st.integers(0, 50), min_size=2, max_size=2), min_size=1, max_size=5).map(np.array)
amounts = st.sampled_from([0.0, 0.25, 1.0, 3.0])


@given(tables, amounts)
def test_theta_is_the_fraction_and_uniform_without_counts(counts, lam):
    size = len(counts)
    for y in range(2):
        whole = Fraction(int(counts[:, y].sum())) + size * Fraction(lam)
        for x in range(size):
            exact = (int(counts[x, y]) + Fraction(lam)) / whole if whole else Fraction(1, size)
            assert theta(counts, lam)[x, y] == pytest.approx(float(exact), rel=1e-14)
            assert np.exp(log_theta(counts, lam)[x, y]) == pytest.approx(float(exact), rel=1e-14)
    assert np.array_equal(theta(counts.T, lam, axis=-1), theta(counts, lam).T)


@given(st.lists(tables, min_size=1, max_size=4), amounts)
def test_scopes_are_arrays_to_the_last_bit(scopes, lam):
    counts = Counts(np.concatenate(scopes), np.cumsum([0, *map(len, scopes)]))
    assert np.array_equal(log_theta(counts, lam), np.concatenate([log_theta(s, lam) for s in scopes]))
    for k, scope in enumerate(scopes):
        whole = scope.sum(axis=0) + (len(scope) + 1) * lam
        expected = np.divide(lam, whole, out=np.zeros(2), where=whole > 0)
        assert np.exp(log_unseen(counts, lam)[k]) == pytest.approx(expected, rel=1e-14)


@given(tables, amounts, amounts)
def test_backoff_lies_between_the_counts_and_the_base(counts, lam, m):
    base = theta(counts + 1, lam)
    found = np.exp(log_backoff(counts, np.log(base), m))
    assert found == pytest.approx(backoff(counts, counts.sum(axis=0), base, m), rel=1e-13)
    assert found.sum(axis=0) == pytest.approx(1.0)
    if m == 0:
        own = counts.sum(axis=0) > 0
        assert found[:, own] == pytest.approx(theta(counts, 0.0)[:, own])
        assert found[:, ~own] == pytest.approx(base[:, ~own])


def test_priors():
    n = np.array([3, 1])
    assert np.exp(log_prior(n, "smoothed", 1.0)) == pytest.approx([4 / 6, 2 / 6])
    assert np.exp(log_prior(n, "empirical", 1.0)) == pytest.approx([3 / 4, 1 / 4])
    assert np.exp(log_prior(n, "uniform", 1.0)) == pytest.approx([0.5, 0.5])
    assert np.exp(log_prior(n, [1.0, 0.0], 1.0)).tolist() == [1.0, 0.0]
    for wrong in ("flat", [0.5, 0.5 + 1e-7], [1.5, -0.5], [1.0], [np.nan, 1.0], ["a", "b"]):
        with pytest.raises(ModelError, match="prior must"):
            log_prior(n, wrong, 1.0)


@pytest.mark.parametrize("lam", [1e100, MOST_SMOOTHING])
@pytest.mark.parametrize(
    "model",
    [
        po.NaiveBayes(kinds="categorical"),
        po.NaiveBayes(kinds="count"),
        po.TAN(),
        po.AODE(),
        po.A2DE(),
        po.KDB(),
        po.SPODE(),
        po.KNeighborsClassifier(),
        po.CategoricalNB(),
        po.MultinomialNB(),
        po.BernoulliNB(),
        po.ComplementNB(),
    ],
    ids=repr,
)
def test_the_largest_smoothing_is_flat_and_a_larger_one_refused(model, lam):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (40, 4)), np.arange(40) % 2
    name = "smoothing" if "smoothing" in model.get_params() else "alpha"
    assert model.set_params(**{name: lam}).fit(X, y).predict_proba(X) == pytest.approx(0.5, abs=1e-9)
    if hasattr(model, "sample"):
        model.sample(3, random_state=0)
    with pytest.raises(BadParameter, match="1e\\+290"):
        model.set_params(**{name: 1e300}).fit(X, y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("of", [np.float16, np.float32, np.float64, np.int8, int])
def test_smoothing_is_a_number_of_any_type(of):
    X, y = np.arange(40).reshape(10, 4) % 3, np.arange(10) % 2
    plain = po.NaiveBayes(kinds="categorical", smoothing=2.0).fit(X, y).predict_proba(X)
    assert np.array_equal(po.NaiveBayes(kinds="categorical", smoothing=of(2)).fit(X, y).predict_proba(X), plain)
    po.TAN(smoothing=of(2)).fit(X, y)
    po.BayesNet.fit([("a", "b")], {"a": [0, 0, 1], "b": ["u", "v", "v"]}, smoothing=of(2))
