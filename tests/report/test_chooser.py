"""The section in which a case is decided: the data of the page is the model, choices begin unknown."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.explain.whatif import Attribute, WhatIf, what_if
from posteriori.report import chooser
from posteriori.report.chooser import agreements
from posteriori.report.evidence import gather
from posteriori.report.markup import render


def evidence(model=None, K=3, loss=None, reject=None, d=0):
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.arange(K), rng.integers(0, K, 90 - K)])
    X = pd.DataFrame(
        {"sky": np.array(["blue", "grey", "red"])[(codes + rng.integers(0, 2, 90)) % 3], "warm": rng.normal(codes)}
    )
    for j in range(d):
        X[f"more{j}"] = np.where(rng.random(90) < 0.7, codes, 0).astype(str)
    y = np.array([f"c{k}" for k in range(K)])[codes]
    model = (po.NaiveBayes(density="gaussian") if model is None else model).fit(X, y)
    if loss is not None:
        actions = [f"c{k}" if k < K else f"more {k}" for k in range(len(loss))]
        loss = po.Loss(loss, classes=[f"c{k}" for k in range(K)], actions=actions)
    return gather(model, X, y, np.full((90, K), 1 / K), loss, reject, True, 3, 0)


def block(text):
    return json.loads(re.search(r'id="model">(.*)</script>', text, re.S)[1])


@pytest.mark.parametrize("reject", [None, 0.4])
def test_the_page_s_data_is_the_model(reject):
    e = evidence(loss=[[0, 1, 2], [3, 0, 4], [5, 6, 0]], reject=reject)
    text, data = chooser.decide(e)
    found = block(data)
    table = what_if(e.inner, with_rows=True)
    assert found["classes"] == found["actions"] == ["c0", "c1", "c2"]
    assert found["prior"] == pytest.approx(table.log_prior.tolist())
    assert found["loss"] == [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    assert found["reject"] == reject
    for got, a in zip(found["attributes"], table.attributes, strict=True):
        assert got["name"] == a.name
        assert got["parent"] == -1
        assert got["values"] == len(a.labels)
        assert got["number"] == (a.numbers is not None)
        assert got["table"] == pytest.approx(a.log_p.ravel().tolist(), rel=1e-12)
    losses = [float(v) for v in re.findall(r'class="loss"[^>]*value="([^"]*)"', text)]
    assert losses == [0, 1, 2, 3, 0, 4, 5, 6, 0]
    price = re.search(r'id="reject"[^>]*value="([^"]*)"', text)[1]
    assert price == ("" if reject is None else "0.4")


def test_values_are_selects_and_numbers_sliders():
    e = evidence()
    text, _ = chooser.decide(e)
    table = what_if(e.inner, with_rows=True)
    for j, a in enumerate(table.attributes):
        if a.numbers is None:
            options = re.search(rf'<select id="a{j}".*?</select>', text)[0]
            assert re.findall(r'value="(\d*)"', options) == ["", *map(str, range(len(a.labels)))]
        else:
            slider = re.search(rf'<input type="range" id="a{j}"[^>]*>', text)[0]
            last = len(a.numbers) - 1
            assert f'max="{last}"' in slider
            at = int(re.search(r'value="(\d+)"', slider)[1])
            assert at == (last // 2 if a.share is None else int(np.flatnonzero(np.cumsum(a.share) >= 0.5)[0]))
    skewed = table.attributes[0].__class__(
        "x", ("0", "1", "2"), np.arange(3.0), np.zeros((3, 2)), share=np.array([0.1, 0.3, 0.6])
    )
    assert 'value="2"' in render("chooser", "control", 0, skewed, chooser._middle(skewed))
    some = table.attributes[0].__class__("x", ("u", None, "w"), None, np.zeros((3, 2)))
    hidden = render("chooser", "control", 0, some, 0)
    assert hidden.count("<option") == 3
    assert 'value="1"' not in hidden


def test_nomograms_of_the_commonest_classes():
    two, _ = chooser.decide(evidence(K=2))
    assert two.count('class="pair-drawing"') == 1
    assert 'id="pick"' not in two
    assert '"nomogram_of" data-a="[&#34;c1&#34;, &#34;c0&#34;]"' in two
    e = evidence(K=7)
    many, _ = chooser.decide(e)
    assert many.count('class="pair-drawing"') == 5
    assert many.count("<svg") >= 10
    assert len(re.findall(r'<option value="n\d', many)) == 5
    assert len(re.findall(r'id="n\d" hidden', many)) == 4
    assert 'class="loss"' not in many  # so many losses are not shown
    count = np.bincount(e.y)
    pairs = re.findall(r'"nomogram_of" data-a="\[&#34;c(\d)&#34;, &#34;c(\d)&#34;', many)
    for t, a in pairs:
        others = [k for k in range(7) if k != int(t)]
        assert count[int(a)] == max(count[others])
    wide, _ = chooser.decide(evidence(d=20))
    assert "nomogram_rest" in wide
    assert "nomogram_rest" not in two


def test_models_that_do_not_add_up():
    forest, data = chooser.decide(evidence(po.TAN()))
    assert "stand_in" not in forest or block(data)
    assert block(data)["attributes"]
    other, told = chooser.decide(evidence(po.AODE()))
    assert "stand_in" in other
    assert block(told)["prior"]
    one = po.NaiveBayes().fit({"a": ["u"] * 4}, ["p"] * 4)
    alone, nothing = chooser.decide(gather(one, {"a": ["u"] * 4}, ["p"] * 4, np.ones((4, 1)), None, None, True, 2, 0))
    assert nothing == ""
    assert "not_additive" in alone
    silent = po.NaiveBayes().fit({"a": ["u"] * 4}, ["p", "q"] * 2)
    told, nothing = chooser.decide(
        gather(silent, {"a": ["u"] * 4}, ["p", "q"] * 2, np.full((4, 2), 0.5), None, None, True, 2, 0)
    )
    assert "nothing_to_choose" in told or nothing


def test_sentences_that_list_columns():
    assert chooser._some(()) == ""
    assert "+" not in chooser._some(tuple(f"c{i}" for i in range(8)))
    many = chooser._some(tuple(f"c{i}" for i in range(11)))
    assert "c7, … +3" in many
    assert "c8" not in many
    assert chooser._numbers(np.array([1.0, -np.inf, 1 / 3])) == [1.0, None, pytest.approx(1 / 3)]
    assert chooser._value(None) == ""
    assert chooser._value(0.1) == "0.1"


def test_the_hour_goes_with_a_time_but_not_with_a_day():
    dates = {"t": {"hour": "t.hour", "weekday": "t.weekday"}}
    hour = Attribute("t.hour", tuple(map(str, range(24))), None, np.zeros((24, 2)))
    weekday = Attribute("t.weekday", ("Mon", None, "Fri"), None, np.zeros((3, 2)))
    for numbers, hours in (
        (np.array([18271.0, 18271.25, 18272.5]), [[0], [6], [12]]),
        (np.array([18271.0, 18272.0]), None),
    ):
        t = Attribute("t", tuple("abc"[: len(numbers)]), numbers, np.zeros((len(numbers), 2)), dates=True)
        found = agreements(WhatIf((0, 1), np.log([0.5, 0.5]), (t, hour, weekday)), dates)
        assert found.get(1) == (None if hours is None else (0, hours))
        assert found[2] == (0, [[2], [2], []] if hours else [[2], []])  # a Friday, then a Saturday that no choice has


@pytest.mark.parametrize(("K", "actions", "shown"), [(3, 6, True), (3, 7, False), (7, 3, False), (6, 6, True)])
def test_losses_can_be_changed_where_classes_and_actions_are_few(K, actions, shown):
    text, _ = chooser.decide(evidence(K=K, loss=1 - np.eye(actions, K)))
    assert ('class="losses"' in text) == shown
    assert text.count('class="loss"') == K * actions * shown
