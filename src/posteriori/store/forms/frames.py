"""Values that pandas alone has: intervals, as `cut` makes them, and periods."""

from __future__ import annotations

from typing import Any

import pandas as pd

from .form import Fields, Form, anything, need, text, whole


def _read(*names: str) -> Any:
    return lambda held: {n: getattr(held, n) for n in names}


def _interval(fields: Fields) -> Any:
    return pd.Interval(fields["left"], fields["right"], fields["closed"])


def _period(fields: Fields) -> Any:
    made = pd.Period(ordinal=fields["ordinal"], freq=fields["freqstr"])
    need(isinstance(made, pd.Period), "a Period must be one, and not a missing cell")  # −2⁶³ is NaT
    return made


ENDS = {"left": anything, "right": anything, "closed": text}
MONTHS = {"ordinal": whole, "freqstr": text}
FORMS = {
    "Interval": Form("Interval", pd.Interval, ENDS, _read(*ENDS), _interval, lambda made: None),
    "Period": Form("Period", pd.Period, MONTHS, _read(*MONTHS), _period, lambda made: None),
}
