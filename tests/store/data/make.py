"""Writes the files of this release that later ones must read: `python -m tests.store.data.make`; run once a format."""

from __future__ import annotations

import json
import pathlib

import numpy as np

import posteriori as po
from posteriori.store.file import FORMAT

HERE = pathlib.Path(__file__).parent
ROWS = {"sky": ["blue", "grey", None, "green"], "wind": [1.0, -0.5, 2.0, None], "warm": [True, False, True, True]}


def models():
    """Small models of several rooms, by name."""
    rng = np.random.default_rng(2024)
    X = {"sky": rng.choice(["blue", "grey"], 24), "wind": rng.normal(size=24).round(2), "warm": rng.random(24) < 0.5}
    y = rng.choice(["in", "out"], 24)
    return {
        "naive": po.NaiveBayes(density="gaussian").fit(X, y),
        "tan": po.TAN(cuts="quantile", bins=2).fit(X, y),
        "forest": po.BayesForest(n_trees=4, n_members=2, random_state=4).fit(X, y),
        "risk": po.RiskClassifier(po.AODE(min_frequency=1), loss={"in": 1, "out": 4}, reject=0.9).fit(X, y),
    }


if __name__ == "__main__":
    said = {}
    for name, model in models().items():
        po.save(model, HERE / f"{name}-{FORMAT}.posteriori")
        said[name] = model.predict_proba(ROWS).tolist()
    po.save(po.networks.asia(), HERE / f"asia-{FORMAT}.posteriori")
    (HERE / f"posteriors-{FORMAT}.json").write_text(json.dumps(said, indent=1))
