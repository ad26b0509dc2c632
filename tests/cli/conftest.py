"""A small table, a model of it, and a way to type commands."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from posteriori.cli.main import app


def typed(*words, **options):
    wide = {"COLUMNS": "300"} | options.pop("env", {})  # a long path must not break a sentence in two
    return CliRunner().invoke(app, [str(w) for w in words], env=wide, **options)


@pytest.fixture
def run():
    return typed


def rows(n=80, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame({"a": rng.normal(size=n) + y, "b": np.where(rng.random(n) < 0.7, y, 1 - y)})
    frame["c"] = rng.choice(["x", "y", "z"], n)
    frame["stage"] = rng.integers(1, 4, n)
    return frame.assign(**{"class": np.array(["no", "yes"])[y]})


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    rows().to_csv(path, index=False)
    return path


@pytest.fixture
def model(data):
    path = data.with_name("m.posteriori")
    done = typed("train", data, "-t", "class", "-m", "naive", "-o", path)
    assert done.exit_code == 0, done.output
    return path
