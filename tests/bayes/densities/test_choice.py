"""Which density a numeric column has depends on the rows, not on how they are written down."""

import numpy as np
import pytest

import posteriori as po


def table(seed):
    """Rows of many classes, columns that tell little: bins find nowhere to cut in some of them."""
    rng = np.random.default_rng(seed)
    n, K = int(rng.choice([40, 150, 700])), int(rng.choice([5, 20, 70]))
    y = rng.integers(0, K, n)
    X = rng.normal(size=(n, 6)) + y[:, None] * (rng.random(6) < 0.4)
    X[:, 0] = np.round(X[:, 0], 1)
    X[:, 1] = np.where(rng.random(n) < 0.5, 0, X[:, 1])
    X[:, 2] = X[:, 2] ** 5 * 1e40
    return X, y, rng


@pytest.mark.parametrize("seed", range(12))
def test_order_threads_and_units_do_not_matter(seed):
    X, y, rng = table(seed)
    found = po.NaiveBayes(smoothing=float(seed % 3)).fit(X, y).density_
    order = rng.permutation(len(y))
    for jobs, unit in ((1, 1.0), (3, 2.0**-30)):
        other = po.NaiveBayes(smoothing=float(seed % 3), n_jobs=jobs).fit(X[order] * unit, y[order])
        assert other.density_ == found
