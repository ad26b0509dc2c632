"""Pieces of a kernel matrix are pieces of the matrix, whoever holds it; a cache never answers with another row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from posteriori.errors import ModelError
from posteriori.kernels.margin import KernelSpec, pack
from posteriori.margin import kernel as held
from posteriori.margin.kernel import (
    DenseGram,
    FunctionGram,
    RowCache,
    SharedGram,
    SparseGram,
    WholeGram,
    checked_values,
    parts,
    row_squares,
    small_enough,
    sums_by_function,
    wide_csr,
)

from ..kernels.reference import margin as reference

ASKED = st.lists(st.lists(st.integers(0, 29), min_size=1, max_size=16, unique=True), max_size=8)
SPECS = {
    "dot": KernelSpec("dot", 1.0, 0.5, 0),
    "polynomial": KernelSpec("polynomial", 0.5, 1.0, 3),
    "rbf": KernelSpec("rbf", 0.7, 0.0, 0),
    "distance": KernelSpec("distance", 0.7, 0.0, 0),
    "sigmoid": KernelSpec("sigmoid", 0.3, -0.2, 0),
}
OF_SPARSE = [KernelSpec("dot"), KernelSpec("rbf", 0.3), KernelSpec("polynomial", 0.5, 1.0, 2)]


def by_hand(spec, A, B):
    dot, far = A @ B.T, np.sqrt(((A[:, None] - B[None]) ** 2).sum(axis=2))
    return {
        "dot": dot + spec.shift, "polynomial": (spec.scale * dot + spec.shift) ** spec.degree,
        "rbf": np.exp(-spec.scale * far**2), "distance": np.exp(-spec.scale * far),
        "sigmoid": np.tanh(spec.scale * dot + spec.shift),
    }[spec.kind]  # fmt: skip


def rows(n=30, d=4):
    X = np.random.default_rng(0).normal(size=(n, d))
    X[np.abs(X) < 0.5] = 0.0
    return X


def grams(kind):
    """The same matrix, held in every way."""
    spec, X = SPECS[kind], rows()
    K = by_hand(spec, X, X)
    yield DenseGram(spec, pack(X), 1), K
    yield DenseGram(spec, pack(X.astype(np.float32)), 1, fine=pack(X)), K
    yield WholeGram(K), K
    yield WholeGram(np.pad(K, ((1, 2), (1, 2))), np.arange(1, 31)), K
    yield FunctionGram(lambda a, b: by_hand(spec, a, b), X), K
    yield SparseGram(spec, sparse.csr_array(X)), K
    place = np.tile(np.arange(30), 2)
    yield SharedGram(DenseGram(spec, pack(X), 1), place), K


@pytest.mark.parametrize("at_once", [1, 2**33])
@pytest.mark.parametrize("kind", SPECS)
def test_every_piece_is_a_piece_of_the_matrix(kind, at_once, monkeypatch):
    monkeypatch.setattr(held, "AT_ONCE", at_once)
    rng = np.random.default_rng(1)
    for g, K in grams(kind):
        close = {"rtol": 2e-5, "atol": 2e-5} if g.coarse else {"rtol": 1e-9, "atol": 1e-12}
        assert g.width == 30
        index = np.array([3, 17, 4, 29])
        shared = np.array([3, 47, 4, 59]) if isinstance(g, SharedGram) else index
        block = g.block(shared)
        np.testing.assert_allclose(block[:, :4], K[np.ix_(index, index)], **close)
        out = np.full((6, 30), 7.0, dtype=g.dtype)
        g.rows(index, out, np.array([5, 0, 2, 1]))
        np.testing.assert_allclose(out[[5, 0, 2, 1]], K[index], **close)
        assert (out[[3, 4]] == 7.0).all()
        coef = rng.normal(size=4)
        for targets in (np.array([0, 8, 21]), np.arange(30)):
            np.testing.assert_allclose(g.sums(targets, index, coef), K[np.ix_(targets, index)] @ coef, **close)
            exact = g.sums(targets, index, coef, exact=True)
            np.testing.assert_allclose(exact, K[np.ix_(targets, index)] @ coef, rtol=1e-9, atol=1e-12)
        part = g.only(shared)
        np.testing.assert_allclose(part.block(np.arange(4))[:, :4], K[np.ix_(index, index)], **close)
        fine = g.finer()
        assert not fine.coarse
        np.testing.assert_allclose(fine.block(shared)[:, :4], K[np.ix_(index, index)], rtol=1e-9, atol=1e-12)
        top = np.sqrt(np.abs(K.diagonal()).max())
        assert g.spread() >= top * (1 - 1e-5)
        if kind != "sigmoid":
            assert g.spread() == pytest.approx(top, rel=1e-5)
        if isinstance(g, DenseGram | SparseGram | SharedGram):
            assert g.definite == (kind in ("rbf", "distance"))
            assert g.coarse == (g.dtype == np.float32)


@pytest.mark.parametrize("make", [lambda s, X: DenseGram(s, pack(X)), lambda s, X: SparseGram(s, sparse.csr_array(X))])
def test_a_kernel_without_a_scale_tells_no_points_apart(make):
    for scale, definite in ((0.0, False), (1e-9, True)):
        assert make(KernelSpec("rbf", scale, 0.0, 0), rows()).definite == definite


@given(st.integers(0, 50), st.integers(0, 60))
def test_parts_are_all_and_each_within_its_share(n, each):
    old, held.AT_ONCE = held.AT_ONCE, 100
    try:
        found = parts(n, each)
    finally:
        held.AT_ONCE = old
    assert [i for p in found for i in range(n)[p]] == list(range(n))
    assert all((p.stop - p.start) * each <= 100 or p.stop - p.start == 1 for p in found)
    assert all((p.stop - p.start + 1) * max(each, 1) > 100 for p in found[:-1])


@given(
    st.lists(st.lists(st.integers(0, 29), min_size=1, max_size=16, unique=True), max_size=8),
    st.integers(0, 24),
    st.data(),
)
def test_a_cache_holds_the_rows_it_says(asked, capacity, data):
    spec, X = SPECS["rbf"], rows()
    K, g = by_hand(spec, X, X), DenseGram(spec, pack(X), 1)
    cache = RowCache(g, np.empty(capacity * 30 * 8, np.uint8))
    assert cache.capacity == (capacity if capacity >= 16 else 16)
    for index in map(np.array, asked):
        at = cache.slots(index)
        np.testing.assert_allclose(cache.buffer[at], K[index], rtol=1e-9)
        assert len(set(at.tolist())) == len(index)
        live = np.flatnonzero(cache.owner >= 0)
        assert cache.slot_of[cache.owner[live]].tolist() == live.tolist()
        assert (cache.slot_of >= 0).sum() == len(live)
    keep = np.array(sorted(data.draw(st.sets(st.integers(0, 29), min_size=17))))
    now = cache.only(g.only(keep), keep)
    for slot in np.flatnonzero(now.owner >= 0):
        np.testing.assert_allclose(now.buffer[slot], K[keep[now.owner[slot]]][keep], rtol=1e-9)
        assert now.slot_of[now.owner[slot]] == slot
    some = np.arange(min(len(keep), 16))
    np.testing.assert_allclose(now.buffer[now.slots(some)], K[np.ix_(keep[some], keep)], rtol=1e-9)


def test_the_least_recently_used_leave_first():
    calls = []

    class Counted(WholeGram):
        def rows(self, index, out, slot):
            calls.extend(index.tolist())
            super().rows(index, out, slot)

    cache = RowCache(Counted(np.eye(40)), np.empty(16 * 40 * 8, np.uint8))
    cache.slots(np.arange(16))
    cache.slots(np.arange(8))
    cache.slots(np.arange(20, 28))  # 8 … 15 leave
    calls.clear()
    cache.slots(np.arange(8))
    assert calls == []
    cache.slots(np.array([8]))
    assert calls == [8]


def test_kernels_that_are_none_are_named():
    X = rows(3)
    with pytest.raises(ModelError, match=r"shape \(rows of A, rows of B\) = \(3, 2\); it gave \(2, 3\)"):
        checked_values(lambda a, b: (a @ b.T).T, X, X[:2])
    for bad in (np.nan, np.inf, -np.inf, 1e150, -1e150):
        with pytest.raises(ModelError, match="not finite, or too large"):
            small_enough(np.array([[1.0, bad]]))
    assert small_enough(np.array([[-9e149]])).tolist() == [[-9e149]]
    assert sums_by_function(None, X, X[:0], np.zeros((2, 0))).tolist() == [[0.0, 0.0]] * 3


def test_sparse_rows_as_kernels_take_them():
    twice = sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0]), np.array([0, 3, 3])), shape=(2, 4))
    found = wide_csr(twice)
    assert found.toarray().tolist() == [[3.0, 3.0, 0.0, 0.0], [0.0] * 4]
    assert (found.indptr.dtype, found.indices.dtype, found.data.dtype) == (np.int64, np.int32, np.float64)
    assert row_squares(found).tolist() == [18.0, 0.0]
    other = SparseGram(SPECS["dot"], found).sums_at(sparse.csr_array(np.ones((3, 4))), np.array([[1.0, 2.0]]))
    assert other[:, 0] == pytest.approx([6.5 + 1.0] * 3)
    nobody = SparseGram(SPECS["dot"], found[:0])
    assert nobody.sums_at(found, np.zeros((1, 0))).tolist() == [[0.0], [0.0]]
    assert nobody.spread() == pytest.approx(np.sqrt(0.5))


def test_a_block_of_all_rows_is_in_the_order_asked():
    spec, X = SPECS["rbf"], rows()
    turned = np.arange(30)[::-1]
    block = DenseGram(spec, pack(X), 1).block(turned)
    np.testing.assert_allclose(block[:, :30], by_hand(spec, X, X)[np.ix_(turned, turned)], rtol=1e-9, atol=1e-12)


def test_the_spread_is_that_of_the_rows_in_play():
    K = np.diag([9.0, 0.04, 0.25])
    assert WholeGram(K).spread() == 3.0
    assert WholeGram(K, np.array([1, 2])).spread() == WholeGram(-K, np.array([1, 2])).spread() == 0.5
    assert WholeGram(K[:0, :0]).spread() == 0.0
    X = np.array([[0.1], [0.5], [0.2]])
    assert FunctionGram(lambda a, b: -a @ b.T, X).spread() == 0.5
    assert FunctionGram(lambda a, b: a @ b.T, X[:0]).spread() == 0.0
    for kind, top in (("dot", 1.25**0.5), ("polynomial", (2 * 1.25 - 1) ** 1.5), ("rbf", 1.0), ("sigmoid", 1.0)):
        shift = {"dot": 0.0, "polynomial": -1.0}.get(kind, 0.0)
        spec = KernelSpec(kind, 1.0 if kind == "dot" else 2.0, shift, 3)
        assert held.spread_of(spec, np.array([0.5, 1.25])) == pytest.approx(top)
    assert held.spread_of(KernelSpec("dot", 1.0, 0.25, 0), np.empty(0)) == 0.5


class Counted(WholeGram):
    """A matrix that notes which of its rows are computed."""

    def __init__(self, *what):
        super().__init__(*what)
        self.asked = []

    def rows(self, index, out, slot):
        self.asked += index.tolist()
        super().rows(index, out, slot)


@pytest.mark.parametrize(("bytes_more", "inside"), [(-1, False), (0, True), (1, True)])
def test_sixteen_rows_are_held_in_the_room_if_they_fit(bytes_more, inside):
    room = np.empty(16 * 40 * 8 + bytes_more, np.uint8)
    cache = RowCache(WholeGram(np.eye(40)), room)
    assert cache.buffer.shape == (16, 40)
    assert np.shares_memory(cache.buffer, room) == inside
    assert RowCache(WholeGram(np.eye(5)), room).buffer.shape == (5, 5)


def test_a_cache_holds_as_many_rows_as_its_room_has_and_goes_by_use():
    gram = Counted(np.arange(1600.0).reshape(40, 40))
    cache = RowCache(gram, np.empty(20 * 40 * 8, np.uint8))
    cache.slots(np.arange(18))
    cache.slots(np.array([0]))
    cache.slots(np.array([30, 31]))  # the last two places
    assert gram.asked == [*range(18), 30, 31]
    cache.slots(np.array([0, 39]))  # one of the first seventeen leaves, but not the one that was used again
    gram.asked.clear()
    cache.slots(np.array([0, 30, 31, 39]))
    assert gram.asked == []
    cache.slots(np.arange(20))  # sixteen of which are there
    assert len(gram.asked) == 3
    cache.slots(np.arange(20, 40))
    assert sorted(gram.asked[3:]) == [*range(20, 40)]
    cache.slots(np.empty(0, np.int64))
    assert len(gram.asked) == 23


def test_a_cache_of_fewer_rows_keeps_what_it_holds_and_what_was_used_last():
    K = np.arange(1600.0).reshape(40, 40)
    cache = RowCache(WholeGram(K), np.empty(20 * 40 * 8, np.uint8))
    cache.slots(np.arange(20))
    cache.slots(np.array([0, 2, 4]))
    keep = np.arange(0, 40, 2)
    fewer = Counted(K, keep)
    now = cache.only(fewer, keep)
    assert now.capacity == 20
    got = now.buffer[now.slots(np.arange(10))]  # rows 0, 2, … 18
    assert fewer.asked == []
    assert np.array_equal(got, K[np.ix_(keep[:10], keep)])
    now.slots(np.arange(10, 20))
    assert fewer.asked == [*range(10, 20)]

    tall = np.r_[0, 2, 4, np.arange(20, 40)]  # 23 rows of 23 numbers: there is room for all
    fewer = Counted(K, tall)
    assert cache.only(fewer, tall).capacity == 23
    narrow = RowCache(WholeGram(K), np.empty(17 * 40 * 8, np.uint8))
    narrow.slots(np.arange(17))
    narrow.slots(np.array([0, 2]))
    most = np.arange(39)
    fewer = Counted(K, most)
    now = narrow.only(fewer, most)
    now.slots(np.array([30, 31]))  # two of those used once leave
    fewer.asked.clear()
    now.slots(np.array([0, 2]))
    assert fewer.asked == []


def test_values_up_to_the_largest_of_their_precision():
    for dtype, fits, too_large in ((np.float64, 9.9e149, 1e150), (np.float32, 3.4e38, np.inf)):
        assert small_enough(np.array([[fits]], dtype)).item() == pytest.approx(fits)
        with pytest.raises(ModelError, match="too large for its precision"):
            small_enough(np.array([[1.0, too_large]], dtype))
    wide = checked_values(lambda a, b: (a @ b.T).tolist(), np.ones((2, 3)), np.ones((1, 3)), np.float32)
    assert (wide.dtype, wide.tolist()) == (np.float32, [[3.0], [3.0]])


def cells(n=14, d=9):
    X = np.random.default_rng(0).normal(size=(n, d)) * (np.random.default_rng(1).random((n, d)) < 0.3)
    X[3] = 0.0  # a row without cells
    return X


@pytest.mark.parametrize("at_once", [1, 1 << 20])
@pytest.mark.parametrize("spec", OF_SPARSE, ids=lambda s: s.kind)
def test_every_part_of_it(monkeypatch, spec, at_once):
    monkeypatch.setattr(held, "AT_ONCE", at_once)  # rows in parts of one, or all together
    X = cells()
    K, found = reference.kernel_rows(spec, X, X), SparseGram(spec, sparse.csr_array(X))
    index = np.array([5, 3, 0, 13])
    assert found.width == 14
    assert found.block(index)[:, :4] == pytest.approx(K[np.ix_(index, index)], abs=1e-12)
    out = np.zeros((6, 14))
    found.rows(index, out, np.array([4, 0, 5, 2]))
    assert out[[4, 0, 5, 2]] == pytest.approx(K[index], abs=1e-12)
    assert not out[[1, 3]].any()
    coef = np.array([1.0, -2.0, 0.5, 3.0])
    assert found.sums(np.arange(14), index, coef) == pytest.approx(K[:, index] @ coef, abs=1e-12)
    assert found.sums_at(sparse.csr_array(X[:5]), np.ones((2, 14))) == pytest.approx(
        np.repeat(K[:5].sum(axis=1)[:, None], 2, axis=1), abs=1e-12
    )
    empty = found.only(np.zeros(0, dtype=np.int64))
    assert not empty.sums_at(sparse.csr_array(X[:2]), np.zeros((1, 0))).any()


def test_squares_and_cells_that_are_stored_twice():
    X = cells()
    assert row_squares(wide_csr(sparse.csr_array(X))) == pytest.approx((X**2).sum(axis=1))
    assert row_squares(wide_csr(sparse.csr_array((2, 3)))).tolist() == [0.0, 0.0]
    twice = sparse.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 3))
    found = wide_csr(twice)
    assert (found.nnz, found.indptr.dtype, found.indices.dtype) == (2, np.int64, np.int32)
    assert row_squares(found).tolist() == [9.0, 16.0]
