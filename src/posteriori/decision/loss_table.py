"""A loss as people keep it: a DataFrame, a dict of dicts, a CSV file. Labels and named axes decide how it is read.

A table that says nothing about its axes has actions in rows and the truth in columns. A table without labels is read only
where every reading gives the same loss, or where the caller says which one is meant.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import LossError, did_you_mean
from ..table.labels import number, position

# words of an axis' name, whatever else stands beside them ("True label", "预测类别"); Chinese has no spaces between words
_WORDS = {
    "actions": "action actions act acts assigned call called choice chosen choose classified decide decided decides "
    "decision decisions estimate estimated guess guessed model output pred predict predicted prediction predictions "
    "predicts said says yhat ŷ 预测 预报 决策 决定 判定 判断 判为 行动 动作 估计 输出 模型",
    "truth": "actual actually correct expected fact gold golden ground observed real reality reference target true "
    "truth truths 真实 真值 真相 真正 实际 事实 正确 观测 标准 参考",
}
_OTHER = {"actions": "truth", "truth": "actions"}


@dataclass(frozen=True, eq=False)
class _Grid:
    """Cells with what is known of both axes: labels, and whether the rows are the actions or the truth."""

    source: str
    cells: list[list[Any]]
    rows: list[Any] | None
    columns: list[Any] | None
    rows_are: str | None = None
    odd: tuple[str, ...] = ()  # names of axes that say neither

    def transposed(self) -> _Grid:
        return replace(self, cells=[list(c) for c in zip(*self.cells)], rows=self.columns, columns=self.rows)


def read_loss(
    table: Any, rows: str | None, classes: list[Any] | None
) -> tuple[Floats, list[Any] | None, list[Any] | None, bool]:
    """Matrix, classes, actions, and whether the last row is to reject."""
    grid = _grid(table)
    rows_are = _reading(grid, rows)
    if grid.rows is None or grid.columns is None:
        return _unlabelled(grid, rows_are, classes)
    if rows_are is None and grid.odd:
        _refuse_odd(grid)
    if rows_are == "truth":
        grid = grid.transposed()
    actions, columns = list(grid.rows or ()), list(grid.columns or ())
    matrix = _numbers(grid)
    _refuse_typos(grid.source, actions, columns)
    for i, action in enumerate(actions):
        if isinstance(action, str) and action.strip().lower() == "reject" and action not in columns:
            order = [j for j in range(len(actions)) if j != i] + [i]
            return matrix[order], columns, [actions[j] for j in order[:-1]], True
    return matrix, columns, actions, False


def _grid(table: Any) -> _Grid:
    if isinstance(table, str | os.PathLike):
        return _from_csv(os.fspath(table))
    if isinstance(table, Mapping):
        return _from_dict(table)
    if hasattr(table, "iloc"):
        return _from_pandas(table)
    if hasattr(table, "columns"):
        import narwhals as nw

        frame = nw.from_native(table, eager_only=True)
        return _from_lines("the table", frame.columns, [list(row) for row in frame.rows()])
    raise LossError(
        f"a loss table is a DataFrame, a dict of dicts or a CSV file; got {type(table).__name__} "
        "(a bare matrix goes to Loss(matrix): actions in rows, truth in columns)"
    )


def _from_csv(path: str) -> _Grid:
    name = os.path.basename(path)
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            text = file.read()
    except OSError as error:
        raise LossError(
            f"a loss given as text is the path of a CSV file; {path!r} cannot be read: {error.strerror}"
        ) from None
    except UnicodeDecodeError as error:
        raise LossError(f"{name} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    first = text.partition("\n")[0]
    rows = csv.reader(text.splitlines(), delimiter=max(",;\t", key=first.count))
    lines = [[cell.strip() for cell in line] for line in rows if any(cell.strip() for cell in line)]
    if not lines:
        raise LossError(f"{name} is empty")
    for i, line in enumerate(lines):
        if len(line) != len(lines[0]):
            raise LossError(f"line {i + 1} of {name} has {len(line)} cells, the first line {len(lines[0])}")
    has_header = any(number(cell) is None for cell in lines[0])
    return _from_lines(name, lines[0] if has_header else None, lines[1:] if has_header else lines)


def _from_dict(table: Mapping[Any, Any]) -> _Grid:
    columns = list(dict.fromkeys(c for row in table.values() if isinstance(row, Mapping) for c in row))
    for action, row in table.items():
        for c in columns:
            if not isinstance(row, Mapping) or c not in row:
                raise LossError(f"the loss of deciding {action!r} when the truth is {c!r} is missing")
    return _Grid("the table", [[row[c] for c in columns] for row in table.values()], list(table), columns)


def _from_pandas(frame: Any) -> _Grid:
    cells = [list(row) for row in frame.itertuples(index=False, name=None)]
    plain = [type(axis).__name__ == "RangeIndex" and axis.name is None for axis in (frame.index, frame.columns)]
    columns = list(frame.columns)
    if plain[0]:  # no index of its own: the labels of the rows, if any, are its first column
        return _from_lines("the table", None if plain[1] else columns, cells)
    return _Grid("the table", cells, list(frame.index), columns, *_axes(frame.index.name, frame.columns.name))


def _from_lines(source: str, header: list[Any] | None, body: list[list[Any]]) -> _Grid:
    """Lines with or without a header; the first column holds labels where it is no number, or repeats the header's."""
    first = [row[0] for row in body]
    if header is not None and body:
        repeats = all(position(label, first) is not None for label in header[1:]) and len(header) > 1
        if repeats or any(number(cell) is None for cell in first):
            corner = [part.strip() for part in re.split(r"[\\/|]", str(header[0]))] + [None]
            return _Grid(source, [row[1:] for row in body], first, header[1:], *_axes(corner[0], corner[1]))
    return _Grid(source, body, None, header)


def _axes(row_axis: Any, column_axis: Any) -> tuple[str | None, tuple[str, ...]]:
    """Whether the rows are the actions or the truth, as far as the names of the axes say; and names that say neither."""
    names = ["" if axis is None else str(axis).strip() for axis in (row_axis, column_axis)]
    by_rows, by_columns = (_meaning(name) for name in names)
    if by_rows is not None and by_rows == by_columns:
        raise LossError(f"both axes of the loss table are named as {by_rows}: {row_axis!r} and {column_axis!r}")
    return by_rows or (_OTHER[by_columns] if by_columns else None), tuple(filter(_is_name, names))


def _meaning(name: str) -> str | None:
    """ "actions" or "truth", where the words of a name say one of them and not the other."""
    words = set(re.findall(r"[^\W_]+", name.lower()))
    said = {
        kind
        for kind, known in _WORDS.items()
        if any(word in words or (word > "\u3000" and word in name) for word in known.split())
    }
    return said.pop() if len(said) == 1 else None


def _is_name(name: str) -> bool:
    """Whether a corner says anything: an empty cell, a mark or pandas' stand-in for a missing name does not."""
    return bool(re.search(r"\w", name)) and not re.fullmatch(r"(unnamed: \d+|index|column_?\d+)", name.lower())


def _refuse_odd(grid: _Grid) -> None:
    """A table whose axes have names that say neither action nor truth is read only where both readings are one."""
    matrix = _numbers(grid)
    if grid.rows == grid.columns and np.array_equal(matrix, matrix.T):
        return
    raise LossError(
        f"{grid.source} names its axes {' and '.join(map(repr, grid.odd))}, which says neither which are the actions nor "
        "which the truth: pass rows='actions' or rows='truth', or name them so (predicted, actual)"
    )


def _reading(grid: _Grid, rows: str | None) -> str | None:
    """What the rows are: as the caller says, as the axes are named, or unsaid."""
    if rows not in (None, "actions", "truth"):
        raise LossError(f"rows must be 'actions' or 'truth'; got {rows!r}")
    if rows and grid.rows_are and rows != grid.rows_are:
        raise LossError(f"rows={rows!r}, but {grid.source} names its rows as {grid.rows_are}")
    return rows or grid.rows_are


def _unlabelled(
    grid: _Grid, rows_are: str | None, classes: list[Any] | None
) -> tuple[Floats, list[Any] | None, None, bool]:
    """A square matrix whose labels, if any, stand on one axis only: read where no second reading is left."""
    matrix = _numbers(grid)
    labels = classes if classes is not None else grid.columns
    k = len(matrix)
    if matrix.shape != (k, k) or (labels is not None and len(labels) != k):
        given = "" if labels is None else f" and {len(labels)} classes"
        raise LossError(
            f"{grid.source} has no labels on its rows, so it must have one row and one column for each class; "
            f"got {matrix.shape[0]} × {matrix.shape[1]} cells{given}"
        )
    if rows_are is None and not np.array_equal(matrix, matrix.T):
        raise LossError(_both_readings(grid.source, matrix, labels))
    off = matrix[~np.eye(k, dtype=bool)]
    if labels is None and not (np.all(off == off[:1]) and np.all(matrix.diagonal() == matrix[0, 0])):
        raise LossError(f"{grid.source} does not say which class a row or column is: label it, or pass classes=[...]")
    return (matrix.T if rows_are == "truth" else matrix), labels, None, False


def _both_readings(source: str, matrix: Floats, labels: list[Any] | None) -> str:
    i, j = np.argwhere(matrix != matrix.T)[0].tolist()
    a, b = (repr(labels[k]) if labels is not None else f"class {k + 1}" for k in (i, j))
    here, there = (f"{matrix[c]:g}" for c in ((i, j), (j, i)))
    return (
        f"{source} has no labels on its rows and is not symmetric, so it can be read two ways:\n"
        f"  rows are actions: deciding {a} when the truth is {b} costs {here}, "
        f"deciding {b} when the truth is {a} costs {there}\n"
        f"  rows are truths:  deciding {a} when the truth is {b} costs {there}, "
        f"deciding {b} when the truth is {a} costs {here}\n"
        "label both axes (first line and first column), or pass rows='actions' or rows='truth', with classes=[...]"
    )


def _numbers(grid: _Grid) -> Floats:
    """The cells as floats; a cell that is none is named by its row and column."""
    out = np.empty((len(grid.cells), len(grid.cells[0]) if grid.cells else 0))
    for i, row in enumerate(grid.cells):
        for j, cell in enumerate(row):
            value = number(cell)
            if value is None or not np.isfinite(value):
                r = repr(grid.rows[i]) if grid.rows is not None else i + 1
                c = repr(grid.columns[j]) if grid.columns is not None else j + 1
                raise LossError(f"{grid.source}, row {r}, column {c}: a loss must be a finite number; got {cell!r}")
            out[i, j] = value
    return out


def _refuse_typos(source: str, actions: list[Any], classes: list[Any]) -> None:
    """A row that is nearly a class which has no row of its own is a slip of the pen, not one more action."""
    bare = [c for c in classes if position(c, actions) is None]
    for action in actions:
        near = did_you_mean(action, bare, cutoff=0.7) if position(action, classes) is None else ""
        if near:
            raise LossError(f"{source} has a row {action!r} but no such column, and columns without a row{near}")
