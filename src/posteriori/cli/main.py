"""posteriori: from a file to a decision. The commands; each imports what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options as o
from .guard import guarded

CODES = (
    "Exit codes: 0 done, 1 an error of the program, 2 wrong options, 3 a file that cannot be read, 4 a table that cannot "
    "be used, 5 a model that cannot be made or used, 6 an output that cannot be written, 130 Ctrl-C."
)
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
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="This one, not the best: naive, spode, tan, aode, a2de, kdb or network."),
    ] = None,
    kind: o.Kinds = None,
    bins: o.Bins = None,
    sql: o.Sql = None,
    loss: o.LossFile = None,
    reject: o.Reject = None,
    cv: o.Cv = None,
    time_limit: o.TimeLimit = None,
    seed: o.Seed = 0,
    json: o.Json = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Compare every model, fit the best on all rows and save it.

    \b
    Example:
      posteriori train heart.csv --target disease
      posteriori train heart.csv -t disease --loss costs.csv --reject 0.2 -o heart.posteriori
    """
    from .train import run_train

    run_train(data, target, output, model, kind, bins, sql, loss, reject, cv, time_limit, seed, json, quiet)


@app.command(name="compare", epilog=CODES)
@guarded
def compare(
    data: o.Data,
    target: o.Target,
    kind: o.Kinds = None,
    bins: o.Bins = None,
    sql: o.Sql = None,
    model: Annotated[list[str] | None, typer.Option("--model", "-m", help="Only this one (may be repeated).")] = None,
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
        data, target, kind, bins, sql, model, json, quiet,
        loss=loss, reject=reject, cv=cv, time_limit=time_limit, seed=seed,
    )  # fmt: skip


def main() -> None:
    """The entry point."""
    app()
