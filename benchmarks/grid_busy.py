"""Small calls while every core is busy with something else: all threads beside one thread, at most 10% slower.

python benchmarks/grid_busy.py

Whether the system lets a call of one thread run undisturbed for a while, and one of two not, is chance: what is over the
limit is measured twice more, and the middle of the three counts.

A cell is a function of n_jobs. To add some, write a function that makes its tables and gives cells, and name it in CELLS.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable

from harness import CORES, human, peers, record

peers("naive")

import numpy as np  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

import posteriori as po  # noqa: E402

Cell = Callable[[int | None], object]
RNG = np.random.default_rng(0)
SECONDS, FEWEST, MOST = 1.5, 15, 150  # of a cell; calls of either kind
AT_MOST = 1.1


def naive() -> dict[str, Cell]:
    X, y = RNG.normal(size=(2000, 20)), RNG.integers(0, 3, 2000)
    models = {j: po.NaiveBayes(n_jobs=j).fit(X, y) for j in (None, 1)}
    normal = po.GaussianBayes().fit(X, y)
    return {
        "GaussianBayes fit, 100 rows": lambda j: po.GaussianBayes().fit(X[:100, :5], y[:100]),
        "GaussianBayes predict, 100 rows": lambda j: normal.predict_proba(X[:100]),
        "NaiveBayes fit, 2,000 rows": lambda j: po.NaiveBayes(n_jobs=j).fit(X, y),
        "NaiveBayes predict, 2,000 rows": lambda j: models[j].predict_proba(X),
    }


def margin() -> dict[str, Cell]:
    cells: dict[str, Cell] = {}
    for n, d, k in ((500, 10, 2), (2000, 20, 2), (5000, 20, 2), (2000, 20, 5)):
        X = RNG.normal(size=(n, d))
        y = np.searchsorted(np.quantile(X[:, 0] * X[:, 1], np.linspace(0, 1, k + 1)[1:-1]), X[:, 0] * X[:, 1])
        models = {j: po.SVC(n_jobs=j).fit(X, y) for j in (None, 1)}
        shape = f"{n} × {d}" + (f", {k} classes" if k > 2 else "")
        cells |= {
            f"SVC fit, {shape}": lambda j, X=X, y=y: po.SVC(n_jobs=j).fit(X, y),
            f"SVC predict, {shape}": lambda j, X=X, m=models: m[j].predict(X),
        }
    cells["LinearSVC fit, 2000 × 20, 5 classes"] = lambda j: po.LinearSVC(n_jobs=j).fit(X, y)
    cells["SVR fit, 1000 × 20"] = lambda j: po.SVR(n_jobs=j).fit(X[:1000], X[:1000, 0])
    return cells


def neighbors() -> dict[str, Cell]:
    cells: dict[str, Cell] = {}
    for n, d in ((1000, 3), (20_000, 3), (2000, 20)):
        X, y = RNG.normal(size=(n, d)), RNG.integers(0, 3, n)
        trees = {j: po.KDTree(X, n_jobs=j) for j in (None, 1)}
        near = {j: po.KNeighborsClassifier(n_jobs=j).fit(X, y) for j in (None, 1)}
        cells[f"kd-tree build, {n} × {d}"] = lambda j, X=X: po.KDTree(X, n_jobs=j)
        for m in (1, 100, 1000):
            cells[f"kd-tree, {m} queries, {n} × {d}"] = lambda j, X=X[:m], t=trees: t[j].query(X, 5)
            cells[f"kNN, {m} queries, {n} × {d}"] = lambda j, X=X[:m], t=near: t[j].predict_proba(X)
    return cells


CELLS = (naive, margin, neighbors)


def taken(cell: Cell) -> tuple[float, float]:
    """Median seconds with all threads and with one, by turns."""
    found: dict[int | None, list[float]] = {None: [], 1: []}
    end = time.perf_counter() + SECONDS
    for turn in range(MOST):
        for jobs in (None, 1) if turn % 2 else (1, None):
            with threadpool_limits(jobs, "blas"):  # one thread is one of BLAS too
                begin = time.perf_counter()
                cell(jobs)
                found[jobs].append(time.perf_counter() - begin)
        if turn >= FEWEST and time.perf_counter() > end:
            break
    return float(np.median(found[None])), float(np.median(found[1]))


def spin() -> None:
    while True:
        pass


if __name__ == "__main__":
    made = [cells() for cells in CELLS]
    team = [multiprocessing.Process(target=spin, daemon=True) for _ in range(CORES)]
    for member in team:
        member.start()
    rows, ratios = [], {}
    try:
        for name, cell in (pair for cells in made for pair in cells.items()):
            looks = [taken(cell)]
            if looks[0][0] > AT_MOST * looks[0][1]:
                looks = sorted([*looks, taken(cell), taken(cell)], key=lambda look: look[0] / look[1])
            all_cores, one = looks[len(looks) // 2]
            ratios[name] = all_cores / one
            short = "" if ratios[name] <= AT_MOST else " !"
            rows.append([name, human(all_cores), human(one), f"{ratios[name]:.2f}{short}"])
            print(*rows[-1], sep=" | ", flush=True)
    finally:
        for member in team:
            member.terminate()
    worst = max(ratios, key=ratios.__getitem__)
    rows.append([f"**worst** (median {np.median(list(ratios.values())):.2f})", worst, "", f"**{ratios[worst]:.2f}**"])
    record(
        "Small calls on a busy machine, a grid",
        "python benchmarks/grid_busy.py",
        ["work", "all threads", "one thread", "ratio"],
        rows,
        f"{CORES} cores, each with a loop that never rests; medians by turns. At most {AT_MOST} wanted.",
    )
