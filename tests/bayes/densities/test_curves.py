"""Columns scored together are each what they are specified by, in pieces or whole, in any table and order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.bayes.densities.base import Seen, mutual_information
from posteriori.bayes.densities.curves import Curves
from posteriori.errors import BadValue
from posteriori.table.frame import open_frame

SHAPES = ["binned", "kernel", "mixed", "none"]


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
    curves, X, y = made(seed, shapes=tuple(shapes))
    frame = open_frame({name: np.append(x[:20], [50.0, -50.0, np.nan]) for name, x in X.items()})
    parts = curves.parts(frame)
    assert parts.shape == (23, 4, 3)
    for k in range(4):
        alone = curves.column(k).parts(frame)[:, 0]
        np.testing.assert_allclose(parts[:, k], alone, rtol=2e-5, atol=2e-5)
    start, seen = np.log([0.2, 0.3, 0.5]), Seen()
    whole = curves.add_to(start, frame, seen, 1)
    np.testing.assert_allclose(whole, start + parts.sum(axis=1), rtol=1e-9, atol=1e-9)
    assert seen.missing == sum(int(np.isnan(x[:20]).sum()) + 1 for x in X.values())
    matrix = np.column_stack([frame.column(k) for k in range(4)])
    again = curves.add_to(start, open_frame(matrix), Seen(), 2)
    assert np.array_equal(whole, again)
    one = np.vstack([curves.add_to(start, open_frame(matrix[i : i + 1]), Seen(), 1) for i in range(5)])
    assert np.array_equal(one, whole[:5])  # a row alone has its bits
    prior = np.bincount(y) / len(y)
    told = [float(curves.column(k).information(prior)[0]) for k in range(4)]
    assert curves.information(prior) == pytest.approx(told, abs=0.02)
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
        curves.add_to(np.zeros(3), open_frame(bad), Seen(), 1)
    wide = po.NaiveBayes(density="binned").fit({"x": [1e200, -1e200, 3.0, 4.0]}, [0, 1, 0, 1]).statistics_
    with pytest.raises(BadValue, match="column 'x'"):
        Curves(wide, [0], ["kernel"], 1.0, 0.01, 0)
    assert Curves(wide, [0], ["binned"], 1.0, 0.01, 0).shapes == ["binned"]


@pytest.mark.parametrize("shape", ["kernel", "mixed"])
@pytest.mark.parametrize("far", [0.0, 3000.0])
def test_information_is_the_integral(shape, far):
    """By even steps on a fine grid; with a far value the kernels are too narrow for even steps of a column."""
    rng = np.random.default_rng(5)
    y = np.concatenate([[0, 1, 2], rng.integers(0, 3, 57)])
    x = rng.normal(y / 2, 1)
    x[7] += far
    stats = po.NaiveBayes().fit({"x": x}, y).statistics_
    curves, prior = Curves(stats, [0], [shape], 1.0, 0.01, 0), np.bincount(y) / len(y)
    grid = np.arange(-40.0 - 4 * far, 45.0 + 5 * far, 1e-3 if not far else 2e-2)
    log_p = curves.add_to(np.zeros((len(grid), 3)), open_frame(grid[:, None]), Seen(), 1)
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
