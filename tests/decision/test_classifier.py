"""RiskClassifier: a scikit-learn meta-estimator in every sense, over any classifier."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import posteriori as po
from posteriori.errors import LossError, ModelError, UnknownValue

COSTS = [[0, 1, 4], [1, 0, 1], [9, 3, 0]]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    names = np.array(["barbera", "barolo", "grignolino"])
    return train_test_split(X, names[y], random_state=0, stratify=y)


@pytest.mark.parametrize(
    "model",
    [
        po.RiskClassifier(GaussianNB()),
        po.RiskClassifier(LogisticRegression(max_iter=50), reject=1.0),
        po.RiskClassifier(DecisionTreeClassifier(random_state=0), calibration=None),
        po.RiskClassifier(GaussianNB(), calibration="isotonic", cv=2),
    ],
    ids=["plain", "reject", "tree", "calibrated"],
)
@pytest.mark.filterwarnings("ignore")  # scikit-learn's own classifiers warn on the rubbish that the checks feed them
def test_scikit_learns_own_checks(model):
    failed = [c for c in check_estimator(model, on_fail=None, on_skip=None) if c["status"] not in ("passed", "skipped")]
    assert not [(c["check_name"], c["exception"]) for c in failed]


def test_zero_one_is_the_classifiers_own_prediction(wine):
    X, X_test, y, _ = wine
    for inner in (GaussianNB(), KNeighborsClassifier(), DecisionTreeClassifier(random_state=0)):
        ours = po.RiskClassifier(inner).fit(X, y).predict(X_test)
        assert np.array_equal(ours, clone(inner).fit(X, y).predict(X_test))


@pytest.mark.parametrize("reject", [None, 0.2])
def test_predict_is_decide_on_the_posterior(wine, reject):
    X, X_test, y, y_test = wine
    model = po.RiskClassifier(GaussianNB(), loss=COSTS, reject=reject).fit(X, y)
    loss = po.Loss(COSTS, classes=model.classes_)
    loss = loss if reject is None else loss.with_reject(reject)
    posterior = GaussianNB().fit(X, y).predict_proba(X_test)
    assert np.array_equal(model.predict_proba(X_test), posterior)
    assert np.array_equal(model.predict(X_test), po.decide(posterior, loss))
    assert np.array_equal(model.predict_risk(X_test), po.risk(posterior, loss))
    assert model.predict_risk(X_test).shape[1] == len(model.actions_)
    assert model.bayes_risk(X_test) == po.bayes_risk(posterior, loss)
    assert model.score(X_test, y_test) == -po.mean_loss(y_test, model.predict(X_test), loss)
    assert model.risk_coverage(X_test).risk[-1] == pytest.approx(po.bayes_risk(posterior, COSTS))
    assert model.predict_log_proba(X_test).shape == posterior.shape


def test_every_way_to_say_the_loss(wine, tmp_path):
    X, X_test, y, _ = wine
    names = ["grignolino", "barbera", "barolo"]  # not the model's order
    matrix = np.array(COSTS)[np.ix_([2, 0, 1], [2, 0, 1])]
    frame = pd.DataFrame(matrix, index=names, columns=names)
    frame.to_csv(tmp_path / "loss.csv")
    expected = po.RiskClassifier(GaussianNB(), loss=COSTS).fit(X, y).predict(X_test)
    for loss in (po.Loss(matrix, classes=names), frame, frame.T.to_dict(), tmp_path / "loss.csv"):
        assert np.array_equal(po.RiskClassifier(GaussianNB(), loss=loss).fit(X, y).predict(X_test), expected)


def test_the_loss_and_the_price_change_without_refitting(wine):
    X, X_test, y, _ = wine
    model = po.RiskClassifier(GaussianNB()).fit(X, y)
    fitted = model.estimator_
    model.set_params(reject=model.reject_price(X_test, coverage=0.8))
    assert (model.predict(X_test) != "reject").mean() >= 0.8
    model.set_params(reject=None, loss={"barbera": 0, "barolo": 0, "grignolino": 1})
    assert (model.predict(X_test) == "grignolino").all()
    assert model.estimator_ is fitted


def test_dtypes_of_predictions(wine):
    X, X_test, y, _ = wine
    assert po.RiskClassifier(GaussianNB()).fit(X, y).predict(X_test).dtype == np.unique(y).dtype
    small = (y == "barolo").astype(np.int8)
    assert po.RiskClassifier(GaussianNB()).fit(X, small).predict(X_test).dtype == np.int8
    yes = po.RiskClassifier(GaussianNB(), reject=0.0).fit(X, small.astype(bool)).predict(X_test)
    assert set(yes.tolist()) <= {0, 1, -1}
    assert -1 in yes
    told = po.RiskClassifier(GaussianNB(), reject=0.0, reject_label="?").fit(X, y).predict(X_test)
    assert "?" in told


def test_errors_come_when_fitting(wine):
    X, _, y, _ = wine
    cases = [
        (po.RiskClassifier(GaussianNB(), loss=[[0, 1], [1, 0]]), LossError, "2 columns, the model 3 classes"),
        (po.RiskClassifier(GaussianNB(), loss={"barbera": 1, "barolo": 1, "grignolini": 2}), LossError, "did you mean"),
        (
            po.RiskClassifier(GaussianNB(), loss=po.Loss.zero_one(3).with_reject(1), reject=1),
            LossError,
            "one of the two",
        ),
        (po.RiskClassifier(GaussianNB(), reject=0.1, reject_label="barolo"), LossError, "reject_label"),
        (po.RiskClassifier(LinearSVC()), ModelError, "calibration='sigmoid'"),
        (po.RiskClassifier(GaussianNB(), calibration="isotonc"), ModelError, "did you mean 'isotonic'"),
    ]
    for model, error, said in cases:
        with pytest.raises(error, match=said):
            model.fit(X, y)
    with pytest.raises(ModelError, match="takes no sample_weight"):
        po.RiskClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(NotFittedError, match="not fitted"):
        po.RiskClassifier(GaussianNB()).predict(X)
    with pytest.raises(UnknownValue, match="'chianti'"):
        po.RiskClassifier(GaussianNB(), loss=COSTS).fit(X, y).score(X[:1], ["chianti"])


@pytest.mark.parametrize("reject", [None, 0.4])
@pytest.mark.parametrize("named", [None, "dict", "loss", "frame"])
def test_a_class_absent_from_a_fold_is_scored(named, reject):
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])
    matrix = np.array(COSTS)
    loss = {
        None: None,
        "dict": {"a": 1.0, "b": 2.0, "c": 3.0},
        "loss": po.Loss(matrix, classes=names),
        "frame": pd.DataFrame(matrix, index=names, columns=names),
    }[named]
    model = po.RiskClassifier(GaussianNB(), loss=loss, reject=reject)
    scores = cross_val_score(model, X, names[y], cv=KFold(3), error_score="raise")  # each fold lacks the class it tests
    full = po.Loss.zero_one(names) if loss is None else model.fit(X, names[y]).loss_.without_reject()
    cost = full.matrix if reject is None else np.vstack([full.matrix, np.full(3, reject)])
    for k, score in enumerate(scores):
        fold = clone(model).fit(X[y != k], names[y[y != k]])
        assert names[k] not in fold.classes_
        said = [["a", "b", "c", "reject"].index(label) for label in fold.predict(X[y == k])]
        assert score == pytest.approx(-cost[said, k].mean())
        assert np.array_equal(fold.predict_risk(X).shape, (150, len(fold.actions_)))


def test_a_fit_that_fails_changes_nothing(wine):
    X, X_test, y, _ = wine
    model = po.RiskClassifier(GaussianNB(), loss={"barbera": 1, "barolo": 1, "grignolino": 2}).fit(X, y)
    before = model.predict(X_test)
    for rubbish in ({"loss": {"barbera": 1}}, {"reject": "dear"}, {"reject": np.nan}, {"cv": -1}, {"estimator": 3}):
        kept = {name: model.get_params(deep=False)[name] for name in rubbish}
        with pytest.raises(
            (LossError, ModelError), match=next(iter(rubbish)) if "loss" not in rubbish else "no column"
        ):
            model.set_params(**rubbish).fit(X, y)
        model.set_params(**kept)
    assert np.array_equal(model.predict(X_test), before)
    with pytest.raises(ModelError, match="'reject' parameter"):
        model.set_params(reject="dear").predict(X_test)


def test_a_fitted_model_needs_no_fit(wine):
    X, X_test, y, _ = wine
    inner = GaussianNB().fit(X, y)
    model = po.RiskClassifier(FrozenEstimator(inner), loss=COSTS)
    expected = po.decide(inner.predict_proba(X_test), COSTS, classes=inner.classes_)
    assert np.array_equal(model.predict(X_test), expected)
    assert np.array_equal(model.fit(X_test[:5], ["barolo"] * 5).predict(X_test), expected)
    with pytest.raises(NotFittedError):
        po.RiskClassifier(FrozenEstimator(GaussianNB()), loss=COSTS).predict(X_test)
    with pytest.raises(NotFittedError):
        po.RiskClassifier(FrozenEstimator(inner), calibration="isotonic").predict(X_test)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("frozen", [False, True])
def test_calibration_is_scikit_learns(wine, method, frozen):
    from sklearn.calibration import CalibratedClassifierCV

    X, X_test, y, _ = wine
    inner = FrozenEstimator(GaussianNB().fit(X, y)) if frozen else GaussianNB()
    ours = po.RiskClassifier(inner, loss=COSTS, calibration=method, cv=3).fit(X, y)
    theirs = CalibratedClassifierCV(inner, method=method, cv=3).fit(X, y)
    assert np.array_equal(ours.predict_proba(X_test), theirs.predict_proba(X_test))
    assert not hasattr(ours, "predict_log_proba")


def test_a_margin_gets_a_posterior_by_calibration(wine):
    X, X_test, y, y_test = wine
    model = make_pipeline(StandardScaler(), po.RiskClassifier(LinearSVC(), calibration="sigmoid"))
    assert (model.fit(X, y).predict(X_test) == y_test).mean() > 0.9


def test_clone_pickle_pipelines_and_sparse(wine):
    X, X_test, y, _ = wine
    model = po.RiskClassifier(
        GaussianNB(), loss=po.Loss(COSTS, classes=["barbera", "barolo", "grignolino"]), reject=0.3
    )
    fitted = clone(model).fit(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(X_test), fitted.predict(X_test))
    assert model.get_params()["estimator__var_smoothing"] == 1e-9
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    named = po.RiskClassifier(make_pipeline(StandardScaler(), GaussianNB()), loss=COSTS).fit(frame, y)
    assert named.feature_names_in_.tolist() == frame.columns.tolist()
    assert named.n_features_in_ == 13
    few = po.RiskClassifier(MultinomialNB(), loss=COSTS).fit(sparse.csr_array(X), y)
    assert np.array_equal(few.predict(sparse.csr_array(X_test)), few.predict(X_test))
    bagged = BaggingClassifier(po.RiskClassifier(GaussianNB(), loss=COSTS), n_estimators=3, random_state=0).fit(X, y)
    assert set(bagged.predict(X_test)) <= set(y)


def test_grid_search_minimises_the_loss_not_the_errors(wine):
    X, _, y, _ = wine
    asked = {"loss": [None, COSTS], "estimator__var_smoothing": [1e-9, 1e-2]}
    search = GridSearchCV(po.RiskClassifier(GaussianNB()), asked, cv=3).fit(X, y)
    assert search.best_score_ <= 0
    scores = cross_val_score(po.RiskClassifier(GaussianNB(), loss=COSTS), X, y, cv=3)
    loss = po.Loss(COSTS, classes=np.unique(y))
    scored = cross_val_score(po.RiskClassifier(GaussianNB(), loss=COSTS), X, y, cv=3, scoring=po.loss_scorer(loss))
    assert scores == pytest.approx(scored)
    plain = cross_val_score(GaussianNB(), X, y, cv=3, scoring=po.loss_scorer(loss))  # any classifier can be asked
    assert np.all(plain <= 0)


def test_deciding_by_risk_costs_less_than_argmax():
    """On breast cancer, with a missed tumour at 20 and a false alarm at 1, the realised loss falls."""
    X, y = load_breast_cancer(return_X_y=True)
    loss = po.Loss.per_class({0: 20, 1: 1})
    argmax = -cross_val_score(GaussianNB(), X, y, cv=5, scoring=po.loss_scorer(loss)).mean()
    by_risk = -cross_val_score(po.RiskClassifier(GaussianNB(), loss=loss, calibration="isotonic"), X, y, cv=5).mean()
    assert by_risk < 0.6 * argmax


def test_sample_weight_reaches_fit_and_score():
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    for calibration in (None, "sigmoid"):
        model = po.RiskClassifier(GaussianNB(), loss=COSTS, calibration=calibration)
        weighted = model.fit(X, y, sample_weight=weight)
        if calibration is None:
            repeated = clone(model).fit(X[twice], y[twice])
            assert weighted.predict_proba(X) == pytest.approx(repeated.predict_proba(X))
        assert weighted.score(X, y, sample_weight=weight) == pytest.approx(weighted.score(X[twice], y[twice]))


@pytest.mark.parametrize("calibration", [None, "sigmoid"])
def test_metadata_routing(calibration):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).random(len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        inner = GaussianNB().set_fit_request(sample_weight=True)
        model = po.RiskClassifier(inner, loss=COSTS, calibration=calibration).set_score_request(sample_weight=True)
        routed = model.fit(X, y, sample_weight=weight)
        search = GridSearchCV(model, {"reject": [None, 0.5]}, cv=3).fit(X, y, sample_weight=weight)
        assert search.best_score_ <= 0
        with pytest.raises(ValueError, match="sample_weight"):
            po.RiskClassifier(GaussianNB()).fit(X, y, sample_weight=weight)  # nobody asked for weights
    plain = po.RiskClassifier(GaussianNB(), loss=COSTS, calibration=calibration).fit(X, y, sample_weight=weight)
    assert routed.predict_proba(X) == pytest.approx(plain.predict_proba(X))


def test_a_calibration_understands_the_columns_as_the_table_does():
    """Texts are words in every fold, and few whole numbers are values: each text was a name of its own."""
    rng = np.random.default_rng(0)
    y = np.repeat(["ham", "spam"], 100)
    said = {"ham": ["see", "you", "soon", "at", "noon"], "spam": ["win", "a", "cash", "prize", "now"]}
    rows = [{"text": f"{' '.join(rng.permutation(said[k]))} {i}", "n": i % 3, "y": k} for i, k in enumerate(y)]
    table = po.read(io.StringIO(pd.DataFrame(rows).to_csv(index=False)), target="y")
    assert table.schema.kinds == ("text", "categorical")
    model = po.RiskClassifier(po.NaiveBayes(), calibration="sigmoid", cv=3).fit(table)
    inner = [part.estimator.schema_.kinds for part in model.estimator_.calibrated_classifiers_]
    assert inner == [table.schema.kinds] * 3
    assert model.predict({"text": ["cash now", "noon"], "n": [0, 0]}).tolist() == ["spam", "ham"]
    assert model.estimator.kinds is None
