"""Intervals and periods come back as they were; what pandas cannot make of a file is refused."""

from __future__ import annotations

import pandas as pd
import pytest

from posteriori.errors import ModelFileError
from posteriori.store.codec import Reader, Writer
from posteriori.store.container import Budget

from .refusals import remade

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
        ('{"is":"Interval","left":1,"right":2,"closed":3}', "Interval.closed must be a text"),
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
