"""Learning networks beside pyAgrum and pgmpy: tables by counting, tables by EM.

    python benchmarks/bench_learning.py [--networks DIR] [--only parameters,em]

DIR (or the variable POSTERIORI_NETWORKS) holds alarm.bif, munin1.bif, … (.gz too); without it networks of about as many
nodes and parents are made here.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import tempfile
import time

import harness

harness.peers("learning")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import pyagrum as gum  # noqa: E402

import posteriori as po  # noqa: E402

COMMAND = "python benchmarks/bench_learning.py"
THEIRS = 1_000  # rows that pyAgrum's EM is timed on
MADE = {"asia": (8, 2, 2), "alarm": (37, 4, 4), "munin1": (186, 3, 20)}  # nodes, most parents, most states


def made(n: int, parents: int, states: int, seed: int = 0) -> po.BayesNet:
    """n nodes with up to `parents` parents among the last ten."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, states + 1, n)
    edges, tables = [], {}
    for v in range(n):
        mine = sorted(rng.permutation(np.arange(max(0, v - 10), v))[: rng.integers(0, parents + 1)].tolist())
        edges += [(f"n{p}", f"n{v}") for p in mine]
        tables[f"n{v}"] = rng.dirichlet(np.ones(sizes[v]), [int(sizes[p]) for p in mine] or None)
    return po.BayesNet(edges, tables)


def network(name: str, folder: str | None) -> tuple[str, po.BayesNet]:
    paths = list(pathlib.Path(folder).glob(f"{name}.bif*")) if folder else []
    return (name, po.BayesNet.read(paths[0])) if paths else (f"{name}-like (made)", made(*MADE[name]))


def peer_of(net: po.BayesNet) -> gum.BayesNet:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.bif")
        net.write(path)
        return gum.loadBN(path)


def ratio(theirs: float, ours: float) -> str:
    return f"**{theirs / ours:,.1f}×**"


def once(work: object) -> float:
    begin = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - begin


def parameters(folder: str | None) -> None:
    rows, worst, slowest = [], [], []
    for name in MADE:
        label, net = network(name, folder)
        peer = peer_of(net)
        for n in (1_000, 10_000, 100_000):
            data = net.sample(n, random_state=0)
            words = pd.DataFrame({c: data[c].astype(str) for c in data})  # what pyAgrum reads faster than categories

            def theirs(words: pd.DataFrame = words, peer: gum.BayesNet = peer) -> None:
                learner = gum.BNLearner(words, peer)
                learner.useSmoothingPrior(1.0)
                learner.learnParameters(peer.dag())

            learner = gum.BNLearner(words, peer)
            learner.useSmoothingPrior(1.0)
            t = harness.race(
                {
                    "ours": lambda net=net, data=data: po.BayesNet.fit(net.dag, data),
                    "words": lambda net=net, words=words: po.BayesNet.fit(net.dag, words),
                },
                repeat=5,
                budget=2,
            )
            t["peer"] = once(theirs)
            t["counting"] = once(lambda learner=learner, peer=peer: learner.learnParameters(peer.dag()))
            told = [harness.human(t[k]) for k in ("ours", "words", "peer", "counting")]
            rows.append([label, f"{n:,}", *told, ratio(t["peer"], t["words"]), ""])
            worst.append(t["peer"] / t["words"])
            if n == 1_000:
                once(lambda net=net, data=data: pgmpy_mle(net, data))  # its imports
            slow = min(once(lambda net=net, data=data: pgmpy_mle(net, data)) for _ in range(2))
            rows[-1][-1] = f"{harness.human(slow)}, {ratio(slow, t['ours'])}"
            slowest.append(slow / t["ours"])
            print(*rows[-1], flush=True)
    counted, read = n * len(net.nodes), n * sum(len(net.parents(v)) + 1 for v in net.nodes)
    header = [
        "network",
        "rows",
        "ours, categories",
        "ours, words",
        "pyAgrum, words",
        "pyAgrum, read already",
        "ratio, words",
        "pgmpy MLE, categories",
    ]
    note = (
        "Smoothed tables of every node from a pandas table. pyAgrum reads the table into a database of its own, once; "
        f"its counting alone is told beside. Worst cell: {min(worst):.1f}×; beside pgmpy (n_jobs=1, its default) "
        f"{min(slowest):.1f}×. The last row reads {read / 1e6:.0f} MB of codes and counts {counted / 1e6:.1f} million."
    )
    harness.record("Learning: tables by counting", COMMAND, header, rows, notes=note)


def pgmpy_mle(net: po.BayesNet, data: pd.DataFrame) -> None:
    import logging
    import warnings

    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    from pgmpy.estimators import MaximumLikelihoodEstimator
    from pgmpy.models import DiscreteBayesianNetwork

    model = DiscreteBayesianNetwork(net.edges)
    model.add_nodes_from(net.nodes)
    MaximumLikelihoodEstimator(model, data).get_parameters()


def em(folder: str | None) -> None:
    gum.setNumberOfThreads(1)  # with two its threads spin for seconds
    rows, worst = [], []
    for name, n, share in (("asia", 10_000, 0.2), ("alarm", 10_000, 0.2)):
        label, net = network(name, folder)
        full = net.sample(n, random_state=0)
        data = full.mask(np.random.default_rng(0).random(full.shape) < share)
        peer = peer_of(net)
        few = data[:THEIRS]
        words = pd.DataFrame({c: few[c].astype(object).where(few[c].notna(), "?") for c in few})

        def ours(turns: int, net: po.BayesNet = net, data: pd.DataFrame = data) -> None:
            po.BayesNet.fit_em(net.dag, data, max_iter=turns, tol=0)

        def theirs(turns: int, words: pd.DataFrame = words, peer: gum.BayesNet = peer) -> int:
            learner = gum.BNLearner(words, peer, ["?"])
            learner.useSmoothingPrior(1.0)
            learner.useEM(1e-12)
            learner.EMsetMaxIter(turns)
            learner.learnParameters(peer.dag())
            return int(learner.EMnbrIterations())

        t = harness.race({"1": lambda: ours(1), "11": lambda: ours(11)}, repeat=3, budget=10)
        mine = (t["11"] - t["1"]) / 10
        their = (once(lambda: theirs(2)) - once(lambda: theirs(1))) * n / THEIRS
        rows.append([label, f"{n:,}", f"{share:.0%}", harness.human(mine), harness.human(their), ratio(their, mine)])
        worst.append(their / mine)
        print(*rows[-1], flush=True)
    header = ["network", "rows", "cells missing", "one iteration", "pyAgrum EM", "ratio"]
    note = (
        "The difference of runs with one iteration and with several, divided; pyAgrum on one thread (two spin) is timed on "
        f"{THEIRS:,} rows and scaled. Worst cell: {min(worst):.1f}×."
    )
    harness.record("Learning: tables by EM", COMMAND, header, rows, notes=note)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--networks", default=os.environ.get("POSTERIORI_NETWORKS"))
    options.add_argument("--only", default="parameters,em")
    chosen = options.parse_args()
    for part in (parameters, em):
        if part.__name__ in chosen.only.split(","):
            part(chosen.networks)
