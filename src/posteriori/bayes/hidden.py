"""A hidden class: rows some or all of which have no label, as a classifier that counts sees them.

Symbols: n rows, K classes, w weights; r[row, y] responsibilities: P(y|x, θ) where the label is hidden, one or zero where
it is known; shares w·r, by which `collect` counts every row in every class.

    E   r = P(y|x, θ), or one for the most probable class (hard)
    M   θ from collect(rows, weights=w·r)
    ℓ   Σ_known w ln P(y, x) + Σ_hidden w ln P(x) (hard: max_y ln P(y, x)) + the log prior of θ that smoothing stands for

Values are those of all rows from the beginning, so that every turn judges the same model.

What a row without a label weighs may be chosen (`choose_weight`). Where the model is right, such rows tell a lot; where
it is wrong, as naive Bayes is on most tables, they outvote the few labels and are sure of it. The labels say which
(Nigam, McCallum, Thrun and Mitchell, 2000): they are dealt into folds, each is foretold while it is hidden among the
unlabelled, and the weight is taken whose log loss is lowest: by half a standard error of the paired differences below
that of the labels alone, and below that of a guess, ln K. Few labels, all of them foretold, do not show what an error
would cost, which is what a model that is too sure pays: so half a label counts too that is foretold wrongly, as surely
as the others are foretold. Rows that are alike are left out together, so that a row of weight two is the row twice. A
class whose labelled rows are all alike cannot be foretold without them: then the labels stay alone.
"""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array, Floats, Ints
from ..em import Ascent, ascend, close_by
from ..errors import BadParameter, BadValue, ModelError, listed
from ..estimator import AT_LEAST_0, AUTO, generator, parameters
from ..kernels import normalise, share_out
from ..smoothing.theta import share
from ..statistics.collect import collect, collect_codes, with_values_of, with_values_of_codes
from ..statistics.counts import places_in
from ..statistics.cuts import Cuts, local_codes, translated, with_bins
from ..statistics.joint import collect_pairs
from ..statistics.statistics import Statistics
from ..table.encode import Coded, Seen, dense
from ..table.frame import Frame, open_frame
from ..table.labels import hidden_labels
from ..table.rows import Rows
from ..table.schema import MEASURED, Schema
from ..table.weights import weights_or_ones
from .factored import density_names, readable, roles_of, settle
from .pending import PendingRows
from .tables import TableLearner

if TYPE_CHECKING:
    from .naive import NaiveBayes
    from .semi import SemiNaive

TOL, MAX_ITER = 1e-6, 200  # of `fit`; `expectation_maximization` takes others
DRAWS = 100  # of K rows, until they differ
AROUND = 1e-3  # what all rows together weigh beside the K rows that a climb begins with

# of the choice of a weight: what all rows without a label weigh, in rows with one; a single row weighs at most one
TIMES = (0.3, 1.0, 3.0, 10.0, np.inf)
FOLDS = 5
MOST = 1_000  # rows of either sort that are asked
TURNS, ENOUGH = 20, 1e-4  # of its climbs, and what a turn gains a row
ERRORS = 0.5  # standard errors by which a weight has to be better
WRONG = 0.5  # labels that are foretold wrongly
DIGITS = 8  # in which rows that are alike are so, whatever order they were summed in
WORST = 35.0  # nats: a label that was ruled out


class Turns(ABC):
    """A classifier as EM turns it: its rows are read once, scored by each model, and counted by shares in every class.

    `template` is the model that every turn begins with: what is chosen but once is chosen, by the labels if there are any.
    `schema` has the values of all rows; `climbs` says whether counting maximises ℓ, with `log_prior`.
    """

    template: Any
    data: Any  # the rows, as `score` and `count` read them
    schema: Schema
    climbs = False

    @abstractmethod
    def __init__(self, model: Any, rows: Rows, known: Ints) -> None:
        """For rows of which those `known` have labels."""

    @abstractmethod
    def prepare(self, model: Any, frame: Frame, schema: Schema) -> tuple[Any, Schema]:
        """(rows as `score` and `count` read them, the schema with their values)."""

    @abstractmethod
    def take(self, data: Any, rows: Array) -> Any:
        """Some rows of what `prepare` gives."""

    @abstractmethod
    def score(self, model: Any, data: Any) -> Floats:
        """log P(y, x) of each row."""

    @abstractmethod
    def count(self, model: Any, data: Any, schema: Schema, y: Array, shares: Floats) -> Any:
        """The statistics of the rows, each in every class by its shares."""

    def log_prior(self, model: Any) -> float:
        """The log density of θ under the prior that smoothing stands for, where M maximises ℓ with it."""
        return 0.0


class FactoredTurns(Turns):
    """Naive Bayes: every column by its density, settled before the first turn."""

    def __init__(self, model: NaiveBayes, rows: Rows, known: Ints) -> None:
        self.template = copy.copy(model)
        densities = density_names(rows.schema, model.density)
        self.template._settled_by = settle(rows, densities, model.density, len(known) > 0)
        self.data, self.schema = self.prepare(self.template, rows.frame, rows.schema)
        found = set(self.template._densities(self.schema))
        self.climbs = not {"kernel", "binned"} & found and not (model.ddof and "gaussian" in found)

    def prepare(self, model: NaiveBayes, frame: Frame, schema: Schema) -> tuple[Frame, Schema]:
        roles = roles_of(model._densities(schema))
        frame = replace(readable(frame, roles, schema), memo={})
        return frame, with_values_of(frame, schema, roles, model.n_jobs, model._cuts)

    def take(self, data: Frame, rows: Array) -> Frame:
        return data.take_rows(rows)

    def score(self, model: NaiveBayes, data: Frame) -> Floats:
        return model.factored_.log_joint(data, model.n_jobs)[0]

    def count(self, model: NaiveBayes, data: Frame, schema: Schema, y: Array, shares: Floats) -> Statistics:
        return collect(data, schema, roles_of(model._densities(schema)), y, shares, model.n_jobs, model._cuts)[0]

    def log_prior(self, model: NaiveBayes) -> float:
        return model.factored_.log_prior_of_theta()


class CodedTurns(Turns):
    """The semi-naive models: what the labels chose stays; without labels no column is cut by them."""

    def __init__(self, model: SemiNaive, rows: Rows, known: Ints) -> None:
        model._check_hidden(len(known) > 0)
        model._refuse_text(rows.schema)
        if len(known):
            self.template = _of_known(model, rows, known)
            self.cuts: Cuts = self.template.statistics_.cuts
        else:
            frame = dense(rows.frame) if rows.frame.sparse is not None else rows.frame
            one_class, method = np.zeros(frame.n, np.uint8), "quantile" if model.cuts == "mdl" else model.cuts
            self.cuts = model._first_cuts(frame, rows.schema, one_class, rows.weights, method)
        if not len(known) or model._learns_every_turn:
            self.template = copy.copy(model)
        self.data, self.schema = self.prepare(self.template, rows.frame, rows.schema)

    def prepare(self, model: SemiNaive, frame: Frame, schema: Schema) -> tuple[Coded, Schema]:
        frame = dense(frame) if frame.sparse is not None else frame
        coded, schema = local_codes(frame, self.cuts, model.n_jobs), with_bins(schema, self.cuts)
        return coded, with_values_of_codes(coded, schema, model.n_jobs)

    def take(self, data: Coded, rows: Array) -> Coded:
        codes = data.codes[rows] if isinstance(data.codes, np.ndarray) else [c[rows] for c in data.codes]
        return replace(data, codes=codes)

    def score(self, model: SemiNaive, data: Coded) -> Floats:
        return model._score(translated(data, model.schema_))

    def count(self, model: SemiNaive, data: Coded, schema: Schema, y: Array, shares: Floats) -> Statistics:
        table, found = collect_codes(data, schema, y, shares, model.n_jobs, self.cuts)
        if model._pairs_counted:
            pairs = collect_pairs(table, y, found.n_classes, shares, model.n_jobs, model.max_memory)
            found = replace(found, joints=(pairs,))
        return model._finish(table, found, y, shares)


@parameters
class Unlabelled(TableLearner):
    """A learner from tables whose rows need not all have a label: `fit` and `expectation_maximization` infer the others."""

    _: KW_ONLY
    unlabelled: Any = ()  # any label may be the mark
    unlabelled_weight: Annotated[Any, AT_LEAST_0, AUTO] = "auto"

    _turns: ClassVar[type[Turns]] = CodedTurns

    def _rows(self, X: Any, y: Any, sample_weight: Any, declared: tuple[Any, ...], **labels: Any) -> Rows:
        weight = self.unlabelled_weight
        told = {"unlabelled": self.unlabelled, "unlabelled_weight": 1.0 if isinstance(weight, str) else weight}
        return super()._rows(X, y, sample_weight, declared, **{**told, **labels})

    def _first(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array]:
        rows = self._rows(X, y, sample_weight, ())
        if rows.hidden is not None and isinstance(self.unlabelled_weight, str):
            self.unlabelled_weight_ = choose_weight(self, rows)
            rows = self._rows(X, y, sample_weight, (), unlabelled_weight=self.unlabelled_weight_)
        if rows.hidden is None:
            return self._count(rows)
        data = HiddenClass(self, rows)
        found = data.climb(type(self).__name__)
        learned, own = vars(data.finish(found.parameters)), self._get_param_names()
        self.__dict__.update({name: value for name, value in learned.items() if name not in own})
        self.em_ = replace(found, parameters=None)
        return self.statistics_, rows.labels

    def _read(self, X: Any, y: Any, sample_weight: Any, declared: tuple[Any, ...]) -> tuple[Any, Array]:
        rows = self._rows(X, y, sample_weight, declared)
        if rows.hidden is not None:
            raise BadValue(
                f"rows without a label ({self.unlabelled!r}) are learned by fit alone, all at once: their classes are "
                "inferred from all rows together"
            )
        return self._count(rows)

    def _new_pending(self, parameters: list[tuple[str, Any]]) -> PendingRows | None:
        marked = not isinstance(self.unlabelled, tuple) or self.unlabelled
        return None if marked else super()._new_pending(parameters)

    def _refuse_inferred(self, what: str) -> None:
        if "em_" in self.__dict__:
            raise ModelError(
                f"{what} after EM: the classes of unlabelled rows were inferred from all rows together, so that their "
                "counts change with every other row; fit all rows again"
            )

    def _hidden(self, X: Any, y: Any, sample_weight: Any, n_classes: int | None, hard: bool) -> HiddenClass:
        """The rows as `expectation_maximization` asks for them."""
        model = copy.copy(self)
        model._unlearn()
        model._check_parameters()
        if (y is None) != (n_classes is not None):
            raise BadParameter("give y, with labels for some rows at least, or n_classes where no row has one")
        if n_classes is None:
            rows = model._rows(X, y, sample_weight, ())
        else:
            rows = model._rows(X, np.zeros(open_frame(X).n), sample_weight, ())
            names = np.arange(int(n_classes))
            schema = replace(rows.schema, classes=tuple(names.tolist()), declared_classes=frozenset(names.tolist()))
            rows = replace(rows, schema=schema, labels=names, hidden=np.ones(rows.frame.n, dtype=bool))
        return HiddenClass(model, rows, hard)


class HiddenClass:
    """Rows with their labels, where they have one, under one model; see `em.Hidden`."""

    def __init__(self, model: Any, rows: Rows, hard: bool = False) -> None:
        hidden = np.zeros(rows.frame.n, dtype=bool) if rows.hidden is None else rows.hidden
        self.hard, self.labels, self.frame, self.rows = hard, rows.labels, rows.frame, rows
        self.rng = np.random.default_rng(0)  # of the order in which batches come
        self.known, self.hidden = np.flatnonzero(~hidden), np.flatnonzero(hidden)
        self.codes = rows.codes
        self.own = np.where(hidden, np.int32(-1), rows.codes.astype(np.int32))
        self.weights = np.ones(rows.frame.n) if rows.weights is None else rows.weights
        self.weight = float(self.weights.sum())
        self.plain = bool((self.weights == 1.0).all())
        self.turns: Turns = model._turns(model, rows, self.known)
        self.template, self.data, self.schema = self.turns.template, self.turns.data, self.turns.schema
        self.climbs = self.turns.climbs
        self.declared = {c.name: c.declared for c in rows.schema.columns}

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
        shares, value = self._share_out(self.turns.score(model, self.data), self.own, weights)
        return shares, value + float(self.turns.log_prior(model))

    def _share_out(self, log_joint: Floats, own: Array, weights: Floats | None) -> tuple[Floats, float]:
        """(w·r, Σ w ln P) of rows of class `own`, or hidden (−1); log_joint is overwritten."""
        return share_out(np.ascontiguousarray(log_joint), own, weights, self.hard, self.template.n_jobs)

    def maximise(self, shares: Floats) -> Any:
        """The model that these shares count to."""
        model = copy.copy(self.template)
        model._become(self.turns.count(model, self.data, self.schema, self.codes, shares), self.labels)
        return model

    def expected(self, shares: Floats, model: Any) -> float:
        """Q(θ|θ_t) = Σ w r ln P(y, x) of these shares w·r under θ, with the log prior that ℓ has."""
        joint = np.where(shares > 0, self.turns.score(model, self.data), 0.0)
        return float((shares * joint).sum()) + float(self.turns.log_prior(model))

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
        answer = normalise(self.turns.score(first, self.data), first.n_jobs)[0]
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
        return normalise(self.turns.score(one, self.data), one.n_jobs)[1]

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
            scored = self.turns.score(model, self.turns.take(self.data, rows))
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
        codes = places_in(rows.schema.classes, model.schema_.classes)[rows.codes]
        schema = replace(rows.schema, classes=model.schema_.classes)
        own = np.where(hidden, np.int32(-1), codes.astype(np.int32))
        shares, value = self._share_out(model._log_joint(rows.frame), own, w)
        told = model.unlabelled_weight
        shares[hidden] *= 1.0 if isinstance(told, str) else told
        found = self.turns.count(model, *self.turns.prepare(model, rows.frame, schema), codes, shares)
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
        return self.turns.count(model, self.turns.take(self.data, rows), self.schema, self.codes[rows], shares)

    def finish(self, model: Any) -> Any:
        """The model with values that are there because rows have them."""
        statistics = model.statistics_
        columns = tuple(
            c if c.kind in MEASURED else replace(c, declared=self.declared[c.name])  # bins stay
            for c in statistics.schema.columns
        )
        model.statistics_ = replace(statistics, schema=replace(statistics.schema, columns=columns))
        model._kept = None
        model._named(self.rows)
        model._seen = Seen()
        return model


def _of_known(model: Any, rows: Rows, known: Ints) -> Any:
    """The model of the rows with labels alone."""
    model, w = copy.copy(model), None if rows.weights is None else rows.weights[known]
    counted, _ = model._collect(rows.frame.take_rows(known), rows.schema, rows.codes[known], w)
    model._become(counted, rows.labels)
    return model


def choose_weight(model: Any, rows: Rows) -> float:
    """The weight of rows without a label, from 0 to 1, for rows that weigh one each."""
    assert rows.hidden is not None
    model._turns(model, rows, np.flatnonzero(~rows.hidden))  # which refuses what cannot be learned so
    rows, share, groups = _some(model, rows)
    assert rows.hidden is not None
    assert rows.weights is not None
    known = np.flatnonzero(~rows.hidden)
    fold = _dealt(rows.codes[known], groups)
    if fold is None or len(rows.schema.classes) < 2:
        return 0.0
    own = np.append(rows.weights[known], WRONG)
    alone = _losses(model, rows, known, fold, 0.0)
    heavy = own[:-1].sum() / rows.weights[rows.hidden].sum()
    best, gain = 0.0, 0.0
    for weight in sorted({min(times * heavy, share) for times in TIMES}):
        try:
            losses = _losses(model, rows, known, fold, weight)
        except ModelError:  # the labels rule some rows out: no climb begins there
            continue
        better = alone - losses
        mean = (own * better).sum() / own.sum()
        error = np.sqrt((own * (better - mean) ** 2).sum()) / own.sum()
        guess = np.log(len(rows.schema.classes))
        if mean - ERRORS * error > gain and (own * losses)[:-1].sum() < guess * own[:-1].sum():
            best, gain = weight / share, mean - ERRORS * error
    return float(best)


def _some(model: Any, rows: Rows) -> tuple[Rows, float, Floats]:
    """(at most MOST rows of either sort, what one without a label may weigh, ln P(x) of those with one).

    Rows stand in the order of ln P(x) under the labels alone, and are taken evenly from it: the table's says nothing.
    """
    assert rows.hidden is not None
    every = _of_known(model, rows, np.flatnonzero(~rows.hidden))
    evidence = np.round(normalise(every._log_joint(rows.frame))[1], DIGITS)
    order = np.argsort(evidence, kind="stable")
    parts = [_evenly(order[~rows.hidden[order]]), _evenly(order[rows.hidden[order]])]
    some = np.concatenate(parts)
    weights = np.ones(len(order)) if rows.weights is None else rows.weights
    whole = np.count_nonzero(~rows.hidden), np.count_nonzero(rows.hidden)
    share = (whole[1] / len(parts[1])) / (whole[0] / len(parts[0]))
    taken = replace(
        rows,
        frame=rows.frame.take_rows(some),
        codes=rows.codes[some],
        weights=weights[some],
        hidden=rows.hidden[some],
    )
    return taken, share, evidence[parts[0]]


def _evenly(rows: Ints) -> Ints:
    return rows if len(rows) <= MOST else rows[np.linspace(0, len(rows) - 1, MOST).astype(np.int64)]


def _dealt(codes: Any, evidence: Floats) -> Ints | None:
    """The fold of each label, the different rows of a class in turn; None where a class has but one such row."""
    fold = np.empty(len(codes), np.int64)
    for c in np.unique(codes):
        different, rank = np.unique(evidence[codes == c], return_inverse=True)
        if len(different) < 2:
            return None
        fold[codes == c] = rank % FOLDS
    return fold


def _losses(model: Any, rows: Rows, known: Ints, fold: Ints, weight: float) -> Floats:
    """−ln P(y|x) of every label, foretold without those of its fold, and of one that is foretold wrongly."""
    out, wrong = np.empty(len(known)), np.empty(len(known))
    for f in np.unique(fold):
        at, mine = known[fold == f], fold == f
        posterior = normalise(_foretold(model, rows, at, weight))[0]
        others = (1 - posterior.max(axis=1)) / (posterior.shape[1] - 1)
        with np.errstate(divide="ignore"):
            out[mine], wrong[mine] = -np.log(posterior[np.arange(len(at)), rows.codes[at]]), -np.log(others)
    found = np.append(out, np.minimum(wrong, WORST).mean())
    return np.asarray(np.minimum(np.nan_to_num(found, nan=WORST), WORST))


def _foretold(model: Any, rows: Rows, at: Ints, weight: float) -> Floats:
    """log P(y, x) of some rows, learned with their labels hidden."""
    assert rows.hidden is not None
    assert rows.weights is not None
    hidden = rows.hidden.copy()
    hidden[at] = True
    if weight == 0:
        alone = _of_known(model, rows, np.flatnonzero(~hidden))
        log_joint: Floats = alone._log_joint(rows.frame.take_rows(at))
        return log_joint
    weights = np.where(hidden, weight, 1.0) * rows.weights
    data = HiddenClass(model, replace(rows, hidden=hidden, weights=weights, hidden_weight=weight))
    close = close_by(ENOUGH * data.weight)
    found = ascend(data.starts(1, 0), data.expect, data.maximise, max_iter=TURNS, close=close, climbs=data.climbs)
    if found.interrupted:
        raise KeyboardInterrupt
    return data.turns.score(found.parameters, data.turns.take(data.data, at))
