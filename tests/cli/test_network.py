"""query, structure and explain."""

from __future__ import annotations

import io
import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.cli.network import Bins, _bars, _bin_of, _cut_numbers, _say_next, _state, to_dot, told_evidence
from posteriori.cli.render import Out
from posteriori.errors import BadParameter, BadValue, UnknownColumn
from posteriori.table.frame import Table
from posteriori.table.schema import Column, Schema


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


def test_a_trained_network_is_asked_by_the_names_of_the_file(run, tmp_path):
    days = pd.Timestamp("2020-01-10") + pd.to_timedelta(np.arange(200), unit="D")
    churn = np.where(days.day_of_week < 2, "yes", "no")
    pd.DataFrame({"d": days.strftime("%Y-%m-%d"), "churn": churn}).to_csv(tmp_path / "t.csv", index=False)
    net = tmp_path / "t.posteriori"
    assert run("train", tmp_path / "t.csv", "-t", "churn", "-m", "network", "-o", net, "-q").exit_code == 0
    said = json.loads(run("query", net, "-t", "churn", "-e", "d.weekday=Tue", "--json").stdout)
    assert said["evidence"] == {"d.weekday": "Tue"}
    assert said["nodes"]["churn"]["yes"] > 0.9
    assert json.loads(run("query", net, "-t", "churn", "-e", "d.weekday=1", "--json").stdout) == said
    assert "'Mon'" in run("query", net, "-e", "d.weekday=Tues").stderr


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


def test_a_network_of_a_table_with_gaps_has_the_shares_of_its_rows(run, tmp_path):
    """A parent is unknown where the class is mostly 'no': rows without it must not vanish from the class's table."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.7, "no", "yes")
    a = np.where(rng.random(400) < 0.9, np.where(y == "no", "low", "high"), "low").astype(object)
    a[(y == "no") & (rng.random(400) < 0.8)] = None
    b = np.where(rng.random(400) < 0.8, np.where(y == "no", "u", "v"), "u")
    path, bif = tmp_path / "gaps.csv", tmp_path / "gaps.bif"
    pd.DataFrame({"a": a, "b": b, "class": y}).to_csv(path, index=False)
    done = run("structure", path, "-o", bif)
    assert done.exit_code == 0, done.output
    assert f"{pd.isna(a).sum()} cells are missing" in " ".join(done.stdout.split())
    net = po.BayesNet.read(bif)
    assert net.marginals()["class"]["no"] == pytest.approx((y == "no").mean(), abs=0.02)


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
    assert "the time limit has ended the search" in run("structure", path, "--time-limit", "0").output


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


# the functions themselves


def out(width):
    return Out(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)


def said(console):
    return console.file.getvalue().splitlines()


def test_bars_are_eighths_of_a_letter_and_as_wide_as_their_share():
    console = out(80)
    _bars(console, "node", {"yes": 0.5, "no": 0.2, "never": 0.0, "all": 1.0, "a bit": 1 / 240})
    assert [row.rstrip() for row in said(console)] == [
        "node",
        f"  yes   {'█' * 15:30}  50.00%",
        f"  no    {'█' * 6:30}  20.00%",
        f"  never {'':30}   0.00%",
        f"  all   {'█' * 30} 100.00%",
        f"  a bit {'▏':30}   0.42%",
    ]
    marks = {eighths: " ▏▎▍▌▋▊▉"[eighths] for eighths in range(1, 8)}
    console = out(80)
    _bars(console, "node", {str(k): (8 + k) / 240 for k in marks})
    assert [row.split()[1] for row in said(console)[1:]] == ["█" + mark for mark in marks.values()]


@pytest.mark.parametrize(("width", "room"), [(80, 30), (73, 30), (72, 30), (71, 29), (50, 8), (46, 5), (40, 5)])
def test_a_long_state_is_cut_and_a_bar_has_what_room_is_left(width, room):
    console = out(width)
    _bars(console, "node", {"s" * 40: 1.0, "t": 0.0})
    row = said(console)[1]
    assert row.startswith(f"  {'s' * 29}… " + "█" * min(room, width - 33))
    assert row.count("█") == room


def test_what_to_ask_next():
    console = out(80)
    _say_next(console, "lung", {"either": 0.25, **{f"n{i}": 0.125 for i in range(9)}})
    assert said(console) == [
        "",
        "ask next: either (tells 0.2500 nats of lung on average)",
        *(f"or instead: n{i} (0.1250)" for i in range(5)),
    ]
    for worth in ({}, {"either": 0.0}, {"either": 9e-13}):
        console = out(80)
        _say_next(console, "lung", worth)
        assert said(console) == ["", "nothing that could be asked tells more of lung"]
    console = out(80)
    _say_next(console, "lung", {"either": 2e-12})
    assert said(console)[1].startswith("ask next: either")


BINS = {"x": Bins(np.array([1.0, 2.5]), ("< 1", "1 to 2.5", "≥ 2.5"), False)}


def test_a_number_falls_into_the_bin_that_begins_with_it():
    for told, code in [("-3", 0), ("0.999", 0), ("1", 1), ("2.49", 1), ("2.5", 2), ("1e9", 2)]:
        assert _bin_of("x", told, BINS["x"]) == code
    days = Bins(np.array([1.0, 2.5]), ("a", "b", "c"), True)
    for told, code in [("1970-01-01", 0), ("1970-01-02", 1), ("1970-01-03T11:59", 1), ("1970-01-03T12:00", 2)]:
        assert _bin_of("x", told, days) == code
    for bins, told, needed in [
        (BINS["x"], "nan", "a number"),
        (BINS["x"], "", "a number"),
        (days, "seven", "a day, as 2026-11-17,"),
    ]:
        with pytest.raises(BadValue, match=re.escape(f"'x' takes {needed} or one of ")):
            _bin_of("x", told, bins)


def test_states_are_called_by_their_names():
    assert [_state("x", s, BINS) for s in (0, 2, "other")] == ["< 1", "≥ 2.5", "other"]
    assert _state("y", 0, BINS) == "0"


def test_evidence_is_told_by_name():
    net = po.networks.asia()
    assert told_evidence(net, None, {}) == {}
    assert told_evidence(net, ["xray=yes", "smoke=no"], {}) == {"xray": "yes", "smoke": "no"}
    for options, error, text in [
        (["xray"], BadParameter, "Got 'xray' instead"),
        (["xray=yes", "xray=no"], BadParameter, "--evidence tells 'xray' twice"),
        (["xray=maybe"], BadValue, "'xray' has no state 'maybe'; did you mean 'yes'? States: 'yes', 'no'"),
        (["ray=yes"], UnknownColumn, "no node 'ray'; did you mean 'xray'?"),
    ]:
        with pytest.raises(error, match=re.escape(text)):
            told_evidence(net, options, {})


def test_a_query_says_what_is_given_and_shows_the_rest(run, asia):
    lines = run("query", asia, "-e", "xray=yes", "-e", "smoke=no").stdout.splitlines()
    likely = po.networks.asia().probability({"xray": "yes", "smoke": "no"})
    assert lines[0] == f"given xray = yes, smoke = no (probability {likely:.4g})"
    nodes = [row for row in lines[1:] if not row.startswith(" ")]
    assert set(nodes) == {"asia", "tub", "lung", "bronc", "either", "dysp"}
    lines = run("query", asia, "-t", "lung").stdout.splitlines()
    assert [row.split()[0] for row in lines] == ["lung", "yes", "no"]
    told = json.loads(run("query", asia, "-e", "xray=yes", "-t", "lung", "--next", "--json").stdout)
    assert (list(told), list(told["nodes"])) == (["evidence", "probability", "nodes", "next"], ["lung"])
    assert told["evidence"] == {"xray": "yes"}
    assert told["probability"] == pytest.approx(po.networks.asia().probability({"xray": "yes"}))
    assert next(iter(told["next"])) == "either"
    assert "next" not in json.loads(run("query", asia, "--json").stdout)


def test_numbers_are_cut_into_four_bins_and_what_is_missing_stays_so():
    frame = pd.DataFrame(
        {"x": [1.0, 2, 3, 4, None], "c": list("uvuvu"), "when": pd.to_datetime(["2020-01-01"] * 4 + [None])}
    )
    frame["n"] = range(5)
    columns = [Column("x", "numeric"), Column("c", "categorical"), Column("when", "numeric"), Column("n", "count")]
    table = Table(frame, None, Schema(tuple(columns)))
    console = out(200)
    made = _cut_numbers(table, console, False)
    assert made["x"].tolist()[:4] == ["1: up to 1", "2: 1 to 2", "3: 2 to 3", "4: above 3"]
    assert made["c"].tolist() == list("uvuvu")
    assert made["when"].tolist()[:4] == ["1: all"] * 4
    assert made.isna().sum().to_dict() == {"x": 1, "c": 0, "when": 1, "n": 0}
    assert made["n"].tolist()[0] == "1: up to 1"
    assert frame["x"][0] == 1.0  # the table itself is as it was
    assert said(console) == ["cut into four bins of equal share: x, when, n"]
    quiet = out(200)
    _cut_numbers(table, quiet, True)
    assert said(quiet) == []
    for n, more in [(12, ""), (13, ", …")]:
        wide = Table(
            pd.DataFrame({f"x{j}": [1.0, 2.0] for j in range(n)}),
            None,
            Schema(tuple(Column(f"x{j}", "numeric") for j in range(n))),
        )
        console = out(300)
        _cut_numbers(wide, console, False)
        assert said(console) == [f"cut into four bins of equal share: {', '.join(f'x{j}' for j in range(12))}{more}"]


def test_a_graph_for_graphviz():
    dag = SimpleNamespace(nodes=("a", 'b"c', "d\\"), edges=(("a", 'b"c'), ("d\\", "a")))
    assert to_dot(dag) == 'digraph {\n  "a";\n  "b\\"c";\n  "d\\\\";\n  "a" -> "b\\"c";\n  "d\\\\" -> "a";\n}\n'


def test_a_structure_is_said_drawn_and_saved_or_only_saved(run, tmp_path):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 300)
    path, bif = tmp_path / "t.csv", tmp_path / "n.bif"
    pd.DataFrame({"a": a, "b": np.where(rng.random(300) < 0.9, a, 1 - a), "c": rng.integers(0, 3, 300)}).to_csv(
        path, index=False
    )
    done = run("structure", path, "-o", bif, "--dot", tmp_path / "g.dot", "--svg", tmp_path / "g.svg", "--score", "aic")
    lines = done.stdout.splitlines()
    assert lines[0] == f"{path}: 300 rows; 3 nodes, 1 arrow by aic"
    assert sorted(row.split()[0] for row in lines[1:4]) == ["a", "b", "c"]
    assert sum("←" in row for row in lines[1:4]) == 1
    assert all(row.startswith("  ") for row in lines[1:4])
    assert [row.split(" → ")[1] for row in lines[4:6]] == [str(tmp_path / "g.svg"), str(tmp_path / "g.dot")]
    assert lines[6] == f"network → {bif}; next: posteriori query {bif}"
    done = run("structure", path, "-q", "-o", bif, "--dot", tmp_path / "g.dot")
    assert (done.exit_code, done.output) == (0, "")


def test_a_model_without_a_network_is_named(run, model):
    done = run("query", model)
    assert (done.exit_code, done.stderr) == (4, f"error: {model} holds a NaiveBayes, which is no network\n")


def test_a_network_of_numbers_is_refused_by_name(run, tmp_path):
    path = tmp_path / "h.posteriori"
    po.save(po.HybridNet.fit([("a", "x")], {"a": ["u", "v"] * 4, "x": np.arange(8.0)}), path)
    done = run("query", path)
    assert (done.exit_code, done.stdout) == (4, "")
    assert done.stderr == f"error: {path} holds a HybridNet, whose numbers have no states: use it from Python\n"
