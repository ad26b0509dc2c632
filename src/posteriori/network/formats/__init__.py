"""Network files: BIF, XMLBIF, NET (Hugin) and UAI, read and written by suffix, each plain or with .gz.

A file of more than 64 MiB (after decompression), a variable of more than 65,536 states or tables of more than 2²³ numbers
are refused before they are held. Every refusal is a FormatError.
"""

from __future__ import annotations

import gzip
import io
import os
import pathlib
import zlib
from collections.abc import Callable

from ...drafts import whole_file
from ...errors import FormatError, did_you_mean, listed
from . import bif, hugin, uai, xmlbif
from .text import MAX_BYTES, Description

TEXT: dict[str, Callable[[str, str], Description]] = {".bif": bif.parse, ".net": hugin.parse, ".uai": uai.parse}
RENDER: dict[str, Callable[[Description], str]] = {".bif": bif.render, ".net": hugin.render, ".uai": uai.render}
SUFFIXES = (".bif", ".xmlbif", ".bifxml", ".xml", ".net", ".uai")

__all__ = ["SUFFIXES", "Description", "parse", "read", "render", "write"]


def suffix_of(name: str) -> tuple[str, bool]:
    """The format's suffix and whether .gz follows it.

    >>> suffix_of("asia.bif.gz")
    ('.bif', True)
    """
    zipped = name.lower().endswith(".gz")
    suffix = pathlib.PurePath(name[:-3] if zipped else name).suffix.lower()
    if suffix not in SUFFIXES:
        near = did_you_mean(suffix, SUFFIXES)
        raise FormatError(
            f"{name}: no network format ends in {suffix!r}{near or '.'} formats: {listed(SUFFIXES)} (+ .gz)"
        )
    return suffix, zipped


def parse(data: bytes, name: str) -> Description:
    """A description from the bytes of a file called `name`."""
    suffix, zipped = suffix_of(name)
    if zipped:
        data = _unzipped(data, name)
    if len(data) > MAX_BYTES:
        raise FormatError(f"{name}: more than {MAX_BYTES:,} bytes; no network file of that size is read")
    if suffix not in TEXT:
        return xmlbif.parse(data, name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}, byte {error.start + 1}: expected UTF-8, found {data[error.start]:#04x}") from None
    return TEXT[suffix](text, name)


def _unzipped(data: bytes, name: str) -> bytes:
    """Decompress up to the bound: a bomb costs no more than a large file."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            return stream.read(MAX_BYTES + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise FormatError(f"{name}: not a whole gzip file: {error}") from None


def render(network: Description, suffix: str) -> bytes:
    """The bytes of a file of this format."""
    if network.lines and suffix != ".net":
        raise FormatError(
            f"{suffix} files hold discrete nodes alone, and {listed(network.lines)} are continuous: .net holds both, and "
            f"`po.save` every digit of what was counted too"
        )
    return RENDER.get(suffix, xmlbif.render)(network).encode()


def path_of(path: str | os.PathLike[str]) -> pathlib.Path:
    """What names a file."""
    try:
        return pathlib.Path(path)
    except TypeError:
        raise FormatError(f"a file is named by a string or a path. Got {path!r:.200} instead.") from None


def read(path: str | os.PathLike[str]) -> Description:
    """A description from a file, its format told by its suffix."""
    path = path_of(path)
    suffix_of(path.name)
    with path.open("rb") as stream:
        return parse(stream.read(MAX_BYTES + 1), str(path))


def write(network: Description, path: str | os.PathLike[str]) -> None:
    """Write a file, its format told by its suffix; whole or not at all."""
    path = path_of(path)
    suffix, zipped = suffix_of(path.name)
    data = render(network, suffix)
    if zipped:
        data = gzip.compress(data, mtime=0)  # the same network gives the same bytes
    with whole_file(path) as stream:
        stream.write(data)
