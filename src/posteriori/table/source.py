"""A source: a file on the disk whose format is known and, if it is text, in UTF-8.

It may be a path or an open file, packed or not. An encoding that is not told is guessed: by its mark, or by how the bytes
above 127 stand together.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import BadParameter, FormatError, did_you_mean, listed

DATABASES = {".duckdb": "duckdb", ".ddb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "database"}
FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".data": "csv",
    ".parquet": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arff": "arff",
    **DATABASES,
}
SAMPLE = 1 << 22  # bytes by which an encoding is guessed
LONGEST = 1 << 24  # characters of a line, from which on a table of text is refused: all of them would be held at once
SURE = 0.8  # share of the runs of high bytes that must look alike
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}  # the longer first: one begins as another does


@contextlib.contextmanager
def local_file(
    source: Any, encoding: str | None, format: str | None
) -> Iterator[tuple[pathlib.Path, str, str, tuple[str, ...]]]:
    """(file, what to call it, its format, notes): on the disk and, if text, in UTF-8; an encoding not told is guessed."""
    notes: tuple[str, ...] = ()
    with tempfile.TemporaryDirectory() as room:
        if hasattr(source, "read"):
            name = str(getattr(source, "name", "the open file"))
            file, encoding = _spooled(source, pathlib.Path(room), name, encoding)
        elif isinstance(source, str | os.PathLike):
            file = pathlib.Path(source)
            name = str(file)
            _check_file(file)
            if not file.is_file():  # a pipe or a device: it is there only once
                with open(file, "rb") as stream:
                    file, encoding = _spooled(stream, pathlib.Path(room), name, encoding)
        else:
            raise BadParameter(f"path must be a path or an open file. Got {type(source).__name__} instead.")
        if file.stat().st_size == 0:
            raise FormatError(f"{name} is empty")
        form = format or _format(file, name)
        if form != "parquet" and form not in DATABASES.values():
            file, notes = _as_utf8(file, name, encoding, pathlib.Path(room), form != "json")
        yield file, name, form, notes


def _check_file(file: pathlib.Path) -> None:
    if file.is_dir():
        raise FormatError(f"{file} is a folder: give one of its files")
    if not file.exists():
        near = did_you_mean(file.name, (p.name for p in file.parent.glob("*")) if file.parent.is_dir() else ())
        raise FileNotFoundError(f"no file {file}{near}")


def _spooled(source: Any, room: pathlib.Path, name: str, encoding: str | None) -> tuple[pathlib.Path, str | None]:
    """What an open file holds, on the disk under its own ending; text comes as UTF-8."""
    head = source.read(1 << 16)
    text = isinstance(head, str)
    endings = [s for s in pathlib.Path(name).suffixes if s.lower() in (*FORMATS, ".gz", ".zst")]
    if endings[-1:] in ([".gz"], [".zst"]) and (text or head[:2] not in (b"\x1f\x8b", b"\x28\xb5")):
        endings.pop()  # unpacked by whoever opened it
    file = room / ("open" + ("".join(endings) or looks_like(head)))
    with open(file, "w", encoding="utf-8", newline="") if text else open(file, "wb") as out:
        out.write(head)
        shutil.copyfileobj(source, out)
    return file, "utf-8" if text else encoding


def looks_like(head: str | bytes) -> str:
    """The ending of a file without a name, by its first bytes."""
    start = head[:4096] if isinstance(head, bytes) else head[:4096].encode()
    if start.startswith(b"PAR1"):
        return ".parquet"
    if start.startswith(b"\x1f\x8b"):
        return ".csv.gz"
    if re.search(rb"^\s*@relation", start, re.I | re.M):
        return ".arff"
    return ".json" if start.lstrip()[:1] in (b"{", b"[") and b'"' in start else ".csv"


def _format(file: pathlib.Path, name: str) -> str:
    endings = [s.lower() for s in file.suffixes if s.lower() not in (".gz", ".zst")]
    if not endings or endings[-1] not in FORMATS:
        raise FormatError(
            f"{name}: cannot tell its format; known endings: {listed(FORMATS)}, each also with .gz; "
            "give it one of them, or in Python format='csv'"
        )
    return FORMATS[endings[-1]]


def opened(file: pathlib.Path, encoding: str | None = "utf-8") -> Any:
    """A file, packed or not, as text in an encoding; as bytes where there is none."""
    if file.suffix.lower() == ".zst":
        import pyarrow as pa

        packed: Any = io.BufferedReader(pa.CompressedInputStream(pa.OSFile(str(file)), "zstd"))
        return packed if encoding is None else io.TextIOWrapper(packed, encoding, newline="")
    opener: Any = gzip.open if file.suffix.lower() == ".gz" else open
    return opener(file, "rb") if encoding is None else opener(file, "rt", encoding=encoding, newline="")


def _as_utf8(
    file: pathlib.Path, name: str, encoding: str | None, room: pathlib.Path, rows: bool = False
) -> tuple[pathlib.Path, tuple[str, ...]]:
    """(the file if it is UTF-8, else a copy that is; notes); bytes that are not in the encoding are named by their line."""
    plain = encoding is None or encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig", "ascii")
    if file.suffix.lower() == ".zst":
        if not plain:
            raise FormatError(f"{name}: an encoding of a .zst file cannot be changed; unpack it first")
        return file, ()
    copy = room / ("utf8" + "".join(s for s in file.suffixes if s.lower() != ".gz"))
    try:
        if plain and (line := _decoded(file, "utf-8", None, rows)) is None:
            return file, ()
        if (
            plain
            and encoding is None
            and (found := _guess(file)) is not None
            and _decoded(file, found, copy, rows) is None
        ):
            return copy, (f"no UTF-8 text: read as {found}; encoding (--encoding) tells it, if that is wrong",)
        if not plain and (line := _decoded(file, str(encoding), copy, rows)) is None:
            return copy, ()
    except _LongLine as long:
        raise FormatError(f"{name}, line {long}: longer than {LONGEST >> 20} MB, which is no row of a table") from None
    except (gzip.BadGzipFile, EOFError):
        raise FormatError(f"{name} is no complete gzip file, though it ends in .gz") from None
    with open(file, "rb") as raw:
        if b"\0" in raw.read(1 << 16):
            raise FormatError(f"{name} is no text: it has bytes of zero in it")
    way = "'cp1252' is that of western Europe, 'cp1251' of Cyrillic, 'gb18030' of China, 'shift_jis' of Japan"
    raise FormatError(f"{name} is not {encoding or 'utf-8'} text (line {line}): tell its encoding (--encoding); {way}")


def _decoded(file: pathlib.Path, encoding: str, copy: pathlib.Path | None, rows: bool = False) -> int | None:
    """None where a whole file is text in an encoding, with a copy in UTF-8 if asked for; else the line of the fault."""
    if encoding == "utf-8" and copy is None and _is_ascii(file, rows):
        return None
    line = 1
    try:
        with opened(file, encoding) as text, contextlib.ExitStack() as stack:
            out = None if copy is None else stack.enter_context(open(copy, "w", encoding="utf-8", newline=""))
            for piece in _pieces(text, rows):
                if out is not None:
                    out.write(piece)
                line += piece.count("\n")
    except UnicodeError:
        return line if encoding.startswith("utf-16") else _fault(file, encoding, line)
    return None


class _LongLine(Exception):
    """A line that is LONGEST or longer."""


def _pieces(raw: Any, rows: bool = False) -> Iterator[Any]:
    """A file in pieces; one of `rows` has no line that must not be held."""
    line, length = 1, 0
    while piece := raw.read(1 << 20):
        ends = ("\n", "\r") if isinstance(piece, str) else (b"\n", b"\r")
        end = max(map(piece.rfind, ends))
        length = length + len(piece) if end < 0 else len(piece) - end - 1
        if rows and length >= LONGEST:
            raise _LongLine(line)
        line += piece.count("\n") if isinstance(piece, str) else count(piece, b"\n")
        yield piece


def count(text: bytes, letter: bytes) -> int:
    """How often a letter stands in a text: faster than Python's own count where it often does."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == letter[0]))


def _is_ascii(file: pathlib.Path, rows: bool = False) -> bool:
    """Whether a file has nothing to decode: told several times faster than decoding it."""
    if file.suffix.lower() == ".gz":
        return False
    with open(file, "rb") as raw:
        return all(piece.isascii() for piece in _pieces(raw, rows))


def _fault(file: pathlib.Path, encoding: str, line: int) -> int:
    """The first line that is not in an encoding; it is not before `line`."""
    with opened(file, None) as raw:
        for at, text in enumerate(raw, start=1):
            if at >= line:
                try:
                    text.decode(encoding)
                except UnicodeError:
                    return at
    return line


def _guess(file: pathlib.Path) -> str | None:
    """The encoding of a file that is no UTF-8, by its first bytes and those around the first that is no ASCII."""
    with opened(file, None) as raw:
        head = piece = raw.read(SAMPLE)
        while piece and piece.isascii():
            piece = raw.read(SAMPLE)
        return guessed(head[:4], piece + raw.read(SAMPLE))


def guessed(head: bytes, sample: bytes) -> str | None:
    """The encoding of a text by its first bytes and by some of its others, or None where they leave it open.

    An accented letter of western Europe stands between plain ones; Chinese comes in pairs of high bytes, the first of which
    is that of a common character. Cyrillic, Greek, Japanese, Korean: nothing in the bytes would tell them apart for sure.

    >>> guessed(b"city", "Genève, Zürich, Málaga".encode("cp1252"))
    'cp1252'
    >>> guessed(b"city", "北京,上海,广州".encode("gbk"))
    'gb18030'
    >>> guessed(b"city", "Привет, мир".encode("cp1251")) is None
    True
    """
    for mark, encoding in MARKS.items():
        if head.startswith(mark):
            return encoding
    runs = re.findall(rb"[\x80-\xff]+", sample)
    if not runs or re.search(rb"[\x00-\x08\x0e-\x1f]", sample):  # no text at all
        return None
    alone = sum(len(run) == 1 for run in runs)
    if alone >= SURE * len(runs):
        return "cp1252" if not re.search(rb"[\x81\x8d\x8f\x90\x9d]", sample) else "latin-1"
    pairs = [run[i : i + 2] for run in runs if len(run) % 2 == 0 for i in range(0, len(run), 2)]
    common = sum(0xA1 <= pair[0] <= 0xF7 and pair[1] >= 0xA1 for pair in pairs)
    even = sum(len(run) % 2 == 0 for run in runs)
    return "gb18030" if even >= SURE * len(runs) and common >= SURE * len(pairs) else None
