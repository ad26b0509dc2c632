"""A row alone has the bits it has among others: for one row the look-ups are made another way, the sums are the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.bayes.factored import RowScorer


@st.composite
def mixed(draw: st.DrawFn) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """(training rows, labels, rows to ask: missing cells and values that training did not have among them)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    words, numbers, k = draw(st.integers(0, 4)), draw(st.integers(0, 9)), draw(st.integers(1, 5))
    words = max(words, 1 - numbers)

    def table(n: int, letters: str) -> pd.DataFrame:
        columns: dict[str, object] = {f"w{j}": rng.choice(list(letters), n).astype(object) for j in range(words)}
        columns |= {f"n{j}": rng.normal(size=n) * 10.0 ** rng.integers(-3, 4) for j in range(numbers)}
        frame = pd.DataFrame(columns)
        return frame.mask(rng.random(frame.shape) < 0.1)

    y = rng.integers(0, k, 30)
    return table(30, "abc"), y, table(12, "abcd")


DENSITIES = ["auto", "gaussian", "kernel", "binned"]


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("unseen", ["missing", "mass"])
@given(data=mixed())
def test_a_dict_is_its_row_in_the_block(unseen: str, density: str, data) -> None:
    X, y, asked = data
    model = po.NaiveBayes(density=density, unseen=unseen).fit(X, y)
    assert model._cached("row", lambda: RowScorer.of(model.factored_, model.schema_)) is not None
    block = model.predict_joint_log_proba(asked)
    met = np.zeros(2, dtype=int)
    for r in range(len(asked)):
        alone = model.predict_joint_log_proba(asked.iloc[r].to_dict())
        met += model.n_missing_, model.n_unseen_
        assert alone.tobytes() == block[r : r + 1].tobytes()
    model.predict_joint_log_proba(asked)
    assert met.tolist() == [model.n_missing_, model.n_unseen_]


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("kinds", ["categorical", None])
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 6), d=st.integers(1, 12))
def test_an_array_of_one_row_is_its_row_in_the_block(
    kinds: str | None, density: str, seed: int, k: int, d: int
) -> None:
    rng = np.random.default_rng(seed)
    draw = (lambda n: rng.integers(0, 5, (n, d))) if kinds else (lambda n: rng.normal(size=(n, d)))
    model = po.NaiveBayes(kinds=kinds, density=density).fit(draw(40), rng.integers(0, k, 40))
    asked = draw(9)
    block = model.predict_joint_log_proba(asked)
    for r in range(9):
        assert model.predict_joint_log_proba(asked[r : r + 1]).tobytes() == block[r : r + 1].tobytes()
