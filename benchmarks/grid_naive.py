"""Naive Bayes off the beaten shapes, beside scikit-learn: rows of words with few and many classes, short and long; codes.

python benchmarks/grid_naive.py [named] [words] [codes]
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator

from harness import CORES, human, peers, race, record

peers("naive")

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from sklearn import naive_bayes as peer  # noqa: E402

import posteriori as po  # noqa: E402

RNG = np.random.default_rng(0)
NAMED = {"200k × 50k, 60 a row, 20": (200, 50, 60, 20), "20k × 60k, 500 a row, 5": (20, 60, 500, 5)}
NAMED["50k × 20k, 60 a row, 110"] = (50, 20, 60, 110)
SMALL = "100 rows × 50k, 60 a row, 20"
CLASSES, CELLS = (2, 5, 20, 50, 110, 200), (10, 60, 250, 500, 2000)
VALUES, WIDTHS, FEW = (2, 4, 10, 50), (10, 40, 200), (2, 3, 20)


def words(n: int, d: int, each: int) -> sp.csr_matrix:
    """n rows of so many words out of d."""
    columns = np.sort(RNG.integers(0, d, (n, each)), axis=1).ravel().astype(np.int32)
    ends = np.arange(0, n * each + 1, each, dtype=np.int32)
    X = sp.csr_matrix((RNG.integers(1, 4, n * each).astype(float), columns, ends), shape=(n, d))
    X.sum_duplicates()
    return X


def labels(n: int, k: int) -> np.ndarray:
    return RNG.permutation(np.arange(n) % k)


def measure(model: str, X: object, y: np.ndarray, budget: float) -> dict[str, tuple[float, float]]:
    """(ours, theirs) in seconds, of fit, of predict_proba, and of both: ours makes its tables at the first prediction."""
    ours, theirs = getattr(po, model), getattr(peer, model)
    mine, his = ours().fit(X, y), theirs().fit(X, y)
    fit = race({"ours": lambda: ours().fit(X, y), "theirs": lambda: theirs().fit(X, y)}, 5, budget)
    answer = race({"ours": lambda: mine.predict_proba(X), "theirs": lambda: his.predict_proba(X)}, 5, budget)
    both = race(
        {"ours": lambda: ours().fit(X, y).predict_proba(X), "theirs": lambda: theirs().fit(X, y).predict_proba(X)},
        3,
        budget,
    )
    races = {"fit": fit, "predict_proba": answer, "both": both}
    return {work: (found["ours"], found["theirs"]) for work, found in races.items()}


Cell = tuple[str, str, object, np.ndarray]  # name, model, X, y


def named() -> Iterator[Cell]:
    """The shapes that were seen to be slow once."""
    for model in ("MultinomialNB", "BernoulliNB", "ComplementNB"):
        for name, (n, d, each, k) in NAMED.items():
            yield f"{model} {name} classes", model, words(n * 1000, d * 1000, each), labels(n * 1000, k)
        yield f"{model} {SMALL} classes", model, words(100, 50_000, 60), labels(100, 20)


def words_by_classes() -> Iterator[Cell]:
    for k in CLASSES:
        for each in CELLS:
            n = (2_000_000 if k < 50 else 600_000) // each
            yield f"{each} a row, {k} classes", "MultinomialNB", words(n, 50_000, each), labels(n, k)


def codes() -> Iterator[Cell]:
    """uint8 by rows; then other types and orders of one shape."""
    for d in WIDTHS:
        for size in VALUES:
            for k in FEW:
                n = 2_000_000 // d
                X = RNG.integers(0, size, (n, d), dtype=np.uint8)
                yield f"{d} columns, {size} values, {k} classes", "CategoricalNB", X, labels(n, k)
    X, y = RNG.integers(0, 4, (100_000, 40), dtype=np.uint8), labels(100_000, 3)
    for kind in (np.uint8, np.int64, np.float64):
        for order, name in (("C", "rows"), ("F", "columns")):
            what = f"40 columns, 4 values, 3 classes, {np.dtype(kind).name} by {name}"
            yield what, "CategoricalNB", np.array(X, dtype=kind, order=order), y


PARTS = {  # cells, title, note, seconds of a race after which no new round begins: the peer is slow with codes
    "named": (named, "words, named shapes", "CSR, wanted 4× for predict_proba and 3× for fit", 1.0),
    "words": (words_by_classes, "words, classes × cells of a row", "CSR out of 50,000; wanted 4× and 3×", 1.0),
    "codes": (codes, "codes", "uint8 by rows unless told", 0.2),
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        cells, title, note, budget = PARTS[part]
        rows: list[list[str]] = []
        ratios: dict[str, dict[str, float]] = {}
        for name, model, X, y in cells():
            found = measure(model, X, y, budget)
            row = [name]
            for work, (mine, theirs) in found.items():
                ratios.setdefault(work, {})[name] = theirs / mine
                row += [human(mine), human(theirs), f"{theirs / mine:.1f}×"]
            rows.append(row)
            print(row, flush=True)
        summary = ["**median; worst**"]
        for by_name in ratios.values():
            worst = min(by_name, key=by_name.__getitem__)
            summary += ["", f"{worst}: {by_name[worst]:.1f}×", f"**{statistics.median(by_name.values()):.1f}×**"]
        record(
            f"Naive Bayes, a grid: {title}",
            f"python benchmarks/grid_naive.py {part}",
            ["work", *(h for w in ("fit", "predict_proba", "both") for h in (w, "scikit-learn", "ratio"))],
            [*rows, summary],
            f"scikit-learn's time over ours; {note}. {CORES} threads, best of up to five interleaved rounds.",
        )
