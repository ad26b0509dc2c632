"""The report: one offline HTML file, whatever the data; see `write_report`."""

from __future__ import annotations

import base64
import hashlib
import math
import os
import pathlib
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from numbers import Integral
from typing import Any

import numpy as np
from markupsafe import Markup

from ..arrays import Floats
from ..decision.calibrate import reliability
from ..decision.decide import cost_curve, risk_coverage
from ..decision.on_points import OnPoints
from ..drafts import whole_file
from ..errors import BadParameter
from ..explain.whatif import cut
from ..leaderboard.board import Leaderboard, cell
from ..table.labels import position
from .cases import cases, vocabulary
from .charts import SERIES, Line, curves_chart, free_chart, reliability_chart, spread_chart, thinned
from .chooser import decide
from .evidence import Evidence, class_order, gather
from .graphs import averaged, dependence, star, strongest_pairs
from .markup import amount, figure, name, percent, render, say, static
from .scene import svg

LARGEST = 5_000_000  # bytes of a report
MOST_LINES = 40  # of warnings, parameters, hashes
MOST_CONFUSED = 12  # classes of the confusion matrix
MOST_CARDS = 12  # columns whose spread is drawn
MOST_MODELS = 60  # of a leaderboard
SCORES = {
    "log_loss": "log_loss", "error": "error", "brier": "brier", "calibration_error": "calibration", "cost": "cost",
    "fit_seconds": "fit_seconds", "row_microseconds": "row_microseconds",
}  # fmt: skip


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
    board, sentences, whole = isinstance(leaderboard, Leaderboard), "a list of sentences", "a whole number"
    _require(leaderboard is None or board, "leaderboard", leaderboard, "what compare gave, or None")
    _require(title is None or isinstance(title, str), "title", title, "text, or None")
    _require(isinstance(with_rows, bool), "with_rows", with_rows, "True or False")
    _require(_sentences(warnings), "warnings", warnings, sentences)
    _require(_sentences(notes), "notes", notes, sentences)
    _require(hashes is None or isinstance(hashes, Mapping), "hashes", hashes, "a dict of text, or None")
    _require(folds is None or _whole(folds, 2), "folds", folds, f"{whole} from 2 up, or None")
    _require(_whole(seed, 0), "seed", seed, f"{whole} from 0 up")
    cv = None if folds is None else int(folds)
    e = gather(model, X, y, posterior, loss, reject, with_rows, cv, int(seed), sample_weight, leaderboard, chosen)
    text = page(e, leaderboard, chosen, title, warnings, notes, hashes or {})
    with whole_file(path) as stream:
        stream.write(text.encode("utf-8"))
    return pathlib.Path(path)


def _require(good: bool, what: str, value: Any, needed: str) -> None:
    if not good:
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
    parts = {
        "glance": glance(e),
        "decide": chooser,
        "trust": trust(e),
        "board": board(leaderboard, chosen),
        "vocabulary": vocabulary(e),
        "cases": cases(e),
        "data": data(e),
        "structure": structure(e),
        "policy": policy(e),
        "notes": render("sections", "notes", warnings, notes, MOST_LINES),
        "settings": settings(e, hashes),
    }
    shown = [(key, body) for key, body in parts.items() if body]
    script, style = static("page.js"), static("page.css")
    rules = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    facts = [("rows", f"{e.frame.n:,}"), ("columns", f"{e.frame.d:,}"), ("classes", len(e.classes))]
    head, lead = cut(title or e.target, 120), (e.called, e.target)
    return render("page", "page", shown, head, rules, style, script, facts, lead, e.with_rows, block)


def _hash(text: str) -> str:
    """What the page's own policy lets run: this text and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def glance(e: Evidence) -> Markup:
    """The figures that matter, each beside what is had without looking at a row."""
    always = ("baseline", e.classes[int(e.count.argmax())], percent(e.baseline["error"]))
    tiles: list[tuple[str, str, Any]] = [
        ("error", percent(e.scores["error"]), always),
        ("log_loss", figure(e.scores["log_loss"]), ("baseline_shares", figure(e.baseline["log_loss"]))),
        ("calibration", percent(e.scores["calibration_error"]), ()),
    ]
    if e.loss.reject or not _zero_one(e):
        best, least = int((e.loss.matrix @ e.count).argmin()), figure(e.baseline["cost"])
        left = e.loss.reject and best == len(e.loss.matrix) - 1
        base = ("baseline_left", least) if left else ("baseline", e.actions[best], least)
        tiles.insert(0, ("cost", figure(e.scores["cost"]), base))
    if e.loss.reject:
        tiles.append(("rejected", percent(e.scores["rejected"]), ("of_rejected", f"{e.reject:.6g}")))
    return render("sections", "glance", tiles, e.unseen)


def _zero_one(e: Evidence) -> bool:
    m = e.loss.matrix
    return m.shape[0] == m.shape[1] and bool((m == 1 - np.eye(len(m))).all())


def trust(e: Evidence) -> Markup:
    """Confusion, reliability, ROC, precision and recall, cost, risk and coverage."""
    rows = np.bincount(e.y, minlength=len(e.classes))
    order = [c for c in class_order(e.count, SERIES) if 0 < rows[c] < len(e.y)]
    if len(order) == 2 and len(e.classes) == 2:
        order = [1]  # the other class is its mirror image
    shown = [_reliability(e), *([_roc(e, order), _pr(e, order), _cost(e, order)] if order else []), _coverage(e)]
    left = (len(order), len(e.classes)) if len(e.classes) > SERIES else ()
    return render("sections", "trust", shown, confusion(e), [str(e.classes[c]) for c in order], left)


def confusion(e: Evidence) -> Markup:
    """Counts and shares of the true class; the shade is the share."""
    K, A = len(e.classes), len(e.loss.matrix)
    counts = np.bincount(e.y * A + e.decided, e.w, K * A).reshape(K, A)
    rows = _groups(counts.sum(axis=1), K)
    rejecting = [[A - 1]] if e.loss.reject else []
    named = e.actions[: A - len(rejecting)]
    same = len(named) == K and all(position(c, named) == k for k, c in enumerate(e.classes))
    columns = (rows if same else _groups(counts.sum(axis=0)[: len(named)], len(named))) + rejecting
    heads = [say("leave") if group in rejecting else _called(group, e.actions) for group in columns]
    lines = []
    for group in rows:
        total, cells = counts[group].sum(), []
        for col in columns:
            n = float(counts[np.ix_(group, col)].sum())
            share = n / total if total else 0.0
            right = len(group) == len(col) == 1 and position(e.classes[group[0]], named) == col[0]
            told = percent(share, 0) if n else ""
            cells.append(("hit" if right else "miss", math.ceil(share * 8), amount(n), told))
        lines.append((_called(group, e.classes), cells))
    return render("sections", "confusion", heads, lines, len(rows) - 1 if K > MOST_CONFUSED else 0)


def _called(group: list[int], names: Sequence[Any]) -> Markup:
    return name(names[group[0]]) if len(group) == 1 else say("other_classes", len(group))


def _groups(count: Floats, n: int) -> list[list[int]]:
    """Each of the commonest alone, all others together."""
    if n <= MOST_CONFUSED:
        return [[i] for i in range(n)]
    alone = class_order(count, MOST_CONFUSED - 1)
    return [*([i] for i in alone), [i for i in range(n) if i not in alone]]


Shown = tuple[str, list[tuple[str, ...]], Markup, bool]  # key, sentences below, chart, whether it has a class's colours


def _reliability(e: Evidence) -> Shown:
    bins = 10 if len(e.y) < 2000 else 15
    two = len(e.classes) == 2
    found = reliability(e.posterior, e.y, 1 if two else None, bins=bins, sample_weight=e.w)
    how = ("reliability_of", e.classes[1]) if two else ("reliability_how",)
    return "reliability", [how], reliability_chart(found), False


def _roc(e: Evidence, order: list[int]) -> Shown:
    from sklearn.metrics import auc, roc_curve

    lines: list[Line] = []
    areas = []
    for k, c in enumerate(order):
        wrong, right, _ = roc_curve(e.y == c, e.posterior[:, c], sample_weight=e.w)
        lines.append((*thinned(wrong, right), f"s{k}"))
        areas.append(figure(float(auc(wrong, right))))
    guess: Line = ([0.0, 1.0], [0.0, 1.0], "aside")
    chart = curves_chart(lines, "axis_false", "axis_true", "chart_roc", [guess])
    return "roc", [("roc_how",), ("area", ", ".join(areas))], chart, True


def _pr(e: Evidence, order: list[int]) -> Shown:
    from sklearn.metrics import average_precision_score, precision_recall_curve

    lines: list[Line] = []
    asides: list[Line] = []
    areas = []
    for k, c in enumerate(order):
        precision, recall, _ = precision_recall_curve(e.y == c, e.posterior[:, c], sample_weight=e.w)
        lines.append((*thinned(recall[::-1], precision[::-1]), f"s{k}"))
        areas.append(figure(float(average_precision_score(e.y == c, e.posterior[:, c], sample_weight=e.w))))
        share = float(e.count[c] / e.w.sum())
        if len(order) <= 2:
            asides.append(([0.0, 1.0], [share, share], f"aside s{k}"))
    chart = curves_chart(lines, "axis_recall", "axis_precision", "chart_pr", asides)
    return "pr", [("pr_how",), ("area", ", ".join(areas))], chart, True


def _cost(e: Evidence, order: list[int]) -> Shown:
    lines: list[Line] = []
    for k, c in enumerate(order):
        found = cost_curve(e.posterior, e.y, c, sample_weight=e.w)
        share = found.share.tolist()
        lines.append((share, found.cost.tolist(), f"s{k}"))
        lines.append((share, np.minimum(found.always, found.never).tolist(), f"aside s{k}"))
    return "cost_curve", [("cost_curve_how",)], free_chart(lines, "axis_cost_share", "axis_cost", "chart_cost"), True


def _coverage(e: Evidence) -> Shown:
    known = np.asarray(e.model.classes_)
    curve = risk_coverage(e.posterior, e.loss, known[e.y], classes=known, sample_weight=e.w)
    xs, ys = thinned(np.append(0.0, curve.coverage), np.append(curve.risk[:1], curve.risk))
    lines: list[Line] = [(xs, ys, "s0")]
    if e.reject is not None:
        covered = 1 - e.scores["rejected"]
        lines.append(([covered, covered], [0.0, max(ys)], "aside"))
    chart = free_chart(lines, "axis_coverage", "axis_risk", "chart_coverage")
    return "coverage", [("coverage_how",), ("area", figure(curve.area))], chart, False


def board(leaderboard: Any, chosen: str | None) -> Markup | str:
    """The leaderboard, best first; below it who has no scores, and why."""
    if leaderboard is None:
        return ""
    scores = [s for s in leaderboard.scores if s in SCORES]
    rows = list(leaderboard.rows)[:MOST_MODELS]
    lines = []
    for row in [row for row in rows if row.status == "finished"]:
        mark = Markup(' <em class="mark">{}</em>').format(say("chosen")) if row.name == chosen else Markup("")
        lines.append([name(row.name) + mark, *(_scored(row, s) for s in scores)])
    heads = [say("model"), *(say(SCORES[s]) for s in scores)]
    failed = [row for row in rows if row.status != "finished"]
    return render("sections", "board", heads, lines, len(leaderboard.rows) - MOST_MODELS, failed)


def _scored(row: Any, score: str) -> Markup:
    told, plus, spread = cell(row, score).partition(" ±")
    return Markup("{}<small> ±{}</small>" if plus else "{}").format(told, spread)


def data(e: Evidence) -> Markup:
    """The spread of the most telling columns, then all columns as a table."""
    s = e.survey
    order = class_order(s.class_count, SERIES)
    drawn = [c for c in s.columns if c.table is not None and len(c.table)][:MOST_CARDS]
    known, dense = any(c.information is not None for c in s.columns), any(c.density for c in s.columns)
    heads = ["column", "kind", "missing", "values", *["density"] * dense, *["information"] * known]
    rows = []
    for c in s.columns:
        values = "" if c.n_values is None else f"{c.n_values:,}"
        row = [name(c.name), say(f"kind_{c.kind}"), percent(c.missing), values]
        rows.append(row + [cut(c.density)] * dense + [figure(c.information or 0.0)] * known)
    count = s.class_count
    shares = [(name(e.classes[c]), amount(float(count[c])), percent(float(count[c] / count.sum())))
              for c in class_order(count, 20)]  # fmt: skip
    return render(
        "sections", "data", [(c.name, spread_chart(c, order)) for c in drawn], "data_how" if known else "data_order",
        [str(e.classes[c]) for c in order], (len(order), len(e.classes)) if len(e.classes) > len(order) else (),
        [say(h) for h in heads], rows, s.left_out, shares,
    )  # fmt: skip


def structure(e: Evidence) -> Markup | str:
    """The dependence graph of a model that has one; naive Bayes hangs every column from the class."""
    model = e.inner
    if hasattr(model, "edges_") and hasattr(model, "schema_") and hasattr(model, "_edge_weights"):
        pairs = strongest_pairs(model) if averaged(model) else None
        if pairs == {}:
            return ""
        how = ("structure_how",) if pairs is None else ("structure_pairs", len(pairs))
        drawn = dependence(model, e.target)
        del drawn.attrib["style"]  # which the page's policy forbids; the page's sheet does the same
        return render("sections", "structure", how, svg(drawn))
    shown = [(c.name, c.information) for c in e.survey.columns[:14] if c.information is not None]
    if len(shown) < 2:
        return ""
    return render("sections", "structure", ("structure_naive", len(shown)), svg(star(e.target, shown)))


def policy(e: Evidence) -> Markup:
    """What happens to missing cells and to values that training did not have."""
    model = e.inner
    ours = type(model).__module__.startswith("posteriori.") and not isinstance(model, OnPoints)
    ours = ours and hasattr(model, "schema_")
    summed = hasattr(model, "families_") and getattr(model.families_, "exact", False)
    sentences = [("policy_summed",) if summed else ("policy_missing",) if ours else ("policy_pipeline",)]
    if ours:
        mass = getattr(model, "unseen", "") == "mass"
        sentences.append(("policy_unseen_mass",) if mass else ("policy_unseen_missing",))
    return render("sections", "policy", [*sentences, ("policy_data", percent(e.survey.missing))])


def settings(e: Evidence, hashes: Mapping[str, str]) -> Markup:
    """Parameters, versions, hashes, the time."""
    code = Markup("<code>{}</code>").format
    params = sorted(e.model.get_params(deep=True).items()) if hasattr(e.model, "get_params") else []
    versions = {"python": platform.python_version()}
    for package in ("posteriori", "numpy", "scipy", "scikit-learn"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    told = [(code(cut(k)), code(cut(_parameter(v), 120))) for k, v in params[:MOST_LINES]]
    sums = [(name(k), code(cut(v))) for k, v in list(hashes.items())[:MOST_LINES]]
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return render("sections", "settings", told, [(k, cut(v)) for k, v in versions.items()], sums, when)


def _parameter(value: Any) -> str:
    """A parameter as text; of one that may hold values of the data (a schema, a dict) only what it is."""
    plain = value is None or isinstance(value, str | bool | int | float) or (isinstance(value, tuple) and not value)
    return repr(value) if plain else type(value).__name__
