"""The drop-ins for scikit-learn's naive Bayes models, and multivariate normal class densities: one statistic by class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...bayes.drop_ins.bernoulli_nb import BernoulliNB
from ...bayes.drop_ins.categorical_nb import CategoricalNB
from ...bayes.drop_ins.gaussian_nb import GaussianNB
from ...bayes.drop_ins.multinomial_nb import ComplementNB, MultinomialNB
from ...bayes.gaussian_bayes import GaussianBayes
from ...statistics.counts import Counts
from ...statistics.moments import CoMoments, Moments
from .form import Spec, array, estimator, named_columns, natural, need, needs, of, same_classes

LEARNED = {
    "n_features_in_": natural(),
    "feature_names_in_": array,
    "classes_": array,
    "statistics_": of("ByClass"),
}
FLOATS = Spec("float32 or float64", lambda v: isinstance(v, np.dtype) and v in (np.float32, np.float64))


def _of(kind: type, columns: Callable[[Any], int]) -> Callable[[Any], None]:
    """A check: the statistic is of this kind, and of as many columns as the model says."""

    def check(model: Any) -> None:
        needs(model, "n_features_in_", "classes_", "statistics_")
        found = model.statistics_
        need(len(found.schema.classes) > 0, "a fitted model must have a class")
        same_classes(model.classes_, found.schema.classes)
        need(type(found.table) is kind, f"a {type(model).__name__} must have {kind.__name__}")
        need(columns(found.table) == model.n_features_in_ > 0, "n_features_in_ must be the number of columns")
        need(isinstance(model, CategoricalNB) == (found.least is not None), "least sizes are of CategoricalNB alone")
        named_columns(model)
        if isinstance(model, GaussianNB):
            needs(model, "_dtype")

    return check


_scopes = _of(Counts, lambda table: len(table.sizes))
_one_scope = _of(Counts, lambda table: len(table.table) if len(table.sizes) == 1 else -1)
_normal = _of(Moments, lambda table: int(table.mean.shape[1]))
_normals = _of(CoMoments, lambda table: int(table.mean.shape[1]))
FORMS = {
    form.tag: form
    for form in (
        estimator(CategoricalNB, _scopes, LEARNED),
        estimator(BernoulliNB, _one_scope, LEARNED),
        estimator(MultinomialNB, _one_scope, LEARNED),
        estimator(ComplementNB, _one_scope, LEARNED),
        estimator(GaussianNB, _normal, {**LEARNED, "_dtype": FLOATS}),
        estimator(GaussianBayes, _normals, LEARNED),
    )
}
