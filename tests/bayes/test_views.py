"""What a naive Bayes model shows of itself."""

from __future__ import annotations

import pytest
from scipy.stats import beta

import posteriori as po

MODEL = po.NaiveBayes(kinds="categorical", smoothing=0.5).fit([["a"], ["a"], ["b"], ["c"]], [0, 0, 0, 1])


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 1.5])
def test_a_level_lies_between_none_and_all(level):
    with pytest.raises(ValueError, match="level"):
        MODEL.credible_intervals(level)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_are_quantiles_of_the_beta_margins(level):
    """θ ~ Beta(N + λ, N_rest + (S − 1)λ)."""
    told = MODEL.credible_intervals(level)
    told = told[told["column"] == "x0"].set_index(["value", "class"])
    for (value, c), n, rest in ((("a", 0), 2, 1), (("b", 0), 1, 2), (("a", 1), 0, 1), (("c", 1), 1, 0)):
        posterior = beta(n + 0.5, rest + 2 * 0.5)
        row = told.loc[(value, c)]
        tail = (1 - level) / 2
        assert [row["mean"], row["low"], row["high"]] == pytest.approx(
            [posterior.mean(), *posterior.ppf([tail, 1 - tail])]
        )


@pytest.mark.parametrize("smoothing", [0.0, 0.5, 1.0])
def test_the_mean_of_an_interval_is_the_model_s_own_probability(smoothing):
    """Also in a class that has no cell of a column, where every value is alike."""
    X = {"sky": ["blue", "grey", None, None], "wind": ["weak", "weak", "strong", "weak"]}
    model = po.NaiveBayes(smoothing=smoothing, prior="smoothed").fit(X, [0, 0, 1, 1])
    tables = model.tables_
    for row in model.credible_intervals(0.5).itertuples(index=False):
        if row[0] in X:
            assert row.mean == pytest.approx(tables[row.column].loc[row.value, row[2]])
            assert row.low <= row.mean <= row.high
