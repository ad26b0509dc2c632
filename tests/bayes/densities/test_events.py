"""Events and words: multinomial, so that every view of the model follows from θ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import rel_entr

import posteriori as po
from posteriori.bayes.densities import _times
from posteriori.errors import BadValue
from posteriori.table.frame import open_frame

X = np.array([[3, 0, 1], [2, 1, 0], [0, 4, 1], [1, 5, 2], [0, 2, 2]])
Y = np.array([0, 0, 1, 1, 1])


def events(smoothing=1.0):
    return po.NaiveBayes(kinds="count", smoothing=smoothing).fit(X, Y)


def information(joint):
    """I(X;Y) = KL(P(x, y) ‖ P(x)P(y)) of a joint table."""
    return rel_entr(joint, joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)).sum()


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_every_view_follows_from_theta(smoothing):
    model = events(smoothing)
    counts = np.stack([X[c == Y].sum(axis=0) for c in (0, 1)]) + smoothing
    theta = counts / counts.sum(axis=1, keepdims=True)
    prior = np.exp(model.factored_.log_prior)
    for j in range(3):
        assert model.tables_[f"x{j}"].loc["rate"].to_numpy() == pytest.approx(theta[:, j])
    summary = model.summary().set_index("column")["information"]
    for j in range(3):
        one = np.stack([theta[:, j] * prior, (1 - theta[:, j]) * prior])
        assert summary[f"x{j}"] == pytest.approx(information(one))


def test_parts_sum_to_the_log_odds():
    model = events(0.5)
    row = [[2, 0, 1]]
    told = model.explain(row, 0, 1).frame().set_index("column")["log_odds"]
    assert told.sum() == pytest.approx(np.subtract(*model.predict_log_proba(row)[0]))
    assert told["x1"] == 0.0  # what did not happen says nothing


def test_an_impossible_event_is_told_apart_from_one_that_did_not_happen():
    model = po.NaiveBayes(kinds="count", smoothing=0).fit([[1, 0], [2, 0], [1, 1]], [0, 0, 1])
    for form in (np.asarray, sparse.csr_matrix):
        joint = model.predict_joint_log_proba(form(np.array([[1, 1], [1, 0]])))
        assert np.isneginf(joint[0, 0])
        assert np.isfinite(joint[[0, 1, 1], [1, 0, 1]]).all()
    told = model.explain([[1, 1]], 1, 0).frame().set_index("column")["log_odds"]
    assert told["x1"] == np.inf


@pytest.mark.parametrize("bad", [-1.0, np.inf])
def test_a_bad_count_of_a_sparse_table_is_named(bad):
    table = sparse.csr_matrix(np.array([[1.0, 0, 0], [0, 0, bad]]))
    with pytest.raises(BadValue, match="row 1, column 'x2'"):
        events().predict(table)


@given(seed=st.integers(0, 1000))
def test_draws_have_the_lengths_and_shares_that_were_learned(seed):
    rows, classes = events(0.0).sample(400, random_state=seed)
    rows = np.asarray(rows, dtype=float)
    for c in (0, 1):
        mean = X[c == Y].mean(axis=0)  # Poisson lengths and multinomial shares: Poisson cells
        n = (classes == c).sum()
        assert (np.abs(rows[classes == c].mean(axis=0) - mean) <= 5.5 * np.sqrt(mean / n)).all()


def test_words_tell_what_their_shares_tell():
    table = {"text": ["rain rain wind", "rain", "wind snow", "snow snow wind"]}
    model = po.NaiveBayes(kinds="text").fit(table, [0, 0, 1, 1])
    theta = model.tables_["text"].to_numpy()
    assert theta.sum(axis=0) == pytest.approx([1.0, 1.0])
    assert model.summary()["information"][0] == pytest.approx(information(theta * 0.5))
    rows, classes = model.sample(300, random_state=0)
    drawn = [
        [w for text, c in zip(np.ravel(np.asarray(rows)), classes) if c == k for w in text.split()] for k in (0, 1)
    ]
    for k in (0, 1):
        share = [drawn[k].count(w) / len(drawn[k]) for w in model.tables_["text"].index]
        assert share == pytest.approx(theta[:, k], abs=0.08)


def test_lengths_beyond_all_counts_cannot_be_drawn():
    model = events()
    (density,) = model.factored_.densities
    density.length = np.full(2, 1e18)
    x, _ = model.sample(3, random_state=0)
    assert x.sum(axis=1) == pytest.approx(1e18, rel=1e-7)
    density.length = np.full(2, 1e19)
    with pytest.raises(BadValue, match="1e\\+18"):
        model.sample(3, random_state=0)


def words(smoothing=1.0, unseen="missing"):
    table = {"text": ["rain rain wind", "rain", "wind snow", "snow snow wind"]}
    model = po.NaiveBayes(kinds="text", smoothing=smoothing, unseen=unseen).fit(table, [0, 0, 1, 1])
    counts = np.array([[3, 0], [0, 3], [1, 2]])  # rain, snow, wind
    return model, model.factored_.densities[0], counts


@pytest.mark.parametrize("unseen", ["missing", "mass"])
@pytest.mark.parametrize("smoothing", [0.5, 0.0])
def test_words_are_counted_and_strangers_and_gaps_told(smoothing, unseen):
    _, density, counts = words(smoothing, unseen)
    total = counts.sum(axis=0)
    with np.errstate(divide="ignore"):
        log_theta = np.log((counts + smoothing) / (total + 3 * smoothing))
        stranger = np.log(smoothing / (total + 4 * smoothing)) if unseen == "mass" else np.zeros(2)
    asked = ["wind wind fog fog", "rain snow", "", None]
    frame = open_frame({"text": np.array(asked, dtype=object)})
    found, seen = density.add_to(np.log([0.25, 0.75]), frame, 1)
    assert (seen.unseen, seen.missing) == (2, 1)
    expected = np.array([2 * log_theta[2] + 2 * stranger, log_theta[0] + log_theta[1], np.zeros(2), np.zeros(2)])
    assert found == pytest.approx(expected + np.log([0.25, 0.75]))
    assert density.parts(frame)[:, 0] == pytest.approx(expected)
    vocabulary, said = density.said(frame)
    for word, told in zip(vocabulary, said):
        often = sum((text or "").split().count(word) for text in asked)
        row = stranger if word == "fog" else log_theta[["rain", "snow", "wind"].index(word)]
        assert told == pytest.approx(often * row)
    assert sorted(vocabulary) == ["fog", "rain", "snow", "wind"]
    assert density.length == pytest.approx([2.0, 2.5])
    assert list(density.tables(None)["text"]) == ["rain", "snow", "wind"]


def test_a_text_of_no_words_is_drawn_empty():
    model = po.NaiveBayes(kinds="text").fit({"text": ["", ""]}, [0, 1])
    (density,) = model.factored_.densities
    assert density.draw(np.array([0, 1]), np.random.default_rng(0))[0].tolist() == ["", ""]
    frame = open_frame({"text": np.array(["new word"], dtype=object)})
    score, seen = density.add_to(np.zeros(2), frame, 1)
    assert score.tolist() == [[0.0, 0.0]]
    assert seen.unseen == 2


def test_gaps_among_counts_and_views_of_a_sparse_table():
    model = events(0.5)
    (density,) = model.factored_.densities
    counts = np.stack([X[c == Y].sum(axis=0) for c in (0, 1)], axis=1) + 0.5
    log_theta = np.log(counts / counts.sum(axis=0))
    assert density.length == pytest.approx([X[c == Y].sum() / (c == Y).sum() for c in (0, 1)])
    rows = np.array([[2.0, np.nan, 1.0], [0.0, 3.0, np.nan]])
    found, seen = density.add_to(np.array([1.0, 2.0]), open_frame(rows), 1)
    expected = np.nan_to_num(rows)[:, :, None] * log_theta
    assert found == pytest.approx(expected.sum(axis=1) + [1.0, 2.0])
    assert seen.missing == 2
    assert density.parts(open_frame(rows)) == pytest.approx(expected)
    thin = sparse.csr_matrix(np.nan_to_num(rows))
    assert density.add_to(np.array([1.0, 2.0]), open_frame(thin), 1)[0] == pytest.approx(found)


@pytest.mark.parametrize("log_theta", [np.log([[0.5, 0.2], [0.5, 0.8]]), np.array([[0.0, -np.inf], [-np.inf, 0.0]])])
def test_nothing_times_impossible_is_nothing(log_theta):
    x = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    expected = [[sum(n * t for n, t in zip(row, theta) if n) for theta in log_theta.T] for row in x]
    assert _times(x, log_theta) == pytest.approx(np.array(expected))
