"""Which of our classes a file can hold: a tag, the class it means, the fields that define it and what must hold of them.

`HOME` says which module here knows a tag; a file names nothing else. A `Form` takes a value apart into fields and makes it
again, by the class's own constructor; `estimator` is the form of a scikit-learn estimator, whose fields are its parameters
and what it has learned.
"""

from __future__ import annotations

import importlib

from .form import Form

_TAGS = {
    "tables": ("Schema", "Interval", "Period"),
    "statistics": (
        *("Counts", "Moments", "CoMoments", "Span", "Histogram", "Sample", "Joint", "RowStore", "FamilyMoments"),
        *("Statistics", "ByClass"),
    ),
    "bayes": (
        "NaiveBayes",
        "SPODE",
        "TAN",
        "AODE",
        "A2DE",
        "KDB",
        "DiscriminativeNB",
        "Structure",
        "Ascent",
        "Settled",
    ),
    "drop_ins": ("CategoricalNB", "BernoulliNB", "MultinomialNB", "ComplementNB", "GaussianNB", "GaussianBayes"),
    "mixtures": ("GaussianMixture", "KMeans", "MixtureBayes", "LatentClass", "Restart"),
    "margins": ("SVC", "SVR", "LinearSVC", "Kernel", "KernelSpec", "Part", "Expansion"),
    "neighbors": ("KDTree", "KNeighborsClassifier", "KNeighborsRegressor", "Space", "Mixed"),
    "networks": ("Dag", "BayesNet", "HybridNet", "BayesNetClassifier", "Smoothing"),
    "forest": ("BayesTree", "BayesForest", "Coding", "Trees", "TreeCounts", "Members", "MemberCounts", "Grown"),
    "boosted": ("BoostedBayes", "Rounds", "Summed"),
    "auto": ("AutoBayes", "Pool", "PoolPart", "Points", "Linear", "Landmarks"),
    "decisions": ("Loss", "RiskClassifier", "FrozenEstimator", "OnPoints", "Calibrated", "Prepare"),
}
HOME = {tag: module for module, tags in _TAGS.items() for tag in tags}


PUBLIC = (  # what a file can be of: the rest are parts
    *("Schema", "Loss", "RiskClassifier", "KDTree", "Dag", "BayesNet", "HybridNet", "BayesNetClassifier"),
    *("NaiveBayes", "SPODE", "TAN", "AODE", "A2DE", "KDB", "DiscriminativeNB"),
    *("CategoricalNB", "BernoulliNB", "MultinomialNB", "ComplementNB", "GaussianNB", "GaussianBayes"),
    *("GaussianMixture", "KMeans", "MixtureBayes", "LatentClass"),
    *("BayesTree", "BayesForest", "BoostedBayes", "AutoBayes"),
    *("SVC", "SVR", "LinearSVC", "KNeighborsClassifier", "KNeighborsRegressor"),
    *("OnPoints", "Calibrated"),  # what the leaderboard makes of models that take points alone
)


def form_tagged(tag: str) -> Form | None:
    """The form of a tag."""
    if tag not in HOME:
        return None
    found: dict[str, Form] = importlib.import_module(f"{__name__}.{HOME[tag]}").FORMS
    return found[tag]


def form_of(kind: type) -> Form | None:
    """The form of a class itself; a subclass, or another class of the same name, has none."""
    form = form_tagged(kind.__name__)
    return form if form is not None and form.cls is kind else None
