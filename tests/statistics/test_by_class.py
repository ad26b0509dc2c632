"""Statistics by class, whatever they are of: a class whose rows are all forgotten leaves no trace."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import NotLearned
from posteriori.statistics.by_class import ByClass, resized, same_sizes
from posteriori.statistics.counts import Counts
from posteriori.statistics.moments import Moments
from posteriori.table.schema import Schema

MODELS = [po.CategoricalNB, po.MultinomialNB, po.ComplementNB, po.BernoulliNB, po.GaussianNB]


@pytest.mark.parametrize("gone", [0, 1, 2])
@pytest.mark.parametrize("Model", MODELS)
def test_a_class_that_is_forgotten_was_never_there(Model, gone) -> None:
    rng = np.random.default_rng(gone)
    X, y = rng.integers(0, 2, (30, 4)), np.arange(30) % 3
    model = Model().fit(X, y).forget(X[y == gone], y[y == gone])
    fresh = Model().fit(X[y != gone], y[y != gone])
    assert model.classes_.tolist() == fresh.classes_.tolist()
    np.testing.assert_allclose(model.predict_proba(X), fresh.predict_proba(X), rtol=1e-9, atol=1e-12)


def by(
    classes: str, rows: list[float], table: list[list[float]], sizes: list[int], declared: str = "", **more
) -> ByClass:
    """Counts of scopes of these sizes by classes."""
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return ByClass(
        Schema((), tuple(classes), frozenset(declared)), np.array(rows), Counts(np.array(table), offsets), **more
    )


def test_classes_are_united_by_name_and_scopes_by_the_wider() -> None:
    a = by("ac", [5, 7], [[1, 2], [3, 4], [5, 6]], [2, 1], least=np.array([1, 1]))
    b = by("bc", [2, 4], [[7, 8], [9, 1], [2, 3], [4, 5]], [1, 3], least=np.array([2, 0]))
    for both in (a + b, b + a):
        assert both.schema.classes == ("a", "b", "c")
        assert both.rows.tolist() == [5, 2, 11]
        assert both.table.offsets.tolist() == [0, 2, 5]
        assert both.table.table.tolist() == [[1, 7, 10], [3, 0, 4], [5, 9, 7], [0, 2, 3], [0, 4, 5]]
        assert both.least.tolist() == [2, 1]
        assert not both.decayed
    bare = by("ac", [1, 1], [[1, 1], [0, 0], [1, 1]], [2, 1])
    assert (a + bare).least is a.least
    assert (bare + a).least is None


def test_what_goes_leaves_neither_classes_nor_last_categories() -> None:
    a = by("abc", [5, 2, 7], [[1, 2, 7], [4, 0, 0], [5, 2, 7]], [2, 1], least=np.array([0, 1]))
    less = by("ab", [4, 2], [[0, 2], [4, 0], [4, 2]], [2, 1])
    left = a - less
    assert left.schema.classes == ("a", "c")
    assert left.rows.tolist() == [1, 7]
    assert left.table.offsets.tolist() == [0, 1, 2]  # no row has the second category of the first scope any more
    assert left.table.table.tolist() == [[1, 7], [1, 7]]
    assert left.least is a.least
    none = a - a
    assert (none.schema.classes, none.rows.tolist(), none.table.sizes.tolist()) == ((), [], [0, 1])
    stays = by("abc", [5, 2, 7], a.table.table.tolist(), [2, 1], "bc") - less
    assert stays.schema.classes == ("a", "b", "c")  # declared
    assert stays.rows.tolist() == [1, 0, 7]
    assert stays.table.table.tolist() == [[1, 0, 7], [0, 0, 0], [1, 0, 7]]  # nothing is said of categories
    assert stays.least is None


def test_what_was_not_learned_or_has_faded_is_not_forgotten() -> None:
    a = by("ab", [5, 2], [[5, 2]], [1])
    with pytest.raises(NotLearned, match="rows of class 'c' were never learned"):
        a - by("ac", [1, 1], [[1, 1]], [1])
    with pytest.raises(NotLearned, match="more rows of a class than were learned"):
        a - by("b", [3], [[1]], [1])
    faded = a.scaled(0.5)
    assert (faded.rows.tolist(), faded.table.table.tolist(), faded.decayed) == ([2.5, 1.0], [[2.5, 1.0]], True)
    assert (faded + a).decayed
    assert (a + faded).decayed
    for one, other in ((faded, a), (a, faded)):
        with pytest.raises(NotLearned, match="after decay"):
            one - other


def test_counts_are_made_alike_where_their_scopes_are() -> None:
    a, b = Counts.zero([2, 3], 2), Counts.zero([4, 1], 2)
    assert [c.sizes.tolist() for c in same_sizes(a, b)] == [[4, 3]] * 2
    assert same_sizes(a, Counts.zero([2], 2))[0] is a
    some = Moments.zero(2, 1)
    assert same_sizes(some, some) == (some, some)
    assert resized(a, a.sizes) is a
    weights = resized(Counts(np.array([[0.5], [1.5]]), np.array([0, 2])), np.array([3]))
    assert (weights.table.tolist(), weights.table.dtype.kind) == ([[0.5], [1.5], [0.0]], "f")
