"""The shipped kit: fakes, builders and contract suites for everyone who tests with Cadenza."""

from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import FakeClock
from cadenza.testing.fakes import FakeDispatcher
from cadenza.testing.ids import FakeIds
from cadenza.testing.planner import RuleBasedPlanner
from cadenza.testing.quota import FakeQuota
from cadenza.testing.telemetry import FakeLog, FakeTelemetry

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
