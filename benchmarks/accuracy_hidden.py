"""What rows without a label are worth, and mixtures as class densities, on a folder of tables.

    python benchmarks/accuracy_hidden.py FOLDER [labels|mixtures] [name ...]

FOLDER is as in accuracy_densities.py; tables of 80 to 13,000 rows are used, and classes of at least 5 rows.

labels: 70% of the rows are for training, of which 12, 30 or 100 keep their label (at least one of every class; the tables
that are at least twice as large), drawn by five seeds. `NaiveBayes` learned from the labels alone, from all rows with the
weight that it chooses, and from all rows that weigh one each, is judged on the other 30%: log loss (probabilities are
clipped at 1e-15) and error. mixtures: `MixtureBayes()` beside `GaussianBayes(shrinkage=0.01)` and `NaiveBayes()` on the
numeric columns, 5 folds. Without names the summaries go into RESULTS.md.
"""

from __future__ import annotations

import csv
import pathlib
import sys
import time
import warnings
from typing import Any

import numpy as np
from accuracy_densities import load
from harness import record
from sklearn.model_selection import StratifiedKFold

import posteriori as po

LABELS, SEEDS = (12, 30, 100), 5
SHARE, NATS = 1.2, 0.1  # how far the default may lie above the labels alone


def split(y: Any, labels: int, seed: int) -> tuple[Any, Any, Any]:
    """(rows to train on, rows to judge by, those of the first that keep their label)."""
    rng, K = np.random.default_rng([seed, labels]), int(y.max()) + 1
    test = np.zeros(len(y), dtype=bool)
    for k in range(K):
        mine = rng.permutation(np.flatnonzero(y == k))
        test[mine[: max(1, int(0.3 * len(mine)))]] = True
    order = rng.permutation(np.flatnonzero(~test))
    first = [order[y[order] == k][0] for k in range(K)]
    rest = order[~np.isin(order, first)]
    return np.flatnonzero(~test), np.flatnonzero(test), np.concatenate([first, rest[: max(labels - K, 0)]])


def judged(model: Any, X: Any, y: Any, K: int) -> tuple[float, float]:
    """(log loss, error)."""
    p = np.zeros((len(y), K))
    p[:, model.classes_] = model.predict_proba(X)
    p = np.clip(p, 1e-15, 1)
    own = p[np.arange(len(y)), y] / p.sum(axis=1)
    return float(-np.log(own).mean()), float((p.argmax(axis=1) != y).mean())


def of_labels(X: Any, y: Any, kinds: dict[str, str], labels: int) -> dict[str, Any]:
    """(log loss, error, weight) of each way to learn, by seed."""
    found: dict[str, list[tuple[float, ...]]] = {"labels alone": [], "chosen": [], "one": []}
    K = int(y.max()) + 1
    for seed in range(SEEDS):
        train, test, known = split(y, labels, seed)
        marked = np.full(len(y), -1)
        marked[known] = y[known]
        alone = po.NaiveBayes(kinds=kinds).fit(X.iloc[known], y[known])
        found["labels alone"].append((*judged(alone, X.iloc[test], y[test], K), 0.0))
        for name, weight in (("chosen", "auto"), ("one", 1.0)):
            model = po.NaiveBayes(kinds=kinds, unlabelled=-1, unlabelled_weight=weight).fit(
                X.iloc[train], marked[train]
            )
            chosen = getattr(model, "unlabelled_weight_", 1.0)
            found[name].append((*judged(model, X.iloc[test], y[test], K), chosen))
    return {name: np.array(rows) for name, rows in found.items()}


def labels_on(tables: list[tuple[str, Any]]) -> tuple[list[list[str]], str]:
    rows: dict[int, dict[str, list[Any]]] = {m: {} for m in LABELS}
    above = []
    for name, (X, y, kinds) in tables:
        for m in LABELS:
            if m < y.max() + 1 or m > 0.42 * len(y):
                continue
            begin = time.perf_counter()
            found = of_labels(X, y, kinds, m)
            said = "  ".join(f"{way} {r[:, 0].mean():6.3f} {r[:, 1].mean():.3f}" for way, r in found.items())
            some = (found["chosen"][:, 2] > 0).sum()
            print(
                f"{name:18} {len(y):6} {m:4}  {said}  {some} of {SEEDS}  {time.perf_counter() - begin:.1f} s",
                flush=True,
            )
            for way, r in found.items():
                rows[m].setdefault(way, []).append(r)
            alone, chosen = (found[way][:, 0].mean() for way in ("labels alone", "chosen"))
            if chosen > SHARE * alone and chosen > alone + NATS:
                above.append(f"{name} with {m} ({chosen:.2f} against {alone:.2f})")
    shown = []
    for m, ways in rows.items():
        for way, many in ways.items():
            every = np.concatenate(many)
            taken = f"{(every[:, 2] > 0).mean():.0%}" if way == "chosen" else ""
            shown.append([str(m), way, str(len(many)), f"{every[:, 0].mean():.3f}", f"{every[:, 1].mean():.3f}", taken])
    notes = (
        f"{SEEDS} seeds. Tables on which the chosen weight lies more than {SHARE - 1:.0%} and {NATS} above the labels "
        f"alone: {', '.join(above) or 'none'}."
    )
    return shown, notes


def mixtures_on(tables: list[tuple[str, Any]]) -> tuple[list[list[str]], str]:
    models = {
        "MixtureBayes()": lambda: po.MixtureBayes(random_state=0),
        "MixtureBayes(3, reg_covar=1e-6)": lambda: po.MixtureBayes(3, reg_covar=1e-6, random_state=0),
        "GaussianBayes(shrinkage=0.01)": lambda: po.GaussianBayes(shrinkage=0.01),
        "NaiveBayes()": lambda: po.NaiveBayes(),
        'NaiveBayes(density="gaussian")': lambda: po.NaiveBayes(density="gaussian"),
    }
    found: dict[str, list[Any]] = {name: [] for name in models}
    for name, (X, y, kinds) in tables:
        numbers = [c for c in X if kinds[c] == "numeric"]
        matrix = X[numbers].to_numpy(float)
        if len(numbers) < 2:
            continue
        matrix = np.where(np.isnan(matrix), np.nanmedian(matrix, axis=0), matrix)
        matrix = matrix[:, matrix.std(axis=0) > 0]
        begin, K = time.perf_counter(), int(y.max()) + 1
        said = []
        for way, make in models.items():
            folds = StratifiedKFold(5, shuffle=True, random_state=0).split(matrix, y)
            try:
                each = [judged(make().fit(matrix[a], y[a]), matrix[b], y[b], K) for a, b in folds]
                found[way].append(np.mean(each, axis=0))
            except po.errors.PosterioriError:
                found[way].append(np.full(2, np.nan))
            said.append(f"{found[way][-1][0]:7.3f} {found[way][-1][1]:.3f}")
        print(
            f"{name:18} {len(y):6} {matrix.shape[1]:3}  {'  '.join(said)}  {time.perf_counter() - begin:.1f} s",
            flush=True,
        )
    shown = []
    for way, many in found.items():
        means = np.array(many)
        worst = np.nanmax(means[:, 0])
        lacking = int(np.isnan(means[:, 0]).sum())
        shown.append([way, *(f"{v:.3f}" for v in np.nanmean(means, axis=0)), f"{worst:.2f}", str(lacking)])
    return shown, f"{len(means)} tables, their numeric columns, the median in missing cells, 5 folds."


def main() -> None:
    warnings.simplefilter("ignore")
    folder, *rest = sys.argv[1:]
    parts = [p for p in ("labels", "mixtures") if p in rest] or ["labels", "mixtures"]
    names = [n for n in rest if n not in ("labels", "mixtures")]
    with open(pathlib.Path(folder) / "index.csv") as file:
        index = [r for r in csv.DictReader(file) if r["task"] == "classification" and "t" not in r["types"]]
    index = [r for r in index if 80 <= int(r["rows"]) <= 13_000 and (not names or r["name"] in names)]
    tables = [(r["name"], load(pathlib.Path(folder), r)) for r in sorted(index, key=lambda r: int(r["rows"]))]
    for part in parts:
        if part == "labels":
            header = ["labels", "weight of a row without one", "tables", "log loss", "error", "above 0"]
            title, (rows, notes) = "Rows without a label", labels_on(tables)
        else:
            header = ["model", "log loss", "error", "worst log loss", "refused"]
            title, (rows, notes) = "Mixtures as class densities", mixtures_on(tables)
        if names:
            print(*(" | ".join(row) for row in [header, *rows]), notes, sep="\n")
        else:
            record(title, f"python benchmarks/accuracy_hidden.py FOLDER {part}", header, rows, notes)


if __name__ == "__main__":
    main()
