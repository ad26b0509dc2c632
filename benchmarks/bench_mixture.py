"""Gaussian mixtures and k-means beside scikit-learn and scikit-learn-intelex: the same start, the same number of turns.

python benchmarks/bench_mixture.py          # the named rows
python benchmarks/bench_mixture.py grid     # other shapes, and the worst of them
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from harness import CORES, human, peers, race, record

peers("mixture")

import numpy as np  # noqa: E402
from sklearn import cluster, mixture  # noqa: E402
from sklearnex.cluster import KMeans as IntelKMeans  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

import posteriori as po  # noqa: E402

warnings.simplefilter("ignore")
Runners = dict[str, Callable[[], object]]


def rows(n: int, d: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """(points around K centres that overlap, a start near them)."""
    rng = np.random.default_rng(0)
    centres = 2 * rng.normal(size=(K, d))
    X = rng.normal(size=(n, d)) + centres[rng.integers(0, K, n)]
    return X, centres + 0.3 * rng.normal(size=(K, d))


def mixtures(kind: str, n: int, d: int, K: int, turns: int) -> Runners:
    X, start = rows(n, d, K)
    precisions = np.array([np.eye(d)] * K) if kind == "full" else np.ones((K, d))
    told = {"weights_init": np.full(K, 1 / K), "means_init": start, "precisions_init": precisions}
    same: dict[str, Any] = {"n_components": K, "covariance_type": kind, "tol": 0, "max_iter": turns, **told}

    def peer(threads: int) -> Callable[[], object]:
        def run() -> object:
            with threadpool_limits(threads):
                return mixture.GaussianMixture(**same).fit(X)

        return run

    a = po.GaussianMixture(**{**same, "max_iter": 1}).fit(X)
    b = mixture.GaussianMixture(**{**same, "max_iter": 1}).fit(X)
    assert np.allclose(a.means_, b.means_, atol=1e-6)
    runners: Runners = {"posteriori": lambda: po.GaussianMixture(**same).fit(X)}
    best, least = CORES, float("inf")
    for threads in {1, CORES}:  # one turn shows which number suits the peer
        t = time.perf_counter()
        with threadpool_limits(threads):
            mixture.GaussianMixture(**{**same, "max_iter": 1}).fit(X)
        if time.perf_counter() - t < least:
            best, least = threads, time.perf_counter() - t
    return runners | {f"scikit-learn, {best} threads": peer(best)}


def kmeans(n: int, d: int, K: int, turns: int) -> Runners:
    X, start = rows(n, d, K)
    start = X[:K].copy()
    same: dict[str, Any] = {"n_clusters": K, "init": start, "n_init": 1, "tol": 0, "max_iter": turns}
    a, b = po.KMeans(**same).fit(X), cluster.KMeans(**same).fit(X)
    assert np.allclose(a.cluster_centers_, b.cluster_centers_)
    assert a.n_iter_ == b.n_iter_
    return {
        "posteriori": lambda: po.KMeans(**same).fit(X),
        "scikit-learn": lambda: cluster.KMeans(**same).fit(X),
        "intelex": lambda: IntelKMeans(**same).fit(X),
    }


NAMED: list[tuple[str, str, Callable[[], Runners], int]] = [
    ("GMM full, 200k × 16, 16 components, 20 turns", "8×", lambda: mixtures("full", 200_000, 16, 16, 20), 1),
    ("GMM diagonal, the same", "5×", lambda: mixtures("diag", 200_000, 16, 16, 20), 2),
    ("GMM full, 200k × 64, 8 components, 4 turns", "3×", lambda: mixtures("full", 200_000, 64, 8, 4), 1),
    ("k-means, 200k × 16, k = 16, 20 turns", "2× ; 1×", lambda: kmeans(200_000, 16, 16, 20), 5),
    ("k-means, 200k × 16, k = 256, 20 turns", "2× ; 1×", lambda: kmeans(200_000, 16, 256, 20), 3),
    ("k-means, 1M × 2, k = 50, 20 turns", "2× ; 1×", lambda: kmeans(1_000_000, 2, 50, 20), 3),
]


def named() -> None:
    table = []
    for name, wanted, make, rounds in NAMED:
        best = race(make(), rounds, budget=20)
        others = {who: t for who, t in best.items() if who != "posteriori"}
        ratios = " ; ".join(f"{t / best['posteriori']:.1f}×" for t in others.values())
        beside = ", ".join(f"{who} {human(t)}" for who, t in others.items())
        table.append([name, human(best["posteriori"]), beside, ratios, wanted])
        print(table[-1], flush=True)
    record(
        "Mixtures",
        "python benchmarks/bench_mixture.py",
        ["work", "posteriori", "peers", "ratio", "at least"],
        table,
        f"Normal points around overlapping centres, one told start for all, `tol=0`, float64, {CORES} cores; the peer's "
        "number of threads is the better of 1 and all.",
    )


def grid() -> None:
    table, worst = [], {}
    for kind, ns, ds, Ks, most in (
        ("full", (1000, 30_000), (1, 4, 16, 64), (1, 8, 64), 4e8),
        ("diag", (1000, 30_000), (1, 4, 16, 64), (1, 8, 256), 1e8),
        ("k-means", (1000, 100_000, 1_000_000), (1, 4, 16, 64), (1, 16, 256), 1.1e9),
    ):
        for n in ns:
            for d in ds:
                for K in Ks:
                    if n * K * (d * d if kind == "full" else d) > most or n < K * 4 or n * d > 2e7:
                        continue
                    runners = kmeans(n, d, K, 8) if kind == "k-means" else mixtures(kind, n, d, K, 4)
                    best = race(runners, 3, budget=1.5)
                    ours = best.pop("posteriori")
                    row = [kind, f"{n:,}", str(d), str(K), human(ours), *(f"{t / ours:.1f}×" for t in best.values())]
                    table.append(row + [""] * (7 - len(row)))
                    for who, t in best.items():
                        key = (kind, who.split(",")[0])
                        worst[key] = min(worst.get(key, (np.inf, "")), (t / ours, f"{n:,} × {d}, k = {K}"))
                    print(table[-1], flush=True)
    record(
        "Mixtures, other shapes",
        "python benchmarks/bench_mixture.py grid",
        ["model", "rows", "columns", "k", "posteriori", "scikit-learn", "intelex"],
        table,
        "Four turns (k-means: eight) of a whole `fit`, checks of the input included. Worst: "
        + "; ".join(f"{kind} against {who} {ratio:.2f}× at {at}" for (kind, who), (ratio, at) in worst.items())
        + ".",
    )


if __name__ == "__main__":
    grid() if sys.argv[1:] == ["grid"] else named()
