"""Worked examples of the textbooks, to the printed figures."""

from __future__ import annotations

import math
import pathlib

import numpy as np
import pandas as pd
import pytest

import posteriori as po

MELONS = pathlib.Path(__file__).parents[2] / "examples" / "data" / "melons.csv"


@pytest.fixture
def fifteen() -> tuple[pd.DataFrame, list[int]]:
    frame = pd.DataFrame({"x1": [1] * 5 + [2] * 5 + [3] * 5, "x2": list("SMMSSSMMLLLMMLL")})
    return frame, [-1, -1, 1, 1, -1, -1, -1, 1, 1, 1, 1, 1, 1, 1, -1]


@pytest.mark.parametrize(("smoothing", "bad", "good"), [(0, 1 / 15, 1 / 45), (1, 0.0610, 0.0327)])
def test_fifteen_rows(fifteen, smoothing, bad, good):
    model = po.NaiveBayes(smoothing=smoothing, kinds="categorical").fit(*fifteen)
    joint = np.exp(model.predict_joint_log_proba(pd.DataFrame({"x1": [2], "x2": ["S"]})))[0]
    assert joint == pytest.approx([bad, good], abs=5e-5)
    assert model.predict({"x1": 2, "x2": "S"}).tolist() == [-1]
    if smoothing == 0:
        assert joint == pytest.approx([1 / 15, 1 / 45], rel=1e-12)


def by_hand(rows: pd.DataFrame, x: dict, lam: float, ddof: int) -> dict[str, float]:
    """log P(y, x) of the mixed model, term by term."""
    out = {}
    for y, part in rows.groupby("good"):
        log = math.log((len(part) + lam) / (len(rows) + 2 * lam))
        for column in rows.columns[:6]:
            log += math.log(((part[column] == x[column]).sum() + lam) / (len(part) + rows[column].nunique() * lam))
        for column in ("density", "sugar"):
            mean, sd = part[column].mean(), part[column].std(ddof=ddof)
            log += -0.5 * ((x[column] - mean) / sd) ** 2 - math.log(sd * math.sqrt(2 * math.pi))
        out[y] = log
    return out


@pytest.mark.parametrize(("lam", "ddof"), [(1.0, 0), (1.0, 1), (0.5, 1)])
def test_melons_by_hand(lam, ddof):
    table = po.read(MELONS, target="good")
    rows = pd.read_csv(MELONS)
    model = po.NaiveBayes(smoothing=lam, ddof=ddof, density="gaussian").fit(table.X, table.y)
    for i in range(len(rows)):
        x = rows.iloc[i].to_dict()
        expected = by_hand(rows, x, lam, ddof)
        x.pop("good")
        found = model.predict_joint_log_proba(x)[0]
        assert found == pytest.approx([expected["no"], expected["yes"]], rel=1e-12)


def test_melons_printed_figures():
    """The familiar densities 1.959, 1.203, 0.788, 0.066 use n − 1; without smoothing good is 0.052, bad 6.80e-5."""
    table = po.read(MELONS, target="good")
    model = po.NaiveBayes(smoothing=0, ddof=1, density="gaussian").fit(table.X, table.y)
    first = {k: v for k, v in table.X.iloc[0].items()}
    no, yes = np.exp(model.predict_joint_log_proba(first))[0]
    assert yes == pytest.approx(0.052, abs=5e-4)
    assert no == pytest.approx(6.80e-5, rel=1e-2)  # the printed product is of rounded factors
    parts = np.exp(model._log_parts(first)[1])[0]
    assert parts[6] == pytest.approx([1.203, 1.959], abs=1e-3)
    assert parts[7] == pytest.approx([0.066, 0.788], abs=1e-3)


def test_laplace_on_melons():
    """P̂(good) = 9/19, P̂(green|good) = 4/11, P̂(green|bad) = 4/12."""
    table = po.read(MELONS, target="good")
    shown = po.NaiveBayes().fit(table.X, table.y).tables_
    assert shown["class"]["P"].to_dict() == pytest.approx({"no": 10 / 19, "yes": 9 / 19})
    assert shown["color"].loc["green"].to_dict() == pytest.approx({"no": 4 / 12, "yes": 4 / 11})
