"""Cases and words, explained: typical, doubtful and wrong cases, rows themselves where they may be shown, else means of
several; of texts the words that tell most of each class, and what those of some rows say.

Symbols: w word, c class, θ = P(w|c). One occurrence of w adds ln θ_wc/θ_w¬c to the log-odds of c against all other
classes, θ_w¬c being the mean of the others by their P(c). Ranked by P(w|c) times that: rare words say much, but seldom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from markupsafe import Markup
from sklearn.utils import _safe_indexing

from ..arrays import Ints
from ..bayes.densities import Words
from ..errors import PosterioriError
from ..explain.weigh import leaves_out, odds, said_words
from ..explain.whatif import FEWEST_ROWS, cut
from ..explain.why import explain
from ..table.dates import date_of, weekday_text, weekdays_in
from .charts import SERIES, bars_chart
from .evidence import Evidence, class_order
from .markup import WORDS, percent, render

MEAN_OF = 5  # rows of a picture without rows
FEWEST = 3
MOST_CLASSES = 3  # that have a typical case
MOST_ROWS = 2  # of a kind, with rows
MOST_BARS = 8
MOST_WORDS = 7  # of a text
MOST_NATS = 50.0
OTHER_WORDS = WORDS["other_words"][0]
MEAN_OVER, MOST_AVERAGED = 60, 60  # rows and columns of a model whose attributes are averaged over, one by one
MOST_TELLING = 12  # words of a class
MOST_TEXTS = 4  # columns of texts


def cases(e: Evidence) -> Markup | str:
    """A card for each kind of case."""
    if len(e.classes) < 2:
        return ""
    groups = _picked(e)
    cards: list[Markup | None] = []
    for title, rows in groups:
        if e.with_rows:
            cards += [_card(e, title, np.array([r])) for r in rows[:MOST_ROWS]]
        elif len(rows) >= FEWEST:
            cards.append(_card(e, title, rows[:MEAN_OF]))
    wrong = next((rows for title, rows in groups if title[0] == "wrong"), groups[0][1][:0])
    few = ("few_wrong" if len(wrong) else "no_wrong") if len(wrong) < (1 if e.with_rows else FEWEST) else ""
    return render("cases", "cases", [c for c in cards if c], few, e.with_rows)


def _picked(e: Evidence) -> list[tuple[tuple[Any, ...], Ints]]:
    """(title, rows): the surest right ones of the commonest classes, the least sure, the surest wrong."""
    p, y = e.posterior, e.y
    top = p.argmax(axis=1)
    sure = p[np.arange(len(p)), top]
    two = np.sort(p, axis=1)[:, -2:]
    found: list[tuple[tuple[Any, ...], Ints]] = []
    for c in class_order(e.count, MOST_CLASSES):
        rows = np.flatnonzero((y == c) & (top == c))
        found.append((("typical", e.classes[c]), rows[np.argsort(-sure[rows], kind="stable")][:MEAN_OF]))
    found.append((("doubtful",), np.argsort(two[:, 1] - two[:, 0], kind="stable")[:MEAN_OF]))
    rows = np.flatnonzero(top != y)
    if len(rows):  # the commonest mistake
        said, was = divmod(int(np.bincount(top[rows] * p.shape[1] + y[rows]).argmax()), p.shape[1])
        rows = rows[(top[rows] == said) & (y[rows] == was)]
        rows = rows[np.argsort(-sure[rows], kind="stable")][:MEAN_OF]
        found.append((("wrong", e.classes[said], e.classes[was]), rows))
    return found


def _card(e: Evidence, title: tuple[Any, ...], rows: Ints) -> Markup | None:
    """Bars for the class decided against the next (of wrong cases, against the truth)."""
    said = e.posterior[rows].mean(axis=0)
    t = int(said.argmax())
    truth = e.y[rows]
    rest = [c for c in np.argsort(-said, kind="stable").tolist() if c != t]
    a = int(np.bincount(truth[truth != t]).argmax()) if title[0] == "wrong" and (truth != t).any() else rest[0]
    alone = e.with_rows and len(rows) == 1
    found = explained(e, rows, t, a, change=alone)
    if found is None:
        return None
    weights = dict(sorted(found.parts.items(), key=lambda part: (part[0] == OTHER_WORDS, -abs(part[1]))))
    order = list(weights)
    cells = {c: cell(e, int(rows[0]), e.place[c]) for c in order[:MOST_BARS] if c in e.place} if alone else {}
    bars = [(WORDS["prior"][0], found.prior)]
    bars += [(_called(column, cells), weights[column]) for column in order[:MOST_BARS]]
    if len(order) > MOST_BARS:
        bars.append((f"(+{len(order) - MOST_BARS})", sum(weights[column] for column in order[MOST_BARS:])))
    if found.together:
        bars.append((WORDS["together"][0], found.together))
    told: list[tuple[Any, ...]] = [("case_mean", len(rows))]
    if len(rows) == 1:
        decided = e.classes[truth[0]], e.actions[e.decided[rows[0]]], percent(float(said[t]))
        told = [("case_row", int(rows[0]) + 1), ("case_told", *decided)]
    how, change = ("for_against", e.classes[t], e.classes[a]), found.change if len(rows) == 1 else ""
    return render("cases", "card", title, told, bars_chart(bars, "chart_case"), change, how)


def _held(log_odds: Any) -> float:
    """Log-odds that can be added up and drawn: what rules a class out counts as so many nats."""
    return float(np.clip(log_odds, -MOST_NATS, MOST_NATS))


def _called(column: str, cells: dict[str, Any]) -> str:
    return f"{cut(column, 40)} = {cut(cells[column], 24)}" if column in cells else cut(column, 40)


def cell(e: Evidence, row: int, j: int) -> Any:
    """One cell as Python has it."""
    value = e.frame.column(j)[row]
    value = value.as_py() if hasattr(value, "as_py") else value.item() if isinstance(value, np.generic) else value
    if e.names[j] in e.dates:
        return date_of(value)
    return weekday_text(value) if e.names[j] in weekdays_in(e.dates) else value


@dataclass(frozen=True, eq=False)
class Reasons:
    """ln P(t|x)/P(a|x) = prior + Σ parts + together, the mean over some rows; the least change that turns a decision."""

    prior: float
    parts: dict[str, float]
    together: float = 0.0
    change: str = ""


def explained(e: Evidence, rows: Ints, t: int, a: int, change: bool) -> Reasons | None:
    """The mean of what `explain` says of the rows; None where the model gives no reasons, or where that would take long."""
    few, X = e.frame.d <= MOST_AVERAGED, _safe_indexing(e.X, rows)
    try:
        with catch_warnings():
            simplefilter("ignore")
            sums = e.inner._log_parts(X) if hasattr(e.inner, "_log_parts") else None
            if sums is not None and not (change and few):
                prior, parts = sums
                mean = np.clip(odds(parts, t, a), -MOST_NATS, MOST_NATS).mean(axis=0)
                said = dict(zip(e.names, mean.tolist()))
                return Reasons(_held(odds(prior, t, a)), _by_words(said, words_of_rows(e, X, len(rows), t, a)))
            return _each(e, rows, t, a, change) if few else None
    except PosterioriError:
        return None


def _by_words(said: dict[str, float], words: dict[str, dict[str, float]]) -> dict[str, float]:
    """What columns say; of a text what its strongest words do, and the rest of it."""
    out = {c: v for c, v in said.items() if c not in words}
    for column, found in words.items():
        strong = sorted(found, key=lambda w: -abs(found[w]))[:MOST_WORDS]
        told = {f"“{cut(w, 30)}”" if len(words) == 1 else f"{cut(column, 12)} “{cut(w, 20)}”": found[w] for w in strong}
        told = {label: _held(v) for label, v in told.items() if abs(v) >= 0.005}
        rest = out.get(OTHER_WORDS, 0.0) + said[column] - sum(told.values())
        out |= told | ({OTHER_WORDS: _held(rest)} if abs(rest) >= 0.005 else {})
    return out


def _each(e: Evidence, rows: Ints, t: int, a: int, change: bool) -> Reasons:
    """Row by row, with a background for models that cannot leave an attribute out."""
    some = np.linspace(0, e.frame.n - 1, min(e.frame.n, MEAN_OVER)).astype(int)
    background = None if leaves_out(e.inner) or hasattr(e.inner, "_log_parts") else _safe_indexing(e.X, some)
    options: dict[str, Any] = {"background": background, "changes": int(change)}
    found = [explain(e.inner, _safe_indexing(e.X, [int(r)]), e.classes[t], e.classes[a], **options) for r in rows]
    parts = dict.fromkeys(e.names, 0.0)
    words: dict[str, dict[str, float]] = {}
    for why in found:
        for p in why.parts:
            parts[p.column] = parts.get(p.column, 0.0) + _held(p.log_odds) / len(found)
    if texts_of(e.inner):
        words = words_of_rows(e, _safe_indexing(e.X, rows), len(rows), t, a)
    together = sum(_held(why.together) for why in found) / len(found)
    told = str(found[0].changes[0]) if change and found[0].changes else ""
    return Reasons(_held(found[0].prior), _by_words(parts, words), together, told)


def texts_of(model: Any) -> list[Words]:
    """The text columns of a model that counts their words."""
    densities = getattr(getattr(model, "factored_", None), "densities", ())
    return [density for density in densities if isinstance(density, Words)]


def vocabulary(e: Evidence) -> Markup | str:
    """A card for each of the commonest classes: the words that tell it from the others."""
    texts, count = texts_of(e.inner), np.bincount(e.y, minlength=len(e.classes))
    if not texts or len(e.classes) < 2:
        return ""
    cards = []
    for density in texts[:MOST_TEXTS]:
        for c in class_order(count, SERIES):
            found = telling(density, e.inner.factored_.log_prior, c, least(e))
            if found:
                column = density.column.name if len(texts) > 1 else None
                cards.append((e.classes[c], column, bars_chart(found, "chart_words")))
    left = (SERIES, len(e.classes)) if len(e.classes) > SERIES else ()
    return render("cases", "vocabulary", cards, left)


def least(e: Evidence) -> int:
    """How often a word must have occurred to be named."""
    return 1 if e.with_rows else FEWEST_ROWS


def telling(density: Words, log_prior: Any, c: int, fewest: int) -> list[tuple[str, float]]:
    """(word, what an occurrence adds to the log-odds of class c against all others), the most telling first."""
    theta, prior = np.exp(density.log_theta), np.exp(log_prior)
    others = np.delete(prior, c)
    if not len(theta) or not others.sum() > 0:
        return []
    rest = np.delete(theta, c, axis=1) @ others / others.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.nan_to_num(np.log(theta[:, c]) - np.log(rest), nan=0.0, posinf=np.inf, neginf=-np.inf)
        worth = np.where(weight > 0, theta[:, c] * np.minimum(weight, 50.0), 0.0)
    seen = np.asarray(density.counts.table, dtype=np.float64).sum(axis=1) >= fewest
    order = [i for i in np.argsort(-worth, kind="stable").tolist() if worth[i] > 0 and seen[i]][:MOST_TELLING]
    return [(str(density.column.values[i]), float(weight[i])) for i in order]


def words_of_rows(e: Evidence, X: Any, n: int, t: int, a: int) -> dict[str, dict[str, float]]:
    """Of each text column, what the words of some rows say for t against a, a row on average; rare words are not named."""
    found: dict[str, dict[str, float]] = {}
    said = said_words(e.inner, X, t, a)
    for density in texts_of(e.inner):
        often = np.asarray(density.counts.table, dtype=np.float64).sum(axis=1)
        known = {w: often[i] for w, i in density.place.items()}
        told = {w: odds / n for w, odds in said[density.where[0]] if e.with_rows or known.get(w, 0.0) >= least(e)}
        found[density.column.name] = told
    return found
