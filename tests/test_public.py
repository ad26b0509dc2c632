"""The face: its names, and what importing it costs."""

from __future__ import annotations

import ast
import os
import pathlib
import subprocess
import sys

import pytest

import posteriori as po

HOUSE = pathlib.Path(po.__file__).parent


@pytest.mark.parametrize("name", sorted(po._HOMES))
def test_every_public_name_is_there(name):
    assert getattr(po, name) is not None
    assert name in dir(po)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'NaiveBays'"):
        _ = po.NaiveBays


@pytest.mark.parametrize("file", sorted(HOUSE.rglob("*.py")), ids=lambda file: str(file.relative_to(HOUSE)))
def test_every_file_says_what_it_is_for(file):
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    assert len(said.split()) >= 5
    assert said.split("\n\n")[0][-1] in ".:;", said


def loaded_after(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in out.stdout.split()}


def test_import_does_no_work():
    assert not loaded_after("import posteriori") & {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "duckdb"}


def test_optional_imports_stay_optional():
    code = "import numpy as np, posteriori as po\npo.NaiveBayes().fit(np.eye(4), [0, 1, 0, 1]).predict(np.eye(4))"
    assert not loaded_after(code) & {"matplotlib", "networkx", "polars", "duckdb", "fastapi"}


def test_a_type_checker_sees_every_public_name(tmp_path):
    """A script under mypy --strict: no name is Any, and what an estimator's fit returns is that estimator."""
    pytest.importorskip("mypy", reason="the wheel is tested without the tools that check the source")
    (tmp_path / "user.py").write_text(
        "import posteriori as po\n"
        + "".join(f"reveal_type(po.{name})\n" for name in sorted(po._HOMES))
        + "reveal_type(po.NaiveBayes(smoothing=0.5).fit([[1]], [1]))\n"
    )
    out = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "user.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(HOUSE.parent)},
        capture_output=True,
        text=True,
    ).stdout
    seen = [line.partition("Revealed type is ")[2].strip('"') for line in out.splitlines() if "Revealed" in line]
    assert len(seen) == len(po._HOMES) + 1, out
    assert "Any" not in seen
    assert seen[-1] == "posteriori.bayes.naive.NaiveBayes"
