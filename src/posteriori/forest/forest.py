"""A forest of counts: kDB members and trees, each of rows drawn anew, pooled by what they say of rows not drawn.

Symbols: S[r, y] what members, or trees, say of training row r; NaN where all of them have drawn it.

A pool of posteriors: exponents by which several answers are multiplied, fitted on rows that none of them has seen.

Symbols: S_i[r, y] what part i says of row r, u_i its exponent, u_0 that of the prior π; P the number of parts, n rows, w
weights: P(y|x) ∝ π_y^{u_0} Π_i S_i(y|x)^{u_i}. With noise, of K classes: (1 − ε) P(y|x) + ε/K.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np

from ..arrays import Array, Floats
from ..budget import memory_budget, refuse_over
from ..estimator import AT_LEAST_1, generator, parameters
from ..fields import NOT_NEGATIVE, UNBOUNDED, need
from ..kernels import draw_bags, forest_truth, grow_members, grow_trees
from ..kernels.trees import Codes, MemberCounts, Members, Trees
from ..statistics.cuts import Cuts
from ..table.encode import team_map
from ..table.rows import Rows
from ..table.schema import Schema
from .counts import importances
from .grown import Coding, GrownClassifier

T = TypeVar("T")

FLOOR = 1e-12  # of every probability whose logarithm is taken
TOGETHER = 1.1  # what the parts' exponents sum to where rows do not say otherwise
STRONGEST, PRIOR = 4.0, 1.0  # bounds of u_i, and of |u_0|
NOISE, MOST_NOISE, HELD = 0.05, 0.5, 5  # ε where a search begins, its bound, and for how many steps it is held
LOOKS = 33  # places at which ε is weighed
UNLIKELY = 30.0  # nats below the likeliest place, where an integral may end
NEAR = 1 << 15  # numbers that are worked on together


def class_shares(y: Array, K: int, weights: Floats | None = None) -> Floats:
    """π_y = n_y/n.

    >>> class_shares(np.array([0, 0, 2]), 3).round(2).tolist()
    [0.67, 0.0, 0.33]
    """
    mass = np.bincount(y, weights, minlength=K).astype(np.float64)
    found: Floats = mass / mass.sum()
    return found


def pooled(
    parts: Sequence[Floats], prior: Floats, exponents: Floats, n_jobs: int | None = 1, noise: float = 0.0
) -> Floats:
    """P(y|x), the exponents of the parts and then that of the prior; with noise every class has ε/K.

    >>> pooled([np.array([[0.8, 0.2]])], np.array([0.5, 0.5]), np.array([2.0, 0.0])).round(3).tolist()
    [[0.941, 0.059]]
    """
    out = np.empty(parts[0].shape)
    own = _log(prior)[None, :]

    def some(rows: slice) -> None:
        found = _shares([*(_log(part[rows]) for part in parts), own], exponents)
        out[rows] = found if noise == 0.0 else (1.0 - noise) * found + noise / len(prior)

    in_blocks(some, len(out), len(prior), n_jobs)
    return out


def in_blocks(work: Callable[[slice], T], n: int, K: int, n_jobs: int | None) -> list[T]:
    """What `work` makes of some rows at a time, whose numbers stay near, in the order of the rows."""
    step = max(1, NEAR // K)
    return team_map(work, [slice(at, min(n, at + step)) for at in range(0, n, step)], n * K * 10, n_jobs)


def _log(p: Floats) -> Floats:
    found: Floats = np.maximum(p, FLOOR)
    return np.log(found, out=found)


def _shares(logs: Sequence[Floats], exponents: Floats) -> Floats:
    z: Floats = exponents[0] * logs[0]
    for u, part in zip(exponents[1:], logs[1:]):
        z += u * part
    return shares_in_place(z)


def shares_in_place(z: Floats) -> Floats:
    """e^z over the sum of its row, written over z."""
    z -= z.max(axis=1, keepdims=True)
    np.exp(z, out=z)
    z /= z.sum(axis=1, keepdims=True)
    return z


def fit_exponents(
    parts: Sequence[Floats], prior: Floats, y: Array, weights: Floats | None = None, n_jobs: int | None = 1
) -> Floats:
    """u of least mean log loss + (P/n) Σ (u − u°)², u° = 1.1/P and 0 for the prior, u_i in [0, 4], u_0 in [−1, 1].

    The loss is convex in u. Without rows u is u°. `weights` are shares of all rows, those that are not here among them:
    rows that hardly weigh anything leave u where it is.

    >>> said = np.array([[0.6, 0.4], [0.4, 0.6]] * 50)
    >>> bool(fit_exponents([said], np.array([0.5, 0.5]), np.array([0, 1] * 50))[0] > 2)
    True
    """
    return _Fit(parts, prior, y, weights, n_jobs).descend(0.0)[0]


def fit_noisy(
    parts: Sequence[Floats], prior: Floats, y: Array, weights: Floats | None = None, n_jobs: int | None = 1
) -> tuple[Floats, float]:
    """(u, ε) of least loss of (1 − ε) P(y|x) + ε/K, ε in [0, ½]: some rows may have a class that nothing foretells.

    Parts that are nearly sure of some rows, and wrong of a few of these, would else be made unsure of all. The loss may
    have two valleys: the lower is taken of where ways lead that begin without noise, with ε = .05, and with noise where the
    first has ended.

    >>> said = np.array([[0.999, 0.001]] * 100 + [[0.8, 0.2]] * 100)
    >>> y = np.array([1] * 2 + [0] * 98 + [1] * 20 + [0] * 80)
    >>> u, noise = fit_noisy([said], np.array([0.5, 0.5]), y)
    >>> bool(u[0] > fit_exponents([said], np.array([0.5, 0.5]), y)[0]), round(noise, 2)
    (True, 0.04)
    """
    fit = _Fit(parts, prior, y, weights, n_jobs)
    plain = fit.descend(0.0)
    best = min(plain, fit.descend(NOISE), fit.descend(NOISE, plain[0]), key=lambda found: found[2])
    return best[:2]


def expected_noise(
    parts: Sequence[Floats],
    prior: Floats,
    y: Array,
    exponents: Floats,
    weights: Floats | None = None,
    n_jobs: int | None = 1,
) -> float:
    """E ε of these exponents, ε in [0, ½], by Jeffreys's prior of a share: ε = sin²t, every t as likely beforehand.

    (1 − ε) P(y|x) + ε/K is linear in ε, so its mean is the answer of all ε, each as likely as the rows make it. The
    likeliest may be 0 where no row happens to be wrong; the mean is then about K/(2(K − 1)n), if the rows are foretold for
    sure, and more if they are not. Without rows, and of one class, it is 0. Weights are relative: n rows weigh n.

    The likelihood is concave in ε, so it has one hump: a few looks find where it stands, each between the neighbours of the
    places that the last one found likely, until these are most of them. There the integral is Gauss's of 33 nodes.

    >>> said, wrong = np.array([[0.999, 0.001]] * 100), np.array([1] * 3 + [0] * 97)
    >>> [round(expected_noise([said], np.array([0.5, 0.5]), y, np.array([1.0, 0.0])), 3) for y in (0 * wrong, wrong)]
    [0.01, 0.067]
    """
    n, K = len(y), len(prior)
    if n == 0 or K == 1:
        return 0.0
    own = pooled(parts, prior, exponents, n_jobs)[np.arange(n), y]
    w = np.ones(n) if weights is None or not weights.any() else weights * (n / weights.sum())

    def likely(t: float) -> float:
        share = np.sin(t) ** 2
        return float((w * np.log(np.maximum((1.0 - share) * own + share / K, 1e-300))).sum())

    def weighed(places: Floats) -> Floats:
        found: Floats = np.array(team_map(likely, places.tolist(), n * LOOKS * 10, n_jobs))
        found -= found.max()
        return found

    low, high, wide = 0.0, float(np.arcsin(np.sqrt(MOST_NOISE))), 0
    while wide < LOOKS * 2 // 3:
        places = np.linspace(low, high, LOOKS)
        near = np.flatnonzero(weighed(places) > -UNLIKELY)
        first, last = max(near[0] - 1, 0), min(near[-1] + 1, LOOKS - 1)
        low, high, wide = places[first], places[last], last - first
    nodes, gauss = np.polynomial.legendre.leggauss(LOOKS)
    places = (low + high) / 2 + (high - low) / 2 * nodes
    mass = gauss * np.exp(weighed(places))
    return float((mass * np.sin(places) ** 2).sum() / mass.sum())


class _Look(NamedTuple):
    """The loss at some u and ε, its slope and bend in u, and P(y_r|x_r) without noise."""

    loss: float
    slope: Floats
    bend: Floats
    own: Floats


class _Fit:
    """Newton's method within the bounds, on rows that no part has seen."""

    def __init__(
        self, parts: Sequence[Floats], prior: Floats, y: Array, weights: Floats | None, n_jobs: int | None
    ) -> None:
        P, n, K = len(parts), len(y), len(prior)
        self.usual, self.blind = np.array([*[TOGETHER / P] * P, 0.0]), 1.0 / K
        self.n_jobs, self.work = n_jobs, n * K * 10
        self.low, self.high = np.array([*[0.0] * P, -PRIOR]), np.array([*[STRONGEST] * P, PRIOR])
        self.w = w = np.full(n, 1.0 / max(n, 1)) if weights is None else weights
        own = _log(prior)[None, :]
        self.blocks = in_blocks(
            lambda rows: ([*(_log(part[rows]) for part in parts), own], y[rows], w[rows]), n, K, n_jobs
        )
        self.stiff = P / max(n, 1)  # what u is charged

    def look(self, u: Floats, noise: float) -> _Look:
        """The loss there, with what u is charged."""
        some = team_map(lambda block: _loss(u, noise, self.blind, *block), self.blocks, self.work, self.n_jobs)
        loss, slope, bend = (sum(each) for each in zip(*(part[:3] for part in some)))
        gap = u - self.usual
        charged = float(loss + self.stiff * (gap**2).sum())
        own = np.concatenate([part[3] for part in some])
        return _Look(charged, slope + 2 * self.stiff * gap, bend + 2 * self.stiff * np.eye(len(u)), own)

    def descend(self, noise: float, start: Floats | None = None) -> tuple[Floats, float, float]:
        """(u, ε, the loss there), from u° or `start`; without rows u° itself. ε stays where it is 0, else it follows u."""
        u, noisy, held = (self.usual, noise > 0, HELD) if start is None else (start, True, 0)
        if not len(self.w):
            return u, 0.0, 0.0
        here = self.look(u, noise)
        for step in range(50):
            before, last = here.loss, noise
            if noisy and step >= held:
                noise = self.likeliest(here.own, noise)
                here = self.look(u, noise) if noise != last else here
            u, here = self.newton(u, here, noise)
            if before - here.loss < 1e-13 and (not noisy or (step > held and abs(noise - last) < 1e-7)):
                break
        return u, noise, here.loss

    def newton(self, u: Floats, here: _Look, noise: float) -> tuple[Floats, _Look]:
        """One step, halved until it leads downhill."""
        free = ~(((u <= self.low) & (here.slope > 0)) | ((u >= self.high) & (here.slope < 0)))
        if not free.any() or np.abs(here.slope[free]).max() < 1e-10:
            return u, here
        step = np.zeros(len(u))
        step[free] = -np.linalg.solve(here.bend[np.ix_(free, free)], here.slope[free])
        size = 1.0
        while size > 1e-6:
            tried = np.clip(u + size * step, self.low, self.high)
            then = self.look(tried, noise)
            if then.loss < here.loss:
                return tried, then
            size /= 2
        return u, here

    def likeliest(self, own: Floats, noise: float) -> float:
        """ε of the greatest Σ_r w ln((1 − ε) p_r + ε/K), which is concave: Newton's method, in brackets."""
        gap, low, high = self.blind - own, 0.0, MOST_NOISE
        for _ in range(60):
            part = gap / np.maximum(own + noise * gap, 1e-300)
            slope, bend = float((self.w * part).sum()), float((self.w * part * part).sum())
            low, high = (noise, high) if slope > 0 else (low, noise)
            then = noise + slope / bend if bend > 0 else 0.0
            then = then if low < then < high else (low + high) / 2
            if abs(then - noise) < 1e-9:
                break
            noise = then
        return noise if noise > 1e-8 else 0.0


def _loss(
    u: Floats, noise: float, blind: float, logs: Sequence[Floats], y: Array, w: Floats
) -> tuple[float, Floats, Floats, Floats]:
    """The weighted log loss of some rows, its slope and its bend, and P(y_r|x_r) without noise.

    Slope: Σ_r w (E ln S_i − ln S_i(y_r)); bend: Σ_r w cov(ln S_i, ln S_j) under p. With noise a row counts for as much as
    it is not noise, (1 − ε) p/((1 − ε) p + ε/K); the bend is then that of EM's bound.
    """
    p, at = _shares(logs, u), np.arange(len(y))
    seen: Floats = p[at, y]
    mixed = (1.0 - noise) * seen + noise * blind
    loss = -float((w * np.log(np.maximum(mixed, 1e-300))).sum())  # no BLAS: its threads would change bits
    w = w if noise == 0.0 else w * (1.0 - noise) * seen / mixed
    said = [p * part for part in logs]
    mean = [part.sum(axis=1) for part in said]
    own = [part[at if len(part) == len(y) else 0, y] for part in logs]
    slope = np.array([(w * (m - true)).sum() for m, true in zip(mean, own)])
    bend = np.empty((len(logs), len(logs)))
    for i, a in enumerate(said):
        for j in range(i + 1):
            both = np.einsum("rk,rk->r", a, np.broadcast_to(logs[j], a.shape))
            bend[i, j] = bend[j, i] = (w * (both - mean[i] * mean[j])).sum()
    return loss, slope, bend, seen


CONCENTRATIONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # of trees
WIDEST, A_ROW = 1 << 16, 4  # numbers in the tables of a member's column: so many, or so many a row

Tell = Callable[[int], Any] | None


def tried(d: int) -> int:
    """How many columns a node of a tree looks at."""
    return min(d, max(1, round(1.5 * float(np.sqrt(d)))))


def member_tables(codes: Codes, K: int) -> float:
    """Bytes of a member, at most."""
    d, n = len(codes.sizes), codes.n
    return 2.0 * sum(codes.sizes) + d * 4.0 * min(max(WIDEST, A_ROW * n), 13.0**3 * K)


def tree_bytes(
    codes: Codes, y: Array, K: int, weights: Floats | None, count: int, room: float, n_jobs: int | None
) -> float:
    """Bytes of trees. One has up to 1.3 n nodes, half of which may hold sets of all values of a column; seldom so many: if
    that is more than there is room for, two are grown and measured."""
    sets = 16.0 * -(-max((size for size, named in zip(codes.sizes, codes.named) if named), default=0) // 64)
    tree = 1.3 * codes.n * (2.0 * (12 + 4 * K) + sets)
    if count * tree > room:
        seeds = np.arange(2, dtype=np.uint64)
        found = grow_trees(codes, y, K, weights, tried=tried(len(codes.sizes)), drawn=True, seeds=seeds, n_jobs=n_jobs)
        tree = 1.1 * (len(found.column) * (12 + 4 * K) + found.bits.nbytes)  # twice, while they are joined
    return count * tree


def grown_members(
    coding: Coding, codes: Codes, y: Array, K: int, weights: Floats | None, seeds: Array, n_jobs: int | None, tell: Tell
) -> MemberCounts:
    """A kDB member of each seed."""
    most = max(WIDEST, A_ROW * codes.n)
    return grow_members(codes, coding.blank, y, K, weights, seeds, most, n_jobs, tell)


def said_by_members(
    members: MemberCounts, codes: Codes, weights: Floats | None, seeds: Array, n_jobs: int | None
) -> Floats:
    """S out of bag; the seeds are those of the members."""
    return _mean(*members.sums(codes, draw_bags(codes.n, weights, seeds, n_jobs), n_jobs))


def grown_trees(
    codes: Codes, y: Array, K: int, weights: Floats | None, seeds: Array, n_jobs: int | None, tell: Tell
) -> tuple[Trees, float, Floats]:
    """(a tree of each seed, c of least log loss out of bag, S out of bag)."""
    d = len(codes.sizes)
    trees = grow_trees(codes, y, K, weights, tried=tried(d), drawn=True, seeds=seeds, n_jobs=n_jobs, tell=tell)
    bags = draw_bags(codes.n, weights, seeds, n_jobs)
    truth, used = forest_truth(trees, codes, y, CONCENTRATIONS, bags, n_jobs)
    out, c = used > 0, 1.0
    if out.any():
        loss = -np.log(np.maximum(truth[out] / used[out, None], FLOOR))
        mean = np.average(loss, axis=0, weights=None if weights is None else weights[out])
        c = CONCENTRATIONS[int(np.argmin(mean))]
    return trees, c, _mean(*trees.sums(codes, c, bags, n_jobs))


def _mean(sums: Floats, times: Array) -> Floats:
    with np.errstate(invalid="ignore"):
        return sums / times[:, None]


def mean_loss(said: Floats, y: Array, weights: Floats | None) -> float:
    """The log loss of S over the rows of which it says something; NaN where there are none."""
    own = said[np.arange(len(y)), y]
    there = ~np.isnan(own)
    if not there.any():
        return float("nan")
    w = None if weights is None or not weights[there].any() else weights[there] / weights[there].max()
    return float(np.average(-np.log(np.maximum(own[there], FLOOR)), weights=w))


@dataclass(frozen=True, eq=False)
class Grown:
    """What a forest has learned: how cells are coded, members and trees, c of the trees, and the pool's exponents.

    `exponents` are those of the members, of the trees and of the prior π_y = n_y/n.
    """

    coding: Coding
    schema: Schema
    members: MemberCounts | Members | None  # None where their exponent is 0; tables alone in files of an older format
    trees: Trees
    concentration: float
    prior: Annotated[Floats, "K", NOT_NEGATIVE]
    exponents: Annotated[Floats, "3"]

    def check(self) -> None:
        """Refuse members and trees of other columns, values or classes."""
        self.coding.check_pool(self.schema, self.prior, self.exponents, self.trees, self.concentration)
        if self.members is not None:
            self.members.check_of(self.coding.sizes, len(self.prior))
        need(self.members is not None or not self.exponents[0] > 0, "members that count for something must be there")

    @property
    def cuts(self) -> Cuts:
        """Where numbers are cut, at most."""
        return self.coding.cuts

    def posterior(self, codes: Codes, n_jobs: int | None) -> Floats:
        """P(y|x)."""
        said, also = (np.ones((codes.n, len(self.prior))) for _ in range(2))  # a part of exponent 0 need not be asked
        if self.members is not None and self.exponents[0] > 0:
            said = self.members.sums(codes, n_jobs=n_jobs)[0] / len(self.members)
        if self.exponents[1] > 0:
            also = self.trees.sums(codes, self.concentration, n_jobs=n_jobs)[0] / len(self.trees)
        return pooled([said, also], self.prior, self.exponents, n_jobs)


@parameters
class BayesForest(GrownClassifier):
    """Bayes classifiers and decision trees of counts, each of its own draw of the rows, pooled.

    *Members* are kDB classifiers: numbers cut into 3 to 12 bins at random, up to two parents for each column, drawn by what
    they tell of it, tables that back off with concentrations chosen by leaving one row out (structure held). *Trees* are
    grown until every leaf is of one class, by entropy over round(1.5 √d) columns drawn for each node, and back off from the
    root to the leaf, p_l = (n_l + c p_{l−1})/(N_l + c). The mean posteriors of both are pooled, P(y|x) ∝ π_y^{u_0}
    S_1(y|x)^{u_1} S_2(y|x)^{u_2}; c and u are fitted on what members and trees say of rows that they have not drawn.

    Weights of rows and classes are chances to be drawn. The same `random_state` gives the same bits, however many threads.
    A missing cell is a value of its own where training had some; a value that nothing is known of says nothing.

    Parameters
    ----------
    n_trees, n_members : int
    random_state : int, Generator, RandomState or None
    progress : callable or None
        Called now and then with how many members and trees are done, and how many there are; what it raises ends `fit`.
    kinds, class_weight, max_memory, n_jobs : as in `NaiveBayes`

    Attributes
    ----------
    oob_decision_function_ : P(y|x) of every row that weighs something, by members and trees that have not drawn it; NaN
        where there are none
    oob_score_ : the share of those rows whose most probable class is theirs
    exponents_ : dict of u: "members", "trees", "prior"
    concentration_ : c
    feature_importances_ : what the questions of each column gained in the trees, as shares of one

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesForest(random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1]).round(1), model.oob_score_ > 0.9
    (array([[1., 0., 0.]]), True)
    """

    n_trees: Annotated[int, AT_LEAST_1] = 150
    n_members: Annotated[int, AT_LEAST_1] = 30
    _: KW_ONLY
    grown_: Grown = field(init=False)
    oob_decision_function_: Annotated[Floats, "rows K", UNBOUNDED] = field(init=False)
    oob_score_: Annotated[float, UNBOUNDED] = field(init=False)

    def _grow(self, coding: Coding, codes: Codes, rows: Rows) -> tuple[Grown, Floats]:
        y, weights, K, jobs = rows.codes, rows.weights, len(rows.schema.classes), self.n_jobs
        n = codes.n
        self._refuse_large(codes, y, K, weights)
        seeds = generator(self.random_state).integers(0, 1 << 63, self.n_members + self.n_trees, dtype=np.uint64)
        own = seeds[: self.n_members], seeds[self.n_members :]
        members = grown_members(coding, codes, y, K, weights, own[0], jobs, self._tell(0))
        said = said_by_members(members, codes, weights, own[0], jobs)
        trees, c, also = grown_trees(codes, y, K, weights, own[1], jobs, self._tell(self.n_members))
        out = ~(np.isnan(said[:, 0]) | np.isnan(also[:, 0]))
        parts = [said[out], also[out]]
        prior = class_shares(y, K, weights)
        u = fit_exponents(parts, prior, y[out], None if weights is None else weights[out] / weights.sum(), jobs)
        answers = np.full((n, K), np.nan)
        answers[out] = pooled(parts, prior, u, jobs)
        if self.progress is not None:
            self.progress(len(seeds), len(seeds))
        kept = members if u[0] > 0 else None
        return Grown(coding, coding.with_classes(rows.schema), kept, trees, c, prior, u), answers

    def _tell(self, before: int) -> Callable[[int], Any] | None:
        """What kernels call with how many they have done, where somebody listens."""
        progress, total = self.progress, self.n_members + self.n_trees
        return None if progress is None else lambda done: progress(before + done, total)

    def _refuse_large(self, codes: Codes, y: Array, K: int, weights: Floats | None) -> None:
        """Refuse what would not fit."""
        rest = self.n_members * member_tables(codes, K) + 40.0 * codes.n * K
        need = tree_bytes(codes, y, K, weights, self.n_trees, memory_budget(self.max_memory) - rest, self.n_jobs)
        way_out = "give fewer rows, columns or classes, or n_trees and n_members"
        refuse_over(self.max_memory, need + rest, f"a forest of {codes.n:,} rows", way_out)

    @property
    def exponents_(self) -> dict[str, float]:
        """What each part counts for in the pool."""
        return dict(zip(("members", "trees", "prior"), self.grown_.exponents.tolist()))

    @property
    def concentration_(self) -> float:
        """c, the rows that the node above counts for in the trees."""
        return self.grown_.concentration

    @property
    def feature_importances_(self) -> Floats:
        """What the questions of each column gained in all trees, as shares of one."""
        return importances(self.grown_.trees, len(self.schema_), "entropy")
