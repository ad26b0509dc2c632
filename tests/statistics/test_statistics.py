"""All statistics of a table as one value; by class, whatever they are of, a class without rows leaves no trace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadValue, NotLearned, StatisticsError
from posteriori.statistics.collect import collect, collect_coded
from posteriori.statistics.counts import LARGEST, Counts
from posteriori.statistics.moments import Moments
from posteriori.statistics.statistics import ByClass, Statistics, resized, same_sizes
from posteriori.table.frame import open_frame
from posteriori.table.schema import Column, Schema

X = {"sky": ["a", "b", "b", "a", "c"], "wind": [1.0, 5.0, 6.0, 2.0, 2.5]}
WHOLE = po.NaiveBayes().fit(X, [0, 1, 1, 0, 0]).statistics_
PART = po.NaiveBayes().fit({name: cells[:2] for name, cells in X.items()}, [0, 1]).statistics_
BARE = replace(PART, sample=None)


def test_a_sample_is_kept_where_both_have_one():
    assert WHOLE.sample is not None
    assert (WHOLE + PART).sample == WHOLE.sample + PART.sample
    assert (WHOLE - PART).sample == WHOLE.sample - PART.sample
    for one in (WHOLE + BARE, BARE + WHOLE, WHOLE - BARE, replace(WHOLE, sample=None) - PART):
        assert one.sample is None


def test_what_was_scaled_is_not_forgotten():
    assert (WHOLE.scaled(0.5) + PART).decayed
    assert (PART + WHOLE.scaled(0.5)).decayed
    assert not (WHOLE + PART).decayed
    for a, b in ((WHOLE.scaled(0.5), PART), (WHOLE, PART.scaled(0.5))):
        with pytest.raises(NotLearned, match="after decay"):
            a - b


KINDS = {
    "times": ("count", "events"), "sky": ("categorical", "cells"), "wind": ("numeric", "moments"),
    "said": ("text", "words"), "size": ("numeric", "histogram"), "more": ("count", "events"),
    "coat": ("categorical", "cells"), "mass": ("numeric", "numbers"), "told": ("text", "words"),
}  # fmt: skip


def rows(seed: int, n: int, words: str, classes: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Rows whose values and classes are some of those given, so that two tables share only a part of them."""
    rng = np.random.default_rng(seed)
    texts = np.array([f"{a}{a} {b}{b}" for a in words for b in words], dtype=object)
    X = {
        "times": rng.poisson(2, n), "sky": rng.choice([*words], n), "wind": rng.integers(0, 9, n) / 4,
        "said": rng.choice(texts, n), "size": rng.integers(0, 5, n) / 2, "more": rng.poisson(1, n),
        "coat": rng.choice([*words[::-1], "x"], n), "mass": rng.integers(0, 4, n) / 8, "told": rng.choice(texts, n),
    }  # fmt: skip
    return X, rng.choice([*classes], n)


def counted(
    X: dict[str, np.ndarray], labels: np.ndarray, declared: dict[str, tuple[str, ...]] | None = None, more: str = ""
) -> Statistics:
    """What one pass leaves of them; `declared` values of columns, and `more` classes that are declared."""
    declared = declared or {}
    columns = [Column(n, KINDS[n][0], declared.get(n, ()), frozenset(declared.get(n, ()))) for n in X]
    classes = sorted({*labels.tolist(), *more})
    y = np.searchsorted(classes, labels).astype(np.uint8)
    told = Schema(tuple(columns), tuple(classes), frozenset(more))
    return collect(open_frame(X), told, tuple(KINDS[n][1] for n in X), y)[0]


def assert_same(a: Statistics, b: Statistics) -> None:
    """All parts are equal, the moments but for rounding."""
    for name in ("n", "mean", "m2"):
        np.testing.assert_allclose(getattr(a.moments, name), getattr(b.moments, name), atol=1e-12)
    assert a.rows.tolist() == b.rows.tolist()
    assert replace(a, moments=b.moments) == b
    assert (a.sampled, a.sizes, a.n_classes) == (b.sampled, b.sizes, b.n_classes)


tables = st.tuples(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 9))


def two(drawn: tuple[int, int, int]) -> tuple[tuple[dict, np.ndarray], ...]:
    """(one table, another, both)."""
    seed, n, m = drawn
    (X, y), (Z, z) = rows(seed, n, "abd", "pr"), rows(seed + 1, m, "bcd", "qr")
    return (X, y), (Z, z), ({name: np.concatenate([X[name], Z[name]]) for name in X}, np.concatenate([y, z]))


@settings(max_examples=15)
@given(tables, st.permutations(list(KINDS)))
def test_parts_add_up_and_come_apart_whatever_the_order_of_their_columns(drawn, order):
    (X, y), (Z, z), both = two(drawn)
    one, whole = counted(X, y), counted(*both)
    turned = counted({name: Z[name] for name in order}, z)
    assert_same(counted(Z, z).reorder_columns(tuple(order)), turned)
    assert_same(turned.reorder_columns(tuple(KINDS)), counted(Z, z))
    assert_same(one + turned, whole)
    assert_same(whole - turned, one)
    assert turned.reorder_columns(tuple(order)) is turned
    assert turned.reorder_columns(("other", *order[1:])) is turned  # named when the schemas are united


@settings(max_examples=15)
@given(tables)
def test_what_is_declared_stays_when_its_rows_have_gone(drawn):
    (X, y), _, _ = two(drawn)
    told = {"sky": ("a", "never"), "said": ("dd", "zzz")}
    whole = counted(X, y, told, "pw")
    left = whole - counted(X, y)
    assert left.schema.classes == ("p", "w")
    assert left.rows.tolist() == [0, 0]
    assert [c.values for c in left.schema.columns if c.kind in ("categorical", "text")] == [
        ("a", "never"),
        ("dd", "zzz"),
        (),
        (),
    ]
    assert left.cells == Counts.zero([2, 0], 2)
    assert left.words == Counts.zero([2, 0, 2], 2)  # of two texts, and one scope of the two columns of events
    assert left.moments.n.shape == (2, 2)
    assert [h.table.shape for h in left.histograms] == [(0, 2)] * 2
    assert_same(whole.pruned(), whole)


@settings(max_examples=15)
@given(tables)
def test_a_larger_schema_holds_the_same_at_the_places_of_its_values(drawn):
    (X, y), (Z, z), _ = two(drawn)
    one, schema = counted(X, y), counted(X, y).schema + counted(Z, z).schema
    wide = one.reindex(schema)
    assert wide.schema is schema
    assert one.reindex(one.schema) is one
    place = [schema.classes.index(c) for c in one.schema.classes]
    others = [k for k in range(len(schema.classes)) if k not in place]
    assert wide.rows[place].tolist() == one.rows.tolist()
    assert not wide.rows[others].any()
    for counts, mine, role in ((wide.cells, one.cells, "cells"), (wide.words, one.words, "words")):
        for k, j in enumerate(one.where(role)):
            told = dict(zip(one.schema.columns[j].values, mine.scope(k).tolist()))
            for value, found in zip(schema.columns[j].values, counts.scope(k), strict=True):
                assert found[place].tolist() == told.get(value, [0] * len(place))
                assert not found[others].any()
    assert wide.words.scope(2)[:, place].tolist() == one.words.scope(2).tolist()  # the events
    assert wide.moments.mean[place].tolist() == one.moments.mean.tolist()
    assert [h.table[:, place].tolist() for h in wide.histograms] == [h.table.tolist() for h in one.histograms]
    assert wide.sample.table[:, place].tolist() == one.sample.table.tolist()
    assert_same(wide.pruned(), one)


def test_what_is_scaled_is_scaled_in_every_part():
    X, y = rows(3, 20, "abd", "pr")
    whole = counted(X, y)
    half = whole.scaled(0.5)
    assert half.decayed
    for name in ("rows", "cells.table", "words.table", "moments.n", "moments.m2", "sample.table"):
        at, mine = half, whole
        for part in name.split("."):
            at, mine = getattr(at, part), getattr(mine, part)
        assert at.tolist() == (mine * 0.5).tolist(), name
    assert half.moments.mean.tolist() == whole.moments.mean.tolist()
    assert [h.table.tolist() for h in half.histograms] == [(h.table * 0.5).tolist() for h in whole.histograms]


def test_statistics_differ_if_any_part_does():
    X, y = rows(5, 15, "abd", "pr")
    whole, other = counted(X, y), counted(*rows(6, 15, "abd", "pr"))
    assert whole == counted(X, y)
    assert (whole == 3) is False
    assert replace(whole, schema=replace(whole.schema, target="t")) != whole
    for name in ("rows", "cells", "words", "moments", "histograms", "sample"):
        assert replace(whole, **{name: getattr(other, name)}) != whole, name
    assert replace(whole, roles=whole.roles[::-1]) != whole
    assert replace(whole, joints=(1,)) != whole
    assert replace(whole, cuts=(np.array([1.0]),)) != replace(whole, cuts=(np.array([2.0]),))
    assert replace(whole, cuts=(np.array([1.0]),)) == replace(whole, cuts=(np.array([1.0]),))


def test_what_cannot_be_added_or_taken_away_is_named():
    X, y = rows(7, 15, "abd", "pr")
    whole = counted(X, y)
    roles = tuple("histogram" if r == "moments" else r for r in whole.roles)
    with pytest.raises(StatisticsError, match=r"different densities cannot be added: 'wind \(moments and histogram\)'"):
        whole + replace(whole, roles=roles)
    with pytest.raises(StatisticsError, match="column 'times' was cut in different places"):
        replace(whole, cuts=(np.array([1.0]),)) + replace(whole, cuts=(np.array([2.0]),))
    with pytest.raises(NotLearned, match="rows of class 'q' were never learned"):
        whole - counted(*rows(8, 9, "abd", "q"))
    strange = {**X, "sky": np.array(["new"] * 15)}
    with pytest.raises(NotLearned, match="column 'sky' never had the value 'new'"):
        whole - counted(strange, y)
    with pytest.raises(NotLearned, match="were not all learned"):
        whole - (whole + whole)


def test_rows_are_added_as_long_as_64_bits_hold_them():
    X, y = rows(9, 15, "abd", "pr")
    whole, one = counted(X, y), counted({name: X[name][:1] for name in X}, y[:1])
    most = replace(whole, rows=np.full(2, LARGEST - 1))
    assert (most + one).rows.max() == LARGEST
    with pytest.raises(StatisticsError, match="number of rows would not fit into 64 bits"):
        replace(whole, rows=np.full(2, LARGEST)) + one
    many = replace(whole, rows=np.full(2, 2.0**63)) + one  # of weights
    assert many.rows.tolist() == [2.0**63] * 2


def test_numbers_whose_squares_do_not_fit_together_are_named():
    low, high = ({"size": np.array([0.5]), "mass": np.array([1.0]), "wind": np.array([far])} for far in (-1e160, 1e160))
    label = np.array(["p"])
    with pytest.raises(BadValue, match="column 'wind': its numbers are so large"):
        counted(low, label) + counted(high, label)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_that_are_counted_anew_know_whether_rows_weigh(weighted):
    X, y = rows(11, 12, "abd", "pr")
    part = {name: cells[:5] for name, cells in X.items()}
    whole, less = counted(X, y), counted(part, y[:5])
    if weighted:
        whole, less = (replace(s, rows=s.rows * 1.0) for s in (whole, less))
    left = whole - less
    assert left.moments.span.weighted == weighted  # that of `mass`, whose every value is known
    wanted = counted({name: cells[5:] for name, cells in X.items()}, y[5:]).moments
    np.testing.assert_allclose(left.moments.m2, wanted.m2, atol=1e-12)
    np.testing.assert_allclose(left.moments.span.low[:, 1], wanted.span.low[:, 1])  # `wind` knows outer bounds only


@settings(max_examples=15)
@given(tables, st.permutations(["sky", "coat", "hat"]))
def test_joint_counts_move_with_values_classes_and_columns(drawn, order):
    seed, n, m = drawn
    rng = np.random.default_rng(seed)
    names = ("sky", "coat", "hat")

    def table(n: int, words: str, classes: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
        return {name: rng.choice([*words[k:]], n) for k, name in enumerate(names)}, rng.choice([*classes], n)

    def paired(X: dict[str, np.ndarray], labels: np.ndarray) -> Statistics:
        classes = sorted(set(labels.tolist()))
        told = Schema(tuple(Column(name, "categorical") for name in X), tuple(classes))
        y = np.searchsorted(classes, labels).astype(np.uint8)
        return collect_coded(open_frame(X), told, (), y, None, True, 1, None)[1]

    (X, y), (Z, z) = table(n, "abde", "pr"), table(m, "bcdf", "qr")
    one, other = paired(X, y), paired({name: Z[name] for name in order}, z)
    whole = paired({name: np.concatenate([X[name], Z[name]]) for name in X}, np.concatenate([y, z]))
    assert one + other == whole
    assert whole - other == one
    half = whole.scaled(0.5)
    assert half.joints[0].counts.table.tolist() == (whole.joints[0].counts.table * 0.5).tolist()


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
    with pytest.raises(NotLearned, match="were not all learned"):
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
