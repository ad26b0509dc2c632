"""Mixed columns as points, for models that take nothing else: all that is learned is learned from the rows of `prepare`.

A number is filled with the median where it is missing (with a coordinate that says so, if training had such cells) and
scaled to mean 0, variance 1. A category is one corner for each of its values, missing being one of them; a value that
training did not have is at none of them. Words of a text are ln(1 + count). "ordinal" keeps numbers as they are, and
numbers categories.

Symbols: n rows, D coordinates, in the order numbers, gaps, corners by column, words by column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from ..arrays import Array, Floats, Ints
from ..fields import NOT_NEGATIVE, OneOf, Within, need, rises
from .encode import Seen, code_columns, numbers, seen_columns, words_of
from .frame import Frame
from .schema import MEASURED, Column, Schema

MOST_VALUES, MOST_WORDS = 250, 10_000  # the commonest have a coordinate of their own, the others of a column share one
DENSE = 512  # coordinates up to which points are no sparse matrix
VIEWS = ("one-hot", "ordinal")
NAMED = ("categorical", "binary")


@dataclass(frozen=True, eq=False)
class Prepare:
    """How rows of a schema become points; `prepare` learns it.

    `numbers` has a row each for median, mean, scale, least and greatest of every measured column; `gaps` are those of them
    in which training had missing cells. `corners` says, for each column of names, at which corner (−1: at none) each of
    the schema's values is, then a missing cell, then any other value.
    """

    schema: Schema
    view: Annotated[str, OneOf(VIEWS)]
    numbers: Annotated[Floats, "5 measured"]
    gaps: Annotated[Ints, "gaps", NOT_NEGATIVE]
    corners: tuple[Annotated[Ints, "values", Within(-1)], ...]

    def check(self) -> None:
        """Refuse scales and corners of other columns."""
        columns, measured, named = self.schema.columns, self.of(MEASURED), self.of(NAMED)
        fits = self.numbers.shape[1] == len(measured) and (self.numbers[2] > 0).all()
        need(fits, "a scale above 0 of every number")
        need(rises(self.gaps) and (self.gaps < len(measured)).all(), "gaps are places of numbers, in order")
        sizes = [len(columns[j].values) + 2 for j in named]
        need([len(c) for c in self.corners] == sizes, "a corner of every value, of a missing cell and of any other")
        need(all(c.max() < len(c) for c in self.corners), "a column has no more corners than values")

    def __call__(self, frame: Frame) -> Any:
        """These rows as points."""
        return self.with_seen(frame)[0]

    def with_seen(self, frame: Frame) -> tuple[Any, Seen]:
        """(these rows as points, how many cells were missing or unseen)."""
        x = numbers_of(frame, self.of(MEASURED))
        missing = np.isnan(x)
        places, seen = self._places(frame)
        seen += Seen(int(missing.sum()))
        if self.view == "ordinal":
            return np.column_stack([x, *(np.where(at < 0, np.nan, at) for at in places)]), seen
        median, mean, scale = self.numbers[:3]
        with np.errstate(over="ignore"):
            filled = (np.where(missing, median, x) - mean) / scale
        thin = len(self.owner) > DENSE or bool(self.of(("text",)))
        blocks: list[Any] = [filled, missing[:, self.gaps].astype(np.float64)]
        blocks.append(_corners(places, [_size(c) for c in self.corners], frame.n, thin))
        for j in self.of(("text",)):
            bag, unseen = _bag(frame, j, self.schema.columns[j])
            blocks.append(bag)
            seen += Seen(0, unseen)
        if thin:
            return sparse.csr_matrix(sparse.hstack([sparse.csr_matrix(b) for b in blocks], format="csr")), seen
        return np.ascontiguousarray(np.column_stack(blocks)), seen

    def of(self, kinds: Sequence[str]) -> list[int]:
        """The columns of some kinds."""
        return [j for j, kind in enumerate(self.schema.kinds) if kind in kinds]

    @cached_property
    def owner(self) -> Ints:
        """The column that each coordinate comes from."""
        measured, named, texts = self.of(MEASURED), self.of(NAMED), self.of(("text",))
        if self.view == "ordinal":
            return np.array([*measured, *named], dtype=np.int64)
        gaps = np.array(measured, dtype=np.int64)[self.gaps]
        corners = np.repeat(named, [_size(c) for c in self.corners])
        words = np.repeat(texts, [len(self.schema.columns[j].values) for j in texts])
        return np.concatenate([measured, gaps, corners, words]).astype(np.int64)

    def _places(self, frame: Frame) -> tuple[list[Ints], Seen]:
        """(the corner of each cell, column by column; −1 where it has none; how many cells were missing or unseen)."""
        named, found, unseen = self.of(NAMED), [], 0
        coded = code_columns(frame, named)
        for k, (j, corner) in enumerate(zip(named, self.corners)):
            values, codes = coded.values[k], coded.column(k)
            place = self.schema.columns[j].place
            at = np.array([*(place.get(v, len(place) + 1) for v in values), len(place)], dtype=np.int64)
            strange = np.flatnonzero(at > len(place))
            if len(strange):
                unseen += int(np.isin(codes, strange).sum())
            found.append(corner[at][codes])
        return found, Seen(coded.n_missing, unseen)


def prepare(frame: Frame, schema: Schema, view: str = "one-hot") -> Prepare:
    """Learn medians, scales, values and words from these rows.

    >>> from .frame import open_frame
    >>> X = open_frame({"age": [20.0, 40.0, None], "smokes": ["no", "yes", "no"]})
    >>> points = prepare(X, Schema((Column("age", "numeric"), Column("smokes", "categorical"))))
    >>> points(open_frame({"age": [40.0], "smokes": ["pipe"]})).round(2).tolist()
    [[1.22, 0.0, 0.0, 0.0]]
    """
    columns, kinds = list(schema.columns), schema.kinds
    named = [j for j, kind in enumerate(kinds) if kind in NAMED]
    measured, gaps = _measured(frame, [j for j, kind in enumerate(kinds) if kind in MEASURED])
    coded = code_columns(frame, named)
    counts = [np.bincount(coded.column(k), minlength=len(values) + 1) for k, values in enumerate(coded.values)]
    met = np.concatenate([c > 0 for c in counts]) if counts else np.zeros(0, dtype=bool)
    corners = []
    for j, column, values, count in zip(
        named, seen_columns(coded, met, [columns[j] for j in named])[0], coded.values, counts
    ):
        columns[j] = column
        corners.append(_corner(column, values, count))
    for j, kind in enumerate(kinds):
        if kind == "text":
            columns[j] = Column(columns[j].name, "text", _vocabulary(frame, j))
    return Prepare(replace(schema, columns=tuple(columns)), view, measured, gaps, tuple(corners))


def numbers_of(frame: Frame, where: list[int]) -> Floats:
    """Columns as floats, missing cells NaN."""
    return np.asarray(numbers(frame, where), dtype=np.float64) if where else np.zeros((frame.n, 0))


def _measured(frame: Frame, where: list[int]) -> tuple[Floats, Ints]:
    x = numbers_of(frame, where)
    missing = np.isnan(x)
    found = np.zeros((5, len(where)))
    for k in np.flatnonzero(~missing.all(axis=0)):
        there = x[~missing[:, k], k]
        found[[0, 3, 4], k] = np.median(there), there.min(), there.max()
    filled = np.where(missing, found[0], x)
    with np.errstate(over="ignore", invalid="ignore"):
        found[1], scale = filled.mean(axis=0), filled.std(axis=0)
    found[2] = np.where(
        scale > 1e-12 * np.abs(found[1]), scale, 1.0
    )  # a constant column tells nothing, and stays finite
    return found, np.flatnonzero(missing.any(axis=0))


def _corner(column: Column, values: Sequence[Any], count: Ints) -> Ints:
    """Corners for the commonest values of a column, for a missing cell if there is one, and one for all rare values."""
    present = [i for i in np.argsort(-count[:-1], kind="stable").tolist() if count[i]]
    commonest = sorted(present[:MOST_VALUES])
    size, rare = len(commonest), len(present) > MOST_VALUES
    other = size + int(count[-1] > 0) if rare else -1
    corner = np.full(len(column.values) + 2, other, dtype=np.int64)
    corner[[column.place[values[i]] for i in commonest]] = np.arange(size)
    corner[-2] = size if count[-1] else -1
    return corner


def _size(corner: Ints) -> int:
    return int(corner.max(initial=-1)) + 1


def _corners(places: list[Ints], sizes: list[int], n: int, thin: bool) -> Any:
    """One-hot rows of all columns; a cell without a corner is at none."""
    first = np.cumsum([0, *sizes])
    at = np.column_stack([*places, np.empty((n, 0), dtype=np.int64)])
    rows, k = np.nonzero(at >= 0)
    corner = at[rows, k] + first[k]
    if thin:
        return sparse.csr_matrix((np.ones(len(rows)), (rows, corner)), shape=(n, first[-1]))
    found = np.zeros((n, first[-1]))
    found[rows, corner] = 1.0
    return found


def _vocabulary(frame: Frame, j: int) -> tuple[str, ...]:
    """The words that most rows have."""
    words, bags = words_of(frame, j)
    rows = np.asarray((bags > 0).sum(axis=0)).ravel()
    return tuple(words[i] for i in sorted(np.argsort(-rows, kind="stable")[:MOST_WORDS].tolist()))


def _bag(frame: Frame, j: int, column: Column) -> tuple[Any, int]:
    """(ln(1 + how often) of each word of training in each text, how many other words there are)."""
    words, bags = words_of(frame, j)
    known = [i for i, w in enumerate(words) if w in column.place]
    turn: Array = sparse.csr_matrix(
        (np.ones(len(known)), (known, [column.place[words[i]] for i in known])), shape=(len(words), len(column.values))
    )
    return (bags @ turn).log1p(), len(words) - len(known)
