"""Exit codes, one plain line, and nothing written over what it was made from."""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import signal
import subprocess
import sys
import threading
import unicodedata
import warnings

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from posteriori import errors
from posteriori.cli import guard
from posteriori.cli.guard import CONTROLS, OUTPUTS, code_of, cut, guarded, keep_apart, plain, sentence
from posteriori.cli.main import app

MAIN = [sys.executable, "-c", "from posteriori.cli.main import main; main()"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.BadParameter("x"), 2),
        (guard.UsageError("x"), 2),
        (errors.FormatError("x"), 3),
        (FileNotFoundError(2, "no such file"), 3),
        (errors.BadValue("x"), 4),
        (errors.UnknownColumn("x"), 4),
        (errors.LossError("x"), 4),
        (errors.ModelError("x"), 5),
        (errors.ModelFileError("x"), 5),
        (errors.NotStorable("x"), 5),
        (MemoryError(), 5),
        (errors.WriteError("x"), 6),
        (guard.OutputError("x"), 6),
        (OSError(errno.ENOSPC, "no space"), 6),
        (RuntimeError("x"), 1),
    ],
)
def test_every_error_has_its_code(error, code, capsys):
    assert code_of(error) == code

    @guarded
    def command():
        raise error

    with pytest.raises(typer.Exit) as ended:
        command()
    assert ended.value.exit_code == code
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_error_is_one_line_whatever_it_says():
    assert sentence(ValueError("a\n  b\tc")) == "a b c"
    assert sentence(ValueError("")) == "ValueError"
    assert sentence(OSError(errno.EACCES, "denied", "here.csv")) == "here.csv: denied"


def test_ctrl_c_is_130_even_where_it_was_swallowed(capsys):
    @guarded
    def command():
        with contextlib.suppress(KeyboardInterrupt):
            guard.interrupt.press()

    with pytest.raises(typer.Exit) as ended:
        command()
    assert ended.value.exit_code == 130
    assert "nothing was written" in capsys.readouterr().err


def test_a_link_to_the_input_is_the_input(tmp_path):
    (tmp_path / "a.csv").write_text("x")
    os.symlink(tmp_path / "a.csv", tmp_path / "b.csv")
    os.link(tmp_path / "a.csv", tmp_path / "c.csv")
    for name in ("a.csv", "b.csv", "c.csv", "../" + tmp_path.name + "/a.csv"):
        with pytest.raises(errors.WriteError, match="table"):
            keep_apart(tmp_path / name, table=str(tmp_path / "a.csv"))
    keep_apart(tmp_path / "d.csv", table=str(tmp_path / "a.csv"))
    keep_apart(None, table="a.csv")
    for name, why in (("-", "cannot go to stdout"), (tmp_path, "is a folder"), (tmp_path / "no" / "m", "no folder")):
        with pytest.raises(errors.WriteError, match=why):
            keep_apart(name, table="-")


def test_what_the_shell_gives_as_stdin_is_the_input(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("x")
    os.link(tmp_path / "a.csv", tmp_path / "c.csv")
    with open(tmp_path / "a.csv") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        for name in ("a.csv", "c.csv"):
            with pytest.raises(errors.WriteError, match="table, which would be lost"):
                keep_apart(tmp_path / name, table="-")
        keep_apart(tmp_path / "d.csv", table="-")
    for nothing in (None, io.StringIO()):  # stdin is closed, or no file
        monkeypatch.setattr("sys.stdin", nothing)
        keep_apart(tmp_path / "a.csv", table="-")


WRITING = {  # every command that writes files: how it is called, its options that name one
    "train": (["data.csv", "-t", "class", "-m", "naive", "--loss", "costs.csv"], ["--output", "--report"]),
    "predict": (["m.posteriori", "data.csv", "--loss", "costs.csv"], ["--output"]),
    "learn": (["m.posteriori", "data.csv"], ["--output"]),
    "forget": (["m.posteriori", "data.csv"], ["--output"]),
    "merge": (["m.posteriori", "m.posteriori"], ["--output"]),
    "structure": (["data.csv"], ["--svg", "--dot", "--output"]),
    "sql": (["m.posteriori"], ["--output"]),
}


@pytest.mark.parametrize("way", ["itself", "symlink", "hard link"])
def test_no_command_writes_over_what_it_reads_or_over_a_file_that_is_read_only(run, data, model, monkeypatch, way):
    monkeypatch.chdir(data.parent)
    data.with_name("costs.csv").write_text(",no,yes\nno,0,10\nyes,1,0\n")
    data.with_name("old.bif").write_text("old")
    data.with_name("old.bif").chmod(0o444)
    before = {file: file.read_bytes() for file in data.parent.iterdir()}
    for command, (words, outputs) in WRITING.items():
        for option, file in itertools.product(outputs, {w for w in words if "." in w} | {"old.bif"}):
            over = data.with_name("link.bif")
            over.unlink(missing_ok=True)
            made = {"symlink": over.symlink_to, "hard link": over.hardlink_to}.get(way)
            if made:
                made(data.with_name(file))
            done = run(command, *words, option, over.name if made else file)
            why = "is read-only" if file == "old.bif" else "which would be lost"
            assert (done.exit_code, why in done.stderr) == (6, True), (command, option, file, done.output)
    assert before.items() <= {file: file.read_bytes() for file in data.parent.iterdir()}.items()
    model.chmod(0o444)
    done = run("learn", model, data)
    assert (done.exit_code, "is read-only" in done.stderr, model.read_bytes()) == (6, True, before[model])


def test_every_option_that_names_an_output_is_looked_at():
    for command in typer.main.get_command(app).commands.values():
        assert [o for o in OUTPUTS if o in (p.name for p in command.params)] == sorted(
            (option.strip("-") for option in WRITING.get(command.name, ([], []))[1]), key=OUTPUTS.index
        )


def test_any_text_can_be_printed_in_any_encoding(run, data, tmp_path):
    text = data.read_text().replace("x", "Köln→")
    data.write_text(text, encoding="utf-8")
    path = tmp_path / "m.posteriori"
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    words = ["train", str(data), "-t", "class", "-m", "naive", "-o", str(path)]
    done = subprocess.run([*MAIN, *words], env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([*MAIN, "inspect", str(path)], env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"K\\xf6ln\\u2192" in done.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_help_to_a_full_disk_and_answers_to_nowhere_are_exit_6(data, model):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*MAIN, "--help"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 6
    assert b"Traceback" not in done.stderr
    shell = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *MAIN, "predict", str(model), str(data)], stderr=subprocess.PIPE, check=False
    )
    assert shell.returncode == 6
    assert b"stdout is closed" in shell.stderr


def test_an_error_without_a_file_names_what_it_was_of():
    assert sentence(OSError(errno.ENOSPC, "no space")) == "the output: no space"
    assert sentence(OSError(errno.EIO, "broken")) == "the file: broken"


@pytest.mark.filterwarnings("always")
def test_a_warning_is_one_line_without_a_place_in_the_code(capsys):
    @guarded
    def warned(quiet=False):
        warnings.warn("one\ntwo", UserWarning, stacklevel=1)

    warned()
    assert capsys.readouterr().err == "warning: one two\n"
    warned(quiet=True)
    assert capsys.readouterr().err == ""


def test_an_error_of_the_program_says_how_to_see_it_and_debug_shows_it(capsys):
    @guarded
    def command(debug=False):
        raise ZeroDivisionError("by zero")

    with pytest.raises(typer.Exit):
        command()
    assert capsys.readouterr().err == "error: by zero (an error of the program: --debug shows where)\n"
    with pytest.raises(ZeroDivisionError):
        command(debug=True)

    @guarded
    def wrong():
        raise errors.BadValue("x")

    with pytest.raises(typer.Exit):
        wrong()
    assert capsys.readouterr().err == "error: x\n"


def test_ctrl_c_is_heard_while_a_command_runs_and_forgotten_after(capsys):
    seen = []

    @guarded
    def command():
        seen.append((signal.getsignal(signal.SIGINT), guard.interrupt.pressed, guard.interrupt.left))
        guard.interrupt.left = "half is there"
        guard.interrupt.check()  # nobody pressed
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    for _ in range(2):
        with pytest.raises(typer.Exit) as ended:
            command()
        assert ended.value.exit_code == 130
        assert signal.getsignal(signal.SIGINT) is before
        assert capsys.readouterr().err == "interrupted: half is there\n"
        assert guard.interrupt.pressed
        with pytest.raises(KeyboardInterrupt):
            guard.interrupt.check()
    assert seen == [(guard.interrupt.press, False, "nothing was written")] * 2
    guard.interrupt.pressed = False


def test_a_command_in_another_thread_hears_no_signal():
    heard = []
    run = guarded(lambda: heard.append(signal.getsignal(signal.SIGINT)))
    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert heard == [before]


def test_a_reader_that_has_enough_ends_the_output_and_is_no_error(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    stream = io.TextIOWrapper(os.fdopen(writer, "wb"))
    monkeypatch.setattr("sys.stdout", stream)

    @guarded
    def command():
        print("x", flush=True)

    with pytest.raises(typer.Exit) as ended:
        command()
    assert ended.value.exit_code == 0
    stream.flush()  # what is left goes nowhere
    stream.close()


def test_an_output_that_is_not_there_yet_is_known_by_its_path(tmp_path):
    with pytest.raises(errors.WriteError, match="is the file of costs, which would be lost"):
        keep_apart(tmp_path / "x" / ".." / "new.csv", file_of_costs=str(tmp_path / "new.csv"))
    keep_apart(tmp_path / "one.csv", table=str(tmp_path / "other.csv"))


@given(st.text())
def test_nothing_that_steers_a_terminal_is_left_and_all_else_stays(text):
    said = plain(text)
    assert not CONTROLS.search(said)
    assert not any(unicodedata.category(c) == "Cc" for c in said)
    assert "\n" not in said
    if not CONTROLS.search(text):
        assert said == text
    assert plain(said) == said


@given(st.text(), st.integers(1, 30))
def test_cut_is_plain_and_no_longer(text, most):
    said = cut(text, most)
    assert len(said) <= most
    assert said == plain(text) or (said.endswith("…") and plain(text).startswith(said[:-1]))


def test_controls_are_written_out():
    assert plain("a\tb\r\n") == "a\\tb\\r\\n"
    assert plain("\x9b\u202e") == "\\x9b\\u202e"
    assert plain(3) == "3"
