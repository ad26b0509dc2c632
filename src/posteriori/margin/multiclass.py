"""More than two classes: the machines of one-vs-one and one-vs-rest, and scikit-learn's layout of their coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..arrays import Floats, Ints
from .machine import Machine
from .merge import Merged


@dataclass(frozen=True, slots=True)
class Split:
    """A two-class problem: `rows`, and for each whether it is on the positive side."""

    rows: Ints
    sign: Floats


def splits(codes: Ints, n_classes: int, scheme: str) -> list[Split]:
    """The problems of a scheme.

    Two classes: one problem, the second class positive. "ovo": each pair, its first class positive. "ovr": each class
    against the others.
    """
    everything = np.arange(len(codes))
    if n_classes == 2:
        return [Split(everything, np.where(codes == 1, 1.0, -1.0))]
    if scheme == "ovr":
        return [Split(everything, np.where(codes == k, 1.0, -1.0)) for k in range(n_classes)]
    out = []
    for i, j in combinations(range(n_classes), 2):
        rows = np.flatnonzero((codes == i) | (codes == j))
        out.append(Split(rows, np.where(codes[rows] == i, 1.0, -1.0)))
    return out


@dataclass(frozen=True, slots=True)
class Expansion:
    """The machines over one list of support vectors, sorted by class: coef (machines or K−1, support)."""

    support: Ints
    n_support: Ints
    coef: Floats
    intercept: Floats
    paired: bool

    def decisions(self, sums_by_class: Sequence[Floats]) -> Floats:
        """f of every machine from Σ coef K over the support vectors of each class, shape (n, machines)."""
        if not self.paired:
            return np.asarray(sum(sums_by_class) + self.intercept)
        pairs = combinations(range(len(self.n_support)), 2)
        columns = [sums_by_class[i][:, j - 1] + sums_by_class[j][:, i] for i, j in pairs]
        return np.stack(columns, axis=1) + self.intercept


def expansion(machines: Sequence[Machine], codes: Ints, n_classes: int, scheme: str) -> Expansion:
    """Gather the machines over rows of classes `codes`.

    In pairs, the support vector of class i keeps its β against class j in row j−1 (j > i) or j.
    """
    paired = n_classes > 2 and scheme == "ovo"
    pairs = list(combinations(range(n_classes), 2))
    full = np.zeros((n_classes - 1 if paired else len(machines), len(codes)))
    for k, machine in enumerate(machines):
        if paired:
            i, j = pairs[k]
            first = codes[machine.rows] == i
            full[j - 1, machine.rows[first]] = machine.beta[first]
            full[i, machine.rows[~first]] = machine.beta[~first]
        else:
            full[k, machine.rows] = machine.beta
    return _by_class(full, codes, n_classes, np.array([m.b for m in machines]), paired)


def written_out(found: Expansion, merged: Merged, codes: Ints) -> Expansion:
    """The same machines over the original rows, equal rows sharing their multiplier."""
    full = np.zeros((len(found.coef), len(merged.first)))
    full[:, found.support] = found.coef
    return _by_class(merged.spread(full), codes, len(found.n_support), found.intercept, found.paired)


def _by_class(full: Floats, codes: Ints, n_classes: int, intercept: Floats, paired: bool) -> Expansion:
    used = np.flatnonzero((full != 0).any(axis=0))
    support = used[np.argsort(codes[used], kind="stable")]
    n_support = np.bincount(codes[support], minlength=n_classes)
    return Expansion(support, n_support, np.ascontiguousarray(full[:, support]), intercept, paired)


def votes(decisions: Floats, n_classes: int) -> Floats:
    """One score a class from the pairs: its wins, and below them (under ½) the sum of its decisions.

    >>> votes(np.array([[2.0, 1.0, 0.5]]), 3).argmax()
    np.int64(0)
    """
    wins, trust = np.zeros((len(decisions), n_classes)), np.zeros((len(decisions), n_classes))
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        f = decisions[:, k]
        wins[:, i] += f > 0
        wins[:, j] += f <= 0
        trust[:, i] += f
        trust[:, j] -= f
    return np.asarray(wins + trust / (3 * (np.abs(trust) + 1)))
