"""Files: what the first pass decides, and what it says when it cannot."""

from __future__ import annotations

import datetime
import gzip
import io
import re
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadParameter, BadValue, FormatError, PosterioriError, UnknownColumn, counted
from posteriori.table.encode import factorize
from posteriori.table.schema import Schema


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
    with pytest.warns(UserWarning, match=r"1 row has no 'class' \(first: row 8\)"):
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


def text(content: str, **options):
    return po.read(io.StringIO(content), **options)


# -- missing cells ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["?", "NA", "N/A", "null", "-", "NaN", " ? "])
def test_words_for_missing_are_known_where_all_else_is_a_number(word):
    table = text(f"size,name\n1.5,{word}\n{word},b\n2e3,c\n")
    np.testing.assert_array_equal(table.X["size"], [1.5, np.nan, 2000.0])
    assert table.schema.kinds == ("numeric", "categorical")
    assert table.X["name"].tolist()[0].strip() == word.strip()  # a word among words stays a word
    assert word == "NaN" or f"size: 1 cell {word.strip()!r} read as missing" in repr(table)


def test_words_for_missing_may_be_told():
    table = text("a,b\n1,none\n-9,x\nnone,-9\n", missing=["none", "-9"])
    np.testing.assert_array_equal(table.X["a"], [1, np.nan, np.nan])
    assert table.X["b"].isna().tolist() == [True, False, True]
    assert text("a\n1\n?\n", missing=[]).schema.kinds == ("categorical",)
    assert text("a\n?\n?\n").X["a"].tolist() == ["?", "?"]  # nothing says that it is a column of numbers
    assert text("a\n007\n?\n").schema.kinds == ("categorical",)  # leading zeros are names


@pytest.mark.parametrize(
    ("cells", "told", "gone", "note"),
    [
        (["1", "-9", "3"], ["-9"], [1], "1 cell '-9'"),
        (["1.5", "-9", "-9.0"], ["-9"], [1, 2], "2 cells '-9'"),
        (["1", "99", "-9"], ["99", "-9", "77"], [1, 2], "2 cells '99', '-9'"),
        (["1", "-9", "3"], ["-9", "-9.0"], [1], "1 cell '-9', '-9.0'"),
        (["1.5", "1" + "0" * 30], ["1" + "0" * 30], [1], f"1 cell '1{'0' * 30}'"),
        (["1", "1e400", "3"], ["1e400"], [1], "1 cell '1e400'"),
        (["1", "inf", "-inf"], ["inf"], [1], "1 cell 'inf'"),
        (["9007199254740992", "9007199254740993", "7"], ["9007199254740993"], [1], "1 cell '9007199254740993'"),
        (["1", "2", "3"], ["-9", "no", "nan"], [], None),
    ],
)
def test_numbers_told_to_be_missing_are_so_among_numbers(cells, told, gone, note):
    table = text("x,y\n" + "".join(f"{c},w\n" for c in cells), missing=told)
    assert np.flatnonzero(table.X["x"].isna()).tolist() == gone
    kept = [c for i, c in enumerate(cells) if i not in gone]
    assert [float(v) for v in table.X["x"].dropna()] == [float(c) for c in kept]
    assert table.notes == (() if note is None else (f"x: {note} read as missing",))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.none() | st.floats(-1e6, 1e6, allow_subnormal=False), min_size=2, max_size=12),
    st.sampled_from(["?", "NA", "N/A", "null", "-", ""]),
    st.sampled_from([".", ","]),
)
def test_numbers_come_back_whatever_their_marks(cells, sign, decimal):
    if all(c is None for c in cells):
        return
    lines = [f"{sign if c is None else repr(float(c)).replace('.', decimal)};w" for c in cells]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = text("x;y\n" + "\n".join(lines) + "\n", decimal=decimal)
    np.testing.assert_array_equal(table.X["x"].astype(float), [np.nan if c is None else c for c in cells])
    assert table.schema["x"].kind in ("numeric", "binary")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.integers(-(10**25), 10**25) | st.integers(2**63 - 3, 2**63 + 9), min_size=1, max_size=12),
    st.sampled_from(["", "?"]),
    st.sampled_from([None, "SELECT * FROM this"]),
)
def test_whole_numbers_of_any_length_stay_different(cells, gap, sql):
    content = "x,X,y\n" + "".join(f"{c},{c},w\n" for c in cells) + f"{gap},{gap},w\n"
    for column in ("x", "X") if sql is None else ("x",):
        found = text(content, sql=sql).X[column].iloc[: len(cells)]
        assert found.nunique() == len(set(cells))
        if max(map(abs, cells)) < 2**53 or len(set(map(float, cells))) == len(set(cells)):
            assert [float(c) for c in found] == [float(c) for c in cells]


def test_long_numbers_that_a_float_tells_apart_are_numbers():
    for cells in (["1e30", "2e30"], ["1" + "0" * 30, "7"], ["1" + "0" * 30 + ".5", "1" + "0" * 30]):
        assert text("x,y\n" + "".join(f"{c},w\n" for c in cells)).X["x"].tolist() == [float(c) for c in cells]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6, allow_subnormal=False) | st.integers(-999, 999), st.booleans()), min_size=1,
             max_size=12),
    st.sampled_from([("", ""), (" ", ""), ("", " "), ("  ", "\t")]),
    st.sampled_from([None, "?", ""]),
)  # fmt: skip
def test_signs_and_blanks_make_no_words_of_numbers(cells, blanks, gap):
    def written(x, plus):
        return f"{blanks[0] * plus}{'+' * (plus and x >= 0 and str(x)[0] != '-')}{x}{blanks[1] * plus}"

    lines = [f"{written(*c)};w" for c in cells] + ([] if gap is None else [f"{gap};w"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = text("x;y\n" + "\n".join(lines) + "\n")
    np.testing.assert_array_equal(
        table.X["x"].astype(float), [float(x) for x, _ in cells] + [np.nan] * (gap is not None)
    )


@pytest.mark.parametrize("odd", ["+x", "+1_000", "+1 2", "+", "0x1", "+inf", "+nan", "+0123", "1,234", "+3a"])
def test_what_is_no_number_beside_signs_keeps_all_words(odd):
    cells = ["+3", "4", odd]
    found = text("x;y\n" + "".join(f"{c};w\n" for c in cells), decimal=".").X["x"]
    assert found.tolist() == cells


def test_words_of_a_file_that_knows_types_stay_words(tmp_path):
    pd.DataFrame({"x": ["+3", "4", " 5"]}).to_parquet(tmp_path / "t.parquet")
    assert po.read(tmp_path / "t.parquet").X["x"].tolist() == ["+3", "4", " 5"]


def test_a_decimal_comma_is_read_and_said():
    table = text("a;b\n1,5;x\n2;y\n-0,125;x\n", target="b")
    assert table.X["a"].tolist() == [1.5, 2.0, -0.125]
    assert "a: numbers with a decimal comma, as '1,5'" in repr(table)
    assert table.schema.reading.decimal == ","
    assert text("a,b\n1.5,x\n").schema.reading.decimal == "."


def test_a_comma_that_may_part_thousands_is_warned_about():
    with pytest.warns(
        UserWarning, match=r"'a' holds words like '1,500': written as 1500 or as 1\.500 they are numbers"
    ):
        assert text("a;b\n7;x\n1,500;x\n2,250;y\n").X["a"].tolist() == ["7", "1,500", "2,250"]
    for cell in ("1500", "1.500"):
        assert text(f"a;b\n7;x\n{cell};x\n").X["a"].tolist() == [7, float(cell)]


# -- headers, names, encodings, open files ------------------------------------------------------------------------------


def test_headers():
    assert list(text("x,X,y\n1,2,a\n3,4,b\n").X) == ["x", "X", "y"]
    assert text("x,X\n1,2\n3,4\n").X["X"].tolist() == [2, 4]
    bare = text("1,2.5\n3,4.5\n")
    assert list(bare.X) == ["x0", "x1"]
    assert len(bare) == 2
    assert "no header" in repr(bare)
    assert len(text("1,?\n?,4\n5,6\n")) == 3  # a sign for a missing cell is no name
    assert list(text("1,2\n3,4\n", header=True).X) == ["1", "2"]
    assert text("a,b\nc,d\n", header=False).X["x0"].tolist() == ["a", "c"]
    assert list(text("1,2\n3,4\n", header=["p", "P"]).X) == ["p", "P"]
    assert list(text("a,,c\n1,2,3\n").X) == ["a", "x1", "c"]
    assert list(text('"a, b",c\n1,2\n').X) == ["a, b", "c"]
    with pytest.raises(FormatError, match="has 2 columns, but header has 1 names"):
        text("1,2\n3,4\n", header=["p"])
    titled = text("A title\n\na,b\n1,2\n3,4\n")
    assert titled.X.to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    assert "2 lines before the table are left out" in repr(titled)
    with pytest.raises(UnknownColumn, match="duplicate columns: 'a'"):
        text("a,a\n1,2\n")
    with pytest.raises(UnknownColumn, match=r"no column 'class'.*header=True"):
        text("1,2\n3,4\n", target="class")


def test_names_that_differ_by_case_are_kept_in_every_format(tmp_path):
    frame = pd.DataFrame({"x": [1, 3], "X": [2, 4], "X_1": [5, 6]})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    frame.to_json(tmp_path / "a.json", orient="records")
    frame.to_csv(tmp_path / "a.csv", index=False)
    for name in ("a.parquet", "a.jsonl", "a.json", "a.csv"):
        assert po.read(tmp_path / name).X.to_dict("list") == frame.to_dict("list"), name


def test_encodings(tmp_path):
    path = tmp_path / "cities.csv"
    path.write_bytes("city,n\nMünchen,1\nGenève,2\n".encode("latin-1"))
    with pytest.raises(FormatError, match=r"cities.csv is not utf-8 text \(line 2\): .*'cp1252'"):
        po.read(path, encoding="utf-8")
    assert "no UTF-8 text: read as cp1252" in repr(po.read(path))
    for encoding in (None, "latin-1", "cp1252"):
        assert po.read(path, encoding=encoding).X["city"].tolist() == ["München", "Genève"]
    for encoding in ("utf-16", "gbk", "utf-8-sig"):
        content = "城市,n\n北京,1\n上海,2\n".encode(encoding)
        path.write_bytes(content)
        assert list(po.read(path).X) == list(po.read(path, encoding=encoding).X) == ["城市", "n"]
        assert po.read(io.BytesIO(content), encoding=encoding).X["城市"].tolist() == ["北京", "上海"]
    packed = tmp_path / "cities.csv.gz"
    packed.write_bytes(gzip.compress("city,n\nGenève,2\n".encode("latin-1")))
    assert po.read(packed, encoding="latin-1").X["city"].tolist() == ["Genève"]
    packed.write_bytes(b"city,n\n")
    with pytest.raises(FormatError, match="no complete gzip"):
        po.read(packed)


def test_open_files_are_files(csv, tmp_path):
    flat = po.read(csv).X
    for opened in (csv.open(), csv.open("rb"), io.StringIO(csv.read_text()), io.BytesIO(csv.read_bytes())):
        with opened:
            pd.testing.assert_frame_equal(po.read(opened).X, flat)
    flat.to_parquet(tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(po.read(io.BytesIO((tmp_path / "a.parquet").read_bytes())).X, po.read(csv).X)
    flat.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    with (tmp_path / "a.jsonl").open() as opened:
        assert po.read(opened).X.shape == flat.shape
    assert po.read(io.BytesIO(gzip.compress(csv.read_bytes()))).X.shape == flat.shape
    odd = tmp_path / "table.xyz"
    odd.write_bytes(csv.read_bytes())
    assert po.read(odd, format="csv").X.shape == flat.shape


# -- dates --------------------------------------------------------------------------------------------------------------

DATES = [datetime.datetime(1969, 12, 31, 18), None, datetime.datetime(2024, 2, 29), datetime.datetime(9999, 1, 1)]
DAYS = [-0.25, np.nan, 19782.0, 2932532.0]


def test_dates_are_the_same_days_from_every_source(tmp_path):
    pa = pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    frame = pd.DataFrame({"when": pd.array(DATES, dtype="datetime64[us]"), "y": list("abab")})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True, date_format="iso")
    read = [po.read(tmp_path / name).X for name in ("a.parquet", "a.csv", "a.jsonl")]
    told = pa.table({"when": pa.array(DATES, pa.timestamp("ms")), "y": list("abab")})
    objects = {"when": np.array(DATES, dtype=object), "y": list("abab")}
    for table in (*read, frame, told, polars.from_arrow(told), pd.DataFrame(objects)):
        model = po.NaiveBayes().fit(table, [0, 0, 1, 1])
        assert model.schema_.kinds == ("numeric", "categorical")
        np.testing.assert_array_equal(po.table.frame.open_frame(table).column(0), DAYS)
    for table in read:
        assert table["when"].dtype == "datetime64[us]"
        assert po.Schema.infer(table).notes[0] == "when: numeric (dates, as days since 1970-01-01)"
    assert po.Schema.infer(told).notes[0] == "when: numeric (dates, as days since 1970-01-01)"


@pytest.mark.parametrize(
    ("cell", "day"),
    [("1970-01-02", 1.0), ("1970/01/02", 1.0), ("1970-01-02T12:00", 1.5), ("1970-01-02 06:00:00+06:00", 1.0)],
)
def test_dates_written_year_first_are_dates(cell, day):
    table = text(f"d,y\n{cell},a\n,b\n")
    np.testing.assert_array_equal(po.table.frame.open_frame(table).column(0), [day, np.nan])


@pytest.mark.parametrize(
    "cell", ["2020-02-31", "2020-13-01", "in 2020", "32.12.2020", "31.13.2020", "1 Foo 2020", "3.4.5"]
)
def test_what_is_no_date_stays_a_word(cell):
    assert text(f"d,y\n{cell},a\n{cell},b\n").X["d"].tolist() == [cell, cell]


def test_dates_in_doubt_stay_words_with_a_word():
    with pytest.warns(UserWarning, match="no cell tells whether the day or the month comes first"):
        assert text("d,y\n01/02/1970,a\n03/04/1970,b\n").X["d"].tolist() == ["01/02/1970", "03/04/1970"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1)), min_size=1, max_size=20),
    st.sampled_from(["%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d %b %Y", "%d-%b-%Y", "%B %d, %Y", "%Y/%m/%d"]),
    st.sampled_from(["", " %H:%M", " %H:%M:%S"]),
)
def test_dates_come_back_however_they_are_written(days, form, clock):
    """A form is found, and is the right one, unless day and month can change places in every cell."""
    assume("b" in form.lower() or form[1] == "Y" or "." in form or any(d.day > 12 for d in days))
    written = [d.strftime(form + clock) for d in days]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = text("d;y\n" + "".join(f"{w};a\n" for w in written))
    cut = {"": "D", " %H:%M": "m", " %H:%M:%S": "s"}[clock]
    np.testing.assert_array_equal(table.X["d"].to_numpy(), np.array(days, dtype=f"datetime64[{cut}]").astype("M8[us]"))
    assert dict(table.schema.reading.dates).keys() == {"d"}


def test_a_target_of_dates_is_named_or_taken_as_classes():
    with pytest.raises(BadValue, match=r"the target 'y' .* holds dates.*--kind y=categorical"):
        text("x,y\n1,2020-01-01\n2,2020-01-02\n", target="y")
    taken = text("x,y\n1,2020-01-01\n2,2020-01-02\n", target="y", kinds={"y": "categorical"})
    assert taken.y.tolist() == ["2020-01-01", "2020-01-02"]


def test_matrices_of_dates_and_spans_are_days():
    dates = np.array([["2024-02-29"], ["1970-01-01"]], dtype="datetime64[D]")
    assert po.table.frame.open_frame(dates).matrix.tolist() == [[19782.0], [0.0]]
    spans = pd.DataFrame({"span": pd.to_timedelta([1.5, None], unit="D")})
    np.testing.assert_array_equal(po.table.frame.open_frame(spans).column(0), [1.5, np.nan])


# -- targets ------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*looks like an id")
def test_a_quantity_goes_to_the_regressors():
    rows = "\n".join(f"{i % 7},{i * 0.37:.2f},{i * 1000},{i % 3}" for i in range(60))
    content = f"x,rent,price,rooms\n{rows}\n"
    table = text(content, target="rent")
    assert table.task == "regression"
    assert table.y.dtype == np.float64
    assert table.schema.classes == ()
    assert "rent: continuous (60 different numbers), for a regressor" in repr(table)
    assert text(content, target="x").task == "classification"
    assert text(content, target="rooms", kinds={"rooms": "numeric"}).task == "regression"
    assert text(content, target="rooms").schema.classes == (0, 1, 2)
    assert text(content, target="price").task == "regression"  # whole numbers, but hardly one twice
    assert text(content, target="price", kinds={"price": "categorical"}).task == "classification"
    with pytest.raises(BadValue, match=r"continuous.*KNeighborsRegressor or SVR"):
        po.NaiveBayes().fit(table.X, table.y)


def test_rows_without_a_target_are_left_out_with_a_word():
    with pytest.warns(UserWarning, match=r"2 rows have no 'y' \(first: row 2\)"):
        table = text("x,y\n1,1\n2,?\n3,0\n4,\n", target="y")
    assert table.y.tolist() == [1, 0]
    assert table.y.dtype == np.int64


# -- ARFF ---------------------------------------------------------------------------------------------------------------

ARFF = """% a comment
@RELATION 'play tennis'
@attribute outlook {sunny, 'over cast', rainy, "never, ever"}
@attribute 'the temp' REAL
@ATTRIBUTE note string
@attribute day date 'yyyy-MM-dd'
@attribute play {yes,no}

@DATA
sunny, 85, 'it''s' , 2024-02-29, no
'over cast', ?, "don\\'t, really", ?, yes
% between
rainy,\t7.05e1,?,2024-03-01,yes
"""


def test_arff():
    table = text(ARFF.replace("'it''s'", "'it\\'s'").replace(",\t", ","), target="play")
    assert list(table.X) == ["outlook", "the temp", "note", "day"]
    assert table.schema["outlook"].values == ("never, ever", "over cast", "rainy", "sunny")
    np.testing.assert_array_equal(table.X["the temp"], [85, np.nan, 70.5])
    assert table.X["note"].tolist()[:2] == ["it's", "don't, really"]
    assert table.X["day"].dtype == "datetime64[us]"
    assert table.schema.classes == ("no", "yes")
    assert table.y.tolist() == ["no", "yes", "yes"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("{0 sunny, 1 85}", "line 5: sparse ARFF"),
        ("sunny, 85, {5}", "line 5: weights of instances"),
        ("sunny", "line 5: 1 cells where there are 2 attributes"),
        ("windy, 3", "line 5: 'windy' is none of the values of 'outlook': 'sunny', 'rainy'"),
        ("sunny, warm", "row 0 of the data: 'temp' is a number. Got 'warm'"),
        ("sunny, 'warm", "not closed"),
    ],
)
def test_arff_that_is_none_is_named(rows, message):
    head = "@relation r\n@attribute outlook {sunny, rainy}\n@attribute temp real\n@data\n"
    with pytest.raises(FormatError, match=message):
        text(head + rows + "\n", format="arff")


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("@relation r\n@attribute a real\n", "has no @data"),
        ("@relation r\n@data\n1\n", "before any @attribute"),
        ("@relation r\n@attribute a relational\n@data\n", "kind 'relational'"),
        ("@relation r\n@attribute a real\n@attribute a real\n@data\n", "second attribute 'a'"),
        ("@relation r\nwhat\n@data\n", "line 2: expected @attribute"),
    ],
)
def test_arff_heads_that_are_none_are_named(head, message):
    with pytest.raises(FormatError, match=message):
        text(head, format="arff")


# -- what goes wrong says so in our words -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"missing": 3},
        {"missing": [None]},
        {"decimal": ";"},
        {"header": 3},
        {"header": "abc"},
        {"header": [1, 2]},
        {"format": "cvs"},
        {"encoding": "utf-9"},
        {"encoding": 3},
        {"sql": 3},
    ],
)
def test_options_that_are_none_are_named(options):
    with pytest.raises(BadParameter, match=next(iter(options))):
        text("a,b\n1,2\n", **options)


def test_no_words_of_the_engine_reach_the_caller(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "a.json").write_text('{"a": [}')
    (tmp_path / "short.csv").write_text("a,b,c\n1,2,3\n4,5\n7,8,9\n")
    (tmp_path / "long.csv").write_text("a,b\n1,2\n3,4,5\n")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    for name, said in [
        ("a.parquet", "Parquet"),
        ("a.json", "JSON"),
        ("long.csv", "line 3: 3 cells where line 1 has 2"),
    ]:
        with pytest.raises(FormatError, match=said) as caught:
            po.read(tmp_path / name)
        assert "Error" not in str(caught.value)
    with pytest.raises(FormatError, match="line 3"):
        po.read(tmp_path / "short.csv")
    with pytest.raises(FormatError, match=r"the query cannot be run on .*a.csv.*columns: 'a', 'b'"):
        po.read(tmp_path / "a.csv", sql="SELECT c FROM this")
    with pytest.raises(FormatError, match="is a folder"):
        po.read(tmp_path)
    for rubbish in (None, 3, [1, 2], np.zeros(2)):
        with pytest.raises(PosterioriError, match="path must be a path or an open file"):
            po.read(rubbish)


def test_what_read_gives_is_what_fit_takes():
    table = text("a,b,y\n" + "\n".join(f"{i % 2},{i}.5,{'no' if i % 3 else 'yes'}" for i in range(40)), target="y")
    model = po.NaiveBayes(kinds=table.schema)
    assert model.fit(table.X, table.y).predict_proba(table).shape == (40, 2)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_wide_files_are_read_as_narrow_ones_are(tmp_path, monkeypatch, form):
    """Many columns go another way than few: the same table, schema and notes."""
    rng = np.random.default_rng(0)
    makers = [
        lambda: rng.normal(size=30).round(3),
        lambda: np.where(rng.random(30) < 0.2, np.nan, rng.integers(0, 15, 30)),
        lambda: rng.integers(0, 3, 30),
        lambda: rng.choice(["red", "green", None], 30),
        lambda: rng.choice(["1.5", "2.5", "?"], 30),
        lambda: rng.choice(["2026-01-02", "2025-11-30"], 30),
        lambda: rng.choice(["1e5", "7", "-3.25"], 30),
    ]
    frame = pd.DataFrame({f"c{j}": makers[j % len(makers)]() for j in range(100)})
    file = tmp_path / f"wide.{form}"
    frame.to_csv(file, index=False) if form == "csv" else frame.to_parquet(file)
    wide = po.read(file, target="c2")
    monkeypatch.setattr("posteriori.table.files.WIDE", 10**6)
    narrow = po.read(file, target="c2")
    assert wide.schema == narrow.schema
    assert wide.notes == narrow.notes
    pd.testing.assert_frame_equal(wide.X, narrow.X, check_dtype=False)


def test_numbers_are_looked_at_together_as_alone():
    """Missing, infinite and negative zeros among whole and other numbers: what each column says of itself."""
    rng = np.random.default_rng(1)
    cells = [np.nan, np.inf, -0.0, 0.0, 1.0, 2.0, 3.5]
    table = {f"c{j}": rng.choice(rng.choice(cells, rng.integers(1, 8)), 40) for j in range(60)}
    table |= {f"i{j}": rng.integers(0, 3 + 5 * j, 40) for j in range(10)}
    for name, column in table.items():
        values, codes = factorize(column, name)
        numeric = Schema.infer(table)[name].kind == "numeric"
        said = next(note for note in Schema.infer(table).notes if note.startswith(f"{name}:"))
        assert not numeric or said == f"{name}: numeric ({counted(len(values), 'different number')})"
        whole = all(float(v).is_integer() for v in values)
        few = len(values) <= 10 and np.count_nonzero(codes < len(values)) >= 10 * len(values)
        assert numeric == (not whole or not (few or set(values) == {0, 1}))


@pytest.mark.parametrize("word", ["?", "NA", "N/A", "null", "-", "--", ".", " ", "none"])
def test_words_for_a_missing_cell_among_numbers_are_known(word):
    table = po.read(io.StringIO(f"a,b\n1.5,x\n{word},y\n2.5,x\n"), target="b")
    assert table.schema["a"].kind == "numeric"
    assert np.isnan(np.asarray(table.X["a"], dtype=float)).tolist() == [False, True, False]
    assert any("read as missing" in note for note in table.notes)
    names = po.read(io.StringIO(f"a,b\nuk,x\n{word},y\nfr,x\n"), target="b")
    assert word in set(names.X["a"])  # among words it is one more


def test_a_wide_encoding_is_read_by_its_mark(tmp_path):
    file = tmp_path / "wide.csv"
    for encoding in ("utf-16", "utf-32"):
        file.write_text("a,b\n1,x\n2,y\n", encoding=encoding)
        assert (
            po.read(file).schema.names
            == po.read(file, encoding="utf-16" if encoding == "utf-16" else "utf-32").schema.names
        )
        assert f"read as {encoding}" in repr(po.read(file))


def test_a_byte_that_is_not_of_the_encoding_is_named_by_its_line(tmp_path):
    file = tmp_path / "long.csv"
    lines = [b"a,b", *(b"%d,x" % i for i in range(200_000))]
    lines[150_430] += b"\xff\xfe\xfd"
    file.write_bytes(b"\n".join(lines))
    with pytest.raises(FormatError, match=r"is not utf-8 text \(line 150431\)"):
        po.read(file)


def test_words_told_to_be_missing_are_so_beside_the_usual_ones():
    table = text("a,b\n1.5,x\n?,unknown\nunknown,y\n", missing="unknown")
    assert table.X["a"].isna().tolist() == [False, True, True]
    assert table.X["b"].isna().tolist() == [False, True, False]
    assert text("a\n1\n?\n", missing=[]).schema.kinds == ("categorical",)


@given(
    st.lists(
        st.tuples(*[st.sampled_from(["3", "2.5", "#", "#N/A", "# x", "x#", "--", "//", "%", "!", "word"])] * 3),
        min_size=2,
        max_size=12,
    )
)
def test_a_row_is_a_row_whatever_sign_it_begins_with(rows):
    """A sign that begins comments elsewhere is a cell here: no line is dropped."""
    text = "a,b,c\n" + "".join(",".join(row) + "\n" for row in rows)
    assert len(po.read(io.BytesIO(text.encode()), format="csv").X) == len(rows)


@pytest.mark.parametrize(
    "text", ['{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n', '[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]', "a,b\n1,x\n2,y\n"]
)
def test_an_open_file_without_a_name_is_known_by_its_first_bytes(text):
    assert po.read(io.BytesIO(text.encode())).X.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize(
    ("line", "said"),
    [("1,2,x,9", "line 7431: 4 cells where the header has 3: after 'c' comes '9'"),
     ("1,2", "line 7431: 2 cells where the header has 3: there is none for 'c'; the last is '2'")],
)  # fmt: skip
def test_an_uneven_line_far_down_is_named_with_its_cell(tmp_path, line, said):
    rows = ["a,b,c", *(f"{i},{i / 2},w{i % 3}" for i in range(10_000))]
    rows[7430] = line
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    with pytest.raises(FormatError, match=said):
        po.read(tmp_path / "t.csv")


@pytest.mark.parametrize("at", [2, 431])
def test_a_quote_that_never_ends_is_named_by_its_line(tmp_path, at):
    lines = [f"{i % 7},{i % 3},{'xy'[i % 2]}" for i in range(500)]
    lines[at - 2] = '1,"2,x'
    file = tmp_path / "open.csv"
    file.write_text("a,b,class\n" + "\n".join(lines) + "\n")
    with pytest.raises(FormatError, match=rf"open.csv, line {at}: the quote that begins '\"2' never ends"):
        po.read(file, target="class")


def test_inches_and_closed_quotes_are_no_fault(tmp_path):
    file = tmp_path / "inch.csv"
    file.write_text("size,b,class\n" + "".join(f'{i % 5}" x 3",{i % 3},{"xy"[i % 2]}\n' for i in range(40)))
    assert po.read(file, target="class").X["size"].iloc[1] == '1" x 3"'


@pytest.mark.parametrize(
    ("cells", "said"), [([[1], [2, 3], None], "list<item: int64>"), ([{"u": 1}, {"u": 2}, None], "struct<u: int64>")]
)
def test_columns_of_lists_and_records_are_refused_by_name(tmp_path, cells, said):
    pq.write_table(pa.table({"x": cells, "y": ["p", "q", "p"]}), tmp_path / "t.parquet")
    with pytest.raises(
        PosterioriError, match=re.escape(f"column 'x': argument must be a string or a number, not {said}")
    ):
        po.read(tmp_path / "t.parquet", "y")


def test_bytes_are_refused_with_a_way_out_that_works(tmp_path):
    pq.write_table(pa.table({"x": [None, b"a", b"b", b"a"], "y": ["p", "q", "p", "q"]}), tmp_path / "t.parquet")
    with pytest.raises(PosterioriError, match=r"column 'x': .*, not bytes; cast it to text") as refused:
        po.read(tmp_path / "t.parquet", "y")
    query = str(refused.value).split("by sql: ")[1]
    table = po.read(tmp_path / "t.parquet", "y", sql=query)
    assert table.schema["x"].values == ("a", "b")


@pytest.mark.parametrize("columns", [1, 300])
def test_numbers_of_single_precision_are_those_of_a_file_of_text(tmp_path, columns):
    rng = np.random.default_rng(0)
    cells = {f"x{j}": rng.normal(size=60).astype(np.float32).round(3) for j in range(columns)}
    cells["x0"][:4] = 0.1, 8.274022e07, np.nan, 1e-30
    frame = pd.DataFrame({**cells, "y": ["a", "b"] * 30})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    binary, text = (po.read(tmp_path / f"t.{form}", target="y") for form in ("parquet", "csv"))
    pd.testing.assert_frame_equal(binary.X, text.X, check_exact=True)
    model, again = po.NaiveBayes().fit(binary.X, binary.y), po.NaiveBayes().fit(text.X[9:], text.y[9:])
    model.forget(text.X[:9], text.y[:9])
    np.testing.assert_allclose(model.predict_proba(text.X), again.predict_proba(text.X), rtol=1e-9)
