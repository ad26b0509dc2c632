"""Rows that come through a pipe, read as they come: blocks of whole lines, each as the first of them was understood."""

from __future__ import annotations

import os
import pathlib
import select
import stat
from collections.abc import Iterator
from typing import Any

from ..errors import FormatError, PosterioriError
from ..table.at_hand import looks_like
from ..table.files import csv_source
from ..table.schema import Reading

BLOCK, HEAD = (
    4 << 20,
    1 << 16,
)  # bytes that are read together, and from which on it is clear whether a table is understood
PATIENCE = 0.05  # seconds without a byte until what is there is read
LONGEST = 16 << 20  # bytes of a line, with what its quotation marks hold


def is_pipe(source: Any) -> bool:
    """Whether a file, or the name of one, is there only once: a pipe, a terminal, a socket."""
    try:
        return not stat.S_ISREG(
            os.fstat(source.fileno()).st_mode if hasattr(source, "fileno") else os.stat(source).st_mode
        )
    except (OSError, ValueError):  # not there, or no file of the system
        return False


class Pipe:
    """An open pipe; what was read of it in vain can be read again."""

    def __init__(self, source: Any, name: str) -> None:
        self.source, self.name, self.back = source, name, b""

    def read(self, size: int = -1) -> bytes:
        """All there is by now, at least a byte; nothing at the end."""
        again, self.back = self.back, b""
        found: bytes = again or (os.read(self.source.fileno(), size) if size >= 0 else self.source.read())
        return found

    def pieces(self) -> Iterator[bytes]:
        """What came together: the pipe is waited for as long as nothing is there."""
        piece = b""
        while more := self.read(BLOCK):
            piece += more
            if len(piece) >= BLOCK or not select.select([self.source], [], [], PATIENCE)[0]:
                yield piece
                piece = b""
        if piece:
            yield piece

    def tables(
        self, engine: Any, room: pathlib.Path, reading: Reading, wanted: Any
    ) -> tuple[list[str], Iterator[Any]] | None:
        """(the names of a CSV's columns, its rows in Arrow batches); None where its first lines do not have what is wanted.

        `wanted` says of names whether all are there. What is no such CSV is read whole, as a file is.
        """
        import duckdb

        pieces, text = self.pieces(), b""
        for piece in pieces:
            text += piece
            if looks_like(text) != ".csv" or len(text) > BLOCK:
                break
            file, end = room / "0.csv", line_end(text, b'"')
            file.write_bytes(text[:end])
            try:
                read, names, _ = csv_source(
                    engine, file, str(file), self.name, reading.decimal, reading.header, words=True
                )
            except (PosterioriError, duckdb.Error, UnicodeError):
                continue  # more lines may tell
            lines = 1 + int(read.partition("skip=")[2].partition(",")[0].strip(")")) if "header=true" in read else 0
            top = b"".join(text.splitlines(keepends=True)[:lines])
            if wanted(names) and top.count(b'"') % 2 == 0:
                return names, self._rows(engine, read, room, top, text, pieces)
            if len(text) > HEAD:
                break
        self.back = text
        return None

    def _rows(
        self, engine: Any, read: str, room: pathlib.Path, top: bytes, text: bytes, pieces: Iterator[bytes]
    ) -> Iterator[Any]:
        """The rows, block by block; each block is a file of its own, with the lines before the first row."""
        import duckdb

        from .stream import BATCH

        rest, at, more = text[len(top) :], 0, True
        while more or rest.strip():
            end = line_end(rest, b'"') if more else len(rest)
            if not end and len(rest) > LONGEST:
                raise FormatError(f"{self.name}: a line is longer than {LONGEST >> 20} MB; perhaps a quote never ends")
            if end:
                file, at = room / f"{at}.csv", at + 1
                file.write_bytes(top + rest[:end])
                try:
                    rest[:end].decode()
                    source = read.replace(str(room / "0.csv"), str(file), 1)
                    yield from engine.cursor().sql(f"FROM {source}").to_arrow_reader(BATCH)
                except UnicodeDecodeError:
                    raise FormatError(f"{self.name} is not utf-8 text: tell its encoding (--encoding)") from None
                except duckdb.Error as error:
                    raise FormatError(f"{self.name} cannot be read: {str(error).splitlines()[0]}") from error
                file.unlink()
            piece = next(pieces, b"") if more else b""
            rest, more = rest[end:] + piece, bool(piece)


def line_end(piece: bytes, quote: bytes) -> int:
    """Behind the last line of a piece that ends outside quotation marks: every byte is looked at once, from the end."""
    inside, end = bool(quote) and piece.count(quote) % 2 == 1, len(piece)
    while end >= 0:
        begin = piece.rfind(quote, 0, end) if quote else -1
        if not inside and (found := piece.rfind(b"\n", begin + 1, end)) >= 0:
            return found + 1
        inside, end = not inside, begin
    return 0
