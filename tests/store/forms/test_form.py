"""The words in which forms say what a field holds, and forms themselves."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import ModelFileError, NotStorable
from posteriori.store.forms import HOME, PUBLIC, form_of, form_tagged
from posteriori.store.forms.form import (
    counts,
    dict_of,
    finite,
    flag,
    floats,
    ints,
    list_of,
    natural,
    nothing,
    numbers,
    of,
    pair_of,
    real,
    small,
    text,
    tuple_of,
    value,
    whole,
    word,
)

I64, F64 = np.arange(3), np.arange(3.0)


@pytest.mark.parametrize(
    ("spec", "good", "bad"),
    [
        (text, ["", "a"], [b"a", 1, None, np.str_("a")]),
        (flag, [True, np.bool_(False)], [0, 1, None]),
        (whole, [0, -(2**63), 2**63 - 1], [2**63, -(2**63) - 1, 1.0, True, np.int64(1)]),
        (real, [1, 2.5, np.float64(1), float("nan")], [2**63, 10**400, True, "1", None, 1j]),
        (finite, [1, 2.5], [float("nan"), float("inf"), True]),
        (natural(5), [0, 5], [-1, 6, 1.0, True]),
        (word("a", "b"), ["a", "b"], ["c", "", None, ["a"]]),
        (floats(1, 0), [F64, np.zeros(0)], [F64[None], -F64, F64.astype("f4"), I64, [0.0], np.array([np.nan])]),
        (floats(1, finite=False), [np.array([np.nan, np.inf])], [np.zeros((1, 1))]),
        (ints(1), [I64, -I64], [I64.astype(np.int32), F64]),
        (numbers("i"), [I64.astype(np.int32)], [I64]),
        (counts(1), [I64, F64, F64 * 1e300], [-F64, np.full(3, 2**62), np.full(3, 1.5e308), np.array([np.inf])]),
        (tuple_of(text), [(), ("a", "b")], [["a"], ("a", 1)]),
        (list_of(text), [[], ["a"]], [("a",), [1]]),
        (pair_of(natural(), text), [(1, "a")], [(1,), (1, "a", "b"), ("a", 1), [1, "a"]]),
        (dict_of(text, whole), [{}, {"a": 1}], [{1: 1}, {"a": "b"}, []]),
        (text | nothing, ["a", None], [1]),
        (of("Dag"), [po.Dag("ab")], [po.Loss([[0, 1], [1, 0]]), "Dag"]),
    ],
)
def test_a_word_says_what_it_means(spec, good, bad):
    assert all(map(spec.test, good))
    assert not any(map(spec.test, bad))
    assert spec.text


@dataclasses.dataclass(frozen=True)
class Two:
    a: int
    b: str


def test_a_value_is_taken_apart_and_made_again():
    form = value(Two, a=whole, b=text)
    assert form.make(form.take(Two(1, "x"))) == Two(1, "x")
    with pytest.raises(ModelFileError, match=r"Two\.a must be a whole number; got 'x'"):
        form.make({"a": "x", "b": "x"})
    with pytest.raises(ModelFileError, match="a Two has no field 'c'"):
        form.make({"a": 1, "b": "x", "c": 2})
    with pytest.raises(ModelFileError, match="must have the fields"):
        form.make({"a": 1})


def test_every_tag_has_its_form_and_no_other_class_has_one():
    for tag in HOME:
        form = form_tagged(tag)
        assert form is not None
        assert form.tag == tag == form.cls.__name__
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
    form_of(po.LinearSVC).check(model)
    for bad in (0.5, np.nan, np.inf):
        model.classes_ = np.array([0.0, bad])
        with pytest.raises(ModelFileError, match="labels, not quantities"):
            form_of(po.LinearSVC).check(model)


def test_small_numbers_have_sums():
    assert small(1e30)
    assert small(1e30, np.array([1e30, -1e30]), np.zeros(0), np.array([1e30], np.float32))
    assert not small(1e30, np.zeros(2), np.array([1.1e30]))
    assert not small(1e30, np.array([-1.1e30], np.float32))
    assert not small(1e30, np.array([np.nan]))
