"""What the density of a numeric column is worth: 5-fold log loss of naive Bayes on a folder of tables.

    python benchmarks/accuracy_densities.py FOLDER [name ...]

FOLDER holds the tables as CSV (the class last) and index.csv with the columns name, file, task and types, a letter a
column: n numeric, c categorical, t text. Classification tables without text are used. The folds are fixed (stratified,
shuffled, seed 0); classes with fewer than 5 rows are dropped, tables over 20,000 rows are cut to a seeded 20,000, and
probabilities are clipped at 1e-15. Without names the summary goes into RESULTS.md.
"""

from __future__ import annotations

import csv
import pathlib
import sys
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from harness import record
from sklearn.model_selection import StratifiedKFold

import posteriori as po

DENSITIES = ("gaussian", "binned", "kernel", "auto")
MANY = 100  # rows from which a table is held to the rule
SHARE, NATS = 1.05, 0.01  # how far "auto" may lie above the better of "gaussian" and "binned"


def load(folder: pathlib.Path, row: dict[str, str]) -> tuple[Any, Any, dict[str, str]]:
    """(X, y, kinds) of a table."""
    table = pd.read_csv(folder / row["file"], keep_default_na=False, na_values=[""], dtype=str)
    *names, target = table.columns
    kinds = {name: "numeric" if t == "n" else "categorical" for name, t in zip(names, row["types"])}
    for name in names:
        if kinds[name] == "numeric":
            table[name] = pd.to_numeric(table[name])
    table = _common(table[table[target].notna()], target)
    if len(table) > 20_000:
        table = _common(table.sample(20_000, random_state=0), target)
    table = table.reset_index(drop=True)
    return table[names], pd.factorize(table[target], sort=True)[0], kinds


def _common(table: Any, target: str) -> Any:
    """The rows of classes with at least 5 rows."""
    return table[table[target].map(table[target].value_counts()) >= 5]


def log_loss(X: Any, y: Any, kinds: dict[str, str], density: str) -> float:
    """Mean −ln P(y|x) over five folds."""
    losses = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        model = po.NaiveBayes(kinds=kinds, density=density).fit(X.iloc[train], y[train])
        p = np.zeros((len(test), y.max() + 1))
        p[:, model.classes_] = model.predict_proba(X.iloc[test])
        p = np.clip(p, 1e-15, 1)
        losses.append(-np.log(p[np.arange(len(test)), y[test]] / p.sum(axis=1)))
    return float(np.concatenate(losses).mean())


def main() -> None:
    warnings.simplefilter("ignore")
    folder, *names = sys.argv[1:]
    with open(pathlib.Path(folder) / "index.csv") as file:
        index = [r for r in csv.DictReader(file) if r["task"] == "classification" and "t" not in r["types"]]
    found: dict[str, tuple[int, dict[str, float]]] = {}
    for row in sorted(index, key=lambda r: int(r["rows"])):
        if names and row["name"] not in names:
            continue
        X, y, kinds = load(pathlib.Path(folder), row)
        losses, seconds = {}, {}
        for density in DENSITIES:
            begin = time.perf_counter()
            losses[density] = log_loss(X, y, kinds, density)
            seconds[density] = time.perf_counter() - begin
        found[row["name"]] = len(y), losses
        said = "  ".join(f"{d} {losses[d]:.4f} ({seconds[d]:.1f} s)" for d in DENSITIES)
        print(f"{row['name']:20} {len(y):6}  {said}", flush=True)
    means = {d: float(np.mean([losses[d] for _, losses in found.values()])) for d in DENSITIES}
    above = [
        f"{name} ({losses['auto']:.3f} against {better:.3f})"
        for name, (n, losses) in found.items()
        if n > MANY
        and losses["auto"] > SHARE * (better := min(losses["gaussian"], losses["binned"]))
        and losses["auto"] > better + NATS
    ]
    rows = [[d, f"{means[d]:.4f}"] for d in DENSITIES]
    notes = (
        f"{len(found)} tables, 5 folds. Tables of over {MANY} rows on which `auto` lies more than {SHARE - 1:.0%} and "
        f"{NATS} above the better of `gaussian` and `binned`: {', '.join(above) or 'none'}."
    )
    if names:
        print(means, notes, sep="\n")
    else:
        record(
            "The density of numeric columns",
            "python benchmarks/accuracy_densities.py FOLDER",
            ["density", "mean log loss"],
            rows,
            notes,
        )


if __name__ == "__main__":
    main()
