"""Log loss, error and Brier score over a folder of tables, beside what users would pick instead.

    python benchmarks/accuracy.py FOLDER [names …] [--models auto,rf500] [--rows 13000] [--folds 5]
                                  [--peers FILE] [--out FILE]

FOLDER has an `index.csv` with the columns name, file, rows, task and types (a letter a column: n number, c category, t
text; the last column is the class) and the tables it names. Five folds, stratified, shuffled with seed 0; classes of fewer
than five rows are left out, larger tables are cut to a seeded 20,000 rows. A line a table and model; then means, mean ranks
over the tables on which all ran, and the first model against each other one: wins-draws-losses and the p of Wilcoxon's
signed-rank test. `--peers` takes lines of an earlier run (name, model, logloss, error, brier, seconds) instead of running
those models again.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline

SCORES = ("logloss", "error", "brier")
MOST = 20_000
FOREST = {"n_estimators": 500, "n_jobs": 2, "random_state": 0}


def load(folder: Path, row: dict[str, str]) -> tuple[pd.DataFrame, np.ndarray, list[str], list[str]]:
    """(columns, class codes, names of numbers, names of categories)."""
    table = pd.read_csv(folder / row["file"], keep_default_na=False, na_values=[""], dtype=str)
    *names, target = table.columns
    numbers = [c for c, t in zip(names, row["types"]) if t == "n"]
    words = [c for c, t in zip(names, row["types"]) if t == "c"]
    table[numbers] = table[numbers].apply(pd.to_numeric)
    table = enough(table[table[target].notna()], target)
    if len(table) > MOST:
        table = enough(table.sample(MOST, random_state=0), target)
    return table[names].reset_index(drop=True), pd.factorize(table[target], sort=True)[0], numbers, words


def enough(table: pd.DataFrame, target: str) -> pd.DataFrame:
    """Without classes of fewer than five rows."""
    return table[table[target].map(table[target].value_counts()) >= 5]


def encoders(numbers: list[str], words: list[str]) -> dict[str, Any]:
    """What scikit-learn's models need before them."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    narrow = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=250)
    hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return {
        "codes": make_column_transformer((SimpleImputer(strategy="median"), numbers), (codes, words)),
        "passed": make_column_transformer(("passthrough", numbers), (narrow, words)),
        "hot": make_column_transformer((make_pipeline(SimpleImputer(), StandardScaler()), numbers), (hot, words)),
    }


class PrunedTree(ClassifierMixin, BaseEstimator):
    """scikit-learn's tree, its `ccp_alpha` of twelve along the pruning path chosen by five folds."""

    def fit(self, X: Any, y: Any) -> PrunedTree:
        """Choose, then grow."""
        from sklearn.tree import DecisionTreeClassifier

        path = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X, y).ccp_alphas
        alphas = np.unique(np.maximum(np.quantile(path, np.linspace(0, 1, 12)), 0.0))
        folds = min(5, int(np.bincount(y).min()))
        model = DecisionTreeClassifier(random_state=0)
        self.found = GridSearchCV(model, {"ccp_alpha": alphas}, cv=max(2, folds)).fit(X, y)
        self.classes_ = self.found.classes_
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The leaf's shares."""
        return self.found.predict_proba(X)


def models() -> dict[str, Callable[[list[str], list[str]], Any]]:
    """Name → a model for a table of these numbers and categories."""
    import posteriori as po

    def behind(view: str, make: Callable[[int, int], Any]) -> Callable[[list[str], list[str]], Any]:
        return lambda n, w: make_pipeline(encoders(n, w)[view], make(len(n), len(w)))

    def sk(module: str, name: str, **how: Any) -> Callable[[int, int], Any]:
        import importlib

        return lambda n, w: getattr(importlib.import_module(module), name)(**how)

    def hgb(n: int, w: int) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(categorical_features=list(range(n, n + w)) or None, random_state=0)

    ours = {
        "tree": lambda n, w: po.BayesTree(),
        "auto": lambda n, w: po.AutoBayes(random_state=0),
        "forest": lambda n, w: po.BayesForest(random_state=0),
        "boosted": lambda n, w: po.BoostedBayes(random_state=0),
        "discriminative": lambda n, w: po.DiscriminativeNB(),
        "kdb": lambda n, w: po.KDB(),
        "naive": lambda n, w: po.NaiveBayes(),
    }
    return {
        **ours,
        "cart": behind("codes", lambda n, w: PrunedTree()),
        "rf500": behind("codes", sk("sklearn.ensemble", "RandomForestClassifier", **FOREST)),
        "hgb": behind("passed", hgb),
        "lr": behind("hot", sk("sklearn.linear_model", "LogisticRegression", max_iter=500)),
        "lightgbm": behind("passed", sk("lightgbm", "LGBMClassifier", random_state=0, verbose=-1)),
    }


def judged(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The three scores of every row."""
    p = np.clip(p, 1e-15, 1)
    p /= p.sum(axis=1, keepdims=True)
    own = np.arange(len(y)), y
    return np.stack([-np.log(p[own]), p.argmax(axis=1) != y, ((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1)])


def measure(model: Callable[..., Any], X: pd.DataFrame, y: np.ndarray, folds: int, *columns: list[str]) -> list[float]:
    """[log loss, error, Brier, seconds of fitting, of predicting, calibration error] over the first of five folds."""
    import posteriori as po

    found, fit, answer, K = [], 0.0, 0.0, int(y.max()) + 1
    said, tested = np.zeros((len(y), K)), np.zeros(len(y), dtype=bool)
    for train, test in islice(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y), folds):
        start = time.perf_counter()
        fitted = model(*columns).fit(X.iloc[train], y[train])
        middle = time.perf_counter()
        p = np.zeros((len(test), K))
        p[:, fitted.classes_] = fitted.predict_proba(X.iloc[test])
        fit, answer = fit + middle - start, answer + time.perf_counter() - middle
        said[test], tested[test] = p / p.sum(axis=1, keepdims=True), True
        found.append(judged(p, y[test]))
    error = po.calibration_error(said[tested], y[tested], bins=15, classes=np.arange(K))
    return [*np.concatenate(found, axis=1).mean(axis=1).tolist(), fit, answer, error]


def compared(found: dict[str, dict[str, list[float]]], names: list[str]) -> None:
    """Means, ranks and tests."""
    from scipy.stats import rankdata, wilcoxon

    together = [t for t, by in found.items() if all(m in by for m in names)]
    print(f"\n{len(together)} tables on which all ran", *(f"{s:>9}" for s in SCORES), "    ranks", sep="  ")
    scores = np.array([[found[t][m][:3] for m in names] for t in together])
    ranks = rankdata(scores.round(5), axis=1).mean(axis=0)
    for k, m in enumerate(names):
        mine = scores[:, k].mean(axis=0)
        seconds = sum(found[t][m][3] for t in together)
        rest = f"{seconds:8.1f} s"
        if all(len(found[t][m]) > 4 for t in together):
            answer, error = (np.array([found[t][m][i] for t in together]) for i in (4, 5))
            rest += f", predict {answer.sum():.2f} s, calibration error {error.mean():.4f}"
        print(f"{m:24}", *(f"{x:9.4f}" for x in mine), *(f"{x:6.2f}" for x in ranks[k]), rest, sep="  ")
    for m in names[1:]:
        shared = [t for t in found if m in found[t] and names[0] in found[t]]
        gaps = np.array([[a - b for a, b in zip(found[t][names[0]][:3], found[t][m][:3])] for t in shared]).round(5)
        told = []
        for s in range(3):
            gap = gaps[:, s]
            p = wilcoxon(gap).pvalue if np.count_nonzero(gap) > 5 else np.nan
            told.append(f"{SCORES[s]} {(gap < 0).sum()}-{(gap == 0).sum()}-{(gap > 0).sum()} (p {p:.2g})")
        print(f"{names[0]} against {m}, {len(shared)} tables: {'; '.join(told)}")


def main() -> None:
    """Read the arguments, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--models", default="tree,cart")
    parser.add_argument("--rows", type=int, default=13_000)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    run, made = given.models.split(","), models()
    found: dict[str, dict[str, list[float]]] = {}
    order = list(run)
    with open(given.folder / "index.csv") as index:
        rows = [r for r in csv.DictReader(index) if r["task"] == "classification" and "t" not in r["types"]]
    rows = [r for r in rows if (r["name"] in given.names if given.names else int(r["rows"]) <= given.rows)]
    for r in csv.DictReader(given.peers.read_text().splitlines()) if given.peers else ():
        if r["logloss"] and r["model"] not in run:
            order += [] if r["model"] in order else [r["model"]]
            found.setdefault(r["name"], {})[r["model"]] = [float(r[s]) for s in (*SCORES, "seconds")]
    lines = [",".join(["name", "rows", "model", *SCORES, "seconds", "predict_seconds", "calibration"])]
    for r in sorted(rows, key=lambda r: int(r["rows"])):
        X, y, numbers, words = load(given.folder, r)
        for m in run:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                mine = found.setdefault(r["name"], {})[m] = measure(made[m], X, y, given.folds, numbers, words)
            print(f"{r['name']:24}{len(y):7} {m:10}", *(f"{x:8.4f}" for x in mine[:3]), f"{mine[3]:7.2f} s", flush=True)
            lines.append(",".join([r["name"], str(len(y)), m, *(f"{x:.5f}" for x in mine)]))
            if given.out:
                given.out.write_text("\n".join(lines) + "\n")
    compared({t: by for t, by in found.items() if t in {r["name"] for r in rows}}, order)


if __name__ == "__main__":
    main()
