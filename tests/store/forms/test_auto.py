"""What a pool in a file must hold: the parts it names, an exponent of each, points of the columns there are."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import posteriori as po
from posteriori.forest.linear import Landmarks

from .refusals import judged, remade

RNG = np.random.default_rng(0)
X = {"x": RNG.normal(size=90), "z": RNG.normal(size=90), "w": RNG.choice(["u", "v", "t"], 90).tolist()}
Y = np.digitize(X["x"] + 0.5 * RNG.normal(size=90), [-0.5, 0.5])


@cache
def fitted():
    """A pool in which every part has its say, whatever exponent was found."""
    return po.AutoBayes(n_trees=6, n_members=3, random_state=0).fit(X, Y)


@cache
def whole():
    """A pool with every part that fit may leave out."""
    pool = fitted().grown_
    assert pool.linear is not None
    assert pool.landmarks is not None
    return pool


def other(name, *at, value):
    """An array of the field with another number."""

    def change(held):
        array = np.array(getattr(held, name))
        array[at] = value
        return {name: array}

    return change


def shorter(name, axis=0):
    return lambda held: {name: np.delete(getattr(held, name), 0, axis)}


def test_the_same_answers_to_the_last_bit():
    model, made = fitted(), remade(fitted())
    assert np.array_equal(made.predict_proba(X), model.predict_proba(X))
    assert made.exponents_ == model.exponents_
    assert [row.part for row in made.parts_] == [row.part for row in model.parts_]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: {"parts_": m.parts_[:-1]}, "a row of every part"),
        (lambda m: {"parts_": m.parts_[::-1]}, None),
        (lambda m: {"parts_": (*m.parts_[:-1], m.parts_[0])}, "a row of every part"),
        (shorter("oob_decision_function_"), None),
        ({"oob_score_": float("nan")}, None),
    ],
)
def test_an_estimator(change, said):
    judged(fitted(), change, said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (shorter("prior"), "a prior must sum to one"),
        (other("prior", 0, value=2.0), "a prior must sum to one"),
        (other("exponents", 0, value=4.0), None),
        (other("exponents", 0, value=4.0000001), "no larger than 4"),
        (other("exponents", -1, value=-4.0000001), "no larger than 4"),
        ({"noise": 0.5}, None),
        (lambda p: {"landmarks": replace(p.landmarks, at=p.landmarks.at[:, 1:])}, "landmarks of other points"),
        (lambda p: {"landmarks": replace(p.landmarks, at=p.landmarks.at[1:])}, "weights of other landmarks"),
        ({"landmarks": None}, "a kernel must have its landmarks"),
        ({"concentration": -1e-300}, "must not be negative"),
        ({"concentration": 0.0}, None),
        (lambda p: {"names": p.names[1:], "exponents": p.exponents[1:]}, "the parts it names"),
        (lambda p: {"names": (*p.names, p.names[0]), "exponents": np.append(p.exponents, 1.0)}, "named once"),
        ({"trees": None}, "the parts it names"),
        ({"linear": None}, "the parts it names"),
        ({"points": None}, "linear models must have points"),
        (lambda p: {"linear": replace(p.linear, B=p.linear.B[1:])}, "weights of other points"),
        (lambda p: {"linear": replace(p.linear, B=p.linear.B[:, 1:], b=p.linear.b[1:])}, "weights of other points"),
        (lambda p: {"trees": replace(p.trees, counts=p.trees.counts[:, 1:])}, "trees of other classes"),
        (lambda p: {"trees": replace(p.trees, counts=p.trees.counts.astype(float))}, "trees of other classes"),
        (
            lambda p: {"trees": replace(p.trees, column=np.where(p.trees.column < 0, -1, 3))},
            "question must be of a column",
        ),
        (
            lambda p: {"trees": replace(p.trees, cut=np.full_like(p.trees.cut, 10**6))},
            "must be of values of its column",
        ),
        (lambda p: {"trees": replace(p.trees, counts=-p.trees.counts)}, "counts must not be negative"),
        (lambda p: {"points": replace(p.points, places=p.points.places[1:])}, "points of other columns"),
        (
            lambda p: {"points": replace(p.points, places=(p.points.places[0][1:], *p.points.places[1:]))},
            "points of other columns or values",
        ),
        (lambda p: {"points": replace(p.points, sd=np.ones(3))}, "a deviation of names"),
        (
            lambda p: {"schema": replace(p.schema, columns=p.schema.columns[::-1])},
            "those of the coding",
        ),
    ],
)
def test_a_pool(change, said):
    judged(whole(), change, said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (shorter("centre"), "a mean of every coordinate"),
        (other("centre", 0, value=1.0), None),
        (lambda p: {"places": tuple(np.where(q >= 0, len(q), q) for q in p.places)}, "a coordinate of the column"),
    ],
)
def test_points(change, said):
    judged(whole().points, change, said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: {"B": p.B[:, :0], "b": p.b[:0]}, "there must be a class"),
        (other("B", 0, 0, value=1e30), None),
    ],
)
def test_a_linear_model(change, said):
    judged(whole().linear, change, said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: {"at": p.at[:0]}, "there must be a landmark"),
        (other("at", 0, 0, value=1e30), None),
        ({"v": 1e-30}, None),
        ({"v": 1e30}, None),
    ],
)
def test_landmarks(change, said):
    judged(Landmarks.draw(np.eye(3), 1.0), change, said)
