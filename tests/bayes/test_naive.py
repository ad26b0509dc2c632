"""NaiveBayes at its edges: every odd input has a documented result or a named error, and NaN never comes out."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import beta, norm, poisson
from sklearn import naive_bayes as peer
from sklearn.base import clone

import posteriori as po
from posteriori.errors import (
    BadValue,
    CountOverflow,
    ImpossibleEvidence,
    MemoryBudgetError,
    ModelError,
    StatisticsError,
    UnknownValue,
)
from posteriori.statistics.counts import Counts

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = RNG.integers(0, 3, 80)
MODEL = po.NaiveBayes(kinds="categorical", smoothing=0.5).fit([["a"], ["a"], ["b"], ["c"]], [0, 0, 0, 1])


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (np.where(Y == 0, np.nan, Y), "NaN"),
        (np.where(Y == 0, np.inf, Y), "infinity"),
        (np.array([None, *(["a"] * 79)], dtype=object), "NaN"),
        (X[:, 0], "Unknown label type"),
        (Y[:-1], "79 labels"),
        (None, "y is None"),
    ],
)
def test_bad_labels(y, match):
    with pytest.raises(ValueError, match=match):
        po.NaiveBayes().fit(X, y)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_bad_weights(bad):
    w = np.ones(80)
    w[3] = bad
    with pytest.raises(BadValue, match="row 3"):
        po.NaiveBayes().fit(X, Y, sample_weight=w)
    with pytest.raises(BadValue, match="all sample weights are zero"):
        po.NaiveBayes().fit(X, Y, sample_weight=np.zeros(80))


def test_weight_zero_is_no_row():
    w = (np.arange(80) % 4 > 0).astype(float)
    C = RNG.integers(0, 5, (80, 3))
    for data, kinds in ((X, None), (C, "categorical")):
        a = po.NaiveBayes(kinds=kinds).fit(data, Y, sample_weight=w)
        b = po.NaiveBayes(kinds=kinds).fit(data[w > 0], Y[w > 0])
        np.testing.assert_allclose(a.predict_proba(data), b.predict_proba(data), rtol=1e-12)


def test_one_class_one_row_and_a_declared_empty_class():
    lone = po.NaiveBayes().fit(X[:1], ["only"])
    assert lone.predict_proba(X[:2]).tolist() == [[1.0], [1.0]]
    model = po.NaiveBayes(kinds="categorical").partial_fit([["a"], ["b"]], ["x", "y"], classes=["x", "y", "z"])
    p = model.predict_proba([["a"]])
    assert p.shape == (1, 3)
    assert np.isfinite(p).all()
    assert np.exp(model.factored_.log_prior) == pytest.approx([2 / 5, 2 / 5, 1 / 5])
    assert model.tables_["x0"]["z"].tolist() == [0.5, 0.5]  # no row: every value alike
    with pytest.raises(UnknownValue, match="initial classes"):
        po.NaiveBayes().partial_fit(X[:1], ["w"], classes=["x", "y"])


def test_zero_variance_and_all_missing_columns():
    data = np.c_[X, np.full(80, 7.0), np.full(80, np.nan)]
    model, plain = po.NaiveBayes().fit(data, Y), po.NaiveBayes().fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(data), plain.predict_proba(X), rtol=1e-9)
    assert not np.isnan(model.predict_proba(np.full((1, 5), np.nan))).any()
    assert np.isfinite(model.summary()["information"]).all()
    blank = pd.DataFrame({"c": pd.Series([None] * 4, dtype=object), "v": [1.0, 2, 3, 4]})
    model = po.NaiveBayes().fit(blank, [0, 0, 1, 1])
    assert model.schema_["c"].values == ()
    assert np.isfinite(model.predict_proba(blank)).all()
    assert model.predict_proba(blank.assign(c="new")) == pytest.approx(model.predict_proba(blank))


def test_maximum_likelihood_and_impossible_rows():
    model = po.NaiveBayes(smoothing=0, kinds="categorical").fit([["a", "u"], ["b", "v"]], [0, 1])
    assert model.predict_joint_log_proba([["a", "u"]]).tolist() == [[np.log(0.5), -np.inf]]
    assert model.predict_proba([["a", "u"]]).tolist() == [[1.0, 0.0]]
    with pytest.raises(ImpossibleEvidence, match="row 1"):
        model.predict_proba([["a", "u"], ["a", "v"]])
    assert model.score_samples([["a", "v"]]).tolist() == [-np.inf]


def test_unseen_values():
    cells = [["a"], ["a"], ["b"], ["b"], ["b"]]
    y = [0, 0, 0, 1, 1]
    quiet = po.NaiveBayes(kinds="categorical").fit(cells, y)
    assert quiet.predict_joint_log_proba([["zz"], [None]])[0] == pytest.approx(quiet.factored_.log_prior)
    assert (quiet.n_unseen_, quiet.n_missing_) == (1, 1)
    loud = po.NaiveBayes(kinds="categorical", unseen="mass").fit(cells, y)
    found = np.exp(loud.predict_joint_log_proba([["zz"]])[0] - loud.factored_.log_prior)
    assert found == pytest.approx([1 / (3 + 3), 1 / (2 + 3)])
    np.testing.assert_array_equal(loud.predict_proba([["a"]]), quiet.predict_proba([["a"]]))  # seen values unchanged
    assert loud.predict_joint_log_proba([[None]])[0] == pytest.approx(loud.factored_.log_prior)
    words = po.NaiveBayes(kinds={"t": "text"}).fit({"t": ["cash now", "see you"]}, [1, 0])
    words.predict({"t": ["cash cash bitcoin", None]})
    assert (words.n_unseen_, words.n_missing_) == (1, 1)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_unseen_integers_of_a_matrix(dtype):
    C = RNG.integers(0, 3, (40, 3)).astype(dtype)
    y = RNG.integers(0, 2, 40)
    model = po.NaiveBayes(kinds="categorical").fit(C, y)
    odd = C[:5].copy()
    odd[0, 1], odd[3, 2] = 9, 9
    blank = odd.astype(object)
    blank[0, 1] = blank[3, 2] = None
    np.testing.assert_allclose(model.predict_proba(odd), model.predict_proba(blank), rtol=1e-12)
    model.predict(odd)
    assert (model.n_unseen_, model.n_missing_) == (2, 0)


def test_one_row_is_a_batch_of_one():
    frame = pd.DataFrame({"c": RNG.choice(["a", "b", "c"], 80), "v": X[:, 0], "w": X[:, 1]})
    frame.loc[3, "c"] = None
    frame.loc[4, "v"] = np.nan
    model = po.NaiveBayes().fit(frame, Y)
    whole = model.predict_joint_log_proba(frame)
    for i in range(12):
        row = {k: (None if v != v else v) for k, v in frame.iloc[i].items()}
        np.testing.assert_allclose(model.predict_joint_log_proba(row)[0], whole[i], rtol=1e-12)
        np.testing.assert_allclose(model.predict_joint_log_proba(frame.iloc[[i]])[0], whole[i], rtol=1e-12)
    arrays = po.NaiveBayes().fit(X, Y)
    before = arrays.predict_joint_log_proba(X)
    for i in range(5):
        np.testing.assert_allclose(arrays.predict_joint_log_proba(X[i : i + 1])[0], before[i], rtol=1e-12)
    np.testing.assert_array_equal(arrays.predict_joint_log_proba(X), before)  # a row's answer leaves the model alone
    with pytest.raises(ValueError, match="missing columns: 'w'"):
        model.predict({"c": "a", "v": 1.0})
    blank = {"c": None, "v": None, "w": None}
    for _ in range(12):
        assert model.predict_proba(blank)[0] == pytest.approx(np.exp(model.factored_.log_prior))


def test_agrees_with_scikit_learn_where_both_are_defined():
    C = RNG.integers(0, 4, (80, 5))
    ours = po.NaiveBayes(kinds="categorical", prior="empirical").fit(C, Y)
    np.testing.assert_allclose(ours.predict_proba(C), peer.CategoricalNB().fit(C, Y).predict_proba(C), rtol=1e-10)
    B = (C > 1).astype(int)
    ours = po.NaiveBayes(kinds="binary", prior="empirical").fit(sp.csr_matrix(B), Y)
    np.testing.assert_allclose(
        ours.predict_proba(sp.csr_matrix(B)), peer.BernoulliNB().fit(B, Y).predict_proba(B), rtol=1e-10
    )
    ours = po.NaiveBayes(kinds="count", prior="empirical").fit(C, Y)
    np.testing.assert_allclose(ours.predict_proba(C), peer.MultinomialNB().fit(C, Y).predict_proba(C), rtol=1e-10)
    ours = po.NaiveBayes(prior="empirical", density="gaussian").fit(X, Y)
    np.testing.assert_allclose(
        ours.predict_proba(X), peer.GaussianNB(var_smoothing=0).fit(X, Y).predict_proba(X), rtol=1e-10
    )


def test_poisson_and_kernel_by_hand():
    hits = np.array([0, 2, 3, 1, 7, 9, 8])
    y = np.array([0, 0, 0, 0, 1, 1, 1])
    model = po.NaiveBayes(smoothing=0, kinds="count", density="poisson").fit(hits[:, None], y)
    expected = np.array([poisson.logpmf(4, 1.5), poisson.logpmf(4, 8.0)])
    assert model._log_parts(np.array([[4]]))[1][0, 0] == pytest.approx(expected)
    v = np.array([0.0, 1.0, 1.5, 4.0, 5.0])
    k = np.array([0, 0, 0, 1, 1])
    model = po.NaiveBayes(density="kernel").fit(v[:, None], k)
    h = model.factored_.densities[0].column(0).width
    for c in (0, 1):
        own = v[k == c]
        base = norm.pdf(0.7, v.mean(), v.std())  # one row of the column over all classes
        by_hand = (norm.pdf(0.7, own, h[c]).sum() + base) / (len(own) + 1)
        assert np.exp(model._log_parts(np.array([[0.7]]))[1][0, 0, c]) == pytest.approx(by_hand)


def test_explain_adds_up_to_the_log_odds():
    frame = pd.DataFrame({"c": RNG.choice(["a", "b"], 80), "v": X[:, 0]})
    model = po.NaiveBayes().fit(frame, np.array(["p", "q", "r"])[Y])
    why = model.explain(frame.iloc[[0]], target="p", against="r").frame()
    log_p = model.predict_log_proba(frame.iloc[[0]])[0]
    assert why["log_odds"].sum() == pytest.approx(log_p[0] - log_p[2])
    assert why["column"].tolist()[0] == "(prior)"
    with pytest.raises(UnknownValue, match="did you mean"):
        model.explain(frame.iloc[[0]], target="pp")
    with pytest.raises(ValueError, match="one row"):
        model.explain(frame.iloc[:2])


@pytest.mark.parametrize("seed", range(3))
def test_sampling_returns_the_model(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "c": rng.choice(["a", "b", "c"], 400),
            "v": rng.normal(size=400),
            "n": rng.poisson(2.0, 400),
            "t": ["cash now"] * 400,
        }
    )
    y = rng.choice(["x", "y"], 400, p=[0.3, 0.7])
    model = po.NaiveBayes(kinds={"n": "count", "t": "text"}, density={"n": "poisson", "v": "gaussian"}).fit(frame, y)
    drawn, classes = model.sample(20_000, random_state=0)
    again, _ = model.sample(20_000, random_state=0)
    pd.testing.assert_frame_equal(drawn, again)
    relearned = po.NaiveBayes(kinds={"n": "count", "t": "text"}, density={"n": "poisson", "v": "gaussian"}).fit(
        drawn, classes
    )
    for name in ("class", "c", "v", "n"):
        np.testing.assert_allclose(model.tables_[name], relearned.tables_[name], atol=0.05)


def test_credible_intervals_are_beta_quantiles():
    model = po.NaiveBayes(kinds="categorical").fit([["a"]] * 3 + [["b"]] * 2, [0, 0, 0, 0, 1])
    found = model.credible_intervals(0.9).set_index(["column", "value", "class"])
    row = found.loc[("x0", "a", 0)]
    assert row[["low", "high"]].tolist() == pytest.approx(beta.ppf([0.05, 0.95], 3 + 1, 1 + 1).tolist())
    assert row["mean"] == pytest.approx(4 / 6)


def test_parameters_change_after_training():
    C = RNG.integers(0, 4, (80, 3))
    model = po.NaiveBayes(kinds="categorical").fit(C, Y)
    model.predict(C)
    model.set_params(smoothing=0.1, prior="uniform")
    fresh = po.NaiveBayes(0.1, prior="uniform", kinds="categorical").fit(C, Y)
    np.testing.assert_array_equal(model.predict_proba(C), fresh.predict_proba(C))
    model.set_params(prior=[0.2, 0.3, 0.5])
    assert np.exp(model.factored_.log_prior) == pytest.approx([0.2, 0.3, 0.5])
    with pytest.raises(ModelError, match="sum to one"):
        model.set_params(prior=[0.5, 0.5, 0.5]).predict(C)
    with pytest.raises(ValueError, match="smoothing"):
        po.NaiveBayes(smoothing=-1).fit(C, Y)
    with pytest.raises(ModelError, match="did you mean 'kernel'"):
        po.NaiveBayes(density="kernle").fit(X, Y)
    with pytest.raises(ModelError, match="fit again"):
        po.NaiveBayes(density="gaussian").fit(X, Y).set_params(density="kernel").predict(X)


def test_pickle_clone_and_repr():
    frame = pd.DataFrame({"c": RNG.choice(["a", "b"], 80), "v": X[:, 0]})
    model = po.NaiveBayes().fit(frame, Y)
    p = model.predict_proba(frame)
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.predict_proba(frame), p)
    assert back.statistics_ == model.statistics_
    assert "statistics_" not in vars(clone(model))
    page = model._repr_html_()
    assert "<table>" in page
    assert "80 rows" in page
    assert po.NaiveBayes()._repr_html_()


def test_class_weight():
    model = po.NaiveBayes(class_weight={0: 3.0}).fit(X, Y)
    same = po.NaiveBayes().fit(X, Y, sample_weight=np.where(Y == 0, 3.0, 1.0))
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), rtol=1e-12)
    even = po.NaiveBayes(class_weight="balanced", prior="empirical").fit(X, Y)
    assert np.exp(even.factored_.log_prior) == pytest.approx([1 / 3] * 3)
    with pytest.raises(UnknownValue, match="class_weight"):
        po.NaiveBayes(class_weight={7: 2.0}).fit(X, Y)
    with pytest.raises(ValueError, match="balanced"):
        po.NaiveBayes(class_weight="balanced").partial_fit(X, Y)


def test_counts_refuse_to_overflow():
    near = Counts(np.array([[2**62]]), np.array([0, 1]))
    with pytest.raises(CountOverflow, match="64-bit"):
        near + near
    with pytest.raises(StatisticsError, match="unite"):
        near + Counts.zero([2], 1)


def test_tables_over_the_budget_are_refused_with_figures():
    ids = np.arange(60_000)
    with pytest.raises(MemoryBudgetError, match=r"60000 classes would take 53.6 GiB.*'x0' alone has 60000 values"):
        po.NaiveBayes(kinds="categorical").fit(ids[:, None], ids)


def test_overflow_of_scale_is_named():
    with pytest.raises(BadValue, match=r"column 'big'.*overflows"):
        po.NaiveBayes().fit(pd.DataFrame({"big": [1e200, -1e200, 1e200]}), [0, 0, 1])


def test_a_large_base_with_unit_noise():
    """Mean 1e9, noise 1: the variance is as exact as float64 holds the deviations."""
    noise = RNG.normal(size=20_000)
    x = 1e9 + noise
    model = po.NaiveBayes().fit(x[:, None], np.arange(20_000) % 2)
    exact = x.astype(np.longdouble)
    for c in (0, 1):
        own = exact[c::2]
        assert model.statistics_.moments.variance()[c, 0] == pytest.approx(float(own.var()), rel=1e-9)


@pytest.mark.parametrize("density", ["gaussian", "kernel"])
def test_a_width_has_no_cliff(density):
    """49 equal values and one that moves away: the width of the class grows with it, without a jump anywhere."""
    rng = np.random.default_rng(0)
    other = rng.normal(size=50)
    steps = np.concatenate([[0.0], np.logspace(-9, 1, 200)])
    widths = []
    for step in steps:
        x = np.concatenate([np.full(49, 0.5), [0.5 + step], other])
        model = po.NaiveBayes(density=density).fit(x[:, None], np.repeat([0, 1], 50))
        found = model.factored_.densities[0]
        widths.append(float(found.column(0).width[0] if density == "kernel" else np.sqrt(found.variance[0, 0])))
    ratio = np.array(widths[1:]) / np.array(widths[:-1])
    assert (ratio > 0.98).all()
    assert (ratio < 1.2).all()
    assert widths[0] > 1e-2 * other.std()  # equal values borrow the width of the others


@pytest.mark.parametrize("density", ["gaussian", "kernel"])
@pytest.mark.parametrize("n", [1, 2, 5, 50])
def test_a_new_value_is_no_catastrophe(density, n):
    """Equal values in one class, a usual one asked: nats in the tens, not the thousands."""
    rng = np.random.default_rng(0)
    x = np.concatenate([np.full(n, 0.3), rng.normal(size=60)])
    model = po.NaiveBayes(density=density).fit(x[:, None], np.repeat([0, 1], [n, 60]))
    asked = model.predict_log_proba(np.linspace(-2, 2, 9)[:, None])
    assert asked.min() > (-10 if density == "kernel" else -8 * n - 8)


def test_kernels_far_away_agree():
    """Far from every value no class is ruled out by more than the weight of one row."""
    model = po.NaiveBayes(density="kernel", prior="uniform").fit([[0.0]] * 5 + [[1.0], [2.0], [3.0]], [0] * 5 + [1] * 3)
    p = model.predict_proba([[1e3], [-1e4]])
    assert p == pytest.approx(np.array([[4 / 10, 6 / 10]] * 2), rel=1e-6)


def test_a_prior_by_class_goes_with_densities_that_are_chosen():
    X = {"wind": np.random.default_rng(0).normal(size=40) ** 2}
    y = ["in", "out"] * 20
    told = po.NaiveBayes(prior={"out": 0.9, "in": 0.1}).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(told, po.NaiveBayes(prior=[0.1, 0.9]).fit(X, y).predict_proba(X))


def test_which_densities_climb_and_what_a_row_without_a_posterior_is_told():
    """Kernels and bins do not maximise what EM judges, nor do variances by n − 1; counts and normals do."""
    table, y = {"x": [1.0, 2.0, 3.0, 4.5], "c": ["u", "v", "u", "v"]}, [0, 1, 0, 1]
    for how, climbs in (
        ({"density": "gaussian"}, True),
        ({"density": "gaussian", "ddof": 1}, False),
        ({"density": "kernel"}, False),
        ({"density": "binned"}, False),
    ):
        assert po.NaiveBayes(**how)._hidden(table, y, None, None, False).climbs == climbs
    assert po.NaiveBayes(ddof=1)._hidden({"c": table["c"]}, y, None, None, False).climbs
    for how, way in (
        ({"smoothing": 1.0}, "look at the row"),
        ({"smoothing": 0.0}, "smooth the model"),
        ({"prior": [1.0, 0.0]}, "smooth the model"),
    ):
        assert way in po.NaiveBayes(density="gaussian", **how).fit(table, y)._way_out()


def test_a_sparse_table_stays_so_where_only_stored_cells_are_read():
    cells, y = sp.csr_matrix(np.array([[1, 0], [0, 1], [1, 1]])), [0, 1, 1]
    for kinds, stays in (("count", True), ("binary", True), ("categorical", False), ("numeric", False)):
        model = po.NaiveBayes(kinds=kinds).fit(cells, y)
        assert model._stays_sparse == stays
        assert (model._opened(cells).sparse is not None) == stays
        dense = po.NaiveBayes(kinds=kinds).fit(cells.toarray(), y)
        np.testing.assert_allclose(model.predict_proba(cells), dense.predict_proba(cells.toarray()))
    poisson_counts = po.NaiveBayes(kinds="count", density="poisson").fit(cells, y)
    assert not poisson_counts._stays_sparse


def test_the_density_of_numbers_and_counts_is_told_and_needs_what_was_kept():
    table = {"x": [1.0, 2.0, 3.0, 4.5], "n": [1, 0, 2, 3], "c": ["u", "v", "u", "v"]}
    model = po.NaiveBayes(kinds={"n": "count"}, density={"x": "kernel"}).fit(table, [0, 1, 0, 1])
    assert model.density_ == {"x": "kernel", "n": "multinomial"}
    with pytest.raises(ModelError, match="needs other statistics than were collected: fit again"):
        model.set_params(density={"x": "gaussian"}).predict(table)
    kept = po.NaiveBayes(kinds={"n": "count"}).fit(table, [0, 1, 0, 1])
    assert kept.set_params(density={"x": "gaussian"}).density_["x"] == "gaussian"
    inferred = po.NaiveBayes(unlabelled=-1, unlabelled_weight=1.0).fit({"x": X[:, 0]}, np.arange(80) % 3 - 1)
    assert inferred.density_ == {"x": "binned"}
    inferred.density = "gaussian"
    with pytest.raises(ModelError, match="fit again"):
        inferred.predict({"x": X[:, 0]})


def test_samples_are_drawn_by_the_prior_and_by_any_generator():
    model = po.NaiveBayes(prior=[0.2, 0.8], kinds="categorical").fit([["a"], ["b"], ["b"]], ["u", "v", "v"])
    rows, classes = model.sample(4000, random_state=0)
    assert (classes == "v").mean() == pytest.approx(0.8, abs=0.03)
    assert rows.shape == (4000, 1)
    first, again = (model.sample(20, np.random.default_rng(3)) for _ in range(2))
    assert (first[0] == again[0]).all()
    assert (first[1] == again[1]).all()
    same = model.sample(20, random_state=5)[1]
    assert (model.sample(20, random_state=5)[1] == same).all()
    assert model.sample(random_state=0)[0].shape == (1, 1)


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
