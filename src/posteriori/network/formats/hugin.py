"""NET, the format of Hugin: `node` blocks with states, `potential` blocks with data.

The numbers of a potential run through the last parent and then the node fastest; their parentheses group them and may
repeat that. A node whose name is no identifier is written as n0, n1, … with its name in the attribute posteriori_name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from .text import MAX_STATES, Description, Scanner, quoted, written

PATTERN = (
    r"(?P<skip>\s+|%[^\n]*)"
    r'|(?P<string>"(?:[^"\\]++|\\.)*+")'
    r"|(?P<mark>[{}()|=;,])"
    r'|(?P<word>[^\s{}()|=;,"%]+)'
)
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
T = TypeVar("T")
MOST_WORDS = MAX_STATES + 1
DEEPEST = 4096  # parentheses inside one another; a table has one level a parent
KEPT = ("name", "states", "posteriori_name")
KEYWORDS = {"net", "node", "potential", "discrete", "continuous", "decision", "utility", "class"}


def parse(text: str, source: str) -> Description:
    """A description from the text of a file; `source` names it in errors."""
    scan = Scanner(text, source, f"(?s:{PATTERN})")
    found = Description()
    names: dict[str, str] = {}  # identifier in the file -> name
    while scan.kind != "end":
        if scan.found("net"):
            scan.expect("{")
            found.name = " ".join(_attributes(scan).get("name", [found.name]))
        elif scan.found("potential"):
            _potential(scan, found, names)
        elif scan.found("node") or (scan.found("discrete") and scan.found("node")):
            _node(scan, found, names)
        elif scan.token in ("continuous", "decision", "utility", "class"):
            scan.fail(f"expected discrete nodes only, found {scan.token!r}")
        else:
            scan.expected("'net', 'node' or 'potential'")
    return found.finish(scan.fail)


def _attributes(scan: Scanner) -> dict[str, list[str]]:
    """`name = value;` until the closing brace; of those that matter here, the flat list of words."""
    found: dict[str, list[str]] = {}
    while not scan.found("}"):
        name = scan.word("the name of an attribute or '}'")
        scan.expect("=")
        value = _value(scan)
        if name in KEPT:
            found[name] = value
    return found


def _value(scan: Scanner) -> list[str]:
    return _flat(scan, lambda: scan.word("a value, ')' or ';'"), MOST_WORDS)


def _flat(scan: Scanner, one: Callable[[], T], most: int) -> list[T]:
    """The items of a value up to its semicolon, whatever parentheses group them."""
    items: list[T] = []
    depth = 0
    while True:
        depth = _nested(scan, depth)
        if depth == 0 and scan.found(";"):
            return items
        if len(items) == most:
            scan.expected(f"')' or ';' after {most:,} values")
        if not scan.found(","):
            items.append(one())


def _nested(scan: Scanner, depth: int) -> int:
    """Step over parentheses, counting how deep they go."""
    while scan.token in ("(", ")") and scan.kind == "mark":
        depth += 1 if scan.token == "(" else -1
        if depth < 0:
            scan.expected("a value or ';'")
        if depth > DEEPEST:
            scan.fail(f"parentheses are nested more than {DEEPEST} deep")
        scan.advance()
    return depth


def _node(scan: Scanner, found: Description, names: dict[str, str]) -> None:
    at = scan.start
    identifier = scan.word("the name of a node")
    scan.expect("{")
    attributes = _attributes(scan)
    if "states" not in attributes:
        scan.fail(f"node {identifier!r} has no states", at)
    if identifier in names:
        scan.fail(f"node {identifier!r} is declared twice", at)
    given = attributes.get("posteriori_name", [])
    names[identifier] = given[0] if given else identifier
    found.add_variable(names[identifier], attributes["states"], scan.fail)


def _potential(scan: Scanner, found: Description, names: dict[str, str]) -> None:
    at = scan.start
    scan.expect("(")
    child = scan.word("the name of a node")
    if scan.kind == "word" and scan.token != "|":
        scan.fail(f"expected '|' or ')', found {scan.token!r}: a potential of several nodes is no conditional table")
    family = [names.get(n, n) for n in (child, *scan.parents(child))]
    shape = found.add_family(family[0], family[1:], scan.fail)
    scan.expect("{")
    values: list[float] | None = None
    while not scan.found("}"):
        name = scan.word("'data' or '}'")
        if name.startswith("model_"):
            scan.fail(f"expected a table of numbers for {child!r}, found an expression ({name})")
        scan.expect("=")
        if name == "data":
            values = _flat(scan, scan.number, math.prod(shape))
        else:
            _value(scan)
    if values is None:
        scan.fail(f"the potential of {child!r} has no data", at)
    found.add_table(family[0], values, scan.fail)


def render(network: Description) -> str:
    """The text of a file; every digit kept."""
    ids = {n: n if IDENTIFIER.fullmatch(n) and n not in KEYWORDS else None for n in network.states}
    taken = set(ids)
    fresh = (f"n{i}" for i in range(2 * len(ids) + 1))
    names = {n: known or next(f for f in fresh if f not in taken) for n, known in ids.items()}
    lines = ["net", "{", f"  name = {quoted(network.name)};", "}"]
    for name, states in network.states.items():
        lines += [f"node {names[name]}", "{", f"  states = ({' '.join(map(quoted, states))});"]
        lines += [f"  posteriori_name = {quoted(name)};"] * (names[name] != name) + ["}"]
    for child, parents in network.parents.items():
        given = f" | {' '.join(names[p] for p in parents)}" if parents else ""
        sizes = [len(network.states[n]) for n in (*parents, child)]
        lines += [f"potential ({names[child]}{given})", "{", f"  data = {_grouped(network.tables[child], sizes)};", "}"]
    return "\n".join(lines) + "\n"


def _grouped(values: Iterable[float], sizes: list[int]) -> str:
    """Numbers in parentheses, one level an axis."""
    groups = [written(v) for v in values]
    for size in reversed(sizes):
        groups = [f"({' '.join(groups[i : i + size])})" for i in range(0, len(groups), size)]
    return groups[0]
