"""Conditional risk, the decision of least risk, and the risk that is left.

Symbols: x row, y class, a action, P(y|x) posterior, λ[a, y] loss, R(a|x) conditional risk, h* the Bayes optimal classifier.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..errors import BadValue, LossError, listed
from ..table.labels import match_labels
from .labels import distinct_labels, in_class_order
from .loss import Loss, as_loss


def risk(posterior: Any, loss: Any = None, *, classes: Any = None) -> Floats:
    """R(a|x) = Σ_y λ[a, y] P(y|x): what each action is expected to cost, one column an action.

    Parameters
    ----------
    posterior : array or DataFrame of shape (rows, classes), or one row of it
        P(y|x); each row sums to one. The columns of a DataFrame say which class they are.
    loss : None (zero-one), `Loss`, matrix of actions × truth, costs by class, labelled table or CSV file
    classes : labels of the posterior's columns, optional
        A model's `classes_`. Needed where the loss names its classes in another order than a model would.

    >>> risk([0.7, 0.3], [[0, 1], [10, 0]])
    array([0.3, 7. ])
    """
    rows, loss = _meet(posterior, loss, classes)
    return np.asarray(rows @ loss.matrix.T)


def decide(posterior: Any, loss: Any = None, *, classes: Any = None, reject_label: Any = None) -> Any:
    """h*(x) = argmin_a R(a|x); ties go to the first action. Labels where they are known, else the row of the action.

    Under zero-one loss this is exactly argmax_y P(y|x). A rejected row gets `reject_label` ("reject" among text labels, −1
    among numbers). One row gives one label. Parameters as in `risk`.

    >>> decide([[0.7, 0.3], [0.95, 0.05]], Loss.per_class({"ham": 1, "spam": 10}))
    array(['spam', 'ham'], dtype='<U4')
    >>> decide([[0.7, 0.3], [0.95, 0.05]], Loss.zero_one(2).with_reject(0.1))
    array([-1,  0])
    """
    rows, loss = _meet(posterior, loss, classes)
    labels, best = loss.labels(reject_label), best_action(rows, loss)
    return labels[best] if rows.ndim == 2 else labels.tolist()[int(best)]


def bayes_risk(posterior: Any, loss: Any = None, *, classes: Any = None, sample_weight: Any = None) -> float:
    """R(h*) ≈ mean_x min_a R(a|x): the risk that the best decision leaves, as the posterior itself estimates it.

    Under zero-one loss 1 − R(h*) estimates the best accuracy that any classifier can reach on such rows, as far as the
    posterior is right: calibrate it on rows that were not trained on before you believe the figure.

    >>> bayes_risk([[0.9, 0.1], [0.5, 0.5]])
    0.3
    """
    least = np.atleast_2d(risk(posterior, loss, classes=classes)).min(axis=1)
    return _mean(least, sample_weight)


def mean_loss(
    y_true: Any,
    y_pred: Any,
    loss: Any = None,
    *,
    classes: Any = None,
    reject_label: Any = None,
    sample_weight: Any = None,
) -> float:
    """(1/n) Σ_i λ[a_i, y_i]: the loss that decisions `y_pred` really had; under zero-one loss the error rate.

    The loss must name its classes, or `classes` must.

    >>> mean_loss(["ham", "spam"], ["spam", "spam"], Loss.per_class({"ham": 10, "spam": 1}))
    5.0
    """
    if loss is None and classes is None:
        classes = np.unique(np.concatenate([np.asarray(y_true), np.asarray(y_pred)]))
    known = as_loss(loss, 0 if classes is None else classes)
    if classes is not None:
        known = known.over(classes)
    if known.classes is None:
        raise LossError("a loss without labels does not say which class a column is: pass classes=model.classes_")
    truth = match_labels(y_true, known.classes, "y_true")
    action = match_labels(y_pred, known.labels(reject_label), "y_pred")
    if len(truth) != len(action):
        raise BadValue(f"y_true has {len(truth)} rows, y_pred {len(action)}")
    return _mean(known.matrix[action, truth], sample_weight)


def loss_scorer(loss: Any, *, classes: Any = None, reject_label: Any = None) -> Any:
    """A scorer for GridSearchCV and cross_val_score: minus the mean loss of what `predict` says, for any classifier.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> scorer = loss_scorer(Loss.per_class({0: 1, 1: 2, 2: 6}))
    >>> scorer(DummyClassifier(strategy="constant", constant=0).fit([[0]], [0]), [[0], [0]], [1, 2])
    -4.0
    """
    from sklearn.metrics import make_scorer

    return make_scorer(mean_loss, greater_is_better=False, loss=loss, classes=classes, reject_label=reject_label)


def best_action(posterior: Floats, loss: Loss) -> Ints:
    """The row of the least conditional risk.

    A constant added to a column of the loss changes no decision, so each column is counted from its largest entry: zero-one
    loss becomes −1 on the diagonal and 0 elsewhere, no sum is rounded, and argmin is argmax of the posterior to the bit.
    """
    worst = loss.without_reject().matrix.max(axis=0)
    return np.asarray((posterior @ (loss.matrix - worst).T).argmin(axis=-1))


def _meet(posterior: Any, loss: Any, classes: Any) -> tuple[Floats, Loss]:
    """The border: a posterior that is one, and a loss whose columns are the posterior's."""
    if classes is None and hasattr(posterior, "columns"):
        classes = list(posterior.columns)
    rows = _checked(posterior)
    k = rows.shape[-1]
    if classes is not None:
        labels = distinct_labels(classes, "classes")
        if len(labels) != k:
            raise BadValue(
                f"the posterior has {k} columns, but there are {len(labels)} classes: {listed(labels.tolist())}"
            )
        return rows, as_loss(loss, labels).over(labels)
    known = as_loss(loss, k)
    if known.matrix.shape[1] != k:
        raise LossError(
            f"the posterior has {k} classes, the loss {known.matrix.shape[1]} (actions in rows, truth in columns)"
        )
    if known.classes is not None and not in_class_order(known.classes):
        raise LossError(
            f"the loss names its classes {listed(known.classes.tolist())}, and the posterior does not say in which order "
            "its columns are: pass classes=model.classes_"
        )
    return rows, known


def _checked(posterior: Any) -> Floats:
    try:
        rows = np.asarray(posterior, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadValue("a posterior holds numbers, one column for each class") from None
    if rows.ndim not in (1, 2) or rows.shape[-1] == 0:
        raise BadValue(f"a posterior has one row for each x and one column for each class; got the shape {rows.shape}")
    table = np.atleast_2d(rows)
    sums = table.sum(axis=1)
    wrong = ~(np.abs(sums - 1) <= 1e-3) | (table < 0).any(axis=1)  # a NaN makes its row's sum NaN, which is wrong too
    if wrong.any():
        i = int(wrong.argmax())
        raise BadValue(
            f"row {i} of the posterior is no distribution over the classes (sum {sums[i]:g}): {table[i].tolist()}"
        )
    return rows


def _mean(values: Floats, sample_weight: Any) -> float:
    if not len(values):
        raise BadValue("the mean risk of no rows is not defined")
    return float(np.average(values, weights=sample_weight))
