"""Every kernel by its formula, dense or sparse; single precision only where its error stays under the tolerance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import posteriori as po
from posteriori.errors import ModelError
from posteriori.kernels.margin import KernelSpec
from posteriori.margin import kernel as held
from posteriori.margin.kernel import (
    SINGLE_FROM,
    Kernel,
    _error_in_single,
    _fits,
    automatic,
    gamma_of,
    make_kernel,
    spec_of,
)

RBF = KernelSpec("rbf", 1.0)


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-4, 1e-6])
def test_single_ends_where_its_error_reaches_the_tolerance(tol):
    """C·√n·2⁻²² is the error of a sum of n values of size 1."""
    n = max(SINGLE_FROM, 10_000)
    most = tol * 2.0**22 / np.sqrt(n)
    assert _error_in_single(RBF, n, 1.0, 0.99 * most) <= tol
    assert _error_in_single(RBF, n, 1.0, 1.01 * most) > tol


def test_single_is_not_for_few_rows_nor_far_ones():
    assert _error_in_single(RBF, SINGLE_FROM - 1, 1.0, 1e-9) > 1e-3
    assert _error_in_single(RBF, SINGLE_FROM, 1.0, 1e-9) <= 1e-3
    assert _error_in_single(RBF, SINGLE_FROM, 1e30, 1e-9) > 1e-3


def test_larger_kernels_have_larger_errors():
    n, tol = max(SINGLE_FROM, 10_000), 1e-3
    most = tol * 2.0**22 / np.sqrt(n)
    for spec, size in (
        (KernelSpec("dot"), 4.0),
        (KernelSpec("polynomial", 1.0, 1.0, 2), 50.0),
        (KernelSpec("rbf", 5.0), 20.0),
    ):
        assert _error_in_single(spec, n, 4.0, 0.99 * most / size) <= tol
        assert _error_in_single(spec, n, 4.0, 1.01 * most / size) > tol


FORMULAS = {
    "linear": lambda A, B, g, c, d: A @ B.T + c,
    "polynomial": lambda A, B, g, c, d: (g * (A @ B.T) + c) ** d,
    "poly": lambda A, B, g, c, d: (g * (A @ B.T) + c) ** d,
    "rbf": lambda A, B, g, c, d: np.exp(-g * far(A, B) ** 2),
    "gaussian": lambda A, B, g, c, d: np.exp(-g * far(A, B) ** 2),
    "exponential": lambda A, B, g, c, d: np.exp(-g * far(A, B)),
    "laplacian": lambda A, B, g, c, d: np.exp(-g * far(A, B)),
    "sigmoid": lambda A, B, g, c, d: np.tanh(g * (A @ B.T) + c),
}


def far(A, B, order=2):
    return np.linalg.norm(A[:, None] - B[None], ord=order, axis=2)


def rows(n=25, d=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d)) + 2
    X[np.abs(X) < 1.0] = 0.0
    return X


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", FORMULAS)
def test_every_kernel_by_its_formula(name, form):
    X, Q, coef = rows(), rows(7, seed=1), np.random.default_rng(2).normal(size=(2, 25))
    model = po.SVC(kernel=name, gamma=0.3, coef0=0.7, degree=3)
    found = make_kernel(model, form(X), np.ones(25), 1.0)
    assert found.sparse == (form is sparse.csr_array)
    middle = found.centre if name == "linear" and found.centre is not None else 0.0  # which b takes back
    wanted = FORMULAS[name](Q - middle, X - middle, 0.3, 0.7, 3)
    sums = found.sums(form(Q), [(found.ready(form(X)), coef)])[0]
    close = {"rel": 1e-9, "abs": 1e-6 if found.sparse else 1e-12}  # roots of differences of squares
    assert sums == pytest.approx(wanted @ coef.T, **close)
    whole = found.gram(form(X), 200.0).block(np.arange(25))[:, :25]
    assert whole == pytest.approx(FORMULAS[name](X - middle, X - middle, 0.3, 0.7, 3), **close)
    centred = name not in ("polynomial", "poly", "sigmoid") and form is np.asarray
    assert (found.centre is not None) == centred
    if centred and name != "linear":
        assert found.centre == pytest.approx(X.mean(axis=0))
    assert not found.single
    assert not found.coarse


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_widths_told_by_sigma_and_by_another_norm(form):
    X = rows()
    for name, sigma, scale in (("rbf", 2.0, 1 / 8), ("exponential", 2.0, 1 / 8), ("laplacian", 2.0, 1 / 2)):
        assert spec_of(po.SVC(kernel=name, sigma=sigma), name, X).scale == pytest.approx(scale)
    model = po.SVC(kernel="laplacian", gamma=0.4, norm=1)
    found = make_kernel(model, form(X), np.ones(25), 1.0)
    assert found.spec.kind == "manhattan"
    wanted = np.exp(-0.4 * far(X, X, 1))
    assert found.gram(form(X), 200.0).block(np.arange(25))[:, :25] == pytest.approx(wanted)
    tight = found.gram(form(X), 0.0)  # no room for the whole
    assert tight.block(np.arange(25))[:, :25] == pytest.approx(wanted, rel=1e-5)
    assert tight.definite
    assert found.gram(form(X), 200.0).definite


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_gamma_is_one_over_the_columns_and_their_variance(form, weighted):
    X, w = rows(), np.arange(1, 26)
    written = np.repeat(X, w, axis=0) if weighted else X
    assert gamma_of("scale", form(X), w.astype(float) if weighted else None) == pytest.approx(1 / (3 * written.var()))
    assert gamma_of("auto", form(X)) == pytest.approx(1 / 3)
    assert gamma_of(0.25, form(X)) == 0.25
    assert gamma_of("scale", form(np.ones((4, 2)))) == 1.0
    assert spec_of(po.SVC(gamma=7.0), "linear", X) == KernelSpec("dot", 1.0, 0.0, 0)
    assert spec_of(po.SVC(gamma=7.0, coef0=2.0, degree=4), "poly", X) == KernelSpec("polynomial", 7.0, 2.0, 4)


def test_the_choice_and_other_kernels():
    assert automatic(10, 11) == "linear"
    assert automatic(10, 10) == "rbf"
    X = rows()
    assert make_kernel(po.SVC(kernel="auto"), X, np.ones(25), 1.0).name == "rbf"
    own = make_kernel(po.SVC(kernel=lambda a, b: a @ b.T), X, np.ones(25), 1.0)
    assert own.name == "callable"
    assert own.gram(X, 200.0).block(np.arange(25))[:, :25] == pytest.approx(X @ X.T)
    assert own.gram(X, 0.0).dtype == np.float32
    fits = 8 * 25**2 / 2**20  # megabytes of its matrix
    assert [own.gram(X, share * fits).dtype for share in (1.0, 0.999)] == [np.float64, np.float32]
    assert own.ready(X) is X
    told = make_kernel(po.SVC(kernel="precomputed"), X @ X.T, np.ones(25), 1.0)
    assert told.precomputed
    assert told.gram(X @ X.T, 1.0).width == 25


def test_precision_by_size_and_tolerance():
    n = SINGLE_FROM
    X = np.random.default_rng(0).normal(size=(n, 2))
    kernels = {tol: make_kernel(po.SVC(gamma=1.0, tol=tol), X, np.ones(n), C) for tol, C in ((1e-2, 1.0), (1e-6, 1.0))}
    assert kernels[1e-2].single
    assert not kernels[1e-6].single
    assert not kernels[1e-6].coarse  # a tolerance below 1e-5 wants every digit
    middle = make_kernel(po.SVC(gamma=1.0, tol=1e-5), X, np.ones(n), 100.0)
    assert (middle.single, middle.coarse) == (False, True)
    assert not make_kernel(po.SVC(gamma=1.0, tol=1e-5), X, np.ones(n), 1e7).coarse
    assert middle.gram(X, 1.0).coarse
    assert middle.gram(X, 1.0).dtype == np.float32
    far_out = kernels[1e-2].sums(np.array([[1e16, 0.0]]), [(kernels[1e-2].ready(X), np.ones((1, n)))])[0]
    assert far_out.tolist() == [[0.0]]


def test_rows_too_large_for_a_kernel_are_named():
    huge = np.full((3, 2), 1e80)
    for name in ("poly", "sigmoid"):
        with pytest.raises(ModelError, match=f"too large for the {name} kernel"):
            make_kernel(po.SVC(kernel=name, gamma=1.0), huge, np.ones(3), 1.0)
    with pytest.raises(ModelError, match="too large for the linear kernel"):
        make_kernel(po.SVC(kernel="linear"), sparse.csr_array(huge), np.ones(3), 1.0)
    assert make_kernel(po.SVC(kernel="linear"), huge, np.ones(3), 1.0) is not None  # beside their mean they are nothing
    small = make_kernel(po.SVC(kernel="poly", gamma=1.0), rows(), np.ones(25), 1.0)
    with pytest.raises(ModelError, match="a row is too far out for the poly kernel"):
        small.sums(np.full((1, 3), 1e200), [(small.ready(rows()), np.ones((1, 25)))])


def test_sums_row_by_row_are_sums_of_all(monkeypatch):
    X, Q, coef = rows(), rows(7, seed=1), np.random.default_rng(2).normal(size=(2, 25))
    for kernel in ("rbf", "laplacian", lambda a, b: (a @ b.T) ** 2):
        found = make_kernel(po.SVC(kernel=kernel, gamma=0.3), X, np.ones(25), 1.0)
        parts = [(found.ready(X[:9]), coef[:, :9]), (found.ready(X[9:]), coef[:, 9:])]
        whole = found.sums(Q, parts)
        monkeypatch.setattr(held, "AT_ONCE", 1)
        for one, other in zip(found.sums(Q, parts), whole, strict=True):
            assert one == pytest.approx(other, rel=1e-12)
        monkeypatch.undo()


@pytest.mark.parametrize(("name", "at"), [("poly", 1e50), ("sigmoid", 1e150), ("rbf", 1e150), ("linear", 1e150)])
def test_values_up_to_a_hundred_and_fifty_digits_fit(name, at):
    """Of a polynomial of degree 3 the square of a row may have fifty."""
    spec = spec_of(po.SVC(kernel=name, gamma=1.0), name, rows())
    _fits(name, spec, at * 0.99)
    with pytest.raises(ModelError, match=f"too large for the {name} kernel"):
        _fits(name, spec, at * 1.01)
    shifted = KernelSpec("dot", 1.0, -2e150, 0)
    with pytest.raises(ModelError, match="too large for the linear kernel"):
        _fits("linear", shifted, 1.0)
    _fits("linear", KernelSpec("dot", 1.0, -2e149, 0), 1.0)


def test_rows_beyond_single_precision_are_in_double():
    for largest, finite in ((0.99e30, True), (1.01e30, False)):
        assert np.isfinite(_error_in_single(KernelSpec("rbf", 1e-30), SINGLE_FROM, largest, 1.0)) == finite
    n = 10_000
    assert _error_in_single(KernelSpec("dot", 1.0, 0.0, 0), n, 0.01, 1.0) == pytest.approx(100 * 2.0**-22)
    poly = _error_in_single(KernelSpec("polynomial", 2.0, -3.0, 2), n, 5.0, 4.0)
    assert poly == pytest.approx(4 * 100 * 13.0**2 * 2 * 2.0**-22)  # of a power each factor is wrong
    assert _error_in_single(KernelSpec("rbf", 3.0), n, 5.0, 1.0) == pytest.approx(100 * 15 * 2.0**-22)


@pytest.mark.parametrize("single", [False, True])
def test_rows_are_measured_from_the_centre_in_the_precision_asked_for(single):
    X = rows()
    kernel = Kernel("rbf", RBF, centre=np.array([1.0, 2.0, 3.0]), single=single)
    for asked, dtype in ((None, np.float32 if single else np.float64), (True, np.float32), (False, np.float64)):
        table = kernel.table(sparse.csr_array(X), asked)
        assert table.dtype == dtype
        assert table == pytest.approx(X - [1.0, 2.0, 3.0], rel=1e-6)
    assert Kernel("rbf", RBF).table(X).tolist() == X.tolist()
    far = np.array([[2e15, 0.0, 0.0]])
    near = np.array([[0.5, 0.0, 0.0]])
    both = kernel.sums(np.vstack([near, far]), [(kernel.ready(X), np.ones((1, 25)))])[0]
    wanted = np.exp(-(((np.vstack([near, far])[:, None] - X) ** 2).sum(axis=2))).sum(axis=1)
    assert both[:, 0] == pytest.approx(wanted, rel=1e-4)
