"""How many small faults would the tests notice? `make mutants`.

A mutant is the library with one edit: a comparison shifted, a constant changed, a sign turned, `and` for `or`, a return
value or a call dropped. It is killed when a test fails, it crashes or it hangs; else it lives. The edits are drawn by rules
from the whole library, always the same ones (`--seed` draws others), after a list made by hand (`BY_HAND`), of faults that
once went unnoticed. What is no fault, because no result can change, is named in `NO_FAULT` and counted apart.

First every test file is run once under `coverage`, which tells for each test its time and the lines it executes. A mutant
then meets the tests that execute its line and no others: those of its own file first (`tests/<room>/test_<file>.py` and the
file's doctests), then file by file, the quickest first, until they have taken twenty seconds. Both are kept in
build/mutants and not computed again while the library's file and the tests are the same.

python tests/mutants.py [--sample 300] [--seed 0] [--only network] [--by-hand] [--jobs 2]
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "src" / "posteriori"
KEPT = ROOT / "build" / "mutants"
DEFAULTS = "tests/laws/test_defaults.py"  # reads signatures, and so runs no line of them
T = TypeVar("T")
ENOUGH = 20.0  # seconds of tests; who outlives them lives
PYTEST = ["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", f"--rootdir={ROOT}"]
PYTEST += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is imported before the forks


@dataclass(frozen=True)
class Edit:
    """Bytes [begin, end) of a file become `text`."""

    file: str  # below src/posteriori
    begin: int
    end: int
    text: str
    rule: str

    @property
    def source(self) -> bytes:
        return source_of(self.file)

    @property
    def mutated(self) -> bytes:
        return self.source[: self.begin] + self.text.encode() + self.source[self.end :]

    @property
    def line(self) -> int:
        """Counted from 1: where the first letter that goes stands."""
        source = self.source
        blank = len(source[self.begin : self.end]) - len(source[self.begin : self.end].lstrip())
        return source[: self.begin + blank].count(b"\n") + 1

    def says(self) -> str:
        old = " ".join(self.source[self.begin : self.end].decode().split())
        return f"{self.file}:{self.line}: {self.rule}: {old[:60]} → {self.text[:60]}"

    def lot(self, seed: int) -> str:
        """Its place in the draw: the same as long as its own line is."""
        source = self.source
        line = source.splitlines()[self.line - 1].decode()
        column = self.begin - source.rfind(b"\n", 0, self.begin)
        return _hash(f"{seed} {self.file} {line} {column} {self.rule} {self.text}".encode())


@functools.cache
def source_of(file: str) -> bytes:
    return (LIBRARY / file).read_bytes()


def _hash(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:20]


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
        if type(node.op) in ARITHMETIC and not text and not self.file.startswith("report/"):
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
            return  # where and how wide a line is drawn is for the eye
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
    """Every edit that the rules allow."""
    edits = []
    for path in sorted(LIBRARY.rglob("*.py")):
        file = path.relative_to(LIBRARY).as_posix()
        if path.name != "__init__.py" and file.startswith(only):
            source = path.read_bytes()
            rules = Rules(file, source)
            rules.visit(ast.parse(source))
            edits += rules.found
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


# ---- which tests execute which lines ------------------------------------------------------------------------------------


def all_tests() -> list[str]:
    """Every file that holds tests, below the root: those of tests/, and the library's with doctests."""
    tests = [p for p in (ROOT / "tests").rglob("test_*.py")]
    doctests = [p for p in LIBRARY.rglob("*.py") if ">>>" in p.read_text()]
    return sorted(p.relative_to(ROOT).as_posix() for p in [*tests, *doctests])


def library() -> list[str]:
    return sorted(p.relative_to(LIBRARY).as_posix() for p in LIBRARY.rglob("*.py"))


def module_of(file: str) -> str:
    return ".".join(("posteriori", *Path(file).with_suffix("").parts)).removesuffix(".__init__")


class Watch:
    """Tells coverage which test is running; what a test file does outside of its tests is done for all of them ("")."""

    def __init__(self, cover: object) -> None:
        self.cover, self.seconds, self.now = cover, dict[str, float](), ""

    def switch(self, to: str) -> None:
        self.cover.switch_context(to)  # type: ignore[attr-defined]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        began, self.now = time.perf_counter(), item.nodeid
        self.switch(self.now)
        self.seconds[self.now] = 0.0
        answer = yield
        self.now = ""
        self.switch("")
        if item.nodeid in self.seconds:
            self.seconds[item.nodeid] = round(time.perf_counter() - began, 4)
        return answer

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef) -> Iterator[None]:
        self.switch(self.now if fixturedef.scope == "function" else "")
        answer = yield
        self.switch(self.now)
        return answer

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.seconds.pop(report.nodeid, None)  # it judges nobody


def watch(test: str) -> str:
    """Runs a test file under coverage and keeps {test: (seconds, {file: lines})}. It spends the process."""
    import coverage

    for file in library():
        importlib.import_module(module_of(file))  # what runs on import is not the test's
    cover = coverage.Coverage(data_file=None, include=[f"{LIBRARY}/*"], messages=False)
    cover.start()
    watcher = Watch(cover)
    pytest.main([a for a in PYTEST if a != "-x"] + [str(ROOT / test)], plugins=[watcher])
    cover.stop()
    lines: dict[str, dict[str, list[int]]] = {"": {}, **{name: {} for name in watcher.seconds}}
    data = cover.get_data()
    for path in data.measured_files():
        file = Path(path).relative_to(LIBRARY).as_posix()
        for line, names in data.contexts_by_lineno(path).items():
            for name in names:
                if name in lines:
                    lines[name].setdefault(file, []).append(line)
    touched = {file for executed in lines.values() for file in executed}
    stamps = {path: _hash((ROOT / path).read_bytes()) for path in [test, *(f"src/posteriori/{f}" for f in touched)]}
    kept = {"stamps": stamps, "seconds": watcher.seconds, "lines": lines}
    _executed(test).write_text(json.dumps(kept))
    return "seen"


def _executed(test: str) -> Path:
    return KEPT / (test.replace("/", ".") + ".json")


def watched(test: str) -> dict | None:  # type: ignore[type-arg]
    """What is known of a test file, if it and what it executes are as they were."""
    if not _executed(test).exists():
        return None
    kept: dict = json.loads(_executed(test).read_text())  # type: ignore[type-arg]
    same = all((ROOT / p).exists() and _hash((ROOT / p).read_bytes()) == s for p, s in kept["stamps"].items())
    return kept if same else None


class Judges:
    """Who executes a line: {(file, line): tests}."""

    def __init__(self) -> None:
        self.seconds, self.of = dict[str, float](), dict[tuple[str, int], set[str]]()
        self.stamp = dict[str, str]()
        for test in all_tests():
            kept = watched(test) or {"seconds": {}, "lines": {}, "stamps": {test: ""}}
            self.seconds |= kept["seconds"]
            self.stamp[test] = kept["stamps"][test]
            for name, files in kept["lines"].items():
                for file, lines in files.items():
                    for line in lines:
                        self.of.setdefault((file, line), set()).update([name] if name else kept["seconds"])

    def __call__(self, edit: Edit) -> list[tuple[str, list[str]]]:
        """The tests of a mutant, by file: its mirror first, then the quickest, until they are enough."""
        byfile: dict[str, list[str]] = {}
        shown = places(edit)
        names = set().union(*(self.of.get(place, ()) for place in shown))
        if (edit.file, edit.line) not in self.of:  # run by the import alone: it may be a default
            names.update(n for n in self.seconds if n.startswith(DEFAULTS))
        for name in names:
            byfile.setdefault(name.split("::")[0], []).append(name)
        cost = {test: sum(self.seconds[n] for n in names) for test, names in byfile.items()}
        spent, chosen = 0.0, []
        for test in sorted(byfile, key=lambda test: (not is_mirror(test, edit.file), cost[test])):
            chosen.append((test, sorted(byfile[test], key=self.seconds.__getitem__)))
            spent += cost[test]
            if spent > ENOUGH:
                break
        return chosen


def is_mirror(test: str, file: str) -> bool:
    own = Path("tests", file)
    mirrors = [own.with_name(f"test_{own.stem}{s}.py").as_posix() for s in ("", "s")]
    return test in (*mirrors, f"src/posteriori/{file}")


def places(edit: Edit) -> list[tuple[str, int]]:
    """The lines that execute an edit: its statement's; a default's are the function's; a constant's, where it is named."""
    line = edit.line
    around = [n for n in ast.walk(ast.parse(edit.source)) if isinstance(n, ast.stmt)]
    around = [n for n in around if n.lineno <= line <= (n.end_lineno or 0)]  # from the outermost to the innermost
    inner = around[-1]
    first, last = inner.lineno, inner.end_lineno or 0
    body = getattr(inner, "body", None)
    if isinstance(inner, ast.FunctionDef):
        first = inner.body[0].lineno
    elif body:
        last = max(first, body[0].lineno - 1)  # the head of an if, for, while or with
    own = [(edit.file, n) for n in range(first, last + 1)]
    if any(isinstance(n, ast.FunctionDef) for n in around):
        return own
    names = [n.name for n in around if isinstance(n, ast.ClassDef)]
    names += [n.id for n in ast.walk(inner) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    if not names:
        return [(edit.file, n) for n in range(1, edit.source.count(b"\n") + 1)]
    named = re.compile(rf"\b({'|'.join(names)})\b")
    return own + [(file, n) for file in library() for n, text in _lines(file) if named.search(text)]


@functools.cache
def _lines(file: str) -> list[tuple[int, str]]:
    return list(enumerate((LIBRARY / file).read_text().splitlines(), 1))


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


class Chosen:
    """Runs these tests of a file in this order; one that takes ten times its time, and ten seconds, hangs."""

    def __init__(self, names: list[str], seconds: dict[str, float]) -> None:
        self.rank, self.seconds = {name: i for i, name in enumerate(names)}, seconds

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.rank), key=lambda i: self.rank[i.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = used.ru_utime + used.ru_stime + 10 + 10 * self.seconds[nodeid]
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), resource.RLIM_INFINITY))


def judge(edit: Edit, judges: list[tuple[str, list[str]]], seconds: dict[str, float]) -> str:
    """ "mirror" or "others", whose test fails first, or "lives". It spends the process."""
    module = module_of(edit.file)
    sys.meta_path.insert(0, Mutated(module, LIBRARY / edit.file, edit.mutated))
    resource.setrlimit(resource.RLIMIT_CPU, (60, resource.RLIM_INFINITY))
    try:
        importlib.import_module(module)
    except Exception:
        return "mirror"
    for test, names in judges:
        code = pytest.main([*PYTEST, str(ROOT / test)], plugins=[Chosen(names, seconds)])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return "mirror" if is_mirror(test, edit.file) else "others"
    return "lives"


# ---- all of them --------------------------------------------------------------------------------------------------------


def in_children(tasks: list[T], work: Callable[[T], str], jobs: int) -> Iterator[tuple[T, str]]:
    """Each task and its answer, as they end, every one in a fork of this process; "" if it died."""
    waiting, running = tasks[::-1], dict[int, tuple[T, int]]()
    while waiting or running:
        while waiting and len(running) < jobs:
            task = waiting.pop()
            reader, writer = os.pipe()
            pid = os.fork()
            if not pid:
                sink = os.open(os.devnull, os.O_WRONLY)
                os.dup2(sink, 1)
                os.dup2(sink, 2)
                try:
                    answer = work(task)
                except BaseException as fault:
                    answer = f"error {fault!r}"
                os.write(writer, answer.encode())
                os._exit(0)
            os.close(writer)
            running[pid] = task, reader
        pid, _ = os.wait()
        task, reader = running.pop(pid)
        answer = os.read(reader, 1000).decode()
        os.close(reader)
        if answer.startswith("error"):
            sys.exit(f"{task}: {answer}")  # of this script, not of a mutant
        yield task, answer


def try_all(edits: list[Edit], jobs: int) -> dict[Edit, str]:
    """What becomes of each mutant; known answers are taken from the file that keeps them."""
    unseen = [test for test in all_tests() if watched(test) is None]
    for i, (test, answer) in enumerate(in_children(unseen, watch, jobs), 1):
        print(f"{i:4d}/{len(unseen)} {answer or 'died'} {test}", flush=True)
    judges = Judges()
    book = KEPT / "fates.jsonl"
    known = dict(map(json.loads, book.read_text().splitlines())) if book.exists() else {}
    chosen = {edit: judges(edit) for edit in edits}
    killed = {edit: _hash(edit.mutated) for edit in edits}  # who was killed stays killed: tests only grow
    lived = {e: _hash(repr((killed[e], chosen[e], [judges.stamp[t] for t, _ in chosen[e]])).encode()) for e in edits}
    fates = {e: known.get(killed[e]) or known.get(lived[e]) or ("" if chosen[e] else "unseen") for e in edits}
    waiting = [e for e in edits if not fates[e]]
    with book.open("a") as kept:
        work = in_children(waiting, lambda edit: judge(edit, chosen[edit], judges.seconds), jobs)
        for i, (edit, answer) in enumerate(work, 1):
            fates[edit] = answer or "hangs"
            print(json.dumps([(lived if answer == "lives" else killed)[edit], fates[edit]]), file=kept, flush=True)
            print(f"{i:4d}/{len(waiting)} {fates[edit]:6s} {edit.says()}", flush=True)
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


# Edits that move no result, only when it comes or how much memory is held on the way: (file, a line with the part that may
# change in brackets, why).
NO_FAULT: list[tuple[str, str, str]] = [
    ("", r"\b(?:n_threads|one_thread)\((.*)", "work that is worth a thread; no result depends on their number (a law)"),
    ("", r"^(?:AT_ONCE|BATCH|BLOCK|CHUNK_CELLS|ROWS|SLICE|PATIENCE) = (.*)", "what is worked on at a time"),
    ("", r"^(?:SMALL|FEW|SHORT|FEW_COLUMNS|FEW_SPARSE|LOOKED_UP|WORTH_A_THREAD) = (.*)", "the border of two ways"),
    ("", r"/ np\.where\((?:\w+) > 0, \w+, (1\.0)\)", "stands for a divisor of zero, whose quotient is not taken"),
    ("", r"x \* np\.log2?\(np\.where\(x > 0, x, (1\.0)\)", "x·ln x of x = 0 is 0 whatever the logarithm"),
    ("blas.py", r"^LITTLE = (.*)", "work that is worth a thread"),
    ("margin/smo.py", r"^(?:BLOCK, MOST|ROUNDS|GOAL|LEFT|SOME|MANY) = (.*)", "the way of a solver to its one optimum"),
    ("margin/smo.py", r"again \| \(cache\.slot_of\[moved\] (>= 0)", "which rows of the matrix are computed anew"),
    ("margin/linear.py", r"^(?:PASSES|AS_GOOD) = (.*)|guess = (t - value.*)", "the way of a solver to its one optimum"),
    ("margin/svr.py", r"settings\.limits\((2 \* n)", "when a solver that does not end is stopped"),
    ("margin/platt.py", r"^(?:goal|system)\[.* = (1\.0)", "the scale of p before it is divided by its sum"),
    ("statistics/sample.py", r"max\((.*)# a part tells most of the level", "where a search begins"),
    ("structure/dag.py", r"states = \[(2)\] \* len", "sizes that are all equal"),
    ("structure/information.py", r"^NUMBERS = (.*)", "what is worked on at a time"),
    ("kernels/naive.py", r"threads = (1 if n < 1000) else", "work that is worth a thread"),
    ("margin/machines.py", r"timeout=(0\.1)", "how soon Ctrl-C is heard"),
    ("neighbors/loo.py", r"step = (max\(1, CELLS.*)", "what is worked on at a time"),
    ("neighbors/search.py", r"return bool\((seen \* .*)", "the border of two ways"),
    ("margin/linear.py", r"abs\(value\) <= (0\.03 \* abs\(start\))", "the way of a solver to its one optimum"),
    ("structure/independence.py", r"max\(initial=(0)\)\) - 1", "with no neighbour there is no set of them"),
    ("structure/trust.py", r'coded\(data, "loglik", (1\.0)', "the weight of a prior that this score has not"),
    ("bayes/drop_ins/bernoulli_nb.py", r"_log_theta\((1)\)", "true"),
]  # fmt: skip


def no_fault(edit: Edit) -> bool:
    """Whether an edit stands where `NO_FAULT` says that no result can change."""
    line = _lines(edit.file)[edit.line - 1][1]
    blank = len(line) - len(line.lstrip())
    column = edit.begin - (edit.source.rfind(b"\n", 0, edit.begin) + 1)
    found = [m for file, text, _ in NO_FAULT if edit.file.startswith(file) for m in re.finditer(text, line[blank:])]
    return any(a <= column - blank < b for m in found for a, b in m.regs[1:])


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--sample", type=int, default=300, help="how many edits by rule")
    parse.add_argument("--seed", type=int, default=0, help="which of them")
    parse.add_argument("--only", default="", help="files whose path below src/posteriori begins so")
    parse.add_argument("--by-hand", action="store_true", help="only the list made by hand")
    parse.add_argument("--jobs", type=int, default=2)
    wanted = parse.parse_args()
    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in (
        "scipy.stats",
        "sklearn.pipeline",
        "pandas",
        "polars",
        "pyarrow",
        "duckdb",
        "mpmath",
        "hypothesis.extra.numpy",
    ):
        importlib.import_module(name)  # once, before the forks
    began = time.monotonic()
    hand = [e for e in by_hand() if e.file.startswith(wanted.only)]
    every = by_rule(wanted.only)
    drawn = [] if wanted.by_hand else sorted(every, key=lambda e: e.lot(wanted.seed))[: wanted.sample]
    fates = try_all([*hand, *drawn], wanted.jobs)
    for title, edits in (("by hand", hand), ("by rule", drawn)):
        lives = [e for e in edits if fates[e] in ("lives", "unseen")]
        own = sum(fates[e] == "mirror" for e in edits)
        print(f"\n{title}: {len(lives)} of {len(edits)} live; {own} were killed by the tests of their own file")
        fair, faults = [e for e in edits if not no_fault(e)], [e for e in lives if not no_fault(e)]
        print(f"without those that are no faults: {len(faults)} of {len(fair)}")
        for edit in lives:
            print("  no fault" if no_fault(edit) else f"  {fates[edit]}", edit.says())
    print(f"{time.monotonic() - began:.0f} s; {len(every)} edits to draw from")


if __name__ == "__main__":
    main()
