"""What users say and are told: findings in every form, cases by their states, factors as tables."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import BadValue, TableError, UnknownColumn, UnknownValue
from posteriori.network.findings import (
    Factor,
    Not,
    case_table,
    code_of,
    coded,
    declared,
    findings,
    labelled,
    read_cases,
    unknown,
)

INDEX, STATES = {"a": 0, "b": 1}, {"a": ("lo", "mid", "hi"), "b": (0, 1)}


@pytest.mark.parametrize(
    ("finding", "wanted"),
    [
        ("mid", [0, 1, 0]), (Not("mid"), [1, 0, 1]), (Not("lo", "hi"), [0, 1, 0]), ({"not": "lo"}, [0, 1, 1]),
        ({"not": ["lo", "mid"]}, [0, 0, 1]), ({"not": ("lo",)}, [0, 1, 1]), ({"not": {"hi"}}, [1, 1, 0]),
        ({"hi": 0.5, "lo": 0, "mid": 2}, [0, 2, 0.5]), ({"hi": np.float32(0.5), "lo": 0, "mid": np.int64(2)}, [0, 2, 0.5]),
    ],
)  # fmt: skip
def test_findings_are_vectors(finding, wanted):
    assert findings({"a": finding}, INDEX, STATES)[0].tolist() == wanted


def test_nothing_known_is_no_finding():
    nothing = {"a": None, "b": float("nan")}
    assert findings(nothing, INDEX, STATES) == {}
    assert all(map(unknown, (None, np.nan, pd.NA, pd.NaT)))
    assert not any(map(unknown, (0, "", "nan", False)))
    assert findings({"b": 1}, INDEX, STATES)[1].tolist() == [0, 1]
    odd = {"x": ("not", "other")}
    assert findings({"x": {"not": 1.0, "other": 2.0}}, {"x": 0}, odd)[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("evidence", "error", "said"),
    [
        ([("a", "lo")], BadValue, "evidence is a mapping"), ({"c": "lo"}, UnknownColumn, "no node 'c'"),
        ({"a": "low"}, UnknownValue, "'a' has no state 'low'; did you mean 'lo'"),
        ({"a": {"lo": 1, "hi": 1}}, BadValue, "names every state once; missing or doubled: 'mid'"),
        ({"a": {"lo": 1, "mid": -1, "hi": 1}}, BadValue, "from 0 up, got -1"),
        ({"a": {"lo": 1, "mid": np.inf, "hi": 1}}, BadValue, "finite number"),
        ({"a": {"lo": 1, "mid": "x", "hi": 1}}, BadValue, "finite number"),
        ({"a": {"lo": 1, "mid": np.nan, "hi": 1}}, BadValue, "finite number"),
        ({"a": {"not": "x"}}, UnknownValue, "no state 'x'"),
    ],
)  # fmt: skip
def test_findings_that_are_none(evidence, error, said):
    with pytest.raises(error, match=said.replace("'mid'", ".?mid")):
        findings(evidence, INDEX, STATES)


def test_states_by_value_or_by_text():
    assert code_of(1, ("0", "1"), "x") == 1
    assert code_of("1", (0, 1), "x") == 1
    assert code_of(1.0, ("0", "1"), "x") == 1
    assert code_of(True, ("False", "True"), "x") == 1
    for state, states in ((1.5, ("1", "2")), ([1], (1,)), ("x", (1,)), ("1", (1, "1.0"))):
        if state == "1":
            assert code_of(state, states, "x") == 0
        else:
            with pytest.raises(UnknownValue):
                code_of(state, states, "x")
    with pytest.raises(BadValue, match="at least one state"):
        Not()
    assert Not("a", "b") == Not("b", "a")
    assert hash(Not("a", "b")) == hash(Not("b", "a"))
    assert Not("a") != "a"
    assert repr(Not("a", 1)) == "Not('a', 1)"
    assert labelled(("x", "y"), np.array([1, 0])).tolist() == ["y", "x"]


@given(st.lists(st.sampled_from(["lo", "mid", "hi", None]), min_size=1, max_size=6), st.data())
def test_cases_come_back(cells, data):
    more = data.draw(st.lists(st.sampled_from([0, 1]), min_size=len(cells), max_size=len(cells)))
    place = {"lo": 0, "mid": 1, "hi": 2, None: -1}
    table = {"b": more, "a": np.array(cells, dtype=object)}
    codes = read_cases(table, INDEX, STATES)
    assert codes.tolist() == [[place[c], m] for c, m in zip(cells, more)]
    assert read_cases(table, INDEX, STATES, frozenset("a"))[:, 0].tolist() == [-1] * len(cells)
    back = case_table(codes, STATES)
    assert read_cases(back, INDEX, STATES).tolist() == codes.tolist()
    assert list(back["a"].cat.categories) == ["lo", "mid", "hi"]
    values, found = coded("a", np.array(cells, dtype=object))
    assert [None if c < 0 else values[c] for c in found] == cells
    assert list(values) == sorted({c for c in cells if c is not None})


def test_cases_that_are_none():
    with pytest.raises(UnknownColumn, match="column 'aa' is no node; did you mean 'a'"):
        read_cases({"aa": ["lo"]}, INDEX, STATES)
    with pytest.raises(UnknownValue, match="column 'a', row 2: 'a' has no state 'xx'"):
        read_cases({"a": ["lo", "hi", "xx", "xx"]}, INDEX, STATES)
    with pytest.raises(TableError, match="needs column names"):
        read_cases(np.zeros((2, 2)), INDEX, STATES)
    assert read_cases({"a": []}, INDEX, STATES).shape == (0, 2)


def test_declared_categories():
    kind = pd.CategoricalDtype(["z", "y"])
    frame = pd.DataFrame({"p": pd.Categorical(["z"], dtype=kind), "q": pd.Categorical(["y"], dtype=kind), "r": [1.0]})
    assert declared(frame) == {"p": ("z", "y"), "q": ("z", "y")}
    enum = pl.DataFrame({"p": pl.Series(["b"], dtype=pl.Enum(["b", "a"])), "q": [1]})
    assert declared(enum) == {"p": ("b", "a")}
    assert declared(enum.lazy().collect()) == {"p": ("b", "a")}
    assert declared({"p": ["b"]}) == {}
    assert declared(np.zeros((2, 2))) == {}


@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.integers(0, 100))
def test_a_factor_is_its_table(sizes, seed):
    names = "xyz"[: len(sizes)]
    states = {n: tuple(f"{n}{i}" for i in range(s)) for n, s in zip(names, sizes)}
    values = np.random.default_rng(seed).random(sizes)
    f = Factor(tuple(names), states, values.ravel())
    frame = f.to_frame()
    for r, at in enumerate(itertools.product(*map(range, sizes))):
        key = tuple(states[n][i] for n, i in zip(names, at))
        assert f[key] == f[dict(zip(names, key))] == values[at] == frame["p"][r]
        assert tuple(frame.iloc[r, :-1]) == key
    if len(names) == 1:
        assert f["x0"] == f[("x0",)] == values[0]
    with pytest.raises(ValueError, match="read-only"):
        f.values[...] = 1
    with pytest.raises(UnknownColumn, match="no variable 'w'"):
        f[{"w": 1}]
    with pytest.raises(UnknownColumn, match="no state for"):
        f[{}]
    with pytest.raises(UnknownValue, match="one state for each" if len(names) > 1 else "no state"):
        f[("x0",) * 4]
    assert "<table" in f._repr_html_()


def test_a_factor_of_more_axes_than_an_array_has():
    names = tuple(f"n{i}" for i in range(70))
    states = {n: ("only",) for n in names} | {"n69": ("u", "v")}
    f = Factor(names, states, np.array([0.25, 0.75]))
    assert f[("only",) * 69 + ("v",)] == 0.75
    assert f.to_frame().shape == (2, 71)


def test_what_is_not_near_is_only_listed():
    for state, said in (("low", r"'low'; did you mean 'lo'\? states"), ("zzz", r"'zzz'\. states: 'lo', 'mid', 'hi'")):
        with pytest.raises(UnknownValue, match=f"'a' has no state {said}"):
            code_of(state, STATES["a"], "a")
    with pytest.raises(UnknownColumn, match=r"column 'zzz' is no node\. nodes: 'a', 'b'"):
        read_cases({"zzz": ["lo"]}, INDEX, STATES)
    f = Factor(("speed", "b"), {"speed": ("u",), "b": ("v", "w")}, np.array([0.25, 0.75]))
    with pytest.raises(UnknownColumn, match=r"no variable 'sped'; did you mean 'speed'\? variables: 'speed', 'b'"):
        f[{"sped": "u", "b": "v"}]
    with pytest.raises(UnknownColumn, match=r"no variable 'zz'\. variables"):
        f[{"zz": "u", "speed": "u", "b": "v"}]
    with pytest.raises(UnknownColumn, match=r"no state for 'b'\. variables"):
        f[{"speed": "u"}]


def test_states_with_one_text_are_not_told_by_it():
    assert code_of("1", (1, True), "x") == 0  # the texts "1" and "True"
    with pytest.raises(UnknownValue):
        code_of("1", (1, 1.5, Same()), "x")
    assert code_of(1, (1, 1.5, Same()), "x") == 0


class Same:
    def __str__(self) -> str:
        return "1"


def test_a_factor_has_axes_as_long_as_an_array_can():
    for n, shape in ((64, (1,) * 63 + (2,)), (65, (2,))):
        names = tuple(f"n{i}" for i in range(n))
        states = {v: ("only",) for v in names} | {names[-1]: ("u", "v")}
        assert Factor(names, states, np.array([0.25, 0.75])).values.shape == shape


def test_a_state_may_be_a_tuple():
    f = Factor(("t",), {"t": (("u", 1), ("v", 2))}, np.array([0.25, 0.75]))
    assert f[("v", 2)] == f[(("v", 2),)] == f[{"t": ("v", 2)}] == 0.75
    assert f.to_frame()["t"].tolist() == [("u", 1), ("v", 2)]
    assert labelled((("u", 1), ("v", 2)), np.array([1])).tolist() == [("v", 2)]


def test_cases_of_one_kind_share_it_and_others_do_not():
    states = {"a": (0, 1), "b": (False, True), "c": (0, 1)}
    table = case_table(np.array([[0, 1, -1], [1, 0, 1]]), states)
    assert table["a"].dtype is table["c"].dtype
    assert [list(table[n].cat.categories) for n in "abc"] == [[0, 1], [False, True], [0, 1]]
    assert table["b"].tolist() == [True, False]
    assert table["c"].isna().tolist() == [True, False]
    assert case_table(np.zeros((0, 1), np.int32), {"a": ("x",)}).shape == (0, 1)


def test_no_column_is_no_case():
    with pytest.raises(TableError, match="at least one column"):
        read_cases(pd.DataFrame(index=range(3)), INDEX, STATES)
