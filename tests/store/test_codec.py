"""Values come back as they were: the same type, the same bits; what cannot is refused by name."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import json
import math
import uuid
import zoneinfo

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import posteriori as po
from posteriori.errors import ModelFileError, NotStorable
from posteriori.store.codec import Reader, Writer, narrowed
from posteriori.store.container import Budget

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
PLAIN = [
    *(None, True, False, 0, -1, 2**63, -(2**400), 0.0, -0.0, 5e-324, 1.7e308, math.inf, -math.inf, math.nan),
    *("", "a", "\0", "你好", "🙂", "\u202eabc", '"quoted"', "=cmd()", "</script>", "a\nb", b"", b"\x00\xff"),
    *((), (1,), [1, [2]], {1, 2}, frozenset({"a", 1}), {1: "a", "b": [None]}, {("a", 1): {"is": "x"}}),
    *(
        datetime.date(2024, 2, 29),
        datetime.datetime(1, 1, 1, 0, 0, 0, 7),
        datetime.time(23, 59),
        datetime.timedelta(-1, 5),
    ),
    datetime.datetime(2024, 5, 5, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    *(decimal.Decimal("1.10"), decimal.Decimal("NaN"), fractions.Fraction(1, 3), uuid.UUID(int=5)),
    *(np.bool_(True), np.int8(-3), np.uint64(2**64 - 1), np.float32(0.1), np.float64(math.nan), np.float16(2.5)),
    *(
        np.str_("x"),
        np.bytes_(b"x"),
        np.datetime64("2024-01-01"),
        np.datetime64("2024-01-01T01", "25s"),
        np.datetime64("NaT"),
    ),
    *(np.timedelta64(3, "ns"), np.timedelta64(3), pd.Timestamp("2024-01-01"), pd.Timestamp(5), pd.Timestamp.min),
    *(pd.Timestamp("2024-01-01", tz="UTC"), pd.Timestamp(2024, 10, 27, 2, 30, tz=BERLIN), pd.Timedelta(7, "s")),
    *(
        pd.NaT,
        pd.NA,
        pd.Interval(0, 1.5),
        pd.Interval(pd.Timestamp(0), pd.Timestamp(9), "both"),
        pd.Period("2024-05", "M"),
    ),
    *(
        np.dtype("float32"),
        tuple(range(40)),
        ["a"] * 20,
        tuple("abcdefghijklmnopqrst"),
        [2**70] * 20,
        [0.5, math.nan] * 9,
    ),
    *([True, False] * 9, [1, True] * 9, ["🙂", "é"] * 9, frozenset(range(50)), frozenset("abcdefghijklmnopqrstu")),
]
ARRAYS = [
    *(np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.zeros((0, 3)), np.array(5.0)),
    *(
        np.array(["a", "bc"]),
        np.array([b"a", b"bc"]),
        np.array(["a", 1, None, 2.5], dtype=object),
        np.array([], dtype="U"),
    ),
    *(np.array(["2024-01-01", "NaT"], dtype="M8[ns]"), np.array([1, 2], dtype="m8[h]"), np.array([True, False])),
    *(
        np.array([1, 2], dtype=">i4"),
        np.arange(10.0)[::2],
        np.arange(12).reshape(3, 4).T[::2],
        np.float16([1, math.nan]),
    ),
    *(
        np.array([["a"], ["b"]]),
        np.array([(1, 2), "x"], dtype=object),
        np.zeros((2, 0, 3), np.uint8),
        np.array([""] * 30),
    ),
]


def back(value, size=1 << 20):
    writer = Writer()
    text = writer.text(value)
    return Reader([a.copy() for a in writer.arrays], Budget(size)).value(text), text


def same(a, b) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype.newbyteorder("=") != b.dtype.newbyteorder("=") or a.shape != b.shape:
            return False
        return all(same(x, y) for x, y in zip(a.ravel().tolist(), b.ravel().tolist()))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a.items(), b.items()))
    if isinstance(a, (set, frozenset)):
        return a == b
    return repr(a) == repr(b) and getattr(a, "tzinfo", None) == getattr(b, "tzinfo", None)


@pytest.mark.parametrize("value", PLAIN, ids=lambda v: f"{type(v).__name__}")
def test_plain_values_come_back(value):
    found, text = back(value)
    assert same(found, value)
    assert text.isascii()
    assert back(found)[1] == text


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}")
def test_arrays_come_back(array):
    found, _ = back(array)
    assert same(found, array)
    assert found.dtype.isnative
    assert array.ndim < 2 or found.flags.f_contiguous == array.flags.f_contiguous or not array.flags.contiguous


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
def test_sparse_tables_come_back(kind):
    table = kind(np.eye(3, 5))
    found = back(table)[0]
    assert type(found) is kind
    assert (found != table).nnz == 0


def test_sparse_tables_that_reach_beyond_their_cells_are_refused():
    writer = Writer()
    text = writer.text(sp.csr_matrix(np.eye(3, 5)))
    data, indices, indptr = writer.arrays
    bad = [
        (data, indices, [0, 9, 9, 0]),
        (data, indices, [0, 2, 1, 3]),
        (data, indices, [1, 1, 2, 3]),
        (data, indices, [0, 1, 2, 2]),
        (data, [0, 1, 5], indptr),
        (data, [0, -1, 2], indptr),
        (data[:2], indices, indptr),
    ]
    for cells, at, ends in bad:
        arrays = [cells, np.array(at, np.int32), np.array(ends, np.int32)]
        with pytest.raises(ModelFileError, match="sparse"):
            Reader(arrays, Budget(1000)).value(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(), st.lists, max_leaves=60
    )
)
def test_any_lists_come_back(value):
    assert same(back(value)[0], value)


@given(
    st.dictionaries(st.integers() | st.text() | st.tuples(st.text()), st.lists(st.floats() | st.text(), max_size=40))
)
def test_any_dicts_come_back(value):
    assert same(back(value)[0], value)


NARROW = {
    "u1": [0, 255],
    "i1": [-128, 127],
    "u2": [0, 65_535],
    "i2": [-32_768, 128],
    "u4": [0, 2**32 - 1],
    "i4": [-(2**31), 0],
}


@pytest.mark.parametrize("wide", ["i8", "u8", "f8", "i4", "u4", "f4", "i2", "u2", "f2"])
@pytest.mark.parametrize("narrow", NARROW)
def test_whole_numbers_are_written_as_narrow_as_they_fit(wide, narrow):
    if not np.can_cast(narrow, wide) or np.dtype(narrow).itemsize >= np.dtype(wide).itemsize:
        return
    array = np.array(NARROW[narrow] * 32, wide)
    writer, plain = Writer(), Writer(narrow=False)
    text = writer.text(array)
    assert (writer.arrays[0].dtype, writer.held) == (np.dtype(narrow), array.nbytes)
    assert same(Reader(writer.arrays, Budget(10)).value(text), array)
    plain.text(array)
    assert (plain.arrays[0].dtype, plain.held) == (array.dtype, 0)


@pytest.mark.parametrize("odd", [0.5, -0.0, np.nan, np.inf])
@pytest.mark.parametrize("at", [0, 99])
def test_floats_that_are_not_whole_stay_floats(odd, at):
    array = np.ones(100)
    array[at] = odd
    assert narrowed(array) is array


def test_narrow_arrays_take_memory_that_is_bounded():
    """Beyond a sum they are no narrower than half of their width, which any file may be."""
    array = np.zeros(1000, np.int64)
    assert narrowed(array, 8000).dtype == np.uint8
    assert narrowed(array, 7999).dtype == np.uint32
    small = np.zeros(7, np.int64)
    assert narrowed(small) is small  # what it would save is less than what says so
    assert narrowed(np.zeros(8, np.int64)).dtype == np.uint8
    writer = Writer()
    writer._wider = 20_000
    writer.text([array] * 3)
    assert [a.dtype.name for a in writer.arrays] == ["uint8", "uint8", "uint32"]


@pytest.mark.parametrize(
    ("stored", "wide"),
    [("i1", "uint8"), ("i1", "uint64"), ("u1", "uint8"), ("u4", "float32"), ("i4", "int32"), ("f4", "float64")]
    + [("u1", "complex128"), ("u1", 8), ("?", "int64"), ("u1", "O"), ("u8", "float64")],
)
def test_arrays_that_cannot_be_wider_are_refused(stored, wide):
    text = json.dumps({"is": "array", "at": 0, "wide": wide})
    with pytest.raises(ModelFileError):
        Reader([np.zeros(3, stored)], Budget(1000)).value(text)


def test_a_wider_array_is_paid_for():
    text, array, budget = '{"is":"array","at":0,"wide":"float64"}', np.zeros(1 << 20, np.uint8), Budget(10)
    budget.left = (8 << 20) - 1
    with pytest.raises(ModelFileError, match="an array would take 8,388,608 bytes"):
        Reader([array], budget).value(text)


@given(hnp.arrays(st.sampled_from(["f8", "f4", "i8", "u2", "?", "M8[us]", "U3", "S2"]), hnp.array_shapes(min_side=0)))
def test_any_arrays_come_back(array):
    assert same(back(array)[0], array)


def test_streams_of_random_numbers_go_on_where_they_were():
    for stream in (np.random.RandomState(3), np.random.default_rng(3), np.random.Generator(np.random.PCG64DXSM(1))):
        stream.normal(size=3)
        assert back(stream)[0].normal() == stream.normal()


NOBODY = """
{}
{"is":1}
{"a":1}
{"is":"os.system","of":"ls"}
{"is":"list","of":[],"of":[]}
[NaN]
[1e999]
[-Infinity]
{"is":"set","of":[1,1]}
{"is":"set","of":[[]]}
{"is":"set","as":"text","of":[]}
{"is":"dict","of":[[[],1]]}
{"is":"dict","of":[1]}
{"is":"dict","of":[[1,1],[1,2]]}
{"is":"array","at":0}
{"is":"array","at":true}
{"is":"float","of":"1"}
{"is":"objects","shape":[3],"of":[]}
{"is":"objects","shape":[1000000000000,0],"of":1}
{"is":"texts","width":16000000,"shape":[1],"of":["a"]}
{"is":"texts","width":0,"shape":[1],"of":["a"]}
{"is":"date","of":"x"}
{"is":"datetime64","of":[1,"x",1]}
{"is":"datetime64","of":[1]}
{"is":"RandomState","of":[[0],9999,0,0.0]}
{"is":"Generator","of":["PCG64",1,2,0,0]}
{"is":"Decimal","of":1}
{"is":"Timestamp","of":[0,"ns","../../etc/passwd"]}
{"is":"Timestamp","of":[0,"ns","posteriori"]}
{"is":"Interval","left":2,"right":1,"closed":"left"}
{"is":"Interval","left":2}
{"is":"Period","ordinal":1,"freqstr":"zzz"}
{"is":"csr_matrix","shape":[1,1],"data":1,"indices":1,"indptr":1}
{"is":"int8","of":300}
{"is":"int8","of":true}
{"is":"dtype","of":"O"}
{"is":"Schema"}
{"is":"NaiveBayes"}
{"is":"Counts","table":1}
{"is":"bytes","of":"zz"}
{"is":"UUID","of":"x"}
"""


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    "value",
    [Colour.RED, np.longdouble(1), 1j, len, lambda x: x, object(), np.zeros(2, complex), 2**20000, np.ma.zeros(2)]
    + [np.random.Generator(np.random.MT19937(0)), pd.DataFrame({"a": [1]}), np.zeros(2, [("a", int)]), iter([])],
    ids=lambda v: type(v).__name__,
)
def test_what_cannot_be_held_is_refused_by_name(value):
    with pytest.raises(NotStorable, match="cannot hold"):
        Writer().text({"a": value})


@pytest.mark.parametrize("text", [*NOBODY.strip().splitlines(), "[" * 100_000, "1" * 9999], ids=lambda t: t[:30])
def test_texts_that_nobody_wrote_are_refused_by_name(text):
    with pytest.raises(ModelFileError):
        Reader([], Budget(len(text))).value(text)


LABELS = {
    "texts": ["a", "b", "ü"],
    "numbers": [3, 1, 2],
    "large": [2**62, 1, 2],
    "booleans": [True, False, True],
    "floats": [1.0, 2.0, 3.0],
    "mixed": np.array(["a", 1, 2], dtype=object),
    "dates": np.array([datetime.date(2024, 1, d) for d in (1, 2, 3)], dtype=object),
    "times": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]),
    "days": np.array(["2024-01-01", "2024-01-02", "2024-01-03"], dtype="M8[D]"),
    "zoned": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]).tz_localize("Europe/Berlin"),
    "bytes": np.array([b"a", b"b", b"c"]),
    "categories": pd.Categorical(["a", "b", "c"], categories=["c", "b", "a", "z"]),
    "bins": pd.cut([1, 5, 9], 3),
    "months": pd.PeriodIndex(["2024-01", "2024-02", "2024-03"], freq="M"),
    "decimals": np.array([decimal.Decimal("1.1"), decimal.Decimal(2), decimal.Decimal(3)], dtype=object),
    "small": np.array([1, 2, 3], dtype=np.int8),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("where", ["classes", "values"])
def test_classes_and_values_keep_their_types(kind, where):
    from posteriori.store.file import from_bytes, to_bytes

    if kind == "months" and where == "values":
        pytest.skip("a table gives months as Arrow's own values")
    labels = LABELS[kind]
    column = pd.Series(labels, dtype=object) if kind == "bytes" else pd.Series(labels)
    X, y = ({"x": ["u", "v", "w"]}, labels) if where == "classes" else (pd.DataFrame({"x": column}), ["p", "q", "r"])
    try:
        model = po.NaiveBayes(kinds="categorical").fit(X, y)
    except ValueError as error:
        pytest.skip(f"no such labels: {error}")
    twin = from_bytes(bytearray(b"".join(map(bytes, to_bytes(model)))))
    assert twin.schema_ == model.schema_
    assert [type(v) for v in twin.schema_.columns[0].values] == [type(v) for v in model.schema_.columns[0].values]
    assert twin.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    np.testing.assert_array_equal(twin.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("ends", "good"),
    [
        ([1, 1, 3], True),
        ([1, 3, 2], False),
        ([-1, 2, 3], False),
        ([1, 2], False),
        ([1, 4], False),
        ([2**63 - 1, -(2**63) + 4, 3], False),  # each less the last is above 0 in 64 bits, and each text would be all
    ],
)
def test_texts_end_one_after_another(ends, good):
    arrays = [np.array(ends, np.int64), np.frombuffer(b"abc", np.uint8)]
    text = '{"is":"tuple","as":"text","ends":{"is":"array","at":0},"of":{"is":"array","at":1}}'
    reader = Reader(arrays, Budget(1 << 20))
    if good:
        assert reader.value(text) == ("a", "", "bc")
        return
    with pytest.raises(ModelFileError, match="texts must end one after another"):
        reader.value(text)


@pytest.mark.parametrize("half", [0xD83D, 0xDE42])
@pytest.mark.parametrize("where", ["text", "list", "key", "tuple", "many"])
def test_half_a_character_is_refused_wherever_it_stands(half, where):
    def held(text):
        return {"text": text, "list": [text], "key": {text: 1}, "tuple": {"a": ("x", text)}, "many": [text] * 999}[
            where
        ]

    with pytest.raises(NotStorable, match="half a character"):
        Writer().text(held(f"a{chr(half)}b"))
    Writer().text(held(f"a{chr(0x1F642)}b"))
