"""predict: what comes out is what the model says, whatever the format, in any batches; explain: its reasons are those
of Python.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import posteriori as po
from posteriori.cli import predict
from posteriori.cli.main import Explain
from posteriori.cli.predict import (
    _answers,
    _class,
    _form,
    _json_lines,
    _kept,
    _one,
    _part,
    _writer,
    harmless,
    odd_cells,
    the_row,
)
from posteriori.errors import BadParameter, BadValue, UnknownValue
from posteriori.table import batches
from posteriori.table.batches import Batch
from posteriori.table.schema import Column, Schema


def answers(text):
    return pd.read_csv(io.StringIO(text), keep_default_na=False)


def test_answers_are_those_of_the_model(run, data, model):
    done = run("predict", model, data)
    assert done.exit_code == 0, done.output
    found, table = answers(done.stdout), po.read(data, target="class")
    p = po.load(model).predict_proba(table.X)
    assert np.allclose(found[["P(no)", "P(yes)"]], p)
    assert found["decision"].tolist() == po.load(model).predict(table.X).tolist()
    assert np.allclose(found["expected_loss"], 1 - p.max(axis=1))
    assert found["row"].tolist() == list(range(1, 81))
    assert "80 rows, 0 rejected; 0 cells missing" in done.stderr


def test_batches_change_nothing(run, data, model, monkeypatch):
    whole = run("predict", model, data).stdout
    monkeypatch.setattr(batches, "BATCH", 7)
    assert run("predict", model, data).stdout == whole


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_formats_hold_the_same(run, data, model, tmp_path, ending):
    out = tmp_path / f"out.{ending}"
    assert run("predict", model, data, "-o", out, "--keep").exit_code == 0
    if ending == "parquet":
        found = pd.read_parquet(out)
    elif ending == "jsonl":
        found = pd.DataFrame([json.loads(line) for line in out.read_text().splitlines()])
    else:
        found = pd.read_csv(out, sep="\t" if ending == "tsv" else ",")
    assert list(found.columns[:5]) == ["a", "b", "c", "stage", "class"]
    assert np.allclose(found["P(no)"].astype(float), answers(run("predict", model, data).stdout)["P(no)"])
    assert not list(tmp_path.glob(".out*"))


def test_parquet_and_stdin_in(run, data, model, tmp_path):
    pd.read_csv(data).to_parquet(tmp_path / "d.parquet")
    from_text = run("predict", model, data).stdout
    assert run("predict", model, tmp_path / "d.parquet").stdout == from_text
    assert run("predict", model, "-", input=data.read_bytes()).stdout == from_text


def test_missing_and_unseen_are_counted(run, data, model, tmp_path):
    (tmp_path / "new.csv").write_text("c,b,a,stage\nx,1,?,2\nnever,,0.5,9\n")
    done = run("predict", model, tmp_path / "new.csv")
    assert done.exit_code == 0, done.output
    assert "2 cells missing, 2 with values unseen" in done.stderr


def test_costs_and_rejecting(run, data, tmp_path):
    (tmp_path / "costs.csv").write_text("decided\\truth,no,yes\nno,0,10\nyes,1,0\n")
    assert run("train", data, "-t", "class", "-m", "naive", "-o", tmp_path / "p.posteriori").exit_code == 0
    done = run("predict", tmp_path / "p.posteriori", data, "--loss", tmp_path / "costs.csv", "--reject", 0.3)
    found = answers(done.stdout)
    assert {"yes", "reject"} <= set(found["decision"])
    assert found["expected_loss"].max() <= 0.3 + 1e-12
    assert (found["decision"] == "reject").equals(found["rejected"])


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("a,b,stage\n1,1,1\n", 4, "lacks columns that the model has: 'c'"),
        ("a,b,c,stage\n1,1,x,1\n12x,1,x,1\n", 4, "row 2, column 'a': '12x' is no number"),
        ("", 3, "is empty"),
        ("a,b,c,stage\n1,1,x\n1,1,x,1,5\n", 3, "line"),
    ],
)
def test_rows_that_do_not_fit_are_named(run, model, tmp_path, text, code, said):
    (tmp_path / "new.csv").write_text(text)
    out = tmp_path / "out.csv"
    done = run("predict", model, tmp_path / "new.csv", "-o", out)
    assert (done.exit_code, len(done.stderr.splitlines())) == (code, 1), done.output
    assert said in done.stderr
    assert not out.exists()


def test_no_rows_give_a_line_of_names(run, model, tmp_path):
    (tmp_path / "new.csv").write_text("a,b,c,stage\n")
    done = run("predict", model, tmp_path / "new.csv")
    assert done.stdout == "row,decision,expected_loss,rejected,P(no),P(yes)\n"


def test_formulas_come_out_as_text(run, tmp_path):
    frame = pd.DataFrame({"x": [0.0, 1.0] * 20, "y": ["=cmd|'/c calc'!A0", "<script>alert(1)</script>"] * 20})
    frame.to_csv(tmp_path / "d.csv", index=False)
    model = tmp_path / "m.posteriori"
    assert run("train", tmp_path / "d.csv", "-t", "y", "-m", "naive", "-o", model).exit_code == 0
    rows = list(csv.reader(io.StringIO(run("predict", model, tmp_path / "d.csv", "--keep").stdout)))
    assert "'=cmd|'/c calc'!A0" in rows[1]
    assert "<script>alert(1)</script>" in rows[2]
    raw = list(csv.reader(io.StringIO(run("predict", model, tmp_path / "d.csv", "--raw").stdout)))
    assert "=cmd|'/c calc'!A0" in raw[1]


def test_harmless_keeps_numbers_and_single_marks():
    assert [harmless(t) for t in ("-1", "+", "@me", "-5 to 3", "")] == ["-1", "+", "'@me", "'-5 to 3", ""]
    for blank, mark in itertools.product(("", " ", "\n", "\t", "\r", "\u00a0", "\ufeff", " \n "), "=+-@＝＋－＠"):
        text = f"{blank}{mark}cmd"
        assert harmless(text) == f"'{text}"
    assert [harmless(t) for t in (" -1.5", " a=1", "\nno", " ", "\n")] == [" -1.5", " a=1", "'\nno", " ", "\n"]


def in_every_form(frame, folder):
    """The same rows as ARFF, DuckDB, SQLite, Parquet and JSON lines."""
    import sqlite3

    import duckdb

    kinds = {"a": "numeric", "b": "numeric", "c": "{x,y,z}", "stage": "numeric", "class": "{no,yes}"}
    heads = "".join(f"@attribute {name} {kind}\n" for name, kind in kinds.items())
    lines = "".join(",".join(map(str, row)) + "\n" for row in frame[list(kinds)].itertuples(index=False))
    (folder / "t.arff").write_text(f"@relation t\n{heads}@data\n{lines}")
    frame.to_parquet(folder / "t.parquet")
    frame.to_json(folder / "t.jsonl", orient="records", lines=True, double_precision=15)
    with sqlite3.connect(folder / "t.sqlite") as base:
        frame.to_sql("t", base, index=False)
    base.close()
    with duckdb.connect(str(folder / "t.duckdb")) as engine:
        engine.execute("CREATE TABLE t AS FROM frame")
    return ["t.arff", "t.parquet", "t.jsonl", "t.sqlite", "t.duckdb"]


def test_what_train_reads_predict_explain_and_learn_read_too(run, data, model, tmp_path):
    frame = pd.read_csv(data)
    answers = tmp_path / "answers.csv"
    assert run("predict", model, data, "-o", answers).exit_code == 0
    expected, why = pd.read_csv(answers), json.loads(run("explain", model, data, "--row", 3, "--json").stdout)
    for name in in_every_form(frame, tmp_path):
        file = tmp_path / name
        done = run("predict", model, file, "-o", answers)
        assert done.exit_code == 0, (name, done.output)
        pd.testing.assert_frame_equal(pd.read_csv(answers), expected)
        told = json.loads(run("explain", model, file, "--row", 3, "--json").stdout)
        assert told["log_odds"] == pytest.approx(why["log_odds"])
        done = run("learn", model, file, "-o", tmp_path / "more.posteriori")
        assert done.exit_code == 0, (name, done.output)
        assert "160 in all" in done.stdout
        done = run("forget", tmp_path / "more.posteriori", file, "-o", tmp_path / "less.posteriori")
        assert done.exit_code == 0, (name, done.output)
    for name, table in (("t.sqlite", "t"), ("t.duckdb", "t"), ("t.parquet", "this")):
        done = run("predict", model, tmp_path / name, "--sql", f"SELECT * FROM {table} WHERE stage = 1", "-o", answers)
        assert done.exit_code == 0, (name, done.output)
        assert len(pd.read_csv(answers)) == (frame["stage"] == 1).sum()


# the functions themselves


def test_cells_are_counted_by_the_schema_where_a_model_does_not_count():
    schema = Schema((Column("x", "numeric"), Column("c", "categorical", ("u", "v")), Column("d", "categorical")))
    cells = {
        "x": np.array([1.5, np.nan, np.nan, 2.5]),
        "c": np.array(["u", "w", None, "z"], dtype=object),
        "d": np.array(["k", None, None, "l"], dtype=object),  # no value is known: none is unseen
    }
    batch = Batch(np.arange(1, 5), cells, None, None)
    assert odd_cells(object(), schema, batch) == (5, 2)
    assert odd_cells(SimpleNamespace(n_missing_=3, n_unseen_=7), schema, batch) == (3, 7)


def test_an_answer_is_the_action_of_least_risk_and_its_cost():
    posterior = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    model = SimpleNamespace(predict_proba=lambda columns: posterior, classes_=np.array(["no", "yes"]))
    batch = Batch(np.array([4, 5, 7]), {}, None, SimpleNamespace(num_rows=3))
    costs = po.Loss.per_class({"no": 1, "yes": 2})
    found = _answers(model, batch, costs)
    assert list(found) == ["row", "decision", "expected_loss", "rejected", "P(no)", "P(yes)"]
    assert found["row"].tolist() == [4, 5, 7]
    assert found["decision"].tolist() == ["no", "yes", "yes"]
    np.testing.assert_allclose(found["expected_loss"], [0.2, 0.5, 0.2])
    assert found["rejected"].tolist() == [False] * 3
    np.testing.assert_array_equal(np.column_stack([found["P(no)"], found["P(yes)"]]), posterior)
    found = _answers(model, batch, costs.with_reject(0.3))
    assert found["rejected"].tolist() == [False, True, False]
    assert found["decision"].tolist() == ["no", "reject", "yes"]
    np.testing.assert_allclose(found["expected_loss"], [0.2, 0.3, 0.2])


def test_a_column_that_is_called_as_an_answer_gets_a_line_below_its_name():
    raw = pa.RecordBatch.from_pydict({"row": ["a"], "x": ["b"], "row_": ["c"], "row__": ["d"], "P(u)": ["e"]})
    found = _kept(raw, {"row": 1, "P(u)": 2})
    assert {name: cells.to_pylist() for name, cells in found.items()} == {
        "row___": ["a"], "x": ["b"], "row_": ["c"], "row__": ["d"], "P(u)_": ["e"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("output", "told", "form"),
    [
        (None, None, "csv"), ("a.csv", None, "csv"), ("a.TSV", None, "tsv"), ("a.json", None, "jsonl"),
        ("a.ndjson", None, "jsonl"), ("a.parquet", None, "parquet"), ("a.csv", "jsonl", "jsonl"), (None, "tsv", "tsv"),
    ],
)  # fmt: skip
def test_the_form_is_told_or_said_by_the_ending(output, told, form):
    assert _form(output, told) == form


@pytest.mark.parametrize(
    ("output", "told", "said"),
    [
        (
            "a.xls",
            None,
            "a.xls: cannot tell the format by the ending; --format is one of 'csv', 'jsonl', 'parquet', 'tsv'",
        ),
        ("a.csv", "xls", "--format is one of 'csv', 'jsonl', 'parquet', 'tsv'. Got 'xls' instead."),
        (None, "parquet", "Parquet cannot be written to stdout: give -o answers.parquet"),
    ],
)
def test_a_form_that_is_none_is_refused(output, told, said):
    with pytest.raises(BadParameter, match=f"^{re.escape(said)}$"):
        _form(output, told)


BATCHES = [
    {"=x": np.array([1.5, 2.0]), "c": pa.array(["=1+1", None]), "ok": np.array([True, False])},
    {"=x": np.array([3.0]), "c": pa.array(["u,v"]), "ok": np.array([True])},
]


@pytest.mark.parametrize(
    ("form", "raw", "text"),
    [
        ("csv", False, "'=x,c,ok\n1.5,'=1+1,True\n2.0,,False\n3.0,\"u,v\",True\n"),
        ("csv", True, "=x,c,ok\n1.5,=1+1,True\n2.0,,False\n3.0,\"u,v\",True\n"),
        ("tsv", True, "=x\tc\tok\n1.5\t=1+1\tTrue\n2.0\t\tFalse\n3.0\tu,v\tTrue\n"),
        ("jsonl", False, '{"=x": 1.5, "c": "=1+1", "ok": true}\n{"=x": 2.0, "c": null, "ok": false}\n'
         '{"=x": 3.0, "c": "u,v", "ok": true}\n'),
    ],
)  # fmt: skip
def test_the_names_come_once_and_the_rows_batch_by_batch(form, raw, text):
    stream = io.BytesIO()
    with _writer(stream, form, raw) as write:
        for columns in BATCHES:
            write(columns)
    assert stream.getvalue().decode() == text


def test_parquet_is_one_table_whatever_a_batch_lacks():
    stream = io.BytesIO()
    with _writer(stream, "parquet", False) as write:
        for columns in (*BATCHES, {"=x": np.array([4.0]), "c": pa.array([None]), "ok": np.array([True])}):
            write(columns)
    found = pq.read_table(stream)
    assert found.to_pydict() == {
        "=x": [1.5, 2.0, 3.0, 4.0], "c": ["=1+1", None, "u,v", None], "ok": [True, False, True, True],
    }  # fmt: skip


def test_words_beyond_ascii_stay_as_they_are():
    assert _json_lines({"städt": np.array(["Köln"])}) == '{"städt": "Köln"}\n'


def test_nothing_is_said_but_errors_where_it_is_to_be_quiet(run, data, model, tmp_path):
    out = tmp_path / "out.csv"
    assert run("predict", model, data, "-q").stderr == ""
    assert run("predict", model, data, "-o", out).stderr.endswith(f"values unseen in training → {out}\n")
    assert "→" not in run("predict", model, data).stderr
    done = run("predict", model, data, "--reject", 0.2)
    rejected = sum(",reject," in line for line in done.stdout.splitlines())
    assert rejected > 0
    assert done.stderr.startswith(f"80 rows, {rejected} rejected; 0 cells missing, 0 with")


@pytest.mark.parametrize("at", [1, 2, 4])
@pytest.mark.parametrize("to_file", [False, True])
def test_ctrl_c_says_how_many_rows_were_written(run, data, model, tmp_path, monkeypatch, at, to_file):
    batch = iter(range(1, 100))

    def pressed(*_):
        if next(batch) == at:
            raise KeyboardInterrupt
        return _answers(*_)

    monkeypatch.setattr(batches, "BATCH", 20)
    monkeypatch.setattr(predict, "_answers", pressed)
    out = tmp_path / "out.csv"
    done = run("predict", model, data, *(["-o", out] if to_file else []))
    rows = max(len(done.stdout.splitlines()) - 1, 0)
    assert done.exit_code == 130
    assert rows == (0 if to_file else 20 * (at - 1))
    assert done.stderr == f"interrupted: {f'{rows} rows were' if rows else 'nothing was'} written\n"
    assert not out.exists()


def test_ctrl_c_in_the_middle_of_a_batch_says_so(run, data, model, monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(predict, "_csv_lines", pressed)
    assert run("predict", model, data).stderr == "interrupted: 0 rows were written, and the next 80 in part\n"


@pytest.mark.parametrize("kind", ["naive", "tan", "knn"])
def test_unseen_values_are_told_by_their_columns_over_all_batches(run, data, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(batches, "BATCH", 2)
    path, new = tmp_path / "k.posteriori", tmp_path / "new.csv"
    assert run("train", data, "-t", "class", "-m", kind, "-o", path, "--kind", "stage=categorical").exit_code == 0
    odd = pd.read_csv(data)[:7]
    odd.loc[[0, 3, 6], "c"], odd.loc[5, "stage"], odd.loc[1, "c"] = "w", 77, None
    odd.to_csv(new, index=False)
    said = run("predict", path, new).stderr
    assert said.endswith("1 cell missing, 4 with values unseen in training: 'c' 3, 'stage' 1\n")


def test_many_columns_with_unseen_values_are_counted(run, tmp_path):
    frame = pd.DataFrame({f"v{j}": ["a", "b"] * 10 for j in range(8)} | {"class": ["n", "y", "n", "n"] * 5})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert (
        run("train", tmp_path / "t.csv", "-t", "class", "-m", "naive", "-o", tmp_path / "m.posteriori").exit_code == 0
    )
    frame.assign(**{f"v{j}": "c" for j in range(8)}).to_csv(tmp_path / "t.csv", index=False)
    said = run("predict", tmp_path / "m.posteriori", tmp_path / "t.csv").stderr
    assert (
        "160 with values unseen in training: 'v0' 20, 'v1' 20, 'v2' 20, 'v3' 20, 'v4' 20, … (8 columns in all)" in said
    )


@pytest.mark.parametrize(("path", "what"), [("data", "table"), ("model", "model file"), ("costs", "file of costs")])
def test_answers_are_not_written_over_what_they_are_made_from(run, data, model, tmp_path, path, what):
    costs = tmp_path / "costs.csv"
    costs.write_text(",no,yes\nno,0,10\nyes,1,0\n")
    file = {"data": data, "model": model, "costs": costs}[path]
    done = run("predict", model, data, "--loss", costs, "--format", "csv", "-o", file)
    assert (done.exit_code, f"is the {what}, which would be lost" in done.stderr) == (6, True)


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
    case = the_row(po.load(model), Explain(str(model), str(data), row=5))
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
    monkeypatch.setattr(batches, "BATCH", 7)
    frame = pd.read_csv(data)
    for row in (1, 2, 79, 80):
        assert the_row(po.load(model), Explain(str(model), str(data), row=row))["a"] == pytest.approx(
            frame["a"][row - 1]
        )
    with pytest.raises(BadValue, match="has 80 rows; there is no row 81"):
        the_row(po.load(model), Explain(str(model), str(data), row=81))


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


@pytest.mark.parametrize(
    "cell", ["=1+1", " =1", "\n=1", "＝1", "\u2060=1", "\u202e=1", "\xad=1", "\u180e+1", "\x00@S", "﹦1", "﹣1+a"]
)
def test_what_a_spreadsheet_would_run_gets_an_apostrophe_whatever_unseen_stands_before_it(cell):
    stream = io.BytesIO()
    with _writer(stream, "tsv", False) as write:
        write({"a": pa.array([cell, "a=1"])})
    assert stream.getvalue().decode().replace('"', "").startswith(f"a\n'{cell}")
    assert stream.getvalue().endswith(b"\na=1\n")
