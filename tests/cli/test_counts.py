"""learn, forget, merge, inspect: counts come and go exactly, and a file changes whole or not at all."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.cli.models import _learned, _say_network, _say_schema, _some, whats_new
from posteriori.cli.render import Out
from posteriori.drafts import changing
from posteriori.errors import counted
from posteriori.table.schema import Column, Schema


def half(path, frame):
    frame.to_csv(path, index=False)
    return path


def test_learning_and_forgetting_is_never_having_learned(run, data, model, tmp_path):
    X = po.read(data, target="class").X
    before = po.load(model).predict_proba(X)
    more = half(tmp_path / "more.csv", pd.read_csv(data)[:30])
    done = run("learn", model, more)
    assert done.exit_code == 0, done.output
    assert "30 rows learned, 110 in all" in done.stdout
    assert not np.allclose(po.load(model).predict_proba(X), before)
    assert "30 rows forgotten, 80 in all" in run("forget", model, more).stdout
    assert np.allclose(po.load(model).predict_proba(X), before, rtol=1e-9)


def test_learn_names_what_is_new_and_nothing_else(run, data, model, tmp_path):
    known = pd.read_csv(data)
    assert "new " not in run("learn", model, data, "-o", tmp_path / "n.posteriori").stdout
    strange = known[:9].copy()
    strange.loc[0, "class"], strange.loc[1, "class"] = "Yes", "perhaps"
    strange.loc[:7, "c"] = ["Z", "v1", "v2", "v3", "v4", "v5", "v6", "x"]
    strange.loc[0, "stage"] = 9
    more = half(tmp_path / "more.csv", strange)
    said = run("learn", model, more, "-o", tmp_path / "n.posteriori").stdout.splitlines()
    assert said[:-1] == [
        "new class: 'Yes' (did you mean 'yes'?)",
        "new class: 'perhaps'",
        "new in 'c': 'Z' (did you mean 'z'?), 'v1', 'v2', 'v3', 'v4', … (7 in all)",
        "new in 'stage': 9",
    ]
    assert run("learn", model, more, "-o", tmp_path / "n.posteriori", "-q").stdout == ""
    assert "new " not in run("forget", tmp_path / "n.posteriori", more).stdout


def test_new_words_of_a_text_are_no_news():
    old, new = (Schema((Column("t", "text", words),), ("a",)) for words in (("x",), ("x", "y")))
    assert whats_new(old, new) == []


@pytest.mark.skipif(os.name == "nt", reason="no flock there: the second says that the model was changed")
def test_two_that_learn_at_once_both_learn(data, model):
    main = [sys.executable, "-c", "from posteriori.cli.main import main; main()", "learn", str(model), str(data)]
    with changing(model, pytest.fail):  # both wait, whichever comes first
        running = [subprocess.Popen(main, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        for process in running:
            assert process.stderr.readline().endswith("another process is changing it; waiting\n")
    for process in running:
        process.communicate(timeout=60)
    assert [process.returncode for process in running] == [0, 0]
    assert po.load(model).class_count_.sum() == 3 * 80


def test_forgetting_what_was_not_learned_changes_nothing(run, data, model, tmp_path):
    bytes_before = model.read_bytes()
    strange = pd.read_csv(data)[:3].assign(c="never")
    done = run("forget", model, half(tmp_path / "no.csv", strange))
    assert (done.exit_code, len(done.stderr.splitlines())) == (5, 1)
    assert model.read_bytes() == bytes_before


def test_halves_merge_to_the_whole(run, data, tmp_path):
    table, parts = pd.read_csv(data), []
    for name, part in (("l", table[:40]), ("r", table[40:])):
        path = half(tmp_path / f"{name}.csv", part)
        parts.append(tmp_path / f"{name}.posteriori")
        told = ["--kind", "b=binary", "--kind", "stage=categorical", "--kind", "c=categorical"]
        assert run("train", path, "-t", "class", "-m", "tan", "-o", parts[-1], *told).exit_code == 0
    out = tmp_path / "both.posteriori"
    done = run("merge", *parts, "-o", out)
    if done.exit_code == 0:  # trees of halves may differ, and then cannot be added
        assert "80 rows in all" in done.stdout
    else:
        assert done.exit_code == 5
        assert not out.exists()
    same = run("merge", parts[0], parts[0], "-o", out)
    assert "2 models, 80 rows in all" in same.stdout


def test_what_cannot_be_merged_or_forgotten_is_told_the_way_on_the_command_line(run, tmp_path):
    """Truths of a CSV and of Parquet do not unite, and `learn` reads the second as the first was read."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    frame = pd.DataFrame({"x": rng.normal(2 * y), "on": rng.random(200) < 0.5 + 0.2 * y, "y": np.array(["n", "p"])[y]})
    csv, parquet, a, b = (tmp_path / name for name in ("a.csv", "b.parquet", "a.posteriori", "b.posteriori"))
    frame[:100].to_csv(csv, index=False)
    frame[100:].to_parquet(parquet)
    for data, model in ((csv, a), (parquet, b)):
        assert run("train", data, "-t", "y", "-m", "naive", "-o", model, "-q").exit_code == 0
    said = run("merge", a, b, "-o", tmp_path / "c.posteriori").stderr
    assert "False (bool) and 'False' (str)" in said
    assert "or give the rows of" in said
    assert run("train", csv, "-t", "y", "-m", "tan", "-o", a, "-q").exit_code == 0
    assert run("learn", a, parquet).exit_code == 0
    assert "let it stay by --keep cuts; nothing" in run("forget", a, parquet).stderr
    assert run("forget", a, parquet, "--keep", "cuts").exit_code == 0


def test_models_of_two_kinds_cannot_be_merged(run, data, model, tmp_path):
    other = tmp_path / "t.posteriori"
    run("train", data, "-t", "class", "-m", "tan", "-o", other)
    done = run("merge", model, other, "-o", tmp_path / "c.posteriori")
    assert done.exit_code == 5
    assert "NaiveBayes" in done.stderr
    assert not (tmp_path / "c.posteriori").exists()


def test_inspect_shows_classes_and_columns(run, model):
    done = run("inspect", model)
    assert done.exit_code == 0, done.output
    for said in ("NaiveBayes", "target class", "80 rows", "categorical", "x, y, z"):
        assert said in done.stdout
    assert json.loads(run("inspect", model, "--json").stdout)["class"] == "NaiveBayes"


def test_every_command_on_a_network_that_structure_wrote_is_an_answer_or_one_line(run, data, tmp_path):
    net = tmp_path / "n.posteriori"
    assert run("structure", data, "-o", net).exit_code == 0
    done = run("inspect", net)
    assert done.exit_code == 0, done.output
    saved = po.load(net)
    assert f"{counted(len(saved.nodes), 'node')}, {counted(len(saved.edges), 'arrow')}\n" in done.stdout
    shown = {row.split("  ")[0]: row for row in done.stdout.splitlines()}
    for node in saved.nodes:
        assert ", ".join(saved.dag.parents(node)) in shown[node]
        assert str(saved.states(node)[0]) in shown[node]
    for words in (("predict", net, data), ("explain", net, data), ("learn", net, data), ("sql", net)):
        done = run(*words)
        assert (done.exit_code, len(done.stderr.splitlines())) == (5, 1), done.output
        assert "`posteriori query` asks it" in done.stderr


def test_inspect_tells_of_graphs_numbers_and_models_that_have_learned_nothing(run, tmp_path):
    path = tmp_path / "x.posteriori"
    cells = {"a": ["u", "v"] * 4, "x": np.arange(8.0)}
    for what, said in (
        (po.HybridNet.fit([("a", "x")], cells), "2 nodes, 1 arrow\n\nnode arrows from states\na u, v\nx a a number\n"),
        (po.Dag(["a", "b"], [("a", "b")]), "2 nodes, 1 arrow\n\nnode arrows from states\na\nb a\n"),
        (po.Dag(f"n{i}" for i in range(42)), "… and 2 more nodes\n"),
        (
            po.GaussianNB().fit([[0.0], [1.0]], [0, 1]),
            "0, 1 are its classes; a GaussianNB keeps no schema: use it from Python\n",
        ),
        (po.NaiveBayes(), "saved before `fit`: it has learned nothing\n"),
        (po.RiskClassifier(po.NaiveBayes(), reject=0.2), "saved before `fit`: it has learned nothing\n"),
    ):
        po.save(what, path)
        done = run("inspect", path)
        assert done.exit_code == 0, done.output
        lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
        assert "\n".join([*lines, ""]).endswith(said)


@pytest.mark.parametrize("what", [b"", b"not a model", b"\x00" * 100])
def test_a_file_that_is_no_model_is_one_line(run, data, tmp_path, what):
    bad = tmp_path / "bad.posteriori"
    bad.write_bytes(what)
    for words in (("inspect", bad), ("predict", bad, data), ("learn", bad, data)):
        done = run(*words)
        assert (done.exit_code, len(done.stderr.splitlines())) == (5, 1), done.output
    assert run("predict", data, data).exit_code == 5
    assert run("predict", tmp_path / "none.posteriori", data).exit_code == 3


def test_neighbours_are_a_file_that_predicts_and_cannot_count(run, data, tmp_path):
    path = tmp_path / "k.posteriori"
    assert run("train", data, "-t", "class", "-m", "knn", "-o", path).exit_code == 0
    assert run("predict", path, data).exit_code == 0
    assert run("inspect", path).exit_code == 0
    done = run("learn", path, data)
    assert (done.exit_code, "keeps no counts" in done.stderr) == (5, True)


def test_costs_stay_with_the_model(run, data, tmp_path):
    (tmp_path / "costs.csv").write_text("decided\\truth,no,yes\nno,0,10\nyes,1,0\n")
    path = tmp_path / "r.posteriori"
    words = ("-m", "naive", "--loss", tmp_path / "costs.csv", "--reject", 0.3, "-o", path)
    assert run("train", data, "-t", "class", *words).exit_code == 0
    (tmp_path / "costs.csv").unlink()
    done = run("predict", path, data)
    assert "reject" in done.stdout
    assert "reject" in run("inspect", path).stdout
    assert run("explain", path, data, "--row", 2).exit_code == 0


def test_sql_scores_in_the_database_as_the_model_does(run, data, tmp_path):
    import duckdb

    path = tmp_path / "t.posteriori"
    assert run("train", data, "-t", "class", "-m", "tan", "-o", path).exit_code == 0
    query = run("sql", path, "--table", "rows").stdout
    rows = pd.read_csv(data)
    with duckdb.connect() as engine:
        engine.register("rows", rows)
        found = engine.execute(query).df()
    assert np.allclose(found["P(no)"], po.load(path).predict_proba(rows.drop(columns="class"))[:, 0])
    assert run("sql", path, "--dialect", "mysql").exit_code == 2


def test_sql_of_dates_and_of_densities_that_were_chosen(run, tmp_path):
    import duckdb

    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-06") + pd.to_timedelta(rng.integers(0, 200, 90), unit="D")
    rows = pd.DataFrame(
        {"sold": days.strftime("%Y-%m-%d"), "size": rng.normal(size=90) ** 2, "y": rng.choice(["a", "b"], 90)}
    )
    mondays = rows.assign(
        sold=[f"2020-06-{day:02d}" for day in 1 + 7 * rng.integers(0, 4, 90)]
    )  # no part of it differs
    for frame, words in ((rows, ()), (mondays, ("--date", "sold"))):
        data, path = half(tmp_path / "rows.csv", frame), tmp_path / "d.posteriori"
        assert run("train", data, "-t", "y", "-m", "naive", "-o", path).exit_code == 0
        assert run("predict", path, data, "-o", tmp_path / "out.csv").exit_code == 0
        query = run("sql", path, "--table", "rows", *words).stdout
        with duckdb.connect() as engine:
            engine.execute(f"CREATE TABLE rows AS FROM read_csv('{data}')")
            found = engine.execute(query).df()
        assert np.allclose(found["P(a)"], pd.read_csv(tmp_path / "out.csv")["P(a)"], atol=1e-9)


def test_inspect_says_what_is_known_of_a_column(run, data, tmp_path):
    for name, said in {
        "tan": ("cut at", "all one bin"),
        "naive": (" to ",),
        "bayes-tree": ("cut at",),
        "bayes-forest": ("cut at",),
        "boosted": ("cut at",),
        "auto": ("cut at",),
    }.items():
        out = tmp_path / f"{name}.posteriori"
        assert run("train", data, "-t", "class", "-m", name, "-o", out).exit_code == 0
        lines = run("inspect", out).stdout.splitlines()
        (a,) = [line for line in lines if line.startswith("a ")]
        assert any(words in a for words in said), a
        assert any("x, y, z" in line for line in lines)


def test_models_of_different_costs_are_not_merged(run, data, tmp_path):
    costs = tmp_path / "costs.csv"
    costs.write_text(",no,yes\nno,0,5\nyes,1,0\n")
    made = {name: tmp_path / f"{name}.posteriori" for name in ("plain", "costly", "again", "priced")}
    told = {"plain": [], "costly": ["--loss", costs], "again": ["--loss", costs], "priced": ["--reject", 0.2]}
    for name, words in told.items():
        assert run("train", data, "-t", "class", "-m", "naive", "-o", made[name], *words).exit_code == 0
    out = tmp_path / "out.posteriori"
    for one, other in (("plain", "costly"), ("costly", "plain"), ("costly", "priced")):
        done = run("merge", made[one], made[other], "-o", out)
        assert done.exit_code == 5
        assert "decide by different costs" in done.stderr
        assert not out.exists()
    assert run("merge", made["costly"], made["again"], "-o", out).exit_code == 0
    assert po.load(out).loss_ == po.load(made["costly"]).loss_


@pytest.mark.parametrize("price", ["0", "-1", "nan", "inf"])
def test_a_price_that_is_none_is_refused(run, data, price):
    done = run("train", data, "-t", "class", "-m", "naive", "--reject", price)
    assert done.exit_code == 2
    assert "above 0" in done.stderr


def test_days_are_dates_to_who_inspects_or_asks_why(run, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    days = pd.Timestamp("2020-01-10") + pd.to_timedelta(rng.integers(0, 60, 200) + 90 * y, unit="D")
    frame = pd.DataFrame({"x": rng.normal(y), "d": days.strftime("%d.%m.%Y"), "class": np.array(["no", "yes"])[y]})
    frame.to_csv(tmp_path / "d.csv", index=False)
    for kind in ("naive", "tan"):
        path = tmp_path / f"{kind}.posteriori"
        assert run("train", tmp_path / "d.csv", "-t", "class", "-m", kind, "-o", path, "-q").exit_code == 0
        told = run("inspect", path).stdout
        assert "Mon, Tue" in told
        assert not re.search(r"18[23]\d\d", told)
        line = next(line for line in told.splitlines() if line.split()[:2] == ["d", "date"])
        assert "2020-0" in line
        why = run("explain", path, tmp_path / "d.csv", "--row", 3).stdout
        assert days[2].strftime("d = %Y-%m-%d") in why
        assert days[2].strftime("d.weekday = %a") in why
        assert not re.search(r"otherwise if.*d\.(month|weekday)", why)


# the functions themselves


def model_of(**statistics):
    moments = statistics.pop("moments", None)
    return SimpleNamespace(statistics_=SimpleNamespace(moments=moments, where=lambda role: [0, 2], **statistics))


def test_what_a_model_knows_of_a_column():
    cut = model_of(cuts=(np.array([1.5, 2.25]), np.arange(8.0), np.arange(9.0), np.array([]), None))
    for j, told in enumerate(["cut at 1.5, 2.25", "cut at 0, 1, 2, 3, 4, 5, 6, 7", "cut at 0, 1, 2, 3, 4, 5, 6, 7…",
                              "not cut: all one bin"]):  # fmt: skip
        assert _learned(cut, j, Column("x", "numeric"), {}) == told
    assert _learned(cut, 4, Column("c", "categorical", ("u", 2)), {}) == "u, 2"
    span = SimpleNamespace(low=np.array([[1.0, -2.0], [0.5, 3.0]]), high=np.array([[4.0, 7.5], [5.0, 6.0]]))
    seen = model_of(cuts=(), moments=SimpleNamespace(span=span))
    assert _learned(seen, 0, Column("x", "numeric"), {}) == "0.5 to 5"
    assert _learned(seen, 1, Column("y", "numeric"), {}) == ""  # it is counted in another way
    assert _learned(seen, 2, Column("n", "count"), {}) == "-2 to 7.5"
    seen.density_ = {"n": "poisson"}
    assert _learned(seen, 2, Column("n", "count"), {}) == "-2 to 7.5, poisson"
    assert _learned(seen, 0, Column("d", "numeric"), {"d": {}}) == "1970-01-01 12:00 to 1970-01-06"
    blind = model_of(cuts=(), moments=SimpleNamespace(span=None))
    assert _learned(blind, 0, Column("x", "numeric"), {}) == ""
    assert _learned(SimpleNamespace(), 1, Column("x", "numeric"), {}) == ""
    assert _learned(SimpleNamespace(), 0, Column("c", "categorical", tuple("abcdefgh")), {}) == "a, b, c, d, e, f, g, h"
    assert (
        _learned(SimpleNamespace(), 0, Column("c", "categorical", tuple("abcdefghi")), {}) == "a, b, c, d, e, f, g, h…"
    )
    long = _learned(SimpleNamespace(), 0, Column("c", "categorical", ("u" * 70,)), {})
    assert long == "u" * 59 + "…"


def test_a_model_is_said_with_the_shares_of_its_classes():
    def shown(model):
        out = Out(file=io.StringIO(), width=200, highlight=False, markup=False, emoji=False)
        _say_schema(out, model)
        return [row.rstrip() for row in out.file.getvalue().splitlines()]

    X = {"c": ["u", "v", "u", "v"], "x": [1.5, 2.5, 4.0, 8.0]}
    model = po.NaiveBayes(kinds={"x": "numeric", "c": "categorical"}).fit(X, ["no", "yes", "no", "no"])
    assert shown(model)[:8] == [
        "4 rows, 2 columns", "", "class  rows  share", "no        3  75.0%", "yes       1  25.0%", "",
        "column  kind         values", "c       categorical  u, v",
    ]  # fmt: skip
    n = 41
    wide = po.NaiveBayes().fit({f"x{j}": ["u", "v"] * 41 for j in range(n)}, [f"k{i:02d}" for i in range(n)] * 2)
    lines = shown(wide)
    assert sum(row.startswith("k") for row in lines) == sum(row.startswith("x") for row in lines) == 40
    assert lines[-1] == "… and 1 more columns"
    assert "more columns" not in shown(po.NaiveBayes().fit({f"x{j}": ["u", "v"] for j in range(40)}, ["a", "b"]))[-1]


def test_classes_keep_their_type_when_more_is_learned(run, data, model):
    before = po.load(model).classes_
    assert run("learn", model, data, "-q").output == ""
    after = po.load(model).classes_
    assert (after.dtype, after.tolist()) == (before.dtype, before.tolist())


def test_rows_without_a_label_are_said_by_the_first_of_them(run, data, model, tmp_path):
    frame = pd.read_csv(data)[:9]
    frame.loc[[3, 5], "class"] = None
    done = run("learn", model, half(tmp_path / "more.csv", frame), "-o", tmp_path / "n.posteriori")
    assert done.stdout.splitlines() == [
        "2 rows have no 'class' (first: row 4) and are left out",
        f"7 rows learned, 87 in all → {tmp_path / 'n.posteriori'}",
    ]
    assert po.load(model).class_count_.sum() == 80  # the model itself is as it was
    frame.assign(**{"class": None}).to_csv(tmp_path / "none.csv", index=False)
    done = run("learn", model, tmp_path / "none.csv")
    assert "9 rows have no 'class' (first: row 1)" in done.stdout
    assert "0 rows learned, 80 in all" in done.stdout


def test_three_models_merge_to_their_sum_and_one_of_another_kind_is_named(run, data, model, tmp_path):
    out = tmp_path / "c.posteriori"
    done = run("merge", model, model, model, "-o", out)
    assert done.stdout == f"3 models, 240 rows in all → {out}\n"
    np.testing.assert_array_equal(po.load(out).class_count_, 3 * po.load(model).class_count_)
    assert run("merge", model, model, "-o", out, "-q").output == ""
    risky = tmp_path / "r.posteriori"
    assert run("train", data, "-t", "class", "-m", "naive", "--reject", 0.3, "-o", risky, "-q").exit_code == 0
    assert run("merge", risky, risky, "-o", out, "-q").exit_code == 0
    both = po.load(out)
    assert (type(both).__name__, both.estimator_.class_count_.sum()) == ("RiskClassifier", 160)
    knn = tmp_path / "k.posteriori"
    assert run("train", data, "-t", "class", "-m", "knn", "-o", knn, "-q").exit_code == 0
    for files in ((knn, knn), (model, model, knn)):
        done = run("merge", *files, "-o", out)
        assert done.exit_code == 5
        assert f"{files[0]} holds a " in done.stderr
        assert f"{knn} a " in done.stderr


def test_a_query_goes_to_a_file_or_to_stdout(run, model, tmp_path):
    shown = run("sql", model, "--table", "ward.people").stdout
    assert "ward" in shown
    assert run("sql", model, "--table", "ward.people", "-o", tmp_path / "q.sql").output == ""
    assert (tmp_path / "q.sql").read_text() == shown


def test_inspect_says_what_a_file_holds(run, data, model, tmp_path):
    lines = run("inspect", model).stdout.splitlines()
    assert lines[0] == f"{model}: NaiveBayes"
    assert lines[1].startswith("format ")
    assert lines[2] == "80 rows, 4 columns, target class"
    assert "decides by" not in lines
    risky = tmp_path / "r.posteriori"
    assert run("train", data, "-t", "class", "-m", "naive", "--reject", 0.3, "-o", risky, "-q").exit_code == 0
    lines = run("inspect", risky).stdout.splitlines()
    at = lines.index("decides by")
    assert [row.rstrip() for row in lines[at + 1 :]] == [row.rstrip() for row in str(po.load(risky).loss_).splitlines()]
    po.save(po.KMeans(2, random_state=0).fit([[0.0], [1.0]]), tmp_path / "k.posteriori")
    assert len(run("inspect", tmp_path / "k.posteriori").stdout.splitlines()) == 2


@given(st.lists(st.text("abc", max_size=9), max_size=12))
def test_some_values_are_the_first_eight_in_at_most_sixty_letters(texts):
    whole = ", ".join(texts[:8]) + "…" * (len(texts) > 8)
    assert _some(texts) == (whole if len(whole) <= 60 else whole[:59] + "…")


@pytest.mark.parametrize(("length", "n"), [(2, 8), (2, 9), (7, 7), (14, 4), (15, 4), (30, 9)])
def test_a_network_is_said_node_by_node_with_the_states_that_have_room(length, n):
    states = tuple(f"{i}" * length for i in range(n))
    net = po.BayesNet([("a", "b")], {"a": [1 / n] * n, "b": [[0.5, 0.5]] * n}, {"a": states, "b": ("u", "v")})
    out = Out(file=io.StringIO(), width=200, highlight=False, markup=False, emoji=False)
    _say_network(out, net)
    lines = [row.rstrip() for row in out.file.getvalue().splitlines()]
    head = ["2 nodes, 1 arrow", "", "node  arrows from  states"]
    assert lines == [*head, f"a                  {_some(states)}", "b     a            u, v"]
