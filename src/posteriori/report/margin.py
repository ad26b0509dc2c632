"""The picture of a margin: separating line, margin lines, support vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import MissingExtra, ModelError

if TYPE_CHECKING:
    from ..margin.svm import SVC


def plot_margin(machine: SVC, X: Any, y: Any, ax: Any = None) -> Any:
    """Draw f = 0 (solid), f = ±1 (dashed), the rows by class and rings around the support vectors; returns the axes."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as cause:
        raise MissingExtra("plot_margin draws with matplotlib: pip install 'posteriori[plot]'") from cause
    check_is_fitted(machine)
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    if machine.n_features_in_ != 2 or X.ndim != 2 or X.shape[1] != 2 or len(machine.classes_) != 2:
        n_classes, d = len(machine.classes_), machine.n_features_in_
        raise ModelError(
            f"plot_margin draws two classes in two columns; this machine has {n_classes} classes in {d} columns"
        )
    ax = plt.subplots()[1] if ax is None else ax
    for value, marker in zip(machine.classes_, "ox"):
        ax.scatter(*X[y == value].T, marker=marker, label=str(value), zorder=2)
    low, high = X.min(axis=0), X.max(axis=0)
    room = 0.15 * np.where(high > low, high - low, 1.0)
    grid = [np.linspace(a, b, 200) for a, b in zip(low - room, high + room)]
    points = np.stack(np.meshgrid(*grid), axis=-1)
    f = machine.decision_function(points.reshape(-1, 2)).reshape(points.shape[:2])
    levels = [(level, style) for level, style in ((-1.0, "--"), (0.0, "-"), (1.0, "--")) if f.min() < level < f.max()]
    if levels:
        ax.contour(*grid, f, levels=[v for v, _ in levels], linestyles=[s for _, s in levels], colors="black", zorder=1)
    vectors = np.asarray(machine.support_vectors_)
    ax.scatter(*vectors.T, s=120, facecolors="none", edgecolors="black", label="support vectors", zorder=3)
    ax.set(xlabel="x1", ylabel="x2", title=f"margin {1 / machine.w_norm_[0]:.3g} either side")
    ax.legend()
    return ax
