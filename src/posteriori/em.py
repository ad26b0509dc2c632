"""Expectation and maximisation: one loop for whatever has hidden values.

Symbols: θ parameters, S expected statistics, ℓ the objective, log P(data | θ), with the log prior of θ where there is one.

    E   S, ℓ(θ) = expect(θ)         what the data would have counted, had nothing been hidden, as θ sees it
    M   θ' = maximise(S)            counting: the θ that is best for these statistics

M maximises Q(θ'|θ) = E ln P(data, hidden | θ') over what is hidden as θ sees it, and ℓ(θ') − ℓ(θ) ≥ Q(θ'|θ) − Q(θ|θ) ≥ 0:
every turn climbs, to a top that need not be the highest. So several starts each make a few turns, and the best of them
goes on (Biernacki, Celeux and Govaert, 2003). Where M does not maximise Q (an average of models, a floor, a structure
learned anew, a part of the rows) a turn may fall: it is marked, and the best θ is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Generic, Protocol, TypeVar

from .arrays import is_number, is_whole
from .errors import BadParameter, ModelError
from .fields import DERIVED, UNBOUNDED, need

Parameters = TypeVar("Parameters")
Expected = TypeVar("Expected")

TRIAL = 10  # turns that each of several starts makes before the best goes on
PATIENCE = 10  # turns without a better one after which a climb that may fall is given up
ROUNDING = 1e-10  # a fall by less than this share of ℓ is none


@dataclass(frozen=True)
class Ascent(Generic[Parameters]):
    """Where the climb ended: θ, ℓ(θ) after every turn of the best start, and why it ended.

    `converged` says that the last turn gained next to nothing; else the turns ran out, or Ctrl-C came (`interrupted`).
    `marks` are the turns, from 1 on, of which something is to be said, with what; θ is that of the turn `best`.
    `expected`, where it was asked for, has Q(θ|θ) and Q(θ'|θ) of every M-step.
    """

    parameters: Parameters = field(repr=False, compare=False)
    trace: Annotated[tuple[float, ...], UNBOUNDED]
    converged: bool = False
    interrupted: bool = False
    marks: tuple[tuple[int, str], ...] = ()
    at: int = -1
    expected: Annotated[tuple[tuple[float, float], ...], DERIVED] = ()

    def check(self) -> None:
        """Refuse a best turn that is none."""
        need(-1 <= self.at < len(self.trace), "the best turn of a climb must be one of its turns")

    @property
    def model(self) -> Parameters:
        """θ, where it is a fitted model."""
        return self.parameters

    @property
    def objective(self) -> float:
        """ℓ(θ)."""
        return self.trace[self.at]

    @property
    def best(self) -> int:
        """The turn, from 1 on, that θ is of: the last one, unless a later one fell."""
        return self.at + 1 if self.at >= 0 else len(self.trace)

    @property
    def turns(self) -> int:
        """How often statistics were expected."""
        return len(self.trace)


def ascend(
    starts: Iterable[Parameters],
    expect: Callable[[Parameters], tuple[Expected, float]],
    maximise: Callable[[Expected], Parameters],
    *,
    tol: float = 1e-8,
    max_iter: int = 200,
    progress: Callable[[int, float], Any] | None = None,
    close: Callable[[float, float], bool] | None = None,
    climbs: bool = True,
    expected: Callable[[Expected, Parameters], float] | None = None,
) -> Ascent[Parameters]:
    """Climb from the best of the starts until a turn gains less than tol·|ℓ|; Ctrl-C keeps the best so far.

    `progress` is told the turn and ℓ, which is what is logged or drawn. `close(ℓ before, ℓ)` says when a climb has ended,
    where tol·|ℓ| is not the measure. Where M need not maximise ℓ (`climbs` is false) turns that fall are marked and gone
    on from, and the best θ is kept. `expected(S, θ')` is Q(θ'|θ) of the θ that S was expected with; it is for the record.

    >>> rows = [1.0, 1.2, 5.0, 5.2]                                 # two groups; θ their means, S sums and sizes
    >>> def expect(means):
    ...     near = [[math.exp(-(x - m) ** 2) for m in means] for x in rows]
    ...     share = [[p / sum(ps) for p in ps] for ps in near]
    ...     sums = [(sum(s[k] * x for s, x in zip(share, rows)), sum(s[k] for s in share)) for k in range(2)]
    ...     return sums, sum(math.log(sum(ps)) for ps in near)
    >>> found = ascend([(0.0, 1.0)], expect, lambda sums: [total / n for total, n in sums])
    >>> [round(m, 2) for m in found.parameters], found.converged
    ([1.1, 5.1], True)
    """
    _check(tol, max_iter, progress)
    ended = close or (lambda before, value: (value - before if climbs else abs(value - before)) <= tol * abs(value))
    begun = [Ascent(start, ()) for start in starts]
    if not begun:
        raise ModelError("a climb needs at least one start")
    best = here = None
    try:
        for most in (TRIAL, max_iter) if len(begun) > 1 else (max_iter,):
            for start in begun:
                for here in _turns(start, expect, maximise, ended, min(most, max_iter), climbs, expected):
                    if progress is not None:
                        progress(here.turns, here.trace[-1])
                best = _better(best, here)
                here = None
            assert best is not None
            begun, best = [best], None
        return begun[0]
    except KeyboardInterrupt:
        best = _better(best, here) or (begun[0] if begun[0].trace else None)
        if best is None:
            raise
        return replace(best, interrupted=True)


def _better(a: Ascent[Parameters] | None, b: Ascent[Parameters] | None) -> Ascent[Parameters] | None:
    """The higher one, the first of equals; a later turn of the same climb is never lower."""
    if a is None or b is None:
        return b if a is None else a
    return b if b.objective > a.objective else a


def _turns(
    here: Ascent[Parameters],
    expect: Callable[[Parameters], tuple[Expected, float]],
    maximise: Callable[[Expected], Parameters],
    ended: Callable[[float, float], bool],
    most: int,
    climbs: bool,
    expected: Callable[[Expected, Parameters], float] | None,
) -> Iterator[Ascent[Parameters]]:
    """Turn after turn, to `most` of them; θ is told together with its own ℓ, so that the last one told is whole."""
    theta, trace, done, marks = here.parameters, here.trace, here.converged, here.marks
    kept, at, record = theta, here.at, here.expected

    def best(statistics: Expected) -> Parameters:
        nonlocal record
        found = maximise(statistics)
        if expected is not None:
            record = (*record, (expected(statistics, theta), expected(statistics, found)))
        return found

    if trace and not done and len(trace) < most:  # to go on from a θ that was seen already
        theta = best(expect(theta)[0])
    elif trace:
        yield here
        return
    while len(trace) < most:
        statistics, value = expect(theta)
        if math.isnan(value) or value == -math.inf:
            raise ModelError("a climb begins where the data are possible; this start rules some of them out")
        done = bool(ended(trace[-1] if trace else -math.inf, value))
        if trace and value < trace[-1] - ROUNDING * abs(value):
            marks = (*marks, (len(trace) + 1, "fell"))
        if climbs:
            kept = theta
        elif not trace or value > trace[at]:
            kept, at = theta, len(trace)
        trace = (*trace, value)
        tired = not climbs and len(trace) - at > PATIENCE
        if tired and not done:
            marks = (*marks, (len(trace), f"no better in {PATIENCE} turns"))
        yield Ascent(kept, trace, done, False, marks, at, record)
        if done or tired or len(trace) == most:  # no M-step that nobody sees
            return
        theta = best(statistics)


class Hidden(Protocol):
    """Data in which something is hidden, as a model sees them: what `expectation_maximization` asks a model for."""

    climbs: bool  # whether M maximises ℓ
    weight: float  # of all rows

    def starts(self, n_init: int, random_state: Any) -> Sequence[Any]:
        """Models to begin with."""

    def started(self, start: Any) -> Any:
        """The model to begin with, from what the caller gave."""

    def expect(self, model: Any) -> tuple[Any, float]:
        """(responsibilities, ℓ)."""

    def maximise(self, shares: Any) -> Any:
        """The model that counting by these responsibilities gives."""

    def expected(self, shares: Any, model: Any) -> float:
        """Q of a model, these being the responsibilities."""

    def sweep(self, state: Any, batch_size: int, decay: float) -> Any:
        """One pass over the rows by batches: see `expectation_maximization`."""

    def follow(self, model: Any, table: tuple[Any, Any, Any], t: int, decay: float) -> tuple[Any, float]:
        """(the model after one more table of a stream, the mean ln P of its rows before)."""

    def finish(self, model: Any) -> Any:
        """The model as the caller gets it."""


def expectation_maximization(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    n_classes: int | None = None,
    hard: bool = False,
    start: Any = None,
    n_init: int | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    batch_size: int | None = None,
    decay: float = 0.7,
    random_state: Any = None,
    progress: Callable[[int, float], Any] | None = None,
    expected: bool = False,
) -> Ascent[Any]:
    """A counting classifier learned from rows whose class is hidden: E infers the classes, M counts.

    ℓ is Σ w ln P(y, x) over the rows with a label and Σ w ln P(x) over those without one (`hard`: Σ w max_y ln P(y, x)),
    with the log prior of θ where M then maximises ℓ: in naive Bayes. Elsewhere (averages as AODE,
    back-off in TAN and KDB, kernels, batches) a turn may fall: it is marked, and the best model is kept.

    Parameters
    ----------
    model : NaiveBayes, TAN, AODE, KDB, SPODE or A2DE
        What is learned; it stays as it is, the result has a fitted copy (`.model`).
    X, y : the rows, and the labels of those that have one
        `model.unlabelled` says what a missing label looks like, `model.unlabelled_weight` what such rows weigh (1 where
        it is "auto", which `fit` chooses). Without y every class is hidden, and `n_classes` says how many there are:
        they are called 0, 1, …
    hard : bool
        Give each row to its most probable class, as k-means does, rather than to every class by its probability.
    start : a fitted model, or an array of responsibilities (n, K), optional
        Where to begin; by default at the rows with labels, or at K rows drawn at random.
    n_init : int, optional
        Starts, of which the best goes on: 10 without labels, else 1.
    tol, max_iter, progress :
        A turn that gains less than tol a row is the last, whatever the columns' units; `progress` is told the turn and ℓ.
    batch_size : int, optional
        Learn after every so many rows: statistics move by the step (t + 2)^−`decay` towards those of the batch (Cappé and
        Moulines, 2009); a turn is one pass. `decay` lies in (½, 1]. Where X is an iterator of tables, of pairs of a table
        and its labels, or of triples with the weights of the rows too, the first is learned as a whole, every other by
        one such step, and none is kept; the trace then has the mean of ln P over each table before it was learned.

    expected : bool
        Record Q(θ|θ) and Q(θ'|θ) of every M-step too, with the log prior that ℓ has; not by batches.

    >>> from posteriori import NaiveBayes
    >>> X = {"a": ["x", "x", "y", "y", "x", "y"] * 4, "b": ["u", "u", "v", "v", "u", "v"] * 4}
    >>> found = expectation_maximization(NaiveBayes(), X, n_classes=2, random_state=0)
    >>> (found.model.predict(X)[:6] == found.model.predict(X)[0]).tolist(), found.converged
    ([True, True, False, False, True, False], True)
    """
    _check(tol, max_iter, progress)
    see = getattr(model, "_hidden", None)
    if see is None:
        raise BadParameter(
            "a hidden class is inferred by the classifiers that count: NaiveBayes, TAN, AODE, KDB, SPODE, A2DE. "
            f"Got {type(model).__name__} instead."
        )
    for name, value, least in (("n_init", n_init, 1), ("batch_size", batch_size, 1), ("n_classes", n_classes, 1)):
        if value is not None and not is_whole(value, least):
            raise BadParameter(f"{name} is a whole number from {least} up, or None. Got {value!r} instead.")
    if not is_number(decay, 0.5, 1) or decay == 0.5:
        raise BadParameter(f"decay lies above 0.5, up to 1. Got {decay!r} instead.")
    if hasattr(X, "__next__"):
        if y is not None or sample_weight is not None:
            raise BadParameter("the tables of a stream bring their labels and weights along, as pairs or triples")
        first, labels, weights = _triple(next(X, None))
        begun = expectation_maximization(
            model,
            first,
            labels,
            sample_weight=weights,
            n_classes=n_classes,
            hard=hard,
            start=start,
            n_init=n_init,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            progress=progress,
            expected=expected,
        )
        return _follow(see(first, labels, weights, n_classes, bool(hard)), begun, X, float(decay), progress)
    data: Hidden = see(X, y, sample_weight, n_classes, bool(hard))
    if start is not None:
        starts: Sequence[Any] = [data.started(start)]
    else:
        starts = data.starts(n_init or (1 if y is not None else TRIAL), random_state)
    close = close_by(tol * data.weight)
    how: dict[str, Any] = {"max_iter": max_iter, "progress": progress, "close": close}
    if batch_size is None:
        judge = data.expected if expected else None
        found = ascend(starts, data.expect, data.maximise, climbs=data.climbs, expected=judge, **how)
        return replace(found, parameters=data.finish(found.parameters))
    states = [(theta, None, 0) for theta in starts]  # the model, its running statistics, the steps made
    found = ascend(
        states,
        lambda state: (state, data.expect(state[0])[1]),
        lambda state: data.sweep(state, int(batch_size), float(decay)),
        climbs=False,
        **how,
    )
    return replace(found, parameters=data.finish(found.parameters[0]))


def close_by(least: float) -> Callable[[float, float], bool]:
    """Whether ℓ has changed by no more than so much."""
    return lambda before, value: abs(value - before) <= least


def _triple(item: Any) -> tuple[Any, Any, Any]:
    """(table, labels or None, weights or None) of an item of a stream."""
    if item is None:
        raise BadParameter("a stream needs at least one table")
    if isinstance(item, tuple) and len(item) in (2, 3):
        table, labels, *weights = item
        return table, labels, weights[0] if weights else None
    return item, None, None


def _follow(
    data: Hidden, begun: Ascent[Any], tables: Iterator[Any], decay: float, progress: Callable[[int, float], Any] | None
) -> Ascent[Any]:
    """One step for every table that comes; Ctrl-C keeps what was learned."""
    model, interrupted = begun.model, False
    trace: tuple[float, ...] = ()
    try:
        for t, item in enumerate(tables):
            model, value = data.follow(model, _triple(item), t, decay)
            trace = (*trace, value)
            if progress is not None:
                progress(len(trace), value)
    except KeyboardInterrupt:
        interrupted = True
    if not trace:
        return begun
    return Ascent(model, trace, False, interrupted, ((1, "a stream: mean ln P of each table before it was learned"),))


def _check(tol: Any, max_iter: Any, progress: Any) -> None:
    if not is_number(tol, 0) or tol == math.inf:
        raise BadParameter(f"tol is a number from 0 up. Got {tol!r} instead.")
    if not is_whole(max_iter, 1):
        raise BadParameter(f"max_iter is a whole number from 1 up. Got {max_iter!r} instead.")
    if progress is not None and not callable(progress):
        raise BadParameter(f"progress is called with the turn and the objective. Got {progress!r} instead.")
