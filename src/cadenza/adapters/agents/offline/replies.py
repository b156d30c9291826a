"""The sentences of the offline agent, and how an answer to its question completes a request."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from cadenza.adapters.agents.offline.moments import ZONES
from cadenza.domain.agents.schedule import format_moment
from cadenza.domain.wording import interval_in_words
from cadenza.ports.agents import Prompt

LONGEST_NAME = 60
MOST_SHOWN = 20
LATE = timedelta(minutes=1)
HELP = (
    "I remind you of things. Say “remind me in 20 minutes to call Ada”, “every weekday at 9 plan the day” or "
    "“at 5pm tomorrow buy milk”; “list my reminders” shows them, “snooze it for an hour”, "
    "“pause it”, “move it to 6pm” and “run it now” change "
    "one, and “cancel the milk” takes one back."
)
NO_REMINDERS = "You have no reminders."
HALF = re.compile(
    r"(?:in\s+the\s+)?(?P<half>am|pm|a\.m\.|p\.m\.|morning|afternoon|evening|night)", re.IGNORECASE
)
AN_HOUR = re.compile(r"\b(?:at\s+)(\d{1,2}(?:[:.]\d\d)?)\b", re.IGNORECASE)


def short_name(what: str) -> str:
    """The name of a reminder: one short line."""
    line = "".join(letter if letter.isprintable() else " " for letter in what)
    name = " ".join(line.split())
    name = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1].rstrip()}…"
    return f"{name[:1].upper()}{name[1:]}"


def confirmation(name: str, made: Mapping[str, Any], *, recurring: bool) -> str:
    """The confirmation of a new reminder, with its next moments as text.

    It may have fired since it was made, when the message is answered again after a crash.
    """
    fires: Sequence[str] = made["next_fires"]
    if not fires:
        return f"I have reminded you: {name}."
    if not recurring:
        return f"I will remind you on {fires[0]}: {name}."
    return f"I will remind you again and again, first on {', then on '.join(fires)}: {name}."


def list_text(schedules: Sequence[Mapping[str, Any]], timezone: str | None) -> str:
    """The list of reminders, the next one first."""
    planned = sorted(schedules, key=lambda one: (one["next_run_at"] or "", one["id"]))
    lines = [f"{_line(one, timezone)}" for one in planned[:MOST_SHOWN]]
    if len(planned) > MOST_SHOWN:
        lines.append(f"… and {len(planned) - MOST_SHOWN} more.")
    return "\n".join([f"You have {_counted(len(planned))}:", *lines])


def _line(schedule: Mapping[str, Any], timezone: str | None) -> str:
    paused = schedule["paused"] and schedule["paused_until"] is None
    at = "paused" if paused else moment_text(schedule, timezone)
    return f"- {schedule['name']}: {at}{_again(schedule)} [{schedule['id']}]"


def moment_text(schedule: Mapping[str, Any], timezone: str | None) -> str:
    """When it fires next, in the user's time zone."""
    if not schedule["next_run_at"]:
        return "now"
    zone = timezone or schedule["timezone"] or "UTC"
    return format_moment(datetime.fromisoformat(schedule["next_run_at"]), zone)


def _again(schedule: Mapping[str, Any]) -> str:
    every = schedule["interval_seconds"]
    recurs = schedule["cron_expression"] or (every and f"every {interval_in_words(every * 1_000)}")
    return f", repeated ({recurs})" if recurs else ""


def _counted(number: int) -> str:
    return f"{number} reminder{'s' if number != 1 else ''}"


def reminder_text(prompt: Prompt) -> str:
    """The text of a reminder that is due; a late one says when it was due."""
    due_at = prompt.message.origin.due_at
    late = ""
    if due_at is not None and prompt.now - due_at > LATE:
        late = f" (it was due on {format_moment(due_at, prompt.user.timezone or 'UTC')})"
    return f"Reminder{late}: {prompt.words}"


def with_answer(before: str, answer: str) -> str:
    """The request before the agent's question, with the answer put in its place."""
    if ZONES[0].fullmatch(answer.strip(" .!?").lower()):
        return f"{answer.strip(' .!?')} {before}"
    half = HALF.fullmatch(answer.strip(" .!?"))
    if half is not None:
        late = half["half"].lower().startswith(("p", "afternoon", "evening", "night"))
        return AN_HOUR.sub(rf"at \1 {'pm' if late else 'am'}", before, count=1)
    return f"{before.rstrip(' .!?')} {answer}"
