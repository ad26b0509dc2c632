"""The report in a real browser: opened from the disk, steered by keyboard, at a phone's width, in the dark, in print."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.report.page import write_report

pytestmark = pytest.mark.needs("chromium")

ARGS = [
    f"--{flag}"
    for flag in (
        "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
        "disable-component-update", "disable-sync",
    )
]  # fmt: skip
RED = "<script>alert('red')</script>"
QUOTE = "\"><img src=x onerror=alert('blue')>"


def table(n=240):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {
            RED: np.array(["=cmd", "</script>", QUOTE])[(y + (rng.random(n) < 0.3)) % 3],
            "warm": rng.normal(15 + 3 * y, 3).round(2),
            "风": rng.choice(["无", "大", "🙂 中等"], n),
            "כיוון": np.array(["שמאל", "ימין"])[(rng.random(n) < 0.3 + 0.2 * y).astype(int)],
            "hour": rng.integers(0, 24, n),
        }
    )
    return X, np.array(["in", "out", QUOTE])[y]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tool:
        found = tool.chromium.launch(executable_path=shutil.which("chromium"), args=ARGS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder, (X, y) = tmp_path_factory.mktemp("reports"), table()
    models = {
        "naive": po.NaiveBayes(density="kernel"),
        "tan": po.TAN(),
        "aode": po.AODE(),
    }
    for name, model in models.items():
        how = {"posterior": model.fit(X, y).predict_proba(X), "warnings": [QUOTE], "hashes": {QUOTE: "0" * 64}}
        write_report(folder / f"{name}.html", model, X, y, title=RED, **how)
    return folder, models


class Opened:
    """A page with all that must not happen on it."""

    def __init__(self, browser, path, width=1280, **context):
        self.context = browser.new_context(viewport={"width": width, "height": 800}, **context)
        self.page = self.context.new_page()
        self.wrong = []
        self.page.on("console", lambda m: self.wrong.append(f"console: {m.text}"))
        self.page.on("pageerror", lambda e: self.wrong.append(f"error: {e}"))
        self.page.on("dialog", lambda d: (self.wrong.append(f"dialog: {d.message}"), d.dismiss()))
        self.page.on("request", lambda r: r.url.startswith("file:") or self.wrong.append(f"request: {r.url}"))
        self.page.goto(path.as_uri())

    def __enter__(self):
        return self.page

    def __exit__(self, *_):
        self.context.close()
        assert self.wrong == []


def posterior(page):
    rows = page.query_selector_all("#posterior .row")
    found = {int(r.get_attribute("data-y")): float(r.get_attribute("data-p")) for r in rows}
    return [found[y] for y in sorted(found)]


def attribute(page, name):
    """The place of an attribute among the choices."""
    labels = page.eval_on_selector_all(".choice label", "all => all.map(e => e.textContent)")
    return labels.index(name)


def ask(model, X, **cells):
    row = pd.DataFrame({c: [np.nan if X[c].dtype.kind in "if" else None] for c in X})
    for name, cell in cells.items():
        row[name] = pd.Series([cell])
    return model.predict_proba(row.astype({c: float for c in ("warm", "hour")}))[0]


def test_the_keyboard_moves_the_posterior_to_the_model_s_own(browser, reports):
    folder, models = reports
    X, _ = table()
    with Opened(browser, folder / "naive.html") as page:
        np.testing.assert_allclose(posterior(page), ask(models["naive"], X), rtol=0, atol=1e-9)
        cells = {}
        slider = f"#a{attribute(page, 'warm')}"
        page.focus(slider)
        for key in ["ArrowRight", "ArrowRight", "PageUp", "Home", "ArrowRight", "End"]:
            page.keyboard.press(key)
            cells["warm"] = float(page.text_content(f"#o{attribute(page, 'warm')}"))
            np.testing.assert_allclose(posterior(page), ask(models["naive"], X, **cells), rtol=0, atol=1e-9)
        page.focus(f"#a{attribute(page, RED)}")
        for _ in range(3):
            page.keyboard.press("ArrowDown")
            cells[RED] = page.eval_on_selector(f"#a{attribute(page, RED)}", "e => e.selectedOptions[0].text")
            np.testing.assert_allclose(posterior(page), ask(models["naive"], X, **cells), rtol=0, atol=1e-9)
        page.focus(slider)
        page.keyboard.press("Shift+Tab")  # the button before the slider makes it unknown again
        page.keyboard.press("Enter")
        del cells["warm"]
        np.testing.assert_allclose(posterior(page), ask(models["naive"], X, **cells), rtol=0, atol=1e-9)
        page.click("#again")
        np.testing.assert_allclose(posterior(page), ask(models["naive"], X), rtol=0, atol=1e-9)


def test_what_depends_on_each_other_is_summed_out(browser, reports):
    """A tree: every set of known attributes gives the model's own posterior."""
    folder, models = reports
    X, _ = table()
    cuts = models["tan"].cuts_
    with Opened(browser, folder / "tan.html") as page:
        rng = np.random.default_rng(0)
        for _ in range(12):
            page.click("#again")
            cells = {}
            for name in X:
                if rng.random() < 0.5:
                    field = page.query_selector(f"#a{attribute(page, name)}")
                    v = int(rng.integers(len(field.query_selector_all("option")) - 1))
                    field.select_option(value=str(v))
                    ends = cuts.get(name)
                    bins = (
                        None if ends is None else np.concatenate([ends - 1e-6, ends[-1:] + 1]) if len(ends) else [0.0]
                    )
                    cells[name] = models["tan"].schema_[name].values[v] if bins is None else float(bins[v])
            np.testing.assert_allclose(posterior(page), ask(models["tan"], X, **cells), rtol=0, atol=1e-9)


def test_the_decision_follows_losses_and_the_price_of_leaving_it(browser, reports):
    folder, models = reports
    X, _ = table()
    classes = models["naive"].classes_.tolist()
    with Opened(browser, folder / "naive.html") as page:
        page.click(".costs summary")
        p = ask(models["naive"], X)
        assert page.text_content("#decision") == classes[int(p.argmax())]
        rare = int(p.argmin())
        for y in range(3):
            if y != rare:
                for a in range(3):
                    if a != y:
                        page.fill(f'input.loss[data-a="{a}"][data-y="{rare}"]', "100" if a != rare else "0")
        assert page.text_content("#decision") == classes[rare]
        page.fill("#reject", "0.05")
        assert page.text_content("#decision") == "leave it to a person"
        page.click("#language")
        assert page.text_content("#decision") == "交给人判断"
        page.fill("#reject", "")
        assert page.text_content("#decision") == classes[rare]


@pytest.mark.parametrize("name", ["naive", "tan", "aode"])
def test_the_page_never_scrolls_sideways(browser, reports, name):
    with Opened(browser, reports[0] / f"{name}.html") as page:
        for width in (360, 820, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            for _ in range(2):
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                page.click("#language")


def test_hostile_names_are_text(browser, reports):
    folder, _ = reports
    with Opened(browser, folder / "naive.html") as page:
        assert page.title() == RED
        assert page.text_content("h1") == RED
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        assert page.evaluate("document.querySelectorAll('script').length") == 3
        page.select_option(f"#a{attribute(page, RED)}", label=QUOTE)
        page.click("#language")
        assert QUOTE in page.text_content("#posterior")
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        assert "🙂 中等" in page.text_content(f"#a{attribute(page, '风')}")


def test_both_languages(browser, reports):
    with Opened(browser, reports[0] / "naive.html") as page:
        english = page.inner_text("main")
        assert not re.search("概览|判断|未知", english)
        page.focus("#language")
        page.keyboard.press("Enter")
        assert page.get_attribute("html", "lang") == "zh-CN"
        chinese = page.inner_text("main")
        for word in ("概览", "判断一个样本", "可信程度", "未知", "混淆矩阵"):
            assert word in chinese
        for word in ("Confusion matrix", "At a glance", "unknown"):
            assert word not in chinese
        page.keyboard.press("Enter")
        assert page.inner_text("main") == english


CONTRAST = """() => {
  const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const line = (v) => (v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => [r, g, b].map((v) => line(v / 255))
    .reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const back = (e) => {
    for (; e; e = e.parentElement) {
      let c = getComputedStyle(e).backgroundColor;
      if (c.startsWith("color(srgb")) {
        const m = c.match(/[\\d.]+/g).map(Number);
        return m.slice(0, 3).map((v) => 255 * v);
      }
      const p = parse(c);
      if (p[3] > 0) return p;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const e of document.querySelectorAll("main *, header *, nav *, footer *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.getClientRects().length || e.closest("noscript, title, option, [hidden]")) continue;
    const style = getComputedStyle(e);
    const ink = parse(e instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(ink), light(back(e instanceof SVGElement ? e.closest("svg") : e))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    const who = `${e.tagName} ${e.className.baseVal ?? e.className} ${e.textContent.slice(0, 20)}`;
    if (ratio < 4.5) poor.push(`${who} ${ratio.toFixed(2)}`);
  }
  return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser, reports, scheme):
    with Opened(browser, reports[0] / "naive.html", color_scheme=scheme) as page:
        page.click(".costs summary")
        assert page.evaluate(CONTRAST) == []
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.click("#theme")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != ground
        assert page.evaluate(CONTRAST) == []


def test_in_print_the_nomogram_is_there_on_white_and_what_needs_a_hand_is_not(browser, reports):
    with Opened(browser, reports[0] / "naive.html", color_scheme="dark") as page:
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.is_visible(".nomogram.wide")
        assert not page.is_visible("#chooser")
        assert not page.is_visible("nav")
        assert len(page.pdf(format="A4")) > 10_000


def test_all_that_acts_is_reached_by_tab_and_shows_it(browser, reports):
    with Opened(browser, reports[0] / "naive.html") as page:
        want = page.eval_on_selector_all(
            "button:not([hidden]), select, input, a[href], summary",
            "all => all.filter(e => e.checkVisibility({contentVisibilityAuto: true})).length",
        )
        met = set()
        for _ in range(3 * want):
            page.keyboard.press("Tab")
            seen = page.evaluate(
                "() => { const e = document.activeElement; const s = getComputedStyle(e);"
                " const lit = s.outlineStyle !== 'none' && s.outlineWidth !== '0px';"
                " return e === document.body ? null : [e.outerHTML, lit]; }"
            )
            if seen is None:
                break
            assert seen[1], seen[0]
            met.add(seen[0])
        assert len(met) >= want


def test_what_a_screen_reader_needs_is_there(browser, reports):
    with Opened(browser, reports[0] / "naive.html") as page:
        nameless = page.evaluate(
            """() => [...document.querySelectorAll('select, input, button')].filter(e =>
              !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())).map(e => e.outerHTML)"""
        )
        assert nameless == []
        assert page.evaluate("document.querySelectorAll('main, nav, header, footer').length") == 4
        assert page.evaluate("[...document.querySelectorAll('table')].every(t => t.querySelector('th'))")
        assert page.evaluate("[...document.querySelectorAll('svg[role=img]')].every(s => s.getAttribute('aria-label'))")
        assert page.evaluate("[...document.querySelectorAll('section')].every(s => s.getAttribute('aria-labelledby'))")
