"""The offline agent: answers plain requests about reminders without a model."""

from typing import Any, assert_never

from cadenza.adapters.agents.offline.carry_out import carry_out, local, not_found, only_one, the_schedule
from cadenza.adapters.agents.offline.changes import Change, Schedule, is_about
from cadenza.adapters.agents.offline.moments import AfterDelay, AtMoment, Recurring, resolve
from cadenza.adapters.agents.offline.replies import (
    HELP,
    NO_REMINDERS,
    confirmation,
    list_text,
    reminder_text,
    short_name,
    with_answer,
)
from cadenza.adapters.agents.offline.requests import (
    CancelAll,
    CancelOne,
    Help,
    ListReminders,
    Remind,
    Request,
    parse_reminder,
    parse_request,
)
from cadenza.adapters.agents.offline.vocabulary import UnclearRequest
from cadenza.domain.agents.conversation import Role
from cadenza.domain.agents.delivery import Subtitle
from cadenza.domain.errors import CadenzaError
from cadenza.ports.agents import CallTool, Prompt, Reply

CREATE, LIST, DELETE = "create_schedule", "list_schedules", "delete_schedule"


class OfflineAgent:
    """Answers in a sentence or two; deterministic for the same message at the same moment."""

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        """Answer with a reminder that is due, or carry out the user's request."""
        if prompt.scheduled:
            return Reply((Subtitle(reminder_text(prompt)),))
        try:
            said = await _carry_out(_request_of(prompt), prompt, call)
        except UnclearRequest as problem:
            said = problem.question
        except CadenzaError as problem:
            said = problem.message
        return Reply((Subtitle(said),))


def _request_of(prompt: Prompt) -> Request:
    """The user's request; an answer to a question is combined with the message before the question."""
    here = local(prompt)
    try:
        request = parse_request(prompt.words, here)
        if isinstance(request, Remind):
            resolve(request.when, here, prompt.user.timezone)
    except UnclearRequest:
        before = _unclear_before(prompt)
        if before is None:
            raise
        return parse_request(with_answer(before, prompt.words), here)
    return request


def _unclear_before(prompt: Prompt) -> str | None:
    """The user's message that the agent answered with a question; None if its last answer was none."""
    if len(prompt.history) < 2:  # noqa: PLR2004 - the message, and the question
        return None
    earlier, answer = prompt.history[-2:]
    asked = answer.role is Role.AGENT and answer.text.endswith("?")
    return earlier.text if asked and earlier.role is Role.USER else None


async def _carry_out(request: Request, prompt: Prompt, call: CallTool) -> str:
    match request:
        case Help():
            return HELP
        case ListReminders():
            planned = await _schedules(call)
            return list_text(planned, prompt.user.timezone) if planned else NO_REMINDERS
        case CancelAll():
            return await _cancel(await _schedules(call), call)
        case CancelOne(words):
            return await _cancel_one(words, call)
        case Change():
            return await _change(request, prompt, call)
        case Remind():
            return await _create_reminder(request, prompt, call)
        case _:
            assert_never(request)


async def _change(change: Change, prompt: Prompt, call: CallTool) -> str:
    """Change a reminder; words that describe none, and have a time, are a new one."""
    schedule = await the_schedule(change, prompt, call)
    if schedule is not None:
        return await carry_out(change, schedule, prompt, call)
    try:
        reminder = parse_reminder(change.text, local(prompt))
    except UnclearRequest:
        raise not_found(change.words) from None
    return await _create_reminder(reminder, prompt, call)


async def _create_reminder(request: Remind, prompt: Prompt, call: CallTool) -> str:
    name, prompt_text = short_name(request.what), request.what
    when = resolve(request.when, local(prompt), prompt.user.timezone)
    given: dict[str, Any] = {"name": name, "prompt": prompt_text}
    match when:
        case AfterDelay(span):
            given |= {"schedule_type": "one-shot", "delay_seconds": int(span.total_seconds())}
        case AtMoment(at):
            given |= {"schedule_type": "one-shot", "run_at": at.isoformat()}
        case Recurring(line, timezone):
            given |= {"schedule_type": "recurring", "cron_expression": line}
            given |= {"timezone": timezone} if timezone else {}
        case _:
            assert_never(when)
    made = _fields(await call(CREATE, given))
    return confirmation(name, made, recurring=isinstance(when, Recurring))


async def _schedules(call: CallTool) -> list[Schedule]:
    """The user's active schedules."""
    found: Any = await call(LIST, {})
    assert isinstance(found, list)
    return found


async def _cancel_one(words: tuple[str, ...], call: CallTool) -> str:
    planned = await _schedules(call)
    meant = [one for one in planned if one["id"] in words] or [one for one in planned if is_about(one, words)]
    if not meant:
        raise not_found(words)
    return await _cancel([only_one(meant)], call)


async def _cancel(schedules: list[Schedule], call: CallTool) -> str:
    if not schedules:
        return NO_REMINDERS
    for one in schedules:
        await call(DELETE, {"schedule_id": one["id"]})
    return f"I have cancelled {', '.join(one['name'] for one in schedules)}."


def _fields(answer: Any) -> dict[str, Any]:
    """The result of a tool that answers with an object."""
    assert isinstance(answer, dict)
    return answer
