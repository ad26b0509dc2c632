"""How many small faults would the tests notice? `make mutants`.

A mutant is the library with one edit: a comparison shifted, a constant changed, a sign turned, `and` for `or`, a return
value or a call dropped. It is killed when a test fails, it crashes or it hangs; else it lives. Edits are drawn from the
whole library, always the same for a `--seed`, after a list made by hand (`BY_HAND`) of faults that once went unnoticed.
What is no fault, because no result can change, is named in `NO_FAULT` and counted apart.

Each test file is run once under `coverage`, which tells the time of every test and the functions it runs. A mutant meets
the tests that run its function: those of its own file first (`tests/<room>/test_<file>.py` and the file's doctests), then
file by file, the quickest first, until they have taken twenty seconds. Maps and fates are kept in build/mutants.
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import importlib
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
from typing import Any, TypeVar

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "src" / "posteriori"
KEPT = ROOT / "build" / "mutants"
DEFAULTS = "tests/laws/test_defaults.py"  # reads signatures, and so runs no line of them
ENOUGH = 20.0  # seconds of tests; who outlives them lives
QUIET = ["-q", "-p", "no:xdist", "-p", "no:cacheprovider", f"--rootdir={ROOT}"]
QUIET += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is imported before the forks
T = TypeVar("T")

OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Edit:
    """One edit of a file: the `number`-th that the rules find there, or a text that becomes another."""

    file: str  # below src/posteriori
    line: int
    column: int
    inside: str  # the function, as `functions` names it; "" outside of any
    says: str
    number: int = -1
    text: tuple[str, str] = ("", "")

    @functools.cached_property
    def tree(self) -> ast.Module:
        if self.number < 0:
            return ast.parse(source(self.file).replace(*self.text))
        tree = ast.parse(source(self.file))
        _, owner, key, new, _ = list(rules(tree, self.file))[self.number]
        if isinstance(owner, list):
            owner[key] = new
        else:
            setattr(owner, key, new)
        return ast.fix_missing_locations(tree)

    def lot(self, seed: int) -> str:
        """Its place in the draw: the same as long as its own line is."""
        return stamp(f"{seed} {self.file} {source(self.file).splitlines()[self.line - 1]} {self.column} {self.says}")


@functools.cache
def source(file: str) -> str:
    return (LIBRARY / file).read_text()


def stamp(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def files() -> list[str]:
    return sorted(p.relative_to(LIBRARY).as_posix() for p in LIBRARY.rglob("*.py"))


# ---- the edits ----------------------------------------------------------------------------------------------------------


def rules(node: ast.AST, file: str, inside: str = "") -> Iterator[tuple[str, Any, Any, Any, ast.AST]]:
    """(function, owner, key, what stands there instead, node) of every edit; what only speaks is left alone."""
    drawn, name = file.startswith("report/"), getattr(getattr(node, "test", None), "id", "")
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.arg) or (isinstance(node, ast.If) and name == "TYPE_CHECKING"):
        return
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("__all__", "__version__"):
        return
    if isinstance(node, ast.Compare):
        yield from ((inside, node.ops, i, OTHER[type(op)](), node) for i, op in enumerate(node.ops))
    elif isinstance(node, ast.BoolOp) or (isinstance(node, ast.BinOp) and type(node.op) in OTHER and not drawn):
        text = isinstance(node, ast.BinOp) and any(
            isinstance(n, ast.JoinedStr) or _text(n) for n in (node.left, node.right)
        )
        if not text:
            yield inside, node, "op", OTHER[type(node.op)](), node
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield inside, node, "operand", ast.UnaryOp(ast.Not(), node.operand), node
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield inside, node, "op", ast.UAdd(), node
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not drawn:  # lines are for the eye
        v = node.value
        if isinstance(v, int) and not isinstance(v, bool):
            yield inside, node, "value", v + 1 if abs(v) < 1000 else v // 10, node  # a limit of size moves by much
        else:
            yield inside, node, "value", not v if isinstance(v, bool) else v * 10 or 1.0, node
    elif (isinstance(node, ast.Return) and not (node.value is None or _plain(node.value))) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield inside, node, "value", ast.Constant(None), node
    inner = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.FunctionDef):
        if {"overload", "abstractmethod"} & {getattr(d, "id", getattr(d, "attr", "")) for d in node.decorator_list}:
            return
        inner = [d for d in (*node.args.defaults, *node.args.kw_defaults, *node.body) if d is not None]
        inside = f"{inside}.{node.name}" if inside else node.name
    elif isinstance(node, ast.ClassDef):
        inner, inside = [*node.body], f"{inside}.{node.name}" if inside else node.name
    elif isinstance(node, ast.AnnAssign):
        inner = [] if node.value is None else [node.value]
    for child in inner:
        yield from rules(child, file, inside)


def _text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _plain(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in (None, True, False)


def by_rule(only: str) -> list[Edit]:
    """Every edit that the rules allow."""
    edits = []
    for file in files():
        if file.startswith(only) and not file.endswith("__init__.py"):
            for number, (inside, owner, key, new, node) in enumerate(rules(ast.parse(source(file)), file)):
                old = owner[key] if isinstance(owner, list) else getattr(owner, key)
                told = " → ".join(ast.unparse(n) if isinstance(n, ast.expr) else _sign(n) for n in (old, new))
                edits.append(Edit(file, node.lineno, node.col_offset, inside, told[:100], number))
    return edits


def _sign(thing: object) -> str:
    return type(thing).__name__ if isinstance(thing, ast.AST) else repr(thing)


def by_hand() -> list[Edit]:
    """The list below as edits; a line that is no longer there, or there twice, is an error of the list."""
    lost = [(file, old) for file, old, _ in BY_HAND if not (LIBRARY / file).exists() or source(file).count(old) != 1]
    if lost:
        sys.exit(f"the list in tests/mutants.py has no one place for {lost}")
    edits = []
    for file, old, new in BY_HAND:
        line = source(file)[: source(file).index(old)].count("\n") + 1 + (len(old) - len(old.lstrip("\n")))
        edits.append(Edit(file, line, 0, function_at(file).get(line, ""), f"{old} → {new}"[:100], text=(old, new)))
    return edits


# ---- which tests run which functions ------------------------------------------------------------------------------------


@functools.cache
def function_at(file: str) -> dict[int, str]:
    """The function that each line stands in, named as `rules` does; lines outside of any are left out."""
    found: dict[int, str] = {}

    def look(node: ast.AST, inside: str) -> None:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.FunctionDef | ast.ClassDef)
            within = (f"{inside}.{child.name}" if inside else child.name) if named else inside  # type: ignore[attr-defined]
            if isinstance(child, ast.FunctionDef):
                found.update(dict.fromkeys(range(child.body[0].lineno, (child.end_lineno or 0) + 1), within))
            look(child, within)

    look(ast.parse(source(file)), "")
    return found


class Watch:
    """Tells coverage which test is running; what a test file does outside of its tests is done for all of them ("")."""

    def __init__(self, switch: Callable[[str], None]) -> None:
        self.switch, self.seconds, self.now = switch, dict[str, float](), ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        began, self.now = time.perf_counter(), item.nodeid
        self.switch(self.now)
        self.seconds[self.now] = 0.0
        answer = yield
        if self.now in self.seconds:
            self.seconds[self.now] = round(time.perf_counter() - began, 4)
        self.switch("")
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
    """Runs a test file under coverage and keeps its tests' seconds and {"file function": tests}. It spends the process."""
    import coverage

    for file in files():
        importlib.import_module(module_of(file))  # what runs on import is not the test's
    cover = coverage.Coverage(data_file=None, include=[f"{LIBRARY}/*"], messages=False)
    cover.start()
    watcher = Watch(cover.switch_context)
    pytest.main([*QUIET, str(ROOT / test)], plugins=[watcher])
    cover.stop()
    ran: dict[str, set[str]] = {}
    data = cover.get_data()
    for path in data.measured_files():
        file = Path(path).relative_to(LIBRARY).as_posix()
        for line, names in data.contexts_by_lineno(path).items():
            if line in function_at(file):
                every = watcher.seconds if "" in names else [n for n in names if n in watcher.seconds]
                ran.setdefault(f"{file} {function_at(file)[line]}", set()).update(every)
    kept = {
        "stamp": stamp((ROOT / test).read_text()),
        "seconds": watcher.seconds,
        "ran": {f: sorted(n) for f, n in ran.items()},
    }
    (KEPT / f"{test.replace('/', '.')}.json").write_text(json.dumps(kept))
    return "seen"


def seen(test: str) -> dict[str, Any]:
    """What is known of a test file, if it is as it was; the library may have changed a little."""
    kept = KEPT / f"{test.replace('/', '.')}.json"
    known: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    return known if known.get("stamp") == stamp((ROOT / test).read_text()) else {}


def module_of(file: str) -> str:
    return ".".join(("posteriori", *Path(file).with_suffix("").parts)).removesuffix(".__init__")


def is_mirror(test: str, file: str) -> bool:
    own = Path("tests", file)
    return test in (*(own.with_name(f"test_{own.stem}{s}.py").as_posix() for s in ("", "s")), f"src/posteriori/{file}")


def judges_of(edit: Edit, known: dict[str, dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """The tests of a mutant, by file: its mirror first, then the quickest, until they are enough."""
    functions = {f"{edit.file} {edit.inside}"}
    if edit.inside not in function_at(edit.file).values():  # a constant, or a class's: who names it
        names = {
            edit.inside.split(".")[0],
            *re.findall(r"\w+", source(edit.file).splitlines()[edit.line - 1].split("=")[0]),
        }
        named = re.compile(rf"\b({'|'.join(n for n in names if n)})\b")
        for file in files():
            lines = source(file).splitlines()
            functions |= {f"{file} {f}" for n, f in function_at(file).items() if named.search(lines[n - 1])}
    by_file = {test: sorted({n for f in functions for n in k["ran"].get(f, ())}) for test, k in known.items()}
    if edit.line not in function_at(edit.file):  # it may be a default
        by_file[DEFAULTS] = list(known.get(DEFAULTS, {"seconds": {}})["seconds"])
    cost = {test: sum(known[test]["seconds"][n] for n in names) for test, names in by_file.items() if names}
    chosen, spent = [], 0.0
    for test in sorted(cost, key=lambda test: (not is_mirror(test, edit.file), cost[test])):
        chosen.append((test, sorted(by_file[test], key=known[test]["seconds"].__getitem__)))
        spent += cost[test]
        if spent > ENOUGH:
            break
    return chosen


# ---- the mutants, each in a process of its own --------------------------------------------------------------------------


class Mutated(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Serves one module from an edited tree, wherever the library is imported from."""

    def __init__(self, edit: Edit) -> None:
        super().__init__(module_of(edit.file), str(LIBRARY / edit.file))
        self.tree = edit.tree

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname: str) -> Any:
        return compile(self.tree, self.path, "exec")


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


def judge(edit: Edit, judges: list[tuple[str, list[str]]], known: dict[str, dict[str, Any]]) -> str:
    """ "mirror" or "others", whose test fails first, or "lives". It spends the process."""
    sys.meta_path.insert(0, Mutated(edit))
    resource.setrlimit(resource.RLIMIT_CPU, (60, resource.RLIM_INFINITY))
    try:
        importlib.import_module(module_of(edit.file))
    except Exception:
        return "mirror"
    for test, names in judges:
        code = pytest.main(["-x", *QUIET, str(ROOT / test)], plugins=[Chosen(names, known[test]["seconds"])])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return "mirror" if is_mirror(test, edit.file) else "others"
    return "lives"


def in_forks(tasks: list[T], work: Callable[[T], str], jobs: int) -> Iterator[tuple[T, str]]:
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
    tests = [*(ROOT / "tests").rglob("test_*.py"), *(p for p in LIBRARY.rglob("*.py") if ">>>" in p.read_text())]
    names = sorted(p.relative_to(ROOT).as_posix() for p in tests)
    unseen = [test for test in names if not seen(test)]
    for i, (test, answer) in enumerate(in_forks(unseen, watch, jobs), 1):
        print(f"{i:4d}/{len(unseen)} {answer or 'died'} {test}", flush=True)
    known = {test: found for test in names if (found := seen(test))}
    book = KEPT / "fates.jsonl"
    fates = dict(map(json.loads, book.read_text().splitlines())) if book.exists() else {}
    judges = {edit: judges_of(edit, known) for edit in edits}
    keys = {e: stamp(f"{ast.dump(e.tree)} {[(t, known[t]['stamp'], n) for t, n in judges[e]]}") for e in edits}
    waiting = [e for e in edits if keys[e] not in fates]
    with book.open("a") as kept:
        work = in_forks(waiting, lambda edit: judge(edit, judges[edit], known) if judges[edit] else "unseen", jobs)
        for i, (edit, answer) in enumerate(work, 1):
            fates[keys[edit]] = answer or "hangs"
            print(json.dumps([keys[edit], fates[keys[edit]]]), file=kept, flush=True)
            print(f"{i:4d}/{len(waiting)} {fates[keys[edit]]:6s} {edit.file}:{edit.line}: {edit.says}", flush=True)
    return {edit: fates[keys[edit]] for edit in edits}


# Faults that once went unnoticed, as they would look today: (file, a text that stands in it once, what becomes of it).
BY_HAND: list[tuple[str, str, str]] = [
    ("estimator.py", "if now.get(name) is not value:", "if False:"),
    ("estimator.py", "            state.clear()\n            state.update(before)\n", ""),
    ("bayes/learning.py", "if not (left.rows > 0).any():", "if not (left.rows >= 0).any():"),
    ("bayes/factored.py", "codes[k] = self.unseen[k] + missing", "codes[k] = self.unseen[k] + k"),
    ("bayes/spode.py", "self._sums[:, CRITERIA.index(self.criterion)]", "self._sums[:, 0]"),
    ("bayes/kdb.py", "fewest(judged if self.select else judged[:, :, -1:])", "fewest(judged)"),
    ("bayes/superparents.py", "counts >= least * (1 - 1e-9)", "counts > least"),
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
    ("", r"strict=(True)", "lists that are as long as each other"),
    ("", r"reshape\(.*-(1)\b", "any negative length is the one that is left"),
    ("statistics/joint.py", r"(sum\(full\[b\].*)", "what is worked on at a time"),
    ("bayes/factored.py", r"out, False, (1)\)|at, out, (1)\)|offsets, out, (1)\)", "threads, of one row"),
    ("margin/linear.py", r"(_dot\(w, w\) \+ _dot\(ridge.*) < start|< (start)", "the way of a solver to its one optimum"),
    ("table/kinds.py", r"many = (.*)# columns at a time", "what is worked on at a time"),
    ("kernels/reference/margin.py", r"^FLAT = (.*)", "the way of a solver to its one optimum"),
    ("margin/hard.py", r"^(?:NEAR|STEPS|SMALL) = (.*)", "the way of a solver to its one optimum"),
]  # fmt: skip


def no_fault(edit: Edit) -> bool:
    """Whether an edit stands where `NO_FAULT` says that no result can change."""
    line = source(edit.file).splitlines()[edit.line - 1]
    blank = len(line) - len(line.lstrip())
    found = [m for file, text, _ in NO_FAULT if edit.file.startswith(file) for m in re.finditer(text, line[blank:])]
    return any(a <= edit.column - blank < b for m in found for a, b in m.regs[1:])


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
    for name in [
        "scipy.stats",
        "sklearn.pipeline",
        "pandas",
        "polars",
        "pyarrow",
        "duckdb",
        "mpmath",
        "hypothesis.extra.numpy",
    ]:
        importlib.import_module(name)  # once, before the forks
    hand = [e for e in by_hand() if e.file.startswith(wanted.only)]
    every = by_rule(wanted.only)
    drawn = [] if wanted.by_hand else sorted(every, key=lambda e: e.lot(wanted.seed))[: wanted.sample]
    fates = try_all([*hand, *drawn], wanted.jobs)
    for title, edits in (("by hand", hand), (f"by rule, of {len(every)}", drawn)):
        lives = [e for e in edits if fates[e] in ("lives", "unseen")]
        own = sum(fates[e] == "mirror" for e in edits)
        fair, faults = [e for e in edits if not no_fault(e)], [e for e in lives if not no_fault(e)]
        print(f"\n{title}: {len(lives)} of {len(edits)} live; {own} were killed by the tests of their own file")
        print(f"without those that are no faults: {len(faults)} of {len(fair)}")
        for e in lives:
            print("  no fault" if no_fault(e) else f"  {fates[e]}", f"{e.file}:{e.line}: {e.says}")


if __name__ == "__main__":
    main()
