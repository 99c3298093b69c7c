"""Profiles of hypothesis: a few fixed examples by default; PROPERTIES=nightly tries many more."""

import os

from hypothesis import HealthCheck, settings

COMMON = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
}
settings.register_profile("gate", max_examples=25, **COMMON)
settings.register_profile("nightly", max_examples=1000, **COMMON)
settings.load_profile(os.environ.get("PROPERTIES", "gate"))
