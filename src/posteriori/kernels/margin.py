"""Kernel-matrix blocks, the pairwise solver, dual coordinate descent and ridge logistic regression, compiled.

Twins in `reference.margin` say what each computes; symbols as there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..arrays import Array, Floats, Ints
from ..fields import NOT_NEGATIVE, OneOf, Within
from . import n_threads, native

WORTH_A_THREAD = 20_000_000  # elementary steps, some milliseconds: less is done before another thread has begun
CELLS = 500_000  # of rows whose dots or sums are worth a thread: about a millisecond; with fewer it loses to its start
ALIGNED = 8  # columns: a row of `square` is a multiple of this
KINDS = ("dot", "polynomial", "sigmoid", "rbf", "distance", "manhattan")


class KernelSpec(NamedTuple):
    """A kernel by its kind and numbers; `reference.margin.kernel_rows` states the formula of each kind."""

    kind: Annotated[str, OneOf(KINDS)]
    scale: Annotated[float, NOT_NEGATIVE] = 1.0
    shift: float = 0.0
    degree: Annotated[int, Within(0, (1 << 31) - 1)] = 1


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """Rows laid out for the block kernels: `panels` (⌈n/width⌉, d, width), `norms` ‖x‖² padded with zeros, and n."""

    rows: Array
    panels: Array
    norms: Array

    @property
    def n(self) -> int:
        return len(self.rows)


def pack(rows: Array, n_jobs: int | None = None) -> Packed:
    """Lay out rows (float32 or float64, C order) for `kernel_rows` and `kernel_sums`."""
    rows = np.ascontiguousarray(rows)
    n, d = rows.shape
    width = native().panel_width(rows.dtype == np.float32)
    count = -(-n // width)
    panels = np.empty((count, d, width), rows.dtype)
    norms = np.empty(count * width, rows.dtype)
    native().pack_rows(rows, panels, norms, n_threads(n_jobs, n * d))
    return Packed(rows, panels, norms)


def _numbers(spec: KernelSpec) -> tuple[int, float, float, int]:
    return KINDS.index(spec.kind), float(spec.scale), float(spec.shift), int(spec.degree)


def kernel_rows(
    spec: KernelSpec, a: Array, a_norms: Array, b: Packed, out: Array, slot: Ints, n_jobs: int | None = None
) -> None:
    """out[slot[i], j] = K(a_i, b_j) for the first n columns of `out`; the rest of it is left as it is."""
    threads = n_threads(n_jobs, len(a) * b.n * (a.shape[1] + 16), WORTH_A_THREAD)
    native().kernel_rows(*_numbers(spec), a, a_norms, b.panels, b.norms, out, slot, b.n, threads)


def kernel_square(spec: KernelSpec, b: Packed, out: Array, n_jobs: int | None = None) -> None:
    """out[i, j] = K(b_i, b_j) for the first n rows and columns of `out`, one half computed and mirrored."""
    threads = n_threads(n_jobs, b.n * b.n * (b.rows.shape[1] + 16) // 2, WORTH_A_THREAD)
    native().kernel_square(*_numbers(spec), b.rows, b.panels, b.norms, out, threads)


class SparseColumns(NamedTuple):
    """The rows of a sparse table by columns (CSC): int64 starts, int32 rows, values; ‖x‖² of each row."""

    starts: Array
    at: Array
    values: Floats
    norms: Floats


def sparse_kernel_rows(
    spec: KernelSpec, a: Any, a_norms: Floats, b: SparseColumns, out: Array, slot: Ints, n_jobs: int | None = None
) -> None:
    """out[slot[i], j] = K(a_i, b_j) for CSR rows a (int64 starts, int32 columns); not for kind "manhattan"."""
    threads = n_threads(n_jobs, a.shape[0] * (4 * len(b.norms) + len(b.values)), WORTH_A_THREAD)
    native().sparse_kernel_rows(*_numbers(spec), a.indptr, a.indices, a.data, a_norms, *b, out, slot, threads)


def kernel_sums(
    spec: KernelSpec, a: Array, a_norms: Array, b: Packed, coef: Floats, n_jobs: int | None = None
) -> Floats:
    """out[i, c] = Σ_j K(a_i, b_j) coef[c, j], the kernel never stored."""
    out = np.zeros((len(a), len(coef)))
    threads = n_threads(n_jobs, len(a) * b.n * (a.shape[1] + 16), WORTH_A_THREAD)
    native().kernel_sums(*_numbers(spec), a, a_norms, b.panels, b.norms, np.ascontiguousarray(coef), out, b.n, threads)
    return out


def square(q: int, dtype: Any, room: Array | None = None) -> Array:
    """Space for a (q, q) matrix whose rows are whole registers, in the bytes of `room` where it fits; 0 beyond column q."""
    shape = (q, -(-q // ALIGNED) * ALIGNED)
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    fits = room is not None and size <= room.nbytes
    out = room[:size].view(dtype).reshape(shape) if fits and room is not None else np.empty(shape, dtype)
    out[:, q:] = 0.0
    return out


def smo_block(
    K: Array, low: Floats, high: Floats, beta: Floats, v: Floats, tol: float, max_steps: int
) -> tuple[int, float]:
    """Pairs moved and the gap left; beta and v = p − Kβ change in place until the gap is under `tol`.

    K is (q, q) or, which saves a copy, the first q columns of the wider array that `square` gives.
    """
    q = len(K)
    if K.shape == (q, q) and q % ALIGNED:
        K, given = square(q, K.dtype), K
        K[:, :q] = given
    steps, gap = native().smo_block(K, low, high, beta, v, tol, max_steps)
    return int(steps), float(gap)


class Machines(NamedTuple):
    """Problems over the rows of one matrix K, laid end to end: that of machine k from starts[k] to starts[k + 1].

    Variable i has row rows[i] of K.
    """

    starts: Ints
    rows: Ints
    p: Floats
    low: Floats
    high: Floats


def smo_machines(
    K: Array, machines: Machines, tol: float, max_steps: int, n_jobs: int | None = None
) -> tuple[Floats, Floats, Floats]:
    """(β, v, ends) of every problem, solved as `smo_block` does; ends (machines, 5): steps, gap, intercept,
    βᵀKβ, and how far v may have drifted from p − Kβ.

    K is what `square` gives, its first columns filled.
    """
    n, count = len(machines.p), len(machines.starts) - 1
    beta, v, ends = np.empty(n), np.empty(n), np.empty((count, 5))
    threads = n_threads(n_jobs, 5 * n * n // max(1, count), 2_000_000) if count > 1 else 1
    native().smo_machines(K, *machines, tol, max_steps, beta, v, ends, threads)
    return beta, v, ends


def merge_rows(X: Floats, target: Floats, weight: Floats, directions: Floats) -> tuple[Ints, Floats, Ints, Floats]:
    """(first, total, group, share): equal rows of positive weight with equal targets, in the order of the targets.

    Rows are compared where their projections on the two directions agree.
    """
    n = len(X)
    first, total, group, share = np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64), np.empty(n)
    found = native().merge_rows(X, target, weight, directions, first, total, group, share)
    return first[:found], total[:found], group, share


def pair_votes(decisions: Floats, n_classes: int) -> Floats:
    """One score a class from the decisions of every pair, in order: its wins, and below them (under ½) their sum."""
    out = np.empty((len(decisions), n_classes))
    native().pair_votes(np.ascontiguousarray(decisions), out)
    return out


def subtract_rows(rows: Array, slot: Ints, step: Floats, v: Floats, n_jobs: int | None = None) -> None:
    """v[j] −= Σ_r step[r] · rows[slot[r], j], in place."""
    native().subtract_rows(rows, slot, step, v, n_threads(n_jobs, len(slot) * len(v), 4_000_000))


def row_dots(X: Any, w: Floats, bias: float, n_jobs: int | None = None) -> Floats:
    """x_iᵀw + bias·w_last of every row of X (as `descend` takes it)."""
    dense = isinstance(X, np.ndarray)
    rows = (X,) if dense else (X.indptr, X.indices, X.data)
    call, out = native().row_dots_dense if dense else native().row_dots_sparse, np.empty(X.shape[0])
    call(*rows, float(bias), w, out, n_threads(n_jobs, rows[-1].size, CELLS))
    return out


def row_sums(X: Any, weight: Floats, bias: float, w: Floats | None = None, n_jobs: int | None = None) -> Floats:
    """Σ weight_i x̃_i or, with w, Σ weight_i (x̃_iᵀw) x̃_i, x̃ = (x, bias); rows of weight 0 are not read."""
    dense = isinstance(X, np.ndarray)
    rows = (X,) if dense else (X.indptr, X.indices, X.data)
    call, out = native().row_sums_dense if dense else native().row_sums_sparse, np.empty(X.shape[1] + 1)
    given = np.empty(0) if w is None else w
    call(*rows, float(bias), weight, given, out, n_threads(n_jobs, rows[-1].size, CELLS))
    return out


def row_squares(X: Any, weight: Floats, bias: float, n_jobs: int | None = None) -> Floats:
    """Σ weight_i x̃_i², cell by cell, x̃ = (x, bias)."""
    dense = isinstance(X, np.ndarray)
    rows = (X,) if dense else (X.indptr, X.indices, X.data)
    call, out = native().row_squares_dense if dense else native().row_squares_sparse, np.empty(X.shape[1] + 1)
    call(*rows, float(bias), weight, out, n_threads(n_jobs, rows[-1].size, CELLS))
    return out


def squared_hinge(margin: Floats, slope: Floats, C: Floats, t: float = 0.0) -> tuple[float, float, float]:
    """(Σ C s², Σ C s·slope, Σ C·slope² where s > 0), s = max(0, 1 − margin − t·slope)."""
    value, first, second = native().squared_hinge(margin, slope, C, t)
    return float(value), float(first), float(second)


def conjugate(
    X: Any,
    weight: Floats,
    bias: float,
    scale: Floats,
    state: tuple[Floats, Floats, Floats],
    enough: float,
    max_steps: int,
    n_jobs: int | None = None,
) -> int:
    """Conjugate gradients for (1 + Σ weight_i x̃_i x̃_iᵀ) out = g, until Σ scale·rest² ≤ enough: the steps taken.

    `state` is (out, rest = g − H out, along = the next direction), changed in place; it begins as (0, g, scale·g).
    """
    dense = isinstance(X, np.ndarray)
    rows = (X,) if dense else (X.indptr, X.indices, X.data)
    call = native().conjugate_dense if dense else native().conjugate_sparse
    threads = n_threads(n_jobs, rows[-1].size, CELLS)
    return int(call(*rows, float(bias), weight, scale, *state, enough, max_steps, threads))


class Epoch(NamedTuple):
    """How many rows are in play, and the extreme projected gradients of a pass."""

    active: int
    top: float = np.inf
    bottom: float = -np.inf


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """Dual coordinate descent under way: see `reference.margin.descend` for the letters."""

    y: Floats
    upper: Floats
    ridge: Floats
    curvature: Floats
    bias: float
    alpha: Floats
    w: Floats
    order: Ints


def descend(X: Any, state: Descent, last: Epoch, seed: int) -> Epoch:
    """One pass of dual coordinate descent over the active rows of X (dense, or CSR with int64 starts and int32 columns)."""
    constants = (state.y, state.upper, state.ridge, state.curvature, float(state.bias))
    rest = (*constants, state.alpha, state.w, state.order, *last, seed)
    if isinstance(X, np.ndarray):
        return Epoch(*native().descend_dense(X, *rest))
    return Epoch(*native().descend_sparse(X.indptr, X.indices, X.data, *rest))


def free_move(X: Any, state: Descent, free: Ints, max_steps: int) -> Floats:
    """−Q⁻¹g over the rows `free` of a descent, by at most `max_steps` conjugate gradients; see the reference."""
    constants = (state.y, state.upper, state.ridge, state.curvature, float(state.bias))
    move = np.empty(len(free))
    rest = (*constants, state.alpha, state.w, state.order, free, max_steps, move)
    if isinstance(X, np.ndarray):
        native().free_move_dense(X, *rest)
    else:
        native().free_move_sparse(X.indptr, X.indices, X.data, *rest)
    return move


def ridge_folds(
    points: Floats,
    y: Array,
    weights: Floats,
    rows: list[Array],
    offset: Floats,
    charge: Floats,
    metric: Floats,
    B: Floats,
    steps: int,
    tol: float,
    n_jobs: int | None = None,
) -> Floats:
    """L of each model, whose B[m] walks from where it is to where L of its own rows is least.

    L = Σ_r w_r/W ln Σ_c exp(η_rc − η_r,y_r) + ½ Σ_cj charge_j B[c, j]²/W, W = Σ_r w_r, η = B z + intercept + offset; one
    row of B, that of the second class, where there are two. `metric` is about the inverse of L's second derivatives. A
    walk ends with a step that would promise less than `tol`, or after so many `steps`. Threads take a model each.
    """
    ends = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
    loss = np.empty(len(rows))
    at = np.concatenate(rows).astype(np.int32)
    threads = n_threads(n_jobs, 10 * len(at) * metric.size)
    y = np.ascontiguousarray(y, dtype=np.uint32)
    native().ridge_folds(points, y, weights, at, ends, offset, charge, metric, B, loss, steps, float(tol), threads)
    return loss
