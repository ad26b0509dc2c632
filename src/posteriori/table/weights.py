"""Weights of rows and of classes: the one rule for every room.

Symbols: w[r] the weight of row r, v[y] of class y; a row counts w[r] · v[y_r] times, and not at all where that is zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..arrays import Array, Floats
from ..errors import BadParameter, BadValue, UnknownValue, did_you_mean, listed


def check_weights(sample_weight: Any, n: int) -> Floats:
    """Weights as floats, one a row: finite, not negative, not all zero. One number stands for n of them."""
    try:
        w = np.asarray(sample_weight)
    except ValueError:
        raise BadValue("Sample weights must be 1D array or scalar. Got rows of different lengths instead.") from None
    if w.dtype.kind not in "biuf":
        raise BadValue(f"sample weights must be numbers. Got dtype {w.dtype} instead.")
    w = w.astype(np.float64)
    if w.ndim == 0:
        w = np.full(n, float(w))
    if w.ndim != 1:
        raise BadValue(f"Sample weights must be 1D array or scalar. Got shape {w.shape} instead.")
    if len(w) != n:
        raise BadValue(f"sample_weight.shape == {w.shape}, expected {(n,)}!")
    bad = ~np.isfinite(w) | (w < 0)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise BadValue(
            f"row {i}: a sample weight must be finite and not negative. Got {w[i]} instead (NaN, inf, negative)."
        )
    with np.errstate(over="ignore"):
        total = w.sum()
    if not np.isfinite(total):
        raise BadValue("the sample weights are so large that their sum overflows; rescale them")
    if not w.any():
        raise BadValue("all sample weights are zero: no row is left to learn from")
    return w


def weights_or_ones(sample_weight: Any, n: int) -> Floats:
    """The same, and one for every row where none were told."""
    return np.ones(n) if sample_weight is None else check_weights(sample_weight, n)


def class_weights(
    class_weight: Any, classes: Array, codes: Array, weights: Floats | None = None, known: Iterable[Any] = ()
) -> Floats:
    """The weight of each class: one, as told by a dict, or "balanced": Σw / (K Σ_{r in y} w_r), K classes that have rows.

    A dict may leave classes out (they weigh one) or name classes that no row here has (a fold may lack one), but not both
    at once, unless those are `known`: then a name is misspelt.

    >>> class_weights("balanced", np.array(["ham", "spam"]), np.array([0, 0, 0, 1]))
    array([0.66666667, 2.        ])
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        mass = np.bincount(codes, weights, minlength=len(classes)).astype(np.float64)
        with np.errstate(over="ignore"):
            even: Floats = mass.sum() / np.count_nonzero(mass) / np.where(mass > 0, mass, 1.0)
        if not np.isfinite(even).all():
            least = int(np.argmin(np.where(mass > 0, mass, np.inf)))
            name, told = classes.tolist()[least], f"{mass[least]:.3g} of {mass.sum():.3g}"
            raise BadValue(
                f"the sample weights of class {name!r} sum to {told}, too little to be balanced; rescale them"
            )
        return even
    if not isinstance(class_weight, Mapping):
        raise BadParameter(f"class_weight must be 'balanced', a dict or None. Got {class_weight!r} instead.")
    names = classes.tolist()
    strange = [c for c in class_weight if c not in names and c not in set(known)]
    if strange and any(c not in class_weight for c in names):
        hint = did_you_mean(strange[0], names) or "."
        raise UnknownValue(f"class_weight names no class of y: {listed(strange)}{hint} Classes: {listed(names)}")
    found = np.empty(len(names))
    for k, c in enumerate(names):
        try:
            found[k] = float(class_weight.get(c, 1.0))
        except (TypeError, ValueError, OverflowError):
            found[k] = np.nan
        if not (np.isfinite(found[k]) and found[k] >= 0):
            raise BadParameter(
                f"class_weight must be finite numbers of at least 0; class {c!r} has {class_weight[c]!r} instead"
            )
    return found


def row_weights(
    sample_weight: Any,
    class_weight: Any,
    classes: Array,
    codes: Array,
    known: Iterable[Any] = (),
) -> Floats | None:
    """w[r] · v[y_r] of each row, or None where all count one."""
    w = None if sample_weight is None else check_weights(sample_weight, len(codes))
    if class_weight is None:
        return w
    by_class = class_weights(class_weight, classes, codes, w, known)[codes]
    return check_weights(by_class if w is None else w * by_class, len(codes))
