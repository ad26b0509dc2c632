"""What statistics in a file must hold: a kernel may rely on it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import ModelFileError
from posteriori.statistics.counts import Counts
from posteriori.statistics.histogram import Histogram
from posteriori.statistics.joint import Joint
from posteriori.store.forms import form_of

from .refusals import judged

HISTOGRAM = Histogram.of([1.5, 2.0, 1.5, 3.0], [0, 1, 1, 0], n_classes=2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"table": np.zeros_like(HISTOGRAM.table)}, "counted"),
        ({"table": HISTOGRAM.table[:2]}, "counts for every value"),
        ({"values": HISTOGRAM.values[::-1].copy()}, "rise"),
    ],
)
def test_a_histogram_has_values_that_rise_and_were_counted(change, said):
    form = form_of(Histogram)
    assert np.array_equal(form.make(form.take(HISTOGRAM)).table, HISTOGRAM.table)
    with pytest.raises(ModelFileError, match=said):
        form.make(form.take(dataclasses.replace(HISTOGRAM, **change)))


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
        ([], "one after another, at 0"),
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
