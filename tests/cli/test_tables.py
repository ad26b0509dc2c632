"""Files as people have them: each fault is one line that names its place, and an exit code."""

from __future__ import annotations

import io
import json
import os
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.cli.render import Out
from posteriori.cli.tables import (
    Source,
    _classes,
    _copies,
    _line,
    _mixed,
    _row_of,
    _whole,
    _with_dates,
    _without_dull,
    _without_ids,
    binned,
    open_head,
    open_source,
    open_table,
    refuse_words,
    say_table,
    told_kinds,
    without,
)
from posteriori.errors import BadParameter, BadValue, UnknownColumn
from posteriori.table.cells import in_bins
from posteriori.table.schema import Column

GOOD = ["a,b,class", *(f"{i % 7}.5,{'xyz'[i % 3]},{'no' if i % 2 else 'yes'}" for i in range(40))]


def lines(edit=None, n=None):
    found = list(GOOD)
    if edit:
        edit(found)
    return "\n".join(found[:n]) + "\n"


def put(at, text):
    return lambda found: found.__setitem__(at, text)


FAULTS = {
    "more cells": (lines(put(30, "1.5,x,no,9")), 3, "line 31"),
    "fewer cells": (lines(put(30, "1.5,x")), 3, "line 31"),
    "no target": (lines(put(0, "a,b,klass")), 4, "did you mean 'klass'"),
    "two names": (lines(put(0, "a,a,class")), 4, "duplicate columns: 'a'"),
    "one class": ("a,class\n" + "1.5,no\n" * 30, 4, "one class only"),
    "no rows": ("a,b,class\n", 4, "has no rows"),
    "empty": ("", 3, "is empty"),
    "no labels": ("a,class\n" + "1.5,\n" * 30, 4, "no rows"),
    "binary": (b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe" * 30, 3, "is no text"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line_and_nothing_is_written(run, tmp_path, fault):
    content, code, said = FAULTS[fault]
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run("train", path, "-t", "class", "-m", "naive", "-o", tmp_path / "m.posteriori")
    assert (done.exit_code, len(done.stderr.splitlines())) == (code, 1), done.output
    assert said in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["t.csv"]
    assert "Traceback" not in done.output


def test_a_word_among_numbers_is_named_by_line_column_and_value(run, tmp_path):
    rows = ["a,class", *(f"{i}.25,{i % 2}" for i in range(10_000))]
    rows[7430] = "12x,0"
    (tmp_path / "t.csv").write_text("\n".join(rows))
    done = run("train", tmp_path / "t.csv", "-t", "class", "-m", "naive", "-o", tmp_path / "m.posteriori")
    assert done.exit_code == 4
    assert "line 7431, column 'a': '12x' is no number" in done.stderr
    done = run(
        "train", tmp_path / "t.csv", "-t", "class", "-m", "naive", "-o", tmp_path / "m.posteriori", "--missing", "12x"
    )
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("name", "content", "way"),
    [
        ("t.csv", "1,2,a\n3,4,b\n" * 9, "put a line of names above it"),
        ("t.csv", "x;y\n" + "1,500;a\n2,250;b\n" * 9, "written as 1500 or as 1.500 they are numbers"),
        ("t.odd", "x,y\n1,a\n2,b\n", "known endings: '.csv'"),
        ("t.arff", "@relation t\n@attribute x real\n@attribute y {a, b}\n@data\n1,a\n2,b\n", "sql (--sql) asks DuckDB"),
    ],
)
def test_a_way_out_is_one_that_the_command_line_has(run, tmp_path, name, content, way):
    path = tmp_path / name
    path.write_text(content)
    words = ("--sql", "FROM this") if name.endswith("arff") else ()
    done = run("train", path, "-t", "y", "-m", "naive", "-o", tmp_path / "m.posteriori", *words)
    said = " ".join(done.output.split())
    assert way in said
    for found in re.finditer(r"\b(header|decimal|format|sql|kinds|missing)=", said):
        assert "in Python" in said[max(0, found.start() - 30) : found.start()]


def test_a_folder_a_missing_file_and_one_that_may_not_be_read(run, tmp_path, data):
    assert run("compare", tmp_path, "-t", "class").exit_code == 3
    done = run("compare", tmp_path / "dat.csv", "-t", "class")
    assert (done.exit_code, "did you mean 'data.csv'" in done.stderr) == (3, True)
    data.chmod(0)
    if not os.access(data, os.R_OK):
        done = run("compare", data, "-t", "class")
        assert (done.exit_code, "Permission denied" in done.stderr) == (3, True)


def test_a_model_that_cannot_be_written_is_said_before_the_work(run, data, tmp_path):
    done = run("train", data, "-t", "class", "-o", tmp_path / "no" / "m.posteriori")
    assert (done.exit_code, len(done.stderr.splitlines())) == (6, 1)
    assert run("train", data, "-t", "class", "-o", tmp_path).exit_code == 6


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_one_line(run, data, model, monkeypatch):
    real = os.fsync

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    before = model.read_bytes()
    done = run("train", data, "-t", "class", "-m", "naive", "-o", model)
    monkeypatch.setattr(os, "fsync", real)
    assert (done.exit_code, "No space left" in done.stderr) == (6, True), done.output
    assert model.read_bytes() == before
    assert not list(model.parent.glob(".m.*"))


def test_a_byte_order_mark_is_no_part_of_a_name(run, tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + lines().encode())
    done = run("train", tmp_path / "t.csv", "-t", "class", "-m", "naive", "-o", tmp_path / "m.posteriori", "--json")
    assert json.loads(done.stdout)["columns"][0]["name"] == "a"


def test_ids_are_left_out_and_said_unless_their_kind_is_told(run, data, tmp_path):
    frame = pd.read_csv(data)
    frame.insert(0, "serial", range(1000, 1000 + len(frame)))
    frame.insert(0, "name", [f"person {i}" for i in range(len(frame))])
    frame.to_csv(data, index=False)
    words = ("train", data, "-t", "class", "-m", "naive", "-o", tmp_path / "m.posteriori")
    done = run(*words)
    assert "name: left out" in done.stdout
    assert "serial: left out" in done.stdout
    assert po.load(tmp_path / "m.posteriori").schema_.names == ("a", "b", "c", "stage")
    run(*words, "--kind", "serial=numeric")
    assert "serial" in po.load(tmp_path / "m.posteriori").schema_.names


def test_rows_without_a_label_are_left_out_and_said(run, data, tmp_path):
    frame = pd.read_csv(data)
    frame.loc[[3, 5], "class"] = None
    frame.to_csv(data, index=False)
    done = run("train", data, "-t", "class", "-m", "naive", "-o", tmp_path / "m.posteriori")
    assert "2 rows have no 'class'" in done.stdout


def test_a_quantity_is_no_class_until_it_is_cut(run, data, tmp_path):
    words = ("train", data, "-t", "a", "-m", "naive", "-o", tmp_path / "m.posteriori")
    done = run(*words)
    assert done.exit_code == 4
    assert "--bins 4" in done.stderr
    assert run(*words, "--bins", 3).exit_code == 0
    model = po.load(tmp_path / "m.posteriori")
    assert len(model.classes_) == 3
    assert model.class_count_.tolist() == [27, 27, 26]


def test_bins_keep_equal_numbers_together_and_stand_in_order():
    y = np.array([0.0] * 50 + list(range(1, 51)))
    labels, classes, edges = binned(y, 4)
    assert [labels[y <= e].tolist()[-1] for e in edges] == classes[:-1]
    assert len(classes) == 3
    assert classes == sorted(classes)
    assert len(set(labels[:50])) == 1
    many = binned(np.arange(100.0), 12)[1]
    assert many == sorted(many)


def test_dates_become_columns_and_come_back_in_prediction(run, tmp_path):
    days = pd.date_range("2024-01-01", periods=200, freq="D")
    frame = pd.DataFrame({"when": days.strftime("%Y-%m-%d"), "y": np.where(days.day_of_week >= 5, "rest", "work")})
    frame.to_csv(tmp_path / "d.csv", index=False)
    model = tmp_path / "m.posteriori"
    done = run("train", tmp_path / "d.csv", "-t", "y", "-m", "naive", "-o", model)
    assert done.exit_code == 0, done.output
    assert "when.weekday" in done.stdout
    assert "dates from 2024-01-01 on" in done.stdout
    new = pd.DataFrame({"when": ["2024-07-27", "2024-07-29"]})  # a Saturday, a Monday
    new.to_csv(tmp_path / "n.csv", index=False)
    found = run("predict", model, tmp_path / "n.csv").stdout.splitlines()
    assert [line.split(",")[1] for line in found[1:]] == ["rest", "work"]


def test_ten_thousand_columns(run, tmp_path):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.integers(0, 2, (30, 10_000)), columns=[f"c{j}" for j in range(10_000)])
    wide["class"] = ["a", "b"] * 15
    wide.to_csv(tmp_path / "w.csv", index=False)
    done = run("train", tmp_path / "w.csv", "-t", "class", "-m", "naive", "-o", tmp_path / "m.posteriori")
    assert done.exit_code == 0, done.output
    assert "and 9,970 more" in done.stdout


@pytest.mark.parametrize("kind", ["a", "a=number", "=numeric"])
def test_kinds_that_are_none(run, data, kind):
    done = run("train", data, "-t", "class", "--kind", kind)
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 1


def test_strange_text_comes_out_as_text(run, tmp_path):
    strange = ["[red]no[/red]", "<script>", "\x1b[31mred", "中文", "🙂", "\u202eevil", "a\nb", "=cmd"]
    frame = pd.DataFrame({"[bold]x": np.arange(80) % 5, "text\x1b[2J": strange * 10, "y": strange * 10})
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = run("compare", tmp_path / "t.csv", "-t", "y", "-m", "naive", "-m", "baseline", "--cv", 2)
    assert done.exit_code == 0, done.output
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    for said in ("[red]no[/red]", "<script>", "\\x1b[31mred", "中文", "[bold]x", "a\\nb"):
        assert said in done.stdout, said


def test_a_query_over_the_file(run, data, tmp_path):
    done = run("train", data, "-t", "class", "-m", "naive", "-o", tmp_path / "m.posteriori", "--json",
               "--sql", "SELECT a, class FROM this LIMIT 50")  # fmt: skip
    assert json.loads(done.stdout)["rows"] == 50


def test_json_lines_and_parquet_in(run, data, tmp_path):
    frame = pd.read_csv(data)
    frame.to_parquet(tmp_path / "d.parquet")
    frame.to_json(tmp_path / "d.jsonl", orient="records", lines=True)
    for path in (tmp_path / "d.parquet", tmp_path / "d.jsonl"):
        done = run("train", path, "-t", "class", "-m", "naive", "-o", tmp_path / "m.posteriori", "--json")
        assert json.loads(done.stdout)["rows"] == 80, done.output


def test_columns_that_say_nothing_are_left_out_and_said(run, data, tmp_path):
    path, out = tmp_path / "dull.csv", tmp_path / "m.posteriori"
    pd.read_csv(data).assign(empty=None, same="one", nearly=["one", *[None] * 79]).to_csv(path, index=False)
    done = run("train", path, "-t", "class", "-m", "naive", "-o", out)
    assert "empty: left out, every cell is missing" in done.stdout
    assert "same: left out, every cell is 'one'" in done.stdout
    assert set(po.load(out).schema_.names) == {"a", "b", "c", "stage", "nearly"}
    path.write_text("class\na\nb\na\nb\n")
    done = run("train", path, "-t", "class", "-m", "naive", "-o", out)
    assert done.exit_code == 4
    assert "no column besides the target" in done.stderr


def test_numbers_that_some_words_make_words_are_said(run, data, tmp_path):
    path = tmp_path / "mixed.csv"
    frame = pd.read_csv(data)
    frame["a"] = frame["a"].astype(object)
    frame.loc[::9, "a"] = "weiss nicht"
    frame.to_csv(path, index=False)
    done = run("train", path, "-t", "class", "-m", "naive", "-o", tmp_path / "m.posteriori")
    assert "a: 9 of 80 cells are no numbers, 'weiss nicht' the first" in " ".join(done.stdout.split())


@pytest.mark.parametrize(("said", "meant"), [("CLASS", "class"), (" class", "class"), ("A", "a"), ("clas", "class")])
def test_the_nearest_name_is_offered_whatever_its_case(run, data, said, meant):
    done = run("train", data, "-t", said, "-m", "naive")
    assert done.exit_code == 4
    assert f"did you mean {meant!r}?" in done.stderr


def test_copies_of_rows_are_said_where_they_are_no_chance(run, data, tmp_path):
    path, out = tmp_path / "twice.csv", tmp_path / "m.posteriori"
    frame = pd.read_csv(data)
    pd.concat([frame, frame[:20]]).to_csv(path, index=False)
    said = "20 of 100 rows are copies of others"
    assert said in run("train", path, "-t", "class", "-m", "naive", "-o", out).stdout
    assert "are copies" not in run("train", data, "-t", "class", "-m", "naive", "-o", out).stdout
    pd.concat([frame[["b", "c", "class"]]] * 2).to_csv(path, index=False)  # of few values: rows are alike by chance
    assert "are copies" not in run("train", path, "-t", "class", "-m", "naive", "-o", out).stdout


def notes_of(tmp_path, **columns):
    """(columns that are left, what is said) of a table read for training."""
    path = tmp_path / "t.csv"
    n = len(next(iter(columns.values())))
    pd.DataFrame({**columns, "fine": [f"{i % 3}" for i in range(n)], "class": [f"c{i % 2}" for i in range(n)]}).to_csv(
        path, index=False
    )
    source = open_table(str(path), "class", {})
    return set(source.table.X.columns) - {"fine"}, " ".join(source.notes)


def words(n, different):
    """n cells, so many of which differ."""
    return [f"w{min(i, different - 1)}" for i in range(n)]


def whole(n, spread):
    """n different whole numbers that span so much, in no order."""
    return [(i * 7) % n for i in range(n - 1)] + [spread]


@pytest.mark.parametrize(
    ("cells", "kept"),
    [
        (words(19, 19), True),  # a table of fewer than 20 rows has no ids
        (words(20, 20), False),
        (words(40, 38), False),  # 95% of the rows have a value of their own
        (words(40, 37), True),
        (whole(41, 45), False),  # numbers that span 1.1 times the rows at most may number them
        (whole(41, 46), True),
        ([i + 0.5 for i in range(41)], True),  # a measurement
    ],
)
def test_ids_are_columns_that_name_or_number_the_rows(tmp_path, cells, kept):
    columns, said = notes_of(tmp_path, it=cells)
    assert columns == ({"it"} if kept else set())
    assert ("an id" in said) == (not kept)
    assert ("--kind it=… keeps it" in said) == (not kept)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["u"] * 2, "it: left out, every cell is 'u'"),
        ([None] * 6, "it: left out, every cell is missing"),
        (["u"] * 6, "it: left out, every cell is 'u'"),
        (["x" * 50] * 6, f"it: left out, every cell is '{'x' * 40}'"),
        (["u"] * 5 + [None], ""),  # that it is missing may tell something
        (["u"] * 5 + ["v"], ""),
    ],
)
def test_dull_columns_say_one_thing_of_every_row(tmp_path, cells, said):
    columns, notes = notes_of(tmp_path, it=cells)
    assert columns == (set() if said else {"it"})
    assert said in notes


@pytest.mark.parametrize(("numbers", "odd", "told"), [(21, 10, True), (20, 10, False), (21, 21, True), (21, 22, False)])
def test_words_among_numbers_are_said_where_numbers_are_many(tmp_path, numbers, odd, told):
    cells = [str(i % numbers) for i in range(43 - odd)] + ["no"] * odd
    _, said = notes_of(tmp_path, it=cells)
    assert (f"it: {odd} of 43 cells are no numbers, 'no' the first" in said) == told


@pytest.mark.parametrize(("copies", "told"), [(0, False), (1, False), (2, True)])
def test_copies_are_said_from_one_row_in_a_hundred(tmp_path, copies, told):
    cells = [(i * 37 % 500) / 7 for i in range(150 - copies)]
    path = tmp_path / "t.csv"
    frame = pd.DataFrame({"it": cells, "class": [f"c{i % 2}" for i in range(len(cells))]})
    pd.concat([frame, frame[:copies]]).to_csv(path, index=False)
    assert any("are copies" in note for note in open_table(str(path), "class", {}).notes) == told


@pytest.mark.parametrize(("classes", "columns"), [(8, 30), (9, 31)])
def test_a_summary_names_eight_classes_and_thirty_columns_and_counts_the_rest(tmp_path, classes, columns):
    path, out = tmp_path / "t.csv", Out(file=io.StringIO(), width=200, highlight=False, markup=False, emoji=False)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=36) for j in range(columns)})
    frame.assign(kind=[f"k{i % classes}" for i in range(36)]).to_csv(path, index=False)
    say_table(out, open_table(str(path), "kind", {}))
    said = out.file.getvalue()
    assert f"36 rows, {columns} columns" in said
    assert [f"k{i} " in said for i in range(classes)] == [True] * 8 + [False] * (classes - 8)
    assert ("(9 in all)" in said) == (classes > 8)
    assert [f"x{j} " in said for j in range(columns)] == [True] * 30 + [False] * (columns - 30)
    assert ("and 1 more: 1 numeric" in said) == (columns > 30)
    assert f"k0 {36 // classes + (36 % classes > 0)} ({(36 // classes + (36 % classes > 0)) / 36:.0%})" in said


def test_parts_of_a_date_are_columns_where_they_differ_at_all(tmp_path):
    days = [f"2024-0{1 + i % 2}-01" for i in range(60)]  # one year, two months, two weekdays
    kept, said = notes_of(tmp_path, when=days)
    assert kept == {"when", "when.month", "when.weekday"}
    assert "when: dates from 2024-01-01 on, as days, and month, weekday" in said


# the functions themselves


def table_of(y=None, told=None, **columns):
    """A table as `read` gives it."""
    text = pd.DataFrame({**columns, **({} if y is None else {"y": y})}).to_csv(index=False)
    with warnings.catch_warnings(action="ignore"):  # of ids
        return po.read(io.StringIO(text), None if y is None else "y", told)


def test_kinds_are_told_by_column():
    assert told_kinds(None) == told_kinds([]) == {}
    assert told_kinds(["a=numeric", "b=c=text"]) == {"a": "numeric", "b=c": "text"}
    for option, said in [
        ("a", "Got 'a' instead"),
        ("=text", "Got '=text' instead"),
        ("a=nummeric", "did you mean 'numeric'"),
    ]:
        with pytest.raises(BadParameter, match=said):
            told_kinds([option])


@pytest.mark.parametrize(
    ("y", "bins", "edges", "classes"),
    [
        ([1, 2, 3, 4, 5], 2, [3], ["1: up to 3", "2: above 3"]),
        ([5, 3, 1, 2, 4, 6], 3, [2, 4], ["1: up to 2", "2: 2 to 4", "3: above 4"]),
        ([1, 1, 1, 1, 2], 4, [1], ["1: up to 1", "2: above 1"]),
        ([1, 2, 2, 2, 2], 2, [], ["1: all"]),  # above the greatest there is nothing
        ([0.1234567, 2, 3, 4], 4, [0.1234567, 2, 3], ["1: up to 0.123457", "2: 0.123457 to 2", "3: 2 to 3", "4: above 3"]),
        (range(10), 10, range(9), [f"{i:02d}: {n}" for i, n in
         enumerate(["up to 0", *(f"{i} to {i + 1}" for i in range(8)), "above 8"], 1)]),
    ],
)  # fmt: skip
def test_numbers_are_cut_into_equal_shares(y, bins, edges, classes):
    y = np.array(y, dtype=float)
    labels, found, cuts = binned(y, bins)
    assert (found, cuts) == (classes, list(edges))
    assert labels.tolist() == [classes[sum(v > e for e in edges)] for v in y]


def test_a_missing_number_is_in_no_bin():
    assert in_bins(np.array([np.nan, 1.0, 1.1, 3.0]), (1.0, 2.0), ("a", "b", "c")).tolist() == [None, "a", "b", "c"]


def test_a_target_of_classes_stays_and_a_quantity_is_cut():
    table = table_of(x=[1, 2, 3], y=["b", "a", "b"])
    assert _classes(table, "y", None) == (table, [])
    with pytest.raises(BadValue, match="'y' has one class only, 'b': there is nothing"):
        _classes(table_of(x=[1, 2], y=["b", "b"]), "y", None)
    amount = table_of(x=[1, 2, 3, 4, 5], y=[0.5, 1.5, 1.5, 1.5, 2.5])
    with pytest.raises(BadValue, match=r"a number with 3 different values, .* --kind y=categorical takes"):
        _classes(amount, "y", None)
    cut, said = _classes(amount, "y", 2)
    assert said == ["y: cut into 2 classes of nearly equal share: 1: up to 1.5, 2: above 1.5"]
    assert (cut.task, cut.notes, cut.schema.reading.edges) == ("classification", amount.notes, (1.5,))
    assert cut.schema.classes == ("1: up to 1.5", "2: above 1.5")
    assert cut.schema.declared_classes == {*cut.schema.classes}
    assert cut.y.tolist() == ["1: up to 1.5"] * 4 + ["2: above 1.5"]
    assert (
        "2 classes of nearly equal share (4 asked: equal numbers stay together): "
        in _classes(table_of(x=[1, 2, 3, 4], y=[0.5, 0.5, 0.5, 2.5]), "y", 4)[1][0]
    )
    with pytest.raises(BadValue, match="'y' cannot be cut into 4 bins: nearly all"):
        _classes(table_of(x=[*range(9)], y=[0.5] + [1.5] * 8), "y", 4)


def test_columns_are_left_out_with_their_notes():
    table = table_of(a=[1, 2, 3], b=["u", "v", "u"], c=[1.5, 2.5, 3.5], y=["k", "l", "k"])
    found = without(table, ["b"])
    assert (found.schema.names, list(found.X.columns)) == (("a", "c"), ["a", "c"])
    assert [note.split(":")[0] for note in found.schema.notes] == ["a", "c"]
    assert (found.y is table.y, found.schema.classes) == (True, ("k", "l"))
    with pytest.raises(UnknownColumn, match="to learn from: 'a', 'b', 'c' are left out"):
        without(table, ["a", "b", "c"])
    with pytest.raises(UnknownColumn, match="to learn from: 'a' is left out"):
        without(table_of(a=[1, 2], y=["k", "l"]), ["a"])


@pytest.mark.parametrize(
    ("cells", "whole"),
    [([1, 2], True), ([1.0, None, 3.0], True), ([1.0, 2.5], False), (["1", "2"], False), ([True, False], False)],
)
def test_whole_numbers(cells, whole):
    assert _whole(pd.Series(cells)) == whole


def test_ids_dull_columns_and_dates_are_left_alone_where_their_kind_is_told():
    n = 30
    days = pd.date_range("2024-01-29", periods=n).strftime("%Y-%m-%d")
    table = table_of(
        serial=range(n), name=[f"w{i:02d}" for i in range(n)], same=["u"] * n, when=days, x=[i % 3 for i in range(n)],
        y=["k", "l"] * (n // 2),
    )  # fmt: skip
    ids, said = _without_ids(table, {})
    assert set(table.schema.names) - set(ids.schema.names) == {"serial", "name"}
    assert said == [
        "serial: left out, it numbers the rows (an id); --kind serial=… keeps it",
        "name: left out, 30 different values in 30 rows name the rows (an id); --kind name=… keeps it",
    ]
    assert _without_ids(table, {"serial": "numeric", "name": "text"}) == (table, [])
    dull, said = _without_dull(table, {})
    assert set(table.schema.names) - set(dull.schema.names) == {"same"}
    assert said == ["same: left out, every cell is 'u'"]
    assert _without_dull(table, {"same": "categorical"}) == (table, [])
    dated, said = _with_dates(table, {})
    assert said == ["when: dates from 2024-01-29 on, as days, and month, weekday"]
    assert dated.schema.names == (*table.schema.names, "when.month", "when.weekday")
    assert dated.schema.notes[-2:] == (
        "when.month: categorical (of the date when)",
        "when.weekday: categorical (of the date when)",
    )
    month = dated.schema["when.month"]
    assert (month.kind, month.values, month.declared) == ("categorical", (1, 2), {1, 2})
    assert dated.X["when.month"].tolist() == [1] * 3 + [2] * 27
    assert list(dated.X["when"]) == list(table.X["when"])
    assert _with_dates(table, {"when": "numeric"}) == (table, [])
    years = table_of(when=["2023-05-06", "2024-05-06", None], **{"when.month": [1, 2, 3]}, y=["k", "l", "k"])
    made, said = _with_dates(years, {})
    assert said == ["when: dates from 2023-05-06 on, as days, and year, weekday"]  # the month is a column of the file
    assert (made.schema["when.year"].kind, made.schema["when.year"].values) == ("numeric", ())
    np.testing.assert_array_equal(made.X["when.year"], [2023.0, 2024.0, np.nan])
    one = table_of(when=["2024-05-06"] * 3, y=["k", "l", "k"])
    assert _with_dates(one, {})[1] == ["when: dates from 2024-05-06 on, as days"]


@pytest.mark.parametrize(
    ("different", "odd", "n", "refused"),
    [
        (20, 1, 200, True),  # more than twenty values with the word
        (19, 1, 200, False),
        (40, 2, 200, True),  # one cell in a hundred
        (40, 3, 200, False),
        (40, 1, 60, True),  # one cell always
        (40, 2, 60, False),
        (40, 0, 60, False),
    ],
)
def test_few_words_among_many_numbers_are_a_mistake(different, odd, n, refused):
    cells = [f"{i % different}.5" for i in range(n - odd)] + ["no"] * odd
    table = table_of(x=cells, y=["k", "l"] * (n // 2))
    if refused:
        said = f"t.csv, line {n - odd + 2}, column 'x': 'no' is no number, and {n - odd} other cells are; mend it"
        with pytest.raises(BadValue, match=re.escape(said)):
            refuse_words(table, "t.csv", {})
    else:
        refuse_words(table, "t.csv", {})
    refuse_words(table, "t.csv", {"x": "categorical"})
    for kind in ("numeric", "count") if odd else ():
        with pytest.raises(BadValue, match="'no' is no number"):
            refuse_words(table, "t.csv", {"x": kind})


FORMS = ("%Y-%m-%d", "%Y/%m/%d", "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y", "%m/%d/%Y", "%d-%m-%Y %H:%M", "%d %b %Y", "%B %d, %Y")


@pytest.mark.parametrize(
    ("form", "bad", "n", "odd", "refused"),
    [(form, bad, 60, 1, True) for form in FORMS for bad in ("2024-02-30", "31.02.2024", "soon, no")]
    + [(FORMS[0], "2024", 300, 3, True), (FORMS[0], "2024", 300, 4, False), (FORMS[0], "soon", 60, 2, False)]
    + [(FORMS[4], "soon", 22, 1, True), (FORMS[4], "soon", 20, 1, False)],
)
def test_few_words_among_many_dates_are_a_mistake(tmp_path, form, bad, n, odd, refused):
    days = [*pd.date_range("2023-01-29", periods=n - odd - 1).strftime(form), "?"]
    cells = [*days[:9], *[bad] * odd, *days[9:]]
    path = tmp_path / "t.csv"
    pd.DataFrame({"when": cells, "y": ["k", "l"] * (n // 2)}).to_csv(path, index=False)
    with warnings.catch_warnings(action="ignore"):  # of ids
        table = po.read(path, "y")
    if refused:
        said = f"{path}, line 11, column 'when': {bad!r} is no date, and {n - odd} other cells are; mend it, --missing"
        with pytest.raises(BadValue, match=re.escape(said)):
            refuse_words(table, str(path), {})
        mended = open_table(str(path), "y", {}, missing=[bad]).table
        assert mended.X["when"].dtype.kind == "M"
        assert mended.X["when"].isna().sum() == odd + 1
    else:
        refuse_words(table, str(path), {})
    refuse_words(table, str(path), {"when": "categorical"})


@pytest.mark.parametrize("word", ["1e400", "-1e400", "inf", "-Infinity", " 1e999"])
@pytest.mark.parametrize("at", [0, 29])
def test_an_infinite_cell_is_named_by_its_line_and_word(tmp_path, word, at):
    cells = [f"{i / 4}" for i in range(30)]
    cells[at] = word
    path = tmp_path / "t.csv"
    pd.DataFrame({"c": ["u", "v"] * 15, "x": cells, "y": ["k", "l", "k"] * 10}).to_csv(path, index=False)
    said = re.escape(f"{path}, line {at + 2}, column 'x': {word!r} is no finite number; mend it")
    head = io.BytesIO(path.read_bytes())
    head.name = str(path)
    for read in (
        lambda: open_table(str(path), "y", {}),
        lambda: open_table(str(path), "x", {}, bins=2),
        lambda: open_source(str(path), {}),
        lambda: open_head(head, "y", {}, None),
    ):
        with pytest.raises(BadValue, match=said):
            read()
    assert open_table(str(path), "y", {}, missing=[word.strip()]).table.X["x"].isna().sum() == 1
    pd.read_csv(path).to_parquet(path.with_suffix(".parquet"))
    with pytest.raises(BadValue, match=f"row {at + 1}, column 'x': '-?inf' is no finite number"):
        open_table(str(path.with_suffix(".parquet")), "y", {})


BLANK, CASE, BOTH = "blanks; strip them", "case; write them alike", "blanks and case; write them alike"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (("no", "no ", "yes"), f"'no' and 'no ' differ only in {BLANK}"),
        (("\tno", "no", "yes"), f"'\\tno' and 'no' differ only in {BLANK}"),
        (("No", "no", "yes"), f"'No' and 'no' differ only in {CASE}"),
        ((" No", "no", "yes"), f"' No' and 'no' differ only in {BOTH}"),
        (("No", "no", "yes", "yes ", "yes  "), f"'No' and 'no' differ only in {CASE.replace(';', ', and 2 more so;')}"),
        (("no", "yes", "n o"), None),
        ((1, 2, 3), None),
    ],
)
def test_values_that_differ_in_blanks_or_case_are_said_and_kept(tmp_path, values, said):
    path = tmp_path / "t.csv"
    cells = [*values] * 10
    pd.DataFrame({"c": cells, "x": [i % 7 / 4 for i in range(len(cells))], "y": cells[::-1]}).to_csv(path, index=False)
    expected = [] if said is None else [f"{name}: {said} if they mean the same" for name in ("y", "c")]
    source = open_table(str(path), "y", {})
    assert [note for note in source.notes if "differ only" in note] == expected
    assert source.table.schema["c"].values == source.table.schema.classes == tuple(sorted(values))
    rows = open_source(str(path), {"x": "categorical"})
    assert [note for note in rows.notes if "differ only" in note] == expected[::-1]


def test_a_word_for_a_missing_cell_is_no_mistake_among_numbers():
    cells = [f"{i}.5" for i in range(95)] + ["?"] * 4
    refuse_words(table_of(x=[f"0{c}" for c in cells[:95]] + ["?"] * 5, y=["k", "l"] * 50), "t.parquet", {})
    with pytest.raises(BadValue, match="'no' is no number"):
        refuse_words(table_of(x=[*cells, "no"], y=["k", "l"] * 50), "t.parquet", {})


def test_the_line_of_a_row_is_that_of_its_file_of_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('x;c\n1;"two\nlines"\n3;no\n;4\n\n;no\n')
    assert [_line(po.read(path), row) for row in range(4)] == ["line 2", "line 4", "line 5", "line 7"]
    pd.DataFrame({"x": [1.5, 2.5]}).to_parquet(tmp_path / "t.parquet")
    assert _line(po.read(tmp_path / "t.parquet"), 1) == "row 2"


def test_words_among_numbers_and_copies_are_told_of_what_was_not_told():
    cells = [str(i) for i in range(30)] + ["no"] * 6
    table = table_of(x=cells, z=[i + 0.5 for i in range(36)], y=["k", "l"] * 18)
    assert _mixed(table, {"x": "categorical"}) == _mixed(without(table, ["x"]), {}) == []
    assert _mixed(table, {}) == [
        "x: 6 of 36 cells are no numbers, 'no' the first, so all are words; --missing 'no' reads it as missing"
    ]
    assert _copies(table) == []
    for different, told in [
        (20, []),
        (21, ["19 of 40 rows are copies of others: they may stand on both sides of a fold"]),
    ]:
        z = [i + 0.5 for i in range(different)]
        assert _copies(table_of(z=(z + z)[:40], y=["k", "l"] * 20)) == told
    few = table_of(z=[i + 0.5 for i in range(99)] + [0.5], y=["k", "l"] * 50)
    assert _copies(few) == ["1 of 100 rows is a copy of another: they may stand on both sides of a fold"]
    assert _copies(table_of(z=[i + 0.5 for i in range(101)] + [0.5], y=["k", "l"] * 51)) == []


def test_rows_for_a_network_leave_out_what_has_no_states(tmp_path):
    path, n = tmp_path / "t.csv", 40
    frame = pd.DataFrame({"c": ["u", "v"] * 20, "serial": range(n), "same": ["k"] * n})
    frame.assign(note=[f"a longer text, number {i} of all" for i in range(n)]).to_csv(path, index=False)
    source = open_source(str(path), {"note": "text"})
    assert (source.name, source.table.schema.names, list(source.table.X.columns)) == (str(path), ("c",), ["c"])
    assert [note.split(", ")[0] for note in source.notes] == ["serial: left out", "same: left out", "note: left out"]
    assert source.notes[2] == "note: left out, a text has no states"
    path.write_text("c\n")
    with pytest.raises(BadValue, match="has no rows"):
        open_source(str(path), {})


def test_a_table_for_training_says_all_that_was_done(tmp_path):
    path, n = tmp_path / "t.csv", 60
    frame = pd.DataFrame({"c": ["u", "v", "w"] * 20, "serial": range(n), "same": ["k"] * n})
    frame["when"] = ["2020-01-01", "2021-01-01"] * 30
    frame["x"] = [None if i == 7 else i / 7 for i in range(n)]
    frame["y"] = ["" if i == 9 else "k" if i % 2 else "l" for i in range(n)]
    frame.to_csv(path, index=False, na_rep="?")
    source = open_table(str(path), "y", {})
    heads = [note.split(",")[0] for note in source.notes]
    assert heads == [
        "x: 1 cell '?' read as missing",
        f"{path}: 1 row has no 'y' (first: row 10) and is left out",
        "serial: left out",
        "same: left out",
        "when: dates from 2020-01-01 on",
    ]
    path.write_text("x,y\n1,\n2,\n")
    with pytest.raises(BadValue, match=r"has no rows with a 'y'$"):
        open_table(str(path), "y", {})
    path.write_text("x,y\n")
    with pytest.raises(BadValue, match=r"has no rows$"):
        open_table(str(path), "y", {})
    pd.DataFrame({"x": [1.5, 2, 3, 4], "n": [1, 2, 3, 4]}).to_csv(path, index=False)
    assert open_table(str(path), "n", {}, bins=2).table.schema.classes == ("1: up to 2", "2: above 2")
    assert open_table(str(path), "n", {}).table.schema.classes == (1, 2, 3, 4)


def test_stdin_is_a_minus(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x,y\n1,a\n2,b\n")))
    assert len(open_table("-", "y", {}).table) == 2
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,b\n3,a\n")
    assert len(open_table("t.csv", "y", {}).table) == 3


def test_a_head_is_open_to_ids_and_dates_and_no_quantity(tmp_path):
    path = tmp_path / "t.csv"

    def head(text):
        path.write_text(text)
        file = io.BytesIO(text.encode())
        file.name = str(path)
        return file

    rows = [
        f"{i},u,{'2020-01-01' if i % 2 else '2021-02-01'},{i % 3 / 2 + 0.25 * (i == 7)},{'kl'[i % 2]}"
        for i in range(30)
    ]
    text = "\n".join(["serial,same,when,x,y", *rows])
    source = open_head(head(text), "y", {}, None)
    assert source.name == str(path)
    assert source.table.schema.names[:3] == ("same", "when", "x")  # what is dull in the head may differ later
    assert [note.split(",")[0] for note in source.notes] == ["serial: left out", "when: dates from 2020-01-01 on"]
    with pytest.raises(BadValue, match="is a number with 4 different values"):
        open_head(head(text), "x", {}, None)
    with pytest.raises(BadValue, match=r"t.csv, line 2, column 'y': 'k' is no number"):
        open_head(head(text), "same", {"y": "numeric"}, None)
    assert open_head(head(text), "y", {}, ["u"]).table.X["same"].isna().all()


def test_a_summary_says_why_and_where_from():
    assert _row_of(Column("x", "numeric"), "x: numeric (12 different numbers)") == (
        "x",
        "numeric",
        "12 different numbers",
    )
    out = Out(file=io.StringIO(), width=200, highlight=False, markup=False, emoji=False)
    table = table_of(x=[1.5, 2.5, 3.5], y=["k", "l", "k"])
    say_table(out, Source("t.csv", table, ("a note",)), streamed=12_345)
    said = out.file.getvalue().splitlines()
    assert said[0] == "t.csv: 12,345 rows, kinds by the first 3, 1 column"
    assert said[1] == "target y: k 2 (67%), l 1 (33%)"
    assert [word.strip() for word in said[3].split("  ") if word.strip()] == ["column", "kind", "why"]
    assert said[4].split() == ["x", "numeric", "3", "different", "numbers"]
    assert (said[2], [word.strip() for word in said[5:]]) == ("", ["a note", ""])
