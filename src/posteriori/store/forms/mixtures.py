"""Mixtures: weights, means and covariances; k-means; hidden classes; mixtures as class densities."""

from __future__ import annotations

import numpy as np

from ...mixture.classifier import MixtureBayes
from ...mixture.gaussian import GaussianMixture
from ...mixture.kmeans import KMeans
from ...mixture.latent import LatentClass
from ...mixture.normals import KINDS, Restart
from .form import (
    POINTS,
    array,
    dict_of,
    estimator,
    flag,
    floats,
    list_of,
    named_columns,
    natural,
    need,
    needs,
    numbers,
    of,
    pair_of,
    real,
    text,
    tuple_of,
    value,
    word,
)
from .form import nothing as none

some = numbers("df")


def _gaussian(model: GaussianMixture) -> None:
    parts = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_")
    needs(model, *parts, "n_features_in_", "n_components_", "_kind", "converged_", "n_iter_", "lower_bound_")
    needs(model, "lower_bounds_", "marks_")
    K, d, kind = model.n_components_, model.n_features_in_, model._kind
    need(K > 0 and d > 0, "a mixture must have a component and a column")
    shape = {"full": (K, d, d), "tied": (d, d), "diag": (K, d), "spherical": (K,)}[kind]
    need(model.weights_.shape == (K,) and model.means_.shape == (K, d), "a weight and a mean of every component")
    need(all(getattr(model, n).shape == shape for n in parts[2:]), f"covariances of {kind} components")
    need(len({getattr(model, n).dtype for n in parts}) == 1, "one type of numbers")
    need((model.weights_ >= 0).all() and 0.99 < float(model.weights_.sum()) < 1.01, "weights must sum to one")
    for held in (model.covariances_, model.precisions_cholesky_):
        matrix = kind in ("full", "tied")
        need((np.diagonal(held, axis1=-2, axis2=-1) > 0).all() if matrix else (held > 0).all(), "variances above zero")
    if kind in ("full", "tied"):  # with a diagonal above zero a triangle has an inverse
        need(not np.tril(model.precisions_cholesky_, -1).any(), "precisions_cholesky_ must be triangles")
        for held in (model.covariances_, model.precisions_):
            need(np.allclose(held, held.swapaxes(-1, -2), rtol=1e-3, atol=0), "covariances must be symmetric")
    told = [vars(model)[name] for name in ("_floors", "_scale") if name in vars(model)]  # `fit` reads them again
    need(all(widths.shape == (d,) for widths in told), "floors and widths must be those of every column")
    named_columns(model)


def _kmeans(model: KMeans) -> None:
    needs(model, "cluster_centers_", "labels_", "inertia_", "n_iter_", "_n_features_out", "_sizes", "n_features_in_")
    k, d = model.cluster_centers_.shape
    need(k > 0 and d == model.n_features_in_ > 0, "a centre has a place in every column")
    need(model._n_features_out == k and model._sizes.shape == (k,), "every centre must have its size")
    need(model.labels_.size == 0 or 0 <= model.labels_.min() <= model.labels_.max() < k, "a label must be a centre's")
    named_columns(model)


def _mixture_bayes(model: MixtureBayes) -> None:
    needs(model, "classes_", "class_count_", "mixtures_", "background_", "n_iter_", "n_features_in_")
    K = len(model.classes_)
    need(
        model.classes_.ndim == 1 and K == len(model.class_count_) == len(model.mixtures_) > 0,
        "a mixture of every class",
    )
    with np.errstate(over="ignore"):
        need(0 < model.class_count_.sum() < np.inf, "the classes must have rows, and a number of them")
    known = [m for m in (*model.mixtures_, model.background_) if m is not None]
    need(known and all("weights_" in vars(m) for m in known), "the mixtures must be fitted")
    need(all(m.n_features_in_ == model.n_features_in_ for m in known), "the mixtures must be of the same columns")
    need(
        not ((model.class_count_ > 0) & np.array([m is None for m in model.mixtures_])).any(), "a class without mixture"
    )
    named_columns(model)


def _latent(model: LatentClass) -> None:
    needs(model, "model_", "em_", "classes_", "converged_", "n_iter_", "n_features_in_")
    need("statistics_" in vars(model.model_), "the model of the classes must be fitted")
    same = np.array_equal(model.classes_, model.model_.classes_)
    need(same and model.n_features_in_ == model.model_.n_features_in_, "classes and columns must be those of the model")
    named_columns(model)


FORMS = {
    form.tag: form
    for form in (
        value(Restart, turn=natural(), component=natural(), why=text),
        estimator(
            GaussianMixture,
            _gaussian,
            {
                **POINTS,
                "weights_": some,
                "means_": some,
                "covariances_": some,
                "precisions_": some,
                "precisions_cholesky_": some,
                "n_components_": natural(),
                "restarts_": tuple_of(of("Restart")),
                "marks_": tuple_of(pair_of(natural(), text)),
                "_kind": word(*KINDS),
                "_interrupted": flag,
                "_floors": floats(1, 0),
                "_scale": floats(1, 0),
                "converged_": flag,
                "n_iter_": natural(),
                "lower_bound_": real,
                "lower_bounds_": list_of(real),
                "expected_": list_of(pair_of(real, real)),
                "bic_curve_": dict_of(natural(), real),
            },
        ),
        estimator(
            KMeans,
            _kmeans,
            {
                **POINTS,
                "cluster_centers_": numbers("df", 2),
                "labels_": numbers("i", 1),
                "inertia_": real,
                "n_iter_": natural(),
                "trace_": tuple_of(real),
                "_n_init": natural(),
                "_interrupted": flag,
                "_n_features_out": natural(),
                "_sizes": floats(1, 0),
            },
        ),
        estimator(
            MixtureBayes,
            _mixture_bayes,
            {
                **POINTS,
                "classes_": array,
                "class_count_": floats(1, 0),
                "mixtures_": list_of(of("GaussianMixture") | none),
                "background_": of("GaussianMixture") | none,
                "n_iter_": natural(),
            },
        ),
        estimator(
            LatentClass,
            _latent,
            {
                **POINTS,
                "model_": of("NaiveBayes"),
                "em_": of("Ascent"),
                "classes_": array,
                "converged_": flag,
                "n_iter_": natural(),
                "bic_curve_": dict_of(natural(), real),
            },
        ),
    )
}
