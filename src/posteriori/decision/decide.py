"""Conditional risk, the decision of least risk, and the risk that is left.

Symbols: x row, y class, a action, P(y|x) posterior, λ[a, y] loss, R(a|x) conditional risk, h* the Bayes optimal classifier.

What rejection buys: risk against coverage, the price that gives a wanted coverage or risk; what one class costs.

Symbols: r(x) = min_a R(a|x) the risk of the best action; at price c a row is rejected where r(x) > c (Chow's rule).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, Bools, Floats, Ints
from ..budget import refuse_answer
from ..errors import BadValue, LossError, ModelError, listed
from ..table.labels import match_labels, number
from ..table.weights import check_weights, weights_or_ones
from .loss import Loss, as_loss, distinct_labels, in_class_order, united


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
    rows, loss = meet(posterior, loss, classes)
    refuse_answer(len(np.atleast_2d(rows)), len(loss.matrix), 1, "actions")
    return np.asarray(rows @ loss.matrix.T)


def decide(posterior: Any, loss: Any = None, *, classes: Any = None, reject_label: Any = None) -> Any:
    """h*(x) = argmin_a R(a|x); ties go to the first action. Labels where they are known, else the row of the action.

    Risks that differ by no more than 4 units in the last place are a tie, so that a row is decided alike in any batch and a
    row that costs as much as the price of rejecting is not rejected. Under zero-one loss this is exactly argmax_y P(y|x). A
    rejected row gets `reject_label` ("reject" among text labels, −1 among numbers). One row gives one label. Parameters as
    in `risk`.

    >>> decide([[0.7, 0.3], [0.95, 0.05]], Loss.per_class({"ham": 1, "spam": 10}))
    array(['spam', 'ham'], dtype='<U4')
    >>> decide([[0.7, 0.3], [0.95, 0.05]], Loss.zero_one(2).with_reject(0.1))
    array([-1,  0])
    """
    rows, loss = meet(posterior, loss, classes)
    labels, best = loss.labels(reject_label), best_action(rows, loss)
    return labels[best] if rows.ndim == 2 else labels.tolist()[int(best[0])]


def bayes_risk(posterior: Any, loss: Any = None, *, classes: Any = None, sample_weight: Any = None) -> float:
    """R(h*) ≈ mean_x min_a R(a|x): the risk that the best decision leaves, as the posterior itself estimates it.

    Under zero-one loss 1 − R(h*) estimates the best accuracy that any classifier can reach on such rows, as far as the
    posterior is right: calibrate it on rows that were not trained on before you believe the figure.

    >>> bayes_risk([[0.9, 0.1], [0.5, 0.5]])
    0.3
    """
    rows, loss = meet(posterior, loss, classes)
    least = [(part @ loss.matrix.T).min(axis=1) for part in _parts(np.atleast_2d(rows), loss)]
    return _mean(np.concatenate(least), sample_weight)


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
        classes = united(y_true, y_pred)
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


BLOCK = 4096  # rows that are weighed again at a time, so that they stay in the cache
RISKS = 1 << 24  # numbers, rows × actions, that are there at a time
TIE = 4.0  # units in the last place by which equal risks may differ


def best_action(posterior: Floats, loss: Loss) -> Ints:
    """The row of the least conditional risk, for each row of the posterior; the first of equals.

    Where one action is clearly best the product says so. Rows that are near a tie are weighed again in twice the precision,
    cell by cell, so that their decision depends neither on rounding nor on the rows beside them.
    """
    rows = np.atleast_2d(posterior)
    return np.concatenate([_best_of(part, loss) for part in _parts(rows, loss)])


def _parts(rows: Floats, loss: Loss) -> list[Floats]:
    """The rows in parts whose risks take little memory."""
    step = max(RISKS // len(loss.matrix), 1)
    return [rows[begin : begin + step] for begin in range(0, max(len(rows), 1), step)]


def _best_of(rows: Floats, loss: Loss) -> Ints:
    table = loss.matrix
    risks = rows @ table.T
    best: Ints = risks.argmin(axis=1)
    rounding = 4 * (table.shape[1] + TIE) * np.finfo(float).eps * np.abs(table).max()
    near = np.flatnonzero((risks <= risks.min(axis=1, keepdims=True) + rounding).sum(axis=1) > 1)
    zero_one = _is_zero_one(loss)  # nothing is rounded: the order of the risks is that of the posterior, to the bit
    if zero_one:
        best[near] = rows[near].argmax(axis=1)
    if loss.reject or not zero_one:
        for part in np.split(near, range(BLOCK, len(near), BLOCK)):
            first, equal = _first_of_equals(rows[part], table)
            own = best[part] if zero_one else first
            best[part] = np.where(np.take_along_axis(equal, own[:, None], axis=1)[:, 0], own, first)
    return best


def _first_of_equals(rows: Floats, table: Floats) -> tuple[Ints, Bools]:
    """(the first action whose risk is the least, all of them), up to `TIE` units in the last place of the terms."""
    high, low, size = exact_risks(rows, table)
    above = (high - high.min(axis=1, keepdims=True)) + low
    least = above.argmin(axis=1)[:, None]
    unit = np.spacing(np.maximum(size, np.take_along_axis(size, least, axis=1)))
    equal = above - np.take_along_axis(above, least, axis=1) <= TIE * unit
    return equal.argmax(axis=1), equal


def exact_risks(rows: Floats, table: Floats) -> tuple[Floats, Floats, Floats]:
    """(high, low, size): R = high + low = Σ_y λ[a, y] P(y|x) in twice the precision, and Σ_y |λ[a, y]| P(y|x).

    Each product and each sum is kept with its rounding error (Dekker, Knuth), row by row and cell by cell.
    """
    high, low, size = (np.zeros((len(rows), len(table))) for _ in range(3))
    for p, loss in zip(rows.T[:, :, None], table.T[:, None, :]):
        product = p * loss
        p_high, loss_high = _half(p), _half(loss)
        p_low, loss_low = p - p_high, loss - loss_high
        error = p_low * loss_low - (((product - p_high * loss_high) - p_low * loss_high) - p_high * loss_low)
        total = high + product
        back = total - high
        low += ((high - (total - back)) + (product - back)) + error
        high = total
        size += np.abs(product)
    total = high + low
    return total, low - (total - high), size


def _half(x: Floats) -> Floats:
    """The upper half of the digits; a power of two keeps the largest losses from overflowing."""
    scaled = x * 2.0**-30
    split = scaled * 134217729.0  # 2²⁷ + 1
    return np.asarray((split - (split - scaled)) * 2.0**30)


def _is_zero_one(loss: Loss) -> bool:
    """Whether every mistake costs the same, and the classes are the actions, in order."""
    table = loss.without_reject().matrix
    same = table.shape[0] == table.shape[1] and bool((table == table[0, -1] * (1 - np.eye(len(table)))).all())
    return same and table[0, -1] > 0


def meet(posterior: Any, loss: Any, classes: Any) -> tuple[Floats, Loss]:
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


def meet_truth(posterior: Any, y: Any, classes: Any, what: str) -> tuple[Floats, Ints, Array]:
    """The border where rows are judged: (their posterior, the place of each true class, the labels)."""
    rows, known = meet(posterior, None, classes)
    if rows.ndim != 2 or not len(rows):
        raise BadValue(f"{what} needs rows; got a posterior of shape {rows.shape}")
    labels = known.classes if known.classes is not None else np.arange(rows.shape[1])
    return rows, places_of(y, labels, len(rows)), labels


def places_of(y: Any, labels: Array, n: int) -> Ints:
    """The place of each true class among the labels, of as many rows as there are posteriors."""
    truth = match_labels(y, labels, "y")
    if len(truth) != n:
        raise BadValue(f"y has {len(truth)} rows, the posterior {n}")
    return truth


def _checked(posterior: Any) -> Floats:
    try:
        rows = np.asarray(posterior, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadValue("a posterior holds numbers, one column for each class") from None
    if rows.ndim not in (1, 2) or rows.shape[-1] == 0:
        raise BadValue(f"a posterior has one row for each x and one column for each class; got the shape {rows.shape}")
    table = np.atleast_2d(rows)
    sums = table.sum(axis=1)
    wrong = ~(np.abs(sums - 1) <= 1e-3) | (table.min(axis=1) < 0)  # a NaN makes its row's sum NaN, which is wrong too
    if wrong.any():
        i = int(wrong.argmax())
        raise BadValue(
            f"row {i} of the posterior is no distribution over the classes (sum {sums[i]:g}): {table[i].tolist()}"
        )
    return rows


def _mean(values: Floats, sample_weight: Any) -> float:
    if not len(values):
        raise BadValue("the mean risk of no rows is not defined")
    return float(
        np.average(values, weights=None if sample_weight is None else check_weights(sample_weight, len(values)))
    )


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """Three arrays of one length, from the most careful price to the one that rejects nothing.

    At `price[k]` the rows with r(x) ≤ price[k] are decided: the share `coverage[k]`, at the mean loss `risk[k]`.
    """

    price: Floats
    coverage: Floats
    risk: Floats

    @property
    def area(self) -> float:
        """The mean of the risk over all coverages (AURC): small where the surest rows are the right ones."""
        return float(np.diff(self.coverage, prepend=0.0) @ self.risk)


def risk_coverage(
    posterior: Any, loss: Any = None, y: Any = None, *, classes: Any = None, sample_weight: Any = None
) -> RiskCoverage:
    """coverage(c) = share of rows with r(x) ≤ c; risk(c) = their mean loss, for every price c that matters.

    Without `y` the loss is the one the posterior expects, mean r(x), which never falls as coverage grows. With the true
    classes `y` it is the realised loss λ[decided, y]. A reject row of the loss is left out. A row of weight w is w rows.

    >>> curve = risk_coverage([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> curve.coverage.round(2), curve.risk.round(2)
    (array([0.33, 0.67, 1.  ]), array([0.1 , 0.15, 0.23]))
    """
    rows, known = meet(posterior, loss, classes)
    if rows.ndim != 2 or not len(rows):
        raise BadValue(f"a risk-coverage curve needs rows; got a posterior of shape {rows.shape}")
    known = known.without_reject()
    least = (rows @ known.matrix.T).min(axis=1)
    paid = least
    if y is not None:
        labels = known.classes if known.classes is not None else np.arange(rows.shape[1])
        truth = places_of(y, labels, len(rows))
        paid = known.matrix[best_action(rows, known), truth]
    order = np.argsort(least, kind="stable")
    weight = weights_or_ones(sample_weight, len(rows))[order]
    order, weight = order[weight > 0], weight[weight > 0]
    least, total, mass = least[order], np.cumsum(weight * paid[order]), np.cumsum(weight)
    last = np.append(np.diff(least) > _blur(least), True)  # rows of equal risk are decided or rejected together
    return RiskCoverage(least[last], mass[last] / mass[-1], total[last] / mass[last])


def reject_price(
    posterior: Any,
    loss: Any = None,
    y: Any = None,
    *,
    coverage: float | None = None,
    risk: float | None = None,
    classes: Any = None,
) -> float:
    """The price for `with_reject` that decides at least the share `coverage`, or as much as keeps the mean loss ≤ `risk`.

    Under zero-one loss `risk` is the error rate among the decided rows; with `y` it is the realised one. Use rows that the
    model was not trained on. The price lies midway between the last row decided and the first rejected.

    >>> posterior = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]
    >>> round(reject_price(posterior, coverage=0.5), 3), round(reject_price(posterior, risk=0.1), 3)
    (0.3, 0.15)
    """
    curve = risk_coverage(posterior, loss, y, classes=classes)
    if (coverage is None) == (risk is None):
        raise LossError("say what is wanted: one of coverage= and risk=")
    at = _covering(curve, coverage) if coverage is not None else _within(curve, risk)
    here = curve.price[at]
    beyond = curve.price[at + 1] if at + 1 < len(curve.price) else here + 2 * _blur(curve.price)
    return float((here + beyond) / 2)


@dataclass(frozen=True, eq=False)
class CostCurve:
    """Mean costs where a false alarm costs `share` and a miss 1 − `share`: of deciding by the posterior, always, never."""

    share: Floats
    cost: Floats
    always: Floats
    never: Floats


def cost_curve(
    posterior: Any, y: Any, target: Any, *, classes: Any = None, points: int = 101, sample_weight: Any = None
) -> CostCurve:
    """cost(c) = c P(said, not so) + (1 − c) P(so, not said), where the class is said if P(target|x) ≥ c: the least risk.

    Over all c the mean cost is half the Brier score of the class, ½ mean (P(target|x) − [y = target])².

    >>> curve = cost_curve([[0.8, 0.2], [0.3, 0.7]], [0, 1], 1, points=3)
    >>> curve.share.tolist(), curve.cost.tolist()
    ([0.0, 0.5, 1.0], [0.0, 0.0, 0.0])
    """
    rows, truth, labels = meet_truth(posterior, y, classes, "a cost curve")
    at = int(match_labels([target], labels, "target")[0])
    weight = weights_or_ones(sample_weight, len(rows))
    order = np.argsort(rows[:, at], kind="stable")
    p, so, weight = rows[order, at], (truth == at)[order], weight[order] / weight.sum()
    share = np.linspace(0.0, 1.0, points)
    below = np.searchsorted(p, share, side="left")  # rows that are not said
    alarms, found = (np.concatenate([[0.0], np.cumsum(weight * s)]) for s in (~so, so))
    false_alarm, missed = alarms[-1] - alarms[below], found[below]
    common = float(found[-1])
    return CostCurve(share, share * false_alarm + (1 - share) * missed, share * (1 - common), (1 - share) * common)


def _covering(curve: RiskCoverage, coverage: float) -> int:
    """The first point that decides the wanted share of the rows."""
    share = number(coverage)
    if share is None or not 0 < share <= 1:
        raise LossError(f"a wanted coverage is a share of the rows in (0, 1]; got {coverage!r}")
    return int(np.searchsorted(curve.coverage, share - 1e-12))  # 0.7 of 10 rows is 7 rows, however it is rounded


def _within(curve: RiskCoverage, wanted: Any) -> int:
    """The last point whose mean loss is no more than wanted."""
    risk = number(wanted)
    if risk is None or not np.isfinite(risk):
        raise LossError(f"a wanted risk is a finite number; got {wanted!r}")
    reached = np.flatnonzero(curve.risk <= risk)
    if not len(reached):
        raise ModelError(
            f"no price reaches a mean loss of {risk:g}: the least on these rows is {curve.risk.min():g}, "
            f"at coverage {curve.coverage[curve.risk.argmin()]:.3g}"
        )
    return int(reached[-1])


def _blur(values: Floats) -> float:
    """Risks nearer than this are equal: they differ by rounding."""
    return 1e-12 * max(1.0, float(np.abs(values).max()))
