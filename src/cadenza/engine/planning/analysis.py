"""One sitting of one planner: bounded in time and calls, within its job, and recorded whatever comes."""

import asyncio
import json
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from cadenza.domain.errors import CadenzaError, InvalidRequest, NotAllowed, NotFound
from cadenza.domain.json_values import Json
from cadenza.domain.planning.analysis import Analysis, Tokens, ToolCall
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.validation import LONGEST_SPAN_MS, LONGEST_TEXT, iso, milliseconds, quoted
from cadenza.engine.steering import COMMANDS, Steering
from cadenza.engine.steering_commands import SteeringCommand, SteeringContext
from cadenza.ports.planning import Briefing, Planner, PlannerResult
from cadenza.ports.telemetry import Logger

LONGEST_REASONING = 8_000
LONGEST_ARGUMENTS = 4_000
SOONEST_LOOK_MS = 1_000
TO_LEAVE_S = 1.0


class Seat(NamedTuple):
    """A planner, and what it may take up."""

    planner: Planner
    timeout_ms: int = 10_000
    most_calls: int = 20
    spends: bool = False
    """Whether it spends tokens, so that the quota is asked first."""
    health: bool = False
    """Whether it wants to be told the endpoint's health, which takes the longest to read."""

    @property
    def name(self) -> str:
        """What its sittings are recorded as."""
        return self.planner.name


class _TooLate(Exception):
    """A sitting took too long."""


class Sat(NamedTuple):
    """How a sitting went."""

    sitting: PlannerResult
    calls: tuple[ToolCall, ...]
    steered: frozenset[str]
    """The ids of the endpoints that it steered."""

    @property
    def is_news(self) -> bool:
        """Is there anything to record?"""
        sitting = self.sitting
        return bool(sitting.reasoning or sitting.error or self.calls or sitting.tokens.total)

    def look_again_at(self, now: datetime) -> datetime | None:
        """When to look again; a wish that makes no sense is none."""
        wish = self.sitting.look_again_ms
        if type(wish) is not int:
            return None
        return now + milliseconds(min(max(wish, SOONEST_LOOK_MS), LONGEST_SPAN_MS))

    def recorded(self, briefing: Briefing, planner: str, *, analysis_id: str, took_ms: int) -> Analysis:
        """The record of it."""
        endpoint, sitting = briefing.endpoint, self.sitting
        return Analysis(
            id=analysis_id,
            tenant_id=endpoint.tenant_id,
            job_id=endpoint.job_id,
            endpoint_id=endpoint.id,
            planner=planner,
            trigger=briefing.trigger,
            began_at=briefing.now,
            duration_ms=took_ms,
            reasoning=sitting.reasoning[:LONGEST_REASONING],
            calls=self.calls,
            tokens=sitting.tokens,
            look_again_at=self.look_again_at(briefing.now),
            shadow=sitting.shadow,
            error=None if sitting.error is None else sitting.error[:LONGEST_TEXT],
        )


class Hands:
    """The tools as a sitting may use them: on its endpoint and its siblings, so often, until it ends."""

    def __init__(self, seat: Seat, briefing: Briefing, steering: Steering) -> None:
        self._seat = seat
        self._job_id = briefing.endpoint.job_id
        self._within = {one.key for one in (briefing.endpoint, *briefing.siblings.values())}
        self._steering = steering
        self._tied = False
        self.calls: list[ToolCall] = []
        self.steered: set[str] = set()
        self.too_many = False

    def tie(self) -> None:
        """The sitting is over: whatever it calls from now on is refused."""
        self._tied = True

    async def call(self, endpoint: Endpoint, tool: str, arguments: Mapping[str, Any]) -> ChangedEndpoint:
        """Call a tool; what came of it is recorded."""
        if self._tied:
            raise NotAllowed("The sitting is over.")
        if len(self.calls) >= self._seat.most_calls:
            self.too_many = True
            raise NotAllowed(f"A sitting may call at most {self._seat.most_calls} tools.")
        place = len(self.calls)
        made = ToolCall(str(tool)[:100], str(endpoint.id)[:200], _recordable(arguments))
        self.calls.append(made._replace(error="It was not heard to the end."))
        try:
            amended = await self._steer(endpoint, tool, arguments)
        except Exception as problem:
            self.calls[place] = made._replace(error=said(problem))
            raise
        self.steered.add(endpoint.id)
        self.calls[place] = made._replace(result=_result(amended.endpoint))
        return amended

    async def _steer(self, endpoint: Endpoint, tool: str, arguments: Mapping[str, Any]) -> ChangedEndpoint:
        if endpoint.key not in self._within:
            raise NotAllowed(f"{quoted(endpoint.id)} is not this endpoint, nor one of its siblings.")
        command = COMMANDS.get(str(tool))
        if command is None:
            raise InvalidRequest(f"There is no tool {quoted(tool)}; there are {', '.join(COMMANDS)}.", "tool")
        within = _Within(command.parse(arguments), self._job_id)
        return await self._steering.steer(endpoint.key, within, origin=f"planner:{self._seat.name}")


class _Within:
    """A tool that looks, in the same commit, whether the endpoint is still there and of this job."""

    def __init__(self, command: SteeringCommand, job_id: str) -> None:
        self._command = command
        self._job_id = job_id

    def apply(self, endpoint: Endpoint, by: SteeringContext) -> ChangedEndpoint:
        """The endpoint after this call."""
        if endpoint.archived or endpoint.job_id != self._job_id:
            raise NotFound(f"There is no endpoint {endpoint.id} in this job any more.")
        return self._command.apply(endpoint, by)


async def analyze(seat: Seat, briefing: Briefing, *, steering: Steering, log: Logger) -> Sat:
    """Let a planner think and act; whatever it does wrong is how its sitting ended."""
    hands = Hands(seat, briefing, steering)
    try:
        sitting = _checked(await _within_time(seat.planner.sit(briefing, hands.call), seat, log))
    except _TooLate:
        sitting = _failed(f"It did not come to an end within {seat.timeout_ms} ms.")
    except Exception as problem:  # noqa: BLE001 - a planner's bug costs its own sitting alone
        sitting = _failed(said(problem))
    finally:
        hands.tie()
    if hands.too_many and sitting.error is None:
        sitting = sitting._replace(error=f"It called more than {seat.most_calls} tools.")
    return Sat(sitting, tuple(hands.calls), frozenset(hands.steered))


async def _within_time(work: Coroutine[Any, Any, PlannerResult], seat: Seat, log: Logger) -> PlannerResult:
    """Its answer, if there is one in time. Who does not leave when asked is left alone."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seat.timeout_ms / 1_000)
        if task.done():
            return _failed("It gave up.") if task.cancelled() else task.result()
    finally:
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task}, timeout=TO_LEAVE_S)
    if not task.done():
        log.warning("a planner does not stop when it is asked to", planner=seat.name)
    raise _TooLate


def said(problem: BaseException) -> str:
    """A problem as it is recorded."""
    if isinstance(problem, CadenzaError):
        return problem.message[:LONGEST_TEXT]
    try:
        return f"{type(problem).__name__}: {problem}"[:LONGEST_TEXT]
    except Exception:  # noqa: BLE001 - it cannot even say what went wrong
        return type(problem).__name__


def _checked(answer: object) -> PlannerResult:
    """An answer that can be recorded."""
    if not isinstance(answer, PlannerResult) or not isinstance(answer.tokens, Tokens):
        return _failed(f"It answered {quoted(answer)}, which is no end of a sitting.")
    error = None if answer.error is None else str(answer.error)
    tokens = Tokens(*(max(0, int(count)) for count in answer.tokens))
    return answer._replace(reasoning=str(answer.reasoning), error=error, tokens=tokens)


def _failed(error: str) -> PlannerResult:
    return PlannerResult(error=error)


def _result(endpoint: Endpoint) -> str:
    if endpoint.next_run_at is None:
        return "no next run"
    return f"next run at {iso(endpoint.next_run_at)} ({endpoint.next_source})"


def _recordable(arguments: Any) -> dict[str, Json]:
    """Arguments as JSON of a bearable length."""
    try:
        text = json.dumps(dict(arguments), default=str, allow_nan=False)
        if len(text) <= LONGEST_ARGUMENTS:
            read: dict[str, Json] = json.loads(text)
            return read
        return {"text": text[:LONGEST_ARGUMENTS]}
    except Exception:  # noqa: BLE001 - whatever a planner hands over, its call is recorded
        return {"text": f"a {type(arguments).__name__} that cannot be written down"}
