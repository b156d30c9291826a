"""Fakes of the ports: dispatcher, ids, quota, telemetry, log, and a planner of plain rules."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any, NamedTuple

from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.ports.access import QuotaAnswer, QuotaKind, QuotaRequest
from cadenza.ports.planning import EMPTY_RESULT, Briefing, CallTool, PlannerResult
from cadenza.ports.telemetry import Measurements, Metadata

Behaviour = Callable[[Claim], Awaitable[Outcome] | Outcome]


class FakeDispatcher:
    """Succeeds, unless an endpoint's name was given another behaviour; remembers what it ran."""

    def __init__(self, *, duration_ms: int = 0) -> None:
        self.executed: list[Claim] = []
        self._success = Outcome(RunStatus.SUCCESS, duration_ms)
        self._behaviours: dict[str, Behaviour] = {}

    def on(self, name: str, behaviour: Behaviour) -> None:
        """From now on, endpoints of this name behave like this."""
        self._behaviours[name] = behaviour

    def fails(self, name: str, error: str = "it failed") -> None:
        """From now on, endpoints of this name fail."""
        self.on(name, lambda _: Outcome(RunStatus.FAILURE, error=error))

    def succeeds(self, name: str) -> None:
        """From now on, endpoints of this name succeed again."""
        self._behaviours.pop(name, None)

    async def execute(self, claim: Claim) -> Outcome:
        """Behave as set, or succeed."""
        self.executed.append(claim)
        behaviour = self._behaviours.get(claim.endpoint.name)
        if behaviour is None:
            return self._success
        outcome = behaviour(claim)
        return await outcome if isinstance(outcome, Awaitable) else outcome

    def names(self) -> list[str]:
        """The names of what ran, in order."""
        return [claim.endpoint.name for claim in self.executed]


class FakeIds:
    """The same ids in the same order, every time."""

    def __init__(self, prefix: str = "id") -> None:
        self._prefix = prefix
        self._numbers = count(1)

    def new(self) -> str:
        """The next one."""
        return f"{self._prefix}-{next(self._numbers):06}"


Condition = Callable[[Briefing], bool]


class PlannerRule(NamedTuple):
    """A condition on a briefing, and the tool to call when it holds."""

    when: Condition
    tool: str
    arguments: Mapping[str, Any]


class RuleBasedPlanner:
    """Calls the tool of the first rule whose condition holds."""

    def __init__(self, *rules: PlannerRule) -> None:
        self._rules = rules

    @property
    def name(self) -> str:
        """The name its analyses are recorded under."""
        return "rules"

    def wants(self, briefing: Briefing) -> bool:
        """Whether a rule matches."""
        return any(rule.when(briefing) for rule in self._rules)

    async def sit(self, briefing: Briefing, call: CallTool) -> PlannerResult:
        """Act on the first rule that matches, if any."""
        for rule in self._rules:
            if rule.when(briefing):
                await call(briefing.endpoint, rule.tool, rule.arguments)
                return PlannerResult(f"{rule.tool}, because its rule matches")
        return EMPTY_RESULT


class FakeQuota:
    """Open for everyone until it is closed for a tenant."""

    def __init__(self) -> None:
        self.asked: list[QuotaRequest] = []
        self._closed: dict[tuple[QuotaKind, str], datetime] = {}

    def close(
        self, opens_at: datetime, *, tenant_id: str = "default", kind: QuotaKind = QuotaKind.ENDPOINT
    ) -> None:
        """Refuse this tenant until it is opened again, and promise this moment."""
        self._closed[kind, tenant_id] = opens_at

    def open(self, *, tenant_id: str = "default", kind: QuotaKind = QuotaKind.ENDPOINT) -> None:
        """Allow this tenant again."""
        self._closed.pop((kind, tenant_id), None)

    async def check(self, requests: Sequence[QuotaRequest]) -> list[QuotaAnswer]:
        """Answer by what was closed."""
        self.asked.extend(requests)
        return [QuotaAnswer(self._closed.get((request.kind, request.tenant_id))) for request in requests]


class EmittedEvent(NamedTuple):
    """An event that was emitted."""

    name: str
    measurements: Measurements
    metadata: Metadata


class FakeTelemetry:
    """Keeps every event."""

    def __init__(self) -> None:
        self.events: list[EmittedEvent] = []

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Keep it."""
        self.events.append(EmittedEvent(event, measurements, metadata))


class LogLine(NamedTuple):
    """A line that was logged."""

    level: str
    event: str
    facts: dict[str, object]


class FakeLog:
    """Keeps every line, debug included."""

    def __init__(self) -> None:
        self.lines: list[LogLine] = []

    @property
    def verbose(self) -> bool:
        """Always."""
        return True

    def debug(self, event: str, **facts: object) -> None:
        """Keep a detail."""
        self.lines.append(LogLine("debug", event, facts))

    def info(self, event: str, **facts: object) -> None:
        """Keep a fact."""
        self.lines.append(LogLine("info", event, facts))

    def warning(self, event: str, **facts: object) -> None:
        """Keep a warning."""
        self.lines.append(LogLine("warning", event, facts))

    def error(self, event: str, **facts: object) -> None:
        """Keep an error."""
        self.lines.append(LogLine("error", event, facts))

    def events(self, level: str | None = None) -> list[str]:
        """The texts of the lines, in order."""
        return [line.event for line in self.lines if level in (None, line.level)]
