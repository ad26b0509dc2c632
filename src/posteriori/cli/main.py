"""posteriori: from a file to a decision. The commands and their options; what a command runs is imported when it runs."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_type_hints

try:
    import typer

    from ..models import on_boards
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


# -- options that several commands share -----------------------------------------------------------------------------------

Data = Annotated[
    str, typer.Argument(help="CSV, Parquet, JSON lines, ARFF, DuckDB or SQLite file; - is stdin.", metavar="DATA")
]
Target = Annotated[str, typer.Option("--target", "-t", help="The column to be foretold.", metavar="COLUMN")]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help="A column's kind: categorical, binary, count, numeric or text.", metavar="COLUMN=KIND"),
]
Missing = Annotated[
    list[str] | None, typer.Option("--missing", help="A word that stands for a missing cell (may be repeated).")
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="Of a text file that is not UTF-8, if it cannot be told by its bytes.")
]
Bins = Annotated[int | None, typer.Option("--bins", min=2, help="Cut a numeric target into so many classes.")]
LossFile = Annotated[str | None, typer.Option("--loss", help="CSV of costs: a row a decision, a column a true class.")]


def _price(value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise typer.BadParameter(f"the price of leaving a row undecided is above 0. Got {value:g} instead.")
    return value


Reject = Annotated[
    float | None, typer.Option("--reject", callback=_price, help="The price of leaving a row undecided, above 0.")
]
Cv = Annotated[int | None, typer.Option("--cv", min=2, help="Folds (10; 5 above 5,000 rows).")]
TimeLimit = Annotated[
    float | None, typer.Option("--time-limit", min=0, help="Seconds for the leaderboard, or the search.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of the folds and of models that draw.")]
SqlOption = Annotated[str | None, typer.Option("--sql", help="A query over the file, named this.", metavar="QUERY")]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show a traceback where something goes wrong.")]
ModelFile = Annotated[str, typer.Argument(help="A model file that `posteriori train` wrote.", metavar="MODEL")]
NewModel = Annotated[str | None, typer.Option("--output", "-o", help="Write here, not over the model file.")]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep", help="Lets stay what cannot be taken back: cuts, structure, questions, … (may be repeated)."
    ),
]
OwnTarget = Annotated[str | None, typer.Option("--target", "-t", help="The column of classes, if not the model's own.")]


# -- the commands ---------------------------------------------------------------------------------------------------------

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


Options = TypeVar("Options", bound=type)


def command(work: str) -> Callable[[Options], Options]:
    """A dataclass of options as a command of its name, whose help is the docstring; `module.function` does the work."""

    def registered(options: Options) -> Options:
        def run(**given: Any) -> None:
            module, function = work.split(".")
            getattr(importlib.import_module(f".{module}", __package__), function)(options(**given))

        kinds, signature = get_type_hints(options, include_extras=True), inspect.signature(options)
        told = [p.replace(annotation=kinds[p.name]) for p in signature.parameters.values()]
        run.__doc__, run.__signature__ = options.__doc__, signature.replace(parameters=told)  # type: ignore[attr-defined]
        app.command(name=options.__name__.lower(), epilog=CODES)(guarded(run))
        return options

    return registered


@command("train.run_train")
@dataclass(frozen=True)
class Train:
    """Compare every model, fit the best on all rows and save it.

    \b
    Example:
      posteriori train heart.csv --target disease
      posteriori train heart.csv -t disease --loss costs.csv --reject 0.2 -o heart.posteriori --report heart.html
    """

    data: Data
    target: Target
    output: Annotated[str | None, typer.Option("--output", "-o", help="The model file (DATA.posteriori).")] = None
    name: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help=f"This one, not the best: {', '.join(OURS)}.",
            autocompletion=words(*OURS),
        ),
    ] = None
    kind: Kinds = None
    missing: Missing = None
    encoding: Encoding = None
    bins: Bins = None
    sql: SqlOption = None
    loss: LossFile = None
    reject: Reject = None
    cv: Cv = None
    time_limit: TimeLimit = None
    seed: Seed = 0
    report: Annotated[str | None, typer.Option("--report", help="Write a report too: one HTML file.")] = None
    with_rows: Annotated[bool, typer.Option("--with-rows", help="Rows of the data may be shown in the report.")] = False
    json: Json = False
    quiet: Quiet = False
    debug: Debug = False


@command("train.run_compare")
@dataclass(frozen=True)
class Compare:
    """The leaderboard: every model on the same folds.

    \b
    Example:
      posteriori compare heart.csv --target disease --cv 5
    """

    data: Data
    target: Target
    kind: Kinds = None
    missing: Missing = None
    encoding: Encoding = None
    bins: Bins = None
    sql: SqlOption = None
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="Only this one (may be repeated).", autocompletion=words(*OURS, *OTHERS)),
    ] = None
    loss: LossFile = None
    reject: Reject = None
    cv: Cv = None
    time_limit: TimeLimit = None
    seed: Seed = 0
    json: Json = False
    quiet: Quiet = False
    debug: Debug = False


@command("predict.run_predict")
@dataclass(frozen=True)
class Predict:
    """Posterior, decision and expected loss of every row, streamed.

    \b
    Example:
      posteriori predict heart.posteriori new.csv -o answers.csv
      zcat big.csv.gz | posteriori predict heart.posteriori - --format jsonl
    """

    model: ModelFile
    data: Data
    output: Annotated[
        str | None, typer.Option("--output", "-o", help=".csv, .tsv, .jsonl or .parquet; else stdout.")
    ] = None
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="csv, tsv, jsonl or parquet; else by the ending.",
            autocompletion=words("csv", "tsv", "jsonl", "parquet"),
        ),
    ] = None
    loss: LossFile = None
    reject: Reject = None
    keep: Annotated[bool, typer.Option("--keep", help="Copy the columns of the input too.")] = False
    raw: Annotated[bool, typer.Option("--raw", help="No apostrophe before text that a spreadsheet would run.")] = False
    encoding: Encoding = None
    sql: SqlOption = None
    quiet: Quiet = False
    debug: Debug = False


@command("predict.run_explain")
@dataclass(frozen=True)
class Explain:
    """Why a row is decided so, and what would change it.

    \b
    Example:
      posteriori explain heart.posteriori new.csv --row 7
    """

    model: ModelFile
    data: Data
    row: Annotated[int, typer.Option("--row", min=1, help="The row, from 1, without the line of names.")] = 1
    of: Annotated[str | None, typer.Option("--class", help="Weigh this class, not the most probable.")] = None
    against: Annotated[str | None, typer.Option("--against", help="Against this one, not the next.")] = None
    encoding: Encoding = None
    sql: SqlOption = None
    json: Json = False
    debug: Debug = False


@command("models.run_inspect")
@dataclass(frozen=True)
class Inspect:
    """What is in a model file.

    \b
    Example:
      posteriori inspect heart.posteriori
    """

    model: ModelFile
    json: Json = False
    debug: Debug = False


@command("models.run_learn")
@dataclass(frozen=True)
class Learn:
    """Add the rows of a file to what a model has counted.

    \b
    Example:
      posteriori learn heart.posteriori this_month.csv
    """

    model: ModelFile
    data: Data
    output: NewModel = None
    target: OwnTarget = None
    encoding: Encoding = None
    sql: SqlOption = None
    quiet: Quiet = False
    debug: Debug = False


@command("models.run_forget")
@dataclass(frozen=True)
class Forget:
    """Take rows out of a model again, exactly; refused where what they decided would stay, unless --keep tells so.

    \b
    Example:
      posteriori forget heart.posteriori withdrawn.csv
    """

    model: ModelFile
    data: Data
    output: NewModel = None
    target: OwnTarget = None
    encoding: Encoding = None
    sql: SqlOption = None
    keep: Keep = None
    quiet: Quiet = False
    debug: Debug = False


@command("models.run_merge")
@dataclass(frozen=True)
class Merge:
    """Add models up, as if one had learned it all.

    \b
    Example:
      posteriori merge north.posteriori south.posteriori -o both.posteriori
    """

    model: Annotated[list[str], typer.Argument(help="Model files of one kind.", metavar="MODEL...")]
    output: Annotated[str, typer.Option("--output", "-o", help="The model file of them all.")]
    quiet: Quiet = False
    debug: Debug = False


@command("network.run_query")
@dataclass(frozen=True)
class Query:
    """Ask a network what is likely, given what is known.

    \b
    Example:
      posteriori query asia.bif --evidence xray=yes --target lung --next
    """

    network: Annotated[str, typer.Argument(help="A network: BIF, XMLBIF, NET, UAI (.gz too), or a model file.")]
    evidence: Annotated[
        list[str] | None,
        typer.Option("--evidence", "-e", help="What is known (may be repeated).", metavar="NODE=STATE"),
    ] = None
    target: Annotated[str | None, typer.Option("--target", "-t", help="Only this node.", metavar="NODE")] = None
    next: Annotated[bool, typer.Option("--next", help="The question that tells most of the target.")] = False
    json: Json = False
    debug: Debug = False


@command("network.run_structure")
@dataclass(frozen=True)
class Structure:
    """Learn from a table who depends on whom, and draw it.

    \b
    Example:
      posteriori structure survey.csv --svg survey.svg -o survey.bif
    """

    data: Data
    score: Annotated[
        str,
        typer.Option(
            "--score",
            help=f"{', '.join(SCORES)}.",
            autocompletion=words(*SCORES),
        ),
    ] = "bic"
    svg: Annotated[str | None, typer.Option("--svg", help="Draw it to this file.")] = None
    dot: Annotated[str | None, typer.Option("--dot", help="Write it for Graphviz.")] = None
    output: Annotated[str | None, typer.Option("--output", "-o", help="The network: .bif, .net, .posteriori, ….")] = (
        None
    )
    seed: Seed = 0
    time_limit: TimeLimit = None
    kind: Kinds = None
    missing: Missing = None
    sql: SqlOption = None
    encoding: Encoding = None
    quiet: Quiet = False
    debug: Debug = False


@command("models.run_sql")
@dataclass(frozen=True)
class Sql:
    """The query that scores a table inside a database; a column of a type that cannot say what is read ends it by name.

    \b
    Example:
      posteriori sql heart.posteriori --table patients --dialect postgres > score.sql
    """

    model: ModelFile
    table: Annotated[str, typer.Option("--table", help="The table to be scored, schema.table too.")] = "data"
    dialect: Annotated[
        str,
        typer.Option("--dialect", help=f"{', '.join(DIALECTS)}.", autocompletion=words(*DIALECTS)),
    ] = "duckdb"
    date: Annotated[
        list[str] | None, typer.Option("--date", help="A column that holds dates; those with parts are known.")
    ] = None
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write the query here, not to stdout.")] = None
    debug: Debug = False


@command("train.run_demo")
@dataclass(frozen=True)
class Demo:
    """The whole way on a table of 569 tumours: train with costs, a report, a decision with its reasons.

    \b
    Example:
      posteriori demo
    """

    into: Annotated[str | None, typer.Option("--into", help="Folder for its files; by default a new one.")] = None
    debug: Debug = False


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
