"""Shared by all tests: how long hypothesis looks."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

quiet = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("default", max_examples=60, derandomize=True, **quiet)
settings.register_profile("fuzz", max_examples=3000, **quiet)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
