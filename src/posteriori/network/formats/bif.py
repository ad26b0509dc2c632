"""BIF, the Bayesian network interchange format: `variable` and `probability` blocks.

A name that holds white space or one of {}()[]|,;" is written in double quotes. A whole conditional `table` lists the node
slowest and the last parent fastest; otherwise each row names its parents' states, and `default` fills the rows not named.
"""

from __future__ import annotations

import itertools
import math
import re

import numpy as np

from ...arrays import Floats
from ...errors import did_you_mean, listed
from .text import MAX_STATES, Description, Scanner, quoted, written

# possessive repeats: no memory for ways back, and what is never closed is found out in one look
PATTERN = (
    r"(?P<skip>\s+|//[^\n]*|/\*(?:[^*]++|\*(?!/))*+\*/)"
    r'|(?P<string>"(?:[^"\\]++|\\.)*+")'
    r"|(?P<mark>[{}()\[\]|,;])"
    r'|(?P<word>(?!/\*)[^\s{}()\[\]|,;"]+)'
)
BARE = re.compile(r'(?!//|/\*)[^\s{}()\[\]|,;"]+')


def parse(text: str, source: str) -> Description:
    """A description from the text of a file; `source` names it in errors."""
    scan = Scanner(text, source, f"(?s:{PATTERN})")
    found = Description()
    while scan.kind != "end":
        if scan.found("network"):
            found.name = scan.word("the name of the network")
            _properties(scan)
        elif scan.found("variable"):
            _variable(scan, found)
        elif scan.found("probability"):
            _probability(scan, found)
        else:
            scan.expected("'network', 'variable' or 'probability'")
    return found.finish(scan.fail)


def _property(scan: Scanner) -> bool:
    """Skip a `property … ;`, which says nothing about the network's numbers."""
    if not scan.found("property"):
        return False
    while not scan.found(";"):
        if scan.kind == "end" or scan.token in ("{", "}"):
            scan.expected("';' at the end of a property")
        scan.advance()
    return True


def _properties(scan: Scanner) -> None:
    scan.expect("{")
    while not scan.found("}"):
        if not _property(scan):
            scan.expected("'property' or '}'")


def _variable(scan: Scanner, found: Description) -> None:
    name = scan.word("the name of a variable")
    scan.expect("{")
    states: list[str] | None = None
    while not scan.found("}"):
        if _property(scan):
            continue
        if states is not None or not scan.found("type"):
            scan.expected("'property' or '}'" if states is not None else "'type', 'property' or '}'")
        scan.expect("discrete")
        scan.expect("[")
        size = scan.integer("the number of states", MAX_STATES)
        scan.expect("]")
        states = _states(scan, name, size)
        scan.found(";")
    found.add_variable(name, states or [], scan.fail)


def _states(scan: Scanner, name: str, size: int) -> list[str]:
    scan.expect("{")
    states: list[str] = []
    while not scan.found("}"):
        if len(states) == size:
            scan.expected(f"'}}' after the {size} states of {name!r}")
        states.append(scan.word("the name of a state"))
        scan.found(",")
    if len(states) < size:
        scan.fail(f"expected {size} states of {name!r}, found {len(states)}")
    return states


def _probability(scan: Scanner, found: Description) -> None:
    scan.expect("(")
    child = scan.word("the name of a variable")
    parents = scan.parents(child)
    shape = found.add_family(child, parents, scan.fail)
    table = np.full((math.prod(shape[:-1]), shape[-1]), np.nan)
    codes = [{state: code for code, state in enumerate(found.states[p])} for p in parents]
    default: list[float] | None = None
    scan.expect("{")
    while not scan.found("}"):
        if _property(scan):
            continue
        if scan.found("table"):
            whole = np.array(_numbers(scan, child, table.size)).reshape(shape[-1], -1)
            table[:] = whole.T  # the node comes slowest in the file, fastest here
        elif scan.found("default"):
            if default is not None:
                scan.fail(f"the default row of {child!r} is given twice")
            default = _numbers(scan, child, shape[-1])
        elif scan.token == "(":
            _row(scan, found, child, codes, table)
        else:
            scan.expected("'(', 'table', 'default', 'property' or '}'")
    gaps = np.flatnonzero(np.isnan(table[:, 0]))
    if default is not None:  # wherever it stands, it fills what no row names
        table[gaps] = default
    elif len(gaps):
        scan.fail(f"the table of {child!r} has no row for {_configuration(found, child, int(gaps[0]))}")
    found.add_table(child, table, scan.fail)


def _row(scan: Scanner, found: Description, child: str, codes: list[dict[str, int]], table: Floats) -> None:
    scan.expect("(")
    row = 0
    for parent, states in zip(found.parents[child], codes, strict=True):
        at = scan.start
        state = scan.word(f"a state of {parent!r}")
        if state not in states:
            near = did_you_mean(state, states)
            scan.fail(f"{parent!r} has no state {state!r}{near or '.'} states: {listed(states)}", at)
        row = row * len(states) + states[state]
        scan.found(",")
    scan.expect(")")
    if not np.isnan(table[row, 0]):
        scan.fail(f"the row of {child!r} for {_configuration(found, child, row)} is given twice")
    table[row] = _numbers(scan, child, table.shape[1])


def _numbers(scan: Scanner, child: str, wanted: int) -> list[float]:
    """Numbers up to the semicolon, as many as wanted."""
    values: list[float] = []
    while not scan.found(";"):
        if len(values) == wanted:
            scan.expected(f"';' after {wanted} numbers of {child!r}")
        values.append(scan.number())
        scan.found(",")
    if len(values) < wanted:
        scan.fail(f"expected {wanted} numbers of {child!r}, found {len(values)}")
    return values


def _configuration(found: Description, child: str, row: int) -> str:
    """The parents' states of a row, for a message."""
    parts = []
    for parent in reversed(found.parents[child]):
        row, state = divmod(row, len(found.states[parent]))
        parts.append(f"{parent}={found.states[parent][state]}")
    return ", ".join(reversed(parts)) or "its only row"


def render(network: Description) -> str:
    """The text of a file; every digit kept."""
    lines = [f"network {_name(network.name)} {{", "}"]
    for name, states in network.states.items():
        listing = ", ".join(map(_name, states))
        lines += [f"variable {_name(name)} {{", f"  type discrete [ {len(states)} ] {{ {listing} }};", "}"]
    for child, parents in network.parents.items():
        family = f"{_name(child)} | {', '.join(map(_name, parents))}" if parents else _name(child)
        lines.append(f"probability ( {family} ) {{")
        rows = network.tables[child].reshape(-1, len(network.states[child]))
        configurations = itertools.product(*(network.states[p] for p in parents))
        for configuration, row in zip(configurations, rows, strict=True):
            head = f"({', '.join(map(_name, configuration))})" if parents else "table"
            lines.append(f"  {head} {', '.join(map(written, row))};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def _name(name: str) -> str:
    return name if BARE.fullmatch(name) else quoted(name)
