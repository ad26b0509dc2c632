"""posteriori: Bayes classifiers, the whole spectrum. Count, merge, factor, decide."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# public name -> the module that holds it (or, as "room.module:", that it is); imported when it is first used
_HOME: dict[str, str] = {
    "A2DE": "bayes.a2de",
    "DiscriminativeNB": "bayes.discriminative",
    "AODE": "bayes.aode",
    "AutoBayes": "forest.auto",
    "KDB": "bayes.kdb",
    "BayesForest": "forest.forest",
    "BayesTree": "forest.tree",
    "BoostedBayes": "forest.boosted",
    "NaiveBayes": "bayes.naive",
    "SPODE": "bayes.spode",
    "TAN": "bayes.tan",
    "Schema": "table.schema",
    "plot": "report.plot:",
    "read": "table.read",
    "write_report": "report.page",
    "load": "store.file",
    "save": "store.file",
    "sql": "store.sql.query",
    "Loss": "decision.loss",
    "RiskClassifier": "decision.classifier",
    "bayes_risk": "decision.decide",
    "calibration_error": "decision.calibrate",
    "decide": "decision.decide",
    "loss_scorer": "decision.decide",
    "mean_loss": "decision.decide",
    "reject_price": "decision.curve",
    "reliability": "decision.calibrate",
    "risk": "decision.decide",
    "risk_coverage": "decision.curve",
    "temperature": "decision.calibrate",
    "tempered": "decision.calibrate",
    "BayesNet": "network.bayesnet",
    "HybridNet": "network.hybrid",
    "BayesNetClassifier": "network.classifier",
    "compare": "leaderboard.compare",
    "Dag": "structure.dag",
    "arc_confidence": "structure.trust",
    "compare_structures": "structure.trust",
    "cross_validate": "structure.trust",
    "learn_structure": "structure.search",
    "score_structure": "structure.search",
    "structural_em": "network.structural",
    "Not": "network.says",
    "networks": "network.networks:",
    "expectation_maximization": "em",
    "LatentClass": "mixture.latent",
    "BernoulliNB": "bayes.drop_ins.bernoulli_nb",
    "CategoricalNB": "bayes.drop_ins.categorical_nb",
    "ComplementNB": "bayes.drop_ins.multinomial_nb",
    "GaussianBayes": "bayes.gaussian_bayes",
    "GaussianNB": "bayes.drop_ins.gaussian_nb",
    "MultinomialNB": "bayes.drop_ins.multinomial_nb",
    "GaussianMixture": "mixture.gaussian",
    "MixtureBayes": "mixture.classifier",
    "KMeans": "mixture.kmeans",
    "LinearSVC": "margin.linear_svc",
    "SVC": "margin.svm",
    "SVR": "margin.svr",
    "KDTree": "neighbors.kdtree",
    "KNeighborsClassifier": "neighbors.knn",
    "KNeighborsRegressor": "neighbors.knn",
}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'posteriori' has no attribute {name!r}")
    home, is_module, _ = _HOME[name].partition(":")
    value: Any = importlib.import_module(f"posteriori.{home}")
    if not is_module:
        value = getattr(value, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
