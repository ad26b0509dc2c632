"""Naive Bayes beside scikit-learn's, in one process: fit, predict_proba, one row, import.

Each row of the table is a function that returns its cells; `ROWS` is the list of them.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from harness import CORES, bandwidth, human, peers, race, record

peers("naive")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from sklearn import naive_bayes as peer  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OrdinalEncoder  # noqa: E402

import posteriori as po  # noqa: E402

N, D, K = 1_000_000, 40, 3
HEADER = ["work", "posteriori", "scikit-learn", "ratio", "wanted", "reading the input once"]
SPARSE = """What limits the sparse fits is 12 million scattered additions, about 2 ns each, in rows as they lie in memory.
Sorted by class, so that the counters of one class stay in the second-level cache, they took twice as long: the rows were no
longer fetched ahead."""
rng = np.random.default_rng(0)
SPEED = bandwidth()


def cells(work: str, ours: float, theirs: float, wanted: str, bytes_read: int = 0) -> list[str]:
    """One line of the table; the limit is bytes ÷ measured bandwidth, and how many times that we take."""
    limit = bytes_read / SPEED
    shown = f"{human(limit)} (ours is {ours / limit:.1f}×)" if bytes_read else ""
    return [work, human(ours), human(theirs), f"{theirs / ours:.1f}×", wanted, shown]


def versus(
    work: str, ours: Callable[[], object], theirs: Callable[[], object], wanted: str, bytes_read: int = 0
) -> list[str]:
    """Race two runners for one line."""
    best = race({"ours": ours, "theirs": theirs}, repeat=5, budget=20)
    return cells(work, best["ours"], best["theirs"], wanted, bytes_read)


def categorical() -> list[list[str]]:
    """1M × 40 codes of 4 values."""
    X, y = rng.integers(0, 4, (N, D), dtype=np.uint8), rng.integers(0, K, N)
    mine, his = po.CategoricalNB().fit(X, y), peer.CategoricalNB().fit(X, y)
    np.testing.assert_allclose(mine.predict_proba(X[:1000]), his.predict_proba(X[:1000]), rtol=1e-9)
    size = X.nbytes + y.nbytes
    return [
        versus(
            "CategoricalNB fit, 1M × 40 uint8, 4 values, 3 classes",
            lambda: po.CategoricalNB().fit(X, y),
            lambda: peer.CategoricalNB().fit(X, y),
            "30×",
            size,
        ),
        versus("the same, predict_proba", lambda: mine.predict_proba(X), lambda: his.predict_proba(X), "10×", X.nbytes),
    ]


def gaussian() -> list[list[str]]:
    """1M × 40 floats."""
    X, y = rng.normal(size=(N, D)), rng.integers(0, K, N)
    mine, his = po.GaussianNB().fit(X, y), peer.GaussianNB().fit(X, y)
    np.testing.assert_allclose(mine.predict_proba(X[:1000]), his.predict_proba(X[:1000]), rtol=1e-9)
    X32 = X.astype(np.float32)
    return [
        versus(
            "GaussianNB fit, 1M × 40 float64",
            lambda: po.GaussianNB().fit(X, y),
            lambda: peer.GaussianNB().fit(X, y),
            "10×, within 2× of reading",
            X.nbytes + y.nbytes,
        ),
        versus("the same, predict_proba", lambda: mine.predict_proba(X), lambda: his.predict_proba(X), "8×", X.nbytes),
        versus(
            "GaussianNB fit, 1M × 40 float32",
            lambda: po.GaussianNB().fit(X32, y),
            lambda: peer.GaussianNB().fit(X32, y),
            "",
            X32.nbytes + y.nbytes,
        ),
    ]


def chosen() -> list[list[str]]:
    """NaiveBayes with densities that it chooses (the default), beside GaussianNB, which has normal ones alone."""
    shapes = (
        (N, D, K),
        (100_000, 10, 3),
        (1_000, 20, 3),
        (100, 4, 3),
        (1_000, 200, 3),
        (1_000, 20, 50),
        (500, 2_000, 3),
    )
    return [line for shape in shapes for line in _chosen(*shape)]


def _chosen(n: int, d: int, k: int) -> list[list[str]]:
    y = rng.integers(0, k, n)
    X = rng.normal(size=(n, d)) + rng.choice([-1.0, 1.0], (n, d)) * (y % 2)[:, None]
    mine, his = po.NaiveBayes().fit(X, y), peer.GaussianNB().fit(X, y)
    mine.predict_proba(X[:1])
    return [
        versus(
            f"NaiveBayes fit, {n:,} × {d:,}, {k} classes", lambda: po.NaiveBayes().fit(X, y), lambda: his.fit(X, y), ""
        ),
        versus(
            "the same, and the first posterior, which chooses",
            lambda: po.NaiveBayes().fit(X, y).predict_proba(X[:1]),
            lambda: his.fit(X, y).predict_proba(X[:1]),
            "⅓ at 1M × 40" if n == N else "",
        ),
        versus("the same, predict_proba", lambda: mine.predict_proba(X), lambda: his.predict_proba(X), "1×", X.nbytes),
    ]


def sparse() -> list[list[str]]:
    """200k rows of 60 words out of 50k, four classes."""
    n, d, each = 200_000, 50_000, 60
    columns = np.sort(rng.integers(0, d, (n, each)), axis=1).ravel().astype(np.int32)
    X = sp.csr_matrix((np.ones(n * each), columns, np.arange(0, n * each + 1, each, dtype=np.int32)), shape=(n, d))
    X.sum_duplicates()
    y = rng.integers(0, 4, n)
    size = X.data.nbytes + X.indices.nbytes
    rows = []
    for name in ("BernoulliNB", "MultinomialNB", "ComplementNB"):
        ours, theirs = getattr(po, name), getattr(peer, name)
        mine, his = ours().fit(X, y), theirs().fit(X, y)
        np.testing.assert_allclose(mine.predict_proba(X[:1000]), his.predict_proba(X[:1000]), rtol=1e-6)
        rows.append(
            versus(
                f"{name} fit, CSR 200k × 50k, 60 a row",
                lambda ours=ours: ours().fit(X, y),
                lambda theirs=theirs: theirs().fit(X, y),
                "3×",
                size,
            )
        )
        rows.append(
            versus(
                f"{name} predict_proba, the same",
                lambda mine=mine: mine.predict_proba(X),
                lambda his=his: his.predict_proba(X),
                "3×",
                size,
            )
        )
    return rows


def many(call: Callable[[], object], times: int) -> Callable[[], object]:
    """Run a short call often enough to be timed."""

    def run() -> None:
        for _ in range(times):
            call()

    return run


def one_row() -> list[list[str]]:
    """predict_proba of one row of 20 attributes, an array as it would come from a request."""
    rows, times = [], 500
    codes, numbers, y = rng.integers(0, 4, (5000, 20)), rng.normal(size=(5000, 20)), rng.integers(0, K, 5000)
    for name, X in (("CategoricalNB", codes), ("GaussianNB", numbers), ("MultinomialNB", codes * 1.0)):
        mine, his = getattr(po, name)().fit(X, y), getattr(peer, name)().fit(X, y)
        row = X[:1].copy()
        best = race(
            {
                "ours": many(lambda m=mine, r=row: m.predict_proba(r), times),
                "theirs": many(lambda m=his, r=row: m.predict_proba(r), times),
            },
            repeat=7,
        )
        rows.append(cells(f"{name} one row, 20 attributes", best["ours"] / times, best["theirs"] / times, "10×"))
    return rows


def imports() -> list[list[str]]:
    """A fresh interpreter that imports the library: the median of several."""
    seconds: dict[str, list[float]] = {"posteriori": [], "sklearn.naive_bayes": []}
    for _ in range(7):
        for module, taken in seconds.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
            taken.append(time.perf_counter() - begin)
    mine, his = (statistics.median(t) for t in seconds.values())
    return [cells("import, interpreter and all", mine, his, "no slower")]


def strings() -> list[list[str]]:
    """pandas, 20 columns of words, 1M rows: from the frame to the posterior."""
    words = np.array(["alpha", "beta", "gamma", "delta"])
    frame = pd.DataFrame({f"s{j}": words[rng.integers(0, 4, N)] for j in range(20)})
    y = rng.integers(0, K, N)

    def theirs() -> object:
        return make_pipeline(OrdinalEncoder(dtype=np.int64), peer.CategoricalNB()).fit(frame, y).predict_proba(frame)

    work = "NaiveBayes, pandas with 20 string columns, 1M rows: fit + predict_proba"
    best = race({"ours": lambda: po.NaiveBayes().fit(frame, y).predict_proba(frame), "theirs": theirs}, 2, 30)
    return [cells(work, best["ours"], best["theirs"], "5×")]


def mixed_rows() -> list[list[str]]:
    """One row of 20 attributes through `NaiveBayes`: an array, and a dict of words."""
    X, y = rng.integers(0, 4, (1000, 20)), rng.integers(0, K, 1000)
    words = np.array(["alpha", "beta", "gamma", "delta"])
    frame = pd.DataFrame(words[X], columns=[f"s{j}" for j in range(20)])
    mine, named = po.NaiveBayes(kinds="categorical").fit(X, y), po.NaiveBayes().fit(frame, y)
    his = peer.CategoricalNB().fit(X, y)
    pipe = make_pipeline(OrdinalEncoder(dtype=np.int64), peer.CategoricalNB()).fit(frame, y)
    row, record_ = X[:1].copy(), frame.iloc[0].to_dict()

    def often(run: Callable[[], object]) -> Callable[[], object]:
        return lambda: [run() for _ in range(200)]

    array = race({"ours": often(lambda: mine.predict_proba(row)), "theirs": often(lambda: his.predict_proba(row))}, 5)
    by_name = race(
        {
            "ours": often(lambda: named.predict_proba(record_)),
            "theirs": often(lambda: pipe.predict_proba(pd.DataFrame([record_]))),
        },
        5,
    )
    return [
        cells("NaiveBayes one row, 20 attributes, array", array["ours"] / 200, array["theirs"] / 200, "10×"),
        cells("NaiveBayes one row, a dict of words", by_name["ours"] / 200, by_name["theirs"] / 200, "10×"),
    ]


ROWS: list[Callable[[], list[list[str]]]] = [
    categorical,
    gaussian,
    chosen,
    sparse,
    strings,
    one_row,
    mixed_rows,
    imports,
]

if __name__ == "__main__":
    wanted = sys.argv[1:]  # names of functions above: those alone, printed and not recorded
    lines = [line for rows in ROWS if not wanted or rows.__name__ in wanted for line in rows()]
    notes = f"{CORES} cores that read {SPEED / 1e9:.1f} GB/s together; best of five by turns, defaults throughout."
    notes += f"\n\n{SPARSE}"
    if wanted:
        print(*(" | ".join(line) for line in lines), notes, sep="\n")
    else:
        record("Naive Bayes", "python benchmarks/bench_naive.py", HEADER, lines, notes)
