"""Long work: a watch that ends it when its time is over, or Ctrl-C comes, and tells whom it was told to tell."""

from __future__ import annotations

import math
import time

import pytest

from posteriori.errors import BadParameter
from posteriori.structure.watching import watched


def test_time_runs_out_once_and_for_all():
    with watched(False, 0.0) as watch:
        assert watch.listens
        time.sleep(0.002)
        assert watch.left() == 0.0
        assert watch.finished
        assert watch.over()
        assert not watch.finished
    with watched(False, 100.0) as watch:
        assert 90 < watch.left() <= 100
        assert not watch.over()
        assert watch.finished
    with watched(None, None) as watch:
        assert watch.left() == math.inf
        assert not watch.over()
        assert not watch.listens
        watch.show("nobody listens")


def test_words_go_where_they_are_told(capsys):
    heard = []
    with watched(heard.append, None) as watch:
        assert watch.listens
        watch.show("one")
    assert heard == ["one"]
    with watched(True, None) as watch:
        assert watch.listens
        watch.show("two")
    assert capsys.readouterr().out == ""


def test_an_interruption_leaves_it_unfinished():
    with watched(False, None) as watch, watch.until_interrupted():
        raise KeyboardInterrupt
    assert not watch.finished
    assert watch.over()
    with watched(False, None) as watch, pytest.raises(ValueError, match="x"), watch.until_interrupted():
        raise ValueError("x")
    assert watch.finished


@pytest.mark.parametrize("limit", [-1, math.nan, "1", True, -1e-9])
def test_limits_that_are_none(limit):
    with pytest.raises(BadParameter, match="time_limit"), watched(False, limit):
        pass


@pytest.mark.parametrize("progress", ["yes", 1, [print]])
def test_progress_that_is_none(progress):
    with pytest.raises(BadParameter, match="progress"), watched(progress, None):
        pass
