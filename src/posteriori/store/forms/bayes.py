"""The spectrum: naive Bayes and the semi-naive models. What they know is `statistics_`, and what is chosen but once."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from ...bayes.averaged import A2DE, AODE, RowStore
from ...bayes.discriminative import PULLS, DiscriminativeNB
from ...bayes.factored import DENSITIES, Settled
from ...bayes.naive import NaiveBayes
from ...bayes.one_structure import KDB, SPODE, TAN
from ...em import Ascent
from ...statistics.joint import Joint
from ...statistics.statistics import Statistics
from ...structure.structures import Structure
from ...table.encode import Seen
from ...table.schema import MEASURED
from .form import (
    POINTS,
    Spec,
    anything,
    array,
    dict_of,
    estimator,
    finite,
    flag,
    floats,
    list_of,
    natural,
    need,
    needs,
    of,
    pair_of,
    real,
    same_classes,
    small,
    text,
    tuple_of,
    value,
    whole,
    word,
)
from .form import nothing as none

LARGEST = 1e150  # of a weight: sums over all columns are numbers
LEARNED = {
    **POINTS,
    "classes_": array,
    "statistics_": of("Statistics"),
    "em_": of("Ascent"),
    "unlabelled_weight_": real,
}
CODED = {**LEARNED, "_cuts_kept": tuple_of(floats(1) | none)}
FRESH = {"_seen": Seen}  # what the last rows lacked is no part of a model


def learned(model: Any) -> Statistics:
    """The statistics of a fitted model, whose names and classes are those of its schema."""
    needs(model, "n_features_in_", "classes_", "statistics_", "_seen")
    found: Statistics = model.statistics_
    schema = found.schema
    need(len(schema.classes) > 0, "a fitted model must have a class")
    same_classes(model.classes_, schema.classes)
    need(model.n_features_in_ == len(schema), "n_features_in_ must be the number of columns")
    if "feature_names_in_" in vars(model):
        need(model.feature_names_in_.tolist() == list(schema.names), "feature_names_in_ must be the columns' names")
    return found


def _ascent(held: Ascent[Any]) -> None:
    need(-1 <= held.at < len(held.trace), "the best turn of a climb must be one of its turns")


def _naive(model: NaiveBayes) -> None:
    found = learned(model)
    need(not found.joints, "naive Bayes counts no pairs")
    need("numbers" not in found.roles or found.sample is not None, "rows to choose a density by must be there")
    settled, names = vars(model).get("_settled_by"), model.schema_.names
    if settled is not None:
        need(set(settled.names) == set(names), "the densities that EM settled on must be named by column")
        known = {*DENSITIES, "cells", "words"}
        need(all(d in known for d in settled.names.values()), "the densities that EM settled on must be known")
        need(len(settled.cuts) in (0, len(names)), "EM must have cut all columns or none")


def coded(model: Any) -> Statistics:
    """The statistics of a model of codes: every column by its values, cuts of all of them."""
    found = learned(model)
    need(set(found.roles) <= {"cells"} and len(found.cuts) == len(found.roles), "all columns must be counted by values")
    for cut, column in zip(found.cuts, found.schema.columns):
        need(
            (cut is None) == (column.kind not in MEASURED),
            f"column {column.name!r:.50}: cuts of other columns",
        )
    return found


def _joint(found: Statistics, at: int, n: int) -> Joint:
    need(len(found.joints) > at and isinstance(found.joints[at], Joint), "there must be joint counts")
    joint: Joint = found.joints[at]
    every = list(combinations(range(len(found.schema)), n))
    mine = [joint.columns(s) for s in range(len(joint.full))]
    need(mine == every, f"there must be counts of every {n} columns together")
    return joint


def _pairs(model: Any) -> None:
    _joint(coded(model), 0, 2)


def _aode(model: AODE) -> None:
    found = coded(model)
    need(len(found.joints) == 1, "there must be joint counts, or rows, of all columns")
    if not isinstance(found.joints[0], RowStore):  # `lazy` may have been set anew since it learned
        _joint(found, 0, 2)


def _a2de(model: A2DE) -> None:
    _pairs(model)
    _joint(model.statistics_, 1, 3)


def _spode(model: SPODE) -> None:
    _pairs(model)
    needs(model, "super_parent_", "_sums")
    need(model.super_parent_ is None or model.super_parent_ in model.schema_.names, "super_parent_ must be a column")
    if model._sums is not None:
        need(model._sums.shape == (len(model.schema_) + 1, 3), "there must be three losses of every candidate")


def _kdb(model: KDB) -> None:
    found, d = coded(model), len(coded(model).schema)
    needs(model, "structure_", "k_", "_order", "_used", "_losses", "class_information_", "information_")
    parents = model.structure_.parents
    need(len(parents) == d, "every column must have its parents")
    need(all(0 <= p < d for ps in parents for p in ps), "a parent must be a column")
    _ = model.structure_.order  # refuses a circle
    need(sorted(model._order) == list(range(d)), "the order must have every column once")
    used = type(model._used) is frozenset and all(type(j) is int and 0 <= j < d for j in model._used)
    need(used, "a column that is used must be there")
    need(model.class_information_.shape == (d,) and model.information_.shape == (d, d), "information of other columns")
    if model._losses is not None:
        need(model._losses.ndim == 3 and model._losses.shape[2] == 3, "there must be three losses of every choice")
    need(len(found.joints) == 1 and isinstance(found.joints[0], Joint), "there must be joint counts")
    joint: Joint = found.joints[0]
    mine = {joint.columns(s) for s in range(len(joint.full))}
    rungs = {(*ps[:k], i) for i, ps in enumerate(parents) for k in range(1, len(ps) + 1)}
    need(mine == rungs and len(joint.full) == len(mine), "there must be counts of every family")


def _discriminative(model: DiscriminativeNB) -> None:
    found, K = coded(model), len(coded(model).schema.classes)
    needs(
        model,
        "log_odds_",
        "coef_",
        "intercept_",
        "mean_",
        "sd_",
        "_where",
        "pull_",
        "penalty_",
        "n_iter_",
        "loss_curve_",
    )
    cells, where = sum(found.sizes) + len(found.schema), model._where
    need(model.log_odds_.shape == (cells, K), "there must be a weight of every value, and of a gap in every column")
    need(model.intercept_.shape == (K,), "there must be an intercept of every class")
    measured = tuple(j for j, cut in enumerate(found.cuts) if cut is not None)
    need(where in ((), measured), "the columns that enter as numbers must be all that are")
    need(model.coef_.shape == (len(where), K), "there must be a weight of every number and class")
    need(model.mean_.shape == model.sd_.shape == (len(where),), "there must be a mean and a width of every number")
    weighed = small(LARGEST, model.log_odds_, model.coef_, model.intercept_)
    need(weighed, "weights must have sums that are numbers")
    need((model.sd_ > 0).all(), "a width must be above 0")
    need(model.penalty_ >= 0, "a penalty must be at least 0")
    weights = vars(model).get("column_weights_")
    need(weights is None or weights.shape == (len(found.schema),), "there must be a weight of every column")


losses: Spec = floats(finite=False) | none
FORMS = {
    form.tag: form
    for form in (
        value(Structure, parents=tuple_of(tuple_of(natural(1 << 31)))),
        value(
            Ascent,
            _ascent,
            parameters=none,
            trace=tuple_of(real),
            converged=flag,
            interrupted=flag,
            marks=tuple_of(pair_of(whole, text)),
            at=whole,
        ),
        value(Settled, told=anything, names=dict_of(text, text), cuts=tuple_of(floats(1) | none)),
        estimator(NaiveBayes, _naive, {**LEARNED, "_settled_by": of("Settled")}, fresh=FRESH),
        estimator(TAN, _pairs, CODED, fresh=FRESH),
        estimator(
            DiscriminativeNB,
            _discriminative,
            {
                "n_features_in_": natural(),
                "feature_names_in_": array,
                "classes_": array,
                "statistics_": of("Statistics"),
                "log_odds_": floats(2),
                "coef_": floats(2),
                "intercept_": floats(1),
                "mean_": floats(1),
                "sd_": floats(1),
                "_where": tuple_of(natural()),
                "pull_": word(*PULLS),
                "penalty_": finite,
                "n_iter_": natural(),
                "loss_curve_": floats(1, finite=False),
                "column_weights_": floats(1),
            },
            fresh=FRESH,
        ),
        estimator(SPODE, _spode, {**CODED, "super_parent_": text | none, "_sums": losses}, fresh=FRESH),
        estimator(AODE, _aode, CODED, fresh=FRESH),
        estimator(A2DE, _a2de, CODED, fresh=FRESH, remade=("lazy", "weights", "subsumption")),
        estimator(
            KDB,
            _kdb,
            {
                **CODED,
                "structure_": of("Structure"),
                "k_": natural(),
                "_order": list_of(natural()),
                "_used": anything,
                "_losses": losses,
                "class_information_": floats(1),
                "information_": floats(2, finite=False),
            },
            fresh=FRESH,
        ),
    )
}
