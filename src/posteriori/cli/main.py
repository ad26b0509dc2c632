"""posteriori: from a file to a decision. The commands; each imports what it needs when it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated

try:
    import typer

    from ..models import on_boards
    from . import options as o
    from .guard import INTERRUPTED, NO_OUTPUT, guarded, say, sentence
except KeyboardInterrupt:  # Ctrl-C before a command hears it
    raise SystemExit(130) from None
except RuntimeError as error:  # what a class becomes whose making it ended
    if not isinstance(error.__cause__, KeyboardInterrupt):
        raise
    raise SystemExit(130) from None

CODES = (
    "Exit codes: 0 done, 1 an error of the program, 2 wrong options, 3 a file that cannot be read, 4 a table that cannot "
    "be used, 5 a model that cannot be made or used, 6 an output that cannot be written, 130 Ctrl-C."
)
OURS, OTHERS = tuple(on_boards(ours=True)), tuple(on_boards(ours=False))
SCORES, DIALECTS = ("bic", "aic", "bdeu", "k2", "fnml", "mdl", "loglik"), ("duckdb", "postgres", "spark")


def words(*known: str) -> Callable[[str], list[str]]:
    """What a shell offers for a word that was begun."""
    return lambda incomplete: [word for word in known if word.startswith(incomplete)]


app = typer.Typer(
    name="posteriori",
    help="Bayes classifiers, the whole spectrum: from a file to a decision.",
    epilog=CODES,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(shown: bool) -> None:
    if shown:
        from .. import __version__

        print(__version__)
        raise typer.Exit()


@app.callback()
def start(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="The version.")] = False,
) -> None:
    """Bayes classifiers, the whole spectrum: from a file to a decision."""


@app.command(epilog=CODES)
@guarded
def train(
    data: o.Data,
    target: o.Target,
    output: Annotated[str | None, typer.Option("--output", "-o", help="The model file (DATA.posteriori).")] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help=f"This one, not the best: {', '.join(OURS)}.",
            autocompletion=words(*OURS),
        ),
    ] = None,
    kind: o.Kinds = None,
    missing: o.Missing = None,
    encoding: o.Encoding = None,
    bins: o.Bins = None,
    sql: o.Sql = None,
    loss: o.LossFile = None,
    reject: o.Reject = None,
    cv: o.Cv = None,
    time_limit: o.TimeLimit = None,
    seed: o.Seed = 0,
    report: Annotated[str | None, typer.Option("--report", help="Write a report too: one HTML file.")] = None,
    with_rows: Annotated[
        bool, typer.Option("--with-rows", help="Rows of the data may be shown in the report.")
    ] = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Compare every model, fit the best on all rows and save it.

    \b
    Example:
      posteriori train heart.csv --target disease
      posteriori train heart.csv -t disease --loss costs.csv --reject 0.2 -o heart.posteriori --report heart.html
    """
    from .train import run_train

    run_train(
        data, target, output, name, kind, missing, bins, sql, loss, reject, cv, time_limit, seed, json, quiet,
        report=report, with_rows=with_rows, encoding=encoding,
    )  # fmt: skip


@app.command(name="compare", epilog=CODES)
@guarded
def compare(
    data: o.Data,
    target: o.Target,
    kind: o.Kinds = None,
    missing: o.Missing = None,
    encoding: o.Encoding = None,
    bins: o.Bins = None,
    sql: o.Sql = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="Only this one (may be repeated).", autocompletion=words(*OURS, *OTHERS)),
    ] = None,
    loss: o.LossFile = None,
    reject: o.Reject = None,
    cv: o.Cv = None,
    time_limit: o.TimeLimit = None,
    seed: o.Seed = 0,
    json: o.Json = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """The leaderboard: every model on the same folds.

    \b
    Example:
      posteriori compare heart.csv --target disease --cv 5
    """
    from .train import run_compare

    run_compare(
        data, target, kind, missing, bins, sql, model, json, quiet, encoding,
        loss=loss, reject=reject, cv=cv, time_limit=time_limit, seed=seed,
    )  # fmt: skip


@app.command(epilog=CODES)
@guarded
def predict(
    model: o.ModelFile,
    data: o.Data,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help=".csv, .tsv, .jsonl or .parquet; else stdout.")
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="csv, tsv, jsonl or parquet; else by the ending.",
            autocompletion=words("csv", "tsv", "jsonl", "parquet"),
        ),
    ] = None,
    loss: o.LossFile = None,
    reject: o.Reject = None,
    keep: Annotated[bool, typer.Option("--keep", help="Copy the columns of the input too.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="No apostrophe before text that a spreadsheet would run.")] = False,
    encoding: o.Encoding = None,
    sql: o.Sql = None,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Posterior, decision and expected loss of every row, streamed.

    \b
    Example:
      posteriori predict heart.posteriori new.csv -o answers.csv
      zcat big.csv.gz | posteriori predict heart.posteriori - --format jsonl
    """
    from .predict import run_predict

    run_predict(model, data, output, format, loss, reject, keep, raw, quiet, encoding, sql)


@app.command(epilog=CODES)
@guarded
def explain(
    model: o.ModelFile,
    data: o.Data,
    row: Annotated[int, typer.Option("--row", min=1, help="The row, from 1, without the line of names.")] = 1,
    of: Annotated[str | None, typer.Option("--class", help="Weigh this class, not the most probable.")] = None,
    against: Annotated[str | None, typer.Option("--against", help="Against this one, not the next.")] = None,
    encoding: o.Encoding = None,
    sql: o.Sql = None,
    json: o.Json = False,
    debug: o.Debug = False,
) -> None:
    """Why a row is decided so, and what would change it.

    \b
    Example:
      posteriori explain heart.posteriori new.csv --row 7
    """
    from .predict import run_explain

    run_explain(model, data, row, of, against, json, encoding, sql)


@app.command(epilog=CODES)
@guarded
def inspect(model: o.ModelFile, json: o.Json = False, debug: o.Debug = False) -> None:
    """What is in a model file.

    \b
    Example:
      posteriori inspect heart.posteriori
    """
    from .counts import run_inspect

    run_inspect(model, json)


@app.command(epilog=CODES)
@guarded
def learn(
    model: o.ModelFile,
    data: o.Data,
    output: o.NewModel = None,
    target: o.OwnTarget = None,
    encoding: o.Encoding = None,
    sql: o.Sql = None,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Add the rows of a file to what a model has counted.

    \b
    Example:
      posteriori learn heart.posteriori this_month.csv
    """
    from .counts import run_update

    run_update(model, data, target, output, False, quiet, encoding, sql)


@app.command(epilog=CODES)
@guarded
def forget(
    model: o.ModelFile,
    data: o.Data,
    output: o.NewModel = None,
    target: o.OwnTarget = None,
    encoding: o.Encoding = None,
    sql: o.Sql = None,
    keep: o.Keep = None,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Take rows out of a model again, exactly; refused where what they decided would stay, unless --keep tells so.

    \b
    Example:
      posteriori forget heart.posteriori withdrawn.csv
    """
    from .counts import run_update

    run_update(model, data, target, output, True, quiet, encoding, sql, keep)


@app.command(epilog=CODES)
@guarded
def merge(
    model: Annotated[list[str], typer.Argument(help="Model files of one kind.", metavar="MODEL...")],
    output: Annotated[str, typer.Option("--output", "-o", help="The model file of them all.")],
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Add models up, as if one had learned it all.

    \b
    Example:
      posteriori merge north.posteriori south.posteriori -o both.posteriori
    """
    from .counts import run_merge

    run_merge(model, output, quiet)


@app.command(epilog=CODES)
@guarded
def query(
    network: Annotated[str, typer.Argument(help="A network: BIF, XMLBIF, NET, UAI (.gz too), or a model file.")],
    evidence: Annotated[
        list[str] | None,
        typer.Option("--evidence", "-e", help="What is known (may be repeated).", metavar="NODE=STATE"),
    ] = None,
    target: Annotated[str | None, typer.Option("--target", "-t", help="Only this node.", metavar="NODE")] = None,
    next: Annotated[bool, typer.Option("--next", help="The question that tells most of the target.")] = False,
    json: o.Json = False,
    debug: o.Debug = False,
) -> None:
    """Ask a network what is likely, given what is known.

    \b
    Example:
      posteriori query asia.bif --evidence xray=yes --target lung --next
    """
    from .network import run_query

    run_query(network, evidence, target, next, json)


@app.command(epilog=CODES)
@guarded
def structure(
    data: o.Data,
    score: Annotated[
        str,
        typer.Option(
            "--score",
            help=f"{', '.join(SCORES)}.",
            autocompletion=words(*SCORES),
        ),
    ] = "bic",
    svg: Annotated[str | None, typer.Option("--svg", help="Draw it to this file.")] = None,
    dot: Annotated[str | None, typer.Option("--dot", help="Write it for Graphviz.")] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="The network: .bif, .net, .posteriori, ….")
    ] = None,
    seed: o.Seed = 0,
    time_limit: o.TimeLimit = None,
    kind: o.Kinds = None,
    missing: o.Missing = None,
    sql: o.Sql = None,
    encoding: o.Encoding = None,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Learn from a table who depends on whom, and draw it.

    \b
    Example:
      posteriori structure survey.csv --svg survey.svg -o survey.bif
    """
    from .network import run_structure

    run_structure(data, score, svg, dot, output, seed, time_limit, quiet, kind, missing, sql, encoding)


@app.command(epilog=CODES)
@guarded
def sql(
    model: o.ModelFile,
    table: Annotated[str, typer.Option("--table", help="The table to be scored, schema.table too.")] = "data",
    dialect: Annotated[
        str,
        typer.Option("--dialect", help=f"{', '.join(DIALECTS)}.", autocompletion=words(*DIALECTS)),
    ] = "duckdb",
    date: Annotated[
        list[str] | None, typer.Option("--date", help="A column that holds dates; those with parts are known.")
    ] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write the query here, not to stdout.")] = None,
    debug: o.Debug = False,
) -> None:
    """The query that scores a table inside a database; a column of a type that cannot say what is read ends it by name.

    \b
    Example:
      posteriori sql heart.posteriori --table patients --dialect postgres > score.sql
    """
    from .counts import run_sql

    run_sql(model, table, dialect, date, output)


@app.command(epilog=CODES)
@guarded
def demo(
    into: Annotated[str | None, typer.Option("--into", help="Folder for its files; by default a new one.")] = None,
    debug: o.Debug = False,
) -> None:
    """The whole way on a table of 569 tumours: train with costs, a report, a decision with its reasons.

    \b
    Example:
      posteriori demo
    """
    from .train import run_demo

    run_demo(into)


def main() -> None:
    """The entry point: any text can be printed, and an output that cannot be written is exit 6."""
    code: object = 0
    try:
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # closed
                setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
            getattr(sys, name).reconfigure(errors="backslashreplace")
        if sys.stdin is None:
            sys.stdin = open(os.devnull)  # noqa: SIM115
        app()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except SystemExit as ended:
        code = ended.code
    except OSError as error:
        code = NO_OUTPUT
        say(f"error: {sentence(error)}")
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            code = code or NO_OUTPUT
    sys.exit(code)  # type: ignore[arg-type]
