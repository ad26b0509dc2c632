"""Streamed training: the same model as from the whole table, whatever the blocks; faults are named by their line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.cli import bulk


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(bulk, "LARGE", 1)
    monkeypatch.setattr(bulk, "HEAD", 20_000)
    monkeypatch.setattr(bulk, "BLOCK", 5_000)


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


def test_the_size_of_a_block_changes_nothing(run, large, monkeypatch):
    first, _ = train(run, large, "a.posteriori")
    monkeypatch.setattr(bulk, "BLOCK", 17_000)
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
    elif what == "lines in quotes":
        frame.loc[::2, "word"] = "red\nor\nblue"
    return frame.to_csv(index=False)


WAYS = {
    "a word among whole numbers": (lambda: late("a word among whole numbers"), ()),
    "a quote": (lambda: late("a quote"), ()),
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
    monkeypatch.setattr(bulk, "BLOCK", 700)
    streamed, _ = train(run, path, "s.posteriori", *words)
    monkeypatch.setattr(bulk, "LARGE", 1 << 60)
    whole, _ = train(run, path, "w.posteriori", *words)
    for name in ("few", "word"):
        assert list(map(str, streamed.schema_[name].values)) == list(map(str, whole.schema_[name].values))
    assert np.array_equal(streamed.statistics_.cells.table, whole.statistics_.cells.table)
    assert streamed.kinds.reading == whole.kinds.reading
