"""The quadratic program of a support vector machine, solved block by block and, in a block, two multipliers at a time.

The problem, for labels y ∈ {−1, +1} and Q_ij = y_i y_j K(x_i, x_j):

    min ½αᵀQα − 1ᵀα     subject to  0 ≤ α_i ≤ C_i,  yᵀα = 0

With β = yα it loses its signs, and support vector regression takes the same form with other p, low and high:

    min ½βᵀKβ − pᵀβ     subject to  low_i ≤ β_i ≤ high_i,  Σβ = 0          (classification: p = y, bounds 0 and y_i C_i)

v = p − Kβ is minus the gradient. Karush, Kuhn and Tucker: β is optimal when some b has
v_i = b where β_i is between its bounds, v_i ≤ b at the lower one, v_i ≥ b at the upper one; that is, when

    gap = max {v_i : β_i < high_i} − min {v_j : β_j > low_j} ≤ 0

and the solver stops when gap ≤ tol. b is then the intercept of f(x) = Σβ_i K(x_i, x) + b.

A round picks the variables that violate this most, solves their block by pairs of second-order choice (Fan, Chen and Lin
2005) and, now and then, by a step of all free variables at once where pairs would zigzag, and carries the changes to v
through the kernel rows of what changed. Rows are kept in a cache of bounded memory, the least recently used leaving first.
Variables that sit at a bound on the right side of the gap are set aside (shrinking); before the solver may stop, their v is
computed anew and they are let back in. Many small problems over the rows of one table, as of pairs of classes, are solved
in one call out of one matrix.

The hard margin: whether there is one, and an interior-point method: few, costly steps where pairs need millions.

    min ½βᵀKβ − pᵀβ     subject to  y_i β_i ≥ 0,  Σβ = 0

With α = yβ and its multipliers z > 0, a step solves Kβ − p + b − yz = 0, Σβ = 0, α z = μ by Newton's method, μ going to 0
(Mehrotra 1992). A step costs the factor of one matrix, however narrow the margin.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..arrays import Array, Bools, Floats, Ints
from ..budget import memory_budget
from ..errors import ModelError, NotSeparable
from ..kernels import smo_block, smo_machines, subtract_rows
from ..kernels.margin import Machines
from .kernel import Gram, RowCache, distinct

BLOCK, MOST = 512, 2048  # variables of a round: the free ones and some more, within these bounds
ROUNDS = 6  # times that v is summed anew
GOAL = 0.2  # share of the gap at which a block is left
SMALL, FITTING = 3000, 4500  # a problem of at most so many variables is one block; the latter where there is room
FEW = 600  # and one of at most this many is not shrunk
COARSE = 0.75  # share of tol to which a coarse problem is solved, so that the exact v that follows is within tol
LEFT = 0.8  # shrinking waits until it would leave at most this share of the variables
SOME = 3  # pairs moved between two looks at what has settled, for each variable
MANY = 20_000  # pairs after which a hard margin is left to the interior point
EPS = float(np.finfo(np.float64).eps)
DRIFT = 0.01  # tol that v may be off by rounding before it is summed anew
PATIENCE = 2**27  # kernel values that one call may visit: about a tenth of a second, so that Ctrl-C is obeyed


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: at a gap of `tol`, or unfinished after `steps` pairs or `seconds`, or when `interrupted` is set."""

    tol: float
    steps: int = sys.maxsize
    seconds: float = np.inf
    interrupted: threading.Event = field(default_factory=threading.Event)


class Solution(NamedTuple):
    """β, v and b where the solver stopped, the gap there, and the work it took."""

    beta: Floats
    v: Floats
    b: float
    gap: float
    steps: int
    converged: bool
    energy: float  # βᵀKβ = Σβ(p − v)


@dataclass(eq=False)
class Problem:
    """The variables in play: all of them, or those that shrinking left."""

    gram: Gram
    p: Floats
    low: Floats
    high: Floats
    beta: Floats
    v: Floats
    fresh: bool = False  # whether v has been summed anew since β last moved

    @property
    def hard(self) -> bool:
        return not (np.isfinite(self.high).all() and np.isfinite(self.low).all())

    @property
    def up(self) -> Bools:
        return self.beta < self.high

    @property
    def down(self) -> Bools:
        return self.beta > self.low

    def ends(self) -> tuple[float, float]:
        """(max {v_i : β_i < high_i}, min {v_j : β_j > low_j})."""
        return self.v[self.up].max(initial=-np.inf), self.v[self.down].min(initial=np.inf)

    def gap(self) -> float:
        top, bottom = self.ends()
        return float(top - bottom) if np.isfinite(top) and np.isfinite(bottom) else 0.0

    def shift(self, change: Floats) -> None:
        """v −= change, one number a row of K."""
        self.v -= change if self.gram.place is None else change[self.gram.place]

    def rows_of(self, index: Ints, step: Floats) -> tuple[Ints, Floats]:
        """The rows of K of these variables, each once, and the sum of their steps."""
        if self.gram.place is None:
            return index, step
        rows, at = distinct(self.gram.place[index], self.gram.width)
        return rows, np.asarray(np.bincount(at, step), dtype=np.float64)

    def only(self, index: Ints) -> Problem:
        p, low, high, beta, v = (a[index] for a in (self.p, self.low, self.high, self.beta, self.v))
        return Problem(self.gram.only(index), p, low, high, beta, v)

    def renew(self, index: Ints) -> None:
        """v = p − Kβ, summed anew for these variables."""
        used = np.flatnonzero(self.beta)
        place, width = self.gram.place, self.gram.width
        targets, at = (index, slice(None)) if place is None else distinct(place[index], width)
        sums = self.gram.sums(targets, *self.rows_of(used, self.beta[used]), exact=True)
        self.v[index] = self.p[index] - sums[at]
        self.fresh = len(index) == len(self.v)


class _Clock:
    """Counts steps and seconds against the limits; `goal` is the gap to stop at."""

    def __init__(self, limits: Limits):
        self.limits, self.goal, self.steps, self.end = limits, limits.tol, 0, time.monotonic() + limits.seconds

    def spent(self) -> bool:
        if self.limits.interrupted.is_set():
            raise KeyboardInterrupt
        return self.steps >= self.limits.steps or time.monotonic() > self.end

    def share(self, q: int) -> int:
        """Steps that the next call on a block of q variables may take."""
        return min(self.limits.steps - self.steps, PATIENCE // q)


def solve(
    gram: Gram, p: Floats, low: Floats, high: Floats, limits: Limits, cache_megabytes: float = np.inf
) -> Solution:
    """min ½βᵀKβ − pᵀβ with Σβ = 0 and low ≤ β ≤ high.

    >>> import numpy as np
    >>> from posteriori.margin.kernel import WholeGram
    >>> X, y = np.array([[3., 3.], [4., 3.], [1., 1.]]), np.array([1., 1., -1.])
    >>> found = solve(WholeGram(X @ X.T), y, np.minimum(0, y * np.inf), np.maximum(0, y * np.inf), Limits(1e-3))
    >>> (y * found.beta).tolist(), round(found.b, 12)
    ([0.25, 0.0, 0.25], -2.0)
    """
    clock = _Clock(limits)
    problem = Problem(gram, p, low, high, np.zeros(len(p)), p.astype(np.float64))
    for again in range(ROUNDS):
        if again == ROUNDS - 2:  # single precision was too coarse to end in
            problem.gram = gram = gram.finer()
        _solve_with_shrinking(problem, clock, cache_megabytes)
        if problem.fresh or _drift(problem, clock.steps) <= DRIFT * limits.tol:
            break
        problem.renew(np.arange(len(p)))
        if problem.gap() <= limits.tol or clock.spent():
            break
    gap = problem.gap()
    if not (np.isfinite(problem.beta).all() and np.isfinite(problem.v).all()):
        raise ModelError("the multipliers overflow: the kernel's values are too large for this C. Scale the columns")
    energy = float(problem.beta @ (p - problem.v))
    return Solution(problem.beta, problem.v, _intercept(problem), gap, clock.steps, gap <= limits.tol, energy)


def solve_together(gram: Gram, problems: Machines, limits: Limits, drifted: float = DRIFT) -> list[Solution | None]:
    """`solve` for small problems of finite bounds over the rows of one matrix, in one call.

    None stands for a problem that has to be solved alone: it takes long, or v, which may have `drifted` by so many tol,
    has to be summed anew.
    """
    found: list[Solution | None] = [None] * (len(problems.starts) - 1)
    if gram.coarse or np.isinf(problems.high - problems.low).any():
        return found
    most = min(limits.steps, PATIENCE // len(problems.p))
    beta, v, ends = smo_machines(gram.whole(), problems, limits.tol, most, gram.n_jobs)
    starts = problems.starts.tolist()
    for k, (steps, gap, b, energy, drift) in enumerate(ends.tolist()):
        at, done = slice(starts[k], starts[k + 1]), gap <= limits.tol
        if (done or steps >= limits.steps) and drift <= drifted * limits.tol and math.isfinite(b + energy):
            found[k] = Solution(beta[at], v[at], b, gap, int(steps), done, energy)
    return found


class Step(NamedTuple):
    """One step of SMO: the two rows that moved, every α after it, the gap left, and the dual value Σα − ½αᵀQα."""

    rows: Ints
    alpha: Floats
    gap: float
    dual: float


def trace(K: Array, y: Floats, C: float, tol: float = 1e-3, max_steps: int = 1000) -> list[Step]:
    """The steps of a machine of two classes, y = ±1, pair by pair from α = 0, as a small problem of `solve` begins.

    >>> import numpy as np
    >>> X, y = np.array([[3., 3.], [4., 3.], [1., 1.]]), np.array([1., 1., -1.])
    >>> [(step.rows.tolist(), step.alpha.tolist(), step.dual) for step in trace(X @ X.T, y, C=np.inf)]
    [([0, 2], [0.25, 0.0, 0.25], 0.25)]
    """
    K, y = np.asarray(K, dtype=np.float64), np.asarray(y, dtype=np.float64)
    low, high = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    beta, v, steps = np.zeros(len(y)), y.copy(), list[Step]()
    while len(steps) < max_steps:
        before = beta.copy()
        moved, gap = smo_block(K, low, high, beta, v, tol, 1)
        if not moved:
            break
        dual = float(beta @ y - beta @ (y - v) / 2)
        steps.append(Step(np.flatnonzero(beta != before), np.abs(beta), gap, dual))
    return steps


def _drift(problem: Problem, steps: int) -> float:
    """How far v may be from p − Kβ: a rounding error a step."""
    if problem.gram.coarse:
        return np.inf
    return EPS * steps * float(np.abs(problem.beta).max(initial=0.0)) * problem.gram.spread() ** 2


def _solve_with_shrinking(problem: Problem, clock: _Clock, cache_megabytes: float) -> None:
    """Solve what is not settled, again and again until nothing is; `problem` ends with every β and v in place."""
    everything = np.arange(len(problem.p))
    n, item = problem.gram.width, np.dtype(problem.gram.dtype).itemsize
    size = min(cache_megabytes * 2**20, memory_budget(), len(everything) * (n + 8) * item)
    room = np.empty(int(size), np.uint8)  # taken from the system page by page, as it is written
    active, left, cache, problem.fresh = everything, problem, None, False
    clock.goal = clock.limits.tol * (COARSE if problem.gram.coarse else 1.0)
    while True:
        if _at_once(left, room):
            keep, cache = _solve_whole(left, clock, room), None
        else:
            cache = RowCache(left.gram, room) if cache is None else cache
            keep = _solve_by_rounds(left, clock, cache)
        if left is not problem:
            problem.beta[active], problem.v[active] = left.beta, left.v
        if keep is not None:
            before, active, left = left.gram, active[keep], left.only(keep)
            if cache is not None and not _at_once(left, room):
                rows = keep if before.place is None else distinct(before.place[keep], before.width)[0]
                cache = cache.only(left.gram, rows)
            continue
        cache = None
        if left is problem:
            return
        again = everything if problem.gram.coarse else np.setdiff1d(everything, active)
        problem.renew(again)  # those set aside come back with a v of their own
        active, left = everything, problem
        if problem.gap() <= clock.limits.tol or clock.spent():
            return


def _at_once(left: Problem, room: Array) -> bool:
    """Whether to compute the whole matrix: for a small problem, or where most of it is needed and there is room."""
    n = len(left.p)
    in_use = left.hard or 2 * np.count_nonzero(left.beta) >= n  # less would be memory that is cleared and not read
    fits = n * (n + 8) * np.dtype(left.gram.dtype).itemsize <= room.nbytes
    return n <= SMALL or bool(fits and (in_use or n <= FITTING))


def _solve_whole(left: Problem, clock: _Clock, room: Array) -> Ints | None:
    """All variables in one block, their matrix at hand. Returns as `_solve_by_rounds` does."""
    q, tol = len(left.p), clock.goal
    K = left.gram.block(np.arange(q), room)
    pairs_only = not left.hard
    while left.gap() > tol and not clock.spent():
        if not pairs_only and (clock.steps > MANY or width(left) < TINY_MARGIN):
            by_interior(left, K[:, :q])
            pairs_only = True
            continue
        refuse_inseparable(left)
        if q > FEW and len(keep := _not_settled(left)) <= LEFT * q:
            return keep
        some = clock.share(q) if q <= FEW else min(clock.share(q), SOME * q)
        steps, _ = smo_block(K, left.low, left.high, left.beta, left.v, tol, some)
        clock.steps += steps
        if steps == 0:
            break
    return None


def _solve_by_rounds(left: Problem, clock: _Clock, cache: RowCache) -> Ints | None:
    """Blocks of the worst violators until the gap is closed (None), or so many variables have settled that the rest, given
    back, should go on alone."""
    chosen = np.empty(0, np.int64)
    room_for_block = np.empty(MOST * (MOST + 8) * np.dtype(left.gram.dtype).itemsize, np.uint8)
    while left.gap() > clock.goal and not clock.spent():
        refuse_inseparable(left)
        keep = _not_settled(left)
        if len(keep) <= LEFT * len(left.p):
            return keep
        chosen = _choose(left, chosen)
        if not _round(left, chosen, left.gram.block(chosen, room_for_block), cache, clock):
            break
    return None


def _round(left: Problem, chosen: Ints, block: Array, cache: RowCache, clock: _Clock) -> bool:
    """Solve the block of the chosen variables and carry what changed to every v; False if nothing could move."""
    beta, v = left.beta[chosen], left.v[chosen]
    goal = max(0.5 * clock.limits.tol, GOAL * left.gap())  # a block solved to the end would be undone by the next
    steps, _ = smo_block(block, left.low[chosen], left.high[chosen], beta, v, goal, clock.share(len(chosen)))
    clock.steps += steps
    step = beta - left.beta[chosen]
    left.beta[chosen] = beta
    moved = chosen[step != 0]
    _carry(left, moved, step[step != 0], cache)
    return bool(len(moved))


def _carry(left: Problem, moved: Ints, step: Floats, cache: RowCache) -> None:
    """v −= Σ step_i K_i. A row is stored where its multiplier is free and so will be needed again; others pass through."""
    if left.gram.place is None:
        again, change = (left.up & left.down)[moved], left.v
    else:
        free, wanted = (left.up & left.down)[moved], np.zeros(left.gram.width, dtype=np.bool_)
        wanted[left.gram.place[moved[free]]] = True
        moved, step = left.rows_of(moved, step)
        again, change = wanted[moved], np.zeros(left.gram.width)
    kept = again | (cache.slot_of[moved] >= 0)
    for at in range(0, int(kept.sum()), cache.capacity):
        part = slice(at, at + cache.capacity)
        subtract_rows(cache.buffer, cache.slots(moved[kept][part]), step[kept][part], change, left.gram.n_jobs)
    if not kept.all():
        change -= left.gram.sums(np.arange(left.gram.width), moved[~kept], step[~kept])
    if change is not left.v:
        left.shift(-change)


def _choose(left: Problem, last: Ints) -> Ints:
    """The working set: the free variables of the last one (at most half), and the worst violators of either side."""
    inside = left.up & left.down
    size = int(np.clip(np.count_nonzero(inside) + BLOCK // 2, BLOCK, MOST))
    free = last[inside[last]][: size // 2]
    half = min((size - len(free)) // 2, len(left.v) // 2)
    above, below = np.where(left.up, left.v, -np.inf), np.where(left.down, left.v, np.inf)
    above[free], below[free] = -np.inf, np.inf
    first = np.argpartition(above, len(above) - half)[-half:]
    below[first] = np.inf
    second = np.argpartition(below, half - 1)[:half]
    return np.concatenate([free, first[above[first] > -np.inf], second[below[second] < np.inf]])


def _not_settled(left: Problem) -> Ints:
    """All but the variables at a bound that v puts beyond the gap: those no pair would move."""
    top, bottom = left.ends()
    settled = (~left.up & (left.v > top)) | (~left.down & (left.v < bottom))
    return np.flatnonzero(~settled)


def _intercept(problem: Problem) -> float:
    """b: the mean of v over the free variables; where there are none, the middle of what the bounds allow."""
    free = problem.up & problem.down
    if free.any():
        return float(problem.v[free].mean())
    top, bottom = problem.ends()
    finite = [x for x in (top, bottom) if np.isfinite(x)]
    return float(np.mean(finite)) if finite else 0.0


TINY_MARGIN = 1e-5  # of the spread of the data: a hard margin below this is none that double precision can tell
NO_KERNEL = 1e-9  # βᵀKβ below minus this share of (Σ|β|)²·max K is no rounding error
STEPS = 60
NEAR = 0.995  # of the way to the nearest bound
CLOSED = 1e-10  # complementarity, in units of f, at which the point is as good as double precision makes it
ONE_THREAD = 1500  # up to here threads cost a factor more than they bring


def interior(K: Floats, p: Floats, y: Floats) -> Floats | None:
    """β near the optimum, y β ≥ 0 and Σβ = 0 to rounding; None where the steps lead nowhere."""
    with threadpool_limits(1 if len(p) <= ONE_THREAD else None, "blas"):
        beta, z = _steps(K, p, y)
    alpha = y * beta
    alpha[alpha < z * 1e-6 * float(alpha.max(initial=0.0))] = 0.0  # on its bound
    beta = y * alpha
    lacks = float(beta.sum())
    at = int((alpha * (y * lacks > 0)).argmax())  # what Σβ lacks is taken from the largest on that side
    beta[at] -= lacks
    return beta if np.isfinite(beta).all() and y[at] * beta[at] >= 0 else None


def _steps(K: Floats, p: Floats, y: Floats) -> tuple[Floats, Floats]:
    """β and z where the steps ended."""
    n = len(p)
    beta = y / max(float(K.diagonal().mean()), np.finfo(float).tiny)
    z, b = np.ones(n), 0.0
    for _ in range(STEPS):
        alpha = y * beta
        mu = float(alpha @ z) / n
        dual, primal = K @ beta - p + b - y * z, float(beta.sum())
        if max(mu / max(1.0, float(alpha.mean())), float(np.abs(dual).max())) < CLOSED:
            break
        try:
            factor = cho_factor(K + np.diag(z / alpha), lower=True, check_finite=False)
        except LinAlgError:  # K is no kernel, or its digits are used up
            break
        ones = cho_solve(factor, np.ones(n), check_finite=False)

        def towards(product: Floats) -> tuple[Floats, float, Floats]:
            """The step to α z = product."""
            rest = cho_solve(factor, -dual + y * (product / alpha - z), check_finite=False)  # noqa: B023
            more = (float(rest.sum()) + primal) / float(ones.sum())  # noqa: B023
            move = rest - more * ones  # noqa: B023
            return move, more, (product - z * y * move) / alpha - z  # noqa: B023

        move, _, dz = towards(np.zeros(n))
        far = min(_room(alpha, y * move), _room(z, dz))
        aim = mu * (float((alpha + far * y * move) @ (z + far * dz)) / (mu * n)) ** 3
        move, more, dz = towards(aim - y * move * dz)
        far = NEAR * min(_room(alpha, y * move), _room(z, dz))
        if not np.isfinite(move).all() or far < 1e-8:
            break
        beta, b, z = beta + far * move, b + far * more, z + far * dz
    return beta, z


def _room(value: Floats, step: Floats) -> float:
    """The longest step ≤ 1/NEAR that keeps value + step·t ≥ 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(step < 0, -value / step, np.inf).min(initial=1.0 / NEAR))


def by_interior(left: Problem, K: Array) -> None:
    """The hard margin by an interior point, where that is nearer to the optimum."""
    y = np.where(left.high > 0, 1.0, -1.0)
    with np.errstate(all="ignore"):  # where there is no margin it goes to infinity, and is not taken
        beta = interior(np.ascontiguousarray(K, dtype=np.float64), left.p, y)
        v = left.p - K @ beta if beta is not None else left.v
    if beta is not None and np.isfinite(v).all():
        there = replace(left, beta=beta, v=v)
        if there.gap() < left.gap():
            left.beta[:], left.v[:] = beta, v


def width(problem: Problem) -> float:
    """No hard margin is wider than this, in units of the data's spread; negative where K shows that it is no kernel.

    Scaled to Σα = 2, α names a point in each hull, and ‖w‖ is their distance: no margin is wider than 2‖w‖/Σα.
    """
    total, spread = float(np.abs(problem.beta).sum()), problem.gram.spread()
    energy = float(problem.beta @ (problem.p - problem.v))
    if total == 0 or spread == 0:
        return np.inf
    if not energy >= -NO_KERNEL * (total * spread) ** 2:
        return -1.0
    return 2 * float(np.sqrt(max(0.0, energy))) / total / spread


def refuse_inseparable(problem: Problem) -> None:
    """A hard margin has no solution where the hulls of the classes meet: α then grows without end."""
    if not problem.hard:
        return
    margin, spread = width(problem), problem.gram.spread()
    if margin < 0:
        raise ModelError(
            "C=inf asks for a hard margin, which only a positive semi-definite kernel has; this one is not: "
            "give a finite C, or another kernel"
        )
    if margin < TINY_MARGIN and problem.gram.definite:
        raise ModelError(
            f"C=inf asks for a hard margin; distinct rows under this kernel have one, but narrower than {margin:.3g} of "
            "their spread, too narrow for double precision: give a finite C, or a larger gamma (a smaller sigma)"
        )
    if margin < TINY_MARGIN:
        raise NotSeparable(
            f"C=inf asks for a hard margin, but no margin is wider than {margin * spread:.3g} "
            f"(the data spread over {spread:.3g}); give a finite C for a soft margin, or another kernel"
        )
