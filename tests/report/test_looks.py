"""The report by eye, on tables of every sort: nothing is cut off, nothing lies on another, nothing is empty."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.report.page import write_report

from .test_browser import Opened, browser  # noqa: F401

pytestmark = pytest.mark.needs("chromium")


def two(rng, n):
    y = rng.integers(0, 2, n)
    X = pd.DataFrame({f"worst measurement {j}": rng.normal(y * (j % 4), 1.0 + j) for j in range(9)})
    return (
        X,
        np.array(["benign", "malignant"])[y],
        {"loss": po.Loss([[0, 20], [1, 0]], classes=["benign", "malignant"])},
    )


def many(rng, n):
    y = rng.integers(0, 50, n)
    X = pd.DataFrame({"a": rng.normal(y, 6.0), "b": (y % 7 + rng.integers(0, 2, n)).astype(str)})
    return X, np.array([f"class number {k}" for k in range(50)])[y], {}


def dates(rng, n):
    y = rng.integers(0, 2, n)
    when = pd.Timestamp("2020-01-10") + pd.to_timedelta(rng.integers(0, 250, n) + 60 * y, unit="D")
    X = pd.DataFrame({"when": when, "sort": rng.choice(["a", "b"], n)})
    X["when.month"] = X["when"].dt.month
    X["when.weekday"] = X["when"].dt.day_name().map({d: i for i, d in enumerate(DAYS)})
    return X, np.array(["early", "late"])[y], {}


DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
TABLES = {"two": two, "many": many, "dates": dates}
MODELS = {"naive": po.NaiveBayes, "tan": po.TAN, "aode": po.AODE}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("looks")
    for name, make in TABLES.items():
        for kind, model in MODELS.items():
            X, y, how = make(np.random.default_rng(3), 400)
            known = {c: "categorical" for c in X if c.startswith("when.")}
            fitted = model(kinds=known or None).fit(X, y)
            write_report(folder / f"{name}-{kind}.html", fitted, X, y, folds=2, notes=["a note"], **how)
    return folder


CUT_OFF = """() => {
  const found = [];
  for (const s of document.querySelectorAll("svg")) {
    const box = s.getBoundingClientRect();
    if (!box.width) continue;
    const all = [...s.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
    const texts = all.filter((t) => t[1].width);
    for (const [said, r] of texts) {
      if (r.left < box.left - 2 || r.right > box.right + 2 || r.top < box.top - 2 || r.bottom > box.bottom + 2) {
        found.push(`${s.getAttribute("aria-label")}: ${said} is cut`);
      }
    }
    texts.forEach(([a, p], i) => texts.slice(i + 1).forEach(([b, q]) => {
      const x = Math.min(p.right, q.right) - Math.max(p.left, q.left);
      const y = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (x > 3 && y > 5) found.push(`${s.getAttribute("aria-label")}: ${a} lies on ${b}`);
    }));
  }
  return found;
}"""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", TABLES)
def test_no_text_is_cut_off_or_lies_on_another(browser, pages, name, kind, width):  # noqa: F811
    with Opened(browser, pages / f"{name}-{kind}.html", width) as page:
        for _ in range(2):
            assert page.evaluate(CUT_OFF) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.click("#language")


@pytest.mark.parametrize("width", [900, 1280])
def test_every_section_is_named_where_there_is_room(browser, pages, width):  # noqa: F811
    with Opened(browser, pages / "two-naive.html", width) as page:
        for _ in range(2):
            ends = page.eval_on_selector_all("nav a", "all => all.map(e => e.getBoundingClientRect().right)")
            assert len(ends) >= 8
            assert max(ends) <= width
            assert page.evaluate("document.querySelector('nav').getBoundingClientRect().height") < 60
            page.click("#language")


def test_on_a_phone_the_line_of_sections_shows_that_it_goes_on(browser, pages):  # noqa: F811
    with Opened(browser, pages / "two-naive.html", 390) as page:
        style = "getComputedStyle(document.querySelector('nav ul'))"
        assert "gradient" in page.evaluate(f"{style}.maskImage")
        last = page.locator("nav a").last
        last.scroll_into_view_if_needed()
        box = last.bounding_box()
        assert box["x"] + box["width"] <= 390 - 40  # clear of the end that fades


def test_the_confusion_of_many_classes_fits_a_desk(browser, pages):  # noqa: F811
    with Opened(browser, pages / "many-naive.html") as page:
        wide = page.eval_on_selector(".confusion", "e => [e.scrollWidth, e.parentElement.clientWidth]")
        assert wide[0] <= wide[1]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", TABLES)
def test_nothing_is_empty(browser, pages, name, kind):  # noqa: F811
    with Opened(browser, pages / f"{name}-{kind}.html") as page:
        bare = page.evaluate(
            """() => [...document.querySelectorAll("section, .by-eye, .choices, figure, ul, figcaption, .cards")]
                .filter(e => e.checkVisibility()
                  && !e.innerText.replace(e.querySelector("h2, h3")?.innerText ?? "", "").trim())
                .map(e => e.outerHTML.slice(0, 200))"""
        )
        assert bare == []


def test_days_are_dates_wherever_they_stand(browser, pages):  # noqa: F811
    for kind in MODELS:
        with Opened(browser, pages / f"dates-{kind}.html") as page:
            for where in ("#decide", "#data"):
                said = page.inner_text(where)
                assert "2020" in said
                assert not [d for d in range(182, 187) if f"{d}00" in said or f"{d // 10},{d % 10}00" in said]
