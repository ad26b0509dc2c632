"""A fit that fails leaves its estimator as it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def whole_or_nothing(fit: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Put every attribute back when `fit` raises: half of a new model beside half of an old one answers wrongly."""

    @wraps(fit)
    def fit_or_restore(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return fit_or_restore
