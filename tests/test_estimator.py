"""What is kept is what would be made anew; what fails changes nothing."""

from __future__ import annotations

import copy
from numbers import Integral, Real

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils._param_validation import Interval, StrOptions

import posteriori as po
from posteriori.errors import BadParameter
from posteriori.estimator import Estimator, check_declared, learning


class Model(Estimator):
    _parameter_constraints = {  # noqa: RUF012
        "power": [Interval(Real, 0, None, closed="left")],
        "way": [StrOptions({"plain", "fancy"})],
        "table": [list, dict, np.ndarray, None],
    }

    def __init__(self, power=1.0, way="plain", table=None):
        self.power, self.way, self.table = power, way, table

    @learning
    def learn(self, x, fail=False):
        self.learned_, self.more_ = x, True
        if fail:
            raise RuntimeError("half way")
        return self

    def made(self):
        return self._cached("answer", lambda: (self.learned_, self.power, self.way, copy.deepcopy(self.table)))

    def now(self):
        return (self.learned_, self.power, self.way, self.table)


changes = st.lists(
    st.one_of(
        st.tuples(st.just("power"), st.sampled_from([0.0, 1.0, 2.0])),
        st.tuples(st.just("way"), st.sampled_from(["plain", "fancy"])),
        st.tuples(st.just("table"), st.sampled_from([None, [1], {"a": [1]}])),
        st.tuples(st.just("inside"), st.integers(0, 3)),
        st.tuples(st.just("learn"), st.integers(0, 3)),
        st.tuples(st.just("fail"), st.integers(0, 3)),
    ),
    max_size=8,
)


@given(changes)
def test_what_is_kept_is_what_would_be_made_now(steps):
    model = Model(table=[0]).learn(0)
    assert model.made() == model.now()
    for what, value in steps:
        if what == "learn":
            model.learn(value)
        elif what == "fail":
            with pytest.raises(RuntimeError):
                model.learn(value + 10, fail=True)
        elif what == "inside":
            if isinstance(model.table, list):
                model.table[0] = value
            elif isinstance(model.table, dict):
                model.table["a"][0] = value
        else:
            model.set_params(**{what: copy.deepcopy(value)})
        assert model.made() == model.now()
        assert model.made() is model.made()


def test_a_call_that_fails_leaves_every_attribute_as_it_was():
    model = Model()
    with pytest.raises(RuntimeError):
        model.learn(1, fail=True)
    assert vars(model) == {"power": 1.0, "way": "plain", "table": None}
    model.learn(1)
    kept = model.made()
    before = dict(vars(model))
    with pytest.raises(RuntimeError):
        model.learn(2, fail=True)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
    assert model.made() is kept


def test_a_parameter_is_checked_again_when_it_changed():
    model = Model().learn(1)
    model.made()
    model.way = "fanzy"
    with pytest.raises(BadParameter, match="did you mean 'fancy'"):
        model.made()
    model.way, model.power = "fancy", -1
    with pytest.raises(BadParameter, match="power"):
        model.made()


@given(
    st.lists(st.sampled_from([True, False, 1, 0, 1.0, 0.0, -1, "plain", float("nan"), None]), min_size=1, max_size=6)
)
def test_what_was_right_once_is_right_for_its_type_alone(values):
    class Typed(Model):
        _parameter_constraints = {"power": ["boolean"], "way": [StrOptions({"plain"})], "table": [None]}  # noqa: RUF012

    for value in values:
        model = Typed(power=value)
        if isinstance(value, bool):
            model.learn(1)
        else:
            with pytest.raises(BadParameter, match="power"):
                model.learn(1)


def test_an_array_changed_from_inside_is_another_parameter():
    model = Model(table=np.zeros(2)).learn(0)
    first = model.made()
    model.table[1] = 5.0
    assert model.made() is not first
    assert model.made()[3].tolist() == [0.0, 5.0]


@pytest.mark.parametrize("number", [10**30, -(10**400)])
def test_whole_numbers_beyond_64_bits_are_refused_by_name(number):
    for model in (po.TAN(smoothing=number), po.NaiveBayes(smoothing=number), po.CategoricalNB(alpha=number)):
        with pytest.raises(BadParameter, match="must fit into 64 bits"):
            model.fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])


@pytest.mark.parametrize(
    ("value", "fits"), [(2**63 - 1, True), (2**63, False), (-(2**63) + 1, True), (-(2**64), False)]
)
def test_a_whole_number_has_64_bits(value, fits):
    declared = {"k": [Interval(Integral, None, None, closed="neither")]}
    if fits:
        check_declared(declared, {"k": value}, "Model")
    else:
        with pytest.raises(BadParameter, match="must fit into 64 bits"):
            check_declared(declared, {"k": value}, "Model")
