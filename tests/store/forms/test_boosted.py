"""What boosted trees in a file must hold: as many trees in each fold, numbers whose sums are numbers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import posteriori as po

from .refusals import judged, remade

RNG = np.random.default_rng(0)
X = {"x": RNG.normal(size=80), "w": RNG.choice(["u", "v", "t"], 80).tolist()}
Y = {2: (X["x"] > 0).astype(int), 3: np.digitize(X["x"], [-0.5, 0.5]), 1: np.zeros(80, dtype=int)}


@cache
def fitted(K):
    return po.BoostedBayes(max_rounds=6, random_state=0).fit(X, Y[K])


def trees(**change):
    """Rounds with other trees."""
    return lambda held: {
        "trees": replace(held.trees, **{n: v(getattr(held.trees, n)) for n, v in change.items()}),
    }


def rounds(**change):
    """The answer of a model with other rounds."""
    return lambda held: {
        "rounds": replace(
            held.rounds, **{n: v(getattr(held.rounds, n)) if callable(v) else v for n, v in change.items()}
        )
    }


def one_less(held):
    """All trees but the last."""
    t, nodes = held.trees, int(held.trees.starts[-2])
    return {
        "trees": replace(
            t,
            **{n: getattr(t, n)[:nodes] for n in ("column", "cut", "child", "counts")},
            starts=t.starts[:-1],
            bit_starts=t.bit_starts[:-1],
            bits=t.bits[: t.bit_starts[-2]],
        )
    }


def edge(name, value):
    def change(held):
        array = getattr(held, name).copy()
        array[0] = value
        return {name: array}

    return change


@pytest.mark.parametrize("K", Y)
def test_the_same_answers_to_the_last_bit(K):
    model = fitted(K)
    made = remade(model)
    assert np.array_equal(made.predict_proba(X), model.predict_proba(X))
    assert (made.n_rounds_, made.oob_score_) == (model.n_rounds_, model.oob_score_)
    assert K == 1 or model.n_rounds_ > 0
    for part in (model.grown_, model.grown_.rounds):
        again = remade(part)
        assert type(again) is type(part)


CLASSES = "trees of other classes"
LARGE = "what trees say must have sums that are numbers"
ROUNDS = [
    (3, {"n_classes": 0, "start": np.zeros((5, 1), np.float32)}, "there must be a class"),
    (3, {"n_classes": 2}, CLASSES),
    (3, {"n_classes": 4}, CLASSES),
    (2, {"n_classes": 1}, None),
    (2, {"n_classes": 3}, CLASSES),
    (3, {"start": np.zeros((5, 2), np.float32)}, CLASSES),
    (3, {"start": np.full((5, 3), 1e30, np.float32)}, None),
    (3, trees(counts=lambda c: c[:, :2]), CLASSES),
    (3, trees(counts=lambda c: c.astype(np.float64)), "what a tree says must be narrow"),
    (3, trees(counts=lambda c: np.full_like(c, -1e30)), None),
    (3, trees(counts=lambda c: np.full_like(c, 1.1e30)), LARGE),
    (3, one_less, "there must be as many trees in each fold"),
    (3, {"losses": np.zeros(0)}, "there must be a loss"),
    (3, {"losses": np.zeros(1)}, None),
]


@pytest.mark.parametrize(("K", "change", "said"), ROUNDS, ids=map(str, range(len(ROUNDS))))
def test_the_rounds(K, change, said):
    judged(fitted(K).grown_.rounds, change, said)


SUMMED = [
    (
        3,
        lambda held: {"schema": replace(held.schema, columns=held.schema.columns[::-1])},
        "those of the coding",
    ),
    (3, lambda held: {"schema": replace(held.schema, classes=(0, 1))}, "a prior must sum to one"),
    (3, rounds(n_classes=2), CLASSES),
    (3, rounds(gains=np.zeros(1)), "there must be a gain of each column"),
    (3, rounds(gains=np.zeros(3)), "there must be a gain of each column"),
    (3, rounds(gains=np.zeros(2)), None),
    (3, rounds(trees=lambda t: replace(t, column=np.where(t.column >= 0, 2, -1).astype(np.int32))), "of a column"),
    (3, rounds(trees=lambda t: replace(t, cut=np.full_like(t.cut, 2**31 - 1))), "of values of its column"),
    (3, {"prior": np.array([0.5, 0.5])}, "a prior must sum to one"),
    (3, {"prior": np.array([0.5, 0.5, 1e-8])}, "a prior must sum to one"),
    (3, {"prior": np.array([0.5, 0.5, 1e-10])}, None),
    (3, {"prior": np.array([0.5, 0.5 - 1e-8, 0.0])}, "a prior must sum to one"),
    (3, {"prior": np.array([1.0, 0.0, 0.0])}, None),
    (3, {"exponents": np.array([4.0, -4.0])}, None),
    (3, {"exponents": np.array([np.nextafter(4, 5), 0.0])}, "an exponent is no larger than 4"),
    (3, {"exponents": np.array([0.0, np.nextafter(-4, -5)])}, "an exponent is no larger than 4"),
]


@pytest.mark.parametrize(("K", "change", "said"), SUMMED, ids=map(str, range(len(SUMMED))))
def test_the_answer(K, change, said):
    model = fitted(K)
    made = judged(model.grown_, change, said)
    if made is not None:
        answered = remade(model, {"grown_": made}).predict_proba(X)
        assert np.allclose(answered.sum(axis=1), 1)


def test_trees_that_say_much_are_sums_that_are_numbers():
    model = fitted(3)
    for sign in ([1, 1, 1], [1, -1, 1], [-1, -1, -1]):
        large = trees(counts=lambda c, sign=sign: np.full_like(c, 1e30) * np.array(sign, np.float32))
        made = remade(model.grown_, {"rounds": remade(model.grown_.rounds, large)})
        assert np.allclose(remade(model, {"grown_": made}).predict_proba(X).sum(axis=1), 1)


MODEL = [
    ({"classes_": np.array([2, 1, 0])}, "classes_ must be the classes of the schema"),
    ({"feature_names_in_": np.array(["w", "x"], dtype=object)}, "must be the columns' names"),
    ({"oob_decision_function_": np.ones((0, 3))}, None),
]


@pytest.mark.parametrize(("change", "said"), MODEL, ids=map(str, range(len(MODEL))))
def test_the_model(change, said):
    judged(fitted(3), change, said)
