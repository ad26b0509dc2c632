"""The error tree. Each error is also the built-in error that a caller of scikit-learn would expect.

PosterioriError
├── TableError (ValueError)          a table cannot be used as it is
│   ├── UnknownColumn                a column that the schema does not have, or lacks
│   ├── UnknownValue                 a value, state or class that is not there
│   └── BadValue                     a cell, label or weight that is no legal value
│       └── BadType (TypeError)      a table, cell or label of a type that cannot be used
├── StatisticsError (ValueError)     counts that cannot be added, subtracted or held
│   ├── NotLearned                   forgetting what was never learned
│   └── CountOverflow                a sum that would not fit
├── ModelError (ValueError)          a model that cannot be what it was asked to be
│   ├── BadParameter (TypeError)     a parameter that is not what its estimator declares
│   ├── ImpossibleEvidence           every class or state has probability zero
│   ├── SingularCovariance           a class whose covariance has no inverse
│   ├── NotSeparable                 a hard margin on data that no plane separates
│   ├── NotErgodic                   a Gibbs chain that could not reach every state
│   ├── Unreliable                   a sampled answer that what was not drawn could turn over
│   ├── InvalidNetwork               a graph or a table that is no Bayesian network
│   └── NotStorable (TypeError)      a model, or a part of one, that a model file cannot hold
├── Inconsistent (ValueError)        a value whose parts do not fit each other, or are not what its class says
├── LossError (ValueError)           a loss matrix that can be read two ways, or not at all
├── FormatError (ValueError)         a file that does not follow its format
│   └── ModelFileError               a model file that is damaged, of another version, or no model
├── WriteError (OSError)             a file that could not be written; what was there is as it was
├── MemoryBudgetError (MemoryError)  work that would exceed the memory budget, refused before it starts
└── MissingExtra (ImportError)       an optional dependency that is not installed
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable
from typing import Any

MOST, NAME = 2_000, 200  # characters of a message, and of a name in one that lists some


class PosterioriError(Exception):
    """Any error of this library; of a long message, as names make it, it says the beginning and the end."""

    def __str__(self) -> str:
        return shortened(super().__str__())


class TableError(PosterioriError, ValueError):
    """A table cannot be used as it is."""


class UnknownColumn(TableError):
    """A column that the schema does not have, or lacks."""


class UnknownValue(TableError):
    """A value, state or class that is not there."""


class BadValue(TableError):
    """A cell, label or weight that is no legal value."""


class BadType(BadValue, TypeError):
    """A table, cell or label of a type that cannot be used."""


class StatisticsError(PosterioriError, ValueError):
    """Counts that cannot be added, subtracted or held."""


class NotLearned(StatisticsError):
    """Forgetting what was never learned."""


class CountOverflow(StatisticsError):
    """A sum that would not fit."""


class ModelError(PosterioriError, ValueError):
    """A model that cannot be what it was asked to be."""


class BadParameter(ModelError, TypeError):
    """A parameter that is not what its estimator declares."""


class ImpossibleEvidence(ModelError):
    """Every class or state has probability zero; `findings` holds a minimal set that contradicts itself, where known.

    `row` is the row of a table of cases that holds it.
    """

    def __init__(self, message: str, findings: Iterable[Any] = (), row: int | None = None) -> None:
        super().__init__(message)
        self.findings = tuple(findings)
        self.row = row

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.findings, self.row)


class SingularCovariance(ModelError):
    """A class whose covariance has no inverse."""


class NotSeparable(ModelError):
    """A hard margin on data that no plane separates."""


class NotErgodic(ModelError):
    """A Gibbs chain that could not reach every state."""


class Unreliable(ModelError):
    """A sampled answer that what was not drawn could turn over."""


class InvalidNetwork(ModelError):
    """A graph or a table that is no Bayesian network."""


class NotStorable(ModelError, TypeError):
    """A model, or a part of one, that a model file cannot hold."""


class Inconsistent(PosterioriError, ValueError):
    """A value whose parts do not fit each other, or are not what its class says."""


class LossError(PosterioriError, ValueError):
    """A loss matrix that can be read two ways, or not at all."""


class FormatError(PosterioriError, ValueError):
    """A file that does not follow its format."""


class ModelFileError(FormatError):
    """A model file that is damaged, of another version, or no model."""


class WriteError(PosterioriError, OSError):
    """A file that could not be written; what was there is as it was."""


class MemoryBudgetError(PosterioriError, MemoryError):
    """Work that would exceed the memory budget, refused before it starts."""


class MissingExtra(PosterioriError, ImportError):
    """An optional dependency that is not installed."""


def shortened(text: str, most: int = MOST) -> str:
    """A text without its middle, if it is long.

    >>> shortened("abcdefghij", 6)
    'abc … hij'
    """
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-(most // 2) :]}"


def did_you_mean(name: object, known: Iterable[object], cutoff: float = 0.5) -> str:
    """The sentence that names the nearest match, or nothing.

    >>> did_you_mean("clas", ["class", "x1"])
    "; did you mean 'class'?"
    >>> did_you_mean("zzz", ["class", "x1"])
    ''
    """
    by_text = {text: k for k in known if len(text := str(k)) <= NAME}
    if len(str(name)) > NAME:  # to compare it takes longer than anybody waits
        return ""
    same = {"".join(text.split()).casefold(): text for text in by_text}  # but for case and blanks
    if (found := same.get("".join(str(name).split()).casefold())) is not None:
        return f"; did you mean {by_text[found]!r}?"
    close = difflib.get_close_matches(str(name), by_text, n=1, cutoff=cutoff)
    return f"; did you mean {by_text[close[0]]!r}?" if close else ""


def shown(value: object) -> str:
    """A value for a message; Python prints no whole number of more than 4300 digits.

    >>> shown([1]), shown(10**5000)
    ('[1]', 'a whole number of more digits than Python prints')
    """
    try:
        return repr(value)
    except ValueError:
        return "a whole number of more digits than Python prints"


def counted(n: float, noun: str) -> str:
    """So many things, as people write it.

    >>> counted(1, "row"), counted(2000, "class"), counted(255 / 7, "row")
    ('1 row', '2,000 classes', '36.4286 rows')
    """
    number = f"{n:,.0f}" if float(n).is_integer() else f"{n:,.6g}"
    return f"{number} {noun}{'' if n == 1 else 'es' if noun.endswith('s') else 's'}"


def check_policy(impossible: Any) -> None:
    """What is to be done with rows of probability zero is known, whether there are any or not."""
    if not (isinstance(impossible, str) and impossible in ("raise", "prior")):
        raise BadParameter(f"impossible is 'raise' or 'prior'. Got {impossible!r} instead.")


def answered(never: Any, impossible: str) -> bool:
    """Whether rows of probability zero get the prior, which is counted aloud; by the policy "raise" they do not."""
    check_policy(impossible)
    if impossible == "prior" and never.any():
        n, first = int(never.sum()), int(never.argmax())
        told = f"{counted(n, 'row')} of {len(never):,} ({'' if n == 1 else 'the first is '}row {first})"
        warnings.warn(f"{told} had probability zero and got the prior", stacklevel=4)
    return impossible == "prior"


def listed(names: Iterable[object], most: int = 12) -> str:
    """Names for a message, cut where there are many.

    >>> listed(["a", "b"])
    "'a', 'b'"
    >>> listed(range(5), most=2)
    '0, 1, … (5 in all)'
    """
    names = list(names)
    shown = ", ".join(shortened(repr(n), NAME) for n in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"
