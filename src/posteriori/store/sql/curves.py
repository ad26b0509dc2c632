"""ln p(x|y) of kernels, and of kernels, bins and a normal mixed, in SQL: the pieces that the model itself computes with.

Inside the pieces (`kernels.densities.Curves`) a polynomial of t = (x − middle)·scale, found by halving: CASE in CASE.
Outside of them, and where a piece has no polynomial, the formula of `bayes/densities`: the kernels that count there, the
normal p₀ of the column, the bin and the normals of the classes, in steps that read each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array, Floats
from ...bayes.densities import Curves
from ...bayes.densities.numeric import Mixed
from ...errors import NotStorable
from .dialects import LOW, Dialect

Step = dict[str, str]  # the columns that a step of the query adds, and their expressions
LITTLE = 1e-13  # of the sum of all kernels: what is left out together
FAR = 1e149  # widths from a kernel beyond which exp(−½z²) is 0 in every database
MOST = 256  # kernels of a class that a formula holds
WAY_OUT = "model.set_params(density='gaussian') or 'binned' has a shorter query, and needs no rows again"


def log_sum(terms: list[str], top: str, d: Dialect) -> str:
    """ln Σ exp of some names, `top` being the greatest of them."""
    return f"{top} + ln({' + '.join(exp_of(f'{t} - {top}', d) for t in terms)})" if len(terms) > 1 else terms[0]


def greatest(terms: list[str]) -> str:
    return f"GREATEST({', '.join(terms)})" if len(terms) > 1 else terms[0]


def exp_of(term: str, d: Dialect) -> str:
    """exp, 0 where it would underflow (an error in PostgreSQL)."""
    return f"CASE WHEN {term} < -700 THEN {d.number(0.0)} ELSE exp({term}) END"


def halved(x: str, edges: list[str], leaves: list[str]) -> str:
    """The leaf of x, `edges` between each two of them: CASE in CASE, so that a row meets few of them."""
    if len(leaves) == 1:
        return leaves[0]
    half = len(leaves) // 2
    low, high = halved(x, edges[: half - 1], leaves[:half]), halved(x, edges[half:], leaves[half:])
    return f"CASE WHEN {x} < {edges[half - 1]} THEN {low} ELSE {high} END"


@dataclass(frozen=True, eq=False)
class Kernels:
    """What the model has of a column: the normal p₀ for all classes; of each class h, ln (1 − share)/(h √2π) and ln share,
    and the values v with their shares w."""

    mean: float
    variance: float
    own: Floats
    near: list[tuple[Floats, Floats]]


@dataclass(frozen=True)
class Region:
    """Where the formula holds, from `low` up to `high`: the kernels (v, ln w) of each class that count there."""

    low: float
    high: float
    near: list[list[tuple[float, float]]]

    def inside(self, x: str, d: Dialect) -> str:
        ends = [f"{x} >= {d.number(self.low)}"] if np.isfinite(self.low) else []
        ends += [f"{x} < {d.number(self.high)}"] if np.isfinite(self.high) else []
        return " AND ".join(ends) or "TRUE"


def in_pieces(density: Curves, k: int, x: str, d: Dialect) -> tuple[list[str], list[Step]]:
    """(what x adds to each class, the steps that are read for it)."""
    held: Any = density.column(k)
    kernel, K = Kernels(*density.curves.kernels(k)), density.statistics.n_classes
    if not kernel.near:  # no row had a number
        return ["0"] * K, []
    edges, middle, scale, c = density.curves.pieces(k)
    holes = _holes(edges, scale, held) if len(middle) else [(-np.inf, np.inf)]
    regions = [_region(kernel, a, b, density.names[k]) for a, b in holes]
    said, steps = _formula(held, kernel, regions, x, d)
    some = "".join(f" WHEN {r.inside(x, d)} THEN {i + 1}" for i, r in enumerate(regions))
    first = {f"{x}_a": f"CASE WHEN {x} IS NULL THEN NULL{some} ELSE 0 END"}
    if not len(middle):
        return said, [first, *steps]
    first[f"{x}_p"] = halved(x, [d.number(e) for e in edges[1:-1]], [str(p + 1) for p in range(len(middle))])
    t = f"({x} - {d.nth(middle, f'{x}_p')}) * {d.nth(np.nan_to_num(scale), f'{x}_p')}"
    steps[0][f"{x}_t"] = f"CASE WHEN {x}_a = 0 THEN {t} ELSE {d.number(0.0)} END"
    terms = [_horner(c[:, :, y], f"{x}_p", f"{x}_t", d) for y in range(K)]
    return [f"CASE WHEN {x}_a > 0 THEN {far} ELSE {near} END" for far, near in zip(said, terms)], [first, *steps]


def _horner(c: Floats, piece: str, t: str, d: Dialect) -> str:
    """Σ_k c[piece, k] t^k."""
    text = d.nth(c[:, -1], piece)
    for k in range(c.shape[1] - 2, -1, -1):
        text = f"({text}) * {t} + {d.nth(c[:, k], piece)}"
    return text


def _holes(edges: Floats, scale: Floats, held: Any) -> list[tuple[float, float]]:
    """What lies below the pieces, above them, and between them where there is no polynomial, never across a cut."""
    found = [(-np.inf, float(edges[0])), (float(edges[-1]), np.inf)]
    cuts = set(held.binned.cuts.tolist()) if isinstance(held, Mixed) else set()
    for p in np.flatnonzero(np.isnan(scale)).tolist():
        a, b = float(edges[p]), float(edges[p + 1])
        if found[-1][1] == a and a not in cuts and len(found) > 2:
            found[-1] = (found[-1][0], b)
        else:
            found.append((a, b))
    return found


def _region(kernel: Kernels, low: float, high: float, name: str) -> Region:
    """The kernels of each class without which ln p(x|y) would be another for some x from `low` to `high`."""
    near = []
    mean, variance = kernel.mean, kernel.variance
    for (v, w), (h, log_near, log_far) in zip(kernel.near, kernel.own.tolist()):
        keep = np.full(len(v), np.isinf(low) and np.isinf(high))
        logs = np.log(w)
        for x in (low, high):
            if not np.isfinite(x):
                continue
            with np.errstate(over="ignore"):
                terms = logs - 0.5 * ((x - v) / h) ** 2
                base = log_far - log_near - 0.5 * (np.log(2 * np.pi * variance) + (x - mean) ** 2 / variance)
            outside = not (np.isfinite(low) and np.isfinite(high))
            top = terms.max() if not outside or h * h >= variance else max(terms.max(), base)
            keep |= terms > top + np.log(LITTLE / len(v))
        if np.isfinite(low) and np.isfinite(high):  # between two ends every kernel that counts at one, or lies between
            at = np.flatnonzero(keep | ((v >= low) & (v <= high)))
            keep[at.min() : at.max() + 1] = True
        if keep.sum() > MOST:
            raise NotStorable(
                f"column {name!r:.50}: where its density is no polynomial {keep.sum()} kernels count, and a query holds "
                f"{MOST}: {WAY_OUT}"
            )
        near.append(list(zip(v[keep].tolist(), logs[keep].tolist())))
    return Region(low, high, near)


def _formula(held: Any, kernel: Kernels, regions: list[Region], x: str, d: Dialect) -> tuple[list[str], list[Step]]:
    """(the name of ln p(x|y) of each class, steps): ln of kernels and p₀, mixed with bins and normals where they are."""
    K, where = len(kernel.own), f"{x}_a"
    terms: Step = {}
    names: list[list[str]] = []
    base = _normal(x, kernel.mean, kernel.variance, -0.5 * np.log(2 * np.pi * kernel.variance), d)
    for y in range(K):
        h, own, log_far = kernel.own[y].tolist()
        names.append([f"{x}_f_{y}"])
        terms[f"{x}_f_{y}"] = _in(where, [f"{base} + {d.number(log_far)}"] * len(regions), d)
        for i in range(max(len(r.near[y]) for r in regions)):
            each = [
                _normal(x, r.near[y][i][0], h * h, own + r.near[y][i][1], d, h)
                if i < len(r.near[y])
                else d.number(2 * LOW)
                for r in regions
            ]
            names[y].append(f"{x}_n_{y}_{i}")
            terms[f"{x}_n_{y}_{i}"] = _in(where, each, d)
    some = [f"{where} > 0", d.number(0.0)]
    tops = {f"{x}_o_{y}": f"CASE WHEN {some[0]} THEN {greatest(names[y])} ELSE {some[1]} END" for y in range(K)}
    ks = {
        f"{x}_k_{y}": f"CASE WHEN {some[0]} THEN {log_sum(names[y], f'{x}_o_{y}', d)} ELSE {some[1]} END"
        for y in range(K)
    }
    if not isinstance(held, Mixed):
        return list(ks), [terms, tops, ks]
    share = held.log_share
    normals = {
        f"{x}_g_{y}": _in(where, [_normal(x, float(m), float(v), -0.5 * np.log(2 * np.pi * v), d)] * len(regions), d)
        for y, (m, v) in enumerate(zip(held.normal.mean[:, 0], held.normal.variance[:, 0]))
    }
    bins = [_odds(held.binned.log_theta[_bin_of(r, held.binned.cuts)], share) for r in regions]
    binned = {f"{x}_b_{y}": _in(where, [d.number(b[y]) for b in bins], d) for y in range(K)}
    shares = [d.number(s) for s in share]
    both = {"k": [f"({n} + {s})" for n, s in zip(ks, shares)], "g": [f"({n} + {s})" for n, s in zip(normals, shares)]}
    most = {f"{x}_{c}_top": greatest(both[c]) for c in both}
    total = {f"{x}_{c}_all": log_sum(both[c], f"{x}_{c}_top", d) for c in both}
    odds = {
        f"{x}_{c}_{y}_odds": f"CASE WHEN {x}_{c}_all < {d.number(LOW / 10)} THEN 0 ELSE {x}_{c}_{y} - {x}_{c}_all END"
        for c in both
        for y in range(K)
    }
    last = {f"{x}_q_{y}": greatest([f"{x}_b_{y}", f"{x}_k_{y}_odds", f"{x}_g_{y}_odds"]) for y in range(K)}
    out = {
        f"{x}_r_{y}": "{} - {} + {}".format(
            log_sum([f"{x}_b_{y}", f"{x}_k_{y}_odds", f"{x}_g_{y}_odds"], f"{x}_q_{y}", d),
            d.number(np.log(3.0)),
            f"{x}_k_all",
        )
        for y in range(K)
    }
    return list(out), [terms | normals | binned, tops, ks, most, total, odds, last, out]


def _in(where: str, each: list[str], d: Dialect) -> str:
    """What holds in each region; 0 in none."""
    some = "".join(f" WHEN {i + 1} THEN {e}" for i, e in enumerate(each))
    return f"CASE {where}{some} ELSE {d.number(0.0)} END"


def _normal(x: str, mean: float, variance: float, log_top: float, d: Dialect, width: float | None = None) -> str:
    """log_top − ½(x − mean)²/variance; ln 0 where that is beyond all floats."""
    width = float(np.sqrt(variance)) if width is None else width
    z, far = f"(({x} - {d.number(mean)}) / {d.number(width)})", float(min(width * FAR, 1e308))
    near = f"abs({x} - {d.number(mean)}) < {d.number(far)}"
    return f"CASE WHEN {near} THEN {d.number(log_top)} - 0.5 * {z} * {z} ELSE {d.number(LOW)} END"


def _bin_of(region: Region, cuts: Array) -> int:
    """The bin that a region lies in."""
    return int(np.searchsorted(cuts, region.low, side="right")) if np.isfinite(region.low) else 0


def _odds(log_p: Floats, log_share: Floats) -> Floats:
    total = np.logaddexp.reduce(log_p + log_share)
    return np.zeros_like(log_p) if np.isneginf(total) else log_p - total
