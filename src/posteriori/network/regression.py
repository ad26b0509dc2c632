"""Linear-Gaussian tables: a continuous node given its parents, learned from co-moments.

Symbols: x the node, c its continuous parents (k of them), d a configuration of its discrete ones (q of them);
x | c, d ~ N(α_d + β_d·c, σ²_d). n_d the rows of d, S_d their co-moments of (c, x) about their mean.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, Codes, Floats
from ..bayes.gaussian_bayes import comoments
from ..budget import refuse_over
from ..errors import BadValue, InvalidNetwork, SingularCovariance, TableError, UnknownColumn, did_you_mean, listed
from ..statistics import CoMoments
from ..structure.dag import Dag
from ..structure.graph import find_all
from ..table.weights import check_weights
from .bayesnet import BayesNet
from .says import columns, declared, read_cases

LEAST = 1e-13  # of a node's variance: with less left over, its parents tell it to the last digit


@dataclass(frozen=True, eq=False)
class Regression:
    """α (q,), β (q, k) and σ² (q,) of one node."""

    alpha: Floats
    beta: Floats
    variance: Floats

    def log_density(self, x: Floats, c: Floats, d: Codes) -> Floats:
        """ln N(x; α_d + β_d·c, σ²_d) of each row."""
        gap = x - self.alpha[d] - np.einsum("rk,rk->r", self.beta[d], c)
        return np.asarray(-0.5 * (np.log(2 * np.pi * self.variance[d]) + gap * gap / self.variance[d]))

    def draw(self, c: Floats, d: Codes, random: np.random.Generator) -> Floats:
        """One x for each row."""
        noise = random.standard_normal(len(d)) * np.sqrt(self.variance[d])
        return np.asarray(self.alpha[d] + np.einsum("rk,rk->r", self.beta[d], c) + noise)


def learned(node: str, moments: CoMoments, smoothing: float) -> Regression:
    """β_d = S_cc⁻¹ S_cx, α_d = x̄_d − β_d·c̄_d, σ²_d = (S_xx − β_d·S_cx)/n_d; S_d and n_d with λ rows of the pooled spread.

    Those λ rows lie about d's own mean, spread as all rows are about theirs: a configuration with few rows borrows its
    slope and its variance, one without any takes the pooled ones and the mean of all.

    >>> seen = CoMoments(np.array([3.0]), np.array([[1.0, 2.0]]), np.array([[[2.0, 4.0], [4.0, 11.0]]]))
    >>> found = learned("x", seen, 0.0)
    >>> [part.round(12).tolist() for part in (found.alpha + 0.0, found.beta, found.variance)]
    [[-0.0], [[2.0]], [1.0]]
    """
    rows = moments.n.sum()
    if rows <= 0:
        raise TableError(f"no row has {node!r} and all of its parents")
    pooled = moments.c.sum(axis=0) / rows
    empty = moments.n == 0
    mean = np.where(empty[:, None], moments.n @ moments.mean / rows, moments.mean)
    borrowed = np.where(empty, max(smoothing, 1.0), smoothing)
    n, spread = moments.n + borrowed, moments.c + borrowed[:, None, None] * pooled
    scale = np.sqrt(np.diagonal(spread, axis1=1, axis2=2))
    scale = np.where(scale > 0, scale, 1.0)
    spread = spread / scale[:, :, None] / scale[:, None, :]
    slope = np.einsum(
        "dkl,dl->dk", np.linalg.pinv(spread[:, :-1, :-1], rcond=1e-12, hermitian=True), spread[:, :-1, -1]
    )
    left = spread[:, -1, -1] - np.einsum("dk,dk->d", slope, spread[:, :-1, -1])
    beta = slope * scale[:, -1:] / scale[:, :-1]
    variance = left * scale[:, -1] ** 2 / n
    if (flat := ~(left > LEAST)).any():
        few = (
            "with smoothing it borrows the spread of all rows"
            if smoothing == 0
            else "leave it out, or take an arrow away"
        )
        raise SingularCovariance(
            f"{node!r} has no spread left in configuration {int(np.flatnonzero(flat)[0])} of its discrete parents: it does "
            f"not vary, or its parents tell it exactly; {few}"
        )
    return Regression(mean[:, -1] - np.einsum("dk,dk->d", beta, mean[:, :-1]), beta, variance)


def as_regression(node: str, given: object, q: int, k: int) -> Regression:
    """(α, β, σ²) as users give them, checked; one number stands for all configurations."""
    try:
        alpha, beta, variance = (np.asarray(part, dtype=np.float64) for part in given)  # type: ignore[attr-defined]
        alpha, variance = np.broadcast_to(alpha, (q,)), np.broadcast_to(variance, (q,))
        beta = np.broadcast_to(beta if beta.size else np.zeros((q, 0)), (q, k))
    except (TypeError, ValueError):
        raise InvalidNetwork(
            f"{node!r} needs (α, β, σ²) of shapes ({q},), ({q}, {k}) and ({q},): {q} configurations of its discrete "
            f"parents, {k} continuous ones"
        ) from None
    if not (
        np.isfinite(alpha).all() and np.isfinite(beta).all() and np.isfinite(variance).all() and (variance > 0).all()
    ):
        raise InvalidNetwork(f"the numbers of {node!r} are finite, its variances above 0")
    return Regression(alpha.copy(), beta.copy(), variance.copy())


def fitted(
    dag: Dag,
    data: Any,
    smoothing: float,
    continuous: Iterable[str] | None,
    given: Mapping[str, Sequence[Hashable]],
    sample_weight: Any,
) -> tuple[dict[str, Floats], dict[str, tuple[Floats, Floats, Floats]], dict[str, tuple[Hashable, ...]]]:
    """Tables, regressions and states from rows: each row counts for the families that it has whole."""
    gaussian = _continuous_columns(dag, data, continuous)
    part = discrete_part(dag, gaussian)
    named = {name: cells for name, cells in columns(data) if name in dag.index and name not in gaussian}
    kinds = {n: s for n, s in declared(data).items() if n in named}
    net = BayesNet.fit(part, named, smoothing, {**kinds, **given}, sample_weight)
    found = {}
    numbers = numbers_of(data, gaussian)
    codes = read_cases(named, net.dag.index, net._states)
    weights = None if sample_weight is None else check_weights(sample_weight, len(codes))
    for node in dag.nodes:
        if node in gaussian:
            above, beside = split(dag.parents(node), gaussian)
            sizes = [len(net.states(p)) for p in above]
            d = place_of(codes[:, [net.dag.index[p] for p in above]], sizes)
            X = np.stack([numbers[p] for p in (*beside, node)], axis=1)
            whole = (d >= 0) & np.isfinite(X).all(axis=1)
            q = math.prod(sizes)
            refuse_over(None, 24.0 * q * X.shape[1] ** 2, f"{q:,} regressions of {node!r}", "give it fewer parents")
            seen = comoments(X[whole], d[whole], q, None if weights is None else weights[whole])
            fit = learned(node, seen, smoothing)
            found[node] = (fit.alpha, fit.beta, fit.variance)
    return {n: net._tables[n].reshape(-1, len(net.states(n))) for n in net.nodes}, found, net._states


def discrete_part(dag: Dag, continuous: Iterable[str]) -> Dag:
    gaussian = set(continuous)
    for a, b in dag.edges:
        if a in gaussian and b not in gaussian:
            raise InvalidNetwork(
                f"the discrete node {b!r} has the continuous parent {a!r}: turn the arrow, or cut {a!r} into intervals"
            )
    nodes = [n for n in dag.nodes if n not in gaussian]
    if not nodes:
        raise InvalidNetwork("a hybrid network has at least one discrete node")
    return Dag(nodes, [(a, b) for a, b in dag.edges if b not in gaussian])


def split(parents: Sequence[str], continuous: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Discrete and continuous parents."""
    gaussian = set(continuous)
    return tuple(p for p in parents if p not in gaussian), tuple(p for p in parents if p in gaussian)


def _continuous_columns(dag: Dag, data: Any, told: Iterable[str] | None) -> set[str]:
    if told is None:
        return {
            n
            for n, cells in columns(data)
            if n in dag.index and getattr(cells, "dtype", None) in (np.float64, np.float32)
        }
    named = {dag.nodes[v] for v in find_all(dag.index, told)}
    return named


def numbers_of(data: Any, wanted: Iterable[str]) -> dict[str, Floats]:
    """The wanted columns as numbers, NaN where a cell is missing."""
    chosen, found = set(wanted), {}
    for name, cells in columns(data):
        if name in chosen:
            try:
                found[name] = np.asarray(cells, dtype=np.float64)
            except (TypeError, ValueError):
                raise BadValue(f"column {name!r} is continuous and holds what is no number") from None
            if np.isinf(found[name]).any():
                raise BadValue(
                    f"column {name!r}, row {int(np.argmax(np.isinf(found[name])))}: infinity is no number here"
                )
    lacking = [n for n in chosen if n not in found]
    if lacking:
        raise UnknownColumn(f"no column for {listed(lacking)}{did_you_mean(lacking[0], [n for n, _ in columns(data)])}")
    return found


def place_of(codes: Array, sizes: Sequence[int]) -> Array:
    """The place of each configuration, the first column slowest; −1 where a code is missing."""
    place = np.zeros(len(codes), dtype=np.int64)
    for column, size in zip(codes.T, sizes):
        place = place * size + column
    return np.where((codes < 0).any(axis=1), -1, place)
