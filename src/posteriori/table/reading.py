"""How the cells of a file were understood: what no cell can say alone, kept with the schema for the files to come."""

from __future__ import annotations

from dataclasses import dataclass

MISSING = ("?", "NA", "N/A", "n/a", "na", "null", "NULL", "None", "none", "NaN", "nan", "#N/A", "-", "--", ".", "")
# what stands for a missing cell where all else is a number; the last is a cell of blanks


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
