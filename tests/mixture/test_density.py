"""What a mixture answers from its public attributes, against SciPy; free parameters by counting; samples in proportion."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import posteriori as po
from posteriori.errors import BadParameter, BadType, ImpossibleEvidence, ModelError
from posteriori.mixture.gaussian import n_parameters

KINDS = ["full", "tied", "diag", "spherical"]


def fitted(kind, seed=0):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(60, 2)) * [1, 2], rng.normal(size=(40, 2)) + 6])
    return po.GaussianMixture(2, covariance_type=kind, random_state=0).fit(X), X


def matrices(model):
    c, d = model.covariances_, 2
    return {"full": lambda: c, "tied": lambda: [c, c], "diag": lambda: [np.diag(v) for v in c],
            "spherical": lambda: [v * np.eye(d) for v in c]}[model.covariance_type]()  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_scipy(kind):
    model, X = fitted(kind)
    log = np.column_stack(
        [
            np.log(w) + multivariate_normal(m, c).logpdf(X)
            for w, m, c in zip(model.weights_, model.means_, matrices(model))
        ]
    )
    evidence = logsumexp(log, axis=1)
    assert model.score_samples(X) == pytest.approx(evidence)
    assert model.score(X) == pytest.approx(evidence.mean())
    assert model.predict_proba(X) == pytest.approx(np.exp(log - evidence[:, None]), abs=1e-12)
    assert model.predict(X).tolist() == log.argmax(axis=1).tolist()
    free = {"full": 2 * 3, "tied": 3, "diag": 4, "spherical": 2}[kind] + 4 + 1
    assert n_parameters(kind, 2, 2) == free
    assert model.bic(X) == pytest.approx(-2 * evidence.sum() + free * np.log(100))
    assert model.aic(X) == pytest.approx(-2 * evidence.sum() + 2 * free)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_come_in_proportion_component_after_component(kind):
    model, _ = fitted(kind)
    X, k = model.sample(6000)
    assert X.shape == (6000, 2)
    assert (np.diff(k) >= 0).all()
    assert np.bincount(k) / 6000 == pytest.approx(model.weights_, abs=0.04)
    for c, (mean, cov) in enumerate(zip(model.means_, matrices(model))):
        assert X[k == c].mean(axis=0) == pytest.approx(mean, abs=0.25)
        assert np.cov(X[k == c].T) == pytest.approx(np.asarray(cov), abs=0.15 * np.max(cov) + 0.1)
    assert model.sample()[0].shape == (1, 2)
    for bad in (0, -1, 1.5, True, "3"):
        with pytest.raises(BadParameter, match="n_samples"):
            model.sample(bad)


def test_what_cannot_be_answered():
    from scipy import sparse

    model, X = fitted("full")
    with pytest.raises(ImpossibleEvidence, match="row 1 is so far away"):
        model.predict_proba(np.array([[0.0, 0.0], [1e200, 0.0]]))
    with pytest.raises(BadType, match="takes no sparse table"):
        model.predict(sparse.csr_array(X))
    model.set_params(covariance_type="diag")
    with pytest.raises(ModelError, match="was 'full' in fit and is 'diag' now"):
        model.predict(X)
    model.set_params(covariance_type="full", tol=-1.0)
    with pytest.raises(BadParameter, match="tol"):
        model.predict(X)


def test_faces():
    model, X = fitted("full")
    assert "<svg" in model._repr_html_()
    assert "<svg" in str(model.plot(X))
    assert "svg" not in po.GaussianMixture()._repr_html_()[:40]
