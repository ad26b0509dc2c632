"""Files written whole or not at all: a draft beside the file, on the disk before it takes the file's name; files that one
process alone changes."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import BinaryIO

from .errors import WriteError

STALE = 3600.0  # seconds since a draft was last written to
ENDING = ".draft"


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file once all of them are on the disk; where anything fails, Ctrl-C too, what was
    there stays as it was. A link stays a link, and the file keeps its permissions. A draft that a killed process left goes
    when the same file is next written, an hour later or more.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as room:
    ...     file = pathlib.Path(room, "a.txt")
    ...     with whole_file(file) as stream: _ = stream.write(b"new")
    ...     file.read_text(), len(list(file.parent.iterdir()))
    ('new', 1)
    """
    named = pathlib.Path(path)
    target = refuse_unwritable(named)
    _clear(target)
    draft = target.with_name(f"{_stem(target)}{secrets.token_hex(8)}{ENDING}")
    try:
        with draft.open("xb") as stream:  # a new file: 0666 less the umask
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(FileNotFoundError):
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(draft, target)
        _sync_folder(target.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        if isinstance(error, OSError) and not isinstance(error, WriteError):
            why = error.strerror or str(error)
            raise WriteError(f"{named} could not be written: {why}; what was there is as it was") from error
        raise


def _stem(target: pathlib.Path) -> str:
    """How the names of a file's drafts begin."""
    return f".{target.name[:100]}."


def _clear(target: pathlib.Path) -> None:
    """Remove the drafts of a file that nobody has written to for long: whoever began them was killed."""
    name = re.compile(re.escape(_stem(target)) + "[0-9a-f]{16}" + re.escape(ENDING))
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_mtime < time.time() - STALE:
                        os.unlink(entry.path)


def refuse_unwritable(path: str | os.PathLike[str]) -> pathlib.Path:
    """The file that a name stands for, behind its links; refused where none can be written under it."""
    named, target = pathlib.Path(path), pathlib.Path(os.path.realpath(path))
    if target.is_dir():
        raise WriteError(f"{named} is a folder: give the name of a file in it")
    if target.exists() and not target.is_file():
        raise WriteError(f"{named} is no regular file")
    if not target.parent.is_dir():
        raise WriteError(f"{named} could not be written: there is no folder {named.parent}")
    if target.exists() and not (
        target.stat().st_mode & 0o222 and os.access(target, os.W_OK)
    ):  # root may write anything
        raise WriteError(
            f"{named} is read-only, and stays as it is: give another name, or let it be written (chmod u+w)"
        )
    return target


@contextlib.contextmanager
def changing(path: str | os.PathLike[str], wait: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """A file that is read, changed and written again by one process at a time; `wait` is called where another is at it.

    What it gives is called before the file is written: it refuses where somebody without the lock has replaced the file,
    which is all that is known where the system has no locks.
    """
    while os.path.isfile(path):
        with open(path, "rb") as file:
            _lock(file, wait)
            read = _version(os.fstat(file.fileno()))
            if read != _version(os.stat(path)):  # replaced while this one waited
                continue
            if os.name == "nt":  # no open file is replaced there
                file.close()
            yield partial(_refuse_changed, path, read)
            return
    yield lambda: None  # whoever reads it says what it is


def _refuse_changed(path: str | os.PathLike[str], read: tuple[int, ...]) -> None:
    if not os.path.exists(path) or _version(os.stat(path)) != read:
        raise WriteError(f"{path} was changed by another process meanwhile; nothing was written: run it again")


def _lock(file: BinaryIO, wait: Callable[[], None]) -> None:
    try:
        import fcntl
    except ImportError:
        return
    with contextlib.suppress(OSError):  # a file system without locks
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            wait()
            fcntl.flock(file, fcntl.LOCK_EX)


def _version(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _sync_folder(folder: pathlib.Path) -> None:
    """The new name on the disk too, where the system lets a folder be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
