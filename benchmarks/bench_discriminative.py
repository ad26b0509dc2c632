"""DiscriminativeNB beside logistic regression on the same features: passes over the rows, and seconds of a fit.

    python benchmarks/bench_discriminative.py [FOLDER [rows]]
    python benchmarks/bench_discriminative.py --fit [FOLDER [rows] | ROWSxCOLUMNSxCLASSESxWORDS …]

Passes until the ridged conditional likelihood is near its optimum. The same objective and the same features (one-hot
values) for all: ours begins at naive Bayes and walks in the metric of its rows; SciPy's L-BFGS-B begins at zero, a pass an
evaluation; scikit-learn's LogisticRegression(C=1/λ), for two classes C=2/λ, ends by its own tolerance, after `n_iter_`
steps, and ours is asked how many passes it takes to be as low. Counts, no timings: the same on any machine. With a FOLDER
of tables (as in accuracy.py) on the features that DiscriminativeNB makes of them, C = 1, of tables of 100 to so many rows.

`--fit`: seconds of a fit with the strength of the ridge chosen in five folds: ours of the raw table, reading, cutting and
choosing where the ridge pulls included, and LogisticRegressionCV(Cs=8, cv=5) of the features that we have made, ready as a
dense matrix. Shapes of a grid, WORDS of the columns holding words of five values, or the first fold of each table.
"""

from __future__ import annotations

import csv
import sys
import warnings
from pathlib import Path

import numpy as np
from harness import race
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold

import posteriori as po
from posteriori.bayes.ridge import ByValue, fit_ridge
from posteriori.kernels import normalise

DISTANCES = (1e-2, 1e-3, 1e-4, 1e-6)
SHAPES = (  # rows, columns, classes, columns of words
    (200, 10, 2, 0),
    (200, 50, 15, 50),
    (200, 200, 2, 0),
    (1000, 10, 5, 5),
    (1000, 200, 3, 200),
    (2000, 50, 2, 0),
    (2000, 50, 15, 25),
    (5000, 24, 4, 0),
    (5000, 100, 2, 100),
    (10_000, 10, 15, 10),
    (10_000, 50, 2, 25),
    (50_000, 10, 2, 5),
)


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
    print("| rows | columns | values | classes | λ | passes of ours | of L-BFGS from zero | LogisticRegression |")
    print("|---|---|---|---|---|---|---|---|")
    ratios = [], []
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
    print("| table | rows | features | classes | passes of ours | of L-BFGS from zero | LogisticRegression |")
    print("|---|---|---|---|---|---|---|")
    ratios = [], []
    for name, X, y in tables(folder, 100, most):
        start = po.DiscriminativeNB(penalty=1.0, pull="zero", max_iter=0).fit(X, y)
        design, K = start._read(X), int(y.max()) + 1
        said = raced(design, y, K, 2.0 if K == 2 else 1.0, start._naive(start.statistics_, design), ratios)
        print(f"| {name} | {len(y)} | {design.size} | {K} | {said} |", flush=True)
    summary(ratios)


def tables(folder, least, most):
    """(name, columns, class codes) of the tables of a folder, the smallest first."""
    from accuracy import load

    with open(folder / "index.csv") as index:
        rows = [r for r in csv.DictReader(index) if r["task"] == "classification" and "t" not in r["types"]]
    for r in sorted(rows, key=lambda r: int(r["rows"])):
        if least <= int(r["rows"]) <= most:
            yield r["name"], *load(folder, r)[:2]


def raced(design, y, K, penalty, start, ratios):
    """Passes of both to within each distance of the optimum; their ratios are added to the list."""
    n = len(y)
    ours = fit_ridge(design, y, np.full(n, 1 / n), penalty / n, start, None, 0.0, 1e-13, 500).trace
    theirs = from_zero(design, y, K, penalty / n)
    reached, n_iter = of_sklearn(design, y, K, penalty)
    best = min(ours[-1], min(theirs), reached)
    passes = [[_first(t, best + e) for e in DISTANCES] for t in (ours, theirs)]
    ratios[0].append(np.divide(passes[1], passes[0]))
    same = _first(ours, reached)
    ratios[1].append((n_iter / same, reached - best))
    told = f"{n_iter} to {reached - best:.0e}, ours {same}"
    return " | ".join([*(" · ".join(map(str, p)) for p in passes), told])


def of_sklearn(design, y, K, penalty):
    """(L where scikit-learn ends by itself, its steps)."""
    Z, n = design.dense(), len(y)
    model = LogisticRegression(C=(2 if K == 2 else 1) / penalty, max_iter=5000).fit(Z, y)
    B, b = model.coef_, model.intercept_
    if K == 2:
        B, b = np.concatenate([-B, B]) / 2, np.concatenate([-b, b]) / 2
    eta = Z @ B.T + b
    loss = (np.logaddexp.reduce(eta, axis=1) - eta[np.arange(n), y]).mean() + 0.5 * penalty / n * np.square(B).sum()
    return float(loss), int(model.n_iter_.max())


def summary(ratios):
    """Means and the least."""
    to_zero, (steps, gaps) = np.array(ratios[0]), np.transpose(ratios[1])
    means, least = np.exp(np.log(to_zero).mean(axis=0)).round(1).tolist(), to_zero.min(axis=0).round(2).tolist()
    print(f"\nL-BFGS / ours at {DISTANCES} nats a row: geometric means {means}, least {least}; {len(to_zero)} cells")
    mean, apart = np.exp(np.log(steps).mean()), f"{np.median(gaps):.0e} ({gaps.min():.0e} to {gaps.max():.0e})"
    print(f"LogisticRegression ends {apart} above the optimum; its steps / our passes to be as low: {mean:.1f} in the")
    print(f"geometric mean, at least {steps.min():.2f}")


def drawn(n, d, K, words, seed=0):
    """Numbers and words, as columns; the class follows some of either."""
    rng = np.random.default_rng(seed)
    numbers, names = rng.normal(size=(n, d - words)), rng.integers(0, 5, (n, words))
    scores = numbers[:, :6] @ rng.normal(size=(min(6, d - words), K))
    for j in range(min(words, 12)):
        scores = scores + rng.normal(size=(5, K))[names[:, j]] / 2
    X = {f"x{j}": numbers[:, j] for j in range(d - words)}
    X |= {f"c{j}": np.array(list("abcde"))[names[:, j]] for j in range(words)}
    return X, (scores + rng.gumbel(size=(n, K))).argmax(axis=1)


def timed(X, y, repeat):
    """(features, our seconds, LogisticRegressionCV's)."""
    Z = po.DiscriminativeNB(penalty=1.0, pull="zero", max_iter=0).fit(X, y)._read(X).dense()
    folds = max(2, min(5, int(np.bincount(y).min())))
    theirs = LogisticRegressionCV(Cs=8, cv=folds, l1_ratios=(0,), use_legacy_attributes=False)
    took = race(
        {"ours": lambda: po.DiscriminativeNB().fit(X, y), "theirs": lambda: theirs.fit(Z, y)}, repeat, 20.0, tries=1
    )
    return Z.shape[1], took["ours"], took["theirs"]


def fits(cells, repeat=2):
    """A row for each (name, columns, class codes); at the end the worst."""
    print(
        "| table | rows | features | classes | ours, s | LogisticRegressionCV | ratio |\n|---|---|---|---|---|---|---|"
    )
    ratios, seconds = {}, {}
    for name, X, y in cells:
        f, ours, theirs = timed(X, y, repeat)
        ratios[name], seconds[name] = theirs / ours, ours
        line = f"{len(y)} | {f} | {y.max() + 1} | {ours:.3f} | {theirs:.3f} | {theirs / ours:.1f}×"
        print(f"| {name} | {line} |", flush=True)
    worst, slowest = min(ratios, key=ratios.get), max(seconds, key=seconds.get)
    mean = np.exp(np.mean(np.log(list(ratios.values()))))
    print(f"\n{len(ratios)} tables: LogisticRegressionCV / ours: geometric mean {mean:.1f}, least {ratios[worst]:.2f}")
    print(f"({worst}); ours {sum(seconds.values()):.1f} s in all, {seconds[slowest]:.2f} s at most ({slowest})")


def first_folds(folder, most):
    """The rows that accuracy.py learns from first."""
    for name, X, y in tables(folder, 0, most):
        rows = next(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))[0]
        yield name, X.iloc[rows], y[rows]


def _first(trace, enough):
    """The pass at which L was first so low."""
    return int(np.argmax(np.minimum.accumulate(trace) <= enough)) + 1


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    given = [a for a in sys.argv[1:] if a != "--fit"]
    shapes = [tuple(map(int, a.split("x"))) for a in given if a.replace("x", "").isdigit() and "x" in a]
    if "--fit" in sys.argv and (shapes or not given):
        fits((f"{n:,} × {d}, {words} of words", *drawn(n, d, K, words)) for n, d, K, words in shapes or SHAPES)
    elif "--fit" in sys.argv:
        fits(first_folds(Path(given[0]), int(given[1]) if len(given) > 1 else 13_000), 1)
    elif given:
        of_tables(Path(given[0]), int(given[1]) if len(given) > 1 else 500)
    else:
        main()
