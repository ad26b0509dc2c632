"""Expectation and maximisation: one loop for whatever has hidden values.

Symbols: θ parameters, S expected statistics, ℓ the objective, log P(data | θ), with the log prior of θ where there is one.

    E   S, ℓ(θ) = expect(θ)         what the data would have counted, had nothing been hidden, as θ sees it
    M   θ' = maximise(S)            counting: the θ that is best for these statistics

ℓ(θ') ≥ ℓ(θ): every turn climbs, to a top that need not be the highest. So several starts each make a few turns, and the
best of them goes on (Biernacki, Celeux and Govaert, 2003).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Generic, TypeVar

from .errors import BadParameter, ModelError

Parameters = TypeVar("Parameters")
Expected = TypeVar("Expected")

TRIAL = 10  # turns that each of several starts makes before the best goes on


@dataclass(frozen=True)
class Ascent(Generic[Parameters]):
    """Where the climb ended: θ, ℓ(θ) after every turn of the best start, and why it ended.

    `converged` says that the last turn gained next to nothing; else the turns ran out, or Ctrl-C came (`interrupted`).
    """

    parameters: Parameters = field(repr=False, compare=False)
    trace: tuple[float, ...]
    converged: bool = False
    interrupted: bool = False

    @property
    def objective(self) -> float:
        """ℓ(θ)."""
        return self.trace[-1]

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
) -> Ascent[Parameters]:
    """Climb from the best of the starts until a turn gains less than tol·|ℓ|; Ctrl-C keeps the best so far.

    `progress` is told the turn and ℓ, which is what is logged or drawn. `close(ℓ before, ℓ)` says when a climb has ended,
    where tol·|ℓ| is not the measure.

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
    ended = close or (lambda before, value: value - before <= tol * abs(value))
    begun = [Ascent(start, ()) for start in starts]
    if not begun:
        raise ModelError("a climb needs at least one start")
    best = here = None
    try:
        for most in (TRIAL, max_iter) if len(begun) > 1 else (max_iter,):
            for start in begun:
                for here in _turns(start, expect, maximise, ended, min(most, max_iter)):
                    if progress is not None:
                        progress(here.turns, here.objective)
                best = _better(best, here)
                here = None
            assert best is not None
            begun, best = [best], None
        return begun[0]
    except KeyboardInterrupt:
        best = _better(best, here) or (begun[0] if begun[0].trace else None)
        if best is None:
            raise
        return Ascent(best.parameters, best.trace, best.converged, interrupted=True)


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
) -> Iterator[Ascent[Parameters]]:
    """Turn after turn, to `most` of them; θ is told together with its own ℓ, so that the last one told is whole."""
    theta, trace, done = here.parameters, here.trace, here.converged
    if trace and not done and len(trace) < most:  # to go on from a θ that was seen already
        theta = maximise(expect(theta)[0])
    elif trace:
        yield here
        return
    while not done and len(trace) < most:
        statistics, value = expect(theta)
        if math.isnan(value) or value == -math.inf:
            raise ModelError("a climb begins where the data are possible; this start rules some of them out")
        done = bool(trace) and ended(trace[-1], value)
        trace = (*trace, value)
        yield Ascent(theta, trace, done)
        if not done:
            theta = maximise(statistics)


def _check(tol: Any, max_iter: Any, progress: Any) -> None:
    if not isinstance(tol, Real) or isinstance(tol, bool) or not 0 <= float(tol) < math.inf:
        raise BadParameter(f"tol is a number from 0 up. Got {tol!r} instead.")
    if not isinstance(max_iter, Integral) or isinstance(max_iter, bool) or max_iter < 1:
        raise BadParameter(f"max_iter is a whole number from 1 up. Got {max_iter!r} instead.")
    if progress is not None and not callable(progress):
        raise BadParameter(f"progress is called with the turn and the objective. Got {progress!r} instead.")
