"""N → θ against fractions: one value for arrays and scopes, back-off, priors, and the guard where nothing was counted."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import posteriori as po
from posteriori.errors import BadParameter, ModelError
from posteriori.smoothing.theta import (
    MOST_SMOOTHING,
    backoff,
    family_theta,
    log_backoff,
    log_prior,
    log_share,
    log_smoothed,
    log_sum,
    log_theta,
    log_unseen,
    share,
    theta,
    theta_of,
)
from posteriori.statistics.counts import Counts

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


def test_shares_where_there_is_no_whole():
    """part/whole, and 1/size, by default nothing, where the whole is 0; the logs likewise, and no warning."""
    part, whole = np.array([1.0, 0.0, 3.0, 5.0]), np.array([4.0, 2.0, 0.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for of, expected in ((np.inf, [0.25, 0.0, 0.0, 0.0]), (5, [0.25, 0.0, 0.2, 0.2]), (0, [0.25, 0.0, 1.0, 1.0])):
            assert share(part, whole, of).tolist() == expected
            assert np.exp(log_share(part, whole, of)) == pytest.approx(expected)
        sizes = np.array([2, 2, 4, 1])
        assert share(part, whole, sizes).tolist() == [0.25, 0.0, 0.25, 1.0]
        assert share(part, np.full(4, -1.0)).tolist() == [0.0] * 4
    assert theta_of(np.array([3]), np.array([5]), 4, 0.5).tolist() == [3.5 / 7]


@given(st.integers(0, 10**6), amounts)
def test_a_family_is_smoothed_by_row_by_sample_size_or_by_its_ladder(seed, lam):
    counts = np.random.default_rng(seed).integers(0, 4, (2, 3, 4))
    rows = counts.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        flat = np.where(rows + lam > 0, (counts + lam) / (rows + 4 * lam), 0.25)
    assert family_theta(counts, lam) == pytest.approx(flat)
    for ess in (0.5, 6.0):
        own = ess / 24  # of each cell
        assert family_theta(counts, ess=ess) == pytest.approx((counts + own) / (rows + 4 * own))
    m = 2.5
    none = counts.sum(axis=(0, 1))
    base = (none + lam) / (none.sum() + 4 * lam)
    one = counts.sum(axis=1)
    first = (one + m * base) / (one.sum(axis=-1, keepdims=True) + m)
    second = (counts + m * first[:, None]) / (rows + m)
    assert family_theta(counts, lam, weight=m) == pytest.approx(second)
    assert family_theta(counts.sum(axis=(0, 1)), lam, weight=m) == pytest.approx(base)


def test_a_scope_of_no_values_says_nothing():
    counts = Counts(np.array([[2, 0], [1, 0]]), np.array([0, 0, 2]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.exp(log_theta(counts, 0.0)) == pytest.approx(np.array([[2 / 3, 0.5], [1 / 3, 0.5]]))
        assert np.exp(log_unseen(counts, 1.0)) == pytest.approx(np.array([[1.0, 1.0], [1 / 6, 1 / 3]]))
        assert np.exp(log_unseen(counts, 0.0)).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_backing_off_where_nothing_is_counted_and_nothing_weighs_is_the_base():
    base = np.array([[0.25, 0.5], [0.75, 0.5]])
    counts = np.array([[[3, 0], [1, 0]]])
    found = backoff(counts, counts.sum(axis=-2, keepdims=True), base, 0.0)
    assert found[0].tolist() == [[0.75, 0.5], [0.25, 0.5]]
    assert np.exp(log_backoff(counts, np.log(base), 0.0)) == pytest.approx(found)
    twos, weight = np.full((2, 1), 2.0), np.array([[1.0], [6.0]])
    by_context = backoff(twos, 2 * twos, np.full((2, 1), 0.1), weight)
    assert by_context[:, 0] == pytest.approx([2.1 / 5, 2.6 / 10])


def test_priors_by_the_names_of_classes():
    n, classes = np.array([3, 1, 0]), ["ham", "spam", "eggs"]
    told = log_prior(n, {"spam": 0.5, "eggs": 0.2, "ham": 0.3}, 1.0, classes)
    assert np.exp(told) == pytest.approx([0.3, 0.5, 0.2])
    with pytest.raises(ModelError, match="prior names 'spm', which is no class; did you mean 'spam'"):
        log_prior(n, {"spm": 0.5, "ham": 0.5}, 1.0, classes)
    with pytest.raises(ModelError, match=r"prior names 7, which is no class\. Classes: 'ham', 'spam', 'eggs'"):
        log_prior(n, {7: 0.5, "ham": 0.5}, 1.0, classes)
    with pytest.raises(ModelError, match="one probability for each class; 'spam', 'eggs' has none"):
        log_prior(n, {"ham": 1.0}, 1.0, classes)
    with pytest.raises(ModelError, match=r"each of the 3 classes\. Got \(2,\) instead"):
        log_prior(n, [0.5, 0.5], 1.0)
    assert np.exp(log_prior(n, "empirical", 1.0)) == pytest.approx([0.75, 0.25, 0.0])
    huge = np.exp(log_prior(np.array([1, 3]), "smoothed", 1.7e308))
    assert huge == pytest.approx([0.5, 0.5])
    for sum_of, fits in ((1 + 0.9e-8, True), (1 - 0.9e-8, True), (1 + 1.2e-8, False), (1 - 1.2e-8, False)):
        if fits:
            log_prior(np.array([1, 1]), [0.5, sum_of - 0.5], 1.0)
        else:
            with pytest.raises(ModelError, match="sum to one"):
                log_prior(np.array([1, 1]), [0.5, sum_of - 0.5], 1.0)


def test_sums_of_logs():
    inf = -np.inf
    assert log_sum(np.array([[inf, inf], [0.0, 0.0]])).tolist() == [[inf], [pytest.approx(np.log(2))]]
    assert log_sum(np.array([-1000.0, -1000.0]))[0] == pytest.approx(-1000 + np.log(2))


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5, None]), st.booleans())
def test_log_shares_are_logs_of_shares(seed, alpha, apart):
    """ln (N + α)/whole, of one scope or of a scope for each feature; of what other classes have, the negative."""
    rng = np.random.default_rng(seed)
    d, K = 4, 3
    table = rng.integers(0, 3, (d, K)).astype(float)
    alpha = rng.choice([0.0, 0.5, 2.0], d) if alpha is None else alpha
    whole = rng.integers(0, 3, (d if apart else 1, K)).astype(float)
    counts = Counts(table, np.arange(d + 1) if apart else np.array([0, d]))
    add = np.reshape(alpha, (-1, 1)) if np.ndim(alpha) else alpha
    less, by_class = rng.normal(size=(d, K)), table.max(axis=0) + 1

    def logs(n):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(whole > 0, np.log(n + add) - np.log(np.maximum(whole, 1)), -np.inf) + np.zeros((d, K))

    for found, expected in (
        (log_smoothed(counts, whole, alpha), logs(table)),
        (log_smoothed(counts, whole, alpha, by_class=by_class), logs(by_class - table)),
        (log_smoothed(counts, whole, alpha, less=less), logs(table) - less),
        (log_smoothed(counts, whole, alpha, others=True), -logs(table.sum(axis=1, keepdims=True) - table)),
    ):
        assert_allclose(found[0], expected, rtol=1e-12, atol=1e-12)
        assert found[1] == np.isfinite(expected).all()
