"""An explanation adds up to the answer it explains, and its parts are what the model says without them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import posteriori as po
from posteriori.errors import BadParameter, ModelError, PosterioriError, UnknownColumn, UnknownValue


def table(seed: int, n: int = 80, holes: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    y[:3] = 0, 1, 2
    frame = pd.DataFrame(
        {
            "sky": rng.choice(["blue", "grey", "black"], n),
            "warm": rng.normal(y, 1.0),
            "dry": rng.random(n) < 0.2 + 0.3 * (y == 1),
            "wind": np.where(rng.random(n) < 0.7, np.array(["n", "s", "e"])[y], "w"),
        }
    )
    for name in ("sky", "warm", "wind"):
        frame.loc[rng.random(n) < holes, name] = None
    return frame, np.array(["in", "out", "off"])[y]


def odds(model, rows, t, a):
    logs = model.predict_log_proba(rows)
    classes = model.classes_.tolist()
    return logs[:, classes.index(t)] - logs[:, classes.index(a)]


SUMS = [
    po.NaiveBayes(),
    po.NaiveBayes(density="gaussian"),
    po.NaiveBayes(density="kernel", smoothing=0.3, prior="uniform"),
    po.TAN(),
    po.KDB(k=2),
    po.SPODE("wind"),
]


def test_a_class_is_weighed_against_another():
    frame, y = table(1)
    model, row = po.NaiveBayes().fit(frame, y), frame.iloc[[0]]
    with pytest.raises(BadParameter, match=r"^'in' cannot be weighed against itself: .*, one of 'off', 'out'$"):
        model.explain(row, "in", "in")
    best = model.predict(row)[0]
    with pytest.raises(BadParameter, match=f"^'{best}', the most probable class here, cannot"):
        model.explain(row, against=best)


@pytest.mark.parametrize("model", SUMS, ids=repr)
@given(seed=st.integers(0, 10_000), at=st.integers(0, 79))
@settings(max_examples=10)
def test_the_parts_of_a_sum_add_up(model, seed, at):
    frame, y = table(seed)
    fitted = model.__class__(**model.get_params()).fit(frame, y)
    why = fitted.explain(frame.iloc[[at]], "in", "off", changes=0)
    assert why.way == "sum"
    assert why.together == 0
    assert {p.column for p in why.parts} == set(frame.columns)
    assert why.log_odds == pytest.approx(odds(fitted, frame.iloc[[at]], "in", "off")[0], abs=1e-9)
    sizes = [abs(p.log_odds) for p in why.parts]
    assert sizes == sorted(sizes, reverse=True)
    assert why.frame()["log_odds"].sum() == pytest.approx(why.log_odds, abs=1e-9)


WEIGHED = [po.AODE(min_frequency=1), po.A2DE(), po.BayesNetClassifier("tan"), po.TAN(), po.SPODE("sky")]


@pytest.mark.parametrize("model", WEIGHED, ids=repr)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=6)
def test_what_is_no_sum_is_weighed_by_leaving_cells_out(model, seed):
    frame, y = table(seed, holes=0.15)
    fitted = model.__class__(**model.get_params()).fit(frame, y)
    row = frame[frame["warm"].isna() & frame["sky"].notna()].iloc[[0]]
    why = fitted.explain(row, "in", "out", changes=0)
    assert why.way == "absence"
    whole = odds(fitted, row, "in", "out")[0]
    for part in why.parts:
        without = row.astype({part.column: object} if part.column != "warm" else {})
        without[part.column] = None if part.column != "warm" else np.nan
        assert part.log_odds == pytest.approx(whole - odds(fitted, without, "in", "out")[0], abs=1e-9)
    assert why.log_odds == pytest.approx(whole, abs=1e-9)


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_normals_leave_a_column_out_by_their_margins(covariance):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    X[30:] += 1
    model = po.GaussianBayes(covariance).fit(X, np.repeat([0, 1], 30))
    why = model.explain(X[[4]], 1, 0)
    sigma = model._matrices()
    for part in why.parts:
        j = int(part.column[1:])
        keep = [k for k in range(3) if k != j]
        logs = [
            multivariate_normal(m[keep], s[np.ix_(keep, keep)]).logpdf(X[4][keep]) for m, s in zip(model.means_, sigma)
        ]
        assert part.log_odds == pytest.approx(odds(model, X[[4]], 1, 0)[0] - (logs[1] - logs[0]))
    assert why.way == "absence"


@pytest.mark.parametrize(
    "model",
    [
        po.GaussianNB(),
        po.MultinomialNB(alpha=0.5),
        po.ComplementNB(),
        po.ComplementNB(norm=True),
        po.BernoulliNB(binarize=1.0),
        po.BernoulliNB(),
        po.CategoricalNB(),
        po.GaussianBayes("diag"),
        po.GaussianBayes("spherical"),
    ],
    ids=repr,
)
def test_drop_ins_add_up(model):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 4, (60, 5)), rng.integers(0, 3, 60)
    model.fit(X, y)
    for at in range(5):
        why = model.explain(X[[at]], 2, 0)
        assert why.way == "sum"
        assert why.log_odds == pytest.approx(odds(model, X[[at]], 2, 0)[0], abs=1e-9)


def test_a_share_of_a_bit_adds_up():
    X, y = np.array([[0.2, 1.0], [0.9, 0.0], [0.5, 0.3], [0.0, 1.0]]), [0, 1, 1, 0]
    model = po.BernoulliNB(binarize=None).fit(X, y)
    assert model.explain(X[[2]]).log_odds == pytest.approx(abs(odds(model, X[[2]], 0, 1)[0]))


def test_a_document_is_explained_by_its_words():
    X = sparse.csr_matrix(np.array([[3, 0, 1, 0], [0, 2, 1, 0], [1, 0, 0, 0], [0, 1, 0, 2]]))
    model = po.MultinomialNB().fit(X, ["a", "b", "a", "b"])
    why = model.explain(X[[0]])
    assert {p.column for p in why.parts} == {"x0", "x2"} - {p.column for p in why.parts if p.log_odds == 0}
    assert why.log_odds == pytest.approx(odds(model, X[[0]], "a", "b")[0])
    assert why.changes == ()


def test_machines_and_neighbours_are_weighed_by_their_own_rows_or_a_background():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + 0.1 * rng.normal(size=120) > 0).astype(int)
    for model in (po.KNeighborsClassifier(15), po.SVC(probability=True, random_state=0)):
        why = model.fit(X, y).explain(np.array([[1.5, 0.0, 0.0]]))
        assert why.way == "average"
        assert why.parts[0].column == "x0"
        assert why.parts[0].log_odds > 2 * abs(why.parts[1].log_odds)
        assert why.decision == 1
    foreign = po.RiskClassifier(FrozenEstimator(LogisticRegression().fit(X, y)))
    with pytest.raises(ModelError, match="background="):
        foreign.explain(X[[0]])
    why = foreign.explain(X[[0]], background=X)
    assert why.log_odds == pytest.approx(abs(odds(foreign, X[[0]], 1, 0)[0]))
    assert set(why.changes[0].values) == {"x0"}


def test_decisions_and_risks_are_those_of_the_classifier():
    frame, y = table(5)
    model = po.RiskClassifier(po.NaiveBayes(), loss={"in": 5, "out": 1, "off": 1}, reject=0.6).fit(frame, y)
    for at in range(20):
        row = frame.iloc[[at]]
        why = model.explain(row)
        assert why.decision == model.predict(row)[0]
        assert list(why.risk.values()) == pytest.approx(model.predict_risk(row)[0].tolist())
        for change in why.changes:
            other = row.assign(**{name: [new] for name, (_, new) in change.values.items()})
            assert model.predict(other)[0] == change.decision != why.decision
    same = model.estimator_.explain(row, loss={"in": 5, "out": 1, "off": 1}, reject=0.6)
    assert same.decision == why.decision
    assert same.risk == pytest.approx(why.risk)
    with pytest.raises(ModelError, match="set_params"):
        model.explain(row, loss={"in": 1, "out": 1, "off": 1})


def test_what_is_asked_wrongly_is_named():
    frame, y = table(1)
    model = po.NaiveBayes().fit(frame, y)
    with pytest.raises(UnknownValue, match="did you mean 'out'"):
        model.explain(frame.iloc[[0]], target="outt")
    with pytest.raises(PosterioriError, match=r"one row\. Got 2"):
        model.explain(frame.iloc[:2])
    with pytest.raises(UnknownColumn, match="did you mean 'wind'"):
        model.explain(frame.iloc[[0]], fixed=["windd"])
    with pytest.raises(ModelError, match="one class"):
        po.NaiveBayes().fit(frame, ["in"] * len(frame)).explain(frame.iloc[[0]])
    with pytest.raises(PosterioriError, match="probability=True"):
        po.SVC().fit(np.eye(4), [0, 1, 0, 1]).explain(np.eye(4)[[0]])


@pytest.mark.parametrize("form", [lambda r: r, lambda r: r.iloc[0], lambda r: r.iloc[0].to_dict()])
def test_a_row_may_come_as_a_table_a_series_or_a_dict(form):
    frame, y = table(2)
    model = po.NaiveBayes().fit(frame, y)
    assert model.explain(form(frame.iloc[[3]])).frame().equals(model.explain(frame.iloc[[3]]).frame())


def test_hostile_words_come_out_as_text():
    bad = "<script>alert(1)</script>\x1b[31m\n"
    model = po.NaiveBayes().fit({bad: [bad, bad, "b", "c"]}, ["[red]", "[red]", bad, bad])
    why = model.explain({bad: "b"})
    assert "<script>" not in why._repr_html_()
    assert "\x1b" not in str(why)
    assert all(line.isprintable() for line in str(why).splitlines())
    assert str(why).count("\n") == 2 + len(why.changes)


def test_a_vote_of_none_is_none_in_the_answer():
    rng = np.random.default_rng(0)
    P = np.r_[rng.normal(0, 1, (50, 2)), rng.normal(9, 1, (50, 2))]
    y = np.repeat(["x", "z"], 50)
    near = po.KNeighborsClassifier(3).fit(P, y)
    assert near.explain(P[[0]]).posterior == {"x": 1.0, "z": 0.0}
    dear = po.RiskClassifier(FrozenEstimator(near), loss=po.Loss([[0, 1e5], [1, 0]], classes=["x", "z"]))
    assert dear.explain(P[[0]]).decision == dear.predict(P[[0]])[0] == "x"
    many = po.KNeighborsClassifier(3).fit(np.arange(1500.0)[:, None], np.arange(1500))
    assert list(many.explain([[3.2]], changes=0).posterior.values()) == many.predict_proba([[3.2]])[0].tolist()


def test_classes_ruled_out_by_different_columns_are_alike():
    model = po.NaiveBayes(smoothing=0).fit({"a": list("pqpq"), "b": list("uvvu")}, [0, 1, 2, 2])
    why = model.explain({"a": "p", "b": "v"}, 0, 1)
    assert sorted(p.log_odds for p in why.parts) == [-np.inf, np.inf]
    assert why.log_odds == 0
    assert "nan" not in why.text(most=1)


@pytest.mark.parametrize("told", [{"changes": -1}, {"changes": 1.5}, {"fixed": "sky"}, {"fixed": 3}])
def test_parameters_are_checked(told):
    frame, y = table(0)
    with pytest.raises(PosterioriError, match=next(iter(told))):
        po.NaiveBayes().fit(frame, y).explain(frame.iloc[[0]], **told)
    with pytest.raises(UnknownValue):
        po.NaiveBayes().fit(frame, y).explain(frame.iloc[[0]], np.array(["in", "out"]))


def test_a_row_with_an_empty_cell_in_a_column_of_words():
    X = pd.DataFrame({"sky": [None, "grey", "blue", "grey"] * 5, "wind": [1.0, 2.0, np.nan, 4.0] * 5})
    model = po.KNeighborsClassifier(3, metric="gower").fit(X, [0, 1, 0, 1] * 5)
    why = model.explain(X.iloc[0].to_dict(), background=X[:8])
    assert {part.column for part in why.parts} == {"sky", "wind"}
