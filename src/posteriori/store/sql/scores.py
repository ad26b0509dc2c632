"""ln P(y, x) in SQL, for naive Bayes, trees and averages of one-dependence estimators.

Every expression reads `x0, x1, …`: of a column with values its code, of a measured one its number; NULL is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array, Floats
from ...bayes.averaged import AODE
from ...bayes.densities import Categories, Events, Poisson
from ...bayes.families import Families, Rung
from ...bayes.naive import NaiveBayes
from ...bayes.numeric import Binned, Curves, Gaussian, LeftOut
from ...bayes.super_parents import Places, conditional_table, joint_of_cells, reaches
from ...errors import NotStorable
from ...smoothing.theta import log_theta
from ...statistics.cuts import Cuts
from ...table.schema import Column
from .cells import need
from .curves import FAR, FINITE, TINY, WAY_OUT, Step, greatest, halved, in_pieces, log_sum, normal
from .dialects import LOW, Dialect


@dataclass
class Scores:
    """Columns of the first step (`read`), steps between (`steps`), and ln P(y, x) of every class (`joint`)."""

    read: list[str]
    joint: list[str]
    steps: list[Step] = field(default_factory=list)
    why: str = "its tables have too many cells; merge rare values, or cut numbers into fewer bins"  # it may be too long
    unit: float = 1.0  # `joint` is ln P(y, x)/unit
    least: float = LOW / 10  # of `joint`: below, the model refuses the row


def scores_of(model: Any, cells: list[str], dialect: Dialect) -> Scores:
    """The expressions of a model; `cells` are those of its columns in the table."""
    if isinstance(model, NaiveBayes):
        return _naive(model, cells, dialect)
    if type(model) is AODE:
        return _averaged(model, cells, dialect)
    return _tree(model, cells, dialect)


# Cells


def codes(column: Column, cut: Any, cell: str, d: Dialect, strange: str = "NULL") -> str:
    """The code of a cell: by its value, or by its bin; `strange` for a value that training did not have."""
    if cut is not None:
        bins = "".join(f" WHEN {cell} < {d.number(t)} THEN {k}" for k, t in enumerate(cut.tolist()))
        return f"CASE WHEN {cell} IS NULL THEN NULL{bins} ELSE {len(cut)} END"
    if not column.values:
        return f"CASE WHEN {cell} IS NULL THEN NULL ELSE {strange} END"
    real, what = need(column) == "number", f"column {column.name!r:.50}"
    values = [d.number(v) if real else d.literal(v, what) for v in column.values]  # type: ignore[arg-type]
    some = "".join(f" WHEN {v} THEN {k}" for k, v in enumerate(values))
    return f"CASE WHEN {cell} IS NULL THEN NULL ELSE CASE {cell}{some} ELSE {strange} END END"


def looked_up(code: str, numbers: Array, d: Dialect, missing: str = "0") -> str:
    """The number of a code."""
    if not len(numbers):
        return missing
    return f"COALESCE({d.nth(numbers, f'{code} + 1')}, {missing})"


def summed(terms: Sequence[str]) -> str:
    return " + ".join(f"({t})" for t in terms) if terms else "0"


def _log_sum(terms: list[str], d: Dialect) -> str:
    return log_sum(terms, greatest(terms), d)


# Naive Bayes. The model squares numbers up to the end of float64, and takes what is beyond for ln 0. Here all is divided by
# UNIT, so that a sum of thousands of terms is no overflow (an error in PostgreSQL), and ln 0 in it makes it least of all.

UNIT = 4096.0
NONE = -5e304  # ln 0 / UNIT
TOGETHER = 1000  # columns of steps
MOST_COUNT = 2.5e305  # ln x! of more is no number


def _part(log_p: float, d: Dialect) -> str:
    return d.number(max(log_p / UNIT, NONE))


def _naive(model: NaiveBayes, names: list[str], d: Dialect) -> Scores:
    found, schema = model.factored_, model.schema_
    read = [""] * len(names)
    sums = [[_part(p, d)] for p in found.log_prior]
    steps: list[Step] = []
    beside: list[Step] = []  # of some columns at once, as long as they make a row that is not too long
    sizes: dict[str, int] = {}
    for density in found.densities:
        for k, j in enumerate(density.where):
            how = _DENSITIES.get(type(density))
            if how is None:
                raise NotStorable(
                    f"column {schema.names[j]!r:.50} is text, and words are not counted in SQL: leave the column out"
                )
            said = how(density, k, schema.columns[j], names[j], f"x{j}", d)
            read[j] = said.cell
            sizes[schema.names[j]] = sum(map(len, (*said.terms, *(e for step in said.steps for e in step.values()))))
            if beside and sum(map(len, (*beside, *said.steps))) > TOGETHER:
                total = {f"t{j}_{y}": summed(terms) for y, terms in enumerate(sums)}
                steps, beside, sums = [*steps, *beside, total], [], [[name] for name in total]
            beside = _beside(beside, said.steps)
            for terms, term in zip(sums, said.terms):
                terms.append(term)
    longest = max(sizes, key=sizes.__getitem__, default="")
    why = f"most of it for column {longest!r:.50}; {WAY_OUT}"
    most = 2.0 if any(isinstance(density, Curves) for density in found.densities) else 1.0  # Gaussians sum z², not ½z²
    return Scores(read, list(map(summed, sums)), [*steps, *beside], why, UNIT, most * -0.5 * FAR * FAR / UNIT)


def _beside(steps: Sequence[Step], more: Sequence[Step]) -> list[Step]:
    """Steps of several columns as those of one query."""
    none: Step = {}
    return [a | b for a, b in zip_longest(steps, more, fillvalue=none)]


class Said(NamedTuple):
    """A cell as it is read, what it adds to each class, and the steps between."""

    cell: str
    terms: list[str]
    steps: Sequence[Step] = ()


def _categories(density: Categories, k: int, column: Column, name: str, x: str, d: Dialect) -> Said:
    table = np.vstack([density.rows_of(k, density.log_theta), density.log_unseen[k]]) / UNIT
    table = np.maximum(table, NONE)
    cut = density.cuts[density.where[k]] if density.cuts else None
    cell = codes(column, cut, name, d, strange=str(len(column.values)))
    return Said(cell, [looked_up(x, table[:, y], d) for y in range(table.shape[1])])


def _guarded(x: str, term: str, d: Dialect, most: float = np.inf) -> str:
    """What a number adds: nothing where it is missing, ln 0 where it is more than the model can square or multiply."""
    beyond = f" WHEN {x} > {d.number(most)} THEN {d.number(NONE)}" if most < np.inf else ""
    return f"CASE WHEN {x} IS NULL THEN 0{beyond} ELSE {term} END"


def _scaled(term: str, d: Dialect) -> str:
    """A name of ln p(x|y), divided by UNIT."""
    return f"CASE WHEN {term} < {d.number(FINITE)} THEN {d.number(NONE)} ELSE {term} * {d.number(1 / UNIT)} END"


def _gaussian(density: Gaussian, k: int, column: Column, name: str, x: str, d: Dialect) -> Said:
    said = []
    for mean, variance in zip(density.mean[:, k].tolist(), density.variance[:, k].tolist()):
        term = normal(x, mean, float(np.sqrt(variance)), -0.5 * np.log(2 * np.pi * variance), d, UNIT, NONE)
        said.append(_guarded(x, term, d))
    return Said(name, said)


def _curves(density: Curves, k: int, column: Column, name: str, x: str, d: Dialect) -> Said:
    held: Any = density.column(k)
    K = density.statistics.n_classes
    if isinstance(held, LeftOut):
        return Said(name, ["0"] * K)
    if not isinstance(held, Binned):
        pieces, steps = in_pieces(density, k, x, d)
        last = {f"{x}_s_{y}": term for y, term in enumerate(pieces)}
        return Said(name, [_guarded(x, _scaled(term, d), d) for term in last], [*steps, last])
    ends = [d.number(t) for t in held.cuts]
    said = [_guarded(x, halved(x, ends, [_part(v, d) for v in held.log_theta[:, y]]), d) for y in range(K)]
    return Said(name, said)


def _events(density: Events, k: int, column: Column, name: str, x: str, d: Dialect) -> Said:
    return Said(name, [_guarded(x, _times(x, v, d), d) for v in density.log_theta[k]])


def _poisson(density: Poisson, k: int, column: Column, name: str, x: str, d: Dialect) -> Said:
    with np.errstate(divide="ignore"):
        logs = np.log(density.rate[:, k])
    said = [f"{_times(x, v, d)} - {d.number(rate / UNIT)}" for v, rate in zip(logs, density.rate[:, k])]
    return Said(name, [_guarded(x, term, d, MOST_COUNT) for term in said])


def _times(x: str, log_p: float, d: Dialect) -> str:
    """x·ln p/UNIT, with 0·ln 0 = 0."""
    if np.isneginf(log_p):
        return f"CASE WHEN {x} = 0 THEN 0 ELSE {d.number(NONE)} END"
    product = f"GREATEST({x} * {_part(log_p, d)}, {d.number(NONE)})"
    return f"CASE WHEN {x} < {d.number(TINY)} THEN {d.number(0.0)} ELSE {product} END"


_DENSITIES: dict[type, Callable[..., Said]] = {
    Categories: _categories,
    Gaussian: _gaussian,
    Curves: _curves,
    Events: _events,
    Poisson: _poisson,
}


# One parent at most


def _coded(model: Any, cells: list[str], d: Dialect) -> list[str]:
    cuts: Cuts = model.statistics_.cuts
    return [codes(c, cut, cell, d) for c, cut, cell in zip(model.schema_.columns, cuts, cells)]


def _tree(model: Any, cells: list[str], d: Dialect) -> Scores:
    """Σ_j ln θ_j[x_π, x_j, y] over the cells whose parent is there; of a leaf that is missing ln Σ_x θ_j[x_π, x, y].

    Of any other missing cell a list, b_j[x_π, y] = ln Σ_x θ_j[x_π, x, y]·Π_c (what child c says of x), made where it is.
    """
    found: Families = model.families_
    parents, K = found.structure.parents, len(found.log_prior)
    tables = {j: _logs(t if parents[j] else t[None]) for j, t in enumerate(found.tables)}
    tables = {j: t for j, t in tables.items() if t.size}
    children: dict[int, list[int]] = {}
    for j in tables:
        for p in parents[j]:
            children.setdefault(p, []).append(j)
    full = {j: np.concatenate([t, np.logaddexp.reduce(t, axis=1)[:, None]], axis=1) for j, t in tables.items()}
    width = {j: t.shape[1] for j, t in full.items()}
    code = {j: f"COALESCE(x{j}, {width[j] - 1})" for j in tables}
    place = {f"i{j}": (f"x{parents[j][0]} * {width[j]} + " if parents[j] else "") + f"{code[j]} + 1" for j in tables}
    steps = [place]
    for j in [j for j in reversed(found.structure.order) if j in children and j in tables]:
        V, S = tables[j].shape[:2]
        said = [d.nth(tables[j].transpose(0, 2, 1).ravel(), "i + 1")]
        for c in children[j]:
            at = f"(i % {S} * {width[c]} + {code[c]}) * {K} + {d.div('i', S)} % {K} + 1"
            known = d.nth(full[c].ravel(), at)
            below = f"b{c}[i % {S} * {K} + {d.div('i', S)} % {K} + 1]"
            said.append(f"CASE WHEN x{c} IS NULL THEN {d.item(below)} ELSE {known} END" if c in children else known)
        steps.append({f"a{j}": f"CASE WHEN x{j} IS NULL THEN {d.each(' + '.join(said), 'i', V * S * K)} END"})
        steps.append({f"b{j}": f"CASE WHEN x{j} IS NULL THEN {d.log_sums(f'a{j}', V * K, S)} END"})
    joint = []
    for y in range(K):
        terms = [d.number(found.log_prior[y])]
        for j, t in full.items():
            term = d.nth(t[:, :, y].ravel(), f"i{j}")
            if j in children:
                at = f"x{parents[j][0]} * {K} + {y + 1}" if parents[j] else str(y + 1)
                term = f"CASE WHEN x{j} IS NULL THEN {d.item(f'b{j}[{at}]')} ELSE {term} END"
            terms.append(f"COALESCE({term}, 0)" if parents[j] else term)
        joint.append(" + ".join(terms))
    return Scores(_coded(model, cells, d), joint, steps)


def _logs(table: Any) -> Floats:
    if isinstance(table, Rung):
        raise NotStorable("a family has so many combinations of values that no query holds its table")
    return np.asarray(np.maximum(table, LOW))


# Averaged one-dependence estimators


def _averaged(model: AODE, cells: list[str], d: Dialect) -> Scores:
    """ln of the weighted mean over the super-parents that are there and frequent; naive Bayes where there is none."""
    if model._stored or model.subsumption is not None:
        why = "keeps rows (lazy=True)" if model._stored else "drops values that follow from others (subsumption)"
        raise NotStorable(f"this AODE {why}, which no query does: fit with lazy=False and subsumption=None")
    statistics, lam = model.statistics_, float(model.smoothing)
    places, K, n = Places(statistics.sizes), statistics.n_classes, len(statistics.sizes)
    weight = model._weights_of(statistics)
    used = np.flatnonzero(
        reaches(statistics.cells.table.sum(axis=1), model.min_frequency) & (weight[places.column] > 0)
    )
    with np.errstate(divide="ignore"):
        theta = np.log(conditional_table(statistics.joints[0], places, used, lam)[:, :, :K])
        own = np.log(weight[places.column][used, None] * joint_of_cells(statistics, lam)[used])
    rows = {i: [r for r, a in enumerate(used) if places.column[a] == i] for i in range(n)}
    rows = {i: mine for i, mine in rows.items() if mine}
    sizes = [places.first[j + 1] - places.first[j] for j in range(n)]
    step = {f"i{j}": f"COALESCE(x{j}, {sizes[j]}) + 1" for j in range(n)}
    last: Step = {}
    for i, mine in rows.items():
        values = [int(places.value[used[r]]) for r in mine]
        some = "".join(f" WHEN {v} THEN {k}" for k, v in enumerate(values))
        step[f"r{i}"] = f"CASE x{i}{some} END"
        step[f"w{i}"] = (
            f"CASE WHEN x{i} IN ({', '.join(map(str, values))}) THEN {d.number(weight[i])} ELSE {d.number(0.0)} END"
        )
        for y in range(K):
            terms = [d.nth(own[mine, y], f"r{i} + 1")]
            for j in range(n):
                if j != i:  # a cell that is missing says nothing
                    part = theta[mine, places.first[j] : places.first[j + 1], y]
                    part = np.hstack([part, np.zeros((len(mine), 1))])
                    terms.append(d.nth(part.ravel(), f"r{i} * {sizes[j] + 1} + i{j}"))
            last[f"s{i}_{y}"] = f"CASE WHEN r{i} IS NULL THEN {d.number(2 * LOW)} ELSE {summed(terms)} END"
    base = log_theta(statistics.cells, lam)
    prior = model.naive_.log_prior
    alone = [
        summed(
            [d.number(prior[y])]
            + [looked_up(f"x{j}", base[places.first[j] : places.first[j + 1], y], d) for j in range(n)]
        )
        for y in range(K)
    ]
    if not rows:
        return Scores(_coded(model, cells, d), alone)
    mass = " + ".join(f"w{i}" for i in rows)
    joint = [
        f"CASE WHEN {mass} > 0 THEN {_log_sum([f's{i}_{y}' for i in rows], d)} - ln(GREATEST({mass}, {d.number(1e-300)})) "
        f"ELSE {alone[y]} END"
        for y in range(K)
    ]
    return Scores(_coded(model, cells, d), joint, [step, last])
