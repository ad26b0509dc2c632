"""Naive Bayes over mixed columns: log P(y, x) = log P(y) + Σ_j log P(x_j|y), each column with the density of its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from ..arrays import Array, Floats
from ..errors import ModelError, UnknownValue, did_you_mean, listed
from ..statistics.collect import collect
from ..table.frame import Frame
from ..table.schema import Schema
from . import views
from .counting import CountingClassifier
from .densities import Seen
from .factored import Factored, choose_densities, roles_of
from .row import RowScorer

if TYPE_CHECKING:
    import pandas as pd


class NaiveBayes(CountingClassifier):
    """Naive Bayes: P(y|x) ∝ P(y) Π_j P(x_j|y), one model over categorical, binary, count, numeric and text columns.

    Parameters
    ----------
    smoothing : float, default 1.0
        λ of P(x_j=a|y) = (N_yja + λ)/(N_yj + S_jλ). 0 is maximum likelihood.
    prior : "smoothed", "empirical", "uniform" or an array
        (N_y + λ)/(N + Kλ), N_y/N, 1/K, or told, in the order of `classes_`.
    kinds : str, dict or Schema, optional
        The kind of all columns, of some, or a whole schema; else the dtype says (strings and categories are categorical,
        booleans binary, numbers numeric).
    density : str or dict, optional
        For numeric columns "gaussian" (usual), "kernel" or "binned"; for count columns "multinomial" (usual) or "poisson".
        A dict names columns.
    unseen : "missing" or "mass"
        What a value means that training did not have: nothing, or λ/(N_yj + (S_j+1)λ).
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied into the weights of their rows.
    variance_floor : float, default 0.01
        The variance of a Gaussian whose class has one value only, as a share of the column's variance over all rows.
    ddof : 0 or 1
        Variances are M2/n (maximum likelihood) or M2/(n−1).
    n_jobs : int, optional
        Threads; all cores by default. The result never depends on it.

    Smoothing, prior and the other parameters can be changed after training: what is stored are counts.

    >>> model = NaiveBayes().fit({"sky": ["blue", "grey", "grey"], "warm": [21.0, 15.0, 13.0]}, ["out", "in", "in"])
    >>> model.predict({"sky": ["blue"], "warm": [20.0]}).tolist()
    ['out']
    """

    def __init__(
        self,
        smoothing: float = 1.0,
        prior: Any = "smoothed",
        kinds: Any = None,
        density: Any = None,
        unseen: str = "missing",
        class_weight: Any = None,
        variance_floor: float = 0.01,
        ddof: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.smoothing = smoothing
        self.prior = prior
        self.kinds = kinds
        self.density = density
        self.unseen = unseen
        self.class_weight = class_weight
        self.variance_floor = variance_floor
        self.ddof = ddof
        self.n_jobs = n_jobs

    def _collect(self, frame: Frame, schema: Schema, y: Array, weights: Floats | None, seen: Seen) -> Any:
        self._check_parameters()
        densities = choose_densities(schema, self.density)
        roles = roles_of(densities)
        if frame.sparse is not None and not all(
            r == "events" or (r == "cells" and c.kind == "binary") for r, c in zip(roles, schema.columns)
        ):
            frame = dense(frame)
        return collect(frame, schema, roles, y, weights, self.n_jobs, seen)

    def _check_parameters(self) -> None:
        if not (isinstance(self.smoothing, int | float | np.number) and 0 <= self.smoothing < np.inf):
            raise ValueError(f"smoothing must be a number of at least 0. Got {self.smoothing!r} instead.")
        if self.unseen not in ("missing", "mass"):
            raise ValueError(f"unseen must be 'missing' or 'mass'. Got {self.unseen!r} instead.")
        if not 0 < self.variance_floor < np.inf:
            raise ValueError(f"variance_floor must be a positive number. Got {self.variance_floor!r} instead.")
        if self.ddof not in (0, 1):
            raise ValueError(f"ddof must be 0 (maximum likelihood) or 1. Got {self.ddof!r} instead.")

    @property
    def factored_(self) -> Factored:
        """The tables and densities under the parameters of now."""
        prior = self.prior if isinstance(self.prior, str) else str(np.asarray(self.prior).tolist())
        key = (self.smoothing, prior, self.unseen, self.variance_floor, self.ddof, str(self.density))
        if self._cache.get("key") != key:
            self._check_parameters()
            densities = choose_densities(self.schema_, self.density)
            if roles_of(densities) != self.statistics_.roles:
                raise ModelError("this density needs other statistics than were collected: fit again")
            made = Factored(
                self.statistics_,
                densities,
                smoothing=float(self.smoothing),
                prior=self.prior,
                unseen=self.unseen,
                floor=self.variance_floor,
                ddof=self.ddof,
            )
            self._cache.update(factored=made, row=RowScorer.of(made, self.schema_), key=key)
        found: Factored = self._cache["factored"]
        return found

    def _log_joint(self, X: Any) -> Floats:
        factored, seen = self.factored_, Seen()
        quick = self._cache["row"].log_joint(X, seen) if self._cache["row"] is not None else None
        if quick is None:
            frame, seen = self._open(X), Seen()
            if frame.sparse is not None and not self._stays_sparse:
                frame = dense(frame)
            if frame.n == 0:
                raise ValueError(
                    f"Found array with 0 sample(s) (shape=(0, {frame.d})) while a minimum of 1 is required."
                )
            quick = factored.log_joint(frame, seen, self.n_jobs)
        self._cache["seen"] = seen
        return quick

    @property
    def _stays_sparse(self) -> bool:
        return all(
            r == "events" or (r == "cells" and c.kind == "binary" and c.values == (0, 1))
            for r, c in zip(self.statistics_.roles, self.schema_.columns)
        )

    def _parts(self, X: Any) -> Floats:
        """log P(x_j|y) of each row, column and class."""
        frame = self._open(X)
        return self.factored_.parts(dense(frame) if frame.sparse is not None and not self._stays_sparse else frame)

    def explain(self, row: Any, target: Any = None, against: Any = None) -> pd.DataFrame:
        """Why: the log-odds of `target` against `against`, attribute by attribute, strongest first.

        ln P(t|x)/P(a|x) = ln P(t)/P(a) + Σ_j ln P(x_j|t)/P(x_j|a). By default the most probable class against the next.
        """
        self._check_fitted()
        parts = self._parts(row)
        if len(parts) != 1:
            raise ValueError(f"explain takes one row. Got {len(parts)} instead.")
        order = np.argsort(-self._log_joint(row)[0], kind="stable")
        t = int(order[0]) if target is None else self._class(target)
        rest = [int(c) for c in order if c != t]
        if not rest:
            raise ModelError("a model of one class has nothing to weigh it against")
        a = rest[0] if against is None else self._class(against)
        return views.explanation(self, self._open(row), parts[0], t, a)

    def _class(self, name: Any) -> int:
        classes = self.schema_.classes
        if name not in classes:
            raise UnknownValue(f"no class {name!r}{did_you_mean(name, classes)} Classes: {listed(classes)}")
        return classes.index(name)

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Any, Array]:
        """(rows, classes) drawn from the model: y ~ P(y), then x_j ~ P(x_j|y)."""
        self._check_fitted()
        rng = random_state
        if not isinstance(rng, np.random.Generator):
            rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        prior = np.exp(self.factored_.log_prior)
        y = rng.choice(len(prior), n, p=prior / prior.sum())
        columns: dict[int, Array] = {}
        for density in self.factored_.densities:
            columns.update(zip(density.where, density.draw(y, rng)))
        return views.drawn(self, columns), self.classes_[y]

    def credible_intervals(self, level: float = 0.95) -> pd.DataFrame:
        """Bounds of P(y) and of each θ = P(x_j=a|y): quantiles of the Beta margins of their Dirichlet posteriors."""
        self._check_fitted()
        return views.credible_intervals(self, level)

    @property
    def tables_(self) -> dict[str, pd.DataFrame]:
        """P(y) under "class", and for each column P(x|y) or the parameters of its density, a column for each class."""
        return views.tables(self)

    def summary(self) -> pd.DataFrame:
        """The columns, ranked by what they tell of the class: I(X;Y) in nats."""
        self._check_fitted()
        return views.summary(self)

    def _repr_html_(self) -> str:
        return views.html(self) if "statistics_" in self.__dict__ else super()._repr_html_()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def dense(frame: Frame) -> Frame:
    """A sparse table as a dense one, within the memory budget."""
    from ..table.encode import numbers

    return Frame(frame.n, frame.names, matrix=numbers(frame, range(frame.d)))
