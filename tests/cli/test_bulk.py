"""Streamed training: the same model as from the whole table, whatever the blocks; faults are named by their line."""

from __future__ import annotations

import dataclasses
import datetime
import gzip
import re

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.cli import bulk
from posteriori.errors import BadValue, FormatError
from posteriori.table import batches
from posteriori.table import text as module
from posteriori.table.batches import batch_of
from posteriori.table.schema import Column, Reading, Schema
from posteriori.table.text import Block, Dialect


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(bulk, "LARGE", 1)
    monkeypatch.setattr(bulk, "HEAD", 20_000)
    monkeypatch.setattr(module, "BLOCK", 5_000)


@pytest.fixture
def large(tmp_path):
    rng = np.random.default_rng(0)
    n = 3000
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame({"x": np.round(rng.normal(size=n) + y, 3), "z": rng.normal(size=n) * 1e6})
    frame["word"] = rng.choice(["red", "blue", "grün", 'quo"ted', "two\nlines"], n)
    frame["few"] = rng.integers(1, 5, n)
    frame["when"] = pd.date_range("2020-01-01", periods=n, freq="D").strftime("%Y-%m-%d")
    frame["class"] = np.array(["low", "mid", "high"])[y]
    frame.loc[::17, "x"] = np.nan
    frame.loc[::13, "word"] = None
    frame = frame.sort_values("class")  # the head knows one class only
    path = tmp_path / "large.csv"
    frame.to_csv(path, index=False)
    return path


def train(run, path, name, *words):
    out = path.with_name(name)
    done = run("train", path, "-t", "class", "-m", "naive", "-o", out, *words)
    assert done.exit_code == 0, done.output
    return po.load(out), done


def test_blocks_give_the_model_of_the_whole_table(run, large, monkeypatch):
    streamed, done = train(run, large, "s.posteriori")
    assert "3,000 rows, kinds by the first" in done.stdout
    monkeypatch.setattr(bulk, "LARGE", 1 << 60)
    whole, _ = train(run, large, "w.posteriori")
    assert streamed.schema_.names == whole.schema_.names
    assert streamed.class_count_.tolist() == whole.class_count_.tolist()
    assert streamed.schema_["word"].values == whole.schema_["word"].values
    assert np.array_equal(streamed.statistics_.cells.table, whole.statistics_.cells.table)
    rows = large.with_name("new.csv")
    pd.read_csv(large)[::50].to_csv(rows, index=False)
    one, two = (run("predict", large.with_name(n), rows).stdout for n in ("s.posteriori", "w.posteriori"))
    p, q = (np.array([line.split(",")[4:] for line in t.splitlines()[1:]], dtype=float) for t in (one, two))
    assert np.allclose(p, q, rtol=1e-7)


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet"])
def test_a_packed_file_and_parquet_are_streamed_to_the_model_of_the_whole_table(run, large, monkeypatch, ending):
    frame = pd.read_csv(large, parse_dates=["when"])
    frame.loc[::7, ["few", "class"]], frame.loc[::5, "z"] = None, None  # whole numbers beside missing ones
    file = large.with_name(f"t{ending}")
    frame.convert_dtypes().to_parquet(file) if ending == ".parquet" else frame.convert_dtypes().to_csv(
        file, index=False
    )
    monkeypatch.setattr(batches, "BATCH", 700)
    streamed, done = train(run, file, "s.posteriori")
    assert "2,571 rows, kinds by the first" in done.stdout
    assert "429 rows have no 'class' and are left out" in done.stdout
    monkeypatch.setattr(bulk, "LARGE", 1 << 60)
    whole, _ = train(run, file, "w.posteriori")
    assert streamed.schema_.names == whole.schema_.names
    assert [c.values for c in streamed.schema_.columns] == [c.values for c in whole.schema_.columns]
    assert np.array_equal(streamed.statistics_.cells.table, whole.statistics_.cells.table)
    assert np.allclose(streamed.statistics_.moments.mean, whole.statistics_.moments.mean, rtol=1e-10)


def test_a_packed_file_that_is_cut_is_named(run, tmp_path):
    for n in (600, 60_000):  # in the head, and behind it
        packed = gzip.compress(b"x,y\n" + b"".join(b"%d.5,%c\n" % (i * i, b"ab"[i % 2]) for i in range(n)))
        (tmp_path / "t.csv.gz").write_bytes(packed[:-500])
        done = run("train", tmp_path / "t.csv.gz", "-t", "y", "-m", "naive", "-o", tmp_path / "m.posteriori")
        assert (done.exit_code, "is no complete gzip file, though it ends in .gz" in done.stderr) == (3, True), (
            done.output
        )


def test_the_size_of_a_block_changes_nothing(run, large, monkeypatch):
    first, _ = train(run, large, "a.posteriori")
    monkeypatch.setattr(module, "BLOCK", 17_000)
    again, _ = train(run, large, "b.posteriori")
    assert np.array_equal(first.statistics_.cells.table, again.statistics_.cells.table)
    assert np.allclose(first.statistics_.moments.mean, again.statistics_.moments.mean, rtol=1e-10)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda row: row.replace(row.split(",")[0], "12x", 1), "column 'x': '12x' is no number"),
        (lambda row: row + ",9", "5 cells where the header has 4"),
    ],
)
def test_a_fault_far_down_is_named_by_its_line(run, tmp_path, edit, said):
    rows = ["x,y,c,class", *(f"{i % 97}.5,{i % 89}.25,{'ab'[i % 2]},{'no' if i % 3 else 'yes'}" for i in range(9000))]
    rows[7430] = edit(rows[7430])
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows) + "\n")
    done = run("train", path, "-t", "class", "-m", "naive", "-o", tmp_path / "m.posteriori")
    assert (done.exit_code, len(done.stderr.splitlines())) == (3, 1), done.output
    assert "line 7431" in done.stderr
    assert said in done.stderr
    assert not (tmp_path / "m.posteriori").exists()


def test_one_class_in_all_blocks(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,class\n" + "".join(f"{i}.5,no\n" for i in range(4000)))
    done = run("train", path, "-t", "class", "-m", "naive", "-o", tmp_path / "m.posteriori")
    assert (done.exit_code, "one class only" in done.stderr) == (4, True)


@pytest.mark.parametrize("where", [slice(None, None, 50), slice(2500, 2510), slice(0, 7)])
def test_rows_without_a_label_are_counted_and_said(run, large, where):
    frame = pd.read_csv(large)
    frame.loc[frame.index[where], "class"] = None
    frame.to_csv(large, index=False)
    gone = int(frame["class"].isna().sum())
    model, done = train(run, large, "s.posteriori")
    assert done.stdout.count("are left out") == 1
    assert f"{gone} rows have no 'class' and are left out" in done.stdout
    assert model.class_count_.sum() == len(frame) - gone


def frame_of(n=900):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame({"x": np.round(rng.normal(size=n) + y, 3), "few": rng.integers(1, 5, n).astype(object)})
    return frame.assign(word=rng.choice(["red", "blue"], n), **{"class": np.array(["no", "yes"])[y]})


def late(what):
    frame = frame_of()
    if what == "a word among whole numbers":
        frame.loc[700, "few"] = "three"
    elif what == "a quote":
        frame.loc[700, "word"] = "red, or blue"
    elif what == "signs and blanks":
        frame["few"] = [f"+{v}" if i % 3 else f" {v} " for i, v in enumerate(frame["few"])]
        frame["x"] = [f"{v:+}" for v in frame["x"]]
    elif what == "long numbers":
        frame["few"] += 10**20
    elif what == "numbers told to be missing":
        frame.loc[::5, "few"], frame.loc[::7, "x"] = -9, -9.0
        frame["x"] = [f"{v:.2e}" if i % 14 else f"{v:.3f}" for i, v in enumerate(frame["x"])]
    elif what == "lines in quotes":
        frame.loc[::2, "word"] = "red\nor\nblue"
    return frame.to_csv(index=False)


WAYS = {
    "a word among whole numbers": (lambda: late("a word among whole numbers"), ()),
    "a quote": (lambda: late("a quote"), ()),
    "signs and blanks": (lambda: late("signs and blanks"), ()),
    "long numbers": (lambda: late("long numbers"), ()),
    "numbers told to be missing": (lambda: late("numbers told to be missing"), ("--missing", "-9")),
    "lines in quotes": (lambda: late("lines in quotes"), ()),
    "decimal commas": (lambda: frame_of().to_csv(index=False, sep=";", decimal=","), ()),
    "words for missing cells": (lambda: frame_of().replace("blue", "k.A.").to_csv(index=False), ("--missing", "k.A.")),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("head", [1501, 1517, 4001])
def test_what_comes_late_in_a_file_is_read_as_in_the_whole(run, tmp_path, monkeypatch, way, head):
    content, words = WAYS[way]
    path = tmp_path / "t.csv"
    path.write_text(content())
    monkeypatch.setattr(bulk, "HEAD", head)
    monkeypatch.setattr(module, "BLOCK", 700)
    streamed, _ = train(run, path, "s.posteriori", *words)
    monkeypatch.setattr(bulk, "LARGE", 1 << 60)
    whole, _ = train(run, path, "w.posteriori", *words)
    for name in ("few", "word"):
        assert list(map(str, streamed.schema_[name].values)) == list(map(str, whole.schema_[name].values))
    assert np.array_equal(streamed.statistics_.cells.table, whole.statistics_.cells.table)
    assert np.array_equal(streamed.statistics_.moments.n, whole.statistics_.moments.n)
    assert streamed.kinds.reading == whole.kinds.reading


# the functions themselves


def columns_of(**kinds):
    return tuple(Column(name, kind[0], kind[1:]) for name, kind in kinds.items())


def plan_of(*columns, names=(), mark=",", quote='"', skip=1, target="y", classes=(), dates=(), **reading):
    schema = Schema(columns, classes, target=target, reading=Reading(**reading))
    return bulk.Plan(Dialect("t.csv", (*names,), mark, quote, skip), schema, frozenset(dates))


def block_of(line, content):
    return Block(line, content, content.count(b"\n"))


def parsed(plan, line, content):
    return bulk._parsed(plan, block_of(line, content))


def test_a_file_is_streamed_where_it_is_large_plain_text(tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "LARGE", 12)
    for name, content, streamed in [
        ("a.csv", b"x,y\n1,2\n3,4\n", True),
        ("a.TSV", b"x\ty\n1\t2\n3\t4\n", True),
        ("b.csv", b"x,y\n1,2\n3,4", False),  # a byte less
        ("c.txt", b"x,y\n1,2\n3,4\n", False),
        ("d.csv", "x,y\nä,2\n3,4\n".encode("cp1252"), False),
        ("e.csv", "x,y\nä,2\n3,4\n".encode(), True),
    ]:
        (tmp_path / name).write_bytes(content)
        assert bulk.is_bulk(str(tmp_path / name)) == streamed, name
    (tmp_path / "folder_of_many.csv").mkdir()
    assert not bulk.is_bulk(str(tmp_path / "folder_of_many.csv"))
    assert not bulk.is_bulk(str(tmp_path / "none.csv"))
    assert not bulk.is_bulk("-")


def test_a_head_is_whole_lines_and_one_that_is_longer_than_it_is_what_there_is(tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "HEAD", 10)
    path = tmp_path / "t.csv"
    for content, head in [
        (b"x,y\n1,2\n3,4\n", b"x,y\n1,2\n"),
        (b"x,y\n1,2\n", b"x,y\n1,2\n"),
        (b"123456789012", b"1234567890"),
    ]:
        path.write_bytes(content)
        found = bulk._head(str(path))
        assert (found.getvalue(), found.name) == (head, str(path))


@pytest.mark.parametrize(
    ("text", "names", "mark", "quote", "skip"),
    [
        ("x,c,y\n" + "1.5,u,a\n2.5,v,b\n" * 9, ["x", "c", "y"], ",", '"', 1),
        ("x;c;y\n" + '1.5;"u";a\n2.5;v;b\n' * 9, ["x", "c", "y"], ";", '"', 1),
        ("x,c,y\n" + "1.5,'u, v',a\n2.5,v,b\n" * 9, ["x", "c", "y"], ",", "'", 1),
        ("1.5,u,a\n2.5,v,b\n" * 9, ["x0", "x1", "x2"], ",", '"', 0),
        ("a title\nx,c,y\n" + "1.5,u,a\n2.5,v,b\n" * 9, ["x", "c", "y"], ",", '"', 2),
    ],
)
def test_a_plan_is_what_the_head_says(tmp_path, text, names, mark, quote, skip):
    path = tmp_path / "t.csv"
    path.write_text(text)
    source = bulk.open_head(bulk._head(str(path)), names[2], {}, None)
    plan = bulk._plan(str(path), source, names[2])
    assert plan.dialect.names == tuple(names)
    assert (plan.dialect.source, plan.dialect.mark, plan.dialect.quote, plan.dialect.skip) == (
        str(path),
        mark,
        quote,
        skip,
    )
    assert (plan.schema.target, plan.schema.classes, plan.dates) == (names[2], (), frozenset())
    assert plan.schema.kinds == ("numeric", "categorical")
    model, _ = bulk._fitted(str(path), source, plan.schema.target, bulk._of_text(str(path), plan), lambda *_: None)
    assert model.class_count_.tolist() == [9, 9]


def test_classes_of_numbers_and_dates_in_a_plan(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("when,y\n" + "2020-01-05,3\n2020-02-07,1\n" * 9)
    plan = bulk._plan(str(path), bulk.open_head(bulk._head(str(path)), "y", {"y": "categorical"}, None), "y")
    assert (plan.schema.classes, plan.dates) == ((1, 3), {"when"})
    assert plan.schema.names[0] == "when"


def test_columns_are_open_to_values_that_come_later():
    assert bulk._open(Column("c", "binary", (0, 1), frozenset((0, 1))), False) == Column("c", "categorical", (0, 1))
    assert bulk._open(Column("c", "categorical", (1, 2)), True) == Column("c", "categorical")
    assert bulk._open(Column("x", "count"), False) == Column("x", "count")


def test_cells_are_read_as_the_plan_says():
    plan = plan_of(
        *columns_of(x=("numeric",), n=("count",), c=("categorical", "u", "v"), t=("text",), when=("numeric",)),
        names=["id", "x", "n", "c", "t", "when", "y"], mark=";", dates=("when",), decimal=",", missing=("weg",),
    )  # fmt: skip
    table = parsed(plan, 2, b'7;1,5;3;u;"one\n""two""";2020-01-02;a\n8;weg;;weg;;2020/01/03;\n')
    assert table.schema.names == ["x", "n", "c", "t", "when", "y"]  # the id is not read at all
    assert table.num_rows == 2
    assert table.column("x").to_pylist() == [1.5, None]
    assert table.column("n").to_pylist() == [3, None]
    assert table.column("t").to_pylist() == ['one\n"two"', ""]
    assert table.column("when").to_pylist() == [datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 3)]
    assert table.column("y").to_pylist() == ["a", None]
    plain = plan_of(*columns_of(c=("categorical",)), names=["c", "y"], quote="")
    assert parsed(plain, 2, b'"u,a\nv",b\n').column("c").to_pylist() == ['"u', 'v"']
    reading = Reading(dates=(("when", "%d.%m.%Y"),))
    german = plan_of(*columns_of(when=("numeric",)), names=["when", "y"], dates=("when",))
    german = dataclasses.replace(german, schema=dataclasses.replace(german.schema, reading=reading))
    assert parsed(german, 2, b"03.02.2020,a\n").column("when").to_pylist() == [datetime.datetime(2020, 2, 3)]


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (b"1.5,u,a\n1.5,u\n", "t.csv, line 8: 2 cells where the header has 3"),
        (b"1.5,u,a\n2,v,b\n2x,v,b\n",
         "t.csv, line 9, column 'x': '2x' is no number, as the first rows have there; mend it, "
         "--missing '2x' reads it as missing, --kind x=categorical takes all as words"),
    ],
)  # fmt: skip
def test_a_fault_is_named_by_its_line(block, said):
    plan = plan_of(*columns_of(x=("numeric",), c=("categorical",)), names=["x", "c", "y"])
    with pytest.raises(FormatError, match=f"^{re.escape(said)}$"):
        parsed(plan, 7, block)


def test_values_that_differ_in_blanks_are_said_of_all_blocks(run, tmp_path):
    frame = frame_of()
    frame.loc[800, "word"], frame.loc[801, "class"] = "red ", "No"
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    model, done = train(run, path, "s.posteriori")
    said = run("inspect", str(tmp_path / "s.posteriori")).stdout
    for answer in (done.stdout, said):
        text = " ".join(answer.split())
        assert "class: 'No' and 'no' differ only in case; write them alike if they mean the same" in text
        assert "word: 'red' and 'red ' differ only in blanks; strip them if they mean the same" in text
    assert set(model.classes_) == {"No", "no", "yes"}


def test_an_infinite_cell_is_named_by_its_line():
    plan = plan_of(*columns_of(x=("numeric",)), names=["x", "y"])
    with pytest.raises(FormatError, match=r"t.csv, line 8, column 'x': no finite number; mend it"):
        parsed(plan, 7, b"1,a\n1e400,b\n,a\n")


def test_a_date_that_is_none_is_named_as_one():
    plan = plan_of(*columns_of(when=("numeric",)), names=["when", "y"], dates=("when",))
    with pytest.raises(FormatError, match="line 8, column 'when': '2024-02-30' is no date, as the first rows have"):
        parsed(plan, 7, b"2024-02-29,a\n2024-02-30,b\n")


def test_a_block_is_counted_without_the_rows_that_have_no_label():
    plan = plan_of(*columns_of(x=("numeric",), c=("categorical", 1, 2)), names=["x", "c", "y"], classes=("a", "b"))
    model, gone = bulk._counted(plan, block_of(2, b"1,2,a\n5,1,\n3,,b\n5,2,b\n"))
    assert gone == 1
    assert (model.classes_.dtype.kind, model.classes_.tolist(), model.class_count_.tolist()) == (
        "U",
        ["a", "b"],
        [1, 2],
    )
    assert (model.schema_["c"].values, model.n_jobs) == ((2,), 1)
    assert model.statistics_.cells.table.tolist() == [[1, 1]]
    assert model.statistics_.moments.mean.tolist() == [[1.0], [4.0]]
    assert bulk._counted(plan, block_of(2, b"1,2,\n5,1,\n")) == (None, 2)
    whole, gone = bulk._counted(plan, block_of(2, b"1,2,a\n5,1,b\n"))
    assert (whole.class_count_.tolist(), gone) == ([1, 1], 0)


def test_a_column_is_read_by_its_kind():
    plan = plan_of(
        *columns_of(x=("numeric",), few=("categorical", 1, 2), word=("categorical",), new=("categorical",)),
        *columns_of(**{"when.month": ("categorical",), "when.year": ("numeric",), "own.hour": ("categorical",)}),
        names=["x", "few", "word", "new", "when", "own.hour", "y"], dates=("when",),
    )  # fmt: skip
    table = parsed(plan, 2, b"1.5,2,u,3,2021-02-03,k,a\n,,2,,,1,a\n")
    found = batch_of(table, plan.schema, "y", np.arange(2), "t.csv").columns
    np.testing.assert_array_equal(found["x"], [1.5, np.nan])
    assert found["few"].tolist() == [2, None]  # numbers, as the head has them
    assert found["word"].to_pylist() == ["u", "2"]
    assert found["new"].to_pylist() == ["3", None]
    assert found["when.month"].tolist() == [2, None]
    assert (found["when.year"].dtype, found["when.year"][0]) == (float, 2021.0)
    assert found["own.hour"].to_pylist() == ["k", "1"]  # a column of the file, whatever its name
    with pytest.raises(bulk._Words) as caught:
        bulk._counted(plan, block_of(2, b",1,,,,,a\n,one,,,,,a\n"))
    assert (caught.value.column, caught.value.args) == ("few", ("few",))
    told = dataclasses.replace(plan.schema, reading=Reading(missing=("2",)))
    found = batch_of(table, told, "y", np.arange(2), "t.csv").columns
    assert found["word"].tolist() == ["u", None]
    assert found["new"].tolist() == ["3", None]


def test_told_hears_every_block_and_the_model_wants_all_processors(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 40)
    path, heard = tmp_path / "t.csv", []
    path.write_text("x,y\n" + "".join(f"{i}.5,{'ab'[i % 2]}\n" for i in range(40)))
    model, source = bulk.fit_bulk(str(path), "y", {}, None, lambda done, size: heard.append((done, size)))
    size = path.stat().st_size
    assert {all_of for _, all_of in heard} == {size}
    done = [n for n, _ in heard]
    assert len(done) > 4
    assert done == sorted(done)
    assert done[-1] == size - len("x,y\n")
    assert (model.n_jobs, model.class_count_.tolist(), source.notes) == (None, [20, 20], ())


@pytest.mark.parametrize(
    ("rows", "said"), [("1,\n" * 9 + "2,\n", "no rows with a 'y'"), ("1,b\n" * 9, "one class only, 'b'")]
)
def test_a_file_without_two_classes_is_refused(tmp_path, rows, said):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1.5,a\n2.5,b\n")
    source = bulk.open_head(bulk._head(str(path)), "y", {}, None)
    plan = bulk._plan(str(path), source, "y")
    path.write_text("x,y\n" + rows)
    with pytest.raises(BadValue, match=said):
        bulk._fitted(str(path), source, plan.schema.target, bulk._of_text(str(path), plan), lambda *_: None)
