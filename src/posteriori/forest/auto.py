"""The whole spectrum in one answer: trees, boosted trees, kDB members, linear and kernel models, pooled.

A pool and its making: one part after the other, each with its time, its loss and its reason to be left out.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Annotated, Any

import numpy as np

from ..arrays import Array, Floats, Ints
from ..blas import one_thread
from ..budget import human, memory_budget, refuse_over
from ..errors import MemoryBudgetError
from ..estimator import AT_LEAST_0, AT_LEAST_1, generator, parameters
from ..fields import NOT_NEGATIVE, UNBOUNDED, OneOf, Within, need
from ..kernels.trees import Boosting, Codes, MemberCounts, Members, Trees
from ..statistics.cuts import Cuts
from ..table.frame import Frame
from ..table.rows import Rows
from ..table.schema import Schema
from .boosted import Rounds, grow_rounds
from .forest import (
    MOST_NOISE,
    class_shares,
    expected_noise,
    fit_exponents,
    fit_noisy,
    grown_members,
    grown_trees,
    mean_loss,
    member_tables,
    pooled,
    said_by_members,
    tree_bytes,
)
from .grown import Coding, GrownClassifier
from .linear import BLOCK, LANDMARKS, MOST_ROWS, Landmarks, Linear, Points, PointsOf, fit_folds, learn_points

PARTS = ("trees", "linear", "boosted", "members", "kernel")  # the dearest comes last: it is made where it is worth it
OTHERS = 10  # units of progress of a part that does not tell
FIRST, IDLE = 6, 0.02  # members that are looked at first, and the exponent below which there are no others
SAMPLE = 5000  # rows, at most twice as many, whose variances are the width of a kernel
WIDTHS = (2.0, 0.5)  # of a kernel, in mean squares of the distance between two rows
FEW = 256  # landmarks that choose one of them
SURE = 1e-3  # nats a row of the other parts that leave a kernel nothing to gain
WORTH = 0.01  # the share of the loss that few landmarks take away where more are asked
STRETCH = 4.0  # of a kernel's coordinates, so that the ridges of linear models go from 4 to 1/1024 of its own measure
MOST_WORK = 1 << 28  # rows × coordinates × classes of a linear model
MOST_BINS = 1 << 18  # values of all columns × classes that a node of a boosted tree sums over
MOST_PAIRS = 1 << 31  # rows × columns² of a member


@dataclass(frozen=True)
class PoolPart:
    """A row of a pool's table: what it is, its log loss on rows that it has not seen, its exponent, seconds, a note.

    The loss is NaN where the part was not made, and the note says why.
    """

    part: Annotated[str, OneOf(PARTS)]
    loss: Annotated[float, UNBOUNDED]
    exponent: float
    seconds: Annotated[float, UNBOUNDED]
    note: str = ""


@dataclass(frozen=True, eq=False)
class Pool:
    """Parts that count for something, by name, with the exponents of each and, last, of the prior π_y = n_y/n; and ε."""

    coding: Coding
    schema: Schema
    names: Annotated[tuple[Annotated[str, OneOf(PARTS)], ...], "parts"]
    prior: Annotated[Floats, "K", NOT_NEGATIVE]
    exponents: Annotated[Floats, "parts+1"]
    noise: Annotated[float, Within(0, MOST_NOISE)]
    trees: Trees | None = None
    concentration: float = 1.0
    members: MemberCounts | Members | None = None  # tables alone in files of an older format
    rounds: Rounds | None = None
    points: Points | None = None
    linear: Linear | None = None
    landmarks: Landmarks | None = None
    curved: Linear | None = None

    def check(self) -> None:
        """Refuse parts that are not those named, or are of other columns, values, classes or points."""
        coding, K = self.coding, len(self.prior)
        coding.check_pool(self.schema, self.prior, self.exponents, self.trees, self.concentration)
        parts = (self.trees, self.linear, self.rounds, self.members, self.curved)
        there = {name for name, part in zip(PARTS, parts) if part is not None}
        need(set(self.names) == there, "a pool must have the parts it names")
        need(len(set(self.names)) == len(self.names) > 0, "a part must be named once")
        if self.members is not None:
            self.members.check_of(coding.sizes, K)
        if self.rounds is not None:
            self.rounds.check_of(coding, K)
        linear, marks, curved = self.linear, self.landmarks, self.curved
        need((self.points is None) == (linear is None and curved is None), "linear models must have points")
        need((marks is None) == (curved is None), "a kernel must have its landmarks")
        if self.points is not None:
            self.points.check_of(coding.sizes, coding.named)
            need(linear is None or linear.B.shape == (self.points.size, K), "weights of other points")
        if self.points is not None and marks is not None and curved is not None:
            need(marks.at.shape[1] == self.points.size, "landmarks of other points")
            need(curved.B.shape == (len(marks.at), K), "weights of other landmarks")

    @property
    def cuts(self) -> Cuts:
        """Where numbers are cut, at most."""
        return self.coding.cuts

    def posterior(self, frame: Frame, codes: Codes, n_jobs: int | None) -> Floats:
        """P(y|x); `codes` are those of the frame, in which cells may have been left out."""
        n, K = codes.n, len(self.prior)
        said = {name: np.empty((n, K)) for name in self.names}
        if self.trees is not None:
            said["trees"] = self.trees.sums(codes, self.concentration, n_jobs=n_jobs)[0] / len(self.trees)
        if self.members is not None:
            said["members"] = self.members.sums(codes, n_jobs=n_jobs)[0] / len(self.members)
        if self.rounds is not None:
            said["boosted"] = self.rounds.posterior(codes, n_jobs)
        if self.points is not None:
            widest = max(1, self.points.size, 0 if self.landmarks is None else len(self.landmarks.at))
            step = max(1, BLOCK // widest)
            for at in range(0, n, step):
                rows = np.arange(at, min(n, at + step)) if n > step else None
                self._linear(said, self.points(frame, codes, rows), slice(at, at + step))
        return pooled([said[name] for name in self.names], self.prior, self.exponents, n_jobs, self.noise)

    def _linear(self, said: dict[str, Array], Z: Floats, rows: slice) -> None:
        if self.linear is not None:
            said["linear"][rows] = self.linear.posterior(Z)
        if self.curved is not None and self.landmarks is not None:
            said["kernel"][rows] = self.curved.posterior(self.landmarks(Z))


class NotMade(Exception):
    """Why a part is not made."""


@dataclass(eq=False)
class Growing:
    """What is given, and what has been made so far."""

    coding: Coding
    codes: Codes
    rows: Rows
    seeds: Array  # a seed for each part
    n_trees: int
    n_members: int
    max_memory: float | None
    n_jobs: int | None
    time_limit: float | None
    progress: Callable[[int, int], Any] | None
    made: dict[str, Any] = field(default_factory=dict)  # of a `Pool`
    said: dict[str, Floats] = field(default_factory=dict)
    table: dict[str, PoolPart] = field(default_factory=dict)
    at: PointsOf = field(init=False)  # rows → points
    begun: float = field(default_factory=time.perf_counter)
    done: int = 0

    @property
    def y(self) -> Array:
        """Classes."""
        return self.rows.codes

    @property
    def weights(self) -> Floats | None:
        """Weights of rows."""
        return self.rows.weights

    @property
    def K(self) -> int:
        """How many classes."""
        return len(self.rows.schema.classes)

    def grow(self) -> tuple[Pool, Floats, tuple[PoolPart, ...]]:
        """(the pool, P(y|x) of each row by what has not seen it, the table of the parts)."""
        for i, name in enumerate(PARTS):
            start, note, loss = time.perf_counter(), "", float("nan")
            try:
                if i and self._left() <= 0:
                    raise NotMade("the time was over")
                self.said[name] = getattr(self, f"_{name}")(np.random.default_rng(self.seeds[i]), i)
                loss = mean_loss(self.said[name], self.y, self.weights)
            except NotMade as reason:
                note = str(reason)
            self.table[name] = PoolPart(name, loss, 0.0, time.perf_counter() - start, note)
            self._tell(0, {"trees": self.n_trees, "members": self.n_members}.get(name, OTHERS))
        return self._pool()

    def _pool(self) -> tuple[Pool, Floats, tuple[PoolPart, ...]]:
        names = tuple(self.said)
        parts, prior, y, w, out = self._seen_by_none(self.said)
        u, _ = fit_noisy(parts, prior, y, w, self.n_jobs)
        noise = expected_noise(parts, prior, y, u, w, self.n_jobs)
        answers = np.full((self.codes.n, self.K), np.nan)
        answers[out] = pooled(parts, prior, u, self.n_jobs, noise)
        for name, exponent in zip(names, u.tolist()):
            self.table[name] = replace(self.table[name], exponent=exponent)
        kept = [i for i, name in enumerate(names) if u[i] > 0 or name == "trees"]
        gone = {name for i, name in enumerate(names) if i not in kept}
        made = {k: v for k, v in self.made.items() if _owner(k) not in gone}
        if not {"linear", "kernel"} & (set(names) - gone):
            made.pop("points", None)
        kept_names, exponents = tuple(names[i] for i in kept), u[[*kept, len(names)]]
        schema = self.coding.with_classes(self.rows.schema)
        pool = Pool(self.coding, schema, kept_names, prior, exponents, noise, **made)
        return pool, answers, tuple(self.table[name] for name in PARTS)

    def _seen_by_none(self, said: dict[str, Floats]) -> tuple[list[Floats], Floats, Array, Floats | None, Array]:
        """(What is said, π, classes and shares of the rows that no part has seen whole; which these are)."""
        y, weights = self.y, self.weights
        out = ~np.any([np.isnan(part[:, 0]) for part in said.values()], axis=0)
        parts = [part[out] for part in said.values()]
        prior = class_shares(y, self.K, weights)
        w = None if weights is None else weights[out] / weights.sum()
        return parts, prior, y[out], w, out

    def _tried(self, said: dict[str, Floats]) -> tuple[Floats, float]:
        """(The exponents of these in a pool, its log loss)."""
        parts, prior, y, w, _ = self._seen_by_none(said)
        u = fit_exponents(parts, prior, y, w, self.n_jobs)
        return u[:-1], mean_loss(pooled(parts, prior, u, self.n_jobs), y, w)

    def _trees(self, rng: np.random.Generator, i: int) -> Floats:
        rest = 40.0 * self.codes.n * self.K
        given = self.codes, self.y, self.K, self.weights
        need = tree_bytes(*given, self.n_trees, memory_budget(self.max_memory) - rest, self.n_jobs)
        way_out = "give fewer rows, columns or classes, or n_trees"
        refuse_over(self.max_memory, need + rest, f"a pool of {self.codes.n:,} rows", way_out)
        seeds = rng.integers(0, 1 << 63, self.n_trees, dtype=np.uint64)
        count = self.n_trees
        if self.time_limit is not None:
            start = time.perf_counter()
            grown_trees(*given, seeds[:2], self.n_jobs, None)
            count = self._affordable((time.perf_counter() - start) / 2, count, i)
        trees, c, said = grown_trees(*given, seeds[:count], self.n_jobs, self._heard)
        self.made |= {"trees": trees, "concentration": c}
        return said

    def _members(self, rng: np.random.Generator, i: int) -> Floats:
        """Some first; where they have nothing to say in the pool, the others would have little."""
        n, d = self.codes.n, len(self.codes.sizes)
        if n * d * d > MOST_PAIRS:
            raise NotMade(f"{n:,} rows × {d:,} columns squared")
        self._need(self.n_members * member_tables(self.codes, self.K))
        seeds = rng.integers(0, 1 << 63, self.n_members, dtype=np.uint64)

        def grown(own: Array, tell: Any) -> MemberCounts:
            return grown_members(self.coding, self.codes, self.y, self.K, self.weights, own, self.n_jobs, tell)

        def said(members: MemberCounts) -> Floats:
            return said_by_members(members, self.codes, self.weights, seeds[: len(members)], self.n_jobs)

        first = min(FIRST, self.n_members)
        start = time.perf_counter()
        members = grown(seeds[:first], self._heard)
        count = self._affordable((time.perf_counter() - start) / first, self.n_members, i)
        if first < self.n_members:
            (*_, u), _ = self._tried({**self.said, "members": said(members)})
            if u < IDLE:
                raise NotMade(f"{first} of them have the exponent {u:.3f}")
        if count > first:
            members = members + grown(seeds[first:count], lambda done: self._heard(first + done))
        self.made["members"] = members
        return said(members)

    def _linear(self, rng: np.random.Generator, i: int) -> Floats:
        points = learn_points(self.rows.frame, self.codes, self.coding.blank, self.weights)
        self._refuse_work(points.size)
        self.made["points"] = points
        if self.codes.n * points.size <= BLOCK:
            whole = points(self.rows.frame, self.codes)
            self.at = lambda rows: whole[rows]
        else:
            self.at = lambda rows: points(self.rows.frame, self.codes, rows)
        self.made["linear"], said = self._fit(self.at, rng)
        return said

    def _boosted(self, rng: np.random.Generator, i: int) -> Floats:
        how, bins = Boosting(depth=0), sum(self.codes.sizes)
        if bins * self.K > MOST_BINS:
            raise NotMade(f"{bins:,} values of all columns × {self.K:,} classes")

        def grown(rounds: int) -> tuple[Rounds, Floats]:
            return grow_rounds(
                self.codes,
                self.y,
                self.K,
                self.weights,
                np.random.default_rng(self.seeds[i]),
                how=replace(how, rounds=rounds),
                max_memory=self.max_memory,
                n_jobs=self.n_jobs,
                tell=lambda done: self._heard(OTHERS * done // how.rounds),
            )

        try:
            if self.time_limit is None:
                made = grown(how.rounds)
            else:
                start = time.perf_counter()
                made = grown(how.every)
                count = self._affordable((time.perf_counter() - start) / how.every, how.rounds, i)
                if count > how.every:
                    with contextlib.suppress(NotMade):  # the first ones stay
                        made = grown(count)
        except MemoryBudgetError as error:
            raise NotMade(str(error)) from None
        self.made["rounds"], said = made
        return said

    def _kernel(self, rng: np.random.Generator, i: int) -> Floats:
        """Few landmarks choose a width. Few rows are then all landmarks, of many rows more are drawn where that pays."""
        if "points" not in self.made:
            raise NotMade("there are no points")
        n, at = self.codes.n, self.at
        size = min(n, LANDMARKS)
        self._refuse_work(size)
        before = self._tried(self.said)[1]
        if before < SURE:
            raise NotMade(f"the other parts leave {before:.1g} nats a row")
        some = at(np.arange(0, n, max(1, n // SAMPLE)))
        apart = 2.0 * float(some.var(axis=0).sum())  # the mean of ‖z − z'‖²
        those, seed = at(rng.permutation(n)[:size]), int(rng.integers(1 << 62))

        def fitted(marks: Landmarks) -> tuple[float, Landmarks, Linear, Floats]:
            with one_thread(0):
                turn = STRETCH * marks.axes()
                centre = (marks(some) @ turn).mean(axis=0)
                found, said = self._fit(partial(_turned, at, marks, turn, centre), np.random.default_rng(seed))
                curved = Linear(turn @ found.B, found.b - centre @ found.B, found.penalty)
            return mean_loss(said, self.y, self.weights), marks, curved, said

        start = time.perf_counter()
        tried = [fitted(Landmarks.draw(those[:FEW], WIDTHS[0] * apart))]
        took = time.perf_counter() - start
        if self._left() > took:
            tried.append(fitted(Landmarks.draw(those[:FEW], WIDTHS[1] * apart)))
        best = min(tried, key=lambda fit: fit[0])
        more = size > FEW and self._left() > took * size / FEW
        if n > LANDMARKS:
            (*_, u), after = self._tried({**self.said, "kernel": best[3]})
            if u < IDLE:
                raise NotMade(f"{len(best[1].at)} landmarks have the exponent {u:.3f}")
            more = more and before - after > WORTH * before
        if more:
            best = fitted(Landmarks.draw(those, best[1].v))
        _, self.made["landmarks"], self.made["curved"], said = best
        return said

    def _fit(self, points: PointsOf, rng: np.random.Generator) -> tuple[Linear, Floats]:
        w = np.ones(self.codes.n) if self.weights is None else self.weights / self.weights.max()
        return fit_folds(points, self.y, w * (len(w) / w.sum()), self.K, rng, self.n_jobs)

    def _refuse_work(self, size: int) -> None:
        rows = min(MOST_ROWS, self.codes.n)
        if rows * size * self.K > MOST_WORK:
            raise NotMade(f"{rows:,} rows × {size:,} coordinates × {self.K:,} classes")
        self._need(8.0 * (4 * min(5 * MOST_ROWS, self.codes.n) * size + 60 * size * self.K + 4 * self.codes.n * self.K))

    def _need(self, size: float) -> None:
        if size > memory_budget(self.max_memory):
            raise NotMade(f"it would take {human(size)}, over the budget of {human(memory_budget(self.max_memory))}")

    def _left(self) -> float:
        """Seconds."""
        return np.inf if self.time_limit is None else self.time_limit - (time.perf_counter() - self.begun)

    def _affordable(self, each: float, most: int, i: int) -> int:
        """How many of `most` fit into this part's share of the time, if one takes so long; one at least."""
        room = self._left() / (len(PARTS) - i) / max(each, 1e-9)
        return max(1, int(min(room, most)))

    def _heard(self, done: int) -> None:
        """Kernels say how many they have done: a good moment to say it on, and to look at the clock."""
        if self._left() <= 0 and self.said:
            raise NotMade("the time was over")
        self._tell(done, 0)

    def _tell(self, more: int, done: int) -> None:
        self.done += done
        if self.progress is not None:
            total = self.n_trees + self.n_members + OTHERS * (len(PARTS) - 2)
            self.progress(min(self.done + more, total), total)


def _turned(at: PointsOf, marks: Landmarks, turn: Floats, centre: Floats, rows: Ints) -> Floats:
    """A kernel's coordinates of rows, of a mean of 0."""
    out, step = np.empty((len(rows), turn.shape[1])), max(1, BLOCK // len(marks.at))
    with one_thread(0):
        for begin in range(0, len(rows), step):
            some = slice(begin, begin + step)
            np.subtract(marks(at(rows[some])) @ turn, centre, out=out[some])
    return out


def _owner(field_of_pool: str) -> str:
    owners = {"concentration": "trees", "rounds": "boosted", "landmarks": "kernel", "curved": "kernel"}
    return owners.get(field_of_pool, field_of_pool)


@parameters
class AutoBayes(GrownClassifier):
    """The estimator to reach for first: what five kinds of models say, multiplied by exponents that fit.

    P(y|x) = (1 − ε) π_y^{u_0} Π_i S_i(y|x)^{u_i}/Z + ε/K, over the parts

    *trees*, 150 of them, each grown on its own draw of the rows, that back off from the root to the leaf (`BayesForest`);
    *linear*, ridge logistic regression on numbers and values, in five folds;
    *boosted*, trees grown on what those before them left unsaid, in five folds (`BoostedBayes`);
    *members*, 30 kDB classifiers, each with its own draw of rows, cuts and parents (`BayesForest`);
    *kernel*, the linear part on the kernel exp(−‖z − z'‖²/v) between a row and up to 1,024 others, drawn where there are
    more; v is two or half the mean square of the distance between two rows, whichever foretells rows better with 256.

    The exponents u are fitted on what each part says of rows that it has not seen: out of bag, or out of fold. A part of
    exponent 0 is not kept. `parts_` shows them all. ε is the share of rows whose class nothing foretells (written down
    wrong, say), in the mean over what these rows leave possible: about 1/n where the pool is sure and never wrong.

    What cannot help is left out early: of the members six are grown first, and there are none if the pool gives these an
    exponent below 0.02. Of more than 1,024 rows so it is with a kernel of 256, and 1,024 are asked where these have lowered
    the loss by a hundredth; no kernel is made where the other parts leave less than .001 nats a row. Linear models
    learn from at most 4,000 rows in each fold; they are left out where rows × coordinates × classes is above 2²⁸, members
    where rows × columns² is above 2³¹, boosted trees where values of all columns (bins, of numbers) × classes are more than
    2¹⁸, and each where it would not fit into memory. A column of names has coordinates for its 250 commonest values, the
    others share one.

    Weights of rows and classes are relative: chances to be drawn, and shares of a mean. The same `random_state` gives the
    same bits, however many threads, unless a `time_limit` cuts parts short. A missing cell is a value of its own where
    training had some; a value that nothing is known of says nothing.

    Parameters
    ----------
    n_trees, n_members : int
    time_limit : float or None
        Seconds for `fit`, about: fewer trees, rounds, members and landmarks are made; parts after the end are left out.
    random_state : int, Generator, RandomState or None
    progress : callable or None
        Called now and then with how much is done, and how much there is; what it raises ends `fit`.
    kinds, class_weight, max_memory, n_jobs : as in `NaiveBayes`

    Attributes
    ----------
    parts_ : tuple of `PoolPart`: part, loss (mean log loss on rows not seen), exponent, seconds, note (why it was left out)
    exponents_ : dict of u, by part and "prior"
    noise_ : ε
    oob_decision_function_ : P(y|x) of every row that weighs something, by what has not seen it; NaN where all has
    oob_score_ : the share of those rows whose most probable class is theirs

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AutoBayes(random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1]).round(1), model.oob_score_ > 0.9
    (array([[1., 0., 0.]]), True)
    >>> [part.part for part in model.parts_]
    ['trees', 'linear', 'boosted', 'members', 'kernel']
    """

    n_trees: Annotated[int, AT_LEAST_1] = 150
    n_members: Annotated[int, AT_LEAST_1] = 30
    _: KW_ONLY
    time_limit: Annotated[float | None, AT_LEAST_0, None] = None
    grown_: Pool = field(init=False)
    parts_: tuple[PoolPart, ...] = field(init=False)
    oob_decision_function_: Annotated[Floats, "rows K", UNBOUNDED] = field(init=False)
    oob_score_: Annotated[float, UNBOUNDED] = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        need(sorted(row.part for row in self.parts_) == sorted(PARTS), "there must be a row of every part")

    def _grow(self, coding: Coding, codes: Codes, rows: Rows) -> tuple[Pool, Floats]:
        growing = Growing(
            coding,
            codes,
            rows,
            generator(self.random_state).integers(0, 1 << 63, len(PARTS), dtype=np.uint64),
            int(self.n_trees),
            int(self.n_members),
            self.max_memory,
            self.n_jobs,
            self.time_limit,
            self.progress,
        )
        pool, answers, self.parts_ = growing.grow()
        return pool, answers

    def _answer(self, frame: Frame, codes: Codes) -> Floats:
        return self.grown_.posterior(frame, codes, self.n_jobs)

    @property
    def exponents_(self) -> dict[str, float]:
        """What each part, and the prior, count for in the pool."""
        return {**{row.part: row.exponent for row in self.parts_}, "prior": float(self.grown_.exponents[-1])}

    @property
    def noise_(self) -> float:
        """ε, the share of rows whose class nothing foretells."""
        return self.grown_.noise
