"""posteriori explain: the row that was meant, the reasons that Python gives."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import posteriori as po
from posteriori.cli.explain import the_row


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
