"""What goes wrong is one plain line on stderr and an exit code; Ctrl-C is heard even where a search keeps what it has.

Exit codes: 0 done · 1 an error of the program itself · 2 wrong options · 3 a file that cannot be read · 4 a table that
cannot be used · 5 a model that cannot be made, read or used so · 6 an output that cannot be written · 130 Ctrl-C.

Text from data stays text (`plain`): nothing in it moves a cursor, colours a line or turns its direction.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar, cast

import typer

from ..errors import shortened

Command = TypeVar("Command", bound=Callable[..., Any])
WRONG_OPTIONS, NO_FILE, NO_TABLE, NO_MODEL, NO_OUTPUT, INTERRUPTED = 2, 3, 4, 5, 6, 130
# C0 and C1 controls, DEL, line and paragraph separators, and marks that turn the direction of what follows
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


class OutputError(Exception):
    """An output that cannot be written."""


class UsageError(Exception):
    """Options that do not go together."""


NOTHING = "nothing was written"
OUTPUTS = ("output", "report", "svg", "dot")  # what commands call the files that they write, and those that they read
INPUTS = {"data": "table", "model": "model_file", "loss": "file_of_costs"}


class _Interrupt:
    """Whether Ctrl-C was pressed since the command began."""

    def __init__(self) -> None:
        self.pressed = False
        self.left = NOTHING  # what there is by now

    def press(self, *_: Any) -> None:
        self.pressed = True
        raise KeyboardInterrupt

    def check(self, *_: Any) -> None:
        """Raise where Ctrl-C was heard by a search that went on with what it had."""
        if self.pressed:
            raise KeyboardInterrupt


interrupt = _Interrupt()


def guarded(command: Command) -> Command:
    """A command whose errors are one line and an exit code; with --debug they are tracebacks."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        interrupt.pressed, interrupt.left = False, NOTHING
        with _hearing(), _warnings_as_lines(bool(options.get("quiet"))):
            try:
                keep_apart(
                    *(options.get(name) for name in OUTPUTS), **{what: options.get(n) for n, what in INPUTS.items()}
                )
                command(*args, **options)
                interrupt.check()
            except KeyboardInterrupt:
                _say_interrupted()
            except BrokenPipeError:  # `posteriori … | head`: the reader has enough
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit(0) from None
            except (typer.Exit, typer.BadParameter):
                raise
            except Exception as error:
                if interrupt.pressed:  # within an import, which may turn it into an error of its own
                    _say_interrupted()
                if options.get("debug"):
                    raise
                code = code_of(error)
                more = " (an error of the program: --debug shows where)" if code == 1 else ""
                say(f"error: {sentence(error)}{more}")
                raise typer.Exit(code) from None

    return cast(Command, run)


def _say_interrupted() -> NoReturn:
    say(f"interrupted: {interrupt.left}")
    raise typer.Exit(INTERRUPTED) from None


def code_of(error: BaseException) -> int:
    """The exit code of an error."""
    from .. import errors as e

    kinds: tuple[tuple[Any, int], ...] = (
        ((UsageError, e.BadParameter), WRONG_OPTIONS),
        ((OutputError, e.WriteError), NO_OUTPUT),
        (e.ModelFileError, NO_MODEL),
        (e.FormatError, NO_FILE),
        ((e.TableError, e.LossError), NO_TABLE),
        ((e.PosterioriError, MemoryError), NO_MODEL),
        (OSError, NO_FILE),
    )
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return NO_OUTPUT
    return next((code for kind, code in kinds if isinstance(error, kind)), 1)


def sentence(error: BaseException) -> str:
    """An error as one line."""
    if isinstance(error, OSError) and error.strerror:
        where = error.filename or ("the output" if code_of(error) == NO_OUTPUT else "the file")
        return f"{where}: {error.strerror}"
    text = " ".join(shortened(str(error)).split())
    return text or type(error).__name__


def keep_apart(*outputs: str | os.PathLike[str] | None, **inputs: str | list[str] | None) -> None:
    """Refuse outputs that cannot be written, or would be written over one another or over what they are made from."""
    from ..drafts import refuse_unwritable
    from ..errors import WriteError

    made = [output for output in outputs if output is not None]
    for at, output in enumerate(made):
        if output == "-":
            raise WriteError("a file cannot go to stdout: give it a name")
        for what, files in inputs.items():
            for file in [files] if isinstance(files, str) else files or ():
                if _same_file(output, file):
                    raise WriteError(
                        f"{output} is the {what.replace('_', ' ')}, which would be lost: give another name"
                    )
        for other in made[:at]:
            if _same_file(output, other):
                raise WriteError(f"two outputs would be one file, {other} and {output}: give them different names")
        refuse_unwritable(output)


def _same_file(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> bool:
    try:
        if b == "-":  # `posteriori … - < a.csv`
            return os.path.samestat(os.stat(a), os.fstat(sys.stdin.fileno()))
        return os.path.samefile(a, b)
    except (OSError, ValueError, AttributeError):  # one of them is not there yet, or stdin is no file
        return b != "-" and os.path.realpath(a) == os.path.realpath(b)


def say(text: str) -> None:
    """A line on stderr, whatever it holds."""
    print(plain(text), file=sys.stderr)


@contextlib.contextmanager
def _warnings_as_lines(quiet: bool) -> Iterator[None]:
    """A warning of the library is a line on stderr, without the place in the code that it comes from."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: None if quiet else say(f"warning: {sentence(message)}")
        yield


@contextlib.contextmanager
def _hearing() -> Iterator[None]:
    """Ctrl-C goes to `interrupt` while a command runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, interrupt.press)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def plain(text: object) -> str:
    r"""The text on one line, its controls written out.

    >>> plain("a\nb\x1b[31m")
    'a\\nb\\x1b[31m'
    """
    return CONTROLS.sub(_written, str(text))


def _written(found: re.Match[str]) -> str:
    mark = found[0]
    return NAMED.get(mark) or (f"\\x{ord(mark):02x}" if ord(mark) < 256 else f"\\u{ord(mark):04x}")


def cut(text: object, most: int) -> str:
    """`plain`, and no longer than `most` characters.

    >>> cut("abcdef", 4)
    'abc…'
    """
    said = plain(text)
    return said if len(said) <= most else said[: most - 1] + "…"
