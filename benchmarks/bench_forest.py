"""BayesForest beside RandomForestClassifier(500, n_jobs=2): fit, prediction and file over a grid of tables.

    python benchmarks/bench_forest.py [--least N] [--most N] [--million]

A cell is a table of so many rows, columns and classes, its columns numbers or categories (six values, as whole numbers; the
peer gets them as numbers, ours is told that they are categories). A third of the columns tell of the class. Where 500 trees
take long the peer grows 50, and its figures are multiplied by ten: time and size are linear in the trees. `--million` is
the one table of 1,000,000 × 40, of a few trees on both sides.
"""

from __future__ import annotations

import argparse
import os
import tempfile

import joblib
import numpy as np
from harness import human, race, record
from sklearn.ensemble import RandomForestClassifier

import posteriori as po

ASKED = 2000
CELLS = [
    (n, d, K, kind)
    for n in (200, 2_000, 20_000)
    for d, K in ((5, 2), (40, 2), (40, 10), (200, 2), (10, 50))
    for kind in ("numbers", "categories")
    if n * d <= 1_000_000
]


def drawn(n: int, d: int, K: int, kind: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose first columns tell of the class, the others of nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    y[:K] = np.arange(K)
    tells = max(1, d // 3)
    if kind == "numbers":
        X = rng.normal(size=(n, d))
        X[:, :tells] += np.random.default_rng(1).normal(size=(K, tells))[y]
        return X, y
    X = rng.integers(0, 6, (n, d))
    told = rng.random((n, tells)) < 0.3
    X[:, :tells] = np.where(told, np.random.default_rng(1).integers(0, 6, (K, tells))[y], X[:, :tells])
    return X, y


def cell(n: int, d: int, K: int, kind: str, budget: float) -> tuple[dict[str, float], float]:
    """Ratios of the peer's figures to ours, and our seconds of fitting."""
    X, y = drawn(n, d, K, kind)
    asked, _ = drawn(ASKED, d, K, kind, 5)
    trees, kinds = 500 if n <= 200 else 50, "categorical" if kind == "categories" else None
    ours = po.BayesForest(random_state=0, kinds=kinds, n_jobs=2)
    peer = RandomForestClassifier(trees, n_jobs=2, random_state=0)
    fit = race({"ours": lambda: ours.fit(X, y), "peer": lambda: peer.fit(X, y)}, 2, budget, 1)
    answer = race({"ours": lambda: ours.predict_proba(asked), "peer": lambda: peer.predict_proba(asked)}, 3, budget, 1)
    with tempfile.TemporaryDirectory() as folder:
        po.save(ours, os.path.join(folder, "ours"))
        joblib.dump(peer, os.path.join(folder, "peer"))
        size = {name: os.path.getsize(os.path.join(folder, name)) for name in ("ours", "peer")}
    scale = 500 / trees
    times = {"fit": fit, "predict": answer, "file": size}
    return {name: scale * t["peer"] / t["ours"] for name, t in times.items()}, fit["ours"]


def grid(least: int, most: int) -> None:
    """All cells of so many rows, and the worst."""
    rows, found = [], []
    for n, d, K, kind in CELLS:
        if least <= n <= most:
            ratios, seconds = cell(n, d, K, kind, 2.0)
            found.append(ratios)
            rows.append([str(n), str(d), str(K), kind, human(seconds), *(f"{ratios[k]:.1f}×" for k in ratios)])
            print(*rows[-1], flush=True)
    worst = {k: min(r[k] for r in found) for k in found[0]}
    rows.append(["**worst**", "", "", "", "", *(f"**{worst[k]:.1f}×**" for k in worst)])
    record(
        f"BayesForest beside RandomForest(500): {least:,} to {most:,} rows",
        f"python benchmarks/bench_forest.py --least {least} --most {most}",
        ["rows", "columns", "classes", "kind", "our fit", "fit", "predict, 2,000 rows", "file"],
        rows,
        "The peer's figure over ours: seconds of fit, seconds of predict_proba, bytes of the file; "
        "wanted 3×, 1× and 1×. 2 threads, best of two (three) rounds by turns; above 200 rows the peer grows 50 "
        "trees and its figures are multiplied by ten. Files by `po.save` and `joblib.dump`.",
    )


def million(trees: int = 4, members: int = 2) -> None:
    """1,000,000 × 40, 2 classes: a few trees each, by turns, and what all would take."""
    X, y = drawn(1_000_000, 40, 2, "numbers")
    X = X.astype(np.float32)
    one, more = (
        race({"fit": lambda a=a, b=b: po.BayesForest(a, b, random_state=0, n_jobs=2).fit(X, y)}, 1, 1, 1)["fit"]
        for a, b in ((trees, members), (2 * trees, members))
    )
    both = race({"fit": lambda: po.BayesForest(trees, 2 * members, random_state=0, n_jobs=2).fit(X, y)}, 1, 1, 1)["fit"]
    tree, member = (more - one) / trees, (both - one) / members
    whole = one + (150 - trees) * tree + (30 - members) * member
    peer = race({"fit": lambda: RandomForestClassifier(2, n_jobs=2, random_state=0).fit(X, y)}, 1, 1, 1)["fit"]
    row = [human(tree), human(member), human(whole), human(peer / 2), human(250 * peer), f"{250 * peer / whole:.1f}×"]
    record(
        "BayesForest beside RandomForest(500): 1,000,000 × 40",
        "python benchmarks/bench_forest.py --million",
        ["a tree", "a member", "150 trees, 30 members", "a tree of the peer", "500 of them", "ratio"],
        [row],
        f"Numbers, 2 classes, 2 threads. {trees} and {2 * trees} trees, {members} and {2 * members} members were grown, 2 "
        "trees of the peer; the rest is reckoned from the differences, since 500 of its trees take most of an hour.",
    )


def main() -> None:
    """Read the arguments, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--most", type=int, default=20_000)
    parser.add_argument("--million", action="store_true")
    given = parser.parse_args()
    million() if given.million else grid(given.least, given.most)


if __name__ == "__main__":
    main()
