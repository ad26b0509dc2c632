"""Elimination asks for the memory it takes: two tables of the targets, no less and not much more."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.errors import MemoryBudgetError
from posteriori.network.elimination import eliminate
from posteriori.network.numbers import Numbers


def test_the_joint_of_the_targets_is_refused_by_its_size():
    roots = Numbers.of([10] * 4, [()] * 4, [np.full(10, 0.1)] * 4)
    table = 8.0 * 10**4
    joint, log_p = eliminate(roots, [0, 1, 2, 3], {}, max_memory=4 * table)
    assert joint.size == 10**4
    assert log_p == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(MemoryBudgetError):
        eliminate(roots, [0, 1, 2, 3], {}, max_memory=1.5 * table)
