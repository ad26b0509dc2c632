"""Sources: on the disk, under their ending, in UTF-8; what is guessed decodes to the text, or is not guessed."""

from __future__ import annotations

import gzip
import io
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import BadParameter, FormatError
from posteriori.table import source as module
from posteriori.table.source import _decoded, _is_ascii, guessed, looks_like


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
    assert looks_like(head) == ending


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
            module._format(pathlib.Path(name), name)
    else:
        assert module._format(pathlib.Path(name), name) == form


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
    file, told = module._spooled(source, tmp_path, name, None)
    assert (file, told) == (tmp_path / written, encoding)
    assert file.read_bytes() == (held if isinstance(held, bytes) else held.encode())


def test_long_open_files_are_spooled_whole(tmp_path):
    long = b"a,b\n" + b"1,2\n" * 40_000
    assert module._spooled(io.BytesIO(long), tmp_path, "x", "latin-1")[1] == "latin-1"
    assert (tmp_path / "open.csv").read_bytes() == long


def test_what_is_no_file_is_named(tmp_path):
    (tmp_path / "data.csv").write_text("a\n")
    with pytest.raises(FormatError, match="is a folder: give one of its files"):
        module._check_file(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"dat.csv; did you mean 'data.csv'\?"):
        module._check_file(tmp_path / "dat.csv")
    with pytest.raises(FileNotFoundError, match=r"no file .*none/dat.csv$"):
        module._check_file(tmp_path / "none" / "dat.csv")
    module._check_file(tmp_path / "data.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(FormatError, match=r"empty.csv is empty"), module.local_file(tmp_path / "empty.csv", None, None):
        pass
    with (
        pytest.raises(BadParameter, match=r"a path or an open file. Got int instead"),
        module.local_file(3, None, None),
    ):
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
    found, notes = module._as_utf8(file, "t", told, room)
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
                module._as_utf8(file, "t", told, tmp_path)
        else:
            assert module._as_utf8(file, "t", told, tmp_path) == (file, ())
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(b"a,b\n" * 99)[:-9])
    with pytest.raises(FormatError, match=r"t is no complete gzip file, though it ends in .gz"):
        module._as_utf8(packed, "t", None, tmp_path)
    zst = tmp_path / "t.csv.zst"
    assert module._as_utf8(zst, "t", None, tmp_path) == (zst, ())
    with pytest.raises(FormatError, match=r"an encoding of a .zst file cannot be changed"):
        module._as_utf8(zst, "t", "cp1252", tmp_path)


def test_the_line_of_a_fault_is_the_first_that_cannot_be_decoded(tmp_path):
    for name, opened in (("t.csv", open), ("t.csv.gz", gzip.open)):
        with opened(tmp_path / name, "wb") as out:
            out.write(b"a\n\xff\nb\n\xfe\n")
        assert module._fault(tmp_path / name, "utf-8", 1) == 2
        assert module._fault(tmp_path / name, "utf-8", 2) == 2
        assert module._fault(tmp_path / name, "utf-8", 3) == 4
        assert module._fault(tmp_path / name, "latin-1", 3) == 3
        assert _decoded(tmp_path / name, "utf-8", None) == 2
        copy = tmp_path / "copy"
        assert _decoded(tmp_path / name, "latin-1", copy) is None
        assert copy.read_text() == "a\nÿ\nb\nþ\n"


WESTERN = ["Genève", "Zürich", "Málaga", "São Paulo", "Ålesund", "coûter 5 €", "naïve"]
CHINESE = ["北京市", "上海", "色泽青绿", "根蒂蜷缩", "敲声浊响", "纹理清晰"]


@given(st.lists(st.sampled_from(WESTERN), min_size=1))
def test_western_texts(words):
    text = ",".join(words)
    raw = text.encode("cp1252")
    assert raw.decode(guessed(raw[:4], raw)) == text


@given(st.lists(st.sampled_from(CHINESE), min_size=1), st.sampled_from(["gbk", "gb18030"]))
def test_chinese_texts(words, encoding):
    text = ",".join(words)
    raw = text.encode(encoding)
    assert raw.decode(guessed(raw[:4], raw)) == text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_marks(encoding):
    raw = "a,ü\n".encode(encoding)
    assert guessed(raw[:4], raw) == encoding


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("Привет, мир", "cp1251"), ("Καλημέρα κόσμε", "cp1253"), ("こんにちは", "shift_jis"), ("臺北市政府", "big5")],
)
def test_what_the_bytes_leave_open_is_not_guessed(text, encoding):
    raw = text.encode(encoding)
    assert guessed(raw[:4], raw) is None


def test_no_text_is_no_encoding():
    assert guessed(b"\x89PNG", b"\x89PNG\r\n\x1a\n\x00\x01\xff") is None
    assert guessed(b"abc", b"abc") is None


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".arff", ".json"])
@pytest.mark.parametrize("letter", ["a", "é"])
def test_a_line_that_is_no_row_is_refused_before_it_is_held(tmp_path, monkeypatch, ending, letter):
    monkeypatch.setattr(module, "LONGEST", 3 << 20)
    content = f"x,y\n1,a\n3,{letter * (9 << 20)}\n".encode()
    file = tmp_path / f"t{ending}"
    file.write_bytes(gzip.compress(content) if ending == ".csv.gz" else content)
    if ending == ".json":  # one line has all of its rows, and its reader has a bound of its own
        with module.local_file(file, None, None) as found:
            assert found[2] == "json"
        return
    with (
        pytest.raises(FormatError, match=r"line 3: longer than 3 MB, which is no row of a table"),
        module.local_file(file, None, None),
    ):
        pass
