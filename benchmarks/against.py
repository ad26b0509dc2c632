"""The library against itself: the main rows of every room under two interpreters, by turns.

python benchmarks/against.py BEFORE [NOW] [--only naive] [--rounds 3]

BEFORE and NOW are pythons of environments that have a posteriori each (NOW: this one). Every row is the best of all rounds;
a ratio above 1 says that NOW is faster.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Row = tuple[str, Callable[[], Any]]


def texts(rng: np.random.Generator, n: int, d: int, words: int = 100) -> Any:
    """A sparse table of counts, about a hundred words a row."""
    from scipy.sparse import csr_array

    at = np.arange(0, n * words + 1, words), rng.integers(0, d, n * words)
    table = csr_array((rng.integers(1, 6, n * words).astype(float), at[1], at[0]), shape=(n, d))
    table.sum_duplicates()
    return table


def naive() -> Iterator[Row]:
    import posteriori as po

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300_000, 40)), rng.integers(0, 3, 300_000)
    codes = rng.integers(0, 4, X.shape).astype(np.uint8)
    words = texts(rng, 20_000, 20_000)
    bits, topics = (words > 0).tocsr(), y[:20_000]
    for name, model, rows, labels in (
        ("GaussianNB, 300k × 40", po.GaussianNB(), X, y),
        ("GaussianNB, float32", po.GaussianNB(), X.astype(np.float32), y),
        ("CategoricalNB, 300k × 40", po.CategoricalNB(), codes, y),
        ("MultinomialNB, sparse 20k × 20k", po.MultinomialNB(), words, topics),
        ("ComplementNB, sparse", po.ComplementNB(), words, topics),
        ("BernoulliNB, sparse", po.BernoulliNB(), bits, topics),
        ("NaiveBayes gaussian, 300k × 40", po.NaiveBayes(density="gaussian"), X, y),
        ("NaiveBayes categorical, 300k × 40", po.NaiveBayes(kinds="categorical"), codes, y),
    ):
        yield f"{name}: fit", lambda m=model, a=rows, b=labels: m.fit(a, b)
        yield f"{name}: predict_proba", lambda m=model, a=rows: m.predict_proba(a)
    small = po.NaiveBayes(density="gaussian").fit(X[:1000], y[:1000])
    yield "NaiveBayes: 200 rows one by one", lambda: [small.predict_proba(X[i : i + 1]) for i in range(200)]


def semi() -> Iterator[Row]:
    import posteriori as po

    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (100_000, 40)).astype(np.uint8), rng.integers(0, 3, 100_000)
    X[:, 0], X[:, 1] = y, X[:, 2]
    for Model in (po.TAN, po.AODE, po.KDB, po.SPODE):
        model = Model(kinds="categorical")
        yield f"{Model.__name__}, 100k × 40: fit", lambda m=model: m.fit(X, y)
        yield f"{Model.__name__}: predict_proba", lambda m=model: m.predict_proba(X)
    model = po.A2DE(kinds="categorical")
    yield "A2DE, 10k × 20: fit", lambda: model.fit(X[:10_000, :20], y[:10_000])
    yield "A2DE: predict_proba", lambda: model.predict_proba(X[:10_000, :20])


def network() -> Iterator[Row]:
    import posteriori as po

    for n, window in ((37, 5), (223, 11), (1000, 6)):
        rng = np.random.default_rng(0)
        names = [f"n{i}" for i in range(n)]
        edges, tables = [], {}
        for i in range(n):
            near = range(max(0, i - window), i)
            parents = sorted(rng.choice(near, min(len(near), int(rng.integers(0, 3))), replace=False)) if near else []
            edges += [(names[p], names[i]) for p in parents]
            tables[names[i]] = rng.dirichlet(np.ones(3), size=3 ** len(parents)).reshape([3] * (len(parents) + 1))
        dag = po.Dag(names, edges)
        net = po.BayesNet(edges, {v: tables[v] for v in names})
        data = net.sample(2000, random_state=0)
        known = {v: int(data[v][0]) for v in names[::5]}
        marginals = net.marginals
        yield f"{n} nodes: compile and marginals", lambda e=edges, t=tables: po.BayesNet(e, t).marginals()
        yield f"{n} nodes: marginals again", lambda ask=marginals, k=known: ask(k)
        some = {v: data[v] for v in names if v != names[n // 2]}
        yield f"{n} nodes: 2,000 cases", lambda t=net, s=some, v=names[n // 2]: t.predict_proba(s, v)
        yield f"{n} nodes: tables by counting", lambda g=dag, d=data: po.BayesNet.fit(g, d)


def neighbors() -> Iterator[Row]:
    import posteriori as po

    rng = np.random.default_rng(0)
    for n, d in ((100_000, 3), (100_000, 8), (10_000, 20)):
        X, y = rng.random((n, d)), rng.integers(0, 3, n)
        tree, ask = po.KDTree(X), rng.random((5000, d))
        yield f"{n} × {d}: build", lambda X=X: po.KDTree(X)
        yield f"{n} × {d}: 5 nearest of 5,000", lambda t=tree, q=ask: t.query(q, 5)
        model = po.KNeighborsClassifier(5).fit(X, y)
        yield f"{n} × {d}: classify 2,000", lambda m=model, q=ask[:2000]: m.predict_proba(q)
    brute = po.KNeighborsClassifier(5, algorithm="brute").fit(X, y)
    yield "10,000 × 20: by brute force", lambda: brute.predict(X[:2000])


def margin() -> Iterator[Row]:
    import posteriori as po

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 50))
    y = (X[:, :5].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)
    small, classes = X[:3000, :20], rng.integers(0, 5, 3000)
    words = texts(rng, 20_000, 10_000)
    said = (np.asarray(words[:, :500].sum(axis=1)).ravel() > 15).astype(int)
    yield "SVC rbf, 3k × 20: fit", lambda: po.SVC().fit(small, y[:3000])
    model = po.SVC().fit(small, y[:3000])
    yield "SVC rbf: decision_function", lambda: model.decision_function(small)
    yield "SVC linear, 2k × 20: fit", lambda: po.SVC(kernel="linear").fit(small[:2000], y[:2000])
    yield "SVC, 5 classes, 1k: fit", lambda: po.SVC().fit(small[:1000], classes[:1000])
    yield "SVR, 1.5k: fit", lambda: po.SVR().fit(small[:1500], X[:1500, 30])
    yield "LinearSVC, 20k × 50: fit", lambda: po.LinearSVC().fit(X, y)
    yield "LinearSVC hinge, 5k × 50: fit", lambda: po.LinearSVC(loss="hinge", C=0.1).fit(X[:5000], y[:5000])
    yield "LinearSVC, sparse 20k × 10k: fit", lambda: po.LinearSVC().fit(words, said)


def forest() -> Iterator[Row]:
    import posteriori as po

    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 30))
    y = (X[:, :5] @ rng.normal(size=(5, 3)) + rng.normal(size=(5000, 3))).argmax(axis=1)
    codes = rng.integers(0, 4, X.shape).astype(np.uint8)
    codes[:, 0] = y
    yield "DiscriminativeNB, 5k × 30 numbers: fit", lambda: po.DiscriminativeNB().fit(X, y)
    yield "DiscriminativeNB, 5k × 30 codes: fit", lambda: po.DiscriminativeNB(kinds="categorical").fit(codes, y)
    wide = X[:2000].reshape(300, 200)
    yield "DiscriminativeNB, 300 × 200 numbers: fit", lambda: po.DiscriminativeNB().fit(wide, y[:300])
    for model, n in (
        (po.BayesTree(), 5000),
        (po.BayesForest(random_state=0), 2000),
        (po.BoostedBayes(random_state=0), 2000),
    ):
        name = type(model).__name__
        yield f"{name}, {n:,} × 30: fit", lambda m=model, n=n: m.fit(X[:n], y[:n])
        yield f"{name}: predict_proba", lambda m=model: m.predict_proba(X)
    auto = po.AutoBayes(random_state=0)
    yield "AutoBayes, 500 × 10: fit", lambda: auto.fit(X[:500, :10], y[:500])
    yield "AutoBayes: predict_proba", lambda: auto.predict_proba(X[:, :10])


def hidden() -> Iterator[Row]:
    import posteriori as po

    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(20_000, 8)) + 4 * rng.integers(0, 3, (20_000, 1)), rng.integers(0, 3, (20_000, 10))
    y = rng.integers(0, 3, 20_000)
    yield "KMeans, 20k × 8: fit", lambda: po.KMeans(5, random_state=0).fit(X)
    yield "GaussianMixture, 20k × 8: fit", lambda: po.GaussianMixture(3, random_state=0).fit(X)
    yield "LatentClass, 20k × 10: fit", lambda: po.LatentClass(3, random_state=0, kinds="categorical").fit(codes)
    yield "NaiveBayes, densities chosen, 20k × 8: fit, answer", lambda: po.NaiveBayes().fit(X, y).predict_proba(X[:1])
    yield "TAN of numbers, cuts by MDL, 20k × 8: fit", lambda: po.TAN().fit(X, (X[:, 0] > 3).astype(int))
    table = {f"c{i}": codes[:5000, i] for i in range(10)}
    yield "learn_structure, 5k × 10", lambda: po.learn_structure(table)


ROOMS = {f.__name__: f for f in (naive, semi, network, neighbors, margin, forest, hidden)}


def seconds(call: Callable[[], Any], most: float = 0.6) -> float:
    """The best of at least two calls, after one that counts for nothing."""
    call()
    best, spent = np.inf, 0.0
    for k in itertools.count():
        began = time.perf_counter()
        call()
        took = time.perf_counter() - began
        best, spent = min(best, took), spent + took
        if k and spent > most:
            return best


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("before", nargs="?")
    parse.add_argument("now", nargs="?", default=sys.executable)
    parse.add_argument("--only", default="", choices=["", *ROOMS])
    parse.add_argument("--rounds", type=int, default=3)
    parse.add_argument("--rows", choices=ROOMS, help="measure this room here, as JSON (what the turns call)")
    wanted = parse.parse_args()
    if wanted.rows:
        warnings.simplefilter("ignore")
        found, name = {}, "its first row"
        try:
            for name, call in ROOMS[wanted.rows]():
                found[name] = seconds(call)
        except Exception as error:  # an older library may not know it
            print(wanted.rows, "ends at", name, repr(error)[:200], file=sys.stderr)
        print(json.dumps(found))
        return
    for room in [wanted.only] if wanted.only else ROOMS:
        best: dict[str, dict[str, float]] = {wanted.before: {}, wanted.now: {}}
        for k in range(wanted.rounds):
            for python in (wanted.before, wanted.now)[:: 1 if k % 2 else -1]:
                done = subprocess.run([python, __file__, "--rows", room], stdout=subprocess.PIPE, check=True)
                for name, took in json.loads(done.stdout.splitlines()[-1]).items():
                    best[python][name] = min(took, best[python].get(name, np.inf))
        print(f"\n| {room} | before, ms | now, ms | ratio |\n|---|---|---|---|")
        for name in [n for n in best[wanted.now] if n in best[wanted.before]]:
            old, new = best[wanted.before][name], best[wanted.now][name]
            print(f"| {name} | {old * 1e3:.2f} | {new * 1e3:.2f} | {old / new:.2f} |")


if __name__ == "__main__":
    main()
