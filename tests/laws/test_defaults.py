"""What a model does when nothing is told: its defaults are part of its face, and change only on purpose."""

from __future__ import annotations

import inspect

import pytest

import posteriori as po

DEFAULTS = {
    "A2DE": dict(
        min_frequency=30,
        smoothing=1.0,
        prior="smoothed",
        kinds=None,
        cuts="mdl",
        bins=10,
        class_weight=None,
        max_memory=None,
        n_jobs=None,
    ),
    "AODE": dict(
        min_frequency=30,
        lazy=False,
        weights="uniform",
        subsumption=None,
        smoothing=1.0,
        prior="smoothed",
        kinds=None,
        cuts="mdl",
        bins=10,
        class_weight=None,
        max_memory=None,
        n_jobs=None,
    ),
    "BayesNetClassifier": dict(
        structure="hill-climb",
        criterion="bic",
        k=2,
        max_parents=None,
        smoothing=1.0,
        kinds=None,
        cuts="mdl",
        bins=10,
        class_weight=None,
        max_memory=None,
        n_jobs=None,
    ),
    "BernoulliNB": dict(alpha=1.0, force_alpha=True, binarize=0.0, fit_prior=True, class_prior=None),
    "CategoricalNB": dict(alpha=1.0, force_alpha=True, fit_prior=True, class_prior=None, min_categories=None),
    "ComplementNB": dict(alpha=1.0, force_alpha=True, fit_prior=True, class_prior=None, norm=False),
    "GaussianBayes": dict(covariance="full", shrinkage=0.0, priors=None, ddof=0),
    "GaussianNB": dict(priors=None, var_smoothing=1e-09),
    "KDB": dict(
        k=2,
        select=False,
        criterion="log_loss",
        folds=10,
        backoff=5.0,
        smoothing=1.0,
        prior="smoothed",
        kinds=None,
        cuts="mdl",
        bins=10,
        class_weight=None,
        max_memory=None,
        n_jobs=None,
    ),
    "KNeighborsClassifier": dict(
        n_neighbors=5,
        weights="uniform",
        algorithm="auto",
        leaf_size="auto",
        p=2,
        metric="minkowski",
        metric_params=None,
        smoothing=0.0,
        kinds=None,
        n_jobs=None,
    ),
    "KNeighborsRegressor": dict(
        n_neighbors=5,
        weights="uniform",
        algorithm="auto",
        leaf_size="auto",
        p=2,
        metric="minkowski",
        metric_params=None,
        kinds=None,
        n_jobs=None,
    ),
    "LinearSVC": dict(
        C=1.0,
        loss="squared_hinge",
        solver="auto",
        tol=0.0001,
        fit_intercept=True,
        intercept_scaling=1.0,
        class_weight=None,
        max_iter=1000,
        random_state=None,
        n_jobs=None,
    ),
    "MultinomialNB": dict(alpha=1.0, force_alpha=True, fit_prior=True, class_prior=None),
    "NaiveBayes": dict(
        smoothing=1.0,
        prior="smoothed",
        kinds=None,
        density="auto",
        unseen="missing",
        class_weight=None,
        variance_floor=0.01,
        ddof=0,
        n_jobs=None,
    ),
    "RiskClassifier": dict(loss=None, reject=None, reject_label=None, calibration=None, cv=None),
    "SPODE": dict(
        super_parent=None,
        folds=None,
        criterion="log_loss",
        random_state=None,
        smoothing=1.0,
        prior="smoothed",
        kinds=None,
        cuts="mdl",
        bins=10,
        class_weight=None,
        max_memory=None,
        n_jobs=None,
    ),
    "SVC": dict(
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        sigma=None,
        coef0=0.0,
        norm=2,
        multi_class="ovo",
        decision_function_shape="ovr",
        class_weight=None,
        probability=False,
        tol=0.001,
        cache_size=200.0,
        max_iter=-1,
        max_seconds=None,
        random_state=None,
        n_jobs=None,
    ),
    "SVR": dict(
        C=1.0,
        epsilon=0.1,
        kernel="rbf",
        degree=3,
        gamma="scale",
        sigma=None,
        coef0=0.0,
        norm=2,
        tol=0.001,
        cache_size=200.0,
        max_iter=-1,
        max_seconds=None,
        n_jobs=None,
    ),
    "TAN": dict(
        root=None,
        min_information=0.0,
        backoff=5.0,
        smoothing=1.0,
        prior="smoothed",
        kinds=None,
        cuts="mdl",
        bins=10,
        class_weight=None,
        max_memory=None,
        n_jobs=None,
    ),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults(name: str) -> None:
    found = {
        key: parameter.default
        for key, parameter in inspect.signature(getattr(po, name)).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    assert found == DEFAULTS[name]


def test_no_model_is_forgotten() -> None:
    models = {name for name in po._HOME if hasattr(getattr(po, name), "get_params")}
    assert models == set(DEFAULTS)
