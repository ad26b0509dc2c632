"""SPODE, TAN, AODE, A2DE and KDB against enumeration, refits, Weka's figures and scikit-learn's contract."""

from __future__ import annotations

import itertools
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import posteriori as po
from posteriori.bayes.choice import folds_of
from posteriori.bayes.families import Families
from posteriori.errors import MemoryBudgetError, ModelError, StatisticsError, UnknownColumn
from posteriori.statistics.cuts import code_known
from posteriori.structure.structures import Structure

SPODE, TAN, AODE, A2DE, KDB = po.SPODE, po.TAN, po.AODE, po.A2DE, po.KDB
EVERY = [SPODE(), TAN(), AODE(), A2DE(), KDB(), KDB(k="auto", select=True), AODE(lazy=True)]
ids = ["SPODE", "TAN", "AODE", "A2DE", "KDB", "KDB_select", "AODE_lazy"]


def table(seed=0, n=80, d=4, missing=0.0, values=3):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (n, d))
    y = (X[:, 0] + X[:, 1] + (rng.random(n) < 0.2)) % 2
    X = X.astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


@pytest.mark.parametrize("model", EVERY, ids=ids)
def test_scikit_learn_contract(model):
    check_estimator(clone(model), on_skip=None)


@pytest.mark.parametrize("lam", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_without_back_off_tables_are_smoothed_by_lambda_alone(lam, missing):
    """P(x_i|y,x_p) = (N + λ)/(N_p + S_iλ) row by row; 1/S_i where λ = 0 and no row has y and x_p."""
    X, y = table(n=40, missing=missing, values=4)
    for model in (TAN(backoff=None), KDB(k=1, backoff=None)):
        model.set_params(smoothing=lam, kinds="categorical").fit(X, y)
        parent = {i: p for p, i in model.structure_.edges}
        whole = X[~np.isnan(X).any(axis=1)]
        for x in whole[:15]:
            p = (np.bincount(y) + lam) / (len(y) + 2 * lam)
            for c, i in itertools.product(range(2), range(4)):
                rows = X[y == c] if i not in parent else X[(y == c) & (X[:, parent[i]] == x[parent[i]])]
                known = (~np.isnan(rows[:, i])).sum()
                p[c] *= ((rows[:, i] == x[i]).sum() + lam) / (known + 4 * lam) if known + 4 * lam else 1 / 4
            assert np.exp(model.predict_joint_log_proba(x[None])[0]) == pytest.approx(p, rel=1e-12, abs=1e-300)


def test_super_parents_are_the_columns_with_a_value_that_is_frequent_enough():
    X, y = np.array([[0, 0, 0]] * 29 + [[1, 0, 1], [0, 1, 2]]), [0, 1] * 15 + [0]
    how = {"kinds": "categorical"}
    naive = po.NaiveBayes(**how).fit(X, y).predict_joint_log_proba(X)
    for lazy in (False, True):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            every, some = (AODE(m, lazy=lazy, **how).fit(X, y) for m in (29, 30))
        with pytest.warns(UserWarning, match=r"AODE: no value occurs min_frequency=31 times, so naive Bayes answers"):
            none = AODE(31, lazy=lazy, **how).fit(X, y)
        assert (every.super_parents_, some.super_parents_) == (["x0", "x1", "x2"], ["x0", "x1"])
        assert none.super_parents_ == []
        assert none.predict_joint_log_proba(X) == pytest.approx(naive)
        assert abs(some.predict_joint_log_proba(X) - naive).max() > 0.1
    with pytest.warns(UserWarning, match=r"A2DE: no pair of values occurs min_frequency=32 times, so AODE answers"):
        A2DE(32, **how).fit(X, y)
    pairs = A2DE(29, **how).fit(X, y)
    assert pairs.super_parents_ == [("x0", "x1"), ("x0", "x2"), ("x1", "x2")]
    assert pairs.set_params(min_frequency=30).super_parents_ == []
    assert pairs.predict_joint_log_proba(X) == pytest.approx(some.predict_joint_log_proba(X))


WEKA_ROWS = ["xu0no", "xv0no", "yu1no", "xw1yes", "yw1yes", "y?1yes", "?v0yes", "xu1no", "yv0yes", "xw?no"]
WEKA_ASKED = ["xu0", "yw1", "xv1", "y?0", "?w?"]
WEKA_ANSWERS = [  # weka.classifiers.bayes.AODE -F 1, Weka 3.6.14, P(no) and P(yes)
    (0.8380101028801142, 0.16198989711988576),
    (0.2146089204912734, 0.7853910795087267),
    (0.5908989127460005, 0.4091010872539994),
    (0.2823920265780731, 0.717607973421927),
    (0.39999999999999997, 0.6),
]


@pytest.mark.parametrize("lazy", [False, True])
def test_aode_is_wekas(lazy):
    cells = [[None if c == "?" else c for c in row[:3]] for row in WEKA_ROWS + WEKA_ASKED]
    X = np.array(cells, dtype=object)
    model = AODE(min_frequency=1, lazy=lazy).fit(X[:10], [row[3:] for row in WEKA_ROWS])
    assert model.predict_proba(X[10:]) == pytest.approx(np.array(WEKA_ANSWERS), rel=1e-14)


def one_by_hand(X, y, x, i, lam, K, S):
    """P(y, x_i) Π_{j≠i} P(x_j|y,x_i), counted row by row."""
    out = np.zeros(K)
    for c in range(K):
        with_i = [r for r, t in zip(X, y) if t == c and r[i] == x[i]]
        p = (len(with_i) + lam) / (sum(not np.isnan(r[i]) for r in X) + K * S[i] * lam)
        for j in range(len(x)):
            if j != i and not np.isnan(x[j]):
                known = [r for r in with_i if not np.isnan(r[j])]
                p *= (sum(r[j] == x[j] for r in known) + lam) / (len(known) + S[j] * lam)
        out[c] = p
    return out


@pytest.mark.parametrize("lam", [1.0, 0.25])
def test_aode_by_hand_with_missing_cells_rare_values_and_weights(lam):
    X, y = table(n=60, missing=0.15)
    S = [len(set(c[~np.isnan(c)])) for c in X.T]
    for weights in ("uniform", "information"):
        model = AODE(min_frequency=15, smoothing=lam, weights=weights, kinds="categorical").fit(X, y)
        w = model._weights_of(model.statistics_)
        for x in X[:12]:
            parents = [i for i in range(4) if not np.isnan(x[i]) and (X[:, i] == x[i]).sum() >= 15]
            if parents:
                mean = sum(w[i] * one_by_hand(X, y, x, i, lam, 2, S) for i in parents) / sum(w[i] for i in parents)
                expected = np.log(mean)
            else:
                expected = (
                    po.NaiveBayes(smoothing=lam, kinds="categorical").fit(X, y).predict_joint_log_proba(x[None])[0]
                )
            assert model.predict_joint_log_proba(x[None])[0] == pytest.approx(expected, rel=1e-12)
        lazy = AODE(min_frequency=15, smoothing=lam, weights=weights, lazy=True, kinds="categorical").fit(X, y)
        assert lazy.predict_joint_log_proba(X) == pytest.approx(model.predict_joint_log_proba(X), rel=1e-12)


def test_subsumption_drops_what_is_implied():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 200)
    X = np.stack([a, (a > 0).astype(int), rng.integers(0, 2, 200)], axis=1)
    y = (a == 1).astype(int)
    model = AODE(min_frequency=1, subsumption=20, kinds="categorical").fit(X, y)
    lean = AODE(min_frequency=1, kinds="categorical").fit(X, y)
    blank = X.astype(float)
    blank[:, 1] = np.nan  # x1 follows from x0; x1 = 0 implies x0 = 0 too, and the later column goes
    assert model.predict_joint_log_proba(X) == pytest.approx(lean.predict_joint_log_proba(blank))
    lazy = AODE(min_frequency=1, subsumption=20, lazy=True, kinds="categorical").fit(X, y)
    assert lazy.predict_joint_log_proba(X) == pytest.approx(model.predict_joint_log_proba(X))


def test_a2de_by_hand():
    X, y = table(n=70, d=4, missing=0.1)
    S = [3] * 4
    model = A2DE(min_frequency=4, kinds="categorical").fit(X, y)
    for x in X[:10]:
        terms = []
        for i, j in itertools.combinations(range(4), 2):
            together = [r for r in X if r[i] == x[i] and r[j] == x[j]]
            if len(together) < 4:
                continue
            known = sum(not np.isnan(r[i]) and not np.isnan(r[j]) for r in X)
            p = np.zeros(2)
            for c in range(2):
                rows = [r for r, t in zip(X, y) if t == c and r[i] == x[i] and r[j] == x[j]]
                p[c] = (len(rows) + 1) / (known + 2 * S[i] * S[j])
                for k in set(range(4)) - {i, j}:
                    if not np.isnan(x[k]):
                        seen = [r for r in rows if not np.isnan(r[k])]
                        p[c] *= (sum(r[k] == x[k] for r in seen) + 1) / (len(seen) + S[k])
            terms.append(p)
        if terms:
            assert np.exp(model.predict_joint_log_proba(x[None])[0]) == pytest.approx(np.mean(terms, axis=0))
    assert model.predict_proba(np.full((1, 4), np.nan)) == pytest.approx(
        po.NaiveBayes(kinds="categorical").fit(X, y).predict_proba(np.full((1, 4), np.nan))
    )


def enumerated(model, x):
    """log P(y, x) by summing over everything that the missing cells could be."""
    families = model.families_
    blank = np.flatnonzero(np.isnan(x))
    codes = np.where(np.isnan(x), 0, x).astype(int)
    total = np.zeros(len(model.classes_))
    for values in itertools.product(*(range(families.sizes[j]) for j in blank)):
        codes[blank] = values
        log_p = families.log_prior.copy()
        for j, parents in enumerate(families.structure.parents):
            log_p += families.tables[j][(*(codes[p] for p in parents), codes[j])]
        total += np.exp(log_p)
    return np.log(total)


@pytest.mark.parametrize("model", [TAN(), TAN(root=2), TAN(min_information=0.03), SPODE(super_parent=1)])
def test_missing_cells_are_summed_out(model):
    X, y = table(n=90, d=5, missing=0.1)
    model = clone(model).set_params(kinds="categorical").fit(X, y)
    asked = table(seed=9, n=40, d=5, missing=0.45)[0]
    asked[0] = np.nan
    found = model.predict_joint_log_proba(asked)
    assert found == pytest.approx(np.array([enumerated(model, x) for x in asked]), rel=1e-10)
    assert found[0] == pytest.approx(model.families_.log_prior)


def test_unseen_values_are_missing_and_counted():
    X, y = table()
    for model in EVERY:
        model = clone(model).set_params(kinds="categorical").fit(X, y)
        strange, blank = X[:5].copy(), X[:5].copy()
        strange[:, 2], blank[:, 2] = 77, np.nan
        assert np.array_equal(model.predict_joint_log_proba(strange), model.predict_joint_log_proba(blank))
        model.predict(strange)
        assert (model.n_unseen_, model.n_missing_) == (5, 0)


def refit_scores(model, X, y, w):
    """(log loss, squared error, 0-1) by the loop of n refits with values, cuts and structure held fixed."""
    sums = np.zeros(3)
    for r in range(len(y)):
        left = w.copy()
        left[r] -= min(w[r], 1.0)
        model.fit(X, y, sample_weight=left)
        p = model.predict_proba(X[[r]])[0]
        sums += w[r] * np.array([-np.log(p[y[r]]), (1 - p[y[r]]) ** 2, p.argmax() != y[r]])
    return sums / w.sum()


def declared(X, y):
    """A schema that keeps its values and classes whatever rows are left."""
    columns = {f"x{j}": sorted(set(c[~np.isnan(c)])) for j, c in enumerate(X.T)}
    return po.Schema.declare(columns, classes=sorted(set(y.tolist())))


@pytest.mark.parametrize("weights", ["none", "fractions", "twos"])
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_leave_one_out_of_every_super_parent_equals_refits(weights, missing):
    X, y = table(n=24, d=3, missing=missing)
    rng = np.random.default_rng(1)
    w = {"none": np.ones(24), "fractions": rng.random(24) + 0.4, "twos": np.full(24, 2.0)}[weights]
    model = SPODE(kinds="categorical").fit(X, y, sample_weight=None if weights == "none" else w)
    schema = declared(X, y)
    for name in ("x0", "x1", "x2"):
        expected = refit_scores(SPODE(super_parent=name, kinds=schema), X, y, w)
        found = model.scores_.loc[name].to_numpy() ** [1, 2, 1]
        assert found == pytest.approx(expected, rel=1e-9)
    assert model.super_parent_ == model.scores_.index[0]


def test_weight_two_scores_as_two_rows():
    X, y = table(n=30, d=3)
    heavy = SPODE(kinds="categorical").fit(X, y, sample_weight=np.full(30, 2.0)).scores_
    twice = SPODE(kinds="categorical").fit(np.tile(X, (2, 1)), np.tile(y, 2)).scores_
    assert np.allclose(heavy.loc[twice.index], twice, rtol=1e-12)


def test_super_parent_by_cross_validation():
    X, y = table(n=120)
    model = SPODE(folds=5, random_state=0, kinds="categorical").fit(X, y)
    assert model.super_parent_ in ("x0", "x1")
    assert len(model.scores_) == 5  # four columns, and none
    again = SPODE(folds=5, random_state=0, kinds="categorical").fit(X, y, sample_weight=np.ones(120))
    assert np.allclose(again.scores_, model.scores_)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("wide", [False, True])
def test_selective_kdb_losses_equal_refits_without_each_fold(weights, missing, wide, monkeypatch):
    if wide:  # as if every family had very many cells
        for where in ("statistics.joint", "bayes.families"):
            monkeypatch.setattr(f"posteriori.{where}.WIDE", 2)
    X, y = table(n=22, d=3, missing=missing)
    w = np.random.default_rng(2).random(22) * 1.5 + 0.2 if weights else np.ones(22)
    how = {"k": 2, "kinds": declared(X, y)}
    model = KDB(**how, select=True, folds=4).fit(X, y, sample_weight=w if weights else None)
    expected = np.zeros((3, 4, 3))
    coded = code_known(model._open(X), model.schema_, model.statistics_.cuts, 1)
    folds = [(rows, np.ones(len(rows)) if mass is None else mass) for rows, mass in folds_of(coded, y, w, 4)]
    assert sum(np.bincount(rows, mass, minlength=22) for rows, mass in folds) == pytest.approx(w)
    for rows, mass in folds:
        left = w - np.bincount(rows, mass, minlength=22)
        left[left < 1e-9] = 0
        part = KDB(**how).fit(X, y, sample_weight=left)  # order and parents learned from the others
        full, asked = part.families_, code_known(part._open(X[rows]), part.schema_, part.statistics_.cuts, 1)
        for k, t in itertools.product(range(3), range(4)):
            structure = Structure(tuple(p[:k] for p in full.structure.parents))
            levels = tuple(steps[: k + 1] for steps in full.levels)
            used = frozenset(part._order[:t])
            joint = Families(structure, full.sizes, full.log_prior, levels, None, used, exact=False).log_joint(asked)
            p = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
            own = p[np.arange(len(rows)), y[rows]]
            terms = np.array([-np.log(own), (1 - own) ** 2, p.argmax(axis=1) != y[rows]])
            expected[k, t] += terms @ mass
    assert model._losses == pytest.approx(expected / w.sum(), rel=1e-9)


def test_selection_finds_what_matters():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (3000, 7))
    y = (X[:, 2] + X[:, 5]) % 3
    model = KDB(k="auto", select=True, kinds="categorical").fit(X, y)
    assert sorted(model.selected_) == ["x2", "x5"]
    assert model.k_ == 1
    assert model.score(X, y) == 1.0
    naive = KDB(k=0, select=True, kinds="categorical").fit(np.column_stack([y, X[:, 0]]), y)
    assert naive.selected_ == ["x0"]
    assert model.losses_.loc[(1, 2), "log_loss"] == pytest.approx(model.losses_["log_loss"].min())


def test_two_thousand_attributes():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (60, 2000)).astype(np.uint8), np.arange(60) % 2
    X[:, 7] = y
    for model, d in (TAN(kinds="categorical"), 2000), (AODE(min_frequency=1, kinds="categorical"), 1000):
        found = model.set_params(max_memory=1e9).fit(X[:, :d], y).predict_joint_log_proba(X[:3, :d])
        assert np.isfinite(found).all()
        assert found.max() < -500
    with pytest.raises(MemoryBudgetError, match=r"2000 columns, 2 classes would take 122\.0 MiB, over the budget"):
        TAN(kinds="categorical", max_memory=1e8).fit(X, y)
    with pytest.raises(MemoryBudgetError, match="super-parents"):
        AODE(min_frequency=1, kinds="categorical", max_memory=2e8).fit(X, y).predict(X[:1])
    with pytest.raises(MemoryBudgetError, match=r"triple counts of 2000 columns.*GiB"):
        A2DE(kinds="categorical", max_memory=1e9).fit(X, y)


def frame():
    import pandas as pd

    rng = np.random.default_rng(3)
    n = 200
    y = rng.choice(["low", "high"], n)
    data = {
        "size": rng.normal(size=n) + (y == "high") * 2,
        "colour": np.where(y == "high", rng.choice(["red", "blue"], n), rng.choice(["blue", "green"], n)),
        "wet": rng.random(n) < 0.5,
        "nothing": np.full(n, 3.0),
        "visits": rng.poisson(3, n),
    }
    return pd.DataFrame(data), y


@pytest.mark.parametrize("model", EVERY, ids=ids)
def test_mixed_frames_samples_summaries_and_pictures(model):
    X, y = frame()
    model = clone(model).fit(X, y)
    assert model.score(X, y) > 0.8
    assert list(model.feature_names_in_) == list(X.columns)
    assert len(model.cuts_["nothing"]) == 0
    drawn, classes = model.sample(300, random_state=0)
    assert list(drawn.columns) == list(X.columns)
    assert set(classes) <= {"low", "high"}
    assert set(drawn["colour"]) <= {"red", "blue", "green"}
    assert clone(model).fit(drawn, classes).score(X, y) > 0.7
    assert model.summary()["column"].tolist()[0] in ("size", "colour")
    assert "<svg" in model._repr_html_()
    assert "http" not in model._repr_html_().replace("http://www.w3.org/2000/svg", "")
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    scrambled = X[X.columns[::-1]]
    assert np.array_equal(model.predict(scrambled), model.predict(X))


def test_plot_draws_on_given_axes():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    X, y = frame()
    _, ax = plt.subplots()
    assert TAN().fit(X, y).plot(ax) is ax
    assert len(ax.texts) >= 6
    plt.close("all")


def test_samples_follow_the_tables():
    X, y = table(n=300)
    model = TAN(kinds="categorical").fit(X, y)
    drawn, classes = model.sample(20_000, random_state=1)
    again = TAN(kinds="categorical", smoothing=0, backoff=0).fit(drawn, classes)
    assert again.edges_ == model.edges_ or len(again.edges_) == 3
    ours, theirs = model.predict_joint_log_proba(X), again.predict_joint_log_proba(X)
    assert np.exp(theirs) == pytest.approx(np.exp(ours), abs=0.02)


def test_root_edges_and_information():
    X, y = table(n=200)
    model = TAN(root="x3", kinds="categorical").fit(X, y)
    assert model.information_.shape == (4, 4)
    assert np.array_equal(model.information_, model.information_.T)
    children = [c for _, c in model.edges_]
    assert sorted(children) == ["x0", "x1", "x2"]
    assert len(TAN(min_information=9.0, kinds="categorical").fit(X, y).edges_) == 0


def test_what_cannot_be_is_said():
    X, y = table()
    for wrong, message in [
        (TAN(root="x9"), "root names no column"),
        (SPODE(super_parent="x9"), "did you mean"),
        (TAN(cuts="mdll"), "did you mean 'mdl'"),
        (TAN(cuts={"x0": [1.0]}), "missing 'x1'"),
        (TAN(cuts={name: [2.0, 1.0] for name in ("x0", "x1", "x2", "x3")}), "rising order"),
    ]:
        with pytest.raises((UnknownColumn, ModelError), match=message):
            wrong.fit(X, y)
    for wrong in (
        SPODE(criterion="loss"),
        SPODE(folds=1),
        KDB(k=-1),
        KDB(k="many"),
        KDB(criterion="x"),
        AODE(weights="x"),
        AODE(min_frequency=-1),
        TAN(backoff=-1),
        KDB(backoff=np.inf),
        TAN(smoothing=-1),
    ):
        with pytest.raises(ValueError, match="Got"):
            wrong.fit(X, y)
    with pytest.raises(ModelError, match="is text"):
        TAN(kinds={"t": "text"}).fit({"t": ["a b", "c d"], "u": [1.0, 2.0]}, [0, 1])
    with pytest.raises(AttributeError, match="told"):
        _ = SPODE(super_parent=0).fit(X, y).scores_
    with pytest.raises(AttributeError, match="folds"):
        _ = KDB().fit(X, y).losses_
    with pytest.raises(StatisticsError, match="super-parents do not add"):
        SPODE(super_parent=0).fit(X, y) + SPODE(super_parent=1).fit(X, y)
