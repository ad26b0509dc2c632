"""What naive Bayes makes of numbers while classes are inferred: densities with which every turn of EM climbs.

A density that is left to choose is, beside labels, a table of bins of equal weight over all rows: a shape that is not
normal is none to be explained by a class. Where no row has a label it is normal, as in latent profile analysis, unless a
column has but a few values: these are bins of their own, since a normal would shrink around one that a class happens to
share. Cuts are made once, by all rows whatever their labels, so that M maximises ℓ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats
from ..statistics.cuts import Cuts, column_numbers, quantile_cuts, value_cuts
from ..statistics.histogram import Histogram
from ..table.encode import dense
from ..table.rows import Rows
from ..table.schema import Schema

BINS = 10
FEW = 10  # different numbers that are values rather than measurements,
EACH = 5.0  # if so many rows have each of them on average


@dataclass(frozen=True, eq=False)
class Settled:
    """The densities of the columns and the cuts of those that are cut, chosen under the parameter `told`."""

    told: Any
    names: dict[str, str]
    cuts: Cuts

    def densities(self, schema: Schema) -> tuple[str, ...]:
        """The density of each column; "cells" where values, or bins, are counted."""
        return tuple(self.names[c.name] for c in schema.columns)


def settle(rows: Rows, densities: tuple[str, ...], told: Any, labels: bool) -> Settled:
    """What "auto" is, column by column."""
    found, cuts = list(densities), list[Floats | None]([None] * len(densities))
    free = [j for j, density in enumerate(densities) if density == "auto"]
    frame = dense(rows.frame) if free and rows.frame.sparse is not None else rows.frame
    for j in free:
        cut = _cut(Histogram.of(column_numbers(frame, j), np.zeros(frame.n, np.uint8), 1, rows.plain_weights), labels)
        found[j], cuts[j] = ("gaussian", None) if cut is None else ("cells", cut)
    names = {c.name: density for c, density in zip(rows.schema.columns, found)}
    return Settled(told, names, tuple(cuts) if any(cut is not None for cut in cuts) else ())


def _cut(histogram: Histogram, labels: bool) -> Floats | None:
    """The cuts of a column, or None where it is normal."""
    different = len(histogram.values)
    if histogram.exact and 1 < different <= FEW and (labels or histogram.table.sum() >= EACH * different):
        return value_cuts(histogram)
    return quantile_cuts(histogram, BINS) if labels else None
