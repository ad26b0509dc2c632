"""A file is read batch by batch as it was read whole: a model answers its own file as it answers the table."""

from __future__ import annotations

import contextlib
import decimal
import gzip
import io
import os
import sqlite3
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import posteriori as po
from posteriori.cli.tables import open_table
from posteriori.table import batches as module
from posteriori.table.batches import batches

N = 60


def written(mark=",", decimal=".", day="%Y-%m-%d", gap="", header=True, encoding="utf-8", labels=("no", "Genève")):
    """The bytes of one table, written in one of many ways."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, N)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), unit="D")
    size = [gap if i % 9 == 4 else f"{v:.3f}".replace(".", decimal) for i, v in enumerate(rng.normal(size=N) + y)]
    kind = [gap if i % 11 == 5 else w for i, w in enumerate(rng.choice(["Köln", "Bonn", "Ulm"], N))]
    frame = pd.DataFrame(
        {"size": size, "town": kind, "when": [d.strftime(day) for d in days], "class": np.array(labels)[y]}
    )
    text = frame.to_csv(sep=mark, index=False, header=header)
    return text.encode(encoding), "class" if header else "x3"


WAYS = {
    "plain": {},
    "decimal commas": {"mark": ";", "decimal": ","},
    "days first": {"day": "%d.%m.%Y"},
    "months first": {"day": "%m/%d/%Y"},
    "named months": {"day": "%d %b %Y", "mark": "|"},
    "with a clock": {"day": "%d.%m.%Y %H:%M"},
    "western": {"encoding": "cp1252"},
    "wide": {"encoding": "utf-16"},
    "a word for missing": {"gap": "weiss nicht"},
    "no header": {"header": False},
    "all at once": {"mark": ";", "decimal": ",", "day": "%d.%m.%Y", "gap": "k.A.", "encoding": "cp1252"},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_model_answers_its_own_file_as_it_answers_the_table(run, tmp_path, way):
    content, target = written(**WAYS[way])
    path, model, out = tmp_path / "t.csv", tmp_path / "m.posteriori", tmp_path / "out.csv"
    path.write_bytes(content)
    told = ["--missing", WAYS[way]["gap"]] if WAYS[way].get("gap") else []
    done = run("train", path, "-t", target, "-m", "naive", "-o", model, *told)
    assert done.exit_code == 0, done.output
    assert run("predict", model, path, "-o", out).exit_code == 0
    table = open_table(str(path), target, {}, missing=told[1:] or None).table
    assert table.schema.kinds[:3] == ("numeric", "categorical", "numeric")
    expected = po.load(model).predict_proba(table.X)
    np.testing.assert_allclose(pd.read_csv(out).filter(like="P(").to_numpy(), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_what_comes_through_a_slow_pipe_is_answered_as_the_file_is(run, tmp_path, monkeypatch, way, packed):
    content, target = written(**WAYS[way])
    path, model, fifo = tmp_path / "t.csv", tmp_path / "m.posteriori", tmp_path / "pipe"
    path.write_bytes(content)
    told = ["--missing", WAYS[way]["gap"]] if WAYS[way].get("gap") else []
    assert run("train", path, "-t", target, "-m", "naive", "-o", model, *told).exit_code == 0
    monkeypatch.setattr(module, "PATIENCE", 0)
    os.mkfifo(fifo)

    def feed():
        sent, rng = gzip.compress(content) if packed else content, np.random.default_rng(0)
        with open(fifo, "wb", buffering=0) as out:
            while sent:
                cut = int(rng.integers(1, 200))
                out.write(sent[:cut])
                sent = sent[cut:]
                time.sleep(0.001)

    encoding = ["--encoding", "cp1252"] if WAYS[way].get("encoding") == "cp1252" else []  # no guess of what is to come
    for command in (["predict", "--keep"], ["learn", "-o", tmp_path / "n.posteriori"]):
        feeder = threading.Thread(target=feed)
        feeder.start()
        found = run(command[0], model, fifo, *command[1:], *encoding)
        feeder.join()
        expected = run(command[0], model, path, *command[1:])
        assert (found.exit_code, found.stdout) == (0, expected.stdout), found.output


@pytest.mark.parametrize(
    ("late", "said"), [(b"2,b\xe8,1,1\n", "not utf-8"), (b"1,x\n", "cannot be read"), (b'1,"x', "read")]
)
def test_what_is_wrong_late_in_a_pipe_is_named(model, late, said):
    main = [sys.executable, "-c", "from posteriori.cli.main import main; main()", "predict", str(model), "-"]
    with subprocess.Popen(main, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdin.write(b"a,b,c,stage\n1.5,0,x,1\n")
        running.stdin.flush()
        assert [running.stdout.readline()[:2] for _ in range(2)][-1] == b"1,"
        _, error = running.communicate(late, timeout=60)
    assert (running.returncode, said in error.decode(), len(error.splitlines())) == (3, True, 1), error


def test_answers_do_not_wait_for_the_end_of_a_pipe(data, model):
    main = [sys.executable, "-c", "from posteriori.cli.main import main; main()", "predict", str(model), "-"]
    lines = data.read_bytes().splitlines(keepends=True)
    with subprocess.Popen(main, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdin.write(b"".join(lines[:41]) + lines[41][:3])  # 40 rows, and a part of the next
        running.stdin.flush()
        assert [running.stdout.readline()[:2] for _ in range(41)][-1] == b"40"
        rest, said = running.communicate(lines[41][3:] + b"".join(lines[42:]), timeout=60)
    assert (len(rest.splitlines()), said.startswith(b"80 rows")) == (40, True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_training_reads_a_pipe_too(run, data, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    feeder = threading.Thread(target=(tmp_path / "pipe.csv").write_bytes, args=[data.read_bytes()])
    feeder.start()
    done = run("train", tmp_path / "pipe.csv", "-t", "class", "-m", "naive", "-o", tmp_path / "m.posteriori")
    feeder.join()
    assert (done.exit_code, po.load(tmp_path / "m.posteriori").class_count_.sum()) == (0, 80)


@pytest.mark.parametrize("way", WAYS)
def test_learning_a_file_twice_doubles_its_counts_and_forgetting_undoes_it(run, tmp_path, way):
    content, target = written(**WAYS[way])
    path, model, more = tmp_path / "t.csv", tmp_path / "m.posteriori", tmp_path / "n.posteriori"
    path.write_bytes(content)
    told = ["--missing", WAYS[way]["gap"]] if WAYS[way].get("gap") else []
    assert run("train", path, "-t", target, "-m", "naive", "-o", model, *told).exit_code == 0
    before = po.load(model)
    assert run("learn", model, path, "-o", more).exit_code == 0
    after = po.load(more)
    assert after.schema_.classes == before.schema_.classes
    assert after.schema_["town" if target == "class" else "x1"] == before.schema_["town" if target == "class" else "x1"]
    np.testing.assert_array_equal(after.class_count_, 2 * before.class_count_)
    assert run("forget", more, path).exit_code == 0
    np.testing.assert_array_equal(po.load(more).class_count_, before.class_count_)
    X = open_table(str(path), target, {}, missing=told[1:] or None).table.X
    np.testing.assert_allclose(po.load(more).predict_proba(X), before.predict_proba(X), rtol=1e-9)


SPELLED = ("-9", "-9.0", " -9", "-9.00e0")


def told_missing(gone, spelled="-9"):
    """One table with whole numbers, numbers and whole categories, some of them -9 in one spelling, or `gone` for good."""
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, N)
    frame = pd.DataFrame({"age": rng.integers(0, 90, N), "x": rng.normal(size=N) + y, "ward": rng.integers(1, 4, N)})
    for step, name in zip((4, 5, 6), frame):
        cells = frame[name].astype(object)
        cells[::step] = None if gone else spelled
        frame[name] = cells
    return frame.assign(**{"class": np.array(["no", "yes"])[y]})


@pytest.mark.parametrize("ending", ["parquet", "db", *SPELLED])
@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_a_number_told_to_be_missing_is_so_in_any_format_and_spelling(run, tmp_path, ending, kind):
    spelled = ending if ending in SPELLED else "-9"
    frame, gaps = told_missing(gone=False, spelled=spelled), tmp_path / "gaps.csv"
    told_missing(gone=True).to_csv(gaps, index=False)
    path = tmp_path / f"t.{ending if ending not in SPELLED else 'csv'}"
    typed = {"age": int, "x": float, "ward": int}
    if ending == "parquet":
        frame.astype(typed).to_parquet(path)
    elif ending == "db":
        with contextlib.closing(sqlite3.connect(path)) as engine:
            frame.astype(typed).to_sql("t", engine, index=False)
    else:
        frame.to_csv(path, index=False)
    told, tables = ["-t", "class", "-m", "naive", "--kind", f"ward={kind}"], {}
    for name, file, missing in (("told", path, ("--missing", "-9")), ("gaps", gaps, ())):
        model, out = tmp_path / f"{name}.posteriori", tmp_path / f"{name} answers.csv"
        done = run("train", file, "-o", model, *told, *missing)
        assert done.exit_code == 0, done.output
        done = run("predict", tmp_path / "told.posteriori", file, "-o", out)
        assert f"{15 + 12 + 10} cells missing, 0 with values unseen" in done.output
        statistics = po.load(model).statistics_
        tables[name] = pd.read_csv(out).filter(like="P(").to_numpy(), statistics.moments.n, statistics.cells.table
    for found, expected in zip(tables["told"], tables["gaps"]):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("cells", "told", "gone"),
    [
        (pa.array([True, False, True]), "1", []),
        (pa.array([2**53 + 1, 2**53, 5]), "5", [2]),
        (pa.array([2**53 + 1, 2**53, 5]), str(2**53 + 1), [0]),
        (pa.array([2**63 + 4097, 7, 9], pa.uint64()), "7", [1]),
        (pa.array([2**63 + 4097, 7, 9], pa.uint64()), str(2**63 + 4097), [0]),
        (pa.array([25, 1, 255], pa.uint8()), "-231", []),
        (pa.array([0.1, 0.5, 7], pa.float32()), "0.1", [0]),
        (pa.array([0.1, 0.5, 7], pa.float32()), "1e300", []),
        (pa.array([0.0, -0.0, 7.5]), "0", [0, 1]),
        (pa.array([1.5, 1e30, 7.5]), "1" + "0" * 30, [1]),
        (pa.array([1, 2, 3]), "1" + "0" * 400, []),
        (pa.array([1, 2, 3]), "1" + "0" * 5000, []),
        (pa.array([1, 2, 3]), "1.5", []),
        (pa.array([decimal.Decimal("-9.00"), decimal.Decimal("1.25"), decimal.Decimal("2.50")]), "-9", [0]),
    ],
)
@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_a_number_told_to_be_missing_is_the_same_cells_in_training_and_in_the_stream(tmp_path, cells, told, gone, kind):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": cells, "y": ["a", "b", "a"]}), path)
    table = po.read(path, target="y", kinds={"x": kind}, missing=told)
    assert np.flatnonzero(table.X["x"].isna()).tolist() == gone
    with batches(str(path), table.schema, "y") as rows:
        (batch,) = rows
    assert pd.Series(batch.columns["x"]).isna().to_numpy().nonzero()[0].tolist() == gone
    model = po.NaiveBayes(kinds=table.schema).fit(table.X, table.y)
    np.testing.assert_array_equal(model.predict_proba(batch.columns), model.predict_proba(table.X))


def truths(how):
    """One table, its truths, digits and labels written in one of many ways: (frame, ending)."""
    rng = np.random.default_rng(5)
    y = rng.random(N) < 0.5
    sick = np.where(rng.random(N) < 0.8, y, ~y)
    ward = (rng.random(N) < 0.3 + 0.4 * y).astype(int)
    as_words = {"True": str, "TRUE": lambda v: str(v).upper(), "true": lambda v: str(v).lower(), "typed": bool}[how]
    frame = pd.DataFrame({"sick": [as_words(bool(v)) for v in sick], "ward": ward, "x": rng.normal(size=N)})
    return frame.assign(**{"class": [as_words(bool(v)) for v in y]})


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("how", ["True", "TRUE", "true", "typed"])
@pytest.mark.parametrize("trained", ["True", "TRUE", "typed"])
def test_truths_and_digits_are_the_same_in_every_format_and_case(run, tmp_path, trained, how, ending):
    path, model, asked = tmp_path / "t.parquet", tmp_path / "m.posteriori", tmp_path / f"new.{ending}"
    truths(trained).astype({"ward": str}).to_parquet(path)
    new = truths(how)
    if ending == "csv":
        new.to_csv(asked, index=False)
    else:
        new.to_parquet(asked) if ending == "parquet" else new.to_json(asked, orient="records", lines=True)
    assert run("train", path, "-t", "class", "-m", "naive", "-o", model).exit_code == 0
    before = po.load(model)
    one, two = run("predict", model, path), run("predict", model, asked)
    assert "0 with values unseen" in one.stderr
    assert "0 with values unseen" in two.stderr
    own, other = (pd.read_csv(io.StringIO(done.stdout)).filter(like="P(").to_numpy() for done in (one, two))
    np.testing.assert_allclose(other, own, rtol=1e-6)
    assert run("learn", model, asked).exit_code == 0
    assert po.load(model).schema_ == before.schema_
    np.testing.assert_array_equal(po.load(model).class_count_, 2 * before.class_count_)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "America/New_York"])
def test_times_of_a_zone_are_answered_as_the_table_is(run, tmp_path, zone, ending):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, N)
    hours = pd.Timestamp("2024-03-01 23:30", tz=zone) + pd.to_timedelta(rng.integers(0, 2000, N) + 300 * y, unit="h")
    shift = pd.Timestamp("2024-01-01", tz=zone) + pd.to_timedelta(rng.integers(0, 2, N), unit="D")
    frame = pd.DataFrame({"when": hours, "shift": shift, "x": rng.normal(size=N), "class": np.array(["n", "y"])[y]})
    frame.loc[3, "when"] = pd.NaT
    path, model = tmp_path / f"t.{ending}", tmp_path / "m.posteriori"
    frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path, index=False)
    assert run("train", path, "-t", "class", "-m", "naive", "-o", model, "--kind", "shift=categorical").exit_code == 0
    done = run("predict", model, path)
    assert done.exit_code == 0, done.output
    assert "0 with values unseen" in done.stderr
    table = open_table(str(path), "class", {"shift": "categorical"}).table
    found = pd.read_csv(io.StringIO(done.stdout)).filter(like="P(").to_numpy()
    np.testing.assert_allclose(found, po.load(model).predict_proba(table.X), rtol=1e-9)
    before = po.load(model)
    assert run("learn", model, path).exit_code == 0
    assert po.load(model).schema_ == before.schema_
    np.testing.assert_array_equal(po.load(model).class_count_, 2 * before.class_count_)


def test_bins_of_a_target_are_remembered(run, tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "m.posteriori"
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    pd.DataFrame({"x": x, "y": x + rng.normal(size=200)}).to_csv(path, index=False)
    assert run("train", path, "-t", "y", "-m", "naive", "--bins", 4, "-o", model).exit_code == 0
    before = po.load(model)
    assert run("learn", model, path).exit_code == 0
    assert po.load(model).schema_.classes == before.schema_.classes
    np.testing.assert_array_equal(po.load(model).class_count_, 2 * before.class_count_)


def test_rows_without_a_label_are_left_out_by_train_and_learn_alike(run, tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "m.posteriori"
    path.write_text("x,y\n" + "1.5,a\n2.5,b\n" * 20 + "3.5,\n" + "1.25,a\n")
    done = run("train", path, "-t", "y", "-m", "naive", "-o", model)
    assert "1 row has no 'y' (first: row 41) and is left out" in done.output
    done = run("learn", model, path)
    assert "1 row has no 'y' (first: row 41) and is left out" in done.output
    assert po.load(model).class_count_.tolist() == [42, 40]


@pytest.mark.parametrize("target", ["y", "c"])
def test_whole_numbers_beyond_a_float_stay_apart(run, tmp_path, target):
    path, model = tmp_path / "t.csv", tmp_path / "m.posteriori"
    path.write_text("c,y\n" + f"{2**53},{2**53}\n{2**53 + 1},{2**53 + 1}\n" * 30)
    kinds = ["--kind", "c=categorical", "--kind", "y=categorical"]
    assert run("train", path, "-t", target, "-m", "naive", "-o", model, *kinds).exit_code == 0
    assert run("learn", model, path).exit_code == 0
    assert po.load(model).class_count_.tolist() == [60, 60]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("1.5,x,2020-02-30", "row 2, column 'when': '2020-02-30' is no date"),
        ("1.5,x,31.12.2020", "row 2, column 'when': '31.12.2020' is no date"),
        ("inf,x,2020-01-01", "row 2, column 'size': inf is no finite number"),
        ("many,x,2020-01-01", "row 2, column 'size': 'many' is no number"),
    ],
)
def test_a_cell_that_cannot_be_meant_is_named(run, tmp_path, cell, said):
    path, model = tmp_path / "t.csv", tmp_path / "m.posteriori"
    path.write_bytes(written()[0])
    assert run("train", path, "-t", "class", "-m", "naive", "-o", model).exit_code == 0
    new = tmp_path / "new.csv"
    new.write_text(f"size,town,when\n1.5,Ulm,2020-01-01\n{cell}\n")
    done = run("predict", model, new)
    assert done.exit_code == 4
    assert f"new.csv, {said}" in done.stderr


def test_a_schema_keeps_how_its_file_was_read(tmp_path):
    table = po.read(io.BytesIO(written(**WAYS["all at once"])[0]), target="class", missing="k.A.")
    po.save(table.schema, tmp_path / "s.posteriori")
    assert po.load(tmp_path / "s.posteriori").reading == table.schema.reading
    assert table.schema.reading.decimal == ","
    assert table.schema.reading.dates == (("when", "%d.%m.%Y"),)
