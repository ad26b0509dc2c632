"""What the benchmark scripts share: peers in an environment of their own, interleaved timing, one results file.

A script begins with `peers("naive")`, which installs `requirements-naive.txt` into benchmarks/.peers/ (an environment that
also sees the one it was started from) and starts the script again there. BLAS is pinned to the cores of the machine.
"""

from __future__ import annotations

import gc
import os
import pathlib
import re
import subprocess
import sys
import time
import venv
from collections.abc import Callable

HERE = pathlib.Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def peers(name: str) -> None:
    """Run the rest of the script where the packages of requirements-<name>.txt are installed."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, str(CORES))
    home = HERE / ".peers" / name
    if pathlib.Path(sys.prefix).resolve() == home.resolve():
        return
    wanted = HERE / f"requirements-{name}.txt"
    stamp = home / "installed.txt"
    if not stamp.exists() or stamp.read_text() != wanted.read_text():
        venv.create(home, with_pip=True, clear=True)
        site = next(home.glob("lib/python*/site-packages"))
        outer = [p for p in sys.path if p.endswith("site-packages")]
        (site / "outer.pth").write_text("".join(f"import site; site.addsitedir({p!r})\n" for p in outer))
        print(f"installing the peers of {wanted.name} ...", flush=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", str(wanted)], check=True)
        stamp.write_text(wanted.read_text())
    python = str(home / "bin" / "python")
    os.execv(python, [python, *sys.argv])


def others() -> float:
    """CPU seconds that everything but this process has taken so far; 0 where the system does not say."""
    try:
        ticks = [int(t) for t in pathlib.Path("/proc/stat").read_text().split()[1:9]]
    except OSError:
        return 0.0
    busy = sum(ticks) - ticks[3] - ticks[4]
    return busy / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])  # children that have ended are ours


def race(
    runners: dict[str, Callable[[], object]], repeat: int = 5, budget: float = 60.0, tries: int = 3
) -> dict[str, float]:
    """Best seconds of each runner, taken in turns so that a busy machine is unfair to nobody.

    At most `repeat` rounds, and no new round after `budget` seconds. Where others took a tenth of a core meanwhile, two
    threads are one and cold caches colder: the race is run again, so many `tries` in all.
    """
    begin, taken = time.perf_counter(), others()
    best = _race(runners, repeat, budget)
    quiet = others() - taken < 0.1 * (time.perf_counter() - begin) + 0.05
    return best if quiet or tries <= 1 else race(runners, repeat, budget, tries - 1)


def _race(runners: dict[str, Callable[[], object]], repeat: int, budget: float) -> dict[str, float]:
    best = dict.fromkeys(runners, float("inf"))
    begin = time.perf_counter()
    for _ in range(repeat):
        for name, run in runners.items():
            gc.collect()
            t = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - t)
        if time.perf_counter() - begin > budget:
            break
    return best


def bandwidth(megabytes: int = 400) -> float:
    """Bytes a second that all cores together read from memory: the limit of a kernel that reads its input once."""
    import threading

    import numpy as np

    parts = [np.ones(megabytes * 131_072 // CORES) for _ in range(CORES)]

    def once() -> None:
        team = [threading.Thread(target=np.ndarray.sum, args=(p,)) for p in parts]
        for t in team:
            t.start()
        for t in team:
            t.join()

    return sum(p.nbytes for p in parts) / race({"read": once}, 5)["read"]


def human(seconds: float) -> str:
    """A time with three figures."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def record(section: str, command: str, header: list[str], rows: list[list[str]], notes: str = "") -> None:
    """Print a table and put it into RESULTS.md under its heading, in place of what stood there; its parts (`###`) stay."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    text = f"## {section}\n\n`{command}`\n\n" + "\n".join(lines) + "\n" + (f"\n{notes.strip()}\n" if notes else "")
    print("\n" + text)
    old = RESULTS.read_text() if RESULTS.exists() else "# Measured side by side\n"
    pattern = re.compile(rf"^## {re.escape(section)}\n.*?(?=^##+ |\Z)", re.S | re.M)
    new = pattern.sub(lambda _: text + "\n", old) if pattern.search(old) else old.rstrip() + "\n\n" + text
    RESULTS.write_text(new.rstrip() + "\n")
