"""LinearSVC: the linear margin for tables too long for a kernel matrix.

Its objective is liblinear's, the intercept regularised with the rest:

    min ½‖w̃‖² + Σ C_i loss(1 − y_i w̃ᵀx̃_i)      w̃ = (w, b/s), x̃ = (x, s), s = intercept_scaling

loss(m) is max(0, m) ("hinge") or max(0, m)² ("squared_hinge").

Three ways to the same minimum. *Dual coordinate descent* visits one row at a time and keeps w = Σ α_i y_i x_i; it suits any
table. Between its passes, conjugate gradients move all rows whose α is off its bounds together. *Pairs* (`smo`) end the
hinge on dense rows of which at most some hundred are in doubt, in a fraction of those passes. *Newton* works on the squared
hinge itself, which is piecewise quadratic: with A the rows inside the margin,

    g = w̃ − 2 Σ_A C_i y_i (1 − y_i w̃ᵀx̃_i) x̃_i,      H = 1 + 2 Σ_A C_i x̃_i x̃_iᵀ

and a few steps H⁻¹g end it. With few columns H is a matrix, to which rows that enter A are added and from which those that
leave are taken; with many, conjugate gradients need only its products.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from numbers import Real
from threading import Event
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor
from scipy.linalg.lapack import dpotrf, dpotrs
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, Bools, Floats, Ints
from ..errors import ModelError
from ..estimator import ABOVE_0, AT_LEAST_1, ClassWeight, Estimator, NJobs, RandomState, learning, parameters
from ..fields import Natural, need
from ..kernels import conjugate, descend, free_move, n_threads, row_dots, row_squares, row_sums, squared_hinge
from ..kernels.margin import Descent, Epoch, KernelSpec, Machines, pack
from ..table.frame import ScoresTables
from .kernel import LARGEST, DenseGram, wide_csr
from .kernel import row_squares as lengths
from .machines import merge, read_classes, read_table, refuse_rounding, together
from .smo import Limits, Solution, solve_together

FEW_COLUMNS = 1000  # up to here a Hessian is worth its memory and its factor
FEW_ROWS = 1000  # the same for the matrix of rows in doubt: the hinge by pairs
ALL_AT_ONCE = 300  # rows that are all in doubt: descent would tell no more
MORE_PASSES = 60  # of descent, while they leave too many
TURNS = 10  # times that rows may join them
FEW_SPARSE = 50  # the same for sparse rows, whose products are cheap
PASSES = 10  # of descent between two steps of all free rows
SLICE = 8192  # rows whose products are summed at once
AS_GOOD = 0.8  # share of its rows with which a scale still serves
PATIENCE = 2**28  # cells that one call may visit: some tenths of a second, so that Ctrl-C is obeyed


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """w̃, and how it was come by."""

    w: Floats
    rounds: int
    converged: bool


def objective(X: Any, y: Floats, C: Floats, w: Floats, bias: float, loss: str) -> float:
    """½‖w̃‖² + Σ C_i loss(1 − y_i w̃ᵀx̃_i)."""
    slack = np.maximum(0.0, 1.0 - y * (X @ w[:-1] + bias * w[-1]))
    return float(0.5 * w @ w + C @ (slack if loss == "hinge" else slack**2))


def by_pairs(
    X: Floats, y: Floats, C: Floats, bias: float, tol: float, rounds: int, seed: int, n_jobs: int | None = None
) -> Plane | None:
    """The hinge on dense rows by the solver of pairs, over the rows in doubt; None where they are many or it takes long.

    Of many rows some passes of descent tell which are not: those at a bound on its right side. The others are solved with
    these held, and whoever turns out to violate joins them.
    """
    n = len(y)
    state, last, k = _begin(X, y, C, bias, "hinge"), Epoch(n), 0
    while n > ALL_AT_ONCE and k < rounds and (k < PASSES or (last.active > FEW_ROWS and k < MORE_PASSES)):
        last = Epoch(*descend(X, state, last, seed + k))
        k += 1
    beta, doubt = y * state.alpha, np.sort(state.order[: last.active])
    low, high = np.minimum(0.0, y * C), np.maximum(0.0, y * C)
    for _ in range(TURNS):
        left = rounds - k
        if len(doubt) > FEW_ROWS or left <= 0:
            return None
        beta[doubt] = 0.0
        held = row_sums(X, beta, bias, None, n_jobs)
        found = _in_doubt(
            X[doubt], y[doubt] - row_dots(X, held, bias, n_jobs)[doubt], low[doubt], high[doubt], bias, tol, left
        )
        if found is None:
            return None
        beta[doubt] = found.beta[:-1]
        k += -(-found.steps // n)
        w = row_sums(X, beta, bias, None, n_jobs)
        if not found.converged:
            return Plane(w, k, False)
        v = y - row_dots(X, w, bias, n_jobs)  # summed anew: what the solver of pairs had may have drifted
        off = np.maximum(np.where(beta < high, v, 0.0), np.where(beta > low, -v, 0.0))
        more = np.union1d(doubt, np.flatnonzero(off > 0.5 * tol))
        if len(more) == len(doubt):
            return Plane(w, k, True) if off.max(initial=0.0) <= tol else None
        doubt = more
    return None


def _in_doubt(X: Floats, p: Floats, low: Floats, high: Floats, bias: float, tol: float, rounds: int) -> Solution | None:
    """min ½‖Σβ_i x̃_i‖² − pᵀβ between the bounds, to half of tol; the last β is no row's.

    The solver of pairs has Σβ = 0, this problem has not: a row of zeros whose multiplier may be anything takes up the rest.
    """
    m, d = X.shape
    rows = np.zeros((m + 1, d + 1))
    rows[:m, :d], rows[:m, d] = X, bias
    most = float((high - low).sum())
    ends = (np.append(a, x) for a, x in ((p, 0.0), (low, -most), (high, most)))
    problem = Machines(np.array([0, m + 1]), np.arange(m + 1), *ends)
    return solve_together(DenseGram(KernelSpec("dot"), pack(rows)), problem, Limits(0.5 * tol, rounds * m), np.inf)[0]


def _begin(X: Any, y: Floats, C: Floats, bias: float, loss: str) -> Descent:
    n, d = X.shape
    squares = np.einsum("ij,ij->i", X, X) if isinstance(X, np.ndarray) else lengths(X)
    ridge = np.zeros(n) if loss == "hinge" else 0.5 / C
    upper = C if loss == "hinge" else np.full(n, np.inf)
    state = Descent(y, upper, ridge, squares + bias**2 + ridge, bias, np.zeros(n), np.zeros(d + 1), np.arange(n))
    state.curvature[state.curvature == 0] = 1.0  # a row of zeros under the hinge: its α goes to the bound at once
    return state


def by_descent(
    X: Any,
    y: Floats,
    C: Floats,
    bias: float,
    tol: float,
    rounds: int,
    loss: str,
    seed: int,
    interrupted: Event | None = None,
) -> Plane:
    """Dual coordinate descent, until the projected gradients of a pass over all rows lie within `tol` of each other."""
    n, state = len(y), _begin(X, y, C, bias, loss)
    last = Epoch(n)
    for k in range(rounds):
        if interrupted is not None and interrupted.is_set():
            return Plane(state.w, k, False)
        last = Epoch(*descend(X, state, last, seed + k))
        if last.top - last.bottom <= tol:
            if last.active == n:
                return Plane(state.w, k + 1, True)
            last = Epoch(n)  # all rows once more, before it may end
        elif k % PASSES == PASSES - 1:
            _move_free(X, state, np.sort(state.order[: last.active]))
    return Plane(state.w, rounds, False)


@np.errstate(over="ignore", invalid="ignore")  # a step that is not a number is not taken
def _move_free(X: Any, state: Descent, active: Ints) -> None:
    """A step of all free rows F (0 < α < upper) at once, kept where the dual objective falls:

    Δ ≈ −Q⁻¹g over F,  g_i = y_i x̃_iᵀw − 1 + ridge_i α_i,  Q_ij = y_i y_j x̃_iᵀx̃_j + [i = j] ridge_i
    """
    free = active[(state.alpha[active] > 0) & (state.alpha[active] < state.upper[active])]
    move, change = free_move(X, state, free, 2 * PASSES), np.zeros(len(state.y))
    y, alpha, ridge, upper = (a[free] for a in (state.y, state.alpha, state.ridge, state.upper))
    start = _dot(state.w, state.w) + _dot(ridge * alpha, alpha) - 2.0 * float(alpha.sum())
    for part in (1.0, 0.5, 0.25, 0.125):
        there = np.clip(alpha + part * move, 0.0, upper)
        change[free] = y * (there - alpha)
        w = state.w + row_sums(X, change, state.bias, None, 1)
        if _dot(w, w) + _dot(ridge * there, there) - 2.0 * float(there.sum()) < start:
            state.alpha[free], state.w[:] = there, w
            return


def by_newton(X: Any, y: Floats, C: Floats, bias: float, tol: float, rounds: int, n_jobs: int | None = None) -> Plane:
    """Newton's method on the squared hinge with a step that always descends.

    It ends with the step whose decrement, what it promises to gain, is at most a share `tol` of the objective: a rule that
    the units of the columns do not change. The step itself leaves far less.
    """
    n, d = X.shape
    w, margin = np.zeros(d + 1), np.zeros(n)
    few = d <= (FEW_COLUMNS if isinstance(X, np.ndarray) else FEW_SPARSE)
    curvature = Hessian(X, C, bias) if few else Products(X, C, bias, n_jobs)
    for k in range(rounds):
        slack = np.maximum(0.0, 1.0 - margin)
        g = w - 2.0 * row_sums(X, C * y * slack, bias, None, n_jobs)
        move = curvature.direction(g, slack > 0.0)
        start = _dot(g, move)
        slope = y * row_dots(X, move, bias, n_jobs)
        done = -0.5 * start <= tol * (0.5 * _dot(w, w) + squared_hinge(margin, slope, C)[0])
        step = _step(margin, slope, C, w, move, start)
        w, margin = w + step * move, margin + step * slope
        if done:
            return Plane(w, k + 1, True)
    return Plane(w, rounds, False)


class Hessian:
    """H as a matrix: rows that enter or leave the margin are added or taken."""

    def __init__(self, X: Any, C: Floats, bias: float):
        self.X, self.C, self.bias = X, C, bias
        self.inside = np.zeros(X.shape[0], bool)
        self.H = np.eye(X.shape[1] + 1)

    def direction(self, g: Floats, inside: Bools) -> Floats:
        """−H⁻¹g."""
        self.H += self._squares(inside & ~self.inside) - self._squares(self.inside & ~inside)
        self.inside = inside
        factor, fault = dpotrf(self.H.T, lower=1)  # of LAPACK itself: SciPy's checks take longer than few columns
        if fault:  # what was added and taken has left its rounding errors: once more, from the rows
            self.H = np.eye(len(g)) + self._squares(inside)
            factor = cho_factor(self.H.T + np.diag(1e-13 * self.H.diagonal()), lower=True)[0]
        return -np.asarray(dpotrs(factor, g, lower=1)[0])

    def _squares(self, rows: Bools) -> Floats:
        """2 Σ C_i x̃_i x̃_iᵀ over the rows."""
        d = self.X.shape[1]
        total, at = np.zeros((d + 1, d + 1)), np.flatnonzero(rows)
        for part in range(0, len(at), SLICE):
            here = at[part : part + SLICE]
            scaled = np.empty((len(here), d + 1))
            scaled[:, :d] = self.X[here].toarray() if sparse.issparse(self.X) else self.X[here]
            scaled[:, d] = self.bias
            scaled *= np.sqrt(2.0 * self.C[here])[:, None]
            total += scaled.T @ scaled
        return total


class Products:
    """H known by its products alone: conjugate gradients give H⁻¹g as well as is needed.

    Their scale is 1 + 2 Σ_A C x²/√cells of each column. H's own diagonal, without the root, would take out the units of the
    columns too, but also spread the directions in which no row lies: H is 1 there, whatever the number of cells.
    """

    def __init__(self, X: Any, C: Floats, bias: float, n_jobs: int | None = None):
        self.X, self.C, self.bias, self.n_jobs = X, C, bias, n_jobs
        n, d = X.shape
        cells = np.full(d, n) if isinstance(X, np.ndarray) else np.bincount(X.indices, minlength=d)
        self.root = np.sqrt(np.append(np.maximum(cells, 1), n))
        self.scale, self.rows = self.root, np.inf  # the rows inside when the scale was last made

    def direction(self, g: Floats, inside: Bools) -> Floats:
        """−H⁻¹g to a tenth of g, both in units of the scale."""
        weight, rows = np.where(inside, 2.0 * self.C, 0.0), int(np.count_nonzero(inside))
        if not AS_GOOD * self.rows <= rows <= self.rows:
            squares = row_squares(self.X, weight, self.bias, self.n_jobs)
            self.scale, self.rows = 1.0 / (1.0 + squares / self.root), rows
        scale = self.scale
        out, rest, along = np.zeros_like(g), -g, -scale * g
        enough = 0.01 * _dot(rest, along)
        share = max(1, PATIENCE // (self.X.size + 1))  # sparse rows may have no cell
        for _ in range(0, len(g), share):
            if conjugate(self.X, weight, self.bias, scale, (out, rest, along), enough, share, self.n_jobs) < share:
                break
        return out


def _step(margin: Floats, slope: Floats, C: Floats, w: Floats, move: Floats, start: float) -> float:
    """t > 0 where the derivative of the objective along w + t·move has shrunk to 3% of `start`, its value at 0.

    The derivative is increasing and piecewise linear in t, so Newton's method on it, kept between its bounds, ends.
    """
    along, length = _dot(w, move), _dot(move, move)
    t, low, high = 1.0, 0.0, np.inf
    for _ in range(30):
        _, first, second = squared_hinge(margin, slope, C, t)
        value = along + t * length - 2.0 * first
        if abs(value) <= 0.03 * abs(start):
            break
        low, high = (t, high) if value < 0 else (low, t)
        guess = t - value / (length + 2.0 * second)
        t = guess if low < guess < high else (low + high) / 2
    return t


def _dot(a: Floats, b: Floats) -> float:
    """aᵀb, without the threads of BLAS: there is too little to share."""
    return float(np.einsum("i,i->", a, b))


@parameters
class LinearSVC(ScoresTables, ClassifierMixin, Estimator):  # type: ignore[misc]
    """Linear support vector classifier: min ½(‖w‖² + b²/s²) + Σ C_i loss(1 − y_i(wᵀx_i + b)), one plane a class.

    Parameters
    ----------
    C : the price of a violated margin.
    loss : "squared_hinge" or "hinge".
    solver : "dual" (coordinate descent), "newton" (the squared hinge only), or "auto": newton where it applies, with up to
        1000 columns or more rows than columns; the hinge of dense rows by pairs, as `SVC`; else "dual".
    tol : for "dual" the spread of projected gradients, for "newton" the share of the objective that the last step may
        promise to gain.
    intercept_scaling : s, the constant column that carries the intercept; larger is less regularised.
    max_iter : passes over the rows, or Newton steps; a ConvergenceWarning says when they did not suffice.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[3., 3.], [4., 3.], [1., 1.]]), np.array([1, 1, -1])
    >>> LinearSVC(C=1e6, intercept_scaling=100.0).fit(X, y).coef_.round(2).tolist()
    [[0.5, 0.5]]
    """

    _: KW_ONLY
    C: Annotated[float, Interval(Real, 0.0, None, closed="right")] = 1.0
    loss: Annotated[str, StrOptions({"hinge", "squared_hinge"})] = "squared_hinge"
    solver: Annotated[str, StrOptions({"auto", "dual", "newton"})] = "auto"
    tol: Annotated[float, ABOVE_0] = 1e-4
    fit_intercept: bool = True
    intercept_scaling: Annotated[float, ABOVE_0] = 1.0
    class_weight: ClassWeight = None
    max_iter: Annotated[int, AT_LEAST_1] = 1000
    random_state: RandomState = None
    n_jobs: NJobs = None
    classes_: Annotated[Array, "K"] = field(init=False)
    coef_: Annotated[Floats, "planes d"] = field(init=False)
    intercept_: Annotated[Floats, "planes"] = field(init=False)
    n_iter_: Natural = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        K = len(self.classes_)
        need(K >= 2, "a plane lies between two classes")
        need(len(self.coef_) == (1 if K == 2 else K), "a plane of every class")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @learning
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearSVC:
        """Find the plane of each class against the rest (two classes: one plane)."""
        X, codes, weight, of_class = read_classes(self, X, y, sample_weight)
        bounds = self.C * weight * of_class[codes]
        if not (bounds > 0).all():
            X, codes, bounds = X[bounds > 0], codes[bounds > 0], bounds[bounds > 0]
        largest = float(np.abs(X.data if sparse.issparse(X) else X).max(initial=self._bias()))
        if not largest * largest * X.shape[1] * float(bounds.max()) < LARGEST:
            raise ModelError(
                f"a cell of {largest:.3g} is too large for C={self.C:g} and a weight of {float(weight.max()):g}: its "
                "square overflows. Scale the columns, or intercept_scaling, which is one of them, or the weights"
            )
        planes = self._planes(X, codes, bounds)
        w = np.stack([p.w for p in planes])
        self.coef_ = np.ascontiguousarray(w[:, :-1])
        self.intercept_ = w[:, -1] * self._bias()
        self.n_iter_ = max(p.rounds for p in planes)
        if not all(p.converged for p in planes):
            refuse_rounding("LinearSVC", float(bounds.max()), self.tol)
            warnings.warn(
                f"LinearSVC stopped after max_iter={self.max_iter} rounds with its gradient above tol={self.tol:g}. "
                "Raise max_iter, lower C, or scale the columns",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not np.isfinite(self.C):
            raise ModelError("LinearSVC needs a finite C; for a hard margin use SVC(kernel='linear', C=inf)")
        if self.solver == "newton" and self.loss == "hinge":
            raise ModelError("solver='newton' takes the squared hinge only; the hinge has no Hessian: use 'dual'")

    def _bias(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _planes(self, X: Any, codes: Any, bounds: Floats) -> list[Plane]:
        newton = self._use_newton(X)
        if not newton:  # the order of the rows counts: a weighted table and one written out must be the same
            merged = merge(X, codes, bounds)
            X, codes, bounds = X[merged.first], codes[merged.first], merged.weight
        X = _rows(X)
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        signs = [np.where(codes == k, 1.0, -1.0) for k in positives]
        rule = (bounds, self._bias(), self.tol, self.max_iter)
        if newton:  # its time is in BLAS, which has its own threads
            return [by_newton(X, sign, *rule, self.n_jobs) for sign in signs]
        seed = int(check_random_state(self.random_state).randint(1, 2**31 - 1))
        seeds = [seed + 1_000_003 * k for k in positives]
        pairs = self.solver == "auto" and self.loss == "hinge" and isinstance(X, np.ndarray)
        planes = [by_pairs(X, sign, *rule, at, self.n_jobs) if pairs else None for sign, at in zip(signs, seeds)]
        left = [i for i, plane in enumerate(planes) if plane is None]
        tasks = [partial(by_descent, X, signs[i], *rule, self.loss, seeds[i]) for i in left]
        found = iter(together(tasks, n_threads(self.n_jobs, len(tasks), 1)))
        return [next(found) if plane is None else plane for plane in planes]

    def _use_newton(self, X: Any) -> bool:
        suits = self.loss == "squared_hinge" and X.shape[1] <= max(FEW_COLUMNS, X.shape[0])
        return self.solver == "newton" or (self.solver == "auto" and suits)

    def decision_function(self, X: Any) -> Floats:
        """wᵀx + b: one value a row for two classes, else a column a class."""
        check_is_fitted(self)
        X = read_table(self, X)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.asarray(X @ self.coef_.T) + self.intercept_
        if not np.isfinite(scores).all():
            raise ModelError("a row is so far out that wᵀx overflows. Scale the columns")
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """The class on whose side of its plane x lies furthest."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)]


def _rows(X: Any) -> Any:
    """Rows as the compiled kernels take them."""
    return wide_csr(X) if sparse.issparse(X) else np.ascontiguousarray(X)
