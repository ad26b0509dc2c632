"""Neighbours beside scikit-learn (tree and brute force), scipy's cKDTree and pykdtree, two threads each, one run.

python benchmarks/bench_neighbors.py
"""

from __future__ import annotations

from collections.abc import Callable

from harness import CORES, human, peers, race, record

peers("neighbors")

import numpy as np  # noqa: E402
from pykdtree.kdtree import KDTree as PyKDTree  # noqa: E402
from scipy.spatial import cKDTree  # noqa: E402
from sklearn import neighbors as sk  # noqa: E402

import posteriori as po  # noqa: E402

K = 10
Runners = dict[str, Callable[[], object]]
ROUNDS = 3


def normal(n: int, d: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


def loose(X: np.ndarray) -> cKDTree:
    """scipy's quick build (midpoints, no tight boxes), which its own documentation recommends for speed."""
    return cKDTree(X, balanced_tree=False, compact_nodes=False)


def build(n: int, d: int) -> Runners:
    X = normal(n, d, 0)
    return {
        "posteriori": lambda: po.KDTree(X),
        "scipy": lambda: cKDTree(X),
        "scipy quick": lambda: loose(X),
        "pykdtree": lambda: PyKDTree(X),
        "sklearn tree": lambda: sk.KDTree(X),
    }


def query(n: int, d: int, m: int) -> Runners:
    X, Q = normal(n, d, 0), normal(m, d, 1)
    mine = po.KNeighborsClassifier(K).fit(X, np.zeros(n, dtype=int))
    quick, py = loose(X), PyKDTree(X)
    runners: Runners = {
        "posteriori": lambda: mine.kneighbors(Q),
        "scipy quick": lambda: quick.query(Q, K, workers=CORES),
        "pykdtree": lambda: py.query(Q, K),
    }
    if d < 8:
        scipy = cKDTree(X)
        tree = sk.NearestNeighbors(n_neighbors=K, algorithm="kd_tree", n_jobs=CORES).fit(X)
        runners |= {"scipy": lambda: scipy.query(Q, K, workers=CORES), "sklearn tree": lambda: tree.kneighbors(Q)}
    if n * m <= 10**9:
        brute = sk.NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=CORES).fit(X)
        runners["sklearn brute"] = lambda: brute.kneighbors(Q)
    return runners


def classify(n: int, d: int, m: int) -> Runners:
    X, Q = normal(n, d, 0), normal(m, d, 1)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    mine = po.KNeighborsClassifier(K).fit(X, y)
    quick, py = loose(X), PyKDTree(X)

    def vote(index: np.ndarray) -> np.ndarray:
        return (y[index].mean(axis=1) > 0.5).astype(int)

    return {
        "posteriori": lambda: mine.predict(Q),
        "scipy quick + vote": lambda: vote(quick.query(Q, K, workers=CORES)[1]),
        "pykdtree + vote": lambda: vote(py.query(Q, K)[1]),
    }


ROWS: list[tuple[str, float, Callable[[], Runners]]] = [
    ("build 1M × 3", 1.5, lambda: build(1_000_000, 3)),
    ("build 200k × 8", 1.5, lambda: build(200_000, 8)),
    ("query 100k on 1M × 3", 1.5, lambda: query(1_000_000, 3, 100_000)),
    ("query 100k on 200k × 8", 2.0, lambda: query(200_000, 8, 100_000)),
    ("query 20k on 50k × 16 (auto)", 1.5, lambda: query(50_000, 16, 20_000)),
    ("predict 100k on 200k × 8", 2.0, lambda: classify(200_000, 8, 100_000)),
]

if __name__ == "__main__":
    rows = []
    for name, wanted, make in ROWS:
        best = race(make(), ROUNDS if "×" in name and "build" not in name else 7, budget=5)
        others = {who: t for who, t in best.items() if who != "posteriori"}
        first = min(others, key=others.__getitem__)
        beside = ", ".join(f"{who} {human(t)}" for who, t in others.items())
        rows.append(
            [
                name,
                human(best["posteriori"]),
                f"{first} {human(others[first])}",
                f"{others[first] / best['posteriori']:.1f}×",
                f"{wanted}×",
                beside,
            ]
        )
        print(rows[-1], flush=True)
    record(
        "Neighbours",
        "python benchmarks/bench_neighbors.py",
        ["work", "posteriori", "fastest peer", "ratio", "at least", "all peers"],
        rows,
        f"Standard normal points and queries, k = {K}, float64, {CORES} threads, best of several interleaved rounds. "
        "Left out where they take over half a minute: scikit-learn (tree and brute force) on 200k × 8; scipy's balanced "
        "tree above 3 dimensions.",
    )
