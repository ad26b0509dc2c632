"""`compare`: the same folds for all, nothing of a test fold seen in training, failures and skips listed with reasons."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from ..arrays import is_number, is_whole
from ..decision.folds import stratified
from ..decision.loss import priced
from ..errors import BadParameter, listed
from ..table.frame import Table, columns_of, labelled
from .board import Leaderboard, Row
from .lineup import Task, chosen
from .race import Data, Progress, Race, Runner

MANY = 5_000  # rows above which five folds do


def compare(
    X: Any,
    y: Any = None,
    models: Any = None,
    *,
    loss: Any = None,
    reject: float | None = None,
    cv: int | None = None,
    seed: int = 0,
    sample_weight: Any = None,
    kinds: Any = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], Any] | None = None,
) -> Leaderboard:
    """Every model on the same stratified folds: log loss, error, Brier, calibration, cost, times, each ± sd.

    Parameters
    ----------
    X : table
        Whatever a `fit` takes; what `read` gives brings y and the kinds of its columns.
    y : labels, one a row
    models : None, or a list of names and classifiers, or a dict of them
        None is everybody: "baseline" (always the commonest class), "naive", "spode", "tan", "aode", "a2de", "kdb",
        "discriminative", "bayes-tree", "bayes-forest", "boosted", "auto", "network", "gaussian", "mixture", "knn",
        "linear-svc", "svc", and from scikit-learn "logistic", "tree", "bagging", "forest", "adaboost", "boosting",
        "perceptron", "mlp". Those that a table is too large for are skipped, and say so; a model that is named runs.
    loss : None, or what `RiskClassifier` takes
        With costs the board is sorted by what the decisions of least risk really cost on the test rows.
    reject : float, optional
        The price of rejecting a row.
    cv : int, optional
        Folds; 10, or 5 above 5,000 rows. Never more than rows. A class of fewer rows than folds is tested in as many folds
        as it has rows.
    seed : int
        Of the folds and of every model that draws.
    sample_weight : weights of rows, in training and in every score; models that take none are skipped
    kinds : as `NaiveBayes` takes them
    time_limit : seconds, optional
        Models that would not finish are skipped: those that take more than their share in the first fold, or more than is
        left in all. Fits run in a child process (with one thread of OpenMP) that is ended when its time is over, so that
        the limit is kept to a fraction of a second; where there is no fork (Windows) it is looked at between fits.
    progress : function of a `Progress`, called before each fit

    >>> from sklearn.datasets import load_iris
    >>> board = compare(*load_iris(return_X_y=True), models=["baseline", "naive", "gaussian"], cv=5)
    >>> [row.name for row in board]
    ['gaussian', 'naive', 'baseline']
    >>> round(board.best.mean("error"), 2)
    0.03
    """
    X, y = labelled(X, y)
    given = kinds if kinds is not None else X.schema.kinds if isinstance(X, Table) else None
    k, seed = _check(cv, seed, time_limit, progress)
    data = Data.open(columns_of(X), y, given, sample_weight)
    k = min(k or (10 if data.n <= MANY else 5), data.n)
    cost = None if loss is None and reject is None else priced(loss, reject, data.labels)
    fold = stratified(data.codes, k, seed)
    task = Task(data.n - data.n // k, data.kinds, data.names, len(data.labels), seed)
    running, out = chosen(models, task)
    race = Race(data, fold, k, cost, [Runner(entry, model) for entry, model in running], time_limit, progress)
    race.run()
    cut = [] if race.done == k else [f"the time was over: the scores are those of the first {race.done} of {k} folds"]
    by = "log_loss" if cost is None else "cost"
    skipped = [Row(e.name, e.says, None, "skipped", why, ours=e.ours) for e, why in out]
    rows = sorted((runner.row(race.done, data, fold) for runner in race.runners), key=lambda row: _order(row, by))
    where = data.whole(fold, -1), data.whole(data.codes, -1)
    notes = (*_notes(data, k), *cut)
    return Leaderboard((*rows, *skipped), by, race.done, data.n, tuple(data.labels.tolist()), notes, *where)


def _check(cv: Any, seed: Any, time_limit: Any, progress: Any) -> tuple[int | None, int]:
    whole = isinstance(cv, Integral) and not isinstance(cv, bool)
    if cv is not None and not (whole and int(cv) >= 2):
        raise BadParameter(f"cv is a number of folds from 2 up. Got {cv!r} instead.")
    if not is_whole(seed, 0, 2**32 - 1):
        raise BadParameter(f"seed is a whole number from 0 up to 2**32 - 1. Got {seed!r} instead.")
    if time_limit is not None and not is_number(time_limit, 0):
        raise BadParameter(f"time_limit is a number of seconds from 0 up, or None. Got {time_limit!r} instead.")
    if progress is not None and not callable(progress):
        raise BadParameter(f"progress is a function of a Progress, or None. Got {progress!r} instead.")
    return None if cv is None else int(cv), int(seed)


def _order(row: Row, by: str) -> tuple[bool, bool, float]:
    """The best first; of equals the one that runs first, which is the simpler."""
    score = row.mean(by)
    return row.status != "finished", np.isnan(score), score if not np.isnan(score) else row.mean("error")


def _notes(data: Data, k: int) -> tuple[str, ...]:
    count = np.bincount(data.codes)
    alone = [str(label) for label, c in zip(data.labels.tolist(), count) if c == 1]
    few = [str(label) for label, c in zip(data.labels.tolist(), count) if 1 < c < k]
    notes = []
    if alone:
        notes.append(
            f"one row only: class {listed(alone, most=5)}; where it is tested no model has seen the class, and it counts "
            "36.04 nats for all"
        )
    if few:
        notes.append(f"fewer rows than the {k} folds: class {listed(few, most=5)}; some folds test none of them")
    return tuple(notes)
