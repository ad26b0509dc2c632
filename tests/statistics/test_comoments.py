"""Co-moments of families: each configuration against its rows, moved and turned by value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import BadValue, StatisticsError
from posteriori.statistics.comoments import collect_family_moments, collect_mixed
from posteriori.statistics.cuts import CodedTable
from posteriori.table.encode import Coded
from posteriori.table.schema import Column, Schema

SCHEMA = Schema(
    tuple(
        Column(n, "numeric" if n in "xz" else "categorical", v) for n, v in zip("axbz", (("u", "v"), (), (0, 1, 2), ()))
    ),
    ("no", "yes"),
)
SCOPES = [((0, 2), (1,)), ((2,), (1, 3))]


def collected(seed: int, n: int, weighted: bool = False):
    rng = np.random.default_rng(seed)
    codes = [
        rng.integers(0, 3, n),
        np.zeros(n, int),
        rng.integers(0, 4, n),
        np.zeros(n, int),
    ]  # the last code is missing
    x = np.where(rng.random((n, 2)) < 0.2, np.nan, rng.normal(size=(n, 2)))
    y, w = rng.integers(0, 2, n), rng.integers(1, 3, n).astype(float) if weighted else None
    table = CodedTable(codes, (2, 0, 3, 0), n_missing=1)
    return codes, x, y, w, collect_family_moments(table, x, (1, 3), SCOPES, y, 2, w, SCHEMA.names)


@given(seed=st.integers(0, 10_000), n=st.integers(1, 40), weighted=st.booleans())
def test_each_configuration_is_that_of_its_rows(seed, n, weighted):
    codes, x, y, w, found = collected(seed, n, weighted)
    w = np.ones(n) if w is None else w
    sizes = {0: 2, 2: 3}
    for (above, numbers), table in zip(found.scopes, found.tables, strict=True):
        part = x[:, [{1: 0, 3: 1}[j] for j in numbers]]
        for flat, cell in enumerate(np.ndindex(*(sizes[j] for j in above), 2)):
            rows = ~np.isnan(part).any(axis=1) & (y == cell[-1])
            for j, value in zip(above, cell):
                rows &= codes[j] == value
            assert table.n[flat] == w[rows].sum()
            if rows.any():
                mean = np.average(part[rows], axis=0, weights=w[rows])
                gap = part[rows] - mean
                np.testing.assert_allclose(table.mean[flat], mean, atol=1e-12)
                np.testing.assert_allclose(table.c[flat], (gap * w[rows, None]).T @ gap, atol=1e-12)


def test_values_move_by_name_and_columns_by_place():
    found = collected(1, 60)[-1]
    wide = Schema(
        tuple(replace(c, values=v) for c, v in zip(SCHEMA.columns, (("t", "u", "v"), (), (2, 0, 1), ()))),
        ("maybe", "no", "yes"),
    )
    there = found.moved(SCHEMA, wide)
    a, b = (m.tables[0].n.reshape(s) for m, s in ((found, (2, 3, 2)), (there, (3, 3, 3))))
    np.testing.assert_array_equal(b[1:][:, [1, 2, 0], 1:], a)
    assert b[0].sum() == 0
    assert there.moved(wide, SCHEMA) == found
    turned = found.turned([3, 2, 1, 0], (2, 0, 3, 0))
    assert turned.scopes == (((1,), (2, 0)), ((3, 1), (2,)))  # by their child
    assert turned.turned([3, 2, 1, 0], (0, 3, 0, 2)) == found
    assert found.scaled(0.5).tables[0].n.sum() == found.tables[0].n.sum() / 2
    with pytest.raises(StatisticsError, match="differ in structure"):
        found + turned


def test_squares_that_do_not_fit_are_named():
    schema, nothing = Schema((Column("x", "numeric"),), (0,)), Coded((), np.zeros((2, 0), np.uint8), 0)
    for large in (1e200, 1e308):
        with pytest.raises(BadValue, match="column 'x': its numbers are so large"):
            collect_mixed(nothing, np.array([[large], [-large]]), [0], schema, np.zeros(2, np.uint8), None, 1)
