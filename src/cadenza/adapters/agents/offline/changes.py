"""Parses a user's wish to change a reminder that there is: snooze, pause, resume, rename, move, run now."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from cadenza.adapters.agents.offline.moments import TimePhrase, parse_start
from cadenza.adapters.agents.offline.vocabulary import UnclearRequest
from cadenza.domain.agents.conversation import Message

Schedule = Mapping[str, Any]


class Verb(StrEnum):
    """What shall happen to a reminder."""

    SNOOZE = "snooze"
    PAUSE = "pause"
    RESUME = "resume"
    RENAME = "rename"
    MOVE = "move"
    RUN = "run"


class Change(NamedTuple):
    """A wish to change a reminder."""

    verb: Verb
    words: tuple[str, ...]
    """What describes the reminder; none for the one that was mentioned or fired last."""
    when: TimePhrase | None
    name: str | None
    text: str
    """The message, which may be a new reminder if there is none that the words describe."""


FORMS = {
    Verb.SNOOZE: re.compile(r"(?:snooze|postpone|delay|put\s+off|put(?=\s+\S+.*\soff\b))\b(?P<rest>.*)"),
    Verb.PAUSE: re.compile(r"(?:pause|suspend|mute)\b(?P<rest>.*)"),
    Verb.RESUME: re.compile(r"(?:resume|unpause|unmute|continue)\b(?P<rest>.*)"),
    Verb.RENAME: re.compile(r"rename\b(?P<rest>.+?)\s(?:to|as|into)\s(?P<name>.+)"),
    Verb.MOVE: re.compile(r"(?:move|reschedule|shift|change)\b(?P<rest>.+\bto\b.+)"),
    Verb.RUN: re.compile(r"(?:run|fire|trigger|start|do)\b(?P<rest>.*?)\s+(?:right\s+)?now"),
}
TIMED = frozenset({Verb.SNOOZE, Verb.PAUSE, Verb.MOVE})
AN_ID = re.compile(r"\bsched-[0-9a-z]+\b")
SEPARATOR = re.compile(r"(?:for|by|until|till|to)\s+")
WORD = re.compile(r"\S+")
PRONOUNS = frozenset({"it", "that", "this", "one", "last", "again", "off"})


def parse_change(text: str, now: datetime, filler: re.Pattern[str]) -> Change | None:
    """The change that a message asks for; None if it asks for none. `now` is local time."""
    plain = text.lower()
    for verb, form in FORMS.items():
        found = form.fullmatch(plain)
        if found is None:
            continue
        rest, when = _split_time(found["rest"], now) if verb in TIMED else (found["rest"], None)
        if verb is Verb.MOVE and when is None:
            return None
        name = text[found.start("name") :].strip(" “”\"'") if verb is Verb.RENAME else None
        return Change(verb, _described(rest, filler), when, name, text)
    return None


def _described(rest: str, filler: re.Pattern[str]) -> tuple[str, ...]:
    ids = tuple(AN_ID.findall(rest))
    return ids or tuple(word for word in filler.sub(" ", rest).split() if word not in PRONOUNS)


def _split_time(rest: str, now: datetime) -> tuple[str, TimePhrase | None]:
    """What stands before a phrase about time that ends the text, and the phrase."""
    ids = " ".join(AN_ID.findall(rest))
    bare = AN_ID.sub("", rest).rstrip()
    for word in WORD.finditer(bare):
        last = bare[word.start() :]
        separator = SEPARATOR.match(last)
        when = _whole_time(last[separator.end() :] if separator else last, now)
        if when is not None:
            return f"{bare[: word.start()]} {ids}", when
    return rest, None


def _whole_time(text: str, now: datetime) -> TimePhrase | None:
    """The text as a phrase about time and nothing else, also `an hour` for `in an hour`."""
    for phrase in (text, f"in {text}"):
        try:
            when, end = parse_start(phrase, now)
        except UnclearRequest:  # The words may not be about time at all.
            continue
        if when and end == len(phrase):
            return when
    return None


def meant_by(change: Change, schedules: Sequence[Schedule], history: Sequence[Message]) -> list[Schedule]:
    """The reminders that a change can mean: active ones if there are any, others only if there are none."""
    if not change.words:
        return last_mentioned(schedules, history)
    found = [one for one in schedules if one["id"] in change.words] or [
        one for one in schedules if is_about(one, change.words)
    ]
    return [one for one in found if one["enabled"]] or found


def is_about(schedule: Schedule, words: Sequence[str]) -> bool:
    """Whether each word begins one of its name or prompt."""
    known = f"{schedule['name']} {schedule['prompt']}".lower().split()
    return all(any(one.startswith(word) for one in known) for word in words)


def last_mentioned(schedules: Sequence[Schedule], history: Sequence[Message]) -> list[Schedule]:
    """What the newest message that names a schedule is about: the one that fired, or all that it names."""
    for message in reversed(history):
        fired = [one for one in schedules if one["id"] == message.origin.schedule_id]
        named = fired or [
            one for one in schedules if one["name"] in message.text or one["id"] in message.text
        ]
        longest = [one for one in named if not any(_within(one, other) for other in named)]
        if longest:
            return longest
    return []


def _within(one: Schedule, other: Schedule) -> bool:
    """Whether a name is a part of another one, so that the other may be what is named."""
    return one["name"] != other["name"] and one["name"] in other["name"]
