"""The commands as a person types them."""

from __future__ import annotations

import io
import json
import os
import pathlib
import subprocess
import sys

import pytest

import posteriori as po
from posteriori.cli.main import main


def test_help_loads_nothing_heavy():
    script = "import sys\nfrom posteriori.cli.main import main\nsys.argv = ['posteriori', '--help']\n"
    script += "try: main()\nexcept SystemExit: pass\nprint(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "compare" in out
    heavy = {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "duckdb"}
    assert not heavy & {name.split(".")[0] for name in out.splitlines()[-1].split()}


def test_compare_prints_a_leaderboard(run, data):
    done = run("compare", data, "--target", "class", "--model", "naive", "--model", "tan", "--cv", 3)
    assert done.exit_code == 0, done.output
    assert "a       numeric" in done.stdout
    assert "log loss" in done.stdout
    assert "naive" in done.stdout


def test_compare_in_json(run, data):
    done = run("compare", data, "-t", "class", "-m", "naive", "--cv", 3, "--json")
    assert json.loads(done.stdout)["models"][0]["model"] == "naive"


def test_a_misspelt_target_is_one_line_with_the_nearest_match(run, data):
    done = run("compare", data, "-t", "clas")
    assert done.exit_code == 4
    assert "did you mean 'class'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_train_saves_the_best_that_a_file_holds_and_says_what_next(run, data, monkeypatch):
    monkeypatch.chdir(data.parent)
    done = run("train", "data.csv", "-t", "class", "--cv", 2)
    assert done.exit_code == 0, done.output
    assert "posteriori predict data.posteriori" in done.stdout
    model = po.load(data.parent / "data.posteriori")
    assert model.kinds.target == "class"
    assert model.predict({"a": [3.0], "b": [1], "c": ["x"], "stage": [1]}).tolist() == ["yes"]


def test_train_of_a_named_model_needs_no_leaderboard(run, data, tmp_path):
    done = run("train", data, "-t", "class", "-m", "tan", "-o", tmp_path / "m.posteriori", "--json")
    told = json.loads(done.stdout)
    assert (told["model"], told["leaderboard"]) == ("tan", None)
    assert type(po.load(tmp_path / "m.posteriori")).__name__ == "TAN"


@pytest.mark.parametrize(("model", "code"), [("forest", 5), ("naiv", 5)])
def test_models_that_no_file_holds_are_named(run, data, model, code):
    done = run("train", data, "-t", "class", "-m", model)
    assert done.exit_code == code
    assert "naive" in done.stderr


@pytest.mark.skipif(not pathlib.Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_stdout_is_an_output_that_cannot_be_written(data, model):
    words = [sys.executable, "-c", "from posteriori.cli.main import main; main()", "predict", str(model), str(data)]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 6
    assert "Traceback" not in done.stderr


def test_a_shell_is_offered_every_model():
    from posteriori.cli import main, train
    from posteriori.leaderboard.lineup import lineup

    assert main.OURS == train.OURS
    assert set(main.OURS) | set(main.OTHERS) == set(lineup())
    assert main.words("naive", "network", "tan")("n") == ["naive", "network"]


@pytest.mark.skipif(not pathlib.Path("/bin/sh").exists(), reason="no shell here")
def test_a_reader_that_has_enough_is_no_error(data, model):
    command = f'{sys.executable} -c "from posteriori.cli.main import main; main()"'
    script = f'( {command} inspect "{model}"; echo $? >&2 ) | true'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "0"


def ended(monkeypatch, stream, app):
    """The exit code of `main` that writes to a stream."""
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setattr("posteriori.cli.main.app", app)
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


def leave(code):
    print("x")
    sys.exit(code)


def broken():
    raise OSError(28, "no space")


def test_the_exit_code_is_that_of_the_command(monkeypatch, capsys):
    assert ended(monkeypatch, io.TextIOWrapper(io.BytesIO()), lambda: None) == 0
    assert ended(monkeypatch, io.TextIOWrapper(io.BytesIO()), lambda: leave(3)) == 3
    assert ended(monkeypatch, io.TextIOWrapper(io.BytesIO()), broken) == 6
    assert capsys.readouterr().err == "error: the output: no space\n"


@pytest.mark.skipif(not pathlib.Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(("code", "found"), [(0, 6), (3, 3)])
def test_an_output_that_is_full_at_the_end_is_exit_6_and_the_rest_goes_nowhere(monkeypatch, code, found):
    stream = io.TextIOWrapper(open("/dev/full", "wb"))  # noqa: SIM115
    assert ended(monkeypatch, stream, lambda: leave(code)) == found
    stream.flush()
    stream.close()


def test_a_reader_that_left_before_the_end_is_no_error(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    stream = io.TextIOWrapper(os.fdopen(writer, "wb"))
    assert ended(monkeypatch, stream, lambda: leave(0)) == 0
    stream.flush()
    stream.close()


def test_a_closed_output_is_nowhere_and_any_text_can_be_printed(monkeypatch):
    assert ended(monkeypatch, None, lambda: print("x")) == 0
    sys.stdout.close()
    bytes_ = io.BytesIO()
    stream = io.TextIOWrapper(bytes_, encoding="ascii", newline="\n")
    assert ended(monkeypatch, stream, lambda: print("Köln")) == 0
    assert bytes_.getvalue() == b"K\\xf6ln\n"


def test_help_and_version(run):
    assert run("--version").stdout == f"{po.__version__}\n"
    for words in ((), ("-h",), ("train", "-h"), ("--help",)):
        done = run(*words)
        assert "Usage: " in done.output
        assert "130 Ctrl-C" in done.output


def test_a_closed_stdin_is_an_empty_table(model):
    words = [sys.executable, "-c", "from posteriori.cli.main import main; main()", "predict", str(model), "-"]
    done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.endswith("is empty\n")


def test_an_import_that_ctrl_c_ends_by_an_error_of_its_own_is_130(tmp_path):
    (tmp_path / "typer.py").write_text(
        "class Named:\n"
        "    def __set_name__(self, owner, name):\n"
        "        raise KeyboardInterrupt\n"
        "try:\n"
        "    class Has:\n"
        "        it = Named()\n"
        "except RuntimeError:\n"
        "    raise\n"
        "except KeyboardInterrupt as ended:  # since Python 3.12\n"
        "    raise RuntimeError from ended\n"
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from posteriori.cli.main import main"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")
