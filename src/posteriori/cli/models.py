"""Model files: opened for every command; `learn`, `forget`, `merge`, `sql`, `inspect`, what can be done with one."""

from __future__ import annotations

import copy
import json
import pathlib
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..decision.classifier import RiskClassifier
from ..decision.loss import Loss, as_loss
from ..decision.on_points import called
from ..drafts import changing, refuse_unwritable, whole_file
from ..errors import ModelError, ModelFileError, StatisticsError, TableError, counted, did_you_mean, listed
from ..explanation import shown
from ..store.file import describe, load, save
from ..store.sql.query import sql
from ..structure.dag import Dag
from ..table.cells import own_type
from ..table.dates import date_text, dates_in, weekday_text, weekdays_in
from ..table.read import left_out
from ..table.schema import MEASURED, Column, Schema
from .guard import cut, interrupt, say
from .render import console, line, pairs
from .tables import alike, open_rows

if TYPE_CHECKING:
    from .main import Forget, Inspect, Learn, Merge, Sql

MOST_SHOWN = 40  # columns
MOST_NEW = 5  # values of a column


def open_model(path: str) -> Any:
    """A fitted classifier from a model file; a network or something else is named."""
    if pathlib.Path(path).suffix.lower() in (".bif", ".xmlbif", ".net", ".uai", ".csv", ".parquet"):
        raise ModelFileError(
            f"{path} is no model file; `posteriori train` makes one, `posteriori query` asks a network"
        )
    model = load(path)
    if hasattr(model, "marginals"):
        way = "use it from Python" if hasattr(model, "continuous") else "`posteriori query` asks it"
        raise ModelError(f"{path} holds a {type(model).__name__}, a network, which is no classifier: {way}")
    if not hasattr(inner(model), "predict_proba"):
        raise ModelError(f"{path} holds a {type(model).__name__}, which is no classifier")
    if not is_fitted(model):
        raise ModelError(f"{path} holds a {type(model).__name__} that was saved before `fit`: it has learned nothing")
    return model


def is_fitted(model: Any) -> bool:
    """Whether a classifier has learned its classes."""
    return hasattr(inner(model), "classes_")


def inner(model: Any) -> Any:
    """The model that counts, inside a `RiskClassifier` or itself."""
    return getattr(model, "estimator_", model.estimator) if isinstance(model, RiskClassifier) else model


def schema_of(model: Any) -> Schema:
    """The columns and classes of a model, and how the file that it learned from was read."""
    kinds = getattr(inner(model), "kinds", None)
    found: Schema | None = getattr(inner(model), "schema_", kinds if isinstance(kinds, Schema) else None)
    if found is not None and isinstance(kinds, Schema):
        found = replace(found, reading=kinds.reading)
    if found is None:
        raise ModelError(f"a {type(inner(model)).__name__} keeps no schema: use it from Python")
    return found


def target_of(model: Any, told: str | None = None) -> str:
    """The name of the column that the model foretells."""
    kinds = getattr(inner(model), "kinds", None)
    found = told or (kinds.target if isinstance(kinds, Schema) else None)
    if found is None:
        raise ModelError("the model file does not say which column it foretells: give --target")
    return str(found)


def loss_of(model: Any, loss: str | None, reject: float | None) -> Loss:
    """The loss to decide by: told now, else the model's own, else zero-one; with the price of rejecting."""
    classes = inner(model).classes_
    own = model.loss_ if isinstance(model, RiskClassifier) else None
    found = own if loss is None and own is not None else as_loss(loss, classes).over(classes)
    return found if reject is None else found.without_reject().with_reject(reject)


def run_learn(options: Learn) -> None:
    """Learn the rows of a file too."""
    _change(options, lambda model, X, y: model.partial_fit(X, y), "learned")


def run_forget(options: Forget) -> None:
    """Take the rows of a file out again."""
    _change(options, lambda model, X, y: model.forget(X, y, keep=options.keep or ()), "forgotten")


def _change(options: Learn | Forget, step: Callable[[Any, Any, Any], Any], did: str) -> None:
    """A step with all rows of a file; the model file changes at the end or not at all."""
    model_file, output = options.model, options.output
    refuse_unwritable(output or model_file)
    with changing(model_file, lambda: say(f"{model_file}: another process is changing it; waiting")) as check:
        model = open_model(model_file)
        counting, n, gone = inner(model), 0, np.zeros(0, dtype=int)
        if not hasattr(counting, "forget"):
            raise ModelError(
                f"a {called(counting)} keeps no counts: it can neither learn more nor forget; train it again"
            )
        named, before = target_of(model, options.target), schema_of(model)
        with open_rows(options, before, named) as rows:
            for batch in rows:
                interrupt.check()
                if len(batch):
                    _told_as_options(partial(step, counting), batch.columns, own_type(batch.labels))
                n, gone = n + len(batch), np.append(gone, batch.gone)
        interrupt.check()
        if output is None:
            check()
        save(model, output or model_file)
    if not options.quiet:
        if len(gone):
            line(console(), left_out(len(gone), named, int(gone[0])), "yellow")
        for said in whats_new(before, schema_of(model)):
            line(console(), said, "yellow")
        line(console(), f"{counted(n, 'row')} {did}, {_rows(counting):,.10g} in all → {output or model_file}")


def _told_as_options(step: Any, X: Any, y: Any) -> None:
    """A step whose refusal says `--keep cuts`, not `keep='cuts'`."""
    try:
        step(X, y)
    except StatisticsError as error:
        options = partial(re.sub, r"\W*(\w+)\W*", r"--keep \1 ")
        said = re.sub(r"keep=(\[.*?\]|'\w+')", lambda told: options(told[1]).strip(), str(error))
        raise type(error)(said) from error


def whats_new(before: Schema, after: Schema) -> list[str]:
    """A line for each class, and for each column with values, that only the later schema has: perhaps a misspelling.

    >>> old = Schema((Column("town", "categorical", ("Bonn", "Ulm")),), ("no", "yes"))
    >>> new = Schema((Column("town", "categorical", ("Bohn", "Bonn", "Ulm")),), ("Yes", "no", "yes"))
    >>> whats_new(old, new)
    ["new class: 'Yes' (did you mean 'yes'?)", "new in 'town': 'Bohn' (did you mean 'Bonn'?)"]
    """
    said = [f"new class: {value}" for value in _strange(after.classes, before.classes)]
    for old, new in zip(before.columns, after.columns):
        listing = new.kind in ("categorical", "binary")  # a text has new words in every row
        found = _strange(new.values, old.values) if listing else []
        if found:
            more = f", … ({len(found):,} in all)" if len(found) > MOST_NEW else ""
            said.append(f"new in {new.name!r}: {', '.join(found[:MOST_NEW])}{more}")
    return said


def _strange(values: Sequence[Any], known: Sequence[Any]) -> list[str]:
    """The values that are not known, the first few with the nearest that is."""
    place = set(known)
    found = [v for v in values if v not in place]
    hints = [did_you_mean(v, known, 0.7) if isinstance(v, str) else "" for v in found[:MOST_NEW]]
    told = [f"{v!r:.60}" + (f" ({hint.removeprefix('; ')})" if hint else "") for v, hint in zip(found, hints)]
    return told + [f"{v!r:.60}" for v in found[MOST_NEW:]]


def _rows(model: Any) -> float:
    return float(np.sum(model.class_count_))


def run_merge(options: Merge) -> None:
    """The sum of several models: what one would have learned from all their rows."""
    files, output = options.model, options.output
    models = [open_model(file) for file in files]
    total = inner(models[0])
    for file, model in zip(files[1:], models[1:]):
        if type(inner(model)) is not type(total) or not hasattr(total, "forget"):
            raise ModelError(
                f"{files[0]} holds a {type(total).__name__}, {file} a {type(inner(model)).__name__}: only models of one "
                "kind, that count, can be merged"
            )
        try:
            total = total + inner(model)
        except (TableError, StatisticsError) as error:
            way = f"or give the rows of {file} to `posteriori learn {shlex.quote(files[0])}`"
            raise type(error)(f"{error}; {way}") from error
    merged: Any = total
    losses = [model.loss_ if isinstance(model, RiskClassifier) else None for model in models]
    for file, loss in zip(files[1:], losses[1:]):
        if (loss is None) != (losses[0] is None) or loss != losses[0]:
            raise ModelError(f"{files[0]} and {file} decide by different costs: train both with the same, or with none")
    if isinstance(models[0], RiskClassifier):
        merged = copy.copy(models[0])
        merged.estimator_ = total
    save(merged, output)
    if not options.quiet:
        line(console(), f"{counted(len(files), 'model')}, {counted(_rows(total), 'row')} in all → {output}")


def run_sql(options: Sql) -> None:
    """The model as a query."""
    table = options.table.split(".") if "." in options.table else options.table
    query = sql(open_model(options.model), table, options.dialect, dates=options.date or None)
    if options.output is None:
        print(query)
    else:
        with whole_file(options.output) as stream:
            stream.write(f"{query}\n".encode())


def run_inspect(options: Inspect) -> None:
    """What a file says of itself, and what the model has learned."""
    model_file, head = options.model, describe(options.model)
    if options.json:
        print(json.dumps(head, ensure_ascii=False, default=str))
        return
    model, out = load(model_file), console()
    counting = inner(model) if hasattr(model, "predict_proba") else model
    line(out, f"{model_file}: {called(counting)}", "bold")
    line(out, f"format {head.get('format')}, written by posteriori {head.get('library')}")
    if hasattr(counting, "marginals") or isinstance(counting, Dag):
        _say_network(out, counting)
    elif hasattr(counting, "predict_proba") and not is_fitted(model):
        line(out, "saved before `fit`: it has learned nothing", "yellow")
    elif hasattr(counting, "predict_proba"):
        _say_schema(out, counting)
    if isinstance(model, RiskClassifier) and is_fitted(model):
        line(out, "decides by")
        out.print(str(model.loss_), markup=False)


def _learned(model: Any, j: int, column: Column, dates: Any) -> str:
    """What a model knows of a column: its values, where its numbers are cut, or their range and density."""
    number = date_text if column.name in dates else "{:g}".format
    statistics = getattr(model, "statistics_", getattr(model, "grown_", None))
    cuts = getattr(statistics, "cuts", ()) or [None] * (j + 1)
    if cuts[j] is not None:
        told = ", ".join(map(number, cuts[j][:8].tolist())) + ("…" if len(cuts[j]) > 8 else "")
        return f"cut at {told}" if told else "not cut: all one bin"
    if column.kind in MEASURED:
        moments = getattr(statistics, "moments", None)
        where = [] if moments is None else statistics.where("moments")  # type: ignore[union-attr]
        if moments is None or moments.span is None or j not in where:
            return ""
        k = where.index(j)
        low, high = moments.span.low[:, k].min(), moments.span.high[:, k].max()
        how = getattr(model, "density_", {}).get(column.name, "")
        return f"{number(float(low))} to {number(float(high))}" + (f", {how}" if how else "")
    if column.name in weekdays_in(dates):
        return ", ".join(str(weekday_text(v)) for v in column.values)
    return _some([shown(v) for v in column.values])


def _some(texts: Sequence[str]) -> str:
    """The first eight, as far as a line has room for them.

    >>> _some("abcdefghi")
    'a, b, c, d, e, f, g, h…'
    """
    return cut(", ".join(texts[:8]) + ("…" if len(texts) > 8 else ""), 60)


def _say_network(out: Any, net: Any) -> None:
    """The nodes of a network or a graph, their states, and where their arrows come from."""
    dag, numbers, of_states = getattr(net, "dag", net), getattr(net, "continuous", ()), getattr(net, "discrete", net)
    line(out, f"{counted(len(dag.nodes), 'node')}, {counted(len(dag.edges), 'arrow')}")
    line(out)
    rows = []
    for node in dag.nodes[:MOST_SHOWN]:
        states = ("a number",) if node in numbers else of_states.states(node) if net is not dag else ()
        rows.append((node, ", ".join(dag.parents(node)), _some([str(s) for s in states])))
    pairs(out, rows, ("node", "arrows from", "states"))
    if len(dag.nodes) > MOST_SHOWN:
        line(out, f"… and {len(dag.nodes) - MOST_SHOWN:,} more nodes", "dim")


def _say_schema(out: Any, model: Any) -> None:
    try:
        schema = schema_of(model)
    except ModelError as error:  # a drop-in of points knows columns by their place
        line(out, f"{listed(model.classes_.tolist())} are its classes; {error}", "yellow")
        return
    target = getattr(getattr(model, "kinds", None), "target", None)
    rows = f"{counted(_rows(model), 'row')}, " if hasattr(model, "class_count_") else ""
    line(out, f"{rows}{counted(len(schema), 'column')}" + (f", target {target}" if target else ""))
    line(out)
    if hasattr(model, "class_count_"):
        total = float(np.sum(model.class_count_))
        counts = zip(schema.classes, model.class_count_)
        shares = [(str(c), f"{float(n):,.10g}", f"{float(n) / total:.1%}") for c, n in counts]
        pairs(out, shares[:MOST_SHOWN], ("class", "rows", "share"), right=(1, 2))
        line(out)
    dates = dates_in(schema)
    columns = [
        (c.name, "date" if c.name in dates else c.kind, _learned(model, j, c, dates))
        for j, c in enumerate(schema.columns)
    ]
    pairs(out, columns[:MOST_SHOWN], ("column", "kind", "values"))
    if len(columns) > MOST_SHOWN:
        line(out, f"… and {len(columns) - MOST_SHOWN:,} more columns", "dim")
    for note in alike(schema, target):
        line(out, note, "yellow")
