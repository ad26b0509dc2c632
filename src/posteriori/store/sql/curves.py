"""ln p(x|y) of kernels, and of kernels, bins and a normal mixed, in SQL: the pieces that the model itself computes with.

Inside the pieces (`kernels.Curves`) a polynomial of t = (x − middle)·scale, found by halving: CASE in CASE.
Outside of them, and where a piece has no polynomial, the formula of `bayes/densities`: the kernels that count there, the
normal p₀ of the column, the bin and the normals of the classes, in steps that read each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array, Floats
from ...bayes.numeric import Curves, Mixed
from ...errors import NotStorable
from .dialects import Dialect

Step = dict[str, str]  # the columns that a step of the query adds, and their expressions
LITTLE = 1e-13  # of the sum of all kernels: what is left out together
FAR = 1.3407e154  # z beyond which z² is none of float64: the model says ln 0
NEVER, FINITE = (
    -1.5e308,
    -1.4e308,
)  # ln 0 here, and what is less than every other number: differences of two are numbers
TINY, FLAT = (
    1e-150,
    1e-200,
)  # z and coefficients that add nothing, and whose products PostgreSQL would call an underflow
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
    first[f"{x}_e"] = _of_all(x, kernel.mean, kernel.variance, d)
    if not len(middle):
        return said, [first, *steps]
    first[f"{x}_p"] = halved(x, [d.number(e) for e in edges[1:-1]], [str(p + 1) for p in range(len(middle))])
    gap, small = f"({x} - {d.nth(middle, f'{x}_p')})", 1e-30 / np.nanmax(scale, initial=1e-100)
    t = f"{gap} * {d.nth(np.nan_to_num(scale), f'{x}_p')}"
    steps[0][f"{x}_t"] = f"CASE WHEN {x}_a = 0 AND abs({gap}) > {d.number(small)} THEN {t} ELSE {d.number(0.0)} END"
    terms = [_horner(c[:, :, y], f"{x}_p", f"{x}_t", d) for y in range(K)]
    return [f"CASE WHEN {x}_a > 0 THEN {far} ELSE {near} END" for far, near in zip(said, terms)], [first, *steps]


def _horner(c: Floats, piece: str, t: str, d: Dialect) -> str:
    """Σ_k c[piece, k] t^k."""
    c = np.where(abs(c) < FLAT, 0.0, c)
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
        if not np.isfinite([low, high]).all():  # so far out that the square of (x − mean) alone is beyond all floats
            keep[v.argmin() if np.isinf(low) else v.argmax()] = True
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

    def somewhere(term: str) -> str:
        return f"CASE WHEN {where} > 0 THEN {term} ELSE {d.number(0.0)} END"

    terms: Step = {}
    names: list[list[str]] = []
    for y in range(K):
        h, own, log_far = kernel.own[y].tolist()
        names.append([f"{x}_f_{y}"])
        terms[f"{x}_f_{y}"] = somewhere(f"{x}_e + {d.number(log_far)}")
        for i in range(max(len(r.near[y]) for r in regions)):
            each = np.array([r.near[y][i] if i < len(r.near[y]) else (np.nan, 0.0) for r in regions])
            names[y].append(f"{x}_n_{y}_{i}")
            terms[f"{x}_n_{y}_{i}"] = somewhere(normal(x, each[:, 0], h, own + each[:, 1], d, place=where))
    tops = {f"{x}_o_{y}": somewhere(greatest(names[y])) for y in range(K)}
    ks = {f"{x}_k_{y}": somewhere(log_sum(names[y], f"{x}_o_{y}", d)) for y in range(K)}
    if not isinstance(held, Mixed):
        return list(ks), [terms, tops, ks]
    share = held.log_share
    normals = {
        f"{x}_g_{y}": somewhere(_of_all(x, float(m), float(v), d))
        for y, (m, v) in enumerate(zip(held.normal.mean[:, 0], held.normal.variance[:, 0]))
    }
    bins = [_odds(held.binned.log_theta[_bin_of(r, held.binned.cuts)], share) for r in regions]
    binned = {f"{x}_b_{y}": somewhere(d.nth([max(b[y], NEVER) for b in bins], where)) for y in range(K)}
    shares = [d.number(s) for s in share]
    both = {"k": [f"({n} + {s})" for n, s in zip(ks, shares)], "g": [f"({n} + {s})" for n, s in zip(normals, shares)]}
    most = {f"{x}_{c}_top": greatest(both[c]) for c in both}
    total = {f"{x}_{c}_all": log_sum(both[c], f"{x}_{c}_top", d) for c in both}
    odds = {
        f"{x}_{c}_{y}_odds": f"CASE WHEN {x}_{c}_all < {d.number(FINITE)} THEN 0 ELSE {x}_{c}_{y} - {x}_{c}_all END"
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


def _of_all(x: str, mean: float, variance: float, d: Dialect) -> str:
    """A normal of the model that squares x − mean before it divides."""
    return normal(x, mean, float(np.sqrt(variance)), -0.5 * np.log(2 * np.pi * variance), d, most=1.0)


def normal(
    x: str,
    mean: float | Floats,
    sd: float,
    log_top: float | Floats,
    d: Dialect,
    unit: float = 1.0,
    none: float = NEVER,
    most: float = np.inf,
    place: str = "",
) -> str:
    """[log_top − ½z²]/unit, z = (x − mean)/sd; `none` where z² is beyond float64, and no square of what is too little.

    Several means (NaN: none) and tops are those of a place each.
    """
    far, nowhere = min(FAR * min(sd, most), 1e308), np.isnan(mean)
    low, high = (np.where(nowhere, -sign, np.clip(mean + sign * far, -1.7e308, 1.7e308)) for sign in (-1, 1))
    wanted = (np.nan_to_num(mean), low, high, np.asarray(log_top) / unit)
    said = [d.nth(np.atleast_1d(v).tolist(), place) if place else d.number(float(v)) for v in wanted]
    z = f"(GREATEST(abs({x} - {said[0]}), {d.number(max(TINY * sd, 1e-307))}) / {d.number(sd)})"
    quadratic = f"{said[3]} - {d.number(0.5 / unit)} * {z} * {z}"
    return f"CASE WHEN {x} BETWEEN {said[1]} AND {said[2]} THEN {quadratic} ELSE {d.number(none)} END"


def _bin_of(region: Region, cuts: Array) -> int:
    """The bin that a region lies in."""
    return int(np.searchsorted(cuts, region.low, side="right")) if np.isfinite(region.low) else 0


def _odds(log_p: Floats, log_share: Floats) -> Floats:
    total = np.logaddexp.reduce(log_p + log_share)
    return np.zeros_like(log_p) if np.isneginf(total) else log_p - total
