"""A call that fails changes nothing: every estimator, every way to fail, in `fit`, `partial_fit` and `forget`."""

from __future__ import annotations

import copy
import dataclasses
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posteriori as po
from posteriori.bayes.learning import KEEP
from posteriori.estimator import Estimator

HOME = str(Path(po.__file__).parent)
CODES = {"CategoricalNB", "BernoulliNB", "MultinomialNB", "ComplementNB"}
UNSUPERVISED = {"GaussianMixture", "KMeans", "LatentClass"}  # which do not look at y
REGRESSORS = {"SVR", "KNeighborsRegressor"}


def estimators() -> list[type[Any]]:
    found = [getattr(po, name) for name in po.__all__]
    return [c for c in found if isinstance(c, type) and issubclass(c, Estimator) and hasattr(c, "fit")]


each = pytest.mark.parametrize("Model", estimators(), ids=lambda c: c.__name__)


def rows(Model: type[Any], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (24, 3)) if Model.__name__ in CODES else rng.normal(size=(24, 3))
    return X, rng.normal(size=24) if Model.__name__ in REGRESSORS else np.arange(24) % 2


def made(Model: type[Any]) -> Any:
    given: dict[type[Any], dict[str, Any]] = {
        po.GaussianBayes: {"shrinkage": 0.5},
        po.RiskClassifier: {"estimator": po.GaussianNB()},
    }
    return Model(**given.get(Model, {}))


def learned(Model: type[Any]) -> Any:
    X, y = rows(Model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = made(Model).fit(X, y)
        model.predict(X[:2])  # what prediction needs is there, too
    return model


def alike(a: Any, b: Any) -> bool:
    """The same value through and through; what a frozen value has looked up of itself does not count."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and (a.dtype == object or a.tobytes() == b.tobytes())
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if dataclasses.is_dataclass(a) and not isinstance(a, Estimator):  # which need not have learned all its fields
        return all(alike(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, int | float | complex | str | bytes | set | frozenset | np.generic | None):
        return bool(a == b or a != a)
    names = [n for c in type(a).__mro__ for n in getattr(c, "__slots__", ())] + list(getattr(a, "__dict__", ()))
    names = [n for n in names if n[:2] != "__" and n != "_kept"]
    return callable(a) or all(alike(getattr(a, n, None), getattr(b, n, None)) for n in names)


def state(model: Any) -> dict[str, Any]:
    return {name: thing for name, thing in vars(model).items() if name != "_kept"}


def unchanged_by(model: Any, call: Any, *kinds: type[BaseException]) -> None:
    before, image = dict(vars(model)), copy.deepcopy(state(model))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(kinds or (ValueError, TypeError)):
            call()
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is thing for name, thing in before.items())
    assert alike(state(model), image)  # nothing was changed from inside either


def lets_stay(how: str) -> dict[str, Any]:
    return {"keep": KEEP} if how == "forget" else {}


def ways_to_learn(model: Any) -> list[str]:
    return [name for name in ("fit", "partial_fit", "forget") if hasattr(model, name)]


@each
def test_bad_rows_labels_and_weights(Model: type[Any]) -> None:
    X, y = rows(Model)
    strange = np.array([[object(), {}, []]] * 24, dtype=object)
    holed = y.astype(float)
    holed[3] = np.nan
    for fresh in (True, False):
        model = made(Model) if fresh else learned(Model)
        for name in ways_to_learn(model):
            if fresh and name == "forget":
                continue
            call = getattr(model, name)
            supervised = Model.__name__ not in UNSUPERVISED
            for bad in (strange, X[:, 0], *([X[:5]] if supervised else []), np.full((24, 3), np.inf)):
                if Model.__name__ in CODES and bad is strange:
                    continue
                unchanged_by(model, lambda call=call, bad=bad: call(bad, y))
            for bad_y in (y[:-1], holed, None) if supervised else ():
                unchanged_by(model, lambda call=call, bad_y=bad_y: call(X, bad_y))
            if not fresh and name != "fit":
                unchanged_by(model, lambda call=call: call(X[:, :2], y))
            if "sample_weight" in call.__code__.co_varnames:
                for w in (np.full(24, -1.0), np.full(24, np.nan), np.ones(23), ["a"] * 24):
                    unchanged_by(model, lambda call=call, w=w: call(X, y, sample_weight=w))


@each
def test_bad_parameters(Model: type[Any]) -> None:
    X, y = rows(Model)
    refused = 0
    for name in made(Model)._get_param_names():
        for how in ways_to_learn(Model):
            model = learned(Model)
            setattr(model, name, object())
            before, image = dict(vars(model)), copy.deepcopy({**state(model), name: None})
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    getattr(model, how)(X[:4], y[:4])
            except (ValueError, TypeError):
                assert vars(model).keys() == before.keys()
                assert all(vars(model)[n] is thing for n, thing in before.items())
                assert alike({**state(model), name: None}, image)
                refused += 1
    assert refused


class Injected(Exception):
    """A failure that nobody expects."""


def failing_at(k: int, call: Any) -> bool:
    """Run `call`, and fail at the k-th call of one of our functions; whether it came so far."""
    left = k

    def look(frame: Any, event: str, _: Any) -> None:
        nonlocal left
        code = frame.f_code
        ours = code.co_filename.startswith(HOME) and not code.co_name.startswith("<")  # a failing generator is lost
        if event == "call" and ours:
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise Injected
        return None

    old = sys.gettrace()
    sys.settrace(look)
    try:
        call()
    except Injected:
        return True
    finally:
        sys.settrace(old)
    return False


@each
def test_a_failure_in_the_middle(Model: type[Any]) -> None:
    X, y = rows(Model)
    for how in ways_to_learn(Model):
        k = 1
        while True:
            model = learned(Model)
            before, image = dict(vars(model)), copy.deepcopy(state(model))
            came = failing_at(k, lambda model=model, how=how: getattr(model, how)(X[:8], y[:8], **lets_stay(how)))
            if not came:
                break
            assert vars(model).keys() == before.keys(), (how, k)
            assert all(vars(model)[name] is thing for name, thing in before.items()), (how, k)
            assert alike(state(model), image), (how, k)
            k = k + 1 if k < 12 else int(k * 1.5)
        assert k > 3


def test_the_examples_that_were_wrong() -> None:
    X, y = np.random.default_rng(0).normal(size=(9, 2)), np.arange(9) % 3
    model = po.GaussianNB(priors=[0.5, 0.5])
    unchanged_by(model, lambda: model.fit(X, y))
    assert "classes_" not in vars(model)
    model = po.GaussianNB().fit(X, y)
    unchanged_by(model, lambda: model.fit(X[:, :1], y[:-1]))
    assert model.n_features_in_ == 2
    model.priors = [0.5, 0.5]
    unchanged_by(model, lambda: model.partial_fit(X, y))
