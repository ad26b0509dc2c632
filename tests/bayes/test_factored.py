"""A row is a batch of one, to the last bit, whatever is missing from it or new in it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import posteriori as po
from posteriori.bayes.factored import RowScorer
from posteriori.errors import ModelError
from posteriori.table.encode import Seen

NEW, GONE = "never seen", None


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    columns = [rng.choice(list("abcde")[: k + 2], 60) for k in range(3)]
    X = np.column_stack([*columns, rng.normal(size=60).round(2)]).astype(object)
    X[:, 3] = X[:, 3].astype(float)
    return po.NaiveBayes().fit(X, rng.choice(["x", "y", "z"], 60))


@pytest.mark.filterwarnings("ignore")
def test_one_row_is_a_batch_of_one(model):
    rows = [[*words, x] for words in itertools.product(["a", NEW, GONE], repeat=3) for x in (0.25, -3.0)]
    table = np.array(rows, dtype=object)
    together = model.predict_log_proba(table)
    for i, row in enumerate(rows):
        alone = model.predict_log_proba(np.array([row], dtype=object))
        assert np.array_equal(alone[0], together[i]), row


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("unseen", ["missing", "mass"])
def test_one_dict_and_one_array_of_codes_are_batches_of_one(unseen):
    """The forms that take the short way: a dict, and an array of numbers; a new value in any column."""
    rng = np.random.default_rng(1)
    codes, y = rng.integers(0, 4, (60, 4)), rng.integers(0, 3, 60)
    names = [f"x{j}" for j in range(4)]
    model = po.NaiveBayes(kinds="categorical", unseen=unseen).fit(codes, y)
    named = po.NaiveBayes(kinds="categorical", unseen=unseen).fit(dict(zip(names, codes.T)), y)
    rows = np.array(list(itertools.product([0, 3, 9], repeat=4)))  # 9 is new
    together = model.predict_log_proba(rows)
    assert np.array_equal(together, named.predict_log_proba(dict(zip(names, rows.T))))
    for row, expected in zip(rows, together):
        assert np.array_equal(model.predict_log_proba(row[None])[0], expected), row
        assert model.n_unseen_ == (row == 9).sum()
        assert np.array_equal(named.predict_log_proba(dict(zip(names, row.tolist())))[0], expected), row


@pytest.mark.parametrize("density", [["kernel"], np.array(["kernel", "binned"]), 3, None, {}])
def test_a_density_is_a_word(density):
    with pytest.raises(ModelError, match="a: a density is one of"):
        po.NaiveBayes(density={"a": density}).fit({"a": [1.0, 2.0, 3.5]}, [0, 1, 0])


def test_a_row_takes_the_short_way_under_every_density_that_it_knows():
    rng = np.random.default_rng(0)
    X = {"word": rng.choice(["u", "v"], 60), "bell": rng.normal(size=60), "curve": rng.normal(size=60) ** 3}
    density = {"bell": "gaussian", "curve": "kernel"}
    model = po.NaiveBayes(density=density).fit(X, np.arange(60) % 2)
    scorer = RowScorer.of(model.factored_, model.schema_)
    assert scorer is not None
    row = {name: cells[:1].tolist()[0] for name, cells in X.items()}
    assert np.array_equal(scorer.log_joint(row, Seen()), model.predict_joint_log_proba(row))
    wide = po.NaiveBayes(kinds="categorical").fit(rng.integers(0, 2, (20, 201)), np.arange(20) % 2)
    assert RowScorer.of(wide.factored_, wide.schema_) is None
