"""Forgetting is refitting: after any rows have come and gone a model answers as if it had never seen them, or says why not.

The oracle is a refit, over random learn-forget runs: scales from 1e-150 to 1e150, outliers, large bases, ties, constant
columns, weights, parts that come and go in any order.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import NotLearned, PosterioriError, SingularCovariance, StatisticsError

RUNS = 10_000 if os.environ.get("HYPOTHESIS_PROFILE") == "fuzz" else 150
CLOSE = 1e-3  # of a log-probability, or of its size: what a variance known to 1e-6 and a mean to 1e-5 sd leave
MODELS = {
    "GaussianNB": po.GaussianNB,
    "NaiveBayes(density='gaussian')": lambda: po.NaiveBayes(density="gaussian"),
    "NaiveBayes()": po.NaiveBayes,
    "GaussianBayes": po.GaussianBayes,
    "GaussianBayes(shrinkage=0.1)": lambda: po.GaussianBayes(shrinkage=0.1),
}


def column(rng: np.random.Generator, n: int) -> np.ndarray:
    """Numbers of one scale, with or without outliers, a base, ties."""
    x = rng.normal(size=n)
    if rng.random() < 0.3:
        x = np.round(x * rng.choice([1, 3]))
    if rng.random() < 0.4:
        x = x * np.where(rng.random(n) < 0.2, 10.0 ** rng.integers(1, 10), 1.0)
    if rng.random() < 0.3:
        x = x + 10.0 ** rng.integers(0, 10)
    return x * (10.0 ** rng.integers(-150, 141) if rng.random() < 0.5 else 1.0)


def table(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    n, d, k = int(rng.integers(4, 40)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    y = rng.integers(0, k, n)
    X = np.stack([column(rng, n) for _ in range(d)], axis=1) + (y[:, None] if rng.random() < 0.5 else 0)
    weights = rng.choice([0.25, 0.5, 1.0, 3.0], n) if rng.random() < 0.2 else None
    return X, y, weights


def said(model: Any, X: np.ndarray) -> Any:
    """log P(y, x), or the name of the error: a singular class is one whichever way it came to be."""
    try:
        return model.predict_log_proba(X), model.classes_.tolist()
    except SingularCovariance:
        return None


def part(w: np.ndarray | None, rows: np.ndarray) -> dict[str, Any]:
    return {} if w is None else {"sample_weight": w[rows]}


def one_run(make: Any, seed: int) -> str:
    """Learn all in parts, forget some in parts; how it ended: "forgotten", "refused" or "none"."""
    rng = np.random.default_rng(seed)
    X, y, w = table(rng)
    stay = rng.random(len(y)) < rng.choice([0.1, 0.5, 0.9])
    gone = np.array_split(rng.permutation(np.flatnonzero(~stay)), rng.integers(1, 4))
    if not stay.any() or not all(len(rows) for rows in gone):
        return "none"
    order, model = rng.permutation(len(y)), make()
    try:
        first, *more = np.array_split(
            order, 1 if make is po.GaussianNB else rng.integers(1, 4)
        )  # whose classes are fixed
        model.fit(X[first], y[first], **part(w, first))
        for rows in more:
            model.partial_fit(X[rows], y[rows], **part(w, rows))
        again = make().fit(X[stay], y[stay], **part(w, stay))
    except PosterioriError:
        return "none"  # numbers whose squares overflow
    try:
        for rows in gone:
            model.forget(X[rows], y[rows], **part(w, rows))
    except NotLearned as error:
        raise AssertionError(f"seed {seed}: rows that were learned are taken for strangers: {error}") from error
    except StatisticsError as error:
        if "fit again" not in str(error) and "last row" not in str(error):
            raise
        return "refused"
    if w is not None:  # rows of no weight leave their class behind, as declared by nobody
        assert set(model.classes_) <= set(y)
    mine, theirs = said(model, X[stay]), said(again, X[stay])
    if mine is None or theirs is None:
        assert mine is None, f"seed {seed}: a class without a covariance answers after forgetting"
        return "refused"
    if mine[1] == theirs[1]:
        np.testing.assert_allclose(mine[0], theirs[0], rtol=CLOSE, atol=CLOSE, err_msg=f"seed {seed}")
    return "forgotten"


@pytest.mark.parametrize("name", MODELS)
def test_forgetting_is_refitting_or_refused(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = [one_run(MODELS[name], seed) for seed in range(RUNS)]
    assert ends.count("forgotten") > 0.25 * len(ends)  # refusals are for what cannot be told, not the rule


def test_what_heavy_rows_leave_of_light_ones_is_known_or_refused() -> None:
    """A weight of 1e6 goes, lighter rows stay about a mean far away: what is said of them is right, or refused."""
    rng, forgotten = np.random.default_rng(0), 0
    for make in (lambda: po.NaiveBayes(density="gaussian", smoothing=0.0), po.GaussianNB, po.GaussianBayes):
        for spread in (0.3, 1e-2, 1e-3, 2e-4):
            for light in (1e3, 1e1, 1e-1, 1e-2, 1e-3):
                X = np.r_[0.0, 1 + spread * rng.normal(size=10), rng.normal(size=10)][:, None]
                w = np.r_[1e6, rng.uniform(0.9, 1.1, 10) * light, np.full(10, light)]
                y = np.r_[0, np.zeros(10, int), np.ones(10, int)]
                model, again = make().fit(X, y, w), make().fit(X[1:], y[1:], w[1:])
                try:
                    model.forget(X[:1], y[:1], w[:1])
                except NotLearned as error:
                    raise AssertionError("learned rows are called strangers") from error
                except StatisticsError:
                    continue
                forgotten += 1
                a, b = model.predict_log_proba(X[1:11]), again.predict_log_proba(X[1:11])
                np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)
    assert forgotten > 5


def test_two_calls_leave_no_ghost_of_what_went() -> None:
    """What rounding left of a heavy row is no class once the light ones go too, nor a proof of strangers."""
    X, y, forgotten = np.array([["a"], ["b"], ["a"], ["b"]], dtype=object), np.array([0, 0, 1, 1]), 0
    for make in (po.NaiveBayes, po.TAN, po.AODE, po.BayesTree):
        for seed in range(40):
            rng = np.random.default_rng(seed)
            w = np.r_[10.0 ** rng.uniform(3, 6), 10.0 ** rng.uniform(-3, -1), 1.0, 1.0] * rng.uniform(0.5, 1.5, 4)
            model = make().fit(X, y, w)
            try:
                model.forget(X[:1], y[:1], w[:1], keep="questions").forget(X[1:2], y[1:2], w[1:2], keep="questions")
            except NotLearned as error:
                raise AssertionError("learned rows are called strangers") from error
            except StatisticsError:
                continue
            forgotten += 1
            assert model.classes_.tolist() == [1]
    assert forgotten > 100


@pytest.mark.parametrize("told", [{}, {"smoothing": 0.01}, {"variance_floor": 0.0, "ddof": 1}, {"prior": "empirical"}])
def test_no_density_hangs_on_the_last_digit_of_weights(told: dict[str, Any]) -> None:
    """What a row leaves of its class is rows or nothing: what rounding left chose other densities, off by up to 1.

    A few rows of many columns of few numbers, so that classes are left with one value, and weights that fade.
    """
    compared = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y, w = rng.integers(1, 4, (32, 55)).astype(float), rng.integers(0, 3, 32), 0.999 ** np.arange(32)
        gone, order = rng.random(32) < 0.7, rng.permutation(32)
        make = lambda: po.NaiveBayes(**told)  # noqa: E731
        try:
            model = make().fit(X, y, w).forget(X[gone], y[gone], w[gone])
        except StatisticsError:
            continue
        stay, compared = order[~gone[order]], compared + 1
        again = make().fit(X[stay], y[stay], w[stay])
        assert model.density_ == again.density_
        np.testing.assert_allclose(model.predict_proba(X), again.predict_proba(X), rtol=1e-6, atol=1e-9)
    assert compared > 30


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: po.KDB(k=2), {"k": 0}),
        (lambda: po.KDB(k=0), {"k": 2}),
        (po.SPODE, {"super_parent": "a"}),
        (
            lambda: po.BayesNetClassifier("tan"),
            {"structure": po.Dag(["a", "b", "class"], [("class", "a"), ("class", "b")])},
        ),
    ],
)
def test_a_structure_told_after_fit_does_not_hide_the_one_that_stays(make: Any, told: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    a = np.where(rng.random(300) < 0.2, rng.integers(0, 3, 300), y)
    X = {"a": a.astype(str), "b": ((a + y) % 3).astype(str)}
    some = {n: x[:50] for n, x in X.items()}
    with pytest.raises(StatisticsError, match="who depends on whom"):
        make().fit(X, y).set_params(**told).forget(some, y[:50])
    if "k" not in told:  # and one told before is no rows' choice
        make().set_params(**told).fit(X, y).forget(some, y[:50])


@pytest.mark.parametrize("keep", [None, 0, True, b"cuts", [["cuts"]], ["cuts", None]])
def test_rubbish_in_keep_is_named(keep: Any) -> None:
    with pytest.raises(PosterioriError, match="keep is of"):
        po.NaiveBayes().fit([["a"], ["b"]], [0, 1]).forget([["a"]], [0], keep=keep)
