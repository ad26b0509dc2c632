"""Bayes classification with a mixture of normals in each class.

Symbols: n_y rows of a class; p₀ the normal of all rows, ν = `background` rows of it in every class.

    log P(y, x) = log P(y) + log [n_y Σ_k π_yk N(x; μ_yk, Σ_yk) + ν p₀(x)] − log (n_y + ν)

Far from every component all classes agree, so that no row that is new to a class rules it out by a thousand nats. A
class of few rows leans on how wide columns are over all classes: with d columns that are not constant and s² the
variance of one over all rows, each variance of the class is widened by 0.3 (d + 2)/(n_y + d + 2) s²: as if there were
some rows more, as wide as all (Fraley and Raftery, 2007).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Annotated, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_consistent_length

from ..arrays import Array, Bools, Floats, Ints
from ..bayes.classifier import FAR, BayesClassifier
from ..bayes.drop_ins import told_priors
from ..bayes.numeric import ROUNDING
from ..errors import BadParameter, BadValue, PosterioriError, UnknownValue, did_you_mean, listed
from ..estimator import AT_LEAST_0, AT_LEAST_1, AUTO, NJobs, RandomState, learning, parameters
from ..fields import NOT_NEGATIVE, Natural, need
from ..kernels import normalise
from ..table.frame import labelled
from ..table.labels import encode_labels
from ..table.weights import check_weights
from . import starts
from .gaussian import GaussianMixture, read_cells
from .kmeans import stream
from .normals import KINDS, refuse_empty_columns, refuse_overflow, units

PRIOR = 0.3  # of the d + 2 rows as wide as a column is over all rows, which a class is widened by
FAINT = 1e-6  # what a row weighs that stands for a column of which a class has no cell


@dataclass(frozen=True, eq=False)
class Spread:
    """Mean and variance of every column over all rows, whatever their class; a constant column has a width of its size."""

    mean: Floats
    variance: Floats
    constant: Bools

    @classmethod
    def of(cls, X: Array, weights: Floats | None) -> Spread:
        """Each column in its own unit, so that squares neither overflow nor vanish."""
        w = np.ones(len(X)) if weights is None else weights / weights.max()
        scale = units(X, 0.0, "diag", True)
        mean, variance = np.empty((2, X.shape[1]))
        for j, s in enumerate(scale):
            x = X[:, j].astype(np.float64) / s
            some = ~np.isnan(x)
            mean[j] = np.average(x[some], weights=w[some]) if w[some].any() else x[some].mean()
            variance[j] = np.average((x[some] - mean[j]) ** 2, weights=w[some]) if w[some].any() else 0.0
        constant = variance <= (ROUNDING * mean) ** 2
        with np.errstate(over="ignore", under="ignore"):
            size = np.maximum((mean * scale) ** 2, 1.0)
            return cls(mean * scale, np.where(constant, size, variance * scale**2), constant)

    def floors(self, n: float, prior: float = PRIOR) -> Floats:
        """What is added to the variances of a class of n rows."""
        rows = np.count_nonzero(~self.constant) + 2
        return np.where(self.constant, 1.0, prior * rows / (n + rows)) * self.variance

    def completed(self, rows: Array, weights: Floats | None) -> tuple[Array, Floats | None]:
        """The rows of a class; where it has no cell of a column, two faint rows say how that column is in all classes."""
        lacking = np.flatnonzero(np.isnan(rows).all(axis=0))
        if not len(lacking):
            return rows, weights
        own = np.ones(len(rows)) if weights is None else weights
        more = np.full((2 * len(lacking), rows.shape[1]), np.nan, dtype=rows.dtype)
        for k, j in enumerate(lacking):
            width = 0.0 if self.constant[j] else np.sqrt(self.variance[j])
            more[2 * k : 2 * k + 2, j] = self.mean[j] - width, self.mean[j] + width
        return np.vstack([rows, more]), np.append(own, np.full(len(more), FAINT * own.mean()))


@parameters
class MixtureBayes(BayesClassifier):
    """log P(y, x) = log P(y) + log Σ_k π_yk N(x; μ_yk, Σ_yk): each class as many-humped as it needs.

    One `GaussianMixture` a class (`mixtures_`), with its missing cells and weights of rows. A class of fewer rows than
    components has one component a row.

    Parameters
    ----------
    n_components : int, "auto" or dict, default="auto"
        Components of each class; "auto" lets BIC choose them class by class; a dict tells them by class.
    reg_covar : float or "auto", default="auto"
        The floor that is added to every variance. "auto" is, for each of d columns, its variance over all rows times
        0.3 (d + 2)/(n_y + d + 2): wide for a class of few rows, next to nothing for one of many, and in the column's unit.
    background : float, default=1.0
        ν: in every class, so many rows of the normal that all rows have (`background_`); 0 for none.
    n_init : int, default=3
        Starts of every mixture, in units of the columns' widths where `reg_covar` is "auto".
    covariance_type, tol, max_iter, init_params, max_components, n_jobs
        As in `GaussianMixture`.
    priors : array-like of shape (n_classes,), default=None
        P(y); None takes the shares of the classes.
    random_state : int, Generator, RandomState or None

    >>> rng = np.random.default_rng(0)
    >>> ring = rng.normal(size=(200, 2))
    >>> ring *= 4 / np.linalg.norm(ring, axis=1, keepdims=True)
    >>> X = np.vstack([ring + rng.normal(size=(200, 2)) / 2, rng.normal(size=(200, 2)) / 2])
    >>> model = MixtureBayes({"ring": 6, "middle": 1}, random_state=0).fit(X, ["ring"] * 200 + ["middle"] * 200)
    >>> model.predict([[0.0, 0.0], [0.0, 4.0], [np.nan, -4.0]]).tolist()
    ['middle', 'ring', 'ring']
    """

    n_components: Annotated[Any, AT_LEAST_1, AUTO, dict] = "auto"
    _: KW_ONLY
    covariance_type: Annotated[str, StrOptions(set(KINDS))] = "full"
    tol: Annotated[float, AT_LEAST_0] = 1e-3
    reg_covar: Annotated[Any, AT_LEAST_0, AUTO] = "auto"
    background: Annotated[float, AT_LEAST_0] = 1.0
    max_iter: Annotated[int, AT_LEAST_1] = 100
    n_init: Annotated[int, AT_LEAST_1] = 3
    init_params: Annotated[str, StrOptions(set(starts.INITS))] = "kmeans"
    priors: Annotated[Any, "array-like", None] = None
    random_state: RandomState = None
    max_components: Annotated[int, AT_LEAST_1] = 10
    n_jobs: NJobs = None
    class_count_: Annotated[Floats, "K", NOT_NEGATIVE] = field(init=False)
    mixtures_: Annotated[list[GaussianMixture | None], "K"] = field(init=False)
    background_: GaussianMixture | None = field(init=False)
    n_iter_: Natural = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        with np.errstate(over="ignore"):
            need(0 < self.class_count_.sum() < np.inf, "the classes must have rows, and a number of them")
        known = [m for m in (*self.mixtures_, self.background_) if m is not None]
        need(known and all("weights_" in vars(m) for m in known), "the mixtures must be fitted")
        need(all(m.n_features_in_ == self.n_features_in_ for m in known), "the mixtures must be of the same columns")
        there = all(m is not None or not n for m, n in zip(self.mixtures_, self.class_count_))
        need(there, "a class without mixture")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("n_components", "max_iter", "n_init", "tol", "reg_covar", "background", "max_components"):
            if isinstance(getattr(self, name), bool):
                raise BadParameter(f"{name} must be a finite number. Got {getattr(self, name)} instead.")
        if isinstance(self.n_components, Mapping):
            for label, k in self.n_components.items():
                if k != "auto" and (not isinstance(k, Integral) or isinstance(k, bool) or k < 1):
                    raise BadParameter(
                        f"n_components of class {label!r} must be a whole number from 1 up or 'auto'. Got {k!r} instead."
                    )

    @learning
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MixtureBayes:
        """A mixture for each class, and the shares of the classes."""
        X, y = labelled(X, y)
        points = read_cells(self, X, reset=True)
        self.classes_, codes = encode_labels(y)
        check_consistent_length(points, codes)
        weights = None if sample_weight is None else check_weights(sample_weight, len(points))
        self.class_count_ = np.bincount(codes, weights, minlength=len(self.classes_)).astype(np.float64)
        self._prior()
        counts = self._components()
        random = stream(self.random_state)
        self.mixtures_: list[GaussianMixture | None] = []
        live = slice(None) if weights is None else weights > 0
        every, heavy = np.ascontiguousarray(points[live]), None if weights is None else weights[live]
        refuse_empty_columns(every)
        spread = Spread.of(every, heavy)
        with np.errstate(over="ignore"):
            refuse_overflow(spread.variance.astype(every.dtype))
        for c, label in enumerate(self.classes_.tolist()):
            mine = codes == c if weights is None else (codes == c) & (weights > 0)
            seed = int(random.randint(1 << 31))
            rows = np.ascontiguousarray(points[mine])
            if not len(rows):
                self.mixtures_.append(None)
                continue
            w = None if weights is None else weights[mine]
            self.mixtures_.append(self._mixture(label, rows, w, counts[c], seed, spread, float(self.class_count_[c])))
        self.background_ = self._normal(every, heavy, spread) if self.background > 0 else None
        self.n_iter_ = max(m.n_iter_ for m in self.mixtures_ if m is not None)
        return self

    def _mixture(
        self, label: Any, rows: Array, weights: Floats | None, k: Any, seed: int, spread: Spread, n: float
    ) -> GaussianMixture:
        if len(rows) == 1:  # a normal at this row, as wide as the floor
            rows, weights, k = np.repeat(rows, 2, axis=0), None, 1
        floors = spread.floors(n) if isinstance(self.reg_covar, str) else None
        model = GaussianMixture(
            k if k == "auto" else min(int(k), len(rows)),
            covariance_type=self.covariance_type,
            tol=self.tol,
            reg_covar=0.0 if floors is not None else self.reg_covar,
            max_iter=self.max_iter,
            n_init=self.n_init,
            init_params=self.init_params,
            random_state=seed,
            max_components=self.max_components,
            n_jobs=self.n_jobs,
        )
        if floors is not None:
            model._floors, model._scale = floors, np.sqrt(spread.variance)
        rows, weights = spread.completed(rows, weights)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                model.fit(rows, sample_weight=weights)
            except PosterioriError as error:
                raise type(error)(f"class {label!r}: {error}") from None
        if model._interrupted:  # a classifier that lacks classes is none
            raise KeyboardInterrupt
        for one in heard:
            warnings.warn(f"class {label!r}: {one.message}", one.category, stacklevel=5)
        return model

    def _normal(self, rows: Array, weights: Floats | None, spread: Spread) -> GaussianMixture:
        """p₀, the normal of all rows."""
        kind = self.covariance_type if self.covariance_type in ("diag", "spherical") else "full"
        model = GaussianMixture(1, covariance_type=kind, reg_covar=0.0, random_state=0, n_jobs=self.n_jobs)
        model._floors = spread.floors(float(self.class_count_.sum()), 1.0)
        if len(rows) == 1:
            rows, weights = np.repeat(rows, 2, axis=0), None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # where cells are missing it may go on for long
            return model.fit(rows, sample_weight=weights)

    def _components(self) -> list[Any]:
        """The number of components of each class, or "auto"."""
        names = self.classes_.tolist()
        if not isinstance(self.n_components, Mapping):
            return [self.n_components] * len(names)
        for label in self.n_components:
            if label not in names:
                raise UnknownValue(
                    f"n_components names no class of y: {label!r}{did_you_mean(label, names)} Classes: {listed(names)}"
                )
        lacking = [c for c in names if c not in self.n_components]
        if lacking:
            raise BadParameter(f"n_components has no number for class {lacking[0]!r}; classes: {listed(names)}")
        return [self.n_components[c] for c in names]

    def _prior(self) -> Floats:
        if self.priors is None:
            return np.asarray(self.class_count_ / self.class_count_.sum())
        return told_priors(self.priors, self.classes_)

    @property
    def class_prior_(self) -> Floats:
        """P(y)."""
        self._check_fitted()
        return self._prior()

    @property
    def n_components_(self) -> Ints:
        """The number of components of each class."""
        self._check_fitted()
        return np.array([0 if m is None else len(m.means_) for m in self.mixtures_])

    def _way_out(self) -> str:
        return FAR

    def _log_joint(self, X: Any) -> Floats:
        X = read_cells(self, X, reset=False)
        prior = self._cached("prior", self._prior)
        out = np.full((len(X), len(self.classes_)), -np.inf)
        far = None
        if self.background_ is not None and self.background > 0:
            far = normalise(self.background_._log_joint(X))[1]
        for c, model in enumerate(self.mixtures_):
            if model is not None and prior[c] > 0:
                own = normalise(model._log_joint(X))[1]
                if far is not None:
                    n = self.class_count_[c]
                    own = np.logaddexp(np.log(n) + own, np.log(self.background) + far) - np.log(n + self.background)
                out[:, c] = np.log(prior[c]) + own
        return out

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Floats, Array]:
        """n rows (X, y) drawn from P(y) P(x|y)."""
        self._check_fitted()
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise BadParameter(f"n must be a whole number from 1 up. Got {n!r} instead.")
        random = stream(random_state)
        prior = self._prior()
        codes = random.choice(len(prior), size=n, p=prior)
        X = np.empty((n, self.n_features_in_))
        for c in np.unique(codes):
            model = self.mixtures_[c]
            if model is None:
                raise BadValue(f"class {self.classes_.tolist()[c]!r} has no rows of positive weight to draw from")
            mine = codes == c
            drawn = model._drawn(int(mine.sum()), random)[0]
            drawn = drawn[random.permutation(len(drawn))]
            if self.background_ is not None and self.background > 0:
                far = random.random_sample(len(drawn)) * (self.class_count_[c] + self.background) < self.background
                drawn[far] = self.background_._drawn(int(far.sum()), random)[0] if far.any() else drawn[far]
            X[mine] = drawn
        return X, self.classes_[codes]
