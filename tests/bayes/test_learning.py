"""Learning, forgetting and fading: all of a call or nothing of it."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.bayes.learning import class_array
from posteriori.errors import BadParameter, ModelError, StatisticsError, TableError, UnknownColumn

X = np.array([["a", "u"], ["b", "u"], ["a", "v"], ["b", "v"]], dtype=object)
Y = np.array(["no", "yes", "yes", "no"])


@pytest.mark.parametrize("make", [po.NaiveBayes, po.TAN, po.AODE])
def test_the_last_row_is_not_forgotten(make):
    model = make().fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(StatisticsError, match="last row"):
        model.forget(X, Y)
    assert np.array_equal(model.predict_proba(X), before)
    model.forget(X[1:], Y[1:])
    with pytest.raises(StatisticsError, match="last row"):
        model.forget(X[:1], Y[:1])
    assert model.predict(X[:1]).tolist() == ["no"]


def test_declared_classes_do_not_stand_for_rows():
    model = po.NaiveBayes().partial_fit(X, Y, classes=["maybe", "no", "yes"])
    with pytest.raises(StatisticsError, match="last row"):
        model.forget(X, Y)
    assert model.forget(X[1:], Y[1:]).classes_.tolist() == ["maybe", "no", "yes"]


def test_weights_that_cancel_leave_no_model():
    model = po.NaiveBayes().fit(X, Y, [0.1, 0.2, 0.3, 0.4])
    with pytest.raises(StatisticsError, match="last row"):
        model.forget(X, Y, [0.1, 0.2, 0.3, 0.4])


def test_a_decay_that_leaves_nothing_is_refused():
    model = po.NaiveBayes().fit(X, Y)
    with pytest.raises(StatisticsError, match="underflow"):
        model.decay(1e-200).decay(1e-200)
    with pytest.raises(ValueError, match=r"\(0, 1\]"):
        model.decay(0.0)
    with pytest.raises(ValueError, match=r"\(0, 1\]"):
        model.decay(1.5)


def test_a_failed_call_forgets_nothing_of_before():
    model = po.NaiveBayes().fit(X, Y)
    before, state = model.predict_proba(X), set(vars(model))
    with pytest.raises(ValueError):
        model.forget(np.array([["a", "w"]], dtype=object), ["no"])
    with pytest.raises(ValueError):
        model.partial_fit(X[:, :1], Y)
    assert np.array_equal(model.predict_proba(X), before)
    assert set(vars(model)) == state


@pytest.mark.parametrize("make", [po.NaiveBayes, po.TAN, po.AODE, po.KDB, po.SPODE, po.A2DE, po.CategoricalNB])
def test_fitted_anew_a_model_has_nothing_left_of_before(make):
    """Not even the names of its columns."""
    frame, y = pd.DataFrame({"a": [0, 1, 1, 0], "b": [0, 0, 1, 1]}), np.array([0, 1, 1, 0])
    fresh, again = (make().fit(frame.to_numpy(), y), make().fit(frame, y).fit(frame.to_numpy(), y))
    assert set(vars(again)) == set(vars(fresh))
    assert not hasattr(again, "feature_names_in_")


def test_classes_come_in_the_dtype_of_their_labels():
    """The first dtype of numbers that holds them all; else text as text, and objects where types differ or were objects."""
    ints, floats, small, obj, text = (np.dtype(t) for t in (np.int64, np.float64, np.int8, object, "U3"))
    for classes, dtypes, kind in (
        ((1, 2), (ints,), ints),
        ((1, 2), (small, ints), small),
        ((1, 300), (small, ints), ints),  # too great for the first
        ((1.5, 2.5), (ints, floats), floats),
        ((1, 2), (obj, small), small),
        ((1, 2), (obj,), obj),
        (("a", "b"), (text,), np.dtype("U1")),
        (("a", "b"), (obj,), obj),
        (("a", "b"), (ints, text), np.dtype("U1")),
        (("a", 1), (text, ints), obj),
        ((True, False), (np.dtype(bool),), np.dtype(bool)),
    ):
        found = class_array(classes, *dtypes)
        assert found.dtype == kind, (classes, dtypes)
        assert found.tolist() == list(classes)


def test_what_a_decay_may_be():
    for factor in (0.0, -0.5, 1.0000001, "half", None):
        with pytest.raises(BadParameter, match=r"lies in \(0, 1\]\. Got " + re.escape(repr(factor))):
            po.NaiveBayes().fit(X, Y).decay(factor)
    assert po.NaiveBayes().fit(X, Y).decay(1).class_count_.tolist() == [2.0, 2.0]
    assert po.NaiveBayes().fit(X, Y).decay(0.25).class_count_.tolist() == [0.5, 0.5]
    assert po.NaiveBayes().fit(X, Y).decay(np.float32(0.5)).class_count_.tolist() == [1.0, 1.0]


def test_models_of_other_columns_are_not_added_and_named():
    cells, y = np.array([[0, 1], [1, 0]]), [0, 1]
    ab, ac, ba = (po.MultinomialNB().fit(pd.DataFrame(cells, columns=list(c)), y) for c in ("ab", "ac", "ba"))
    with pytest.raises(UnknownColumn, match="added: 'c' against 'a', 'b'"):
        ab + ac
    with pytest.raises(UnknownColumn, match="added: 'b', 'a' against 'a', 'b'"):
        ab + ba
    with pytest.raises(StatisticsError, match="models of 2 and 3 features"):
        ab + po.MultinomialNB().fit(np.ones((2, 3)), y)
    nameless = po.MultinomialNB().fit(cells, y)
    for both in (ab + nameless, nameless + ab, sum([ab, ab])):
        assert both.class_count_.tolist() == [2.0, 2.0]
    assert sum([ab]) is not ab
    for wrong in (1, 0.0, "a"):
        with pytest.raises(TypeError):
            wrong + ab
    with pytest.raises(TypeError):
        ab + po.BernoulliNB().fit(cells, y)


def test_rows_and_labels_of_other_lengths():
    with pytest.raises(TableError, match="X has 2 rows but y has 3 labels"):
        po.MultinomialNB().fit(np.ones((2, 2)), [0, 1, 1])


def test_balanced_classes_need_all_rows():
    model = po.NaiveBayes(class_weight="balanced")
    with pytest.raises(ValueError, match="needs all rows at once: give partial_fit a dict"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="needs all rows at once: such rows cannot be forgotten alone"):
        model.fit(X, Y).forget(X[:1], Y[:1])


def test_nothing_is_added_to_what_was_inferred():
    some = np.array(["no", "yes", "yes", None], dtype=object)
    inferred = po.NaiveBayes(unlabelled=None, unlabelled_weight=1.0).fit(X, some)
    plain = po.NaiveBayes().fit(X, Y)
    for what, call in (
        ("partial_fit", lambda: inferred.partial_fit(X, Y)),
        ("forget", lambda: inferred.forget(X[:1], Y[:1])),
        ("decay", lambda: inferred.decay(0.5)),
        (r"\+", lambda: inferred + plain),
        (r"\+", lambda: plain + inferred),
    ):
        with pytest.raises(ModelError, match=f"{what} after EM"):
            call()


def test_a_new_class_that_waits_is_known_at_once():
    model = po.NaiveBayes().fit(X, Y)
    model.predict(X)
    model.partial_fit(X[:1], ["maybe"])
    assert "_waiting" in vars(model)
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    assert model.predict_proba(X).shape == (4, 3)
    assert model.class_count_.tolist() == [1, 2, 2]
    early = po.NaiveBayes().partial_fit(X, Y, classes=["no", "x", "yes"]).partial_fit(X[:1], ["z"])
    assert early.classes_.tolist() == ["no", "x", "yes", "z"]
