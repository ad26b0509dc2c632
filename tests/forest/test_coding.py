"""Cells as codes: what training had, what it had not, and missing cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from posteriori.errors import MemoryBudgetError, ModelError
from posteriori.forest import coding as coding_room
from posteriori.forest.coding import learn_coding
from posteriori.statistics.cuts import greedy_cuts
from posteriori.table.encode import Seen
from posteriori.table.frame import open_frame
from posteriori.table.kinds import resolve_kinds
from posteriori.table.schema import Column, Schema


def learned(X):
    frame = open_frame(X)
    columns = tuple(Column(n, k) for n, k in zip(frame.names, resolve_kinds(frame, None)))
    return learn_coding(frame, Schema(columns), None, Seen(), None, None)


def test_missing_is_a_value_only_where_training_had_it():
    coding, codes = learned(
        {"a": ["x", None, "y"], "b": ["x", "y", "x"], "n": [1.0, np.nan, 3.0], "m": [1.0, 2.0, 3.0]}
    )
    assert coding.blank == (True, False, True, False)
    assert codes.sizes == (3, 2, 3, 3)
    assert codes.cells.tolist() == [[1, 0, 2], [0, 1, 0], [1, 0, 2], [0, 1, 2]]
    seen = Seen()
    asked = coding.code(open_frame({"a": ["z", None], "b": ["z", None], "n": [9.0, np.nan], "m": [-5.0, np.nan]}), seen)
    assert asked.cells.tolist() == [[0, 0], [2, 2], [2, 0], [0, 3]]
    assert (seen.missing, seen.unseen) == (4, 2)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.integers(2, 9))
def test_greedy_cuts_part_every_value_or_bins_of_weight(x, bins):
    x = np.array(x) + 0.0
    cuts = greedy_cuts(x, None, bins)
    assert (np.diff(cuts) > 0).all()
    values, counts = np.unique(x, return_counts=True)
    codes = np.searchsorted(cuts, values, side="right")
    if len(values) <= bins:
        assert_array_equal(codes, np.arange(len(values)))
        return
    for v in np.flatnonzero(counts * bins >= len(x)):
        assert (codes == codes[v]).sum() == 1
    assert len(cuts) <= 2 * bins
    assert_array_equal(cuts, greedy_cuts(np.repeat(x, 3), None, bins))
    assert_array_equal(cuts, greedy_cuts(x[::-1], np.full(len(x), 3.0), bins))


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_greedy_cuts_of_any_scale(scale):
    x = np.random.default_rng(0).normal(size=1000) * scale
    cuts = greedy_cuts(x)
    counts = np.bincount(np.searchsorted(cuts, x, side="right"))
    assert len(counts) == 128
    assert counts.max() <= 9
    assert counts.min() >= 6
    assert len(greedy_cuts(np.array([np.nan, np.nan]))) == 0
    assert len(greedy_cuts(np.array([-1.7e308, 1.7e308]))) == 1


def test_edges_and_words():
    coding, _ = learned({"n": [1.0, np.nan, 3.0], "w": ["a", "b", "a"]})
    assert [coding.edge(0, c) for c in range(3)] == [-np.inf, 2.0, np.inf]
    assert coding.words(0, [0, 1]) == ["missing", "[-inf, 2)"]
    assert coding.words(1, [1]) == ["b"]


def test_columns_as_they_are_coded_with_the_classes_of_another():
    coding, _ = learned({"n": [1.0, 2.0]})
    known = coding.with_classes(Schema((), (0, 1), frozenset({1})))
    assert (known.classes, known.declared_classes, known.columns) == ((0, 1), frozenset({1}), coding.schema.columns)


@pytest.mark.parametrize(("values", "dtype"), [(254, np.uint8), (255, np.uint8), (256, np.uint16), (300, np.uint16)])
def test_codes_are_bytes_while_one_more_than_all_values_fits(values, dtype):
    names = np.array([f"v{i:03d}" for i in range(values)])
    coding, codes = learned({"v": names})
    assert codes.cells.dtype == dtype
    assert codes.cells[0].tolist() == list(range(values))
    assert coding.code(open_frame({"v": ["strange"]}), Seen()).cells.tolist() == [[values]]


def test_a_column_of_too_many_values_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(coding_room, "MOST_VALUES", 4)
    assert learned({"v": ["a", "b", "c"]})[1].sizes == (3,)
    with pytest.raises(ModelError, match=r"column 'v' has 4 values, more than a tree can ask for \(4\)"):
        learned({"v": ["a", "b", "c", "d"]})


def test_codes_take_memory_that_is_asked_for_before():
    """Four bytes a cell."""
    frame = open_frame({"a": ["x", "y"] * 500, "b": ["u", "v"] * 500})
    columns = tuple(Column(n, k) for n, k in zip(frame.names, resolve_kinds(frame, None)))
    learn_coding(frame, Schema(columns), None, Seen(), 8000.0, None)
    with pytest.raises(MemoryBudgetError, match="codes of 1,000 rows in 2 columns"):
        learn_coding(frame, Schema(columns), None, Seen(), 7999.0, None)


def test_missing_cells_are_counted():
    seen = Seen()
    frame = open_frame({"a": ["x", None, None], "n": [1.0, np.nan, 2.0]})
    columns = tuple(Column(n, k) for n, k in zip(frame.names, resolve_kinds(frame, None)))
    coding, _ = learn_coding(frame, Schema(columns), None, seen, None, None)
    assert seen.missing == 3
    assert coding.sizes == (2, 3)
    assert coding.named == (True, False)


def test_edges_without_missing_cells():
    coding, _ = learned({"n": [1.0, 2.0, 4.0]})
    assert [coding.edge(0, c) for c in range(3)] == [1.5, 3.0, np.inf]
    assert coding.words(0, [2, 0]) == ["[3, inf)", "[-inf, 1.5)"]
