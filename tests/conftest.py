"""Shared by all tests: how long hypothesis looks, programs that a test needs, the same name of a test in every process."""

from __future__ import annotations

import fcntl
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
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
