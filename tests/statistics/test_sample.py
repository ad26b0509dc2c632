"""The sample depends on the set of rows alone: any order, chunking or grouping gives the same one."""

from __future__ import annotations

import datetime
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from posteriori.errors import NotLearned, StatisticsError
from posteriori.statistics import sample
from posteriori.statistics.sample import Sample, number_cells, value_cells

NAMES = ["a", "b"]


@st.composite
def tables(draw, most=40):
    n = draw(st.integers(0, most))
    x = draw(arrays(np.float64, (n, 2), elements=st.sampled_from([0.0, -0.0, 1.0, 2.5, np.nan, -1e300, 3.0])))
    y = draw(arrays(np.uint8, n, elements=st.integers(0, 2)))
    return x, y


def made(x, y, weights=None):
    return Sample.of(number_cells(x), NAMES, y, 3, weights)


@pytest.mark.parametrize("limit", [sample.LIMIT, 4])
@given(tables(), tables(), tables())
def test_merge_is_associative_commutative_with_a_zero_and_equals_one_pass(limit, a, b, c):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "LIMIT", limit)
        A, B, C = (made(*part) for part in (a, b, c))
        whole = made(np.concatenate([a[0], b[0], c[0]]), np.concatenate([a[1], b[1], c[1]]))
        assert (A + B) + C == A + (B + C) == whole
        assert A + B == B + A
        assert A + Sample.zero(2, 3) == A
        assert len(whole.hashes) <= 4 * limit
        assert len(whole.view.hashes) <= limit
        if whole.level == (A + B).level:
            assert whole - C == A + B


@given(tables(), st.randoms())
def test_order_of_rows_and_columns_does_not_matter(case, random):
    x, y = case
    order = list(range(len(x)))
    random.shuffle(order)
    assert made(x[order], y[order]) == made(x, y)
    turned = Sample.of(number_cells(x[:, ::-1]), NAMES[::-1], y, 3)
    assert turned.select_columns([1, 0]) == made(x, y)


@given(tables())
def test_every_row_is_counted_while_there_are_few(case):
    x, y = case
    s = made(x, y)
    assert s.level == 0
    assert s.table.sum() == len(x)
    for cells, row in zip(s.cells.view(np.float64), s.table):
        same = np.array([np.array_equal(cells, r + 0.0, equal_nan=True) for r in x])
        assert row.tolist() == [int((same & (y == k)).sum()) for k in range(3)]


def test_a_sample_of_many_rows_is_fair_and_within_its_limit():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(100_000, 2)), rng.integers(0, 3, 100_000)
    s = made(x, y)
    assert 2 * sample.LIMIT < len(s.hashes) <= 4 * sample.LIMIT
    assert len(s.view.hashes) == sample.LIMIT
    seen = s.cells.view(np.float64)
    assert np.abs(seen.mean(axis=0)).max() < 5 / np.sqrt(len(seen))
    assert s == made(x[:30_000], y[:30_000]) + made(x[30_000:], y[30_000:])
    assert sample.most_kept(1_000_000) * 1_000_000 < 2 * 10**8


def test_weights_and_decay_are_counts():
    x, y = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, np.nan]]), np.array([0, 1, 1])
    twice = made(np.tile(x, (2, 1)), np.tile(y, 2))
    assert np.array_equal(made(x, y, np.full(3, 2.0)).table, twice.table)
    assert np.array_equal(made(x, y).scaled(2.0).table, twice.table)
    assert made(x, y, np.array([1.0, 0.0, 0.0])) == made(x[:1], y[:1], np.ones(1))


def test_what_was_not_learned_is_refused():
    a = made(np.array([[1.0, 2.0]]), np.array([0]))
    with pytest.raises(NotLearned, match="not all learned"):
        a - made(np.array([[1.0, 3.0]]), np.array([0]))
    with pytest.raises(NotLearned, match="not all learned"):
        a - made(np.array([[1.0, 2.0]]), np.array([1]))
    with pytest.raises(StatisticsError, match="do not add"):
        a + Sample.zero(3, 3)
    assert a.reindex_classes([2, 0, 1], 4).table.tolist() == [[0, 0, 1, 0]]


def test_values_that_are_equal_have_one_hash():
    for same in ([1, 1.0, True, np.float64(1), Decimal(1), "1"], [-0.5, "-0.5", Decimal("-0.5")]):
        assert len(set(value_cells(same)[:-1].tolist())) == 1
    odd = [1, "01", "1.0", "+1", "1 ", "1e0", 2, "", 2**70, 0.5, datetime.date(2020, 1, 1), ("a", 1)]
    assert len(set(value_cells(odd).tolist())) == len(odd) + 1


def test_hashes_are_the_same_in_every_process():
    code = "from posteriori.statistics.sample import *; print(value_cells(['a', 1, (2, 'b')]).tolist())"
    said = {subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)}
    assert said == {f"{value_cells(['a', 1, (2, 'b')]).tolist()}\n".encode()}


@pytest.mark.parametrize("weight", [None, 1.0, 1e6])
def test_one_row_too_many_is_not_forgotten(weight):
    def rows(n, times=1.0):
        return made(np.ones((n, 2)), np.zeros(n, np.uint8), None if weight is None else np.full(n, weight * times))

    assert (rows(2) - rows(1)) == rows(1)
    assert len((rows(1) - rows(1)).hashes) == 0
    with pytest.raises(NotLearned):
        rows(1) - rows(2)
    if weight is not None:  # rounding is cleaned, and nothing else
        assert len((rows(1) - rows(1, 1 - 5e-10)).hashes) == len((rows(1) - rows(1, 1 + 5e-10)).hashes) == 0
        assert len((rows(1) - rows(1, 1 - 5e-9)).hashes) == 1
        with pytest.raises(NotLearned):
            rows(1) - rows(1, 1 + 5e-9)


def test_a_sample_is_equal_to_samples_only():
    assert (Sample.zero(2, 3) == 3) is False
    assert (Sample.zero(2, 3) == Sample.zero(2, 3)) is True


@given(tables(), st.sampled_from([0.0, 0.5, 1e-320]), st.sets(st.integers(0, 2), min_size=1))
def test_no_row_stays_that_nobody_has(case, factor, kept):
    x, y = case
    kept = sorted(kept)
    held = made(x, y, np.ones(len(x)))
    for found in (held.scaled(factor), held.scaled(1e-10).scaled(factor), held.select_classes(kept)):
        assert found.table.any(axis=1).all()
        assert len(found.hashes) == len(found.cells) == len(found.table)
    assert held.select_classes(kept).table.sum() == np.isin(y, kept).sum()


@pytest.mark.parametrize(
    ("d", "rows"), [(0, 2000), (1, 2000), (524, 2000), (525, 1997), (2000, 524), (10_485, 100), (10_486, 100)]
)
def test_many_columns_have_fewer_rows(d, rows):
    """2,000 rows, or 2^20 cells, and a hundred rows at least."""
    assert sample.most_rows(d) == rows


@given(st.integers(0, 10_000), st.integers(1, 12), st.sampled_from([None, "weights", "shares"]))
def test_the_level_is_the_least_with_few_enough_rows(seed, most, how):
    rng = np.random.default_rng(seed)
    n = 60
    x, y = rng.integers(0, 8, (n, 2)).astype(float), rng.integers(0, 3, n).astype(np.uint8)
    w = np.zeros((n, 3))
    w[np.arange(n), y] = 1.0 if how is None else rng.random(n) * (rng.random(n) < 0.7)
    if how == "shares":
        w = rng.dirichlet(np.ones(3), n) * (rng.random(n) < 0.7)[:, None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "most_kept", lambda d: most)
        found = made(x, y, {None: None, "weights": w.sum(axis=1), "shares": w}[how])
    rows = w.sum(axis=1) > 0
    hashes = sample.row_hashes(number_cells(x), NAMES)

    def within(level: int) -> set[int]:
        return {int(h) for h in hashes[rows] if int(h) < 2 ** (64 - level)}

    assert set(found.hashes.tolist()) == within(found.level)
    assert (np.diff(found.hashes.astype(float)) > 0).all()
    assert len(found.hashes) <= most
    assert found.level == 0 or len(within(found.level - 1)) > most
    for h, cells, table in zip(found.hashes, found.cells, found.table):
        np.testing.assert_allclose(table, w[hashes == h].sum(axis=0))
        assert cells.tolist() == number_cells(x[hashes == h])[0].tolist()
    assert found.table.dtype.kind == ("i" if how is None or not len(found.hashes) else "f")
    if found.level:
        part = made(x[:5], y[:5], {None: None, "weights": w[:5].sum(axis=1), "shares": w[:5]}[how])
        left = found - part
        gone = {int(h) for h in hashes[:5]}
        assert left.level == found.level
        assert {int(h) for h in hashes[5:][rows[5:]]} & within(found.level) == set(left.hashes.tolist()) or gone
        with pytest.raises(NotLearned, match="coarser than the one"):
            part - found


def test_samples_that_differ_in_anything_differ():
    one = made(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1]))
    for name in ("hashes", "cells", "table"):
        assert replace(one, **{name: getattr(one, name) + 1}) != one
    assert replace(one, level=1) != one
    assert one.select_columns([1, 0]) != one
    assert one.select_columns([1, 0]).select_columns([1, 0]) == one
    with pytest.raises(StatisticsError, match="do not add"):
        one - Sample.zero(2, 2)


def test_bits_are_mixed_as_splitmix_does():
    """Steele, Lea and Flood's, in Python's own integers."""
    for bits in (0, 1, 2**63, 0x123456789ABCDEF0, 2**64 - 1):
        z = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        assert sample.mix(np.array([bits], np.uint64)).tolist() == [z ^ (z >> 31)]
