"""Files that come without a name: what their first bytes say."""

from __future__ import annotations

import gzip

import pytest

from posteriori.table.files import _looks_like


@pytest.mark.parametrize(
    ("head", "ending"),
    [
        (b"PAR1\x15\x04", ".parquet"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), ".csv.gz"),
        (b"% of flowers\n@RELATION iris\n", ".arff"),
        ("  @relation iris", ".arff"),
        (b'[{"a": 1}]', ".json"),
        (b' {"a": 1}\n{"a": 2}\n', ".json"),
        (b"[1, 2]", ".csv"),  # no name, no object
        (b'a,"b"\n', ".csv"),
        ("", ".csv"),
        (b"x PAR1", ".csv"),
    ],
)
def test_the_first_bytes_tell_the_kind_of_a_file(head, ending):
    assert _looks_like(head) == ending
