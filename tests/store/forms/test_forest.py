"""What trees in a file must hold: kernels walk them without looking."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import Inconsistent
from posteriori.forest.forest import Grown
from posteriori.kernels.trees import MOST_VALUES, Trees
from posteriori.store.forms import form_of

from .refusals import GONE, judged, remade


def tree() -> Trees:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return po.BayesTree().fit(X, (X[:, 0] + X[:, 1] > 0).astype(int)).statistics_.tree


@pytest.mark.parametrize("child", [-1, 0, 1_000, 2**31 - 2, 2**31 - 1])
def test_the_children_of_a_node_come_after_it_and_exist(child):
    held, form = tree(), form_of(Trees)
    assert np.array_equal(form.make(form.take(held)).child, held.child)
    asks = np.flatnonzero(held.column >= 0)
    for at in asks:
        changed = held.child.copy()
        changed[at] = child
        with pytest.raises(Inconsistent):
            form.make(form.take(dataclasses.replace(held, child=changed)))


def forest() -> po.BayesForest:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return all_asked(po.BayesForest(n_trees=2, n_members=2, random_state=0).fit(X, X[:, 0] > 0))


def all_asked(model: po.BayesForest) -> po.BayesForest:
    assert model.grown_.members is not None
    model.grown_ = dataclasses.replace(model.grown_, exponents=np.array([1.0, 1.0, 0.0]))
    return model


def of_tables(grown: Grown) -> Grown:
    """As files of format 1 have it: members are tables."""
    return dataclasses.replace(grown, members=grown.members.opened())


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("members", lambda m: {"tables": np.full_like(m.tables, 1e30)}, None),
        (None, {"concentration": 0.0}, None),
        (None, {"concentration": -1e-300}, "counts must not be negative"),
    ],
)
def test_what_a_forest_says_has_sums_that_are_numbers(part, change, said):
    model = forest()
    grown = of_tables(model.grown_)
    made = judged(grown if part is None else grown.members, change, said)
    if made is not None:
        grown = made if part is None else remade(grown, {part: made})
        answered = remade(model, {"grown_": grown}).predict_proba(np.zeros((2, 3)))
        assert np.allclose(answered.sum(axis=1), 1)


@pytest.mark.parametrize(("count", "said"), [(8e307, None), (1e308, "the counts of a node must have a sum")])
def test_the_counts_of_a_node_have_a_sum(count, said):
    rng = np.random.default_rng(0)
    model = po.BayesTree().fit(rng.normal(size=(60, 3)), np.arange(60) % 2)
    held = model.statistics_
    wide = dataclasses.replace(held.tree, counts=np.full_like(held.tree.counts, count))
    made = judged(held, {"tree": wide}, said)
    if made is not None:
        assert np.allclose(remade(model, {"statistics_": made}).predict_proba(np.zeros((2, 3))).sum(axis=1), 1)


MIXED = {"x": np.linspace(-2, 2, 60), "w": (["u", "v", "t"] * 20)}
LABELS = np.where(np.linspace(-2, 2, 60) > 0.5, 0, np.arange(60) % 3)


@cache
def mixed():
    return all_asked(po.BayesForest(n_trees=2, n_members=2, random_state=0).fit(MIXED, LABELS))


@cache
def single():
    return po.BayesTree().fit(MIXED, LABELS)


def edge(name, at, value):
    def change(held):
        array = getattr(held, name).copy()
        array[at] = value
        return {name: array}

    return change


def columns(of):
    return lambda held: {"schema": dataclasses.replace(held.schema, columns=of(held.schema.columns))}


def inner(part, **change):
    """A value with a part of which something is changed."""
    return lambda held: {
        part: dataclasses.replace(
            getattr(held, part),
            **{n: v(getattr(getattr(held, part), n)) if callable(v) else v for n, v in change.items()},
        )
    }


def told(coding):
    """As files of format 1 have it."""
    return {"schema": coding.schema, "cuts": coding.cuts, "blank": coding.blank, "ends": GONE}


CODING = [
    (lambda c: {"cuts": c.cuts[:1]}, "there must be cuts of all columns"),
    (lambda c: {"cuts": (), "blank": (), **columns(lambda cs: ())(c)}, "there must be a column"),
    (lambda c: {"cuts": (None, None)}, "column 'x': cuts of other columns"),
    (lambda c: {"cuts": (c.cuts[0], np.zeros(1))}, "column 'w': cuts of other columns"),
    (lambda c: {"cuts": (c.cuts[0][::-1].copy(), None)}, "the cuts of column 'x' must rise"),
    (lambda c: {"cuts": (c.cuts[0][1:], None)}, "the values of column 'x' must be its bins"),
    (columns(lambda cs: (cs[0], dataclasses.replace(cs[1], kind="text"))), "more values than a tree can ask for"),
    (
        columns(lambda cs: (cs[0], dataclasses.replace(cs[1], values=tuple(range(MOST_VALUES - 1))))),
        None,
    ),
    (
        columns(lambda cs: (cs[0], dataclasses.replace(cs[1], values=tuple(range(MOST_VALUES))))),
        "more values than a tree can ask for",
    ),
]


@pytest.mark.parametrize(("change", "said"), CODING, ids=map(str, range(len(CODING))))
def test_a_coding_with_all_its_values(change, said):
    judged(mixed().grown_.coding, lambda c: told(c) | change(c), said)


BINS = "the values of column 'x' must be its bins"
SHORT = [
    ({}, None),
    ({"ends": GONE}, "must say where those of each end"),
    (lambda c: {"cuts": c.cuts}, "must say where those of each end"),
    ({"ends": np.array([59, 60])}, "there must be cuts of all columns"),
    ({"ends": np.array([58, 59])}, "column 'w': cuts of other columns"),
    ({"ends": np.array([60, 59])}, "column 'w': cuts of other columns"),
    (lambda c: {"cuts": c.cuts[0][::-1].copy()}, "the cuts of column 'x' must rise"),
    (columns(lambda cs: cs), BINS),
    ({"cuts": np.arange(255.0), "ends": np.array([255, 255])}, None),
    ({"cuts": np.arange(256.0), "ends": np.array([256, 256])}, "column 'x': cuts of other columns"),
]


@pytest.mark.parametrize(("change", "said"), SHORT, ids=map(str, range(len(SHORT))))
def test_a_coding(change, said):
    coding = mixed().grown_.coding
    assert len(coding.cuts[0]) == 59
    made = judged(coding, change, said)
    if made is not None:
        bins = tuple(range(len(made.cuts[0]) + 1))
        assert (made.schema["x"].values, made.schema["x"].declared) == (bins, frozenset(bins))
        assert made.schema["w"] == coding.schema["w"]
        assert made.cuts[1] is None


def test_values_that_are_not_declared_bins_are_told():
    """No coding of ours, but one can be made: it comes back as it was."""
    coding = mixed().grown_.coding
    odd = dataclasses.replace(coding.schema["x"], declared=frozenset())
    held = dataclasses.replace(coding, schema=dataclasses.replace(coding.schema, columns=(odd, coding.schema["w"])))
    assert remade(held).schema["x"].declared == frozenset()
    wide = dataclasses.replace(odd, values=tuple(range(301)), declared=frozenset(range(301)))
    schema = dataclasses.replace(coding.schema, columns=(wide, coding.schema["w"]))
    assert remade(dataclasses.replace(coding, schema=schema, cuts=(np.arange(300.0), None))).schema["x"] == wide


@pytest.mark.parametrize("part", [lambda: mixed().grown_, lambda: single().statistics_], ids=["forest", "tree"])
def test_a_schema_is_written_once(part):
    held = part()
    fields = form_of(type(held)).take(held)
    assert fields["schema"].columns == ()
    made = remade(held)
    assert made.schema == held.schema
    assert made.schema.columns is made.coding.schema.columns
    noted = dataclasses.replace(held, schema=dataclasses.replace(held.schema, notes=("read twice",)))
    assert remade(noted).schema.notes == ("read twice",)


def no_starts(held):
    return {"starts": np.zeros(0, np.int64), "bit_starts": np.zeros(0, np.int64)}


TREES = [
    ({}, None),
    (edge("starts", 0, 1), "trees of no node"),
    (lambda t: edge("starts", -1, t.starts[-1] - 1)(t), "trees of no node"),
    (lambda t: edge("starts", 1, 0)(t), "trees of no node"),
    (edge("bit_starts", 0, 1), "the values of trees must lie end to end"),
    (lambda t: edge("bit_starts", -1, len(t.bits) + 1)(t), "the values of trees must lie end to end"),
    (lambda t: edge("bit_starts", 1, len(t.bits) + 1)(t), "the values of trees must lie end to end"),
    (lambda t: {"counts": t.counts[:, :0]}, "the values of trees must lie end to end"),
    (lambda t: {"child": np.where(t.column >= 0, t.child[np.argmax(t.column >= 0)], t.child)}, "a node"),
]


@pytest.mark.parametrize(("change", "said"), TREES, ids=map(str, range(len(TREES))))
def test_trees(change, said):
    judged(mixed().grown_.trees, change, said)


def asks_named(trees, value):
    """The cut of the first question of names is another."""
    cut = trees.cut.copy()
    cut[np.argmax(trees.column == 1)] = value
    return cut


def asks_measured(trees, value):
    cut = trees.cut.copy()
    cut[np.argmax(trees.column == 0)] = value
    return cut


def at_trees(of):
    return lambda held: {"trees": dataclasses.replace(held.trees, cut=of(held.trees))}


PARTS = "a member must have all its parts"
VALUES = "a question must be of values of its column"
GROWN = [
    ({}, None),
    (columns(lambda cs: cs[::-1]), "the columns must be those of the coding"),
    (inner("trees", counts=lambda c: c.astype(np.float64)), "trees of other classes"),
    (inner("trees", counts=lambda c: c[:, :2]), "trees of other classes"),
    (inner("trees", counts=lambda c: -c), "counts must not be negative"),
    (inner("trees", column=lambda c: np.where(c == 1, 2, c).astype(np.int32)), "a question must be of a column"),
    (at_trees(lambda t: asks_measured(t, 10**6)), VALUES),
    (at_trees(lambda t: asks_named(t, 2**31 - 1)), VALUES),
    (inner("members", prior=lambda p: p[:, :2]), "members of other classes"),
    (inner("members", codes=lambda c: c[:1]), "members of other columns or values"),
    (inner("members", codes=lambda c: c + 1), "members of other columns or values"),
    ({"members": None}, "members that count for something must be there"),
    ({"members": None, "exponents": np.array([0.0, 1.0, 0.0])}, None),
    ({"prior": np.array([0.5, 0.5])}, "a prior must sum to one"),
    ({"prior": np.array([0.5, 0.5, 1e-8])}, "a prior must sum to one"),
    ({"prior": np.array([0.5, 0.5, 1e-10])}, None),
    ({"exponents": np.array([4.0, -4.0, 0.0])}, None),
    ({"exponents": np.array([4.1, 0.0, 0.0])}, "an exponent is no larger than 4"),
]


@pytest.mark.parametrize(("change", "said"), GROWN, ids=map(str, range(len(GROWN))))
def test_a_grown_forest(change, said):
    made = judged(mixed().grown_, change, said)
    if made is not None:
        answered = remade(mixed(), {"grown_": made}).predict_proba(MIXED)
        assert np.allclose(answered.sum(axis=1), 1)


OLDER = [
    ({}, None),
    (inner("members", prior=lambda p: p[:, :2]), "members of other classes"),
    (inner("members", sizes=lambda s: s[:, :1]), "members of other columns"),
    (inner("members", values=lambda v: v[:, :-1]), "members of other columns or values"),
    (inner("members", values=lambda v: np.full_like(v, 2**16 - 1)), "a member has no such value"),
]


@pytest.mark.parametrize(("change", "said"), OLDER, ids=map(str, range(len(OLDER))))
def test_a_forest_whose_members_are_tables(change, said):
    made = judged(of_tables(mixed().grown_), change, said)
    if made is not None:
        answered = remade(mixed(), {"grown_": made}).predict_proba(MIXED)
        assert np.array_equal(answered, mixed().predict_proba(MIXED))


COUNTS = [
    ({}, None),
    (
        lambda m: (
            {n: getattr(m, n)[:0] for n in ("sizes", "cuts", "parents", "cells", "prior")}
            | {n: getattr(m, n)[:1] for n in ("cut_ends", "cell_ends")}
        ),
        "there must be members",
    ),
]


@pytest.mark.parametrize(("change", "said"), COUNTS, ids=map(str, range(len(COUNTS))))
def test_counts_of_members(change, said):
    judged(mixed().grown_.members, change, said)


@pytest.mark.parametrize(
    ("change", "said"),
    [({"drawn": 59}, "those of the rows"), (lambda m: {"codes": m.codes[::-1].copy()}, "codes as values|with a code")],
)
def test_counts_that_the_kernel_refuses(change, said):
    """All of them are in `test_members`; a file that has them is refused by name."""
    with pytest.raises(ValueError, match=said):
        remade(mixed().grown_.members, change)


MEMBERS = [
    ({}, None),
    (
        lambda m: {n: getattr(m, n)[:0] for n in ("values", "sizes", "parents", "starts", "prior")},
        "there must be members",
    ),
    (edge("sizes", (0, 0), MOST_VALUES + 1), "the tables of its parents"),
    (edge("parents", (0, 0, 0), 2), "a parent must be a column"),
    (edge("parents", (0, 0), [-1, 0]), "the first parent must come first"),
    (edge("starts", (0, 1), 0), "the tables of its parents"),
    (lambda m: {"tables": m.tables[:-1]}, "tables must lie end to end"),
    (lambda m: {"starts": m.starts + 1}, "tables must lie end to end"),
]


@pytest.mark.parametrize(("change", "said"), MEMBERS, ids=map(str, range(len(MEMBERS))))
def test_members(change, said):
    judged(mixed().grown_.members.opened(), change, said)


OF_ONE = [
    ({}, None),
    (inner("tree", counts=lambda c: c.astype(np.float32)), "there must be the counts of the classes of the schema"),
    (columns(lambda cs: cs[::-1]), "the columns of a tree must be those of its coding"),
    (lambda h: {"schema": dataclasses.replace(h.schema, classes=(0, 1))}, "of the classes of the schema"),
    (inner("tree", counts=lambda c: -c), "there must be the counts of the classes of the schema"),
    (inner("tree", column=lambda c: np.where(c >= 0, 2, c).astype(np.int32)), "a question must be of a column"),
]


@pytest.mark.parametrize(("change", "said"), OF_ONE, ids=map(str, range(len(OF_ONE))))
def test_the_counts_of_a_tree(change, said):
    judged(single().statistics_, change, said)


MODELS = [
    *((m, {"classes_": np.array([0, 2, 1])}, "classes_ must be the classes") for m in (mixed, single)),
    *((m, {"feature_names_in_": np.array(["w", "x"])}, "feature_names_in_ must be") for m in (mixed, single)),
    (mixed, {"oob_decision_function_": np.full((60, 3), np.nan)}, None),
    (single, {"backoff_": 0.0}, None),
    (single, {"backoff_": 1e290}, None),
]


@pytest.mark.parametrize(("model", "change", "said"), MODELS, ids=map(str, range(len(MODELS))))
def test_the_models(model, change, said):
    made = judged(model(), change, said)
    if made is not None:
        assert np.allclose(made.predict_proba(MIXED).sum(axis=1), 1)


@pytest.mark.parametrize("model", [mixed, single])
def test_the_same_answers_to_the_last_bit(model):
    trees = model().grown_.trees if model is mixed else model().statistics_.tree
    assert {0, 1} <= set(trees.column.tolist())  # both are asked for: what is changed above is there
    assert np.array_equal(remade(model()).predict_proba(MIXED), model().predict_proba(MIXED))
