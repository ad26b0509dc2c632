"""BoostedBayes beside LightGBM, both growing the same number of leaves: seconds of `fit`, cutting included.

    python benchmarks/bench_boosted.py [ROWSxCOLUMNSxCLASSESxCATEGORIES …] [--rounds 20] [--one]

Ours grows a tree of up to 64 leaves (16 below 3,000 rows) for each of five folds a round, with a value of every class in
each leaf; LightGBM a tree of that many leaves for each class and round (one for two classes). It gets as many rounds as
make the same number of leaves, and the same number of threads. CATEGORIES of the columns hold names, ten values each. A
leaf of ours has as many values as there are classes (one for two), one of LightGBM's one. `--one` gives each one thread
and takes the processor's seconds, which others on the machine hardly change.
"""

import sys
import time
from functools import partial

from harness import CORES, human, peers, race, record

peers("boosted")

import lightgbm  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import posteriori as po  # noqa: E402

GRID = (
    (1_000_000, 40, 2, 0),
    (1_000_000, 40, 2, 20),
    (300_000, 40, 3, 0),
    (300_000, 40, 5, 0),
    (100_000, 40, 2, 0),
    (100_000, 200, 2, 0),
    (100_000, 20, 3, 5),
    (100_000, 20, 10, 5),
    (100_000, 20, 20, 5),
    (100_000, 20, 50, 5),
    (10_000, 20, 2, 0),
    (10_000, 20, 3, 10),
    (10_000, 20, 20, 0),
    (1_000, 20, 2, 0),
)


def table(n, d, K, words, seed=0):
    """Numbers and names; the class follows some of either, and products of them."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, d - words)).astype(np.float64)
    names = rng.integers(0, 10, (n, words))
    told = rng.normal(size=(6, K)), rng.normal(size=(words, 10, K))
    some = numbers[:, :4] if d - words >= 4 else np.zeros((n, 4))
    scores = np.column_stack([some, some[:, 0] * some[:, 1], np.abs(some[:, 2])]) @ told[0]
    for j in range(words):
        scores += told[1][j][names[:, j]] / np.sqrt(words)
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    frame = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(d - words)])
    letters = np.array([f"v{v}" for v in range(10)])
    for j in range(words):
        frame[f"c{j}"] = pd.Categorical.from_codes(names[:, j], letters)
    return frame, y


def alone(runners):
    """The processor's seconds of each runner, the better of two where they are few."""
    best = {}
    for name, run in [*runners.items()] * 2:
        if best.get(name, 0.0) < 5:
            start = time.process_time()
            run()
            best[name] = min(best.get(name, np.inf), time.process_time() - start)
    return best


def main():
    """A line a table."""
    given = sys.argv[1:]
    jobs = 1 if "--one" in given else CORES
    rounds = int(given[given.index("--rounds") + 1]) if "--rounds" in given else 20
    shapes = [tuple(int(x) for x in g.split("x")) for g in given if "x" in g] or GRID
    rows, ratios = [], {}
    for n, d, K, words in shapes:
        X, y = table(n, d, K, words)
        model = po.BoostedBayes(max_rounds=rounds, random_state=0).fit(X, y)
        trees = model.grown_.rounds.trees
        leaves, most = int((trees.column < 0).sum()), 64 if n >= 3000 else 16
        values = 1 if K == 2 else K
        turns = max(1, round(leaves / most / values))
        how = {"n_estimators": turns, "num_leaves": most, "n_jobs": jobs, "random_state": 0, "verbose": -1}
        runners = {
            "ours": partial(po.BoostedBayes(max_rounds=rounds, random_state=0, n_jobs=jobs).fit, X, y),
            "lightgbm": partial(lightgbm.LGBMClassifier(**how).fit, X, y),
        }
        taken = alone(runners) if jobs == 1 else race(runners, repeat=3, budget=8, tries=1)
        grown = turns * values
        ratio = taken["lightgbm"] / taken["ours"]
        rows.append(
            [f"{n:,} × {d}", str(K), str(words), f"{leaves:,}", f"{len(trees)}", f"{grown}"]
            + [human(taken["ours"]), human(taken["lightgbm"]), f"{ratio:.2f}", f"{ratio * values:.2f}"]
        )
        ratios[f"{n:,} × {d}, {K} classes"] = ratio
        print(*rows[-1], model.n_rounds_, flush=True)
    header = [
        "table",
        "classes",
        "named columns",
        "leaves",
        "our trees",
        "its trees",
        "ours",
        "LightGBM",
        "its time / ours, a leaf",
        "a leaf value",
    ]
    worst = min(ratios, key=ratios.__getitem__)
    print(f"worst: {worst}: {ratios[worst]:.2f}")
    if "--record" in given:
        record(
            "Boosted trees beside LightGBM, as many leaves",
            f"python benchmarks/bench_boosted.py {'--one ' if jobs == 1 else ''}--record",
            header,
            rows,
        )


if __name__ == "__main__":
    main()
