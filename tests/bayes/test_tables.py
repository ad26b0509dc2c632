"""What reads tables: rows without a label are learned by fit alone, cells that are missing or unseen are counted."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import BadParameter, BadValue, TableError

MODELS = [po.NaiveBayes, po.SPODE, po.TAN, po.AODE, po.KDB, po.A2DE]


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = {"a": np.array(["u", "v"])[np.where(rng.random(n) < 0.85, y, 1 - y)], "b": rng.choice(["p", "q", "r"], n),
         "c": np.array(["s", "t"])[np.where(rng.random(n) < 0.85, y, 1 - y)]}  # fmt: skip
    return X, np.array(["no", "yes"], dtype=object)[y]


@pytest.mark.parametrize("Model", MODELS, ids=lambda m: m.__name__)
def test_rows_without_a_label_are_learned_with_a_weight(Model):
    X, y = rows()
    y[10:] = "?"
    chosen = Model(unlabelled="?").fit(X, y)
    told = Model(unlabelled="?", unlabelled_weight=0.5).fit(X, y)
    assert ("em_" in vars(chosen)) == (chosen.unlabelled_weight_ > 0)  # weight 0 leaves them out
    assert chosen.unlabelled_weight == "auto"
    assert 0.0 <= chosen.unlabelled_weight_ <= 1.0
    assert told.em_.parameters is None
    assert "unlabelled_weight_" not in vars(told)
    assert list(told.classes_) == ["no", "yes"]
    assert told.statistics_.rows.sum() == pytest.approx(10 + 0.5 * 30)
    assert np.allclose(told.predict_proba(X).sum(axis=1), 1)
    none = Model(unlabelled="?", unlabelled_weight=0.0).fit(X, y)
    plain = Model().fit({k: v[:10] for k, v in X.items()}, y[:10])
    assert none.statistics_.rows.tolist() == plain.statistics_.rows.tolist()
    whole = Model(unlabelled="?").fit({k: v[:10] for k, v in X.items()}, y[:10])
    assert "em_" not in vars(whole)


@pytest.mark.parametrize("Model", MODELS, ids=lambda m: m.__name__)
def test_part_of_a_fit_has_labels_throughout(Model):
    X, y = rows()
    model = Model(unlabelled="?").fit(X, y)
    before = model.statistics_
    y[3] = "?"
    for call in (model.partial_fit, model.forget):
        with pytest.raises(BadValue, match="learned by fit alone"):
            call(X, y)
        assert model.statistics_ == before


def test_hidden_classes_are_asked_for_by_labels_or_by_number():
    X, y = rows()
    model = po.NaiveBayes()
    with pytest.raises(BadParameter, match="give y"):
        po.expectation_maximization(model, X)
    with pytest.raises(BadParameter, match="give y"):
        po.expectation_maximization(model, X, y, n_classes=2)
    found = po.expectation_maximization(model, X, n_classes=3, random_state=0).parameters
    assert list(found.classes_) == [0, 1, 2]
    assert found.schema_.declared_classes == {0, 1, 2}
    assert found.statistics_.rows.sum() == pytest.approx(40)
    assert not hasattr(model, "classes_")
    with pytest.raises(BadParameter, match="inferred by the classifiers that count"):
        po.expectation_maximization(po.BayesNetClassifier(), X, y)


def test_cells_that_are_missing_or_unseen_are_counted():
    X = {"a": ["u", "v", None, "u"], "b": [1.0, np.nan, 3.0, np.nan]}
    model = po.NaiveBayes(density="gaussian").fit(X, [0, 1, 0, 1])
    assert model.n_missing_ == 3
    model.predict({"a": ["w", None], "b": [1.0, 2.0]})
    assert (model.n_missing_, model.n_unseen_) == (1, 1)
    tags = model.__sklearn_tags__().input_tags
    assert tags.allow_nan
    assert tags.sparse
    assert tags.categorical
    assert tags.string
    with pytest.raises(TableError, match=r"0 sample.*shape=\(0, 2\)"):
        model.predict({"a": [], "b": []})


def test_a_mark_that_is_none_is_refused_by_name_in_partial_fit_too():
    X, y = {"a": ["x", "y", "x", "y"]}, [0, 1, 0, 1]
    for make in (po.NaiveBayes, po.TAN, po.AODE, po.KDB):
        model = make().fit(X, y).set_params(unlabelled=np.array([1, 2]))
        with pytest.raises(BadParameter, match="unlabelled is a label, or a tuple of labels"):
            model.partial_fit(X, y)


def test_rows_wait_where_nothing_weighs_them_or_hides_them():
    X, y = rows()
    for how, waits in (
        ({}, True),
        ({"class_weight": {"no": 1.0, "yes": 2.0}}, False),
        ({"unlabelled": "?"}, False),
        ({"unlabelled": ("?",)}, False),
        ({"unlabelled": ()}, True),
    ):
        model = po.NaiveBayes(**how).fit(X, y)
        assert (model._new_pending([]) is not None) == waits


def test_parameters_are_checked_before_a_hidden_class_is_sought():
    X, y = rows()
    with pytest.raises(BadParameter, match="smoothing"):
        po.NaiveBayes(smoothing=-1.0)._hidden(X, y, None, None, False)
    fitted = po.NaiveBayes().fit(X, y)
    data = fitted._hidden(X, y, None, None, True)
    assert data.hard
    assert "classes_" not in vars(data.template) or data.template is not fitted
    assert fitted.statistics_.rows.sum() == 40


def test_a_table_of_no_rows_or_of_text_is_refused():
    X, y = rows()
    model = po.TAN().fit(X, y)
    none = {k: v[:0] for k, v in X.items()}
    with pytest.raises(ValueError, match=rf"0 sample\(s\) \(shape=\(0, {len(X)}\)\)"):
        model.predict(none)
    with pytest.raises(ValueError, match="column 't' is text, which TAN cannot pair"):
        po.TAN(kinds={"t": "text"}).fit({"a": ["u", "v"], "t": ["a b", "c"]}, [0, 1])
    assert model.n_features_in_ == len(X)
    assert model.feature_names_in_.tolist() == list(X)
    assert not hasattr(po.TAN().fit(np.array([[1, 2], [2, 1]]), [0, 1]), "feature_names_in_")
