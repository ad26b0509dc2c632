"""What machines in a file must hold: vectors of the columns there are, a coefficient of each in every machine."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

import posteriori as po
from posteriori.errors import NotStorable
from posteriori.kernels.margin import KernelSpec
from posteriori.margin.kernel import Kernel
from posteriori.margin.machines import Expansion, Part

from .refusals import GONE, judged, remade

RNG = np.random.default_rng(0)
P = RNG.normal(size=(24, 3))
T = np.array(["a", "b", "c"] * 8)
S = sp.csr_matrix(np.maximum(P, 0))
G = P @ P.T
MADE = {
    "two": lambda: po.SVC().fit(P, T == "a"),
    "pairs": lambda: po.SVC(kernel="linear", probability=True, random_state=0).fit(P, T),
    "rest": lambda: po.SVC(multi_class="ovr", kernel="poly").fit(P, T),
    "sparse": lambda: po.SVC().fit(S, T),
    "manhattan": lambda: po.SVC(kernel="laplacian", norm=1).fit(S, T),
    "told": lambda: po.SVC(kernel="precomputed").fit(G, T),
    "svr": lambda: po.SVR().fit(P, P[:, 0]),
    "svr told": lambda: po.SVR(kernel="precomputed").fit(G, P[:, 0]),
    "narrow": lambda: po.SVC().fit(P[:, :1], T),
    "planes": lambda: po.LinearSVC(random_state=0).fit(P, T),
    "plane": lambda: po.LinearSVC(random_state=0).fit(P, T == "a"),
}


@cache
def fitted(name):
    return MADE[name]()


def rows(name):
    return {"sparse": S, "manhattan": S, "narrow": P[:, :1]}.get(name, G if "told" in name else P)


def edge(name, at, value):
    """An array of a model with another number at a place."""

    def change(model):
        held = getattr(model, name).copy()
        held[at] = value(model) if callable(value) else value
        return {name: held}

    return change


def less(name, axis=0):
    return lambda model: {name: np.delete(getattr(model, name), 0, axis=axis)}


def more(name):
    return lambda model: {name: np.concatenate([getattr(model, name)[:1], getattr(model, name)])}


def parts(of):
    """The first part of a model with other vectors."""
    return lambda m: {"_parts": [m._parts[0]._replace(vectors=of(m._parts[0].vectors)), *m._parts[1:]]}


def found(**change):
    return lambda model: {
        "_expansion": replace(
            model._expansion, **{n: v(getattr(model._expansion, n)) if callable(v) else v for n, v in change.items()}
        )
    }


def kernel(**change):
    return lambda model: {"_kernel": replace(model._kernel, **change)}


@pytest.mark.parametrize("name", MADE)
def test_the_same_answers_to_the_last_bit(name):
    model, X = fitted(name), rows(name)
    made = remade(model)
    assert np.array_equal(made.predict(X), model.predict(X))
    for way in ("decision_function", "predict_proba"):
        if hasattr(model, way):
            assert np.array_equal(getattr(made, way)(X), getattr(model, way)(X))


SVC_PARTS = ("classes_", "_expansion", "class_weight_", "n_iter_", "gap_", "w_norm_", "kernel_", "_platt")
MACHINE = ("n_features_in_", "_kernel", "_parts", "support_", "support_vectors_", "dual_coef_", "intercept_")
ROWS = [
    ("two", {"n_features_in_": 0}, "a machine must have a column"),
    ("rest", {"n_features_in_": 4}, "support vectors have other columns"),
    ("two", kernel(centre=np.zeros(2)), "the centre must have a place in every column"),
    ("two", kernel(centre=np.zeros(4)), "the centre must have a place in every column"),
    ("two", kernel(centre=np.zeros(3)), None),
    ("two", parts(lambda v: v[:, :2]), "support vectors have other columns"),
    ("two", parts(lambda v: v.astype(np.int64)), "support vectors have other columns"),
    ("two", parts(lambda v: v.astype(np.float32)), None),
    ("two", parts(lambda v: v[:, :, None]), "support vectors have other columns"),
    ("two", parts(sp.csr_matrix), "sparse support vectors have a sparse kernel"),
    ("sparse", parts(lambda v: v.toarray()), "sparse support vectors have a sparse kernel"),
    ("two", parts(lambda v: np.where(v == v[0, 0], np.inf, v)), "the cells of support vectors must be finite"),
    ("sparse", parts(lambda v: v * np.nan), "the cells of support vectors must be finite"),
    ("told", parts(lambda v: np.full_like(v, 23)), None),
    ("told", parts(lambda v: np.full_like(v, 24)), "a column that is not there"),
    ("told", parts(lambda v: np.full_like(v, 0)), None),
    ("told", parts(lambda v: np.full_like(v, -1)), "a column that is not there"),
    ("told", parts(lambda v: v.astype(np.int32)), "a column that is not there"),
    ("told", parts(lambda v: v[:, None]), "a column that is not there"),
    ("two", {"shape_fit_": (24, 4)}, "shape_fit_ must be rows and columns"),
    ("two", edge("support_", 0, 24), "a support vector must be a row"),
    ("two", edge("support_", 0, 23), None),
    ("two", edge("support_", 0, 0), None),
    ("two", edge("n_support_", 0, lambda m: m.n_support_[0] + 1), "a coefficient of every support vector"),
    ("two", edge("n_support_", [0, 1], [2**31 - 1, 2**31 - 1]), "a coefficient of every support vector"),
    ("two", {"support_vectors_": [[0.0]]}, "support_vectors_ must be a table"),
    ("two", lambda m: {"support_vectors_": m.support_vectors_[:, :2]}, "support_vectors_ must have every column"),
    ("two", less("support_vectors_"), "support_vectors_ must have every column"),
    ("two", lambda m: {"support_vectors_": m.support_vectors_.astype(object)}, "support vectors must be numbers"),
    ("two", lambda m: {"support_vectors_": sp.csr_matrix(m.support_vectors_)}, "support vectors must be numbers"),
    ("two", lambda m: {"support_vectors_": m.support_vectors_.astype(np.int64)}, None),
    ("told", {"support_vectors_": np.zeros((0, 3))}, "support_vectors_ must have every column"),
    ("told", {"support_vectors_": np.zeros((1, 24))}, "support_vectors_ must have every column"),
    ("two", {"feature_names_in_": np.array(list("abc"), dtype=object)}, None),
    ("two", found(paired=True), "two classes have one machine"),
    ("pairs", found(paired=False), "coefficients of every machine"),
    ("rest", found(paired=True), "coefficients of every machine"),
    ("pairs", found(coef=lambda c: c[:1]), "coefficients of every machine"),
    ("rest", found(coef=lambda c: np.vstack([c, c[:1]])), "coefficients of every machine"),
    ("pairs", lambda m: {"_parts": m._parts[::-1]}, "the vectors of every class"),
    ("pairs", lambda m: {"_parts": m._parts[:2]}, "the vectors of every class"),
    ("rest", lambda m: {"_parts": [*m._parts, *m._parts]}, "the vectors of every class"),
    ("pairs", found(intercept=np.zeros(2)), "an intercept of every machine"),
    ("pairs", found(intercept=np.full(3, 1e150)), None),
    ("pairs", found(intercept=np.zeros(3)), None),
    ("pairs", less("intercept_"), "an intercept of every machine"),
    ("rest", more("intercept_"), "an intercept of every machine"),
    ("two", {"dual_value_": GONE, "primal_value_": GONE}, None),
    ("pairs", {"gap_": np.full(3, np.inf), "w_norm_": np.full(3, np.nan)}, None),
    ("pairs", {"_platt": [(0.0, 0.0)] * 3}, None),
    ("pairs", {"_platt": None}, None),
    ("two", {"kernel_": "linear"}, "kernel_ must be the kernel's name"),
    ("pairs", lambda m: {"dual_coef_": np.vstack([m.dual_coef_, m.dual_coef_[:1]])}, "dual_coef_ of every machine"),
    ("pairs", lambda m: {"n_support_": np.append(m.n_support_, np.int32(0))}, "dual_coef_ of every machine"),
    ("svr", {"shape_fit_": (24, 4)}, "shape_fit_ must be rows and columns"),
    ("svr", lambda m: {"_parts": m._parts * 2}, "a regression has one machine"),
    (
        "svr",
        lambda m: {"_parts": [m._parts[0]._replace(coef=np.repeat(m._parts[0].coef, 2, axis=0))]},
        "a regression has one machine",
    ),
    ("svr", lambda m: {"dual_coef_": np.repeat(m.dual_coef_, 2, axis=0)}, "a regression has one machine"),
    ("svr", lambda m: {"n_support_": np.append(m.n_support_, np.int32(0))}, "a regression has one machine"),
    ("svr", {"intercept_": np.zeros(2)}, "a regression has one machine"),
    ("svr", {"intercept_": np.zeros(1)}, None),
    ("plane", {"classes_": np.array([0])}, "a plane lies between two classes"),
    ("plane", {"coef_": np.zeros((2, 3)), "intercept_": np.zeros(2)}, "a plane of every class"),
    ("planes", {"coef_": np.zeros((3, 3)), "intercept_": np.zeros(3)}, None),
]


@pytest.mark.parametrize(("name", "change", "said"), ROWS, ids=[f"{i} {row[0]}" for i, row in enumerate(ROWS)])
def test_what_is_refused_and_what_is_not(name, change, said):
    made = judged(fitted(name), change, said)
    if made is not None and not hasattr(made, "feature_names_in_"):
        assert len(made.predict(rows(name))) == 24


SPEC = KernelSpec("rbf", 0.5)


@pytest.mark.parametrize(
    ("held", "change", "said"),
    [
        (SPEC, {"scale": 0.0}, None),
        (SPEC, {"degree": 2**31 - 1}, None),
        (Kernel("rbf", SPEC), {"spec": None}, "a kernel must have its numbers"),
        (Kernel("precomputed", None), {"spec": SPEC}, "a kernel must have its numbers"),
        (Kernel("precomputed", None), {"centre": np.zeros(2)}, "rows of this kernel have no centre"),
        (Kernel("rbf", SPEC), {"centre": np.zeros(2)}, None),
        (Kernel("rbf", SPEC), {"centre": np.zeros(2), "sparse": True}, "rows of this kernel have no centre"),
        (Kernel("rbf", SPEC), {"sparse": True}, None),
        (Part(P, np.ones((2, 24))), {"vectors": P[:23]}, "every support vector must have its coefficients"),
        (Part(P, np.ones((2, 24))), {"vectors": S}, None),
        (Part(P, np.ones((2, 24))), {"vectors": list(P)}, "every support vector must have its coefficients"),
        (Part(P[:1], np.ones((2, 1))), {"vectors": list(P[:1])}, "every support vector must have its coefficients"),
        (Part(P, np.ones((2, 24))), {"coef": np.ones((24, 2))}, "every support vector must have its coefficients"),
    ],
)
def test_the_parts_of_a_machine(held, change, said):
    judged(held, change, said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, None),
        ({"n_support": np.array([1, 1])}, "every support vector must have its coefficients"),
        ({"n_support": np.array([3, 0])}, None),
        ({"n_support": np.array([2**62, 2**62, 2**62, 2**62 + 3])}, "every support vector must have its coefficients"),
        ({"intercept": np.array([0.0, 1e150, -1e150])}, None),
    ],
)
def test_an_expansion_has_a_coefficient_of_every_vector(change, said):
    judged(Expansion(np.arange(3), np.array([1, 2]), np.ones((2, 3)), np.zeros(3), True), change, said)


def test_a_kernel_that_is_a_function_is_not_saved_but_our_own_is_made_again():
    with pytest.raises(NotStorable, match="holds no code"):
        remade(Kernel("rbf", None, function=np.dot))
    held = fitted("manhattan")._kernel
    made = remade(held)
    assert made.function.args == held.function.args
    assert remade(fitted("sparse")._kernel).function is None
    assert remade(fitted("two")._kernel).function is None
