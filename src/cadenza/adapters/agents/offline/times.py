"""Parses times of day as people write them."""

import re
from datetime import time
from typing import NamedTuple

from cadenza.adapters.agents.offline.vocabulary import NUMBERS, SMALL, UnclearRequest

PARTS = {"morning": 9, "noon": 12, "midday": 12, "afternoon": 15, "evening": 18, "night": 20, "midnight": 0}
"""The hour that a part of the day stands for."""
HALF_A_DAY, NO_HOUR = 12, 99
LAST_EARLY_HOUR = 6
"""`At 5` may be early or late; `at 9` is the morning, unless that has passed."""

HOUR = rf"(?P<hour>\d{{1,2}}|{'|'.join(SMALL)})"
HALVES = r"(?P<half>a\.?m\b\.?|p\.?m\b\.?)"
PART = r"(?:in\s+the|this|at)\s+(?P<part>morning|afternoon|evening|night)"
FORMS = (
    r"(?:at\s+)?(?P<named>noon|midday|midnight)",
    rf"(?:at\s+)?(?P<share>half|quarter)\s+(?P<side>past|to)\s+{HOUR}(?:\s*{HALVES})?(?:\s+{PART})?",
    rf"(?:at\s+|@\s*)?{HOUR}(?P<colon>[:.h])(?P<minute>\d\d)(?!\d|\.\d)(?:\s*{HALVES})?(?:\s+{PART})?",
    rf"(?:at\s+|@\s*)?{HOUR}\s*{HALVES}",
    rf"(?:at\s+|@\s*)?{HOUR}\s+o'?clock(?:\s*{HALVES})?(?:\s+{PART})?",
    rf"(?:at\s+|@\s*){HOUR}(?:\s+{PART})?(?![:.]?\d)",
    rf"{PART}",
    r"(?P<bare>morning|afternoon|evening|night)\b",
)
TIME_FORMS = tuple(re.compile(form) for form in FORMS)


class TimeOfDay(NamedTuple):
    """A time of day; not certain if it may be am or pm."""

    time: time
    certain: bool = True

    @property
    def could_be_afternoon(self) -> bool:
        """Whether it is an uncertain hour that people also use for the afternoon."""
        return not self.certain and self.time.hour <= LAST_EARLY_HOUR

    @property
    def half_of_day_question(self) -> UnclearRequest:
        """The question which half of the day is meant."""
        hour = self.time.hour % HALF_A_DAY or HALF_A_DAY
        minute = f":{self.time.minute:02d}" if self.time.minute else ""
        return UnclearRequest(f"Do you mean {hour}{minute} am or {hour}{minute} pm?")


def parse_time_of_day(found: re.Match[str]) -> TimeOfDay:
    """The time of day of a match; UnclearRequest if there is no such time."""
    said = {name: word for name, word in found.groupdict().items() if word}
    whole = said.get("named") or said.get("bare") or (said.get("part") if "hour" not in said else None)
    if whole is not None:
        return TimeOfDay(time(PARTS[whole]))
    hour = _hour(said)
    minute = int(said.get("minute", 0))
    if "share" in said:
        hour, minute = _shared(hour, said)
    if hour > 23 or minute > 59:  # noqa: PLR2004 - as clocks are
        raise UnclearRequest(f"{found[0].strip()} is no time of the day; when do you mean?")
    return TimeOfDay(time(hour, minute), certain=_is_sure(said, hour))


def _hour(said: dict[str, str]) -> int:
    word = said["hour"]
    hour = int(word) if word.isdigit() else NUMBERS[word]
    half = said.get("half") or said.get("part") or ""
    if half and not 0 < hour <= HALF_A_DAY:
        return hour if "part" in said else NO_HOUR
    if half.startswith("p") or half in ("afternoon", "evening", "night"):
        return hour % HALF_A_DAY + HALF_A_DAY
    return hour % HALF_A_DAY if half else hour


def _shared(hour: int, said: dict[str, str]) -> tuple[int, int]:
    """`half past 8` and `quarter to nine`."""
    minutes = 30 if said["share"] == "half" else 15
    return (hour, minutes) if said["side"] == "past" else ((hour - 1) % 24, 60 - minutes)


def _is_sure(said: dict[str, str], hour: int) -> bool:
    """Whether the half of the day is given, as in `pm`, `17:00` or `05:30`."""
    zero_first = said["hour"].startswith("0")
    return bool(said.get("half") or said.get("part") or zero_first) or not 0 < hour < HALF_A_DAY
