"""How the cells of a file were understood: what no cell can say alone, kept with the schema for the files to come."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

MISSING = ("?", "NA", "N/A", "n/a", "na", "null", "NULL", "None", "none", "NaN", "nan", "#N/A", "-", "--", ".", "")
# what stands for a missing cell where all else is a number; the last is a cell of blanks
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
OR_INFINITE = re.compile(rf"{NUMBER.pattern}|[+-]?inf(inity)?", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """Words for missing cells, the decimal mark, how dates are written, where a numeric target was cut into classes, names.

    >>> Reading(missing=("unknown",)).gaps[:3]
    ('unknown', '?', 'NA')
    """

    missing: tuple[str, ...] | None = None  # told, of every column; none of them: not even the usual ones among numbers
    decimal: str = "."
    dates: tuple[tuple[str, str], ...] = ()  # a column and its form, as `strptime` writes it
    edges: tuple[float, ...] = ()
    header: bool = True  # whether a text file begins with a line of names

    @property
    def gaps(self) -> tuple[str, ...]:
        """The words that are no number but a missing one."""
        return MISSING if self.missing is None else (*self.missing, *MISSING) if self.missing else ("",)

    @property
    def told(self) -> tuple[str, ...]:
        """The words that stand for a missing cell in any column."""
        return self.missing or ()

    @property
    def told_numbers(self) -> dict[str, int | float]:
        """Those of the told words that are numbers, which no cell has to write in the same way.

        >>> Reading(missing=("-9", "1e3", "none")).told_numbers
        {'-9': -9, '1e3': 1000.0}
        """
        return {
            word: int(word) if word.strip("+- ").isdigit() else float(word)
            for word in self.told
            if OR_INFINITE.fullmatch(word.strip())
        }

    def without_told(self, numbers: Any) -> Any:
        """An array of floats, NaN where a number was told to be missing."""
        told = list(self.told_numbers.values())
        return np.where(np.isin(numbers, told), np.nan, numbers) if told else numbers
