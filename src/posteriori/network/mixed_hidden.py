"""Tables and lines from rows with missing cells and hidden discrete nodes, by EM.

Symbols: u the discrete nodes that a row does not know, h its missing numbers; N the counts of the discrete families, M the
co-moments of the numeric ones.

    E   w = P(u | row, θ) for every configuration of u;  N += w;  M += w of the row with E[h | u, row] in its gaps,
        and w Cov[h | u, row] beside it
    M   θ = (N + λ)/(N[π] + rλ), lines as counted rows have them
    ℓ   Σ_rows ln p(what the row states | θ) + λ Σ ln θ

Lines are no narrower than their floor, so that a turn may fall: the best is kept.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import xlogy

from ..arrays import Codes, Floats
from ..budget import refuse_over
from ..errors import listed
from ..smoothing.theta import log_sum
from ..statistics.comoments import CoMoments, comoments
from ..statistics.moments import Moments
from ..structure.dag import Dag
from ..table.weights import check_weights
from .gaussian import BLOCK, HybridRows, alike
from .hidden import hidden_states, read_incomplete
from .learn import Smoothing, rows_of
from .regression import configuration_of, learned, pooled, split
from .tables import States

Expected = tuple[dict[str, Floats], dict[str, CoMoments]]


def read_states(
    part: Dag,
    data: Any,
    hidden: Mapping[str, Any],
    closed: Mapping[str, Sequence[Hashable]],
    sample_weight: Any,
    n_jobs: int | None,
) -> tuple[States, Codes, Floats | None]:
    """The states of the discrete nodes, those rows that count, the weights; all of the nodes may be hidden."""
    states = hidden_states(part, hidden)
    if set(part.nodes) - set(states):
        return read_incomplete(part, data, hidden, closed, sample_weight, n_jobs)
    n = rows_of(data).n
    weights = None if sample_weight is None else check_weights(sample_weight, n)
    weights = None if weights is None else weights[weights > 0]
    codes = np.full((n if weights is None else len(weights), len(part.nodes)), -1, np.int32)
    return states, codes, weights


class IncompleteMixed:
    """Rows as codes (−1) and numbers (NaN where missing), and what a model expects them to have been."""

    climbs = False

    def __init__(
        self,
        dag: Dag,
        part: Dag,
        states: States,
        codes: Codes,
        x: Floats,
        weights: Floats | None,
        max_memory: float | None,
    ) -> None:
        self.dag, self.part, self.states, self.codes, self.x = dag, part, states, codes, x
        self.weights, self.max_memory = np.ones(len(x)) if weights is None else weights, max_memory
        self.weighted = weights is not None
        self.numbers = tuple(n for n in dag.topological_order() if n not in states)
        self.given = {n: split(dag.parents(n), self.numbers) for n in self.numbers}
        self.sizes = {n: len(states[n]) for n in part.nodes}

    def counted(self, parts: list[tuple[Codes, Floats, Floats, Floats]]) -> Expected:
        """N and M of rows that are whole: (codes, numbers, weights, covariances of what was filled in)."""
        tables = {n: np.zeros(math.prod(self.sizes[p] for p in (*self.part.parents(n), n))) for n in self.part.nodes}
        lines: dict[str, CoMoments] = {}
        for codes, x, w, spread in parts:
            for n in self.part.nodes:
                tables[n] += np.bincount(self._place((*self.part.parents(n), n), codes), w, len(tables[n]))
            for n, (above, beside) in self.given.items():
                q, at = math.prod(self.sizes[p] for p in above), [self.numbers.index(m) for m in (*beside, n)]
                d = self._place(above, codes)
                found = comoments(x[:, at], d, q, w)
                np.add.at(found.c, d, w[:, None, None] * spread[:, at][:, :, at])
                lines[n] = found if n not in lines else lines[n] + found
        return {n: t.reshape(-1, self.sizes[n]) for n, t in tables.items()}, lines

    def _place(self, nodes: tuple[str, ...], codes: Codes) -> Codes:
        columns = codes[:, [self.part.index[n] for n in nodes]]
        return configuration_of(columns, [self.sizes[n] for n in nodes])

    def started(self, rng: np.random.Generator) -> Expected:
        """What the rows count where gaps are filled by chance: as often as the column has a value, as wide as it is."""
        codes, x = self.codes.copy(), self.x.copy()
        for v, node in enumerate(self.part.nodes):
            gaps = codes[:, v] < 0
            share = np.bincount(codes[~gaps, v], minlength=self.sizes[node]) + 1.0
            codes[gaps, v] = rng.choice(len(share), int(gaps.sum()), p=share / share.sum())
        for column in x.T:
            gaps = np.isnan(column)
            column[gaps] = rng.choice(column[~gaps], int(gaps.sum()))
        return self.counted([(codes, x, self.weights, np.zeros((len(x), x.shape[1], x.shape[1])))])

    def lines(self, moments: Mapping[str, CoMoments], how: Smoothing) -> dict[str, tuple[Floats, Floats, Floats]]:
        """The line of every number."""
        found = {}
        for node, mine in moments.items():
            mean, whole = pooled(mine)
            n, center, m2 = (np.array([[v]]) for v in (mine.n.sum(), mean[-1], whole[-1, -1]))
            column = Moments(n, center, m2)
            fit = learned(mine, how.smoothing, column)
            found[node] = fit.alpha, fit.beta, fit.variance
        return found

    def expect(self, net: Any, how: Smoothing) -> tuple[Expected, float]:
        """(N and M as the network expects them, ℓ)."""
        rows: HybridRows = net._rows
        holes = np.concatenate([self.codes < 0, np.isnan(self.x)], axis=1)
        parts, value = [], 0.0
        for some in alike(holes):
            hole = holes[some[0]]
            unknown = [v for v, node in enumerate(self.part.nodes) if hole[v]]
            shape = tuple(self.sizes[self.part.nodes[v]] for v in unknown)
            q, m = math.prod(shape), len(self.numbers)
            refuse_over(
                self.max_memory,
                8.0 * len(some) * q * (m * m + len(hole)),
                f"{len(some):,} rows, each in {q:,} configurations of {listed(self.part.nodes[v] for v in unknown)},",
                "leave out rows of which so much is missing",
            )
            step = max(1, int(BLOCK / (8 * q * (4 * m * m + 8 * m + len(hole)))))
            for begin in range(0, len(some), step):
                mine = some[begin : begin + step]
                codes = np.repeat(self.codes[mine], q, axis=0)
                codes[:, unknown] = np.tile(np.indices(shape).reshape(len(shape), q).T, (len(mine), 1))
                x = np.repeat(self.x[mine], q, axis=0)
                log = sum(
                    (rows.logs[n][self._place(rows.families[n], codes)] for n in self.part.nodes), np.zeros(len(codes))
                )
                spread = np.zeros((len(x), m, m))
                if m:
                    known = {n: codes[:, v].astype(np.int64) for v, n in enumerate(self.part.nodes)}
                    seen = {n: x[:, j] for j, n in enumerate(self.numbers) if not hole[len(self.sizes) + j]}
                    near = net._gaussians.local(list(self.numbers), known, seen)
                    log = log + near.log_density.reshape(-1)
                    mean, root = near.normal()
                    gaps = [self.numbers.index(n) for n in near.hidden]
                    x[:, gaps] = mean[:, 0]
                    spread[:, np.array(gaps, int)[:, None], gaps] = root[:, 0] @ np.swapaxes(root[:, 0], 1, 2)
                each = log.reshape(len(mine), q)
                total = log_sum(each)
                value += float(self.weights[mine] @ total[:, 0])
                with np.errstate(invalid="ignore"):
                    w = (np.exp(each - total) * self.weights[mine, None]).ravel()
                parts.append((codes, x, w, spread))
        for table in net.discrete._model.tables:
            value += float(xlogy(how.pseudo_count(table.size), table).sum())
        return self.counted(parts), value
