"""Parts of a pool: columns that a node looks at, bytes, and the loss of what is said of rows."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.forest import parts
from posteriori.forest.parts import FLOOR, grown_trees, mean_loss, member_tables, tree_bytes, tried
from posteriori.kernels.trees import Codes


@pytest.mark.parametrize("d", [1, 2, 3, 4, 9, 16, 100, 1000])
def test_a_node_looks_at_about_one_and_a_half_roots_of_the_columns(d):
    assert 1 <= tried(d) <= d
    assert abs(tried(d) - 1.5 * d**0.5) <= 0.5 or tried(d) == d


def codes(n, sizes=(3, 5), named=(True, False)):
    rng = np.random.default_rng(0)
    return Codes(np.array([rng.integers(0, min(size, 255), n) for size in sizes], np.uint8), sizes, named)


def test_a_member_has_at_most_thirteen_values_of_a_column_and_its_two_parents():
    assert member_tables(codes(50), 2) == 2 * (3 + 5) + 2 * 4 * 13**3 * 2
    assert member_tables(codes(50), 100) == 2 * (3 + 5) + 2 * 4 * 2**16  # not more numbers than that,
    assert member_tables(codes(20_000), 100) == 2 * (3 + 5) + 2 * 4 * 4 * 20_000  # or four a row


@pytest.mark.parametrize("K", [2, 7])
def test_trees_take_what_their_nodes_take(K):
    """Up to 1.3 n nodes, of two copies; where that does not fit, as many as two of them have."""
    table, y = codes(200, (70, 5)), np.arange(200) % K
    most = 10 * 1.3 * 200 * (2 * (12 + 4 * K) + 16 * 2)  # sets of 70 values are two words, twice
    assert tree_bytes(table, y, K, None, 10, most, 1) == pytest.approx(most)
    measured = tree_bytes(table, y, K, None, 10, most - 1, 1)
    assert 0 < measured < most
    trees, _, _ = grown_trees(table, y, K, None, np.arange(2, dtype=np.uint64), 1, None)
    assert measured == pytest.approx(10 * 1.1 * (len(trees.column) * (12 + 4 * K) + trees.bits.nbytes))


def test_the_loss_is_over_the_rows_of_which_something_is_said():
    said = np.array([[0.5, 0.5], [np.nan, np.nan], [0.0, 1.0], [0.25, 0.75]])
    y = np.array([0, 1, 0, 1])
    losses = -np.log([0.5, FLOOR, 0.75])
    assert mean_loss(said, y, None) == pytest.approx(losses.mean())
    assert mean_loss(said, y, np.array([1.0, 9.0, 2.0, 5.0])) == pytest.approx(np.average(losses, weights=[1, 2, 5]))
    assert mean_loss(said, y, np.array([0.0, 9.0, 0.0, 0.0])) == pytest.approx(losses.mean())
    assert mean_loss(said, y, np.array([1e-320, 0.0, 1e-320, 1e-320])) == pytest.approx(losses.mean())
    assert np.isnan(mean_loss(said[1:2], y[1:2], None))


def test_the_concentration_is_the_best_out_of_bag():
    table, y = codes(300), np.random.default_rng(1).integers(0, 2, 300)
    trees, c, said = grown_trees(table, y, 2, None, np.arange(20, dtype=np.uint64), 1, None)
    assert c == parts.CONCENTRATIONS[-1]  # of labels that are noise, the leaves are to say least
    bags = parts.draw_bags(300, None, np.arange(20, dtype=np.uint64), 1)
    losses = []
    for other in parts.CONCENTRATIONS:
        sums, times = trees.sums(table, other, bags, 1)
        losses.append(mean_loss(sums / times[:, None], y, None))
    assert np.argmin(losses) == parts.CONCENTRATIONS.index(c)
    assert mean_loss(said, y, None) == pytest.approx(min(losses))
