"""Learning, forgetting and fading: all of a call or nothing of it."""

from __future__ import annotations

import copy
import pickle
import re
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.bayes import pending
from posteriori.bayes.learning import class_array
from posteriori.errors import BadParameter, ModelError, PosterioriError, StatisticsError, TableError, UnknownColumn

X = np.array([["a", "u"], ["b", "u"], ["a", "v"], ["b", "v"]], dtype=object)
Y = np.array(["no", "yes", "yes", "no"])
KINDS = {"word": "categorical", "flag": "binary", "hits": "count", "size": "numeric", "note": "text"}
DROP_INS = ["CategoricalNB", "GaussianNB", "MultinomialNB", "ComplementNB", "BernoulliNB"]


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
    assert model._pending is not None
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    assert model.predict_proba(X).shape == (4, 3)
    assert model.class_count_.tolist() == [1, 2, 2]
    early = po.NaiveBayes().partial_fit(X, Y, classes=["no", "x", "yes"]).partial_fit(X[:1], ["z"])
    assert early.classes_.tolist() == ["no", "x", "yes", "z"]


def table(seed: int, n: int = 40) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "word": rng.choice(["a", "b", "c", None], n),
            "flag": rng.choice([True, False, None], n),
            "hits": rng.integers(0, 9, n),
            "size": rng.choice([1.5, -2.0, np.nan, 7.25], n),
            "note": rng.choice(["win cash", "see you", "", None], n),
        }
    )
    return frame, rng.choice(["x", "y"], n)


def same(a, b) -> None:
    s, t = a.statistics_, b.statistics_
    assert (s.schema, s.cells, s.words, s.histograms) == (t.schema, t.cells, t.words, t.histograms)
    assert np.array_equal(s.rows, t.rows)
    assert np.array_equal(a.classes_, b.classes_)
    np.testing.assert_allclose(s.moments.mean, t.moments.mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(s.moments.m2, t.moments.m2, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("density", [None, {"size": "kernel", "hits": "poisson"}], ids=str)
@given(seed=st.integers(0, 99), asked=st.sets(st.integers(0, 39)), form=st.sampled_from(["dict", "frame", "array"]))
def test_one_by_one_is_all_at_once(density, seed, asked, form):
    X, y = table(seed)
    new, label = pd.DataFrame([{**X.iloc[0], "word": "new", "size": 1e9}]), np.array(["z"])
    whole = po.NaiveBayes(kinds=KINDS, density=density).fit(pd.concat([X, new]), np.append(y, label))
    grown = po.NaiveBayes(kinds=KINDS, density=density).fit(X[:5], y[:5])
    waited = 0
    for i in range(5, 41):
        row, c = (X[i : i + 1], y[i : i + 1]) if i < 40 else (new, label)
        row = row if form == "frame" else row.iloc[0].to_dict() if form == "dict" else row.to_numpy(dtype=object)
        grown.partial_fit(row, c)
        waited += grown._pending is not None
        if i in asked:
            grown.predict_proba(X[:3])
    assert waited > 25
    assert grown.classes_.tolist() == ["x", "y", "z"]
    same(whole, grown)
    np.testing.assert_allclose(whole.predict_proba(X), grown.predict_proba(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", DROP_INS)
def test_drop_ins(name):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (60, 3)), rng.integers(0, 3, 60)
    X[-1] = 9
    X = X if name == "CategoricalNB" else X.astype(float)
    whole, grown = getattr(po, name)().fit(X, y), getattr(po, name)().fit(X[:20], y[:20])
    for i in range(20, 60):
        grown.partial_fit(X[i : i + 1], y[i : i + 1])
        assert grown._pending is not None
    assert np.array_equal(whole.class_count_, grown.class_count_)
    np.testing.assert_allclose(whole.predict_proba(X), grown.predict_proba(X), rtol=1e-9)
    with pytest.raises(ValueError, match="initial classes"):
        grown.partial_fit(X[:1], [7])


def test_values_held_by_others_stay_as_they_are():
    X, y = table(1)
    model = po.NaiveBayes(kinds=KINDS).fit(X, y)
    held = model.statistics_
    image = copy.deepcopy(held)
    other = copy.copy(model.partial_fit(X[:1], y[:1]))
    third = pickle.loads(pickle.dumps(model.partial_fit(X[:1], y[:1])))
    model.partial_fit(X[:1], y[:1])
    assert held == image
    assert held is not model.statistics_
    assert [m.class_count_.sum() for m in (other, third, model)] == [41, 42, 43]
    same(model.forget(pd.concat([X[:1]] * 3), np.repeat(y[:1], 3)), po.NaiveBayes(kinds=KINDS).fit(X, y))


def test_rows_are_counted_under_the_parameters_they_came_under():
    X, y = table(2)
    model = po.NaiveBayes(kinds=KINDS).fit(X, y).partial_fit(X[:1], y[:1])
    model.class_weight, model.smoothing = {"x": 9.0, "y": 9.0}, 0.5
    assert model.class_count_.sum() == 41
    bits = po.BernoulliNB(binarize=1.0).fit([[0.0, 2.0], [2.0, 0.0]], [0, 1]).partial_fit(np.array([[1.5, 0.5]]), [0])
    bits.binarize = 0.0
    assert bits.feature_count_.tolist() == [[1, 1], [1, 0]]


@pytest.mark.parametrize(
    "spoilt",
    [
        {"size": np.inf},
        {"size": "wide"},
        {"hits": -1},
        {"flag": "maybe"},
        {"word": ["a"]},
        {"note": 3.5},
        {"else": 1},
    ],
    ids=str,
)
def test_a_row_that_cannot_be_learned_is_refused_at_once(spoilt):
    X, y = table(3)
    model = po.NaiveBayes(kinds=KINDS).fit(X, y).partial_fit(X[:1], y[:1])
    before, rows = dict(vars(model)), list(model._pending.rows)
    with pytest.raises((PosterioriError, ValueError, TypeError)):
        model.partial_fit({**X.iloc[0].to_dict(), **spoilt}, y[:1])
    assert vars(model) == before
    assert model._pending.rows == rows
    for bad in ([None], [np.nan], ["x", "y"], "x", None):
        with pytest.raises((PosterioriError, ValueError, TypeError)):
            model.partial_fit(X[:1], bad)
    model.smoothing = -1.0
    with pytest.raises(ValueError, match="smoothing"):
        model.partial_fit(X[:1], y[:1])
    model.smoothing = 1.0
    assert model.class_count_.sum() == 41


@pytest.mark.parametrize(("seen", "third"), [(("u", "v"), "w"), ((0, 1), 2), ((0.5, 1.5), 2.5)])
def test_a_third_value_of_two_is_refused_at_once_of_whichever_type(seen, third):
    X, y = np.array([[v] for v in seen * 4], dtype=object), np.tile(["x", "y"], 4)
    model = po.NaiveBayes(kinds="binary").fit(X, y).partial_fit(X[:1], y[:1])
    with pytest.raises(PosterioriError, match=str(third)):
        model.partial_fit(np.array([[third]], dtype=object), y[:1])
    assert model.partial_fit(X[:1], y[:1]).class_count_.sum() == 10


def test_many_rows_do_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(pending, "FEWEST", 8)
    monkeypatch.setattr(pending, "MOST", 8)
    X, y = table(4)
    model = po.NaiveBayes(kinds=KINDS).fit(X, y)
    for i in range(100):
        model.partial_fit(X[i % 40 : i % 40 + 1], y[i % 40 : i % 40 + 1])
        assert len(model._pending.rows if model._pending is not None else ()) < 8
    assert model.class_count_.sum() == 140


def test_missing_cells_are_told_of_the_last_row():
    X, y = table(5)
    model = po.NaiveBayes(kinds=KINDS).fit(X, y)
    for i in range(40):
        alone = (
            po.NaiveBayes(kinds=KINDS).partial_fit(X, y).partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=[1.0])
        )
        assert model.partial_fit(X[i : i + 1], y[i : i + 1]).n_missing_ == alone.n_missing_


SEMI = {
    "TAN": po.TAN(),
    "AODE": po.AODE(),
    "lazy AODE": po.AODE(lazy=True),
    "A2DE": po.A2DE(),
    "KDB": po.KDB(k=2),
    "SPODE": po.SPODE(super_parent="word"),
}


@pytest.mark.parametrize("name", SEMI)
@given(seed=st.integers(0, 99), asked=st.sets(st.integers(0, 39), max_size=3))
def test_semi_naive_one_by_one(name, seed, asked):
    """Rows of values that are known wait; a new value is learned, or refused, at once."""
    X, y = table(seed)
    X = X.drop(columns="note")
    X.loc[0, ["word", "flag"]], X.loc[1, ["word", "flag"]], X.loc[2, "word"] = ("a", True), ("b", False), "c"
    kinds = {k: v for k, v in KINDS.items() if k != "note"}
    grown = copy.deepcopy(SEMI[name]).set_params(kinds=kinds).fit(X[:20], y[:20])
    at_once = copy.deepcopy(grown).partial_fit(X[20:], y[20:])
    for i in range(20, 40):
        grown.partial_fit(X[i : i + 1], y[i : i + 1])
        assert grown._pending is not None
        if i in asked:
            grown.predict_proba(X[:3])
    assert grown.statistics_ == at_once.statistics_
    np.testing.assert_allclose(grown.predict_proba(X), at_once.predict_proba(X), rtol=1e-9)
    new = X[:1].assign(word="new")
    grown.partial_fit(new, y[:1])
    assert grown._pending is None
    assert "new" in grown.schema_["word"].values


def a_room(**kinds):
    X, y = table(0)
    return pending.PendingCells.of(po.NaiveBayes(kinds=KINDS | kinds).fit(X, y).statistics_, [])


ROW = {"word": "a", "flag": True, "hits": 3, "size": 1.5, "note": "see"}


@pytest.mark.parametrize(
    ("column", "cell", "waits"),
    [
        ("word", "new", True),
        ("word", 1, False),  # another type than its values have
        ("word", np.str_("new"), True),
        ("flag", False, True),
        ("flag", 1, True),  # is True
        ("flag", 2, False),
        ("flag", np.bool_(True), True),
        ("flag", b"x", False),
        ("hits", 0, True),
        ("hits", -1, False),
        ("hits", -0.5, False),
        ("hits", np.nextafter(2.0**32, 0), True),
        ("hits", 2**32, False),  # sums of such counts may lose their last digit
        ("hits", np.int64(7), True),
        ("hits", "7", False),
        ("size", 0.99e100, True),
        ("size", 1e100, False),  # the squares of greater ones overflow in sums
        ("size", -1e100, True),
        ("size", -1.01e100, False),
        ("size", True, True),
        ("size", 1 + 0j, False),
        ("size", np.inf, False),
        ("note", "", True),
        ("note", 3, False),
    ],
)
def test_only_a_cell_that_no_check_could_refuse_may_wait(column, cell, waits):
    room = a_room()
    found = room.cells_of(ROW | {column: cell})
    assert (found is not None) == waits
    if waits:
        row, missing = found
        assert dict(zip(room.base.schema.names, row)) == ROW | {column: cell}
        assert missing == 0
        assert type(row[list(ROW).index(column)]) in (str, int, float, bool)  # no NumPy


def test_gaps_of_a_row_that_waits_are_counted_but_for_words():
    for gap in (None, float("nan"), np.float64("nan")):
        found = a_room().cells_of({"word": gap, "flag": gap, "hits": gap, "size": gap, "note": gap})
        assert found == ([None] * 5, 4)


def test_forms_of_one_row():
    room, frame = a_room(), pd.DataFrame([ROW])
    cells = list(ROW.values())
    for X in (ROW, dict(reversed(ROW.items())), frame, frame.to_numpy(dtype=object)):
        assert room.cells_of(X) == (cells, 0)
    short = {k: v for k, v in ROW.items() if k != "note"}
    for X in (
        ROW | {"more": 1},
        short,
        short | {"other": "see"},
        frame[["flag", "word", "hits", "size", "note"]],
        pd.concat([frame, frame]),
        frame.to_numpy(dtype=object)[:, :4],
        frame.to_numpy(dtype=object)[0],
        np.array([[b"a"] * 5]),
        cells,
    ):
        assert room.cells_of(X) is None


def test_a_label_waits_if_it_is_of_the_type_that_the_classes_have():
    X, _ = table(0)
    words = a_room()
    for one in (["x"], ("x",), np.array(["x"]), pd.Series(["x"])):
        assert words.label_of(one) == "x"
    for other in (["x", "y"], [], "x", [1], [None], np.array([["x"]])):
        assert words.label_of(other) is None
    numbers = pending.PendingCells.of(po.NaiveBayes(kinds=KINDS).fit(X, np.arange(40) % 2).statistics_, [])
    for label, waits in ((1, True), (2**62 - 1, True), (2**62, False), (-(2**62), False), (1 - 2**62, True)):
        assert numbers.label_of([label]) == (label if waits else None)
    assert numbers.label_of([True]) is None
    assert numbers.label_of([1.0]) is None


@pytest.mark.parametrize(
    ("classes", "most", "plain"),
    [
        (("a", "b"), 5, True),
        ((1, 2), 5, True),
        ((False, True), 5, True),
        ((1.5, 2.5), 5, False),
        (("a", 1), 5, False),
        (("a", "b"), 2**62 - 1, True),
        (("a", "b"), 2**62, False),
    ],
)
def test_classes_for_which_rows_may_wait(classes, most, plain):
    base = SimpleNamespace(schema=SimpleNamespace(classes=classes), rows=np.array([1, most]))
    assert pending.has_plain_classes(base) == plain


def test_columns_for_which_rows_may_wait():
    X, y = table(0)
    assert [k if isinstance(k, str) else type(k) if isinstance(k, dict) else k for k in a_room().kinds] == [
        str,
        dict,
        "count",
        "numeric",
        "words",
    ]
    for cells in ([b"u", b"v"], [None, None]):  # values of a type that a row may write otherwise, or of none
        odd = po.NaiveBayes(kinds="categorical").fit({"odd": np.array(cells, dtype=object)}, ["x", "y"])
        assert pending.PendingCells.of(odd.statistics_, []) is None
    cut = po.TAN(kinds={k: v for k, v in KINDS.items() if k != "note"}).fit(X.drop(columns="note"), y)
    kinds = pending.PendingCells.of(cut.statistics_, []).kinds
    assert [type(k) for k in kinds[:2]] == [dict, dict]  # a new value may be refused: tables grow
    assert kinds[3] == "numeric"
    many = po.NaiveBayes(kinds=KINDS).fit(X, y).statistics_
    many.words.table[0, 0] = 2**62
    assert pending.PendingCells.of(many, []) is None
    many.words.table[0, 0] -= 1
    assert pending.PendingCells.of(many, []) is not None


def test_rows_that_waited_are_a_table():
    room = a_room()
    for word, size in (("a", 1), ("b", None)):
        room.rows.append((room.cells_of(ROW | {"word": word, "size": size})[0], "x"))
    frame = room.table_of([row for row, _ in room.rows])
    assert frame.n == 2
    assert [c.dtype.kind for c in frame.columns] == list("OOffO")
    assert frame.columns[0].tolist() == ["a", "b"]
    np.testing.assert_array_equal(frame.columns[3], [1.0, np.nan])


def test_what_a_wide_table_lets_wait_is_less(monkeypatch):
    X, y = np.arange(40).reshape(2, 20) % 3, ["x", "y"]
    model = po.NaiveBayes(kinds="categorical").fit(X, y)
    assert pending.PendingMatrix(model.statistics_, 0, []).most == pending.FEWEST
    assert pending.FEWEST < pending.PendingMatrix(model.statistics_, 8 * 5000, []).most < pending.MOST
    assert pending.PendingMatrix(model.statistics_, 1 << 40, []).most == pending.MOST
    wide = po.NaiveBayes(kinds="categorical").fit(np.zeros((2, 3000), dtype=int), y)
    assert 0 < pending.PendingCells.of(wide.statistics_, []).most < pending.FEWEST


@pytest.mark.parametrize(
    "make", [po.NaiveBayes, lambda: po.TAN(kinds="categorical"), po.GaussianNB], ids=["nb", "tan", "g"]
)
def test_no_row_is_lost_while_others_predict(make):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (400, 3)).astype(float), np.arange(400) % 2
    model, stop, calls, wrong = make().fit(X[:40], y[:40]), threading.Event(), [0] * 8, []

    def read(k):
        while not stop.is_set():
            total = model.predict_proba(X[:5]).sum(axis=1)
            if not np.allclose(total, 1):
                wrong.append(total)
            calls[k] += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    readers = [threading.Thread(target=read, args=(k,)) for k in range(8)]
    try:
        for reader in readers:
            reader.start()
        for i in range(40, 400):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
            if i % 90 == 0:
                model.partial_fit(X[:2], y[:2]).forget(X[:2], y[:2])
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        for reader in readers:
            reader.join()
    assert min(calls) > 0
    assert not wrong
    whole = make().fit(X, y)
    np.testing.assert_array_equal(model.class_count_, whole.class_count_)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_readers_leave_what_learning_reads_alone():
    X, y = table(7)
    model = po.NaiveBayes(kinds=KINDS).fit(X, y).partial_fit(X[:1], y[:1])
    pending, before = model._pending, vars(model)["statistics_"]
    assert model.class_count_.sum() == 41
    assert model._pending is pending
    assert vars(model)["statistics_"] is before
    assert len(pending.rows) == 1
    model.partial_fit(X[1:2], y[1:2])
    assert model.class_count_.sum() == 42
    assert model._pending is pending


@pytest.mark.parametrize("label", [np.str_("x"), np.int64(1), np.bool_(True)])
def test_labels_of_numpy_wait_as_those_of_python_do(label):
    X, _ = table(8)
    other = {np.str_: "y", np.int64: 0, np.bool_: False}[type(label)]
    model = po.NaiveBayes(kinds=KINDS).fit(X, np.where(np.arange(len(X)) % 2, label.item(), other))
    model.partial_fit(X[:1], [label])
    assert model._pending is not None
    assert model.classes_.tolist() == sorted([label.item(), other])
