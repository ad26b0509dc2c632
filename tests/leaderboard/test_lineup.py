"""Who takes part: made for the task, barred with a reason, named or given."""

from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import posteriori as po
from posteriori.errors import BadParameter
from posteriori.leaderboard import lineup as l
from posteriori.leaderboard.lineup import Task, chosen, is_ours, lineup


def task(n=100, kinds=("numeric", "categorical"), classes=2, seed=7):
    return Task(n, tuple(kinds), tuple(f"c{j}" for j in range(len(kinds))), classes, seed)


@pytest.mark.parametrize("name", list(lineup()))
def test_everybody_can_be_made_and_takes_the_seed(name):
    entry, t = lineup()[name], task()
    made = entry.make(t)
    assert hasattr(clone(made), "fit")
    assert entry.name == name
    assert entry.says
    drawn = {k: v for k, v in made.get_params().items() if k.split("__")[-1] in ("random_state", "seed")}
    assert set(drawn.values()) <= {7, None}
    if "kinds" in made.get_params(deep=False):
        assert made.kinds == {"c0": "numeric", "c1": "categorical"}


def left_out(**told):
    return {e.name: why for e, why in chosen(None, task(**told))[1]}


def test_tables_that_are_too_much_bar_those_for_whom_they_are():
    assert set(left_out()) == {"gaussian", "mixture"}
    assert left_out(kinds=("numeric",)) == {}
    assert "'c1'" in left_out()["gaussian"]
    wide = left_out(kinds=("numeric",) * 501)
    assert {"spode", "tan", "aode", "a2de", "kdb", "network", "gaussian", "mixture"} <= set(wide)
    assert "naive" not in wide
    assert "125,250 pairs" in wide["tan"]
    assert {"a2de"} <= set(left_out(kinds=("numeric",) * 61)) - set(left_out(kinds=("numeric",) * 60))
    assert {"network"} <= set(left_out(kinds=("numeric",) * 101)) - set(left_out(kinds=("numeric",) * 100))
    assert {"bagging", "adaboost", "boosting"} <= set(left_out(kinds=("numeric",) * 2001)) - set(wide)
    assert "more rows than 50 a class" in left_out(kinds=("numeric",) * 51)["gaussian"]
    assert "gaussian" not in left_out(kinds=("numeric",) * 49)
    text = left_out(kinds=("text", "numeric"))
    assert {"tan", "knn", "boosting", "network"} <= set(text)
    assert not {"naive", "logistic", "linear-svc"} & set(text)
    tall = left_out(n=l.SVM_ROWS + 1, kinds=("numeric",))
    assert "svc" in tall
    assert "svc" not in left_out(n=l.SVM_ROWS, kinds=("numeric",))
    assert "knn" in left_out(n=50_000, kinds=("numeric",))
    huge = left_out(n=int(l.CELLS), kinds=("numeric",) * 2)
    assert {"logistic", "forest", "mlp"} <= set(huge)
    assert "naive" not in huge


def test_names_and_estimators_keep_names_of_their_own():
    running, out = chosen(["naive", "naive", po.TAN(), LogisticRegression()], task())
    assert [e.name for e, _ in running] == ["naive", "naive (2)", "TAN", "LogisticRegression"]
    assert [e.ours for e, _ in running] == [True, True, True, False]
    assert out == []
    running, _ = chosen({"mine": "naive", "yours": LogisticRegression()}, task())
    assert [e.name for e, _ in running] == ["mine", "yours"]
    assert [e.name for e, _ in chosen("tan", task())[0]] == ["tan"]
    with pytest.raises(BadParameter, match="did you mean 'naive'"):
        chosen(["naiv"], task())
    with pytest.raises(BadParameter, match="empty"):
        chosen([], task())
    with pytest.raises(BadParameter, match="classifiers"):
        chosen([object()], task())


def test_a_subclass_is_its_author_s():
    class Mine(po.TAN):
        pass

    assert is_ours(po.TAN())
    assert not is_ours(Mine())
    assert not is_ours(LogisticRegression())
