"""Parses what is written on the command line: spans, moments, labels, headers, bodies, files."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from cyclopts import Token

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.json_values import unreadable_json
from cadenza.domain.validation import (
    DURATION_PART,
    iso,
    milliseconds,
    parse_duration_ms,
    quoted,
    read_duration_ms,
)

NONE = "none"
A_MOMENT = "a duration such as 2h, or a time such as 2030-01-31T12:00:00Z"
A_DATE = re.compile(r"\d{4}-\d\d-\d\d")
UNTIL_RESUMED = "9999-01-01T00:00:00Z"
"""The end of a pause that lasts until somebody resumes it."""
SECOND_MS, MINUTE_MS = 1_000, 60_000
LONGEST_FILE = 1024 * 1024


def minutes(option: str, span: str) -> float:
    """A span in minutes; how many are taken is up to the field."""
    return read_duration_ms(option, span) / MINUTE_MS


def seconds(option: str, span: str) -> int:
    """A span in whole seconds."""
    count, rest = divmod(read_duration_ms(option, span), SECOND_MS)
    if rest:
        raise InvalidRequest(f"{option} must be a duration of whole seconds, not {quoted(span)}.", option)
    return count


def bound(option: str, span: str) -> int | None:
    """A span in milliseconds; `none` takes the bound away."""
    return None if span == NONE else read_duration_ms(option, span)


def later(option: str, word: str, now: Callable[[], datetime]) -> str:
    """A moment, or a span from now, as it stands on the wire."""
    return (
        iso(now() + milliseconds(parse_duration_ms(option, word)))
        if _is_span(word)
        else _moment(option, word)
    )


def pause_end(option: str, word: str, now: Callable[[], datetime]) -> str:
    """The end of a pause on the wire: a moment, a span from now, a date (midnight UTC), or `resumed`."""
    word = word.strip()
    if word.lower() == "resumed":
        return UNTIL_RESUMED
    return later(option, f"{word}T00:00:00Z" if A_DATE.fullmatch(word) else word, now)


def earlier(option: str, word: str, now: Callable[[], datetime]) -> str:
    """A moment, or a span before now, as it stands on the wire."""
    return (
        iso(now() - milliseconds(parse_duration_ms(option, word)))
        if _is_span(word)
        else _moment(option, word)
    )


def _is_span(word: str) -> bool:
    return re.fullmatch(f"({DURATION_PART.pattern})+", word.replace(" ", "")) is not None


def _moment(option: str, word: str) -> str:
    try:
        moment = datetime.fromisoformat(word)
    except ValueError:
        raise InvalidRequest(f"{option} must be {A_MOMENT}, not {quoted(word)}.", option) from None
    if moment.utcoffset() is None:
        raise InvalidRequest(f"{option} needs an offset, such as Z for UTC.", option)
    return iso(moment)


def pairs(option: str, words: Iterable[str]) -> dict[str, str]:
    """Texts such as NAME=VALUE as a mapping."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise InvalidRequest(f"{option} takes NAME=VALUE, not {quoted(word)}.", option)
        found[name] = value
    return found


def cadence(option: str, word: str) -> dict[str, Any]:
    """A cadence: a span is an interval, and `cron LINE`, perhaps with `in ZONE`, is a cron line."""
    if not word.startswith("cron "):
        return {"kind": "every", "interval_ms": read_duration_ms(option, word)}
    line, _, zone = word.removeprefix("cron ").partition(" in ")
    named = {"timezone": zone.strip()} if zone else {}
    return {"kind": "cron", "expression": line.strip(), **named}


def day_parts(
    given: Iterable[str], otherwise: str | None, before: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Day parts laid over the baseline that was there; None if nothing of them is given.

    A part takes the place of the one with its calendar, and `none` takes that away. An interval or a cron
    line that was there is the cadence otherwise, if no other is given.
    """
    had_parts, words = before.get("kind") == "day-parts", pairs("--day-part", given)
    if not words and otherwise is None:
        return None
    if not words and not had_parts:
        raise InvalidRequest("--otherwise needs --day-part.", "--otherwise")
    parts = {one["calendar"]: one["cadence"] for one in before["parts"]} if had_parts else {}
    parts |= {id_: None if word == NONE else cadence("--day-part", word) for id_, word in words.items()}
    kept = before["otherwise"] if had_parts else before
    other = kept if otherwise is None else cadence("--otherwise", otherwise)
    if other.get("kind") not in ("every", "cron"):
        raise InvalidRequest("--day-part needs --otherwise.", "--day-part")
    left = [{"calendar": id_, "cadence": one} for id_, one in parts.items() if one is not None]
    return {"kind": "day-parts", "parts": left, "otherwise": other} if left else dict(other)


def body(word: str) -> Any:
    """A body: a file behind @, JSON if it can be read as such, else the text itself."""
    import json

    text = file_text("--body", word[1:]) if word.startswith("@") else word
    try:
        return json.loads(text)
    except ValueError:
        return text


def json_text(option: str, word: str) -> Any:
    """A JSON value, or a file with one behind @."""
    import json

    try:
        return json.loads(file_text(option, word[1:]) if word.startswith("@") else word)
    except ValueError:
        raise InvalidRequest(f'{option} must be JSON, such as \'{{"team": "web"}}\'.', option) from None


def document(option: str, name: str) -> dict[str, Any]:
    """A JSON object from a file; `-` is standard input."""
    import json

    try:
        found = json.loads(file_text(option, name))
    except ValueError as problem:
        raise InvalidRequest(
            f"{option}: {quoted(name)} cannot be read: {unreadable_json(problem)}.", option
        ) from None
    if not isinstance(found, Mapping):
        raise InvalidRequest(f"{option}: {quoted(name)} is not a JSON object.", option)
    return dict(found)


def file_text(option: str, name: str, *, longest: int = LONGEST_FILE) -> str:
    """The text of a file; `-` is standard input."""
    try:
        if name == "-":
            found = sys.stdin.read(longest + 1)
        else:
            with Path(name).open(encoding="utf-8") as file:
                found = file.read(longest + 1)
    except (OSError, UnicodeError, ValueError, AttributeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "not UTF-8 text"
        raise InvalidRequest(f"{option}: {quoted(name)} cannot be read: {why}.", option) from None
    if len(found) > longest:
        raise InvalidRequest(f"{option}: {quoted(name)} is longer than {longest:,} characters.", option)
    return found


def whole_number(_: type, tokens: Sequence[Token]) -> int:
    """A whole number; cyclopts alone would cut 2.5 down to 2."""
    word = tokens[0].value
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"{word[:100]!r} is not a whole number") from None


def written_channel(word: str) -> dict[str, Any]:
    """A channel of a user, written as ID=TYPE:ADDRESS."""
    id_, equals, rest = word.partition("=")
    kind, colon, url = rest.partition(":")
    if not (equals and colon and id_ and kind and url):
        raise InvalidRequest(
            f"--channel must be ID=TYPE:ADDRESS, such as me=webhook:https://a.example, not {quoted(word)}.",
            "--channel",
        )
    return {"id": id_, "type": kind, "url": url}


def quiet_hours(word: str | None) -> dict[str, str] | None:
    """Quiet hours, written as 22:00-07:00."""
    if word is None:
        return None
    start, dash, end = word.partition("-")
    if not dash:
        raise InvalidRequest(f"--quiet must be such as 22:00-07:00, not {quoted(word)}.", "--quiet")
    return {"start": start.strip(), "end": end.strip()}
