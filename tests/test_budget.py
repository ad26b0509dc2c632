"""Memory is refused above the budget and not at it; sizes are printed in the unit they reach."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.budget import human, memory_budget, refuse_over
from posteriori.errors import BadParameter, MemoryBudgetError


def test_the_budget_itself_is_allowed():
    refuse_over(1000, 1000, "a table")
    with pytest.raises(MemoryBudgetError, match="a table would take 1001 bytes, over the budget of 1000 bytes; less"):
        refuse_over(1000, 1001, "a table", "less")


@pytest.mark.parametrize("bad", [0, -1, True, "many", float("nan")])
def test_a_budget_is_a_number_above_zero(bad):
    with pytest.raises(BadParameter, match="max_memory"):
        memory_budget(bad)


def test_a_budget_may_be_any_number():
    assert memory_budget(np.float32(2)) == 2.0
    assert memory_budget(0.5) == 0.5
    assert memory_budget() > 2**20


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (2**20 - 1, "1024.0 KiB"), (2**20, "1.0 MiB"),
        (2**30, "1.0 GiB"), (2**40, "1.0 TiB"), (99_999 * 2**40, "99999.0 TiB"), (1e5 * 2**40, "1e+05 TiB"),
    ],
)  # fmt: skip
def test_sizes_as_people_read_them(size, said):
    assert human(size) == said
