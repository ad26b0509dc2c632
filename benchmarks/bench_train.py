"""From a CSV file to naive Bayes: `posteriori train --model naive`, streamed, beside pandas and scikit-learn.

    python benchmarks/bench_train.py [rows] [--file big.csv] [--turns 1]

The file has 10 numeric and 10 string columns (5 to 50 words each) and three classes. The peer is `pandas.read_csv`, then
`OrdinalEncoder` and `CategoricalNB` for the words and `GaussianNB` for the numbers. Each runs in a process of its own;
its wall time and peak memory are printed; by turns, the best of each.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
import time

import numpy as np

PEER = """
import sys, pandas as pd
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.preprocessing import OrdinalEncoder
table = pd.read_csv(sys.argv[1])
y = table.pop("class")
words = [c for c in table if c.startswith("s")]
codes = OrdinalEncoder().fit_transform(table[words])
CategoricalNB().fit(codes, y)
GaussianNB().fit(table[[c for c in table if c.startswith("n")]], y)
"""
OURS = """
import sys
from posteriori.cli.main import app
app(["train", sys.argv[1], "--target", "class", "--model", "naive", "--quiet", "-o", sys.argv[2]])
"""


def generate(path: pathlib.Path, n: int) -> None:
    """A table of n rows."""
    import pyarrow as pa
    import pyarrow.csv as pc

    names = [f"n{j}" for j in range(10)] + [f"s{j}" for j in range(10)] + ["class"]
    schema = pa.schema([(name, pa.float64() if name.startswith("n") else pa.string()) for name in names])
    rng = np.random.default_rng(0)
    with pc.CSVWriter(path, schema, write_options=pc.WriteOptions(quoting_style="none")) as out:
        for at in range(0, n, 500_000):
            m = min(500_000, n - at)
            y = rng.integers(0, 3, m)
            columns = [np.round(rng.normal(size=m) * 10 + y * j / 3, 3) for j in range(10)]
            for j in range(10):
                words = np.array([f"{'abcdefghij'[j]}word{v}" for v in range(5 + 5 * j)], dtype=object)
                columns.append(words[(rng.integers(0, len(words), m) + (rng.random(m) < 0.3) * y) % len(words)])
            columns.append(np.array(["low", "mid", "high"], dtype=object)[y])
            out.write(pa.table([pa.array(c) for c in columns], schema=schema))


def measured(code: str, *words: str) -> tuple[float, float]:
    """(seconds, MB at the peak) of a process of its own."""
    start = time.perf_counter()
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", code, *words], os.environ)
    _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit("a run failed")
    return time.perf_counter() - start, used.ru_maxrss / 1024


def main() -> None:
    told = argparse.ArgumentParser(description=__doc__)
    told.add_argument("rows", type=int, nargs="?", default=5_000_000)
    told.add_argument("--file", type=pathlib.Path)
    told.add_argument("--turns", type=int, default=1)
    options = told.parse_args()
    with tempfile.TemporaryDirectory() as room:
        path = options.file or pathlib.Path(room, "big.csv")
        if not path.exists():
            generate(path, options.rows)
        print(f"{path.stat().st_size / 1e6:.0f} MB", flush=True)
        model = str(pathlib.Path(room, "model.posteriori"))
        turns = [(measured(OURS, str(path), model), measured(PEER, str(path))) for _ in range(options.turns)]
    ours, peer = (min(side) for side in zip(*turns))
    print("| | seconds | peak MB |\n|---|---|---|")
    print(f"| posteriori train --model naive | {ours[0]:.1f} | {ours[1]:.0f} |")
    print(f"| pandas + OrdinalEncoder + CategoricalNB + GaussianNB | {peer[0]:.1f} | {peer[1]:.0f} |")
    print(f"ratio {peer[0] / ours[0]:.1f}")


if __name__ == "__main__":
    main()
