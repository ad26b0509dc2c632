"""What grown models share, each in turn: rows not seen, cells not known, refusals, Ctrl-C, copies."""

from __future__ import annotations

import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import posteriori as po
from posteriori.errors import MemoryBudgetError, ModelError
from posteriori.forest import grown as coding_room
from posteriori.forest.grown import GrownClassifier, learn_coding
from posteriori.statistics.cuts import greedy_cuts
from posteriori.table.frame import open_frame
from posteriori.table.kinds import resolve_kinds
from posteriori.table.schema import Column, Schema

from .making import IRIS, mixed


def learned(X):
    frame = open_frame(X)
    columns = tuple(Column(n, k) for n, k in zip(frame.names, resolve_kinds(frame, None)))
    return learn_coding(frame, Schema(columns), None, None, None)[:2]


def test_missing_is_a_value_only_where_training_had_it():
    coding, codes = learned(
        {"a": ["x", None, "y"], "b": ["x", "y", "x"], "n": [1.0, np.nan, 3.0], "m": [1.0, 2.0, 3.0]}
    )
    assert coding.blank == (True, False, True, False)
    assert codes.sizes == (3, 2, 3, 3)
    assert codes.cells.tolist() == [[1, 0, 2], [0, 1, 0], [1, 0, 2], [0, 1, 2]]
    asked, seen = coding.code(open_frame({"a": ["z", None], "b": ["z", None], "n": [9.0, np.nan], "m": [-5.0, np.nan]}))
    assert asked.cells.tolist() == [[0, 0], [2, 2], [2, 0], [0, 3]]
    assert (seen.missing, seen.unseen) == (4, 2)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.integers(2, 9))
def test_greedy_cuts_part_every_value_or_bins_of_weight(x, bins):
    x = np.array(x) + 0.0
    cuts = greedy_cuts(x, None, bins)
    assert (np.diff(cuts) > 0).all()
    values, counts = np.unique(x, return_counts=True)
    codes = np.searchsorted(cuts, values, side="right")
    if len(values) <= bins:
        assert_array_equal(codes, np.arange(len(values)))
        return
    for v in np.flatnonzero(counts * bins >= len(x)):
        assert (codes == codes[v]).sum() == 1
    assert len(cuts) <= 2 * bins
    assert_array_equal(cuts, greedy_cuts(np.repeat(x, 3), None, bins))
    assert_array_equal(cuts, greedy_cuts(x[::-1], np.full(len(x), 3.0), bins))


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_greedy_cuts_of_any_scale(scale):
    x = np.random.default_rng(0).normal(size=1000) * scale
    cuts = greedy_cuts(x)
    counts = np.bincount(np.searchsorted(cuts, x, side="right"))
    assert len(counts) == 128
    assert counts.max() <= 9
    assert counts.min() >= 6
    assert len(greedy_cuts(np.array([np.nan, np.nan]))) == 0
    assert len(greedy_cuts(np.array([-1.7e308, 1.7e308]))) == 1


def test_edges_and_words():
    coding, _ = learned({"n": [1.0, np.nan, 3.0], "w": ["a", "b", "a"]})
    assert [coding.edge(0, c) for c in range(3)] == [-np.inf, 2.0, np.inf]
    assert coding.words(0, [0, 1]) == ["missing", "[-inf, 2)"]
    assert coding.words(1, [1]) == ["b"]


def test_columns_as_they_are_coded_with_the_classes_of_another():
    coding, _ = learned({"n": [1.0, 2.0]})
    known = coding.with_classes(Schema((), (0, 1), frozenset({1})))
    assert (known.classes, known.declared_classes, known.columns) == ((0, 1), frozenset({1}), coding.schema.columns)


@pytest.mark.parametrize(("values", "dtype"), [(254, np.uint8), (255, np.uint8), (256, np.uint16), (300, np.uint16)])
def test_codes_are_bytes_while_one_more_than_all_values_fits(values, dtype):
    names = np.array([f"v{i:03d}" for i in range(values)])
    coding, codes = learned({"v": names})
    assert codes.cells.dtype == dtype
    assert codes.cells[0].tolist() == list(range(values))
    assert coding.code(open_frame({"v": ["strange"]}))[0].cells.tolist() == [[values]]


def test_a_column_of_too_many_values_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(coding_room, "MOST_VALUES", 4)
    assert learned({"v": ["a", "b", "c"]})[1].sizes == (3,)
    with pytest.raises(ModelError, match=r"column 'v' has 4 values, more than a tree can ask for \(4\)"):
        learned({"v": ["a", "b", "c", "d"]})


def test_codes_take_memory_that_is_asked_for_before():
    """Four bytes a cell."""
    frame = open_frame({"a": ["x", "y"] * 500, "b": ["u", "v"] * 500})
    columns = tuple(Column(n, k) for n, k in zip(frame.names, resolve_kinds(frame, None)))
    learn_coding(frame, Schema(columns), None, 8000.0, None)
    with pytest.raises(MemoryBudgetError, match="codes of 1,000 rows in 2 columns"):
        learn_coding(frame, Schema(columns), None, 7999.0, None)


def test_missing_cells_are_counted():
    frame = open_frame({"a": ["x", None, None], "n": [1.0, np.nan, 2.0]})
    columns = tuple(Column(n, k) for n, k in zip(frame.names, resolve_kinds(frame, None)))
    coding, _, seen = learn_coding(frame, Schema(columns), None, None, None)
    assert seen.missing == 3
    assert coding.sizes == (2, 3)
    assert coding.named == (True, False)


def test_edges_without_missing_cells():
    coding, _ = learned({"n": [1.0, 2.0, 4.0]})
    assert [coding.edge(0, c) for c in range(3)] == [1.5, 3.0, np.inf]
    assert coding.words(0, [2, 0]) == ["[3, inf)", "[-inf, 1.5)"]


MODELS = {
    "forest": po.BayesForest(n_trees=20, n_members=5, random_state=0),
    "auto": po.AutoBayes(n_trees=15, n_members=8, random_state=0),
    "boosted": po.BoostedBayes(max_rounds=40, random_state=0),
    "exponential": po.BoostedBayes("exponential", max_rounds=20, random_state=0),
}
LONG = {  # a minute and more, on 20,000 rows
    "forest": {"n_trees": 5000},
    "auto": {"n_trees": 5000},
    "boosted": {"max_rounds": 100_000, "learning_rate": 0.001},
}
each = pytest.mark.parametrize("name", MODELS)


@each
def test_rows_not_seen(name):
    """The score is the weighted share of right answers among the rows that something has not seen."""
    X, y = IRIS
    w = np.where(y == 2, 3.0, np.where(np.arange(150) % 5 == 0, 0.0, 1.0))
    model = clone(MODELS[name]).fit(X, y, w)
    there = w > 0
    oob, own, mass = model.oob_decision_function_, y[there], w[there]
    assert oob.shape == (len(own), 3)
    known = ~np.isnan(oob[:, 0])
    right = model.classes_[oob[known].argmax(axis=1)] == own[known]
    assert model.oob_score_ == pytest.approx(mass[known][right].sum() / mass[known].sum())
    assert_allclose(model.class_prior_, np.bincount(own, mass) / mass.sum())
    assert model.schema_.classes == (0, 1, 2)


def test_where_all_has_seen_every_row_there_is_no_score():
    class Knows(GrownClassifier):
        def _grow(self, coding, codes, rows):
            return coding, np.full((codes.n, 2), np.nan)

    assert np.isnan(Knows().fit([[0.0], [1.0]], [0, 1]).oob_score_)


@each
def test_missing_and_unseen_values(name):
    X, y = mixed()
    model = clone(MODELS[name]).fit(X, y)
    asked = pd.DataFrame(
        {"word": ["zebra", None], "number": [np.nan, 9e9], "flag": [True, False], "noise": [np.nan, 0.0]}
    )
    assert_allclose(model.predict_proba(asked).sum(axis=1), 1.0)
    assert (model.n_missing_, model.n_unseen_) == (3, 1)
    assert model.predict({"word": "a", "number": 3.0, "flag": True, "noise": 0.0}).tolist() == ["yes"]


@each
def test_explain_leaves_columns_out(name):
    X, y = mixed()
    model = clone(MODELS[name]).fit(X, y)
    why = model.explain({"word": "a", "number": 2.0, "flag": True, "noise": 0.1}, "yes", "no")
    parts = {p.column: p.log_odds for p in why.parts}
    assert set(parts) == set(X.columns)
    assert max(parts["word"], parts["number"]) > abs(parts["flag"])
    some = X[:7]
    without = model._log_without(some)
    assert without.shape == (7, 4, 3)
    frame = model._open(some)
    codes, _ = model.grown_.coding.code(frame)
    for j in range(4):
        assert_array_equal(without[:, j], np.log(model._answer(frame, codes.without(j))))
    assert_array_equal(model._answer(frame, codes), model.predict_proba(some))


@each
def test_refusals_name_the_reason(name):
    model, (X, y) = clone(MODELS[name]), IRIS
    with pytest.raises(ModelError, match="is text"):
        clone(model).set_params(kinds={"a": "text"}).fit({"a": ["x y", "z"]}, [0, 1])
    with pytest.raises(ValueError, match="infinity"):
        model.fit([[np.inf], [1.0]], [0, 1])
    for wrong in ({"n_jobs": 0}, {"max_memory": 0}, {"class_weight": "even"}, {"progress": 3}, {"random_state": "a"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            clone(model).set_params(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="n_jobs"):
        model.fit(X, y).set_params(n_jobs=0).predict(X)


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_the_growing_and_changes_nothing(name):
    X = np.random.default_rng(0).normal(size=(20_000, 20))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = clone(MODELS[name]).fit(X[:50], y[:50])
    before = model.predict_proba(X[:5])
    model.set_params(n_jobs=1, **LONG[name])
    alarm = threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT))
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background ignores Ctrl-C
    start = time.perf_counter()
    try:
        alarm.start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    finally:
        signal.signal(signal.SIGINT, heard)
    assert time.perf_counter() - start < 60
    assert_array_equal(model.predict_proba(X[:5]), before)


@each
def test_pickles_clones_and_layouts(name):
    X, y = IRIS
    model = clone(MODELS[name]).fit(X, y)
    said = model.predict_proba(X)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), said)
    other = clone(model).fit(np.asfortranarray(X), y)
    assert_array_equal(other.predict_proba(X), said)
    assert_allclose(other.predict_proba(X[::-1])[::-1], said, rtol=1e-9)
    frozen = X.copy()
    frozen.flags.writeable = False
    assert_array_equal(clone(model).fit(frozen, y).predict_proba(frozen), said)


@each
def test_check_estimator(name):
    reason = "rows are drawn: a weight is a chance, and which rows are drawn hangs on their number and order"
    expected = {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    model = clone(MODELS[name])
    few = {"max_rounds": 20} if hasattr(model, "max_rounds") else {"n_trees": 10, "n_members": 3}
    model.set_params(random_state=None, **few)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=expected, on_fail=None)
    failed = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"}
    assert failed == {}
    assert len(results) >= 55


@pytest.mark.parametrize("name", MODELS)
def test_rows_that_weigh_one_are_rows(name):
    X, y = IRIS
    plain, weighed = clone(MODELS[name]).fit(X, y), clone(MODELS[name]).fit(X, y, sample_weight=np.ones(len(y)))
    assert_array_equal(plain.predict_proba(X), weighed.predict_proba(X))
    assert_array_equal(plain.oob_decision_function_, weighed.oob_decision_function_)
