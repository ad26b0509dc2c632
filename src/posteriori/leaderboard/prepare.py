"""Mixed columns as numbers, for models that take nothing else: all that is learned is learned from the rows of `fit`.

A number is filled with the median where it is missing (with a column that says so, if training had such cells) and scaled
to mean 0, variance 1. A category is one corner for each of its values, missing being one of them; a value that training did
not have is at none of them. Words of a text are ln(1 + count). "ordinal" keeps numbers as they are, and numbers categories.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from ..arrays import Array, Floats
from ..table.encode import factorize, numbers, words_of
from ..table.frame import Frame, open_frame
from ..table.kinds import resolve_kinds

MOST_VALUES, MOST_WORDS = 250, 10_000  # the commonest have a coordinate of their own, the others of a column share one
DENSE = 512  # coordinates up to which points are no sparse matrix


class Rare(Enum):
    """The place that rare values share: the same object after pickling too."""

    OTHER = "other"


@dataclass(frozen=True, eq=False)
class _Numbers:
    where: list[int]
    median: Floats
    mean: Floats
    scale: Floats
    gaps: Array  # columns in which training had missing cells


class Prepare(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Any table as points: one-hot corners and scaled numbers, or ("ordinal") plain numbers with NaN for missing.

    >>> X = {"age": [20.0, 40.0, None], "smokes": ["no", "yes", "no"]}
    >>> Prepare().fit(X).transform({"age": [40.0], "smokes": ["pipe"]}).round(2).tolist()
    [[1.22, 0.0, 0.0, 0.0]]
    """

    def __init__(self, kinds: Any = None, view: str = "one-hot") -> None:
        self.kinds = kinds
        self.view = view

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn medians, scales and values from these rows; `y` is not looked at."""
        frame = open_frame(X)
        kinds = resolve_kinds(frame, self.kinds)
        measured = [j for j, kind in enumerate(kinds) if kind in ("numeric", "count")]
        self.n_features_in_ = frame.d
        self.names_ = frame.names
        self.numbers_ = _fit_numbers(frame, measured)
        self.values_ = {j: _commonest(frame, j) for j, kind in enumerate(kinds) if kind in ("categorical", "binary")}
        self.words_ = {j: _vocabulary(frame, j) for j, kind in enumerate(kinds) if kind == "text"}
        return self

    def transform(self, X: Any) -> Any:
        """These rows as points, by what `fit` learned."""
        frame = open_frame(X)
        frame = frame.matched(self.names_) if self.names_ is not None else frame
        if self.view == "ordinal":
            return np.column_stack([numbers_of(frame, self.numbers_.where), *self._codes(frame)])
        blocks: list[Any] = [self._scaled(frame)]
        width = (
            blocks[0].shape[1] + sum(len(v) + 1 for v in self.values_.values()) + sum(map(len, self.words_.values()))
        )
        blocks += [
            _corners(codes, len(v), width > DENSE) for codes, v in zip(self._codes(frame), self.values_.values())
        ]
        blocks += [_bag(frame, j, place) for j, place in self.words_.items()]
        if width > DENSE or self.words_:
            return sparse.csr_matrix(sparse.hstack([sparse.csr_matrix(b) for b in blocks], format="csr"))
        return np.ascontiguousarray(np.column_stack(blocks))

    def _codes(self, frame: Frame) -> list[Floats]:
        """The place of each cell among its column's values; NaN where it has none."""
        found = []
        for j, places in self.values_.items():
            values, codes = factorize(frame.column(j), frame.name(j))
            other = places.get(Rare.OTHER, np.nan)
            place = np.array([*(places.get(v, other) for v in values), places.get(None, np.nan)], dtype=np.float64)
            found.append(place[codes])
        return found

    def _scaled(self, frame: Frame) -> Floats:
        known = self.numbers_
        x = numbers_of(frame, known.where)
        missing = np.isnan(x)
        filled = (np.where(missing, known.median, x) - known.mean) / known.scale
        return np.column_stack([filled, missing[:, known.gaps].astype(np.float64)])


def numbers_of(frame: Frame, where: list[int]) -> Floats:
    """Columns as floats, missing cells NaN."""
    return np.asarray(numbers(frame, where), dtype=np.float64) if where else np.zeros((frame.n, 0))


def _fit_numbers(frame: Frame, where: list[int]) -> _Numbers:
    x = numbers_of(frame, where)
    missing = np.isnan(x)
    median = np.zeros(len(where))
    for k in np.flatnonzero(~missing.all(axis=0)):
        median[k] = np.median(x[~missing[:, k], k])
    filled = np.where(missing, median, x)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, scale = filled.mean(axis=0), filled.std(axis=0)
    scale = np.where(scale > 1e-12 * np.abs(mean), scale, 1.0)  # a constant column tells nothing, and stays finite
    return _Numbers(where, median, mean, scale, np.flatnonzero(missing.any(axis=0)))


def _commonest(frame: Frame, j: int) -> dict[Any, int]:
    """Places for the commonest values of a column, for a missing cell if there is one, and one for all rare values."""
    values, codes = factorize(frame.column(j), frame.name(j))
    count = np.bincount(codes, minlength=len(values) + 1)
    present = [i for i in np.argsort(-count[:-1], kind="stable").tolist() if count[i]]
    places: dict[Any, int] = {values[i]: at for at, i in enumerate(sorted(present[:MOST_VALUES]))}
    if count[-1]:
        places[None] = len(places)
    if len(present) > MOST_VALUES:
        places[Rare.OTHER] = len(places)
    return places


def _corners(place: Floats, size: int, thin: bool) -> Any:
    """One-hot rows; a cell without a place is at no corner."""
    at = np.where(np.isnan(place), size, place).astype(np.int64)
    if not thin:
        return np.eye(size + 1)[at][:, :-1]
    rows = np.flatnonzero(at < size)
    return sparse.csr_matrix((np.ones(len(rows)), (rows, at[rows])), shape=(len(place), size))


def _vocabulary(frame: Frame, j: int) -> dict[str, int]:
    """Places for the words that most rows have."""
    words, bags = words_of(frame, j)
    rows = np.asarray((bags > 0).sum(axis=0)).ravel()
    kept = sorted(np.argsort(-rows, kind="stable")[:MOST_WORDS].tolist())
    return {words[i]: at for at, i in enumerate(kept)}


def _bag(frame: Frame, j: int, place: dict[str, int]) -> Any:
    words, bags = words_of(frame, j)
    known = [i for i, w in enumerate(words) if w in place]
    turn = sparse.csr_matrix(
        (np.ones(len(known)), (known, [place[words[i]] for i in known])), shape=(len(words), len(place))
    )
    return (bags @ turn).log1p()
