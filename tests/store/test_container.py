"""The bytes of a file: one way to write them, every length, hash and word of the head checked before an array is made."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import ModelFileError
from posteriori.store.container import (
    DTYPES,
    MEGABYTE,
    OBJECT,
    Budget,
    arrays_of,
    digest,
    entries_of,
    header_of,
    pack,
    parse,
    split,
)

ARRAYS = [np.arange(3, dtype=np.int8), np.array([[0.5, -1.0]]), np.array([True, False]), np.zeros((0, 2), np.float32)]


def whole(arrays=ARRAYS, model="[1]", head=None) -> bytearray:
    return bytearray(b"".join(map(bytes, pack({"format": 1} if head is None else head, model, arrays))))


def read(data):
    head, model, begin = split(data, Budget(len(data)))
    return arrays_of(data, begin, head, model, entries_of(json.loads(head)))


@given(st.lists(st.tuples(st.sampled_from(sorted(DTYPES)), st.lists(st.integers(0, 3), max_size=3)), max_size=6))
def test_arrays_come_back_in_their_order_and_aligned(shapes):
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 2, shape).astype(dtype) for dtype, shape in shapes]
    found = read(whole(arrays))
    for mine, theirs in zip(arrays, found, strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_array_equal(mine, theirs)
        assert theirs.flags.aligned


def test_the_header_is_padded_to_eight_bytes_and_says_its_length():
    data = whole()
    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0
    assert json.loads(data[8 : 8 + length])["0"]["data_offsets"] == [16, 19]  # wide items lie first


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (lambda d: d[:7], "no model file: 7 bytes"),
        (lambda d: (len(d)).to_bytes(8, "little") + d[8:], "longer than the file"),
        (lambda d: d[:8] + b"\xff" + d[9:], "no ASCII text"),
        (lambda d: d.replace(b"__metadata__", b"__metadatb__"), "begins otherwise"),
        (lambda d: d.replace(b'"[1]"', b'"[2]"'), "header is damaged"),
        (lambda d: d + b"\0", "the file has"),
        (lambda d: d[:-1], "was it cut off"),
        (lambda d: d[:-1] + bytes([d[-1] ^ 1]), "is damaged"),
        (lambda d: d.replace(b',"0":{', b',"0": {', 1), "agree|longer"),
    ],
)
def test_what_is_wrong_is_named(bad, why):
    with pytest.raises(ModelFileError, match=why):
        read(bytearray(bad(whole())))


def test_booleans_are_true_or_false():
    arrays = [np.array([2], np.uint8).view(np.bool_)]
    with pytest.raises(ModelFileError, match="neither true nor false"):
        read(whole(arrays))


@pytest.mark.parametrize(
    "entry",
    [
        7,
        {"shape": [1], "dtype": "F64", "sha256": "0"},
        {"dtype": "F65", "shape": [1], "sha256": "0"},
        {"dtype": ["F64"], "shape": [1], "sha256": "0"},
        {"dtype": "F64", "shape": [-1], "sha256": "0"},
        {"dtype": "F64", "shape": [True], "sha256": "0"},
        {"dtype": "F64", "shape": [1 << 48], "sha256": "0"},
        {"dtype": "F64", "shape": [1] * 9, "sha256": "0"},
        {"dtype": "F64", "shape": 3, "sha256": "0"},
    ],
)
def test_an_array_is_described_in_legal_terms(entry):
    with pytest.raises(ModelFileError, match="array 1"):
        entries_of({"arrays": [{"dtype": "F64", "shape": [], "sha256": "0"}, entry]})


def test_the_head_lists_its_arrays():
    with pytest.raises(ModelFileError, match="no list of arrays"):
        entries_of({"arrays": {}})


def test_a_budget_is_spent_once_and_grows_with_the_file():
    budget = Budget(8)
    assert budget.left == 48 * MEGABYTE + 22
    budget.spend(budget.left - 1, "a")
    budget.spend(1, "b")
    with pytest.raises(ModelFileError, match=r"c would take 1 bytes, too much for a file of 8"):
        budget.spend(1, "c")


def test_json_is_priced_by_its_lists_and_objects():
    budget = Budget(0)
    before = budget.left
    budget.spend_text('[1,{"a":2}]', "x")
    assert before - budget.left == 11 + OBJECT * (1 + 4) + OBJECT // 2


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e999", "[", "[" * 100_000, "{'a': 1}"])
def test_json_that_nobody_writes_is_refused(text):
    with pytest.raises(ModelFileError):
        parse(text, "it")


def test_a_digest_is_that_of_the_bytes():
    assert digest(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert header_of("a", "b", []) == header_of("a", "b", [])
