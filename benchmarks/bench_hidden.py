"""One turn of EM over rows of which 1% have a label, beside one fit and one predict_proba of the same rows.

python benchmarks/bench_hidden.py [small]

A turn is what a longer climb takes more than a shorter one, a turn; it should take at most twice their time.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import CORES, human, race, record

import posteriori as po
from posteriori.bayes.hidden import HiddenClass

RNG = np.random.default_rng(0)
MOST = 2.0


def table(kind: str, n: int, d: int, z: np.ndarray) -> tuple[Any, dict[str, Any]]:
    """(X, parameters) of a kind of columns that tell a little of the class."""
    tilt = (z[:, None] * np.arange(1, d + 1)) % 5
    if kind in ("binary", "4 values", "20 values"):
        S = {"binary": 2, "4 values": 4, "20 values": 20}[kind]
        return ((RNG.integers(0, S, (n, d)) + (tilt > 2)) % S).astype(np.uint8), {"kinds": "categorical"}
    numbers = RNG.normal(size=(n, d)) + 0.3 * tilt
    if kind in ("normal", "normal, chosen"):
        return numbers, {"density": "gaussian"} if kind == "normal" else {}
    import pandas as pd

    words = np.array(["red", "green", "blue", "grey"], dtype=object)[(RNG.integers(0, 4, (n, d)) + (tilt > 2)) % 4]
    half = d // 2
    columns = {f"w{j}": words[:, j] for j in range(half if kind == "mixed" else d)}
    columns |= {f"x{j}": numbers[:, j] for j in range(half, d) if kind == "mixed"}
    return pd.DataFrame(columns), {"density": "gaussian"}


def cells(small: bool) -> Iterator[tuple[str, int, int, int, float]]:
    """(kind, rows, columns, classes, share of rows with a label)."""
    for kind in ("binary", "4 values", "20 values", "normal", "normal, chosen", "words", "mixed"):
        for K in (2, 3, 20):
            yield kind, 10_000 if small else 100_000, 40, K, 0.01
    for n, d in ((1_000, 40), (100_000, 4), (20_000, 200)):
        for kind in ("4 values", "normal"):
            yield kind, n, d, 3, 0.01
    for known in (0.5, 0.99):
        yield "4 values", 10_000 if small else 100_000, 40, 3, known


def measure(kind: str, n: int, d: int, K: int, known: float) -> tuple[float, float, float]:
    """(a turn, a fit, a predict_proba), in seconds."""
    z = RNG.integers(0, K, n)
    X, how = table(kind, n, d, z)
    y = np.where(RNG.random(n) < known, z, -1)
    y[:K] = np.arange(K)
    model = po.NaiveBayes(**how, unlabelled=-1)
    data = HiddenClass(model, model._rows(X, y, None, ()))
    theta = data.maximise(data.expect(data.starts(1, 0)[0])[0])
    fitted = po.NaiveBayes(**how).fit(X, z)
    found = race(
        {
            "turn": lambda: data.maximise(data.expect(theta)[0]).factored_,
            "fit": lambda: po.NaiveBayes(**how).fit(X, z),
            "predict_proba": lambda: fitted.predict_proba(X),
        },
        7,
        budget=4,
    )
    return found["turn"], found["fit"], found["predict_proba"]


def main() -> None:
    small = "small" in sys.argv[1:]
    header = ["columns", "rows", "classes", "labelled", "a turn", "fit + predict_proba", "ratio"]
    rows: list[list[str]] = []
    ratios: dict[str, float] = {}
    begin = time.perf_counter()
    for cell in cells(small):
        kind, n, d, K, known = cell
        turn, fit, answer = measure(*cell)
        ratio = turn / (fit + answer)
        ratios[f"{d} × {kind}, {n} rows, {K} classes, {known:.0%} labelled"] = ratio
        both = f"{human(fit)} + {human(answer)}"
        rows.append([f"{d} × {kind}", str(n), str(K), f"{known:.0%}", human(turn), both, f"{ratio:.2f}"])
        print(" | ".join(rows[-1]), flush=True)
    worst = max(ratios, key=ratios.__getitem__)
    notes = (
        f"{len(ratios)} cells, median {statistics.median(ratios.values()):.2f}, worst {ratios[worst]:.2f} ({worst}), "
        f"{sum(r > MOST for r in ratios.values())} over {MOST:g}; {CORES} cores, {time.perf_counter() - begin:.0f} s."
    )
    print(notes)
    if not small:
        record("A turn of EM with a hidden class", "python benchmarks/bench_hidden.py", header, rows, notes)


if __name__ == "__main__":
    main()
