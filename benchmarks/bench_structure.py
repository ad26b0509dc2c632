"""Structure search beside pyAgrum and pgmpy: speed, how it grows, scores and distances, and the exact optimum.

    python benchmarks/bench_structure.py [--networks DIR] [--only speed,growth,quality,pgmpy,exact]

DIR (or the variable POSTERIORI_NETWORKS) holds alarm.bif, … (.gz too); without it networks of about as many nodes are made
here. Every search gets the same DataFrame, reads it within its time, and is judged by our BIC, which agrees with both
peers' (pyAgrum in one thread: with two it waits for seconds).
"""

from __future__ import annotations

import argparse
import itertools
import os
import pathlib
import time
import warnings
from collections.abc import Callable
from typing import Any

import harness

harness.peers("network")

import numpy as np  # noqa: E402
import pyagrum as gum  # noqa: E402

import posteriori as po  # noqa: E402
from posteriori.structure.search import coded  # noqa: E402

COMMAND = "python benchmarks/bench_structure.py"
SEEDS = (0, 1, 2, *range(100, 106))  # from 100 on none was looked at while the search was made
NODES = {"asia": 8, "child": 20, "insurance": 27, "alarm": 37}


def made(n: int, seed: int = 0) -> po.BayesNet:
    """n nodes of 2 to 4 states with up to 3 parents among the last ten; every table is far from uniform."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, n)
    edges, tables = [], {}
    for v in range(n):
        mine = sorted(rng.permutation(np.arange(max(0, v - 10), v))[: rng.integers(0, 4)].tolist())
        edges += [(f"n{p}", f"n{v}") for p in mine]
        tables[f"n{v}"] = rng.dirichlet(np.full(sizes[v], 0.5), [int(sizes[p]) for p in mine] or None)
    return po.BayesNet(edges, tables)


def network(name: str, folder: str | None) -> tuple[str, po.BayesNet]:
    paths = list(pathlib.Path(folder).glob(f"{name}.bif*")) if folder else []
    return (name, po.BayesNet.read(paths[0])) if paths else (f"{name}-like (made)", made(NODES[name]))


def by_agrum(rows: Any) -> po.Dag:
    learner = gum.BNLearner(rows)
    learner.setNumberOfThreads(1)
    learner.useScoreBIC()
    learner.useNoPrior()
    learner.useGreedyHillClimbing()
    names = learner.names()
    return po.Dag(list(rows.columns), [(names[a], names[b]) for a, b in learner.learnDAG().arcs()])


def by_pgmpy(rows: Any) -> po.Dag:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.estimators import BIC, HillClimbSearch

        found = HillClimbSearch(rows).estimate(scoring_method=BIC(rows), show_progress=False)
    return po.Dag(list(rows.columns), list(found.edges()))


def ours(rows: Any) -> po.Dag:
    return po.learn_structure(rows).dag


def bic(rows: Any, dag: po.Dag) -> float:
    return coded(rows, "bic", 1.0, None, None)[1].whole(dag.numbered_parents)


def row_of(name: str, rows: Any, peer: str, search: Callable[[Any], po.Dag], repeat: int) -> list[str]:
    """Best times of both, by turns."""
    found: dict[str, po.Dag] = {}

    def run(who: str, what: Callable[[Any], po.Dag]) -> Callable[[], object]:
        return lambda: found.__setitem__(who, what(rows))

    best = harness.race({"ours": run("ours", ours), "theirs": run("theirs", search)}, repeat)
    mine, theirs = best["ours"], best["theirs"]
    gap = bic(rows, found["ours"]) - bic(rows, found["theirs"])
    print(name, mine, theirs, flush=True)
    return [name, peer, f"{mine * 1e3:,.1f}", f"{theirs * 1e3:,.0f}", f"**{theirs / mine:,.1f}×**", f"{gap:+,.1f}"]


HEADER = ["rows", "peer", "ours, ms", "peer, ms", "ratio", "our BIC − theirs"]


def speed(folder: str | None) -> None:
    table = []
    for which in ("alarm", "insurance", "child"):
        name, net = network(which, folder)
        for n in (5_000, 50_000):
            rows = net.sample(n, random_state=0)
            table.append(row_of(f"{name}, {n:,} rows", rows, "pyAgrum", by_agrum, 7 if n == 5_000 else 2))
            if which == "alarm" and n == 5_000:
                table.append(row_of(f"{name}, {n:,} rows", rows, "pgmpy", by_pgmpy, 1))
    harness.record("Structure: hill-climb by BIC", COMMAND + " --only speed", HEADER, table)


def growth(folder: str | None) -> None:
    table = []
    for nodes, n in ((50, 5_000), (50, 20_000), (100, 20_000), (200, 20_000)):
        rows = made(nodes).sample(n, random_state=0)
        table.append(row_of(f"made, {nodes} nodes, {n:,} rows", rows, "pyAgrum", by_agrum, 1))
    harness.record("Structure: how it grows", COMMAND + " --only growth", HEADER, table)


def quality(folder: str | None) -> None:
    table = []
    for which in NODES:
        name, net = network(which, folder)
        for n in (5_000, 50_000):
            gaps, mine, theirs = [], [], []
            for seed in SEEDS:
                rows = net.sample(n, random_state=seed)
                dag, other = ours(rows), by_agrum(rows)
                gaps.append(bic(rows, dag) - bic(rows, other))
                mine.append(po.compare_structures(dag, net.dag).distance)
                theirs.append(po.compare_structures(other, net.dag).distance)
            cells = [
                f"{np.min(gaps):+,.1f}",
                f"{np.median(gaps):+,.1f}",
                f"{np.median(mine):g} / {np.median(theirs):g}",
            ]
            table.append([f"{name}, {n:,}", *cells])
            print(*table[-1], flush=True)
    header = ["rows", "our BIC − pyAgrum's, worst seed", "median", "distance to the true class, median: ours / pyAgrum"]
    note = f"Seeds {', '.join(map(str, SEEDS))}."
    harness.record("Structure: scores and distances", COMMAND + " --only quality", header, table, note)


def beside_pgmpy(folder: str | None) -> None:
    """It takes minutes where pyAgrum takes a second: one seed, and the time it took."""
    table, gaps = [], []
    for which, n in itertools.product(NODES, (5_000, 50_000)):
        name, net = network(which, folder)
        rows = net.sample(n, random_state=0)
        begin = time.perf_counter()
        other = by_pgmpy(rows)
        took = time.perf_counter() - begin
        dag = ours(rows)
        gaps.append(bic(rows, dag) - bic(rows, other))
        distances = [po.compare_structures(found, net.dag).distance for found in (dag, other)]
        table.append([f"{name}, {n:,}", f"{gaps[-1]:+,.1f}", f"{distances[0]} / {distances[1]}", f"{took:,.0f}"])
        print(*table[-1], flush=True)
    header = ["rows", "our BIC − pgmpy's", "distance to the true class: ours / pgmpy", "pgmpy, s"]
    note = f"Seed 0. Worst cell: {min(gaps):+,.1f}."
    harness.record("Structure: scores beside pgmpy", COMMAND + " --only pgmpy", header, table, note)


def exact(folder: str | None) -> None:
    table = []
    cells = [
        *itertools.product(("alarm", "insurance", "child"), (20,), ("bic", "bdeu")),
        ("alarm", 25, "bic"),
        ("insurance", 25, "bic"),
    ]
    for which, nodes, score in cells:
        name, net = network(which, folder)
        rows = net.sample(10_000, random_state=0).iloc[:, :nodes]
        begin = time.perf_counter()
        best = po.learn_structure(rows, score, "exact").score
        took = time.perf_counter() - begin
        greedy = po.learn_structure(rows, score).score
        table.append([f"{name}, its first {nodes} nodes, {score}", f"{took:.1f}", f"{best - greedy:,.1f}"])
        print(*table[-1], flush=True)
    header = ["10k rows", "seconds", "optimum − hill-climb"]
    harness.record("Structure: the optimum", COMMAND + " --only exact", header, table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--networks", default=os.environ.get("POSTERIORI_NETWORKS"))
    parser.add_argument("--only", default="speed,growth,quality,pgmpy,exact")
    arguments = parser.parse_args()
    parts = {"speed": speed, "growth": growth, "quality": quality, "pgmpy": beside_pgmpy, "exact": exact}
    for part in arguments.only.split(","):
        parts[part](arguments.networks)
