"""What a hostile reader found once: each of these gave a wrong answer, a NaN or a half-changed model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import posteriori as po
from posteriori.bayes.densities import mutual_information
from posteriori.errors import BadValue, CountOverflow, FormatError, StatisticsError, TableError, UnknownColumn

NB = po.NaiveBayes


@pytest.mark.parametrize(
    ("kinds", "density"),
    [("categorical", None), ("count", None), ("count", "poisson"), (None, None), (None, "kernel"), (None, "binned")],
)
def test_every_density_alone_on_two_rows(kinds, density):
    model = NB(kinds=kinds, density=density).fit([[1], [2], [7], [9]], [0, 0, 1, 1])
    p = model.predict_proba([[1], [8]])
    assert np.isfinite(p).all()
    assert np.isfinite(model.score_samples([[1], [8]])).all()


def test_counts_are_checked_and_exact():
    with pytest.raises(BadValue, match="row 0, column 'x0'"):
        NB(kinds="count", density="poisson").fit([[-2.0], [3], [5], [6]], [0, 0, 1, 1])
    for X in (np.array([[2**62, 1]] * 3), sp.csr_matrix(np.array([[2**62, 1]] * 3)), np.array([[1e300, 1]] * 3)):
        with pytest.raises(CountOverflow, match="exactly"):
            NB(kinds="count").fit(X, [0, 0, 1])


def test_classes_keep_their_type_whatever_comes_later():
    model = NB().partial_fit([[0.0], [1.0], [2.0]], [0, 1, 2]).partial_fit([[0.0], [1.0]], [False, True])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.class_count_.tolist() == [2, 2, 1]
    model = NB().partial_fit([[0.0], [1.0], [2.0]], [0, 1, 300]).partial_fit([[0.0]], np.array([0], np.uint8))
    assert model.classes_.tolist() == [0, 1, 300]
    mixed = NB().partial_fit([[0.0], [1.0]], ["a", "b"]).partial_fit([[5.0], [6.0]], [1, 2])
    assert mixed.classes_.tolist() == [1, 2, "a", "b"]
    assert mixed.predict([[0.0], [5.0]]).tolist() == ["a", 1]


@pytest.mark.parametrize("one", [1, True, np.int64(1)])
def test_labels_of_mixed_number_types_keep_their_order(one):
    y = np.empty(4, dtype=object)
    y[:] = [np.int64(0), one, np.int64(0), one]
    assert NB().fit([[0.0], [10.0], [0.1], [10.1]], y).predict([[0.0], [10.0]]).tolist() == [0, 1]


def test_a_failed_call_leaves_the_model_as_it_was():
    model = NB().fit([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    before = model.predict_proba([[1.0, 2.0], [2.0, 3.0]])
    for attempt in (
        lambda: model.fit([[1.0, 2.0]], [None]),
        lambda: model.fit([[np.inf, 2.0]], [0]),
        lambda: model.partial_fit([[np.inf, 2.0]], [0]),
        lambda: model.partial_fit([[1.0]], [0]),
        lambda: model.forget([[9.0, 9.0]] * 3, [0] * 3),
    ):
        with pytest.raises(ValueError):
            attempt()
        np.testing.assert_array_equal(model.predict_proba([[1.0, 2.0], [2.0, 3.0]]), before)


def test_a_constant_column_tells_nothing_even_with_weights():
    w = np.random.default_rng(1).random(1000)
    y = np.arange(1000) % 2
    for data in (np.full((1000, 1), 0.3), np.full((1000, 1), 1e6)):
        model = NB(prior="uniform").fit(data, y, sample_weight=w)
        assert model.predict_proba([[data[0, 0]], [0.4]]) == pytest.approx(0.5)
    X = np.r_[np.full(6, 0.1), [0.7, 0.33, 5.0]][:, None]
    y = np.array([0, 0, 0, 1, 1, 1, 0, 1, 1])
    exact = NB(density="binned").fit(X, y).forget(X[6:], y[6:])
    assert exact.predict_proba([[0.1], [0.2]]) == pytest.approx(0.5)
    with pytest.raises(StatisticsError, match="fit again"):  # moments cannot tell 0.1 six times from 0.1 and rounding
        NB(density="gaussian").fit(X, y).forget(X[6:], y[6:])


def test_names_are_matched_wherever_they_are_known():
    X = np.random.default_rng(0).normal(size=(20, 2)) + [0, 100]
    model = NB().fit(X, np.arange(20) % 2)
    by_row = model.predict_joint_log_proba({"x1": 100.0, "x0": 0.0})
    np.testing.assert_allclose(by_row, model.predict_joint_log_proba({"x1": [100.0], "x0": [0.0]}), rtol=1e-12)
    schema = po.Schema.declare({"a": "numeric", "b": "numeric"})
    told = NB(kinds=schema).fit(X, np.arange(20) % 2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_array_equal(told.predict_proba(frame), told.predict_proba(frame[["b", "a"]]))
    with pytest.raises(TableError, match="X has 3 features, but NaiveBayes is expecting 2"):
        NB(kinds=schema).fit(np.ones((2, 3)), [0, 1])
    left = NB().fit(frame, np.arange(20) % 2)
    both = left + NB().fit(frame[["b", "a"]], np.arange(20) % 2)
    twice = NB().fit(pd.concat([frame, frame]), np.tile(np.arange(20) % 2, 2))
    np.testing.assert_allclose(both.predict_proba(frame), twice.predict_proba(frame), rtol=1e-9)
    row = frame.iloc[0]
    np.testing.assert_allclose(left.predict_proba(row), left.predict_proba(frame.iloc[[0]]), rtol=1e-12)


def test_mixed_statistics_are_reordered_by_name():
    frame = pd.DataFrame(
        {
            "c": list("abab"),
            "n": [1, 2, 3, 4],
            "t": ["x y", "y", "z", "x"],
            "v": [0.5, 1, 2, 3],
            "k": [1.0, 2, 5, 6],
            "m": [2, 0, 1, 1],
        }
    )
    options = {"kinds": {"n": "count", "m": "count", "t": "text"}, "density": {"k": "kernel"}}
    y = [0, 1, 0, 1]
    a, b = NB(**options).fit(frame, y), NB(**options).fit(frame[["m", "k", "v", "t", "n", "c"]], y)
    assert (a + b).statistics_ == (a + a).statistics_
    with pytest.raises(UnknownColumn, match="only left 'm'"):
        _ = a + NB(**options | {"kinds": {"n": "count", "t": "text"}}).fit(frame.drop(columns="m"), y)


def test_masks_and_every_sort_of_missing():
    masked = NB().fit({"a": np.ma.masked_array([1.0, 999.0, 3.0], mask=[0, 1, 0])}, [0, 0, 1])
    assert masked.statistics_.moments.mean[:, 0].tolist() == [1.0, 3.0]
    with pytest.raises(BadValue, match="masked in row 2"):
        NB().fit([[1.0], [2.0], [3.0]], np.ma.masked_array([0, 1, 7], mask=[0, 0, 1]))
    big = np.ma.masked_array([2**53, 2**53 + 1, 0], mask=[0, 0, 1])
    assert NB(kinds="categorical").fit({"a": big}, [0, 1, 1]).schema_["a"].values == (2**53, 2**53 + 1)
    assert NB().fit({"a": pl.Series([1, None, 3])}, [0, 0, 1]).n_missing_ == 1
    na = pd.Series([1, pd.NA, 2.5], dtype=object)
    assert NB().fit({"a": na}, [0, 0, 1]).schema_.kinds == ("numeric",)
    model = NB().fit({"a": pd.Series(["x", pd.NA, "y", float("nan")], dtype=object)}, [0, 0, 1, 1])
    assert model.schema_["a"].values == ("x", "y")
    assert model.predict_proba({"a": pd.NA})[0] == pytest.approx(0.5)


def test_binary_columns_are_the_same_sparse_and_dense():
    y = [0, 0, 1]
    with pytest.raises(BadValue, match=r"row 0, column 'x0': a binary cell is 0 or 1. Got nan"):
        NB(kinds="binary").fit(sp.csr_matrix([[np.nan, 1], [0, 1], [0, 0]]), y)
    with pytest.raises(BadValue, match="Got 5"):
        NB(kinds="binary").fit(sp.csr_matrix([[5], [0], [5]]), y)
    dense = NB(kinds="binary").fit([[1], [2], [1]], y)
    np.testing.assert_array_equal(dense.predict_proba(sp.csr_matrix([[1], [2]])), dense.predict_proba([[1], [2]]))
    with pytest.raises(TableError, match="binary but would have 3 values"):
        NB(kinds="binary").partial_fit([["a"], ["b"]], [0, 1]).partial_fit([["c"]], [0])
    assert po.Schema.infer({"f": [True, True]})["f"].values == (False, True)


def test_integers_at_the_ends_of_their_types():
    X = np.arange(-128, 128, dtype=np.int8)[:, None].repeat(2, 1)
    model = NB(kinds="categorical").fit(X, np.arange(256) % 2)
    assert len(model.schema_.columns[0].values) == 256
    assert model.schema_.columns[0].values[0] == -128
    frame = pd.DataFrame({"a": np.array([2**63 + 5, 2**63 + 6], np.uint64), "b": ["x", "y"]})
    assert NB(kinds="categorical").fit(frame, [0, 1]).schema_["a"].values == (2**63 + 5, 2**63 + 6)
    wide = pl.DataFrame({"a": [2**60 + 1, 2**60 + 5, 3]})
    assert np.isfinite(NB().fit(wide, [0, 1, 1]).predict_proba(wide)).all()


def test_denormal_variances_and_overflowing_weights():
    model = NB().fit(np.array([[1e-153], [-1e-153], [1e-157], [-1e-157]]), [0, 0, 1, 1])
    one, two = model.predict_joint_log_proba(np.array([[0.0]])), model.predict_joint_log_proba(np.array([[0.0], [0.0]]))
    np.testing.assert_allclose(one[0], two[0], rtol=1e-12)
    with pytest.raises(BadValue, match="sum overflows"):
        NB(kinds="categorical").fit([["a"]] * 4, [0, 0, 1, 1], sample_weight=[1e308] * 4)
    with pytest.raises(StatisticsError, match="underflow"):
        NB().fit([[1.0], [2.0]], [0, 1]).decay(1e-200).decay(1e-200)


def test_balanced_rows_cannot_be_forgotten_alone():
    model = NB(class_weight="balanced").fit([[1.0], [2.0], [3.0]], [0, 0, 1])
    with pytest.raises(ValueError, match="balanced"):
        model.forget([[1.0]], [0])
    weighted = NB(class_weight={0: 1, 1: 2}).partial_fit([[1.0], [2.0]], [0, 0], classes=[0, 1])
    assert weighted.class_count_.tolist() == [2.0, 0.0]


def test_poisson_of_a_column_that_was_never_more_than_zero():
    model = NB(kinds="count", density="poisson").fit([[0], [0], [0]], [0, 1, 1])
    assert np.isfinite(model.predict_proba([[1], [0]])).all()


def test_what_was_met_is_counted_once():
    frame = pd.DataFrame({"c": ["a", "b", None], "v": [1.0, None, 3.0]})
    model = NB().fit(frame, [0, 1, 1])
    assert (model.n_missing_, model.n_unseen_) == (2, 0)
    model.predict({"c": None, "v": None})
    assert (model.n_missing_, model.n_unseen_) == (2, 0)
    model.predict({"c": "zz", "v": None})
    assert (model.n_missing_, model.n_unseen_) == (1, 1)


def test_columns_with_awkward_names():
    model = NB().fit(pd.DataFrame({"class": ["first", "second"], "x": [1.0, 2.0]}), [0, 1])
    assert model.tables_["class"].index.tolist() == ["first", "second"]
    assert model.tables_["(class)"]["P"].tolist() == [0.5, 0.5]
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=[1, 0])
    assert NB(kinds={1: "categorical"}).fit(frame, [0, 1]).schema_.kinds == ("categorical", "numeric")
    assert NB(density={0: "binned"}).fit(np.eye(3), [0, 1, 1]).statistics_.roles == ("histogram", "numbers", "numbers")


def test_summary_of_kernels_survives_an_outlier():
    X = np.r_[np.zeros(500), np.ones(500), 1e5][:, None]
    y = np.r_[np.zeros(500), np.ones(501)].astype(int)
    model = NB(density="kernel", prior="uniform").fit(X, y)
    density = model.factored_.densities[0].column(0)
    grid = np.unique(np.r_[np.linspace(-0.01, 1.01, 20_001), np.linspace(-4e4, 1.4e5, 40_001)])
    joint = np.exp(density._log_density(grid)) * 0.5 * np.gradient(grid)[:, None]
    assert model.summary()["information"][0] == pytest.approx(mutual_information(joint), abs=0.02)


def test_odd_cells():
    cut = pd.DataFrame({"age": pd.cut([1.0, 2.0, 3.0, 4.0], 2)})
    assert NB().fit(cut, [0, 0, 1, 1]).predict(cut).tolist() == [0, 0, 1, 1]
    dummies = pd.get_dummies(pd.Series(list("abca")), sparse=True)
    assert NB().fit(dummies, [0, 1, 1, 0]).predict(dummies).tolist() == [0, 1, 1, 0]
    assert NB().fit(pl.DataFrame({"b": [b"x", b"y"]}), [0, 1]).schema_.kinds == ("categorical",)
    assert NB().fit({"s": np.array(["\ud800", "b"], dtype=object)}, [0, 1]).schema_["s"].values == ("b", "\ud800")
    assert NB().fit([[1.0], [2.0]], np.array([0, 1], dtype=">i4")).classes_.tolist() == [0, 1]
    assert NB(n_jobs=-2, kinds="categorical").fit(np.zeros((30_000, 20)), np.arange(30_000) % 2).classes_.tolist() == [
        0,
        1,
    ]
    with pytest.raises(TableError, match="1D sparse"):
        NB().fit(sp.coo_array([1, 0, 2]), [0])
    with pytest.raises(ValueError, match="variance_floor"):
        NB(variance_floor=float("nan")).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="prior"):
        NB(prior={0: 0.5, 2: 0.5}).fit([[1.0], [2.0]], [0, 1]).predict([[1.0]])


def test_samples_of_nothing():
    model = NB(kinds={"t": "text"}, density={"v": "kernel"}).fit({"t": [None, None], "v": [np.nan, np.nan]}, [0, 1])
    drawn, y = model.sample(3, random_state=np.random.default_rng(0))
    assert drawn["t"].tolist() == ["", "", ""]
    assert len(y) == 3
    assert len(model.sample(0)[1]) == 0


def test_impossible_events_in_sparse_rows():
    X = sp.csr_matrix([[1, 0], [2, 0], [0, 3]])
    model = NB(0.0, kinds="count").fit(X, [0, 0, 1])
    thick = NB(0.0, kinds="count").fit(X.toarray(), [0, 0, 1])
    np.testing.assert_array_equal(model.predict_joint_log_proba(X), thick.predict_joint_log_proba(X.toarray()))


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("a,b,c\n1,2,3\n4,5\n1,2,3\n", FormatError, "line 3: 2 cells where the header has 3"),
        ("", FormatError, "empty"),
        ("a,a,b\n1,2,3\n", UnknownColumn, "duplicate columns: 'a'"),
    ],
)
def test_messy_files(tmp_path, text, error, match):
    path = tmp_path / "messy.csv"
    path.write_text(text)
    with pytest.raises(error, match=match):
        po.read(path)


def test_paths_are_no_patterns_and_latin_is_read(tmp_path):
    for name, cell in (("part1.csv", "1"), ("part2.csv", "2"), ("part[12].csv", "3")):
        (tmp_path / name).write_text(f"v\n{cell}\n")
    assert po.read(tmp_path / "part[12].csv").X["v"].tolist() == [3]
    (tmp_path / "latin.csv").write_bytes("stadt,n\nKöln,1\nOslo,2\n".encode("latin-1"))
    assert po.read(tmp_path / "latin.csv", encoding="latin-1").X["stadt"].tolist() == ["Köln", "Oslo"]


def test_a_schema_yields_to_the_labels_that_come():
    """Ensembles encode labels: the classes that a file declared give way, and the model has the classes of y alone."""
    from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(["x", "y"], 60), "b": rng.normal(size=60)})
    y = np.where((X["a"] == "x") ^ (rng.random(60) < 0.1), "+", "-")
    schema = po.Schema.declare({"a": ["x", "y", "z"], "b": "numeric"}, classes=["+", "-"])
    assert NB(kinds=schema).fit(X, (y == "+").astype(int)).classes_.tolist() == [0, 1]
    told = NB(kinds=schema)
    ensembles = [
        BaggingClassifier(told, n_estimators=3, random_state=0),
        VotingClassifier([("a", told), ("b", NB(kinds=schema, smoothing=2.0))], voting="soft"),
        StackingClassifier([("a", told)], final_estimator=NB(kinds="numeric")),
    ]
    for ensemble in ensembles:
        model = ensemble.fit(X, y)
        assert sorted(model.classes_.tolist()) == ["+", "-"]
        assert model.predict_proba(X).shape == (60, 2)
        assert model.score(X, y) > 0.8


def test_models_are_summed():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3
    for Model in (NB, po.GaussianNB):
        parts = [Model().fit(X[a : a + 10], y[a : a + 10]) for a in (0, 10, 20)]
        whole = Model().fit(X, y)
        np.testing.assert_allclose(sum(parts).predict_proba(X), whole.predict_proba(X), rtol=1e-9)
        with pytest.raises(TypeError):
            1 + whole
