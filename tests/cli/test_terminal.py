"""The command line in a real terminal: progress, widths, no colour, Ctrl-C in the middle."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import sys

import numpy as np
import pandas as pd
import pexpect
import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no pty here")
COMMAND = [sys.executable, "-c", "from posteriori.cli.main import main; main()"]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def spawn(*words, cwd, width=100, **env):
    told = {**os.environ, "TERM": "xterm-256color", **env}
    told.pop("COLUMNS", None)
    return pexpect.spawn(
        COMMAND[0], [*COMMAND[1:], *map(str, words)], cwd=str(cwd), dimensions=(50, width), env=told, encoding="utf-8",
        timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("width", [60, 100, 200])
def test_lines_fit_the_terminal(data, width):
    child = spawn("train", "data.csv", "-t", "class", "-m", "naive", "--cv", 2, cwd=data.parent, width=width)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0, child.before
    shown = [ESCAPES.sub("", part) for part in child.before.replace("\r\n", "\n").split("\n")]
    shown = [line.rsplit("\r", 1)[-1] for line in shown]
    (told,) = [line for line in shown if line.startswith("next: ")]  # whole, to be copied
    assert told == "next: posteriori predict data.posteriori new_rows.csv -o answers.csv"
    assert max(len(line) for line in shown if line != told) <= width
    assert any(line.startswith("model") and "log loss" in line for line in shown)
    assert (data.parent / "data.posteriori").exists()


def test_progress_names_the_model_and_the_time_left(data):
    child = spawn("compare", "data.csv", "-t", "class", "--cv", 4, cwd=data.parent)
    child.expect("fold 1")
    child.expect("left")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_colour_is_there_and_goes_with_no_color(data):
    found = {}
    for name, env in (("usual", {}), ("plain", {"NO_COLOR": "1"})):
        child = spawn("compare", "data.csv", "-t", "class", "-m", "naive", "--cv", 2, cwd=data.parent, **env)
        child.expect(pexpect.EOF)
        found[name] = child.before
    assert re.search(r"\x1b\[(?:\d+;)*3\dm", found["usual"])
    assert not re.search(r"\x1b\[(?:\d+;)*3\dm", found["plain"])


def test_ctrl_c_in_the_middle_leaves_nothing(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(4000, 20)), columns=[f"x{j}" for j in range(20)])
    frame["class"] = np.where(frame.sum(axis=1) + rng.normal(size=4000) > 0, "yes", "no")
    frame.to_csv(tmp_path / "d.csv", index=False)
    before = sorted(os.listdir(tmp_path))
    child = spawn("train", "d.csv", "-t", "class", cwd=tmp_path)
    child.expect("fold 1, ")
    child.sendintr()
    child.expect("interrupted")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert "Traceback" not in child.before
    assert sorted(os.listdir(tmp_path)) == before


def test_completion_is_there():
    script = shutil.which("bash")
    if script is None:
        pytest.skip("no bash here")
    env = {**os.environ, "_POSTERIORI_COMPLETE": "complete_bash", "COMP_WORDS": "posteriori tr", "COMP_CWORD": "1"}
    child = pexpect.spawn(
        str(pathlib.Path(sys.executable).with_name("posteriori")), env=env, encoding="utf-8", timeout=30
    )
    child.expect(pexpect.EOF)
    assert "train" in child.before
