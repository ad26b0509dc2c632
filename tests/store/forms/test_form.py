"""What an annotation says of a field is what a file is held to: of every class that a file can hold, field by field."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import posteriori as po
from posteriori.arrays import Codes, Floats, Ints
from posteriori.errors import Inconsistent, NotStorable
from posteriori.estimator import Estimator
from posteriori.fields import (
    MAYBE,
    NOT_NEGATIVE,
    UNBOUNDED,
    AnyFloats,
    Counted,
    Natural,
    OneOf,
    Within,
    fields_of,
    is_small,
    spec_of,
)
from posteriori.store.forms import HOME, PUBLIC, form_of, form_tagged, value

from ..models import ALL, made

I64, F64 = np.arange(3), np.arange(3.0)


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (Any, [0, None], []),
        (str, ["", "a"], [b"a", 1, None, np.str_("a")]),
        (bool, [True, np.bool_(False)], [0, 1, None]),
        (int, [0, -(2**63), 2**63 - 1], [2**63, -(2**63) - 1, 1.0, True, np.int64(1)]),
        (Annotated[float, UNBOUNDED], [1, 2.5, np.float64(1), float("nan")], [2**63, 10**400, True, "1", None, 1j]),
        (float, [1, 2.5], [float("nan"), float("inf"), True]),
        (Annotated[int, Within(0, 5)], [0, 5], [-1, 6, 1.0, True]),
        (Annotated[str, OneOf(("a", "b"))], ["a", "b"], ["c", "", None, ["a"]]),
        (Literal["a", "b"], ["a", "b"], ["c", 1]),
        (
            Annotated[Floats, "n", NOT_NEGATIVE],
            [F64, np.zeros(0)],
            [F64[None], -F64, F64.astype("f4"), I64, [0.0], np.array([np.nan])],
        ),
        (Annotated[Floats, "n", UNBOUNDED], [np.array([np.nan, np.inf])], [np.zeros((1, 1))]),
        (Ints, [I64, -I64], [I64.astype(np.int32), F64]),
        (Codes, [I64.astype(np.int32)], [I64]),
        (NDArray[np.float32 | np.float64], [F64, F64.astype("f4")], [I64]),
        (AnyFloats, [F64, F64.astype("f4")], [I64, F64.astype("f2")]),
        (Counted, [I64, F64, F64 * 1e300], [-F64, np.full(3, 2**62), np.full(3, 1.5e308), np.array([np.inf])]),
        (tuple[str, ...], [(), ("a", "b")], [["a"], ("a", 1)]),
        (list[str], [[], ["a"]], [("a",), [1]]),
        (frozenset[Natural], [frozenset(), frozenset({1})], [{1}, frozenset({-1})]),
        (tuple[Natural, str], [(1, "a")], [(1,), (1, "a", "b"), ("a", 1), [1, "a"]]),
        (dict[str, int], [{}, {"a": 1}], [{1: 1}, {"a": "b"}, []]),
        (str | None, ["a", None], [1]),
        (po.Dag, [po.Dag("ab")], [po.Loss([[0, 1], [1, 0]]), "Dag"]),
    ],
)
def test_an_annotation_says_what_it_means(hint, good, bad):
    spec = spec_of(hint)
    assert all(map(spec.test, good))
    assert not any(map(spec.test, bad))
    assert spec.text


@dataclasses.dataclass(frozen=True)
class Two:
    a: int
    b: Annotated[tuple[str, ...], "a+1"]
    c: Annotated[Floats | None, "2 n n", MAYBE] = None

    def check(self) -> None:
        if self.a == 7:
            raise Inconsistent("seven")


def test_a_value_is_taken_apart_and_made_again():
    form = value(Two)
    for held in (Two(1, ("x",)), Two(1, ("x", "y"), np.zeros((2, 3, 3)))):
        assert form.make(form.take(held)) == held
    for fields, said in [
        ({"a": "x", "b": ()}, r"Two\.a must be a whole number; got 'x'"),
        ({"a": 1, "b": ("x",), "d": 2}, "a Two has no field 'd'"),
        ({"a": 1}, "a Two must have 'b'"),
        ({"a": 1, "b": ()}, r"Two\.b must have the shape \(a\+1\); got \(0\)"),
        ({"a": 1, "b": ("x",), "c": np.zeros((2, 3, 4))}, r"shape \(2, n, n\) with n = 3; got \(2, 3, 4\)"),
        ({"a": 1, "b": ("x",), "c": np.zeros((3, 3, 3))}, r"got \(3, 3, 3\)"),
        ({"a": 7, "b": ("x",)}, "seven"),
    ]:
        with pytest.raises(Inconsistent, match=said):
            form.make(fields)


def test_every_tag_has_its_form_and_no_other_class_has_one():
    for tag in HOME:
        form = form_tagged(tag)
        assert form is not None
        assert tag == form.cls.__name__
        assert form_of(form.cls) is form
    assert set(PUBLIC) <= set(HOME)
    assert form_tagged("os.system") is None
    assert form_of(type("NaiveBayes", (po.NaiveBayes,), {})) is None


def test_an_attribute_that_no_form_knows_is_named():
    model = po.NaiveBayes().fit({"a": ["u", "v"]}, [0, 1])
    model.extra_ = 1
    with pytest.raises(NotStorable, match="'extra_'"):
        form_of(po.NaiveBayes).take(model)


def test_classes_are_labels():
    model = po.LinearSVC(random_state=0).fit([[0.0], [1.0]], [0.0, 1.0])
    model._check_state()
    for bad in (0.5, np.nan, np.inf):
        model.classes_ = np.array([0.0, bad])
        with pytest.raises(Inconsistent, match="labels, not quantities"):
            model._check_state()


def test_small_numbers_have_sums():
    assert is_small(1e30)
    assert is_small(1e30, np.array([1e30, -1e30]), np.zeros(0), np.array([1e30], np.float32))
    assert not is_small(1e30, np.zeros(2), np.array([1.1e30]))
    assert not is_small(1e30, np.array([-1.1e30], np.float32))
    assert not is_small(1e30, np.array([np.nan]))


NOT_ASKED = {
    "Coding",
    "FrozenEstimator",
    "Interval",
    "Members",
    "Period",
    "Restart",
}  # of other fields, or in no model here


def said_of(cls):
    """What a class says of the fields that a file has, as far as it says it itself."""
    said = cls._attributes() if issubclass(cls, Estimator) else fields_of(cls)
    return {name: field for name, field in said.items() if field.stored}


@cache
def parts():
    """A value of every class that a file can hold, with its form."""
    found: dict[type, Any] = {}

    def walk(held):
        form = form_of(type(held))
        if form is not None and (type(held) not in found):
            found[type(held)] = held
        if form is not None:
            held = form.take(held)
        if isinstance(held, dict):
            held = list(held.values())
        for part in held if isinstance(held, list | tuple) else ():
            walk(part)

    for name in ALL:
        walk(made(name))
    return found


def other_lengths(name, held, said, fields):
    """The field a cell longer and a cell shorter along every axis whose length another axis says, or the class."""
    axes = said[name].axes or ()
    others = [axis.split("+")[0] for n, f in said.items() if fields.get(n) is not None for axis in f.axes or ()]
    for k, axis in enumerate(axes):
        if axis != "_" and (axis.isdigit() or others.count(axis.split("+")[0]) > 1):
            if isinstance(held, np.ndarray):
                if held.shape[k]:
                    yield np.delete(held, 0, axis=k), "must have the shape"
                    yield np.concatenate([held, held.take([0], axis=k)], axis=k), "must have the shape"
            elif isinstance(held, tuple | list) and held:
                yield held[1:], "must have the shape"
                yield held + held[:1], "must have the shape"


def other_values(name, held, said, fields):
    """What this field must not be, and how that is said."""
    field = said[name]
    if field.spec.test(Two):
        return  # it may be anything
    yield Two, f".{name} must be"
    if isinstance(held, np.ndarray) and " of " in field.spec.text:
        yield held.astype(np.complex64), f".{name} must be"
        if field.axes is not None:
            yield held[None], f".{name} must be"
        ends = [(m.low, -np.inf) for m in field.marks if isinstance(m, Within)]
        ends += [(m.high, np.inf) for m in field.marks if isinstance(m, Within)]
        for end, way in ends:
            if held.size and np.isfinite(end) and held.dtype.kind in "fi":
                bad = held.copy()
                beyond = np.nextafter(held.dtype.type(end), way) if held.dtype.kind == "f" else end + int(np.sign(way))
                bad.flat[-1] = beyond
                yield bad, f".{name} must be"
        if held.size and held.dtype.kind == "f" and UNBOUNDED not in field.marks:
            bad = held.copy()
            bad.flat[-1] = np.nan
            yield bad, f".{name} must be"
    yield from other_lengths(name, held, said, fields)


@pytest.mark.parametrize("tag", [t for t in HOME if t not in NOT_ASKED])
def test_a_file_is_held_to_what_a_class_says_of_its_fields(tag):
    form = form_tagged(tag)
    held = parts()[form.cls]
    fields, said = form.take(held), said_of(form.cls)
    assert type(form.make(dict(fields))) is form.cls
    with pytest.raises((Inconsistent, TypeError), match="has no field"):
        form.make(fields | {"nothing of the kind": 1})
    for name in fields.keys() & said.keys():
        for bad, words in other_values(name, fields[name], said, fields):
            with pytest.raises(Inconsistent, match=words):
                form.make(fields | {name: bad})
        if MAYBE not in said[name].marks and name != "lightest":
            with pytest.raises(Inconsistent, match=f"must have '{name}'"):
                form.make({n: part for n, part in fields.items() if n != name})
