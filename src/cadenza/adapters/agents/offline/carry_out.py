"""Carries out changes of reminders with the tools of the turn, and says what was done."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from cadenza.adapters.agents.offline.changes import Change, Schedule, Verb, meant_by
from cadenza.adapters.agents.offline.moments import AfterDelay, AtMoment, Recurring, ResolvedTime, resolve
from cadenza.adapters.agents.offline.replies import moment_text, short_name
from cadenza.adapters.agents.offline.vocabulary import UnclearRequest
from cadenza.ports.agents import CallTool, Prompt

TOOLS = {
    Verb.SNOOZE: "snooze_schedule",
    Verb.PAUSE: "pause_schedule",
    Verb.RESUME: "resume_schedule",
    Verb.RENAME: "update_schedule",
    Verb.MOVE: "update_schedule",
    Verb.RUN: "run_schedule",
}
SHOWN_CHOICES = 5


def local(prompt: Prompt) -> datetime:
    """The present time in the user's time zone."""
    return prompt.now.astimezone(ZoneInfo(prompt.user.timezone) if prompt.user.timezone else UTC)


async def the_schedule(change: Change, prompt: Prompt, call: CallTool) -> Schedule | None:
    """The schedule that a change means; None if its words describe none, UnclearRequest if several."""
    schedules: Any = await call("list_schedules", {"enabled_only": False})
    found = meant_by(change, schedules, prompt.history)
    if not found:
        if change.words:
            return None
        raise UnclearRequest(f"Which reminder shall I {change.verb}?")
    return only_one(found)


def not_found(words: Sequence[str]) -> UnclearRequest:
    """The question when no reminder is described by these words."""
    return UnclearRequest(f"I found no reminder about “{' '.join(words)}”; shall I list what there is?")


def only_one(found: list[Schedule]) -> Schedule:
    """The one that was found; UnclearRequest if there are several."""
    if len(found) > 1:
        choices = ", ".join(f"{one['name']} [{one['id']}]" for one in found[:SHOWN_CHOICES])
        raise UnclearRequest(f"Which one do you mean: {choices}?")
    return found[0]


async def carry_out(change: Change, schedule: Schedule, prompt: Prompt, call: CallTool) -> str:
    """Change a schedule; returns what is said to the user."""
    when = None if change.when is None else resolve(change.when, local(prompt), prompt.user.timezone)
    given = ARGUMENTS[change.verb](change, schedule, when, prompt)
    answer: Any = await call(TOOLS[change.verb], {"schedule_id": schedule["id"], **given})
    return _said(change, answer, prompt.user.timezone)


def _snooze(_: Change, __: Schedule, when: ResolvedTime | None, ___: Prompt) -> Mapping[str, Any]:
    match when:
        case AfterDelay(span):
            return {"for_seconds": int(span.total_seconds())}
        case AtMoment(at):
            return {"until": at.isoformat()}
        case _:
            raise UnclearRequest("For how long shall I snooze it?")


def _pause(_: Change, __: Schedule, when: ResolvedTime | None, prompt: Prompt) -> Mapping[str, Any]:
    match when:
        case None:
            return {}
        case AfterDelay(span):
            return {"until": (prompt.now.astimezone(UTC) + span).isoformat()}
        case AtMoment(at):
            return {"until": at.isoformat()}
        case Recurring():
            raise UnclearRequest("Until when shall I pause it?")


def _move(_: Change, schedule: Schedule, when: ResolvedTime | None, __: Prompt) -> Mapping[str, Any]:
    match when:
        case Recurring(line, timezone):
            return {"cron_expression": line} | ({"timezone": timezone} if timezone else {})
        case AtMoment() | AfterDelay() if schedule["schedule_type"] == "recurring":
            raise UnclearRequest(f"{schedule['name']} repeats; to when, such as every weekday at 6 pm?")
        case AtMoment(at):
            return {"run_at": at.isoformat()}
        case AfterDelay(span):
            return {"delay_seconds": int(span.total_seconds())}
        case _:
            raise UnclearRequest("To when shall I move it?")


def _nothing(*_: object) -> Mapping[str, Any]:
    return {}


ARGUMENTS: Mapping[Verb, Callable[[Change, Schedule, ResolvedTime | None, Prompt], Mapping[str, Any]]] = {
    Verb.SNOOZE: _snooze,
    Verb.PAUSE: _pause,
    Verb.MOVE: _move,
    Verb.RENAME: lambda change, *_: {"name": short_name(change.name or "")},
    Verb.RESUME: _nothing,
    Verb.RUN: _nothing,
}


def _said(change: Change, after: Schedule, timezone: str | None) -> str:
    name = after["name"]
    following = f"next on {moment_text(after, timezone)}" if after["next_run_at"] else "it is done"
    match change.verb:
        case Verb.SNOOZE:
            return f"I will remind you again on {moment_text(after, timezone)}: {name}."
        case Verb.PAUSE:
            until = "you resume it" if after["paused_until"] is None else moment_text(after, timezone)
            return f"I have paused {name} until {until}."
        case Verb.RESUME:
            return f"{name} goes on: {following}."
        case Verb.RENAME:
            return f"It is called {name} now."
        case Verb.MOVE:
            return f"I have moved {name}: {following}."
        case Verb.RUN:
            return f"{name} runs now."
