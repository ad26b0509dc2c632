"""Trees of counts: questions that ask of columns there are and lead downwards, counts that can be counts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from ...forest.counts import TreeCounts
from ...forest.forest import BayesForest, Grown
from ...forest.grown import Coding
from ...forest.tree import BayesTree
from ...kernels.trees import MOST_VALUES, MemberCounts, Members, Trees
from ...smoothing.theta import MOST_SMOOTHING
from ...table.encode import Seen
from ...table.schema import MEASURED, Column, Schema
from .form import (
    Form,
    array,
    estimator,
    finite,
    flag,
    floats,
    ints,
    natural,
    need,
    needs,
    numbers,
    of,
    real,
    same_classes,
    small,
    tuple_of,
    value,
    weight,
)
from .form import nothing as none

MOST_CUTS = 255  # of a column whose bins are not told one by one
LARGEST = 1e30  # of what a table or a tree of floats says: sums over all of them are numbers


@cache
def _bins(cuts: int) -> tuple[tuple[int, ...], frozenset[int]]:
    """The bins between so many cuts, all of them declared; columns share them."""
    bins = tuple(range(cuts + 1))
    return bins, frozenset(bins)


def _take_coding(held: Coding) -> dict[str, Any]:
    """Cuts in one array; the values of measured columns are their bins, and need not be told."""
    columns, blank = held.schema.columns, held.blank
    cut = [(column, cuts) for column, cuts in zip(columns, held.cuts) if cuts is not None]
    if any(len(cuts) > MOST_CUTS or (c.values, c.declared) != _bins(len(cuts)) for c, cuts in cut):
        return {"schema": held.schema, "cuts": held.cuts, "blank": blank}
    told = tuple(c if cuts is None else Column(c.name, c.kind) for c, cuts in zip(columns, held.cuts))
    return {
        "schema": replace(held.schema, columns=told),
        "cuts": np.concatenate([np.zeros(0), *(cuts for _, cuts in cut)]),
        "ends": np.cumsum([0 if cuts is None else len(cuts) for cuts in held.cuts], dtype=np.int64),
        "blank": blank,
    }


def _build_coding(fields: dict[str, Any]) -> Coding:
    names = {"schema", "cuts", "blank"}
    need(set(fields) - {"ends"} == names, "a Coding must have a schema, cuts and blank")
    schema, cuts, blank = fields["schema"], fields["cuts"], fields["blank"]
    need(isinstance(cuts, tuple) == ("ends" not in fields), "cuts of all columns must say where those of each end")
    if isinstance(cuts, tuple):
        return Coding(schema, cuts, blank)
    begins, columns, held = [0, *fields["ends"].tolist()], list[Column](), list[Any]()
    need(len(begins) == len(schema) + 1 and begins[-1] == len(cuts), "there must be cuts of all columns")
    for column, (a, b) in zip(schema.columns, pairwise(begins)):
        measured, name = column.kind in MEASURED, f"column {column.name!r:.50}"
        need(0 <= b - a <= (MOST_CUTS if measured else 0), f"{name}: cuts of other columns")
        need(not (measured and column.values), f"the values of {name} must be its bins")
        columns.append(Column(column.name, column.kind, *_bins(b - a)) if measured else column)
        held.append(cuts[a:b] if measured else None)
    return Coding(replace(schema, columns=tuple(columns)), tuple(held), blank)


def coded(form: Form) -> Form:
    """The form of a value with a `coding`, of whose schema the file has what the coding has not."""

    def take(held: Any) -> dict[str, Any]:
        fields, schema, own = form.take(held), held.schema, held.coding.schema
        alike = all(getattr(schema, f) == getattr(own, f) for f in ("columns", "target", "notes", "reading"))
        return fields | ({"schema": replace(schema, columns=())} if alike else {})

    def build(fields: dict[str, Any]) -> Any:
        schema, coding = fields.get("schema"), fields.get("coding")
        if isinstance(schema, Schema) and isinstance(coding, Coding) and not schema.columns:
            fields = fields | {"schema": coding.with_classes(schema)}
        return form.build(fields)

    return replace(form, take=take, build=build)


def _coding(held: Coding) -> None:
    columns = held.schema.columns
    need(len(held.cuts) == len(held.blank) == len(columns) > 0, "there must be cuts of all columns")
    for cut, column in zip(held.cuts, columns):
        name = f"column {column.name!r:.50}"
        need((cut is not None) == (column.kind in MEASURED), f"{name}: cuts of other columns")
        need(column.kind != "text" and len(column.values) < MOST_VALUES, f"{name}: more values than a tree can ask for")
        if cut is not None:
            need((np.diff(cut) > 0).all(), f"the cuts of {name} must rise")
            need(column.values == tuple(range(len(cut) + 1)), f"the values of {name} must be its bins")


def _trees(held: Trees) -> None:
    nodes, words = len(held.column), len(held.bits)
    need(len(held.starts) == len(held.bit_starts) > 0, "trees must begin somewhere")
    need(held.starts[0] == 0 and held.starts[-1] == nodes and (np.diff(held.starts) > 0).all(), "trees of no node")
    lie = held.bit_starts[0] == 0 and held.bit_starts[-1] == words and (np.diff(held.bit_starts) >= 0).all()
    need(lie, "the values of trees must lie end to end")
    parts = len(held.cut), len(held.child), len(held.counts)
    need(set(parts) == {nodes} and held.counts.shape[1] > 0, "a node must have all its parts")
    size = np.diff(held.starts)
    at = np.arange(nodes) - np.repeat(held.starts[:-1], size)
    asks = held.column >= 0
    down = (held.child > at) & (held.child < np.repeat(size, size) - 1)  # child + 1 may not fit into its type
    need(down[asks].all(), "a node's children must come after it")
    born = np.bincount((held.child + np.repeat(held.starts[:-1], size))[asks], minlength=nodes)
    need(born.max(initial=0) <= 1, "a node must have one parent")


def counted(trees: Trees) -> None:
    """A tree at least, of counts."""
    need(len(trees) > 0, "there must be a tree")
    need((trees.counts >= 0).all(), "counts must not be negative")


def fits(trees: Trees, coding: Coding) -> None:
    """Trees that ask of these columns, and of values that they have."""
    d, sizes, named = len(coding.sizes), np.array(coding.sizes), np.array(coding.named)
    asks = trees.column >= 0
    need((trees.column < d).all() and (trees.column >= -1).all(), "a question must be of a column")
    column = np.where(asks, trees.column, 0)
    room = np.repeat(np.diff(trees.bit_starts), np.diff(trees.starts))
    ends = trees.cut.astype(np.int64) + 2 * -(-sizes[column] // 64)
    inside = (trees.cut >= 0) & np.where(named[column], ends <= room, trees.cut < sizes[column])
    need(inside[asks].all(), "a question must be of values of its column")


def _counts(held: TreeCounts) -> None:
    need(len(held.tree) == 1 and held.table.dtype == np.float64, "there must be the counts of one tree")
    need(held.schema.columns == held.coding.schema.columns, "the columns of a tree must be those of its coding")
    need(held.table.shape[1] == len(held.schema.classes), "the counts must be of the classes of the schema")
    with np.errstate(over="ignore"):
        need(np.isfinite(held.table.sum(axis=1)).all(), "the counts of a node must have a sum")
    counted(held.tree)
    fits(held.tree, held.coding)


def _members(held: Members) -> None:
    M, (d, K) = len(held.values), (held.sizes.shape[1], held.prior.shape[1])
    shapes = held.sizes.shape, held.parents.shape, held.starts.shape, held.prior.shape
    need(shapes == ((M, d), (M, d, 2), (M, d + 1), (M, K)), "a member must have all its parts")
    need(M and d and K, "there must be members of some columns and classes")
    need((held.sizes > 0).all() and (held.sizes <= MOST_VALUES + 1).all(), "a member's column must have values")
    need((held.parents < d).all() and (held.parents >= -1).all(), "a parent must be a column")
    one, two = (held.parents[..., k] for k in (0, 1))
    need(not ((two >= 0) & (one < 0)).any(), "the first parent must come first")
    wide = [np.take_along_axis(held.sizes.astype(np.float64), np.maximum(p, 0), axis=1) for p in (one, two)]
    rung = held.sizes.astype(np.float64) * K
    room = rung * (1 + np.where(one >= 0, wide[0], 0) * (1 + np.where(two >= 0, wide[1], 0)))
    need(np.array_equal(np.diff(held.starts, axis=1), room), "a column must have the tables of its parents")
    ends = np.concatenate([[0], held.starts[:, -1]])
    need(np.array_equal(held.starts[:, 0], ends[:-1]) and ends[-1] == len(held.tables), "tables must lie end to end")
    need(small(LARGEST, held.tables, held.prior), "what members say must have sums that are numbers")


def _member_counts(held: MemberCounts) -> None:
    M, d, K = len(held.sizes), len(held.codes), held.prior.shape[1]
    shapes = held.sizes.shape, held.parents.shape, held.cut_ends.shape, held.cell_ends.shape, held.prior.shape
    need(shapes == ((M, d), (M, d, 2), (M + 1,), (M + 1,), (M, K)), "a member must have all its parts")
    need(M and d and K, "there must be members of some columns and classes")
    need((held.codes <= MOST_VALUES).all(), "a member's column must have fewer values")
    need(small(LARGEST, held.prior), "what members say must have sums that are numbers")
    _ = held.room  # the kernel reads all counts, and says what does not fit


def member_fits(members: MemberCounts | Members, coding: Coding, K: int) -> None:
    """Members of these columns, values and classes."""
    need(members.prior.shape[1] == K, "members of other classes")
    if isinstance(members, MemberCounts):
        return need(members.codes.tolist() == list(coding.sizes), "members of other columns or values")
    cells, sizes = np.cumsum([0, *coding.sizes]), members.sizes
    need(sizes.shape[1] == len(coding.sizes), "members of other columns")
    need(members.values.shape[1] == cells[-1], "members of other values")
    need((members.values < np.repeat(sizes, np.diff(cells), axis=1)).all(), "a member has no such value")


def _grown(held: Grown) -> None:
    K, coding = len(held.schema.classes), held.coding
    need(held.schema.columns == coding.schema.columns, "the columns of a forest must be those of its coding")
    need(held.trees.counts.dtype == np.float32 and held.trees.counts.shape[1] == K, "trees of other classes")
    counted(held.trees)
    fits(held.trees, coding)
    if held.members is not None:
        member_fits(held.members, coding, K)
    need(held.concentration >= 0, "a concentration must not be negative")
    need(held.prior.shape == (K,) and abs(held.prior.sum() - 1) < 1e-9, "a prior must sum to one")
    need(held.exponents.shape == (3,) and (np.abs(held.exponents) <= 4).all(), "there must be three exponents")
    need(held.members is not None or not held.exponents[0] > 0, "members that count for something must be there")


def _forest(model: BayesForest) -> None:
    needs(model, "n_features_in_", "classes_", "grown_", "oob_decision_function_", "oob_score_", "_seen")
    of_table(model)
    oob = model.oob_decision_function_
    need(oob.shape[1] == len(model.classes_), "out-of-bag answers must be of the classes")


def of_table(model: Any) -> None:
    """A model of the columns and classes of its schema."""
    schema = model.schema_
    same_classes(model.classes_, schema.classes)
    need(model.n_features_in_ == len(schema), "n_features_in_ must be the number of columns")
    if "feature_names_in_" in vars(model):
        need(model.feature_names_in_.tolist() == list(schema.names), "feature_names_in_ must be the columns' names")


def _tree(model: BayesTree) -> None:
    needs(model, "n_features_in_", "classes_", "statistics_", "_seen")
    of_table(model)
    need(bool((model.statistics_.rows > 0).any()), "a fitted tree must have rows")
    needs(model, "backoff_", "ccp_alpha_")
    need(0 <= model.backoff_ <= MOST_SMOOTHING, f"a concentration must be from 0 to {MOST_SMOOTHING:g}")


LEARNED: dict[str, Any] = {
    "n_features_in_": natural(),
    "feature_names_in_": array,
    "classes_": array,
}
FRESH = {"_seen": Seen}  # what the last rows lacked is no part of a model
FORMS = {
    form.tag: form
    for form in (
        Form(
            "Coding",
            Coding,
            {
                "schema": of("Schema"),
                "cuts": tuple_of(floats(1) | none) | floats(1),
                "ends": ints(1, 0),
                "blank": tuple_of(flag),
            },
            _take_coding,
            _build_coding,
            _coding,
        ),
        value(
            Trees,
            _trees,
            starts=ints(1, 0),
            bit_starts=ints(1, 0),
            column=numbers("i", 1, -1),
            cut=numbers("i", 1, 0),
            child=numbers("i", 1, 0),
            counts=numbers("fd", 2),
            bits=numbers("LQ", 1),
        ),
        coded(
            value(
                TreeCounts,
                _counts,
                new="lightest",
                coding=of("Coding"),
                schema=of("Schema"),
                tree=of("Trees"),
                decayed=flag,
                lightest=weight,
            )
        ),
        value(
            Members,
            _members,
            values=numbers("H", 2),
            sizes=numbers("i", 2),
            parents=numbers("i", 3),
            starts=ints(2, 0),
            tables=numbers("f", 1),
            prior=numbers("f", 2),
        ),
        value(
            MemberCounts,
            _member_counts,
            codes=ints(1, 1),
            sizes=numbers("i", 2, 1),
            cuts=numbers("H", 1),
            parents=numbers("i", 3, 0),
            cells=numbers("B", 1),
            cut_ends=ints(1, 0),
            cell_ends=ints(1, 0),
            prior=numbers("f", 2),
            drawn=natural(),
        ),
        coded(
            value(
                Grown,
                _grown,
                coding=of("Coding"),
                schema=of("Schema"),
                members=of("MemberCounts", "Members") | none,
                trees=of("Trees"),
                concentration=finite,
                prior=floats(1, 0),
                exponents=floats(1),
            )
        ),
        estimator(
            BayesForest,
            _forest,
            {
                **LEARNED,
                "grown_": of("Grown"),
                "oob_decision_function_": floats(2, finite=False),
                "oob_score_": real,
            },
            fresh=FRESH,
        ),
        estimator(
            BayesTree,
            _tree,
            {**LEARNED, "statistics_": of("TreeCounts"), "backoff_": real, "ccp_alpha_": real},
            fresh=FRESH,
        ),
    )
}
