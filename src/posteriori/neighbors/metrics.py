"""Distances as a change of coordinates, so that one search serves many metrics.

Symbols: d columns, w weights (d,), V covariance, VI its inverse = L Lᵀ; s_j the range and σ_j the standard deviation of
numeric column j, a a value of categorical column j.

Weighted L_p:  Σ_j w_j|x_j − z_j|^p is L_p of w^(1/p)·x.  Mahalanobis:  (x−z)ᵀVI(x−z) is the squared distance of xL.
Gower:  D(x, z) = (1/d) Σ_j d_j,  d_j = |x_j − z_j|/s_j  or  [x_j ≠ z_j]: the L1 distance of x_j/(s_j d) and of ½·one-hot/d.
Value difference (HVDM):  D² = Σ_j d_j²,  d_j = |x_j − z_j|/4σ_j  or  d_j² = Σ_y (P(y|x_j) − P(y|z_j))²: the Euclidean
distance of x_j/4σ_j and of the vector P(·|x_j), which naive Bayes has: P(y|a) ∝ P(y) P(a|y).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Annotated, Any

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS
from sklearn.neighbors import VALID_METRICS
from sklearn.utils._param_validation import Interval

from ..arrays import Array, Floats
from ..bayes.naive import NaiveBayes
from ..errors import BadParameter, BadValue, ModelError, SingularCovariance, did_you_mean, listed
from ..estimator import check_declared
from ..fields import UNBOUNDED, AnyFloats, Natural, OneOf, need
from ..table.encode import factorize, numbers
from ..table.frame import Frame, open_frame
from ..table.kinds import resolve_kinds
from ..table.schema import MEASURED, Column

NAMES = {
    "euclidean": "euclidean",
    "l2": "euclidean",
    "manhattan": "manhattan",
    "l1": "manhattan",
    "cityblock": "manhattan",
    "chebyshev": "chebyshev",
    "infinity": "chebyshev",
    "minkowski": "minkowski",
}
NORMS = ("euclidean", "manhattan", "chebyshev", "minkowski")
MIXED = ("gower", "vdm")
EXPONENT = [Interval(Real, 0, None, closed="neither")]
BOOLEAN = frozenset(PAIRWISE_BOOLEAN_FUNCTIONS)  # metrics that know only whether a cell is zero
KNOWN = {*NAMES, *MIXED, *VALID_METRICS["brute"]}


def metric_named(metric: str, p: float) -> tuple[str, float]:
    """(metric, p) in the kernels' names; Minkowski with p = 1, 2, ∞ is the metric that it is.

    >>> metric_named("minkowski", 1)
    ('manhattan', 1.0)
    """
    name = NAMES[metric]
    if name == "minkowski":
        name = {1.0: "manhattan", 2.0: "euclidean", math.inf: "chebyshev"}.get(float(p), name)
    return name, float(p)


@dataclass(frozen=True, eq=False)
class Space:
    """Where rows are compared: L_p by name after x → x·map (a scale a column, or a matrix)."""

    metric: Annotated[str, OneOf(NORMS)]
    p: Annotated[float, UNBOUNDED]
    map: AnyFloats | None = None

    def check(self) -> None:
        """Refuse an exponent or a map that is none."""
        need(self.p > 0, "the exponent of a metric must be above 0")
        need(self.map is None or self.map.ndim in (1, 2), "a space is a scale of every column, or a matrix")

    def shape_of(self, d: int) -> tuple[int, int]:
        """How many columns it takes, coordinates it gives: of d where it takes any."""
        return (d, d) if self.map is None else (self.map.shape[0], self.map.shape[-1])

    def __call__(self, X: Array) -> Array:
        """The rows in this space's coordinates, C-contiguous."""
        if self.map is None:
            return np.ascontiguousarray(X)
        to = self.map.astype(X.dtype, copy=False)
        return np.ascontiguousarray(X * to if to.ndim == 1 else X @ to)


def exponent(metric: str, p: float, params: dict[str, Any]) -> float:
    """p, or what `metric_params` says it is (taken out of it), with a word where they differ."""
    if metric != "minkowski" or "p" not in params:
        return p
    told = params.pop("p")
    check_declared({"p": EXPONENT}, {"p": told}, "metric_params")
    if told != p:
        warnings.warn(
            f"metric_params says p={told!r} and the parameter p is {p!r}: {told!r} it is; say it once, as p={told!r}",
            SyntaxWarning,
            stacklevel=2,
        )
    return float(told)


def space(metric: str, p: float, params: dict[str, Any] | None, X: Array, weight: Floats | None = None) -> Space | None:
    """The space of a metric's name, or None where it is no L_p distance (scikit-learn may know it).

    What it takes from the rows it takes from as many copies of each as `weight` says.

    >>> space("minkowski", 2, {"w": [1.0, 4.0]}, np.zeros((1, 2))).map.tolist()
    [1.0, 2.0]
    """
    params = dict(params or {})
    if metric in NAMES:
        name, p = metric_named(metric, exponent(metric, p, params))
        w = params.pop("w", None)
        found = Space(name, p, None if w is None else _weights(w, name, p, X.shape[1]))
    elif metric == "seuclidean":
        V = _told(params.pop("V", _variances(X, weight)), "V")
        if V.shape != (X.shape[1],) or not (V >= 0).all():
            raise ModelError(f"V must be a variance of at least 0 for each of the {X.shape[1]} columns, got {V}")
        found = Space("euclidean", 2.0, 1 / np.sqrt(np.where(V > 0, V, 1.0)))
    elif metric == "mahalanobis":
        found = Space("euclidean", 2.0, _whitening(params, X, weight))
    else:
        return None
    if params:
        name = str(next(iter(params)))
        known = {"minkowski": ("p", "w"), "seuclidean": ("V",), "mahalanobis": ("V", "VI")}.get(metric, ("w",))
        raise BadParameter(
            f"metric_params: {metric} takes no {name!r}{did_you_mean(name, known)} (it knows {listed(known)})"
        )
    return found


def _told(value: Any, name: str) -> Floats:
    """Finite numbers among the parameters of a metric."""
    try:
        found = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadParameter(f"metric_params: {name!r} must hold numbers. Got {value!r} instead.") from None
    if not np.isfinite(found).all():
        raise BadParameter(f"metric_params: {name!r} holds NaN or infinite numbers")
    return found


def _weights(w: Any, name: str, p: float, d: int) -> Array:
    w = _told(w, "w")
    if w.shape != (d,) or not (w >= 0).all():
        raise ModelError(f"w must be a weight of at least 0 for each of the {d} columns, got shape {w.shape}")
    power = {"manhattan": 1.0, "euclidean": 0.5, "chebyshev": 1.0}.get(name, 1 / p)
    scaled: Array = w**power
    return scaled


def _variances(X: Array, weight: Floats | None) -> Floats:
    """Σ w(x − mean)²/(Σw − 1) of each column; ones where there is one row."""
    if len(X) < 2:
        return np.ones(X.shape[1])
    if weight is None:
        return np.asarray(X.var(axis=0, ddof=1))
    away = X - np.average(X, axis=0, weights=weight)
    return np.asarray(np.average(away**2, axis=0, weights=weight) * _copies(weight))


def _copies(weight: Floats) -> float:
    """Σw/(Σw − 1): from the mean of squares to the variance of so many rows; 1 where they are not more than one."""
    total = float(weight.sum())
    return total / (total - 1) if total > 1 else 1.0


def _whitening(params: dict[str, Any], X: Array, weight: Floats | None) -> Array:
    """L of VI = L Lᵀ, by eigenvectors so that directions without variance are an error and not noise."""
    d = X.shape[1]
    VI, V = params.pop("VI", None), params.pop("V", None)
    if VI is None:
        V = np.atleast_2d(_covariance(X, weight)) if V is None else V
    given = _told(V, "V") if VI is None else _told(VI, "VI")
    if given.shape != (d, d):
        raise ModelError(f"a Mahalanobis distance over {d} columns needs a {d} × {d} matrix, got shape {given.shape}")
    values, vectors = np.linalg.eigh((given + given.T) / 2)
    if values[0] < -1e-10 * abs(values[-1]):
        raise ModelError("the matrix of a Mahalanobis distance has a negative eigenvalue, so it is no distance")
    if VI is not None:
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))
    if values[0] <= 1e-12 * values[-1]:
        raise SingularCovariance(
            "the covariance has no inverse (a column is a combination of others): leave a column out, or pass "
            "metric_params={'VI': ...}"
        )
    return np.asarray(vectors / np.sqrt(values))


def _covariance(X: Array, weight: Floats | None) -> Floats:
    if weight is None:
        return np.cov(X, rowvar=False)
    return np.cov(X, rowvar=False, ddof=0, aweights=weight) * _copies(weight)


@dataclass(frozen=True, eq=False)
class Mixed:
    """How a table becomes coordinates: numeric columns shifted and scaled, values looked up."""

    metric: Annotated[str, OneOf(MIXED)]
    names: tuple[str, ...] | None
    numeric: Annotated[list[Natural], "numbers"]
    shift: Annotated[Floats, "numbers"]
    scale: Annotated[Floats, "numbers"]
    places: dict[Natural, dict[Any, Natural]]  # categorical column -> value -> row of its table
    # a row for each value, then one for a value never seen, then one for a missing cell
    tables: dict[Natural, Annotated[Floats, "rows coordinates", UNBOUNDED]]

    def check(self) -> None:
        """Refuse places and coordinates that are not those of the columns."""
        rest, (d, _) = list(self.places), self.shape_of(0)
        need(sorted([*self.numeric, *rest]) == list(range(d)), "every column once")
        need(self.names is None or len(self.names) == d, "a name of every column")
        need(list(self.tables) == rest, "a table of every column with values")
        for j, place in self.places.items():
            need(sorted(place.values()) == list(range(len(place))), "every value has its row")
            table = self.tables[j]
            need(len(table) == len(place) + 2 and table.shape[1] > 0, "a row of every value")
            known = self.metric == "gower" or not np.isnan(table).any()
            need(known and not np.isinf(table).any(), "the coordinates of values must be finite")

    def shape_of(self, d: int) -> tuple[int, int]:
        """How many columns it takes, coordinates it gives."""
        return len(self.numeric) + len(self.places), sum(self.widths)

    @property
    def norm(self) -> str:
        """The metric of the coordinates."""
        return "manhattan" if self.metric == "gower" else "euclidean"

    @property
    def widths(self) -> list[int]:
        """How many coordinates each column has, the numeric columns first."""
        return [1] * len(self.numeric) + [table.shape[1] for table in self.tables.values()]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, with the values that the rows have."""
        names = self.names or tuple(f"x{j}" for j in range(len(self.numeric) + len(self.places)))
        return tuple(
            Column(n, "categorical", tuple(self.places[j])) if j in self.places else Column(n, "numeric")
            for j, n in enumerate(names)
        )

    @property
    def order(self) -> list[int]:
        """Where each column of the table stands among those of `widths`."""
        at = {j: i for i, j in enumerate([*self.numeric, *self.places])}
        return [at[j] for j in range(len(at))]

    def spans(self) -> list[tuple[float, float, None] | None]:
        """(least, greatest, nothing known of whether all are whole) of each column of numbers; by "vdm" the mean ± 2σ."""
        found: list[tuple[float, float, None] | None] = [None] * (len(self.numeric) + len(self.places))
        width = _inverse(self.scale) / (len(found) if self.metric == "gower" else 1)
        low = self.shift if self.metric == "gower" else self.shift - width / 2
        for j, a, b in zip(self.numeric, low.tolist(), (low + width).tolist()):
            found[j] = a, b, None
        return found

    def __call__(self, X: Any) -> Floats:
        """The coordinates of a table's rows; NaN where a cell is missing under Gower."""
        frame = self.frame(X)
        parts = [(numbers(frame, self.numeric).astype(np.float64) - self.shift) * self.scale] if self.numeric else []
        if self.metric == "vdm" and parts:
            parts[0] = np.where(np.isnan(parts[0]), 0.0, parts[0])  # a missing measurement is the mean
        for j, place in self.places.items():
            values, codes = factorize(frame.column(j), frame.name(j))
            rows = np.array([place.get(v, len(place)) for v in values] + [len(place) + 1])
            parts.append(self.tables[j][rows[codes]])
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    def frame(self, X: Any) -> Frame:
        frame = open_frame(X)
        if self.names is not None:
            frame = frame.matched(self.names)
        d = len(self.numeric) + len(self.places)
        if frame.d != d:
            raise BadValue(f"X has {frame.d} features, but the model was fitted on {d} features as input")
        return frame


def mixed_space(metric: str, X: Any, y: Array | None, kinds: Any, weight: Floats | None = None) -> Mixed:
    """The coordinates that a metric gives a table, each row so many times as its weight; "vdm" needs the classes y."""
    frame = open_frame(X)
    found = resolve_kinds(frame, kinds)
    numeric = [j for j, kind in enumerate(found) if kind in MEASURED]
    rest = [j for j in range(frame.d) if j not in numeric]
    if metric == "vdm" and y is None:
        raise ModelError("metric='vdm' compares values by P(y|x_j), so it needs classes: use 'gower' for regression")
    cells = numbers(frame, numeric).astype(np.float64) if numeric else np.empty((frame.n, 0))
    if np.isinf(cells).any():
        raise BadValue("X holds infinite cells")
    if weight is not None and not weight.all():
        live = np.flatnonzero(weight)
        frame, cells, y, weight = frame.take_rows(live), cells[live], None if y is None else y[live], weight[live]
    seen = ~np.isnan(cells)
    if not seen.any(axis=0).all():
        raise BadValue(f"column {frame.name(numeric[int(np.argmin(seen.any(axis=0)))])!r} has no value at all")
    places = {j: {v: i for i, v in enumerate(factorize(frame.column(j), frame.name(j))[0])} for j in rest}
    if metric == "gower":
        low, high = np.nanmin(cells, axis=0, initial=np.inf), np.nanmax(cells, axis=0, initial=-np.inf)
        size = (high - low) * frame.d
        tables = {j: one_hot(len(place), frame.d) for j, place in places.items()}
        return Mixed(metric, frame.names, numeric, low, _inverse(size), places, tables)
    tables = value_tables(frame, y, places, weight) if places else {}
    mass = seen if weight is None else seen * weight[:, None]
    mean = np.where(seen, cells, 0.0) * mass
    mean = mean.sum(axis=0) / mass.sum(axis=0)
    spread = np.sqrt((np.where(seen, cells - mean, 0.0) ** 2 * mass).sum(axis=0) / mass.sum(axis=0))
    return Mixed(metric, frame.names, numeric, mean, _inverse(4 * spread), places, tables)


def _inverse(size: Floats) -> Floats:
    return np.where(size > 0, 1 / np.where(size > 0, size, 1.0), 0.0)


def one_hot(size: int, d: int) -> Floats:
    """½/d at a value's own place; a value never seen has a place of its own, a missing cell is NaN.

    >>> one_hot(1, 1)
    array([[0.5, 0. ],
           [0. , 0.5],
           [nan, nan]])
    """
    return np.vstack([np.eye(size + 1) / 2 / d, np.full((1, size + 1), np.nan)])


def value_tables(
    frame: Frame, y: Array | None, places: dict[int, dict[Any, int]], weight: Floats | None = None
) -> dict[int, Floats]:
    """P(y|x_j = a) of each value, by naive Bayes; a value never seen and a missing cell say no more than P(y)."""
    part = frame.take_columns(list(places))
    named = Frame(part.n, tuple(f"x{j}" for j in places), columns=tuple(part.column(k) for k in range(part.d)))
    model = NaiveBayes(kinds="categorical").fit(named, y, sample_weight=weight)
    prior = model.tables_["class"]["P"].to_numpy()
    tables = {}
    for j, place in places.items():
        given = model.tables_[f"x{j}"]
        at = {v: k for k, v in enumerate(given.index)}  # pandas takes a boolean label for a mask
        joint = given.to_numpy()[[at[v] for v in place]].reshape(len(place), len(prior)) * prior
        posterior = joint / joint.sum(axis=1, keepdims=True)
        tables[j] = np.vstack([posterior, prior, prior])
    return tables


def gower_without(q: Floats, X: Floats, widths: list[int]) -> Floats:
    """Gower's distance of q to every row without each column in turn, shape (columns, rows): `gower_missing` of d copies of
    q, each with another column missing, in one pass.

    >>> gower_without(np.array([0.0, 0.5]), np.array([[0.25, 0.0]]), [1, 1]).tolist()
    [[1.0], [0.5]]
    """
    starts = np.cumsum([0, *widths[:-1]])
    gap = np.add.reduceat(np.abs(X - q), starts, axis=1)  # NaN where either lacks the column
    both = ~np.isnan(gap)
    gap = np.where(both, gap, 0.0)
    total, shared = gap.sum(axis=1, keepdims=True) - gap, both.sum(axis=1, keepdims=True) - both
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(shared > 0, total * len(widths) / shared, np.inf)
    return np.ascontiguousarray(found.T)


def gower_missing(Q: Floats, X: Floats, widths: list[int]) -> Floats:
    """Gower's distance with missing cells: the mean over the columns that both rows have, infinite where there is none.

    `widths` is the number of coordinates of each column, a column's coordinates being all there or all NaN.
    """
    d, at = len(widths), 0
    total, shared = np.zeros((len(Q), len(X))), np.zeros((len(Q), len(X)))
    for width in widths:
        a, b = Q[:, at : at + width], X[:, at : at + width]
        both = ~np.isnan(a[:, :1]) & ~np.isnan(b[:, 0])
        gap = np.zeros_like(total)
        for c in range(width):
            gap += np.abs(a[:, c : c + 1] - b[:, c])
        total += np.where(both, gap, 0.0)
        shared += both
        at += width
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(shared > 0, total * d / shared, np.inf)
    return found
