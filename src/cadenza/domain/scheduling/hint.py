"""Advice with an expiry, a reason and an origin; the ranks of origins, and what a lower one must leave."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import NamedTuple

from cadenza.domain.validation import check_duration_ms, check_moment, check_text, convert_to_utc, iso

LONGEST_TTL_MINUTES = 366 * 24 * 60
SHORTEST_TTL_MINUTES = 1 / 60_000


class HintMode(StrEnum):
    """What a fresh interval hint does to the baseline."""

    OVERRIDE = "override"
    TIGHTEN = "tighten"


class HintKind(StrEnum):
    """The kind of a line of the hint history."""

    INTERVAL = "interval"
    ONE_SHOT = "one-shot"
    PAUSE = "pause"
    RESUME = "resume"
    CLEAR = "clear"
    FINISH = "finish"


@dataclass(frozen=True, slots=True)
class IntervalHint:
    """Run every so often until the hint expires."""

    interval_ms: int
    expires_at: datetime
    reason: str | None = None
    origin: str | None = None
    """Who gave it, which decides its rank."""

    def __post_init__(self) -> None:
        check_duration_ms("interval_ms", self.interval_ms)
        _check_advice(self.expires_at, self.reason)
        convert_to_utc(self, "expires_at")

    def fresh(self, now: datetime) -> bool:
        """Does it still count?"""
        return self.expires_at > now


@dataclass(frozen=True, slots=True)
class OneShotHint:
    """Run once at this moment."""

    at: datetime
    expires_at: datetime
    reason: str | None = None
    origin: str | None = None
    """Who gave it, which decides its rank."""

    def __post_init__(self) -> None:
        check_moment("at", self.at)
        _check_advice(self.expires_at, self.reason)
        convert_to_utc(self, "at", "expires_at")

    def fresh(self, now: datetime) -> bool:
        """Does it still count?"""
        return self.expires_at > now

    def served(self, last_run_at: datetime | None, now: datetime | None = None) -> bool:
        """Has the endpoint run at its moment or since? A one-shot fires once.

        A run that lies ahead was before the clock was set back: it has served no hint that is still there.
        """
        return last_run_at is not None and self.at <= last_run_at <= (now or last_run_at)


def _check_advice(expires_at: datetime, reason: str | None) -> None:
    check_moment("expires_at", expires_at)
    if reason is not None:
        check_text("reason", reason)


class Rank(IntEnum):
    """The ranks of those who steer, from the lowest to the highest."""

    LEARNING = 1
    LLM = 2
    RULE = 3
    PERSON = 4


PLANNERS = {"planner:learned": Rank.LEARNING, "planner:llm": Rank.LLM}
PREFIXES = {
    "learning": Rank.LEARNING,
    **dict.fromkeys(("llm", "mcp", "agent"), Rank.LLM),
    **dict.fromkeys(("rule", "planner", "run", "program"), Rank.RULE),
}
"""The first word of an origin, up to its colon: functions and programs act by themselves, as rules do."""
NAMES = {
    "planner:learned": "learning planner",
    "planner:llm": "LLM planner",
    "planner:http": "HTTP header",
    "planner:rules": "rule",
    "mcp": "LLM: MCP",
}
PEOPLE = {"cli": "command line"}
LOWERED = [rank.name.lower() for rank in Rank]
"""The words before the origin of a call that counts less than its caller could make it."""
LABELS = {
    "rule": "rule",
    "run": "function",
    "planner": "planner",
    "llm": "LLM",
    "agent": "agent",
    "learning": "learning",
}


def rank_of(origin: str | None) -> Rank:
    """The rank of an origin; one that is not known for less, such as a key or the dashboard, is a person.

    What has no origin, such as a pause that an endpoint was created with, yields to everybody.
    """
    if origin is None:
        return Rank.LEARNING
    return PLANNERS.get(origin) or PREFIXES.get(origin.partition(":")[0], Rank.PERSON)


def lowered(origin: str, rank: Rank) -> str:
    """The origin of a call that is to count less than its caller could make it, such as a model's."""
    return f"{rank.name.lower()}:{origin}" if rank < rank_of(origin) else origin


def origin_text(origin: str | None) -> str:
    """An origin as people read it, such as "rule: surge" or "person: dashboard"."""
    if origin is None:
        return "origin unknown"
    if origin in NAMES:
        return NAMES[origin]
    word, _, name = origin.partition(":")
    if word in LABELS:
        is_lowered = word in LOWERED and rank_of(name) is Rank.PERSON
        return f"{LABELS[word]}: {_person(name) if is_lowered else name}"
    return origin if rank_of(origin) < Rank.PERSON else f"person: {_person(origin)}"


def _person(origin: str) -> str:
    return PEOPLE.get(origin) or origin.replace("key:", "key ", 1).replace("user:", "user ", 1)


PAUSE, INTERVAL, ONE_SHOT, JOB_PAUSE = "pause", "interval hint", "one-shot hint", "pause of the job"
UNDONE_BY = {
    HintKind.INTERVAL: (PAUSE, INTERVAL),
    HintKind.ONE_SHOT: (PAUSE, ONE_SHOT),
    HintKind.PAUSE: (PAUSE, INTERVAL, ONE_SHOT, JOB_PAUSE),
    HintKind.RESUME: (PAUSE, JOB_PAUSE),
    HintKind.CLEAR: (PAUSE, INTERVAL, ONE_SHOT),
    HintKind.FINISH: (PAUSE, INTERVAL, ONE_SHOT),
}
"""What each kind of steering would replace, end or silence."""


class InForce(NamedTuple):
    """A hint or a pause that is in force."""

    what: str
    origin: str | None
    until: datetime | None
    """None until somebody ends it."""


def why_not_applied(in_force: Iterable[InForce], kind: HintKind, origin: str) -> str | None:
    """What of a higher rank is in force that a call would undo; None if it may act.

    1. A pause keeps lower ranks off altogether until it ends.
    2. A fresh hint is not replaced by a lower rank's hint of its kind, nor cleared by a lower rank.
    3. It is not silenced by a lower rank's pause either.
    """
    for what, by, until in in_force:
        if what in UNDONE_BY[kind] and rank_of(by) > rank_of(origin):
            article = "an" if what is INTERVAL else "a"
            end = iso(until) if until else "resumed"
            return f"{article} {what} ({origin_text(by)}) is in force until {end}"
    return None
