"""What scikit-learn asks of a classifier, of every estimator: its own checks, and life in its tools."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import posteriori as po

ESTIMATORS: list[Any] = [
    po.NaiveBayes(),
    po.NaiveBayes(density="kernel"),
    po.NaiveBayes(density="binned"),
    po.NaiveBayes(kinds="categorical"),
    po.CategoricalNB(),
    po.BernoulliNB(),
    po.MultinomialNB(),
    po.ComplementNB(),
    po.GaussianNB(),
    po.GaussianBayes(shrinkage=0.1),
    po.GaussianBayes("tied", shrinkage=0.1),
    po.GaussianBayes(),
]
# check -> reason, for the estimators (by repr) that cannot pass it
EXPECTED: dict[str, dict[str, str]] = {
    "GaussianBayes()": {
        "check_sample_weight_equivalence_on_dense_data": "gives a class one row, whose covariance has no inverse: "
        "the class docstring says so, and shrinkage is the way out"
    }
}
each = pytest.mark.parametrize("model", ESTIMATORS, ids=repr)


def reads_numbers(model: Any) -> bool:
    """Whether the model takes measurements, not codes."""
    mixed = isinstance(model, po.NaiveBayes) and model.kinds is None
    return mixed or isinstance(model, (po.GaussianNB, po.GaussianBayes))


def table(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Iris, in cells that the model reads: codes for the discrete ones."""
    X, y = load_iris(return_X_y=True)
    if reads_numbers(model):
        return X, y
    return np.clip(np.floor(X * 2), 0, 15).astype(np.int64), y


@each
def test_check_estimator(model: Any) -> None:
    expected = EXPECTED.get(repr(model), {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=expected, on_fail=None)
    failed = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"}
    xfailed = {r["check_name"] for r in results if r["status"] == "xfail"}
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    assert failed == {}
    assert xfailed == set(expected)
    assert skipped <= {"check_array_api_input"}  # asks for an environment variable, and for array-API input
    assert len(results) >= 55


@each
def test_clone_and_pickle_predict_the_same(model: Any) -> None:
    X, y = table(model)
    fitted = clone(model).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert_array_equal(clone(fitted).fit(X, y).predict_joint_log_proba(X), fitted.predict_joint_log_proba(X))
    again.partial_fit(X[:10], y[:10])
    fitted.partial_fit(X[:10], y[:10])
    assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


@each
def test_pipelines_search_and_ensembles(model: Any) -> None:
    X, y = load_iris(return_X_y=True)
    gaussian = reads_numbers(model)
    before = (
        StandardScaler() if gaussian else KBinsDiscretizer(5, encode="ordinal", quantile_method="averaged_inverted_cdf")
    )
    pipe = make_pipeline(before, clone(model))
    assert cross_val_score(pipe, X, y).mean() > 0.6
    name = type(model).__name__.lower()
    knob = {"gaussiannb": "var_smoothing", "gaussianbayes": "shrinkage", "naivebayes": "smoothing"}.get(name, "alpha")
    search = GridSearchCV(pipe, {f"{name}__{knob}": [0.1, 0.5]}).fit(X, y)
    assert search.best_params_[f"{name}__{knob}"] in (0.1, 0.5)
    codes, y = table(model)
    ensembles = [AdaBoostClassifier(clone(model), n_estimators=3), BaggingClassifier(clone(model), n_estimators=3)]
    if getattr(model, "density", None) == "binned":  # boosting's weights sum to one row, too little for any cut to pay
        ensembles = ensembles[1:]
    for ensemble in ensembles:
        assert ensemble.fit(codes, y).score(codes, y) > 0.6


@each
def test_metadata_routing_carries_weights(model: Any) -> None:
    X, y = table(model)
    weights = np.linspace(0.5, 2.0, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(model).set_fit_request(sample_weight=True)
        pipe = make_pipeline(routed).fit(X, y, sample_weight=weights)
    direct = clone(model).fit(X, y, sample_weight=weights)
    assert_array_equal(pipe.predict_proba(X), direct.predict_proba(X))


@each
def test_set_output_and_names(model: Any) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = table(model)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    fitted = clone(model).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == list("abcd")
    assert_array_equal(fitted.predict(frame), clone(model).fit(X, y).predict(X))
    turned = frame[["b", "a", "c", "d"]]
    if isinstance(model, po.NaiveBayes):  # columns are matched by name
        assert_array_equal(fitted.predict(turned), fitted.predict(frame))
    else:
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            fitted.predict(X)
        with pytest.raises(ValueError, match="feature names should match"):
            fitted.predict(turned)
    pipe = (
        make_pipeline(StandardScaler(), clone(model))
        if isinstance(model, po.GaussianNB)
        else make_pipeline(clone(model))
    )
    assert pipe.set_output(transform="pandas").fit(frame, y).predict(frame).shape == y.shape
