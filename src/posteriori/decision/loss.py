"""The loss λ[a, y]: what action a costs when the truth is y. Actions in rows, truth in columns; to reject is one more row.

Symbols: a action, y true class, λ[a, y] loss, K classes. Labels of classes and actions are compared by what they say, never
by where they stand.

A loss is read as people keep it: a DataFrame, a dict of dicts, a CSV file. Labels and named axes decide how it is read.

A table that says nothing about its axes has actions in rows and the truth in columns. A table without labels is read only
where every reading gives the same loss, or where the caller says which one is meant.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from ..arrays import Array, Floats
from ..errors import LossError, ModelError, did_you_mean, listed, shown
from ..table.labels import number, places, position
from ..table.schema import in_order, is_missing


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Loss:
    """λ[a, y], actions × truth, with the labels of both where they are known.

    Parameters
    ----------
    matrix : array of shape (actions, classes)
        `matrix[i, j]` is the loss of deciding i when the truth is j. Negative entries (gains) are allowed.
    classes : labels of the columns, optional
        With labels a model's classes are matched by label; without, the columns are its `classes_` in order.
    actions : labels of the rows (without the reject row), optional
        The classes, unless other actions are named here.
    reject : bool, default=False
        Whether the last row is to reject (see `with_reject`).

    >>> loss = Loss([[0, 1], [10, 0]], classes=["ham", "spam"])
    >>> print(loss.with_reject(0.5))
             ham  spam   (truth)
       ham     0     1
      spam    10     0
    reject   0.5   0.5
    """

    matrix: Annotated[Floats, "actions classes"]
    classes: Array | None
    actions: Array | None
    reject: bool

    def __init__(
        self,
        matrix: npt.ArrayLike,
        classes: Iterable[Any] | None = None,
        actions: Iterable[Any] | None = None,
        reject: bool = False,
    ) -> None:
        cells = _checked(matrix)
        if not isinstance(reject, bool | np.bool_):
            raise LossError(f"reject says whether the last row is to reject: True or False. Got {reject!r} instead.")
        rows, k = len(cells) - reject, cells.shape[1]
        names = None if classes is None else distinct_labels(classes, "the classes of a loss")
        acts = names if actions is None else distinct_labels(actions, "the actions of a loss")
        if names is not None and len(names) != k:
            raise LossError(
                f"a loss has one column for each class: got {len(names)} classes and {k} columns "
                f"(a matrix of shape {cells.shape}; actions in rows, truth in columns)"
            )
        if actions is None and rows != k:
            raise LossError(
                f"a loss of {rows} actions over {k} classes needs names for its actions: pass actions=[...] "
                "(or add a reject row with .with_reject(price))"
            )
        if acts is not None and len(acts) != rows:
            raise LossError(f"a loss has one row for each action: got {len(acts)} actions and {rows} rows")
        for name, value in (("matrix", cells), ("classes", names), ("actions", acts), ("reject", bool(reject))):
            object.__setattr__(self, name, value)  # frozen: set once, here

    @classmethod
    def zero_one(cls, classes: int | Iterable[Any]) -> Loss:
        """λ[a, y] = 0 where a = y, else 1: every mistake costs the same, so the risk is the error rate.

        >>> Loss.zero_one(2)
        Loss([[0, 1], [1, 0]])
        """
        if isinstance(classes, int | np.integer) and not isinstance(classes, bool) and classes > 0:
            return cls(1.0 - np.eye(int(classes)))
        labels = distinct_labels(classes, "classes")
        return cls(1.0 - np.eye(len(labels)), labels)

    @classmethod
    def per_class(cls, costs: Mapping[Any, float] | npt.ArrayLike) -> Loss:
        """λ[a, y] = cost[y] where a ≠ y, else 0: what it costs to misjudge each true class.

        >>> print(Loss.per_class({"ham": 10, "spam": 1}))
               ham  spam   (truth)
         ham     0     1
        spam    10     0
        """
        labels = distinct_labels(costs, "classes") if isinstance(costs, Mapping) else None
        try:
            cost = np.array(list(costs.values()) if isinstance(costs, Mapping) else costs, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise LossError(f"the loss per_class needs one cost for each class, a number; got {shown(costs)}") from None
        if cost.ndim != 1:
            raise LossError(f"per_class needs one cost for each class; got an array of shape {cost.shape}")
        if not np.isfinite(cost).all():
            raise LossError(f"the loss per_class needs finite costs; got {costs!r}")
        return cls(cost * (1.0 - np.eye(len(cost))), labels)

    @classmethod
    def from_table(
        cls, table: Any, *, rows: Literal["actions", "truth"] | None = None, classes: Iterable[Any] | None = None
    ) -> Loss:
        """A loss from a labelled table: a DataFrame, a dict of dicts `{action: {truth: loss}}`, or a CSV file.

        Rows are actions and columns the truth, unless the axes are named the other way round (an index called "truth", a
        corner cell `truth\\decided`) or `rows="truth"` says so. A row called "reject" is the reject action. A file without
        labels is refused where it could be read two ways.

        >>> print(Loss.from_table({"keep": {"ham": 0, "spam": 1}, "bin": {"ham": 10, "spam": 0}}))
               ham  spam   (truth)
        keep     0     1
         bin    10     0
        """
        told = list(classes) if isinstance(classes, Iterable) else classes
        named = None if told is None else distinct_labels(told, "classes").tolist()
        return cls(*read_loss(table, rows, named))

    def with_reject(self, price: float) -> Loss:
        """The loss with one more action, to reject, which costs `price` whatever the truth is.

        >>> Loss.zero_one(2).with_reject(0.3)
        Loss([[0, 1], [1, 0], [0.3, 0.3]], reject=True)
        """
        if self.reject:
            raise LossError("this loss has a reject row already; take .without_reject() first to set another price")
        cost = number(price)
        if cost is None or not np.isfinite(cost):
            raise LossError(f"the price of rejecting must be a finite number; got {price!r}")
        return replace(self, matrix=np.vstack([self.matrix, np.full(self.matrix.shape[1], cost)]), reject=True)

    def without_reject(self) -> Loss:
        """The loss without its reject row."""
        return replace(self, matrix=self.matrix[:-1], reject=False) if self.reject else self

    def over(self, classes: Iterable[Any], *, absent: bool = False) -> Loss:
        """The loss with its columns in the order of a model's classes, matched by label; without labels, by order.

        Actions that are classes come first, in the order of the classes, so that ties fall as they do in argmax. With
        `absent`, the loss may know classes that the model never met (a fold lacked them): they have no probability, so
        their columns are left out; every action stays.

        >>> loss = Loss([[0, 1], [10, 0]], classes=["spam", "ham"])
        >>> loss.over(["ham", "spam"])
        Loss([[0, 10], [1, 0]], classes=['ham', 'spam'])
        """
        labels = distinct_labels(classes, "classes")
        names = labels.tolist()
        if self.classes is None:
            if len(names) != self.matrix.shape[1]:
                raise LossError(
                    f"the loss has {self.matrix.shape[1]} columns, the model {len(names)} classes: {listed(names)}"
                )
            return replace(self, classes=labels, actions=labels if self.actions is None else self.actions)
        own = self.classes.tolist()
        columns = positions(names, own, "the loss")
        if len(own) != len(names) and not absent:
            extra = next(label for i, label in enumerate(own) if i not in columns)
            raise LossError(
                f"the loss has a column {extra!r}, which is not a class of the model "
                f"(its classes: {listed(names)}){did_you_mean(extra, names)}"
            )
        return self._with_rows_like(labels, columns)

    def _with_rows_like(self, labels: Array, columns: list[int]) -> Loss:
        """Columns reordered, and the rows of class actions in the order of the classes before the other actions."""
        names, acts = labels.tolist(), [] if self.actions is None else self.actions.tolist()
        place = dict(enumerate(places(acts, names)))
        like = {at: i for i, at in place.items() if at is not None}
        others = [i for i, at in place.items() if at is None]
        actions = joined(labels[sorted(like)], [acts[i] for i in others])
        rows = [like[at] for at in sorted(like)] + others + [len(acts)] * self.reject
        return Loss(self.matrix[np.ix_(rows, columns)], labels, actions, self.reject)

    def labels(self, reject_label: Any = None) -> Array:
        """The label of each row as `decide` returns it: the actions, then the reject label.

        Without a `reject_label`, text classes get "reject" ("rejected", where that is a class) and numbers −1 (one less
        than the least class, where −1 is one). A label that is an action is an error.

        >>> Loss.zero_one(["no", "yes"]).with_reject(0.1).labels().tolist()
        ['no', 'yes', 'reject']
        >>> Loss.zero_one([0, 1]).with_reject(0.1).labels().tolist()
        [0, 1, -1]
        """
        actions = self.actions if self.actions is not None else np.arange(self.matrix.shape[1])
        if not self.reject:
            return actions
        if reject_label is not None:
            if not isinstance(reject_label, Hashable):
                raise LossError(f"reject_label must be a single label. Got {reject_label!r} instead.")
            label = reject_label
        elif actions.dtype.kind in "biuf":
            label = -1 if -1 not in actions else actions.min() - 1
        else:
            taken = {str(a) for a in actions.tolist()}
            words = ("reject", "rejected", *(f"rejected {i}" for i in range(len(taken))))
            label = next(word for word in words if word not in taken)
        if label in actions.tolist():
            raise LossError(
                f"{label!r} is an action already ({listed(actions.tolist())}); pass a reject_label that is not"
            )
        return joined(actions, [label])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Loss):
            return NotImplemented
        mine, theirs = (self.classes, self.labels(_REJECT)), (other.classes, other.labels(_REJECT))
        same = (a.tolist() == b.tolist() if a is not None and b is not None else a is b for a, b in zip(mine, theirs))
        return self.reject == other.reject and np.array_equal(self.matrix, other.matrix) and all(same)

    def __repr__(self) -> str:
        said = [str([[_short(v) for v in row] for row in self.matrix.tolist()])]
        if self.classes is not None:
            said.append(f"classes={self.classes.tolist()}")
        if self.actions is not self.classes and self.actions is not None:
            same = self.classes is not None and self.actions.tolist() == self.classes.tolist()
            said += [] if same else [f"actions={self.actions.tolist()}"]
        if self.reject:
            said.append("reject=True")
        return f"Loss({', '.join(said)})"

    def __str__(self) -> str:
        classes = self.classes.tolist() if self.classes is not None else list(range(self.matrix.shape[1]))
        actions = self.actions.tolist() if self.actions is not None else list(range(len(self.matrix) - self.reject))
        heads = [str(a) for a in actions] + ["reject"] * self.reject
        cells = [[str(c) for c in classes]] + [[str(_short(v)) for v in row] for row in self.matrix.tolist()]
        wide = max(max(len(c) for row in cells for c in row) + 2, 4)
        left = max(len(h) for h in heads)
        lines = [" " * left + "".join(f"{c:>{wide}}" for c in cells[0]) + "   (truth)"]
        lines += [f"{h:>{left}}" + "".join(f"{c:>{wide}}" for c in row) for h, row in zip(heads, cells[1:])]
        return "\n".join(lines)


_REJECT = object()  # a label that no action has, so that two losses can be compared row by row


def as_loss(loss: Any, classes: Iterable[Any] | int) -> Loss:
    """Whatever says a loss, as a `Loss`: None (zero-one), a `Loss`, a matrix, costs by class, a table, a CSV file."""
    if loss is None:
        return Loss.zero_one(classes)
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, Mapping) and not any(isinstance(v, Mapping) for v in loss.values()):
        return Loss.per_class(loss)
    if isinstance(loss, Mapping | str | os.PathLike) or hasattr(loss, "columns"):
        return Loss.from_table(loss)
    return Loss(loss)


def priced(loss: Any, reject: float | None, classes: Array) -> Loss:
    """`as_loss` in the order of the classes, and with a price of rejecting the row for it."""
    found = as_loss(loss, classes).over(classes)
    return found if reject is None else found.with_reject(reject)


def deciding_loss(model: Any, loss: Any, reject: float | None) -> Loss:
    """The loss that a classifier decides by: a `RiskClassifier`'s own, to which none is added, or the one that is told."""
    if not hasattr(model, "loss_"):
        return priced(loss, reject, np.asarray(model.classes_))
    if loss is not None or reject is not None:
        raise ModelError("a RiskClassifier has its loss and reject already: change them with set_params")
    found: Loss = model.loss_
    return found


def _checked(matrix: Any) -> Floats:
    """The matrix as finite floats of two dimensions, or an error that names the cell."""
    try:
        raw = np.asarray(matrix)
        found = np.array(
            raw.tolist() if raw.dtype.kind in "cO" else raw, dtype=float
        )  # complex: an error, not a warning
    except (TypeError, ValueError, OverflowError):
        raise LossError(f"a loss matrix holds numbers, actions × truth; got {shown(matrix)}") from None
    if found.ndim != 2 or 0 in found.shape:
        raise LossError(f"a loss is a matrix of actions × truth; got an array of shape {found.shape}")
    for i, j in np.argwhere(~np.isfinite(found)):
        raise LossError(f"a loss must be finite; row {i} (action), column {j} (truth) is {found[i, j]}")
    found.flags.writeable = False
    return found


def _short(value: float) -> float | int:
    return int(value) if float(value).is_integer() else round(value, 6)


def distinct_labels(labels: Any, what: str = "labels") -> Array:
    """Labels as one array that keeps their type; a label that comes twice is an error.

    >>> distinct_labels(["ham", "spam"])
    array(['ham', 'spam'], dtype='<U4')
    >>> distinct_labels([0, "other"])
    array([0, 'other'], dtype=object)
    """
    if isinstance(labels, np.ndarray):
        found = labels
    else:
        if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
            raise LossError(f"{what} must be a list of labels; got {labels!r}")
        cells = list(labels)
        try:
            found = np.asarray(cells, dtype=None if len({type(c) for c in cells}) <= 1 else object)
        except ValueError:
            raise LossError(f"{what} must be a list of labels; got lists of different lengths") from None
    if found.ndim != 1:
        raise LossError(f"{what} must be a list of labels; got an array of shape {found.shape}")
    seen: set[Any] = set()
    for label in found.tolist():
        if is_missing(label) or not isinstance(label, Hashable):
            raise LossError(f"{what} must be a list of labels; {label!r} is none")
        if label in seen:
            raise LossError(f"{what} must differ from each other; {label!r} comes twice")
        seen.add(label)
    return found


def positions(labels: Sequence[Any], among: Sequence[Any], what: str) -> list[int]:
    """The column of each label; a label that has none is named with its nearest match."""
    found = places(labels, among)
    for label, i in zip(labels, found):
        if i is None:
            raise LossError(f"{what} has no column {label!r} (it has {listed(among)}){did_you_mean(label, among)}")
    return [i for i in found if i is not None]


def joined(labels: Array, further: Iterable[Any]) -> Array:
    """Labels and further ones in one array: numbers stay numbers, text stays text, a mixture becomes objects.

    >>> joined(np.array([0, 1], np.uint8), [-1])
    array([ 0,  1, -1])
    >>> joined(np.array(["no", "yes"]), ["reject"])
    array(['no', 'yes', 'reject'], dtype='<U6')
    """
    more = distinct_labels(further)
    if not len(more):
        return labels
    if (labels.dtype.kind in "biuf" and more.dtype.kind in "biuf") or labels.dtype.kind == more.dtype.kind == "U":
        return np.concatenate([labels, more])
    return np.concatenate([labels.astype(object), more.astype(object)])


def united(*labels: Any) -> Array:
    """The distinct labels of several lists, in order; the type they came in where they share one."""
    parts = [np.asarray(part).ravel() for part in labels]
    try:
        return np.unique(np.concatenate(parts) if len({p.dtype.kind in "OUS" for p in parts}) == 1 else _objects(parts))
    except TypeError:
        return distinct_labels(in_order(dict.fromkeys(_objects(parts).tolist())))


def _objects(parts: list[Array]) -> Array:
    return np.concatenate([part.astype(object) for part in parts])


def in_class_order(labels: Array) -> bool:
    """Whether the labels stand in the order in which a scikit-learn classifier keeps its `classes_`.

    >>> in_class_order(np.array(["ham", "spam"])), in_class_order(np.array(["9", "10"]))
    (True, False)
    """
    cells = labels.tolist()
    numbers = [number(cell) for cell in cells]
    orders = [cells] if None in numbers else [cells, numbers]  # '10', '9' may stand for numbers: then 9 comes first
    try:
        return all(order == sorted(order) for order in orders)
    except TypeError:  # labels of several types have no order
        return False


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
