"""The parts of a pool as they grow: what is told of it."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.forest.growing import OTHERS, PARTS, Growing, LeftOut


def growing(**told):
    found = object.__new__(Growing)
    vars(found).update({"n_trees": 20, "n_members": 10, "done": 0, "said": {}, "time_limit": None, "begun": 0.0} | told)
    return found


def test_what_a_kernel_has_done_counts_once_its_part_is_done():
    said = []
    total = 20 + 10 + OTHERS * (len(PARTS) - 2)
    found = growing(progress=lambda *told: said.append(told))
    for done in (0, 7, 19):
        found._heard(done)
    found._tell(0, 20)
    found._heard(3)
    found._tell(0, 1000)
    assert said == [(0, total), (7, total), (19, total), (20, total), (23, total), (total, total)]


def test_where_the_time_is_over_a_part_is_left_out_but_not_the_first():
    found = growing(time_limit=-1.0, progress=None)
    found._heard(1)
    found.said = {"trees": np.zeros(1)}
    with pytest.raises(LeftOut, match="the time was over"):
        found._heard(1)


@pytest.mark.parametrize(
    ("each", "most", "i", "fits"), [(1.0, 5, 0, 2), (1.0, 2, 0, 2), (1.0, 5, 4, 5), (99.0, 5, 0, 1)]
)
def test_a_part_takes_its_share_of_the_time_that_is_left(monkeypatch, each, most, i, fits):
    found = growing()
    monkeypatch.setattr(Growing, "_left", lambda self: 12.5)
    assert found._affordable(each, most, i) == fits
    monkeypatch.setattr(Growing, "_left", lambda self: np.inf)
    assert found._affordable(each, most, i) == most
