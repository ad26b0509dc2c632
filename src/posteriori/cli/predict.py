"""`posteriori predict`: decisions for the rows of a file, in batches; `posteriori explain`: the reasons of one of them."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import pathlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..decision.decide import best_action, risk
from ..decision.loss import Loss
from ..drafts import whole_file
from ..errors import BadParameter, BadValue, UnknownValue, WriteError, counted, did_you_mean, listed
from ..table.batches import Batch
from ..table.encode import factorize
from ..table.frame import open_frame
from ..table.schema import Schema
from .guard import interrupt, say
from .models import inner, loss_of, open_model, schema_of
from .render import console
from .tables import open_rows

if TYPE_CHECKING:
    from .main import Explain, Predict

FORMATS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
FORMULA = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe0f\ufeff]*"
    r"[=+\-@＝＋－＠﹦﹢﹣﹫].|[\t\r\n].",
    re.S,
)  # how a cell begins that a spreadsheet would run
MOST_NAMED = 5  # columns with unseen values


def run_predict(options: Predict) -> None:
    """Decide every row of a file."""
    output, model = options.output, open_model(options.model)
    price = loss_of(model, options.loss, options.reject)
    form = _form(output, options.format)
    schema, n, undecided, missing, unseen = schema_of(model), 0, 0, 0, 0
    where: Counter[str] = Counter()
    source = open_rows(options, schema)
    with source as rows, _opened(output) as stream, _writer(stream, form, options.raw) as write:
        for batch in rows:
            interrupt.check()
            answers = _answers(model, batch, price)
            if options.keep:
                answers = {**_kept(batch.raw, answers), **answers}
            if output is None:  # what went to stdout is out; a file is there whole or not at all
                interrupt.left = f"{_written(n)}, and the next {len(batch):,} in part"
            write(answers)
            if output is None:  # of a pipe more rows may come late
                stream.flush()
            n += len(batch)
            interrupt.left = _written(n) if output is None else interrupt.left
            undecided += int(np.sum(answers["rejected"]))
            lacked = odd_cells(inner(model), schema, batch)
            missing, unseen = missing + lacked[0], unseen + lacked[1]
            where.update(unseen_in(schema, batch) if lacked[1] else {})
        if n == 0:
            write(_empty(model))
    if not options.quiet:
        said = f"{counted(n, 'row')}, {undecided:,} rejected; {counted(missing, 'cell')} missing"
        said += f", {unseen:,} with values unseen in training"
        if where:
            told = ", ".join(f"{name!r} {count:,}" for name, count in where.most_common(MOST_NAMED))
            said += f": {told}" + (f", … ({len(where):,} columns in all)" if len(where) > MOST_NAMED else "")
        say(said if output is None else f"{said} → {output}")


def _answers(model: Any, batch: Batch, loss: Loss) -> dict[str, Any]:
    """The columns of the output for a batch."""
    counting = inner(model)
    posterior = np.asarray(counting.predict_proba(batch.columns))
    at = best_action(posterior, loss)
    costs = risk(posterior, loss, classes=counting.classes_)
    rejected = at == len(loss.matrix) - 1 if loss.reject else np.zeros(len(batch), dtype=bool)
    found: dict[str, Any] = {"row": batch.rows}
    found["decision"] = loss.labels()[at]
    found["expected_loss"] = costs[np.arange(len(at)), at]
    found["rejected"] = rejected
    return found | {f"P({c})": posterior[:, k] for k, c in enumerate(counting.classes_.tolist())}


def _written(n: int) -> str:
    return f"{counted(n, 'row')} {'was' if n == 1 else 'were'} written"


def _kept(raw: Any, answers: dict[str, Any]) -> dict[str, Any]:
    """The columns of the input; one that is called as an answer is gets a line below its name."""
    found: dict[str, Any] = {}
    for name in raw.schema.names:
        own = name
        while own in answers or own in found or (own != name and own in raw.schema.names):
            own += "_"
        found[own] = raw.column(name)
    return found


def odd_cells(model: Any, schema: Schema, batch: Batch) -> tuple[int, int]:
    """(missing cells, cells with values unseen in training) of rows just predicted: the model's count, or the schema's."""
    if hasattr(model, "n_missing_"):
        return int(model.n_missing_), int(model.n_unseen_)
    missing = sum(int(_tally(batch, column.name)[1][-1]) for column in schema.columns)
    return missing, sum(unseen_in(schema, batch).values())


def unseen_in(schema: Schema, batch: Batch) -> dict[str, int]:
    """How many cells of each column have values unseen in training, of those that have any."""
    found = {}
    for column in schema.columns:
        if column.values and column.kind in (
            "categorical",
            "binary",
        ):  # cuts of numbers and words of texts are values too
            values, count = _tally(batch, column.name)
            found[column.name] = int(sum(n for v, n in zip(values, count) if v not in column.place))
    return {name: n for name, n in found.items() if n}


def _tally(batch: Batch, name: str) -> tuple[Any, Any]:
    """(the values of a column, how often each stands there and, last, how often none)."""
    values, codes = factorize(open_frame({name: batch.columns[name]}).column(0), name)
    return values, np.bincount(codes, minlength=len(values) + 1)


def _empty(model: Any) -> dict[str, Any]:
    names = ["row", "decision", "expected_loss", "rejected", *(f"P({c})" for c in inner(model).classes_.tolist())]
    return {name: np.zeros(0) for name in names}


def _form(output: str | None, form: str | None) -> str:
    known = sorted(set(FORMATS.values()))
    if form is not None and form not in known:
        raise BadParameter(f"--format is one of {listed(known)}. Got {form!r} instead.")
    found = form or FORMATS.get(pathlib.Path(output or "x.csv").suffix.lower())
    if found is None:
        raise BadParameter(f"{output}: cannot tell the format by the ending; --format is one of {listed(known)}")
    if found == "parquet" and output is None:
        raise BadParameter("Parquet cannot be written to stdout: give -o answers.parquet")
    return found


@contextlib.contextmanager
def _opened(output: str | None) -> Iterator[Any]:
    """A stream of bytes: stdout, or a file that is there whole or not at all."""
    if output is None:
        if sys.__stdout__ is None:
            raise WriteError("stdout is closed: give -o answers.csv")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with whole_file(output) as stream:
            yield stream


@contextlib.contextmanager
def _writer(stream: Any, form: str, raw: bool) -> Iterator[Callable[[dict[str, Any]], None]]:
    if form == "parquet":
        with _parquet(stream) as write:
            yield write
    elif form == "jsonl":
        yield lambda columns: stream.write(_json_lines(columns).encode())
    else:
        begun: list[bool] = []

        def write(columns: dict[str, Any]) -> None:
            stream.write(_csv_lines(columns, "\t" if form == "tsv" else ",", not begun, raw).encode())
            begun.append(True)

        yield write


def _cells(column: Any) -> list[Any]:
    found: list[Any] = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    return found


def _csv_lines(columns: dict[str, Any], mark: str, head: bool, raw: bool) -> str:
    out = io.StringIO()
    write = csv.writer(out, delimiter=mark, lineterminator="\n")
    if head:
        write.writerow([name if raw else harmless(name) for name in columns])
    shown = [_cells(column) for column in columns.values()]
    if not raw:
        shown = [[harmless(v) if isinstance(v, str) else v for v in cells] for cells in shown]
    write.writerows(zip(*shown))
    return out.getvalue()


def harmless(text: str) -> str:
    """Text that no spreadsheet runs: what begins as a formula does, and is no number, gets an apostrophe before it.

    >>> harmless("=cmd()"), harmless(" ＝1+1"), harmless("-1.5"), harmless("-"), harmless("no")
    ("'=cmd()", "' ＝1+1", '-1.5', '-', 'no')
    """
    if FORMULA.match(text) is None:
        return text
    try:
        float(text)
    except ValueError:
        return "'" + text
    return text


def _json_lines(columns: dict[str, Any]) -> str:
    names, shown = list(columns), [_cells(column) for column in columns.values()]
    lines = (json.dumps(dict(zip(names, row)), ensure_ascii=False, default=str) for row in zip(*shown))
    return "".join(f"{line}\n" for line in lines)


@contextlib.contextmanager
def _parquet(stream: Any) -> Iterator[Callable[[dict[str, Any]], None]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    held: list[Any] = []

    def write(columns: dict[str, Any]) -> None:
        made = {name: c if isinstance(c, pa.Array) else pa.array(_cells(c)) for name, c in columns.items()}
        table = pa.table({n: c.cast(pa.string()) if pa.types.is_null(c.type) else c for n, c in made.items()})
        if not held:
            held.append(pq.ParquetWriter(stream, table.schema))
        held[0].write_table(table.cast(held[0].schema))

    try:
        yield write
    finally:
        for writer in held:
            writer.close()


def run_explain(options: Explain) -> None:
    """Log-odds of every attribute of one row, and the least changes that would change its decision."""
    from ..explain.why import explain

    model = open_model(options.model)
    case = the_row(model, options)
    classes = {str(c): c for c in inner(model).classes_.tolist()}
    why = explain(model, case, _class(options.of, classes), _class(options.against, classes))
    if options.json:
        print(json.dumps(_told(why), ensure_ascii=False, default=str))
    else:
        out = console()
        wide = max(8, min(40, out.width - 50))
        out.print(why.text(width=wide, names=max(12, out.width - wide - 14)), markup=False, highlight=False)


def the_row(model: Any, options: Explain) -> dict[str, Any]:
    """The row of a file that is asked for, numbered from 1."""
    n, row = 0, options.row
    with open_rows(options, schema_of(model)) as rows:
        for batch in rows:
            n = int(batch.rows[-1])
            if row <= n:
                at = row - int(batch.rows[0])
                return {name: _one(cells[at]) for name, cells in batch.columns.items()}
    raise BadValue(f"{options.data} has {counted(n, 'row')}; there is no row {row:,}")


def _one(cell: Any) -> Any:
    value = cell.as_py() if hasattr(cell, "as_py") else cell.item() if hasattr(cell, "item") else cell
    return None if value != value else value


def _class(name: str | None, classes: dict[str, Any]) -> Any:
    if name is not None and name not in classes:
        raise UnknownValue(f"no class {name!r}{did_you_mean(name, classes) or '.'} Classes: {listed(classes)}")
    return None if name is None else classes[name]


def _part(part: Any) -> dict[str, Any]:
    words = {"words": dict(part.words)} if part.words else {}
    return {"column": part.column, "value": part.value, "log_odds": part.log_odds, **words}


def _told(why: Any) -> dict[str, Any]:
    return {
        "decision": why.decision,
        "class": why.target,
        "against": why.against,
        "log_odds": why.log_odds,
        "prior": why.prior,
        "parts": [_part(p) for p in why.parts],
        "together": why.together,
        "posterior": {str(c): p for c, p in why.posterior.items()},
        "risk": {str(a): r for a, r in why.risk.items()},
        "changes": [
            {"values": {n: list(v) for n, v in c.values.items()}, "decision": c.decision, "probability": c.probability}
            for c in why.changes
        ],
    }
