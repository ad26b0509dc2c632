"""A pool of parts: points of the columns there are, linear models of these points, an exponent of every part."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...forest.auto import PARTS, AutoBayes, Pool, PoolPart
from ...forest.forest import MOST_NOISE
from ...forest.grown import Coding
from ...forest.linear import Landmarks, Linear, Points
from .boosted import rounds_fit
from .forest import FRESH, LEARNED, coded, counted, fits, member_fits, of_table
from .form import estimator, finite, floats, ints, need, needs, numbers, of, real, small, text, tuple_of, value, word
from .form import nothing as none

LARGEST = 1e30  # of a weight
NEAREST, FARTHEST = 1e-30, 1e30  # of a kernel's width, and of a coordinate


def _points(held: Points) -> None:
    d = len(held.places)
    need(held.mean.shape == held.sd.shape == (d,), "a mean and a deviation of every column")
    need(all(p.min(initial=-1) >= -1 and p.max(initial=-1) < len(p) for p in held.places), "a coordinate of the column")
    need(held.sizes.sum() == len(held.centre), "a mean of every coordinate")
    need((np.abs(held.centre) <= 1).all(), "a mean of shares is a share")


def _linear(held: Linear) -> None:
    need(held.B.shape[1] == len(held.b) > 0, "an intercept of every class")
    need(small(LARGEST, held.B, held.b), "weights must have sums that are numbers")


def _landmarks(held: Landmarks) -> None:
    need(len(held.at) > 0, "there must be a landmark")
    need(small(FARTHEST, held.at) and NEAREST <= held.v <= FARTHEST, "distances to landmarks must be numbers")


def _of_coding(held: Points, coding: Coding) -> None:
    need(len(held.places) == len(coding.sizes), "points of other columns")
    need(all(len(p) == s + 1 for p, s in zip(held.places, coding.sizes)), "points of other values")
    need(not ((held.sd > 0) & np.array(coding.named)).any(), "a deviation of names")


def _pool(held: Pool) -> None:
    K, coding = len(held.schema.classes), held.coding
    need(held.schema.columns == coding.schema.columns, "the columns of a pool must be those of its coding")
    need(held.prior.shape == (K,) and abs(held.prior.sum() - 1) < 1e-9, "a prior must sum to one")
    parts = (held.trees, held.linear, held.rounds, held.members, held.curved)
    there = {name for name, part in zip(PARTS, parts) if part is not None}
    need(set(held.names) == there, "a pool must have the parts it names")
    need(len(set(held.names)) == len(held.names) > 0, "a part must be named once")
    need(held.exponents.shape == (len(held.names) + 1,), "there must be an exponent of every part")
    need((np.abs(held.exponents) <= 4).all(), "an exponent is no larger than 4")
    need(0 <= held.noise <= MOST_NOISE, "noise is a share of up to a half")
    if held.trees is not None:
        need(held.trees.counts.dtype == np.float32 and held.trees.counts.shape[1] == K, "trees of other classes")
        need(held.concentration >= 0, "a concentration must not be negative")
        counted(held.trees)
        fits(held.trees, coding)
    if held.members is not None:
        member_fits(held.members, coding, K)
    if held.rounds is not None:
        rounds_fit(held.rounds, coding, K)
    need((held.points is None) == (held.linear is None and held.curved is None), "linear models must have points")
    need((held.landmarks is None) == (held.curved is None), "a kernel must have its landmarks")
    if held.points is not None:
        _of_coding(held.points, coding)
        f = held.points.size
        need(held.linear is None or held.linear.B.shape == (f, K), "weights of other points")
        if held.landmarks is not None and held.curved is not None:
            need(held.landmarks.at.shape[1] == f, "landmarks of other points")
            need(held.curved.B.shape == (len(held.landmarks.at), K), "weights of other landmarks")


def _auto(model: AutoBayes) -> None:
    needs(model, "n_features_in_", "classes_", "grown_", "parts_", "oob_decision_function_", "oob_score_", "_seen")
    of_table(model)
    need(model.oob_decision_function_.shape[1] == len(model.classes_), "out-of-bag answers must be of the classes")
    need(sorted(row.part for row in model.parts_) == sorted(PARTS), "there must be a row of every part")


FORMS: dict[str, Any] = {
    form.tag: form
    for form in (
        value(Points, _points, mean=floats(1), sd=floats(1, 0), places=tuple_of(ints(1)), centre=floats(1)),
        value(Linear, _linear, B=floats(2), b=floats(1), penalty=finite),
        value(Landmarks, _landmarks, at=numbers("f", 2), v=finite),
        value(PoolPart, part=word(*PARTS), loss=real, exponent=finite, seconds=real, note=text),
        coded(
            value(
                Pool,
                _pool,
                coding=of("Coding"),
                schema=of("Schema"),
                names=tuple_of(word(*PARTS)),
                prior=floats(1, 0),
                exponents=floats(1),
                noise=finite,
                trees=of("Trees") | none,
                concentration=finite,
                members=of("MemberCounts", "Members") | none,
                rounds=of("Rounds") | none,
                points=of("Points") | none,
                linear=of("Linear") | none,
                landmarks=of("Landmarks") | none,
                curved=of("Linear") | none,
            )
        ),
        estimator(
            AutoBayes,
            _auto,
            {
                **LEARNED,
                "grown_": of("Pool"),
                "parts_": tuple_of(of("PoolPart")),
                "oob_decision_function_": floats(2, finite=False),
                "oob_score_": real,
            },
            fresh=FRESH,
        ),
    )
}
