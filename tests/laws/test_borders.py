"""Parameters that no table of constraints checks: their borders are taken or refused as their errors say."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import typer

import posteriori as po
from posteriori import em
from posteriori.cli.main import _price
from posteriori.decision.decide import _covering
from posteriori.leaderboard.compare import _check
from posteriori.network.findings import _vector
from posteriori.network.learn import Smoothing
from posteriori.smoothing.theta import MOST_SMOOTHING
from posteriori.structure.climb import MOST_STEPS, check_steps
from posteriori.structure.independence import Independence
from posteriori.structure.rules import watched
from posteriori.structure.scores import MOST_ESS, Scored
from posteriori.structure.trust import ArcConfidence

CODES = np.array([[0, 1, 0, 1, 1, 0]], dtype=np.uint8)
DATA = {"a": CODES[0], "b": CODES[0]}
LEAST, BELOW_1, ABOVE_1 = math.ulp(0.0), math.nextafter(1, 0), math.nextafter(1, 2)
DAG = po.Dag(["a", "b"])
CURVE = SimpleNamespace(coverage=np.array([0.5, 1.0]))


def fitted():
    return po.NaiveBayes(kinds="categorical").fit(CODES.T, [0, 1, 0, 1, 0, 1])


def limited(seconds):
    with watched(False, seconds):
        pass


CASES = {  # what takes the number, what is taken, what is refused
    "tabu": (lambda v: check_steps(v, 0), [0, 1, MOST_STEPS], [-1, MOST_STEPS + 1, True, 1.0]),
    "restarts": (lambda v: check_steps(0, v), [0, 1, MOST_STEPS], [-1, MOST_STEPS + 1, True, 1.0]),
    "time_limit": (limited, [None, 0, 1e9], [-LEAST, "1", math.nan]),
    "threshold": (ArcConfidence(("a", "b"), {("a", "b"): 1.0}, 2).averaged, [0, 0.5, 1], [-LEAST, ABOVE_1, True]),
    "smoothing of folds": (lambda v: po.cross_validate(DATA, DAG, folds=2, smoothing=v), [1e-9, 1], [0, -1, math.inf]),
    "alpha": (lambda v: Independence(Scored(CODES, (2,)), "g2", v), [LEAST, BELOW_1], [0, 1, -0.5, True, "0.5"]),
    "ess": (lambda v: Scored(CODES, (2,), "bdeu", v), [1 / MOST_ESS, 1, MOST_ESS], [LEAST, 2 * MOST_ESS, "1"]),
    "ess at all": (lambda v: Scored(CODES, (2,), "bdeu", v), [1], [0, math.inf]),
    "decay factor": (lambda v: fitted().decay(v), [1e-9, 1], [0, ABOVE_1, -1]),
    "level": (lambda v: fitted().credible_intervals(v), [1e-9, BELOW_1], [0, 1, -1]),
    "tol": (lambda v: em._check(v, 1, None), [0, 1e300], [-LEAST, math.inf, math.nan]),
    "max_iter": (lambda v: em._check(0, v, None), [1, 2], [0, 1.5]),
    "smoothing": (Smoothing, [0, 1, MOST_SMOOTHING], [-LEAST, 1.001 * MOST_SMOOTHING, None]),
    "temperature": (lambda v: po.tempered([[0.5, 0.5]], v), [1e-9, 1, 1e300], [0, math.inf, True, "1"]),
    "coverage": (lambda v: _covering(CURVE, v), [LEAST, 1], [0, ABOVE_1]),
    "price": (_price, [None, LEAST, 1e300], [0, math.inf]),
    "likelihood": (lambda v: _vector("a", {0: 1, 1: v}, (0, 1)), [0, 1e300], [-LEAST, math.inf, math.nan]),
    "folds": (lambda v: _check(v, 0, None, None), [None, 2, 3], [1, 0, True, 2.0]),
    "seed": (lambda v: _check(2, v, None, None), [0, 2**32 - 1], [-1, 2**32, True]),
    "seconds": (lambda v: _check(2, 0, v, None), [None, 0, 0.5], [-LEAST, "1"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_borders_are_taken_and_what_lies_beyond_is_refused(name):
    call, taken, refused = CASES[name]
    for value in taken:
        call(value)
    for value in refused:
        with pytest.raises(
            (ValueError, typer.BadParameter), match="positive number" if name == "ess at all" else r"[Gg]ot "
        ):
            call(value)
