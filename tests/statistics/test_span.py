"""The span of what was learned, and how far n numbers can spread in it: against numbers tried one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import NotLearned
from posteriori.kernels import naive
from posteriori.statistics import Moments, Span
from posteriori.statistics.span import DIGITS, LEAST

whole = st.lists(st.integers(-4, 4), min_size=1, max_size=7)


def of(x: list[float], weights: list[float] | None = None) -> Moments:
    w = None if weights is None else np.array(weights, dtype=float)
    y = np.zeros(len(x), dtype=np.uint8)
    return Moments.of(*naive.class_moments(np.array(x, dtype=float)[:, None], y, 1, w), weights is not None)


@given(whole, whole)
def test_the_span_of_parts_is_that_of_all(a: list[int], b: list[int]) -> None:
    both = (of(a) + of(b)).span
    assert (both.low.item(), both.high.item()) == (min(a + b), max(a + b))
    alone = (of(a) + Moments.zero(1, 1)).span
    assert (alone.low.item(), alone.high.item()) == (min(a), max(a))
    none = (of(a) - of(a)).span
    assert (none.low.item(), none.high.item()) == (np.inf, -np.inf)


@given(st.integers(1, 4), st.integers(0, 24))
def test_no_numbers_within_the_ends_spread_further(n: int, total: int) -> None:
    """All n numbers from {0, ¼, … 6} with a given sum: the largest M2 is the bound."""
    mean = total / n / 4
    span = Span(np.array([[0.0]]), np.array([[6.0]]))
    if mean > 6:
        return
    tried = [
        sum((v / 4 - mean) ** 2 for v in x)
        for x in itertools.combinations_with_replacement(range(25), n)
        if sum(x) == total
    ]
    bound = span.most(np.array([[float(n)]]), np.array([[mean]])).item()
    assert max(tried) <= bound + 1e-9
    assert max(tried) == pytest.approx(bound, abs=1e-9)
    loose = Span(span.low, span.high, weighted=True).most(np.array([[float(n)]]), np.array([[mean]])).item()
    assert bound <= loose + 1e-9
    assert loose == pytest.approx(n * mean * (6 - mean))


@given(whole, st.data())
def test_what_was_learned_is_never_a_stranger(x: list[int], data: st.DataObject) -> None:
    scale, base = 10.0 ** data.draw(st.integers(-140, 140)), data.draw(st.sampled_from([0.0, 3.0, 1e3]))
    values = [(v + base) * scale for v in x]
    gone = data.draw(st.lists(st.sampled_from(range(len(x))), unique=True, max_size=len(x) - 1))
    weights = data.draw(st.sampled_from([None, [0.5] * len(x), [float(1 + k % 3) for k in range(len(x))]]))
    less = None if weights is None else [weights[k] for k in gone]
    if not gone:
        return
    try:
        of(values, weights) - of([values[k] for k in gone], less)
    except NotLearned:
        raise
    except ValueError as lost:
        if "fit again" not in str(lost):
            raise


@pytest.mark.parametrize("Model", [po.GaussianNB, po.GaussianBayes, lambda: po.NaiveBayes(density="gaussian")])
@given(st.integers(0, 2**32 - 1))
def test_a_stranger_outside_the_span_of_its_class_is_refused(Model, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 30)), int(rng.integers(1, 4))
    X, y = rng.normal(size=(n, d)), np.arange(n) % 2
    model = Model().fit(X, y)
    row, c, j = X[rng.integers(n)].copy(), int(rng.integers(2)), int(rng.integers(d))
    own = X[y == c, j]
    row[j] = own.max() + 10.0 ** rng.integers(-9, 3) if rng.random() < 0.5 else own.min() - 10.0 ** rng.integers(-9, 3)
    with pytest.raises(NotLearned, match="never"):
        model.forget(row[None], [c])
    assert model.class_count_.sum() == n


@pytest.mark.parametrize("Model", [po.GaussianNB, po.GaussianBayes, lambda: po.NaiveBayes(density="gaussian")])
def test_the_rows_that_stay_could_not_spread_so_far(Model) -> None:
    model = Model().fit([[0.0], [1.0], [2.0], [3.0], [9.0], [8.0]], [0, 0, 0, 0, 1, 1])
    with pytest.raises(NotLearned, match="variance"):
        model.forget([[1.5]], [0])  # 0, 1.5 and 3 would have M2 4.5, not 5
    weighted = Model().fit([[0.0], [1.0], [5.0], [7.0], [9.0]], [0, 0, 0, 1, 1], sample_weight=[0.5, 0.5, 1, 1, 1])
    assert weighted.forget([[5.0]], [0], sample_weight=[1.0]).class_count_.tolist() == [1.0, 2.0]  # one, of two halves


def test_rows_of_no_weight_are_not_in_the_span() -> None:
    span = of([1.0, 50.0, 2.0], [1.0, 0.0, 2.0]).span
    assert (span.low.item(), span.high.item(), span.weighted) == (1.0, 2.0, True)


def test_a_matrix_that_is_no_covariance_is_refused() -> None:
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [1.5, 1.5], [0.3, 0.3]])
    model = po.GaussianBayes(covariance="diag").fit(X, np.zeros(6))
    with pytest.raises(NotLearned, match="variance"):
        model.forget([[0.4, 2.6]], [0])  # each column could have had it, the line of both could not


def one(low: float, high: float, weighted: bool = False) -> Span:
    return Span(np.array([[low]]), np.array([[high]]), weighted)


@pytest.mark.parametrize("weighted", list(itertools.product([False, True], repeat=2)))
def test_a_span_is_weighted_if_any_part_is(weighted) -> None:
    a, b = one(0.0, 9.0, weighted[0]), one(1.0, 5.0, weighted[1])
    for found in (a + b, a.without(b, np.array([[2.0]])), Span.beside([a, b])):
        assert found.weighted == any(weighted)
        assert (found.low[0, 0], found.high[0, 0]) == (0.0, 9.0)
    assert Span.beside([a, b]).low.tolist() == [[0.0, 1.0]]
    assert Span.beside([a, b]).high.tolist() == [[9.0, 5.0]]
    assert Span.beside([a, None]) is None
    for found in (a.taken(np.array([0])), a.columns([0]), a.among(np.array([1]), 2)):
        assert found.weighted == a.weighted


@pytest.mark.parametrize(("less", "value"), [((-1.0, 4.0), -1), ((3.0, 12.0), 12), ((-3.0, 12.0), -3)])
def test_what_lies_outside_is_named_with_its_place(less, value) -> None:
    whole = Span(np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[8.0, 9.0], [7.0, 11.0]]))
    low, high = whole.low.copy(), whole.high.copy()
    low[1, 1], high[1, 1] = less
    said = f"attribute 1 of class 1 was never {value}, it lay between 3 and 11; nothing was changed"
    with pytest.raises(NotLearned, match=said):
        whole.without(Span(low, high), np.ones((2, 2)))
    left = whole.without(whole, np.array([[0.0, 1.0], [0.5, 0.0]]))  # its ends lie within
    assert left.low.tolist() == [[np.inf, 1.0], [2.0, np.inf]]
    assert left.high.tolist() == [[-np.inf, 9.0], [7.0, -np.inf]]


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_rounding_alone_makes_no_stranger(share) -> None:
    """A mean may be off by DIGITS of the greatest number, more if rows have gone, and M2 by as much as that tells."""
    span, n, gone, nothing = one(-5.0, -1.0), np.array([[2.0]]), np.array([[6.0]]), np.zeros((1, 1))
    off = DIGITS * 5.0 * (1 + 6 / 2)
    for mean in (-1.0 + share * off, -5.0 - share * off):
        assert span.too_wide(n, np.array([[mean]]), np.array([[-1.0]]), gone, nothing).item() == (share > 1)
    slack = 2 * 2.0 * (4.0 + off) * off
    for error in (0.0, 3.0 * slack):
        m2 = np.array([[8.0 + share * (slack + error)]])  # 8 is the greatest of two numbers, one at each end
        assert span.too_wide(n, np.array([[-3.0]]), m2, gone, np.array([[error]])).item() == (share > 1)
    assert not span.too_wide(nothing, np.array([[99.0]]), np.array([[99.0]]), gone, nothing).item()  # no rows
    point, tiny = one(0.0, 0.0), np.array([[2 * LEAST * (2.0 if share > 1 else 1.0)]])
    assert point.too_wide(n, nothing, tiny, gone, nothing).item() == (share > 1)
