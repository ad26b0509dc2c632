"""Model files as commands use them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.cli.models import inner, loss_of, open_model, schema_of, target_of
from posteriori.errors import ModelError, ModelFileError

X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": ["u", "v", "u", "v"]})
Y = ["no", "no", "yes", "yes"]


def test_what_is_no_model_of_a_command_is_named(tmp_path):
    for name in ("net.bif", "data.csv"):
        with pytest.raises(ModelFileError, match="no model file"):
            open_model(str(tmp_path / name))
    po.save(po.KMeans(2).fit([[0.0], [1.0]]), tmp_path / "k.posteriori")
    with pytest.raises(ModelError, match="KMeans, which is no classifier"):
        open_model(str(tmp_path / "k.posteriori"))
    for model in (po.NaiveBayes(), po.TAN(), po.RiskClassifier(po.NaiveBayes(), reject=0.2)):
        po.save(model, tmp_path / "u.posteriori")
        with pytest.raises(
            ModelError, match=f"u.posteriori holds a {type(model).__name__} that was saved before `fit`"
        ):
            open_model(str(tmp_path / "u.posteriori"))
    for net, way in (
        (po.BayesNet.fit([("b", "c")], X.assign(c=Y)), "`posteriori query` asks it"),
        (po.HybridNet.fit([("b", "a")], X), "use it from Python"),
    ):
        po.save(net, tmp_path / "n.posteriori")
        with pytest.raises(ModelError, match=f"n.posteriori holds a {type(net).__name__}, a network, .*: {way}$"):
            open_model(str(tmp_path / "n.posteriori"))


def test_the_model_inside_its_schema_and_its_target(tmp_path):
    schema = po.Schema.infer(X, Y)
    model = po.NaiveBayes(kinds=schema).fit(X, Y)
    risky = po.RiskClassifier(model, reject=0.2).fit(X, Y)
    assert inner(model) is model
    assert inner(risky) is risky.estimator_
    assert schema_of(risky).names == ("a", "b")
    with pytest.raises(ModelError, match="give --target"):
        target_of(model)
    assert target_of(model, "told") == "told"
    with pytest.raises(ModelError, match="keeps no schema"):
        schema_of(po.GaussianNB().fit([[0.0], [1.0]], [0, 1]))


def test_the_loss_is_told_now_or_the_model_s_or_zero_one(tmp_path):
    model = po.NaiveBayes().fit(X, Y)
    costs = tmp_path / "c.csv"
    costs.write_text("decided\\truth,no,yes\nno,0,5\nyes,1,0\n")
    assert loss_of(model, None, None).matrix.tolist() == [[0, 1], [1, 0]]
    assert loss_of(model, str(costs), None).matrix.tolist() == [[0, 5], [1, 0]]
    risky = po.RiskClassifier(model, loss={"no": 1, "yes": 3}, reject=0.4).fit(X, Y)
    own = loss_of(risky, None, None)
    assert own.reject
    assert np.allclose(own.matrix[-1], 0.4)
    assert np.allclose(loss_of(risky, None, 0.1).matrix[-1], 0.1)
    assert np.allclose(loss_of(risky, None, 0.1).matrix[:-1], own.matrix[:-1])
    assert not loss_of(risky, str(costs), None).reject
