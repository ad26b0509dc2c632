"""Processor seconds of a whole compile of one or more trees, for both instruction sets, by part.

python benchmarks/compile.py [TREE ...]

A TREE is a clone of the project (this one by default); each is compiled anew in a folder of its own, two units at a time,
and every run of the compiler is clocked. Beside the first tree the others also tell what the files of the same names take.
"""

from __future__ import annotations

import collections
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent


def one_unit(log: str, *command: str) -> int:
    """Run the compiler once, and note its seconds and what it made."""
    code = subprocess.call(command)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(log, "a") as file:
        print(used.ru_utime + used.ru_stime, command[command.index("-o") + 1], file=file)
    return code


def clocked(tree: pathlib.Path, room: pathlib.Path) -> dict[str, float]:
    """Seconds of every unit of a tree."""
    log = room / "units"
    launcher = ";".join([sys.executable, __file__, "--unit", str(log)])
    how = [f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True}
    subprocess.run(["cmake", "-G", "Ninja", "-S", str(tree), "-B", str(room / "build"), *how], **quiet)
    subprocess.run(["cmake", "--build", str(room / "build"), "-j", "2"], **quiet)
    return {unit: float(seconds) for seconds, unit in (line.split() for line in log.read_text().splitlines())}


def main() -> None:
    names: set[str] = set()
    for tree in map(pathlib.Path, sys.argv[1:] or [HERE]):
        with tempfile.TemporaryDirectory() as room:
            units = clocked(tree.resolve(), pathlib.Path(room))
        lines = sum(len(p.read_text().splitlines()) for p in (tree / "src/posteriori/kernels/native").rglob("*.?pp"))
        same = sum(s for unit, s in units.items() if os.path.basename(unit) in names)
        beside = f"; files of the first tree's names {same:.1f}" if names else ""
        print(f"{tree}: {sum(units.values()):.1f} s for {lines:,} lines of C++{beside}")
        names = names or {os.path.basename(unit) for unit in units}
        parts = collections.Counter[str]()
        for unit, seconds in units.items():
            parts[unit.split("/")[1].removesuffix(".dir")] += seconds
        print("  " + ", ".join(f"{part} {seconds:.1f}" for part, seconds in parts.most_common()))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--unit"]:
        sys.exit(one_unit(*sys.argv[2:]))
    main()
