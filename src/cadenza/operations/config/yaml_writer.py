"""A configuration written as YAML for people: defaults are left out, durations are words."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import yaml

from cadenza.domain.validation import UNITS_MS
from cadenza.operations.config.file import FRACTION
from cadenza.operations.config.rule_words import A_MINUTE_MS, ESCALATION, STEP
from cadenza.operations.config.schemas import GUARD, POLICY, ConfigDocument
from cadenza.operations.scheduling.calendars.config_schemas import CalendarWords, ConfigCalendar
from cadenza.operations.scheduling.calendars.schemas import definition_of

LIKE_A_NUMBER = re.compile(rf"(?:{FRACTION.pattern})\Z")
WIDTH = 100
SECTIONS = frozenset({"limits", "calendars", "programmes"})
"""What a file leaves alone if it is not in it, and would delete if it was there and empty."""
LARGE_FIRST = sorted(UNITS_MS.items(), key=lambda unit: -unit[1])


def to_yaml(document: Mapping[str, Any]) -> str:
    """The YAML of what `export_config` answers."""
    config = ConfigDocument.model_validate(document)
    plain = config.model_dump(mode="json", exclude_defaults=True)
    if "calendars" in plain:
        plain["calendars"] = [_calendar(one) for one in config.calendars or []]
    plain = {name: value for name, value in plain.items() if value or name not in SECTIONS}
    for programme in plain.get("programmes", []):
        _shorten_target(programme)
    if "programmes" in plain:
        plain["programmes"] = [{"id": one["id"], **one} for one in plain["programmes"]]
    for job in plain.get("jobs", []):
        _without_name(job)
        for endpoint in job.get("endpoints", []):
            _shorten(endpoint)
        for rule in job.get("rules", []):
            _shorten_rule(rule)
    text: str = yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    return text


def span(span_ms: int) -> str:
    """Milliseconds as people write them: 90000 is 1m30s."""
    words, rest = "", span_ms
    for unit, length in LARGE_FIRST:
        count, rest = divmod(rest, length)
        words += f"{count}{unit}" if count else ""
    return words


def _calendar(calendar: ConfigCalendar) -> dict[str, Any]:
    """A calendar with its hours, holidays and dates as texts."""
    words = asdict(CalendarWords.of(definition_of(calendar, tenant_id="", calendar_id=calendar.id)))
    if words["timezone"] == "UTC":
        del words["timezone"]
    return {name: value for name, value in words.items() if value is not None}


def _shorten(endpoint: dict[str, Any]) -> None:
    _without_name(endpoint)
    _shorten_target(endpoint)
    endpoint["baseline"] = _short_baseline(endpoint["baseline"])
    for part, words in (("guard", GUARD), ("policy", POLICY)):
        if part in endpoint:
            endpoint[part] = _with_durations_as_text(endpoint[part], words)


def _short_baseline(baseline: dict[str, Any]) -> dict[str, Any] | str:
    """Intervals as words, those of day parts, too."""
    if baseline["kind"] == "every":
        return f"every {span(baseline['interval_ms'])}"
    if baseline["kind"] == "day-parts":
        for part in baseline["parts"]:
            part["cadence"] = _short_baseline(part["cadence"])
        baseline["otherwise"] = _short_baseline(baseline["otherwise"])
    return baseline


def _shorten_target(owner: dict[str, Any]) -> None:
    if owner.get("target", {}).keys() == {"kind", "url"}:
        owner["target"] = owner["target"]["url"]


def _shorten_rule(rule: dict[str, Any]) -> None:
    _without_name(rule)
    if rule.get("cooldown_ms"):
        rule["cooldown"] = span(rule.pop("cooldown_ms"))
    for name in rule.keys() & {"then", "relax"}:
        rule[name] = _step(rule[name])
    for one in rule.get("escalate", []):
        one["then"] = _step(one["then"])
    if "escalate" in rule:
        rule["escalate"] = [_with_durations_as_text(one, ESCALATION) for one in rule["escalate"]]


def _step(step: dict[str, Any]) -> dict[str, Any]:
    """A step with its spans as words; a ttl that is no whole number of milliseconds stays a number."""
    given = _with_durations_as_text(step, STEP)
    ttl_ms = given.get("ttlMinutes", 0) * A_MINUTE_MS
    if ttl_ms and ttl_ms == int(ttl_ms):
        del given["ttlMinutes"]
        given["ttl"] = span(int(ttl_ms))
    return {"tool": given.pop("tool"), **given}


def _with_durations_as_text(part: dict[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """Spans as words; none at all has no word, and stays a number."""
    spans = {word: span(part[field]) for word, field in words.items() if part.get(field)}
    said = {words[word] for word in spans}
    return spans | {field: value for field, value in part.items() if field not in said}


def _without_name(named: dict[str, Any]) -> None:
    if named.get("name") == named["id"]:
        del named["name"]


class _Dumper(yaml.SafeDumper):
    """Texts of several lines stand as they are; what would be read as a number is quoted."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - Nothing is referred to.
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", LIKE_A_NUMBER, list("-+.0123456789"))
