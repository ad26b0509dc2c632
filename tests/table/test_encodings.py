"""Encodings by their bytes: what is guessed decodes to the text, or nothing is guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.table.encodings import guessed

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
