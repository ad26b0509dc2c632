"""Passes over the rows until the ridged conditional likelihood is near its optimum: ours and L-BFGS from zero.

    python benchmarks/bench_discriminative.py [FOLDER [rows]]

The same objective and the same features (one-hot values) for both: ours begins at naive Bayes and walks in the metric of
its rows; the other is SciPy's L-BFGS-B from zero, which scikit-learn's LogisticRegression calls, a pass an evaluation.
Counts of passes, no timings: the same on any machine. With a FOLDER of tables (as in accuracy.py) on the features that
DiscriminativeNB makes of them, C = 1, of tables of 100 to so many rows.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from posteriori.bayes.design import ByValue
from posteriori.bayes.softmax import fit_ridge
from posteriori.kernels.naive import normalise

DISTANCES = (1e-2, 1e-3, 1e-4, 1e-6)


def table(n, d, values, K, seed):
    """Columns of several strengths, some of which repeat others."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    codes = []
    for j in range(d):
        if j % 3 == 2:
            codes.append(np.where(rng.random(n) < 0.8, codes[-1], rng.integers(0, values, n)).astype(np.uint8))
        else:
            told = rng.random(n) < rng.uniform(0.05, 0.5)
            codes.append(np.where(told, y % values, rng.integers(0, values, n)).astype(np.uint8))
    return ByValue(codes, np.arange(0, (d + 1) * values, values), np.zeros((n, 0))), y


def naive(design, y, K):
    """ln θ and ln P(y), less what all classes share."""
    hot = np.eye(K)[y]
    counts, step = design.sums(hot) + 1.0, int(design.offsets[1])
    shares = counts / counts.reshape(-1, step, K).sum(axis=1).repeat(step, axis=0)
    B, b = np.log(shares), np.log(hot.sum(axis=0) + 1)
    return B - B.mean(axis=1, keepdims=True), b - b.mean()


def from_zero(design, y, K, ridge):
    """L at every evaluation of L-BFGS-B."""
    n, trace, shape = design.n, [], (design.size + 1, K)
    every = np.arange(n)

    def at(v):
        V = v.reshape(shape)
        eta = design.scores(V[:-1], V[-1].copy())
        p, evidence = normalise(eta)
        loss = float((evidence - eta[every, y]).mean() + 0.5 * ridge * np.square(V[:-1]).sum())
        trace.append(loss)
        p[every, y] -= 1.0
        p /= n
        return loss, np.vstack([design.sums(p) + ridge * V[:-1], p.sum(axis=0)]).ravel()

    minimize(
        at,
        np.zeros(np.prod(shape)),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 9000, "ftol": 1e-16, "gtol": 1e-10},
    )
    return trace


def main():
    """A row for each table."""
    print("| rows | columns | values | classes | λ | passes of ours | of L-BFGS from zero |")
    print("|---|---|---|---|---|---|---|")
    ratios = []
    for n, d, values, K in (
        (300, 10, 4, 2),
        (300, 30, 4, 3),
        (3000, 20, 6, 2),
        (3000, 20, 6, 5),
        (3000, 60, 8, 2),
        (6000, 20, 5, 10),
    ):
        design, y = table(n, d, values, K, n + d)
        for penalty in (1.0, 0.05):
            said = raced(design, y, K, penalty, naive(design, y, K), ratios)
            print(f"| {n} | {d} | {values} | {K} | {penalty:g} | {said} |", flush=True)
    summary(ratios)


def of_tables(folder, most):
    """A row for each table of a folder."""
    from accuracy import load

    import posteriori as po

    print("| table | rows | features | classes | passes of ours | of L-BFGS from zero |\n|---|---|---|---|---|---|")
    ratios = []
    with open(folder / "index.csv") as index:
        rows = [r for r in csv.DictReader(index) if r["task"] == "classification" and "t" not in r["types"]]
    for r in sorted(rows, key=lambda r: int(r["rows"])):
        if 100 <= int(r["rows"]) <= most:
            X, y, _, _ = load(folder, r)
            start = po.DiscriminativeNB(penalty=1.0, pull="zero", max_iter=0).fit(X, y)
            design, K = start._read(X), int(y.max()) + 1
            said = raced(design, y, K, 2.0 if K == 2 else 1.0, start._naive(start.statistics_, design), ratios)
            print(f"| {r['name']} | {len(y)} | {design.size} | {K} | {said} |", flush=True)
    summary(ratios)


def raced(design, y, K, penalty, start, ratios):
    """Passes of both to within each distance of the optimum; their ratios are added to the list."""
    n = len(y)
    ours = fit_ridge(design, y, np.full(n, 1 / n), penalty / n, start, None, 0.0, 1e-13, 500).trace
    theirs = from_zero(design, y, K, penalty / n)
    best = min(ours[-1], min(theirs))
    passes = [[_first(t, best + e) for e in DISTANCES] for t in (ours, theirs)]
    ratios.append(np.divide(passes[1], passes[0]))
    return " | ".join(" · ".join(map(str, p)) for p in passes)


def summary(ratios):
    """Means and the least."""
    means, least = np.exp(np.log(ratios).mean(axis=0)).round(1).tolist(), np.min(ratios, axis=0).round(2).tolist()
    print(f"\nL-BFGS / ours at {DISTANCES} nats a row: geometric means {means}, least {least}; {len(ratios)} cells")


def _first(trace, enough):
    """The pass at which L was first so low."""
    return int(np.argmax(np.minimum.accumulate(trace) <= enough)) + 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        of_tables(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 500)
    else:
        main()
