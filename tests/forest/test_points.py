"""Rows as points: means of zero, the scale of a column means nothing, cells of which nothing is known say nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from posteriori.forest import points as rooms
from posteriori.forest.coding import learn_coding
from posteriori.forest.points import learn_points
from posteriori.table.encode import Seen
from posteriori.table.rows import read_rows


def learned(X, weights=None):
    rows = read_rows(X, np.zeros(len(next(iter(X.values()))), dtype=int), weights, who="test")
    coding, codes = learn_coding(rows.frame, rows.schema, rows.weights, Seen(), None, 1)
    return rows.frame, coding, codes, learn_points(rows.frame, codes, coding.blank, rows.weights)


TABLE = {
    "number": [1.0, 2.0, 4.0, None, 9.0],
    "two": ["a", "b", "a", "a", "b"],
    "three": ["x", "y", None, "x", "z"],
    "one": ["k"] * 5,
    "flat": [3.0] * 5,
}


def test_coordinates_by_hand():
    frame, _, codes, points = learned(TABLE)
    Z = points(frame, codes)
    assert points.sizes.tolist() == [2, 1, 4, 0, 0]
    x = np.array([1.0, 2.0, 4.0, 9.0])
    assert_allclose(Z[[0, 1, 2, 4], 0], (x - x.mean()) / x.std())
    assert Z[3, 0] == 0
    assert_allclose(Z[:, 1], [-0.2, -0.2, -0.2, 0.8, -0.2])
    assert_allclose(Z[:, 2], np.array([0, 1, 0, 0, 1]) - 0.4)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-15)
    assert_allclose(points.centre[3:].sum(), 1)


def test_rows_one_by_one_are_rows_together():
    frame, _, codes, points = learned(TABLE)
    whole = points(frame, codes)
    for r in range(5):
        assert_array_equal(points(frame, codes, np.array([r])), whole[[r]])


@pytest.mark.parametrize("scale", [1e-150, 1e150, -3.0])
def test_the_scale_of_a_column_means_nothing(scale):
    x = np.array([1.0, 2.0, 4.0, 9.0])
    frame, _, codes, points = learned({"x": x})
    plain = points(frame, codes)
    frame, _, codes, points = learned({"x": x * scale})
    assert_allclose(points(frame, codes), np.sign(scale) * plain, rtol=1e-9)


def test_cells_of_which_nothing_is_known_are_zero():
    frame, coding, codes, points = learned(TABLE)
    asked = pd.DataFrame({**TABLE, "two": ["c"] * 5, "number": [1e300] * 5})
    rows = read_rows(asked, np.zeros(5), who="test")
    Z = points(rows.frame, coding.code(rows.frame, Seen()))
    assert (Z[:, 2] == 0).all()
    assert (Z[:, 0] == rooms.CLIP).all()
    for j in range(5):
        end = points.sizes[: j + 1].sum()
        assert (points(frame, codes.without(j))[:, end - points.sizes[j] : end] == 0).all()


def test_rare_values_share_a_coordinate(monkeypatch):
    monkeypatch.setattr(rooms, "MOST_VALUES", 2)
    points = learned({"v": ["a", "a", "b", "b", "c", "d"]})[3]
    assert points.places[0].tolist() == [0, 1, 2, 2, -1]
    assert points.size == 3


def test_weights_are_repeated_rows():
    x = np.array([1.0, 5.0, 6.0])
    one = learned({"x": x, "v": np.array(["a", "b", "c"])}, np.array([1.0, 2.0, 1.0]))[3]
    two = learned({"x": x[[0, 1, 1, 2]], "v": np.array(["a", "b", "b", "c"])})[3]
    assert_allclose(one.centre, two.centre)
    assert_allclose([one.mean, one.sd], [two.mean, two.sd])
    tiny = learned({"x": x, "v": np.array(["a", "b", "c"])}, np.array([1e-300, 2e-300, 1e-300]))[3]
    assert_allclose(tiny.centre, one.centre)


def test_a_deviation_that_is_rounding_is_none():
    even = np.full(3, 1 / 3)
    for x, wanted in (
        ([2.0, 2.0, 2.0], (0.0, 0.0)),
        ([0.0, 0.0, 0.0], (0.0, 0.0)),
        ([np.nan] * 3, (0.0, 0.0)),
        ([1.0, 1.0, 1.0 + 1e-13], (0.0, 0.0)),
        ([1e-320, 3e-320, 1e-320], (0.0, 0.0)),  # its square is no float
        ([-3.0, np.nan, 1.0], (-1.0, 2.0)),
        ([0.5, 0.25, 0.0], (0.25, np.sqrt(0.125 / 3))),
    ):
        assert rooms._moments(np.array(x), even) == pytest.approx(wanted)
    small = rooms._moments(np.array([1.0, 1.0 + 3e-12, 1.0]), even)
    assert small == pytest.approx((1.0, 1e-12 * np.sqrt(2)), rel=1e-3)
    assert rooms._moments(np.array([1.0, 5.0, 9.0]), np.array([0.5, 0.5, 0.0])) == pytest.approx((3.0, 2.0))


@pytest.mark.parametrize(
    ("mass", "most", "places"),
    [
        ([3.0, 0.0], 9, [-1, -1]),  # one value tells nothing
        ([3.0, 1.0, 0.0], 9, [-1, 0, -1]),  # the second of two alone
        ([0.0, 3.0, 0.0, 1.0, 7.0], 9, [-1, -1, -1, 0, -1]),  # the last code is of no value
        ([1.0, 2.0, 3.0, 0.0], 9, [0, 1, 2, -1]),
        ([1.0, 2.0, 3.0, 0.0], 3, [0, 1, 2, -1]),
        ([1.0, 2.0, 3.0, 0.0], 2, [2, 0, 1, -1]),  # the rare ones share the last
        ([2.0, 1.0, 2.0, 1.0, 5.0, 0.0], 3, [0, 3, 1, 3, 2, -1]),
        ([1.0, 1.0, 1.0, 0.0], 2, [0, 1, 2, -1]),  # of equals the first
    ],
)
def test_places_of_values(monkeypatch, mass, most, places):
    monkeypatch.setattr(rooms, "MOST_VALUES", most)
    found = np.full(len(mass), -1)
    rooms._number(found, np.array(mass))
    assert found.tolist() == places


def test_means_of_coordinates_are_shares_of_the_weight():
    X = {"n": [1.0, None, 3.0, None], "v": ["a", "b", "c", "a"]}
    points = learned(X, np.array([1.0, 2.0, 3.0, 4.0]))[3]
    assert points.sizes.tolist() == [2, 3]
    assert_allclose(points.centre, [0.0, 0.6, 0.5, 0.2, 0.3])
    assert_allclose([points.mean[0], points.sd[0]], [2.5, np.sqrt(0.25 * 1.5**2 + 0.75 * 0.5**2)])
    assert (points.mean[1], points.sd[1]) == (0.0, 0.0)
    assert points.size == 5
    empty = rooms.Points(np.zeros(0), np.zeros(0), (), np.zeros(0))
    assert (empty.size, empty.sizes.tolist()) == (0, [])


def test_numbers_end_at_four_deviations_and_sparse_rows_are_read():
    x = np.array([0.0] * 50 + [1.0])
    frame, _, codes, points = learned({"x": x})
    assert points(frame, codes)[-1, 0] == 4.0
    assert points(frame, codes)[0, 0] == pytest.approx(-x.mean() / x.std())
    rows = read_rows(sparse.csr_array(x[:, None]), np.zeros(51), who="test")
    coding, codes = learn_coding(rows.frame, rows.schema, None, Seen(), None, 1)
    again = learn_points(rows.frame, codes, coding.blank, None)
    assert_allclose(again(rows.frame, codes), points(frame, codes))
    some = np.array([50, 3])
    assert_allclose(again(rows.frame, codes, some), points(frame, codes)[some])
