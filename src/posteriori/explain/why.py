"""`explain`: one row, one answer, its reasons and what would have to be different."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from ..arrays import Floats, Ints
from ..decision.decide import best_action, risk
from ..decision.loss import deciding_loss
from ..errors import BadParameter, ModelError, UnknownColumn, UnknownValue, did_you_mean, listed
from ..explanation import Change, Explanation, Part
from .change import Judge, choices_of, least_changes
from .weigh import Case, log_posterior, said_words, weigh


def explain(
    model: Any,
    row: Any,
    target: Any = None,
    against: Any = None,
    *,
    loss: Any = None,
    reject: float | None = None,
    background: Any = None,
    fixed: Sequence[str] = (),
    changes: int = 3,
) -> Explanation:
    """Why the model answers as it does for one row: see `weigh` for the three ways, `change` for what would turn it.

    Parameters
    ----------
    target, against : classes, by default the most probable and the next
    loss, reject : as in `RiskClassifier`, whose own are taken where the model is one
    background : rows whose values stand in for an attribute of a model that cannot leave one out, and give its range
    fixed : columns that no change may touch
    changes : how many changes to look for at most; 0 looks for none

    >>> from posteriori import NaiveBayes
    >>> model = NaiveBayes().fit({"sky": ["blue", "blue", "grey", "grey"], "wind": ["no", "no", "no", "yes"]}, [1, 1, 0, 0])
    >>> why = explain(model, {"sky": "blue", "wind": "no"})
    >>> [(p.column, round(p.log_odds, 3)) for p in why.parts], str(why.changes[0])
    ([('sky', 1.099), ('wind', 0.405)], 'sky: blue → grey gives 0')
    """
    if type(changes) is not int or changes < 0:
        raise BadParameter(f"changes must be a whole number from 0 up. Got {changes!r:.50} instead.")
    if not hasattr(model, "predict_proba"):
        hint = "; fit it with probability=True" if hasattr(model, "probability") else ""
        raise ModelError(f"{type(model).__name__} has no posterior to explain: it has no predict_proba{hint}")
    if hasattr(model, "_check_fitted"):
        model._check_fitted()
    inner, classes = _inner(model), list(np.asarray(model.classes_).tolist())
    known = deciding_loss(model, loss, reject)
    actions = list((model.actions_ if hasattr(model, "loss_") else known.labels(None)).tolist())
    if len(classes) < 2:
        raise ModelError("a model of one class has nothing to weigh it against")
    case = Case(inner, row)
    logs = log_posterior(inner, case.table)
    order = np.argsort(-logs[0], kind="stable")
    t = int(order[0]) if target is None else _place(classes, target)
    rest = [int(c) for c in order if c != t]
    a = rest[0] if against is None else _place(classes, against)
    if a == t:
        most = ", the most probable class here," if target is None else ""
        others = listed([c for c in classes if c != classes[t]])
        raise BadParameter(
            f"{classes[t]!r}{most} cannot be weighed against itself: give another class, one of {others}"
        )

    posterior = _shares(logs)
    risks = np.asarray(risk(posterior, known, classes=model.classes_))[0]
    decided = int(best_action(posterior, known)[0])

    def decide(found: Floats) -> Ints:
        acts, possible = np.full(len(found), decided), np.isfinite(found.max(axis=1))
        if possible.any():  # a row that no class allows leads nowhere
            acts[possible] = best_action(_shares(found[possible]), known)
        return acts

    way, prior, parts, together = weigh(inner, case, background, t, a)
    held = _places(case, fixed)
    found: tuple[Change, ...] = ()
    if changes and not case.sparse:
        choices = choices_of(inner, case, background, held)
        found = least_changes(Judge(inner, case, decide, decided), choices, parts, int(order[0]), actions, changes)
    words = said_words(inner, case.row, t, a) if way == "sum" else {}
    ranked = np.argsort(-np.abs(parts), kind="stable")
    cells = _cells(case, ranked)
    return Explanation(
        classes[t],
        classes[a],
        way,
        prior,
        tuple(
            Part(case.names[j], case.told(j, cell), float(parts[j]), words.get(j, ()))
            for j, cell in zip(ranked.tolist(), cells)
            if parts[j] or not case.sparse
        ),
        together,
        dict(zip(classes, posterior[0].tolist())),
        dict(zip(actions, risks.tolist())),
        actions[decided],
        found,
    )


def _shares(logs: Floats) -> Floats:
    found = np.exp(logs)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _inner(model: Any) -> Any:
    """The classifier inside a `RiskClassifier` or a frozen one: its reasons are theirs."""
    while True:
        if hasattr(model, "_fitted") and hasattr(model, "loss_"):
            model = model._fitted()
        elif isinstance(model, FrozenEstimator):
            model = model.estimator
        else:
            return model


def _cells(case: Case, order: Ints) -> list[Any]:
    if not case.sparse:
        return [case.cells[j] for j in order]
    dense = np.asarray(case.row.toarray())[0]
    return [dense[j].item() for j in order]


def _place(classes: list[Any], name: Any) -> int:
    known = [c for c in classes if np.ndim(name) == 0 and c == name]
    if not known:
        raise UnknownValue(f"no class {name!r}{did_you_mean(name, classes) or '.'} Classes: {listed(classes)}")
    return classes.index(known[0])


def _places(case: Case, fixed: Sequence[str]) -> list[int]:
    if isinstance(fixed, str) or not isinstance(fixed, Iterable):
        raise BadParameter(f"fixed must be a list of columns' names. Got {fixed!r:.50} instead.")
    fixed = list(fixed)
    for name in fixed:
        if name not in case.names:
            raise UnknownColumn(f"fixed names no column: {name!r}{did_you_mean(name, case.names) or '.'}")
    return [case.names.index(name) for name in fixed]
