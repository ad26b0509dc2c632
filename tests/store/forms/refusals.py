"""A value taken apart, some of its fields changed, and made again: what must be refused, and in which words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from posteriori.errors import PosterioriError
from posteriori.store.forms import form_of

GONE = object()  # in the place of a field: leave it out
Change = dict[str, Any] | Callable[[Any], dict[str, Any]]


def remade(value: Any, change: Change = {}) -> Any:  # noqa: B006  never written to
    """The value of these fields, `change` being what is put in their place, or what makes that of the value."""
    form = form_of(type(value))
    assert form is not None
    fields = form.take(value) | (change(value) if callable(change) else change)
    return form.make({name: held for name, held in fields.items() if held is not GONE})


def judged(value: Any, change: Change, said: str | None) -> Any:
    """The value with a change that is allowed (`said` is None), or nothing where it is refused in these words."""
    if said is None:
        return remade(value, change)
    with pytest.raises(PosterioriError, match=re.escape(said)):
        remade(value, change)
    return None
