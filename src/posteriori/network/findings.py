"""What is known, as users say it, turned into likelihood vectors.

A finding on a node is one of
- a state: `{"xray": "yes"}`;
- not some states: `{"xray": Not("yes")}` or, from JSON, `{"xray": {"not": "yes"}}`;
- a likelihood, P(what was seen | state) up to a factor: `{"xray": {"yes": 0.8, "no": 0.1}}`, every state named;
- None or NaN: nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import BadValue, listed
from ..structure.graph import find
from .factor import code_of
from .model import one_hot


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


def unknown(value: object) -> bool:
    """Whether a cell says nothing: None, NaN, pandas' NA."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return type(value).__name__ in ("NAType", "NaTType")


def likelihoods(
    evidence: Mapping[str, Any], index: dict[str, int], states: Sequence[tuple[Hashable, ...]]
) -> dict[int, Floats]:
    """A likelihood vector for each node that something is known of.

    >>> likelihoods({"x": Not("b")}, {"x": 0}, [("a", "b", "c")])
    {0: array([1., 0., 1.])}
    """
    if not isinstance(evidence, Mapping):
        raise BadValue(f"evidence is a mapping from node to finding, got {type(evidence).__name__}")
    found = {}
    for name, finding in evidence.items():
        node = find(index, name)
        if not unknown(finding):
            found[node] = _vector(name, finding, states[node])
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
