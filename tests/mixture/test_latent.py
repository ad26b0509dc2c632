"""Latent classes: an independent EM in NumPy, what is found again, and the face."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import posteriori as po
from posteriori.em import ROUNDING
from posteriori.errors import BadParameter, BadValue
from posteriori.mixture import latent

WORDS = np.array(["red", "green", "blue"], dtype=object)


def table(seed: int, n: int = 400, K: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    """Words, a bit, numbers and counts with holes, and the class that made them."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, K, n)
    frame = pd.DataFrame(
        {
            "hue": WORDS[(z + (rng.random(n) < 0.15)) % 3],
            "tint": WORDS[(z + 1 + (rng.random(n) < 0.15)) % 3],
            "bit": rng.random(n) < 0.1 + 0.4 * (z == 1),
            "size": rng.normal(size=n) + 4 * z,
            "times": rng.poisson(1 + 4 * z),
        }
    )
    frame.loc[rng.random(n) < 0.1, "hue"] = None
    frame.loc[rng.random(n) < 0.1, "size"] = np.nan
    return frame, z


def agreement(a: np.ndarray, b: np.ndarray) -> float:
    """The share of rows that agree, under the best names of the classes."""
    names = sorted(set(a) | set(b))
    return max(np.mean(np.array(p)[np.searchsorted(names, a)] == b) for p in itertools.permutations(names))


def plain_em(codes: np.ndarray, S: int, r: np.ndarray, lam: float, w: np.ndarray, turns: int):
    """The same climb in plain NumPy: (ℓ of every turn, P(y), θ[j, value, y])."""
    d = codes.shape[1]
    trace = []
    for _ in range(turns):
        prior = ((w[:, None] * r).sum(axis=0) + lam) / (w.sum() + r.shape[1] * lam)
        theta = np.zeros((d, S, r.shape[1]))
        for j in range(d):
            for v in range(S):
                theta[j, v] = (w[:, None] * r)[codes[:, j] == v].sum(axis=0)
            theta[j] = (theta[j] + lam) / (theta[j].sum(axis=0) + S * lam)
        logs = np.log(prior) + sum(
            np.where((codes[:, j] >= 0)[:, None], np.log(theta[j])[codes[:, j]], 0.0) for j in range(d)
        )
        top = np.logaddexp.reduce(logs, axis=1)
        trace.append((w * top).sum() + lam * (np.log(prior).sum() + np.log(theta).sum()))
        r = np.exp(logs - top[:, None])
    return np.array(trace), prior, theta


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_em_of_the_textbook(weighted):
    rng = np.random.default_rng(1)
    n, d, S, K, lam = 200, 5, 3, 3, 0.4
    codes = (rng.integers(0, K, n)[:, None] + (rng.random((n, d)) < 0.3)) % S
    codes[rng.random((n, d)) < 0.1] = -1
    codes[:S] = np.arange(S)[:, None]
    w = rng.random(n) + 0.5 if weighted else np.ones(n)
    r = rng.dirichlet(np.ones(K), n)
    trace, prior, theta = plain_em(codes, S, r, lam, w, 12)
    X = pd.DataFrame({f"x{j}": pd.Series(codes[:, j]).where(codes[:, j] >= 0) for j in range(d)})
    model = po.LatentClass(K, smoothing=lam, kinds="categorical", start=r, tol=0, max_iter=12)
    with pytest.warns(ConvergenceWarning, match="after 12 turns"):
        model.fit(X, sample_weight=w if weighted else None)
    np.testing.assert_allclose(model.em_.trace, trace, rtol=1e-10)
    order = np.argsort(-prior)
    np.testing.assert_allclose(model.weights_, prior[order], rtol=1e-9)
    for j in range(d):
        np.testing.assert_allclose(model.profile().loc[f"x{j}"].to_numpy(), theta[j][:, order], rtol=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from([0.0, 0.1, 2.0]))
def test_every_turn_climbs(seed, K, smoothing):
    frame, _ = table(seed, 60)
    X = frame[["hue", "tint", "bit", "times"]]
    model = po.LatentClass(K, smoothing=smoothing, kinds={"times": "count"}, n_init=1, random_state=seed, tol=1e-9)
    trace = model.fit(X).em_.trace
    assert all(b >= a - ROUNDING * abs(b) for a, b in itertools.pairwise(trace))
    assert not model.em_.marks


def test_classes_are_found_again_with_their_number():
    X, z = table(0)
    model = po.LatentClass("auto", kinds={"times": "count"}, random_state=0).fit(X)
    assert model.classes_.tolist() == [0, 1, 2]
    assert agreement(model.predict(X), z) > 0.95
    assert min(model.bic_curve_, key=model.bic_curve_.__getitem__) == 3
    assert model.bic_curve_[3] == pytest.approx(model.bic(X))
    rows = model.weights_
    assert (np.diff(rows) <= 0).all()  # the largest class first
    assert rows.sum() == pytest.approx(1)


def test_what_it_says_of_a_model():
    X, _ = table(2)
    model = po.LatentClass(2, kinds={"times": "count"}, random_state=0).fit(X)
    log_p = model.score_samples(X)
    assert model.score(X) == pytest.approx(log_p.mean())
    assert model.n_parameters_ == 1 + 2 * (2 + 2 + 1 + 2 + 1)
    assert model.aic(X) == pytest.approx(2 * model.n_parameters_ - 2 * log_p.sum())
    assert model.bic(X) == pytest.approx(np.log(len(X)) * model.n_parameters_ - 2 * log_p.sum())
    assert model.bic(X, np.full(len(X), 2.0)) == pytest.approx(
        np.log(2 * len(X)) * model.n_parameters_ - 4 * log_p.sum()
    )
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert np.array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
    profile = model.profile()
    assert profile.loc[("class", "share")].tolist() == pytest.approx(model.weights_.tolist())
    np.testing.assert_allclose(profile.loc["hue"].sum(), 1)
    assert profile.loc["size"].index.tolist() == ["mean", "sd"]
    assert profile.loc["times"].index.tolist() == ["rate"]
    drawn, classes = model.sample(50, random_state=0)
    assert list(drawn.columns) == list(X.columns) == model.feature_names_in_.tolist()
    assert set(classes) <= {0, 1}


def test_weight_two_is_the_row_twice_and_order_and_threads_change_nothing():
    X, _ = table(3, 150)
    r = np.random.default_rng(0).dirichlet(np.ones(3), 150)
    how = {"n_classes": 3, "kinds": {"times": "count"}, "max_iter": 40}
    twice = np.arange(150) % 3 == 0
    one = po.LatentClass(**how, start=r, n_jobs=1).fit(X, sample_weight=np.where(twice, 2.0, 1.0))
    two = po.LatentClass(**how, start=np.vstack([r, r[twice]]), n_jobs=3).fit(pd.concat([X, X[twice]]))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-7)
    order = np.random.default_rng(1).permutation(150)
    first = po.LatentClass(**how, start=r, n_jobs=1).fit(X)
    third = po.LatentClass(**how, start=r, n_jobs=3).fit(X)
    turned = po.LatentClass(**how, start=r[order]).fit(X.iloc[order])
    assert np.array_equal(first.predict_proba(X), third.predict_proba(X))
    np.testing.assert_allclose(first.predict_proba(X), turned.predict_proba(X), atol=1e-7)


def test_any_table_is_the_same(tmp_path):
    import polars as pl
    import pyarrow as pa

    X, _ = table(4, 120)
    how = {"n_classes": 2, "kinds": {"times": "count"}, "random_state": 1}
    wanted = po.LatentClass(**how).fit(X).predict_proba(X)
    for other in (pl.from_pandas(X), pa.Table.from_pandas(X), X.to_dict("list")):
        assert np.array_equal(po.LatentClass(**how).fit(other).predict_proba(X), wanted)
    X.to_csv(tmp_path / "rows.csv", index=False)
    read = po.read(tmp_path / "rows.csv", kinds={"times": "count"})
    found = po.LatentClass(2, random_state=1).fit(read)
    assert agreement(found.predict(read), wanted.argmax(axis=1)) == 1


def test_it_pickles_clones_and_draws():
    X, _ = table(5, 120)
    model = po.LatentClass(2, kinds={"times": "count"}, random_state=0).fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert not hasattr(clone(model), "model_")
    drawing = str(model.plot())
    assert drawing.startswith("<svg")
    assert drawing.count('class="bar"') == 2 * (1 + 3 + 3 + 2 + 1 + 1)
    assert all(name in drawing for name in X.columns)
    assert model._repr_html_() == drawing
    assert "LatentClass" in po.LatentClass()._repr_html_()
    odd = po.LatentClass(1).fit({"<b>": ["<i>", "&", None] * 30, "many": [str(k) for k in range(90)]})
    assert "<i>" not in str(odd.plot())
    assert "78 more" in str(odd.plot())


@pytest.mark.parametrize("K", [1, 3])
def test_edges(K):
    same = po.LatentClass(K, random_state=0).fit({"a": ["x"] * 5, "b": [1.0] * 5, "c": [None] * 5})
    np.testing.assert_allclose(same.predict_proba({"a": ["x"], "b": [1.0], "c": [None]}).sum(), 1)
    few = po.LatentClass(K, random_state=0).fit({"a": ["x", "y", "z"][:K]})
    assert few.predict({"a": ["x"]}).shape == (1,)
    tiny = po.LatentClass(K, random_state=0).fit({"a": [1e-150, 2e-150, 3e-150, 9e-150]})
    assert np.isfinite(tiny.score_samples({"a": [2e-150]})).all()
    with pytest.raises(BadValue, match="n_classes = 3, n_samples = 2"):
        po.LatentClass(3).fit({"a": ["x", "y", "y"]}, sample_weight=[1.0, 1.0, 0.0])
    with pytest.raises(BadValue, match="infinity"):
        po.LatentClass(1).fit({"a": [1.0, np.inf]})
    for call in ("predict", "profile", "bic"):
        with pytest.raises(NotFittedError):
            getattr(po.LatentClass(), call)(*([] if call == "profile" else [[[1.0]]]))
    for wrong in ({"n_classes": 0}, {"n_classes": "many"}, {"smoothing": -1}, {"n_init": 0}, {"start": [[1.0]]}):
        with pytest.raises(BadParameter):
            po.LatentClass(**wrong).fit({"a": ["x", "y", "y"]})


def test_a_failing_fit_changes_nothing():
    X, _ = table(6, 80)
    model = po.LatentClass(2, kinds={"times": "count"}, random_state=0).fit(X)
    before = model.predict_proba(X)
    with pytest.raises(ValueError):
        model.fit(X, sample_weight=np.full(80, np.nan))
    assert np.array_equal(model.predict_proba(X), before)


def test_ctrl_c_keeps_the_best():
    X, _ = table(7, 80)

    def progress(turn, value):
        if turn == 3:
            raise KeyboardInterrupt

    model = po.LatentClass(2, kinds={"times": "count"}, n_init=1, random_state=0, progress=progress).fit(X)
    assert model.em_.interrupted
    assert model.predict(X).shape == (80,)


# scikit-learn asks what has predict_proba and takes sparse tables for the tags of a classifier, which this is not
SPARSE = {
    "check_estimator_sparse_array": "reads classifier_tags of what is no classifier",
    "check_estimator_sparse_matrix": "reads classifier_tags of what is no classifier",
}


@pytest.mark.filterwarnings("ignore")
def sampled(rng, K, n=400):
    """Rows of K classes that bits and normals tell apart."""
    z = rng.integers(0, K, n)
    means, chance = 4 * rng.normal(size=(K, 3)), rng.choice([0.1, 0.9], size=(K, 6))
    return np.hstack([rng.normal(size=(n, 3)) + means[z], rng.random((n, 6)) < chance[z]])


@pytest.mark.parametrize("K", [1, 2, 3, 5])
def test_bic_finds_as_many_classes_as_there_are(K):
    for seed in range(2):
        found = po.LatentClass("auto", max_classes=7, random_state=0).fit(sampled(np.random.default_rng(seed), K))
        assert len(found.weights_) == K
        assert found.weights_.min() > 0.5 / K


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_column_of_few_numbers_is_a_column_of_values(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (80, 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:3] = np.arange(3)[:, None]
    start = rng.dirichlet(np.ones(2), 80)
    numbers = po.LatentClass(2, start=start).fit(X)
    values = po.LatentClass(2, start=start, kinds="categorical").fit(X)
    np.testing.assert_allclose(numbers.em_.trace, values.em_.trace, rtol=1e-9)
    np.testing.assert_allclose(numbers.predict_proba(X), values.predict_proba(X), atol=1e-9)
    assert numbers.n_parameters_ == values.n_parameters_
    assert set(np.unique(np.round(numbers.sample(50, random_state=0)[0]))) <= {-1.0, 0.0, 1.0, 2.0, 3.0}


def test_real_classes_of_patients_are_no_crumbs():
    """Columns of bits and skewed numbers: normals that shrink around a value made classes of a hundredth of the rows."""
    from sklearn.datasets import load_diabetes

    X, _ = load_diabetes(return_X_y=True, scaled=False)
    found = po.LatentClass("auto", random_state=0).fit(X)
    assert found.weights_.min() > 0.03


@parametrize_with_checks([po.LatentClass(random_state=0)], expected_failed_checks=lambda _: SPARSE)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_a_start_tells_the_number_that_auto_would_choose() -> None:
    with pytest.raises(BadParameter, match="give one of them"):
        po.LatentClass("auto", start=np.ones((4, 2))).fit({"a": ["x", "y"] * 2})


# -- the pieces ---------------------------------------------------------------------------------------------------------


def test_numbers_that_are_free_by_hand() -> None:
    """K − 1 shares; of each class a value less than a column has, a mean and a variance, a rate."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        "word": rng.choice(["a", "b", "c"], 60), "bit": rng.choice(["u", "v"], 60), "same": ["k"] * 60,
        "number": rng.normal(size=60), "other": rng.normal(size=60), "count": rng.poisson(3, 60) + 0,
    })  # fmt: skip
    kinds = {"count": "count", "number": "numeric", "other": "numeric"}
    for K in (1, 3):
        model = po.LatentClass(K, kinds=kinds, random_state=0, n_init=1, max_iter=3, tol=1e9).fit(X)
        assert model.n_parameters_ == K - 1 + K * (2 + 1 + 0 + 2 + 2 + 1)
        found = model.score_samples(X).sum()
        assert model.aic(X) == pytest.approx(2 * model.n_parameters_ - 2 * found)
        assert model.bic(X) == pytest.approx(np.log(60) * model.n_parameters_ - 2 * found)
        w = rng.integers(0, 4, 60).astype(float)
        weighed = (w * model.score_samples(X)).sum()
        assert model.bic(X, w) == pytest.approx(np.log(w.sum()) * model.n_parameters_ - 2 * weighed)
        assert model.aic(X, w) == pytest.approx(2 * model.n_parameters_ - 2 * weighed)
        assert model.score(X, sample_weight=w) == pytest.approx(weighed / w.sum())
        assert model.score(X) == pytest.approx(found / 60)


def test_words_are_free_but_for_one() -> None:
    X = {"text": ["red blue", "blue", "green green red", "blue"]}
    model = po.LatentClass(2, kinds={"text": "text"}, random_state=0, n_init=1, max_iter=2, tol=1e9).fit(X)
    assert model.n_parameters_ == 1 + 2 * (3 - 1)


def test_classes_stand_by_their_size_and_keep_their_own() -> None:
    X, _ = table(1)
    model = po.LatentClass(3, random_state=0, n_init=2).fit(X)
    assert (np.diff(model.weights_) <= 1e-9).all()
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.classes_.tolist() == [0, 1, 2]
    found = model.predict_proba(X)
    assert found.mean(axis=0) == pytest.approx(model.weights_, abs=0.02)  # each with its own tables
    assert (model.n_iter_, model.converged_) == (model.em_.turns, model.em_.converged)
    assert model.n_features_in_ == X.shape[1]
    assert model.feature_names_in_.tolist() == list(X.columns)


def test_auto_ends_after_so_many_that_are_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    X, tried = {"a": list("xyxyxyxyxyxyxyxy")}, []
    values = {1: 9.0, 2: 5.0, 3: 6.0, 4: 5.0}
    monkeypatch.setattr(
        latent, "_criterion", lambda model, X, w, price: tried.append(price) or values.get(len(tried), 9.0)
    )
    model = po.LatentClass("auto", random_state=0, n_init=1).fit(X)
    assert len(model.classes_) == 2  # the first of equals
    assert sorted(model.bic_curve_) == list(range(1, 3 + latent.PATIENCE))
    assert tried[0] == pytest.approx(np.log(16))
    tried.clear()
    assert sorted(po.LatentClass("auto", random_state=0, n_init=1, max_classes=3).fit(X).bic_curve_) == [1, 2, 3]
    tried.clear()
    few = po.LatentClass("auto", random_state=0, n_init=1).fit(X, sample_weight=[2.0, 3.0] + [0.0] * 14)
    assert sorted(few.bic_curve_) == [1, 2]
    assert tried[0] == pytest.approx(np.log(5))
    assert not hasattr(po.LatentClass(2, random_state=0).fit(X), "bic_curve_")
    with pytest.raises(BadValue, match="n_classes = 3, n_samples = 2"):
        po.LatentClass(3).fit(X, sample_weight=[2.0, 3.0] + [0.0] * 14)


def test_turns_that_do_not_suffice_are_told() -> None:
    X, _ = table(1)
    with pytest.warns(ConvergenceWarning, match="EM has not converged after 2 turns") as said:
        po.LatentClass(3, random_state=0, n_init=1, max_iter=2, tol=0.0).fit(X)
    assert said[0].filename == __file__
