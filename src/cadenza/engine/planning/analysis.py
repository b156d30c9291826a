"""Runs one analysis of one planner, bounded in time and tool calls, and limited to its job."""

import asyncio
import json
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from cadenza.domain.agents.probe import through_probe
from cadenza.domain.errors import CadenzaError, InvalidRequest, NotAllowed, NotFound
from cadenza.domain.json_values import Json
from cadenza.domain.planning.analysis import Analysis, Tokens, ToolCall
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import Rank, lowered
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.validation import LONGEST_SPAN_MS, LONGEST_TEXT, iso, milliseconds, quoted
from cadenza.engine.steering import COMMANDS, Steering
from cadenza.engine.steering_commands import SteeringCommand, SteeringContext
from cadenza.ports.planning import Briefing, Planner, PlannerResult
from cadenza.ports.telemetry import Logger

LONGEST_REASONING = 8_000
LONGEST_ARGUMENTS = 4_000
SOONEST_AGAIN_MS = 1_000
CANCEL_GRACE_S = 1.0


class PlannerEntry(NamedTuple):
    """A planner with its limits."""

    planner: Planner
    timeout_ms: int = 10_000
    most_calls: int = 20
    uses_tokens: bool = False
    """Whether it uses tokens, so that the quota is checked first."""
    health: bool = False
    """Whether its briefing includes the endpoint's health, which takes the longest to read."""

    @property
    def name(self) -> str:
        """The name under which its analyses are recorded."""
        return self.planner.name


class _TimedOut(Exception):
    """An analysis exceeded its timeout."""


class FinishedAnalysis(NamedTuple):
    """The result of an analysis, and the tool calls it made."""

    result: PlannerResult
    calls: tuple[ToolCall, ...]
    steered: frozenset[str]
    """Ids of the endpoints that it steered."""

    @property
    def is_worth_recording(self) -> bool:
        """Whether there is anything to record."""
        result = self.result
        return bool(result.reasoning or result.error or self.calls or result.tokens.total)

    def look_again_at(self, now: datetime) -> datetime | None:
        """When to analyze again, within bounds; None if the planner gave no valid number."""
        wanted_ms = self.result.look_again_ms
        if type(wanted_ms) is not int:
            return None
        return now + milliseconds(min(max(wanted_ms, SOONEST_AGAIN_MS), LONGEST_SPAN_MS))

    def to_record(self, briefing: Briefing, planner: str, *, analysis_id: str, took_ms: int) -> Analysis:
        """The record to store."""
        endpoint, result = briefing.endpoint, self.result
        return Analysis(
            id=analysis_id,
            tenant_id=endpoint.tenant_id,
            job_id=endpoint.job_id,
            endpoint_id=endpoint.id,
            planner=planner,
            trigger=briefing.trigger,
            began_at=briefing.now,
            duration_ms=took_ms,
            reasoning=result.reasoning[:LONGEST_REASONING],
            calls=self.calls,
            tokens=result.tokens,
            look_again_at=self.look_again_at(briefing.now),
            shadow=result.shadow,
            error=None if result.error is None else result.error[:LONGEST_TEXT],
        )


class AnalysisToolAccess:
    """The tools of one analysis: for its endpoint and siblings only, limited in number, until it ends."""

    def __init__(self, entry: PlannerEntry, briefing: Briefing, steering: Steering) -> None:
        self._entry = entry
        self._job_id = briefing.endpoint.job_id
        self._allowed_keys = {one.key for one in (briefing.endpoint, *briefing.siblings.values())}
        self._steering = steering
        self._closed = False
        self.calls: list[ToolCall] = []
        self.steered: set[str] = set()
        self.too_many = False

    def close(self) -> None:
        """End the analysis: later calls are refused."""
        self._closed = True

    async def call(
        self,
        endpoint: Endpoint,
        tool: str,
        arguments: Mapping[str, Any],
        /,
        *,
        rule: str | None = None,
        rank: Rank = Rank.RULE,
    ) -> ChangedEndpoint:
        """Call a tool, and record the call with its result."""
        if self._closed:
            raise NotAllowed("The evaluation has ended.")
        if len(self.calls) >= self._entry.most_calls:
            self.too_many = True
            raise NotAllowed(f"An analysis may call at most {self._entry.most_calls} tools.")
        index = len(self.calls)
        call = ToolCall(str(tool)[:100], str(endpoint.id)[:200], _recordable(arguments))
        self.calls.append(call._replace(error="The call was interrupted."))
        try:
            origin = f"planner:{self._entry.name}" if rule is None else lowered(f"rule:{rule}", rank)
            amended = await self._steer(endpoint, tool, arguments, origin)
        except Exception as problem:
            self.calls[index] = call._replace(error=error_text(problem))
            raise
        if amended.applied:
            self.steered.add(endpoint.id)
        self.calls[index] = call._replace(result=_result(amended))
        return amended

    async def _steer(
        self, endpoint: Endpoint, tool: str, arguments: Mapping[str, Any], origin: str
    ) -> ChangedEndpoint:
        if endpoint.key not in self._allowed_keys:
            raise NotAllowed(f"{quoted(endpoint.id)} is not this endpoint, nor one of its siblings.")
        command = COMMANDS.get(str(tool))
        if command is None:
            raise InvalidRequest(
                f"Tool {quoted(tool)} not found; available are {', '.join(COMMANDS)}.", "tool"
            )
        within_job = _WithinJob(command.parse(arguments), self._job_id)
        return await self._steering.steer(endpoint.key, within_job, origin=origin)


class _WithinJob:
    """A steering command that checks, in the same commit, that the endpoint is still in this job."""

    def __init__(self, command: SteeringCommand, job_id: str) -> None:
        self._command = command
        self._job_id = job_id

    def apply(self, endpoint: Endpoint, by: SteeringContext) -> ChangedEndpoint:
        """The endpoint after the command; NotFound if it was archived or moved to another job."""
        if endpoint.archived or endpoint.job_id != self._job_id:
            raise NotFound(f"Endpoint {endpoint.id} not found in this job.")
        return through_probe(endpoint, lambda steered: self._command.apply(steered, by))


async def analyze(
    entry: PlannerEntry, briefing: Briefing, *, steering: Steering, log: Logger
) -> FinishedAnalysis:
    """Run one analysis; an error or a timeout of the planner becomes the error of its result."""
    tool_access = AnalysisToolAccess(entry, briefing, steering)
    try:
        result = _validated(await _with_timeout(entry.planner.sit(briefing, tool_access.call), entry, log))
    except _TimedOut:
        result = _failed(f"It did not finish within {entry.timeout_ms} ms.")
    except Exception as problem:  # noqa: BLE001 - a planner's bug costs only its own analysis
        result = _failed(error_text(problem))
    finally:
        tool_access.close()
    if tool_access.too_many and result.error is None:
        result = result._replace(error=f"It called more than {entry.most_calls} tools.")
    return FinishedAnalysis(result, tuple(tool_access.calls), frozenset(tool_access.steered))


async def _with_timeout(
    work: Coroutine[Any, Any, PlannerResult], entry: PlannerEntry, log: Logger
) -> PlannerResult:
    """The planner's result, if it comes in time; a planner that ignores its cancellation is abandoned."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(_read_exception)
    try:
        await asyncio.wait({task}, timeout=entry.timeout_ms / 1_000)
        if task.done():
            return _failed("It was cancelled.") if task.cancelled() else task.result()
    finally:
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task}, timeout=CANCEL_GRACE_S)
    if not task.done():
        log.warning("a planner does not stop after cancellation", planner=entry.name)
    raise _TimedOut


def _read_exception(task: "asyncio.Future[PlannerResult]") -> None:
    """Note that an exception was seen: asyncio logs a traceback of one that nobody waits for any more."""
    if not task.cancelled():
        task.exception()


def error_text(problem: BaseException) -> str:
    """An exception as it is recorded."""
    if isinstance(problem, CadenzaError):
        return problem.message[:LONGEST_TEXT]
    try:
        return f"{type(problem).__name__}: {problem}"[:LONGEST_TEXT]
    except Exception:  # noqa: BLE001 - its own __str__ fails
        return type(problem).__name__


def _validated(answer: object) -> PlannerResult:
    """A result that can be recorded."""
    if not isinstance(answer, PlannerResult) or not isinstance(answer.tokens, Tokens):
        return _failed(f"It answered {quoted(answer)}, which is not a PlannerResult.")
    error = None if answer.error is None else str(answer.error)
    tokens = Tokens(*(max(0, int(count)) for count in answer.tokens))
    return answer._replace(reasoning=str(answer.reasoning), error=error, tokens=tokens)


def _failed(error: str) -> PlannerResult:
    return PlannerResult(error=error)


def _result(amended: ChangedEndpoint) -> str:
    endpoint = amended.endpoint
    if not amended.applied or endpoint.next_run_at is None:
        return amended.note or "no next run"
    return f"next run at {iso(endpoint.next_run_at)} ({endpoint.next_source})"


def _recordable(arguments: Any) -> dict[str, Json]:
    """Arguments as JSON of limited length."""
    try:
        text = json.dumps(dict(arguments), default=str, allow_nan=False)
        if len(text) <= LONGEST_ARGUMENTS:
            read: dict[str, Json] = json.loads(text)
            return read
        return {"text": text[:LONGEST_ARGUMENTS]}
    except Exception:  # noqa: BLE001 - whatever a planner passes, its call is recorded
        return {"text": f"a {type(arguments).__name__} that cannot be written down"}
