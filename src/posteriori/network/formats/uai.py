"""UAI: numbers only. Nodes are x0, x1, …, states "0", "1", …; names are not kept by this format.

The last variable of a function's scope is the node, and runs fastest through its table.
"""

from __future__ import annotations

from .text import MAX_CELLS, MAX_NODES, MAX_STATES, Description, Scanner, written

# comments: a line that begins with the word c, or all after a #
PATTERN = r"(?P<skip>\s+|#[^\n]*|(?m:^)c(?=\s)[^\n]*)|(?P<word>[^\s#]+)|(?P<string>(?!))|(?P<mark>(?!))"


def parse(text: str, source: str) -> Description:
    """A description from the text of a file; `source` names it in errors."""
    scan = Scanner(text, source, PATTERN)
    kind = scan.word("'BAYES'")
    if kind != "BAYES":
        scan.fail(f"expected 'BAYES', found {kind[:40]!r} (only that kind has conditional tables)", 0)
    found = Description()
    nodes = scan.integer("the number of variables", MAX_NODES)
    sizes = [scan.integer("a number of states", MAX_STATES) for _ in range(nodes)]
    if sum(sizes) > len(text):  # every state needs at least one number
        scan.fail(f"the variables have {sum(sizes):,} states in all, more than the file can hold numbers for")
    states = [str(s) for s in range(max(sizes, default=0))]
    for i, size in enumerate(sizes):
        found.add_variable(f"x{i}", states[:size], scan.fail)
    count = scan.integer("the number of functions", MAX_NODES)
    if count != nodes:
        scan.fail(f"expected {nodes} functions, one a variable, found {count}")
    families = [_scope(scan, found, nodes) for _ in range(count)]
    for child in families:
        size = scan.integer("the size of a table", MAX_CELLS)
        found.check_size(child, size, scan.fail)
        found.add_table(child, [scan.number() for _ in range(size)], scan.fail)
    if scan.kind != "end":
        scan.expected("the end of the file")
    return found.finish(scan.fail)


def _scope(scan: Scanner, found: Description, nodes: int) -> str:
    """The variables of a function, the node last."""
    size = scan.integer("the number of variables of a function", nodes)
    if size == 0:
        scan.fail("expected a function of at least one variable, found 0")
    *parents, child = (f"x{scan.integer('a variable', nodes - 1)}" for _ in range(size))
    found.add_family(child, parents, scan.fail)
    return child


def render(network: Description) -> str:
    """The text of a file; every digit kept, names and states replaced by their places."""
    place = {name: str(i) for i, name in enumerate(network.states)}
    lines = ["BAYES", str(len(place)), " ".join(str(len(s)) for s in network.states.values()), str(len(place))]
    for child, parents in network.parents.items():
        lines.append(" ".join([str(len(parents) + 1), *(place[p] for p in parents), place[child]]))
    for child in network.parents:
        table = network.tables[child]
        lines += ["", str(len(table)), " ".join(map(written, table))]
    return "\n".join(lines) + "\n"
