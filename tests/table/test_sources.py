"""The same table in every library gives the same codes, kinds and model."""

from __future__ import annotations

import copy
import re
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import posteriori as po
from posteriori.errors import BadValue, MemoryBudgetError, TableError, UnknownColumn
from posteriori.table.encode import factorize
from posteriori.table.frame import open_frame
from posteriori.table.kinds import resolve_kinds

COLUMNS = {
    "city": ["Oslo", "Rome", None, "Oslo", "Bonn", "Rome"],
    "wet": [True, False, True, True, None, False],
    "rooms": [1, 2, 2, 3, 1, 2],
    "rent": [410.5, None, 990.0, 1200.25, 380.0, 720.0],
}
Y = ["a", "b", "b", "b", "a", "a"]


def frames():
    frame = pd.DataFrame(COLUMNS)
    yield "pandas", frame
    yield "pandas nullable", frame.convert_dtypes()
    yield "pandas category", frame.astype({"city": "category"})
    yield "polars", pl.DataFrame(COLUMNS)
    yield "polars lazy", pl.LazyFrame(COLUMNS)
    yield "polars category", pl.DataFrame(COLUMNS).with_columns(pl.col("city").cast(pl.Categorical))
    yield "arrow", pa.table(COLUMNS)
    yield "arrow chunked", pa.concat_tables([pa.table(COLUMNS).slice(0, 2), pa.table(COLUMNS).slice(2)])
    yield "arrow batch", pa.record_batch(COLUMNS)
    yield "dict", COLUMNS
    yield "dict of arrays", {k: np.array(v, dtype=object) for k, v in COLUMNS.items()}


@pytest.mark.parametrize(("name", "table"), list(frames()), ids=lambda v: v if isinstance(v, str) else "")
def test_every_library_gives_the_same_model(name, table):
    reference = po.NaiveBayes().fit(pd.DataFrame(COLUMNS), Y)
    model = po.NaiveBayes().fit(table, Y)
    assert model.schema_.kinds == ("categorical", "binary", "numeric", "numeric")
    assert model.statistics_ == reference.statistics_
    np.testing.assert_array_equal(model.predict_proba(table), reference.predict_proba(pd.DataFrame(COLUMNS)))
    assert model.n_missing_ == 3


N = 2_600  # more distinct rows than a sample keeps
TYPES = {  # what Arrow calls them, and the cells
    "whole": (pa.int32(), lambda rng: rng.integers(-999, 999, N).tolist()),
    "whole, large": (pa.int64(), lambda rng: (2**60 + rng.integers(0, 99, N)).tolist()),
    "whole, few": (pa.uint8(), lambda rng: rng.integers(1, 4, N).tolist()),
    "floats": (pa.float64(), lambda rng: rng.normal(size=N).tolist()),
    "decimals": (
        pa.decimal128(18, 2),
        lambda rng: [Decimal(int(v)).scaleb(-2) for v in rng.integers(-(10**7), 10**7, N)],
    ),
    "decimals, few": (pa.decimal128(9, 2), lambda rng: [Decimal(f"{v}.10") for v in rng.integers(1, 4, N)]),
    "decimals, whole": (pa.decimal128(38, 0), lambda rng: [Decimal(10**17 + int(v)) for v in rng.integers(1, 4, N)]),
    "booleans": (pa.bool_(), lambda rng: (rng.random(N) < 0.4).tolist()),
    "words": (pa.string(), lambda rng: rng.choice(["a", "b", "é"], N).tolist()),
    "words like numbers": (pa.string(), lambda rng: rng.choice(["1", "2", "10"], N).tolist()),
    "words with zeros": (pa.string(), lambda rng: rng.choice(["01", "1", "10"], N).tolist()),
    "days": (pa.date32(), lambda rng: [date(2020, 1, 1) + timedelta(days=int(v)) for v in rng.integers(0, 400, N)]),
    "times": (pa.timestamp("ns"), lambda rng: [datetime(2020, 1, 1, 0, 0, int(v)) for v in rng.integers(0, 60, N)]),
}


def read_from(cells, table, folder):
    """The same columns from every file and every library."""
    pq.write_table(table, folder / "t.parquet")
    words = [repr(v) if isinstance(v, float) else str(v) for v in cells]
    pd.DataFrame({"x": words, "z": table["z"]}).to_csv(folder / "t.csv", index=False)
    for file in ("t.csv", "t.parquet"):
        yield file, po.read(folder / file).X
    yield "arrow", table
    yield "pandas", table.to_pandas()
    yield "pandas of Arrow", table.to_pandas(types_mapper=pd.ArrowDtype)
    yield "polars", pl.from_arrow(table)
    yield "dict", {"x": cells, "z": table["z"].to_numpy()}


@pytest.mark.filterwarnings("ignore:column")
@pytest.mark.parametrize("kind", ["categorical", "numeric"])
@pytest.mark.parametrize("name", TYPES)
def test_a_value_is_the_same_cell_whatever_it_came_in_or_is_refused_by_name(name, kind, tmp_path):
    rng = np.random.default_rng(0)
    kinds, made = {"x": kind, "z": "numeric"}, TYPES[name]
    if kind == "numeric" and made[0] in (pa.string(), pa.bool_()):
        return
    cells, y = made[1](rng), rng.integers(0, 2, N)
    tables = dict(read_from(cells, pa.table({"x": pa.array(cells, made[0]), "z": rng.normal(size=N)}), tmp_path))
    models = {source: po.NaiveBayes(kinds=kinds).fit(X, y) for source, X in tables.items()}
    first = models["t.csv"]
    for source, model in models.items():
        alike = [type(v) is str for v in first.schema_["x"].values] == [
            type(v) is str for v in model.schema_["x"].values
        ]
        if name != "booleans":  # in a file of text they are the words True and False
            assert np.array_equal(first.statistics_.sample.cells, model.statistics_.sample.cells), source
            assert np.array_equal(first.predict_proba(tables["t.csv"]), model.predict_proba(tables[source])), source
        if alike:
            assert first.schema_["x"].values == model.schema_["x"].values, source
            assert (first + model).schema_["x"].values == first.schema_["x"].values
            if kind == "categorical":
                both = po.NaiveBayes(kinds="categorical").fit(tables["t.csv"][["x"]], y) + po.NaiveBayes(
                    kinds=kind
                ).fit({"x": open_frame(tables[source]).column(0)}, y)
                assert both.forget(tables["t.csv"][["x"]], y).schema_["x"].values == model.schema_["x"].values
        else:
            with pytest.raises(BadValue, match=r"column 'x' has .* \((int|bool)\) and '.*' \(str\), as two values"):
                first + model
            with pytest.raises(BadValue, match="as two values: give both tables one type"):
                copy.deepcopy(first).partial_fit(tables[source], y)


def test_decimals_that_no_number_tells_apart_are_refused_by_name():
    cells = [Decimal("0.1"), Decimal("0.10000000000000000001")]
    with pytest.raises(BadValue, match=r"column 'x': .* have more digits than numbers hold"):
        po.NaiveBayes(kinds="categorical").fit({"x": cells}, ["a", "b"])


def test_long_whole_decimals_of_a_file_are_words_where_floats_would_be_equal(tmp_path):
    cells = [Decimal(10**25), Decimal(10**25 + 1), None]
    pq.write_table(pa.table({"x": pa.array(cells, pa.decimal128(38, 0))}), tmp_path / "t.parquet")
    assert po.read(tmp_path / "t.parquet").X["x"].tolist()[:2] == [str(v) for v in cells[:2]]
    pq.write_table(pa.table({"x": pa.array([2**60 + 1, 2**60, 1], pa.decimal128(38, 0))}), tmp_path / "t.parquet")
    assert po.read(tmp_path / "t.parquet").X["x"].tolist() == [2**60 + 1, 2**60, 1]


def test_object_matrix_is_the_same_too():
    cells = np.array([list(row) for row in zip(*COLUMNS.values())], dtype=object)
    model = po.NaiveBayes().fit(cells, Y)
    expected = po.NaiveBayes().fit(pd.DataFrame(COLUMNS), Y)
    assert model.schema_.kinds == expected.schema_.kinds
    np.testing.assert_array_equal(model.predict_proba(cells), expected.predict_proba(pd.DataFrame(COLUMNS)))


def test_masked_cells_are_missing():
    X = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0], [5.0, 1.0]], mask=[[0, 1], [0, 0], [0, 0]])
    plain = np.array([[1.0, np.nan], [3.0, 4.0], [5.0, 1.0]])
    assert po.NaiveBayes().fit(X, [0, 1, 1]).statistics_ == po.NaiveBayes().fit(plain, [0, 1, 1]).statistics_


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint16, np.int64, np.float32, np.float64, object])
@pytest.mark.parametrize("order", ["C", "F"])
def test_integer_codes_of_any_dtype(dtype, order):
    rng = np.random.default_rng(1)
    X = rng.integers(1, 7, (50, 4))
    y = rng.integers(0, 3, 50)
    a = po.NaiveBayes(kinds="categorical").fit(X, y)
    b = po.NaiveBayes(kinds="categorical").fit(np.asarray(X, dtype=dtype, order=order), y)
    assert a.statistics_.cells == b.statistics_.cells
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(np.asarray(X, dtype=dtype, order=order)))


@pytest.mark.parametrize("kinds", ["binary", "count"])
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_matrix, sp.coo_array, sp.lil_matrix])
def test_sparse_is_dense(kinds, make):
    rng = np.random.default_rng(2)
    X = rng.poisson(0.4, (60, 9))
    X = np.minimum(X, 1) if kinds == "binary" else X
    y = rng.integers(0, 2, 60)
    for smoothing in (0.0, 1.0):
        thin = po.NaiveBayes(smoothing, kinds=kinds).fit(make(X), y)
        thick = po.NaiveBayes(smoothing, kinds=kinds).fit(X, y)
        assert thin.statistics_.cells == thick.statistics_.cells
        assert thin.statistics_.words == thick.statistics_.words
        np.testing.assert_allclose(
            thin.predict_joint_log_proba(make(X)), thick.predict_joint_log_proba(X), rtol=1e-12, atol=1e-12
        )


def test_columns_are_matched_by_name():
    frame = pd.DataFrame(COLUMNS)
    model = po.NaiveBayes().fit(frame, Y)
    np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(frame[frame.columns[::-1]]))
    with pytest.raises(UnknownColumn, match=r"missing columns: 'rent'.*did you mean 'rnt'"):
        model.predict(frame.rename(columns={"rent": "rnt"}))
    with pytest.raises(UnknownColumn, match="not known from training: 'target'"):
        model.predict(frame.assign(target=1))
    with pytest.raises(UnknownColumn, match="duplicate columns: 'city'"):
        po.NaiveBayes().fit(pd.concat([frame, frame[["city"]]], axis=1), Y)


def test_errors_name_row_column_and_value():
    frame = pd.DataFrame({"a": ["1.5", "oops"], "b": [1.0, np.inf]})
    with pytest.raises(BadValue, match=r"column 'a'"):
        po.NaiveBayes(kinds={"a": "numeric", "b": "numeric"}).fit(frame, [0, 1])
    with pytest.raises(BadValue, match=r"row 1, column 'b'.*infinity"):
        po.NaiveBayes().fit(frame[["b"]], [0, 1])
    good = po.NaiveBayes().fit(pd.DataFrame({"b": [1.0, 2.0]}), [0, 1])
    with pytest.raises(BadValue, match=r"row 0, column 'b'.*infinity"):
        good.predict(pd.DataFrame({"b": [-np.inf]}))
    with pytest.raises(BadValue, match=r"row 1, column 'hits'.*-2"):
        po.NaiveBayes(kinds="count").fit(pd.DataFrame({"hits": [1, -2]}), [0, 1])
    with pytest.raises(BadValue, match=r"row 1, column 'x2'.*-2"):
        po.NaiveBayes(kinds="count").fit(sp.csr_matrix([[1, 0, 0], [0, 1, -2]]), [0, 1])
    with pytest.raises(BadValue, match="binary but has 3 values"):
        po.NaiveBayes(kinds="binary").fit(pd.DataFrame({"f": [1, 2, 3]}), [0, 1, 1])
    with pytest.raises(TypeError, match="argument must be a string or a number"):
        po.NaiveBayes().fit(np.array([[{"a": 1}], [2]], dtype=object), [0, 1])
    with pytest.raises(TableError, match="Complex"):
        po.NaiveBayes().fit(np.array([[1j], [2]]), [0, 1])
    with pytest.raises(TableError, match="differ in length"):
        po.NaiveBayes().fit({"a": [1, 2], "b": [1]}, [0, 1])
    with pytest.raises(MemoryBudgetError, match=r"GiB.*kinds"):
        po.NaiveBayes().fit(sp.csr_matrix((200_000, 50_000)), np.arange(200_000) % 2)


def test_kinds_are_told_or_follow_the_dtype():
    frame = open_frame({"zip": [100, 200], "name": ["a", "b"]})
    assert resolve_kinds(frame, None) == ("numeric", "categorical")
    assert resolve_kinds(frame, {"zip": "categorical"}) == ("categorical", "categorical")
    assert resolve_kinds(frame, "categorical") == ("categorical", "categorical")
    with pytest.raises(UnknownColumn, match="did you mean 'zip'"):
        resolve_kinds(frame, {"zpi": "categorical"})
    with pytest.raises(TableError, match="did you mean 'categorical'"):
        resolve_kinds(frame, {"zip": "categoricl"})


def test_a_million_categories():
    ids = np.arange(1_000_000)
    np.random.default_rng(0).shuffle(ids)
    model = po.NaiveBayes(kinds="categorical").fit(ids[:, None], ids % 2)
    assert len(model.schema_.columns[0].values) == 1_000_000
    assert model.predict(ids[:1000, None]).tolist() == (ids[:1000] % 2).tolist()


def test_factorize_of_mixed_objects():
    values, codes = factorize(np.array([2, "b", None, 1.5, "a", float("nan"), 2.0], dtype=object), "x")
    assert values == (1.5, 2, "a", "b")
    assert codes.tolist() == [1, 3, 4, 0, 2, 4, 1]


@pytest.mark.parametrize("row", [[2, "S"], (2, "S"), ["a", "b"], [1.5, 2.5], [None, 1]])
def test_a_row_without_brackets_of_its_own_is_told_so(row):
    model = po.NaiveBayes(kinds="categorical").fit([[1, "S"], [2, "M"]], ["a", "b"])
    with pytest.raises(TableError, match=re.escape(f"a row needs brackets of its own, [{list(row)!r}]")):
        model.predict(row)
