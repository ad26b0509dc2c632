"""What naive Bayes and the semi-naive models must hold in a file: counts of the columns, classes and families there are."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import posteriori as po
from posteriori.em import Ascent
from posteriori.statistics.joint import Joint
from posteriori.structure.structures import Structure

from .refusals import GONE, judged, remade

RNG = np.random.default_rng(0)
X = {
    "sky": RNG.choice(["blue", "grey"], 40).tolist(),
    "wind": RNG.normal(size=40),
    "rain": RNG.choice(["no", "yes", "much"], 40).tolist(),
}
Y = np.where(RNG.random(40) < 0.5, "in", "out")
MADE = {
    "naive": lambda: po.NaiveBayes().fit(X, Y),
    "hidden": lambda: po.NaiveBayes(unlabelled=None, unlabelled_weight=1).fit(X, [None, *Y[1:]]),
    "one class": lambda: po.NaiveBayes().fit(X, ["one"] * 40),
    "tan": lambda: po.TAN(cuts="quantile", bins=2).fit(X, Y),
    "spode": lambda: po.SPODE(cuts="quantile", bins=2).fit(X, Y),
    "spode told": lambda: po.SPODE(super_parent="sky", cuts="quantile", bins=2).fit(X, Y),
    "aode": lambda: po.AODE(cuts="quantile", bins=2).fit(X, Y),
    "lazy": lambda: po.AODE(lazy=True, cuts="quantile", bins=2).fit(X, Y),
    "a2de": lambda: po.A2DE(cuts="quantile", bins=2).fit(X, Y),
    "kdb": lambda: po.KDB(k=2, cuts="quantile", bins=2).fit(X, Y),
    "kdb chosen": lambda: po.KDB(select=True, cuts="quantile", bins=2).fit(X, Y),
    "weights": lambda: po.DiscriminativeNB(cuts="quantile", bins=2).fit(X, Y),
    "weights of columns": lambda: po.DiscriminativeNB("columns", cuts="quantile", bins=2).fit(X, Y),
}


@cache
def fitted(name):
    return MADE[name]()


def told(**change):
    """The statistics of a model with other parts."""
    return lambda model: {"statistics_": replace(model.statistics_, **change)}


def joints(of):
    """The statistics of a model with what a function makes of its joint counts."""
    return lambda model: {"statistics_": replace(model.statistics_, joints=of(model.statistics_.joints))}


def schema(**change):
    return lambda model: told(schema=replace(model.statistics_.schema, **change))(model)


def cuts(of):
    return lambda model: told(cuts=of(model.statistics_.cuts))(model)


def settled(**change):
    return lambda model: {"_settled_by": replace(model._settled_by, **change)}


def fewer(joint):
    """All scopes but the last."""
    n = len(joint.full) - 1
    scopes = [joint.columns(s) for s in range(n)]
    sizes = fitted("tan").statistics_.sizes
    return Joint.of(scopes, [joint.part(s) for s in range(n)], sizes, joint.counts.table)


def turned(joint):
    """The columns of the first scope in another order."""
    at = joint.scopes.copy()
    at[0, :2] = at[0, 1::-1]
    return replace(joint, scopes=at)


def less(name, by=1, axis=0):
    return lambda model: {name: np.delete(getattr(model, name), slice(0, by), axis=axis)}


def more(name):
    return lambda model: {name: np.concatenate([getattr(model, name)[:1], getattr(model, name)])}


@pytest.mark.parametrize("name", MADE)
def test_the_same_answers_to_the_last_bit(name):
    model = fitted(name)
    made = remade(model)
    assert np.array_equal(made.predict_log_proba(X), model.predict_log_proba(X))
    assert made.get_params() == model.get_params()
    assert set(vars(made)) >= {n for n in vars(model) if n.endswith("_")}
    assert (made._seen.missing, made._seen.unseen) == (0, 0)


COUNTS = "all columns must be counted by values"
PAIRS = "there must be counts of every 2 columns together"
ROWS = [
    ("naive", {"smoothing": -1.0}, "smoothing"),
    ("naive", schema(classes=()), "classes_ must be the classes of the schema"),
    ("naive", {"classes_": np.array(["out", "in"])}, "classes_ must be the classes of the schema"),
    ("naive", {"classes_": np.array(["in"])}, "classes_ must be the classes of the schema"),
    ("naive", {"classes_": np.array(["in", "out"], dtype=object)}, None),
    (
        "naive",
        {"feature_names_in_": np.array(["sky", "rain", "wind"])},
        "feature_names_in_ must be",
    ),
    ("naive", {"feature_names_in_": GONE}, None),
    ("naive", lambda m: told(joints=fitted("tan").statistics_.joints)(m), "naive Bayes counts no pairs"),
    ("naive", told(sample=None), "rows to choose a density by must be there"),
    ("hidden", told(sample=None), None),
    ("hidden", {"_settled_by": GONE}, None),
    ("hidden", settled(names={"sky": "cells", "wind": "cells"}), "must be named by column"),
    ("hidden", settled(names={"sky": "cells", "wind": "cells", "snow": "cells"}), "must be named by column"),
    ("hidden", settled(names={"sky": "cells", "wind": "cells", "rain": "round"}), "must be known"),
    ("hidden", settled(names={"sky": "cells", "wind": "gaussian", "rain": "cells"}), None),
    ("hidden", settled(names={"sky": "cells", "wind": "cells", "rain": "words"}), None),
    ("hidden", settled(cuts=()), None),
    ("hidden", settled(cuts=(None, np.zeros(1))), "EM must have cut all columns or none"),
    ("hidden", settled(cuts=(None, None, None)), None),
    ("hidden", settled(cuts=(None,) * 4), "EM must have cut all columns or none"),
    *((n, cuts(lambda found: ()), "there must be cuts of all columns") for n in ("tan", "a2de", "kdb", "weights")),
    ("tan", told(roles=("cells", "numbers", "cells")), COUNTS),
    ("tan", cuts(lambda found: (*found[:2], np.zeros(1))), "column 'rain': cuts of other columns"),
    ("tan", cuts(lambda found: (None, None, None)), "column 'wind': cuts of other columns"),
    ("tan", joints(lambda found: ()), "there must be joint counts"),
    ("tan", joints(lambda found: fitted("lazy").statistics_.joints), "there must be joint counts"),
    ("tan", joints(lambda found: (fewer(found[0]),)), "there must be counts of every family, or pair, of columns"),
    ("tan", joints(lambda found: (turned(found[0]),)), "there must be counts of every family, or pair, of columns"),
    ("tan", joints(lambda found: (*found, *found)), None),
    ("aode", joints(lambda found: ()), "there must be joint counts, or rows, of all columns"),
    ("aode", joints(lambda found: (*found, *found)), "there must be joint counts, or rows, of all columns"),
    ("aode", joints(lambda found: (fewer(found[0]),)), "there must be counts of every family, or pair, of columns"),
    ("aode", joints(lambda found: fitted("lazy").statistics_.joints), None),
    ("lazy", {"lazy": False}, None),
    ("a2de", joints(lambda found: found[:1]), "there must be joint counts"),
    ("a2de", joints(lambda found: (found[0], found[0])), "there must be counts of every family, or pair, of columns"),
    ("a2de", joints(lambda found: (found[1], found[1])), "there must be counts of every family, or pair, of columns"),
    ("spode", joints(lambda found: (fewer(found[0]),)), "there must be counts of every family, or pair, of columns"),
    ("spode", {"super_parent_": None}, None),
    ("spode", {"super_parent_": "rain"}, None),
    ("spode", {"super_parent_": "snow"}, "super_parent_ must be a column"),
    ("spode", {"_sums": None}, None),
    ("spode", {"_sums": np.zeros((4, 3))}, None),
    ("spode", {"_sums": np.full((4, 3), np.nan)}, None),
    ("spode", {"_sums": np.zeros((3, 3))}, "there must be three losses of every candidate"),
    ("spode", {"_sums": np.zeros((5, 3))}, "there must be three losses of every candidate"),
    ("spode told", {"super_parent_": "rain"}, None),
    ("kdb", {"structure_": Structure(((), ()))}, "every column must have its parents"),
    ("kdb", {"structure_": Structure(((), (), (), ()))}, "every column must have its parents"),
    ("kdb", {"structure_": Structure(((), (), (3,)))}, "a parent must be a column"),
    ("kdb", {"structure_": Structure(((1,), (2,), (0,)))}, "go round in a circle"),
    ("kdb", {"structure_": Structure(((), (), ()))}, "there must be counts of every family"),
    ("kdb", {"_order": [0, 1, 1]}, "the order must have every column once"),
    ("kdb", {"_order": [0, 1, 3]}, "the order must have every column once"),
    ("kdb", {"_order": [2, 0, 1]}, None),
    ("kdb", {"_used": frozenset()}, None),
    ("kdb", {"_used": frozenset({0, 1, 2})}, None),
    ("kdb", {"_used": frozenset({0, 3})}, "the order must have every column once, and those that are used"),
    ("kdb", {"class_information_": np.zeros(3), "information_": np.zeros((3, 3))}, None),
    ("kdb", {"information_": np.full((3, 3), -np.inf)}, None),
    ("kdb", {"_losses": np.zeros((2, 3, 3))}, None),
    ("kdb chosen", {"_losses": None}, None),
    ("kdb", joints(lambda found: ()), "there must be joint counts"),
    ("kdb", joints(lambda found: (*found, *found)), "there must be joint counts"),
    ("kdb", joints(lambda found: fitted("lazy").statistics_.joints), "there must be joint counts"),
    ("kdb", joints(lambda found: (fewer(found[0]),)), "there must be counts of every family"),
    ("weights", less("log_odds_"), "a weight of every value, and of a gap in every column"),
    ("weights", more("log_odds_"), "a weight of every value, and of a gap in every column"),
    ("weights", {"_where": (0,)}, "must be all that are"),
    ("weights", {"_where": (), "coef_": np.zeros((0, 2)), "mean_": np.zeros(0), "sd_": np.zeros(0)}, None),
    *(
        ("weights", lambda m, name=name, by=by: {name: np.full_like(getattr(m, name), by)}, said)
        for name in ("log_odds_", "coef_", "intercept_")
        for by, said in ((1e150, None), (-1e150, None), (1.1e150, "from -1e+150 to 1e+150"), (-1.1e150, "from -1e+150"))
    ),
    ("weights", {"sd_": np.full(1, 1e-300)}, None),
    ("weights", {"loss_curve_": np.array([np.nan])}, None),
    ("weights", {"penalty_": 0.0}, None),
    ("weights", {"column_weights_": np.zeros(3)}, None),
]


@pytest.mark.parametrize(("name", "change", "said"), ROWS, ids=[f"{i} {row[0]}" for i, row in enumerate(ROWS)])
def test_what_is_refused_and_what_is_not(name, change, said):
    made = judged(fitted(name), change, said)
    if made is not None and name != "hidden":  # which may have been told another density since: it says so when asked
        assert np.isfinite(made.predict_proba(X)).all()


ASCENT = Ascent(None, (-3.0, -2.0, -2.5), True, False, ((3, "fell"),), 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, None),
        ({"at": -1}, None),
        ({"at": 2}, None),
        ({"at": 3}, "the best turn of a climb must be one of its turns"),
        ({"at": -2}, "the best turn of a climb must be one of its turns"),
        ({"at": -1, "trace": ()}, None),
        ({"at": 0, "trace": ()}, "the best turn of a climb must be one of its turns"),
    ],
)
def test_a_climb_has_the_turn_that_was_best(change, said):
    made = judged(ASCENT, change, said)
    if made is not None and made.trace:
        assert made.objective == made.trace[made.best - 1]


def test_a_structure_comes_back_and_has_no_place_beyond_31_bits():
    held = Structure(((), (0,), (0, 1)))
    assert remade(held) == held
    assert remade(held, {"parents": ((2**31,),)}).parents == ((2**31,),)
    judged(held, {"parents": ((2**31 + 1,),)}, "Structure.parents must be")
