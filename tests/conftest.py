"""Shared by all tests: how long hypothesis looks, and what happens when a program is not there."""

from __future__ import annotations

import os
import shutil

import pytest
from hypothesis import HealthCheck, settings

quiet = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("default", max_examples=60, derandomize=True, **quiet)
settings.register_profile("fuzz", max_examples=3000, **quiet)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """`@pytest.mark.needs("java")`: skip with the reason where the program is missing, fail where CI forbids skips."""
    for mark in item.iter_markers("needs"):
        program = mark.args[0]
        if shutil.which(program) is None:
            reason = f"needs {program}, which is not installed"
            if os.environ.get("POSTERIORI_NO_SKIP"):
                pytest.fail(reason)
            pytest.skip(reason)
