"""Who takes part: the spectrum, kNN and SVM, and what users would pick instead from scikit-learn.

Models of the library read the table as it is; those that need points get them by `OnPoints`, inside the fold. A model
without a posterior gets one by a sigmoid over its margins, fitted on three inner folds of the training rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..decision.on_points import Calibrated, OnPoints
from ..errors import BadParameter, did_you_mean, listed
from ..models import Model, on_boards
from ..table.schema import MEASURED


@dataclass(frozen=True)
class Task:
    """What the table is: training rows n of a fold, columns d with their kinds, classes K; and the seed."""

    n: int
    kinds: tuple[str, ...]
    names: tuple[Any, ...]
    classes: int
    seed: int

    @property
    def d(self) -> int:
        """Columns."""
        return len(self.kinds)

    @property
    def numbers(self) -> int:
        """Columns of numbers."""
        return sum(kind in MEASURED for kind in self.kinds)

    @property
    def categories(self) -> int:
        """Columns of a few values."""
        return sum(kind in ("categorical", "binary") for kind in self.kinds)

    @property
    def told(self) -> dict[Any, str]:
        """The kinds by column, as models take them: kinds alone, so that no model knows a value before its rows have it."""
        return dict(zip(self.names, self.kinds))


@dataclass(frozen=True)
class Entry:
    """A model that may take part: how it is made, and why it is left out of a table like this ("" if it is not)."""

    name: str
    says: str
    make: Callable[[Task], Any]
    barred: Callable[[Task], str] = lambda task: ""
    ours: bool = True


SVM_ROWS, KNN_CELLS, CELLS, MANY_COLUMNS = 20_000, 2e9, 2e8, 2000


def lineup() -> dict[str, Entry]:
    """Every model by name, the quick ones first."""
    return {
        name: Entry(name, row.says, partial(made, row), partial(barred, row.limits), row.ours)
        for name, row in on_boards().items()
    }


def made(row: Model, task: Task) -> Any:
    """The model of a row for a task: what is given, the kinds and the seed where it takes them, points and a posterior."""
    kind = row.load()
    usual = {"kinds": task.told, "random_state": task.seed}
    given = row.given(task) if callable(row.given) else row.given
    model = kind(**{k: v for k, v in usual.items() if k in inspect.signature(kind).parameters}, **given)
    if not hasattr(model, "predict_proba"):
        model = Calibrated(model, seed=task.seed)
    return points(task, model, row.points) if row.points else model


def chosen(models: Any, task: Task) -> tuple[list[tuple[Entry, Any]], list[tuple[Entry, str]]]:
    """(who runs, as entries with unfitted models; who is left out and why).

    None is everybody that such a table allows; a name runs whatever it takes; a dict or a list may hold estimators.
    """
    known = lineup()
    if models is None:
        out = [(entry, why) for entry in known.values() if (why := entry.barred(task))]
        gone = {entry.name for entry, _ in out}
        return [(entry, entry.make(task)) for entry in known.values() if entry.name not in gone], out
    if isinstance(models, str) or not hasattr(models, "__iter__"):
        models = [models]
    named = list(models.items()) if hasattr(models, "items") else [(None, model) for model in models]
    found: list[tuple[Entry, Any]] = []
    for name, model in named:
        if isinstance(model, str):
            if model not in known:
                hint = did_you_mean(model, known) or "."
                raise BadParameter(f"no model {model!r}{hint} Models: {listed(known, most=30)}")
            entry, made = known[model], known[model].make(task)
        elif hasattr(model, "fit") and (hasattr(model, "predict_proba") or hasattr(model, "predict")):
            entry = Entry(type(model).__name__, type(model).__name__, lambda _: None, ours=is_ours(model))
            made = model
        else:
            raise BadParameter(f"models are names or classifiers with fit and predict_proba. Got {model!r} instead.")
        label = str(name) if name is not None else entry.name
        taken = {other.name for other, _ in found}
        if name is not None or label in taken:
            label = next(
                f"{label}{i}" for i in ("", *(f" ({n})" for n in range(2, 10**6))) if f"{label}{i}" not in taken
            )
            entry = Entry(label, entry.says, entry.make, ours=entry.ours)
        found.append((entry, made))
    if not found:
        raise BadParameter("models is empty: there is nothing to compare")
    return found, []


def is_ours(model: Any) -> bool:
    """Whether a model is the library's own, no subclass of it."""
    return type(model).__module__.split(".")[0] == __name__.split(".")[0]


def points(task: Task, model: Any, view: str = "one-hot") -> Any:
    """The model for any table."""
    return OnPoints(model, kinds=task.told, view=view)


def barred(limits: tuple[str, ...], task: Task) -> str:
    """The first of the limits that a table is beyond, in words."""
    return next((why for limit in limits if (why := LIMITS[limit](task))), "")


def _numbers(task: Task) -> str:
    others = [str(name) for name, kind in task.told.items() if kind not in MEASURED]
    if others:
        return f"needs numbers in every column; {len(others)} of {task.d} are none ({listed(others, most=2)})"
    if task.n <= task.d * task.classes:
        return f"a covariance of {task.d} columns needs more rows than {task.n // task.classes} a class"
    return f"{task.d} columns make a covariance too large" if task.d > 500 else ""


def _text(task: Task) -> str:
    words = [str(name) for name, kind in task.told.items() if kind == "text"]
    return f"takes no text ({listed(words, most=2)})" if words else ""


def _near(task: Task) -> str:
    slow = task.n * task.n * task.d > KNN_CELLS
    return (
        f"compares each of {task.n:,} rows with all others in {task.d} columns: takes time like rows²" if slow else ""
    )


def _cells(task: Task) -> str:
    cells = task.n * task.d
    return f"{cells:,} cells to encode: left out above {int(CELLS):,}" if cells > CELLS else ""


def _more(columns: int, say: Callable[[int], str]) -> Callable[[Task], str]:
    """What is said of tables with more columns than that."""
    return lambda task: say(task.d) if task.d > columns else ""


def _squared(task: Task) -> str:
    over = f"takes time like rows²: left out above {SVM_ROWS:,} training rows (here {task.n:,})"
    return over if task.n > SVM_ROWS else ""


LIMITS: dict[str, Callable[[Task], str]] = {
    "cells": _cells,
    "text": _text,
    "numbers": _numbers,
    "pairs": _more(500, lambda d: f"{d} columns make {d * (d - 1) // 2:,} pairs"),
    "triples": _more(60, lambda d: f"{d} columns make too many triples"),
    "search": _more(100, lambda d: f"the search over {d} columns is long"),
    "rounds": _more(MANY_COLUMNS, lambda d: f"every round looks at all {d:,} columns: left out above {MANY_COLUMNS:,}"),
    "near": _near,
    "squared": _squared,
}
