"""The commands as a person types them."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from posteriori.cli.main import app


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    path = tmp_path / "data.csv"
    frame = pd.DataFrame({"a": rng.normal(size=80) + y, "b": np.where(rng.random(80) < 0.7, y, 1 - y)})
    frame.assign(**{"class": np.array(["no", "yes"])[y]}).to_csv(path, index=False)
    return path


def run(*words, **options):
    return CliRunner().invoke(app, [str(w) for w in words], **options)


def test_help_loads_nothing_heavy():
    script = "import sys\nfrom posteriori.cli.main import main\nsys.argv = ['posteriori', '--help']\n"
    script += "try: main()\nexcept SystemExit: pass\nprint(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "compare" in out
    heavy = {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "duckdb"}
    assert not heavy & {name.split(".")[0] for name in out.splitlines()[-1].split()}


def test_compare_prints_a_leaderboard(data):
    done = run("compare", data, "--target", "class", "--model", "naive", "--model", "tan", "--cv", 3)
    assert done.exit_code == 0, done.output
    assert "a       numeric" in done.stdout
    assert "log loss" in done.stdout
    assert "naive" in done.stdout


def test_compare_in_json(data):
    done = run("compare", data, "-t", "class", "-m", "naive", "--cv", 3, "--json")
    assert json.loads(done.stdout)["models"][0]["model"] == "naive"


def test_a_misspelt_target_is_one_line_with_the_nearest_match(data):
    done = run("compare", data, "-t", "clas")
    assert done.exit_code == 4
    assert "did you mean 'class'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
