"""A pool of posteriors: exponents by which several answers are multiplied, fitted on rows that none of them has seen.

Symbols: S_i[r, y] what part i says of row r, u_i its exponent, u_0 that of the prior π; P the number of parts, n rows, w
weights: P(y|x) ∝ π_y^{u_0} Π_i S_i(y|x)^{u_i}. With noise, of K classes: (1 − ε) P(y|x) + ε/K.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from ..arrays import Array, Floats
from ..table.encode import team_map

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
