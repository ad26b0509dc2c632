"""Forms, and the words in which they say what a field holds."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ...errors import ModelFileError, NotStorable
from ...estimator import Estimator


def need(holds: Any, what: str) -> None:
    """Refuse a file of which this does not hold."""
    if not holds:
        raise ModelFileError(what)


@dataclasses.dataclass(frozen=True)
class Spec:
    """What a field may hold, by a test and in words; `a | b` is either."""

    text: str
    test: Callable[[Any], bool]

    def __or__(self, other: Spec) -> Spec:
        return Spec(f"{self.text} or {other.text}", lambda v: self.test(v) or other.test(v))


def _plain(*kinds: type) -> Callable[[Any], bool]:
    return lambda v: type(v) in kinds


anything = Spec("anything", lambda v: True)
nothing = Spec("nothing", lambda v: v is None)
text = Spec("a text", _plain(str))
flag = Spec("true or false", _plain(bool, np.bool_))
whole = Spec("a whole number", lambda v: type(v) is int and -(1 << 63) <= v < 1 << 63)
real = Spec("a number", lambda v: whole.test(v) or type(v) in (float, np.float64, np.float32))
weight = Spec("a number above 0", lambda v: type(v) is float and v > 0)
finite = Spec("a finite number", lambda v: real.test(v) and bool(np.isfinite(v)))
array = Spec("an array", _plain(np.ndarray))


def natural(most: int = 1 << 48) -> Spec:
    """A whole number from 0 up."""
    return Spec(f"a whole number from 0 to {most}", lambda v: type(v) is int and 0 <= v <= most)


def word(*words: str) -> Spec:
    """One of some words."""
    return Spec(f"one of {words}", lambda v: type(v) is str and v in words)


def numbers(dtypes: str, ndim: int | None = None, low: float | None = None, finite: bool = True) -> Spec:
    """An array of these dtypes (by their letters), finite and not below `low`."""

    def test(v: Any) -> bool:
        if type(v) is not np.ndarray or v.dtype.char not in dtypes or (ndim is not None and v.ndim != ndim):
            return False
        if not v.size:
            return True
        if v.dtype.kind == "f" and finite and not np.isfinite(v).all():
            return False
        return low is None or not bool((v < low).any())

    axes = "" if ndim is None else f" of {ndim} axes"
    said = "finite numbers" if finite else "numbers"
    return Spec(f"an array{axes} of {said} ({dtypes})" + ("" if low is None else f" from {low:g} up"), test)


def floats(ndim: int | None = None, low: float | None = None, finite: bool = True) -> Spec:
    """An array of float64."""
    return numbers("d", ndim, low, finite)


def ints(ndim: int | None = None, low: float | None = None) -> Spec:
    """An array of int64."""
    return numbers("lq", ndim, low)


def counts(ndim: int) -> Spec:
    """Counts: int64 or float64, finite, not negative; whole ones sum to less than 2⁶³, weights to a float."""
    base = numbers("lqd", ndim, 0.0)

    def test(v: Any) -> bool:
        if not base.test(v):
            return False
        with np.errstate(over="ignore"):
            total = float(v.sum(dtype=np.float64))
        return np.isfinite(total) if v.dtype.kind == "f" else total < 2.0**63

    return Spec("counts from 0 up", test)


def of(*names: str) -> Spec:
    """One of our values, by its class's name."""
    return Spec(
        " or ".join(names), lambda v: type(v).__name__ in names and type(v).__module__.startswith("posteriori.")
    )


def tuple_of(spec: Spec) -> Spec:
    """A tuple, each item of which holds."""
    return Spec(f"a tuple, each {spec.text}", lambda v: type(v) is tuple and all(map(spec.test, v)))


def pair_of(first: Spec, second: Spec) -> Spec:
    """A tuple of two."""
    return Spec(
        f"a pair of {first.text} and {second.text}",
        lambda v: type(v) is tuple and len(v) == 2 and first.test(v[0]) and second.test(v[1]),
    )


def list_of(spec: Spec) -> Spec:
    """A list, each item of which holds."""
    return Spec(f"a list, each {spec.text}", lambda v: type(v) is list and all(map(spec.test, v)))


def dict_of(key: Spec, item: Spec) -> Spec:
    """A dict of such keys and items."""
    return Spec(
        f"a dict from {key.text} to {item.text}",
        lambda v: type(v) is dict and all(map(key.test, v)) and all(map(item.test, v.values())),
    )


Fields = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Form:
    """A class: its fields, how a value is taken apart into them and made of them, and what must hold of it."""

    tag: str
    cls: type
    specs: Mapping[str, Spec]
    take: Callable[[Any], Fields]
    build: Callable[[Fields], Any]
    check: Callable[[Any], None]

    def make(self, fields: Fields) -> Any:
        """The value of these fields, or a refusal that names the field."""
        for name, held in fields.items():
            spec = self.specs.get(name)
            need(spec is not None, f"a {self.tag} has no field {name!r:.50}")
            assert spec is not None
            need(spec.test(held), f"{self.tag}.{name} must be {spec.text}; got {_shown(held)}")
        made = self.build(fields)
        self.check(made)
        return made


def _shown(held: Any) -> str:
    if isinstance(held, np.ndarray):
        return f"an array of {held.dtype}, shape {held.shape}"
    return f"{held!r:.50}" if type(held) in (str, int, float, bool) else type(held).__name__


def _any(made: Any) -> None:
    """Nothing but what the fields say must hold."""


def value(cls: type, check: Callable[[Any], None] = _any, /, new: str = "", **specs: Spec) -> Form:
    """The form of a frozen value, whose fields are its constructor's arguments; files of before have no `new` one.

    That is how light a row may be: where they have weights it may be as light as can be, so that none vanishes unseen.
    """

    def take(held: Any) -> Fields:
        return {name: getattr(held, name) for name in specs}

    def build(fields: Fields) -> Any:
        need(
            set(fields) | {new} == {*specs, new},
            f"a {cls.__name__} must have the fields {list(specs)}; got {list(fields)}",
        )
        rows = fields.get("rows")
        if new and new not in fields and (rows is None or rows.dtype.kind == "f"):
            fields = {**fields, new: float(np.finfo(float).tiny)}
        return cls(**fields)

    return Form(cls.__name__, cls, specs, take, build, check)


OUTPUT = {"_sklearn_output_config": dict_of(text, text)}  # what `set_output` has told
REMADE = frozenset({"_kept", "_pending"})  # attributes that follow from the others


def estimator(
    cls: type,
    check: Callable[[Any], None],
    state: Mapping[str, Spec],
    *,
    remade: tuple[str, ...] = (),
    fresh: Mapping[str, Callable[[], Any]] = MappingProxyType({}),
) -> Form:
    """The form of an estimator: its parameters, and what it has learned as far as it has learned it.

    `check` sees a fitted one. `remade` are attributes that follow from others, `fresh` those that begin anew in a fitted
    model. An attribute that is in no list is an error when saving: nothing is left behind unseen.
    """
    names = list(cls._get_param_names())  # type: ignore[attr-defined]
    specs = {**dict.fromkeys(names, anything), **state, **OUTPUT}
    known = {*specs, *remade, *fresh, *REMADE}

    def take(model: Any) -> Fields:
        model._check_parameters()
        held = dict(vars(model))
        if held.pop("_pending", None) is not None:
            held["statistics_"] = model.statistics_  # with the rows that wait to be counted
        cached = {n for n in held if isinstance(getattr(cls, n, None), functools.cached_property)}
        if strange := sorted(set(held) - known - cached):
            raise NotStorable(
                f"{cls.__name__} has an attribute {strange[0]!r} that is no part of it: delete it before saving"
            )
        return {name: held[name] for name in specs if name in held}

    def build(fields: Fields) -> Any:
        lacking = [n for n in names if n not in fields]
        need(not lacking, f"a {cls.__name__} must have the parameter {lacking[:1]}")
        model = cls(**{n: fields[n] for n in names})
        if learned := {n: v for n, v in fields.items() if n not in names}:
            vars(model).update(learned, **{n: make() for n, make in fresh.items()})
        if isinstance(model, Estimator):
            model._cached("loaded", lambda: None)  # checks the parameters
        return model

    def check_fitted(model: Any) -> None:
        if any(n in vars(model) for n in state):
            check(model)
            classes = vars(model).get("classes_")
            if isinstance(classes, np.ndarray) and classes.dtype.kind == "f":
                labels = np.isfinite(classes).all() and (np.floor(classes) == classes).all()
                need(labels, "classes_ must be labels, not quantities: no classifier learns those")

    return Form(cls.__name__, cls, specs, take, build, check_fitted)


POINTS = {"n_features_in_": natural(), "feature_names_in_": array}  # of a model that reads a matrix


def small(most: float, *parts: Any) -> bool:
    """Whether all numbers are so small, whatever their sign, that sums of them are numbers too."""
    return all(bool((np.abs(part) <= part.dtype.type(most)).all()) for part in parts)


def needs(model: Any, *names: str) -> None:
    """Refuse a fitted model without these attributes."""
    for name in names:
        need(name in vars(model), f"a fitted {type(model).__name__} must have {name!r}")


def same_classes(classes: Any, named: tuple[Any, ...]) -> None:
    """`classes_` is what the schema says."""
    need(classes.ndim == 1 and classes.tolist() == list(named), "classes_ must be the classes of the schema")


def named_columns(model: Any) -> None:
    """`feature_names_in_`, where it is there, names every column."""
    names = vars(model).get("feature_names_in_")
    if names is not None:
        fits = names.dtype == object and names.shape == (model.n_features_in_,) and all(type(n) is str for n in names)
        need(fits, "feature_names_in_ must be the name of every column")
