"""One of every model that a file can hold, on one small mixed table, and rows to ask it about."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

import posteriori as po


def table(n=90, seed=0):
    """Mixed columns with missing cells, classes by name, points and a target."""
    rng = np.random.default_rng(seed)
    cells = pd.DataFrame(
        {
            "sky": rng.choice(["blue", "grey", "green"], n),
            "warm": rng.integers(0, 2, n).astype(bool),
            "wind": rng.normal(size=n),
            "rain": rng.normal(size=n) ** 2,
            "day": pd.Categorical(rng.choice(["mo", "tu", "we"], n), categories=["mo", "tu", "we", "th"]),
        }
    )
    cells.loc[::7, "wind"] = np.nan
    cells.loc[::11, "sky"] = None
    return cells, rng.choice(["in", "out", "off"], n), rng.normal(size=(n, 3))


X, y, P = table()
COUNTS = {
    "naive": lambda: po.NaiveBayes().fit(X, y),
    "naive weighted": lambda: po.NaiveBayes(density="kernel").fit(X, y, sample_weight=np.linspace(0.1, 2, len(y))),
    "naive text": lambda: po.NaiveBayes(kinds={"note": "text"}).fit(
        {"note": ["a b", "b c", "a"] * 3}, ["x", "y", "z"] * 3
    ),
    "naive counts": lambda: po.NaiveBayes(kinds="count").fit(np.arange(12).reshape(6, 2) % 5, [0, 1] * 3),
    "naive prior": lambda: po.NaiveBayes(prior={"in": 0.2, "out": 0.3, "off": 0.5}, density={"wind": "binned"}).fit(
        X, y
    ),
    "naive hidden": lambda: po.NaiveBayes(unlabelled=None, density="gaussian").fit(X, [None, *y[1:]]),
    "spode": lambda: po.SPODE().fit(X, y),
    "spode told": lambda: po.SPODE(super_parent="sky").fit(X, y),
    "tan": lambda: po.TAN(cuts="quantile", bins=3).fit(X, y),
    "aode": lambda: po.AODE(cuts="quantile", bins=3, min_frequency=1).fit(X, y),
    "lazy": lambda: po.AODE(lazy=True).fit(X, y),
    "a2de": lambda: po.A2DE(cuts="quantile", bins=2).fit(X, y),
    "kdb": lambda: po.KDB(cuts="quantile", bins=3).fit(X, y),
    "kdb selected": lambda: po.KDB(select=True, k="auto").fit(X, y),
}


def made(name, known=None):
    """The model of a name, freshly fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (known or ALL)[name]()


ALL = {**COUNTS}
