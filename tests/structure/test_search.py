"""Search by score: no step improves what was found, every step is what it says, constraints hold."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadParameter, InvalidNetwork, TableError, UnknownColumn
from posteriori.structure import rules as module
from posteriori.structure.rules import Rules, Watch
from posteriori.structure.scores import SCORES, Scored
from posteriori.structure.search import METHODS, _chow_liu, _merged, _observed, _start, coded
from posteriori.structure.separation import reversed_rows, topological

NAMES = "abcde"
WATCH = Watch(None, None)


def table(seed: int, n: int = 120) -> dict[str, np.ndarray]:
    """Columns that lean on those before them; some cells missing."""
    rng = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for j in range(len(NAMES)):
        new = rng.integers(0, 3, n)
        if j and rng.random() < 0.8:
            new = np.where(rng.random(n) < 0.7, columns[int(rng.integers(j))], new)
        columns.append(new)
    cells = [np.where(rng.random(n) < 0.05, None, c.astype(object)) if rng.random() < 0.3 else c for c in columns]
    return dict(zip(NAMES, cells))


def scored(data: dict[str, np.ndarray], score: str) -> Scored:
    codes = [[3 if v is None else int(v) for v in column] for column in data.values()]
    return Scored(np.array(codes, dtype=np.uint8), (3,) * len(data), score)


def parents_of(dag: po.Dag) -> list[list[int]]:
    return [[dag.nodes.index(p) for p in dag.parents(v)] for v in dag.nodes]


@given(seed=st.integers(0, 10_000), score=st.sampled_from([s for s in SCORES if s != "loglik"]))
def test_every_step_is_what_it_says_and_none_is_left(seed, score):
    data = table(seed)
    found = po.learn_structure(data, score)
    judge = scored(data, score)
    arrows: set[tuple[str, str]] = set()
    before = judge.whole([[]] * len(NAMES))
    for step in found.steps:
        if step.move == "add":
            arrows.add((step.parent, step.child))
        else:
            arrows.remove((step.parent, step.child))
            if step.move == "turn":
                arrows.add((step.child, step.parent))
        now = judge.whole(parents_of(po.Dag(NAMES, sorted(arrows))))  # a cycle would be refused here
        assert step.score == pytest.approx(now, rel=1e-9)
        assert step.gain == pytest.approx(now - before, rel=1e-6, abs=1e-6)
        before = now
    assert set(found.edges) == arrows
    assert found.score == pytest.approx(before)
    for u in NAMES:  # no single step improves it
        for v in NAMES:
            if u == v:
                continue
            for changed in (arrows ^ {(u, v)}, (arrows - {(u, v)}) | {(v, u)} if (u, v) in arrows else arrows):
                try:
                    neighbour = po.Dag(NAMES, sorted(changed))
                except InvalidNetwork:
                    continue
                assert judge.whole(parents_of(neighbour)) <= found.score + 1e-6


@given(seed=st.integers(0, 10_000), most=st.integers(0, 2))
def test_constraints_hold(seed, most):
    data = table(seed)
    free = po.learn_structure(data)
    forbidden = [*free.edges[:1], *((b, a) for a, b in free.edges[:1])]
    required = [("e", "a")] if ("e", "a") not in forbidden and most else []
    found = po.learn_structure(data, required=required, forbidden=forbidden, max_parents=most)
    assert set(required) <= set(found.edges)
    assert not set(forbidden) & set(found.edges)
    assert max(len(found.dag.parents(v)) for v in NAMES) <= most


@given(seed=st.integers(0, 10_000))
def test_threads_and_starts(seed):
    data = table(seed)
    assert po.learn_structure(data, n_jobs=1) == po.learn_structure(data, n_jobs=2)
    tree = po.learn_structure(data, method="chow-liu")
    assert len(tree.edges) <= len(NAMES) - 1
    assert max(len(tree.dag.parents(v)) for v in NAMES) <= 1
    climbed = po.learn_structure(data, start="chow-liu")
    assert climbed.score >= tree.score - 1e-9
    assert po.learn_structure(data, start=climbed.dag).score == pytest.approx(climbed.score)


def test_a_chow_liu_tree_is_the_best_of_all_trees():
    data = table(5)
    judge = scored(data, "loglik")
    tree = po.learn_structure(data, "loglik", "chow-liu")
    for seed in range(300):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(NAMES))
        parents: list[list[int]] = [[] for _ in NAMES]
        for i, v in enumerate(order[1:], 1):
            parents[v] = [int(order[rng.integers(i)])]
        if all(not any(c is None for c in column) for column in data.values()):
            assert judge.whole(parents) <= tree.score + 1e-9


def test_what_cannot_be_is_named():
    data = {"a": [0, 1, 0, 1], "b": [0, 1, 1, 0]}
    with pytest.raises(InvalidNetwork, match="required and forbidden"):
        po.learn_structure(data, required=[("a", "b")], forbidden=[("a", "b")])
    with pytest.raises(InvalidNetwork, match="cycle"):
        po.learn_structure(data, required=[("a", "b"), ("b", "a")])
    with pytest.raises(UnknownColumn, match="no node 'c'"):
        po.learn_structure(data, required=[("a", "c")])
    with pytest.raises(InvalidNetwork, match="pairs"):
        po.learn_structure(data, forbidden=["ab"])
    with pytest.raises(BadParameter, match="method"):
        po.learn_structure(data, method="anneal")
    with pytest.raises(BadParameter, match="start"):
        po.learn_structure(data, start="full")
    with pytest.raises(BadParameter, match="max_parents"):
        po.learn_structure(data, max_parents=-1)
    with pytest.raises(TableError, match="every cell of 'b' is missing"):
        po.learn_structure({"a": [0, 1], "b": [None, None]})
    with pytest.raises(TableError, match="column 'a' has 5000 values"):
        po.learn_structure({"a": np.arange(5000), "b": np.arange(5000) % 2})
    with pytest.raises(TableError, match="rows"):
        po.learn_structure({"a": [], "b": []})
    assert po.learn_structure({"a": [1, 1, 1], "b": [0, 1, 0]}).edges == ()  # a column of one value tells nothing


@given(seed=st.integers(0, 10_000))
def test_tiers_and_a_parent_of_all(seed):
    data = table(seed)
    found = po.learn_structure(data, tiers=[["c"], ["a", "e"]])
    place = {"c": 0, "a": 1, "e": 1}
    assert all(place[u] <= place[v] for u, v in found.edges if u in place and v in place)
    found = po.learn_structure(data, parent_of_all="d", max_parents=2)
    assert {("d", v) for v in "abce"} <= set(found.edges)
    tree = po.learn_structure(data, parent_of_all="d", max_parents=2, start="chow-liu")
    assert {("d", v) for v in "abce"} <= set(tree.edges)
    naive = po.learn_structure(data, parent_of_all="d", max_parents=1)
    assert set(naive.edges) == {("d", v) for v in "abce"}


def test_tiers_that_contradict_are_named():
    data = table(0)
    with pytest.raises(InvalidNetwork, match="a → b is required, but tiers put b first"):
        po.learn_structure(data, required=[("a", "b")], tiers=["b", "a"])
    with pytest.raises(InvalidNetwork, match="a node is in two tiers"):
        po.learn_structure(data, tiers=[["a"], ["b", "a"]])
    with pytest.raises(UnknownColumn, match="no node 'z'"):
        po.learn_structure(data, tiers=[["a"], ["z"]])
    with pytest.raises(UnknownColumn, match="no node 'z'"):
        po.learn_structure(data, parent_of_all="z")
    with pytest.raises(InvalidNetwork, match="required and forbidden"):
        po.learn_structure(data, parent_of_all="a", forbidden=[("a", "c")])


@given(seed=st.integers(0, 10_000))
def test_tabu_and_restarts_never_end_lower_and_repeat_themselves(seed):
    data = table(seed)
    plain = po.learn_structure(data, "k2")
    for options in ({"tabu": 10}, {"restarts": 3, "random_state": seed}, {"tabu": 5, "restarts": 2, "random_state": 1}):
        found = po.learn_structure(data, "k2", **options)
        assert found.score >= plain.score - 1e-9
        assert found == po.learn_structure(data, "k2", **options)
        arrows: set[tuple[str, str]] = set()
        judge = scored(data, "k2")
        for step in found.steps:  # the way to the best, through worse ones
            arrows ^= {(step.parent, step.child)}
            if step.move == "turn":
                arrows.add((step.child, step.parent))
            assert step.score == pytest.approx(judge.whole(parents_of(po.Dag(NAMES, sorted(arrows)))), rel=1e-9)
        assert arrows == set(found.edges)


@given(seed=st.integers(0, 10_000))
def test_k2_takes_the_best_parents_along_an_order(seed):
    data = table(seed)
    order = list(np.random.default_rng(seed).permutation(list(NAMES)))
    found = po.learn_structure(data, "bdeu", "k2", order=order, forbidden=[("a", "b")])
    assert all(order.index(u) < order.index(v) for u, v in found.edges)
    assert ("a", "b") not in found.edges
    judge = scored(data, "bdeu")
    for v in NAMES:  # no single parent more would help
        now = [NAMES.index(p) for p in found.dag.parents(v)]
        for u in order[: order.index(v)]:
            if NAMES.index(u) not in now and (u, v) != ("a", "b"):
                more = judge.family(NAMES.index(v), [*now, NAMES.index(u)])
                assert more <= judge.family(NAMES.index(v), now) + 1e-6
    with pytest.raises(BadParameter, match="needs order"):
        po.learn_structure(data, method="k2")
    with pytest.raises(BadParameter, match="every node once"):
        po.learn_structure(data, method="k2", order=list("abcd"))
    with pytest.raises(InvalidNetwork, match="order puts a first"):
        po.learn_structure(data, method="k2", order=list(NAMES), required=[("b", "a")])


def test_time_ctrl_c_and_progress():
    data = table(1)
    ended = po.learn_structure(data, time_limit=0)
    assert ended.edges == ()
    assert not ended.finished
    lines: list[str] = []
    whole = po.learn_structure(data, progress=lines.append)
    assert whole.finished
    assert len(lines) >= len(whole.steps)  # steps in vain are shown too
    assert "score" in lines[0]

    def stop(line: str) -> None:
        if line.startswith("step 2"):
            raise KeyboardInterrupt

    cut = po.learn_structure(data, progress=stop)
    assert not cut.finished
    assert cut.steps == whole.steps[:2]
    assert len(cut.edges) == 2
    assert po.learn_structure(data, progress=True) == whole


def test_a_whole_matrix_of_numbers_has_the_values_that_occur():
    matrix = np.random.default_rng(0).integers(0, 2, (200, 3)) * np.array([1, 7, 1]) + np.array([0, 1, 5])
    found = po.learn_structure(matrix)
    named = po.learn_structure({str(j): [f"v{x}" for x in matrix[:, j]] for j in range(3)})
    assert found.score == pytest.approx(named.score)


def test_equal_rows_are_merged():
    data = table(3)
    many = {k: np.tile(np.asarray(v, dtype=object), 40) for k, v in data.items()}  # 4,800 rows of at most 4⁵
    judge = scored(many, "bic")
    found = po.learn_structure(many)
    assert found.score == pytest.approx(judge.whole(parents_of(found.dag)), rel=1e-12)


@given(seed=st.integers(0, 10_000), score=st.sampled_from(SCORES))
def test_the_score_of_a_given_structure_is_that_of_the_search(seed, score):
    data = table(seed)
    found = po.learn_structure(data, score, ess=2.0, max_parents=2)
    assert po.score_structure(found.dag, data, score, ess=2.0) == pytest.approx(found.score, rel=1e-12)
    some = po.Dag("ba", [("b", "a")])  # in another order, of some of the columns
    want = scored({k: data[k] for k in "ab"}, score).whole([[1], []])
    assert po.score_structure(some, data, score) == pytest.approx(want, rel=1e-12)


@given(seed=st.integers(0, 10_000))
def test_a_structure_scores_as_the_network_that_is_counted_under_it(seed):
    """LL(B|D), |B| and s(B|D) by two ways: from the counts, and row by row under tables without smoothing."""
    data = {k: [int(v or 0) for v in column] for k, column in table(seed).items()}
    dag = po.learn_structure(data, "aic", max_parents=2).dag
    net = po.BayesNet.fit(dag, data, smoothing=0)
    fit, m = net.log_likelihood(data), len(data["a"])
    assert po.score_structure(dag, data, "loglik") == pytest.approx(fit, rel=1e-9)
    assert po.score_structure(dag, data, "aic") == pytest.approx(fit - net.n_parameters, rel=1e-9)
    assert po.score_structure(dag, data, "mdl") == pytest.approx(net.bic(data), rel=1e-9)
    assert net.bic(data) == pytest.approx(fit - np.log(m) / 2 * net.n_parameters, rel=1e-12)


def test_four_rows_do_not_pay_for_an_arrow():
    """The figures of the docs by hand: s = ½ ln 4 · |B| − LL."""
    four = {"rain": [0, 0, 0, 1], "wet": [0, 1, 1, 1]}
    half = 3 * np.log(3 / 4) + np.log(1 / 4)
    for arrows, fit, free in (([], 2 * half, 2), ([("rain", "wet")], half + 2 * np.log(2 / 3) + np.log(1 / 3), 3)):
        dag = po.Dag(four, arrows)
        assert po.score_structure(dag, four, "mdl") == pytest.approx(fit - np.log(4) / 2 * free)
        assert po.score_structure(dag, four, "loglik") == pytest.approx(fit)
        assert po.BayesNet.fit(dag, four, smoothing=0).n_parameters == free
    with pytest.raises(UnknownColumn, match="no column for 'wett'; did you mean 'wet'"):
        po.score_structure(po.Dag(["rain", "wett"]), four)
    with pytest.raises(BadParameter, match="dag is a Dag"):
        po.score_structure(po.networks.asia(), four)


def test_of_several_starts_the_best_climb_is_taken():
    """A XOR is seen from naive Bayes; of equals the first; rules hold from each."""
    a, b, z = np.random.default_rng(0).integers(0, 2, (3, 400))
    data = {"a": a, "b": b, "z": z, "y": a ^ b}
    naive = po.Dag(data, [("y", v) for v in "abz"])
    none, led = po.learn_structure(data), po.learn_structure(data, start=naive)
    assert none.edges == ()
    assert {frozenset(e) for e in led.edges} >= {frozenset("ab")}
    for starts in ([None, naive], [naive, None]):
        assert po.learn_structure(data, start=starts) == led
    assert po.learn_structure(data, start=[None, naive, "chow-liu"]).score >= led.score > none.score
    assert po.learn_structure(data, start=[None, None]) == none
    held = po.learn_structure(data, start=[None, naive], forbidden=[("y", v) for v in "abz"])
    assert not {("y", v) for v in "abz"} & set(held.edges)


def test_two_rows_and_columns_of_one_value():
    assert po.learn_structure({"a": [0, 1], "b": [0, 1]}).finished
    for method in ("hill-climb", "chow-liu"):
        assert po.learn_structure({"a": [1, 1, 1], "b": [2, 2, 2]}, method=method).dag.nodes == ("a", "b")


def greedy(judge: Scored) -> float:
    """Where a plain climb ends: one step at a time, the best of all."""
    d = judge.d
    parents: list[frozenset[int]] = [frozenset()] * d
    memory: dict[tuple[int, frozenset[int]], float] = {}

    def family(v: int, some: frozenset[int]) -> float:
        if (v, some) not in memory:
            memory[v, some] = judge.family(v, sorted(some))
        return memory[v, some]

    def worth(changed: dict[int, frozenset[int]]) -> float:
        after = [changed.get(v, some) for v, some in enumerate(parents)]
        if len(topological(after, reversed_rows(after))) < d:
            return -np.inf
        return sum(family(v, some) - family(v, parents[v]) for v, some in changed.items())

    while True:
        steps: list[dict[int, frozenset[int]]] = [
            {v: parents[v] ^ {u}} for v in range(d) for u in range(d) if u != v and v not in parents[u]
        ]
        steps += [{v: parents[v] - {u}, u: parents[u] | {v}} for v in range(d) for u in parents[v]]
        best = max(steps, key=worth)
        if worth(best) <= 1e-6:
            return judge.whole([sorted(some) for some in parents])
        for v, some in best.items():
            parents[v] = some


def test_moves_in_the_order_lead_out_of_where_greed_ends():
    """Never far below a plain climb, mostly above: nine columns of which each is told by two before it."""
    gaps = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        columns: list[np.ndarray] = []
        for j in range(9):
            told = sum((columns[int(k)] for k in rng.integers(0, j, 2)), np.zeros(600, int)) if j > 1 else 0
            columns.append((told + rng.choice(3, 600, p=[0.8, 0.15, 0.05])) % 3)
        data = dict(zip(rng.permutation(list("abcdefghi")).tolist(), columns))
        found = po.learn_structure(data)
        gaps.append(found.score - greedy(scored(data, "bic")))
        best = po.learn_structure(data, method="exact").score
        assert found.score <= best + 1e-6
    assert min(gaps) > -1e-6
    assert max(gaps) > 1


def test_few_nodes_are_searched_from_many_orders():
    """Rows of asia on which one climb ends 8 and more below the optimum, and plain greed of others above it."""
    for seed in (0, 1, 2):
        rows = po.networks.asia().sample(2_000, random_state=seed)
        best = po.learn_structure(rows, method="exact").score
        assert po.learn_structure(rows).score == pytest.approx(best)


@given(seed=st.integers(0, 10_000), order=st.permutations(range(len(NAMES))))
def test_columns_in_another_order_give_the_same_network(seed, order):
    """Nodes are told apart by s(v | ∅); only where two are equal in it does the order of their columns count."""
    data = table(seed)
    judge = scored(data, "bic")
    if len({judge.family(v, ()) for v in range(len(NAMES))}) < len(NAMES):
        return
    first = po.learn_structure(data)
    moved = po.learn_structure({NAMES[j]: data[NAMES[j]] for j in order})
    assert set(first.edges) == set(moved.edges)
    assert first.steps == moved.steps


RUBBISH = [object(), 2.5, "lots", float("nan"), np.array([np.nan, 1.0]), np.array([]), {}, -1, [5]]
MEANT = {("ess", "2.5"), ("time_limit", "2.5"), ("n_jobs", "-1")}
MEANT |= {(w, r) for w in ("required", "forbidden", "tiers") for r in ("[]", "{}")}


OPTIONS = [
    "score",
    "method",
    "start",
    "required",
    "forbidden",
    "tiers",
    "parent_of_all",
    "max_parents",
    "tabu",
    "restarts",
]


@pytest.mark.parametrize("what", [*OPTIONS, "time_limit", "ess", "n_jobs"])
@pytest.mark.parametrize("rubbish", RUBBISH, ids=map(repr, range(len(RUBBISH))))
def test_rubbish_is_refused_in_our_words(what, rubbish):
    data = {"a": [0, 1, 0, 1], "b": [0, 1, 1, 0]}
    if (what, str(rubbish)) in MEANT:
        assert po.learn_structure(data, **{what: rubbish}).edges == ()
        return
    with pytest.raises(ValueError, match=r"Got|no node|is required") as error:
        po.learn_structure(data, **{what: rubbish})
    assert type(error.value).__module__ == "posteriori.errors"


def test_a_start_or_requirement_beyond_max_parents_is_named():
    data = table(0)
    with pytest.raises(InvalidNetwork, match=r"'c' begins with .*more than max_parents=1"):
        po.learn_structure(data, required=[("a", "c"), ("b", "c")], max_parents=1)
    with pytest.raises(InvalidNetwork, match="more than max_parents=0"):
        po.learn_structure(data, start=po.Dag(NAMES, [("a", "b")]), max_parents=0)


@pytest.mark.parametrize("seed", [0, 3, 4, 8, 11])
@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_more_search_never_gives_less(seed, score):
    """Of 6 to 29 columns, more than are searched from many orders; the default's result is where the others begin."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, 300)]
    for j in range(1, int(rng.integers(6, 30))):
        told = columns[int(rng.integers(0, j))] + columns[int(rng.integers(0, j))]
        columns.append((told + rng.choice(3, 300, p=[0.7, 0.2, 0.1])) % 3)
    data = {f"c{j}": column for j, column in enumerate(columns)}
    plain = po.learn_structure(data, score).score
    for more in ({"tabu": 10}, {"restarts": 2, "random_state": 0}, {"tabu": 40, "restarts": 1, "random_state": 1}):
        assert po.learn_structure(data, score, **more).score >= plain


@pytest.mark.parametrize("seed", range(6))
def test_a_tabu_walk_ends(seed):
    """It ends below its best, from where any step gains: to turn arrows there and climb again would go on for ever."""
    rng = np.random.default_rng(seed)
    data = {name: rng.integers(0, 3, 120) for name in "abcdefgh"}
    plain = po.learn_structure(data)
    walk = po.learn_structure(data, tabu=10, restarts=1, random_state=0)
    assert walk.finished
    assert walk.score >= plain.score - 1e-9


@pytest.mark.parametrize(
    ("method", "more"), [("k2", {"order": list("abcde")}), ("pc", {}), ("mmhc", {}), ("hill-climb", {})]
)
@pytest.mark.parametrize("after", [1, 2, 3])
def test_ctrl_c_keeps_what_every_search_has_found(method, more, after):
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 400)
    data = {name: np.where(rng.random(400) < 0.3, rng.integers(0, 3, 400), first) for name in "abcde"}
    lines = []

    def show(line):
        lines.append(line)
        if len(lines) == after:
            raise KeyboardInterrupt

    found = po.learn_structure(data, method=method, progress=show, **more)
    assert found.finished == (len(lines) < after)
    assert set(found.dag.nodes) == set(data)


@pytest.mark.parametrize("limit", [0, 1, 2, 4, 9, 30, 10**9])
@pytest.mark.parametrize("method", METHODS)
def test_every_search_ends_with_what_is_there_when_the_time_is_over(method, limit, monkeypatch):
    """By a clock that a look makes a second later; whatever is given was found by then."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 400)
    data = {name: np.where(rng.random(400) < 0.4, rng.integers(0, 3, 400), first) for name in "abcdefg"}
    order = {"order": list(data)} if method == "k2" else {}
    whole, clock = po.learn_structure(data, method=method, **order), itertools.count()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    found = po.learn_structure(data, method=method, time_limit=limit, **order)
    assert next(clock) <= limit + 60
    assert found.finished if limit == 10**9 else not found.finished or limit > 4
    if found.finished:
        assert found.edges == whole.edges
    elif method != "pc":
        assert found.score <= whole.score + 1e-9
    if limit == 0 and method != "exact":
        assert found.edges == ()


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e9])
def test_a_tree_does_not_depend_on_the_unit_of_weights(size):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 200)
    noisy = [np.where(rng.random(200) < share, a, rng.integers(0, 3, 200)) for share in (0.9, 0.3)]
    data = {"c": noisy[1], "a": a, "b": noisy[0]}
    found = po.learn_structure(data, method="chow-liu", sample_weight=np.full(200, size))
    assert found.edges == po.learn_structure(data, method="chow-liu").edges == (("c", "a"), ("a", "b"))


@pytest.mark.parametrize("rows", [35, 36, 37])
@pytest.mark.parametrize("weighted", [False, True])
def test_equal_rows_are_one_where_there_are_at_most_half_as_many(rows, weighted):
    """Of 3 · 3 · 2 rows that can be, a missing cell being one value more."""
    rng = np.random.default_rng(rows)
    codes = np.stack([rng.integers(0, 3, rows), rng.integers(0, 2, rows), rng.integers(0, 2, rows)]).astype(np.uint8)
    weights = rng.random(rows) if weighted else None
    found, mass = _merged(codes, (2, 2, 1), weights)
    if rows < 36:
        assert found is codes
        assert mass is weights
        return
    told: dict[tuple[int, ...], float] = {}
    for k, row in enumerate(codes.T.tolist()):
        told[tuple(row)] = told.get(tuple(row), 0.0) + (1.0 if weights is None else weights[k])
    assert found.dtype == codes.dtype
    assert mass.dtype == np.float64
    assert dict(zip(map(tuple, found.T.tolist()), mass)) == pytest.approx(told)


def test_values_that_occur_are_counted_on_without_gaps():
    codes, size = _observed(np.array([4, 0, 2, 5, 2], np.uint8), 5)  # 5 is missing
    assert (codes.tolist(), size) == ([2, 0, 1, 3, 1], 3)
    assert _observed(np.array([0, 1, 2]), 4)[1] == 3
    whole = np.array([0, 1, 2, 1])
    assert _observed(whole, 3) == (whole, 3)
    assert _observed(whole, 2) == (whole, 2)


def test_a_column_may_have_4096_values():
    values = np.arange(4096)
    for many in (255, 256):
        column = np.array([*(f"v{k:03d}" for k in range(many)), None], dtype=object)
        assert coded({"a": column}, "bic", 1.0, None, None)[1].codes[0].tolist() == list(range(many + 1))
    names, scored = coded({"a": values, "b": values % 2}, "bic", 1.0, None, None)
    assert (names, scored.sizes, scored.codes.dtype) == (["a", "b"], (4096, 2), np.uint16)
    with pytest.raises(TableError, match="column 'a' has 4097 values"):
        coded({"a": np.arange(4097)}, "bic", 1.0, None, None)
    with pytest.raises(TableError, match="got 0 rows of 1 columns"):
        coded({"a": []}, "bic", 1.0, None, None)
    few = {"a": [0, 1] * 9, "b": [0, 0] * 9}
    assert coded(few, "bic", 1.0, None, None)[1].codes.shape == (2, 2)
    assert coded(few, "bic", 1.0, None, None, merge=False)[1].codes.shape == (2, 18)


def test_where_a_climb_begins():
    rules, (_, judge) = Rules.of(NAMES), coded(table(2), "bic", 1.0, None, None)
    assert _start(rules, judge, None, WATCH) == ([], True)
    assert _start(rules, judge, po.Dag(NAMES, [("b", "a"), ("a", "e")]), WATCH) == ([(1, 0), (0, 4)], True)
    arrows, strict = _start(rules, judge, "chow-liu", WATCH)
    assert (arrows, strict) == (_chow_liu(judge, WATCH), False)


def test_many_fractions_are_named_and_whole_numbers_and_few_values_are_not():
    x = np.arange(40) / 7
    quiet = {"whole": np.arange(40), "few": np.arange(40) % 3 / 7, "word": [f"w{i}" for i in range(40)]}
    with pytest.warns(UserWarning, match="each of the many fractions in 'x' is a state of its own"):
        po.learn_structure({"x": x, **quiet})
    assert po.learn_structure(quiet).dag.nodes == tuple(quiet)  # a warning is an error here
