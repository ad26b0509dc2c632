"""README, docs and examples run. A fence of `>>>` lines is a doctest; any other python fence of a file is run in order.

A row of a table that ends in `expression` = figure is computed after the fences of its page, to the digits written.
"""

from __future__ import annotations

import ast
import doctest
import pathlib
import pydoc
import re
import runpy
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLES = sorted(ROOT.glob("examples/*.py"))
FENCE = re.compile(r"^```python\n(.*?)^```", re.S | re.M)
FIGURE = re.compile(r"^\|.*\| `([^`]+)` = ([^|`]+) \|$", re.M)


def agrees(value: Any, figure: Any, half: float) -> bool:
    """Whether a value is the figure, fractions but for half a digit."""
    if isinstance(figure, (list, tuple)):
        return len(value) == len(figure) and all(agrees(v, f, half) for v, f in zip(value, figure))
    return bool(abs(value - figure) <= half if isinstance(figure, float) else value == figure)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_page_runs(page: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")  # pages name its data as a reader at the root would
    text = page.read_text(encoding="utf-8")
    space: dict[str, object] = {"__name__": "page"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for found in FENCE.finditer(text):
        line = text[: found.start()].count("\n") + 1
        if found[1].lstrip().startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(found[1], space, page.name, str(page), line)
            runner.run(test, clear_globs=False)
            space = test.globs
        else:
            exec(compile("\n" * line + found[1], str(page), "exec"), space)
    assert runner.summarize(verbose=False).failed == 0
    for code, shown in FIGURE.findall(text):
        value, digits = eval(code, space), max(map(len, re.findall(r"\.(\d+)", shown)), default=0)
        assert agrees(value, ast.literal_eval(shown), 0.5001 * 10.0**-digits), (
            f"{page.name}: {code} is {value}, not {shown}"
        )


NOTES = [page for page in PAGES if "notes_to_code" in str(page)]


@pytest.mark.parametrize("page", NOTES, ids=lambda p: p.name)
def test_every_row_of_the_notes_has_a_figure(page: pathlib.Path) -> None:
    text = page.read_text(encoding="utf-8")
    tables = re.findall(r"^\|.*figure \|\n\|[-|]+\n((?:\|.*\n)+)", text, re.M)
    rows = [row for table in tables for row in table.splitlines()]
    assert rows
    assert [row for row in rows if not FIGURE.fullmatch(row)] == []
    rooms = "bayes|em|forest|kernels|margin|network|statistics|structure"
    named = [f"posteriori.{name}" for name in re.findall(rf"`(?:posteriori\.)?((?:{rooms})\.[\w.]+)`(?! =)", text)]
    named += re.findall(r"`(tests\.kernels\.[\w.]+)`(?! =)", text)
    assert [name for name in named if pydoc.locate(name) is None] == []


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda p: p.name)
def test_example_runs(script: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out.strip()


def anchors(page: pathlib.Path) -> set[str]:
    """The headings of a page as links name them: lower case, blanks as hyphens, no punctuation."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: pathlib.Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{page.name} links to {link}"
        assert not anchor or anchor in anchors(target), f"{page.name} links to {link}, which has no such heading"
