"""A row of a table sums to one as far as its digits go."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import InvalidNetwork
from posteriori.network import tables as file
from posteriori.network.tables import checked_tables
from posteriori.structure.dag import Dag

STATES = {"rain": ("no", "yes"), "way": ("walk", "bus", "car")}


def check_rows(node, table, parents, states):
    """The table, between two that are as they should be."""
    tables = {"one": np.array([1.0]), node: table.ravel(), "other": np.array([0.5, 0.5])}
    dag = Dag([*tables, *parents], [(p, node) for p in parents])
    found = checked_tables(tables, dag, {**states, "one": ("a",), "other": ("b", "c")})
    assert np.array_equal(found[node], table.ravel())


@given(st.floats(0.01, 0.98), st.floats(0, 1e-3), st.sampled_from([-1, 1]))
def test_rounded_digits_pass(p, off, sign):
    check_rows("rain", np.array([p, 1 - p + sign * off]), [], STATES)


@given(st.floats(0.01, 0.9), st.floats(1.01e-3, 0.09), st.sampled_from([-1, 1]))
def test_a_typing_error_does_not(p, off, sign):
    with pytest.raises(InvalidNetwork, match="sums to"):
        check_rows("rain", np.array([p, 1 - p + sign * off]), [], STATES)


def test_three_thirds_typed_pass_and_the_bad_row_is_named():
    check_rows("way", np.array([[0.333, 0.333, 0.333], [0.2, 0.3, 0.5]]), ["rain"], STATES)
    with pytest.raises(InvalidNetwork, match=r"'way' for rain=yes sums to 0\.99, not 1"):
        check_rows("way", np.array([[0.333, 0.333, 0.333], [0.33, 0.33, 0.33]]), ["rain"], STATES)
    for wrong in (-0.1, np.nan, np.inf):
        with pytest.raises(InvalidNetwork, match="no probability"):
            check_rows("rain", np.array([wrong, 1 - wrong]), [], STATES)


def test_a_table_is_refused_at_the_bytes_of_three_copies(monkeypatch):
    """As given, as a copy and as rows being summed."""
    states = {"a": ("u", "v"), "b": ("x", "y", "z")}
    monkeypatch.setattr(file, "memory_budget", lambda: 24.0 * 6)
    file.refuse_table("b", ["a"], states)
    told = []
    monkeypatch.setattr(file, "refuse_over", lambda *said: told.append(said))
    monkeypatch.setattr(file, "memory_budget", lambda: 24.0 * 6 - 1)
    file.refuse_table("b", ["a"], states)
    ((_, peak, what, _),) = told
    assert peak == 24.0 * 6
    assert "'b' given 'a', which holds 6 numbers" in what
