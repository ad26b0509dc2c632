"""What a tree knows: its questions, which stay, and the rows that came to each node by class, which add; and its shape:
how deep, what it gains, which branches are worth their leaves, what it says in words.

Symbols: node t with weight N_t, by class n_t; impurity I(t) of a row: −Σ_y p ln p (nats), or 1 − Σ_y p² for Gini; N the
weight of all rows. R(t) = N_t I(t)/N.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from ..arrays import Array, Floats
from ..errors import StatisticsError
from ..fields import ABOVE_0, need
from ..kernels import path_counts
from ..kernels.trees import Codes, Trees
from ..statistics.counts import Mergeable, places_in, reindexed, subtract
from ..statistics.cuts import Cuts
from ..statistics.statistics import classes_left, refuse_unlearned
from ..table.schema import Schema
from .grown import Coding


@dataclass(frozen=True, eq=False)
class TreeCounts(Mergeable):
    """N[node, y] of one tree, with `+`, `-` and a scale; questions and coding are those of the rows it was grown on.

    Classes are united by name; those that no row has any more vanish with `-`, unless they were declared.
    """

    coding: Coding
    schema: Schema
    tree: Annotated[Trees, "1"]  # its counts are `table`
    decayed: bool = False
    lightest: Annotated[float, ABOVE_0] = 1.0  # the least that a row weighs

    def check(self) -> None:
        """Refuse a tree of other columns and classes, or counts that are none."""
        need(self.schema.columns == self.coding.schema.columns, "the columns of a tree must be those of its coding")
        fits = self.table.dtype == np.float64 and self.table.shape[1] == len(self.schema.classes)
        need(fits and (self.table >= 0).all(), "there must be the counts of the classes of the schema")
        with np.errstate(over="ignore"):
            need(np.isfinite(self.table.sum(axis=1)).all(), "the counts of a node must have a sum")
        self.tree.check_of(self.coding.sizes, self.coding.named)

    @property
    def cuts(self) -> Cuts:
        """Where numbers are cut."""
        return self.coding.cuts

    @property
    def table(self) -> Floats:
        """N[node, y]."""
        return self.tree.counts

    @property
    def rows(self) -> Array:
        """N_y."""
        found: Array = self.table[0]
        return found

    @cached_property
    def left(self) -> tuple[Array, ...]:
        """Of each node with a question the codes that go left, for named values the codes that were seen, else nothing."""
        tree, found = self.tree, []
        for i, j in enumerate(tree.column.tolist()):
            if j < 0:
                found.append(np.zeros(0, dtype=np.intp))
            elif not self.coding.named[j]:
                found.append(np.arange(int(tree.cut[i]) + 1))
            else:
                found.append(self._set(i, 0))
        return tuple(found)

    def asked(self, i: int) -> Array:
        """The codes that node i knows of, those that go right among them."""
        j = int(self.tree.column[i])
        return self._set(i, 1) if self.coding.named[j] else np.arange(self.coding.sizes[j])

    def _set(self, i: int, which: int) -> Array:
        size = self.coding.sizes[int(self.tree.column[i])]
        words, at = -(-size // 64), int(self.tree.cut[i])
        bits = self.tree.bits[at + which * words : at + (which + 1) * words]
        return np.flatnonzero(np.unpackbits(bits.astype("<u8").view(np.uint8), bitorder="little")[:size])

    def counted(self, codes: Codes, schema: Schema, y: Array, weights: Floats | None) -> TreeCounts:
        """The counts of other rows in the same tree, by the classes of `schema`."""
        empty = replace(self.tree, counts=np.zeros((len(self.table), len(schema.classes))))
        return TreeCounts(
            self.coding,
            replace(self.schema, classes=schema.classes, declared_classes=schema.declared_classes),
            replace(self.tree, counts=path_counts(empty, codes, y, weights)),
        )

    def __add__(self, other: TreeCounts) -> TreeCounts:
        if not same_questions(self, other):
            raise StatisticsError(
                "trees that were grown on different rows ask different questions, so their counts do not add: learn the "
                "second table with partial_fit of the first"
            )
        schema = self.schema + replace(other.schema, columns=self.schema.columns)
        table = self._among(schema) + other._among(schema)
        return replace(
            self,
            schema=schema,
            tree=replace(self.tree, counts=table),
            decayed=self.decayed or other.decayed,
            lightest=min(self.lightest, other.lightest),
        )

    def less(self, other: TreeCounts, lightest: float = np.inf) -> TreeCounts:
        refuse_unlearned(self, other)
        least = min(self.lightest, other.lightest, lightest)
        table = subtract(self.table, other._among(self.schema), least)
        keep, classes = classes_left(self.schema, table[0])
        schema = replace(self.schema, classes=classes)
        tree = replace(self.tree, counts=np.ascontiguousarray(table[:, keep]))
        return replace(self, schema=schema, tree=tree, lightest=least)

    @property
    def _compared(self) -> tuple[Any, ...]:
        parts = _parts(self)
        return self.schema, self.decayed, self.coding.schema.columns, self.coding.blank, len(parts), *parts, self.table

    def scaled(self, factor: float) -> TreeCounts:
        return replace(self, tree=replace(self.tree, counts=self.table * float(factor)), decayed=True)

    def _among(self, schema: Schema) -> Floats:
        """The counts by the classes of a larger schema."""
        if schema.classes == self.schema.classes:
            return self.table
        return reindexed(self.table, places_in(self.schema.classes, schema.classes), len(schema.classes), axis=1)


def same_questions(a: TreeCounts, b: TreeCounts) -> bool:
    """Whether two trees ask the same of every row."""
    if a.tree.column is b.tree.column and a.coding is b.coding:
        return True
    mine, theirs = (_parts(x) for x in (a, b))
    same_values = a.coding.schema.columns == b.coding.schema.columns and a.coding.blank == b.coding.blank
    return same_values and len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))


def _parts(x: TreeCounts) -> list[Any]:
    cuts = [np.zeros(0) if cut is None else cut for cut in x.coding.cuts]
    return [x.tree.column, x.tree.cut, x.tree.child, x.tree.bits, *cuts]


def impurity(counts: Floats, criterion: str) -> Floats:
    """N_t I(t) of each node.

    >>> impurity(np.array([[2.0, 2.0], [4.0, 0.0]]), "gini").tolist()
    [2.0, 0.0]
    """
    whole = counts.sum(axis=1, keepdims=True)
    p = np.divide(counts, whole, out=np.zeros_like(counts), where=whole > 0)
    if criterion == "gini":
        found: Floats = whole[:, 0] * (1 - (p * p).sum(axis=1))
        return found
    log = np.log(p, out=np.zeros_like(p), where=p > 0)
    nats: Floats = np.abs(whole[:, 0] * (p * log).sum(axis=1))  # −0 is none
    return nats


def depths(tree: Trees) -> Array:
    """How many questions come before each node."""
    found, at, depth = np.zeros(len(tree.column), dtype=np.int64), np.zeros(1, dtype=np.intp), 0
    while len(at):
        found[at], depth = depth, depth + 1
        below = tree.child[at[tree.column[at] >= 0]]
        at = np.concatenate([below, below + 1])
    return found


def importances(trees: Trees, d: int, criterion: str) -> Floats:
    """What the questions of each of d columns have gained in all trees, as shares of one; zeros where nothing was."""
    own, asks = impurity(trees.counts.astype(np.float64), criterion), np.flatnonzero(trees.column >= 0)
    first = np.repeat(trees.starts[:-1], np.diff(trees.starts))[asks] + trees.child[asks]
    gains = np.maximum(own[asks] - own[first] - own[first + 1], 0.0)
    found = np.bincount(trees.column[asks], gains, minlength=d).astype(np.float64)
    return found / found.sum() if found.sum() > 0 else found


def pruned(tree: Trees, criterion: str, alpha: float) -> Trees:
    """The smallest tree of least Σ_leaves (R(t) + α): cost-complexity pruning.

    From the leaves up a node becomes a leaf where R(t) + α is at most what its branches cost.
    """
    if alpha <= 0 or not (tree.column >= 0).any():
        return tree
    cost = impurity(tree.counts, criterion) / tree.counts[0].sum() + alpha
    asks, depth = tree.column >= 0, depths(tree)
    for level in range(int(depth.max()), -1, -1):
        at = np.flatnonzero(asks & (depth == level))
        below = cost[tree.child[at]] + cost[tree.child[at] + 1]
        worth = below * (1 + 1e-12) < cost[at]
        asks[at[~worth]] = False
        cost[at[worth]] = below[worth]
    return _kept(tree, asks)


def _kept(tree: Trees, asks: Array) -> Trees:
    """The tree of those questions alone, its nodes in the same order."""
    there, at = np.zeros(len(asks), dtype=bool), np.zeros(1, dtype=np.intp)
    while len(at):
        there[at] = True
        below = tree.child[at[asks[at]]]
        at = np.concatenate([below, below + 1])
    asks = asks & there
    place = np.cumsum(there) - 1
    child = np.where(asks, place[np.where(asks, tree.child, 0)], 0)[there].astype(np.int32)
    return replace(
        tree,
        starts=np.array([0, int(there.sum())]),
        column=np.where(asks, tree.column, -1)[there].astype(np.int32),
        cut=np.where(asks, tree.cut, 0)[there].astype(np.int32),
        child=child,
        counts=np.ascontiguousarray(tree.counts[there]),
    )  # bits of questions that are gone lie idle


def question(counts: TreeCounts, i: int) -> tuple[str, str]:
    """What node i asks, in words: of the rows that go left, and of those that go right."""
    j = int(counts.tree.column[i])
    name, coding, blank = counts.schema.names[j], counts.coding, counts.coding.blank[j]
    if not coding.named[j]:
        edge = coding.edge(j, int(counts.tree.cut[i]))
        if edge == -np.inf:
            return f"{name} is missing", f"{name} is known"
        return f"{name} < {edge:g}" + (" (or missing)" if blank else ""), f"{name} ≥ {edge:g}"
    left = counts.left[i]
    right = np.setdiff1d(counts.asked(i), left)
    return f"{name} is {_either(coding.words(j, left))}", f"{name} is {_either(coding.words(j, right))}"


def _either(words: list[str], most: int = 6) -> str:
    more = [f"{len(words) - most} more"] if len(words) > most + 1 else []
    return " or ".join((words[:most] if more else words) + more)


def rules(counts: TreeCounts, posterior: Floats, most: int | None) -> list[str]:
    """A line a leaf, from left to right: what led there, the likeliest class, its rows and its posterior."""
    tree, lines, classes = counts.tree, list[str](), counts.schema.classes
    todo: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    while todo:
        i, why = todo.pop()
        if tree.column[i] >= 0 and (most is None or len(why) < most):
            left, right = question(counts, i)
            at = int(tree.child[i])
            todo += [(at + 1, (*why, right)), (at, (*why, left))]
            continue
        k = int(posterior[i].argmax())
        said = f"if {' and '.join(why)} then " if why else ""
        rows, whole = counts.table[i, k], counts.table[i].sum()
        lines.append(f"{said}{classes[k]} (P = {posterior[i, k]:.3f}, {rows:g} of {whole:g})")
    return lines
