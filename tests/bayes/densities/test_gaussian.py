"""Widths of normals by their formulas; Poisson counts: every view of the model follows from the rates."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from scipy.stats import norm, poisson

import posteriori as po
from posteriori import kernels
from posteriori.bayes.densities import Poisson
from posteriori.bayes.numeric import Gaussian, spreads, usual_spread
from posteriori.errors import BadValue
from posteriori.statistics.moments import Moments
from posteriori.table.frame import open_frame

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


@pytest.mark.parametrize("scale", [1, 10, 1000, 3000])
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
    return Moments.of(*kernels.class_moments(x, y.astype(np.uint8), n_classes)[:5])


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize(("smoothing", "floor"), [(0.0, 0.0), (0.0, 0.01), (1.0, 0.0), (1.0, 0.01), (2.5, 0.3)])
@pytest.mark.parametrize("inferred", [False, True])
def test_widths_are_the_formulas(inferred, ddof, smoothing, floor):
    """σ² = max(M2/n, λ s²/(n + λ)), s² within the classes, and no less than a share of the column's where a class has one
    value; where classes are inferred (M2 + ν s²/K^(2/d))/(n + ν), s² of the whole column. A class without rows has the
    column's own."""
    rng = np.random.default_rng(ddof)
    y = np.repeat([0, 1, 2], [7, 4, 2])
    x = rng.normal(size=(13, 2)) * [1.0, 30.0] + 5 * y[:, None]
    x[y == 2] = [3.0, 4.0]  # of one value
    found = Gaussian([0, 1], ["a", "b"], moments(x, y, 4), floor, ddof, smoothing, inferred)
    n = np.array([7, 4, 2, 0])[:, None]
    means = np.array([x[y == k].mean(axis=0) if k < 3 else x.mean(axis=0) for k in range(4)])
    m2 = np.array([((x[y == k] - means[k]) ** 2).sum(axis=0) for k in range(4)])
    assert found.mean == pytest.approx(means)
    if inferred:
        usual = x.var(axis=0) / 4 ** (2 / 2)
        wanted = (m2 + usual) / np.maximum(n + 1 - ddof, 1)
        prior = -0.5 * (np.log(wanted) + usual / wanted).sum()
    else:
        own = np.where(n > 0, m2 / np.maximum(n - ddof, 1), x.var(axis=0, ddof=ddof))
        own[2] = floor * x.var(axis=0)
        borrowed = m2.sum(axis=0) / 13 * smoothing / np.maximum(n + smoothing, 1e-9)
        wanted, prior = np.maximum(np.maximum(own, borrowed), np.finfo(float).tiny), 0.0
    assert found.variance == pytest.approx(wanted)
    assert found.log_prior == pytest.approx(prior)


@pytest.mark.parametrize("value", [0.0, 0.5, -200.0])
@pytest.mark.parametrize("inferred", [False, True])
def test_a_constant_column_is_as_wide_as_its_size_in_every_class(value, inferred):
    x, y = np.full((6, 1), value), np.array([0, 0, 0, 0, 1, 1])
    for floor, smoothing in itertools.product((0.02, 0.0), (0.0, 1.0)):
        found = Gaussian([0], ["a"], moments(x, y, 2), floor, 0, smoothing, inferred)
        assert found.variance == pytest.approx(np.full((2, 1), (floor or 1.0) * max(value**2, 1.0)))


@pytest.mark.parametrize("n", [1, 9])
def test_where_all_counts_were_zero_the_rate_is_half_a_count_in_one_row_more(n):
    moments_of = moments(np.zeros((n, 1)), np.zeros(n, int), 2)
    found = Poisson([0], ["a"], moments_of, smoothing=2.0)
    middle = 0.5 / (n + 1)
    assert found.rate[:, 0] == pytest.approx([2 * middle / (n + 2), middle])
    assert Poisson([0], ["a"], moments_of, smoothing=0.0).rate[:, 0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("values", "constant"),
    [
        ((1.0, 1.0), True),
        ((1.0, 1.0 + 1.8e-14), True),  # half of that is the spread: below 1e-14 of the mean it is rounding
        ((1.0, 1.0 + 2.2e-14), False),
        ((-1000.0, -1000.0 * (1 + 1.5e-14)), True),
        ((0.0, 1e-145), True),
        ((0.0, 1e-144), False),
        ((3.0, 4.0), False),
    ],
)
def test_a_spread_of_the_last_digits_is_none(values, constant):
    x = np.array([[values[0]], [values[1]]] * 3)
    spread, least, found = usual_spread(moments(x, np.array([0, 1] * 3), 2), 0.01)
    assert found.tolist() == [constant]
    if constant:
        assert spread == least == pytest.approx([0.01 * max(values[0] ** 2, 1.0)])


@pytest.mark.parametrize("seed", range(6))
def test_without_smoothing_a_normal_is_maximum_likelihood_however_few_its_rows(seed):
    """Fifty digits: log P(y, x) of every row, by n, whatever the floor is, where each class has a spread of its own."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [2, 3 + seed, 40 - seed])
    x = np.where(y == 0, 1 + 0.2 * rng.random(45), rng.normal(0, 100, 45) * 10.0 ** rng.integers(-3, 3))
    model = po.NaiveBayes(smoothing=0, density="gaussian", variance_floor=[0.01, 0.0][seed % 2]).fit(x[:, None], y)
    found = model.predict_log_proba(x[:, None])
    with mpmath.workdps(50):
        logs = []
        for k in range(3):
            own = [mpmath.mpf(v) for v in x[y == k]]
            mean = sum(own) / len(own)
            var = sum((v - mean) ** 2 for v in own) / len(own)
            front = mpmath.log(mpmath.mpf(len(own)) / len(y)) - mpmath.log(2 * mpmath.pi * var) / 2
            logs.append([front - (mpmath.mpf(v) - mean) ** 2 / var / 2 for v in x])
        for i in range(len(x)):
            total = mpmath.log(sum(mpmath.exp(own[i]) for own in logs))
            for k in range(3):
                assert found[i, k] == pytest.approx(float(logs[k][i] - total), rel=1e-9, abs=1e-9)


def test_a_class_of_one_value_is_as_wide_as_the_floor_says_and_a_point_at_none():
    x, y = np.array([[1.0], [1.0], [1.2], [7.0], [9.0]]), np.array(list("aabcc"))
    sd = po.NaiveBayes(smoothing=0, density="gaussian").fit(x, y).tables_["x0"].loc["sd"].to_numpy()
    assert sd == pytest.approx([np.sqrt(0.01 * x.var()), np.sqrt(0.01 * x.var()), 1.0])
    point = po.NaiveBayes(smoothing=0, density="gaussian", variance_floor=0).fit(x, y)
    assert point.predict([[1.0], [1.2], [8.5]]).tolist() == ["a", "b", "c"]
    assert point.predict_proba([[1.1]]) == pytest.approx(np.array([[0.0, 0.0, 1.0]]))


def test_the_spread_within_the_classes_and_over_all_rows():
    x, y = np.array([[0.0, 5.0], [2.0, 5.0], [10.0, 7.0], [14.0, 7.0]]), np.array([0, 0, 1, 1])
    within, whole = spreads(moments(x, y, 3))
    assert within == pytest.approx([(1 + 1 + 4 + 4) / 4, 0.0])
    assert whole == pytest.approx(x.var(axis=0))


@pytest.mark.parametrize("inferred", [False, True])
def test_cells_are_normal_and_gaps_say_nothing(inferred):
    x = np.array([[0.0, 5.0], [2.0, 6.0], [10.0, 7.0], [14.0, 7.5]])
    found = Gaussian([0, 1], ["a", "b"], moments(x, np.array([0, 0, 1, 1]), 2), 0.01, 0, inferred=inferred)
    asked, start = np.array([[1.0, 6.5], [np.nan, 7.0], [12.0, np.nan]]), np.array([1.0, -1.0])
    expected = np.nan_to_num(norm.logpdf(asked[:, :, None], found.mean.T, np.sqrt(found.variance.T)))
    frame = open_frame({"a": asked[:, 0], "b": asked[:, 1]})
    assert found.parts(frame) == pytest.approx(expected)
    whole, seen = found.add_to(start, frame, 1)
    assert whole == pytest.approx(start + expected.sum(axis=1))
    assert seen.missing == 2
    with pytest.raises(BadValue, match=r"row 1, column 'b': Input contains infinity \(-inf\)"):
        found.add_to(start, open_frame({"a": [1.0, 2.0], "b": [np.nan, -np.inf]}), 1)
    tables = found.tables(None)
    assert tables["b"]["mean"] == pytest.approx(found.mean[:, 1])
    assert tables["b"]["sd"] == pytest.approx(np.sqrt(found.variance[:, 1]))
    drawn = np.stack(found.draw(np.repeat([0, 1], 4000), np.random.default_rng(0)))
    for k in (0, 1):
        some = drawn[:, 4000 * k : 4000 * (k + 1)]
        sd = np.sqrt(found.variance[k])
        assert (np.abs(some.mean(axis=1) - found.mean[k]) < 5 * sd / np.sqrt(4000)).all()
        assert some.std(axis=1) == pytest.approx(sd, rel=0.05)


def test_counts_are_poissons_and_gaps_say_nothing():
    x, y = np.array([[1.0, 0.0], [2.0, 3.0], [3.0, np.nan], [7.0, 1.0]]), np.array([0, 0, 1, 1])
    found = Poisson([0, 1], ["a", "b"], moments(x, y, 2), 0.5)
    asked, start = np.array([[2.0, np.nan], [np.nan, 4.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    expected = np.nan_to_num(poisson.logpmf(asked[:, :, None], found.rate.T))
    frame = open_frame({"a": asked[:, 0], "b": asked[:, 1]})
    assert found.parts(frame) == pytest.approx(expected)
    whole, seen = found.add_to(start, frame, 1)
    assert whole == pytest.approx(start + expected.sum(axis=1))
    assert seen.missing == 2
    middle = np.array([13 / 4, 4 / 3])
    assert found.rate == pytest.approx(
        np.array([(3 + 0.5 * middle[0]) / 2.5, (3 + 0.5 * middle[1]) / 2.5, (10 + 0.5 * middle[0]) / 2.5,
                  (1 + 0.5 * middle[1]) / 1.5]).reshape(2, 2)
    )  # fmt: skip
    with pytest.raises(BadValue, match="row 0, column 'b'"):
        found.add_to(start, open_frame({"a": [1.0], "b": [-1.0]}), 1)


def test_information_of_rates_below_one_and_of_great_ones():
    prior = np.array([0.3, 0.7])
    found = Poisson([0, 1], ["a", "b"], moments(np.zeros((2, 2)), np.array([0, 1]), 2), 1.0)
    found.rate = np.array([[0.1, 20_000.0], [0.6, 20_300.0]])
    x = np.arange(30)[:, None]
    p = poisson.pmf(x, found.rate[:, 0]) * prior
    small = (p * np.log(p / p.sum(axis=1, keepdims=True) / prior)).sum()
    x = np.arange(18_000, 23_000)[:, None]
    p = poisson.pmf(x, found.rate[:, 1]) * prior
    p = p[p.min(axis=1) > 0]
    great = (p * np.log(p / p.sum(axis=1, keepdims=True) / prior)).sum()
    assert found.information(prior) == pytest.approx([small, great], rel=2e-3)
    assert found.information(prior)[0] == pytest.approx(small, rel=1e-9)
