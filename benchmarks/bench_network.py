"""Networks beside pyAgrum and pgmpy: all marginals, tables of cases, one changed finding, Gibbs sweeps.

    python benchmarks/bench_network.py [--networks DIR] [--only marginals,cases,change,gibbs]

DIR (or the variable POSTERIORI_NETWORKS) holds alarm.bif, hailfinder.bif, … (.gz too); without it the networks are made
here, with as many nodes and about as large cliques.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import tempfile
import time

import harness

harness.peers("network")

import numpy as np  # noqa: E402
import pyagrum as gum  # noqa: E402

import posteriori as po  # noqa: E402
from posteriori.network.gibbs import gibbs  # noqa: E402
from posteriori.network.junction import JunctionTree  # noqa: E402
from posteriori.network.numbers import one_hot  # noqa: E402
from posteriori.network.sampling import forward_sample  # noqa: E402

COMMAND = "python benchmarks/bench_network.py"
CLASSIC = {"alarm": (37, 5), "hailfinder": (56, 5), "andes": (223, 11), "pigs": (441, 8)}
LARGE = {"made, 300 nodes": (300, 8), "made, 1,000 nodes": (1000, 6), "made, 1,000 nodes, wide": (1000, 10)}


def made(n: int, window: int, seed: int = 0) -> po.BayesNet:
    """n nodes of 2 or 3 states with up to 3 parents among the last `window`: treewidth at most `window`."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, n)
    edges, tables = [], {}
    for v in range(n):
        pool = rng.permutation(np.arange(max(0, v - window), v))
        parents = sorted(pool[: rng.integers(1, 4)].tolist())
        edges += [(f"n{p}", f"n{v}") for p in parents]
        tables[f"n{v}"] = rng.dirichlet(np.ones(sizes[v]), [int(sizes[p]) for p in parents] or None)
    return po.BayesNet(edges, tables)


class Pair:
    """One network on both sides, with evidence on a fifth of the nodes that a drawn case has."""

    def __init__(self, net: po.BayesNet) -> None:
        self.net, self.model = net, net._model
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.bif")
            net.write(path)
            self.peer = gum.loadBN(path)
        self.rng = np.random.default_rng(1)
        self.cases = forward_sample(self.model, 2000, 3)
        self.cases[self.rng.random(self.cases.shape) >= 0.2] = -1
        self.labels = [[str(s) for s in self.peer.variable(n).labels()] for n in net.nodes]

    def ours(self, row: int) -> dict[int, np.ndarray]:
        return {v: one_hot(self.model.sizes[v], k) for v, k in enumerate(self.cases[row]) if k >= 0}

    def theirs(self, row: int) -> dict[str, int]:
        return {self.net.nodes[v]: int(k) for v, k in enumerate(self.cases[row]) if k >= 0}

    def read(self, engine: gum.LazyPropagation) -> list[np.ndarray]:
        engine.makeInference()
        return [engine.posterior(n).toarray() for n in self.net.nodes]


def networks(folder: str | None) -> dict[str, po.BayesNet]:
    found = {}
    for name, shape in CLASSIC.items():
        paths = [p for p in pathlib.Path(folder or ".").glob(f"{name}.bif*")] if folder else []
        found[name if paths else f"{name}-like (made)"] = po.BayesNet.read(paths[0]) if paths else made(*shape)
    return found


def best_engine(pair: Pair) -> gum.LazyPropagation:
    """LazyPropagation with the thread count that is faster here."""
    engines = {}
    for threads in (1, harness.CORES):
        gum.setNumberOfThreads(threads)
        engines[threads] = gum.LazyPropagation(pair.peer)
        engines[threads].setNumberOfThreads(threads)

    def run(threads: int) -> None:
        engines[threads].eraseAllEvidence()
        engines[threads].setEvidence(pair.theirs(0))
        pair.read(engines[threads])

    taken = harness.race({str(t): (lambda t=t: run(t)) for t in engines}, repeat=5, budget=4)
    threads = int(min(taken, key=taken.__getitem__))
    gum.setNumberOfThreads(threads)
    return engines[threads]


def agree(pair: Pair, row: int | None) -> float:
    """Largest difference between the two sides' marginals."""
    tree, engine = JunctionTree(pair.model), gum.LazyPropagation(pair.peer)
    if row is not None:
        tree.set_evidence(pair.ours(row))
        engine.setEvidence(pair.theirs(row))
    return max(float(abs(a - b).max()) for a, b in zip(tree.marginals(), pair.read(engine), strict=True))


def marginals(pairs: dict[str, Pair]) -> None:
    rows = []
    for name, pair in pairs.items():
        engine, tree = best_engine(pair), JunctionTree(pair.model)
        for label, row in (("none", None), ("20%", 0)):
            ours, theirs = ({}, {}) if row is None else (pair.ours(row), pair.theirs(row))

            def compiled(ours: dict = ours, pair: Pair = pair) -> object:
                fresh = JunctionTree(pair.model)
                fresh.set_evidence(ours)
                return fresh.marginals()

            def made_anew(theirs: dict = theirs, pair: Pair = pair) -> object:
                fresh = gum.LazyPropagation(pair.peer)
                fresh.setEvidence(theirs)
                return pair.read(fresh)

            def again(ours: dict = ours, tree: JunctionTree = tree) -> object:
                tree.set_evidence(ours)
                tree.reset()
                return tree.marginals()

            def again_theirs(theirs: dict = theirs, pair: Pair = pair, engine: gum.LazyPropagation = engine) -> object:
                engine.setEvidence(pair.theirs(1))  # so that the engine has something to forget
                engine.eraseAllEvidence()
                engine.setEvidence(theirs)
                return pair.read(engine)

            work = {"first": compiled, "first peer": made_anew, "again": again, "again peer": again_theirs}
            t = harness.race(work, repeat=25, budget=10)
            rows.append(
                [
                    name,
                    label,
                    harness.human(t["first"]),
                    harness.human(t["first peer"]),
                    f"**{t['first peer'] / t['first']:.1f}×**",
                    harness.human(t["again"]),
                    harness.human(t["again peer"]),
                    f"**{t['again peer'] / t['again']:.1f}×**",
                    f"{agree(pair, row):.0e}",
                ]
            )
            print(*rows[-1], flush=True)
    header = [
        "network",
        "evidence",
        "compile + answer",
        "pyAgrum",
        "ratio",
        "answer again",
        "pyAgrum",
        "ratio",
        "differ by",
    ]
    harness.record(
        "Networks: all marginals", COMMAND, header, rows, notes=f"pyAgrum {gum.__version__} LazyPropagation."
    )


def cases(pairs: dict[str, Pair], loop: int = 60) -> None:
    rows = []
    for name, pair in pairs.items():
        engine, tree, everyone = best_engine(pair), JunctionTree(pair.model), list(range(len(pair.model)))

        def looped(pair: Pair = pair, engine: gum.LazyPropagation = engine) -> None:
            for row in range(loop):
                engine.eraseAllEvidence()
                engine.setEvidence(pair.theirs(row))
                pair.read(engine)

        work = {"ours": lambda tree=tree, p=pair, e=everyone: tree.batch(p.cases, e), "peer": looped}
        t = harness.race(work, repeat=3, budget=30)
        theirs = t["peer"] * len(pair.cases) / loop
        rows.append([name, harness.human(t["ours"]), harness.human(theirs), f"**{theirs / t['ours']:.0f}×**"])
        print(*rows[-1], flush=True)
    note = f"The loop is timed on {loop} cases and scaled; reading 20% of the cells of each case, all marginals."
    header = ["network", "2,000 cases", "pyAgrum, a loop", "ratio"]
    harness.record("Networks: a table of cases", COMMAND, header, rows, notes=note)


ROUNDS = 20  # a timing goes round the findings so often, or a dozen calls would measure caches emptied by its start


def change(pairs: dict[str, Pair]) -> None:
    """Every finding of a case in turn takes another possible state, and then its own again."""
    rows = []
    for name, pair in pairs.items():
        tree, evidence = JunctionTree(pair.model), pair.ours(0)
        swaps = []
        for v in evidence:
            tree.set_evidence({u: x for u, x in evidence.items() if u != v})
            others = [k for k in np.flatnonzero(tree.marginals()[v] > 1e-9) if evidence[v][k] == 0]
            if others:
                swaps.append((v, one_hot(pair.model.sizes[v], int(others[0]))))
        swaps = swaps[:40]
        tree.set_evidence(evidence)
        tree.marginals()

        def changed(how: str, tree: JunctionTree = tree, evidence: dict = evidence, swaps: list = swaps) -> None:
            for v, other in ROUNDS * swaps:
                for finding in (other, evidence[v]):
                    if how == "anew":
                        tree.set_evidence({**evidence, v: finding})
                    else:
                        tree.change(v, finding)
                    if how != "change":
                        tree.reset()
                    tree.marginals()

        t = harness.race(
            {how: (lambda how=how: changed(how)) for how in ("change", "full", "anew")}, repeat=15, budget=20
        )
        times = [harness.human(t[how] / len(swaps) / 2 / ROUNDS) for how in ("anew", "full", "change")]
        ratios = [f"**{t[how] / t['change']:.1f}×**" for how in ("anew", "full")]
        rows.append([name, str(len(evidence)), *times, *ratios])
        print(*rows[-1], flush=True)
    header = [
        "network",
        "findings",
        "evidence entered and propagated",
        "all messages anew",
        "one finding changed",
        "ratio",
        "ratio",
    ]
    note = (
        "Mean over the findings, each changed to another possible state and back, 20 times round; ratios to the first two "
        "columns. Once round, after a collection of garbage has emptied the caches, alarm's dozen calls take three times "
        "as long each: nearly all of it is the first."
    )
    harness.record("Networks: change one finding, re-read all marginals", COMMAND, header, rows, notes=note)


def sweeps(pairs: dict[str, Pair]) -> None:
    rows = []
    for name, pair in pairs.items():
        model = pair.model

        def ours(model: object = model) -> None:
            gibbs(model, {}, draws=20_000, burn_in=0, chains=2, random_state=0)

        ours()
        t = harness.race({"ours": ours}, repeat=3, budget=20)
        rate = 40_000 / t["ours"]
        peer = gum.GibbsSampling(pair.peer)
        peer.setEpsilon(1e-30)
        peer.setMinEpsilonRate(1e-30)
        peer.setMaxIter(10**8)
        peer.setPeriodSize(1000)
        peer.setBurnIn(0)
        peer.setMaxTime(4)
        begin = time.perf_counter()
        peer.makeInference()
        theirs = peer.nbrIterations() / (time.perf_counter() - begin)
        rows.append([name, f"{rate:,.0f}", f"{theirs:,.0f}", f"**{rate / theirs:.0f}×**"])
        print(*rows[-1], flush=True)
    note = (
        "Ours: two chains, every node (or block) redrawn in a sweep, analysis of zeros and summary included. A sweep of "
        "pyAgrum is one of its iterations, which redraws half of the nodes."
    )
    header = ["network", "sweeps a second", "pyAgrum GibbsSampling", "ratio"]
    harness.record("Networks: Gibbs sweeps", COMMAND, header, rows, notes=note)


def beside_pgmpy(pairs: dict[str, Pair]) -> None:
    """pgmpy's BeliefPropagation, where it finishes."""
    import logging
    import warnings

    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    from pgmpy.inference import BeliefPropagation
    from pgmpy.readwrite import BIFReader

    rows = []
    for name, pair in pairs.items():
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.bif")
            pair.net.write(path)
            model = BIFReader(path).get_model()

        def peer(model: object = model, pair: Pair = pair) -> None:
            engine = BeliefPropagation(model)
            engine.calibrate()
            for node in pair.net.nodes:
                engine.query([node], show_progress=False)

        t = harness.race({"ours": lambda p=pair: JunctionTree(p.model).marginals(), "peer": peer}, repeat=2, budget=5)
        rows.append([name, harness.human(t["ours"]), harness.human(t["peer"]), f"**{t['peer'] / t['ours']:,.0f}×**"])
        print(*rows[-1], flush=True)
    header = ["network", "compile + all marginals", "pgmpy BeliefPropagation", "ratio"]
    harness.record(
        "Networks: beside pgmpy", COMMAND, header, rows, notes="Not tried on larger ones: it does not finish."
    )


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--networks", default=os.environ.get("POSTERIORI_NETWORKS"))
    options.add_argument("--only", default="marginals,cases,change,gibbs,pgmpy")
    chosen = options.parse_args()
    wanted = chosen.only.split(",")
    classic = {name: Pair(net) for name, net in networks(chosen.networks).items()}
    names = list(classic)
    if "marginals" in wanted:
        marginals(classic | {name: Pair(made(*shape)) for name, shape in LARGE.items()})
    if "cases" in wanted:
        cases({n: classic[n] for n in (names[1], names[3])})
    if "change" in wanted:
        change({n: classic[n] for n in (names[0], names[3])})
    if "gibbs" in wanted:
        sweeps({n: classic[n] for n in names[:2]})
    if "pgmpy" in wanted:
        beside_pgmpy({n: classic[n] for n in names[:1]})
