"""Shared by all tests: how long hypothesis looks, programs that a test needs, the same name of a test in every process."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest
import sklearn
from hypothesis import HealthCheck, Phase, settings

from .programs import found, installed

quiet = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("default", max_examples=60, derandomize=True, **quiet)
settings.register_profile("fuzz", max_examples=3000, **quiet)
settings.register_profile("mutants", settings.get_profile("default"), phases=(Phase.explicit, Phase.generate))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_collection_modifyitems(items):
    """A name with an address in it differs from process to process: parallel runs refuse it, so every run does."""
    if named := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"a parameter is named by its address in {named[0]}; give it an id of its own")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """`@pytest.mark.needs("chromium")`, or with the name of its Debian package: installed where that may be (root, apt),
    else skipped with the reason; where POSTERIORI_NO_SKIP is set (CI) that is a failure."""
    for mark in item.iter_markers("needs"):
        program, package = (*mark.args, mark.args[0])[:2]
        why = "" if found(program) else installed(program, package)
        if why:
            reason = f"needs {program}, which is not installed: {why}"
            print(reason)
            (pytest.fail if os.environ.get("POSTERIORI_NO_SKIP") else pytest.skip)(reason)


THEIR_FIXTURES = """
import numpy as np
import pytest

@pytest.fixture(params=[42])
def global_random_seed(request):
    return request.param

@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request):
    return request.param
"""


@pytest.fixture
def run_scikit_learns_own(tmp_path):
    """Run a test file of scikit-learn's wheel with our imports: (how many passed, what pytest said).

    `ours` has what is written in place of each pattern, once; `left_out` why tests are left out, by words of their names (a
    function's whole name ends in "[").
    """

    def run(path, ours, left_out):
        import posteriori

        source = (pathlib.Path(sklearn.__file__).parent / path).read_text()
        for theirs, own in ours.items():
            source, times = re.subn(theirs, own, source, flags=re.M)
            assert times == 1, theirs
        (tmp_path / "test_copy.py").write_text(source)
        (tmp_path / "conftest.py").write_text(THEIR_FIXTURES)
        without = " and ".join(f"not {name}" for name in left_out if not name.endswith("["))
        deselect = [f"--deselect=test_copy.py::{name[:-1]}" for name in left_out if name.endswith("[")]
        quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *quiet, "-k", without, *deselect, "."],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(pathlib.Path(posteriori.__file__).parents[1])},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-4000:]
        passed = re.search(r"(\d+) passed", done.stdout)
        return int(passed[1]) if passed else 0, done.stdout[-500:]

    return run


def pytest_configure(config):
    """Small tables of tests have few numbers; `tests/table/test_kinds.py` hears the warning."""
    config.addinivalue_line("filterwarnings", "ignore:columns? .* different whole numbers, beside words")
