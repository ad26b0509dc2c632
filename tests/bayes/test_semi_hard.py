"""Semi-naive classifiers at the edges: columns without values, models half learned, parameters that make no sense."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import posteriori as po

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
    if not isinstance(model, AODE):
        assert not any({"e", "f"} & set(edge) for edge in model.edges_)
    if isinstance(model, SPODE) and not told:
        assert set(model.scores_.index) == {"c", "b"}
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
    model.fit(X, Y).forget(X[:20], Y[:20])
    assert (model.predict(X[20:]) == Y[20:]).all()
    assert pd.DataFrame(model.sample(3, random_state=0)[0])["e"].isna().all()
