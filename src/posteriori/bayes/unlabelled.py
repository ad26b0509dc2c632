"""What a row without a label weighs, where that is to be chosen: as much as labels are foretold better for it.

Where the model is right, rows without a label tell a lot; where it is wrong, as naive Bayes is on most tables, they outvote
the few labels and are sure of it. The labels say which (Nigam, McCallum, Thrun and Mitchell, 2000): they are dealt into
folds, each is foretold while it is hidden among the unlabelled, and the weight is taken whose log loss is lowest: by half
a standard error of the paired differences below that of the labels alone, and below that of a guess, ln K. Few labels, all
of them foretold, do not show what an error would cost, which is what a model that is too sure pays: so half a label counts
too that is foretold wrongly, as surely as the others are foretold.

Rows that are alike are left out together, so that a row of weight two is the row twice. A class whose labelled rows are
all alike cannot be foretold without them: then the labels stay alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..em import ascend, close_by
from ..errors import ModelError
from ..kernels.naive import normalise
from ..table.rows import Rows
from .hidden import HiddenClass

TIMES = (
    0.3,
    1.0,
    3.0,
    10.0,
    np.inf,
)  # what all rows without a label weigh, in rows with one; a single row weighs at most one
FOLDS = 5
MOST = 1_000  # rows of either sort that are asked
TURNS, TOL = 20, 1e-4  # of a climb, and what a turn gains a row
ERRORS = 0.5  # standard errors by which a weight has to be better
WRONG = 0.5  # labels that are foretold wrongly
DIGITS = 8  # in which rows that are alike are so, whatever order they were summed in
WORST = 35.0  # nats: a label that was ruled out


def choose_weight(model: Any, rows: Rows) -> float:
    """The weight of rows without a label, from 0 to 1, for rows that weigh one each."""
    assert rows.hidden is not None
    model._settled(rows, np.flatnonzero(~rows.hidden))  # which refuses what cannot be learned so
    rows, share, groups = _some(model, rows)
    assert rows.hidden is not None
    assert rows.weights is not None
    known = np.flatnonzero(~rows.hidden)
    fold = _dealt(rows.codes[known], groups)
    if fold is None or len(rows.schema.classes) < 2:
        return 0.0
    own = np.append(rows.weights[known], WRONG)
    alone = _losses(model, rows, known, fold, 0.0)
    heavy = own[:-1].sum() / rows.weights[rows.hidden].sum()
    best, gain = 0.0, 0.0
    for weight in sorted({min(times * heavy, share) for times in TIMES}):
        try:
            losses = _losses(model, rows, known, fold, weight)
        except ModelError:  # the labels rule some rows out: no climb begins there
            continue
        better = alone - losses
        mean = (own * better).sum() / own.sum()
        error = np.sqrt((own * (better - mean) ** 2).sum()) / own.sum()
        guess = np.log(len(rows.schema.classes))
        if mean - ERRORS * error > gain and (own * losses)[:-1].sum() < guess * own[:-1].sum():
            best, gain = weight / share, mean - ERRORS * error
    return float(best)


def _some(model: Any, rows: Rows) -> tuple[Rows, float, Floats]:
    """(at most MOST rows of either sort, what one without a label may weigh, ln P(x) of those with one).

    Rows stand in the order of ln P(x) under the labels alone, and are taken evenly from it: the table's says nothing.
    """
    assert rows.hidden is not None
    every = model._of_known(rows, np.flatnonzero(~rows.hidden))
    evidence = np.round(normalise(every._log_joint(rows.frame))[1], DIGITS)
    order = np.argsort(evidence, kind="stable")
    parts = [_evenly(order[~rows.hidden[order]]), _evenly(order[rows.hidden[order]])]
    some = np.concatenate(parts)
    weights = np.ones(len(order)) if rows.weights is None else rows.weights
    whole = np.count_nonzero(~rows.hidden), np.count_nonzero(rows.hidden)
    share = (whole[1] / len(parts[1])) / (whole[0] / len(parts[0]))
    taken = replace(
        rows,
        frame=rows.frame.take_rows(some),
        codes=rows.codes[some],
        weights=weights[some],
        hidden=rows.hidden[some],
    )
    return taken, share, evidence[parts[0]]


def _evenly(rows: Ints) -> Ints:
    return rows if len(rows) <= MOST else rows[np.linspace(0, len(rows) - 1, MOST).astype(np.int64)]


def _dealt(codes: Any, evidence: Floats) -> Ints | None:
    """The fold of each label, the different rows of a class in turn; None where a class has but one such row."""
    fold = np.empty(len(codes), np.int64)
    for c in np.unique(codes):
        different, rank = np.unique(evidence[codes == c], return_inverse=True)
        if len(different) < 2:
            return None
        fold[codes == c] = rank % FOLDS
    return fold


def _losses(model: Any, rows: Rows, known: Ints, fold: Ints, weight: float) -> Floats:
    """−ln P(y|x) of every label, foretold without those of its fold, and of one that is foretold wrongly."""
    out, wrong = np.empty(len(known)), np.empty(len(known))
    for f in np.unique(fold):
        at, mine = known[fold == f], fold == f
        posterior = normalise(_foretold(model, rows, at, weight))[0]
        others = (1 - posterior.max(axis=1)) / (posterior.shape[1] - 1)
        with np.errstate(divide="ignore"):
            out[mine], wrong[mine] = -np.log(posterior[np.arange(len(at)), rows.codes[at]]), -np.log(others)
    found = np.append(out, np.minimum(wrong, WORST).mean())
    return np.asarray(np.minimum(np.nan_to_num(found, nan=WORST), WORST))


def _foretold(model: Any, rows: Rows, at: Ints, weight: float) -> Floats:
    """log P(y, x) of some rows, learned with their labels hidden."""
    assert rows.hidden is not None
    assert rows.weights is not None
    hidden = rows.hidden.copy()
    hidden[at] = True
    if weight == 0:
        alone = model._of_known(rows, np.flatnonzero(~hidden))
        log_joint: Floats = alone._log_joint(rows.frame.take_rows(at))
        return log_joint
    weights = np.where(hidden, weight, 1.0) * rows.weights
    data = HiddenClass(model, replace(rows, hidden=hidden, weights=weights, hidden_weight=weight))
    close = close_by(TOL * data.weight)
    found = ascend(data.starts(1, 0), data.expect, data.maximise, max_iter=TURNS, close=close, climbs=data.climbs)
    if found.interrupted:
        raise KeyboardInterrupt
    learned = found.parameters
    scored: Floats = learned._scored(learned._taken(data.data, at))
    return scored
