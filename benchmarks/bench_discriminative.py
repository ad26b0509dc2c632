"""Passes over the rows until the ridged conditional likelihood is near its optimum: ours and L-BFGS from zero.

    python benchmarks/bench_discriminative.py

The same objective and the same features (one-hot values) for both: ours begins at naive Bayes and walks in the metric of
its rows; the other is SciPy's L-BFGS-B from zero, which scikit-learn's LogisticRegression calls, a pass an evaluation.
Counts of passes, no timings: the same on any machine.
"""

from __future__ import annotations

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
            w = np.full(n, 1 / n)
            ours = fit_ridge(design, y, w, penalty / n, naive(design, y, K), None, 0.0, 1e-13, 500).trace
            theirs = from_zero(design, y, K, penalty / n)
            best = min(ours[-1], min(theirs))
            passes = [[_first(t, best + e) for e in DISTANCES] for t in (ours, theirs)]
            ratios.append(np.divide(passes[1], passes[0]))
            said = (" · ".join(map(str, p)) for p in passes)
            print(f"| {n} | {d} | {values} | {K} | {penalty:g} | {' | '.join(said)} |", flush=True)
    means, least = np.exp(np.log(ratios).mean(axis=0)).round(1).tolist(), np.min(ratios, axis=0).round(2).tolist()
    print(f"\nL-BFGS / ours at {DISTANCES} nats a row: geometric means {means}, least {least}")


def _first(trace, enough):
    """The pass at which L was first so low."""
    return int(np.argmax(np.minimum.accumulate(trace) <= enough)) + 1


if __name__ == "__main__":
    main()
