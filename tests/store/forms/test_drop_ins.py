"""What the drop-ins must hold in a file: one statistic of their own kind, of the rows and columns that they say."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import posteriori as po
from posteriori.statistics.counts import Counts

from .refusals import GONE, judged, remade

C = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0], [0, 0, 1], [1, 1, 2], [2, 0, 0]])
P = np.array([[0.0, 1.5], [1.0, -0.5], [2.0, 0.25], [0.5, 3.0], [1.5, 1.0], [3.0, 2.0]])
Y = np.array([0, 0, 0, 1, 1, 1])
MADE = {
    "categorical": lambda: po.CategoricalNB(min_categories=3).fit(C, Y),
    "bernoulli": lambda: po.BernoulliNB().fit(C > 0, Y),
    "multinomial": lambda: po.MultinomialNB().fit(C, Y),
    "complement": lambda: po.ComplementNB().fit(C, Y),
    "gaussian": lambda: po.GaussianNB().fit(P, Y),
    "least categorical": lambda: po.CategoricalNB().fit(C[:, :1], [0] * 6),
    "least bernoulli": lambda: po.BernoulliNB().fit(C[:, :1] > 0, [0] * 6),
    "least multinomial": lambda: po.MultinomialNB().fit(C[:, :1], [0] * 6),
    "least gaussian": lambda: po.GaussianNB().fit(P[:, :1], [0] * 6),
    "least normals": lambda: po.GaussianBayes().fit(P[:, :1], [0] * 6),
    "single": lambda: po.GaussianNB().fit(P.astype(np.float32), Y),
    "normals": lambda: po.GaussianBayes(shrinkage=0.1).fit(P, Y),
}
KINDS = [name for name in MADE if "least" not in name]


@cache
def fitted(name):
    return MADE[name]()


def rows(model):
    return (P if isinstance(model, po.GaussianNB | po.GaussianBayes) else C)[:, : model.n_features_in_]


def told(**change):
    """The statistics of a model with other parts."""

    def changed(model):
        found = model.statistics_
        return {
            "statistics_": replace(found, **{n: v(getattr(found, n)) if callable(v) else v for n, v in change.items()})
        }

    return changed


def counts(of):
    """The counts of a model with another table."""
    return told(table=lambda held: replace(held, table=of(held.table.astype(np.float64))))


def n(of):
    return told(table=lambda held: replace(held, n=of(held.n.astype(np.float64))))


def at(place, by):
    """A table with one cell more or less by a share of one."""

    def changed(table):
        table = table.copy()
        table[place] += by
        return table

    return changed


@pytest.mark.parametrize("name", MADE)
def test_the_same_answers_to_the_last_bit(name):
    model = fitted(name)
    made, X = remade(model), rows(model)
    assert np.array_equal(made.predict_log_proba(X), model.predict_log_proba(X))
    assert np.array_equal((made + made).predict_log_proba(X), (model + model).predict_log_proba(X))
    assert made.get_params() == model.get_params()


def test_a_normal_says_its_type_of_numbers():
    assert (
        remade(fitted("single")).predict_proba(P.astype(np.float32)).dtype
        == fitted("single").predict_proba(P.astype(np.float32)).dtype
    )
    judged(fitted("gaussian"), {"_dtype": GONE}, "must have '_dtype'")
    judged(fitted("gaussian"), {"_dtype": np.dtype(np.float16)}, "GaussianNB._dtype must be float64 or float32")
    judged(fitted("gaussian"), {"_dtype": "float64"}, "GaussianNB._dtype must be float64 or float32")
    judged(fitted("gaussian"), {"_dtype": np.dtype(np.float32)}, None)


ROWS_OF = "the statistic must be of the rows of every class"
COLUMNS = "n_features_in_ must be the number of columns"
EMPTY = Counts(np.zeros((0, 2)), np.zeros(2, np.int64))  # one scope, of nothing
NONE = Counts(np.zeros((0, 2)), np.zeros(1, np.int64))
ROWS = [
    *((m, {"classes_": np.array([1, 0])}, "classes_ must be the classes of the schema") for m in KINDS),
    *((m, {"classes_": np.array([0])}, "classes_ must be the classes of the schema") for m in KINDS),
    *((m, {"n_features_in_": wrong}, COLUMNS) for m in KINDS for wrong in (1, 4)),
    ("multinomial", told(schema=lambda held: replace(held, classes=())), "a fitted model must have a class"),
    ("gaussian", told(table=fitted("normals").statistics_.table), "there must be moments"),
    ("normals", told(table=fitted("gaussian").statistics_.table), "there must be co-moments"),
    ("categorical", told(table=fitted("gaussian").statistics_.table), "there must be counts"),
    ("bernoulli", told(table=fitted("normals").statistics_.table), "there must be counts of one scope"),
    ("multinomial", told(table=fitted("categorical").statistics_.table), "there must be counts of one scope"),
    ("bernoulli", told(table=fitted("categorical").statistics_.table), "there must be counts of one scope"),
    ("multinomial", lambda m: told(table=EMPTY)(m) | {"n_features_in_": 0}, COLUMNS),
    ("categorical", lambda m: told(table=NONE, least=np.zeros(0, np.int64))(m) | {"n_features_in_": 0}, COLUMNS),
    ("least multinomial", told(table=Counts(np.ones((1, 1)), np.array([0, 0, 1]))), "there must be counts of one scope"),
    ("categorical", told(least=None), "least sizes are of categories alone"),
    ("multinomial", told(least=np.zeros(1, np.int64)), "least sizes are of categories alone"),
    ("bernoulli", told(least=np.zeros(1, np.int64)), "least sizes are of categories alone"),
    ("categorical", told(least=np.full(3, 3)), None),
    ("categorical", counts(at((0, 0), 2.9e-6)), None),
    ("categorical", counts(at((0, 0), 3.1e-6)), ROWS_OF),
    ("categorical", counts(at((0, 0), -3.1e-6)), ROWS_OF),
    ("categorical", told(rows=np.array([3, 4])), ROWS_OF),
    ("bernoulli", counts(lambda t: np.full_like(t, 3.0)), None),
    ("bernoulli", counts(lambda t: np.zeros_like(t)), None),
    ("bernoulli", counts(lambda t: np.full_like(t, 3.0 * (1 + 1e-9))), None),
    ("bernoulli", counts(lambda t: np.full_like(t, 3.0 + 1e-8)), ROWS_OF),
    ("bernoulli", told(rows=np.array([1, 4])), ROWS_OF),
    ("multinomial", counts(lambda t: t * 1000), None),
    ("complement", counts(lambda t: t * 1000), None),
    ("gaussian", n(at((0, 0), 2.9e-6)), None),
    ("gaussian", n(at((0, 0), 3.1e-6)), ROWS_OF),
    ("gaussian", n(at((1, 1), -3.1e-6)), ROWS_OF),
    ("normals", n(at(0, 2.9e-6)), None),
    ("normals", n(at(0, 3.1e-6)), ROWS_OF),
    ("normals", told(rows=np.array([3, 4])), ROWS_OF),
    ("multinomial", {"feature_names_in_": np.array(list("abc"), dtype=object)}, None),
    ("multinomial", {"feature_names_in_": np.array(["a", "b", 3], dtype=object)}, "the name of every column"),
    ("multinomial", {"feature_names_in_": np.array(list("abc"))}, "the name of every column"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "said"), ROWS, ids=[f"{i} {row[0]}" for i, row in enumerate(ROWS)])
def test_what_is_refused_and_what_is_not(name, change, said):
    made = judged(fitted(name), change, said)
    if made is not None and not hasattr(made, "feature_names_in_"):
        assert np.isfinite(made.predict_proba(rows(made))).all()


def test_small_weights_are_rows_too():
    """What is rounded is judged beside all rows: a class of 1e-12 of the weight has totals that are nearly its rows."""
    model = po.CategoricalNB().fit(C, Y, sample_weight=[1e12] * 3 + [1.0] * 3)
    assert np.array_equal(remade(model).predict(C), model.predict(C))
    judged(model, counts(at((0, 1), 100.0)), None)
    judged(model, counts(at((0, 1), 1e4)), ROWS_OF)
    model = po.GaussianNB().fit(P, Y, sample_weight=[1e12] * 3 + [1.0] * 3)
    judged(model, n(at((1, 0), 100.0)), None)
    judged(model, n(at((1, 0), 1e4)), ROWS_OF)
