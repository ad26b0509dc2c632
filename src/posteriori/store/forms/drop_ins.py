"""The drop-ins for scikit-learn's naive Bayes models, and multivariate normal class densities: one statistic by class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays import Floats
from ...bayes.drop_ins import CategoricalNB, GaussianNB
from ...bayes.gaussian_bayes import GaussianBayes
from ...bayes.linear_nb import BernoulliNB, ComplementNB, MultinomialNB
from ...statistics.comoments import CoMoments
from ...statistics.counts import Counts
from ...statistics.moments import Moments
from .form import POINTS, Spec, array, estimator, named_columns, need, needs, of, same_classes

LEARNED = {
    **POINTS,
    "classes_": array,
    "statistics_": of("ByClass"),
}
FLOATS = Spec("float32 or float64", lambda v: isinstance(v, np.dtype) and v in (np.float32, np.float64))


def _any(table: Any, rows: Floats) -> bool:
    return True


def _whole(table: Counts, rows: Floats) -> bool:
    """Whether every scope has all rows."""
    return bool(np.allclose(table.totals(), rows, rtol=1e-6, atol=1e-9 * rows.sum()))


def _part(table: Counts, rows: Floats) -> bool:
    """Whether no cell has more rows than there are."""
    return bool((table.table <= rows * (1 + 1e-9)).all())


def _moments(table: Moments | CoMoments, rows: Floats) -> bool:
    """Whether every row has every number."""
    n = table.n if isinstance(table, Moments) else table.n[:, None]
    return bool(np.allclose(n, rows[:, None], rtol=1e-6, atol=1e-9 * rows.sum()))


def _of(kind: type, columns: Callable[[Any], int], fits: Callable[[Any, Floats], bool] = _any) -> Callable[[Any], None]:
    """A check: the statistic is of this kind, of as many columns as the model says, and of its rows."""

    def check(model: Any) -> None:
        needs(model, "n_features_in_", "classes_", "statistics_")
        found = model.statistics_
        need(len(found.schema.classes) > 0, "a fitted model must have a class")
        same_classes(model.classes_, found.schema.classes)
        need(type(found.table) is kind, f"a {type(model).__name__} must have {kind.__name__}")
        need(columns(found.table) == model.n_features_in_ > 0, "n_features_in_ must be the number of columns")
        need(isinstance(model, CategoricalNB) == (found.least is not None), "least sizes are of CategoricalNB alone")
        need(fits(found.table, found.rows.astype(np.float64)), "the statistic must be of the rows of every class")
        named_columns(model)
        if isinstance(model, GaussianNB):
            needs(model, "_dtype")

    return check


def _one_scope(table: Counts) -> int:
    return len(table.table) if len(table.sizes) == 1 else -1


_scopes = _of(Counts, lambda table: len(table.sizes), _whole)
_bits, _events = _of(Counts, _one_scope, _part), _of(Counts, _one_scope)
_normal = _of(Moments, lambda table: int(table.mean.shape[1]), _moments)
_normals = _of(CoMoments, lambda table: int(table.mean.shape[1]), _moments)
FORMS = {
    form.tag: form
    for form in (
        estimator(CategoricalNB, _scopes, LEARNED),
        estimator(BernoulliNB, _bits, LEARNED),
        estimator(MultinomialNB, _events, LEARNED),
        estimator(ComplementNB, _events, LEARNED),
        estimator(GaussianNB, _normal, {**LEARNED, "_dtype": FLOATS}),
        estimator(GaussianBayes, _normals, LEARNED),
    )
}
