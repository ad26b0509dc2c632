"""Seconds of every row of the leaderboard, a fold's fit and its test rows, on tables of three shapes.

    python benchmarks/bench_leaderboard.py [rows columns]…

Each model once, on the first of ten folds, after a small table has imported everything; a dash is a model that a table
bars.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np

from posteriori.leaderboard.compare import Data, Fold
from posteriori.leaderboard.lineup import Task, lineup
from posteriori.leaderboard.race import Runner

SHAPES = ((1000, 20), (10_000, 20), (200, 500))


def seconds(n: int, d: int, seed: int = 0) -> dict[str, Any]:
    """Seconds by model, or why there are none."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d))
    X[:, : min(d, 5)] += 0.7 * y[:, None]
    data = Data.open(X, y, None, None)
    task = Task(n - n // 10, data.kinds, data.names, 2, seed)
    fold, found = Fold(data, np.arange(n) % 10 == 0), dict[str, Any]()
    for name, entry in lineup().items():
        if why := entry.barred(task):
            found[name] = why
            continue
        runner, start = Runner(entry, entry.make(task)), time.perf_counter()
        failed = runner.attempt(fold, None).failed
        found[name] = failed or time.perf_counter() - start
    return found


def main() -> None:
    """Print a table: a row a model, a column a shape."""
    told = [int(word) for word in sys.argv[1:]]
    shapes = tuple(zip(told[::2], told[1::2])) or SHAPES
    warnings.simplefilter("ignore")
    seconds(60, 3)
    columns = [seconds(n, d) for n, d in shapes]
    print("| seconds of a fold | " + " | ".join(f"{n:,} × {d}" for n, d in shapes) + " |")
    print("|---|" + "---:|" * len(shapes))
    for name in lineup():
        cells = [f"{c[name]:.3f}" if isinstance(c[name], float) else "–" for c in columns]
        print(f"| {name} | " + " | ".join(cells) + " |")
    sums = [sum(v for v in c.values() if isinstance(v, float)) for c in columns]
    print("| all | " + " | ".join(f"{s:.2f}" for s in sums) + " |")


if __name__ == "__main__":
    main()
