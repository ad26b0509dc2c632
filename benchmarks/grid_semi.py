"""Semi-naive Bayes off the beaten shapes: what the choice of k and of attributes costs, and the first prediction of A2DE.

python benchmarks/grid_semi.py [choice] [a2de]
"""

from __future__ import annotations

import statistics
import sys

import numpy as np
from harness import CORES, human, race, record

import posteriori as po

COMMAND = "python benchmarks/grid_semi.py"
FOLDS = 10


def codes(n: int, d: int, values: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes in which neighbours and the class are dependent."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    X = rng.integers(0, values, (n, d))
    X[:, 1:] = np.where(rng.random((n, d - 1)) < 0.3, X[:, :-1], X[:, 1:])
    return np.where(rng.random((n, d)) < 0.15, y[:, None] % values, X).astype(np.uint8), y.astype(np.uint8)


CHOICES = [
    (1_000_000, 15, 4, 3),
    (200_000, 15, 4, 3),
    (200_000, 15, 2, 2),
    (200_000, 15, 10, 2),
    (100_000, 30, 3, 5),
    (20_000, 15, 4, 3),
]


def choice() -> None:
    """Folds need as many fits and one prediction of all rows for each k up to 3."""
    rows, worst = [], []
    for n, d, values, classes in CHOICES:
        X, y = codes(n, d, values, classes)
        plain = po.KDB(k=3, kinds="categorical").fit(X, y)
        runners = {
            "fit": lambda X=X, y=y: po.KDB(k=3, kinds="categorical").fit(X, y),
            "predict": lambda X=X, plain=plain: plain.predict_proba(X),
            "auto": lambda X=X, y=y: po.KDB(k="auto", kinds="categorical").fit(X, y),
            "select": lambda X=X, y=y: po.KDB(k=3, select=True, kinds="categorical").fit(X, y),
        }
        best = race(runners, 3, budget=8)
        needed = FOLDS * best["fit"] + 4 * best["predict"]
        ratios = [best[how] / needed for how in ("auto", "select")]
        worst += ratios
        times = [human(best[how]) for how in ("fit", "predict", "auto", "select")]
        rows.append([f"{n:,} × {d}, {values} values, {classes} classes", *times, *(f"{r:.2f}×" for r in ratios)])
        print(*rows[-1], flush=True)
    rows.append(["**worst** (median)", "", "", "", "", f"**{max(worst):.2f}×**", f"({statistics.median(worst):.2f}×)"])
    header = ["table", "kDB-3 fit", "predict", 'k="auto"', "select=True", "auto", "select"]
    note = (
        f"Ratios to what the choice by {FOLDS} folds needs: {FOLDS} fits with k = 3 and a prediction of all rows for each "
        f"k up to 3; at most 4× wanted. {CORES} threads."
    )
    record("Semi-naive, a grid: the choice of k and of attributes", COMMAND, header, rows, note)


def a2de() -> None:
    rows, worst = [], []
    for n, d, values in ((2000, 110, 2), (5000, 110, 2), (5000, 60, 3), (5000, 30, 6)):
        X, y = codes(n, d, values, 2)
        model = po.A2DE(kinds="categorical").fit(X, y)

        def first(model: po.A2DE = model, X: np.ndarray = X) -> object:
            return model.set_params(smoothing=model.smoothing + 1e-9).predict_proba(X)  # tables are made anew

        best = race({"first": first, "second": lambda model=model, X=X: model.predict_proba(X)}, 4, budget=10)
        worst.append(best["first"] / best["second"])
        rows.append([f"{n:,} × {d}, {values} values", human(best["first"]), human(best["second"]), f"{worst[-1]:.2f}×"])
        print(*rows[-1], flush=True)
    rows.append(["**worst**", "", "", f"**{max(worst):.2f}×**"])
    note = "A prediction of the training rows that makes the tables, and one that has them; at most 2× wanted."
    header = ["table", "first prediction", "second", "ratio"]
    record("Semi-naive, a grid: A2DE's first prediction", COMMAND, header, rows, note)


PARTS = {"choice": choice, "a2de": a2de}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
