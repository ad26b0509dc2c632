"""Who takes part: made for the task, barred with a reason, named or given."""

from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import posteriori as po
from posteriori.decision.on_points import Calibrated, OnPoints
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


TOLD = {
    "boosting": {"categorical_features": [1]},
    "knn": {"n_neighbors": "auto", "metric": "gower", "smoothing": 1 / 2},
    "svc": {"probability": True},
    "logistic": {"max_iter": 1000},
    "tree": {"min_samples_leaf": 5},
    "bagging": {"n_estimators": 30},
    "forest": {"n_jobs": 1},  # of a small table
    "mlp": {"hidden_layer_sizes": (32,), "max_iter": 500},
}


@pytest.mark.parametrize("name", list(lineup()))
def test_models_run_as_they_come_but_for_what_is_told(name):
    """A board compares what people would use: neither ours nor theirs is tuned."""
    model = lineup()[name].make(task(classes=2))
    while isinstance(model, OnPoints | Calibrated):
        model = model.estimator
    default = type(model)().get_params(deep=False)
    told = {k: v for k, v in model.get_params(deep=False).items() if v != default[k]}
    assert {k: v for k, v in told.items() if k not in ("random_state", "kinds")} == TOLD.get(name, {})


def test_large_tables_are_run_as_such():
    assert lineup()["forest"].make(task(n=5000)).estimator.n_jobs == 1
    assert lineup()["forest"].make(task(n=5001)).estimator.n_jobs == -1
    assert not lineup()["mlp"].make(task(n=999)).estimator.early_stopping
    assert lineup()["mlp"].make(task(n=1000)).estimator.early_stopping
    kinds = ("categorical", "numeric", "binary", "count")
    boosting = lineup()["boosting"].make(task(kinds=kinds))
    assert (boosting.view, boosting.estimator.categorical_features) == ("ordinal", [2, 3])  # after the numbers


@pytest.mark.parametrize(
    ("name", "table", "said"),
    [
        ("gaussian", {"kinds": ("numeric",) * 501, "n": 2000}, "501 columns make a covariance too large"),
        ("gaussian", {"kinds": ("numeric",) * 50, "n": 100}, "more rows than 50 a class"),
        ("tan", {"kinds": ("numeric",) * 501}, "501 columns make 125,250 pairs"),
        ("a2de", {"kinds": ("numeric",) * 61}, "61 columns make too many triples"),
        ("network", {"kinds": ("numeric",) * 101}, "the search over 101 columns is long"),
        ("bagging", {"kinds": ("numeric",) * 2001}, "all 2,001 columns: left out above 2,000"),
        ("knn", {"kinds": ("numeric",) * 21, "n": 10_000}, "each of 10,000 rows with all others in 21 columns"),
        ("svc", {"n": 20_001, "kinds": ("numeric",)}, "left out above 20,000 training rows (here 20,001)"),
        (
            "tree",
            {"n": 100_001, "kinds": ("numeric",) * 2000},
            "200,002,000 cells to encode: left out above 200,000,000",
        ),
    ],
)
def test_at_the_border_a_model_runs_and_beyond_it_is_told_why_not(name, table, said):
    assert said in left_out(**table)[name]
    fewer = (
        {**table, "kinds": table["kinds"][1:]}
        if len(table["kinds"]) > 1 and name != "tree"
        else {**table, "n": table["n"] - 1}
    )
    assert name not in left_out(**fewer)


@pytest.mark.parametrize("name", list(lineup()))
def test_it_is_told_whose_a_model_is(name):
    model = lineup()[name].make(task())
    while isinstance(model, OnPoints | Calibrated):
        model = model.estimator
    assert lineup()[name].ours == is_ours(model)


def test_all_run_that_such_a_table_allows_in_the_order_of_the_list():
    t = task(kinds=("text", "numeric"))
    running, out = chosen(None, t)
    barred = {name: why for name, entry in lineup().items() if (why := entry.barred(t))}
    assert [e.name for e, _ in running] == [name for name in lineup() if name not in barred]
    assert {e.name: why for e, why in out} == barred
    assert barred
    given = LogisticRegression()
    ((entry, made),) = chosen(given, t)[0]
    assert made is given
    assert (entry.name, entry.ours, entry.barred(t)) == ("LogisticRegression", False, "")
    three = chosen({"a": "naive", "b": po.TAN(), 3: "tan"}, t)[0]
    assert [(e.name, e.says, e.ours) for e, _ in three] == [
        ("a", "naive Bayes", True),
        ("b", "TAN", True),
        ("3", "tree-augmented naive Bayes", True),
    ]
    assert [e.name for e, _ in chosen(["tan", "tan", "tan"], t)[0]] == ["tan", "tan (2)", "tan (3)"]
