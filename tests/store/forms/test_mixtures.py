"""What mixtures in a file must hold: as many weights, means and covariances as components, of the columns there are."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import posteriori as po
from posteriori.mixture.normals import Restart

from .refusals import judged, remade

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
    *((kind, {"_kind": other}, f"covariances of {other} components") for kind, other in (
        ("full", "tied"), ("tied", "full"), ("diag", "spherical"), ("spherical", "diag"), ("full", "diag"))),
    *(("diag", shorter(name), "covariances of diag components") for name in PARTS[2:]),
    *(("diag", lambda m, name=name: {name: getattr(m, name).astype(np.float32)}, "one type of numbers")
      for name in PARTS),
    ("full", edge("weights_", [0, 1], [1.0, 0.0]), None),
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
    ("bayes", lambda m: {"mixtures_": [m.mixtures_[0], fitted("tied")]}, None),
    ("kmeans", {"cluster_centers_": np.zeros((2, 0)), "n_features_in_": 0}, "there must be a centre, and a column"),
    ("kmeans", {"_sizes": np.zeros(2)}, None),
    ("kmeans", edge("labels_", 0, 1), None),
    ("kmeans", edge("labels_", 0, 2), "a label must be a centre's"),
    ("kmeans", edge("labels_", 0, 0), None),
    ("kmeans", {"labels_": np.zeros(0, np.int32)}, None),
    ("kmeans", {"labels_": np.zeros(3, np.int32)}, None),
    ("bayes", {"classes_": np.zeros(0), "class_count_": np.zeros(0), "mixtures_": []}, "the classes must have rows"),
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
    ("latent", {"model_": po.NaiveBayes()}, "the model of the classes must be fitted"),
    ("latent", {"classes_": np.array([0, 2])}, "classes and columns must be those of the model"),
    ("latent", {"classes_": np.array([0])}, "classes and columns must be those of the model"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "said"), ROWS, ids=[f"{i} {row[0]}" for i, row in enumerate(ROWS)])
def test_what_is_refused_and_what_is_not(name, change, said):
    made = judged(fitted(name), change, said)
    assert said is not None or len(made.predict(rows(made))) == 40


def test_a_restart_comes_back():
    assert remade(Restart(3, 1, "empty")) == Restart(3, 1, "empty")
    judged(Restart(3, 1, "empty"), {"component": -1}, "Restart.component must be")
