"""What `read` gives is what every estimator takes: fitting the table is fitting its columns and its target."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import posteriori as po
from posteriori.bayes.learning import KEEP

ROWS = "\n".join(f"{i % 3},{i % 2},{(7 * i) % 11}" for i in range(66))
TABLE = po.read(io.StringIO(f"a,b,y\n{ROWS}\n"), target="y", kinds={"a": "numeric", "b": "numeric", "y": "categorical"})
QUANTITY = po.read(io.StringIO(f"a,b,y\n{ROWS}\n"), target="y", kinds={"a": "numeric", "b": "numeric", "y": "numeric"})
MIXED = po.read(
    io.StringIO("a,b,y\n" + "\n".join(f"w{i % 3},{i % 7}.5,{'no' if i % 2 else 'yes'}" for i in range(42))), target="y"
)

CLASSIFIERS: list[Any] = [
    po.NaiveBayes(),
    po.CategoricalNB(),
    po.BernoulliNB(),
    po.MultinomialNB(),
    po.ComplementNB(),
    po.GaussianNB(),
    po.GaussianBayes("tied"),
    po.TAN(kinds="categorical"),
    po.AODE(kinds="categorical"),
    po.A2DE(kinds="categorical"),
    po.KDB(kinds="categorical"),
    po.SPODE(kinds="categorical"),
    po.BayesNetClassifier(kinds="categorical"),
    po.BayesNetClassifier(continuous="gaussian"),
    po.KNeighborsClassifier(),
    po.KNeighborsClassifier(metric="gower"),
    po.SVC(),
    po.LinearSVC(),
    po.RiskClassifier(po.NaiveBayes()),
    po.RiskClassifier(po.GaussianNB(), calibration="sigmoid"),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_a_table_is_its_columns_and_its_labels(model: Any) -> None:
    expected = model.fit(TABLE.X, TABLE.y).predict(TABLE.X)
    assert np.array_equal(model.fit(TABLE).predict(TABLE), expected)
    assert model.score(TABLE) == model.score(TABLE.X, TABLE.y)
    assert np.array_equal(
        model.fit(TABLE, TABLE.y[::-1]).predict(TABLE), model.fit(TABLE.X, TABLE.y[::-1]).predict(TABLE.X)
    )
    if hasattr(model, "forget"):
        again = model.fit(TABLE).partial_fit(TABLE).forget(TABLE, keep=KEEP)
        assert np.array_equal(again.predict(TABLE), expected)


@pytest.mark.parametrize("model", [po.KNeighborsRegressor(), po.SVR()], ids=repr)
def test_a_quantity_is_for_the_regressors(model: Any) -> None:
    expected = model.fit(QUANTITY.X, QUANTITY.y).predict(QUANTITY.X)
    assert np.array_equal(model.fit(QUANTITY).predict(QUANTITY), expected)
    assert model.score(QUANTITY) == model.score(QUANTITY.X, QUANTITY.y)


@pytest.mark.parametrize(
    "model", [po.NaiveBayes(), po.TAN(), po.KNeighborsClassifier(metric="vdm"), po.SVC()], ids=repr
)
def test_mixed_tables(model: Any) -> None:
    assert set(model.fit(MIXED).predict(MIXED)) <= {"no", "yes"}
    if hasattr(model, "schema_"):
        assert model.schema_.kinds == MIXED.schema.kinds


def test_a_mixed_table_in_neighbours_says_which_metric() -> None:
    with pytest.raises(po.errors.BadValue, match=r"column 'a' holds 'w0'.*gower.*vdm"):
        po.KNeighborsClassifier().fit(MIXED)
    holes = {"a": [1.0, np.nan, 3.0]}
    with pytest.raises(po.errors.BadValue, match=r"row 1, column 'a'.*nan_euclidean"):
        po.KNeighborsClassifier(1).fit(holes, [0, 1, 0])


def test_a_table_without_a_target_needs_labels() -> None:
    bare = po.read(io.StringIO("a,b\n1,2\n3,4\n"))
    with pytest.raises(ValueError, match="requires y to be passed"):
        po.NaiveBayes().fit(bare)
    assert po.NaiveBayes().fit(bare, [0, 1]).predict(bare).tolist() == [0, 1]


TYPES = [
    ([1, 2, 1, 2], [["1"]]),
    (["1", "2", "1", "2"], [[1]]),
    (["1", "2", "1", "2"], [[1.0]]),
    ([1.0, 2.0, 1.0, 2.0], [["1"]]),
    ([True, False, True, False], [["True"]]),
]


@pytest.mark.parametrize(("column", "asked"), TYPES, ids=str)
@pytest.mark.parametrize("kind", [po.NaiveBayes, po.TAN, po.AODE, po.KDB, po.SPODE, po.BayesNetClassifier])
@pytest.mark.parametrize("n", [1, 3])
def test_a_value_asked_in_another_type_is_said(kind: Any, column: Any, asked: Any, n: int) -> None:
    def table(cells: Any) -> Any:
        return {"a": np.array(cells, dtype=object), "b": np.array(["u", "v", "v", "u"] * 9)[: len(cells)]}

    model = kind(kinds="categorical").fit(table(column * 3), [0, 1] * 6)
    with pytest.warns(UserWarning, match=r"column 'a': .* is unseen, but training had .*same type"):
        found = model.predict_proba(table(asked[0] * n))
    assert found.sum(axis=1) == pytest.approx(1.0)
    model.predict_proba(table(["other"] * n))  # new values are normal input: nothing to say


@pytest.mark.parametrize("kind", [po.NaiveBayes, po.TAN, po.AODE, po.KDB, po.SPODE])
def test_a_prior_told_by_class_is_the_prior_in_their_order(kind: Any) -> None:
    X, y = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 5), np.array(["ham", "spam", "ham", "eggs"] * 5)
    told = {"spam": 0.2, "eggs": 0.5, "ham": 0.3}
    expected = kind(kinds="categorical", prior=[told[c] for c in ("eggs", "ham", "spam")]).fit(X, y).predict_proba(X)
    assert np.array_equal(kind(kinds="categorical", prior=told).fit(X, y).predict_proba(X), expected)
    for wrong, message in [
        ({"spam": 0.2, "eggs": 0.8}, "'ham' has none"),
        ({**told, "hamm": 0.0}, "names 'hamm', which is no class.*'ham'"),
        ({**told, "ham": 0.4}, "sum to one"),
        ({**told, "ham": "much"}, "prior must"),
    ]:
        with pytest.raises(ValueError, match=message):
            kind(kinds="categorical", prior=wrong).fit(X, y).predict_proba(X)
