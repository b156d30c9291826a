"""Parses a user's message into a request to the offline agent."""

import re
from datetime import datetime
from typing import NamedTuple

from cadenza.adapters.agents.offline.changes import Change, parse_change
from cadenza.adapters.agents.offline.moments import NO_TIME, TimePhrase, merge_times, parse_end, parse_start
from cadenza.adapters.agents.offline.vocabulary import UnclearRequest

LONGEST = 1_000
"""The longest message that is parsed, in characters."""
THING = r"(?:reminders?|schedules?|alarms?|timers?|events?|agenda|tasks?|deadlines?|things?)"
POLITE = re.compile(
    r"(?:(?:please|kindly|hey|hi|hello|ok(?:ay)?|so|and|also|then|now|just|agent|assistant)\b[\s,!.:]*"
    r"|(?:can|could|would|will)\s+you\s+(?:please\s+)?|i(?:'d|\s+would)\s+like\s+(?:you\s+)?to\s+"
    r"|i\s+(?:want|need)\s+(?:you\s+)?to\s+(?=be\s+reminded|remind|wake|set|cancel|list))+",
    re.IGNORECASE,
)
LEAD = re.compile(
    r"(?:(?:be\s+)?remind(?:ed)?(?:\s+me)?|wake\s+me(?:\s+up)?|tell\s+me|ping\s+me|nudge\s+me|notify\s+me"
    r"|alert\s+me|message\s+me|ask\s+me|let\s+me\s+know|give\s+me\s+a\s+(?:reminder|nudge|shout)"
    r"|(?:set|create|add|make|schedule)\s+(?:me\s+)?(?:a|an|the|up)?\s*"
    r"(?:(?:new|recurring|daily|weekly)\s+)?(?:reminder|alarm|timer|schedule|deadline|task|event)(?:\s+for\s+me)?"
    r"|schedule|set\s+up|do\s+not\s+let\s+me\s+forget|don'?t\s+let\s+me\s+forget|don'?t\s+forget)\b[\s,:]*"
)
TO = re.compile(
    r"(?:to|that|about|of|for|and|saying|called|named|i\s+(?:have|need|want)\s+to)\b[\s:,]*|[:,-]\s*"
)
FOR = re.compile(r"(?:for|starting|from|by|on\s+or\s+before|due)\s+")
LISTING = re.compile(
    rf"(?:list|show|display|tell)\b(?:\s+me)?(?:\s+(?:all|of|my|the|our|every|active))*\s*{THING}?"
    rf"|(?:what|which)(?:'?s|\s+is|\s+are)?\b.*\b{THING}\b.*|what(?:'?s|\s+is)\s+(?:planned|scheduled|coming(?:\s+up)?)"
    rf"|(?:my\s+)?{THING}|do\s+i\s+have\s+(?:any\s+)?{THING}.*"
)
CANCEL = re.compile(
    r"(?:cancel|delete|remove|drop|clear|forget(?:\s+about)?|kill|turn\s+off|switch\s+off|stop(?:\s+reminding\s+me)?)\b\s*"
)
HELP = re.compile(
    r"(?:help(?:\s+me)?|\?+|hi|hello|hey|hello\s+there|good\s+(?:morning|evening|afternoon|day)|commands"
    r"|(?:what|how)\s+(?:can|do|does|could)\s+(?:you|this|i)\b.*|who\s+are\s+you|thanks|thank\s+you|what\s+now)"
)
ALL = re.compile(rf"(?:all|every|everything|them\s+all)\b(?:\s+(?:of|my|the|one|single))*(?:\s*{THING})?")
FILLER = re.compile(
    rf"\b(?:the|my|that|this|a|an|about|to|for|of|me|reminding|please|{THING})\b|[^\w\s-]", re.IGNORECASE
)


class Remind(NamedTuple):
    """Remind the user of something, once or repeatedly."""

    what: str
    when: TimePhrase


class ListReminders(NamedTuple):
    """List the reminders."""


class CancelOne(NamedTuple):
    """Cancel the reminder that these words describe."""

    words: tuple[str, ...]


class CancelAll(NamedTuple):
    """Cancel all reminders."""


class Help(NamedTuple):
    """Explain what the agent can do."""


Request = Remind | ListReminders | CancelOne | CancelAll | Change | Help


def parse_request(text: str, now: datetime) -> Request:
    """The request of a message; UnclearRequest, with a question, if there is none. `now` is local time."""
    said = " ".join(text.replace("\u2019", "'").split())
    if len(said) > LONGEST:
        raise UnclearRequest(
            "That is long; can you say in one sentence what I shall remind you of, and when?"
        )
    polite = POLITE.match(said)
    bare = said[polite.end() :] if polite else said
    plain = bare.rstrip(" .!?;,").lower()
    if HELP.fullmatch(plain) or not plain:
        return Help()
    if LISTING.fullmatch(plain):
        return ListReminders()
    cancel = CANCEL.match(plain)
    if cancel:
        return _cancel(plain[cancel.end() :])
    change = parse_change(bare.rstrip(" .!?;,"), now, FILLER)
    return change or parse_reminder(bare.rstrip(" .!;,"), now)


def _cancel(rest: str) -> Request:
    if ALL.fullmatch(rest.strip()):
        return CancelAll()
    words = tuple(FILLER.sub(" ", rest).split())
    if not words:
        raise UnclearRequest("Which one shall I cancel?")
    return CancelOne(words)


def parse_reminder(text: str, now: datetime) -> Remind:
    """`[when] [remind me] [when] [to] what [when]`: a time at the front wins over one at the end."""
    plain = text.lower()
    first, place = parse_start(plain, now)
    place = _past(BLANK, plain, place)
    lead = LEAD.match(plain, place)
    if lead is None and not first:
        return _parse_without_lead(text, now)
    place = lead.end() if lead else place
    second, length = _parse_after_for(plain[place:], now)
    usual = _default_subject(lead)
    when = merge_times(first, second)
    place += length if when is not None else 0
    when = when or first
    place = _past(TO, plain, _past(BLANK, plain, place))
    return _complete(text[place:] or usual, when, now)


def _parse_after_for(plain: str, now: datetime) -> tuple[TimePhrase, int]:
    """A phrase about time, also after `for` (an alarm for 7:30)."""
    introduced = FOR.match(plain)
    if introduced is None:
        return parse_start(plain, now)
    rest = plain[introduced.end() :]
    when, length = parse_start(rest, now)
    if when:
        return when, introduced.end() + length
    when, length = parse_start(f"in {rest}", now)  # A timer for ten minutes.
    return (when, introduced.end() + length - len("in ")) if when.delay else (NO_TIME, 0)


def _default_subject(lead: re.Match[str] | None) -> str:
    """The subject of an alarm or a timer that is given none."""
    said = lead[0] if lead else ""
    for word, about in (("wake", "wake up"), ("alarm", "alarm"), ("timer", "timer")):
        if word in said:
            return about
    return ""


def _parse_without_lead(text: str, now: datetime) -> Remind:
    """`Call mum tomorrow at 5pm`: a subject and a time; anything else is unclear."""
    when, start = parse_end(text.lower(), now)
    if not when or not start:
        raise UnclearRequest(
            "I did not understand that; shall I remind you of something, list your reminders, or cancel one?"
        )
    return Remind(_tidy(text[:start]), when)


def _complete(what: str, when: TimePhrase, now: datetime) -> Remind:
    """The reminder, with a time at the end of the text if there was none before, or no time of day."""
    if not when or when.lacks_time:
        last, start = parse_end(what.lower(), now)
        merged = merge_times(when, last) if not when or last.time_of_day is not None else None
        if last and merged is not None:
            when, what = merged, what[:start]
    what = _tidy(what)
    if not when:
        raise UnclearRequest("When shall I remind you?")
    if not what:
        raise UnclearRequest("What shall I remind you of?")
    return Remind(what, when)


BLANK = re.compile(r"[\s,]+")


def _past(form: re.Pattern[str], text: str, place: int) -> int:
    found = form.match(text, place)
    return found.end() if found else place


def _tidy(what: str) -> str:
    """The subject without punctuation and the prepositions left around it."""
    trimmed = what.strip(" ,.;:!?-")
    return re.sub(r"\s+(?:on|at|by|for|in|starting|and|,)$", "", trimmed).strip(" ,.;:")
