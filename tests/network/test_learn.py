"""Laws of counting: any rows, in any parts, from any source, give the network of their sum; forgetting takes them back."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import (
    BadParameter,
    NotLearned,
    PosterioriError,
    StatisticsError,
    TableError,
    UnknownColumn,
    UnknownValue,
)
from posteriori.network import learn
from posteriori.structure.dag import Dag
from posteriori.table.frame import Table

from .making import seeds

DAG = po.Dag(["a", "b", "c", "d"], [("a", "b"), ("a", "c"), ("b", "c")])


def rows(seed: int, n: int, missing: float = 0.2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    cells = {k: rng.integers(0, size, n).astype(object) for k, size in zip("abcd", (2, 3, 2, 4))}
    for column in cells.values():
        column[rng.random(n) < missing] = None
        column[0] = 0
    return pd.DataFrame(cells)


def brute(table: pd.DataFrame, net: po.BayesNet, smoothing: float) -> None:
    for node in net.nodes:
        family = [*net.parents(node), node]
        whole = table[family].dropna()
        for index, row in zip(net.cpt(node).index, net.cpt(node).to_numpy()):
            at = whole
            for parent, state in zip(net.parents(node), index if isinstance(index, tuple) else (index,)):
                at = at[at[parent] == state]
            n = np.array([(at[node] == state).sum() for state in net.states(node)])
            total = n.sum() + smoothing * len(n)
            np.testing.assert_allclose(row, (n + smoothing) / total if total else np.full(len(n), 1 / len(n)))


@given(seed=seeds, n=st.integers(1, 60), smoothing=st.sampled_from([0.0, 0.5, 1.0]))
def test_tables_are_counts(seed, n, smoothing):
    table = rows(seed, n)
    brute(table, po.BayesNet.fit(DAG, table, smoothing), smoothing)


@given(seed=seeds, parts=st.lists(st.integers(1, 15), min_size=2, max_size=4), weighted=st.booleans())
def test_parts_in_any_way_are_the_whole(seed, parts, weighted):
    table, cuts = rows(seed, sum(parts)), np.cumsum(parts)[:-1]
    weight = np.random.default_rng(seed).integers(1, 4, len(table)).astype(float) if weighted else None
    pieces = np.split(np.arange(len(table)), cuts)
    some = [(table.iloc[p], None if weight is None else weight[p]) for p in pieces]
    whole = po.BayesNet.fit(DAG, table, sample_weight=weight)
    first = grown = po.BayesNet.fit(DAG, some[0][0], sample_weight=some[0][1])
    for part, w in some[1:]:  # of which a column may be missing altogether
        grown = grown.partial_fit(part, sample_weight=w)
    assert grown == whole
    for part, w in some[:0:-1]:
        grown = grown.forget(part, sample_weight=w)
    assert grown == first
    assert grown.statistics == first.statistics
    if any(part[c].isna().all() for part, _ in some for c in DAG.nodes):
        return  # such a part alone has no states
    nets = [po.BayesNet.fit(DAG, part, sample_weight=w) for part, w in some]
    assert sum(nets) == whole
    assert sum(nets[::-1]) == whole
    assert sum(nets).statistics == whole.statistics


def test_one_row_at_a_time_is_the_batch():
    table = po.networks.asia().sample(200, random_state=0)
    net = po.BayesNet.fit(po.networks.asia().dag, table.iloc[:1])
    for row in table.iloc[1:].to_dict("records"):
        net = net.partial_fit(row)
    assert net == po.BayesNet.fit(po.networks.asia().dag, table)


def test_sources_agree(tmp_path):
    table = rows(3, 80)
    words = table.apply(lambda column: column.map(lambda v: None if v is None else f"v{v}"))
    expected = po.BayesNet.fit(DAG, words)
    words.to_csv(tmp_path / "rows.csv", index=False)
    words.to_parquet(tmp_path / "rows.parquet")
    sources = [
        words.to_dict("list"),
        words.astype("category"),
        pl.from_pandas(words),
        pa.Table.from_pandas(words),
        po.read(tmp_path / "rows.csv"),
        po.read(tmp_path / "rows.parquet"),
    ]
    for source in sources:
        for n_jobs in (1, 2):
            assert po.BayesNet.fit(DAG, source, n_jobs=n_jobs) == expected
    whole = words.dropna(subset="a")
    whole.to_csv(tmp_path / "whole.csv", index=False)
    assert po.BayesNet.fit(DAG, po.read(tmp_path / "whole.csv", target="a")) == po.BayesNet.fit(DAG, whole)


def test_another_smoothing_needs_no_rows():
    table = rows(5, 100)
    net = po.BayesNet.fit(DAG, table)
    for how in ({"smoothing": 0.1}, {"ess": 10.0}, {"backoff": 5.0}, {"smoothing": 0.0, "backoff": 2.0}):
        assert net.smoothed(**how) == po.BayesNet.fit(DAG, table, **how)
        assert net.smoothed(**how).smoothed() == net
    bdeu = net.smoothed(ess=12.0).cpt("c").to_numpy()
    counts = net.smoothed(0.0)  # BDeu: ess/(q r) = 12/(2·3·2) = 1 in every cell
    np.testing.assert_allclose(bdeu, net.smoothed(1.0).cpt("c").to_numpy())
    assert counts != net
    kept = pickle.loads(pickle.dumps(net.smoothed(ess=3)))
    assert kept.partial_fit(table) == po.BayesNet.fit(DAG, pd.concat([table, table]), ess=3)


def test_a_back_off_leans_on_fewer_parents():
    table = pd.DataFrame({"a": [0] * 9 + [1], "b": [0, 1] * 5, "c": [0, 0, 0, 1, 1, 1, 1, 1, 1, 0], "d": 0})
    m, n = 4.0, {x: (table.c == x).sum() for x in (0, 1)}
    theta = po.BayesNet.fit(DAG, table, smoothing=0, backoff=m).cpt("c")
    for a in (0, 1):
        for b in (0, 1):
            with_a = table[table.a == a]
            both = with_a[with_a.b == b]
            for x in (0, 1):
                low = n[x] / 10
                middle = ((with_a.c == x).sum() + m * low) / (len(with_a) + m)
                assert theta.loc[(a, b), x] == pytest.approx(((both.c == x).sum() + m * middle) / (len(both) + m))


def test_declared_states_stay_and_found_ones_grow():
    net = po.BayesNet.fit(po.Dag("ab"), {"a": ["x"], "b": ["u"]}, states={"a": ["z", "x"]})
    grown = net.partial_fit({"a": ["z"], "b": ["t"]})
    assert (grown.states("a"), grown.states("b")) == (("z", "x"), ("t", "u"))
    with pytest.raises(UnknownValue, match="column 'a', row 0: 'a' has no state 'y'"):
        net.partial_fit({"a": ["y"], "b": ["u"]})
    assert net.states("b") == ("u",)
    numbers = po.BayesNet.fit(po.Dag("a"), {"a": [1, 0, 1]}, states={"a": ["0", "1"]})  # by their text
    assert numbers.cpt("a").to_numpy().tolist() == [[0.4, 0.6]]


def test_what_was_not_learned_is_refused():
    net = po.BayesNet.fit(DAG, rows(1, 20, missing=0))
    with pytest.raises(NotLearned):
        net.forget({"a": [7], "b": [0], "c": [0], "d": [0]})
    with pytest.raises(NotLearned):
        net.forget(pd.concat([rows(1, 20, missing=0)] * 2))
    with pytest.raises(StatisticsError, match="last row"):
        net.forget(rows(1, 20, missing=0))
    with pytest.raises(StatisticsError, match="not counted"):
        po.networks.asia().partial_fit({"asia": ["yes"]})
    with pytest.raises(StatisticsError, match="other structures"):
        net + po.BayesNet.fit(po.Dag("abcd"), rows(1, 20, missing=0))
    with pytest.raises(UnknownColumn, match="no column for 'd'"):
        net.partial_fit({"a": [0], "b": [0], "c": [0]})
    for wrong in ({"ess": -1.0}, {"backoff": "x"}, {"ess": 1.0, "backoff": 1.0}):
        with pytest.raises(BadParameter):
            net.smoothed(**wrong)


@pytest.mark.parametrize("model", [po.NaiveBayes(), po.TAN(), po.KDB(k=2)], ids=["naive", "tan", "kdb"])
def test_statistics_of_a_classifier_are_a_network(model):
    rng = np.random.default_rng(0)
    X = {k: rng.integers(0, 3, 300) for k in "abc"}
    y = rng.integers(0, 2, 300)
    model.set_params(kinds="categorical").fit(X, y)
    edges = [("class", k) for k in X]
    if not isinstance(model, po.NaiveBayes):
        edges = [
            (X_[i], X_[v]) for X_ in [list(X)] for v, ps in enumerate(model.structure_.parents) for i in ps
        ] + edges
    dag = po.Dag(["class", *X], edges)
    net = po.BayesNet.from_counts(dag, model.statistics_)
    assert net == po.BayesNet.fit(dag, {"class": y, **X})
    assert net.partial_fit({"class": y, **X}) == po.BayesNet.fit(
        dag, {k: [*v, *v] for k, v in {"class": y, **X}.items()}
    )
    if isinstance(model, po.NaiveBayes):
        np.testing.assert_allclose(net.predict_proba(X, "class"), model.predict_proba(X), atol=1e-9)
    with pytest.raises(UnknownColumn, match="no column for"):
        po.BayesNet.from_counts(po.Dag(["class", "z", *X], edges), model.statistics_)


def test_wide_families_are_kept_by_their_rows():
    rng = np.random.default_rng(0)
    table = {k: rng.integers(0, 60, 500) for k in "abc"}  # 216,000 cells
    dag = po.Dag("abc", [("a", "c"), ("b", "c")])
    net = po.BayesNet.fit(dag, table)
    assert len(net.statistics.joints[0].counts.table) < 5000
    half = {k: v[:250] for k, v in table.items()}
    rest = {k: v[250:] for k, v in table.items()}
    assert po.BayesNet.fit(dag, half) + po.BayesNet.fit(dag, rest) == net
    assert net.forget(rest) == po.BayesNet.fit(dag, half)


@given(seed=seeds, n=st.integers(1, 60))
def test_categories_in_any_order_and_unused_ones_count_as_their_words_do(seed, n):
    rng = np.random.default_rng(seed)
    words = rows(seed, n, missing=0).astype(str)
    kinds = {c: rng.permutation([str(k) for k in range(5)]).tolist() for c in words}
    table = pd.DataFrame({c: pd.Categorical(words[c], categories=kinds[c]) for c in words})
    told = po.BayesNet.fit(DAG, words, states=kinds)
    for other in (po.BayesNet.fit(DAG, table), po.BayesNet.fit(DAG, table, sample_weight=np.ones(n))):
        assert other == told
        assert np.array_equal(other.statistics.cells.table, told.statistics.cells.table)
    holed = table.copy()
    holed.iloc[0, 0] = None
    assert po.BayesNet.fit(DAG, holed) == po.BayesNet.fit(DAG, holed.astype(object), states=kinds)
    found = po.BayesNet.fit(DAG, words)
    assert found.statistics == po.BayesNet.fit(DAG, words.astype(object)).statistics
    assert found == po.BayesNet.fit(DAG, words.iloc[:1]).partial_fit(words.iloc[1:]) if n > 1 else True


@pytest.mark.parametrize("counts", [[0.25, 0.75], [1.5, 0.5], [3, 1], [2.0, 0.5]])
def test_counts_may_be_weights(counts):
    net = po.BayesNet.from_counts(po.Dag(["a"], []), {"a": counts}, {"a": ["u", "v"]}, smoothing=0)
    assert net.cpt("a").to_numpy().ravel() == pytest.approx(np.array(counts) / sum(counts))


@pytest.mark.parametrize("size", [2, 255, 256, 300, 70_000])
def test_words_and_numbers_of_many_declared_states_are_the_same(size):
    states = {"a": [str(k) for k in range(size)]}
    cells = [0, size - 1, 1, None]
    found = po.BayesNet.fit(po.Dag("a"), {"a": cells}, states=states)
    assert found == po.BayesNet.fit(po.Dag("a"), {"a": [None if c is None else str(c) for c in cells]}, states=states)
    assert found.statistics.cells.table.sum() == 3


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5]])
@pytest.mark.parametrize("cells", [["x", "y", "x"], ["x", None, "x"], ["y", "y", "y"]])
def test_one_node_alone(weights, cells):
    net = po.BayesNet.fit(Dag("a"), {"a": cells}, smoothing=0.5, states={"a": ["x", "y"]}, sample_weight=weights)
    mass = {v: sum(w for c, w in zip(cells, weights or [1.0] * 3) if c == v) for v in "xy"}
    for value, p in net.marginals()["a"].items():
        assert p == pytest.approx((mass[value] + 0.5) / (sum(mass.values()) + 1), rel=1e-12)


@given(st.integers(0, 10**6))
def test_tables_are_counted_alike_with_and_without_weights(seed):
    """Whole rows without weights go a way of their own: codes as they came, tables put in order."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 5)), int(rng.integers(1, 30))
    names = [f"v{j}" for j in range(d)]
    data = {v: rng.choice([3, 1, 7, 2], n) if rng.random() < 0.5 else rng.choice(["b", "a", "c"], n) for v in names}
    states = {
        v: [1, 2, 3, 5, 7] if data[v].dtype.kind == "i" else ["a", "b", "c", "z"] for v in names if rng.random() < 0.5
    }
    dag = Dag(names, [(u, v) for i, u in enumerate(names) for v in names[i + 1 :] if rng.random() < 0.6])
    plain = po.BayesNet.fit(dag, data, states=states)
    weighed = po.BayesNet.fit(dag, data, states=states, sample_weight=np.ones(n))
    for v in names:
        assert plain.states(v) == weighed.states(v)
        np.testing.assert_allclose(plain.cpt(v).values, weighed.cpt(v).values, rtol=1e-12)
    assert plain.statistics.schema == weighed.statistics.schema
    np.testing.assert_array_equal(plain.statistics.cells.table, weighed.statistics.cells.table)


def test_smoothing_at_its_borders():
    from posteriori.smoothing.theta import MOST_SMOOTHING

    assert learn.Smoothing(0).smoothing == 0.0
    assert isinstance(learn.Smoothing(np.int64(2)).smoothing, float)
    assert learn.Smoothing(MOST_SMOOTHING, ess=MOST_SMOOTHING).ess == MOST_SMOOTHING
    assert learn.Smoothing(1.0, backoff=0).backoff == 0.0
    for bad in (
        {"smoothing": None},
        {"smoothing": -1e-9},
        {"ess": 1.01 * MOST_SMOOTHING},
        {"backoff": "x"},
        {"ess": np.nan},
    ):
        (name,) = bad
        with pytest.raises(BadParameter, match=re.escape(f"{name} is a number from 0 to {MOST_SMOOTHING:g}. Got")):
            learn.Smoothing(**bad)
    with pytest.raises(BadParameter, match="ess and backoff are two ways to smooth"):
        learn.Smoothing(ess=1.0, backoff=0.0)
    assert learn.Smoothing(0.3).pseudo_count(6) == 0.3
    assert learn.Smoothing(0.3, ess=3.0).pseudo_count(6) == 0.5


def test_columns_in_codes():
    """Values and codes of the columns asked for, missing cells last, closed columns in the order of their states."""
    dag = po.Dag(["b", "a"], [("a", "b")])
    words = pd.Categorical(["u", None, "v", "u"], categories=["v", "w", "u"])
    frame = pd.DataFrame({"a": words, "b": [3, 1, 3, 2], "more": 1.0})
    coded, schema, weights = learn.read_codes(dag, frame, ["a", "b"], {"b": (2, 1, 3)}, [1.0, 2.0, 0.5, 1.0], None)
    assert weights.tolist() == [1.0, 2.0, 0.5, 1.0]
    assert coded.n_missing == 1
    assert [coded.values[0][c] if c < 3 else None for c in coded.column(0)] == ["u", None, "v", "u"]
    assert [coded.values[1][c] for c in coded.column(1)] == [3, 1, 3, 2]
    assert [(c.name, c.kind, c.declared) for c in schema.columns] == [
        ("a", "categorical", frozenset()), ("b", "categorical", frozenset({1, 2, 3})),
    ]  # fmt: skip
    assert learn.read_codes(dag, frame[["b", "a"]], ["b"], {}, None, None)[2] is None
    holes = pd.DataFrame({"a": words, "b": pd.Categorical([None, 1, None, 1])})
    assert learn.read_codes(dag, holes, ["a", "b"], {}, None, None)[0].n_missing == 3
    told = learn.read_codes(dag, {"a": ["u"], "b": ["2"]}, ["a", "b"], {"b": (3, 2)}, None, None)[0]
    assert told.values[1][told.column(1)[0]] == 2  # by its text


@pytest.mark.parametrize(
    ("data", "closed", "said"),
    [
        ({"aa": [1], "b": [1]}, {}, r"no column for 'a'; did you mean 'aa'\? columns: 'aa', 'b'"),
        ({"speed": [1], "b": [1]}, {}, r"no column for 'a'\. columns: 'speed', 'b'"),
        ({"a": [1], "b": [1]}, {"c": [1]}, "states are given for 'c', which is no node. nodes: 'b', 'a'"),
        (np.ones((2, 2)), {}, "a table of cases needs column names"),
        ({"a": [], "b": []}, {}, "learned from rows and nodes; got 0 rows and 2 nodes"),
        ({"a": [1, 2, 5, 5], "b": [1] * 4}, {"a": (1, 2)}, "column 'a', row 2: 'a' has no state 5"),
    ],
)
def test_columns_that_are_none(data, closed, said):
    with pytest.raises(PosterioriError, match=said):
        learn.read_codes(po.Dag(["b", "a"]), data, ["a", "b"], closed, None, None)


def test_categories_that_are_taken_as_they_stand():
    found, holed = learn._categories(
        pd.DataFrame({
            "words": pd.Categorical(["y", None, "x"], categories=["y", "z", "x"]),
            "whole": pd.Categorical([7, 5, 7]),
            "parts": pd.Categorical([0.5, 0.25, 0.5]),
            "plain": [1, 2, 3],
        }),
        ["words", "whole", "parts", "plain", "absent"],
    )  # fmt: skip
    assert holed == ["words"]
    assert {n: (list(v), c.tolist()) for n, (v, c) in found.items()} == {
        "words": (["y", "z", "x"], [0, 3, 2]), "whole": ([5, 7], [1, 0, 1]),
    }  # fmt: skip
    assert all(c.dtype.kind == "u" for _, c in found.values())
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"]).astype("category")
    for other in (twice, pd.Series(["x"], dtype="category"), {"a": [1]}, np.ones((1, 1))):
        assert learn._categories(other, ["a"]) == ({}, [])
    none = pd.DataFrame({"a": pd.Categorical([], categories=["x"])})
    assert learn._categories(none, ["a"])[1] == []


@given(seed=seeds, n=st.integers(1, 30))
def test_whole_rows_are_counted_in_one_go(seed, n):
    """Whatever order their values came in: the statistics of rows that are looked at one by one."""
    rng = np.random.default_rng(seed)
    table = {k: rng.permutation(size)[rng.integers(0, size, n)] for k, size in zip("abcd", (2, 3, 2, 4))}
    table["a"] = np.array(["v", "u"])[table["a"]]
    whole, one_by_one = learn.count_rows(DAG, table, {}), learn.count_rows(DAG, table, {}, np.ones(n))
    assert whole.schema == one_by_one.schema
    assert whole.rows.tolist() == one_by_one.rows.tolist() == [n]
    for family in learn.families(DAG):
        v = family[-1]
        counts = [s.joints[0].table(v, s.sizes)[..., 0] for s in (whole, one_by_one)]
        assert counts[0].tolist() == counts[1].tolist()
        assert counts[0].sum() == n
        assert whole.cells.scope(v).tolist() == one_by_one.cells.scope(v).tolist()


def test_states_and_tables_in_the_order_that_was_told():
    data = {"a": ["x", "y", "y", None], "b": [1, 1, 2, 2]}
    dag = po.Dag("ab", [("a", "b")])
    found = learn.count_rows(dag, data, {"a": ("y", "x", "z")})
    states = learn.states_of(found, {"a": ("y", "x", "z")})
    assert states == {"a": ("y", "x", "z"), "b": (1, 2)}
    tables = learn.tables_of(dag, found, states, learn.Smoothing(1.0))
    assert tables["a"].tolist() == [[3 / 6, 2 / 6, 1 / 6]]
    assert tables["b"].tolist() == pytest.approx(np.array([[0.5, 0.5], [2 / 3, 1 / 3], [0.5, 0.5]]))
    with pytest.raises(TableError, match="every cell of 'a' is missing; pass its states"):
        learn.states_of(learn.count_rows(dag, {"a": [None], "b": [1]}, {}), {})


def test_the_target_of_a_read_table_is_a_column():
    X = pd.DataFrame({"a": [1, 2]})
    frame = learn.rows_of(Table(X, np.array(["u", "v"]), po.NaiveBayes().fit(X, ["u", "v"]).schema_))
    assert frame.names == ("a", "class")
    assert (frame.n, frame.column(1).tolist()) == (2, ["u", "v"])
