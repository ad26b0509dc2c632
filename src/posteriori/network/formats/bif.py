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
from . import text as limits
from .text import LONGEST_NAME, MAX_STATES, Description, Scanner, quoted, written

# possessive repeats: no memory for ways back, and what is never closed is found out in one look
PATTERN = (
    r"(?P<skip>\s+|//[^\n]*|/\*(?:[^*]++|\*(?!/))*+\*/)"
    r'|(?P<string>"(?:[^"\\]++|\\.)*+")'
    r"|(?P<mark>[{}()\[\]|,;])"
    r'|(?P<word>(?!/\*)[^\s{}()\[\]|,;"]+)'
)
VARIABLE = re.compile(
    r'variable\s+([^\s{}()\[\]|,;"/]+)\s*\{\s*type\s+discrete\s*\[\s*([0-9]{1,5})\s*\]\s*\{([^{}()\[\]|;"/]+)\}\s*;?\s*\}'
)
FAMILY = re.compile(r'\(\s*([^\s{}()\[\]|,;"/]+)\s*(?:\|([^{}()\[\]|;"/]+))?\)')
ROW = re.compile(r"\s*(?:\(([^()]+)\)|table)([^();]+);")
ODD = re.compile(r'["/\[\]|{]|\b(?:property|default)\b')  # what rows of plain names and numbers do not have
BARE = re.compile(r'(?!//|/\*)[^\s{}()\[\]|,;"]+')


def parse(text: str, source: str) -> Description:
    """A description from the text of a file; `source` names it in errors."""
    scan = Scanner(text, source, f"(?s:{PATTERN})")
    found = Description()
    while scan.kind != "end":
        if scan.found("network"):
            found.name = scan.word("the name of the network")
            _properties(scan)
        elif scan.token == "variable":
            if not _plain_variable(scan, found):
                scan.advance()
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


def _plain_variable(scan: Scanner, found: Description) -> bool:
    """A variable of plain words in one look; False leaves it to be read token by token, which says what is wrong."""
    match = VARIABLE.match(scan.text, scan.start) if scan.kind == "word" else None
    if match is None:
        return False
    name, states = match.group(1), [s.strip() for s in match.group(3).split(",")]
    plain = all(s and len(s) <= LONGEST_NAME and BARE.fullmatch(s) for s in (name, *states))
    if not plain or len(states) != int(match.group(2)):
        return False
    scan.jump(match.end())
    found.add_variable(name, states, scan.fail)
    return True


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
    child, parents = _family(scan)
    shape = found.add_family(child, parents, scan.fail)
    table = np.full((math.prod(shape[:-1]), shape[-1]), np.nan)
    codes = [{state: code for code, state in enumerate(found.states[p])} for p in parents]
    default: list[float] | None = None
    scan.expect("{")
    end = _plain_rows(scan, codes, table)
    if end:
        scan.jump(end)
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


def _family(scan: Scanner) -> tuple[str, list[str]]:
    """( child | parents )"""
    match = FAMILY.match(scan.text, scan.start)
    parents = [p.strip() for p in (match.group(2) or "").split(",")] if match else []
    if match and len(parents) <= limits.MAX_PARENTS:
        names = [match.group(1), *(parents if match.group(2) else ())]
        if all(len(n) <= LONGEST_NAME and BARE.fullmatch(n) for n in names):
            scan.jump(match.end())
            return names[0], names[1:]
    scan.expect("(")
    child = scan.word("the name of a variable")
    return child, scan.parents(child)


def _plain_rows(scan: Scanner, codes: list[dict[str, int]], table: Floats) -> int:
    """Fill a table whose every row is named, in plain words, once; where it ends. 0 leaves it to be read token by token.

    So nearly every table is written: this reads a row where tokens read a number, and judges nothing.
    """
    end = scan.text.find("}", scan.start)
    body, (q, r) = scan.text[scan.start : max(end, scan.start)], table.shape
    rows = ROW.findall(body)
    if len(rows) != q or ODD.search(body) or "".join(ROW.split(body)[::3]).strip():
        return 0
    text = ",".join(numbers for _, numbers in rows)
    try:
        values = np.array([float(x) for x in text.split(",")])
        places = [_place(key, codes) for key, _ in rows]
    except (ValueError, KeyError):
        return 0
    whole = all(numbers.count(",") == r - 1 for _, numbers in rows) and len(set(places)) == q and "_" not in text
    if not whole or not ((values >= 0) & (values < math.inf)).all():
        return 0
    table[places] = values.reshape(q, r)
    return end


def _place(key: str, codes: list[dict[str, int]]) -> int:
    """The row of the parents' states; `table` names none."""
    row = 0
    for state, states in zip(key.split(",") if key else (), codes, strict=True):
        row = row * len(states) + states[state.strip()]
    return row


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
