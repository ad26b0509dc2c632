"""From log P(y, x) to every answer: log P(y|x), and the row that no class can have."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import posteriori as po
from posteriori.errors import BadParameter, ImpossibleEvidence, PosterioriError

X = [["a", "p"], ["a", "q"], ["b", "q"], ["b", "q"]]
Y = [0, 0, 1, 1]


@pytest.mark.parametrize("ask", ["predict_proba", "predict_log_proba", "predict"])
def test_the_impossible_row_is_named(ask):
    """Without smoothing (b, p) is impossible in both classes: it is the second of these rows."""
    model = po.NaiveBayes(smoothing=0, kinds="categorical").fit(X, Y)
    with pytest.raises(PosterioriError, match=r"\brow 1\b"):
        getattr(model, ask)([["a", "p"], ["b", "p"], ["b", "q"]])


@pytest.mark.parametrize("prior", ["empirical", "uniform"])
def test_impossible_rows_get_the_prior_where_that_is_wanted_and_are_counted(prior):
    model = po.NaiveBayes(smoothing=0, kinds="categorical", prior=prior).fit(X[:3], Y[:3])
    rows, wanted = [["b", "p"], ["b", "q"], ["b", "p"]], [0.5, 0.5] if prior == "uniform" else [2 / 3, 1 / 3]
    with pytest.warns(UserWarning, match=r"2 rows of 3 \(the first is row 0\)"):
        found = model.predict_proba(rows, impossible="prior")
    np.testing.assert_allclose(found, [wanted, [0, 1], wanted])
    with pytest.warns(UserWarning, match="2 rows of 3"):
        assert model.predict(rows, impossible="prior").tolist() == [0, 1, 0]
    with pytest.warns(UserWarning, match="2 rows of 3"):
        np.testing.assert_allclose(np.exp(model.predict_log_proba(rows, impossible="prior")), found)
    with pytest.raises(BadParameter, match="'raise' or 'prior'"):
        model.predict_proba(rows, impossible="ignore")


def test_logs_are_the_logs():
    model = po.NaiveBayes(kinds="categorical").fit(X, Y)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    joint = np.exp(model.predict_joint_log_proba(X))
    np.testing.assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("Model", [po.MixtureBayes, po.GaussianBayes, po.GaussianNB, po.NaiveBayes])
def test_a_row_too_far_from_every_class_is_told_so(Model):
    rng = np.random.default_rng(0)
    model = Model().fit(rng.normal(size=(40, 2)), np.repeat([0, 1], 20))
    with pytest.raises(ImpossibleEvidence, match=r"row 1 .* look at the row") as told:
        model.predict_proba([[0.0, 0.0], [1e200, 0.0]])
    assert "smooth" not in str(told.value)


MODELS = [
    po.NaiveBayes,
    po.TAN,
    po.AODE,
    po.A2DE,
    po.KDB,
    po.SPODE,
    po.GaussianBayes,
    po.GaussianNB,
    po.MultinomialNB,
    po.ComplementNB,
    po.BernoulliNB,
    po.CategoricalNB,
    po.DiscriminativeNB,
]
ASKED = {
    "predict": (CELLS := np.array([[0, 1], [1, 0], [1, 1]]),),
    "predict_proba": (CELLS,),
    "predict_log_proba": (CELLS,),
    "predict_joint_log_proba": (CELLS,),
    "score_samples": (CELLS,),
    "sample": (2,),
    "summary": (),
    "plot": (),
    "credible_intervals": (),
    "forget": (CELLS, [0, 1, 1]),
    "decay": (0.5,),
}


@pytest.mark.parametrize("Model", MODELS)
def test_a_model_that_has_not_learned_says_so(Model):
    for name, told in ASKED.items():
        if name in dir(Model):
            with pytest.raises(NotFittedError, match=f"{Model.__name__} instance is not fitted"):
                getattr(Model(), name)(*told)
    for name in {"density_", "scores_", "losses_"} & set(dir(Model)):
        with pytest.raises(NotFittedError):
            getattr(Model(), name)
    if Model is not po.DiscriminativeNB:
        fitted = Model().fit(CELLS, [0, 1, 1])
        for a, b in ((fitted, Model()), (Model(), fitted)):
            with pytest.raises(NotFittedError):
                a + b


def test_the_impossible_row_of_logs_and_classes_is_the_first_of_them():
    model = po.NaiveBayes(smoothing=0, kinds="categorical").fit(X, Y)
    rows = [["a", "p"], ["b", "p"], ["b", "q"], ["b", "p"]]
    for ask in (model.predict, model.predict_log_proba, model.predict_proba):
        with pytest.raises(ImpossibleEvidence, match=r"row 1 has .* smooth the model"):
            ask(rows)
    assert model.score_samples(rows)[[1, 3]].tolist() == [-np.inf, -np.inf]
    joint = np.exp(model.predict_joint_log_proba(rows))
    np.testing.assert_allclose(np.exp(model.score_samples(rows)), joint.sum(axis=1))
    tie = po.NaiveBayes(kinds="categorical").fit([["a"], ["a"]], ["v", "u"])
    assert tie.predict([["a"]]).tolist() == ["u"]  # the first of equals


@pytest.mark.parametrize("ask", ["predict_proba", "predict_log_proba", "predict"])
def test_a_policy_that_is_none_is_refused_where_no_row_needs_it(ask):
    X, y = [["a"], ["b"], ["b"]], [0, 1, 1]
    for model in (po.NaiveBayes(), po.BayesTree(), po.DiscriminativeNB()):
        with pytest.raises(BadParameter, match="'raise' or 'prior'"):
            getattr(model.fit(X, y), ask)(X, impossible="Prior")
