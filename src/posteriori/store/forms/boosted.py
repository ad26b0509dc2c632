"""Boosted trees of counts: as many trees in each of five models, of the columns and classes there are."""

from __future__ import annotations

import numpy as np

from ...forest.boosted import FOLDS, BoostedBayes, Rounds, Summed
from ...forest.grown import Coding
from .forest import FRESH, LARGEST, LEARNED, coded, fits, of_table
from .form import estimator, floats, natural, need, needs, numbers, of, real, small, value


def _rounds(held: Rounds) -> None:
    V = held.n_classes if held.n_classes > 2 else 1
    need(held.n_classes > 0, "there must be a class")
    need(held.start.shape == (FOLDS, V) and held.trees.counts.shape[1] == V, "trees of other classes")
    need(held.trees.counts.dtype == np.float32, "what a tree says must be narrow")
    need(small(LARGEST, held.trees.counts, held.start), "what trees say must have sums that are numbers")
    need(len(held.trees) % FOLDS == 0, "there must be as many trees in each fold")
    need(len(held.losses) > 0, "there must be a loss")


def rounds_fit(held: Rounds, coding: Coding, K: int) -> None:
    """Rounds of these columns and classes."""
    need(held.n_classes == K, "trees of other classes")
    need(held.gains.shape == (len(coding.sizes),), "there must be a gain of each column")
    fits(held.trees, coding)


def _summed(held: Summed) -> None:
    K, coding = len(held.schema.classes), held.coding
    need(held.schema.columns == coding.schema.columns, "the columns of the trees must be those of their coding")
    rounds_fit(held.rounds, coding, K)
    need(held.prior.shape == (K,) and abs(held.prior.sum() - 1) < 1e-9, "a prior must sum to one")
    need(held.exponents.shape == (2,) and (np.abs(held.exponents) <= 4).all(), "there must be two exponents")


def _boosted(model: BoostedBayes) -> None:
    needs(model, "n_features_in_", "classes_", "grown_", "oob_decision_function_", "oob_score_", "_seen")
    of_table(model)
    need(model.oob_decision_function_.shape[1] == len(model.classes_), "answers out of fold must be of the classes")


FORMS = {
    form.tag: form
    for form in (
        value(
            Rounds,
            _rounds,
            trees=of("Trees"),
            start=numbers("f", 2),
            n_classes=natural(),
            gains=floats(1, 0),
            losses=floats(1, 0),
        ),
        coded(
            value(
                Summed,
                _summed,
                coding=of("Coding"),
                schema=of("Schema"),
                rounds=of("Rounds"),
                prior=floats(1, 0),
                exponents=floats(1),
            )
        ),
        estimator(
            BoostedBayes,
            _boosted,
            {
                **LEARNED,
                "grown_": of("Summed"),
                "oob_decision_function_": floats(2),
                "oob_score_": real,
            },
            fresh=FRESH,
        ),
    )
}
