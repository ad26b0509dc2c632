"""NET, the format of Hugin: `node` blocks with states, `potential` blocks with data.

The numbers of a potential run through the last parent and then the node fastest; their parentheses group them and may
repeat that. A `continuous node` is normal, its mean linear in its continuous parents: `normal (1 + 2 * x, 0.5)`, mean and
variance, for each configuration of its discrete ones. A node whose name is no identifier is written as n0, n1, … with its
name in the attribute posteriori_name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from ...arrays import Floats
from ...errors import listed
from .text import MAX_STATES, Description, Scanner, quoted, written

PATTERN = (
    r"(?P<skip>\s+|%[^\n]*)"
    r'|(?P<string>"(?:[^"\\]++|\\.)*+")'
    r"|(?P<mark>[{}()|=;,])"
    r'|(?P<word>[^\s{}()|=;,"%]+)'
)
NUMBER, NAME = r"((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", r"([A-Za-z_]\w*)"
NORMAL = re.compile(r"normal\s*\(([^(),]*),([^(),]*)\)")
TERM = re.compile(rf"\s*([+-])?\s*(?:{NUMBER}(?:\s*\*\s*{NAME})?|{NAME}(?:\s*\*\s*{NUMBER})?)\s*")
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
        elif scan.found("continuous"):
            scan.expect("node")
            _continuous(scan, found, names)
        elif scan.token in ("decision", "utility", "class"):
            scan.fail(f"expected discrete and continuous nodes, found {scan.token!r}")
        else:
            scan.expected("'net', 'node' or 'potential'")
    lacking = [n for n, line in found.lines.items() if not len(line[0])]
    if lacking:
        scan.fail(f"no potential of {listed(lacking)}")
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
    if names[identifier] in found.lines:
        scan.fail(f"node {identifier!r} is declared twice", at)
    found.add_variable(names[identifier], attributes["states"], scan.fail)


def _continuous(scan: Scanner, found: Description, names: dict[str, str]) -> None:
    at = scan.start
    identifier = scan.word("the name of a node")
    scan.expect("{")
    given = _attributes(scan).get("posteriori_name", [])
    name = given[0] if given else identifier
    if identifier in names or name in found.states or name in found.lines:
        scan.fail(f"node {identifier!r} is declared twice", at)
    names[identifier] = name
    found.lines[name] = np.zeros(0), np.zeros((0, 0)), np.zeros(0)


def _normals(scan: Scanner, found: Description, names: dict[str, str], child: str, parents: list[str]) -> None:
    """The lines of a continuous node, from its data."""
    strange = [p for p in parents if p not in found.states and p not in found.lines]
    if strange or len({child, *parents}) <= len(parents) or child in found.parents:
        scan.fail(
            f"the family of {child!r} names {listed(strange or parents)}: each parent is a node, once; given once"
        )
    beside = [p for p in parents if p in found.lines]
    q, most = math.prod(len(found.states[p]) for p in parents if p in found.states), len(found.lines)
    scan.expect("{")
    while not scan.found("}"):
        at, name = scan.start, scan.word("'data' or '}'")
        end = scan.text.find(";", scan.start)
        if name != "data":
            scan.expect("=")
            _value(scan)
            continue
        body = scan.text[scan.start : end if end >= 0 else len(scan.text)]
        normals = NORMAL.findall(body)
        if end < 0 or len(normals) != q or NORMAL.sub("", body).strip("=() \t\r\n,"):
            scan.fail(
                f"expected {q} normals (mean, variance) of {child!r}, found {len(normals)}, or something else", at
            )
        lines = [_line(mean, variance, names, beside) for mean, variance in normals[: most * q]]
        if any(line is None for line in lines):
            scan.fail(f"a normal of {child!r} has a mean, linear in {listed(beside)}, and a variance", at)
        alpha, beta, variance = zip(*(line for line in lines if line is not None), strict=True)
        found.lines[child] = np.array(alpha), np.array(beta).reshape(q, len(beside)), np.array(variance)
        found.parents[child] = tuple(parents)
        scan.jump(end + 1)
    if child not in found.parents:
        scan.fail(f"the potential of {child!r} has no data")


def _line(
    mean: str, variance: str, names: dict[str, str], beside: list[str]
) -> tuple[float, list[float], float] | None:
    """(α, β, σ²), or None where this is no sum of numbers and of numbers times parents."""
    alpha, beta, at = 0.0, [0.0] * len(beside), 0
    while at < len(mean):
        term = TERM.match(mean, at)
        if term is None or (at and not term.group(1)):
            return None
        sign = -1.0 if term.group(1) == "-" else 1.0
        number, parent = term.group(2) or term.group(5), term.group(3) or term.group(4)
        factor = sign * float(number or 1)
        if parent is None:
            alpha += factor
        elif (name := names.get(parent, parent)) in beside:
            beta[beside.index(name)] += factor
        else:
            return None
        at = term.end()
    try:
        return alpha, beta, float(variance)
    except ValueError:
        return None


def _potential(scan: Scanner, found: Description, names: dict[str, str]) -> None:
    at = scan.start
    scan.expect("(")
    child = scan.word("the name of a node")
    if scan.kind == "word" and scan.token != "|":
        scan.fail(f"expected '|' or ')', found {scan.token!r}: a potential of several nodes is no conditional table")
    family = [names.get(n, n) for n in (child, *scan.parents(child))]
    if family[0] in found.lines:
        return _normals(scan, found, names, family[0], family[1:])
    for parent in family[1:]:
        if parent in found.lines:
            scan.fail(f"the discrete node {family[0]!r} has the continuous parent {parent!r}")
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
    every = [*network.states, *network.lines]
    ids = {n: n if IDENTIFIER.fullmatch(n) and n not in KEYWORDS else None for n in every}
    taken = set(ids)
    fresh = (f"n{i}" for i in range(2 * len(ids) + 1))
    names = {n: known or next(f for f in fresh if f not in taken) for n, known in ids.items()}
    lines = ["net", "{", f"  name = {quoted(network.name)};", "}"]
    for name, states in network.states.items():
        lines += [f"node {names[name]}", "{", f"  states = ({' '.join(map(quoted, states))});"]
        lines += [f"  posteriori_name = {quoted(name)};"] * (names[name] != name) + ["}"]
    for name in network.lines:
        lines += [f"continuous node {names[name]}", "{"]
        lines += [f"  posteriori_name = {quoted(name)};"] * (names[name] != name) + ["}"]
    for child, parents in network.parents.items():
        given = f" | {' '.join(names[p] for p in parents)}" if parents else ""
        sizes = [len(network.states[n]) for n in (*parents, child) if n in network.states]
        if child in network.lines:
            beside = [names[p] for p in parents if p in network.lines]
            cells = [_normal(*line, beside) for line in zip(*network.lines[child], strict=True)]
            sizes = [*sizes, 1]
        else:
            cells = [written(v) for v in network.tables[child]]
        lines += [f"potential ({names[child]}{given})", "{", f"  data = {_grouped(cells, sizes)};", "}"]
    return "\n".join(lines) + "\n"


def _normal(alpha: float, beta: Floats, variance: float, beside: list[str]) -> str:
    slopes = (f" {'-' if b < 0 else '+'} {written(abs(b))} * {p}" for b, p in zip(beta, beside, strict=True))
    return f"normal ({written(alpha)}{''.join(slopes)}, {written(variance)})"


def _grouped(groups: list[str], sizes: list[int]) -> str:
    """Cells in parentheses, one level an axis."""
    for size in reversed(sizes):
        groups = [f"({' '.join(groups[i : i + size])})" for i in range(0, len(groups), size)]
    return groups[0]
