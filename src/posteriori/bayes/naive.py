"""Naive Bayes over mixed columns: log P(y, x) = log P(y) + Σ_j log P(x_j|y), each column with the density of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Options, StrOptions

from .. import views
from ..arrays import Array, Floats
from ..errors import ModelError
from ..estimator import AT_LEAST_0, ClassWeight, NJobs, alike, parameters
from ..fields import MAYBE, need
from ..smoothing.theta import Prior, Smoothing, theta
from ..statistics.collect import collect
from ..statistics.cuts import Cuts
from ..table.encode import Seen, dense
from ..table.frame import Frame
from ..table.schema import MEASURED, Schema
from .classifier import FAR, SMOOTH
from .densities import Categories
from .factored import (
    CANDIDATES,
    DENSITIES,
    USUAL,
    Factored,
    RowScorer,
    Settled,
    density_names,
    kept_for,
    readable,
    roles_of,
)
from .hidden import FactoredTurns, Unlabelled

if TYPE_CHECKING:
    import pandas as pd


@parameters
class NaiveBayes(Unlabelled):
    """Naive Bayes: P(y|x) ∝ P(y) Π_j P(x_j|y), one model over categorical, binary, count, numeric and text columns.

    Parameters
    ----------
    smoothing : float, default 1.0
        λ of P(x_j=a|y) = (N_yja + λ)/(N_yj + S_jλ), and of the least variance λs²/(n + λ) of a Gaussian, s² the
        column's within its classes: what λ rows of it leave among n equal ones. 0 is maximum likelihood.
    prior : "smoothed", "empirical", "uniform", an array or a dict by class
        (N_y + λ)/(N + Kλ), N_y/N, 1/K, or told, in the order of `classes_`.
    kinds : str, dict or Schema, optional
        The kind of all columns, of some, or a whole schema; else the dtype says (strings and categories are categorical,
        booleans binary, numbers numeric).
    density : str or dict, default "auto"
        For numeric columns "auto", which chooses for each column by how well rows are foretold by the others (`density_`
        says what), "gaussian", "kernel" or "binned"; for count columns "multinomial" (usual) or "poisson". A dict names
        columns; the others have what is usual.
    unseen : "missing" or "mass"
        What a value means that training did not have: nothing, or λ/(N_yj + (S_j+1)λ).
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied into the weights of their rows.
    variance_floor : float, default 0.01
        The least variance of a Gaussian whose class has one value only, as a share of the column's variance over all
        rows; with 0 and no smoothing such a class is a point.
    ddof : 0 or 1
        Variances are M2/n (maximum likelihood) or M2/(n−1).
    n_jobs : int, optional
        Threads; all cores by default. The result never depends on it.
    unlabelled : any label, or a tuple of them, default ()
        The mark of rows without a label (None and NaN: any missing one; −1; "?"), whose classes `fit` infers by EM; `em_`
        says how. By default no label is such a mark. The density "auto" is then bins of equal weight.
    unlabelled_weight : float or "auto", default "auto"
        What a row without a label weighs beside one with a label. "auto" takes, from 0 to 1, what foretells labels best
        that were left out (`unlabelled_weight_`): 0, the labels alone, where the others do not help, or where a class has
        one label.

    Smoothing, prior and the other parameters can be changed after training: what is stored are counts.

    >>> model = NaiveBayes().fit({"sky": ["blue", "grey", "grey"], "warm": [21.0, 15.0, 13.0]}, ["out", "in", "in"])
    >>> model.predict({"sky": ["blue"], "warm": [20.0]}).tolist()
    ['out']
    """

    smoothing: Smoothing = 1.0
    _: KW_ONLY
    prior: Prior = "smoothed"
    kinds: Annotated[Any, str, Mapping, Schema, None] = None
    density: Annotated[Any, str, Mapping, None] = "auto"
    unseen: Annotated[str, StrOptions({"missing", "mass"})] = "missing"
    class_weight: ClassWeight = None
    variance_floor: Annotated[float, AT_LEAST_0] = 0.01
    ddof: Annotated[int, Options(Integral, {0, 1})] = 0
    n_jobs: NJobs = None
    _settled_by: Annotated[Settled | None, MAYBE] = field(default=None, init=False)

    _turns = FactoredTurns

    def _check_state(self) -> None:
        super()._check_state()
        statistics, settled = self.statistics_, vars(self).get("_settled_by")
        need(not statistics.joints, "naive Bayes counts no pairs")
        sampled = "numbers" not in statistics.roles or statistics.sample is not None
        need(sampled, "rows to choose a density by must be there")
        if settled is not None:
            named = set(settled.names) == set(self.schema_.names)
            need(named, "the densities that EM settled on must be named by column")
            known = {*DENSITIES, "cells", "words"}.issuperset(settled.names.values())
            need(known, "the densities that EM settled on must be known")
            need(len(settled.cuts) in (0, len(settled.names)), "EM must have cut all columns or none")

    def _collect(self, frame: Frame, schema: Schema, y: Array, weights: Floats | None) -> tuple[Any, Seen]:
        roles = roles_of(self._densities(schema))
        frame = frame if frame.sparse is None else readable(frame, roles, schema)
        return collect(frame, schema, roles, y, weights, self.n_jobs)

    def _densities(self, schema: Schema) -> tuple[str, ...]:
        """The densities that the parameters tell, or that EM has settled on under the same parameter."""
        settled = self._inferred
        return density_names(schema, self.density) if settled is None else settled.densities(schema)

    @property
    def _inferred(self) -> Settled | None:
        """What EM has settled on, where it has and `density` is still what it was."""
        settled = self._settled_by
        return settled if settled is not None and alike(settled.told, self.density) else None

    @property
    def _cuts(self) -> Cuts:
        settled = self._inferred
        return () if settled is None else settled.cuts

    def _unlearn(self) -> None:
        super()._unlearn()
        self.__dict__.pop("_settled_by", None)

    @property
    def factored_(self) -> Factored:
        """The tables and densities under the parameters of now."""
        return self._cached("factored", self._factored)

    def _factored(self) -> Factored:
        densities = self._densities(self.schema_)
        if not kept_for(densities, self.statistics_.roles):
            raise ModelError("this density needs other statistics than were collected: fit again")
        return Factored(
            self.statistics_,
            densities,
            smoothing=float(self.smoothing),
            prior=self.prior,
            unseen=self.unseen,
            floor=self.variance_floor,
            ddof=self.ddof,
            n_jobs=self.n_jobs,
            inferred=self._inferred is not None,
        )

    @property
    def density_(self) -> dict[str, str]:
        """The density of each numeric and count column, with those that were chosen."""
        self._check_fitted()
        return {
            c.name: "binned" if name == "cells" else name
            for c, name in zip(self.schema_.columns, self.factored_.names)
            if c.kind in MEASURED
        }

    def _way_out(self) -> str:
        smooth = self.smoothing > 0 and np.isfinite(self.factored_.log_prior).all()
        return FAR if smooth else SMOOTH

    def _log_joint(self, X: Any) -> Floats:
        quick = self._cached("row", lambda: RowScorer.of(self.factored_, self.schema_))
        scored = quick.log_joint(X) if quick is not None else None
        if scored is None:
            scored = self.factored_.log_joint(self._opened(X), self.n_jobs)
        out, self._seen = scored
        return out

    def _opened(self, X: Any) -> Frame:
        frame = self._open(X)
        return dense(frame) if frame.sparse is not None and not self._stays_sparse else frame

    @property
    def _stays_sparse(self) -> bool:
        return all(
            r == "events" or (r == "cells" and c.kind == "binary" and c.values == (0, 1))
            for r, c in zip(self.statistics_.roles, self.schema_.columns)
        )

    def _log_parts(self, X: Any) -> tuple[Floats, Floats]:
        return self.factored_.log_prior, self.factored_.parts(self._opened(X))

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
        return self._as_came(columns), self.classes_[y]

    def credible_intervals(self, level: float = 0.95) -> pd.DataFrame:
        """Bounds of P(y) and of each θ = P(x_j=a|y): quantiles of the Beta margins of their Dirichlet posteriors."""
        import pandas as pd
        from scipy.stats import beta

        self._check_fitted()
        if not 0 < level < 1:
            raise ValueError(f"level lies between 0 and 1. Got {level} instead.")
        tail, lam, classes = (1 - level) / 2, float(self.smoothing), self.schema_.classes
        rows: list[tuple[Any, ...]] = []

        def add(column: str, values: Any, counts: Floats, labels: Any) -> None:
            total = counts.sum(axis=0)
            a, b, mean = counts + lam, total - counts + (len(counts) - 1) * lam, theta(counts, lam, axis=0)
            low = np.where(a > 0, beta.ppf(tail, np.maximum(a, 1e-12), np.maximum(b, 1e-12)), 0.0)
            high = np.where(b > 0, beta.ppf(1 - tail, np.maximum(a, 1e-12), np.maximum(b, 1e-12)), 1.0)
            for i, value in enumerate(values):
                rows.extend((column, value, c, mean[i, k], low[i, k], high[i, k]) for k, c in enumerate(labels))

        add(self._class_key, classes, np.asarray(self.class_count_, dtype=float)[:, None], [None])
        for density in self.factored_.densities:
            if isinstance(density, Categories):
                for k, column in enumerate(density.columns):
                    add(column.name, density.names(k), density.counts.scope(k).astype(float), classes)
        return pd.DataFrame(rows, columns=["column", "value", "class", "mean", "low", "high"])

    @property
    def tables_(self) -> dict[str, pd.DataFrame]:
        """P(y) under "class", and for each column P(x|y) or the parameters of its density, a column for each class."""
        import pandas as pd

        classes = pd.Index(list(self.schema_.classes), name="class", tupleize_cols=False)
        out = {self._class_key: pd.DataFrame({"P": np.exp(self.factored_.log_prior)}, index=classes)}
        found: dict[str, Any] = {}
        for density in self.factored_.densities:
            found.update(density.tables(self.schema_))
        for name in self.schema_.names:
            rows = found[name]
            out[name] = pd.DataFrame(
                np.array(list(rows.values())).reshape(len(rows), len(classes)),
                index=pd.Index(list(rows), name=name, dtype=object, tupleize_cols=False),
                columns=classes.copy(),  # the name of a frame's own index may be set
            )
        return out

    @property
    def _class_key(self) -> str:
        """What P(y) is called among the columns: "class", or "(class)" where a column has that name."""
        return "(class)" if "class" in self.schema_.names else "class"

    def summary(self) -> pd.DataFrame:
        """The columns, ranked by what they tell of the class: I(X;Y) in nats."""
        import pandas as pd

        self._check_fitted()
        factored, schema = self.factored_, self.schema_
        prior = np.exp(factored.log_prior)
        information = np.zeros(len(schema))
        for density in factored.densities:
            information[density.where] = density.information(prior)
        frame = pd.DataFrame(
            {
                "column": list(schema.names),
                "kind": list(schema.kinds),
                "values": [len(c.values) for c in schema.columns],
                "information": information,
            }
        )
        if any(told != USUAL[c.kind] for told, c in zip(factored.names, schema.columns)):
            shown = [told if told in DENSITIES or told in CANDIDATES else "" for told in factored.names]
            frame.insert(2, "density", shown)
        return frame.sort_values("information", ascending=False, kind="stable", ignore_index=True)

    def _repr_html_(self) -> str:
        return super()._repr_html_() if self._fresh else views.html("naive Bayes", self)
