"""The laws of counting on both sides of every limit that the library sets itself: samples, caps, blocks, rows that wait.

Each limit is made small, and tables of half as much, as much, one more, twice and twenty times as much are learned: in
another order, in chunks, by shards, with weights of two, in one thread, from other containers, saved midway; and parts of
them are forgotten, which gives what a fit of the others gives or is refused.
"""

from __future__ import annotations

import importlib
import pathlib
import re
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import posteriori as po
from posteriori.errors import StatisticsError
from posteriori.store.file import from_bytes, to_bytes

SOURCE = pathlib.Path(po.__file__).parent
CUTS = {"x": [-0.5, 0.5], "z": [1.5]}
KINDS = {"x": "numeric", "z": "numeric", "w": "categorical"}


def auto():
    return po.NaiveBayes(kinds=KINDS)


def kernel():
    return po.NaiveBayes(kinds=KINDS, density="kernel")


def binned():
    return po.NaiveBayes(kinds=KINDS, density="binned")


def gaussian():
    return po.NaiveBayes(kinds=KINDS, density="gaussian")


def tan():
    return po.TAN(kinds=KINDS, cuts=CUTS)


def aode():
    return po.AODE(kinds=KINDS, cuts=CUTS)


def lazy():
    return po.AODE(kinds=KINDS, cuts=CUTS, lazy=True, subsumption=True)


def pairs():
    return po.A2DE(kinds=KINDS, cuts=CUTS)


def spode():
    return po.SPODE("w", kinds=KINDS, cuts=CUTS)


def chosen():
    return po.SPODE(kinds=KINDS)


def kdb():
    return po.KDB(k=2, select=True, kinds=KINDS)


def tree():
    return po.BayesTree(kinds=KINDS)


def net():
    return po.BayesNetClassifier("tan", kinds=KINDS)


# limit → (what it is here, the models that meet it); rows, different rows, cells and values of a column all grow with n
LIMITS = {
    "statistics.histogram.LIMIT": (24, [chosen, net]),
    "statistics.histogram.SHARED": (24, [kernel, binned, auto]),
    "statistics.histogram.FEWEST": (24, [kernel, auto]),
    "statistics.histogram.NUMBERS": (192, [kernel, binned]),
    "statistics.histogram.VIEW": (24, [kernel, binned, auto]),
    "statistics.sample.LIMIT": (100, [auto]),
    "statistics.sample.CELLS": (300, [auto]),
    "statistics.collect.SMALL": (24, [gaussian]),
    "statistics.collect.ROWS": (24, [auto]),
    "statistics.joint.WIDE": (24, [tan, aode, kdb, net]),
    "statistics.joint.BATCH": (24, [tan, aode, kdb, net]),
    "bayes.pending.FEWEST": (24, [auto, tan]),
    "bayes.pending.MOST": (24, [auto, tan]),
    "bayes.choice.ROWS": (24, [kdb]),
    "bayes.families.BLOCK": (3000, [tan, kdb]),
    "bayes.super_parents.BLOCK": (3000, [spode, chosen, aode]),
    "bayes.averaged.ROWS": (24, [aode, lazy]),
    "bayes.averaged.STORED": (24, [aode, lazy]),
    "bayes.averaged.IMPLIED": (24, [lazy]),
    "bayes.averaged.LOOKED_UP": (24, [pairs]),
    "bayes.factored.NUMBERS": (24, [auto]),
    "bayes.factored.FOLDED": (24.0, [auto]),
    "table.frame.SHORT": (24, [auto, tan]),
    "table.encode.SHORT": (24, [auto, tan]),
    "table.encode.FEW": (24, [auto, tan]),
    "table.encode.WIDEST_RANGE": (24, [auto, tan]),
    "structure.information.NUMBERS": (300, [tan, kdb]),
    "forest.grown.BINS": (24, [tree]),
}
# Constants of these rooms that part no counts; limits of what is shown, searched or read are tried where they live.
ROOMS = ("statistics", "bayes", "table/frame.py", "table/encode.py", "structure/information.py", "forest/grown.py")
NO_LIMITS = {
    "which rows may wait: tests/bayes/test_learning.py": "bayes.pending: HIGH ROOM",
    "what cannot be counted: tests/statistics": "statistics.collect: EXACT; statistics.moments: SURE",
    "fitted at once": "bayes.ridge: FEW NUMBERS PAIR ROWS MEMORY TRIES; bayes.hidden: DRAWS MOST WORST MAX_ITER TURNS",
    "steps": "bayes.discriminative: STEPS FEWER",
    "read at a time": "bayes.gaussian_bayes: BLOCK; bayes.drop_ins: MANY SAMPLE INDICATOR",
    "scored at a time": "bayes.classifier: FEW",
    "draws": "bayes.numeric: TRIES AT_ONCE",
    "nats, rates, values": "bayes.factored: WORST BINS FEW; bayes.densities: MANY",
}


def table(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers that nearly all differ, and few that do not, words of which many are rare, missing cells; three classes."""
    rng = np.random.default_rng((n, seed))
    y = rng.choice(["a", "b", "c"], n, p=[0.5, 0.4, 0.1])
    y[:2] = "a", "b"
    x = np.where(rng.random(n) < 0.9, np.round(rng.normal(size=n) + (y == "b"), 4), np.nan)
    w = np.array([f"w{v}" for v in rng.geometric(min(0.5, 4 / n), n)], dtype=object)
    return pd.DataFrame({"x": x, "z": rng.integers(0, 4, n).astype(float), "w": w}), y


def said(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict_proba(X)


def same(one, other, X):
    assert one.classes_.tolist() == other.classes_.tolist()
    np.testing.assert_allclose(said(one, X), said(other, X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("times", [0.95, 1.0, 1.05, 20.0])
@pytest.mark.parametrize("limit", LIMITS)
def test_laws_hold_under_at_and_over_every_limit(limit, times, monkeypatch):
    small, makers = LIMITS[limit]
    module, name = limit.rsplit(".", 1)
    monkeypatch.setattr(importlib.import_module(f"posteriori.{module}"), name, small)
    imported = re.compile(rf"^from \.*(\w+\.)*{module.rsplit('.', 1)[-1]} import .*\b{name}\b", re.M)
    for other, found in list(sys.modules.items()):
        ours = other.startswith("posteriori.") and str(found.__file__).endswith(".py")
        if ours and imported.search(pathlib.Path(found.__file__).read_text()):
            monkeypatch.setattr(found, name, small)
    X, y = table(int((100 if "sample" in limit else 24) * times))
    n, rng = len(y), np.random.default_rng(1)
    for make in makers:
        whole, order = make().fit(X, y), rng.permutation(n)
        same(make().fit(X.iloc[order], y[order]), whole, X)
        same(make().set_params(n_jobs=1).fit(X, y), whole, X)
        for other in (pl.from_pandas(X), {c: X[c].tolist() for c in X}):
            same(make().fit(other, y), whole, X)
        same(make().fit(X, y, sample_weight=np.full(n, 2.0)), make().fit(pd.concat([X, X]), np.tile(y, 2)), X)
        a, b = order[: n // 2], order[n // 2 :]
        first, saved = make().fit(X.iloc[a], y[a]), make().fit(X.iloc[a], y[a])
        saved = from_bytes(bytearray(b"".join(map(bytes, to_bytes(saved)))))
        first.partial_fit(X.iloc[b], y[b])
        same(saved.partial_fit(X.iloc[b], y[b]), first, X)
        if make not in (chosen, kdb, tree, net):  # what these choose by the first rows stays
            same(first, whole, X)
            same(make().fit(X.iloc[b], y[b]) + make().fit(X.iloc[a], y[a]), whole, X)
            single = make().fit(X.iloc[a], y[a])
            for i in b[:30]:
                single.partial_fit(X.iloc[[i]], y[[i]])
            same(single.partial_fit(X.iloc[b[30:]], y[b[30:]]) if len(b) > 30 else single, whole, X)
        for stay in (n // 10, n // 2, n - 1):
            forgotten(make, X, y, None, order[:stay], order[stay:])
        forgotten(make, X, y, 10.0 ** rng.uniform(-6, 6, n), a, b)
        forgotten(make, X, y, 0.99 ** np.arange(n), order[:-3], order[-3:])


def forgotten(make, X, y, weights, stay, gone):
    """Forgetting is a fit of what stays, or it is refused and the model stays as it was."""
    w = np.ones(len(y)) if weights is None else weights
    part = lambda rows: {} if weights is None else {"sample_weight": w[rows]}  # noqa: E731
    model = make().fit(X, y, **part(slice(None)))
    before, refused = said(model, X), None
    try:
        model.forget(X.iloc[gone], y[gone], **part(gone))
    except StatisticsError as error:
        refused = str(error)
    if refused is not None:
        assert "keep=" in refused or "fit again" in refused
        np.testing.assert_array_equal(said(model, X), before)
        return
    assert make not in (chosen, kdb, tree, net)
    again = make().fit(X.iloc[stay], y[stay], **part(stay))
    same(model, again, X)
    if model.statistics_.sample is not None:  # by which densities are chosen, seldom differently
        mine, theirs = model.statistics_.sample.view, again.statistics_.sample.view
        np.testing.assert_array_equal(mine.cells, theirs.cells)
        np.testing.assert_allclose(mine.table, theirs.table)


def test_half_of_the_rows_may_go_however_many_there_were():
    X, y = table(40_000)
    model = auto().fit(X, y).forget(X[:16_000], y[:16_000])
    assert model.statistics_.sample.level > 0
    same(model, auto().fit(X[16_000:], y[16_000:]), X[:500])


def test_no_limit_of_counting_is_left_out():
    found = set()
    for file in SOURCE.rglob("*.py"):
        at = file.relative_to(SOURCE).as_posix()
        if not at.startswith(ROOMS):
            continue
        for names, value in re.findall(r"^([A-Z][A-Z_, ]*) = (.*?)(?:  #.*)?$", file.read_text(), re.M):
            parts = value.split(", ") if ", " in names else [value]
            for constant, part in zip(names.split(", "), parts):
                if re.fullmatch(r"[\d_<* .]+", part) and eval(part) >= 10:
                    found.add(f"{at[:-3].replace('/', '.')}.{constant}")
    named = [part.split(": ") for told in NO_LIMITS.values() for part in told.split("; ")]
    known = LIMITS.keys() | {f"{module}.{name}" for module, names in named for name in names.split()}
    assert found == known, found ^ known
