"""What the library passes around is a value: it cannot be changed, and comparing two never fails."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil

import pytest

import posteriori

WORKING = {  # what a loop changes as it goes
    "margin.smo.Problem",
    "mixture.gaussian.Turn",
    "mixture.lloyd.Turn",
    "network.formats.text.Description",
    "report.dependence.Picture",
    "structure.independence.Pattern",
    "structure.independence.Separated",
    "table.encode.Seen",
}
ARRAYS = (
    "Array",
    "Floats",
    "Ints",
    "Bools",
    "Any",
    "Gram",
    "Sums",
    "Normals",
    "Regression",
    "Scored",
)  # in a field's type


def dataclasses_of_the_library():
    for module in pkgutil.walk_packages(posteriori.__path__, "posteriori."):
        if not module.name.endswith(("._avx2", "._base")):
            for name, found in vars(importlib.import_module(module.name)).items():
                if dataclasses.is_dataclass(found) and found.__module__ == module.name:
                    yield pytest.param(found, id=f"{module.name.removeprefix('posteriori.')}.{name}")


@pytest.mark.parametrize("found", [*dataclasses_of_the_library()])
def test_a_value_is_frozen_and_two_can_be_compared(found):
    name = f"{found.__module__.removeprefix('posteriori.')}.{found.__name__}"
    assert found.__dataclass_params__.frozen == (name not in WORKING)
    holds_arrays = any(word in str(field.type) for field in dataclasses.fields(found) for word in ARRAYS)
    if not inspect.isfunction(found.__eq__):
        assert holds_arrays  # arrays have no one truth value: who holds them is equal to itself alone
    elif "<string>" in inspect.unwrap(found.__eq__).__code__.co_filename:  # made by the decorator
        assert not holds_arrays
