"""What rejection buys: risk against coverage, the price that gives a wanted coverage or risk; what one class costs.

Symbols: r(x) = min_a R(a|x) the risk of the best action; at price c a row is rejected where r(x) > c (Chow's rule).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import BadValue, LossError, ModelError
from ..table.labels import match_labels, number
from ..table.weights import weights_or_ones
from .decide import best_action, meet, meet_truth, places_of


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
