"""Which of our classes a file can hold, and how: the fields that a class annotates, read by its own checks.

A file names tags, never modules. A value is made of its fields by its constructor, an estimator of its parameters and of
the attributes that it has learned, as far as it has learned them; `fields` says what each may be, `check` (`_check_state`
of an estimator) what must hold of all. A class that keeps more than defines it has a twin of plain fields: see `OWN`.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import NotStorable
from ..estimator import Estimator
from ..fields import FRESH, MAYBE, check_fields, fields_of, need, spec_of

Fields = dict[str, Any]
PUBLIC = (  # what a file can be of: the rest are parts
    *("Schema", "Loss", "RiskClassifier", "KDTree", "Dag", "BayesNet", "HybridNet", "BayesNetClassifier"),
    *("NaiveBayes", "SPODE", "TAN", "AODE", "A2DE", "KDB", "DiscriminativeNB"),
    *("CategoricalNB", "BernoulliNB", "MultinomialNB", "ComplementNB", "GaussianNB", "GaussianBayes"),
    *("GaussianMixture", "KMeans", "MixtureBayes", "LatentClass"),
    *("BayesTree", "BayesForest", "BoostedBayes", "AutoBayes"),
    *("SVC", "SVR", "LinearSVC", "KNeighborsClassifier", "KNeighborsRegressor"),
    *("OnPoints", "Calibrated"),  # what the leaderboard makes of models that take points alone
)
PARTS = {
    "posteriori.statistics.counts": ("Counts",),
    "posteriori.statistics.moments": ("Moments", "Span"),
    "posteriori.statistics.comoments": ("CoMoments", "FamilyMoments"),
    "posteriori.statistics.histogram": ("Histogram",),
    "posteriori.statistics.sample": ("Sample",),
    "posteriori.statistics.joint": ("Joint",),
    "posteriori.statistics.statistics": ("Statistics", "ByClass"),
    "posteriori.structure.structures": ("Structure",),
    "posteriori.em": ("Ascent",),
    "posteriori.table.prepare": ("Prepare",),
    "posteriori.kernels.trees": ("Trees", "Members", "MemberCounts"),
    "posteriori.kernels.margin": ("KernelSpec",),
    "posteriori.decision.on_points": ("OnPoints", "Calibrated"),
    "posteriori.bayes.averaged": ("RowStore",),
    "posteriori.bayes.factored": ("Settled",),
    "posteriori.mixture.normals": ("Restart",),
    "posteriori.margin.kernel": ("Kernel",),
    "posteriori.margin.machines": ("Part", "Expansion"),
    "posteriori.neighbors.metrics": ("Space", "Mixed"),
    "posteriori.network.learn": ("Smoothing",),
    "posteriori.forest.grown": ("Coding",),
    "posteriori.forest.counts": ("TreeCounts",),
    "posteriori.forest.forest": ("Grown",),
    "posteriori.forest.boosted": ("Rounds", "Summed"),
    "posteriori.forest.auto": ("Pool", "PoolPart"),
    "posteriori.forest.linear": ("Points", "Linear", "Landmarks"),
    "sklearn.frozen": ("FrozenEstimator",),
    "pandas": ("Interval", "Period"),
}
OWN = {  # what is written otherwise than it is held, and the modules here that know how
    "schemas": ("Schema", "Interval", "Period", "Coding", "TreeCounts", "Grown", "Summed", "Pool"),
    "networks": ("Dag", "BayesNet", "HybridNet"),
    "points": ("Kernel", "KDTree", "KNeighborsClassifier", "KNeighborsRegressor", "RiskClassifier", "FrozenEstimator"),
}
HOME = dict.fromkeys(PUBLIC, "posteriori") | {tag: home for home, tags in PARTS.items() for tag in tags}
CONFIG, TEXTS = "_sklearn_output_config", spec_of(dict[str, str])  # what `set_output` has told


class Form(NamedTuple):
    """A class: how a value is taken apart into fields, and made of them or refused."""

    cls: Any
    take: Callable[[Any], Fields]
    make: Callable[[Fields], Any]


@functools.cache
def form_tagged(tag: str) -> Form | None:
    """The form of a tag."""
    if tag not in HOME:
        return None
    cls = getattr(importlib.import_module(HOME[tag]), tag)
    for module, tags in OWN.items():
        if tag in tags:
            form: Form = importlib.import_module(f".{module}", __package__).FORMS[tag](cls)
            return form
    return estimator(cls) if issubclass(cls, Estimator) else value(cls)


def form_of(kind: type) -> Form | None:
    """The form of a class itself; a subclass, or another class of the same name, has none."""
    form = form_tagged(kind.__name__)
    return form if form is not None and form.cls is kind else None


def value(cls: type, tag: str | None = None) -> Form:
    """The form of a value, whose fields are its constructor's arguments; one that may be left out is where it is None.

    Files before format 3 do not say how light a row may be: where they have weights, as light as can be, so that none
    vanishes unseen when others are forgotten.
    """

    said = fields_of(cls)
    stored = {name: MAYBE in field.marks for name, field in said.items() if field.stored}

    def take(held: Any) -> Fields:
        fields = {name: getattr(held, name) for name in stored}
        return {name: part for name, part in fields.items() if part is not None or not stored[name]}

    def make(fields: Fields) -> Any:
        if "lightest" in said and "lightest" not in fields:
            weighed = "rows" not in fields or getattr(fields["rows"], "dtype", None) == np.float64
            fields = {**fields, "lightest": float(np.finfo(float).tiny) if weighed else 1.0}
        check_fields(fields, said, tag or cls.__name__)
        made = cls(**{name: None for name, maybe in stored.items() if maybe} | fields)
        if hasattr(made, "check"):
            made.check()
        return made

    return Form(cls, take, make)


def twin(kind: Any, cls: type) -> Form:
    """The form of a class that has a twin of plain fields: `kind.of` takes a value apart, `made` makes it again."""
    form = value(kind, cls.__name__)
    return Form(cls, lambda held: form.take(kind.of(held)), lambda fields: form.make(fields).made())


def estimator(cls: Any) -> Form:
    """The form of an estimator; an attribute that it does not annotate is an error when saving: nothing is left behind."""
    names, learns = cls._get_param_names(), cls._attributes()
    stored = [name for name, field in learns.items() if field.stored]
    left = {name for name, field in fields_of(cls).items() if not field.stored}
    fresh = {name: field.kind for name, field in learns.items() if FRESH in field.marks}

    def take(model: Any) -> Fields:
        model._check_parameters()
        held = dict(vars(model))
        if held.pop("_pending", None) is not None:
            held["statistics_"] = model.statistics_  # with the rows that wait to be counted
        cached = {n for n in held if isinstance(getattr(cls, n, None), functools.cached_property)}
        if strange := sorted(set(held) - {*names, *stored, *left, CONFIG} - cached):
            raise NotStorable(
                f"{cls.__name__} has an attribute {strange[0]!r} that is no part of it: delete it before saving"
            )
        return {name: held[name] for name in (*names, *stored, CONFIG) if name in held}

    def make(fields: Fields) -> Any:
        lacking = [n for n in names if n not in fields]
        need(not lacking, f"a {cls.__name__} must have the parameter {lacking[:1]}")
        model = cls(**{n: fields[n] for n in names})
        state = {n: held for n, held in fields.items() if n not in names}
        config = state.pop(CONFIG, None)
        strange = [n for n in state if n not in stored]
        need(not strange, f"a {cls.__name__} has no field {strange[:1]!r:.50}")
        if config is not None:
            need(TEXTS.test(config), f"{CONFIG} must be {TEXTS.text}")
            model.__dict__[CONFIG] = config
        if learned := state.keys() & set(stored):
            state |= {name: kind() for name, kind in fresh.items()}
        model.__dict__.update(state)
        model._cached("loaded", lambda: None)  # checks the parameters
        if learned:
            model._check_state()
        return model

    return Form(cls, take, make)
