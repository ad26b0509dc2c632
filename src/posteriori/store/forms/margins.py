"""Support vector machines: the vectors, their coefficients, the kernel's numbers, Platt's sigmoids."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ...errors import NotStorable
from ...kernels.margin import KINDS, KernelSpec
from ...margin.kernel import NAMES, Kernel, manhattan
from ...margin.linear_svc import LinearSVC
from ...margin.machines import Expansion, Part
from ...margin.svm import SVC, SVR
from .form import (
    POINTS,
    Fields,
    anything,
    array,
    estimator,
    finite,
    flag,
    floats,
    ints,
    list_of,
    named_columns,
    natural,
    need,
    needs,
    numbers,
    of,
    real,
    small,
    text,
    tuple_of,
    value,
    word,
)
from .form import nothing as none

LARGEST = 1e150  # of an intercept: what several machines say is added up


def _spec(held: KernelSpec) -> None:
    need(held.scale >= 0, "the scale of a kernel must be a number from 0 up")


def _kernel_of(kernel: Kernel) -> Fields:
    """The numbers of a kernel; of functions only our own can be made again."""
    own = isinstance(kernel.function, partial) and kernel.function.func is manhattan
    if kernel.function is not None and not own:
        raise NotStorable(
            f"a model file holds no code, so no kernel that is a function ({kernel.function!r:.80}): "
            "fit with the name of a kernel, or keep the function yourself and pass kernel='precomputed'"
        )
    return {name: getattr(kernel, name) for name in ("name", "spec", "centre", "single", "coarse", "sparse")}


def _kernel(fields: Fields) -> Kernel:
    kernel = Kernel(**fields)
    if kernel.spec is not None and kernel.sparse and kernel.spec.kind == "manhattan":
        return replace(kernel, function=partial(manhattan, kernel.spec.scale))
    return kernel


def _check_kernel(kernel: Kernel) -> None:
    need(kernel.precomputed == (kernel.spec is None), "a kernel must have its numbers")
    need(kernel.centre is None or not (kernel.precomputed or kernel.sparse), "rows of this kernel have no centre")


def _part(held: Part) -> None:
    table = isinstance(held.vectors, np.ndarray) or sparse.issparse(held.vectors)
    need(table and held.vectors.shape[0] == held.coef.shape[1], "every support vector must have its coefficients")


def _expansion(held: Expansion) -> None:
    n = len(held.support)
    need(held.coef.shape[1] == n == held.n_support.sum(dtype=float), "every support vector must have its coefficients")
    need(small(LARGEST, held.intercept), "intercepts must have sums that are numbers")


def _vectors(kernel: Kernel, parts: list[Part], d: int) -> None:
    """Support vectors that the kernel can be asked about."""
    need(kernel.centre is None or len(kernel.centre) == d, "the centre must have a place in every column")
    for part in parts:
        held = part.vectors
        if kernel.precomputed:
            there = isinstance(held, np.ndarray) and held.ndim == 1 and held.dtype == np.int64
            need(there and (not len(held) or (held.min() >= 0 and held.max() < d)), "a column that is not there")
            continue
        need(held.ndim == 2 and held.shape[1] == d and held.dtype.char in "df", "support vectors have other columns")
        need(sparse.issparse(held) == kernel.sparse, "sparse support vectors have a sparse kernel")
        cells = held.data if sparse.issparse(held) else held
        need(np.isfinite(cells).all(), "the cells of support vectors must be finite")


def _machine(model: Any) -> None:
    needs(model, "n_features_in_", "_kernel", "_parts", "support_", "support_vectors_", "dual_coef_", "intercept_")
    needs(model, "n_support_", "shape_fit_", "fit_status_")
    need(model.n_features_in_ > 0, "a machine must have a column")
    _vectors(model._kernel, model._parts, model.n_features_in_)
    n, shape, told = len(model.support_), model.shape_fit_, model._kernel.precomputed
    need(len(shape) == 2 and shape[1] == model.n_features_in_, "shape_fit_ must be rows and columns")
    need(not n or (model.support_.min() >= 0 and model.support_.max() < shape[0]), "a support vector must be a row")
    need(model.dual_coef_.shape[1] == n == model.n_support_.sum(dtype=float), "a coefficient of every support vector")
    held = model.support_vectors_
    need(type(held) is np.ndarray or sparse.issparse(held), "support_vectors_ must be a table")
    need(held.shape == ((0, 0) if told else (n, model.n_features_in_)), "support_vectors_ must have every column")
    need(sparse.issparse(held) == model._kernel.sparse and held.dtype.kind in "fiub", "support vectors must be numbers")
    named_columns(model)


def _svc(model: SVC) -> None:
    _machine(model)
    needs(model, "classes_", "_expansion", "class_weight_", "n_iter_", "gap_", "w_norm_", "kernel_", "_platt")
    found, K = model._expansion, len(model.classes_)
    need(model.classes_.ndim == 1 and K >= 2 and len(found.n_support) == K, "a machine must have two classes")
    machines = K * (K - 1) // 2 if found.paired else 1 if K == 2 else K
    need(not found.paired or K > 2, "two classes have one machine")
    need(found.coef.shape[0] == (K - 1 if found.paired else machines), "coefficients of every machine")
    sizes = found.n_support.tolist() if found.paired else [len(found.support)]
    need([p.coef.shape for p in model._parts] == [(len(found.coef), n) for n in sizes], "the vectors of every class")
    per_machine = [found.intercept, model.n_iter_, model.gap_, model.w_norm_, model.intercept_]
    per_machine += [
        getattr(model, f) for f in ("dual_value_", "primal_value_") if hasattr(model, f)
    ]  # older files: none
    need(all(part.shape == (machines,) for part in per_machine), "an intercept of every machine")
    need(model._platt is None or len(model._platt) == machines, "a sigmoid of every machine")
    need(model._platt is None or all(len(ab) == 2 for ab in model._platt), "a sigmoid has two numbers")
    need(model.class_weight_.shape == (K,), "a weight of every class")
    need(model.kernel_ == model._kernel.name, "kernel_ must be the kernel's name")
    need(len(model.dual_coef_) == len(found.coef) and len(model.n_support_) == K, "dual_coef_ of every machine")


def _svr(model: SVR) -> None:
    _machine(model)
    needs(model, "_b")
    need(len(model._parts) == 1 and len(model._parts[0].coef) == 1, "a regression has one machine")
    need(len(model.dual_coef_) == len(model.n_support_) == len(model.intercept_) == 1, "a regression has one machine")


def _linear(model: LinearSVC) -> None:
    needs(model, "classes_", "coef_", "intercept_", "n_iter_", "n_features_in_")
    K = len(model.classes_)
    need(model.classes_.ndim == 1 and K >= 2, "a plane lies between two classes")
    need(model.coef_.shape == (1 if K == 2 else K, model.n_features_in_), "a plane of every class")
    need(model.intercept_.shape == (len(model.coef_),), "an intercept of every plane")
    named_columns(model)


MACHINE = {
    **POINTS,
    "_kernel": of("Kernel"),
    "_parts": list_of(of("Part")),
    "support_": numbers("i", 1),
    "n_support_": numbers("i", 1),
    "support_vectors_": anything,
    "dual_coef_": floats(2),
    "intercept_": floats(1),
    "fit_status_": natural(),
    "shape_fit_": tuple_of(natural()),
}
_numbers_of = value(
    Kernel,
    _check_kernel,
    name=word(*NAMES),
    spec=of("KernelSpec") | none,
    centre=floats(1) | none,
    single=flag,
    coarse=flag,
    sparse=flag,
)
FORMS = {
    form.tag: form
    for form in (
        value(KernelSpec, _spec, kind=word(*KINDS), scale=finite, shift=finite, degree=natural((1 << 31) - 1)),
        replace(_numbers_of, take=_kernel_of, build=_kernel),
        value(Part, _part, vectors=anything, coef=floats(2)),
        value(
            Expansion,
            _expansion,
            support=ints(1, 0),
            n_support=ints(1, 0),
            coef=floats(2),
            intercept=floats(1),
            paired=flag,
        ),
        estimator(
            SVC,
            _svc,
            {
                **MACHINE,
                "classes_": array,
                "class_weight_": floats(1),
                "_expansion": of("Expansion"),
                "n_iter_": ints(1),
                "gap_": floats(1, finite=False),
                "w_norm_": floats(1, finite=False),
                "dual_value_": floats(1, finite=False),
                "primal_value_": floats(1, finite=False),
                "kernel_": text,
                "_platt": list_of(tuple_of(finite)) | none,
            },
        ),
        estimator(SVR, _svr, {**MACHINE, "_b": finite, "n_iter_": natural(), "gap_": real}),
        estimator(
            LinearSVC,
            _linear,
            {**POINTS, "classes_": array, "coef_": floats(2), "intercept_": floats(1), "n_iter_": natural()},
        ),
    )
}
