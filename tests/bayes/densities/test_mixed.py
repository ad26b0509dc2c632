"""Three densities with equal voice: the mean of their posteriors, by its definition; a column left out says nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.bayes.densities import mixed as module
from posteriori.bayes.densities.mixed import LeftOut, Mixed, mixture, odds
from posteriori.table.frame import open_frame


def made(seed, where=0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([[0, 1, 2], rng.integers(0, 3, 77)])
    x = rng.normal(2.0 * y, 1).round(1)
    stats = po.NaiveBayes().fit({"x": x}, y).statistics_
    return Mixed(where, "x", stats.histograms[0], stats.moments, stats.rows, 1.0, 0.01, 0), stats, x, y


@given(st.integers(0, 200))
def test_the_mean_of_three_posteriors(seed):
    found, _, _x, y = made(seed)
    at = np.array([-2.0, 0.5, 3.0, 40.0])
    frame = open_frame({"x": at})
    share = (np.bincount(y) + 1) / (len(y) + 3)
    says = []
    for density in (found.binned, found.kernel, found.normal):
        p = np.exp(density.parts(frame)[:, 0] - density.parts(frame)[:, 0].max(axis=1, keepdims=True)) * share
        says.append(p / p.sum(axis=1, keepdims=True))
    mean = np.mean(says, axis=0)
    parts = found.parts(frame)[:, 0]
    after = np.exp(parts - parts.max(axis=1, keepdims=True)) * share
    assert after / after.sum(axis=1, keepdims=True) == pytest.approx(mean, rel=1e-6, abs=1e-12)
    kernel = np.log((np.exp(found.kernel.parts(frame)[:, 0]) * share).sum(axis=1))
    assert np.log((np.exp(parts) * share).sum(axis=1)) == pytest.approx(kernel, rel=1e-6)  # p(x) is that of the kernels


def test_draws_follow_the_density():
    found, _, _x, _ = made(1)
    grid = np.linspace(-12, 16, 4001)
    p = np.exp(found.parts(open_frame({"x": grid}))[:, 0])
    for k in range(3):
        mass = p[:, k] / p[:, k].sum()
        drawn = found.draw(np.full(6000, k), np.random.default_rng(0))[0]
        assert not np.isnan(drawn).any()
        assert drawn.mean() == pytest.approx(grid @ mass, abs=0.08)
        assert drawn.std() == pytest.approx(np.sqrt(((grid - grid @ mass) ** 2) @ mass), rel=0.08)
    mixed = found.draw(np.array([0, 1, 2] * 5), np.random.default_rng(1))[0]
    assert mixed.shape == (15,)
    beside = made(1, where=2)[0].draw(np.array([0, 1]), np.random.default_rng(1))[0]
    assert np.isfinite(beside).all()


def test_information_is_the_integral():
    found, _, _x, y = made(2)
    prior = np.bincount(y) / len(y)
    grid = np.linspace(-15, 20, 20001)
    joint = np.exp(found.parts(open_frame({"x": grid}))[:, 0]) * prior
    joint /= joint.sum()
    exact = (joint * np.log(joint / joint.sum(axis=1, keepdims=True) / joint.sum(axis=0))).sum()
    assert found.information(prior)[0] == pytest.approx(exact, abs=0.05)
    assert set(found.tables(None)["x"]) >= {"mean", "width"}


def test_a_column_left_out():
    _, stats, x, _y = made(3)
    found = LeftOut(0, "x", stats.moments, 0.01, 0)
    assert found.parts(open_frame({"x": x})).tolist() == [[[0.0] * 3]] * len(x)
    assert found.information(np.ones(3) / 3).tolist() == [0.0]
    drawn = found.draw(np.repeat([0, 1, 2], 2000), np.random.default_rng(0))[0]
    assert drawn.mean() == pytest.approx(x.mean(), abs=0.1)
    assert drawn[:2000].mean() == pytest.approx(drawn[4000:].mean(), abs=0.2)
    assert {len(v) for v in found.tables(stats.schema)["x"].values()} == {3}


def test_logs():
    inf = -np.inf
    assert odds(np.array([inf, inf]), 0.0).tolist() == [0.0, 0.0]
    assert odds(np.log([0.2, 0.6]), np.log([0.5, 0.5])) == pytest.approx(np.log([0.2, 0.6]) - np.log(0.4))
    assert mixture([np.log([0.2]), np.log([0.6])]) == pytest.approx(np.log([0.4]))


def test_a_class_that_is_seldom_kept_is_drawn_by_weight_among_those_tried(monkeypatch):
    found, _, _x, _ = made(1)
    monkeypatch.setattr(module, "TRIES", 1)
    monkeypatch.setattr(module, "AT_ONCE", 4000)
    grid = np.linspace(-12, 16, 4001)
    p = np.exp(found.parts(open_frame({"x": grid}))[:, 0])
    for k in range(3):
        mass = p[:, k] / p[:, k].sum()
        drawn = found.draw(np.full(6000, k), np.random.default_rng(0))[0]
        assert not np.isnan(drawn).any()
        assert len(np.unique(drawn)) < 4000  # of those tried, some twice
        assert drawn.mean() == pytest.approx(grid @ mass, abs=0.15)
        assert drawn.std() == pytest.approx(np.sqrt(((grid - grid @ mass) ** 2) @ mass), rel=0.15)


def test_what_a_mixed_column_tells_and_one_without_numbers():
    found, stats, x, y = made(4)
    told = found.tables(stats.schema)["x"]
    assert told["mean"] == pytest.approx([x[y == k].mean() for k in range(3)])
    assert told["width"].tolist() == found.kernel.width.tolist()
    assert np.exp(found.log_share) == pytest.approx((np.bincount(y) + 1) / (len(y) + 3))
    empty = po.NaiveBayes().fit({"x": [np.nan] * 4}, [0, 1, 0, 1]).statistics_
    none = Mixed(0, "x", empty.histograms[0], empty.moments, empty.rows, 1.0, 0.01, 0)
    assert none.information(np.array([0.5, 0.5])).tolist() == [0.0]
    assert np.isnan(none.draw(np.array([0, 1]), np.random.default_rng(0))[0]).all()
    out = LeftOut(0, "x", stats.moments, 0.01, 0).tables(stats.schema)["x"]
    assert out["mean"] == pytest.approx([x.mean()] * 3)
    assert out["sd"] == pytest.approx([x.std()] * 3)
