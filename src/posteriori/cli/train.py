"""`posteriori train` and `posteriori compare`; `posteriori demo`, the whole way on a table of scikit-learn's."""

from __future__ import annotations

import hashlib
import json
import pathlib
import shlex
import tempfile
import warnings
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from .main import Compare, Demo, Train

OURS = tuple(on_boards(ours=True))  # what a file holds


def leaderboard(options: Train | Compare, source: Source, models: list[str] | None) -> Leaderboard:
    """`compare` behind a bar."""
    with progress_bar(options.quiet or options.json) as progress:
        return compare(
            source.table, models=models, loss=options.loss, reject=options.reject, cv=options.cv, progress=progress,
            time_limit=options.time_limit, seed=options.seed,
        )  # fmt: skip


def run_compare(options: Compare) -> None:
    """The leaderboard alone."""
    source, out, silent = table_of(options), console(), options.quiet or options.json
    if not silent:
        say_table(out, source)
    board = leaderboard(options, source, options.model or None)
    if options.json:
        print(board.to_json())
    elif not silent:
        say_board(out, board)


def table_of(options: Train | Compare) -> Source:
    """The table that the options name."""
    how = {"missing": options.missing or None, "encoding": options.encoding}
    return open_table(options.data, options.target, told_kinds(options.kind), options.bins, options.sql, **how)


def say_board(out: Any, board: Leaderboard) -> None:
    """The leaderboard with the line that explains it."""
    by = {"log_loss": "log loss", "cost": "what the decisions cost"}[board.by]
    line(out, f"{board.n_folds} folds, the same for all, sorted by {by}: {HOW}", "bold")
    board_table(out, board)
    line(out)


def run_train(options: Train) -> None:
    """Read, compare, fit the best (or the one that is named) on all rows, save, report."""
    path = output_path(options.data, options.output)
    page = None if options.report is None else pathlib.Path(options.report)
    keep_apart(path, page, table=options.data, file_of_costs=options.loss)
    if options.name is not None and options.name not in OURS:
        _refuse_model(options.name)
    scored = options.cv is not None or options.time_limit is not None
    whole = options.bins or options.sql or scored or page or options.encoding
    if options.name == "naive" and not whole and is_bulk(options.data):
        return _train_bulk(options, path)
    out, silent, source = console(), options.json or options.quiet, table_of(options)
    if not silent:
        say_table(out, source)
    board = None
    if options.name is None or scored:
        board = leaderboard(options, source, None if options.name is None else ["baseline", options.name])
        if not silent:
            say_board(out, board)
    name = options.name or _best(board)
    if board is not None and options.name is None and not silent:
        _say_choice(out, board, name)
    with busy(f"fitting {name} on all {len(source.table):,} rows", silent):
        fitted = fit(options, name, source)
    interrupt.check()
    save(fitted, path)
    interrupt.left = f"the model is in {path}" + (", the report was not written" if page is not None else "")
    if page is not None:
        with busy("writing the report", silent):
            report_on(options, page, fitted, source, board, name, path)
    if options.json:
        told = _told(source, board, name, path)
        print(json.dumps({**told, "report": None if page is None else str(page)}, ensure_ascii=False, default=str))
    elif not silent:
        line(out, f"{name} on all {len(source.table):,} rows → {path}", "bold")
        if page is not None:
            line(out, f"report → {page}", "bold")
        _say_next(out, path)


def _train_bulk(options: Train, path: pathlib.Path) -> None:
    """Naive Bayes from a file that is never held whole."""
    out, silent = console(), options.quiet or options.json
    with byte_bar(silent) as told:
        fitted, source = fit_bulk(options.data, options.target, told_kinds(options.kind), options.missing, told)
    rows = int(fitted.class_count_.sum())
    model = _with_costs(options, fitted, fitted.schema_.classes)
    if model is not fitted:
        model.estimator_ = fitted
    interrupt.check()
    save(model, path)
    if options.json:
        print(json.dumps({**_told(source, None, "naive", path), "rows": rows}, ensure_ascii=False, default=str))
    elif not silent:
        say_table(out, source, rows)
        line(out, f"naive on all {rows:,} rows, streamed → {path}", "bold")
        _say_next(out, path)


def _say_next(out: Any, path: pathlib.Path) -> None:
    line(out, f"next: posteriori predict {shlex.quote(str(path))} new_rows.csv -o answers.csv", whole=True)


def _with_costs(options: Train, model: Any, classes: tuple[Any, ...]) -> Any:
    """A model that decides by the costs that were told, if any were: it keeps them, for it must not need the file."""
    from ..decision.loss import as_loss

    if options.loss is None and options.reject is None:
        return model
    costs = None if options.loss is None else as_loss(options.loss, classes).over(list(classes))
    return RiskClassifier(model, loss=costs, reject=options.reject)


def fit(options: Train, name: str, source: Source) -> Any:
    """The model on all rows; with costs it decides by them from now on."""
    table = source.table
    schema = table.schema
    task = Task(len(table), schema.kinds, schema.names, len(schema.classes), options.seed)
    model = _with_costs(options, lineup()[name].make(task).set_params(kinds=schema), schema.classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said in the summary, or by the leaderboard
        fitted = model.fit(table.X, table.y)
        fitted.predict_proba(table.X.iloc[:1])  # a model that answers no row (a singular covariance) is not saved
        return fitted


def report_on(
    options: Train,
    page: pathlib.Path,
    fitted: Any,
    source: Source,
    board: Leaderboard | None,
    name: str,
    path: pathlib.Path,
) -> None:
    """The report of a model, each row judged by one that had not seen it: the board's, or one of the same folds."""
    from ..report.page import write_report

    files = {"data": pathlib.Path(options.data), "model": path}
    hashes = {f"{what}: {file.name}": _sha256(file) for what, file in files.items() if file.is_file()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_report(
            page, fitted, source.table, leaderboard=board, chosen=name, title=pathlib.Path(source.name).name,
            folds=options.cv, seed=options.seed, with_rows=options.with_rows, notes=[*source.notes], hashes=hashes,
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


def run_demo(options: Demo) -> None:
    """Write the table and the costs, train with a report, explain a doubtful row; say each command before it runs."""
    from sklearn.datasets import load_breast_cancer

    from .main import Explain, Train
    from .predict import run_explain

    out = console()
    room = pathlib.Path(options.into or tempfile.mkdtemp(prefix="posteriori-demo-"))
    if room.exists() and not room.is_dir():
        raise WriteError(f"{room} is a file: --into names a folder")
    room.mkdir(parents=True, exist_ok=True)
    data = load_breast_cancer(as_frame=True)
    table = data.data.assign(tumour=data.target.map({0: "malignant", 1: "benign"}))
    rows, costs, model, page = (
        str(room / name) for name in ("tumours.csv", "costs.csv", "tumours.posteriori", "report.html")
    )
    table.to_csv(rows, index=False)
    pathlib.Path(costs).write_text("decided\\truth,benign,malignant\nbenign,0,20\nmalignant,1,0\n")
    line(out, f"a missed tumour costs 20 false alarms, a second look half of one; files in {room}", "dim")
    words = "tumours.csv --target tumour --loss costs.csv --reject 0.5 --cv 5 --report report.html"
    line(out, f"$ posteriori train {words}", "bold")
    run_train(Train(rows, "tumour", model, loss=costs, reject=0.5, cv=5, report=page))
    line(out)
    line(out, "$ posteriori explain tumours.posteriori tumours.csv --row 14", "bold")
    run_explain(Explain(model, rows, row=14))
    line(out)
    line(out, f"the report, to open in a browser: {pathlib.Path(page).resolve()}", "bold")
