"""Files that come without a name: what their first bytes say."""

from __future__ import annotations

import gzip
import io
import pathlib
import re

import pandas as pd
import pytest

import posteriori as po
from posteriori.errors import BadParameter, FormatError, UnknownColumn
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


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("t.csv", "csv"), ("t.TSV", "csv"), ("t.txt", "csv"), ("t.data", "csv"), ("t.csv.gz", "csv"),
        ("t.v2.json.zst", "json"), ("t.ndjson", "json"), ("t.parquet", "parquet"), ("t.arff.GZ", "arff"),
        ("t.sqlite", "sqlite"), ("t.duckdb", "duckdb"), ("t", None), ("t.gz", None), ("t.csv.bak", None),
    ],
)  # fmt: skip
def test_the_ending_tells_the_format(name, form):
    if form is None:
        with pytest.raises(FormatError, match=f"{name}: cannot tell its format; known endings: '.csv'"):
            files._format(pathlib.Path(name), name)
    else:
        assert files._format(pathlib.Path(name), name) == form


@pytest.mark.parametrize(
    ("source", "name", "written", "encoding"),
    [
        (io.BytesIO(b"a,b\n1,2\n"), "x", "open.csv", None),
        (io.BytesIO(b"a,b\n1,2\n"), "x.v2.tsv", "open.tsv", None),
        (io.BytesIO(gzip.compress(b"a,b\n1,2\n")), "x.csv.gz", "open.csv.gz", None),
        (io.StringIO("a,b\n1,é\n"), "x.csv.gz", "open.csv", "utf-8"),  # text is unpacked already
        (io.StringIO("a,b\n1,é\n"), "x.txt", "open.txt", "utf-8"),
    ],
)
def test_an_open_file_is_spooled_under_its_ending(tmp_path, source, name, written, encoding):
    held = source.getvalue()
    file, told = files._spooled(source, tmp_path, name, None)
    assert (file, told) == (tmp_path / written, encoding)
    assert file.read_bytes() == (held if isinstance(held, bytes) else held.encode())


def test_long_open_files_are_spooled_whole(tmp_path):
    long = b"a,b\n" + b"1,2\n" * 40_000
    assert files._spooled(io.BytesIO(long), tmp_path, "x", "latin-1")[1] == "latin-1"
    assert (tmp_path / "open.csv").read_bytes() == long


def test_what_is_no_file_is_named(tmp_path):
    (tmp_path / "data.csv").write_text("a\n")
    with pytest.raises(FormatError, match="is a folder: give one of its files"):
        files._check_file(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"dat.csv; did you mean 'data.csv'\?"):
        files._check_file(tmp_path / "dat.csv")
    with pytest.raises(FileNotFoundError, match=r"no file .*none/dat.csv$"):
        files._check_file(tmp_path / "none" / "dat.csv")
    files._check_file(tmp_path / "data.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(FormatError, match=r"empty.csv is empty"), files.at_hand(tmp_path / "empty.csv", None, None):
        pass
    with pytest.raises(BadParameter, match=r"a path or an open file. Got int instead"), files.at_hand(3, None, None):
        pass


TEXT = "town,x\nKöln,1\nGenève,2\n"


@pytest.mark.parametrize(
    ("ending", "written", "told", "copied", "noted"),
    [
        (".csv", "utf-8", None, False, False),
        (".csv", "utf-8", "UTF_8", False, False),
        (".csv", "cp1252", None, True, True),
        (".csv", "cp1252", "cp1252", True, False),
        (".csv.gz", "utf-8", None, False, False),
        (".csv.gz", "cp1252", None, True, True),
        (".csv.gz", "utf-16", "utf-16", True, False),
    ],
)
def test_text_in_any_encoding_comes_as_utf_8(tmp_path, ending, written, told, copied, noted):
    file, content = tmp_path / f"t{ending}", TEXT.encode(written)
    file.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    room = tmp_path / "room"
    room.mkdir()
    found, notes = files._as_utf8(file, "t", told, room)
    assert found == (room / "utf8.csv" if copied else file)
    assert not copied or found.read_bytes() == TEXT.encode()
    assert len(notes) == noted
    assert not noted or notes[0].startswith(f"no UTF-8 text: read as {written}; encoding (--encoding) tells it")


def test_bytes_that_are_no_text_are_named_by_their_line(tmp_path):
    file = tmp_path / "t.csv"
    for content, told, said in [
        (b"a\nb\n\xff\xfe\n", "utf-8", r"t is not utf-8 text \(line 3\): tell its encoding"),
        ("a\nKöln\n".encode(), "ascii", ""),
        (b"a\n\x81\n", "cp1252", r"t is not cp1252 text \(line 2\)"),
        (b"a\n\xff\x00\xfa", "utf-8", "t is no text: it has bytes of zero in it"),
    ]:
        file.write_bytes(content)
        if said:
            with pytest.raises(FormatError, match=said):
                files._as_utf8(file, "t", told, tmp_path)
        else:
            assert files._as_utf8(file, "t", told, tmp_path) == (file, ())
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(b"a,b\n" * 99)[:-9])
    with pytest.raises(FormatError, match=r"t is no complete gzip file, though it ends in .gz"):
        files._as_utf8(packed, "t", None, tmp_path)
    zst = tmp_path / "t.csv.zst"
    assert files._as_utf8(zst, "t", None, tmp_path) == (zst, ())
    with pytest.raises(FormatError, match=r"an encoding of a .zst file cannot be changed"):
        files._as_utf8(zst, "t", "cp1252", tmp_path)


def test_the_line_of_a_fault_is_the_first_that_cannot_be_decoded(tmp_path):
    for name, opened in (("t.csv", open), ("t.csv.gz", gzip.open)):
        with opened(tmp_path / name, "wb") as out:
            out.write(b"a\n\xff\nb\n\xfe\n")
        assert files._fault(tmp_path / name, "utf-8", 1) == 2
        assert files._fault(tmp_path / name, "utf-8", 2) == 2
        assert files._fault(tmp_path / name, "utf-8", 3) == 4
        assert files._fault(tmp_path / name, "latin-1", 3) == 3
        assert _decoded(tmp_path / name, "utf-8", None) == 2
        copy = tmp_path / "copy"
        assert _decoded(tmp_path / name, "latin-1", copy) is None
        assert copy.read_text() == "a\nÿ\nb\nþ\n"


@pytest.mark.parametrize(
    ("text", "skip", "mark", "quote", "skipped", "line"),
    [
        ("a,b\n1,2\n", 0, ",", '"', [], ["a", "b"]),
        ("\ufeffa,b\n1,2\n", 0, ",", '"', [], ["a", "b"]),
        ('title\nby us\n"a;1";b\n', 2, ";", '"', [["title"], ["by us"]], ["a;1", "b"]),
        ("'a,1',b\n", 0, ",", "'", [], ["a,1", "b"]),
        ('"a,b\n', 0, ",", "(empty)", [], ['"a', "b"]),
        ("", 0, ",", '"', [], []),
    ],
)
def test_the_first_lines(tmp_path, text, skip, mark, quote, skipped, line):
    (tmp_path / "t.csv").write_text(text)
    assert files._first_lines(tmp_path / "t.csv", skip, mark, quote) == (skipped, line)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n\n3,4\n", ""),
        ("a\n1\n2,3\n", ""),  # one column: no line is too long
        ("a;b\n1;2\n3\n", "t, line 3: 1 cells where the header has 2: there is none for 'b'; the last is '3'"),
        ("a,b\n1,2,x\n", "t, line 2: 3 cells where the header has 2: after 'b' comes 'x'"),
        ('a,b\n"1\n2",2\n3\n', "t, line 4: 1 cells"),
    ],
)
def test_a_line_of_another_length_is_named(tmp_path, text, said):
    (tmp_path / "t.csv").write_text(text)
    if said:
        with pytest.raises(FormatError, match=re.escape(said)):
            files._refuse_uneven(tmp_path / "t.csv", "t")
    else:
        files._refuse_uneven(tmp_path / "t.csv", "t")
    files._refuse_uneven(tmp_path / "none.zst", "t")


@pytest.mark.parametrize(
    ("text", "names", "line"),
    [
        ("a,b\n1,2\n3\n", ["a,b"], 3),
        ("\ufeffa|b\n1|2\n3|4|5\n", ["column0"], 3),
        ("a,b\n1,2\n3\n", ["a", "b"], None),  # the engine saw the columns
        ("a,b\n1,2\n3\n", ["other"], None),
        ("a,b\n1,2\n\n", ["a,b"], None),
    ],
)
def test_rows_that_make_the_engine_see_one_column(tmp_path, text, names, line):
    (tmp_path / "t.csv").write_text(text)
    if line is None:
        files._refuse_ragged(tmp_path / "t.csv", "t", names)
    else:
        with pytest.raises(FormatError, match=rf"t, line {line}: \d cells where the header has 2"):
            files._refuse_ragged(tmp_path / "t.csv", "t", names)


def test_names_that_differ_by_case_are_those_of_the_file(tmp_path):
    for ending, form in ((".jsonl", "json"), (".json", "json"), (".parquet", "parquet")):
        path = tmp_path / f"t{ending}"
        frame = pd.DataFrame({"a": [1, 2], "A": [3, 4], "b": [5, 6]})
        if ending == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_json(path, orient="records", lines=ending == ".jsonl")
        assert files._true_names(path, form, ["a", "A_1", "b"]) == ["a", "A", "b"]
        assert files._true_names(path, form, ["a", "b"]) == ["a", "b"]
        assert files._true_names(path, form, ["x_1", "b"]) == ["x_1", "b"]  # a name of its own
        assert po.read(path).schema.names == ("a", "A", "b")
    (tmp_path / "u.jsonl").write_text('{"a": 1, "A": 2}\n\n{"a": 1, "A": 2, "c": 3}\n')
    assert files._true_names(tmp_path / "u.jsonl", "json", ["a", "A_1"]) == ["a", "A_1"]  # it is not told which


def test_a_table_of_text_is_found_wherever_it_begins(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,2\n3,4\n5,6\n")
    table = po.read(path)
    assert (table.schema.names, len(table)) == (("x0", "x1"), 3)
    assert table.notes[0].startswith("no header: the first line holds numbers, so columns are named x0, x1, …")
    assert po.read(path, header=True).schema.names == ("1", "2")
    assert po.read(path, header=["u", "v"]).schema.names == ("u", "v")
    with pytest.raises(FormatError, match="has 2 columns, but header has 3 names"):
        po.read(path, header=["u", "v", "w"])
    path.write_text("a,,A\n1,2,x\n3,4,y\n")
    assert po.read(path).schema.names == ("a", "x1", "A")
    path.write_text("it's,b\n1,2\n3,4\n")
    assert po.read(path).schema.names == ("it's", "b")
    path.write_text("a,b,a,b,c\n1,2,3,4,5\n")
    with pytest.raises(UnknownColumn, match="duplicate columns: 'a', 'b'; every"):
        po.read(path)
    assert files.repr_sql("it's") == "'it''s'"


def test_a_query_that_fails_says_why_and_what_columns_there_are(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n2,y\n")
    with pytest.raises(FormatError, match=r"cannot be run on .*t.csv: .*The file is named this; its columns: 'a', 'b'"):
        po.read(path, sql="SELECT nothing FROM this")
    path.with_suffix(".parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(FormatError, match="cannot be read as a complete Parquet file"):
        po.read(path.with_suffix(".parquet"))
    path.with_suffix(".json").write_text('{"a": 1')
    with pytest.raises(FormatError, match="cannot be read as JSON with an object for each row"):
        po.read(path.with_suffix(".json"))
