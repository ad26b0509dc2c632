"""A file is read batch by batch as it was read whole: a model answers its own file as it answers the table."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import posteriori as po
from posteriori.cli.stream import _numbers
from posteriori.cli.tables import open_table
from posteriori.table.reading import Reading

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
    assert "1 rows have no 'y' (first: row 41) and are left out" in done.output
    done = run("learn", model, path)
    assert "1 rows have no 'y' (first: row 41) and are left out" in done.output
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


@pytest.mark.parametrize("cells", [["2020-01-01", "2020-01-03"], ["2020-01-01", None, "2020-01-03"], [None, None]])
def test_words_that_are_all_dates_are_days_whatever_is_missing(cells):
    found = _numbers(pa.array(cells, pa.string()), "when", Reading(), range(len(cells)), "t.csv")
    days = {"2020-01-01": 18_262.0, "2020-01-03": 18_264.0, None: np.nan}
    np.testing.assert_array_equal(found, [days[cell] for cell in cells])
