"""Mixed columns through the schema, and posteriors handed to the decision layer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import posteriori as po
from posteriori.errors import BadValue, UnknownColumn

pandas = pytest.importorskip("pandas")
RANDOM = np.random.RandomState(0)
CITY = RANDOM.choice(["Beijing", "Lyon", "Oslo"], 240)
AGE = RANDOM.normal(40, 10, 240)
ILL = ((CITY == "Oslo") | (AGE > 48)).astype(int)
TABLE = pandas.DataFrame({"age": (AGE - 40) / 10, "city": CITY, "smokes": RANDOM.random_sample(240) < 0.5})
POINTS = np.column_stack(
    [TABLE["age"], *(c == CITY for c in ("Beijing", "Lyon", "Oslo")), ~TABLE["smokes"], TABLE["smokes"]]
).astype(float)


@pytest.mark.parametrize("model", [po.SVC(), po.LinearSVC(), po.SVR()], ids=repr)
def test_categories_are_one_hot(model):
    mixed = model.fit(TABLE, ILL)
    assert mixed.columns_.coordinates == (
        "age",
        "city=Beijing",
        "city=Lyon",
        "city=Oslo",
        "smokes=False",
        "smokes=True",
    )
    answer = mixed.predict(TABLE)
    assert mixed.feature_names_in_.tolist() == ["age", "city", "smokes"]
    assert mixed.n_features_in_ == 3
    assert_allclose(answer, model.fit(POINTS, ILL).predict(POINTS))
    assert not hasattr(model, "columns_")


def test_frames_of_other_libraries_say_the_same():
    polars = pytest.importorskip("polars")
    model = po.SVC().fit(TABLE, ILL)
    expected = model.decision_function(TABLE)
    for other in (polars.from_pandas(TABLE), {c: TABLE[c].to_numpy() for c in TABLE}, TABLE[["smokes", "age", "city"]]):
        assert_allclose(model.decision_function(other), expected)
        assert_allclose(po.SVC().fit(other, ILL).decision_function(other), expected, atol=5e-3)


def test_unseen_missing_and_unknown():
    model = po.SVC().fit(TABLE, ILL)
    new = TABLE.head(2).assign(city="Rome")
    assert np.isfinite(model.decision_function(new)).all()
    with pytest.raises(BadValue, match=r"row 1, column 'city'.*most_frequent"):
        model.predict(TABLE.head(3).assign(city=["Lyon", None, "Oslo"]))
    with pytest.raises(BadValue, match=r"NaN.*row 0, column 'age'.*SimpleImputer"):
        model.predict(TABLE.head(1).assign(age=np.nan))
    with pytest.raises(UnknownColumn, match="missing columns: 'city'"):
        model.predict(TABLE.rename(columns={"city": "town"}))


def test_posteriors_are_handed_to_the_decision_layer():
    machine = po.SVC(probability=True, random_state=0).fit(TABLE, ILL)
    posterior = machine.predict_proba(TABLE)
    loss = po.Loss([[0, 10], [1, 0]])  # to call the ill well costs ten
    careful = po.decide(posterior, loss)
    assert_allclose(careful, (posterior[:, 1] >= 1 / 11).astype(int))
    assert careful.sum() >= machine.predict(TABLE).sum()
    model = po.RiskClassifier(po.SVC(probability=True, random_state=0), loss=loss, reject=0.3).fit(POINTS, ILL)
    assert set(model.predict(POINTS)) <= {0, 1, -1}
    assert_allclose(
        model.predict_proba(POINTS), po.SVC(probability=True, random_state=0).fit(POINTS, ILL).predict_proba(POINTS)
    )
