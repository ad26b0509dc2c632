"""What the semi-naive models share: numbers in bins, and the way back to values."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.bayes.semi import _from_values, _told, place_of
from posteriori.errors import ModelError, UnknownColumn


def test_codes_become_values_again():
    assert _from_values(np.array([1, 0, 1]), ("a", 2)).tolist() == [2, "a", 2]
    assert _from_values(np.array([0, 0]), ()).tolist() == [None, None]


@pytest.mark.parametrize("cuts", [[2, 1], [1, 1], [0, np.nan], [np.inf], ["a"], [[1, 2]], 3])
def test_cuts_that_are_told_rise(cuts):
    with pytest.raises(ModelError, match="'z': cuts must be finite numbers in rising order"):
        _told("z", cuts)
    assert _told("z", [1, 2]).tolist() == [1, 2]
    assert _told("z", []).tolist() == []


def test_a_model_s_sample_has_its_kinds():
    X = {"sky": ["a", "b", "b", "a"] * 5, "wind": [1.0, 5.0, 6.0, 2.0] * 5}
    model = po.TAN(cuts={"wind": [3.5]}).fit(X, [0, 1, 1, 0] * 5)
    rows, y = model.sample(50, random_state=0)
    assert set(rows["sky"]) <= {"a", "b"}
    assert ((rows["wind"] >= 0) & (rows["wind"] <= 7)).all()
    assert set(y) <= {0, 1}


def test_a_column_is_named_or_counted_from_either_end():
    names = ("a", "b", "c")
    for told, place in (("b", 1), (0, 0), (2, 2), (-1, 2), (-3, 0), (np.int64(1), 1)):
        assert place_of(told, names, "root") == place
    for wrong in (3, -4, "d", True, 1.0):
        with pytest.raises(UnknownColumn, match="root names no column"):
            place_of(wrong, names, "root")
    with pytest.raises(
        UnknownColumn, match=r"root names no column: 'wnid'; did you mean 'wind'\? Columns: 'sky', 'wind'"
    ):
        place_of("wnid", ("sky", "wind"), "root")


X = {"sky": ["a", "b", "b", "a"] * 5, "wind": [1.0, 5.0, 6.0, 2.0] * 5, "rain": [0.5, 1.5, 0.25, 3.0] * 5}
Y = [0, 1, 1, 0] * 5


def test_cuts_are_told_for_every_number_and_no_other():
    model = po.TAN(cuts={"wind": [3.5], "rain": []}).fit(X, Y)
    assert {k: v.tolist() for k, v in model.cuts_.items()} == {"wind": [3.5], "rain": []}
    with pytest.raises(UnknownColumn, match="unknown 'wnd', missing 'wind'; did you mean 'wind'"):
        po.TAN(cuts={"wnd": [3.5], "rain": []}).fit(X, Y)
    with pytest.raises(UnknownColumn, match="unknown 'sky', missing"):
        po.TAN(cuts={"sky": [1], "wind": [3.5], "rain": []}).fit(X, Y)
    with pytest.raises(UnknownColumn, match="missing 'rain'"):
        po.TAN(cuts={"wind": [3.5]}).fit(X, Y)


def test_cuts_stay_when_more_rows_come():
    model = po.TAN(cuts="quantile", bins=2).fit(X, Y)
    before = {k: v.tolist() for k, v in model.cuts_.items()}
    far = {"sky": ["a"] * 40, "wind": [100.0] * 40, "rain": [50.0] * 40}
    model.partial_fit(far, [0] * 40)
    assert {k: v.tolist() for k, v in model.cuts_.items()} == before
    assert model.class_count_.tolist() == [50, 10]


def test_a_summary_names_parents_and_ranks_by_information():
    model = po.TAN(root="sky", kinds="categorical").fit(X, Y)
    told = model.summary().set_index("column")
    edges = {child: parent for parent, child in model.edges_}
    assert told["parents"].to_dict() == {name: edges.get(name, "") for name in X}
    assert told.loc["sky", "parents"] == ""
    assert told["information"].is_monotonic_decreasing
    assert told.loc["sky", "information"] == pytest.approx(np.log(2))
    assert told["values"].to_dict() == {"sky": 2, "wind": 4, "rain": 4}
    two = po.KDB(2, kinds="categorical").fit(X, Y)
    parents = two.summary().set_index("column")["parents"]
    for name in X:
        assert parents[name] == ", ".join(p for p, child in two.edges_ if child == name)


def test_gaps_and_strangers_are_told_of_the_rows_last_looked_at():
    model = po.TAN(kinds="categorical").fit(X | {"sky": [None, *X["sky"][1:]]}, Y)
    assert (model.n_missing_, model.n_unseen_) == (1, 0)
    model.predict({"sky": ["new", None], "wind": [None, 1.0], "rain": [9.0, 0.5]})
    assert (model.n_missing_, model.n_unseen_) == (2, 2)


def test_without_labels_numbers_are_cut_by_equal_weight():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    model = po.TAN(unlabelled=None)
    data = model._hidden({"x": x, "z": -x}, None, None, 2, False)
    cuts = data.turns.cuts
    share = np.bincount(np.searchsorted(cuts[0], x, side="right")) / 60
    assert share == pytest.approx(np.full(10, 0.1), abs=0.02)
    assert data.template.cuts == "mdl"  # the parameter stays as it was told
    told = po.TAN(unlabelled=None, cuts={"x": [0.0], "z": [1.0]})._hidden({"x": x, "z": -x}, None, None, 2, False)
    assert [c.tolist() for c in told.turns.cuts] == [[0.0], [1.0]]
