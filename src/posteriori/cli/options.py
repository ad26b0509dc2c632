"""Options that several commands share, described once."""

from __future__ import annotations

from typing import Annotated

import typer

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
Sql = Annotated[str | None, typer.Option("--sql", help="A query over the file, named this.", metavar="QUERY")]
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
