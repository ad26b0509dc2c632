"""Semi-naive classifiers at the edges: columns without values, models half learned, parameters that make no sense."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import posteriori as po
from posteriori.bayes.learning import KEEP
from posteriori.errors import StatisticsError, UnknownColumn

SPODE, TAN, AODE, A2DE, KDB = po.SPODE, po.TAN, po.AODE, po.A2DE, po.KDB
EVERY = [SPODE(), TAN(), AODE(), A2DE(), KDB(), KDB(k="auto", select=True), AODE(lazy=True), SPODE(folds=3)]
ids = ["SPODE", "TAN", "AODE", "A2DE", "KDB", "KDB_select", "AODE_lazy", "SPODE_folds"]
Y = np.arange(40) % 2
FULL = pd.DataFrame({"c": ["k"] * 40, "b": np.where(Y, "u", "v")})
EMPTY = pd.Series([None] * 40, dtype=object)


@pytest.mark.parametrize("model", [*EVERY, TAN(root="e"), SPODE(super_parent="e")], ids=[*ids, "root", "told"])
@pytest.mark.parametrize("where", ["first", "last", "twice"])
def test_a_column_without_values_says_nothing(model, where):
    X = FULL.assign(e=EMPTY)
    X = X[["e", "c", "b"]] if where == "first" else X
    X = X.assign(f=EMPTY) if where == "twice" else X
    model.fit(X, Y)
    told = "e" in (getattr(model, "root", None), getattr(model, "super_parent", None))
    plain = type(model)(**{**model.get_params(), **({"root": None} if isinstance(model, TAN) else {})})
    if not (told and isinstance(model, SPODE)):
        np.testing.assert_allclose(model.predict_proba(X), plain.fit(FULL, Y).predict_proba(FULL), rtol=1e-12)
    assert (model.predict(X) == Y).all()
    if not isinstance(model, AODE | A2DE):
        assert not any({"e", "f"} & set(edge) for edge in model.edges_)
    if isinstance(model, SPODE) and not told:
        assert set(model.scores_.index) == {"c", "b", None}
    drawn, _ = model.sample(5, random_state=0)
    assert pd.DataFrame(drawn)["e"].isna().all()


@pytest.mark.parametrize("model", EVERY, ids=ids)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_column_has_values(model, d):
    X = pd.DataFrame({f"e{j}": EMPTY for j in range(d)})
    model.fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), 0.5)
    assert pd.DataFrame(model.sample(3, random_state=0)[0]).isna().all(axis=None)


@pytest.mark.parametrize("model", [SPODE(super_parent="e"), TAN(), KDB()], ids=["SPODE", "TAN", "KDB"])
def test_a_parent_whose_values_are_forgotten(model):
    e = np.where(np.arange(40) < 20, "p", None)
    X = FULL.assign(e=e)
    model.fit(X, Y).forget(X[:20], Y[:20], keep=KEEP)
    assert (model.predict(X[20:]) == Y[20:]).all()
    assert pd.DataFrame(model.sample(3, random_state=0)[0])["e"].isna().all()


def test_a_wrong_root_leaves_the_model_as_it_was():
    model = TAN().fit(FULL, Y)
    before, chances = model.statistics_, model.predict_proba(FULL)
    model.set_params(root="nobody")
    with pytest.raises(UnknownColumn, match="root"):
        model.partial_fit(FULL, Y)
    assert model.statistics_ is before
    np.testing.assert_array_equal(model.set_params(root=None).predict_proba(FULL), chances)


@pytest.mark.parametrize("model", EVERY, ids=ids)
def test_models_that_learned_nothing_do_not_add(model):
    with pytest.raises(NotFittedError):
        clone(model) + clone(model)
    with pytest.raises(NotFittedError):
        clone(model).fit(FULL, Y) + clone(model)
    with pytest.raises(TypeError):
        clone(model).fit(FULL, Y) + 1


def mixed(n=300, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 3, n), rng.integers(0, 2, n)
    X = pd.DataFrame({"a": a, "twin": a, "b": b, "c": (a + b) % 3}).astype(str)
    return X, (a + b) % 2, rng


@pytest.mark.parametrize("lazy", [False, True])
def test_subsumption_with_weights_that_are_no_whole_numbers(lazy):
    X, y, rng = mixed()
    w = rng.random(len(y))
    model = AODE(lazy=lazy, subsumption=5, min_frequency=1).fit(X, y, sample_weight=w)
    alone = AODE(lazy=lazy, min_frequency=1).fit(X.drop(columns="twin"), y, sample_weight=w)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X.drop(columns="twin")), rtol=1e-9)


def test_subsumption_looks_at_few_rows_of_many_columns(monkeypatch):
    X, y, _ = mixed()
    model = AODE(subsumption=5, min_frequency=1).fit(X, y)
    whole = model.predict_proba(X)
    monkeypatch.setattr("posteriori.bayes.averaged.IMPLIED", 7 * X.shape[1] ** 2)
    seen, implied = [], model._implied
    monkeypatch.setattr(model, "_implied", lambda cells: seen.append(len(cells)) or implied(cells))
    np.testing.assert_array_equal(model.predict_proba(X), whole)
    assert max(seen) == 7


@pytest.mark.parametrize("lazy", [False, True])
def test_lazy_set_after_learning_changes_nothing(lazy):
    X, y, _ = mixed()
    kept, model = AODE(lazy=lazy).fit(X, y), AODE(lazy=lazy).fit(X, y).set_params(lazy=not lazy)
    np.testing.assert_array_equal(model.predict_proba(X), kept.predict_proba(X))
    model.partial_fit(X, y).forget(X, y, keep=KEEP)
    assert model.statistics_ == kept.statistics_
    assert model.edges_
    assert len(model.sample(3, random_state=0)[1]) == 3
    with pytest.raises(StatisticsError, match="do not add"):
        kept + AODE(lazy=not lazy).fit(X, y)


def test_a_lazy_model_draws_from_what_it_predicts_with():
    X, y, _ = mixed()
    shares = []
    for lazy in (False, True):
        rows, classes = AODE(lazy=lazy, smoothing=0.1).fit(X, y).sample(20_000, random_state=1)
        frame = pd.DataFrame(rows, columns=list(X)).assign(y=classes)
        shares.append(frame.groupby(["a", "twin", "b", "y"]).size() / len(frame))
    assert (shares[0].sub(shares[1], fill_value=0).abs() < 0.02).all()
    assert shares[1].groupby(lambda at: at[0] == at[1]).sum()[True] > 0.6  # naive Bayes would give a third
