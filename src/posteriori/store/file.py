"""`save` and `load`: a model as a file, and back, bit for bit; `describe`: what a file says of itself."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import numpy as np

from ..drafts import whole_file
from ..errors import FormatError, ModelFileError, NotStorable, PosterioriError, did_you_mean
from .codec import Reader, Writer
from .container import Budget, arrays_of, entries_of, pack, parse, split
from .forms import PUBLIC

FORMAT = 2  # 1: no array is narrower in the file than in the model, and kDB members are tables
SUFFIX = ".posteriori"
Path = str | os.PathLike[str]


def save(model: Any, path: Path) -> None:
    """Write a model or a network to a file, whole or not at all; the same model gives the same bytes.

    Parameters
    ----------
    model : any estimator, network or `Schema` of posteriori, fitted or not
    path : where; `.posteriori` is the usual ending

    >>> import tempfile, posteriori as po
    >>> model = po.NaiveBayes().fit({"sky": ["blue", "grey", "grey"]}, ["out", "in", "in"])
    >>> with tempfile.TemporaryDirectory() as room:
    ...     po.save(model, f"{room}/weather.posteriori")
    ...     po.load(f"{room}/weather.posteriori").predict({"sky": ["blue"]}).tolist()
    ['out']
    """
    parts = to_bytes(model)
    with whole_file(_path(path)) as stream:
        for part in parts:
            stream.write(part)


def to_bytes(model: Any) -> list[Any]:
    """The parts of a model's file."""
    from .. import __version__

    if type(model).__name__ not in PUBLIC:
        known = did_you_mean(type(model).__name__, PUBLIC)
        raise NotStorable(
            f"a model file holds estimators, networks and schemas of posteriori. Got {type(model).__qualname__!r} "
            f"instead{known or '.'}"
        )
    for narrow in (True, False):  # a smaller file may take less memory
        writer = Writer(narrow)
        text = writer.text(model)
        head = {"format": FORMAT, "library": __version__, "class": type(model).__name__, "summary": summary(model)}
        parts = list(pack(head, text, writer.arrays))
        budget = Budget(sum(memoryview(part).nbytes for part in parts))
        try:
            budget.spend(len(parts[0]) + writer.held, "its lists")
            budget.spend_text(text, "its JSON")
            return parts
        except ModelFileError as error:
            why = str(error)
    raise NotStorable(f"this model could not be loaded again within the memory that a file may take: {why}")


def load(path: Path) -> Any:
    """The model of a file that `save` wrote; any other file is an error by name. Nothing in a file is ever executed."""
    return from_bytes(_read(path), str(path))


def describe(path: Path) -> dict[str, Any]:
    """What a file says of itself: format and library version, class, summary, arrays; the model is not made."""
    data, name = _read(path), str(path)
    try:
        head, _, _ = split(data, Budget(len(data)))
        found: dict[str, Any] = _head(head)
        return found
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error.__cause__


def from_bytes(data: bytearray, name: str = "the file") -> Any:
    """The model of a file's bytes, which become the model's arrays."""
    said = ""
    try:
        budget = Budget(len(data))
        head, text, begin = split(data, budget)
        found = _head(head)
        said = _other_version(found)
        if found["format"] == 1 and '"BayesTree"' in text:
            raise ModelFileError(
                "trees of format 1 backed off by another rule and would answer otherwise now: fit it again"
            )
        entries = entries_of(found)
        arrays = arrays_of(data, begin, head, text, entries)
        with np.errstate(all="ignore"):
            model = Reader(arrays, budget).value(text)
        if type(model).__name__ != found.get("class") or type(model).__name__ not in PUBLIC:
            raise ModelFileError(f"it says that it holds a {found.get('class')!r:.50}, but it does not")
        if summary(model) != found.get("summary"):
            raise ModelFileError("its summary is that of another model")
        return model
    except (ModelFileError, PosterioriError) as error:
        raise ModelFileError(f"{name}: {error}{said}") from error.__cause__


def _head(text: str) -> dict[str, Any]:
    """The head of a format that is known."""
    head = parse(text, "the head")
    if not isinstance(head, dict) or type(head.get("format")) is not int:
        raise ModelFileError("the head does not say which format it has")
    if head["format"] > FORMAT:
        raise ModelFileError(
            f"it has format {head['format']} of posteriori {head.get('library')!r:.20}; this one reads up to {FORMAT}: "
            "install that version or a newer one"
        )
    if head["format"] < 1:
        raise ModelFileError(f"there is no format {head['format']}")
    return head


def _other_version(head: dict[str, Any]) -> str:
    """A sentence for an error, where another version wrote the file."""
    from .. import __version__

    wrote = head.get("library")
    return (
        ""
        if wrote == __version__
        else f" (posteriori {wrote!r:.20} wrote it, this is {__version__!r}; that one reads it)"
    )


def _path(path: Any) -> pathlib.Path:
    try:
        return pathlib.Path(path)
    except TypeError:
        raise FormatError(f"a file is named by a string or a path. Got {path!r:.200} instead.") from None


def _read(path: Any) -> bytearray:
    """All bytes of a file."""
    file = _path(path)
    if file.is_dir():
        raise ModelFileError(f"{file} is a folder: give one of its files")
    if not file.exists():
        near = did_you_mean(file.name, (p.name for p in file.parent.glob("*")) if file.parent.is_dir() else ())
        raise FileNotFoundError(f"no file {file}{near}")
    if not file.is_file():
        raise ModelFileError(f"{file} is no regular file")
    with file.open("rb") as stream:
        data = bytearray(os.fstat(stream.fileno()).st_size)
        if stream.readinto(data) != len(data) or stream.read(1):
            raise ModelFileError(f"{file} changed while it was read")
    return data


def summary(model: Any) -> dict[str, Any]:
    """Rows, columns and classes, as far as the model has them.

    >>> import posteriori as po
    >>> summary(po.NaiveBayes().fit({"sky": ["blue", "grey", "grey"]}, ["out", "in", "in"]))
    {'fitted': True, 'rows': 3, 'columns': 1, 'classes': 2}
    """
    state = vars(model)
    found: dict[str, Any] = {}
    if hasattr(model, "get_params"):
        found["fitted"] = any(n.endswith("_") for n in state) or "_store" in state
    statistics = getattr(model, "statistics_", state.get("_statistics"))  # with the rows that wait to be counted
    if statistics is not None:
        rows = float(statistics.rows.sum(dtype=float))
        found["rows"] = int(rows) if rows.is_integer() else rows
    if "n_features_in_" in state:
        found["columns"] = int(state["n_features_in_"])
    if "classes_" in state:
        found["classes"] = len(state["classes_"])
    return found
