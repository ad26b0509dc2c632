"""What a model does when nothing is told: its defaults are part of its face, and change only on purpose."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from sklearn.utils._param_validation import Interval

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
        unlabelled=(),
        unlabelled_weight="auto",
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
        unlabelled=(),
        unlabelled_weight="auto",
    ),
    "AutoBayes": dict(
        n_trees=150,
        n_members=30,
        time_limit=None,
        random_state=None,
        progress=None,
        kinds=None,
        class_weight=None,
        max_memory=None,
        n_jobs=None,
    ),
    "BayesNetClassifier": dict(
        structure="hill-climb",
        criterion="bic",
        k=2,
        max_parents=None,
        continuous="cuts",
        smoothing=1.0,
        kinds=None,
        cuts="mdl",
        bins=10,
        class_weight=None,
        max_memory=None,
        search=None,
        n_jobs=None,
    ),
    "DiscriminativeNB": dict(
        weights="values",
        penalty="auto",
        pull="auto",
        smoothing=1.0,
        tol=1e-07,
        max_iter=200,
        kinds=None,
        cuts="mdl",
        bins=10,
        class_weight=None,
        max_memory=None,
        n_jobs=None,
    ),
    "BayesForest": dict(
        n_trees=150,
        n_members=30,
        random_state=None,
        progress=None,
        kinds=None,
        class_weight=None,
        max_memory=None,
        n_jobs=None,
    ),
    "BoostedBayes": dict(
        loss="log",
        max_rounds=300,
        learning_rate=0.1,
        max_depth="auto",
        random_state=None,
        progress=None,
        kinds=None,
        class_weight=None,
        max_memory=None,
        n_jobs=None,
    ),
    "BayesTree": dict(
        criterion="entropy",
        max_depth=None,
        min_weight_leaf=0.0,
        ccp_alpha=0.0,
        backoff="auto",
        kinds=None,
        class_weight=None,
        max_memory=None,
        n_jobs=None,
    ),
    "BernoulliNB": dict(alpha=1.0, force_alpha=True, binarize=0.0, fit_prior=True, class_prior=None),
    "CategoricalNB": dict(alpha=1.0, force_alpha=True, fit_prior=True, class_prior=None, min_categories=None),
    "ComplementNB": dict(alpha=1.0, force_alpha=True, fit_prior=True, class_prior=None, norm=False),
    "GaussianBayes": dict(covariance="full", shrinkage=0.0, priors=None, ddof=0),
    "KMeans": dict(
        n_clusters=8,
        init="k-means++",
        n_init="auto",
        max_iter=300,
        tol=1e-4,
        verbose=0,
        random_state=None,
        copy_x=True,
        algorithm="auto",
        batch_size=None,
        progress=None,
        n_jobs=None,
    ),
    "MixtureBayes": dict(
        n_components="auto",
        covariance_type="full",
        tol=1e-3,
        reg_covar="auto",
        background=1.0,
        max_iter=100,
        n_init=3,
        init_params="kmeans",
        priors=None,
        random_state=None,
        max_components=10,
        n_jobs=None,
    ),
    "GaussianMixture": dict(
        n_components=1,
        covariance_type="full",
        tol=1e-3,
        reg_covar=1e-6,
        max_iter=100,
        n_init=1,
        init_params="kmeans",
        weights_init=None,
        means_init=None,
        precisions_init=None,
        random_state=None,
        warm_start=False,
        verbose=0,
        verbose_interval=10,
        max_components=10,
        progress=None,
        n_jobs=None,
    ),
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
        unlabelled=(),
        unlabelled_weight="auto",
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
    "LatentClass": dict(
        n_classes=2,
        max_classes=10,
        smoothing=0.1,
        kinds=None,
        variance_floor=0.01,
        n_init=10,
        start=None,
        tol=1e-6,
        max_iter=500,
        random_state=None,
        progress=None,
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
        unlabelled=(),
        unlabelled_weight="auto",
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
        unlabelled=(),
        unlabelled_weight="auto",
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
        unlabelled=(),
        unlabelled_weight="auto",
    ),
}

# functions and methods: those that are a number, a name, a truth value or nothing at all, where each is written
OF_CALLS = {
    "A2DE.explain": dict(fixed=(), changes=3),
    "A2DE.forget": dict(keep=()),
    "A2DE.sample": dict(n=1),
    "BayesNet": dict(name="unknown"),
    "BayesNet.d_separated": dict(given=()),
    "BayesNet.fit": dict(smoothing=1.0, name="unknown"),
    "BayesNet.fit_em": dict(smoothing=1.0, name="unknown", tol=1e-8, max_iter=200),
    "BayesNet.from_counts": dict(smoothing=1.0, name="unknown"),
    "BayesNet.gibbs": dict(draws=5000, burn_in=1000, thin=1, chains=4, keep=False, pure=False),
    "BayesNet.likelihood_weighting": dict(draws=20_000),
    "BayesNet.sampled_bayes_risk": dict(draws=10_000),
    "BayesNet.smoothed": dict(smoothing=1.0),
    "BayesNetClassifier.sample": dict(n=1),
    "BayesTree.plot": dict(max_depth=4),
    "Dag": dict(edges=()),
    "Dag.connecting_path": dict(given=()),
    "Dag.d_separated": dict(given=()),
    "GaussianBayes.sample": dict(n=1),
    "GaussianMixture.plot": dict(columns=(0, 1)),
    "GaussianMixture.plot_steps": dict(turns=(1, 5, 15, 50), columns=(0, 1)),
    "GaussianMixture.sample": dict(n_samples=1),
    "HybridNet.fit": dict(smoothing=1.0),
    "KDTree": dict(metric="euclidean", p=2.0, leaf_size="auto"),
    "KDTree.plot": dict(k=1),
    "KDTree.query": dict(k=1, return_distance=True),
    "KDTree.query_radius": dict(return_distance=False),
    "KDTree.seen": dict(k=10),
    "KDTree.trace": dict(k=1),
    "KMeans.plot": dict(columns=(0, 1)),
    "KNeighborsClassifier.kneighbors": dict(return_distance=True),
    "KNeighborsClassifier.kneighbors_graph": dict(mode="connectivity"),
    "LatentClass.sample": dict(n_samples=1),
    "Loss": dict(reject=False),
    "Loss.over": dict(absent=False),
    "MixtureBayes.sample": dict(n=1),
    "NaiveBayes.credible_intervals": dict(level=0.95),
    "NaiveBayes.sample": dict(n=1),
    "Schema": dict(classes=(), notes=()),
    "Schema.declare": dict(classes=()),
    "arc_confidence": dict(n=200, progress=False),
    "calibration_error": dict(classwise=False, bins=15),
    "compare": dict(seed=0),
    "cross_validate": dict(folds=5, smoothing=1.0, random_state=0),
    "expectation_maximization": dict(hard=False, tol=1e-6, max_iter=200, decay=0.7, expected=False),
    "learn_structure": dict(
        score="bic",
        method="hill-climb",
        required=(),
        forbidden=(),
        tabu=0,
        restarts=0,
        test="g2",
        alpha=0.05,
        ess=1.0,
        progress=False,
    ),
    "reliability": dict(bins=15),
    "score_structure": dict(score="bic", ess=1.0),
    "sql": dict(dialect="duckdb"),
    "structural_em": dict(score="bic", required=(), forbidden=(), smoothing=1.0, draws=20, max_iter=20),
    "write_report": dict(with_rows=False, warnings=(), notes=(), seed=0),
    "A2DE.predict": dict(impossible="raise"),
    "A2DE.predict_log_proba": dict(impossible="raise"),
    "A2DE.predict_proba": dict(impossible="raise"),
    "AutoBayes.predict": dict(impossible="raise"),
    "AutoBayes.predict_log_proba": dict(impossible="raise"),
    "BayesNet.case_marginals": dict(impossible="raise"),
    "BayesNet.predict": dict(impossible="raise"),
    "BayesNet.predict_proba": dict(impossible="raise"),
    "DiscriminativeNB.predict": dict(impossible="raise"),
    "DiscriminativeNB.predict_log_proba": dict(impossible="raise"),
    "GaussianMixture.predict_proba": dict(impossible="raise"),
    "HybridNet.fit_em": dict(smoothing=1.0, tol=1e-08, max_iter=200),
    "HybridNet.predict": dict(impossible="raise"),
    "HybridNet.predict_proba": dict(impossible="raise"),
}


def calls() -> Iterator[tuple[str, Any]]:
    """Public functions, classes that are no models, and methods, each where it is met first."""
    met = set()
    for name in sorted(po._HOMES):
        found = getattr(po, name)
        if inspect.isfunction(found) or (inspect.isclass(found) and name not in DEFAULTS):
            yield name, found
        for key in sorted(dir(found)) if inspect.isclass(found) else ():
            method = inspect.getattr_static(found, key)
            method = getattr(method, "__func__", method)
            ours = inspect.isfunction(method) and method.__module__.startswith("posteriori.")
            if ours and not key.startswith("_") and method not in met:
                met.add(method)
                yield f"{name}.{key}", method


def test_defaults_of_calls() -> None:
    found = {}
    for name, call in calls():
        parameters = inspect.signature(call).parameters.items()
        found[name] = {
            key: p.default for key, p in parameters if isinstance(p.default, bool | int | float | str | tuple)
        }
    assert {name: told for name, told in found.items() if told} == OF_CALLS


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults(name: str) -> None:
    found = {
        key: parameter.default
        for key, parameter in inspect.signature(getattr(po, name)).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    assert found == DEFAULTS[name]


def test_no_model_is_forgotten() -> None:
    models = {name for name in po._HOMES if hasattr(getattr(po, name), "get_params")}
    assert models == set(DEFAULTS)


AT_LEAST_0, AT_LEAST_1, ABOVE_0 = "[0.0, inf)", "[1, inf)", "(0.0, inf)"
SMOOTHING = "[0.0, 1e+290]"  # beyond, sums of λ are no floats
BOUNDS = {  # of a parameter that is a number, whichever model has it
    **dict.fromkeys(["background", "binarize", "epsilon", "gamma", "max_seconds"], AT_LEAST_0),
    **dict.fromkeys(["alpha", "backoff", "min_frequency", "smoothing"], SMOOTHING),
    **dict.fromkeys(["ccp_alpha", "min_weight_leaf", "penalty", "time_limit"], AT_LEAST_0),
    **dict.fromkeys(["reg_covar", "unlabelled_weight", "var_smoothing", "variance_floor"], AT_LEAST_0),
    **dict.fromkeys(["batch_size", "bins", "max_classes", "max_components", "min_categories", "n_classes"], AT_LEAST_1),
    **dict.fromkeys(["n_clusters", "n_components", "n_init", "n_neighbors", "verbose_interval"], AT_LEAST_1),
    **dict.fromkeys(["max_depth", "n_members", "n_trees"], AT_LEAST_1),
    **dict.fromkeys(["cache_size", "intercept_scaling", "max_memory", "p", "sigma"], ABOVE_0),
    **dict.fromkeys(["k", "max_parents", "subsumption"], "[0, inf)"),
    **dict.fromkeys(["coef0", "min_information", "reject"], "(-inf, inf)"),
    "C": "(0.0, inf]",
    "ddof": "[0, 1]",
    "degree": "[0, 2147483647]",
    "folds": "[2, inf)",
    "leaf_size": "[1, 1048576]",
    "max_iter": AT_LEAST_1,
    "n_jobs": "(-inf, -1] or [1, inf)",
    "shrinkage": "[0.0, 1.0]",
    "tol": AT_LEAST_0,
}
OTHER_BOUNDS = {
    **{(name, "max_iter"): "[0, inf)" for name in ("DiscriminativeNB", "GaussianMixture")},
    ("DiscriminativeNB", "smoothing"): "(0.0, 1e+290]",
    ("BoostedBayes", "max_rounds"): "[1, 1000000]",
    ("BoostedBayes", "max_depth"): "[1, 30]",
    ("BoostedBayes", "learning_rate"): "(0.0, 1.0]",
    **{(name, "max_iter"): "[-1, inf)" for name in ("SVC", "SVR")},
    **{(name, "tol"): ABOVE_0 for name in ("LinearSVC", "SVC", "SVR")},
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_bounds(name: str) -> None:
    """What a parameter may be is part of a model's face too, as far as its last allowed number."""
    for key, allowed in getattr(getattr(po, name), "_parameter_constraints", {}).items():
        if intervals := [str(c).split("range ")[1] for c in allowed if isinstance(c, Interval)]:
            assert " or ".join(intervals) == OTHER_BOUNDS.get((name, key), BOUNDS.get(key)), key
