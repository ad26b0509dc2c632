"""What statistics in a file must hold: a kernel may rely on it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import ModelFileError
from posteriori.statistics.histogram import Histogram
from posteriori.store.forms import form_of

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
