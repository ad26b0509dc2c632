"""Rows that come one at a time wait to be counted; nobody can tell, whatever is asked, changed or refused in between."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.bayes import waiting
from posteriori.errors import PosterioriError

KINDS = {"word": "categorical", "flag": "binary", "hits": "count", "size": "numeric", "note": "text"}
DROP_INS = ["CategoricalNB", "GaussianNB", "MultinomialNB", "ComplementNB", "BernoulliNB"]


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
        waited += "_waiting" in vars(grown)
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
        assert "_waiting" in vars(grown)
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
    before, rows = dict(vars(model)), list(vars(model)["_waiting"].rows)
    with pytest.raises((PosterioriError, ValueError, TypeError)):
        model.partial_fit({**X.iloc[0].to_dict(), **spoilt}, y[:1])
    assert vars(model) == before
    assert vars(model)["_waiting"].rows == rows
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
    monkeypatch.setattr(waiting, "FEWEST", 8)
    monkeypatch.setattr(waiting, "MOST", 8)
    X, y = table(4)
    model = po.NaiveBayes(kinds=KINDS).fit(X, y)
    for i in range(100):
        model.partial_fit(X[i % 40 : i % 40 + 1], y[i % 40 : i % 40 + 1])
        assert len(vars(model)["_waiting"].rows if "_waiting" in vars(model) else ()) < 8
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
        assert "_waiting" in vars(grown)
        if i in asked:
            grown.predict_proba(X[:3])
    assert grown.statistics_ == at_once.statistics_
    np.testing.assert_allclose(grown.predict_proba(X), at_once.predict_proba(X), rtol=1e-9)
    new = X[:1].assign(word="new")
    grown.partial_fit(new, y[:1])
    assert "_waiting" not in vars(grown)
    assert "new" in grown.schema_["word"].values


def a_room(**kinds):
    X, y = table(0)
    return waiting.table_room(po.NaiveBayes(kinds=KINDS | kinds).fit(X, y).statistics_, [])


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
    found = waiting.row_of(room, ROW | {column: cell})
    assert (found is not None) == waits
    if waits:
        row, missing = found
        assert dict(zip(room.base.schema.names, row)) == ROW | {column: cell}
        assert missing == 0
        assert type(row[list(ROW).index(column)]) in (str, int, float, bool)  # no NumPy


def test_gaps_of_a_row_that_waits_are_counted_but_for_words():
    for gap in (None, float("nan"), np.float64("nan")):
        found = waiting.row_of(a_room(), {"word": gap, "flag": gap, "hits": gap, "size": gap, "note": gap})
        assert found == ([None] * 5, 4)


def test_forms_of_one_row():
    room, frame = a_room(), pd.DataFrame([ROW])
    cells = list(ROW.values())
    for X in (ROW, dict(reversed(ROW.items())), frame, frame.to_numpy(dtype=object)):
        assert waiting.row_of(room, X) == (cells, 0)
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
        assert waiting.row_of(room, X) is None


def test_a_label_waits_if_it_is_of_the_type_that_the_classes_have():
    X, _ = table(0)
    words = a_room()
    for one in (["x"], ("x",), np.array(["x"]), pd.Series(["x"])):
        assert words.label_of(one) == "x"
    for other in (["x", "y"], [], "x", [1], [None], np.array([["x"]])):
        assert words.label_of(other) is None
    numbers = waiting.table_room(po.NaiveBayes(kinds=KINDS).fit(X, np.arange(40) % 2).statistics_, [])
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
    assert waiting.has_plain_classes(base) == plain


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
        assert waiting.table_room(odd.statistics_, []) is None
    cut = po.TAN(kinds={k: v for k, v in KINDS.items() if k != "note"}).fit(X.drop(columns="note"), y)
    kinds = waiting.table_room(cut.statistics_, []).kinds
    assert [type(k) for k in kinds[:2]] == [dict, dict]  # a new value may be refused: tables grow
    assert kinds[3] == "numeric"
    many = po.NaiveBayes(kinds=KINDS).fit(X, y).statistics_
    many.words.table[0, 0] = 2**62
    assert waiting.table_room(many, []) is None
    many.words.table[0, 0] -= 1
    assert waiting.table_room(many, []) is not None


def test_rows_that_waited_are_a_table():
    room = a_room()
    for word, size in (("a", 1), ("b", None)):
        room.rows.append((waiting.row_of(room, ROW | {"word": word, "size": size})[0], "x"))
    frame = waiting.table_of(room)
    assert frame.n == 2
    assert [c.dtype.kind for c in frame.columns] == list("OOffO")
    assert frame.columns[0].tolist() == ["a", "b"]
    np.testing.assert_array_equal(frame.columns[3], [1.0, np.nan])
    assert room.labels.tolist() == ["x", "x"]


def test_what_a_wide_table_lets_wait_is_less(monkeypatch):
    X, y = np.arange(40).reshape(2, 20) % 3, ["x", "y"]
    model = po.NaiveBayes(kinds="categorical").fit(X, y)
    assert waiting.Room(model.statistics_, 0, []).most == waiting.FEWEST
    assert waiting.FEWEST < waiting.Room(model.statistics_, 8 * 5000, []).most < waiting.MOST
    assert waiting.Room(model.statistics_, 1 << 40, []).most == waiting.MOST
    wide = po.NaiveBayes(kinds="categorical").fit(np.zeros((2, 3000), dtype=int), y)
    assert 0 < waiting.table_room(wide.statistics_, []).most < waiting.FEWEST
