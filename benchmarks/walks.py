"""How far a call walks through the house: functions, files and changes of room on the way of one small question.

A change of room is two consecutive calls of our functions in different folders, as `sys.setprofile` sees them.
`python benchmarks/walks.py` prints the walks, then the size of the house.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import posteriori as po

HOME = Path(po.__file__).parent


def walk(call: Callable[[], Any]) -> tuple[int, int, int]:
    """(functions, files, changes of room) of one call."""
    path: list[tuple[str, str]] = []

    def look(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(HOME)) and not code.co_name.startswith("<"):
            path.append((code.co_filename, code.co_qualname))

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    rooms = [Path(file).parent for file, _ in path]
    return len(set(path)), len({file for file, _ in path}), sum(a != b for a, b in itertools.pairwise(rooms))


def walks() -> dict[str, Callable[[], Any]]:
    """The calls that are walked; each may be made twice, since the first imports what it needs."""
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 3, (60, 4)), rng.integers(0, 2, 60)
    mixed = {"word": rng.choice(["a", "b", "c"], 20), "number": rng.normal(size=20)}
    cold = iter([po.networks.asia(), po.networks.asia()])
    return {
        "TAN.fit": lambda: po.TAN(kinds="categorical").fit(codes, y),
        "NaiveBayes.fit": lambda: po.NaiveBayes().fit(mixed, y[:20]),
        "BayesNet.marginals, cold": lambda: next(cold).marginals({"smoke": "yes"}),
    }


def main() -> None:
    for name, call in walks().items():
        call()  # what it needs is imported
        functions, files, changes = walk(call)
        print(f"{name:26} {functions:4} functions {files:4} files {changes:4} changes of room")
    sources = list(HOME.rglob("*.py"))
    lines = sum(len(f.read_text().splitlines()) for f in sources)
    print(f"{len(sources)} Python files, {lines} lines; {len(list(HOME.rglob('*.?pp')))} C++ files")


if __name__ == "__main__":
    main()
