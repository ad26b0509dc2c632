"""The kernels of numeric columns beside their twins in NumPy, and the curves beside the densities that specify them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import posteriori as po
from posteriori import kernels
from posteriori.bayes.numeric import Curves, packed

from .conftest import use
from .reference import densities as reference

KINDS = (np.float64, np.float32, np.int16, np.uint8)


def table(seed, n, d, missing=0.1):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d), int(rng.integers(0, 4)))
    X[rng.random((n, d)) < missing] = np.nan
    return X, rng.integers(0, 3, n).astype(np.uint8), rng


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("limit", [3, 40, 1000])
@given(seed=st.integers(0, 2**32 - 1))
def test_histograms(order, limit, seed):
    X, y, rng = table(seed, int(seed % 200), int(seed % 5))
    weights = None if seed % 2 else rng.integers(0, 3, len(y)) * 0.5
    found = kernels.histograms(np.asarray(X, order=order), y, 3, limit, weights)
    for mine, wanted in zip(found, reference.histograms(X, y, 3, limit, weights), strict=True):
        for a, b in zip(mine, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_histograms_of_many_rows_in_threads(kind):
    rng = np.random.default_rng(0)
    X, y = (rng.normal(size=(60_000, 11)) * 50).astype(kind), rng.integers(0, 3, 60_000).astype(np.uint8)
    one, two = (kernels.histograms(X, y, 3, 5000, None, jobs) for jobs in (1, 2))
    for a, b, c in zip(one, two, reference.histograms(X, y, 3, 5000), strict=True):
        for left, right, wanted in zip(a, b, c, strict=True):
            np.testing.assert_array_equal(left, right)
            np.testing.assert_array_equal(left, wanted)


def test_histograms_of_rows_that_are_read_in_parts():
    """More rows than are read at once (2^17), values that the first of them lack, missing ones and weights at the end."""
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 900, (300_000, 3)).astype(float), rng.integers(0, 3, 300_000).astype(np.uint8)
    X[200_000:] += 0.5
    X[-5:, 1], X[-1, 2] = np.nan, np.inf
    weights = np.where(np.arange(len(X)) < 250_000, 1.0, 0.5)
    for w in (None, weights):
        for order in ("C", "F"):
            found = kernels.histograms(np.asarray(X, order=order), y, 3, 1000, w)
            for mine, wanted in zip(found, reference.histograms(X, y, 3, 1000, w), strict=True):
                for a, b in zip(mine, wanted, strict=True):
                    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
@given(seed=st.integers(0, 2**32 - 1))
def test_hashes(kind, seed):
    X, _, rng = table(seed, int(seed % 70), int(seed % 9), 0.2 if kind in (np.float64, np.float32) else 0.0)
    X = np.where(X == 0, -0.0, X).astype(kind)
    salts, mine = rng.integers(0, 2**63, X.shape[1]).astype(np.uint64), rng.integers(0, 9, len(X)).astype(np.uint64)
    wanted = mine.copy()
    kernels.add_hashes(X, salts, mine)
    reference.add_hashes(X, salts, wanted)
    assert np.array_equal(mine, wanted)


@given(arrays(np.int64, st.tuples(st.integers(0, 60), st.integers(1, 4)), elements=st.integers(0, 30)))
def test_cuts(counts):
    counts = counts[counts.any(axis=1)]  # a cell of a histogram has a row
    assert np.array_equal(kernels.mdl_cuts(counts), reference.mdl_cuts(counts))


@pytest.mark.parametrize("scale", [1.0, 0.37, 12.0, 300.0, 1e6])
@pytest.mark.parametrize("seed", range(20))
def test_cuts_of_parted_classes(seed, scale):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(1, 4)) * 40
    counts = (
        np.floor(10 * np.exp(-(((np.arange(200)[:, None] - 100 - means) / 20) ** 2)) + rng.random((200, 4))) * scale
    )
    counts = counts[counts.any(axis=1)]
    found = kernels.mdl_cuts(counts)
    assert np.array_equal(found, reference.mdl_cuts(counts))
    assert len(found) > 0 or seed > 0


@pytest.mark.parametrize("seed", range(15))
def test_search(seed):
    rng = np.random.default_rng(seed)
    d, R, K = int(rng.integers(1, 12)), int(rng.integers(1, 80)), int(rng.integers(1, 5))
    parts = rng.normal(size=(d, 5, R, K)) * rng.choice([0.1, 1.0, 50.0])
    y = rng.integers(0, K, R)
    parts[:, rng.integers(0, 5), np.arange(R), y] += 1.0
    parts[:, 4] = 0.0
    args = rng.normal(size=(R, K)), parts, y, rng.random(R) + 0.5, np.array([2, 2, 2, 2, 1.25]), 0, 3, 0.5, 700.0, 3
    assert kernels.search_densities(*args) == reference.search_densities(*args)


@pytest.mark.parametrize("seed", range(15))
def test_ties_go_to_the_last_whatever_rounding_does(seed):
    """Bins that found nowhere to cut say nothing, as `none` does: which of the two has gained more is rounding."""
    rng = np.random.default_rng(seed)
    d, R, K = int(rng.integers(1, 12)), int(rng.integers(20, 80)), int(rng.integers(2, 40))
    parts, y = rng.normal(size=(d, 5, R, K)), rng.integers(0, K, R)
    parts[:, :, np.arange(R), y] += 2.0 * rng.integers(0, 2, (d, 1, 1))  # some columns say something, in every way
    parts[:, 0] *= rng.integers(0, 2, (d, 1, 1))
    parts[:, 4] = 0.0
    start, rest = rng.normal(size=(R, K)), (y, np.ones(R), np.array([2, 2, 2, 2, 1.25]), 0, 3, 0.5, 700.0, 3)
    found = kernels.search_densities(start, parts, *rest)
    begun = kernels.search_densities(start, parts, *rest[:-1], 0)
    for _ in range(5):
        noise = rng.normal(size=parts.shape) * 1e-14
        assert kernels.search_densities(start, parts + noise, *rest) == found
        assert reference.search_densities(start, parts + noise, *rest) == found
    silent = ~parts[:, 0].any(axis=(1, 2))
    assert not any(m == 0 and silent[j] for j, m in enumerate(found) if begun[j] != 0)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("shape", ["binned", "kernel", "mixed"])
@pytest.mark.parametrize("seed", range(16))
def test_curves_are_the_densities_they_are_made_from(shape, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 400 if seed < 12 else 4000)), int(rng.integers(1, 7))
    y = rng.integers(0, k, n)
    x = rng.normal(size=n) * rng.choice([1e-3, 1.0, 1e5]) + 3.0 * y * (seed % 2)
    x = [x, np.exp(2 * x / np.abs(x).max() * 8), np.round(x, 1), np.where(rng.random(n) < 0.05, 1e9, x)][seed % 4]
    x[rng.random(n) < 0.1] = np.nan
    monkeypatch.setattr("posteriori.bayes.factored.choose_densities", lambda *_: [shape])
    model = po.NaiveBayes(density="auto", smoothing=float(seed % 3)).fit(x[:, None], y)
    curves = model.factored_.densities[0]
    low, high = np.nanmin(x), np.nanmax(x)
    reach = high - low + 1.0
    asked = np.concatenate(
        [x, rng.uniform(low - 3 * reach, high + 3 * reach, 300), rng.uniform(low, high, 300), [1e30]]
    )
    frame = model._opened(asked[:, None])
    found, wanted = curves.parts(frame), curves.column(0).parts(frame)
    assert np.array_equal(np.isneginf(found), np.isneginf(wanted))
    there = np.isfinite(wanted)
    np.testing.assert_allclose(found[there], wanted[there], rtol=1e-11, atol=1e-6)
    np.testing.assert_array_equal(
        model.predict_joint_log_proba(asked[:, None]), model._log_joint(asked[:, None].copy("F"))
    )


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("light", [1.0, 1e-3, 1e-12, 1e-300])
@pytest.mark.parametrize("gap", [1.0, 1e3, 1e9])
def test_curves_of_clusters_far_apart_whose_weights_differ(light, gap, monkeypatch):
    """No one centre can stand for all: the nearest may weigh least, and points lie thousands of widths apart."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 300)
    x = rng.normal(size=300) + gap * rng.choice([0, 1, 1.5], 300)
    weights = np.where(rng.random(300) < 0.5, 1.0, light)
    monkeypatch.setattr("posteriori.bayes.factored.choose_densities", lambda *_: ["kernel"])
    model = po.NaiveBayes().fit(x[:, None], y, sample_weight=weights)
    curves = model.factored_.densities[0]
    asked = np.concatenate([x, rng.uniform(-2 * gap, 4 * gap, 500), x + rng.normal(size=300) * 4])[:, None]
    frame = model._opened(asked)
    np.testing.assert_allclose(curves.parts(frame), curves.column(0).parts(frame), rtol=1e-11, atol=1e-6)


@pytest.mark.parametrize("density", ["binned", "kernel", "auto"])
def test_rows_alone_in_blocks_and_in_threads_have_the_same_bits(density):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 3000)
    X = rng.normal(size=(3000, 7)) + rng.choice([-2, 2], (3000, 7)) * (y % 2)[:, None]
    Q = np.vstack([X[:700], 100 * X[:50], np.where(rng.random((50, 7)) < 0.5, np.nan, X[:50])])
    block = po.NaiveBayes(density=density, n_jobs=1).fit(X, y).predict_joint_log_proba(Q)
    many = po.NaiveBayes(density=density, n_jobs=3).fit(X, y)
    assert np.array_equal(block, many.predict_joint_log_proba(np.vstack([Q] * 40))[: len(Q)])
    for i in range(0, len(Q), 7):
        assert np.array_equal(block[[i]], many.predict_joint_log_proba(Q[i : i + 1]))


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3, 7, 30]))
def test_information_of_normals(seed, classes):
    """Classes far apart, equal, of widths from 1e-8 to 1e8, without a prior: as the sum in NumPy."""
    rng = np.random.default_rng(seed)
    mean = np.round(rng.normal(size=(classes, 5)) * 10.0 ** rng.integers(-2, 4), 2)
    variance = 10.0 ** rng.integers(-16, 17, (classes, 1)) * np.ones(5) if seed % 3 else np.ones((classes, 5))
    prior = rng.dirichlet(np.ones(classes)) * (rng.random(classes) < 0.8)
    prior = prior / prior.sum() if prior.any() else np.full(classes, 1 / classes)
    found = [kernels.normal_information(mean, variance, prior, jobs) for jobs in (1, 2)]
    assert np.array_equal(*found)
    np.testing.assert_allclose(found[0], reference.normal_information(mean, variance, prior), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("density", ["binned", "kernel", "mixed", "none"])
def test_information_of_curves(density):
    """As the densities in NumPy that specify them, to what the curves are good to."""
    X, y, _ = table(5, 150, 6, 0.05)
    X[y == 1] += 1.0
    X[:, 5] = 3.0
    model = po.NaiveBayes(kinds="numeric").fit(X, y)
    curves = Curves(model.statistics_, list(range(6)), [density] * 6, 1.0, 1e-9, 0)
    prior = np.array([0.5, 0.2, 0.3])
    wanted = [reference.curve_information(curves.column(k), prior) for k in range(6)]
    np.testing.assert_allclose(curves.information(prior), wanted, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("rows", [1, 15, 64, 65, 700])
@pytest.mark.parametrize("shape", ["normal", "long tail", "few values", "weights"])
def test_rows_left_out_in_blocks(rows, shape):
    """What a row is told does not depend on the rows of its block, on threads or, but for rounding, on instructions."""
    rng = np.random.default_rng(rows)
    y = rng.integers(0, 3, rows).astype(np.uint8)
    X = rng.normal(size=(rows, 4)) + y[:, None]
    X = {"long tail": np.exp(4 * X), "few values": np.round(X)}.get(shape, X)
    X[rng.random(X.shape) < 0.1] = np.nan
    weights = rng.choice([1e-300, 0.3, 1.0, 2.0, 1e8], rows) if shape == "weights" else None
    stats = po.NaiveBayes().fit(X, y, sample_weight=weights).statistics_
    K = stats.n_classes
    columns = packed(stats, [0, 1, 2, 3], 1.0, 0.01, 0)
    code = np.unique(y, return_inverse=True)[1]
    out = np.ones(rows) if weights is None else np.minimum(weights, 1.0)
    share = np.log(rng.dirichlet(np.ones(K), rows))

    def left_out(some, jobs=1):
        x, n = X[some].T.copy(), len(X[some])
        rows = code[some].copy(), out[some].copy(), np.full(n, 0.5), share[some].copy()
        return columns.left_out(x, *rows, 1e4, 700.0, jobs)

    every = left_out(slice(None))
    assert np.isfinite(every).all()
    assert np.array_equal(every, left_out(slice(None), 3))
    for some in (slice(0, rows, 2), slice(rows // 2, rows)):
        np.testing.assert_allclose(
            left_out(some), every[:, :, some], rtol=1e-4, atol=1e-4
        )  # other pieces of the kernels
        np.testing.assert_allclose(left_out(some)[:, [0, 2]], every[:, [0, 2]][:, :, some], rtol=1e-12, atol=1e-12)
    use("_base")
    columns = packed(stats, [0, 1, 2, 3], 1.0, 0.01, 0)
    np.testing.assert_allclose(left_out(slice(None)), every, rtol=1e-7, atol=1e-7)
    use(kernels.native.__name__.split(".")[-1])


@pytest.mark.parametrize("limit", [2, 9, 1000])
@given(seed=st.integers(0, 2**32 - 1))
def test_shares_are_added_to_the_cells_of_all_rows(limit, seed):
    X, y, rng = table(seed, int(seed % 40), int(seed % 3) + 1)
    X[rng.random(X.shape) < 0.05] = np.inf
    shares = rng.dirichlet(np.ones(3), len(y)) * (rng.random(len(y)) < 0.8)[:, None]
    whole = reference.histograms(X, np.zeros_like(y), 1, limit, shares.sum(axis=1))
    found = kernels.histograms(X, y, 3, limit, shares)
    for x, (keys, sums, level, met), (cells, mass, wanted, seen) in zip(X.T, found, whole, strict=True):
        assert keys.tolist() == cells.tolist()
        assert (level, met) == (wanted, seen)
        np.testing.assert_allclose(sums.sum(axis=1, keepdims=True), mass, rtol=1e-12)
        some = np.isfinite(x) & shares.any(axis=1)
        bits = (x[some] + 0.0).view(np.uint64)
        own = np.where(x[some] < 0, ~bits, bits | np.uint64(1 << 63)) >> np.uint64(level) << np.uint64(level)
        for key, got in zip(keys, sums):
            np.testing.assert_allclose(got, shares[some][own == key].sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int64, bool])
def test_classes_may_be_numbered_in_any_type(dtype):
    X, y = np.array([[1.0], [2.0], [1.0]]), np.array([0, 1, 1]).astype(dtype)
    assert kernels.histograms(X, y, 2, 9)[0][1].tolist() == [[1.0, 1.0], [0.0, 1.0]]
