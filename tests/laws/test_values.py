"""What the library passes around is a value: frozen, and equal to another if every part is; comparing two never fails."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pkgutil
import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import posteriori as po
from posteriori.network.findings import Not
from posteriori.statistics.comoments import comoments

WORKING = {  # what a loop changes as it goes
    "forest.auto.Growing",
    "leaderboard.race.Race",
    "leaderboard.race.Runner",
    "margin.smo.Problem",
    "mixture.gaussian.Turn",
    "mixture.kmeans.Turn",
    "network.formats.text.Description",
    "report.graphs.Picture",
    "store.sql.scores.Scores",
    "structure.independence.Arrowheads",
    "structure.independence.Separated",
}
ARRAYS = re.compile(r"\b(Array|Floats|Ints|Bools|Cells|Gram|Sums|Normals|Regression|Scored)\b")  # in a field's type


def dataclasses_of_the_library():
    for module in pkgutil.walk_packages(po.__path__, "posteriori."):
        if not module.name.endswith(("._avx2", "._base", ".__main__")):
            for found in vars(importlib.import_module(module.name)).values():
                if not inspect.isclass(found) or issubclass(found, BaseEstimator):  # which learns: no value
                    continue
                if dataclasses.is_dataclass(found) and found.__module__ == module.name:
                    yield f"{module.name.removeprefix('posteriori.')}.{found.__name__}", found


@pytest.mark.parametrize(("name", "found"), [pytest.param(*c, id=c[0]) for c in dataclasses_of_the_library()])
def test_a_value_is_frozen_and_two_can_be_compared(name, found):
    assert found.__dataclass_params__.frozen == (name not in WORKING)
    types = " ".join(str(field.type) for field in dataclasses.fields(found))
    if inspect.isfunction(found.__eq__) and "<string>" in found.__eq__.__code__.co_filename:  # made by the decorator
        assert not ARRAYS.search(types)  # which have no one truth value


def statistics(shift: int):
    """Statistics of tables that have nothing in common but their columns."""
    rng, words = np.random.default_rng(shift), np.array(["a", "b", "c", "d"])
    x, u, z = words[rng.integers(0, 2, 20) + shift], words[rng.integers(0, 3, 20)], rng.normal(shift, 1, 20)
    X, y = {"x": x, "u": u, "z": z}, rng.integers(0, 2, 20) + shift
    models = po.NaiveBayes(), po.TAN(cuts={"z": [0.5 + shift]}), po.AODE(lazy=True, cuts={"z": [0.5 + shift]})
    return [model.fit(X, y).statistics_ for model in models]


def pairs_of_values():
    for a, b in zip(statistics(0), statistics(1)):
        yield a, b
        yield from zip(a.joints, b.joints)
    a, b = statistics(0)[0], statistics(1)[0]
    yield from [(a.cells, b.cells), (a.moments, b.moments), (a.histograms[0], b.histograms[0]), (a.sample, b.sample)]
    yield a.schema, b.schema
    yield tuple(
        comoments(np.random.default_rng(s).normal(size=(9 - s, 2)), np.zeros(9 - s, int), 1, None) for s in (0, 1)
    )
    yield Not("a", "b"), Not("a", "c")
    yield po.Dag(["a", "b"], [("a", "b")]), po.Dag(["a", "b"], [("b", "a")])
    yield po.Loss([[0, 1], [2, 0]], classes=["a", "b"]), po.Loss([[0, 1], [2, 0]], classes=["a", "c"])
    yield po.Loss([[0, 1], [2, 0]]), po.Loss([[0, 1], [3, 0]])
    yield po.Loss([[0, 1], [2, 0]]).with_reject(0.5), po.Loss([[0, 1], [2, 0]]).with_reject(0.4)


NO_PART = {"span", "peak"}  # what equality does not look at


@pytest.mark.parametrize(("a", "b"), [*pairs_of_values()], ids=lambda v: type(v).__name__)
def test_values_are_equal_where_every_part_is(a, b):
    assert a == copy.deepcopy(a)
    assert not a != copy.deepcopy(a)  # noqa: SIM202
    assert a != b
    assert a != "another thing"
    for field in dataclasses.fields(a) if dataclasses.is_dataclass(a) and not isinstance(a, po.Dag) else ():
        part = getattr(b, field.name)
        if field.init and field.name not in NO_PART and repr(part) != repr(getattr(a, field.name)):
            assert dataclasses.replace(a, **{field.name: part}) != a, field.name
