"""EM inside the search: completed rows carry the expected counts, the score never falls, and holes hide little."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadParameter, BadValue, MemoryBudgetError, UnknownColumn
from posteriori.network import structural
from posteriori.network.junction import JunctionTree
from posteriori.network.numbers import Numbers
from posteriori.network.structural import completed
from posteriori.structure import rules


def random_model(rng: np.random.Generator) -> Numbers:
    d = int(rng.integers(2, 5))
    sizes = tuple(int(s) for s in rng.integers(2, 4, d))
    parents = tuple(tuple(int(u) for u in range(v) if rng.random() < 0.5) for v in range(d))
    tables = []
    for v in range(d):
        q = int(np.prod([sizes[u] for u in parents[v]], dtype=int))
        tables.append(rng.dirichlet(np.ones(sizes[v]), q).ravel())
    return Numbers(sizes, parents, tuple(tables))


@given(st.integers(0, 10_000))
def test_completed_rows_are_weighed_by_their_posterior(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    n, d = 12, len(model.sizes)
    cases = np.stack([rng.integers(0, s, n) for s in model.sizes], axis=1).astype(np.int32)
    cases[rng.random(cases.shape) < 0.4] = -1
    weights = rng.integers(0, 3, n).astype(float) if rng.random() < 0.5 else None
    want: dict[tuple[int, ...], float] = {}
    for r, case in enumerate(cases):
        ways = [range(s) if c < 0 else [int(c)] for c, s in zip(case, model.sizes, strict=True)]
        joint = {}
        for full in itertools.product(*ways):
            p = 1.0
            for v in range(d):
                at = 0
                for u in (*model.parents[v], v):
                    at = at * model.sizes[u] + full[u]
                p *= model.tables[v][at]
            joint[full] = p
        for full, p in joint.items():
            want[full] = want.get(full, 0.0) + (1 if weights is None else weights[r]) * p / sum(joint.values())
    rows, mass = completed(model, cases, weights)
    found = dict(zip(map(tuple, rows.tolist()), mass.tolist(), strict=True))
    assert len(found) == len(rows)  # equal rows are one
    for full in {*found, *want}:
        assert found.get(full, 0.0) == pytest.approx(want.get(full, 0.0), abs=1e-12)


def test_rows_with_too_many_ways_are_drawn_from_the_same_posterior(monkeypatch):
    net = po.networks.asia()
    cases = np.full((2, 8), -1, np.int32)
    cases[:, net.dag.index["xray"]] = 0
    _, shares = completed(net._model, cases[:1], None, draws=3, seed=1)
    assert len(set(shares.round(12))) > 3  # 128 ways are few: all are looked at
    monkeypatch.setattr(structural, "MOST_WAYS", 128)
    assert np.array_equal(completed(net._model, cases[:1], None, draws=3, seed=1)[1], shares)
    monkeypatch.setattr(structural, "MOST_WAYS", 127)
    rows, mass = completed(net._model, cases[:1], None, draws=40_000, seed=1)
    again, others = (completed(net._model, cases[:1], None, 40, seed)[0] for seed in (1, 2))
    assert not np.array_equal(again, others)
    two = completed(net._model, np.vstack([cases[:1], np.full((1, 8), -1, np.int32)]), np.array([2.0, 3.0]), 40, 1)
    assert two[1].sum() == pytest.approx(5)
    assert mass.sum() == pytest.approx(1)
    lung = net.dag.index["lung"]
    want = net.query("lung", {"xray": net.states("xray")[0]}).values[0]
    assert mass[rows[:, lung] == 0].sum() == pytest.approx(want, abs=0.02)


def holed(net: po.BayesNet, n: int, share: float, seed: int):
    rows = net.sample(n, random_state=seed)
    return rows, rows.mask(np.random.default_rng(seed).random(rows.shape) < share)


@pytest.mark.parametrize("score", ["bic", "aic", "loglik"])
def test_with_nothing_missing_it_is_the_search(score):
    rows, _ = holed(po.networks.asia(), 800, 0, 0)
    limits = {"max_parents": 2}
    plain = po.learn_structure(rows, score, **limits)
    found = po.structural_em(rows, score, smoothing=0, **limits)
    assert found.dag == plain.dag
    assert found.score == pytest.approx(plain.score)
    assert found.converged


@pytest.mark.parametrize("seed", range(3))
def test_the_score_never_falls_and_holes_hide_little(seed):
    net = po.networks.asia()
    rows, holes = holed(net, 4000, 0.15, seed)
    lines = []
    found = po.structural_em(holes, random_state=0, progress=lambda turn, value: lines.append((turn, value)))
    assert list(found.trace) == sorted(found.trace)
    assert found.converged
    assert [value for _, value in lines[: len(found.trace)]] == list(found.trace)[: len(lines)]
    naive = po.BayesNet.fit(po.learn_structure(holes).dag, rows)
    fresh = net.sample(4000, random_state=100 + seed)
    cells = {n: fresh[n].astype(str).tolist() for n in net.nodes}

    def held_out(model: po.BayesNet) -> float:
        return sum(model.log_probability({n: cells[n][r] for n in net.nodes}) for r in range(300))

    assert held_out(found.net) > held_out(naive) - 3
    assert len(found.dag.edges) <= 10  # asia has 8; missing cells as values of their own had made more


def incomplete(seed: int) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
    """Columns that lean on the one before, with holes, and weights, some of them 0, or none."""
    rng = np.random.default_rng(seed)
    n, columns = int(rng.integers(2, 50)), dict[str, np.ndarray]()
    before: np.ndarray | None = None
    for j in range(int(rng.integers(1, 5))):
        new = rng.integers(0, int(rng.integers(2, 4)), n)
        new = new if before is None else np.where(rng.random(n) < 0.7, before, new)
        columns[f"c{j}"], before = new.astype(object), new
        columns[f"c{j}"][rng.random(n) < rng.choice([0.0, 0.2, 0.5])] = None
        columns[f"c{j}"][0] = int(new[0])
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], n) if rng.random() < 0.5 else None
    if weights is not None:
        weights[0] = 1.0
    return columns, weights


@given(
    seed=st.integers(0, 10_000),
    score=st.sampled_from(["bic", "aic", "loglik"]),
    smoothing=st.sampled_from([0.0, 0.1, 1.0]),
    hidden=st.booleans(),
)
@settings(max_examples=40)
def test_the_score_is_what_the_network_says_of_the_rows(seed, score, smoothing, hidden):
    """s(B) = Σ w ln P(what the row states) − f·|B| by a question a row; it never falls; with no holes it is the search."""
    columns, weights = incomplete(seed)
    start = po.Dag([*columns, "h"], [("h", n) for n in columns]) if hidden else None
    how = {"sample_weight": weights, "max_parents": 2}
    found = po.structural_em(
        columns, score, start=start, hidden={"h": 2} if hidden else None, smoothing=smoothing, random_state=0, **how
    )
    assert list(found.trace) == sorted(found.trace)
    w = np.ones(len(columns["c0"])) if weights is None else weights
    price = {"bic": 0.5 * np.log(max(w.sum(), 1.0)), "aic": 1.0, "loglik": 0.0}[score]
    want = -price * found.net.n_parameters
    for r in np.flatnonzero(w):
        want += w[r] * found.net.log_probability({n: c[r] for n, c in columns.items() if c[r] is not None})
    assert found.score == pytest.approx(want, rel=1e-6, abs=1e-6)
    if not hidden and all(v is not None for c in columns.values() for v in c):
        plain = po.learn_structure(columns, score, **how)
        assert smoothing > 0 or found.score >= plain.score - 1e-6
        kept = {n: c[w > 0] for n, c in columns.items()}
        again = po.learn_structure(kept, score, start=found.dag, sample_weight=w[w > 0], max_parents=2)
        assert found.converged
        assert smoothing > 0 or again.score == pytest.approx(found.score)


def test_a_hidden_cause_stays_where_it_explains():
    tables = {"kind": [0.6, 0.4]} | {f"x{i}": [[0.9, 0.1], [0.2, 0.8]] for i in range(5)}
    truth = po.BayesNet([("kind", f"x{i}") for i in range(5)], tables)
    seen = truth.sample(1500, random_state=0).drop(columns="kind")
    found = po.structural_em(seen, start=truth.dag, hidden={"kind": 2}, random_state=0)
    assert {frozenset(arrow) for arrow in found.dag.edges} == {frozenset(("kind", f"x{i}")) for i in range(5)}
    assert all(
        found.net.dag.d_separated(a, b, "kind") for a, b in itertools.combinations([f"x{i}" for i in range(5)], 2)
    )


def test_rules_hold_and_rubbish_is_named():
    _, holes = holed(po.networks.asia(), 500, 0.1, 0)
    found = po.structural_em(holes, required=[("asia", "smoke")], forbidden=[("bronc", "dysp"), ("dysp", "bronc")])
    assert ("asia", "smoke") in found.dag.edges
    assert not {("bronc", "dysp"), ("dysp", "bronc")} & set(found.dag.edges)
    with pytest.raises(BadParameter, match="likelihood less a price"):
        po.structural_em(holes, "bdeu")
    with pytest.raises(BadParameter, match="a hidden node is joined"):
        po.structural_em(holes, hidden={"h": 2})
    with pytest.raises(BadValue, match="draws"):
        po.structural_em(holes, draws=0)
    with pytest.raises(BadValue, match="max_iter"):
        po.structural_em(holes, max_iter="x")
    with pytest.raises(UnknownColumn):
        po.structural_em(holes, required=[("nobody", "smoke")])


def test_a_key_press_keeps_the_best_so_far():
    _, holes = holed(po.networks.asia(), 500, 0.2, 0)

    def stop(turn: int, value: float) -> None:
        raise KeyboardInterrupt

    found = po.structural_em(holes, progress=stop)
    assert len(found.trace) == 1
    assert not found.converged


def test_what_is_impossible_is_no_completed_row():
    model = Numbers((2, 3), ((), (0,)), (np.array([0.25, 0.75]), np.array([0.0, 0.5, 0.5, 1.0, 0.0, 0.0])))
    rows, mass = completed(
        model, np.array([[-1, 0], [-1, 1], [0, -1], [-1, -1]], np.int32), np.array([2.0, 1.0, 4.0, 0.0])
    )
    assert rows.tolist() == [
        [0, 1],
        [0, 2],
        [1, 0],
    ]  # x = 0 only with y = 1, 2; x = 1 only with y = 0; no row of weight 0
    assert mass.tolist() == pytest.approx([3.0, 2.0, 2.0])


def test_options_are_told_by_name():
    _, holes = holed(po.networks.asia(), 60, 0.1, 0)
    with pytest.raises(BadParameter, match=r"'loglik'; did you mean 'bic'\? Got 'bicc' instead"):
        po.structural_em(holes, "bicc")
    for score in ("zzz", 3):
        with pytest.raises(BadParameter, match=rf"'loglik'\. Got {score!r} instead"):
            po.structural_em(holes, score)
    for name, what in (("start", "a Dag"), ("hidden", "a mapping"), ("progress", "a function")):
        with pytest.raises(BadParameter, match=f"{name} is {what}.*, or None. Got 7 instead"):
            po.structural_em(holes, **{name: 7})


def test_turns_are_counted_and_end_where_they_are_told():
    _, holes = holed(po.networks.asia(), 700, 0.25, 1)
    empty, told = po.Dag(holes.columns), []
    one = po.structural_em(holes, start=empty, max_iter=1, progress=lambda *said: told.append(said))
    assert (len(one.trace), one.converged, one.dag, told) == (1, False, empty, [])
    assert one.score == one.trace[0]
    assert "net=" not in repr(one)
    two = po.structural_em(holes, start=empty, max_iter=2, progress=lambda *said: told.append(said))
    assert (len(two.trace), two.converged) == (2, False)
    assert told == [(1, one.trace[0])]
    assert two.trace[0] == one.trace[0] < two.score


@pytest.mark.parametrize("limit", [0, 1, 3, 8, 20, 45, 80, 10**9])
def test_it_ends_with_what_is_there_when_the_time_is_over(limit, monkeypatch):
    """By a clock that a look makes a second later: the trace is the beginning of the whole one, or of another start."""
    _, holes = holed(po.networks.asia(), 300, 0.2, 3)
    whole = po.structural_em(holes, random_state=0)
    clock = itertools.count()
    monkeypatch.setattr(rules, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    found = po.structural_em(holes, random_state=0, time_limit=limit)
    assert next(clock) <= limit + 100
    assert set(found.net.nodes) == set(holes)
    assert (found.finished, found.converged) == ((True, True) if limit == 10**9 else (False, False))
    if found.finished:
        assert (found.trace, found.dag) == (whole.trace, whole.dag)
    assert np.isnan(found.score) if limit < 2 else limit < 20 or found.score < 0


@pytest.mark.parametrize("at", [0, 1, 2, 5])
def test_a_key_press_inside_em_ends_it(at, monkeypatch):
    """Not the turns of EM alone: what they had reached is given, as unfinished."""
    _, holes = holed(po.networks.asia(), 300, 0.2, 0)
    calls, inner = itertools.count(), JunctionTree.expected

    def expected(*given):
        if next(calls) == at:
            raise KeyboardInterrupt
        return inner(*given)

    monkeypatch.setattr(JunctionTree, "expected", expected)
    found = po.structural_em(holes)
    assert (next(calls), found.converged, found.finished, len(found.trace)) == (at + 1, False, False, 1)
    assert np.isnan(found.score) == (at == 0)


def test_memory_is_refused_before(monkeypatch):
    _, holes = holed(po.networks.asia(), 300, 0.2, 0)
    with pytest.raises(MemoryBudgetError, match="learning a structure of 8 columns from 300 rows would take"):
        po.structural_em(holes, max_memory=9000)
    dag = po.learn_structure(holes).dag
    with pytest.raises(MemoryBudgetError, match="300 rows of 8 nodes would take"):
        po.structural_em(holes, start=dag, max_memory=16 * 300 * 8 - 1)
    model, cases = Numbers((2, 3), ((), ()), (np.ones(2) / 2, np.ones(3) / 3)), np.array([[-1, -1], [0, -1]], np.int32)
    completed(model, cases, None, max_memory=(6 + 3) * 80)
    with pytest.raises(MemoryBudgetError, match="2 rows of 2 nodes, completed in 9 ways would take"):
        completed(model, cases, None, max_memory=(6 + 3) * 80 - 1)
