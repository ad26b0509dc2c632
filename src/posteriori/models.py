"""Every model by one row: files, the leaderboard, `train --model`, `compare` and the pages' table follow from it.

To add a model: write the class, name it in `__init__.pyi`, give it a row here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Model:
    """An estimator: its name on a board ("": it is on none), where it lives and what it is in a few words.

    `limits` name what of a table bars it (`leaderboard.lineup.LIMITS`). `points` is the view of a table that is made for a
    model of numbers alone, "" where it reads the table itself. `given` are its parameters, or what makes them of the task.
    """

    name: str
    home: str
    says: str
    limits: tuple[str, ...] = ("cells",)
    points: str = ""
    given: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]] = field(default_factory=dict)

    @property
    def ours(self) -> bool:
        """Whether it is the library's own."""
        return self.home.startswith("posteriori:")

    @property
    def estimator(self) -> str:
        """The name of its class."""
        return self.home.partition(":")[2]

    def load(self) -> type[Any]:
        """Its class."""
        module, _, name = self.home.partition(":")
        loaded: type[Any] = getattr(import_module(module), name)
        return loaded


def _ours(name: str, estimator: str, says: str, *limits: str, points: str = "", given: Any = ()) -> Model:
    return Model(name, f"posteriori:{estimator}", says, limits, points, given or {})


def _theirs(name: str, home: str, says: str, *limits: str, points: str = "one-hot", given: Any = ()) -> Model:
    return Model(name, f"sklearn.{home}", says, limits, points, given or {})


def _knn(task: Any) -> dict[str, Any]:
    return {"n_neighbors": "auto", "metric": "gower", "smoothing": 1 / task.classes}


def _forest(task: Any) -> dict[str, Any]:
    return {"n_estimators": 100, "n_jobs": -1 if task.n > 5000 else 1}


def _boosting(task: Any) -> dict[str, Any]:
    """Numbers come first in the view of ordinals, then the categories."""
    return {"categorical_features": list(range(task.numbers, task.numbers + task.categories)) or None}


def _mlp(task: Any) -> dict[str, Any]:
    return {"hidden_layer_sizes": (32,), "max_iter": 500, "early_stopping": task.n >= 1000}


TABLE = ("text", "cells")  # what bars a model of tables that takes no text
MODELS: tuple[Model, ...] = (
    _theirs("baseline", "dummy:DummyClassifier", "always the commonest class", points="", given={"strategy": "prior"}),
    _ours("naive", "NaiveBayes", "naive Bayes"),
    _ours("spode", "SPODE", "super-parent, one for all", "pairs", *TABLE),
    _ours("tan", "TAN", "tree-augmented naive Bayes", "pairs", *TABLE),
    _ours("aode", "AODE", "average over super-parents", "pairs", *TABLE),
    _ours("a2de", "A2DE", "average over pairs of super-parents", "triples", *TABLE),
    _ours("kdb", "KDB", "k parents besides the class", "pairs", *TABLE),
    _ours("discriminative", "DiscriminativeNB", "naive Bayes fitted to foretell the class", *TABLE),
    _ours("bayes-tree", "BayesTree", "tree of counts", *TABLE),
    _ours("bayes-forest", "BayesForest", "kDB members and trees, pooled", *TABLE),
    _ours("boosted", "BoostedBayes", "boosted trees of counts", *TABLE),
    _ours("auto", "AutoBayes", "trees, boosting, kDB, linear and kernel models, pooled", *TABLE),
    _ours("network", "BayesNetClassifier", "learned Bayesian network", "search", *TABLE),
    _ours("gaussian", "GaussianBayes", "a normal density a class", "numbers", "cells", points="one-hot"),
    _ours("mixture", "MixtureBayes", "a mixture of normals a class", "numbers", "cells", points="one-hot"),
    _ours("knn", "KNeighborsClassifier", "k nearest neighbours", "near", *TABLE, given=_knn),
    _ours("linear-svc", "LinearSVC", "linear support vectors", "cells", points="one-hot"),
    _ours(
        "svc", "SVC", "support vectors, RBF kernel", "squared", "cells", points="one-hot", given={"probability": True}
    ),
    _theirs("logistic", "linear_model:LogisticRegression", "logistic regression", "cells", given={"max_iter": 1000}),
    _theirs("tree", "tree:DecisionTreeClassifier", "decision tree", "cells", given={"min_samples_leaf": 5}),
    _theirs("bagging", "ensemble:BaggingClassifier", "bagged trees", "rounds", "cells", given={"n_estimators": 30}),
    _theirs("forest", "ensemble:RandomForestClassifier", "random forest", "cells", given=_forest),
    _theirs(
        "adaboost", "ensemble:AdaBoostClassifier", "AdaBoost of stumps", "rounds", "cells", given={"n_estimators": 50}
    ),
    _theirs(
        "boosting",
        "ensemble:HistGradientBoostingClassifier",
        "histogram gradient boosting",
        *TABLE,
        "rounds",
        points="ordinal",
        given=_boosting,
    ),
    _theirs("perceptron", "linear_model:Perceptron", "perceptron", "cells"),
    _theirs("mlp", "neural_network:MLPClassifier", "small neural network", "cells", given=_mlp),
    _ours("", "CategoricalNB", "scikit-learn's, compiled; also the next four"),
    _ours("", "BernoulliNB", "of zeros and ones"),
    _ours("", "MultinomialNB", "of counts"),
    _ours("", "ComplementNB", "of counts in the other classes"),
    _ours("", "GaussianNB", "of numbers"),
    _ours("", "RiskClassifier", "any classifier, calibrated, that decides by least risk"),
    _ours("", "LatentClass", "a hidden class by EM"),
    _ours("", "GaussianMixture", "normals by EM"),
    _ours("", "KMeans", "their limit"),
    _ours("", "KNeighborsRegressor", "the mean of the k nearest"),
    _ours("", "SVR", "support vectors for a number"),
)


def on_boards(ours: bool | None = None) -> dict[str, Model]:
    """The models of a board by name, quick ones first; those of the library alone, or the others alone."""
    return {m.name: m for m in MODELS if m.name and (ours is None or m.ours == ours)}
