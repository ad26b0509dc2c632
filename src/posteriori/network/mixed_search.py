"""The structure of a class, values and numbers: by steps of a score, Chow and Liu's tree, or up to k parents.

A number is never the parent of a value. For a tree or k parents under the class, I(X_u; X_v | Y) is what u adds to the
likelihood of v given y, a row; values come before numbers, so that every arrow between them leads to the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array, Floats
from ..estimator import generator
from ..statistics.cuts import CodedTable
from ..structure.climb import check_steps, climb
from ..structure.rules import Progress, Rules, watched
from ..structure.scores import Scored
from ..structure.structures import by_information, kdb, tree
from ..table.labels import narrowest
from .mixed_scores import MixedScored

Parents = tuple[tuple[int, ...], ...]
BEFORE = 1e9  # nats: more than any information


class MixedTable:
    """The columns of a table that vary, values first, and the class, which is the node after the columns."""

    def __init__(
        self, table: CodedTable, x: Floats, where: list[int], y: Array, n_classes: int, weights: Floats | None
    ) -> None:
        self.d, self.where = len(table.sizes), where
        values = [j for j, size in enumerate(table.sizes) if size > 1]
        low, high = (f(x, axis=0, initial=-s, where=~np.isnan(x)) for f, s in ((np.min, -np.inf), (np.max, np.inf)))
        varies = np.flatnonzero(low < high)
        self.nodes = [*values, self.d, *(where[k] for k in varies)]
        self.sizes = (*(table.sizes[j] for j in values), n_classes)
        kind = narrowest(max(self.sizes) + 1)
        self.codes = np.stack([*(table.column(j).astype(kind) for j in values), y.astype(kind)])
        self.x, self.weights = x[:, varies], weights

    def scored(self, score: str) -> MixedScored:
        """These columns with a score; the class stands between values and numbers."""
        return MixedScored(Scored(self.codes, self.sizes, score, weights=self.weights), self.x)

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
        found = self.scored(score)
        forbidden = np.eye(found.d, dtype=bool)
        forbidden[found.first :, : found.first] = True
        most = found.d if max_parents is None else int(max_parents)
        rules = Rules(tuple(names[v] for v in self.nodes), np.zeros((found.d, found.d), dtype=bool), forbidden, most)
        seed = int(generator(random_state).integers(1 << 62))
        with watched(progress, time_limit) as watch:
            arrows, _, _ = climb(found, rules, (), watch, *steps, seed)
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
