"""Gaussian mixtures: P(x) = Σ_k π_k N(x; μ_k, Σ_k), by expectation and maximisation.

Symbols: r[n, k] = P(k | x_n); ℓ = Σ w log P(x) / Σ w, what is climbed.

What a fitted mixture answers, by its public attributes alone: densities, components, criteria, samples, pictures.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from sklearn.base import DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .. import views
from ..arrays import Array, Floats, Ints
from ..em import ROUNDING, Ascent, ascend
from ..errors import BadParameter, BadType, BadValue, ImpossibleEvidence, ModelError, answered, check_policy
from ..estimator import (
    AT_LEAST_0,
    AT_LEAST_1,
    AUTO,
    Estimator,
    NJobs,
    Progress,
    RandomState,
    learning,
    parameters,
)
from ..fields import MAYBE, NOT_NEGATIVE, UNBOUNDED, AnyFloats, Natural, OneOf, need
from ..kernels import normalise
from ..table.points import Border, read_points
from ..table.weights import check_weights
from . import starts
from .kmeans import stream
from .normals import KINDS, Climb, Normals, Restart, Sums, by_precisions, filled, log_joint, refuse_overflow

if TYPE_CHECKING:
    from ..views import Drawing

BORDER = Border(
    "a mixture needs every cell it has",
    words="Encode words as numbers first",
    floats=(np.float64, np.float32),
    allow_missing=True,
)


def read_cells(model: Any, X: Any, reset: bool) -> Array:
    """X as rows of floats, NaN where a cell is missing."""
    if hasattr(X, "tocsr"):
        raise BadType(f"{type(model).__name__} takes no sparse table: give it X.toarray()")
    found: Array = read_points(model, X, BORDER, reset=reset)
    return found


class Density(DensityMixin, Estimator):  # type: ignore[misc]
    """P(x) = Σ_k π_k N(x; μ_k, Σ_k) of the attributes `weights_`, `means_`, `covariances_` and `precisions_cholesky_`."""

    covariance_type: str
    n_jobs: int | None
    random_state: Any
    weights_: Annotated[AnyFloats, "K", NOT_NEGATIVE]
    means_: Annotated[AnyFloats, "K d"]
    covariances_: AnyFloats
    precisions_: AnyFloats
    precisions_cholesky_: AnyFloats
    n_components_: Annotated[Natural, "K"]
    restarts_: Annotated[tuple[Restart, ...], MAYBE]
    marks_: tuple[tuple[Natural, str], ...]
    _kind: Annotated[str, OneOf(KINDS)]

    def _theta(self, scale: Floats) -> Normals:
        """θ by the fitted attributes, in units."""
        kind, (K, d) = self._covariances_like(), self.means_.shape
        roots = np.asarray(self.precisions_cholesky_, dtype=np.float64)
        covariances = np.asarray(self.covariances_, dtype=np.float64)
        if kind == "spherical":
            roots, covariances = (np.repeat(a[:, None], d, axis=1) for a in (roots, covariances))
        if kind == "tied":
            roots, covariances = (np.broadcast_to(a, (K, d, d)) for a in (roots, covariances))
        if roots.ndim == 3:
            roots, covariances = roots * scale[:, None], covariances / scale[:, None] / scale
        else:
            roots, covariances = roots * scale, covariances / scale / scale
        weights = np.ascontiguousarray(self.weights_, dtype=np.float64)
        means = np.ascontiguousarray(np.asarray(self.means_, dtype=np.float64) / scale)
        return Normals(weights, means, np.ascontiguousarray(covariances), np.ascontiguousarray(roots))

    def _covariances_like(self) -> str:
        self._cached("checked", lambda: None)
        if self._kind != self.covariance_type:
            raise ModelError(
                f"covariance_type was {self._kind!r} in fit and is {self.covariance_type!r} now: fit again"
            )
        return self._kind

    def _log_joint(self, X: Any) -> Floats:
        """log π_k + log N(x; k) of each row."""
        check_is_fitted(self, "converged_")
        X = read_cells(self, X, reset=False)
        theta = self._theta(np.ones(X.shape[1]))
        return log_joint(theta, X, np.ones(X.shape[1]), self.n_jobs)

    def predict(self, X: Any) -> Ints:
        """The likeliest component of each row; the first of equals."""
        return np.asarray(self._log_joint(X).argmax(axis=1))

    def predict_proba(self, X: Any, impossible: str = "raise") -> Floats:
        """P(k | x) of each row and component; of rows too far from all of them π_k, counted, where impossible="prior"."""
        check_policy(impossible)
        shares, evidence = normalise(self._log_joint(X))
        if (never := evidence == -np.inf).any():
            if not answered(never, impossible):
                row = int(never.argmax())
                raise ImpossibleEvidence(f"row {row} is so far away that no component has a density there above zero")
            shares[never] = self.weights_
        return np.asarray(shares)

    def score_samples(self, X: Any) -> Array:
        """log P(x) of each row."""
        return np.asarray(normalise(self._log_joint(X))[1].astype(self.means_.dtype))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of ln P(x) over the rows, in nats: larger is better."""
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """−2 Σ ln P(x) + (free parameters) · ln n: smaller is better, as in scikit-learn."""
        evidence = normalise(self._log_joint(X))[1]
        return float(-2 * evidence.sum() + self._n_parameters() * np.log(len(evidence)))

    def aic(self, X: Any) -> float:
        """−2 Σ ln P(x) + 2 · (free parameters): smaller is better, as in scikit-learn."""
        return float(-2 * normalise(self._log_joint(X))[1].sum() + 2 * self._n_parameters())

    def _n_parameters(self) -> int:
        return n_parameters(self._covariances_like(), *self.means_.shape)

    def plot(self, X: Any, columns: tuple[int, int] = (0, 1)) -> Drawing:
        """Rows in the colours of their responsibilities under the components' ellipses; of one column, the density."""
        return views.drawing("a mixture", self, X, columns)

    def _repr_html_(self) -> str:
        return views.html("a mixture", self) if "marks_" in vars(self) else str(super()._repr_html_())

    def sample(self, n_samples: int = 1) -> tuple[Floats, Ints]:
        """n rows (X, k) drawn from the mixture, component after component."""
        check_is_fitted(self, "converged_")
        if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 1:
            raise BadParameter(
                f"Invalid value for 'n_samples': {n_samples!r}. The sampling requires at least one sample."
            )
        return self._drawn(int(n_samples), stream(self.random_state))

    def _drawn(self, n: int, random: np.random.RandomState) -> tuple[Floats, Ints]:
        theta = self._theta(np.ones(self.means_.shape[1]))
        shares = theta.weights / theta.weights.sum()
        counts = random.multinomial(n, shares)
        parts = []
        for mean, factor, count in zip(theta.means, theta.factors, counts):
            noise = random.standard_normal((count, len(mean)))
            parts.append(mean + (np.linalg.solve(factor.T, noise.T).T if factor.ndim == 2 else noise / factor))
        return np.vstack(parts), np.repeat(np.arange(len(counts)), counts)


def n_parameters(kind: str, K: int, d: int) -> int:
    """Free parameters: weights, means, covariances.

    >>> [n_parameters(kind, 2, 5) for kind in ("full", "tied", "diag", "spherical")]
    [41, 26, 21, 13]
    """
    covariances = {"full": K * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": K * d, "spherical": K}[kind]
    return covariances + K * d + K - 1


PATIENCE = 3  # numbers of components in a row that BIC likes less, after which "auto" looks no further


@dataclass(eq=False)
class Turn:
    """θ and, once it was seen, the sums of its rows: the next M-step."""

    theta: Normals
    expected: tuple[Normals, Sums] | None = None


Found = tuple[Normals, "Ascent[Turn] | None", list[Restart]]


@parameters
class GaussianMixture(Density):
    r"""P(x) = Σ_k π_k N(x; μ_k, Σ_k), by EM, with scikit-learn's parameters and attributes.

    Rows may have weights and missing cells (NaN): a row is as likely as the cells it has, and what it lacks is expected,
    with its spread. A component that collapses begins anew and is named in a warning (`restarts_`); where there are fewer
    different rows than components, several stand at one place, as wide as the floor. Ctrl-C keeps the best.
    The floor may make a turn fall (`marks_`): the best since the last restart is kept. `lower_bounds_` has ℓ of every turn
    and, with `verbose=2`, `expected_` Q(θ|θ) and Q(θ'|θ) of every M-step between them, all as means over the rows.

    Parameters
    ----------
    n_components : int or "auto", default=1
        "auto" takes the number, up to `max_components`, that BIC likes best; `bic_curve_` has them all.
        A row of weight w counts as w rows: weights that sum to one tell BIC of a single row.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
    tol : float, default=1e-3
        The climb ends where the mean log-likelihood changes by less.
    reg_covar : float, default=1e-6
        The floor: added to every variance.
    max_iter, n_init, init_params, weights_init, means_init, precisions_init, random_state, warm_start, verbose, \
        verbose_interval : as in scikit-learn
    max_components : int, default=10
        The largest number that "auto" tries.
    progress : callable, default=None
        Called with the turn and the mean log-likelihood.
    n_jobs : int, default=None
        Threads; they never change a result.

    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, np.nan]])
    >>> model = GaussianMixture(2, random_state=0).fit(X)
    >>> model.means_.round(1).tolist(), model.predict([[0, 0], [np.nan, 3], [12, np.nan]]).tolist()
    ([[10.0, 3.0], [1.0, 2.0]], [1, 0, 0])
    """

    n_components: Annotated[int | str, AT_LEAST_1, AUTO] = 1
    _: KW_ONLY
    covariance_type: Annotated[str, StrOptions(set(KINDS))] = "full"
    tol: Annotated[float, AT_LEAST_0] = 1e-3
    reg_covar: Annotated[float, AT_LEAST_0] = 1e-6
    max_iter: Annotated[int, Interval(Integral, 0, None, closed="left")] = 100
    n_init: Annotated[int, AT_LEAST_1] = 1
    init_params: Annotated[str, StrOptions(set(starts.INITS))] = "kmeans"
    weights_init: Annotated[Any, "array-like", None] = None
    means_init: Annotated[Any, "array-like", None] = None
    precisions_init: Annotated[Any, "array-like", None] = None
    random_state: RandomState = None
    warm_start: bool = False
    verbose: Annotated[int, "verbose"] = 0
    verbose_interval: Annotated[int, AT_LEAST_1] = 10
    max_components: Annotated[int, AT_LEAST_1] = 10
    progress: Progress = None
    n_jobs: NJobs = None
    _interrupted: Annotated[bool, MAYBE] = field(init=False)
    _floors: Annotated[Floats, "d", NOT_NEGATIVE, MAYBE] = field(init=False)  # `fit` reads them again
    _scale: Annotated[Floats, "d", NOT_NEGATIVE, MAYBE] = field(init=False)
    converged_: bool = field(init=False)
    n_iter_: Natural = field(init=False)
    lower_bound_: Annotated[float, UNBOUNDED] = field(init=False)
    lower_bounds_: Annotated[list[float], UNBOUNDED] = field(init=False)
    expected_: Annotated[list[tuple[float, float]], UNBOUNDED, MAYBE] = field(init=False)
    bic_curve_: Annotated[dict[Natural, float], UNBOUNDED, MAYBE] = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        (K, d), kind = self.means_.shape, self._kind
        need(K > 0 and d > 0, "a mixture must have a component and a column")
        shape = {"full": (K, d, d), "tied": (d, d), "diag": (K, d), "spherical": (K,)}[kind]
        widths = (self.covariances_, self.precisions_, self.precisions_cholesky_)
        need(all(w.shape == shape for w in widths), f"covariances of {kind} components")
        need({w.dtype for w in widths} == {self.weights_.dtype} == {self.means_.dtype}, "one type of numbers")
        need(0.99 < float(self.weights_.sum()) < 1.01, "weights must sum to one")
        matrix = kind in ("full", "tied")
        for held in (self.covariances_, self.precisions_cholesky_):
            need(((np.diagonal(held, axis1=-2, axis2=-1) if matrix else held) > 0).all(), "variances above zero")
        if matrix:  # with a diagonal above zero a triangle has an inverse
            need(not np.tril(self.precisions_cholesky_, -1).any(), "precisions_cholesky_ must be triangles")
            for held in (self.covariances_, self.precisions_):
                need(np.allclose(held, held.swapaxes(-1, -2), rtol=1e-3, atol=0), "covariances must be symmetric")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("n_components", "max_iter", "n_init", "tol", "reg_covar"):
            if isinstance(getattr(self, name), bool):
                raise BadParameter(f"{name} must be a number. Got {getattr(self, name)} instead.")
        told = [n for n in ("weights_init", "means_init", "precisions_init") if getattr(self, n) is not None]
        if told and self.n_components == "auto":
            raise BadParameter(f"n_components='auto' chooses their number, {told[0]} tells it: give one of them")

    @learning
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> GaussianMixture:
        """Climb from the best of `n_init` starts; y is not used."""
        self._learn(X, sample_weight)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Ints:
        """Fit, and the likeliest component of each row."""
        return self.fit(X, y, sample_weight).predict(X)

    def plot_steps(self, X: Any, turns: Sequence[int] = (1, 5, 15, 50), columns: tuple[int, int] = (0, 1)) -> Drawing:
        """EM's way side by side: the mixture after so many turns from one start (`random_state`, or a told one)."""
        return views.drawing("EM's steps", self, X, turns, columns)

    def _learn(self, X: Any, sample_weight: Any) -> None:
        before, self._interrupted = self._before(), False
        X = read_cells(self, X, reset=True)
        n, d = X.shape
        weights = None if sample_weight is None else check_weights(sample_weight, n)
        if weights is not None and (weights == 0).any():
            X, weights = np.ascontiguousarray(X[weights > 0]), weights[weights > 0]
        if before is not None and before.means.shape[1] != d:
            before = None
        least = 1 if self.n_components == "auto" else int(self.n_components)
        if n < 2:
            raise BadValue(f"Found array with {n} sample(s) (shape={(n, d)}) while a minimum of 2 is required.")
        if len(X) < least:
            raise BadValue(f"Expected n_samples >= n_components but got n_components = {least}, n_samples = {len(X)}")
        climb = Climb(X, weights, self.covariance_type, self._floor, self.n_jobs)
        random = stream(self.random_state)
        if self.n_components == "auto":
            self._choose(climb, random, float(n if weights is None else weights.sum()))
        else:
            self.__dict__.pop("bic_curve_", None)
            self._keep_normals(*self._best(climb, int(self.n_components), random, before), climb)

    @property
    def _floor(self) -> float | Floats:
        """What is added to the variances: of all columns, or of each where whoever fits this mixture has told it."""
        told: float | Floats = vars(self).get("_floors", float(self.reg_covar))
        return told

    def _before(self) -> Normals | None:
        """Where a warm start goes on, in the data's units."""
        if not (self.warm_start and "converged_" in self.__dict__) or self.n_components == "auto":
            return None
        if len(self.means_) != self.n_components or self._kind != self.covariance_type:
            return None
        return self._theta(np.ones(self.means_.shape[1]))

    def _best(self, climb: Climb, K: int, random: np.random.RandomState, before: Normals | None = None) -> Found:
        """(θ, the climb that led there, restarts) of the best start."""
        best: Found | None = None
        climb.refuse_large(K)
        for number in range(1 if before is not None else self.n_init):
            self._say(1, f"Initialization {number}")
            climb.restarts, climb.turn = [], 0
            try:
                start = self._start(climb, K, random) if before is None else _in_units(before, climb)
            except KeyboardInterrupt:
                if best is None:
                    raise
                self._interrupted = True
                warnings.warn(
                    f"interrupted in start {number}: the best so far is kept", ConvergenceWarning, stacklevel=5
                )
                break
            if self.max_iter == 0:
                best = best or (start, None, climb.restarts)
                continue
            found = self._ascend(climb, start)
            if best is None or best[1] is None or found.objective > best[1].objective:
                turn = found.parameters
                assert turn.expected is not None
                last = found.best == found.turns  # then one more M-step, as scikit-learn's; else it is known to fall
                theta = climb.settled(turn.expected) if last else turn.theta
                best = theta, found, climb.restarts
            if found.interrupted:
                self._interrupted = True
                warnings.warn(
                    f"interrupted in turn {found.turns}: the best so far is kept", ConvergenceWarning, stacklevel=5
                )
                break
        assert best is not None
        return best

    def _ascend(self, climb: Climb, start: Normals) -> Ascent[Turn]:
        best: tuple[Turn, float, int] | None = None  # since the last restart: θ, ℓ, the turn
        seen = restarts = 0

        def expect(turn: Turn) -> tuple[Turn, float]:
            nonlocal best, seen, restarts
            turn.expected, value = climb.expect(turn.theta)
            if best is None or len(climb.restarts) > restarts or value >= best[1] - ROUNDING * abs(value):
                best, restarts = (turn, value, seen), len(climb.restarts)
            seen += 1
            return turn, value

        def maximise(turn: Turn) -> Turn:
            assert turn.expected is not None
            return Turn(climb.maximise(turn.expected))

        def judge(turn: Turn, after: Turn) -> float:
            assert turn.expected is not None
            return climb.expected(turn.expected, after.theta)

        def told(turn: int, value: float) -> None:
            if turn % self.verbose_interval == 0:
                self._say(1, f"  Iteration {turn}" + (f"\t ll {value:.5f}" if self.verbose > 1 else ""))
            if self.progress is not None:
                self.progress(turn, value)

        def close(a: float, b: float) -> bool:
            return abs(b - a) < self.tol

        judged = judge if self.verbose > 1 else None
        how: dict[str, Any] = {"max_iter": self.max_iter, "progress": told, "close": close, "expected": judged}
        found = ascend([Turn(start)], expect, maximise, **how)
        self._say(1, f"Initialization {'converged' if found.converged else 'did not converge'}.")
        if best is not None and best[2] < found.turns - 1:
            return replace(found, parameters=best[0], at=best[2])
        return found

    def _say(self, least: int, text: str) -> None:
        if self.verbose >= least:
            print(text)

    def _start(self, climb: Climb, K: int, random: np.random.RandomState) -> Normals:
        """θ by init_params, but for what was told."""
        d = climb.X.shape[1]
        weights = None if self.weights_init is None else starts.told_weights(self.weights_init, K)
        means = None if self.means_init is None else starts.told_means(self.means_init, K, d) * climb.unit
        covariances: Floats | None = None
        factors: Floats | None = None
        if self.precisions_init is not None:
            given = starts.told_precisions(self.precisions_init, self.covariance_type, K, d)
            s = climb.scale
            covariances, factors = by_precisions(given * (s[:, None] * s if given.ndim == 3 else s * s))
        if weights is None or means is None or covariances is None:
            rows = filled(climb.X) if climb.gaps else climb.X
            if "_scale" in vars(self):  # whoever fits this mixture has told what the columns' widths are
                rows = rows / vars(self)["_scale"].astype(rows.dtype)
            found = climb.from_shares(starts.shares(rows, climb.weights, K, self.init_params, random, self.n_jobs))
            weights = found[0] if weights is None else weights
            means = found[1] if means is None else means
            if covariances is None:
                return climb.revived(weights, means, found[2], None)
        assert factors is not None
        means = np.where(np.isfinite(means), means, np.nanmean(climb.X * climb.unit, axis=0))
        return Normals(weights, means, covariances, factors)

    def _choose(self, climb: Climb, random: np.random.RandomState, n: float) -> None:
        """The number of components of least BIC, the smallest of equals."""
        curve: dict[int, float] = {}
        best: tuple[int, Found] | None = None
        told: list[warnings.WarningMessage] = []  # what is to be said of the number that is taken, not of the others
        most = min(self.max_components, len(climb.X))
        scale = n / climb.total
        for K in range(1, most + 1):
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                try:
                    found = self._best(climb, K, random)
                except ModelError:
                    if best is None:
                        raise
                    break  # more components than the rows can tell apart
            value = climb.sums(found[0], found[0].means).log_likelihood * scale
            curve[K] = -2 * value + n_parameters(self.covariance_type, K, climb.X.shape[1]) * np.log(n)
            if best is None or curve[K] < curve[best[0]]:
                best, told = (K, found), heard
            elif self._interrupted:
                told = [*told, *heard]
            if K - best[0] >= PATIENCE or (found[1] is not None and found[1].interrupted):
                break
        assert best is not None
        for one in told:
            warnings.warn(one.message, one.category, stacklevel=5)
        self.bic_curve_ = curve
        self._keep_normals(*best[1], climb)

    def _keep_normals(self, theta: Normals, found: Ascent[Turn] | None, restarts: list[Restart], climb: Climb) -> None:
        """The fitted attributes, in the data's units and type."""
        kind, s = self.covariance_type, climb.scale
        pick: Any = {"tied": 0, "spherical": (slice(None), 0)}.get(kind, slice(None))  # what the type keeps of K alike
        with np.errstate(over="ignore"):
            if climb.is_matrix:
                covariances = (theta.covariances * (s[:, None] * s))[pick]
                roots = (theta.factors / s[:, None])[pick]
                precisions = roots @ np.swapaxes(roots, -1, -2)
            else:
                covariances, roots = (theta.covariances * (s * s))[pick], (theta.factors / s)[pick]
                precisions = roots * roots
            kept = [
                np.ascontiguousarray(a, dtype=climb.X.dtype)
                for a in (theta.weights, theta.means * s, covariances, precisions, roots)
            ]
        refuse_overflow(*kept)
        last = self.__dict__.get("lower_bound_", -np.inf) if self.warm_start else -np.inf
        self.weights_, self.means_, self.covariances_, self.precisions_, self.precisions_cholesky_ = kept
        self.n_components_ = len(theta.weights)
        self.restarts_ = tuple(restarts)
        self.marks_ = (() if found is None else found.marks) + tuple((r.turn, str(r)) for r in restarts)
        self._kind = kind
        self.converged_ = found is not None and (found.converged or abs(found.trace[0] - last) < self.tol)
        self.n_iter_ = 0 if found is None else found.turns
        self.lower_bound_ = -np.inf if found is None else found.objective
        self.lower_bounds_ = [] if found is None else list(found.trace)
        self.expected_ = [] if found is None else list(found.expected)
        if found is not None and not self.converged_ and not found.interrupted:
            warnings.warn(
                "Best performing initialization did not converge. Try different init parameters, or increase max_iter, "
                "tol, or check for degenerate data.",
                ConvergenceWarning,
                stacklevel=4,
            )


def _in_units(theta: Normals, climb: Climb) -> Normals:
    s = climb.scale
    if theta.factors.ndim == 3:
        return Normals(theta.weights, theta.means / s, theta.covariances / s[:, None] / s, theta.factors * s[:, None])
    return Normals(theta.weights, theta.means / s, theta.covariances / s / s, theta.factors * s)
