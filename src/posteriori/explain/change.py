"""The least change of a row that changes the decision.

Least is: of the fewest attributes; then by the smallest move, a number's being measured by its column's range and any other
change counting as a whole range. One attribute: every candidate is tried. Several: for each rival class, the change that
moves ln P(rival|x)/P(decided|x) most is added until the decision turns, and what was not needed is taken back. Of a naive
model this finds the fewest attributes under zero-one loss, of others a good set, not always the least. Parts of a date (its
month, its weekday) change with their date alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..bayes.naive import NaiveBayes
from ..explanation import Change
from ..statistics.moments import Moments
from ..statistics.statistics import Statistics
from ..table.frame import open_frame
from .weigh import MOST_CELLS, Case, Sums, floor_of, kept_rows, log_posteriors, odds

LARGE = 2.0**53  # every number beyond is whole
GRID = 25  # values of a number that are tried
MOST_LAZY = 100  # rows of which a model is asked that visits its own for each; several attributes are then not tried
MOST_TRIED = 6000  # rows judged at a time; of wide tables the weakest attributes are then left as they are
MOST_CHANGED = 5  # attributes
MOST_RIVALS = 5
MANY, FEW = 64, 16  # numbers that turn the decision, of which the nearest are then looked at closely

Values = dict[int, Any]


@dataclass(frozen=True, eq=False)
class Judge:
    """How the model decides over rows: ln P(y|x) of each, and the place of the action taken."""

    model: Any
    case: Case
    decide: Callable[[Floats], Ints]
    decided: int

    def __call__(self, changes: Sequence[Values]) -> tuple[Floats, Ints]:
        linked = [self.case.linked(change) for change in changes]
        logs = self.sums(linked) if self.sums is not None else log_posteriors(self.model, self.case, linked)
        return logs, self.decide(logs)

    @cached_property
    def sums(self) -> Sums | None:
        """The quick way, of a model that is a sum over its columns."""
        return Sums(self.model, self.case) if isinstance(self.model, NaiveBayes) else None

    def odds(self, logs: Floats, rival: int, best: int) -> Floats:
        """ln P(rival|x)/P(best|x); of a row that no class allows as little as can be."""
        with np.errstate(invalid="ignore"):
            found = odds(np.maximum(logs, floor_of(self.model)), rival, best)
        return np.where(np.isneginf(logs.max(axis=1)), -np.inf, found)

    @property
    def lazy(self) -> bool:
        """Whether every answer of the model costs a visit of its rows."""
        return bool(getattr(self.model, "_stored", False))

    def turned(self, changes: Sequence[Values]) -> Any:
        """Whether each change turns the decision."""
        return self(changes)[1] != self.decided


def least_changes(
    judge: Judge, choices: list[list[Any]], strength: Floats, best: int, actions: Sequence[Any], most: int
) -> tuple[Change, ...]:
    """Up to `most` changes of one attribute, least first; else one of several; none where nothing that was tried turns it.

    `best` is the class that the decision rests on, `strength` orders the attributes of wide tables.
    """
    order = np.argsort(-np.abs(strength), kind="stable")
    room, columns = max(100, min(MOST_TRIED, MOST_CELLS // len(choices))), list[int]()
    room = MOST_TRIED if judge.sums is not None else room
    room = min(room, MOST_LAZY) if judge.lazy else room
    for j in order:
        if choices[j] and (room := room - len(choices[j])) >= 0:
            columns.append(int(j))
    singles = [{j: v} for j in columns for v in choices[j]]
    if not singles:
        return ()
    logs, acts = judge(singles)
    turning: dict[int, list[tuple[Any, float]]] = {}
    for change, act, sure in zip(singles, acts, logs.max(axis=1)):
        if act != judge.decided:
            ((j, value),) = change.items()
            turning.setdefault(j, []).append((value, float(sure)))
    if turning:
        found = _nearest(judge, {}, turning, choices)
        moves = sorted(found, key=lambda j: found[j][0])[:most]
        return tuple(_told(judge, {j: found[j][1]}, actions) for j in moves)
    if judge.lazy:
        return ()
    rivals = _rivals(judge, singles, logs, best)
    sets = [s for rival in rivals if (s := _gathered(judge, singles, logs, rival, best)) is not None]
    if not sets:
        return ()
    values = min(sets, key=len)
    for j in [j for j in values if judge.case.measured(j) and not judge.case.missing(j)]:
        rest = {k: v for k, v in values.items() if k != j}
        values = rest | {j: _nearest(judge, rest, {j: [(values[j], 0.0)]}, choices)[j][1]}
    return (_told(judge, values, actions),)


def _gathered(judge: Judge, singles: list[Values], logs: Floats, rival: int, best: int) -> Values | None:
    """Changes that speak for the rival, strongest first, until the decision turns; those not needed taken back."""
    values: Values = {}
    for _ in range(MOST_CHANGED):
        gain = judge.odds(logs, rival, best)
        free = [i for i, s in enumerate(singles) if not s.keys() & values.keys()]
        if not free:
            return None
        values = values | singles[max(free, key=lambda i: gain[i])]
        if judge.turned([values])[0]:
            break
        logs = judge([values | s for s in singles])[0]
    else:
        return None
    for j in list(values):
        fewer = {k: v for k, v in values.items() if k != j}
        if fewer and judge.turned([fewer])[0]:
            values = fewer
    return values


def _rivals(judge: Judge, singles: list[Values], logs: Floats, best: int) -> list[int]:
    """The classes to try, first those that the fewest changes would bring to the front, did their gains add up."""
    own = judge([{}])[0]
    places = np.sort(
        np.unique([next(iter(s)) for s in singles], return_index=True)[1]
    )  # those of a column stand together
    need = list[tuple[int, float, int]]()
    for c in (c for c in range(logs.shape[1]) if c != best):
        start = judge.odds(own, c, best)[0]
        with np.errstate(invalid="ignore"):
            gains = np.maximum.reduceat(judge.odds(logs, c, best), places) - start
        front = start + np.cumsum(np.sort(np.nan_to_num(gains, nan=0.0))[::-1][:MOST_CHANGED])
        need.append((int((front <= 0).sum()), -float(front[-1]), c))
    return [c for _, _, c in sorted(need)[:MOST_RIVALS]]


def _nearest(
    judge: Judge, rest: Values, turning: dict[int, list[tuple[Any, float]]], tried: list[list[Any]]
) -> dict[int, tuple[tuple[float, float], Any]]:
    """Of each column ((size of the move, how unsure it leaves the decision), the value nearest to its own that turns it).

    `turning` holds values that do, each with how sure the decision then is.
    """
    case, found, ends = judge.case, dict[int, Any](), dict[int, tuple[float, float]]()
    for j, values in turning.items():
        if case.measured(j) and not case.missing(j):
            own = float(case.cells[j])
            ends[j] = own, min((float(v) for v, _ in values), key=lambda v: abs(v - own))
        else:
            value, sure = max(values, key=lambda pair: pair[1])
            found[j] = (1.0, -sure), value
    for turn in range(14 if ends else 0):  # the first of seven points between that turns it, again and again
        if turn == 3 and len(ends) > MANY:
            ends = dict(sorted(ends.items(), key=lambda e: _size(e[1][1], float(case.cells[e[0]]), tried[e[0]]))[:FEW])
        points = {j: _between(*ends[j], 9)[1:-1] for j in ends}
        hits = judge.turned([rest | {j: float(p)} for j in ends for p in points[j]]).reshape(len(ends), -1)
        for (j, between), hit in zip(points.items(), hits):
            first = int(hit.argmax()) if hit.any() else len(between)
            ends[j] = between[first - 1] if first else ends[j][0], between[first] if hit.any() else ends[j][1]
    for j, (_, to) in ends.items():
        own, width = float(case.cells[j]), _width(tried[j])
        value = _short(judge, rest, j, own, float(to), width, whole=all(map(_is_whole, (own, *tried[j]))))
        found[j] = (_size(value, own, tried[j]), 0.0), value
    return found


def _width(tried: list[Any]) -> float:
    return max(map(float, tried)) - min(map(float, tried))


def _size(to: float, own: float, tried: list[Any]) -> float:
    """The size of a move, by its column's range."""
    width = _width(tried)
    return abs(to - own) / width if width else 1.0


def _short(judge: Judge, rest: Values, j: int, own: float, to: float, width: float, whole: bool) -> float:
    """A number of few digits at or beyond `to`, seen from `own`, that turns the decision too."""
    beyond = math.ceil if to > own else math.floor
    if whole:  # the nearer first: in the middle of a day it is that day
        tries = sorted({float(math.floor(to)), float(math.ceil(to))}, key=lambda v: abs(v - own))
    else:
        tries = [_rounded(to, beyond, width, digits) for digits in range(6)]
    good = [v for v, ok in zip(tries, judge.turned([rest | {j: v} for v in tries])) if ok]
    near = [v for v in good if abs(v - own) <= 1.25 * abs(to - own)]
    return (near or good[-1:] or [to])[0]


def _rounded(value: float, beyond: Callable[[float], int], width: float, digits: int) -> float:
    scale = width or abs(value) or 1.0
    place = math.floor(math.log10(scale)) - digits if math.isfinite(scale) else 308
    if not -308 < place < 308:
        return value
    steps = value / 10.0**place
    return float(f"{beyond(steps)}e{place}") if math.isfinite(steps) else value


def _between(low: float, high: float, n: int) -> Floats:
    """n numbers from low to high, however far apart."""
    if math.isfinite(high - low):
        return np.linspace(low, high, n)
    return 2 * np.linspace(low / 2, high / 2, n)


def _told(judge: Judge, values: Values, actions: Sequence[Any]) -> Change:
    case = judge.case
    logs = log_posteriors(judge.model, case, [case.linked(values)])
    acts = judge.decide(logs)
    moved = {
        case.names[j]: tuple(case.told(j, v) if j in case.dates else v for v in (_own(case, j), value))
        for j, value in case.linked(values).items()
        if j in values or value != _own(case, j)
    }
    return Change(moved, actions[int(acts[0])], float(np.exp(logs[0].max())))


def _own(case: Case, j: int) -> Any:
    return None if case.missing(j) else case.cells[j]


def choices_of(model: Any, case: Case, background: Any, fixed: Sequence[int]) -> list[list[Any]]:
    """Of each column the other values that are tried: categories, or a grid over the range that its numbers have."""
    ranges = _ranges(model, case, background)
    found: list[list[Any]] = []
    still = {*fixed, *case.parts_of_dates, *(j for j, parts in case.dates.items() if {*parts.values()} & {*fixed})}
    for j, cell in enumerate(case.cells):
        values: list[Any] = []
        if j in still:
            pass
        elif case.coded:
            values = list(range(int(model.n_categories_[j])))
        elif case.measured(j):
            if ranges[j] is not None:
                low, high, whole = ranges[j]
                values = np.unique(_between(low, high, GRID)).tolist()
                days = j in case.dates
                if _is_whole(cell) and (days or (_whole_ends(low, high, cell) if whole is None else whole)):
                    values = sorted({float(round(v)) for v in values})
                if days and not case.missing(j):  # every weekday is near
                    values = sorted({*values, *(cell + k for k in range(-6, 7) if low <= cell + k <= high)})
        elif case.schema is not None and case.schema.columns[j].kind in ("categorical", "binary"):
            values = list(case.schema.columns[j].values)
        found.append([v for v in values if case.missing(j) or v != cell])
    return found


def _is_whole(cell: Any) -> bool:
    return cell is None or math.isnan(cell) or (abs(cell) < LARGE and float(cell).is_integer())


def _whole_ends(low: float, high: float, cell: Any) -> bool:
    """Whether a column of which the ends alone are known is likely one of whole numbers: shares end at 0 and 1 too."""
    return (
        low.is_integer() and high.is_integer() and 1 < high - low < LARGE and (type(cell) is int or high - low >= GRID)
    )


def _ranges(model: Any, case: Case, background: Any) -> list[Any]:
    """(least, greatest, whether whole or None) of each column of numbers: of the background, or as the model learned."""
    rows = background if background is not None else kept_rows(model)
    if rows is not None:
        frame = open_frame(rows)
        frame = frame.matched(case.names) if frame.names is not None else frame
        return [_range(frame.column(j)) if case.measured(j) else None for j in range(len(case.cells))]
    out: list[Any] = [None] * len(case.cells)
    if hasattr(model, "feature_log_prob_") and hasattr(model, "binarize"):  # either side of what parts no from yes
        cut = model.binarize or 0.0
        return [(0.0, 1.0, False) if cut < 1 else (float(cut), math.floor(cut) + 1.0, False)] * len(case.cells)
    if hasattr(model, "_spans"):
        return list(model._spans())
    statistics = getattr(model, "statistics_", getattr(model, "grown_", None))
    for j, cut in enumerate(getattr(statistics, "cuts", ())):
        if cut is not None and len(cut):
            width = (float(cut[-1]) - float(cut[0])) / max(len(cut) - 1, 1) or abs(float(cut[0])) or 1.0
            out[j] = float(cut[0]) - width, float(cut[-1]) + width, None
    for moments, where in _moments(statistics):
        if moments.span is not None:
            ends = moments.span.low.min(axis=0), moments.span.high.max(axis=0)
            for j, low, high in zip(where, *ends):
                out[j] = (float(low), float(high), None) if low <= high else None
    if isinstance(statistics, Statistics):
        for j, held in zip(statistics.where("histogram"), statistics.histograms):
            found = _range(held.centres)
            out[j] = found if found is None or held.exact else (*found[:2], None)
    for mean, spread in _normals(model):
        for j, own in enumerate(out):
            low, high = mean[j] - 3 * spread[j], mean[j] + 3 * spread[j]
            out[j] = (low, high, None) if own is None else (min(low, own[0]), max(high, own[1]), None)
    return [r if r is not None and all(map(math.isfinite, r[:2])) else None for r in out]


def _moments(statistics: Any) -> list[tuple[Moments, Sequence[int]]]:
    """The moments that a model keeps, and of which columns."""
    if isinstance(statistics, Statistics):
        return [(statistics.moments, statistics.where("moments"))]
    table = getattr(statistics, "table", None)
    return [(table, range(table.mean.shape[1]))] if isinstance(table, Moments) else []


def _normals(model: Any) -> list[tuple[list[float], list[float]]]:
    """(means, standard deviations) of the normals that a model of points is made of."""
    if hasattr(model, "_matrices"):
        return [(m.tolist(), np.sqrt(np.diag(c)).tolist()) for m, c in zip(model.means_, model._matrices())]
    if hasattr(model, "mixtures_"):
        known = [m for m in model.mixtures_ if m is not None]
        return [(mean.tolist(), np.zeros(len(mean)).tolist()) for m in known for mean in m.means_]
    return []


def _range(column: Any) -> Any:
    try:
        numbers = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return None
    whole = bool(np.abs(numbers).max() < LARGE and (numbers == np.floor(numbers)).all())
    return float(numbers.min()), float(numbers.max()), whole
