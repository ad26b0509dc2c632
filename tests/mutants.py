"""How many small faults would the tests notice? `make mutants`.

A mutant is the library with one edit: a comparison shifted, a constant changed, a sign turned, `and` for `or`, a return
value or a call dropped. It is killed when a test fails, it crashes or it hangs; else it lives. Edits are drawn from the
whole library, always the same for a `--seed`, after a list made by hand of faults that once went unnoticed (mutants.toml).
An edit that nobody could tell from the library by what it answers is in that file too, with the reason, and counted apart.

Each test file is run once to note the functions that every test runs. A mutant meets the tests that run its function: those
of its own file first (`tests/<room>/test_<file>.py` and the file's doctests; the list made by hand meets only these), then
file by file, the quickest first, until they have taken twenty seconds. One outside of all functions meets the tests that
read declarations before any. Notes and fates are kept in build/mutants: a run that was ended goes on where it was.
"""

from __future__ import annotations

import argparse
import ast
import collections
import functools
import hashlib
import importlib
import io
import itertools
import json
import os
import re
import resource
import select
import sys
import threading
import tokenize
import tomllib
from collections.abc import Callable, Iterable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple, TextIO

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "src" / "posteriori"
KEPT = ROOT / "build" / "mutants"
LISTS = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text())
READERS = tuple(f"tests/laws/test_{name}.py" for name in ("defaults", "numbers", "values"))  # of what is not run
ENOUGH = 20.0  # seconds of tests; who outlives them lives
QUIET = ["-q", "-p", "no:xdist", f"--rootdir={ROOT}", "-W", "ignore::pytest.PytestAssertRewriteWarning"]

SWAPPED = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "is": "is not", "in": "not in", "not": "",
    "and": "or", "or": "and", "True": "False", "False": "True", "return": "return None;",
    "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=",
}  # fmt: skip
ONLY_TIME = re.compile(  # lines that decide when a result comes, not which (no result depends on threads: a law)
    r"\b(n_threads|one_thread)\(|strict=True|\blru_cache\(maxsize="
    r"|\bmax\(1, (AT_ONCE|BLOCK|CELLS|CHUNK_CELLS|MOST_CELLS|NEAR|PATIENCE) //"  # of a block
    r"|^(AT_ONCE|BATCH|BLOCK|CHUNK_CELLS|ROWS|SLICE|SMALL|FEW\w*|SHORT|LOOKED_UP|WORTH_A_THREAD|LITTLE) = "
)
UNKNOWN = re.compile(
    r"\breshape\([^()]*-$"
)  # before a length that NumPy finds itself, whichever negative number asks for it


class Edit(NamedTuple):
    """What stands in a file from `start` to `end` becomes `new`."""

    file: str  # below src/posteriori
    start: int
    end: int
    new: str
    inside: str = ""  # the function, "Class.method"

    def text(self) -> str:
        return source(self.file)[: self.start] + self.new + source(self.file)[self.end :]

    def __str__(self) -> str:
        before, old = source(self.file)[: self.start], source(self.file)[self.start : self.end]
        line = before.count("\n")
        return f"{self.file}:{line + 1}: {old!r} → {self.new!r} in {source(self.file).splitlines()[line].strip()}"[:150]


@functools.cache
def source(file: str) -> str:
    return (LIBRARY / file).read_text()


def stamp(text: object) -> str:
    return hashlib.sha256(str(text).encode()).hexdigest()[:20]


def by_rule(file: str) -> Iterator[Edit]:
    """Every edit of a file that the rules allow; messages, and numbers that are drawn for the eye, are left alone."""
    began = [0]
    for line in source(file).splitlines(keepends=True):
        began.append(began[-1] + len(line))
    scopes, name, statement = [""], "", list[tokenize.TokenInfo]()
    for token in tokenize.generate_tokens(io.StringIO(source(file)).readline):
        if token.type == tokenize.INDENT:
            scopes.append(scopes[-1] if scopes[-1][-1:] not in ("", ".") else scopes[-1] + name)
        elif token.type == tokenize.DEDENT:
            scopes.pop()
        elif token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE):
            statement.append(token)
        elif token.type == tokenize.NEWLINE:
            first, at = statement[0].string, [began[t.start[0] - 1] + t.start[1] for t in (*statement, token)]
            inside = scopes[-1] if scopes[-1][-1:] != "." else ""
            if is_call(source(file)[at[0] : at[-1]]):
                yield Edit(file, at[0], at[-1], "pass", inside)
            words = ["", *(t.string for t in statement), ""]
            for i, t in enumerate(statement if first not in ("raise", "import", "from") else []):
                new = instead(t, left=words[i], right=words[i + 2])
                for_the_eye = file.startswith("report/") and t.type == tokenize.NUMBER
                same = ONLY_TIME.search(t.line) or UNKNOWN.search(t.line[: t.start[1]])
                if new is not None and not for_the_eye and not same:
                    yield Edit(file, at[i], at[i] + len(t.string), new, inside)
            name = statement[1].string + "." * (first == "class") if first in ("def", "class") else ""
            statement.clear()


def is_call(text: str) -> bool:
    try:
        (node,) = ast.parse(text).body
    except SyntaxError:  # `if x:` and the like
        return False
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def instead(token: tokenize.TokenInfo, left: str, right: str) -> str | None:
    """What may stand there instead of a token, between its neighbours."""
    old = token.string
    if token.type == tokenize.NUMBER:
        v = ast.literal_eval(old)
        return repr(v * 10 or 1.0) if isinstance(v, float) else repr(v + 1 if v < 1000 else v // 10)
    star = old == "*" and (left == "" or not (left[-1].isalnum() or left[-1] in "_)]"))  # `*rest`
    sum_of_texts = old in "+*" and {left[-1:], right[-1:]} & {"'", '"'}
    plain = old == "return" and right in ("", "None", "True", "False")
    return None if star or sum_of_texts or plain or right == "not" else SWAPPED.get(old)


def drawn(only: tuple[str, ...], seed: int, sample: int) -> list[Edit]:
    """So many of all edits, by lot."""
    files = sorted(p.relative_to(LIBRARY).as_posix() for p in LIBRARY.rglob("*.py") if p.name != "__init__.py")
    edits = [edit for file in files if file.startswith(only) for edit in by_rule(file)]
    taken: list[Edit] = []
    for edit in sorted(edits, key=lambda e: stamp((seed, *e))):
        if len(taken) < sample:
            try:
                compile(edit.text(), edit.file, "exec")
                taken.append(edit)
            except SyntaxError:  # `for x not in` and the like
                pass
    print(f"{len(taken)} of {len(edits)} edits by rule")
    return taken


def by_hand(only: tuple[str, ...]) -> list[Edit]:
    """The list as edits."""
    pairs = ((file, *pair) for file, listed in LISTS["noticed"].items() if file.startswith(only) for pair in listed)
    return [Edit(file, at := place(file, old), at + len(old), new) for file, old, new in pairs]


def equivalent(only: tuple[str, ...] = ("",)) -> dict[Edit, str]:
    """Every edit by rule that changes no answer, and why: those within the marks «» of a text in the list."""
    found = {}
    for file in LISTS["equivalent"]:
        edits = list(by_rule(file)) if file.startswith(only) else []
        for marked, why in LISTS["equivalent"][file] if edits else ():
            before, within, after = re.split("[«»]", marked)
            start = place(file, before + within + after) + len(before)
            inside = [edit for edit in edits if start <= edit.start and edit.end <= start + len(within)]
            found |= dict.fromkeys(inside, why)
            if not inside:
                sys.exit(f"tests/mutants.toml: no edit within {marked!r} of {file}")
    return found


def place(file: str, text: str) -> int:
    """Where a text of a list stands; one that is no longer there, or there twice, is an error of the list."""
    if source(file).count(text) != 1:
        sys.exit(f"tests/mutants.toml: no one place for {text!r} in {file}")
    return source(file).index(text)


class Watch:
    """Notes the functions that each test runs, and the seconds of a processor that it takes, which are the same on a busy
    machine; what a shared fixture runs counts for its whole file.
    """

    def __init__(self) -> None:
        self.seconds, self.ran, self.now = dict[str, float](), dict[str, dict[int, CodeType]](), ""

    def note(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            self.ran.setdefault(self.now, {})[id(frame.f_code)] = frame.f_code

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.now = item.nodeid
        threading.setprofile(self.note)
        sys.setprofile(self.note)
        answer = yield
        sys.setprofile(None)
        return answer

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef) -> Iterator[None]:
        test, self.now = self.now, self.now if fixturedef.scope == "function" else ""
        try:
            return (yield)
        finally:
            self.now = test

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        began = sum(os.times()[:4])
        answer = yield  # what fails or is skipped ends here, and judges nobody
        self.seconds[item.nodeid] = sum(os.times()[:4]) - began
        return answer


def watched(test: str) -> str:
    """The seconds of the tests of a file and {"file function": the tests that run it}. It spends the process."""
    watch, ran = Watch(), dict[str, list[str]]()
    pytest.main([*QUIET, str(ROOT / test)], plugins=[watch])
    for name in watch.seconds:
        codes = (watch.ran.get("", {}) | watch.ran.get(name, {})).values()
        for path, function in {(c.co_filename, c.co_qualname.split(".<locals>")[0]) for c in codes}:
            if path.startswith(f"{LIBRARY}/"):
                ran.setdefault(f"{path.removeprefix(f'{LIBRARY}/')} {function}", []).append(name)
    return json.dumps({"stamp": stamp((ROOT / test).read_text()), "seconds": watch.seconds, "ran": ran})


def known_tests(jobs: int) -> dict[str, dict[str, Any]]:
    """What every test file does, noted anew where the file has changed; the library may have changed a little."""
    tests = [*(ROOT / "tests").rglob("test_*.py"), *(p for p in LIBRARY.rglob("*.py") if ">>>" in p.read_text())]
    kept = {
        test: KEPT / f"{test.replace('/', '.')}.json" for test in sorted(p.relative_to(ROOT).as_posix() for p in tests)
    }
    new = [
        t
        for t, k in kept.items()
        if not k.exists() or json.loads(k.read_text())["stamp"] != stamp((ROOT / t).read_text())
    ]
    for i, said in in_forks((functools.partial(watched, test) for test in new), jobs):
        print("noted", new[i], flush=True)
        kept[new[i]].write_text(said)
    return {test: json.loads(notes.read_text()) for test, notes in kept.items()}


def judges_of(edit: Edit, known: dict[str, dict[str, Any]], own_only: bool) -> tuple[list[str], float]:
    """The tests of a mutant and their seconds: its mirror's first, then the quickest, until they are enough."""
    own, here = Path("tests", edit.file), f"{edit.file} {edit.inside}"
    mirrors = [f"{own.parent}/test_{own.stem}.py", f"{own.parent}/test_{own.stem}s.py", f"src/posteriori/{edit.file}"]
    chosen, spent, by_cost = list[str](), 0.0, []
    for test, k in known.items():
        run, reads = (
            [here] if edit.inside else [f for f in k["ran"] if f.startswith(here)],
            not edit.inside and test in READERS,
        )
        names = {*k["seconds"]} if reads else {n for f in run for n in k["ran"].get(f, ())}
        seconds = sorted((k["seconds"][n], n) for n in names)
        by_cost.append((test not in mirrors and not reads, sum(s for s, _ in seconds), [n for _, n in seconds]))
    for foreign, seconds, names in sorted(by_cost):
        if spent < ENOUGH and not (foreign and own_only):
            chosen, spent = chosen + names, spent + seconds
    return chosen, spent


def fate(edit: Edit, judges: list[str], seconds: float) -> str:
    """Whether a mutant "lives" before its judges. It spends the process."""
    plain, path = SourceFileLoader.get_code, str(LIBRARY / edit.file)
    edited = compile(edit.text(), path, "exec")
    SourceFileLoader.get_code = lambda self, name: edited if self.path == path else plain(self, name)  # type: ignore
    resource.setrlimit(resource.RLIMIT_CPU, (int(30 + 5 * seconds), resource.RLIM_INFINITY))
    try:  # before pytest, which would read the file of a doctest itself
        importlib.import_module(".".join(("posteriori", *Path(edit.file).with_suffix("").parts)))
    except Exception:
        return "killed"
    files = [list(names) for _, names in itertools.groupby(judges, key=lambda name: name.split("::")[0])]
    at, step = 0, 1
    while at < len(files):  # most die at once: a few files more each time, for reading them takes longer than the tests
        some = [f"{ROOT}/{name}" for names in files[at : at + step] for name in names]
        if pytest.main(["-x", *QUIET, *some]):
            return "killed"
        at, step = at + step, 4 * step
    return "lives"


def in_forks(works: Iterable[Callable[[], str]], jobs: int) -> Iterator[tuple[int, str]]:
    """What each work answers in a process of its own, silenced, with its place, as they come; "" of one that dies."""
    going = dict[TextIO, tuple[int, int]]()
    for i, work in enumerate(works):
        if len(going) == jobs:
            yield from ended(going)
        reader, writer = os.pipe()
        if not (pid := os.fork()):
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            with os.fdopen(writer, "w") as out:
                out.write(work())
            os._exit(0)
        os.close(writer)
        going[os.fdopen(reader)] = i, pid
    while going:
        yield from ended(going)


def ended(going: dict[TextIO, tuple[int, int]]) -> Iterator[tuple[int, str]]:
    """Wait for one of the processes; its place and its answer."""
    for answer in select.select([*going], [], [])[0]:
        i, pid = going.pop(answer)
        with answer:
            said = answer.read()
        os.waitpid(pid, 0)
        yield i, said


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--sample", type=int, default=300, help="how many edits by rule")
    parse.add_argument("--seed", type=int, default=8, help="which of them")
    parse.add_argument("--only", nargs="+", default=[""], help="files whose paths below src/posteriori begin so")
    parse.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at a time")
    wanted = parse.parse_args()
    only = tuple(wanted.only)
    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in ("scipy.stats", "sklearn.pipeline", "pandas", "polars", "duckdb", "mpmath", "hypothesis.extra.numpy"):
        importlib.import_module(name)  # once, before the forks
    known, book = known_tests(wanted.jobs), KEPT / "fates.jsonl"
    fates = dict(map(json.loads, book.read_text().splitlines())) if book.exists() else {}
    hand, rule, same = by_hand(only), drawn(only, wanted.seed, wanted.sample), equivalent(only)
    for title, edits in (("by hand", hand), ("by rule", rule)):
        judged = {edit: judges_of(edit, known, edits is hand) for edit in edits if edit not in same}
        keys = {
            edit: stamp((edit.text(), [(n, known[n.split("::")[0]]["stamp"]) for n in judges]))
            for edit, (judges, _) in judged.items()
        }
        unknown = [edit for edit in judged if keys[edit] not in fates]
        told = in_forks((functools.partial(fate, edit, *judged[edit]) for edit in unknown), wanted.jobs)
        for i, said in told:
            fates[keys[unknown[i]]] = said or "hangs"
            with book.open("a") as kept:
                print(json.dumps([keys[unknown[i]], said or "hangs"]), file=kept)
            print(f"{said or 'hangs':6s} {unknown[i]}", flush=True)
        rooms = collections.Counter(edit.file.split("/")[0] for edit in judged)
        lives = [edit for edit in judged if fates[keys[edit]] == "lives"]
        print(f"\n{title}: {len(lives)} of {len(judged)} live; {len(edits) - len(judged)} more are equivalent")
        for room, n in rooms.items() if edits is rule else ():
            print(f"{sum(edit.file.split('/')[0] == room for edit in lives):6d} of {n:3d} in {room}")
        print(*(f"lives {edit}" for edit in lives), sep="\n")


if __name__ == "__main__":
    main()
