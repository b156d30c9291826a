"""How hard the properties are tried: quickly by default, at length with CADENZA_SOAK."""

import os

from hypothesis import HealthCheck, settings

# Endpoints have many parts, and a busy machine draws them slowly; neither says anything about a rule.
SLOW_IS_FINE = (HealthCheck.too_slow, HealthCheck.data_too_large)

settings.register_profile(
    "default", max_examples=60, deadline=None, print_blob=True, suppress_health_check=SLOW_IS_FINE
)
settings.register_profile("soak", settings.get_profile("default"), max_examples=5_000)
settings.load_profile("soak" if os.environ.get("CADENZA_SOAK") else "default")
