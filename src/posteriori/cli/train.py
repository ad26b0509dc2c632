"""`posteriori train` and `posteriori compare`; `posteriori demo`, the whole way on a table of scikit-learn's."""

from __future__ import annotations

import hashlib
import json
import pathlib
import shlex
import tempfile
import warnings
from typing import Any

from ..decision.classifier import RiskClassifier
from ..errors import ModelError, NotStorable, WriteError, did_you_mean, listed
from ..leaderboard.board import HEADS, HOW, Leaderboard, Row
from ..leaderboard.compare import compare
from ..leaderboard.lineup import Task, lineup
from ..models import on_boards
from ..store.file import save
from .bulk import fit_bulk, is_bulk
from .guard import interrupt, keep_apart, plain
from .render import board_table, busy, byte_bar, console, line, progress_bar
from .tables import Source, open_table, say_table, told_kinds

OURS = tuple(on_boards(ours=True))  # what a file holds


def leaderboard(source: Source, quiet: bool, **options: Any) -> Leaderboard:
    """`compare` behind a bar."""
    with progress_bar(quiet) as progress:
        return compare(source.table, progress=progress, **options)


def run_compare(
    data: str,
    target: str,
    kinds: list[str] | None,
    missing: list[str] | None,
    bins: int | None,
    sql: str | None,
    models: list[str] | None,
    as_json: bool,
    quiet: bool,
    encoding: str | None = None,
    **options: Any,
) -> None:
    """The leaderboard alone."""
    source = open_table(data, target, told_kinds(kinds), bins, sql, missing=missing or None, encoding=encoding)
    out = console()
    if not (as_json or quiet):
        say_table(out, source)
    board = leaderboard(source, quiet or as_json, models=models or None, **options)
    if as_json:
        print(board.to_json())
    elif not quiet:
        say_board(out, board)


def say_board(out: Any, board: Leaderboard) -> None:
    """The leaderboard with the line that explains it."""
    by = {"log_loss": "log loss", "cost": "what the decisions cost"}[board.by]
    line(out, f"{board.n_folds} folds, the same for all, sorted by {by}: {HOW}", "bold")
    board_table(out, board)
    line(out)


def run_train(
    data: str,
    target: str,
    output: str | None,
    model: str | None,
    kinds: list[str] | None,
    missing: list[str] | None,
    bins: int | None,
    sql: str | None,
    loss: str | None,
    reject: float | None,
    cv: int | None,
    time_limit: float | None,
    seed: int,
    as_json: bool,
    quiet: bool,
    report: str | None = None,
    with_rows: bool = False,
    encoding: str | None = None,
) -> None:
    """Read, compare, fit the best (or the one that is named) on all rows, save, report."""
    path, page = output_path(data, output), None if report is None else pathlib.Path(report)
    keep_apart(path, page, table=data, file_of_costs=loss)
    if model is not None and model not in OURS:
        _refuse_model(model)
    out, silent = console(), as_json or quiet
    if model == "naive" and is_bulk(data) and not (bins or sql or cv or time_limit is not None or page or encoding):
        return _train_bulk(data, target, path, told_kinds(kinds), missing, loss, reject, as_json, quiet)
    source = open_table(data, target, told_kinds(kinds), bins, sql, missing=missing or None, encoding=encoding)
    if not silent:
        say_table(out, source)
    board = None
    if model is None or cv is not None or time_limit is not None:
        names = None if model is None else ["baseline", model]
        options: dict[str, Any] = {"loss": loss, "reject": reject, "cv": cv, "time_limit": time_limit, "seed": seed}
        board = leaderboard(source, silent, models=names, **options)
        if not silent:
            say_board(out, board)
    name = model or _best(board)
    if board is not None and model is None and not silent:
        _say_choice(out, board, name)
    with busy(f"fitting {name} on all {len(source.table):,} rows", silent):
        fitted = fit(name, source, loss, reject, seed)
    interrupt.check()
    save(fitted, path)
    interrupt.left = f"the model is in {path}" + (", the report was not written" if page is not None else "")
    if page is not None:
        with busy("writing the report", silent):
            files = {pathlib.Path(data): "data", path: "model"}
            report_on(page, fitted, source, board, name, cv, seed, with_rows, files)
    if as_json:
        told = _told(source, board, name, path)
        print(json.dumps({**told, "report": None if page is None else str(page)}, ensure_ascii=False, default=str))
    elif not quiet:
        line(out, f"{name} on all {len(source.table):,} rows → {path}", "bold")
        if page is not None:
            line(out, f"report → {page}", "bold")
        line(out, f"next: posteriori predict {shlex.quote(str(path))} new_rows.csv -o answers.csv", whole=True)


def _train_bulk(
    data: str,
    target: str,
    path: pathlib.Path,
    kinds: dict[str, str],
    missing: list[str] | None,
    loss: str | None,
    reject: float | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Naive Bayes from a file that is never held whole."""
    out = console()
    with byte_bar(quiet or as_json) as told:
        fitted, source = fit_bulk(data, target, kinds, missing, told)
    rows = int(fitted.class_count_.sum())
    model: Any = fitted
    if loss is not None or reject is not None:
        model = RiskClassifier(
            fitted, loss=None if loss is None else _loss(loss, fitted.schema_.classes), reject=reject
        )
        model.estimator_ = fitted
    interrupt.check()
    save(model, path)
    if as_json:
        print(json.dumps({**_told(source, None, "naive", path), "rows": rows}, ensure_ascii=False, default=str))
    elif not quiet:
        say_table(out, source, rows)
        line(out, f"naive on all {rows:,} rows, streamed → {path}", "bold")
        line(out, f"next: posteriori predict {shlex.quote(str(path))} new_rows.csv -o answers.csv", whole=True)


def report_on(
    page: pathlib.Path,
    fitted: Any,
    source: Source,
    board: Leaderboard | None,
    name: str,
    cv: int | None,
    seed: int,
    with_rows: bool,
    files: dict[pathlib.Path, str],
) -> None:
    """The report of a model, each row judged by one that had not seen it: the board's, or one of the same folds."""
    from ..report.page import write_report

    hashes = {f"{what}: {file.name}": _sha256(file) for file, what in files.items() if file.is_file()}
    table = source.table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_report(
            page, fitted, table, leaderboard=board, chosen=name, title=pathlib.Path(source.name).name, folds=cv, seed=seed,
            with_rows=with_rows, notes=[*source.notes], hashes=hashes,
        )  # fmt: skip


def _sha256(file: pathlib.Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def output_path(data: str, output: str | None) -> pathlib.Path:
    """Where the model goes, `data.posteriori` unless told."""
    name = "stdin" if data == "-" else pathlib.Path(data).name.split(".")[0] or "model"
    return pathlib.Path(output or f"{name}.posteriori")


def _refuse_model(model: str) -> None:
    known = lineup()
    names = listed(OURS, most=len(OURS))
    if model in known:
        raise NotStorable(f"a model file holds {names}; {model!r} takes part in the leaderboard only")
    raise ModelError(f"no model {model!r}{did_you_mean(model, OURS) or '.'} Models: {names}")


def _best(board: Leaderboard | None) -> str:
    """The best that a file holds; naive Bayes where the time was too short for any."""
    assert board is not None
    return next((row.name for row in board.finished if row.name in OURS), "naive")


def _say_choice(out: Any, board: Leaderboard, name: str) -> None:
    """Why this one, where another stands above it."""
    best, own = board.best, board[name]
    if own.status != "finished":
        line(out, f"no model of ours was scored; {name} is taken, untested ({own.reason})", "yellow")
        return
    if best.name not in (name, "baseline"):
        line(
            out,
            f"{best.name} is ahead of {name} (by {HEADS[board.by]}: {_figure(best, board.by)}, {_figure(own, board.by)}); "
            f"it is scikit-learn's, which has no model file: {name} is the best of ours",
            "yellow",
        )
    if own.mean(board.by) >= board["baseline"].mean(board.by):
        line(
            out, f"{name} is no better than always the commonest class: the columns tell little of the target", "yellow"
        )


def _figure(row: Row, score: str) -> str:
    return f"{row.mean(score):.3f}"


def fit(name: str, source: Source, loss: str | None, reject: float | None, seed: int) -> Any:
    """The model on all rows; with costs it decides by them from now on."""
    table = source.table
    schema = table.schema
    task = Task(len(table), schema.kinds, schema.names, len(schema.classes), seed)
    model = lineup()[name].make(task).set_params(kinds=schema)
    if loss is not None or reject is not None:
        costs = None if loss is None else _loss(loss, schema.classes)
        model = RiskClassifier(model, loss=costs, reject=reject)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said in the summary, or by the leaderboard
        fitted = model.fit(table.X, table.y)
        fitted.predict_proba(table.X.iloc[:1])  # a model that answers no row (a singular covariance) is not saved
        return fitted


def _loss(path: str, classes: tuple[Any, ...]) -> Any:
    """The costs of a file, in memory: the model must not need the file."""
    from ..decision.loss import as_loss

    return as_loss(path, classes).over(list(classes))


def _told(source: Source, board: Leaderboard | None, name: str, path: pathlib.Path) -> dict[str, Any]:
    schema = source.table.schema
    return {
        "model": name,
        "path": str(path),
        "rows": len(source.table),
        "target": schema.target,
        "classes": [str(c) for c in schema.classes],
        "columns": [{"name": c.name, "kind": c.kind} for c in schema.columns],
        "notes": [plain(note) for note in source.notes],
        "leaderboard": None if board is None else json.loads(board.to_json()),
    }


def run_demo(into: str | None = None) -> None:
    """Write the table and the costs, train with a report, explain a doubtful row; say each command before it runs."""
    from sklearn.datasets import load_breast_cancer

    from .predict import run_explain

    out = console()
    room = pathlib.Path(into) if into is not None else pathlib.Path(tempfile.mkdtemp(prefix="posteriori-demo-"))
    if room.exists() and not room.is_dir():
        raise WriteError(f"{room} is a file: --into names a folder")
    room.mkdir(parents=True, exist_ok=True)
    data = load_breast_cancer(as_frame=True)
    table = data.data.assign(tumour=data.target.map({0: "malignant", 1: "benign"}))
    table.to_csv(room / "tumours.csv", index=False)
    (room / "costs.csv").write_text("decided\\truth,benign,malignant\nbenign,0,20\nmalignant,1,0\n")
    line(out, f"a missed tumour costs 20 false alarms, a second look half of one; files in {room}", "dim")
    words = "tumours.csv --target tumour --loss costs.csv --reject 0.5 --cv 5 --report report.html"
    line(out, f"$ posteriori train {words}", "bold")
    model, page = str(room / "tumours.posteriori"), room / "report.html"
    run_train(
        str(room / "tumours.csv"), "tumour", model, None, None, None, None, None, str(room / "costs.csv"), 0.5, 5, None, 0,
        False, False, str(page),
    )  # fmt: skip
    line(out)
    line(out, "$ posteriori explain tumours.posteriori tumours.csv --row 14", "bold")
    run_explain(model, str(room / "tumours.csv"), 14, None, None, False)
    line(out)
    line(out, f"the report, to open in a browser: {page.resolve()}", "bold")
