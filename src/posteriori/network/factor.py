"""Factor: a table with named axes, the answer to a query."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnknownColumn, UnknownValue, did_you_mean, listed

MOST_AXES = 64  # of a NumPy array; a factor of more keeps its values flat


def code_of(state: object, states: tuple[Hashable, ...], variable: str) -> int:
    """The place of a state, by value or else by its text (1 for "1"); an unknown one lists those there are.

    >>> code_of("yes", ("no", "yes"), "lung"), code_of(1, ("0", "1"), "x0")
    (1, 1)
    """
    try:
        return states.index(state)
    except (ValueError, TypeError):
        pass
    if isinstance(state, float) and state.is_integer():
        state = int(state)
    same = [i for i, known in enumerate(states) if str(known) == str(state)]
    if len(same) == 1:
        return same[0]
    near = did_you_mean(state, states)
    raise UnknownValue(f"{variable!r} has no state {state!r}{near or '.'} states: {listed(states)}")


@dataclass(frozen=True, eq=False)
class Factor:
    """P over some variables: one axis each, in the order of `variables`.

    >>> f = Factor(("rain", "wet"), {"rain": ("no", "yes"), "wet": ("no", "yes")}, np.array([[0.7, 0.1], [0.05, 0.15]]))
    >>> f["yes", "no"]
    0.05
    >>> f.to_frame()
      rain  wet     p
    0   no   no  0.70
    1   no  yes  0.10
    2  yes   no  0.05
    3  yes  yes  0.15
    """

    variables: tuple[str, ...]
    states: Mapping[str, tuple[Hashable, ...]]
    values: NDArray[np.float64]

    def __post_init__(self) -> None:
        shape = tuple(len(self.states[v]) for v in self.variables)
        values = np.array(self.values, dtype=np.float64)
        values = values.reshape(shape) if len(shape) <= MOST_AXES else values.ravel()
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    def __getitem__(self, key: Any) -> float:
        """The value of one configuration: states in the order of `variables`, or {variable: state} of them all."""
        if isinstance(key, Mapping):
            unknown = [k for k in key if k not in self.variables]
            missing = [v for v in self.variables if v not in key]
            if unknown or missing:
                near = did_you_mean(unknown[0], self.variables) if unknown else ""
                wrong = f"no variable {unknown[0]!r}" if unknown else f"no state for {listed(missing)}"
                raise UnknownColumn(f"{wrong}{near or '.'} variables: {listed(self.variables)}")
            key = tuple(key[v] for v in self.variables)
        elif len(self.variables) == 1 and not (isinstance(key, tuple) and len(key) == 1):
            key = (key,)
        if not isinstance(key, tuple) or len(key) != len(self.variables):
            raise UnknownValue(f"expected one state for each of {listed(self.variables)}, found {key!r}")
        at = 0
        for variable, state in zip(self.variables, key, strict=True):
            at = at * len(self.states[variable]) + code_of(state, self.states[variable], variable)
        return float(self.values.ravel()[at])

    def to_frame(self) -> Any:
        """A pandas table, one row a configuration, the probability in column p."""
        import pandas as pd

        sizes = [len(self.states[v]) for v in self.variables]
        columns, inner = {}, math.prod(sizes)
        repeat = 1
        for variable, size in zip(self.variables, sizes, strict=True):
            inner //= size
            states = np.empty(size, dtype=object)
            states[:] = self.states[variable]
            columns[variable] = np.tile(np.repeat(states, inner), repeat)
            repeat *= size
        return pd.DataFrame({**columns, "p": self.values.ravel()})

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False))
