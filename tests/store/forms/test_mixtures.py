"""What mixtures in a file must hold: as many weights, means and covariances as components, of the columns there are."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import posteriori as po
from posteriori.mixture.normals import Restart

from .refusals import GONE, judged, remade

RNG = np.random.default_rng(0)
P = np.vstack([RNG.normal(size=(20, 2)), RNG.normal(size=(20, 2)) + 5])
Y = np.repeat(["a", "b"], 20)
W = {"u": ["p", "q"] * 20, "v": ["r", "r", "s", "s"] * 10}
MADE = {
    **{
        kind: lambda kind=kind: po.GaussianMixture(2, covariance_type=kind, random_state=0).fit(P)
        for kind in ("full", "tied", "diag", "spherical")
    },
    "single": lambda: po.GaussianMixture(2, random_state=0).fit(P.astype(np.float32)),
    "least": lambda: po.GaussianMixture(1, covariance_type="diag", random_state=0).fit(P[:, :1]),
    "least kmeans": lambda: po.KMeans(1, random_state=0).fit(P[:, :1]),
    "least bayes": lambda: po.MixtureBayes(1, random_state=0).fit(P[:, :1], ["one"] * 40),
    "kmeans": lambda: po.KMeans(2, random_state=0).fit(P),
    "bayes": lambda: po.MixtureBayes(1, random_state=0).fit(P, Y),
    "latent": lambda: po.LatentClass(2, random_state=0).fit(W),
}


@cache
def fitted(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MADE[name]()


def rows(model):
    return W if isinstance(model, po.LatentClass) else P[:, : model.n_features_in_]


def edge(name, at, value):
    """An array of a model with another number at a place."""

    def change(model):
        held = getattr(model, name).copy()
        held[at] = value
        return {name: held}

    return change


def times(name, factor):
    return lambda model: {name: getattr(model, name) * factor}


def shorter(name):
    return lambda model: {name: getattr(model, name)[1:]}


@pytest.mark.parametrize("name", MADE)
def test_the_same_answers_to_the_last_bit(name):
    model = fitted(name)
    made, X = remade(model), rows(model)
    X = X.astype(np.float32) if name == "single" else X
    for way in ("predict_proba", "predict", "score_samples", "transform"):
        if hasattr(model, way):
            assert np.array_equal(getattr(made, way)(X), getattr(model, way)(X))


PARTS = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_")
ROWS = [
    *(("full", {name: GONE}, f"must have '{name}'") for name in (*PARTS, "n_features_in_", "n_components_", "_kind")),
    *(("full", {name: GONE}, f"must have '{name}'") for name in ("converged_", "n_iter_", "lower_bound_")),
    *(("full", {name: GONE}, f"must have '{name}'") for name in ("lower_bounds_", "marks_")),
    ("full", {"n_components_": 0}, "a mixture must have a component and a column"),
    ("full", {"n_features_in_": 0}, "a mixture must have a component and a column"),
    ("full", {"n_components_": 1}, "a weight and a mean of every component"),
    ("full", {"n_components_": 3}, "a weight and a mean of every component"),
    ("full", {"n_features_in_": 3}, "a weight and a mean of every component"),
    ("full", shorter("weights_"), "a weight and a mean of every component"),
    ("full", shorter("means_"), "a weight and a mean of every component"),
    *((kind, {"_kind": other}, f"covariances of {other} components") for kind, other in (
        ("full", "tied"), ("tied", "full"), ("diag", "spherical"), ("spherical", "diag"), ("full", "diag"))),
    *(("diag", shorter(name), "covariances of diag components") for name in PARTS[2:]),
    *(("diag", lambda m, name=name: {name: getattr(m, name).astype(np.float32)}, "one type of numbers")
      for name in PARTS),
    ("full", edge("weights_", [0, 1], [1.0, 0.0]), None),
    ("full", edge("weights_", [0, 1], [1.001, -0.001]), "weights must sum to one"),
    ("full", edge("weights_", [0, 1], [0.99, 0.0]), "weights must sum to one"),
    ("full", edge("weights_", [0, 1], [1.01, 0.0]), "weights must sum to one"),
    ("full", times("weights_", 0.989), "weights must sum to one"),
    ("full", times("weights_", 0.991), None),
    ("full", times("weights_", 1.009), None),
    ("full", times("weights_", 1.011), "weights must sum to one"),
    ("full", edge("covariances_", (1, 1, 1), 0.0), "variances above zero"),
    ("full", edge("covariances_", (1, 0, 0), 1e-300), None),
    ("full", edge("precisions_cholesky_", (0, 1, 1), 0.0), "variances above zero"),
    ("full", edge("precisions_cholesky_", (0, 1, 1), -1.0), "variances above zero"),
    ("tied", edge("covariances_", (1, 1), 0.0), "variances above zero"),
    ("diag", edge("covariances_", (1, 1), 0.0), "variances above zero"),
    ("diag", edge("precisions_cholesky_", (1, 0), -1.0), "variances above zero"),
    ("diag", edge("covariances_", (1, 1), 1e-300), None),
    ("spherical", edge("covariances_", 1, 0.0), "variances above zero"),
    ("full", edge("precisions_cholesky_", (1, 1, 0), 1e-300), "precisions_cholesky_ must be triangles"),
    ("tied", edge("precisions_cholesky_", (1, 0), 1e-300), "precisions_cholesky_ must be triangles"),
    ("tied", edge("precisions_cholesky_", (0, 1), 0.5), None),
    *(
        (kind, lambda m, part=part, by=by: {part: getattr(m, part) * [[1, 1], [by, 1]]}, said)
        for kind in ("full", "tied")
        for part in ("covariances_", "precisions_")
        for by, said in ((1.002, "covariances must be symmetric"), (1.0005, None), (-1.0, "covariances must be symm"))
    ),
    ("full", {"feature_names_in_": np.array(["x", "y", "z"], dtype=object)}, "the name of every column"),
    ("bayes", lambda m: {"mixtures_": [m.mixtures_[0], fitted("tied")]}, None),
    *(
        ("kmeans", {name: GONE}, f"must have '{name}'")
        for name in ("cluster_centers_", "labels_", "inertia_", "n_iter_", "_n_features_out", "_sizes", "n_features_in_")
    ),
    ("kmeans", {"cluster_centers_": np.zeros((0, 2))}, "a centre has a place in every column"),
    ("kmeans", {"cluster_centers_": np.zeros((2, 3))}, "a centre has a place in every column"),
    ("kmeans", {"cluster_centers_": np.zeros((2, 0)), "n_features_in_": 0}, "a centre has a place in every column"),
    ("kmeans", {"n_features_in_": 1}, "a centre has a place in every column"),
    ("kmeans", {"_n_features_out": 3}, "every centre must have its size"),
    ("kmeans", {"_sizes": np.ones(3)}, "every centre must have its size"),
    ("kmeans", {"_sizes": np.zeros(2)}, None),
    ("kmeans", edge("labels_", 0, 1), None),
    ("kmeans", edge("labels_", 0, 2), "a label must be a centre's"),
    ("kmeans", edge("labels_", 0, 0), None),
    ("kmeans", edge("labels_", 0, -1), "a label must be a centre's"),
    ("kmeans", {"labels_": np.zeros(0, np.int32)}, None),
    ("kmeans", {"labels_": np.zeros(3, np.int32)}, None),
    ("kmeans", {"labels_": np.zeros(3, np.int64)}, "KMeans.labels_ must be"),
    ("kmeans", {"feature_names_in_": np.array(["x"], dtype=object)}, "the name of every column"),
    *(
        ("bayes", {name: GONE}, f"must have '{name}'")
        for name in ("classes_", "class_count_", "mixtures_", "background_", "n_iter_", "n_features_in_")
    ),
    ("bayes", {"classes_": np.array(["a"])}, "a mixture of every class"),
    ("bayes", {"classes_": np.array([["a"], ["b"]])}, "a mixture of every class"),
    ("bayes", {"class_count_": np.ones(3)}, "a mixture of every class"),
    ("bayes", lambda m: {"mixtures_": m.mixtures_[:1]}, "a mixture of every class"),
    ("bayes", {"classes_": np.zeros(0), "class_count_": np.zeros(0), "mixtures_": []}, "a mixture of every class"),
    ("bayes", lambda m: {"mixtures_": [m.mixtures_[0], po.GaussianMixture()]}, "the mixtures must be fitted"),
    ("bayes", {"background_": po.GaussianMixture()}, "the mixtures must be fitted"),
    ("bayes", {"mixtures_": [None, None], "background_": None, "class_count_": np.zeros(2)}, "must have rows"),
    ("bayes", {"class_count_": np.zeros(2)}, "the classes must have rows"),
    ("bayes", {"class_count_": np.full(2, 1e308)}, "the classes must have rows"),
    ("bayes", {"class_count_": np.array([0.0, 1e-9])}, None),
    ("bayes", lambda m: {"mixtures_": [None, m.mixtures_[1]]}, "a class without mixture"),
    ("bayes", lambda m: {"mixtures_": [None, m.mixtures_[1]], "class_count_": np.array([0.0, 20.0])}, None),
    ("bayes", lambda m: {"mixtures_": [None, m.mixtures_[1]], "class_count_": np.array([1e-9, 20.0])}, "without"),
    ("bayes", {"n_features_in_": 3}, "the mixtures must be of the same columns"),
    ("bayes", {"feature_names_in_": np.array(["x"], dtype=object)}, "the name of every column"),
    *(
        ("latent", {name: GONE}, f"must have '{name}'")
        for name in ("model_", "em_", "classes_", "converged_", "n_iter_", "n_features_in_")
    ),
    ("latent", {"model_": po.NaiveBayes()}, "the model of the classes must be fitted"),
    ("latent", {"classes_": np.array([0, 2])}, "classes and columns must be those of the model"),
    ("latent", {"classes_": np.array([0])}, "classes and columns must be those of the model"),
    ("latent", {"n_features_in_": 3}, "classes and columns must be those of the model"),
    ("latent", {"feature_names_in_": np.array(["u"], dtype=object)}, "the name of every column"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "said"), ROWS, ids=[f"{i} {row[0]}" for i, row in enumerate(ROWS)])
def test_what_is_refused_and_what_is_not(name, change, said):
    made = judged(fitted(name), change, said)
    assert said is not None or len(made.predict(rows(made))) == 40


@pytest.mark.parametrize("name", ["_floors", "_scale"])
@pytest.mark.parametrize(("n", "said"), [(1, "of every column"), (2, None), (3, "of every column")])
def test_widths_that_a_mixture_was_told_are_of_its_columns(name, n, said):
    """`fit` reads them again."""
    model = fitted("bayes").mixtures_[0]
    if not hasattr(model, "_floors"):
        pytest.skip("told by reg_covar")
    made = judged(model, {name: np.full(n, 0.5)}, said)
    assert said is not None or made.fit(P).n_features_in_ == 2


def test_a_restart_comes_back():
    assert remade(Restart(3, 1, "empty")) == Restart(3, 1, "empty")
    judged(Restart(3, 1, "empty"), {"component": -1}, "Restart.component must be")
