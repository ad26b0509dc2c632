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


def texts(rng, n):
    y = rng.integers(0, 2, n)
    words = np.array(["free", "cash", "win", "claim", "mum", "home", "dinner", "later", "<b>", "the"])
    weight = np.array([[1, 1, 1, 1, 5, 5, 5, 5, 2, 9], [5, 5, 5, 5, 1, 1, 1, 1, 2, 9]]) / 35
    cells = [" ".join(rng.choice(words, 60, p=weight[c])) for c in y]
    return pd.DataFrame({"message": cells}), np.array(["ham", "spam"])[y], {}


DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
TABLES = {"two": two, "many": many, "dates": dates, "texts": texts}
MODELS = {"naive": po.NaiveBayes, "tan": po.TAN, "aode": po.AODE}
PAGES = [(name, kind) for name in TABLES for kind in MODELS if name != "texts" or kind == "naive"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("looks")
    for name, kind in PAGES:
        fitted, X, y, how = fit(name, kind)
        how["posterior"] = fitted.predict_proba(X)
        write_report(folder / f"{name}-{kind}.html", fitted, X, y, notes=["a note"], **how)
    return folder


def fit(name, kind):
    X, y, how = TABLES[name](np.random.default_rng(3), 400)
    known = {c: "text" if c == "message" else "categorical" for c in X if c.startswith("when.") or c == "message"}
    smooth = {"density": "kernel"} if (name, kind) == ("dates", "naive") else {}  # a slider of days
    return MODELS[kind](kinds=known or None, **smooth).fit(X, y), X, y, how


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


EMPTY = """() => [...document.querySelectorAll("section, .by-eye, .choices, figure, ul, figcaption, .cards")]
  .filter(e => e.checkVisibility() && !e.innerText.replace(e.querySelector("h2, h3")?.innerText ?? "", "").trim())
  .map(e => e.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize(("name", "kind"), PAGES)
def test_no_text_is_cut_off_or_lies_on_another_and_nothing_is_empty(browser, pages, name, kind):  # noqa: F811
    with Opened(browser, pages / f"{name}-{kind}.html") as page:
        assert page.evaluate(EMPTY) == []
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            for _ in range(2):
                assert page.evaluate(CUT_OFF) == []
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                page.click("#language")


def test_every_section_is_named_where_there_is_room(browser, pages):  # noqa: F811
    with Opened(browser, pages / "two-naive.html") as page:
        for width in (900, 1280):
            page.set_viewport_size({"width": width, "height": 800})
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


def test_days_are_dates_wherever_they_stand(browser, pages):  # noqa: F811
    for kind in MODELS:
        with Opened(browser, pages / f"dates-{kind}.html") as page:
            for where in ("#decide", "#data"):
                said = page.inner_text(where)
                assert "2020" in said
                assert not [d for d in range(182, 187) if f"{d}00" in said or f"{d // 10},{d % 10}00" in said]


def test_words_that_tell_most_are_the_heart_of_a_report_on_texts(browser, pages):  # noqa: F811
    with Opened(browser, pages / "texts-naive.html") as page:
        ham, spam = (page.locator("#vocabulary figure").nth(k).text_content() for k in (0, 1))
        for word in ("free", "cash", "win", "claim"):
            assert word in spam
            assert word not in ham
        assert "cash" in page.locator("#cases").text_content()
        assert not page.locator("#chooser").count()


def field(name):
    return f".choice:has(bdi:text-is('{name}')) [data-j]:not(.clear)"


def choose(page, name, place):
    """Set a select or a slider as a hand does."""
    act = "(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})); }"
    page.locator(field(name)).evaluate(act, str(place))


def value(page, name):
    """What is chosen; None where it is unknown."""
    read = "e.selectedOptions?.[0].text ?? e.getAttribute('aria-valuetext')"
    return page.locator(field(name)).evaluate(f"e => e.closest('.choice').classList.contains('set') ? ({read}) : null")


def test_a_date_and_its_parts_never_contradict_each_other(browser, pages):  # noqa: F811
    model, X, _, _ = fit("dates", "naive")
    with Opened(browser, pages / "dates-naive.html") as page:
        for place in (3, 30, 17):
            choose(page, "when", place)
            day = pd.Timestamp(value(page, "when"))
            assert value(page, "when.month") == str(day.month)
            assert value(page, "when.weekday") == day.day_name()[:3]
            parts = {"when.month": [day.month], "when.weekday": [day.day_of_week]}
            row = pd.DataFrame({"when": [day], "sort": [None], **parts})[list(X)]
            shown = page.eval_on_selector_all("#posterior .row", "all => all.map(e => +e.dataset.p)")
            np.testing.assert_allclose(shown, model.predict_proba(row)[0], rtol=0, atol=1e-9)
        other = next(m for m in range(6) if m != int(value(page, "when.month")) - 1)
        choose(page, "when.month", other)  # another month: the day is not known any more
        assert value(page, "when") is None
        assert value(page, "when.month") is not None
        choose(page, "when", 5)
        page.click(".choice:has(bdi:text-is('when')) .clear")
        assert value(page, "when.month") is None
        assert value(page, "when.weekday") is None


def test_a_stretch_of_days_has_the_months_that_lie_in_it(browser, pages):  # noqa: F811
    with Opened(browser, pages / "dates-tan.html") as page:
        labels = page.locator(field("when")).evaluate("e => [...e.options].map(o => o.text)")[1:]
        between = [(k, [pd.Timestamp(d) for d in said.split("–")]) for k, said in enumerate(labels) if "–" in said]
        for place, ends in between:
            for month in range(10):
                choose(page, "when", place)
                choose(page, "when.month", month)
                if value(page, "when") is not None and value(page, "when.month") is not None:
                    inside = {d.month for d in pd.date_range(*ends, inclusive="left")}
                    assert int(value(page, "when.month")) in inside
