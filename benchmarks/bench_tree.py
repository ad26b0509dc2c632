"""BayesTree beside scikit-learn's DecisionTreeClassifier: seconds of fit over a grid of tables.

    python benchmarks/bench_tree.py [--least N] [--most N]

A cell is a table of so many rows, columns and classes, its columns numbers or categories, as in bench_forest.py. Growing
alone (`backoff` told) races one plain tree of the peer; choosing c as well (six trees) also the peer's tree whose pruning
is chosen by cross-validation, where that does not take minutes.
"""

from __future__ import annotations

import argparse

from accuracy import PrunedTree
from bench_forest import drawn
from harness import human, race, record
from sklearn.tree import DecisionTreeClassifier

import posteriori as po

CELLS = [
    (n, d, K, kind)
    for n in (200, 2_000, 20_000, 200_000, 1_000_000)
    for d, K in ((5, 2), (5, 20), (40, 2), (40, 20), (200, 2))
    for kind in ("numbers", "categories")
    if n * d <= (1_000_000 if K > 2 else 8_000_000)
]
PRUNED = 80_000  # cells of a table, at most


def cell(n: int, d: int, K: int, kind: str) -> list[float]:
    """Seconds: ours alone, ours with c chosen, a plain tree, a pruned one (NaN where it is left out)."""
    X, y = drawn(n, d, K, kind)
    kinds = "categorical" if kind == "categories" else None
    times = race(
        {
            "alone": lambda: po.BayesTree(backoff=1.0, kinds=kinds).fit(X, y),
            "auto": lambda: po.BayesTree(kinds=kinds).fit(X, y),
            "plain": lambda: DecisionTreeClassifier(random_state=0).fit(X, y),
        },
        30,
        1.0,
        1,
    )
    pruned = float("nan")
    if n * d <= PRUNED:
        pruned = race({"pruned": lambda: PrunedTree().fit(X, y)}, 1, 1.0, 1)["pruned"]
    return [times["alone"], times["auto"], times["plain"], pruned]


def main() -> None:
    """Read the arguments, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--most", type=int, default=20_000)
    given = parser.parse_args()
    rows, worst = [], [float("inf")] * 3
    for n, d, K, kind in CELLS:
        if given.least <= n <= given.most:
            alone, auto, plain, pruned = cell(n, d, K, kind)
            ratios = [plain / alone, plain / auto, pruned / auto]
            worst = [min(a, b) if b == b else a for a, b in zip(worst, ratios)]
            told = [f"{r:.2g}×" if r == r else "" for r in ratios]
            rows.append([f"{n:,}", str(d), str(K), kind, human(alone), human(auto), human(plain), *told])
            print(*rows[-1], flush=True)
    rows.append(["**worst**", *[""] * 6, *(f"**{w:.2g}×**" if w < float("inf") else "" for w in worst)])
    record(
        f"BayesTree beside DecisionTreeClassifier: {given.least:,} to {given.most:,} rows",
        f"python benchmarks/bench_tree.py --least {given.least} --most {given.most}",
        [
            *("rows", "columns", "classes", "kind", "ours, c told", "c chosen", "plain tree"),
            *("plain / c told", "plain / c chosen", "pruned / c chosen"),
        ],
        rows,
        "Seconds of fit, best of up to 30 rounds by turns; wanted: plain / c told at least 1×. Choosing c grows six trees; "
        "the pruned tree is the peer's of twelve `ccp_alpha` by five folds.",
    )


if __name__ == "__main__":
    main()
