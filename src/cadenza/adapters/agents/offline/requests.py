"""What a user wants of the offline agent, from the words they used."""

import re
from datetime import datetime
from typing import NamedTuple

from cadenza.adapters.agents.offline.moments import NOTHING_SAID, When, at_the_end, spoken, together
from cadenza.adapters.agents.offline.vocabulary import Unclear

LONGEST = 1_000
"""Nobody says when in more characters than this."""
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
    """Say something, then or again and again."""

    what: str
    when: When


class ListThem(NamedTuple):
    """Tell what is planned."""


class CancelOne(NamedTuple):
    """Take back what these words are about."""

    words: tuple[str, ...]


class CancelAll(NamedTuple):
    """Take everything back."""


class Help(NamedTuple):
    """Tell what can be said."""


Request = Remind | ListThem | CancelOne | CancelAll | Help


def understood(text: str, now: datetime) -> Request:
    """What is wanted; Unclear, with a question, if that cannot be told. `now` is the user's own time."""
    said = " ".join(text.replace("\u2019", "'").split())
    if len(said) > LONGEST:
        raise Unclear("That is long; can you say in one sentence what I shall remind you of, and when?")
    polite = POLITE.match(said)
    bare = said[polite.end() :] if polite else said
    plain = bare.rstrip(" .!?;,").lower()
    if HELP.fullmatch(plain) or not plain:
        return Help()
    if LISTING.fullmatch(plain):
        return ListThem()
    cancel = CANCEL.match(plain)
    if cancel:
        return _cancelled(plain[cancel.end() :])
    return _reminder(bare.rstrip(" .!;,"), now)


def _cancelled(rest: str) -> Request:
    if ALL.fullmatch(rest.strip()):
        return CancelAll()
    words = tuple(FILLER.sub(" ", rest).split())
    if not words:
        raise Unclear("Which one shall I cancel?")
    return CancelOne(words)


def _reminder(text: str, now: datetime) -> Remind:
    """`[when] [remind me] [when] [to] what [when]`: at the front what is said there counts, else the end."""
    plain = text.lower()
    first, place = spoken(plain, now)
    place = _past(BLANK, plain, place)
    lead = LEAD.match(plain, place)
    if lead is None and not first:
        return _without_lead(text, now)
    place = lead.end() if lead else place
    second, length = _spoken_for(plain[place:], now)
    usual = _usual(lead)
    when = together(first, second)
    place += length if when is not None else 0
    when = when or first
    place = _past(TO, plain, _past(BLANK, plain, place))
    return _completed(text[place:] or usual, when, now)


def _spoken_for(plain: str, now: datetime) -> tuple[When, int]:
    """What is said about when, also behind `for` (an alarm for 7:30)."""
    introduced = FOR.match(plain)
    if introduced is None:
        return spoken(plain, now)
    rest = plain[introduced.end() :]
    when, length = spoken(rest, now)
    if when:
        return when, introduced.end() + length
    when, length = spoken(f"in {rest}", now)  # A timer for ten minutes.
    return (when, introduced.end() + length - len("in ")) if when.delay else (NOTHING_SAID, 0)


def _usual(lead: re.Match[str] | None) -> str:
    """What an alarm is about, if nothing else is said."""
    said = lead[0] if lead else ""
    for word, about in (("wake", "wake up"), ("alarm", "alarm"), ("timer", "timer")):
        if word in said:
            return about
    return ""


def _without_lead(text: str, now: datetime) -> Remind:
    """`Call mum tomorrow at 5pm`: something, and when; anything else is no request."""
    when, start = at_the_end(text.lower(), now)
    if not when or not start:
        raise Unclear(
            "I did not understand that; shall I remind you of something, list your reminders, or cancel one?"
        )
    return Remind(_tidy(text[:start]), when)


def _completed(what: str, when: When, now: datetime) -> Remind:
    """With what is said at the end, if nothing was said before, or no time of the day."""
    if not when or when.lacks_time:
        last, start = at_the_end(what.lower(), now)
        merged = together(when, last) if not when or last.clock is not None else None
        if last and merged is not None:
            when, what = merged, what[:start]
    what = _tidy(what)
    if not when:
        raise Unclear("When shall I remind you?")
    if not what:
        raise Unclear("What shall I remind you of?")
    return Remind(what, when)


BLANK = re.compile(r"[\s,]+")


def _past(form: re.Pattern[str], text: str, place: int) -> int:
    found = form.match(text, place)
    return found.end() if found else place


def _tidy(what: str) -> str:
    """The words themselves, without what led to them or was left between them and the time."""
    trimmed = what.strip(" ,.;:!?-")
    return re.sub(r"\s+(?:on|at|by|for|in|starting|and|,)$", "", trimmed).strip(" ,.;:")
