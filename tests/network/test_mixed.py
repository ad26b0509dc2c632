"""Values and numbers learned together: which nodes are numbers, what is refused, what is kept of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import posteriori as po
from posteriori.errors import BadValue, TableError, UnknownColumn
from posteriori.network.learn import Smoothing, rows_of
from posteriori.network.mixed import continuous_nodes, count_mixed, numbers_at, regressions_of, scopes

DAG = po.Dag(["x", "a", "y", "b"], [("b", "y"), ("x", "y"), ("a", "y"), ("a", "b"), ("a", "x")])


def rows(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, n), rng.integers(0, 3, n)
    x = rng.normal(size=n) + a
    y = x * (b - 1) + 5 * a + rng.normal(size=n)
    return pd.DataFrame({"a": [f"a{v}" for v in a], "b": [f"b{v}" for v in b], "y": y, "x": x, "more": 1.5})


def test_which_nodes_are_numbers():
    table = rows()
    assert continuous_nodes(DAG, table, None) == ("y", "x")  # as the columns stand; "more" is no node
    assert continuous_nodes(DAG, table, ["x", "x", "y"]) == ("x", "y")
    assert continuous_nodes(DAG, table, []) == ()
    assert continuous_nodes(DAG, table.assign(x=1), None) == ("y",)
    arrow = pa.table({"x": pa.array([1.5]), "y": pa.array([1]), "a": pa.array(["u"])})
    assert continuous_nodes(DAG, arrow, None) == ("x",)
    with pytest.raises(UnknownColumn, match="'z'"):
        continuous_nodes(DAG, table, ["z"])


def test_numbers_by_name():
    frame = rows_of({"y": [1.0, None, 3.0], "x": [4, 5, 6]})
    assert numbers_at(frame, ["x", "y"])[:, 0].tolist() == [4, 5, 6]
    assert np.isnan(numbers_at(frame, ["x", "y"])[1, 1])
    with pytest.raises(UnknownColumn, match=r"no column for 'xs'; did you mean 'x'\? columns: 'y', 'x'"):
        numbers_at(frame, ["xs"])
    with pytest.raises(UnknownColumn, match=r"no column for 'speed'\. columns"):
        numbers_at(frame, ["speed"])
    with pytest.raises(BadValue, match="column 'y', row 2: infinity is no number"):
        numbers_at(rows_of({"y": [1.0, 2.0, -np.inf], "x": [4, 5, 6]}), ["x", "y"])


@pytest.mark.parametrize("weighted", [False, True])
def test_families_are_counted_and_regressed_in_the_order_of_the_states(weighted):
    table = rows()
    w = np.random.default_rng(1).integers(1, 4, 40).astype(float) if weighted else None
    found = count_mixed(DAG, table, ["y", "x"], {"b": ("b2", "b0", "b1")}, w)
    assert found.schema.names == ("a", "b", "y", "x")
    assert scopes(DAG, found) == [((1, 0), (3, 2)), ((0,), (3,))]  # y given b, a and x; x given a
    states = {"a": ("a1", "a0"), "b": ("b2", "b0", "b1")}
    lines = regressions_of(found, states, Smoothing(0.0))
    weight = np.ones(40) if w is None else w
    for r, (b, a) in enumerate((b, a) for b in states["b"] for a in states["a"]):
        mine = ((table["a"] == a) & (table["b"] == b)).to_numpy()
        design = np.column_stack([np.ones(mine.sum()), table["x"][mine]]) * np.sqrt(weight[mine])[:, None]
        want, *_ = np.linalg.lstsq(design, table["y"][mine] * np.sqrt(weight[mine]), rcond=None)
        assert (lines["y"].alpha[r], lines["y"].beta[r, 0]) == pytest.approx(tuple(want))
    for r, a in enumerate(states["a"]):
        mine = (table["a"] == a).to_numpy()
        assert lines["x"].alpha[r] == pytest.approx(np.average(table["x"][mine], weights=weight[mine]))


def test_a_number_that_no_row_has_with_its_parents():
    table = rows()
    table.loc[table.index[:20], "x"] = np.nan
    table.loc[table.index[20:], "y"] = np.nan
    found = count_mixed(DAG, table, ["y", "x"], {})
    with pytest.raises(TableError, match="no row has 'y' and all of its parents"):
        regressions_of(found, {"a": ("a0", "a1"), "b": ("b0", "b1", "b2")}, Smoothing())
