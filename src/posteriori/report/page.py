"""The report: one offline HTML file, whatever the data; see `write_report`."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import os
import pathlib
import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata, resources
from numbers import Integral
from typing import Any

from ..decision.on_points import OnPoints
from ..drafts import whole_file
from ..errors import BadParameter
from ..leaderboard.board import Leaderboard
from .cases import cases, words
from .charts import picture, text
from .chooser import decide
from .evidence import Evidence, gather
from .markup import cut, data_block, esc, name, percent, say
from .sections import board, data, glance, note, section, table, trust
from .words import WORDS

LARGEST = 5_000_000  # bytes of a report
MOST_LINES = 40  # of warnings, parameters, hashes


def write_report(
    path: str | os.PathLike[str],
    model: Any,
    X: Any,
    y: Any = None,
    *,
    leaderboard: Any = None,
    chosen: str | None = None,
    posterior: Any = None,
    loss: Any = None,
    reject: float | None = None,
    title: str | None = None,
    with_rows: bool = False,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
    hashes: Mapping[str, str] | None = None,
    folds: int | None = None,
    seed: int = 0,
    sample_weight: Any = None,
) -> pathlib.Path:
    """Write a report about a fitted classifier: one HTML file under 5 MB that needs no network, whatever the data.

    Parameters
    ----------
    path : the file; it is written whole or not at all
    model : a fitted classifier with `predict_proba`; a `RiskClassifier` brings its loss
    X, y : the rows that it was trained on, or the table that `read` gave
    leaderboard : what `compare` gave, shown with the row `chosen` marked
        Of these same rows it brings the posterior of each by a model that had not seen it.
    posterior : P(y|x) of every row by a model that had not seen it, optional
        By default the leaderboard's, else from the folds that `compare` would take (`folds` of them, by `seed`), in which
        the model is trained anew.
    loss, reject : as in `RiskClassifier`
    with_rows : whether cells of single rows may be part of the report
    warnings, notes : sentences for the reader: what to beware of, and what else to know
    hashes : what → SHA-256
    sample_weight : weights of rows, in training anew and in every figure; a row of none is not there

    >>> import tempfile, posteriori as po
    >>> X, y = {"sky": ["blue", "grey"] * 10, "wind": [1.0, 5.0] * 10}, ["out", "in"] * 10
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(folder + "/report.html", po.NaiveBayes().fit(X, y), X, y).name
    'report.html'
    """
    _check(leaderboard, title, with_rows, warnings, notes, hashes, folds, seed)
    cv = None if folds is None else int(folds)
    told = (sample_weight, leaderboard, chosen)
    e = gather(model, X, y, posterior, loss, reject, with_rows, cv, int(seed), *told)
    text = page(e, leaderboard, chosen, title, warnings, notes, hashes or {})
    with whole_file(path) as stream:
        stream.write(text.encode("utf-8"))
    return pathlib.Path(path)


def _check(*told: Any) -> None:
    """What the report is told beside the model and its rows."""
    whole = "a whole number"
    wanted: list[tuple[str, str, Callable[[Any], bool]]] = [
        (
            "leaderboard",
            "what compare gave, or None",
            lambda v: v is None or isinstance(v, Leaderboard),
        ),
        ("title", "text, or None", lambda v: v is None or isinstance(v, str)),
        ("with_rows", "True or False", lambda v: isinstance(v, bool)),
        ("warnings", "a list of sentences", _sentences),
        ("notes", "a list of sentences", _sentences),
        ("hashes", "a dict of text, or None", lambda v: v is None or isinstance(v, Mapping)),
        ("folds", f"{whole} from 2 up, or None", lambda v: v is None or _whole(v, 2)),
        ("seed", f"{whole} from 0 up", lambda v: _whole(v, 0)),
    ]
    for (what, needed, good), value in zip(wanted, told, strict=True):
        if not good(value):
            raise BadParameter(f"{what} must be {needed}. Got {value!r} instead.")


def _sentences(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(w, str) for w in value)


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def page(
    e: Evidence,
    leaderboard: Any,
    chosen: str | None,
    title: str | None,
    warnings: Sequence[str],
    notes: Sequence[str],
    hashes: Mapping[str, str],
) -> str:
    """The whole text of the report."""
    chooser, block = decide(e)
    parts = [
        ("glance", glance(e)),
        ("decide", chooser),
        ("trust", trust(e)),
        ("board", board(leaderboard, chosen)),
        ("vocabulary", words(e)),
        ("cases", cases(e)),
        ("data", data(e)),
        ("structure", structure(e)),
        ("policy", policy(e)),
        ("notes", _notes(warnings, notes)),
        ("settings", fine_print(e, hashes)),
    ]
    parts = [(key, body) for key, body in parts if body]
    links = "".join(f'<li><a href="#{key}">{say(f"nav_{key}")}</a></li>' for key, _ in parts)
    head = cut(title or e.target, 120)
    script, style = _static("page.js"), _static("page.css")
    rules = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    facts = " · ".join(
        [say("rows", f"{e.frame.n:,}"), say("columns", f"{e.frame.d:,}"), say("classes", len(e.classes))]
    )
    dictionary = data_block("words", {k: list(v) for k, v in WORDS.items()})
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{rules}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="robots" content="noindex">\n'
        f'<meta name="referrer" content="no-referrer">\n<title>{html.escape(head)}</title>\n'
        f"<style>{style}</style>\n</head>\n"
        f'<body>\n<a class="skip" href="#main">{say("skip")}</a>\n<header><div class="bar">'
        f'<span class="brand">posteriori <span>{say("report")}</span></span><span class="tools">'
        f'<button type="button" id="language" lang="zh" data-w="language">{WORDS["language"][0]}</button>'
        f'<button type="button" id="theme" data-l="theme" aria-label="{WORDS["theme"][0]}">◐</button></span></div>'
        f'<h1><bdi>{html.escape(head)}</bdi></h1><p class="lead">{say("lead", e.called, e.target)}</p>'
        f'<p class="facts">{facts}</p></header>\n<nav data-l="contents" aria-label="Contents"><ul>{links}</ul></nav>\n'
        f'<main id="main">\n{"".join(body for _, body in parts)}\n</main>\n<footer>{say("offline", tag="p")}'
        f"{say('with_rows' if e.with_rows else 'without_rows', tag='p')}</footer>\n"
        f"{dictionary}{block}\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _static(file: str) -> str:
    return resources.files(__package__).joinpath("static", file).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What the page's own policy lets run: this text and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def structure(e: Evidence) -> str:
    """The dependence graph of a model that has one."""
    from .dependence import averaged, dependence_svg, strongest_pairs

    model = e.inner
    if hasattr(model, "edges_") and hasattr(model, "schema_") and hasattr(model, "_edge_weights"):
        pairs = strongest_pairs(model) if averaged(model) else None
        if pairs == {}:
            return ""
        how = note("structure_how") if pairs is None else note("structure_pairs", len(pairs))
        return section("structure", how, f'<div class="graph">{unstyled(dependence_svg(model, e.target))}</div>')
    if e.survey.columns and e.survey.columns[0].information is not None:
        shown = [(c.name, c.information or 0.0) for c in e.survey.columns[:14]]
        if len(shown) < 2:
            return ""
        drawing = star_svg(e.target, shown)
        return section("structure", note("structure_naive", len(shown)), f'<div class="graph">{drawing}</div>')
    return ""


def unstyled(svg: str) -> str:
    """A drawing without its own style, which the page's policy forbids; the page's sheet does the same."""
    return svg.replace('style="max-width:100%;height:auto" ', "")


def policy(e: Evidence) -> str:
    """What happens to missing cells and to values that training did not have."""
    model, told = e.inner, []
    ours = type(model).__module__.startswith("posteriori.") and not isinstance(model, OnPoints)
    if hasattr(model, "families_") and getattr(model.families_, "exact", False):
        told.append(say("policy_summed"))
    else:
        told.append(say("policy_missing" if ours and hasattr(model, "schema_") else "policy_pipeline"))
    if ours and hasattr(model, "schema_"):
        told.append(say("policy_unseen_mass" if getattr(model, "unseen", "") == "mass" else "policy_unseen_missing"))
    told.append(say("policy_data", percent(e.survey.missing)))
    return section("policy", f'<ul class="plain">{"".join(f"<li>{t}</li>" for t in told)}</ul>')


def _notes(warnings: Sequence[str], notes: Sequence[str]) -> str:
    """What to beware of, marked, then what else there is to know."""
    body = ""
    for told, key, style in ((warnings, "warnings", "plain warn"), (notes, "", "plain")):
        lines = "".join(f"<li>{esc(w, 600)}</li>" for w in told[:MOST_LINES])
        body += say(key, tag="h3") if key and lines else ""
        body += f'<ul class="{style}">{lines}</ul>' if lines else ""
        body += note("more_lines", len(told) - MOST_LINES) if len(told) > MOST_LINES else ""
    return section("notes", body or note("no_notes"))


def _parameter(value: Any) -> str:
    """A parameter as text; of one that may hold values of the data (a schema, a dict) only what it is."""
    plain = value is None or isinstance(value, str | bool | int | float) or (isinstance(value, tuple) and not value)
    return repr(value) if plain else type(value).__name__


def fine_print(e: Evidence, hashes: Mapping[str, str]) -> str:
    """Parameters, versions, hashes, the time."""
    params = sorted(e.model.get_params(deep=True).items()) if hasattr(e.model, "get_params") else []
    rows = [[f"<code>{esc(k)}</code>", f"<code>{esc(_parameter(v), 120)}</code>"] for k, v in params[:MOST_LINES]]
    settings = table([say("parameter"), say("value")], rows, "settings") if rows else ""
    versions = {"python": platform.python_version()}
    for package in ("posteriori", "numpy", "scipy", "scikit-learn"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    told = [[esc(k), esc(v)] for k, v in versions.items()]
    body = settings + say("versions", tag="h3") + table([say("package"), say("version")], told, "settings")
    if hashes:
        lines = [[name(k), f"<code>{esc(v, 80)}</code>"] for k, v in list(hashes.items())[:MOST_LINES]]
        body += say("hashes", tag="h3") + table([say("file"), "SHA-256"], lines, "settings hashes")
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return section("settings", body, note("made", made))


def star_svg(target: str, columns: Sequence[tuple[str, float]]) -> str:
    """The class above, columns in rows below, each hanging from it."""
    wide, row, cell = 340.0, 44.0, 112.0
    each = int(wide // cell)
    top = max((v for _, v in columns), default=1.0) or 1.0
    body, boxes = [], []
    middle = wide / 2
    for i, (label, value) in enumerate(columns):
        line = i // each
        count = min(each, len(columns) - line * each)
        x = middle + (i % each - (count - 1) / 2) * cell
        y = 84 + row * line
        width = 0.8 + 4.2 * value / top
        bend = 42 + row * line
        body.append(
            f'<path class="tie" stroke-width="{width:.2f}" d="M{middle:.1f},34C{middle:.1f},{bend:.1f} '
            f'{x:.1f},{y - 50:.1f} {x:.1f},{y - 13:.1f}"><title>{esc(label)}: {value:.3f}</title></path>'
        )
        boxes.append(
            f'<g><title>{esc(label)}</title><rect class="box" x="{x - 52:.1f}" y="{y - 13:.1f}" width="104" '
            f'height="26" rx="6"/>'
            f"{text(x, y + 4, cut(label, 15), style='value')}</g>"
        )
    tall = 84 + row * math.ceil(len(columns) / each) - 18
    boxes.append(
        f'<rect class="box target" x="{middle - 60:.1f}" y="8" width="120" height="28" rx="6"/>'
        f"{text(middle, 26, cut(target, 17), style='name strong')}"
    )
    return picture("".join(body + boxes), "structure", wide, tall)
