"""Scores of values and numbers: the likelihood of the fitted network less its price, however they are asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadParameter
from posteriori.network.mixed_scores import MixedScored, _left
from posteriori.structure.scores import Scored

SIZES, NAMES = (2, 3, 2), ("a", "b", "c", "x", "y", "z")  # three columns of values, three of numbers


def table(seed: int, n: int, missing: float = 0.0, weighted: bool = False) -> tuple[pd.DataFrame, MixedScored]:
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, s, n) for s in SIZES])
    x = rng.normal(size=(n, 3)) * [1, 30, 0.01] + [0, 500, 1]
    x[:, 1] += 20 * codes[0] + 9 * x[:, 0]
    x[:, 2] += 0.02 * x[:, 0] * (codes[1] == 1)
    frame = pd.DataFrame({**dict(zip("abc", codes)), **dict(zip("xyz", x.T))})
    x[rng.random(x.shape) < missing] = np.nan
    holes = rng.random(codes.shape) < missing
    codes = np.where(holes, np.array(SIZES)[:, None], codes).astype(np.uint8)
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    return frame, MixedScored(Scored(codes, SIZES, "bic", weights=weights), x)


def some_parents(rng: np.random.Generator) -> list[list[int]]:
    """A random structure in which no number is the parent of a value."""
    return [[u for u in range(v) if rng.random() < 0.5 and (u < 3 or v >= 3)] for v in range(6)]


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), n=st.sampled_from([60, 200]))
def test_a_structure_is_worth_what_its_network_is(seed, n):
    frame, scored = table(seed, n)
    parents = some_parents(np.random.default_rng(seed))
    dag = po.Dag(NAMES, [(NAMES[u], NAMES[v]) for v, ps in enumerate(parents) for u in ps])
    states = {k: range(s) for k, s in zip("abc", SIZES)}
    net = po.HybridNet.fit(dag, frame, smoothing=0, states=states)
    assert scored.whole(parents) == pytest.approx(net.bic(frame), rel=1e-5, abs=1e-3)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), missing=st.sampled_from([0.0, 0.2]), weighted=st.booleans())
def test_a_toggle_is_the_other_family(seed, missing, weighted):
    parents = some_parents(np.random.default_rng(seed))
    _, scored = table(seed, 80, missing, weighted)
    for v in range(6):
        others = [u for u in range(6) if u != v and (u < 3 or v >= 3)]
        found = scored.toggles(v, parents[v], others)
        _, again = table(seed, 80, missing, weighted)
        want = [again.family(v, parents[v]), *(again.family(v, sorted({*parents[v]} ^ {u})) for u in others)]
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-4)
        np.testing.assert_array_equal(scored.toggles(v, parents[v], others[::-1])[1:], found[:0:-1])  # and stays it


def test_weights_are_rows_and_arrows_between_numbers_turn_free():
    rng = np.random.default_rng(0)
    codes, x = rng.integers(0, 2, (1, 40)).astype(np.uint8), rng.normal(size=(40, 2))
    w = rng.integers(1, 4, 40)
    heavy = MixedScored(Scored(codes, (2,), "aic", weights=w.astype(float)), x)
    many = MixedScored(Scored(np.repeat(codes, w, axis=1), (2,), "aic"), np.repeat(x, w, axis=0))
    for parents in ([[], [], []], [[], [0], [0, 1]], [[], [0, 2], [0]]):
        assert heavy.whole(parents) == pytest.approx(many.whole(parents), rel=1e-9)
    assert many.whole([[], [0], [0, 1]]) == pytest.approx(many.whole([[], [0, 2], [0]]), rel=1e-9)


def test_a_number_told_to_the_last_digit_is_no_error():
    x = np.arange(30.0)
    scored = MixedScored(Scored(np.zeros((1, 30), np.uint8), (2,), "bic"), np.stack([x, 2 * x + 1, x, -x], axis=1))
    found = scored.toggles(2, [1], [3, 4])
    assert np.isfinite(found).all()
    assert scored.toggles(2, [], [1])[1] > scored.family(2, []) + 100
    with pytest.raises(BadParameter, match="numbers are scored by one of"):
        MixedScored(Scored(np.zeros((1, 3), np.uint8), (2,), "bdeu"), x[:3, None])


@given(st.integers(0, 1000), st.integers(0, 2), st.integers(0, 2))
def test_what_parents_leave_by_least_squares(seed, parents, more):
    """S_vv less what C tells, then less what C and one more do; the lines to v and to the others; their slopes."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(3, 30, 5)) @ rng.normal(size=(5, 5)) + rng.normal(size=(3, 1, 5))
    Z = Z - Z.mean(axis=1, keepdims=True)
    S = np.einsum("drk,drl->dkl", Z, Z)
    columns = rng.permutation(5).tolist()
    v, C, added = columns[0], columns[1 : 1 + parents], columns[1 + parents : 1 + parents + more]
    left, line, slope = _left(S, v, C, added)
    assert (left.shape, line.shape, slope.shape) == ((3, 1 + more), (3, parents, 1 + more), (3, more))
    for d in range(3):
        for k, beside in enumerate([C, *([*C, u] for u in added)]):
            design = Z[d][:, beside]
            beta = np.linalg.lstsq(design, Z[d][:, v], rcond=None)[0]
            assert left[d, k] == pytest.approx(((Z[d][:, v] - design @ beta) ** 2).sum(), rel=1e-6)
            if k:
                assert slope[d, k - 1] == pytest.approx(beta[-1], rel=1e-6, abs=1e-8)
        for k, u in enumerate([v, *added]):
            assert line[d, :, k] == pytest.approx(
                np.linalg.lstsq(Z[d][:, C], Z[d][:, u], rcond=None)[0], rel=1e-6, abs=1e-8
            )


@pytest.mark.parametrize("score", ["bic", "aic", "loglik", "mdl"])
def test_the_price_of_a_number_is_that_of_every_configuration(score):
    """q(k + 2) parameters, q of all configurations of its parents with values, whether rows have them or not."""
    rng = np.random.default_rng(3)
    codes = np.stack([rng.integers(0, 2, 50), rng.integers(0, 2, 50)]).astype(
        np.uint8
    )  # the second never has its third
    x = rng.normal(size=(50, 2))
    found, free = (MixedScored(Scored(codes, (2, 3), s), x) for s in (score, "loglik"))
    price = {"bic": 0.5 * np.log(50), "mdl": 0.5 * np.log(50), "aic": 1.0, "loglik": 0.0}[score]
    assert found.price == pytest.approx(price)
    for parents, q, k in (([], 1, 0), ([0], 2, 0), ([1], 3, 0), ([0, 1], 6, 0), ([3], 1, 1), ([1, 3], 3, 1)):
        assert free.family(2, parents) - found.family(2, parents) == pytest.approx(price * q * (k + 2))
    assert found.whole([[], [0], [1, 3], []]) == pytest.approx(
        found.family(0, []) + found.family(1, [0]) + found.family(2, [1, 3]) + found.family(3, [])
    )
    assert (found.first, found.d, found.m, found.complete) == (2, 4, 50, False)


def test_a_number_alone_is_worth_its_normal():
    """−½ n (ln 2πs² + 1) in the units of the column, of the rows that have it, by weight."""
    x = np.array([[1.0, np.nan], [4.0, 7.0], [np.nan, 7.0], [6.0, 7.0], [9.0, np.nan]])
    found = MixedScored(Scored(np.zeros((1, 5), np.uint8), (1,), "loglik"), np.column_stack([x, np.full(5, np.nan)]))
    mine = np.array([1.0, 4.0, 6.0, 9.0])
    assert found.family(1, []) == pytest.approx(-0.5 * 4 * (np.log(2 * np.pi * mine.var()) + 1))
    assert np.isfinite(found.family(2, []))  # one value: as narrow as the rest of its digits
    assert found.x[2, 0] == 0.0  # the mean, where a parent is missing
    assert found.scale.tolist() == [mine.std(), 1.0, 1.0]
    heavy = MixedScored(
        Scored(np.zeros((1, 4), np.uint8), (1,), "loglik", weights=np.array([1.0, 2.0, 1.0, 1.0])), mine[:, None]
    )
    many = np.repeat(mine, [1, 2, 1, 1])
    assert heavy.family(1, []) == pytest.approx(-0.5 * 5 * (np.log(2 * np.pi * many.var()) + 1))
