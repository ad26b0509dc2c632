"""Latent class analysis: P(x) = Σ_y P(y) Π_j P(x_j|y), y never seen: naive Bayes whose classes EM finds.

Symbols: K classes, π_y = P(y), ℓ = Σ w ln P(x), p free parameters, n = Σ w.

    BIC = p ln n − 2ℓ        AIC = 2p − 2ℓ
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .. import views
from ..arrays import Array, Floats, Ints
from ..bayes.densities import Categories, Events, Poisson, Words
from ..bayes.naive import NaiveBayes
from ..bayes.numeric import Gaussian
from ..em import Ascent, expectation_maximization
from ..errors import BadParameter, BadValue
from ..estimator import (
    AT_LEAST_0,
    AT_LEAST_1,
    AUTO,
    Estimator,
    NJobs,
    Progress,
    RandomState,
    generator,
    learning,
    of_any_table,
    parameters,
)
from ..fields import MAYBE, UNBOUNDED, Natural, need
from ..smoothing.theta import Smoothing
from ..statistics.statistics import Statistics
from ..table.frame import open_frame
from ..table.schema import Schema
from ..table.weights import check_weights, weights_or_ones

if TYPE_CHECKING:
    import pandas as pd

PATIENCE = 3  # numbers of classes in a row that BIC likes less, after which "auto" looks no further


@parameters
class LatentClass(DensityMixin, Estimator):  # type: ignore[misc]
    """Latent class analysis: P(x) = Σ_y P(y) Π_j P(x_j|y) over words, numbers and counts, with missing cells.

    Within a class the columns are independent: words have tables, numbers are normal (tables where a column has at most ten
    different ones), counts are Poisson, text is a bag of words. Classes are numbered by their size, the largest first. A
    missing cell takes no part.

    Parameters
    ----------
    n_classes : int or "auto", default 2
        "auto" takes the number, up to `max_classes`, that BIC likes best; `bic_curve_` has them all.
        A row of weight w counts as w rows: weights that sum to one tell BIC of a single row.
    max_classes : int, default 10
        The largest number that "auto" tries.
    smoothing : float, default 0.1
        λ of P(x_j=a|y) = (N_yja + λ)/(N_yj + S_jλ) and of P(y); 0 is maximum likelihood.
    kinds : str, dict or Schema, optional
        The kinds of the columns, as in `NaiveBayes`.
    variance_floor : float, default 0.01
        As in `NaiveBayes`: of constant columns. A class is as wide as its rows and one more, as wide as K classes are that
        share the column's room.
    n_init : int, default 10
        Starts, each at K rows drawn at random; the best goes on.
    start : array of responsibilities (n, K), optional
        Where to begin instead.
    tol, max_iter : float and int, default 1e-6 and 500
        A turn of EM that gains less than tol a row is the last.
    random_state : int, RandomState or Generator, optional
        For the starts.
    progress : callable, optional
        Called with the turn and ℓ, penalised by λ.
    n_jobs : int, optional
        Threads; they never change a result.

    >>> X = {"rain": ["no", "no", "yes", "yes"] * 5, "wet": ["no", "no", "yes", "yes"] * 5}
    >>> model = LatentClass(2, random_state=0).fit(X)
    >>> model.predict(X)[:4].tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    n_classes: Annotated[Any, AT_LEAST_1, AUTO] = 2
    _: KW_ONLY
    max_classes: Annotated[int, AT_LEAST_1] = 10
    smoothing: Smoothing = 0.1
    kinds: Annotated[Any, str, Mapping, Schema, None] = None
    variance_floor: Annotated[float, AT_LEAST_0] = 0.01
    n_init: Annotated[int, AT_LEAST_1] = 10
    start: Annotated[Any, "array-like", None] = None
    tol: Annotated[float, AT_LEAST_0] = 1e-6
    max_iter: Annotated[int, AT_LEAST_1] = 500
    random_state: RandomState = None
    progress: Progress = None
    n_jobs: NJobs = None
    model_: NaiveBayes = field(init=False)
    em_: Ascent[Any] = field(init=False)
    classes_: Annotated[Array, "K"] = field(init=False)
    converged_: bool = field(init=False)
    n_iter_: Natural = field(init=False)
    bic_curve_: Annotated[dict[Natural, float], UNBOUNDED, MAYBE] = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        need("statistics_" in vars(self.model_), "the model of the classes must be fitted")
        same = np.array_equal(self.classes_, self.model_.classes_)
        same = same and self.n_features_in_ == self.model_.n_features_in_
        need(same, "classes and columns must be those of the model")

    @learning
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the classes of these rows; y is not used."""
        for name in [n for n in vars(self) if n.endswith("_")]:
            del self.__dict__[name]
        rows = open_frame(X).n
        weights = None if sample_weight is None else check_weights(sample_weight, rows)
        at_most = rows if weights is None else int(np.count_nonzero(weights))
        auto = isinstance(self.n_classes, str)
        if not auto and at_most < int(self.n_classes):
            raise BadValue(
                f"Expected n_samples >= n_classes but got n_classes = {self.n_classes}, n_samples = {at_most}"
            )
        if auto and self.start is not None:
            raise BadParameter("n_classes='auto' chooses their number, start tells it: give one of them")
        rng, curve = generator(self.random_state), {}
        best, worse = None, 0
        for k in range(1, min(self.max_classes, at_most) + 1) if auto else (int(self.n_classes),):
            found = self._climb(X, weights, k, rng)
            size = float(rows if weights is None else weights.sum())
            curve[k] = _criterion(found.model, X, weights, np.log(size))
            if best is None or curve[k] < curve[len(best.model.classes_)]:
                best, worse = found, 0
            else:
                worse += 1
            if found.interrupted or worse == PATIENCE:
                break
        assert best is not None
        self._keep_ascent(best, curve if auto else None)
        return self

    def _climb(self, X: Any, weights: Floats | None, k: int, rng: np.random.Generator) -> Ascent[NaiveBayes]:
        """EM with k classes."""
        inner = NaiveBayes(
            smoothing=self.smoothing,
            kinds=self.kinds,
            density="poisson",
            variance_floor=self.variance_floor,
            n_jobs=self.n_jobs,
        )
        return expectation_maximization(
            inner,
            X,
            sample_weight=weights,
            n_classes=k,
            start=self.start,
            n_init=int(self.n_init),
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=rng,
            progress=self.progress,
        )

    def _keep_ascent(self, found: Ascent[NaiveBayes], curve: dict[int, float] | None) -> None:
        model = found.model
        order = np.argsort(-np.round(model.statistics_.rows, 9), kind="stable")
        model._become(_in_order(model.statistics_, order), model.classes_)
        self.model_ = model
        self.em_: Ascent[Any] = Ascent(None, found.trace, found.converged, found.interrupted, found.marks, found.at)
        self.classes_, self.converged_, self.n_iter_ = model.classes_, found.converged, found.turns
        self.n_features_in_ = len(model.schema_)
        if "feature_names_in_" in vars(model):
            self.feature_names_in_ = model.feature_names_in_
        if curve is not None:
            self.bic_curve_ = curve
        if not (found.converged or found.interrupted or found.turns < self.max_iter):
            warnings.warn(
                f"LatentClass: EM has not converged after {found.turns} turns; the best model so far is kept",
                ConvergenceWarning,
                stacklevel=4,
            )

    @property
    def weights_(self) -> Floats:
        """P(y) of each class."""
        return np.exp(self._model().factored_.log_prior)

    def _model(self) -> NaiveBayes:
        check_is_fitted(self, "model_")
        found: NaiveBayes = self.model_
        return found

    def predict(self, X: Any) -> Ints:
        """The most probable class of each row."""
        found: Ints = self._model().predict(X)
        return found

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Ints:
        """Fit, and the most probable class of each row."""
        return self.fit(X, y, sample_weight).predict(X)

    def predict_proba(self, X: Any) -> Floats:
        """P(y|x) of each row and class."""
        return self._model().predict_proba(X)

    def score_samples(self, X: Any) -> Floats:
        """ln P(x) of each row."""
        return self._model().score_samples(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean of ln P(x) over the rows, in nats: larger is better."""
        found = self.score_samples(X)
        weights = weights_or_ones(sample_weight, len(found))
        return float((weights * found).sum() / weights.sum())

    @property
    def n_parameters_(self) -> int:
        """p, the numbers that were free to choose."""
        return _free(self._model())

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """p ln n − 2ℓ: smaller is better, as in scikit-learn."""
        n = open_frame(X).n
        weights = None if sample_weight is None else check_weights(sample_weight, n)
        return _criterion(self._model(), X, weights, np.log(float(n if weights is None else weights.sum())))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """2p − 2ℓ: smaller is better, as in scikit-learn."""
        weights = None if sample_weight is None else check_weights(sample_weight, open_frame(X).n)
        return _criterion(self._model(), X, weights, 2.0)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, Array]:
        """(rows, classes) drawn from the model."""
        return self._model().sample(n_samples, random_state)

    def profile(self) -> pd.DataFrame:
        """The classes side by side: their shares, then P(value|class) of every column, or mean and spread of numbers."""
        import pandas as pd

        tables = dict(self._model().tables_)
        name = next(iter(tables))
        prior = tables.pop(name)["P"].to_frame().T
        prior.index = pd.Index(["share"])
        parts = {name: prior, **tables}
        frame = pd.concat([part.set_axis(part.index.astype(object), axis=0) for part in parts.values()], keys=parts)
        frame.index.names, frame.columns.name = ["column", "value"], "class"
        return frame

    def plot(self) -> Any:
        """The profile as a drawing: a bar for each probability, a point with its spread for each mean."""
        return views.drawing("a profile", self._model())

    def _repr_html_(self) -> str:
        return str(self.plot()._repr_html_()) if "model_" in vars(self) else str(super()._repr_html_())

    def __sklearn_tags__(self) -> Any:
        return of_any_table(super().__sklearn_tags__())


def _free(model: NaiveBayes) -> int:
    """How many numbers a model of K classes is free to choose; a column that is constant says nothing."""
    K, found = len(model.classes_), len(model.classes_) - 1
    for density in model.factored_.densities:
        if isinstance(density, Categories):
            found += K * int(np.maximum(density.counts.sizes - 1, 0).sum())
        elif isinstance(density, Words | Events):
            found += K * max(len(density.log_theta) - 1, 0)
        elif isinstance(density, Gaussian):
            found += 2 * K * len(density.where)
        elif isinstance(density, Poisson):
            found += K * len(density.where)
    return found


def _criterion(model: NaiveBayes, X: Any, weights: Floats | None, price: float) -> float:
    """`price` for each free parameter, less twice the log-likelihood."""
    found = model.score_samples(X)
    if weights is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.where(weights > 0, weights * found, 0.0)
    return float(price * _free(model) - 2 * found.sum())


def _in_order(statistics: Statistics, order: Ints) -> Statistics:
    """The same statistics, class `order[k]` being class k."""
    return replace(
        statistics,
        rows=statistics.rows[order],
        cells=statistics.cells.select_classes(order),
        words=statistics.words.select_classes(order),
        moments=statistics.moments.select_classes(order),
    )
