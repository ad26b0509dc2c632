"""Files: what the first pass decides, and what it says when it cannot."""

from __future__ import annotations

import gzip

import pandas as pd
import pytest

import posteriori as po
from posteriori.errors import FormatError, UnknownColumn


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "rents.csv"
    rows = [
        f"{i % 3},{'yes' if i % 2 else 'no'},{i * 1.5},{'' if i == 7 else 'cheap' if i < 30 else 'dear'}"
        for i in range(60)
    ]
    path.write_text("rooms,lift,area,class\n" + "\n".join(rows) + "\n")
    return path


def test_first_pass_decides_and_says(csv):
    with pytest.warns(UserWarning, match=r"1 rows have no 'class' \(first: row 7\)"):
        table = po.read(csv, target="class")
    assert table.schema.kinds == ("categorical", "categorical", "numeric")
    assert table.schema["lift"].values == ("no", "yes")
    assert table.schema.classes == ("cheap", "dear")
    assert table.schema.target == "class"
    assert "rooms: categorical (whole numbers, 3 values)" in repr(table)
    model = po.NaiveBayes(kinds=table.schema).fit(table.X, table.y)
    assert model.score(table.X, table.y) > 0.9


def test_gzip_parquet_and_sql_agree(csv, tmp_path):
    packed = tmp_path / "rents.csv.gz"
    packed.write_bytes(gzip.compress(csv.read_bytes()))
    flat = po.read(csv).X
    pd.testing.assert_frame_equal(flat, po.read(packed).X)
    flat.to_parquet(tmp_path / "rents.parquet")
    assert po.read(tmp_path / "rents.parquet").schema.kinds == po.read(csv).schema.kinds
    assert len(po.read(csv, sql="SELECT * FROM this WHERE rooms = 1")) == 20


def test_errors_name_the_file_and_the_nearest_match(csv, tmp_path):
    with pytest.raises(UnknownColumn, match=r"no column 'clas' in .*rents.csv; did you mean 'class'\?"):
        po.read(csv, target="clas")
    with pytest.raises(FileNotFoundError, match=r"did you mean 'rents.csv'"):
        po.read(tmp_path / "rent.csv")
    odd = tmp_path / "table.xyz"
    odd.write_text("a,b\n1,2\n")
    with pytest.raises(FormatError, match="cannot tell its format"):
        po.read(odd)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 no")
    with pytest.raises(FormatError, match=r"broken.parquet"):
        po.read(broken)


def test_an_id_is_warned_about():
    frame = pd.DataFrame({"id": [f"c{i}" for i in range(50)], "x": [0.5] * 50})
    with pytest.warns(UserWarning, match="'id' has 50 different values in 50 rows and looks like an id"):
        po.Schema.infer(frame)


def test_long_strings_are_text():
    notes = [f"please call me back about the offer number {i}" for i in range(30)]
    assert po.Schema.infer({"note": notes}).kinds == ("text",)


def test_schema_round_trip_and_union():
    a = po.Schema.declare({"s": ["x", "y"], "v": "numeric"}, classes=[0, 1])
    b = po.Schema.declare({"s": ["y", "z"], "v": "numeric"}, classes=[1, 2])
    both = a + b
    assert both["s"].values == ("x", "y", "z")
    assert both.classes == (0, 1, 2)
    assert po.Schema.from_dict(both.to_dict()) == both
    with pytest.raises(UnknownColumn, match="did you mean 'v'"):
        both.index("vv")
