"""Files that come without a name: what their first bytes say."""

from __future__ import annotations

import gzip

import pytest

import posteriori as po
from posteriori.errors import FormatError
from posteriori.table import files
from posteriori.table.files import _decoded, _is_ascii, _looks_like


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


def test_what_is_ascii_needs_no_decoding(tmp_path):
    for name, text, ascii in (("a.csv", b"a,b\n1,2\n" * 300_000, True), ("b.csv", b"a" * (1 << 20) + b"\n\xff", False)):
        file = tmp_path / name
        file.write_bytes(text)
        assert _is_ascii(file) is ascii
        assert _decoded(file, "utf-8", None) == (None if ascii else 2)  # the line of the fault
    packed = tmp_path / "c.csv.gz"
    packed.write_bytes(gzip.compress(b"a,b\n1,\xc3\xa9\n"))
    assert not _is_ascii(packed)
    assert _decoded(packed, "utf-8", None) is None


def test_a_query_gives_rows_or_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n2,y\n")
    found = po.read(path, sql="SELECT b, a + 1 AS c FROM this ORDER BY a DESC")
    assert found.X.columns.tolist() == ["b", "c"]
    assert found.X.to_numpy().tolist() == [["y", 3], ["x", 2]]
    pivoted = po.read(path, sql="PIVOT this ON b USING sum(a)")
    assert sorted(pivoted.X.columns) == ["x", "y"]
    copied = tmp_path / "copied.csv"
    for sql in (
        "-- nothing",
        "CREATE TABLE t AS FROM this",
        "DROP VIEW this",
        f"COPY this TO '{copied}'",
        "SET threads = 1",
    ):
        with pytest.raises(FormatError, match="must give rows, as SELECT does"):
            po.read(path, sql=sql)
    assert not copied.exists()


@pytest.mark.parametrize(
    ("line", "open_cell"),
    [
        ('1,"u v",2', None),
        ('1,"",2', None),
        ("1,u,2", None),
        ('1,u"v,2', None),  # a quote inside a cell opens nothing
        ('1,"u,2', '"u'),
        ('1,",2', '"'),
        ('"u,1,2', '"u'),
    ],
)
def test_a_quote_that_never_ends_is_named_by_its_line(tmp_path, line, open_cell):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b,c\n0,x,1\n{line}\n")
    if open_cell is None:
        files._refuse_open_quote(path, "t.csv", ",")
    else:
        with pytest.raises(FormatError, match=f"t.csv, line 3: the quote that begins '{open_cell}' never ends"):
            files._refuse_open_quote(path, "t.csv", ",")
