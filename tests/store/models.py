"""One of every model that a file can hold, on one small mixed table, and rows to ask it about."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator

import posteriori as po
from posteriori.decision.on_points import Calibrated, OnPoints


def table(n=90, seed=0):
    """Mixed columns with missing cells, classes by name, points and a target."""
    rng = np.random.default_rng(seed)
    cells = pd.DataFrame(
        {
            "sky": rng.choice(["blue", "grey", "green"], n),
            "warm": rng.integers(0, 2, n).astype(bool),
            "wind": rng.normal(size=n),
            "rain": rng.normal(size=n) ** 2,
            "day": pd.Categorical(rng.choice(["mo", "tu", "we"], n), categories=["mo", "tu", "we", "th"]),
        }
    )
    cells.loc[::7, "wind"] = np.nan
    cells.loc[::11, "sky"] = None
    return cells, rng.choice(["in", "out", "off"], n), rng.normal(size=(n, 3))


X, y, P = table()
COUNTS = {
    "naive": lambda: po.NaiveBayes().fit(X, y),
    "naive weighted": lambda: po.NaiveBayes(density="kernel").fit(X, y, sample_weight=np.linspace(0.1, 2, len(y))),
    "naive text": lambda: po.NaiveBayes(kinds={"note": "text"}).fit(
        {"note": ["a b", "b c", "a"] * 3}, ["x", "y", "z"] * 3
    ),
    "naive counts": lambda: po.NaiveBayes(kinds="count").fit(np.arange(12).reshape(6, 2) % 5, [0, 1] * 3),
    "naive prior": lambda: po.NaiveBayes(prior={"in": 0.2, "out": 0.3, "off": 0.5}, density={"wind": "binned"}).fit(
        X, y
    ),
    "naive hidden": lambda: po.NaiveBayes(unlabelled=None, unlabelled_weight=1, density="gaussian").fit(
        X, [None, *y[1:]]
    ),
    "spode": lambda: po.SPODE().fit(X, y),
    "spode told": lambda: po.SPODE(super_parent="sky").fit(X, y),
    "tan": lambda: po.TAN(cuts="quantile", bins=3).fit(X, y),
    "aode": lambda: po.AODE(cuts="quantile", bins=3, min_frequency=1).fit(X, y),
    "lazy": lambda: po.AODE(lazy=True).fit(X, y),
    "a2de": lambda: po.A2DE(cuts="quantile", bins=2).fit(X, y),
    "kdb": lambda: po.KDB(cuts="quantile", bins=3).fit(X, y),
    "kdb selected": lambda: po.KDB(select=True, k="auto").fit(X, y),
}


COUNTS |= {
    "count tree": lambda: po.BayesTree().fit(X, y),
    "count tree told": lambda: po.BayesTree("gain_ratio", backoff=2, ccp_alpha=0.01).fit(
        X, y, sample_weight=np.linspace(0.1, 2, len(y))
    ),
}
stream = partial(np.random.RandomState, 1)
C = np.random.default_rng(5).integers(0, 3, (90, 4))
Z = X[["sky", "warm", "day"]].astype(object).where(X[["sky", "warm", "day"]].notna(), "none").astype(str)
T = P @ [1.0, -2.0, 0.5]
BY_CLASS = {
    "categorical": lambda: po.CategoricalNB(min_categories=5).fit(C, y),
    "bernoulli": lambda: po.BernoulliNB(alpha=[0.5, 1, 1, 2]).fit(C > 1, y),
    "multinomial": lambda: po.MultinomialNB(class_prior=[0.2, 0.3, 0.5]).fit(C, y),
    "complement": lambda: po.ComplementNB(norm=True).fit(sp.csr_matrix(C), y),
    "gaussian": lambda: po.GaussianNB().fit(P, y),
    "gaussian single": lambda: po.GaussianNB().fit(P.astype(np.float32), y, sample_weight=np.linspace(1, 2, 90)),
    "normals": lambda: po.GaussianBayes(shrinkage=0.1).fit(pd.DataFrame(P, columns=list("abc")), y),
    "normals tied": lambda: po.GaussianBayes("tied").fit(P, y),
}
POINTS = {
    "mixture": lambda: po.GaussianMixture(2, random_state=0).fit(P),
    "mixture auto": lambda: po.GaussianMixture(
        "auto", covariance_type="diag", random_state=np.random.RandomState(1)
    ).fit(P),
    "mixture tied": lambda: po.GaussianMixture(2, covariance_type="tied", random_state=0).fit(P.astype(np.float32)),
    "mixture spherical": lambda: po.GaussianMixture(2, covariance_type="spherical", random_state=0).fit(P),
    "kmeans": lambda: po.KMeans(3, random_state=0).fit(P),
    "mixtures": lambda: po.MixtureBayes(2, random_state=0).fit(P, y),
    "latent": lambda: po.LatentClass(2, random_state=np.random.default_rng(3), n_init=2).fit(X),
    "svc": lambda: po.SVC().fit(P, y),
    "svc posterior": lambda: po.SVC(kernel="linear", probability=True, random_state=0, C=0.5).fit(P, y),
    "svc two": lambda: po.SVC(kernel="poly").fit(np.vstack([P, P]), np.tile(y == "in", 2)),
    "svc rest": lambda: po.SVC(multi_class="ovr", kernel="laplacian", norm=1).fit(P, y),
    "svc sparse": lambda: po.SVC(kernel="laplacian", norm=1).fit(sp.csr_matrix(np.maximum(P, 0)), y),
    "svc sparse rbf": lambda: po.SVC().fit(sp.csr_array(np.maximum(P, 0)), y),
    "svc told": lambda: po.SVC(kernel="precomputed").fit(P[:, :1] * P[:, 0], y),
    "svr": lambda: po.SVR().fit(P, T),
    "svr linear": lambda: po.SVR(kernel="linear", C=10).fit(np.vstack([P, P]), np.tile(T, 2)),
    "linear": lambda: po.LinearSVC(random_state=0).fit(P, y),
    "nearest": lambda: po.KNeighborsClassifier(3).fit(P, y),
    "nearest auto": lambda: po.KNeighborsClassifier("auto", weights="tricube").fit(
        P, y, sample_weight=np.linspace(1, 2, 90)
    ),
    "nearest single": lambda: po.KNeighborsClassifier(3, p=3, metric_params={"w": [1.0, 2.0, 1.0]}).fit(
        P.astype("f4"), y
    ),
    "nearest mahalanobis": lambda: po.KNeighborsClassifier(3, metric="mahalanobis").fit(P, y),
    "nearest gower": lambda: po.KNeighborsClassifier(3, metric="gower").fit(X, y),
    "nearest vdm": lambda: po.KNeighborsClassifier(3, metric="vdm").fit(X, y),
    "nearest jaccard": lambda: po.KNeighborsClassifier(3, metric="jaccard").fit(P > 0, y),
    "nearest sparse": lambda: po.KNeighborsClassifier(3).fit(sp.csr_matrix(np.maximum(P, 0)), y),
    "nearest missing": lambda: po.KNeighborsClassifier(3, metric="nan_euclidean").fit(np.where(P > 1.5, np.nan, P), y),
    "nearest grown": lambda: po.KNeighborsClassifier(3).fit(P[:50], y[:50]).partial_fit(P[50:], y[50:]),
    "regression": lambda: po.KNeighborsRegressor(3, weights="distance").fit(P, T),
    "regressions": lambda: po.KNeighborsRegressor("auto").fit(P, np.stack([T, -T], axis=1)),
    "net classifier": lambda: po.BayesNetClassifier("tan").fit(X, y),
    "net climbed": lambda: po.BayesNetClassifier().fit(Z, Z["sky"]),
    "net gaussian": lambda: po.BayesNetClassifier("kdb", continuous="gaussian").fit(X, y),
    "net told": lambda: po.BayesNetClassifier(po.Dag([*X.columns, "k"], [("k", "sky"), ("sky", "warm")])).fit(X, y),
    "discriminative": lambda: po.DiscriminativeNB().fit(X, y),
    "discriminative columns": lambda: po.DiscriminativeNB("columns", penalty=2.0).fit(
        X, y, sample_weight=np.linspace(1, 2, 90)
    ),
    "count forest": lambda: po.BayesForest(n_trees=4, n_members=2, random_state=0).fit(X, y),
    "count forest words": lambda: po.BayesForest(n_trees=2, n_members=2, random_state=stream()).fit(
        Z, Z["sky"], sample_weight=np.linspace(0.1, 2, len(y))
    ),
    "boosted": lambda: po.BoostedBayes(random_state=0).fit(X, y),
    "boosted words": lambda: po.BoostedBayes("exponential", max_rounds=20, max_depth=2, random_state=stream()).fit(
        Z, Z["sky"], sample_weight=np.linspace(0.1, 2, len(y))
    ),
    "boosted alone": lambda: po.BoostedBayes().fit(X, ["one"] * len(y)),
    "auto": lambda: po.AutoBayes(n_trees=4, n_members=2, random_state=0).fit(X, y),
    "auto words": lambda: po.AutoBayes(n_trees=2, n_members=2, random_state=stream()).fit(
        Z, Z["sky"], sample_weight=np.linspace(0.1, 2, len(y))
    ),
    "points svc": lambda: OnPoints(po.SVC(probability=True, random_state=0)).fit(X, y),
    "points linear": lambda: OnPoints(Calibrated(po.LinearSVC(random_state=0))).fit(X, y),
    "points mixture": lambda: OnPoints(po.MixtureBayes(1, random_state=0)).fit(X[["wind", "rain"]], y),
    "points text": lambda: OnPoints(Calibrated(po.LinearSVC(random_state=0)), kinds={"note": "text"}).fit(
        {"note": ["a big one", "by cart", "a"] * 5}, ["x", "y", "z"] * 5
    ),
    "margins": lambda: Calibrated(po.LinearSVC(random_state=0)).fit(P, y),
    "risk points": lambda: po.RiskClassifier(OnPoints(po.GaussianBayes(shrinkage=0.1)), reject=0.3).fit(X, y),
    "risk": lambda: po.RiskClassifier(po.NaiveBayes(), loss=po.Loss.per_class({"in": 1, "out": 5, "off": 2})).fit(X, y),
    "risk priced": lambda: po.RiskClassifier(po.TAN(), loss={"in": 1, "out": 5, "off": 2}, reject=0.3).fit(X, y),
    "risk frozen": lambda: po.RiskClassifier(
        FrozenEstimator(po.GaussianNB().fit(P, y)), loss=1 - np.eye(3), reject=0.2
    ),
}
VALUES = {
    "asia": po.networks.asia,
    "net": lambda: po.BayesNet.fit([("sky", "day"), ("day", "warm")], Z, ess=2.0, name="weather"),
    "net by em": lambda: po.BayesNet.fit_em([("sky", "day"), ("day", "warm")], X[["sky", "warm", "day"]]),
    "hybrid": lambda: po.HybridNet.fit([("day", "wind"), ("wind", "rain"), ("sky", "day")], X.drop(columns="warm")),
    "hybrid told": lambda: po.HybridNet([("a", "x")], {"a": [0.5, 0.5]}, {"x": ([0, 9], [], 1)}),
    "dag": lambda: po.Dag("abc", [("a", "c"), ("b", "c")]),
    "schema": lambda: po.Schema.infer(X, y),
    "loss": lambda: po.Loss([[0, 1], [10, 0], [1, 1]], classes=["a", "b"], actions=["keep", "drop", "ask"]),
    "loss bare": lambda: po.Loss.zero_one(3).with_reject(0.25),
    "tree": lambda: po.KDTree(P, "manhattan", leaf_size=4),
    "tree single": lambda: po.KDTree((P * 1e-30).astype(np.float32)),
}
ESTIMATORS = {**COUNTS, **BY_CLASS, **POINTS}
ALL = {**ESTIMATORS, **VALUES}


def made(name):
    """The model of a name, freshly made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ALL[name]()


def asked(model):
    """What a model answers, as a list of arrays."""
    if isinstance(model, po.KDTree):
        return [*model.query(P.astype(model.dtype), k=3), model.data]
    if isinstance(model, po.BayesNet):
        found = model.marginals()
        return [np.array([*found[n].values()]) for n in model.nodes]
    if isinstance(model, po.HybridNet):
        return [np.array([*found.values()]) for found in model.marginals().values()]
    if isinstance(model, po.Loss):
        return [model.matrix, np.array(str(model))]
    if isinstance(model, po.Schema):
        return [np.array(str(model.to_dict()))]
    if not hasattr(model, "get_params"):
        return [np.array(repr(model))]
    names = list(getattr(model, "feature_names_in_", ()))
    rows: object = {"note": ["a c", "b"]} if names == ["note"] else (X.reindex(columns=names) if "wind" in names else Z)
    if names == list("abc"):
        rows = pd.DataFrame(P, columns=names)
    if not names:
        width = model.n_features_in_ if hasattr(model, "n_features_in_") else 3
        rows = {2: np.arange(8).reshape(4, 2), 3: P, 4: C, 90: P[:, :1] * P[:, 0]}.get(
            width, np.zeros((4, min(width, 99)))
        )
        if isinstance(model, po.KNeighborsClassifier) and model.metric == "jaccard":
            rows = P > 0
    ways = ["predict_proba", "decision_function", "predict", "transform", "score_samples", "predict_joint_log_proba"]
    return [np.asarray(getattr(model, way)(rows)) for way in ways if hasattr(model, way)]
