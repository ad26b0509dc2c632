"""What a naive Bayes model shows of itself."""

from __future__ import annotations

import numpy as np
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


def test_tables_are_named_by_their_columns_and_classes():
    X = {"class": ["u", "v", "u"], "x": [1.0, 2.0, 4.0]}
    model = po.NaiveBayes(density="gaussian").fit(X, ["a", "b", "b"])
    tables = model.tables_
    assert list(tables) == ["(class)", "class", "x"]  # a column may be called so
    assert tables["(class)"]["P"].to_dict() == pytest.approx({"a": 2 / 5, "b": 3 / 5})
    assert tables["class"].index.tolist() == ["u", "v"]
    assert tables["class"].columns.tolist() == ["a", "b"]
    assert tables["class"].loc["u"].tolist() == pytest.approx([2 / 3, 1 / 2])
    assert tables["x"].loc["mean"].tolist() == pytest.approx([1.0, 3.0])
    assert list(po.NaiveBayes().fit({"c": ["u", "v"]}, [0, 1]).tables_) == ["class", "c"]
    told = model.credible_intervals(0.9)
    assert told["column"].tolist() == ["(class)"] * 2 + ["class"] * 4


def test_the_most_telling_column_comes_first():
    y = np.arange(40) % 2
    X = {"no": np.arange(40) // 2 % 2, "yes": y, "some": np.where(np.arange(40) < 30, y, 0)}
    plain = po.NaiveBayes(kinds="categorical").fit(X, y).summary()
    assert plain["column"].tolist() == ["yes", "some", "no"]
    assert plain.columns.tolist() == ["column", "kind", "values", "information"]
    assert plain["values"].tolist() == [2, 2, 2]
    numbers = po.NaiveBayes(density={"x": "kernel"}, kinds={"c": "categorical"}).fit(
        {"c": X["no"], "x": y + np.linspace(0, 1, 40)}, y
    )
    told = numbers.summary()
    assert told.columns.tolist() == ["column", "kind", "density", "values", "information"]
    assert told.set_index("column")["density"].to_dict() == {"x": "kernel", "c": ""}


def test_intervals_without_smoothing_reach_nothing_and_all():
    told = po.NaiveBayes(kinds="categorical", smoothing=0).fit([["a"], ["a"], ["b"]], [0, 0, 1]).credible_intervals(0.5)
    told = told[told["column"] == "x0"].set_index(["value", "class"])
    assert told.loc[("a", 0), ["mean", "low", "high"]].tolist() == pytest.approx([1.0, 1.0, 1.0])
    assert told.loc[("a", 1), ["mean", "low", "high"]].tolist() == pytest.approx([0.0, 0.0, 0.0])
    of_class = po.NaiveBayes(kinds="categorical", smoothing=0).fit([["a"], ["a"], ["b"]], [0, 0, 1])
    rows = of_class.credible_intervals(0.5)
    rows = rows[rows["column"] == "class"]
    assert rows["value"].tolist() == [0, 1]
    assert rows["class"].isna().all()
    assert rows["high"].tolist() == pytest.approx([beta(2, 1).ppf(0.75), beta(1, 2).ppf(0.75)])


def test_samples_are_tables_of_the_kind_that_came():
    named = po.NaiveBayes().fit({"x": [1.5, 2.5, 0.5, 3.0], "c": ["u", "v", "u", "v"]}, [0, 1, 0, 1])
    frame, _ = named.sample(5, random_state=0)
    assert frame.columns.tolist() == ["x", "c"]
    assert frame["x"].dtype.kind == "f"
    floats, _ = po.NaiveBayes(density="gaussian").fit(np.array([[1.5, 2], [2, 1]]), [0, 1]).sample(5, random_state=0)
    assert (floats.dtype, floats.shape) == (np.float64, (5, 2))
    ints, _ = po.NaiveBayes(kinds="categorical").fit(np.array([[1, 2], [2, 1]]), [0, 1]).sample(5, random_state=0)
    assert ints.dtype.kind == "i"
    assert set(ints.ravel()) == {1, 2}
    mixed, _ = (
        po.NaiveBayes(kinds={"x0": "categorical"}, density="gaussian")
        .fit(np.array([[1, 2.5], [2, 1]]), [0, 1])
        .sample(5, random_state=0)
    )
    assert mixed.dtype == np.float64
    words, _ = po.NaiveBayes().fit(np.array([["a", 1], ["b", 2]], dtype=object), [0, 1]).sample(5, random_state=0)
    assert words.dtype == object
