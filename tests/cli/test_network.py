"""query, structure and explain."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
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


@pytest.fixture
def cut(run, tmp_path):
    """A trained network over a number that was cut, and a date that was."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    days = pd.Timestamp("2020-01-10") + pd.to_timedelta(rng.integers(0, 60, 200) + 90 * y, unit="D")
    frame = pd.DataFrame({"x": rng.normal(3 * y), "d": days.strftime("%Y-%m-%d"), "class": np.array(["no", "yes"])[y]})
    frame.to_csv(tmp_path / "cut.csv", index=False)
    path = tmp_path / "net.posteriori"
    assert run("train", tmp_path / "cut.csv", "-t", "class", "-m", "network", "-o", path, "-q").exit_code == 0
    return path


def test_states_of_a_number_are_ranges_and_a_number_falls_into_its_bin(run, cut):
    model = po.load(cut)
    (cuts,) = (c for n, c in model.cuts_.items() if n == "x")
    assert len(cuts)
    told = json.loads(run("query", cut, "--json").stdout)
    assert next(iter(told["nodes"]["x"])) == f"< {cuts[0]:.5g}"
    assert next(iter(told["nodes"]["d"])).startswith("< 2020-0")
    assert told["nodes"]["x"] == pytest.approx(dict(zip(told["nodes"]["x"], model.net_.marginals({})["x"].values())))
    for value in (-50.0, float(cuts[0]), float(np.nextafter(cuts[0], -np.inf)), 50.0):
        code = int((cuts <= value).sum())
        found = json.loads(run("query", cut, "-e", f"x={value!r}", "--json").stdout)
        assert found["evidence"]["x"] == list(told["nodes"]["x"])[code]
        want = model.net_.marginals({"x": code})["class"]
        assert found["nodes"]["class"] == pytest.approx({str(s): p for s, p in want.items()})
        again = json.loads(run("query", cut, "-e", f"x={found['evidence']['x']}", "--json").stdout)
        assert again == found
    assert json.loads(run("query", cut, "-e", "d=2020-01-11", "--json").stdout)["evidence"]["d"].startswith("< 2020")
    shown = run("query", cut).stdout
    assert f"≥ {cuts[-1]:.5g}" in shown


@pytest.mark.parametrize("told", ["x=abc", "x=nan", "x=inf", "x=", "d=soon", "d=2020-02-30"])
def test_what_falls_into_no_bin_is_one_line(run, cut, told):
    done = run("query", cut, "-e", told)
    assert (done.exit_code, len(done.stderr.splitlines())) == (4, 1), done.output
    assert "takes a" in done.stderr


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


def test_structure_of_dates_ids_and_texts(run, tmp_path):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 200)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 500, 200), unit="D")
    frame = pd.DataFrame(
        {"name": [f"n{i}" for i in range(200)], "when": days.strftime("%Y-%m-%d"), "a": a, "b": a ^ (a & 0)}
    )
    path, out = tmp_path / "a table.csv", tmp_path / "the net.posteriori"
    frame.assign(same=1).to_csv(path, index=False)
    done = run("structure", path, "-o", out)
    assert done.exit_code == 0, done.output
    assert "name: left out" in done.stdout
    assert "same: left out, every cell is '1'" in done.stdout
    assert f"posteriori query '{out}'" in done.stdout
    assert set(po.load(out).nodes) == {"when", "a", "b"}
    assert run("structure", "-", input=path.read_text()).exit_code == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["-o", "net.cvs"], 3),
        (["-o", "nowhere/net.bif"], 6),
        (["--svg", "x.svg", "--dot", "x.svg"], 6),
        (["--score", "bim"], 2),
    ],
)
def test_outputs_of_structure_are_refused_before_the_work(run, data, tmp_path, monkeypatch, words, code):
    monkeypatch.chdir(tmp_path)
    if words[0] != "--score":
        monkeypatch.setattr("posteriori.structure.search.learn_structure", None)  # the work is never begun
    done = run("structure", data, *words)
    assert done.exit_code == code, done.output
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.csv"]
