"""How many parents is chosen for the attributes that are used, by the criterion that was asked for."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.bayes import one_structure
from posteriori.bayes.choice import fewest, losses, prefix_losses
from posteriori.bayes.families import Families, Rung
from posteriori.errors import ModelError
from posteriori.statistics.cuts import CodedTable


@pytest.mark.parametrize("criterion", ["log_loss", "rmse", "error"])
@pytest.mark.parametrize("select", [False, True])
def test_what_is_judged_is_what_will_be_used(criterion, select, monkeypatch):
    """Without selection all attributes are used: a k that is best for some of them alone does not count."""
    judged = []
    monkeypatch.setattr(one_structure, "fewest", lambda by_fold: judged.append(by_fold) or fewest(by_fold))
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 3, (40, 5)).astype(str), rng.integers(0, 2, 40)
    model = po.KDB(k="auto", criterion=criterion, select=select).fit(X, y)
    losses = model.losses_[criterion].unstack().to_numpy() ** (2 if criterion == "rmse" else 1)
    np.testing.assert_allclose(judged[-1].sum(axis=0), losses if select else losses[:, -1:])
    k, used = fewest(judged[-1])
    assert model.k_ == k
    assert len(model.selected_) == (used if select else 5)


@pytest.mark.parametrize("most", [0, 2])
@pytest.mark.parametrize("wide", [0, 1 << 16])
def test_losses_of_prefixes_are_those_of_the_ladders(most, wide):
    """The kernel's one pass against the ladders added up, with tables and without, missing cells and weights."""
    rng = np.random.default_rng(most)
    X = rng.integers(0, 3, (200, 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y, w = rng.integers(0, 3, 200), rng.random(200) + 0.5
    model = po.KDB(k=most, kinds="categorical").fit(X, y)
    how = model.smoothing, model.prior, model.backoff, None, None, False
    families = Families.of(model.statistics_, model.structure_, *how, wide=wide)
    table = CodedTable(np.where(np.isnan(X), 3, X).astype(np.uint8), (3,) * 4, int(np.isnan(X).sum()))
    assert any(isinstance(rung, Rung) for ladder in families.levels for rung in ladder) == (most > 0 and not wide)
    order = model._order
    found = prefix_losses(families, order, table, y.astype(np.uint8), w, 3, True, None)
    for k in range(4):
        joint = np.tile(families.log_prior, (200, 1))
        for t in range(len(order) + 1):
            joint += 0.0 if t == 0 else families.ladder(table, order[t - 1])[: k + 1][-1]
            np.testing.assert_allclose(found[k, t], losses(joint, y, w), rtol=1e-10)


def dependent(n=120, seed=0):
    """The second column follows the first, the third both; the last is noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    a = (y + (rng.random(n) < 0.3)) % 2
    b = (a + y + (rng.random(n) < 0.2)) % 3
    c = (a * b + (rng.random(n) < 0.2)) % 3
    return np.column_stack([a, b, c, rng.integers(0, 4, n)]), y


def test_parents_are_those_of_greatest_information_among_the_attributes_before():
    """By hand: the order by I(X;Y), and of those before the k of greatest I(Xi;Xj|Y)."""
    X, y = dependent()
    model = po.KDB(2, kinds="categorical").fit(X, y)
    told, between = model.class_information_, model.information_
    order = sorted(range(4), key=lambda j: (-told[j], j))
    assert model.selected_ == [f"x{j}" for j in order]
    for place, i in enumerate(order):
        before = sorted(order[:place], key=lambda p: (-between[p, i], p))
        assert set(model.structure_.parents[i]) == {p for p in before[:2] if between[p, i] > 0}
    assert model._edge_weights() == pytest.approx([between[p, i] for p, i in model.structure_.edges])
    assert one_structure._rungs(model.structure_) == [
        (*ps[: n + 1], i) for i, ps in enumerate(model.structure_.parents) for n in range(len(ps))
    ]


def test_without_parents_it_is_naive_bayes_and_counts_no_pairs():
    X, y = dependent()
    model = po.KDB(0, kinds="categorical").fit(X, y)
    assert not model.information_.any()
    np.testing.assert_allclose(
        model.predict_proba(X), po.NaiveBayes(kinds="categorical").fit(X, y).predict_proba(X), rtol=1e-9
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_the_counts_of_the_others_are_those_of_a_model_without_the_fold(weighted):
    X, y = dependent(60)
    w = np.random.default_rng(0).choice([0.5, 1.0, 2.5], 60) if weighted else None
    model = po.KDB(2, kinds="categorical").fit(X, y)
    table = CodedTable(X.astype(np.uint8), (2, 3, 3, 4))
    rows = np.array([3, 7, 20, 21])
    mass = None if w is None else w[rows] / 2
    found = model._of_others(table, model.structure_, y.astype(np.uint8), 2, w, (rows, mass), 1 << 20)
    left = np.ones(60) if w is None else w.copy()
    left[rows] -= 1.0 if mass is None else mass
    for scope in one_structure._rungs(model.structure_):
        cells, counts = found.part_of(scope, (2, 3, 3, 4))
        dims = [(2, 3, 3, 4)[j] for j in scope]
        at = np.ravel_multi_index([X[:, j] for j in scope], dims)
        expected = np.stack([np.bincount(at, left * (y == k), minlength=np.prod(dims)) for k in (0, 1)], axis=1)
        full = np.zeros_like(expected)
        full[... if cells is None else cells] = counts
        np.testing.assert_allclose(full, expected, atol=1e-12)


def test_losses_are_there_only_where_folds_chose():
    X, y = dependent()
    with pytest.raises(AttributeError, match="only where folds chose"):
        po.KDB(1, kinds="categorical").fit(X, y).losses_  # noqa: B018
    chosen = po.KDB("auto", kinds="categorical").fit(X, y)
    assert chosen.losses_.index.get_level_values("attributes").unique().tolist() == [4]
    some = po.KDB(1, select=True, kinds="categorical").fit(X, y)
    assert some.losses_.shape == (2 * 5, 3)
    assert some.k_ <= 1
    with pytest.raises(ValueError, match="different parents or attributes do not add"):
        po.KDB(1, kinds="categorical").fit(X, y) + po.KDB(0, kinds="categorical").fit(X, y)


def test_a_choice_by_labels_needs_some():
    X, _ = dependent(30)
    for how in ({"k": "auto"}, {"k": 1, "select": True}):
        with pytest.raises(ModelError, match="tell k where every class is hidden"):
            po.KDB(**how, unlabelled=None, unlabelled_weight=1.0)._hidden(X, None, None, 2, False)
    plain = po.KDB(1, unlabelled=None, kinds="categorical")._hidden(X, None, None, 2, False)
    assert "statistics_" not in vars(plain.template)  # order and parents are learned anew every turn
