"""The structure of a class, values and numbers: scored, and found by steps, as Chow and Liu's tree, or up to k parents.

Symbols: v a node, D its discrete parents (q configurations d), C its continuous ones (k of them); n_d, S_d rows and
co-moments of a configuration, RSS_d what the best line leaves of v there; f the price of a parameter. The score is

    v discrete     Σ N ln θ − f·q(r − 1), as `structure.scores` has it; its parents are discrete
    v continuous   −½ Σ_d [n_d ln 2πσ²_d + RSS_d/σ²_d] − f·q(k + 2), σ²_d as `regression.learned` has it with λ = 1

The co-moments of all numbers in the configurations of a set D are made once, and serve every child and every C: with u one
more parent, RSS' = RSS − S_uv²/S_uu, both what C leaves (the Schur complement). A missing cell leaves the row out where
it is the child's, is one more value of a discrete parent, and the column's mean of a continuous one.

A number is never the parent of a value. For a tree or k parents under the class, I(X_u; X_v | Y) is what u adds to the
likelihood of v given y, a row; values come before numbers, so that every arrow between them leads to the number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, Bools, Floats
from ..bayes.numeric import ROWS, TINY
from ..budget import refuse_over
from ..errors import BadParameter, listed
from ..estimator import generator
from ..statistics.comoments import CoMoments, comoments
from ..statistics.cuts import CodedTable
from ..structure.climb import check_steps, climb_each
from ..structure.rules import Progress, Rules, Watch, watched
from ..structure.scores import Scored, price_of
from ..structure.structures import by_information, kdb, tree
from ..table.labels import narrowest
from .normals import FLOOR, LEAST, pooled

PENALISED = ("bic", "mdl", "aic", "loglik")
RIDGE = 1e-10  # of a parent's spread: parents that tell the same are no error
KEPT = 1 << 28  # bytes of co-moments that are kept
Parents = tuple[tuple[int, ...], ...]  # of every column, and last of the class
BEFORE = 1e9  # nats: more than any information
UNKNOWN = -1e300  # nats of what nobody has had the time to look at


class MixedScored:
    """A table of values and numbers with a score: the nodes are the columns of `values`, then those of `x`."""

    complete = False  # arrows between values and numbers have one direction: no two of them score alike

    def __init__(self, values: Scored, x: Floats, max_memory: float | None = None, watch: Watch | None = None) -> None:
        if values.score not in PENALISED:
            raise BadParameter(f"numbers are scored by one of {listed(PENALISED)}. Got {values.score!r} instead.")
        self.values, self.score, self.m = values, values.score, values.m
        self.max_memory, self.watch = max_memory, watch
        self.first, self.d = values.d, values.d + x.shape[1]
        self.seen: Bools = ~np.isnan(x)
        with np.errstate(invalid="ignore"):
            mean = np.array([column[there].mean() if there.any() else 0.0 for column, there in zip(x.T, self.seen.T)])
            self.scale = np.array(
                [column[there].std() if there.any() else 1.0 for column, there in zip(x.T, self.seen.T)]
            )
        self.scale = np.where(self.scale > 0, self.scale, 1.0)
        self.x = np.where(self.seen, (x - mean) / self.scale, 0.0)
        self._moments: dict[tuple[tuple[int, ...], int], CoMoments] = {}
        self._known: dict[tuple[int, tuple[int, ...], tuple[int, ...]], float] = {}

    @cached_property
    def price(self) -> float:
        """f."""
        return price_of(self.score, self.m) or 0.0

    def family(self, child: int, parents: Sequence[int]) -> float:
        """The score of one family."""
        return float(self.toggles(child, sorted(parents), ())[0])

    def whole(self, parents: Sequence[Sequence[int]]) -> float:
        """The score of a structure."""
        return math.fsum(self.family(child, some) for child, some in enumerate(parents))

    def toggles(self, child: int, parents: Sequence[int], candidates: Sequence[int]) -> Floats:
        """The score of a child with `parents`, then with each candidate added to them, or taken away if it is one."""
        D = self.first
        if child < D:
            return self.values.toggles(child, parents, candidates)
        v, above, beside = child - D, tuple(p for p in parents if p < D), tuple(p - D for p in parents if p >= D)
        if self._over and (v, above, beside) not in self._known:
            return np.full(1 + len(candidates), UNKNOWN)
        self._learn(v, above, beside, [] if self._over else [c - D for c in candidates if c >= D and c not in parents])
        out = [self._known[v, above, beside]]
        for c in candidates:
            key = (tuple(sorted({*above} ^ {c})), beside) if c < D else (above, tuple(sorted({*beside} ^ {c - D})))
            if not self._over:
                self._learn(v, *key, [])
            out.append(self._known.get((v, *key), out[0]))  # what nobody had the time to look at gains nothing
        return np.array(out)

    @property
    def _over(self) -> bool:
        return self.watch is not None and self.watch.over()

    def _learn(self, v: int, above: tuple[int, ...], beside: tuple[int, ...], added: list[int]) -> None:
        """Know what number v is worth with these parents, and with each of `added` too: once for all, or a walk of equal
        scores could go round for ever on their last digits."""
        keys = [beside, *(tuple(sorted((*beside, u))) for u in added)]
        todo = [u for u, key in zip(added, keys[1:]) if (v, above, key) not in self._known]
        if todo or (v, above, beside) not in self._known:
            for u, worth in zip([None, *todo], self._line(v, above, beside, todo).tolist()):
                self._known.setdefault((v, above, beside if u is None else tuple(sorted((*beside, u)))), worth)

    def _line(self, v: int, above: tuple[int, ...], beside: tuple[int, ...], added: list[int]) -> Floats:
        """The score of number v given these parents, then with each of `added` too."""
        moments = self._by(above, v)
        C, n = list(beside), moments.n
        rows = n.sum()
        q, k = math.prod(self.values.states[p] for p in above), len(beside) + np.minimum(np.arange(1 + len(added)), 1)
        mean, whole = pooled(moments)
        gap = moments.mean - mean
        left, _, _ = _left(moments.c, v, C, added)
        _, line, slope = _left(whole[None], v, C, added)
        beyond = gap[:, [v, *added]] - gap[:, C] @ line[0]  # where configurations lie beside the line of all rows
        rest = np.concatenate([beyond[:, :1], beyond[:, :1] - slope * beyond[:, 1:]], axis=1)
        within = left.sum(axis=0) / rows
        between = n @ (rest - n @ rest / rows) ** 2 / rows
        least, rounding = within * (ROWS / (n + ROWS))[:, None], max(LEAST * whole[v, v] / rows, TINY)
        own = np.where(left <= rounding * n[:, None], FLOOR * (within + between), left / n[:, None])
        variance = np.maximum(np.maximum(own, least), rounding)
        fit = -0.5 * (n @ np.log(2 * np.pi * variance) + (left / variance).sum(axis=0))
        return np.asarray(fit - rows * math.log(self.scale[v]) - self.price * q * (k + 2))

    def _by(self, above: tuple[int, ...], v: int) -> CoMoments:
        """The co-moments of all numbers in the configurations of `above` that some row has, of the rows that have v."""
        key = above, -1 if self.seen[:, v].all() else v
        if key not in self._moments:
            codes: Array = np.zeros(len(self.x), np.int64)
            for p in above:
                codes = codes * self.values.states[p] + self.values.codes[p]
            rows = np.flatnonzero(self.seen[:, v])
            used, codes = np.unique(codes[rows], return_inverse=True)
            w = None if self.values.weights is None else self.values.weights[rows]
            d = self.x.shape[1]
            refuse_over(
                self.max_memory,
                KEPT + 16.0 * (len(used) * d * d + len(rows) * d),
                f"co-moments of {d} numbers in {len(used):,} configurations",
                "give fewer columns or parents",
            )
            if sum(m.c.nbytes for m in self._moments.values()) > KEPT:
                self._moments.clear()
            self._moments[key] = comoments(self.x[rows], codes, len(used), w)
        return self._moments[key]


def _left(S: Floats, v: int, C: list[int], added: list[int]) -> tuple[Floats, Floats, Floats]:
    """(what C leaves of S_vv, then what C and each of `added` do; S_CC⁻¹ S_C,(v, added); the slope of each of `added`)."""
    some = [v, *added]
    square, scale = S[:, C][:, :, C], np.diagonal(S, axis1=1, axis2=2)
    ridge = RIDGE * np.maximum(scale, 1.0)
    factor = np.linalg.cholesky(square + ridge[:, C, None] * np.eye(len(C)))
    half = np.linalg.solve(factor, S[:, C][:, :, some])
    line = np.linalg.solve(np.swapaxes(factor, 1, 2), half)
    own = S[:, v, v] - (half[:, :, 0] ** 2).sum(axis=1)
    both = S[:, v, added] - np.einsum("dk,dku->du", half[:, :, 0], half[:, :, 1:])
    each = (scale + ridge)[:, added] - (half[:, :, 1:] ** 2).sum(axis=1)
    slope = both / np.maximum(each, ridge[:, added])
    return np.maximum(np.concatenate([own[:, None], own[:, None] - slope * both], axis=1), 0.0), line, slope


class MixedTable:
    """The columns of a table that vary, values first, and the class, which is the node after the columns."""

    def __init__(
        self,
        table: CodedTable,
        x: Floats,
        where: list[int],
        y: Array,
        n_classes: int,
        weights: Floats | None,
        max_memory: float | None = None,
    ) -> None:
        self.d, self.where, self.max_memory = len(table.sizes), where, max_memory
        values = [j for j, size in enumerate(table.sizes) if size > 1]
        low, high = (f(x, axis=0, initial=-s, where=~np.isnan(x)) for f, s in ((np.min, -np.inf), (np.max, np.inf)))
        varies = np.flatnonzero(low < high)
        self.nodes = [*values, self.d, *(where[k] for k in varies)]
        self.sizes = (*(table.sizes[j] for j in values), n_classes)
        kind = narrowest(max(self.sizes) + 1)
        self.codes = np.stack([*(table.column(j).astype(kind) for j in values), y.astype(kind)])
        self.x, self.weights = x[:, varies], weights

    def scored(self, score: str, watch: Watch | None = None) -> MixedScored:
        """These columns with a score; the class stands between values and numbers."""
        values = Scored(self.codes, self.sizes, score, weights=self.weights)
        return MixedScored(values, self.x, self.max_memory, watch)

    def climbed(
        self,
        score: str,
        max_parents: int | None,
        names: Sequence[str],
        *,
        tabu: int = 0,
        restarts: int = 0,
        random_state: Any = None,
        time_limit: float | None = None,
        progress: Progress = False,
    ) -> Parents:
        """What a search by steps finds, as in `learn_structure`; `names` of the columns, and last of the class."""
        steps = check_steps(tabu, restarts)
        with watched(progress, time_limit) as watch:
            found = self.scored(score, watch)
            forbidden = np.eye(found.d, dtype=bool)
            forbidden[found.first :, : found.first] = True
            most = found.d if max_parents is None else int(max_parents)
            rules = Rules(
                tuple(names[v] for v in self.nodes), np.zeros((found.d, found.d), dtype=bool), forbidden, most
            )
            seed = int(generator(random_state).integers(1 << 62))
            naive = [(found.first - 1, v) for v in range(found.d) if v != found.first - 1]
            arrows, _, _ = climb_each(found, rules, [naive, ()][1 - min(most, 1) :], watch, *steps, seed)
        return self._parents(arrows)

    def under_class(self, k: int | None) -> Parents:
        """Every column under the class, and each depends on up to k others; k None is the best tree."""
        found = self.scored("loglik")
        D, attributes = found.first, [v for v in range(found.d) if v != found.first - 1]
        given, about = np.zeros((found.d, found.d)), np.zeros(found.d)
        for v in attributes:
            others = [u for u in attributes if u != v and (u < D or v >= D)]
            alone, with_class = found.family(v, ()), found.toggles(v, [D - 1], others)
            about[v] = (with_class[0] - alone) / found.m
            given[others, v] = (with_class[1:] - with_class[0]) / found.m
        given = np.maximum(given, given.T)  # of a value and a number one direction is known; else both are equal
        first = np.array([v < D for v in attributes], dtype=bool)
        given, about = given[np.ix_(attributes, attributes)], about[attributes] + BEFORE * first
        if k is None:
            pairs = given + BEFORE * (first[:, None] & first)
            parents = tree(pairs, by_information(about)).parents
        else:
            parents = kdb(about, given, k).parents
        arrows = [(attributes[p], v) for v, ps in zip(attributes, parents) for p in ps]
        return self._parents([*arrows, *((D - 1, v) for v in attributes)], range(self.d))

    def _parents(self, arrows: list[tuple[int, int]], alone: range = range(0)) -> Parents:
        """The parents of every column and last of the class; columns that do not vary have the class, where it has all."""
        found: list[list[int]] = [[] for _ in range(self.d + 1)]
        for u, v in arrows:
            found[self.nodes[v]].append(self.nodes[u])
        for j in alone:
            found[j] = found[j] or [self.d]
        return tuple(tuple(sorted(some)) for some in found)
