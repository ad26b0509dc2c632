"""Small things and wide things: one row, `partial_fit` by the number of known values, files of many columns, kernel
densities.

python benchmarks/grid_small.py [one_row] [learning] [semi_naive] [files] [summaries] [densities] [chosen]
"""

from __future__ import annotations

import pathlib
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial

from harness import CORES, human, peers, race, record

peers("naive")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import posteriori as po  # noqa: E402

RNG = np.random.default_rng(0)


def each(call: Callable[[], object], times: int = 200) -> float:
    """Best seconds of one call among several runs of many."""

    def run() -> None:
        for _ in range(times):
            call()

    return race({"it": run}, 5, budget=5)["it"] / times


def one_row() -> dict[str, tuple[float, float]]:
    """predict_proba of one row of 20 attributes, at most 10 µs for the drop-ins and 20 µs for NaiveBayes."""
    codes, numbers, y = RNG.integers(0, 4, (5000, 20)), RNG.normal(size=(5000, 20)), RNG.integers(0, 3, 5000)
    found = {}
    for name, X in (("CategoricalNB", codes), ("GaussianNB", numbers)):
        model, row = getattr(po, name)().fit(X, y), X[:1].copy()
        found[f"one row, {name}"] = each(lambda m=model, r=row: m.predict_proba(r)), 10e-6
    for name, X, kinds in (("codes", codes, "categorical"), ("numbers", numbers, None)):
        model, row = po.NaiveBayes(kinds=kinds).fit(X, y), X[:1].copy()
        found[f"one row, NaiveBayes, an array of {name}"] = each(lambda m=model, r=row: m.predict_proba(r)), 20e-6
    return found


def learning() -> dict[str, tuple[float, float]]:
    """partial_fit of one row of 20 columns, one of which has many values: at most 100 µs."""
    found = {}
    for values in (100, 10_000, 100_000, 1_000_000):
        X, y = RNG.integers(0, 5, (max(values, 5000), 20)), RNG.integers(0, 3, max(values, 5000))
        X[:, 0] = np.arange(len(X)) % values
        for name, model in (("NaiveBayes", po.NaiveBayes(kinds="categorical")), ("CategoricalNB", po.CategoricalNB())):
            found |= {
                f"{what}, {name}, {values} values": taken for what, taken in _learning(model.fit(X, y), X, y).items()
            }
    return found


def semi_naive() -> dict[str, tuple[float, float]]:
    """partial_fit of one row, 10⁵ of them one after the other: at most 100 µs each."""
    X, y = RNG.integers(0, 4, (20_000, 20)), RNG.integers(0, 3, 20_000)
    found = {}
    for model in (po.TAN(kinds="categorical"), po.AODE(kinds="categorical"), po.KDB(kinds="categorical")):
        model.fit(X, y)
        row, label = X[:1].copy(), y[:1].copy()
        taken = race({"it": partial(_rows, model, row, label, 10**5)}, 1)["it"]
        found[f"partial_fit, {type(model).__name__}, 10⁵ rows"] = taken / 10**5, 100e-6
    return found


def _rows(model: po.TAN | po.AODE | po.KDB, row: np.ndarray, label: np.ndarray, times: int) -> None:
    for _ in range(times):
        model.partial_fit(row, label)


def _learning(model: po.NaiveBayes | po.CategoricalNB, X: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, float]]:
    row, label, fresh = X[:1].copy(), y[:1].copy(), iter(range(int(X[:, 0].max()) + 1, 10**9))
    known = each(lambda: model.partial_fit(row, label))
    new = each(lambda: model.partial_fit(np.array([[next(fresh), *[0] * 19]]), label))
    after = each(lambda: model.partial_fit(row, label).predict(row), 1)
    return {"partial_fit": (known, 100e-6), "partial_fit, a new value": (new, 100e-6), "and a prediction": (after, 0)}


def files() -> dict[str, tuple[float, float]]:
    """po.read of many columns: at most three times pandas's time."""
    found = {}
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        po.read(_written(pathlib.Path(home), "csv", 2, "words"))  # imports
        for columns, rows in ((100, 20), (1000, 2000), (10_000, 20)):
            for what in ("numbers", "words", "whole numbers"):
                for form in ("csv", "parquet"):
                    file = _written(pathlib.Path(home), form, columns, what, rows)
                    theirs = pd.read_csv if form == "csv" else pd.read_parquet
                    best = race({"mine": partial(po.read, file), "theirs": partial(theirs, file)}, 3, budget=6)
                    found[f"read {form}, {rows} rows × {columns} columns of {what}"] = best["mine"], 3 * best["theirs"]
    return found


def summaries() -> dict[str, tuple[float, float]]:
    """summary() of a fitted model, at most 2 s for 100,000 columns; a choice of densities is made before."""
    found = {}
    y = np.arange(60) % 3
    for name, columns, density in (
        ("categorical", 100_000, "auto"),
        ("normal", 100_000, "gaussian"),
        ("auto", 2_000, "auto"),
    ):
        codes = name == "categorical"
        X = RNG.integers(0, 4, (60, columns)) if codes else RNG.normal(size=(60, columns)) + 0.3 * y[:, None]
        model = po.NaiveBayes(density=density, kinds="categorical" if codes else "numeric").fit(X, y)
        model.predict(X[:1])
        taken = race({"it": model.summary}, 2, budget=10)["it"]
        found[f"summary, {columns} columns, {name}"] = taken, 2.0 * columns / 100_000
    return found


def _written(home: pathlib.Path, form: str, columns: int, what: str, rows: int = 20) -> pathlib.Path:
    shape = rows, columns
    if what == "words":
        cells = RNG.choice(["red", "green"], shape)
    else:
        cells = RNG.normal(size=shape).round(3) if what == "numbers" else RNG.integers(0, 50, shape)
    frame, file = pd.DataFrame(cells, columns=[f"c{j}" for j in range(columns)]), home / f"{what}{columns}.{form}"
    frame.to_csv(file, index=False) if form == "csv" else frame.to_parquet(file)
    return file


def densities() -> dict[str, tuple[float, float]]:
    """predict_proba by kernels, five columns: the first prediction, which makes the trees; 0.1 s for 1,000 queries."""
    found = {}
    for n in (10, 1000, 100_000, 1_000_000):
        model = po.NaiveBayes(density="kernel").fit(RNG.normal(size=(n, 5)), np.arange(n) % 3)
        for queries in (1, 1000, 100_000):
            taken = race({"it": partial(_first, model, RNG.normal(size=(queries, 5)))}, 3, budget=4)["it"]
            found[f"kernel density, {n} rows, {queries} queries"] = taken, 0.1 if queries <= 1000 else 0
    return found


def _first(model: po.NaiveBayes, Q: np.ndarray) -> None:
    model.smoothing = 1.0 if model.smoothing == 2.0 else 2.0  # what was made is made again
    model.predict_proba(Q)


def chosen() -> dict[str, tuple[float, float]]:
    """NaiveBayes() on numbers: fit, choice, 100 posteriors; at most 1 ms, 1 µs a sampled cell and class, 50 ns a cell."""
    found = {}
    shapes = (150, 4, 3), (1000, 20, 2), (1000, 20, 10), (200, 500, 2), (500, 2000, 2), (5000, 100, 5), (10**5, 10, 2)
    for n, d, k in shapes:
        y = RNG.integers(0, k, n)
        X = RNG.normal(size=(n, d)) + 0.5 * y[:, None] * (RNG.random(d) < 0.3)
        taken = race({"it": lambda X=X, y=y: po.NaiveBayes().fit(X, y).predict_proba(X[:100])}, 3, budget=4)["it"]
        found[f"NaiveBayes(), {n} × {d}, {k} classes"] = taken, 1e-3 + 1e-6 * min(n, 2000) * d * k + 5e-8 * n * d
    return found


PARTS = {f.__name__: f for f in (one_row, learning, semi_naive, files, summaries, densities, chosen)}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        rows, cells = [], PARTS[part]()
        ratios = {name: taken / wanted for name, (taken, wanted) in cells.items() if wanted}
        worst = max(ratios, key=ratios.__getitem__)
        for name, (taken, wanted) in cells.items():
            rows.append([name, human(taken), human(wanted) if wanted else "", f"{ratios[name]:.2f}" if wanted else ""])
            print(rows[-1], flush=True)
        middle = statistics.median(ratios.values())
        rows.append([f"**median {middle:.2f}, worst**", worst, "", f"**{ratios[worst]:.2f}**"])
        record(
            f"Small and wide, a grid: {part}",
            f"python benchmarks/grid_small.py {part}",
            ["work", "taken", "at most", "share of it"],
            rows,
            f"{CORES} threads. {(PARTS[part].__doc__ or '').strip()}",
        )
