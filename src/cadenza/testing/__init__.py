"""The shipped kit: fakes, builders and contract suites for everyone who tests with Cadenza."""

from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import FakeClock
from cadenza.testing.fakes import FakeDispatcher, FakeIds, FakeLog, FakeQuota, FakeTelemetry, RuleBasedPlanner

__all__ = [
    "FakeClock",
    "FakeDispatcher",
    "FakeIds",
    "FakeLog",
    "FakeQuota",
    "FakeTelemetry",
    "RuleBasedPlanner",
    "an_endpoint",
]
