"""A hidden class: rows some or all of which have no label, as a classifier that counts sees them.

Symbols: n rows, K classes, w weights; r[row, y] responsibilities: P(y|x, θ) where the label is hidden, one or zero where
it is known; shares w·r, by which `collect` counts every row in every class.

    E   r = P(y|x, θ), or one for the most probable class (hard)
    M   θ from collect(rows, weights=w·r)
    ℓ   Σ_known w ln P(y, x) + Σ_hidden w ln P(x) (hard: max_y ln P(y, x)) + the log prior of θ that smoothing stands for

Values are those of all rows from the beginning, so that every turn judges the same model.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, Floats
from ..em import Ascent, ascend, close_by
from ..errors import BadParameter, BadValue, ModelError, listed
from ..estimator import generator
from ..kernels.naive import normalise, share_out
from ..smoothing import share
from ..statistics.statistics import classes_in
from ..table.encode import Seen
from ..table.frame import open_frame
from ..table.labels import hidden_labels
from ..table.rows import Rows
from ..table.schema import MEASURED
from ..table.weights import weights_or_ones

UNLABELLED: dict[str, list[Any]] = {
    "unlabelled": [object],  # any label may be the mark
    "unlabelled_weight": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
}
TOL, MAX_ITER = 1e-6, 200  # of `fit`; `expectation_maximization` takes others
DRAWS = 100  # of K rows, until they differ
AROUND = 1e-3  # what all rows together weigh beside the K rows that a climb begins with


class HiddenClass:
    """Rows with their labels, where they have one, under one model; see `em.Hidden`."""

    def __init__(self, model: Any, rows: Rows, hard: bool = False) -> None:
        hidden = np.zeros(rows.frame.n, dtype=bool) if rows.hidden is None else rows.hidden
        self.hard, self.labels, self.frame, self.rows = hard, rows.labels, rows.frame, rows
        self.rng = np.random.default_rng(0)  # of the order in which batches come
        self.known = np.flatnonzero(~hidden)
        self.hidden = np.flatnonzero(hidden)
        self.codes = rows.codes
        self.own = np.where(hidden, np.int32(-1), rows.codes.astype(np.int32))
        self.weights = np.ones(rows.frame.n) if rows.weights is None else rows.weights
        self.weight = float(self.weights.sum())
        self.plain = bool((self.weights == 1.0).all())
        self.template = model._settled(rows, self.known)
        self.data, self.schema = self.template._prepared(rows.frame, rows.schema)
        self.declared = {c.name: c.declared for c in rows.schema.columns}
        self.climbs = bool(self.template._climbs(self.schema))

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.schema.classes)

    def shares(self, responsibilities: Floats) -> Floats:
        """w·r, with what is known in its place; the array is overwritten."""
        out = responsibilities
        if not self.plain:
            out *= self.weights[:, None]
        out[self.known] = 0.0
        out[self.known, self.codes[self.known]] = self.weights[self.known]
        return out

    def expect(self, model: Any) -> tuple[Floats, float]:
        """(w·r, ℓ)."""
        weights = None if self.plain else self.weights
        shares, value = self._share_out(model._scored(self.data), self.own, weights)
        return shares, value + float(model._log_prior_of_theta())

    def _share_out(self, log_joint: Floats, own: Array, weights: Floats | None) -> tuple[Floats, float]:
        """(w·r, Σ w ln P) of rows of class `own`, or hidden (−1); log_joint is overwritten."""
        return share_out(np.ascontiguousarray(log_joint), own, weights, self.hard, self.template.n_jobs)

    def maximise(self, shares: Floats) -> Any:
        """The model that these shares count to."""
        model = copy.copy(self.template)
        model._become(model._counted(self.data, self.schema, self.codes, shares), self.labels)
        return model

    def climb(self, who: str) -> Ascent[Any]:
        """What `fit` does: from the rows with labels, until a turn gains less than TOL a row."""
        found = ascend(
            self.starts(1, 0),
            self.expect,
            self.maximise,
            max_iter=MAX_ITER,
            close=close_by(TOL * self.weight),
            climbs=self.climbs,
        )
        if not (found.converged or found.interrupted or found.turns < MAX_ITER):
            warnings.warn(
                f"{who}: EM has not converged after {found.turns} turns; the best model so far is kept",
                ConvergenceWarning,
                stacklevel=5,
            )
        return found

    def starts(self, n_init: int, random_state: Any) -> list[Any]:
        """At the rows with labels, and beside them at their answers mixed with chance; without labels at K rows each."""
        rng = self.rng = generator(random_state)
        n, K = len(self.weights), self.n_classes
        if not len(self.known):
            return [self.maximise(self._drawn(rng)) for _ in range(n_init)]
        first = self.maximise(self.shares(np.zeros((n, K))))
        if n_init == 1:
            return [first]
        answer = normalise(first._scored(self.data), first.n_jobs)[0]
        mixed = ((answer + rng.dirichlet(np.ones(K), n)) / 2 for _ in range(n_init - 1))
        return [first, *(self.maximise(self.shares(r)) for r in mixed)]

    def _drawn(self, rng: np.random.Generator) -> Floats:
        """Shares of K rows, a class each, and next to nothing of all others, so that no value is without a count."""
        n, K = len(self.weights), self.n_classes
        if n < K:
            raise ModelError(f"{K} classes need at least as many rows. Got {n} instead.")
        chance, evidence = self.weights / self.weights.sum(), self._evidence
        order = np.argsort(evidence, kind="stable")
        reach = np.cumsum(chance[order])
        for _ in range(DRAWS):  # by weight, in an order that is the rows' own: a row of weight two is the row twice
            at = order[np.minimum(np.searchsorted(reach, rng.random(K) * reach[-1], side="right"), n - 1)]
            if len(np.unique(evidence[at])) == K:
                break
        else:  # rows that are nearly all alike, or one that outweighs the others
            at = rng.permutation(n)[:K]
        out = np.repeat((AROUND / K) * chance[:, None], K, axis=1)
        out[at, np.arange(K)] += 1.0
        return out

    @cached_property
    def _evidence(self) -> Floats:
        """ln P(x) of every row, were there one class."""
        one = self.maximise(np.repeat(self.weights[:, None] / self.n_classes, self.n_classes, axis=1))
        return normalise(one._scored(self.data), one.n_jobs)[1]

    def started(self, start: Any) -> Any:
        """The model that counts by the answers of a fitted model, or by responsibilities that were given."""
        n, K = len(self.weights), self.n_classes
        if hasattr(start, "predict_proba"):
            classes = np.asarray(getattr(start, "classes_", [])).tolist()
            if classes != list(self.schema.classes):
                raise BadParameter(f"start has the classes {classes}, the rows {list(self.schema.classes)}")
            return self.maximise(self.shares(normalise(start._log_joint(self.frame))[0]))
        try:
            given = np.array(start, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            given = np.empty(0)
        if given.shape != (n, K) or not np.isfinite(given).all() or (given < 0).any():
            raise BadParameter(
                f"start is a fitted model, or responsibilities of {n} rows in {K} classes. Got {start!r:.60} instead."
            )
        return self.maximise(self.shares(share(given, given.sum(axis=1, keepdims=True))))

    def sweep(self, state: tuple[Any, Any, int], batch_size: int, decay: float) -> tuple[Any, Any, int]:
        """(model, running statistics of the hidden rows, steps) after one pass over them, `batch_size` rows at a time.

        S ← (1 − γ) S + γ S_batch·(all rows/those of the batch), γ = (t + 2)^−decay; known rows are counted as they are.
        """
        model, running, t = state
        known = self._part(model, self.known, None)
        order = self.rng.permutation(self.hidden)
        total = self.weights[self.hidden].sum()
        for rows in np.array_split(order, -(-len(order) // batch_size) if len(order) else 0):
            scored = model._scored(model._taken(self.data, rows))
            found = self._part(model, rows, self._share_out(scored, self.own[rows], None)[0])
            step, scale = (t + 2.0) ** -decay, total / self.weights[rows].sum()
            running = found.scaled(scale) if running is None else running.scaled(1 - step) + found.scaled(step * scale)
            model = copy.copy(model)
            model._become(running if known is None else known + running, self.labels)
            t += 1
        return model, running, t

    def follow(self, model: Any, table: tuple[Any, Any, Any], t: int, decay: float) -> tuple[Any, float]:
        """(the model after one more table of a stream, the mean of ln P of its rows before they were learned).

        `table` are rows, labels and weights, the latter two or None. S ← N'·[(1 − γ) S/N + γ S_table/n],
        γ = (t + 2)^−decay, of N rows (by weight) so far, n in the table and N' = N + n.
        """
        X, y, sample_weight = table
        known = np.asarray(model.classes_)
        n = open_frame(X).n
        w = weights_or_ones(sample_weight, n)
        labels, hidden = (known[:1].repeat(n), np.ones(n, bool)) if y is None else hidden_labels(y, model.unlabelled)
        if hidden.all():
            labels = known[:1].repeat(n)
        rows = model._rows(X, labels, None, ())
        strange = [c for c in rows.schema.classes if c not in model.schema_.classes]
        if strange:
            raise BadValue(f"a stream has the classes of its first table. Got {listed(strange)} instead.")
        codes = classes_in(rows.schema, model.schema_)[rows.codes]
        schema = replace(rows.schema, classes=model.schema_.classes)
        own = np.where(hidden, np.int32(-1), codes.astype(np.int32))
        shares, value = self._share_out(model._log_joint(rows.frame), own, w)
        told = model.unlabelled_weight
        shares[hidden] *= 1.0 if isinstance(told, str) else told
        found = model._counted(*model._prepared(rows.frame, schema), codes, shares)
        before, new, step = model.statistics_.rows.sum(), shares.sum(), (t + 2.0) ** -decay
        scale = (before + new) / np.array([before, new])
        after = copy.copy(model)
        after._become(model.statistics_.scaled((1 - step) * scale[0]) + found.scaled(step * scale[1]), known)
        return after, value / float(w.sum())

    def _part(self, model: Any, rows: Array, responsibilities: Floats | None) -> Any:
        """The statistics of some rows, which are all known (no responsibilities) or all hidden; None of no rows."""
        if not len(rows):
            return None
        if responsibilities is None:
            shares = np.zeros((len(rows), self.n_classes))
            shares[np.arange(len(rows)), self.codes[rows]] = self.weights[rows]
        else:
            shares = responsibilities * self.weights[rows][:, None]
        return model._counted(model._taken(self.data, rows), self.schema, self.codes[rows], shares)

    def finish(self, model: Any) -> Any:
        """The model with values that are there because rows have them."""
        statistics = model.statistics_
        columns = tuple(
            c if c.kind in MEASURED else replace(c, declared=self.declared[c.name])  # bins stay
            for c in statistics.schema.columns
        )
        model.statistics_ = replace(statistics, schema=replace(statistics.schema, columns=columns))
        model.__dict__.pop("_kept", None)
        model._named(self.rows)
        model._seen = Seen()
        return model
