"""`sql`: a query that gives every row of a table its posterior and its decision."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from ...bayes.averaged import AODE
from ...bayes.naive import NaiveBayes
from ...bayes.one_structure import SPODE, TAN
from ...decision.classifier import RiskClassifier
from ...decision.loss import Loss, as_loss
from ...errors import BadParameter, NotStorable, UnknownColumn, did_you_mean, listed
from ...table.dates import PARTS
from ...table.schema import Column, Schema
from .cells import cell_of, moment
from .dialects import DIALECTS, Dialect
from .scores import Scores, scores_of

MOST = 8_000_000  # letters of a query: a minute and 2 GB of either database
NAME = re.compile("[a-z]+[0-9]+[a-z0-9_]*")  # of a column of a step
WIDEST = 1600  # columns of a row in PostgreSQL
KNOWN = (NaiveBayes, TAN, SPODE, AODE)


def sql(
    model: Any,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    *,
    keep: Iterable[str] | None = None,
    dates: Iterable[str] | None = None,
    loss: Any = None,
    reject_label: Any = None,
) -> str:
    """A query that scores a table inside a database: P(y|x) of every class, and the decision of least risk.

    Parameters
    ----------
    model : a fitted `NaiveBayes`, `TAN`, `SPODE` or `AODE`, or a `RiskClassifier` of one
    table : the table's name, or its parts: ("schema", "table")
    dialect : "duckdb", "postgres" or "spark"
    keep : columns of the table that come along; those of the model by default
    dates : columns of the table that are dates, which the model knows as days since 1970-01-01; columns of the model named
        `sold.year`, `.month`, `.weekday`, `.hour`, as the command line makes them, are read from `sold`. Unless told, those
        of which the model has such parts
    loss : λ as `decide` takes it; adds the least risk as the column "risk"
    reject_label : as in `decide`

    Missing and unseen values count as they do for the model. A row that the model would refuse (no class allows it, a
    number is infinite) gets NULLs. A column is cast to what the model reads where its type says the same (TRUE is yes, 7
    is 07, times are those of UTC), else the query ends with an error that names it. Numeric columns of any density are
    written as the model computes them, in pieces; a query of more than 8 million letters is refused, and the
    error names the column that takes most of them. In PostgreSQL, `SET jit = off` before a long one.

    >>> import duckdb
    >>> from posteriori import NaiveBayes
    >>> model = NaiveBayes().fit({"sky": ["blue", "grey", "grey"]}, ["out", "in", "in"])
    >>> weather = duckdb.sql("SELECT 'blue' AS sky")
    >>> duckdb.sql(sql(model, "weather")).df().round(6).to_dict("records")
    [{'sky': 'blue', 'P(in)': 0.36, 'P(out)': 0.64, 'decision': 'out'}]
    """
    d = _dialect(dialect)
    if isinstance(model, RiskClassifier):
        if loss is not None:
            raise BadParameter("a RiskClassifier has its own loss: give one of the two")
        loss, reject_label, model = model.loss_, model.reject_label, model._fitted()
        model = getattr(model, "estimator", model) if type(model).__name__ == "FrozenEstimator" else model
    if type(model) not in KNOWN:
        names = listed([k.__name__ for k in KNOWN])
        raise NotStorable(f"queries are made of {names}. Got {type(model).__name__!r} instead.")
    model._check_fitted()
    names, classes = model.schema_.names, model.classes_.tolist()
    told = _with_parts(names) if dates is None else _texts(dates, "dates", "a list of columns")
    parts = _parts(names, told)
    there = [n for n in names if n not in parts or n in told]
    _refuse_alike(there, d)
    reading = model.kinds.reading if isinstance(model.kinds, Schema) else None
    cells = [_part(*parts[c.name], d) if c.name in parts else cell_of(c, reading, d) for c in model.schema_.columns]
    scores = scores_of(model, [f"c{j}" for j in range(len(names))], d)
    kept = there if keep is None else _texts(keep, "keep", "a list of columns")
    source = ".".join(
        map(d.column, [table] if isinstance(table, str) else _texts(table, "table", "a name, or its parts"))
    )
    ks, xs, ls, ps = (
        [f"{c}{i}" for i in range(n)] for c, n in zip("kxlp", (len(kept), len(names), *[len(classes)] * 2))
    )
    steps = [[f"{d.column(c)} AS {k}" for c, k in zip(kept, ks)] + [f"{e} AS c{j}" for j, e in enumerate(cells)]]
    steps += [[*ks, f"{_odd(model.schema_.columns, d)} AS odd", *(f"{e} AS {x}" for e, x in zip(scores.read, xs))]]
    steps += _carried([*ks, "odd"], xs, scores)
    steps += [[*ks, "odd", *(f"{e} AS {l}" for e, l in zip(scores.joint, ls))]]
    steps += _posterior(ks, ls, ps, scores, d)
    shown = _named(kept, [f"P({c})" for c in classes], loss is not None)
    columns = [*ks, *ps, _first(ls, "top", _labels(classes, d))]
    if loss is not None:
        priced: Loss = as_loss(loss, classes).over(classes, absent=True)
        steps += _decision(ps, priced, d)
        actions = _labels(priced.labels(reject_label).tolist(), d)
        columns = [*ks, *ps, _first([f"r{k}" for k in range(len(actions))], "least", actions), "least"]
    steps += [[f"{c} AS {d.column(n)}" for c, n in zip(columns, shown)]]
    _refuse_too_wide(steps, d)
    query = _chained(steps, source, d)
    if len(query) > MOST:
        raise NotStorable(
            f"the query would have {len(query):,} letters, and databases take about {MOST:,}: {scores.why}"
        )
    return query


def _with_parts(names: Sequence[str]) -> list[str]:
    """The columns of which the model has the year, month, weekday or hour too."""
    stems = {stem for stem, _, part in (name.rpartition(".") for name in names) if part in PARTS}
    return [name for name in names if name in stems]


def _parts(names: Sequence[str], dates: list[str]) -> dict[str, tuple[str, str]]:
    """The columns of the model that are read from dates, each with the date and what of it: "days", or a part."""
    found = {name: (name, "days") for name in names if name in dates}
    for name in names:
        stem, _, part = name.rpartition(".")
        if stem in dates and part in PARTS:
            found.setdefault(name, (stem, part))
    for date in dates:
        if not any(name == date or name.rpartition(".")[0] == date for name in names):
            raise UnknownColumn(f"the model has no column {date!r}, nor a part of that date{did_you_mean(date, names)}")
    return found


def _part(date: str, part: str, d: Dialect) -> str:
    return f"CAST({d.part_of(moment(date, d), part)} AS {d.double})"


def _texts(names: Any, what: str, wanted: str) -> list[str]:
    """Names as a list, or an error that says what is no name."""
    good = isinstance(names, Iterable) and not isinstance(names, str | bytes | dict)
    found = list(names) if good else []
    if not good or not all(isinstance(name, str) for name in found) or (what == "table" and not found):
        raise BadParameter(f"{what} must be {wanted}. Got {names!r} instead.")
    return found


def _carried(always: list[str], names: list[str], scores: Scores) -> list[list[str]]:
    """The steps between, each with those of the columns before it that are asked for later: rows stay short."""
    made = [step for step in scores.steps if step]
    asked = [set(NAME.findall(" ".join(texts))) for texts in (*(s.values() for s in made), scores.joint)]
    found = []
    for k, step in enumerate(made):
        later = set().union(*asked[k + 1 :])
        names = [name for name in names if name in later]
        found.append([*always, *names, *(f"{e} AS {name}" for name, e in step.items())])
        names += step
    return found


def _odd(columns: Sequence[Column], d: Dialect) -> str:
    """Whether a cell is one that the model refuses: an infinite number, or a negative count."""
    most = d.number(sys.float_info.max)
    least = {"numeric": f"-{most}", "count": d.number(0.0)}
    some = [f"c{j} > {most} OR c{j} < {least[c.kind]}" for j, c in enumerate(columns) if c.kind in least]
    return f"CASE WHEN {' OR '.join(some)} THEN 1 ELSE 0 END" if some else "0"


def _posterior(ks: list[str], ls: list[str], ps: list[str], scores: Scores, d: Dialect) -> list[list[str]]:
    """exp(l − top)/Σ, NULL where no class allows the row."""
    top = f"GREATEST({', '.join(ls)})" if len(ls) > 1 else ls[0]
    impossible = d.number(scores.least)
    little, unit, zero = map(
        d.number, (-700 / scores.unit, scores.unit, 0.0)
    )  # exp of less is an underflow in PostgreSQL
    shares = [
        f"CASE WHEN top IS NULL THEN NULL WHEN {l} - top < {little} THEN {zero} ELSE exp(({l} - top) * {unit}) END AS e{i}"
        for i, l in enumerate(ls)
    ]
    return [
        [*ks, *ls, f"CASE WHEN odd = 1 OR {top} < {impossible} THEN NULL ELSE {top} END AS top"],
        [*ks, *ls, "top", *shares],
        [
            *ks,
            *ls,
            "top",
            *(f"e{i}" for i in range(len(ls))),
            f"{' + '.join(f'e{i}' for i in range(len(ls)))} AS total",
        ],
        [*ks, *ls, "top", *(f"e{i} / total AS {p}" for i, p in enumerate(ps))],
    ]


def _decision(ps: list[str], priced: Loss, d: Dialect) -> list[list[str]]:
    """R(a|x) of each action, and the least of them."""
    tiny = d.number(1e-150)  # of P(y|x), whose product with a little λ PostgreSQL would call an underflow
    rs = [f"r{k}" for k in range(len(priced.matrix))]
    sums = [
        " + ".join(f"{d.number(v)} * {p if abs(v) > 1e-15 else f'GREATEST({p}, {tiny})'}" for v, p in zip(row, ps) if v)
        for row in priced.matrix
    ]
    least = f"LEAST({', '.join(rs)})" if len(rs) > 1 else rs[0]
    return [
        ["*", *(f"{total or d.number(0.0)} AS {r}" for r, total in zip(rs, sums))],
        ["*", f"CASE WHEN top IS NULL THEN NULL ELSE {least} END AS least"],
    ]


def _first(terms: list[str], best: str, labels: list[str]) -> str:
    """The label of the first term that is the best."""
    some = "".join(f" WHEN {t} = {best} THEN {label}" for t, label in zip(terms, labels))
    return f"CASE WHEN top IS NULL THEN NULL{some} END"


def _labels(labels: list[Any], d: Dialect) -> list[str]:
    """Labels of one type; as texts where their types differ."""
    kinds = {type(v) for v in labels}
    same = len(kinds) == 1 or kinds <= {int, float}
    return [d.literal(v if same else str(v), "the classes") for v in labels]


def _named(kept: list[str], posteriors: list[str], risk: bool) -> list[str]:
    """The names of the columns that come out, every one once."""
    out: list[str] = []
    for name in [*kept, *posteriors, "decision", *(["risk"] if risk else [])]:
        while name.casefold() in {n.casefold() for n in out}:
            name += "_"
        out.append(name)
    return out


def _chained(steps: list[list[str]], source: str, d: Dialect) -> str:
    """One query of steps, each of which reads the one before."""
    froms = [source, *(f"step{i}" for i in range(len(steps) - 1))]
    texts = [f"SELECT {', '.join(columns)} FROM {name}" for columns, name in zip(steps, froms)]
    how = (
        "AS MATERIALIZED" if d.name == "postgres" else "AS"
    )  # else it writes every step into the next, again and again
    parts = [f"step{i} {how} ({text})" for i, text in enumerate(texts[:-1])]
    return "WITH " + ",\n".join(parts) + "\n" + texts[-1]


def _refuse_too_wide(steps: list[list[str]], d: Dialect) -> None:
    """PostgreSQL has no rows of more columns."""
    width = most = 0
    for columns in steps:
        width = len(columns) + (width - 1 if columns[0] == "*" else 0)
        most = max(most, width)
    if d.name == "postgres" and most > WIDEST:
        raise NotStorable(
            f"a step of the query would have {most:,} columns, and rows of PostgreSQL have {WIDEST:,}: "
            "keep fewer columns (keep=[]), or use a model of fewer classes or columns"
        )


def _dialect(name: Any) -> Dialect:
    if not isinstance(name, str) or name not in DIALECTS:
        hint = did_you_mean(name, DIALECTS) or "."
        raise BadParameter(f"dialect must be one of {listed(DIALECTS)}{hint} Got {name!r} instead.")
    return DIALECTS[name]


def _refuse_alike(names: Sequence[str], d: Dialect) -> None:
    """Where case does not count, two columns must differ in more."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name) if d.folds else name
        if other != name:
            raise NotStorable(f"columns {other!r} and {name!r} are one in {d.name}, where case does not count")
