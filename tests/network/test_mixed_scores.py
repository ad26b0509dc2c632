"""Scores of values and numbers: the likelihood of the fitted network less its price, however they are asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadParameter
from posteriori.network.mixed_scores import MixedScored
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
