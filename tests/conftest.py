"""Shared by all tests: how long hypothesis looks, and that a test has the same name in every process."""

from __future__ import annotations

import os

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
