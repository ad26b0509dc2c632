"""Do sampled answers lie where they say? 99% bars of Gibbs and likelihood weighting against exact answers, seed by seed.

    python benchmarks/coverage_sampling.py [--seeds 1000] [--only rare,xor] [--cells 8]

Each network is made to deceive a sampler: causes that forward sampling never meets, chains that a walk cannot cross, modes
far apart. For each state of each node the share of answered seeds whose bar holds the truth is counted; printed are the
least of these shares, the seeds answered and refused, and the median of the widest bar. A refusal is no miss, and is shown.
Tables of at most `--cells` cells make the samplers draw from a coarser guess, as they must on networks that are too large.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import record

import posteriori as po
from posteriori.errors import ImpossibleEvidence, NotErgodic, Unreliable
from posteriori.network import sampling as weighting

Case = tuple[po.BayesNet, dict[str, Any]]
SECTION, COMMAND = "Networks: do 99% bars of sampled answers hold?", "python benchmarks/coverage_sampling.py"
HEADER = ["network", "sampler", "least share that holds", "answered", "refused", "widest bar, median"]
NOTE = (
    "Seed by seed against exact answers; the least share is over the states of all nodes, and at least .975 is wanted."
)


def rare_cause() -> Case:
    """A cause of 1e-6 with eight children, four of them observed: P(cause | e) = 0.99."""
    tables: dict[str, Any] = {"c": [1 - 1e-6, 1e-6], **{f"x{i}": [[0.99, 0.01], [0.01, 0.99]] for i in range(8)}}
    return po.BayesNet([("c", f"x{i}") for i in range(8)], tables), {f"x{i}": "1" for i in range(4)}


def stiff_chain(n: int = 15, slip: float = 1e-5) -> Case:
    """Every node repeats the one before but for one in 100,000; the ends are weakly observed."""
    step = [[1 - slip, slip], [slip, 1 - slip]]
    tables: dict[str, Any] = {"x0": [0.5, 0.5], **{f"x{i}": step for i in range(1, n)}}
    edges = [(f"x{i}", f"x{i + 1}") for i in range(n - 1)]
    return po.BayesNet(edges, tables), {"x0": {"0": 0.3, "1": 0.7}, f"x{n - 1}": {"0": 0.6, "1": 0.4}}


def noisy_or(n: int = 8) -> Case:
    """Rare causes of one symptom that is seen, and of another that is not."""
    tables: dict[str, Any] = {f"c{i}": [1 - 10.0 ** -(2 + i % 4), 10.0 ** -(2 + i % 4)] for i in range(n)}
    on = np.indices([2] * n).reshape(n, -1).T
    for name, strength in (("a", 0.9), ("b", 0.5)):
        off = 0.9999 * (1 - strength * (0.3 + 0.7 * np.arange(n) / n)) ** on
        p = off.prod(axis=1) if name == "a" else off[:, ::2].prod(axis=1)
        tables[name] = np.stack([p, 1 - p], axis=1)
    edges = [(f"c{i}", s) for s in "ab" for i in range(n)]
    return po.BayesNet(edges, tables), {"a": "1", "b": "0"}


def nearly_xor(n: int = 9) -> Case:
    """Unfair coins whose parity is told by nearly certain witnesses, three at a time, around a ring."""
    tables: dict[str, Any] = {f"c{i}": [0.9, 0.1] for i in range(n)}
    edges = []
    odd = np.indices([2] * 3).sum(axis=0) % 2
    for i in range(n):
        edges += [(f"c{(i + k) % n}", f"w{i}") for k in range(3)]
        tables[f"w{i}"] = np.where(odd[..., None] == np.arange(2), 1 - 1e-4, 1e-4)
    return po.BayesNet(edges, tables), {f"w{i}": "1" for i in range(n)}


def two_modes(n: int = 12) -> Case:
    """All alike or none: a ring of friends who nearly always agree, one of them with a weak opinion."""
    tables: dict[str, Any] = {f"x{i}": [0.5, 0.5] for i in range(n)}
    edges = []
    for i in range(n):
        edges += [(f"x{i}", f"e{i}"), (f"x{(i + 1) % n}", f"e{i}")]
        tables[f"e{i}"] = [[[1e-3, 1 - 1e-3], [1 - 1e-3, 1e-3]], [[1 - 1e-3, 1e-3], [1e-3, 1 - 1e-3]]]
    return po.BayesNet(edges, tables), {**{f"e{i}": "1" for i in range(n)}, "x0": {"0": 0.2, "1": 0.8}}


def rare_pair() -> Case:
    """Two explanations of one finding, a rare one that fits and a common one that hardly does."""
    tables: dict[str, Any] = {
        "a": [1 - 1e-5, 1e-5],
        "b": [1 - 1e-3, 1e-3],
        "s": [[[1 - 1e-9, 1e-9], [0.99, 0.01]], [[0.1, 0.9], [0.1, 0.9]]],
        "t": [[0.999, 0.001], [0.1, 0.9]],
    }
    return po.BayesNet([("a", "s"), ("b", "s"), ("a", "t")], tables), {"s": "1", "t": "1"}


def grid(n: int = 6) -> Case:
    """A lattice of strong couplings with its last row observed."""
    rng = np.random.default_rng(4)
    edges, tables = [], {}
    for i in range(n):
        for j in range(n):
            above = [f"g{i - 1}{j}"] * (i > 0) + [f"g{i}{j - 1}"] * (j > 0)
            edges += [(p, f"g{i}{j}") for p in above]
            p = np.clip(rng.beta(0.3, 0.3, [2] * len(above)), 1e-6, 1 - 1e-6)
            tables[f"g{i}{j}"] = np.stack([p, 1 - p], axis=-1)
    return po.BayesNet(edges, tables), {f"g{n - 1}{j}": str(j % 2) for j in range(n)}


def asia() -> Case:
    """The textbook's, with a rare finding."""
    return po.networks.asia(), {"asia": "yes", "xray": "yes"}


CASES: dict[str, Callable[[], Case]] = {
    "rare": rare_cause,
    "chain": stiff_chain,
    "noisy-or": noisy_or,
    "xor": nearly_xor,
    "modes": two_modes,
    "pair": rare_pair,
    "grid": grid,
    "asia": asia,
}
SAMPLERS = ("likelihood_weighting", "gibbs")


def coverage(net: po.BayesNet, evidence: dict[str, Any], sampler: str, seeds: range) -> tuple[float, int, int, float]:
    """(least share of bars that hold, over states; answered; refused; median of the widest bar)."""
    exact = net.marginals(evidence)
    truth = np.array([p for row in exact.values() for p in row.values()])
    held, widest = [], []
    for seed in seeds:
        try:
            found = getattr(net, sampler)(evidence, random_state=seed)
        except (Unreliable, NotErgodic, ImpossibleEvidence):
            continue
        p, error = (
            np.array([x for row in part.values() for x in row.values()]) for part in (found.marginals, found.error)
        )
        held.append(abs(p - truth) <= error + 1e-12)
        widest.append(float(error.max()))
    if not held:
        return 1.0, 0, len(seeds), 0.0
    return float(np.mean(held, axis=0).min()), len(held), len(seeds) - len(held), float(np.median(widest))


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--seeds", type=int, default=1000)
    options.add_argument("--cells", type=int, default=weighting.MOST_CELLS)
    options.add_argument("--only", default=",".join(CASES))
    chosen = options.parse_args()
    weighting.MOST_CELLS = chosen.cells
    rows = []
    for name in chosen.only.split(","):
        net, evidence = CASES[name]()
        for sampler in SAMPLERS:
            least, answered, refused, bar = coverage(net, evidence, sampler, range(chosen.seeds))
            rows.append([name, sampler, f"{least:.3f}", str(answered), str(refused), f"{bar:.4f}"])
            print(*rows[-1], flush=True)
    record(SECTION, COMMAND, HEADER, rows, NOTE)


if __name__ == "__main__":
    main()
