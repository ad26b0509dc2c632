"""Kernels, and kernels, bins and a normal mixed, as a query: what the model says, inside and far outside of what it saw."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.bayes.numeric import Curves
from posteriori.errors import NotStorable
from posteriori.store.sql import query, scores
from posteriori.store.sql.curves import halved
from posteriori.store.sql.dialects import DIALECTS

from .test_query import agrees

SHAPES = {
    "normal": lambda rng, y: rng.normal(size=len(y)) + y,
    "skewed": lambda rng, y: np.exp(1.5 * rng.normal(size=len(y))) * (1 + y),
    "two hills": lambda rng, y: rng.normal(size=len(y)) + 6 * rng.integers(0, 2, len(y)) * (1 + y),
    "whole": lambda rng, y: rng.poisson(3 + y).astype(float),
    "far out": lambda rng, y: rng.standard_cauchy(len(y)),
    "constant": lambda rng, y: np.full(len(y), 7.5),
    "large": lambda rng, y: 1e9 + rng.normal(size=len(y)) * (1 + y),
    "tiny": lambda rng, y: 1e-9 * (rng.normal(size=len(y)) + y),
}


def pieces_of(model):
    """(name, shape, edges) of every column in pieces."""
    for density in model.factored_.densities:
        if isinstance(density, Curves):
            for k, (name, shape) in enumerate(zip(density.names, density.shapes)):
                yield name, shape, density.curves.pieces(k)[0]


@settings(max_examples=max(settings.default.max_examples // 3, 20))
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 3, 7, 40, 200]),
    st.integers(1, 4),
    st.sampled_from(["auto", "kernel", "binned", "gaussian"]),
    st.lists(st.sampled_from(list(SHAPES)), min_size=1, max_size=3, unique=True),
    st.sampled_from([None, "weights"]),
    st.sampled_from([0.0, 0.2]),
)
def test_any_density_is_what_the_model_says(seed, n, K, density, shapes, weights, missing):
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(K), rng.integers(0, K, max(n - K, 0)))
    X = pd.DataFrame({name: SHAPES[name](rng, y) for name in shapes} | {"word": rng.choice(["a", "b"], len(y))})
    X = X.mask(rng.random(X.shape) < missing)
    weight = None if weights is None else rng.random(len(y)) * 3 + 0.01
    model = po.NaiveBayes(density=density, kinds={"word": "categorical"}).fit(X, y, sample_weight=weight)
    rows = pd.concat([X, X[:5].assign(word="new")], ignore_index=True)
    for name in shapes:  # around all that was seen, and at every end of a piece
        seen = X[name].dropna()
        middle, width = (seen.mean(), max(seen.std(), 1e-9)) if len(seen) > 1 else (0.0, 1.0)
        rows.loc[rows.index[:20], name] = middle + width * rng.standard_cauchy(min(20, len(rows)))
    for name, _, edges in pieces_of(model):
        ends = pd.DataFrame({name: [*edges[:3], *edges[-3:], *np.nextafter(edges[-2:], -np.inf)]})
        rows = pd.concat([rows, ends], ignore_index=True)
    agrees(model, rows)


@pytest.mark.parametrize("density", ["auto", "kernel"])
def test_the_default_model_is_a_query(density):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 2000)
    X = pd.DataFrame({name: make(rng, y) for name, make in SHAPES.items() if name != "large"})
    model = po.NaiveBayes(density=density).fit(X, y)
    assert {shape for _, shape, _ in pieces_of(model)} & {"kernel", "mixed"}
    agrees(model, X)


@pytest.mark.parametrize("together", [1, 30])
def test_columns_that_do_not_fit_into_one_row_come_after_each_other(together, monkeypatch):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 200)
    X = pd.DataFrame({name: make(rng, y) for name, make in SHAPES.items()} | {"word": rng.choice(["a", "b"], 200)})
    model = po.NaiveBayes(density={"normal": "gaussian", "skewed": "kernel"}).fit(X, y)
    whole = po.sql(model, "t")
    monkeypatch.setattr(scores, "TOGETHER", together)
    assert len(po.sql(model, "t")) > len(whole)
    agrees(model, X)


def test_a_class_without_a_number_and_a_column_without_any():
    X = pd.DataFrame({"a": [1.0, 2.0, 4.0, np.nan], "b": [np.nan] * 4})
    for density in ("kernel", "auto"):
        model = po.NaiveBayes(density=density, kinds="numeric").fit(X, ["p", "p", "q", "r"])
        agrees(model, pd.DataFrame({"a": [0.0, 1.5, 99.0, None], "b": [1.0, None, 2.0, None]}))


def test_a_query_that_would_be_too_long_names_its_column(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = {"narrow": rng.normal(size=99), "wide": rng.standard_cauchy(99) ** 3}, rng.integers(0, 2, 99)
    model = po.NaiveBayes(density="kernel").fit(X, y)
    monkeypatch.setattr(query, "MOST", 10_000)
    with pytest.raises(NotStorable, match=r"letters, .* for column 'wide'; model.set_params\(density='gaussian'\)"):
        po.sql(model, "t")


def test_numbers_with_no_digits_left_are_a_query_or_an_error_by_name():
    """Of 1e9 ± 1 the model itself has no polynomials: it sums its kernels, and so does the query while they are few."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    agrees(
        po.NaiveBayes(density="kernel").fit({"a": SHAPES["large"](rng, y)}, y),
        pd.DataFrame({"a": [1e9, 1e9 + 3, None]}),
    )
    y = np.arange(3000) % 2
    with pytest.raises(NotStorable, match=r"column 'a': .* kernels count"):
        po.sql(po.NaiveBayes(density="kernel").fit({"a": SHAPES["large"](rng, y)}, y), "t")


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=40, unique=True), st.floats(-120, 120))
def test_halving_finds_the_piece(edges, x):
    edges = sorted(edges)
    said = halved(f"({x!r}::DOUBLE)", [f"({e!r}::DOUBLE)" for e in edges], [str(k) for k in range(len(edges) + 1)])
    assert duckdb.execute(f"SELECT {said}").fetchall()[0][0] == np.searchsorted(edges, x, side="right")


def test_numbers_of_a_list_are_read_to_the_last_bit():
    numbers = np.array([0.1, -1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 12345678.9])
    for k, number in enumerate(numbers.tolist()):
        assert duckdb.execute(f"SELECT {DIALECTS['duckdb'].nth(numbers, str(k + 1))}").fetchall()[0][0] == number
