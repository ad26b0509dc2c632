"""A row of a table sums to one as far as its digits go."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import InvalidNetwork, PosterioriError
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


SIZES = {"a": ("x", "y"), "b": (0, 1, 2), "c": ("p", "q")}
VALUES = np.arange(1.0, 13.0).reshape(2, 3, 2)


def forms() -> dict[str, object]:
    """The table of c given a and b, in every form that a table has."""
    nested = {a: {b: dict(zip("pq", VALUES[i, j])) for j, b in enumerate(range(3))} for i, a in enumerate("xy")}
    pairs = {(a, b): VALUES[i, j].tolist() for i, a in enumerate("xy") for j, b in enumerate(range(3))}
    index = pd.MultiIndex.from_product([["x", "y"], [0, 1, 2]], names=["a", "b"])
    frame = pd.DataFrame(VALUES.reshape(6, 2), index=index, columns=["p", "q"])
    return {
        "nested": nested,
        "pairs": pairs,
        "rows in any order": dict(reversed(pairs.items())),
        "some of each": {"x": nested["x"], **{k: v for k, v in pairs.items() if k[0] == "y"}},
        "text of a number": {a: {str(b): row for b, row in rows.items()} for a, rows in nested.items()},
        "array": VALUES,
        "rows": VALUES.reshape(6, 2).tolist(),
        "frame": frame,
        "columns turned": frame[["q", "p"]],
        "rows turned": frame.iloc[::-1],
        "levels turned": frame.swaplevel().sort_index(),
        "levels without names": frame.rename_axis([None, None]),
    }


@pytest.mark.parametrize("form", forms())
def test_every_form_is_one_table(form):
    assert file.flat_table("c", forms()[form], ["a", "b"], SIZES).tolist() == list(range(1, 13))


def test_a_table_without_parents():
    for table in ({"q": 0.75, "p": 0.25}, [0.25, 0.75], [[0.25, 0.75]], pd.Series({"q": 0.75, "p": 0.25})):
        assert file.flat_table("c", table, [], SIZES).tolist() == [0.25, 0.75]
    assert file.flat_table("c", {"q": 1}, [], SIZES).tolist() == [0.0, 1.0]  # what is not named has no chance
    assert file.flat_table("c", {"p": float("nan"), "q": 1}, [], SIZES).tolist() == [np.inf, 1.0]
    assert file._row("c", [np.nan, 1.0], SIZES).tolist() == [np.inf, 1.0]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"x": 3, "y": {}}, "'c' needs a mapping over the states of 'b'"),
        (forms()["nested"] | {"y": {}}, "'c' has no row for a=y, b=0"),
        ({("x", 0, 1): [1, 0]}, r"'c' names 3 parent states at \('x', 0, 1\): too many"),
        ({"x": {(0, 1): [1, 0]}}, r"'c' names 2 parent states at \(0, 1\): too many"),
        ({("x", 0): [1, 0, 0]}, "a row of 'c' needs 2 numbers, found 3"),
        ({("x", 0): ["u", "v"]}, r"a row of 'c' needs 2 numbers, found \['u', 'v'\]"),
        ({("x", 0): {"p": "much"}}, "expected a probability in the table of 'c', found 'much'"),
        (np.ones((2, 3)), r"'c' needs the shape \(2, 3, 2\) \(a × b × c\), found \(2, 3\)"),
        (np.ones((3, 2, 2)), r"found \(3, 2, 2\)"),
        ("words", r"'c' is no array of numbers of shape \(2, 3, 2\)"),
        (forms()["frame"].rename(columns={"q": "p"}), "'c' needs one column for each of its 2 states"),
        (forms()["frame"].iloc[:5], "'c' needs 6 rows, found 5"),
        (forms()["frame"].astype(object).replace(3.0, "much"), "'c' holds what is no number"),
        (forms()["frame"].reset_index(drop=True), r"'c' needs one index level for each parent \(a, b\)"),
        (forms()["frame"].iloc[[0, 0, 1, 2, 3, 4]], "'c' gives a row twice"),
    ],
)
def test_tables_that_are_none(table, said):
    with pytest.raises(PosterioriError, match=said):
        file.flat_table("c", table, ["a", "b"], SIZES)


def test_missing_cells_of_a_frame_are_no_probabilities():
    frame = forms()["frame"].copy()
    frame.iloc[2, 1] = None
    assert file.flat_table("c", frame, ["a", "b"], SIZES)[5] == np.inf


@pytest.mark.parametrize(
    ("table", "depth", "states"),
    [
        ({"no": 0.5, "yes": 0.5}, 0, ("no", "yes")),
        ({"r": {"no": 1, "yes": 0}}, 1, ("no", "yes")),
        ({("r", "s"): {"no": 1, "yes": 0}}, 2, ("no", "yes")),
        ({"r": {"s": {"no": 1, "yes": 0}}}, 2, ("no", "yes")),
        ({("r", "s"): [0.2, 0.3, 0.5]}, 2, ("0", "1", "2")),
        ([0.2, 0.3, 0.5], 0, ("0", "1", "2")),
        (np.ones((2, 3, 4)), 2, ("0", "1", "2", "3")),
        (pd.DataFrame([[0.5, 0.5]], columns=["u", "v"]), 0, ("u", "v")),
        (pd.Series([0.5, 0.5], index=["u", "v"]), 0, ("u", "v")),
        (3.0, 0, ()),
    ],
)
def test_states_that_a_table_names(table, depth, states):
    assert file.infer_states("n", table, depth) == states


def test_states_that_no_table_names():
    with pytest.raises(InvalidNetwork, match="the table of 'n' is empty"):
        file.infer_states("n", {}, 1)
    with pytest.raises(InvalidNetwork, match="its rows differ in length"):
        file.infer_states("n", [[1, 2], [3]], 1)
    dag = Dag(["a"])
    assert file.node_states("a", ["u", 1], None, dag) == ("u", 1)
    for given_, said in (([], "'a' has no states"), (["u", "v", "u"], "'a' lists a state twice: 'u', 'v', 'u'")):
        with pytest.raises(InvalidNetwork, match=said):
            file.node_states("a", given_, None, dag)


def test_configurations_as_words_and_as_an_index():
    every = [file.configuration(r, ["b", "a"], SIZES) for r in range(6)]
    assert every == [f"b={b}, a={a}" for b in range(3) for a in "xy"]
    assert file.configuration(0, [], SIZES) == ""
    two = file.configuration_index(["b", "a"], SIZES)
    assert (two.tolist(), list(two.names)) == ([(b, a) for b in range(3) for a in "xy"], ["b", "a"])
    one = file.configuration_index(["a"], SIZES)
    assert (one.tolist(), one.name, one.dtype) == (["x", "y"], "a", object)
    assert file.configuration_index([], SIZES).tolist() == [0]
    pairs = file.configuration_index(["t"], {"t": (("u", 1), ("v", 2))})
    assert pairs.tolist() == [("u", 1), ("v", 2)]
    assert pairs.nlevels == 1


def test_checked_tables_lie_end_to_end_and_cannot_be_written():
    dag = Dag(["a", "c"], [("a", "c")])
    states = {"a": ("x", "y"), "c": ("p", "q", "r")}
    tables = {"a": np.array([0.3, 0.7]), "c": np.array([0.2, 0.3, 0.5, 1.0, 0.0, 0.0])}
    found = checked_tables(tables, dag, states)
    assert {n: t.tolist() for n, t in found.items()} == {n: t.tolist() for n, t in tables.items()}
    assert found["a"].base is found["c"].base
    with pytest.raises(ValueError, match="read-only"):
        found["c"][0] = 1.0
    bad = {**tables, "c": np.array([0.2, 0.3, 0.5, 1.2, -0.2, 0.0])}
    with pytest.raises(
        InvalidNetwork, match=r"the row of 'c' for a=y holds what is no probability \(p: 1.2, q: -0.2, r: 0\)"
    ):
        checked_tables(bad, dag, states)
    many = {"a": tuple(range(12))}
    with pytest.raises(InvalidNetwork, match=r"'a' sums to 6, not 1 \(0: 0.5, .* 7: 0.5\)"):  # eight are shown
        checked_tables({"a": np.full(12, 0.5)}, Dag(["a"]), many)


@pytest.mark.parametrize(("off", "passes"), [(1e-3, True), (-1e-3, True), (1.0001e-3, False), (-1.0001e-3, False)])
def test_a_row_is_off_by_a_thousandth_at_most(off, passes):
    row = np.array([0.25, 0.75 + off])
    if passes:
        check_rows("rain", row, [], STATES)
    else:
        with pytest.raises(InvalidNetwork, match="'rain' sums to"):
            check_rows("rain", row, [], STATES)


def test_graphs_states_and_tables_as_users_give_them():
    dag = Dag(["a", "b"], [("a", "b")])
    assert file.as_dag(dag) is dag
    assert file.as_dag([("b", "c"), ("a", "c")]).nodes == ("b", "c", "a")
    for bad in (3, [("a", "b", "c")], ["a"]):
        with pytest.raises(InvalidNetwork, match=r"expected a Dag or arrows \(parent, child\), got"):
            file.as_dag(bad)
    assert file.as_states(None) == {}
    assert file.as_states({"a": ["u"]}) == {"a": ["u"]}
    with pytest.raises(InvalidNetwork, match="states is a mapping from node to states, got list"):
        file.as_states([])
    for bad in ("uv", 3):
        with pytest.raises(InvalidNetwork, match=f"the states of 'a' are a list, got {bad!r}"):
            file.as_states({"a": bad})
    assert file.graph_of([("a", "b")], {"b": 1, "a": 1}).nodes == ("b", "a")
    assert file.graph_of(dag, {"b": 1, "a": 1}) is dag
    for edges, tables, said in (
        (dag, {"a": 1, "bb": 1}, "no table for 'b'; did you mean 'bb'"),
        (dag, {"a": 1, "zzz": 1}, "no table for 'b'$"),
        (dag, {"a": 1, "b": 1, "aa": 1}, "a table for 'aa', which is no node; did you mean 'a'"),
        ([], {}, "at least one node"),
        (dag, [1, 2], "tables is a mapping from node to table, got list"),
    ):
        with pytest.raises(InvalidNetwork, match=said):
            file.graph_of(edges, tables)
