"""Words that tell most: what one occurrence adds, by hand; rare ones are not named; the cases speak by words."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.report import cases
from posteriori.report.evidence import gather
from posteriori.report.page import page
from posteriori.report.vocabulary import MOST_WORDS, telling, texts_of, words, words_of_rows

WORDS = ["free", "cash", "win", "now", "mum", "home", "dinner", "you", "the", "and"]


def evidence(K=2, n=200, seed=0, with_rows=False, more=True):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    y[:K] = range(K)
    weight = rng.dirichlet(np.full(len(WORDS), 0.5), K)
    texts = [" ".join(rng.choice(WORDS, rng.integers(0, 12), p=weight[c])) for c in y]
    texts[7] += " secretname"
    X = {"msg": np.array(texts, dtype=object)} | ({"x": rng.normal(y)} if more else {})
    labels = np.array([f"c{k}" for k in range(K)])[y]
    model = po.NaiveBayes(kinds={"msg": "text"}).fit(X, labels)
    return gather(model, X, labels, rng.dirichlet(np.ones(K), n), None, None, with_rows, 2, 0)


@pytest.mark.parametrize("K", [2, 3, 8])
def test_a_bar_is_what_one_more_occurrence_adds(K):
    e = evidence(K)
    (density,) = texts_of(e.inner)
    for c in range(K):
        found = telling(density, e.inner.factored_.log_prior, c, 1)
        assert 0 < len(found) <= MOST_WORDS
        for word, weight in found:
            assert weight > 0
            bare = e.inner.predict_log_proba({"msg": [""], "x": [0.0]})[0]
            once = e.inner.predict_log_proba({"msg": [word], "x": [0.0]})[0]
            theta = np.exp(density.log_theta[density.place[word]])
            prior = np.exp(e.inner.factored_.log_prior)
            rest = np.delete(theta * prior, c).sum() / np.delete(prior, c).sum()
            assert weight == pytest.approx(np.log(theta[c] / rest))
            if K == 2:
                assert weight == pytest.approx((once - bare)[c] - (once - bare)[1 - c])
        worth = [density.log_theta[density.place[w]][c] + np.log(v) for w, v in found]
        assert worth == sorted(worth, reverse=True)


def test_words_of_few_rows_are_named_only_with_rows():
    assert "secretname" not in words(evidence())
    assert "secretname" not in cases.cases(evidence())
    e = evidence(with_rows=True)
    (density,) = texts_of(e.inner)
    assert any("secretname" in dict(telling(density, e.inner.factored_.log_prior, c, 1)) for c in (0, 1))


def test_a_report_of_texts_alone_has_its_words_and_no_empty_choices():
    text = page(evidence(more=False), None, None, "t", [], [], {})
    assert 'id="vocabulary"' in text
    assert 'href="#vocabulary"' in text
    assert "nothing_to_choose" in text
    assert 'id="chooser"' not in text
    assert 'class="by-eye"' not in text
    assert 'data-w="no_cases"' not in text
    assert "“" in cases.cases(evidence(more=False))
    bare = gather(po.NaiveBayes().fit({"x": [1.0, 2, 3, 4] * 5}, [0, 1] * 10), {"x": [1.0, 2, 3, 4] * 5}, [0, 1] * 10,
                  None, None, None, False, 2, 0)  # fmt: skip
    assert words(bare) == ""


def test_words_of_some_rows_and_the_rest_add_up():
    e = evidence(with_rows=True)
    rows = np.array([3, 4, 9])
    X = {k: np.asarray(v)[rows] for k, v in {"msg": e.frame.column(0), "x": e.frame.column(1)}.items()}
    found = words_of_rows(e, X, len(rows), 1, 0)["msg"]
    _, parts = e.inner._log_parts(X)
    assert sum(found.values()) == pytest.approx((parts[:, 0, 1] - parts[:, 0, 0]).mean())
    reasons = cases.explained(e, rows, 1, 0, change=False)
    whole = (parts[:, :, 1] - parts[:, :, 0]).mean(axis=0)
    assert sum(reasons.parts.values()) == pytest.approx(whole.sum(), abs=0.02)
    assert cases.OTHER_WORDS in reasons.parts
