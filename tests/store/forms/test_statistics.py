"""What statistics in a file must hold: a kernel may rely on it."""

from __future__ import annotations

import contextlib
import dataclasses
from functools import cache

import numpy as np
import pytest

import posteriori as po
from posteriori.bayes.averaged import RowStore
from posteriori.errors import StatisticsError
from posteriori.statistics.comoments import CoMoments, FamilyMoments
from posteriori.statistics.counts import Counts
from posteriori.statistics.histogram import Histogram
from posteriori.statistics.joint import Joint
from posteriori.statistics.moments import Moments, Span
from posteriori.statistics.sample import Sample
from posteriori.statistics.statistics import Statistics
from posteriori.store.forms import form_of

from .refusals import judged

HISTOGRAM = Histogram.of([1.5, 2.0, 1.5, 3.0], [0, 1, 1, 0], n_classes=2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, None),
        ({"table": np.zeros_like(HISTOGRAM.table)}, "every value of a histogram must have been counted"),
        ({"values": HISTOGRAM.values[::-1].copy()}, "the values of a histogram must rise"),
    ],
)
def test_a_histogram_has_values_that_rise_and_were_counted(change, said):
    made = judged(HISTOGRAM, change, said)
    assert made is None or np.array_equal(made.table, HISTOGRAM.table)


@pytest.mark.parametrize("whole", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize(
    ("numbers", "often", "holds"),
    [
        ([1.5, 3.0], [[1, 1], [1, 0]], True),
        ([1.5, np.nan], [[1, 1], [9, 9]], True),  # a missing cell is in no histogram
        ([1.5], [[2, 0]], None),  # oftener than it was counted: told where nothing is rounded
        ([2.5], [[1, 0]], False),
        ([1.0], [[1, 0]], False),  # below all
        ([4.0], [[1, 0]], False),
    ],
)
def test_a_sample_is_of_rows_that_the_histogram_counts(numbers, often, holds, whole):
    histogram = Histogram.of([1.5, 2.0, 1.5, 3.0], [0, 1, 1, 0], 2, None if whole[0] else [1.0, 0.5, 1.0, 1.0])
    table = np.array(often, dtype=np.int64 if whole[1] else np.float64)
    cells = np.array(numbers).view(np.uint64)
    assert histogram.has_counted(cells.view(float), table) == (holds if holds is not None else whole != (True, True))
    assert Histogram.zero(2).has_counted(cells[np.isnan(numbers)].view(float), table[np.isnan(numbers)])
    assert not Histogram.zero(2).has_counted(cells.view(float), table)


def test_a_value_that_was_counted_in_no_class_is_refused_by_the_kernel_too():
    model = po.NaiveBayes(density="kernel").fit(np.arange(6.0)[:, None] / 4, [0, 1, 0, 1, 0, 1])
    (held,) = model.statistics_.histograms
    empty = dataclasses.replace(held, table=np.zeros_like(held.table))
    model.statistics_ = dataclasses.replace(model.statistics_, histograms=(empty,))
    with pytest.raises(ValueError, match="counted in no class"):
        model.predict_proba([[1.0]])


N = np.iinfo(np.int64)


@pytest.mark.parametrize(
    ("offsets", "said"),
    [
        ([0, 0, 2, 3], None),
        ([0, 3], None),
        ([0, 2], "counts have 3 rows, their scopes 2"),
        ([0, 4], "counts have 3 rows, their scopes 4"),
        ([1, 3], "one after another, at 0"),
        ([0, 2, 1, 3], "one after another, at 0"),
        ([0, N.max, N.min + 4, 3], "one after another, at 0"),  # each less the last is above 0 in 64 bits
    ],
)
def test_the_scopes_of_counts_lie_end_to_end(offsets, said):
    judged(Counts(np.ones((3, 2)), np.array([0, 3])), {"offsets": np.array(offsets, dtype=np.int64)}, said)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([0, 1, 2, 5], None),
        ([0, 1, 2, 6], "must rise"),
        ([-1, 1, 2, 5], "must rise"),
        ([0, 1, 1, 5], "must rise"),
        ([0, 2, 1, 5], "must rise"),
        ([0, N.max, N.min + 5, 3], "must rise"),  # each less the last is above 0 in 64 bits
        ([0, 1, 2], "the cell of every row"),
    ],
)
def test_the_cells_of_a_wide_scope_are_in_it_and_rise(cells, said):
    held = Joint(
        np.array([[0, 1]], np.int32), np.array([6]), Counts(np.ones((4, 2)), np.array([0, 4])), np.arange(4) + 1
    )
    judged(held, {"cells": np.array(cells)}, said)


RNG = np.random.default_rng(0)
N_ROWS = 30
TABLE = {
    "sky": RNG.choice(["blue", "grey"], N_ROWS).tolist(),
    "wind": RNG.normal(size=N_ROWS),
    "rain": RNG.choice(["no", "yes", "much"], N_ROWS).tolist(),
}
LABELS = np.arange(N_ROWS) % 2


@cache
def fitted(name):
    made = {
        "naive": lambda: po.NaiveBayes().fit(TABLE, LABELS),
        "gaussian": lambda: po.NaiveBayes(density="gaussian").fit(TABLE, LABELS),
        "words": lambda: po.NaiveBayes(kinds={"note": "text", "n": "count", "m": "count"}).fit(
            {"note": ["a b", "b c"] * 5, "n": [1, 2] * 5, "m": [3, 0] * 5}, [0, 1] * 5
        ),
        "tan": lambda: po.TAN(cuts="quantile", bins=2).fit(TABLE, LABELS),
        "lazy": lambda: po.AODE(lazy=True, cuts="quantile", bins=2).fit(TABLE, LABELS),
        "numbers": lambda: po.BayesNetClassifier("tan", continuous="gaussian").fit(TABLE, LABELS),
        "categorical": lambda: po.CategoricalNB(min_categories=2).fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1]),
        "normal": lambda: po.GaussianNB().fit([[0.0, 1.0], [1.0, 0.5], [2.0, 2.0]], [0, 1, 1]),
        "normals": lambda: po.GaussianBayes(shrinkage=0.1).fit([[0.0, 1.0], [1.0, 0.5], [2.0, 2.0]], [0, 1, 1]),
    }[name]()
    return made.statistics_


SPAN = Span(np.zeros((2, 3)), np.ones((2, 3)), False)
MOMENTS = Moments(np.ones((2, 3)), np.zeros((2, 3)), np.ones((2, 3)), SPAN, np.zeros((2, 3)))
CO = CoMoments(np.ones(2), np.zeros((2, 3)), np.zeros((2, 3, 3)), SPAN, np.zeros((2, 3)))
SAMPLE = Sample(np.array([1, 5], np.uint64), np.zeros((2, 3), np.uint64), np.ones((2, 2)), 0)
STORE = RowStore(np.zeros((2, 4), np.uint32), np.ones(2))
FAMILY = FamilyMoments((((), (1,)), ((0,), (2,))), (CoMoments(*(np.zeros(s) for s in ((2,), (2, 1), (2, 1, 1)))),) * 2)
ONE, EVERY = "moments must have n, mean and M2 of one shape", "co-moments must have n, mean and C of every class"
JOINT = Joint(np.array([[0, 1], [2, -1]], np.int32), np.array([6, 2]), Counts(np.ones((8, 2)), np.array([0, 6, 8])))

WIDER = dataclasses.replace(JOINT, counts=Counts(np.ones((8, 3)), JOINT.counts.offsets))


@pytest.mark.parametrize(
    ("held", "change", "said"),
    [
        (SPAN, {}, None),
        (SPAN, {"low": np.full((2, 3), -np.inf), "high": np.full((2, 3), np.inf)}, None),
        (SPAN, {"low": np.full((2, 3), np.nan)}, "the ends of a span must be numbers"),
        (SPAN, {"high": np.full((2, 3), np.nan)}, "the ends of a span must be numbers"),
        (MOMENTS, {"span": None, "peak": None}, None),
        (CO, {"span": None, "peak": None}, None),
        (SAMPLE, {"hashes": np.array([1, 2**64 - 1], np.uint64)}, None),
        (SAMPLE, {"hashes": np.array([5, 5], np.uint64)}, "the hashes of a sample must rise"),
        (SAMPLE, {"hashes": np.array([2**64 - 1, 0], np.uint64)}, "the hashes of a sample must rise"),
        (SAMPLE, {"level": 64}, None),
        (HISTOGRAM, {"level": 63}, None),
        (FAMILY, {}, None),
        (FAMILY, {"scopes": (((), (1, 2)), ((), (1,)))}, "the co-moments of a family must have its columns"),
        (FAMILY, {"scopes": (((), ()), ((), (1,)))}, "the co-moments of a family must have its columns"),
        (FAMILY, {"scopes": (((), (1,)), ((), (1,)))}, None),
        (JOINT, {}, None),
        (JOINT, {"scopes": np.zeros((2, 0), np.int32)}, "a scope must have a column"),
        (JOINT, {"scopes": np.array([[0, 1], [-1, 2]], np.int32)}, "must stand before its end"),
        (JOINT, {"full": np.array([5, 3])}, "joint counts must have a row for every cell"),
    ],
)
def test_the_parts_of_statistics(held, change, said):
    judged(held, change, said)


def schema(**change):
    return lambda held: {"schema": dataclasses.replace(held.schema, **change)}


def part(name, **change):
    return lambda held: {name: dataclasses.replace(getattr(held, name), **change)}


def joint(**change):
    return lambda held: {"joints": (dataclasses.replace(held.joints[0], **change), *held.joints[1:])}


def family(scopes):
    """The co-moments of the last joint with other columns."""
    return lambda held: {"joints": (held.joints[0], FamilyMoments((scopes,), held.joints[1].tables[:1]))}


ROWS = [
    *((name, {}, None) for name in ("naive", "gaussian", "words", "tan", "lazy", "numbers")),
    ("naive", {"rows": np.array([15])}, "a number of rows for every class"),
    ("naive", {"rows": np.array([15, 15, 0])}, "a number of rows for every class"),
    ("naive", lambda h: {"cells": dataclasses.replace(h.cells, table=h.cells.table[:, :1])}, "the cells must be of the cl"),
    ("naive", part("cells", offsets=np.array([0, 3, 5])), "the cells must be of the values of the schema"),
    ("naive", {"cells": Counts(np.ones((2, 2)), np.array([0, 2]))}, "the cells must be of the values of the schema"),
    ("words", part("words", offsets=np.array([0, 5])), "the words must be of the values of the schema"),
    ("words", lambda h: {"words": dataclasses.replace(h.words, table=h.words.table[:, :1])}, "the words must be of the cl"),
    ("gaussian", {"moments": MOMENTS}, "moments of every column of numbers"),
    ("gaussian", lambda h: {"moments": dataclasses.replace(h.moments, m2=h.moments.m2 + 1.7e308)}, "variance overflows"),
    ("naive", {"histograms": ()}, "a histogram of every column that has one"),
    ("naive", lambda h: {"histograms": h.histograms * 2}, "a histogram of every column that has one"),
    (
        "naive",
        lambda h: {"histograms": (dataclasses.replace(h.histograms[0], table=np.ones((len(h.histograms[0].values), 3))),)},
        "histograms must be of the classes of the schema",
    ),
    ("tan", lambda h: {"cuts": h.cuts[:2]}, "there must be cuts of all columns"),
    ("tan", {"cuts": (None, np.array([0.0, 0.0]), None)}, "the cuts of column 'wind' must rise"),
    ("tan", {"cuts": (None, np.array([0.0, 1.0]), None)}, "the values of column 'wind' must be its bins"),
    ("tan", {"cuts": (None, np.array([7.0]), None)}, None),
    ("naive", part("sample", cells=np.zeros((N_ROWS, 1), np.uint64)), "a sample must have the cells of its columns"),
    ("naive", part("sample", table=np.ones((N_ROWS, 3))), "a sample must be of the classes of the schema"),
    ("naive", part("sample", table=np.full((N_ROWS, 2), 2)), "the rows of a sample must be in its histogram"),
    ("naive", {"sample": None}, None),
    ("tan", lambda h: {"joints": (JOINT,)}, "must have the cells of their columns"),
    ("tan", lambda h: {"joints": (WIDER,)}, "joint counts must be of the classes"),
    ("tan", joint(scopes=np.array([[0, 1], [0, 2], [1, 3]], np.int32)), "a scope has no such column"),
    ("tan", joint(scopes=np.array([[0, 1], [0, 2], [1, -2]], np.int32)), "a scope has no such column"),
    ("tan", joint(scopes=np.array([[0, 1], [0, 2], [1, 1]], np.int32)), "a scope must have every column once"),
    ("tan", joint(scopes=np.array([[0, 2], [0, 1], [1, 2]], np.int32)), "must have the cells of their columns"),
    ("lazy", joint(rows=np.zeros((N_ROWS, 3), np.uint32)), "stored rows must have all columns and the class"),
    ("lazy", joint(rows=np.tile(np.array([2, 2, 3, 1], np.uint32), (N_ROWS, 1))), None),  # missing cells
    ("lazy", joint(rows=np.tile(np.array([3, 2, 3, 1], np.uint32), (N_ROWS, 1))), "a value that is none"),
    ("lazy", joint(rows=np.tile(np.array([2, 2, 4, 1], np.uint32), (N_ROWS, 1))), "a value that is none"),
    ("lazy", joint(rows=np.tile(np.array([2, 2, 3, 2], np.uint32), (N_ROWS, 1))), "a value that is none"),
    ("lazy", joint(rows=np.tile(np.array([2**32 - 1, 0, 0, 0], np.uint32), (N_ROWS, 1))), "a value that is none"),
    ("lazy", joint(rows=np.zeros((0, 4), np.uint32), weight=np.zeros(0)), None),
    ("numbers", family(((0, 0), (1,))), "a family must have every column once"),
    ("numbers", family(((), (3,))), "a family must have every column once"),
    ("numbers", family(((), (0,))), "a family of numbers has numbers below values"),
    ("numbers", family(((1,), (2,))), "a family of numbers has numbers below values"),
    ("numbers", family(((0, 2), (1,))), "co-moments must be of all configurations"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "said"), ROWS, ids=[f"{i} {row[0]}" for i, row in enumerate(ROWS)])
def test_statistics_fit_their_schema(name, change, said):
    judged(fitted(name), change, said)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        *((name, {}, None) for name in ("categorical", "normal", "normals")),
        ("normal", {"rows": np.array([3])}, "a number of rows for every class"),
        ("normal", {"table": MOMENTS}, None),
        ("normal", lambda h: {"table": Moments(*(np.ones((3, 2)) for _ in range(3)), None, None)}, "of the classes"),
        ("categorical", lambda h: {"table": Counts(np.ones((4, 3)), np.array([0, 2, 4]))}, "of the classes"),
        (
            "normals",
            lambda h: {"table": CoMoments(np.ones(1), np.ones((1, 2)), np.ones((1, 2, 2)), None, None)},
            "of the cl",
        ),
        ("categorical", {"least": np.array([2, 2])}, None),
        ("categorical", {"least": np.array([2, 3])}, "no column has fewer values than its least size"),
        ("categorical", {"least": np.array([2])}, "no column has fewer values than its least size"),
        ("normal", {"least": np.array([0, 0])}, "no column has fewer values than its least size"),
        ("categorical", {"least": None}, None),
    ],
)
def test_one_statistic_by_class(name, change, said):
    judged(fitted(name), change, said)


def test_rows_of_files_that_tell_no_lightest_one_do_not_vanish_unseen() -> None:
    """Format 2 had weights and no lightest row: what stays beside a row 1e5 to 1e11 times as heavy is right, or refused."""
    X, y = [["a"], ["a"], ["b"], ["b"]], [0, 0, 0, 1]
    for light in 10.0 ** -np.arange(2.0, 9.0):
        w = np.array([1e3, light, 1.0, 1.0])
        model, form = po.NaiveBayes().fit(X, y, w), form_of(Statistics)
        fields = dict(form.take(model.statistics_))
        del fields["lightest"]
        model.statistics_ = form.make(fields)
        with contextlib.suppress(StatisticsError):
            model.forget(X[:1], y[:1], w[:1])
            assert model.statistics_.cells.table[0, 0] == pytest.approx(light, rel=1e-4)
