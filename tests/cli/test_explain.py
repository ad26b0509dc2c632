"""posteriori explain: the row that was meant, the reasons that Python gives."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import posteriori as po
from posteriori.cli import stream
from posteriori.cli.explain import _class, _one, _part, the_row
from posteriori.errors import BadValue, UnknownValue


@pytest.mark.parametrize("row", [1, 7, 80])
def test_the_reasons_are_python_s(run, data, model, row):
    done = run("explain", model, data, "--row", row, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    frame = pd.read_csv(data).drop(columns="class")
    why = po.load(model).explain(frame.iloc[row - 1].to_dict())
    assert (told["decision"], told["class"], told["against"]) == (why.decision, why.target, why.against)
    assert told["log_odds"] == pytest.approx(why.log_odds)
    assert [p["column"] for p in told["parts"]] == [p.column for p in why.parts]
    assert [p["log_odds"] for p in told["parts"]] == pytest.approx([p.log_odds for p in why.parts])
    assert told["posterior"] == pytest.approx({str(k): v for k, v in why.posterior.items()})
    assert [c["decision"] for c in told["changes"]] == [c.decision for c in why.changes]


def test_a_row_that_is_not_there_and_a_class_that_is_none(run, data, model):
    done = run("explain", model, data, "--row", 81)
    assert done.exit_code == 4
    assert "80 rows" in done.stderr
    done = run("explain", model, data, "--class", "yess")
    assert done.exit_code == 5 or done.exit_code == 4
    assert "did you mean 'yes'" in done.stderr


def test_the_class_that_is_told(run, data, model):
    told = json.loads(run("explain", model, data, "--class", "no", "--against", "yes", "--json").stdout)
    turned = json.loads(run("explain", model, data, "--class", "yes", "--against", "no", "--json").stdout)
    assert told["log_odds"] == pytest.approx(-turned["log_odds"])


def test_rows_come_one_by_one(data, model):
    frame = pd.read_csv(data)
    case = the_row(po.load(model), str(data), 5)
    assert case["a"] == pytest.approx(frame["a"][4])
    assert case["c"] == frame["c"][4]
    assert "class" not in case


def test_a_long_text_is_cut_beside_its_bar():
    X = {"note": ["win " * 200, "see you", "win", "cash"] * 5, "b": ["u", "v"] * 10}
    model = po.NaiveBayes(kinds={"note": "text", "b": "categorical"}).fit(X, [1, 0, 1, 1] * 5)
    text = str(model.explain({"note": "win " * 200, "b": "u"}))
    assert max(map(len, text.splitlines()[1:])) < 140


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_reasons_fit_the_terminal(run, data, model, width):
    lines = run("explain", model, data, "--row", 2, env={"COLUMNS": str(width)}).stdout.splitlines()
    assert max(len(row) for row in lines if "(prior)" in row or " = " in row) <= width


def test_the_last_row_of_a_batch_and_the_first_of_the_next(data, model, monkeypatch):
    monkeypatch.setattr(stream, "BATCH", 7)
    frame = pd.read_csv(data)
    for row in (1, 2, 79, 80):
        assert the_row(po.load(model), str(data), row)["a"] == pytest.approx(frame["a"][row - 1])
    with pytest.raises(BadValue, match="has 80 rows; there is no row 81"):
        the_row(po.load(model), str(data), 81)


def test_a_cell_is_one_of_python_s_own():
    for cell, value in [
        (np.float64(1.5), 1.5),
        (np.nan, None),
        (pa.scalar("u"), "u"),
        (pa.scalar(None), None),
        ("v", "v"),
        (3, 3),
    ]:
        found = _one(cell)
        assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize("of", [["--class", "yes"], ["--class", "no"], []])
@pytest.mark.parametrize("against", ["no", "yes"])
def test_a_class_is_never_weighed_against_itself(run, data, model, of, against):
    weighed = json.loads(run("explain", model, data, *of, "--json").stdout)["class"]
    done = run("explain", model, data, *of, "--against", against)
    assert done.exit_code == (2 if weighed == against else 0)
    if weighed == against:
        other = {"no": "yes", "yes": "no"}[against]
        most = "" if of else ", the most probable class here,"
        assert done.stderr == (
            f"error: {against!r}{most} cannot be weighed against itself: give another class, one of {other!r}\n"
        )


def test_a_class_is_told_by_its_text():
    classes = {"1": 1, "2": 2}
    assert _class(None, classes) is None
    assert _class("2", classes) == 2
    with pytest.raises(UnknownValue, match=r"no class '3'. Classes: '1', '2'"):
        _class("3", classes)


def test_words_of_a_text_are_told_where_there_are_any():
    part = SimpleNamespace(column="t", value="a b", log_odds=0.5, words={"a": 0.25, "b": 0.25})
    assert _part(part) == {"column": "t", "value": "a b", "log_odds": 0.5, "words": {"a": 0.25, "b": 0.25}}
    assert _part(SimpleNamespace(column="t", value=1, log_odds=0.5, words={})) == {
        "column": "t",
        "value": 1,
        "log_odds": 0.5,
    }
