"""Tables that the tests of grown models share."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

IRIS = load_iris(return_X_y=True)


def mixed(n=200, seed=0):
    """Words, numbers and truth values, some of them missing; classes "yes", "no" and, at random, "other"."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "word": rng.choice(["a", "b", "c", "d"], n).astype(object),
            "number": rng.normal(size=n),
            "flag": rng.integers(0, 2, n).astype(bool),
            "noise": rng.normal(size=n),
        }
    )
    X.loc[rng.random(n) < 0.1, "word"] = None
    X.loc[rng.random(n) < 0.1, "number"] = np.nan
    y = np.where((X["word"] == "a") | (X["number"] > 0.5), "yes", "no")
    return X, np.where(rng.random(n) < 0.1, "other", y)
