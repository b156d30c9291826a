"""The offline agent: understands plain requests about reminders, and needs no model."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, assert_never
from zoneinfo import ZoneInfo

from cadenza.adapters.agents.offline.moments import AtMoment, Later, Repeatedly, resolved
from cadenza.adapters.agents.offline.replies import (
    HELP,
    NOTHING_PLANNED,
    agreed,
    due_again,
    listed,
    mended,
    named,
)
from cadenza.adapters.agents.offline.requests import (
    CancelAll,
    CancelOne,
    Help,
    ListThem,
    Remind,
    Request,
    understood,
)
from cadenza.adapters.agents.offline.vocabulary import Unclear
from cadenza.domain.agents.conversation import Role
from cadenza.domain.agents.delivery import Subtitle
from cadenza.domain.errors import CadenzaError
from cadenza.ports.agents import CallTool, Prompt, Reply

CREATE, LIST, DELETE = "create_schedule", "list_schedules", "delete_schedule"
Schedule = Mapping[str, Any]


class OfflineAgent:
    """Answers in a sentence or two; the same words at the same moment have the same effect."""

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        """Say a reminder that is due, or do what the user asks for."""
        if prompt.scheduled:
            return Reply((Subtitle(due_again(prompt)),))
        try:
            said = await _done(_wanted(prompt), prompt, call)
        except Unclear as problem:
            said = problem.question
        except CadenzaError as problem:
            said = problem.message
        return Reply((Subtitle(said),))


def _wanted(prompt: Prompt) -> Request:
    """What the user wants; if they answer our question, together with what they said before it."""
    here = local(prompt)
    try:
        request = understood(prompt.words, here)
        if isinstance(request, Remind):
            resolved(request.when, here, prompt.user.timezone)
    except Unclear:
        before = _asked_about(prompt)
        if before is None:
            raise
        return understood(mended(before, prompt.words), here)
    return request


def _asked_about(prompt: Prompt) -> str | None:
    """What the user had said when we asked back; None if we did not."""
    if len(prompt.history) < 2:  # noqa: PLR2004 - what they said, and our question
        return None
    earlier, answer = prompt.history[-2:]
    asked = answer.role is Role.AGENT and answer.text.endswith("?")
    return earlier.text if asked and earlier.role is Role.USER else None


def local(prompt: Prompt) -> datetime:
    """Now, on the user's own clock."""
    return prompt.now.astimezone(ZoneInfo(prompt.user.timezone) if prompt.user.timezone else UTC)


async def _done(request: Request, prompt: Prompt, call: CallTool) -> str:
    match request:
        case Help():
            return HELP
        case ListThem():
            planned = await _planned(call)
            return listed(planned, prompt.user.timezone) if planned else NOTHING_PLANNED
        case CancelAll():
            return await _cancelled(await _planned(call), call)
        case CancelOne(words):
            return await _cancelled_one(words, call)
        case Remind():
            return await _reminded(request, prompt, call)
        case _:
            assert_never(request)


async def _reminded(request: Remind, prompt: Prompt, call: CallTool) -> str:
    name, prompt_text = named(request.what), request.what
    when = resolved(request.when, local(prompt), prompt.user.timezone)
    given: dict[str, Any] = {"name": name, "prompt": prompt_text}
    match when:
        case Later(span):
            given |= {"schedule_type": "one-shot", "delay_seconds": int(span.total_seconds())}
        case AtMoment(at):
            given |= {"schedule_type": "one-shot", "run_at": at.isoformat()}
        case Repeatedly(line, timezone):
            given |= {"schedule_type": "recurring", "cron_expression": line}
            given |= {"timezone": timezone} if timezone else {}
        case _:
            assert_never(when)
    made = _fields(await call(CREATE, given))
    return agreed(name, made, recurring=isinstance(when, Repeatedly))


async def _planned(call: CallTool) -> list[Schedule]:
    """All that will fire again."""
    found: list[Any] = _fields(await call(LIST, {}))["items"]
    return found


async def _cancelled_one(words: tuple[str, ...], call: CallTool) -> str:
    planned = await _planned(call)
    meant = [one for one in planned if one["id"] in words] or [
        one for one in planned if _is_about(one, words)
    ]
    if not meant:
        raise Unclear(f"I found no reminder about “{' '.join(words)}”; shall I list what there is?")
    if len(meant) > 1:
        choices = ", ".join(f"{one['name']} [{one['id']}]" for one in meant[:5])
        raise Unclear(f"Which one do you mean: {choices}?")
    return await _cancelled(meant, call)


def _is_about(schedule: Schedule, words: tuple[str, ...]) -> bool:
    known = f"{schedule['name']} {schedule['prompt']}".lower().split()
    return all(any(one.startswith(word) for one in known) for word in words)


async def _cancelled(schedules: list[Schedule], call: CallTool) -> str:
    if not schedules:
        return NOTHING_PLANNED
    for one in schedules:
        await call(DELETE, {"schedule_id": one["id"]})
    return f"I have cancelled {', '.join(one['name'] for one in schedules)}."


def _fields(answer: Any) -> dict[str, Any]:
    """What a tool answered; all of ours answer with an object."""
    assert isinstance(answer, dict)
    return answer
