"""The words of a model of texts: which tell most of each class, and what those of some rows say.

Symbols: w word, c class, θ = P(w|c). One occurrence of w adds ln θ_wc/θ_w¬c to the log-odds of c against all other classes,
θ_w¬c being the mean of the others by their P(c). Ranked by P(w|c) times that: rare words say much, but seldom.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bayes.densities import Words
from ..explain.weigh import said_words
from ..explain.whatif import FEWEST_ROWS
from .charts import SERIES, bars_chart
from .evidence import Evidence
from .markup import name
from .sections import note, section
from .survey import class_order

MOST_WORDS = 12  # of a class
MOST_TEXTS = 4  # columns


def texts_of(model: Any) -> list[Words]:
    """The text columns of a model that counts their words."""
    densities = getattr(getattr(model, "factored_", None), "densities", ())
    return [density for density in densities if isinstance(density, Words)]


def words(e: Evidence) -> str:
    """A card for each of the commonest classes: the words that tell it from the others."""
    texts, count = texts_of(e.inner), np.bincount(e.y, minlength=len(e.classes))
    if not texts or len(e.classes) < 2:
        return ""
    cards = []
    for density in texts[:MOST_TEXTS]:
        for c in class_order(count, SERIES):
            found = telling(density, e.inner.factored_.log_prior, c, least(e))
            if found:
                title = name(e.classes[c]) + (f" <small>{name(density.column.name)}</small>" if len(texts) > 1 else "")
                cards.append(f'<figure class="card"><h3>{title}</h3>{bars_chart(found, "chart_words")}</figure>')
    some = note("classes_left", SERIES, len(e.classes)) if len(e.classes) > SERIES else ""
    body = f'<div class="cards">{"".join(cards)}</div>' if cards else note("no_words")
    return section("vocabulary", note("words_how"), some, body)


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
    order = [i for i in np.argsort(-worth, kind="stable").tolist() if worth[i] > 0 and seen[i]][:MOST_WORDS]
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
