"""Who takes part: the spectrum, kNN and SVM, and what users would pick instead from scikit-learn.

Models of the library read the table as it is; those that need points get them by `OnPoints`, inside the fold. A model
without a posterior gets one by a sigmoid over its margins, fitted on three inner folds of the training rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..decision.on_points import Calibrated, OnPoints
from ..errors import BadParameter, did_you_mean, listed
from ..table.schema import MEASURED


@dataclass(frozen=True)
class Task:
    """What the table is: training rows n of a fold, columns d with their kinds, classes K; and the seed."""

    n: int
    kinds: tuple[str, ...]
    names: tuple[Any, ...]
    classes: int
    seed: int

    @property
    def d(self) -> int:
        """Columns."""
        return len(self.kinds)

    @property
    def told(self) -> dict[Any, str]:
        """The kinds by column, as models take them: kinds alone, so that no model knows a value before its rows have it."""
        return dict(zip(self.names, self.kinds))


@dataclass(frozen=True)
class Entry:
    """A model that may take part: how it is made, and why it is left out of a table like this ("" if it is not)."""

    name: str
    says: str
    make: Callable[[Task], Any]
    barred: Callable[[Task], str] = lambda task: ""
    ours: bool = True


SVM_ROWS, KNN_CELLS, CELLS, MANY_COLUMNS = 20_000, 2e9, 2e8, 2000


def lineup() -> dict[str, Entry]:
    """Every model by name, the quick ones first."""
    entries = (
        Entry("baseline", "always the commonest class", _baseline, ours=False),
        Entry("naive", "naive Bayes", lambda t: _of("bayes.naive", "NaiveBayes", kinds=t.told)),
        Entry("spode", "super-parent, one for all", lambda t: _of("bayes.spode", "SPODE", kinds=t.told), _pairs),
        Entry("tan", "tree-augmented naive Bayes", lambda t: _of("bayes.tan", "TAN", kinds=t.told), _pairs),
        Entry("aode", "average over super-parents", lambda t: _of("bayes.aode", "AODE", kinds=t.told), _pairs),
        Entry(
            "a2de", "average over pairs of super-parents", lambda t: _of("bayes.a2de", "A2DE", kinds=t.told), _triples
        ),
        Entry("kdb", "k parents besides the class", lambda t: _of("bayes.kdb", "KDB", kinds=t.told), _pairs),
        Entry("discriminative", "naive Bayes fitted to foretell the class", _discriminative, _no_text),
        Entry("bayes-tree", "tree of counts", lambda t: _of("forest.tree", "BayesTree", kinds=t.told), _no_text),
        Entry("bayes-forest", "kDB members and trees, pooled", _bayes_forest, _no_text),
        Entry("boosted", "boosted trees of counts", _boosted, _no_text),
        Entry("auto", "trees, boosting, kDB, linear and kernel models, pooled", _auto, _no_text),
        Entry("network", "learned Bayesian network", _network, _searched),
        Entry("gaussian", "a normal density a class", _gaussian, _numbers_only),
        Entry("mixture", "a mixture of normals a class", _mixture, _numbers_only),
        Entry("knn", "k nearest neighbours", _knn, _near),
        Entry("linear-svc", "linear support vectors", _linear_svc, _wide),
        Entry("svc", "support vectors, RBF kernel", _svc, _quadratic),
        Entry("logistic", "logistic regression", _logistic, _wide, ours=False),
        Entry("tree", "decision tree", _tree, _wide, ours=False),
        Entry("bagging", "bagged trees", _bagging, _rounds, ours=False),
        Entry("forest", "random forest", _forest, _wide, ours=False),
        Entry("adaboost", "AdaBoost of stumps", _adaboost, _rounds, ours=False),
        Entry("boosting", "histogram gradient boosting", _boosting, lambda t: _no_text(t) or _rounds(t), ours=False),
        Entry("perceptron", "perceptron", _perceptron, _wide, ours=False),
        Entry("mlp", "small neural network", _mlp, _wide, ours=False),
    )
    return {entry.name: entry for entry in entries}


def chosen(models: Any, task: Task) -> tuple[list[tuple[Entry, Any]], list[tuple[Entry, str]]]:
    """(who runs, as entries with unfitted models; who is left out and why).

    None is everybody that such a table allows; a name runs whatever it takes; a dict or a list may hold estimators.
    """
    known = lineup()
    if models is None:
        out = [(entry, why) for entry in known.values() if (why := entry.barred(task))]
        gone = {entry.name for entry, _ in out}
        return [(entry, entry.make(task)) for entry in known.values() if entry.name not in gone], out
    if isinstance(models, str) or not hasattr(models, "__iter__"):
        models = [models]
    named = list(models.items()) if hasattr(models, "items") else [(None, model) for model in models]
    found: list[tuple[Entry, Any]] = []
    for name, model in named:
        if isinstance(model, str):
            if model not in known:
                hint = did_you_mean(model, known) or "."
                raise BadParameter(f"no model {model!r}{hint} Models: {listed(known, most=30)}")
            entry, made = known[model], known[model].make(task)
        elif hasattr(model, "fit") and (hasattr(model, "predict_proba") or hasattr(model, "predict")):
            entry = Entry(type(model).__name__, type(model).__name__, lambda _: None, ours=is_ours(model))
            made = model
        else:
            raise BadParameter(f"models are names or classifiers with fit and predict_proba. Got {model!r} instead.")
        label = str(name) if name is not None else entry.name
        taken = {other.name for other, _ in found}
        if name is not None or label in taken:
            label = next(
                f"{label}{i}" for i in ("", *(f" ({n})" for n in range(2, 10**6))) if f"{label}{i}" not in taken
            )
            entry = Entry(label, entry.says, entry.make, ours=entry.ours)
        found.append((entry, made))
    if not found:
        raise BadParameter("models is empty: there is nothing to compare")
    return found, []


def is_ours(model: Any) -> bool:
    """Whether a model is the library's own, no subclass of it."""
    return type(model).__module__.split(".")[0] == __name__.split(".")[0]


def _of(module: str, name: str, **parameters: Any) -> Any:
    import importlib

    return getattr(importlib.import_module(f"posteriori.{module}"), name)(**parameters)


def _baseline(task: Task) -> Any:
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="prior")


def _discriminative(task: Task) -> Any:
    return _of("bayes.discriminative", "DiscriminativeNB", kinds=task.told)


def _bayes_forest(task: Task) -> Any:
    return _of("forest.forest", "BayesForest", kinds=task.told, random_state=task.seed)


def _boosted(task: Task) -> Any:
    return _of("forest.boosted", "BoostedBayes", kinds=task.told, random_state=task.seed)


def _auto(task: Task) -> Any:
    return _of("forest.auto", "AutoBayes", kinds=task.told, random_state=task.seed)


def _network(task: Task) -> Any:
    return _of("network.classifier", "BayesNetClassifier", kinds=task.told)


def _gaussian(task: Task) -> Any:
    return points(task, _of("bayes.gaussian_bayes", "GaussianBayes"))


def _mixture(task: Task) -> Any:
    return points(task, _of("mixture.classifier", "MixtureBayes", n_components="auto", random_state=task.seed))


def _knn(task: Task) -> Any:
    told = {"metric": "gower", "smoothing": 1 / task.classes, "kinds": task.told}
    return _of("neighbors.knn", "KNeighborsClassifier", n_neighbors="auto", **told)


def _linear_svc(task: Task) -> Any:
    return points(task, Calibrated(_of("margin.linear_svc", "LinearSVC", random_state=task.seed), seed=task.seed))


def _svc(task: Task) -> Any:
    return points(task, _of("margin.svm", "SVC", probability=True, random_state=task.seed))


def _logistic(task: Task) -> Any:
    from sklearn.linear_model import LogisticRegression

    return points(task, LogisticRegression(max_iter=1000))


def _tree(task: Task) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return points(task, DecisionTreeClassifier(min_samples_leaf=5, random_state=task.seed))


def _bagging(task: Task) -> Any:
    from sklearn.ensemble import BaggingClassifier

    return points(task, BaggingClassifier(n_estimators=30, random_state=task.seed))


def _forest(task: Task) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return points(
        task, RandomForestClassifier(n_estimators=100, n_jobs=-1 if task.n > 5000 else 1, random_state=task.seed)
    )


def _adaboost(task: Task) -> Any:
    from sklearn.ensemble import AdaBoostClassifier

    return points(task, AdaBoostClassifier(n_estimators=50, random_state=task.seed))


def _boosting(task: Task) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    numbers = sum(kind in MEASURED for kind in task.kinds)
    named = [numbers + i for i in range(sum(kind in ("categorical", "binary") for kind in task.kinds))]
    model = HistGradientBoostingClassifier(categorical_features=named or None, random_state=task.seed)
    return points(task, model, view="ordinal")


def _perceptron(task: Task) -> Any:
    from sklearn.linear_model import Perceptron

    return points(task, Calibrated(Perceptron(random_state=task.seed), seed=task.seed))


def _mlp(task: Task) -> Any:
    from sklearn.neural_network import MLPClassifier

    return points(task, MLPClassifier((32,), max_iter=500, early_stopping=task.n >= 1000, random_state=task.seed))


def points(task: Task, model: Any, view: str = "one-hot") -> Any:
    """The model for any table."""
    return OnPoints(model, kinds=task.told, view=view)


def _numbers_only(task: Task) -> str:
    others = [str(name) for name, kind in task.told.items() if kind not in MEASURED]
    if others:
        return f"needs numbers in every column; {len(others)} of {task.d} are none ({listed(others, most=2)})"
    if task.n <= task.d * task.classes:
        return f"a covariance of {task.d} columns needs more rows than {task.n // task.classes} a class"
    return f"{task.d} columns make a covariance too large" if task.d > 500 else _wide(task)


def _pairs(task: Task) -> str:
    return f"{task.d} columns make {task.d * (task.d - 1) // 2:,} pairs" if task.d > 500 else _no_text(task)


def _triples(task: Task) -> str:
    return f"{task.d} columns make too many triples" if task.d > 60 else _no_text(task)


def _searched(task: Task) -> str:
    return f"the search over {task.d} columns is long" if task.d > 100 else _no_text(task)


def _no_text(task: Task) -> str:
    words = [str(name) for name, kind in task.told.items() if kind == "text"]
    return f"takes no text ({listed(words, most=2)})" if words else _wide(task)


def _rounds(task: Task) -> str:
    if task.d > MANY_COLUMNS:
        return f"every round looks at all {task.d:,} columns: left out above {MANY_COLUMNS:,}"
    return _wide(task)


def _near(task: Task) -> str:
    if task.n * task.n * task.d > KNN_CELLS:
        return f"compares each of {task.n:,} rows with all others in {task.d} columns: takes time like rows²"
    return _no_text(task)


def _quadratic(task: Task) -> str:
    if task.n > SVM_ROWS:
        return f"takes time like rows²: left out above {SVM_ROWS:,} training rows (here {task.n:,})"
    return _wide(task)


def _wide(task: Task) -> str:
    cells = task.n * task.d
    return f"{cells:,} cells to encode: left out above {int(CELLS):,}" if cells > CELLS else ""
