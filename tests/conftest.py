"""Shared by all tests: how long hypothesis looks, programs that a test needs, the same name of a test in every process."""

from __future__ import annotations

import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest
import sklearn
from hypothesis import HealthCheck, Phase, settings

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
    """`@pytest.mark.needs("chromium")`: installed where that may be (root, apt), else skipped with the reason; where
    POSTERIORI_NO_SKIP is set (CI) that is a failure."""
    for mark in item.iter_markers("needs"):
        program = mark.args[0]
        why = "" if shutil.which(program) else installed(program)
        if shutil.which(program) is None:
            reason = f"needs {program}, which is not installed: {why}"
            print(reason)
            (pytest.fail if os.environ.get("POSTERIORI_NO_SKIP") else pytest.skip)(reason)


def installed(program):
    """Install a Debian package of that name, one process at a time and once; what went wrong, or nothing."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return "only root can install it, and only with apt"
    tried = pathlib.Path(tempfile.gettempdir(), f"posteriori-{program}-{os.getppid()}.tried")
    with pathlib.Path(tempfile.gettempdir(), "posteriori-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if shutil.which(program) or tried.exists():
            return "apt-get did not install it"
        tried.touch()
        quiet = {"env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, "capture_output": True, "text": True}
        for command in (["update"], ["install", "-y", "--no-install-recommends", program]):
            try:
                done = subprocess.run(["apt-get", "-q", *command], timeout=600, check=False, **quiet)
            except subprocess.TimeoutExpired:
                return f"apt-get {command[0]} took over ten minutes"
        return "" if done.returncode == 0 else done.stderr.strip()[-300:]


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
