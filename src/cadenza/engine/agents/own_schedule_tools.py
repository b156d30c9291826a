"""The tools of a turn that a schedule started: they steer this schedule alone, or say there is no news."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from cadenza.domain.agents.pacing import Finish, Pacing, SelfPause, pace
from cadenza.domain.agents.schedule import prompt_of, schedule_not_found
from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.field_faults import unknown_field
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.plan import SOURCE_REASONS
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.validation import check_text, iso
from cadenza.engine.steering_commands import ProposeInterval, ProposeNextTime, wire_moment
from cadenza.ports.agents import AgentTool
from cadenza.ports.clock import Clock, CronCalculator
from cadenza.ports.scheduling import EndpointStore

REASON = {"type": "string", "description": "Why; the user reads it."}
TTL = {"type": "number", "description": "How many minutes this holds."}


def _tool(
    name: str, description: str, *required: str, ends_turn: bool = False, **properties: Mapping[str, Any]
) -> AgentTool:
    schema = {
        "type": "object",
        "properties": {**properties, "reason": REASON},
        "required": [*required],
        "additionalProperties": False,
    }
    return AgentTool(name, description, schema, ends_turn)


NOTHING_TO_REPORT = _tool(
    "nothing_to_report",
    "Say that there is nothing the user needs to be told now, and end this turn. No message is delivered.",
    ends_turn=True,
)
SET_NEXT_TIME = _tool(
    "set_next_time",
    "Fire this schedule once at another moment, beside its regular times: give nextRunInMs or nextRunAtIso.",
    nextRunInMs={"type": "integer", "minimum": 0, "description": "Milliseconds from now."},
    nextRunAtIso={"type": "string", "format": "date-time"},
    ttlMinutes=TTL,
)
SET_INTERVAL = _tool(
    "set_interval",
    "Fire this schedule every intervalMs for ttlMinutes, within its bounds; then it falls back to its own"
    " times.",
    "intervalMs",
    "reason",
    intervalMs={"type": "integer", "minimum": 1},
    ttlMinutes=TTL,
)
PAUSE_SCHEDULE = _tool(
    "pause_schedule",
    "Do not fire this schedule until a moment.",
    "until",
    "reason",
    until={"type": "string", "format": "date-time"},
)
FINISH_SCHEDULE = _tool(
    "finish_schedule",
    "This schedule has done its duty: it does not fire again. Its user can still see it, and resume it.",
    "reason",
)
PACING_TOOLS = (SET_NEXT_TIME, SET_INTERVAL, PAUSE_SCHEDULE, FINISH_SCHEDULE)


class _Call(NamedTuple):
    """One call: what it asks for, with all that was asked for before in the turn."""

    asked: Pacing
    alone: Pacing


class OwnScheduleTools:
    """Collects what one turn asks of the schedule that started it; the run's commit applies it."""

    def __init__(self, claim: Claim, *, store: EndpointStore, clock: Clock, cron: CronCalculator) -> None:
        target = prompt_of(claim.endpoint)
        self._key, self._started_at = claim.key, claim.started_at
        self._store, self._clock, self._cron = store, clock, cron
        self.offered = (NOTHING_TO_REPORT, *(PACING_TOOLS if target.may_pace else ()))
        self._origin = f"agent:{target.agent_id}"
        self.start_over()

    def start_over(self) -> None:
        """Take back all that was asked for."""
        self.pacing = Pacing(origin=self._origin)
        self.is_silent = False
        """Whether the turn has nothing to report."""
        self.silent_reason: str | None = None

    def has(self, name: str) -> bool:
        """Whether it is one of these tools, and is offered."""
        return any(tool.name == name for tool in self.offered)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Json:
        """Note what is asked for, and answer when the schedule would fire next.

        Conflict if what a person decided keeps it off; nothing is changed before the turn has answered.
        """
        if name == NOTHING_TO_REPORT.name:
            self.silent_reason = _reason(arguments, NOTHING_TO_REPORT)
            self.is_silent = True
            return {"noted": True}
        now = self._clock.now()
        call = self._read(name, arguments, now)
        endpoint = await self._store.get(self._key)
        if endpoint.archived:
            raise schedule_not_found(endpoint.id)
        answer = self._checked(self._after_turn(endpoint, now), call, now)
        self.pacing = call.asked
        return answer

    def _read(self, name: str, arguments: Mapping[str, Any], now: datetime) -> _Call:
        change = READ[name](arguments, now)
        return _Call(replace(self.pacing, **change), replace(Pacing(origin=self.pacing.origin), **change))

    def _after_turn(self, endpoint: Endpoint, now: datetime) -> Endpoint:
        """The schedule as it will be when this turn has ended."""
        return evolve(endpoint, lease=None, open_slot=None, last_run_at=self._started_at or now)

    def _checked(self, endpoint: Endpoint, call: _Call, now: datetime) -> Json:
        refused = [one.not_applied for one in pace(endpoint, call.alone, now=now, cron=self._cron).records]
        if any(refused):
            raise Conflict(f"Not applied, because {refused[0]}.")
        paced = pace(endpoint, call.asked, now=now, cron=self._cron)
        if paced.is_finished:
            return {"applied": "with your answer", "next_run_at": None, "why": "it does not fire again"}
        plan = plan_next_run(now, paced.endpoint, self._cron)
        moment = None if plan.next_run_at is None else iso(plan.next_run_at)
        return {"applied": "with your answer", "next_run_at": moment, "why": SOURCE_REASONS[plan.source]}


def _reason(arguments: Mapping[str, Any], tool: AgentTool) -> str | None:
    """The reason of a call; InvalidRequest without one that is needed, or with arguments it does not take."""
    known = tool.schema["properties"]
    for field in arguments:
        if field not in known:
            raise InvalidRequest(unknown_field(str(field)[:60], known), str(field)[:60])
    reason = arguments.get("reason")
    if reason is None and "reason" not in tool.schema["required"]:
        return None
    if reason is None or not check_text("reason", reason).strip():
        raise InvalidRequest("reason must say why: the user reads it.", "reason")
    return str(reason)


def _next_time(arguments: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    _reason(arguments, SET_NEXT_TIME)
    return {"next_time": ProposeNextTime.parse(arguments).hint(now)}


def _interval(arguments: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    _reason(arguments, SET_INTERVAL)
    return {"interval": ProposeInterval.parse(arguments).hint(now)}


def _pause(arguments: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    reason, until = _reason(arguments, PAUSE_SCHEDULE), wire_moment("until", arguments.get("until"))
    if until <= now:
        raise InvalidRequest(f"until {iso(until)} is in the past: it is {iso(now)} now.", "until")
    return {"pause": SelfPause(until, reason)}


def _finish(arguments: Mapping[str, Any], _: datetime) -> dict[str, Any]:
    return {"finish": Finish(_reason(arguments, FINISH_SCHEDULE))}


READ = {
    SET_NEXT_TIME.name: _next_time,
    SET_INTERVAL.name: _interval,
    PAUSE_SCHEDULE.name: _pause,
    FINISH_SCHEDULE.name: _finish,
}
