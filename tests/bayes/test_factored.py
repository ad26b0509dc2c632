"""A row is a batch of one, to the last bit, whatever is missing from it or new in it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import posteriori as po
from posteriori.bayes.factored import RowScorer, kept_for, roles_of
from posteriori.bayes.factored import density_names as choose_densities
from posteriori.errors import ModelError
from posteriori.table.frame import open_frame

NEW, GONE = "never seen", None


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    columns = [rng.choice(list("abcde")[: k + 2], 60) for k in range(3)]
    X = np.column_stack([*columns, rng.normal(size=60).round(2)]).astype(object)
    X[:, 3] = X[:, 3].astype(float)
    return po.NaiveBayes().fit(X, rng.choice(["x", "y", "z"], 60))


@pytest.mark.filterwarnings("ignore")
def test_one_row_is_a_batch_of_one(model):
    rows = [[*words, x] for words in itertools.product(["a", NEW, GONE], repeat=3) for x in (0.25, -3.0)]
    table = np.array(rows, dtype=object)
    together = model.predict_log_proba(table)
    for i, row in enumerate(rows):
        alone = model.predict_log_proba(np.array([row], dtype=object))
        assert np.array_equal(alone[0], together[i]), row


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("unseen", ["missing", "mass"])
def test_one_dict_and_one_array_of_codes_are_batches_of_one(unseen):
    """The forms that take the short way: a dict, and an array of numbers; a new value in any column."""
    rng = np.random.default_rng(1)
    codes, y = rng.integers(0, 4, (60, 4)), rng.integers(0, 3, 60)
    names = [f"x{j}" for j in range(4)]
    model = po.NaiveBayes(kinds="categorical", unseen=unseen).fit(codes, y)
    named = po.NaiveBayes(kinds="categorical", unseen=unseen).fit(dict(zip(names, codes.T)), y)
    rows = np.array(list(itertools.product([0, 3, 9], repeat=4)))  # 9 is new
    together = model.predict_log_proba(rows)
    assert np.array_equal(together, named.predict_log_proba(dict(zip(names, rows.T))))
    for row, expected in zip(rows, together):
        assert np.array_equal(model.predict_log_proba(row[None])[0], expected), row
        assert model.n_unseen_ == (row == 9).sum()
        assert np.array_equal(named.predict_log_proba(dict(zip(names, row.tolist())))[0], expected), row


@pytest.mark.parametrize("density", [["kernel"], np.array(["kernel", "binned"]), 3, None, {}])
def test_a_density_is_a_word(density):
    with pytest.raises(ModelError, match="a: a density is one of"):
        po.NaiveBayes(density={"a": density}).fit({"a": [1.0, 2.0, 3.5]}, [0, 1, 0])


def test_a_row_takes_the_short_way_under_every_density_that_it_knows():
    rng = np.random.default_rng(0)
    X = {"word": rng.choice(["u", "v"], 60), "bell": rng.normal(size=60), "curve": rng.normal(size=60) ** 3}
    density = {"bell": "gaussian", "curve": "kernel"}
    model = po.NaiveBayes(density=density).fit(X, np.arange(60) % 2)
    scorer = RowScorer.of(model.factored_, model.schema_)
    assert scorer is not None
    row = {name: cells[:1].tolist()[0] for name, cells in X.items()}
    assert np.array_equal(scorer.log_joint(row)[0], model.predict_joint_log_proba(row))
    wide = po.NaiveBayes(kinds="categorical").fit(rng.integers(0, 2, (20, 201)), np.arange(20) % 2)
    assert RowScorer.of(wide.factored_, wide.schema_) is None


SCHEMA = (
    po.NaiveBayes(kinds={"n": "count", "t": "text"})
    .fit({"x": [1.5, 2.5], "n": [1, 2], "c": ["u", "v"], "b": [True, False], "t": ["a b", "c"]}, [0, 1])
    .schema_
)


def test_densities_are_told_by_kind_or_by_column():
    usual = ("auto", "multinomial", "cells", "cells", "words")
    assert choose_densities(SCHEMA, None) == usual
    assert choose_densities(SCHEMA, "kernel") == ("kernel", *usual[1:])
    assert choose_densities(SCHEMA, "poisson") == ("auto", "poisson", *usual[2:])
    assert choose_densities(SCHEMA, {"x": "binned", "n": "poisson"}) == ("binned", "poisson", *usual[2:])
    with pytest.raises(ModelError, match="column 'n' is count, but the density 'kernel' is for numeric columns"):
        choose_densities(SCHEMA, {"n": "kernel"})
    with pytest.raises(
        ModelError, match=r"density: a density is one of .*did you mean 'kernel'\? Got 'kernle' instead"
    ):
        choose_densities(SCHEMA, "kernle")
    with pytest.raises(ModelError, match=r"x: a density is one of .*\. Got 3 instead"):
        choose_densities(SCHEMA, {"x": 3})
    nameless = po.NaiveBayes().fit(np.array([[1.5, 2.5], [3.5, 1.0]]), [0, 1]).schema_
    assert choose_densities(nameless, {1: "kernel"}) == ("auto", "kernel")


def test_what_statistics_keep_for_a_density():
    assert roles_of(("auto", "gaussian", "kernel", "binned", "multinomial", "poisson", "cells", "words")) == (
        "numbers",
        "moments",
        "histogram",
        "histogram",
        "events",
        "moments",
        "cells",
        "words",
    )
    assert kept_for(("gaussian", "kernel", "cells"), ("numbers", "numbers", "cells"))
    assert kept_for(("gaussian",), ("moments",))
    for density, role in (("auto", "moments"), ("kernel", "moments"), ("gaussian", "histogram"), ("poisson", "events")):
        assert not kept_for(("cells", density), ("cells", role))


def several(smoothing, prior="smoothed"):
    X = {
        "c": ["u", "v", "u", "u"],
        "n": [3, 0, 1, 2],
        "m": [0, 2, 1, 1],
        "r": [4, 1, 0, 2],
        "t": ["a b", "a", "c c", "b"],
        "x": [0.5, 1.5, 4.0, 6.0],
    }
    model = po.NaiveBayes(
        smoothing=smoothing,
        prior=prior,
        kinds={"n": "count", "m": "count", "r": "count", "t": "text"},
        density={"x": "gaussian", "r": "poisson"},
    )
    return model.fit(X, [0, 1, 0, 1]), X


@pytest.mark.parametrize("prior", ["smoothed", "empirical", [0.25, 0.75]], ids=str)
@pytest.mark.parametrize("smoothing", [0.5, 2.0, 0.0])
def test_the_log_density_of_theta_is_its_sum(smoothing, prior):
    """λ Σ ln θ, of a rate λ(x̄ ln r − r), of P(y) where it is smoothed; a normal that was not inferred has none."""
    model, X = several(smoothing, prior)
    found = model.factored_.log_prior_of_theta()
    if smoothing == 0:
        assert found == 0.0
        return
    tables = model.tables_
    logs = sum(np.log(tables[c].to_numpy()).sum() for c in ("c", "n", "m", "t"))
    rate, middle = tables["r"].to_numpy(), np.mean(X["r"])
    logs += (middle * np.log(rate) - rate).sum()
    if prior == "smoothed":
        logs += np.log(tables["class"].to_numpy()).sum()
    assert found == pytest.approx(smoothing * logs)


def test_the_joint_and_its_parts_of_every_density():
    model, X = several(0.5)
    frame = open_frame(X)
    (joint, _), parts = model.factored_.log_joint(frame, 1), model.factored_.parts(frame)
    assert parts.shape == (4, 6, 2)
    assert joint == pytest.approx(model.factored_.log_prior + parts.sum(axis=1))
    nothing = po.NaiveBayes(density={"x": "gaussian"}).fit({"x": [1.0, 2.0]}, [0, 1]).factored_
    nothing.densities = []
    assert nothing.log_joint(open_frame({"x": [1.0, 2.0, 3.0]}), 1)[0] == pytest.approx(np.log([[0.5, 0.5]] * 3))


@pytest.fixture(scope="module")
def scorer():
    rng = np.random.default_rng(0)
    X = {
        "word": rng.choice(["u", "v"], 60),
        "bell": rng.normal(size=60),
        "other": rng.normal(size=60),
        "curve": rng.normal(size=60) ** 3,
        "code": rng.integers(0, 3, 60),
    }
    kinds, density = {"code": "categorical"}, {"bell": "gaussian", "other": "gaussian", "curve": "kernel"}
    model = po.NaiveBayes(kinds=kinds, density=density).fit(X, np.arange(60) % 3)
    return model, RowScorer.of(model.factored_, model.schema_)


ROW = {"word": "u", "bell": 0.5, "other": -0.25, "curve": 0.125, "code": 2}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("changed", "missing", "unseen"),
    [
        ({}, 0, 0),
        ({"word": None}, 1, 0),
        ({"word": "new", "code": 9}, 0, 2),
        ({"bell": np.nan}, 1, 0),
        ({"bell": np.nan, "other": None}, 2, 0),
        ({"curve": np.nan}, 1, 0),
        ({"curve": None, "bell": np.nan, "word": np.nan, "code": 9}, 3, 1),
    ],
)
def test_gaps_and_strangers_of_one_row_are_told_as_of_many(scorer, changed, missing, unseen):
    model, quick = scorer
    row = ROW | changed
    found, seen = quick.log_joint(row)
    assert (seen.missing, seen.unseen) == (missing, unseen)
    many, both = model.factored_.log_joint(
        open_frame(
            {k: np.array([v, v], dtype=object if isinstance(v, str) or v is None else None) for k, v in row.items()}
        ),
        1,
    )
    assert both == seen + seen
    assert np.array_equal(found[0], many[0])


def test_rows_that_take_the_long_way(scorer):
    """What is not one plain row, or has an infinite number, is for the block's path to answer or refuse."""
    _, quick = scorer
    short = {k: v for k, v in ROW.items() if k != "code"}
    for row in (
        short,
        short | {"kode": 2},
        ROW | {"more": 1},
        ROW | {"bell": [0.5, 1.0]},
        ROW | {"curve": [0.5]},
        ROW | {"bell": "wide"},
        ROW | {"word": ["u"]},
        ROW | {"bell": np.inf},
        ROW | {"curve": -np.inf},
        list(ROW.values()),
        np.array([list(ROW.values())], dtype=object),
        np.ones((2, 5)),
        np.ones((1, 4)),
    ):
        assert quick.log_joint(row) is None


def test_one_array_of_numbers_takes_the_short_way_by_every_density():
    rng = np.random.default_rng(0)
    X, y = np.column_stack([rng.integers(0, 3, 50), rng.normal(size=(50, 3))]), np.arange(50) % 2
    kinds = {"x0": "categorical"}
    for density in (
        {"x1": "gaussian", "x2": "kernel", "x3": "gaussian"},
        {"x1": "kernel", "x2": "binned", "x3": "kernel"},
    ):
        model = po.NaiveBayes(kinds=kinds, density=density).fit(X, y)
        quick = RowScorer.of(model.factored_, model.schema_)
        row = X[:1].copy()
        row[0, 2] = np.nan
        together = model.predict_joint_log_proba(np.vstack([row, row]))
        found, seen = quick.log_joint(row)
        assert np.array_equal(found[0], together[0])
        assert (seen.missing, seen.unseen) == (1, 0)
        assert quick.log_joint(np.array([[0, 1, np.inf, 2]])) is None
    bells = po.NaiveBayes(density="gaussian").fit(X[:, 1:], y)
    quick = RowScorer.of(bells.factored_, bells.schema_)
    assert quick.all_normal
    assert np.array_equal(quick.log_joint(X[:1, 1:])[0], bells.predict_joint_log_proba(X[:2, 1:])[:1])


def test_models_without_a_short_way():
    counts = po.NaiveBayes(kinds="count").fit([[1, 2], [2, 1]], [0, 1])
    assert RowScorer.of(counts.factored_, counts.schema_) is None
    for columns, short in ((200, True), (201, False)):
        wide = po.NaiveBayes(kinds="categorical").fit(np.arange(2 * columns).reshape(2, -1) % 3, [0, 1])
        assert (RowScorer.of(wide.factored_, wide.schema_) is not None) == short
    numbers = np.random.default_rng(0).normal(size=(40, 1))
    cut = po.NaiveBayes(unlabelled=-1, unlabelled_weight=1.0).fit(numbers, np.arange(40) % 3 - 1)
    assert cut.factored_.names == ("cells",)
    assert RowScorer.of(cut.factored_, cut.schema_) is None
