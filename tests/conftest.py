"""How many examples the property tests try, how long a test may take, and in which order files run."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# Endpoints have many parts, and a busy machine draws them slowly; neither says anything about a rule.
SLOW_IS_FINE = (HealthCheck.too_slow, HealthCheck.data_too_large)

# Without --soak the same examples are tried every time, so that a failure is about the change at hand;
# --soak looks for new ones.
settings.register_profile(
    "default",
    max_examples=80,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=SLOW_IS_FINE,
)
settings.register_profile("quick", settings.get_profile("default"), max_examples=10)
settings.register_profile("soak", settings.get_profile("default"), max_examples=5_000, derandomize=False)
# Programs that tests start take any port that is free, so that several can run at a time.
os.environ.setdefault("CADENZA_PORT", "0")
# Whoever starts the tests in the background leaves them deaf to it, and every program that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

PROFILES = {"CADENZA_SOAK": "soak", "CADENZA_TEST_QUICK": "quick"}
"""What `scripts/test --soak` and `--quick` set."""
settings.load_profile(next((PROFILES[name] for name in PROFILES if os.environ.get(name)), "default"))
if os.environ.get("CADENZA_SOAK"):
    os.environ.setdefault("PYTEST_TIMEOUT", str(6 * 3600))

LONG_FIRST = ("simulation", "browser", "contract", "surfaces", "faults", "docs", "integration")
"""Processes take files in this order, so that none is left alone with a long one at the end."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    rank = {folder: place for place, folder in enumerate(LONG_FIRST)}
    tests = config.rootpath / "tests"
    items.sort(key=lambda item: rank.get(item.path.relative_to(tests).parts[0], len(rank)))
