"""What every estimator shares: declared parameters, what follows from them, and calls that change all or nothing.

* A parameter is one line of the class, `tol: Annotated[float, AT_LEAST_0] = 1e-3`: signature, attribute and check follow
  (`@parameters`). It is checked by `fit` and whenever it is next read after a change.
* What prediction needs is made from what was learned and from the parameters; `_cached` keeps it until either changes.
* A call that fails leaves the model as it was: a method that learns is marked `@learning`.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, cast, dataclass_transform, get_args

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions, validate_parameter_constraints

from . import views
from .arrays import Array
from .errors import BadParameter, did_you_mean
from .fields import DERIVED, MAYBE, Field, Natural, check_fields, fields_of, need

if TYPE_CHECKING:
    from .explanation import Explanation

T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])

AT_LEAST_0, ABOVE_0 = Interval(Real, 0, None, closed="left"), Interval(Real, 0, None, closed="neither")
AT_LEAST_1 = Interval(Integral, 1, None, closed="left")
AUTO = StrOptions({"auto"})
N_JOBS = [Interval(Integral, None, -1, closed="right"), AT_LEAST_1, None]
NJobs = Annotated[int | None, *N_JOBS]
MaxMemory = Annotated[float | None, ABOVE_0, None]
RandomState = Annotated[Any, "random_state", np.random.Generator]
ClassWeight = Annotated[Any, StrOptions({"balanced"}), Mapping, None]
Progress = Annotated[Callable[..., Any] | None, callable, None]


@dataclass_transform(field_specifiers=(field,))
def parameters(model: type[T]) -> type[T]:
    """A class whose annotated attributes are its parameters, checked by what stands beside the type.

    As in a dataclass those of a base class come first; learned attributes that are annotated say `= field(init=False)`.

    >>> @parameters
    ... class Model(Estimator):
    ...     alpha: Annotated[float, AT_LEAST_0] = 1.0
    >>> Model(alpha=-1)._check_parameters()
    Traceback (most recent call last):
    posteriori.errors.BadParameter: The 'alpha' parameter of Model must be a float in the range [0.0, inf). Got -1 instead.
    """
    made: Any = dataclass(eq=False, repr=False)(model)
    names = vars(sys.modules[model.__module__])
    declared: dict[str, list[Any]] = {}
    for base in reversed(model.__mro__):
        declared |= vars(base).get("_parameter_constraints", {})
    own = [f for f in fields(made) if f.init and f.name in vars(model).get("__annotations__", {})]
    for parameter in own:
        hint = eval(parameter.type, names) if isinstance(parameter.type, str) else parameter.type
        parameter.type, *allowed = get_args(hint) if hasattr(hint, "__metadata__") else (hint, object)
        declared[parameter.name] = ["boolean"] if hint is bool else allowed
    made._parameter_constraints = declared

    # the signature for people: types without their checks, a model's own parameters before those that it shares
    types, first = {f.name: f.type for f in fields(made)}, {f.name for f in own}
    plain = inspect.signature(made.__init__)
    shown = [p.replace(annotation=types.get(p.name, p.annotation)) for p in plain.parameters.values()]
    order = sorted(shown, key=lambda p: (p.kind, p.kind == p.KEYWORD_ONLY and p.name not in first))
    made.__init__.__signature__ = plain.replace(parameters=order)
    return cast(type[T], made)


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Declared parameters, and what is made from them."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    _kept: Annotated[_Kept | None, DERIVED] = None
    n_features_in_: Annotated[Natural, "d"]
    feature_names_in_: Annotated[Array, "d", MAYBE]

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        """The parameters of a class, looked up once: scikit-learn reads the signature again for every call."""
        found: list[str] = super()._get_param_names()
        return found

    @classmethod
    @functools.cache
    def _attributes(cls) -> dict[str, Field]:
        """What a fitted model has besides its parameters: the annotated attributes whose names begin or end with `_`."""

        model: Any = cls

        def is_one(name: str) -> bool:
            made = getattr(model, name, None)  # by a property, unless it can be set
            own = made is None or (isinstance(made, property) and made.fset is not None)
            return name.strip("_") not in ("", name) and "__" not in name and own

        return {name: field for name, field in fields_of(model).items() if is_one(name)}

    def _check_state(self) -> None:
        """Refuse attributes that do not fit each other, or are not what the class says: a file may hold anything."""
        state, cls = vars(self), cast(Any, type(self))
        learned: dict[str, Field] = cls._attributes()
        check_fields({n: state[n] for n, f in learned.items() if f.stored and n in state}, learned, cls.__name__)
        names: Any = state.get("feature_names_in_")
        classes: Any = state.get("classes_")
        schema: Any = getattr(self, "schema_", None)
        if names is not None:
            fits = names.dtype == object and all(type(n) is str for n in names)
            need(fits, "feature_names_in_ must be the name of every column")
        if isinstance(classes, np.ndarray) and classes.dtype.kind == "f":
            labels = np.isfinite(classes).all() and (np.floor(classes) == classes).all()
            need(labels, "classes_ must be labels, not quantities: no classifier learns those")
        if schema is not None:
            need(classes.tolist() == list(schema.classes), "classes_ must be the classes of the schema")
            need(self.n_features_in_ == len(schema), "n_features_in_ must be the number of columns")
            same = names is None or names.tolist() == list(schema.names)
            need(same, "feature_names_in_ must be the columns' names")

    def _check_parameters(self) -> None:
        """Refuse a parameter that is not what was declared; a subclass adds what depends on several."""
        model: Any = type(self)
        values = self.get_params(deep=False)
        if all(type(value) in PLAIN for value in values.values()):
            _check_once(model, tuple(values), *values.values())
        else:
            check_declared(self._parameter_constraints, values, type(self).__name__)

    def _cached(self, name: str, make: Callable[[], T]) -> T:
        """What `make` gives, kept until a parameter or what was learned changes."""
        kept = self._kept
        if kept is None or not kept.holds(self.__dict__):
            self._check_parameters()
            kept = self._kept = _Kept(self)
        things: dict[str, T] = kept.things
        if name not in things:
            things[name] = make()
        return things[name]

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_kept", None)
        return state


class Explains:
    """A classifier that says why."""

    def _own_rows(self) -> Any:
        """Rows of the table it learned from, as they came, where it keeps some."""
        return None

    def explain(
        self,
        row: Any,
        target: Any = None,
        against: Any = None,
        *,
        loss: Any = None,
        reject: float | None = None,
        background: Any = None,
        fixed: Sequence[str] = (),
        changes: int = 3,
    ) -> Explanation:
        """Why: the log-odds of `target` against `against` for one row, attribute by attribute, strongest first.

        And what would have to be different for another decision: see `posteriori.explain.why.explain`.
        """
        how: dict[str, Any] = {"loss": loss, "reject": reject, "background": background}
        found: Explanation = views.view("explain")(self, row, target, against, **how, fixed=fixed, changes=changes)
        return found


def of_any_table(tags: Any) -> Any:
    """scikit-learn's tags of a model that reads whatever `table/` does: missing cells, words, sparse counts."""
    for kind in ("allow_nan", "sparse", "categorical", "string"):
        setattr(tags.input_tags, kind, True)
    return tags


def generator(random_state: Any) -> np.random.Generator:
    """The stream of random numbers that a `random_state` means; a whole number gives the same one every time.

    >>> bool(generator(7).random() == generator(7).random())
    True
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(1 << 32, size=4, dtype=np.uint32))
    known = isinstance(random_state, np.random.Generator | np.random.SeedSequence) or random_state is None
    if not known and (not isinstance(random_state, Integral) or isinstance(random_state, bool) or random_state < 0):
        raise BadParameter(
            f"random_state is a whole number from 0 up, a Generator, a RandomState or None. Got {random_state!r} instead."
        )
    return np.random.default_rng(random_state)


def check_declared(constraints: dict[str, list[Any]], values: dict[str, Any], caller: str) -> None:
    """Refuse a value that is not what was declared, with the nearest match where a word is meant."""
    for name, value in values.items():
        if (
            isinstance(value, int) and value.bit_length() > 63
        ):  # NumPy has no such whole numbers, some not even as floats
            raise BadParameter(
                f"The {name!r} parameter of {caller} must fit into 64 bits where it is a whole number. "
                f"Got one of {value.bit_length()} bits instead."
            )
    try:
        validate_parameter_constraints(constraints, values, caller_name=caller)
    except InvalidParameterError as error:
        hint = ""
        for name, allowed in constraints.items():
            words = {w for option in allowed if isinstance(option, StrOptions) for w in option.options}
            if isinstance(values.get(name), str) and words and values[name] not in words:
                hint = hint or did_you_mean(values[name], sorted(words))
        raise BadParameter(f"{str(error).removesuffix('.')}{hint or '.'}") from None


PLAIN = (int, float, str, bool, type(None))


@functools.lru_cache(maxsize=256, typed=True)  # a check takes as long as fitting some hundred rows
def _check_once(model: type[Estimator], names: tuple[str, ...], *values: Any) -> None:
    """`check_declared` for plain values, which do not change: what was right is right again."""
    check_declared(model._parameter_constraints, dict(zip(names, values)), model.__name__)


class _Kept:
    """Things made under one setting of the parameters."""

    __slots__ = ("copies", "things", "values")

    def __init__(self, model: Estimator) -> None:
        self.values = [(name, model.__dict__.get(name)) for name in model._get_param_names()]
        self.copies = [(name, copy.deepcopy(v)) for name, v in self.values if isinstance(v, MUTABLE)]
        self.things: dict[str, Any] = {}

    def holds(self, now: dict[str, Any]) -> bool:
        """Whether the parameters are the very objects they were, and none was changed from inside."""
        for name, value in self.values:  # a plain loop: this is read before every prediction, of one row too
            if now.get(name) is not value:
                return False
        return not self.copies or all(alike(now[name], before) for name, before in self.copies)


MUTABLE = (list, dict, set, np.ndarray)


def alike(a: Any, b: Any) -> bool:
    """Whether two parameters say the same, arrays and what is inside a list or dict included."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a is b or a == b)


def learning(method: Method) -> Method:
    """A method that learns: parameters are checked, what was made before is dropped, and what fails changes nothing at all.

    >>> class Model(Estimator):
    ...     @learning
    ...     def fit(self):
    ...         self.half = 1
    ...         raise ValueError
    >>> model = Model()
    >>> try: model.fit()
    ... except ValueError: print(vars(model))
    {}
    """

    @functools.wraps(method)
    def call(self: Estimator, *args: Any, **kwargs: Any) -> Any:
        state = self.__dict__
        before = dict(state)
        try:
            self._check_parameters()
            self._kept = _Kept(self)  # empty: a prediction fills it, and leaves no new attribute
            return method(self, *args, **kwargs)
        except BaseException:
            state.clear()
            state.update(before)
            raise

    return cast(Method, call)
