"""query, structure and explain."""

from __future__ import annotations

import json

import pytest

import posteriori as po


@pytest.fixture
def asia(tmp_path):
    path = tmp_path / "asia.bif"
    po.networks.asia().write(path)
    return path


def test_query_draws_what_the_network_says(run, asia):
    done = run("query", asia, "-e", "xray=yes", "-t", "lung", "--next")
    assert done.exit_code == 0, done.output
    assert "48.87%" in done.stdout
    assert "ask next: either" in done.stdout
    told = json.loads(run("query", asia, "-e", "xray=yes", "--json").stdout)
    assert told["nodes"]["lung"]["yes"] == pytest.approx(0.48871, abs=1e-5)
    assert run("query", asia).exit_code == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["-e", "xry=yes"], 4, "did you mean 'xray'"),
        (["-e", "xray=ye"], 4, "did you mean 'yes'"),
        (["-e", "xray"], 2, "node=state"),
        (["-t", "lng"], 4, "did you mean 'lung'"),
        (["--next"], 2, "--target"),
        (["-e", "either=no", "-e", "lung=yes"], 5, ""),
    ],
)
def test_wrong_questions_are_one_line(run, asia, words, code, said):
    done = run("query", asia, *words)
    assert (done.exit_code, len(done.stderr.splitlines())) == (code, 1), done.output
    assert said in done.stderr


def test_structure_draws_and_saves_a_network(run, data, tmp_path):
    svg, dot, bif = tmp_path / "s.svg", tmp_path / "s.dot", tmp_path / "s.bif"
    done = run("structure", data, "--svg", svg, "--dot", dot, "-o", bif)
    assert done.exit_code == 0, done.output
    assert svg.read_text().startswith("<svg")
    assert dot.read_text().startswith("digraph {")
    assert run("query", bif, "-t", "class").exit_code == 0


def test_explain_says_what_each_attribute_adds(run, data, model):
    done = run("explain", model, data, "--row", 7)
    assert done.exit_code == 0, done.output
    assert "(prior)" in done.stdout
    told = json.loads(run("explain", model, data, "--row", 7, "--json").stdout)
    table = po.read(data, target="class")
    p = po.load(model).predict_proba(table.X)[6]
    assert told["posterior"]["yes"] == pytest.approx(p[1])
    parts = told["prior"] + sum(part["log_odds"] for part in told["parts"]) + told["together"]
    assert parts == pytest.approx(told["log_odds"])


def test_explain_of_a_row_or_a_class_that_is_not_there(run, data, model):
    assert run("explain", model, data, "--row", 81).exit_code == 4
    assert "did you mean 'yes'" in run("explain", model, data, "--class", "yess").stderr
