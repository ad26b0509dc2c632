"""How many small faults would the tests notice? `make mutants`.

A mutant is the library with one edit: a comparison shifted, a constant changed, a sign turned, `and` for `or`, a return
value or a call dropped. It is killed when a test of the file's own fails (`tests/<room>/test_<file>.py` and the doctests of
the file), else when a test of the room fails, else when a law of all models fails; else it lives. The edits are drawn by
rules from the whole library with a fixed seed, after a list made by hand (`BY_HAND`), of faults that once went unnoticed.

Results are kept in build/mutants.jsonl and not computed again while the file, the edit and the tests are the same.

python tests/mutants.py [--sample 300] [--only network] [--by-hand] [--jobs 2]
"""

from __future__ import annotations

import argparse
import ast
import doctest
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "src" / "posteriori"
CPU_SECONDS = 300  # a mutant that runs on for longer is killed: it hangs
KEPT = ROOT / "build" / "mutants.jsonl"


@dataclass(frozen=True)
class Edit:
    """Bytes [begin, end) of a file become `text`."""

    file: str  # below src/posteriori
    begin: int
    end: int
    text: str
    rule: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.begin] + self.text.encode() + source[self.end :]

    def says(self) -> str:
        source = (LIBRARY / self.file).read_bytes()
        line = source[: self.begin].count(b"\n") + 1
        old = " ".join(source[self.begin : self.end].decode().split())
        return f"{self.file}:{line}: {self.rule}: {old[:60]} → {self.text[:60]}"


# ---- edits by rule ------------------------------------------------------------------------------------------------------

COMPARE = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}  # fmt: skip
ARITHMETIC = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")}


class Rules(ast.NodeVisitor):
    """Collects the edits of one file; what only speaks (docstrings, messages, annotations) is left alone."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.source, self.found = file, source, list[Edit]()
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        return self.lines[line - 1] + column

    def begin(self, node: ast.expr | ast.stmt) -> int:
        return self.at(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self.at(node.end_lineno or 0, node.end_col_offset or 0)

    def add(self, begin: int, end: int, text: str, rule: str) -> None:
        self.found.append(Edit(self.file, begin, end, text, rule))

    def between(self, left: ast.expr, right: ast.expr, old: str, new: str, rule: str) -> None:
        """The operator that stands between two operands."""
        gap = self.source[self.end(left) : self.begin(right)]
        place = gap.find(old.encode())
        if place >= 0 and b"#" not in gap:
            self.add(self.end(left) + place, self.end(left) + place + len(old), new, rule)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators):
            self.between(left, right, *COMPARE[type(op)], "comparison")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        text = any(isinstance(n, ast.Constant | ast.JoinedStr) and not _number(n) for n in (node.left, node.right))
        if type(node.op) in ARITHMETIC and not text:
            self.between(node.left, node.right, *ARITHMETIC[type(node.op)], "arithmetic")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self.between(node.values[0], node.values[1], old, new, "and/or")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            self.add(self.begin(node), self.begin(node.operand), "", "sign")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if self.file.startswith("report/"):
            return  # how wide a line is drawn is for the eye
        if isinstance(node.value, bool):
            self.add(self.begin(node), self.end(node), str(not node.value), "constant")
        elif isinstance(node.value, int):
            changed = node.value + 1 if abs(node.value) < 1000 else node.value // 10  # a limit of size moves by much
            self.add(self.begin(node), self.end(node), str(changed), "constant")
        elif isinstance(node.value, float):
            self.add(self.begin(node), self.end(node), repr(node.value * 10 if node.value else 1.0), "constant")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not (
            isinstance(node.value, ast.Constant) and node.value.value in (None, True, False)
        ):
            self.add(self.begin(node.value), self.end(node.value), "None", "return")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.add(self.begin(node), self.end(node), "pass", "call dropped")
            self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:  # not its decorator: options of a dataclass
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if {"overload", "abstractmethod"} & {getattr(d, "id", getattr(d, "attr", "")) for d in node.decorator_list}:
            return
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not (isinstance(node.targets[0], ast.Name) and node.targets[0].id in ("__all__", "__version__")):
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        pass  # what is said is no arithmetic

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    def visit_If(self, node: ast.If) -> None:
        if getattr(node.test, "id", "") != "TYPE_CHECKING":
            self.generic_visit(node)


def _number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def by_rule(only: str) -> list[Edit]:
    """Every edit that the rules allow, in a fixed order."""
    edits = []
    for path in sorted(LIBRARY.rglob("*.py")):
        file = path.relative_to(LIBRARY).as_posix()
        if path.name != "__init__.py" and file.startswith(only):
            source = path.read_bytes()
            rules = Rules(file, source)
            rules.visit(ast.parse(source))
            edits += sorted(rules.found, key=lambda e: (e.begin, e.end, e.text))
    return edits


def by_hand() -> list[Edit]:
    """The list below as edits; a line that is no longer there, or there twice, is an error of the list."""
    edits, lost = [], []
    for file, old, new in BY_HAND:
        source = (LIBRARY / file).read_text() if (LIBRARY / file).exists() else ""
        if source.count(old) != 1:
            lost.append(f"{file} has {source.count(old)} places for {old!r}")
            continue
        begin = len(source[: source.index(old)].encode())
        edits.append(Edit(file, begin, begin + len(old.encode()), new, "by hand"))
    if lost:
        sys.exit("\n".join([*lost, "mend the list in tests/mutants.py"]))
    return edits


# ---- one mutant, in a process of its own --------------------------------------------------------------------------------


class Mutated(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Serves one module from edited source, wherever the library is imported from."""

    def __init__(self, module: str, path: Path, source: bytes) -> None:
        super().__init__(module, str(path))
        self.module, self.source = module, source

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.module else None

    def get_code(self, fullname: str):  # type: ignore[no-untyped-def]
        return compile(self.source, self.path, "exec")


def judges_of(file: str) -> Iterator[list[str]]:
    """The tests that stand for a file: its mirror (and its doctests), those of its room, the laws."""
    path = Path(file)
    folder = ROOT / "tests" / path.parent
    mirror = [p for p in folder.glob("test_*.py") if p.stem in (f"test_{path.stem}", f"test_{path.stem}s")]
    yield [str(p) for p in mirror]
    room = [p for p in (ROOT / "tests" / path.parts[0]).rglob("test_*.py") if p not in mirror]
    if len(path.parts) == 1:
        room = [p for p in (ROOT / "tests").glob("test_*.py") if p not in mirror and "docs" not in p.name]
    yield [str(p) for p in sorted(room, key=lambda p: p.stat().st_size)]
    yield [str(ROOT / "tests" / "laws")]


def run(edit: Edit) -> str:
    """The first round whose tests fail ("mirror", "room", "laws"), or "lives". It spends the process."""
    import pytest

    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    path = LIBRARY / edit.file
    module = ".".join(("posteriori", *Path(edit.file).with_suffix("").parts))
    sys.meta_path.insert(0, Mutated(module, path, edit.apply(path.read_bytes())))
    try:
        if doctest.testmod(importlib.import_module(module)).failed:
            return "mirror"
    except Exception:  # it cannot even be imported
        return "mirror"
    for stage, tests in zip(("mirror", "room", "laws"), judges_of(edit.file)):
        code = pytest.main(["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests]) if tests else 0
        if code in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
            return stage
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return "error"
        for name in [m for m in sys.modules if m.startswith("test_")]:
            del sys.modules[name]
    return "lives"


def start(edit: Edit) -> tuple[int, int]:
    """A child that tries the mutant: (pid, where its answer can be read)."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    answer = "error"
    try:
        answer = run(edit)
    finally:
        os.write(writer, answer.encode())
        os._exit(0)


def try_all(edits: list[Edit], jobs: int) -> dict[Edit, str]:
    """What becomes of each mutant, `jobs` of them at a time; known answers are taken from the file that keeps them."""
    tests = b"".join(p.read_bytes() for p in sorted((ROOT / "tests").rglob("*.py")) if p != Path(__file__).resolve())
    KEPT.parent.mkdir(exist_ok=True)
    known: dict[str, str] = {}
    if KEPT.exists():
        known = {key: fate for key, fate in map(json.loads, KEPT.read_text().splitlines())}
    keys = {}
    for edit in edits:
        source = (LIBRARY / edit.file).read_bytes()
        keys[edit] = hashlib.sha256(edit.apply(source)).hexdigest()[:20]
    salt = hashlib.sha256(tests).hexdigest()[:8]
    fates: dict[Edit, str] = {}
    for edit, key in keys.items():
        # who was killed stays killed by tests that only grow; who lived is tried again when any test has changed
        fate = known.get(key) or known.get(key + salt)
        if fate:
            fates[edit] = fate
    waiting, running = [e for e in edits if e not in fates], dict[int, tuple[Edit, int]]()
    with KEPT.open("a") as kept:
        while waiting or running:
            while waiting and len(running) < jobs:
                edit = waiting.pop(0)
                pid, reader = start(edit)
                running[pid] = edit, reader
            pid, _ = os.wait()
            edit, reader = running.pop(pid)
            fate = os.read(reader, 100).decode() or "mirror"  # nothing was said: it ran into the limit, or crashed
            os.close(reader)
            fates[edit] = fate
            kept.write(json.dumps([keys[edit] + (salt if fate == "lives" else ""), fate]) + "\n")
            kept.flush()
            print(f"{len(fates):4d}/{len(edits)} {fate:6s} {edit.says()}", flush=True)
    return fates


# Faults that once went unnoticed, as they would look today: (file, a text that stands in it once, what becomes of it).
BY_HAND: list[tuple[str, str, str]] = [
    ("estimator.py", "if now.get(name) is not value:", "if False:"),
    ("estimator.py", "        state.clear()\n        state.update(before)\n", ""),
    ("bayes/learning.py", "if not (left.rows > 0).any():", "if not (left.rows >= 0).any():"),
    ("bayes/factored.py", "codes[k] = self.unseen[k] + missing", "codes[k] = self.unseen[k] + k"),
    ("bayes/spode.py", "self._sums[:, CRITERIA.index(self.criterion)]", "self._sums[:, 0]"),
    ("bayes/kdb.py", "fewest(judged if self.select else judged[:, :, -1:])", "fewest(judged)"),
    ("bayes/aode.py", "cells.table.sum(axis=1) >= self.min_frequency", "cells.table.sum(axis=1) > self.min_frequency"),
    ("bayes/drop_ins/multinomial_nb.py", "prior if len(prior) == 1 else np.zeros(len(prior))", "np.zeros(len(prior))"),
    ("structure/structures.py", "key=lambda j: (-strength[i, j], j)", "key=lambda j: (-strength[i, j], -j)"),
    ("structure/structures.py", "DIGITS), kind=\"stable\").tolist()", "DIGITS)[::-1], kind=\"stable\").tolist()"),
    ("statistics/moments.py", "    if strange.any():\n", "    if False:\n"),
    ("statistics/moments.py", "ROUNDING = 1e-9", "ROUNDING = 1e-4"),
    ("statistics/counts.py", "ROUNDING = 1e-9", "ROUNDING = 1e-4"),
    ("table/weights.py", "np.count_nonzero(mass) * np.where", "len(mass) * np.where"),
    ("table/encode.py", "narrowest(len(present) + 1)", "narrowest(len(present) - 1)"),
    ("table/encode.py", "dtype = narrowest(high - low + 2)", "dtype = narrowest(high - low)"),
    ("table/labels.py", "np.uint8 if size <= 1 << 8", "np.uint8 if size <= 1 + (1 << 8)"),
    ("smoothing/theta.py", "/ np.where(blank, np.maximum(size, 1), whole)", "/ np.where(blank, 1.0, whole)"),
    ("smoothing/theta.py", "np.log(np.where(blank, np.maximum(size, 1), whole))", "np.log(np.where(blank, 1.0, whole))"),
    ("smoothing/theta.py", "abs(mass.sum() - 1.0) > 1e-8", "abs(mass.sum() - 1.0) > 1e-2"),
    ("decision/decide.py", "np.abs(sums - 1) <= 1e-3", "np.abs(sums - 1) <= 1e-1"),
    ("decision/curve.py", "share - 1e-12", "share"),
    ("decision/curve.py", "return 1e-12 * max", "return 0 * max"),
    ("decision/labels.py", 'if (labels.dtype.kind in "biuf" and more.dtype.kind in "biuf") or', "if True or"),
    ("network/tables.py", "    1e-3  # how far", "    1e-2  # how far"),
    ("margin/smo.py", "if problem.fresh or _drift(problem, clock.steps) <= 0.01 * limits.tol:", "if True:"),
    ("margin/kernel_functions.py", "2.0**-22", "2.0**-40"),
    ("margin/platt.py", "(plus + 1) / (plus + 2)", "(plus + 1) / (plus + 1)"),
    ("margin/platt.py", "1 / (minus + 2)", "1 / (minus + 1)"),
    ("neighbors/loo.py", "np.where(weight > 0, weight, 1.0), level)", "np.where(weight > 0, weight, 1.0), 0.0)"),
]  # fmt: skip


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--sample", type=int, default=300, help="how many edits by rule")
    parse.add_argument("--only", default="", help="files whose path below src/posteriori begins so")
    parse.add_argument("--by-hand", action="store_true", help="only the list made by hand")
    parse.add_argument("--jobs", type=int, default=2)
    wanted = parse.parse_args()
    for name in (
        "numpy",
        "scipy.stats",
        "sklearn.pipeline",
        "pandas",
        "polars",
        "pyarrow",
        "mpmath",
        "pytest",
    ):
        importlib.import_module(name)  # once, before the forks
    began = time.monotonic()
    hand = [e for e in by_hand() if e.file.startswith(wanted.only)]
    every = by_rule(wanted.only)
    drawn = [] if wanted.by_hand else random.Random(0).sample(every, min(wanted.sample, len(every)))
    fates = try_all([*hand, *drawn], wanted.jobs)
    for title, edits in (("by hand", hand), ("by rule", drawn)):
        lives = [e for e in edits if fates[e] in ("lives", "error")]
        own = sum(fates[e] == "mirror" for e in edits)
        print(f"\n{title}: {len(lives)} of {len(edits)} live; {own} were killed by the tests of their own file")
        for edit in lives:
            print(f"  {fates[edit]}", edit.says())
    print(f"{time.monotonic() - began:.0f} s; {len(every)} edits to draw from")


if __name__ == "__main__":
    main()
