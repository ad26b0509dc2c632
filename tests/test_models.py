"""The table of models: every row is a public class, every public estimator has a row, pages and commands follow it."""

from __future__ import annotations

import pytest

import posteriori as po
from posteriori import models
from posteriori.leaderboard.lineup import LIMITS
from posteriori.models import MODELS, on_boards


@pytest.mark.parametrize("row", MODELS, ids=lambda row: row.estimator)
def test_a_row_is_a_class_with_words_and_known_limits(row):
    assert row.load().__name__ == row.estimator
    assert row.says
    assert set(row.limits) <= set(LIMITS)


def test_every_public_estimator_has_one_row():
    public = {name for name in dir(po) if hasattr(getattr(po, name), "get_params")}
    ours = [row.estimator for row in MODELS if row.ours]
    assert sorted(ours) == sorted(public)
    assert len(on_boards()) == len([row for row in MODELS if row.name])
    assert set(on_boards(ours=True)) | set(on_boards(ours=False)) == set(on_boards())


def test_the_docstring_of_compare_names_them_all():
    assert all(f'"{name}"' in po.compare.__doc__ for name in models.on_boards())
