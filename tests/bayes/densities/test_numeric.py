"""Kernels, bins, and both with a normal by their formulas; columns scored together are each what they are specified by."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import posteriori as po
from posteriori.bayes import numeric
from posteriori.bayes.densities import mutual_information
from posteriori.bayes.numeric import Binned, Curves, KernelDensity, LeftOut, Mixed, mixture, odds, quantile
from posteriori.errors import BadValue
from posteriori.table.frame import open_frame

seeds = st.integers(0, 300)
SHAPES = ["binned", "kernel", "mixed", "none"]


def column(seed, n=60, K=2, density="kernel", gap=1.5, weights=None):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
    x = rng.normal(gap * y, 1).round(1)
    model = po.NaiveBayes(density=density).fit({"x": x}, y, weights)
    return model.statistics_, x, y


def silverman(own, sigma2):
    v, count = np.unique(own, return_counts=True)
    p = count / count.sum()
    n = 1 / (p @ p)
    reach = np.cumsum(count)  # whole rows, so that "just so" is exact
    quarter = [(v[reach >= q * reach[-1]][0] + v[reach > q * reach[-1]][0]) / 2 for q in (0.25, 0.75)]
    middle = ((quarter[1] - quarter[0]) / 1.34) ** 2
    return 0.9 * np.sqrt(min(sigma2, (n * middle + sigma2) / (n + 1))) * n**-0.2


@given(seeds)
def test_kernels_around_the_values_of_the_class(seed):
    stats, x, y = column(seed)
    found = KernelDensity(0, "x", stats.histograms[0], 0.01)
    at = np.array([-3.0, 0.05, 1.0, 8.0])
    got = found._log_density(at)
    for k in (0, 1):
        own = x[y == k]
        h = silverman(own, float(found.variance[k]))
        assert found.width[k] == pytest.approx(h)
        share = 1 / (len(own) + 1)
        kernels = norm.pdf(at[:, None], own[None], h).mean(axis=1)
        base = norm.pdf(at, x.mean(), np.sqrt(max(x.var(), found.base[1])))
        assert np.exp(got[:, k]) == pytest.approx((1 - share) * kernels + share * base, rel=1e-5)
    assert found.base[0] == pytest.approx(x.mean())
    assert found.base[1] == pytest.approx(max(x.var(), found.base[1]))
    parts = found.parts(open_frame({"x": np.append(at, np.nan)}))
    assert parts[:4, 0] == pytest.approx(got)
    assert parts[4].tolist() == [[0.0, 0.0]]
    tables = found.tables(stats.schema)["x"]
    assert tables["mean"] == pytest.approx([x[y == k].mean() for k in (0, 1)])
    assert tables["width"].tolist() == found.width.tolist()


@given(seeds, st.sampled_from([0.0, 1.0]))
def test_bins_are_counted_between_the_cuts(seed, smoothing):
    stats, x, y = column(seed, density="binned", gap=3.0)
    found = Binned(0, "x", stats.histograms[0], smoothing)
    cuts = np.concatenate([[-np.inf], found.cuts, [np.inf]])
    assert len(found.cuts) >= 1
    counts = np.array(
        [[((cuts[b] <= x) & (x < cuts[b + 1]) & (y == k)).sum() for k in (0, 1)] for b in range(len(cuts) - 1)]
    )
    assert found.table.tolist() == counts.tolist()
    theta = (counts + smoothing) / (counts.sum(axis=0) + len(counts) * smoothing)
    assert np.exp(found.log_theta) == pytest.approx(theta)
    at = np.array([x.min() - 5, *found.cuts, x.max() + 5, np.nan])
    parts = np.exp(found.parts(open_frame({"x": at}))[:, 0])
    assert parts[:-1] == pytest.approx(theta[np.searchsorted(found.cuts, at[:-1], side="right")])
    assert parts[-1].tolist() == [1.0, 1.0]
    assert found.edges[0] == x.min()
    assert found.edges[-1] == x.max()
    assert len(found.tables(stats.schema)["x"]) == len(counts)


@pytest.mark.parametrize("Density", [KernelDensity, Binned])
def test_draws_have_the_density(Density):
    stats, x, _y = column(3, n=200, density="kernel" if Density is KernelDensity else "binned", gap=3.0)
    found = Density(0, "x", stats.histograms[0], 0.01 if Density is KernelDensity else 1.0)
    n = 20_000
    for k in (0, 1):
        drawn = found.draw(np.full(n, k), np.random.default_rng(0))[0]
        if Density is KernelDensity:
            grid = np.linspace(-12, 18, 6001)
            p = np.exp(found._log_density(grid)[:, k])
            p /= p.sum()
            assert drawn.mean() == pytest.approx(grid @ p, abs=0.05)
            assert drawn.std() == pytest.approx(np.sqrt(((grid - grid @ p) ** 2) @ p), rel=0.05)
        else:
            bins = np.searchsorted(found.cuts, drawn, side="right")
            share = np.bincount(bins, minlength=len(found.table)) / n
            assert share == pytest.approx(np.exp(found.log_theta[:, k]), abs=0.02)
            assert drawn.min() >= x.min()
            assert drawn.max() <= x.max()


def test_a_column_without_numbers_or_without_spread():
    model = po.NaiveBayes(density="kernel").fit({"x": [np.nan] * 4, "z": [2.0] * 4}, [0, 1, 0, 1])
    empty, flat = (KernelDensity(j, "x", model.statistics_.histograms[j], 0.01) for j in (0, 1))
    assert empty.empty
    assert empty._log_density(np.array([1.0])).tolist() == [[0.0, 0.0]]
    assert np.isnan(empty.draw(np.array([0, 1]), np.random.default_rng(0))[0]).all()
    assert not flat.empty
    assert flat.width[0] == flat.width[1] == pytest.approx(np.sqrt(flat.base[1]))
    one = flat._log_density(np.array([2.0, 7.0]))
    assert one[:, 0] == pytest.approx(one[:, 1])
    alone = po.NaiveBayes(density="kernel").fit({"x": [1.0, np.nan, 3.0, np.nan]}, [0, 1, 0, 1])
    lacking = KernelDensity(0, "x", alone.statistics_.histograms[0], 0.01)
    assert lacking.centres[1].tolist() == [1.0, 3.0]  # a class with no cell: all classes


def test_values_so_near_that_a_width_underflows_keep_one():
    stats = po.NaiveBayes(density="kernel").fit({"x": [0.0, 1e-144, 0.0, 1e-144]}, [0, 1, 1, 0]).statistics_
    found = KernelDensity(0, "x", stats.histograms[0], 0.01)
    assert (found.width > 0).all()
    assert np.isfinite(found._log_density(np.array([0.0, 1e-144, 5.0]))).all()


def test_bins_of_a_column_without_numbers():
    stats = po.NaiveBayes(density="binned").fit({"x": [np.nan] * 4}, [0, 1, 0, 1]).statistics_
    found = Binned(0, "x", stats.histograms[0], 1.0)
    assert found.edges.tolist() == [0.0, 0.0]
    assert found.parts(open_frame({"x": [3.0, np.nan]})).tolist() == [[[0.0, 0.0]], [[0.0, 0.0]]]
    assert found.draw(np.array([0, 1]), np.random.default_rng(0))[0].tolist() == [0.0, 0.0]


@given(seeds)
def test_quarters_do_not_depend_on_the_order_of_rows_or_the_sign_of_the_unit(seed):
    """Where the shares of a class reach ¼ or ¾ just so, rounding and the side that one comes from decide nothing."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 4))
    x, w = np.repeat(rng.permutation(40)[: 4 * k].astype(float), 3), np.tile([0.1, 0.2, 0.3], 4 * k)
    x, w, y = np.r_[x, x + 3], np.r_[w, w], np.repeat([0, 1], len(x))
    order, ask = rng.permutation(len(x)), np.linspace(-5, 45, 11)
    told = [po.NaiveBayes(density="kernel").fit({"x": v}, c, u).predict_proba({"x": q}) for v, c, u, q in (
        (x, y, w, ask), (x[order], y[order], w[order], ask), (-x, y, w, -ask), (x, y, None, ask), (-x, y, None, -ask),
    )]  # fmt: skip
    np.testing.assert_allclose(told[1], told[0], atol=1e-9)
    np.testing.assert_allclose(told[2], told[0], atol=2e-6)  # as near as the sums of kernels are
    np.testing.assert_allclose(told[4], told[3], atol=2e-6)


def test_a_quantile_is_a_value_or_halfway_to_the_next():
    v, p = np.array([1.0, 2.0, 4.0, 8.0]), np.array([0.25, 0.25, 0.25, 0.25])
    assert [quantile(v, p, q) for q in (0.1, 0.25, 0.3, 0.5, 0.75, 0.9, 1.0)] == [1.0, 1.5, 2.0, 3.0, 6.0, 8.0, 8.0]
    assert quantile(v, p[::-1] + 1e-12, 0.25) == 1.5
    assert quantile(np.array([-1e308, 1e308]), np.array([0.5, 0.5]), 0.5) == 0.0


def mixed_with(seed, where=0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([[0, 1, 2], rng.integers(0, 3, 77)])
    x = rng.normal(2.0 * y, 1).round(1)
    stats = po.NaiveBayes().fit({"x": x}, y).statistics_
    return Mixed(where, "x", stats.histograms[0], stats.moments, stats.rows, 1.0, 0.01, 0), stats, x, y


@given(st.integers(0, 200))
def test_the_mean_of_three_posteriors(seed):
    found, _, _x, y = mixed_with(seed)
    at = np.array([-2.0, 0.5, 3.0, 40.0])
    frame = open_frame({"x": at})
    share = (np.bincount(y) + 1) / (len(y) + 3)
    says = []
    for density in (found.binned, found.kernel, found.normal):
        p = np.exp(density.parts(frame)[:, 0] - density.parts(frame)[:, 0].max(axis=1, keepdims=True)) * share
        says.append(p / p.sum(axis=1, keepdims=True))
    mean = np.mean(says, axis=0)
    parts = found.parts(frame)[:, 0]
    after = np.exp(parts - parts.max(axis=1, keepdims=True)) * share
    assert after / after.sum(axis=1, keepdims=True) == pytest.approx(mean, rel=1e-6, abs=1e-12)
    kernel = np.log((np.exp(found.kernel.parts(frame)[:, 0]) * share).sum(axis=1))
    assert np.log((np.exp(parts) * share).sum(axis=1)) == pytest.approx(kernel, rel=1e-6)  # p(x) is that of the kernels


def test_draws_follow_the_density():
    found, _, _x, _ = mixed_with(1)
    grid = np.linspace(-12, 16, 4001)
    p = np.exp(found.parts(open_frame({"x": grid}))[:, 0])
    for k in range(3):
        mass = p[:, k] / p[:, k].sum()
        drawn = found.draw(np.full(6000, k), np.random.default_rng(0))[0]
        assert not np.isnan(drawn).any()
        assert drawn.mean() == pytest.approx(grid @ mass, abs=0.08)
        assert drawn.std() == pytest.approx(np.sqrt(((grid - grid @ mass) ** 2) @ mass), rel=0.08)
    mixed = found.draw(np.array([0, 1, 2] * 5), np.random.default_rng(1))[0]
    assert mixed.shape == (15,)
    beside = mixed_with(1, where=2)[0].draw(np.array([0, 1]), np.random.default_rng(1))[0]
    assert np.isfinite(beside).all()


def test_a_column_left_out():
    _, stats, x, _y = mixed_with(3)
    found = LeftOut(0, "x", stats.moments, 1.0, 0.01, 0)
    assert found.parts(open_frame({"x": x})).tolist() == [[[0.0] * 3]] * len(x)
    drawn = found.draw(np.repeat([0, 1, 2], 2000), np.random.default_rng(0))[0]
    assert drawn.mean() == pytest.approx(x.mean(), abs=0.1)
    assert drawn[:2000].mean() == pytest.approx(drawn[4000:].mean(), abs=0.2)
    assert {len(v) for v in found.tables(stats.schema)["x"].values()} == {3}


def test_logs():
    inf = -np.inf
    assert odds(np.array([inf, inf]), 0.0).tolist() == [0.0, 0.0]
    assert odds(np.log([0.2, 0.6]), np.log([0.5, 0.5])) == pytest.approx(np.log([0.2, 0.6]) - np.log(0.4))
    assert mixture([np.log([0.2]), np.log([0.6])]) == pytest.approx(np.log([0.4]))


def test_a_class_that_is_seldom_kept_is_drawn_by_weight_among_those_tried(monkeypatch):
    found, _, _x, _ = mixed_with(1)
    monkeypatch.setattr(numeric, "TRIES", 1)
    monkeypatch.setattr(numeric, "AT_ONCE", 4000)
    grid = np.linspace(-12, 16, 4001)
    p = np.exp(found.parts(open_frame({"x": grid}))[:, 0])
    for k in range(3):
        mass = p[:, k] / p[:, k].sum()
        drawn = found.draw(np.full(6000, k), np.random.default_rng(0))[0]
        assert not np.isnan(drawn).any()
        assert len(np.unique(drawn)) < 4000  # of those tried, some twice
        assert drawn.mean() == pytest.approx(grid @ mass, abs=0.15)
        assert drawn.std() == pytest.approx(np.sqrt(((grid - grid @ mass) ** 2) @ mass), rel=0.15)


def test_what_a_mixed_column_tells_and_one_without_numbers():
    found, stats, x, y = mixed_with(4)
    told = found.tables(stats.schema)["x"]
    assert told["mean"] == pytest.approx([x[y == k].mean() for k in range(3)])
    assert told["width"].tolist() == found.kernel.width.tolist()
    assert np.exp(found.log_share) == pytest.approx((np.bincount(y) + 1) / (len(y) + 3))
    empty = po.NaiveBayes().fit({"x": [np.nan] * 4}, [0, 1, 0, 1]).statistics_
    none = Mixed(0, "x", empty.histograms[0], empty.moments, empty.rows, 1.0, 0.01, 0)
    assert np.isnan(none.draw(np.array([0, 1]), np.random.default_rng(0))[0]).all()
    out = LeftOut(0, "x", stats.moments, 1.0, 0.01, 0).tables(stats.schema)["x"]
    assert out["mean"] == pytest.approx([x.mean()] * 3)
    assert out["sd"] == pytest.approx([x.std()] * 3)


def made(seed, n=60, shapes=tuple(SHAPES), holes=True):
    rng = np.random.default_rng(seed)
    y = np.concatenate([[0, 1, 2], rng.integers(0, 3, n - 3)])
    X = {f"x{j}": rng.normal(y * (j + 1) / 2, 1).round(1) for j in range(len(shapes))}
    if holes:
        for x in X.values():
            x[rng.random(n) < 0.1] = np.nan
    stats = po.NaiveBayes().fit(X, y).statistics_
    return Curves(stats, list(range(len(shapes))), list(shapes), 1.0, 0.01, 0), X, y


@settings(max_examples=25)
@given(st.integers(0, 200), st.permutations(SHAPES))
def test_each_column_is_what_it_is_specified_by(seed, shapes):
    curves, X, _ = made(seed, shapes=tuple(shapes))
    frame = open_frame({name: np.append(x[:20], [50.0, -50.0, np.nan]) for name, x in X.items()})
    parts = curves.parts(frame)
    assert parts.shape == (23, 4, 3)
    for k in range(4):
        alone = curves.column(k).parts(frame)[:, 0]
        np.testing.assert_allclose(parts[:, k], alone, rtol=2e-5, atol=2e-5)
    start = np.log([0.2, 0.3, 0.5])
    whole, seen = curves.add_to(start, frame, 1)
    np.testing.assert_allclose(whole, start + parts.sum(axis=1), rtol=1e-9, atol=1e-9)
    assert seen.missing == sum(int(np.isnan(x[:20]).sum()) + 1 for x in X.values())
    matrix = np.column_stack([frame.column(k) for k in range(4)])
    again, _ = curves.add_to(start, open_frame(matrix), 2)
    assert np.array_equal(whole, again)
    one = np.vstack([curves.add_to(start, open_frame(matrix[i : i + 1]), 1)[0] for i in range(5)])
    assert np.array_equal(one, whole[:5])  # a row alone has its bits
    assert set(curves.tables(curves.statistics.schema)) == set(X)


def test_columns_of_a_matrix_are_found_by_their_place():
    curves, X, _ = made(1)
    stats = curves.statistics
    some = Curves(stats, [3, 1], ["none", "kernel"], 1.0, 0.01, 0)
    matrix = np.column_stack(list(X.values()))[:10]
    frame = open_frame({f"x{j}": matrix[:, j] for j in range(4)})
    assert np.array_equal(some.parts(open_frame(matrix)), some.parts(frame))
    assert some.names == ["x3", "x1"]
    drawn = some.draw(np.array([0, 1, 2]), np.random.default_rng(0))
    assert len(drawn) == 2
    assert np.isfinite(drawn).all()
    again = [some.column(k).draw(np.array([0, 1, 2]), np.random.default_rng(0))[0] for k in range(1)]
    assert np.array_equal(drawn[0], again[0])


def test_what_no_density_takes_is_named():
    curves, X, _ = made(2, holes=False)
    bad = {name: x[:3].copy() for name, x in X.items()}
    bad["x2"][1] = np.inf
    with pytest.raises(BadValue, match="row 1, column 'x2'"):
        curves.add_to(np.zeros(3), open_frame(bad), 1)
    wide = po.NaiveBayes(density="binned").fit({"x": [1e200, -1e200, 3.0, 4.0]}, [0, 1, 0, 1]).statistics_
    with pytest.raises(BadValue, match="column 'x'"):
        Curves(wide, [0], ["kernel"], 1.0, 0.01, 0)
    assert Curves(wide, [0], ["binned"], 1.0, 0.01, 0).shapes == ["binned"]


@pytest.mark.parametrize("shape", ["kernel", "mixed"])
@pytest.mark.parametrize("far", [0.0, 3000.0])
def test_information_of_curves_is_the_integral(shape, far):
    """By even steps on a fine grid; with a far value the kernels are too narrow for even steps of a column."""
    rng = np.random.default_rng(5)
    y = np.concatenate([[0, 1, 2], rng.integers(0, 3, 57)])
    x = rng.normal(y / 2, 1)
    x[7] += far
    stats = po.NaiveBayes().fit({"x": x}, y).statistics_
    curves, prior = Curves(stats, [0], [shape], 1.0, 0.01, 0), np.bincount(y) / len(y)
    grid = np.arange(-40.0 - 4 * far, 45.0 + 5 * far, 1e-3 if not far else 5e-2)
    log_p, _ = curves.add_to(np.zeros((len(grid), 3)), open_frame(grid[:, None]), 1)
    wanted = mutual_information(np.exp(log_p) * prior)
    assert curves.information(prior) == pytest.approx([wanted], abs=1e-3 if far else 1e-4)


@given(st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=2), min_size=1, max_size=4))
def test_information_by_its_definition(table):
    n = np.array(table, dtype=float)
    if n.sum() == 0:
        assert mutual_information(n) == 0.0
        return
    p = n / n.sum()
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    wanted = sum(
        p[i, j] * np.log(p[i, j] / rows[i] / columns[j]) for i in range(len(n)) for j in range(2) if p[i, j] > 0
    )
    assert mutual_information(n) == pytest.approx(wanted, abs=1e-12)
    assert mutual_information(n * 1e-200) == pytest.approx(wanted, abs=1e-12)
