"""What each attribute says for one class against another: ln P(t|x)/P(a|x), taken apart.

    sum      ln P(t)/P(a) + Σ_j ln P(x_j|t, …)/P(x_j|a, …), for a model that is such a product; the parts add up
    absence  ln P(t|x)/P(a|x) − ln P(t|x₋ⱼ)/P(a|x₋ⱼ): the weight of x_j as evidence beside all the others, x₋ⱼ being the
             row without x_j, for a model that can leave a cell out
    average  the same, for a model that cannot: P(y|x₋ⱼ) is the mean of P(y|x) over the values of x_j in a background

What remains of the log-odds, with the prior, is what the attributes say together.

Copies of a row differ in a few cells: where ln P(y, x) is a sum over columns they differ in those terms alone (`Sums`), so
that thousands of copies of a row with thousands of columns cost as many tables as a column has values to try.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from ..arrays import Floats
from ..bayes.densities import Words
from ..errors import ImpossibleEvidence, ModelError
from ..estimator import Explains
from ..kernels.naive import normalise
from .rows import Case

MOST_BACKGROUND = 200  # rows that the average runs over
MOST_CELLS = 1 << 21  # of the copies of a row that are judged at a time
LEAST = 1e-3  # a probability below this weighs as this one where it is no product: a vote of none is no proof


def log_posterior(model: Any, X: Any) -> Floats:
    """ln P(y|x), by the model's own logarithms where it has them."""
    with np.errstate(divide="ignore"):
        if hasattr(model, "predict_log_proba"):
            return np.asarray(model.predict_log_proba(X), dtype=np.float64)
        return np.log(np.asarray(model.predict_proba(X), dtype=np.float64))


def log_posteriors(model: Any, case: Case, changes: Sequence[dict[int, Any]]) -> Floats:
    """ln P(y|x) of copies of a row, some at a time; −inf of every class where none allows the copy."""
    step = max(1, MOST_CELLS // max(len(case.cells), len(model.classes_)))
    blocks = [_lenient(model, case.copies(changes[i : i + step])) for i in range(0, len(changes), step)]
    return np.concatenate(blocks)


def _lenient(model: Any, X: Any) -> Floats:
    try:
        return log_posterior(model, X)
    except ImpossibleEvidence:
        if not hasattr(model, "_log_joint"):
            raise
        return given(np.asarray(model._log_joint(X), dtype=np.float64))


def given(log_joint: Floats) -> Floats:
    """ln P(y|x) of ln P(y, x); −inf of every class where none allows the row."""
    evidence = normalise(log_joint.copy())[1]
    return np.asarray(log_joint - np.where(np.isneginf(evidence), 0.0, evidence)[:, None])


def floor_of(model: Any) -> float:
    """The least logarithm that counts: the zeros of a model may be shares of few votes, which it does not stand for."""
    return -np.inf if hasattr(model, "_log_joint") else float(np.log(LEAST))


def odds(logs: Floats, t: int, a: int) -> Floats:
    """log P(t) − log P(a), 0 where neither is possible."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(logs[..., t] - logs[..., a], nan=0.0, posinf=np.inf, neginf=-np.inf)


def weigh(model: Any, case: Case, background: Any, t: int, a: int) -> tuple[str, float, Floats, float]:
    """(the way, prior log-odds, log-odds of each column, what they say together only)."""
    found = model._log_parts(case.table) if hasattr(model, "_log_parts") else None
    if found is not None:
        log_prior, parts = found
        return "sum", float(odds(log_prior, t, a)), odds(parts[0], t, a), 0.0
    if case.sparse:
        raise ModelError(f"{type(model).__name__} explains a row of a dense table: give it row.toarray()")
    floor, logs = floor_of(model), log_posterior(model, case.copies([{}]))
    if background is None and (without := _without(model, case)) is not None:
        both = np.concatenate([logs, without])
        floor = min(floor, both.min(initial=0.0, where=np.isfinite(both)))  # of zeros alone, and alike on both sides
        way, left = "absence", np.maximum(without, floor)
    else:
        way, left = "average", _averaged(model, case, _background(model, background), floor)
    whole, rest = float(odds(np.maximum(logs, floor), t, a)[0]), odds(left, t, a)
    prior = float(odds(_log_prior(model), t, a))
    with np.errstate(invalid="ignore"):
        parts = np.nan_to_num(whole - rest, nan=0.0, posinf=np.inf, neginf=-np.inf)
        together = np.nan_to_num(whole - prior - parts.sum(), nan=0.0, posinf=np.inf, neginf=-np.inf)
    return way, prior, parts, float(together)


def said_words(model: Any, row: Any, t: int, a: int) -> dict[int, tuple[tuple[str, float], ...]]:
    """Of each text of one row, by place, what its words say, strongest first; they add up to what the text says."""
    found: dict[int, tuple[tuple[str, float], ...]] = {}
    densities = model.factored_.densities if hasattr(model, "factored_") else ()
    texts = [density for density in densities if isinstance(density, Words)]
    frame: Any = model._opened(row) if texts else None
    for density in texts:
        words, said = density.said(frame)
        weight = odds(said, t, a)
        order = np.argsort(-np.abs(weight), kind="stable").tolist()
        found[density.where[0]] = tuple((words[i], float(weight[i])) for i in order)
    return found


def _without(model: Any, case: Case) -> Floats | None:
    """ln P(y|x₋ⱼ) of each column, from a model that can leave a cell out."""
    own = model._log_without(case.table) if hasattr(model, "_log_without") else None
    if own is not None:
        found: Floats = own[0]
        return found
    if not leaves_out(model):
        return None
    return log_posteriors(model, case, [{j: None} for j in range(len(case.cells))])


def leaves_out(model: Any) -> bool:
    """Whether a model can do without a cell; a foreign one that allows NaN takes it for a value, which says something."""
    return isinstance(model, Explains) and bool(get_tags(model).input_tags.allow_nan)


def _averaged(model: Any, case: Case, cells: list[list[Any]], floor: float) -> Floats:
    """ln of the mean of P(y|x) over the background's values of each column."""
    out = np.empty((len(case.cells), len(model.classes_)))
    for j, values in enumerate(cells):
        logs = np.maximum(log_posteriors(model, case, [{j: v} for v in values]), floor)
        out[j] = np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))
    return out


def _background(model: Any, background: Any) -> list[list[Any]]:
    """Of each column, the values that it is replaced by: of the rows given, or of those that the model keeps."""
    from ..table.frame import open_frame

    kept = background if background is not None else kept_rows(model)
    if kept is None:
        raise ModelError(
            f"{type(model).__name__} cannot leave an attribute out: give background=, some rows whose values to put there"
        )
    frame = open_frame(kept)
    names = getattr(model, "feature_names_in_", None)
    frame = frame.matched(tuple(map(str, names))) if names is not None and frame.names is not None else frame
    most = min(MOST_BACKGROUND, max(8, 32 * MOST_CELLS // frame.d**2))  # every column costs so many rows of all columns
    rows = np.unique(np.linspace(0, frame.n - 1, min(frame.n, most)).astype(np.int64))
    part = frame.take_rows(rows)
    return [[getattr(v, "as_py", lambda v=v: v)() for v in part.column(j)] for j in range(part.d)]


def kept_rows(model: Any) -> Any:
    """The rows that a model keeps, where they are rows of its table as it came: neighbours, support vectors."""
    return model._own_rows() if hasattr(model, "_own_rows") else None


def _log_prior(model: Any) -> Floats:
    """ln P(y) as far as the model tells it; else nothing is known, and every class is alike."""
    for name in ("class_prior_", "class_count_"):
        found = getattr(model, name, None)
        if found is not None:
            share = np.asarray(found, dtype=np.float64)
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(share / share.sum()))
    return np.zeros(len(model.classes_))


class Sums:
    """ln P(y|x) of copies of a row, by a model that is a sum over its columns: what a cell adds is asked but once.

    A class that some term rules out is −inf, all of them where none is possible.
    """

    def __init__(self, model: Any, case: Case) -> None:
        self.model, self.case = model, case
        prior, parts = model._log_parts(case.table)
        self.own, self.known = parts[0], dict[tuple[int, Any], Floats]()
        self.total = _parted(np.vstack([prior, self.own])).sum(axis=1)

    def __call__(self, changes: Sequence[dict[int, Any]]) -> Floats:
        self._ask(changes)
        total = np.repeat(self.total[:, None], len(changes), axis=1)
        for i, change in enumerate(changes):
            for j, value in change.items():
                total[:, i] += _parted(self.known[j, value]) - _parted(self.own[j])
        return given(np.where(total[1] > 0.5, -np.inf, total[0]))

    def _ask(self, changes: Sequence[dict[int, Any]]) -> None:
        """The terms of cells that are new: a table whose r-th row has the r-th of them in every column."""
        new: dict[int, list[Any]] = {}
        for j, value in {pair: None for change in changes for pair in change.items() if pair not in self.known}:
            new.setdefault(j, []).append(value)
        step, most = max(1, MOST_CELLS // self.own.size), max(map(len, new.values()), default=0)
        for first in range(0, most, step):
            some = range(first, min(first + step, most))
            rows = [{j: values[r] for j, values in new.items() if r < len(values)} for r in some]
            for row, parts in zip(rows, self.model._log_parts(self.case.copies(rows))[1]):
                self.known.update({(j, value): parts[j] for j, value in row.items()})


def _parted(terms: Floats) -> Floats:
    """(terms, 0 where they are −inf; whether they are): both can be added up and taken off again."""
    out = np.isneginf(terms)
    return np.stack([np.where(out, 0.0, terms), out.astype(np.float64)])
