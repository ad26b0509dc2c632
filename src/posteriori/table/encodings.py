"""Which encoding a text has that is not UTF-8: by its mark, or by how its bytes above 127 stand together."""

from __future__ import annotations

import codecs
import re

SURE = 0.8  # share of the runs of high bytes that must look alike
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}  # the longer first: one begins as another does


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
