"""What a schema in a file must hold: columns of one length, values that are different, a reading that can be read;
intervals and periods come back as they were.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from posteriori.errors import ModelFileError, NotStorable
from posteriori.store.codec import Reader, Writer
from posteriori.store.container import Budget
from posteriori.store.schemas import is_distinct
from posteriori.table.schema import Column, Reading, Schema

from .refusals import GONE, judged, remade

SCHEMA = Schema(
    (
        Column("sky", "categorical", ("blue", "grey", "red"), frozenset({"red"})),
        Column("wind", "numeric"),
        Column("warm", "binary", (False, True)),
    ),
    classes=("in", "out"),
    declared_classes=frozenset({"in"}),
    target="where",
    notes=("one", "two"),
)
READING = Reading(("unknown",), ",", (("day", "%d.%m.%Y"), ("when", "ISO8601")), (-1.0, 0.0, 2.5), False)


def no(n):
    return np.zeros(n, dtype=np.bool_)


@pytest.mark.parametrize("reading", [Reading(), READING, Reading(missing=()), Reading(edges=(1,))])
def test_a_schema_comes_back_with_all_that_it_says(reading):
    held = dataclasses.replace(SCHEMA, reading=reading)
    made = remade(held)
    assert made == held
    assert (made.notes, made.reading, made.columns) == (held.notes, reading, held.columns)
    assert [c.declared for c in made.columns] == [{"red"}, set(), set()]
    assert remade(held, {"reading": GONE}).reading == Reading()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"names": ("sky", "wind", "sky")}, "duplicate columns"),
        ({"sizes": np.array([3, 1, 1])}, None),
        ({"sizes": np.array([3, 0, 1])}, "as many values as its sizes say"),
        ({"sizes": np.array([3, 0, 3])}, "as many values as its sizes say"),
        ({"sizes": np.array([2**62, 2**62, 2**63 - 1])}, "as many values as its sizes say"),
        ({"declared": no(5)}, None),
        ({"values": ("blue", "grey", "grey", False, True)}, "column 'sky' must have different values"),
        ({"values": ("blue", "grey", None, False, True)}, "none of them missing"),
        ({"values": ("blue", "grey", float("nan"), False, True)}, "none of them missing"),
        ({"values": ("blue", "grey", "red", 0, False)}, "column 'warm' must have different values"),
        ({"values": ("red", "grey", "blue", False, True)}, None),
        ({"classes": ("in", "in")}, "classes must be different"),
        ({"classes": (None,)}, None),  # of a network
        ({"classes": ()}, None),
    ],
)
def test_a_schema_is_refused_by_name(change, said):
    judged(SCHEMA, change, said)


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        ((None, ".", (), ()), "Schema.reading must be"),
        ((None, ".", (), (), True, 1), "Schema.reading must be"),
        ([None, ".", (), (), True], "Schema.reading must be"),
        ((("a", "b"), ".", (), (), True), None),
        ((("a", 1), ".", (), (), True), "Schema.reading must be"),
        ((["a"], ".", (), (), True), "Schema.reading must be"),
        ((None, ",", (), (), True), None),
        ((None, ";", (), (), True), "Schema.reading must be"),
        ((None, None, (), (), True), "Schema.reading must be"),
        ((None, ".", (("day", "%d/%m"),), (), True), None),
        ((None, ".", (("day", "%d//-%m"),), (), True), "dates must have a column and a form"),
        ((None, ".", (("day", "%d//%m"),), (), True), None),
        ((None, ".", (("day", "%j"),), (), True), "dates must have a column and a form"),
        ((None, ".", (("day", ""),), (), True), "dates must have a column and a form"),
        ((None, ".", (("day",),), (), True), "dates must have a column and a form"),
        ((None, ".", (("day", "%d", "%m"),), (), True), "dates must have a column and a form"),
        ((None, ".", (["day", "%d"],), (), True), "Schema.reading must be"),
        ((None, ".", (), (1.0, 1.0), True), "edges must ascend"),
        ((None, ".", (), (1.0, np.nextafter(1.0, 2)), True), None),
        ((None, ".", (), (1.0, float("inf")), True), "Schema.reading must be"),
        ((None, ".", (), [1.0], True), "Schema.reading must be"),
        ((None, ".", (), (), 1), "Schema.reading must be"),
    ],
)
def test_a_reading_is_refused_by_name(reading, said):
    made = judged(SCHEMA, {"reading": reading}, said)
    assert said is not None or made.reading == Reading(*reading)


def test_values_that_are_declared_but_not_there_are_not_saved():
    with pytest.raises(NotStorable, match="column 'a' declares values that it does not have"):
        remade(Schema((Column("a", "categorical", ("u",), frozenset({"u", "v"})),)))


@pytest.mark.parametrize(
    ("values", "distinct"),
    [
        ((), True),
        (("a", "b"), True),
        (("b", "a"), True),
        (("a", "a"), False),
        (("b", "a", "b"), False),
        (("a", None), False),
        ((1, 2), True),
        ((1, 1.0), False),
        ((1, float("nan")), False),
        ((np.datetime64("NaT"),), False),
    ],
)
def test_distinct_values_are_there_once_and_not_missing(values, distinct):
    assert is_distinct(values) is distinct


HELD = [
    *(pd.Interval(0, 1), pd.Interval(0, 1.5, "left"), pd.Interval(-1, -1, "both"), pd.Interval(2, 3, "neither")),
    pd.Interval(pd.Timestamp("2024-01-01"), pd.Timestamp("2024-02-29 12:00")),
    *(pd.Period("2024-05", "M"), pd.Period("1969", "Y"), pd.Period("2024-02-29", "D"), pd.Period("2024-05-05 07", "h")),
    *(pd.Period("2024Q3", "Q-NOV"), pd.Period("2024-05-06", "W-SUN"), pd.Period("2024-05", "3M")),
]


def written(held):
    writer = Writer()
    return Reader(writer.arrays, Budget(10**6)).value(writer.text(held))


@pytest.mark.parametrize("held", HELD, ids=repr)
def test_they_come_back_as_they_were(held):
    for made in (remade(held), written(held)):
        assert type(made) is type(held)
        assert made == held
        assert hash(made) == hash(held)
        assert getattr(made, "closed", None) == getattr(held, "closed", None)
        assert getattr(made, "freqstr", None) == getattr(held, "freqstr", None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"is":"Interval","left":2,"right":1,"closed":"right"}', "no Interval can be made"),
        ('{"is":"Interval","left":1,"right":1,"closed":"right"}', None),
        ('{"is":"Interval","left":1,"right":2,"closed":"open"}', "no Interval can be made"),
        ('{"is":"Interval","left":1,"right":2,"closed":3}', "Interval.closed must be one of"),
        ('{"is":"Interval","left":"a","right":"b","closed":"left"}', "no Interval can be made"),
        ('{"is":"Interval","left":1,"closed":"left"}', "no Interval can be made"),
        ('{"is":"Interval","left":1,"right":2,"closed":"left","more":1}', "an Interval has no field 'more'"),
        ('{"is":"Period","ordinal":5,"freqstr":"M"}', None),
        ('{"is":"Period","ordinal":5,"freqstr":"fortnight"}', "no Period can be made"),
        ('{"is":"Period","ordinal":5.0,"freqstr":"M"}', "Period.ordinal must be a whole number"),
        ('{"is":"Period","ordinal":-9223372036854775808,"freqstr":"M"}', "a Period must be one"),
        ('{"is":"Period","ordinal":5}', "no Period can be made"),
    ],
)
def test_what_pandas_cannot_make_is_refused(text, said):
    reader = Reader([], Budget(10**6))
    if said is None:
        assert isinstance(reader.value(text), pd.Interval | pd.Period)
        return
    with pytest.raises(ModelFileError, match=said.replace("an Interval", "a Interval")):
        reader.value(text)
