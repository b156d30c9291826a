"""What values must be, in words for people."""

import re
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from difflib import SequenceMatcher

from cadenza.domain.text_patterns import FORMATS_IN_WORDS, IN_WORDS

DURATIONS = (
    ("year", 366 * 86_400_000),
    ("year", 365 * 86_400_000),
    ("day", 86_400_000),
    ("hour", 3_600_000),
    ("minute", 60_000),
    ("second", 1_000),
)
UNITS_MS = {"milliseconds": 1, "seconds": 1_000, "minutes": 60_000}
UNITS = {"ms": "milliseconds"} | {unit: unit for unit in ("seconds", "minutes", "days", "months")}
"""How names of fields end, and what such fields count."""
MOST_PLAIN = 300
"""Spans above so many of their units are told in a larger unit, too."""
UNMET = 2**53
"""A bound that no caller meets, and that is not told."""
A_NUMBER_OF = re.compile(
    r"a (?:whole )?number of (milliseconds|seconds|minutes)"
    r"(?: (from|above) ([\d,]+) (?:and at most|to) ([\d,]+)(?: \([^)]*\))?)"
)
AN_OPERATION = re.compile(r"`(\w+)`")
SAYS_ITS_LENGTH = re.compile(r"\{\d+,\d+\}\$$")


def duration_in_words(span_ms: int) -> str:
    """A span in the largest unit that it is a multiple of: 10 years, 1 day, 90 minutes."""
    for unit, unit_ms in DURATIONS:
        if span_ms % unit_ms == 0:
            count = span_ms // unit_ms
            return f"{count:,} {unit}{'s' if count != 1 else ''}"
    return f"{span_ms:,} ms"


def span_in_words(length: timedelta) -> str:
    """A span as people say it: 90 seconds are 1 minute 30 seconds."""
    left = round(length / timedelta(milliseconds=1))
    parts = []
    for unit, size in DURATIONS[2:]:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
    if (left and len(parts) < 2) or not parts:  # noqa: PLR2004 - two parts are exact enough
        parts.append(f"{left} ms")
    return " ".join(parts[:2])


def interval_in_words(interval_ms: int) -> str:
    """An interval behind the word "every": a minute is "minute"."""
    said = span_in_words(timedelta(milliseconds=interval_ms))
    return said.removeprefix("1 ") if said.count(" ") == 1 else said


def number_in_words(
    field: str,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    whole: bool = True,
) -> str:
    """What a number must be; its unit is in the name of the field."""
    unit = next((unit for ending, unit in UNITS.items() if field.lower().endswith(ending)), None)
    kind = f"a {'whole ' if whole else ''}number" + (f" of {unit}" if unit else "")
    lowest = _digits(least if above is None else above)
    if most is None or most >= UNMET:
        return kind if least is None else f"{kind}, at least {lowest}"
    bounds = f"from {lowest} to " if above is None else f"above {lowest} and at most "
    bounds += _digits(most)
    if unit in UNITS_MS and most > MOST_PLAIN:
        bounds += f" ({duration_in_words(int(most * UNITS_MS[unit]))})"
    return f"{kind} {bounds}"


def number_as_span(sentence: str) -> str:
    """A sentence of `number_in_words` for those who write a span such as 5m in the place of the number."""

    def span(found: re.Match[str]) -> str:
        least, most = (int(number.replace(",", "")) * UNITS_MS[found[1]] for number in found.group(3, 4))
        lowest = f"from {duration_in_words(least)} to" if found[2] == "from" else "longer than 0 and up to"
        return f"a span {lowest} {duration_in_words(most)}"

    return A_NUMBER_OF.sub(span, sentence)


def name_operations(sentence: str, name: Callable[[str], str | None]) -> str:
    """A sentence in which operations, which stand in backticks, have the names that a surface gives them."""
    return AN_OPERATION.sub(lambda found: f"`{name(found[1]) or found[1]}`", sentence)


def _digits(number: float | None) -> str:
    return "" if number is None else f"{int(number) if number == int(number) else number:,}"


def text_in_words(
    pattern: str | None = None, *, form: str | None = None, least: int = 0, most: int | None = None
) -> str:
    """What a text must be; its length is told unless its form says it."""
    if form in FORMATS_IN_WORDS:
        return FORMATS_IN_WORDS[form]
    kind, rest = IN_WORDS.get(pattern or "", ("a text", ""))
    if most is None or SAYS_ITS_LENGTH.search(pattern or ""):
        return f"{kind}{rest}" if pattern or not least else f"{kind} that is not empty"
    return f"{kind} with {f'{least:,} to' if least else 'at most'} {most:,} characters{rest}"


def one_of(values: Iterable[object]) -> str:
    """Some values, of which one is to be chosen: `a, b or c`."""
    *before, last = map(str, values)
    return f"{', '.join(before)} or {last}" if before else last


def nearest_first(word: str, known: Collection[str], most: int = 8) -> str:
    """The names that are known, those that look like the word first, and how many more there are."""
    found = sorted(known, key=lambda name: -SequenceMatcher(None, word.lower(), name.lower()).ratio())
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return f"{', '.join(found[:most])}{more}"
