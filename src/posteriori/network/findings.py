"""What users say and are told, by name: findings, tables of cases, and the table that answers a query.

A finding on a node is one of
- a state: `{"xray": "yes"}`;
- not some states: `{"xray": Not("yes")}` or, from JSON, `{"xray": {"not": "yes"}}`;
- a likelihood, P(what was seen | state) up to a factor: `{"xray": {"yes": 0.8, "no": 0.1}}`, every state named;
- None or NaN: nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import views
from ..arrays import Array, Codes, Floats
from ..errors import BadValue, TableError, UnknownColumn, UnknownValue, did_you_mean, listed
from ..structure.graph import find
from ..table.encode import factorize
from ..table.frame import open_frame
from .numbers import one_hot

MOST_AXES = 64  # of a NumPy array; a factor of more keeps its values flat


class Not:
    """The finding that a node is in none of these states.

    >>> Not("yes")
    Not('yes')
    """

    def __init__(self, *states: Hashable) -> None:
        if not states:
            raise BadValue("Not needs at least one state")
        self.states = states

    def __repr__(self) -> str:
        return f"Not({', '.join(map(repr, self.states))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Not) and set(self.states) == set(other.states)

    def __hash__(self) -> int:
        return hash(frozenset(self.states))


def code_of(state: object, states: tuple[Hashable, ...], variable: str) -> int:
    """The place of a state, by value or else by its text (1 for "1"); an unknown one lists those there are.

    >>> code_of("yes", ("no", "yes"), "lung"), code_of(1, ("0", "1"), "x0")
    (1, 1)
    """
    try:
        return states.index(state)
    except (TypeError, ValueError, OverflowError):
        pass
    if isinstance(state, float) and state.is_integer():
        state = int(state)
    same = [i for i, known in enumerate(states) if str(known) == str(state)]
    if len(same) == 1:
        return same[0]
    near = did_you_mean(state, states)
    raise UnknownValue(f"{variable!r} has no state {state!r}{near or '.'} states: {listed(states)}")


def unknown(value: object) -> bool:
    """Whether a cell says nothing: None, NaN, pandas' NA."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return type(value).__name__ in ("NAType", "NaTType")


def findings(
    evidence: Mapping[str, Any], index: dict[str, int], states: Mapping[str, tuple[Hashable, ...]]
) -> dict[int, Floats]:
    """A likelihood vector for each node that something is known of.

    >>> findings({"x": Not("b")}, {"x": 0}, {"x": ("a", "b", "c")})
    {0: array([1., 0., 1.])}
    """
    if not isinstance(evidence, Mapping):
        raise BadValue(f"evidence is a mapping from node to finding, got {type(evidence).__name__}")
    found = {}
    for name, finding in evidence.items():
        node = find(index, name)
        if not unknown(finding):
            found[node] = _vector(name, finding, states[name])
    return found


def _vector(name: str, finding: Any, states: tuple[Hashable, ...]) -> Floats:
    size = len(states)
    if isinstance(finding, str):  # by far the most common
        return one_hot(size, code_of(finding, states, name))
    if isinstance(finding, Mapping) and list(finding) == ["not"] and "not" not in states:
        ruled_out = finding["not"]
        finding = Not(*ruled_out) if isinstance(ruled_out, list | tuple | set) else Not(ruled_out)
    if isinstance(finding, Not):
        vector = np.ones(size)
        vector[[code_of(s, states, name) for s in finding.states]] = 0.0
        return vector
    if not isinstance(finding, Mapping):
        return one_hot(size, code_of(finding, states, name))
    codes = [code_of(s, states, name) for s in finding]
    if sorted(codes) != list(range(size)):
        missing = [s for i, s in enumerate(states) if i not in codes]
        raise BadValue(f"a likelihood on {name!r} names every state once; missing or doubled: {listed(missing)}")
    vector = np.zeros(size)
    for code, value in zip(codes, finding.values(), strict=True):
        if not isinstance(value, int | float | np.number) or not 0 <= float(value) < math.inf:
            raise BadValue(f"a likelihood on {name!r} is a finite number from 0 up, got {value!r}")
        vector[code] = value
    return vector


def labelled(states: tuple[Hashable, ...], codes: Array) -> Array:
    """The states of these codes."""
    labels = np.empty(len(states), dtype=object)
    labels[:] = states
    found: Array = labels[codes]
    return found


def columns(table: Any) -> Iterator[tuple[str, Any]]:
    """Name and cells of each column of a pandas, polars or Arrow table or of a dict of columns."""
    frame = open_frame(table)
    if frame.names is None:
        raise TableError(
            "a table of cases needs column names: give a pandas, polars or Arrow table or a dict of columns"
        )
    for j, name in enumerate(frame.names):
        yield name, frame.column(j)


def declared(table: Any) -> dict[str, tuple[Hashable, ...]]:
    """The categories that a pandas categorical or a polars Enum lists, in their order.

    >>> import pandas as pd
    >>> declared(pd.DataFrame({"a": pd.Categorical(["lo"], categories=["lo", "hi"]), "b": [1]}))
    {'a': ('lo', 'hi')}
    """
    kinds: Any = getattr(table, "schema", None) if hasattr(table, "lazy") else getattr(table, "dtypes", None)
    if not hasattr(kinds, "items"):
        return {}
    listed_once, found = dict[int, tuple[Hashable, ...]](), dict[str, tuple[Hashable, ...]]()  # many columns share one
    for name, kind in kinds.items():
        if type(kind).__name__ in ("CategoricalDtype", "Enum") and kind.categories is not None:
            if id(kind) not in listed_once:
                listed_once[id(kind)] = tuple(kind.categories.to_list())
            found[str(name)] = listed_once[id(kind)]
    return found


def coded(name: str, cells: Any) -> tuple[tuple[Hashable, ...], Codes]:
    """The sorted values of a column and its codes, −1 for a missing cell.

    >>> coded("x", np.array(["b", None, "a"], dtype=object))
    (('a', 'b'), array([ 1, -1,  0], dtype=int32))
    """
    values, codes = factorize(cells, name)
    found = codes.astype(np.int32)
    found[found == len(values)] = -1
    return tuple(values), found


def read_cases(
    table: Any, index: dict[str, int], states: Mapping[str, tuple[Hashable, ...]], skip: frozenset[str] = frozenset()
) -> Codes:
    """Codes of shape (cases, nodes): −1 in missing cells and in the columns that the table lacks or `skip` names.

    >>> read_cases({"b": ["no", None]}, {"a": 0, "b": 1}, {"a": ("x",), "b": ("yes", "no")}).tolist()
    [[-1, 1], [-1, -1]]
    """
    found: Codes | None = None
    for name, cells in columns(table):
        if name not in index:
            raise UnknownColumn(f"column {name!r} is no node{did_you_mean(name, index) or '.'} nodes: {listed(index)}")
        if found is None:
            found = np.full((len(cells), len(index)), -1, dtype=np.int32)
        if name not in skip:
            found[:, index[name]] = _in_states(name, cells, states[name])
    if found is None:
        raise TableError("a table of cases needs at least one column")
    return found


def case_table(codes: Codes, states: Mapping[str, tuple[Hashable, ...]]) -> Any:
    """Codes (cases, nodes) as a pandas table of categories.

    >>> case_table(np.array([[0, 1]]), {"a": ("x",), "b": ("yes", "no")}).to_dict("list")
    {'a': ['x'], 'b': ['no']}
    """
    import pandas as pd

    kinds: dict[Any, Any] = {}  # one for all nodes with the same states: a kind is dear, a column is not
    columns = {}
    for (node, values), column in zip(states.items(), codes.T, strict=True):
        alike = values, tuple(map(type, values))
        kind = kinds.get(alike)
        if kind is None:
            kind = kinds[alike] = pd.CategoricalDtype(list(values))
        columns[node] = pd.Categorical.from_codes(column, dtype=kind, validate=False)
    return pd.DataFrame(columns)


def _in_states(name: str, cells: Any, states: tuple[Hashable, ...]) -> Codes:
    values, codes = coded(name, cells)
    place = np.full(len(values) + 1, -1, dtype=np.int32)  # the last one is for missing cells, coded −1
    for i, value in enumerate(values):
        try:
            place[i] = code_of(value, states, name)
        except UnknownValue as error:
            raise UnknownValue(f"column {name!r}, row {int(np.argmax(codes == i))}: {error}") from None
    return place[codes]


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
    values: Floats

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
        return views.html("a frame", self)
