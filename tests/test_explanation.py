"""How an explanation looks in a terminal and in a notebook."""

from __future__ import annotations

import re

import numpy as np
import pytest

import posteriori as po
from posteriori.explanation import Change, Explanation, Part, shown


def made(n: int = 3, way: str = "sum", **more) -> Explanation:
    parts = tuple(Part(f"c{j}", j, (-1.0) ** j / (j + 1)) for j in range(n))
    return Explanation("yes", "no", way, 0.5, parts, 0.0, {"yes": 0.7, "no": 0.3}, {"yes": 0.3}, "yes", **more)


def test_bars_point_to_the_side_they_speak_for():
    lines = made().text(width=20).splitlines()
    assert [line.index("│") for line in lines[1:]] == [lines[1].index("│")] * 4
    assert lines[2].endswith("│██████████")  # the strongest fills its half
    assert "█████│" in lines[3]


def test_what_is_left_out_is_counted():
    text = made(9).text(most=4)
    assert "(5 others)" in text
    assert "(1 other)" in made(5).text(most=4)
    rest = sum(p.log_odds for p in made(9).parts[4:])
    assert f"{rest:+.2f}" in text


def test_infinite_odds_fill_the_bar():
    found = Explanation("a", "b", "sum", 0.0, (Part("x", 1, np.inf), Part("z", 1, -1.0)), 0.0, {"a": 1.0}, {}, "a")
    assert "+inf" in found.text()
    assert "█" in found.text()
    assert "nan" not in found._repr_html_()


def test_together_is_told_where_the_parts_are_no_sum():
    assert "(together)" in made(way="absence").text()
    assert "(together)" in made(way="absence")._repr_html_()
    assert "(together)" not in made().text()
    assert made(way="absence").frame()["column"].tolist()[-1] == "(together)"


def test_a_change_is_a_sentence():
    change = Change({"age": (57, 49), "sex": (None, "f")}, "no", 0.6)
    assert str(change) == "age: 57 → 49, sex: (missing) → f gives no"
    assert "otherwise if age" in made(changes=(change,)).text()
    assert "<li><bdi>age" in made(changes=(change,))._repr_html_()


@pytest.mark.parametrize(
    ("value", "text"), [(None, "(missing)"), (np.nan, "(missing)"), (1.25, "1.25"), ("a\tb", "a\\tb")]
)
def test_shown(value, text):
    assert shown(value) == text


def test_wide_letters_keep_the_bars_in_line():
    X = {"糖度": ["高"] * 6 + ["低"] * 6, "e\u0301": list("pq" * 6)}
    why = po.NaiveBayes().fit(X, [0] * 6 + [1] * 6).explain({"糖度": "高", "e\u0301": "p"}, changes=0)
    lines = why.text().splitlines()[1:]

    def cells(line):
        before = line[: line.index("│")]
        return sum(0 if c == "\u0301" else 1 + (c in "糖度高低") for c in before)

    assert len({cells(line) for line in lines}) == 1


TEXTS = ["free cash, win now", "hello mum how are you", "win a cash prize", "see you at home", "call to win", "at home"]


def of_texts(unseen="missing"):
    texts = TEXTS * 5
    return po.NaiveBayes(kinds={"msg": "text"}, unseen=unseen).fit(
        {"msg": texts, "n": list(range(30))}, ["spam", "ham"] * 15
    )


@pytest.mark.parametrize("unseen", ["missing", "mass"])
def test_what_words_say_adds_up_to_what_their_text_says(unseen):
    model = of_texts(unseen)
    for text in (*TEXTS, "win win win", "never met", "", None):
        for part in model.explain({"msg": text, "n": 3}).parts:
            if part.column == "msg":
                assert sum(odds for _, odds in part.words) == pytest.approx(part.log_odds)
                sizes = [abs(odds) for _, odds in part.words]
                assert sizes == sorted(sizes, reverse=True)
                assert {w for w, _ in part.words} == set(re.findall(r"\w\w+", text or ""))
            else:
                assert part.words == ()


def test_a_long_text_is_cut_and_its_strongest_words_are_told():
    model = of_texts()
    why = model.explain({"msg": "win cash " + "and so on " * 100, "n": 3})
    lines = str(why).splitlines()[1:]
    assert max(map(len, lines)) < 120
    assert any("· win" in line for line in lines)
    assert "and so on and so on and so on and so on" not in str(why)
    assert max(map(len, why.text(width=10, names=30).splitlines()[1:])) <= 30 + 10 + 14
    face = why._repr_html_()
    assert "· win" in face
    assert len(face) < 12_000


def test_words_that_would_be_printed_as_nothing_are_left_out():
    words = (("a", 0.02), ("b", -0.005), ("c", 0.0049), ("d", 0.0))
    part = Part("text", "a b c d", 0.0, words)
    assert part.strongest() == (("a", 0.02), ("b", -0.005))
    assert part.strongest(1) == (("a", 0.02),)


def test_several_values_are_shown_as_a_list():
    from posteriori.errors import listed

    assert shown(["a", "b"]) == listed(["a", "b"])
    assert shown((1, 2)) == listed((1, 2))
